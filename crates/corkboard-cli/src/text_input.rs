//! Text from arguments, files and stdin.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use corkboard::{LimitName, Limits, Refusal};

use crate::error::CliError;

pub(crate) fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The argument, or for `-` all of stdin without one final newline.
pub(crate) fn text_or_stdin(argument: String) -> Result<String, CliError> {
    if argument != "-" {
        return Ok(argument);
    }
    let allowed = Limits::default().command_bytes;
    // One more byte for the newline.
    let mut bytes = read_one_more(std::io::stdin(), allowed + 1)
        .map_err(|error| CliError::invalid("stdin", format!("cannot read stdin: {error}")))?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    expect_within(LimitName::CommandBytes, bytes.len() as u64, allowed)?;
    String::from_utf8(bytes).map_err(|error| CliError::invalid("stdin", format!("stdin is not UTF-8 text: {error}")))
}

/// The bytes of a file, or of stdin for `-`. Reads at most one byte more than allowed.
pub(crate) fn read_file_or_stdin(file: &Path, allowed: u64) -> std::io::Result<Vec<u8>> {
    match is_dash(file) {
        true => read_one_more(std::io::stdin(), allowed),
        false => File::open(file).and_then(|file| read_one_more(file, allowed)),
    }
}

/// Reads at most one byte more than allowed, to detect input that is too long.
pub(crate) fn read_one_more(from: impl Read, allowed: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(allowed.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn expect_within(limit: LimitName, used: u64, allowed: u64) -> Result<(), CliError> {
    if used > allowed {
        return Err(Refusal::Limit { limit, used, allowed }.into());
    }
    Ok(())
}

/// Some editors put this at the start of a UTF-8 file.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Removes the byte order mark before JSON. Plain text keeps it, because texts are stored unchanged.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_input_is_read_only_up_to_the_limit() {
        assert_eq!(read_one_more(std::io::repeat(7), 10).unwrap(), [7; 11]);
        assert_eq!(read_one_more(&[7; 10][..], 10).unwrap(), [7; 10]);
    }
}

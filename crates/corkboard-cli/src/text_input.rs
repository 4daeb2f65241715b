//! Texts from arguments, files and stdin.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use corkboard::{LimitName, Limits, Refusal};

use crate::error::CliError;

pub(crate) fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The argument, or all of stdin where the argument is `-`, less one newline at its end.
pub(crate) fn text_or_stdin(argument: String) -> Result<String, CliError> {
    if argument != "-" {
        return Ok(argument);
    }
    let allowed = Limits::default().command_bytes;
    // One more byte for the newline.
    let mut bytes = read_one_more(std::io::stdin(), allowed + 1)
        .map_err(|error| CliError::invalid("stdin", format!("stdin cannot be read: {error}")))?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    expect_within(LimitName::CommandBytes, bytes.len() as u64, allowed)?;
    String::from_utf8(bytes).map_err(|error| CliError::invalid("stdin", format!("stdin is not UTF-8 text: {error}")))
}

/// The bytes of a file, or of stdin where the path is `-`. Of what is too long, only one byte more than allowed.
pub(crate) fn read_file_or_stdin(file: &Path, allowed: u64) -> std::io::Result<Vec<u8>> {
    match is_dash(file) {
        true => read_one_more(std::io::stdin(), allowed),
        false => File::open(file).and_then(|file| read_one_more(file, allowed)),
    }
}

/// Reads what is allowed, and one byte more to notice that it is too much.
fn read_one_more(from: impl Read, allowed: u64) -> std::io::Result<Vec<u8>> {
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

/// With which some editors begin a file of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// JSON without the mark that may be before it. Texts keep theirs: they are kept as they came.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read_to_its_end() {
        assert_eq!(read_one_more(std::io::repeat(7), 10).unwrap(), [7; 11]);
        assert_eq!(read_one_more(&[7; 10][..], 10).unwrap(), [7; 10]);
    }
}

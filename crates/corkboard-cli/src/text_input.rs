//! Texts from arguments, files and stdin.

use std::io::Read;
use std::path::Path;

use corkboard::{LimitName, Limits, Refusal};

use crate::error::CliError;

/// Whether a path stands for stdin or stdout.
pub(crate) fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The argument, or all of stdin where the argument is `-`, less one newline at its end.
pub(crate) fn text_or_stdin(argument: String) -> Result<String, CliError> {
    if argument != "-" {
        return Ok(argument);
    }
    let allowed = Limits::default().command_bytes;
    let mut bytes = Vec::new();
    // One byte for the newline, and one to notice that it is too much.
    std::io::stdin()
        .take(allowed + 2)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::invalid("stdin", format!("stdin cannot be read: {error}")))?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    let used = bytes.len() as u64;
    if used > allowed {
        let too_much = Refusal::Limit { limit: LimitName::CommandBytes, used, allowed };
        return Err(CliError::Library(too_much.into()));
    }
    String::from_utf8(bytes).map_err(|error| CliError::invalid("stdin", format!("stdin is not UTF-8 text: {error}")))
}

/// With which some editors begin a file of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// JSON without the mark that may be before it. Texts keep theirs: they are kept as they came.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

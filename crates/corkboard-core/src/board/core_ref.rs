//! References from a board to entries of memory cores. The text is read from the core whenever it is shown, so an entry
//! that is forgotten, edited or withdrawn there changes on every board at once.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::knowledge::CoreEntryId;
use crate::text::json_text;

/// An entry of a memory core: `house-rules:E-3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CoreRef {
    pub core: String,
    pub entry: CoreEntryId,
}

/// A text that is not a reference to an entry of a memory core.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid core entry {text:?}; expected a form like house-rules:E-3")]
pub struct ParseCoreRefError {
    text: String,
}

impl CoreRef {
    /// The bytes counted against the size limits of a board and of a command.
    pub(super) fn bytes(&self) -> usize {
        const NUMBER: usize = 8;
        self.core.len() + NUMBER
    }
}

impl fmt::Display for CoreRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.core, self.entry)
    }
}

impl FromStr for CoreRef {
    type Err = ParseCoreRefError;

    fn from_str(text: &str) -> Result<Self, ParseCoreRefError> {
        // A core's name may contain a colon; an entry's ID never does.
        let parts = text.rsplit_once(':').filter(|(core, _)| !core.is_empty());
        let found = parts.and_then(|(core, entry)| Some(Self { core: core.to_owned(), entry: entry.parse().ok()? }));
        found.ok_or_else(|| ParseCoreRefError { text: text.to_owned() })
    }
}

json_text!(CoreRef);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn references_parse_and_print_alike() {
        for text in ["house-rules:E-3", "a:b:E-12", "E-1:E-1"] {
            let read: CoreRef = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        for text in ["", "E-3", ":E-3", "rules:3", "rules:", "rules:E-", "rules:E-x"] {
            assert!(text.parse::<CoreRef>().unwrap_err().to_string().contains("house-rules:E-3"), "{text}");
        }
    }
}

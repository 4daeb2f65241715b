//! The table of error kinds: name, title, exit code of a command, and HTTP status.

use serde::{Deserialize, Serialize};

/// The kind of an error. Exit codes and HTTP statuses follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request is invalid.
    Invalid,
    /// Not found, or no longer there.
    Gone,
    /// Conflict with the current state.
    Conflict,
    /// A limit is exceeded.
    Limit,
    /// Permission denied.
    Denied,
    /// Temporarily unavailable; retry later.
    Unavailable,
    /// The outcome is unknown: the request may or may not have taken effect.
    Unknown,
    /// Stored data is damaged or too new, or the store has stopped.
    Damaged,
    /// The caller's own code failed.
    Caller,
}

/// How a kind of error is presented.
struct ErrorPresentation {
    name: &'static str,
    title: &'static str,
    exit_code: u8,
    http_status: u16,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Invalid,
        Self::Gone,
        Self::Conflict,
        Self::Limit,
        Self::Denied,
        Self::Unavailable,
        Self::Unknown,
        Self::Damaged,
        Self::Caller,
    ];

    /// The table of all kinds.
    fn presentation(self) -> ErrorPresentation {
        let (name, title, exit_code, http_status) = match self {
            Self::Invalid => ("invalid", "The request is invalid", 2, 400),
            Self::Gone => ("gone", "Not found", 3, 404),
            Self::Conflict => ("conflict", "Conflict with the current state", 4, 409),
            Self::Limit => ("limit", "A limit is exceeded", 5, 422),
            Self::Denied => ("denied", "Permission denied", 6, 403),
            Self::Unavailable => ("unavailable", "Temporarily unavailable; retry later", 7, 503),
            Self::Unknown => ("unknown", "The outcome is unknown", 8, 504),
            Self::Damaged => ("damaged", "The server or the stored data is defective", 1, 500),
            Self::Caller => ("caller", "The caller's own code failed", 1, 500),
        };
        ErrorPresentation { name, title, exit_code, http_status }
    }

    /// The kind's name in JSON.
    pub fn as_str(self) -> &'static str {
        self.presentation().name
    }

    /// The kind's title, the same for all its errors.
    pub fn title(self) -> &'static str {
        self.presentation().title
    }

    /// The exit code of a command that fails with this kind.
    pub fn exit_code(self) -> u8 {
        self.presentation().exit_code
    }

    /// The HTTP status of this kind.
    pub fn http_status(self) -> u16 {
        self.presentation().http_status
    }
}

//! The one table of what each kind of error means outside: its name, the exit code of a command, the status of an HTTP
//! answer.

use serde::{Deserialize, Serialize};

/// What kind of thing went wrong. Every edge (exit codes, HTTP, MCP) maps from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request makes no sense.
    Invalid,
    /// What was asked for is not there, or no more.
    Gone,
    /// Someone else was first.
    Conflict,
    /// A limit is reached.
    Limit,
    /// Not allowed.
    Denied,
    /// Trying again later may help.
    Unavailable,
    /// It may or may not have happened.
    Unknown,
    /// Stored data is damaged or too new, or the store has ended.
    Damaged,
    /// The caller's own code failed.
    Caller,
}

/// What every edge makes of a kind of error.
struct Edge {
    name: &'static str,
    title: &'static str,
    exit_code: u8,
    http_status: u16,
}

impl ErrorKind {
    /// Every kind there is.
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

    /// The one table: its name, its title, the exit code of a command, the status of an HTTP answer.
    fn edge(self) -> Edge {
        let (name, title, exit_code, http_status) = match self {
            Self::Invalid => ("invalid", "The request makes no sense", 2, 400),
            Self::Gone => ("gone", "There is no such thing, or no more", 3, 404),
            Self::Conflict => ("conflict", "Someone else was first, or it does not fit what is there", 4, 409),
            Self::Limit => ("limit", "A limit is reached", 5, 422),
            Self::Denied => ("denied", "Not allowed", 6, 403),
            Self::Unavailable => ("unavailable", "Trying again later may help", 7, 503),
            Self::Unknown => ("unknown", "It may or may not have happened", 8, 504),
            Self::Damaged => ("damaged", "Something is broken", 1, 500),
            Self::Caller => ("caller", "The caller's own code failed", 1, 500),
        };
        Edge { name, title, exit_code, http_status }
    }

    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        self.edge().name
    }

    /// In words, whatever the error is.
    pub fn title(self) -> &'static str {
        self.edge().title
    }

    /// The exit code of a command that ends so.
    pub fn exit_code(self) -> u8 {
        self.edge().exit_code
    }

    /// The status of an HTTP answer that says so.
    pub fn http_status(self) -> u16 {
        self.edge().http_status
    }
}

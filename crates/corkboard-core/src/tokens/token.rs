//! A token: who comes with it, and what they may touch.

use alloc::string::String;
use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Grants;
use crate::board::{NumberedId, ParseIdError, numbered_id};
use crate::space::Stamp;
use crate::{ActorKind, Role};

numbered_id!(
    /// A token's number.
    TokenId, "token", "K-"
);

/// The hash of a token's secret, in 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct TokenHash(Arc<str>);

impl TokenHash {
    pub fn new(bytes: [u8; 32]) -> Self {
        // Every request that comes with a token has its secret hashed, and `format!` would take longer than the hash.
        let mut digits = String::with_capacity(2 * bytes.len());
        for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            digits.extend(char::from_digit(digit.into(), 16));
        }
        Self(Arc::from(digits))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewToken {
    pub hash: TokenHash,
    /// In whose name whoever comes with it acts.
    pub principal: String,
    /// Whether that is a person, an agent or a program.
    pub kind: ActorKind,
    /// What they may do.
    pub role: Role,
    /// What they may touch.
    #[serde(default)]
    pub grants: Grants,
    /// Until when it can be used; none: until it is revoked.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// What it is for, in a line.
    #[serde(default)]
    pub label: String,
}

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Token {
    /// Its number, for ever.
    pub id: TokenId,
    pub hash: TokenHash,
    /// In whose name whoever comes with it acts.
    pub principal: Arc<str>,
    /// Whether that is a person, an agent or a program.
    pub kind: ActorKind,
    /// What they may do.
    pub role: Role,
    /// What they may touch.
    #[serde(default)]
    pub grants: Grants,
    /// Until when it can be used.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// What it is for, in a line.
    #[serde(default)]
    pub label: Arc<str>,
    pub created_at: Timestamp,
    pub created_by: Arc<str>,
}

impl Token {
    pub(super) fn new(id: TokenId, new: &NewToken, stamp: Stamp<'_>) -> Self {
        let NewToken { hash, principal, kind, role, grants, expires_at, label } = new.clone();
        Self {
            id,
            hash,
            principal: principal.into(),
            kind,
            role,
            grants,
            expires_at,
            label: label.into(),
            created_at: stamp.at,
            created_by: stamp.principal.into(),
        }
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    pub(super) fn bytes(&self) -> u64 {
        // What every token has besides its texts.
        const FIXED: usize = 150;
        (FIXED + self.principal.len() + self.label.len() + self.grants.bytes()) as u64
    }
}

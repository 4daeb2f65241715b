//! An access token: its principal and what it grants.

use alloc::string::String;
use alloc::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Grants;
use crate::board::{NumberedId, ParseIdError, numbered_id};
use crate::space::Stamp;
use crate::{ActorKind, Role};

numbered_id!(
    /// The ID of a token.
    TokenId, "token", "K-"
);

/// The hash of a token's secret, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct TokenHash(Arc<str>);

impl TokenHash {
    pub fn new(bytes: [u8; 32]) -> Self {
        // This runs for every request with a token, and `format!` would take longer than the hash itself.
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

/// A token to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewToken {
    pub hash: TokenHash,
    /// Name recorded as the author of changes.
    pub principal: String,
    /// Whether the principal is a person, an agent or a program.
    pub kind: ActorKind,
    /// What the principal may do.
    pub role: Role,
    /// What the token grants.
    #[serde(default)]
    pub grants: Grants,
    /// When the token expires. Without it, the token is valid until it is revoked.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// What the token is for, in one line.
    #[serde(default)]
    pub label: String,
}

/// An access token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Token {
    /// The ID of the token. It is never reused.
    pub id: TokenId,
    pub hash: TokenHash,
    /// Name recorded as the author of changes.
    pub principal: Arc<str>,
    /// Whether the principal is a person, an agent or a program.
    pub kind: ActorKind,
    /// What the principal may do.
    pub role: Role,
    /// What the token grants.
    #[serde(default)]
    pub grants: Grants,
    /// When the token expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// What the token is for, in one line.
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
        // The size of the other fields.
        const FIXED: usize = 150;
        (FIXED + self.principal.len() + self.label.len() + self.grants.bytes()) as u64
    }
}

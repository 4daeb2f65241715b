//! Access tokens for a store. The holder of a token's secret acts as the token's principal. Only a hash of the secret
//! is stored.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::tokens::{Grants, NewToken, Token, TokenHash, TokenId, TokensCommand, TokensReply, TokensState};
use corkboard_core::{Actor, ActorKind, Request, Revisioned, Role, SpaceId, Usage};
use data_encoding::BASE32_NOPAD;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::time::Instant;

use super::AuthenticatedActor;
use crate::engine::{Engine, RequestSource, Slot, again, joined};
use crate::{Corkboard, Error, Result, ids};

/// Prefix of every secret, so that leaked secrets can be recognized.
const PREFIX: &str = "cork_";
/// Number of random bytes in a secret.
const SECRET_BYTES: usize = 32;
/// Minimum time between two lookups of unknown secrets in the store, which keeps guessing cheap for the store.
const LOOKS_APART: Duration = Duration::from_millis(200);

/// The access tokens of a store.
#[derive(Clone)]
pub struct Tokens {
    actor: AuthenticatedActor,
    engine: Arc<Engine<TokensState>>,
    slot: Arc<Slot<TokensState>>,
    lookups: Arc<TokenLookups>,
    /// Keeps the background tasks (ticks, flushes) running while handles exist.
    _corkboard: Arc<dyn Any + Send + Sync>,
}

/// A token to be created. It grants nothing by default.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// The principal that the token's holder acts as.
    pub principal: String,
    /// Whether the principal is a person, an agent or a program.
    pub kind: ActorKind,
    /// The role of the token's holder.
    pub role: Role,
    /// The spaces that the token's holder can access.
    pub grants: Grants,
    /// When the token expires. Without a time, it is valid until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// One line about the token's purpose; may be empty.
    pub label: String,
}

/// A token without its hash, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenDocument {
    /// The token's ID, which is needed to revoke it.
    pub id: TokenId,
    /// The principal that the token's holder acts as.
    pub principal: Arc<str>,
    /// Whether the principal is a person, an agent or a program.
    pub kind: ActorKind,
    /// The role of the token's holder.
    pub role: Role,
    /// The spaces that the token's holder can access. Admins can access everything.
    pub grants: Grants,
    /// When the token expires. Without a time, it is valid until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// The token's purpose; may be empty.
    pub label: Arc<str>,
    /// When the token was created.
    pub created_at: Timestamp,
    /// Who created the token.
    pub created_by: Arc<str>,
}

impl From<&Token> for TokenDocument {
    fn from(token: &Token) -> Self {
        let Token { id, hash: _, principal, kind, role, grants, expires_at, label, created_at, created_by } =
            token.clone();
        Self { id, principal, kind, role, grants, expires_at, label, created_at, created_by }
    }
}

/// A new token with its secret.
#[derive(Debug)]
pub struct CreatedToken {
    /// The token's ID, which is needed to revoke it.
    pub id: TokenId,
    /// The secret that authenticates the token's holder. It is not stored and cannot be shown again.
    pub secret: SecretString,
}

impl Corkboard {
    /// Returns the access tokens of this store.
    pub fn tokens(&self) -> Tokens {
        let (engine, lookups, corkboard) = self.tokens_engine();
        let slot = engine.slot(&SpaceId::tokens());
        Tokens { actor: self.authenticated_actor().clone(), engine, slot, lookups, _corkboard: corkboard }
    }
}

impl Tokens {
    /// Returns a handle to the tokens that acts as another actor.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// Creates a token with a random secret. Only the answer contains the secret.
    pub async fn create(&self, request: TokenRequest) -> Result<CreatedToken> {
        let bytes = ids::unguessable::<SECRET_BYTES>()
            .map_err(|error| crate::SnapshotError::NoRandomness(error.to_string()))?;
        let secret = SecretString::from(format!("{PREFIX}{}", BASE32_NOPAD.encode(&bytes).to_ascii_lowercase()));
        let id = self.create_with(request, &secret).await?;
        Ok(CreatedToken { id, secret })
    }

    async fn create_with(&self, request: TokenRequest, secret: &SecretString) -> Result<TokenId> {
        let TokenRequest { principal, kind, role, grants, expires_at, label } = request;
        let hash = hash(secret.expose_secret());
        let new = NewToken { hash, principal, kind, role, grants, expires_at, label };
        match self.ask(TokensCommand::Create(new)).await? {
            TokensReply::Created { id } => Ok(id),
            other => Err(unexpected(other)),
        }
    }

    /// Revokes a token. This takes effect at once in this process and within a second in others.
    pub async fn revoke(&self, token: TokenId) -> Result<()> {
        self.ask(TokensCommand::Revoke { token }).await.map(|_| ())
    }

    /// Lists the valid tokens in the order of their creation.
    pub async fn list(&self) -> Result<Vec<Arc<Token>>> {
        let current = self.engine.current(&self.slot).await?;
        Ok(current.state.tokens(self.engine.now(&self.slot, &current)).cloned().collect())
    }

    /// Returns the current revision of the tokens.
    pub async fn rev(&self) -> Result<u64> {
        Ok(self.engine.current(&self.slot).await?.head.rev)
    }

    /// Finds the valid token with this secret. An unknown secret is also looked up in the store, so a token that
    /// another process has just created is found.
    pub async fn find(&self, secret: &str) -> Result<Option<Arc<Token>>> {
        if !is_like_ours(secret) {
            return Ok(None);
        }
        let (asked_at, hash) = (Instant::now(), hash(secret));
        if let Some(known) = self.find_in_memory(&hash) {
            return Ok(known);
        }
        let current = self.lookups.look(&self.engine, &self.slot, asked_at).await?;
        Ok(current.state.find(&hash, self.engine.now(&self.slot, &current)).cloned())
    }

    /// Whether this process has the tokens in memory, and none of them has this secret. The store is not asked and may
    /// have a newer one.
    pub fn is_unknown_here(&self, secret: &str) -> bool {
        let has = |held: &Revisioned<TokensState>| {
            held.state.find(&hash(secret), self.engine.now(&self.slot, held)).is_some()
        };
        !is_like_ours(secret) || self.slot.peek().is_some_and(|held| !has(&held))
    }

    /// The answer without asking the store. `None` if another process may have just created the token.
    fn find_in_memory(&self, hash: &TokenHash) -> Option<Option<Arc<Token>>> {
        let held = self.engine.current_in_memory(&self.slot)?;
        let current = held.as_ref()?;
        let found = current.state.find(hash, self.engine.now(&self.slot, current)).cloned();
        (found.is_some() || self.engine.is_sole()).then_some(found)
    }

    async fn ask(&self, command: TokensCommand) -> Result<TokensReply> {
        let asked = RequestSource::Request(Request::new(command));
        Ok(self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), asked).await?.reply)
    }
}

/// Lookups of unknown secrets in the store.
#[derive(Default)]
pub(crate) struct TokenLookups {
    /// Locked during a lookup. Everyone who waits meanwhile shares the next one.
    last: tokio::sync::Mutex<Option<TokenLookup>>,
}

impl TokenLookups {
    /// The tokens as they were in the store at `since` or later.
    pub(super) async fn look(
        self: &Arc<Self>,
        engine: &Arc<Engine<TokensState>>,
        slot: &Arc<Slot<TokensState>>,
        since: Instant,
    ) -> Result<Arc<Revisioned<TokensState>>> {
        let (own, lookups) = (engine.clone(), self.clone());
        let slot = slot.clone();
        // Run in a separate task: others rely on a lookup that one caller starts, and that caller may stop waiting.
        joined(engine.spawn(async move {
            let mut last = lookups.last.lock().await;
            if let Some(TokenLookup { began, seen }) = &*last {
                if *began >= since {
                    return seen.as_ref().map(Arc::clone).map_err(again);
                }
                tokio::time::sleep_until(*began + LOOKS_APART).await;
            }
            let began = Instant::now();
            let seen = own.as_stored(&slot).await;
            let answer = seen.as_ref().map(Arc::clone).map_err(again);
            *last = Some(TokenLookup { began, seen });
            answer
        }))
        .await
    }
}

/// One lookup in the store.
struct TokenLookup {
    /// Delays the next lookup, even after a failure.
    began: Instant,
    /// The tokens, or why they could not be read.
    seen: Result<Arc<Revisioned<TokensState>>>,
}

/// Whether a secret has the format of ours. Other secrets need no lookup.
fn is_like_ours(secret: &str) -> bool {
    secret.strip_prefix(PREFIX).is_some_and(|random| random.len() == BASE32_NOPAD.encode_len(SECRET_BYTES))
}

/// Hashes a secret. One round is enough because secrets are long and random. The lookup compares hashes, so its
/// duration reveals nothing about secrets.
fn hash(secret: &str) -> TokenHash {
    TokenHash::new(blake3::derive_key("corkboard access token", secret.as_bytes()))
}

/// The error for a reply of the wrong kind, which is a bug in Corkboard.
fn unexpected(reply: TokensReply) -> Error {
    Error::Damaged { space: "tokens".into(), message: format!("unexpected reply: {reply:?}") }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("actor", &self.actor).finish_non_exhaustive()
    }
}

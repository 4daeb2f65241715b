//! Tokens by which a store is reached from outside. Whoever has the secret is whom the token names; only its hash is kept.

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

/// What every secret begins with, so that it is known for what it is wherever it turns up.
const PREFIX: &str = "cork_";
/// How many random bytes a secret has.
const SECRET_BYTES: usize = 32;
/// How far apart the looks at the store for secrets that are not known here are, at least: so guessing costs it little.
const LOOKS_APART: Duration = Duration::from_millis(200);

/// The tokens of a store.
#[derive(Clone)]
pub struct Tokens {
    actor: AuthenticatedActor,
    engine: Arc<Engine<TokensState>>,
    slot: Arc<Slot<TokensState>>,
    looks: Arc<Looks>,
    /// What ticks and flushes goes on for as long as there are handles.
    _corkboard: Arc<dyn Any + Send + Sync>,
}

/// A token to be made. Nothing is granted unless it is said.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// In whose name whoever comes with it acts.
    pub principal: String,
    /// Whether that is a person, an agent or a program.
    pub kind: ActorKind,
    /// What they may do.
    pub role: Role,
    /// What they may touch.
    pub grants: Grants,
    /// Until when it can be used; none: until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// What it is for, in a line; may be empty.
    pub label: String,
}

/// A token as it is shown: all but what its secret could be found by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenDocument {
    /// Its number: by which it is revoked.
    pub id: TokenId,
    /// In whose name whoever comes with it acts.
    pub principal: Arc<str>,
    /// Whether that is a person, an agent or a program.
    pub kind: ActorKind,
    /// What they may do.
    pub role: Role,
    /// What they may touch. To an admin, everything is open.
    pub grants: Grants,
    /// Until when it can be used; none: until it is revoked.
    pub expires_at: Option<Timestamp>,
    /// What it is for; may be empty.
    pub label: Arc<str>,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Arc<str>,
}

impl From<&Token> for TokenDocument {
    fn from(token: &Token) -> Self {
        let Token { id, hash: _, principal, kind, role, grants, expires_at, label, created_at, created_by } =
            token.clone();
        Self { id, principal, kind, role, grants, expires_at, label, created_at, created_by }
    }
}

/// A token that was made.
#[derive(Debug)]
pub struct CreatedToken {
    /// Its number: by which it is revoked.
    pub id: TokenId,
    /// What its holder comes with. It is kept nowhere, and cannot be shown again.
    pub secret: SecretString,
}

impl Corkboard {
    /// The tokens by which this store is reached from outside.
    pub fn tokens(&self) -> Tokens {
        let (engine, looks, corkboard) = self.tokens_engine();
        let slot = engine.slot(&SpaceId::tokens());
        Tokens { actor: self.authenticated_actor().clone(), engine, slot, looks, _corkboard: corkboard }
    }
}

impl Tokens {
    /// The same tokens, in another name.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// Makes a token. Its secret is random, and in the answer alone.
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

    /// Makes a token useless, at once here and within a second everywhere else.
    pub async fn revoke(&self, token: TokenId) -> Result<()> {
        self.ask(TokensCommand::Revoke { token }).await.map(|_| ())
    }

    /// The tokens that can be used, in the order in which they were made.
    pub async fn list(&self) -> Result<Vec<Arc<Token>>> {
        let current = self.engine.current(&self.slot).await?;
        Ok(current.state.tokens(self.engine.now(&self.slot, &current)).cloned().collect())
    }

    /// The revision that the tokens are at.
    pub async fn rev(&self) -> Result<u64> {
        Ok(self.engine.current(&self.slot).await?.head.rev)
    }

    /// The token with that secret, if there is one that can be used. One that was made elsewhere a moment ago is found, too:
    /// before a secret is unknown, the store is asked.
    pub async fn find(&self, secret: &str) -> Result<Option<Arc<Token>>> {
        if !is_like_ours(secret) {
            return Ok(None);
        }
        let (asked_at, hash) = (Instant::now(), hash(secret));
        if let Some(known) = self.find_in_memory(&hash) {
            return Ok(known);
        }
        let current = self.looks.look(&self.engine, &self.slot, asked_at).await?;
        Ok(current.state.find(&hash, self.engine.now(&self.slot, &current)).cloned())
    }

    /// Whether this process has the tokens in memory, and none of them has that secret. The store is not asked, and may know
    /// a newer one.
    pub fn is_unknown_here(&self, secret: &str) -> bool {
        let has = |held: &Revisioned<TokensState>| {
            held.state.find(&hash(secret), self.engine.now(&self.slot, held)).is_some()
        };
        !is_like_ours(secret) || self.slot.peek().is_some_and(|held| !has(&held))
    }

    /// What can be said without asking the store: nothing of a secret that somebody else may just have made.
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

/// Looks at the store for secrets that are not known here.
#[derive(Default)]
pub(crate) struct Looks {
    /// Held until a look is done: all who wait meanwhile share the next.
    last: tokio::sync::Mutex<Option<Look>>,
}

impl Looks {
    /// The tokens as they are in the store, now or at any time since that moment.
    pub(super) async fn look(
        self: &Arc<Self>,
        engine: &Arc<Engine<TokensState>>,
        slot: &Arc<Slot<TokensState>>,
        since: Instant,
    ) -> Result<Arc<Revisioned<TokensState>>> {
        let (own, looks) = (engine.clone(), self.clone());
        let slot = slot.clone();
        // A task of its own: others rely on a look that one caller begins, and he may stop waiting.
        joined(engine.spawn(async move {
            let mut last = looks.last.lock().await;
            if let Some(Look { began, seen }) = &*last {
                if *began >= since {
                    return seen.as_ref().map(Arc::clone).map_err(again);
                }
                tokio::time::sleep_until(*began + LOOKS_APART).await;
            }
            let began = Instant::now();
            let seen = own.as_stored(&slot).await;
            let answer = seen.as_ref().map(Arc::clone).map_err(again);
            *last = Some(Look { began, seen });
            answer
        }))
        .await
    }
}

/// A look at the store.
struct Look {
    /// By this the next one is kept away, whatever came of it.
    began: Instant,
    /// What there was, or why nobody knows.
    seen: Result<Arc<Revisioned<TokensState>>>,
}

/// Whether a secret could be one of ours. Nobody needs to look for any other.
fn is_like_ours(secret: &str) -> bool {
    secret.strip_prefix(PREFIX).is_some_and(|random| random.len() == BASE32_NOPAD.encode_len(SECRET_BYTES))
}

/// Secrets are long and random, so one round is enough. The lookup compares hashes: how long it takes tells nothing about
/// any secret.
fn hash(secret: &str) -> TokenHash {
    TokenHash::new(blake3::derive_key("corkboard access token", secret.as_bytes()))
}

/// An answer that does not belong to the question: a defect of ours, said instead of hidden.
fn unexpected(reply: TokensReply) -> Error {
    Error::Damaged { space: "tokens".into(), message: format!("an answer that was not asked for: {reply:?}") }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("actor", &self.actor).finish_non_exhaustive()
    }
}

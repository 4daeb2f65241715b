//! The actor of a handle, and whether its token is still valid.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::tokens::{Token, TokenId, TokensState};
use corkboard_core::{Actor, Revisioned, SpaceId};
use jiff::Timestamp;
use tokio::time::Instant;

use super::TokenLookups;
use crate::engine::{Engine, Slot};
use crate::{Corkboard, Error, Result};

/// Maximum time between two checks in the store whether a token has ended.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// An actor, with the token that authenticates it, if any.
#[derive(Clone)]
pub(crate) struct AuthenticatedActor {
    actor: Actor,
    token: Option<Arc<HeldToken>>,
}

/// The token of a handle.
struct HeldToken {
    token: TokenId,
    expires_at: Option<Timestamp>,
    engine: Arc<Engine<TokensState>>,
    slot: Arc<Slot<TokensState>>,
    lookups: Arc<TokenLookups>,
}

impl AuthenticatedActor {
    /// Another actor, authenticated by the same token.
    pub(crate) fn by_same_token(&self, actor: Actor) -> Self {
        Self { actor, token: self.token.clone() }
    }

    /// Fails if the token has ended. Revocations by other processes are seen within [`LOOK_AGAIN`].
    pub(crate) async fn check_token(&self) -> Result<()> {
        let Some(held_token) = &self.token else { return Ok(()) };
        match held_token.engine.current(&held_token.slot).await {
            Ok(current) => held_token.check(Some(&current)),
            // If the store is unavailable, use the last known state.
            Err(_) => held_token.check(held_token.slot.peek().as_deref()),
        }
    }

    /// Fails if the token has ended according to the state in memory, without asking the store.
    pub(crate) fn check_token_in_memory(&self) -> Result<()> {
        let Some(held_token) = &self.token else { return Ok(()) };
        held_token.check(held_token.slot.peek().as_deref())
    }

    /// Completes when the token has ended. Never completes without a token.
    async fn token_ended(&self) {
        let Some(held_token) = &self.token else { return std::future::pending().await };
        let mut changes = held_token.engine.changes(&held_token.slot);
        loop {
            changes.mark();
            // Ask the store: a change notification can arrive while the copy in memory still counts as fresh.
            let stored = held_token.lookups.look(&held_token.engine, &held_token.slot, Instant::now()).await.ok();
            let known = stored.or_else(|| held_token.slot.peek());
            if held_token.check(known.as_deref()).is_err() {
                return;
            }
            let left = held_token.expires_at.map(|at| at.duration_since(held_token.engine.time()));
            let left = left.and_then(|left| Duration::try_from(left).ok()).unwrap_or(LOOK_AGAIN);
            let look_again = Instant::now() + left.clamp(Duration::from_millis(1), LOOK_AGAIN);
            if changes.wait(look_again).await.is_err() {
                // The Corkboard is closed, so nothing more can be learned about the token.
                return std::future::pending().await;
            }
        }
    }
}

impl HeldToken {
    fn check(&self, current: Option<&Revisioned<TokensState>>) -> Result<()> {
        let is_usable = match current {
            Some(current) => current.state.is_usable(self.token, self.engine.now(&self.slot, current)),
            None => self.expires_at.is_none_or(|at| self.engine.time() < at),
        };
        if is_usable { Ok(()) } else { Err(Error::TokenEnded) }
    }
}

impl Deref for AuthenticatedActor {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        &self.actor
    }
}

impl From<Actor> for AuthenticatedActor {
    fn from(actor: Actor) -> Self {
        Self { actor, token: None }
    }
}

impl std::fmt::Debug for AuthenticatedActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.actor.fmt(f)
    }
}

impl Corkboard {
    /// Returns a Corkboard for the holder of a token. Once the token is revoked or has expired, writes of its handles
    /// fail with [`Error::TokenEnded`], including commands that are waiting to be committed.
    pub fn with_token(&self, token: &Token) -> Self {
        let (engine, lookups, _) = self.tokens_engine();
        let slot = engine.slot(&SpaceId::tokens());
        let held_token = HeldToken { token: token.id, expires_at: token.expires_at, engine, slot, lookups };
        let actor = AuthenticatedActor { actor: self.actor().clone(), token: Some(Arc::new(held_token)) };
        self.with_authenticated_actor(actor)
    }

    /// Fails with [`Error::TokenEnded`] if the token of [`Corkboard::with_token`] is no longer valid. A revocation by
    /// another process is seen within a second.
    pub async fn check_token(&self) -> Result<()> {
        self.authenticated_actor().check_token().await
    }

    /// Checks the token like [`Corkboard::check_token`], but only against the state in memory.
    pub fn check_token_in_memory(&self) -> Result<()> {
        self.authenticated_actor().check_token_in_memory()
    }

    /// Completes when the token of [`Corkboard::with_token`] is no longer valid. Never completes without a token.
    pub async fn token_ended(&self) {
        self.authenticated_actor().token_ended().await;
    }
}

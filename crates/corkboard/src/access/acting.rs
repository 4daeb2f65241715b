//! In whose name a handle acts, and whether the token that it came with can still be used.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::tokens::{Token, TokenId, TokensState};
use corkboard_core::{Actor, Revisioned, SpaceId};
use jiff::Timestamp;
use tokio::time::Instant;

use super::Looks;
use crate::engine::{Engine, Slot};
use crate::{Corkboard, Error, Result};

/// The longest time between two looks at the store for the end of a token.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// An actor, with the token that lets it act if there is one.
#[derive(Clone)]
pub(crate) struct Acting {
    actor: Actor,
    token: Option<Arc<Bearing>>,
}

/// A token that a handle came with.
struct Bearing {
    token: TokenId,
    expires_at: Option<Timestamp>,
    engine: Arc<Engine<TokensState>>,
    slot: Arc<Slot<TokensState>>,
    looks: Arc<Looks>,
}

impl Acting {
    /// Another actor by the same token.
    pub(crate) fn by_same_token(&self, actor: Actor) -> Self {
        Self { actor, token: self.token.clone() }
    }

    /// Refuses if the token has ended. Other processes' revocations are seen within [`LOOK_AGAIN`].
    pub(crate) async fn check_token(&self) -> Result<()> {
        let Some(bearing) = &self.token else { return Ok(()) };
        match bearing.engine.current(&bearing.slot).await {
            Ok(current) => bearing.check(Some(&current)),
            // A store that cannot be asked says nothing new.
            Err(_) => bearing.check(bearing.slot.peek().as_deref()),
        }
    }

    /// Refuses if the token has ended as far as this process knows. The store is not asked.
    pub(crate) fn check_token_in_memory(&self) -> Result<()> {
        let Some(bearing) = &self.token else { return Ok(()) };
        bearing.check(bearing.slot.peek().as_deref())
    }

    /// Completes when the token has ended. Without a token, never.
    async fn token_ended(&self) {
        let Some(bearing) = &self.token else { return std::future::pending().await };
        let mut changes = bearing.engine.changes(&bearing.slot);
        loop {
            changes.mark();
            // The store is asked: word of a change elsewhere comes before the copy in memory counts as old.
            let stored = bearing.looks.look(&bearing.engine, &bearing.slot, Instant::now()).await.ok();
            let held = stored.or_else(|| bearing.slot.peek());
            if bearing.check(held.as_deref()).is_err() || bearing.engine.is_closed() {
                return;
            }
            let left = bearing.expires_at.map(|at| at.duration_since(bearing.engine.time()));
            let left = left.and_then(|left| Duration::try_from(left).ok()).unwrap_or(LOOK_AGAIN);
            // Closed: then it is time to look at that.
            let _ = changes.wait(Instant::now() + left.clamp(Duration::from_millis(1), LOOK_AGAIN)).await;
        }
    }
}

impl Bearing {
    fn check(&self, current: Option<&Revisioned<TokensState>>) -> Result<()> {
        let is_usable = match current {
            Some(current) => current.state.is_usable(self.token, self.engine.now(current)),
            None => self.expires_at.is_none_or(|at| self.engine.time() < at),
        };
        if is_usable { Ok(()) } else { Err(Error::TokenEnded) }
    }
}

impl Deref for Acting {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        &self.actor
    }
}

impl From<Actor> for Acting {
    fn from(actor: Actor) -> Self {
        Self { actor, token: None }
    }
}

impl std::fmt::Debug for Acting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.actor.fmt(f)
    }
}

impl Corkboard {
    /// The same Corkboard for the holder of a token. Once the token is revoked or has expired, what its handles write is
    /// refused with [`Error::TokenEnded`]: also a command that is already waiting, until the moment it is committed.
    pub fn with_token(&self, token: &Token) -> Self {
        let (engine, looks, _) = self.tokens_engine();
        let slot = engine.slot(&SpaceId::tokens());
        let bearing = Bearing { token: token.id, expires_at: token.expires_at, engine, slot, looks };
        let acting = Acting { actor: self.actor().clone(), token: Some(Arc::new(bearing)) };
        self.with_acting(acting)
    }

    /// Refuses with [`Error::TokenEnded`] if the token of [`Corkboard::with_token`] can no longer be used. A revocation by
    /// another process is seen within a second.
    pub async fn check_token(&self) -> Result<()> {
        self.acting().check_token().await
    }

    /// Does what [`Corkboard::check_token`] does, by what this process knows already.
    pub fn check_token_in_memory(&self) -> Result<()> {
        self.acting().check_token_in_memory()
    }

    /// Completes when the token of [`Corkboard::with_token`] can no longer be used; without a token, never.
    pub async fn token_ended(&self) {
        self.acting().token_ended().await;
    }
}

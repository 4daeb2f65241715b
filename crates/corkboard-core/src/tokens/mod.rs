//! Access tokens of a store. Only the hash of a token is stored.

mod decide;
mod grant;
mod token;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::{OrdMap, OrdSet};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::space::{CommandEffects, Space, Stamp, misfit};
use crate::{Context, FormatError, Refusal, SpaceKind, Usage};

pub use grant::{Grant, Grants};
pub use token::{NewToken, Token, TokenHash, TokenId};

/// The usable tokens of a store at one revision. Revoked and expired tokens are only in the log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "TokensImage", into = "TokensImage")]
pub struct TokensState {
    tokens: OrdMap<TokenId, Arc<Token>>,
    by_hash: OrdMap<TokenHash, TokenId>,
    /// Tokens that expire, soonest first.
    expiries: OrdSet<(Timestamp, TokenId)>,
    /// The last assigned ID.
    last: TokenId,
    bytes: u64,
}

/// All tokens as plain data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TokensImage {
    tokens: Vec<Arc<Token>>,
    last: TokenId,
}

/// A command about tokens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokensCommand {
    /// Creates a token.
    Create(NewToken),
    /// Revokes a token.
    Revoke { token: TokenId },
    /// Expires due tokens, as every command does first.
    Tick,
}

/// A stored event. Fields may be added with a default, but never changed or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokensEvent {
    /// A token was created.
    Created { id: TokenId, token: NewToken },
    /// A token was revoked.
    Revoked { id: TokenId },
    /// A token expired.
    Expired { id: TokenId },
}

/// The answer to a [`TokensCommand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TokensReply {
    /// The answer to `Create`.
    Created { id: TokenId },
    /// The answer to all other commands.
    Done,
}

impl TokensState {
    /// The token with this hash, if it is not expired at that time.
    pub fn find(&self, hash: &TokenHash, now: Timestamp) -> Option<&Arc<Token>> {
        let token = self.tokens.get(self.by_hash.get(hash)?)?;
        (!token.is_expired(now)).then_some(token)
    }

    /// Whether the token with this ID exists and is not expired at that time.
    pub fn is_usable(&self, token: TokenId, now: Timestamp) -> bool {
        self.tokens.get(&token).is_some_and(|token| !token.is_expired(now))
    }

    /// All tokens that are not expired at that time, in the order of their creation.
    pub fn tokens(&self, now: Timestamp) -> impl Iterator<Item = &Arc<Token>> {
        self.tokens.values().filter(move |token| !token.is_expired(now))
    }

    fn put(&mut self, token: Arc<Token>) {
        self.last = self.last.max(token.id);
        self.bytes += token.bytes();
        self.by_hash.insert(token.hash.clone(), token.id);
        if let Some(at) = token.expires_at {
            self.expiries.insert((at, token.id));
        }
        self.tokens.insert(token.id, token);
    }

    fn take(&mut self, id: TokenId) -> Result<(), FormatError> {
        let token = self.tokens.remove(&id).ok_or_else(|| misfit(format!("token {id} does not exist")))?;
        self.bytes -= token.bytes();
        self.by_hash.remove(&token.hash);
        if let Some(at) = token.expires_at {
            self.expiries.remove(&(at, id));
        }
        Ok(())
    }
}

impl Space for TokensState {
    const KIND: SpaceKind = SpaceKind::Tokens;
    type Command = TokensCommand;
    type Event = TokensEvent;
    type Reply = TokensReply;
    /// A token's hash does not reveal the token, so there is nothing to forget.
    type Forget = core::convert::Infallible;

    fn expire(&self, now: Timestamp) -> Vec<TokensEvent> {
        let due = self.expiries.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, id)| TokensEvent::Expired { id: *id }).collect()
    }

    fn decide(
        &self,
        command: &TokensCommand,
        context: &Context<'_>,
    ) -> Result<CommandEffects<TokensEvent, TokensReply>, Refusal> {
        decide::decide(self, command, context)
    }

    fn apply(&mut self, event: &TokensEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        match event {
            TokensEvent::Created { id, token } => {
                if *id <= self.last {
                    return Err(misfit(format!("{id} is already assigned")));
                }
                self.put(Arc::new(Token::new(*id, token, stamp)));
                Ok(())
            }
            TokensEvent::Revoked { id } | TokensEvent::Expired { id } => self.take(*id),
        }
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.expiries.get_min().map(|(at, _)| *at)
    }

    fn summary(&self, _changed_at: Timestamp) -> String {
        format!(r#"{{"tokens":{}}}"#, self.tokens.len())
    }

    fn usage(&self) -> Usage {
        Usage { entries: self.tokens.len() as u64, scopes: 0, bytes: self.bytes }
    }
}

impl From<TokensState> for TokensImage {
    fn from(state: TokensState) -> Self {
        // The other fields are derived from these.
        let TokensState { tokens, by_hash: _, expiries: _, last, bytes: _ } = state;
        Self { tokens: tokens.values().cloned().collect(), last }
    }
}

impl From<TokensImage> for TokensState {
    fn from(image: TokensImage) -> Self {
        let TokensImage { tokens, last } = image;
        let mut state = Self { last, ..Self::default() };
        tokens.into_iter().for_each(|token| state.put(token));
        state
    }
}

//! The space of a conversation: one scope, which expires when it is not used.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::decide::{DecideResult, decide};
use super::{AgentCommand, AgentEvent, AgentState};
use crate::id::check_visible;
use crate::space::CommandEffects;
use crate::{Context, ConversationId, ScopeId, ScopeName, ScopeState};

/// When the scope of a conversation expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IdleExpiry {
    /// The conversation's scope.
    pub scope: ScopeId,
    /// When the conversation was last read or written, to 1 % of the idle time.
    pub used_at: Timestamp,
    /// When the scope expires.
    pub until: Timestamp,
}

impl IdleExpiry {
    /// Whether a use at that time needs a new revision. So at most about 100 revisions are written per idle time.
    pub fn is_stale(&self, now: Timestamp, idle_ms: u64) -> bool {
        let until = deadline(now, idle_ms).as_millisecond();
        until.abs_diff(self.until.as_millisecond()) >= (idle_ms / 100).max(1)
    }
}

impl AgentState {
    /// When the scope of a conversation expires, in the space of a conversation.
    pub fn idle_expiry(&self) -> Option<&IdleExpiry> {
        self.idle.as_ref()
    }

    /// The scope of a conversation, unless it has expired.
    pub fn conversation(&self, scope: ScopeId, now: Timestamp) -> Option<&ScopeState> {
        let is_over = self.idle.is_some_and(|idle| idle.scope == scope && idle.until <= now);
        if is_over { None } else { self.scope(scope) }
    }

    /// This state with the scope of a conversation, which is empty if the conversation has not begun or has expired.
    pub fn with_conversation(&self, scope: ScopeId, id: &ConversationId, now: Timestamp) -> Cow<'_, Self> {
        if self.conversation(scope, now).is_some() {
            return Cow::Borrowed(self);
        }
        let mut begun = self.clone();
        begun.scopes.insert(scope, ScopeState::new(ScopeName::from(id), ScopeId::ROOT, now));
        Cow::Owned(begun)
    }
}

/// Decides a command in a conversation. The first change begins the conversation, and every use renews it.
pub(super) fn converse(
    state: &AgentState,
    context: &Context<'_>,
    (id, scope): (&ConversationId, ScopeId),
    idle_ms: u64,
    command: &AgentCommand,
) -> DecideResult {
    let begun = state.with_conversation(scope, id, context.now);
    let is_new = matches!(begun, Cow::Owned(_));
    let CommandEffects { events: changes, reply, warnings } = decide(&begun, command, context)?;
    if is_new && changes.is_empty() {
        return Ok(CommandEffects::new(changes, reply));
    }
    let mut events = Vec::with_capacity(changes.len() + 2);
    if is_new {
        check_visible("conversation ID", id.as_str())?;
        events.push(AgentEvent::ScopeCreated { id: scope, name: ScopeName::from(id), parent: ScopeId::ROOT });
    }
    events.extend(changes);
    if state.idle.is_none_or(|idle| idle.is_stale(context.now, idle_ms)) {
        events.push(AgentEvent::ConversationRenewed { scope, until: deadline(context.now, idle_ms) });
    }
    Ok(CommandEffects { events, reply, warnings })
}

fn deadline(now: Timestamp, idle_ms: u64) -> Timestamp {
    let idle_ms = i64::try_from(idle_ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(now.as_millisecond().saturating_add(idle_ms)).unwrap_or(Timestamp::MAX)
}

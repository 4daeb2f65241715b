//! Nudges: messages to agents that work on a board, with proof of delivery.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::str::FromStr;

use jiff::Timestamp;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{BoardState, BoardStatus, NudgeId};
use crate::text::enum_text;
use crate::{AgentId, Limits, Refusal, Role};

/// Recipient of a nudge. An agent's name is accepted in place of `{"agent": NAME}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NudgeTarget {
    /// One agent.
    Agent(AgentId),
    /// The current orchestrator.
    Orchestrator,
    /// Everybody who works on the board or has worked on it.
    #[default]
    All,
}

/// Priority of a nudge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NudgePriority {
    /// Good to know.
    Low,
    /// Workers should follow it.
    #[default]
    Normal,
    /// Shown first; its readers can complete a task only after they have read it.
    Urgent,
}

/// A nudge to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewNudge {
    #[serde(default, alias = "target")]
    pub to: NudgeTarget,
    pub message: String,
    #[serde(default)]
    pub priority: NudgePriority,
    /// When it expires and is no longer shown.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
}

/// A message to agents that work on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Nudge {
    pub id: NudgeId,
    #[serde(alias = "injected_at")]
    pub created_at: Timestamp,
    #[serde(alias = "injected_by")]
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    pub to: NudgeTarget,
    pub message: Arc<str>,
    pub priority: NudgePriority,
    /// When it expires and is no longer shown.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Whether it has expired.
    #[serde(default)]
    pub expired: bool,
    /// Who has read it, and when they first did.
    #[serde(default)]
    pub delivered: Vec<Receipt>,
    /// Who has acknowledged it, and when.
    #[serde(default)]
    pub acknowledged: Vec<Receipt>,
    /// The revision that last changed it.
    pub version: u64,
}

/// Who received or acknowledged a nudge, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Receipt {
    pub agent: Arc<str>,
    pub at: Timestamp,
}

impl Nudge {
    pub fn is_delivered_to(&self, agent: &str) -> bool {
        self.delivered.iter().any(|receipt| *receipt.agent == *agent)
    }

    /// Whether it is urgent and this agent has not read it.
    pub fn waits_undelivered(&self, agent: &str) -> bool {
        self.priority == NudgePriority::Urgent && !self.is_delivered_to(agent)
    }

    pub fn is_acknowledged_by(&self, agent: &str) -> bool {
        self.acknowledged.iter().any(|receipt| *receipt.agent == *agent)
    }

    /// Whether somebody still has to see it, now or later.
    pub fn is_open(&self) -> bool {
        // A nudge to all is also for agents that join later.
        !self.expired && (self.to == NudgeTarget::All || self.acknowledged.is_empty())
    }

    pub fn bytes(&self) -> u64 {
        /// Bytes counted for a nudge and for a receipt besides their texts.
        const FIXED: usize = 150;
        const RECEIPT: usize = 40;
        let to = match &self.to {
            NudgeTarget::Agent(agent) => agent.as_str().len(),
            NudgeTarget::Orchestrator | NudgeTarget::All => 0,
        };
        let receipts = self.delivered.iter().chain(&self.acknowledged);
        let receipts: usize = receipts.map(|receipt| RECEIPT + receipt.agent.len()).sum();
        (FIXED + self.message.len() + to + receipts) as u64
    }

    /// Its position among the open nudges: urgent ones first, then in order.
    pub(super) fn rank(&self) -> (Reverse<NudgePriority>, NudgeId) {
        (Reverse(self.priority), self.id)
    }
}

impl BoardState {
    pub fn nudge(&self, id: NudgeId) -> Option<&Nudge> {
        self.nudges.get(&id).map(|nudge| &**nudge)
    }

    /// All nudges, in order.
    pub fn nudges(&self) -> impl DoubleEndedIterator<Item = &Arc<Nudge>> {
        self.nudges.values()
    }

    /// The nudges to show to a principal in a role until they acknowledge them: urgent ones first, then in order. None
    /// once the board has ended.
    pub fn nudges_for(&self, principal: &str, role: Role) -> Vec<&Arc<Nudge>> {
        if self.info().is_none_or(|info| info.status != BoardStatus::Active) {
            return Vec::new();
        }
        let open = self.open_nudges.iter().filter_map(|(_, id)| self.nudges.get(id));
        let is_new = |nudge: &&Arc<Nudge>| !nudge.is_acknowledged_by(principal);
        open.filter(is_new).filter(|nudge| self.is_target(nudge, principal, role)).collect()
    }

    /// Whether a nudge is for this principal in this role.
    pub fn is_target(&self, nudge: &Nudge, principal: &str, role: Role) -> bool {
        match &nudge.to {
            _ if role == Role::Observer => false,
            NudgeTarget::Agent(agent) => agent.as_str() == principal,
            NudgeTarget::Orchestrator => match self.orchestrator() {
                Some(lease) => lease.holder.as_str() == principal,
                None => role == Role::Orchestrator,
            },
            // Authors do not need their own nudges.
            NudgeTarget::All => *nudge.created_by != *principal && self.works_here(principal, role),
        }
    }

    /// Whether somebody works on the board: by their role, because they hold something on it, or because they
    /// contributed to it.
    fn works_here(&self, principal: &str, role: Role) -> bool {
        match role {
            Role::Orchestrator | Role::Worker | Role::Reviewer => true,
            Role::Observer => false,
            Role::Human | Role::Admin => {
                let is_theirs = |id| {
                    let task = self.task(id).and_then(|task| task.assigned_to.as_ref());
                    task.is_some_and(|agent| agent.as_str() == principal)
                };
                self.orchestrator().is_some_and(|lease| lease.holder.as_str() == principal)
                    || self.held().any(is_theirs)
                    || self.assigned().any(is_theirs)
                    || self.has_contributed(principal)
            }
        }
    }
}

impl FromStr for NudgeTarget {
    type Err = Refusal;

    /// `all`, `orchestrator` or an agent's name. An agent with one of these names must be given as JSON.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        if let Ok(target) = serde_json::from_str(text) {
            return Ok(target);
        }
        Self::named(text)
    }
}

impl NudgeTarget {
    fn named(name: &str) -> Result<Self, Refusal> {
        Ok(match name {
            "all" => Self::All,
            "orchestrator" => Self::Orchestrator,
            name => Self::Agent(AgentId::new(name, &Limits::default())?),
        })
    }
}

impl<'de> Deserialize<'de> for NudgeTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TargetVisitor)
    }
}

struct TargetVisitor;

impl<'de> Visitor<'de> for TargetVisitor {
    type Value = NudgeTarget;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{\"agent\": NAME}, \"orchestrator\", \"all\" or an agent's name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<NudgeTarget, E> {
        NudgeTarget::named(name).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NudgeTarget, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Target {
            agent: AgentId,
        }
        let Target { agent } = Target::deserialize(MapAccessDeserializer::new(map))?;
        Ok(NudgeTarget::Agent(agent))
    }
}

impl fmt::Display for NudgeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => f.write_str(agent.as_str()),
            Self::Orchestrator => f.write_str("the orchestrator"),
            Self::All => f.write_str("all"),
        }
    }
}

enum_text!(NudgePriority {
    Low => "low",
    Normal => "normal",
    Urgent => "urgent",
});

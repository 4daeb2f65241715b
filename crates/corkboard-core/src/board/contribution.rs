//! What each agent did on a board, folded from its events.

use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::OrdSet;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ArtifactId, BoardEvent, BoardState, DecisionId, DiscoveryId, ReviewVerdict, TaskId};
use crate::Role;
use crate::space::Stamp;

/// What an agent did on a board, in one role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ContributionImage", into = "ContributionImage")]
pub struct Contribution {
    pub agent: Arc<str>,
    pub role: Role,
    pub tasks_completed: OrdSet<TaskId>,
    pub decisions_made: OrdSet<DecisionId>,
    pub discoveries: OrdSet<DiscoveryId>,
    pub artifacts_created: OrdSet<ArtifactId>,
    /// When the agent first contributed.
    pub first_contribution: Timestamp,
    /// When the agent last contributed.
    pub last_contribution: Timestamp,
    /// The revision of the first contribution.
    pub first_rev: u64,
    /// The revision of the last contribution.
    pub last_rev: u64,
}

/// The stored form, with plain lists.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Contribution))]
struct ContributionImage {
    #[serde(alias = "agent_id")]
    agent: Arc<str>,
    #[serde(alias = "agent_role")]
    role: Role,
    tasks_completed: Vec<TaskId>,
    decisions_made: Vec<DecisionId>,
    discoveries: Vec<DiscoveryId>,
    artifacts_created: Vec<ArtifactId>,
    first_contribution: Timestamp,
    last_contribution: Timestamp,
    first_rev: u64,
    last_rev: u64,
}

#[cfg(feature = "openapi")]
crate::schema::same_as!(Contribution, ContributionImage;);

macro_rules! convert {
    ($from:ident, $to:ident) => {
        impl From<$from> for $to {
            fn from(of: $from) -> Self {
                Self {
                    agent: of.agent,
                    role: of.role,
                    tasks_completed: of.tasks_completed.into_iter().collect(),
                    decisions_made: of.decisions_made.into_iter().collect(),
                    discoveries: of.discoveries.into_iter().collect(),
                    artifacts_created: of.artifacts_created.into_iter().collect(),
                    first_contribution: of.first_contribution,
                    last_contribution: of.last_contribution,
                    first_rev: of.first_rev,
                    last_rev: of.last_rev,
                }
            }
        }
    };
}

convert!(Contribution, ContributionImage);
convert!(ContributionImage, Contribution);

enum ContributedItem {
    Task(TaskId),
    Decision(DecisionId),
    Discovery(DiscoveryId),
    Artifact(ArtifactId),
}

impl BoardState {
    /// All contributions, by agent and role.
    pub fn contributions(&self) -> impl Iterator<Item = &Contribution> {
        self.contributions.values().map(|contribution| &**contribution)
    }

    /// Whether somebody completed a task or recorded something on the board, in any role.
    pub(super) fn has_contributed(&self, principal: &str) -> bool {
        self.contributions().any(|by| *by.agent == *principal)
    }

    /// Adds an event to its author's contribution. Called before the event is applied.
    pub(super) fn count_contribution(&mut self, event: &BoardEvent, stamp: Stamp<'_>) {
        let (made, agent, role) = match event {
            BoardEvent::TaskCompleted { task, .. } => {
                (ContributedItem::Task(*task), stamp.principal.into(), stamp.role)
            }
            // An approved task counts for its worker, not for the reviewer.
            BoardEvent::TaskReviewed { task, verdict: ReviewVerdict::Approved, .. } => {
                let Some(done) = self.task(*task) else { return };
                let Some(worker) = &done.assigned_to else { return };
                (ContributedItem::Task(*task), worker.shared(), done.worked_as.unwrap_or(Role::Worker))
            }
            BoardEvent::DecisionRecorded { id, .. } => {
                (ContributedItem::Decision(*id), stamp.principal.into(), stamp.role)
            }
            BoardEvent::DiscoveryRecorded { id, .. } => {
                (ContributedItem::Discovery(*id), stamp.principal.into(), stamp.role)
            }
            BoardEvent::ArtifactRecorded { id, .. } => {
                (ContributedItem::Artifact(*id), stamp.principal.into(), stamp.role)
            }
            _ => return,
        };
        let key: (Arc<str>, &'static str) = (agent, role.as_str());
        if let Some(found) = self.contributions.get_mut(&key) {
            return Arc::make_mut(found).add(made, stamp);
        }
        let mut contribution = Contribution {
            agent: key.0.clone(),
            role,
            tasks_completed: OrdSet::new(),
            decisions_made: OrdSet::new(),
            discoveries: OrdSet::new(),
            artifacts_created: OrdSet::new(),
            first_contribution: stamp.at,
            last_contribution: stamp.at,
            first_rev: stamp.rev,
            last_rev: stamp.rev,
        };
        contribution.add(made, stamp);
        self.contributions.insert(key, Arc::new(contribution));
    }
}

impl Contribution {
    fn add(&mut self, made: ContributedItem, stamp: Stamp<'_>) {
        match made {
            ContributedItem::Task(id) => drop(self.tasks_completed.insert(id)),
            ContributedItem::Decision(id) => drop(self.decisions_made.insert(id)),
            ContributedItem::Discovery(id) => drop(self.discoveries.insert(id)),
            ContributedItem::Artifact(id) => drop(self.artifacts_created.insert(id)),
        }
        self.last_contribution = stamp.at;
        self.last_rev = stamp.rev;
    }
}

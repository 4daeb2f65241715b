//! Decides the commands of a board.

mod boards;
mod check;
mod choices;
mod claims;
mod consequences;
mod forget;
mod forks;
mod graph;
mod learnings;
mod lifetime;
mod moves;
mod people;
mod records;
mod tasks;

use alloc::string::ToString;
use alloc::vec::Vec;

use jiff::Timestamp;
use uuid::Uuid;

use super::views::Due;
use super::{BoardAction, BoardCommand, BoardEvent, BoardInfo, BoardReply, BoardState, BoardStatus, Task, TaskId};
use crate::space::{CommandEffects, PerformError, Space};
use crate::{Actor, AgentId, Context, FormatError, LimitName, LimitWarning, Limits, Refusal, Role};

type ReplyResult = Result<BoardReply, Refusal>;

pub(super) fn decide(
    state: &BoardState,
    command: &BoardCommand,
    context: &Context<'_>,
) -> Result<CommandEffects<BoardEvent, BoardReply>, Refusal> {
    BoardDecider::of(&mut state.clone(), context).whole(command)
}

/// Decides a command and applies its events to the state.
pub(super) fn perform(
    state: &mut BoardState,
    command: &BoardCommand,
    context: &Context<'_>,
) -> Result<CommandEffects<BoardEvent, BoardReply>, PerformError> {
    let mut decider = BoardDecider::of(state, context);
    let decided = decider.whole(command);
    if let Some(misfit) = decider.misfit {
        return Err(PerformError::Misfit(misfit));
    }
    let spoilt = !decider.events.is_empty();
    decided.map_err(|refusal| if spoilt { PerformError::Spoilt(refusal) } else { PerformError::Refused(refusal) })
}

/// The events of everything that has expired by a time.
pub(super) fn expire(state: &BoardState, now: Timestamp) -> Vec<BoardEvent> {
    if state.info().is_some_and(|info| info.status == BoardStatus::Purged) {
        return Vec::new();
    }
    let due: Vec<Due> = state.views.due(state.clock(now)).collect();
    if due.is_empty() {
        return Vec::new();
    }
    let (actor, limits) = (Actor::system(), Limits::default());
    let context = Context::new(now, &actor, &limits, Uuid::nil());
    let mut state = state.clone();
    let mut decider = BoardDecider::of(&mut state, &context);
    due.iter().for_each(|due| decider.push(due.event()));
    // A task that is pending again may have become impossible while it was worked on.
    decider.settle(due.iter().filter_map(|due| due.task()).collect());
    decider.events
}

/// A decision in progress: the events so far, and the state after them.
struct BoardDecider<'a> {
    state: &'a mut BoardState,
    events: Vec<BoardEvent>,
    /// Why an event did not fit the state, if one did not.
    misfit: Option<FormatError>,
    context: &'a Context<'a>,
}

impl<'a> BoardDecider<'a> {
    fn of(state: &'a mut BoardState, context: &'a Context<'a>) -> Self {
        Self { state, events: Vec::new(), misfit: None, context }
    }
}

impl BoardDecider<'_> {
    /// Decides a command, and checks the result against the limits.
    fn whole(&mut self, command: &BoardCommand) -> Result<CommandEffects<BoardEvent, BoardReply>, Refusal> {
        let limits = self.context.limits;
        Limits::check(LimitName::CommandBytes, command.bytes(), limits.command_bytes)?;
        let before = sizes(self.state, limits);
        let reply = self.decide(command)?;
        let warnings = match command.is_always_welcome() {
            true => Vec::new(),
            false => check_size(before, sizes(self.state, limits))?,
        };
        Ok(CommandEffects { events: core::mem::take(&mut self.events), reply, warnings })
    }

    fn decide(&mut self, command: &BoardCommand) -> ReplyResult {
        if let Some(action) = command.action() {
            self.check_role(action)?;
        }
        match command {
            BoardCommand::Tick => return Ok(BoardReply::Done),
            BoardCommand::Purge => return self.purge(),
            _ => self.check_not_purged()?,
        }
        match command {
            BoardCommand::Create(board) => return self.create(board),
            BoardCommand::CreateWithTasks { board, tasks } => {
                // The right to create a board does not include the right to add tasks.
                self.check_role(BoardAction::AddTasks)?;
                self.create(board)?;
                return self.add_tasks(tasks, &[]);
            }
            BoardCommand::Fork { from, name, image } => return self.fork(from, name.as_deref(), image),
            BoardCommand::Archive { retain } => return self.archive(*retain),
            BoardCommand::Discard { reason } => return self.discard(reason.as_deref()),
            BoardCommand::Forget { forget } => return self.forget(forget),
            // The orchestrator of a board that has ended holds no lease, and may still promote its learnings.
            BoardCommand::AsOrchestrator { command, .. } if command.is_about_learnings() && !self.is_active() => {
                return self.decide(command);
            }
            // Learnings can be decided on as long as the board exists.
            command if command.is_about_learnings() => drop(self.info()?),
            _ => self.check_active()?,
        }
        self.check_orchestrator(command)?;
        match command {
            BoardCommand::Create(_)
            | BoardCommand::CreateWithTasks { .. }
            | BoardCommand::Fork { .. }
            | BoardCommand::Tick
            | BoardCommand::Archive { .. }
            | BoardCommand::Discard { .. }
            | BoardCommand::Forget { .. }
            | BoardCommand::Purge => Ok(BoardReply::Done),
            BoardCommand::Edit { edit, if_version } => self.edit(edit, *if_version),
            BoardCommand::AddTasks { tasks, choices } => self.add_tasks(tasks, choices),
            BoardCommand::AddDependency { task, depends_on } => self.add_dependency(*task, *depends_on),
            BoardCommand::RemoveDependency { task, depends_on } => self.remove_dependency(*task, *depends_on),
            BoardCommand::EditTask { task, edit, if_version } => self.edit_task(*task, edit, *if_version),
            BoardCommand::Assign { task, agent } => self.assign(*task, agent),
            BoardCommand::AssignReview { task, agent } => self.assign_review(*task, agent),
            BoardCommand::Review { task, verdict, comment } => self.review(*task, *verdict, comment.as_deref()),
            BoardCommand::CancelTask { task, reason } => self.cancel_task(*task, reason.as_deref()),
            BoardCommand::Retry { task } => self.retry(*task),
            BoardCommand::RetryFailed => self.retry_failed(),
            BoardCommand::Choose { choice, option, rationale } => self.choose(*choice, option, rationale.as_deref()),
            BoardCommand::AcquireOrchestrator { lease } => self.acquire_orchestrator(*lease),
            BoardCommand::RenewOrchestrator { epoch } => self.renew_orchestrator(*epoch),
            BoardCommand::ReleaseOrchestrator { epoch } => self.release_orchestrator(*epoch),
            BoardCommand::AsOrchestrator { epoch, command } => {
                self.renew_orchestrator(*epoch)?;
                self.decide(command)
            }
            BoardCommand::UnderClaim { task, epoch, command } => {
                self.check_holder(*task, Some(*epoch))?;
                self.renew(*task);
                self.decide(command)
            }
            BoardCommand::Complete { reason, unfinished } => self.complete(reason.as_deref(), *unfinished),
            BoardCommand::Cancel { reason } => self.cancel(reason.as_deref()),
            BoardCommand::Claim { task, epoch, lease } => self.claim(*task, *epoch, *lease),
            BoardCommand::Heartbeat { task, epoch } => self.heartbeat(*task, *epoch),
            BoardCommand::Release { task, epoch } => self.release(*task, *epoch),
            BoardCommand::SetStatus { task, status, reason, epoch, lease } => {
                self.set_status(*task, *status, reason.as_deref(), *epoch, *lease)
            }
            BoardCommand::CompleteTask { task, result, epoch, heed_nudges } => {
                self.check_holder(*task, *epoch)?;
                if *heed_nudges {
                    self.check_nudges_delivered(*task)?;
                }
                self.complete_task(*task, Some(result), *epoch)
            }
            BoardCommand::FailTask { task, reason, epoch } => self.fail_task(*task, reason, *epoch),
            BoardCommand::RecordDecision(decision) => self.record_decision(decision),
            BoardCommand::RecordDiscovery(discovery) => self.record_discovery(discovery),
            BoardCommand::RecordArtifact(artifact) => self.record_artifact(artifact),
            BoardCommand::Judge { decision, verdict, comment } => self.judge(*decision, *verdict, comment.as_deref()),
            BoardCommand::Pause { reason } => self.pause(reason.as_deref()),
            BoardCommand::Resume => self.resume(),
            BoardCommand::SendNudge(nudge) => self.send_nudge(nudge),
            BoardCommand::DeliverNudges { nudges } => self.deliver_nudges(nudges),
            BoardCommand::AcknowledgeNudges { nudges } => self.acknowledge_nudges(nudges),
            BoardCommand::ExtractLearnings => self.extract_learnings(),
            BoardCommand::PromoteLearning { learning, core, changes } => {
                self.promote_learning(learning, core.as_deref(), changes)
            }
            BoardCommand::FinishPromotion { learning, begun_rev, entry } => {
                self.finish_promotion(learning, *begun_rev, *entry)
            }
            BoardCommand::AbandonPromotion { learning, begun_rev, reason } => {
                self.abandon_promotion(learning, *begun_rev, reason)
            }
            BoardCommand::FinishAbandonment { learning, begun_rev } => self.finish_abandonment(learning, *begun_rev),
            BoardCommand::RefuseLearning { learning, reason } => self.refuse_learning(learning, reason.as_deref()),
            BoardCommand::RollBackLearnings { which, reason } => self.roll_back_learnings(which, reason.as_deref()),
            BoardCommand::FinishRollBack { begun_rev } => self.finish_roll_back(*begun_rev),
        }
    }

    /// Applies an event and adds it to the result. It must fit the state that it was decided on.
    fn push(&mut self, event: BoardEvent) {
        let applied = self.state.apply(&event, self.context.stamp());
        debug_assert!(applied.is_ok(), "{event:?}: {applied:?}");
        match applied {
            Ok(()) => self.events.push(event),
            Err(misfit) => self.misfit = Some(misfit),
        }
    }

    fn limits(&self) -> &Limits {
        self.context.limits
    }

    /// The caller as the holder of leases.
    fn caller(&self) -> Result<AgentId, Refusal> {
        AgentId::new(&self.context.actor.principal, self.limits())
    }

    fn info(&self) -> Result<&BoardInfo, Refusal> {
        self.state.info().ok_or(Refusal::NoBoard)
    }

    fn task(&self, id: TaskId) -> Result<&Task, Refusal> {
        self.state.task(id).ok_or_else(|| not_on_board("task", id))
    }

    fn check_active(&self) -> Result<(), Refusal> {
        match self.info()?.status {
            BoardStatus::Active => Ok(()),
            status => Err(Refusal::BoardEnded { status }),
        }
    }

    /// Refuses an actor with the role of orchestrator while another one holds the lease.
    fn check_orchestrator(&self, command: &BoardCommand) -> Result<(), Refusal> {
        let Some(lease) = self.state.orchestrator() else { return Ok(()) };
        let is_other =
            self.context.actor.role == Role::Orchestrator && lease.holder.as_str() != self.context.actor.principal;
        if is_other && !is_about_the_role(command) {
            let (what, holder) = ("orchestrator".to_string(), Some(lease.holder.clone()));
            return Err(Refusal::Fenced { what, holder, epoch: lease.epoch, sent: None, status: None });
        }
        Ok(())
    }
}

/// Whether the command is about the orchestrator's role itself, and so checks its holder itself.
fn is_about_the_role(command: &BoardCommand) -> bool {
    matches!(
        command,
        BoardCommand::AcquireOrchestrator { .. }
            | BoardCommand::RenewOrchestrator { .. }
            | BoardCommand::ReleaseOrchestrator { .. }
            | BoardCommand::AsOrchestrator { .. }
    )
}

fn not_on_board(what: &'static str, id: impl ToString) -> Refusal {
    Refusal::NotOnBoard { what: what.into(), id: id.to_string() }
}

/// What a board contains in total, and the limits for it.
type Sizes = [(LimitName, u64, u64); 10];

fn sizes(state: &BoardState, limits: &Limits) -> Sizes {
    [
        (LimitName::TasksPerBoard, state.nodes.len() as u64, limits.tasks_per_board),
        (LimitName::DependenciesPerBoard, state.edges, limits.dependencies_per_board),
        (LimitName::RecordsPerBoard, state.decisions.len() as u64, limits.records_per_board),
        (LimitName::RecordsPerBoard, state.discoveries.len() as u64, limits.records_per_board),
        (LimitName::RecordsPerBoard, state.artifacts.len() as u64, limits.records_per_board),
        (LimitName::RecordsPerBoard, state.choices.len() as u64, limits.records_per_board),
        (LimitName::RecordsPerBoard, state.approvals.len() as u64, limits.records_per_board),
        (LimitName::RecordsPerBoard, state.nudges.len() as u64, limits.records_per_board),
        (LimitName::RecordsPerBoard, state.learnings.len() as u64, limits.records_per_board),
        (LimitName::StateBytes, state.bytes, limits.state_bytes),
    ]
}

fn check_size(before: Sizes, after: Sizes) -> Result<Vec<LimitWarning>, Refusal> {
    let sizes = before.into_iter().zip(after);
    Limits::check_growth(sizes.map(|((limit, before, _), (_, after, allowed))| (limit, before, after, allowed)))
}

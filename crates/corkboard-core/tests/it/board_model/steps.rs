//! Random commands from several actors to one board, with a moving clock.

use std::ops::Range;
use std::time::Duration;

use corkboard_core::board::{
    ApprovalVerdict, BoardAction, BoardCommand, BoardEdit, BoardState, ChoiceId, DecisionId, FailurePolicy, LearningId,
    LearningStatus, NewArtifact, NewDecision, NewDiscovery, NewNudge, NewTask, NudgeId, NudgePriority, NudgeTarget,
    RetainFor, ReviewVerdict, Task, TaskEdit, TaskId, TaskRef, TaskResult, TaskStatus, TriggerRule, Unfinished,
    WhichLearnings,
};
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::{Actor, Role};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::board_support::{agent, choice, named};

/// One command, some time after the previous one.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub pass_ms: i64,
    pub actor: Actor,
    /// Send it as the task's holder instead.
    pub by_holder: bool,
    pub action: Action,
}

/// Tasks, choices and epochs are picked from the board when the step runs.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    AddTasks(Vec<(NewTask, Vec<Index>)>),
    AddChoice([Index; 3]),
    /// One in three removes a dependency instead.
    AddDependency([Index; 2]),
    EditTask(Index, TaskEdit),
    Assign(Index, &'static str),
    Claim(Option<Index>, Epoch, u64),
    Heartbeat(Index, Epoch),
    Release(Index, Epoch),
    SetStatus(Index, TaskStatus, Epoch),
    Complete(Index, Epoch),
    Fail(Index, Epoch),
    Review(Index, ReviewVerdict),
    CancelTask(Index),
    Retry(Index),
    RetryFailed,
    Choose(Index, bool),
    Decision(Option<Index>),
    Discovery(Index),
    UnderClaim(Index, Epoch),
    Artifact(&'static str),
    Acquire,
    Renew(Index),
    AsOrchestrator(Index, Index),
    Edit,
    Pause,
    Resume,
    /// A decision that needs approval.
    Ask(Index),
    Judge(Index, ApprovalVerdict),
    Nudge(NudgeTarget, NudgePriority, Option<i64>),
    /// The sender reads its nudges as the library does: shown nudges are delivered.
    Deliver,
    /// Any nudge, including those to others.
    Acknowledge(Index),
    Tick,
    End,
    Archive(RetainFor),
    Discard,
    Purge,
    Extract,
    /// Promotes into one of two cores.
    Promote(Index, bool),
    /// Finishes a promotion, started or not.
    FinishPromotion(Index, Epoch),
    AbandonPromotion(Index, Epoch),
    FinishAbandonment(Index, Epoch),
    Refuse(Index),
    /// Rolls back one learning, or all.
    RollBack(Option<Index>),
    FinishRollBack(Epoch),
}

/// The epoch to send.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Epoch {
    None,
    Current,
    Old,
}

pub(crate) const AGENTS: [&str; 3] = ["ann", "bob", "cat"];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let begin =
        batch(2..7).prop_map(|action| Step { pass_ms: 0, actor: named("hugo", Role::Human), by_holder: false, action });
    // Sometimes the history continues to the end of the board's life.
    let end = prop::option::weighted(0.3, prop::collection::vec(step(ending()), 1..12));
    (begin, prop::collection::vec(step(action()), 1..60), end)
        .prop_map(|(begin, rest, end)| [vec![begin], rest, end.unwrap_or_default()].concat())
}

fn step(action: impl Strategy<Value = Action>) -> impl Strategy<Value = Step> {
    let actor = prop_oneof![
        6 => select(&AGENTS[..]).prop_map(|name| named(name, Role::Worker)),
        2 => Just(named("hugo", Role::Human)),
        1 => select(&AGENTS[..]).prop_map(|name| named(name, Role::Orchestrator)),
        1 => Just(named("rita", Role::Reviewer)),
    ];
    let pass = prop_oneof![6 => Just(0), 4 => 1..2_000i64, 2 => 2_000..20_000i64, 1 => 20_000..90_000i64];
    let step = (pass, actor, prop::bool::weighted(0.8), action);
    step.prop_map(|(pass_ms, actor, by_holder, action)| Step { pass_ms, actor, by_holder, action })
}

fn ending() -> impl Strategy<Value = Action> {
    let retain = prop_oneof![
        (0..60_000u64).prop_map(|ms| RetainFor::Unsaid { ms }),
        (0..60_000u64).prop_map(|ms| RetainFor::Said { ms }),
    ];
    prop_oneof![
        4 => Just(Action::End),
        3 => retain.prop_map(Action::Archive),
        3 => Just(Action::Discard),
        4 => Just(Action::Purge),
        1 => Just(Action::Tick),
        1 => action(),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let index = any::<Index>;
    let of_tasks = prop_oneof![
        6 => batch(1..4),
        3 => any::<[Index; 3]>().prop_map(Action::AddChoice),
        3 => any::<[Index; 2]>().prop_map(Action::AddDependency),
        2 => (index(), task_edit()).prop_map(|(task, edit)| Action::EditTask(task, edit)),
        2 => (index(), select(&AGENTS[..])).prop_map(|(task, to)| Action::Assign(task, to)),
        2 => index().prop_map(Action::CancelTask),
        2 => index().prop_map(Action::Retry),
        1 => Just(Action::RetryFailed),
        3 => (index(), any::<bool>()).prop_map(|(choice, first)| Action::Choose(choice, first)),
    ];
    let of_work = prop_oneof![
        8 => (prop::option::weighted(0.3, index()), epoch(), select(&[30_000u64, 5_000, 900_000][..]))
            .prop_map(|(task, epoch, lease)| Action::Claim(task, epoch, lease)),
        2 => (index(), epoch()).prop_map(|(task, epoch)| Action::Heartbeat(task, epoch)),
        1 => (index(), epoch()).prop_map(|(task, epoch)| Action::Release(task, epoch)),
        6 => (index(), status(), epoch()).prop_map(|(task, to, epoch)| {
            Action::SetStatus(task, to, epoch)
        }),
        6 => (index(), epoch()).prop_map(|(task, epoch)| Action::Complete(task, epoch)),
        5 => (index(), epoch()).prop_map(|(task, epoch)| Action::Fail(task, epoch)),
        4 => (index(), select(&[ReviewVerdict::Approved, ReviewVerdict::NeedsRework, ReviewVerdict::Rejected][..]))
            .prop_map(|(task, verdict)| Action::Review(task, verdict)),
        1 => prop::option::of(index()).prop_map(Action::Decision),
        1 => index().prop_map(Action::Discovery),
        1 => (index(), epoch()).prop_map(|(task, epoch)| Action::UnderClaim(task, epoch)),
        1 => select(&["a.rs", "b.rs"][..]).prop_map(Action::Artifact),
    ];
    let of_boards = prop_oneof![
        4 => Just(Action::Acquire),
        2 => index().prop_map(Action::Renew),
        3 => (index(), index()).prop_map(|(epoch, task)| Action::AsOrchestrator(epoch, task)),
        2 => Just(Action::Edit),
        2 => Just(Action::Tick),
        1 => prop::bool::weighted(0.3).prop_map(|ends| if ends { Action::End } else { Action::Tick }),
    ];
    let target = prop_oneof![
        3 => select(&AGENTS[..]).prop_map(|name| NudgeTarget::Agent(agent(name))),
        2 => Just(NudgeTarget::Orchestrator),
        3 => Just(NudgeTarget::All),
    ];
    let priority = select(&[NudgePriority::Low, NudgePriority::Normal, NudgePriority::Urgent][..]);
    let of_people = prop_oneof![
        1 => Just(Action::Pause),
        4 => Just(Action::Resume),
        2 => index().prop_map(Action::Ask),
        3 => (index(), select(&[ApprovalVerdict::Approved, ApprovalVerdict::Rejected][..]))
            .prop_map(|(decision, verdict)| Action::Judge(decision, verdict)),
        4 => (target, priority, prop::option::of(1_000..60_000i64))
            .prop_map(|(to, priority, expiry)| Action::Nudge(to, priority, expiry)),
        6 => Just(Action::Deliver),
        6 => index().prop_map(Action::Acknowledge),
    ];
    prop_oneof![10 => of_tasks, 16 => of_work, 3 => of_boards, 6 => of_people, 8 => of_learnings()]
}

fn of_learnings() -> impl Strategy<Value = Action> {
    let index = any::<Index>;
    prop_oneof![
        1 => Just(Action::Extract),
        8 => (index(), prop::bool::weighted(0.8)).prop_map(|(learning, first)| Action::Promote(learning, first)),
        8 => (index(), epoch()).prop_map(|(learning, which)| Action::FinishPromotion(learning, which)),
        4 => (index(), epoch()).prop_map(|(learning, which)| Action::AbandonPromotion(learning, which)),
        8 => (index(), epoch()).prop_map(|(learning, which)| Action::FinishAbandonment(learning, which)),
        1 => index().prop_map(Action::Refuse),
        6 => prop::option::of(index()).prop_map(Action::RollBack),
        8 => epoch().prop_map(Action::FinishRollBack),
    ]
}

fn batch(size: Range<usize>) -> impl Strategy<Value = Action> {
    let task = (new_task(), prop::collection::vec(any::<Index>(), 0..3));
    prop::collection::vec(task, size).prop_map(Action::AddTasks)
}

fn status() -> impl Strategy<Value = TaskStatus> {
    let any = select(&TaskStatus::ALL[..]);
    prop_oneof![2 => any, 1 => Just(TaskStatus::InProgress), 1 => Just(TaskStatus::Blocked)]
}

fn epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![2 => Just(Epoch::None), 5 => Just(Epoch::Current), 1 => Just(Epoch::Old)]
}

fn rule() -> impl Strategy<Value = TriggerRule> {
    prop_oneof![
        4 => Just(TriggerRule::AllSuccess),
        1 => Just(TriggerRule::AllDone),
        1 => Just(TriggerRule::OneSuccess),
        1 => Just(TriggerRule::OneFailed),
        1 => Just(TriggerRule::NoneFailed),
        1 => Just(TriggerRule::NoneFailedMinOneSuccess),
    ]
}

fn policy() -> impl Strategy<Value = FailurePolicy> {
    prop_oneof![
        3 => Just(FailurePolicy::SkipDependents),
        1 => Just(FailurePolicy::FailFast),
        1 => Just(FailurePolicy::Continue),
    ]
}

fn new_task() -> impl Strategy<Value = NewTask> {
    (rule(), prop::option::of(policy()), -1..2i32, any::<bool>(), 0..2u32, select(&[0u32, 1, 30][..])).prop_map(
        |(trigger_rule, on_failure, priority, needs_review, retry_limit, retry_backoff_s)| NewTask {
            trigger_rule,
            on_failure,
            priority,
            needs_review,
            retry_limit,
            retry_backoff_s,
            ..NewTask::new("task")
        },
    )
}

fn task_edit() -> impl Strategy<Value = TaskEdit> {
    (prop::option::of(rule()), prop::option::of(policy()), prop::option::of(-1..2i32), prop::option::of(any::<bool>()))
        .prop_map(|(trigger_rule, on_failure, priority, needs_review)| TaskEdit {
            trigger_rule,
            on_failure,
            priority,
            needs_review,
            ..TaskEdit::default()
        })
}

impl Step {
    /// The sender of the command.
    pub(crate) fn sender(&self, command: &BoardCommand, state: &BoardState) -> Actor {
        if let BoardCommand::RenewOrchestrator { .. } | BoardCommand::AsOrchestrator { .. } = command {
            let holder = state.orchestrator().filter(|_| self.by_holder);
            return holder.map_or(self.actor.clone(), |lease| named(lease.holder.as_str(), Role::Orchestrator));
        }
        // Mostly an actor with permission, so that many commands are accepted.
        if let Some(action) = command.action().filter(|action| self.by_holder && !action.is_allowed_to(self.actor.role))
        {
            return match action {
                BoardAction::Orchestrate => named(&self.actor.principal, Role::Orchestrator),
                _ => named("hugo", Role::Human),
            };
        }
        let (BoardCommand::Heartbeat { task, .. }
        | BoardCommand::Release { task, .. }
        | BoardCommand::SetStatus { task, .. }
        | BoardCommand::CompleteTask { task, .. }
        | BoardCommand::FailTask { task, .. }
        | BoardCommand::UnderClaim { task, .. }
        | BoardCommand::Claim { task: Some(task), epoch: Some(_), .. }) = command
        else {
            return self.actor.clone();
        };
        match state.task(*task).and_then(|task| task.assigned_to.as_ref()) {
            Some(holder) if self.by_holder => named(holder.as_str(), Role::Worker),
            _ => self.actor.clone(),
        }
    }
}

impl Action {
    /// The command, picked from the board's current content.
    pub(crate) fn command(&self, state: &BoardState, now: Timestamp, actor: &Actor) -> BoardCommand {
        let count = state.task_count();
        // One more than exist, so that missing tasks are requested, too.
        let pick = |index: &Index| TaskId(index.index(count + 1) as u64 + u64::from(count == 0) + 1).min(TaskId(99));
        // Mostly a matching task, so that many commands are accepted.
        let of = |index: &Index, is_meant: &dyn Fn(&Task) -> bool| {
            let meant: Vec<TaskId> = state.tasks().filter(|task| is_meant(task)).map(|task| task.id).collect();
            if meant.is_empty() || index.index(7) == 0 { pick(index) } else { meant[index.index(meant.len())] }
        };
        let held = |index: &Index| of(index, &|task| task.claim.is_some() || task.status == TaskStatus::Assigned);
        let waiting = |index: &Index| of(index, &|task| task.status == TaskStatus::Pending && task.choice.is_none());
        let failed = |index: &Index| of(index, &|task| task.status == TaskStatus::Failed || task.is_stopped());
        let epoch_of = |task: TaskId, epoch: &Epoch| {
            let last = state.task(task).map_or(0, |task| task.epoch);
            match epoch {
                Epoch::None => None,
                Epoch::Current => Some(last),
                Epoch::Old => Some(last.saturating_sub(1)),
            }
        };
        let pick_choice = |index: &Index| {
            let open: Vec<ChoiceId> = state.choices().filter(|it| it.chosen.is_none()).map(|it| it.id).collect();
            let any = ChoiceId(index.index(state.choices().count() + 1) as u64 + 1);
            if open.is_empty() || index.index(5) == 0 { any } else { open[index.index(open.len())] }
        };
        let orchestrator_epoch = |index: &Index| match state.orchestrator() {
            Some(lease) => lease.epoch.saturating_sub(u64::from(index.index(4) == 0)),
            None => index.index(3) as u64,
        };
        match self {
            Self::AddTasks(tasks) => BoardCommand::AddTasks {
                tasks: tasks
                    .iter()
                    .enumerate()
                    .map(|(place, task)| batch_member(task, place, tasks.len(), count))
                    .collect(),
                choices: Vec::new(),
            },
            Self::AddChoice([one, two, three]) => {
                let (one, two, three) = (waiting(one), waiting(two), waiting(three));
                let options: [(&str, &[TaskId]); 2] = [("one", &[one]), ("two", &[two, three])];
                let short: [(&str, &[TaskId]); 2] = [("one", &[one]), ("two", &[two])];
                let options = choice(if two == three || one == three { &short } else { &options });
                BoardCommand::AddTasks { tasks: Vec::new(), choices: vec![options] }
            }
            Self::AddDependency([task, on]) if on.index(3) == 0 => {
                let task = of(task, &|task| !task.depends_on.is_empty());
                let depends_on = state.task(task).map(|task| task.depends_on.to_vec()).unwrap_or_default();
                let on = if depends_on.is_empty() { pick(on) } else { *on.get(&depends_on) };
                BoardCommand::RemoveDependency { task, depends_on: on }
            }
            Self::AddDependency([task, on]) => {
                BoardCommand::AddDependency { task: waiting(task), depends_on: waiting(on) }
            }
            Self::EditTask(task, edit) => {
                BoardCommand::EditTask { task: pick(task), edit: edit.clone(), if_version: None }
            }
            Self::Assign(task, to) => BoardCommand::Assign { task: pick(task), agent: agent(to) },
            Self::Claim(task, epoch, lease_ms) => {
                let task = task.as_ref().map(pick);
                let epoch = task.and_then(|task| epoch_of(task, epoch));
                BoardCommand::Claim { task, epoch, lease: Duration::from_millis(*lease_ms) }
            }
            Self::Heartbeat(task, epoch) => {
                BoardCommand::Heartbeat { task: held(task), epoch: epoch_of(held(task), epoch) }
            }
            Self::Release(task, epoch) => {
                BoardCommand::Release { task: held(task), epoch: epoch_of(held(task), epoch) }
            }
            Self::SetStatus(task, status, epoch) => BoardCommand::SetStatus {
                task: held(task),
                status: *status,
                reason: None,
                epoch: epoch_of(held(task), epoch),
                lease: Duration::from_millis(30_000),
            },
            Self::Complete(task, epoch) => BoardCommand::CompleteTask {
                task: held(task),
                result: TaskResult { summary: "done".into(), next_steps: Vec::new(), trust: Some(Trust::Outside) },
                epoch: epoch_of(held(task), epoch),
                heed_nudges: task.index(2) == 0,
            },
            Self::Fail(task, epoch) => {
                BoardCommand::FailTask { task: held(task), reason: "broken".into(), epoch: epoch_of(held(task), epoch) }
            }
            Self::Review(task, verdict) => BoardCommand::Review {
                task: of(task, &|task| task.status == TaskStatus::Review),
                verdict: *verdict,
                comment: (*verdict != ReviewVerdict::Approved).then(|| "once more".into()),
            },
            Self::CancelTask(task) => BoardCommand::CancelTask { task: pick(task), reason: None },
            Self::Retry(task) => BoardCommand::Retry { task: failed(task) },
            Self::RetryFailed => BoardCommand::RetryFailed,
            Self::Choose(choice, first) => BoardCommand::Choose {
                choice: pick_choice(choice),
                option: if *first { "one".into() } else { "two".into() },
                rationale: None,
            },
            Self::Decision(old) => BoardCommand::RecordDecision(NewDecision {
                question: "q".into(),
                choice: "c".into(),
                rationale: "for a good reason".into(),
                supersedes: old.map(|old| DecisionId(old.index(state.decisions().count() + 1) as u64 + 1)),
                ..NewDecision::default()
            }),
            Self::Discovery(task) => BoardCommand::RecordDiscovery(NewDiscovery {
                content: "found".into(),
                affects_tasks: vec![pick(task)],
                ..NewDiscovery::default()
            }),
            Self::UnderClaim(task, epoch) => BoardCommand::UnderClaim {
                task: held(task),
                epoch: epoch_of(held(task), epoch).unwrap_or(0),
                command: Box::new(BoardCommand::RecordDiscovery(NewDiscovery {
                    content: "found".into(),
                    ..NewDiscovery::default()
                })),
            },
            Self::Artifact(path) => {
                BoardCommand::RecordArtifact(NewArtifact { path: (*path).into(), ..NewArtifact::default() })
            }
            Self::Acquire => BoardCommand::AcquireOrchestrator { lease: Duration::from_millis(20_000) },
            Self::Renew(index) => BoardCommand::RenewOrchestrator { epoch: orchestrator_epoch(index) },
            Self::AsOrchestrator(epoch, task) => BoardCommand::AsOrchestrator {
                epoch: orchestrator_epoch(epoch),
                command: Box::new(BoardCommand::Assign { task: pick(task), agent: agent("ann") }),
            },
            Self::Edit => BoardCommand::Edit {
                edit: BoardEdit { goal: Some(format!("goal {count}")), ..BoardEdit::default() },
                if_version: None,
            },
            Self::Pause => BoardCommand::Pause { reason: None },
            Self::Resume => BoardCommand::Resume,
            Self::Ask(task) => BoardCommand::RecordDecision(NewDecision {
                question: "q".into(),
                choice: "c".into(),
                affects_tasks: vec![held(task)],
                needs_approval: true,
                ..NewDecision::default()
            }),
            Self::Judge(decision, verdict) => BoardCommand::Judge {
                decision: DecisionId(decision.index(state.decisions().count() + 1) as u64 + 1),
                verdict: *verdict,
                comment: None,
            },
            Self::Nudge(to, priority, expiry) => BoardCommand::SendNudge(NewNudge {
                to: to.clone(),
                message: "look".into(),
                priority: *priority,
                expires_at: expiry.map(|expiry| now + SignedDuration::from_millis(expiry)),
            }),
            Self::Deliver => {
                let shown = state.nudges_for(&actor.principal, actor.role);
                BoardCommand::DeliverNudges { nudges: shown.iter().map(|nudge| nudge.id).collect() }
            }
            Self::Acknowledge(nudge) => BoardCommand::AcknowledgeNudges {
                nudges: vec![NudgeId(nudge.index(state.nudges().count() + 1) as u64 + 1)],
            },
            Self::Tick => BoardCommand::Tick,
            Self::End => BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel },
            Self::Archive(retain) => BoardCommand::Archive { retain: *retain },
            Self::Discard => BoardCommand::Discard { reason: None },
            Self::Purge => BoardCommand::Purge,
            Self::Extract => BoardCommand::ExtractLearnings,
            Self::Promote(index, first) => BoardCommand::PromoteLearning {
                learning: pick_learning(state, index, "open"),
                core: Some(if *first { "rules" } else { "facts" }.into()),
                changes: Box::default(),
            },
            Self::FinishPromotion(index, which) => {
                let learning = pick_learning(state, index, "begun");
                let begun_rev = begun_rev(&state.learning_status(&learning), *which);
                BoardCommand::FinishPromotion { learning, begun_rev, entry: CoreEntryId(begun_rev) }
            }
            Self::AbandonPromotion(index, which) => {
                let learning = pick_learning(state, index, "begun");
                let begun_rev = begun_rev(&state.learning_status(&learning), *which);
                BoardCommand::AbandonPromotion { learning, begun_rev, reason: "full".into() }
            }
            Self::FinishAbandonment(index, which) => {
                let learning = pick_learning(state, index, "begun");
                let begun_rev = begun_rev(&state.learning_status(&learning), *which);
                BoardCommand::FinishAbandonment { learning, begun_rev }
            }
            Self::Refuse(index) => {
                BoardCommand::RefuseLearning { learning: pick_learning(state, index, "open"), reason: None }
            }
            Self::RollBack(index) => BoardCommand::RollBackLearnings {
                which: match index {
                    Some(index) => WhichLearnings::These(vec![pick_learning(state, index, "promoted")]),
                    None => WhichLearnings::All,
                },
                reason: None,
            },
            Self::FinishRollBack(which) => {
                let open = state.open_learnings();
                let open = open.iter().find(|verdict| verdict.status.as_str() == "rolling_back");
                let begun_rev = open.map_or(1, |verdict| begun_rev(&verdict.status, *which));
                BoardCommand::FinishRollBack { begun_rev }
            }
        }
    }
}

/// Mostly a learning in that state, sometimes any.
fn pick_learning(state: &BoardState, index: &Index, became: &str) -> LearningId {
    let all = state.learning_candidates();
    let meant: Vec<_> = all.iter().filter(|found| found.status.as_str() == became).collect();
    match (meant.is_empty() || index.index(5) == 0, all.is_empty()) {
        (false, _) => meant[index.index(meant.len())].id.clone(),
        (true, false) => all[index.index(all.len())].id.clone(),
        (true, true) => LearningId::Decision(DecisionId(1)),
    }
}

/// The revision in which the learning's promotion was started, or a wrong one.
fn begun_rev(state: &LearningStatus, which: Epoch) -> u64 {
    let begun = match state {
        LearningStatus::Begun(promotion) => promotion.begun_rev,
        LearningStatus::RollingBack(roll_back) => roll_back.begun_rev,
        _ => 1,
    };
    begun - u64::from(matches!(which, Epoch::Old))
}

/// A task of a batch that may depend on existing tasks and on others of the batch, earlier or later.
fn batch_member(task: &(NewTask, Vec<Index>), place: usize, members: usize, count: usize) -> NewTask {
    let (task, on) = task;
    // Mostly on earlier ones; otherwise most batches would be refused.
    let reach = |on: &Index| if on.index(8) == 0 { count + members } else { count + place };
    let on = on.iter().filter(|on| reach(on) > 0).map(|on| match on.index(reach(on)) {
        old if old < count => TaskRef::Task(TaskId(old as u64 + 1)),
        new => TaskRef::Member(format!("m{}", new - count)),
    });
    NewTask { key: Some(format!("m{place}")), depends_on: on.collect(), ..task.clone() }
}

//! Rules that hold for every board, computed from its tasks as simply as possible.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use corkboard_core::Space;
use corkboard_core::board::{
    BoardState, BoardStatus, DecisionId, FailurePolicy, Hindrance, Lifetime, NudgeTarget, Receipt, ReviewVerdict,
    Tally, Task, TaskId, TaskList, TaskOutcome, TaskPosition, TaskStatus, TriggerRule, TriggerVerdict,
};

/// Larger boards would take too long.
const MOST: usize = 500;

/// Compares a board with a scan of its tasks.
pub(crate) fn check(state: &BoardState) {
    if state.task_count() > MOST {
        return;
    }
    let tasks: Vec<&Task> = state.tasks().collect();
    let numbers: Vec<u64> = tasks.iter().map(|task| task.id.0).collect();
    assert_eq!(numbers, (1..=tasks.len() as u64).collect::<Vec<_>>(), "ids have gaps");
    check_graph(state, &tasks);
    check_views(state, &tasks);
    tasks.iter().for_each(|task| check_task(state, task));
    for (expected, found) in [
        (state.decisions().count(), state.decisions().map(|it| it.id.0).max()),
        (state.discoveries().count(), state.discoveries().map(|it| it.id.0).max()),
        (state.artifacts().count(), state.artifacts().map(|it| it.id.0).max()),
        (state.choices().count(), state.choices().map(|it| it.id.0).max()),
        (state.approvals().count(), state.approvals().map(|it| it.id.0).max()),
        (state.nudges().count(), state.nudges().map(|it| it.id.0).max()),
    ] {
        assert_eq!(expected as u64, found.unwrap_or(0), "ids of records have gaps");
    }
    let bytes = tasks.iter().map(|it| it.bytes()).sum::<u64>()
        + state.info().map_or(0, |it| it.bytes())
        + state.decisions().map(|it| it.bytes()).sum::<u64>()
        + state.discoveries().map(|it| it.bytes()).sum::<u64>()
        + state.artifacts().map(|it| it.bytes()).sum::<u64>()
        + state.choices().map(|it| it.bytes()).sum::<u64>()
        + state.approvals().map(|it| it.bytes()).sum::<u64>()
        + state.nudges().map(|it| it.bytes()).sum::<u64>()
        + state.learning_verdicts().map(|it| it.bytes()).sum::<u64>();
    check_people(state);
    check_learnings(state);
    check_times(state);
    assert_eq!(state.usage().bytes, bytes);
    let summary = state.summary(jiff::Timestamp::UNIX_EPOCH);
    assert!(summary.len() < 4096, "{summary}");
    if state.info().is_some() {
        let read: Lifetime = serde_json::from_str(&summary).unwrap();
        assert_eq!(Some(read), state.lifetime(Some(jiff::Timestamp::UNIX_EPOCH)));
    }
}

/// Every record says who created it and when, and was not changed before that.
fn check_times(state: &BoardState) {
    let tasks = state.tasks().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by));
    let records = tasks
        .chain(state.info().map(|it| ("the board".into(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.decisions().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.discoveries().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.artifacts().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.choices().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.approvals().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.nudges().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)))
        .chain(state.learning_verdicts().map(|it| (it.id.to_string(), it.created_at, it.updated_at, &it.created_by)));
    for (id, created_at, updated_at, created_by) in records {
        assert!(
            created_at > jiff::Timestamp::UNIX_EPOCH && !created_by.is_empty(),
            "{id} lacks a creator or a creation time"
        );
        assert!(updated_at >= created_at, "{id} was created at {created_at} and changed at {updated_at}");
    }
}

/// Verdicts and nudges are consistent.
fn check_people(state: &BoardState) {
    for decision in state.decisions() {
        let last = state.approvals().rev().find(|approval| approval.decision == decision.id);
        assert_eq!(decision.verdict, last.map(|approval| approval.verdict), "{}", decision.id);
    }
    for nudge in state.nudges() {
        for receipts in [&nudge.delivered, &nudge.acknowledged] {
            let agents: BTreeSet<_> = receipts.iter().map(|receipt| &receipt.agent).collect();
            assert_eq!(agents.len(), receipts.len(), "{} was delivered or acknowledged twice by one agent", nudge.id);
        }
        let is_read = |by: &Receipt| nudge.is_delivered_to(&by.agent);
        assert!(nudge.acknowledged.iter().all(is_read), "{} was acknowledged before its delivery", nudge.id);
        if let NudgeTarget::Agent(agent) = &nudge.to {
            assert!(
                nudge.delivered.iter().all(|by| *by.agent == *agent.as_str()),
                "{} was delivered to another agent",
                nudge.id
            );
        }
    }
}

/// Every started promotion is open and due, and every learning with a verdict is listed.
fn check_learnings(state: &BoardState) {
    let begun = state.learning_verdicts().filter(|verdict| verdict.status.open_since().is_some());
    let begun: Vec<_> = begun.map(|verdict| verdict.id.clone()).collect();
    let open: Vec<_> = state.open_learnings().iter().map(|verdict| verdict.id.clone()).collect();
    assert_eq!((begun, state.has_open_promotion()), (open.clone(), !open.is_empty()));
    let since = state.open_learnings().iter().filter_map(|verdict| verdict.status.open_since()).min();
    let due = since.map(|since| since + BoardState::LEARNING_PATIENCE);
    assert_eq!(state.next_due(), [state.next_expiry(), due].into_iter().flatten().min());
    if state.learning_verdicts().len() == 0 {
        return;
    }
    let candidates = state.learning_candidates();
    let shown: BTreeMap<_, _> = candidates.iter().map(|candidate| (&candidate.id, &candidate.status)).collect();
    assert_eq!(shown.len(), candidates.len(), "a learning must not be listed twice");
    for verdict in state.learning_verdicts() {
        assert_eq!(shown.get(&verdict.id), Some(&&verdict.status));
    }
    assert!(candidates.iter().all(|candidate| !candidate.content.trim().is_empty()));
    assert!(candidates.is_sorted_by(|one, other| one.score >= other.score));
}

/// The decisions that a task waits for.
pub(crate) fn awaited(state: &BoardState, task: TaskId) -> Vec<DecisionId> {
    let open = state.decisions().filter(|it| it.needs_approval && it.verdict.is_none() && it.superseded_by.is_none());
    open.filter(|it| it.affects_tasks.contains(&task)).map(|it| it.id).collect()
}

fn check_graph(state: &BoardState, tasks: &[&Task]) {
    let mut blocks = BTreeMap::<TaskId, Vec<TaskId>>::new();
    let mut edges = 0;
    for task in tasks {
        for on in task.depends_on.iter() {
            edges += 1;
            blocks.entry(*on).or_default().push(task.id);
        }
    }
    assert_eq!(state.edge_count(), edges);
    for task in tasks {
        let expected = blocks.remove(&task.id).unwrap_or_default();
        assert_eq!(state.blocks(task.id).collect::<Vec<_>>(), expected, "blocks of {}", task.id);
        assert_eq!(state.blocks_count(task.id), expected.len());
        let mut tally = Tally::default();
        outcomes(state, task).into_iter().for_each(|outcome| tally.add(outcome));
        assert_eq!(state.tally(task.id), tally, "tally of {}", task.id);
    }
    // Repeatedly add tasks whose dependencies are all known. In a cycle, some are never added.
    let mut known: Vec<TaskId> = Vec::new();
    loop {
        let is_new = |task: &&&Task| !known.contains(&task.id) && task.depends_on.iter().all(|on| known.contains(on));
        let next: Vec<TaskId> = tasks.iter().filter(is_new).map(|task| task.id).collect();
        if next.is_empty() {
            break;
        }
        known.extend(next);
    }
    assert_eq!(known.len(), tasks.len(), "there is a cycle");
}

fn check_views(state: &BoardState, tasks: &[&Task]) {
    let of = |holds: &dyn Fn(&Task) -> bool| -> Vec<TaskId> {
        tasks.iter().filter(|task| holds(task)).map(|task| task.id).collect()
    };
    let waits = |task: &Task| matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned);
    let mut ready = of(&|task| task.status == TaskStatus::Pending && may_begin(state, task));
    ready.sort_by_key(|id| (Reverse(state.task(*id).unwrap().priority), *id));
    assert_eq!(state.ready().collect::<Vec<_>>(), ready, "ready");
    let blocked = of(&|task| task.status == TaskStatus::Blocked || (waits(task) && !may_begin(state, task)));
    assert_eq!(state.blocked().collect::<Vec<_>>(), blocked, "blocked");
    assert_eq!(state.in_progress().collect::<Vec<_>>(), of(&|task| task.status == TaskStatus::InProgress));
    assert_eq!(state.needs_review().collect::<Vec<_>>(), of(&|task| task.status == TaskStatus::Review));
    for status in TaskStatus::ALL {
        assert_eq!(state.count(status), of(&|task| task.status == status).len() as u64);
        check_list(state, TaskList::Status(status), &of(&|task| task.status == status));
    }
    check_list(state, TaskList::All, &of(&|_| true));
    check_list(state, TaskList::Ready, &ready);
    check_list(state, TaskList::Blocked, &blocked);
    let startable = of(&|task| task.status == TaskStatus::Assigned && may_begin(state, task));
    assert_eq!(state.startable().collect::<Vec<_>>(), startable, "startable");
    assert_eq!(state.unfinished(), of(&|task| !task.status.is_finished()).len() as u64);
    let open = state.choices().filter(|choice| choice.chosen.is_none()).map(|choice| choice.id);
    assert_eq!(state.open_choices().collect::<Vec<_>>(), open.collect::<Vec<_>>(), "open choices");
    for agent in tasks.iter().filter_map(|task| task.assigned_to.as_ref()) {
        let assigned = of(&|task| task.status == TaskStatus::Assigned && task.assigned_to.as_ref() == Some(agent));
        assert_eq!(state.assigned_to(agent).collect::<Vec<_>>(), assigned);
        let rework = of(&|task| task.rework && task.assigned_to.as_ref() == Some(agent));
        assert_eq!(state.rework_of(agent).collect::<Vec<_>>(), rework);
    }
    let leases = tasks.iter().filter_map(|task| task.claim.as_ref()).chain(state.orchestrator());
    let nudges = state.nudges().filter(|nudge| nudge.is_open()).filter_map(|nudge| nudge.expires_at);
    let due = leases.map(|lease| lease.deadline).chain(tasks.iter().filter_map(|task| task.not_before)).chain(nudges);
    let is_still = state.info().is_some_and(|info| info.paused.is_some() || info.status == BoardStatus::Purged);
    assert_eq!(state.next_expiry(), due.min().filter(|_| !is_still));
}

/// A list contains these tasks, and continues after each of them.
fn check_list(state: &BoardState, list: TaskList, expected: &[TaskId]) {
    let rest = |after: Option<&Task>| {
        let tasks = state.list(list, after.map(TaskPosition::from));
        tasks.map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(rest(None), expected, "{list:?}");
    for (at, id) in expected.iter().enumerate() {
        assert_eq!(rest(state.task(*id)), expected[at + 1..], "{list:?} after {id}");
    }
    // After a task that is not or no longer in the list, the list continues at its place.
    if let Some(other) = state.tasks().find(|task| !expected.contains(&task.id)) {
        let place = |task: &Task| (if list == TaskList::Ready { -i64::from(task.priority) } else { 0 }, task.id);
        let after = |id: &&TaskId| state.task(**id).is_some_and(|task| place(task) > place(other));
        assert_eq!(
            rest(Some(other)),
            expected.iter().filter(after).copied().collect::<Vec<_>>(),
            "{list:?} after {}",
            other.id
        );
    }
}

fn check_task(state: &BoardState, task: &Task) {
    use TaskStatus::*;
    let id = task.id;
    let has_claim = task.claim.is_some();
    match task.status {
        InProgress | Blocked => assert!(has_claim, "{id} is in progress without a holder"),
        Review => {}
        _ => assert!(!has_claim, "{id} is {} and held", task.status),
    }
    if let Some(claim) = &task.claim {
        assert_eq!((Some(&claim.holder), claim.epoch), (task.assigned_to.as_ref(), task.epoch));
    }
    assert!(!task.rework || (task.status == InProgress && task.review_verdict == Some(ReviewVerdict::NeedsRework)));
    assert_eq!(task.status == Cancelled, task.cancellation.is_some());
    assert!(
        task.not_before.is_none() || matches!(task.status, Pending | Assigned),
        "{id} has a backoff although it was started"
    );
    let verdict = verdict(state, task);
    if matches!(task.status, Pending | Assigned) {
        assert_ne!(verdict, TriggerVerdict::Impossible, "{id} waits for the impossible");
    }
    assert_eq!(state.awaits(id).collect::<Vec<_>>(), awaited(state, id));
    let why = state.hindrances(id);
    assert_eq!(why.is_empty(), !state.blocked().any(|blocked| blocked == id), "{id}: {why:?}");
    assert!(!why.iter().any(|why| matches!(why, Hindrance::Dependencies { depends_on: on } if on.is_empty())));
    if let Some(cancelled) = &task.cancellation
        && cancelled.cause.is_upstream()
    {
        let cause = state.task(cancelled.caused_by.unwrap()).unwrap();
        assert!(matches!(cause.status, Failed | Cancelled), "{id} was cancelled because of {}", cause.id);
        let stopped = cause.status == Failed && cause.on_failure == FailurePolicy::FailFast;
        assert!(stopped || verdict == TriggerVerdict::Impossible, "{id} is cancelled although it could still start");
    }
}

pub(crate) fn outcomes(state: &BoardState, task: &Task) -> Vec<TaskOutcome> {
    task.depends_on.iter().map(|on| TaskOutcome::of(state.task(*on).unwrap())).collect()
}

/// Whether a task may begin now.
pub(crate) fn may_begin(state: &BoardState, task: &Task) -> bool {
    let choice = task.choice.map(|choice| state.choice(choice).unwrap());
    let is_taken = choice.is_none_or(|choice| {
        let branch = choice.options.iter().find(|branch| branch.tasks.contains(&task.id)).unwrap();
        choice.chosen.as_ref() == Some(&branch.name)
    });
    let waits = task.not_before.is_some() || !awaited(state, task.id).is_empty();
    is_taken && !waits && verdict(state, task) == TriggerVerdict::Run
}

fn verdict(state: &BoardState, task: &Task) -> TriggerVerdict {
    by_brute_force(task.trigger_rule, &outcomes(state, task))
}

/// A rule's verdict, by trying every ending of the open tasks.
pub(crate) fn by_brute_force(rule: TriggerRule, outcomes: &[TaskOutcome]) -> TriggerVerdict {
    let ends = endings(outcomes);
    let needs_all = !matches!(rule, TriggerRule::OneSuccess | TriggerRule::OneFailed);
    let is_open = outcomes.contains(&TaskOutcome::Open);
    if !ends.iter().any(|end| satisfies(rule, end)) {
        TriggerVerdict::Impossible
    } else if ends.iter().all(|end| satisfies(rule, end)) && !(needs_all && is_open) {
        TriggerVerdict::Run
    } else {
        TriggerVerdict::Wait
    }
}

/// Every list in which the open tasks have ended. At most three of many are tried; more would show nothing new.
fn endings(outcomes: &[TaskOutcome]) -> Vec<Vec<TaskOutcome>> {
    let mut open = 0;
    let mut ends = vec![Vec::new()];
    for outcome in outcomes {
        let mut choices = vec![*outcome];
        if *outcome == TaskOutcome::Open {
            open += 1;
            choices = if open <= 3 {
                vec![TaskOutcome::Succeeded, TaskOutcome::Failed, TaskOutcome::Skipped]
            } else {
                continue;
            };
        }
        ends = ends.iter().flat_map(|end| choices.iter().map(|outcome| [&end[..], &[*outcome]].concat())).collect();
    }
    ends
}

/// Whether a rule accepts how everything ended.
fn satisfies(rule: TriggerRule, ends: &[TaskOutcome]) -> bool {
    let count = |outcome: TaskOutcome| ends.iter().filter(|end| **end == outcome).count();
    let (succeeded, failed, skipped) =
        (count(TaskOutcome::Succeeded), count(TaskOutcome::Failed), count(TaskOutcome::Skipped));
    let is_all_skipped = skipped == ends.len();
    ends.is_empty()
        || match rule {
            TriggerRule::AllSuccess => failed == 0 && !is_all_skipped,
            TriggerRule::AllDone => true,
            TriggerRule::OneSuccess => succeeded > 0,
            TriggerRule::OneFailed => failed > 0,
            TriggerRule::NoneFailed => failed == 0,
            TriggerRule::NoneFailedMinOneSuccess => failed == 0 && succeeded > 0,
        }
}

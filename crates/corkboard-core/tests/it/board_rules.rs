//! When a task may start: every trigger rule with every combination of up to three dependencies.

use crate::board_support::{Desk, after, scan::by_brute_force};
use corkboard_core::board::{NewTask, Tally, TaskId, TaskOutcome, TaskStatus, TriggerRule, TriggerVerdict};

const RULES: [TriggerRule; 6] = [
    TriggerRule::AllSuccess,
    TriggerRule::AllDone,
    TriggerRule::OneSuccess,
    TriggerRule::OneFailed,
    TriggerRule::NoneFailed,
    TriggerRule::NoneFailedMinOneSuccess,
];
const OUTCOMES: [TaskOutcome; 4] =
    [TaskOutcome::Open, TaskOutcome::Succeeded, TaskOutcome::Failed, TaskOutcome::Skipped];

/// Every combination of up to three outcomes.
fn lists() -> Vec<Vec<TaskOutcome>> {
    let mut lists = vec![vec![]];
    for length in 0..3 {
        let longer: Vec<_> = lists.iter().filter(|list| list.len() == length).cloned().collect();
        lists.extend(longer.iter().flat_map(|list| OUTCOMES.map(|outcome| [&list[..], &[outcome]].concat())));
    }
    lists
}

fn tally(outcomes: &[TaskOutcome]) -> Tally {
    let mut tally = Tally::default();
    outcomes.iter().for_each(|outcome| tally.add(*outcome));
    tally
}

#[test]
fn answer_8_a_rules_verdict_equals_trying_every_ending() {
    assert_eq!(lists().len(), 1 + 4 + 16 + 64);
    for rule in RULES {
        for outcomes in lists() {
            let verdict = tally(&outcomes).verdict(rule);
            assert_eq!(verdict, by_brute_force(rule, &outcomes), "{rule:?} {outcomes:?}");
        }
    }
}

#[test]
fn answer_8_a_rule_never_says_impossible_while_an_upstream_could_still_satisfy_it() {
    for rule in RULES {
        for outcomes in lists() {
            let Some(open) = outcomes.iter().position(|outcome| *outcome == TaskOutcome::Open) else { continue };
            let ends = [TaskOutcome::Succeeded, TaskOutcome::Failed, TaskOutcome::Skipped].map(|end| {
                let mut ended = outcomes.clone();
                ended[open] = end;
                tally(&ended).verdict(rule)
            });
            let is_lost = ends.iter().all(|verdict| *verdict == TriggerVerdict::Impossible);
            assert_eq!(tally(&outcomes).verdict(rule) == TriggerVerdict::Impossible, is_lost, "{rule:?} {outcomes:?}");
        }
    }
}

/// A board with a task for each of these outcomes.
fn board_of(outcomes: &[TaskOutcome]) -> (Desk, Vec<TaskId>) {
    let mut desk = Desk::new();
    let upstream = desk.add_all(outcomes.iter().map(|_| NewTask::new("upstream")).collect());
    let with = |outcome: TaskOutcome| {
        upstream.iter().zip(outcomes).filter(move |(_, met)| **met == outcome).map(|(id, _)| *id)
    };
    let skipped: Vec<TaskId> = with(TaskOutcome::Skipped).collect();
    if !skipped.is_empty() {
        let other = desk.add(NewTask::new("the way taken"));
        let choice = desk.add_choice(&[("this", &[other]), ("that", &skipped)]);
        desk.choose(choice, "this");
    }
    with(TaskOutcome::Succeeded).for_each(|task| desk.complete(task));
    with(TaskOutcome::Failed).for_each(|task| desk.fail(task));
    (desk, upstream)
}

fn expected(verdict: TriggerVerdict) -> (TaskStatus, bool) {
    match verdict {
        TriggerVerdict::Run => (TaskStatus::Pending, true),
        TriggerVerdict::Wait => (TaskStatus::Pending, false),
        TriggerVerdict::Impossible => (TaskStatus::Cancelled, false),
    }
}

#[test]
fn a_task_added_to_a_board_follows_its_rule() {
    for outcomes in lists() {
        for rule in RULES {
            let (mut desk, upstream) = board_of(&outcomes);
            let task = desk.add(NewTask { trigger_rule: rule, ..after("task", &upstream) });
            let found = (desk.status(task), desk.ready().contains(&task));
            assert_eq!(found, expected(by_brute_force(rule, &outcomes)), "{rule:?} {outcomes:?}");
        }
    }
}

#[test]
fn a_task_follows_its_rule_as_its_upstreams_end_in_every_order() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for outcomes in lists().into_iter().filter(|list| list.len() == 3 && !list.contains(&TaskOutcome::Skipped)) {
        for (rule, order) in RULES.into_iter().flat_map(|rule| orders.map(|order| (rule, order))) {
            let (mut desk, upstream) = board_of(&[TaskOutcome::Open; 3]);
            let task = desk.add(NewTask { trigger_rule: rule, ..after("task", &upstream) });
            let mut met = vec![TaskOutcome::Open; 3];
            for place in order {
                match outcomes[place] {
                    TaskOutcome::Succeeded => desk.complete(upstream[place]),
                    TaskOutcome::Failed => desk.fail(upstream[place]),
                    _ => {}
                }
                met[place] = outcomes[place];
                let found = (desk.status(task), desk.ready().contains(&task));
                assert_eq!(found, expected(by_brute_force(rule, &met)), "{rule:?} {outcomes:?} {order:?} {met:?}");
            }
        }
    }
}

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
const FATES: [TaskOutcome; 4] = [TaskOutcome::Open, TaskOutcome::Succeeded, TaskOutcome::Failed, TaskOutcome::Skipped];

/// Every combination of up to three fates.
fn lists() -> Vec<Vec<TaskOutcome>> {
    let mut lists = vec![vec![]];
    for length in 0..3 {
        let longer: Vec<_> = lists.iter().filter(|list| list.len() == length).cloned().collect();
        lists.extend(longer.iter().flat_map(|list| FATES.map(|fate| [&list[..], &[fate]].concat())));
    }
    lists
}

fn tally(fates: &[TaskOutcome]) -> Tally {
    let mut tally = Tally::default();
    fates.iter().for_each(|fate| tally.add(*fate));
    tally
}

#[test]
fn answer_8_a_rules_verdict_equals_trying_every_ending() {
    assert_eq!(lists().len(), 1 + 4 + 16 + 64);
    for rule in RULES {
        for fates in lists() {
            let verdict = tally(&fates).verdict(rule);
            assert_eq!(verdict, by_brute_force(rule, &fates), "{rule:?} {fates:?}");
        }
    }
}

#[test]
fn answer_8_a_rule_never_says_impossible_while_an_upstream_could_still_satisfy_it() {
    for rule in RULES {
        for fates in lists() {
            let Some(open) = fates.iter().position(|fate| *fate == TaskOutcome::Open) else { continue };
            let ends = [TaskOutcome::Succeeded, TaskOutcome::Failed, TaskOutcome::Skipped].map(|end| {
                let mut ended = fates.clone();
                ended[open] = end;
                tally(&ended).verdict(rule)
            });
            let is_lost = ends.iter().all(|verdict| *verdict == TriggerVerdict::Impossible);
            assert_eq!(tally(&fates).verdict(rule) == TriggerVerdict::Impossible, is_lost, "{rule:?} {fates:?}");
        }
    }
}

/// A board with a task for each of these fates.
fn board_of(fates: &[TaskOutcome]) -> (Desk, Vec<TaskId>) {
    let mut desk = Desk::new();
    let upstream = desk.add_all(fates.iter().map(|_| NewTask::new("upstream")).collect());
    let with = |fate: TaskOutcome| upstream.iter().zip(fates).filter(move |(_, met)| **met == fate).map(|(id, _)| *id);
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
    for fates in lists() {
        for rule in RULES {
            let (mut desk, upstream) = board_of(&fates);
            let task = desk.add(NewTask { trigger_rule: rule, ..after("task", &upstream) });
            let found = (desk.status(task), desk.ready().contains(&task));
            assert_eq!(found, expected(by_brute_force(rule, &fates)), "{rule:?} {fates:?}");
        }
    }
}

#[test]
fn a_task_follows_its_rule_as_its_upstreams_end_in_every_order() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for fates in lists().into_iter().filter(|list| list.len() == 3 && !list.contains(&TaskOutcome::Skipped)) {
        for (rule, order) in RULES.into_iter().flat_map(|rule| orders.map(|order| (rule, order))) {
            let (mut desk, upstream) = board_of(&[TaskOutcome::Open; 3]);
            let task = desk.add(NewTask { trigger_rule: rule, ..after("task", &upstream) });
            let mut met = vec![TaskOutcome::Open; 3];
            for place in order {
                match fates[place] {
                    TaskOutcome::Succeeded => desk.complete(upstream[place]),
                    TaskOutcome::Failed => desk.fail(upstream[place]),
                    _ => {}
                }
                met[place] = fates[place];
                let found = (desk.status(task), desk.ready().contains(&task));
                assert_eq!(found, expected(by_brute_force(rule, &met)), "{rule:?} {fates:?} {order:?} {met:?}");
            }
        }
    }
}

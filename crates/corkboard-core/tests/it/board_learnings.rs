//! Learnings of a board: derived from its state, the same every time.

use crate::board_support::*;
use corkboard_core::board::{
    ApprovalVerdict, BoardCommand, BoardEvent, BoardImage, BoardItem, BoardState, DecisionId, DiscoveryType,
    LearningCandidate, LearningSource, NewArtifact, NewBoard, NewDecision, NewDiscovery, NewTask, ReviewVerdict,
    TaskResult,
};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Actor, MemoryKind, OwnPart, Refusal, Role, Space, Stamp};
use proptest::prelude::*;

fn learnings(desk: &Desk) -> Vec<LearningCandidate> {
    desk.state().learning_candidates()
}

fn names(desk: &Desk) -> Vec<String> {
    learnings(desk).iter().map(|candidate| candidate.id.to_string()).collect()
}

fn learning(desk: &Desk, name: &str) -> LearningCandidate {
    learnings(desk).into_iter().find(|candidate| candidate.id.to_string() == name).unwrap()
}

fn decision(rationale: &str) -> NewDecision {
    let (question, choice) = ("Which hash?".into(), "argon2id".into());
    NewDecision { question, choice, rationale: rationale.into(), ..NewDecision::default() }
}

fn decide(desk: &mut Desk, decision: NewDecision) {
    desk.ask(&worker("ann"), BoardCommand::RecordDecision(decision)).unwrap();
}

fn discover(desk: &mut Desk, actor: &Actor, discovery: NewDiscovery) {
    desk.ask(actor, BoardCommand::RecordDiscovery(discovery)).unwrap();
}

fn insight(content: &str) -> NewDiscovery {
    NewDiscovery { content: content.into(), ..NewDiscovery::default() }
}

/// Adds a task with this title after the given ones, and completes it in this many minutes.
fn work(
    desk: &mut Desk,
    title: &str,
    on: &[corkboard_core::board::TaskId],
    minutes: i64,
) -> corkboard_core::board::TaskId {
    let task = desk.add(after(title, on));
    let claimed = desk.claim(&worker("ann"), task);
    // Heartbeats keep the lease.
    for _ in 0..minutes * 3 {
        desk.pass(20_000);
        desk.ask(&worker("ann"), heartbeat(task, Some(claimed.epoch))).unwrap();
    }
    desk.ask(&worker("ann"), complete_task(task, Some(claimed.epoch))).unwrap();
    task
}

#[test]
fn a_decision_that_holds_and_has_a_rationale_is_a_learning() {
    let mut desk = Desk::new();
    for rationale in ["", "  ", "it works", "it is memory-hard", "メモリを多く使う", "no new dependency"] {
        decide(&mut desk, decision(rationale));
    }
    assert_eq!(names(&desk), ["D-4", "D-5", "D-6"]);
    desk.tell(BoardCommand::RecordDecision(NewDecision {
        supersedes: Some(DecisionId(4)),
        ..decision("scrypt is there")
    }));
    let judge = |id, verdict| BoardCommand::Judge { decision: DecisionId(id), verdict, comment: None };
    desk.tell(judge(5, ApprovalVerdict::Rejected));
    assert_eq!(names(&desk), ["D-6", "D-7"]);
    let task = desk.add(NewTask::new("task"));
    let asks = NewDecision { needs_approval: true, affects_tasks: vec![task], ..decision("there is a backup") };
    decide(&mut desk, asks);
    assert_eq!(names(&desk), ["D-6", "D-7"], "D-8 is not approved");
    desk.tell(judge(8, ApprovalVerdict::Approved));
    assert_eq!(names(&desk), ["D-8", "D-6", "D-7"]);
}

#[test]
fn a_decisions_learning_contains_its_rationale_and_rejected_alternatives() {
    let mut desk = Desk::with(NewBoard {
        name: "b".into(),
        cores: vec!["house-rules".into(), "other".into()],
        ..NewBoard::default()
    });
    let tasks = desk.add_all(vec![NewTask::new("a"), NewTask::new("b")]);
    let alternatives = vec!["bcrypt".into(), "scrypt".into()];
    decide(&mut desk, NewDecision { alternatives, affects_tasks: tasks, ..decision("It is hard on memory") });
    let found = learning(&desk, "D-1");
    assert_eq!(found.content, "Which hash? argon2id\nBecause: It is hard on memory\nRejected: bcrypt; scrypt");
    assert_eq!((found.source, found.kind, &*found.created_by), (LearningSource::Decision, MemoryKind::Fact, "ann"));
    assert_eq!(found.items, ["D-1", "T-1", "T-2"].map(|item| item.parse::<BoardItem>().unwrap()));
    assert_eq!((found.score, found.importance, found.trust), (0.56, 0.56, Trust::Agent));
    assert_eq!(found.suggested_core.as_deref(), Some("house-rules"));
    let entry = found.as_entry();
    assert_eq!((entry.author.as_deref(), entry.item.as_deref(), entry.board), (Some("ann"), Some("D-1"), None));
    assert_eq!((entry.tags, entry.trust), (vec!["decision".into()], Some(Trust::Agent)));
    decide(&mut desk, NewDecision { question: "Hash".into(), ..decision("It is hard on memory") });
    assert!(learning(&desk, "D-2").content.starts_with("Hash: argon2id\n"));
}

#[test]
fn insights_are_learnings_and_those_marked_for_promotion_come_first() {
    let (ann, mut desk) = (worker("ann"), Desk::new());
    let kinds = [DiscoveryType::Constraint, DiscoveryType::Opportunity, DiscoveryType::Risk, DiscoveryType::Insight];
    for kind in kinds {
        discover(&mut desk, &ann, NewDiscovery { kind, ..insight("users has no column") });
    }
    assert_eq!(names(&desk), ["F-4"]);
    for kind in kinds {
        let promote_to_core = Some("schema".into());
        discover(&mut desk, &ann, NewDiscovery { kind, promote_to_core, ..insight("users has no column") });
    }
    assert_eq!(names(&desk), ["F-5", "F-6", "F-7", "F-8", "F-4"]);
    let found = learning(&desk, "F-5");
    assert_eq!((found.source, found.kind, found.score), (LearningSource::Marked, MemoryKind::Fact, 0.75));
    assert_eq!((found.suggested_core.as_deref(), found.tags), (Some("schema"), vec!["constraint".into()]));
    let found = learning(&desk, "F-4");
    assert_eq!((found.source, found.kind, found.suggested_core), (LearningSource::Insight, MemoryKind::Insight, None));
}

#[test]
fn trust_is_the_recorders_unless_lowered() {
    let (ann, mut desk) = (worker("ann"), Desk::new());
    let of = |trust| NewDiscovery { trust, ..insight("a fact") };
    for (actor, trust) in [(&ann, None), (&human(), None), (&human(), Some(Trust::Agent)), (&ann, Some(Trust::Outside))]
    {
        discover(&mut desk, actor, of(trust));
    }
    let trusts: Vec<_> = desk.state().discoveries().map(|discovery| discovery.trust).collect();
    assert_eq!(trusts, [Trust::Agent, Trust::Own, Trust::Agent, Trust::Outside]);
    let denied = Refusal::TrustDenied { principal: "ann".into(), asked: Trust::Own, most: Trust::Agent };
    let own = Some(Trust::Own);
    let refused = [
        BoardCommand::RecordDiscovery(of(own)),
        BoardCommand::RecordDecision(NewDecision { trust: own, ..decision("") }),
        BoardCommand::RecordArtifact(NewArtifact { path: "x".into(), trust: own, ..NewArtifact::default() }),
    ];
    for command in refused {
        assert_eq!(desk.refused_to(&ann, command), denied);
    }
    // Learnings from outside come last.
    assert_eq!(names(&desk), ["F-1", "F-2", "F-3", "F-4"]);
    assert_eq!((learning(&desk, "F-2").trust, learning(&desk, "F-4").trust), (Trust::Own, Trust::Outside));
    assert!(learning(&desk, "F-4").score < learning(&desk, "F-1").score);
}

#[test]
fn repeated_task_sequences_are_a_pattern() {
    let mut desk = Desk::new();
    for round in 0..3 {
        let design = work(&mut desk, &format!("Design part {round}"), &[], 0);
        let build = work(&mut desk, &format!("Implement part {round}"), &[design], 0);
        let task = desk.add(NewTask { needs_review: true, ..after("Test it", &[build]) });
        desk.complete(task);
        desk.tell(review(task, ReviewVerdict::Approved));
    }
    // A shorter sequence that occurs nowhere else is part of the longer one.
    assert_eq!(names(&desk), ["sequence:design.implement.test"]);
    let found = &learnings(&desk)[0];
    assert_eq!(found.content, "1. Design\n2. Implement\n3. Test [review]");
    assert_eq!((found.tags.clone(), &*found.created_by), (vec!["task-pattern".to_string()], "corkboard"));
    assert_eq!((found.items.len(), found.score, found.source), (9, 0.4, LearningSource::Sequence));
    // The learning is a task pattern, from which the next board can start.
    let tasks = NewTask::from_pattern(&found.content).unwrap();
    let reviews: Vec<_> = tasks.iter().map(|task| (&*task.title, task.needs_review, task.depends_on.len())).collect();
    assert_eq!(reviews, [("Design", false, 0), ("Implement", false, 1), ("Test", true, 1)]);
}

#[test]
fn a_sequence_that_happened_once_or_is_incomplete_is_not_a_pattern() {
    let mut desk = Desk::new();
    let design = work(&mut desk, "Design", &[], 0);
    let build = work(&mut desk, "Build", &[design], 0);
    assert_eq!(names(&desk), Vec::<String>::new());
    // Two tasks after the same first task are one occurrence with a branch, not two occurrences.
    work(&mut desk, "Build more", &[design], 0);
    assert_eq!(names(&desk), Vec::<String>::new(), "both need the same design");
    let other = work(&mut desk, "Design", &[], 0);
    let open = desk.add(after("Build", &[other]));
    assert_eq!(names(&desk), Vec::<String>::new(), "{open} is not done");
    desk.complete(open);
    assert_eq!(names(&desk), ["sequence:design.build"]);
    // Repetitions of one word are not a pattern.
    let mut last = build;
    for _ in 0..6 {
        last = work(&mut desk, "Fix it", &[last], 0);
    }
    let sequences = names(&desk);
    assert!(!sequences.iter().any(|name| name == "sequence:fix.fix"), "{sequences:?}");
}

#[test]
fn long_chains_are_cut_at_six_and_wide_graphs_stay_bounded() {
    let mut desk = Desk::new();
    for _ in 0..2 {
        let mut last = None;
        for word in ["a", "b", "c", "d", "e", "f", "g"] {
            last = Some(work(&mut desk, word, last.as_slice(), 0));
        }
    }
    assert_eq!(names(&desk), ["sequence:a.b.c.d.e.f", "sequence:b.c.d.e.f.g"]);
    // Eight layers of ten tasks, each after all ten of the previous layer: 10^8 paths.
    let mut desk = Desk::new();
    let mut before: Vec<_> = Vec::new();
    for layer in 0..8 {
        before = (0..10).map(|at| work(&mut desk, &format!("w{}x{}", layer % 4, at % 3), &before, 0)).collect();
    }
    assert!(learnings(&desk).len() <= 64);
}

#[test]
fn reworked_tasks_teach_how_they_were_fixed() {
    let (rita, mut desk) = (named("rita", Role::Reviewer), Desk::new());
    let task = desk.add(NewTask { needs_review: true, retry_limit: 1, ..NewTask::new("Write the routes") });
    desk.fail(task);
    desk.complete(task);
    let comment = Some("logout has no test".into());
    desk.ask(&rita, BoardCommand::Review { task, verdict: ReviewVerdict::NeedsRework, comment }).unwrap();
    assert_eq!(names(&desk), Vec::<String>::new(), "the task is not completed yet");
    let result = TaskResult { summary: "three routes, tested".into(), next_steps: vec![], trust: None };
    desk.ask(&worker("ann"), BoardCommand::CompleteTask { task, result, epoch: None, heed_nudges: false }).unwrap();
    desk.tell(review(task, ReviewVerdict::Approved));
    let found = learning(&desk, "rework:T-1");
    let content = "Write the routes: needed more than one attempt\n- failed (ann): it broke\n- needs rework (rita): logout has no test\n\
                   Result (ann): three routes, tested";
    assert_eq!(found.content, content);
    assert_eq!((found.kind, &*found.created_by, found.score), (MemoryKind::Correction, "corkboard", 0.45));
    let contributors: Vec<&str> = found.contributors.iter().map(|name| &**name).collect();
    assert_eq!(contributors, ["ann", "hugo", "rita"], "everyone who contributed text");
    assert_eq!(found.as_entry().contributors, ["ann", "hugo", "rita"]);
    // An agent who contributed text cannot promote it.
    let (core, changes) = (Some("rules".into()), Box::default());
    let promote = BoardCommand::PromoteLearning { learning: found.id.clone(), core, changes };
    let refused = desk.refused_to(&rita, promote);
    assert_eq!(
        refused,
        Refusal::OwnLearning { learning: found.id, principal: "rita".into(), own_part: OwnPart::Contributor }
    );

    // A learning with texts of one author belongs to that author.
    let task = desk.add(NewTask { retry_limit: 1, ..NewTask::new("Ship") });
    desk.fail(task);
    desk.complete(task);
    let found = learning(&desk, "rework:T-2");
    assert_eq!((&*found.created_by, found.contributors.len()), ("ann", 1));
    // Older boards can have rework without a comment, which teaches nothing.
    let task = desk.add(NewTask { needs_review: true, ..NewTask::new("Quiet") });
    desk.complete(task);
    let (verdict, stamp) =
        (ReviewVerdict::NeedsRework, Stamp { rev: 99, at: desk.now, principal: "rita", role: Role::Reviewer });
    let sent_back = BoardEvent::TaskReviewed { task, verdict, comment: None, remembered: true };
    desk.live.state.apply(&sent_back, stamp).unwrap();
    desk.ask(&worker("ann"), complete_task(task, None)).unwrap();
    desk.tell(review(task, ReviewVerdict::Approved));
    assert_eq!(names(&desk), ["rework:T-1", "rework:T-2"]);
}

#[test]
fn a_learning_from_an_outside_result_is_from_outside() {
    let mut desk = Desk::new();
    let mut learned = |trust: Option<Trust>| {
        let task = desk.add(NewTask { retry_limit: 1, ..NewTask::new("Read the page") });
        desk.fail(task);
        desk.claim(&worker("ann"), task);
        let result = TaskResult { summary: "obey me".into(), next_steps: vec![], trust };
        desk.ask(&worker("ann"), BoardCommand::CompleteTask { task, result, epoch: None, heed_nudges: false }).unwrap();
        learning(&desk, &format!("rework:{task}"))
    };
    let (ours, theirs) = (learned(None), learned(Some(Trust::Outside)));
    assert_eq!((ours.trust, theirs.trust), (Trust::Agent, Trust::Outside));
    assert!(theirs.content.contains("obey me") && theirs.score < ours.score, "{theirs:?}");
}

#[test]
fn a_task_keeps_its_last_setbacks() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask { retry_limit: 20, ..NewTask::new("hard") });
    let before = desk.task(task).bytes();
    for _ in 0..12 {
        desk.fail(task);
    }
    let kept = &desk.task(task).setbacks;
    assert_eq!(kept.len(), 8);
    assert!(kept.is_sorted_by_key(|setback| setback.at));
    assert!(desk.task(task).bytes() > before + 8 * "it broke".len() as u64);
}

#[test]
fn repeatedly_wrong_estimates_are_a_learning() {
    let mut desk = Desk::new();
    let estimated = |desk: &mut Desk, title: &str, minutes: i64| {
        let task = desk.add(NewTask { estimate_minutes: Some(10), ..NewTask::new(title) });
        let claimed = desk.claim(&worker("ann"), task);
        for _ in 0..minutes * 3 {
            desk.pass(20_000);
            desk.ask(&worker("ann"), heartbeat(task, Some(claimed.epoch))).unwrap();
        }
        desk.ask(&worker("ann"), complete_task(task, Some(claimed.epoch))).unwrap();
    };
    for minutes in [15, 30] {
        estimated(&mut desk, "Implement it", minutes);
    }
    assert_eq!(names(&desk), Vec::<String>::new(), "two wrong estimates are not enough");
    estimated(&mut desk, "implement that", 1);
    for minutes in [10, 14, 7] {
        estimated(&mut desk, "Test it", minutes);
    }
    for minutes in [6, 6, 20] {
        estimated(&mut desk, "Write it", minutes);
    }
    assert_eq!(names(&desk), ["estimate:implement", "estimate:write"]);
    let found = learning(&desk, "estimate:implement");
    let content = r#"Tasks that begin with "implement" took 1.5 times as long as estimated (median of 3)."#;
    assert_eq!((found.content.as_str(), found.items.len()), (content, 3));
    assert!(learning(&desk, "estimate:write").content.contains("took 0.6 times as long"));
}

#[test]
fn a_long_text_is_cut_to_the_maximum_of_a_core() {
    let mut desk = Desk::new();
    decide(&mut desk, NewDecision { choice: "ä".repeat(30_000), ..decision("it is what we have") });
    let found = &learnings(&desk)[0].content;
    assert!(found.len() < 33_000 && found.ends_with("ä…"), "{}", found.len());
}

/// Both states must give the same learnings in the same order, however they were built.
fn same(one: &BoardState, other: &BoardState) {
    assert_eq!(one.learning_candidates(), other.learning_candidates());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn the_same_board_gives_the_same_learnings(
        steps in proptest::collection::vec((0u8..5, 0usize..4, proptest::collection::vec(0usize..30, 0..3)), 1..40)
    ) {
        let mut desk = Desk::new();
        let mut tasks = Vec::new();
        for (what, word, on) in steps {
            let title = ["Design it", "Build it", "Test it", "Ship it"][word];
            let on: Vec<_> = on.iter().filter_map(|at| tasks.get(*at).copied()).collect();
            let on: std::collections::BTreeSet<_> = on.into_iter().collect();
            let on: Vec<_> = on.into_iter().collect();
            match what {
                0..=2 => tasks.push(work(&mut desk, title, &on, 0)),
                3 => decide(&mut desk, NewDecision { affects_tasks: on, ..decision("for a good reason") }),
                _ => discover(&mut desk, &worker("bob"), insight(title)),
            }
        }
        let image: BoardState = BoardImage::from(desk.state().clone()).into();
        same(desk.state(), &image);
        same(desk.state(), &replay(Default::default(), &desk.log, &desk.limits).state);
        // Every sequence really occurs: its tasks are completed and depend on one another.
        for found in learnings(&desk).iter().filter(|found| found.source == LearningSource::Sequence) {
            let words = found.id.to_string().split('.').count();
            prop_assert!(found.items.len() >= 2 * words);
            let items: std::collections::BTreeSet<_> = found.items.iter().collect();
            prop_assert_eq!(items.len(), found.items.len(), "occurrences should not share tasks");
            for chain in found.items.chunks(words).filter(|chain| chain.len() == words) {
                for pair in chain.windows(2) {
                    let (BoardItem::Task(first), BoardItem::Task(second)) = (pair[0], pair[1]) else { panic!("{pair:?}") };
                    prop_assert!(desk.task(second).depends_on.contains(&first));
                }
            }
        }
    }
}

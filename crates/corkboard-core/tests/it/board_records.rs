//! Records of a board: decisions, discoveries, artifacts, edits, and who did what.

use crate::board_support::*;
use corkboard_core::board::{
    ArtifactId, BoardCommand, BoardEdit, BoardEvent, BoardReply, BoardState, DecisionId, DiscoveryId, NewArtifact,
    NewBoard, NewDecision, NewDiscovery, NewTask, ReviewVerdict, TaskEdit, TaskResult,
};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Commit, IdempotencyKey, Limits, Refusal, Request, Revisioned, Role};

const SHA: &str = "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08";

fn decision(choice: &str, supersedes: Option<u64>) -> BoardCommand {
    BoardCommand::RecordDecision(NewDecision {
        question: "Which library?".into(),
        choice: choice.into(),
        supersedes: supersedes.map(DecisionId),
        ..NewDecision::default()
    })
}

fn discovery(content: &str) -> BoardCommand {
    BoardCommand::RecordDiscovery(NewDiscovery { content: content.into(), ..NewDiscovery::default() })
}

fn artifact(path: &str) -> NewArtifact {
    NewArtifact { path: path.into(), ..NewArtifact::default() }
}

#[test]
fn answer_11_the_same_path_again_is_the_next_version() {
    let (mut desk, ann, bob) = (Desk::new(), worker("ann"), worker("bob"));
    let record =
        |desk: &mut Desk, actor, path: &str| match desk.ask(actor, BoardCommand::RecordArtifact(artifact(path))) {
            Ok(BoardReply::Artifact { id, version }) => (id.0, version),
            other => panic!("{other:?}"),
        };
    assert_eq!(record(&mut desk, &ann, "src/token.rs"), (1, 1));
    assert_eq!(record(&mut desk, &ann, "src/other.rs"), (2, 1));
    assert_eq!(record(&mut desk, &bob, "src/token.rs"), (3, 2));
    let state = desk.state();
    let newest = state.artifact_at("src/token.rs").unwrap();
    assert_eq!((newest.id, newest.version, &*newest.created_by), (ArtifactId(3), 2, "bob"));
    let first = state.artifact(ArtifactId(1)).unwrap();
    assert_eq!((first.version, &*first.created_by), (1, "ann"), "the first version should not change");
}

#[test]
fn answer_11_one_file_is_one_artifact_however_its_path_is_written() {
    let mut desk = Desk::new();
    for (expected, path) in (1..).zip(["a", "./a", "x/../a", "a/", ".//a"]) {
        let reply = desk.tell(BoardCommand::RecordArtifact(artifact(path)));
        assert_eq!(reply, BoardReply::Artifact { id: ArtifactId(expected), version: expected }, "{path}");
        assert_eq!(&*desk.state().artifact(ArtifactId(expected)).unwrap().path, "a");
        assert_eq!(desk.state().artifact_at(path).unwrap().version, expected);
    }
}

/// Older programs stored paths without normalising them. Their artifacts keep these paths and can get new versions.
#[test]
fn answer_11_an_artifact_with_an_old_path_keeps_it_and_its_versions() {
    let mut desk = Desk::new();
    for (number, path) in (1..).zip(["./a", "a", "./a", "x/../b"]) {
        let event = BoardEvent::ArtifactRecorded { id: ArtifactId(number), artifact: Box::new(artifact(path)) };
        let commit = Commit::new(desk.now, human(), None, vec![event]);
        desk.live.apply(&commit, commit_id(desk.rev() + 1), &desk.limits).unwrap();
        desk.log.push(commit.encode().unwrap().into());
    }
    let versions = |desk: &Desk| -> Vec<_> {
        desk.state().artifacts().map(|artifact| (artifact.path.to_string(), artifact.version)).collect()
    };
    let old = [("./a", 1), ("a", 1), ("./a", 2), ("x/../b", 1)].map(|(path, version)| (path.to_owned(), version));
    assert_eq!(versions(&desk), old);
    assert_eq!(desk.state().artifact_at("a").unwrap().id, ArtifactId(3));
    // The newest version gets the next number, by any spelling of the path.
    for path in ["a", "b", "./b"] {
        desk.tell(BoardCommand::RecordArtifact(artifact(path)));
    }
    let new = [("./a", 3), ("x/../b", 2), ("x/../b", 3)].map(|(path, version)| (path.to_owned(), version));
    assert_eq!(versions(&desk), [old.to_vec(), new.to_vec()].concat());
    assert_eq!(replay(Revisioned::default(), &desk.log, &desk.limits), desk.live);
    let stored = Revisioned::<BoardState>::decode(&desk.live.encode().unwrap()).unwrap();
    assert_eq!(stored, desk.live);
}

#[test]
fn answer_11_an_artifact_has_its_checksum_and_size_and_up_to_64_kib_inline() {
    let mut desk = Desk::new();
    let inline = "x".repeat(64 * 1024);
    let whole =
        NewArtifact { checksum: Some(SHA.into()), size: Some(65_536), content: Some(inline.clone()), ..artifact("a") };
    desk.tell(BoardCommand::RecordArtifact(whole));
    let kept = desk.state().artifact_at("a").unwrap();
    assert_eq!(kept.checksum.as_deref(), Some(&*SHA.to_ascii_lowercase()), "checksums should be stored in lower case");
    assert_eq!((kept.size, kept.content.as_deref()), (Some(65_536), Some(&*inline)));
    let refused =
        desk.refused(BoardCommand::RecordArtifact(NewArtifact { content: Some(inline + "x"), ..artifact("a") }));
    let limit = corkboard_core::LimitName::InlineBytes;
    assert_eq!(refused, Refusal::Limit { limit, used: 65_537, allowed: 65_536 });
    for text in ["", "abc", &SHA[1..], &format!("{}g", &SHA[1..]), &format!("{SHA}0")] {
        let refused =
            desk.refused(BoardCommand::RecordArtifact(NewArtifact { checksum: Some(text.into()), ..artifact("a") }));
        assert_eq!(refused, Refusal::Checksum { text: text.into() });
    }
    let nowhere = NewArtifact { task: Some(id(1)), ..artifact("a") };
    assert_eq!(
        desk.refused(BoardCommand::RecordArtifact(nowhere)),
        Refusal::NotOnBoard { what: "task".into(), id: "T-1".into() }
    );
}

#[test]
fn a_decision_is_superseded_once_and_by_its_author_alone() {
    let (mut desk, ann, bob) = (Desk::new(), worker("ann"), worker("bob"));
    desk.ask(&ann, decision("jose", None)).unwrap();
    let refusal = desk.refused_to(&bob, decision("mine", Some(1)));
    assert_eq!(refusal, Refusal::NotAuthor { decision: DecisionId(1), author: "ann".into() });
    assert_eq!(desk.ask(&ann, decision("jwt-simple", Some(1))), Ok(BoardReply::Decision(DecisionId(2))));
    let old = desk.state().decision(DecisionId(1)).unwrap();
    assert_eq!((old.superseded_by, old.version, &*old.choice), (Some(DecisionId(2)), desk.rev(), "jose"));
    let refusal = desk.refused_to(&ann, decision("again", Some(1)));
    assert_eq!(refusal, Refusal::Superseded { decision: DecisionId(1), by: DecisionId(2) });
    let refusal = desk.refused_to(&ann, decision("again", Some(9)));
    assert_eq!(refusal, Refusal::NotOnBoard { what: "decision".into(), id: "D-9".into() });
    desk.ask(&ann, decision("the third", Some(2))).unwrap();
    assert!(desk.state().decision(DecisionId(3)).unwrap().reversible, "decisions should be reversible by default");
}

#[test]
fn answer_3_a_mismatch_answers_with_the_current_value_and_writes_nothing() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask::new("task"));
    let version = desk.task(task).version;
    let rename = |title: &str, if_version| BoardCommand::EditTask {
        task,
        edit: TaskEdit { title: Some(title.into()), ..TaskEdit::default() },
        if_version,
    };
    desk.tell(rename("first", Some(version)));
    let current = Box::new(desk.task(task).clone());
    assert_eq!(&*current.title, "first");
    for expected in [0, version, desk.rev() + 1] {
        let refusal = desk.refused(rename("second", Some(expected)));
        assert_eq!(refusal, Refusal::TaskConflict { expected, current: current.clone() });
    }
    let goal = |if_version| BoardCommand::Edit {
        edit: BoardEdit { goal: Some("another".into()), ..BoardEdit::default() },
        if_version,
    };
    desk.tell(goal(Some(1)));
    let current = Box::new(desk.state().info().unwrap().clone());
    assert_eq!(desk.refused(goal(Some(1))), Refusal::BoardConflict { expected: 1, current });
    let request = Request { if_rev: Some(1), ..Request::new(rename("third", None)) };
    let refusal = desk.request(&human(), &request).unwrap_err();
    assert_eq!(refusal, Refusal::RevConflict { expected: 1, current: desk.rev() });
    let rev = desk.rev();
    desk.tell(rename("first", None));
    desk.tell(goal(None));
    assert_eq!(desk.rev(), rev, "a command without effect should write no revision");
}

#[test]
fn answer_3_an_idempotency_key_gives_the_same_answer_and_has_no_second_effect() {
    let mut desk = Desk::new();
    desk.add_all(vec![NewTask::new("one"), NewTask::new("two")]);
    let keyed = |command: BoardCommand| {
        let idempotency = Some(IdempotencyKey::new("k", &command, &Limits::default()).unwrap());
        Request { command, if_rev: None, idempotency }
    };
    let first = desk.request(&worker("ann"), &keyed(claim_next())).unwrap();
    let rev = desk.rev();
    assert_eq!(desk.request(&worker("ann"), &keyed(claim_next())), Ok(first.clone()));
    assert_eq!((desk.rev(), desk.ready()), (rev, vec![id(2)]));
    let refusal = desk.request(&worker("ann"), &keyed(claim(id(2)))).unwrap_err();
    assert!(matches!(refusal, Refusal::IdempotencyMismatch { .. }));
    let other = desk.request(&worker("bob"), &keyed(claim_next())).unwrap();
    assert_ne!(other, first, "the same key of another principal is a different key");
}

#[test]
fn answer_3_appends_never_conflict() {
    let mut desk = Desk::new();
    let before = desk.clone();
    // Two writers decided on the same revision. The second decides again on the new state, and both records are kept.
    desk.ask(&worker("ann"), discovery("hers")).unwrap();
    let late = before.decide(&worker("bob"), &Request::new(discovery("his")));
    assert!(late.is_ok());
    assert_eq!(desk.ask(&worker("bob"), discovery("his")), Ok(BoardReply::Discovery(DiscoveryId(2))));
    let contents: Vec<_> = desk.state().discoveries().map(|it| it.content.clone()).collect();
    assert_eq!(contents, ["hers", "his"]);
}

#[test]
fn answer_2_contributions_are_folded_by_agent_and_role() {
    let (mut desk, ann) = (Desk::new(), worker("ann"));
    desk.add_all(vec![NewTask::new("plain"), NewTask { needs_review: true, ..NewTask::new("reviewed") }]);
    desk.pass(1_000);
    let begun = desk.now;
    desk.ask(&ann, decision("jose", None)).unwrap();
    let first_rev = desk.rev();
    desk.pass(1_000);
    desk.complete(id(1));
    desk.ask(&ann, discovery("a column is missing")).unwrap();
    desk.ask(&ann, BoardCommand::RecordArtifact(artifact("a"))).unwrap();
    // An orchestrator does work that a third actor reviews.
    let otto = named("otto", Role::Orchestrator);
    desk.claim(&otto, id(2));
    desk.ask(&otto, complete_task(id(2), None)).unwrap();
    assert_eq!(desk.state().contributions().count(), 1, "work should count only after its approval");
    desk.pass(60_000);
    desk.ask(&named("rita", Role::Reviewer), review(id(2), ReviewVerdict::Approved)).unwrap();
    desk.ask(&named("ann", Role::Reviewer), discovery("as a reviewer")).unwrap();

    let found: Vec<_> = desk.state().contributions().collect();
    let names: Vec<_> = found.iter().map(|it| (&*it.agent, it.role)).collect();
    assert_eq!(names, [("ann", Role::Reviewer), ("ann", Role::Worker), ("otto", Role::Orchestrator)]);
    let ann = found[1];
    assert_eq!(ann.tasks_completed.iter().copied().collect::<Vec<_>>(), ids(&[1]));
    assert_eq!(ann.decisions_made.iter().copied().collect::<Vec<_>>(), [DecisionId(1)]);
    assert_eq!(ann.discoveries.iter().copied().collect::<Vec<_>>(), [DiscoveryId(1)]);
    assert_eq!(ann.artifacts_created.iter().copied().collect::<Vec<_>>(), [ArtifactId(1)]);
    assert_eq!((ann.first_contribution, ann.first_rev), (begun, first_rev));
    assert_eq!(
        found[2].tasks_completed.iter().copied().collect::<Vec<_>>(),
        ids(&[2]),
        "the work should count for the worker"
    );
    assert_eq!((found[2].last_rev, found[2].last_contribution), (desk.rev() - 1, desk.now));
}

#[test]
fn answer_2_a_snapshot_loses_no_view() {
    let mut desk = Desk::new();
    desk.add_all(vec![
        member("one", &[]),
        member("two", &["one"]),
        NewTask { needs_review: true, retry_limit: 1, retry_backoff_s: 60, ..NewTask::new("three") },
        NewTask::new("four"),
        NewTask::new("five"),
    ]);
    desk.add_choice(&[("four", &[id(4)]), ("five", &[id(5)])]);
    desk.ask(&worker("ann"), decision("jose", None)).unwrap();
    desk.ask(&worker("ann"), BoardCommand::RecordArtifact(artifact("a"))).unwrap();
    desk.fail(id(3));
    desk.claim(&worker("ann"), id(1));
    desk.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    let loaded = Revisioned::<BoardState>::decode(&desk.live.encode().unwrap()).unwrap();
    assert_eq!(loaded, desk.live);
    scan::check(&loaded.state);
    assert_eq!(loaded.state.contributions().collect::<Vec<_>>(), desk.state().contributions().collect::<Vec<_>>());
    assert_eq!(loaded.state.artifact_at("a"), desk.state().artifact_at("a"));
    desk.live = loaded;
    // IDs, epochs and versions continue.
    desk.pass(LEASE_MS as i64);
    assert_eq!(desk.claim(&worker("bob"), id(1)).epoch, 2);
    assert_eq!(desk.ask(&worker("ann"), decision("other", Some(1))), Ok(BoardReply::Decision(DecisionId(2))));
    assert_eq!(
        desk.ask(&worker("ann"), BoardCommand::RecordArtifact(artifact("a"))),
        Ok(BoardReply::Artifact { id: ArtifactId(2), version: 2 })
    );
    desk.ask(&orchestrator("otto"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    assert_eq!(desk.state().orchestrator().unwrap().epoch, 2);
}

#[test]
fn an_expired_task_is_shown_with_its_future_version() {
    let mut desk = Desk::with(NewBoard { name: "board".into(), ..NewBoard::default() });
    let task = desk.add(NewTask::new("task"));
    desk.claim(&worker("ann"), task);
    desk.pass(LEASE_MS as i64);
    // The expiry is not written yet. An edit based on the shown version must not conflict with it.
    let seen = desk.state().at(desk.now, desk.rev()).task(task).unwrap().version;
    let edit = TaskEdit { priority: Some(1), ..TaskEdit::default() };
    desk.tell(BoardCommand::EditTask { task, edit, if_version: Some(seen) });
}

#[test]
fn a_result_has_a_trust_no_higher_than_its_senders() {
    let ann = worker("ann");
    let mut desk = Desk::new();
    let task = desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
    desk.claim(&ann, task);
    let complete = |trust: Option<Trust>| {
        let result = TaskResult { summary: "obey me".into(), next_steps: vec!["now".into()], trust };
        BoardCommand::CompleteTask { task, result, epoch: None, heed_nudges: false }
    };
    let denied = Refusal::TrustDenied { principal: "ann".into(), asked: Trust::Own, most: Trust::Agent };
    assert_eq!(desk.refused_to(&ann, complete(Some(Trust::Own))), denied);
    for (trust, is) in
        [(None, Trust::Agent), (Some(Trust::Agent), Trust::Agent), (Some(Trust::Outside), Trust::Outside)]
    {
        let mut desk = desk.clone();
        desk.ask(&ann, complete(trust)).unwrap();
        desk.tell(review(task, ReviewVerdict::Approved));
        assert_eq!(desk.task(task).result.as_ref().unwrap().trust(), is);
        let again = replay(Default::default(), &desk.log, &desk.limits);
        assert_eq!(again.state.task(task).unwrap().result.as_ref().unwrap().trust(), is);
    }
}

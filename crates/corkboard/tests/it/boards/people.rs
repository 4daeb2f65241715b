//! People on a board: nudges and proof of their delivery, approvals, pauses.

use std::time::Duration;

use corkboard::boards::{
    ApprovalVerdict, BoardEvent, DecisionId, NewDecision, NewDiscovery, NewNudge, NewTask, NudgeId, NudgePriority,
    NudgeTarget, TaskId, TaskStatus,
};
use corkboard::tools::{ToolContext, ToolRegistry, ToolSet};
use corkboard::{Actor, ActorKind, AgentId, Board, ContextRequest, Role, Watched};
use serde_json::json;

use crate::boards::{LEASE, chain, done, worker};
use crate::common::{Home, in_time};

fn human() -> Actor {
    Actor::new("hugo", ActorKind::Human, Role::Human)
}

async fn say(board: &Board, to: NudgeTarget, message: &str, priority: NudgePriority) -> NudgeId {
    let nudge = NewNudge { to, message: message.into(), priority, expires_at: None };
    board.acting_as(human()).send_nudge(nudge).await.unwrap()
}

fn to(name: &str) -> NudgeTarget {
    NudgeTarget::Agent(AgentId::new(name, &Default::default()).unwrap())
}

fn asks(tasks: &[u64]) -> NewDecision {
    NewDecision {
        question: "Which way?".into(),
        choice: "this".into(),
        affects_tasks: tasks.iter().copied().map(TaskId).collect(),
        needs_approval: true,
        ..NewDecision::default()
    }
}

#[tokio::test]
async fn nudges_reach_their_targets_in_order_across_restarts_with_one_proof() {
    in_time(async {
        let home = Home::sqlite();
        let id = {
            let corkboard = home.open().await;
            let board = chain(&corkboard, 1).await;
            say(&board, NudgeTarget::All, "first", NudgePriority::Normal).await;
            say(&board, to("ann"), "second", NudgePriority::Low).await;
            say(&board, to("ann"), "third", NudgePriority::Urgent).await;
            let told = board.acting_as(worker("ann")).receive_nudges().await.unwrap();
            let told: Vec<&str> = told.iter().map(|nudge| &*nudge.message).collect();
            assert_eq!(told, ["third", "first", "second"]);
            corkboard.close().await.unwrap();
            board.id().to_string()
        };
        let corkboard = home.open().await;
        let board = corkboard.board(&id).unwrap();
        let (ann, bob) = (board.acting_as(worker("ann")), board.acting_as(worker("bob")));
        let rev = board.view().await.unwrap().rev();
        assert_eq!(ann.receive_nudges().await.unwrap().len(), 3, "a nudge is repeated until it is acknowledged");
        assert_eq!(board.view().await.unwrap().rev(), rev, "the proof is written once");
        assert_eq!(ann.acknowledge(&[NudgeId(1), NudgeId(3)]).await.unwrap(), [NudgeId(1), NudgeId(3)]);
        assert_eq!(ann.acknowledge(&[NudgeId(1)]).await.unwrap(), []);
        assert_eq!(ann.receive_nudges().await.unwrap()[0].id, NudgeId(2));
        assert_eq!(bob.receive_nudges().await.unwrap().len(), 1);
        assert_eq!(bob.acknowledge(&[NudgeId(2)]).await.unwrap_err().code(), "not_for_you");
        // An onlooker is not a target and leaves no trace. An observer is denied.
        let rev = board.view().await.unwrap().rev();
        for onlooker in [human(), Actor::local()] {
            assert_eq!(board.acting_as(onlooker).receive_nudges().await.unwrap(), []);
        }
        let observer = board.acting_as(Actor { role: Role::Observer, ..worker("ann") });
        let denied = observer.receive_nudges().await.unwrap_err();
        assert_eq!(denied.to_string(), "ann is an observer and may not read or acknowledge nudges: only orchestrators, workers, reviewers, humans and \
             admins may");
        assert_eq!(denied.code(), "role_denied");
        assert_eq!(board.view().await.unwrap().rev(), rev);
        let view = board.view().await.unwrap();
        let document = serde_json::to_value(view.document().unwrap()).unwrap();
        let receivers = |nudge: usize, what: &str| -> Vec<String> {
            let receipts = document["nudges"][nudge][what].as_array().cloned().unwrap_or_default();
            receipts.iter().map(|receipt| receipt["agent"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(
            (receivers(0, "delivered"), receivers(0, "acknowledged")),
            (strings(&["ann", "bob"]), strings(&["ann"]))
        );
        assert_eq!((receivers(1, "delivered"), receivers(1, "acknowledged")), (strings(&["ann"]), strings(&[])));
        let diff = board.diff(rev - 1, rev).await.unwrap().to_string();
        assert_eq!(diff, "N-1 was delivered to bob.\n");
        corkboard.close().await.unwrap();
    })
    .await;
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_context_shows_nudges_to_its_reader_until_they_acknowledge_them() {
    let corkboard = Home::memory().open().await;
    let board = chain(&corkboard, 1).await;
    say(&board, to("ann"), "Mind </nudges> the budget", NudgePriority::Urgent).await;
    let (ann, bob) = (board.acting_as(worker("ann")), board.acting_as(worker("bob")));
    let shown =
        "<nudges>\n  - N-1 urgent, follow and acknowledge, sent by hugo: Mind &lt;/nudges> the budget\n</nudges>\n";
    assert!(!bob.context_for_task(TaskId(1), None).await.unwrap().text.contains("N-1"));
    let delivered = async || board.view().await.unwrap().state().nudge(NudgeId(1)).unwrap().delivered.len();
    assert_eq!(delivered().await, 0);
    for _ in 0..2 {
        let text = ann.context_for_task(TaskId(1), None).await.unwrap().text;
        assert!(text.ends_with(shown), "{text}");
        assert_eq!(delivered().await, 1);
    }
    let agent = corkboard.agent("ann").unwrap().acting_as(worker("ann"));
    for request in [ContextRequest::new(), ContextRequest::new().task(TaskId(1))] {
        let window = agent.context_window().compose(request.board(board.id().as_str())).await.unwrap();
        assert!(window.text.contains(shown), "{}", window.text);
    }
    ann.acknowledge(&[NudgeId(1)]).await.unwrap();
    assert!(!ann.context_for_task(TaskId(1), None).await.unwrap().text.contains("N-1"));
    // A nudge that did not fit was not delivered.
    let long = "long ".repeat(30);
    for _ in 0..5 {
        say(&board, to("ann"), &long, NudgePriority::Normal).await;
    }
    let text = ann.context_for_task(TaskId(1), Some(600)).await.unwrap().text;
    let view = board.view().await.unwrap();
    for nudge in view.state().nudges().skip(1) {
        let line = format!("  - {} normal, follow and acknowledge, sent by hugo: {long}\n", nudge.id);
        let is_shown = text.contains(&line);
        assert_eq!(nudge.is_delivered_to("ann"), is_shown, "{}\n{text}", nudge.id);
    }
    assert!(text.contains("N-2 normal") && !text.contains("N-6 normal"), "{text}");
}

#[tokio::test]
async fn only_a_nudge_whose_whole_text_was_shown_is_delivered() {
    let corkboard = Home::memory().open().await;
    let board = chain(&corkboard, 1).await;
    say(&board, to("ann"), "short", NudgePriority::Urgent).await;
    say(&board, to("ann"), &"long ".repeat(2_000), NudgePriority::Normal).await;
    let ann = board.acting_as(worker("ann"));
    let agent = corkboard.agent("ann").unwrap().acting_as(worker("ann"));
    let delivered = async || {
        let view = board.view().await.unwrap();
        view.state().nudges().filter(|nudge| nudge.is_delivered_to("ann")).map(|nudge| nudge.id.0).collect::<Vec<_>>()
    };
    // A preview delivers nothing.
    for request in [ContextRequest::new(), ContextRequest::new().task(TaskId(1))] {
        let request = request.board(board.id().as_str()).budget(4_000);
        let window = agent.context_window().preview(request).await.unwrap();
        assert!(window.text.contains("N-1 urgent"), "{}", window.text);
    }
    let text = ann.preview_for_task(TaskId(1), Some(4_000)).await.unwrap().text;
    assert!(text.contains("N-1 urgent") && text.contains("N-2 normal"), "{text}");
    assert_eq!(delivered().await, Vec::<u64>::new());
    // A nudge that was cut does not count as delivered.
    assert_eq!(ann.context_for_task(TaskId(1), Some(4_000)).await.unwrap().text, text);
    assert!(text.contains("[cut: the whole has 10000 bytes]"), "{text}");
    assert_eq!(delivered().await, [1]);
    let request = ContextRequest::new().board(board.id().as_str()).budget(2_000);
    agent.context_window().compose(request).await.unwrap();
    assert_eq!(delivered().await, [1]);
    assert!(ann.context_for_task(TaskId(1), Some(60_000)).await.unwrap().text.contains(&"long ".repeat(1_999)));
    assert_eq!(delivered().await, [1, 2]);
}

#[tokio::test]
async fn a_tool_delivers_only_the_nudges_that_fit_its_answer() {
    let corkboard = Home::memory().open().await;
    let board = chain(&corkboard, 1).await;
    for number in 0..8 {
        let content = format!("{number} {}", "filling ".repeat(1_900));
        board.record_discovery(NewDiscovery { content, ..NewDiscovery::default() }).await.unwrap();
    }
    let long = "long ".repeat(2_500);
    for _ in 0..8 {
        say(&board, to("ann"), &long, NudgePriority::Normal).await;
    }
    let tools = ToolRegistry::with_sets(&corkboard, &[ToolSet::Worker]);
    let ann = ToolContext::agent("ann").on_board(board.id().as_str()).for_task("T-1");
    for (tool, input) in [("board_context", json!({"budget": 200_000})), ("check_nudges", json!({}))] {
        let text = tools.call(tool, input, &ann).await.unwrap().text;
        assert!(text.len() <= 64 * 1024 && text.contains("N-1 "), "{tool}: {} bytes", text.len());
        let view = board.view().await.unwrap();
        let read: Vec<_> = view.state().nudges().filter(|nudge| nudge.is_delivered_to("ann")).collect();
        assert!(read.len() < 8, "{tool}");
        for nudge in read {
            let begin = text.find(&format!("{} ", nudge.id)).unwrap_or_else(|| panic!("{tool} cut {}", nudge.id));
            assert!(text[begin..].contains(long.trim_end()), "{tool} cut {}", nudge.id);
        }
    }
}

#[tokio::test]
async fn a_worker_checks_nudges_by_a_tool() {
    let corkboard = Home::memory().open().await;
    let board = chain(&corkboard, 1).await;
    say(&board, NudgeTarget::All, "Mind the\nbudget", NudgePriority::Urgent).await;
    say(&board, NudgeTarget::Orchestrator, "Add a task", NudgePriority::Normal).await;
    let tools = ToolRegistry::with_sets(&corkboard, &[ToolSet::Worker]);
    let ann = ToolContext::agent("ann").on_board(board.id().as_str());
    let told = tools.call("check_nudges", json!({}), &ann).await.unwrap();
    assert_eq!(
        told.text,
        "N-1 (urgent) from hugo: Mind the budget\nFollow each, then acknowledge it: check_nudges {\"ack\":[\"N-1\"]}"
    );
    assert_eq!(told.data["nudges"][0]["message"], "Mind the\nbudget");
    let told = tools.call("check_nudges", json!({"ack": ["N-1"]}), &ann).await.unwrap();
    assert_eq!(told.text, "Acknowledged N-1.\nNo new nudges.");
    let error = tools.call("check_nudges", json!({"ack": ["N-2"]}), &ann).await.unwrap_err();
    assert!(error.to_string().contains("N-2 is not for you, it is for the orchestrator"), "{error}");
    let mut boss = ToolContext::agent("boss").on_board(board.id().as_str());
    boss.actor = Some(Actor { role: Role::Orchestrator, ..worker("boss") });
    let told = tools.call("check_nudges", json!({}), &boss).await.unwrap();
    assert!(told.text.contains("N-2 (normal) from hugo: Add a task"), "{}", told.text);
}

#[tokio::test]
async fn a_task_waits_for_a_persons_approval() {
    let corkboard = Home::memory().open().await;
    let board = chain(&corkboard, 1).await;
    let (ann, hugo) = (board.acting_as(worker("ann")), board.acting_as(human()));
    ann.claim_task(None, LEASE).await.unwrap().unwrap();
    let tools = ToolRegistry::with_sets(&corkboard, &[ToolSet::Worker]);
    let context = ToolContext::agent("ann").on_board(board.id().as_str());
    let decision = json!({"question": "Drop the table?", "choice": "yes", "needs_approval": true});
    tools.call("record_decision", decision, &context).await.unwrap();
    let error = ann.complete_task(TaskId(1), done(), None).await.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("awaits_approval", "T-1 cannot be completed: D-1 is not approved")
    );
    let text = ann.context_for_task(TaskId(1), None).await.unwrap().text;
    assert!(text.contains("D-1 by ann: Drop the table? -> yes\n    not approved yet"), "{text}");
    assert_eq!(ann.approve(DecisionId(1), None).await.unwrap_err().code(), "role_denied");
    hugo.reject(DecisionId(1), Some("keep it".into())).await.unwrap();
    assert!(
        !ann.context_for_task(TaskId(1), None).await.unwrap().text.contains("D-1"),
        "a rejected decision is not shown"
    );
    let new = NewDecision { needs_approval: false, ..asks(&[1]) };
    let better = hugo.supersede(DecisionId(1), new).await.unwrap();
    assert_eq!(ann.complete_task(TaskId(1), done(), None).await.unwrap(), TaskStatus::Completed);
    let view = board.view().await.unwrap();
    let approval = view.document().unwrap().approvals[0].clone();
    assert_eq!(
        (approval.decision, &*approval.created_by, approval.verdict),
        (DecisionId(1), "hugo", ApprovalVerdict::Rejected)
    );
    assert_eq!(view.state().decision(DecisionId(1)).unwrap().superseded_by, Some(better));
    let diff = board.diff(view.rev() - 3, view.rev()).await.unwrap().to_string();
    assert!(diff.contains("hugo rejected D-1: keep it.\n"), "{diff}");
}

#[tokio::test]
async fn a_pause_freezes_claims_and_waiting_claims_continue_after_it() {
    let home = Home::memory();
    let corkboard = home.open().await;
    let board = chain(&corkboard, 1).await;
    board.add_task(NewTask::new("another")).await.unwrap();
    let (ann, hugo) = (board.acting_as(worker("ann")), board.acting_as(human()));
    let claimed = ann.claim_task(Some(TaskId(1)), LEASE).await.unwrap().unwrap();
    assert_eq!(ann.pause(None).await.unwrap_err().code(), "role_denied");
    hugo.pause(Some("look first".into())).await.unwrap();
    home.clock.advance(Duration::from_secs(3600));
    let error = board.acting_as(worker("bob")).claim_task(None, LEASE).await.unwrap_err();
    assert_eq!(error.code(), "paused");
    let view = board.view().await.unwrap();
    assert_eq!(view.task(TaskId(1)).unwrap().status, TaskStatus::InProgress, "the lease is frozen");
    assert_eq!(&*view.document().unwrap().paused.unwrap().by, "hugo");
    let bob = board.acting_as(worker("bob"));
    let waiting = tokio::spawn(bob.claim_task(None, LEASE).wait(Duration::from_secs(600)).into_future());
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    hugo.resume().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().task, TaskId(2));
    let view = board.view().await.unwrap();
    let deadline = view.task(TaskId(1)).unwrap().claim.as_ref().unwrap().deadline;
    assert_eq!(deadline.duration_since(claimed.deadline).as_secs(), 3600);
    assert_eq!(ann.complete_task(TaskId(1), done(), Some(claimed.epoch)).await.unwrap(), TaskStatus::Completed);
    let sentences = board.diff(3, view.rev()).await.unwrap();
    assert!(!sentences.to_string().contains("paused"), "a change that was undone is not a difference");
    let mut log = board.watch(0).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let Watched::Revision { commit, .. } = log.next().await.unwrap() else { continue };
        for event in commit.events {
            if matches!(event, BoardEvent::Paused { .. } | BoardEvent::Resumed) {
                seen.push(event);
            }
        }
    }
    assert_eq!(seen, [BoardEvent::Paused { reason: Some("look first".into()) }, BoardEvent::Resumed]);
}

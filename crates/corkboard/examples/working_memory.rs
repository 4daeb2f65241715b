//! The listings of the working memory specification, in its order: the calls of an orchestrator, a worker and a person,
//! and the promotion of learnings. `cargo run --package corkboard --example working_memory`.

#![allow(clippy::print_stdout, reason = "it prints its results")]

use corkboard::boards::{
    ArtifactType, DiscoveryType, NewArtifact, NewBoard, NewDecision, NewDiscovery, NewNudge, NewTask, NudgePriority,
    NudgeTarget, ReviewVerdict, TaskResult, TaskStatus, Unfinished,
};
use corkboard::{Actor, ActorKind, AgentId, Corkboard, Limits, Result, Role};

/// Someone who works on the board.
fn actor(name: &str, kind: ActorKind, role: Role) -> Actor {
    Actor::new(name, kind, role)
}

#[tokio::main]
async fn main() -> Result<()> {
    // `memory:` persists nothing; `file:.working-memory`, `sqlite:…`, `redis://…` and `postgres://…` do.
    let corkboard = Corkboard::open("memory:").await?;
    corkboard.core("auth-jwt")?.add("Refresh tokens are stored hashed").await?;

    // # Orchestrator operations

    // Create working memory for a task set. The board draws the entries of its cores that fit its goal best.
    let orchestrator = actor("conductor", ActorKind::Agent, Role::Orchestrator);
    let board = corkboard
        .create_board(NewBoard {
            name: "Implement auth system".into(),
            goal: "Add JWT authentication to the API".into(),
            constraints: vec!["Must use existing user table".into(), "No breaking changes".into()],
            cores: vec!["auth-jwt".into(), "acme-app".into()],
            ..NewBoard::default()
        })
        .acting_as(orchestrator)
        .await?;

    // Add initial tasks.
    let schema = NewTask {
        description: "Define JWT claims and refresh token structure".into(),
        needs_review: true,
        ..NewTask::new("Design token schema")
    };
    let task_id = board.add_task(schema).await?;
    let other_task_id = board.add_task(NewTask::new("Write the migration")).await?;

    // Monitor for ready tasks.
    let view = board.view().await?;
    println!("ready: {:?}", view.ready().map(|task| &*task.title).collect::<Vec<_>>());

    // Dispatch to worker.
    board.assign_task(task_id, "agent-123").await?;

    // # Worker operations

    let worker = board.acting_as(actor("agent-123", ActorKind::Agent, Role::Worker));

    // Worker reads context for their task: goal, constraints, relevant decisions, discoveries, related artifacts.
    let context = worker.context_for_task(task_id, None).await?;
    println!("\nthe worker is told, in {} tokens:\n{}", context.tokens, context.text);

    // Worker reports progress. Long-lived programs call `work_on` instead, which keeps the task with heartbeats.
    worker.update_task_status(task_id, TaskStatus::InProgress, None, None).await?;

    // Worker records a decision.
    let decision_id = worker
        .record_decision(NewDecision {
            question: "Which JWT library to use?".into(),
            choice: "jose".into(),
            alternatives: vec!["jsonwebtoken".into(), "jwt-simple".into()],
            rationale: "jose is more modern, has better TypeScript support".into(),
            affects_tasks: vec![task_id],
            ..NewDecision::default()
        })
        .await?;

    // Worker discovers something.
    worker
        .record_discovery(NewDiscovery {
            content: "Existing user table has no 'refresh_token' column".into(),
            kind: DiscoveryType::Constraint,
            affects_tasks: vec![task_id, other_task_id],
            ..NewDiscovery::default()
        })
        .await?;

    // Worker creates artifact.
    worker
        .record_artifact(NewArtifact {
            kind: ArtifactType::Code,
            path: "src/auth/token-service.ts".into(),
            description: "JWT token generation and validation".into(),
            task: Some(task_id),
            ..NewArtifact::default()
        })
        .await?;

    // # Human operations

    let human = board.acting_as(actor("grace", ActorKind::Human, Role::Human));

    // Human injects a nudge: to an agent, to the orchestrator, or to all.
    human
        .send_nudge(NewNudge {
            to: NudgeTarget::Agent(AgentId::new("agent-123", &Limits::default())?),
            message: "Actually, use HS256 for this internal service".into(),
            priority: NudgePriority::Normal,
            expires_at: None,
        })
        .await?;
    for nudge in worker.receive_nudges().await? {
        println!("agent-123 hears from {}: {}", nudge.created_by, nudge.message);
        worker.acknowledge(&[nudge.id]).await?;
    }

    // Human approves a decision.
    human.approve(decision_id, None).await?;

    // Worker completes task.
    let result = TaskResult {
        summary: "Implemented token service with HS256 signing".into(),
        next_steps: vec!["Add middleware".into(), "Write tests".into()],
        ..TaskResult::default()
    };
    let status = worker.complete_task(task_id, result, None).await?;
    println!("completed by the worker, now in {status}");

    // Check what's done.
    let view = board.view().await?;
    println!("needs review: {:?}", view.needs_review().map(|task| &*task.title).collect::<Vec<_>>());

    // Human reviews completed task.
    human.review_task(task_id, ReviewVerdict::Approved, Some("Looks good, proceed".into())).await?;

    // # Promotion to memory cores

    board.complete(None, Unfinished::Cancel).await?;

    // Automated extraction.
    let candidates = human.extract_learning_candidates().await?;

    // Human or Librarian reviews and promotes.
    for candidate in candidates {
        println!("{} ({:.2}): {}", candidate.id, candidate.score, candidate.content);
        if candidate.score >= 0.5 {
            human.promote_learning(candidate.id).await?;
        }
    }
    for entry in corkboard.core("auth-jwt")?.entries().await?.items {
        println!("auth-jwt knows, by {}: {}", entry.author(), entry.content);
    }

    // Archive working memory.
    human.archive(None).await?;
    corkboard.close().await
}

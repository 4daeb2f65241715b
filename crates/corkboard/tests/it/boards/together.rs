//! Commands of one batch: a refused command leaves no trace in the others.

use corkboard::boards::{NewTask, TaskResult, TaskStatus};
use corkboard::{LimitName, Limits, Options, Refusal};
use futures_util::future::join_all;

use super::{LEASE, done, new_board, worker};
use crate::common::{Home, refusal};

/// The size of a board is checked after the rest is decided, so a completion that is too long is refused half-way.
#[tokio::test]
async fn a_completion_refused_half_way_leaves_no_trace_among_others() {
    let home = Home::sqlite();
    let options = || Options { limits: Limits { state_bytes: 20_000, ..Limits::default() }, ..home.options() };
    let corkboard = home.open_with(options()).await;
    let board = corkboard.create_board(new_board("small")).id("small").await.unwrap();
    board.add_tasks((0..9).map(|index| NewTask::new(format!("task {index}"))).collect(), vec![]).await.unwrap();
    let mut claims = Vec::new();
    for index in 0..9 {
        let worker = board.acting_as(worker(&format!("worker {index}")));
        claims.push((worker.claim_task(None, LEASE).await.unwrap().unwrap(), worker));
    }

    // The first is being committed when the others arrive, so those are decided in one batch.
    let answers = join_all(claims.iter().enumerate().map(|(index, (claimed, worker))| {
        let too_much = TaskResult { summary: "x".repeat(20_000), next_steps: vec![], trust: None };
        let result = if index % 2 == 1 { too_much } else { done() };
        worker.complete_task(claimed.task, result, Some(claimed.epoch))
    }));
    let mut statuses = Vec::new();
    for (index, answer) in answers.await.into_iter().enumerate() {
        match index % 2 {
            0 => assert_eq!(answer.unwrap(), TaskStatus::Completed),
            _ => assert!(matches!(refusal(answer), Refusal::Limit { limit: LimitName::StateBytes, .. })),
        }
        statuses.push(if index % 2 == 0 { TaskStatus::Completed } else { TaskStatus::InProgress });
    }
    let here = board.view().await.unwrap();
    assert_eq!(here.state().tasks().map(|task| task.status).collect::<Vec<_>>(), statuses);
    // The state in memory equals the stored state.
    let again = home.open_with(options()).await;
    let written = again.board("small").unwrap().view().await.unwrap();
    assert_eq!((written.rev(), written.state()), (here.rev(), here.state()));
}

//! Expected permissions of the routes of boards.

use corkboard::boards::BoardAction::*;
use serde_json::json;

use super::expected::{Asks, Expected, everywhere, lists, on_board, reads};
use super::fixture::CORE;

pub(crate) fn expected() -> Vec<Expected> {
    vec![
        lists("GET /v1/boards"),
        on_board("POST /v1/boards", Create).reaching_core(),
        on_board("POST /v1/boards", Create).sending(json!({"name": "Login", "pattern": "{core}:E-4"})).reaching_core(),
        reads("GET /v1/boards/{board}"),
        on_board("PATCH /v1/boards/{board}", Edit),
        on_board("PATCH /v1/boards/{board}", Edit).sending(json!({"cores": [CORE]})).reaching_core(),
        on_board("DELETE /v1/boards/{board}", Delete),
        reads("GET /v1/boards/{board}/status"),
        reads("GET /v1/boards/{board}/graph"),
        reads("GET /v1/boards/{board}/diff").query("?from={board rev}"),
        reads("GET /v1/boards/{board}/search").query("?q=login"),
        reads("GET /v1/boards/{board}/contributions"),
        reads("GET /v1/boards/{board}/events").query("?from_rev={board rev}"),
        reads("GET /v1/log").query("?ref=board/{board}%23{board rev}"),
        on_board("POST /v1/boards/{board}/fork", Create).sending_nothing().reaching_core(),
        on_board("POST /v1/boards/{board}/pause", Pause),
        on_board("POST /v1/boards/{board}/resume", Pause),
        on_board("POST /v1/boards/{board}/retry_failed", Retry),
        on_board("POST /v1/boards/{board}/complete", End),
        on_board("POST /v1/boards/{board}/cancel", End),
        on_board("POST /v1/boards/{board}/archive", Archive),
        on_board("POST /v1/boards/{board}/discard", Archive),
        on_board("POST /v1/boards/{board}/purge", Purge),
        on_board("POST /v1/boards/{board}/forget", Forget),
        lists("GET /v1/gc"),
        lists("POST /v1/gc").asking(Asks::OnBoard(Purge)),
        // Tasks: another agent holds T-1.
        reads("GET /v1/boards/{board}/tasks"),
        on_board("POST /v1/boards/{board}/tasks", AddTasks),
        reads("GET /v1/boards/{board}/tasks/{task}"),
        on_board("PATCH /v1/boards/{board}/tasks/{task}", EditTask),
        reads("GET /v1/boards/{board}/tasks/{task}/context"),
        reads("POST /v1/boards/{board}/tasks/{task}/context"),
        on_board("POST /v1/boards/{board}/tasks/{task}/dependencies", AddTasks),
        on_board("DELETE /v1/boards/{board}/tasks/{task}/dependencies", AddTasks).query("?depends_on=T-1"),
        on_board("POST /v1/boards/{board}/tasks/claim", Work),
        on_board("POST /v1/boards/{board}/tasks/{task}/heartbeat", Work),
        on_board("POST /v1/boards/{board}/tasks/{task}/release", TakeTask).sending_nothing(),
        on_board("POST /v1/boards/{board}/tasks/{task}/status", CancelTask).sending(json!({"status": "cancelled"})),
        on_board("POST /v1/boards/{board}/tasks/{task}/complete", Work),
        on_board("POST /v1/boards/{board}/tasks/{task}/fail", Work),
        on_board("POST /v1/boards/{board}/tasks/{task}/assign", Assign),
        on_board("POST /v1/boards/{board}/tasks/{task}/assign_review", Assign),
        on_board("POST /v1/boards/{board}/tasks/{task}/review", Review),
        on_board("POST /v1/boards/{board}/tasks/{task}/retry", Retry),
        on_board("POST /v1/boards/{board}/tasks/{task}/cancel", CancelTask),
        reads("GET /v1/boards/{board}/choices"),
        reads("GET /v1/boards/{board}/choices/{choice}"),
        on_board("POST /v1/boards/{board}/choices", AddTasks),
        on_board("POST /v1/boards/{board}/choices/{choice}/choose", Choose),
        // Records: another agent made D-1.
        reads("GET /v1/boards/{board}/decisions"),
        reads("GET /v1/boards/{board}/decisions/{decision}"),
        on_board("POST /v1/boards/{board}/decisions", Record),
        on_board("POST /v1/boards/{board}/decisions/{decision}/supersede", Supersede),
        on_board("POST /v1/boards/{board}/decisions/{decision}/approve", Approve),
        on_board("POST /v1/boards/{board}/decisions/{decision}/reject", Approve),
        reads("GET /v1/boards/{board}/approvals"),
        reads("GET /v1/boards/{board}/discoveries"),
        reads("GET /v1/boards/{board}/discoveries/{discovery}"),
        on_board("POST /v1/boards/{board}/discoveries", Record),
        reads("GET /v1/boards/{board}/artifacts"),
        reads("GET /v1/boards/{board}/artifacts/{artifact}"),
        on_board("POST /v1/boards/{board}/artifacts", Record),
        // All nudges, and one's own.
        reads("GET /v1/boards/{board}/nudges"),
        reads("GET /v1/boards/{board}/nudges").query("?agent={caller}"),
        on_board("POST /v1/boards/{board}/nudges/receive", HearNudges),
        reads("GET /v1/boards/{board}/nudges/{nudge}"),
        on_board("POST /v1/boards/{board}/nudges", Nudge),
        on_board("POST /v1/boards/{board}/nudges/{nudge}/ack", HearNudges),
        on_board("POST /v1/boards/{board}/orchestrator/acquire", Orchestrate),
        on_board("POST /v1/boards/{board}/orchestrator/renew", Orchestrate),
        on_board("POST /v1/boards/{board}/orchestrator/release", Orchestrate),
        reads("GET /v1/boards/{board}/learnings"),
        on_board("POST /v1/boards/{board}/learnings/extract", Extract),
        on_board("POST /v1/boards/{board}/learnings/{learning}/promote", Promote).reaching_core(),
        // Promotes into the suggested core.
        on_board("POST /v1/boards/{board}/learnings/{learning}/promote", Promote)
            .naming("{learning}", "F-1")
            .sending_nothing()
            .reaching_core(),
        on_board("POST /v1/boards/{board}/learnings/{learning}/refuse", Promote),
        on_board("POST /v1/boards/{board}/learnings/rollback", Promote),
        on_board("POST /v1/boards/{board}/learnings/rollback", Promote).sending(json!({"all": true})).reaching_core(),
        everywhere("POST /v1/learnings/rollback", Promote),
    ]
}

//! Expected permissions of routes that do not belong to one space.

use corkboard::boards::BoardAction;
use serde_json::{Value, json};

use super::expected::{Asks, Expected, admins, any_token, public, reads};
use super::fixture::{AGENT, BOARD, CORE};

pub(crate) fn expected() -> Vec<Expected> {
    let mut all = vec![
        public("GET /healthz"),
        public("GET /readyz"),
        public("GET /sign-in"),
        public("POST /sign-in"),
        any_token("GET /metrics"),
        any_token("GET /v1/me"),
        any_token("GET /v1/events"),
        admins("GET /v1/store/check"),
        admins("POST /v1/store/scrub"),
        admins("POST /v1/forget"),
        admins("POST /v1/sign-in-links"),
        admins("GET /v1/tokens"),
        admins("POST /v1/tokens"),
        admins("DELETE /v1/tokens/{token}"),
        any_token("GET /v1/tools"),
        // Each call in the batch is refused separately.
        any_token("POST /v1/tools").sending(json!({"calls": [{"name": "board_status", "input": {}}]})),
    ];
    all.extend(tools());
    all
}

/// Tools of every set. On a board they act at most in the set's role, which does not change who may call them.
fn tools() -> [Expected; 11] {
    let board = Asks::OnBoard;
    [
        tool("search_memory", json!({"query": "plan"})),
        tool("write_memory", json!({"key": "plan", "content": "ship on Friday"})).asking(Asks::ToWrite),
        tool("memory_write", json!({"action": "set", "key": "plan", "value": "ship"})).asking(Asks::ToWrite),
        tool("board_status", json!({})),
        tool("check_nudges", json!({})).asking(board(BoardAction::HearNudges)),
        tool("claim_task", json!({})).asking(board(BoardAction::Work)),
        tool("record_discovery", json!({"content": "users has no tokens"})).asking(board(BoardAction::Record)),
        tool("add_tasks", json!({"tasks": [{"title": "Design the schema"}]})).asking(board(BoardAction::AddTasks)),
        tool("create_board", json!({"name": "Login", "goal": "Users sign in", "cores": [CORE]}))
            .asking(board(BoardAction::Create))
            .reaching_core(),
        tool("extract_learnings", json!({})).asking(board(BoardAction::Extract)),
        tool("promote_learning", json!({"learning": "F-1", "action": "promote"}))
            .asking(board(BoardAction::Promote))
            .reaching_core(),
    ]
}

fn tool(name: &'static str, input: Value) -> Expected {
    let context = json!({"agent": AGENT, "board": BOARD, "conversation": "c-1"});
    reads("POST /v1/tools/{name}").naming("{name}", name).sending(json!({"input": input, "context": context}))
}

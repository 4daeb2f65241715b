//! Every role on every route, held against the core's table of who may do what.

use std::collections::BTreeSet;

use corkboard::Role;
use corkboard::boards::BoardAction;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Running;
use crate::{add_task, answer, make_board, somebody};

/// What a route asks for.
#[derive(Clone, Copy)]
enum Asks {
    /// To be let in: everybody may read.
    Reading,
    /// What the table says.
    For(BoardAction),
}

use Asks::{For, Reading};
use BoardAction::*;

/// Every route about boards: what it asks for, and a body that is well-formed. Whether the board is in a state for it, is
/// no matter: who may not is told so first.
fn routes() -> Vec<(&'static str, &'static str, Asks, Value)> {
    let none = Value::Null;
    let decision = json!({"question": "q", "choice": "c"});
    vec![
        ("GET", "/v1/boards", Reading, none.clone()),
        ("POST", "/v1/boards", For(Create), json!({"name": "x"})),
        ("GET", "/v1/boards/{board}", Reading, none.clone()),
        ("PATCH", "/v1/boards/{board}", For(Edit), json!({"goal": "x"})),
        ("GET", "/v1/boards/{board}/status", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/graph", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/diff", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/search", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/contributions", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/fork", For(Create), none.clone()),
        ("POST", "/v1/boards/{board}/pause", For(Pause), none.clone()),
        ("POST", "/v1/boards/{board}/resume", For(Pause), none.clone()),
        ("POST", "/v1/boards/{board}/retry_failed", For(Retry), none.clone()),
        ("GET", "/v1/boards/{board}/tasks", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/tasks", For(AddTasks), json!({"title": "x"})),
        ("GET", "/v1/boards/{board}/tasks/{task}", Reading, none.clone()),
        ("PATCH", "/v1/boards/{board}/tasks/{task}", For(EditTask), json!({"priority": 1})),
        ("GET", "/v1/boards/{board}/tasks/{task}/context", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/tasks/{task}/dependencies", For(AddTasks), json!({"on": "T-2"})),
        ("POST", "/v1/boards/{board}/tasks/claim", For(Work), none.clone()),
        ("POST", "/v1/boards/{board}/tasks/{task}/heartbeat", For(Work), none.clone()),
        ("POST", "/v1/boards/{board}/tasks/{task}/release", For(TakeTask), none.clone()),
        ("POST", "/v1/boards/{board}/tasks/{task}/status", For(CancelTask), json!({"status": "cancelled"})),
        ("POST", "/v1/boards/{board}/tasks/{task}/complete", For(Work), json!({"summary": "x"})),
        ("POST", "/v1/boards/{board}/tasks/{task}/fail", For(Work), json!({"reason": "x"})),
        ("POST", "/v1/boards/{board}/tasks/{task}/assign", For(Assign), json!({"to": "ada"})),
        ("POST", "/v1/boards/{board}/tasks/{task}/assign_review", For(Assign), json!({"to": "ada"})),
        ("POST", "/v1/boards/{board}/tasks/{task}/review", For(Review), json!({"verdict": "approved"})),
        ("POST", "/v1/boards/{board}/tasks/{task}/retry", For(Retry), none.clone()),
        ("POST", "/v1/boards/{board}/tasks/{task}/cancel", For(CancelTask), none.clone()),
        ("GET", "/v1/boards/{board}/choices", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/choices/{choice}", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/choices", For(AddTasks), json!({"question": "q", "options": []})),
        ("POST", "/v1/boards/{board}/choices/{choice}/choose", For(Choose), json!({"option": "x"})),
        ("GET", "/v1/boards/{board}/decisions", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/decisions/{decision}", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/decisions", For(Record), decision.clone()),
        ("POST", "/v1/boards/{board}/decisions/{decision}/supersede", For(Supersede), decision),
        ("POST", "/v1/boards/{board}/decisions/{decision}/approve", For(Approve), none.clone()),
        ("POST", "/v1/boards/{board}/decisions/{decision}/reject", For(Approve), none.clone()),
        ("GET", "/v1/boards/{board}/approvals", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/discoveries", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/discoveries/{discovery}", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/discoveries", For(Record), json!({"content": "x"})),
        ("GET", "/v1/boards/{board}/artifacts", Reading, none.clone()),
        ("GET", "/v1/boards/{board}/artifacts/{artifact}", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/artifacts", For(Record), json!({"path": "x"})),
        ("GET", "/v1/boards/{board}/nudges", For(HearNudges), none.clone()),
        ("GET", "/v1/boards/{board}/nudges/{nudge}", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/nudges", For(Nudge), json!({"to": "all", "message": "x"})),
        ("POST", "/v1/boards/{board}/nudges/{nudge}/ack", For(HearNudges), none.clone()),
        ("POST", "/v1/boards/{board}/orchestrator/acquire", For(Orchestrate), none.clone()),
        ("POST", "/v1/boards/{board}/orchestrator/renew", For(Orchestrate), json!({"epoch": 1})),
        ("POST", "/v1/boards/{board}/orchestrator/release", For(Orchestrate), json!({"epoch": 1})),
        ("GET", "/v1/boards/{board}/learnings", Reading, none.clone()),
        ("POST", "/v1/boards/{board}/learnings/extract", For(Extract), none.clone()),
        ("POST", "/v1/boards/{board}/learnings/{learning}/promote", For(Promote), json!({"core": "rules"})),
        ("POST", "/v1/boards/{board}/learnings/{learning}/refuse", For(Promote), none.clone()),
        ("POST", "/v1/boards/{board}/learnings/rollback", For(Promote), json!({"all": true})),
        ("POST", "/v1/learnings/rollback", For(Promote), json!({"author": "nobody"})),
        ("POST", "/v1/boards/{board}/complete", For(End), none.clone()),
        ("POST", "/v1/boards/{board}/cancel", For(End), none.clone()),
        ("POST", "/v1/boards/{board}/archive", For(Archive), none.clone()),
        ("POST", "/v1/boards/{board}/discard", For(Archive), none.clone()),
        ("POST", "/v1/boards/{board}/purge", For(Purge), none.clone()),
        ("GET", "/v1/gc", Reading, none.clone()),
        ("POST", "/v1/gc", For(Purge), none.clone()),
        ("DELETE", "/v1/boards/{board}", For(Delete), none),
    ]
}

#[test]
fn every_described_route_is_here() {
    let described = corkboard_server::description();
    let described = serde_json::to_value(&described.paths).expect("paths");
    let mut of_boards = BTreeSet::new();
    for (path, item) in described.as_object().expect("paths") {
        let is_ours = path.starts_with("/v1/boards") || path.starts_with("/v1/learnings") || path == "/v1/gc";
        for method in ["get", "post", "put", "patch", "delete"].into_iter().filter(|method| item.get(method).is_some())
        {
            // Events are another's.
            if is_ours && !path.ends_with("/events") {
                of_boards.insert((method.to_uppercase(), path.clone()));
            }
        }
    }
    let here: BTreeSet<_> =
        routes().iter().map(|(method, path, ..)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(of_boards, here);
}

#[tokio::test]
async fn every_role_may_do_on_every_route_what_the_table_says() {
    let server = Running::start().await;
    let admin = server.admin();
    for role in Role::ALL {
        let client = somebody(&server, &format!("a-{}", role.as_str()), role).await;
        for (method, path, asks, body) in routes() {
            make_board(&admin, "b").await;
            // Somebody holds T-1, and made D-1: who may do more than that to both, is asked.
            add_task(&admin, "b", json!({"title": "held"})).await;
            add_task(&admin, "b", json!({"title": "waits", "depends_on": ["T-1"]})).await;
            admin.post("/v1/boards/b/tasks/claim", &json!({"agent": "holder"})).await.ok();
            admin.post("/v1/boards/b/decisions", &json!({"question": "q", "choice": "c"})).await.ok();
            let mut at = path.replace("{board}", "b").replace("{task}", "T-1").replace("{choice}", "C-1");
            at = at.replace("{decision}", "D-1").replace("{nudge}", "N-1").replace("{learning}", "D-1");
            at = at.replace("{discovery}", "F-1").replace("{artifact}", "A-1");
            match path {
                "/v1/boards/{board}/search" => at.push_str("?q=x"),
                "/v1/boards/{board}/nudges" if method == "GET" => at.push_str(&format!("?for=a-{}", role.as_str())),
                _ => {}
            }
            let method: Method = method.parse().expect("a method");
            let mut request = client.request(method.clone(), &at);
            if !body.is_null() {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            let answered = answer(request).await;
            let is_allowed = match asks {
                Reading => true,
                For(action) => action.is_allowed_to(role),
            };
            let code = answered.body["code"].as_str().unwrap_or_default();
            let is_denied = match code {
                // Whoever may supersede nothing but their own is told whose it is, and so is who may not take another's task.
                "not_author" => path.ends_with("/supersede"),
                "fenced" => path.ends_with("/release") && path.contains("{task}"),
                code => answered.status.as_u16() == 403 && code == "role_denied",
            };
            assert_eq!(is_denied, !is_allowed, "{role}: {method} {at}: {} {}", answered.status, answered.body);
            assert!(!answered.status.is_server_error(), "{role}: {method} {at}: {}", answered.body);
            admin.delete("/v1/boards/b").await;
        }
    }
    server.stop().await;
}

//! Tools through a real socket: definitions, valid and invalid calls, and their actors.

use corkboard::{ActorKind, Role, TokenRequest};
use serde_json::{Value, json};

use crate::support::{Client, Running, worker};

fn service(principal: &str, role: Role, grants: Value) -> TokenRequest {
    TokenRequest { kind: ActorKind::Service, role, ..worker(principal, grants) }
}

/// The actors of a space's log, in order.
async fn actors(admin: &Client, space: &str) -> Vec<Value> {
    let log = admin.get(&format!("/v1/spaces/{space}/log")).await.ok();
    log["items"].as_array().unwrap().iter().map(|record| record["body"]["actor"].clone()).collect()
}

#[tokio::test]
async fn definitions_are_available_in_every_format_and_set() {
    let running = Running::start().await;
    let admin = running.admin();
    let names = |tools: &Value, pointer: &str| -> Vec<String> {
        let tools = tools["items"].as_array().unwrap();
        tools.iter().map(|tool| tool.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect()
    };
    let usual = names(&admin.get("/v1/tools").await.ok(), "/function/name");
    let eight = [
        "memory_read",
        "memory_write",
        "search_memory",
        "read_memory",
        "write_memory",
        "delete_memory",
        "write_session_handoff",
        "scratch_note",
    ];
    assert_eq!(usual, eight);
    assert_eq!(names(&admin.get("/v1/tools?format=openai_responses").await.ok(), "/name"), eight);
    let notebook = admin.get("/v1/tools?format=mcp&set=notebook").await.ok();
    assert_eq!(names(&notebook, "/name"), ["read_notebook", "update_notebook"]);
    assert!(notebook["items"][0]["inputSchema"].is_object(), "{notebook}");
    let anthropic = admin.get("/v1/tools?format=anthropic&set=anthropic,worker").await.ok();
    assert_eq!(anthropic["items"][0], json!({"type": "memory_20250818", "name": "memory"}));
    assert_eq!(admin.get("/v1/tools?set=all").await.ok()["items"].as_array().unwrap().len(), 36);
    admin.get("/v1/tools?set=magic").await.problem(400, "tool_set");
    admin.get("/v1/tools?format=xml").await.problem(400, "query");
    running.stop().await;
}

#[tokio::test]
async fn an_invalid_call_is_answered_with_a_valid_example() {
    let running = Running::start().await;
    let ada = running.client_with(worker("ada", json!({"agents": ["ada"], "cores": ["user"]}))).await;
    let call = json!({"input": {"key": "plan", "content": "ship on Friday"}, "context": {"agent": "ada"}});
    ada.post("/v1/tools/write_memory", &call).await.ok();
    let found = ada.post("/v1/tools/search_memory", &json!({"input": {"query": "when do we ship?"}})).await.ok();
    assert!(found["text"].as_str().unwrap().contains("ship on Friday"), "{found}");

    let note = json!({"input": {"action": "set", "key": "n", "value": "1"}, "context": {"conversation": "c-1"}});
    ada.post("/v1/tools/memory_write", &note).await.ok();
    let read = json!({"input": {"key": "n"}, "context": {"conversation": "c-1"}});
    assert_eq!(ada.post("/v1/tools/memory_read", &read).await.ok()["text"], "1");

    let wrong = ada.post("/v1/tools/write_memory", &json!({"input": {"content": "no key"}})).await;
    wrong.problem(400, "invalid_input");
    assert_eq!(wrong.body["tool"], "write_memory");
    let example = json!({"input": wrong.body["example"]});
    ada.post("/v1/tools/write_memory", &example).await.ok();
    let array = ada.post("/v1/tools/write_memory", &json!({"input": ["k", "c", null, null]})).await;
    array.problem(400, "invalid_input");
    let said = array.body["detail"].as_str().unwrap();
    assert!(said.starts_with("invalid input: expected a JSON object, found an array"), "{said}");
    ada.get("/v1/agents/ada/entries/k").await.problem(404, "not_found");
    ada.post("/v1/tools/memory_read", &json!({"input": {}})).await.problem(400, "missing_context");
    let unknown = ada.post("/v1/tools/launch", &json!({})).await;
    unknown.problem(404, "unknown_tool");
    assert!(unknown.body["known"].as_array().unwrap().contains(&json!("claim_task")));
    let misspelt = ada.post("/v1/tools/write_memry", &json!({})).await;
    let said = misspelt.body["detail"].as_str().unwrap();
    assert!(said.contains("did you mean write_memory?") && !unknown.body["detail"].as_str().unwrap().contains("mean"));
    let bare = ada.post("/v1/tools/write_memory", &json!({"key": "k", "content": "v"})).await;
    bare.problem(400, "body_json");
    assert!(bare.body["detail"].as_str().unwrap().contains(r#"Put the tool's input in "input""#), "{}", bare.body);
    // The format of OpenAI's models.
    let arguments = json!({"arguments": "{\"key\": \"k\", \"content\": \"v\"}"});
    assert_eq!(ada.post("/v1/tools/write_memory", &arguments).await.ok()["text"], "Stored k.");
    running.stop().await;
}

#[tokio::test]
async fn a_batch_answers_every_call_in_order_and_is_not_atomic() {
    let running = Running::start().await;
    let ada = running.client_with(worker("ada", json!({"agents": ["ada"]}))).await;
    let write = |value: &str| json!({"action": "set", "key": "k", "value": value});
    let calls = json!([
        {"id": "call_1", "name": "memory_write", "input": write("one")},
        {"name": "memory_read", "arguments": "{\"key\": \"k\"}"},
        {"id": 3, "name": "memory_write", "input": {"action": "foo"}},
        {"name": "memory_read", "input": {"key": "k"}, "context": {"conversation": "c-2"}},
        {"name": "memory_read", "input": {"key": "k"}, "context": {"agent": "bob"}},
        {"name": "launch"},
        {"name": "memory_write", "input": write("two")},
        {"name": "memory_read", "input": {"key": "k"}},
    ]);
    let batch = json!({"calls": calls, "context": {"conversation": "c-1"}});
    let answered = ada.post("/v1/tools", &batch).await.ok();
    let answers = answered["answers"].as_array().unwrap();
    let text = |index: usize| answers[index]["output"]["text"].as_str();
    let texts: Vec<_> = (0..answers.len()).map(text).collect();
    let (first, second) = (Some("Stored k."), Some("Replaced k."));
    let expected = [first, Some("one"), None, Some("not found: k"), None, None, second, Some("two")];
    assert_eq!(texts, expected, "{answered}");
    let codes: Vec<_> = answers.iter().map(|answer| answer["problem"]["code"].as_str()).collect();
    let wrong = [Some("invalid_input"), None, Some("not_granted"), Some("unknown_tool")];
    assert_eq!(codes[2..6], wrong, "{answered}");
    assert!(answers.iter().all(|answer| answer["output"].is_null() != answer["problem"].is_null()), "{answered}");
    let ids = [0, 1, 2].map(|index| &answers[index]["id"]);
    assert_eq!(ids, [&json!("call_1"), &Value::Null, &json!(3)]);
    assert_eq!(answers[5]["name"], "launch");

    let too_many = json!({"calls": vec![json!({"name": "memory_read"}); 101]});
    for batch in [json!({"calls": []}), too_many] {
        ada.post("/v1/tools", &batch).await.problem(400, "batch");
    }
    let list = ada.post("/v1/tools", &json!([{"name": "memory_read"}])).await;
    list.problem(400, "body_json");
    assert!(list.body["detail"].as_str().unwrap().contains(r#"Send {"calls": "#), "{}", list.body);
    running.stop().await;
}

#[tokio::test]
async fn a_tool_reaches_only_granted_spaces() {
    let running = Running::start().await;
    let admin = running.admin();
    for board in ["ours", "theirs"] {
        let new = json!({"command": {"create": {"name": board, "goal": "g"}}});
        admin.post(&format!("/v1/spaces/board/{board}/commands"), &new).await.ok();
    }
    admin.post("/v1/cores/secret/entries", &json!({"content": "the code is 42"})).await.ok();
    let grants = json!({"agents": ["ada"], "boards": ["ours", "mine-*"]});
    let ada = running.client_with(TokenRequest { role: Role::Orchestrator, ..worker("ada", grants) }).await;
    let call = |tool: &str, input: Value, context: Value| {
        let (ada, path) = (ada.clone(), format!("/v1/tools/{tool}"));
        async move { ada.post(&path, &json!({"input": input, "context": context})).await }
    };
    call("board_status", json!({}), json!({"board": "ours"})).await.ok();
    call("board_status", json!({}), json!({"board": "theirs"})).await.problem(403, "not_granted");
    call("search_memory", json!({"query": "x"}), json!({"board": "theirs"})).await.problem(403, "not_granted");
    call("search_memory", json!({"query": "x"}), json!({"agent": "bob"})).await.problem(403, "not_granted");
    // A board shows the content of its cores, so its creator may only name granted cores.
    let leak = json!({"command": {"create": {"name": "m", "goal": "code", "cores": ["secret"]}}});
    ada.post("/v1/spaces/board/mine-1/commands", &leak).await.problem(403, "not_granted");
    let plain = json!({"command": {"create": {"name": "m", "goal": "code"}}});
    ada.post("/v1/spaces/board/mine-1/commands", &plain).await.ok();
    let edit = json!({"command": {"edit": {"edit": {"cores": ["secret"]}, "if_version": null}}});
    ada.post("/v1/spaces/board/mine-1/commands", &edit).await.problem(403, "not_granted");
    let wrapped = json!({"command": {"as_orchestrator": {"epoch": 1, "command": edit["command"]}}});
    ada.post("/v1/spaces/board/mine-1/commands", &wrapped).await.problem(403, "not_granted");
    running.stop().await;
}

#[tokio::test]
async fn the_log_records_the_actor_and_the_token_holder() {
    let running = Running::start().await;
    let admin = running.admin();
    let call = |agent: &str| json!({"input": {"key": "k", "content": "v"}, "context": {"agent": agent}});
    admin.post("/v1/tools/write_memory", &call("ada")).await.ok();
    let gateway = running.client_with(service("gateway", Role::Worker, json!({"agents": ["ada"]}))).await;
    gateway.post("/v1/tools/write_memory", &call("ada")).await.ok();
    let ada = running.client_with(worker("ada", json!({"agents": ["ada"]}))).await;
    ada.post("/v1/tools/write_memory", &call("ada")).await.ok();
    let bob = running.client_with(worker("bob", json!({"agents": ["ada"]}))).await;
    bob.post("/v1/tools/write_memory", &call("ada")).await.ok();
    let expected = [
        json!({"principal": "ada", "kind": "agent", "role": "admin", "via": "admin"}),
        json!({"principal": "ada", "kind": "agent", "role": "worker", "via": "gateway"}),
        json!({"principal": "ada", "kind": "agent", "role": "worker", "via": null}),
        json!({"principal": "bob", "kind": "agent", "role": "worker", "via": null}),
    ];
    assert_eq!(actors(&admin, "agent/ada").await, expected);
    running.stop().await;
}

#[tokio::test]
async fn an_urgent_nudge_interrupts_every_tool_and_stops_complete_task_once() {
    let running = Running::start().await;
    let admin = running.admin();
    admin.post("/v1/boards", &json!({"id": "b", "name": "Add login"})).await.ok();
    admin.post("/v1/boards/b/tasks", &json!({"title": "one"})).await.ok();
    let ada = running.client_with(worker("ada", json!({"agents": ["ada"], "boards": ["b"]}))).await;
    let call = |tool: &str, input: Value| {
        let (ada, path) = (ada.clone(), format!("/v1/tools/{tool}"));
        async move { ada.post(&path, &json!({"input": input, "context": {"board": "b"}})).await }
    };
    call("claim_task", json!({})).await.ok();
    let stop = json!({"to": {"agent": "ada"}, "message": "Stop", "priority": "urgent"});
    admin.post("/v1/boards/b/nudges", &stop).await.ok();
    admin.post("/v1/boards/b/nudges", &json!({"to": {"agent": "ada"}, "message": "Use staging"})).await.ok();
    let refused = call("complete_task", json!({"summary": "done"})).await;
    refused.problem(409, "urgent_nudges");
    let said = refused.body["detail"].as_str().unwrap();
    assert!(said.contains("N-1 (urgent) from") && said.contains(": Stop"), "{said}");
    assert!(said.contains("1 other nudge waits"), "{said}");
    let nudges = admin.get("/v1/boards/b/nudges").await.ok();
    assert_eq!(nudges["items"][0]["delivered"][0]["agent"], "ada");
    let written = call("write_memory", json!({"key": "k", "content": "v"})).await.ok();
    assert!(written["text"].as_str().unwrap().contains("N-1 (urgent) from"), "{written}");
    let wrong = call("write_memory", json!({"content": "no key"})).await;
    wrong.problem(400, "invalid_input");
    assert!(wrong.body["detail"].as_str().unwrap().contains("N-1 (urgent) from"), "{}", wrong.body);
    assert!(wrong.body["example"].is_object(), "{}", wrong.body);
    call("complete_task", json!({"summary": "done"})).await.ok();
    running.stop().await;
}

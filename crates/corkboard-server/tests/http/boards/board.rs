//! Boards are created, read, edited, ended and archived.

use corkboard::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{add_task, header, make_board, rev, somebody, text, with_header};
use crate::support::Running;

#[tokio::test]
async fn a_board_is_created_and_read() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let made = boss.post("/v1/boards", &json!({"name": "Add login", "constraints": ["no new service"]})).await;
    assert_eq!(made.status.as_u16(), 201);
    let id = text(&made.body["id"]);
    assert!(id.starts_with("add-login-"), "{id}");
    assert_eq!((rev(&made.body), &made.body["tasks"]), (1, &json!([])));

    let read = boss.get(&format!("/v1/boards/{id}")).await;
    assert_eq!((header(&read, "etag"), header(&read, "cork-rev")), (Some("\"1\""), Some("1")));
    let board = read.ok();
    assert_eq!(
        (&board["name"], &board["goal"], &board["created_by"]),
        (&json!("Add login"), &json!("Add login"), &json!("boss"))
    );
    assert_eq!(
        (&board["constraints"], &board["status"], rev(&board)),
        (&json!(["no new service"]), &json!("active"), 1)
    );
    let raw = boss.request(Method::GET, &format!("/v1/boards/{id}")).send().await.expect("an answer").text().await;
    assert_eq!(raw.expect("text").matches("\"rev\":").count(), 1, "the answer has one revision");

    boss.get("/v1/boards/nowhere").await.problem(404, "no_board");
    boss.get(&format!("/v1/boards/{id}?at=9")).await.problem(400, "future_revision");
    boss.get(&format!("/v1/boards/{id}?at=x")).await.problem(400, "query");
    boss.post("/v1/boards", &json!({"name": ""})).await.problem(400, "blank");
    boss.post("/v1/boards", &json!({"goal": "nameless"})).await.problem(400, "body_json");
    boss.post("/v1/boards", &json!({"name": "x", "gaol": "y"})).await.problem(400, "body_json");
    boss.post("/v1/boards", &json!({"name": "x", "id": id})).await.problem(409, "board_exists");
    boss.post("/v1/boards", &json!({"name": "x", "pattern": "nonsense"})).await.problem(400, "body_json");
    boss.post("/v1/boards", &json!({"name": "x", "id": "a\u{0}b"})).await.problem(400, "control_character");
    boss.post("/v1/boards?if_rev=0", &json!({"name": "x"})).await.problem(400, "condition");
    server.stop().await;
}

#[tokio::test]
async fn a_repeated_request_creates_one_board() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let make = async |path: &str, body: Value| {
        with_header(&boss, Method::POST, path, ("idempotency-key", "first"), &body).await
    };
    let first = make("/v1/boards", json!({"name": "Add login"})).await;
    let again = make("/v1/boards", json!({"name": "Add login"})).await;
    assert_eq!((first.status.as_u16(), &first.body), (201, &again.body));
    make("/v1/boards", json!({"name": "Add logout"})).await.problem(409, "idempotency_mismatch");
    assert_eq!(boss.get("/v1/boards").await.ok()["items"].as_array().expect("boards").len(), 1);

    // A fork has a separate key, and is answered once too.
    let fork = format!("/v1/boards/{}/fork", text(&first.body["id"]));
    let fork = async || with_header(&boss, Method::POST, &fork, ("idempotency-key", "second"), &json!({})).await;
    let (one, two) = (fork().await, fork().await);
    assert_eq!((one.status.as_u16(), &one.body["id"]), (201, &two.body["id"]));
    assert_eq!(boss.get("/v1/boards").await.ok()["items"].as_array().expect("boards").len(), 2);
    server.stop().await;
}

#[tokio::test]
async fn boards_are_listed_page_by_page() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    for id in ["a", "b", "c", "d", "e"] {
        make_board(&boss, id).await;
    }
    boss.post("/v1/boards/b/cancel", &json!({})).await.ok();
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let after = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
        let page = boss.get(&format!("/v1/boards?limit=2{after}")).await.ok();
        let boards = page["items"].as_array().expect("boards").clone();
        assert!(boards.len() <= 2);
        seen.extend(boards.iter().map(|board| text(&board["id"])));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ["a", "b", "c", "d", "e"]);
    let of = async |status: &str| {
        let page = boss.get(&format!("/v1/boards?status={status}")).await.ok();
        page["items"].as_array().expect("boards").iter().map(|board| text(&board["id"])).collect::<Vec<_>>()
    };
    assert_eq!(of("cancelled").await, ["b"]);
    assert_eq!(of("active").await, ["a", "c", "d", "e"]);
    assert_eq!(of("active,cancelled").await, ["a", "b", "c", "d", "e"]);
    let listed = boss.get("/v1/boards?limit=1").await.ok();
    let facts = &listed["items"][0]["summary"];
    assert_eq!((&facts["outcome"], &facts["paused"]), (&Value::Null, &json!(false)));
    assert!(facts.get("outcome").is_some());
    assert!(of("idle").await.is_empty() && of("archived").await.is_empty() && of("completed").await.is_empty());
    boss.get("/v1/boards?status=lost").await.problem(400, "query");
    boss.get("/v1/boards?limit=-1").await.problem(400, "out_of_range");
    boss.get("/v1/boards?cursor=%00").await.problem(400, "cursor");
    server.stop().await;
}

#[tokio::test]
async fn an_edit_checks_its_conditions() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    let edit = async |header: (&str, &str), query: &str, goal: &str| {
        with_header(&boss, Method::PATCH, &format!("/v1/boards/b{query}"), header, &json!({"goal": goal})).await
    };
    let edited = edit(("if-match", "\"1\""), "", "Users sign in").await;
    assert_eq!((header(&edited, "etag"), &edited.body["version"]), (Some("\"2\""), &json!(2)));
    edit(("if-match", "\"1\""), "", "again").await.problem(412, "conflict");
    edit(("if-match", "1"), "", "again").await.problem(400, "if_match");
    edit(("x-nothing", "1"), "?if_rev=1", "again").await.problem(409, "rev_conflict");
    edit(("x-nothing", "1"), "?if_rev=2", "Users sign in at once").await.ok();
    // The same key and the same request: one effect.
    let first = edit(("idempotency-key", "k"), "", "third").await;
    let again = edit(("idempotency-key", "k"), "", "third").await;
    assert_eq!((rev(&first.body), first.body), (4, again.body));
    edit(("idempotency-key", "k"), "", "fourth").await.problem(409, "idempotency_mismatch");
    boss.patch("/v1/boards/b", &json!({"status": "archived"})).await.problem(400, "body_json");
    let was = boss.get("/v1/boards/b?at=2").await.ok();
    assert_eq!((&was["goal"], rev(&was)), (&json!("Users sign in"), 2));

    let diff = boss.get("/v1/boards/b/diff?from=1&to=2").await.ok();
    assert_eq!((&diff["changes"][0]["type"], rev(&diff)), (&json!("board_edited"), 2));
    assert!(text(&diff["text"]).contains("goal"), "{diff}");
    assert_eq!(boss.get("/v1/boards/b/diff").await.ok()["to"], 4);
    boss.get("/v1/boards/b/diff?from=3&to=2").await.problem(400, "backwards");
    boss.get("/v1/boards/b/diff?to=99").await.problem(400, "future_revision");
    server.stop().await;
}

#[tokio::test]
async fn an_old_orchestrator_epoch_is_fenced() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    let first = boss.post("/v1/boards/b/orchestrator/acquire", &json!({"lease_s": 60})).await.ok();
    let other = somebody(&server, "other", Role::Orchestrator).await;
    other.post_nothing("/v1/boards/b/orchestrator/acquire").await.problem(409, "orchestrator_held");
    let second = boss.post_nothing("/v1/boards/b/orchestrator/acquire").await.ok();
    assert!(second["epoch"].as_u64() > first["epoch"].as_u64());
    let add = async |epoch: &str| {
        let task = json!({"title": "Design"});
        with_header(&boss, Method::POST, "/v1/boards/b/tasks", ("cork-orchestrator", epoch), &task).await
    };
    add(&first["epoch"].to_string()).await.problem(409, "fenced");
    assert_eq!(add(&second["epoch"].to_string()).await.status.as_u16(), 201);
    add("x").await.problem(400, "orchestrator");
    boss.post("/v1/boards/b/orchestrator/renew", &json!({"epoch": first["epoch"]})).await.problem(409, "fenced");
    assert_eq!(
        boss.post("/v1/boards/b/orchestrator/renew", &json!({"epoch": second["epoch"]})).await.ok()["epoch"],
        second["epoch"]
    );
    boss.post("/v1/boards/b/orchestrator/acquire", &json!({"lease_s": -1})).await.problem(400, "out_of_range");
    boss.post("/v1/boards/b/orchestrator/acquire", &json!({"lease_s": 1e9})).await.problem(400, "out_of_range");
    boss.post("/v1/boards/b/orchestrator/release", &json!({"epoch": second["epoch"]})).await.ok();
    other.post_nothing("/v1/boards/b/orchestrator/acquire").await.ok();
    server.stop().await;
}

#[tokio::test]
async fn a_board_is_shown_in_every_format() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "Design the schema"})).await;
    add_task(&boss, "b", json!({"title": "Write the routes", "depends_on": ["T-1"]})).await;
    let json = boss.get("/v1/boards/b/graph").await.ok();
    assert_eq!((&json["nodes"], &json["ready"], rev(&json)), (&json!(["T-1", "T-2"]), &json!(["T-1"]), 3));
    for (format, word) in [("mermaid", "flowchart"), ("dot", "digraph")] {
        let drawn = boss.get(&format!("/v1/boards/b/graph?format={format}&at=3")).await;
        assert_eq!(
            (header(&drawn, "content-type"), header(&drawn, "cork-rev")),
            (Some("text/plain; charset=utf-8"), Some("3"))
        );
        assert!(text(&drawn.ok()).contains(word));
    }
    boss.get("/v1/boards/b/graph?format=png").await.problem(400, "query");
    boss.get("/v1/boards/x/graph").await.problem(404, "no_board");
    let status = boss.get("/v1/boards/b/status").await.ok();
    assert_eq!(
        (&status["by_status"], &status["blocked"], &status["tasks"]),
        (&json!({"pending": 2}), &json!(["T-2"]), &json!(2))
    );
    let found = boss.get("/v1/boards/b/search?q=routes&limit=1").await.ok();
    assert_eq!((&found["hits"][0]["id"], rev(&found)), (&json!("T-2"), 3));
    boss.get("/v1/boards/b/search").await.problem(400, "query");
    boss.get("/v1/boards/x/search?q=routes").await.problem(404, "no_board");
    assert_eq!(boss.get("/v1/boards/b/contributions").await.ok()["items"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_board_passes_through_all_statuses() {
    let server = Running::start().await;
    let grace = somebody(&server, "grace", Role::Human).await;
    make_board(&grace, "b").await;
    add_task(&grace, "b", json!({"title": "Design"})).await;
    grace.post("/v1/boards/b/pause", &json!({"reason": "wait for the release"})).await.ok();
    assert_eq!(grace.get("/v1/boards/b").await.ok()["paused"]["by"], "grace");
    grace.post_nothing("/v1/boards/b/tasks/claim").await.problem(409, "paused");
    assert_eq!(rev(&grace.post_nothing("/v1/boards/b/resume").await.ok()), 4);

    grace.post("/v1/boards/b/complete", &json!({})).await.problem(409, "unfinished");
    grace.post_nothing("/v1/boards/b/archive").await.problem(409, "board_active");
    let ended = grace.post("/v1/boards/b/complete", &json!({"unfinished": "cancel", "reason": "enough"})).await.ok();
    assert_eq!(ended["outcome"], "failed");
    grace.post("/v1/boards/b/tasks", &json!({"title": "late"})).await.problem(409, "board_ended");

    let forked = grace.post("/v1/boards/b/fork", &json!({"at": 2, "id": "again", "name": "Second try"})).await;
    assert_eq!((forked.status.as_u16(), &forked.body["id"]), (201, &json!("again")));
    let again = grace.get("/v1/boards/again").await.ok();
    assert_eq!(
        (&again["name"], &again["status"], &again["forked_from"]),
        (&json!("Second try"), &json!("active"), &json!({"board": "b", "rev": 2}))
    );
    grace.post("/v1/boards/b/fork", &json!({"at": 99})).await.problem(400, "future_revision");

    let archived = grace.post("/v1/boards/b/archive", &json!({"retain_days": 7})).await.ok();
    assert!(archived["retain_until"].is_string());
    grace.post_nothing("/v1/boards/b/purge").await.problem(409, "board_kept");
    let kept = grace.get("/v1/gc").await.ok();
    assert_eq!(
        (&kept["items"][0]["id"], &kept["items"][0]["fate"], &kept["active"]),
        (&json!("b"), &json!("keep"), &json!(1))
    );
    grace.post("/v1/boards/b/discard", &json!({"reason": "only a try"})).await.ok();
    assert_eq!(grace.post_nothing("/v1/gc").await.ok()["purged"], json!(["b"]));
    grace.get("/v1/boards/b").await.problem(404, "no_board");

    let rev = rev(&grace.get("/v1/boards/again").await.ok());
    assert_eq!(grace.delete("/v1/boards/again").await.ok(), json!({"deleted": true, "rev": rev + 1}));
    assert_eq!(grace.delete("/v1/boards/again?hard=true").await.ok(), json!({"deleted": false, "rev": rev + 1}));
    make_board(&grace, "again").await;
    assert_eq!(grace.get("/v1/boards/again").await.ok()["tasks"], Value::Array(Vec::new()));
    server.stop().await;
}

#[tokio::test]
async fn a_purge_of_one_board_deletes_it() {
    let server = Running::start().await;
    let grace = somebody(&server, "grace", Role::Human).await;
    make_board(&grace, "b").await;
    grace.post("/v1/boards/b/cancel", &json!({"reason": "no"})).await.ok();
    grace.post_nothing("/v1/boards/b/discard").await.ok();
    grace.post_nothing("/v1/boards/b/purge").await.ok();
    grace.get("/v1/boards/b").await.problem(404, "no_board");
    server.stop().await;
}

#[tokio::test]
async fn a_log_reference_is_read_page_by_page() {
    let server = Running::start().await;
    let boss = somebody(&server, "boss", Role::Orchestrator).await;
    let dev = somebody(&server, "dev", Role::Worker).await;
    make_board(&boss, "b").await;
    add_task(&boss, "b", json!({"title": "Design"})).await;
    for content in ["one", "two", "three"] {
        dev.post("/v1/boards/b/discoveries", &json!({"content": content})).await;
        boss.post("/v1/boards/b/discoveries", &json!({"content": content})).await;
    }
    let contributions = boss.get("/v1/boards/b/contributions").await.ok()["items"].clone();
    let of_dev = contributions.as_array().unwrap().iter().find(|by| by["agent"] == "dev").unwrap();
    assert_eq!(of_dev["log_ref"], "board/b#3..7@dev");
    let revisions = |page: &Value| -> Vec<u64> {
        page["items"].as_array().unwrap().iter().map(|revision| revision["rev"].as_u64().unwrap()).collect()
    };
    let read = async |reference: &str, limit: u64| {
        let reference = reference.replace('#', "%23");
        boss.get(&format!("/v1/log?ref={reference}&limit={limit}")).await
    };
    let all = read("board/b#3..7@dev", 100).await.ok();
    assert_eq!((revisions(&all), &all["next"], &all["rev"]), (vec![3, 5, 7], &json!(null), &json!(8)));
    assert_eq!(all["items"][0]["events"][0]["discovery"]["content"], "one");
    let first = read("board/b#3..7@dev", 2).await.ok();
    assert_eq!((revisions(&first), &first["next"]), (vec![3], &json!("board/b#5..7@dev")));
    assert_eq!(revisions(&read("board/b#4..5", 100).await.ok()), [4, 5]);
    assert_eq!(revisions(&read("board/b#4", 100).await.ok()), [4]);
    read("board/b#4..9", 100).await.problem(400, "future_revision");
    read("board/x#1", 100).await.problem(404, "no_board");
    read("b#1", 100).await.problem(400, "log_ref");
    boss.get("/v1/log").await.problem(400, "query");
    server.stop().await;
}

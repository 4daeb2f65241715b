//! Pages of a board's lists, and single items by ID.

use corkboard::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{header, make_board, rev, somebody};
use crate::support::{Client, Running, answer, next_millisecond};

/// All pages of a list, each with at most `limit` items.
async fn pages(client: &Client, path: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let mark = if path.contains('?') { '&' } else { '?' };
        let page = client.get(&format!("{path}{mark}limit={limit}{cursor}")).await.ok();
        pages.push(page["items"].as_array().expect("a list").clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

/// A board with three of everything.
async fn full_board(server: &Running) -> Client {
    let grace = somebody(server, "grace", Role::Human).await;
    make_board(&grace, "b").await;
    for place in 1..=3 {
        let record = async |path: &str, body: Value| {
            let made = grace.post(&format!("/v1/boards/b/{path}"), &body).await;
            assert_eq!(made.status.as_u16(), 201, "{path}: {}", made.body);
        };
        record("tasks", json!({"title": format!("task {place}"), "priority": place})).await;
        record("decisions", json!({"question": format!("q{place}"), "choice": "c", "rationale": "r"})).await;
        record("discoveries", json!({"content": format!("found {place}"), "type": "insight"})).await;
        record("artifacts", json!({"path": format!("file-{place}")})).await;
        record("nudges", json!({"to": "all", "message": format!("note {place}")})).await;
        grace.post(&format!("/v1/boards/b/decisions/D-{place}/approve"), &json!({})).await.ok();
    }
    for place in 1..=3 {
        let tasks = json!([{"key": "x", "title": "one way"}, {"key": "y", "title": "the other"}]);
        let options = json!([{"name": "x", "tasks": ["x"]}, {"name": "y", "tasks": ["y"]}]);
        let choices = json!([{"question": format!("Which way {place}?"), "options": options}]);
        grace.post("/v1/boards/b/tasks", &json!({"tasks": tasks, "choices": choices})).await.ok();
    }
    grace
}

#[tokio::test]
async fn every_list_of_a_board_has_pages() {
    let server = Running::start().await;
    let grace = full_board(&server).await;
    for path in [
        "tasks",
        "tasks?view=ready",
        "tasks?status=pending",
        "decisions",
        "discoveries",
        "artifacts",
        "nudges",
        "approvals",
        "choices",
        "learnings",
    ] {
        let path = format!("/v1/boards/b/{path}");
        let all = grace.get(&path).await.ok();
        let whole = all["items"].as_array().expect("a list").clone();
        assert!(whole.len() >= 3 && all["next"].is_null(), "{path}: {all}");
        let paged = pages(&grace, &path, 2).await;
        assert!(paged.iter().all(|page| (1..=2).contains(&page.len())), "{path}: {paged:?}");
        assert_eq!(paged.concat(), whole, "{path}");
        let mark = if path.contains('?') { '&' } else { '?' };
        grace.get(&format!("{path}{mark}cursor=*")).await.problem(400, "cursor");
        grace.get(&format!("{path}{mark}limit=-1")).await.problem(400, "out_of_range");
        // The cursor does not decode to a position.
        grace.get(&format!("{path}{mark}cursor=WC05OQ")).await.problem(400, "cursor");
    }
    let contributions = grace.get("/v1/boards/b/contributions?limit=1").await.ok();
    assert_eq!((contributions["items"].as_array().map(Vec::len), &contributions["next"]), (Some(1), &Value::Null));
    server.stop().await;
}

/// The last item of a page can be claimed, cancelled or edited before the next page is requested.
#[tokio::test]
async fn a_cursor_survives_when_its_item_leaves_the_view() {
    let server = Running::start().await;
    let grace = full_board(&server).await;
    let ready = "/v1/boards/b/tasks?view=ready&limit=1";
    let whole = grace.get("/v1/boards/b/tasks?view=ready").await.ok();
    let first = grace.get(ready).await.ok();
    assert_eq!(first["items"][0], whole["items"][0]);
    let next = first["next"].as_str().expect("a cursor");
    let id = super::text(&first["items"][0]["id"]);
    grace.post(&format!("/v1/boards/b/tasks/{id}/cancel"), &json!({})).await.ok();
    let second = grace.get(&format!("{ready}&cursor={next}")).await.ok();
    assert_eq!(second["items"][0]["id"], whole["items"][1]["id"]);
    // The cursor also works with the board at that revision.
    let path = format!("{ready}&cursor={next}&at={}", rev(&first));
    assert_eq!(grace.get(&path).await.ok()["items"][0]["id"], whole["items"][1]["id"]);
    // A cursor is invalid in another order.
    for other in ["view=ready&sort=priority", "view=blocked", ""] {
        grace.get(&format!("/v1/boards/b/tasks?{other}&cursor={next}")).await.problem(400, "cursor");
    }
    server.stop().await;
}

#[tokio::test]
async fn lists_are_filtered_and_sorted() {
    let server = Running::start().await;
    let grace = full_board(&server).await;
    for (task, priority) in [("T-1", 3), ("T-2", -2), ("T-3", 7)] {
        grace.patch(&format!("/v1/boards/b/tasks/{task}"), &json!({"priority": priority})).await.ok();
        next_millisecond().await;
    }
    grace.post("/v1/boards/b/tasks/T-2/assign", &json!({"agent": "lin"})).await.ok();
    let all = grace.get("/v1/boards/b/tasks").await.ok()["items"].as_array().expect("tasks").clone();
    for (sort, field) in [("created_at", "created_at"), ("updated_at", "updated_at"), ("priority", "priority")] {
        let value = |task: &Value| match &task[field] {
            Value::Number(number) => number.as_i64().unwrap(),
            other => super::text(other).parse::<jiff::Timestamp>().unwrap().as_microsecond(),
        };
        let number = |task: &Value| super::text(&task["id"])[2..].parse::<u64>().unwrap();
        let mut expected = all.clone();
        expected.sort_by_key(|task| (value(task), number(task)));
        assert_eq!(pages(&grace, &format!("/v1/boards/b/tasks?sort={sort}"), 2).await.concat(), expected);
        expected.sort_by_key(|task| (std::cmp::Reverse(value(task)), number(task)));
        assert_eq!(pages(&grace, &format!("/v1/boards/b/tasks?sort=-{sort}"), 2).await.concat(), expected);
    }
    let ids = async |query: &str| {
        let found = grace.get(&format!("/v1/boards/b/{query}")).await.ok();
        found["items"].as_array().expect("a list").iter().map(|item| super::text(&item["id"])).collect::<Vec<_>>()
    };
    assert_eq!(ids("tasks?assigned_to=lin").await, ["T-2"]);
    assert_eq!(ids("tasks?assigned_to=lin&status=pending").await, [""; 0]);
    let since = super::text(&all.iter().find(|task| task["id"] == "T-3").unwrap()["updated_at"]);
    let recent = ids(&format!("tasks?updated_since={since}")).await;
    assert!(recent.contains(&"T-3".to_owned()) && !recent.contains(&"T-1".to_owned()), "{recent:?}");
    for list in ["decisions", "discoveries", "artifacts", "approvals", "nudges", "choices"] {
        let by_id = ids(list).await;
        let newest_first: Vec<_> = by_id.iter().rev().cloned().collect();
        let times = grace.get(&format!("/v1/boards/b/{list}")).await.ok()["items"].clone();
        let times: Vec<_> = times.as_array().unwrap().iter().map(|item| super::text(&item["created_at"])).collect();
        let is_distinct = times.windows(2).all(|pair| pair[0] != pair[1]);
        let sorted = ids(&format!("{list}?sort=-created_at")).await;
        assert!(!is_distinct || sorted == newest_first, "{list}: {sorted:?}");
        assert_eq!(ids(&format!("{list}?updated_since=2999-01-01T00:00:00Z")).await, [""; 0], "{list}");
    }
    let unknown = grace.get("/v1/boards/b/tasks?sort=title").await;
    unknown.problem(400, "query");
    let detail = super::text(&unknown.body["detail"]);
    assert!(detail.contains("must be one of created_at, -created_at, updated_at"), "{detail}");
    server.stop().await;
}

#[tokio::test]
async fn boards_are_filtered_and_sorted() {
    let server = Running::start().await;
    let grace = somebody(&server, "grace", Role::Human).await;
    for board in ["c", "a", "b"] {
        make_board(&grace, board).await;
        next_millisecond().await;
    }
    grace.post("/v1/boards/c/tasks", &json!({"title": "One"})).await.ok();
    let ids = |pages: Vec<Vec<Value>>| pages.concat().iter().map(|board| super::text(&board["id"])).collect::<Vec<_>>();
    assert_eq!(ids(pages(&grace, "/v1/boards", 2).await), ["a", "b", "c"]);
    assert_eq!(ids(pages(&grace, "/v1/boards?sort=created_at", 2).await), ["c", "a", "b"]);
    assert_eq!(ids(pages(&grace, "/v1/boards?sort=-created_at", 1).await), ["b", "a", "c"]);
    let newest = pages(&grace, "/v1/boards?sort=-updated_at", 1).await.concat();
    assert_eq!(newest[0]["id"], "c");
    let since = super::text(&newest[0]["summary"]["updated_at"]);
    assert_eq!(grace.get("/v1/boards/c").await.ok()["updated_at"], newest[0]["summary"]["updated_at"]);
    assert_eq!(ids(pages(&grace, &format!("/v1/boards?updated_since={since}"), 1).await), ["c"]);
    let first = grace.get("/v1/boards?limit=1&sort=-created_at").await.ok();
    let next = super::text(&first["next"]);
    grace.get(&format!("/v1/boards?cursor={next}")).await.problem(400, "cursor");
    grace.get("/v1/boards?sort=name").await.problem(400, "query");
    server.stop().await;
}

#[tokio::test]
async fn items_of_a_board_are_read_by_id() {
    let server = Running::start().await;
    let grace = full_board(&server).await;
    for (path, id, missing) in [
        ("decisions", "D-2", "D-9"),
        ("discoveries", "F-2", "F-9"),
        ("artifacts", "A-2", "A-9"),
        ("nudges", "N-2", "N-9"),
        ("choices", "C-2", "C-9"),
    ] {
        let list = grace.get(&format!("/v1/boards/b/{path}")).await.ok();
        let one = format!("/v1/boards/b/{path}/{id}");
        let read = grace.get(&one).await;
        let tag = header(&read, "etag").expect("a tag").to_owned();
        let mut expected = list["items"][1].clone();
        assert_eq!(tag, format!("\"{}\"", expected["version"]), "{path}");
        expected["rev"] = list["rev"].clone();
        assert_eq!(read.ok(), expected, "{path}");
        let same = answer(grace.request(Method::GET, &one).header("if-none-match", &tag)).await;
        assert_eq!(same.status.as_u16(), 304, "{path}");
        grace.get(&format!("/v1/boards/b/{path}/{missing}")).await.problem(404, "not_on_board");
        grace.get(&format!("/v1/boards/b/{path}/nonsense")).await.problem(400, "path");
        grace.get(&format!("{one}?at=1")).await.problem(404, "not_on_board");
        grace.get(&format!("/v1/boards/none/{path}/{id}")).await.problem(404, "no_board");
    }
    // Reading it by ID does not deliver the nudge.
    assert_eq!(grace.get("/v1/boards/b/nudges/N-2").await.ok()["delivered"], json!([]));
    server.stop().await;
}

//! Lists of a board in pages, and what is on it by its id.

use corkboard::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{header, make_board, rev, somebody};
use crate::support::{Client, Running, answer};

/// All pages of a list, each with so many things at most, one after the other.
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
        grace.get(&format!("{path}{mark}limit=-1")).await.problem(400, "query");
        // A name that never was in the list.
        grace.get(&format!("{path}{mark}cursor=WC05OQ")).await.problem(400, "cursor");
    }
    let contributions = grace.get("/v1/boards/b/contributions?limit=1").await.ok();
    assert_eq!((contributions["items"].as_array().map(Vec::len), &contributions["next"]), (Some(1), &Value::Null));
    // What is said to one is read as a whole, as it counts as read.
    grace.get("/v1/boards/b/nudges?for=grace&limit=1").await.problem(400, "query");
    server.stop().await;
}

/// A cursor into a list whose things move is found out, not followed to anywhere.
#[tokio::test]
async fn a_cursor_that_lost_its_place_is_refused() {
    let server = Running::start().await;
    let grace = full_board(&server).await;
    let first = grace.get("/v1/boards/b/tasks?view=ready&limit=1").await.ok();
    assert_eq!(first["items"][0]["id"], "T-3");
    let next = first["next"].as_str().expect("a cursor");
    grace.post("/v1/boards/b/tasks/T-3/cancel", &json!({})).await.ok();
    grace.get(&format!("/v1/boards/b/tasks?view=ready&limit=1&cursor={next}")).await.problem(400, "cursor");
    // As it was then, it goes on.
    let path = format!("/v1/boards/b/tasks?view=ready&limit=1&cursor={next}&at={}", rev(&first));
    assert_eq!(grace.get(&path).await.ok()["items"][0]["id"], "T-2");
    server.stop().await;
}

#[tokio::test]
async fn what_is_on_a_board_is_read_by_its_id() {
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
    // Nobody has read a nudge by that.
    assert_eq!(grace.get("/v1/boards/b/nudges/N-2").await.ok()["delivered"], json!([]));
    server.stop().await;
}

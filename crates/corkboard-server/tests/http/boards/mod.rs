//! Every route about boards, through a real socket.

mod access;
mod board;
mod claims;
mod documented;
mod example_flow;
mod learnings;
mod pages;
mod people;
mod records;
mod tasks;

use corkboard::tokens::Grants;
use corkboard::{ActorKind, Role, TokenRequest};
use serde_json::{Value, json};

use crate::support::{Answer, Client, Running, rev, with as with_header};

/// A client with a token for everything.
async fn somebody(server: &Running, principal: &str, role: Role) -> Client {
    let kind = if role == Role::Human { ActorKind::Human } else { ActorKind::Agent };
    with_grants(server, principal, kind, role, Grants::everything()).await
}

/// A client with a token for certain spaces.
async fn with_grants(server: &Running, principal: &str, kind: ActorKind, role: Role, grants: Grants) -> Client {
    let (principal, label) = (principal.to_owned(), String::new());
    server.client_with(TokenRequest { principal, kind, role, grants, expires_at: None, label }).await
}

/// Grants as JSON.
fn grants(grants: Value) -> Grants {
    serde_json::from_value(grants).expect("grants")
}

/// Creates a board with this ID.
async fn make_board(client: &Client, id: &str) {
    let made = client.post("/v1/boards", &json!({"id": id, "name": "Add login"})).await;
    assert_eq!(made.status.as_u16(), 201, "{}", made.body);
    assert_eq!(made.body["id"], id);
}

/// Adds a task and returns its ID.
async fn add_task(client: &Client, board: &str, task: Value) -> String {
    let added = client.post(&format!("/v1/boards/{board}/tasks"), &task).await;
    assert_eq!(added.status.as_u16(), 201, "{}", added.body);
    text(&added.body["id"])
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).and_then(|value| value.to_str().ok())
}

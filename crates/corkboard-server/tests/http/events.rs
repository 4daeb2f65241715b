//! Streams of events, through a real socket.

use std::sync::Arc;
use std::time::Duration;

use corkboard::boards::NewBoard;
use corkboard::store::MemoryStore;
use corkboard::{Corkboard, Options, Retention, SnapshotPolicy, SpaceKind};
use corkboard_server::Settings;
use corkboard_testing::{FaultPlan, FaultyStore, Harness};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::sse::SentEvent;
use crate::support::{ADMIN, PATIENCE, Running, answer, in_memory, settings, worker};

/// With values of this size, more data than the buffers between a server and a client that does not read.
const LARGE: usize = 64 * 1024;
const MANY: u64 = 400;

/// Sets an entry of an agent several times, without the server.
async fn write(corkboard: &Corkboard, agent: &str, times: u64) {
    let memory = corkboard.agent(agent).unwrap().working();
    for index in 0..times {
        memory.set("key", &index).await.unwrap();
    }
}

async fn make_board(corkboard: &Corkboard, id: &str) {
    let new = NewBoard { name: "A board".into(), goal: "Something is done".into(), ..NewBoard::default() };
    corkboard.create_board(new).id(id).await.unwrap();
}

async fn write_much(corkboard: &Corkboard, agent: &str) {
    let (memory, large) = (corkboard.agent(agent).unwrap().working(), "x".repeat(LARGE));
    for _ in 0..MANY {
        memory.set("key", &large).await.unwrap();
    }
}

fn ada(revs: impl IntoIterator<Item = u64>) -> Vec<(String, u64)> {
    revs.into_iter().map(|rev| ("agent/ada".to_owned(), rev)).collect()
}

async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("timed out waiting for: {what}");
}

#[tokio::test]
async fn a_stream_resumes_without_loss_or_repeat() {
    let server = Running::start().await;
    let admin = server.admin();
    admin.put("/v1/agents/ada/entries/color", &json!({ "value": "green" })).await.ok();
    let mut events = admin.events("/v1/agents/ada/events?from_rev=0", None).await;
    let first = events.next().await.unwrap();
    assert_eq!((first.name.as_str(), first.id.as_deref()), ("revision", Some("1")));
    assert_eq!(first.data["space"], "agent/ada");
    assert_eq!(first.data["actor"], json!({ "principal": "admin", "kind": "human", "role": "admin", "via": null }));
    assert_eq!(first.data["events"].as_array().unwrap().len(), 1);
    assert!(first.data["commit"].is_string() && first.data["at"].as_str().unwrap().parse::<Timestamp>().is_ok());
    write(&server.corkboard, "ada", 4).await;
    assert_eq!(events.revisions(2).await, ada(2..=3));
    drop(events);
    write(&server.corkboard, "ada", 2).await;
    let mut resumed = admin.events("/v1/agents/ada/events?from_rev=0", Some("3")).await;
    assert_eq!(resumed.revisions(4).await, ada(4..=7));
    write(&server.corkboard, "ada", 1).await;
    assert_eq!(resumed.revisions(1).await, ada([8]));
    let mut live = admin.events("/v1/agents/ada/events", None).await;
    write(&server.corkboard, "ada", 1).await;
    assert_eq!(live.revisions(1).await, ada([9]));
    server.stop().await;
}

#[tokio::test]
async fn boards_cores_and_missing_spaces_have_streams() {
    let server = Running::start().await;
    let admin = server.admin();
    let mut board = admin.events("/v1/boards/login/events", None).await;
    let mut core = admin.events("/v1/cores/house/events?from_rev=0", None).await;
    make_board(&server.corkboard, "login").await;
    let created = board.revision().await;
    assert_eq!((created.rev(), &created.data["space"]), (1, &json!("board/login")));
    server.corkboard.core("house").unwrap().add("Deploy on Tuesdays").await.unwrap();
    assert_eq!(core.revision().await.data["space"], "core/house");
    server.stop().await;
}

#[tokio::test]
async fn without_the_content_type_of_streams_there_are_pages() {
    let server = Running::start().await;
    let admin = server.admin();
    write(&server.corkboard, "ada", 5).await;
    let (mut seen, mut from) = (Vec::new(), "from_rev=0".to_owned());
    loop {
        let page = admin.get(&format!("/v1/agents/ada/events?{from}&limit=2")).await.ok();
        assert_eq!(page["rev"], 5);
        seen.extend(page["items"].as_array().unwrap().iter().map(|event| event["rev"].as_u64().unwrap()));
        match page["next"].as_str() {
            Some(next) => from = format!("cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert_eq!(admin.get("/v1/agents/nobody/events").await.ok(), json!({ "items": [], "next": null, "rev": 0 }));
    admin.get("/v1/agents/ada/events?from_rev=6").await.problem(400, "future_revision");
    admin.get("/v1/agents/ada/events?from_rev=x").await.problem(400, "query");
    server.stop().await;
}

#[tokio::test]
async fn invalid_requests_are_refused_before_a_stream_begins() {
    let server = Running::start().await;
    let admin = server.admin();
    for (path, id) in [("/v1/agents/ada/events", "x"), ("/v1/agents/ada/events", "-1"), ("/v1/events", "7")] {
        let request = admin.request(reqwest::Method::GET, path).header("accept", "text/event-stream");
        answer(request.header("last-event-id", id)).await.problem(400, "last_event_id");
    }
    let request = admin.request(reqwest::Method::GET, "/v1/agents/ada/events?from_rev=3");
    answer(request.header("accept", "text/event-stream")).await.problem(400, "future_revision");
    server.stop().await;
}

#[tokio::test]
async fn a_stream_contains_only_granted_spaces_including_new_ones() {
    let server = Running::start().await;
    let client = server.client_with(worker("ada", json!({ "agents": ["ada"], "boards": ["team-*"] }))).await;
    client.get("/v1/agents/bob/events").await.problem(403, "not_granted");
    client.get("/v1/boards/other/events").await.problem(403, "not_granted");
    server.client("wrong").get("/v1/events").await.problem(401, "unauthenticated");
    let (mut own, mut all) = (client.events("/v1/events", None).await, server.admin().events("/v1/events", None).await);
    write(&server.corkboard, "bob", 2).await;
    write(&server.corkboard, "ada", 1).await;
    make_board(&server.corkboard, "other").await;
    make_board(&server.corkboard, "team-one").await;
    server.corkboard.core("house").unwrap().add("Deploy on Tuesdays").await.unwrap();
    write(&server.corkboard, "ada", 1).await;
    let spaces = [("agent/ada", 1), ("board/team-one", 1), ("agent/ada", 2)];
    assert_eq!(own.revisions(3).await, spaces.map(|(space, rev)| (space.to_owned(), rev)));
    // Events of the tokens' space are never sent.
    server.client_with(worker("eve", json!({}))).await;
    write(&server.corkboard, "eve", 1).await;
    let spaces: Vec<_> = all.revisions(8).await.into_iter().map(|(space, _)| space).collect();
    let expected = ["agent/bob", "agent/bob", "agent/ada", "board/other", "board/team-one", "core/house", "agent/ada"];
    assert_eq!(spaces[..7], expected);
    assert_eq!(spaces[7], "agent/eve");
    server.stop().await;
}

#[tokio::test]
async fn compacted_revisions_are_reported_and_the_stream_continues() {
    let snapshots = SnapshotPolicy { events: 1, bytes: 1 };
    let options = Options { snapshots, retention: Some(Retention::Revisions(3)), ..Options::default() };
    let server = Running::with(in_memory(options), settings()).await;
    let admin = server.admin();
    write(&server.corkboard, "ada", 1).await;
    // The stream runs while the oldest revisions are removed.
    let mut all = admin.events("/v1/events", None).await;
    let mut written = 1;
    let gone = loop {
        write(&server.corkboard, "ada", 10).await;
        written += 10;
        let page = admin.get("/v1/agents/ada/events?from_rev=1").await;
        if !page.status.is_success() {
            break page;
        }
        assert!(written < 10_000, "no revisions are removed");
    };
    // The first event may already report removed revisions.
    let first = all.next().await.unwrap();
    assert!(["revision", "compacted"].contains(&first.name.as_str()), "{first:?}");
    gone.problem(404, "compacted");
    assert!(gone.body["oldest"].as_u64().unwrap() > 2);
    let mut from_first = admin.events("/v1/agents/ada/events?from_rev=1", None).await;
    let told = from_first.next().await.unwrap();
    assert_eq!(told.name, "compacted");
    let oldest = told.data["oldest"].as_u64().unwrap();
    assert_eq!(told.id, Some((oldest - 1).to_string()));
    assert!(oldest > 2, "{oldest}");
    let mut last = oldest - 1;
    while last < written {
        let event = from_first.next().await.unwrap();
        match event.name.as_str() {
            // More revisions may be removed meanwhile.
            "compacted" => last = event.data["oldest"].as_u64().unwrap() - 1,
            _ => {
                assert_eq!(event.rev(), last + 1);
                last += 1;
            }
        }
    }
    // A deleted space looks the same, and its revisions continue.
    assert!(server.corkboard.delete_agent("ada").await.unwrap());
    write(&server.corkboard, "ada", 1).await;
    loop {
        let event = from_first.next().await.unwrap();
        if event.name == "revision" {
            assert_eq!(event.rev(), written + 2);
            break;
        }
        assert_eq!((event.name.as_str(), &event.data["space"]), ("compacted", &json!("agent/ada")));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_slow_live_reader_gets_the_position_to_resume() {
    let options = Options { max_watch_lag: 10, bookmark_interval: Duration::from_millis(20), ..Options::default() };
    let server = Running::with(in_memory(options), settings()).await;
    let admin = server.admin();
    let mut events = admin.events("/v1/agents/ada/events", None).await;
    let bookmark = events.next().await.unwrap();
    assert_eq!((bookmark.name.as_str(), bookmark.id.as_deref()), ("bookmark", Some("0")));
    write_much(&server.corkboard, "ada").await;
    let (mut last, mut id) = (0, None);
    while let Some(event) = events.next().await {
        match event.name.as_str() {
            "bookmark" => {}
            "lagged" => {
                assert_eq!(event.data, json!({ "resume_from": last }));
                id = event.id;
            }
            _ => {
                assert_eq!(event.rev(), last + 1);
                last += 1;
            }
        }
    }
    assert!(last < MANY, "it was never too slow");
    let mut resumed = admin.events("/v1/agents/ada/events", Some(&id.expect("an event with an ID"))).await;
    assert_eq!(resumed.revisions((MANY - last) as usize).await, ada(last + 1..=MANY));
    server.stop().await;
}

#[tokio::test]
async fn a_slow_reader_of_all_spaces_resumes_without_loss() {
    let server = Running::with(in_memory(Options::default()), Settings { events_held: 8, ..settings() }).await;
    let admin = server.admin();
    let mut events = admin.events("/v1/events", None).await;
    write_much(&server.corkboard, "ada").await;
    let (mut last, mut id) = (0, None);
    while let Some(event) = events.next().await {
        match event.name.as_str() {
            "lagged" => {
                assert_eq!(event.data["resume_from"].as_str(), event.id.as_deref());
                id = event.id;
            }
            "bookmark" => {}
            _ => {
                assert_eq!(event.rev(), last + 1);
                last += 1;
            }
        }
    }
    assert!(last < MANY, "it was never too slow");
    let mut resumed = admin.events("/v1/events", Some(&id.expect("an event with an ID"))).await;
    let mut next = resumed.revision().await.rev();
    assert!(next <= last + 1, "{next} after {last}");
    while next < MANY {
        let rev = resumed.revision().await.rev();
        assert_eq!(rev, next + 1);
        next = rev;
    }
    write(&server.corkboard, "ada", 1).await;
    assert_eq!(resumed.revisions(1).await, ada([MANY + 1]));
    server.stop().await;
}

#[tokio::test]
async fn a_stream_of_all_spaces_resumes_exactly_on_the_same_server() {
    let server = Running::start().await;
    let admin = server.admin();
    write(&server.corkboard, "ada", 3).await;
    let mut events = admin.events("/v1/events", None).await;
    write(&server.corkboard, "ada", 2).await;
    assert_eq!(events.revision().await.rev(), 4);
    let id = events.revision().await.id.unwrap();
    drop(events);
    write(&server.corkboard, "ada", 2).await;
    write(&server.corkboard, "bob", 1).await;
    let mut resumed = admin.events("/v1/events", Some(&id)).await;
    let expected = [ada(6..=7), vec![("agent/bob".to_owned(), 1)]].concat();
    assert_eq!(resumed.revisions(3).await, expected);
    server.stop().await;
}

#[tokio::test]
async fn a_stream_of_all_spaces_resumes_on_another_server_without_loss() {
    let store = Arc::new(MemoryStore::shared());
    let open = || Corkboard::with_store(store.clone(), Options::default());
    let (one, two) = (Running::with(open(), settings()).await, Running::with(open(), settings()).await);
    let grants = json!({ "agents": ["ada", "bob", "new"] });
    let secret = one.corkboard.tokens().create(worker("ada", grants)).await.unwrap().secret;
    let secret = secrecy::ExposeSecret::expose_secret(&secret).to_owned();
    write(&one.corkboard, "eve", 5).await;
    let mut events = one.client(&secret).events("/v1/events", None).await;
    write(&one.corkboard, "ada", 2).await;
    let id = events.revision().await.id.unwrap();
    events.revision().await;
    one.stop().await;
    assert_eq!(events.next().await, None, "streams end with their server");
    write(&two.corkboard, "ada", 2).await;
    write(&two.corkboard, "bob", 3).await;
    write(&two.corkboard, "eve", 1).await;
    let mut resumed = two.client(&secret).events("/v1/events", Some(&id)).await;
    let mut seen = std::collections::BTreeMap::<String, Vec<u64>>::new();
    loop {
        let event = resumed.next().await.unwrap();
        if event.name == "bookmark" {
            assert_ne!(event.id.as_deref(), Some(&*id), "the missed events were sent, so the position has changed");
            break;
        }
        assert_eq!(event.id.as_deref(), Some(&*id), "until then, the position to resume from stays the same");
        seen.entry(event.data["space"].as_str().unwrap().into()).or_default().push(event.rev());
    }
    let expected = [("agent/ada".to_owned(), vec![1, 2, 3, 4]), ("agent/bob".to_owned(), vec![1, 2, 3])];
    assert_eq!(seen, expected.into());
    write(&two.corkboard, "new", 1).await;
    write(&two.corkboard, "ada", 1).await;
    assert_eq!(resumed.revisions(2).await, [("agent/new".to_owned(), 1), ("agent/ada".to_owned(), 5)]);
    two.stop().await;
}

#[tokio::test]
async fn an_idle_stream_sends_heartbeats_until_its_token_ends() {
    let beating = Settings { heartbeat: Duration::from_millis(20), ..settings() };
    let server = Running::with(in_memory(Options::default()), beating).await;
    let request = || worker("ada", json!({ "agents": ["ada"] }));
    let created = server.corkboard.tokens().create(request()).await.unwrap();
    let client = server.client(secrecy::ExposeSecret::expose_secret(&created.secret));
    let (mut one, mut all) =
        (client.events("/v1/agents/ada/events", None).await, client.events("/v1/events", None).await);
    for stream in [&mut one, &mut all] {
        for _ in 0..3 {
            assert_eq!(stream.any().await.unwrap().name, "", "a comment");
        }
    }
    server.corkboard.tokens().revoke(created.id).await.unwrap();
    let expires_at = Some(Timestamp::now() + Duration::from_millis(1500));
    let brief = server.client_with(corkboard::TokenRequest { expires_at, ..request() }).await;
    let expiring = brief.events("/v1/agents/ada/events", None).await;
    for mut stream in [one, all, expiring] {
        let last = stream.next().await.unwrap();
        assert_eq!(
            (last.name.as_str(), &last.data["code"], &last.data["status"]),
            ("problem", &json!("unauthenticated"), &json!(401))
        );
        assert_eq!(stream.any().await, None);
    }
    let mut admin = server.admin().events("/v1/events", None).await;
    for _ in 0..3 {
        assert_eq!(admin.any().await.unwrap().name, "");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_streams() {
    let (stalled_after, drain_timeout) = (Duration::from_secs(3600), Duration::from_secs(1));
    let patient = Settings { stalled_after, drain_timeout, ..settings() };
    let server = Running::with(in_memory(Options::default()), patient).await;
    let admin = server.admin();
    // One stream reads nothing, although more than the buffers can hold is waiting.
    let _stalled = connect(&server, "/v1/agents/ada/events").await;
    write_much(&server.corkboard, "ada").await;
    let mut streams = vec![admin.events("/v1/events", None).await];
    for _ in 0..3 {
        streams.push(admin.events("/v1/agents/ada/events", None).await);
    }
    eventually("all streams are open", || server.server.open_streams() == 5).await;
    server.stop().await;
    for mut stream in streams {
        assert_eq!(stream.next().await, None);
    }
}

/// Opens a stream on a plain connection, and reads the beginning of the answer.
async fn connect(server: &Running, path: &str) -> TcpStream {
    let mut connection = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
    let secret = ADMIN;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\nAccept: text/event-stream\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 15];
    connection.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    connection
}

#[tokio::test]
async fn slow_and_vanished_readers_leak_nothing() {
    let store = Arc::new(MemoryStore::shared());
    let corkboard = Corkboard::with_store(store.clone(), Options { max_watch_lag: 10, ..Options::default() });
    let settings = Settings {
        heartbeat: Duration::from_millis(200),
        events_held: 16,
        events_linger: Duration::from_millis(50),
        stalled_after: Duration::from_secs(2),
        ..settings()
    };
    let server = Running::with(corkboard, settings).await;
    let before = (server.server.open_streams(), store.listeners());
    assert_eq!(before.0, 0);
    let mut connections = Vec::new();
    for index in 0..200 {
        let path = if index % 2 == 0 { "/v1/events" } else { "/v1/agents/ada/events" };
        connections.push(connect(&server, path).await);
    }
    eventually("all streams are open", || server.server.open_streams() == 200).await;
    // All streams of one space share a listener, and so do all streams of all spaces.
    eventually("two listeners for all streams", || store.listeners() == before.1 + 2).await;
    // Half of the clients disconnect; the others stay and read nothing.
    let stalled = connections.split_off(100);
    drop(connections);
    write_much(&server.corkboard, "ada").await;
    eventually("stalled connections are closed", || server.server.open_streams() == 0).await;
    eventually("nobody listens", || store.listeners() == before.1).await;
    drop(stalled);
    // The server still works.
    let mut events = server.admin().events("/v1/events", None).await;
    write(&server.corkboard, "ada", 1).await;
    assert_eq!(events.revisions(1).await, ada([MANY + 1]));
    server.stop().await;
}

/// A store that counts reads.
fn counted() -> (Arc<FaultyStore>, Corkboard) {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::shared()), FaultPlan::none()));
    (store.clone(), Corkboard::with_store(store, Options::default()))
}

#[tokio::test]
async fn a_commit_is_read_once_for_all_streams() {
    const FOLLOWING: usize = 200;
    let (store, corkboard) = counted();
    let server = Running::with(corkboard, settings()).await;
    let (admin, space) = (server.admin(), server.corkboard.log(SpaceKind::Agent, "ada").unwrap().id().clone());
    let mut streams = Vec::new();
    for _ in 0..FOLLOWING {
        streams.push(admin.events("/v1/agents/ada/events", None).await);
    }
    let mut read = Vec::new();
    for rev in 1..=5 {
        let before = store.reads(&space);
        write(&server.corkboard, "ada", 1).await;
        for stream in &mut streams {
            assert_eq!(stream.revision().await.rev(), rev);
        }
        read.push(store.reads(&space) - before);
    }
    // At the first commit, some streams may not share the tail yet.
    assert!(read[1..].iter().all(|read| *read < 10), "{read:?}");
    // New and resumed streams get the missed events.
    let mut late = admin.events("/v1/agents/ada/events", Some("2")).await;
    assert_eq!(late.revisions(3).await, ada(3..=5));
    server.stop().await;
}

#[tokio::test]
async fn a_token_is_checked_once_for_all_its_streams() {
    const FOLLOWING: usize = 100;
    let (store, corkboard) = counted();
    let server = Running::with(corkboard, Settings { heartbeat: Duration::from_millis(100), ..settings() }).await;
    let created = server.corkboard.tokens().create(worker("ada", json!({ "agents": ["ada"] }))).await.unwrap();
    let client = server.client(secrecy::ExposeSecret::expose_secret(&created.secret));
    let mut streams = Vec::new();
    for _ in 0..FOLLOWING {
        streams.push(client.events("/v1/agents/ada/events", None).await);
    }
    let space = server.corkboard.log(SpaceKind::Tokens, "").unwrap().id().clone();
    let (before, mut beats) = (store.reads(&space), 0);
    for stream in &mut streams {
        for _ in 0..10 {
            assert_eq!(stream.any().await.unwrap().name, "");
            beats += 1;
        }
    }
    let read = store.reads(&space) - before;
    assert!(read > 0 && read * 5 < beats, "{read} checks for {beats} heartbeats");
    server.corkboard.tokens().revoke(created.id).await.unwrap();
    for mut stream in streams {
        assert_eq!(stream.next().await.unwrap().data["code"], "unauthenticated");
        assert_eq!(stream.any().await, None);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_reports_the_deletion_and_recreation_of_its_space() {
    let server = Running::start().await;
    let admin = server.admin();
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(admin.events("/v1/agents/ada/events", None).await);
    }
    write(&server.corkboard, "ada", 2).await;
    for stream in &mut streams {
        assert_eq!(stream.revisions(2).await, ada(1..=2));
    }
    assert!(server.corkboard.delete_agent("ada").await.unwrap());
    for stream in &mut streams {
        let told = stream.next().await.unwrap();
        assert_eq!((told.name.as_str(), &told.data["oldest"]), ("compacted", &json!(4)));
    }
    write(&server.corkboard, "ada", 1).await;
    for stream in &mut streams {
        assert_eq!(stream.revisions(1).await, ada([4]));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_is_notified_of_changed_spaces() {
    let server = Running::start().await;
    let secret = server.corkboard.tokens().create(worker("ada", json!({ "agents": ["ada"] }))).await.unwrap().secret;
    let address = corkboard::ServerAddress::new(&server.url).token(secret);
    let client = Corkboard::connect(address, Options::default()).await.unwrap();
    let mut moved = client.changes();
    write(&server.corkboard, "bob", 1).await;
    write(&server.corkboard, "ada", 3).await;
    let told = tokio::time::timeout(PATIENCE, async {
        loop {
            let (space, rev) = moved.recv().await.unwrap();
            assert_eq!(space.to_string(), "agent/ada", "the token grants nothing else");
            if rev == 3 {
                break;
            }
        }
    });
    told.await.unwrap();
    server.stop().await;
}

/// `data.events[].type` of a revision.
fn types(revision: &SentEvent) -> Vec<&str> {
    revision.data["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn events_are_filtered_by_their_types() {
    let options = Options { bookmark_interval: Duration::from_millis(20), ..Options::default() };
    let server = Running::with(in_memory(options), settings()).await;
    let admin = server.admin();
    make_board(&server.corkboard, "b").await;
    admin.post("/v1/boards/b/tasks", &json!({ "title": "One" })).await.ok();
    let claimed = admin.post("/v1/boards/b/tasks/claim", &json!({ "task": "T-1" })).await.ok();
    let epoch = claimed["epoch"].as_u64().unwrap();
    admin.post("/v1/boards/b/tasks/T-1/complete", &json!({ "epoch": epoch, "summary": "Done" })).await.ok();
    let all = admin.get("/v1/boards/b/events").await.ok()["items"].as_array().unwrap().clone();
    let has =
        |revision: &Value, name: &str| revision["events"].as_array().unwrap().iter().any(|event| event["type"] == name);
    let added: Vec<_> = all.iter().filter(|revision| has(revision, "task_added")).collect();
    let filtered = admin.get("/v1/boards/b/events?type=task_added").await.ok();
    assert_eq!((filtered["items"].as_array().unwrap().len(), added.len()), (1, 1));
    assert_eq!(filtered["items"][0]["rev"], added[0]["rev"]);
    // Pages continue after revisions that were left out.
    let (mut seen, mut from, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let path = format!("/v1/boards/b/events?type=task_completed,board_created&limit=1{from}");
        let page = admin.get(&path).await.ok();
        pages += 1;
        seen.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|revision| revision["events"].as_array().unwrap().clone()),
        );
        match page["next"].as_str() {
            Some(next) => from = format!("&cursor={next}"),
            None => break,
        }
    }
    let seen: Vec<_> = seen.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((seen.as_slice(), pages), (["board_created", "task_completed"].as_slice(), all.len()));
    // A stream contains only these events, and bookmarks.
    let path = "/v1/boards/b/events?from_rev=0&type=board_created";
    let mut events = admin.events(path, None).await;
    assert_eq!(types(&events.revision().await), ["board_created"]);
    let last = all.last().unwrap()["rev"].as_u64().unwrap();
    let bookmark = loop {
        let event = events.next().await.unwrap();
        assert_eq!(event.name, "bookmark", "{event:?}");
        if event.data["rev"] == last {
            break event;
        }
    };
    let mut resumed = admin.events("/v1/boards/b/events?type=task_added,board_edited", bookmark.id.as_deref()).await;
    admin.post("/v1/boards/b/tasks", &json!({ "title": "Two" })).await.ok();
    let next = resumed.revision().await;
    assert_eq!((types(&next).as_slice(), next.rev()), (["task_added"].as_slice(), last + 1));
    server.stop().await;
}

/// Although other spaces change all the time, the reader gets bookmarks.
#[tokio::test]
async fn a_filtered_stream_of_all_spaces_sends_bookmarks() {
    let options = Options { bookmark_interval: Duration::from_millis(20), ..Options::default() };
    let server = Running::with(in_memory(options), settings()).await;
    let admin = server.admin();
    let mut events = admin.events("/v1/events?type=board_created,note_added", None).await;
    write(&server.corkboard, "ada", 30).await;
    make_board(&server.corkboard, "b").await;
    assert_eq!(types(&events.revision().await), ["board_created"]);
    write(&server.corkboard, "ada", 30).await;
    let bookmark = events.next().await.unwrap();
    assert_eq!(bookmark.name, "bookmark");
    server.corkboard.agent("ada").unwrap().working().add_note("Prefers short answers").await.unwrap();
    let mut resumed = admin.events("/v1/events?type=board_created,note_added", bookmark.id.as_deref()).await;
    assert_eq!(types(&resumed.revision().await), ["note_added"]);
    server.stop().await;
}

#[tokio::test]
async fn an_unknown_event_type_is_refused_with_the_known_ones() {
    let server = Running::start().await;
    let admin = server.admin();
    for (path, known) in [
        ("/v1/boards/b/events?type=task_added,taskadded", "task_added"),
        ("/v1/agents/ada/events?type=task_added", "entry_set"),
        ("/v1/cores/house/events?type=", "entry_merged"),
        ("/v1/events?type=created", "board_created"),
    ] {
        let refused = admin.get(path).await;
        refused.problem(400, "event_type");
        assert!(refused.body["detail"].as_str().unwrap().contains(known), "{}", refused.body);
    }
    server.stop().await;
}

#[test]
fn the_description_contains_streams_and_pages() {
    let description = serde_json::to_value(corkboard_server::description()).unwrap();
    for path in ["/v1/agents/{agent}/events", "/v1/boards/{board}/events", "/v1/cores/{core}/events"] {
        let get = &description["paths"][path]["get"];
        let content = &get["responses"]["200"]["content"];
        assert_eq!(content["application/json"]["schema"]["$ref"], "#/components/schemas/RevisionPage", "{path}");
        assert_eq!(content["text/event-stream"]["schema"]["type"], "string", "{path}");
        let names: Vec<_> = get["parameters"].as_array().unwrap().iter().map(|given| &given["name"]).collect();
        assert!(names.contains(&&json!("from_rev")) && names.contains(&&json!("Last-Event-ID")), "{names:?}");
    }
    let all = &description["paths"]["/v1/events"]["get"]["responses"]["200"]["content"];
    assert_eq!(all["text/event-stream"]["schema"]["type"], "string");
    let schemas = &description["components"]["schemas"];
    for name in ["RevisionPage", "RevisionDocument", "SpaceEvent", "AgentEvent", "BoardEvent", "CoreEvent", "Actor"] {
        assert!(schemas[name].is_object(), "{name}");
    }
}

/// Two servers on one store behave as one.
async fn events_reach_the_other_server(store: &str) {
    let (one, two) = (Running::on(store).await, Running::on(store).await);
    let (writer, reader) = (one.admin(), two.admin());
    writer.put("/v1/agents/ada/entries/before", &json!({ "value": 0 })).await.ok();
    let mut of_ada = reader.events("/v1/agents/ada/events?from_rev=0", None).await;
    let mut of_all = reader.events("/v1/events", None).await;
    assert_eq!(of_ada.revisions(1).await, ada([1]));
    for index in 0..20 {
        writer.put("/v1/agents/ada/entries/key", &json!({ "value": index })).await.ok();
    }
    assert_eq!(of_ada.revisions(20).await, ada(2..=21));
    assert_eq!(of_all.revisions(20).await, ada(2..=21));
    writer.put("/v1/agents/new/entries/key", &json!({ "value": 1 })).await.ok();
    let event = of_all.revision().await;
    assert_eq!(event.data["space"], "agent/new");
    // One server stops, the other continues.
    one.stop().await;
    reader.put("/v1/agents/ada/entries/key", &json!({ "value": 1 })).await.ok();
    assert_eq!(of_all.revisions(1).await, ada([22]));
    let mut resumed = reader.events("/v1/events", event.id.as_deref()).await;
    assert_eq!(resumed.revisions(1).await, ada([22]));
    two.stop().await;
}

#[tokio::test]
async fn two_servers_on_one_sqlite_file_notify_each_other() {
    let harness = Harness::sqlite("");
    events_reach_the_other_server(&harness.url()).await;
}

#[tokio::test]
async fn two_servers_on_one_postgres_notify_each_other() {
    let harness = Harness::postgres("");
    events_reach_the_other_server(&harness.url()).await;
}

#[tokio::test]
async fn two_servers_on_one_redis_notify_each_other() {
    let harness = Harness::redis("");
    events_reach_the_other_server(&harness.url()).await;
}

/// Runs a future while the clock is paused. Nothing polls then, so only notified tasks make progress.
async fn without_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let began = std::time::Instant::now();
    // The paused clock advances only when the runtime is idle, so keep it busy.
    let busy = async {
        while began.elapsed() < PATIENCE {
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::select! {
        done = what => done,
        () = busy => panic!("no stream was woken"),
    };
    tokio::time::resume();
    done
}

/// A commit wakes the streams; they do not wait for the next poll.
async fn woken_by_a_commit(store: &str) {
    let server = Running::on(store).await;
    let admin = server.admin();
    write(&server.corkboard, "ada", 1).await;
    let mut of_ada = admin.events("/v1/agents/ada/events", None).await;
    let mut of_all = admin.events("/v1/events", None).await;
    without_time(async {
        for rev in 2..=20 {
            write(&server.corkboard, "ada", 1).await;
            assert_eq!(of_ada.revisions(1).await, ada([rev]));
            assert_eq!(of_all.revisions(1).await, ada([rev]));
        }
        write(&server.corkboard, "new", 1).await;
        assert_eq!(of_all.revisions(1).await, [("agent/new".to_owned(), 1)]);
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn a_commit_wakes_streams_in_memory() {
    woken_by_a_commit("memory:").await;
}

#[tokio::test]
async fn a_commit_wakes_streams_on_sqlite() {
    let harness = Harness::sqlite("");
    woken_by_a_commit(&harness.url()).await;
}

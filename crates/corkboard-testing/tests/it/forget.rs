//! Forgotten content is in no state, revision, snapshot or file. Everything else is unchanged.

use std::path::Path;
use std::time::Duration;

use corkboard::boards::{BoardItem, NewBoard, NewDecision, NewTask};
use corkboard::store::Cursor;
use corkboard::tokens::Grants;
use corkboard::{
    Actor, ActorKind, AgentEvent, AgentMemory, Conversations, Corkboard, EntryMetadata, Options, Retention, Role,
    SnapshotPolicy, TextPlace, TokenRequest, Watched,
};
use corkboard_core::{AgentId, Limits, NoteId, SpaceId};
use corkboard_testing::Harness;
use corkboard_testing::servers::TestServer;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");
const SECRET: &str = "hunter2-correct-horse-battery";

/// A history with the secret everywhere: in values, appended text, tags, metadata, scopes, merges, a restored snapshot
/// and notes; and with content that must stay.
async fn history(agent: &AgentMemory) {
    let memory = agent.working();
    memory.set("kept", "stays").await.unwrap();
    for round in 0..10 {
        memory.set("password", &format!("{SECRET}-{round}")).await.unwrap();
    }
    let tagged = EntryMetadata {
        tags: Some(vec![format!("tag-{SECRET}")]),
        custom: Some([("why".to_owned(), SECRET.into())].into_iter().collect()),
        session: Some(format!("session-{SECRET}")),
        ..EntryMetadata::default()
    };
    memory.set("password", SECRET).metadata(tagged).await.unwrap();
    memory.append("password", &format!(" and {SECRET}")).await.unwrap();
    let scope = memory.create_durable_scope("task").await.unwrap();
    scope.set("password", &vec![SECRET]).await.unwrap();
    scope.merge_to_parent(true).await.unwrap();
    let snapshot = agent.snapshot().await.unwrap();
    memory.remove("password").await.unwrap();
    agent.restore(snapshot).await.unwrap();
    memory.set("kept", "stays still").await.unwrap();
}

async fn log_text(harness: &Harness, agent: &str) -> String {
    let store = harness.open().await;
    let space = SpaceId::agent(&AgentId::new(agent, &Limits::default()).unwrap());
    let loaded = store.load(&space).await.unwrap();
    let mut text = loaded.snapshot.map(|snapshot| String::from_utf8(snapshot.body).unwrap()).unwrap_or_default();
    let mut cursor = Cursor { rev: 0, commit: None };
    loop {
        let page = store.read_after(&space, cursor, 1000).await.unwrap();
        let Some(last) = page.records.last() else { return text };
        cursor = Cursor { rev: last.rev, commit: None };
        page.records.iter().for_each(|record| text.push_str(std::str::from_utf8(&record.body).unwrap()));
    }
}

fn harnesses() -> Vec<Harness> {
    vec![
        Harness::memory(),
        Harness::file(WORKER),
        Harness::sqlite(WORKER),
        Harness::redis(WORKER),
        Harness::postgres(WORKER),
    ]
}

fn eager_snapshots() -> Options {
    Options { snapshots: SnapshotPolicy { events: 5, bytes: u64::MAX }, ..Options::default() }
}

#[tokio::test]
async fn a_forgotten_value_is_in_no_revision_and_no_snapshot() {
    for harness in harnesses() {
        let corkboard = harness.corkboard_with(eager_snapshots()).await;
        let agent = corkboard.agent("forgetful").unwrap();
        history(&agent).await;
        assert!(log_text(&harness, "forgetful").await.contains(SECRET), "the history should contain the secret");
        let rev = agent.rev().await.unwrap();
        let forgotten = agent.forget("password").await.unwrap();
        assert_eq!((forgotten.removed, agent.rev().await.unwrap()), (2, rev + 1));
        assert!(forgotten.revisions >= 14, "{forgotten:?}");
        let text = log_text(&harness, "forgetful").await;
        assert!(!text.contains(SECRET) && text.contains("stays still"));
        assert_eq!(agent.working().get::<String>("password").await.unwrap(), None);
        // Reading the log from the beginning gives the same memory.
        let fresh = harness.corkboard().await;
        let read = fresh.agent("forgetful").unwrap().snapshot().await.unwrap();
        assert_eq!(read.memory, agent.snapshot().await.unwrap().memory);
        assert_eq!(fresh.check().await.unwrap(), [""; 0]);
        // A repeat has nothing to do.
        let again = agent.forget("password").await.unwrap();
        assert_eq!((again.removed, again.revisions), (0, 0));
    }
}

#[tokio::test]
async fn a_value_removed_long_ago_is_forgotten_too() {
    for harness in harnesses() {
        let corkboard = harness.corkboard().await;
        let agent = corkboard.agent("forgetful").unwrap();
        agent.working().set("password", SECRET).await.unwrap();
        agent.working().remove("password").await.unwrap();
        assert_eq!(agent.forget("password").await.unwrap().revisions, 1);
        assert!(!log_text(&harness, "forgetful").await.contains(SECRET));
    }
}

#[tokio::test]
async fn a_renamed_entry_is_forgotten_under_all_its_keys() {
    for harness in harnesses() {
        let corkboard = harness.corkboard_with(eager_snapshots()).await;
        let agent = corkboard.agent("forgetful").unwrap();
        let memory = agent.working();
        memory.set("draft", SECRET).await.unwrap();
        memory.append("draft", SECRET).await.unwrap();
        memory.batch().rename("draft", "plan").append("plan", SECRET).await.unwrap();
        memory.set("draft", "stays").await.unwrap();
        memory.append("draft", " still").await.unwrap();
        assert!(log_text(&harness, "forgetful").await.contains(SECRET), "the history should contain the secret");
        assert_eq!(agent.forget("plan").await.unwrap().removed, 1);
        let text = log_text(&harness, "forgetful").await;
        assert!(!text.contains(SECRET) && text.contains("stays"), "{text}");
        assert_eq!(memory.get::<String>("draft").await.unwrap().as_deref(), Some("stays still"));
        let fresh = harness.corkboard().await;
        let read = fresh.agent("forgetful").unwrap().snapshot().await.unwrap();
        assert_eq!(read.memory, agent.snapshot().await.unwrap().memory);
        assert_eq!(fresh.check().await.unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn forgetting_a_note_removes_all_notes_with_the_same_text() {
    for harness in harnesses() {
        let corkboard = harness.corkboard().await;
        let agent = corkboard.agent("forgetful").unwrap();
        let memory = agent.working();
        memory.add_note("stays").await.unwrap();
        let scope = memory.create_durable_scope("task").await.unwrap();
        scope.add_note(SECRET).await.unwrap();
        scope.merge_to_parent(false).await.unwrap();
        let ephemeral = memory.create_scope("jotting").await.unwrap();
        ephemeral.add_note(SECRET).await.unwrap();
        ephemeral.add_note("jotted").await.unwrap();
        let copy = memory.notes().await.unwrap().into_iter().find(|note| &*note.text == SECRET).unwrap();
        let forgotten = agent.forget_note(copy.id).await.unwrap();
        assert_eq!((forgotten.removed, forgotten.revisions), (3, 2));
        assert!(!log_text(&harness, "forgetful").await.contains(SECRET));
        let texts = |notes: Vec<corkboard::Note>| notes.iter().map(|note| note.text.to_string()).collect::<Vec<_>>();
        assert_eq!(texts(memory.notes().await.unwrap()), ["stays"]);
        assert_eq!(texts(scope.notes().await.unwrap()), [""; 0]);
        assert_eq!(texts(ephemeral.notes().await.unwrap()), ["jotted"]);
    }
}

#[tokio::test]
async fn forgetting_touches_no_other_agent_and_no_watcher_notices() {
    for harness in harnesses() {
        let corkboard = harness.corkboard().await;
        let (agent, other) = (corkboard.agent("forgetful").unwrap(), corkboard.agent("other").unwrap());
        other.working().set("password", SECRET).await.unwrap();
        agent.working().set("password", SECRET).await.unwrap();
        let mut watch = agent.watch(1).await.unwrap();
        agent.forget("password").await.unwrap();
        agent.working().set("after", &1).await.unwrap();
        for expected in [2, 3] {
            let corkboard::Watched::Revision { rev, .. } = watch.next().await.unwrap() else {
                panic!("expected a revision, found a bookmark")
            };
            assert_eq!(rev, expected);
        }
        assert_eq!(other.working().get::<String>("password").await.unwrap().as_deref(), Some(SECRET));
    }
}

#[tokio::test]
async fn another_process_with_an_old_state_restores_nothing() {
    for harness in harnesses() {
        let (here, there) = (harness.corkboard().await, harness.corkboard_with(eager_snapshots()).await);
        let (ours, theirs) = (here.agent("forgetful").unwrap(), there.agent("forgetful").unwrap());
        ours.working().set("password", SECRET).await.unwrap();
        assert_eq!(theirs.working().get::<String>("password").await.unwrap().as_deref(), Some(SECRET));
        ours.forget("password").await.unwrap();
        for index in 0..12 {
            theirs.working().set("other", &index).await.unwrap();
        }
        assert_eq!(theirs.working().get::<String>("password").await.unwrap(), None);
        there.close().await.unwrap();
        assert!(!log_text(&harness, "forgetful").await.contains(SECRET));
    }
}

/// A write after forgetting is new content. The log and the state must agree on it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_concurrent_write_of_another_process_stays() {
    let harness = Harness::sqlite(WORKER);
    let (here, there) = (harness.corkboard().await, harness.corkboard().await);
    let (ours, theirs) = (here.agent("forgetful").unwrap(), there.agent("forgetful").unwrap());
    let (mut met, mut dice) = (0, corkboard_testing::dice());
    for round in 0..60 {
        let delay = Duration::from_micros(dice.u64(0..20_000));
        let write = async {
            tokio::time::sleep(delay).await;
            theirs.working().set("password", &format!("{SECRET}-{round}")).await.unwrap()
        };
        let (forgotten, written) = tokio::join!(ours.forget("password").into_future(), write);
        forgotten.unwrap();
        let state = ours.working().get::<String>("password").await.unwrap();
        met += u32::from(state.is_some());
        assert_eq!(logged(&ours, written.version).await, state, "round {round}, {delay:?}");
    }
    assert!(met > 0, "some writes should come after the forgetting");
}

/// The value that a revision set according to the log, unless it was removed later.
async fn logged(agent: &AgentMemory, version: u64) -> Option<String> {
    let mut logged = None;
    let mut watch = agent.watch(version - 1).await.unwrap();
    let last = agent.rev().await.unwrap();
    loop {
        let Watched::Revision { rev, commit, .. } = watch.next().await.unwrap() else {
            panic!("the watch should return every revision")
        };
        for event in &commit.events {
            match event {
                AgentEvent::EntrySet { entry, .. } => logged = Some(entry.value.parse::<String>().unwrap()),
                AgentEvent::EntryRemoved { .. } => logged = None,
                _ => {}
            }
        }
        if rev == last {
            return logged;
        }
    }
}

#[tokio::test]
async fn forgetting_covers_the_rest_of_a_trimmed_log() {
    let harness = Harness::sqlite(WORKER);
    let corkboard =
        harness.corkboard_with(Options { retention: Some(Retention::Revisions(3)), ..eager_snapshots() }).await;
    let agent = corkboard.agent("forgetful").unwrap();
    for index in 0..30 {
        agent.working().set("password", &format!("{SECRET}-{index}")).await.unwrap();
    }
    assert_eq!(agent.forget("password").await.unwrap().removed, 1);
    let raw = raw_files(&harness);
    assert!(!raw.contains(SECRET));
}

/// Every byte of every file of a store, while it is open.
fn raw_files(harness: &Harness) -> String {
    let url = harness.url();
    let (scheme, path) = url.split_once(':').unwrap();
    let path = Path::new(path);
    raw(if scheme == "sqlite" { path.parent().unwrap() } else { path })
}

/// Every byte of every file in a folder and below.
fn raw(folder: &Path) -> String {
    let mut text = String::new();
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if file.is_dir() {
            text.push_str(&raw(&file));
        } else if file.is_file() {
            // A server may have removed the file meanwhile.
            text.push_str(&String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()));
        }
    }
    text
}

/// Stores the secret in every way, finds it in the raw bytes, forgets it, and no longer finds it.
async fn forgotten_in_raw_bytes(corkboard: &Corkboard, raw: impl Fn() -> String) {
    let agent = corkboard.agent("forgetful").unwrap();
    history(&agent).await;
    // Long enough to need separate pages and more than one part.
    for _ in 0..8 {
        agent.working().set("password", &SECRET.repeat(10_000)).await.unwrap();
    }
    let snapshot = agent.snapshot().await.unwrap();
    agent.restore(snapshot).await.unwrap();
    agent.forget("password").await.unwrap();
    agent.working().set("kept", "stays for good").await.unwrap();
    let bytes = raw();
    assert!(!bytes.contains(SECRET), "{} bytes", bytes.len());
    assert!(bytes.contains("stays for good"), "kept content should be found in the raw bytes");
    assert!(corkboard.check().await.unwrap().is_empty());
}

#[tokio::test]
async fn nothing_forgotten_is_left_in_the_folder_of_files() {
    let harness = Harness::file(WORKER);
    let corkboard = harness.corkboard_with(eager_snapshots()).await;
    corkboard.agent("forgetful").unwrap().working().set("password", SECRET).await.unwrap();
    assert!(raw_files(&harness).contains(SECRET));
    forgotten_in_raw_bytes(&corkboard, || raw_files(&harness)).await;
}

#[tokio::test]
async fn nothing_forgotten_is_left_in_the_files_of_redis() {
    let server = TestServer::redis();
    let corkboard = Corkboard::open_with(&server.url(), eager_snapshots()).await.unwrap();
    corkboard.agent("forgetful").unwrap().working().set("password", SECRET).await.unwrap();
    assert!(raw(server.folder()).contains(SECRET));
    forgotten_in_raw_bytes(&corkboard, || raw(server.folder())).await;
}

#[tokio::test]
async fn nothing_forgotten_is_left_in_the_tables_of_postgres() {
    let server = TestServer::postgres();
    let tables = server.folder().join("data/base");
    let corkboard = Corkboard::open_with(&server.url(), eager_snapshots()).await.unwrap();
    // The write-ahead log and the free space of the tables' files keep the secret for a while, which the documentation
    // says. After an operator has cleared them, only the tables are left, once the server has written its memory to
    // them.
    forgotten_in_raw_bytes(&corkboard, || {
        server.vacuum_full();
        server.checkpoint();
        raw(&tables)
    })
    .await;
}

#[tokio::test]
async fn nothing_forgotten_is_left_in_sqlites_files() {
    let harness = Harness::sqlite(WORKER);
    let corkboard = harness.corkboard_with(eager_snapshots()).await;
    let agent = corkboard.agent("forgetful").unwrap();
    history(&agent).await;
    // Long enough to need separate pages.
    agent.working().set("password", &SECRET.repeat(2000)).await.unwrap();
    assert!(raw_files(&harness).contains(SECRET));
    agent.forget("password").await.unwrap();
    let raw = raw_files(&harness);
    assert!(!raw.contains(SECRET) && raw.contains("stays still"));
}

/// An open read transaction keeps the write-ahead log from being emptied, so forgetting cannot end before the other
/// process has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetting_in_sqlite_does_not_stop_other_writers() {
    let harness = Harness::sqlite(WORKER);
    let patient = Options { busy_timeout: Duration::from_secs(300), ..Options::default() };
    let (here, there) = (harness.corkboard_with(patient.clone()).await, harness.corkboard_with(patient).await);
    let (ours, theirs) = (here.agent("forgetful").unwrap(), there.agent("busy").unwrap().working());
    ours.working().set("password", SECRET).await.unwrap();
    for number in 0..30 {
        here.agent("large").unwrap().working().set(&format!("key-{number}"), &"x".repeat(290_000)).await.unwrap();
    }
    theirs.set("number", &0).await.unwrap();
    let url = harness.url();
    let path = url.strip_prefix("sqlite:").unwrap();
    let log_length = || std::fs::metadata(format!("{path}-wal")).unwrap().len();
    let reader = rusqlite::Connection::open(path).unwrap();
    let pages = |reader: &rusqlite::Connection| reader.query_row("PRAGMA page_count", [], |row| row.get::<_, u64>(0));
    reader.execute_batch("BEGIN").unwrap();
    let database = pages(&reader).unwrap() * 4096;
    assert!(database > 30 * 290_000, "{database} bytes");

    let before = log_length();
    let forgetting = tokio::spawn(async move { ours.forget("password").await });
    in_time(async {
        while log_text(&harness, "forgetful").await.contains(SECRET) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for number in 0..50 {
        theirs.set("number", &number).await.unwrap();
    }
    assert!(!forgetting.is_finished(), "forgetting should wait while the log contains the secret");
    let written = log_length() - before;
    assert!(written < database / 2, "{written} bytes were written to wipe one entry out of {database}");
    reader.execute_batch("COMMIT").unwrap();
    in_time(forgetting).await.unwrap().unwrap();
    assert!(!raw_files(&harness).contains(SECRET));
}

#[tokio::test]
async fn a_deleted_agent_is_gone_from_sqlites_files_once_it_is_scrubbed() {
    let harness = Harness::sqlite(WORKER);
    let corkboard = harness.corkboard().await;
    history(&corkboard.agent("forgetful").unwrap()).await;
    assert!(corkboard.delete_agent("forgetful").hard().await.unwrap());
    assert!(!raw_files(&harness).contains(SECRET));
    assert_eq!(agents(&corkboard).await, 0);
}

async fn agents(corkboard: &Corkboard) -> usize {
    corkboard.agents(None, 10).await.unwrap().len()
}

/// Forgetting missing content finds nothing and ends at once.
#[tokio::test]
async fn forgetting_missing_content_ends_at_once() {
    let harnesses = [
        Harness::memory(),
        Harness::file(WORKER),
        Harness::sqlite(WORKER),
        Harness::postgres(WORKER),
        Harness::redis(WORKER),
    ];
    for harness in harnesses {
        let corkboard = harness.corkboard().await;
        let agent = corkboard.agent("nobody").unwrap();
        let forgotten = in_time(agent.forget("anything")).await.unwrap();
        assert_eq!((forgotten.removed, forgotten.revisions), (0, 0), "{}", corkboard.store_info().kind);
        in_time(agent.forget_note(NoteId(1))).await.unwrap();
        agent.working().set("a", &1).await.unwrap();
        assert!(corkboard.delete_agent("nobody").await.unwrap());
        let forgotten = in_time(agent.forget("a")).await.unwrap();
        assert_eq!((forgotten.removed, forgotten.revisions), (0, 0), "{}", corkboard.store_info().kind);
        assert_eq!(agent.working().get::<u32>("a").await.unwrap(), None);
    }
}

async fn in_time<T>(work: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("the work should finish within a minute")
}

/// The secret in present values, overwritten values and values that only appends put together; on agents, in a shared
/// conversation, on a board, in a core, and in a learning that was promoted.
async fn secret_everywhere(corkboard: &Corkboard) {
    let agent = corkboard.agent("forgetful").unwrap();
    history(&agent).await;
    let memory = agent.working();
    memory.set("overwritten", SECRET).await.unwrap();
    memory.set("overwritten", "stays").await.unwrap();
    let (first, second) = SECRET.split_at(7);
    memory.set("appended", first).await.unwrap();
    memory.append("appended", second).await.unwrap();
    memory.set("joined", &format!("kept? {first}")).await.unwrap();
    memory.append("joined", second).await.unwrap();
    memory.set("joined", "stays").await.unwrap();
    memory.add_note(SECRET).await.unwrap();
    let block = format!(
        "CURRENT_PROGRESS:\n  In Progress:\n    - find {SECRET}\n    - kept bullet\nKEY_LEARNINGS:\n  ADD:\n    - because {SECRET}: learned\n    - because of that: kept learning\n"
    );
    agent.notebook("main").unwrap().apply(&block).await.unwrap();
    let conversation = agent.conversation("c-1").unwrap();
    conversation.set("said", SECRET).await.unwrap();
    conversation.set("other", "kept in the conversation").await.unwrap();
    let long_term = corkboard.core("rules").unwrap();
    long_term.add(format!("the password is {SECRET}")).await.unwrap();
    long_term.add("kept rule").await.unwrap();
    let new = NewBoard {
        name: format!("Find {SECRET}"),
        goal: SECRET.into(),
        cores: vec!["rules".into()],
        ..NewBoard::default()
    };
    let board = corkboard.create_board(new).id("launch").await.unwrap();
    let task = NewTask { description: format!("use {SECRET}"), ..NewTask::new("kept title") };
    board.add_tasks(vec![task], vec![]).await.unwrap();
    let rationale = format!("because {SECRET} is a very long word");
    let decision =
        NewDecision { question: "Which?".into(), choice: "kept choice".into(), rationale, ..NewDecision::default() };
    let decision = board.record_decision(decision).await.unwrap();
    board.promote_learning(format!("{decision}").parse().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_text_is_forgotten_everywhere_in_a_store() {
    for harness in harnesses() {
        let shared = Options { conversations: Conversations::Shared, ..eager_snapshots() };
        let corkboard = harness.corkboard_with(shared.clone()).await;
        secret_everywhere(&corkboard).await;
        let brief = corkboard.agent("forgetful").unwrap().working().create_scope("brief").await.unwrap();
        brief.set("brief", SECRET).await.unwrap();
        let has_files = matches!(corkboard.store_info().kind, "file" | "sqlite");
        assert!(!has_files || raw_files(&harness).contains(SECRET));
        let found = corkboard.find_text(SECRET).await.unwrap();
        for (space, item) in [
            ("agent/forgetful", "entry password"),
            ("agent/forgetful", "entry overwritten"),
            ("agent/forgetful", "entry appended"),
            ("agent/forgetful", "entry joined"),
            ("agent/forgetful", "entry brief in an ephemeral scope"),
            ("agent/forgetful", "note 1"),
            ("agent/forgetful", "notebook main KL-1"),
            ("agent/forgetful", "notebook main progress"),
            ("conversation/forgetful/c-1", "entry said"),
            ("board/launch", "board"),
            ("board/launch", "T-1"),
            ("board/launch", "D-1"),
            ("board/launch", "learning:D-1"),
            ("core/rules", "E-1"),
            ("core/rules", "E-3"),
        ] {
            assert!(
                found.items.iter().any(|found| found.space == space && found.item == item),
                "{space} {item}: {found:#?}"
            );
        }
        let of = |item: &str| found.items.iter().find(|found| found.item == item).unwrap();
        assert_eq!(
            (of("entry overwritten").place, of("entry joined").place, of("entry password").place),
            (TextPlace::History, TextPlace::History, TextPlace::Current)
        );
        assert!(of("T-1").snippet.contains(&format!("use {SECRET}")));
        assert_eq!((found.removed, found.revisions), (0, 0));

        let forgotten = corkboard.forget_text(SECRET).await.unwrap();
        assert_eq!((forgotten.found, forgotten.items), (found.found, found.items));
        assert!(forgotten.removed >= 9 && forgotten.revisions > 20, "{} {}", forgotten.removed, forgotten.revisions);
        if has_files {
            assert!(!raw_files(&harness).contains(SECRET), "{}", corkboard.store_info().kind);
        }
        let log = log_text(&harness, "forgetful").await;
        assert!(!log.contains(SECRET) && !log.contains("kept? "), "{}", corkboard.store_info().kind);
        assert_eq!(brief.get::<String>("brief").await.unwrap(), None);
        let again = corkboard.forget_text(SECRET).await.unwrap();
        assert_eq!((again.found, again.removed, again.revisions), (0, 0, 0));

        // Everything else is there, also for a process that reads the log from its start.
        let fresh = harness.corkboard_with(shared).await;
        for corkboard in [&corkboard, &fresh] {
            let agent = corkboard.agent("forgetful").unwrap();
            assert_eq!(agent.working().get::<String>("kept").await.unwrap().as_deref(), Some("stays still"));
            assert_eq!(agent.working().get::<String>("overwritten").await.unwrap().as_deref(), Some("stays"));
            assert_eq!(agent.working().get::<String>("joined").await.unwrap().as_deref(), Some("stays"));
            let conversation = agent.conversation("c-1").unwrap();
            assert_eq!(conversation.get::<String>("other").await.unwrap().as_deref(), Some("kept in the conversation"));
            let board = corkboard.board("launch").unwrap().view().await.unwrap();
            assert_eq!(&*board.state().tasks().next().unwrap().title, "kept title");
            assert_eq!(&*board.state().tasks().next().unwrap().description, "[forgotten]");
            assert_eq!(board.state().decisions().next().unwrap().choice, "kept choice");
            let core = corkboard.core("rules").unwrap();
            assert_eq!(core.search("password").await.unwrap().len(), 0);
            assert_eq!(core.search("kept rule").await.unwrap().len(), 1);
            let boards = corkboard.boards(None, 10).await.unwrap();
            assert!(!format!("{boards:?}").contains(SECRET), "{boards:?}");
            assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
        }
    }
}

#[tokio::test]
async fn names_with_the_text_are_reported_and_stay() {
    let corkboard = Harness::memory().corkboard().await;
    corkboard.agent("hunter2-fan").unwrap().working().set("of-hunter2", "kept").await.unwrap();
    let forgotten = corkboard.forget_text("hunter2").await.unwrap();
    let places: Vec<_> = forgotten.items.iter().map(|item| (item.item.as_str(), item.place)).collect();
    assert_eq!(places, [("a name in revision 1", TextPlace::Name), ("the agent's name", TextPlace::Name)]);
    assert_eq!((forgotten.removed, forgotten.revisions, forgotten.kept().count()), (0, 0, 2));
    for text in ["", "ab", "  a "] {
        let refused = corkboard.forget_text(text).await.unwrap_err();
        assert_eq!(refused.to_string(), "the text to forget must have at least 3 characters");
    }
    let worker = corkboard.acting_as(Actor::new("ann", ActorKind::Agent, Role::Worker));
    assert_eq!(worker.find_text("hunter2").await.unwrap_err().code(), "role_denied");
}

#[tokio::test]
async fn conversations_of_the_process_labels_of_tokens_and_activity_are_searched() {
    let retention = Some(Retention::Revisions(3));
    let corkboard = Harness::memory().corkboard_with(Options { retention, ..eager_snapshots() }).await;
    let agent = corkboard.agent("ann").unwrap();
    agent.conversation("c-1").unwrap().set("said", SECRET).await.unwrap();
    agent.working().set(SECRET, "a secret key").await.unwrap();
    agent.working().remove(SECRET).await.unwrap();
    // The log is trimmed in the background until only the record of activity has the key.
    let is_trimmed = async || {
        agent.working().set("round", "another").await.unwrap();
        corkboard.find_text(SECRET).await.unwrap().items.iter().any(|found| found.item == "a name in the current state")
    };
    while !is_trimmed().await {}
    let token = TokenRequest {
        principal: "ann".into(),
        kind: ActorKind::Agent,
        role: Role::Worker,
        grants: Grants::default(),
        expires_at: None,
        label: format!("for {SECRET}"),
    };
    corkboard.tokens().create(token).await.unwrap();
    let found = corkboard.forget_text(SECRET).await.unwrap();
    let items: Vec<_> = found.items.iter().map(|found| (found.space.as_str(), found.item.as_str())).collect();
    assert!(items.contains(&("conversation/ann/c-1", "entry said")), "{items:?}");
    assert!(items.contains(&("agent/ann", "a name in the current state")), "{items:?}");
    assert!(
        items.iter().any(|(space, item)| space.starts_with("tokens/") && item.starts_with("a name in")),
        "{items:?}"
    );
    assert_eq!(found.removed, 1);
    assert_eq!(agent.conversation("c-1").unwrap().get::<String>("said").await.unwrap(), None);
}

#[tokio::test]
async fn a_record_of_a_board_and_an_entry_of_a_core_are_forgotten() {
    for harness in [Harness::file(WORKER), Harness::sqlite(WORKER)] {
        let corkboard = harness.corkboard_with(eager_snapshots()).await;
        let board =
            corkboard.create_board(NewBoard { name: "b".into(), cores: vec!["rules".into()], ..NewBoard::default() });
        let board = board.id("launch").await.unwrap();
        let rationale = format!("because {SECRET} is a very long word");
        let decision =
            NewDecision { question: "Which?".into(), choice: "this".into(), rationale, ..NewDecision::default() };
        let decision = board.record_decision(decision).await.unwrap();
        board.promote_learning(format!("{decision}").parse().unwrap()).await.unwrap();
        let forgotten = board.forget_record(BoardItem::Decision(decision)).await.unwrap();
        assert_eq!((forgotten.removed, forgotten.copies), (1, vec!["rules".to_owned()]));
        assert!(raw_files(&harness).contains(SECRET), "the copy in the core stays");
        let core = corkboard.core("rules").unwrap();
        let entry = core.entries().await.unwrap().items[0].id;
        let forgotten = core.forget(entry, None).hard().await.unwrap();
        assert_eq!((forgotten.removed, forgotten.revisions), (1, 1));
        assert!(!raw_files(&harness).contains(SECRET));
        let again = (
            board.forget_record(BoardItem::Decision(decision)).await.unwrap(),
            core.forget(entry, None).hard().await.unwrap(),
        );
        assert_eq!((again.0.removed, again.0.revisions, again.1.removed, again.1.revisions), (0, 0, 0, 0));
    }
}

//! Vectors of a configured embedding model: computed in the background, stored, resumed, and erased with their texts.

use std::sync::Arc;
use std::time::Duration;

use corkboard::boards::{NewBoard, NewDiscovery};
use corkboard::cores::NewCoreEntry;
use corkboard::embed::{Embedder, Reindex, VectorStatus};
use corkboard::model::{ModelConfig, ModelRetries, OpenAiEmbedder, Provider};
use corkboard::store::{Cursor, Store};
use corkboard::{AgentMemory, Corkboard, Options, SearchAnswer, SpaceId, SpaceKind};
use corkboard_testing::{EmbeddingServer, Embeds, Harness};

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");
const SECRET: &str = "the password is hunter2";

fn harnesses() -> Vec<Harness> {
    vec![
        Harness::memory(),
        Harness::file(WORKER),
        Harness::sqlite(WORKER),
        Harness::redis(WORKER),
        Harness::postgres(WORKER),
    ]
}

fn embedder(server: &EmbeddingServer, model: &str) -> OpenAiEmbedder {
    let mut config = ModelConfig::new(Provider::OpenAi, model).url(server.url());
    config.retries = ModelRetries::NONE;
    OpenAiEmbedder::new(config).unwrap()
}

fn options(server: &EmbeddingServer, model: &str) -> Options {
    let embedder: Option<Arc<dyn Embedder>> = Some(Arc::new(embedder(server, model)));
    Options { embedder, embedder_query_timeout: Duration::from_secs(60), ..Options::default() }
}

async fn status(corkboard: &Corkboard, kind: SpaceKind, name: &str) -> VectorStatus {
    corkboard.log(kind, name).unwrap().vector_status().await.unwrap()
}

/// Waits until the state of a space's vectors is as expected.
async fn until(
    corkboard: &Corkboard,
    (kind, name): (SpaceKind, &str),
    what: &str,
    holds: impl Fn(&VectorStatus) -> bool,
) -> VectorStatus {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    loop {
        let status = status(corkboard, kind, name).await;
        if holds(&status) {
            return status;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within 120 s: {status:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

const AGENT: (SpaceKind, &str) = (SpaceKind::Agent, "ada");

async fn until_complete(corkboard: &Corkboard, space: (SpaceKind, &str)) -> VectorStatus {
    until(corkboard, space, "all have vectors", |status| status.without_vector == 0).await
}

async fn search(agent: &AgentMemory, query: &str) -> (Vec<String>, SearchAnswer) {
    let answer = agent.search(query).answer().await.unwrap();
    (answer.hits.iter().map(|hit| hit.item.name()).collect(), answer)
}

/// The bodies of all records of a space's vectors.
async fn stored(store: &dyn Store, space: &str) -> Vec<Vec<u8>> {
    let space = SpaceId::from_stored(&format!("vectors/{space}"));
    let born = store.load(&space).await.unwrap().born;
    let mut cursor = Cursor::from(born);
    let mut bodies = Vec::new();
    loop {
        let page = store.read_after(&space, cursor, 1000).await.unwrap();
        let Some(last) = page.records.last() else { return bodies };
        cursor = Cursor { rev: last.rev, commit: Some(last.commit) };
        bodies.extend(page.records.into_iter().map(|record| record.body));
    }
}

/// The part of a record that identifies the text of its first vector.
fn first_hash(record: &[u8]) -> Vec<u8> {
    record[5..21].to_vec()
}

fn contain(bodies: &[Vec<u8>], part: &[u8]) -> bool {
    bodies.iter().any(|body| body.windows(part.len()).any(|window| window == part))
}

#[tokio::test]
async fn texts_of_other_words_are_found_by_the_configured_model() {
    for harness in harnesses() {
        let server = EmbeddingServer::start().await;
        let corkboard = harness.corkboard_with(options(&server, "m")).await;
        let agent = corkboard.agent("ada").unwrap();
        agent.working().set("car", "tyres of an automobile").await.unwrap();
        agent.working().set("lunch", "The soup needs salt").await.unwrap();
        agent.working().add_note("tea is hot").await.unwrap();
        let done = until_complete(&corkboard, AGENT).await;
        assert_eq!((done.model.as_deref(), done.entries, done.problem), (Some("m"), 3, None));
        let (names, answer) = search(&agent, "vehicle wheels").await;
        assert_eq!(names, ["car"]);
        let report = answer.embedder.unwrap();
        assert_eq!((report.model.as_str(), report.without_vector, report.problem), ("m", 0, None));
        let explained = agent.search("vehicle wheels").explain(true).await.unwrap();
        assert!(explained[0].explanation_text().starts_with("meaning "), "{}", explained[0].explanation_text());
        let words = agent.search("vehicle wheels").words_only(true).answer().await.unwrap();
        assert_eq!((words.hits.len(), words.embedder), (0, None));

        // A new text is computed alone, and a text that was there before not at all.
        let before = server.texts().len();
        agent.working().set("bike", "tyres of a bicycle").await.unwrap();
        agent.working().set("copy", "The soup needs salt").await.unwrap();
        until_complete(&corkboard, AGENT).await;
        assert_eq!(server.texts().len(), before + 1, "{:?}", server.texts());

        // The vectors are stored, so another process need not compute them.
        corkboard.close().await.unwrap();
        let again = harness.corkboard_with(options(&server, "m")).await;
        let (names, answer) = search(&again.agent("ada").unwrap(), "vehicle wheels").await;
        assert!(names.contains(&"car".into()) && names.contains(&"bike".into()), "{names:?}");
        assert_eq!(answer.embedder.unwrap().without_vector, 0);
        let texts = server.texts();
        let cars = texts.iter().filter(|text| text.contains("automobile")).count();
        assert_eq!(cars, 1, "{texts:?}");
        assert_eq!(again.check().await.unwrap(), [""; 0]);
        again.close().await.unwrap();
    }
}

#[tokio::test]
async fn boards_and_cores_have_vectors_too() {
    let server = EmbeddingServer::start().await;
    let corkboard = Harness::memory().corkboard_with(options(&server, "m")).await;
    let board = corkboard.create_board(NewBoard { name: "B".into(), ..NewBoard::default() }).await.unwrap();
    let name = board.id().as_str().to_owned();
    board
        .record_discovery(NewDiscovery { content: "tyres of an automobile".into(), ..NewDiscovery::default() })
        .await
        .unwrap();
    let core = corkboard.core("rules").unwrap();
    let entry = NewCoreEntry { content: "tyres of an automobile".into(), ..NewCoreEntry::default() };
    core.add(entry).await.unwrap();
    until_complete(&corkboard, (SpaceKind::Board, &name)).await;
    until_complete(&corkboard, (SpaceKind::Core, "rules")).await;
    for search in [board.search("vehicle wheels"), core.search("vehicle wheels")] {
        let answer = search.answer().await.unwrap();
        assert_eq!((answer.hits.len(), answer.embedder.unwrap().without_vector), (1, 0));
    }
    assert!(corkboard.log(SpaceKind::Tokens, "all").unwrap().vector_status().await.is_err());
}

#[tokio::test]
async fn vectors_go_with_their_texts() {
    for harness in harnesses() {
        let server = EmbeddingServer::start().await;
        let store = harness.open().await;
        let corkboard = Corkboard::with_store(store.clone(), options(&server, "m"));
        let agent = corkboard.agent("ada").unwrap();
        agent.working().set("password", SECRET).await.unwrap();
        until_complete(&corkboard, AGENT).await;
        let records = stored(&*store, "agent/ada").await;
        assert_eq!(records.len(), 2, "the model's name, and a vector");
        let secret = first_hash(&records[1]);
        agent.working().set("soup", "needs salt").await.unwrap();
        until_complete(&corkboard, AGENT).await;
        assert!(contain(&stored(&*store, "agent/ada").await, &secret));

        // Removed: the next pass removes the vector, and only that one.
        agent.working().remove("password").await.unwrap();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
        while contain(&stored(&*store, "agent/ada").await, &secret) {
            assert!(tokio::time::Instant::now() < deadline, "the vector of a removed text stayed");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(until_complete(&corkboard, AGENT).await.entries, 1);
        assert_eq!(server.texts().iter().filter(|text| *text == "needs salt").count(), 1);

        // Forgotten: no vector is left when the call returns, and the others are computed again.
        agent.working().set("password", SECRET).await.unwrap();
        until_complete(&corkboard, AGENT).await;
        assert!(contain(&stored(&*store, "agent/ada").await, &secret));
        agent.forget("password").await.unwrap();
        assert!(!contain(&stored(&*store, "agent/ada").await, &secret), "the vector of a forgotten text stayed");
        assert_eq!(until_complete(&corkboard, AGENT).await.entries, 1);

        // Found by its text in the whole store.
        agent.working().add_note(SECRET).await.unwrap();
        until_complete(&corkboard, AGENT).await;
        assert!(contain(&stored(&*store, "agent/ada").await, &secret));
        corkboard.forget_text("hunter2").await.unwrap();
        assert!(!contain(&stored(&*store, "agent/ada").await, &secret));

        // Deleted, with the board and the core.
        let board = corkboard.create_board(NewBoard { name: "B".into(), ..NewBoard::default() }).await.unwrap();
        board.record_discovery(NewDiscovery { content: SECRET.into(), ..NewDiscovery::default() }).await.unwrap();
        let name = board.id().as_str().to_owned();
        until_complete(&corkboard, (SpaceKind::Board, &name)).await;
        assert!(stored(&*store, &format!("board/{name}")).await.len() > 1);
        board.cancel(None).await.unwrap();
        board.discard(Some("nothing to learn".into())).await.unwrap();
        corkboard.purge(&name).await.unwrap();
        assert!(stored(&*store, &format!("board/{name}")).await.is_empty());
        until_complete(&corkboard, AGENT).await;
        assert!(corkboard.delete_agent("ada").await.unwrap());
        assert!(stored(&*store, "agent/ada").await.is_empty());
        assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
        corkboard.close().await.unwrap();
    }
}

/// Also in the bytes of an SQLite file.
#[tokio::test]
async fn forgotten_vectors_leave_no_trace_in_the_file() {
    let (server, folder) = (EmbeddingServer::start().await, tempfile::tempdir().unwrap());
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let corkboard = Corkboard::open_with(&url, options(&server, "m")).await.unwrap();
    let agent = corkboard.agent("ada").unwrap();
    agent.working().set("password", SECRET).await.unwrap();
    until_complete(&corkboard, AGENT).await;
    let store = corkboard::store::open(&url, &Options::default()).await.unwrap();
    let secret = first_hash(&stored(&*store, "agent/ada").await[1]);
    let files = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    assert!(contain(&files(), &secret), "the vector should be in the file at first");
    agent.forget("password").await.unwrap();
    assert!(!contain(&files(), &secret), "the file contains the vector of a forgotten text");
}

#[tokio::test]
async fn a_search_answers_while_the_model_fails() {
    for embeds in [
        Embeds::Failing(500),
        Embeds::Failing(401),
        Embeds::Failing(400),
        Embeds::WithoutNumbers,
        Embeds::Zeros,
        Embeds::TooFew,
        Embeds::WellUpTo(0),
    ] {
        let server = EmbeddingServer::start().await;
        server.set(embeds);
        let mut config = ModelConfig::new(Provider::OpenAi, "m").url(server.url());
        config.retries = ModelRetries::NONE;
        let is_hanging = embeds == Embeds::WellUpTo(0);
        if is_hanging {
            config.timeouts.total = Duration::from_millis(200);
        }
        let query_timeout = if is_hanging { Duration::from_millis(50) } else { Duration::from_secs(60) };
        let embedder: Option<Arc<dyn Embedder>> = Some(Arc::new(OpenAiEmbedder::new(config).unwrap()));
        let options = Options { embedder, embedder_query_timeout: query_timeout, ..Options::default() };
        let store = Harness::memory().open().await;
        let corkboard = Corkboard::with_store(store.clone(), options);
        let agent = corkboard.agent("ada").unwrap();
        agent.working().set("car", "tyres of an automobile").await.unwrap();
        agent.working().set("lunch", "The soup needs salt").await.unwrap();
        let (names, answer) = search(&agent, "soup").await;
        assert_eq!(names, ["lunch"], "{embeds:?}");
        let report = answer.embedder.unwrap();
        assert!(report.problem.is_some() && report.without_vector == 2, "{embeds:?}: {report:?}");
        let failed = until(&corkboard, AGENT, "the failure is reported", |status| status.problem.is_some()).await;
        assert_eq!(failed.without_vector, 2, "{embeds:?}");
        let records = stored(&*store, "agent/ada").await;
        assert!(records.len() <= 1, "{embeds:?}: only the model's name may be stored, not {records:?}");

        server.set(Embeds::Well);
        let done = until_complete(&corkboard, AGENT).await;
        assert_eq!(done.problem, None, "{embeds:?}");
        assert_eq!(search(&agent, "vehicle wheels").await.0, ["car"], "{embeds:?}");
        corkboard.close().await.unwrap();
    }
}

#[tokio::test]
async fn vectors_of_another_length_are_refused() {
    let server = EmbeddingServer::start().await;
    let corkboard = Harness::memory().corkboard_with(options(&server, "m")).await;
    let agent = corkboard.agent("ada").unwrap();
    agent.working().set("car", "tyres of an automobile").await.unwrap();
    until_complete(&corkboard, AGENT).await;
    server.set(Embeds::Shorter);
    let (names, answer) = search(&agent, "tyres").await;
    assert_eq!(names, ["car"]);
    let problem = answer.embedder.unwrap().problem.unwrap();
    assert_eq!(problem, "the embedding model returned a vector of 3 dimensions instead of 32");
    agent.working().set("lunch", "The soup needs salt").await.unwrap();
    let failed = until(&corkboard, AGENT, "the failure is reported", |status| status.problem.is_some()).await;
    assert_eq!((failed.problem, failed.without_vector), (Some(problem), 1));
    // The model did change: everything is computed again.
    let log = corkboard.log(SpaceKind::Agent, "ada").unwrap();
    log.reindex(Reindex::All).await.unwrap();
    until_complete(&corkboard, AGENT).await;
    assert_eq!(search(&agent, "tyres").await.1.embedder.unwrap().problem, None);
}

#[tokio::test]
async fn one_text_that_the_model_refuses_does_not_stop_the_others() {
    let server = EmbeddingServer::start().await;
    let corkboard = Harness::memory().corkboard_with(options(&server, "m")).await;
    let agent = corkboard.agent("ada").unwrap();
    for number in 0..20 {
        let text = if number == 13 { "meaningless".into() } else { format!("text number{number}") };
        agent.working().set(&format!("k{number}"), &text).await.unwrap();
    }
    let done = until(&corkboard, AGENT, "all but one have vectors", |status| status.without_vector == 1).await;
    let done = until(&corkboard, AGENT, "one was refused", |status| status.refused_texts == 1 || done == *status).await;
    assert_eq!((done.entries, done.without_vector), (20, 1));
    until(&corkboard, AGENT, "one was refused", |status| status.refused_texts == 1).await;
    assert_eq!(search(&agent, "meaningless").await.0[0], "k13");
}

#[tokio::test]
async fn an_interrupted_computation_continues_where_it_was() {
    const ENTRIES: usize = 300;
    for harness in harnesses() {
        let server = EmbeddingServer::start().await;
        let store = harness.open().await;
        let plain = Corkboard::with_store(store.clone(), Options::default());
        let memory = plain.agent("ada").unwrap().working();
        let mut batch = memory.batch();
        for number in 0..ENTRIES {
            batch = batch.set(&format!("k{number}"), &format!("text number{number}"));
        }
        batch.await.unwrap();
        // The model stops answering in the middle, and the process ends.
        server.set(Embeds::WellUpTo(ENTRIES / 2));
        let interrupted = Corkboard::with_store(store.clone(), options(&server, "m"));
        let middle = |status: &VectorStatus| status.without_vector < ENTRIES as u64 - 100;
        until(&interrupted, AGENT, "some have vectors", middle).await;
        // Writes do not wait for the model.
        for number in 0..10 {
            interrupted.agent("ada").unwrap().working().set("counter", &number).await.unwrap();
        }
        drop(interrupted);
        let before = server.texts().len();
        assert!(before > 100 && before <= ENTRIES / 2, "{before}");
        server.set(Embeds::Well);
        let next = Corkboard::with_store(store.clone(), options(&server, "m"));
        let done = until_complete(&next, AGENT).await;
        assert_eq!(done.entries, ENTRIES as u64 + 1);
        // The request that was interrupted may have been answered meanwhile, but nobody could store that answer.
        let texts = server.texts();
        let (stored, later) = texts.split_at(before);
        let again: Vec<_> = later.iter().filter(|text| stored.contains(text)).collect();
        assert_eq!(again, Vec::<&String>::new(), "no stored vector should be computed again");
        next.close().await.unwrap();
    }
}

#[tokio::test]
async fn another_model_replaces_the_vectors() {
    for harness in harnesses() {
        let server = EmbeddingServer::start().await;
        let store = harness.open().await;
        let first = Corkboard::with_store(store.clone(), options(&server, "one"));
        first.agent("ada").unwrap().working().set("car", "tyres of an automobile").await.unwrap();
        until_complete(&first, AGENT).await;
        let second = Corkboard::with_store(store.clone(), options(&server, "two"));
        until_complete(&second, AGENT).await;
        assert_eq!(server.texts().iter().filter(|text| text.contains("automobile")).count(), 2);
        let records = stored(&*store, "agent/ada").await;
        assert_eq!(records[0], br#"{"model":"two"}"#);
        // The first process does not replace them again.
        if first.store_info().ownership == corkboard::store::Ownership::Shared {
            first.agent("ada").unwrap().working().set("bike", "tyres of a bicycle").await.unwrap();
            let told = until(&first, AGENT, "the other model is reported", |status| status.problem.is_some()).await;
            let problem = told.problem.unwrap();
            assert_eq!(problem, "another process stores vectors of the embedding model \"two\" here");
            until_complete(&second, AGENT).await;
        }
    }
}

#[tokio::test]
async fn a_log_of_mostly_removed_vectors_is_written_anew() {
    let server = EmbeddingServer::start().await;
    let store = Harness::memory().open().await;
    let corkboard = Corkboard::with_store(store.clone(), options(&server, "m"));
    let memory = corkboard.agent("ada").unwrap().working();
    memory.set("kept", "tyres of an automobile").await.unwrap();
    until_complete(&corkboard, AGENT).await;
    // As if each of many texts had been computed alone.
    let space = SpaceId::from_stored("vectors/agent/ada");
    let vector = stored(&*store, "agent/ada").await[1].clone();
    let mut head = store.head(&space).await.unwrap();
    for number in 0..1100_u64 {
        let mut body = vector.clone();
        body[5..13].copy_from_slice(&number.to_le_bytes());
        let commit = corkboard::CommitId(uuid::Uuid::from_u128(u128::from(number) + 1));
        let record = corkboard::store::Record { rev: head.rev + 1, commit, at: corkboard.time(), body };
        let append = corkboard::store::Append {
            space: space.clone(),
            expected: head,
            records: vec![record],
            next_due: None,
            summary: Vec::new(),
        };
        head = append.new_head();
        store.append(append).await.unwrap();
    }
    memory.set("other", "soup").await.unwrap();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    while stored(&*store, "agent/ada").await.len() != 3 {
        assert!(tokio::time::Instant::now() < deadline, "the log stayed long");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(until_complete(&corkboard, AGENT).await.entries, 2);
    assert_eq!(server.texts().iter().filter(|text| text.contains("automobile")).count(), 1, "it was kept");
}

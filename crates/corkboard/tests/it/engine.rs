//! The engine through its handles: batches, conditions, idempotency keys, saving, eviction, expiry, shutdown, damage.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use corkboard::boards::{NewBoard, NewDiscovery, NewTask, TaskStatus};
use corkboard::store::{Append, Cursor, MemoryStore, Ownership, Record, SqliteStore, Store, StoreError, Trim};
use corkboard::tokens::Grants;
use corkboard::{
    Actor, ActorKind, AgentEvent, Clock, CommitId, Corkboard, Durability, EntryMetadata, Error, Limits, ManualClock,
    Options, Refusal, Role, TokenRequest, Watched,
};
use corkboard_core::{AgentId, Head, SpaceId, SpaceKind};
use corkboard_testing::{FaultPlan, FaultyStore};
use futures_util::future::{join_all, maybe_done};
use jiff::Timestamp;

fn noon() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn agent_space(agent: &str) -> SpaceId {
    SpaceId::agent(&AgentId::new(agent, &Limits::default()).unwrap())
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

async fn sqlite(folder: &tempfile::TempDir) -> Arc<SqliteStore> {
    let path = folder.path().join("corkboard.db");
    Arc::new(SqliteStore::open(path, Ownership::Shared, Duration::from_secs(30)).await.unwrap())
}

fn url(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}", folder.path().join("corkboard.db").display())
}

async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within 120 s");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn waiting_commands_are_committed_together_and_each_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(&folder).await;
    let corkboard = Corkboard::with_store(store.clone(), Options::default());
    let memory = corkboard.agent("a").unwrap().working();
    let keys: Vec<String> = (0..200).map(|index| format!("key-{index}")).collect();
    let written = join_all(keys.iter().map(|key| memory.set(key, "value").into_future())).await;
    let versions: Vec<u64> = written.into_iter().map(|written| written.unwrap().version).collect();
    assert_eq!(versions, (1..=200).collect::<Vec<_>>(), "decided in order of arrival, one revision each");
    assert!(store.commits() < 20, "{} commits for 200 commands", store.commits());
}

#[tokio::test]
async fn a_refusal_in_a_batch_does_not_affect_the_others() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let results = join_all([
        memory.set("one", &1).into_future(),
        memory.set("", &2).into_future(),
        memory.set("one", &3).if_version(7).into_future(),
        memory.set("one", &4).if_version(1).into_future(),
    ])
    .await;
    let ok: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(ok, [true, false, false, true]);
    assert_eq!(memory.get::<u32>("one").await.unwrap(), Some(4));
}

#[tokio::test]
async fn if_rev_refuses_when_anything_changed() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let memory = agent.working();
    memory.set("one", &1).await.unwrap();
    let rev = agent.rev().await.unwrap();
    memory.add_note("something else").await.unwrap();
    let refused = memory.set("one", &2).if_rev(rev).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::RevConflict { expected: 1, current: 2 }))));
    memory.set("one", &2).if_rev(rev + 1).await.unwrap();
}

#[tokio::test]
async fn requests_with_one_idempotency_key_have_one_effect_and_one_answer() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let first = memory.append("log", "x").idempotency_key("request-1").await.unwrap();
    memory.append("log", "y").await.unwrap();
    corkboard.close().await.unwrap();

    // Another process retries.
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    assert_eq!(memory.append("log", "x").idempotency_key("request-1").await.unwrap(), first);
    assert_eq!(memory.get::<String>("log").await.unwrap().as_deref(), Some("xy"));
    let other = memory.append("log", "z").idempotency_key("request-1").await;
    assert!(matches!(other, Err(Error::Refused(Refusal::IdempotencyMismatch { rev: 1, .. }))), "{other:?}");
    // A request that changed nothing is not remembered, and is decided again.
    let agent = corkboard.agent("a").unwrap();
    let rev = agent.rev().await.unwrap();
    assert!(!memory.remove("nothing").idempotency_key("request-2").await.unwrap());
    assert_eq!(agent.rev().await.unwrap(), rev, "nothing to remove writes no revision");
    memory.set("nothing", "now it is there").await.unwrap();
    assert!(memory.remove("nothing").idempotency_key("request-2").await.unwrap());
    memory.set("nothing", "once more").await.unwrap();
    assert!(memory.remove("nothing").idempotency_key("request-2").await.unwrap(), "a repeat gets the first answer");
    assert!(memory.contains("nothing").await.unwrap());
    let note = memory.add_note("noted").idempotency_key("request-3").await.unwrap();
    assert_eq!(memory.add_note("noted").idempotency_key("request-3").await.unwrap(), note);
    assert_eq!(memory.notes().await.unwrap().len(), 1);
}

#[tokio::test]
async fn idempotency_keys_are_forgotten_after_a_day() {
    let clock = Arc::new(ManualClock::new(noon()));
    let options = Options { clock: clock.clone(), ..Options::default() };
    let memory = Corkboard::open_with("memory:", options).await.unwrap().agent("a").unwrap().working();
    memory.append("log", "x").idempotency_key("k").await.unwrap();
    clock.advance(hours(23));
    memory.append("log", "x").idempotency_key("k").await.unwrap();
    assert_eq!(memory.get::<String>("log").await.unwrap().as_deref(), Some("x"));
    clock.advance(hours(1));
    memory.append("log", "x").idempotency_key("k").await.unwrap();
    assert_eq!(memory.get::<String>("log").await.unwrap().as_deref(), Some("xx"));
}

#[tokio::test]
async fn an_overtaken_update_runs_its_closure_again() {
    let store = Arc::new(MemoryStore::shared());
    let one = Corkboard::with_store(store.clone(), Options::default());
    let two = Corkboard::with_store(store, Options::default());
    let (mine, theirs) = (one.agent("a").unwrap().working(), two.agent("a").unwrap().working());
    mine.set("count", &1).await.unwrap();
    theirs.set("count", &10).await.unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let new = mine
        .update("count", move |count: Option<u32>| {
            counted.fetch_add(1, Ordering::SeqCst);
            count.unwrap() + 1
        })
        .await
        .unwrap();
    assert_eq!(new, 11);
    assert_eq!(runs.load(Ordering::SeqCst), 2, "once on the stale cache, once on the current state");
}

#[tokio::test]
async fn a_refusal_is_decided_on_the_current_state_not_a_stale_cache() {
    let store = Arc::new(MemoryStore::shared());
    let one = Corkboard::with_store(store.clone(), Options::default());
    let two = Corkboard::with_store(store, Options::default());
    let (mine, theirs) = (one.agent("a").unwrap().working(), two.agent("a").unwrap().working());
    mine.set("key", "first").await.unwrap();
    let version = theirs.set("key", "second").await.unwrap().version;
    // The cache of `mine` still has version 1. The caller learned version 2 elsewhere.
    mine.set("key", "third").if_version(version).await.unwrap();
    assert!(theirs.remove("key").await.unwrap());
    assert!(!mine.remove("key").await.unwrap());
}

#[tokio::test]
async fn a_caller_who_stops_waiting_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    for round in 0..20 {
        let (mine, others) = (format!("mine-{round}"), format!("others-{round}"));
        {
            let mut leading = memory.set(&mine, "x").into_future();
            // After the first poll, it leads the queue and its append is on its way. Then it is dropped.
            let _ = leading.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        memory.set(&others, "y").await.unwrap();
        assert!(memory.contains(&mine).await.unwrap(), "a sent command completes");
    }
}

#[tokio::test]
async fn states_are_evicted_under_a_budget_and_reloaded() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { memory_budget: 200_000, ..Options::default() };
    let corkboard = Corkboard::open_with(&url(&folder), options).await.unwrap();
    let text = "x".repeat(10_000);
    for index in 0..60 {
        let memory = corkboard.agent(&format!("agent-{index}")).unwrap().working();
        memory.set("text", &text).await.unwrap();
        memory.set("index", &index).await.unwrap();
    }
    eventually("eviction", || async { corkboard.resident().1 <= 200_000 }).await;
    assert!(corkboard.resident().0 < 20, "{:?}", corkboard.resident());
    for index in 0..60 {
        let memory = corkboard.agent(&format!("agent-{index}")).unwrap().working();
        assert_eq!(memory.get::<u32>("index").await.unwrap(), Some(index));
    }
}

#[tokio::test]
async fn recently_used_states_are_evicted_last() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { memory_budget: 100_000, ..Options::default() };
    let corkboard = Corkboard::open_with(&url(&folder), options).await.unwrap();
    let favourite = corkboard.agent("favourite").unwrap();
    favourite.working().set("text", &"x".repeat(1000)).await.unwrap();
    let loads = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(CountLoads(loads.clone()));
    for index in 0..60 {
        corkboard.agent(&format!("agent-{index}")).unwrap().working().set("text", &"x".repeat(10_000)).await.unwrap();
        favourite.working().len().await.unwrap();
    }
    assert_eq!(loads.load(Ordering::SeqCst), 0, "the favourite should stay loaded");
}

/// Counts the loads of `favourite` by their log message.
struct CountLoads(Arc<AtomicUsize>);

impl tracing::Subscriber for CountLoads {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::INFO
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Find<'a>(&'a AtomicUsize);
        impl tracing::field::Visit for Find<'_> {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if format!("{value:?}") == "Working memory initialized for agent favourite" {
                    self.0.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        event.record(&mut Find(&self.0));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn any_process_expires_due_entries_in_spaces_it_never_loaded() {
    let store = Arc::new(MemoryStore::shared());
    let clock = Arc::new(ManualClock::new(noon()));
    let options = Options { clock: clock.clone(), tick_interval: hours(1), ..Options::default() };
    let writer = Corkboard::with_store(store.clone(), options.clone());
    let agent = writer.agent("a").unwrap();
    let day = EntryMetadata { expiry_days: Some(1), ..Default::default() };
    agent.working().set("fleeting", "value").metadata(day).await.unwrap();
    agent.working().set("lasting", "value").await.unwrap();

    let other = Corkboard::with_store(store, Options { tick_interval: Duration::from_millis(1), ..options });
    assert_eq!(other.tick().await.unwrap(), 0);
    let mut watch = agent.watch(2).await.unwrap();
    clock.advance(hours(24));
    assert_eq!(agent.working().get::<String>("fleeting").await.unwrap(), None, "never returned, swept or not");
    let Watched::Revision { rev: 3, commit, .. } = watch.next().await.unwrap() else { panic!("no revision") };
    assert_eq!(commit.actor.principal, "corkboard");
    assert!(matches!(&commit.events[..], [AgentEvent::EntryExpired { key, .. }] if key.as_str() == "fleeting"));
    assert_eq!(agent.working().len().await.unwrap(), 1);
}

#[tokio::test]
async fn time_never_runs_backwards_in_a_space() {
    let clock = Arc::new(ManualClock::new(noon()));
    let options = Options { clock: clock.clone(), ..Options::default() };
    let memory = Corkboard::open_with("memory:", options).await.unwrap().agent("a").unwrap().working();
    memory.set("first", &1).await.unwrap();
    clock.set("2020-01-01T00:00:00Z".parse().unwrap());
    memory.set("second", &2).await.unwrap();
    assert_eq!(memory.get_entry("second").await.unwrap().unwrap().at, noon());
    assert!(clock.now() < noon());
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Two processes that share one store. The clock of the second is a year ahead.
fn two_clocks() -> (Corkboard, Arc<ManualClock>, Corkboard) {
    let store = Arc::new(MemoryStore::shared());
    let (right, wrong) = (ManualClock::new(noon()), ManualClock::new(noon() + YEAR));
    let right = Arc::new(right);
    let open = |clock| {
        let options = Options { clock, tick_interval: hours(1000), ..Options::default() };
        Corkboard::with_store(store.clone(), options)
    };
    (open(right.clone()), right, open(Arc::new(wrong)))
}

/// One write with a clock a year ahead used to stop the space's clock for a year.
#[tokio::test]
async fn a_lease_of_a_second_expires_after_a_clock_jump_of_a_year() {
    let (right, clock, wrong) = two_clocks();
    let made = wrong.create_board(NewBoard { name: "plan".into(), ..NewBoard::default() }).await.unwrap();
    made.add_task(NewTask::new("one")).await.unwrap();
    wrong.close().await.unwrap();

    let board = right.board(made.id().as_str()).unwrap();
    let [ann, bob] = ["ann", "bob"].map(|name| board.acting_as(Actor::new(name, ActorKind::Agent, Role::Worker)));
    let second = Duration::from_secs(1);
    let claimed = ann.claim_task(None, second).await.unwrap().unwrap();
    assert_eq!(bob.claim_task(None, second).await.unwrap(), None);
    clock.advance(2 * second);
    // A command of another worker notices the expiry.
    let second_claim = bob.claim_task(None, second).await.unwrap().expect("the lease should be over");
    assert_eq!(second_claim.task, claimed.task);
    clock.advance(2 * second);
    // The ticker notices it.
    assert_eq!(right.tick().await.unwrap(), 1);
    let view = board.view().await.unwrap();
    assert_eq!(view.task(claimed.task).unwrap().status, TaskStatus::Pending);
    // A waiting claim notices it, without writing.
    ann.claim_task(None, second).await.unwrap().unwrap();
    clock.advance(2 * second);
    assert!(bob.claim_task(None, second).wait(Duration::from_secs(30)).await.unwrap().is_some());
}

#[tokio::test]
async fn entries_expire_and_time_runs_in_a_space_that_is_ahead_of_the_clock() {
    let (right, clock, wrong) = two_clocks();
    wrong.agent("a").unwrap().working().set("lasting", &1).await.unwrap();
    let agent = right.agent("a").unwrap();
    let day = || EntryMetadata { expiry_days: Some(1), ..EntryMetadata::default() };
    agent.working().set("fleeting", "value").metadata(day()).await.unwrap();
    let written = agent.working().get_entry("fleeting").await.unwrap().unwrap();
    assert_eq!(written.at, noon() + YEAR);
    clock.advance(hours(23));
    assert_eq!(agent.search("value").await.unwrap().len(), 1);
    assert!(agent.working().contains("fleeting").await.unwrap());
    assert!(agent.view().await.unwrap().at() > noon() + YEAR + hours(22));
    clock.advance(hours(2));
    assert!(!agent.working().contains("fleeting").await.unwrap());
    assert_eq!(agent.search("value").await.unwrap().len(), 0);
    assert_eq!(right.tick().await.unwrap(), 1);
    assert_eq!(agent.working().len().await.unwrap(), 1);

    // The other process continues from there, and this one does not fall behind it.
    let last = agent.view().await.unwrap().at();
    wrong.agent("a").unwrap().working().set("lasting", &2).await.unwrap();
    assert_eq!(wrong.agent("a").unwrap().working().get_entry("lasting").await.unwrap().unwrap().at, last);
    assert!(agent.view().await.unwrap().at() >= last);
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_and_back_does_not_stop_time_in_this_process() {
    let clock = Arc::new(ManualClock::new(noon()));
    let options = Options { clock: clock.clone(), tick_interval: hours(1000), ..Options::default() };
    let corkboard = Corkboard::open_with("memory:", options).await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let talk = agent.conversation("c").unwrap();
    let scope = agent.working().create_scope("s").await.unwrap();
    clock.set(noon() + YEAR);
    let day = || EntryMetadata { expiry_days: Some(1), ..EntryMetadata::default() };
    agent.working().set("k", &1).metadata(day()).await.unwrap();
    scope.set("k", &1).metadata(day()).await.unwrap();
    talk.set("k", &1).metadata(day()).await.unwrap();
    let shown = agent.view().await.unwrap().at();
    clock.set(noon());
    assert!(agent.view().await.unwrap().at() >= shown, "never backwards");
    for place in [
        agent.working().contains("k").await,
        scope.contains_local("k").await,
        talk.get::<u8>("k").await.map(|found| found.is_some()),
    ] {
        assert!(place.unwrap());
    }
    clock.advance(hours(25));
    for place in [
        agent.working().contains("k").await,
        scope.contains_local("k").await,
        talk.get::<u8>("k").await.map(|found| found.is_some()),
    ] {
        assert!(!place.unwrap());
    }
    // The conversation is unused since then; the earlier jump of the clock does not count.
    clock.advance(hours(25));
    corkboard.tick().await.unwrap();
    assert_eq!(agent.conversations().await.unwrap().len(), 0);
    // Once the clock is ahead again, everything follows it.
    assert_eq!(corkboard.spaces_ahead().len(), 1);
    clock.set(noon() + 2 * YEAR);
    assert_eq!(agent.view().await.unwrap().at(), noon() + 2 * YEAR);
    assert_eq!(corkboard.spaces_ahead(), []);
}

#[tokio::test]
async fn tokens_expire_although_one_was_made_a_year_ahead() {
    let (right, clock, wrong) = two_clocks();
    let request = |expires_at| TokenRequest {
        principal: "ada".into(),
        kind: ActorKind::Agent,
        role: Role::Worker,
        grants: Grants::everything(),
        expires_at,
        label: String::new(),
    };
    wrong.tokens().create(request(None)).await.unwrap();
    let tokens = right.tokens();
    let soon = noon() + YEAR + Duration::from_secs(60);
    let id = tokens.create(request(Some(soon))).await.unwrap().id;
    assert!(tokens.list().await.unwrap().iter().any(|token| token.id == id));
    clock.advance(Duration::from_secs(61));
    assert!(tokens.list().await.unwrap().iter().all(|token| token.id != id));
}

#[tokio::test]
async fn spaces_more_than_a_minute_ahead_of_the_clock_are_reported() {
    let (right, clock, wrong) = two_clocks();
    wrong.agent("a").unwrap().working().set("k", &1).await.unwrap();
    right.agent("b").unwrap().working().set("k", &1).await.unwrap();
    assert_eq!(right.spaces_ahead(), [], "unloaded spaces are not reported");
    right.agent("a").unwrap().rev().await.unwrap();
    assert_eq!(right.spaces_ahead(), [(agent_space("a"), YEAR)]);
    clock.set(noon() + YEAR - Duration::from_secs(60));
    assert_eq!(right.spaces_ahead(), [], "small clock differences are not reported");
}

/// A claim that found no task is not remembered, so a repeat with the same key can still get one.
#[tokio::test]
async fn a_claim_with_a_key_that_found_nothing_is_decided_again() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let board = corkboard.create_board(NewBoard { name: "plan".into(), ..NewBoard::default() }).await.unwrap();
    let ann = board.acting_as(Actor::new("ann", ActorKind::Agent, Role::Worker)).idempotency_key("next");
    let rev = board.view().await.unwrap().rev();
    assert_eq!(ann.claim_task(None, hours(1)).await.unwrap(), None);
    assert_eq!(board.view().await.unwrap().rev(), rev);
    board.add_tasks(vec![NewTask::new("one"), NewTask::new("two")], vec![]).await.unwrap();
    let claimed = ann.claim_task(None, hours(1)).await.unwrap();
    assert!(claimed.is_some());
    assert_eq!(ann.claim_task(None, hours(1)).await.unwrap(), claimed, "once");
}

/// The latest revision belongs to another update. The report must not claim it for this one.
#[tokio::test]
async fn a_notebook_update_with_a_key_that_changes_nothing_says_so() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let notebook = corkboard.agent("a").unwrap().notebook("main").unwrap();
    let text = "CURRENT_PROGRESS:\n  In Progress:\n    - write the parser\n";
    let first = notebook.apply(text).await.unwrap();
    assert!(first.changed);
    let nothing = notebook.apply(text).idempotency_key("k").await.unwrap();
    assert_eq!((nothing.rev, nothing.changed), (first.rev, false));
    let more = "KEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count as two\n";
    let changed = notebook.apply(more).idempotency_key("k").await.unwrap();
    assert!(changed.changed);
    assert_eq!(notebook.apply(more).idempotency_key("k").await.unwrap(), changed, "a repeat gets the first answer");
}

/// Clearing is remembered even if the memory was empty, because it also clears conversations, which are outside the
/// agent's log.
#[tokio::test]
async fn clearing_an_empty_memory_with_a_key_has_one_effect() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let clear = || agent.clear(Default::default()).idempotency_key("k");
    assert_eq!(clear().await.unwrap(), 0);
    agent.conversation("c").unwrap().set("k", &1).await.unwrap();
    assert_eq!(clear().await.unwrap(), 0);
    assert_eq!(agent.conversation("c").unwrap().get::<u8>("k").await.unwrap(), Some(1));
}

async fn append_raw(store: &dyn Store, agent: &str, expected: Head, body: &str) {
    let record = Record {
        rev: expected.rev + 1,
        commit: CommitId(uuid::Uuid::new_v4()),
        at: noon(),
        body: body.as_bytes().to_vec(),
    };
    let space = agent_space(agent);
    let append = Append { space, expected, records: vec![record], next_due: None, summary: b"{}".to_vec() };
    assert_eq!(store.append(append).await.unwrap(), corkboard::store::Appended::Committed);
}

#[tokio::test]
async fn a_space_with_a_newer_format_is_left_alone_and_others_still_work() {
    let store = Arc::new(MemoryStore::shared());
    let corkboard = Corkboard::with_store(store.clone(), Options::default());
    let memory = corkboard.agent("modern").unwrap().working();
    memory.set("key", "value").await.unwrap();
    let head = store.head(&agent_space("modern")).await.unwrap();
    append_raw(&*store, "modern", head, r#"{"v":99,"at":"2026-11-15T12:00:00Z","events":[{"entry_dreamt":{}}]}"#).await;
    for result in [memory.get::<String>("key").await.map(|_| ()), memory.set("key", "new").await.map(|_| ())] {
        assert!(matches!(result, Err(Error::NewerFormat { found: 99, .. })), "{result:?}");
    }
    assert_eq!(store.head(&agent_space("modern")).await.unwrap().rev, 2, "a newer format is not overwritten");
    corkboard.agent("other").unwrap().working().set("key", "value").await.unwrap();
}

#[tokio::test]
async fn a_damaged_space_is_reported_and_others_still_work() {
    let store = Arc::new(MemoryStore::shared());
    append_raw(&*store, "damaged", Head::EMPTY, "{\"v\":1,\"at\"").await;
    let corkboard = Corkboard::with_store(store, Options::default());
    let error = corkboard.agent("damaged").unwrap().working().len().await.unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("agent/damaged")), ("damaged", true), "{error}");
    corkboard.agent("other").unwrap().working().set("key", "value").await.unwrap();
}

#[tokio::test]
async fn another_programs_database_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corkboard.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE diary (line TEXT)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Corkboard::open(&url(&folder)).await.unwrap_err();
    assert_eq!(error.code(), "store_url", "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::write(&path, "certainly no database, but long enough to be looked at as one ".repeat(20)).unwrap();
    assert_eq!(Corkboard::open(&url(&folder)).await.unwrap_err().code(), "store_url");
}

#[tokio::test]
async fn a_store_that_others_hold_for_too_long_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { busy_timeout: Duration::from_millis(30), ..Options::default() };
    let corkboard = Corkboard::open_with(&url(&folder), options).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("key", "value").await.unwrap();
    let holder = rusqlite::Connection::open(folder.path().join("corkboard.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = memory.set("key", "new").await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("busy", true), "{error}");
    assert_eq!(memory.get::<String>("key").await.unwrap().as_deref(), Some("value"), "a lock does not block readers");
    holder.execute_batch("ROLLBACK").unwrap();
    memory.set("key", "new").await.unwrap();
}

#[tokio::test]
async fn deleting_an_agent_disposes_its_scopes() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let ephemeral = memory.create_scope("ephemeral").await.unwrap();
    let durable = memory.create_durable_scope("durable").await.unwrap();
    assert_eq!((ephemeral.durability(), durable.durability()), (Durability::Ephemeral, Durability::Durable));
    ephemeral.set("key", "value").await.unwrap();
    assert!(corkboard.delete_agent("a").await.unwrap());
    assert!(ephemeral.is_disposed() && durable.is_disposed());
    assert!(memory.active_scopes().await.unwrap().is_empty());
}

#[tokio::test]
async fn principal_names_follow_the_rules_for_names() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    for principal in ["", "a\nb", &"x".repeat(257)] {
        let actor = corkboard::Actor { principal: principal.into(), ..corkboard::Actor::local() };
        let refused = agent.acting_as(actor).working().set("key", "value").await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{principal:?}: {refused:?}");
        for metadata in [
            EntryMetadata { author: Some(principal.into()), ..Default::default() },
            EntryMetadata { session: Some(principal.into()), ..Default::default() },
        ] {
            let refused = agent.working().set("key", "value").metadata(metadata).await;
            assert!(matches!(refused, Err(Error::Refused(_))), "{principal:?}: {refused:?}");
        }
    }
    assert_eq!(agent.rev().await.unwrap(), 0);
}

#[tokio::test]
async fn reading_alone_keeps_the_budget_too() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    for index in 0..40 {
        let memory = corkboard.agent(&format!("agent-{index}")).unwrap().working();
        memory.set("text", &"x".repeat(10_000)).await.unwrap();
    }
    corkboard.close().await.unwrap();
    let options = Options { memory_budget: 100_000, ..Options::default() };
    let corkboard = Corkboard::open_with(&url(&folder), options).await.unwrap();
    for index in 0..40 {
        assert_eq!(corkboard.agent(&format!("agent-{index}")).unwrap().working().len().await.unwrap(), 1);
        assert!(corkboard.resident().1 <= 100_000, "{:?}", corkboard.resident());
    }
}

/// Polls a future once and then leaves it alone.
fn poll_once(future: &mut std::pin::Pin<&mut (impl Future + ?Sized)>) {
    let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

/// Starts a deletion and drops it while the store handles it. A concurrent write must still succeed.
async fn check_dropped_deletion<T>(
    store: &FaultyStore,
    deleting: impl IntoFuture<Output = corkboard::Result<bool>>,
    writing: impl IntoFuture<Output = corkboard::Result<T>>,
) {
    store.hold_after(0);
    let mut deleting = Box::pin(deleting.into_future());
    poll_once(&mut deleting.as_mut());
    store.held().await;
    let mut writing = Box::pin(writing.into_future());
    poll_once(&mut writing.as_mut());
    drop(deleting);
    store.let_go();
    let written = tokio::time::timeout(Duration::from_secs(120), writing).await;
    assert!(written.expect("the write should finish").is_ok(), "dropping a deletion must not drop other writes");
}

#[tokio::test]
async fn dropping_a_deletion_does_not_drop_a_write_that_waits_behind_it() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()), FaultPlan::none()));
    // Only the test itself calls the store.
    let corkboard = Corkboard::with_store(store.clone(), Options { tick_interval: hours(1), ..Options::default() });
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("before", &1).await.unwrap();
    check_dropped_deletion(&store, corkboard.delete_agent("a"), memory.set("after", &2)).await;
    assert!(!memory.contains("before").await.unwrap(), "a started deletion completes");

    let log = corkboard.log(SpaceKind::Agent, "a").unwrap();
    let head = log.head().await.unwrap();
    check_dropped_deletion(&store, log.delete(head), memory.set("at last", &3)).await;
    assert!(!memory.contains("after").await.unwrap());

    let core = corkboard.core("c").unwrap();
    core.add("before").await.unwrap();
    check_dropped_deletion(&store, corkboard.delete_core("c"), core.add("after")).await;
    assert_eq!(core.stats().await.unwrap().entries, 1);
}

#[tokio::test]
async fn a_write_that_is_not_polled_again_blocks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    // On a busy machine, the write can be done when it was polled once.
    let mut lying = maybe_done(memory.set("lying", &1).into_future());
    poll_once(&mut std::pin::Pin::new(&mut lying));
    let other = tokio::time::timeout(Duration::from_secs(120), memory.set("other", &2).into_future()).await;
    assert_eq!(other.expect("the other write should finish").unwrap().version, 2);
    (&mut lying).await;
    assert_eq!(std::pin::Pin::new(&mut lying).take_output().unwrap().unwrap().version, 1);
}

#[tokio::test]
async fn a_read_that_is_not_polled_again_blocks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let mut lying = std::pin::pin!(memory.get::<u32>("key"));
    poll_once(&mut lying);
    let other = tokio::time::timeout(Duration::from_secs(120), memory.get::<u32>("key")).await;
    assert_eq!(other.expect("the other read should finish").unwrap(), None);
}

#[tokio::test]
async fn a_damaged_space_does_not_keep_the_others_from_expiring() {
    let store = Arc::new(MemoryStore::shared());
    let clock = Arc::new(ManualClock::new(noon()));
    let options = Options { clock: clock.clone(), tick_interval: hours(24), ..Options::default() };
    let corkboard = Corkboard::with_store(store.clone(), options.clone());
    let day = EntryMetadata { expiry_days: Some(1), ..Default::default() };
    for agent in ["a damaged one", "a sound one"] {
        corkboard.agent(agent).unwrap().working().set("fleeting", "value").metadata(day.clone()).await.unwrap();
    }
    let space = agent_space("a damaged one");
    let expected = store.head(&space).await.unwrap();
    let record = Record { rev: 2, commit: CommitId(uuid::Uuid::new_v4()), at: noon(), body: b"rubbish".to_vec() };
    let next_due = Some(noon());
    store.append(Append { space, expected, records: vec![record], next_due, summary: vec![] }).await.unwrap();
    clock.advance(hours(25));
    let fresh = Corkboard::with_store(store.clone(), options);
    assert_eq!(fresh.tick().await.unwrap(), 2);
    let due = store.due(SpaceKind::Agent, clock.now(), 10).await.unwrap();
    assert_eq!(due, [agent_space("a damaged one")]);
}

#[tokio::test]
async fn an_event_names_its_scope_even_if_the_scope_goes_in_the_same_batch() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let scope = memory.create_durable_scope("short-lived").await.unwrap();
    let mut events = corkboard.subscribe();
    let first = memory.set("first", &1).into_future();
    let (_, set, disposed) = tokio::join!(first, scope.set("key", &1).into_future(), scope.dispose().into_future());
    set.unwrap();
    disposed.unwrap();
    let name = loop {
        if let corkboard::MemoryEvent::Set { key, scope_name, .. } = events.recv().await.unwrap()
            && key.as_str() == "key"
        {
            break scope_name;
        }
    };
    assert_eq!(name.unwrap().as_str(), "short-lived");
}

#[tokio::test]
async fn a_scope_below_one_that_another_process_disposed_is_disposed_too() {
    let store = Arc::new(MemoryStore::shared());
    let one = Corkboard::with_store(store.clone(), Options::default());
    let two = Corkboard::with_store(store, Options::default());
    let memory = one.agent("a").unwrap().working();
    let durable = memory.create_durable_scope("durable").await.unwrap();
    let child = durable.create_child_scope("child").await.unwrap();
    child.set("key", &1).await.unwrap();
    let theirs = two.agent("a").unwrap().working().scope(durable.id()).await.unwrap().unwrap();
    theirs.dispose().await.unwrap();
    assert_eq!(memory.len().await.unwrap(), 0, "this process has seen it now");
    assert!(durable.is_disposed() && child.is_disposed());
    assert!(matches!(child.set("key", &2).await, Err(Error::ScopeDisposed { .. })));
    assert!(matches!(child.get::<u32>("key").await, Err(Error::ScopeDisposed { .. })));
    assert!(memory.active_scopes().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_update_whose_closure_owns_a_scope_finishes() {
    let memory = Corkboard::open("memory:").await.unwrap().agent("a").unwrap().working();
    let scope = memory.create_scope("scope").await.unwrap();
    let child = scope.create_child_scope("child").await.unwrap();
    let (scope, done) = (scope, tokio::sync::oneshot::channel());
    let (sender, receiver) = done;
    // In a separate thread, because a deadlock would block this one.
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let id = child.id();
        let (name, mut child) = (child.name().to_string(), Some(child));
        let updated = runtime.block_on(scope.update("name", move |_: Option<String>| {
            // The handle ends inside the closure. Its end is a change, too, so the closure runs again.
            drop(child.take());
            name.clone()
        }));
        drop(scope);
        let _ = sender.send((updated.unwrap(), id));
    });
    let (name, _) =
        tokio::time::timeout(Duration::from_secs(120), receiver).await.expect("the update should finish").unwrap();
    assert_eq!(name, "child");
    assert!(memory.active_scopes().await.unwrap().is_empty(), "scopes are disposed with their handles");
}

#[tokio::test]
async fn an_age_beyond_the_calendar_drops_nothing() {
    let retention = Some(corkboard::Retention::Age(Duration::MAX));
    let snapshots = corkboard::SnapshotPolicy { events: 5, bytes: u64::MAX };
    let store = Arc::new(MemoryStore::shared());
    let corkboard = Corkboard::with_store(store.clone(), Options { retention, snapshots, ..Options::default() });
    let agent = corkboard.agent("a").unwrap();
    for index in 0..20 {
        agent.working().set("key", &index).await.unwrap();
    }
    eventually("a snapshot", || async { store.load(&agent_space("a")).await.unwrap().snapshot.is_some() }).await;
    assert!(agent.watch(0).await.is_ok());
}

#[tokio::test]
async fn an_observer_reads_and_does_not_write() {
    let agent = Corkboard::open("memory:").await.unwrap().agent("a").unwrap();
    agent.working().set("key", "value").await.unwrap();
    let observer = corkboard::Actor { role: corkboard::Role::Observer, ..corkboard::Actor::local() };
    let memory = agent.acting_as(observer).working();
    assert_eq!(memory.get::<String>("key").await.unwrap().as_deref(), Some("value"));
    let refused = memory.set("key", "other").await.unwrap_err();
    assert_eq!((refused.code(), refused.kind()), ("role_denied", corkboard::ErrorKind::Denied));
}

#[tokio::test]
async fn a_wrong_file_is_not_littered_upon() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("corkboard.db"), "#!/bin/sh\necho no database\n").unwrap();
    assert_eq!(Corkboard::open(&url(&folder)).await.unwrap_err().code(), "store_url");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_call_blocks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    for round in 0..200 {
        let memory = corkboard.agent(&format!("agent-{}", round % 40)).unwrap().working();
        let others: Vec<_> = (0..3)
            .map(|index| {
                let memory = memory.clone();
                tokio::spawn(async move {
                    memory.set(&format!("key-{index}"), &round).await.unwrap();
                    memory.len().await.unwrap()
                })
            })
            .collect();
        let mut lying = memory.set("lying", &round).into_future();
        poll_once(&mut lying.as_mut());
        for other in others {
            tokio::time::timeout(Duration::from_secs(120), other)
                .await
                .expect("the other writes should finish")
                .unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_does_not_bring_a_deleted_memory_back() {
    for round in 0..100 {
        let store = Arc::new(MemoryStore::new());
        let written = Corkboard::with_store(store.clone(), Options::default());
        written.agent("a").unwrap().working().set("key", &1).await.unwrap();
        // A fresh Corkboard has not loaded the memory. A slow store makes the load and the deletion overlap.
        let slow = FaultPlan { seed: round, delay: 100, ..FaultPlan::none() };
        let corkboard = Corkboard::with_store(Arc::new(FaultyStore::new(store, slow)), Options::default());
        let memory = corkboard.agent("a").unwrap().working();
        let reader = tokio::spawn({
            let memory = memory.clone();
            async move { memory.get::<u32>("key").await.unwrap() }
        });
        assert!(corkboard.delete_agent("a").await.unwrap());
        reader.await.unwrap();
        assert_eq!(memory.get::<u32>("key").await.unwrap(), None, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_closure_delays_only_its_own_memory() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let updating = tokio::spawn({
        let memory = memory.clone();
        async move {
            memory.update("key", move |value: Option<u32>| released.recv().map_or(0, |()| value.unwrap_or(0) + 1)).await
        }
    });
    // These wait for the closure without blocking a runtime thread.
    let waiting: Vec<_> = (0..4)
        .map(|index| {
            let memory = memory.clone();
            tokio::spawn(async move { memory.set(&format!("key-{index}"), &index).await })
        })
        .collect();
    let other = corkboard.agent("b").unwrap().working();
    let elsewhere = tokio::spawn(async move { other.set("key", &1).await });
    tokio::time::timeout(Duration::from_secs(120), elsewhere)
        .await
        .expect("other memories should not wait")
        .unwrap()
        .unwrap();
    release.send(()).unwrap();
    assert_eq!(updating.await.unwrap().unwrap(), 1);
    for write in waiting {
        write.await.unwrap().unwrap();
    }
}

#[test]
fn a_corkboard_whose_runtime_ended_still_answers() {
    let open = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let corkboard = open.block_on(Corkboard::open("memory:")).unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    open.block_on(memory.set("key", &1).into_future()).unwrap();
    open.shutdown_timeout(Duration::from_secs(5));
    let other = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    other.block_on(async {
        for _ in 0..50 {
            let writes = (0..8).map(|index| {
                let memory = memory.clone();
                tokio::spawn(async move { memory.set(&format!("key-{index}"), &index).await.map(|_| ()) })
            });
            let answers = tokio::time::timeout(Duration::from_secs(120), join_all(writes)).await;
            for answer in answers.expect("every caller should get an answer") {
                let answer = answer.unwrap();
                assert!(matches!(answer, Ok(()) | Err(Error::Store(StoreError::OutcomeUnknown(_)))), "{answer:?}");
            }
        }
    });
}

#[tokio::test]
async fn old_history_is_trimmed_by_age_and_revision_and_the_state_stays() {
    let folder = tempfile::tempdir().unwrap();
    let urls = ["memory:".to_owned(), url(&folder), format!("file:{}", folder.path().join("files").display())];
    for url in urls {
        let clock = Arc::new(ManualClock::new(noon()));
        let corkboard =
            Corkboard::open_with(&url, Options { clock: clock.clone(), ..Options::default() }).await.unwrap();
        let agent = corkboard.agent("a").unwrap();
        for index in 0..60_u32 {
            agent.working().set("key", &index).await.unwrap();
            clock.advance(Duration::from_secs(60));
        }
        let log = corkboard.log(SpaceKind::Agent, "a").unwrap();
        let before = log.size().await.unwrap();
        assert_eq!((before.oldest, before.revisions, before.estimated), (1, 60, false), "{url}");
        // Up to half an hour after noon, but not beyond revision 20.
        let half_hour = noon() + Duration::from_secs(30 * 60);
        let trim = Trim { up_to: 20, older_than: Some(half_hour) };
        let planned = log.trimmable(trim).await.unwrap();
        assert_eq!((planned.revisions, planned.oldest), (20, 21), "{url}");
        assert_eq!(log.size().await.unwrap(), before, "{url}");
        let worker = Actor::new("w", ActorKind::Agent, Role::Worker);
        let denied = corkboard.acting_as(worker).log(SpaceKind::Agent, "a").unwrap().trim(trim).await.unwrap_err();
        assert_eq!(denied.code(), "role_denied", "{url}");
        assert_eq!(log.trim(trim).await.unwrap(), planned, "{url}");
        // Revision 30 was decided 29 minutes after noon.
        let trim = Trim { up_to: u64::MAX, older_than: Some(half_hour) };
        assert_eq!(log.trim(trim).await.unwrap().oldest, 31, "{url}");
        let after = log.size().await.unwrap();
        assert_eq!((after.oldest, after.revisions), (31, 30), "{url}");
        let gone = agent.watch(20).await;
        assert!(matches!(gone, Err(Error::Store(StoreError::Compacted { oldest: 31 }))), "{url}");
        assert!(agent.watch(30).await.is_ok(), "{url}");
        assert_eq!(agent.working().get::<u32>("key").await.unwrap(), Some(59), "{url}");
        // All of it except the newest.
        let trim = Trim { up_to: u64::MAX, older_than: None };
        assert_eq!(log.trim(trim).await.unwrap().oldest, 60, "{url}");
        assert_eq!(log.trim(trim).await.unwrap().revisions, 0, "{url}");
        agent.working().set("key", &60_u32).await.unwrap();
        corkboard.close().await.unwrap();
        if url != "memory:" {
            let again = Corkboard::open(&url).await.unwrap();
            assert_eq!(again.agent("a").unwrap().working().get::<u32>("key").await.unwrap(), Some(60), "{url}");
            again.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn trimming_keeps_contributions_and_daily_activity() {
    let clock = Arc::new(ManualClock::new(noon()));
    let corkboard = Corkboard::open_with("memory:", Options { clock, ..Options::default() }).await.unwrap();
    let plan = corkboard.create_board(NewBoard { name: "Plan".into(), ..NewBoard::default() }).await.unwrap();
    for title in ["One", "Two", "Three"] {
        plan.add_task(NewTask { title: title.into(), ..NewTask::default() }).await.unwrap();
    }
    corkboard.agent("a").unwrap().working().set("key", "value").await.unwrap();
    corkboard.agent("a").unwrap().working().set("key", "other").await.unwrap();
    let ada = corkboard.acting_as(Actor::new("ada", ActorKind::Agent, Role::Worker)).board(plan.id().as_str()).unwrap();
    ada.record_discovery(NewDiscovery { content: "users has no tokens".into(), ..NewDiscovery::default() })
        .await
        .unwrap();
    let contributions = plan.contributions().await.unwrap();
    assert!(!contributions.is_empty());
    let agent = corkboard.agent("a").unwrap();
    let today = "2026-11-15".parse().unwrap();
    let activity = serde_json::to_value(agent.activity(today).await.unwrap()).unwrap();
    let trim = Trim { up_to: u64::MAX, older_than: None };
    for (kind, name) in [(SpaceKind::Board, plan.id().as_str()), (SpaceKind::Agent, "a")] {
        assert!(corkboard.log(kind, name).unwrap().trim(trim).await.unwrap().revisions > 0);
    }
    assert_eq!(plan.contributions().await.unwrap(), contributions);
    assert_eq!(serde_json::to_value(agent.activity(today).await.unwrap()).unwrap(), activity);
}

#[tokio::test]
async fn a_long_log_is_measured_by_samples() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    for index in 0..3_000_u32 {
        memory.set("key", &format!("{index:08}")).await.unwrap();
    }
    let log = corkboard.log(SpaceKind::Agent, "a").unwrap();
    let size = log.size().await.unwrap();
    assert_eq!((size.oldest, size.revisions, size.estimated), (1, 3_000, true));
    let (mut exact, mut cursor) = (0, Cursor { rev: 0, commit: None });
    while cursor.rev < 3_000 {
        let page = log.after(cursor, 1_000).await.unwrap();
        exact += page.records.iter().map(|record| record.body.len() as u64).sum::<u64>();
        cursor.rev = page.records.last().unwrap().rev;
    }
    assert!(size.bytes.abs_diff(exact) < exact / 20, "{} against {exact}", size.bytes);
}

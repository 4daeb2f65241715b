//! What an operator sees (004 §7.1, §7.2) and what a program is told (§4.5): every message, metric and event.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "what does not hold in a test ends the test"
)]

mod common;

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use corkboard::{AgentId, AgentMemory, ClearOptions, Corkboard, Error, Key, Limits, MemoryEvent, Scope, WorkingMemory};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use serde::{Deserialize, Serialize};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use common::{Home, agent_a, days, drain, in_time, on_every_store, start};

const DAY: Duration = Duration::from_secs(24 * 3600);

// §7.1 Log messages.

/// One line of a log: where it comes from, how loud it is, what it says, and its other fields.
#[derive(Debug, Clone)]
struct Line {
    target: &'static str,
    level: Level,
    message: String,
    fields: String,
}

#[derive(Clone, Default)]
struct Log {
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Log {
    fn all(&self) -> Vec<Line> {
        self.lines.lock().unwrap().clone()
    }

    /// What was said about memories since the last call.
    fn take(&self) -> Vec<(Level, String)> {
        let lines = std::mem::take(&mut *self.lines.lock().unwrap());
        let of_memory = lines.into_iter().filter(|line| line.target.starts_with("corkboard::memory"));
        of_memory.map(|line| (line.level, line.message)).collect()
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut line =
            Line { target: metadata.target(), level: *metadata.level(), message: String::new(), fields: String::new() };
        event.record(&mut line);
        self.lines.lock().unwrap().push(line);
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let (name, into) = match field.name() {
            "message" => ("", &mut self.message),
            name => (name, &mut self.fields),
        };
        write!(into, "{name}{value:?}").unwrap();
    }
}

/// Runs a test on every store with a log that hears everything. All on one thread, whose log it is.
fn logged(test: impl AsyncFn(Home, Log)) {
    for home in [Home::memory(), Home::sqlite()] {
        let log = Log::default();
        let subscriber = tracing_subscriber::registry().with(log.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tracing::subscriber::with_default(subscriber, || runtime.block_on(in_time(test(home, log))));
    }
}

fn debug(message: impl Into<String>) -> (Level, String) {
    (Level::DEBUG, message.into())
}

#[test]
fn log_of_the_first_use_of_an_agent() {
    logged(async |home, log| {
        let (board, _, memory) = agent_a(&home).await;
        assert_eq!(log.take(), []);
        memory.get::<u8>("k").await.unwrap();
        assert_eq!(log.take(), [(Level::INFO, "Working memory initialized for agent A".into())]);
        memory.get::<u8>("k").await.unwrap();
        assert_eq!(log.take(), []);
        // Whether the first use is a read or a write.
        board.agent("team/b").unwrap().working().set("k", &1).await.unwrap();
        assert_eq!(log.take()[0], (Level::INFO, "Working memory initialized for agent team/b".into()));
    });
}

#[test]
fn log_of_an_updated_notebook_names_what_came_and_went() {
    logged(async |home, log| {
        let (_board, agent, _) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        let block = "CURRENT_PROGRESS:\n  In Progress:\n    - private\nKEY_LEARNINGS:\n  ADD:\n    - because so: private\n\
                     VERBATIM_CONTEXT:\n  ADD:\n    - because so: private => private\n";
        notebook.apply(block).await.unwrap();
        notebook.apply("KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because private\n").await.unwrap();
        // Nothing happens, nothing is said.
        notebook.apply("KEY_LEARNINGS:\n").await.unwrap();
        assert!(log.all().iter().all(|line| !line.message.contains("private") && !line.fields.contains("private")));
        let said: Vec<_> = log.take().into_iter().filter(|(_, line)| line.starts_with("Notebook")).collect();
        let expected = [
            debug("Notebook main updated for agent A: progress rewritten, KL-1 added, VC-1 added"),
            debug("Notebook main updated for agent A: KL-1 archived"),
        ];
        assert_eq!(said, expected);
    });
}

#[test]
fn log_of_every_operation_on_a_key() {
    logged(async |home, log| {
        let (board, _, memory) = agent_a(&home).await;
        let durable = memory.create_durable_scope("durable").await.unwrap();
        let ephemeral = memory.create_scope("ephemeral").await.unwrap();
        log.take();
        memory.set("user_id", &1).await.unwrap();
        memory.set("user_id", &2).metadata(days(1)).await.unwrap();
        memory.append("text", "a").await.unwrap();
        memory.append("text", "b").await.unwrap();
        memory.update("text", |_: Option<String>| "c".into()).await.unwrap();
        memory.remove("text").await.unwrap();
        // Nothing happens, nothing is said.
        memory.remove("text").await.unwrap();
        home.clock.advance(DAY);
        board.tick().await.unwrap();
        durable.set("in durable", &1).await.unwrap();
        ephemeral.set("in ephemeral", &1).await.unwrap();
        let line = |operation: &str, key: &str| debug(format!("Working memory {operation} for key {key} by agent A"));
        let expected = [
            line("set", "user_id"),
            line("updated", "user_id"),
            line("set", "text"),
            line("appended", "text"),
            line("updated", "text"),
            line("removed", "text"),
            line("expired", "user_id"),
            line("set", "in durable"),
            line("set", "in ephemeral"),
        ];
        assert_eq!(log.take(), expected);
    });
}

#[test]
fn log_of_a_lookup_in_a_scope() {
    logged(async |home, log| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("of the root", &1).await.unwrap();
        let scopes = [memory.create_scope("ephemeral").await.unwrap(), durable(&memory).await];
        for scope in scopes {
            log.take();
            scope.get::<u8>("of the root").await.unwrap();
            scope.get_local::<u8>("of the root").await.unwrap();
            scope.contains("of nobody").await.unwrap();
            scope.get_entry("of the root").await.unwrap();
            // The root's own lookups are not worth a line.
            memory.get::<u8>("of the root").await.unwrap();
            let line = |key: &str, found: bool| {
                debug(format!("Working memory scope {} ({}) lookup for key {key}: {found}", scope.name(), scope.id()))
            };
            let expected = [
                line("of the root", true),
                line("of the root", false),
                line("of nobody", false),
                line("of the root", true),
            ];
            assert_eq!(log.take(), expected);
        }
    });
}

async fn durable(memory: &WorkingMemory) -> Scope {
    memory.create_durable_scope("durable").await.unwrap()
}

#[test]
fn log_of_a_scope_that_is_created_and_disposed() {
    logged(async |home, log| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.len().await.unwrap();
        log.take();
        let created = |scope: &Scope| {
            debug(format!("Created working memory scope {} ({}) for agent A", scope.name(), scope.id()))
        };
        let disposed = |scope: &Scope, count: u64| {
            let (name, id) = (scope.name(), scope.id());
            debug(format!("Disposed working memory scope {name} ({id}), cleared {count} entries"))
        };
        for kind in ["ephemeral", "durable"] {
            let scope = match kind {
                "ephemeral" => memory.create_scope(kind).await.unwrap(),
                _ => durable(&memory).await,
            };
            let child = scope.create_child_scope("child").await.unwrap();
            assert_eq!(log.take(), [created(&scope), created(&child)]);
            scope.set("a", &1).await.unwrap();
            scope.set("b", &1).await.unwrap();
            log.take();
            scope.dispose().await.unwrap();
            let mut lines = log.take();
            lines.sort_by_key(|(_, message)| message.contains("child"));
            assert_eq!(lines, [disposed(&scope, 2), disposed(&child, 0)]);
        }
        let dropped = memory.create_scope("dropped").await.unwrap();
        let line = disposed(&dropped, 0);
        log.take();
        drop(dropped);
        assert_eq!(log.take(), [line]);
    });
}

#[test]
fn log_of_a_second_disposal() {
    logged(async |home, log| {
        let (_board, _, memory) = agent_a(&home).await;
        for scope in [memory.create_scope("ephemeral").await.unwrap(), durable(&memory).await] {
            scope.dispose().await.unwrap();
            log.take();
            assert_eq!(scope.dispose().await.unwrap(), 0);
            let warning = format!("Working memory scope {} already disposed, operation ignored", scope.id());
            assert_eq!(log.take(), [(Level::WARN, warning)]);
        }
    });
}

#[test]
fn log_of_a_memory_that_is_cleared() {
    logged(async |home, log| {
        let (_board, agent, memory) = agent_a(&home).await;
        let fill = async || {
            memory.set("a", &1).await.unwrap();
            memory.set("b", &1).await.unwrap();
            log.take();
        };
        let cleared = [(Level::INFO, "Working memory cleared for agent A, removed 2 entries".into())];
        fill().await;
        memory.clear().await.unwrap();
        assert_eq!(log.take(), cleared);
        fill().await;
        agent.clear(ClearOptions::default()).await.unwrap();
        assert_eq!(log.take(), cleared);
        memory.clear().await.unwrap();
        assert_eq!(log.take(), []);
    });
}

struct Unspeakable;

impl Serialize for Unspeakable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("words fail"))
    }
}

impl<'de> Deserialize<'de> for Unspeakable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

#[test]
fn log_of_a_value_that_cannot_be_serialized() {
    logged(async |home, log| {
        let (_board, _, memory) = agent_a(&home).await;
        let scope = memory.create_scope("ephemeral").await.unwrap();
        memory.len().await.unwrap();
        let failed = [(Level::ERROR, "Failed to serialize value for key user_id: words fail".to_owned())];
        log.take();
        assert!(memory.set("user_id", &Unspeakable).await.is_err());
        assert_eq!(log.take(), failed);
        assert!(memory.update("user_id", |_| Unspeakable).await.is_err());
        assert_eq!(log.take(), failed);
        assert!(memory.get_or_set("user_id", async || Ok::<_, Error>(Unspeakable)).await.is_err());
        assert_eq!(log.take(), failed);
        assert!(scope.update("user_id", |_| Unspeakable).await.is_err());
        assert_eq!(log.take(), failed);
    });
}

/// Logs travel further than memories: they name keys, never what is under them.
#[test]
fn no_value_and_no_note_is_ever_logged() {
    logged(async |home, log| {
        let (board, agent, memory) = agent_a(&home).await;
        for scope in [memory.create_scope("ephemeral").await.unwrap(), durable(&memory).await] {
            scope.set("k", "s3cret").metadata(days(1)).await.unwrap();
            scope.append("k", "s3cret").await.unwrap();
            let note = scope.add_note("s3cret").await.unwrap();
            scope.merge_to_parent(true).await.unwrap();
            scope.remove_note(note).await.unwrap();
            scope.get::<String>("k").await.unwrap();
            assert!(scope.get::<u8>("k").await.is_err());
            assert!(scope.set("k", "s3cret").if_version(0).await.is_err());
            scope.clear().await.unwrap();
        }
        let snapshot = agent.snapshot().await.unwrap();
        agent.restore(snapshot).await.unwrap();
        agent.clear(ClearOptions::default()).await.unwrap();
        board.delete_agent("A").await.unwrap();
        board.close().await.unwrap();
        let lines = log.all();
        assert!(lines.len() > 20, "{lines:?}");
        let leaks: Vec<_> =
            lines.iter().filter(|line| line.message.contains("s3cret") || line.fields.contains("s3cret")).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
    });
}

// §7.2 Metrics.

const ENTRIES: &str = "agents.memory.working.entries";
const SCOPES: &str = "agents.memory.working.scopes";
const GET_LATENCY: &str = "agents.memory.working.get_latency_ms";
const SET_LATENCY: &str = "agents.memory.working.set_latency_ms";
const FALLBACKS: &str = "agents.memory.working.scope_fallback_total";

struct Meter {
    snapshotter: Snapshotter,
}

impl Meter {
    /// How far every metric has moved since the last look.
    fn look(&self) -> BTreeMap<String, DebugValue> {
        let snapshot = self.snapshotter.snapshot().into_vec();
        snapshot.into_iter().map(|(key, _, _, value)| (key.key().name().to_owned(), value)).collect()
    }

    /// How far the gauges for entries and scopes have moved.
    fn gauges(&self) -> (f64, f64) {
        let moved = self.look();
        let gauge = |name| match moved.get(name) {
            Some(DebugValue::Gauge(value)) => value.into_inner(),
            None => 0.0,
            other => panic!("{name} is {other:?}"),
        };
        (gauge(ENTRIES), gauge(SCOPES))
    }

    /// How many gets and sets were timed, and how many fallbacks counted.
    fn operations(&self) -> (usize, usize, u64) {
        let moved = self.look();
        let timed = |name| match moved.get(name) {
            Some(DebugValue::Histogram(values)) => {
                // In milliseconds, and not longer than a test.
                assert!(values.iter().all(|value| (0.0..120_000.0).contains(&value.into_inner())), "{values:?}");
                values.len()
            }
            other => panic!("{name} is {other:?}"),
        };
        let Some(DebugValue::Counter(fallbacks)) = moved.get(FALLBACKS) else { panic!("{moved:?}") };
        (timed(GET_LATENCY), timed(SET_LATENCY), *fallbacks)
    }
}

/// Runs a test on every store with a recorder of its own. All on one thread, whose recorder it is.
fn measured(test: impl AsyncFn(Home, Meter)) {
    for home in [Home::memory(), Home::sqlite()] {
        let recorder = DebuggingRecorder::new();
        let meter = Meter { snapshotter: recorder.snapshotter() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        metrics::with_local_recorder(&recorder, || runtime.block_on(in_time(test(home, meter))));
    }
}

#[test]
fn metrics_have_the_names_and_types_of_the_seed() {
    measured(async |home, meter| {
        let (_board, _, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task").await.unwrap();
        scope.set("k", &1).await.unwrap();
        scope.get::<u8>("other").await.unwrap();
        let found = meter.look();
        let kinds: Vec<_> = found
            .iter()
            .map(|(name, value)| {
                let kind = match value {
                    DebugValue::Counter(_) => "counter",
                    DebugValue::Gauge(_) => "gauge",
                    DebugValue::Histogram(_) => "histogram",
                };
                (name.as_str(), kind)
            })
            .collect();
        let expected = [
            (ENTRIES, "gauge"),
            (GET_LATENCY, "histogram"),
            (FALLBACKS, "counter"),
            (SCOPES, "gauge"),
            (SET_LATENCY, "histogram"),
        ];
        assert_eq!(kinds, expected);
    });
}

#[test]
fn metric_entries_and_scopes_follow_what_is_there() {
    measured(async |home, meter| {
        let (board, agent, memory) = agent_a(&home).await;
        let other = board.agent("B").unwrap().working();
        memory.set("a", &1).await.unwrap();
        memory.set("a", &2).await.unwrap();
        memory.set("b", &1).metadata(days(1)).await.unwrap();
        other.set("a", &1).await.unwrap();
        assert_eq!(meter.gauges(), (3.0, 0.0));
        let ephemeral = memory.create_scope("ephemeral").await.unwrap();
        let durable = durable(&memory).await;
        ephemeral.set("a", &1).await.unwrap();
        durable.set("a", &1).await.unwrap();
        assert_eq!(meter.gauges(), (2.0, 2.0));
        let snapshot = agent.snapshot().await.unwrap();
        memory.remove("a").await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, 0.0));
        home.clock.advance(DAY);
        board.tick().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, 0.0));
        ephemeral.dispose().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, -1.0));
        durable.dispose().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, -1.0));
        let dropped = memory.create_scope("dropped").await.unwrap();
        assert_eq!(meter.gauges(), (0.0, 1.0));
        drop(dropped);
        assert_eq!(meter.gauges(), (0.0, -1.0));
        // The root's two entries, and the durable scope with its one.
        agent.restore(snapshot).await.unwrap();
        assert_eq!(meter.gauges(), (3.0, 1.0));
        board.delete_agent("A").await.unwrap();
        assert_eq!(meter.gauges(), (-3.0, -1.0));
        other.clear().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, 0.0));
    });
}

#[test]
fn metric_latencies_are_recorded_for_every_get_and_set() {
    measured(async |home, meter| {
        let (_board, _, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("ephemeral").await.unwrap(), durable(&memory).await];
        memory.set("a", &1).await.unwrap();
        memory.append("text", "x").await.unwrap();
        memory.update("a", |_: Option<u8>| 2).await.unwrap();
        // A write that is refused took its time, too.
        assert!(memory.set("", &1).await.is_err());
        assert_eq!(meter.operations(), (0, 4, 0));
        memory.get::<u8>("a").await.unwrap();
        memory.get_entry("a").await.unwrap();
        memory.contains("nothing").await.unwrap();
        assert_eq!(meter.operations(), (3, 0, 0));
        for scope in &scopes {
            scope.set("b", &1).await.unwrap();
            scope.get::<u8>("b").await.unwrap();
            scope.get_local::<u8>("b").await.unwrap();
            scope.contains_local("b").await.unwrap();
            assert_eq!(meter.operations(), (3, 1, 0));
        }
    });
}

#[test]
fn metric_fallbacks_count_every_step_to_a_parent() {
    measured(async |home, meter| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("of the root", &1).await.unwrap();
        let outer = durable(&memory).await;
        let middle = outer.create_durable_child_scope("middle").await.unwrap();
        let inner = middle.create_child_scope("inner").await.unwrap();
        let innermost = inner.create_child_scope("innermost").await.unwrap();
        outer.set("of outer", &1).await.unwrap();
        innermost.set("own", &1).await.unwrap();
        let fallbacks = || meter.operations().2;
        fallbacks();
        for (scope, steps) in [(&outer, 1), (&middle, 2), (&inner, 3), (&innermost, 4)] {
            assert_eq!(scope.get::<u8>("of the root").await.unwrap(), Some(1));
            assert_eq!(fallbacks(), steps, "{}", scope.name());
            assert!(!scope.contains("of nobody").await.unwrap());
            assert_eq!(fallbacks(), steps, "{}", scope.name());
            assert!(scope.contains("of outer").await.unwrap());
            assert_eq!(fallbacks(), steps - 1, "{}", scope.name());
            scope.get_local::<u8>("of the root").await.unwrap();
            assert_eq!(fallbacks(), 0, "{}", scope.name());
        }
        innermost.get::<u8>("own").await.unwrap();
        memory.get::<u8>("of nobody").await.unwrap();
        assert_eq!(fallbacks(), 0);
    });
}

// §4.5 Events.

fn key(text: &str) -> Key {
    Key::new(text, &Limits::default()).unwrap()
}

/// What the events of a test have in common.
struct Told {
    agent_id: AgentId,
    scope: Option<Scope>,
}

impl Told {
    fn set(&self, name: &str, type_name: &str, is_update: bool) -> MemoryEvent {
        MemoryEvent::Set {
            agent_id: self.agent_id.clone(),
            key: key(name),
            type_name: type_name.into(),
            timestamp: start(),
            scope_name: self.scope.as_ref().map(Scope::name),
            scope_id: self.scope.as_ref().map(Scope::id),
            is_update,
        }
    }

    fn removed(&self, name: &str) -> MemoryEvent {
        MemoryEvent::Removed {
            agent_id: self.agent_id.clone(),
            key: key(name),
            timestamp: start(),
            scope_name: self.scope.as_ref().map(Scope::name),
            scope_id: self.scope.as_ref().map(Scope::id),
            expired: false,
        }
    }

    fn cleared(&self, entries_cleared: u64) -> MemoryEvent {
        let scope_id = self.scope.as_ref().map(Scope::id);
        MemoryEvent::Cleared { agent_id: self.agent_id.clone(), scope_id, entries_cleared, timestamp: start() }
    }
}

/// Runs a test with every subscriber's view of agent "A" on every store.
async fn told(test: impl AsyncFn(Home, Corkboard, AgentMemory, WorkingMemory)) {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        test(home, board, agent, memory).await;
    })
    .await;
}

#[tokio::test]
async fn event_set_removed_and_cleared_in_the_root() {
    told(async |_home, board, agent, memory| {
        let told = Told { agent_id: agent.agent_id().clone(), scope: None };
        let mut events = board.subscribe();
        memory.set("user_id", "user-123").await.unwrap();
        memory.set("user_id", &7_u64).await.unwrap();
        memory.append("log", "a").await.unwrap();
        memory.append("log", "b").await.unwrap();
        memory.update("count", |_: Option<u64>| 1).await.unwrap();
        memory.get_or_set("made", async || Ok::<_, Error>(vec![true])).await.unwrap();
        memory.set("k", &1).type_name("tool").await.unwrap();
        memory.remove("user_id").await.unwrap();
        memory.clear().await.unwrap();
        let expected = [
            told.set("user_id", "str", false),
            told.set("user_id", "u64", true),
            told.set("log", "text", false),
            told.set("log", "text", true),
            told.set("count", "u64", false),
            told.set("made", "alloc::vec::Vec<bool>", false),
            told.set("k", "tool", false),
            told.removed("user_id"),
            told.cleared(4),
        ];
        assert_eq!(drain(&mut events), expected);
    })
    .await;
}

#[tokio::test]
async fn event_set_removed_and_cleared_in_a_scope() {
    told(async |_home, board, agent, memory| {
        for scope in [memory.create_scope("ephemeral").await.unwrap(), durable(&memory).await] {
            let told = Told { agent_id: agent.agent_id().clone(), scope: Some(scope.clone()) };
            let mut events = board.subscribe();
            scope.set("user_id", "user-123").await.unwrap();
            scope.append("log", "a").await.unwrap();
            scope.append("log", "b").await.unwrap();
            scope.update("user_id", |_: Option<String>| "user-456".into()).await.unwrap();
            scope.remove("user_id").await.unwrap();
            scope.clear().await.unwrap();
            let expected = [
                told.set("user_id", "str", false),
                told.set("log", "text", false),
                told.set("log", "text", true),
                told.set("user_id", "alloc::string::String", true),
                told.removed("user_id"),
                told.cleared(1),
            ];
            assert_eq!(drain(&mut events), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn event_scope_created_and_disposed() {
    told(async |home, board, agent, memory| {
        let agent_id = agent.agent_id().clone();
        let created = |scope: &Scope, parent: Option<&Scope>| MemoryEvent::ScopeCreated {
            agent_id: agent_id.clone(),
            scope_name: scope.name(),
            scope_id: scope.id(),
            parent_scope_id: parent.map(Scope::id),
            timestamp: start(),
        };
        let mut events = board.subscribe();
        let outer = durable(&memory).await;
        let middle = outer.create_durable_child_scope("middle").await.unwrap();
        let inner = middle.create_child_scope("inner").await.unwrap();
        let innermost = inner.create_child_scope("innermost").await.unwrap();
        let alone = memory.create_scope("alone").await.unwrap();
        let expected = [
            created(&outer, None),
            created(&middle, Some(&outer)),
            created(&inner, Some(&middle)),
            created(&innermost, Some(&inner)),
            created(&alone, None),
        ];
        assert_eq!(drain(&mut events), expected);

        inner.set("k", &1).await.unwrap();
        home.clock.advance(DAY);
        drain(&mut events);
        let disposed = |scope: &Scope, entries_cleared| MemoryEvent::ScopeDisposed {
            agent_id: agent_id.clone(),
            scope_name: scope.name(),
            scope_id: scope.id(),
            entries_cleared,
            timestamp: start() + jiff::SignedDuration::from_hours(24),
        };
        inner.dispose().await.unwrap();
        assert_eq!(drain(&mut events), [disposed(&innermost, 0), disposed(&inner, 1)]);
        outer.dispose().await.unwrap();
        assert_eq!(drain(&mut events), [disposed(&middle, 0), disposed(&outer, 0)]);
    })
    .await;
}

#[tokio::test]
async fn event_expired() {
    told(async |home, board, agent, memory| {
        memory.set("k", &1).metadata(days(1)).await.unwrap();
        home.clock.advance(DAY);
        let mut events = board.subscribe();
        // Whoever writes next sweeps first.
        memory.set("other", &1).await.unwrap();
        let told = drain(&mut events);
        let expired = MemoryEvent::Removed {
            agent_id: agent.agent_id().clone(),
            key: key("k"),
            timestamp: start() + jiff::SignedDuration::from_hours(24),
            scope_name: None,
            scope_id: None,
            expired: true,
        };
        assert_eq!((told.len(), &told[0]), (2, &expired));
    })
    .await;
}

#[tokio::test]
async fn event_restored() {
    told(async |_home, board, agent, memory| {
        memory.set("a", &1).await.unwrap();
        durable(&memory).await.set("b", &1).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        memory.clear().await.unwrap();
        let mut events = board.subscribe();
        agent.restore(snapshot).await.unwrap();
        let restored = MemoryEvent::Restored { agent_id: agent.agent_id().clone(), entries: 2, timestamp: start() };
        assert_eq!(drain(&mut events), [restored]);
    })
    .await;
}

#[tokio::test]
async fn what_changes_no_entry_and_no_scope_tells_nothing() {
    told(async |_home, board, agent, memory| {
        memory.set("k", &1).await.unwrap();
        let scope = memory.create_scope("task").await.unwrap();
        let mut events = board.subscribe();
        memory.get::<u8>("k").await.unwrap();
        memory.remove("nothing").await.unwrap();
        let note = memory.add_note("n").await.unwrap();
        memory.remove_note(note).await.unwrap();
        scope.clear().await.unwrap();
        scope.merge_to_parent(true).await.unwrap();
        assert!(memory.set("k", &2).if_version(99).await.is_err());
        assert!(memory.set("", &2).await.is_err());
        agent.clear(ClearOptions { working: false, long_term: false }).await.unwrap();
        board.tick().await.unwrap();
        assert_eq!(drain(&mut events), []);
    })
    .await;
}

#[tokio::test]
async fn every_subscriber_hears_every_agent_of_its_corkboard_and_no_other() {
    let home = Home::sqlite();
    let (here, there) = (home.open().await, home.open().await);
    let (mut first, mut second, mut elsewhere) = (here.subscribe(), here.subscribe(), there.subscribe());
    for agent in ["A", "B"] {
        here.agent(agent).unwrap().working().set("k", &1).await.unwrap();
    }
    there.agent("A").unwrap().working().set("k", &2).await.unwrap();
    let heard = drain(&mut first);
    assert_eq!(heard, drain(&mut second));
    let agents = |events: &[MemoryEvent]| -> Vec<(String, bool)> {
        let agent = |event: &MemoryEvent| match event {
            MemoryEvent::Set { agent_id, is_update, .. } => (agent_id.to_string(), *is_update),
            other => panic!("{other:?}"),
        };
        events.iter().map(agent).collect()
    };
    assert_eq!(agents(&heard), [("A".into(), false), ("B".into(), false)]);
    assert_eq!(agents(&drain(&mut elsewhere)), [("A".into(), true)]);
}

//! §7.1: the log messages.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use corkboard::{ClearOptions, Error, Scope};
use serde::{Deserialize, Serialize};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::{DAY, durable};
use crate::common::{Home, agent_a, days, in_time};

/// One log line: target, level, message and other fields.
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

    /// The messages about memories since the last call.
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

/// Runs a test on every store with a log that records all levels. Everything runs on one thread, because the subscriber
/// is set per thread.
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
        let (corkboard, _, memory) = agent_a(&home).await;
        assert_eq!(log.take(), []);
        memory.get::<u8>("k").await.unwrap();
        assert_eq!(log.take(), [(Level::INFO, "Working memory initialized for agent A".into())]);
        memory.get::<u8>("k").await.unwrap();
        assert_eq!(log.take(), []);
        // The first use can be a read or a write.
        corkboard.agent("team/b").unwrap().working().set("k", &1).await.unwrap();
        assert_eq!(log.take()[0], (Level::INFO, "Working memory initialized for agent team/b".into()));
    });
}

#[test]
fn log_of_an_updated_notebook_names_added_and_removed_items() {
    logged(async |home, log| {
        let (_board, agent, _) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        let block = "CURRENT_PROGRESS:\n  In Progress:\n    - private\nKEY_LEARNINGS:\n  ADD:\n    - because so: private\n\
                     VERBATIM_CONTEXT:\n  ADD:\n    - because so: private => private\n";
        notebook.apply(block).await.unwrap();
        notebook.apply("KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because private\n").await.unwrap();
        // An update without changes is not logged.
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
        let (corkboard, _, memory) = agent_a(&home).await;
        let durable = memory.create_durable_scope("durable").await.unwrap();
        let ephemeral = memory.create_scope("ephemeral").await.unwrap();
        log.take();
        memory.set("user_id", &1).await.unwrap();
        memory.set("user_id", &2).metadata(days(1)).await.unwrap();
        memory.append("text", "a").await.unwrap();
        memory.append("text", "b").await.unwrap();
        memory.update("text", |_: Option<String>| "c".into()).await.unwrap();
        memory.remove("text").await.unwrap();
        // An operation without effect is not logged.
        memory.remove("text").await.unwrap();
        home.clock.advance(DAY);
        corkboard.tick().await.unwrap();
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
            // Lookups in the root are not logged.
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

/// Logs are shared more widely than memories: they name keys, never values.
#[test]
fn no_value_and_no_note_is_ever_logged() {
    logged(async |home, log| {
        let (corkboard, agent, memory) = agent_a(&home).await;
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
        corkboard.delete_agent("A").await.unwrap();
        corkboard.close().await.unwrap();
        let lines = log.all();
        assert!(lines.len() > 20, "{lines:?}");
        let leaks: Vec<_> =
            lines.iter().filter(|line| line.message.contains("s3cret") || line.fields.contains("s3cret")).collect();
        assert!(leaks.is_empty(), "{leaks:?}");
    });
}

//! §7.2: the metrics.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::task::{Context, Waker};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use corkboard::boards::{NewBoard, NewTask};
use corkboard::{Actor, ActorKind, Role};

use super::{DAY, durable};
use crate::common::{Home, agent_a, days, in_time};

const ENTRIES: &str = "agents.memory.working.entries";
const SCOPES: &str = "agents.memory.working.scopes";
const GET_LATENCY: &str = "agents.memory.working.get_latency_ms";
const SET_LATENCY: &str = "agents.memory.working.set_latency_ms";
const READY: &str = "corkboard.ready_tasks";
const QUEUED: &str = "corkboard.queued_commands";
const FALLBACKS: &str = "agents.memory.working.scope_fallback_total";

struct Meter {
    snapshotter: Snapshotter,
}

impl Meter {
    /// The change of every metric since the last call.
    fn look(&self) -> BTreeMap<String, DebugValue> {
        let snapshot = self.snapshotter.snapshot().into_vec();
        snapshot.into_iter().map(|(key, _, _, value)| (key.key().name().to_owned(), value)).collect()
    }

    /// The change of one gauge.
    fn gauge(&self, name: &str) -> f64 {
        match self.look().get(name) {
            Some(DebugValue::Gauge(value)) => value.into_inner(),
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The change of the gauges for entries and scopes.
    fn gauges(&self) -> (f64, f64) {
        let moved = self.look();
        let gauge = |name| match moved.get(name) {
            Some(DebugValue::Gauge(value)) => value.into_inner(),
            None => 0.0,
            other => panic!("{name} is {other:?}"),
        };
        (gauge(ENTRIES), gauge(SCOPES))
    }

    /// The numbers of timed gets, timed sets and counted fallbacks.
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

/// Runs a test on every store with a separate recorder. Everything runs on one thread, because the recorder is set per
/// thread.
fn measured(test: impl AsyncFn(Home, Meter)) {
    for home in [Home::memory(), Home::sqlite()] {
        let recorder = DebuggingRecorder::new();
        let meter = Meter { snapshotter: recorder.snapshotter() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        metrics::with_local_recorder(&recorder, || runtime.block_on(in_time(test(home, meter))));
    }
}

#[test]
fn metrics_have_the_specified_names_and_types() {
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
        let (of_the_seed, own): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|(name, _)| name.starts_with("agents."));
        assert_eq!(of_the_seed, expected);
        assert!(own.iter().all(|(name, _)| name.starts_with("corkboard.")), "{own:?}");
    });
}

#[test]
fn metric_ready_tasks_follows_the_loaded_boards() {
    measured(async |home, meter| {
        let corkboard = home.open().await;
        let ready = || meter.gauge(READY);
        let new = NewBoard { name: "Auth".into(), goal: "JWT".into(), ..NewBoard::default() };
        let board = corkboard.create_board(new).id("auth").await.unwrap();
        assert_eq!(ready(), 0.0);
        board.add_tasks(vec![NewTask::new("Design"), NewTask::new("Build")], vec![]).await.unwrap();
        assert_eq!(ready(), 2.0);
        let worker = board.clone().acting_as(Actor::new("ann", ActorKind::Agent, Role::Worker));
        worker.claim_task(None, Duration::from_secs(60)).await.unwrap().unwrap();
        assert_eq!((ready(), corkboard.expired_leases()), (-1.0, 0));
        home.clock.advance(Duration::from_secs(61));
        assert_eq!((ready(), corkboard.expired_leases()), (0.0, 1));
        corkboard.tick().await.unwrap();
        assert_eq!((ready(), corkboard.expired_leases()), (1.0, 0));
        // A process that has loaded nothing counts nothing.
        if home.is_shared() {
            let other = home.open().await;
            assert_eq!((ready(), other.expired_leases()), (0.0, 0));
            other.board("auth").unwrap().view().await.unwrap();
            assert_eq!(ready(), 2.0);
        }
    });
}

#[test]
fn metric_queued_commands_counts_unanswered_commands() {
    measured(async |home, meter| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("a", &1).await.unwrap();
        assert_eq!(meter.gauge(QUEUED), 0.0);
        let mut writes: Vec<_> = (0..3).map(|value| Box::pin(memory.set("a", &value).into_future())).collect();
        let mut waiting = 0;
        for write in &mut writes {
            // Polled once, so that it is in the queue. A store in memory answers at once.
            let polled = write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            waiting += usize::from(polled.is_pending());
        }
        assert_eq!(waiting, if home.is_shared() { 3 } else { 0 });
        assert_eq!(meter.gauge(QUEUED), waiting as f64);
        for write in writes.into_iter().filter(|_| waiting > 0) {
            write.await.unwrap();
        }
        assert_eq!(meter.gauge(QUEUED), -(waiting as f64));
    });
}

#[test]
fn metric_entries_and_scopes_follow_the_memory() {
    measured(async |home, meter| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let other = corkboard.agent("B").unwrap().working();
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
        corkboard.tick().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, 0.0));
        ephemeral.dispose().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, -1.0));
        durable.dispose().await.unwrap();
        assert_eq!(meter.gauges(), (-1.0, -1.0));
        let dropped = memory.create_scope("dropped").await.unwrap();
        assert_eq!(meter.gauges(), (0.0, 1.0));
        drop(dropped);
        assert_eq!(meter.gauges(), (0.0, -1.0));
        // The root's two entries, and the durable scope with its one entry.
        agent.restore(snapshot).await.unwrap();
        assert_eq!(meter.gauges(), (3.0, 1.0));
        corkboard.delete_agent("A").await.unwrap();
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
        // A refused write is timed, too.
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

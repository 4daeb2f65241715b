//! §7.2: what is measured.

use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use super::{DAY, durable};
use crate::common::{Home, agent_a, days, in_time};

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
        // The root's two entries, and the durable scope with its one.
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

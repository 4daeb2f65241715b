//! `get_or_set` runs one factory at a time, and `update` loses no change, even with concurrent callers and processes.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use corkboard::{Corkboard, EntryMetadata, Error, MemoryKind, Result, Scope, WorkingMemory};
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::{Barrier, Notify, Semaphore};

use crate::common::{Home, agent_a, days, fails_without_a_trace, on_every_store, start};

/// A handle that has `get_or_set` and `update`.
#[derive(Clone)]
enum Handle {
    Root(WorkingMemory),
    Scope(Scope),
}

impl Handle {
    async fn get_or_set<E, F, Fut>(&self, key: &str, factory: F) -> Result<u32>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<u32, E>>,
    {
        match self {
            Self::Root(memory) => memory.get_or_set(key, factory).await,
            Self::Scope(scope) => scope.get_or_set(key, factory).await,
        }
    }

    async fn update(&self, key: &str, change: impl FnMut(Option<u32>) -> u32 + Send + 'static) -> Result<u32> {
        match self {
            Self::Root(memory) => memory.update(key, change).await,
            Self::Scope(scope) => scope.update(key, change).await,
        }
    }

    async fn get(&self, key: &str) -> Option<u32> {
        match self {
            Self::Root(memory) => memory.get(key).await.unwrap(),
            Self::Scope(scope) => scope.get_local(key).await.unwrap(),
        }
    }
}

/// Runs a test on the root and on both kinds of scope, on every store.
async fn check(test: impl AsyncFn(&Corkboard, Handle)) {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        test(&corkboard, Handle::Root(memory.clone())).await;
        memory.clear().await.unwrap();
        test(&corkboard, Handle::Scope(memory.create_scope("ephemeral").await.unwrap())).await;
        test(&corkboard, Handle::Scope(memory.create_durable_scope("durable").await.unwrap())).await;
    })
    .await;
}

#[derive(Debug, thiserror::Error)]
#[error("no luck")]
struct NoLuck;

// get_or_set

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_callers_run_one_factory() {
    check(async |_, handle| {
        let entered = Arc::new(Semaphore::new(0));
        let factories = Arc::new(AtomicU32::new(0));
        let callers = (0..100).map(|caller| {
            let (handle, entered, factories) = (handle.clone(), entered.clone(), factories.clone());
            tokio::spawn(async move {
                entered.add_permits(1);
                let factory = async || {
                    factories.fetch_add(1, Ordering::SeqCst);
                    // All callers have started before the value exists.
                    drop(entered.acquire_many(100).await);
                    Ok::<_, NoLuck>(caller)
                };
                handle.get_or_set("k", factory).await.unwrap()
            })
        });
        let mut values: Vec<u32> = join_all(callers).await.into_iter().map(|value| value.unwrap()).collect();
        assert_eq!(factories.load(Ordering::SeqCst), 1);
        values.dedup();
        assert_eq!(values, [handle.get("k").await.unwrap()]);
    })
    .await;
}

#[tokio::test]
async fn an_existing_value_needs_no_factory() {
    check(async |_, handle| {
        handle.update("k", |_| 7).await.unwrap();
        let never = async || -> Result<u32> { panic!("the factory should not run: there is a value") };
        assert_eq!(handle.get_or_set("k", never).await.unwrap(), 7);
    })
    .await;
}

#[tokio::test]
async fn a_value_of_another_type_is_an_error_and_needs_no_factory() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("k", "text").await.unwrap();
        let never = async || -> Result<u32> { panic!("the factory should not run: there is a value") };
        let error = fails_without_a_trace(&corkboard, &agent, memory.get_or_set("k", never)).await;
        assert!(matches!(error, Error::Deserialize { expected: "u32", .. }), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn a_failed_factory_lets_the_next_one_run_and_reports_to_its_caller() {
    check(async |_, handle| {
        let (running, go_on) = (Notify::new(), Notify::new());
        let mut first = pin!(handle.get_or_set("k", async || {
            running.notify_one();
            go_on.notified().await;
            Err(NoLuck)
        }));
        let second_runs = AtomicBool::new(false);
        let mut second = pin!(handle.get_or_set("k", async || {
            second_runs.store(true, Ordering::SeqCst);
            Ok::<_, NoLuck>(2)
        }));
        // The first one runs, the second waits.
        runs_until(&mut first, &running).await;
        assert!(is_held_up(&mut second).await);
        assert!(!second_runs.load(Ordering::SeqCst));
        go_on.notify_one();
        let error = first.await.unwrap_err();
        let Error::Factory { key, source } = &error else { panic!("{error:?}") };
        assert_eq!((key.as_str(), source.to_string().as_str()), ("k", "no luck"));
        assert!(source.is::<NoLuck>());
        assert_eq!(handle.get("k").await, None);
        assert_eq!(second.await.unwrap(), 2);
        assert_eq!(handle.get("k").await, Some(2));
    })
    .await;
}

/// Runs a future until it notifies `so`.
async fn runs_until<F: Future + Unpin>(future: &mut F, so: &Notify) {
    tokio::select! {
        _ = future => panic!("the future ended too early"),
        () = so.notified() => {}
    }
}

/// Runs a future and returns whether it is blocked.
async fn is_held_up<F: Future + Unpin>(future: &mut F) -> bool {
    for _ in 0..1000 {
        if future.now_or_never().is_some() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

#[tokio::test]
async fn a_factory_that_is_cancelled_lets_the_next_one_run() {
    check(async |_, handle| {
        let (running, cancelled) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let first = tokio::spawn({
            let (handle, running) = (handle.clone(), running.clone());
            async move {
                let factory = async || {
                    running.notify_one();
                    std::future::pending::<Result<u32, NoLuck>>().await
                };
                handle.get_or_set("k", factory).await
            }
        });
        running.notified().await;
        let mut second = pin!(handle.get_or_set("k", async || {
            assert!(cancelled.load(Ordering::SeqCst), "two factories ran at once");
            Ok::<_, NoLuck>(2)
        }));
        assert!(is_held_up(&mut second).await);
        cancelled.store(true, Ordering::SeqCst);
        first.abort();
        assert_eq!(second.await.unwrap(), 2);
        assert!(first.await.unwrap_err().is_cancelled());
        assert_eq!(handle.get("k").await, Some(2));
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_stops_waiting_for_its_turn_blocks_nobody() {
    check(async |_, handle| {
        let (running, go_on) = (Notify::new(), Notify::new());
        let mut first = pin!(handle.get_or_set("k", async || {
            running.notify_one();
            go_on.notified().await;
            Err(NoLuck)
        }));
        runs_until(&mut first, &running).await;
        {
            let never = async || -> Result<u32, NoLuck> {
                panic!("the factory should not run: it was dropped before its turn")
            };
            let mut second = pin!(handle.get_or_set("k", never));
            assert!(is_held_up(&mut second).await);
        }
        let mut third = pin!(handle.get_or_set("k", async || Ok::<_, NoLuck>(3)));
        assert!(is_held_up(&mut third).await);
        go_on.notify_one();
        assert!(first.await.is_err());
        assert_eq!(third.await.unwrap(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_factory_that_panics_lets_the_next_one_run() {
    check(async |_, handle| {
        let panics = tokio::spawn({
            let handle = handle.clone();
            async move { handle.get_or_set("k", async || -> Result<u32, NoLuck> { panic!("on purpose") }).await }
        });
        assert!(panics.await.unwrap_err().is_panic());
        assert_eq!(handle.get("k").await, None);
        assert_eq!(handle.get_or_set("k", async || Ok::<_, NoLuck>(2)).await.unwrap(), 2);
    })
    .await;
}

#[tokio::test]
async fn factories_of_different_keys_do_not_wait_for_each_other() {
    check(async |_, handle| {
        // Each factory ends only after the others have started.
        let together = Barrier::new(3);
        let factory = |value| {
            let together = &together;
            async move || {
                together.wait().await;
                Ok::<u32, NoLuck>(value)
            }
        };
        let (a, b, c) = tokio::join!(
            handle.get_or_set("a", factory(1)),
            handle.get_or_set("b", factory(2)),
            handle.get_or_set("c", factory(3)),
        );
        assert_eq!((a.unwrap(), b.unwrap(), c.unwrap()), (1, 2, 3));
    })
    .await;
}

#[tokio::test]
async fn factories_of_different_scopes_and_agents_do_not_wait_for_each_other() {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        let handles = [
            Handle::Root(memory.clone()),
            Handle::Root(corkboard.agent("B").unwrap().working()),
            Handle::Scope(memory.create_scope("ephemeral").await.unwrap()),
            Handle::Scope(memory.create_durable_scope("durable").await.unwrap()),
        ];
        let together = Barrier::new(handles.len());
        let calls = handles.iter().enumerate().map(|(number, handle)| {
            let together = &together;
            handle.get_or_set("k", async move || {
                together.wait().await;
                Ok::<_, NoLuck>(number as u32)
            })
        });
        let made: Vec<u32> = join_all(calls).await.into_iter().map(|made| made.unwrap()).collect();
        assert_eq!(made, [0, 1, 2, 3]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_corkboards_on_one_file_both_return_the_value_that_was_first() {
    let home = Home::sqlite();
    let (here, there) = (agent_a(&home).await, agent_a(&home).await);
    let scope = here.2.create_durable_scope("durable").await.unwrap();
    let same = there.2.scope(scope.id()).await.unwrap().unwrap();
    let pairs =
        [(Handle::Root(here.2.clone()), Handle::Root(there.2.clone())), (Handle::Scope(scope), Handle::Scope(same))];
    for (pair, (here, there)) in pairs.iter().enumerate() {
        for round in 0..10 {
            let key = format!("{pair}/{round}");
            // Both have looked and found nothing before either stores a value.
            let together = Barrier::new(2);
            let factory = |value| {
                let together = &together;
                async move || {
                    together.wait().await;
                    Ok::<u32, NoLuck>(value)
                }
            };
            let calls = async { tokio::join!(here.get_or_set(&key, factory(1)), there.get_or_set(&key, factory(2))) };
            let (first, second) = crate::common::in_time(calls).await;
            let (first, second) = (first.unwrap(), second.unwrap());
            assert_eq!(first, second);
            assert!([1, 2].contains(&first));
            assert_eq!((here.get(&key).await, there.get(&key).await), (Some(first), Some(first)));
        }
    }
}

// update

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_concurrent_increments_are_all_counted() {
    check(async |_, handle| {
        let increments = (0..200).map(|_| {
            let handle = handle.clone();
            tokio::spawn(async move { handle.update("count", |count| count.unwrap_or(0) + 1).await.unwrap() })
        });
        let mut returned: Vec<u32> = join_all(increments).await.into_iter().map(|value| value.unwrap()).collect();
        assert_eq!(handle.get("count").await, Some(200));
        // Each caller gets its own result.
        returned.sort_unstable();
        assert!(returned.into_iter().eq(1..=200));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_increments_from_two_corkboards_on_one_file_are_all_counted() {
    let home = Home::sqlite();
    let (here, there) = (agent_a(&home).await, agent_a(&home).await);
    let runs = Arc::new(AtomicU32::new(0));
    let increments = (0..200).map(|index| {
        let (memory, runs) = (if index % 2 == 0 { here.2.clone() } else { there.2.clone() }, runs.clone());
        let increment = move |count: Option<u32>| {
            runs.fetch_add(1, Ordering::SeqCst);
            count.unwrap_or(0) + 1
        };
        tokio::spawn(async move { memory.update("count", increment).await.unwrap() })
    });
    let mut returned: Vec<u32> =
        crate::common::in_time(join_all(increments)).await.into_iter().map(|value| value.unwrap()).collect();
    returned.sort_unstable();
    assert!(returned.into_iter().eq(1..=200));
    assert_eq!(here.2.get::<u32>("count").await.unwrap(), Some(200));
    assert_eq!(there.2.get::<u32>("count").await.unwrap(), Some(200));
    assert!(runs.load(Ordering::SeqCst) >= 200);
}

#[tokio::test]
async fn an_update_changes_the_value_and_keeps_the_metadata() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let metadata = EntryMetadata {
            importance: Some(0.25),
            tags: Some(vec!["x".into(), "y".into()]),
            kind: Some(MemoryKind::Correction),
            custom: Some(serde_json::Map::from_iter([("a".into(), 1.into())])),
            session: Some("monday".into()),
            ..days(3)
        };
        let scopes =
            [memory.create_scope("ephemeral").await.unwrap(), memory.create_durable_scope("durable").await.unwrap()];
        for scope in &scopes {
            scope.set("k", &1).metadata(metadata.clone()).await.unwrap();
            let before = scope.get_entry("k").await.unwrap().unwrap();
            home.clock.advance(std::time::Duration::from_secs(60));
            scope.update("k", |old: Option<u32>| old.unwrap() + 1).await.unwrap();
            let after = scope.get_entry("k").await.unwrap().unwrap();
            assert_eq!(after.value.as_json(), "2");
            let kept = |entry: &corkboard::Entry| {
                let data = &entry.data;
                (data.id, data.importance, data.tags.clone(), data.kind, data.custom.clone(), data.session.clone())
            };
            assert_eq!(kept(&after), kept(&before));
            assert_eq!((after.expires_at, before.expires_at.is_some()), (before.expires_at, true));
            assert!(after.at > before.at && after.at > start());
            assert!(after.version > before.version);
        }
    })
    .await;
}

#[tokio::test]
async fn an_update_that_panics_is_an_error_and_writes_nothing() {
    check(async |corkboard, handle| {
        let agent = corkboard.agent("A").unwrap();
        handle.update("k", |_| 1).await.unwrap();
        let text = handle.update("k", |_| panic!("on {}", "purpose"));
        let error = fails_without_a_trace(corkboard, &agent, text).await;
        assert!(matches!(&error, Error::Panicked { message } if message == "on purpose"), "{error:?}");
        let literal = handle.update("k", |_| panic!("literally"));
        let error = fails_without_a_trace(corkboard, &agent, literal).await;
        assert!(matches!(&error, Error::Panicked { message } if message == "literally"), "{error:?}");
        assert_eq!(handle.update("k", |old| old.unwrap() + 1).await.unwrap(), 2);
    })
    .await;
}

/// Updates that arrive while the first is being written are committed in one batch.
#[tokio::test]
async fn an_update_that_panics_leaves_the_others_in_its_batch_alone() {
    check(async |_, handle| {
        let updates = (0..20).map(|index| {
            handle.update("count", move |count| {
                assert!(index != 7 && index != 13, "on purpose");
                count.unwrap_or(0) + 1
            })
        });
        for (index, updated) in join_all(updates).await.into_iter().enumerate() {
            match updated {
                Err(Error::Panicked { .. }) => assert!([7, 13].contains(&index), "{index}"),
                other => assert!(other.unwrap() <= 18 && ![7, 13].contains(&index), "{index}"),
            }
        }
        assert_eq!(handle.get("count").await, Some(18));
    })
    .await;
}

#[tokio::test]
async fn an_update_of_a_value_of_another_type_is_an_error_and_does_not_run() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scopes =
            [memory.create_scope("ephemeral").await.unwrap(), memory.create_durable_scope("durable").await.unwrap()];
        memory.set("k", "text").await.unwrap();
        let never = |_: Option<u32>| -> u32 { panic!("the closure should not run: the value is not a number") };
        let wrong = |error: Error| {
            let Error::Deserialize { key, expected, message } = error else { panic!("{error:?}") };
            assert_eq!((key.as_str(), expected), ("k", "u32"));
            assert!(message.contains("invalid type: string \"text\""), "{message}");
        };
        wrong(fails_without_a_trace(&corkboard, &agent, memory.update("k", never)).await);
        for scope in &scopes {
            scope.set("k", "text").await.unwrap();
            wrong(fails_without_a_trace(&corkboard, &agent, scope.update("k", never)).await);
        }
    })
    .await;
}

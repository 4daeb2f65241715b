//! The tables: created once, checked, and consistent under concurrent writes.

use corkboard_testing::servers::TestServer;
use corkboard_testing::{Harness, PostgresSchema};

use super::*;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

/// Many clients that open an empty database at once find the same tables.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_open_an_empty_database_at_once() {
    for _ in 0..rounds(3) {
        let schema = PostgresSchema::on_shared_server();
        let url = schema.url();
        let opening = (0..10).map(|index| {
            let url = url.clone();
            tokio::spawn(async move {
                let store = patient(&url).await;
                put(&*store, &space(&format!("space-{index}")), Head::EMPTY, b"1").await;
            })
        });
        futures_util::future::join_all(opening).await.into_iter().for_each(|opened| opened.unwrap());
        let store = patient(&url).await;
        assert_eq!(store.list(SpaceKind::Agent, None, 100).await.unwrap().len(), 10);
    }
}

/// Tables of a newer Corkboard are left alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_tables_are_left_alone() {
    let schema = PostgresSchema::on_shared_server();
    drop(patient(&schema.url()).await);
    let client = sql(schema.server()).await;
    client.batch_execute(&format!("UPDATE {}.corkboard SET version = 7", schema.name())).await.unwrap();
    let refused = Corkboard::open(&schema.url()).await.err();
    let expected = StoreError::NewerFormat { found: 7, known: 1 };
    assert!(matches!(&refused, Some(Error::Store(error)) if *error == expected), "{refused:?}");
}

/// Waiting appends share one transaction. One that cannot be written does not affect the others. Two on one space are
/// decided in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_one_transaction_and_each_append_is_judged_for_itself() {
    let schema = PostgresSchema::on_shared_server();
    let store = patient(&schema.url()).await;
    let taken = put(&*store, &space("taken"), Head::EMPTY, b"1").await;
    let before = store.commits();
    let mut appends: Vec<_> = (0..200).map(|index| append(&space(&format!("s{index}")), Head::EMPTY, b"x")).collect();
    appends.push(append(&space("taken"), Head::EMPTY, b"x"));
    appends.push(append(&space("no\0name"), Head::EMPTY, b"x"));
    let twice = [append(&space("twice"), Head::EMPTY, b"a"), append(&space("twice"), Head::EMPTY, b"b")];
    appends.extend(twice.clone());
    let mut outcomes =
        futures_util::future::join_all(appends.into_iter().map(|append| store.append(append))).await.into_iter();
    assert!(outcomes.by_ref().take(200).all(|outcome| outcome == Ok(Appended::Committed)));
    assert_eq!(outcomes.next(), Some(Ok(Appended::Conflict { head: taken })));
    assert!(matches!(outcomes.next(), Some(Err(StoreError::Unavailable(_)))));
    let heads = twice.map(|append| new_head(&append));
    match (outcomes.next().unwrap().unwrap(), outcomes.next().unwrap().unwrap()) {
        (Appended::Committed, Appended::Conflict { head }) => assert_eq!(head, heads[0]),
        (Appended::Conflict { head }, Appended::Committed) => assert_eq!(head, heads[1]),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.list(SpaceKind::Agent, None, 1000).await.unwrap().len(), 202);
    let together: Vec<_> = (0..200).map(|index| append(&space(&format!("t{index}")), Head::EMPTY, b"x")).collect();
    let middle = store.commits();
    futures_util::future::join_all(together.into_iter().map(|append| store.append(append))).await;
    let (first, second) = (middle - before, store.commits() - middle);
    assert!(second < 20, "{first} transactions with a failing append, {second} without");
}

/// Several processes on a shared space and on separate spaces, and many tasks here on all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_write_to_one_space_and_to_many() {
    let harness = Harness::postgres(WORKER);
    let workers: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .map(|name| {
            let agent = if *name < "d" { "shared".to_owned() } else { format!("own-{name}") };
            harness.spawn(&["note", &agent, name, "40"])
        })
        .collect();
    let corkboard = harness.corkboard().await;
    let tasks = (0..16).map(|task| {
        let agent = ["shared", "own-d", "own-e", "own-f"][task % 4];
        let memory = corkboard.agent(agent).unwrap().working();
        tokio::spawn(async move {
            for index in 0..10 {
                memory.add_note(&format!("here-{task}-{index}")).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    for worker in workers {
        assert_eq!(worker.finish().await.len(), 40);
    }
    for (agent, notes) in [("shared", 160), ("own-d", 80), ("own-e", 80), ("own-f", 80)] {
        assert_eq!(corkboard.agent(agent).unwrap().working().notes().await.unwrap().len(), notes, "{agent}");
    }
    assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
}

/// A caller that waits too long for a lock gets `busy`, and nothing was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_space_that_others_hold_for_too_long_is_busy() {
    let schema = PostgresSchema::on_shared_server();
    let store = store(&schema.url(), Duration::from_millis(300)).await;
    let space = space("held");
    let head = put(&*store, &space, Head::EMPTY, b"1").await;
    let mut client = sql(schema.server()).await;
    let holder = client.transaction().await.unwrap();
    holder.batch_execute(&format!("SELECT FROM {}.spaces FOR UPDATE", schema.name())).await.unwrap();
    let busy = store.append(append(&space, head, b"2")).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    assert!(matches!(store.delete(&space, head, commit()).await, Err(StoreError::Busy { .. })));
    assert_eq!(store.head(&space).await, Ok(head), "readers should not wait");
    holder.rollback().await.unwrap();
    put(&*store, &space, head, b"2").await;
}

/// The server breaks a deadlock with a client that locks in another order, and the rolled-back batch is retried.
// On one thread, so that both appends are in one batch, which is taken when this task waits.
#[tokio::test]
async fn a_batch_that_the_server_rolled_back_is_retried() {
    let schema = PostgresSchema::on_shared_server();
    let store = patient(&schema.url()).await;
    let (one, two) = (space("one"), space("two"));
    let heads = (put(&*store, &one, Head::EMPTY, b"1").await, put(&*store, &two, Head::EMPTY, b"1").await);
    let mut client = sql(schema.server()).await;
    let other = client.transaction().await.unwrap();
    let lock = |name: &str| format!("SELECT FROM {}.spaces WHERE name = 'agent/{name}' FOR UPDATE", schema.name());
    other.batch_execute(&lock("two")).await.unwrap();
    let both = futures_util::future::join(
        store.append(append(&one, heads.0, b"2")),
        store.append(append(&two, heads.1, b"2")),
    );
    let opponent = async {
        // By now the batch holds the first space.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let outcome = other.batch_execute(&lock("one")).await;
        let _ = other.rollback().await;
        outcome
    };
    let (appended, _) = futures_util::future::join(both, opponent).await;
    assert_eq!(appended, (Ok(Appended::Committed), Ok(Appended::Committed)));
    assert_eq!(store.check().await, Ok(vec![]));
}

/// If transactions are serializable by default, the server rolls back more, but the result is the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stricter_default_isolation_changes_nothing() {
    let schema = PostgresSchema::on_shared_server();
    let url = format!("{}&options=-c%20default_transaction_isolation%3Dserializable", schema.url());
    let boards = [Corkboard::open(&url).await.unwrap(), Corkboard::open(&url).await.unwrap()];
    let tasks = (0..20).map(|task| {
        let memory = boards[task % 2].agent(&format!("agent-{}", task % 4)).unwrap().working();
        tokio::spawn(async move {
            for _ in 0..10 {
                memory.update("count", |count: Option<u64>| count.unwrap_or(0) + 1).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    for agent in 0..4 {
        let memory = boards[0].agent(&format!("agent-{agent}")).unwrap().working();
        assert_eq!(memory.get::<u64>("count").await.unwrap(), Some(50));
    }
}

/// Every kind of damage is found and reported with its space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_found() {
    let damages = [
        ("DELETE FROM {}.events WHERE rev = 2", "are not a complete log"),
        ("DELETE FROM {}.events WHERE rev = 4", "are not a complete log"),
        ("DELETE FROM {}.events", "its log is missing"),
        ("UPDATE {}.events SET commit_id = gen_random_uuid() WHERE rev = 4", "its head is not its last record"),
        ("DELETE FROM {}.events WHERE rev = 3 AND part = 1", "revision 3 has missing parts"),
        ("DELETE FROM {}.spaces", "without a name"),
        ("INSERT INTO {}.snapshots SELECT id, 9, commit_id, '' FROM {}.spaces", "its snapshot shows revision 9"),
        ("INSERT INTO {}.due SELECT id, 'agent', 5 FROM {}.spaces", "due dates differ"),
    ];
    for (damage, found) in damages {
        let schema = PostgresSchema::on_shared_server();
        let store = patient(&schema.url()).await;
        let mut head = Head::EMPTY;
        for body in [&b"1"[..], b"2", &vec![b'3'; 3 * Record::PART_BYTES], b"4"] {
            head = put(&*store, &space("ada"), head, body).await;
        }
        assert_eq!(store.check().await, Ok(vec![]));
        sql(schema.server()).await.batch_execute(&damage.replace("{}", schema.name())).await.unwrap();
        let problems = store.check().await.unwrap();
        assert!(problems.iter().any(|problem| problem.contains(found)), "{damage}: {problems:?}");
        assert!(problems.iter().all(|problem| problem.contains("ada") || problem.contains("without a name")));
    }
}

/// A head is updated in place: indexes stay unchanged, however often it moves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_move_in_place() {
    // On the shared server, another test's transaction could keep old rows from being pruned.
    let server = TestServer::postgres();
    let store = patient(&server.url()).await;
    let mut heads = [Head::EMPTY; 20];
    for _ in 0..20 {
        for (index, head) in heads.iter_mut().enumerate() {
            *head = put(&*store, &space(&format!("space-{index}")), *head, b"x").await;
        }
    }
    store.close().await.unwrap();
    let client = sql(&server.url()).await;
    let moved = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'spaces'";
    eventually("statistics", || async { client.query_one(moved, &[]).await.unwrap().get::<_, i64>(0) >= 400 }).await;
    let row = client.query_one(moved, &[]).await.unwrap();
    let (updates, in_place): (i64, i64) = (row.get(0), row.get(1));
    assert!(in_place * 10 >= updates * 9, "{in_place} of {updates}");
}

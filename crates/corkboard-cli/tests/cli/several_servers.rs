//! Several servers on one store, and servers that are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corkboard::boards::{NewBoard, NewTask};
use corkboard::{Actor, ActorKind, Corkboard, Options, Role, ServerAddress, Watched};
use corkboard_testing::Harness;
use corkboard_testing::servers::TestServer;
use tokio::sync::Mutex;

use crate::killable_server::{KillableServer, block_on};
use crate::support::Sandbox;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("{what} did not finish in time"))
}

#[test]
fn two_server_processes_on_one_sqlite_file_are_one() {
    two_servers_are_one(&Harness::sqlite(""));
}

#[test]
fn two_server_processes_on_one_postgresql_are_one() {
    two_servers_are_one(&Harness::postgres(""));
}

#[test]
fn two_server_processes_on_one_redis_are_one() {
    two_servers_are_one(&Harness::redis(""));
}

#[test]
fn a_missing_database_must_be_created_first() {
    let url = Harness::postgres("").url();
    let (server, database) = url.split_once('?').unwrap_or((&url, "")).0.rsplit_once('/').unwrap();
    let url = format!("{server}/not_{database}");
    let error = Sandbox::local().fails(
        &["--store", &url, "serve", "--listen", "127.0.0.1:0"],
        2,
        "hint: create the database first",
    );
    assert_eq!(error["code"], "store_url");
    assert!(error["detail"].as_str().unwrap().contains(&format!("\"not_{database}\" does not exist")), "{error}");
}

/// If every command printed it, nobody would read it.
#[test]
fn doctor_says_what_a_redis_may_lose_and_other_commands_do_not() {
    let server = TestServer::redis_with(&["--appendonly", "yes"]);
    let url = server.url();
    let sandbox = Sandbox::local();
    let said = "a crash of this Redis may lose about the last second";
    assert_eq!(sandbox.ok(&["--store", &url, "memory", "set", "a", "1"]), "version 1");
    assert!(sandbox.ok(&["--store", &url, "doctor"]).contains(said));
    let told = sandbox.cork(&["--store", &url, "-v", "memory", "get", "a"]);
    assert!(told.stderr.contains(said), "verbose output should contain it: {told:?}");
}

fn two_servers_are_one(harness: &Harness) {
    let [mut first, second] = [(); 2].map(|()| KillableServer::start(&harness.url(), "127.0.0.1:0"));
    let (token, secret) = first.token("ada", Role::Admin);
    block_on(async {
        // A token created on one server works on the other.
        let (here, there) = (first.connect(&secret).await, second.connect(&secret).await);
        let memory = |corkboard: &Corkboard| corkboard.agent("team/ada").unwrap().working();
        let mut watch = there.agent("team/ada").unwrap().watch(0).await.unwrap();
        for number in 1..=20u32 {
            memory(&here).set("count", &number).await.unwrap();
            assert_eq!(
                memory(&there).get::<u32>("count").await.unwrap(),
                Some(number),
                "the other server should see the write"
            );
            memory(&there).append("log", "x").await.unwrap();
            let log = memory(&here).get::<String>("log").await.unwrap();
            assert_eq!(log.map(|log| log.len()), Some(number as usize));
        }
        let revs = in_time("the watch", async {
            let mut revs = Vec::new();
            while revs.len() < 40 {
                match watch.next().await.unwrap() {
                    Watched::Revision { rev, .. } => revs.push(rev),
                    other => panic!("{other:?}"),
                }
            }
            revs
        });
        assert_eq!(revs.await, (1..=40).collect::<Vec<u64>>(), "the other server's watcher should see every revision");
        drop(watch);

        race_for_claims([&here, &there]).await;

        let admin = first.connect(&first.secret).await;
        assert!(there.agent("x").unwrap().working().get::<u32>("a").await.is_ok());
        admin.tokens().revoke(token).await.unwrap();
        in_time("the revocation", async { while there.agent("x").unwrap().working().get::<u32>("a").await.is_ok() {} })
            .await;
        let refused = there.agent("x").unwrap().working().set("a", &1).await.unwrap_err();
        assert_eq!(refused.code(), "unauthenticated");

        // One server is killed, and the other continues.
        first.kill();
        let left = second.connect(&second.secret).await;
        assert_eq!(memory(&left).get::<u32>("count").await.unwrap(), Some(20));
        memory(&left).set("count", &21).await.unwrap();
        assert_eq!(memory(&left).get::<u32>("count").await.unwrap(), Some(21));
        left.close().await.unwrap();
    });
}

/// Workers on both servers claim the tasks of one board. Each task is claimed once.
async fn race_for_claims(boards: [&Corkboard; 2]) {
    let new = NewBoard { name: "race".into(), ..NewBoard::default() };
    let race = boards[0].create_board(new).id("race").await.unwrap();
    let tasks = (0..24).map(|number| NewTask::new(format!("task {number}")));
    race.add_tasks(tasks.collect(), vec![]).await.unwrap();
    let workers = (0..6usize).map(|number| {
        let actor = Actor { principal: format!("w{number}"), kind: ActorKind::Agent, role: Role::Worker, via: None };
        let board = boards[number % 2].acting_as(actor).board("race").unwrap();
        tokio::spawn(async move {
            let mut won = Vec::new();
            while let Some(claimed) = board.claim_task(None, Duration::from_secs(300)).await.unwrap() {
                won.push(claimed.task);
            }
            won
        })
    });
    let mut won = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        won.extend(in_time("the race", worker).await.unwrap());
    }
    assert_eq!(
        (won.len(), won.iter().collect::<BTreeSet<_>>().len()),
        (24, 24),
        "no task should be claimed twice: {won:?}"
    );
}

/// How often the server is killed.
fn rounds() -> usize {
    std::env::var("CORK_SOAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

#[test]
fn a_server_killed_under_load_loses_no_acknowledged_write_and_repeats_none_with_a_key() {
    let sandbox = Sandbox::local();
    let mut served = KillableServer::start(&sandbox.store(), "127.0.0.1:0");
    let acknowledged = Arc::new(Mutex::new(BTreeMap::new()));
    let named = Arc::new(AtomicUsize::new(0));
    block_on(async {
        for round in 0..rounds() {
            let count = Arc::new(AtomicUsize::new(0));
            let writers: Vec<_> = (0..8usize)
                .map(|writer| {
                    let (url, secret) = (served.url.clone(), served.secret.clone());
                    tokio::spawn(write_until_it_dies(url, secret, round, writer, acknowledged.clone(), count.clone()))
                })
                .collect();
            let (url, secret) = (served.url.clone(), served.secret.clone());
            let naming = tokio::spawn(append_once_each(url, secret, named.clone(), named.load(Ordering::SeqCst) + 20));
            in_time("enough writes", async {
                while count.load(Ordering::SeqCst) < 60 + 40 * round || named.load(Ordering::SeqCst) < 20 * round + 5 {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            served.kill();
            let address = served.address().to_owned();
            for writer in writers {
                in_time("a writer's end", writer).await.unwrap();
            }
            served = KillableServer::start(&sandbox.store(), &address);
            // A writer with idempotency keys retries until it gets an answer.
            in_time("the writers with keys", naming).await.unwrap();
            let corkboard = served.connect(&served.secret).await;
            let agent = corkboard.agent("kept").unwrap().working();
            for (key, value) in acknowledged.lock().await.iter() {
                let found = agent.get::<u64>(key).await.unwrap();
                assert_eq!(found, Some(*value), "{key} was acknowledged by round {round} but is missing");
            }
            let log =
                corkboard.agent("named").unwrap().working().get::<String>("log").await.unwrap().unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let expected: Vec<String> = (0..named.load(Ordering::SeqCst)).map(|number| number.to_string()).collect();
            assert_eq!(lines, expected, "each line should be there once, in the order of acknowledgement");
            corkboard.close().await.unwrap();
        }
    });
    assert!(acknowledged.blocking_lock().len() >= 60 * rounds());
}

/// Writes each key once until the server stops answering.
async fn write_until_it_dies(
    url: String,
    secret: String,
    round: usize,
    writer: usize,
    acknowledged: Arc<Mutex<BTreeMap<String, u64>>>,
    count: Arc<AtomicUsize>,
) {
    let Ok(corkboard) = Corkboard::connect(address(&url, &secret), Options::default()).await else { return };
    let agent = corkboard.agent("kept").unwrap().working();
    for number in 0u64.. {
        let key = format!("{round}-{writer}-{number}");
        match agent.set(&key, &number).await {
            Ok(_) => {
                acknowledged.lock().await.insert(key, number);
                count.fetch_add(1, Ordering::SeqCst);
            }
            // The outcome is unknown, and this test does not check it.
            Err(_) => return,
        }
    }
}

/// Appends lines until this many are acknowledged. Each has an idempotency key and is sent until it is acknowledged,
/// despite any failure.
async fn append_once_each(url: String, secret: String, named: Arc<AtomicUsize>, until: usize) {
    let corkboard = Corkboard::connect(address(&url, &secret), Options::default()).await.unwrap();
    let agent = corkboard.agent("named").unwrap().working();
    for number in named.load(Ordering::SeqCst)..until {
        let (line, key) = (format!("{number}\n"), format!("line-{number}"));
        while agent.append("log", &line).idempotency_key(&key).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        named.fetch_add(1, Ordering::SeqCst);
    }
}

fn address(url: &str, secret: &str) -> ServerAddress {
    ServerAddress { timeout: Duration::from_secs(10), ..ServerAddress::new(url).token(secret.to_owned()) }
}

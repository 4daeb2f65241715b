//! PostgreSQL: Corkboard compared with a program that appends one row per transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use corkboard::boards::{NewBoard, NewTask, TaskResult};
use corkboard::store::{PostgresStore, ServerUrl};
use corkboard::{Actor, ActorKind, Corkboard, Options, Role, Watched};
use corkboard_testing::servers::TestServer;
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

use crate::{CALLERS, Row, Small, callers, median, micros, percentile, runtime, small};

/// Average log size of one revision of a small struct, in bytes.
const BODY: usize = 380;
const ROUNDS: usize = 9;
const PER_CALLER: usize = 50;
const READS: usize = 4000;
const WAKES: usize = 500;

pub(crate) fn rows() -> Vec<Row> {
    let server = TestServer::postgres();
    let url = server.url();
    runtime().block_on(async {
        let mut rows = writes(&url).await;
        rows.extend(reads(&url).await);
        rows.push(wakes(&url).await);
        rows.push(workers(&url).await);
        rows
    })
}

async fn open(url: &str) -> Corkboard {
    Corkboard::open(url).await.unwrap()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// One connection that appends rows, each in a separate transaction.
struct Raw {
    client: Client,
    id: i64,
    rev: i64,
    update: Statement,
    insert: Statement,
}

impl Raw {
    async fn new(url: &str, id: i64) -> Self {
        let client = connect(url).await;
        let update = "UPDATE raw.heads SET rev = rev + 1, commit_id = $2 WHERE id = $1 AND rev >= $3 RETURNING rev";
        let insert = "INSERT INTO raw.events (space, rev, commit_id, at, body) VALUES ($1, $2, $3, $4, $5)";
        let (update, insert) = (client.prepare(update).await.unwrap(), client.prepare(insert).await.unwrap());
        Self { client, id, rev: 0, update, insert }
    }

    async fn append(&mut self, body: &[u8]) {
        let transaction = self.client.transaction().await.unwrap();
        let commit = Uuid::new_v4();
        let row = transaction.query_one(&self.update, &[&self.id, &commit, &self.rev]).await.unwrap();
        self.rev = row.get(0);
        transaction.execute(&self.insert, &[&self.id, &self.rev, &commit, &0_i64, &body]).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

async fn raw_callers(url: &str, on_one: bool) -> Vec<Raw> {
    let mut raw = Vec::new();
    for caller in 0..CALLERS {
        raw.push(Raw::new(url, if on_one { 0 } else { caller as i64 + 1 }).await);
    }
    raw
}

async fn raw_appends(raws: Vec<Raw>) -> (f64, Vec<Raw>) {
    let body: Arc<[u8]> = vec![b'x'; BODY].into();
    let started = Instant::now();
    let tasks = raws.into_iter().map(|mut raw| {
        let body = body.clone();
        tokio::spawn(async move {
            for _ in 0..PER_CALLER {
                raw.append(&body).await;
            }
            raw
        })
    });
    let raws = futures_util::future::join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    ((CALLERS * PER_CALLER) as f64 / started.elapsed().as_secs_f64(), raws)
}

async fn writes(url: &str) -> Vec<Row> {
    connect(url)
        .await
        .batch_execute(
            "CREATE SCHEMA raw;
             CREATE TABLE raw.heads (id bigint PRIMARY KEY, rev bigint NOT NULL, commit_id uuid) WITH (fillfactor = 50);
             CREATE TABLE raw.events (space bigint, rev bigint, commit_id uuid, at bigint, body bytea,
                 PRIMARY KEY (space, rev));
             INSERT INTO raw.heads SELECT id, 0, NULL FROM generate_series(0, 64) AS id",
        )
        .await
        .unwrap();
    let store = Arc::new(PostgresStore::open(&ServerUrl::new(url), Options::default().busy_timeout).await.unwrap());
    let corkboard = Corkboard::with_store(store.clone(), Options::default());
    let (mut many, mut one) = (raw_callers(url, false).await, raw_callers(url, true).await);
    let (mut on_many, mut raw_many, mut on_one, mut raw_one) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut transactions = 0;
    let mut rate;
    for _ in 0..ROUNDS {
        let before = store.commits();
        on_many.push(callers(&corkboard, PER_CALLER, |caller| format!("agent-{caller}")).await);
        transactions += store.commits() - before;
        (rate, many) = raw_appends(many).await;
        raw_many.push(rate);
        on_one.push(callers(&corkboard, PER_CALLER, |_| "agent".to_owned()).await);
        (rate, one) = raw_appends(one).await;
        raw_one.push(rate);
    }
    let row = |what: &str, against: &str, ours: &[f64], raw: &[f64], aim| {
        let ratios: Vec<f64> = ours.iter().zip(raw).map(|(ours, raw)| ours / raw).collect();
        let result = format!("{:.2}× ({:.0}/s : {:.0}/s)", median(&ratios), median(ours), median(raw));
        Row::new(what, against, result, aim)
    };
    let transactions = transactions as f64 / (ROUNDS * PER_CALLER * CALLERS) as f64;
    vec![
        row(
            &format!("`postgres:` durable `set`, 64 callers on 64 agents ({transactions:.3} transactions per command)"),
            "raw transactions of one row on 64 connections",
            &on_many,
            &raw_many,
            "≥ 1×",
        ),
        row(
            "`postgres:` durable `set`, 64 callers on one agent",
            "the same, all on one head row",
            &on_one,
            &raw_one,
            "≥ 3×",
        ),
    ]
}

async fn reads(url: &str) -> Vec<Row> {
    let corkboard = open(url).await;
    let memory = corkboard.agent("read").unwrap().working();
    memory.set("key", &small()).await.unwrap();
    let client = connect(url).await;
    let one = client.prepare("SELECT 1").await.unwrap();
    let other = connect(url).await;
    let head = other.prepare("SELECT rev, commit_id FROM corkboard.spaces WHERE name = $1").await.unwrap();
    let unprepared = open(&format!("{url}?prepare=off")).await;
    let unprepared = unprepared.agent("read").unwrap().working();
    let (mut ours, mut bare, mut heads, mut without) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for index in 0..READS {
        // Each follows each other one equally often, because a server process that slept longer wakes up later.
        for turn in 0..4 {
            let started = Instant::now();
            match (index + turn) % 4 {
                0 => {
                    memory.get::<Small>("key").await.unwrap().unwrap();
                    ours.push(micros(started.elapsed()));
                }
                1 => {
                    client.query_one(&one, &[]).await.unwrap();
                    bare.push(micros(started.elapsed()));
                }
                2 => {
                    unprepared.get::<Small>("key").await.unwrap().unwrap();
                    without.push(micros(started.elapsed()));
                }
                _ => {
                    other.query_one(&head, &[&"agent/read"]).await.unwrap();
                    heads.push(micros(started.elapsed()));
                }
            }
        }
    }
    let row = |what: &str, against: &str, ours: &[f64], raw: &[f64], aim| {
        let ratios: Vec<f64> = ours.iter().zip(raw).map(|(ours, raw)| ours / raw).collect();
        let result = format!("{:.2}× ({:.0} µs : {:.0} µs)", median(&ratios), median(ours), median(raw));
        Row::new(what, against, result, aim)
    };
    let mut rows = vec![
        row(
            "`postgres:` current `get`, nothing changed",
            "one round trip, `SELECT 1` prepared",
            &ours,
            &bare,
            "≤ 1.2×",
        ),
        row("the same", "the same question, prepared", &ours, &heads, "report"),
        row("the same, `prepare=off`", "one round trip, `SELECT 1` prepared", &without, &bare, "report"),
    ];
    for (what, memory) in [("`get` by 64 readers at once", memory), ("the same, `prepare=off`", unprepared)] {
        let started = Instant::now();
        let tasks = (0..CALLERS).map(|_| {
            let memory = memory.clone();
            tokio::spawn(async move {
                for _ in 0..READS / 10 {
                    memory.get::<Small>("key").await.unwrap().unwrap();
                }
            })
        });
        futures_util::future::join_all(tasks).await;
        let rate = (CALLERS * READS / 10) as f64 / started.elapsed().as_secs_f64();
        rows.push(Row::new(what, "–", format!("{rate:.0}/s"), "report"));
    }
    rows
}

async fn wakes(url: &str) -> Row {
    let (writer, reader) = (open(url).await, open(url).await);
    let memory = writer.agent("woken").unwrap().working();
    memory.set("key", &0).await.unwrap();
    let mut watch = reader.agent("woken").unwrap().watch(1).await.unwrap();
    // The first watcher opens the listening connection.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut late = Vec::new();
    for index in 0..WAKES {
        let waiting = tokio::spawn(async move {
            while !matches!(watch.next().await.unwrap(), Watched::Revision { .. }) {}
            (Instant::now(), watch)
        });
        memory.set("key", &index).await.unwrap();
        let acknowledged = Instant::now();
        let (seen, again) = waiting.await.unwrap();
        watch = again;
        late.push(micros(seen.saturating_duration_since(acknowledged)));
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let result = format!("p50 {:.0} µs, p99 {:.0} µs after the answer", median(&late), percentile(&late, 99));
    Row::new("`postgres:` wake-up of a watcher on other connections", "–", result, "report")
}

/// Tasks per worker and round.
const TASKS: usize = 25;

/// Workers that claim and complete the tasks of one board, compared with the same work on a plain table.
async fn workers(url: &str) -> Row {
    let corkboard = open(url).await;
    let admin = connect(url).await;
    admin
        .batch_execute(
            "CREATE TABLE raw.tasks (id bigserial PRIMARY KEY, title text NOT NULL, priority int NOT NULL DEFAULT 0,
                 status text NOT NULL DEFAULT 'pending', worker text, deadline timestamptz, result text);
             CREATE INDEX ON raw.tasks (priority DESC, id) WHERE status = 'pending'",
        )
        .await
        .unwrap();
    let mut plain = Vec::new();
    for _ in 0..CALLERS {
        plain.push(PlainWorker::new(url).await);
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(on_a_board(&corkboard).await);
        let fill = "TRUNCATE raw.tasks; INSERT INTO raw.tasks (title)
                    SELECT 'Task number ' || n || ' of the benchmark' FROM generate_series(1, $) AS n; ANALYZE raw.tasks";
        admin.batch_execute(&fill.replace('$', &(CALLERS * TASKS).to_string())).await.unwrap();
        let rate;
        (rate, plain) = on_a_table(plain).await;
        theirs.push(rate);
        let left = admin.query_one("SELECT count(*) FROM raw.tasks WHERE status <> 'completed'", &[]).await.unwrap();
        assert_eq!(left.get::<_, i64>(0), 0);
    }
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, plain)| ours / plain).collect();
    let result = format!("{:.2}× ({:.0}/s : {:.0}/s)", median(&ratios), median(&ours), median(&theirs));
    Row::new(
        "`postgres:` claim + complete, 64 workers on one board",
        "a plain table with `FOR UPDATE SKIP LOCKED`, 64 connections, same durability",
        result,
        "≥ 1×",
    )
}

async fn on_a_board(corkboard: &Corkboard) -> f64 {
    let board = NewBoard { name: "bench".into(), goal: "measure".into(), ..NewBoard::default() };
    let board = corkboard.create_board(board).await.unwrap();
    let tasks = (0..CALLERS * TASKS).map(|index| NewTask::new(format!("Task number {index} of the benchmark")));
    board.add_tasks(tasks.collect(), vec![]).await.unwrap();
    let started = Instant::now();
    let workers = (0..CALLERS).map(|index| {
        let (principal, kind, role) = (format!("worker-{index}"), ActorKind::Agent, Role::Worker);
        let board = board.acting_as(Actor::new(principal, kind, role));
        tokio::spawn(async move {
            for _ in 0..TASKS {
                let claimed = board.claim_task(None, Duration::from_secs(30)).await.unwrap().unwrap();
                let result =
                    TaskResult { summary: "Done as the description says".into(), next_steps: vec![], trust: None };
                board.complete_task(claimed.task, result, Some(claimed.epoch)).await.unwrap();
            }
        })
    });
    for worker in futures_util::future::join_all(workers).await {
        worker.unwrap();
    }
    (CALLERS * TASKS) as f64 / started.elapsed().as_secs_f64()
}

/// A worker with a separate connection.
struct PlainWorker {
    client: Client,
    claim: Statement,
    complete: Statement,
}

impl PlainWorker {
    async fn new(url: &str) -> Self {
        let client = connect(url).await;
        let claim = "UPDATE raw.tasks SET status = 'in_progress', worker = $1, deadline = now() + interval '30 s'
                     WHERE id = (SELECT id FROM raw.tasks WHERE status = 'pending' ORDER BY priority DESC, id
                                 FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id";
        let complete = "UPDATE raw.tasks SET status = 'completed', result = $3
                        WHERE id = $1 AND worker = $2 AND status = 'in_progress' AND deadline > now()";
        let (claim, complete) = (client.prepare(claim).await.unwrap(), client.prepare(complete).await.unwrap());
        Self { client, claim, complete }
    }
}

async fn on_a_table(workers: Vec<PlainWorker>) -> (f64, Vec<PlainWorker>) {
    let started = Instant::now();
    let workers = workers.into_iter().enumerate().map(|(index, worker)| {
        tokio::spawn(async move {
            let name = format!("worker-{index}");
            for _ in 0..TASKS {
                let claimed = worker.client.query_one(&worker.claim, &[&name]).await.unwrap();
                let id: i64 = claimed.get(0);
                let result = "Done as the description says";
                assert_eq!(worker.client.execute(&worker.complete, &[&id, &name, &result]).await.unwrap(), 1);
            }
            worker
        })
    });
    let workers = futures_util::future::join_all(workers).await.into_iter().map(Result::unwrap).collect();
    ((CALLERS * TASKS) as f64 / started.elapsed().as_secs_f64(), workers)
}

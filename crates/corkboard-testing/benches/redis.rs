//! `cargo bench --bench redis`: a table of ratios for the Redis store, each against a baseline measured in the same run
//! on the same server, in interleaved pairs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may stop at any surprise"
)]

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corkboard::store::{Cursor, RedisStore, ServerUrl, Store};
use corkboard::{Corkboard, Options};
use corkboard_testing::servers::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CALLERS: usize = 64;
const PER_CALLER: usize = 100;
const ROUNDS: usize = 9;
const READS: usize = 500;
const WAKES: usize = 1000;

/// The minimal compare-and-append: one check, one entry, one new head.
const YARDSTICK: &str = "#!lua
if redis.call('HGET', KEYS[1], 'rev') == 'another' then return 0 end
redis.call('XADD', KEYS[2], '*', 'c', ARGV[1], 't', ARGV[2], 'b', ARGV[3])
redis.call('HSET', KEYS[1], 'rev', ARGV[2], 'commit', ARGV[1], 'summary', ARGV[4])
return 1";

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Small {
    name: String,
    count: u64,
    done: bool,
    score: f64,
}

fn small() -> Small {
    Small { name: "Ada Lovelace".into(), count: 42, done: true, score: 0.75 }
}

fn key(index: usize) -> String {
    format!("conversation/user-{index}/name")
}

fn main() {
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("| what | against | measured | aim |\n|---|---|---|---|");
    for fsync in ["always", "everysec"].into_iter().filter(|_| wanted("writes")) {
        eprintln!("measuring writes, appendfsync {fsync} …");
        let server = TestServer::redis_with(&["--appendonly", "yes", "--appendfsync", fsync]);
        runtime.block_on(async { tokio::spawn(writes(server, fsync)).await.unwrap() });
    }
    if wanted("reads") {
        eprintln!("measuring reads …");
        runtime.block_on(async { tokio::spawn(reads(TestServer::redis())).await.unwrap() });
    }
    if wanted("wakes") {
        eprintln!("measuring wake-ups …");
        runtime.block_on(async { tokio::spawn(wakes(TestServer::redis())).await.unwrap() });
    }
}

async fn open(server: &TestServer) -> (Corkboard, Arc<RedisStore>) {
    let store = Arc::new(RedisStore::open(&ServerUrl::new(&server.url()), Duration::from_secs(30)).await.unwrap());
    (Corkboard::with_store(store.clone(), Options::default()), store)
}

async fn writes(server: TestServer, fsync: &str) {
    let (corkboard, store) = open(&server).await;
    let commands = (CALLERS * PER_CALLER) as f64;
    // Run once to load everything and to learn the size of a revision.
    callers(&corkboard).await;
    let space = store.list(corkboard_core::SpaceKind::Agent, None, 1).await.unwrap().remove(0);
    let page = store.read_after(&space.space, Cursor { rev: 0, commit: None }, 1).await.unwrap();
    let (body, summary) = (page.records[0].body.len(), space.summary.len());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(commands / callers(&corkboard).await.as_secs_f64());
        theirs.push(tokio::task::block_in_place(|| benchmark(&server, body, summary)));
    }
    let ratio = median(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect());
    row(
        &format!("durable `set`, {CALLERS} callers on {CALLERS} agents, appendfsync {fsync}"),
        &format!("redis-benchmark, {CALLERS} connections, a script that compares and appends {body} bytes"),
        &format!("{ratio:.2}× ({:.0}/s : {:.0}/s)", median(ours), median(theirs)),
        "≥ 0.6×",
    );
}

async fn callers(corkboard: &Corkboard) -> Duration {
    let started = Instant::now();
    let tasks = (0..CALLERS).map(|caller| {
        let memory = corkboard.agent(&format!("agent-{caller}")).unwrap().working();
        tokio::spawn(async move {
            for index in 0..PER_CALLER {
                memory.set(&key(index), &small()).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    started.elapsed()
}

/// Requests per second according to `redis-benchmark`.
fn benchmark(server: &TestServer, body: usize, summary: usize) -> f64 {
    let port = server.port().to_string();
    let loaded = Command::new("redis-cli").args(["-p", &port, "SCRIPT", "LOAD", YARDSTICK]).output().unwrap();
    let hash = String::from_utf8(loaded.stdout).unwrap();
    let (requests, callers) = ((CALLERS * PER_CALLER).to_string(), CALLERS.to_string());
    let output = Command::new("redis-benchmark")
        .args(["-p", &port, "-c", &callers, "-n", &requests, "-r", &callers, "--csv"])
        .args(["EVALSHA", hash.trim(), "2", "{bench-__rand_int__}:head", "{bench-__rand_int__}:log"])
        .args([&"c".repeat(16), "1794727240000", &"x".repeat(body), &"s".repeat(summary)])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().last().unwrap();
    line.split("\",\"").nth(1).unwrap().parse().unwrap()
}

async fn reads(server: TestServer) {
    let (corkboard, _) = open(&server).await;
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("key", &small()).await.unwrap();
    let mut bare = tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    bare.set_nodelay(true).unwrap();
    // The same command without anything around it.
    let question = b"*4\r\n$5\r\nHMGET\r\n$19\r\ncork:{agent/a}:head\r\n$3\r\nrev\r\n$6\r\ncommit\r\n";
    let mut answer = [0; b"*2\r\n$1\r\n1\r\n$16\r\n0123456789abcdef\r\n".len()];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (mut ours_now, mut theirs_now) = (Vec::new(), Vec::new());
        for _ in 0..READS {
            let started = Instant::now();
            memory.get::<Small>("key").await.unwrap().unwrap();
            ours_now.push(started.elapsed());
        }
        for _ in 0..READS {
            let started = Instant::now();
            bare.write_all(question).await.unwrap();
            bare.read_exact(&mut answer).await.unwrap();
            theirs_now.push(started.elapsed());
        }
        ours.push(micros(median(ours_now)));
        theirs.push(micros(median(theirs_now)));
    }
    assert!(answer.starts_with(b"*2\r\n$1\r\n1\r\n$16"));
    let ratio = median(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect());
    let result = format!("{ratio:.2}× ({:.1} µs : {:.1} µs)", median(ours), median(theirs));
    row("current `get`, nothing changed", "the same question on a bare socket", &result, "≤ 1.2×");
}

async fn wakes(server: TestServer) {
    let ((corkboard, _), (_other, store)) = (open(&server).await, open(&server).await);
    let agent = corkboard.agent("a").unwrap();
    agent.working().set("key", &0).await.unwrap();
    let space = store.list(corkboard_core::SpaceKind::Agent, None, 1).await.unwrap().remove(0).space;
    let mut changes = store.changes(&space);
    changes.wait_for(|rev| *rev > 0).await.unwrap();
    // The first check may have woken it. From now on it is subscribed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (mut answered, mut woken) = (Vec::new(), Vec::new());
    for index in 0..WAKES {
        let rev = changes.borrow_and_update().to_owned() + 1;
        let started = Instant::now();
        let wait = async {
            changes.wait_for(|known| *known >= rev).await.unwrap();
            started.elapsed()
        };
        let memory = agent.working();
        let write = async {
            memory.set("key", &index).await.unwrap();
            started.elapsed()
        };
        let (write, wait) = tokio::join!(write, wait);
        answered.push(micros(write));
        woken.push(micros(wait));
    }
    let result = format!(
        "p50 {:.0} µs, p99 {:.0} µs : p50 {:.0} µs, p99 {:.0} µs",
        percentile(&mut woken, 50),
        percentile(&mut woken, 99),
        percentile(&mut answered, 50),
        percentile(&mut answered, 99),
    );
    row("from `set` until another instance is woken", "from `set` until it is answered", &result, "report");
}

fn row(what: &str, against: &str, result: &str, aim: &str) {
    println!("| {what} | {against} | {result} | {aim} |");
}

fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).expect("measurements should be comparable"));
    values[values.len() / 2]
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) * percent / 100]
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

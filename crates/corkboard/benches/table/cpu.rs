//! Reads and ephemeral writes, in instructions.

use std::hint::black_box;
use std::process::Command;

use corkboard::{Corkboard, Scope, WorkingMemory};

use crate::{Row, Small, key, small, this_program};

/// Entries in the root scope and in the bare map.
const ENTRIES: usize = 1000;
/// Entries in each scope below the root.
const SCOPE_ENTRIES: usize = 100;

pub(crate) fn rows() -> Vec<Row> {
    let bare_get = instructions("get bare");
    let bare_set = instructions("set bare");
    let ratio = |name: &str, bare: u64| {
        let ours = instructions(name);
        format!("{:.2}× ({ours} : {bare} instructions)", ours as f64 / bare as f64)
    };
    let map = "bare concurrent map + the same deserialisation";
    vec![
        Row::new("`get` of a small struct on `memory:`, root", map, ratio("get root", bare_get), "≤ 1.5×"),
        Row::new("the same, in scope", map, ratio("get scope", bare_get), "≤ 1.5×"),
        Row::new("the same, 3 levels up", map, ratio("get up", bare_get), "≤ 2.5×"),
        Row::new("the same on `sqlite:`, current read", map, ratio("get sqlite", bare_get), "report"),
        Row::new(
            "`set`, ephemeral",
            "bare map insert + the same serialisation",
            ratio("set scope", bare_set),
            "≤ 6×, aim 3×",
        ),
        Row::new(
            "`set` then `get`, ephemeral",
            "the same on the bare map",
            ratio("both scope", instructions("both bare")),
            "report",
        ),
    ]
}

fn instructions(name: &str) -> u64 {
    instructions_of(name, 10_000, 20_000)
}

/// Instructions per operation: the difference of two runs, which cancels the startup cost.
pub(crate) fn instructions_of(name: &str, few: u64, many: u64) -> u64 {
    let run = |times: u64| -> u64 {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(this_program())
            .args(["work", name, &times.to_string()])
            .output()
            .expect("valgrind should be installed");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        let collected =
            text.lines().find_map(|line| line.split_once("Collected : ")).expect("callgrind should print a count");
        collected.1.trim().parse().expect("callgrind's count should be a number")
    };
    (run(many) - run(few)) / (many - few)
}

pub(crate) async fn work(name: &str, times: usize) -> bool {
    let keys: Vec<String> = (0..ENTRIES).map(key).collect();
    let value = small();
    match name {
        "get bare" => {
            let map = bare(&keys, &value);
            for index in 0..times {
                let map = map.pin();
                let found: Small = serde_json::from_str(map.get(keys[index % ENTRIES].as_str()).unwrap()).unwrap();
                black_box(found);
            }
        }
        "get root" => {
            let memory = filled("memory:", &keys, &value).await;
            for index in 0..times {
                black_box(memory.get::<Small>(&keys[index % ENTRIES]).await.unwrap().unwrap());
            }
        }
        "get sqlite" => {
            let folder = tempfile::tempdir().unwrap();
            let memory = filled(&format!("sqlite:{}/b.db", folder.path().display()), &keys, &value).await;
            for index in 0..times {
                black_box(memory.get::<Small>(&keys[index % ENTRIES]).await.unwrap().unwrap());
            }
        }
        "get scope" => {
            let memory = Corkboard::open("memory:").await.unwrap().agent("a").unwrap().working();
            let scope = memory.create_scope("one").await.unwrap();
            fill(&scope, &keys, &value).await;
            for index in 0..times {
                black_box(scope.get::<Small>(&keys[index % ENTRIES]).await.unwrap().unwrap());
            }
        }
        "get up" => {
            let memory = filled("memory:", &keys, &value).await;
            let one = memory.create_scope("one").await.unwrap();
            let two = one.create_child_scope("two").await.unwrap();
            let three = two.create_child_scope("three").await.unwrap();
            for scope in [&one, &two, &three] {
                let own: Vec<String> = (0..SCOPE_ENTRIES).map(|index| format!("own/{index}/name")).collect();
                fill(scope, &own, &value).await;
            }
            for index in 0..times {
                black_box(three.get::<Small>(&keys[index % ENTRIES]).await.unwrap().unwrap());
            }
        }
        "set bare" => {
            let map = bare(&keys, &value);
            for index in 0..times {
                map.pin().insert(keys[index * 7 % ENTRIES].clone(), serde_json::to_string(&value).unwrap());
            }
        }
        "set scope" => {
            let memory = Corkboard::open("memory:").await.unwrap().agent("a").unwrap().working();
            let scope = memory.create_scope("one").await.unwrap();
            fill(&scope, &keys, &value).await;
            for index in 0..times {
                scope.set(&keys[index * 7 % ENTRIES], &value).await.unwrap();
            }
        }
        "both bare" => {
            let map = bare(&keys, &value);
            for index in 0..times {
                let map = map.pin();
                let key = &keys[index * 7 % ENTRIES];
                map.insert(key.clone(), serde_json::to_string(&value).unwrap());
                black_box(serde_json::from_str::<Small>(map.get(key.as_str()).unwrap()).unwrap());
            }
        }
        "both scope" => {
            let memory = Corkboard::open("memory:").await.unwrap().agent("a").unwrap().working();
            let scope = memory.create_scope("one").await.unwrap();
            fill(&scope, &keys, &value).await;
            for index in 0..times {
                let key = &keys[index * 7 % ENTRIES];
                scope.set(key, &value).await.unwrap();
                black_box(scope.get::<Small>(key).await.unwrap().unwrap());
            }
        }
        _ => return false,
    }
    true
}

fn bare(keys: &[String], value: &Small) -> papaya::HashMap<String, String> {
    let map = papaya::HashMap::new();
    for key in keys {
        map.pin().insert(key.clone(), serde_json::to_string(value).unwrap());
    }
    map
}

async fn filled(url: &str, keys: &[String], value: &Small) -> WorkingMemory {
    let memory = Corkboard::open(url).await.unwrap().agent("a").unwrap().working();
    let sets = keys.iter().map(|key| async { memory.set(key, value).await.unwrap() });
    futures_util::future::join_all(sets).await;
    memory
}

async fn fill(scope: &Scope, keys: &[String], value: &Small) {
    for key in keys {
        scope.set(key, value).await.unwrap();
    }
}

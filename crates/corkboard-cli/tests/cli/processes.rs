//! Many processes on one store, and processes that are killed.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use crate::support::{CORK, DEADLINE, Sandbox, finish};

/// Counts to ten by compare and set: read, add one, write if unchanged, else retry.
const COUNTER: &str = r#"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    while :; do
        if json=$("$CORK" memory get counter --json 2>/dev/null); then
            [[ $json =~ \"value\":([0-9]+) ]] || exit 11; value=${BASH_REMATCH[1]}
            [[ $json =~ \"version\":([0-9]+) ]] || exit 12; version=${BASH_REMATCH[1]}
        elif [ $? -eq 3 ]; then
            value=0 version=0
        else
            exit 13
        fi
        "$CORK" memory set counter $((value + 1)) --if-version "$version" >/dev/null 2>&1
        case $? in
            0) break ;;
            4) ;;
            *) exit 14 ;;
        esac
    done
done
"#;

#[test]
fn ten_shells_count_to_a_hundred() {
    let sandbox = Sandbox::new();
    let shells: Vec<_> = (0..10)
        .map(|_| sandbox.command("bash").args(["-c", COUNTER]).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for shell in shells {
        let ran = finish(shell);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    }
    assert_eq!(sandbox.ok(&["memory", "get", "counter"]), "100");
    assert_eq!(sandbox.json(&["memory", "get", "counter"])["version"], 100, "every write should count");
}

#[test]
fn acknowledged_writes_survive_kill_9() {
    const WRITERS: u64 = 3;
    const KILLS: u32 = 15;
    const ACKNOWLEDGED: usize = 15;
    let seed = corkboard_testing::seed();
    let sandbox = Sandbox::new();
    let started = Instant::now();
    sandbox.ok(&["memory", "append", "log", "start", "--line"]);
    let usual = started.elapsed();
    let (acknowledged, killed) = (Mutex::new(Vec::new()), AtomicU32::new(0));
    std::thread::scope(|threads| {
        for writer in 0..WRITERS {
            let (sandbox, acknowledged, killed) = (&sandbox, &acknowledged, &killed);
            threads.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed.wrapping_add(writer));
                for number in 0.. {
                    let enough = acknowledged.lock().unwrap().len() >= ACKNOWLEDGED;
                    if enough && killed.load(Ordering::SeqCst) >= KILLS {
                        break;
                    }
                    assert!(started.elapsed() < DEADLINE, "too few or too many processes were killed");
                    let line = format!("{writer}-{number}");
                    let mut command = sandbox.command(CORK);
                    command.args(["memory", "append", "log", &line, "--line"]).stdout(Stdio::null());
                    let mut child = command.spawn().unwrap();
                    if random.bool() {
                        // A random delay, to kill the process at any moment of its life.
                        std::thread::sleep(usual.mul_f64(random.f64() * 1.5));
                        child.kill().unwrap();
                    }
                    match child.wait().unwrap().code() {
                        Some(0) => acknowledged.lock().unwrap().push(line),
                        Some(code) => panic!("exit code {code}"),
                        None => _ = killed.fetch_add(1, Ordering::SeqCst),
                    }
                }
            });
        }
    });
    let log = sandbox.ok(&["memory", "get", "log"]);
    let mut found: HashMap<&str, u32> = HashMap::new();
    log.lines().for_each(|line| *found.entry(line).or_default() += 1);
    let acknowledged = acknowledged.into_inner().unwrap();
    for line in &acknowledged {
        assert_eq!(found.get(line.as_str()), Some(&1), "{line} was acknowledged but is missing");
    }
    assert!(found.values().all(|times| *times == 1), "no line should be there twice: {found:?}");
    sandbox.ok(&["doctor"]);
}

#[test]
fn appends_of_many_processes_are_all_kept() {
    let sandbox = Sandbox::new();
    let append = |number: i32| {
        let mut command = sandbox.command(CORK);
        command.args(["memory", "append", "log", &number.to_string(), "--line"]).stdout(Stdio::null());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..30).map(append).collect();
    for child in children {
        assert_eq!(finish(child).code, 0);
    }
    let mut lines: Vec<i32> = sandbox.ok(&["memory", "get", "log"]).lines().map(|line| line.parse().unwrap()).collect();
    lines.sort();
    assert_eq!(lines, (0..30).collect::<Vec<_>>());
}

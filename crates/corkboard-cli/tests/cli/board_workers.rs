//! An orchestrator and four workers, all of them shell loops around `cork`, work on a graph. Some are killed on the
//! way.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::board::Desk;
use crate::support::{CORK, DEADLINE};

const WORKERS: usize = 4;
const TASKS: usize = 200;
/// Lease duration. A worker without a heartbeat for this long loses its task.
const LEASE_SECONDS: &str = "2";

/// Claims and completes tasks until the board has ended (exit code 4). A slow task never finishes at the first attempt,
/// a flaky one fails.
const WORKER: &str = r#"
while :; do
  claim=$("$CORK" --principal "$NAME" --role worker task claim --wait-s 30 --lease-s "$LEASE" --json 2>/dev/null)
  case $? in
    0) ;;
    4) exit 0 ;;
    *) continue ;;
  esac
  task=${claim#*'"task":"'} task=${task%%'"'*}
  epoch=${claim#*'"epoch":'} epoch=${epoch%%,*}
  attempt=${claim#*'"attempt":'} attempt=${attempt%%'}'*}
  number=${task#T-}
  if [ "$attempt" = 1 ] && [ $((number % 50)) = 7 ]; then sleep 1000; fi
  if [ "$attempt" = 1 ] && [ $((number % 50)) = 11 ]; then
    "$CORK" --principal "$NAME" --role worker task fail "$task" "not yet" --epoch "$epoch" >/dev/null 2>&1
  else
    "$CORK" --principal "$NAME" --role worker task complete "$task" "by $NAME" --epoch "$epoch" >/dev/null 2>&1
  fi
done
"#;

/// Makes choices, approves decisions and submitted tasks, and ends the board when its last task is done. All its state
/// is on the board, so it can be restarted at any time.
const ORCHESTRATOR: &str = r#"
approve() {
  for task in $("$CORK" task list --view needs_review --ids); do
    "$CORK" --principal lead --role reviewer task review "$task" approve >/dev/null 2>&1
  done
}
"$CORK" --principal lead task add --from plan.jsonl --idempotency-key plan >/dev/null || exit 1
"$CORK" --principal lead choose C-1 left >/dev/null 2>&1
approve
"$CORK" board watch --from-rev 0 --json | while read -r revision; do
  case $revision in *task_submitted*) approve ;; esac
  case $revision in *'"type":"task_completed","task":"T-200"'*) "$CORK" --principal lead board complete >/dev/null 2>&1 ;; esac
done
"#;

/// Layers of ten tasks. Every task waits for two or three of the previous layer, the last one for all that no other
/// task waits for. Every tenth task needs a review. Two tasks of the third layer start the branches of a choice.
fn plan() -> String {
    let mut lines = Vec::new();
    let mut awaited = HashSet::new();
    for number in 1..TASKS {
        let layer = (number - 1) / 10;
        let before = |step: usize| (layer - 1) * 10 + (number + step) % 10 + 1;
        let depends_on: Vec<String> = match layer {
            0 => Vec::new(),
            _ => [0, 3, 7].into_iter().take(2 + number % 2).map(|step| format!("k{}", before(step))).collect(),
        };
        awaited.extend(depends_on.iter().cloned());
        lines.push(json!({
            "key": format!("k{number}"),
            "title": format!("Task {number}"),
            "depends_on": depends_on,
            "needs_review": number % 10 == 0,
            "retry_limit": 3,
        }));
    }
    let loose: Vec<String> =
        (1..TASKS).map(|number| format!("k{number}")).filter(|key| !awaited.contains(key)).collect();
    lines.push(json!({"key": "last", "title": "Ship it", "depends_on": loose, "trigger_rule": "none_failed"}));
    lines.push(json!({"question": "Left or right?", "options": [
        {"name": "left", "tasks": ["k21"]},
        {"name": "right", "tasks": ["k22"]},
    ]}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A shell in a separate process group.
struct Loop {
    name: &'static str,
    child: Child,
}

impl Loop {
    fn start(desk: &Desk, name: &'static str) -> Self {
        let script = if name == "lead" { ORCHESTRATOR } else { WORKER };
        let mut command = desk.sandbox.command("bash");
        command.args(["-c", script]).env("CORK_BOARD", &desk.board).env("NAME", name).env("LEASE", LEASE_SECONDS);
        let child = command.process_group(0).stdin(Stdio::null()).spawn().unwrap();
        Self { name, child }
    }

    /// Kills the shell and its children, silently.
    fn kill(&mut self) {
        let group = format!("-{}", self.child.id());
        // It may have ended by itself.
        let _ = Command::new("bash").args(["-c", "kill -KILL -- \"$0\" 2>/dev/null", &group]).status();
        self.child.wait().unwrap();
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Every revision of the board, as `cork board watch` prints it.
struct Revisions {
    child: Child,
    lines: Receiver<String>,
}

impl Revisions {
    fn start(desk: &Desk) -> Self {
        let mut command = desk.sandbox.command(CORK);
        command.args(["board", "watch", &desk.board, "--from-rev", "0", "--json"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines }
    }

    /// The next revision; None when the board has ended.
    fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap()),
            Err(RecvTimeoutError::Disconnected) => {
                assert!(self.child.wait().unwrap().success());
                None
            }
            Err(RecvTimeoutError::Timeout) => panic!("nothing happened on the board for {DEADLINE:?}"),
        }
    }
}

impl Drop for Revisions {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn body<'a>(event: &'a Value, name: &str) -> Option<&'a Value> {
    (event["type"] == name).then_some(event)
}

fn task(body: &Value) -> String {
    body["task"].as_str().unwrap().to_owned()
}

#[test]
fn workers_and_their_orchestrator_are_killed_and_the_board_ends_correctly() {
    const NAMES: [&str; WORKERS] = ["ada", "bob", "cid", "dan"];
    let mut random = corkboard_testing::dice();
    let desk = Desk::new("Two hundred tasks");
    std::fs::write(desk.sandbox.path().join("plan.jsonl"), plan()).unwrap();
    let mut lead = Loop::start(&desk, "lead");
    let mut workers: Vec<Loop> = NAMES.into_iter().map(|name| Loop::start(&desk, name)).collect();

    let mut revisions = Revisions::start(&desk);
    let (mut kills, mut log) = (0, Vec::new());
    while let Some(revision) = revisions.next() {
        let slow = revision["events"].as_array().unwrap().iter().any(|event| {
            body(event, "task_started")
                .is_some_and(|started| task(started)[2..].parse::<usize>().unwrap() % 50 == 7 && started["epoch"] == 1)
        });
        let by = revision["actor"]["principal"].as_str().unwrap().to_owned();
        log.push(revision);
        // The worker with a slow task is killed; otherwise a random one.
        let victim = match slow {
            true => workers.iter().position(|worker| worker.name == by),
            false if random.u8(..) < 8 => Some(random.usize(..WORKERS)),
            false => None,
        };
        if let Some(victim) = victim {
            // At a random moment of its work.
            std::thread::sleep(Duration::from_micros(random.u64(..20_000)));
            workers[victim].kill();
            workers[victim] = Loop::start(&desk, workers[victim].name);
            kills += 1;
        }
        if random.u8(..) < 3 {
            lead.kill();
            lead = Loop::start(&desk, "lead");
        }
    }
    // Waiting workers learn that the board has ended.
    for worker in &mut workers {
        assert!(worker.child.wait().unwrap().success());
    }
    assert!(kills >= 4, "every slow task cost a worker: {kills}");
    check(&desk, &log);
}

/// Invariants that hold for any sequence of kills.
fn check(desk: &Desk, log: &[Value]) {
    let shown = desk.json(&["board", "show"]);
    assert_eq!((&shown["status"], &shown["outcome"]), (&json!("completed"), &json!("success")));
    let tasks = shown["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), TASKS, "the plan should be added once");
    let depends_on: HashMap<&str, Vec<&str>> = tasks
        .iter()
        .map(|task| {
            let on = task["depends_on"].as_array().unwrap().iter().map(|on| on.as_str().unwrap());
            (task["id"].as_str().unwrap(), on.collect())
        })
        .collect();
    let (mut holders, mut done, mut expired) = (HashMap::new(), HashMap::new(), 0);
    for revision in log {
        let by = revision["actor"]["principal"].as_str().unwrap();
        for event in revision["events"].as_array().unwrap() {
            if let Some(started) = body(event, "task_started") {
                let id = task(started);
                for on in &depends_on[&*id] {
                    assert!(done.contains_key(*on), "{id} started before {on} was finished");
                }
                assert!(holders.insert(id, by.to_owned()).is_none(), "two holders at once: {started}");
            }
            for name in ["lease_expired", "task_failed", "task_released"] {
                if let Some(lost) = body(event, name) {
                    holders.remove(&task(lost));
                    expired += usize::from(name == "lease_expired");
                }
            }
            for name in ["task_completed", "task_submitted"] {
                if let Some(finished) = body(event, name) {
                    let id = task(finished);
                    assert_eq!(holders.remove(&id).as_deref(), Some(by), "only its holder should finish {id}");
                    assert!(done.insert(id, by.to_owned()).is_none(), "{finished} twice");
                }
            }
            if let Some(cancelled) = body(event, "task_cancelled") {
                assert_eq!(cancelled["cause"], "branch_not_taken");
                assert!(done.insert(task(cancelled), by.to_owned()).is_none());
            }
        }
    }
    assert_eq!(done.len(), TASKS);
    assert!(expired >= 4, "tasks of killed workers should expire: {expired}");
}

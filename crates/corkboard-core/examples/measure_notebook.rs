//! The cost of parsing a text, in instructions, which do not depend on the machine's load.
//!
//! ```text
//! cargo run --release -p corkboard-core --example measure_notebook
//! ```
//!
//! The first table compares parsing with a bare scan of the same lines. The second shows hostile texts of 512 KiB and 1
//! MiB: twice the length should take about twice the work. Needs `valgrind`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a failed measurement should be visible")]

use std::hint::black_box;
use std::process::Command;

use corkboard_core::notebook::parse;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [work, name, size] = arguments.as_slice() {
        return carry_out(work, &text(name, size.parse().unwrap()));
    }
    println!("| 256 KiB of | bare scan | parse | ratio |\n|---|---|---|---|");
    for name in ["blocks", "learnings", "snippets", "prose"] {
        let size = 256 * 1024;
        let nothing = instructions("nothing", name, size);
        let (scan, parse) = (instructions("scan", name, size) - nothing, instructions("parse", name, size) - nothing);
        println!("| {name} | {scan} | {parse} | {:.2}× |", parse as f64 / scan as f64);
    }
    println!("\n| hostile | 512 KiB | 1 MiB | growth |\n|---|---|---|---|");
    for name in HOSTILE {
        let cost = |size| instructions("parse", name, size) - instructions("nothing", name, size);
        let (half, whole) = (cost(512 * 1024), cost(1024 * 1024));
        println!("| {name} | {half} | {whole} | {:.2}× |", whole as f64 / half as f64);
    }
}

const HOSTILE: [&str; 10] =
    ["dashes", "quotes", "colons", "brackets", "wrapped", "fences", "blank", "errors", "raw fences", "one line"];

fn carry_out(work: &str, text: &str) {
    match work {
        "scan" => {
            black_box(text.split('\n').map(|line| black_box(line).len()).sum::<usize>());
        }
        "parse" => {
            black_box(parse(black_box(text)));
        }
        _ => {
            black_box(text);
        }
    }
}

fn instructions(work: &str, name: &str, size: usize) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args([work, name, &size.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said.lines().find_map(|line| line.split_once("Collected : ")).unwrap().1.trim().parse().unwrap()
}

fn text(name: &str, size: usize) -> String {
    let progress = "CURRENT_PROGRESS:\n  Completed:\n    - Reproduced the flaky test on two machines\n  In Progress:\n    - Bisecting between the last two releases\n  Remaining:\n    - Write a regression test for it\n";
    let learning =
        "    - because the test server has two cores only: the race shows with two threads and a busy disk\n";
    let snippet = "    - because the next step changes it: src/server/handler.rs =>\n      pub async fn handle(State(app): State<App>, request: Request) -> Result<Response, Error> {\n          let session = app.sessions.find(request.headers()).await?;\n\n          app.router.call(session, request).await\n      }\n";
    let (head, part) = match name {
        "blocks" => {
            let whole = format!(
                "{progress}\nKEY_LEARNINGS:\n  ADD:\n{learning}  ARCHIVE:\n    - KL-12 because it is in the manual now\n\nVERBATIM_CONTEXT:\n  ADD:\n{snippet}\n"
            );
            (String::new(), whole)
        }
        "learnings" => ("KEY_LEARNINGS:\n  ADD:\n".into(), learning.into()),
        "snippets" => ("VERBATIM_CONTEXT:\n  ADD:\n".into(), snippet.into()),
        "prose" => (String::new(), "Here is what I did since the last update, and what I think of it.\n".into()),
        "dashes" => ("KEY_LEARNINGS:\n  ADD:\n".into(), "-".into()),
        "quotes" => ("KEY_LEARNINGS:\n  ADD:\n    - because ".into(), " \"'`“‘«".into()),
        "colons" => ("KEY_LEARNINGS:\n  ADD:\n    - because (\"".into(), ":".into()),
        "brackets" => ("KEY_LEARNINGS:\n  ADD:\n    - because ".into(), "([{:".into()),
        "wrapped" => ("CURRENT_PROGRESS:\n  In Progress:\n    - a\n".into(), "      a\n".into()),
        "fences" => ("VERBATIM_CONTEXT:\n  ADD:\n    - because r: l =>\n".into(), "```x\n~~~y\n````z\n".into()),
        "blank" => ("VERBATIM_CONTEXT:\n  ADD:\n    - because r: l => x\n".into(), " \n".into()),
        "errors" => ("KEY_LEARNINGS:\n  ADD:\n".into(), "    - x\n".into()),
        "raw fences" => ("VERBATIM_CONTEXT:\n  ADD:\n".into(), "    - because r: l =>\n```x\n".into()),
        "one line" => ("VERBATIM_CONTEXT:\n  ADD:\n    - because r: l => ".into(), "=> because : ".into()),
        other => panic!("unknown text {other:?}"),
    };
    let mut text = head;
    while text.len() < size {
        text.push_str(&part);
    }
    text
}

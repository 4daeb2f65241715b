//! `conformance-worker URL WORK …`: another process on the same store, for the conformance suite.
//!
//! - `count AGENT KEY TIMES`: increments a number
//! - `note AGENT PREFIX TIMES`: adds notes `PREFIX-0`, `PREFIX-1`, …; prints each one's number once it is acknowledged
//! - `persist AGENT PREFIX TIMES`: adds notes like `note`, and retries each one until it is acknowledged
//! - `watch AGENT FROM COUNT`: prints COUNT revisions

#![allow(clippy::print_stdout, reason = "tests read its output")]

use std::io::Write;
use std::process::ExitCode;

use corkboard::{Corkboard, Options, Result, Watched};
use corkboard_testing::SQLITE_PATIENCE;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match work(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn work(arguments: &[&str]) -> Result<()> {
    let (url, rest) = arguments.split_first().unwrap_or((&"", &[]));
    let mut options = Options::default();
    if url.starts_with("sqlite:") {
        options.busy_timeout = SQLITE_PATIENCE;
    }
    let corkboard = Corkboard::open_with(url, options).await?;
    match *rest {
        ["count", agent, key, times] => {
            let memory = corkboard.agent(agent)?.working();
            for _ in 0..number(times) {
                memory.update(key, |count: Option<u64>| count.unwrap_or(0) + 1).await?;
            }
        }
        ["note", agent, prefix, times] => {
            let memory = corkboard.agent(agent)?.working();
            for index in 0..number(times) {
                if let Err(error) = memory.add_note(&format!("{prefix}-{index}")).await {
                    tell(&format!("error: {error}"));
                    // Write once more, to see how the store behaves after the error.
                    memory.add_note(&format!("{prefix}-again")).await?;
                }
                tell(&index.to_string());
            }
        }
        // Retries each note until it is acknowledged, within limits.
        ["persist", agent, prefix, times] => {
            let memory = corkboard.agent(agent)?.working();
            let mut attempts = 10_000;
            for index in 0..number(times) {
                while let Err(error) = memory.add_note(&format!("{prefix}-{index}")).await {
                    tell(&format!("error: {error}"));
                    attempts -= 1;
                    if attempts == 0 {
                        return Err(error);
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                tell(&index.to_string());
            }
        }
        ["watch", agent, from, count] => {
            let mut watch = corkboard.agent(agent)?.watch(number(from)).await?;
            tell("watching");
            let mut seen = 0;
            while seen < number(count) {
                if let Watched::Revision { rev, .. } = watch.next().await? {
                    tell(&rev.to_string());
                    seen += 1;
                }
            }
        }
        _ => tell("usage: conformance-worker URL count|note|persist|watch AGENT …"),
    }
    corkboard.close().await
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

/// Prints one line at once, because the reader waits for it.
fn tell(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

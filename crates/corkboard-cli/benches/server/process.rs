//! The measured servers, each in a separate process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The measured binary.
pub(crate) const CORK: &str = env!("CARGO_BIN_EXE_cork");
/// The admin token.
pub(crate) const TOKEN: &str = "of-the-benchmark";
/// Environment variable with the answer of the bare route.
const ANSWER: &str = "CORK_BENCH_ANSWER";
/// Units of processor time per second (`USER_HZ`).
const TICKS: u64 = 100;

/// A server that runs until it is dropped.
pub(crate) struct Process {
    pub(crate) address: String,
    child: Child,
}

impl Process {
    /// `cork serve` on a store in a folder, without rate limits.
    pub(crate) fn cork(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(CORK);
        let store = format!("sqlite:{}", folder.join("cork.db").display());
        command.env_clear().env("HOME", folder).env("CORK_STORE", store).env("CORK_TOKEN", TOKEN);
        for setting in ["requests_per_second", "requests_at_once", "bytes_per_hour", "bytes_at_once"] {
            command.args(["--setting", &format!("{setting}=1000000000000")]);
        }
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        Self::start(command)
    }

    /// A bare route of the same framework with this answer.
    pub(crate) fn bare(answer: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("bare").env(ANSWER, answer);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line:?}"));
        let address = address.split_whitespace().next().unwrap().to_owned();
        Self { address, child }
    }

    /// Resident memory in megabytes.
    pub(crate) fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0 / 1e6
    }

    /// Processor time used so far.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 1000 / TICKS)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers every request with the same JSON, forever.
pub(crate) fn bare() {
    let value: serde_json::Value = serde_json::from_str(&std::env::var(ANSWER).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("http://{}", listener.local_addr().unwrap());
        std::io::stdout().flush().unwrap();
        // The JSON is serialized for each request, as in Corkboard.
        let answer = move || std::future::ready(axum::Json(value.clone()));
        let kept_not = answer.clone();
        let route = axum::routing::get(answer).put(move |axum::Json(_): axum::Json<serde_json::Value>| kept_not());
        let routes = axum::Router::new().route("/v1/agents/{agent}/entries/{key}", route);
        axum::serve(listener, routes).await.unwrap();
    });
}

//! A server in a separate process, and a minimal HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{CORK, DEADLINE, Ran, Sandbox, finish};

/// The admin token.
pub(crate) const ADMIN: &str = "the-admins-secret";

/// A server that runs until it is dropped.
pub(crate) struct SandboxServer {
    pub(crate) url: String,
    /// The link that signs a browser in, if there is one.
    pub(crate) sign_in: Option<String>,
    child: Option<Child>,
}

impl SandboxServer {
    /// Starts a server on the sandbox's store and a free port.
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        Self::with(sandbox, arguments, &[])
    }

    pub(crate) fn with(sandbox: &Sandbox, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = sandbox.command(CORK);
        let elsewhere = arguments.contains(&"--listen");
        let listen: &[&str] = if elsewhere { &[] } else { &["--listen", "127.0.0.1:0"] };
        command.args(["--json", "serve"]).args(listen).args(arguments).env("CORK_TOKEN", ADMIN);
        command.envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        // Read one byte at a time, so that later output stays in the pipe.
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::with_capacity(1, stdout).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let text = |name: &str| started[name].as_str().map(ToOwned::to_owned);
        Self { url: text("url").unwrap(), sign_in: text("sign_in"), child: Some(child) }
    }

    pub(crate) fn address(&self) -> &str {
        self.url.split("://").nth(1).unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    /// The ID of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let process = self.process().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &process]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the server has ended by itself.
    pub(crate) fn ended(mut self) -> Ran {
        finish(self.child.take().unwrap())
    }

    /// Sends a request as the admin.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let token = format!("Authorization: Bearer {ADMIN}");
        self.ask_as_is(method, path, &[headers, &[token.as_str()]].concat(), body)
    }

    /// Sends a request with these headers.
    pub(crate) fn ask_as_is(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(head(method, path, headers, body.len()).as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        Answer::read(&mut stream)
    }
}

impl Drop for SandboxServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The head of a request on a connection that is closed afterwards.
pub(crate) fn head(method: &str, path: &str, headers: &[&str], length: usize) -> String {
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n");
    head += "Content-Type: application/json\r\n";
    for header in headers {
        head += &format!("{header}\r\n");
    }
    head + "\r\n"
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads until the connection ends.
    pub(crate) fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("the answer has no head: {bytes:?}"));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

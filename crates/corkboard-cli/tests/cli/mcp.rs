//! `cork mcp` as an assistant runs it: JSON-RPC messages over pipes, one per line.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::support::{DEADLINE, Sandbox, eventually};

/// An assistant that runs `cork mcp`.
struct Assistant {
    child: Child,
    stdin: Option<ChildStdin>,
    /// What the server writes to stdout, line by line.
    lines: Receiver<String>,
    stderr: JoinHandle<String>,
    asked: u64,
}

impl Assistant {
    /// Starts the server without a handshake.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let mut pipe = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = pipe.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr, asked: 0 }
    }

    fn connect(command: Command) -> Self {
        let mut assistant = Self::start(command);
        assistant.shake_hands();
        assistant
    }

    /// Runs `cork` with these arguments, which end in `mcp`, in a sandbox.
    fn of(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        Self::connect(sandbox.cork_command(arguments))
    }

    fn shake_hands(&mut self) -> Value {
        let client = json!({"name": "tests", "version": "1"});
        let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let result = self.ask("initialize", &initialize);
        assert_eq!(result["serverInfo"]["name"], "corkboard", "{result}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).and_then(|()| stdin.flush()).unwrap();
    }

    /// The server's next message.
    fn receive(&self) -> Value {
        message(&self.lines.recv_timeout(DEADLINE).expect("the server said nothing"))
    }

    /// Sends a request. Returns the whole answer, without the notifications before it.
    fn answer(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of a request that must succeed.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.answer(method, params);
        assert_eq!(answer.get("error"), None, "{method} {params}: {answer}");
        answer["result"].take()
    }

    /// Calls a tool. Returns its text, and whether it is an error.
    fn result_of(&mut self, tool: &str, input: &Value) -> (String, bool) {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": input}));
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    }

    /// The text of a tool that must succeed.
    fn call(&mut self, tool: &str, input: &Value) -> String {
        let (text, is_error) = self.result_of(tool, input);
        assert!(!is_error, "{tool} {input}: {text}");
        text
    }

    /// The text of a tool that must fail.
    fn refused(&mut self, tool: &str, input: &Value) -> String {
        let (text, is_error) = self.result_of(tool, input);
        assert!(is_error, "{tool} {input}: {text}");
        text
    }

    /// Closes stdin and waits until the server exits. Returns its exit code, the messages that were still unread, and
    /// its stderr.
    fn end(mut self) -> (ExitStatus, Vec<Value>, String) {
        drop(self.stdin.take());
        let status = self.exited();
        let unread = self.lines.iter().map(|line| message(&line)).collect();
        (status, unread, self.stderr.join().unwrap())
    }

    fn exited(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("its exit", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

/// A line of stdout. Stdout carries nothing but the protocol.
fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}

/// The agent of `cork mcp` in a folder, and the conversation.
fn checked(sandbox: &Sandbox, folder: &Path, variables: &[(&str, &str)]) -> (String, String) {
    let mut command = sandbox.cork_command(&["mcp", "--check", "--json"]);
    command.current_dir(folder).envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |field: &str| checked[field].as_str().unwrap().to_owned();
    (text("agent"), text("conversation"))
}

/// Local: the servers share a file, without a server between them.
#[test]
fn ten_servers_on_one_file_keep_every_write() {
    const SERVERS: usize = 10;
    const WRITES: usize = 20;
    let sandbox = Sandbox::local();
    let writers: Vec<_> = (0..SERVERS)
        .map(|server| {
            let command = sandbox.cork_command(&["--agent", "shared", "mcp"]);
            std::thread::spawn(move || {
                let mut assistant = Assistant::connect(command);
                for write in 0..WRITES {
                    let own = json!({"key": format!("own/{server}-{write}"), "content": "mine"});
                    assistant.call("write_memory", &own);
                    let line = json!({"key": "common", "content": format!("line {server}-{write}"), "mode": "append"});
                    assistant.call("write_memory", &line);
                }
                let (status, unread, said) = assistant.end();
                assert!(status.success() && unread.is_empty(), "{status} {unread:?} {said}");
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let common = sandbox.ok(&["--agent", "shared", "memory", "get", "common"]);
    let mut lines: Vec<&str> = common.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!((lines.len(), common.lines().count()), (SERVERS * WRITES, SERVERS * WRITES), "{common}");
    let keys = sandbox.items(&["--agent", "shared", "memory", "list", "--prefix", "own/", "--limit", "1000"]);
    assert_eq!(keys.as_array().unwrap().len(), SERVERS * WRITES);
}

/// A panic cannot be provoked from outside. Its message would go to stderr, as that of any Rust program.
#[test]
fn stdout_carries_nothing_but_the_protocol() {
    let sandbox = Sandbox::new();
    let mut assistant = Assistant::start(sandbox.cork_command(&["-vvv", "mcp"]));
    assistant.send_line(b"{this is not JSON");
    assistant.shake_hands();
    let huge = "x".repeat(20 * 1024 * 1024);
    let call = json!({"name": "write_memory", "arguments": {"key": "huge", "content": huge}});
    let huge = json!({"jsonrpc": "2.0", "id": "huge", "method": "tools/call", "params": call}).to_string();
    let lines: [&[u8]; 9] = [
        b"",
        b"no JSON at all",
        b"42",
        b"[]",
        b"{\"jsonrpc\": \"1.0\", \"id\": 5, \"method\": \"ping\"}",
        b"\"\xff\xfe\"",
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/of_the_future\"}",
        b"{\"jsonrpc\": \"2.0\", \"id\": 4711, \"result\": {}}",
        huge.as_bytes(),
    ];
    for line in lines {
        assistant.send_line(line);
        // It reads every line of stdout as a message, and still answers.
        assistant.ask("ping", &json!({}));
    }
    let unknown = assistant.answer("no/such/method", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let unknown = assistant.answer("tools/call", &json!({"name": "no_such_tool"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let wrong = assistant.refused("write_memory", &json!({"key": "colour"}));
    assert!(wrong.contains("content"), "{wrong}");
    assistant.call("write_memory", &json!({"key": "colour", "content": "ultramarine"}));
    let (status, unread, said) = assistant.end();
    assert!(status.success() && unread.is_empty(), "{status} {unread:?}");
    assert!(said.contains("TRACE") && !said.contains("panicked"), "-vvv should log to stderr: {said}");
}

#[test]
fn every_revision_is_spoken() {
    let sandbox = Sandbox::new();
    let client = json!({"name": "tests", "version": "1"});
    let old = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    let negotiated = old.map(|revision| (revision, revision));
    for (asked, spoken) in negotiated.into_iter().chain([("1999-01-01", "2025-11-25"), ("2099-01-01", "2025-11-25")]) {
        let mut assistant = Assistant::start(sandbox.cork_command(&["mcp"]));
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": client});
        let begun = assistant.ask("initialize", &params);
        assert_eq!(begun["protocolVersion"], spoken);
        assistant.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = assistant.ask("tools/list", &json!({}));
        assert_eq!((listed.get("resultType"), listed.get("ttlMs")), (None, None), "{asked}");
        assert!(assistant.end().0.success());
    }
    // Since 2026-07-28, every request says everything, and there is no handshake.
    let meta = |revision: &str| {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": client,
        }})
    };
    let mut assistant = Assistant::start(sandbox.cork_command(&["mcp"]));
    let mut call = meta("2026-07-28");
    call["name"] = json!("write_memory");
    call["arguments"] = json!({"key": "colour", "content": "ultramarine"});
    let written = assistant.ask("tools/call", &call);
    assert_eq!((&written["resultType"], &written["isError"]), (&json!("complete"), &json!(false)), "{written}");
    let discovered = assistant.ask("server/discover", &meta("2026-07-28"));
    let supported = discovered["supportedVersions"].as_array().unwrap();
    assert!(["2026-07-28"].iter().chain(&old).all(|revision| supported.contains(&json!(revision))), "{discovered}");
    assert!(discovered["instructions"].as_str().unwrap().contains("write_memory"), "{discovered}");
    let listed = assistant.ask("tools/list", &meta("2026-07-28"));
    assert_eq!((&listed["resultType"], listed["ttlMs"].is_u64()), (&json!("complete"), true), "{listed}");
    let unknown = assistant.answer("tools/list", &meta("2099-01-01"));
    assert_eq!(unknown["error"]["code"], -32022, "{unknown}");
    let removed = assistant.answer("ping", &meta("2026-07-28"));
    assert_eq!(removed["error"]["code"], -32601, "{removed}");
    assert!(assistant.end().0.success());
}

#[test]
fn all_resources_are_on_one_page_unless_there_are_many() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["board", "create", "Fence", "--id", "fence"]);
    sandbox.ok(&["core", "add", "paint", "Ultramarine is blue"]);
    let mut assistant = Assistant::of(&sandbox, &["mcp", "--tools", "orchestrator"]);
    let listed = assistant.ask("resources/list", &json!({}));
    let uris: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert!(uris.contains(&"cork://boards/fence") && uris.contains(&"cork://cores/paint"), "{uris:?}");
    assert_eq!(listed.get("nextCursor"), None, "{listed}");
    for number in 0..60 {
        assistant.call("create_board", &json!({"name": format!("Board {number}"), "goal": "One of many"}));
    }
    let (mut found, mut cursor) = (0, None::<String>);
    loop {
        let mut page = assistant.ask("resources/list", &cursor.map_or(json!({}), |cursor| json!({"cursor": cursor})));
        found += page["resources"].as_array().unwrap().len();
        match page["nextCursor"].take() {
            Value::String(next) => cursor = Some(next),
            _ => break,
        }
    }
    assert_eq!(found, uris.len() + 60);
    assert!(assistant.end().0.success());
}

#[test]
fn a_call_before_the_end_of_stdin_is_answered() {
    let sandbox = Sandbox::new();
    let mut assistant = Assistant::of(&sandbox, &["--agent", "ada", "mcp"]);
    let call = json!({"name": "write_memory", "arguments": {"key": "last", "content": "words"}});
    assistant.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": call}));
    let (status, unread, said) = assistant.end();
    assert!(status.success(), "{status} {said}");
    assert!(unread.iter().any(|answer| answer["id"] == "last" && answer["result"]["isError"] == false), "{unread:?}");
    assert_eq!(sandbox.ok(&["--agent", "ada", "memory", "get", "last"]), "words");
}

#[test]
fn memory_lasts_longer_than_the_client() {
    let sandbox = Sandbox::new();
    let mut first = Assistant::of(&sandbox, &["mcp"]);
    first.call("write_memory", &json!({"key": "colour", "content": "Ada likes ultramarine"}));
    first.call("write_session_handoff", &json!({"content": "The fence is half painted"}));
    assert!(first.end().0.success());
    let mut second = Assistant::of(&sandbox, &["mcp"]);
    assert!(second.call("search_memory", &json!({"query": "ultramarine"})).contains("colour"));
    let resumed = second.ask("prompts/get", &json!({"name": "resume_session"})).to_string();
    assert!(resumed.contains("half painted"), "{resumed}");
    // People see what their assistant remembers: the same agent, without --agent.
    std::fs::create_dir(sandbox.path().join(".git")).unwrap();
    assert_eq!(sandbox.ok(&["memory", "get", "colour"]), "Ada likes ultramarine");
    assert!(second.end().0.success());
}

#[test]
fn a_conversation_is_what_the_client_names() {
    let sandbox = Sandbox::new();
    let begin = |variables: &[(&str, &str)]| {
        let mut command = sandbox.cork_command(&["mcp"]);
        command.envs(variables.iter().copied());
        Assistant::connect(command)
    };
    let fact = json!({"action": "set", "key": "branch", "value": "main"});
    let key = json!({"key": "branch"});
    let mut first = begin(&[("CLAUDE_CODE_SESSION_ID", "session-1")]);
    first.call("memory_write", &fact);
    assert!(first.end().0.success());
    for (variables, remembers) in [
        (&[("CLAUDE_CODE_SESSION_ID", "session-1")][..], true),
        (&[("CORK_CONVERSATION", "session-1"), ("CLAUDE_CODE_SESSION_ID", "session-2")], true),
        (&[("CLAUDE_CODE_SESSION_ID", "session-2")], false),
        (&[], false),
    ] {
        let mut next = begin(variables);
        assert_eq!(next.call("memory_read", &key).contains("main"), remembers, "{variables:?}");
        assert!(next.end().0.success());
    }
    let named = |variables: &[(&str, &str)]| checked(&sandbox, sandbox.path(), variables).1;
    assert_eq!(named(&[("CLAUDE_CODE_SESSION_ID", "session-1")]), "session-1");
    assert_eq!(named(&[("CORK_CONVERSATION", "mine"), ("CLAUDE_CODE_SESSION_ID", "session-1")]), "mine");
    assert_ne!(named(&[]), named(&[]), "clients that name no session should not share one");
}

#[test]
fn each_project_has_its_own_agent() {
    let sandbox = Sandbox::new();
    let folder = |path: &str| {
        let folder = sandbox.path().join(path);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    };
    let (deep, plain, twin) = (folder("shop/src/deep"), folder("plain"), folder("other/shop"));
    folder("shop/.git");
    let agent = |folder: &Path, variables: &[(&str, &str)]| checked(&sandbox, folder, variables).0;
    let shop = agent(&deep, &[]);
    let hash = shop.strip_prefix("shop-").unwrap_or_else(|| panic!("{shop}"));
    assert!(hash.len() == 6 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()), "{shop}");
    assert_eq!(agent(&sandbox.path().join("shop"), &[]), shop);
    assert_eq!(agent(&plain, &[("CLAUDE_PROJECT_DIR", deep.to_str().unwrap())]), shop);
    assert!(agent(&plain, &[]).starts_with("plain-"));
    // Another folder with the same name is another project.
    let twin = agent(&twin, &[]);
    assert!(twin.starts_with("shop-") && twin != shop, "{twin} {shop}");
    assert_eq!(agent(&deep, &[("CORK_AGENT", "ada")]), "ada");
    assert_eq!(agent(&deep, &[("CORK_AGENT", "ada"), ("CLAUDE_PROJECT_DIR", plain.to_str().unwrap())]), "ada");
}

#[test]
fn the_check_shows_what_a_client_would_see() {
    let sandbox = Sandbox::new();
    let shown = sandbox.ok(&["--agent", "ada", "mcp", "--check"]);
    for part in ["agent         ada", "write_memory", "cork://agents/ada/handoff", "resume_session", " tools, "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let board = sandbox.ok(&["board", "create", "Fence"]);
    let mut assistant = Assistant::of(&sandbox, &["--agent", "ada", "--board", &board, "mcp", "--tools", "all"]);
    let listed = assistant.ask("tools/list", &json!({}));
    let checked = sandbox.json(&["--agent", "ada", "--board", &board, "mcp", "--check", "--tools", "all"]);
    assert_eq!((&checked["tools"], &checked["board"]), (&listed["tools"], &json!(board)));
    assert!(checked["tokens"].as_u64().unwrap() > 1_000, "{}", checked["tokens"]);
    let error = sandbox.fails(&["mcp", "--check", "--tools", "memmory"], 2, "memory");
    assert_eq!(error["code"], "tool_set");
    assert!(assistant.end().0.success());
}

/// Calls a tool and reads a resource of a server that cannot open its store. Both must say why.
fn says_why(mut assistant: Assistant, why: &str) {
    let tools = assistant.ask("tools/list", &json!({}));
    assert!(tools["tools"].as_array().is_some_and(|tools| tools.len() > 5), "{tools}");
    let told = assistant.refused("search_memory", &json!({"query": "ultramarine"}));
    assert!(told.contains(why), "{why}: {told}");
    let read = assistant.answer("resources/list", &json!({}));
    assert!(read["error"]["message"].as_str().is_some_and(|told| told.contains(why)), "{read}");
    let (status, unread, _) = assistant.end();
    assert!(status.success() && unread.is_empty(), "{status} {unread:?}");
}

/// Local: it is about stores that cannot be opened.
#[test]
fn the_handshake_is_answered_without_the_store() {
    let sandbox = Sandbox::local();
    let store = |store: &str| Assistant::of(&sandbox, &["--store", store, "mcp"]);
    says_why(store("postgres://127.0.0.1:1/none"), "127.0.0.1:1");
    // Only one process can open a store of files.
    let mut holder = store("file:memory");
    holder.call("write_memory", &json!({"key": "colour", "content": "ultramarine"}));
    says_why(store("file:memory"), &format!("process {}", holder.child.id()));
    // The next call opens the store, once it can be.
    let mut next = store("file:memory");
    next.refused("search_memory", &json!({"query": "ultramarine"}));
    assert!(holder.end().0.success());
    assert!(next.call("search_memory", &json!({"query": "ultramarine"})).contains("colour"));
    assert!(next.end().0.success());
}

/// Local: it names a server of its own, which does not exist.
#[test]
fn the_handshake_is_answered_without_the_server() {
    let sandbox = Sandbox::local();
    let assistant = Assistant::of(&sandbox, &["--url", "http://127.0.0.1:1", "mcp"]);
    says_why(assistant, "127.0.0.1:1");
}

/// Whether a process still runs. One that ended but that its parent has not collected has no command line.
fn runs(process: &str) -> bool {
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn a_killed_client_leaves_no_process_behind() {
    let sandbox = Sandbox::new();
    // The client holds the other end of the server's stdin. It can end without closing it in an orderly way.
    let script = r#"
        mkfifo in
        "$CORK" mcp <in >out 2>err &
        exec 9>in
        printf '%s\n' "$1" >&9
        echo $!
        read -r forever
    "#;
    let client = json!({"name": "tests", "version": "1"});
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}).to_string();
    let mut command = sandbox.command("bash");
    command.args(["-c", script, "client", &initialize]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = command.spawn().unwrap();
    let mut process = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut process).unwrap();
    let process = process.trim();
    eventually("the handshake", || {
        std::fs::read_to_string(sandbox.path().join("out")).is_ok_and(|said| said.contains("serverInfo"))
    });
    assert!(runs(process));
    client.kill().unwrap();
    client.wait().unwrap();
    eventually("the server's exit", || !runs(process));
}

#[test]
fn a_connection_renews_its_agents_leases() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["board", "create", "Fence", "--id", "fence"]);
    let task = sandbox.ok(&["--board", "fence", "task", "add", "Paint"]);
    let shown = || sandbox.json(&["--board", "fence", "task", "show", &task]);
    let lease = || {
        let shown = shown();
        shown["claim"]["deadline"].as_str().unwrap_or_else(|| panic!("the lease expired: {shown}")).to_owned()
    };
    sandbox.ok(&["--principal", "ada", "--role", "worker", "--board", "fence", "task", "claim", "--lease-s", "6"]);
    let claimed = lease();
    let assistant = Assistant::of(&sandbox, &["--agent", "ada", "--board", "fence", "mcp"]);
    let now = || jiff::Timestamp::now().to_string();
    eventually("a renewal", || lease() > claimed);
    eventually("a renewal after the first lease", || now() > claimed && lease() > claimed);
    assert!(assistant.end().0.success());
    eventually("the end of the lease", || shown()["status"] == "pending");
}

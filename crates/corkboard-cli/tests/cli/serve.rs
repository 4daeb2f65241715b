//! `cork serve` as a process: its start, output and end. Every test starts separate servers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::sandbox_server::{ADMIN, Answer, SandboxServer, head};
use crate::support::{CORK, Sandbox, eventually, finish, run};

const ENTRY: &str = "/v1/agents/ada/entries/color";
const GREEN: &str = r#"{"value":"green"}"#;

fn token() -> String {
    format!("Authorization: Bearer {ADMIN}")
}

#[test]
fn the_start_is_one_line_and_sigterm_ends_it_well() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    assert_eq!(server.ask("PUT", ENTRY, &[], GREEN).status, 201);
    server.signal("TERM");
    let ran = server.ended();
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert_eq!(sandbox.ok(&["--agent", "ada", "memory", "get", "color"]), "green");
}

/// The first line is for scripts. The following lines are for people.
#[test]
fn the_output_for_people_shows_the_store_and_how_to_stop() {
    let sandbox = Sandbox::local();
    for (arguments, sign_in) in [
        (&["serve", "--listen", "127.0.0.1:0"][..], Some("to sign in with a browser, open http://127.0.0.1:")),
        (&["serve", "--listen", "127.0.0.1:0", "--no-auth"], None),
    ] {
        let mut child = sandbox.command(CORK);
        let mut child = child.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap();
        let first = next();
        assert!(first.starts_with("corkboard serves sqlite at http://127.0.0.1:"), "{first}");
        match sign_in {
            Some(sign_in) => assert!(next().starts_with(sign_in), "{first}"),
            None => assert!(first.ends_with(", without authentication"), "{first}"),
        }
        let said = [first, next(), next()];
        let store = said[1].strip_prefix("store: ").unwrap_or_else(|| panic!("{said:?}"));
        assert!(std::path::Path::new(store).is_absolute() && std::path::Path::new(store).exists(), "{said:?}");
        assert!(said[2].starts_with("Ctrl-C stops the server"), "{said:?}");
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let ran = finish(child);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    }
}

/// Logs are kept and read by more people than admins. An admin who has the token can get a link anyway.
#[test]
fn with_an_admins_token_and_no_terminal_a_command_is_printed_instead_of_the_link() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    assert_eq!(server.sign_in, None);
    drop(server);
    let mut child = sandbox.command(CORK);
    let child = child.args(["serve", "--listen", "127.0.0.1:0"]).env("CORK_TOKEN", ADMIN);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).lines();
    let said: Vec<String> = (0..4).map(|_| lines.next().unwrap().unwrap()).collect();
    let url = said[0].strip_prefix("corkboard serves sqlite at ").unwrap_or_else(|| panic!("{said:?}"));
    let hint = said[1]
        .strip_prefix("to sign in with a browser: `")
        .and_then(|hint| hint.strip_suffix("`, with CORK_TOKEN set"));
    let hint = hint.unwrap_or_else(|| panic!("{said:?}"));
    assert_eq!(hint, format!("cork token link --url {url}"));
    // The printed command works.
    let mut link = sandbox.command(CORK);
    link.args(hint.split(' ').skip(1)).env("CORK_TOKEN", ADMIN);
    let link = run(link, b"");
    assert!(link.stdout.starts_with(&format!("{url}/sign-in?code=")), "{link:?}");
    child.kill().unwrap();
    let ran = finish(child);
    assert!(!format!("{said:?}{ran:?}").contains("code="), "{said:?} {ran:?}");
}

/// The terminal belongs to the person who started the server, for example with `make run`.
#[test]
fn on_a_terminal_the_link_is_printed() {
    let sandbox = Sandbox::local();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/terminal.py");
    for token in [ADMIN, ""] {
        let steps = serde_json::json!([["expect", "Ctrl-C stops the server"], ["signal", 15]]).to_string();
        let mut command = sandbox.command("python3");
        command.args([program, "200", "30", &steps, CORK, "serve", "--listen", "127.0.0.1:0"]).env("CORK_TOKEN", token);
        let ran = run(command, b"");
        assert!(
            ran.stdout.contains("to sign in with a browser, open http://127.0.0.1:")
                && ran.stdout.contains("/sign-in?code="),
            "{ran:?}"
        );
    }
}

/// A balancer polls /readyz and sends no writes meanwhile.
#[test]
fn after_a_full_disk_the_server_is_ready_again_by_itself() {
    for store in ["file", "sqlite"] {
        let sandbox = Sandbox::local();
        let place = |name: &str| sandbox.path().join(name).display().to_string();
        let (source, library, full) = (place("full_disk.c"), place("full_disk.so"), place("full"));
        std::fs::write(&source, include_str!("../../../corkboard-testing/tests/full_disk.c")).unwrap();
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]).status().unwrap();
        assert!(compiled.success());
        let url = format!("{store}:{}", place("kept"));
        let variables = [("LD_PRELOAD", library.as_str()), ("FULL", full.as_str()), ("CORK_STORE", url.as_str())];
        let server = SandboxServer::with(&sandbox, &[], &variables);
        let put = |value: u32| server.ask("PUT", ENTRY, &[], &format!("{{\"value\":{value}}}")).status;
        let ready = || server.ask_as_is("GET", "/readyz", &[], "");
        assert_eq!((put(1), ready().status), (201, 200), "{store}");

        std::fs::write(&full, "").unwrap();
        assert_eq!(put(2), 503, "{store}");
        let answer = ready();
        assert_eq!(answer.status, 503, "{store}");
        let detail = "the last write failed: the store has no space left; nothing was written";
        assert_eq!(answer.json()["detail"], detail, "{store}");
        let metrics = || String::from_utf8(server.ask("GET", "/metrics", &[], "").body).unwrap();
        assert!(metrics().contains("corkboard_store_writable 0\n"), "{store}: {}", metrics());
        let mut doctor = sandbox.command(CORK);
        doctor.args(["doctor", "--quick", "--url", &server.url]).env_remove("CORK_STORE");
        let ran = run(doctor, b"");
        assert!(
            ran.code == 1 && ran.stdout.contains(&format!("✗ the server is not ready: {detail}")),
            "{store}: {ran:?}"
        );

        std::fs::remove_file(&full).unwrap();
        eventually("the server is ready again", || ready().status == 200);
        assert!(metrics().contains("corkboard_store_writable 1\n"), "{store}: {}", metrics());
        assert_eq!(put(3), 200, "{store}");
        assert_eq!(server.ask("GET", ENTRY, &[], "").json()["value"], 3, "{store}");
    }
}

/// Sends a request without its body and returns the connection.
fn half_a_request(server: &SandboxServer) -> TcpStream {
    let mut stream = server.connect();
    // The server has read the head when it asks for the body.
    let headers = [token(), "Expect: 100-continue".into()];
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    stream.write_all(head("PUT", ENTRY, &headers, GREEN.len()).as_bytes()).unwrap();
    let mut line = [0; 25];
    stream.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

fn accepts_no_connections(server: &SandboxServer) {
    eventually("the server stops listening", || TcpStream::connect(server.address()).is_err());
}

#[test]
fn open_requests_are_answered_before_the_end() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    let mut stream = half_a_request(&server);
    server.signal("TERM");
    accepts_no_connections(&server);
    stream.write_all(GREEN.as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.status, &answer.json()["rev"]), (201, &Value::from(1)), "{answer:?}");
    assert_eq!(server.ended().code, 0);
    assert_eq!(sandbox.ok(&["--agent", "ada", "memory", "get", "color"]), "green");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &["--setting", "drain_timeout=1d", "--setting", "request_timeout=1d"]);
    let _stream = half_a_request(&server);
    server.signal("INT");
    accepts_no_connections(&server);
    server.signal("TERM");
    assert_eq!(server.ended().code, 143);
}

#[test]
fn no_client_delays_the_end_for_long() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &["--setting", "drain_timeout=50ms"]);
    let mut stream = half_a_request(&server);
    server.signal("TERM");
    assert_eq!(server.ended().code, 0);
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    assert!(read.is_err() || rest.is_empty(), "the connection should be closed: {rest:?}");
}

#[test]
fn slow_clients_are_not_waited_for() {
    let sandbox = Sandbox::local();
    let server =
        SandboxServer::start(&sandbox, &["--setting", "header_timeout=500ms", "--setting", "request_timeout=1s"]);
    for sent in ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"] {
        let mut stream = server.connect();
        stream.write_all(sent.as_bytes()).unwrap();
        let mut rest = Vec::new();
        // The connection ends, with or without an answer.
        let _ = stream.read_to_end(&mut rest);
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || text.starts_with("HTTP/1.1 408"), "{sent:?}: {text}");
    }
    let mut stream = server.connect();
    stream.write_all(head("PUT", ENTRY, &[&token()], GREEN.len()).as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.status, &answer.json()["code"]), (504, &Value::from("outcome_unknown")), "{answer:?}");
    // A request that asks to wait gets more time.
    let head = server.ask("GET", "/v1/spaces/agent/ada/head?from_rev=0&wait_s=2", &[], "");
    assert_eq!(head.status, 200, "{head:?}");
}

#[test]
fn bodies_are_limited_with_or_without_a_declared_length() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &["--setting", "body_bytes=1KiB"]);
    let large = format!(r#"{{"value":"{}"}}"#, "x".repeat(2000));
    let told = server.ask("PUT", ENTRY, &["Expect: 100-continue"], "");
    assert_eq!(told.status, 400, "{told:?}");
    let mut stream = server.connect();
    stream.write_all(head("PUT", ENTRY, &[&token(), "Expect: 100-continue"], large.len()).as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.status, &answer.json()["code"]), (413, &Value::from("body_too_large")), "{answer:?}");
    let mut stream = server.connect();
    let head = head("PUT", ENTRY, &[&token()], 0).replace("Content-Length: 0", "Transfer-Encoding: chunked");
    stream.write_all(format!("{head}{:x}\r\n{large}\r\n0\r\n\r\n", large.len()).as_bytes()).unwrap();
    let answer = Answer::read(&mut stream);
    assert_eq!((answer.status, &answer.json()["code"]), (413, &Value::from("body_too_large")), "{answer:?}");
    assert_eq!(server.ask("GET", ENTRY, &[], "").status, 404, "a refused body should write nothing");
}

#[test]
fn large_answers_are_compressed_on_request() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    server.ask("PUT", ENTRY, &[], GREEN);
    let gzip = ["Accept-Encoding: gzip"];
    assert_eq!(server.ask("GET", ENTRY, &gzip, "").header("content-encoding"), None);
    server.ask("PUT", ENTRY, &[], &format!(r#"{{"value":"{}"}}"#, "x".repeat(5000)));
    let plain = server.ask("GET", ENTRY, &[], "");
    assert_eq!((plain.header("content-encoding"), plain.json()["value"].as_str().unwrap().len()), (None, 5000));
    let packed = server.ask("GET", ENTRY, &gzip, "");
    assert_eq!(packed.header("content-encoding"), Some("gzip"), "{packed:?}");
    assert!(packed.body.len() < 1000);
}

#[test]
fn metrics_are_by_route_and_need_a_token() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    server.ask("PUT", ENTRY, &[], GREEN);
    server.ask("GET", ENTRY, &[], "");
    server.ask_as_is("GET", ENTRY, &[], "");
    server.ask("GET", "/nowhere/at/all", &[], "");
    server.ask_as_is("BREW", "/pot", &[&token()], "");
    assert_eq!(server.ask_as_is("GET", "/metrics", &[], "").status, 401);
    let metrics = server.ask("GET", "/metrics", &[], "");
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = metrics.text();
    for line in [
        r#"corkboard_http_requests_total{method="PUT",route="/v1/agents/{agent}/entries/{key}",status="201"} 1"#,
        r#"corkboard_http_requests_total{method="GET",route="/v1/agents/{agent}/entries/{key}",status="200"} 1"#,
        r#"corkboard_http_requests_total{method="GET",route="/v1/agents/{agent}/entries/{key}",status="401"} 1"#,
        r#"corkboard_http_requests_total{method="GET",route="none",status="404"} 1"#,
        r#"corkboard_http_requests_total{method="other",route="none",status="404"} 1"#,
        r#"corkboard_http_request_seconds_count{method="PUT",route="/v1/agents/{agent}/entries/{key}",status="201"} 1"#,
        "corkboard_http_event_streams 0",
        "agents_memory_working_entries 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    let is_alone =
        || server.ask("GET", "/metrics", &[], "").text().lines().any(|line| line == "corkboard_http_connections 1");
    eventually("closed connections are no longer counted", is_alone);
    assert!(!text.contains("ada") && !text.contains("nowhere") && !text.contains("BREW"), "{text}");
    let open = SandboxServer::start(&sandbox, &["--setting", "public_metrics=true"]);
    assert_eq!(open.ask_as_is("GET", "/metrics", &[], "").status, 200);
    assert_eq!(open.ask_as_is("GET", ENTRY, &[], "").status, 401);
}

#[test]
fn every_metric_has_help_a_type_and_an_allowed_prefix() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    server.ask("PUT", ENTRY, &[], GREEN);
    server.ask("GET", ENTRY, &[], "");
    server.ask("POST", "/v1/boards", &[], r#"{"id": "b", "name": "Auth", "goal": "JWT"}"#);
    server.ask("POST", "/v1/boards/b/tasks", &[], r#"{"title": "Design"}"#);
    let text = server.ask("GET", "/metrics", &[], "").text();
    let word = |line: &str, index: usize| line.split([' ', '{']).nth(index).unwrap_or_default().to_owned();
    let described = |what: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with(what)).map(|line| word(line, 2)).collect()
    };
    let (helps, types) = (described("# HELP "), described("# TYPE "));
    let mut families: Vec<String> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let name = word(line, 0);
            let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
            of_histogram.filter(|family| types.iter().any(|known| known == family)).unwrap_or(&name).to_owned()
        })
        .collect();
    families.dedup();
    assert!(families.len() >= 15, "{families:?}");
    for family in &families {
        assert!(helps.contains(family) && types.contains(family), "{family} needs a row in METRICS: {text}");
        let is_allowed = family.starts_with("corkboard_") || family.starts_with("agents_memory_working_");
        assert!(is_allowed, "{family} must begin with corkboard_");
    }
    for line in [
        "corkboard_ready_tasks 1",
        "corkboard_expired_leases 0",
        "corkboard_queued_commands 0",
        "corkboard_http_event_streams 0",
        "corkboard_http_buffered_bytes 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[test]
fn connections_beyond_the_maximum_are_refused_and_counted() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &["--setting", "connections=1"]);
    let held = half_a_request(&server);
    let refused = server.ask("GET", ENTRY, &[], "");
    assert_eq!((refused.status, &refused.json()["code"]), (503, &Value::from("too_many_connections")), "{refused:?}");
    assert_eq!((refused.header("retry-after"), refused.header("connection")), (Some("5"), Some("close")));
    drop(held);
    // The previous connection may still be closing and take the only place.
    let counted = || {
        let metrics = server.ask("GET", "/metrics", &[], "").text();
        metrics
            .lines()
            .find_map(|line| line.strip_prefix("corkboard_http_connections_refused_total ")?.parse::<u64>().ok())
    };
    eventually("there is room again, and the refusals were counted", || counted().is_some_and(|count| count > 0));
}

#[test]
fn the_log_names_requests_and_contains_no_secret() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &["-vvv", "--log-format", "json"]);
    let id = "X-Request-Id: of-this-very-request";
    let put = server.ask("PUT", ENTRY, &[id], GREEN);
    assert_eq!(put.header("x-request-id"), Some("of-this-very-request"));
    let link = server.ask("POST", "/v1/sign-in-links", &[], "").json();
    let path = link["path"].as_str().unwrap();
    let code = path.split('=').nth(1).unwrap().to_owned();
    let signed_in = server.ask_as_is("GET", path, &[], "");
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let cookie = signed_in.head.split("cork_session=").nth(1).unwrap().split(';').next().unwrap().to_owned();
    assert!(cookie.len() > 20, "{cookie}");
    assert_eq!(server.ask_as_is("GET", path, &[], "").status, 401, "the link works once");
    // `head` is in lower case, but secrets are case-sensitive, so read the raw answer.
    let secret = server.ask(
        "POST",
        "/v1/tokens",
        &[],
        r#"{"principal":"ada","kind":"agent","role":"worker","grants":{"agents":["ada"]}}"#,
    );
    let secret = secret.json();
    let secret =
        secret["secret"].as_str().or(secret["token"].as_str()).unwrap_or_else(|| panic!("{secret}")).to_owned();
    assert_eq!(server.ask_as_is("GET", ENTRY, &[&format!("Authorization: Bearer {secret}")], "").status, 200);
    assert_eq!(server.ask_as_is("GET", ENTRY, &[&format!("Cookie: cork_session={secret}")], "").status, 200);
    assert_eq!(server.ask_as_is("GET", ENTRY, &["Authorization: Bearer a-wrong-secret"], "").status, 401);
    let others = "/v1/agents/bob/entries/color";
    assert_eq!(server.ask_as_is("GET", others, &[&format!("Authorization: Bearer {secret}")], "").status, 403);
    server.signal("TERM");
    let log = server.ended().stderr;
    for secret in [ADMIN, &code, &secret, "a-wrong-secret"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    assert!(!log.to_lowercase().contains(&cookie), "{cookie} in {log}");
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    let named: Vec<&Value> = lines.iter().filter(|line| line["span"]["id"] == "of-this-very-request").collect();
    assert!(named.iter().any(|line| line["fields"]["message"] == "answered" && line["level"] == "DEBUG"), "{log}");
    assert!(named.len() > 1, "the library's lines should name the request, too: {log}");
    let refused: Vec<&Value> = lines.iter().filter(|line| line["fields"]["message"] == "refused").collect();
    assert_eq!(refused.len(), 3, "{log}");
    let why: Vec<_> = refused.iter().map(|line| (&line["fields"]["code"], &line["fields"]["principal"])).collect();
    let (nobody, unauthenticated) = (&Value::Null, &Value::from("unauthenticated"));
    let of_ada = (&Value::from("not_granted"), &Value::from("ada"));
    assert_eq!(why, [(unauthenticated, nobody), (unauthenticated, nobody), of_ada], "{log}");
    assert!(refused.iter().all(|line| line["level"] == "INFO" && line["span"]["id"].is_string()), "{refused:?}");
}

#[test]
fn the_page_size_of_cores_is_as_documented() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    for number in 0..101 {
        let added = server.ask("POST", &format!("/v1/cores/core-{number:03}/entries"), &[], r#"{"content":"x"}"#);
        assert_eq!(added.status, 201, "{added:?}");
    }
    let page = |query: &str| server.ask("GET", &format!("/v1/cores{query}"), &[], "").json();
    let first = page("");
    assert_eq!((first["items"].as_array().unwrap().len(), &first["next"]), (100, &Value::from("core-099")));
    assert_eq!(page("?cursor=core-099")["items"].as_array().unwrap().len(), 1);
    assert_eq!(page("?limit=1000")["items"].as_array().unwrap().len(), 101);
}

/// The container file's health check, run here.
#[test]
fn the_containers_check_asks_the_server() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = std::fs::read_to_string(root.join("deploy/Containerfile")).unwrap();
    let check = file.split("HEALTHCHECK").nth(2).or(file.split("HEALTHCHECK").nth(1)).unwrap();
    let check = check.split("CMD ").nth(1).unwrap().lines().next().unwrap();
    assert!(check.contains("${HEALTH_URL:-http://127.0.0.1:7117}"), "{check}");
    let ask = |url: &str| {
        let mut shell = sandbox.command("sh");
        let script = check.replacen("cork ", "\"$CORK\" ", 1);
        shell.env("HEALTH_URL", url).env("CORK_LISTEN", "0.0.0.0:7117").args(["-c", &script]);
        run(shell, b"")
    };
    let ran = ask(&server.url);
    assert!(ran.code == 0 && ran.stdout.contains("the server is ready"), "{ran:?}");
    let ran = ask("http://127.0.0.1:1");
    assert!(ran.code != 0, "{ran:?}");
    let ignored = std::fs::read_to_string(root.join(".dockerignore")).unwrap();
    for pattern in ["target", ".git", "**/*.db", "**/*.db-*"] {
        assert!(ignored.lines().any(|line| line == pattern), "{pattern} in {ignored}");
    }
}

#[test]
fn the_log_contains_the_start_and_the_end() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &["-v", "--log-format", "json"]);
    let address = server.address().to_owned();
    let mut stream = half_a_request(&server);
    server.signal("TERM");
    accepts_no_connections(&server);
    stream.write_all(GREEN.as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 201);
    let log = server.ended().stderr;
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |message: &str| {
        let mut fields = lines.iter().map(|line| &line["fields"]).filter(|fields| fields["message"] == message);
        let found = fields.next().unwrap_or_else(|| panic!("{message} in {log}"));
        assert!(fields.next().is_none(), "{message} should be logged once: {log}");
        found
    };
    let (start, end) = (told("serving"), told("ended"));
    assert_eq!((&start["address"], &start["store"]), (&Value::from(address), &Value::from("sqlite")));
    assert_eq!((&start["version"], &start["tls"]), (&Value::from(env!("CARGO_PKG_VERSION")), &Value::from(false)));
    // The client that polled whether the server still listens may be counted, too.
    assert!(end["drained"].as_u64().unwrap() >= 1 && end["cut"] == 0, "{end}");
}

#[test]
fn invalid_serve_options_are_refused() {
    let sandbox = Sandbox::local();
    let error = sandbox.fails(&["serve", "--no-auth", "--listen", "0.0.0.0:0"], 2, "everyone who can reach");
    assert_eq!(error["code"], "no_auth");
    assert_eq!(sandbox.fails(&["serve", "--listen", "nowhere"], 2, "invalid address")["code"], "listen");
    sandbox.fails(&["serve", "--listen", "127.0.0.1:99999"], 2, "port 99999 is too large: the maximum is 65535");
    assert_eq!(sandbox.fails(&["serve", "--tls-cert", "cert.pem"], 2, "but no key")["code"], "tls");
    let server = SandboxServer::start(&sandbox, &[]);
    let error = sandbox.fails(&["serve", "--listen", server.address()], 7, server.address());
    assert_eq!((&error["code"], &error["retryable"]), (&Value::from("listen"), &Value::from(true)));
    assert!(error["hint"].as_str().unwrap().contains("--listen 127.0.0.1:0"), "{error}");
    let error = sandbox.fails(&["serve", "--listen", "nosuchhost.invalid:1"], 2, "cannot resolve");
    assert_eq!(error["code"], "listen");
    let error = sandbox.fails(&["serve", "--listen", "192.0.2.1:0"], 2, "192.0.2.1:0: ");
    assert!(error["hint"].as_str().unwrap().contains("address of this machine"), "{error}");
    assert_eq!(sandbox.fails(&["serve", "--log-format", "xml"], 2, "text, json")["code"], "usage");
}

#[test]
fn completions_know_every_command() {
    let sandbox = Sandbox::local();
    let help = sandbox.ok(&["-h"]);
    let listed = help.lines().skip_while(|line| *line != "Run:").take_while(|line| !line.is_empty());
    let listed = listed.filter(|line| line.starts_with("  "));
    let commands: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    for expected in ["serve", "config", "doctor"] {
        assert!(commands.contains(&expected), "{expected} in {commands:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.ok(&["completions", shell]);
        for command in commands.iter().chain(&["log-format", "setting"]) {
            assert!(script.contains(command), "{command} for {shell}");
        }
    }
    let script = sandbox.ok(&["completions", "bash"]);
    for (words, word, before, completed) in [
        ("cork serve --li", "--li", "serve", "--listen\n"),
        ("cork serve --log-format ''", "", "--log-format", "text json\n"),
        ("cork tools list --format ''", "", "--format", "openai openai_responses anthropic mcp\n"),
    ] {
        let mut bash = sandbox.command("bash");
        let completion = format!(
            "source /dev/stdin; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _cork cork '{word}' '{before}'; echo \"${{COMPREPLY[@]}}\""
        );
        bash.args(["-c", &completion]);
        assert_eq!(run(bash, script.as_bytes()).stdout, completed, "{words}");
    }
}

/// Without an admin token, the link is the way to sign in.
const BY_LINK: [(&str, &str); 1] = [("CORK_TOKEN", "")];

/// Starts and stops a server. Returns the printed link, if any, and the other output.
fn started(sandbox: &Sandbox, arguments: &[&str], token: &str) -> (Option<String>, String) {
    let server = SandboxServer::with(sandbox, arguments, &[("CORK_TOKEN", token)]);
    let link = server.sign_in.clone();
    server.signal("TERM");
    let ran = server.ended();
    assert_eq!(ran.code, 0, "{ran:?}");
    (link, ran.stderr)
}

#[test]
fn the_server_accepts_the_printed_link() {
    let sandbox = Sandbox::local();
    let everywhere = SandboxServer::with(&sandbox, &["--listen", "0.0.0.0:0"], &BY_LINK);
    let link = everywhere.sign_in.clone().unwrap();
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    let path = link.strip_prefix(&everywhere.url).unwrap();
    let mut stream = everywhere.connect();
    stream.write_all(head("GET", path, &[], 0).replace("localhost", everywhere.address()).as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 303);
    drop(everywhere);
    let (link, _) = started(&sandbox, &["--listen", "0.0.0.0:0", "--host", "Memory.Example.org"], "");
    assert!(link.as_deref().is_some_and(|link| link.starts_with("http://memory.example.org:")), "{link:?}");
    // Over plain HTTP, a host name could lead to another machine.
    let (link, _) = started(&sandbox, &["--host", "memory.example.org"], "");
    assert!(link.as_deref().is_some_and(|link| link.starts_with("http://127.0.0.1:")), "{link:?}");
}

#[test]
fn hosts_and_origins_that_could_never_match_are_refused_at_the_start() {
    let sandbox = Sandbox::local();
    for host in ["http://foo", "foo:7117", "*", "foo/"] {
        let failed =
            sandbox.fails(&["serve", "--listen", "127.0.0.1:0", "--host", host], 2, "without scheme, port or path");
        assert_eq!(failed["code"], "hosts", "{host}");
    }
    for origin in ["evil", "https://x/path", "*", "null"] {
        let failed =
            sandbox.fails(&["serve", "--listen", "127.0.0.1:0", "--origin", origin], 2, "https://app.example.org");
        assert_eq!(failed["code"], "origins", "{origin}");
    }
    let server = SandboxServer::start(&sandbox, &["--origin", "https://TWO.example:443/"]);
    let asked = server.ask("GET", "/v1/me", &["Origin: https://two.example"], "");
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (200, Some("https://two.example")));
}

#[test]
fn plain_http_and_weak_tokens_give_warnings() {
    let sandbox = Sandbox::local();
    let (_, said) = started(&sandbox, &["--listen", "0.0.0.0:0"], "short");
    assert!(said.contains("warning: 0.0.0.0:") && said.contains("without TLS"), "{said}");
    assert!(
        said.contains("warning: the admin token in CORK_TOKEN") && said.contains("is shorter than 16 characters"),
        "{said}"
    );
    let (_, said) = started(&sandbox, &[], ADMIN);
    assert_eq!(said, "");
}

/// The value of a metric; 0 if it was never counted.
fn metric(server: &SandboxServer, name: &str) -> u64 {
    let text = server.ask("GET", "/metrics", &[], "").text();
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()).unwrap_or(0)
}

#[test]
fn reads_over_http_are_measured_and_logged_once() {
    let sandbox = Sandbox::local();
    let server = SandboxServer::with(&sandbox, &[], &[("CORK_LOG", "corkboard::memory=debug")]);
    server.ask("PUT", ENTRY, &[], GREEN);
    server.ask("PUT", "/v1/agents/ada/handoff", &[], r#"{"text":"go on"}"#);
    server.ask("PUT", "/v1/agents/ada/conversations/c/entries/color", &[], GREEN);
    let scope = server.ask("POST", "/v1/agents/ada/scopes", &[], r#"{"name":"task"}"#).json()["id"].clone();
    let scope = scope.as_str().unwrap();
    let in_scope = format!("/v1/agents/ada/scopes/{scope}/entries/color");
    let counts = || {
        let latency = metric(&server, "agents_memory_working_get_latency_ms_count");
        (latency, metric(&server, "agents_memory_working_scope_fallback_total"))
    };
    let (gets, fallbacks) = counts();
    for (path, status, more) in [
        (ENTRY, 200, (1, 0)),
        ("/v1/agents/ada/entries/none", 404, (2, 0)),
        (in_scope.as_str(), 200, (3, 1)),
        (&format!("{in_scope}?local=true"), 404, (4, 1)),
        ("/v1/agents/ada/handoff", 200, (5, 1)),
        ("/v1/agents/ada/conversations/c/entries/color", 200, (6, 1)),
    ] {
        assert_eq!(server.ask("GET", path, &[], "").status, status, "{path}");
        assert_eq!(counts(), (gets + more.0, fallbacks + more.1), "{path}");
    }
    let nowhere = "/v1/agents/ada/scopes/01a1e196-b59c-7562-85a4-ebca46d1a0e8/entries/color";
    assert_eq!(server.ask("GET", nowhere, &[], "").status, 404);
    server.signal("TERM");
    let log = server.ended().stderr;
    let lookup = format!("Working memory scope task ({scope}) lookup for key color: ");
    assert_eq!(log.matches(&format!("{lookup}true")).count(), 1, "{log}");
    assert_eq!(log.matches(&format!("{lookup}false")).count(), 1, "{log}");
}

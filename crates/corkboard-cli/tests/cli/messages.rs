//! What cork and its server say about common mistakes: what failed, why, and what to do.

use std::process::Command;

use crate::sandbox_server::{ADMIN, SandboxServer};
use crate::support::{CORK, Sandbox, run};

/// Replaces times and ports, which differ in each run.
fn masked(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.starts_with("20") && word.contains('T') {
        true => word.chars().skip_while(|character| !";,.\n".contains(*character) || *character == '.').collect(),
        false => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A board with T-1, held by ada, and T-2, which waits for it.
fn desk() -> Sandbox {
    let sandbox = Sandbox::local();
    for setup in [
        &["board", "create", "Plan", "--id", "plan"][..],
        &["--board", "plan", "task", "add", "Schema", "--needs-review"],
        &["--board", "plan", "task", "add", "Routes", "--depends-on", "T-1"],
        &["--board", "plan", "--principal", "ada", "task", "claim", "T-1"],
        &["memory", "set", "plan", "ship it"],
    ] {
        sandbox.ok(setup);
    }
    sandbox
}

#[test]
fn mistakes_on_a_board() {
    let sandbox = desk();
    for (arguments, expected) in [
        (
            "--principal ada task heartbeat T-1 --epoch 7",
            "error: fenced: ada holds T-1 at epoch 1; you sent 7\n\
             hint: you are ada: use the epoch of your latest claim of T-1; if another process took it over, stop\n",
        ),
        (
            "--principal bob task heartbeat T-1",
            "error: fenced: ada holds T-1 at epoch 1, not you\n\
             hint: nothing was written. If your lease expired, stop: T-1 is theirs now. You act as bob; if you are ada, add \
             --principal ada\n",
        ),
        (
            "--principal bob task claim T-2",
            "error: T-2 waits for T-1\n\
             hint: `cork task show T-2` shows the details; `cork task claim` without a task takes one that is ready\n",
        ),
        (
            "review T-1 approve",
            "error: T-1 is not in review: it is in progress\n\
             hint: its holder completes it with `cork task complete T-1 SUMMARY`\n",
        ),
    ] {
        let arguments: Vec<&str> = ["--board", "plan"].into_iter().chain(arguments.split(' ')).collect();
        let ran = sandbox.cork(&arguments);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", expected), "{arguments:?}");
    }
}

#[test]
fn mistakes_with_tasks() {
    let sandbox = desk();
    sandbox.ok(&["--board", "plan", "--principal", "ada", "task", "complete", "T-1", "done"]);
    for (arguments, expected) in [
        (
            "review T-1 rework",
            "error: rework and rejection need a comment\nhint: `cork review T-1 rework 'what to change'`\n",
        ),
        ("review T-1 approve", ""),
        (
            "--principal ada task complete T-1 again",
            "error: T-1 is already completed\n\
             hint: nothing was written; `cork task show T-1` shows its state\n",
        ),
        (
            "task start T-2",
            "error: T-2 is pending: nobody has claimed it yet\n\
             hint: claim it first: `cork task claim T-2`. A review is possible after that, if the task needs one\n",
        ),
        ("task release T-2", "error: T-2 is already pending: nobody holds it\n"),
        (
            "nudge lst",
            "error: unknown subcommand \"lst\"\n\
             hint: did you mean `cork nudge list`? To send this word: `cork nudge send lst`\n",
        ),
        ("board show --at 0", "error: invalid value '0' for '--at <REV>': must be at least 1\n"),
        ("--principal bob task claim T-2", ""),
        (
            "--principal bob task claim T-2 --epoch 7",
            "error: fenced: bob holds T-2 at epoch 1; you sent 7\n\
             hint: you are bob: use the epoch of your latest claim of T-2; if another process took it over, stop\n",
        ),
        (
            "task add Deploy --if-rev 99",
            "error: expected revision 99, but the current revision is 7\n\
             hint: revision 99 does not exist yet; retry with --if-rev 7\n",
        ),
        (
            "task add Deploy --if-rev 5",
            "error: expected revision 5, but the current revision is 7\n\
             hint: see what changed with `cork board diff 5`, then retry with --if-rev 7\n",
        ),
    ] {
        let arguments: Vec<&str> = ["--board", "plan"].into_iter().chain(arguments.split(' ')).collect();
        assert_eq!(sandbox.cork(&arguments).stderr, expected, "{arguments:?}");
    }
}

#[test]
fn a_reworked_task_waits_for_its_earlier_worker() {
    let sandbox = desk();
    sandbox.ok(&["--board", "plan", "--principal", "ada", "task", "complete", "T-1", "done"]);
    sandbox.ok(&["--board", "plan", "review", "T-1", "rework", "more tests"]);
    let hint = "hint: T-1 was sent back for rework and waits for its earlier worker, ada, until ; `cork task release T-1` \
                frees it now\n";
    for (task, error) in [(None, "error: no task is ready\n"), (Some("T-1"), "error: T-1 is held by ada until \n")] {
        let claim = ["--board", "plan", "--principal", "bob", "task", "claim"];
        let ran = sandbox.cork(&claim.into_iter().chain(task).collect::<Vec<_>>());
        let said = masked(&ran.stderr);
        assert_eq!(said, format!("{error}{hint}"));
    }
}

#[test]
fn a_key_that_is_only_in_long_term_memory_is_found_with_another_tool() {
    let sandbox = desk();
    let call = ["tools", "call", "memory_read", r#"{"key": "plan"}"#, "--conversation", "c"];
    let expected = "not found: plan in this conversation's scratchpad. It is in permanent memory: use read_memory.";
    assert_eq!(sandbox.ok(&call), expected);
}

#[test]
fn ids_of_a_notebook_are_assigned() {
    let sandbox = Sandbox::local();
    let update = b"KEY_LEARNINGS:\n  ADD:\n    - KL-2 because x: y\n";
    let ran = sandbox.cork_with_stdin(&["notebook", "apply", "-"], update);
    let expected = "\
error: nothing was applied
line 3, column 7: leave out `KL-2`: the IDs of new items are assigned automatically
  |
3 |     - KL-2 because x: y
  |       ^
";
    assert_eq!((ran.code, ran.stderr.as_str()), (2, expected));
}

/// The shell splits a text without quotes into several arguments.
#[test]
fn a_text_needs_quotes() {
    let sandbox = Sandbox::local();
    let tip = "tip: put the text in quotes";
    for (arguments, is_text) in [
        (&["memory", "search", "when", "do", "we"][..], true),
        (&["task", "add", "My", "new", "task"], true),
        (&["memory", "search", "when", "--tags"], false),
        (&["token", "list", "all"], false),
    ] {
        let ran = sandbox.cork(arguments);
        assert_eq!((ran.code, ran.stderr.contains(tip)), (2, is_text), "{}", ran.stderr);
    }
}

#[test]
fn only_similar_names_are_suggested() {
    let sandbox = Sandbox::local();
    for (arguments, expected) in [
        ("task clam", "unrecognized subcommand 'clam'\n\n  tip: a similar subcommand exists: 'claim'\n\nUsage: "),
        ("board creat x", "unrecognized subcommand 'creat'\n\n  tip: a similar subcommand exists: 'create'\n\nUsage: "),
        ("memory set a 1 --kind evnet", "a similar value exists: 'event'"),
        ("memory set a 1 --importanc 1", "a similar argument exists: '--importance'"),
        ("task add --titel x", "unexpected argument '--titel' found\n\nUsage: "),
        (
            "task add --pririty 3 x",
            "unexpected argument '--pririty' found\n\n  tip: a similar argument exists: '--priority'",
        ),
        ("help nosuch", "unrecognized subcommand 'nosuch'\n\n"),
        ("nosuch", "unrecognized subcommand 'nosuch'\n\n"),
        ("memory set a 1 --kind fancy", "invalid value 'fancy'"),
        ("memory set a 1 --tgs x", "unexpected argument '--tgs' found\n\nUsage: "),
    ] {
        let ran = sandbox.cork(&arguments.split(' ').collect::<Vec<_>>());
        let has_tip = ran.stderr.contains("tip: ");
        assert_eq!((ran.code, has_tip), (2, expected.contains("similar")), "{arguments}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments}: {}", ran.stderr);
    }
}

#[test]
fn mistakes_with_a_server() {
    let sandbox = desk();
    let server = SandboxServer::start(&sandbox, &[]);
    let cork = |token: &str, url: &str, arguments: &[&str]| {
        let mut command = Command::new(CORK);
        command
            .current_dir(sandbox.path())
            .env_clear()
            .env("HOME", sandbox.path())
            .env("CORK_TOKEN", token)
            .env("CORK_URL", url);
        command.args(arguments);
        run(command, b"")
    };
    let create = ["token", "create", "--principal", "ada", "--agents", "ada,bob", "--boards", "*"];
    let created = cork(ADMIN, &server.url, &create);
    let worker = created.stdout.trim_end();
    let (api, elsewhere) = (format!("{}/v1", server.url), format!("{}/foo", server.url));
    for (token, url, arguments, expected) in [
        (
            worker,
            &server.url,
            &["--board", "plan", "board", "pause"][..],
            "error: ada is a worker and may not pause or resume the board: only orchestrators, humans and admins may\n\
             hint: your token is a worker's; ask an admin for an orchestrator's (`cork token create --role …`)\n",
        ),
        (
            worker,
            &server.url,
            &["memory", "list"],
            "error: the token of ada has no access to the agent \"default\"\n\
             hint: your token has access to agents ada and bob; add --agent ada\n",
        ),
        (
            worker,
            &server.url,
            &["--board", "plan", "--principal", "lin", "task", "add", "t"],
            "error: ada (agent, worker) cannot act for lin: only admins and services can act for others\n\
             hint: leave out --principal, or ask an admin for another token (`cork token create`)\n",
        ),
        (
            "",
            &server.url,
            &["stats"],
            "error: this server needs a token\n\
             hint: set a token in CORK_TOKEN; create one with `cork token create` on the machine that has the store\n",
        ),
        (
            ADMIN,
            &api,
            &["stats"],
            "error: unknown path /v1/v1/me: write /v1 once: /v1/me\n\
             hint: leave `/v1` out of the server's URL in --url or CORK_URL\n",
        ),
        (
            ADMIN,
            &elsewhere,
            &["stats"],
            "error: unknown path /foo/v1/me: see /docs for all routes\n\
             hint: leave the path out of the server's URL in --url or CORK_URL\n",
        ),
    ] {
        let ran = cork(token, url, arguments);
        assert!(ran.code != 0, "{arguments:?} {ran:?}");
        assert_eq!(ran.stderr, expected, "{arguments:?}");
    }
}

#[test]
fn mistakes_in_requests() {
    let sandbox = desk();
    let server = SandboxServer::start(&sandbox, &[]);
    let lines = "{\"key\": \"a\", \"value\": 1}\n{\"key\": \"b\", \"value\": 2}\n{oops\n";
    for (path, body, expected) in [
        (
            "/v1/boards/plan/nudges",
            r#"{"to": ["lin"], "message": "hi"}"#,
            r#"line 1, column 8: to: expected {"agent": NAME}, "orchestrator", "all" or an agent's name, found an array"#,
        ),
        (
            "/v1/tools/write_memory",
            r#"{"key": "k", "content": "v"}"#,
            concat!(
                "line 1, column 6: unknown field `key`: must be one of `arguments`, `input`, `context`. Put the tool's input in ",
                r#""input", and the agent in "context": {"input": {…}, "context": {"agent": …}}"#,
            ),
        ),
        ("/v1/agents/lin/entries:batch", lines, "line 3 is not JSON"),
    ] {
        let kind = if body == lines { "Content-Type: application/x-ndjson" } else { "Accept: application/json" };
        let token = format!("Authorization: Bearer {ADMIN}");
        let mut stream = server.connect();
        let head = crate::sandbox_server::head("POST", path, &[kind, &token], body.len());
        let head = match body == lines {
            true => head.replace("Content-Type: application/json\r\n", ""),
            false => head,
        };
        std::io::Write::write_all(&mut stream, format!("{head}{body}").as_bytes()).unwrap();
        let answer = crate::sandbox_server::Answer::read(&mut stream).json();
        let detail = answer["detail"].as_str().unwrap();
        assert_eq!(detail, expected, "{path}");
    }
}

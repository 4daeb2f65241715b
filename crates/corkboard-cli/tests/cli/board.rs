//! `cork board`: create, show, record, draw, end, fork, delete.

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, run};

/// A sandbox with a board that every command uses.
pub(crate) struct Desk {
    pub(crate) sandbox: Sandbox,
    pub(crate) board: String,
}

impl Desk {
    pub(crate) fn new(name: &str) -> Self {
        let sandbox = Sandbox::new();
        let board = sandbox.ok(&["board", "create", name]);
        Self { sandbox, board }
    }

    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["--board", &self.board], arguments].concat()
    }

    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.sandbox.ok(&self.arguments(arguments))
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.sandbox.json(&self.arguments(arguments))
    }

    pub(crate) fn items(&self, arguments: &[&str]) -> Value {
        self.sandbox.items(&self.arguments(arguments))
    }

    pub(crate) fn fails(&self, arguments: &[&str], code: i32, said: &str) -> Value {
        self.sandbox.fails(&self.arguments(arguments), code, said)
    }

    pub(crate) fn with_stdin(&self, arguments: &[&str], stdin: &str) -> Ran {
        self.sandbox.cork_with_stdin(&self.arguments(arguments), stdin.as_bytes())
    }
}

#[test]
fn a_board_is_created_listed_and_shown() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["board", "list"]), "no boards to show; create one with `cork board create NAME`");
    assert_eq!(sandbox.items(&["board", "list"]), json!([]));
    let made = sandbox.json(&["board", "create", "Add login", "--goal", "Users sign in", "--constraint", "no JWT"]);
    let id = made["id"].as_str().unwrap();
    assert!(id.starts_with("add-login-"), "{made}");
    assert_eq!(made["name"], "Add login");
    let listed = sandbox.items(&["board", "list"]);
    assert_eq!((&listed[0]["id"], &listed[0]["summary"]["status"]), (&json!(id), &json!("active")));
    assert!(sandbox.ok(&["board", "list", "--status", "active"]).contains("Add login"));
    assert_eq!(sandbox.ok(&["board", "list", "--status", "completed"]), "no boards match");
    let text = sandbox.ok(&["board", "show", id]);
    for said in ["Add login", "Users sign in", "no JWT", "no tasks", "by tester"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    // The environment selects the board, too, but an argument takes precedence.
    let mut command = sandbox.command(crate::support::CORK);
    command.args(["board", "show", "--json"]).env("CORK_BOARD", id);
    let shown: Value = serde_json::from_str(&run(command, b"").stdout).unwrap();
    assert_eq!((&shown["id"], &shown["goal"], &shown["rev"]), (&json!(id), &json!("Users sign in"), &json!(1)));
    assert_eq!(shown["constraints"], json!(["no JWT"]));
    for list in ["tasks", "decisions", "discoveries", "artifacts", "choices", "agent_contributions"] {
        assert_eq!(shown[list], json!([]), "{list}");
    }
}

#[test]
fn the_board_must_be_named() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails(&["task", "list"], 2, "no board selected");
    assert_eq!(error["code"], "no_board_named");
    assert!(error["hint"].as_str().unwrap().contains("CORK_BOARD"));
    let error = sandbox.fails(&["--board", "nowhere", "task", "list"], 3, "board not found");
    assert_eq!(error["code"], "no_board");
    sandbox.fails(&["--board", "nowhere", "task", "add", "x"], 3, "board not found: nowhere");
    assert_eq!(sandbox.items(&["board", "list"]), json!([]), "no board should be created");
}

#[test]
fn a_repeated_request_creates_one_board() {
    let sandbox = Sandbox::new();
    let create = ["board", "create", "Once", "--idempotency-key", "k"];
    let id = sandbox.ok(&create);
    assert_eq!(sandbox.ok(&create), id);
    assert_eq!(sandbox.items(&["board", "list"]).as_array().unwrap().len(), 1);
    let error = sandbox.fails(&["board", "create", "Other", "--idempotency-key", "k"], 4, "for a different request");
    assert_eq!(error["code"], "idempotency_mismatch");
    assert_eq!(sandbox.ok(&["board", "create", "Named", "--id", "mine"]), "mine");
    sandbox.fails(&["board", "create", "Named again", "--id", "mine"], 4, "the board mine already exists");
}

#[test]
fn a_board_is_edited_unless_it_changed() {
    let desk = Desk::new("Plan");
    assert_eq!(desk.json(&["board", "edit", "--goal", "better", "--if-version", "1"])["version"], 2);
    let error = desk.fails(&["board", "edit", "--name", "N", "--if-version", "1"], 4, "at version 2, not 1");
    assert_eq!((&error["code"], &error["current"]["goal"]), (&json!("conflict"), &json!("better")));
    let error = desk.fails(&["board", "edit", "--name", "N", "--if-rev", "1"], 4, "the current revision is 2");
    assert_eq!((&error["code"], &error["current_rev"]), (&json!("rev_conflict"), &json!(2)));
    let nothing = desk.sandbox.cork(&["--board", &desk.board, "board", "edit"]);
    assert_eq!(nothing.code, 2, "{nothing:?}");
    desk.ok(&["board", "edit", "--constraint", "a", "--constraint", "b", "--on-failure", "fail_fast"]);
    let shown = desk.json(&["board", "show"]);
    assert_eq!((&shown["constraints"], &shown["on_failure"]), (&json!(["a", "b"]), &json!("fail_fast")));
}

#[test]
fn records_are_written_and_shown() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Write the schema"]);
    let decide = [
        "--principal",
        "ada",
        "board",
        "decide",
        "Which hash?",
        "argon2id",
        "--alternative",
        "bcrypt",
        "--affects-task",
        "t-1",
    ];
    assert_eq!(desk.ok(&[&decide[..], &["--rationale", "memory-hard", "--irreversible"]].concat()), "D-1");
    let again = ["board", "decide", "Which hash?", "scrypt", "--supersedes", "D-1", "--force"];
    let by_another = [&["--role", "worker"], &again[..]].concat();
    let error = desk.fails(&by_another, 6, "ada: only ada, orchestrators, humans and admins may supersede it");
    assert_eq!(error["code"], "not_author");
    assert_eq!(desk.ok(&[&["--principal", "ada"], &again[..]].concat()), "D-2");
    assert_eq!(
        desk.json(&["board", "discover", "no column", "--type", "constraint", "--affects-task", "T-1"])["id"],
        "F-1"
    );
    desk.fails(&["board", "discover", "x", "--affects-task", "T-9"], 3, "task T-9 not found");

    std::fs::write(desk.sandbox.path().join("schema.sql"), "create table users;").unwrap();
    assert_eq!(desk.ok(&["board", "artifact", "schema.sql", "--type", "code", "--task", "T-1", "--inline"]), "A-1");
    let second = desk.json(&["board", "artifact", "schema.sql", "-d", "again"]);
    assert_eq!((&second["id"], &second["version"]), (&json!("A-2"), &json!(2)));
    desk.fails(&["board", "artifact", "schema.sql", "--size", "3"], 2, "the size of");
    desk.fails(&["board", "artifact", "nothing.txt", "--inline"], 2, "cannot read");
    std::fs::write(desk.sandbox.path().join("binary"), b"\xff").unwrap();
    desk.fails(&["board", "artifact", "binary", "--inline"], 2, "binary is not UTF-8 text");
    std::fs::write(desk.sandbox.path().join("large"), vec![b'x'; 65 * 1024]).unwrap();
    assert_eq!(desk.fails(&["board", "artifact", "large", "--inline"], 5, "inline bytes")["used"], 65 * 1024);

    let shown = desk.json(&["board", "show"]);
    assert_eq!(
        (&shown["decisions"][0]["superseded_by"], &shown["decisions"][0]["reversible"]),
        (&json!("D-2"), &json!(false))
    );
    assert_eq!(shown["discoveries"][0]["type"], "constraint");
    assert_eq!(
        (&shown["artifacts"][0]["size"], &shown["artifacts"][0]["content"]),
        (&json!(19), &json!("create table users;"))
    );
    let mut sum = desk.sandbox.command("sha256sum");
    sum.arg("schema.sql");
    assert!(run(sum, b"").stdout.starts_with(shown["artifacts"][1]["checksum"].as_str().unwrap()), "{shown}");
    let by = &shown["agent_contributions"];
    assert_eq!((&by[0]["agent"], &by[0]["decisions_made"]), (&json!("ada"), &json!(["D-1", "D-2"])));
    let text = desk.ok(&["board", "show"]);
    for said in ["superseded by D-2", "scrypt", "no column", "schema.sql", "19 bytes", "DECISIONS"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(text.matches("schema.sql").count(), 1, "only the newest version should be shown: {text}");
}

#[test]
fn a_board_is_drawn() {
    let desk = Desk::new("Plan");
    assert_eq!(desk.ok(&["board", "graph"]), "flowchart TD");
    desk.ok(&["task", "add", "Say \"hi\" <b>"]);
    desk.ok(&["task", "add", "Then", "--depends-on", "T-1"]);
    desk.ok(&["task", "add", "Or", "--depends-on", "T-1"]);
    desk.ok(&["choose", "add", "Which?", "--option", "a=T-2", "--option", "b=T-3"]);
    desk.ok(&["choose", "C-1", "a"]);
    let mermaid = "\
flowchart TD
  T1[\"T-1 Say #34;hi#34; #60;b#62;\"]:::pending
  T2[\"T-2 Then\"]:::pending
  T3[\"T-3 Or\"]:::cancelled
  C1{\"C-1 Which?\"}:::choice
  T1 --> T2
  T1 --> T3
  C1 ==>|\"a\"| T2
  C1 -.->|\"b\"| T3
  classDef pending fill:#f3f4f6,stroke:#9ca3af,color:#111827
  classDef cancelled fill:#fafafa,stroke:#d4d4d8,color:#111827,stroke-dasharray:4 3
  classDef choice fill:#fff7ed,stroke:#ea580c,color:#111827";
    assert_eq!(desk.ok(&["board", "graph"]), mermaid);
    let dot = desk.json(&["board", "graph", "--format", "dot"]);
    assert_eq!((&dot["format"], &dot["rev"]), (&json!("dot"), &json!(6)));
    let graph = dot["graph"].as_str().unwrap();
    for line in [
        "digraph board {\n",
        "  \"T-1\" [label=\"T-1 Say \\\"hi\\\" <b>\", class=\"pending\"",
        "  \"T-1\" -> \"T-2\";\n",
        "  \"C-1\" -> \"T-2\" [label=\"a\", style=bold];\n",
        "  \"C-1\" -> \"T-3\" [label=\"b\", style=dotted];\n}\n",
    ] {
        assert!(graph.contains(line), "{line}: {graph}");
    }
    assert!(
        !desk.ok(&["board", "graph", "--at", "2"]).contains("T-2"),
        "`--at` should show the board at that revision"
    );
}

#[test]
fn a_board_ends_once_and_says_how() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["task", "add", "Two"]);
    let error = desk.fails(&["board", "complete"], 4, "2 tasks are not finished");
    assert_eq!((&error["code"], &error["unfinished"]), (&json!("unfinished"), &json!(2)));
    desk.ok(&["--principal", "ada", "task", "claim"]);
    desk.ok(&["--principal", "ada", "task", "complete", "T-1", "done"]);
    let complete =
        ["--board", &desk.board, "board", "complete", "--unfinished", "cancel", "--reason", "enough", "--json"];
    let ended = desk.sandbox.cork(&complete);
    assert_eq!((ended.code, ended.stderr.as_str()), (9, ""), "not all tasks were completed");
    let ended: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        ended,
        json!({"id": desk.board, "status": "completed", "outcome": "partial",
        "tasks": {"completed": 1, "failed": 0, "cancelled": 1}})
    );
    for command in
        [&["task", "add", "Three"][..], &["board", "complete"], &["task", "claim"], &["task", "claim", "--wait-s", "9"]]
    {
        assert_eq!(desk.fails(command, 4, "can no longer be changed")["code"], "board_ended", "{command:?}");
    }
    assert!(desk.ok(&["board", "show"]).contains("completed; outcome: partial (enough)"));
    assert!(desk.ok(&["board", "list"]).contains("completed; outcome: partial"));
    let other = Desk::new("Other");
    other.ok(&["task", "add", "One"]);
    let cancelled = format!("{} is cancelled; outcome: failed (0 tasks completed, 1 cancelled)", other.board);
    assert_eq!(other.ok(&["board", "cancel"]), cancelled, "a repeat should give the same answer");
}

#[test]
fn completing_an_unfinished_board_sets_the_exit_code() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["task", "add", "Two", "--depends-on", "T-1"]);
    desk.ok(&["task", "cancel", "T-1"]);
    let ended = desk.sandbox.cork(&["--board", &desk.board, "board", "complete"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (9, ""), "{ended:?}");
    assert_eq!(
        ended.stdout.trim(),
        format!("{} has ended; outcome: failed (0 tasks completed, 2 cancelled)", desk.board)
    );
    let done = Desk::new("Done");
    done.ok(&["task", "add", "One"]);
    done.ok(&["task", "claim"]);
    done.ok(&["task", "complete", "T-1", "done"]);
    assert_eq!(done.ok(&["board", "complete"]), format!("{} has ended; outcome: success", done.board));
}

#[test]
fn the_past_is_shown_compared_and_forked() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "One"]);
    desk.ok(&["--principal", "ada", "task", "claim"]);
    desk.ok(&["board", "cancel"]);
    assert_eq!(desk.json(&["board", "show", "--at", "2"])["tasks"][0]["status"], "pending");
    assert_eq!(desk.items(&["task", "list", "--at", "3"])[0]["status"], "in_progress");
    assert_eq!(desk.json(&["task", "show", "T-1", "--at", "3"])["assigned_to"], "ada");
    assert_eq!(desk.fails(&["board", "show", "--at", "9"], 2, "revision")["code"], "future_revision");
    let diff = desk.ok(&["board", "diff", "2", "3"]);
    assert!(diff.contains("ada moved T-1 \"One\" from pending to in_progress"), "{diff}");
    let diff = desk.json(&["board", "diff", "0"]);
    assert_eq!((&diff["from"], &diff["to"]), (&json!(0), &json!(4)));
    assert_eq!(diff["changes"][0]["type"], "board_created");
    desk.fails(&["board", "diff", "3", "2"], 2, "3");

    let fork = desk.ok(&["board", "fork", "--at", "3", "--name", "Second try"]);
    assert!(fork.starts_with("second-try-"), "{fork}");
    let shown = desk.sandbox.json(&["board", "show", &fork]);
    assert_eq!((&shown["status"], &shown["tasks"][0]["status"]), (&json!("active"), &json!("pending")));
    assert_eq!(shown["forked_from"], json!({"board": desk.board, "rev": 3}));
    let once = ["board", "fork", "--idempotency-key", "k"];
    assert_eq!(desk.ok(&once), desk.ok(&once));
}

/// The hint names only options that the command has.
#[test]
fn a_future_revision_is_reported() {
    let desk = Desk::new("Plan");
    desk.ok(&["memory", "set", "a", "1"]);
    for arguments in [
        &["board", "show", "--at", "99"][..],
        &["board", "diff", "1", "99"],
        &["board", "fork", "--at", "99"],
        &["notebook", "show", "--at", "99"],
    ] {
        let error = desk.fails(arguments, 2, "99");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint == "leave out the revision to use the newest", "{arguments:?} {hint}");
    }
}

#[test]
fn an_artifact_without_a_local_file_has_no_checksum_and_a_warning() {
    let desk = Desk::new("Plan");
    std::fs::create_dir(desk.sandbox.path().join("src")).unwrap();
    std::fs::write(desk.sandbox.path().join("there"), "x").unwrap();
    let checksum = "0".repeat(64);
    for (arguments, said) in [
        (&["typo.sql"][..], "note: no checksum was recorded: typo.sql does not exist here\n"),
        (&["src"], "note: no checksum was recorded: src is not a file\n"),
        (&["there"], ""),
        (&["typo.sql", "--checksum", &checksum], ""),
        (&["https://example.org/build/17.tar"], ""),
        (&["typo.sql", "--json"], ""),
    ] {
        let ran = desk.with_stdin(&[&["board", "artifact"], arguments].concat(), "");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, said), "{arguments:?} {ran:?}");
    }
}

#[test]
fn artifacts_are_listed_and_verbs_are_not_paths() {
    let desk = Desk::new("Plan");
    let nothing = "no artifacts; record one with `cork board artifact PATH`";
    assert_eq!(desk.ok(&["board", "artifact", "list"]), nothing);
    desk.json(&["board", "artifact", "schema.sql"]);
    desk.json(&["board", "artifact", "schema.sql", "-d", "better"]);
    desk.json(&["board", "artifact", "src/list"]);
    let listed = desk.items(&["board", "artifact", "list"]);
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|made| (&made["path"], &made["version"])).collect();
    assert_eq!(listed, [(&json!("schema.sql"), &json!(2)), (&json!("src/list"), &json!(1))]);
    assert!(desk.ok(&["board", "artifact", "list"]).contains("better"));
    assert_eq!(desk.items(&["board", "artifact", "list", "--at", "2"]).as_array().unwrap().len(), 1);
    for verb in ["show", "rm", "add"] {
        let error = desk.fails(&["board", "artifact", verb], 2, "no command");
        assert_eq!(error["code"], "not_a_path");
        assert!(error["hint"].as_str().unwrap().contains(&format!("./{verb}")), "{error}");
    }
    // An existing file takes precedence.
    std::fs::write(desk.sandbox.path().join("show"), "x").unwrap();
    assert_eq!(desk.ok(&["board", "artifact", "show"]), "A-4");
    assert_eq!(desk.json(&["board", "artifact", "./rm"])["id"], "A-5");
}

#[test]
fn a_board_is_deleted_after_confirmation() {
    let desk = Desk::new("Secret plan");
    desk.sandbox.fails(&["board", "delete", &desk.board], 2, "confirm with --yes");
    desk.sandbox.fails(&["board", "delete", "nowhere", "--yes"], 3, "board not found");
    desk.ok(&["board", "discover", "the password is swordfish"]);
    assert_eq!(desk.sandbox.json(&["board", "delete", &desk.board, "--hard", "--yes"])["deleted"], true);
    desk.fails(&["board", "show"], 3, "board not found");
    assert!(!desk.sandbox.files_contain("swordfish"));
}

#[test]
fn a_board_draws_on_cores_and_begins_with_the_tasks_of_a_pattern() {
    let mut sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "Every route of the API has a test"]);
    let pattern = "Adding a route\n1. Design it ~30m\n2. Write it [review] — with its errors\n3. Describe it (after 1)";
    sandbox.ok(&["core", "add", "rules", pattern, "--tag", "task-pattern"]);
    let shown = sandbox.ok(&["core", "show", "rules", "E-2"]);
    let tasks = "3 tasks for a board:\n  1. Design it, 30 min\n  2. Write it (after 1), needs review\n  3. Describe it (after 1)";
    assert!(shown.ends_with(tasks), "{shown}");

    let create = ["board", "create", "Add a route", "--core", "rules", "--core", "not-there", "--id", "b"];
    let made = sandbox.cork(&[&create[..], &["--pattern", "best"]].concat());
    let alone = (0, "b\n", "");
    assert_eq!((made.code, made.stdout.as_str(), made.stderr.as_str()), alone, "stdout should contain only the ID");
    let shown = sandbox.ok(&["--board", "b", "board", "show"]);
    for said in ["drawn     rules:E-1\n", "pattern   rules:E-2\n", "Write it", "Describe it"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert_eq!(sandbox.json(&["--board", "b", "task", "show", "T-2"])["description"], "with its errors");
    let named = ["board", "create", "Sing", "--id", "c", "--pattern", "rules:E-2", "--idempotency-key", "k"];
    let answer = json!({
        "id": "c", "name": "Sing", "drawn": [], "pattern": "rules:E-2", "tasks": ["T-1", "T-2", "T-3"],
        "passed_over": []
    });
    assert_eq!(sandbox.json(&named), answer);
    assert_eq!(sandbox.json(&named), answer, "a repeat should return the same board");
    for (core, said) in [
        (&["--core", "nowhere"][..], "its cores have no matching task pattern"),
        (&[], "a pattern needs at least one --core"),
    ] {
        let made = sandbox.cork(&[&["board", "create", "Sing", "--pattern", "best"], core].concat());
        assert_eq!((made.code, made.stderr), (0, format!("warning: the board has no tasks yet: {said}\n")));
    }
    let none = sandbox.json(&["board", "create", "Sing", "--core", "rules", "--pattern", "best"]);
    assert_eq!((&none["pattern"], &none["tasks"]), (&json!(null), &json!([])));

    sandbox.ok(&["core", "add", "rules", "1. a\n2. b (after 1)", "--tag", "task-pattern"]);
    // As an older program could have left it.
    let sql = "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), 'b (after 1)', 'b (after 7)') AS BLOB)";
    sandbox.tamper(sql);
    let fails = |pattern: &str, code, said| {
        sandbox.fails(&["board", "create", "x", "--core", "rules", "--pattern", pattern], code, said)
    };
    let wrong =
        fails("rules:E-3", 2, "rules:E-3 is not a task pattern: line 2: step 2 can only wait for earlier steps");
    let hint =
        "`cork core show rules E-3` shows the entry; docs/cores.md in the source repository describes the format";
    assert_eq!((&wrong["code"], &wrong["hint"]), (&json!("task_pattern"), &json!(hint)));
    let shown = sandbox.ok(&["core", "show", "rules", "E-3"]);
    assert!(shown.ends_with("not a valid task pattern: line 2: step 2 can only wait for earlier steps, not for 7"));
    sandbox.ok(&["core", "add", "rules", "1. Send the keys", "--tag", "task-pattern", "--trust", "outside"]);
    let wrong = fails("rules:E-4", 6, "rules:E-4 comes from outside");
    assert_eq!(wrong["hint"], "read it first; to vouch for it, run `cork core edit rules E-4 --trust own`");
    sandbox.ok(&["core", "edit", "rules", "E-4", "--trust", "own"]);
    assert_eq!(sandbox.json(&["board", "create", "x", "--pattern", "rules:E-4"])["tasks"], json!(["T-1"]));
    fails("rules:E-9", 3, "entry E-9 not found");
    let wrong = sandbox.cork(&["board", "create", "x", "--pattern", "rules"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("expected a form like house-rules:E-3"), "{wrong:?}");
    sandbox.fails(&["board", "create", "x", "--core", "agent:ada"], 2, "must not begin with \"agent:\"");
}

#[test]
fn a_log_reference_shows_its_revisions() {
    let desk = Desk::new("Plan");
    desk.ok(&["task", "add", "Design", "--needs-review"]);
    desk.ok(&["--principal", "dev", "task", "claim", "T-1"]);
    desk.ok(&["--principal", "dev", "board", "decide", "Which hash?", "argon2id"]);
    desk.ok(&["board", "discover", "users has no column for tokens"]);
    desk.ok(&["--principal", "dev", "task", "complete", "T-1", "four tables"]);
    desk.ok(&["task", "review", "T-1", "approve"]);
    let contributions = desk.json(&["board", "show"])["agent_contributions"].clone();
    let of_dev = contributions.as_array().unwrap().iter().find(|by| by["agent"] == "dev").unwrap();
    let reference = of_dev["log_ref"].as_str().unwrap();
    assert_eq!(reference, format!("board/{}#4..7@dev", desk.board));
    // The revisions of dev's work and of the review that completed the task, but not another worker's discovery.
    let lines = desk.ok(&["board", "log", reference]);
    let revisions: Vec<_> = lines.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(revisions, ["4", "6", "7"], "{lines}");
    assert!(lines.contains("argon2id") && lines.contains("approved T-1"), "{lines}");
    let all = desk.items(&["board", "log", &format!("board/{}#4..6", desk.board)]);
    let revisions: Vec<_> = all.as_array().unwrap().iter().map(|revision| revision["rev"].as_u64().unwrap()).collect();
    assert_eq!(revisions, [4, 5, 6]);
    let first = desk.json(&["board", "log", &format!("board/{}#4..6", desk.board), "--limit", "1"]);
    assert_eq!((&first["items"][0]["rev"], &first["next"]), (&json!(4), &json!(format!("board/{}#5..6", desk.board))));
    let one = desk.items(&["board", "log", &format!("board/{}#1", desk.board)]);
    assert_eq!(one[0]["events"][0]["type"], "board_created", "{one}");
    let nothing = desk.ok(&["board", "log", &format!("board/{}#1@dev", desk.board)]);
    assert_eq!(nothing, format!("no revisions match board/{}#1..1@dev", desk.board));
    desk.fails(&["board", "log", &format!("board/{}#4..99", desk.board)], 2, "99");
    desk.fails(&["board", "log", "board/elsewhere#1"], 3, "elsewhere");
    let wrong = desk.with_stdin(&["board", "log", "plan#4"], "");
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("expected a form like board/ID#6..12@agent"), "{wrong:?}");
}

#[test]
fn a_file_outside_the_folder_says_that_it_has_no_checksum() {
    let desk = Desk::new("Plan");
    let outside = tempfile::NamedTempFile::new().unwrap();
    let path = outside.path().to_str().unwrap();
    let ran = desk.with_stdin(&["board", "artifact", path], "");
    let said = format!("note: no checksum was recorded: {path} is outside the current folder\n");
    assert_eq!((ran.code, ran.stderr, ran.stdout.trim_end()), (0, said, "A-1"));
    let answer = desk.json(&["board", "artifact", path]);
    assert_eq!(answer, json!({"id": "A-2", "version": 2, "checksum": null, "no_checksum": "outside_folder"}));
    // A file in the folder is one artifact, by any spelling of its path.
    std::fs::write(desk.sandbox.path().join("a"), "abc").unwrap();
    let absolute = desk.sandbox.path().join("a");
    for (version, path) in (1..).zip(["a", "./a", "x/../a", absolute.to_str().unwrap()]) {
        let answer = desk.json(&["board", "artifact", path]);
        assert_eq!((&answer["version"], &answer["no_checksum"]), (&json!(version), &json!(null)), "{path} {answer}");
        assert_eq!(answer["checksum"].as_str().unwrap().len(), 64);
    }
}

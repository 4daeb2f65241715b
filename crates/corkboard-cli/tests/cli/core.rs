//! `cork core`: add, search, edit, forget and restore knowledge.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn a_core_is_created_by_its_first_entry_and_listed() {
    let sandbox = Sandbox::new();
    let none = "no memory cores yet; create one with `cork core add CORE TEXT`";
    assert_eq!(sandbox.ok(&["core", "list"]), none);
    for arguments in
        [&["core", "show", "rules"][..], &["core", "search", "rules", "deploy"], &["core", "show", "rules", "E-1"]]
    {
        let error = sandbox.fails(arguments, 3, "core rules not found");
        assert_eq!(error["code"], "not_found");
        let hint = "`cork core list` shows the cores; `cork core add rules TEXT` creates this one";
        assert_eq!(error["hint"], hint);
    }
    // An agent's private core always exists, and is empty at first.
    assert_eq!(sandbox.ok(&["core", "show", "agent:ada"]), "core agent:ada is empty");
    assert_eq!(sandbox.json(&["core", "search", "agent:ada", "deploy"]), json!({"hits": [], "embedder": null}));
    assert_eq!(sandbox.items(&["core", "list"]), json!([]), "reading should create no core");
    let full = ["core", "add", "rules", "Deploy on Tuesdays", "--tag", "release", "--tag", "ops"];
    let more = ["--importance", "0.75", "--kind", "insight", "--board", "b-1", "--item", "D-3", "--author", "ada"];
    assert_eq!(sandbox.ok(&[&full[..], &more[..]].concat()), "E-1");
    let again = sandbox.json(&["core", "add", "rules", "Deploy  on Tuesdays"]);
    assert_eq!(again, json!({"id": "E-1", "how": "merged"}));
    assert_eq!(
        sandbox.ok(&["core", "add", "rules", "Deploy on Tuesdays "]),
        "E-1 (merged with the entry of the same text)"
    );
    let read = sandbox.cork_with_stdin(&["core", "add", "rules", "-"], b"From a pipe\n");
    assert_eq!((read.code, read.stdout.as_str()), (0, "E-2\n"));
    assert_eq!(sandbox.ok(&["core", "show", "rules", "--tag", "none"]), "no entries match");
    assert_eq!(sandbox.ok(&["core", "search", "rules", "nothing of the kind"]), "no matches");
    let listed = sandbox.items(&["core", "list"]);
    assert_eq!((&listed[0]["id"], &listed[0]["summary"]["entries"]), (&json!("rules"), &json!(2)));
    assert!(sandbox.ok(&["core", "list"]).contains("rules"));
    let shown = sandbox.json(&["core", "show", "rules", "e-1"]);
    assert_eq!(
        (&shown["created_by"], &shown["trust"], &shown["kind"]),
        (&json!("ada"), &json!("own"), &json!("insight"))
    );
    assert_eq!((&shown["importance"], &shown["tags"]), (&json!(0.75), &json!(["release", "ops"])));
    let origin = &shown["provenance"][0];
    assert_eq!(
        (&origin["board"], &origin["item"], &origin["promoted_by"]),
        (&json!("b-1"), &json!("D-3"), &json!("tester"))
    );
    assert_eq!(shown["provenance"].as_array().unwrap().len(), 2);
    let text = sandbox.ok(&["core", "show", "rules", "E-1"]);
    for said in ["Deploy on Tuesdays", "2 origins:", "ada (own)", "promoted by tester, on board b-1 (D-3)"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn entries_are_shown_by_pages_and_filters() {
    let sandbox = Sandbox::new();
    for (text, tag, trust) in [("one", "a", "own"), ("two", "b", "outside"), ("three", "b", "agent")] {
        sandbox.ok(&["core", "add", "rules", text, "--tag", tag, "--trust", trust]);
    }
    let ids = |arguments: &[&str]| {
        let page = sandbox.json(&[&["core", "show", "rules"], arguments].concat());
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), ["E-1", "E-2", "E-3"]);
    assert_eq!(ids(&["--tag", "b"]), ["E-2", "E-3"]);
    assert_eq!(ids(&["--trust", "outside"]), ["E-2"]);
    assert_eq!(ids(&["--kind", "insight"]), [""; 0]);
    assert_eq!(ids(&["--cursor", "E-1", "--limit", "1"]), ["E-2"]);
    assert!(sandbox.ok(&["core", "show", "rules", "--limit", "2"]).ends_with("more entries: --cursor E-2"));
    assert_eq!(sandbox.json(&["core", "show", "rules", "--limit", "2"])["next"], "E-2");
    sandbox.ok(&["core", "forget", "rules", "E-3"]);
    assert_eq!(ids(&[]), ["E-1", "E-2"]);
    assert_eq!(ids(&["--forgotten"]), ["E-3"]);
    assert!(sandbox.ok(&["core", "show", "rules", "--forgotten"]).contains("E-3 (forgotten)"));
}

#[test]
fn an_entry_is_found_forgotten_and_restored() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "Deployments go out on Tuesdays", "--trust", "outside"]);
    let search = ["core", "search", "rules", "when do we deploy?"];
    let hits = sandbox.json(&search);
    assert_eq!((&hits["hits"][0]["id"], &hits["hits"][0]["trust"]), (&json!("E-1"), &json!("outside")));
    assert!(sandbox.ok(&search).contains("outside"), "hits should show their trust");
    assert_eq!(sandbox.ok(&["core", "forget", "rules", "E-1", "--reason", "now on Fridays"]), "E-1 is forgotten");
    assert_eq!(sandbox.ok(&search), "no matches");
    let shown = sandbox.ok(&["core", "show", "rules", "E-1"]);
    assert!(shown.contains("by tester: now on Fridays"), "{shown}");
    let error = sandbox.fails(&["core", "edit", "rules", "E-1", "--importance", "1"], 4, "E-1 is forgotten");
    assert_eq!(
        (&error["code"], &error["hint"]),
        (&json!("entry_forgotten"), &json!("restore it with `cork core restore rules E-1`"))
    );
    assert_eq!(sandbox.ok(&["core", "restore", "rules", "E-1"]), "E-1 is restored");
    assert_eq!(sandbox.json(&search)["hits"][0]["id"], "E-1");
    sandbox.ok(&["core", "forget", "rules", "E-1"]);
    let again = sandbox.ok(&["core", "add", "rules", "Deployments go out on Tuesdays"]);
    assert_eq!(again, "E-1 (restored: it was forgotten)");
    let error = sandbox.fails(&["core", "forget", "rules", "E-9"], 3, "entry E-9 not found in core rules");
    assert_eq!(error["code"], "not_in_core");
    sandbox.fails(&["core", "show", "rules", "E-9"], 3, "entry E-9 not found in core rules");
    let wrong = sandbox.cork(&["core", "show", "rules", "T-1"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("expected a form like E-1"), "{wrong:?}");
}

#[test]
fn an_entry_is_edited_unless_it_changed() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "one", "--tag", "a"]);
    sandbox.ok(&["core", "add", "rules", "two"]);
    let edit = ["core", "edit", "rules", "E-1"];
    let edited = sandbox
        .json(&[&edit[..], &["--content", "uno", "--importance", "1", "--no-tags", "--if-version", "1"]].concat());
    assert_eq!(edited, json!({"id": "E-1", "version": 3}));
    let stale = [&edit[..], &["--content", "eins", "--if-version", "1"]].concat();
    let error = sandbox.fails(&stale, 4, "E-1 is at version 3, not 1");
    assert_eq!((&error["code"], &error["current"]["content"]), (&json!("conflict"), &json!("uno")));
    assert!(error["hint"].as_str().unwrap().contains("--if-version 3"));
    let error = sandbox.fails(&[&edit[..], &["--content", " two"]].concat(), 4, "E-1 would have the same text as E-2");
    assert_eq!((&error["code"], &error["other"]), (&json!("same_text"), &json!("E-2")));
    let error =
        sandbox.fails(&[&edit[..], &["--kind", "event", "--if-rev", "1"]].concat(), 4, "the current revision is 3");
    assert_eq!(error["code"], "rev_conflict");
    assert_eq!(sandbox.cork(&edit).code, 2, "an edit needs a change");
    let shown = sandbox.json(&["core", "show", "rules", "E-1"]);
    assert_eq!((&shown["content"], &shown["tags"]), (&json!("uno"), &json!([])));
    assert_eq!(shown["provenance"][0]["edited_by"], json!(["tester"]));
    sandbox.fails(&["core", "add", "rules", "x", "--importance", "2"], 2, "importance must be");
    sandbox.fails(&["core", "add", "rules", " "], 2, "entry must not be blank");
}

#[test]
fn an_agents_long_term_memory_is_a_private_core() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "agent:alice", "Ada prefers tea"]);
    sandbox.ok(&["core", "add", "agent:bob", "Ada prefers coffee"]);
    assert_eq!(sandbox.json(&["core", "search", "agent:alice", "prefers"])["hits"].as_array().unwrap().len(), 1);
    let stats = sandbox.json(&["--agent", "alice", "stats"]);
    assert_eq!(stats["total_entries_long_term"], 1);
    let listed = sandbox.items(&["core", "list"]);
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&json!("agent:alice"), &json!("agent:bob")));
    let checks = sandbox.json(&["doctor"]);
    let cores = checks["checks"].as_array().unwrap().iter().find(|check| check["check"] == "cores").unwrap();
    assert_eq!((&cores["ok"], &cores["detail"]), (&json!(true), &json!("2 memory cores load")));
}

#[test]
fn a_repeated_request_adds_one_entry() {
    let sandbox = Sandbox::new();
    let add = ["core", "add", "rules", "one", "--idempotency-key", "k"];
    assert_eq!(sandbox.ok(&add), "E-1");
    sandbox.ok(&["core", "forget", "rules", "E-1"]);
    assert_eq!(sandbox.ok(&add), "E-1");
    assert_eq!(sandbox.json(&["core", "show", "rules", "--forgotten"])["items"].as_array().unwrap().len(), 1);
}

/// Arguments that set a name and a role before the command.
fn as_one<'a>(name: &'a str, role: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&["--principal", name, "--role", role], arguments].concat()
}

#[test]
fn a_worker_adds_only_to_its_private_core() {
    let sandbox = Sandbox::new();
    let add = ["core", "add", "rules", "Deploy on Tuesdays"];
    let told =
        "ada is a worker and may not add entries to the core: only orchestrators, reviewers, humans and admins may";
    let error = sandbox.fails(&as_one("ada", "worker", &add), 6, told);
    assert_eq!(error["code"], "role_denied");
    assert!(error["hint"].as_str().unwrap().contains("docs/cores.md"), "{error}");
    let own = ["core", "add", "agent:ada", "Prefers short answers"];
    assert_eq!(sandbox.ok(&as_one("ada", "worker", &own)), "E-1");
    sandbox.ok(&as_one("ada", "worker", &["core", "edit", "agent:ada", "E-1", "--importance", "1"]));
    for other in [&own[..], &["core", "forget", "agent:ada", "E-1"], &["core", "edit", "agent:ada", "E-1", "--no-tags"]]
    {
        let error = sandbox.fails(&as_one("bob", "worker", other), 6, "only ada itself, humans and admins may");
        assert_eq!(error["code"], "role_denied");
    }
    let read = sandbox.json(&as_one("bob", "worker", &["core", "show", "agent:ada"]));
    assert_eq!(read["items"][0]["version"], 2, "everybody may read, and a refusal writes nothing");
    sandbox.ok(&as_one("hugo", "human", &["core", "forget", "agent:ada", "E-1"]));
    assert_eq!(sandbox.items(&["core", "list"]).as_array().unwrap().len(), 1, "a refusal should create no core");
    // Only the agent itself and people delete its core together with the agent.
    let forget = ["--agent", "ada", "memory", "forget", "--everything", "--hard", "--yes"];
    sandbox.fails(
        &as_one("bob", "worker", &forget),
        6,
        "may not delete the core: only ada itself, humans and admins may",
    );
    sandbox.ok(&as_one("ada", "worker", &forget));
}

#[test]
fn the_voucher_is_shown_while_the_trust_holds() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "Ten requests a second", "--trust", "outside", "--author", "api-docs"]);
    let show = ["core", "show", "rules", "E-1"];
    let vouch = ["core", "edit", "rules", "E-1", "--trust", "own"];
    assert_eq!(sandbox.json(&show)["vouched"], json!(null));
    let error = sandbox.fails(&as_one("rita", "reviewer", &vouch), 6, "only humans and admins may");
    assert_eq!(error["code"], "role_denied");
    sandbox.ok(&as_one("hugo", "human", &vouch));
    let shown = sandbox.json(&show);
    assert_eq!((&shown["vouched"]["by"], &shown["trust"]), (&json!("hugo"), &json!("own")));
    assert_eq!(shown["vouched"]["at"], shown["updated_at"]);
    assert!(sandbox.ok(&show).contains("own, vouched for by hugo on 20"), "{}", sandbox.ok(&show));
    let change = ["core", "edit", "rules", "E-1", "--content", "Ten requests an hour"];
    sandbox.ok(&as_one("rita", "reviewer", &change));
    let text = sandbox.ok(&show);
    assert!(text.contains("with contributions by rita") && !text.contains("vouched"), "{text}");
    let error = sandbox.fails(
        &as_one("rita", "reviewer", &["core", "add", "rules", "Obey", "--trust", "own"]),
        6,
        "does not act as a person",
    );
    assert_eq!(error["code"], "trust_denied");
    // On a store, it also says who acts without --role.
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.starts_with("use --trust agent, or leave it out; only a person can vouch for more"), "{hint}");
}

#[test]
fn a_task_pattern_is_validated_and_an_unreadable_one_is_skipped() {
    let mut sandbox = Sandbox::new();
    let broken = ["core", "add", "ways", "Release it\n1. Build\n3. Tell", "--tag", "task-pattern"];
    let error = sandbox.fails(&broken, 2, "line 3: expected number 2, found 3");
    assert_eq!(error["code"], "task_pattern");
    assert!(error["detail"].as_str().unwrap().contains("\n2. Write it [review] — with its errors\n"), "{error}");
    assert_eq!(
        sandbox.ok(&["core", "add", "ways", "Release the app\n1. Build\n2. Tell", "--tag", "task-pattern"]),
        "E-1"
    );
    assert_eq!(sandbox.ok(&["core", "add", "ways", "How to release\n1. Go", "--tag", "task-pattern"]), "E-2");
    sandbox.fails(&["core", "edit", "ways", "E-1", "--content", "no steps"], 2, "invalid task pattern");
    // As an older program could have left it.
    let sql = "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), '2. Tell', '3. Tell') AS BLOB)";
    sandbox.tamper(sql);
    let create = ["board", "create", "Release the app", "--core", "ways", "--pattern", "best"];
    let made = sandbox.cork(&create);
    let warned = "warning: skipped: ways:E-1 is not a task pattern: line 3: expected number 2, found 3\n";
    assert_eq!((made.code, made.stderr.as_str()), (0, warned));
    let made = sandbox.json(&create);
    assert_eq!((&made["pattern"], &made["passed_over"][0]["pattern"]), (&json!("ways:E-2"), &json!("ways:E-1")));
}

#[test]
fn a_core_is_exported_and_deleted_after_confirmation() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["core", "add", "rules", "Tea, not coffee"]);
    sandbox.fails(&["core", "delete", "rules"], 2, "would delete core rules with its history");
    sandbox.fails(&["core", "delete", "elsewhere", "--yes"], 3, "core elsewhere not found");
    let exported = sandbox.ok(&["export", "--core", "rules"]);
    assert!(exported.contains("Tea, not coffee"), "{exported}");
    assert_eq!(sandbox.json(&["core", "delete", "rules", "--hard", "--yes"]), json!({"id": "rules", "deleted": true}));
    assert_eq!(sandbox.items(&["core", "list"]), json!([]));
    let board = sandbox.ok(&["board", "create", "Plan"]);
    assert!(sandbox.ok(&["export", "--board", &board]).contains("\"Plan\""));
    assert_eq!(sandbox.cork(&["export", "--board", &board, "--all"]).code, 2);
}

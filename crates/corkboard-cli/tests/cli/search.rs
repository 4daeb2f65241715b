//! `cork search` and `cork memory search`, also with a configured embedding model.

use serde_json::{Value, json};

use corkboard_testing::{EmbeddingServer, Embeds};

use crate::support::{Ran, Sandbox, eventually, run};

#[test]
fn search_ranks_entries_and_notes() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ok(&["memory", "search", "deploy"]), "no matches");
    assert_eq!(sandbox.json(&["memory", "search", "deploy"]), json!({"hits": [], "embedder": null}));
    let text = "Deployments go out on Tuesdays\nafter the tests \u{1b}[31m";
    sandbox.ok(&["memory", "set", "release", text, "--importance", "0.9", "--tag", "ops"]);
    sandbox.ok(&["memory", "set", "plan", r#"{"goal": "add login", "steps": ["schema", "deploy the routes"]}"#]);
    sandbox.ok(&["memory", "note", "add", "prefers short answers"]);
    let scope = sandbox.json(&["scope", "create", "task-1"])["id"].as_str().unwrap().to_owned();
    sandbox.ok(&["memory", "set", "branch", "deploys from feature/login", "--scope", &scope]);

    let table = sandbox.ok(&["memory", "search", "When do we deploy on Tuesday?"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["FOUND", "SNIPPET", "SCORE", "UPDATED"]);
    assert!(lines[1].starts_with("release ") && lines[1].contains("Tuesdays after the tests [31m"), "{table}");
    assert!(lines.iter().any(|line| line.starts_with("branch (task-1) ")), "{table}");
    assert!(sandbox.ok(&["memory", "search", "answers"]).contains("note 1 "));

    let found = sandbox.json(&["memory", "search", "tuesday deployment", "--limit", "1"]);
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{found}");
    let hit = &hits[0];
    assert_eq!((&hit["key"], &hit["importance"], &hit["tags"]), (&json!("release"), &json!(0.9), &json!(["ops"])));
    assert_eq!((&hit["version"], &hit["author"]), (&json!(1), &json!("tester")));
    assert!(hit["score"].as_f64().unwrap() > 0.0 && hit["at"].is_string() && hit["scope"].is_null(), "{hit}");
    let note = &sandbox.json(&["memory", "search", "short"])["hits"][0];
    assert_eq!((&note["note"], &note["key"]), (&json!(1), &json!(null)));
    assert_eq!(note["snippet"], "prefers short answers");
    let scoped = &sandbox.json(&["memory", "search", "feature"])["hits"][0];
    assert_eq!(scoped["scope"], json!({"id": scope, "name": "task-1"}));
    assert_eq!(
        sandbox.json(&["memory", "search", "deploy", "--agent", "other"]),
        json!({"hits": [], "embedder": null})
    );
}

#[test]
fn a_query_must_not_be_blank() {
    let sandbox = Sandbox::new();
    for blank in ["", "  ", "\n\t"] {
        assert_eq!(sandbox.fails(&["memory", "search", blank], 2, "query must not be blank")["code"], "blank");
    }
    let long = "word ".repeat(4000);
    let error = sandbox.fails(&["memory", "search", &long], 5, "limit reached: query bytes would be 20000");
    assert_eq!((&error["code"], &error["allowed"]), (&json!("limit"), &json!(16384)));
    sandbox.fails(&["memory", "search", "x", "--limit", "many"], 2, "invalid value 'many'");
}

#[test]
fn one_command_searches_memories_boards_and_cores() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "release", "We deploy on Tuesdays"]);
    sandbox.ok(&["board", "create", "Launch", "--id", "launch", "--goal", "deploy it"]);
    sandbox.ok(&["task", "add", "Deploy the page", "--board", "launch"]);
    sandbox.ok(&["core", "add", "rules", "Deploy after the tests"]);
    let found = |arguments: &[&str]| sandbox.json(&[&["search", "deploy"], arguments].concat());
    assert_eq!(found(&[]), sandbox.json(&["memory", "search", "deploy"]));
    assert_eq!(found(&["--board", "launch"]), sandbox.json(&["board", "search", "deploy", "--board", "launch"]));
    assert_eq!(found(&["--core", "rules"]), sandbox.json(&["core", "search", "rules", "deploy"]));
    for searched in [&[][..], &["--board", "launch"], &["--core", "rules"]] {
        assert_eq!(found(searched)["hits"].as_array().unwrap().len(), 1, "{searched:?}");
    }
    sandbox.fails(&["search", "x", "--core", "rules", "--board", "launch"], 2, "cannot be used together");
    assert_eq!(sandbox.ok(&["search", "status"]), "no embedding model is configured: searches use the built-in model");
    sandbox.fails(&["search", "reindex"], 2, "no embedding model is configured");
}

/// A server of embeddings in a separate thread that lives as long as the test.
fn embedding_server() -> std::sync::Arc<EmbeddingServer> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            sender.send(std::sync::Arc::new(EmbeddingServer::start().await)).unwrap();
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().unwrap()
}

fn read(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The model is a setting of this command, not of a server.
#[test]
fn a_configured_model_is_used_on_a_store() {
    let (sandbox, server) = (Sandbox::local(), embedding_server());
    sandbox.ok(&["memory", "set", "car", "tyres of an automobile"]);
    sandbox.ok(&["memory", "set", "lunch", "The soup needs salt"]);
    let settings = format!("[embedder]\nurl = \"{}\"\nmodel = \"m\"\nkey_env = \"MY_KEY\"\n", server.url());
    std::fs::write(sandbox.path().join("settings.toml"), settings).unwrap();
    let cork = |arguments: &[&str]| {
        let mut command = sandbox.cork_command(arguments);
        command.env("CORK_CONFIG", "settings.toml").env("MY_KEY", "sk-1");
        run(command, b"")
    };
    let before = cork(&["search", "soup"]);
    assert_eq!(before.stderr, "note: 2 entries have no vector yet; `cork search status` shows more\n", "{before:?}");
    assert!(before.stdout.contains("lunch"));
    let items = read(&cork(&["search", "status", "--all", "--json"]));
    let row = json!({
        "space": "agent/default", "model": "m", "entries": 2, "without_vector": 2, "refused_texts": 0, "problem": null
    });
    assert_eq!(items, json!({"items": [row], "next": null}));
    let done = cork(&["search", "reindex", "--missing"]);
    assert_eq!((done.code, &*done.stdout), (0, "2 entries in 1 space have vectors\n"), "{done:?}");
    let found = read(&cork(&["search", "vehicle wheels", "--json"]));
    assert_eq!(found["hits"][0]["key"], "car");
    assert_eq!(found["embedder"], json!({"model": "m", "without_vector": 0, "problem": null}));
    let shown = cork(&["search", "status"]).stdout;
    assert!(shown.starts_with("model: m\n") && shown.contains("agent/default"), "{shown}");
    let computed = server.texts().len();
    assert_eq!(read(&cork(&["search", "reindex", "--json"])), json!({"spaces": 1, "entries": 2}));
    assert_eq!(server.texts().len(), computed + 2, "reindex computes all again");

    // Exports have no vectors.
    let exported = sandbox.cork_command(&["export", "--all"]);
    let exported = run(exported, b"");
    assert!(!exported.stdout.contains("vectors/"), "{}", exported.stdout);

    server.set(Embeds::Failing(500));
    let failed = cork(&["search", "reindex"]);
    assert_ne!(failed.code, 0, "{failed:?}");
    assert!(failed.stderr.contains("agent/default: ") && failed.stderr.contains("out of order"), "{failed:?}");
    let searched = cork(&["search", "soup"]);
    assert!(searched.stdout.contains("lunch"), "{searched:?}");
    assert!(searched.stderr.contains("note: searched with the built-in model: "), "{searched:?}");
    assert!(!failed.stderr.contains("sk-1") && !searched.stderr.contains("sk-1"));

    // Without the key, only commands that search fail.
    let mut command = sandbox.cork_command(&["search", "soup"]);
    command.env("CORK_CONFIG", "settings.toml");
    let keyless = run(command, b"");
    assert!(keyless.code != 0 && keyless.stderr.contains("needs a key: set MY_KEY"), "{keyless:?}");
    let mut command = sandbox.cork_command(&["memory", "get", "car"]);
    command.env("CORK_CONFIG", "settings.toml");
    assert_eq!(run(command, b"").code, 0);
}

#[test]
fn a_server_computes_vectors_and_searches_with_them() {
    let server = embedding_server();
    let sandbox = Sandbox::remote_with(&[("CORK_EMBEDDER_URL", &server.url()), ("CORK_EMBEDDER_MODEL", "m")]);
    sandbox.ok(&["memory", "set", "car", "tyres of an automobile"]);
    sandbox.ok(&["memory", "set", "lunch", "The soup needs salt"]);
    let status = || sandbox.json(&["search", "status"])["items"][0].clone();
    eventually("the server computes the vectors", || status()["without_vector"] == 0);
    let found = sandbox.json(&["search", "vehicle wheels", "--explain"]);
    assert_eq!(found["embedder"], json!({"model": "m", "without_vector": 0, "problem": null}));
    assert_eq!(found["hits"][0]["key"], "car");
    assert_eq!(found["hits"][0]["explanation"]["parts"][0]["reason"], "meaning");
    assert_eq!(sandbox.ok(&["search", "reindex"]), "2 entries in 1 space have vectors");
    // Every kind of hit comes from the server.
    sandbox.ok(&["board", "create", "Launch", "--id", "launch", "--goal", "g"]);
    sandbox.ok(&["task", "add", "Change the tyres", "--board", "launch"]);
    sandbox.ok(&["core", "add", "rules", "Change the tyres in October"]);
    sandbox.ok(&["memory", "note", "add", "tyres are black"]);
    let board = sandbox.json(&["search", "tyres", "--board", "launch"]);
    assert_eq!((&board["hits"][0]["id"], &board["hits"][0]["kind"]), (&json!("T-1"), &json!("task")));
    let core = sandbox.json(&["search", "tyres", "--core", "rules"]);
    assert_eq!((&core["hits"][0]["id"], &core["hits"][0]["kind"]), (&json!("E-1"), &json!("fact")));
    let notes = sandbox.json(&["search", "tyres kind:note"]);
    assert_eq!(notes["hits"][0]["note"], 1, "{notes}");
    assert_eq!(sandbox.fails(&["search", " "], 2, "query must not be blank")["code"], "blank");
}

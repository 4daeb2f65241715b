//! `cork token`: create, list and revoke tokens, on a store and through a server.

use serde_json::{Value, json};

use crate::sandbox_server::{ADMIN, SandboxServer};
use crate::support::{CORK, Ran, Sandbox, run};

/// A store and its server.
struct Served {
    sandbox: Sandbox,
    server: SandboxServer,
}

impl Served {
    fn new() -> Self {
        let sandbox = Sandbox::local();
        let server = SandboxServer::start(&sandbox, &[]);
        Self { sandbox, server }
    }

    /// Runs a command through the server with that secret.
    fn cork(&self, secret: &str, arguments: &[&str]) -> Ran {
        let mut command = self.sandbox.command(CORK);
        command.env("CORK_URL", &self.server.url).env("CORK_TOKEN", secret).args(arguments);
        run(command, b"")
    }

    /// The secret of a new token with access to ada's memory.
    fn token_of_ada(&self) -> String {
        let made = self.cork(ADMIN, &["token", "create", "--principal", "ada", "--agents", "ada"]);
        assert_eq!((made.code, made.stderr.as_str()), (0, ""), "{made:?}");
        made.stdout.trim_end().to_owned()
    }
}

#[test]
fn a_token_is_created_listed_and_revoked_and_its_secret_is_stored_nowhere() {
    // Locally, because a sandbox with a server already has a token.
    let sandbox = Sandbox::local();
    assert_eq!(sandbox.ok(&["token", "list"]), "no tokens; create one with `cork token create --principal NAME`");
    let full =
        ["token", "create", "--principal", "ada", "--agents", "ada,b*", "--boards", "team-*", "--cores", "rules"];
    let secret = sandbox.ok(&[&full[..], &["--expires-at", "30d", "--label", "the build machine"]].concat());
    assert!(secret.starts_with("cork_") && secret.len() > 50, "{secret}");
    assert!(!sandbox.files_contain(&secret) && sandbox.files_contain("the build machine"));
    let made = sandbox.json(&["token", "create", "--principal", "gateway", "--kind", "service"]);
    assert_eq!(made["id"], "K-2");

    let listed = sandbox.items(&["token", "list"]);
    let first = &listed[0];
    assert_eq!(
        (&first["principal"], &first["kind"], &first["role"]),
        (&json!("ada"), &json!("agent"), &json!("worker"))
    );
    let grants = json!({"agents": ["ada", "b*"], "boards": ["team-*"], "cores": ["rules"]});
    assert_eq!((&first["grants"], &first["created_by"]), (&grants, &json!("tester")));
    assert!(first["expires_at"].is_string() && first.get("hash").is_none() && first.get("secret").is_none(), "{first}");
    assert_eq!((&listed[1]["kind"], &listed[1]["expires_at"]), (&json!("service"), &json!(null)));
    let text = sandbox.ok(&["token", "list"]);
    assert!(text.contains("K-1") && text.contains("worker (agent)") && text.contains("never"), "{text}");
    // Output to a pipe is never cut.
    assert!(text.contains("the build machine") && text.contains(" by tester") && !text.contains('…'), "{text}");
    let mut narrow = sandbox.command(CORK);
    narrow.env("COLUMNS", "60").args(["token", "list"]);
    assert!(run(narrow, b"").stdout.contains('…'), "a terminal's width should be respected");

    assert_eq!(sandbox.ok(&["token", "revoke", "K-1", "K-2"]), "revoked K-1, K-2");
    assert_eq!(sandbox.items(&["token", "list"]), json!([]));
    assert_eq!(sandbox.fails(&["token", "revoke", "K-1"], 3, "K-1")["code"], "no_token");
}

#[test]
fn a_role_implies_a_kind_and_the_callers_role_is_not_inherited() {
    let sandbox = Sandbox::new();
    for (role, kind) in [("worker", "agent"), ("orchestrator", "agent"), ("human", "human"), ("admin", "human")] {
        let made = sandbox.cork(&["token", "create", "--principal", "x", "--role", role]);
        let warned =
            made.stderr.contains("has access to nothing; create another one with --agents, --boards or --cores");
        assert_eq!((made.code, warned), (0, role != "admin"), "{made:?}");
        let listed = sandbox.items(&["token", "list"]);
        let last = listed.as_array().unwrap().last().unwrap();
        assert_eq!((&last["role"], &last["kind"]), (&json!(role), &json!(kind)));
    }
    sandbox.fails(&["token", "create", "--role", "worker"], 2, "no name for the token's holder");
    let made = sandbox.cork(&["token", "create", "--for", "old", "--with-role", "reviewer"]);
    assert_eq!(made.code, 0, "{made:?}");
    let listed = sandbox.items(&["token", "list"]);
    let last = listed.as_array().unwrap().last().unwrap();
    assert_eq!((&last["principal"], &last["role"]), (&json!("old"), &json!("reviewer")), "older names of the flags");
    for wrong in ["", "soon", "30y", "-3d", "99999999999d"] {
        let expires = format!("--expires-at={wrong}");
        assert_eq!(sandbox.cork(&["token", "create", "--principal", "x", &expires]).code, 2, "{wrong}");
    }
    for flag in ["--agents", "--boards", "--cores"] {
        sandbox.fails(&["token", "create", "--principal", "x", flag, "a*b"], 2, "only allowed at the end of a name");
    }
    let past = ["token", "create", "--principal", "x", "--expires-at", "2001-01-01T00:00:00Z"];
    assert_eq!(sandbox.fails(&past, 2, "it must be in the future")["code"], "expiry");
}

#[test]
fn through_a_server_tokens_work_alike_and_revoked_ones_are_refused() {
    let served = Served::new();
    let cork = |secret: &str, arguments: &[&str]| served.cork(secret, arguments);
    let secret = &served.token_of_ada();
    assert_eq!(cork(secret, &["--agent", "ada", "memory", "set", "k", "v"]).code, 0);
    assert_eq!(cork(secret, &["memory", "get", "k"]).stdout, "v\n", "the token should open only ada's memory");
    let refused = cork(secret, &["--agent", "bob", "memory", "list"]);
    assert!(refused.code == 6 && !refused.stderr.contains("add --agent"), "{refused:?}");
    let both = cork(ADMIN, &["token", "create", "--principal", "ada", "--agents", "ada,bob"]);
    let refused = cork(both.stdout.trim_end(), &["memory", "get", "k"]);
    let said = "hint: your token has access to agents ada and bob; add --agent ada";
    assert!(refused.code == 6 && refused.stderr.contains(said), "{refused:?}");
    let refused = cork(secret, &["token", "list"]);
    assert!(
        refused.code == 6 && refused.stderr.contains("ada is a worker: only admins can create, list or revoke tokens"),
        "{refused:?}"
    );
    let refused = cork(secret, &["--agent", "ada", "--role", "admin", "memory", "set", "k", "w"]);
    let said = "ada's token is for a worker; it cannot be used as an admin";
    assert!(refused.code == 6 && refused.stderr.contains(said), "{refused:?}");
    let listed = cork(ADMIN, &["token", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let ada = listed["items"].as_array().unwrap().iter().find(|token| token["principal"] == "ada").unwrap();
    assert_eq!(ada["created_by"], "admin");
    assert_eq!(cork(ADMIN, &["token", "revoke", ada["id"].as_str().unwrap()]).code, 0);
    let refused = cork(secret, &["--agent", "ada", "memory", "get", "k"]);
    assert_eq!(refused.code, 6, "{refused:?}");
    assert!(!refused.stderr.contains(secret) && !served.sandbox.files_contain(secret), "{refused:?}");
}

#[test]
fn an_admin_gets_a_new_link_that_signs_in() {
    let served = Served::new();
    let made = served.cork(ADMIN, &["token", "link"]);
    let path = made.stdout.trim_end().strip_prefix(&served.server.url).unwrap_or_else(|| panic!("{made:?}"));
    assert_eq!(served.server.ask_as_is("GET", path, &[], "").status, 303);
    assert_eq!(served.server.ask_as_is("GET", path, &[], "").status, 401, "the link should work once");
    assert_eq!(served.cork(&served.token_of_ada(), &["token", "link"]).code, 6);
    assert_eq!(served.sandbox.fails(&["token", "link"], 2, "none is named")["code"], "url");
}

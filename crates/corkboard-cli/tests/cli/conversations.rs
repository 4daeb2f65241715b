//! Conversations through servers, and how a server's settings limit its clients.

use corkboard_testing::Harness;
use serde_json::json;

use crate::killable_server::{KillableServer, block_on};
use crate::support::Sandbox;

fn write(key: &str, value: &str) -> String {
    json!({ "action": "set", "key": key, "value": value }).to_string()
}

fn note(text: &str) -> String {
    json!({ "action": "note", "value": text }).to_string()
}

#[test]
fn a_conversation_through_a_server_belongs_to_the_server() {
    let sandbox = Sandbox::remote();
    let call = |tool: &str, input: &str| sandbox.ok(&["tools", "call", tool, input, "--conversation", "monday"]);
    sandbox.ok(&["memory", "set", "plan", "of the agent"]);
    call("memory_write", &write("name", "Ada"));
    call("memory_write", &note("prefers dark mode"));
    // Another process finds the conversation, and only there.
    let all = call("memory_read", "{}");
    assert!(all.contains("Ada") && all.contains("prefers dark mode"), "{all}");
    assert!(
        !call("memory_read", r#"{"key": "plan"}"#).contains("of the agent"),
        "a conversation should never fall back to the agent"
    );
    let window = sandbox.ok(&["context", "--conversation", "monday"]);
    assert!(window.contains("<conversation>") && window.contains("Ada"), "{window}");
    for others in
        [["--agent", "grace", "--conversation", "monday"], ["--agent", "default", "--conversation", "tuesday"]]
    {
        let read = sandbox.ok(&[&["tools", "call", "memory_read", "{}"], &others[..]].concat());
        assert_eq!(read, "The scratchpad is empty.", "{others:?}");
    }
    // The library's handles use the server's conversations, too.
    block_on(async {
        let served = sandbox.served.as_ref().unwrap();
        let corkboard = served.connect(&served.secret).await;
        let agent = corkboard.agent("default").unwrap();
        let listed = agent.conversations().await.unwrap();
        assert_eq!(
            listed.iter().map(|info| (info.id.as_str(), info.entries, info.notes)).collect::<Vec<_>>(),
            [("monday", 1, 1)]
        );
        let talk = agent.conversation("monday").unwrap();
        talk.append("name", " Lovelace").await.unwrap();
        talk.set("once", &1).if_version(0).idempotency_key("k").await.unwrap();
        talk.set("once", &1).if_version(0).idempotency_key("k").await.unwrap();
        talk.set("once", &2).if_version(0).await.unwrap_err();
        corkboard.close().await.unwrap();
    });
    assert_eq!(call("memory_read", r#"{"key": "name"}"#), "Ada Lovelace");
    call("memory_write", r#"{"action": "clear"}"#);
    assert_eq!(call("memory_read", "{}"), "The scratchpad is empty.");
    // Forgetting covers conversations, and they end with their agent.
    call("memory_write", &write("name", "Ada"));
    call("memory_write", &write("secret", "xyzzy"));
    sandbox.ok(&["memory", "forget", "secret", "--hard", "--yes"]);
    let left = call("memory_read", "{}");
    assert!(left.contains("Ada") && !left.contains("xyzzy"), "{left}");
    sandbox.ok(&["memory", "forget", "--everything", "--hard", "--yes"]);
    assert_eq!(call("memory_read", "{}"), "The scratchpad is empty.");
}

#[test]
fn servers_on_one_sqlite_file_share_conversations_if_that_is_set() {
    servers_share_conversations(&Harness::sqlite(""));
}

#[test]
fn servers_on_one_postgresql_share_conversations_if_that_is_set() {
    servers_share_conversations(&Harness::postgres(""));
}

#[test]
fn servers_on_one_redis_share_conversations_if_that_is_set() {
    servers_share_conversations(&Harness::redis(""));
}

fn servers_share_conversations(harness: &Harness) {
    for (setting, is_shared) in [("shared", true), ("process", false)] {
        let start = || KillableServer::start_with(&harness.url(), "127.0.0.1:0", &[("CORK_CONVERSATIONS", setting)]);
        let [mut first, second] = [start(), start()];
        block_on(async {
            let (here, there) = (first.connect(&first.secret).await, second.connect(&second.secret).await);
            let id = format!("c-{setting}");
            let [here, there] =
                [&here, &there].map(|corkboard| corkboard.agent("ada").unwrap().conversation(&id).unwrap());
            here.set("name", "Ada").await.unwrap();
            assert_eq!(there.get::<String>("name").await.unwrap().is_some(), is_shared, "{setting}");
            if is_shared {
                for number in 1..=5u32 {
                    there.append("log", "x").await.unwrap();
                    assert_eq!(here.get::<String>("log").await.unwrap().map(|log| log.len()), Some(number as usize));
                    here.add_note(&number.to_string()).await.unwrap();
                    assert_eq!(there.notes().await.unwrap().len(), number as usize);
                }
            }
            first.kill();
            assert_eq!(there.get::<String>("name").await.unwrap().is_some(), is_shared, "{setting}");
        });
    }
}

#[test]
fn a_servers_tier_binds_every_client() {
    let sandbox = Sandbox::remote_with(&[("CORK_TIER", "core")]);
    let long_term = [&["core", "add", "agent:default", "Ada likes tea"][..], &["core", "show", "agent:default"]];
    for command in long_term {
        assert_eq!(sandbox.fails(command, 6, "tier")["code"], "license_restriction");
    }
    let compact = ["context", "--strategy", "compact"];
    assert_eq!(sandbox.fails(&compact, 6, "tier")["code"], "license_restriction");
    // A client's setting cannot raise the tier.
    let claimed = [&["--setting", "tier=teams"], &compact[..]].concat();
    assert_eq!(sandbox.fails(&claimed, 6, "tier")["code"], "license_restriction");
    // Working memory is complete in every tier, and a client can ask for a lower tier than the server's.
    sandbox.ok(&["memory", "set", "plan", "draft"]);
    sandbox.ok(&["context"]);
    sandbox.ok(&["memory", "forget", "--everything", "--hard", "--yes"]);
    let all = Sandbox::remote();
    all.ok(&compact);
    let less = [&["--setting", "tier=core"], &compact[..]].concat();
    assert_eq!(all.fails(&less, 6, "tier")["code"], "license_restriction");
}

#[test]
fn working_memory_can_be_disabled() {
    let off = [("CORK_FEATURES_WORKING_MEMORY", "false")];
    let there = Sandbox::remote_with(&off);
    let here = Sandbox::local();
    let locally = ["--setting", "features.working_memory=false"];
    for (sandbox, settings) in [(&there, &[][..]), (&here, &locally[..])] {
        let fails = |arguments: &[&str]| {
            let arguments = [settings, arguments].concat();
            sandbox.fails(&arguments, 6, "working memory is disabled")
        };
        for command in [
            &["memory", "set", "plan", "draft"][..],
            &["memory", "get", "plan"],
            &["memory", "list"],
            &["memory", "note", "list"],
            &["memory", "search", "plan"],
            &["scope", "list"],
            &["notebook", "show"],
            &["handoff", "show"],
            &["context"],
            &["stats"],
            &["tools", "call", "write_memory", r#"{"key": "plan", "content": "ship"}"#],
        ] {
            assert_eq!(fails(command)["code"], "feature_disabled", "{command:?}");
        }
        let jot = write("a", "1");
        assert_eq!(fails(&["tools", "call", "memory_write", &jot, "--conversation", "c"])["code"], "feature_disabled");
    }
    // Boards and shared cores still work. A memory that cannot be read can still be deleted.
    there.ok(&["board", "create", "release"]);
    there.ok(&["core", "add", "house-rules", "Ship small"]);
    here.ok(&["memory", "set", "plan", "draft"]);
    let everything = ["memory", "forget", "--everything", "--hard", "--yes"];
    here.ok(&[&locally[..], &everything].concat());
    assert_eq!(here.fails(&["memory", "get", "plan"], 3, "plan")["kind"], "gone");
}

//! `write_memory` with `about: "user"`: what is written about the user in one project is found in all of them.

use corkboard::cores::Trust;
use corkboard::tokens::{Grant, Grants};
use corkboard::tools::{ToolContext, ToolOutput, ToolRegistry};
use corkboard::{Actor, ActorKind, ContextRequest, Corkboard, ForgottenEntries, Role};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::common::{Home, damage, in_time, on_every_store};

async fn try_call(corkboard: &Corkboard, agent: &str, tool: &str, input: Value) -> Result<ToolOutput, String> {
    let tools = ToolRegistry::new(corkboard);
    let context = ToolContext::agent(agent).in_conversation("c");
    tools.call(tool, input, &context).await.map_err(|error| error.to_string())
}

async fn call(corkboard: &Corkboard, agent: &str, tool: &str, input: Value) -> ToolOutput {
    try_call(corkboard, agent, tool, input).await.unwrap()
}

async fn told(corkboard: &Corkboard, agent: &str, tool: &str, input: Value) -> String {
    call(corkboard, agent, tool, input).await.text
}

fn fact(key: &str, content: &str) -> Value {
    json!({"key": key, "content": content, "about": "user"})
}

async fn window(corkboard: &Corkboard, agent: &str) -> String {
    let agent = corkboard.agent(agent).unwrap();
    let request = || ContextRequest::new().query("answers tea");
    let text = agent.context_window().compose(request()).await.unwrap().text;
    assert_eq!(agent.context_window().preview(request()).await.unwrap().text, text, "the same content, the same bytes");
    text
}

const ABOUT_USER: &str = "\n[about the user, in the memory core \"user\"]";

#[tokio::test]
async fn a_fact_about_the_user_is_known_in_every_project() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let [one, two] = ["one", "two"].map(|agent| {
            let corkboard = &corkboard;
            async move |tool: &'static str, input: Value| told(corkboard, agent, tool, input).await
        });
        let key = json!({"key": "preferences"});
        let stored = "Stored preferences about the user, for all projects.";
        assert_eq!(one("write_memory", fact("preferences", "Prefers short answers")).await, stored);
        assert_eq!(two("read_memory", key.clone()).await, format!("Prefers short answers{ABOUT_USER}"));
        let found = call(&corkboard, "two", "search_memory", json!({"query": "short answers"})).await;
        assert!(found.text.starts_with("1. preferences about the user (score "), "{}", found.text);
        assert_eq!(
            (&found.data["hits"][0]["key"], &found.data["hits"][0]["about"]),
            (&json!("preferences"), &json!("user"))
        );
        let line = "<cores>\n  - user E-1 by one: preferences: Prefers short answers\n</cores>\n";
        assert!(window(&corkboard, "two").await.ends_with(line), "and the query finds it no second time");

        // Replacing replaces, and appending adds a line.
        let replaced = "Replaced preferences about the user, for all projects.";
        assert_eq!(two("write_memory", fact("preferences", "Prefers tea")).await, replaced);
        let mut more = fact("preferences", "Lives in Bern");
        more["mode"] = json!("append");
        assert_eq!(one("write_memory", more).await, "Appended to preferences about the user, for all projects.");
        assert_eq!(two("read_memory", key.clone()).await, format!("Prefers tea\nLives in Bern{ABOUT_USER}"));
        let text = window(&corkboard, "one").await;
        assert_eq!(text.matches("Prefers").count(), 1, "{text}");
        assert!(text.contains("- user E-3 by one: preferences: Prefers tea\n    Lives in Bern\n"), "{text}");
        assert!(two("memory_read", key.clone()).await.ends_with("It is in permanent memory: use read_memory."));

        assert_eq!(two("delete_memory", key.clone()).await, "Deleted preferences about the user.");
        for answer in [one("read_memory", key.clone()).await, one("delete_memory", key.clone()).await] {
            assert_eq!(answer, "not found: preferences");
        }
        assert_eq!(one("search_memory", json!({"query": "Bern"})).await, "Nothing found.");
        assert!(!window(&corkboard, "one").await.contains("Prefers"));
        // Until somebody forgets it permanently, it can be restored.
        let core = corkboard.core("user").unwrap();
        let forgotten = core.entries().forgotten(ForgottenEntries::Only).await.unwrap().items;
        core.restore(forgotten[0].id).await.unwrap();
        assert_eq!(one("read_memory", key).await, format!("Prefers tea\nLives in Bern{ABOUT_USER}"));
    })
    .await;
}

/// The project's text under a key and the user's are two texts. Both can be read and deleted.
#[tokio::test]
async fn a_key_may_be_about_the_project_and_about_the_user() {
    let corkboard = Home::memory().open().await;
    let ada = async |tool: &'static str, input: Value| told(&corkboard, "ada", tool, input).await;
    ada("write_memory", json!({"key": "style", "content": "tabs", "about": "project"})).await;
    ada("write_memory", fact("style", "spaces")).await;
    let about = |about: &str| json!({"key": "style", "about": about});
    let also = "[another text is about the user: read_memory {\"about\":\"user\",\"key\":\"style\"}]";
    assert_eq!(ada("read_memory", json!({"key": "style"})).await, format!("tabs\n{also}"));
    assert_eq!(ada("read_memory", about("project")).await, "tabs");
    assert_eq!(ada("read_memory", about("user")).await, format!("spaces{ABOUT_USER}"));
    let found = ada("search_memory", json!({"query": "tabs spaces", "limit": 2})).await;
    assert!(found.contains("1. style (score") && found.contains("2. style about the user (score"), "{found}");
    assert_eq!(ada("search_memory", json!({"query": "tabs spaces", "limit": 1})).await.lines().count(), 1);
    let refused = try_call(&corkboard, "ada", "delete_memory", json!({"key": "style"})).await.unwrap_err();
    assert!(refused.contains("style is a key of the project and of the user; pass about"), "{refused}");
    assert_eq!(ada("delete_memory", about("user")).await, "Deleted style about the user.");
    assert_eq!(ada("read_memory", json!({"key": "style"})).await, "tabs");
    assert_eq!(ada("delete_memory", about("user")).await, "not found: style");
    assert_eq!(ada("delete_memory", json!({"key": "style"})).await, "Deleted style.");
}

/// Keys and texts that look alike, and long texts.
#[tokio::test]
async fn every_fact_is_read_as_it_was_written() {
    let corkboard = Home::memory().open().await;
    let ada = async |tool: &'static str, input: Value| try_call(&corkboard, "ada", tool, input).await;
    let long = "word ".repeat(6_000);
    let facts = [("a", "b: c"), ("a: b", "c"), ("a b", "x"), ("a b: c", ""), ("é/ü", " two  spaces "), ("long", &long)];
    for (key, content) in facts {
        ada("write_memory", fact(key, content)).await.unwrap();
    }
    for (key, content) in facts {
        let read = ada("read_memory", json!({"key": key})).await.unwrap();
        let next = read.data["next_offset"].as_u64();
        let mut value = read.data["value"].as_str().unwrap().to_owned();
        if let Some(offset) = next {
            assert!(read.text.contains(&format!("\"offset\":{offset}")) && read.text.contains("\"about\":\"user\""));
            let rest = ada("read_memory", json!({"key": key, "offset": offset, "about": "user"})).await.unwrap();
            value.push_str(rest.data["value"].as_str().unwrap());
        }
        assert_eq!(value, content, "{key}");
    }
    // The same words with other white space would be the same entry.
    let refused = ada("write_memory", fact("a  b", "x")).await.unwrap_err();
    assert_eq!(refused, "the core \"user\" has the same text, except for white space, as E-2");
    ada("delete_memory", json!({"key": "a b"})).await.unwrap();
    ada("write_memory", fact("a  b", "x")).await.unwrap();
    assert_eq!(ada("read_memory", json!({"key": "a  b"})).await.unwrap().data["value"], "x");
    assert!(ada("write_memory", fact("\n", "x")).await.unwrap_err().contains("key"));
    // What a person added without a key is found by its ID.
    corkboard.core("user").unwrap().add("Plays the cello").await.unwrap();
    let found = ada("search_memory", json!({"query": "cello"})).await.unwrap().text;
    assert!(found.contains("about the user (score") && found.contains("Plays the cello"), "{found}");
}

#[tokio::test]
async fn a_fact_from_outside_keeps_its_mark() {
    let corkboard = Home::memory().open().await;
    let mut outside = fact("address", "Lives in Bern");
    outside["outside"] = json!(true);
    call(&corkboard, "ada", "write_memory", outside.clone()).await;
    let read = async || told(&corkboard, "bob", "read_memory", json!({"key": "address"})).await;
    assert!(read().await.starts_with("[outside] Lives in Bern\nText marked [outside]"));
    assert!(window(&corkboard, "bob").await.contains("  - [outside] user E-1 by ada: address: Lives in Bern\n"));
    let found = told(&corkboard, "bob", "search_memory", json!({"query": "Bern"})).await;
    assert!(found.starts_with("1. [outside] address about the user"), "{found}");
    // An added line does not remove the mark, a new text does.
    let mut more = fact("address", "Has moved");
    more["mode"] = json!("append");
    call(&corkboard, "ada", "write_memory", more).await;
    assert!(read().await.starts_with("[outside] Lives in Bern\n[outside] Has moved\n"));
    call(&corkboard, "ada", "write_memory", fact("address", "Lives in Basel")).await;
    assert_eq!(read().await, format!("Lives in Basel{ABOUT_USER}"));
    outside["mode"] = json!("append");
    call(&corkboard, "ada", "write_memory", outside).await;
    assert!(read().await.starts_with("[outside] Lives in Basel\n[outside] Lives in Bern\n"));
    // A person's line gives an agent's text no more trust, and both are named.
    let person =
        ToolContext { actor: Some(Actor::new("ann", ActorKind::Human, Role::Human)), ..ToolContext::agent("ann") };
    call(&corkboard, "ada", "write_memory", fact("job", "Baker")).await;
    let line = json!({"key": "job", "content": "in Bern", "about": "user", "mode": "append"});
    ToolRegistry::new(&corkboard).call("write_memory", line, &person).await.unwrap();
    let entries = corkboard.core("user").unwrap().entries().tag("key:3").await.unwrap().items;
    let origin = &entries[0].provenance[0];
    assert_eq!((entries[0].trust(), &*origin.author, &*origin.edited_by[0]), (Trust::Agent, "ann", "ada"));
}

/// A token without access to the core gets a refusal with advice for a write, and reads everything else.
#[tokio::test]
async fn without_access_nothing_about_the_user_is_read_or_written() {
    let corkboard = Home::memory().open().await;
    call(&corkboard, "ada", "write_memory", fact("name", "Grace")).await;
    let grants = |name: &str| vec![Grant::new(name)];
    let limited = corkboard.limited_to(Grants { agents: grants("ada"), boards: grants("*"), cores: grants("rules") });
    let refused = try_call(&limited, "ada", "write_memory", fact("name", "Mallory")).await.unwrap_err();
    assert_eq!(
        refused,
        "the token of ada has no access to the core \"user\". Write it with \"about\": \"project\", or ask a person for \
         a token with access to the core \"user\""
    );
    for (tool, expected) in [("read_memory", "not found: name"), ("delete_memory", "not found: name")] {
        assert_eq!(told(&limited, "ada", tool, json!({"key": "name"})).await, expected);
        assert!(try_call(&limited, "ada", tool, json!({"key": "name", "about": "user"})).await.is_err());
    }
    assert_eq!(told(&limited, "ada", "search_memory", json!({"query": "Grace"})).await, "Nothing found.");
    assert_eq!(window(&limited, "ada").await, "");
    assert!(window(&corkboard, "ada").await.contains("name: Grace"));
    assert_eq!(corkboard.core("user").unwrap().rev().await.unwrap(), 1);

    // An observer's role is the reason, and the refusal says so.
    let observer = Actor::new("eve", ActorKind::Agent, Role::Observer);
    let context = ToolContext { actor: Some(observer), ..ToolContext::agent("ada") };
    let denied = ToolRegistry::new(&corkboard).call("write_memory", fact("x", "y"), &context).await.unwrap_err();
    assert!(denied.to_string().starts_with("eve is an observer and may not change anything"), "{denied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_lines_about_the_user_are_all_kept() {
    in_time(async {
        let home = Home::sqlite();
        let write = async |writer: usize| {
            let corkboard = home.open().await;
            for line in 0..8 {
                let mut input = fact("log", &format!("{writer}.{line}"));
                input["mode"] = json!("append");
                call(&corkboard, &format!("agent-{writer}"), "write_memory", input).await;
            }
        };
        join_all((0..8).map(write)).await;
        let read = call(&home.open().await, "ada", "read_memory", json!({"key": "log"})).await;
        let mut lines: Vec<&str> = read.data["value"].as_str().unwrap().lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 64);
    })
    .await;
}

/// A damaged core costs only what it contains.
#[tokio::test]
async fn a_damaged_core_about_the_user_is_left_out() {
    let home = Home::sqlite();
    in_time(async {
        let corkboard = home.open().await;
        call(&corkboard, "ada", "write_memory", fact("name", "Grace")).await;
        call(&corkboard, "ada", "write_memory", json!({"key": "plan", "content": "answers first"})).await;
        corkboard.close().await.unwrap();
        damage(&home, "core/user");
        let corkboard = home.open().await;
        assert!(window(&corkboard, "ada").await.contains("plan: answers first"));
        assert_eq!(
            told(&corkboard, "ada", "read_memory", json!({"key": "plan", "about": "project"})).await,
            "answers first"
        );
        assert!(told(&corkboard, "ada", "search_memory", json!({"query": "answers"})).await.starts_with("1. plan"));
    })
    .await;
}

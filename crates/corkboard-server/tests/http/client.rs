//! The library as a client of a server: unusual names, refusals, and mutated commands.

use corkboard::boards::{NewBoard, NewTask};
use corkboard::cores::CoreEntryId;
use corkboard::{Actor, ActorKind, Corkboard, EntryMetadata, Error, Options, Refusal, Role, ServerAddress};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{ADMIN, Running, answer};

async fn connect(server: &Running) -> Corkboard {
    Corkboard::connect(ServerAddress::new(&*server.url).token(ADMIN.to_owned()), Options::default()).await.unwrap()
}

/// Names that have a meaning in paths, queries or URLs.
const NAMES: [&str; 18] = [
    "plain",
    "team/ada",
    "/",
    "//x//",
    ".",
    "..",
    "../../etc/passwd",
    "a%2Fb",
    "%",
    "a b  c",
    "a?b=c&d#e",
    "a+b",
    "ключ 🗝",
    "e\u{301}",
    ";",
    "..;",
    "[a]{b}|c^d`e\"f<g>h\\i",
    "~'()*!$&,:=@",
];

#[tokio::test]
async fn every_valid_name_reaches_its_space() {
    let server = Running::start().await;
    let client = connect(&server).await;
    for name in NAMES {
        let memory = client.agent(name).unwrap().working();
        memory.set(name, name).await.unwrap();
        assert_eq!(memory.get::<String>(name).await.unwrap().as_deref(), Some(name));
        let here = server.corkboard.agent(name).unwrap().working();
        assert_eq!(here.get::<String>(name).await.unwrap().as_deref(), Some(name), "the same as the server's own");
        client.agent(name).unwrap().forget(name).await.unwrap();
        assert_eq!(here.get::<String>(name).await.unwrap(), None);

        let talk = client.agent(name).unwrap().conversation(name).unwrap();
        talk.set(name, name).await.unwrap();
        let kept = server.corkboard.agent(name).unwrap().conversation(name).unwrap();
        assert_eq!(kept.get::<String>(name).await.unwrap().as_deref(), Some(name), "the server keeps it");
        assert_eq!(client.agent(name).unwrap().conversations().await.unwrap().len(), 1);
        assert!(talk.delete().await.unwrap());
        assert_eq!(kept.get::<String>(name).await.unwrap(), None);

        let new = NewBoard { name: name.into(), ..NewBoard::default() };
        let board = client.create_board(new).id(name).await.unwrap();
        board.add_tasks(vec![NewTask::new(name)], vec![]).await.unwrap();
        let rev = server.corkboard.board(name).unwrap().view().await.unwrap().rev();
        assert_eq!(board.view().await.unwrap().rev(), rev);

        let core = client.core(name).unwrap();
        core.add(name).await.unwrap();
        let kept = server.corkboard.core(name).unwrap().get(CoreEntryId(1)).await.unwrap();
        assert_eq!(kept.as_deref().map(|entry| &*entry.content), Some(name));
    }
    let mut names: Vec<&str> = NAMES.to_vec();
    names.sort_unstable();
    let listed = client.agents(None, 100).await.unwrap();
    assert_eq!(listed.iter().map(|listed| listed.id.as_str()).collect::<Vec<_>>(), names);
    for name in NAMES {
        assert!(client.delete_agent(name).await.unwrap(), "{name}");
        assert!(client.delete_board(name).await.unwrap(), "{name}");
    }
    assert!(server.corkboard.agents(None, 100).await.unwrap().is_empty());
    client.close().await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_client_forks_a_board_that_the_server_reads() {
    let server = Running::start().await;
    let client = connect(&server).await;
    let new = NewBoard { name: "First".into(), ..NewBoard::default() };
    let board = client.create_board(new).id("first").await.unwrap();
    board.add_tasks(vec![NewTask::new("one")], vec![]).await.unwrap();
    let forked = board.fork().idempotency_key("k").await.unwrap();
    // The board changes, and a repeat still returns the requested fork.
    board.add_tasks(vec![NewTask::new("two")], vec![]).await.unwrap();
    assert_eq!(board.fork().idempotency_key("k").await.unwrap().id(), forked.id());
    let view = server.corkboard.board(forked.id().as_str()).unwrap().view().await.unwrap();
    assert_eq!((view.state().task_count(), view.rev(), &*view.info().unwrap().name), (1, 1, "First"));
    assert_eq!(view.info().unwrap().forked_from.as_ref().unwrap().rev, 2);
    let other = board.fork().name("Second").idempotency_key("k").await.unwrap_err();
    assert_eq!(other.code(), "idempotency_mismatch");
    let early = board.fork().at(1).id("early").name("Early").await.unwrap();
    let view = early.view().await.unwrap();
    assert_eq!((view.state().task_count(), &*view.info().unwrap().name), (0, "Early"));
    assert_eq!(board.fork().id("early").await.unwrap_err().code(), "board_exists");
    client.close().await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn a_client_gets_the_same_refusals_as_the_library() {
    let server = Running::start().await;
    let client = connect(&server).await;
    let ways = [&client, &server.corkboard].map(|corkboard| corkboard.agent("ada").unwrap().working());
    ways[0].set("a", "one").await.unwrap();
    for importance in [f32::NAN, f32::INFINITY, -1.0, 7.5] {
        let metadata = EntryMetadata { importance: Some(importance), ..EntryMetadata::default() };
        let mut told = Vec::new();
        for memory in &ways {
            told.push(memory.set("a", &1).metadata(metadata.clone()).await.unwrap_err());
        }
        assert!(matches!(told[0], Error::Refused(Refusal::Importance { .. })), "{told:?}");
        assert_eq!(told[0].to_string(), told[1].to_string());
    }
    for memory in &ways {
        match memory.set("a", &1).if_version(9).await.unwrap_err() {
            Error::Refused(Refusal::Conflict { expected: 9, current: Some(current), .. }) => {
                assert_eq!((current.value.as_json(), current.version), ("\"one\"", 1));
            }
            other => panic!("{other:?}"),
        }
        let gone = memory.append("nothing", "x").if_version(3).await.unwrap_err();
        assert!(matches!(gone, Error::Refused(Refusal::Conflict { current: None, .. })), "{gone:?}");
    }
    let boards = [&client, &server.corkboard].map(|corkboard| corkboard.board("nowhere").unwrap());
    for board in &boards {
        let refused = board.add_tasks(vec![NewTask::new("x")], vec![]).await.unwrap_err();
        assert!(matches!(refused, Error::Refused(Refusal::NoBoard)), "{refused:?}");
    }
    let stranger = ServerAddress::new(&*server.url).token("nobody".to_owned());
    let refused = Corkboard::connect(stranger, Options::default()).await.unwrap_err();
    assert_eq!((refused.code(), refused.kind()), ("unauthenticated", corkboard::ErrorKind::Denied));
    server.stop().await;
}

/// A header cannot carry every character of a name. A client that acts for another must then not act as itself.
#[tokio::test]
async fn a_client_acts_under_valid_names_and_refuses_others() {
    let server = Running::start().await;
    let client = connect(&server).await;
    let memory = server.corkboard.agent("ada").unwrap().working();
    let set_by = async |corkboard: &Corkboard, name: &str| {
        let named = corkboard.acting_as(Actor::new(name, ActorKind::Agent, Role::Worker));
        named.agent("ada").unwrap().working().set("k", name).await
    };
    for name in NAMES {
        set_by(&client, name).await.unwrap();
        assert_eq!(&*memory.get_entry("k").await.unwrap().unwrap().data.author, name);
    }
    let before = memory.get_entry("k").await.unwrap().unwrap().version;
    for name in ["a\u{7f}b", "\u{7f}", "a\tb\n", "\u{0}", "a\u{85}"] {
        for corkboard in [&client, &server.corkboard] {
            let refused = set_by(corkboard, name).await.unwrap_err();
            assert!(matches!(refused, Error::Refused(Refusal::ControlCharacter { .. })), "{name:?}: {refused:?}");
        }
    }
    assert_eq!(
        memory.get_entry("k").await.unwrap().unwrap().version,
        before,
        "the client did not write as itself instead"
    );
    client.close().await.unwrap();
    server.stop().await;
}

/// A mutation of a command.
#[derive(Debug, Clone)]
enum Bend {
    Replace(Value),
    Remove,
    Add(String, Value),
}

fn bends() -> impl Strategy<Value = Vec<(Index, Bend)>> {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let value = prop_oneof![
        prop::sample::select(vec![
            json!(null),
            json!(true),
            json!(-1),
            json!(0),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1e308),
            json!(0.5),
            json!(""),
            json!(" "),
            json!("\u{0}"),
            json!("a\nb"),
            json!("NaN"),
            json!("x".repeat(5_000)),
            json!("T-0"),
            json!("T-18446744073709551615"),
            json!("9999-12-31T23:59:59Z"),
            json!("-009999-01-01T00:00:00Z"),
            json!([]),
            json!({}),
            json!([1, "2", null]),
            json!({"tick": null}),
            json!("tick"),
            deep,
        ]),
        any::<String>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
    ];
    let bend = prop_oneof![
        5 => value.clone().prop_map(Bend::Replace),
        1 => Just(Bend::Remove),
        1 => (any::<String>(), value).prop_map(|(name, value)| Bend::Add(name, value)),
    ];
    prop::collection::vec((any::<Index>(), bend), 1..4)
}

/// The positions in a document, outermost last.
fn places(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            places(value, format!("{path}/{name}"), found);
        }),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(index, value)| places(value, format!("{path}/{index}"), found));
        }
        _ => {}
    }
    found.push(path);
}

fn bent(mut document: Value, bends: &[(Index, Bend)]) -> Value {
    for (index, bend) in bends {
        let mut found = Vec::new();
        places(&document, String::new(), &mut found);
        let path = index.get(&found).clone();
        match bend {
            Bend::Replace(value) => *document.pointer_mut(&path).unwrap() = value.clone(),
            Bend::Add(name, value) => {
                if let Some(Value::Object(fields)) = document.pointer_mut(&path) {
                    fields.insert(name.clone(), value.clone());
                }
            }
            Bend::Remove => {
                if let Some((parent, name)) = path.rsplit_once('/')
                    && let Some(Value::Object(fields)) = document.pointer_mut(parent)
                {
                    fields.remove(name);
                }
            }
        }
    }
    document
}

/// Commands of nearly every kind, with their spaces.
fn commands() -> Vec<(&'static str, Value)> {
    let root = "00000000-0000-0000-0000-000000000000";
    let agent = [
        json!({"set": {"scope": root, "key": "k", "value": {"a": [1]}, "type_name": "t", "metadata": {"importance": 0.5, "tags": ["t"], "expiry_days": 3, "custom": {"a": 1}}, "if_version": null}}),
        json!({"append": {"scope": root, "key": "log", "text": "x", "separator": "none", "if_version": 0}}),
        json!({"remove": {"scope": root, "key": "k", "if_version": 1}}),
        json!({"batch": {"scope": root, "changes": [{"set": {"key": "k", "value": 1, "type_name": "t", "metadata": {}, "if_version": null}}, {"move": {"from": "k", "to": "l"}}]}}),
        json!({"add_note": {"scope": root, "text": "note"}}),
        json!({"remove_note": {"scope": root, "id": 1}}),
        json!({"create_scope": {"name": "task", "parent": root, "parent_kept": "here"}}),
        json!({"merge_scope": {"scope": root, "overwrite": true}}),
        json!({"dispose_scope": {"scope": root}}),
        json!({"clear_notebook": {"notebook": "main"}}),
        json!({"forget": {"forget": {"entry": {"key": "k", "ids": []}}}}),
        json!("clear_all"),
        json!("tick"),
    ];
    let board = [
        json!({"create": {"name": "b", "goal": "g", "constraints": ["c"], "cores": ["m"], "on_failure": "continue", "drawn": ["m:E-1"]}}),
        json!({"add_tasks": {"tasks": [{"key": "a", "title": "A", "depends_on": ["T-1"], "priority": 3, "retry_limit": 2, "estimate_minutes": 5}], "choices": [{"question": "q", "options": [{"name": "x", "tasks": ["a"]}]}]}}),
        json!({"add_dependency": {"task": "T-1", "depends_on": "T-2"}}),
        json!({"edit_task": {"task": "T-1", "edit": {"title": "t", "priority": -1}, "if_version": 1}}),
        json!({"assign": {"task": "T-1", "agent": "ada"}}),
        json!({"assign_review": {"task": "T-1", "agent": "ada"}}),
        json!({"claim": {"task": null, "lease_s": 60}}),
        json!({"heartbeat": {"task": "T-1", "epoch": 1}}),
        json!({"set_status": {"task": "T-1", "status": "blocked", "reason": "r", "epoch": 1, "lease_s": 60}}),
        json!({"complete_task": {"task": "T-1", "result": {"summary": "s", "next_steps": ["n"]}, "epoch": null}}),
        json!({"fail_task": {"task": "T-1", "reason": "r", "epoch": null}}),
        json!({"record_decision": {"question": "q", "choice": "c", "alternatives": ["a"], "affects_tasks": ["T-1"], "needs_approval": true}}),
        json!({"record_discovery": {"content": "c", "type": "insight", "affects_tasks": [], "promote_to_core": "m"}}),
        json!({"record_artifact": {"type": "code", "path": "p", "size": 3, "checksum": "00", "content": "abc"}}),
        json!({"send_nudge": {"to": {"agent": "ada"}, "message": "m", "priority": "urgent", "expires_at": "2100-01-01T00:00:00Z"}}),
        json!({"acknowledge_nudges": {"nudges": ["N-1"]}}),
        json!({"as_orchestrator": {"epoch": 1, "command": {"under_claim": {"task": "T-1", "epoch": 1, "command": "tick"}}}}),
        json!({"promote_learning": {"learning": "D-1", "core": "m", "changes": {"importance": 0.5, "tags": ["t"]}}}),
        json!({"roll_back_learnings": {"which": {"these": ["D-1"]}, "reason": null}}),
        json!({"acquire_orchestrator": {"lease_s": 60}}),
        json!({"archive": {"retain": {"said": {"ms": 1}}}}),
        json!("extract_learnings"),
    ];
    let core = [
        json!({"add": {"entries": [{"content": "c", "kind": "fact", "importance": 0.5, "tags": ["t"], "author": "a", "contributors": ["b"], "board": "b", "item": "D-1", "board_rev": 3, "expires_at": "2100-01-01T00:00:00Z"}]}}),
        json!({"edit": {"entry": "E-1", "edit": {"content": "d", "importance": 0.1, "expiry": "never"}, "if_version": null}}),
        json!({"forget": {"entry": "E-1", "reason": "r", "if_version": null}}),
        json!({"restore": {"entry": "E-1", "if_version": 1}}),
        json!({"withdraw": {"of": {"author": {"name": "a"}}}}),
        json!({"replace": {"image": {"entries": [], "last": "E-3"}}}),
    ];
    let tokens = [
        json!({"create": {"hash": "00", "principal": "p", "kind": "agent", "role": "worker", "grants": {"agents": ["a"], "boards": ["b*"], "cores": []}, "label": "l", "expires_at": null}}),
        json!({"revoke": {"token": "K-1"}}),
    ];
    let of =
        |kind: &'static str, commands: &[Value]| commands.iter().map(|one| (kind, one.clone())).collect::<Vec<_>>();
    [of("agent/a", &agent), of("board/b", &board), of("core/c", &core), of("tokens/all", &tokens)].concat()
}

/// Every mutated command is either accepted or refused with a code, and a refused one writes nothing.
#[test]
fn mutated_commands_are_refused_with_a_code_and_write_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(Running::start());
    let admin = server.admin();
    for (space, command) in commands() {
        let request = json!({ "command": command });
        let answer = runtime.block_on(admin.post(&format!("/v1/spaces/{space}/commands"), &request));
        assert_ne!(answer.body["code"], "command", "the original is not a valid command: {request} {}", answer.body);
    }
    let refused = std::cell::Cell::new(0);
    let config = Config { cases: 600, failure_persistence: None, ..Config::default() };
    let cases =
        (prop::sample::select(commands()), bends(), prop::option::of(any::<u64>()), prop::option::of(any::<String>()));
    let run = TestRunner::new(config).run(&cases, |((space, command), bends, if_rev, key)| {
        let document = bent(json!({"command": command, "if_rev": if_rev, "idempotency_key": key}), &bends);
        runtime.block_on(async {
            let head = admin.get(&format!("/v1/spaces/{space}/head")).await.ok()["head"].clone();
            let answer = admin.post(&format!("/v1/spaces/{space}/commands"), &document).await;
            prop_assert!(answer.status.as_u16() < 500, "{} {} {document}", answer.status, answer.body);
            if !answer.status.is_success() {
                prop_assert!(answer.body["code"].is_string(), "{} {document}", answer.body);
                let after = admin.get(&format!("/v1/spaces/{space}/head")).await.ok()["head"].clone();
                prop_assert_eq!(after, head, "a refused command changes nothing: {}", document);
                refused.set(refused.get() + 1);
            }
            Ok(())
        })
    });
    run.unwrap();
    assert!(refused.get() > 100, "too few mutated commands were refused: {}", refused.get());
    runtime.block_on(async {
        // Clients that copy the space can read all accepted commands.
        let client = connect(&server).await;
        client.agent("a").unwrap().working().get::<Value>("k").await.unwrap();
        let _there_or_not = client.board("b").unwrap().view().await;
        client.core("c").unwrap().get(CoreEntryId(1)).await.unwrap();
        server.stop().await;
    });
}

/// Each command is valid except for one name.
#[tokio::test]
async fn names_in_commands_are_validated() {
    let server = Running::start().await;
    let admin = server.admin();
    let create = json!({"command": {"create": {"name": "b", "goal": "g"}}});
    admin.post("/v1/spaces/board/b/commands", &create).await.ok();
    let add = json!({"command": {"add_tasks": {"tasks": [{"title": "t"}], "choices": []}}});
    admin.post("/v1/spaces/board/b/commands", &add).await.ok();
    let root = "00000000-0000-0000-0000-000000000000";
    let long = "n".repeat(5_000);
    for (name, status, code) in
        [("", 400, "blank"), (" ", 400, "blank"), ("a\u{0}", 400, "control_character"), (long.as_str(), 422, "limit")]
    {
        let set = json!({"set": {"scope": root, "key": name, "value": 1, "type_name": "t", "metadata": {}, "if_version": null}});
        let scope = json!({"create_scope": {"name": name, "parent": root, "parent_kept": "here"}});
        let nudge = json!({"send_nudge": {"to": {"agent": name}, "message": "m"}});
        let assign = json!({"assign": {"task": "T-1", "agent": name}});
        let nested = json!({"as_orchestrator": {"epoch": 1, "command": assign}});
        let learned = json!({"add": {"entries": [{"content": "c", "board": name}]}});
        for (space, command) in [
            ("agent/a", set),
            ("agent/a", scope),
            ("board/b", nudge),
            ("board/b", assign),
            ("board/b", nested),
            ("core/c", learned),
        ] {
            let request = json!({"command": command});
            let path = format!("/v1/spaces/{space}/commands");
            let sent = admin.request(reqwest::Method::POST, &path).header("content-type", "application/json");
            let answer = answer(sent.body(request.to_string())).await;
            assert_eq!(answer.status.as_u16(), status, "{request} {}", answer.body);
            answer.problem(status, code);
        }
    }
    server.stop().await;
}

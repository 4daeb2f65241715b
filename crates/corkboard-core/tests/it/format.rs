//! The stored format: fixtures of every format version, which must stay readable.
//!
//! `fixtures/agent-v<n>.events.jsonl` is a log in format `n`, one commit per line. `agent-v<n>.snapshot.json` is the
//! state after it. When you raise [`FORMAT_VERSION`], extend [`history`] with the new parts and write the next pair:
//!
//! ```text
//! CORK_WRITE_FIXTURES=1 cargo test -p corkboard-core --test it format
//! ```
//!
//! That writes the missing files of the current version. Existing files are never overwritten: a difference from them
//! changes the format and needs a new version.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentImage, AgentReply, AgentState, EntryImage, ScopeImage};
use corkboard_core::knowledge::Trust;
use corkboard_core::notebook::{
    Archival, NewLearning, NewSnippet, Notebook, NotebookContent, NotebookItemId, NotebookLearningId, NotebookUpdate,
    Progress, SnippetId,
};
use corkboard_core::{
    Actor, ActorKind, Content, EntryData, EntryId, EntryMetadata, FORMAT_VERSION, FormatError, IdempotencyKey, Limits,
    MemoryKind, Note, NoteId, Revisioned, Role, ScopeId, Space,
};
use serde_json::Value;
use uuid::Uuid;

use crate::support::{
    AgentCommit, Memory, at, check_fields, commit_id, json, key, notebook_name, replay, scope_name, set, set_with,
};

const ROOT: ScopeId = ScopeId::ROOT;
const TASK: ScopeId = ScopeId(Uuid::from_u128(0x7a51));
const INNER: ScopeId = ScopeId(Uuid::from_u128(0x1221));

#[test]
fn the_log_of_every_version_folds_to_its_snapshot() {
    for version in 1..=FORMAT_VERSION {
        let fixture = Fixture::read(version);
        let snapshot = Revisioned::<AgentState>::decode(&fixture.snapshot).unwrap();
        let mut folded = replay(Revisioned::default(), &fixture.log, &Limits::default());
        if version < 2 {
            // Its snapshots did not contain the activity.
            folded.state = AgentImage { activity: None, ..AgentImage::from(folded.state) }.into();
        }
        assert_eq!(folded, snapshot, "format {version}");
    }
}

#[test]
fn the_current_version_is_still_written_byte_for_byte() {
    let fixture = Fixture::read(FORMAT_VERSION);
    for line in &fixture.log {
        let commit = AgentCommit::decode(line).unwrap();
        let again = commit.encode().unwrap();
        assert_eq!(text(&AgentState::encode(&commit).unwrap()), text(&again));
        assert_eq!(text(&again), text(line), "the format has changed: see the top of this file");
    }
    let snapshot = Revisioned::<AgentState>::decode(&fixture.snapshot).unwrap();
    assert_eq!(text(&snapshot.encode().unwrap()), text(&fixture.snapshot));
}

#[test]
fn the_fixture_is_the_history_in_this_file() {
    let Fixture { log, snapshot } = Fixture::of_today();
    let stored = Fixture::read(FORMAT_VERSION);
    for (line, stored) in log.iter().zip(&stored.log) {
        assert_eq!(text(line), text(stored));
    }
    assert_eq!(log.len(), stored.log.len());
    assert_eq!(text(&snapshot), text(&stored.snapshot));
}

#[test]
fn the_fixture_contains_every_event_actor_and_reply() {
    let log = Fixture::read(FORMAT_VERSION).log;
    let commits: Vec<_> = log.iter().map(|line| AgentCommit::decode(line).unwrap()).collect();
    let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<BTreeSet<_>>();

    let events = commits.iter().flat_map(|commit| &commit.events);
    assert_eq!(names(&mut events.clone().map(event_name)).len(), 15);
    let kinds = events.filter_map(|event| match event {
        AgentEvent::EntrySet { entry, .. } => Some(kind_name(entry.kind)),
        _ => None,
    });
    assert_eq!(names(&mut { kinds }).len(), 6);
    assert_eq!(names(&mut commits.iter().map(|commit| actor_kind_name(commit.actor.kind))).len(), 3);
    assert_eq!(names(&mut commits.iter().map(|commit| role_name(commit.actor.role))).len(), 6);
    let replies = commits.iter().filter_map(|commit| commit.answered.as_ref()).map(|(_, reply)| reply_name(reply));
    assert_eq!(names(&mut { replies }).len(), 8);
    assert!(commits.iter().any(|commit| commit.events.is_empty()));
}

#[test]
fn the_fixture_contains_every_optional_field_present_and_absent() {
    let log = Fixture::read(FORMAT_VERSION).log;
    let commits: Vec<Value> = log.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let events = |name: &'static str| {
        let events = commits.iter().flat_map(|commit| commit["events"].as_array().unwrap());
        events.filter_map(move |event| event.get(name)).cloned().collect::<Vec<_>>()
    };
    check_fields(&commits, "answered");
    check_fields(&events("entry_set"), "scope is_update");
    for event in ["entry_appended", "entry_removed", "entry_expired", "cleared", "note_added", "note_removed"] {
        check_fields(&events(event), "scope");
    }
    check_fields(&events("scope_created"), "parent");
    let updates: Vec<_> = events("notebook_updated").into_iter().map(|event| event["update"].clone()).collect();
    check_fields(&updates, "progress learnings archived_learnings snippets archived_snippets");
    let entries: Vec<_> = events("entry_set").into_iter().map(|event| event["entry"].clone()).collect();
    check_fields(&entries, "kind importance tags custom expires_at session");
}

#[test]
fn a_note_may_omit_its_trust() {
    let plain = r#"{"id":1,"text":"first","author":"ann","at":"2026-01-01T00:05:00Z"}"#;
    let outside = r#"{"id":1,"text":"first","author":"ann","at":"2026-01-01T00:05:00Z","trust":"outside"}"#;
    for (json, trust, is) in [(plain, None, Trust::Agent), (outside, Some(Trust::Outside), Trust::Outside)] {
        let note: Note = serde_json::from_str(json).unwrap();
        assert_eq!((&note, note.trust()), (&Note { trust, ..a_note(1, "first") }, is));
        assert_eq!(serde_json::from_str::<Note>(&serde_json::to_string(&note).unwrap()).unwrap(), note);
    }
}

#[test]
fn a_newer_version_is_reported_even_if_other_fields_are_unknown() {
    let commits = [
        r#"{"v":99,"at":"2026-01-01T00:00:00Z","actor":{"principal":"a","kind":"agent","role":"admin"},"events":[]}"#,
        r#"{"v":99,"at":"2026-01-01T00:00:00Z","actor":{"principal":"a","kind":"agent","role":"admin"},"events":[{"entry_dreamt":{}}]}"#,
        r#"{"v":99,"when":7,"facts":{}}"#,
        r#"{"facts":[{"v":1}],"v":99}"#,
    ];
    for line in commits {
        assert_eq!(AgentCommit::decode(line.as_bytes()), Err(FormatError::Newer { found: 99 }));
    }
    let snapshots = [
        text(&Revisioned::<AgentState>::default().encode().unwrap()).replace(&version_field(), "\"v\":99,"),
        r#"{"v":99,"universe":{}}"#.into(),
    ];
    for snapshot in snapshots {
        let decoded = Revisioned::<AgentState>::decode(snapshot.as_bytes());
        assert_eq!(decoded, Err(FormatError::Newer { found: 99 }));
    }
    let message = format!("written in format 99; this version of Corkboard reads formats up to {FORMAT_VERSION}");
    assert_eq!(FormatError::Newer { found: 99 }.to_string(), message);
}

#[test]
fn garbage_is_malformed() {
    let whole = Fixture::read(FORMAT_VERSION);
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 1].to_vec();
    let twice = |bytes: &[u8]| [bytes, bytes].concat();
    let no_version = |bytes: &[u8]| text(bytes).replacen(&version_field(), "", 1).into_bytes();
    let unknown_event =
        br#"{"v":1,"at":"2026-01-01T00:00:00Z","actor":{"principal":"a","kind":"agent","role":"admin"},"events":[{"entry_dreamt":{}}]}"#;
    let garbage = [b"".to_vec(), b"null".to_vec(), b"{}".to_vec(), b"\xff\xfe".to_vec(), unknown_event.to_vec()];
    let logs = whole.log.iter().flat_map(|line| [cut(line), twice(line), no_version(line)]);
    for line in garbage.iter().cloned().chain(logs) {
        let decoded = AgentCommit::decode(&line);
        assert!(matches!(decoded, Err(FormatError::Malformed(_))), "{}: {decoded:?}", text(&line));
    }
    let snapshots = [cut(&whole.snapshot), twice(&whole.snapshot), no_version(&whole.snapshot)];
    for snapshot in garbage.iter().cloned().chain(snapshots) {
        let decoded = Revisioned::<AgentState>::decode(&snapshot);
        assert!(matches!(decoded, Err(FormatError::Malformed(_))), "{}: {decoded:?}", text(&snapshot));
    }
}

#[test]
fn an_event_that_does_not_fit_is_a_misfit() {
    let nowhere = ScopeId(Uuid::max());
    let in_scope = |scope| {
        [
            AgentEvent::EntrySet { scope, key: key("a"), is_update: false, entry: Box::new(plain("1")) },
            AgentEvent::EntryAppended { scope, key: key("text"), text: "x".into() },
            AgentEvent::EntryRemoved { scope, key: key("text") },
            AgentEvent::EntryExpired { scope, key: key("text") },
            AgentEvent::Cleared { scope, entries: 0 },
            AgentEvent::NoteAdded { scope, note: a_note(9, "x") },
            AgentEvent::NoteRemoved { scope, id: NoteId(1) },
            AgentEvent::ScopeMerged { scope, notes: NoteId(1) },
            AgentEvent::ScopeDisposed { scope, name: scope_name("s"), entries: 0 },
        ]
    };
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "text", "\"x\""));
    memory.tell(set(ROOT, "number", "1"));
    memory.tell(crate::support::note(ROOT, "first"));
    memory.tell(crate::support::update_notebook("main", "KEY_LEARNINGS:\n  ADD:\n    - because it is so: it is\n"));
    let apply = |event: AgentEvent| {
        let commit = AgentCommit::new(at(2_000), Actor::local(), None, vec![event]);
        memory.live.clone().apply(&commit, commit_id(5), &memory.limits)
    };
    for event in in_scope(ROOT) {
        assert_eq!(apply(event), Ok(()));
    }
    let misfits = [
        AgentEvent::EntryAppended { scope: ROOT, key: key("a"), text: "x".into() },
        AgentEvent::EntryAppended { scope: ROOT, key: key("number"), text: "x".into() },
        AgentEvent::EntryRemoved { scope: ROOT, key: key("a") },
        AgentEvent::EntryExpired { scope: ROOT, key: key("a") },
        AgentEvent::NoteRemoved { scope: ROOT, id: NoteId(2) },
        AgentEvent::NoteAdded { scope: ROOT, note: a_note(1, "the number is taken") },
        AgentEvent::ScopeCreated { id: ROOT, name: scope_name("root"), parent: ROOT },
        AgentEvent::NotebookCleared { notebook: notebook_name("never") },
        AgentEvent::NotebookItemRemoved {
            notebook: notebook_name("main"),
            id: NotebookItemId::Learning(NotebookLearningId(2)),
        },
        AgentEvent::NotebookUpdated {
            notebook: notebook_name("main"),
            update: Box::new(NotebookUpdate {
                archived_learnings: vec![Archival { id: NotebookLearningId(2), reason: "old".into() }],
                ..NotebookUpdate::default()
            }),
        },
        AgentEvent::NotebookUpdated {
            notebook: notebook_name("main"),
            update: Box::new(NotebookUpdate {
                learnings: vec![(NotebookLearningId(1), NewLearning { text: "again".into(), reason: "given".into() })],
                ..NotebookUpdate::default()
            }),
        },
    ];
    for event in in_scope(nowhere).into_iter().chain(misfits) {
        let applied = apply(event.clone());
        assert!(matches!(applied, Err(FormatError::Misfit(_))), "{event:?}: {applied:?}");
    }
}

#[test]
fn a_commit_is_one_line_for_any_layout_of_its_values() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "{\r\n  \"text\": \"two\\nlines\",\n  \"list\": [\n 1,\n 2 ]\n}\n"));
    let laid_out = "{ \"id\": \"00000000-0000-0000-0000-000000000001\", \"value\": [\n1],
        \"type_name\": \"t\", \"at\": \"2026-01-01T00:00:00Z\", \"author\": \"cy\" }";
    let data: EntryData = serde_json::from_str(laid_out).unwrap();
    let absorb =
        AgentCommand::Absorb { scope: ROOT, entries: vec![(key("b"), data)], notes: Vec::new(), overwrite: true };
    memory.tell(absorb);
    for line in memory.log.iter().chain([&memory.live.encode().unwrap().into()]) {
        assert!(!line.contains(&b'\n') && !line.contains(&b'\r'), "{}", text(line));
    }
    let value: Value = memory.entry(ROOT, "a").unwrap().value.parse().unwrap();
    assert_eq!(value, serde_json::json!({ "text": "two\nlines", "list": [1, 2] }));
    assert_eq!(memory.value(ROOT, "b"), Some("[1]"));
    assert_eq!(replay(Revisioned::default(), &memory.log, &memory.limits), memory.live);

    let invalid = ["\"a raw\nline break\"", "1\n2"];
    assert!(invalid.iter().all(|json| Content::from_json(json).is_err()));
}

#[test]
fn numbers_keep_every_bit() {
    let custom = serde_json::json!({ "x": 2.5244397703279775e-196, "y": 0.1, "z": u64::MAX });
    let custom = custom.as_object().cloned();
    let value = "[2.5244397703279775e-196,123456789012345678901234567890.0]";
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", value, EntryMetadata { importance: Some(0.1), custom, ..Default::default() }));
    let replayed = replay(Revisioned::default(), &memory.log, &memory.limits);
    assert_eq!(replayed, memory.live);
    assert_eq!(Revisioned::decode(&replayed.encode().unwrap()), Ok(replayed));
}

struct Fixture {
    log: Vec<Vec<u8>>,
    snapshot: Vec<u8>,
}

impl Fixture {
    fn read(version: u32) -> Self {
        static WRITTEN: LazyLock<()> = LazyLock::new(|| {
            if std::env::var_os("CORK_WRITE_FIXTURES").is_some() {
                Fixture::of_today().write_if_missing(paths("agent", FORMAT_VERSION));
            }
        });
        LazyLock::force(&WRITTEN);
        Self::stored(paths("agent", version))
    }

    fn stored(paths: [PathBuf; 2]) -> Self {
        let [log, snapshot] = paths.map(|path| {
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; see the top of this file", path.display()))
        });
        let log = log.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        Self { log, snapshot: snapshot.strip_suffix(b"\n").unwrap().to_vec() }
    }

    /// The fixture that the current code makes of [`history`].
    fn of_today() -> Self {
        Self::of(&history())
    }

    fn of(commits: &[AgentCommit]) -> Self {
        let log: Vec<_> = commits.iter().map(|commit| commit.encode().unwrap()).collect();
        let snapshot = replay(Revisioned::default(), &log, &Limits::default()).encode().unwrap();
        Self { log, snapshot }
    }

    fn write_if_missing(&self, paths: [PathBuf; 2]) {
        let log = self.log.join(&b'\n');
        for (path, content) in paths.iter().zip([&log, &self.snapshot]) {
            match File::create_new(path) {
                Ok(mut file) => file.write_all(&[content, &b"\n"[..]].concat()).unwrap(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{}: {error}", path.display()),
            }
        }
    }
}

fn paths(name: &str, version: u32) -> [PathBuf; 2] {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    ["events.jsonl", "snapshot.json"].map(|what| folder.join(format!("{name}-v{version}.{what}")))
}

/// The log of a conversation: it starts and is renewed.
fn conversation() -> Vec<AgentCommit> {
    let renewed = |until| AgentEvent::ConversationRenewed { scope: TASK, until: at(until) };
    let begun = vec![
        AgentEvent::ScopeCreated { id: TASK, name: scope_name("c-1"), parent: ROOT },
        AgentEvent::EntrySet { scope: TASK, key: key("name"), is_update: false, entry: Box::new(plain("\"Ada\"")) },
        renewed(1_767_312_000),
    ];
    let actor = Actor::new("ann", ActorKind::Agent, Role::Worker);
    vec![
        AgentCommit::new(at(1_767_225_600), actor, None, begun),
        AgentCommit::new(at(1_767_229_200), Actor::system(), None, vec![renewed(1_767_315_600)]),
    ]
}

#[test]
fn the_log_of_a_conversation_is_still_written_byte_for_byte() {
    let today = Fixture::of(&conversation());
    if std::env::var_os("CORK_WRITE_FIXTURES").is_some() {
        today.write_if_missing(paths("conversation", FORMAT_VERSION));
    }
    let stored = Fixture::stored(paths("conversation", FORMAT_VERSION));
    assert_eq!(today.log.iter().map(|line| text(line)).collect::<Vec<_>>(), {
        stored.log.iter().map(|line| text(line)).collect::<Vec<_>>()
    });
    assert_eq!(text(&today.snapshot), text(&stored.snapshot));
    // Conversations exist since format 2.
    for version in 2..=FORMAT_VERSION {
        let stored = Fixture::stored(paths("conversation", version));
        let folded = replay(Revisioned::default(), &stored.log, &Limits::default());
        assert_eq!(Revisioned::decode(&stored.snapshot), Ok(folded), "format {version}");
    }
}

fn version_field() -> String {
    format!("\"v\":{FORMAT_VERSION},")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A history in which everything happens that a memory can store.
fn history() -> Vec<AgentCommit> {
    let note = |scope, id, text| AgentEvent::NoteAdded { scope, note: a_note(id, text) };
    let set = |scope, name, is_update, entry| AgentEvent::EntrySet {
        scope,
        key: key(name),
        is_update,
        entry: Box::new(entry),
    };
    let appended = |scope, name, text: &str| AgentEvent::EntryAppended { scope, key: key(name), text: text.into() };
    let kinds = [
        MemoryKind::Fact,
        MemoryKind::Event,
        MemoryKind::Insight,
        MemoryKind::Preference,
        MemoryKind::Correction,
        MemoryKind::Conversation,
    ];
    let of_each_kind = kinds.map(|kind| set(ROOT, kind_name(kind), false, EntryData { kind, ..plain("true") }));
    let agent = |role| Actor::new("ann", ActorKind::Agent, role);
    let human = |role| Actor::new("Zoë \"Z\"", ActorKind::Human, role);

    let commits = vec![
        (
            agent(Role::Orchestrator),
            Some(AgentReply::ScopeCreated { id: TASK }),
            vec![
                AgentEvent::ScopeCreated { id: TASK, name: scope_name("task 1"), parent: ROOT },
                AgentEvent::ScopeCreated { id: INNER, name: scope_name("внутри"), parent: TASK },
            ],
        ),
        (
            agent(Role::Worker),
            Some(AgentReply::Written { is_update: false }),
            vec![set(ROOT, "plain", false, plain("\"text\"")), set(TASK, "all/of it", false, full())],
        ),
        (
            human(Role::Human),
            Some(AgentReply::Written { is_update: true }),
            vec![
                set(ROOT, "plain", true, plain(r#""a \"quoted\" word\nand \u0041 \ud83d\udddd 🗝""#)),
                appended(ROOT, "plain", "\nmore \"text\" \u{1}"),
                set(INNER, "text", false, plain("\"\"")),
                appended(INNER, "text", "началось"),
            ],
        ),
        (
            agent(Role::Reviewer),
            Some(AgentReply::NoteAdded { id: NoteId(3) }),
            vec![note(ROOT, 1, "first"), note(TASK, 2, "second\nline"), note(TASK, 3, "third")],
        ),
        (
            agent(Role::Observer),
            Some(AgentReply::Merged { entries: 1 }),
            vec![
                set(ROOT, "all/of it", false, EntryData { id: EntryId(Uuid::from_u128(0xc0)), ..full() }),
                note(ROOT, 4, "second\nline"),
                note(ROOT, 5, "third"),
                AgentEvent::ScopeMerged { scope: TASK, notes: NoteId(3) },
            ],
        ),
        (
            human(Role::Admin),
            Some(AgentReply::Removed { existed: true }),
            vec![
                AgentEvent::NoteRemoved { scope: ROOT, id: NoteId(4) },
                AgentEvent::NoteRemoved { scope: TASK, id: NoteId(2) },
                AgentEvent::EntryRemoved { scope: ROOT, key: key("plain") },
                AgentEvent::EntryRemoved { scope: INNER, key: key("text") },
            ],
        ),
        (
            Actor::system(),
            None,
            vec![
                AgentEvent::EntryExpired { scope: ROOT, key: key("all/of it") },
                AgentEvent::EntryExpired { scope: TASK, key: key("all/of it") },
            ],
        ),
        (agent(Role::Worker), Some(AgentReply::Removed { existed: false }), Vec::new()),
        (
            agent(Role::Worker),
            Some(AgentReply::Cleared { entries: 0 }),
            vec![
                AgentEvent::Cleared { scope: ROOT, entries: 0 },
                AgentEvent::Cleared { scope: TASK, entries: 0 },
                AgentEvent::ScopeDisposed { scope: INNER, name: scope_name("внутри"), entries: 0 },
                AgentEvent::ScopeDisposed { scope: TASK, name: scope_name("task 1"), entries: 0 },
            ],
        ),
        (Actor::local(), Some(AgentReply::Done), vec![AgentEvent::Restored { image: Box::new(image()) }]),
        (agent(Role::Worker), None, of_each_kind.into()),
        (
            agent(Role::Worker),
            Some(AgentReply::NotebookUpdated {
                last_learning: NotebookLearningId(2),
                last_snippet: SnippetId(2),
                skipped: 1,
            }),
            notebook_events(),
        ),
        (agent(Role::Worker), None, vec![appended(TASK, "kept", " and more"), note(TASK, 8, "last")]),
    ];
    let commits = commits.into_iter().zip(1..).map(|((actor, reply, events), minute)| {
        let key = |reply| (IdempotencyKey { key: format!("request {minute}"), body: "0f".repeat(16) }, reply);
        AgentCommit::new(at(1_767_225_600 + 60 * minute), actor, reply.map(key), events)
    });
    commits.collect()
}

fn image() -> AgentImage {
    let scope = |id, name, parent, notes_merged| ScopeImage {
        id,
        name: scope_name(name),
        parent,
        created_at: at(1_767_225_660),
        entries: Vec::new(),
        notes: Vec::new(),
        notes_merged,
    };
    let kept = EntryImage { key: key("kept"), version: 3, entry: EntryData { value: json("\"kept\""), ..full() } };
    let bare = EntryImage { key: key("bare"), version: 2, entry: plain(r#"{"z":[1.50,-0,1e3],"a":null}"#) };
    AgentImage {
        scopes: vec![
            ScopeImage { entries: vec![bare], notes: vec![a_note(5, "third")], ..scope(ROOT, "root", ROOT, NoteId(0)) },
            ScopeImage { entries: vec![kept], ..scope(TASK, "task 1", ROOT, NoteId(3)) },
            scope(INNER, "внутри", TASK, NoteId(0)),
        ],
        last_note: NoteId(7),
        activity: None,
        notebooks: [(notebook_name("kept"), a_notebook())].into(),
        idle: None,
    }
}

/// A notebook with an item of each kind, shown and archived.
fn a_notebook() -> Notebook {
    let mut memory = Memory::new(Limits::default());
    let text = "CURRENT_PROGRESS:\n  Completed:\n    - one\n  In Progress:\n    - two\n  Remaining:\n    - three\nKEY_LEARNINGS:\n  ADD:\n    - because it came up: a\n    - because it came up: b\nVERBATIM_CONTEXT:\n  ADD:\n    - because it is needed: l => x\n      y\n    - because it is needed: m => z\n";
    for text in [
        text,
        "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because old\nVERBATIM_CONTEXT:\n  ARCHIVE:\n    - VC-1 because old\n",
    ] {
        memory.tell(crate::support::update_notebook("kept", text));
    }
    Notebook::clone(memory.state().notebook("kept").unwrap())
}

/// Every kind of notebook event.
fn notebook_events() -> Vec<AgentEvent> {
    let notebook = || notebook_name("main");
    let learning =
        |id, text: &str| (NotebookLearningId(id), NewLearning { text: text.into(), reason: "\"it: came\" up".into() });
    let snippet = |id, text: &str| {
        (SnippetId(id), NewSnippet { label: "ein Stück".into(), text: text.into(), reason: "needed".into() })
    };
    let update = NotebookUpdate {
        progress: Some(Progress {
            completed: vec!["done".into()],
            in_progress: vec!["doing".into()],
            remaining: vec!["to do".into()],
        }),
        learnings: vec![learning(1, "first"), learning(2, "second")],
        snippets: vec![snippet(1, "  a\n\tb\n"), snippet(2, "c")],
        ..NotebookUpdate::default()
    };
    let archival = NotebookUpdate {
        archived_learnings: vec![Archival { id: NotebookLearningId(1), reason: "old".into() }],
        archived_snippets: vec![Archival { id: SnippetId(2), reason: "old".into() }],
        ..NotebookUpdate::default()
    };
    let content = NotebookContent { rev: 2, ..a_notebook().content(2) };
    vec![
        AgentEvent::NotebookUpdated { notebook: notebook(), update: Box::new(update) },
        AgentEvent::NotebookUpdated { notebook: notebook(), update: Box::new(archival) },
        AgentEvent::NotebookItemRemoved { notebook: notebook(), id: NotebookItemId::Learning(NotebookLearningId(1)) },
        AgentEvent::NotebookItemRemoved { notebook: notebook(), id: NotebookItemId::Snippet(SnippetId(1)) },
        AgentEvent::NotebookRestored { notebook: notebook(), content: Box::new(content) },
        AgentEvent::NotebookUpdated { notebook: notebook_name("gone"), update: Box::default() },
        AgentEvent::NotebookCleared { notebook: notebook_name("gone") },
    ]
}

fn a_note(id: u64, text: &str) -> Note {
    Note { id: NoteId(id), text: text.into(), author: "ann".into(), at: at(1_767_225_900), trust: None }
}

#[test]
fn an_entrys_trust_is_stored_only_if_given() {
    let said = EntryData { trust: Some(corkboard_core::knowledge::Trust::Outside), ..plain("1") };
    let stored = serde_json::to_string(&said).unwrap();
    assert!(stored.ends_with(r#","author":"ann","session":null,"trust":"outside"}"#), "{stored}");
    assert_eq!(serde_json::from_str::<EntryData>(&stored).unwrap(), said);
    assert!(serde_json::to_string(&plain("1")).unwrap().ends_with(r#""trust":null}"#));
}

#[test]
fn both_encoders_store_who_acted_in_anothers_name() {
    let ann = Actor::new("ann", ActorKind::Agent, Role::Worker);
    let set = || AgentEvent::EntrySet { scope: ROOT, key: key("k"), is_update: false, entry: Box::new(plain("1")) };
    let commit = |actor| AgentCommit::new(at(1_767_225_660), actor, None, vec![set()]);
    let spoken_for = commit(ann.clone().via("gate \"way\""));
    let stored = spoken_for.encode().unwrap();
    assert_eq!(AgentState::encode(&spoken_for).unwrap(), stored, "both encoders should give the same bytes");
    let text = String::from_utf8(stored.clone()).unwrap();
    assert!(text.contains(r#""role":"worker","via":"gate \"way\""},"events""#), "{text}");
    assert_eq!(AgentCommit::decode(&stored).unwrap(), spoken_for);
    let own = commit(ann);
    assert_eq!(AgentState::encode(&own).unwrap(), own.encode().unwrap(), "both encoders should give the same bytes");
    assert!(String::from_utf8(own.encode().unwrap()).unwrap().contains(r#""via":null}"#));
}

fn plain(value: &str) -> EntryData {
    EntryData {
        id: EntryId(Uuid::from_u128(0xb0)),
        value: json(value),
        type_name: "json".into(),
        kind: MemoryKind::default(),
        importance: EntryMetadata::IMPORTANCE,
        tags: Vec::new(),
        custom: None,
        at: at(1_767_225_720),
        expires_at: None,
        author: "ann".into(),
        session: None,
        trust: None,
    }
}

fn full() -> EntryData {
    let custom = serde_json::json!({ "source": { "page": 7, "exact": 0.1 }, "ok": true });
    EntryData {
        id: EntryId(Uuid::from_u128(0xa0)),
        kind: MemoryKind::Insight,
        importance: 0.9,
        tags: vec!["one".into(), "zwei drei".into()],
        custom: custom.as_object().cloned().map(Arc::new),
        expires_at: Some("2026-06-01T12:00:00.123456789Z".parse().unwrap()),
        session: Some("session 1".into()),
        ..plain(r#"{"list":[1,2.5,"drei"],"none":null}"#)
    }
}

// These have no wildcard: add new variants of the format to the history above.

fn event_name(event: &AgentEvent) -> &'static str {
    match event {
        AgentEvent::EntrySet { .. } => "entry set",
        AgentEvent::EntryAppended { .. } => "entry appended",
        AgentEvent::EntryRemoved { .. } => "entry removed",
        AgentEvent::EntryExpired { .. } => "entry expired",
        AgentEvent::Cleared { .. } => "cleared",
        AgentEvent::NoteAdded { .. } => "note added",
        AgentEvent::NoteRemoved { .. } => "note removed",
        AgentEvent::ScopeCreated { .. } => "scope created",
        AgentEvent::ScopeMerged { .. } => "scope merged",
        AgentEvent::ScopeDisposed { .. } => "scope disposed",
        AgentEvent::Restored { .. } => "restored",
        AgentEvent::NotebookUpdated { .. } => "notebook updated",
        AgentEvent::NotebookRestored { .. } => "notebook restored",
        AgentEvent::NotebookCleared { .. } => "notebook cleared",
        AgentEvent::NotebookItemRemoved { .. } => "notebook item removed",
        AgentEvent::ConversationRenewed { .. } => "conversation renewed",
    }
}

fn reply_name(reply: &AgentReply) -> &'static str {
    match reply {
        AgentReply::Written { .. } => "written",
        AgentReply::Removed { .. } => "removed",
        AgentReply::Cleared { .. } => "cleared",
        AgentReply::NoteAdded { .. } => "note added",
        AgentReply::ScopeCreated { .. } => "scope created",
        AgentReply::Merged { .. } => "merged",
        AgentReply::NotebookUpdated { .. } => "notebook updated",
        AgentReply::Done => "done",
    }
}

fn kind_name(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Fact => "fact",
        MemoryKind::Event => "event",
        MemoryKind::Insight => "insight",
        MemoryKind::Preference => "preference",
        MemoryKind::Correction => "correction",
        MemoryKind::Conversation => "conversation",
    }
}

fn actor_kind_name(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Agent => "agent",
        ActorKind::Human => "human",
        ActorKind::Service => "service",
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Orchestrator => "orchestrator",
        Role::Worker => "worker",
        Role::Reviewer => "reviewer",
        Role::Observer => "observer",
        Role::Human => "human",
        Role::Admin => "admin",
    }
}

//! The stored format of memory cores: fixtures of every format version, which must stay readable.
//!
//! `fixtures/core-v<n>.events.jsonl` is a log in format `n`, one commit per line. `core-v<n>.snapshot.json` is the
//! state after it. `core-vouched-v<n>` is the same for a core with vouched entries, `core-promoted-v<n>` for a core
//! with promoted entries. This command writes missing fixtures from the histories in this file:
//!
//! ```text
//! CORK_WRITE_FIXTURES=1 cargo test -p corkboard-core --test it core_format
//! ```
//!
//! Existing files are never overwritten: a difference from them changes the format and needs a new version. Memory
//! cores exist since format 2.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use crate::core_support::*;
use crate::support::{check_fields, edited_fields};
use corkboard_core::knowledge::{
    CoreCommand, CoreEdit, CoreEntryData, CoreEntryId, CoreEvent, CoreForget, CoreImage, CoreReply, CoreState, Expiry,
    NewCoreEntry, Provenance, Trust, Withdrawal,
};
use corkboard_core::{
    Actor, BoardId, FORMAT_VERSION, FormatError, IdempotencyKey, Limits, MemoryKind, Request, Revisioned, Role, Space,
    Stamp,
};
use serde_json::Value;

const FIRST: u32 = 2;
const KINDS: [&str; 4] = ["core", "core-promoted", "core-vouched", "core-forgotten"];

#[test]
fn an_older_name_of_an_event_is_read() {
    let event: CoreEvent = serde_json::from_str(r#"{"entry_erased":{"id":"E-1"}}"#).unwrap();
    assert_eq!(event, CoreEvent::EntryForgottenHard { id: CoreEntryId(1) });
}

#[test]
fn the_log_of_every_version_folds_to_its_snapshot() {
    for (kind, version) in
        KINDS.into_iter().flat_map(|kind| (FIRST..=FORMAT_VERSION).map(move |version| (kind, version)))
    {
        // Nothing could be forgotten permanently in format 2.
        if (kind, version) == ("core-forgotten", 2) {
            continue;
        }
        let fixture = Fixture::read(kind, version);
        let snapshot = Revisioned::<CoreState>::decode(&fixture.snapshot).unwrap();
        let folded = replay(Revisioned::default(), &fixture.log, &Limits::default());
        assert_eq!(folded, snapshot, "{kind} in format {version}");
        check(&snapshot.state, snapshot.last_at);
    }
}

#[test]
fn the_current_version_is_still_written_byte_for_byte() {
    for kind in KINDS {
        let fixture = Fixture::read(kind, FORMAT_VERSION);
        for line in &fixture.log {
            let again = CoreCommit::decode(line).unwrap().encode().unwrap();
            assert_eq!(text(&again), text(line), "the format has changed: see the top of this file");
        }
        let snapshot = Revisioned::<CoreState>::decode(&fixture.snapshot).unwrap();
        assert_eq!(text(&snapshot.encode().unwrap()), text(&fixture.snapshot));
    }
}

#[test]
fn the_fixtures_contain_every_event_and_every_reply() {
    let (mut events, mut replies) = (BTreeSet::new(), BTreeSet::new());
    for line in logs() {
        let commit = CoreCommit::decode(&line).unwrap();
        events.extend(commit.events.iter().map(event_name));
        replies.extend(commit.answered.iter().map(|(_, reply)| reply_name(reply)));
    }
    assert_eq!(events.len(), 10, "{events:?}");
    assert_eq!(replies.len(), 5, "{replies:?}");
}

#[test]
fn the_fixtures_contain_every_variant_and_every_optional_field_present_and_absent() {
    let log = logs();
    let text: String = log.iter().map(|line| text(line)).collect();
    for word in "outside agent own new merged restored never insight fact".split(' ') {
        assert!(text.contains(&format!("\"{word}\"")), "{word}");
    }
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let events = |name: &str| -> Vec<Value> {
        let events = lines.iter().flat_map(|commit| commit["events"].as_array().unwrap());
        events.filter_map(|event| event.get(name)).cloned().collect()
    };
    let inner =
        |name: &str, field: &str| -> Vec<Value> { events(name).iter().map(|event| event[field].clone()).collect() };
    check_fields(&lines, "answered");
    let added = inner("entry_added", "entry");
    check_fields(&added, "kind importance tags expires_at");
    check_fields(
        &added.iter().map(|entry| entry["provenance"].clone()).collect::<Vec<_>>(),
        "promoted_by board item board_rev",
    );
    check_fields(&inner("entry_merged", "entry"), "importance tags expires_at");
    check_fields(&edited_fields(&inner("entry_edited", "edit")), "content kind importance tags expiry trust");
    check_fields(&events("entry_edited"), "provenance vouched");
    check_fields(&events("entry_forgotten"), "reason");
    check_fields(&events("entry_withdrawn"), "provenance");
    let snapshots = KINDS.map(|kind| Fixture::read(kind, FORMAT_VERSION).snapshot);
    let snapshots = snapshots.map(|snapshot| serde_json::from_slice::<Value>(&snapshot).unwrap());
    let entries: Vec<Value> =
        snapshots.iter().flat_map(|snapshot| snapshot["state"]["entries"].as_array().unwrap().clone()).collect();
    check_fields(&entries, "tags expires_at forgotten vouched");
    let origins: Vec<Value> =
        entries.iter().flat_map(|entry| entry["provenance"].as_array().unwrap().clone()).collect();
    check_fields(&origins, "promoted_by board item board_rev edited_by");
}

#[test]
fn an_event_that_does_not_fit_is_a_misfit() {
    let mut shelf = Shelf::new();
    shelf.add(&human("ann"), "one");
    let nowhere = CoreEntryId(9);
    let provenance = Provenance { ..shelf.entry(CoreEntryId(1)).provenance[0].clone() };
    let learned = || {
        Box::new(CoreEntryData {
            content: "x".into(),
            kind: MemoryKind::Fact,
            importance: 0.5,
            tags: Vec::new(),
            expires_at: None,
            provenance: provenance.clone(),
        })
    };
    let misfits = [
        CoreEvent::EntryAdded { id: CoreEntryId(1), entry: learned() },
        CoreEvent::EntryMerged { id: nowhere, entry: learned() },
        CoreEvent::EntryEdited { id: nowhere, edit: Box::default(), provenance: None, vouched: false },
        CoreEvent::EntryForgotten { id: nowhere, reason: None },
        CoreEvent::EntryRestored { id: nowhere },
        CoreEvent::EntryWithdrawn { id: nowhere, provenance: Vec::new() },
        CoreEvent::EntryWithdrawn { id: nowhere, provenance: vec![provenance.clone()] },
        CoreEvent::EntryExpired { id: nowhere },
    ];
    let stamp = Stamp { rev: 9, at: at(2_000), principal: "ann", role: Role::Worker };
    for event in misfits {
        let applied = shelf.state().clone().apply(&event, stamp);
        assert!(matches!(applied, Err(FormatError::Misfit(_))), "{event:?}: {applied:?}");
    }
}

/// All lines of the current version.
fn logs() -> Vec<Arc<[u8]>> {
    KINDS.iter().flat_map(|kind| Fixture::read(kind, FORMAT_VERSION).log).collect()
}

struct Fixture {
    log: Vec<Arc<[u8]>>,
    snapshot: Vec<u8>,
}

impl Fixture {
    fn read(kind: &str, version: u32) -> Self {
        static WRITTEN: LazyLock<()> = LazyLock::new(|| {
            if std::env::var_os("CORK_WRITE_FIXTURES").is_some() {
                write_if_missing("core", &history());
                write_if_missing("core-promoted", &promoted());
                write_if_missing("core-vouched", &vouched());
                write_if_missing("core-forgotten", &forgotten());
            }
        });
        LazyLock::force(&WRITTEN);
        let [log, snapshot] = paths(kind, version).map(|path| {
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; see the top of this file", path.display()))
        });
        let log = log.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').map(Arc::from).collect();
        Self { log, snapshot: snapshot.strip_suffix(b"\n").unwrap().to_vec() }
    }
}

fn write_if_missing(kind: &str, shelf: &Shelf) {
    let log = shelf.log.iter().map(|line| line.to_vec()).collect::<Vec<_>>().join(&b'\n');
    for (path, content) in paths(kind, FORMAT_VERSION).iter().zip([log, shelf.live.encode().unwrap()]) {
        match File::create_new(path) {
            Ok(mut file) => file.write_all(&[&content, &b"\n"[..]].concat()).unwrap(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{}: {error}", path.display()),
        }
    }
}

fn paths(kind: &str, version: u32) -> [PathBuf; 2] {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    ["events.jsonl", "snapshot.json"].map(|what| folder.join(format!("{kind}-v{version}.{what}")))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A history in which everything happens that a core can store.
fn history() -> Shelf {
    let (ann, bob) = (human("ann"), agent("bob"));
    let mut shelf = Shelf::new();
    let mut keys = 0;
    // With an idempotency key, the reply is stored, too.
    let mut named = |shelf: &mut Shelf, actor: &Actor, command: CoreCommand| {
        keys += 1;
        shelf.pass(1_000);
        let idempotency = Some(IdempotencyKey::new(&format!("k{keys}"), &command, &shelf.limits).unwrap());
        shelf.request(actor, &Request { command, if_rev: None, idempotency }).unwrap()
    };
    let board = |name: &str| Some(BoardId::new(name, &Limits::default()).unwrap());
    let full = NewCoreEntry {
        contributors: Vec::new(),
        content: "Argon2id with 64 MiB".into(),
        kind: MemoryKind::Insight,
        importance: Some(0.75),
        tags: vec!["security".into(), "hash".into()],
        author: Some("carl".into()),
        trust: Some(Trust::Agent),
        board: board("tokens"),
        item: Some("D-3".into()),
        board_rev: None,
        expires_at: Some(at(9_000)),
    };
    let outside = NewCoreEntry { trust: Some(Trust::Outside), .."Said a web page".into() };
    let entries = vec![full.clone(), outside, "Deploy on Tuesdays".into(), "Argon2id  with 64 MiB".into()];
    named(&mut shelf, &bob, CoreCommand::Add { entries });
    shelf.ask(&ann, add(NewCoreEntry { board: board("other"), importance: Some(1.0), ..full.clone() })).unwrap();
    shelf.add(&ann, "Plain");
    let all = CoreEdit {
        content: Some("Deploy on Wednesdays".into()),
        kind: Some(MemoryKind::Correction),
        importance: Some(0.25),
        tags: Some(vec!["release".into()]),
        expiry: Some(Expiry::At(at(8_000))),
        trust: Some(Trust::Own),
    };
    let edit = |entry: u64, edit: CoreEdit| CoreCommand::Edit {
        entry: CoreEntryId(entry),
        edit: Box::new(edit),
        if_version: None,
    };
    named(&mut shelf, &ann, edit(3, all));
    shelf.tell(edit(3, CoreEdit { expiry: Some(Expiry::Never), ..CoreEdit::default() }));
    shelf.tell(edit(4, CoreEdit { importance: Some(0.625), ..CoreEdit::default() }));
    let forget = |entry: u64, reason: Option<&str>| CoreCommand::Forget {
        entry: CoreEntryId(entry),
        reason: reason.map(Into::into),
        if_version: None,
    };
    shelf.tell(forget(2, Some("a rumour")));
    shelf.tell(forget(4, None));
    named(&mut shelf, &ann, add("Plain"));
    shelf.tell(CoreCommand::Restore { entry: CoreEntryId(2), if_version: None });
    shelf.tell(forget(2, Some("still a rumour")));
    shelf.add(&ann, NewCoreEntry { expires_at: Some(at(1_100)), .."Soon gone".into() });
    shelf.add(&ann, NewCoreEntry { expires_at: Some(at(9_000)), .."Kept for a while".into() });
    shelf.pass(200_000);
    named(&mut shelf, &ann, CoreCommand::Tick);
    let image = CoreImage::of(shelf.state(), shelf.now);
    let of = |board: &str| Withdrawal::Board { board: BoardId::new(board, &Limits::default()).unwrap() };
    named(&mut shelf, &ann, CoreCommand::Withdraw { of: of("other") });
    shelf.tell(CoreCommand::Withdraw { of: Withdrawal::Author { name: "bob".into() } });
    named(&mut shelf, &ann, CoreCommand::Clear);
    named(&mut shelf, &ann, CoreCommand::Replace { image: Box::new(image) });
    shelf
}

/// A core in which people vouch for entries, and lose that again.
fn vouched() -> Shelf {
    let (ann, dora, bob) = (human("ann"), human("dora"), agent("bob"));
    let mut shelf = Shelf::new();
    let outside = |text: &str| NewCoreEntry { trust: Some(Trust::Outside), ..text.into() };
    for text in ["kept", "taken over", "lowered", "changed"] {
        shelf.add(&bob, outside(text));
    }
    shelf.add(&agent("carl"), outside("withdrawn"));
    let mut edit = |actor: &Actor, entry: u64, edit: CoreEdit| {
        shelf.pass(1_000);
        let command = CoreCommand::Edit { entry: CoreEntryId(entry), edit: Box::new(edit), if_version: None };
        shelf.ask(actor, command).unwrap();
    };
    let trust = |trust| CoreEdit { trust: Some(trust), ..CoreEdit::default() };
    let content = |text: &str| CoreEdit { content: Some(text.into()), ..CoreEdit::default() };
    (1..=5).for_each(|entry| edit(&ann, entry, trust(Trust::Own)));
    edit(&dora, 2, content("taken over by dora"));
    edit(&dora, 3, trust(Trust::Agent));
    edit(&bob, 4, content("changed by bob"));
    shelf.add(&bob, outside("withdrawn"));
    let image = CoreImage::of(shelf.state(), shelf.now);
    shelf.tell(CoreCommand::Replace { image: Box::new(image) });
    shelf.tell(CoreCommand::Withdraw { of: Withdrawal::Author { name: "carl".into() } });
    shelf
}

/// A core from which an entry was forgotten permanently.
fn forgotten() -> Shelf {
    let mut shelf = Shelf::new();
    shelf.tell(add("the password is hunter2"));
    shelf.tell(add("kept"));
    shelf.tell(CoreCommand::ForgetHard { forget: CoreForget::Entry { id: CoreEntryId(1) } });
    shelf
}

// These have no wildcard: add new variants of the format to the history above.

fn event_name(event: &CoreEvent) -> &'static str {
    match event {
        CoreEvent::EntryAdded { .. } => "entry added",
        CoreEvent::EntryMerged { .. } => "entry merged",
        CoreEvent::EntryEdited { .. } => "entry edited",
        CoreEvent::EntryForgotten { .. } => "entry forgotten",
        CoreEvent::EntryRestored { .. } => "entry restored",
        CoreEvent::EntryWithdrawn { .. } => "entry withdrawn",
        CoreEvent::EntryForgottenHard { .. } => "entry forgotten hard",
        CoreEvent::EntryExpired { .. } => "entry expired",
        CoreEvent::Cleared { .. } => "cleared",
        CoreEvent::Replaced { .. } => "replaced",
    }
}

fn reply_name(reply: &CoreReply) -> &'static str {
    match reply {
        CoreReply::Added { .. } => "added",
        CoreReply::Changed { .. } => "changed",
        CoreReply::Withdrawn { .. } => "withdrawn",
        CoreReply::Cleared { .. } => "cleared",
        CoreReply::Done => "done",
    }
}

/// A core with promotions from boards: a new text, and a known one.
fn promoted() -> Shelf {
    let mut shelf = Shelf::new();
    let promoted = |content: &str, item: &str, board_rev: u64| NewCoreEntry {
        author: Some("bob".into()),
        board: Some(BoardId::new("login", &Limits::default()).unwrap()),
        item: Some(item.into()),
        board_rev: Some(board_rev),
        ..NewCoreEntry::new(content)
    };
    shelf.add(&human("ann"), "Deploy on Tuesdays");
    shelf.add(&human("ann"), promoted("Deploy on Tuesdays", "D-1", 7));
    shelf.add(&human("ann"), promoted("Argon2id with 64 MiB", "D-2", 9));
    shelf
}

//! Snapshots for tests, and the seals for them.

use corkboard::{
    AgentMemory, Content, Corkboard, Error, Limits, MemorySnapshot, Note, Passphrase, PassphraseCost, Result, Seal,
    SnapshotBytes, SnapshotKey, WorkingMemory,
};
use corkboard_core::agent::{EntryImage, ScopeImage};
use corkboard_core::knowledge::{CoreEntry, CoreEntryId, CoreImage};
use serde_json::json;

use crate::common::{Home, agent_a};

/// The minimum cost that argon2 accepts.
pub(crate) const CHEAP: PassphraseCost = PassphraseCost { memory_kib: 8, passes: 1, lanes: 1 };

pub(crate) fn key() -> Seal {
    Seal::Key(SnapshotKey::new([7; SnapshotKey::BYTES]))
}

pub(crate) fn passphrase() -> Seal {
    Seal::Passphrase(Passphrase::new("correct horse battery staple").cost(CHEAP))
}

/// One seal of every kind.
pub(crate) fn seals() -> [Seal; 3] {
    [Seal::Plain, key(), passphrase()]
}

pub(crate) fn open(bytes: &[u8], seal: &Seal) -> Result<MemorySnapshot> {
    MemorySnapshot::from_bytes(bytes, seal, &Limits::default())
}

pub(crate) fn error_of(bytes: &[u8], seal: &Seal) -> Error {
    open(bytes, seal).unwrap_err()
}

/// An agent with memory in two scopes.
pub(crate) async fn a_snapshot(home: &Home) -> (Corkboard, AgentMemory, WorkingMemory) {
    let (corkboard, agent, memory) = agent_a(home).await;
    memory.set("user_name", "Ada \u{1F30D}").await.unwrap();
    memory.add_note("prefers short answers").await.unwrap();
    let scope = memory.create_durable_scope("task-1").await.unwrap();
    scope.set("steps", &["schema", "routes"]).await.unwrap();
    (corkboard, agent, memory)
}

/// The smallest snapshot with one item of each kind, always the same.
pub(crate) fn small() -> MemorySnapshot {
    let nil = "00000000-0000-0000-0000-000000000000";
    let (time, id) = ("2026-02-04T12:00:00Z", "01941f29-7c00-7000-8000-000000000001");
    let entry = json!({"id": id, "value": {"goal": "login"}, "type_name": "json", "timestamp": time, "author": "ada"});
    let note = json!({"id": 1, "text": "prefers short answers", "author": "ada", "timestamp": time});
    let root = json!({"id": nil, "name": "root", "parent": nil, "created_at": time, "notes_merged": 0,
        "entries": [{"key": "plan", "version": 1, "entry": entry}], "notes": [note]});
    let snapshot =
        json!({"format": 1, "agent": "A", "taken_at": time, "rev": 2, "memory": {"scopes": [root], "last_note": 1}});
    serde_json::from_value(snapshot).unwrap()
}

/// The largest JSON that a memory within these limits can produce: every byte that can be escaped is, and every
/// optional field is set.
pub(crate) fn largest(limits: &Limits) -> MemorySnapshot {
    let mut snapshot = small();
    let controls = |bytes: u64| "\u{1}".repeat(bytes as usize);
    let quotes = |bytes: u64| "\"".repeat(bytes as usize);
    let root = snapshot.memory.scopes[0].clone();
    let mut entry = root.entries[0].entry.clone();
    let author = quotes(limits.agent_id_bytes);
    entry.type_name = controls(limits.type_name_bytes).into();
    entry.author = author.as_str().into();
    entry.session = Some(author.as_str().into());
    entry.importance = 0.123_456_79;
    entry.expires_at = Some("2026-02-04T12:00:00.123456789Z".parse().unwrap());
    entry.kind = corkboard::MemoryKind::Conversation;
    // Fields whose JSON is longest compared with their counted bytes: keys, tags, custom metadata, numbers.
    entry.value = Content::of(&0).unwrap();
    entry.tags = vec!["\"".into(); 5];
    let custom = json!({"": -1.234_567_890_123_456_7e-300, "\u{1}": [[], {"": false}, "\u{1}"], "x": null});
    entry.custom = Some(std::sync::Arc::new(custom.as_object().unwrap().clone()));
    let entries = (0..limits.entries_per_agent).map(|number| {
        let key = serde_json::from_value(json!(format!("\"\"{number}"))).unwrap();
        EntryImage { key, version: u64::MAX - number, entry: entry.clone() }
    });
    let entries: Vec<_> = entries.collect();
    let counted: u64 = entries.iter().map(|entry| entry.key.as_str().len() as u64 + entry.entry.bytes()).sum();
    let room = (limits.state_bytes - counted) / limits.notes_per_agent;
    let note = Note { text: controls(room).into(), author: author.as_str().into(), ..root.notes[0].clone() };
    let notes = vec![note; limits.notes_per_agent as usize];
    let name = serde_json::from_value(json!(quotes(limits.scope_name_bytes))).unwrap();
    let empty = ScopeImage { name, entries: Vec::new(), notes: Vec::new(), ..root.clone() };
    snapshot.agent = author;
    snapshot.memory.scopes = vec![empty; limits.scopes_per_agent as usize + 1];
    snapshot.memory.scopes[0] = ScopeImage { entries, notes, ..snapshot.memory.scopes[0].clone() };
    snapshot.long_term = Some(largest_core(limits));
    snapshot
}

/// The largest JSON that a memory core within these limits can produce.
fn largest_core(limits: &Limits) -> CoreImage {
    let time = "2026-02-04T12:00:00.123456789Z";
    let origin = json!({
        "author": "\"", "trust": "outside", "at": time, "promoted_by": "\"", "board": "\"", "item": "\"", "edited_by": ["\""],
    });
    let entry = |number: u64, text: u64| -> CoreEntry {
        let by = "\"".repeat(limits.agent_id_bytes as usize);
        let entry = json!({
            "id": format!("E-{}", u64::MAX / 2 - number), "version": u64::MAX - number, "kind": "conversation",
            "content": "\u{1}".repeat(text as usize), "importance": 0.123_456_79_f32, "tags": ["\""],
            "provenance": [origin, origin], "created_at": time, "updated_at": time, "expires_at": time,
            "forgotten": {"at": time, "by": by, "reason": "\u{1}"},
        });
        serde_json::from_value(entry).unwrap()
    };
    let each = limits.state_bytes / limits.entries_per_core.max(1);
    let room = each - entry(0, 0).bytes();
    let entries = (0..limits.entries_per_core).map(|number| entry(number, room)).collect();
    CoreImage { entries, last: CoreEntryId(u64::MAX / 2) }
}

//! Random requests. They refer to scopes, versions and notes by position, so that most of them hit something.

use corkboard_core::agent::Separator;
use corkboard_core::knowledge::Trust;
use corkboard_core::notebook::{
    Archival, Block, NewLearning, NewSnippet, NotebookItemId, NotebookLearningId, Progress, SnippetId, UnknownIds,
};
use corkboard_core::{Content, EntryMetadata, Key, Limits, MemoryKind, Usage};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};

use crate::support::key;

/// A test case.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub limits: Limits,
    pub outside: Usage,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Milliseconds since the previous step.
    pub wait: i64,
    pub principal: &'static str,
    pub if_rev: Condition,
    pub idempotency: Option<&'static str>,
    pub ask: Ask,
}

#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Set {
        scope: Index,
        key: Key,
        value: Content,
        metadata: Metadata,
        if_version: Condition,
    },
    Append {
        scope: Index,
        key: Key,
        text: String,
        separator: Separator,
        if_version: Condition,
    },
    Remove {
        scope: Index,
        key: Key,
        if_version: Condition,
    },
    Batch {
        scope: Index,
        changes: Vec<Change>,
    },
    Clear {
        scope: Index,
    },
    AddNote {
        scope: Index,
        text: String,
    },
    RemoveNote {
        scope: Index,
        note: Index,
    },
    CreateScope {
        parent: Option<Index>,
    },
    MergeScope {
        scope: Index,
        overwrite: bool,
    },
    Absorb {
        scope: Index,
        entries: Vec<Absorbed>,
        notes: Vec<&'static str>,
        overwrite: bool,
    },
    MarkMerged {
        scope: Index,
        note: Index,
    },
    DisposeScope {
        scope: Index,
    },
    UpdateNotebook {
        name: &'static str,
        block: Block,
        unknown_ids: UnknownIds,
        if_version: Condition,
    },
    /// Shows the notebook's content at another step.
    RestoreNotebook {
        name: &'static str,
        moment: Index,
        if_version: Condition,
    },
    ClearNotebook {
        name: &'static str,
    },
    ClearAll,
    Restore {
        moment: Index,
    },
    Forget {
        what: Forgotten,
    },
    Tick,
    /// Repeats an earlier request that had an idempotency key.
    Again {
        request: Index,
    },
}

/// One change of a batch. Its condition refers to the entry before the batch.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Set { key: Key, value: Content, metadata: Metadata, if_version: Condition },
    Append { key: Key, text: String, separator: Separator, if_version: Condition },
    Remove { key: Key, if_version: Condition },
    Move { from: Key, to: Key },
}

#[derive(Debug, Clone)]
pub(crate) enum Forgotten {
    Entry(Key),
    Note { scope: Index, note: Index },
    Notebook { name: &'static str, item: Option<NotebookItemId> },
}

/// A version or revision that the request requires.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Condition {
    None,
    Right,
    Wrong,
    MustNotExist,
}

/// Metadata with times relative to the request's.
#[derive(Debug, Clone)]
pub(crate) struct Metadata {
    pub expires_in: Option<i64>,
    pub said_before: Option<i64>,
    pub rest: EntryMetadata,
}

/// An entry from elsewhere, within the limits, because another state has checked it.
#[derive(Debug, Clone)]
pub(crate) struct Absorbed {
    pub key: Key,
    pub value: Content,
    pub expires_in: Option<i64>,
}

pub(crate) fn plan(limits: impl Strategy<Value = Limits>) -> impl Strategy<Value = Plan> {
    let outside = (0..2_u64, 0..2_u64).prop_map(|(entries, scopes)| Usage { entries, scopes, bytes: 1_000_000 });
    (limits, outside, prop::collection::vec(step(), 1..60)).prop_map(|(limits, outside, steps)| Plan {
        limits,
        outside,
        steps,
    })
}

pub(crate) fn any_limits() -> impl Strategy<Value = Limits> {
    prop_oneof![Just(Limits::default()), Just(small_limits()), Just(thin_notebooks())]
}

pub(crate) fn small_limits() -> Limits {
    Limits {
        entry_bytes: 18,
        command_bytes: 16,
        tags_per_entry: 1,
        tag_bytes: 3,
        note_bytes: 6,
        notes_per_agent: 5,
        entries_per_agent: 5,
        scopes_per_agent: 4,
        state_bytes: 40,
        notebooks_per_agent: 2,
        progress_bullets: 2,
        learnings_per_notebook: 2,
        snippets_per_notebook: 1,
        archived_per_notebook: 2,
        notebook_line_bytes: 5,
        snippet_bytes: 6,
        idempotency_keys: 2,
        idempotency_hours: 1,
        ..Limits::default()
    }
}

/// Limits with room for everything except notebooks.
fn thin_notebooks() -> Limits {
    let Limits { notebooks_per_agent, learnings_per_notebook, snippets_per_notebook, archived_per_notebook, .. } =
        small_limits();
    Limits {
        notebooks_per_agent,
        learnings_per_notebook,
        snippets_per_notebook,
        archived_per_notebook,
        ..Limits::default()
    }
}

fn step() -> impl Strategy<Value = Step> {
    let wait = prop_oneof![3 => Just(0), 5 => 1..3_000_i64, 1 => Just(30 * 60_000), 1 => Just(3 * 60 * 60_000)];
    let principal = prop_oneof![4 => Just("ann"), 1 => Just("bob")];
    let if_rev = prop_oneof![9 => Just(Condition::None), 2 => Just(Condition::Right), 1 => Just(Condition::Wrong)];
    let idempotency = prop::option::weighted(0.25, prop::sample::select(vec!["k1", "k2", "k3"]));
    (wait, principal, if_rev, idempotency, ask()).prop_map(|(wait, principal, if_rev, idempotency, ask)| Step {
        wait,
        principal,
        if_rev,
        idempotency,
        ask,
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    let scope = any::<Index>;
    prop_oneof![
        8 => (scope(), a_key(), value(), metadata(), condition()).prop_map(
            |(scope, key, value, metadata, if_version)| Ask::Set { scope, key, value, metadata, if_version }
        ),
        4 => (scope(), a_key(), text(), separator(), condition()).prop_map(
            |(scope, key, text, separator, if_version)| Ask::Append { scope, key, text, separator, if_version }
        ),
        3 => (scope(), a_key(), condition())
            .prop_map(|(scope, key, if_version)| Ask::Remove { scope, key, if_version }),
        6 => (scope(), prop::collection::vec(change(), 0..5))
            .prop_map(|(scope, changes)| Ask::Batch { scope, changes }),
        1 => scope().prop_map(|scope| Ask::Clear { scope }),
        6 => (scope(), note()).prop_map(|(scope, text)| Ask::AddNote { scope, text }),
        2 => (scope(), any::<Index>()).prop_map(|(scope, note)| Ask::RemoveNote { scope, note }),
        4 => prop::option::weighted(0.9, scope()).prop_map(|parent| Ask::CreateScope { parent }),
        6 => (scope(), any::<bool>()).prop_map(|(scope, overwrite)| Ask::MergeScope { scope, overwrite }),
        2 => (scope(), absorbed(), prop::collection::vec(prop::sample::select(vec!["x", "🗝"]), 0..3), any::<bool>()).prop_map(
            |(scope, entries, notes, overwrite)| Ask::Absorb { scope, entries, notes, overwrite }
        ),
        1 => (scope(), any::<Index>()).prop_map(|(scope, note)| Ask::MarkMerged { scope, note }),
        1 => scope().prop_map(|scope| Ask::DisposeScope { scope }),
        8 => (a_notebook(), block(), any::<bool>(), condition()).prop_map(|(name, block, skip, if_version)| {
            let unknown_ids = if skip { UnknownIds::Skip } else { UnknownIds::Refuse };
            Ask::UpdateNotebook { name, block, unknown_ids, if_version }
        }),
        2 => (a_notebook(), any::<Index>(), condition())
            .prop_map(|(name, moment, if_version)| Ask::RestoreNotebook { name, moment, if_version }),
        1 => a_notebook().prop_map(|name| Ask::ClearNotebook { name }),
        1 => Just(Ask::ClearAll),
        1 => any::<Index>().prop_map(|moment| Ask::Restore { moment }),
        2 => forgotten().prop_map(|what| Ask::Forget { what }),
        2 => Just(Ask::Tick),
        4 => any::<Index>().prop_map(|request| Ask::Again { request }),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (a_key(), value(), metadata(), condition())
            .prop_map(|(key, value, metadata, if_version)| Change::Set { key, value, metadata, if_version }),
        3 => (a_key(), text(), separator(), condition())
            .prop_map(|(key, text, separator, if_version)| Change::Append { key, text, separator, if_version }),
        2 => (a_key(), condition()).prop_map(|(key, if_version)| Change::Remove { key, if_version }),
        4 => (a_key(), a_key()).prop_map(|(from, to)| Change::Move { from, to }),
    ]
}

pub(crate) fn forgotten() -> impl Strategy<Value = Forgotten> {
    prop_oneof![
        a_key().prop_map(Forgotten::Entry),
        (any::<Index>(), any::<Index>()).prop_map(|(scope, note)| Forgotten::Note { scope, note }),
        (a_notebook(), prop::option::of(item())).prop_map(|(name, item)| Forgotten::Notebook { name, item }),
    ]
}

fn a_notebook() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["main", "main", "b", "c"])
}

fn item() -> impl Strategy<Value = NotebookItemId> {
    prop_oneof![
        (1..4_u64).prop_map(|number| NotebookItemId::Learning(NotebookLearningId(number))),
        (1..4_u64).prop_map(|number| NotebookItemId::Snippet(SnippetId(number))),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let bullets = |counts| prop::collection::vec(a_line().prop_map(Into::into), counts);
    let progress = (bullets(0..2), bullets(1..2), bullets(0..2))
        .prop_map(|(completed, in_progress, remaining)| Progress { completed, in_progress, remaining });
    let learning = a_line().prop_map(|text| NewLearning { text: text.into(), reason: "r".into() });
    let text = prop::sample::select(vec!["s", "t\n u", "a long text"]);
    let snippet = (a_line(), text).prop_map(|(label, text)| NewSnippet {
        label: label.into(),
        text: text.into(),
        reason: "r".into(),
    });
    let ids = || prop::collection::vec((1..6_u64, a_line()), 0..2);
    let learnings = prop::collection::vec(learning, 0..3);
    let snippets = prop::collection::vec(snippet, 0..3);
    (prop::option::of(progress), learnings, ids(), snippets, ids()).prop_map(
        |(progress, learnings, old_learnings, snippets, old_snippets)| {
            let old_learnings = old_learnings.into_iter();
            let old_snippets = old_snippets.into_iter();
            Block {
                progress,
                learnings,
                archived_learnings: old_learnings
                    .map(|(id, reason)| Archival { id: NotebookLearningId(id), reason: reason.into() })
                    .collect(),
                snippets,
                archived_snippets: old_snippets
                    .map(|(id, reason)| Archival { id: SnippetId(id), reason: reason.into() })
                    .collect(),
            }
        },
    )
}

fn a_line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["x", "y", "🗝", "too long"])
}

fn a_key() -> impl Strategy<Value = Key> {
    prop::sample::select(vec!["a", "b", "ключ"]).prop_map(key)
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["x", "", "two words", "\"q\"\n\u{1}", "🗝", " "]).prop_map(String::from)
}

fn note() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["x", "y", "z", "🗝", "🗝", "two words", " "]).prop_map(String::from)
}

fn separator() -> impl Strategy<Value = Separator> {
    prop_oneof![Just(Separator::None), Just(Separator::Line)]
}

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        6 => Just(Condition::None),
        2 => Just(Condition::Right),
        1 => Just(Condition::Wrong),
        1 => Just(Condition::MustNotExist),
    ]
}

fn value() -> impl Strategy<Value = Content> {
    let other = prop::sample::select(vec!["7", "-0.5e3", "true", "null", "[1,\"a\"]", "{\"b\":{},\"a\":2}"]);
    prop_oneof![
        3 => text().prop_map(|text| Content::of(&text).unwrap()),
        2 => other.prop_map(|json| Content::from_json(json).unwrap()),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let kinds = vec![MemoryKind::Fact, MemoryKind::Event, MemoryKind::Correction];
    let rest = (
        prop::option::weighted(0.2, prop_oneof![9 => 0.0..=1.0_f32, 1 => Just(2.0)]),
        prop::option::weighted(0.2, prop::collection::vec(prop::sample::select(vec!["t", "tag", "long"]), 0..3)),
        prop::option::weighted(0.2, prop::sample::select(kinds)),
        prop::option::weighted(0.1, 0..2_u32),
        prop::option::weighted(0.1, custom()),
        prop::option::weighted(0.1, Just("cy")),
        prop::option::weighted(0.1, Just("s1")),
    );
    let rest = rest.prop_map(|(importance, tags, kind, expiry_days, custom, author, session)| EntryMetadata {
        importance,
        tags: tags.map(|tags| tags.into_iter().map(String::from).collect()),
        kind,
        expiry_days,
        custom,
        author: author.map(String::from),
        session: session.map(String::from),
        // A session means text from outside, an author an agent's text.
        trust: session.map(|_| Trust::Outside).or(author.map(|_| Trust::Agent)),
        ..EntryMetadata::default()
    });
    (prop::option::weighted(0.4, -500..6_000_i64), prop::option::weighted(0.1, 0..9_000_i64), rest)
        .prop_map(|(expires_in, said_before, rest)| Metadata { expires_in, said_before, rest })
}

fn custom() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
        Just(serde_json::json!([{ "x": [true, null] }])),
    ];
    prop::collection::btree_map(prop::sample::select(vec!["p", "q"]), value, 0..2)
        .prop_map(|map| map.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn absorbed() -> impl Strategy<Value = Vec<Absorbed>> {
    let entry = (a_key(), value(), prop::option::weighted(0.4, -500..6_000_i64));
    prop::collection::vec(entry.prop_map(|(key, value, expires_in)| Absorbed { key, value, expires_in }), 0..3)
}

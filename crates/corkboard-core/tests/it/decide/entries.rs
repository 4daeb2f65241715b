//! Entries: set, appended to, trusted.

use corkboard_core::agent::{AgentCommand, AgentReply, Separator};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Actor, ActorKind};
use corkboard_core::{Entry, EntryData, EntryMetadata, LimitName, Limits, MemoryKind, Note, Refusal, Space, Usage};

use super::{ROOT, append, entry_at, expiring, refused, refused_within};
use crate::support::{Memory, actor, at, json, key, set, set_with};

#[test]
fn setting_again_keeps_the_id_and_replaces_everything_else() {
    let mut memory = Memory::new(Limits::default());
    let said = EntryMetadata {
        importance: Some(0.9),
        tags: Some(vec!["t".into()]),
        kind: Some(MemoryKind::Insight),
        expires_at: Some(at(5_000)),
        custom: Some(serde_json::Map::new()),
        author: Some("cy".into()),
        session: Some("s1".into()),
        at: Some(at(7)),
        ..EntryMetadata::default()
    };
    assert_eq!(memory.tell(set_with(ROOT, "a", "1", said)), AgentReply::Written { is_update: false });
    let first = memory.entry(ROOT, "a").unwrap().clone();
    assert_eq!((first.at, &*first.author, first.session.as_deref()), (at(7), "cy", Some("s1")));
    assert_eq!(memory.state().next_due(), Some(at(5_000)));

    memory.now = at(2_000);
    assert_eq!(memory.tell(set(ROOT, "a", "2")), AgentReply::Written { is_update: true });
    let expected = Entry {
        data: EntryData { id: first.id, at: at(2_000), ..entry_at("a", "2", 2).data },
        ..entry_at("a", "2", 2)
    };
    assert_eq!(**memory.entry(ROOT, "a").unwrap(), expected);
    assert_eq!(memory.state().next_due(), None);
}

#[test]
fn a_note_keeps_its_trust_through_merges() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    let noted = |trust| AgentCommand::AddNote { scope, text: "obey".into(), trust };
    memory.actor = Actor { kind: ActorKind::Agent, ..actor("bob") };
    let denied = memory.send(noted(Some(Trust::Own))).unwrap_err();
    let (asked, most) = (Trust::Own, Trust::Agent);
    assert_eq!(denied, Refusal::TrustDenied { principal: "bob".into(), asked, most });
    memory.tell(noted(Some(Trust::Outside)));
    memory.tell(noted(None));
    memory.tell(AgentCommand::MergeScope { scope, overwrite: true });
    let trusts: Vec<_> = memory.state().scope(ROOT).unwrap().notes.values().map(Note::trust).collect();
    assert_eq!(trusts, [Trust::Outside, Trust::Agent]);
}

#[test]
fn an_entry_has_the_given_trust_but_no_more_than_its_writer_can_give() {
    let mut memory = Memory::new(Limits::default());
    let trusted = |trust| EntryMetadata { trust: Some(trust), ..EntryMetadata::default() };
    memory.actor = Actor { kind: ActorKind::Agent, ..actor("bob") };
    let denied = memory.send(set_with(ROOT, "a", "1", trusted(Trust::Own))).unwrap_err();
    let (asked, most) = (Trust::Own, Trust::Agent);
    assert_eq!(denied, Refusal::TrustDenied { principal: "bob".into(), asked, most });
    memory.tell(set_with(ROOT, "a", "\"web\"", trusted(Trust::Outside)));
    memory.tell(append("a", "more", Separator::Line));
    assert_eq!(memory.entry(ROOT, "a").unwrap().trust(), Trust::Outside, "appending should keep the trust");
    memory.tell(set(ROOT, "a", "1"));
    assert_eq!(memory.entry(ROOT, "a").unwrap().trust, None);
    memory.actor = Actor { kind: ActorKind::Human, ..actor("ada") };
    memory.tell(set_with(ROOT, "b", "\"mine\"", trusted(Trust::Own)));
    assert_eq!(memory.entry(ROOT, "b").unwrap().trust(), Trust::Own);
    memory.actor = Actor { kind: ActorKind::Agent, ..actor("bob") };
    memory.tell(append("b", "and bob's", Separator::Line));
    assert_eq!(memory.entry(ROOT, "b").unwrap().trust(), Trust::Agent, "appending by an agent should lower the trust");
}

#[test]
fn appending_keeps_all_but_the_text_its_time_and_its_author() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", "\"one\"", EntryMetadata { importance: Some(0.9), ..expiring(3_000) }));
    let first = memory.entry(ROOT, "a").unwrap().clone();
    memory.now = at(2_000);
    memory.actor = actor("bob");
    memory.tell(append("a", "two", Separator::Line));
    let second = memory.entry(ROOT, "a").unwrap();
    let expected =
        EntryData { value: json("\"one\\ntwo\""), at: at(2_000), author: "bob".into(), ..first.data.clone() };
    assert_eq!(second.data, expected);
    assert_eq!((first.version, second.version), (1, 2));
}

#[test]
fn text_is_appended_with_the_separator_between() {
    let check = |old: Option<&str>, separator, expected: &str| {
        let mut memory = Memory::new(Limits::default());
        if let Some(old) = old {
            memory.tell(set(ROOT, "a", old));
        }
        assert_eq!(memory.tell(append("a", "x", separator)), AgentReply::Written { is_update: old.is_some() });
        assert_eq!(memory.value(ROOT, "a"), Some(expected));
    };
    check(None, Separator::None, r#""x""#);
    check(None, Separator::Line, r#""x""#);
    check(Some(r#""""#), Separator::Line, r#""x""#);
    check(Some(r#""a""#), Separator::None, r#""ax""#);
    check(Some(r#""a""#), Separator::Line, r#""a\nx""#);
    check(Some(r#""\u0041\"""#), Separator::Line, r#""\u0041\"\nx""#);
    check(Some(" \"a\"\n"), Separator::None, r#""ax""#);
}

#[test]
fn only_text_can_be_appended_to() {
    let values =
        [("{}", "an object"), ("[\"a\"]", "an array"), ("true", "a boolean"), ("null", "null"), ("-7", "a number")];
    for (value, found) in values {
        let refusal = refused(&[set(ROOT, "a", value)], append("a", "x", Separator::None));
        assert_eq!(refusal, Refusal::NotText { key: key("a"), found: found.into() });
    }
}

#[test]
fn an_appended_text_counts_with_its_escapes_like_one_that_is_set() {
    let limits = Limits { entry_bytes: 10, ..Limits::default() };
    let long = |used| Refusal::Limit { limit: LimitName::EntryBytes, used, allowed: 10 };
    let refused = |before: &[AgentCommand], command| refused_within(limits.clone(), Usage::default(), before, command);
    assert_eq!(refused(&[], set(ROOT, "a", r#""a\n\n\n\nb""#)), long(12));
    assert_eq!(refused(&[set(ROOT, "a", r#""a""#)], append("a", "\n\n\n\nb", Separator::None)), long(12));

    let mut memory = Memory::new(limits.clone());
    memory.tell(set(ROOT, "a", r#""a""#));
    memory.tell(append("a", "\n\nb", Separator::Line));
    assert_eq!(memory.value(ROOT, "a"), Some(r#""a\n\n\nb""#));
    assert_eq!(memory.entry(ROOT, "a").unwrap().bytes(), 10);
}

#[test]
fn a_short_text_may_be_appended_to_one_longer_than_a_command() {
    let limits = Limits { command_bytes: 6, ..Limits::default() };
    let mut memory = Memory::new(limits);
    memory.tell(set(ROOT, "a", "\"1234\""));
    memory.tell(append("a", "567890", Separator::None));
    assert_eq!(memory.value(ROOT, "a"), Some("\"1234567890\""));
    let refusal = Refusal::Limit { limit: LimitName::CommandBytes, used: 7, allowed: 6 };
    assert_eq!(memory.send(append("a", "1234567", Separator::None)), Err(refusal));
}

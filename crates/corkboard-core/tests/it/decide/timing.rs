//! Expiry, and how long idempotency keys are remembered.

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentReply, Separator};
use corkboard_core::{Limits, Refusal, RequestOutcome, Space};
use jiff::Timestamp;

use super::{NOWHERE, ROOT, append, expiring, if_version, named};
use crate::support::{Memory, at, events, key, note, reply, set, set_with};

#[test]
fn due_entries_expire_in_the_revision_of_the_next_command() {
    let mut memory = Memory::new(Limits { entries_per_agent: 2, ..Limits::default() });
    let scope = memory.create_scope("s", ROOT);
    memory.tell(set_with(ROOT, "late", "1", expiring(60)));
    memory.tell(set_with(scope, "soon", "1", expiring(20)));
    assert_eq!(memory.state().next_due(), Some(at(1_020)));

    memory.now = at(1_060);
    // The expired entry makes room for the command.
    let outcome = memory.send(if_version(set(ROOT, "late", "2"), 0)).unwrap();
    let expired = |scope, name| AgentEvent::EntryExpired { scope, key: key(name) };
    assert_eq!(events(&outcome)[..2], [expired(scope, "soon"), expired(ROOT, "late")]);
    assert!(matches!(&events(&outcome)[2..], [AgentEvent::EntrySet { is_update: false, .. }]));
    assert_eq!(reply(&outcome), AgentReply::Written { is_update: false });
    assert_eq!(memory.rev(), 4);
    assert_eq!(memory.state().next_due(), None);
    assert_eq!((memory.entry(scope, "soon"), memory.value(ROOT, "late")), (None, Some("2")));
}

#[test]
fn a_refused_command_expires_nothing_and_a_tick_only_due_entries() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", "1", expiring(20)));
    assert_eq!(memory.send(AgentCommand::Tick), Ok(RequestOutcome::Unchanged { reply: AgentReply::Done, rev: 1 }));

    memory.now = at(1_020);
    memory.send(note(NOWHERE, "x")).unwrap_err();
    assert_eq!(memory.entry(ROOT, "a").map(|entry| entry.is_expired(memory.now)), Some(true));
    assert_eq!(memory.state().scope(ROOT).unwrap().get("a", memory.now), None);

    let outcome = memory.send(AgentCommand::Tick).unwrap();
    assert_eq!(events(&outcome), [AgentEvent::EntryExpired { scope: ROOT, key: key("a") }]);
    assert_eq!((memory.rev(), memory.entry(ROOT, "a")), (2, None));
}

#[test]
fn a_command_without_effect_writes_no_revision_and_remembers_no_key() {
    let mut memory = Memory::new(Limits::default());
    let nothing = || AgentCommand::Remove { scope: ROOT, key: key("a"), if_version: Some(0) };
    let removed = AgentReply::Removed { existed: false };
    assert_eq!(memory.send(nothing()), Ok(RequestOutcome::Unchanged { reply: removed, rev: 0 }));

    assert_eq!(memory.request(&named("k", nothing())), Ok(RequestOutcome::Unchanged { reply: removed, rev: 0 }));
    // Nothing was remembered, so the key is free for another request, whose answer is remembered.
    memory.request(&named("k", set(ROOT, "a", "1"))).unwrap();
    let refusal = memory.request(&named("k", nothing())).unwrap_err();
    assert!(matches!(refusal, Refusal::IdempotencyMismatch { rev: 1, .. }), "{refusal:?}");
}

#[test]
fn a_command_that_only_expired_something_remembers_no_key() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", "1", expiring(20)));
    memory.now = at(1_020);
    let nothing = || AgentCommand::Remove { scope: ROOT, key: key("b"), if_version: None };
    let outcome = memory.request(&named("k", nothing())).unwrap();
    assert_eq!(events(&outcome), [AgentEvent::EntryExpired { scope: ROOT, key: key("a") }]);
    memory.tell(set(ROOT, "b", "1"));
    memory.request(&named("k", nothing())).unwrap();
    assert_eq!(memory.value(ROOT, "b"), None, "the repeat should be decided again");
}

/// `ClearAll` also clears content outside this space, so its key is remembered.
#[test]
fn clearing_an_empty_memory_remembers_its_key() {
    let mut memory = Memory::new(Limits::default());
    let outcome = memory.request(&named("k", AgentCommand::ClearAll)).unwrap();
    assert_eq!((events(&outcome), memory.rev()), (&[][..], 1));
    memory.tell(set(ROOT, "a", "1"));
    let reply = AgentReply::Cleared { entries: 0 };
    assert_eq!(memory.request(&named("k", AgentCommand::ClearAll)), Ok(RequestOutcome::Unchanged { reply, rev: 1 }));
    assert_eq!(memory.value(ROOT, "a"), Some("1"));
}

#[test]
fn keys_of_others_survive_any_number_of_commands_by_one_principal() {
    let mut memory = Memory::new(Limits { idempotency_keys: 20, ..Limits::default() });
    let as_actor = |memory: &mut Memory, name: &str| memory.actor = crate::support::actor(name);
    as_actor(&mut memory, "ada");
    let once = || named("ada-1", append("log", "once", Separator::None));
    memory.request(&once()).unwrap();
    let answered = memory.rev();
    as_actor(&mut memory, "mallory");
    for count in 0..1_050 {
        memory.request(&named(&format!("m{count}"), note(ROOT, "spam"))).unwrap();
        let nothing = AgentCommand::Remove { scope: ROOT, key: key("none"), if_version: None };
        memory.request(&named(&format!("n{count}"), nothing)).unwrap();
    }
    assert_eq!(memory.rev(), answered + 1_050, "a command without effect should write no revision");
    as_actor(&mut memory, "ada");
    let again = memory.request(&once()).unwrap();
    assert!(matches!(again, RequestOutcome::Unchanged { rev, .. } if rev == answered), "{again:?}");
}

#[test]
fn a_key_is_free_again_after_its_retention_and_kept_until_then() {
    let mut memory = Memory::new(Limits { idempotency_hours: 1, ..Limits::default() });
    memory.request(&named("k", set(ROOT, "a", "1"))).unwrap();
    memory.now = at(1_000 + 3_599);
    memory.request(&named("k", set(ROOT, "a", "2"))).unwrap_err();
    memory.now = at(1_000 + 3_600);
    memory.request(&named("k", set(ROOT, "a", "2"))).unwrap();

    for hours in [i64::MAX as u64, u64::MAX] {
        memory.limits.idempotency_hours = hours;
        memory.now = Timestamp::MAX;
        let again = memory.request(&named("k", set(ROOT, "a", "2")));
        assert_eq!(again, Ok(RequestOutcome::Unchanged { reply: AgentReply::Written { is_update: true }, rev: 2 }));
    }
}

#[test]
fn an_idle_conversation_expires_by_an_event_and_starts_again() {
    let mut memory = Memory::new(Limits::default());
    let scope = corkboard_core::ScopeId(uuid::Uuid::from_u128(0xc0));
    let conversation = corkboard_core::ConversationId::new("c-1", &memory.limits).unwrap();
    let converse = |command| {
        let (conversation, command) = (conversation.clone(), Box::new(command));
        corkboard_core::Request::new(AgentCommand::Converse { conversation, scope, idle_ms: 100_000, command })
    };
    // The command has no JSON form, so it is decided directly.
    let tell = |memory: &mut Memory, command| {
        let outcome = memory.decide(&converse(command)).unwrap();
        if let RequestOutcome::Commit { commit, .. } = &outcome {
            let id = crate::support::commit_id(memory.live.head.rev + 1);
            memory.live.apply(commit, id, &memory.limits).unwrap();
        }
        outcome
    };
    // A command without effect does not start it.
    let remove = || AgentCommand::Remove { scope, key: key("a"), if_version: None };
    assert!(matches!(tell(&mut memory, remove()), RequestOutcome::Unchanged { rev: 0, .. }));
    let begun = tell(&mut memory, set(scope, "a", "1"));
    let [
        AgentEvent::ScopeCreated { id, .. },
        AgentEvent::EntrySet { .. },
        AgentEvent::ConversationRenewed { until, .. },
    ] = events(&begun)
    else {
        panic!("{begun:?}")
    };
    assert_eq!((*id, *until, memory.state().next_due()), (scope, at(1_100), Some(at(1_100))));
    // A use within a hundredth of the idle time writes nothing. A later one, reads included, renews it.
    memory.now = at(1_000) + jiff::SignedDuration::from_millis(999);
    assert!(matches!(events(&tell(&mut memory, set(scope, "a", "2"))), [AgentEvent::EntrySet { .. }]));
    memory.now = at(1_001);
    let renewed = AgentEvent::ConversationRenewed { scope, until: at(1_101) };
    assert_eq!(events(&tell(&mut memory, AgentCommand::Tick)), [renewed]);
    let loaded = corkboard_core::Revisioned::decode(&memory.live.encode().unwrap()).unwrap();
    assert_eq!(loaded, memory.live);

    memory.now = at(1_101);
    assert!(memory.state().conversation(scope, memory.now).is_none());
    let expired = memory.send(AgentCommand::Tick).unwrap();
    assert!(matches!(events(&expired), [AgentEvent::ScopeDisposed { entries: 1, .. }]), "{expired:?}");
    assert_eq!((memory.state().scopes().count(), memory.state().next_due()), (0, None));
    assert!(matches!(events(&tell(&mut memory, set(scope, "a", "3"))), [AgentEvent::ScopeCreated { .. }, ..]));
}

//! Entries that are forgotten for good are in no revision.

use std::sync::Arc;

use crate::core_support::*;
use corkboard_core::knowledge::{
    CoreCommand, CoreEdit, CoreEntryId, CoreForget, CoreImage, CoreReply, CoreState, NewCoreEntry,
};
use corkboard_core::{Actor, ActorKind, Refusal, Revisioned, Role, Space};

/// The log without what is to be forgotten.
pub(crate) fn redacted(log: &[Arc<[u8]>], forget: &CoreForget) -> Vec<Arc<[u8]>> {
    let without = log.iter().map(|line| {
        let mut commit = CoreCommit::decode(line).unwrap();
        for event in &mut commit.events {
            CoreState::redact(event, &mut forget.clone());
        }
        commit.encode().unwrap().into()
    });
    without.collect()
}

/// All texts in a log and a state, each with its entry.
pub(crate) fn texts(log: &[Arc<[u8]>], state: &CoreState) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for line in log {
        for event in CoreCommit::decode(line).unwrap().events {
            CoreState::each_text_of(&event, &mut |id, text| texts.push((id.to_string(), text.to_owned())));
        }
    }
    state.each_text(&mut |id, text| texts.push((id.to_string(), text.to_owned())));
    texts
}

/// E-1 has the secret in its content, E-2 had it in a tag, E-3 has it in the reason why it is forgotten. E-4 never had
/// it.
fn shelf() -> Shelf {
    let mut shelf = Shelf::new();
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    shelf.tell(add("the password is hunter2"));
    shelf.tell(add(NewCoreEntry { tags: tags(&["kept tag", "of hunter2"]), ..NewCoreEntry::new("second") }));
    let edit = CoreEdit { tags: Some(vec!["kept tag".into()]), ..CoreEdit::default() };
    shelf.tell(CoreCommand::Edit { entry: CoreEntryId(2), edit: Box::new(edit), if_version: None });
    shelf.tell(add("third"));
    let reason = Some("it names hunter2".into());
    shelf.tell(CoreCommand::Forget { entry: CoreEntryId(3), reason, if_version: None });
    shelf.tell(add("fourth"));
    let image = CoreImage::of(shelf.state(), shelf.now);
    shelf.tell(CoreCommand::Replace { image: Box::new(image) });
    shelf
}

#[test]
fn forgotten_entries_are_in_no_revision() {
    let text = || CoreForget::Text { text: "hunter2".into() };
    let entry = |id| CoreForget::Entry { id: CoreEntryId(id) };
    for (forget, removed, left) in [
        (text(), 2, &["second", "kept tag", "fourth"][..]),
        (entry(1), 1, &["second", "kept tag", "of hunter2", "third", "it names hunter2", "fourth"]),
        (entry(2), 1, &["the password is hunter2", "third", "it names hunter2", "fourth"]),
    ] {
        let mut shelf = shelf();
        let reply = shelf.tell(CoreCommand::ForgetHard { forget: forget.clone() });
        assert_eq!(reply, CoreReply::Cleared { entries: removed });
        let log = redacted(&shelf.log, &forget);
        assert_eq!(replay(Revisioned::default(), &log, &shelf.limits), shelf.live);
        let found = texts(&log, shelf.state());
        let mut found: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
        found.sort_unstable();
        found.dedup();
        let mut left = left.to_vec();
        // The text of E-3 is removed with its reason only if the entry is.
        if forget == text() {
            left.push("third");
        }
        left.sort_unstable();
        assert_eq!(found, left, "{forget:?}");
        // Again, there is nothing to do.
        let rev = shelf.rev();
        assert_eq!(shelf.tell(CoreCommand::ForgetHard { forget }), CoreReply::Cleared { entries: 0 });
        assert_eq!(shelf.rev(), rev);
    }
}

#[test]
fn a_forgotten_text_can_be_added_again() {
    let mut shelf = shelf();
    shelf.tell(CoreCommand::ForgetHard { forget: CoreForget::Entry { id: CoreEntryId(1) } });
    assert_eq!(shelf.add(&human("ann"), "the password is hunter2").id, CoreEntryId(5));
}

#[test]
fn who_may_forget_for_good() {
    let erase = || CoreCommand::ForgetHard { forget: CoreForget::Entry { id: CoreEntryId(1) } };
    let mut shelf = shelf();
    for role in [Role::Orchestrator, Role::Worker, Role::Reviewer] {
        let refusal = shelf.refused(&Actor::new("bob", ActorKind::Agent, role), erase());
        assert!(matches!(refusal, Refusal::RoleDenied { .. }), "{refusal:?}");
    }
    let mut own = Shelf::of_agent("bob");
    own.add(&agent("bob"), "mine");
    assert_eq!(own.ask(&agent("bob"), erase()), Ok(CoreReply::Cleared { entries: 1 }));
}

#[test]
fn what_cannot_be_forgotten_is_refused() {
    let mut shelf = shelf();
    for id in [0, 5] {
        let id = CoreEntryId(id);
        let refusal = shelf.refused(&human("ann"), CoreCommand::ForgetHard { forget: CoreForget::Entry { id } });
        assert_eq!(refusal, Refusal::NotInCore { entry: id });
    }
    for text in ["", "ab", "  ab  "] {
        let forget = CoreForget::Text { text: text.into() };
        let refusal = shelf.refused(&human("ann"), CoreCommand::ForgetHard { forget });
        assert_eq!(refusal, Refusal::TextTooShort { least: 3 });
    }
}

//! The rules of memory cores, one by one.

use crate::core_support::*;
use corkboard_core::knowledge::{
    AddedHow, CoreCommand, CoreEdit, CoreEntryId, CoreImage, CoreReply, Expiry, NewCoreEntry, Trust, Withdrawal,
};
use corkboard_core::{Actor, BoardId, IdempotencyKey, LimitName, Limits, MemoryKind, Refusal, Request, Role};

fn edit(entry: u64, edit: CoreEdit, if_version: Option<u64>) -> CoreCommand {
    CoreCommand::Edit { entry: CoreEntryId(entry), edit: Box::new(edit), if_version }
}

fn text(content: &str) -> CoreEdit {
    CoreEdit { content: Some(content.into()), ..CoreEdit::default() }
}

fn forget(entry: u64) -> CoreCommand {
    CoreCommand::Forget { entry: CoreEntryId(entry), reason: Some("outdated".into()), if_version: None }
}

fn restore(entry: u64) -> CoreCommand {
    CoreCommand::Restore { entry: CoreEntryId(entry), if_version: None }
}

fn on_board(content: &str, board: &str, item: &str, author: &str) -> NewCoreEntry {
    let board = Some(BoardId::new(board, &Limits::default()).unwrap());
    NewCoreEntry { board, item: Some(item.into()), author: Some(author.into()), ..NewCoreEntry::new(content) }
}

fn withdraw(name: &str) -> CoreCommand {
    CoreCommand::Withdraw { of: Withdrawal::Author { name: name.into() } }
}

#[test]
fn the_same_text_is_one_entry() {
    let mut shelf = Shelf::new();
    let first = NewCoreEntry { importance: Some(0.4), tags: vec!["a".into()], .."Deploy on  Tuesdays".into() };
    assert_eq!(shelf.add(&agent("ann"), first).how, AddedHow::New);
    let again = NewCoreEntry {
        importance: Some(0.9),
        tags: vec!["b".into(), "a".into(), "b".into()],
        kind: MemoryKind::Insight,
        ..on_board("\tDeploy on\nTuesdays ", "b-1", "D-1", "bob")
    };
    let added = shelf.add(&agent("carl"), again.clone());
    assert_eq!((added.id, added.how), (CoreEntryId(1), AddedHow::Merged));
    let entry = shelf.entry(added.id);
    assert_eq!(&*entry.content, "Deploy on  Tuesdays", "the first wording should stay");
    assert_eq!((entry.importance, entry.kind, entry.version), (0.9, MemoryKind::Fact, 2));
    assert_eq!(entry.tags, ["a".into(), "b".into()]);
    assert_eq!((entry.author(), entry.trust()), ("ann", Trust::Agent));
    let origin = &entry.provenance[1];
    assert_eq!((&*origin.author, origin.promoted_by.as_deref(), origin.trust), ("bob", Some("carl"), Trust::Agent));
    assert_eq!((origin.item.as_deref(), entry.provenance.len()), (Some("D-1"), 2));
    // The same text from the same author again adds nothing.
    shelf.pass(1_000);
    assert_eq!(shelf.add(&agent("carl"), again).how, AddedHow::Merged);
    assert_eq!(shelf.rev(), 2);
    // Upper and lower case are distinguished.
    assert_eq!(shelf.add(&human("ann"), "deploy on tuesdays").how, AddedHow::New);
}

#[test]
fn many_are_added_in_one_revision_or_none() {
    let mut shelf = Shelf::with(Limits { entries_per_addition: 4, ..Limits::default() });
    let entries = ["one", "two", " one"].map(NewCoreEntry::from).to_vec();
    let CoreReply::Added { entries } = shelf.tell(CoreCommand::Add { entries }) else { panic!() };
    let told: Vec<_> = entries.iter().map(|added| (added.id.0, added.how)).collect();
    assert_eq!(told, [(1, AddedHow::New), (2, AddedHow::New), (1, AddedHow::Merged)]);
    assert_eq!(shelf.rev(), 1);
    let refusal =
        shelf.refused(&human("ann"), CoreCommand::Add { entries: ["three", " "].map(NewCoreEntry::from).to_vec() });
    assert_eq!(refusal, Refusal::Blank { what: "entry".into() });
    let entries = ["3", "4", "5", "6", "7"].map(NewCoreEntry::from).to_vec();
    let refusal = shelf.refused(&human("ann"), CoreCommand::Add { entries });
    assert_eq!(refusal, Refusal::Limit { limit: LimitName::EntriesPerAddition, used: 5, allowed: 4 });
}

#[test]
fn entries_are_exchanged_in_one_revision_or_not_at_all() {
    let mut shelf = Shelf::new();
    for text in ["one", "two", "three"] {
        shelf.add(&human("ann"), text);
    }
    let exchange = |remove: &[u64], add: &[&str]| CoreCommand::Exchange {
        remove: remove.iter().map(|id| CoreEntryId(*id)).collect(),
        add: add.iter().map(|&text| text.into()).collect(),
    };
    // The text of a removed entry is free again, with a new ID.
    let CoreReply::Added { entries } = shelf.tell(exchange(&[1, 2], &["two", "three"])) else { panic!() };
    let told: Vec<_> = entries.iter().map(|added| (added.id.0, added.how)).collect();
    assert_eq!(told, [(4, AddedHow::New), (3, AddedHow::Merged)]);
    assert_eq!((shelf.rev(), shelf.state().entries().len()), (4, 2));
    for command in [exchange(&[4, 4], &[]), exchange(&[1], &["new"]), exchange(&[4], &[" "])] {
        shelf.refused(&human("ann"), command);
    }
    shelf.tell(exchange(&[], &[]));
    assert_eq!(shelf.rev(), 4);
    let texts = |text: &str| shelf.state().beginning_with(text).map(|entry| entry.id.0).collect::<Vec<_>>();
    assert_eq!((texts("t"), texts(" t"), texts("th"), texts("x")), (vec![3, 4], vec![3, 4], vec![3], vec![]));
}

#[test]
fn the_same_request_again_has_no_second_effect() {
    let mut shelf = Shelf::new();
    let command = CoreCommand::Add { entries: vec!["one".into(), "two".into()] };
    let idempotency = Some(IdempotencyKey::new("k", &command, &shelf.limits).unwrap());
    let request = Request { command, if_rev: None, idempotency };
    let first = shelf.request(&human("ann"), &request).unwrap();
    shelf.tell(CoreCommand::Clear);
    assert_eq!(shelf.request(&human("ann"), &request).unwrap(), first);
    assert_eq!((shelf.rev(), shelf.state().entries().len()), (2, 0));
}

/// Promotions rely on it: a late attempt to add a learning finds that the core has a new revision.
#[test]
fn a_withdrawal_with_a_key_writes_a_revision_even_without_effect() {
    let mut shelf = Shelf::new();
    shelf.add(&human("ann"), "one");
    let board = || BoardId::new("plan", &Limits::default()).unwrap();
    let request = |key: &str, command: CoreCommand| {
        let idempotency = Some(IdempotencyKey::new(key, &command, &Limits::default()).unwrap());
        Request { command, if_rev: None, idempotency }
    };
    let of = Withdrawal::Item { board: board(), item: "D-3".into() };
    let promotion = Withdrawal::Promotion { board: board(), item: "D-3".into(), board_rev: 7 };
    let nothing = CoreReply::Withdrawn { removed: 0, kept: 0, forgotten: 0 };
    for (key, of) in [("out", of.clone()), ("back", promotion)] {
        let (rev, request) = (shelf.rev(), request(key, CoreCommand::Withdraw { of }));
        assert_eq!(shelf.request(&human("ann"), &request).unwrap(), nothing);
        assert_eq!(shelf.rev(), rev + 1);
        assert_eq!(shelf.request(&human("ann"), &request).unwrap(), nothing);
        assert_eq!(shelf.rev(), rev + 1, "once");
    }
    // Without a key, a withdrawal without effect writes no revision. Neither does any other command without effect.
    let rev = shelf.rev();
    shelf.tell(CoreCommand::Withdraw { of });
    let author = CoreCommand::Withdraw { of: Withdrawal::Author { name: "zoe".into() } };
    shelf.request(&human("ann"), &request("author", author)).unwrap();
    shelf.request(&human("ann"), &request("restore", restore(1))).unwrap();
    assert_eq!(shelf.rev(), rev);
}

#[test]
fn a_forgotten_entry_returns_by_a_restore_or_when_it_is_added_again() {
    let mut shelf = Shelf::new();
    shelf.add(&human("ann"), "one");
    assert_eq!(shelf.tell(forget(1)), CoreReply::Changed { version: 2 });
    assert_eq!(shelf.tell(forget(1)), CoreReply::Changed { version: 2 }, "forgetting it again changes nothing");
    let mark = shelf.entry(CoreEntryId(1)).forgotten.clone().unwrap();
    assert_eq!((&*mark.by, mark.reason.as_deref()), ("ann", Some("outdated")));
    assert_eq!(shelf.state().counts(shelf.now), (0, 1));
    let refusal = shelf.refused(&human("ann"), edit(1, text("two"), None));
    assert_eq!(refusal, Refusal::EntryForgotten { entry: CoreEntryId(1) });
    assert_eq!(shelf.tell(restore(1)), CoreReply::Changed { version: 3 });
    assert_eq!(shelf.state().counts(shelf.now), (1, 0));
    shelf.tell(forget(1));
    assert_eq!(shelf.add(&human("ann"), "one").how, AddedHow::Restored);
    assert_eq!(shelf.entry(CoreEntryId(1)).forgotten, None);
    assert_eq!(shelf.refused(&human("ann"), restore(7)), Refusal::NotInCore { entry: CoreEntryId(7) });
}

#[test]
fn an_edit_is_conditional_and_makes_no_duplicate() {
    let mut shelf = Shelf::new();
    shelf.add(&human("ann"), "one");
    shelf.add(&human("ann"), "two");
    let conflict = shelf.refused(&human("ann"), edit(1, text("three"), Some(2)));
    assert!(matches!(conflict, Refusal::CoreConflict { expected: 2, current } if current.version == 1));
    let refusal = shelf.refused(&human("ann"), edit(1, text("two "), Some(1)));
    assert_eq!(refusal, Refusal::SameText { entry: CoreEntryId(1), other: CoreEntryId(2) });
    assert_eq!(shelf.tell(edit(1, text("three"), Some(1))), CoreReply::Changed { version: 3 });
    assert_eq!(shelf.tell(edit(1, text("three"), None)), CoreReply::Changed { version: 3 }, "nothing changes");
    assert_eq!(shelf.add(&human("ann"), "one").how, AddedHow::New, "the old text should be free again");
    let importance = CoreEdit { importance: Some(f32::NAN), ..CoreEdit::default() };
    assert!(matches!(shelf.refused(&human("ann"), edit(1, importance, None)), Refusal::Importance { .. }));
}

#[test]
fn an_entry_with_the_pattern_tag_must_be_a_task_pattern() {
    let (mut shelf, ann) = (Shelf::new(), human("ann"));
    let pattern =
        |content: &str| NewCoreEntry { tags: vec!["api".into(), "task-pattern".into()], ..NewCoreEntry::new(content) };
    let tagged = || CoreEdit { tags: Some(vec!["task-pattern".into()]), ..CoreEdit::default() };
    let number = Refusal::TaskPattern { line: 3, reason: "expected number 2, found 3".into() };
    assert_eq!(shelf.refused(&ann, add(pattern("Route\n1. a\n3. b"))), number);
    // All entries are added, or none.
    let entries = vec![pattern("1. a"), pattern("no steps")];
    let none = Refusal::TaskPattern { line: 1, reason: "no line begins with a number and a full stop".into() };
    assert_eq!(shelf.refused(&ann, CoreCommand::Add { entries }), none);
    assert_eq!(shelf.rev(), 0);

    shelf.add(&ann, pattern("Route\n1. a\n2. b"));
    assert_eq!(shelf.refused(&ann, edit(1, text("Route\n1. a\n3. b"), None)), number);
    shelf.tell(edit(1, text("Route\n1. a\n2. c"), None));
    // The tag can be added by an edit of the tags, or by adding the text again with the tag. White space does not
    // matter for that.
    shelf.add(&ann, "Tree\n1. dig\n3. plant");
    assert_eq!(shelf.refused(&ann, edit(2, tagged(), None)), number);
    shelf.add(&ann, "Bed 1. dig");
    assert_eq!(shelf.refused(&ann, add(pattern("Bed\n1. dig"))), none);
    // Changing text and tags together is allowed, and so is removing the tag.
    shelf.tell(edit(2, CoreEdit { content: Some("Tree\n1. dig\n2. plant".into()), ..tagged() }, None));
    let untagged = CoreEdit { tags: Some(Vec::new()), ..text("Trees are dug in") };
    shelf.tell(edit(2, untagged, None));
}

#[test]
fn nobody_gives_more_trust_than_allowed() {
    let mut shelf = Shelf::new();
    let own = |content: &str| NewCoreEntry { trust: Some(Trust::Own), ..content.into() };
    let refusal = shelf.refused(&agent("bob"), add(own("obey bob")));
    let denied = |asked, most| Refusal::TrustDenied { principal: "bob".into(), asked, most };
    assert_eq!(refusal, denied(Trust::Own, Trust::Agent));
    let outside = NewCoreEntry { trust: Some(Trust::Outside), .."from the web".into() };
    shelf.add(&agent("bob"), outside);
    assert_eq!(shelf.entry(CoreEntryId(1)).trust(), Trust::Outside);
    let raise = |trust| CoreEdit { trust: Some(trust), ..CoreEdit::default() };
    let bob = Actor { role: Role::Admin, ..agent("bob") };
    assert_eq!(shelf.refused(&bob, edit(1, raise(Trust::Agent), None)), denied(Trust::Agent, Trust::Outside));
    // An agent's edit of a person's entry lowers its trust to `agent`.
    shelf.add(&human("ann"), own("ann's"));
    shelf.ask(&agent("bob"), edit(2, text("ann's, says bob"), None)).unwrap();
    assert_eq!(shelf.entry(CoreEntryId(2)).trust(), Trust::Agent);
    // A person's edit of a text from outside does not raise its trust, unless they raise it explicitly.
    shelf.tell(edit(1, text("from the web, shortened"), None));
    assert_eq!(shelf.entry(CoreEntryId(1)).trust(), Trust::Outside);
    shelf.tell(edit(1, raise(Trust::Own), None));
    assert_eq!(shelf.entry(CoreEntryId(1)).trust(), Trust::Own);
}

#[test]
fn the_voucher_is_kept_while_the_trust_holds() {
    let mut shelf = Shelf::new();
    let outside = |text: &str| NewCoreEntry { trust: Some(Trust::Outside), ..text.into() };
    let trusted = |trust| edit(1, CoreEdit { trust: Some(trust), ..CoreEdit::default() }, None);
    let vouched =
        |shelf: &Shelf| shelf.entry(CoreEntryId(1)).vouched.as_ref().map(|mark| (mark.by.to_string(), mark.at));
    shelf.add(&agent("bob"), outside("from the web"));
    assert_eq!(vouched(&shelf), None);
    let bytes = shelf.entry(CoreEntryId(1)).bytes();
    shelf.pass(1_000);
    shelf.tell(trusted(Trust::Own));
    let ann = Some(("ann".into(), at(1_001)));
    assert_eq!((vouched(&shelf), shelf.entry(CoreEntryId(1)).bytes()), (ann.clone(), bytes + 3));
    // Vouching for a trusted entry changes nothing, and other changes do not affect the voucher.
    shelf.pass(1_000);
    shelf.ask(&human("dora"), trusted(Trust::Own)).unwrap();
    shelf.ask(&human("dora"), edit(1, CoreEdit { importance: Some(1.0), ..CoreEdit::default() }, None)).unwrap();
    shelf.add(&agent("carl"), outside("from the web"));
    shelf.tell(forget(1));
    shelf.tell(restore(1));
    assert_eq!(vouched(&shelf), ann);
    let whole = shelf.clone();
    // A person who changes the text becomes its voucher. An agent's change removes the voucher.
    shelf.ask(&human("dora"), edit(1, text("from the web, by dora"), None)).unwrap();
    assert_eq!(vouched(&shelf), Some(("dora".into(), at(1_002))));
    shelf.ask(&agent("bob"), edit(1, text("from the web, by bob"), None)).unwrap();
    assert_eq!((vouched(&shelf), shelf.entry(CoreEntryId(1)).trust()), (None, Trust::Outside));
    // Lowering the trust removes the voucher, and so does withdrawing the origins that were vouched for.
    let mut lowered = whole.clone();
    lowered.tell(trusted(Trust::Agent));
    assert_eq!((vouched(&lowered), lowered.entry(CoreEntryId(1)).trust()), (None, Trust::Agent));
    let mut withdrawn = whole;
    withdrawn.tell(withdraw("bob"));
    assert_eq!((vouched(&withdrawn), withdrawn.entry(CoreEntryId(1)).trust()), (None, Trust::Outside));
    // An entry vouched for as `agent` loses that when its text comes from outside again.
    lowered.tell(trusted(Trust::Outside));
    lowered.tell(trusted(Trust::Agent));
    assert!(vouched(&lowered).is_some());
    lowered.add(&agent("emil"), outside("from the web"));
    assert_eq!((vouched(&lowered), lowered.entry(CoreEntryId(1)).trust()), (None, Trust::Outside));
}

#[test]
fn a_repeat_with_lower_trust_changes_only_the_origins() {
    let mut shelf = Shelf::new();
    let outside = |text: &str| NewCoreEntry {
        trust: Some(Trust::Outside),
        importance: Some(1.0),
        tags: vec!["task-pattern".into()],
        ..text.into()
    };
    shelf.add(&agent("bob"), outside("1. Use the web"));
    shelf.add(&agent("carl"), "1. Use the web");
    assert_eq!(shelf.entry(CoreEntryId(1)).trust(), Trust::Outside, "a repeat by an agent should not raise the trust");
    shelf.add(&human("ann"), "1. Use the web");
    assert_eq!(shelf.entry(CoreEntryId(1)).trust(), Trust::Own, "a repeat by a person should raise the trust");

    shelf.add(&human("ann"), "1. Keep a rule");
    shelf.add(&agent("bob"), outside("1. Keep a rule"));
    let rule = shelf.entry(CoreEntryId(2));
    assert_eq!((rule.trust(), rule.importance, rule.tags.len()), (Trust::Own, 0.5, 0));
    assert_eq!(rule.provenance.len(), 2, "the second origin should be recorded");
}

#[test]
fn one_command_withdraws_everything_from_an_origin() {
    let mut shelf = Shelf::new();
    shelf.add(&agent("carl"), on_board("bob alone", "b-1", "D-1", "bob"));
    shelf.add(&agent("carl"), on_board("bob and dora", "b-1", "D-2", "bob"));
    shelf.add(&agent("carl"), on_board("bob and dora", "b-2", "D-1", "dora"));
    shelf.add(&agent("dora"), "dora alone");
    shelf.ask(&agent("bob"), edit(3, text("dora alone, says bob"), None)).unwrap();
    let before = shelf.clone();
    assert_eq!(shelf.tell(withdraw("bob")), CoreReply::Withdrawn { removed: 1, kept: 1, forgotten: 1 });
    let remembered = shelf.state().entries().values().filter(|entry| entry.forgotten.is_none());
    let left: Vec<_> = remembered.map(|entry| (&*entry.content, entry.author())).collect();
    assert_eq!(left, [("bob and dora", "dora")]);
    // Dora's text is not lost because bob changed it: it is forgotten, and can be restored and corrected.
    assert_eq!(
        shelf.entry(CoreEntryId(3)).forgotten.as_ref().unwrap().reason.as_deref().unwrap(),
        "bob contributed to the text and was rolled back"
    );
    assert_eq!(shelf.rev(), before.rev() + 1);
    // An actor who brought in another author's text counts, too.
    assert_eq!(before.clone().tell(withdraw("carl")), CoreReply::Withdrawn { removed: 2, kept: 0, forgotten: 0 });
    let board = BoardId::new("b-1", &Limits::default()).unwrap();
    let of = Withdrawal::Board { board: board.clone() };
    assert_eq!(
        before.clone().tell(CoreCommand::Withdraw { of }),
        CoreReply::Withdrawn { removed: 1, kept: 1, forgotten: 0 }
    );
    let of = Withdrawal::Item { board, item: "D-2".into() };
    assert_eq!(
        before.clone().tell(CoreCommand::Withdraw { of }),
        CoreReply::Withdrawn { removed: 0, kept: 1, forgotten: 0 }
    );
    let rev = shelf.rev();
    assert_eq!(shelf.tell(withdraw("nobody")), CoreReply::Withdrawn { removed: 0, kept: 0, forgotten: 0 });
    assert_eq!(shelf.rev(), rev);
}

#[test]
fn numbers_and_versions_never_repeat() {
    let mut shelf = Shelf::new();
    shelf.add(&human("ann"), "one");
    shelf.add(&human("ann"), "two");
    let image = CoreImage::of(shelf.state(), shelf.now);
    shelf.add(&human("ann"), "three");
    assert_eq!(shelf.tell(CoreCommand::Clear), CoreReply::Cleared { entries: 3 });
    shelf.tell(CoreCommand::Replace { image: Box::new(image.clone()) });
    assert_eq!(shelf.entry(CoreEntryId(2)).version, 5);
    assert_eq!(shelf.add(&human("ann"), "three").id, CoreEntryId(4));
    let mut twice = image.clone();
    twice.entries[1].content = "one ".into();
    let mut nowhere = image.clone();
    nowhere.entries[0].provenance.clear();
    let beyond = CoreImage { last: CoreEntryId(1), ..image.clone() };
    let endless = CoreImage { last: CoreEntryId(u64::MAX), ..image.clone() };
    let mut again = image;
    again.entries[1].id = CoreEntryId(1);
    for (image, reason) in [
        (twice, "E-2 has the same text as another entry"),
        (nowhere, "E-1 has no origin"),
        (beyond, "E-2 is outside the range E-1 to E-1"),
        (endless, "the last number, E-18446744073709551615, is out of range"),
        (again, "E-1 is listed twice"),
    ] {
        let refusal = shelf.refused(&human("ann"), CoreCommand::Replace { image: Box::new(image) });
        assert_eq!(refusal, Refusal::CoreContradicts { reason: reason.into() });
    }
}

#[test]
fn an_image_has_no_more_trust_than_its_sender_can_give() {
    let replace = |image: &CoreImage| CoreCommand::Replace { image: Box::new(image.clone()) };
    let (ann, bob) = (human("ann"), agent("bob"));
    let mut shelf = Shelf::of_agent("bob");
    shelf.add(&ann, "one");
    let outside = NewCoreEntry { trust: Some(Trust::Outside), ..NewCoreEntry::new("two") };
    shelf.add(&bob, outside);
    shelf.tell(edit(2, CoreEdit { trust: Some(Trust::Own), ..CoreEdit::default() }, None));
    let image = CoreImage::of(shelf.state(), shelf.now);
    let trust = |shelf: &Shelf| [1, 2].map(|id| shelf.entry(CoreEntryId(id)).trust());
    let vouched = |shelf: &Shelf| shelf.entry(CoreEntryId(2)).vouched.is_some();

    shelf.ask(&bob, replace(&image)).unwrap();
    assert_eq!((trust(&shelf), vouched(&shelf)), ([Trust::Own; 2], true), "an unchanged image should keep its trust");
    shelf.tell(CoreCommand::Clear);
    shelf.ask(&bob, replace(&image)).unwrap();
    assert_eq!(
        (trust(&shelf), vouched(&shelf)),
        ([Trust::Agent; 2], false),
        "without existing entries, the trust should be limited"
    );
    shelf.ask(&ann, replace(&image)).unwrap();
    assert_eq!((trust(&shelf), vouched(&shelf)), ([Trust::Own; 2], true), "a person's image should keep its trust");

    // Text from outside does not gain trust, either.
    shelf.tell(CoreCommand::Clear);
    let outside = NewCoreEntry { trust: Some(Trust::Outside), ..NewCoreEntry::new("two") };
    shelf.add(&bob, outside);
    shelf.ask(&bob, replace(&image)).unwrap();
    assert_eq!((trust(&shelf), vouched(&shelf)), ([Trust::Agent, Trust::Outside], false));
}

#[test]
fn entries_expire_forgotten_or_not() {
    let mut shelf = Shelf::new();
    let soon = |content: &str| NewCoreEntry { expires_at: Some(at(1_010)), ..content.into() };
    shelf.add(&human("ann"), soon("one"));
    shelf.add(&human("ann"), soon("two"));
    shelf.add(&human("ann"), soon("three"));
    shelf.tell(forget(2));
    let never = CoreEdit { expiry: Some(Expiry::Never), ..CoreEdit::default() };
    shelf.tell(edit(3, never, None));
    shelf.pass(10_000);
    assert_eq!(shelf.state().counts(shelf.now), (1, 0), "expired entries should not be counted, swept or not");
    assert!(shelf.state().get(CoreEntryId(1), shelf.now).is_none());
    assert_eq!(CoreImage::of(shelf.state(), shelf.now).entries.len(), 1);
    shelf.tell(CoreCommand::Tick);
    assert_eq!(shelf.state().entries().len(), 1);
    let refusal = shelf.refused(&human("ann"), add(soon("late")));
    assert_eq!(refusal, Refusal::Expiry { reason: "it must be in the future".into() });
    // Of two expiries, the later one counts. If one origin has none, the entry does not expire.
    let later = |second: Option<i64>| NewCoreEntry { expires_at: second.map(at), ..NewCoreEntry::new("four") };
    for (second, expected) in [(Some(2_000), Some(2_000)), (Some(1_500), Some(2_000)), (None, None)] {
        let id = shelf.add(&human("ann"), later(second)).id;
        assert_eq!(shelf.entry(id).expires_at, expected.map(at));
    }
}

#[test]
fn limits_hold_and_warn() {
    let limits = Limits {
        core_text_bytes: 10,
        entries_per_core: 5,
        tags_per_entry: 1,
        origins_per_entry: 2,
        state_bytes: 60 + 6 * 32,
        ..Limits::default()
    };
    let mut shelf = Shelf::with(limits);
    let ann = human("ann");
    let limit = |limit, used, allowed| Refusal::Limit { limit, used, allowed };
    assert_eq!(shelf.refused(&ann, add("elf letters")), limit(LimitName::CoreTextBytes, 11, 10));
    let tagged = |tag: &str| NewCoreEntry { tags: vec![tag.into()], .."1".into() };
    shelf.add(&ann, tagged("a"));
    assert_eq!(shelf.refused(&ann, add(tagged("b"))), limit(LimitName::TagsPerEntry, 2, 1));
    shelf.add(&human("bob"), "1");
    assert_eq!(shelf.refused(&human("carl"), add("1")), limit(LimitName::OriginsPerEntry, 3, 2));
    for text in ["2", "3", "4"] {
        shelf.add(&ann, text);
    }
    assert_eq!(shelf.warnings.iter().map(|warning| warning.limit).collect::<Vec<_>>(), [LimitName::EntriesPerCore]);
    shelf.add(&ann, "5");
    assert_eq!(shelf.refused(&ann, add("6")), limit(LimitName::EntriesPerCore, 6, 5));
    let used = shelf.live.state.entries().values().map(|entry| entry.bytes()).sum::<u64>();
    for entry in 2..=4 {
        shelf.tell(edit(entry, text(&format!("{entry}234567890")), None));
    }
    assert_eq!(used, 24 + 6 * 32);
    let refusal = shelf.refused(&ann, edit(5, text("5234567890"), None));
    assert_eq!(refusal, limit(LimitName::StateBytes, 24 + 4 * (9 + 3) + 6 * 32, 60 + 6 * 32));
    shelf.tell(forget(1));
    let observer = Actor { role: Role::Observer, ..ann };
    assert!(matches!(shelf.refused(&observer, CoreCommand::Clear), Refusal::RoleDenied { .. }));
}

#[test]
fn every_refusal_says_what_is_wrong() {
    let mut shelf = Shelf::new();
    shelf.add(&human("ann"), "one");
    let (one, two) = (CoreEntryId(1), CoreEntryId(2));
    let current = Box::new(shelf.entry(one).clone());
    let (asked, most) = (Trust::Own, Trust::Agent);
    let told = [
        Refusal::ReservedName { what: "core name".into(), prefix: "agent:".into() },
        Refusal::NotInCore { entry: two },
        Refusal::EntryForgotten { entry: one },
        Refusal::CoreConflict { expected: 7, current },
        Refusal::SameText { entry: one, other: two },
        Refusal::TaskPattern { line: 2, reason: "expected number 2, found 3".into() },
        Refusal::TrustDenied { principal: "bob".into(), asked, most },
        Refusal::NoPromotion { item: "D-3".into(), board_rev: 7 },
        Refusal::CoreContradicts { reason: "E-1 is listed twice".into() },
    ];
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "a core name must not begin with \"agent:\": that prefix is reserved for agents' private cores",
            "entry E-2 not found in this core",
            "E-1 is forgotten; restore it first",
            "E-1 is at version 1, not 7",
            "E-1 would have the same text as E-2",
            "invalid task pattern: line 2: expected number 2, found 3. Example of a valid pattern:\n\
             How we add a route\n1. Design it ~30m\n2. Write it [review] — with its errors\n\
             3. Release it (after 1, 2)",
            "permission denied: bob does not act as a person and cannot set the trust level `own`, only `agent`",
            "no promotion of D-3 with this content began at board revision 7",
            "invalid memory core: E-1 is listed twice",
        ]
    );
}

#[test]
fn one_promotion_adds_its_entry_once() {
    let ann = human("ann");
    let promoted = |content: &str, board_rev: u64| NewCoreEntry {
        board: Some(BoardId::new("login", &Limits::default()).unwrap()),
        item: Some("F-1".into()),
        board_rev: Some(board_rev),
        ..NewCoreEntry::new(content)
    };
    let mut shelf = Shelf::new();
    let one = shelf.add(&ann, promoted("one", 7));
    // Even if the entry was edited or forgotten since, or would no longer be accepted.
    shelf.tell(edit(1, text("in other words"), None));
    shelf.tell(forget(1));
    let rev = shelf.rev();
    shelf.limits.core_text_bytes = 1;
    assert_eq!(shelf.add(&ann, promoted("one", 7)).id, one.id);
    assert_eq!((shelf.rev(), shelf.state().entries().len()), (rev, 1));
    shelf.limits = Limits::default();
    // Another promotion of the same learning is separate, and each can be withdrawn alone.
    let two = shelf.add(&ann, promoted("one", 9));
    assert_ne!(two.id, one.id);
    shelf.add(&ann, promoted("in other words", 11));
    let board = BoardId::new("login", &Limits::default()).unwrap();
    let of = |board_rev| Withdrawal::Promotion { board: board.clone(), item: "F-1".into(), board_rev };
    assert_eq!(
        shelf.tell(CoreCommand::Withdraw { of: of(7) }),
        CoreReply::Withdrawn { removed: 0, kept: 1, forgotten: 0 }
    );
    assert_eq!(
        shelf.tell(CoreCommand::Withdraw { of: of(9) }),
        CoreReply::Withdrawn { removed: 1, kept: 0, forgotten: 0 }
    );
    assert_eq!(
        shelf.tell(CoreCommand::Withdraw { of: of(9) }),
        CoreReply::Withdrawn { removed: 0, kept: 0, forgotten: 0 }
    );
    // After a withdrawal, the same promotion can add its entry again, because it was not finished.
    shelf.add(&ann, promoted("one", 9));
    assert_eq!(shelf.state().entries().len(), 2);
}

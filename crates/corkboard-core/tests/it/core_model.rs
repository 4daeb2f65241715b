//! Random histories of a memory core, sent by several actors while time passes, compared with a simple reference model.
//!
//! After every revision, `core_support` checks counts and sizes by a scan, and that no two entries have the same text.

use std::collections::{BTreeMap, BTreeSet};

use crate::core_forget;
use crate::core_support::*;
use corkboard_core::knowledge::{
    CoreCommand, CoreEdit, CoreEntry, CoreEntryId, CoreForget, CoreImage, CoreReply, CoreState, Expiry, NewCoreEntry,
    Trust, Withdrawal,
};
use corkboard_core::{Actor, ActorKind, BoardId, Limits, Refusal, Revisioned};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// A command, its sender, and the time that passes before it.
#[derive(Debug, Clone)]
struct Step {
    pass_ms: i64,
    actor: usize,
    action: Action,
}

#[derive(Debug, Clone)]
enum Action {
    Add(Vec<New>),
    Edit(u64, Option<usize>, Option<f32>, Option<Option<i64>>, Option<Trust>),
    Exchange(u64, usize),
    Forget(u64),
    Restore(u64),
    WithdrawAuthor(usize),
    WithdrawBoard(usize),
    Clear,
    /// Replaces the core with an earlier state.
    Replace(Index),
    Tick,
}

/// A text, an importance, a board, an expiry and a trust.
type New = (usize, f32, usize, Option<i64>, Option<Trust>);

const TEXTS: [&str; 6] = ["one", " one\n", "two", "two  words", "two words", "three"];
const BOARDS: [Option<&str>; 3] = [None, Some("b-1"), Some("b-2")];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let importance = prop_oneof![Just(0.0f32), Just(0.5), Just(1.0)];
    let expiry = prop_oneof![3 => Just(None), 1 => (-50..5_000i64).prop_map(Some)];
    // Many texts come from outside and are repeated by others, so that the lowest trust matters.
    let trust = prop_oneof![
        6 => Just(None),
        4 => Just(Some(Trust::Outside)),
        1 => Just(Some(Trust::Agent)),
        1 => Just(Some(Trust::Own)),
    ];
    let edit_trust = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Trust::Outside)),
        1 => Just(Some(Trust::Agent)),
        2 => Just(Some(Trust::Own)),
    ];
    let new = (0..TEXTS.len(), importance.clone(), 0..BOARDS.len(), expiry, trust);
    let edit_expiry = proptest::option::of(proptest::option::of(1..5_000i64));
    let action = prop_oneof![
        6 => proptest::collection::vec(new, 1..4).prop_map(Action::Add),
        5 => (1..8u64, proptest::option::of(0..TEXTS.len()), proptest::option::of(importance), edit_expiry, edit_trust)
            .prop_map(|(id, text, importance, expiry, trust)| Action::Edit(id, text, importance, expiry, trust)),
        // Vouches for an entry, or withdraws that.
        6 => (1..6u64, prop_oneof![Just(Trust::Own), Just(Trust::Agent), Just(Trust::Outside)])
            .prop_map(|(id, trust)| Action::Edit(id, None, None, None, Some(trust))),
        2 => (1..8u64, 0..TEXTS.len()).prop_map(|(id, text)| Action::Exchange(id, text)),
        3 => (1..8u64).prop_map(Action::Forget),
        2 => (1..8u64).prop_map(Action::Restore),
        1 => (0..3usize).prop_map(Action::WithdrawAuthor),
        1 => (1..BOARDS.len()).prop_map(Action::WithdrawBoard),
        1 => Just(Action::Clear),
        1 => any::<Index>().prop_map(Action::Replace),
        1 => Just(Action::Tick),
    ];
    let step = (0..2_000i64, 0..3usize, action).prop_map(|(pass_ms, actor, action)| Step { pass_ms, actor, action });
    proptest::collection::vec(step, 1..40)
}

fn actors() -> [Actor; 3] {
    [human("ann"), agent("bob"), agent("carl")]
}

fn command(action: &Action, now: Timestamp, past: &[CoreImage]) -> CoreCommand {
    let time = |ms: i64| now + SignedDuration::from_millis(ms);
    let board = |number: usize| BOARDS[number].map(|board| BoardId::new(board, &Limits::default()).unwrap());
    match action {
        Action::Add(entries) => {
            let entries = entries.iter().map(|(text, importance, number, expiry, trust)| NewCoreEntry {
                trust: *trust,
                importance: Some(*importance),
                tags: vec![format!("t{number}")],
                board: board(*number),
                expires_at: expiry.map(time),
                ..TEXTS[*text].into()
            });
            CoreCommand::Add { entries: entries.collect() }
        }
        Action::Edit(id, text, importance, expiry, trust) => {
            let expiry = expiry.map(|at| at.map_or(Expiry::Never, |ms| Expiry::At(time(ms))));
            let content = text.map(|text| TEXTS[text].into());
            let edit =
                Box::new(CoreEdit { content, importance: *importance, expiry, trust: *trust, ..CoreEdit::default() });
            CoreCommand::Edit { entry: CoreEntryId(*id), edit, if_version: None }
        }
        Action::Exchange(id, text) => {
            let add = vec![NewCoreEntry { importance: Some(0.5), ..TEXTS[*text].into() }];
            CoreCommand::Exchange { remove: vec![CoreEntryId(*id)], add }
        }
        Action::Forget(id) => CoreCommand::Forget { entry: CoreEntryId(*id), reason: None, if_version: None },
        Action::Restore(id) => CoreCommand::Restore { entry: CoreEntryId(*id), if_version: None },
        Action::WithdrawAuthor(actor) => {
            CoreCommand::Withdraw { of: Withdrawal::Author { name: actors()[*actor].principal.clone() } }
        }
        Action::WithdrawBoard(number) => {
            CoreCommand::Withdraw { of: Withdrawal::Board { board: board(*number).unwrap() } }
        }
        Action::Clear => CoreCommand::Clear,
        Action::Replace(_) if past.is_empty() => CoreCommand::Tick,
        Action::Replace(index) => CoreCommand::Replace { image: Box::new(index.get(past).clone()) },
        Action::Tick => CoreCommand::Tick,
    }
}

/// The core as a plain map from texts to their origins and whether they are forgotten.
#[derive(Debug, Clone, Default, PartialEq)]
struct Reference {
    said: BTreeMap<String, Said>,
}

#[derive(Debug, Clone, PartialEq)]
struct Said {
    id: u64,
    importance: f32,
    tags: BTreeSet<String>,
    /// Author, board, trust, and later editors.
    origins: BTreeSet<(String, Option<String>, Trust, BTreeSet<String>)>,
    expires_at: Option<Timestamp>,
    forgotten: bool,
    vouched: Option<String>,
}

impl Said {
    /// `own` if a person is among the origins; otherwise the lowest trust. Without origins, any trust is allowed.
    fn trust(&self) -> Trust {
        let trusts = || self.origins.iter().map(|(_, _, trust, _)| *trust);
        match trusts().max() {
            Some(Trust::Own) => Trust::Own,
            _ => trusts().min().unwrap_or(Trust::Outside),
        }
    }

    fn forget_vouching_if_below(&mut self, was: Trust) {
        if self.trust() < was {
            self.vouched = None;
        }
    }
}

impl Reference {
    fn of(state: &CoreState, now: Timestamp) -> Self {
        let said = state.entries().values().filter(|entry| !entry.is_expired(now)).map(|entry| {
            let origins = entry.provenance.iter().map(|origin| {
                let board = origin.board.as_ref().map(|board| board.to_string());
                let edited = origin.edited_by.iter().map(|by| by.to_string()).collect();
                (origin.author.to_string(), board, origin.trust, edited)
            });
            let said = Said {
                id: entry.id.0,
                importance: entry.importance,
                tags: entry.tags.iter().map(|tag| tag.to_string()).collect(),
                origins: origins.collect(),
                expires_at: entry.expires_at,
                forgotten: entry.forgotten.is_some(),
                vouched: entry.vouched.as_ref().map(|vouched| vouched.by.to_string()),
            };
            assert_eq!(entry.trust(), said.trust(), "{entry:?}");
            (plain(&entry.content), said)
        });
        Self { said: said.collect() }
    }

    fn find(&mut self, id: CoreEntryId) -> Option<(String, &mut Said)> {
        self.said.iter_mut().find(|(_, said)| said.id == id.0).map(|(text, said)| (text.clone(), said))
    }

    /// Applies an accepted command.
    fn accept(&mut self, actor: &Actor, command: &CoreCommand, last: u64) {
        let by = actor.principal.clone();
        match command {
            CoreCommand::Add { entries } | CoreCommand::Exchange { add: entries, .. } => {
                if let CoreCommand::Exchange { remove, .. } = command {
                    self.said.retain(|_, said| !remove.contains(&CoreEntryId(said.id)));
                }
                let mut last = last;
                for entry in entries {
                    let board = entry.board.as_ref().map(|board| board.to_string());
                    let trust = entry.trust.unwrap_or(Trust::most_of(actor.kind));
                    let origin = (by.clone(), board, trust, BTreeSet::new());
                    let said = self.said.entry(plain(&entry.content)).or_insert_with(|| {
                        last += 1;
                        let expires_at = entry.expires_at;
                        let (tags, origins) = Default::default();
                        Said { id: last, importance: 0.0, tags, origins, expires_at, forgotten: false, vouched: None }
                    });
                    let was = said.trust();
                    said.forgotten = false;
                    if trust >= said.trust() {
                        said.importance = said.importance.max(entry.importance.unwrap());
                        said.tags.extend(entry.tags.iter().cloned());
                        // None is later than any time.
                        said.expires_at = said.expires_at.and_then(|one| Some(one.max(entry.expires_at?)));
                    }
                    said.origins.insert(origin);
                    said.forget_vouching_if_below(was);
                }
            }
            CoreCommand::Edit { entry, edit, .. } => {
                let (text, _) = self.find(*entry).unwrap();
                let mut said = self.said.remove(&text).unwrap();
                said.importance = edit.importance.unwrap_or(said.importance);
                match edit.expiry {
                    Some(Expiry::At(at)) => said.expires_at = Some(at),
                    Some(Expiry::Never) => said.expires_at = None,
                    None => {}
                }
                let text = edit.content.as_deref().map_or(text, plain);
                self.said.insert(text, said);
            }
            CoreCommand::Forget { entry, .. } => self.find(*entry).unwrap().1.forgotten = true,
            CoreCommand::Restore { entry, .. } => self.find(*entry).unwrap().1.forgotten = false,
            CoreCommand::Withdraw { of } => self.said.retain(|_, said| {
                let mut left = said.origins.clone();
                left.retain(|(author, board, _, edited)| match of {
                    Withdrawal::Author { name } => author != name && !edited.contains(name),
                    Withdrawal::Board { board: gone } => board.as_deref() != Some(gone.as_str()),
                    Withdrawal::Item { .. } | Withdrawal::Promotion { .. } => true,
                });
                // An entry with origins of others, which the author only edited, is forgotten.
                if let Withdrawal::Author { name } = of
                    && left.is_empty()
                    && said.origins.iter().any(|(author, ..)| author != name)
                {
                    said.forgotten = true;
                    return true;
                }
                let was = said.trust();
                said.origins = left;
                said.forget_vouching_if_below(was);
                !said.origins.is_empty()
            }),
            CoreCommand::Clear => self.said.clear(),
            // The random histories do not erase. A test of its own does.
            CoreCommand::Replace { .. } | CoreCommand::Tick | CoreCommand::ForgetHard { .. } => {}
        }
    }
}

/// Checks an entry's origins and voucher after an edit.
fn check_edit(actor: &Actor, asked: Option<Trust>, was: &CoreEntry, is: &CoreEntry) {
    let (is_edited, is_person) = (was.content != is.content, actor.kind == ActorKind::Human);
    assert_eq!(was.provenance.len(), is.provenance.len());
    for (was, is) in was.provenance.iter().zip(&is.provenance) {
        assert!(!is_edited || is.edited_by.contains(&actor.principal.as_str().into()));
        let most = if is_edited && !is_person { Trust::Agent } else { Trust::Own };
        assert_eq!(is.trust, asked.unwrap_or(was.trust.min(most)));
        assert!(is_person || is.trust <= was.trust, "{actor:?} must not raise the trust");
    }
    let is_raised = was.provenance.iter().zip(&is.provenance).any(|(was, is)| is.trust > was.trust);
    let is_taken_over = is_edited && is_person && was.vouched.is_some();
    let by = |entry: &CoreEntry| entry.vouched.as_ref().map(|vouched| vouched.by.to_string());
    let expected = match is.trust() >= was.trust() {
        true if is_raised || is_taken_over => Some(actor.principal.clone()),
        true if !is_edited => by(was),
        _ => None,
    };
    assert_eq!(by(is), expected, "{was:?} became {is:?}");
}

/// Runs the steps and calls the closure after each, with the shelf before, the actor, the command, the answer and the
/// shelf after.
fn each_step(
    steps: &[Step],
    mut look: impl FnMut(&Shelf, &Actor, &CoreCommand, &Result<CoreReply, Refusal>, &Shelf),
) -> Shelf {
    let (mut shelf, mut past) = (Shelf::new(), Vec::new());
    for step in steps {
        shelf.pass(step.pass_ms);
        let (before, actor) = (shelf.clone(), &actors()[step.actor]);
        let command = command(&step.action, shelf.now, &past);
        let answer = shelf.ask(actor, command.clone());
        look(&before, actor, &command, &answer, &shelf);
        past.push(CoreImage::of(shelf.state(), shelf.now));
    }
    shelf
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_core_equals_a_plain_map(steps in steps()) {
        each_step(&steps, |before, actor, command, answer, after| {
            let mut expected = Reference::of(before.state(), before.now);
            if answer.is_ok() {
                if let CoreCommand::Replace { image } = command {
                    expected = Reference::of(&CoreState::from((**image).clone()), before.now);
                } else {
                    expected.accept(actor, command, before.state().last().0);
                }
            }
            let mut found = Reference::of(after.state(), after.now);
            // Editors are checked separately, because the core decides whether a text changed.
            if let (CoreCommand::Edit { entry, edit, .. }, Ok(_)) = (command, answer) {
                let (was, is) = (before.entry(*entry), after.entry(*entry));
                check_edit(actor, edit.trust, was, is);
                let (_, said) = found.find(*entry).unwrap();
                let (_, meant) = expected.find(*entry).unwrap();
                (said.origins, said.vouched) = (meant.origins.clone(), meant.vouched.clone());
            }
            assert_eq!(found, expected, "{command:?}");
        });
    }

    #[test]
    fn only_changed_entries_have_new_versions(steps in steps()) {
        each_step(&steps, |before, _, command, answer, after| {
            if answer.is_err() {
                assert_eq!((&after.live, after.log.len()), (&before.live, before.log.len()));
            }
            for entry in after.state().entries().values() {
                let same = before.state().entries().get(&entry.id).is_some_and(|was| was == entry);
                let is_new = entry.version == after.rev() && after.rev() > before.rev();
                assert!(same != is_new, "{} by {command:?}", entry.id);
            }
            assert!(after.state().last() >= before.state().last(), "a number must not be given twice");
        });
    }

    #[test]
    fn entries_with_trust_own_come_from_a_person_or_are_vouched_for(steps in steps()) {
        each_step(&steps, |_, _, _, _, after| {
            for entry in after.state().entries().values() {
                let by = entry.vouched.as_ref().map(|vouched| &*vouched.by);
                assert!(by.is_none_or(|by| by == "ann"), "{entry:?}");
                for origin in entry.provenance.iter().filter(|origin| origin.trust == Trust::Own) {
                    let is_hers = *origin.author == *"ann" && origin.edited_by.iter().all(|by| **by == *"ann");
                    assert!(is_hers || by.is_some(), "{entry:?}");
                }
            }
        });
    }

    #[test]
    fn replaying_the_encoded_log_gives_the_live_state(steps in steps()) {
        let shelf = each_step(&steps, |_, _, _, _, _| ());
        prop_assert_eq!(replay(Revisioned::default(), &shelf.log, &shelf.limits), shelf.live);
    }

    #[test]
    fn a_snapshot_and_the_tail_give_the_whole_log(steps in steps(), cut in any::<Index>()) {
        let shelf = each_step(&steps, |_, _, _, _, _| ());
        let (head, tail) = shelf.log.split_at(cut.index(shelf.log.len() + 1));
        let at_the_cut = replay(Revisioned::default(), head, &shelf.limits);
        let stored = at_the_cut.encode().unwrap();
        let loaded = Revisioned::<CoreState>::decode(&stored).unwrap();
        prop_assert_eq!(&loaded, &at_the_cut);
        prop_assert_eq!(loaded.encode().unwrap(), stored);
        prop_assert_eq!(replay(loaded, tail, &shelf.limits), shelf.live);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_redacted_log_leads_to_the_same_core(steps in steps(), which in any::<Index>(), id in 1..8u64, whole in any::<bool>()) {
        let mut shelf = each_step(&steps, |_, _, _, _, _| ());
        let (id, text) = (CoreEntryId(id), which.get(&TEXTS).trim().to_owned());
        let forget = if whole { CoreForget::Entry { id } } else { CoreForget::Text { text: text.clone() } };
        let answer = shelf.ask(&actors()[0], CoreCommand::ForgetHard { forget: forget.clone() });
        if id > shelf.state().last() && whole {
            prop_assert!(matches!(answer, Err(Refusal::NotInCore { .. })), "{answer:?}");
            return Ok(());
        }
        answer.unwrap();
        let log = core_forget::redacted(&shelf.log, &forget);
        prop_assert_eq!(&replay(Revisioned::default(), &log, &shelf.limits), &shelf.live);
        for (found_id, found) in core_forget::texts(&log, shelf.state()) {
            prop_assert!(if whole { found_id != id.to_string() } else { !found.contains(&text) }, "{found_id}: {found}");
        }
    }
}

/// The histories must contain enough of each kind for the properties above to mean something.
#[test]
fn the_histories_cover_every_kind_of_event() {
    let mut runner = TestRunner::deterministic();
    let (mut events, mut refusals) = (BTreeMap::<String, u32>::new(), BTreeMap::<String, u32>::new());
    let (mut kept, mut vouched, mut mixed) = (0, 0, 0);
    for _ in 0..300 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let shelf = each_step(&steps, |_, _, _, answer, after| {
            match answer {
                Err(refusal) => *refusals.entry(variant(refusal)).or_default() += 1,
                Ok(CoreReply::Withdrawn { kept: some, .. }) => kept += some,
                Ok(_) => {}
            }
            for entry in after.state().entries().values() {
                let has = |trust| entry.provenance.iter().any(|origin| origin.trust == trust);
                vouched += u32::from(entry.vouched.is_some());
                mixed += u32::from(has(Trust::Outside) && has(Trust::Agent) && !has(Trust::Own));
            }
        });
        for line in &shelf.log {
            for event in CoreCommit::decode(line).unwrap().events {
                *events.entry(variant(&event)).or_default() += 1;
            }
        }
    }
    assert_eq!(events.len(), 9, "{events:?}");
    assert!(kept > 0, "no entry with two origins lost one");
    assert!(vouched > 100 && mixed > 100, "{vouched} times vouched for, {mixed} times from outside and from an agent");
    for needed in ["NotInCore", "EntryForgotten", "SameText", "Expiry", "RoleDenied", "TrustDenied"] {
        assert!(refusals.contains_key(needed), "{needed} is not covered: {refusals:?}");
    }
}

fn variant(value: &impl std::fmt::Debug) -> String {
    let shown = format!("{value:?}");
    shown.chars().take_while(|character| character.is_alphanumeric()).collect()
}

fn config() -> Config {
    let config = Config { failure_persistence: None, max_shrink_iters: 4_096, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { Config { cases: 80, ..config } }
}

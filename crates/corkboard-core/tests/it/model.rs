//! Random histories of an agent's memory, on the core and on a very simple reference model.
//!
//! Each property runs on separate histories. A failing history is printed in its smallest form. `PROPTEST_CASES` asks
//! for more than the few that keep the suite fast.

mod notebooks;
mod reference;
mod run;
mod steps;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentImage, AgentReply, AgentState, Forget};
use corkboard_core::{
    EntryData, IdempotencyKey, Key, Limits, Refusal, Request, RequestOutcome, Revisioned, ScopeId, Space, Usage,
};
use jiff::SignedDuration;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{AgentCommit, AgentOutcome, actor, events, replay, reply};
use reference::{Circumstances, Expected, Model};
use run::{Run, Turn};
use steps::{Plan, any_limits, forgotten, plan, small_limits};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_state_equals_the_model_after_every_command(plan in plan(any_limits())) {
        let mut model = Model::new(plan.limits.clone(), plan.outside);
        let mut moments = vec![model.memory.clone()];
        each_step(&plan, |turn, run| {
            let new_scope = match turn.outcome.as_ref().map(reply) {
                Ok(AgentReply::ScopeCreated { id }) => Some(id),
                _ => None,
            };
            let restored = turn.sent.moment.map(|moment| moments[moment].clone());
            let circumstances =
                Circumstances { now: turn.before.now, actor: &turn.before.actor, restored, new_scope };
            let expected = model.request(&turn.sent.request, &circumstances);
            assert_expected(&turn.outcome, &expected);
            assert_eq!(run.core.rev(), model.rev);
            model.assert_same(run.core.state());
            moments.push(model.memory.clone());
        });
    }

    #[test]
    fn counts_and_bytes_equal_a_scan(plan in plan(any_limits())) {
        each_step(&plan, |_, run| {
            let state = run.core.state();
            let scopes: Vec<_> = state.all_scopes().map(|(_, scope)| scope).collect();
            let entries: Vec<_> = scopes.iter().flat_map(|scope| &scope.entries).collect();
            let notes: Vec<_> = scopes.iter().flat_map(|scope| scope.notes.values()).collect();
            let entry_bytes: u64 = entries.iter().map(|(key, entry)| key.as_str().len() as u64 + entry.bytes()).sum();
            let note_bytes: u64 = notes.iter().map(|note| note.text.len() as u64).sum();
            let scanned = Usage {
                entries: entries.len() as u64,
                scopes: scopes.len() as u64 - 1,
                bytes: entry_bytes + note_bytes + notebook_bytes(state),
            };
            assert_eq!(state.usage(), scanned);
            assert_eq!(state.note_count(), notes.len() as u64);
            for (id, scope) in state.all_scopes() {
                for seconds in [0, 1, 5] {
                    let then = run.core.now + SignedDuration::from_secs(seconds);
                    assert_eq!(state.live_len(id, then), scope.live_entries(then).count());
                }
            }
        });
    }

    #[test]
    fn a_refused_command_changes_nothing(plan in plan(any_limits())) {
        each_step(&plan, |turn, run| {
            if turn.outcome.is_err() {
                assert_eq!(run.core.live, turn.before.live);
                assert_eq!(run.core.live.encode(), turn.before.live.encode());
                assert_eq!(run.core.log.len(), turn.before.log.len());
            }
        });
    }

    #[test]
    fn a_command_without_revision_changes_nothing(plan in plan(any_limits())) {
        each_step(&plan, |turn, run| {
            let committed = matches!(turn.outcome, Ok(RequestOutcome::Commit { .. }));
            assert_eq!(run.core.rev(), turn.before.rev() + u64::from(committed));
            if !committed {
                assert_eq!(run.core.live, turn.before.live);
            }
        });
    }

    #[test]
    fn replaying_the_encoded_log_gives_the_live_state(plan in plan(any_limits())) {
        let core = each_step(&plan, |_, _| ()).core;
        prop_assert_eq!(replay(Revisioned::default(), &core.log, &core.limits), core.live);
    }

    #[test]
    fn a_snapshot_and_the_tail_give_the_whole_log(plan in plan(any_limits()), cut in any::<Index>()) {
        let core = each_step(&plan, |_, _| ()).core;
        let (head, tail) = core.log.split_at(cut.index(core.log.len() + 1));
        let at_the_cut = replay(Revisioned::default(), head, &core.limits);
        let stored = at_the_cut.encode().unwrap();
        let loaded = Revisioned::<AgentState>::decode(&stored).unwrap();
        prop_assert_eq!(&loaded, &at_the_cut);
        prop_assert_eq!(loaded.encode().unwrap(), stored);
        prop_assert_eq!(replay(loaded, tail, &core.limits), core.live);
    }

    #[test]
    fn a_redacted_log_leads_to_the_same_state(plan in plan(any_limits()), what in forgotten()) {
        let mut run = each_step(&plan, |_, _| ());
        let mut forget = run.forget(&what);
        // The first pass finds what to redact, as in the engine.
        redact(&run.core.log, &mut forget);
        run.core.request(&Request::new(AgentCommand::Forget { forget: forget.clone() })).unwrap();
        let without = redact(&run.core.log, &mut forget);
        prop_assert_eq!(replay(Revisioned::default(), &without, &run.core.limits), run.core.live);
        prop_assert_eq!(redact(&without, &mut forget), without, "a second redaction should find nothing");
    }

    #[test]
    fn a_forgotten_text_is_in_no_value_and_the_redacted_log_leads_to_the_same_state(
        plan in plan(any_limits()),
        which in any::<Index>(),
    ) {
        let mut run = each_step(&plan, |_, _| ());
        let found = texts(&run.core.log, run.core.state());
        let found: Vec<_> = found.into_iter().filter(|text| corkboard_core::check_forgotten_text(text).is_ok()).collect();
        prop_assume!(!found.is_empty());
        let text = which.get(&found).clone();
        let mut forget = Forget::text(&text);
        forget.collect(run.core.state());
        redact(&run.core.log, &mut forget);
        run.core.request(&Request::new(AgentCommand::Forget { forget: forget.clone() })).unwrap();
        let without = redact(&run.core.log, &mut forget);
        prop_assert_eq!(&replay(Revisioned::default(), &without, &run.core.limits), &run.core.live);
        let left = texts(&without, run.core.state());
        prop_assert!(left.iter().all(|left| !left.contains(&text)), "{text:?} in {left:?}");
    }

    #[test]
    fn the_next_due_time_is_the_soonest_expiry_of_a_scan(plan in plan(any_limits())) {
        each_step(&plan, |_, run| {
            let entries = run.core.state().all_scopes().flat_map(|(_, scope)| scope.entries.values());
            assert_eq!(run.core.state().next_due(), entries.filter_map(|entry| entry.expires_at).min());
        });
    }

    #[test]
    fn nothing_expired_outlives_a_revision(plan in plan(any_limits())) {
        each_step(&plan, |turn, run| {
            // Entries that a bulk command brings may have expired already. The next revision drops them.
            let bulk = matches!(
                turn.sent.request.command,
                AgentCommand::Absorb { .. } | AgentCommand::Restore { .. }
            );
            if matches!(turn.outcome, Ok(RequestOutcome::Commit { .. })) && !bulk {
                assert!(run.core.state().next_due().is_none_or(|at| at > run.core.now));
            }
        });
    }

    #[test]
    fn deciding_again_in_an_equal_context_gives_the_same_outcome(plan in plan(any_limits())) {
        each_step(&plan, |turn, _| {
            let request = &turn.sent.request;
            assert_eq!(turn.before.decide(request), turn.outcome);
            let loaded = Revisioned::decode(&turn.before.live.encode().unwrap()).unwrap();
            assert_eq!(turn.before.decide_on(&loaded, request), turn.outcome);
        });
    }

    #[test]
    fn a_version_is_the_revision_of_the_last_change_and_never_repeats(plan in plan(any_limits())) {
        let mut seen = HashMap::<(ScopeId, Key), HashSet<u64>>::new();
        each_step(&plan, |turn, run| {
            let rev = run.core.rev();
            let before = items(turn.before.state());
            let touched = turn.outcome.as_ref().map(touched).unwrap_or_default();
            for (item, (data, version)) in items(run.core.state()) {
                let versions = seen.entry(item.clone()).or_default();
                match before.get(&item) {
                    Some((old, old_version)) if old_version == &version => {
                        assert_eq!(old, &data, "{item:?} changed without a new version");
                        assert!(!touched.contains(&item), "{item:?} was written without a new version");
                    }
                    _ => {
                        assert_eq!(version, rev, "{item:?}");
                        assert!(versions.insert(version), "{item:?} had version {version} before");
                    }
                }
            }
        });
    }

    #[test]
    fn limits_are_never_exceeded(plan in plan(Just(small_limits()))) {
        each_step(&plan, |_, run| {
            let (state, outside, limits) = (run.core.state(), run.core.outside, small_limits());
            let Usage { entries, scopes, bytes } = state.usage();
            assert!(outside.entries + entries <= limits.entries_per_agent);
            assert!(outside.scopes + scopes <= limits.scopes_per_agent);
            assert!(bytes <= limits.state_bytes);
            assert!(state.note_count() <= limits.notes_per_agent);
            for (_, scope) in state.all_scopes() {
                assert!(scope.notes.values().all(|note| note.text.len() as u64 <= limits.note_bytes));
                for entry in scope.entries.values() {
                    assert!(entry.bytes() <= limits.entry_bytes);
                    assert!(entry.tags.len() as u64 <= limits.tags_per_entry);
                    assert!(entry.tags.iter().all(|tag| tag.len() as u64 <= limits.tag_bytes));
                }
            }
        });
    }

    #[test]
    fn the_same_key_and_body_get_the_same_answer_and_no_second_effect(plan in plan(any_limits())) {
        each_step(&plan, |turn, run| {
            if turn.sent.request.idempotency.is_some()
                && let Ok(RequestOutcome::Commit { reply, commit, .. }) = &turn.outcome
                && commit.answered.is_some()
            {
                let mut later = run.core.clone();
                later.now += SignedDuration::from_mins(29);
                // The first answer is returned, even after later revisions.
                let again = Request { if_rev: Some(u64::MAX), ..turn.sent.request.clone() };
                assert_eq!(later.request(&again), Ok(RequestOutcome::Unchanged { reply: *reply, rev: run.core.rev() }));
                assert_eq!(later.live, run.core.live);
            }
        });
    }

    #[test]
    fn the_same_key_with_another_body_is_refused(plan in plan(any_limits())) {
        each_step(&plan, |turn, run| {
            if let Some(name) = &turn.sent.request.idempotency
                && let Ok(RequestOutcome::Commit { commit, .. }) = &turn.outcome
                && commit.answered.is_some()
            {
                let command = AgentCommand::AddNote { scope: ScopeId::ROOT, text: "another body".into(), trust: None };
                let idempotency = Some(IdempotencyKey::new(&name.key, &command, &Limits::default()).unwrap());
                let other = Request { command, if_rev: None, idempotency };
                let refusal =
                    Refusal::IdempotencyMismatch { key: name.key.clone(), rev: run.core.rev(), at: commit.at };
                assert_eq!(run.core.decide(&other), Err(refusal));

                let mut someone_else = run.core.clone();
                someone_else.actor = actor("dee");
                let outcome = someone_else.decide(&other);
                assert!(!matches!(outcome, Err(Refusal::IdempotencyMismatch { .. })), "{outcome:?}");
            }
        });
    }
}

/// Properties of histories in which nothing happens would hold, too. So check that everything happens.
#[test]
fn the_histories_reach_every_event_every_refusal_and_every_warning() {
    let mut reached = BTreeSet::new();
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let plan = plan(any_limits()).new_tree(&mut runner).unwrap().current();
        each_step(&plan, |turn, _| match &turn.outcome {
            Ok(RequestOutcome::Unchanged { reply, .. }) => {
                reached.insert(format!("unchanged: {}", variant(reply)));
            }
            Ok(RequestOutcome::Commit { commit, warnings, .. }) => {
                reached.extend(commit.events.iter().map(|event| format!("event: {}", variant(event))));
                reached.extend(warnings.iter().map(|warning| format!("warning: {}", warning.limit)));
            }
            Err(Refusal::Limit { limit, .. }) => {
                reached.insert(format!("over the limit: {limit}"));
            }
            Err(refusal) => {
                reached.insert(format!("refused: {}", variant(refusal)));
            }
        });
    }
    let reached: Vec<_> = reached.into_iter().collect();
    insta::assert_snapshot!(reached.join("\n"), @r"
    event: Cleared
    event: EntryAppended
    event: EntryExpired
    event: EntryRemoved
    event: EntrySet
    event: NoteAdded
    event: NoteRemoved
    event: NotebookCleared
    event: NotebookItemRemoved
    event: NotebookRestored
    event: NotebookUpdated
    event: Restored
    event: ScopeCreated
    event: ScopeDisposed
    event: ScopeMerged
    over the limit: archived items per notebook
    over the limit: command bytes
    over the limit: entries per agent
    over the limit: entry bytes
    over the limit: learnings per notebook
    over the limit: note bytes
    over the limit: notebook line bytes
    over the limit: notebooks per agent
    over the limit: notes per agent
    over the limit: progress bullets
    over the limit: scopes per agent
    over the limit: snippet bytes
    over the limit: snippets per notebook
    over the limit: state bytes
    over the limit: tag bytes
    over the limit: tags per entry
    refused: Blank
    refused: Conflict
    refused: Expiry
    refused: IdempotencyMismatch
    refused: Importance
    refused: NoEntry
    refused: NotText
    refused: NotebookConflict
    refused: RevConflict
    refused: RootScope
    refused: ScopeGone
    refused: UnknownItems
    unchanged: Cleared
    unchanged: Done
    unchanged: Merged
    unchanged: NoteAdded
    unchanged: NotebookUpdated
    unchanged: Removed
    unchanged: ScopeCreated
    unchanged: Written
    warning: entries per agent
    warning: notebooks per agent
    warning: notes per agent
    warning: scopes per agent
    warning: state bytes
    ");
}

/// The size of all notebooks' texts and names, including cleared notebooks.
fn notebook_bytes(state: &AgentState) -> u64 {
    let image = AgentImage::from(state.clone());
    let mut texts: Vec<usize> = Vec::new();
    for (name, notebook) in &image.notebooks {
        texts.push(name.as_str().len());
        texts.extend(notebook.progress.bullets().map(|bullet| bullet.len()));
        texts.extend(notebook.learnings.iter().map(|it| it.text.len() + it.reason.len()));
        texts.extend(notebook.snippets.iter().map(|it| it.label.len() + it.text.len() + it.reason.len()));
        for old in &notebook.archived_learnings {
            texts.push(old.item.text.len() + old.item.reason.len() + old.archived_because.len());
        }
        for old in &notebook.archived_snippets {
            let item = &old.item;
            texts.push(item.label.len() + item.text.len() + item.reason.len() + old.archived_because.len());
        }
    }
    texts.into_iter().sum::<usize>() as u64
}

/// The name of an enum's variant.
fn variant(value: &impl Debug) -> String {
    let shown = format!("{value:?}");
    shown.chars().take_while(|character| character.is_alphanumeric()).collect()
}

fn config() -> Config {
    let config = Config { failure_persistence: None, max_shrink_iters: 4_096, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { Config { cases: 80, ..config } }
}

/// All texts in a log and a state.
fn texts(log: &[impl AsRef<[u8]>], state: &AgentState) -> Vec<String> {
    let mut texts = Vec::new();
    for line in log {
        for event in AgentCommit::decode(line.as_ref()).unwrap().events {
            AgentState::each_text_of(&event, &mut |_, text| texts.push(text.to_owned()));
        }
    }
    state.each_text(&mut |_, text| texts.push(text.to_owned()));
    texts
}

/// The log after redaction.
fn redact(log: &[impl AsRef<[u8]>], forget: &mut Forget) -> Vec<Vec<u8>> {
    AgentState::begin_redaction(forget);
    let without = |line: &[u8]| {
        let mut commit = AgentCommit::decode(line).unwrap();
        for event in &mut commit.events {
            AgentState::redact(event, forget);
        }
        commit.encode().unwrap()
    };
    log.iter().map(AsRef::as_ref).map(without).collect()
}

/// Runs the plan and looks at every step.
fn each_step(plan: &Plan, mut look: impl FnMut(&Turn, &Run)) -> Run {
    let mut run = Run::new(plan);
    for step in &plan.steps {
        let turn = run.step(step);
        look(&turn, &run);
    }
    run
}

fn assert_expected(outcome: &Result<AgentOutcome, Refusal>, expected: &Expected) {
    match (outcome, expected) {
        (Ok(RequestOutcome::Unchanged { reply, rev }), Expected::Unchanged { reply: expected, rev: expected_rev }) => {
            assert_eq!((reply, rev), (expected, expected_rev));
        }
        (
            Ok(RequestOutcome::Commit { reply, warnings, .. }),
            Expected::Commit { reply: expected, warnings: nearly },
        ) => {
            assert_eq!(reply, expected);
            assert_eq!(warnings.len(), nearly.len(), "{warnings:?}, not {nearly:?}");
            assert!(nearly.iter().all(|warning| warnings.contains(warning)), "{warnings:?}, not {nearly:?}");
        }
        (Err(refusal), Expected::Refused(reasons)) => {
            assert!(
                reasons.iter().any(|reason| reference::is_same(refusal, reason)),
                "{refusal:?} is not one of {reasons:?}"
            );
        }
        (outcome, expected) => panic!("{outcome:?}, but the model says {expected:?}"),
    }
}

/// Every entry with its place, data and version.
fn items(state: &AgentState) -> HashMap<(ScopeId, Key), (EntryData, u64)> {
    let scopes = state.all_scopes();
    let entries = scopes.flat_map(|(id, scope)| scope.entries.iter().map(move |(key, entry)| ((id, key), entry)));
    entries.map(|((id, key), entry)| ((id, key.clone()), (entry.data.clone(), entry.version))).collect()
}

/// The entries that the outcome's events write.
fn touched(outcome: &AgentOutcome) -> HashSet<(ScopeId, Key)> {
    let written = events(outcome).iter().filter_map(|event| match event {
        AgentEvent::EntrySet { scope, key, .. } | AgentEvent::EntryAppended { scope, key, .. } => {
            Some((*scope, key.clone()))
        }
        _ => None,
    });
    written.collect()
}

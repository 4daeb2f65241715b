//! Properties of every task's context, for any board.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::Duration;

use corkboard_core::board::{
    ArtifactId, BoardEvent, BoardState, DecisionId, DiscoveryId, DiscoveryType, NewArtifact, NewBoard, NewDecision,
    NewDiscovery, NewTask, ReviewVerdict, TaskId, TaskResult,
};
use corkboard_core::{AgentId, Limits, Role, Space, Stamp};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::board::BoardLines;
use super::compose::{Composed, PREAMBLE};
use super::tests::{any_memory, check_confined, check_within, left_out};
use super::{OmissionReason, SectionName, Strategy, hostile, task};

/// A board that is built event by event, so that it can contain texts that commands would refuse.
#[derive(Debug, Clone)]
struct Sketch {
    state: BoardState,
    principal: String,
}

impl Sketch {
    fn new(goal: &str, constraints: &[&str]) -> Self {
        let constraints = constraints.iter().map(|&text| text.to_owned()).collect();
        let board = NewBoard { name: "b".into(), goal: goal.into(), constraints, ..NewBoard::default() };
        let mut sketch = Self { state: BoardState::default(), principal: "ann".into() };
        sketch.happens(BoardEvent::Created(board.into()));
        sketch
    }

    fn happens(&mut self, event: BoardEvent) {
        let stamp = Stamp { rev: 1, at: Timestamp::UNIX_EPOCH, principal: &self.principal, role: Role::Worker };
        self.state.apply(&event, stamp).unwrap();
    }

    fn task(&mut self, title: &str, description: &str, on: &[u64]) -> TaskId {
        let id = TaskId(self.state.task_count() as u64 + 1);
        let depends_on = on.iter().map(|id| TaskId(*id).into()).collect();
        let new = NewTask { title: title.into(), description: description.into(), depends_on, ..NewTask::default() };
        self.happens(BoardEvent::TaskAdded { id, task: new.into() });
        id
    }

    fn start(&mut self, task: TaskId, agent: &str) {
        let to = AgentId::new(agent, &Limits::default()).unwrap();
        self.happens(BoardEvent::TaskAssigned { task, agent: to });
        self.happens(BoardEvent::TaskStarted {
            task,
            agent: None,
            epoch: 1,
            deadline: Timestamp::MAX,
            lease: Duration::from_secs(1),
        });
    }

    fn complete(&mut self, task: TaskId, summary: &str, next: &[&str]) {
        self.start(task, "ann");
        let next_steps = next.iter().map(|&step| step.to_owned()).collect();
        let result = Some(TaskResult { summary: summary.into(), next_steps, trust: None }.into());
        self.happens(BoardEvent::TaskCompleted { task, result });
    }

    fn decide(&mut self, question: &str, choice: &str, affects: &[u64]) -> DecisionId {
        let affects_tasks = affects.iter().map(|id| TaskId(*id)).collect();
        self.record(NewDecision {
            question: question.into(),
            choice: choice.into(),
            affects_tasks,
            ..NewDecision::default()
        })
    }

    fn record(&mut self, decision: NewDecision) -> DecisionId {
        let id = DecisionId(self.state.decisions().count() as u64 + 1);
        self.happens(BoardEvent::DecisionRecorded { id, decision: decision.into() });
        id
    }

    fn discover(&mut self, content: &str, kind: DiscoveryType, affects: &[u64]) {
        let id = DiscoveryId(self.state.discoveries().count() as u64 + 1);
        let affects_tasks = affects.iter().map(|id| TaskId(*id)).collect();
        let discovery = NewDiscovery { content: content.into(), kind, affects_tasks, ..NewDiscovery::default() };
        self.happens(BoardEvent::DiscoveryRecorded { id, discovery: discovery.into() });
    }

    fn make(&mut self, path: &str, description: &str, task: Option<u64>, content: Option<&str>) {
        let id = ArtifactId(self.state.artifacts().count() as u64 + 1);
        let artifact = NewArtifact {
            path: path.into(),
            description: description.into(),
            task: task.map(TaskId),
            content: content.map(str::to_owned),
            ..NewArtifact::default()
        };
        self.happens(BoardEvent::ArtifactRecorded { id, artifact: artifact.into() });
    }

    fn lines(&self, task: u64) -> BoardLines<'_> {
        BoardLines::of(&self.state, Some(TaskId(task)))
    }

    fn compose(&self, task: u64, budget: u64) -> Composed {
        task::compose(&self.lines(task), budget)
    }
}

#[test]
fn a_task_with_all_that_concerns_it() {
    let mut sketch = Sketch::new("Add JWT authentication", &["Use the user table", "No breaking changes"]);
    let ground = sketch.task("Look around", "", &[]);
    let design = sketch.task("Design token schema", "", &[1]);
    let build = sketch.task("Build the service", "With tests.\nAnd docs.", &[2]);
    sketch.task("Something else", "", &[]);
    sketch.complete(ground, "Nothing there", &[]);
    sketch.complete(design, "Claims and refresh tokens", &["Add middleware", "Write tests"]);
    let first = sketch.decide("Which library?", "jsonwebtoken", &[3]);
    sketch.record(NewDecision {
        question: "Which library?".into(),
        choice: "jose".into(),
        alternatives: vec!["jsonwebtoken".into(), "jwt-simple".into()],
        rationale: "more modern".into(),
        affects_tasks: vec![build],
        reversible: Some(false),
        supersedes: Some(first),
        force: false,
        needs_approval: false,
        trust: None,
    });
    sketch.decide("Tabs?", "spaces", &[]);
    sketch.decide("Of another task", "no", &[4]);
    sketch.decide("Of an ancestor", "yes", &[1, 4]);
    sketch.discover("No refresh_token column", DiscoveryType::Constraint, &[2]);
    sketch.discover("Of another task", DiscoveryType::Risk, &[4]);
    sketch.make("schema/tokens.sql", "the first", Some(2), None);
    sketch.make("notes.md", "for all", None, Some("line one\nline two"));
    sketch.make("other.rs", "of another", Some(4), None);
    sketch.make("schema/tokens.sql", "the second", Some(4), None);
    sketch.start(build, "bob");
    sketch.happens(BoardEvent::TaskBlocked { task: build, reason: Some("the database is down".into()) });
    let composed = sketch.compose(3, 2_000);
    let expected = "\
<goal>
  Add JWT authentication
</goal>
<constraints>
  - Use the user table
  - No breaking changes
</constraints>
<decisions>
  - D-2 by ann: Which library? -> jose
    because: more modern
    instead of: jsonwebtoken; jwt-simple
    irreversible
  - D-3 by ann: Tabs? -> spaces
  - D-5 by ann: Of an ancestor -> yes
</decisions>
<discoveries>
  - F-1 constraint by ann: No refresh_token column
</discoveries>
<results>
  - T-2 completed: Design token schema
    Claims and refresh tokens
    next: Add middleware
    next: Write tests
</results>
<artifacts>
  - A-4 file schema/tokens.sql version 2 of T-4: the second
  - A-2 file notes.md: for all
    line one
    line two
</artifacts>
<task>
  - T-3: Build the service
  - description: With tests.
    And docs.
  - status: blocked, assigned to bob
  - cannot proceed: the database is down
</task>
";
    assert_eq!(composed.text, format!("{PREAMBLE}{expected}"));
    check_within(&composed, 2_000);
    check_confined(&composed);
    assert!(composed.sections.iter().all(|section| section.left_out.is_empty()));
}

#[test]
fn a_task_that_was_sent_back_says_so() {
    let mut sketch = Sketch::new("g", &[]);
    let task = sketch.task("Write it", "", &[]);
    sketch.task("After it", "", &[1]);
    sketch.start(task, "bob");
    sketch.happens(BoardEvent::TaskSubmitted { task, result: Some(TaskResult::default().into()) });
    let comment = Some("the last page is missing".into());
    sketch.happens(BoardEvent::TaskReviewed { task, verdict: ReviewVerdict::NeedsRework, comment, remembered: true });
    let shown = sketch.compose(1, 1_000).text;
    assert!(shown.contains("  - review: needs_rework by ann: the last page is missing\n"), "{shown}");
    let waiting = sketch.compose(2, 1_000).text;
    assert!(waiting.contains("  - status: pending\n  - cannot proceed: it waits for T-1\n"), "{waiting}");
    // An unfinished task has no result.
    assert!(!waiting.contains("<results>"), "{waiting}");
}

/// Items of the task itself are shown first, then those of its dependencies, then the newest of the others.
#[test]
fn the_least_relevant_items_are_omitted_and_counted() {
    let mut sketch = Sketch::new("g", &[]);
    sketch.task("first", "", &[]);
    sketch.task("second", "", &[1]);
    sketch.decide("own", "kept", &[2]);
    sketch.decide("above", "kept", &[1]);
    for number in 0..500 {
        sketch.decide(&format!("general question {number}"), "yes", &[]);
    }
    let composed = sketch.compose(2, 1_000);
    let shown = &composed.text;
    assert!(shown.contains("<decisions>\n  - D-1 by ann: own -> kept\n  - D-2 by ann: above -> kept\n"), "{shown}");
    let decisions = composed.sections.iter().find(|section| section.name == SectionName::Decisions).unwrap();
    let last = format!("question 499 -> yes\n  - [{} of 502 shown]\n</decisions>\n", decisions.items);
    assert!(shown.contains(&last), "{shown}");
    let (count, named) = left_out(&composed, SectionName::Decisions, OmissionReason::NoRoom);
    assert_eq!(decisions.items + count, 502);
    // The report first names the next item that would have been shown.
    assert!(named.starts_with(&format!("D-{} ", 502 - (decisions.items - 2))), "{named}");
    check_within(&composed, 1_000);
    check_confined(&composed);
}

#[test]
fn a_long_description_gives_way_to_how_far_the_task_is() {
    let mut sketch = Sketch::new("g", &[]);
    sketch.task("long", &"Do this, and then do that. ".repeat(2_000), &[]);
    let composed = sketch.compose(1, 500);
    assert!(composed.text.contains("… [cut: the whole has 54000 bytes]\n  - status: pending\n"), "{}", composed.text);
    check_within(&composed, 500);
}

#[test]
fn a_change_to_the_task_moves_nothing_above_it() {
    let mut sketch = Sketch::new("a goal", &["one", "two"]);
    sketch.task("first", "", &[]);
    for number in 0..100 {
        sketch.decide(&format!("question {number}"), "yes", &[]);
        sketch.discover(&format!("fact {number}"), DiscoveryType::Insight, &[]);
    }
    let before = sketch.compose(1, 1_000).text;
    sketch.start(TaskId(1), "bob");
    let reason = Some("a reason that is somewhat longer than nothing".into());
    sketch.happens(BoardEvent::TaskBlocked { task: TaskId(1), reason });
    let after = sketch.compose(1, 1_000).text;
    let above = |text: &str| text.split("<task>").next().unwrap().to_owned();
    assert_eq!(above(&before), above(&after));
    assert_ne!(before, after);
    // A new discovery moves no decision.
    sketch.discover("fact 100", DiscoveryType::Insight, &[]);
    let later = sketch.compose(1, 1_000).text;
    let above = |text: &str| text.split("<discoveries>").next().unwrap().to_owned();
    assert_eq!(above(&after), above(&later));
    assert_ne!(after, later);
}

fn any_board() -> impl proptest::strategy::Strategy<Value = Sketch> {
    let text = hostile::long_text;
    let name = "[a-z<>/\"]{1,12}";
    let tasks = vec((hostile::text(), text(), vec(0usize..8, 0..3), 0u8..5), 1..8);
    let decisions = vec((text(), text(), vec(text(), 0..2), text(), vec(1u64..8, 0..3), any::<bool>()), 0..12);
    let discoveries = vec((text(), vec(1u64..8, 0..3)), 0..12);
    let artifacts = vec((hostile::text(), text(), prop::option::of(1u64..8), prop::option::of(text())), 0..8);
    let said = (text(), vec(text(), 0..3));
    (text(), vec(text(), 0..4), tasks, decisions, discoveries, artifacts, said, name).prop_map(
        |(goal, constraints, tasks, decisions, discoveries, artifacts, (said, steps), name)| {
            let mut sketch = Sketch::new(&goal, &constraints.iter().map(String::as_str).collect::<Vec<_>>());
            sketch.principal = name.clone();
            let count = tasks.len() as u64;
            let known = |ids: &[u64]| ids.iter().copied().filter(|id| *id <= count).collect::<Vec<_>>();
            let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
            for (index, (title, description, on, fate)) in tasks.into_iter().enumerate() {
                let on: std::collections::BTreeSet<u64> =
                    on.into_iter().filter(|on| *on < index).map(|on| on as u64 + 1).collect();
                let id = sketch.task(&title, &description, &on.into_iter().collect::<Vec<_>>());
                match fate {
                    0 => {}
                    1 => sketch.complete(id, &said, &steps),
                    2 => {
                        sketch.start(id, &name);
                        sketch.happens(BoardEvent::TaskFailed {
                            task: id,
                            reason: said.as_str().into(),
                            remembered: true,
                        });
                    }
                    3 => {
                        sketch.start(id, &name);
                        sketch.happens(BoardEvent::TaskBlocked { task: id, reason: Some(said.as_str().into()) });
                    }
                    _ => {
                        sketch.start(id, &name);
                        let result = Some(TaskResult { summary: said.clone(), next_steps: vec![], trust: None }.into());
                        sketch.happens(BoardEvent::TaskSubmitted { task: id, result });
                        let (verdict, comment) = (ReviewVerdict::NeedsRework, Some(said.as_str().into()));
                        sketch.happens(BoardEvent::TaskReviewed { task: id, verdict, comment, remembered: true });
                    }
                }
            }
            for (question, choice, alternatives, rationale, affects, supersedes) in decisions {
                let last = DecisionId(sketch.state.decisions().count() as u64);
                let affects_tasks = known(&affects).into_iter().map(TaskId).collect();
                let supersedes = (supersedes && last.0 > 0).then_some(last);
                let reversible = Some(rationale.len() % 2 == 0);
                sketch.record(NewDecision {
                    question,
                    choice,
                    alternatives,
                    rationale,
                    affects_tasks,
                    reversible,
                    supersedes,
                    force: false,
                    needs_approval: false,
                    trust: None,
                });
            }
            for (content, affects) in discoveries {
                sketch.discover(&content, DiscoveryType::Risk, &known(&affects));
            }
            for (path, description, task, content) in artifacts {
                sketch.make(&path, &description, task.filter(|id| *id <= count), content.as_deref());
            }
            sketch
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_context_exceeds_its_budget_or_leaves_its_sections(
        sketch in any_board(),
        task in 1u64..8,
        budget in prop_oneof![64u64..200, 64u64..3000, Just(8_000)],
    ) {
        let task = task.min(sketch.state.task_count() as u64);
        let composed = sketch.compose(task, budget);
        check_within(&composed, budget);
        check_confined(&composed);
        // The same board, stored and loaded, gives the same bytes.
        let stored = serde_json::to_string(&sketch.state).unwrap();
        let loaded = Sketch { state: serde_json::from_str(&stored).unwrap(), ..sketch.clone() };
        prop_assert_eq!(&composed.text, &loaded.compose(task, budget).text);
        // Every omitted item is counted.
        let lines = sketch.lines(task);
        let of_task = lines.task.as_ref().unwrap();
        for (name, all) in [
            (SectionName::Constraints, &lines.constraints),
            (SectionName::Decisions, &of_task.decisions),
            (SectionName::Discoveries, &of_task.discoveries),
            (SectionName::Results, &of_task.results),
            (SectionName::Artifacts, &of_task.artifacts),
        ] {
            let section = composed.sections.iter().find(|section| section.name == name);
            let shown = section.map_or(0, |section| section.items);
            prop_assert_eq!(shown + left_out(&composed, name, OmissionReason::NoRoom).0, all.len() as u64, "{}", name);
        }
    }

    #[test]
    fn a_window_with_a_board_keeps_its_budget_and_order(
        memory in any_memory(),
        sketch in any_board(),
        with_task in any::<bool>(),
        budget in prop_oneof![64u64..200, 64u64..3000, Just(8_000)],
    ) {
        let lines = BoardLines::of(&sketch.state, with_task.then_some(TaskId(1)));
        let composed = memory.compose_with(Some(lines.clone()), budget, Strategy::Trim);
        check_within(&composed, budget);
        check_confined(&composed);
        prop_assert_eq!(composed.text, memory.compose_with(Some(lines), budget, Strategy::Trim).text);
    }
}

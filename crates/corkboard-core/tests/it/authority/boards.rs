//! Boards and their forks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::board::{
    Approval, ApprovalId, ApprovalVerdict, BoardAction, BoardCommand, BoardImage, BoardReply, BoardState, ForkedFrom,
    LearningId, LearningStatus, NewArtifact, NewBoard, NewDecision, NewDiscovery, NewTask, TaskId, TaskResult,
};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Actor, ActorKind, Refusal, Revisioned, Role};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::authority::{Reached, actors, is_person, names, now, send, trusts};

/// Maximum number of boards, forks included.
const MOST_BOARDS: usize = 6;

#[derive(Debug, Clone)]
pub(crate) struct Step {
    actor: Actor,
    board: Index,
    ask: Ask,
}

#[derive(Debug, Clone)]
enum Ask {
    AddTask,
    /// A decision: whether it affects the first task, whether it needs approval, and its trust.
    Decide(bool, bool, Option<Trust>),
    Discover(Option<Trust>),
    Make(Option<Trust>),
    Judge(Index, ApprovalVerdict),
    /// Claims a task and completes it.
    Work(Option<Trust>),
    Refuse(Index),
    Promote(Index),
    Fork(Vec<Forgery>),
}

/// A false claim in an image of a board.
#[derive(Debug, Clone)]
enum Forgery {
    Trust,
    Judged(&'static str, ApprovalVerdict),
    Author(&'static str),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verdict = || prop_oneof![2 => Just(ApprovalVerdict::Approved), 1 => Just(ApprovalVerdict::Rejected)];
    let forgery = prop_oneof![
        Just(Forgery::Trust),
        (names(), verdict()).prop_map(|(name, verdict)| Forgery::Judged(name, verdict)),
        names().prop_map(Forgery::Author),
    ];
    let ask = prop_oneof![
        2 => Just(Ask::AddTask),
        4 => (any::<bool>(), any::<bool>(), trusts()).prop_map(|(one, waits, trust)| Ask::Decide(one, waits, trust)),
        2 => trusts().prop_map(Ask::Discover),
        1 => trusts().prop_map(Ask::Make),
        4 => (any::<Index>(), verdict()).prop_map(|(which, verdict)| Ask::Judge(which, verdict)),
        3 => trusts().prop_map(Ask::Work),
        1 => any::<Index>().prop_map(Ask::Refuse),
        2 => any::<Index>().prop_map(Ask::Promote),
        4 => proptest::collection::vec(forgery, 0..3).prop_map(Ask::Fork),
    ];
    let step = (actors(), any::<Index>(), ask).prop_map(|(actor, board, ask)| Step { actor, board, ask });
    proptest::collection::vec(step, 1..40)
}

/// Who gave what, over all boards. Every text is unique.
#[derive(Default)]
struct Given {
    /// Texts that a person gave full trust.
    own: BTreeSet<String>,
    /// Texts and their authors.
    authors: BTreeSet<(String, String)>,
    /// Decisions, who judged them, and how.
    judged: BTreeSet<(String, String, String)>,
    /// Decisions that need an approval.
    waiting: BTreeSet<String>,
    /// Number of texts so far.
    texts: u32,
}

/// A board, and the decisions last rejected on it or on its source.
#[derive(Default)]
struct Board {
    live: Revisioned<BoardState>,
    rejected: BTreeSet<String>,
}

/// A text's author and trust, as a board shows them.
type Said = (String, String, Trust);

pub(crate) fn run(steps: &[Step]) -> Reached {
    let (mut given, mut reached) = (Given::default(), Reached::default());
    let mut first = Board::default();
    let create =
        BoardCommand::Create(NewBoard { name: "board".into(), cores: vec!["rules".into()], ..NewBoard::default() });
    let boss = Actor::new("olga", ActorKind::Agent, Role::Orchestrator);
    send(&mut first.live, None, &boss, &create, |_| ()).unwrap();
    send(&mut first.live, None, &boss, &add_task(), |_| ()).unwrap();
    let mut boards = vec![first];
    for Step { actor, board, ask } in steps {
        let place = board.index(boards.len());
        let answer = match ask {
            Ask::Fork(forged) if boards.len() < MOST_BOARDS => {
                let forked = fork(&boards[place], actor, forged, &mut given, &mut reached);
                forked.map(|forked| boards.push(forked))
            }
            Ask::Fork(_) => Ok(()),
            ask => tell(&mut boards[place], actor, ask, &mut given),
        };
        reached.refused += u32::from(answer.is_err());
        boards.iter().for_each(|board| given.check(board));
    }
    reached
}

fn add_task() -> BoardCommand {
    BoardCommand::AddTasks { tasks: vec![NewTask::new("task")], choices: vec![] }
}

/// Forks a board through an image that may be forged.
fn fork(
    source: &Board,
    actor: &Actor,
    forged: &[Forgery],
    given: &mut Given,
    reached: &mut Reached,
) -> Result<Board, Refusal> {
    let mut image = BoardImage::from(source.live.state.clone());
    forged.iter().filter(|forgery| forgery.can_be_met(actor)).for_each(|forgery| forgery.forge(&mut image));
    let from = ForkedFrom { board: "source".into(), rev: source.live.head.rev };
    let command = BoardCommand::Fork { from, name: None, image: Box::new(image.clone()) };
    let mut forked = Board::default();
    send(&mut forked.live, None, actor, &command, |arrived| {
        let BoardCommand::Fork { image: there, .. } = arrived else { panic!("{arrived:?}") };
        assert_eq!(**there, BoardImage::default(), "an image should not cross the wire");
        **there = image.clone();
    })?;
    let brought = BoardState::from(image);
    let rejected = brought.decisions().filter(|decision| decision.verdict == Some(ApprovalVerdict::Rejected));
    forked.rejected.extend(rejected.map(|decision| decision.question.clone()));
    if is_person(actor) {
        for (text, author, trust) in said(&brought) {
            given.own.extend((trust == Trust::Own).then(|| text.clone()));
            given.authors.insert((text, author));
        }
    }
    if BoardAction::Approve.is_allowed_to(actor.role) {
        given.judged.extend(judged(&brought));
    }
    let kept = said(&forked.live.state) == said(&brought) && judged(&forked.live.state) == judged(&brought);
    *(if kept { &mut reached.admitted } else { &mut reached.limited }) += 1;
    Ok(forked)
}

impl Forgery {
    /// A fork does not limit authors, because the server that decides it reads the source board itself. The stored
    /// source can be wrong about trust and approvals, if these were forged before forks were limited.
    fn can_be_met(&self, actor: &Actor) -> bool {
        !matches!(self, Self::Author(_)) || is_person(actor)
    }

    fn forge(&self, image: &mut BoardImage) {
        match self {
            Self::Trust => {
                image.decisions.iter_mut().for_each(|it| Arc::make_mut(it).trust = Trust::Own);
                image.discoveries.iter_mut().for_each(|it| Arc::make_mut(it).trust = Trust::Own);
                image.artifacts.iter_mut().for_each(|it| Arc::make_mut(it).trust = Trust::Own);
                for result in image.tasks.iter_mut().filter_map(|task| Arc::make_mut(task).result.as_mut()) {
                    Arc::make_mut(result).trust = Some(Trust::Own);
                }
            }
            Self::Judged(name, verdict) => {
                for decision in &mut image.decisions {
                    let id = ApprovalId(image.approvals.len() as u64 + 1);
                    let (created_by, created_at, verdict) = ((*name).into(), now(), *verdict);
                    image.approvals.push(Arc::new(Approval {
                        id,
                        decision: decision.id,
                        created_by,
                        created_at,
                        updated_at: created_at,
                        verdict,
                        comment: None,
                    }));
                    Arc::make_mut(decision).verdict = Some(verdict);
                }
            }
            Self::Author(name) => {
                image.contributions.clear();
                image.decisions.iter_mut().for_each(|it| Arc::make_mut(it).created_by = (*name).into());
                image.discoveries.iter_mut().for_each(|it| Arc::make_mut(it).created_by = (*name).into());
                image.artifacts.iter_mut().for_each(|it| Arc::make_mut(it).created_by = (*name).into());
            }
        }
    }
}

/// Every command except forks.
fn tell(board: &mut Board, actor: &Actor, ask: &Ask, given: &mut Given) -> Result<(), Refusal> {
    given.texts += 1;
    let text = format!("text {} is true because it is", given.texts);
    let mut send = |command: BoardCommand| send(&mut board.live, None, actor, &command, |_| ());
    let trust = match ask {
        Ask::AddTask => return send(add_task()).map(|_| ()),
        Ask::Judge(which, verdict) => {
            let decisions: Vec<_> = board.live.state.decisions().cloned().collect();
            if decisions.is_empty() {
                return Ok(());
            }
            let decision = which.get(&decisions);
            let judge = BoardCommand::Judge { decision: decision.id, verdict: *verdict, comment: None };
            crate::authority::send(&mut board.live, None, actor, &judge, |_| ())?;
            let judged = (decision.question.clone(), actor.principal.clone(), verdict.to_string());
            given.judged.insert(judged);
            match verdict {
                ApprovalVerdict::Approved => board.rejected.remove(&decision.question),
                ApprovalVerdict::Rejected => board.rejected.insert(decision.question.clone()),
            };
            return Ok(());
        }
        Ask::Refuse(which) | Ask::Promote(which) => {
            let learnings: Vec<LearningId> =
                board.live.state.learning_candidates().into_iter().map(|it| it.id).collect();
            if learnings.is_empty() {
                return Ok(());
            }
            let learning = which.get(&learnings).clone();
            let command = match ask {
                Ask::Refuse(_) => BoardCommand::RefuseLearning { learning, reason: None },
                _ => BoardCommand::PromoteLearning { learning, core: None, changes: Box::default() },
            };
            return crate::authority::send(&mut board.live, None, actor, &command, |_| ()).map(|_| ());
        }
        Ask::Decide(about_one, needs_approval, trust) => {
            send(BoardCommand::RecordDecision(NewDecision {
                question: text.clone(),
                choice: "yes".into(),
                rationale: "for many good reasons".into(),
                affects_tasks: if *about_one { vec![TaskId(1)] } else { vec![] },
                needs_approval: *needs_approval,
                trust: *trust,
                ..NewDecision::default()
            }))?;
            given.waiting.extend(needs_approval.then(|| text.clone()));
            trust.unwrap_or(Trust::most_of(actor.kind))
        }
        Ask::Discover(trust) => {
            send(BoardCommand::RecordDiscovery(NewDiscovery {
                content: text.clone(),
                trust: *trust,
                ..NewDiscovery::default()
            }))?;
            trust.unwrap_or(Trust::most_of(actor.kind))
        }
        Ask::Make(trust) => {
            send(BoardCommand::RecordArtifact(NewArtifact {
                path: text.clone(),
                trust: *trust,
                ..NewArtifact::default()
            }))?;
            trust.unwrap_or(Trust::most_of(actor.kind))
        }
        Ask::Work(trust) => {
            let BoardReply::Claimed(Some(claimed)) =
                send(BoardCommand::Claim { task: None, epoch: None, lease: Duration::from_millis(1_000) })?
            else {
                return Ok(());
            };
            given.check_gate(&board.live.state, claimed.task);
            let result = TaskResult { summary: text.clone(), next_steps: vec![], trust: *trust };
            let complete = BoardCommand::CompleteTask { task: claimed.task, result, epoch: None, heed_nudges: false };
            crate::authority::send(&mut board.live, None, actor, &complete, |_| ())?;
            trust.unwrap_or_default()
        }
        Ask::Fork(_) => return Ok(()),
    };
    // The command was accepted, so the actor was allowed to give this.
    given.own.extend((trust == Trust::Own && is_person(actor)).then(|| text.clone()));
    given.authors.insert((text, actor.principal.clone()));
    Ok(())
}

impl Given {
    fn check(&self, Board { live, rejected }: &Board) {
        let board = &live.state;
        for (text, author, trust) in said(board) {
            assert!(trust != Trust::Own || self.own.contains(&text), "{text}: no person gave it full trust");
            assert!(self.authors.contains(&(text.clone(), author.clone())), "{text}: {author} did not write that");
        }
        let judged = judged(board);
        assert!(judged.is_subset(&self.judged), "{judged:?}, but only {:?} was given", self.judged);
        for decision in board.decisions() {
            let last = board.approvals().rev().find(|approval| approval.decision == decision.id);
            assert_eq!(decision.verdict, last.map(|approval| approval.verdict));
            let is_approval =
                |(text, _, said): &(String, String, String)| *text == decision.question && said == "approved";
            let waits = self.waiting.contains(&decision.question) && !self.judged.iter().any(is_approval);
            let is_closed = waits || rejected.contains(&decision.question);
            assert!(!is_closed || !decision.holds(), "{decision:?} holds without an approval");
        }
        for verdict in board.learning_verdicts() {
            match &verdict.status {
                LearningStatus::Begun(begun) => {
                    assert!(begun.entry.trust != Some(Trust::Own) || is_person(&begun.actor), "{begun:?}");
                    let is_own = begun.entry.author.as_deref() == Some(&*begun.actor.principal);
                    assert!(begun.actor.kind != ActorKind::Agent || !is_own, "{begun:?}");
                }
                state => assert!(matches!(state, LearningStatus::Refused { .. }), "{state:?}"),
            }
        }
    }

    /// A task that was just claimed must not wait for an unjudged decision.
    fn check_gate(&self, board: &BoardState, task: TaskId) {
        for decision in board.decisions().filter(|decision| decision.affects_tasks.contains(&task)) {
            let is_judged = self.judged.iter().any(|(text, ..)| *text == decision.question);
            assert!(
                is_judged || !self.waiting.contains(&decision.question),
                "{task} started before a verdict on {decision:?}"
            );
        }
    }
}

fn said(board: &BoardState) -> BTreeSet<Said> {
    let results = board.tasks().filter_map(|task| {
        let (result, by) = (task.result.as_ref()?, task.assigned_to.as_ref()?);
        Some((result.summary.clone(), by.as_str().to_owned(), result.trust()))
    });
    let decisions = board.decisions().map(|it| (it.question.clone(), it.created_by.to_string(), it.trust));
    let discoveries = board.discoveries().map(|it| (it.content.clone(), it.created_by.to_string(), it.trust));
    let artifacts = board.artifacts().map(|it| (it.path.to_string(), it.created_by.to_string(), it.trust));
    results.chain(decisions).chain(discoveries).chain(artifacts).collect()
}

fn judged(board: &BoardState) -> BTreeSet<(String, String, String)> {
    let of = |approval: &Arc<Approval>| board.decision(approval.decision).unwrap().question.clone();
    board.approvals().map(|it| (of(it), it.created_by.to_string(), it.verdict.to_string())).collect()
}

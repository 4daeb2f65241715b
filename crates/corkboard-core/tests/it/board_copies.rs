//! Forks: the state that a copy of a board starts with, and the checks on images from outside.

use std::sync::Arc;
use std::time::Duration;

use crate::board_support::*;
use corkboard_core::board::{
    ApprovalVerdict::*, Artifact, ArtifactId, BoardAction, BoardCommand, BoardImage, BoardInfo, BoardStatus,
    CancelCause, Cancellation, Choice, ChoiceId, Contribution, Decision, DecisionId, Discovery, ForkedFrom, Lease,
    NewArtifact, NewDecision, NewDiscovery, NewTask, ReviewVerdict, Task, TaskResult, TaskStatus, Unfinished,
};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Actor, ActorKind, LimitName, Limits, Refusal, Role};

/// A board with content of every kind.
fn rich() -> Desk {
    let mut desk = Desk::new();
    desk.add_all(vec![
        member("done", &[]),
        member("held", &["done"]),
        NewTask { needs_review: true, ..member("reviewed", &[]) },
        member("failed", &[]),
        member("cancelled", &["failed"]),
        NewTask { retry_limit: 1, retry_backoff_s: 600, ..member("waits", &[]) },
        member("this", &[]),
        member("that", &[]),
        member("assigned", &[]),
    ]);
    let choice = desk.add_choice(&[("this", &[id(7)]), ("that", &[id(8)])]);
    desk.choose(choice, "this");
    desk.complete(id(1));
    desk.complete(id(3));
    desk.fail(id(4));
    desk.fail(id(6));
    desk.claim(&worker("bob"), id(2));
    desk.tell(assign(id(9), "bob"));
    let decide =
        |supersedes| NewDecision { question: "q".into(), choice: "c".into(), supersedes, ..Default::default() };
    desk.ask(&worker("ann"), BoardCommand::RecordDecision(decide(None))).unwrap();
    desk.ask(&worker("ann"), BoardCommand::RecordDecision(decide(Some(DecisionId(1))))).unwrap();
    let found = NewDiscovery { content: "d".into(), affects_tasks: vec![id(1)], ..Default::default() };
    desk.ask(&worker("ann"), BoardCommand::RecordDiscovery(found)).unwrap();
    for _ in 0..2 {
        let made = NewArtifact { path: "p".into(), task: Some(id(1)), ..Default::default() };
        desk.ask(&worker("ann"), BoardCommand::RecordArtifact(made)).unwrap();
    }
    desk.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    desk
}

fn fork(image: BoardImage) -> BoardCommand {
    BoardCommand::Fork { name: None, image: Box::new(image), from: ForkedFrom { board: "source".into(), rev: 7 } }
}

fn image(desk: &Desk) -> BoardImage {
    BoardImage::from(desk.state().clone())
}

#[test]
fn a_copy_is_active_and_nobody_holds_anything_on_it() {
    let mut source = rich();
    let mut copy = Desk::empty(Limits::default());
    copy.now = source.now;
    copy.tell(fork(image(&source)));
    let info = copy.state().info().unwrap();
    assert_eq!(info.forked_from, Some(ForkedFrom { board: "source".into(), rev: 7 }));
    assert_eq!((info.version, &*info.created_by, info.created_at), (1, "hugo", copy.now));
    use TaskStatus::*;
    assert_eq!(copy.statuses(), [Completed, Pending, Review, Failed, Cancelled, Pending, Pending, Cancelled, Assigned]);
    assert!(copy.state().orchestrator().is_none());
    assert!(copy.state().tasks().all(|task| task.claim.is_none() && task.version == 1));
    assert_eq!(copy.ready(), ids(&[2, 7]));
    // Source and copy continue independently.
    let claimed = copy.claim(&worker("bob"), id(2));
    assert_eq!((claimed.epoch, claimed.attempt), (2, 2), "a claim on the source should not count on the copy");
    assert!(matches!(copy.refused_to(&worker("bob"), heartbeat(id(2), Some(1))), Refusal::Fenced { .. }));
    source.ask(&worker("bob"), heartbeat(id(2), Some(1))).unwrap();
    copy.tell(review(id(3), ReviewVerdict::Approved));
    let ann = copy.state().contributions().next().unwrap();
    assert_eq!((&*ann.agent, ann.first_rev), ("ann", 1), "a contributor's revisions should start with the copy");
    assert_eq!(ann.tasks_completed.iter().copied().collect::<Vec<_>>(), ids(&[1, 3]));
}

#[test]
fn a_copy_of_an_ended_board_continues_its_work() {
    let mut source = rich();
    source.tell(BoardCommand::Complete { reason: Some("enough".into()), unfinished: Unfinished::Cancel });
    let mut copy = Desk::empty(Limits::default());
    copy.tell(fork(image(&source)));
    let info = copy.state().info().unwrap();
    assert_eq!((info.status, info.outcome, info.ended_at, &info.reason), (BoardStatus::Active, None, None, &None));
    assert_eq!(copy.ready(), ids(&[2, 3, 6, 7, 9]), "tasks cancelled by the end of the source should be pending");
    assert_eq!(copy.cancelled(id(8)), Some((CancelCause::BranchNotTaken, None)));
    assert_eq!(copy.cancelled(id(5)), Some((CancelCause::UpstreamFailed, Some(id(4)))));
}

#[test]
fn a_copy_is_made_once_and_of_a_board() {
    let source = rich();
    let mut copy = Desk::empty(Limits::default());
    assert_eq!(copy.refused(fork(BoardImage::default())), Refusal::NoBoard);
    let from = ForkedFrom { board: " ".into(), rev: 1 };
    let nameless = BoardCommand::Fork { name: None, image: Box::new(image(&source)), from };
    assert_eq!(copy.refused(nameless), Refusal::Blank { what: "board ID".into() });
    copy.limits = Limits { command_bytes: 1, ..Limits::default() };
    copy.tell(fork(image(&source)));
    assert_eq!(copy.refused(fork(image(&source))), Refusal::BoardExists);
    let mut small = Desk::empty(Limits { state_bytes: 100, ..Limits::default() });
    assert!(matches!(small.refused(fork(image(&source))), Refusal::Limit { limit: LimitName::StateBytes, .. }));
    let mut few = Desk::empty(Limits { tasks_per_board: 8, ..Limits::default() });
    let limit = LimitName::TasksPerBoard;
    assert_eq!(few.refused(fork(image(&source))), Refusal::Limit { limit, used: 9, allowed: 8 });
}

/// Invalidates one field of an image.
type Harm = fn(&mut BoardImage);

fn task(image: &mut BoardImage, at: u64) -> &mut Task {
    Arc::make_mut(&mut image.tasks[at as usize - 1])
}

fn info(image: &mut BoardImage) -> &mut BoardInfo {
    Arc::make_mut(image.info.as_mut().unwrap())
}

fn decision(image: &mut BoardImage, at: usize) -> &mut Decision {
    Arc::make_mut(&mut image.decisions[at - 1])
}

fn discovery(image: &mut BoardImage) -> &mut Discovery {
    Arc::make_mut(&mut image.discoveries[0])
}

fn artifact(image: &mut BoardImage, at: usize) -> &mut Artifact {
    Arc::make_mut(&mut image.artifacts[at - 1])
}

fn the_choice(image: &mut BoardImage) -> &mut Choice {
    Arc::make_mut(&mut image.choices[0])
}

fn contribution(image: &mut BoardImage) -> &mut Contribution {
    Arc::make_mut(&mut image.contributions[0])
}

fn cancelled(cause: CancelCause, caused_by: Option<u64>) -> Option<Cancellation> {
    Some(Cancellation { cause, caused_by: caused_by.map(id), reason: None })
}

#[test]
fn an_image_that_contradicts_itself_is_refused() {
    let harms: Vec<Harm> = vec![
        |it| info(it).name = " ".into(),
        |it| info(it).name = "a\u{1}b".into(),
        |it| info(it).goal = "x".repeat(100_000),
        |it| info(it).constraints = vec!["c".into(); 2_000],
        |it| info(it).cores = vec!["".into()],
        // Numbers.
        |it| drop(it.tasks.remove(0)),
        |it| it.tasks.swap(0, 1),
        |it| it.tasks.push(it.tasks[0].clone()),
        |it| task(it, 9).id = id(10),
        |it| task(it, 9).id = id(u64::MAX),
        |it| task(it, 1).id = id(0),
        |it| decision(it, 2).id = DecisionId(9),
        |it| discovery(it).id.0 = 2,
        |it| artifact(it, 1).id = ArtifactId(2),
        |it| the_choice(it).id = ChoiceId(2),
        |it| task(it, 2).epoch = u64::MAX,
        |it| it.orchestrator_epoch = u64::MAX,
        // Edges.
        |it| task(it, 1).depends_on = ids(&[1]).into(),
        |it| task(it, 1).depends_on = ids(&[2]).into(),
        |it| task(it, 1).depends_on = ids(&[99]).into(),
        |it| task(it, 2).depends_on = ids(&[1, 1]).into(),
        // Tasks in an invalid state.
        |it| task(it, 1).title = "".into(),
        |it| task(it, 1).description = "x".repeat(100_000).into(),
        |it| task(it, 4).failure = Some("x".repeat(100_000).into()),
        |it| task(it, 1).result = Some(TaskResult { summary: "".into(), next_steps: vec![], trust: None }.into()),
        |it| task(it, 1).created_by = "".into(),
        |it| task(it, 3).reviewed_by = Some("\n".into()),
        |it| task(it, 1).assigned_to = None,
        |it| task(it, 3).assigned_to = None,
        |it| task(it, 9).assigned_to = None,
        |it| task(it, 6).assigned_to = Some(agent("ann")),
        |it| task(it, 1).not_before = Some(at(5)),
        |it| task(it, 1).cancellation = cancelled(CancelCause::UpstreamFailed, Some(4)),
        |it| task(it, 5).cancellation = None,
        |it| task(it, 5).cancellation = cancelled(CancelCause::UpstreamFailed, None),
        |it| task(it, 5).cancellation = cancelled(CancelCause::UpstreamFailed, Some(5)),
        |it| task(it, 5).cancellation = cancelled(CancelCause::UpstreamFailed, Some(77)),
        |it| task(it, 5).cancellation = cancelled(CancelCause::Requested, Some(4)),
        // Choices.
        |it| task(it, 1).choice = Some(ChoiceId(1)),
        |it| task(it, 1).choice = Some(ChoiceId(9)),
        |it| task(it, 7).choice = None,
        |it| the_choice(it).chosen = Some("other".into()),
        |it| the_choice(it).options.truncate(1),
        |it| the_choice(it).options[0].tasks.clear(),
        |it| the_choice(it).options[0].tasks = ids(&[99]),
        |it| the_choice(it).options[0].tasks = ids(&[7, 7]),
        |it| the_choice(it).options[1].name = "this".into(),
        |it| the_choice(it).question = "".into(),
        // Records.
        |it| decision(it, 1).question = "".into(),
        |it| decision(it, 1).affects_tasks = ids(&[99]),
        |it| decision(it, 1).created_by = "bob".into(),
        |it| decision(it, 1).superseded_by = None,
        |it| decision(it, 1).superseded_by = Some(DecisionId(1)),
        |it| decision(it, 2).supersedes = None,
        |it| decision(it, 2).supersedes = Some(DecisionId(2)),
        |it| discovery(it).content = " ".into(),
        |it| discovery(it).affects_tasks = ids(&[99]),
        |it| artifact(it, 2).version = 3,
        |it| artifact(it, 1).version = 0,
        |it| artifact(it, 1).checksum = Some("no".into()),
        |it| artifact(it, 1).content = Some("x".repeat(100_000).into()),
        |it| artifact(it, 1).task = Some(id(99)),
        // Contributions.
        |it| contribution(it).agent = "bob".into(),
        |it| _ = contribution(it).tasks_completed.insert(id(4)),
        |it| _ = contribution(it).decisions_made.insert(DecisionId(9)),
        |it| it.contributions.push(it.contributions[0].clone()),
        |it| {
            let empty = contribution(it);
            (empty.tasks_completed, empty.decisions_made) = Default::default();
            (empty.discoveries, empty.artifacts_created) = Default::default();
        },
    ];
    let whole = image(&rich());
    for (place, harm) in harms.iter().enumerate() {
        let mut image = whole.clone();
        harm(&mut image);
        assert_ne!(image, whole, "harm {place} changes nothing");
        let mut copy = Desk::empty(Limits::default());
        let refusal = copy.ask(&human(), fork(image));
        assert!(refusal.is_err(), "harm {place} was accepted: {refusal:?}");
    }
}

#[test]
fn an_image_may_contain_fields_that_a_copy_drops() {
    let mut image = image(&rich());
    let lease = Lease { holder: agent("eve"), epoch: u64::MAX, deadline: at(1), lease: Duration::MAX };
    task(&mut image, 2).claim = Some(lease.clone());
    task(&mut image, 2).attempt = u32::MAX;
    task(&mut image, 2).version = u64::MAX;
    image.orchestrator = Some(lease);
    let mut copy = Desk::empty(Limits::default());
    copy.tell(fork(image));
    assert_eq!(copy.claim(&worker("bob"), id(2)).epoch, 2);
    copy.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    assert_eq!(copy.state().orchestrator().unwrap().epoch, 2);
    // A pending task whose condition has become impossible is cancelled in the copy.
    let mut lost = BoardImage::from(rich().state().clone());
    let upstream = task(&mut lost, 5);
    (upstream.status, upstream.cancellation) = (TaskStatus::Pending, None);
    let mut copy = Desk::empty(Limits::default());
    copy.tell(fork(lost));
    assert_eq!(copy.cancelled(id(5)), Some((CancelCause::UpstreamFailed, Some(id(4)))));
}

/// A board with verdicts that only a person can give: trust, an approval, a rejection.
fn judged() -> Desk {
    let mut desk = Desk::new();
    desk.add_all(vec![member("one", &[]), member("two", &[])]);
    let decide = |affects: &[u64], needs_approval| NewDecision {
        question: "q".into(),
        choice: "c".into(),
        affects_tasks: ids(affects),
        needs_approval,
        ..Default::default()
    };
    desk.tell(BoardCommand::RecordDecision(decide(&[1], true)));
    desk.tell(BoardCommand::RecordDecision(decide(&[2], false)));
    desk.tell(BoardCommand::RecordDecision(decide(&[], false)));
    for (decision, verdict) in [(1, Approved), (2, Rejected), (3, Rejected)] {
        desk.tell(BoardCommand::Judge { decision: DecisionId(decision), verdict, comment: None });
    }
    desk.tell(BoardCommand::RecordDiscovery(NewDiscovery { content: "d".into(), ..Default::default() }));
    desk.tell(BoardCommand::RecordArtifact(NewArtifact { path: "p".into(), ..Default::default() }));
    desk.claim(&human(), id(1));
    let result = TaskResult { summary: "done".into(), next_steps: vec![], trust: Some(Trust::Own) };
    desk.tell(BoardCommand::CompleteTask { task: id(1), result, epoch: None, heed_nudges: false });
    desk
}

/// The trust of everything on a board.
fn trusts(desk: &Desk) -> Vec<Trust> {
    let state = desk.state();
    let results = state.tasks().filter_map(|task| task.result.as_ref()).map(|result| result.trust());
    let records = state.decisions().map(|it| it.trust).chain(state.discoveries().map(|it| it.trust));
    results.chain(records).chain(state.artifacts().map(|it| it.trust)).collect()
}

#[test]
fn a_copy_shows_no_approval_or_trust_that_its_creator_could_not_give() {
    use ActorKind::*;
    let source = judged();
    let copy = |kind, role| {
        let mut copy = Desk::empty(Limits::default());
        copy.ask(&Actor::new("eve", kind, role), fork(image(&source))).unwrap();
        copy
    };
    let verdicts = |desk: &Desk| desk.state().decisions().map(|decision| decision.verdict).collect::<Vec<_>>();
    for (kind, role, trust) in [
        (Human, Role::Human, Trust::Own),
        (Human, Role::Admin, Trust::Own),
        (Agent, Role::Admin, Trust::Agent),
        (Service, Role::Human, Trust::Agent),
    ] {
        let copy = copy(kind, role);
        assert_eq!(verdicts(&copy), [Some(Approved), Some(Rejected), Some(Rejected)], "{kind:?}, {role}");
        assert_eq!((copy.state().approvals().count(), trusts(&copy)), (3, vec![trust; 6]), "{kind:?}, {role}");
    }
    for (kind, trust) in [(Human, Trust::Own), (Agent, Trust::Agent), (Service, Trust::Agent)] {
        let mut copy = copy(kind, Role::Orchestrator);
        assert_eq!((verdicts(&copy), trusts(&copy)), (vec![None; 3], vec![trust; 6]), "{kind:?}");
        assert_eq!(copy.state().approvals().count(), 0);
        // In the copy, approved decisions wait again, and rejected decisions still do not hold.
        assert!(copy.state().decisions().all(|decision| decision.is_undecided() && !decision.holds()));
        let boss = Actor::new("eve", kind, Role::Orchestrator);
        assert!(matches!(copy.refused_to(&boss, claim(id(2))), Refusal::NotReady { .. }));
        // A copy of the copy works, too, and a person can approve its waiting decisions.
        let mut again = Desk::empty(Limits::default());
        again.tell(fork(image(&copy)));
        for decision in 1..=3 {
            again.tell(BoardCommand::Judge { decision: DecisionId(decision), verdict: Approved, comment: None });
        }
        assert!(again.state().decisions().all(|decision| decision.holds()));
        again.claim(&boss, id(2));
    }
}

/// A copy keeps reviews, chosen branches and refused learnings. So a role that may create boards must be allowed to
/// give all of these.
#[test]
fn roles_that_create_boards_may_give_every_verdict_that_a_copy_keeps() {
    for role in Role::ALL.into_iter().filter(|role| BoardAction::Create.is_allowed_to(*role)) {
        for action in [BoardAction::Review, BoardAction::Choose, BoardAction::Promote, BoardAction::Supersede] {
            assert!(action.is_allowed_to(role), "{action:?} by {role}");
        }
    }
}

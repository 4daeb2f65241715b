//! A board to send commands to, with a clock and limits that the test controls, and short forms of common calls. After
//! every revision it is compared with a scan of its tasks.

pub(crate) mod scan;
pub(crate) use crate::wire;

use std::sync::Arc;
use std::time::Duration;

use corkboard_core::board::{
    BoardCommand, BoardEvent, BoardImage, BoardReply, BoardState, CancelCause, ChoiceId, Claimed, NewBoard, NewBranch,
    NewChoice, NewTask, ReviewVerdict, Task, TaskId, TaskRef, TaskResult, TaskStatus,
};
use corkboard_core::{
    Actor, ActorKind, AgentId, Commit, CommitId, Context, LimitWarning, Limits, PerformError, Refusal, Request,
    RequestOutcome, Revisioned, Role, Space,
};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

pub(crate) type BoardCommit = Commit<BoardEvent, BoardReply>;
pub(crate) type Decided = RequestOutcome<BoardEvent, BoardReply>;

/// Duration of the leases in these tests.
pub(crate) const LEASE_MS: u64 = 30_000;
pub(crate) const LEASE: Duration = Duration::from_millis(LEASE_MS);

#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub live: Revisioned<BoardState>,
    pub limits: Limits,
    pub now: Timestamp,
    /// All commits so far, as a store would keep them.
    pub log: Vec<Arc<[u8]>>,
    /// The warnings of the last command.
    pub warnings: Vec<LimitWarning>,
}

impl Desk {
    /// Without a board.
    pub(crate) fn empty(limits: Limits) -> Self {
        Self { live: Revisioned::default(), limits, now: at(1_000), log: Vec::new(), warnings: Vec::new() }
    }

    /// A board without tasks.
    pub(crate) fn new() -> Self {
        Self::with(NewBoard { name: "Release".into(), goal: "Ship it".into(), ..NewBoard::default() })
    }

    pub(crate) fn with(board: NewBoard) -> Self {
        let mut desk = Self::empty(Limits::default());
        desk.tell(BoardCommand::Create(board));
        desk
    }

    pub(crate) fn decide(&self, actor: &Actor, request: &Request<BoardCommand>) -> Result<Decided, Refusal> {
        let context = Context::new(self.now, actor, &self.limits, Uuid::nil());
        self.live.decide(request, &context)
    }

    pub(crate) fn request(&mut self, actor: &Actor, request: &Request<BoardCommand>) -> Result<BoardReply, Refusal> {
        let mut arrived = crate::wire::arrived_request::<BoardState>(request);
        if let (BoardCommand::Fork { image, .. }, BoardCommand::Fork { image: read, .. }) =
            (&mut arrived.command, &request.command)
        {
            assert_eq!(**image, BoardImage::default(), "an image should not cross the wire");
            // The server reads the image itself.
            image.clone_from(read);
        }
        let decided = self.decide(actor, &arrived);
        crate::wire::check_answer(&decided);
        let performed = self.perform(actor, request, &decided);
        match decided? {
            RequestOutcome::Unchanged { reply, .. } => Ok(reply),
            RequestOutcome::Commit { commit, reply, warnings } => {
                let id = commit_id(self.rev() + 1);
                self.live.apply(&commit, id, &self.limits).unwrap();
                assert_eq!(performed, self.live, "performing should equal deciding and applying");
                let stored = commit.encode().unwrap();
                assert_eq!(BoardState::encode(&commit).unwrap(), stored, "both encoders should give the same bytes");
                self.log.push(stored.into());
                self.warnings = warnings;
                scan::check(self.state());
                Ok(reply)
            }
        }
    }

    /// Performs the request in one step and compares it with deciding and then applying: the answers are equal. A
    /// refused request leaves the state unchanged or reports it as spoilt.
    fn perform(
        &self,
        actor: &Actor,
        request: &Request<BoardCommand>,
        decided: &Result<Decided, Refusal>,
    ) -> Revisioned<BoardState> {
        let context = Context::new(self.now, actor, &self.limits, Uuid::nil());
        let mut state = self.live.clone();
        match (state.perform(request, &context, commit_id(self.rev() + 1)), decided) {
            (Ok(performed), Ok(decided)) => assert_eq!(performed, *decided),
            (Err(PerformError::Refused(refusal)), Err(decided)) => {
                // Compared as text, because a refusal can contain NaN, which does not equal itself.
                assert_eq!((format!("{refusal:?}"), &state), (format!("{decided:?}"), &self.live));
            }
            (Err(PerformError::Spoilt(refusal)), Err(decided)) => assert_eq!(refusal, *decided),
            (performed, decided) => panic!("{performed:?} instead of {decided:?}"),
        }
        state
    }

    pub(crate) fn ask(&mut self, actor: &Actor, command: BoardCommand) -> Result<BoardReply, Refusal> {
        self.request(actor, &Request::new(command))
    }

    /// Sends a command that must succeed, as a person.
    pub(crate) fn tell(&mut self, command: BoardCommand) -> BoardReply {
        self.ask(&human(), command).unwrap()
    }

    /// The refusal of a command that must be refused, sent by a person.
    pub(crate) fn refused(&mut self, command: BoardCommand) -> Refusal {
        self.refused_to(&human(), command)
    }

    /// The refusal of a command that must be refused and change nothing.
    pub(crate) fn refused_to(&mut self, actor: &Actor, command: BoardCommand) -> Refusal {
        let before = (self.live.clone(), self.log.len());
        let refusal = self.ask(actor, command).unwrap_err();
        assert_eq!((&self.live, self.log.len()), (&before.0, before.1));
        refusal
    }

    pub(crate) fn add(&mut self, task: NewTask) -> TaskId {
        self.add_all(vec![task])[0]
    }

    pub(crate) fn add_all(&mut self, tasks: Vec<NewTask>) -> Vec<TaskId> {
        match self.tell(add_tasks(tasks)) {
            BoardReply::Added { tasks, .. } => tasks,
            other => panic!("{other:?}"),
        }
    }

    /// Adds a choice between branches that start with these tasks.
    pub(crate) fn add_choice(&mut self, options: &[(&str, &[TaskId])]) -> ChoiceId {
        match self.tell(BoardCommand::AddTasks { tasks: Vec::new(), choices: vec![choice(options)] }) {
            BoardReply::Added { choices, .. } => choices[0],
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn choose(&mut self, choice: ChoiceId, option: &str) -> Vec<TaskId> {
        let chosen = self.tell(BoardCommand::Choose { choice, option: option.into(), rationale: None });
        tasks_of(&chosen)
    }

    pub(crate) fn claim(&mut self, actor: &Actor, task: TaskId) -> Claimed {
        match self.ask(actor, claim(task)).unwrap() {
            BoardReply::Claimed(Some(claimed)) => claimed,
            other => panic!("{other:?}"),
        }
    }

    /// Claims and completes the task.
    pub(crate) fn complete(&mut self, task: TaskId) {
        let claimed = self.claim(&worker("ann"), task);
        self.ask(&worker("ann"), complete_task(task, Some(claimed.epoch))).unwrap();
    }

    /// Claims and fails the task.
    pub(crate) fn fail(&mut self, task: TaskId) {
        let claimed = self.claim(&worker("ann"), task);
        self.ask(&worker("ann"), fail_task(task, Some(claimed.epoch))).unwrap();
    }

    pub(crate) fn pass(&mut self, milliseconds: i64) {
        self.now += SignedDuration::from_millis(milliseconds);
    }

    pub(crate) fn state(&self) -> &BoardState {
        &self.live.state
    }

    pub(crate) fn task(&self, id: TaskId) -> &Task {
        self.state().task(id).unwrap()
    }

    pub(crate) fn status(&self, id: TaskId) -> TaskStatus {
        self.task(id).status
    }

    pub(crate) fn statuses(&self) -> Vec<TaskStatus> {
        self.state().tasks().map(|task| task.status).collect()
    }

    /// The cause of a task's cancellation, and the task that caused it.
    pub(crate) fn cancelled(&self, id: TaskId) -> Option<(CancelCause, Option<TaskId>)> {
        self.task(id).cancellation.as_ref().map(|cancelled| (cancelled.cause, cancelled.caused_by))
    }

    pub(crate) fn ready(&self) -> Vec<TaskId> {
        self.state().ready().collect()
    }

    pub(crate) fn rev(&self) -> u64 {
        self.live.head.rev
    }

    /// The events of the last revision.
    pub(crate) fn last_events(&self) -> Vec<BoardEvent> {
        BoardCommit::decode(self.log.last().unwrap()).unwrap().events
    }
}

/// The state after a log of encoded commits, starting from an earlier state.
pub(crate) fn replay(
    mut from: Revisioned<BoardState>,
    log: &[impl AsRef<[u8]>],
    limits: &Limits,
) -> Revisioned<BoardState> {
    for line in log {
        let commit = BoardCommit::decode(line.as_ref()).unwrap();
        let id = commit_id(from.head.rev + 1);
        from.apply(&commit, id, limits).unwrap();
    }
    from
}

/// The desk after a tick, which applies only the events of the state's sweep.
pub(crate) fn ticked(desk: &Desk) -> Desk {
    let mut ticked = desk.clone();
    let due = ticked.state().expire(ticked.now);
    ticked.ask(&Actor::system(), BoardCommand::Tick).unwrap();
    assert_eq!(ticked.rev(), desk.rev() + u64::from(!due.is_empty()));
    ticked
}

pub(crate) fn commit_id(rev: u64) -> CommitId {
    CommitId(Uuid::from_u128(rev.into()))
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn named(principal: &str, role: Role) -> Actor {
    Actor::new(principal, ActorKind::Agent, role)
}

pub(crate) fn worker(principal: &str) -> Actor {
    named(principal, Role::Worker)
}

pub(crate) fn orchestrator(principal: &str) -> Actor {
    named(principal, Role::Orchestrator)
}

pub(crate) fn human() -> Actor {
    Actor::new("hugo", ActorKind::Human, Role::Human)
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::new(name, &Limits::default()).unwrap()
}

pub(crate) fn id(number: u64) -> TaskId {
    TaskId(number)
}

pub(crate) fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}

/// A task that depends on these.
pub(crate) fn after(title: &str, on: &[TaskId]) -> NewTask {
    NewTask { depends_on: on.iter().copied().map(TaskRef::Task).collect(), ..NewTask::new(title) }
}

/// A task of a batch that depends on others of the batch.
pub(crate) fn member(key: &str, on: &[&str]) -> NewTask {
    NewTask { key: Some(key.into()), depends_on: on.iter().copied().map(TaskRef::from).collect(), ..NewTask::new(key) }
}

pub(crate) fn add_tasks(tasks: Vec<NewTask>) -> BoardCommand {
    BoardCommand::AddTasks { tasks, choices: Vec::new() }
}

pub(crate) fn choice(options: &[(&str, &[TaskId])]) -> NewChoice {
    let branch = |(name, tasks): &(&str, &[TaskId])| NewBranch {
        name: (*name).into(),
        tasks: tasks.iter().copied().map(TaskRef::Task).collect(),
    };
    NewChoice { question: "Which?".into(), options: options.iter().map(branch).collect() }
}

pub(crate) fn claim(task: TaskId) -> BoardCommand {
    BoardCommand::Claim { task: Some(task), epoch: None, lease: LEASE }
}

pub(crate) fn claim_next() -> BoardCommand {
    BoardCommand::Claim { task: None, epoch: None, lease: LEASE }
}

pub(crate) fn assign(task: TaskId, to: &str) -> BoardCommand {
    BoardCommand::Assign { task, agent: agent(to) }
}

pub(crate) fn set_status(task: TaskId, status: TaskStatus, epoch: Option<u64>) -> BoardCommand {
    BoardCommand::SetStatus { task, status, reason: None, epoch, lease: LEASE }
}

pub(crate) fn complete_task(task: TaskId, epoch: Option<u64>) -> BoardCommand {
    BoardCommand::CompleteTask {
        task,
        result: TaskResult { summary: "done".into(), next_steps: vec![], trust: None },
        epoch,
        heed_nudges: false,
    }
}

pub(crate) fn fail_task(task: TaskId, epoch: Option<u64>) -> BoardCommand {
    BoardCommand::FailTask { task, reason: "it broke".into(), epoch }
}

pub(crate) fn release(task: TaskId, epoch: Option<u64>) -> BoardCommand {
    BoardCommand::Release { task, epoch }
}

pub(crate) fn heartbeat(task: TaskId, epoch: Option<u64>) -> BoardCommand {
    BoardCommand::Heartbeat { task, epoch }
}

pub(crate) fn review(task: TaskId, verdict: ReviewVerdict) -> BoardCommand {
    let comment = (verdict != ReviewVerdict::Approved).then(|| "once more".into());
    BoardCommand::Review { task, verdict, comment }
}

pub(crate) fn cancel_task(task: TaskId) -> BoardCommand {
    BoardCommand::CancelTask { task, reason: None }
}

pub(crate) fn tasks_of(reply: &BoardReply) -> Vec<TaskId> {
    match reply {
        BoardReply::Tasks(tasks) => tasks.clone(),
        other => panic!("{other:?}"),
    }
}

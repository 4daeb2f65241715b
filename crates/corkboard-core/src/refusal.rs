//! Why a command was refused. A refused command changes nothing.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::board::{
    BoardInfo, BoardStatus, ChoiceId, DecisionId, Hindrance, KeptBy, LearningId, NudgeId, Task, TaskId, TaskRef,
    TaskStatus,
};
use crate::knowledge::{CoreEntry, CoreEntryId, Trust};
use crate::notebook::NotebookItemId;
use crate::tokens::TokenId;
use crate::{Actor, AgentId, CoreId, Entry, Key, LimitName, NotebookName, Role, ScopeId};

/// A typed refusal, with the data that a caller needs to do better.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A name (key, scope name, agent id, tag, idempotency key) is empty or consists of white space.
    #[error("{what} must not be blank")]
    Blank { what: Cow<'static, str> },
    /// A name holds a control character, or one that cannot be seen: a zero-width character, a direction mark.
    #[error("{what} must not contain control or invisible characters (found {character:?} at byte {at})")]
    ControlCharacter { what: Cow<'static, str>, character: char, at: usize },
    /// A limit would be exceeded.
    #[error("limit reached: {limit} would be {used}, allowed are {allowed}")]
    Limit {
        limit: LimitName,
        /// What the command would have used.
        used: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// Importance is NaN or outside 0 to 1.
    #[error("importance must be a number from 0 to 1, not {importance}")]
    Importance {
        #[serde(with = "crate::number")]
        importance: f32,
    },
    /// An expiry that does not lie in the future, or two of them.
    #[error("expiry refused: {reason}")]
    Expiry {
        /// What is wrong with it.
        reason: Cow<'static, str>,
    },
    /// The actor's role does not allow it.
    #[error("{principal} is {} {role} and may not {what}{}", role.article(), only(may))]
    RoleDenied {
        principal: String,
        role: Role,
        /// What was asked, in words that follow "may not".
        what: Cow<'static, str>,
        /// Who may, in words; empty where the role says it all.
        may: String,
    },
    /// Someone else changed the item first (`if_version`). Nothing was written.
    #[error("{}", conflict_text(key, *expected, current.as_deref()))]
    Conflict {
        key: Key,
        /// The version that the caller expected; 0 stands for "must not exist".
        expected: u64,
        /// What is there now.
        #[serde(with = "as_logged")]
        current: Option<Box<Entry>>,
    },
    /// Someone else changed the space first (`if_rev`). Nothing was written.
    #[error("it is at revision {current}, not {expected}")]
    RevConflict {
        /// The revision that the caller expected.
        expected: u64,
        /// The revision it is at.
        current: u64,
    },
    /// Text was to be appended to a value that is no text.
    #[error("cannot append text to {key:?}: its value is {found}", key = key.as_str())]
    NotText {
        key: Key,
        /// What kind of JSON value is there.
        found: Cow<'static, str>,
    },
    /// An entry that was to be renamed is not there.
    #[error("there is no entry {key:?}", key = key.as_str())]
    NoEntry { key: Key },
    /// The scope does not exist or was disposed.
    #[error("scope {scope} does not exist or was disposed")]
    ScopeGone { scope: ScopeId },
    /// The root scope can be neither merged nor disposed.
    #[error("the root scope can be neither merged nor disposed")]
    RootScope,
    /// A snapshot of another agent.
    #[error("the snapshot belongs to agent {found:?}, not to {expected:?}")]
    AgentMismatch {
        /// Whose memory it was to be restored to.
        expected: String,
        /// Whose memory the snapshot holds.
        found: String,
    },
    /// Learnings or snippets that were to be archived are not there.
    #[error("notebook {notebook} has no {}", joined(ids, ", "))]
    UnknownItems { notebook: NotebookName, ids: Vec<NotebookItemId> },
    /// Someone else changed the notebook first (`if_version`). Nothing was written.
    #[error("notebook {notebook} is at version {current}, not {expected}")]
    NotebookConflict {
        notebook: NotebookName,
        /// The version that the caller expected; 0 stands for "never written".
        expected: u64,
        /// The version it is at.
        current: u64,
    },
    /// Something in a notebook that, written down, would be read as something else.
    #[error("{what} {text:?} cannot be kept: written in the notebook's language it would be read as something else")]
    Unreadable {
        what: Cow<'static, str>,
        /// Its beginning.
        text: String,
    },
    /// A notebook that no sequence of updates leads to.
    #[error("notebook {notebook} cannot be restored: {reason}")]
    NotebookContradicts {
        notebook: NotebookName,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such board.
    #[error("there is no such board")]
    NoBoard,
    /// The board is there already.
    #[error("the board exists already")]
    BoardExists,
    /// The board has ended: nothing on it changes any more.
    #[error("the board is {status}: nothing on it changes any more")]
    BoardEnded { status: BoardStatus },
    /// Only a board that has ended is put away.
    #[error("the board is active: complete or cancel it first")]
    BoardActive,
    /// Something keeps the board from being purged.
    #[error("the board is kept: {}", joined(by, "; "))]
    BoardKept {
        /// All that does.
        by: Vec<KeptBy>,
    },
    /// The board is gone for good.
    #[error("the board was purged")]
    BoardPurged,
    /// Something is not on the board.
    #[error("there is no {what} {id} on this board")]
    NotOnBoard {
        /// What kind of thing.
        what: Cow<'static, str>,
        id: String,
    },
    /// A task of a batch depends on a key that no other task of the batch has.
    #[error("{key:?} is neither a task's id (T-1) nor the key of a task in this batch")]
    UnknownMember { key: String },
    /// Two tasks of a batch have the same key.
    #[error("two tasks of this batch have the key {key:?}")]
    DuplicateMember { key: String },
    /// A task of a batch has a key that would be read as a task's id.
    #[error("{key:?} cannot be the key of a task: it reads like a task's id")]
    KeyReadsAsId { key: String },
    /// Tasks would wait for one another. Nothing was added.
    #[error("these tasks would wait for one another: {}", arrows(path))]
    Cycle {
        /// Each depends on the next; the last is the first.
        path: Vec<TaskRef>,
    },
    /// A task does not move from its state to that one.
    #[error("{task} is {} and cannot become {to}; it can become {}", from.in_words(), or_nothing(allowed))]
    TaskMove {
        task: TaskId,
        /// The state that it is in.
        from: TaskStatus,
        /// The state that was asked for.
        to: TaskStatus,
        /// The states that it can move to.
        allowed: Vec<TaskStatus>,
    },
    /// A task moves to that state, but not by this command: what did not fail is not retried, what is under review is not
    /// failed by its worker.
    #[error("{task} is {}: it can become {to}, but not by this", from.in_words())]
    NotThisWay {
        task: TaskId,
        /// The state that it is in.
        from: TaskStatus,
        /// The state that was asked for.
        to: TaskStatus,
    },
    /// A task cannot begin yet.
    #[error("{task} cannot begin yet: {}", joined(hindrances, "; "))]
    NotReady {
        task: TaskId,
        /// What hinders it.
        hindrances: Vec<Hindrance>,
    },
    /// The dependencies of a task that was begun cannot change.
    #[error("{task} is {}: its dependencies can change only before work begins", status.in_words())]
    AlreadyBegun {
        task: TaskId,
        /// The state that it is in.
        status: TaskStatus,
    },
    /// Somebody else has the task.
    #[error("{task} is {holder}'s")]
    TaskHeld {
        task: TaskId,
        /// Whose it is.
        holder: AgentId,
        /// When the lease expires, if the task is being worked on.
        until: Option<Timestamp>,
    },
    /// Somebody else is the orchestrator.
    #[error("{holder} is the orchestrator until {until}")]
    OrchestratorHeld {
        holder: AgentId,
        /// When the lease expires.
        until: Timestamp,
    },
    /// The caller's hold on it was lost: it expired, or was given to somebody else. Nothing was written.
    #[error("{}", fenced_text(what, holder.as_ref(), *epoch))]
    Fenced {
        /// A task's id, or `orchestrator`.
        what: String,
        /// Who holds it now.
        holder: Option<AgentId>,
        epoch: u64,
    },
    /// Someone else changed the task first (`if_version`). Nothing was written.
    #[error("{} is at version {}, not {expected}", current.id, current.version)]
    TaskConflict {
        /// The version that the caller expected.
        expected: u64,
        /// What is there now.
        current: Box<Task>,
    },
    /// Someone else changed the board first (`if_version`). Nothing was written.
    #[error("the board is at version {}, not {expected}", current.version)]
    BoardConflict {
        /// The version that the caller expected.
        expected: u64,
        /// What is there now.
        current: Box<BoardInfo>,
    },
    /// Only whoever made a decision may replace it, and those who run the board.
    #[error("{decision} was made by {author}: only they and those who run the board may supersede it")]
    NotAuthor { decision: DecisionId, author: String },
    /// An irreversible decision is superseded only by a person who says so.
    #[error("{decision} is irreversible: only a person can supersede it, with force")]
    Irreversible { decision: DecisionId },
    /// A review was assigned to somebody else.
    #[error("the review of {task} is assigned to {reviewer}: only {reviewer} or a person can give it")]
    NotReviewer {
        task: TaskId,
        /// Who is to review it.
        reviewer: AgentId,
    },
    /// No agent approves what it did itself.
    #[error("{principal} cannot approve {task}: an agent does not approve its own task")]
    OwnTask { task: TaskId, principal: String },
    /// Urgent nudges to the caller were not delivered yet.
    #[error("{task} cannot be completed yet: read {} first", urgent(nudges))]
    UrgentNudges { task: TaskId, nudges: Vec<NudgeId> },
    /// The decision was replaced before.
    #[error("{decision} was superseded by {by}")]
    Superseded {
        decision: DecisionId,
        /// The one that holds.
        by: DecisionId,
    },
    /// A decision asks for approval, and no task waits for it.
    #[error("a decision that asks for approval must name the tasks that wait for it")]
    NothingWaits,
    /// A task is not done before decisions that concern it are approved or rejected.
    #[error("{task} cannot be completed: {} not approved", are(decisions))]
    AwaitsApproval {
        task: TaskId,
        /// What it waits for.
        decisions: Vec<DecisionId>,
    },
    /// The board is paused: nobody begins a task.
    #[error("{by} paused the board at {since}: nothing is begun until it is resumed")]
    Paused { by: String, since: Timestamp },
    /// A nudge was said to somebody else.
    #[error("{nudge} is not for you, it is for {}", addressed(to))]
    NotForYou {
        nudge: NudgeId,
        /// For whom it is.
        to: String,
    },
    /// The choice was made before.
    #[error("{choice} was decided: {chosen}")]
    AlreadyChosen {
        choice: ChoiceId,
        /// The branch that was chosen.
        chosen: String,
    },
    /// The choice has no such branch.
    #[error("{choice} has no branch {option:?}, only {}", options.join(", "))]
    NoBranch {
        choice: ChoiceId,
        /// What was asked for.
        option: String,
        /// What there is.
        options: Vec<String>,
    },
    /// A choice that is none.
    #[error("a choice cannot be like that: {reason}")]
    BadChoice {
        /// What is wrong with it.
        reason: String,
    },
    /// A board to be copied that no sequence of commands leads to.
    #[error("that is no board: {reason}")]
    BoardContradicts {
        /// What is wrong with it.
        reason: String,
    },
    /// A task that was cancelled because of another comes back only when that one is tried again, and it cannot be.
    #[error("{task} was cancelled because of {cause}, which did not fail and cannot be tried again")]
    CauseNotRetried {
        task: TaskId,
        /// The one that it was cancelled because of.
        cause: String,
    },
    /// The board has tasks that are not finished.
    #[error("{}", crate::count(*unfinished, "task is not finished", "tasks are not finished"))]
    Unfinished { unfinished: u64 },
    /// A learning was refused, and stays so.
    #[error("{by} refused {learning}: it is not promoted any more")]
    LearningRefused { learning: LearningId, by: String },
    /// A learning is in a core already.
    #[error("{learning} is in the core {core} already")]
    LearningPromoted {
        learning: LearningId,
        /// In which core.
        core: CoreId,
    },
    /// A learning is in no core.
    #[error("{learning} is in no core: it is {state}")]
    NotPromoted {
        learning: LearningId,
        /// What became of it.
        state: Cow<'static, str>,
    },
    /// A learning is on its way into a core, or out of one: that comes first.
    #[error("{learning} is on its way into a core, or out of one; that is to be finished first")]
    PromotionOpen { learning: LearningId },
    /// What was begun was finished, or given up, by somebody else.
    #[error("{learning} is not on its way any more: it is {state}")]
    PromotionOver {
        learning: LearningId,
        /// What became of it.
        state: Cow<'static, str>,
    },
    /// No agent promotes what it said itself.
    #[error("{principal} cannot promote {learning}: an agent does not promote its own words")]
    OwnLearning { learning: LearningId, principal: String },
    /// Nothing says into which core a learning should go.
    #[error("no core is suggested for {learning}: name one")]
    NoCore { learning: LearningId },
    /// A lease is too short or too long.
    #[error("a lease of {lease_ms} ms is refused: it must be from {least} to {most}")]
    LeaseLength {
        /// What was asked for.
        lease_ms: u64,
        /// The shortest.
        least: u64,
        /// The longest.
        most: u64,
    },
    /// A checksum that is no SHA-256.
    #[error("{text:?} is no SHA-256: that is 64 hexadecimal digits")]
    Checksum { text: String },
    /// A name that is kept for something else.
    #[error("a {what} must not begin with {prefix:?}: such names are kept for agents' own")]
    ReservedName {
        what: Cow<'static, str>,
        /// What it begins with.
        prefix: Cow<'static, str>,
    },
    /// There is no such entry in the core, or no more.
    #[error("there is no entry {entry} in this core")]
    NotInCore { entry: CoreEntryId },
    /// The entry was forgotten: it changes only once it is restored.
    #[error("{entry} is forgotten; restore it first")]
    EntryForgotten { entry: CoreEntryId },
    /// Someone else changed the core's entry first (`if_version`). Nothing was written.
    #[error("{} is at version {}, not {expected}", current.id, current.version)]
    CoreConflict {
        /// The version that the caller expected.
        expected: u64,
        /// What is there now.
        current: Box<CoreEntry>,
    },
    /// An entry would say the same as another of its core.
    #[error("{other} says the same as {entry} would")]
    SameText {
        entry: CoreEntryId,
        /// The one that says it already.
        other: CoreEntryId,
    },
    /// An entry with the tag `task-pattern` is no task pattern. Nothing was written.
    #[error(
        "that is no task pattern: line {line}: {reason}. One reads, for example:\n{}",
        crate::board::PATTERN_EXAMPLE
    )]
    TaskPattern {
        /// The line that is wrong, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// More trust was asked for than the actor can give.
    #[error("{principal} cannot vouch for it as {asked}, only as {most}: more than that only a person can give")]
    TrustDenied {
        principal: String,
        /// What was asked for.
        asked: Trust,
        /// What can be given.
        most: Trust,
    },
    /// There is no such token, or no more.
    #[error("there is no token {token}")]
    NoToken { token: TokenId },
    /// An entry says which promotion brings it into a core, and its board has begun none such.
    #[error("no promotion of {item} that brings this was begun at revision {board_rev} of a board")]
    NoPromotion {
        /// What was promoted, as the entry says: `D-3`.
        item: String,
        /// The revision of the board, as the entry says.
        board_rev: u64,
    },
    /// A memory to be restored that no sequence of commands leads to.
    #[error("that is no agent's memory: {reason}")]
    MemoryContradicts {
        /// What is wrong with it.
        reason: String,
    },
    /// A core to be restored that no sequence of commands leads to.
    #[error("that is no memory core: {reason}")]
    CoreContradicts {
        /// What is wrong with it.
        reason: String,
    },
    /// The same idempotency key came with another body.
    #[error("idempotency key {key:?} was used at revision {rev} with another body")]
    IdempotencyMismatch {
        key: String,
        /// Where it was used first.
        rev: u64,
        /// When it was used first.
        at: Timestamp,
    },
}

/// An entry as the log has it, with its version: how often it was read in one process means nothing in another.
mod as_logged {
    use alloc::boxed::Box;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::{Entry, EntryData};

    pub(super) fn serialize<S: Serializer>(entry: &Option<Box<Entry>>, serializer: S) -> Result<S::Ok, S::Error> {
        entry.as_deref().map(|entry| (&entry.data, entry.version)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Entry>>, D::Error> {
        let logged = Option::<(EntryData, u64)>::deserialize(deserializer)?;
        Ok(logged.map(|(data, version)| Box::new(Entry { data, version, access: Default::default() })))
    }
}

impl Refusal {
    /// That an actor may not do something, and who may: those in these roles, and the agent whose own it is.
    pub(crate) fn role_denied(actor: &Actor, what: &'static str, owner: Option<&AgentId>, may: &[Role]) -> Self {
        let owner = owner.map(|owner| format!("{owner} itself"));
        let names: Vec<_> = owner.into_iter().chain(may.iter().map(|role| format!("{role}s"))).collect();
        let may = match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        };
        Self::RoleDenied { principal: actor.principal.clone(), role: actor.role, what: what.into(), may }
    }
}

fn only(may: &str) -> String {
    if may.is_empty() { String::new() } else { format!(": only {may} may") }
}

fn are(decisions: &[DecisionId]) -> String {
    format!("{} {}", joined(decisions, ", "), if decisions.len() == 1 { "is" } else { "are" })
}

fn urgent(nudges: &[NudgeId]) -> String {
    format!("the urgent {} {}", if nudges.len() == 1 { "nudge" } else { "nudges" }, joined(nudges, ", "))
}

fn joined(items: &[impl ToString], separator: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
}

fn arrows(path: &[TaskRef]) -> String {
    /// Of a longer way, only its two ends are shown.
    const SHOWN: usize = 20;
    let named: Vec<_> = path.iter().map(ToString::to_string).collect();
    match (named.get(..SHOWN / 2), named.get(named.len().saturating_sub(SHOWN / 2)..)) {
        (Some(begin), Some(end)) if named.len() > SHOWN => {
            format!("{} -> ({} more) -> {}", begin.join(" -> "), named.len() - SHOWN, end.join(" -> "))
        }
        _ => named.join(" -> "),
    }
}

fn or_nothing(allowed: &[TaskStatus]) -> String {
    match allowed {
        [] => "nothing else".into(),
        allowed => joined(allowed, ", "),
    }
}

fn fenced_text(what: &str, holder: Option<&AgentId>, epoch: u64) -> String {
    let what = if what == "orchestrator" { "the orchestrator's role" } else { what };
    match holder {
        Some(holder) => format!("fenced: {what} is {holder}'s now (epoch {epoch})"),
        None if epoch == 0 => format!("fenced: nobody has claimed {what} yet"),
        None => format!("fenced: nobody holds {what} now; whoever did was not heard of in time, or gave it back"),
    }
}

fn addressed(to: &str) -> &str {
    if to == "all" { "all others who work on the board" } else { to }
}

fn conflict_text(key: &Key, expected: u64, current: Option<&Entry>) -> String {
    let key = key.as_str();
    match (expected, current) {
        (0, Some(entry)) => format!("{key:?} exists already, at version {}", entry.version),
        (_, Some(entry)) => format!("{key:?} is at version {}, not {expected}", entry.version),
        (_, None) => format!("{key:?} does not exist, so it is not at version {expected}"),
    }
}

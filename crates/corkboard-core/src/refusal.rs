//! Why a command was refused. A refused command changes nothing.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::board::{
    BoardInfo, BoardStatus, ChoiceId, DecisionId, Hindrance, KeptBy, LearningId, Lease, NudgeId, Task, TaskId, TaskRef,
    TaskStatus,
};
use crate::knowledge::{CoreEntry, CoreEntryId, Trust};
use crate::notebook::NotebookItemId;
use crate::tokens::TokenId;
use crate::{Actor, AgentId, CoreId, Entry, Key, LimitName, NotebookName, Role, ScopeId};

/// Why a command was refused, with the data that a caller needs to correct it.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A name (key, scope name, agent ID, tag, idempotency key) is empty or consists of white space.
    #[error("{what} must not be blank")]
    Blank { what: Cow<'static, str> },
    /// A text to find and forget is too short: it would match almost everything.
    #[error("the text to forget must have at least {least} characters")]
    TextTooShort { least: u64 },
    /// A name contains a control character or an invisible one, such as a zero-width character or a direction mark.
    #[error("{what} must not contain control or invisible characters (found {character:?} at byte {at})")]
    ControlCharacter { what: Cow<'static, str>, character: char, at: usize },
    /// The command would exceed a limit.
    #[error("limit reached: {limit} would be {used}; the maximum is {allowed}")]
    Limit {
        limit: LimitName,
        /// The value that the command would lead to.
        used: u64,
        /// The maximum.
        allowed: u64,
    },
    /// A number is too small or too large.
    #[error("{name} is {value}; it must be from {minimum} to {maximum}")]
    OutOfRange { name: Cow<'static, str>, value: u64, minimum: u64, maximum: u64 },
    /// Importance is NaN or outside 0 to 1.
    #[error("importance must be a number from 0 to 1, not {importance}")]
    Importance {
        #[serde(with = "crate::number")]
        importance: f32,
    },
    /// The expiry is not in the future, or was given twice.
    #[error("invalid expiry: {reason}")]
    Expiry { reason: Cow<'static, str> },
    /// The actor's role does not allow it.
    #[error("{principal} is {} {role} and may not {what}{}", role.article(), only(may))]
    RoleDenied {
        principal: String,
        role: Role,
        /// The denied action, in words that follow "may not".
        what: Cow<'static, str>,
        /// Who may do it, in words. Empty if the role alone explains the denial.
        may: String,
    },
    /// Someone else changed the item first (`if_version`). Nothing was written.
    #[error("{}", conflict_text(key, *expected, current.as_deref()))]
    Conflict {
        key: Key,
        /// The version that the caller expected; 0 stands for "must not exist".
        expected: u64,
        /// The current entry.
        #[serde(with = "as_logged")]
        current: Option<Box<Entry>>,
    },
    /// Someone else changed the space first (`if_rev`). Nothing was written.
    #[error("expected revision {expected}, but the current revision is {current}")]
    RevConflict { expected: u64, current: u64 },
    /// Text can only be appended to a text value.
    #[error("cannot append text to {key:?}: its value is {found}", key = key.as_str())]
    NotText {
        key: Key,
        /// The kind of the JSON value, such as `an object`.
        found: Cow<'static, str>,
    },
    /// The entry to rename does not exist.
    #[error("entry {key:?} not found", key = key.as_str())]
    NoEntry { key: Key },
    /// The scope does not exist or was disposed.
    #[error("scope {scope} does not exist or was disposed")]
    ScopeGone { scope: ScopeId },
    /// The root scope cannot be merged or disposed.
    #[error("the root scope cannot be merged or disposed")]
    RootScope,
    /// The snapshot is of another agent.
    #[error("the snapshot belongs to agent {found:?}, not to {expected:?}")]
    AgentMismatch {
        /// The agent whose memory was to be restored.
        expected: String,
        /// The agent whose memory the snapshot contains.
        found: String,
    },
    /// The notebook does not have the learnings or snippets to archive.
    #[error("notebook {notebook} has no {}", joined(ids, ", "))]
    UnknownItems { notebook: NotebookName, ids: Vec<NotebookItemId> },
    /// Someone else changed the notebook first (`if_version`). Nothing was written.
    #[error("notebook {notebook} is at version {current}, not {expected}")]
    NotebookConflict {
        notebook: NotebookName,
        /// The version that the caller expected; 0 stands for "never written".
        expected: u64,
        current: u64,
    },
    /// Text that, printed in the notebook format, would be parsed as something else.
    #[error("invalid {what} {text:?}: written in the notebook format, it would be parsed as something else")]
    Unreadable {
        what: Cow<'static, str>,
        /// The beginning of the text.
        text: String,
    },
    /// The notebook's content contradicts itself.
    #[error("notebook {notebook} cannot be restored: {reason}")]
    NotebookContradicts { notebook: NotebookName, reason: String },
    /// The board does not exist.
    #[error("board not found")]
    NoBoard,
    /// A board with this ID exists.
    #[error("the board already exists")]
    BoardExists,
    /// The board has ended.
    #[error("the board is {status} and can no longer be changed")]
    BoardEnded { status: BoardStatus },
    /// Only a board that has ended can be archived.
    #[error("the board is active: complete or cancel it first")]
    BoardActive,
    /// Something keeps the board from being purged.
    #[error("the board cannot be purged: {}", joined(by, "; "))]
    BoardKept {
        /// All reasons.
        by: Vec<KeptBy>,
    },
    /// The board was purged.
    #[error("the board was purged")]
    BoardPurged,
    /// The board does not contain this task, record or other item.
    #[error("{what} {id} not found on this board")]
    NotOnBoard {
        /// The kind of item, such as `task`.
        what: Cow<'static, str>,
        id: String,
    },
    /// A task of a batch depends on a key that no task of the batch has.
    #[error("unknown task {key:?}: expected a task ID such as T-1, or the key of a task in this batch")]
    UnknownMember { key: String },
    /// Two tasks of a batch have the same key.
    #[error("two tasks of this batch have the key {key:?}")]
    DuplicateMember { key: String },
    /// A task of a batch has a key of the form of a task ID.
    #[error("{key:?} cannot be the key of a task: it has the form of a task ID")]
    KeyReadsAsId { key: String },
    /// The dependencies would form a cycle. Nothing was added.
    #[error("dependency cycle: {}", arrows(path))]
    Cycle {
        /// Each depends on the next; the last is the first.
        path: Vec<TaskRef>,
    },
    /// The task cannot move from its current state to the requested one.
    #[error("{}", move_text(*task, *from, *to, allowed))]
    TaskMove {
        task: TaskId,
        /// The current state.
        from: TaskStatus,
        /// The requested state.
        to: TaskStatus,
        /// The states that the task can move to.
        allowed: Vec<TaskStatus>,
    },
    /// The task can move to the requested state, but not by this command. For example, only a failed task can be
    /// retried, and a worker cannot fail a task that is in review.
    #[error("{}", other_command_text(*task, *from, *to))]
    NotThisWay {
        task: TaskId,
        /// The current state.
        from: TaskStatus,
        /// The requested state.
        to: TaskStatus,
    },
    /// The task cannot start yet.
    #[error("{}", not_ready_text(*task, hindrances))]
    NotReady { task: TaskId, hindrances: Vec<Hindrance> },
    /// The dependencies of a task cannot change once work has begun.
    #[error("{task} is {}: its dependencies can change only before work begins", status.in_words())]
    AlreadyBegun { task: TaskId, status: TaskStatus },
    /// The task is held by an agent, or assigned to another one.
    #[error("{}", held_text(*task, holder, deadline.as_ref()))]
    TaskHeld {
        task: TaskId,
        holder: AgentId,
        /// When the lease expires. None if the task is assigned and work has not begun.
        #[serde(alias = "until")]
        deadline: Option<Timestamp>,
    },
    /// Another agent is the orchestrator.
    #[error("{holder} is the orchestrator until {deadline}")]
    OrchestratorHeld {
        holder: AgentId,
        /// When the lease expires.
        #[serde(alias = "until")]
        deadline: Timestamp,
    },
    /// The caller does not hold the lease, or no longer: it expired or was given to another agent. Nothing was written.
    #[error("{}", fenced_text(what, holder.as_ref(), *epoch, *sent, *status))]
    Fenced {
        /// A task ID, or `orchestrator`.
        what: String,
        /// The current holder.
        holder: Option<AgentId>,
        /// The current epoch.
        epoch: u64,
        /// The epoch that the caller sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<u64>,
        /// The task's current state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TaskStatus>,
    },
    /// Someone else changed the task first (`if_version`). Nothing was written.
    #[error("{} is at version {}, not {expected}", current.id, current.version)]
    TaskConflict {
        /// The version that the caller expected.
        expected: u64,
        current: Box<Task>,
    },
    /// Someone else changed the board first (`if_version`). Nothing was written.
    #[error("the board is at version {}, not {expected}", current.version)]
    BoardConflict {
        /// The version that the caller expected.
        expected: u64,
        current: Box<BoardInfo>,
    },
    /// Only its author and those who run the board may supersede a decision.
    #[error("{decision} was made by {author}: only {author}, orchestrators, humans and admins may supersede it")]
    NotAuthor { decision: DecisionId, author: String },
    /// Only a person can supersede an irreversible decision, and must use `force`.
    #[error("{decision} is irreversible: only a person can supersede it, with force")]
    Irreversible { decision: DecisionId },
    /// The review is assigned to another agent.
    #[error("the review of {task} is assigned to {reviewer}: only {reviewer} or a person can give it")]
    NotReviewer { task: TaskId, reviewer: AgentId },
    /// An agent cannot approve its own task.
    #[error("{principal} cannot approve {task}: agents cannot approve their own tasks")]
    OwnTask { task: TaskId, principal: String },
    /// The caller has urgent nudges that were not delivered yet.
    #[error("{task} cannot be completed yet: read {} first", urgent(nudges))]
    UrgentNudges { task: TaskId, nudges: Vec<NudgeId> },
    /// The decision is already superseded.
    #[error("{decision} was superseded by {by}")]
    Superseded {
        decision: DecisionId,
        /// The decision that replaced it.
        by: DecisionId,
    },
    /// A decision needs approval but names no task that waits for it.
    #[error("a decision that needs approval must name the tasks that wait for it in affects_tasks")]
    NothingWaits,
    /// Decisions that affect the task must be approved or rejected before it can be completed.
    #[error("{task} cannot be completed: {} not approved", are(decisions))]
    AwaitsApproval {
        task: TaskId,
        /// The decisions that the task waits for.
        decisions: Vec<DecisionId>,
    },
    /// The board is paused, so no task can start.
    #[error("{by} paused the board at {at}: no task can start until it is resumed")]
    Paused { by: String, at: Timestamp },
    /// The nudge is addressed to somebody else.
    #[error("{nudge} is not for you, it is for {}", addressed(to))]
    NotForYou {
        nudge: NudgeId,
        /// The addressee.
        to: String,
    },
    /// An option was already chosen.
    #[error("{choice} was already decided: {chosen}")]
    AlreadyChosen {
        choice: ChoiceId,
        /// The option that was chosen.
        chosen: String,
    },
    /// The choice does not have this option.
    #[error("{choice} has no option {option:?}; its options are {}", options.join(", "))]
    NoBranch {
        choice: ChoiceId,
        /// The requested option.
        option: String,
        /// The options of the choice.
        options: Vec<String>,
    },
    /// The new choice is invalid.
    #[error("invalid choice: {reason}")]
    BadChoice { reason: String },
    /// The board to copy contradicts itself.
    #[error("invalid board: {reason}")]
    BoardContradicts { reason: String },
    /// A task that was cancelled because of another one reopens only if that one is retried, which is impossible here.
    #[error("{task} was cancelled because of {cause}, which did not fail and cannot be retried")]
    CauseNotRetried {
        task: TaskId,
        /// The task that caused the cancellation.
        cause: String,
    },
    /// The board has tasks that are not finished.
    #[error("{}", crate::count(*unfinished, "task is not finished", "tasks are not finished"))]
    Unfinished { unfinished: u64 },
    /// The learning was refused, which is final.
    #[error("{by} refused {learning}; it can no longer be promoted")]
    LearningRefused { learning: LearningId, by: String },
    /// The learning is already in a core.
    #[error("{learning} is already in the core {core}")]
    LearningPromoted { learning: LearningId, core: CoreId },
    /// The learning is not in a core.
    #[error("{learning} is not in a core: it is {status}")]
    NotPromoted { learning: LearningId, status: Cow<'static, str> },
    /// A promotion or rollback of the learning has begun and must finish first.
    #[error("a promotion or rollback of {learning} has begun and must finish first")]
    PromotionOpen { learning: LearningId },
    /// Another caller finished or abandoned the promotion.
    #[error("{learning} is no longer being promoted: it is {status}")]
    PromotionOver { learning: LearningId, status: Cow<'static, str> },
    /// An agent cannot promote a learning that contains its own words.
    #[error("{principal} cannot promote {learning}: {}; a person or another agent can", own_words(principal, *own_part))]
    OwnLearning {
        learning: LearningId,
        principal: String,
        /// Which part of the learning is the agent's own.
        #[serde(default)]
        own_part: OwnPart,
    },
    /// The caller named no core, and none is suggested for the learning.
    #[error("no core is suggested for {learning}; name one")]
    NoCore { learning: LearningId },
    /// A lease is too short or too long.
    #[error(
        "a lease of {lease_s} s is not allowed: it must last from {} to {} s", Lease::LEAST.as_secs_f64(),
        Lease::MOST.as_secs_f64()
    )]
    LeaseLength {
        /// The requested duration in seconds.
        lease_s: f64,
    },
    /// The checksum is not a SHA-256 hash.
    #[error("invalid SHA-256 checksum {text:?}: expected 64 hexadecimal digits")]
    Checksum { text: String },
    /// The name has a reserved prefix.
    #[error("a {what} must not begin with {prefix:?}: that prefix is reserved for agents' private cores")]
    ReservedName { what: Cow<'static, str>, prefix: Cow<'static, str> },
    /// The core does not contain this entry, or no longer.
    #[error("entry {entry} not found in this core")]
    NotInCore { entry: CoreEntryId },
    /// The entry is forgotten and must be restored before it can be changed.
    #[error("{entry} is forgotten; restore it first")]
    EntryForgotten { entry: CoreEntryId },
    /// Someone else changed the core's entry first (`if_version`). Nothing was written.
    #[error("{} is at version {}, not {expected}", current.id, current.version)]
    CoreConflict {
        /// The version that the caller expected.
        expected: u64,
        current: Box<CoreEntry>,
    },
    /// The entry would have the same text as another one of its core.
    #[error("{entry} would have the same text as {other}")]
    SameText {
        entry: CoreEntryId,
        /// The entry that has this text.
        other: CoreEntryId,
    },
    /// The entry has the tag `task-pattern` but is not a valid task pattern. Nothing was written.
    #[error(
        "invalid task pattern: line {line}: {reason}. Example of a valid pattern:\n{}",
        crate::board::PATTERN_EXAMPLE
    )]
    TaskPattern {
        /// The line with the error, counted from 1.
        line: usize,
        reason: String,
    },
    /// The actor cannot give a text this much trust.
    #[error(
        "permission denied: {principal} does not act as a person and cannot set the trust level `{asked}`, only `{most}`"
    )]
    TrustDenied {
        principal: String,
        /// The requested trust.
        asked: Trust,
        /// The most that the actor can give.
        most: Trust,
    },
    /// The token does not exist, or no longer.
    #[error("token {token} not found")]
    NoToken { token: TokenId },
    /// An entry names the promotion that adds it to the core, but its board did not begin that promotion.
    #[error("no promotion of {item} with this content began at board revision {board_rev}")]
    NoPromotion {
        /// The promoted item that the entry names, such as `D-3`.
        item: String,
        /// The board revision that the entry names.
        board_rev: u64,
    },
    /// The memory to restore contradicts itself.
    #[error("invalid agent memory: {reason}")]
    MemoryContradicts { reason: String },
    /// The core to restore contradicts itself.
    #[error("invalid memory core: {reason}")]
    CoreContradicts { reason: String },
    /// The idempotency key was already used for a request with another body.
    #[error("idempotency key {key:?} was already used at revision {rev} for a different request")]
    IdempotencyMismatch {
        key: String,
        /// The revision at which the key was first used.
        rev: u64,
        /// The time at which the key was first used.
        at: Timestamp,
    },
}

/// Which part of a learning comes from the agent that wants to promote it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OwnPart {
    /// The agent recorded it.
    #[default]
    Author,
    /// The agent is among its contributors.
    Contributor,
    /// The agent rewords it with this request.
    NewContent,
}

/// Serializes an entry with its version but without its read count, which only means something in one process.
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
    /// The actor may not do `what`. Actors with the roles in `may` may, and so may the owner of the space, if given.
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
    /// Of a longer path, only the two ends are shown.
    const SHOWN: usize = 20;
    let named: Vec<_> = path.iter().map(ToString::to_string).collect();
    match (named.get(..SHOWN / 2), named.get(named.len().saturating_sub(SHOWN / 2)..)) {
        (Some(begin), Some(end)) if named.len() > SHOWN => {
            format!("{} -> ({} more) -> {}", begin.join(" -> "), named.len() - SHOWN, end.join(" -> "))
        }
        _ => named.join(" -> "),
    }
}

fn move_text(task: TaskId, from: TaskStatus, to: TaskStatus, allowed: &[TaskStatus]) -> String {
    use TaskStatus::*;
    let state = from.in_words();
    // Workers and reviewers both get here, so the text must help both.
    let state = match (from, to) {
        (Pending, InProgress) => return format!("{task} is {state}: nobody has claimed it yet"),
        (Pending, Pending) => return format!("{task} is already {state}: nobody holds it"),
        (Pending, Completed | Failed) => return format!("{task} is not in review: it is {state}"),
        (Pending, Blocked) => return format!("{task} is {state}: claim it before you block it"),
        // A worker who sets the current state again only renews the lease.
        (InProgress, InProgress | Completed | Failed) => return format!("{task} is not in review: it is {state}"),
        (from, to) if from == to => return format!("{task} is already {state}"),
        _ => state,
    };
    let subject = match to {
        Completed | Failed if !allowed.is_empty() => format!("{task} is not in review: it is {state} and can"),
        _ => format!("{task} is {state} and cannot become {to}; it can"),
    };
    match allowed.split_last() {
        None => format!("{task} is {}; that can no longer change", from.in_words()),
        Some((last, [])) => format!("{subject} only become {last}"),
        Some((last, rest)) => format!("{subject} only become {} or {last}", joined(rest, ", ")),
    }
}

fn other_command_text(task: TaskId, from: TaskStatus, to: TaskStatus) -> String {
    use TaskStatus::*;
    let state = from.in_words();
    match (from, to) {
        (Review, _) => format!("{task} is in review: only a review can make it {to}"),
        (_, Completed | Failed) => format!("{task} is not in review: it is {state}"),
        (Failed | Cancelled, _) => format!("{task} is {state}: only a retry can make it {to}"),
        (_, Pending) => format!("{task} is {state}: only a failed task can be retried"),
        _ => format!("{task} is {state}: only its holder can make it {to}"),
    }
}

fn not_ready_text(task: TaskId, hindrances: &[Hindrance]) -> String {
    let reasons = joined(hindrances, "; ");
    match reasons.strip_prefix("it ") {
        Some(waits) => format!("{task} {waits}"),
        None => format!("{task} cannot start yet: {reasons}"),
    }
}

fn own_words(principal: &str, own_part: OwnPart) -> String {
    match own_part {
        OwnPart::Author => format!("{principal} recorded it, and agents cannot promote what they recorded"),
        OwnPart::Contributor => {
            format!("{principal} is among its contributors, and agents cannot promote what they contributed to")
        }
        OwnPart::NewContent => "agents cannot reword what they promote".into(),
    }
}

fn held_text(task: TaskId, holder: &AgentId, deadline: Option<&Timestamp>) -> String {
    match deadline {
        Some(deadline) => format!("{task} is held by {holder} until {deadline}"),
        None => format!("{task} is assigned to {holder}"),
    }
}

fn fenced_text(
    what: &str,
    holder: Option<&AgentId>,
    epoch: u64,
    sent: Option<u64>,
    status: Option<TaskStatus>,
) -> String {
    use TaskStatus::*;
    let is_role = what == "orchestrator";
    let what = if is_role { "the orchestrator's role" } else { what };
    match holder {
        Some(holder) if epoch == 0 => format!("{what} is assigned to {holder}, and work has not begun"),
        Some(holder) => match sent.filter(|sent| *sent != epoch) {
            Some(sent) => format!("fenced: {holder} holds {what} at epoch {epoch}; you sent {sent}"),
            None => format!("fenced: {holder} holds {what} at epoch {epoch}, not you"),
        },
        None if epoch == 0 => format!("nobody has claimed {what} yet"),
        None => match status {
            Some(status @ (Review | Completed | Failed | Cancelled)) => {
                format!("{what} is already {}", status.in_words())
            }
            _ => format!("fenced: nobody holds {what}: it was released, or its lease expired"),
        },
    }
}

fn addressed(to: &str) -> &str {
    if to == "all" { "all others who work on the board" } else { to }
}

fn conflict_text(key: &Key, expected: u64, current: Option<&Entry>) -> String {
    let key = key.as_str();
    match (expected, current) {
        (0, Some(entry)) => format!("{key:?} already exists, at version {}", entry.version),
        (_, Some(entry)) => format!("{key:?} is at version {}, not {expected}", entry.version),
        (_, None) => format!("{key:?} does not exist, so it is not at version {expected}"),
    }
}

//! The hint below an error of the library: what the user can do about it. Errors of the command line have theirs where
//! they are raised (`.hint(…)`).

use std::sync::OnceLock;

use corkboard::boards::{BoardAction, TaskStatus};
use corkboard::store::{ConnectError, StoreError};
use corkboard::tokens::Grant;
use corkboard::transfer::TransferError;
use corkboard::{Actor, ActorKind, AgentId, Error, LimitName, Problem, Refusal, Role, Sealing, SnapshotError};

use crate::args::SERVER_URL;
use crate::output::{one_line, time};

const NEWER: &str = "a newer version of Corkboard wrote it; upgrade cork";
const DAMAGED: &str = "run `cork doctor` to check the whole store";

/// PostgreSQL's error code for a database that does not exist.
const NO_DATABASE: &str = "(3D000)";

/// How the message ends if the folder of a store is a file.
const IS_A_FILE: &str = "File exists (os error 17)";
/// Who may do what only admins may, as in a refusal.
const ADMINS: &str = "admins";
const NOT_A_DATABASE: &str = "this file is not a Corkboard database";
const IS_A_FOLDER: &str = " is a folder; sqlite: needs a file";
const OTHER_FILES: &str = "the folder contains other files and is not a Corkboard store";

/// What to do about an error, unless its message says so already.
pub(crate) fn hint(error: &Error) -> Option<String> {
    Some(match error {
        Error::Refused(refusal) => return refusal_hint(refusal),
        Error::ScopeDisposed { .. } => "`cork scope list` shows the scopes".into(),
        Error::NewerFormat { .. } => NEWER.into(),
        Error::Damaged { .. } => DAMAGED.into(),
        Error::TaskPattern { pattern, .. } => {
            format!(
                "`cork core show {} {}` shows the entry; docs/cores.md in the source repository describes the format",
                pattern.core, pattern.entry
            )
        }
        Error::PatternFromOutside { pattern } => {
            format!(
                "read it first; to vouch for it, run `cork core edit {} {} --trust own`",
                pattern.core, pattern.entry
            )
        }
        Error::NoEmbedder => "set embedder.model and embedder.url; searches use the built-in model until then".into(),
        Error::Backwards { .. } => "name the earlier revision first".into(),
        Error::Snapshot(error) => return snapshot_hint(error),
        Error::Store(error) => return store_hint(error),
        Error::Transfer(error) => return transfer_hint(error),
        Error::Server { problem } => return server_hint(problem),
        _ => return None,
    })
}

/// What a command opened and sent, for hints that depend on it.
#[derive(Default)]
pub(crate) struct HintContext {
    /// The agents that the token has access to, if the user selected none.
    pub(crate) opened_agents: Vec<Grant>,
    /// The role of the server's token, if the command uses a server.
    pub(crate) token_role: Option<Role>,
    /// The board and the core that the command opened.
    pub(crate) board: OnceLock<String>,
    pub(crate) core: OnceLock<String>,
    /// The value of --epoch.
    pub(crate) epoch: OnceLock<u64>,
}

impl HintContext {
    /// A hint that depends on who runs the command and what they sent. It replaces the general one.
    pub(crate) fn hint(&self, error: &Error, actor: &Actor, agent: &AgentId) -> Option<String> {
        let caller = &actor.principal;
        let about_agent = format!("agent {:?}", agent.as_str());
        match error {
            error if error.code() == "not_granted" && error.to_string().contains(&about_agent) => {
                (!self.opened_agents.is_empty()).then(|| name_an_agent(&self.opened_agents))
            }
            Error::Refused(Refusal::RoleDenied { role, what, may, .. }) if self.token_role == Some(*role) => {
                Some(denied_to_token(*role, what, may))
            }
            Error::Refused(Refusal::Fenced { what, holder: Some(holder), .. }) if holder.as_str() == caller => {
                self.epoch.get()?;
                Some(format!(
                    "you are {}: use the epoch of your latest claim of {what}; if another process took it over, stop",
                    one_line(caller)
                ))
            }
            Error::Refused(Refusal::TaskHeld { task, holder, deadline: Some(_) }) if holder.as_str() == caller => {
                Some(format!("you hold {task} already; continue"))
            }
            Error::Refused(Refusal::RevConflict { expected, current }) => {
                let watch = match (self.board.get(), self.core.get()) {
                    (Some(_), _) => Some("board diff"),
                    (None, Some(_)) => None,
                    (None, None) => Some("memory watch --from-rev"),
                };
                Some(rev_conflict(*expected, *current, watch))
            }
            Error::Refused(Refusal::Irreversible { decision }) if actor.kind == ActorKind::Human => {
                Some(format!("add --force to supersede {decision}"))
            }
            // On a server, the token decides who counts as a person.
            Error::Refused(
                refusal @ (Refusal::TrustDenied { .. } | Refusal::Irreversible { .. } | Refusal::OwnTask { .. }),
            ) if self.token_role.is_none() => {
                let hint = refusal_hint(refusal)?;
                Some(format!("{hint} (without --role, you act as an admin, who counts as a person)"))
            }
            Error::Refused(Refusal::EntryForgotten { entry }) => {
                let core = self.core.get()?;
                Some(format!("restore it with `cork core restore {} {entry}`", one_line(core)))
            }
            Error::Refused(Refusal::Fenced { what, holder: Some(holder), .. }) => Some(format!(
                "nothing was written. If your lease expired, stop: {what} is theirs now. You act as {}; if you are \
                 {holder}, add --principal {holder}",
                one_line(caller)
            )),
            _ => None,
        }
    }
}

/// The hint if the token has access to several agents and the user selected none.
fn name_an_agent(opened: &[Grant]) -> String {
    let names: Vec<&str> = opened.iter().map(Grant::as_str).collect();
    let one = names.iter().find(|name| !name.ends_with('*')).unwrap_or(&"NAME");
    let agents = if names.len() == 1 { "agent" } else { "agents" };
    format!("your token has access to {agents} {}; add --agent {one}", listed(&names))
}

/// `a`, `a and b`, or `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

fn transfer_hint(error: &TransferError) -> Option<String> {
    Some(match error {
        TransferError::Source(StoreError::Missing { .. }) => "check the URL of the source".into(),
        TransferError::Target(StoreError::Missing { .. }) => "check the URL of the target".into(),
        TransferError::Source(error) | TransferError::Target(error) => return store_hint(error),
        TransferError::NoSuchSpace { .. } => {
            "list what exists with `cork stats --all`, `cork board list` or `cork core list`".into()
        }
        TransferError::NewerVersion { .. } => NEWER.into(),
        TransferError::NotAnExport(_) => "expected a file of `cork export` or `cork snapshot store`; for one of `cork snapshot save`, use `cork snapshot restore`".into(),
        TransferError::Spool(_) => {
            "temporary files go to the folder in TMPDIR; set it to a folder with enough space".into()
        }
        _ => return None,
    })
}

fn refusal_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::Conflict { current: Some(entry), .. } => {
            format!("check the current value, then retry with --if-version {}", entry.version)
        }
        Refusal::Conflict { current: None, .. } => "use --if-version 0 to create it".into(),
        Refusal::RevConflict { expected, current } => {
            return Some(rev_conflict(*expected, *current, None));
        }
        Refusal::NotebookConflict { current, .. } => {
            format!("see what changed with `cork notebook history`, then retry with --if-version {current}")
        }
        Refusal::NotText { key, .. } => format!("replace the value with `cork memory set {key} VALUE`"),
        Refusal::NoEntry { .. } => "`cork memory list` shows the entries".into(),
        Refusal::ScopeGone { .. } => "`cork scope list` shows the scopes".into(),
        Refusal::AgentMismatch { found, .. } => format!("restore it to its own agent with --agent {found}"),
        Refusal::IdempotencyMismatch { .. } => "use a new idempotency key for a different request".into(),
        Refusal::Limit { limit, .. } => match limit {
            LimitName::EntryBytes => "split the value into several entries".into(),
            LimitName::CommandBytes => "split the request into several smaller ones".into(),
            LimitName::NoteBytes => "store long texts as an entry: `cork memory set KEY -`".into(),
            LimitName::EntriesPerAgent => {
                "make room with `cork memory remove`; `cork memory list` shows the entries".into()
            }
            LimitName::StateBytes => {
                "in an agent's memory, make room with `cork memory remove`; for a full board or core, continue in a new one"
                    .into()
            }
            LimitName::LearningsPerNotebook | LimitName::SnippetsPerNotebook => {
                "make room with an `ARCHIVE` bullet; `cork notebook show` shows the items".into()
            }
            LimitName::NotesPerAgent => "make room with `cork memory note remove`".into(),
            LimitName::ScopesPerAgent => "make room with `cork scope dispose`; `cork scope list` shows the scopes".into(),
            LimitName::CoreTextBytes => "keep entries short; put long texts in a file and name the file in the entry".into(),
            LimitName::InlineBytes => "record it without --inline; the board then keeps path, size and checksum".into(),
            LimitName::BoardLineBytes => "keep this line short and put the rest in the description".into(),
            LimitName::BoardTextBytes => "put long texts in a file and record it with `cork board artifact PATH`".into(),
            LimitName::LinesPerList => "give fewer items at once".into(),
            LimitName::TasksPerBoard | LimitName::DependenciesPerBoard | LimitName::RecordsPerBoard => {
                "the board is full; create another one with `cork board create NAME`".into()
            }
            LimitName::EntriesPerCore => "the core is full (forgotten entries count too); use another core".into(),
            LimitName::QueryBytes => "use a shorter query".into(),
            _ => return None,
        },
        Refusal::NoToken { .. } => "`cork token list` shows the tokens".into(),
        Refusal::NotInCore { .. } => {
            "`cork core show CORE` shows the entries, `cork core list` the cores".into()
        }
        Refusal::EntryForgotten { entry } => format!("restore it with `cork core restore CORE {entry}`"),
        Refusal::CoreConflict { current, .. } => {
            let (entry, version) = (current.id, current.version);
            format!("check the entry with `cork core show CORE {entry}`, then retry with --if-version {version}")
        }
        Refusal::SameText { entry, other } => format!("edit {other} instead, or forget {entry}"),
        Refusal::TaskPattern { .. } => "remove the tag task-pattern to store it as an ordinary entry".into(),
        Refusal::ReservedName { .. } => "choose another name; `cork core list` shows the existing cores".into(),
        Refusal::TrustDenied { most, .. } => {
            format!("use --trust {most}, or leave it out; only a person can vouch for more")
        }
        refusal => return learning_hint(refusal).or_else(|| board_hint(refusal)),
    })
}

/// The hint if `--if-rev` does not match. `watch` is the command that shows what changed.
fn rev_conflict(expected: u64, current: u64, watch: Option<&str>) -> String {
    match watch {
        _ if expected > current => format!("revision {expected} does not exist yet; retry with --if-rev {current}"),
        Some(watch) => {
            format!("see what changed with `cork {watch} {expected}`, then retry with --if-rev {current}")
        }
        None => format!("check what changed, then retry with --if-rev {current}"),
    }
}

fn learning_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::NotOnBoard { what, .. } if what == "learning" => "`cork learn list --all` shows the learnings".into(),
        Refusal::NoCore { learning } => {
            format!("name a core: `cork learn promote {learning} --core NAME`; `cork core list` shows the cores")
        }
        Refusal::LearningRefused { .. } => {
            "a refusal is final; add an entry of your own with `cork core add CORE TEXT`".into()
        }
        Refusal::LearningPromoted { learning, .. } => {
            format!("roll it back first: `cork learn rollback {learning}`")
        }
        Refusal::NotPromoted { .. } | Refusal::PromotionOver { .. } => {
            "`cork learn list --all` shows the status of each learning".into()
        }
        Refusal::PromotionOpen { .. } => "finish the earlier promotion with `cork learn extract`, then retry".into(),
        Refusal::OwnLearning { .. } => "ask a person or another agent to check and promote it".into(),
        _ => return None,
    })
}

fn board_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::NoBoard => "`cork board list` shows the boards".into(),
        Refusal::BoardExists => "choose another ID, or leave out --id to get a generated one; `cork board list --all` shows the boards".into(),
        Refusal::BoardEnded { .. } => "continue in a copy: `cork board fork`".into(),
        Refusal::BoardActive => "end the board first, with `cork board complete` or `cork board cancel`".into(),
        Refusal::BoardKept { .. } => "`cork gc` says why the board is kept and what to do".into(),
        Refusal::BoardPurged => "`cork gc --yes` finishes the purge".into(),
        Refusal::BoardConflict { current, .. } => {
            format!("check the board with `cork board show`, then retry with --if-version {}", current.version)
        }
        Refusal::Unfinished { .. } => {
            "`cork task list` shows them; cancel them with --unfinished cancel, or cancel the board: `cork board cancel`".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "task" => "`cork task list` shows the tasks".into(),
        Refusal::NotOnBoard { what, .. } if what == "choice" => "`cork choose list` shows the choices".into(),
        Refusal::NotOnBoard { what, .. } if what == "nudge" => "`cork nudge list` shows the nudges".into(),
        Refusal::NotOnBoard { .. } => "`cork board show` shows the board".into(),
        Refusal::AlreadyChosen { .. } => {
            "a choice is final; to choose differently, fork the board before it: `cork board fork --at REV`".into()
        }
        Refusal::NoBranch { .. } => "`cork choose list` shows the options of each choice".into(),
        Refusal::BadChoice { .. } => "see the example in `cork choose add --help`".into(),
        Refusal::RoleDenied { role, what, may, .. } => denied(*role, what, may),
        Refusal::OrchestratorHeld { .. } => "wait until the orchestrator releases the role, or its lease expires".into(),
        Refusal::Fenced { what, .. } if what == "orchestrator" => {
            "nothing was written; another orchestrator runs the board now".into()
        }
        Refusal::Paused { .. } => "resume the board with `cork board resume`".into(),
        Refusal::NotForYou { .. } => {
            "`cork nudge check` shows the nudges for you; set who you are with --principal".into()
        }
        Refusal::NotAuthor { .. } => "record a new decision without --supersedes".into(),
        Refusal::Irreversible { .. } => {
            "a person can supersede it with --force".into()
        }
        Refusal::NotReviewer { task, .. } => {
            format!("assign the review to someone else with `cork task assign {task} NAME --review`")
        }
        Refusal::OwnTask { .. } => "ask a reviewer or a person to approve it".into(),
        Refusal::UrgentNudges { .. } => "read them with `cork nudge check`, then retry".into(),
        Refusal::Superseded { by, .. } => format!("use {by}, which replaced it"),
        Refusal::NothingWaits => "name the tasks with --affects-task T-1,T-2, or leave out --needs-approval".into(),
        Refusal::Checksum { .. } => "leave out --checksum to compute it from the file".into(),
        refusal => return task_hint(refusal),
    })
}

/// The hint if the token's role does not allow an action.
fn denied_to_token(role: Role, what: &str, may: &str) -> String {
    let wanted = match roles_that_may(what).first() {
        Some(first) => format!("{} {first}'s", first.article()),
        None if may == ADMINS => "an admin's".into(),
        None => "another role's".into(),
    };
    format!("your token is {} {role}'s; ask an admin for {wanted} (`cork token create --role …`)", role.article())
}

/// The roles that allow an action on a board; none for other actions.
fn roles_that_may(what: &str) -> Vec<Role> {
    let action = BoardAction::all().find(|action| action.words() == what);
    Role::ALL.into_iter().filter(|role| action.is_some_and(|action| action.is_allowed_to(*role))).collect()
}

/// The roles that allow an action on a board. For other actions, the refusal names them.
fn denied(role: Role, what: &str, may: &str) -> String {
    let roles: Vec<&str> = roles_that_may(what).into_iter().map(Role::as_str).collect();
    match roles.split_last() {
        Some((last, [])) => format!("this needs --role {last}"),
        Some((last, others)) => {
            format!("this needs --role {} or {last}, not {role}", others.join(", "))
        }
        None if may == ADMINS => "this needs an admin's token, or without a server --role admin".into(),
        None => "choose another role with --role; docs/boards.md and docs/cores.md in the source repository list what each may do".into(),
    }
}

fn task_hint(refusal: &Refusal) -> Option<String> {
    use TaskStatus::*;
    Some(match refusal {
        Refusal::UnknownMember { .. } => "`cork task list` shows the tasks".into(),
        Refusal::DuplicateMember { .. } => "give each task of the batch a different key".into(),
        Refusal::KeyReadsAsId { .. } => "choose a key that does not look like a task ID, such as \"schema\"".into(),
        Refusal::Cycle { .. } => {
            "leave out one of these dependencies; to repeat a task, review it as needs_rework or retry it".into()
        }
        Refusal::NotThisWay { task, from: Review, .. } | Refusal::TaskMove { task, from: Review, .. } => {
            format!("it is in review: `cork task review {task} approve`, or `rework` or `reject`")
        }
        Refusal::NotThisWay { task, from, to } => match (from, to) {
            (_, Completed | Review) => {
                format!("its holder completes it with `cork task complete {task} SUMMARY`")
            }
            (_, Failed) => {
                format!("its holder reports failure with `cork task fail {task} REASON`")
            }
            (_, InProgress) => format!("start or continue it with `cork task start {task}`"),
            (Failed | Cancelled, _) => format!("reopen it with `cork task retry {task}`"),
            (_, Assigned) => {
                format!("claim it with `cork task claim {task}`, or assign it with `cork task assign {task} NAME`")
            }
            (_, Cancelled) => format!("cancel it with `cork task cancel {task}`"),
            (_, Blocked) => format!("block it with `cork task block {task} REASON`"),
            (Blocked, Pending) => {
                format!("to continue it: `cork task start {task}`; to give it back: `cork task release {task}`")
            }
            (_, Pending) => format!("release it with `cork task release {task}`"),
        },
        Refusal::TaskMove { from: Pending, to: Completed | Failed, .. } => {
            "a worker must claim it and complete it first; only a task that needs review can then be reviewed".into()
        }
        Refusal::TaskMove { from: Pending, to: Pending, .. } => return None,
        Refusal::TaskMove { task, from: Pending, to: InProgress, .. } => {
            format!("claim it first: `cork task claim {task}`. A review is possible after that, if the task needs one")
        }
        Refusal::TaskMove { task, from, .. } => match from {
            Pending | Assigned => format!("claim it first: `cork task claim {task}`"),
            Blocked => format!("continue it first: `cork task start {task}`"),
            Failed => format!("reopen it first: `cork task retry {task}`"),
            InProgress => format!("its holder completes it with `cork task complete {task} SUMMARY`"),
            Review | Completed | Cancelled => format!("`cork task show {task}` shows its state"),
        },
        Refusal::NotReady { task, .. } => {
            format!(
                "`cork task show {task}` shows the details; `cork task claim` without a task takes one that is ready"
            )
        }
        Refusal::TaskHeld { task, deadline: Some(deadline), .. } => {
            format!(
                "wait: without a heartbeat the lease expires at {}. An orchestrator or a person can free it now with \
                 `cork task release {task}`",
                time(*deadline)
            )
        }
        Refusal::TaskHeld { task, deadline: None, .. } => {
            format!(
                "reassign it with `cork task assign {task} NAME`, or free it for anyone with `cork task release {task}`"
            )
        }
        Refusal::Fenced { what, holder: None, epoch: 0, .. } => format!("claim it first: `cork task claim {what}`"),
        Refusal::Fenced { status: Some(Pending), what, .. } => {
            format!("nothing was written; to continue, claim it again: `cork task claim {what}`")
        }
        Refusal::Fenced { what, .. } => format!("nothing was written; `cork task show {what}` shows its state"),
        Refusal::TaskConflict { current, .. } => {
            let (task, version) = (current.id, current.version);
            format!("check the task with `cork task show {task}`, then retry with --if-version {version}")
        }
        Refusal::AwaitsApproval { decisions, .. } => match decisions.first() {
            Some(decision) => format!("decide on it with `cork approve {decision}` or `cork reject {decision}`"),
            None => return None,
        },
        Refusal::CauseNotRetried { .. } => "add a new task instead: `cork task add TITLE`".into(),
        Refusal::AlreadyBegun { task, status: InProgress | Blocked } => {
            format!("release it first: `cork task release {task}`")
        }
        Refusal::AlreadyBegun { task, status: Failed } => format!("reopen it first: `cork task retry {task}`"),
        Refusal::AlreadyBegun { .. } => "add a new task that waits: `cork task add TITLE --depends-on T-1`".into(),
        Refusal::LeaseLength { .. } => "set the lease's duration with --lease-s SECONDS".into(),
        _ => return None,
    })
}

fn snapshot_hint(error: &SnapshotError) -> Option<String> {
    Some(match error {
        SnapshotError::Newer { .. } => NEWER.into(),
        SnapshotError::Damaged(_) => "nothing was changed; try another copy of the file".into(),
        SnapshotError::NeedsKey { sealed_with: Sealing::Passphrase(_) } => {
            "give it with --passphrase-file or in CORK_SNAPSHOT_PASSPHRASE".into()
        }
        SnapshotError::NeedsKey { .. } => "give it with --key-file".into(),
        SnapshotError::NotSealed => {
            "anyone could have written it; if you trust it, retry without --passphrase-file, --key-file and \
             CORK_SNAPSHOT_PASSPHRASE"
                .into()
        }
        _ => return None,
    })
}

fn server_hint(problem: &Problem) -> Option<String> {
    Some(match problem.code.as_str() {
        "unauthenticated" => {
            "set a token in CORK_TOKEN; create one with `cork token create` on the machine that has the store".into()
        }
        "not_granted" if problem.detail.contains(" cannot act for ") => {
            "leave out --principal, or ask an admin for another token (`cork token create`)".into()
        }
        "not_granted" if problem.detail.contains("it cannot be used as ") => {
            "leave out --role, or ask an admin for another token (`cork token create --role …`)".into()
        }
        "not_granted" => "ask an admin for another token (`cork token create`)".into(),
        "too_many_requests" => "nothing was written; retry later".into(),
        "unknown_route" if problem.detail.contains("/v1/v1/") => {
            "leave `/v1` out of the server's URL in --url or CORK_URL".into()
        }
        // Every route begins with /v1, and so does the path that cork asks for.
        "unknown_route" if !problem.detail.contains("unknown path /v1/") => {
            "leave the path out of the server's URL in --url or CORK_URL".into()
        }
        "no_embedder" => "set embedder.model and embedder.url on the server".into(),
        "damaged" => DAMAGED.into(),
        "newer_format" => NEWER.into(),
        "host" => "start the server with --host and this name".into(),
        _ => return None,
    })
}

fn server_trouble(trouble: &ConnectError) -> &'static str {
    match trouble {
        ConnectError::Away(_) => {
            "nothing was written; check that `cork serve` is running there, or name another server with --url"
        }
        ConnectError::Certificate(said) if said.contains("(subjectAltName)") => {
            "use a name that the certificate lists, or create a certificate with this name as subjectAltName"
        }
        ConnectError::Certificate(said) if said.contains("CA:TRUE") => {
            "create a server certificate (CA:FALSE); docs/http.md in the source repository shows how"
        }
        ConnectError::Certificate(_) => {
            "to trust its certificate, name it in SSL_CERT_FILE; docs/http.md in the source repository shows how to create one"
        }
        ConnectError::NotEncrypted => "use http:// instead of https://",
        ConnectError::NotHttp => "if the server uses TLS, use https:// instead of http://",
    }
}

fn store_hint(error: &StoreError) -> Option<String> {
    Some(match error {
        StoreError::Url { reason, .. } if reason.ends_with(NO_DATABASE) => {
            "create the database first, for example with `createdb`; cork creates the tables".into()
        }
        // The error says what is wrong with a database server.
        StoreError::Url { url, .. } if url.starts_with("redis") || url.starts_with("postgres") => return None,
        StoreError::Url { url, reason } if url.starts_with("file:") && reason.ends_with(IS_A_FILE) => {
            format!("{} is a file; file: needs a folder", url.trim_start_matches("file:"))
        }
        StoreError::Url { reason, .. } if reason == NOT_A_DATABASE => "name another file, or a new one".into(),
        StoreError::Url { reason, .. } if reason == OTHER_FILES => "name an empty folder, or a new one".into(),
        StoreError::Url { url, reason } if reason.ends_with(IS_A_FOLDER) => {
            format!("name a file in it, such as {}/corkboard.db", url.trim_end_matches('/'))
        }
        StoreError::Url { url, .. } if url == "file:" => {
            "--store and CORK_STORE expect a URL like file:memory".into()
        }
        // The URL is valid, but its path cannot be used.
        StoreError::Url { reason, .. } if reason.starts_with("cannot create") || reason.starts_with("cannot write") => {
            "check the path and its permissions: cork must be allowed to write the file and its folder".into()
        }
        StoreError::Url { url, .. } => match url.contains(':') || url.is_empty() {
            true => "--store and CORK_STORE expect a URL like sqlite:corkboard.db".into(),
            false => format!("did you mean --store sqlite:{url}?"),
        },
        StoreError::Missing { .. } => {
            "check --store or CORK_STORE; only `cork serve` and commands that write, such as `cork memory set`, create a store"
                .into()
        }
        StoreError::NoFolder { folder } => {
            format!("check --store or CORK_STORE, or create the folder: mkdir -p '{}'", folder.display())
        }
        StoreError::ServerUrl { url, reason } if reason.ends_with("use https") => {
            format!("use {}", url.replacen("http:", "https:", 1))
        }
        StoreError::ServerUrl { url, .. } => match url.contains(':') || url.is_empty() {
            true => SERVER_URL.into(),
            false => format!("{SERVER_URL}; did you mean --store?"),
        },
        StoreError::NoServer { trouble, .. } => server_trouble(trouble).into(),
        StoreError::Locked { .. } => "wait until that process ends; if it is `cork serve`, use it with --url".into(),
        StoreError::Busy { .. } => "nothing was written; retry".into(),
        StoreError::Unavailable(said) if said.contains("://") => {
            "nothing was written; check that the database server runs and that the URL is right".into()
        }
        StoreError::Unavailable(_) => {
            "nothing was written; check the path and its permissions, or the database, then retry".into()
        }
        StoreError::NoSpace(_) => "nothing was written; free some disk space, then retry".into(),
        StoreError::OutcomeUnknown(_) => {
            "it may have been written; check before you retry. With --idempotency-key a retry is always safe".into()
        }
        StoreError::Failed(_) => "check the disk, then retry; `cork doctor` looks for damage".into(),
        StoreError::Corrupt(_) => "check the disk, and restore a backup of the store".into(),
        StoreError::NewerFormat { .. } => NEWER.into(),
        StoreError::Compacted { oldest } => {
            format!("the oldest revision kept is {oldest}; follow from there with --from-rev {}", oldest.saturating_sub(1))
        }
        StoreError::Future { head: 0, .. } => "nothing has been written there yet".into(),
        StoreError::Future { .. } => "leave out the revision to use the newest".into(),
        StoreError::Diverged => "start again with --from-rev 0".into(),
        StoreError::Answered(problem) => return server_hint(problem),
        StoreError::Closed => return None,
    })
}

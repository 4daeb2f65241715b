//! What to do about an error.

use corkboard::boards::{BoardAction, TaskStatus};
use corkboard::store::{ConnectError, StoreError};
use corkboard::transfer::TransferError;
use corkboard::{Error, LimitName, Problem, Refusal, Role, Sealing, SnapshotError};

use crate::args::SERVER_URL;
use crate::output::time;

const NEWER: &str = "a newer cork can read it";
const DAMAGED: &str = "`cork doctor` looks for damage";

/// How PostgreSQL's word that there is no such database ends.
const NO_DATABASE: &str = "(3D000)";

/// What to do about an error, where that is not plain from what it says.
pub(crate) fn hint(error: &Error) -> Option<String> {
    Some(match error {
        Error::Refused(refusal) => return refusal_hint(refusal),
        Error::ScopeDisposed { .. } => "`cork scope list` shows the scopes there are".into(),
        Error::NewerFormat { .. } => NEWER.into(),
        Error::Damaged { .. } => DAMAGED.into(),
        Error::TaskPattern { pattern, .. } => {
            format!("`cork core show {} {}` shows it; docs/cores.md has the form", pattern.core, pattern.entry)
        }
        Error::PatternFromOutside { pattern } => {
            format!("if you vouch for it: `cork core edit {} {} --trust own`", pattern.core, pattern.entry)
        }
        Error::Snapshot(error) => return snapshot_hint(error),
        Error::Store(error) => return store_hint(error),
        Error::Transfer(error) => return transfer_hint(error),
        Error::Server { problem } => return server_hint(problem),
        _ => return None,
    })
}

fn transfer_hint(error: &TransferError) -> Option<String> {
    Some(match error {
        TransferError::Source(error) | TransferError::Target(error) => return store_hint(error),
        TransferError::NoSuchSpace { .. } => {
            "`cork stats --all`, `cork board list` and `cork core list` show what there is".into()
        }
        TransferError::NewerVersion { .. } => NEWER.into(),
        TransferError::NotAnExport(_) => "`cork export` and `cork snapshot store` write such files".into(),
        TransferError::Spool(_) => "TMPDIR names the folder for temporary files".into(),
        _ => return None,
    })
}

fn refusal_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::Conflict { current: Some(entry), .. } => {
            format!("look at what is there now, then try again with --if-version {}", entry.version)
        }
        Refusal::Conflict { current: None, .. } => "to create it, use --if-version 0".into(),
        Refusal::RevConflict { expected, current } => {
            format!(
                "`cork memory watch` or `cork board watch` with --from-rev {expected} shows what changed; then try again \
                 with --if-rev {current}"
            )
        }
        Refusal::NotebookConflict { current, .. } => {
            format!("`cork notebook history` shows what changed; then try again with --if-version {current}")
        }
        Refusal::NotText { key, .. } => format!("`cork memory set {key} …` replaces the value"),
        Refusal::NoEntry { .. } => "`cork memory list` shows what there is".into(),
        Refusal::ScopeGone { .. } => "`cork scope list` shows the scopes there are".into(),
        Refusal::AgentMismatch { found, .. } => format!("to restore it to its own agent, use --agent {found}"),
        Refusal::IdempotencyMismatch { .. } => "a key names one request; another request needs another key".into(),
        Refusal::Limit { limit, .. } => match limit {
            LimitName::EntryBytes => "split the value over several keys".into(),
            LimitName::CommandBytes => "send it in several parts".into(),
            LimitName::NoteBytes => "keep long texts in an entry: `cork memory set KEY -`".into(),
            LimitName::EntriesPerAgent => {
                "`cork memory list` shows what there is; `cork memory remove` makes room".into()
            }
            LimitName::StateBytes => {
                "`cork memory remove` makes room in an agent's memory; what is full otherwise, a new board or core goes on \
                 from"
                    .into()
            }
            LimitName::LearningsPerNotebook | LimitName::SnippetsPerNotebook => {
                "`cork notebook show` shows them; an `ARCHIVE` bullet makes room".into()
            }
            LimitName::NotesPerAgent => "`cork memory note remove` makes room".into(),
            LimitName::ScopesPerAgent => "`cork scope list` shows them; `cork scope dispose` makes room".into(),
            LimitName::CoreTextBytes => "an entry is to be short; keep long texts in a file and say where it is".into(),
            LimitName::InlineBytes => "record it without --inline: path, size and checksum are kept".into(),
            LimitName::BoardLineBytes => "a line is to be short; the rest belongs into a description".into(),
            LimitName::BoardTextBytes => "keep long texts in a file, and record it: `cork board artifact PATH`".into(),
            LimitName::LinesPerList => "name fewer at once".into(),
            LimitName::TasksPerBoard | LimitName::DependenciesPerBoard | LimitName::RecordsPerBoard => {
                "the board is full: `cork board create NAME` makes one for the rest".into()
            }
            LimitName::EntriesPerCore => "the core is full, with what is forgotten: use another one".into(),
            LimitName::QueryBytes => "ask in fewer words".into(),
            _ => return None,
        },
        Refusal::NotInCore { .. } => {
            "`cork core show CORE` shows the entries there are, `cork core list` the cores".into()
        }
        Refusal::EntryForgotten { entry } => format!("`cork core restore CORE {entry}` brings it back"),
        Refusal::CoreConflict { current, .. } => {
            let (entry, version) = (current.id, current.version);
            format!("`cork core show CORE {entry}` shows what is there; then try again with --if-version {version}")
        }
        Refusal::SameText { entry, other } => format!("forget {entry}, or edit {other} instead"),
        Refusal::TaskPattern { .. } => "without the tag task-pattern it is an entry like any other".into(),
        Refusal::ReservedName { .. } => "name another one; `cork core list` shows those there are".into(),
        Refusal::TrustDenied { most, .. } => {
            format!("say --trust {most}, or nothing; a person may vouch for it (without --role, you are one)")
        }
        refusal => return learning_hint(refusal).or_else(|| board_hint(refusal)),
    })
}

fn learning_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::NotOnBoard { what, .. } if what == "learning" => {
            "`cork learn list --all` shows the learnings there are".into()
        }
        Refusal::NoCore { learning } => {
            format!("`cork learn promote {learning} --core NAME` says which; `cork core list` shows those there are")
        }
        Refusal::LearningRefused { .. } => {
            "what was refused stays so; `cork core add CORE TEXT` adds something in your own name".into()
        }
        Refusal::LearningPromoted { learning, .. } => {
            format!("`cork learn rollback {learning}` takes it out of there first")
        }
        Refusal::NotPromoted { .. } | Refusal::PromotionOver { .. } => {
            "`cork learn list --all` shows what became of each".into()
        }
        Refusal::PromotionOpen { .. } => "`cork learn extract` finishes what was begun; then try again".into(),
        Refusal::OwnLearning { .. } => "let a person or another agent look at it, and promote it".into(),
        _ => return None,
    })
}

fn board_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::NoBoard => "`cork board list` shows the boards there are".into(),
        Refusal::BoardExists => "`cork board list --all` shows it; without --id a board gets an id of its own".into(),
        Refusal::BoardEnded { .. } => "to go on from here, `cork board fork` makes a new board of it".into(),
        Refusal::BoardActive => "`cork board complete` ends it, `cork board cancel` gives it up".into(),
        Refusal::BoardKept { .. } => "`cork gc` says what can be done about it".into(),
        Refusal::BoardPurged => "`cork gc --yes` deletes what is left of it".into(),
        Refusal::BoardConflict { current, .. } => {
            format!("`cork board show` shows what is there; then try again with --if-version {}", current.version)
        }
        Refusal::Unfinished { .. } => {
            "`cork task list` shows them; --unfinished cancel cancels them, `cork board cancel` gives all up".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "task" => "`cork task list` shows the tasks there are".into(),
        Refusal::NotOnBoard { what, .. } if what == "choice" => "`cork choose list` shows the choices there are".into(),
        Refusal::NotOnBoard { what, .. } if what == "nudge" => "`cork nudge list` shows the nudges there are".into(),
        Refusal::NotOnBoard { .. } => "`cork board show` shows what there is".into(),
        Refusal::AlreadyChosen { .. } => {
            "a choice is made once; `cork board fork --at REV` makes a board of what was before it".into()
        }
        Refusal::NoBranch { .. } => "`cork choose list` shows the branches of each choice".into(),
        Refusal::BadChoice { .. } => "`cork choose add --help` has an example".into(),
        Refusal::RoleDenied { role, what, .. } => denied(*role, what),
        Refusal::OrchestratorHeld { .. } => "wait until the role is given back, or expires".into(),
        Refusal::Fenced { what, .. } if what == "orchestrator" => {
            "nothing was written; leave the board to whoever runs it now".into()
        }
        Refusal::Paused { .. } => "`cork board resume` lets it go on".into(),
        Refusal::NotForYou { .. } => {
            "`cork nudge check` shows what is said to you; --principal says who you are".into()
        }
        Refusal::NotAuthor { .. } => "record a decision of your own, without --supersedes".into(),
        Refusal::Irreversible { .. } => {
            "a person can supersede it with --force (without --role, you are a person)".into()
        }
        Refusal::NotReviewer { task, .. } => {
            format!("`cork task assign {task} NAME --review` assigns the review to another")
        }
        Refusal::OwnTask { .. } => "let a reviewer or a person approve it (without --role, you are a person)".into(),
        Refusal::UrgentNudges { .. } => "`cork nudge check` shows them; then try again".into(),
        Refusal::Superseded { by, .. } => format!("{by} holds in its place: name that one instead"),
        Refusal::NothingWaits => "--affects-task T-1,T-2 names them; without --needs-approval none waits".into(),
        Refusal::Checksum { .. } => "without --checksum it is computed from the file".into(),
        refusal => return task_hint(refusal),
    })
}

/// Who may do what was denied on a board; of other things, the refusal itself says it.
fn denied(role: Role, what: &str) -> String {
    let action = BoardAction::all().find(|action| action.words() == what);
    let may = Role::ALL.into_iter().filter(|role| action.is_some_and(|action| action.is_allowed_to(*role)));
    let may: Vec<&str> = may.map(Role::as_str).collect();
    match may.split_last() {
        Some((last, [])) => format!("only --role {last} may"),
        Some((last, others)) => {
            format!("--role {} or {last} may, not {role}; docs/boards.md has the whole table", others.join(", "))
        }
        None => "docs/boards.md and docs/cores.md have the tables of who may do what; --role chooses a role".into(),
    }
}

fn task_hint(refusal: &Refusal) -> Option<String> {
    use TaskStatus::*;
    Some(match refusal {
        Refusal::UnknownMember { .. } => "`cork task list` shows the tasks there are".into(),
        Refusal::DuplicateMember { .. } => "give each task of the batch a key of its own".into(),
        Refusal::KeyReadsAsId { .. } => "choose another key: any word that is not a T, a dash and a number".into(),
        Refusal::Cycle { .. } => "leave out one of these dependencies; to do a task again, review or retry it".into(),
        Refusal::NotThisWay { task, from: Review, .. } | Refusal::TaskMove { task, from: Review, .. } => {
            format!("`cork task review {task} approve` says that it is done; rework and reject are the other verdicts")
        }
        Refusal::NotThisWay { task, from, to } => match (from, to) {
            (_, Completed | Review) => {
                format!("it is not under review; its holder completes it: `cork task complete {task} SUMMARY`")
            }
            (_, Failed) => format!("it is not under review; its holder fails it: `cork task fail {task} REASON`"),
            (_, InProgress) => format!("`cork task start {task}` begins it, or goes on with it"),
            (Failed | Cancelled, _) => format!("`cork task retry {task}` opens it again"),
            (_, Assigned) => format!("`cork task claim {task}` takes it, `cork task assign {task} NAME` gives it"),
            (_, Cancelled) => format!("`cork task cancel {task}` cancels it"),
            (_, Blocked) => format!("`cork task block {task} REASON` says that it cannot go on"),
            (_, Pending) => format!("`cork task release {task}` gives it back"),
        },
        Refusal::TaskMove { task, from, .. } => match from {
            Pending | Assigned => format!("`cork task claim {task}` begins it"),
            Blocked => format!("`cork task start {task}` goes on with it"),
            Failed => format!("`cork task retry {task}` opens it again"),
            InProgress | Review | Completed | Cancelled => format!("`cork task show {task}` shows it"),
        },
        Refusal::NotReady { task, .. } => {
            format!("`cork task show {task}` shows it; `cork task claim` without a task takes one that is ready")
        }
        // Who asks is not known here, and another process may go by the same name.
        Refusal::TaskHeld { task, holder, until: Some(until) } => {
            format!(
                "if that is you, it is yours already: go on; otherwise it is free by {} if nothing is heard of {holder}, \
                 and `cork task release {task}` takes it",
                time(*until)
            )
        }
        Refusal::TaskHeld { task, until: None, .. } => {
            format!("`cork task assign {task} NAME` gives it to another; `cork task release {task}` to anyone")
        }
        Refusal::Fenced { what, holder: None, epoch: 0 } => format!("`cork task claim {what}` first"),
        Refusal::Fenced { what, .. } => {
            format!("nothing was written, and the work may be another's now: `cork task show {what}`, or claim again")
        }
        Refusal::TaskConflict { current, .. } => {
            let (task, version) = (current.id, current.version);
            format!("`cork task show {task}` shows what is there; then try again with --if-version {version}")
        }
        Refusal::AwaitsApproval { decisions, .. } => match decisions.first() {
            Some(decision) => format!("`cork approve {decision}` or `cork reject {decision}` decides it"),
            None => return None,
        },
        Refusal::CauseNotRetried { .. } => "`cork task add TITLE` adds a new one in its place".into(),
        Refusal::AlreadyBegun { task, status: InProgress | Blocked } => {
            format!("`cork task release {task}` first gives it back")
        }
        Refusal::AlreadyBegun { task, status: Failed } => format!("`cork task retry {task}` first opens it again"),
        Refusal::AlreadyBegun { .. } => "`cork task add TITLE --depends-on T-1` adds a new one that waits".into(),
        Refusal::LeaseLength { least, most, .. } => {
            format!("--lease-s takes from {} to {} seconds", *least as f64 / 1000.0, *most as f64 / 1000.0)
        }
        _ => return None,
    })
}

fn snapshot_hint(error: &SnapshotError) -> Option<String> {
    Some(match error {
        SnapshotError::Newer { .. } => NEWER.into(),
        SnapshotError::Damaged(_) => "nothing was changed; another copy of it may be whole".into(),
        SnapshotError::NeedsKey { sealed_with: Sealing::Passphrase(_) } => {
            "give it by --passphrase-file, or in CORK_SNAPSHOT_PASSPHRASE".into()
        }
        SnapshotError::NeedsKey { .. } => "give it by --key-file".into(),
        SnapshotError::NotSealed => {
            "anyone can have written it; if you trust it, try without --passphrase-file, --key-file and \
             CORK_SNAPSHOT_PASSPHRASE"
                .into()
        }
        _ => return None,
    })
}

fn server_hint(problem: &Problem) -> Option<String> {
    Some(match problem.code.as_str() {
        "unauthenticated" => "give a token in CORK_TOKEN; `cork token create`, where the store is, makes one".into(),
        "not_granted" => "`cork token create` makes a token that opens more".into(),
        "too_many_requests" => "nothing was written; try again in a while".into(),
        "damaged" => DAMAGED.into(),
        "newer_format" => NEWER.into(),
        "host" => "start the server with --host and that name".into(),
        _ => return None,
    })
}

fn server_trouble(trouble: &ConnectError) -> &'static str {
    match trouble {
        ConnectError::Away(_) => "nothing was written; is `cork serve` running there? --url names another server",
        ConnectError::Certificate(_) => {
            "SSL_CERT_FILE names a file of certificates to trust; docs/http.md has how to make one that works"
        }
        ConnectError::NotEncrypted => "try http:// in place of https://",
        ConnectError::NotHttp => "a server that encrypts is asked by https://",
    }
}

fn store_hint(error: &StoreError) -> Option<String> {
    Some(match error {
        StoreError::Url { reason, .. } if reason.ends_with(NO_DATABASE) => {
            "make the database first, for example with `createdb`; its tables need not be there".into()
        }
        // What is wrong with a server is in the error.
        StoreError::Url { url, .. } if url.starts_with("redis") || url.starts_with("postgres") => return None,
        // The URL is right; what is there is not.
        StoreError::Url { reason, .. } if reason.starts_with("cannot create") || reason.starts_with("cannot write") => {
            "check the path: you need to be allowed to write the file and into its folder".into()
        }
        StoreError::Url { url, .. } => match url.contains(':') || url.is_empty() {
            true => "--store or CORK_STORE takes, for example, sqlite:corkboard.db".into(),
            false => format!("did you mean --store sqlite:{url}?"),
        },
        StoreError::Missing { .. } => {
            "check --store or CORK_STORE; only `cork serve` and commands that write, such as `cork memory set`, create a \
             store"
                .into()
        }
        StoreError::NoFolder { folder } => {
            format!("check --store or CORK_STORE, or create the folder: mkdir -p '{}'", folder.display())
        }
        StoreError::ServerUrl { url, .. } => match url.contains(':') || url.is_empty() {
            true => SERVER_URL.into(),
            false => format!("{SERVER_URL}; did you mean --store?"),
        },
        StoreError::NoServer { trouble, .. } => server_trouble(trouble).into(),
        StoreError::Locked { .. } => "it keeps the store to itself until it ends; wait, or use another --store".into(),
        StoreError::Busy { .. } => "nothing was written; try again".into(),
        StoreError::Unavailable(_) => {
            "nothing was written; check the path and its permissions, or the database, and try again".into()
        }
        StoreError::NoSpace(_) => "nothing was written; free some disk space and try again".into(),
        StoreError::OutcomeUnknown(_) => {
            "it may have been written: look before you try again; with --idempotency-key, trying again is always safe"
                .into()
        }
        StoreError::Failed(_) => "check the disk, then try again; `cork doctor` looks for damage".into(),
        StoreError::Corrupt(_) => "check the disk; a backup of the file may help".into(),
        StoreError::NewerFormat { .. } => NEWER.into(),
        StoreError::Compacted { oldest } => {
            format!("the first that is left is {oldest}; whoever follows goes on after {}", oldest.saturating_sub(1))
        }
        StoreError::Future { head: 0, .. } => "nothing was written there yet".into(),
        StoreError::Future { head, .. } => format!("name {head}, or an earlier revision"),
        StoreError::Diverged => "start again with --from-rev 0".into(),
        StoreError::Answered(problem) => return server_hint(problem),
        StoreError::Closed => return None,
    })
}

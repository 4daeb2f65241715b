//! `cork compact`: trim old history; also measures logs for `cork stats` and `cork doctor`.

use clap::{ArgGroup, Args};
use corkboard::store::Trim;
use corkboard::{Corkboard, LogSize, SpaceId, SpaceKind, TrimmedLog};
use jiff::SignedDuration;
use serde::Serialize;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Rest, bytes, count, one_line, table};
use crate::progress::{ProgressLine, unless_interrupted};
use crate::value_parsers::length_argument;

/// Kinds of spaces whose history can be trimmed. The log of access tokens stays whole as a record of who had access.
const KINDS: [SpaceKind; 3] = [SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core];
const PAGE: usize = 1000;

/// Trim history that is older than an age or a revision
///
/// Every write adds a revision to a log. Logs keep all revisions unless retention is set; this command removes old ones for
/// good. Entries, notes, boards, contributions and daily activity are not affected. --at, diffs, notebook history and
/// restoring then cannot go back before the revision that is newest now. Watching starts at the oldest revision kept.
/// `cork stats --all` shows the size of each log.
#[derive(Args)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(["older_than", "up_to"]))]
#[command(after_help = "\
Examples:
  cork compact --older-than 30d --dry-run
  cork compact --older-than 30d
  cork compact --up-to 5000 --space agent/default")]
pub(crate) struct Compact {
    /// Remove revisions older than this: 30d, 12h, 45m or 90s
    #[arg(long, value_name = "AGE", value_parser = length_argument)]
    older_than: Option<SignedDuration>,

    /// Newest revision to remove; with --older-than, only revisions that are also older
    #[arg(long, value_name = "REV")]
    up_to: Option<u64>,

    /// Space to trim: agent/NAME, board/ID or core/NAME [default: all agents, boards and memory cores]
    #[arg(long, value_name = "SPACE", value_parser = space_argument)]
    space: Option<SpaceId>,

    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
}

fn space_argument(argument: &str) -> Result<SpaceId, String> {
    let (kind, name) = argument.split_once('/').unwrap_or_default();
    let kind = KINDS.into_iter().find(|known| known.as_str() == kind && !name.is_empty());
    kind.map(|kind| SpaceId::of(kind, name))
        .ok_or_else(|| format!("invalid space {argument:?}: expected a form like agent/default, board/ID or core/NAME"))
}

#[derive(Serialize)]
struct Answer<'a> {
    dry_run: bool,
    revisions: u64,
    bytes: u64,
    items: &'a [Compacted],
    /// The list has one page.
    next: Option<String>,
}

/// What was removed from one space, or would be.
#[derive(Serialize)]
struct Compacted {
    space: String,
    #[serde(flatten)]
    trimmed: TrimmedLog,
}

impl Compact {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let older_than = self.older_than.map(|age| session.corkboard.time().saturating_sub(age)).transpose();
        let older_than = older_than.map_err(|error| CliError::invalid("older_than", error.to_string()))?;
        let up_to = self.up_to.unwrap_or(u64::MAX);
        let trim = Trim { up_to, older_than };
        let mut compacted = Vec::new();
        let then = "some spaces are trimmed already; run the same command to continue";
        let done = unless_interrupted(then, self.compact(session, trim, &mut compacted)).await;
        if done.is_ok() || !compacted.is_empty() {
            let sum = |of: fn(&TrimmedLog) -> u64| compacted.iter().map(|space| of(&space.trimmed)).sum::<u64>();
            let (revisions, bytes) = (sum(|trimmed| trimmed.revisions), sum(|trimmed| trimmed.bytes));
            let answer = Answer { dry_run: self.dry_run, revisions, bytes, items: &compacted, next: None };
            session.output.answer(&answer, || told(&answer))?;
        }
        done
    }

    async fn compact(&self, session: &Session, trim: Trim, compacted: &mut Vec<Compacted>) -> Result<(), CliError> {
        let spaces = match &self.space {
            Some(space) => vec![space.clone()],
            None => every_space(&session.corkboard).await?.into_iter().map(|(space, _)| space).collect(),
        };
        let mut line = ProgressLine::new(session.output);
        let mut done = Ok(());
        for (place, space) in spaces.iter().enumerate() {
            line.tell_count("trimming", place as u64, spaces.len() as u64, "logs");
            let Some(kind) = space.kind() else { continue };
            let trimming = async {
                let log = session.corkboard.log(kind, space.name())?;
                if self.dry_run { log.trimmable(trim).await } else { log.trim(trim).await }
            };
            let trimmed = trimming.await;
            match trimmed {
                Ok(trimmed) if trimmed.revisions == 0 && self.space.is_none() => {}
                Ok(trimmed) => compacted.push(Compacted { space: space.to_string(), trimmed }),
                // A space that cannot be read, or that the settings disable, does not stop the others.
                Err(error)
                    if error.is_unreadable_space()
                        || matches!(error.code(), "license_restriction" | "feature_disabled") =>
                {
                    done = done.and(Err(error.into()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        done
    }
}

fn told(answer: &Answer<'_>) -> String {
    let removed = answer.items.iter().filter(|space| space.trimmed.revisions > 0);
    let rows = removed.clone().map(|space| {
        let TrimmedLog { revisions, oldest, .. } = space.trimmed;
        [
            one_line(&space.space),
            revisions.to_string(),
            about(space.trimmed.bytes, space.trimmed.estimated),
            oldest.to_string(),
        ]
    });
    let header = [("SPACE", Rest), ("REVISIONS", Fit), ("BYTES", Fit), ("OLDEST KEPT", Fit)];
    let spaces = removed.clone().count() as u64;
    if spaces == 0 {
        return "nothing to trim".into();
    }
    let revisions = count(answer.revisions, "revision", "revisions");
    let estimated = removed.clone().any(|space| space.trimmed.estimated);
    let (freed, spaces) = (about(answer.bytes, estimated), count(spaces, "log", "logs"));
    let total = match answer.dry_run {
        true => format!("would remove {revisions} from {spaces}, {freed}; nothing was changed"),
        false => format!("removed {revisions} from {spaces}, {freed}"),
    };
    format!("{}\n\n{total}", table(header, rows))
}

pub(super) fn about(amount: u64, estimated: bool) -> String {
    let about = if estimated { "about " } else { "" };
    format!("{about}{}", bytes(amount))
}

/// Size of a space's state and log.
#[derive(Serialize)]
pub(super) struct SpaceSize {
    pub(super) space: String,
    pub(super) state_bytes: u64,
    pub(super) log: LogSize,
}

/// Sizes of all agents, boards and memory cores, except those that cannot be read.
pub(super) async fn sizes(corkboard: &Corkboard) -> Result<Vec<SpaceSize>, CliError> {
    let mut sizes = Vec::new();
    for (space, state_bytes) in every_space(corkboard).await? {
        let Some(kind) = space.kind() else { continue };
        match corkboard.log(kind, space.name())?.size().await {
            Ok(log) => sizes.push(SpaceSize { space: space.to_string(), state_bytes, log }),
            Err(error) if error.is_unreadable_space() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sizes)
}

pub(super) fn compared(sizes: &[SpaceSize]) -> String {
    let (log, state): (u64, u64) =
        sizes.iter().fold((0, 0), |(log, state), size| (log + size.log.bytes, state + size.state_bytes));
    let revisions = sizes.iter().map(|size| size.log.revisions).sum();
    let is_estimate = sizes.iter().any(|size| size.log.estimated);
    format!("{} in {}, states {}", about(log, is_estimate), count(revisions, "revision", "revisions"), bytes(state))
}

/// All agents, boards and memory cores, with the size of their states.
async fn every_space(corkboard: &Corkboard) -> Result<Vec<(SpaceId, u64)>, CliError> {
    let mut spaces: Vec<(SpaceId, u64)> = Vec::new();
    for kind in KINDS {
        let mut after: Option<String> = None;
        loop {
            let page = corkboard.logs(kind, after.as_deref(), PAGE).await?;
            after = page.last().map(|last| last.space.name().to_owned());
            for listed in &page {
                let summary: serde_json::Value = serde_json::from_slice(&listed.summary).unwrap_or_default();
                let state = summary.get("bytes").and_then(serde_json::Value::as_u64).unwrap_or_default();
                spaces.push((listed.space.clone(), state));
            }
            // A server leaves out spaces that the token does not open, so a short page need not be the last.
            if page.is_empty() {
                break;
            }
        }
    }
    Ok(spaces)
}

use std::collections::BTreeSet;

use clap::{ArgGroup, Args};
use corkboard::boards::{LearningId, LearningStatus, WhichLearnings};
use corkboard::cores::CoreEntryId;
use corkboard::{Board, CoreId, CoresRolledBack, Error, Refusal, RollBackProgress, RollBackStage};
use serde::Serialize;

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::{count, one_line};
use crate::progress::{ProgressLine, unless_interrupted};
use crate::text_input::text_or_stdin;
use crate::value_parsers::name_argument;

/// Remove learnings from memory cores
///
/// Removes the named learnings, all learnings of a board, or everything that an author said, promoted or edited. --author
/// covers every core, including agents' own, and every board. An entry that also has another origin stays, without this
/// one. An entry of someone else that the author only edited is forgotten and can be restored. You can promote a learning
/// again after rolling it back.
#[derive(Args)]
#[command(group = ArgGroup::new("which").required(true), after_help = "\
Examples:
  cork learn rollback D-1 F-2 --reason 'argon2id was too slow'
  cork --board add-login-1a2b3c4d learn rollback --all
  cork learn rollback --author mallory --reason 'not one of us' --yes")]
pub(crate) struct Rollback {
    /// Learning IDs, as shown by `cork learn list --all`
    #[arg(value_name = "LEARNING", group = "which")]
    learnings: Vec<LearningId>,

    /// Everything that was promoted from the board
    #[arg(long, group = "which")]
    all: bool,

    /// Everything by this author, in every core
    #[arg(long, value_name = "NAME", group = "which", value_parser = name_argument)]
    #[arg(conflicts_with_all = ["if_rev", "idempotency_key"])]
    author: Option<String>,

    /// Why; recorded on the board; - reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,

    /// Do not ask for confirmation (only --author asks, because it also removes entries added by hand)
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    conditions: RequestConditions,
}

#[derive(Serialize)]
struct RolledBack {
    learning: LearningId,
    core: CoreId,
    entry: CoreEntryId,
    /// False if it had been rolled back before.
    now: bool,
    /// Other authors of the entry, for whom it stays.
    kept_for: Vec<String>,
}

impl Rollback {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let reason = self.reason.map(text_or_stdin).transpose()?;
        if let Some(author) = self.author {
            return by_author(session, &author, reason, Consent::from_flag(self.yes)).await;
        }
        let board = self.conditions.open(session)?;
        let which = match self.all {
            true => WhichLearnings::All,
            false => WhichLearnings::These(self.learnings.clone()),
        };
        let out = match board.roll_back_learnings(which, reason).await {
            // Promoted entries outlive their board.
            Err(Error::Refused(Refusal::NoBoard | Refusal::BoardPurged)) if self.all => {
                return of_gone_board(session, &board).await;
            }
            out => out?.into_iter().collect::<BTreeSet<LearningId>>(),
        };
        let asked = self.learnings.into_iter().chain(out.iter().cloned()).collect::<BTreeSet<_>>();
        let answer = look(session, &board, asked, &out).await?;
        session.output.answer(&answer, || match answer.is_empty() {
            true => format!("no core has anything from board {}", one_line(board.id().as_str())),
            false => answer.iter().map(RolledBack::words).collect::<Vec<_>>().join("\n"),
        })
    }
}

/// The status of the learnings after a rollback.
async fn look(
    session: &Session,
    board: &Board,
    learnings: BTreeSet<LearningId>,
    out: &BTreeSet<LearningId>,
) -> Result<Vec<RolledBack>, CliError> {
    let view = board.view().await?;
    let mut found = Vec::new();
    for learning in learnings {
        let LearningStatus::RolledBack { core, entry, .. } = view.state().learning_status(&learning) else { continue };
        let left = session.corkboard.core(core.as_str())?.get(entry).await?;
        let origins = left.iter().flat_map(|entry| &entry.provenance).map(|origin| origin.author.to_string());
        let kept_for = origins.collect::<BTreeSet<_>>().into_iter().collect();
        found.push(RolledBack { now: out.contains(&learning), learning, core, entry, kept_for });
    }
    Ok(found)
}

impl RolledBack {
    fn words(&self) -> String {
        let (learning, core, entry) = (&self.learning, one_line(self.core.as_str()), self.entry);
        let out = match self.now {
            true => format!("{learning} is removed from {core}"),
            false => format!("{learning} was already removed from {core}"),
        };
        match self.kept_for.as_slice() {
            [] => format!("{out}: {entry} is deleted"),
            names => format!("{out}; {entry} stays because it also comes from {}", one_line(&names.join(", "))),
        }
    }
}

async fn by_author(session: &Session, author: &str, reason: Option<String>, consent: Consent) -> Result<(), CliError> {
    let name = one_line(author);
    confirm(consent, &format!("remove everything that {name} said, promoted or edited from all memory cores"))?;
    let mut roll_back = session.corkboard.roll_back_author(author);
    if let Some(reason) = reason {
        roll_back = roll_back.reason(reason);
    }
    let mut line = ProgressLine::new(session.output);
    let then = "run the same command to continue";
    let work = async {
        let tell = &mut |progress: &RollBackProgress| {
            let (stage, things) = match progress.stage {
                RollBackStage::Looking => ("searching", "cores"),
                RollBackStage::TakingOut => ("removing from", "boards and cores"),
            };
            line.tell_count(stage, progress.done, progress.total, things);
        };
        Ok(roll_back.with_progress(tell).await?)
    };
    let done = unless_interrupted(then, work).await?;
    drop(line);
    session.output.answer(&done, || told(&name, &done))
}

/// Rolls back the learnings of a board that was deleted or purged.
async fn of_gone_board(session: &Session, board: &Board) -> Result<(), CliError> {
    let id = board.id().as_str();
    let done = session.corkboard.roll_back_board(id)?.acting_as(board.actor().clone()).await?;
    if done.cores.is_empty() {
        return Err(Error::from(Refusal::NoBoard).into());
    }
    session.output.answer(&done, || told(&format!("board {}", one_line(id)), &done))
}

fn told(author: &str, done: &CoresRolledBack) -> String {
    if done.cores.is_empty() && done.boards.is_empty() {
        return format!("no core has anything that {author} said, promoted or edited");
    }
    let mut lines = Vec::new();
    for core in &done.cores {
        let gone = (core.removed > 0).then(|| count(core.removed, "entry deleted", "entries deleted"));
        let stays = (core.kept > 0)
            .then(|| format!("{} because others said the same", count(core.kept, "entry stays", "entries stay")));
        let changed = (core.forgotten > 0).then(|| {
            let entries = count(core.forgotten, "entry of someone else forgotten", "entries of others forgotten");
            format!("{entries} because {author} changed the text (restore with `cork core restore`)")
        });
        let told: Vec<String> = [gone, stays, changed].into_iter().flatten().collect();
        lines.push(format!("{}: {}", one_line(core.core.as_str()), told.join("; ")));
    }
    for board in &done.boards {
        let learnings: Vec<String> = board.learnings.iter().map(ToString::to_string).collect();
        let are = if learnings.len() == 1 { "is" } else { "are" };
        lines.push(format!("board {}: {} {are} rolled back", one_line(board.board.as_str()), learnings.join(", ")));
    }
    lines.join("\n")
}

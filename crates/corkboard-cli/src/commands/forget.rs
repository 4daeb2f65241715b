//! `cork forget`.

use std::sync::{Arc, Mutex};

use clap::Args;
use corkboard::{ForgetProgress, ForgottenText, TextPlace};

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::{CliError, say};
use crate::output::{Output, count, one_line};
use crate::progress::ProgressLine;

/// Find a text in the whole store and erase it, including history
///
/// Searches all agents with their notebooks and conversations, all boards and memory cores, and values that only the logs
/// still contain. Shows where the text is, asks for confirmation, and erases it from logs, snapshots and the store's files.
/// Entries, notes and notebook items that contain it are removed. Records of boards stay; their texts that contain it read
/// `[forgotten]`. Names, such as keys and agents' names, stay. It cannot reach copies: exports, backups, and a database's own
/// log and replicas. Upper and lower case must match.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork forget hunter2 --hard
  cork forget 'ann@example.com' --hard --yes
  cork forget hunter2 --dry-run    # only show where it is")]
pub(crate) struct Forget {
    /// The text, exactly as it was written: at least 3 characters
    text: String,

    /// Required, unless --dry-run: history is erased too. The command still asks before it erases, unless --yes
    #[arg(long)]
    hard: bool,

    /// Only show where it is
    #[arg(long, conflicts_with = "hard")]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let (corkboard, output) = (&session.corkboard, session.output);
        if !self.hard && !self.dry_run {
            let message = "forgetting also erases history; add --hard to confirm";
            return Err(CliError::invalid("needs_hard", message).hint("to only show where the text is, use --dry-run"));
        }
        let found = corkboard.find_text(&*self.text).on_progress(told(output, "searching")).await?;
        if self.dry_run {
            return output.answer(&found, || in_words(&found));
        }
        let is_there = found.kept().count() as u64 != found.found;
        if is_there {
            if !output.is_json() {
                say(&in_words(&found));
            }
            let items = count(found.found - found.kept().count() as u64, "item", "items");
            confirm(Consent::from_flag(self.yes), &format!("erase the text from {items}"))?;
        }
        // Even if nothing was found: an earlier attempt may have been interrupted.
        let forgotten = corkboard.forget_text(self.text).on_progress(told(output, "forgetting")).await?;
        output.answer(&forgotten, || {
            if !is_there {
                return match found.found {
                    0 => in_words(&found),
                    _ => format!("{}\nnothing was erased: the text occurs only in names, which stay", in_words(&found)),
                };
            }
            let items = count(forgotten.removed, "item", "items");
            let revisions = count(forgotten.revisions, "log revision", "log revisions");
            format!("erased the text from {items}; rewrote {revisions}")
        })
    }
}

fn told(output: Output, stage: &'static str) -> impl FnMut(ForgetProgress) + Send + 'static {
    let line = Arc::new(Mutex::new(ProgressLine::new(output)));
    move |progress| {
        if let Ok(mut line) = line.lock() {
            line.tell_count(stage, progress.spaces, progress.spaces, "spaces");
        }
    }
}

fn in_words(found: &ForgottenText) -> String {
    let lines = found.items.iter().map(|item| {
        let place = match item.place {
            TextPlace::Current => "",
            TextPlace::History => " (only in history)",
            TextPlace::Name => " (stays)",
        };
        format!("{} {}{place}: {}", one_line(&item.space), one_line(&item.item), one_line(&item.snippet))
    });
    let mut lines: Vec<String> = lines.collect();
    if let Some(more) = found.found.checked_sub(found.items.len() as u64).filter(|more| *more > 0) {
        lines.push(format!("and {} more", count(more, "item", "items")));
    }
    if lines.is_empty() { "the text was not found".into() } else { lines.join("\n") }
}

use clap::Args;
use corkboard::notebook::{Archived, Learning, Notebook, Snippet};
use serde::Serialize;

use super::Name;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{one_line, shown, time};

/// Show a notebook
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook show
  cork notebook show --archived
  cork notebook show --at 3 --block    # as an update that can be applied again")]
pub(crate) struct Show {
    #[command(flatten)]
    name: Name,

    /// Show it as of this revision
    #[arg(long, value_name = "REV")]
    at: Option<u64>,

    /// Include archived items
    #[arg(long)]
    archived: bool,

    /// Print it as an update in the notebook's language, without IDs
    #[arg(long, conflicts_with = "archived")]
    block: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    #[serde(flatten)]
    notebook: &'a Notebook,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let handle = self.name.open(session)?;
        let notebook = match self.at {
            Some(rev) => handle.at(rev).await?,
            None => handle.get().await?,
        };
        let answer = Answer { name: &self.name.name, notebook: &notebook };
        session.output.answer(&answer, || {
            if self.block {
                return shown(notebook.to_string().trim_end_matches('\n'));
            }
            let lines = listing(&notebook, self.archived);
            match lines.is_empty() {
                true => format!("notebook {} is empty", self.name.name),
                false => lines.join("\n"),
            }
        })
    }
}

fn listing(notebook: &Notebook, archived: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (list, bullets) in notebook.progress.lists().into_iter().filter(|(_, bullets)| !bullets.is_empty()) {
        lines.push(format!("{list}:"));
        lines.extend(bullets.iter().map(|bullet| format!("  - {}", one_line(bullet))));
    }
    lines.extend(notebook.learnings.iter().map(|learning| learning_line(learning)));
    notebook.snippets.iter().for_each(|snippet| snippet_lines(snippet, &mut lines));
    if archived {
        for old in &notebook.archived_learnings {
            lines.push(format!("{}{}", learning_line(&old.item), archived_note(old)));
        }
        for old in &notebook.archived_snippets {
            let item = &old.item;
            lines.push(format!("{}  {}{}", item.id, one_line(&item.label), archived_note(old)));
        }
    }
    lines
}

fn learning_line(learning: &Learning) -> String {
    format!("{}  {} (because {})", learning.id, one_line(&learning.text), one_line(&learning.reason))
}

fn snippet_lines(snippet: &Snippet, lines: &mut Vec<String>) {
    lines.push(format!("{}  {} (because {})", snippet.id, one_line(&snippet.label), one_line(&snippet.reason)));
    lines.extend(snippet.text.split('\n').map(|line| format!("      {}", shown(line)).trim_end().to_owned()));
}

fn archived_note<T>(old: &Archived<T>) -> String {
    let (at, by) = (time(old.archived_at), one_line(&old.archived_by));
    format!(" [archived {at} by {by} because {}]", one_line(&old.archived_because))
}

//! `cork memory watch`.

use std::collections::HashMap;

use clap::Args;
use corkboard::{AgentEvent, AgentReply, AgentState, Commit, Error, RevisionDocument, ScopeId, SpaceId, Watched};

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{clip, compact, count, one_line, time};

/// The maximum length of a value and number of events in a line.
const SHOWN_VALUE: usize = 60;
const SHOWN_EVENTS: usize = 5;

/// Follow all changes to an agent's memory
///
/// Each revision is a line: number, time, author and changes. No revision is skipped. Press Ctrl-C to stop.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory watch
  cork memory watch --from-rev 0         # from the beginning
  cork memory watch --limit 1 --json     # wait for the next change")]
pub(crate) struct Watch {
    /// Start after this revision; 0 is the beginning [default: new revisions only]
    #[arg(long, alias = "from", value_name = "REVISION")]
    from_rev: Option<u64>,

    /// Stop after this many revisions
    #[arg(long, alias = "count", value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

impl Watch {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let from = match self.from_rev {
            Some(rev) => rev,
            None => session.agent.rev().await?,
        };
        let mut names = ScopeNames::load(session).await?;
        let mut watch = session.agent.watch(from).await?;
        let space = SpaceId::agent(session.agent.agent_id());
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            match watch.next().await {
                Ok(Watched::Revision { rev, commit_id, commit }) => {
                    names.learn(&commit.events);
                    let revision = RevisionDocument::of_commit::<AgentState>(&space, rev, commit_id, &commit)?;
                    session.output.answer(&revision, || names.tell(rev, &commit))?;
                    left -= 1;
                }
                Ok(Watched::Bookmark { .. }) => {}
                // The reader of stdout is slow; resume where it stopped.
                Err(Error::Lagged { resume_from }) => watch = session.agent.watch(resume_from).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Names of scopes; events have only their IDs.
struct ScopeNames(HashMap<ScopeId, String>);

impl ScopeNames {
    async fn load(session: &Session) -> Result<Self, CliError> {
        let scopes = session.memory().active_scopes().await?;
        Ok(Self(scopes.into_iter().map(|scope| (scope.id, one_line(scope.name.as_str()))).collect()))
    }

    fn learn(&mut self, events: &[AgentEvent]) {
        for event in events {
            if let AgentEvent::ScopeCreated { id, name, .. } = event {
                self.0.insert(*id, one_line(name.as_str()));
            }
        }
    }

    fn tell(&self, rev: u64, commit: &Commit<AgentEvent, AgentReply>) -> String {
        let mut told: Vec<String> = commit.events.iter().take(SHOWN_EVENTS).map(|event| self.words(event)).collect();
        match commit.events.len() {
            0 => told.push("nothing changed".into()),
            many if many > SHOWN_EVENTS => told.push(format!("and {} more", many - SHOWN_EVENTS)),
            _ => {}
        }
        format!("{rev:>6}  {}  {}  {}", time(commit.at), one_line(&commit.actor.principal), told.join("; "))
    }

    fn words(&self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::EntrySet { scope, key, is_update, entry } => {
                let verb = if *is_update { "changed" } else { "set" };
                let value = short(&compact(entry.value.as_json()));
                format!("{verb} {key}{} to {}{value}", self.place(*scope), entry.trust().mark())
            }
            AgentEvent::EntryAppended { scope, key, text } => {
                format!("appended to {key}{}: {}", self.place(*scope), quoted(text.trim_start_matches('\n')))
            }
            AgentEvent::EntryRemoved { scope, key } => format!("removed {key}{}", self.place(*scope)),
            AgentEvent::EntryExpired { scope, key } => format!("{key}{} expired", self.place(*scope)),
            AgentEvent::Cleared { scope, entries } => {
                format!("cleared {}{}", count(*entries, "entry", "entries"), self.place(*scope))
            }
            AgentEvent::NoteAdded { scope, note } => {
                let mark = note.trust().mark();
                format!("added note {}{}: {mark}{}", note.id, self.place(*scope), quoted(&note.text))
            }
            AgentEvent::NoteRemoved { scope, id } => format!("removed note {id}{}", self.place(*scope)),
            AgentEvent::ScopeCreated { id, name, parent } => {
                format!("created scope {}{} ({id})", one_line(name.as_str()), self.place(*parent))
            }
            AgentEvent::ScopeMerged { scope, .. } => format!("merged the notes of scope {}", self.name(*scope)),
            AgentEvent::ScopeDisposed { name, entries, .. } => {
                format!("disposed scope {} with {}", one_line(name.as_str()), count(*entries, "entry", "entries"))
            }
            AgentEvent::NotebookUpdated { notebook, update } => {
                format!("updated notebook {}: {}", one_line(notebook.as_str()), short(&update.to_string()))
            }
            AgentEvent::NotebookRestored { notebook, content } => {
                format!("restored notebook {} to revision {}", one_line(notebook.as_str()), content.rev)
            }
            AgentEvent::NotebookCleared { notebook } => format!("cleared notebook {}", one_line(notebook.as_str())),
            AgentEvent::NotebookItemRemoved { notebook, id } => {
                format!("removed {id} from notebook {}", one_line(notebook.as_str()))
            }
            AgentEvent::ConversationRenewed { .. } => "renewed the conversation".into(),
            AgentEvent::Restored { image } => {
                let entries = image.scopes.iter().map(|scope| scope.entries.len() as u64).sum();
                format!("restored a snapshot of {}", count(entries, "entry", "entries"))
            }
        }
    }

    fn place(&self, scope: ScopeId) -> String {
        if scope.is_root() { String::new() } else { format!(" in scope {}", self.name(scope)) }
    }

    fn name(&self, scope: ScopeId) -> String {
        self.0.get(&scope).cloned().unwrap_or_else(|| scope.to_string())
    }
}

/// A text in JSON quotes, so that its beginning and end are visible.
fn quoted(text: &str) -> String {
    short(&serde_json::to_string(text).unwrap_or_default())
}

fn short(text: &str) -> String {
    one_line(&clip(text, SHOWN_VALUE))
}

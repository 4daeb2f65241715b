use std::time::Duration;

use clap::Args;
use corkboard::embed::{Reindex as Vectors, VectorStatus};
use corkboard::{ErrorKind, SpaceLog};

use super::spaces::SpacesArgument;
use crate::args::Global;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{count, json_object, one_line};
use crate::progress::ProgressLine;

/// How often to ask how far it is.
const POLL: Duration = Duration::from_millis(100);

/// Compute vectors with the configured embedding model, and wait until it is done
///
/// Erases the stored vectors first, unless --missing is given. If the model fails, the command fails, and vectors that were
/// computed stay.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork search reindex
  cork search reindex --all --missing")]
pub(super) struct Reindex {
    #[command(flatten)]
    spaces: SpacesArgument,

    /// Keep the stored vectors, and only compute those that are missing
    #[arg(long)]
    missing: bool,
}

impl Reindex {
    pub(super) async fn run(self, session: &Session, global: &Global) -> Result<(), CliError> {
        let vectors = if self.missing { Vectors::Missing } else { Vectors::All };
        let mut progress = ProgressLine::new(session.output);
        let (mut spaces, mut entries) = (0_u64, 0);
        for log in self.spaces.open(session, global).await? {
            let indexed = reindexed(&log, vectors, |status| {
                let done = status.entries.saturating_sub(status.without_vector);
                progress.tell_count("indexing", done, status.entries, "entries");
            });
            (spaces, entries) = (spaces + 1, entries + indexed.await?.entries);
        }
        drop(progress);
        session.output.answer(&json_object! { spaces: spaces, entries: entries }, || {
            let (entries, spaces) = (count(entries, "entry", "entries"), count(spaces, "space", "spaces"));
            format!("{entries} in {spaces} have vectors")
        })
    }
}

/// Computes the vectors of a space, and waits until all are there.
pub(crate) async fn reindexed(
    log: &SpaceLog,
    vectors: Vectors,
    mut tell: impl FnMut(&VectorStatus),
) -> Result<VectorStatus, CliError> {
    let mut status = log.reindex(vectors).await?;
    while status.without_vector > status.refused_texts {
        if let Some(problem) = &status.problem {
            let message = format!("{}: {}", log.id(), one_line(problem));
            let hint = Some("`cork search status` shows how many entries have no vector".into());
            return Err(CliError::Own { code: "embedder_failed", kind: ErrorKind::Unavailable, message, hint });
        }
        tell(&status);
        tokio::time::sleep(POLL).await;
        status = log.vector_status().await?;
    }
    Ok(status)
}

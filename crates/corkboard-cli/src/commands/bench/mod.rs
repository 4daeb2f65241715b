//! `cork bench`: measurements of this program.

mod retrieval;

use clap::Subcommand;

use crate::args::Global;
use crate::error::CliError;

/// Measure search quality
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork bench retrieval questions.jsonl")]
pub(crate) enum Bench {
    Retrieval(retrieval::Retrieval),
}

impl Bench {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        match self {
            Self::Retrieval(retrieval) => retrieval.run(global).await,
        }
    }
}

//! `cork board graph`.

use clap::{Args, ValueEnum};
use corkboard::GraphFormat;
use serde::Serialize;

use crate::board_args::{BoardArgument, RevisionArgument};
use crate::command_session::Session;
use crate::error::CliError;

/// Draw a board's tasks and choices as Mermaid or DOT
///
/// An arrow leads from a task to what depends on it; colours tell the states.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board graph
  cork board graph --format dot > board.dot")]
pub(crate) struct Graph {
    #[command(flatten)]
    board: BoardArgument,

    /// In which language
    #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
    format: FormatName,

    #[command(flatten)]
    moment: RevisionArgument,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatName {
    /// A flowchart for documents
    Mermaid,
    /// A digraph for Graphviz
    Dot,
}

impl Graph {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer<'a> {
            format: &'a str,
            rev: u64,
            graph: &'a str,
        }
        let view = self.moment.view(&self.board.open(session)?).await?;
        let (name, format) = match self.format {
            FormatName::Mermaid => ("mermaid", GraphFormat::Mermaid),
            FormatName::Dot => ("dot", GraphFormat::Dot),
        };
        let graph = view.graph(format);
        let answer = Answer { format: name, rev: view.rev(), graph: &graph };
        session.output.answer(&answer, || graph.trim_end().to_owned())
    }
}

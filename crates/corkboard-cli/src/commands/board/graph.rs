use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::GraphFormat;

use crate::board_args::{BoardArgument, RevisionArgument};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;
use crate::value_parsers::one_of;

/// Draw a board's tasks and choices as Mermaid or DOT
///
/// Arrows point from a task to its dependents; colours show the status.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board graph
  cork board graph --format dot > board.dot")]
pub(crate) struct Graph {
    #[command(flatten)]
    board: BoardArgument,

    /// Output language
    #[arg(long, value_name = "FORMAT", default_value = "mermaid", value_parser = graph_format())]
    format: GraphFormat,

    #[command(flatten)]
    moment: RevisionArgument,
}

fn graph_format() -> impl TypedValueParser<Value = GraphFormat> {
    one_of([
        ("mermaid", GraphFormat::Mermaid, "A flowchart for documents"),
        ("dot", GraphFormat::Dot, "A digraph for Graphviz"),
    ])
}

impl Graph {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&self.board.open(session)?).await?;
        let name = match self.format {
            GraphFormat::Mermaid => "mermaid",
            GraphFormat::Dot => "dot",
        };
        let graph = view.graph(self.format);
        let answer = json_object! { format: name, rev: view.rev(), graph: &graph };
        session.output.answer(&answer, || graph.trim_end().to_owned())
    }
}

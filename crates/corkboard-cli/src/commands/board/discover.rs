use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::boards::{DiscoveryType, NewDiscovery, TaskId};

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::core_args::TrustArguments;
use crate::error::CliError;
use crate::named_text::DiscoveryContent;
use crate::output::json_object;
use crate::value_parsers::one_of;

/// Record a discovery: something learned during the work
///
/// Prints its ID.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board discover 'no column for tokens' --type constraint --affects-task T-1,T-2
  cork board discover 'tests run twice as fast with two threads' --promote-to-core ci")]
pub(crate) struct Discover {
    #[command(flatten)]
    content: DiscoveryContent,

    /// Type of discovery
    #[arg(long = "type", value_name = "TYPE", default_value = "insight", value_parser = discovery_type())]
    kind: DiscoveryType,

    /// Tasks that it affects [default: all]
    #[arg(long = "affects-task", alias = "affects", value_name = "TASK", value_delimiter = ',')]
    affects_tasks: Vec<TaskId>,

    /// Memory core that should keep it
    #[arg(long, alias = "core", value_name = "NAME")]
    promote_to_core: Option<String>,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    conditions: RequestConditions,
}

fn discovery_type() -> impl TypedValueParser<Value = DiscoveryType> {
    one_of([
        ("constraint", DiscoveryType::Constraint, "A boundary"),
        ("opportunity", DiscoveryType::Opportunity, "Something to take advantage of"),
        ("risk", DiscoveryType::Risk, "Something that could go wrong"),
        ("insight", DiscoveryType::Insight, "Something to know"),
    ])
}

impl Discover {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let discovery = NewDiscovery {
            content: self.content.text()?.unwrap_or_default(),
            kind: self.kind,
            affects_tasks: self.affects_tasks,
            promote_to_core: self.promote_to_core,
            trust: self.trust.said(),
        };
        let id = board.record_discovery(discovery).await?;
        session.output.answer(&json_object! { id }, || id.to_string())
    }
}

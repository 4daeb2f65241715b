use clap::Args;
use corkboard::{CoreSummary, Corkboard};
use serde_json::Value;

use crate::command_session::{PAGE, Session, all_pages};
use crate::error::CliError;
use crate::output::{Fit, Rest, bytes, one_line, table};
use crate::page::PageArguments;

/// List the memory cores in the store
///
/// agent:NAME is the long-term memory of agent NAME.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core list
  cork core list --json | jq -r '.items[].core'")]
pub(crate) struct List {
    #[command(flatten)]
    page: PageArguments,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let cores = every_core(&session.corkboard).await?;
        let cores = self.page.of(cores, |core| core.id.to_string())?;
        session.output.list(&cores, || match cores.items.is_empty() {
            true => "no memory cores yet; create one with `cork core add CORE TEXT`".into(),
            false => listing(&cores.items),
        })
    }
}

pub(crate) async fn every_core(corkboard: &Corkboard) -> Result<Vec<CoreSummary>, CliError> {
    all_pages(async |last: Option<&CoreSummary>| corkboard.cores(last.map(|last| &last.id), PAGE).await).await
}

fn listing(cores: &[CoreSummary]) -> String {
    let rows = cores.iter().map(|core| {
        let number = |name: &str| core.summary.get(name).and_then(Value::as_u64).unwrap_or_default();
        [
            one_line(core.id.as_str()),
            number("entries").to_string(),
            number("forgotten").to_string(),
            bytes(number("bytes")),
        ]
    });
    table([("CORE", Rest), ("ENTRIES", Fit), ("FORGOTTEN", Fit), ("SIZE", Fit)], rows)
}

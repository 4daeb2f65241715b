use clap::Args;
use corkboard::cores::CoreEntryId;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::core_args::{CoreArgument, CoreEntryConditions};
use crate::error::CliError;
use crate::output::{count, json_object, one_line};

/// Hide an entry of a core, or erase it with --hard
///
/// Unlike the other `forget` commands, this one erases nothing without --hard. A hidden entry is neither listed nor found until it is restored or added again. Its text stays in the core and its log.
/// With --hard, the entry is erased from the core, the log, the snapshot and the store's files, and cannot be restored. That
/// cannot reach copies: exports, backups, and a database's own log and replicas.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core forget house-rules E-1
  cork core forget house-rules E-1 --reason 'now on Fridays' --if-version 3
  cork core forget house-rules E-1 --hard")]
pub(crate) struct Forget {
    #[command(flatten)]
    core: CoreArgument,

    /// Entry ID, such as E-1
    entry: CoreEntryId,

    /// Why; recorded with the entry
    #[arg(long, value_name = "TEXT", conflicts_with = "hard")]
    reason: Option<String>,

    /// Erase it permanently, including history; asks before it erases, unless --yes
    #[arg(long)]
    hard: bool,

    /// With --hard: do not ask for confirmation
    #[arg(long, short, requires = "hard")]
    yes: bool,

    #[command(flatten)]
    conditions: CoreEntryConditions,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?;
        if self.hard {
            let (id, name) = (self.entry, one_line(core.id().as_str()));
            confirm(Consent::from_flag(self.yes), &format!("erase all texts that {id} of core {name} ever had"))?;
            let forgotten = core.forget(id, None).hard().await?;
            return session.output.answer(&forgotten, || {
                let revisions = count(forgotten.revisions, "log revision", "log revisions");
                match (forgotten.removed, forgotten.revisions) {
                    (0, 0) => format!("nothing to erase: {id} was already forgotten"),
                    _ => format!("erased {id}; rewrote {revisions}"),
                }
            });
        }
        let core = core.conditions(&self.conditions);
        let (id, version) = (self.entry, core.forget(self.entry, self.reason.as_deref()).await?);
        session.output.answer(&json_object! { id, version }, || format!("{id} is forgotten"))
    }
}

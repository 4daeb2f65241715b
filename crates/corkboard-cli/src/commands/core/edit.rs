use clap::{ArgGroup, Args};
use corkboard::MemoryKind;
use corkboard::cores::{CoreEdit, CoreEntryId, Expiry, Trust};
use jiff::Timestamp;

use crate::command_session::Session;
use crate::core_args::{CoreArgument, CoreEntryConditions};
use crate::error::CliError;
use crate::output::json_object;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{memory_kind, moment_argument, trust};

/// Change an entry of a core
///
/// The entry records who edited its text. Its trust level does not rise unless you set --trust.
#[derive(Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true), after_help = "\
Examples:
  cork core edit house-rules E-1 --content 'Deployments go out on Fridays' --if-version 3
  cork core edit house-rules E-1 --importance 0.9 --tag release --tag ops
  cork core edit house-rules E-4 --trust own    # you checked it")]
pub(crate) struct Edit {
    #[command(flatten)]
    core: CoreArgument,

    /// Entry ID, such as E-1
    entry: CoreEntryId,

    /// New text; - reads stdin
    #[arg(long, value_name = "TEXT", group = "change", allow_hyphen_values = true)]
    content: Option<String>,

    /// Kind of memory
    #[arg(long, value_name = "KIND", group = "change", value_parser = memory_kind())]
    kind: Option<MemoryKind>,

    /// Importance from 0 (trivial) to 1 (vital)
    #[arg(long, value_name = "NUMBER", group = "change")]
    importance: Option<f32>,

    /// Tag; replaces the current tags; repeatable
    #[arg(long = "tag", value_name = "TAG", group = "change", conflicts_with = "no_tags")]
    tags: Option<Vec<String>>,

    /// Remove all tags
    #[arg(long, group = "change")]
    no_tags: bool,

    /// Trust level
    #[arg(long, value_name = "TRUST", group = "change", value_parser = trust())]
    trust: Option<Trust>,

    /// Expire at this time, such as 2030-12-31T23:59:59Z, or after a duration such as 30d
    #[arg(long, value_name = "WHEN", value_parser = moment_argument, group = "change", conflicts_with = "never_expires")]
    expires_at: Option<Timestamp>,

    /// Remove the expiry
    #[arg(long, group = "change")]
    never_expires: bool,

    #[command(flatten)]
    conditions: CoreEntryConditions,
}

impl Edit {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?.conditions(&self.conditions);
        let tags = if self.no_tags { Some(Vec::new()) } else { self.tags };
        let edit = CoreEdit {
            content: self.content.map(text_or_stdin).transpose()?.map(Into::into),
            kind: self.kind,
            importance: self.importance,
            tags: tags.map(|tags| tags.into_iter().map(Into::into).collect()),
            expiry: self.expires_at.map(Expiry::At).or(self.never_expires.then_some(Expiry::Never)),
            trust: self.trust,
        };
        let (id, version) = (self.entry, core.edit(self.entry, edit).await?);
        session.output.answer(&json_object! { id, version }, || format!("{id} is at version {version}"))
    }
}

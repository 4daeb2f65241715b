use clap::Args;
use corkboard::MemoryKind;
use corkboard::boards::{LearningChanges, LearningId};
use corkboard::cores::Trust;

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::one_line;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{memory_kind, trust};

/// Add a learning to a memory core
///
/// Prints the core and the entry. The entry records the author, who promoted it, the board and the trust level. Promoting a
/// learning twice has no further effect. A refused learning cannot be promoted, and agents cannot promote their own words.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn promote D-1
  cork learn promote D-1 --core house-rules --importance 0.9 --tag security
  cork learn promote F-2 --content 'Ten requests a second are allowed' --trust own
  cork learn promote sequence:design.implement.test --core house-rules")]
pub(crate) struct Promote {
    /// Learning ID, as shown by `cork learn list`
    learning: LearningId,

    /// Target core [default: the suggested one]
    #[arg(long, value_name = "NAME")]
    core: Option<String>,

    /// Different wording for the entry; - reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,

    /// Kind of memory [default: fact or insight, depending on the source]
    #[arg(long, value_name = "KIND", value_parser = memory_kind())]
    kind: Option<MemoryKind>,

    /// Importance from 0 (trivial) to 1 (vital) [default: derived from the score]
    #[arg(long, value_name = "NUMBER")]
    importance: Option<f32>,

    /// Tag; replaces the learning's tags; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    tags: Option<Vec<String>>,

    /// Trust level [default: that of the source]
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Promote {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let changes = LearningChanges {
            content: self.content.map(text_or_stdin).transpose()?,
            kind: self.kind,
            importance: self.importance,
            tags: self.tags,
            trust: self.trust,
        };
        let mut promote = board.promote_learning(self.learning).changes(changes);
        if let Some(core) = self.core {
            promote = promote.core(core);
        }
        let promoted = promote.await?;
        session.output.answer(&promoted, || {
            let core = one_line(promoted.core.as_str());
            format!("{} is in {core}: {}", promoted.learning, promoted.entry)
        })
    }
}

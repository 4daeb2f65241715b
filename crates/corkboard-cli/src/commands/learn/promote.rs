use clap::Args;
use corkboard::MemoryKind;
use corkboard::boards::{LearningChanges, LearningId};
use corkboard::cores::Trust;

use crate::board_args::BoardConditions;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::one_line;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{memory_kind, trust};

/// Keep a learning in a memory core
///
/// Prints the core and the entry. It goes in with who said it, who promoted it, the board and how far it may be trusted;
/// promoting it again changes nothing. What was refused stays refused, and no agent promotes its own words.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn promote D-1
  cork learn promote D-1 --core house-rules --importance 0.9 --tag security
  cork learn promote F-2 --content 'Ten requests a second are allowed' --trust own
  cork learn promote sequence:design.implement.test --core house-rules")]
pub(crate) struct Promote {
    /// Which, as `cork learn list` names it
    learning: LearningId,

    /// Into which core [default: the one that is suggested]
    #[arg(long, value_name = "NAME")]
    core: Option<String>,

    /// Say it in other words; - reads stdin
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,

    /// What kind of memory it is [default: a fact or an insight, by what it was made of]
    #[arg(long, value_name = "KIND", value_parser = memory_kind())]
    kind: Option<MemoryKind>,

    /// From 0 (trivial) to 1 (vital) [default: by its score]
    #[arg(long, value_name = "NUMBER")]
    importance: Option<f32>,

    /// A tag, in place of those it has; may be given many times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Option<Vec<String>>,

    /// How far it may be trusted [default: as far as what it was made of]
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    #[command(flatten)]
    conditions: BoardConditions,
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

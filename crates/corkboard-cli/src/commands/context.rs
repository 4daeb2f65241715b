//! `cork context`: an agent's memory as a prompt.

use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::boards::TaskId;
use corkboard::context::{LeftOut, OmissionReason, SectionReport, Strategy, SummaryReport};
use corkboard::{Composition, ContextRequest};
use serde::Serialize;

use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::output::{Fit, Rest, one_line, shown, table};
use crate::value_parsers::one_of;

/// Compose a prompt section from an agent's memory, within a token budget
///
/// With --board or CORK_BOARD, the prompt also has the board's goal, constraints and the agent's nudges. The board's log
/// then records that the agent received these nudges. With --principal NAME, it records NAME as the receiver instead. Text
/// that rarely changes comes first, so that the provider's prompt cache stays valid. Tokens are counted with OpenAI's
/// o200k_base, which is an estimate for other vendors' models.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork context
  cork context --budget 2000 --query 'deploy to staging'
  cork context --conversation chat-1 --sections
  cork --board add-login-1a2b3c4d context --task T-1
  cork --board add-login-1a2b3c4d context --agent ada --role worker    # also nudges to all
  cork --json context --strategy compact")]
pub(crate) struct Context {
    /// Maximum number of tokens [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Include the scratchpad of this conversation
    #[arg(long, value_name = "ID", env = "CORK_CONVERSATION", hide_env_values = true)]
    conversation: Option<String>,

    /// Include the context of this task of the board
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,

    /// Include the best search results for this text
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,

    /// How to shrink a prompt that does not fit
    #[arg(long, value_name = "STRATEGY", default_value = "trim", value_parser = strategy())]
    strategy: Strategy,

    /// Show what each section uses and leaves out, instead of the prompt. ALLOWED is the most that a section may use; a
    /// section may use what others leave, so the sum is more than the budget
    #[arg(long)]
    sections: bool,
}

fn strategy() -> impl TypedValueParser<Value = Strategy> {
    one_of([
        ("trim", Strategy::Trim, "Shorten long texts; leave out the least important and oldest ones"),
        ("compact", Strategy::Compact, "First merge duplicates and shorten old notes, then trim"),
        #[cfg(feature = "model")]
        ("summarize", Strategy::Summarize, "Also let a model (CORK_MODEL) summarize what is left out"),
    ])
}

impl Context {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let mut request = ContextRequest::new().strategy(self.strategy);
        request.budget = self.budget;
        // An empty variable counts as not set.
        request.conversation = self.conversation.filter(|id| !id.is_empty());
        request.board = match self.task {
            Some(_) => Some(session.open_board()?.id().to_string()),
            None => session.board_id.clone(),
        };
        request.task = self.task;
        request.query = self.query;
        #[allow(unused_mut, reason = "without the feature `model` nothing is added")]
        let mut composer = session.agent.acting_as(session.reader.clone()).context_window();
        #[cfg(feature = "model")]
        if request.strategy == Strategy::Summarize {
            use corkboard::{context::Summarizer, model::ModelConfig};
            let model = ModelConfig::from_env().and_then(ModelConfig::build)?;
            composer = composer.summarizer(&Summarizer::new(model));
        }
        // With --sections the reader sees no text, so nothing is recorded as delivered.
        let window = match self.sections {
            true => composer.preview(request).await?,
            false => composer.compose(request).await?,
        };
        if let Some(why) = window.summary.as_ref().and_then(|summary| summary.problem.as_deref()) {
            say(&format!("warning: not summarized: {}", one_line(why)));
        }
        match (session.output.is_json(), self.sections) {
            (true, true) => session.output.document(&Reported::from(&window)),
            (true, false) => session.output.document(&window),
            (false, true) => session.output.line(&sections(&window)),
            (false, false) => session.output.raw(shown(&window.text).as_bytes()),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Reported<'a> {
    tokens: u64,
    budget: u64,
    rev: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    board_rev: Option<u64>,
    sections: &'a [SectionReport],
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a SummaryReport>,
}

impl<'a> From<&'a Composition> for Reported<'a> {
    fn from(window: &'a Composition) -> Self {
        let Composition { text: _, tokens, budget, rev, board_rev, sections, summary } = window;
        let (tokens, budget, rev, board_rev) = (*tokens, *budget, *rev, *board_rev);
        Self { tokens, budget, rev, board_rev, sections, summary: summary.as_ref() }
    }
}

pub(super) fn sections(window: &Composition) -> String {
    let total = format!("{} of {} tokens", window.tokens, window.budget);
    if window.sections.is_empty() {
        return total;
    }
    let rows = window.sections.iter().map(|section| {
        let SectionReport { name, tokens, allowed, items, left_out } = section;
        let reasons: Vec<String> = left_out.iter().map(reason).collect();
        [name.to_string(), items.to_string(), tokens.to_string(), allowed.to_string(), one_line(&reasons.join("; "))]
    });
    let header = [("SECTION", Fit), ("ITEMS", Fit), ("TOKENS", Fit), ("ALLOWED", Fit), ("LEFT OUT", Rest)];
    format!("{}\n{total}", table(header, rows))
}

/// For example, "3 did not fit: a, b, c".
fn reason(left_out: &LeftOut) -> String {
    let LeftOut { reason, count, first } = left_out;
    let reason = match reason {
        OmissionReason::Cut => "shortened",
        OmissionReason::NoRoom => "did not fit",
        OmissionReason::AlreadyShown => "already shown",
        OmissionReason::Merged => "merged",
        _ => "left out for another reason",
    };
    let more = if *count > first.len() as u64 { ", …" } else { "" };
    format!("{count} {reason}: {}{more}", first.join(", "))
}

//! `cork context`: what to tell a model of an agent's memory.

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

/// Compose a prompt from what an agent remembers, within a budget of tokens
///
/// With --board or CORK_BOARD, the board's goal and constraints too, and what nudges say to the agent: it is the agent who
/// reads, and the board's log says that they reached it. With --principal, whoever that names reads instead. What seldom changes
/// comes first, so that a provider's prompt cache keeps hitting. Tokens are those of OpenAI's o200k_base; for other vendors'
/// models the count is an estimate.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork context
  cork context --budget 2000 --query 'deploy to staging'
  cork context --conversation chat-1 --sections
  cork --board add-login-1a2b3c4d context --task T-1
  cork --board add-login-1a2b3c4d context --agent ada --role worker
  cork --json context --strategy compact")]
pub(crate) struct Context {
    /// How many tokens it may have [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Show the scratchpad of this conversation too
    #[arg(long, value_name = "ID", env = "CORK_CONVERSATION", hide_env_values = true)]
    conversation: Option<String>,

    /// Show what concerns this task of the board that --board or CORK_BOARD names
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,

    /// Add what is found for this and not shown otherwise
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,

    /// What is done about want of room
    #[arg(long, value_name = "STRATEGY", default_value = "trim", value_parser = strategy())]
    strategy: Strategy,

    /// Show what each section uses and leaves out instead of the text
    #[arg(long)]
    sections: bool,
}

fn strategy() -> impl TypedValueParser<Value = Strategy> {
    one_of([
        ("trim", Strategy::Trim, "Cut what is long, leave out the least important and the oldest"),
        ("compact", Strategy::Compact, "Before that, merge what says the same and shorten old notes"),
        #[cfg(feature = "model")]
        ("summarize", Strategy::Summarize, "After that, let a model (CORK_MODEL) say in a few words what is left out"),
    ])
}

impl Context {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let mut request = ContextRequest::new().strategy(self.strategy);
        request.budget = self.budget;
        // A variable that is set to nothing is not set.
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
        // Whoever sees none of the text has not read it.
        let window = match self.sections {
            true => composer.preview(request).await?,
            false => composer.compose(request).await?,
        };
        if let Some(why) = window.summary.as_ref().and_then(|summary| summary.failed.as_deref()) {
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

/// "3 for want of room: a, b, c".
fn reason(left_out: &LeftOut) -> String {
    let LeftOut { why, count, first } = left_out;
    let why = match why {
        OmissionReason::Cut => "cut",
        OmissionReason::NoRoom => "for want of room",
        OmissionReason::AlreadyShown => "shown already",
        OmissionReason::Merged => "merged",
        _ => "for another reason",
    };
    let more = if *count > first.len() as u64 { ", …" } else { "" };
    format!("{count} {why}: {}{more}", first.join(", "))
}

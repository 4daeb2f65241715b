//! How `cork learn extract` and `cork learn list` show learnings.

use clap::Args;
use corkboard::boards::{LearningCandidate, LearningStatus};
use corkboard::cores::Trust;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, clip, count, one_line, table};
use crate::page::Page;

const SHOWN_LINES: usize = 6;
const SHOWN_CHARACTERS: usize = 300;
const SHOWN_NAME: usize = 24;

/// Which learnings are listed.
#[derive(Args)]
pub(super) struct LearningFilter {
    /// Include promoted, refused and rolled-back learnings (JSON always has them)
    #[arg(long)]
    all: bool,
}

impl LearningFilter {
    pub(super) fn tell(&self, session: &Session, learnings: &[LearningCandidate]) -> Result<(), CliError> {
        session.output.list(&Page::whole(learnings.iter().collect()), || self.text(learnings))
    }

    fn text(&self, learnings: &[LearningCandidate]) -> String {
        let shown: Vec<&LearningCandidate> =
            learnings.iter().filter(|learning| self.all || !is_decided(&learning.status)).collect();
        let decided = (learnings.len() - shown.len()) as u64;
        let mut parts = vec![match (shown.is_empty(), decided) {
            (false, _) => listing(&shown),
            (true, 0) => NOTHING.into(),
            (true, _) => "no open learnings".into(),
        }];
        let is_doubtful =
            |learning: &&&LearningCandidate| learning.trust == Trust::Outside && !is_decided(&learning.status);
        let outside = shown.iter().filter(is_doubtful).count() as u64;
        if outside > 0 {
            let came = count(outside, "learning", "learnings");
            parts.push(format!("{came} from outside: check carefully before you promote text from untrusted sources"));
        }
        if decided > 0 {
            let more = count(decided, "learning is", "learnings are");
            parts.push(format!("{more} already decided; --all shows them"));
        }
        parts.join("\n")
    }
}

const NOTHING: &str = "\
no learnings yet. Learnings come from decisions with a rationale, insights, discoveries that name a core, tasks that were
sent back or failed before they were completed, and patterns among completed tasks";

/// Whether a learning was decided on and the decision was carried out.
fn is_decided(status: &LearningStatus) -> bool {
    match status {
        LearningStatus::Promoted { .. } | LearningStatus::Refused { .. } | LearningStatus::RolledBack { .. } => true,
        LearningStatus::Open | LearningStatus::Begun(_) | LearningStatus::RollingBack(_) => false,
    }
}

/// A line for each learning, followed by its text.
fn listing(learnings: &[&LearningCandidate]) -> String {
    let rows = learnings.iter().map(|learning| {
        [
            learning.id.to_string(),
            format!("{:.2}", learning.score),
            learning.source.to_string(),
            status(&learning.status),
            name(core(learning)),
            name(&learning.created_by),
            learning.trust.to_string(),
        ]
    });
    let header = [
        ("LEARNING", Fit),
        ("SCORE", Fit),
        ("SOURCE", Fit),
        ("STATUS", Fit),
        ("CORE", Fit),
        ("AUTHOR", Fit),
        ("TRUST", Fit),
    ];
    let table = table(header, rows);
    let mut rows = table.lines().map(str::to_owned);
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (row, learning) in rows.zip(learnings) {
        lines.push(row);
        lines.extend(text(learning));
    }
    lines.join("\n")
}

fn name(name: &str) -> String {
    one_line(&clip(name, SHOWN_NAME))
}

fn status(status: &LearningStatus) -> String {
    match status {
        LearningStatus::Promoted { entry, .. } => format!("promoted: {entry}"),
        other => other.as_str().replace('_', " "),
    }
}

/// The core that it is in or moves to, or else the suggested one.
fn core(learning: &LearningCandidate) -> &str {
    match &learning.status {
        LearningStatus::Promoted { core, .. } => core.as_str(),
        LearningStatus::Begun(promotion) => promotion.core.as_str(),
        LearningStatus::RollingBack(roll_back) => roll_back.core.as_str(),
        LearningStatus::Open | LearningStatus::Refused { .. } | LearningStatus::RolledBack { .. } => {
            learning.suggested_core.as_deref().unwrap_or("-")
        }
    }
}

/// The text. If it comes from outside, every line is marked `[outside]`, as in a prompt.
fn text(learning: &LearningCandidate) -> Vec<String> {
    let mark = learning.trust.mark();
    let all: Vec<&str> = learning.content.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = all.iter().take(SHOWN_LINES).map(|line| one_line(&clip(line.trim_end(), SHOWN_CHARACTERS)));
    let mut lines: Vec<String> = shown.map(|line| format!("  {mark}{line}")).collect();
    if all.len() > SHOWN_LINES {
        lines.push(format!("  … and {}", count((all.len() - SHOWN_LINES) as u64, "more line", "more lines")));
    }
    lines
}

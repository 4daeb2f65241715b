use clap::Args;
use corkboard::boards::{ApprovalVerdict, Artifact, BoardInfo, BoardState, BoardStatus, Choice, Decision};
use corkboard::cores::Trust;
use corkboard::{BoardView, FORGOTTEN};
use jiff::Timestamp;

use crate::board_args::{BoardArgument, RevisionArgument};
use crate::board_view::{ids, progress, references, task_table, written};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, bytes, clip, count, fields, one_line, paragraph, table_unless_empty, time};

const SHOWN_TASKS: usize = 50;
const SHOWN_TEXT: usize = 2000;

/// Show a board: goal, tasks, decisions, discoveries, artifacts and contributors
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board show
  cork board show --at 12    # as it was at revision 12
  cork board show add-login-1a2b3c4d --json")]
pub(crate) struct Show {
    #[command(flatten)]
    board: BoardArgument,

    #[command(flatten)]
    moment: RevisionArgument,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&self.board.open(session)?).await?;
        let info = view.info()?;
        if session.output.is_json() {
            return session.output.document(&view.document()?);
        }
        let mut parts = vec![head(&view, info)];
        parts.extend(tasks(view.state()));
        parts.extend(choices(view.state()));
        parts.extend(decisions(view.state()));
        parts.extend(approvals(view.state()));
        parts.extend(to_approve(&view));
        parts.extend(discoveries(view.state()));
        parts.extend(artifacts(view.state()));
        parts.extend(contributions(view.state()));
        session.output.line(&parts.join("\n\n"))
    }
}

fn head(view: &BoardView, info: &BoardInfo) -> String {
    let mut rows = vec![("board", one_line(view.id().as_str())), ("name", one_line(&info.name))];
    // A forgotten name and goal read alike.
    if info.goal != info.name || info.goal == FORGOTTEN {
        rows.push(("goal", one_line(&info.goal)));
    }
    let outcome = info.outcome.map_or_else(String::new, |outcome| format!("; outcome: {outcome}"));
    let reason = info.reason.as_deref().map_or_else(String::new, |reason| format!(" ({})", one_line(reason)));
    rows.push(("status", format!("{}{outcome}{reason}", info.status)));
    if let Some(pause) = &info.paused {
        let reason = pause.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
        rows.push(("paused", format!("by {} since {}{reason}", one_line(&pause.by), time(pause.at))));
        rows.push(("", "no task can be claimed until it is resumed (`cork board resume`)".into()));
    }
    rows.extend(lifetime(info, view.at()));
    rows.push(("progress", progress(view.state())));
    rows.extend(info.constraints.iter().map(|constraint| ("constraint", one_line(constraint))));
    if !info.cores.is_empty() {
        rows.push(("cores", one_line(&info.cores.join(", "))));
    }
    if !info.drawn.is_empty() {
        rows.push(("drawn", references(&info.drawn)));
    }
    if let Some(pattern) = &info.pattern {
        rows.push(("pattern", one_line(&pattern.to_string())));
    }
    if let Some(lease) = view.state().orchestrator() {
        rows.push(("run by", format!("{} until {}", one_line(lease.holder.as_str()), time(lease.deadline))));
    }
    if let Some(from) = &info.forked_from {
        rows.push(("forked from", format!("{} at revision {}", one_line(&from.board), from.rev)));
    }
    rows.push(("created", format!("{} by {}", time(info.created_at), one_line(&info.created_by))));
    rows.push(("revision", view.rev().to_string()));
    fields(&rows)
}

fn lifetime(info: &BoardInfo, now: Timestamp) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(at) = info.archived_at {
        let until = info.retain_until.filter(|until| *until > now);
        let kept = until.map_or_else(String::new, |until| format!(", kept until at least {}", time(until)));
        rows.push(("archived", format!("{}{kept}", time(at))));
    }
    if let Some(extraction) = &info.learnings_extracted {
        let (found, by) = (count(extraction.candidates, "learning", "learnings"), one_line(&extraction.by));
        rows.push(("extracted", format!("{found} by {by} at {}", time(extraction.at))));
    }
    if let Some(waiver) = &info.waived {
        let reason = waiver.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
        rows.push(("discarded", format!("by {} at {}{reason}", one_line(&waiver.by), time(waiver.at))));
    }
    rows
}

fn tasks(state: &BoardState) -> Option<String> {
    let total = state.task_count();
    if total == 0 {
        return None;
    }
    let mut text = task_table(state, state.tasks().take(SHOWN_TASKS));
    if total > SHOWN_TASKS {
        text += &format!("\n… and {} more: `cork task list` shows all", total - SHOWN_TASKS);
    }
    Some(text)
}

pub(crate) fn choices(state: &BoardState) -> Option<String> {
    let rows = state.choices().map(|choice| choice_row(choice));
    let header = [("CHOICE", Fit), ("QUESTION", Rest), ("OPTIONS", Percent(30)), ("CHOSEN", Percent(25))];
    table_unless_empty(header, rows)
}

fn choice_row(choice: &Choice) -> [String; 4] {
    let branches = choice.options.iter().map(|option| format!("{}: {}", option.name, ids(&option.tasks)));
    let chosen = choice.chosen.as_deref().map_or_else(
        || "open".to_owned(),
        |chosen| match choice.chosen_by.as_deref() {
            Some(by) => format!("{chosen} (by {by})"),
            None => chosen.to_owned(),
        },
    );
    let branches = branches.collect::<Vec<_>>().join("; ");
    [choice.id.to_string(), one_line(&choice.question), one_line(&branches), one_line(&chosen)]
}

fn decisions(state: &BoardState) -> Option<String> {
    let rows = state.decisions().map(|decision| decision_row(decision));
    let header =
        [("DECISION", Fit), ("QUESTION", Rest), ("ANSWER", Percent(25)), ("BECAUSE", Percent(30)), ("BY", Percent(12))];
    table_unless_empty(header, rows)
}

fn decision_row(decision: &Decision) -> [String; 5] {
    let because = match (decision.superseded_by, decision.verdict) {
        (Some(by), _) => format!("superseded by {by}"),
        (None, Some(ApprovalVerdict::Rejected)) => "rejected".into(),
        (None, _) if decision.is_undecided() => "not approved yet".into(),
        (None, _) => one_line(&decision.rationale),
    };
    let (question, choice) = (marked(decision.trust, &decision.question), one_line(&decision.choice));
    [decision.id.to_string(), question, choice, because, one_line(&decision.created_by)]
}

fn approvals(state: &BoardState) -> Option<String> {
    let rows = state.approvals().map(|approval| {
        let comment = approval.comment.as_deref().map_or_else(String::new, one_line);
        let verdict = approval.verdict.to_string();
        [approval.id.to_string(), approval.decision.to_string(), verdict, one_line(&approval.created_by), comment]
    });
    let header = [("APPROVAL", Fit), ("OF", Fit), ("VERDICT", Fit), ("BY", Percent(20)), ("COMMENT", Rest)];
    table_unless_empty(header, rows)
}

/// Decisions that wait for approval, in full, and how to approve or reject them.
fn to_approve(view: &BoardView) -> Option<String> {
    let is_active = view.info().is_ok_and(|info| info.status == BoardStatus::Active);
    let waiting = view.state().decisions().filter(|decision| is_active && decision.is_undecided());
    let mut lines: Vec<String> = Vec::new();
    for decision in waiting {
        let Decision { id, question, choice, alternatives, rationale, affects_tasks, created_by, trust, .. } =
            &**decision;
        let board = one_line(view.id().as_str());
        let (by, tasks) = (one_line(created_by), ids(affects_tasks));
        let wait = if affects_tasks.len() == 1 { "waits" } else { "wait" };
        lines.push(format!("{id} by {by} waits for approval; {tasks} {wait} for {id}"));
        let before = format!("  {}", trust.mark());
        let colon = if question.trim_end().ends_with(['?', ':']) { "" } else { ":" };
        lines.extend(paragraph(&before, &clip(&format!("{question}{colon} {choice}"), SHOWN_TEXT)));
        if !alternatives.is_empty() {
            lines.extend(paragraph(&before, &clip(&format!("instead of: {}", alternatives.join("; ")), SHOWN_TEXT)));
        }
        let because = match rationale.trim().is_empty() {
            true => "no reason was given".to_owned(),
            false => format!("because: {}", clip(rationale, SHOWN_TEXT)),
        };
        lines.extend(paragraph(&before, &because));
        lines.push(format!("  cork --board {board} approve {id}   accept it"));
        lines.push(format!("  cork --board {board} reject {id}    continue without it"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Marks text from outside as `[outside]`, as prompts do.
fn marked(trust: Trust, text: &str) -> String {
    format!("{}{}", trust.mark(), one_line(text)).trim_end().to_owned()
}

fn discoveries(state: &BoardState) -> Option<String> {
    let rows = state.discoveries().map(|found| {
        let affects = ids(&found.affects_tasks);
        let what = marked(found.trust, &found.content);
        [found.id.to_string(), written(&found.kind), what, affects, one_line(&found.created_by)]
    });
    let header = [("FOUND", Fit), ("TYPE", Fit), ("WHAT", Rest), ("AFFECTS", Percent(20)), ("BY", Percent(12))];
    table_unless_empty(header, rows)
}

pub(super) fn newest_artifacts(state: &BoardState) -> impl Iterator<Item = &Artifact> {
    let artifacts = state.artifacts().map(|made| &**made);
    artifacts.filter(|made| state.artifact_at(&made.path).is_some_and(|last| last.id == made.id))
}

pub(super) fn artifacts(state: &BoardState) -> Option<String> {
    let rows = newest_artifacts(state).map(|made| {
        [
            made.id.to_string(),
            one_line(&made.path),
            made.version.to_string(),
            made.size.map_or_else(String::new, bytes),
            marked(made.trust, &made.description),
            made.task.map_or_else(String::new, |task| task.to_string()),
        ]
    });
    let header = [("MADE", Fit), ("PATH", Percent(35)), ("VERSION", Fit), ("SIZE", Fit), ("WHAT", Rest), ("TASK", Fit)];
    table_unless_empty(header, rows)
}

fn contributions(state: &BoardState) -> Option<String> {
    let rows = state.contributions().map(|by| {
        [
            one_line(&by.agent),
            by.role.as_str().to_owned(),
            by.tasks_completed.len().to_string(),
            by.decisions_made.len().to_string(),
            by.discoveries.len().to_string(),
            by.artifacts_created.len().to_string(),
        ]
    });
    let header =
        [("WHO", Rest), ("ROLE", Fit), ("TASKS", Fit), ("DECISIONS", Fit), ("DISCOVERIES", Fit), ("ARTIFACTS", Fit)];
    table_unless_empty(header, rows)
}

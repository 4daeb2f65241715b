//! The sections of a board: its goal and constraints, and everything that concerns a task.

use super::board::{BoardLine, BoardLines, TaskLines};
use super::compose::{Composed, PREAMBLE, assemble};
use super::item::{self, Body, Rendered};
use super::part::PartSequence;
use super::section::Section;
use super::shares::Shares;
use super::{SectionName, cores, tokens};

/// Composes a task's context within a budget. Nothing here waits, reads a clock or uses random numbers.
pub(super) fn compose(lines: &BoardLines<'_>, budget: u64) -> Composed {
    let shares = Shares::of(budget);
    let mut parts = PartSequence::new(tokens::count(PREAMBLE), shares.item());
    parts.push(u64::MAX, shares.reach(SectionName::Goal), |room, _, _| vec![goal(lines, room)]);
    parts.push(u64::MAX, shares.reach(SectionName::Constraints), |room, item, _| {
        vec![list(SectionName::Constraints, &lines.constraints, room, item)]
    });
    parts.push(u64::MAX, shares.reach(SectionName::Cores), |room, item, shown| {
        vec![cores::section(&lines.cores, room, item, shown)]
    });
    let used = parts.used;
    let mut sections = parts.into_sections();
    if let Some(task) = &lines.task {
        sections.extend(task_sections(task, &lines.nudges, &shares, used, shares.item()));
    }
    assemble(sections, budget)
}

pub(super) fn goal(lines: &BoardLines<'_>, room: u64) -> Section {
    let mut section = Section::new(SectionName::Goal, room);
    if !lines.goal.trim().is_empty() {
        let rendered = item::block(Body::Text(lines.goal), section.left());
        section.push("the goal", rendered, 0);
    }
    section
}

/// The sections that concern a task, after `used` tokens. Room that a section leaves goes only to later sections, so a
/// change late in the text moves nothing above it.
pub(super) fn task_sections(
    lines: &TaskLines<'_>,
    nudges: &[BoardLine<'_>],
    shares: &Shares,
    mut used: u64,
    most: u64,
) -> Vec<Section> {
    let lists = [
        (SectionName::Decisions, &lines.decisions),
        (SectionName::Discoveries, &lines.discoveries),
        (SectionName::Results, &lines.results),
        (SectionName::Artifacts, &lines.artifacts),
    ];
    let mut sections = Vec::new();
    for (name, lines) in lists {
        let section = list(name, lines, shares.reach(name).saturating_sub(used), most);
        used += section.tokens();
        sections.push(section);
    }
    // Nudges come last in the text, but get their room before a long description of the task.
    let left = shares.reach(SectionName::Task).saturating_sub(used);
    let nudges = list(SectionName::Nudges, nudges, shares.section(SectionName::Nudges).most.min(left), most);
    sections.push(task(lines, left.saturating_sub(nudges.tokens()), most));
    sections.push(nudges);
    sections
}

/// Takes lines, the best first, as long as they fit, and shows them in the order of their numbers. If not all fit, the
/// last line says how many there are.
pub(super) fn list(name: SectionName, lines: &[BoardLine<'_>], room: u64, most: u64) -> Section {
    list_noting(name, lines, room, most, |_, _| {})
}

/// Like [`list`], and calls `shown` for every shown line.
pub(super) fn list_noting<'a>(
    name: SectionName,
    lines: &[BoardLine<'a>],
    room: u64,
    most: u64,
    mut shown: impl FnMut(BoardLine<'a>, &Rendered),
) -> Section {
    let mut section = Section::new(name, room);
    let (mut taken, mut tokens) = (Vec::new(), 0);
    for line in lines {
        match line.render(most) {
            Some(rendered) if tokens + rendered.tokens <= section.left() => {
                tokens += rendered.tokens;
                taken.push((*line, rendered));
            }
            _ => break,
        }
    }
    while taken.len() < lines.len()
        && let Some(mark) = shown_of(taken.len(), lines.len())
    {
        if tokens + mark.tokens <= section.left() {
            section.mark(mark);
            break;
        }
        let Some((_, last)) = taken.pop() else { break };
        tokens -= last.tokens;
    }
    let rest = lines.get(taken.len()..).unwrap_or_default();
    taken.sort_by_key(|(line, _)| line.number());
    for (line, rendered) in taken {
        shown(line, &rendered);
        section.push(line, Some(rendered), 0);
    }
    section.leave_out_rest(rest.len(), rest.iter());
    section
}

/// The line that says how many of all lines are shown.
fn shown_of(shown: usize, all: usize) -> Option<Rendered> {
    item::listed(&format!("[{shown} of {all} shown]"), Body::Text(""), u64::MAX)
}

/// The task itself: its title and description, then its state. A long description is cut to leave room for the state.
fn task(lines: &TaskLines<'_>, room: u64, most: u64) -> Section {
    let mut section = Section::new(SectionName::Task, room);
    let task = lines.task;
    let title = item::listed(&format!("{}: ", task.id), Body::Text(&task.title), most);
    section.push(task.id, title, 0);
    let mut state = Vec::new();
    let mut kept = 0;
    for line in &lines.state {
        let rendered = item::listed(line.label, line.body(), most);
        kept += rendered.as_ref().map_or(0, |rendered| rendered.tokens);
        state.push((line.label, rendered));
    }
    if !task.description.trim().is_empty() {
        let left = section.left().saturating_sub(kept);
        let description = item::listed("description: ", Body::Text(&task.description), left);
        section.push("the description", description, 0);
    }
    for (label, rendered) in state {
        section.push(label.trim_end_matches(": "), rendered, 0);
    }
    section
}

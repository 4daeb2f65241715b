//! Memory cores and their entries as text and as JSON.

use corkboard::cores::{CoreEntry, Provenance, Trust};
use corkboard::{Core, CoreId};

use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, clip, now, one_line, table, time};

/// The message for an empty core. Fails if a shared core was never created; an agent's own core always exists.
pub(crate) async fn emptiness(core: &Core) -> Result<Option<String>, CliError> {
    let stats = core.stats().await?;
    let id = core.id().as_str();
    let name = one_line(id);
    if stats.rev == 0 && !id.starts_with(CoreId::PRIVATE) {
        return Err(CliError::not_found(format!("core {name} not found"))
            .hint(format!("`cork core list` shows the cores; `cork core add {name} TEXT` creates this one")));
    }
    Ok((stats.entries + stats.forgotten == 0).then(|| format!("core {name} is empty")))
}

/// A text whose lines are marked if it comes from outside, as in a prompt.
pub(crate) fn marked(text: &str, trust: Trust) -> String {
    text.split('\n').map(|line| [trust.mark(), line].concat()).collect::<Vec<_>>().join("\n")
}

pub(crate) fn entry_table<'a>(entries: impl Iterator<Item = &'a CoreEntry>) -> String {
    const SHOWN: usize = 200;
    let now = now();
    let rows = entries.map(|entry| {
        let mark = if entry.forgotten.is_some() { " (forgotten)" } else { "" };
        [
            format!("{}{mark}", entry.id),
            clip(&one_line(&entry.content), SHOWN),
            entry.trust().to_string(),
            format!("{:.2}", entry.importance),
            one_line(&entry.tags.join(", ")),
            age(entry.updated_at, now),
        ]
    });
    let header = [
        ("ENTRY", Fit),
        ("CONTENT", Rest),
        ("TRUST", Fit),
        ("IMPORTANCE", Fit),
        ("TAGS", Percent(20)),
        ("UPDATED", Fit),
    ];
    table(header, rows)
}

pub(crate) fn origin(origin: &Provenance) -> String {
    let promoted = origin.promoted_by.as_ref().map(|by| format!(", promoted by {}", one_line(by)));
    let board = origin.board.as_ref().map(|board| format!(", on board {}", one_line(board.as_str())));
    let item = origin.item.as_ref().map(|item| format!(" ({})", one_line(item)));
    // The origin does not tell whether they edited the text or contributed to its source.
    let others = match origin.edited_by.as_slice() {
        [] => None,
        names => Some(format!(", with contributions by {}", one_line(&names.join(", ")))),
    };
    let rest: String = [promoted, board, item, others].into_iter().flatten().collect();
    format!("{} ({}), {}{rest}", one_line(&origin.author), origin.trust, time(origin.at))
}

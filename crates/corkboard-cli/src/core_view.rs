//! How memory cores and their entries are shown, as text and as JSON.

use corkboard::cores::{CoreEntry, Provenance, Trust};
use corkboard::{Core, CoreId};
use serde::Serialize;

use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, clip, now, one_line, table, time};

/// What to say where nothing is shown because the core holds nothing. A shared one that nobody made is not there; an
/// agent's own is, from the beginning.
pub(crate) async fn emptiness(core: &Core) -> Result<Option<String>, CliError> {
    let stats = core.stats().await?;
    let id = core.id().as_str();
    let name = one_line(id);
    if stats.rev == 0 && !id.starts_with(CoreId::PRIVATE) {
        return Err(CliError::not_found(format!("there is no core {name}"))
            .hint(format!("`cork core list` shows the cores there are, `cork core add {name} TEXT` makes this one")));
    }
    Ok((stats.entries + stats.forgotten == 0).then(|| format!("there is nothing in the core {name}")))
}

/// A text in which every line is marked that came from outside, as in a prompt.
pub(crate) fn marked(text: &str, trust: Trust) -> String {
    text.split('\n').map(|line| [trust.mark(), line].concat()).collect::<Vec<_>>().join("\n")
}

/// An entry as programs see it: what it holds, and what follows from where it came from.
#[derive(Serialize)]
pub(crate) struct CoreEntryDocument<'a> {
    #[serde(flatten)]
    entry: &'a CoreEntry,
    author: &'a str,
    trust: Trust,
}

impl<'a> From<&'a CoreEntry> for CoreEntryDocument<'a> {
    fn from(entry: &'a CoreEntry) -> Self {
        Self { entry, author: entry.author(), trust: entry.trust() }
    }
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
    let promoted = origin.promoted_by.as_ref().map(|by| format!(", brought in by {}", one_line(by)));
    let board = origin.board.as_ref().map(|board| format!(", on board {}", one_line(board.as_str())));
    let item = origin.item.as_ref().map(|item| format!(" ({})", one_line(item)));
    // They may have changed the text, or only said a part of what it was made of: the origin does not tell.
    let others = match origin.edited_by.as_slice() {
        [] => None,
        names => Some(format!(", with a part by {}", one_line(&names.join(", ")))),
    };
    let rest: String = [promoted, board, item, others].into_iter().flatten().collect();
    format!("{} ({}), {}{rest}", one_line(&origin.author), origin.trust, time(origin.at))
}

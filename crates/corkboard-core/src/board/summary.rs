//! A few facts about a board for lists, from which it also shows what may be purged, without reading the board.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;

use super::{BoardState, TaskStatus};

/// What a list shows of a board, as JSON; what decides over its life is a [`Lifetime`](super::Lifetime).
pub(super) fn summary(state: &BoardState, updated_at: Timestamp) -> String {
    let (Some(info), Some(lifetime)) = (state.info(), state.lifetime(Some(updated_at))) else { return "{}".into() };
    let (name, goal) = (beginning(&info.name), beginning(&info.goal));
    let lifetime = serde_json::to_string(&lifetime).unwrap_or_default();
    let lifetime = lifetime.trim_start_matches('{').trim_end_matches('}');
    let paused = if info.paused.is_some() { r#","paused":true"# } else { "" };
    let outcome = info.outcome.map_or_else(String::new, |outcome| format!(r#","outcome":"{outcome}""#));
    let counts: Vec<String> = TaskStatus::ALL
        .into_iter()
        .map(|status| (status, state.count(status)))
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!(r#""{status}":{count}"#))
        .collect();
    format!(
        r#"{{"name":{name},"goal":{goal},{lifetime}{outcome}{paused},"created_at":"{}","tasks":{},"by_status":{{{}}},"ready":{},"bytes":{}}}"#,
        info.created_at,
        state.nodes.len(),
        counts.join(","),
        state.ready().len(),
        state.bytes
    )
}

/// The beginning of a text as JSON, of at most a thousand bytes: a summary stays under 4 KiB whatever is written.
fn beginning(text: &str) -> String {
    const MOST: usize = 1000;
    // No character takes less than a byte.
    let end = text.char_indices().nth(MOST).map_or(text.len(), |(end, _)| end);
    let mut shown = text.get(..end).unwrap_or_default();
    loop {
        let is_whole = shown.len() == text.len();
        let json = if is_whole { serde_json::to_string(shown) } else { serde_json::to_string(&format!("{shown}…")) };
        let json = json.unwrap_or_else(|_| "\"\"".into());
        if json.len() <= MOST {
            return json;
        }
        // Each step takes a quarter away: a handful of them is enough even for a text of nothing but escapes.
        let fewer = shown.chars().count() * 3 / 4;
        shown = shown.char_indices().nth(fewer).and_then(|(end, _)| shown.get(..end)).unwrap_or_default();
    }
}

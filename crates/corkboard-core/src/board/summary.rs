//! The summary of a board, so that boards can be listed and purged without being read.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;

use super::{BoardState, TaskStatus};

/// The summary as JSON. It includes the fields of [`Lifetime`](super::Lifetime).
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

/// The beginning of a text as JSON, at most 1000 bytes, so that every summary stays under 4 KiB.
fn beginning(text: &str) -> String {
    const MOST: usize = 1000;
    // Every character takes at least one byte.
    let end = text.char_indices().nth(MOST).map_or(text.len(), |(end, _)| end);
    let mut shown = text.get(..end).unwrap_or_default();
    loop {
        let is_whole = shown.len() == text.len();
        let json = if is_whole { serde_json::to_string(shown) } else { serde_json::to_string(&format!("{shown}…")) };
        let json = json.unwrap_or_else(|_| "\"\"".into());
        if json.len() <= MOST {
            return json;
        }
        // Each step removes a quarter. A few steps suffice even for a text that consists of escapes.
        let fewer = shown.chars().count() * 3 / 4;
        shown = shown.char_indices().nth(fewer).and_then(|(end, _)| shown.get(..end)).unwrap_or_default();
    }
}

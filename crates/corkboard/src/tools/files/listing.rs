//! Lists a directory, two levels deep.

use std::collections::BTreeMap;

use super::path::{FilePath, check_name};

/// Maximum number of items in one answer.
const MOST_LISTED: usize = 1000;

/// An item's name, and whether it is a directory. A file and a directory can have the same name.
type Name<'a> = (&'a str, bool);

#[derive(Default)]
struct Item<'a> {
    bytes: u64,
    below: BTreeMap<Name<'a>, u64>,
}

/// Lists the files below a directory. `files` has each file's key below the directory, and its size.
///
/// Sizes have one decimal, as in the documentation's examples (`4.0K`); the SDKs omit a zero. A directory's size is the
/// sum of the files in it. Directories end in a slash, as in the SDKs; the documentation shows none.
pub(super) fn list<'a>(directory: &FilePath, files: impl Iterator<Item = (&'a str, u64)>) -> String {
    let mut total = 0;
    let mut items = BTreeMap::<Name<'a>, Item<'a>>::new();
    for (rest, bytes) in files {
        total += bytes;
        let (name, below) = split(rest);
        if is_hidden(name) {
            continue;
        }
        let item = items.entry((name, below.is_some())).or_default();
        item.bytes += bytes;
        if let Some((name, below)) = below.map(split).filter(|(name, _)| !is_hidden(name)) {
            *item.below.entry((name, below.is_some())).or_default() += bytes;
        }
    }
    let base = directory.base();
    let mut lines = vec![
        format!(
            "Here're the files and directories up to 2 levels deep in {base}, excluding hidden items and node_modules:"
        ),
        format!("{}\t{base}", size(total)),
    ];
    for ((name, is_directory), item) in &items {
        let path = format!("{base}/{name}{}", slash(*is_directory));
        lines.push(format!("{}\t{path}", size(item.bytes)));
        let below = item.below.iter();
        lines
            .extend(below.map(|((name, is_directory), bytes)| {
                format!("{}\t{path}{name}{}", size(*bytes), slash(*is_directory))
            }));
    }
    let more = lines.len().saturating_sub(2 + MOST_LISTED);
    if more > 0 {
        lines.truncate(2 + MOST_LISTED);
        let more = corkboard_core::count(more as u64, "more item is", "more items are");
        lines.push(format!("[{more} not shown. View a directory in {base} to see its files.]"));
    }
    lines.join("\n")
}

fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('/').map_or((path, None), |(name, below)| (name, Some(below)))
}

/// Names that begin with a dot, and names that no path can contain. An entry can have any key.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules" || check_name(name).is_err()
}

fn slash(is_directory: bool) -> &'static str {
    if is_directory { "/" } else { "" }
}

fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut size, mut unit) = (bytes as f64 / 1024.0, 'K');
    for next in ['M', 'G'] {
        // A size that would be shown as 1024.0 uses the next unit.
        if size < 1023.95 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    format!("{size:.1}{unit}")
}

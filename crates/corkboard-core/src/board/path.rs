//! Normalises the paths of artifacts, so that one file has one path.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The path without `.`, `..` and double slashes: `./a` and `x/../a` are `a`. Only the text is used, not the file
/// system. A URL is unchanged.
pub fn normal_path(path: &str) -> Cow<'_, str> {
    let (root, rest) = path.strip_prefix('/').map_or(("", path), |rest| ("/", rest));
    let is_normal = rest.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if is_normal || path.contains("://") {
        return path.into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            // Nothing lies above the root.
            ("..", _) if !root.is_empty() => {}
            (part, _) => parts.push(part),
        }
    }
    match [root, &parts.join("/")].concat() {
        path if path.is_empty() => ".".into(),
        path => String::into(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_file_are_equal() {
        for (given, normal) in [
            ("a", "a"),
            ("./a", "a"),
            ("x/../a", "a"),
            ("a/", "a"),
            ("x//./y/../a", "x/a"),
            ("../a", "../a"),
            ("x/../../a", "../a"),
            ("/srv/x/../a", "/srv/a"),
            ("/../a", "/a"),
            ("x/..", "."),
            ("/", "/"),
            (".a/..b", ".a/..b"),
            ("https://example.org/x/../a", "https://example.org/x/../a"),
            ("C:\\x\\..\\a", "C:\\x\\..\\a"),
        ] {
            assert_eq!(normal_path(given), normal, "{given}");
            assert_eq!(normal_path(normal), normal, "{given}");
        }
    }
}

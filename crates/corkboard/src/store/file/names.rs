//! Folder names of spaces: readable, and safe on every file system.

use std::path::PathBuf;

use corkboard_core::SpaceId;

/// A longer name is truncated, and ends with a hash of the full name. File systems allow 255 bytes.
const LONGEST: usize = 200;
/// How much of a truncated name remains.
const CUT: usize = 160;
/// Folder of spaces whose ID has no kind. No encoded kind looks like this.
const NO_KIND: &str = "%%";

/// Path of a space relative to the store's folder: its kind, then its name.
pub(super) fn folder(space: &SpaceId) -> PathBuf {
    let (kind, name) = match space.as_str().split_once('/') {
        Some((kind, name)) => (encode(kind), name),
        None => (NO_KIND.into(), space.as_str()),
    };
    [kind, encode(name)].iter().collect()
}

/// The meaning of a folder's name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FolderName {
    Space(SpaceId),
    /// A truncated name; the first line of the log has the full name.
    Cut,
    Other,
}

pub(super) fn space(kind: &str, name: &str) -> FolderName {
    if [kind, name].iter().any(|folder| folder.contains("%-")) {
        return FolderName::Cut;
    }
    let id = match (kind, decode(kind), decode(name)) {
        (NO_KIND, _, Some(name)) => SpaceId::from_stored(&name),
        (_, Some(kind), Some(name)) => SpaceId::from_stored(&format!("{kind}/{name}")),
        _ => return FolderName::Other,
    };
    // Accept only the canonical encoding, so that no two folders mean the same space.
    if folder(&id) == [kind, name].iter().collect::<PathBuf>() { FolderName::Space(id) } else { FolderName::Other }
}

/// Keeps letters, digits, `.`, `_` and `-`, and percent-encodes everything else. A dot at the beginning is encoded too,
/// because it would hide the folder or name a different one.
fn encode(text: &str) -> String {
    if text.is_empty() {
        return "%".into();
    }
    let mut encoded = String::with_capacity(text.len());
    let mut kept = 0;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'.' if index == 0 => encoded.push_str("%2E"),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
        if encoded.len() <= CUT {
            kept = encoded.len();
        }
    }
    if encoded.len() > LONGEST {
        encoded.truncate(kept);
        encoded.push_str("%-");
        encoded.push_str(&blake3::hash(text.as_bytes()).to_hex().as_str()[..32]);
    }
    encoded
}

fn decode(encoded: &str) -> Option<String> {
    if encoded == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(id: &str) -> String {
        let space_id = SpaceId::from_stored(id);
        let path = folder(&space_id);
        let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let [kind, name] = parts[..] else { panic!("{id:?} gives {path:?}") };
        assert!(kind.len() <= 255 && name.len() <= 255, "{path:?}");
        assert!(!name.starts_with('.') && !kind.starts_with('.'), "{path:?}");
        match space(kind, name) {
            FolderName::Space(found) => assert_eq!(found, space_id),
            FolderName::Cut => assert!(id.len() > 60, "{id:?} is short"),
            FolderName::Other => panic!("{id:?} gives {path:?}"),
        }
        format!("{kind}/{name}")
    }

    #[test]
    fn folder_names_decode_to_their_space() {
        for (id, expected) in [
            ("agent/ada", "agent/ada"),
            ("agent/Ada-1_x.y", "agent/Ada-1_x.y"),
            ("agent/.", "agent/%2E"),
            ("agent/..", "agent/%2E."),
            ("agent/../../etc", "agent/%2E.%2F..%2Fetc"),
            ("agent/a b/c", "agent/a%20b%2Fc"),
            ("agent/100%", "agent/100%25"),
            ("agent/📌", "agent/%F0%9F%93%8C"),
            ("agent/\0", "agent/%00"),
            ("agent/", "agent/%"),
            ("/ada", "%/ada"),
            ("ada", "%%/ada"),
            ("%/ada", "%25/ada"),
            ("", "%%/%"),
        ] {
            assert_eq!(there_and_back(id), expected);
        }
    }

    #[test]
    fn long_names_are_truncated_and_unique() {
        let long = |last: char| format!("agent/{}{last}", "ä".repeat(300));
        let (one, two) = (there_and_back(&long('1')), there_and_back(&long('2')));
        assert_ne!(one, two);
        assert!(one.starts_with("agent/%C3%A4%C3%A4"), "{one}");
        let kind = "k".repeat(400);
        there_and_back(&format!("{kind}/x"));
        there_and_back(&format!("agent/{}", "x".repeat(200)));
        there_and_back(&format!("agent/{}", "x".repeat(201)));
    }

    #[test]
    fn other_folders_are_ignored() {
        for name in ["a b", "%41", "%2e", "%C3", "%4", "ä", ".git", "%FF", "a%00b%"] {
            assert_eq!(space("agent", name), FolderName::Other, "{name}");
        }
    }
}

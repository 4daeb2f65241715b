//! Fixtures of every format version, which must stay readable.
//!
//! `fixtures/snapshot-v<n>.<seal>.cork` is [`content`] in version `n` of the byte format, and `snapshot-v1.json` is the
//! same content as plain JSON. When you raise [`SNAPSHOT_VERSION`], write the next ones:
//!
//! ```text
//! CORK_WRITE_FIXTURES=1 cargo test -p corkboard --all-features --test it snapshot_bytes
//! ```
//!
//! That writes the missing files of the current version. Existing files are never overwritten.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use corkboard::{Content, MemoryKind, MemorySnapshot, NoteId, SNAPSHOT_VERSION, Seal, SnapshotBytes};
use serde_json::json;

use super::support::{open, seals, small};

const NAMES: [&str; 3] = ["plain", "key", "passphrase"];

#[test]
fn the_bytes_of_every_version_open() {
    for version in 1..=SNAPSHOT_VERSION {
        for (name, seal) in NAMES.iter().zip(seals()) {
            let opened = open(&read(&format!("snapshot-v{version}.{name}.cork")), &seal);
            assert_eq!(opened.unwrap(), content(), "version {version}, {name}");
        }
    }
}

#[test]
fn json_is_read() {
    assert_eq!(open(&read("snapshot-v1.json"), &Seal::Plain).unwrap(), content());
    let again = serde_json::to_vec(&content()).unwrap();
    assert_eq!(open(&again, &Seal::Plain).unwrap(), content());
}

/// The content of the fixtures: below the root, an entry with every optional field and one without any.
fn content() -> MemorySnapshot {
    let mut snapshot = small();
    let mut scope = snapshot.memory.scopes[0].clone();
    scope.id = serde_json::from_value(json!("01941f29-7c00-7000-8000-0000000000aa")).unwrap();
    scope.name = serde_json::from_value(json!("task \"1\" \u{1F30D}")).unwrap();
    scope.notes_merged = NoteId(1);
    scope.notes.clear();
    let entry = &mut scope.entries[0].entry;
    entry.value = Content::of(&json!({"text": "\"quoted\"\n\u{0}", "big": u64::MAX, "list": [null, 1e-300]})).unwrap();
    entry.kind = MemoryKind::Correction;
    entry.importance = 0.1;
    entry.tags = vec!["project".into(), "\u{e4}".into()];
    entry.custom = Some(Arc::new(json!({"source": [0.1, {"line": 7}]}).as_object().unwrap().clone()));
    entry.expires_at = Some("2126-02-04T12:00:00.123456789Z".parse().unwrap());
    entry.session = Some("monday".into());
    snapshot.memory.scopes.push(scope);
    snapshot
}

fn read(name: &str) -> Vec<u8> {
    static WRITTEN: LazyLock<()> = LazyLock::new(|| {
        if std::env::var_os("CORK_WRITE_FIXTURES").is_some() {
            write_if_missing();
        }
    });
    LazyLock::force(&WRITTEN);
    let path = path(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; see the top of this file", path.display()))
}

fn write_if_missing() {
    let mut json = serde_json::to_vec(&content()).unwrap();
    json.push(b'\n');
    let sealed = NAMES
        .iter()
        .zip(seals())
        .map(|(name, seal)| (format!("snapshot-v{SNAPSHOT_VERSION}.{name}.cork"), content().to_bytes(&seal).unwrap()));
    for (name, bytes) in sealed.chain([("snapshot-v1.json".to_owned(), json)]) {
        match File::create_new(path(&name)) {
            Ok(mut file) => file.write_all(&bytes).unwrap(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name}: {error}"),
        }
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

//! A snapshot as bytes: it is restored whole, or a clear error says why not and nothing changes.

mod fixtures;
mod hostile;
mod support;
mod tampering;

use std::time::Duration;

use corkboard::{
    EntryMetadata, Error, ErrorKind, FORMAT_VERSION, Limits, MemorySnapshot, Passphrase, PassphraseCost, Seal, Sealing,
    SnapshotBytes, SnapshotError, SnapshotForm, SnapshotKey,
};
use proptest::prelude::*;

use crate::common::{Home, agent_a};
use support::{CHEAP, a_snapshot, error_of, key, open, passphrase, seals, small};

#[tokio::test]
async fn bytes_bring_everything_back() {
    for seal in seals() {
        let (from, to) = (Home::memory(), Home::sqlite());
        let (_board, agent, _) = a_snapshot(&from).await;
        let snapshot = agent.snapshot().await.unwrap();
        let bytes = snapshot.to_bytes(&seal).unwrap();
        let read = open(&bytes, &seal).unwrap();
        assert_eq!(read, snapshot, "{seal:?}");
        let (_board, agent, memory) = agent_a(&to).await;
        agent.restore(read).await.unwrap();
        assert_eq!(memory.get::<String>("user_name").await.unwrap().as_deref(), Some("Ada \u{1F30D}"));
        assert_eq!(agent.snapshot().await.unwrap().memory.scopes.len(), 2);
    }
}

#[test]
fn the_form_is_detected_without_a_key() {
    let snapshot = small();
    let json = serde_json::to_vec(&snapshot).unwrap();
    let json_bytes = json.len() as u64;
    let sealings = [Sealing::Plain, Sealing::Key, Sealing::Passphrase(CHEAP)];
    for (seal, sealing) in seals().into_iter().zip(sealings) {
        let form = SnapshotForm::of(&snapshot.to_bytes(&seal).unwrap()).unwrap();
        assert_eq!(form, SnapshotForm::Bytes { version: 1, sealing, json_bytes });
    }
    assert_eq!(SnapshotForm::of(&json).unwrap(), SnapshotForm::Json);
    assert_eq!(sealings.map(|sealing| sealing.to_string()), ["nothing", "a key", "a passphrase"]);
}

#[test]
fn no_two_sealed_snapshots_are_alike() {
    let snapshot = small();
    let [plain, key, passphrase] = seals().map(|seal| [(); 2].map(|()| snapshot.to_bytes(&seal).unwrap()));
    assert_eq!(plain[0], plain[1]);
    // They differ in the nonce, in the salt and in the encrypted part.
    let key_parts = [19..43, 43..59, 59..75];
    let passphrase_parts = [31..47, 47..71, 71..87];
    for (pair, parts) in [(key, key_parts), (passphrase, passphrase_parts)] {
        for part in parts {
            assert_ne!(pair[0][part.clone()], pair[1][part.clone()], "{part:?}");
        }
    }
}

#[test]
fn nothing_of_a_sealed_snapshot_can_be_read() {
    let snapshot = small();
    let json = serde_json::to_vec(&snapshot).unwrap();
    let compressed = miniz_oxide::deflate::compress_to_vec(&json, 6);
    let contains = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let [plain, sealed @ ..] = seals().map(|seal| snapshot.to_bytes(&seal).unwrap());
    assert!(contains(&plain, &compressed));
    for bytes in sealed {
        assert!(compressed.chunks_exact(8).all(|part| !contains(&bytes, part)));
        assert!(!contains(&bytes, b"correct horse") && !contains(&bytes, &[7; 8]));
    }
}

#[test]
fn json_is_read_as_ever() {
    let snapshot = small();
    let json = serde_json::to_string(&snapshot).unwrap();
    let pretty = serde_json::to_string_pretty(&snapshot).unwrap();
    for text in [format!("{json}\n"), format!("\n {pretty}\r\n"), json] {
        assert_eq!(open(text.as_bytes(), &Seal::Plain).unwrap(), snapshot);
        assert_eq!(SnapshotForm::of(text.as_bytes()).unwrap(), SnapshotForm::Json);
    }
}

#[test]
fn another_key_or_passphrase_does_not_open_it() {
    let [_, by_key, by_passphrase] = seals().map(|seal| small().to_bytes(&seal).unwrap());
    let mut nearly = [7; SnapshotKey::BYTES];
    nearly[31] ^= 1;
    let wrong_key = Seal::Key(SnapshotKey::new(nearly));
    for (bytes, seal) in [
        (&by_key, wrong_key),
        (&by_passphrase, Seal::Passphrase(Passphrase::new("correct horse battery stapl"))),
        (&by_passphrase, Seal::Passphrase(Passphrase::new("correct horse battery staple\n"))),
    ] {
        let error = open(bytes, &seal).unwrap_err();
        assert!(matches!(error, Error::Snapshot(SnapshotError::WrongKey { .. })), "{error:?}");
        assert_eq!((error.code(), error.kind()), ("snapshot_wrong_key", ErrorKind::Denied));
        assert!(error.to_string().contains("or it was changed"), "{error}");
    }
    // The snapshot contains the passphrase's cost, so a reader need not know it.
    let at_another_cost = Passphrase::new("correct horse battery staple").cost(PassphraseCost { passes: 3, ..CHEAP });
    assert_eq!(open(&by_passphrase, &Seal::Passphrase(at_another_cost)).unwrap(), small());
}

#[test]
fn a_sealed_snapshot_needs_the_secret_it_was_sealed_with() {
    let [_, by_key, by_passphrase] = seals().map(|seal| small().to_bytes(&seal).unwrap());
    for (bytes, seal, with) in [
        (&by_key, Seal::Plain, "a key"),
        (&by_key, passphrase(), "a key"),
        (&by_passphrase, Seal::Plain, "a passphrase"),
        (&by_passphrase, key(), "a passphrase"),
    ] {
        let error = open(bytes, &seal).unwrap_err();
        assert_eq!((error.code(), error.kind()), ("snapshot_needs_key", ErrorKind::Denied));
        assert_eq!(error.to_string(), format!("the snapshot is encrypted with {with}, which was not given"));
    }
}

#[test]
fn an_unsealed_snapshot_is_not_mistaken_for_a_sealed_one() {
    let plain = small().to_bytes(&Seal::Plain).unwrap();
    let json = serde_json::to_vec(&small()).unwrap();
    for bytes in [plain, json] {
        for seal in [key(), passphrase()] {
            let error = open(&bytes, &seal).unwrap_err();
            assert!(matches!(error, Error::Snapshot(SnapshotError::NotSealed)), "{error:?}");
            assert_eq!((error.code(), error.kind()), ("snapshot_not_sealed", ErrorKind::Invalid));
        }
    }
}

#[test]
fn a_passphrase_must_not_be_blank_and_its_cost_has_bounds() {
    let empty = Seal::Passphrase(Passphrase::new("").cost(CHEAP));
    let error = small().to_bytes(&empty).unwrap_err();
    assert_eq!((error.code(), error.kind()), ("empty_passphrase", ErrorKind::Invalid));
    let by_passphrase = small().to_bytes(&passphrase()).unwrap();
    assert_eq!(open(&by_passphrase, &empty).unwrap_err().code(), "empty_passphrase");
    let most = PassphraseCost::MOST;
    for cost in [
        PassphraseCost { memory_kib: most.memory_kib + 1, ..CHEAP },
        PassphraseCost { passes: most.passes + 1, ..CHEAP },
        PassphraseCost { lanes: most.lanes + 1, memory_kib: 1024, ..CHEAP },
        PassphraseCost { memory_kib: 7, ..CHEAP },
        PassphraseCost { passes: 0, ..CHEAP },
        PassphraseCost { lanes: 0, ..CHEAP },
        PassphraseCost { lanes: 2, ..CHEAP },
    ] {
        let error = small().to_bytes(&Seal::Passphrase(Passphrase::new("x").cost(cost))).unwrap_err();
        assert!(
            matches!(error, Error::Snapshot(SnapshotError::Cost { cost: found, .. }) if found == cost),
            "{error:?}"
        );
        assert_eq!((error.code(), error.kind()), ("passphrase_cost", ErrorKind::Limit));
    }
    // The default cost makes guessing expensive.
    let sealed = small().to_bytes(&Seal::Passphrase(Passphrase::new("x"))).unwrap();
    let SnapshotForm::Bytes { sealing: Sealing::Passphrase(cost), .. } = SnapshotForm::of(&sealed).unwrap() else {
        panic!("the snapshot should be sealed with a passphrase");
    };
    assert_eq!(cost, PassphraseCost { memory_kib: 64 * 1024, passes: 3, lanes: 1 });
}

#[test]
fn secrets_are_not_shown() {
    let bytes = small().to_bytes(&passphrase()).unwrap();
    let wrong = Seal::Passphrase(Passphrase::new("correct horse").cost(CHEAP));
    let error = open(&bytes, &wrong).unwrap_err();
    let shown = format!("{:?} {:?} {wrong:?} {wrong:#?} {error:?} {error}", key(), passphrase());
    for secret in ["correct", "horse", "7, 7", "7,\n", "99, 111", "[99"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    assert!(shown.contains("REDACTED"), "{shown}");
}

#[tokio::test]
async fn bytes_are_smaller_than_json() {
    let home = Home::memory();
    let (_board, agent, memory) = agent_a(&home).await;
    let mut random = fastrand::Rng::with_seed(7);
    let documents = concat!(include_str!("../../../../README.md"), include_str!("../../../../ARCHITECTURE.md"));
    let words: Vec<&str> = documents.split(|character: char| !character.is_alphabetic()).collect();
    let mut prose = |count: std::ops::Range<usize>| {
        let count = random.usize(count);
        (0..count).map(|_| *random.choice(&words).unwrap()).collect::<Vec<_>>().join(" ")
    };
    for number in 0..1_000 {
        home.clock.advance(Duration::from_micros(61_234_567));
        let key = format!("task/{}_{number}", prose(1..2));
        let (text, goal) = (prose(5..40), prose(4..9));
        let metadata = EntryMetadata {
            importance: Some(number as f32 / 1_000.0),
            tags: (number % 3 == 0).then(|| vec!["project".into(), "decision".into()]),
            ..Default::default()
        };
        match number % 5 {
            0 => memory.set(&key, &number).metadata(metadata).await.unwrap(),
            1 | 2 => {
                let plan = serde_json::json!({"goal": goal, "status": "open", "steps": [text], "effort": number});
                memory.set(&key, &plan).metadata(metadata).await.unwrap()
            }
            _ => memory.set(&key, &text).metadata(metadata).await.unwrap(),
        };
    }
    let snapshot = agent.snapshot().await.unwrap();
    assert_eq!(snapshot.entry_count(), 1_000);
    let json = serde_json::to_vec(&snapshot).unwrap().len();
    for seal in seals() {
        let bytes = snapshot.to_bytes(&seal).unwrap().len();
        println!("1,000 entries: {bytes} bytes, {:.1} % of {json} bytes of JSON", 100.0 * bytes as f64 / json as f64);
        assert!(bytes < json);
    }
}

#[test]
fn content_that_fits_a_memory_fits_its_snapshot() {
    let limits = Limits {
        state_bytes: 6_000,
        type_name_bytes: 10,
        agent_id_bytes: 10,
        scope_name_bytes: 10,
        entries_per_agent: 20,
        notes_per_agent: 20,
        scopes_per_agent: 20,
        entries_per_core: 20,
        ..Limits::default()
    };
    // Memories that consist mostly of one kind of content.
    for limits in [
        Limits { state_bytes: 1_000_000, ..limits },
        Limits { type_name_bytes: 10_000, ..limits },
        Limits { agent_id_bytes: 10_000, ..limits },
        Limits { scope_name_bytes: 10_000, ..limits },
        Limits { entries_per_agent: 1_000, state_bytes: 200_000, ..limits },
        Limits { notes_per_agent: 1_000, ..limits },
        Limits { scopes_per_agent: 1_000, ..limits },
        Limits { entries_per_core: 1_000, state_bytes: 200_000, ..limits },
    ] {
        let snapshot = support::largest(&limits);
        let json = serde_json::to_vec(&snapshot).unwrap().len() as u64;
        let allowed = SnapshotForm::most_bytes(&limits);
        assert!(allowed / 6 < json && json <= allowed, "{json} of {allowed} with {limits:?}");
        for seal in seals() {
            let bytes = snapshot.to_bytes(&seal).unwrap();
            assert_eq!(MemorySnapshot::from_bytes(&bytes, &seal, &limits).unwrap(), snapshot);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_restored(notes in prop::collection::vec(any::<String>(), 0..20), repeated in 0_usize..3_000) {
        let mut snapshot = small();
        let note = snapshot.memory.scopes[0].notes[0].clone();
        let texts = notes.into_iter().chain(["\u{0}x".repeat(repeated)]);
        snapshot.memory.scopes[0].notes = texts.map(|text| corkboard::Note { text: text.into(), ..note.clone() }).collect();
        for seal in seals() {
            prop_assert_eq!(open(&snapshot.to_bytes(&seal).unwrap(), &seal).unwrap(), snapshot.clone());
        }
    }
}

#[test]
fn content_with_a_newer_format_is_reported() {
    for seal in seals() {
        let newer = MemorySnapshot { format: FORMAT_VERSION + 1, ..small() }.to_bytes(&seal).unwrap();
        let error = open(&newer, &seal).unwrap_err();
        let Error::Snapshot(SnapshotError::Newer { found }) = &error else { panic!("{error:?}") };
        assert_eq!(*found, FORMAT_VERSION + 1);
        assert_eq!((error.code(), error.kind()), ("newer_format", ErrorKind::Damaged));
    }
    assert_eq!(error_of(b"{\"format\":9,\"brain\":{}}", &Seal::Plain).code(), "newer_format");
}

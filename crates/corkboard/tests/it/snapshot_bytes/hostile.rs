//! Malicious bytes. Their checksums are correct, which proves nothing.

use std::sync::LazyLock;

use corkboard::{
    Error, ErrorKind, Limits, MemorySnapshot, PassphraseCost, Seal, SnapshotBytes, SnapshotError, SnapshotForm,
};
use proptest::prelude::*;

use super::support::{CHEAP, error_of, key, open, seals, small};

const MAGIC: &[u8] = b"\x89CORK\r\n\x1a";

pub(crate) fn with_checksum(content: &[u8]) -> Vec<u8> {
    [content, blake3::hash(content).as_bytes()].concat()
}

/// Unsealed bytes of version 1.
fn plain(json_bytes: u64, body: &[u8]) -> Vec<u8> {
    with_checksum(&[MAGIC, &[1, 1, 0], &json_bytes.to_le_bytes(), body].concat())
}

fn deflated(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec(content, 6)
}

fn code_of(bytes: &[u8]) -> &'static str {
    error_of(bytes, &Seal::Plain).code()
}

#[test]
fn the_bytes_made_here_are_right() {
    let json = serde_json::to_vec(&small()).unwrap();
    let bytes = plain(json.len() as u64, &deflated(&json));
    assert_eq!(open(&bytes, &Seal::Plain).unwrap(), small());
    assert_eq!(bytes, small().to_bytes(&Seal::Plain).unwrap());
}

#[test]
fn a_costly_passphrase_is_refused_before_it_costs_anything() {
    let most = PassphraseCost::MOST;
    for cost in [
        PassphraseCost { memory_kib: 100 * 1024 * 1024, ..CHEAP },
        PassphraseCost { memory_kib: u32::MAX, passes: u32::MAX, lanes: u32::MAX },
        PassphraseCost { memory_kib: most.memory_kib + 1, ..CHEAP },
        PassphraseCost { passes: most.passes + 1, ..CHEAP },
        PassphraseCost { lanes: u32::MAX, ..CHEAP },
        PassphraseCost { memory_kib: 0, passes: 0, lanes: 0 },
    ] {
        let numbers = [cost.memory_kib, cost.passes, cost.lanes].map(u32::to_le_bytes).concat();
        let header = [MAGIC, &[1, 1, 2], &100_u64.to_le_bytes(), &numbers, &[0; 16 + 24]].concat();
        let bytes = with_checksum(&[&header, &[0; 100][..]].concat());
        for seal in seals() {
            let error = error_of(&bytes, &seal);
            assert!(
                matches!(error, Error::Snapshot(SnapshotError::Cost { cost: found, .. }) if found == cost),
                "{error:?}"
            );
            assert_eq!(error.kind(), ErrorKind::Limit);
        }
        assert_eq!(SnapshotForm::of(&bytes).unwrap_err().code(), "passphrase_cost");
    }
}

#[test]
fn a_snapshot_that_declares_too_large_a_size_is_refused() {
    let allowed = SnapshotForm::most_bytes(&Limits::default());
    for json_bytes in [u64::MAX, 1 << 40, allowed + 1] {
        let error = error_of(&plain(json_bytes, &deflated(b"{}")), &Seal::Plain);
        let expected = SnapshotError::TooLarge { bytes: json_bytes, allowed };
        assert!(matches!(&error, Error::Snapshot(found) if *found == expected), "{error:?}");
        assert_eq!((error.code(), error.kind()), ("snapshot_too_large", ErrorKind::Limit));
    }
    // Uncompressed and sealed bytes are checked, too, because their author may have other limits.
    let limits = Limits {
        state_bytes: 10,
        entries_per_agent: 0,
        notes_per_agent: 0,
        scopes_per_agent: 0,
        entries_per_core: 0,
        agent_id_bytes: 1,
        scope_name_bytes: 1,
        ..Limits::default()
    };
    let mut snapshot = small();
    snapshot.agent = "A".repeat(10_000);
    let json = serde_json::to_vec(&snapshot).unwrap();
    let mut forms = vec![(json, Seal::Plain)];
    forms.extend(seals().into_iter().map(|seal| (snapshot.to_bytes(&seal).unwrap(), seal)));
    for (bytes, seal) in forms {
        let error = MemorySnapshot::from_bytes(&bytes, &seal, &limits).unwrap_err();
        assert_eq!(error.code(), "snapshot_too_large", "{error:?}");
    }
}

#[test]
fn inflating_stops_at_the_declared_size() {
    // A thousandfold compression: bytes that declare a small size would inflate to 8 MiB.
    let bomb = deflated(&vec![b' '; 8 << 20]);
    assert!(bomb.len() < 1 << 14, "{}", bomb.len());
    for json_bytes in [0, 1, 100, (8 << 20) - 1] {
        let error = error_of(&plain(json_bytes, &bomb), &Seal::Plain);
        // Inflating stops at the declared size, not after all 8 MiB.
        let expected = SnapshotError::Damaged("its content is longer than its header says");
        assert!(matches!(&error, Error::Snapshot(found) if *found == expected), "{json_bytes}: {error:?}");
    }
    // An honest declaration of more than a small memory can hold.
    let limits = Limits { state_bytes: 1 << 18, entries_per_agent: 100, notes_per_agent: 100, ..Limits::default() };
    let limits = Limits { entries_per_core: 100, ..limits };
    let honest = plain(8 << 20, &bomb);
    let error = MemorySnapshot::from_bytes(&honest, &Seal::Plain, &limits).unwrap_err();
    assert_eq!(error.code(), "snapshot_too_large", "{error:?}");
    // The declared size is correct, but the content is not a snapshot.
    assert_eq!(code_of(&honest), "not_a_snapshot");
    // The same checks apply behind a seal.
    let sealed = |json_bytes: u64| {
        use chacha20poly1305::{AeadInOut, KeyInit};
        let header = [MAGIC, &[1, 1, 1], &json_bytes.to_le_bytes(), &[3; 24]].concat();
        let (cipher, mut body) = (chacha20poly1305::XChaCha20Poly1305::new(&[7; 32].into()), bomb.clone());
        cipher.encrypt_in_place(&[3; 24].into(), &header, &mut body).unwrap();
        with_checksum(&[header, body].concat())
    };
    assert_eq!(error_of(&sealed(100), &key()).code(), "snapshot_damaged");
    assert_eq!(error_of(&sealed(8 << 20), &key()).code(), "not_a_snapshot");
    let error = MemorySnapshot::from_bytes(&sealed(8 << 20), &key(), &limits).unwrap_err();
    assert_eq!(error.code(), "snapshot_too_large", "{error:?}");
}

#[test]
fn content_that_contradicts_its_header_is_damaged() {
    let json = serde_json::to_vec(&small()).unwrap();
    let (length, body) = (json.len() as u64, deflated(&json));
    for bytes in [
        plain(length - 1, &body),
        plain(length + 1, &body),
        plain(length, &body[..body.len() - 1]),
        plain(length, b""),
        plain(0, b""),
        plain(length, &[0xff; 100]),
    ] {
        assert_eq!(code_of(&bytes), "snapshot_damaged");
    }
}

#[test]
fn unknown_header_values_are_reported() {
    let length = 2_u64.to_le_bytes();
    let body = deflated(b"{}");
    let header = |version: u8, compression: u8, sealing: u8| {
        with_checksum(&[MAGIC, &[version, compression, sealing], &length, &body].concat())
    };
    assert_eq!(code_of(&header(1, 1, 0)), "not_a_snapshot");
    for (version, compression, sealing) in [(0, 1, 0), (1, 0, 0), (1, 2, 0), (1, 255, 0), (1, 1, 3), (1, 1, 255)] {
        assert_eq!(code_of(&header(version, compression, sealing)), "snapshot_damaged");
    }
    for version in [2, 99, 255] {
        for seal in seals() {
            let error = error_of(&header(version, 9, 9), &seal);
            let expected = SnapshotError::Newer { found: version.into() };
            assert!(matches!(&error, Error::Snapshot(found) if *found == expected), "{error:?}");
        }
    }
    // A header that is cut at every length.
    for seal in seals() {
        let whole = small().to_bytes(&seal).unwrap();
        let header_bytes = [19, 43, 71][usize::from(whole[10])];
        for length in MAGIC.len()..header_bytes {
            assert_eq!(error_of(&with_checksum(&whole[..length]), &seal).code(), "snapshot_damaged", "{length}");
        }
        let code = error_of(&with_checksum(&whole[..header_bytes]), &seal).code();
        assert_eq!(code, if matches!(seal, Seal::Plain) { "snapshot_damaged" } else { "snapshot_wrong_key" });
    }
}

#[test]
fn deeply_nested_json_is_not_a_snapshot() {
    for deep in ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
        let json = format!("{{\"format\":1,\"memory\":{deep}");
        assert_eq!(code_of(json.as_bytes()), "not_a_snapshot");
        assert_eq!(code_of(&plain(json.len() as u64, &deflated(json.as_bytes()))), "not_a_snapshot");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Arbitrary bytes open or fail, but never panic.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), json_bytes in 0..400_u64, sealing in 0..2_u8) {
        let header = [MAGIC, &[1, 1, sealing], &json_bytes.to_le_bytes()].concat();
        let forms = [
            bytes.clone(),
            [b"{", bytes.as_slice()].concat(),
            [MAGIC, &bytes].concat(),
            with_checksum(&[MAGIC, &[1], &bytes].concat()),
            with_checksum(&[&header, bytes.as_slice()].concat()),
            plain(json_bytes, &deflated(&bytes)),
            plain(bytes.len() as u64, &deflated(&bytes)),
        ];
        for bytes in forms {
            prop_assert!(open(&bytes, &Seal::Plain).is_err());
            prop_assert!(open(&bytes, &key()).is_err());
            let _ = SnapshotForm::of(&bytes);
        }
    }

    /// Nor do bytes that are almost correct.
    #[test]
    fn changed_bytes_never_panic(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)) {
        static WHOLE: LazyLock<[(Vec<u8>, Seal); 3]> =
            LazyLock::new(|| seals().map(|seal| (small().to_bytes(&seal).unwrap(), seal)));
        for (bytes, seal) in &*WHOLE {
            let mut content = bytes[..bytes.len() - 32].to_vec();
            for (place, byte) in &places {
                // Keep the passphrase's cost: the maximum cost would take too long here.
                let place = place.index(content.len());
                if !(19..31).contains(&place) {
                    content[place] = *byte;
                }
            }
            let _ = open(&content, seal);
            let _ = open(&with_checksum(&content), seal);
        }
        let mut json = serde_json::to_vec(&small()).unwrap();
        for (place, byte) in &places {
            let place = place.index(json.len());
            json[place] = *byte;
        }
        let _ = open(&json, &Seal::Plain);
        let _ = open(&plain(json.len() as u64, &deflated(&json)), &Seal::Plain);
    }
}

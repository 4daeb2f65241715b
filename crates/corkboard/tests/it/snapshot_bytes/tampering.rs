//! Bytes that were changed, by accident or on purpose.

use corkboard::{Error, ErrorKind, Seal, SnapshotBytes, SnapshotError};

use super::hostile::with_checksum;
use super::support::{a_snapshot, error_of, open, seals, small};
use crate::common::{Home, fails_without_a_trace};

const MAGIC_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 32;

/// The bytes with each bit flipped in turn, and the bit's position.
fn flipped(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..bytes.len() * 8).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (bit, flipped)
    })
}

#[test]
fn every_flipped_bit_is_found() {
    for seal in seals() {
        let bytes = small().to_bytes(&seal).unwrap();
        for (bit, flipped) in flipped(&bytes) {
            let error = error_of(&flipped, &seal);
            match bit / 8 < MAGIC_BYTES {
                true => assert!(matches!(error, Error::NotASnapshot(_)), "bit {bit}: {error:?}"),
                false => {
                    assert!(matches!(error, Error::Snapshot(SnapshotError::Damaged(_))), "bit {bit}: {error:?}");
                    assert_eq!((error.code(), error.kind()), ("snapshot_damaged", ErrorKind::Damaged));
                }
            }
            // It is found without the key, too.
            assert_eq!(error_of(&flipped, &Seal::Plain).code(), error.code(), "bit {bit}");
        }
    }
}

/// An attacker can recompute the checksum.
#[test]
fn every_change_behind_a_seal_is_found() {
    let [_, sealed @ ..] = seals();
    for seal in sealed {
        let bytes = small().to_bytes(&seal).unwrap();
        let content = &bytes[..bytes.len() - CHECKSUM_BYTES];
        let mut unopened = 0;
        for (bit, flipped) in flipped(content) {
            let error = error_of(&with_checksum(&flipped), &seal);
            match error {
                Error::Snapshot(SnapshotError::WrongKey { .. }) => unopened += 1,
                // Problems of the header are reported before the key is tried.
                Error::Snapshot(_) | Error::NotASnapshot(_) if bit / 8 < 31 => {}
                other => panic!("bit {bit}: {other:?}"),
            }
        }
        assert!(unopened > (content.len() - 31) * 8, "{unopened}");
    }
}

#[test]
fn every_cut_is_found() {
    for seal in seals() {
        let bytes = small().to_bytes(&seal).unwrap();
        for length in 0..bytes.len() {
            let error = error_of(&bytes[..length], &seal);
            match length < MAGIC_BYTES {
                true => assert!(matches!(error, Error::NotASnapshot(_)), "{length}: {error:?}"),
                false => assert_eq!(error.code(), "snapshot_damaged", "{length}: {error:?}"),
            }
        }
        for more in [&b"\n"[..], b"\0", &bytes] {
            assert_eq!(error_of(&[&bytes, more].concat(), &seal).code(), "snapshot_damaged");
        }
    }
}

#[test]
fn every_cut_of_json_is_found() {
    let json = serde_json::to_vec(&small()).unwrap();
    for length in 0..json.len() {
        assert_eq!(error_of(&json[..length], &Seal::Plain).code(), "not_a_snapshot", "{length}");
    }
}

#[tokio::test]
async fn a_changed_snapshot_restores_nothing() {
    let home = Home::sqlite();
    let (corkboard, agent, memory) = a_snapshot(&home).await;
    for seal in seals() {
        let bytes = agent.snapshot().await.unwrap().to_bytes(&seal).unwrap();
        memory.set("since then", &1).await.unwrap();
        let restore = async |bytes: &[u8]| agent.restore(open(bytes, &seal)?).await;
        let spread = flipped(&bytes).step_by(97).map(|(_, flipped)| flipped);
        let cut = (0..bytes.len()).step_by(31).map(|length| bytes[..length].to_vec());
        for changed in spread.chain(cut) {
            fails_without_a_trace(&corkboard, &agent, restore(&changed)).await;
        }
        let rev = agent.rev().await.unwrap();
        assert_eq!(restore(&bytes).await.unwrap(), rev + 1);
        assert!(!memory.contains("since then").await.unwrap());
    }
}

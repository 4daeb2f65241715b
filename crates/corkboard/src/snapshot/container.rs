//! The bytes around a snapshot's content: what they say about it, and whether they are whole.

use std::fmt;

use super::{PassphraseCost, SnapshotError};
use crate::{Error, Result};

/// The version of a snapshot's bytes that this code writes. It reads this one and all before it.
pub const SNAPSHOT_VERSION: u8 = 1;

const MAGIC: [u8; 8] = *b"\x89CORK\r\n\x1a";
const DEFLATE: u8 = 1;
const PLAIN: u8 = 0;
const KEY: u8 = 1;
const PASSPHRASE: u8 = 2;

/// What a snapshot's bytes are, as far as they tell without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotForm {
    /// Plain JSON, which a person can read and nothing protects.
    Json,
    /// Compressed and with a checksum, which matches.
    Bytes {
        /// Its version.
        version: u8,
        /// What it is sealed with.
        sealing: Sealing,
        /// How long the JSON inside says it is.
        json_bytes: u64,
    },
}

impl SnapshotForm {
    /// Recognises the form. What is damaged, too new or no snapshot at all is an error.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        Ok(match Container::read(bytes)? {
            None => Self::Json,
            Some(Container { header, .. }) => {
                Self::Bytes { version: SNAPSHOT_VERSION, sealing: header.lock.sealing(), json_bytes: header.json_bytes }
            }
        })
    }
}

/// What a snapshot is sealed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// Nothing: anyone can read and change it.
    Plain,
    /// A key.
    Key,
    /// A passphrase, from which a key is derived at this cost.
    Passphrase(PassphraseCost),
}

impl fmt::Display for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "nothing",
            Self::Key => "a key",
            Self::Passphrase(_) => "a passphrase",
        })
    }
}

/// What it takes to open a snapshot, besides the secret.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lock {
    Plain,
    Key { nonce: [u8; 24] },
    Passphrase { cost: PassphraseCost, salt: [u8; 16], nonce: [u8; 24] },
}

impl Lock {
    pub(super) fn sealing(&self) -> Sealing {
        match self {
            Self::Plain => Sealing::Plain,
            Self::Key { .. } => Sealing::Key,
            Self::Passphrase { cost, .. } => Sealing::Passphrase(*cost),
        }
    }
}

pub(super) struct ContainerHeader {
    pub(super) lock: Lock,
    pub(super) json_bytes: u64,
}

impl ContainerHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let sealing = match self.lock {
            Lock::Plain => PLAIN,
            Lock::Key { .. } => KEY,
            Lock::Passphrase { .. } => PASSPHRASE,
        };
        bytes.extend([SNAPSHOT_VERSION, DEFLATE, sealing]);
        bytes.extend(self.json_bytes.to_le_bytes());
        match &self.lock {
            Lock::Plain => {}
            Lock::Key { nonce } => bytes.extend(nonce),
            Lock::Passphrase { cost: PassphraseCost { memory_kib, passes, lanes }, salt, nonce } => {
                bytes.extend([memory_kib, passes, lanes].into_iter().flat_map(|number| number.to_le_bytes()));
                bytes.extend(salt);
                bytes.extend(nonce);
            }
        }
        bytes
    }

    /// Reads what stands after the version, and leaves the content.
    fn read(bytes: &mut &[u8]) -> Result<Self, SnapshotError> {
        let [compression, sealing] = take(bytes)?;
        if compression != DEFLATE {
            return Err(SnapshotError::Damaged("it is compressed in a way that its version does not know"));
        }
        let json_bytes = u64::from_le_bytes(take(bytes)?);
        let lock = match sealing {
            PLAIN => Lock::Plain,
            KEY => Lock::Key { nonce: take(bytes)? },
            PASSPHRASE => {
                let mut number = || take(bytes).map(u32::from_le_bytes);
                let cost = PassphraseCost { memory_kib: number()?, passes: number()?, lanes: number()? };
                // Before anyone asks for a passphrase, let alone spends so much on it.
                cost.check(PassphraseCost::MOST)?;
                Lock::Passphrase { cost, salt: take(bytes)?, nonce: take(bytes)? }
            }
            _ => return Err(SnapshotError::Damaged("it is sealed in a way that its version does not know")),
        };
        Ok(Self { lock, json_bytes })
    }
}

pub(super) struct Container<'a> {
    pub(super) header: ContainerHeader,
    /// The header as it stands: what the seal vouches for besides the content.
    pub(super) header_bytes: &'a [u8],
    /// The content: compressed, and encrypted if it is sealed.
    pub(super) body: &'a [u8],
}

impl<'a> Container<'a> {
    /// Takes them apart if they are whole. Nothing if they are JSON.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Option<Self>> {
        if !bytes.starts_with(&MAGIC) {
            return match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{') => Ok(None),
                Some(_) => Err(Error::NotASnapshot("it begins like none".into())),
                None => Err(Error::NotASnapshot("it is empty".into())),
            };
        }
        let content = checked(bytes)?;
        let mut rest = content;
        let _magic: [u8; MAGIC.len()] = take(&mut rest)?;
        let [version] = take(&mut rest)?;
        match version {
            SNAPSHOT_VERSION => {}
            // There never was one.
            0 => return Err(SnapshotError::Damaged("it says that it is of version 0").into()),
            _ => return Err(SnapshotError::Newer { found: version.into() }.into()),
        }
        let header = ContainerHeader::read(&mut rest)?;
        let (header_bytes, body) = content.split_at(content.len() - rest.len());
        Ok(Some(Self { header, header_bytes, body }))
    }
}

/// Ends a snapshot's bytes by the hash of all before it.
pub(super) fn add_checksum(bytes: &mut Vec<u8>) {
    let hash = blake3::hash(bytes);
    bytes.extend(hash.as_bytes());
}

/// The bytes without the hash at their end, if it is the right one.
fn checked(bytes: &[u8]) -> Result<&[u8], SnapshotError> {
    match bytes.split_last_chunk::<{ blake3::OUT_LEN }>() {
        Some((content, hash)) if blake3::hash(content) == *hash => Ok(content),
        _ => Err(SnapshotError::Damaged("its checksum does not match; it was cut short or changed")),
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], SnapshotError> {
    let (taken, rest) = bytes.split_first_chunk().ok_or(SnapshotError::Damaged("its header is incomplete"))?;
    *bytes = rest;
    Ok(*taken)
}

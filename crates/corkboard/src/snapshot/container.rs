//! The container around a snapshot's content: header and checksum.

use std::fmt;

use serde::Deserialize;

use super::{PassphraseCost, SnapshotError};
use crate::{Error, Result};

/// The version of the snapshot format that this code writes. It also reads all earlier versions.
pub const SNAPSHOT_VERSION: u8 = 1;

const MAGIC: [u8; 8] = *b"\x89CORK\r\n\x1a";
const DEFLATE: u8 = 1;
const PLAIN: u8 = 0;
const KEY: u8 = 1;
const PASSPHRASE: u8 = 2;

/// Format of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SnapshotForm))]
#[serde(rename_all = "snake_case")]
pub enum SnapshotFormat {
    /// One JSON document.
    Json,
    /// Compressed, and encrypted if the request contains a secret.
    Bytes,
}

/// The form of a snapshot's bytes, as far as it is known without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotForm {
    /// Plain JSON: readable, without checksum or encryption.
    Json,
    /// Compressed, with a matching checksum.
    Bytes {
        /// The version of the format.
        version: u8,
        /// How it is sealed.
        sealing: Sealing,
        /// Length of the JSON inside, as the header declares it.
        json_bytes: u64,
    },
}

impl SnapshotForm {
    /// Recognizes the form. Fails if the bytes are damaged, too new or not a snapshot.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        Ok(match Container::read(bytes)? {
            None => Self::Json,
            Some(Container { header, .. }) => {
                Self::Bytes { version: SNAPSHOT_VERSION, sealing: header.lock.sealing(), json_bytes: header.json_bytes }
            }
        })
    }
}

/// How a snapshot is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// Not sealed: anyone can read and change it.
    Plain,
    /// With a key.
    Key,
    /// With a passphrase, from which a key is derived at this cost.
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

/// The parameters needed to open a snapshot, besides the secret.
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

    /// Reads the header after the version, and leaves the content in `bytes`.
    fn read(bytes: &mut &[u8]) -> Result<Self, SnapshotError> {
        let [compression, sealing] = take(bytes)?;
        if compression != DEFLATE {
            return Err(SnapshotError::Damaged("its version does not support this compression"));
        }
        let json_bytes = u64::from_le_bytes(take(bytes)?);
        let lock = match sealing {
            PLAIN => Lock::Plain,
            KEY => Lock::Key { nonce: take(bytes)? },
            PASSPHRASE => {
                let mut number = || take(bytes).map(u32::from_le_bytes);
                let cost = PassphraseCost { memory_kib: number()?, passes: number()?, lanes: number()? };
                // Check this before anyone asks for a passphrase or spends that much on it.
                cost.check(PassphraseCost::MOST)?;
                Lock::Passphrase { cost, salt: take(bytes)?, nonce: take(bytes)? }
            }
            _ => return Err(SnapshotError::Damaged("its version does not support this kind of seal")),
        };
        Ok(Self { lock, json_bytes })
    }
}

pub(super) struct Container<'a> {
    pub(super) header: ContainerHeader,
    /// The encoded header, which the seal authenticates together with the content.
    pub(super) header_bytes: &'a [u8],
    /// The content: compressed, and encrypted if it is sealed.
    pub(super) body: &'a [u8],
}

impl<'a> Container<'a> {
    /// Splits the bytes after checking them; `None` if they are JSON.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Option<Self>> {
        if !bytes.starts_with(&MAGIC) {
            return match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{') => Ok(None),
                Some(_) => Err(Error::NotASnapshot("it has neither a snapshot header nor a JSON object".into())),
                None => Err(Error::NotASnapshot("it is empty".into())),
            };
        }
        let content = checked(bytes)?;
        let mut rest = content;
        let _magic: [u8; MAGIC.len()] = take(&mut rest)?;
        let [version] = take(&mut rest)?;
        match version {
            SNAPSHOT_VERSION => {}
            // Version 0 never existed.
            0 => return Err(SnapshotError::Damaged("its header has version 0").into()),
            _ => return Err(SnapshotError::Newer { found: version.into() }.into()),
        }
        let header = ContainerHeader::read(&mut rest)?;
        let (header_bytes, body) = content.split_at(content.len() - rest.len());
        Ok(Some(Self { header, header_bytes, body }))
    }
}

/// Appends the hash of all bytes.
pub(super) fn add_checksum(bytes: &mut Vec<u8>) {
    let hash = blake3::hash(bytes);
    bytes.extend(hash.as_bytes());
}

/// Checks the hash at the end, and returns the bytes before it.
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

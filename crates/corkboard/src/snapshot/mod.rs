//! Snapshots as bytes: compact, versioned, checked for damage, and sealed where a key or a passphrase is given.
//!
//! The bytes of version 1, in order; numbers are little-endian:
//!
//! | length | what |
//! |---|---|
//! | 8 | `89 43 4f 52 4b 0d 0a 1a`: no text begins so, and whoever treats it as text breaks it |
//! | 1 | the version |
//! | 1 | the compression: 1 is deflate |
//! | 1 | the sealing: 0 none, 1 a key, 2 a passphrase |
//! | 8 | how long the JSON inside is |
//! | 12 | with a passphrase: memory in KiB, passes and lanes of argon2id |
//! | 16 | with a passphrase: the salt |
//! | 24 | if sealed: the nonce |
//! | the rest | the JSON, compressed; if sealed, encrypted by XChaCha20-Poly1305, with all that is above as associated data |
//! | 32 | the BLAKE3 hash of all that is above |
//!
//! The first nine bytes and the hash mean the same in every version, so that damage is told from a version that is too new.
//! The hash finds accidents, also where there is no key at hand. Only a seal shows what someone changed on purpose.

mod container;
mod error;
mod seal;

use corkboard_core::agent::MemorySnapshot;
use corkboard_core::{FormatError, Limits};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

use self::container::{Container, ContainerHeader};
use crate::{Error, Result};

pub use self::container::{SNAPSHOT_VERSION, Sealing, SnapshotForm};
pub use self::error::SnapshotError;
pub use self::seal::{Passphrase, PassphraseCost, Seal, SnapshotKey};

/// Beyond this, deflate takes half as long again for a third of a percent.
const COMPRESSION_LEVEL: u8 = 6;

/// A [`MemorySnapshot`] as bytes that can be kept anywhere.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
/// use corkboard::{Corkboard, Limits, MemorySnapshot, Passphrase, Seal, SnapshotBytes};
///
/// let corkboard = Corkboard::open("memory:").await?;
/// let alice = corkboard.agent("alice")?;
/// alice.working().set("user_name", "Ada").await?;
///
/// let seal = Seal::Passphrase(Passphrase::new("correct horse battery staple"));
/// let bytes = alice.snapshot().await?.to_bytes(&seal)?;
/// let snapshot = MemorySnapshot::from_bytes(&bytes, &seal, &Limits::default())?;
/// alice.restore(snapshot).await?;
/// # corkboard.close().await
/// # }
/// ```
///
/// A passphrase costs a moment and some memory on purpose ([`PassphraseCost`]); a program that must not wait calls this
/// where blocking is allowed. How long the bytes are tells how much is remembered, sealed or not.
pub trait SnapshotBytes: Sized {
    /// The snapshot, compressed, and sealed as the seal says.
    fn to_bytes(&self, seal: &Seal) -> Result<Vec<u8>>;

    /// A snapshot from what this version or one before has written, plain JSON included. What is sealed needs its key or
    /// passphrase; what is not sealed is refused where one is given. Anything larger than a memory can be under these limits
    /// is refused before it takes up the room.
    fn from_bytes(bytes: &[u8], seal: &Seal, limits: &Limits) -> Result<Self>;
}

impl SnapshotBytes for MemorySnapshot {
    fn to_bytes(&self, seal: &Seal) -> Result<Vec<u8>> {
        let json = serde_json::to_vec(self).map_err(|error| Error::NotASnapshot(error.to_string()))?;
        let header = ContainerHeader { lock: seal.new_lock()?, json_bytes: json.len() as u64 };
        let mut bytes = header.encode();
        let mut body = miniz_oxide::deflate::compress_to_vec(&json, COMPRESSION_LEVEL);
        if let Some(cipher) = seal.cipher(&header.lock)? {
            cipher.encrypt(&bytes, &mut body)?;
        }
        bytes.append(&mut body);
        container::add_checksum(&mut bytes);
        Ok(bytes)
    }

    fn from_bytes(bytes: &[u8], seal: &Seal, limits: &Limits) -> Result<Self> {
        let Some(container) = Container::read(bytes)? else {
            if !matches!(seal, Seal::Plain) {
                return Err(SnapshotError::NotSealed.into());
            }
            check_size(bytes.len() as u64, limits)?;
            return parse(bytes);
        };
        let Container { header, header_bytes, body } = container;
        check_size(header.json_bytes, limits)?;
        match seal.cipher(&header.lock)? {
            None => parse(&inflate(body, &header)?),
            Some(cipher) => {
                let mut body = body.to_vec();
                cipher.decrypt(header_bytes, &mut body)?;
                parse(&inflate(&body, &header)?)
            }
        }
    }
}

impl SnapshotForm {
    /// No snapshot of a memory within these limits has more bytes, in whatever form.
    pub fn most_bytes(limits: &Limits) -> u64 {
        // In JSON a byte of text becomes six at most (`\u0001`), and so do the bytes that are counted for other values. Names
        // hold no control characters: there it is two at most. Beside them there are the names of fields, ids and times.
        let of = |count: u64, text: u64, name: u64| {
            let each = text.saturating_mul(6).saturating_add(name.saturating_mul(2)).saturating_add(512);
            count.saturating_mul(each)
        };
        let Limits { state_bytes, type_name_bytes, agent_id_bytes, scope_name_bytes, .. } = *limits;
        let parts = [
            of(1, state_bytes, agent_id_bytes),
            of(limits.scopes_per_agent.saturating_add(1), 0, scope_name_bytes),
            // The name is the author and the session.
            of(limits.entries_per_agent, type_name_bytes, agent_id_bytes.saturating_mul(2)),
            of(limits.notes_per_agent, 0, agent_id_bytes),
            // Long-term memory, which is a space of its own: the name is whoever forgot an entry.
            of(1, state_bytes, 0),
            of(limits.entries_per_core, 0, agent_id_bytes),
        ];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

fn check_size(bytes: u64, limits: &Limits) -> Result<(), SnapshotError> {
    let allowed = SnapshotForm::most_bytes(limits);
    if bytes > allowed { Err(SnapshotError::TooLarge { bytes, allowed }) } else { Ok(()) }
}

/// The JSON, which must be as long as the header says: what goes on is stopped there.
fn inflate(body: &[u8], header: &ContainerHeader) -> Result<Vec<u8>, SnapshotError> {
    let expected = usize::try_from(header.json_bytes)
        .map_err(|_| SnapshotError::TooLarge { bytes: header.json_bytes, allowed: usize::MAX as u64 })?;
    match decompress_to_vec_with_limit(body, expected) {
        Ok(json) if json.len() == expected => Ok(json),
        Err(error) if error.status == TINFLStatus::HasMoreOutput => {
            Err(SnapshotError::Damaged("it holds more than its header says"))
        }
        _ => Err(SnapshotError::Damaged("what is compressed in it is not what its header says")),
    }
}

fn parse(json: &[u8]) -> Result<MemorySnapshot> {
    MemorySnapshot::from_json(json).map_err(|error| match error {
        FormatError::Newer { found } => SnapshotError::Newer { found }.into(),
        other => Error::NotASnapshot(other.to_string()),
    })
}

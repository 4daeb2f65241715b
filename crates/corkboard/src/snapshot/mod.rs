//! Snapshots as bytes: compact, versioned, with a checksum, and optionally sealed with a key or a passphrase.
//!
//! The bytes of version 1, in order; numbers are little-endian:
//!
//! | length | what |
//! |---|---|
//! | 8 | `89 43 4f 52 4b 0d 0a 1a`: no text begins like this, and a program that treats the file as text breaks it |
//! | 1 | the version |
//! | 1 | the compression: 1 is deflate |
//! | 1 | the sealing: 0 none, 1 a key, 2 a passphrase |
//! | 8 | length of the JSON inside |
//! | 12 | with a passphrase: memory in KiB, passes and lanes of argon2id |
//! | 16 | with a passphrase: the salt |
//! | 24 | if sealed: the nonce |
//! | the rest | the JSON, compressed; if sealed, encrypted with XChaCha20-Poly1305, with everything above as associated data |
//! | 32 | the BLAKE3 hash of everything above |
//!
//! The first nine bytes and the hash mean the same in every version, so damage can be told from a version that is too
//! new. The hash detects accidents, even without the key. Only a seal detects deliberate changes.

mod container;
mod error;
mod seal;

use corkboard_core::agent::MemorySnapshot;
use corkboard_core::{FormatError, Limits};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

use self::container::{Container, ContainerHeader};
use crate::{Error, Result};

pub use self::container::{SNAPSHOT_VERSION, Sealing, SnapshotForm, SnapshotFormat};
pub use self::error::SnapshotError;
pub use self::seal::{Passphrase, PassphraseCost, Seal, SnapshotKey};

/// Higher levels take half as long again to save a third of a percent.
const COMPRESSION_LEVEL: u8 = 6;

/// A [`MemorySnapshot`] as bytes that can be stored anywhere.
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
/// A passphrase deliberately costs time and memory ([`PassphraseCost`]), so call this where blocking is allowed. The
/// length of the bytes reveals how much is remembered, even if they are sealed.
pub trait SnapshotBytes: Sized {
    /// The snapshot, compressed and sealed.
    fn to_bytes(&self, seal: &Seal) -> Result<Vec<u8>>;

    /// Reads a snapshot that this version or an earlier one wrote, including plain JSON. A sealed snapshot needs its
    /// key or passphrase. If one is given, a snapshot that is not sealed is refused. A snapshot that is larger than any
    /// memory under these limits is refused before it uses memory.
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
    /// Maximum bytes of a snapshot of a memory within these limits, in any form.
    pub fn most_bytes(limits: &Limits) -> u64 {
        // In JSON, a byte of text or of another value takes at most six bytes (`\u0001`). Names have no control
        // characters, so there it takes at most two. The rest is for field names, IDs and times.
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
            // Long-term memory, which is a separate space. The name is the agent that forgot an entry.
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

/// Decompresses the JSON, which must be exactly as long as the header says.
fn inflate(body: &[u8], header: &ContainerHeader) -> Result<Vec<u8>, SnapshotError> {
    let expected = usize::try_from(header.json_bytes)
        .map_err(|_| SnapshotError::TooLarge { bytes: header.json_bytes, allowed: usize::MAX as u64 })?;
    match decompress_to_vec_with_limit(body, expected) {
        Ok(json) if json.len() == expected => Ok(json),
        Err(error) if error.status == TINFLStatus::HasMoreOutput => {
            Err(SnapshotError::Damaged("its content is longer than its header says"))
        }
        _ => Err(SnapshotError::Damaged("its compressed content does not match its header")),
    }
}

fn parse(json: &[u8]) -> Result<MemorySnapshot> {
    MemorySnapshot::from_json(json).map_err(|error| match error {
        FormatError::Newer { found } => SnapshotError::Newer { found }.into(),
        FormatError::Malformed(reason) => Error::NotASnapshot(reason),
        other => Error::NotASnapshot(other.to_string()),
    })
}

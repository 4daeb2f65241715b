//! Encryption of snapshots, which also detects changes.

use argon2::Argon2;
use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305};
use secrecy::{ExposeSecret, SecretBox, SecretSlice};
use zeroize::{Zeroize, Zeroizing};

use super::container::{Lock, Sealing};
use super::error::SnapshotError;
use crate::ids;

/// How to protect a snapshot's bytes. `Debug` does not show secrets, and they are wiped from memory when dropped.
#[derive(Debug, Default)]
pub enum Seal {
    /// No protection: anyone can read the bytes. The checksum detects accidents, not deliberate changes.
    #[default]
    Plain,
    /// Encrypt with a key.
    Key(SnapshotKey),
    /// Encrypt with a passphrase.
    Passphrase(Passphrase),
}

/// A key of 32 bytes that nobody can guess: from a random source, not from a person.
#[derive(Debug)]
pub struct SnapshotKey(SecretBox<[u8; 32]>);

impl SnapshotKey {
    /// Length of a key in bytes.
    pub const BYTES: usize = 32;

    /// A key from its bytes.
    pub fn new(mut bytes: [u8; Self::BYTES]) -> Self {
        let key = Self(SecretBox::init_with_mut(|key: &mut [u8; Self::BYTES]| *key = bytes));
        bytes.zeroize();
        key
    }
}

/// A passphrase. The key is derived from it with argon2id and a random salt.
#[derive(Debug)]
pub struct Passphrase {
    secret: SecretSlice<u8>,
    cost: PassphraseCost,
    most: PassphraseCost,
}

impl Passphrase {
    /// A passphrase from its exact bytes, at the default cost.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self { secret: secret.into().into(), cost: PassphraseCost::default(), most: PassphraseCost::MOST }
    }

    /// Sets the cost for sealing. The cost for opening is in the snapshot.
    pub fn cost(self, cost: PassphraseCost) -> Self {
        Self { cost, ..self }
    }

    /// Sets the maximum cost for opening; by default [`PassphraseCost::MOST`]. A snapshot that costs more is refused
    /// with [`SnapshotError::Cost`]. Servers need this: the sender of a snapshot chooses the cost, and could keep a
    /// server busy.
    pub fn accept_up_to(self, most: PassphraseCost) -> Self {
        Self { most, ..self }
    }

    fn derive(&self, cost: PassphraseCost, salt: &[u8]) -> Result<Zeroizing<[u8; SnapshotKey::BYTES]>, SnapshotError> {
        let secret = self.secret.expose_secret();
        if secret.is_empty() {
            return Err(SnapshotError::EmptyPassphrase);
        }
        let argon2 = Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, cost.check(self.most)?);
        let mut key = Zeroizing::new([0; SnapshotKey::BYTES]);
        argon2
            .hash_password_into(secret, salt, &mut *key)
            .map_err(|_| SnapshotError::Cost { cost, most: self.most })?;
        Ok(key)
    }
}

/// The cost of trying a passphrase, for its owner and for an attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Number of passes over the memory.
    pub passes: u32,
    /// Number of lanes that the memory is divided into.
    pub lanes: u32,
}

impl PassphraseCost {
    /// The maximum cost, also for opening: the maker of a snapshot could otherwise keep its reader busy.
    pub const MOST: Self = Self { memory_kib: 256 * 1024, passes: 16, lanes: 16 };

    pub(super) fn check(self, most: Self) -> Result<argon2::Params, SnapshotError> {
        let Self { memory_kib, passes, lanes } = self;
        let refused = SnapshotError::Cost { cost: self, most };
        if memory_kib > most.memory_kib || passes > most.passes || lanes > most.lanes {
            return Err(refused);
        }
        argon2::Params::new(memory_kib, passes, lanes, Some(SnapshotKey::BYTES)).map_err(|_| refused)
    }
}

impl Default for PassphraseCost {
    /// 64 MiB and three passes, as RFC 9106 recommends for little memory. One lane, because more lanes would only help
    /// an attacker who computes them in parallel.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 1 }
    }
}

impl Seal {
    /// The kind of seal, without the secret.
    pub fn sealing(&self) -> Sealing {
        match self {
            Self::Plain => Sealing::Plain,
            Self::Key(_) => Sealing::Key,
            Self::Passphrase(passphrase) => Sealing::Passphrase(passphrase.cost),
        }
    }

    /// A lock with random values for a new snapshot.
    pub(super) fn new_lock(&self) -> Result<Lock, SnapshotError> {
        Ok(match self {
            Self::Plain => Lock::Plain,
            Self::Key(_) => Lock::Key { nonce: random()? },
            Self::Passphrase(Passphrase { cost, .. }) => {
                Lock::Passphrase { cost: *cost, salt: random()?, nonce: random()? }
            }
        })
    }

    /// The cipher for this lock; `None` if there is neither a lock nor a secret.
    pub(super) fn cipher(&self, lock: &Lock) -> Result<Option<Cipher>, SnapshotError> {
        let (key, nonce) = match (self, lock) {
            (Self::Plain, Lock::Plain) => return Ok(None),
            (Self::Key(SnapshotKey(key)), Lock::Key { nonce }) => (Zeroizing::new(*key.expose_secret()), *nonce),
            (Self::Passphrase(passphrase), Lock::Passphrase { cost, salt, nonce }) => {
                (passphrase.derive(*cost, salt)?, *nonce)
            }
            (_, Lock::Plain) => return Err(SnapshotError::NotSealed),
            (_, lock) => return Err(SnapshotError::NeedsKey { sealed_with: lock.sealing() }),
        };
        let cipher = XChaCha20Poly1305::new((&*key).into());
        Ok(Some(Cipher { cipher, nonce, sealing: lock.sealing() }))
    }
}

pub(super) struct Cipher {
    cipher: XChaCha20Poly1305,
    nonce: [u8; 24],
    sealing: Sealing,
}

impl Cipher {
    pub(super) fn encrypt(&self, header: &[u8], body: &mut Vec<u8>) -> Result<(), SnapshotError> {
        // The cipher refuses only content that is too long for its counter: 256 GiB.
        let too_large = SnapshotError::TooLarge { bytes: body.len() as u64, allowed: 1 << 38 };
        self.cipher.encrypt_in_place(&self.nonce.into(), header, body).map_err(|_| too_large)
    }

    pub(super) fn decrypt(&self, header: &[u8], body: &mut Vec<u8>) -> Result<(), SnapshotError> {
        let wrong_key = |_| SnapshotError::WrongKey { sealed_with: self.sealing };
        self.cipher.decrypt_in_place(&self.nonce.into(), header, body).map_err(wrong_key)
    }
}

fn random<const N: usize>() -> Result<[u8; N], SnapshotError> {
    ids::unguessable().map_err(|error| SnapshotError::NoRandomness(error.to_string()))
}

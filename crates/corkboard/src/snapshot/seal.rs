//! What keeps others from reading a snapshot, and from changing it unseen.

use argon2::Argon2;
use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305};
use secrecy::{ExposeSecret, SecretBox, SecretSlice};
use zeroize::{Zeroize, Zeroizing};

use super::container::{Lock, Sealing};
use super::error::SnapshotError;
use crate::ids;

/// How a snapshot's bytes are protected. Secrets are not shown by `Debug` and are wiped from memory when they are dropped.
#[derive(Debug, Default)]
pub enum Seal {
    /// Not at all: anyone can read them. The checksum finds accidents, not what someone changes on purpose.
    #[default]
    Plain,
    /// By a key.
    Key(SnapshotKey),
    /// By a passphrase.
    Passphrase(Passphrase),
}

/// A key of 32 bytes that nobody can guess: from a random source, not from a person.
#[derive(Debug)]
pub struct SnapshotKey(SecretBox<[u8; 32]>);

impl SnapshotKey {
    /// How many bytes a key has.
    pub const BYTES: usize = 32;

    /// This key.
    pub fn new(mut bytes: [u8; Self::BYTES]) -> Self {
        let key = Self(SecretBox::init_with_mut(|key: &mut [u8; Self::BYTES]| *key = bytes));
        bytes.zeroize();
        key
    }
}

/// Something that a person remembers. The key is derived from it by argon2id with a random salt.
#[derive(Debug)]
pub struct Passphrase {
    secret: SecretSlice<u8>,
    cost: PassphraseCost,
    most: PassphraseCost,
}

impl Passphrase {
    /// This passphrase, byte for byte, at the default cost.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self { secret: secret.into().into(), cost: PassphraseCost::default(), most: PassphraseCost::MOST }
    }

    /// The same at another cost. It counts for what is sealed; a snapshot that is opened says itself what it costs.
    pub fn cost(self, cost: PassphraseCost) -> Self {
        Self { cost, ..self }
    }

    /// The same, but a snapshot that costs more than this to open is refused with [`SnapshotError::Cost`]. The default is
    /// [`PassphraseCost::MOST`]. For servers: the snapshot's header chooses the cost, and its sender may want to keep others
    /// busy.
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

/// What it costs to try a passphrase, for its owner and for whoever guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassphraseCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// How often the memory is gone through.
    pub passes: u32,
    /// Into how many lanes the memory is divided.
    pub lanes: u32,
}

impl PassphraseCost {
    /// More is refused, also where a snapshot asks for it: whoever made it may want to keep others busy.
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
    /// 64 MiB and three passes, as RFC 9106 recommends where memory is not plenty; in one lane, because lanes would only
    /// help someone who computes them side by side.
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 1 }
    }
}

impl Seal {
    /// What this seals with, in a word that holds no secret.
    pub fn sealing(&self) -> Sealing {
        match self {
            Self::Plain => Sealing::Plain,
            Self::Key(_) => Sealing::Key,
            Self::Passphrase(passphrase) => Sealing::Passphrase(passphrase.cost),
        }
    }

    /// A lock for a new snapshot. No two are alike.
    pub(super) fn new_lock(&self) -> Result<Lock, SnapshotError> {
        Ok(match self {
            Self::Plain => Lock::Plain,
            Self::Key(_) => Lock::Key { nonce: random()? },
            Self::Passphrase(Passphrase { cost, .. }) => {
                Lock::Passphrase { cost: *cost, salt: random()?, nonce: random()? }
            }
        })
    }

    /// What encrypts and decrypts behind this lock. Nothing where there is neither lock nor secret.
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
        // What the cipher refuses is longer than its counter: 256 GiB.
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

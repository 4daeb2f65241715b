//! The stored form of vectors: each space has a second log, `vectors/…`, which lists leave out.
//!
//! The first record names the model. Each later one has a batch of vectors, each under the hash of its text.

use corkboard_core::SpaceId;
use serde::{Deserialize, Serialize};

use super::{TextHash, Vector};

/// A record of a log of vectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum VectorRecord {
    Model(String),
    Vectors(Vec<(TextHash, Vector)>),
}

#[derive(Serialize, Deserialize)]
struct ModelRecord {
    model: String,
}

/// Begins a record of vectors, so that it is not taken for JSON. Then come the number of dimensions as u32, and for each
/// vector its hash, its scale as f32 and a byte per dimension, all little-endian.
const VECTORS: u8 = 1;

/// The log of a space's vectors. Its kind is unknown to lists, exports and servers.
pub(crate) fn vectors_of(space: &SpaceId) -> SpaceId {
    SpaceId::from_stored(&format!("vectors/{space}"))
}

impl VectorRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Model(model) => serde_json::to_vec(&ModelRecord { model: model.clone() }).unwrap_or_default(),
            Self::Vectors(vectors) => {
                let dimensions = vectors.first().map_or(0, |(_, vector)| vector.values().len());
                let mut body = vec![VECTORS];
                body.extend((dimensions as u32).to_le_bytes());
                for (hash, vector) in vectors {
                    body.extend(hash.0);
                    body.extend(vector.scale().to_le_bytes());
                    body.extend(vector.values().iter().map(|value| value.to_le_bytes()[0]));
                }
                body
            }
        }
    }

    /// `None` if a newer version wrote it, or if it is damaged.
    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        if body.first() != Some(&VECTORS) {
            return serde_json::from_slice(body).ok().map(|ModelRecord { model }| Self::Model(model));
        }
        let (dimensions, rest) = body.get(1..)?.split_first_chunk()?;
        let dimensions = u32::from_le_bytes(*dimensions) as usize;
        let one = size_of::<TextHash>() + size_of::<f32>() + dimensions;
        if rest.len() % one != 0 {
            return None;
        }
        let vectors = rest.chunks_exact(one).map(|bytes| {
            let (hash, bytes) = bytes.split_first_chunk()?;
            let (scale, bytes) = bytes.split_first_chunk()?;
            let values = bytes.iter().map(|byte| i8::from_le_bytes([*byte])).collect();
            Some((TextHash(*hash), Vector::from_stored(f32::from_le_bytes(*scale), values)?))
        });
        vectors.collect::<Option<_>>().map(Self::Vectors)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back() {
        let vectors = [[0.5, -0.25, 1.0], [1.0, 0.0, 0.0]].map(|values| Vector::new(&values).unwrap());
        let hashes = ["one", "other"].map(TextHash::of);
        for record in [
            VectorRecord::Model("openai:some \"model\"".into()),
            VectorRecord::Vectors(hashes.into_iter().zip(vectors).collect()),
            VectorRecord::Vectors(Vec::new()),
        ] {
            assert_eq!(VectorRecord::decode(&record.encode()), Some(record));
        }
    }

    #[test]
    fn damaged_records_are_refused() {
        let vector = Vector::new(&[0.5, 1.0]).unwrap();
        let whole = VectorRecord::Vectors(vec![(TextHash::of("a"), vector)]).encode();
        for end in 0..whole.len() {
            let read = VectorRecord::decode(&whole[..end]);
            assert!(read.is_none() || read == Some(VectorRecord::Vectors(Vec::new())), "{end}: {read:?}");
        }
        let mut endless = whole;
        let scale = 5 + size_of::<TextHash>();
        endless[scale..scale + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(VectorRecord::decode(&endless), None);
        assert_eq!(VectorRecord::decode(b"\x02new"), None);
    }
}

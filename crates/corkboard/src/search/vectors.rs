//! Vectors of the configured embedding model: one row of bytes per document, in one block of memory.

use std::collections::{HashMap, HashSet};

use super::document::Document;

/// Longer texts have the vector of their beginning.
const MAX_TEXT_BYTES: usize = 8 * 1024;

/// A vector of length 1: values from -127 to 127, and the factor to multiply them with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vector {
    scale: f32,
    values: Box<[i8]>,
}

/// Identifies a text that is embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct TextHash(pub(crate) [u8; 16]);

impl TextHash {
    pub(crate) fn of(text: &str) -> Self {
        let hash = blake3::hash(text.as_bytes());
        Self(hash.as_bytes().first_chunk().copied().unwrap_or_default())
    }
}

impl Vector {
    /// `None` if the values have no direction: they are zero, or not all numbers.
    pub(crate) fn new(values: &[f32]) -> Option<Self> {
        let largest = values.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        if largest == 0.0 || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        // Divided first, so that large values do not overflow.
        let length = values.iter().map(|value| (value / largest).powi(2)).sum::<f32>().sqrt();
        let values = values.iter().map(|value| (value / largest * 127.0).round() as i8).collect();
        Some(Self { values, scale: 1.0 / (length * 127.0) })
    }

    /// `None` if the scale cannot be that of a vector.
    pub(crate) fn from_stored(scale: f32, values: Box<[i8]>) -> Option<Self> {
        (scale.is_finite() && scale > 0.0 && !values.is_empty()).then_some(Self { scale, values })
    }

    pub(crate) fn scale(&self) -> f32 {
        self.scale
    }

    pub(crate) fn values(&self) -> &[i8] {
        &self.values
    }
}

/// What a model reads of a document.
pub(crate) fn embedded_text(document: &Document<'_>) -> String {
    let mut text = String::new();
    let is_said = document.session.is_some() && !document.author.is_empty();
    let heading = std::iter::once(document.author).filter(|_| is_said);
    for part in heading.chain(document.tags.iter().map(|tag| &**tag)) {
        text.push_str(part);
        text.push_str(": ");
    }
    text.push_str(&document.body);
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// The vectors of an index's documents, by slot.
#[derive(Default)]
pub(super) struct VectorRows {
    dimensions: usize,
    values: Vec<i8>,
    /// 0: no vector.
    scales: Vec<f32>,
    hashes: Vec<TextHash>,
    /// The documents with each text.
    slots: HashMap<TextHash, Vec<u32>>,
    /// Number of documents without a vector.
    missing: usize,
    /// Texts that the model refused. They are not sent again while this index exists.
    refused: HashSet<TextHash>,
}

impl VectorRows {
    pub(super) fn put(&mut self, slot: u32, document: &Document<'_>) {
        let (hash, at) = (TextHash::of(&embedded_text(document)), slot as usize);
        if self.scales.len() <= at {
            self.scales.resize(at + 1, 0.0);
            self.hashes.resize(at + 1, TextHash::default());
            self.values.resize((at + 1) * self.dimensions, 0);
        }
        let others = self.slots.entry(hash).or_default();
        let same = others.first().copied();
        others.push(slot);
        if let Some(place) = self.hashes.get_mut(at) {
            *place = hash;
        }
        self.missing += 1;
        if let Some(vector) = same.and_then(|same| self.vector(same)) {
            self.fill(slot, &vector);
        }
    }

    pub(super) fn remove(&mut self, slot: u32) {
        let (Some(hash), Some(scale)) = (self.hashes.get(slot as usize), self.scales.get_mut(slot as usize)) else {
            return;
        };
        self.missing -= usize::from(*scale == 0.0);
        *scale = 0.0;
        if let Some(slots) = self.slots.get_mut(hash) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                self.refused.remove(hash);
                self.slots.remove(hash);
            }
        }
    }

    /// Sets the vector of all documents with a text.
    pub(super) fn set(&mut self, hash: &TextHash, vector: &Vector) {
        for slot in self.slots.get(hash).cloned().unwrap_or_default() {
            self.fill(slot, vector);
        }
    }

    fn fill(&mut self, slot: u32, vector: &Vector) {
        if self.dimensions == 0 {
            self.dimensions = vector.values.len();
            self.values = vec![0; self.scales.len() * self.dimensions];
        }
        let start = slot as usize * self.dimensions;
        if let Some(row) = self.values.get_mut(start..start + self.dimensions)
            && let Some(scale) = self.scales.get_mut(slot as usize)
            && row.len() == vector.values.len()
        {
            row.copy_from_slice(&vector.values);
            self.missing -= usize::from(*scale == 0.0);
            *scale = vector.scale;
        }
    }

    /// Forgets all vectors.
    pub(super) fn clear(&mut self) {
        self.dimensions = 0;
        self.values = Vec::new();
        self.scales.fill(0.0);
        self.refused.clear();
        self.missing = self.slots.values().map(Vec::len).sum();
    }

    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// Notes that the model refused a text.
    pub(super) fn refuse(&mut self, hash: TextHash) {
        self.refused.insert(hash);
    }

    /// Number of documents whose text the model refused.
    pub(super) fn refused(&self) -> usize {
        self.refused.iter().filter_map(|hash| self.slots.get(hash)).map(Vec::len).sum()
    }

    /// The hash of a document's text, if it has no vector and the model did not refuse it.
    pub(super) fn missing_at(&self, slot: u32) -> Option<TextHash> {
        self.scales.get(slot as usize).filter(|scale| **scale == 0.0)?;
        self.hashes.get(slot as usize).copied().filter(|hash| !self.refused.contains(hash))
    }

    pub(super) fn has_text(&self, hash: &TextHash) -> bool {
        self.slots.contains_key(hash)
    }

    /// The vectors of all texts that have one.
    pub(super) fn all(&self) -> impl Iterator<Item = (TextHash, Vector)> {
        self.slots.iter().filter_map(|(hash, slots)| Some((*hash, self.vector(*slots.first()?)?)))
    }

    fn vector(&self, slot: u32) -> Option<Vector> {
        let (scale, row) = self.row(slot)?;
        Some(Vector { scale, values: row.into() })
    }

    fn row(&self, slot: u32) -> Option<(f32, &[i8])> {
        let scale = self.scales.get(slot as usize).copied().filter(|scale| *scale > 0.0)?;
        let start = slot as usize * self.dimensions;
        Some((scale, self.values.get(start..start + self.dimensions)?))
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The cosine of a document's vector with another one; `None` without a vector.
    pub(super) fn cosine(&self, slot: u32, other: &Vector) -> Option<f32> {
        let (scale, row) = self.row(slot)?;
        Some(dot(row, &other.values) as f32 * scale * other.scale)
    }

    pub(super) fn bytes(&self) -> u64 {
        /// Hash, scale and the place in the map.
        const PER_TEXT: u64 = 80;
        self.values.len() as u64 + self.scales.len() as u64 * PER_TEXT
    }
}

fn dot(mine: &[i8], its: &[i8]) -> i32 {
    mine.iter().zip(its).map(|(mine, its)| i32::from(*mine) * i32::from(*its)).sum()
}

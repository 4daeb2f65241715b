//! Numbers in JSON, including NaN and the infinities, which JSON does not have. They must arrive as they were sent, so
//! that the command is refused; otherwise they would look like missing values.

use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// The numbers that JSON cannot express, and the text used for each.
const NAMED: [(f32, &str); 3] = [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")];

fn name(number: f32) -> Option<&'static str> {
    NAMED
        .iter()
        .find(|(named, _)| named.total_cmp(&number).is_eq() || (named.is_nan() && number.is_nan()))
        .map(|(_, name)| *name)
}

pub(crate) fn serialize<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    match name(*number) {
        Some(name) => serializer.serialize_str(name),
        None => serializer.serialize_f32(*number),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    deserializer.deserialize_any(Number)
}

/// For optional numbers.
pub(crate) mod optional {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(number: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => super::serialize(number, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
        deserializer.deserialize_option(Optional)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f32, E> {
        Ok(number as f32)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f32, E> {
        Ok(number as f32)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f32, E> {
        Ok(number as f32)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f32, E> {
        let named = NAMED.iter().find(|(_, name)| *name == text).map(|(number, _)| *number);
        named.ok_or_else(|| E::invalid_type(serde::de::Unexpected::Str(text), &self))
    }
}

struct Optional;

impl<'de> Visitor<'de> for Optional {
    type Value = Option<f32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserialize(deserializer).map(Some)
    }
}

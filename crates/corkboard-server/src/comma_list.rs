//! A parameter with one or more values, separated by commas.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer};

/// `status=pending,review`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommaList<T>(pub(crate) Vec<T>);

impl<T: PartialEq> CommaList<T> {
    /// The only value, if there is one.
    pub(crate) fn only(&self) -> Option<&T> {
        let [only] = self.0.as_slice() else { return None };
        Some(only)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for CommaList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let values = text.split(',').map(|value| {
            let value: StrDeserializer<'_, D::Error> = value.trim().into_deserializer();
            T::deserialize(value)
        });
        values.collect::<Result<_, _>>().map(Self)
    }
}

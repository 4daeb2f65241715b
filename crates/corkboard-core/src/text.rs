//! Enums and IDs that are written as text.

/// `as_str` and `Display` of an enum without data.
macro_rules! enum_text {
    ($type:ty { $($variant:ident => $text:literal,)* }) => {
        impl $type {
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Serializes a value as the text that `Display` writes and `FromStr` reads.
macro_rules! json_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                alloc::string::String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use {enum_text, json_text};

//! Parts of bodies in which nothing is unknown: a name that is misspelt is an error, not a default.

use std::borrow::Cow;

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// What the library takes, of which a body says nothing that it does not know. The library's own types are read from logs,
/// too, and pass over what a newer one wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known<T>(pub(crate) T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Map::<String, Value>::deserialize(deserializer)?;
        let fields = fields_of::<T>();
        match object.keys().find(|name| !fields.contains(&name.as_str())) {
            Some(other) => Err(D::Error::unknown_field(other, fields)),
            None => serde_json::from_value(Value::Object(object)).map(Self).map_err(D::Error::custom),
        }
    }
}

impl<T: PartialSchema> PartialSchema for Known<T> {
    fn schema() -> RefOr<Schema> {
        let mut schema = T::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
        schema
    }
}

impl<T: ToSchema> ToSchema for Known<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("{}Body", T::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}

/// The names of a struct's fields, as it says them to whoever deserializes it.
fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let asked = T::deserialize(Fields { fields: &mut fields });
    debug_assert!(asked.is_err(), "nothing can be made of nothing");
    fields
}

/// Hands nothing out, and keeps what it is asked for.
struct Fields<'a> {
    fields: &'a mut &'static [&'static str],
}

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("only the names of fields are asked for"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.fields = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

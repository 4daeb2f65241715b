//! Strict parsing of JSON from outside: unknown fields are errors at any depth. The types cannot refuse them themselves
//! (`deny_unknown_fields`): they are also the types of the log, where fields of newer versions must be ignored. Arrays
//! are not accepted in place of objects either: serde would assign their items to the fields in order, and accept an
//! empty one for an object of optional fields.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};

/// A value parsed strictly: unknown fields are errors, and so are arrays in place of objects. Every error names its
/// position: `tasks[0].title: invalid type: …`.
///
/// Like `deny_unknown_fields`, it cannot check what serde buffers: the content of flattened fields and of internally
/// tagged enums.
///
/// ```
/// # use corkboard::{Strict, boards::NewTask};
/// let read = serde_json::from_str::<Strict<NewTask>>(r#"{"title": "Ship it", "prio": 1}"#);
/// assert!(read.unwrap_err().to_string().starts_with("prio: unknown field"));
/// let read = serde_json::from_str::<Strict<NewTask>>(r#"[null, "Ship it"]"#);
/// assert!(read.unwrap_err().to_string().starts_with("invalid type: array, expected a JSON object"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Strict<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Strict<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json_path = JsonPath::default();
        let read = T::deserialize(Tracked { inner: deserializer, json_path: &json_path });
        read.map(Self).map_err(|error| match json_path.path() {
            path if path.is_empty() => error,
            path => D::Error::custom(format!("{path}: {error}")),
        })
    }
}

/// The current position of the parser.
#[derive(Default)]
struct JsonPath {
    /// The path to the error, innermost step first, because it is collected while the error propagates outwards.
    steps: RefCell<Vec<PathStep>>,
    /// Whether the next string is a name.
    is_name: Cell<bool>,
    /// The last name.
    name: RefCell<String>,
    /// The fields of the object whose value is being read, as far as they are known.
    known: Cell<&'static [&'static str]>,
}

enum PathStep {
    Name(String),
    Index(usize),
}

impl JsonPath {
    fn went_wrong<E>(&self, step: PathStep) -> impl FnOnce(E) -> E {
        move |error| {
            self.steps.borrow_mut().push(step);
            error
        }
    }

    fn note_name(&self, text: &str) {
        if self.is_name.take() {
            let mut name = self.name.borrow_mut();
            name.clear();
            name.push_str(text);
        }
    }

    /// Reads a name and stores it in `name`.
    fn read_name<T>(&self, name: &mut String, read: impl FnOnce() -> T) -> T {
        self.is_name.set(true);
        let read = read();
        self.is_name.set(false);
        std::mem::swap(name, &mut self.name.borrow_mut());
        read
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.borrow().iter().rev() {
            match step {
                PathStep::Name(name) if path.is_empty() => path.push_str(name),
                PathStep::Name(name) => path.extend([".", name]),
                PathStep::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }
}

/// A part of the parser, with its position.
struct Tracked<'t, I> {
    inner: I,
    json_path: &'t JsonPath,
}

macro_rules! hand_on {
    ($($method:ident($($name:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Tracked { inner: visitor, json_path: self.json_path })
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tracked<'_, D> {
    type Error = D::Error;

    hand_on! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf() deserialize_option() deserialize_unit() deserialize_seq()
        deserialize_map() deserialize_identifier()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(name, fields, Fields { inner: visitor, json_path: self.json_path, fields })
    }

    /// serde ignores exactly the values of unknown fields.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, D::Error> {
        Err(D::Error::custom(match self.json_path.known.get() {
            [] => "unknown field".into(),
            [only] => format!("unknown field; the only field is `{only}`"),
            known => format!("unknown field; must be one of `{}`", known.join("`, `")),
        }))
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! pass {
    ($($method:ident($($value:ident: $type:ty)?))*) => {
        $(fn $method<E: Error>(self, $($value: $type)?) -> Result<V::Value, E> {
            self.inner.$method($($value)?)
        })*
    };
}

/// Methods that read a string, which may be the name of a field or variant.
macro_rules! note_name {
    ($($method:ident($type:ty))*) => {
        $(fn $method<E: Error>(self, text: $type) -> Result<V::Value, E> {
            self.json_path.note_name(&text);
            self.inner.$method(text)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Tracked<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    pass! {
        visit_bool(value: bool) visit_i8(value: i8) visit_i16(value: i16) visit_i32(value: i32) visit_i64(value: i64)
        visit_i128(value: i128) visit_u8(value: u8) visit_u16(value: u16) visit_u32(value: u32) visit_u64(value: u64)
        visit_u128(value: u128) visit_f32(value: f32) visit_f64(value: f64) visit_char(value: char)
        visit_bytes(value: &[u8]) visit_borrowed_bytes(value: &'de [u8]) visit_byte_buf(value: Vec<u8>)
        visit_none() visit_unit()
    }

    note_name! { visit_str(&str) visit_borrowed_str(&'de str) visit_string(String) }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Tracked { inner: deserializer, json_path: self.json_path })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Tracked { inner: deserializer, json_path: self.json_path })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Items { inner: items, json_path: self.json_path, index: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(ObjectFields { inner: fields, json_path: self.json_path, name: String::new(), known: &[] })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(Tracked { inner: variant, json_path: self.json_path })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Tracked<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Tracked { inner: deserializer, json_path: self.json_path })
    }
}

/// A visitor that accepts only an object.
struct Fields<'t, V> {
    inner: V,
    json_path: &'t JsonPath,
    fields: &'static [&'static str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Fields<'_, V> {
    type Value = V::Value;

    /// Does not name the Rust type, which means nothing to the sender.
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _items: A) -> Result<V::Value, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Other("array"), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(ObjectFields {
            inner: fields,
            json_path: self.json_path,
            name: String::new(),
            known: self.fields,
        })
    }
}

/// The items of a list, with the current index.
struct Items<'t, I> {
    inner: I,
    json_path: &'t JsonPath,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let index = self.index;
        self.index += 1;
        let item = self.inner.next_element_seed(Tracked { inner: seed, json_path: self.json_path });
        item.map_err(self.json_path.went_wrong(PathStep::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The fields of an object, or the content of an enum's variant, with the last name read.
struct ObjectFields<'t, I> {
    inner: I,
    json_path: &'t JsonPath,
    name: String,
    known: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for ObjectFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Self { inner, json_path, name, .. } = self;
        json_path.read_name(name, || inner.next_key_seed(Tracked { inner: seed, json_path }))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.json_path.known.set(self.known);
        let value = self.inner.next_value_seed(Tracked { inner: seed, json_path: self.json_path });
        value.map_err(|error| self.json_path.went_wrong(PathStep::Name(self.name.clone()))(error))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 't, A: EnumAccess<'de>> EnumAccess<'de> for Tracked<'t, A> {
    type Error = A::Error;
    type Variant = ObjectFields<'t, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let Self { inner, json_path } = self;
        let mut name = String::new();
        let (value, variant) =
            json_path.read_name(&mut name, || inner.variant_seed(Tracked { inner: seed, json_path }))?;
        Ok((value, ObjectFields { inner: variant, json_path, name, known: &[] }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for ObjectFields<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant().map_err(self.json_path.went_wrong(PathStep::Name(self.name)))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let content = self.inner.newtype_variant_seed(Tracked { inner: seed, json_path: self.json_path });
        content.map_err(self.json_path.went_wrong(PathStep::Name(self.name)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let content = self.inner.tuple_variant(len, Tracked { inner: visitor, json_path: self.json_path });
        content.map_err(self.json_path.went_wrong(PathStep::Name(self.name)))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let content = self.inner.struct_variant(fields, Fields { inner: visitor, json_path: self.json_path, fields });
        content.map_err(self.json_path.went_wrong(PathStep::Name(self.name)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what does not hold in a test ends the test")]
mod tests {
    use std::collections::BTreeMap;

    use corkboard_core::Content;
    use serde::de::DeserializeOwned;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Shelf {
        name: String,
        #[serde(default)]
        books: Vec<Book>,
        #[serde(default)]
        by_year: BTreeMap<u64, Book>,
        note: Option<Content>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Book {
        title: String,
        bound: Option<Binding>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Binding {
        Cloth,
        Leather { color: String },
        Of(Box<Book>),
        Two(u8, u8),
    }

    fn wrong<T: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
        serde_json::from_str::<Strict<T>>(json).unwrap_err().to_string()
    }

    #[test]
    fn known_fields_are_parsed_as_by_serde() {
        let json = r#"{"name":"A","books":[{"title":"B","bound":"cloth"},{"title":"C","bound":{"leather":{"color":"red"}}},
            {"title":"D","bound":{"of":{"title":"E","bound":{"two":[1,2]}}}},{"title":"F","bound":null}],
            "by_year":{"1999":{"title":"G"}},"note":{"any":[{"thing":1}]}}"#;
        let Strict(strict) = serde_json::from_str::<Strict<Shelf>>(json).unwrap();
        assert_eq!(strict, serde_json::from_str::<Shelf>(json).unwrap());
        let Strict(strict) = serde_json::from_value::<Strict<Shelf>>(serde_json::from_str(json).unwrap()).unwrap();
        assert_eq!(strict, serde_json::from_str::<Shelf>(json).unwrap());
    }

    #[test]
    fn errors_name_their_position() {
        for (json, expected) in [
            (r#"{"name":"A","nme":1}"#, "nme: unknown field; must be one of `name`, `books`, `by_year`, `note` at"),
            (
                r#"{"name":"A","books":[{"title":"B"},{"title":"C","colour":{}}]}"#,
                "books[1].colour: unknown field; must be one of `title`, `bound` at",
            ),
            (
                r#"{"name":"A","books":[{"title":"B","bound":{"leather":{"color":"red","thick":true}}}]}"#,
                "books[0].bound.leather.thick: unknown field; the only field is `color` at",
            ),
            (
                r#"{"name":"A","books":[{"title":"B","bound":{"of":{"title":"C","x":1}}}]}"#,
                "books[0].bound.of.x: unknown field; must be one of `title`, `bound` at",
            ),
            (r#"{"name":3}"#, "name: invalid type: integer `3`, expected a string at"),
            (r#"{}"#, "missing field `name` at"),
            (r#"{"name":"A","books":[{}]}"#, "books[0]: missing field `title` at"),
            (r#"{"name":"A","books":[{"title":"B","bound":"paper"}]}"#, "books[0].bound: unknown variant `paper`"),
            (r#"{"name":"A","books":[{"title":"B","bound":{"two":[1]}}]}"#, "books[0].bound.two: invalid length 1"),
            (r#"{"name":"A","books":[tru]}"#, "books[0]: expected ident at"),
            (r#"[]"#, "invalid type: array, expected a JSON object at"),
            (r#"["A",[],{},null]"#, "invalid type: array, expected a JSON object at"),
            (r#"null"#, "invalid type: null, expected a JSON object at"),
            (r#"{"name":"A","books":[["B",null]]}"#, "books[0]: invalid type: array, expected a JSON object at"),
            (
                r#"{"name":"A","books":[{"title":"B","bound":{"leather":["red"]}}]}"#,
                "books[0].bound.leather: invalid type: array, expected a JSON object at",
            ),
        ] {
            let said = wrong::<Shelf>(json);
            assert!(said.starts_with(expected), "{json}: {said}");
        }
    }
}

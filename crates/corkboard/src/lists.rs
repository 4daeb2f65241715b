//! JSON for programs that read it: empty lists are written out.
//!
//! Stored formats omit empty lists, and most types are both stored and shown. [`WithLists`] shows such a value without
//! changing how it is stored: serde tells a serializer which field of which struct it skips, and this one writes `[]` there.

use corkboard_core::notebook::Progress;
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// The lists that the stored form of a struct omits when they are empty, by the struct's name.
const OMITTED: &[(&str, &[&str])] = &[
    ("Attempt", &["problems"]),
    ("Block", &["learnings", "archived_learnings", "snippets", "archived_snippets"]),
    ("BoardImage", &["approvals", "nudges", "learnings"]),
    ("BoardInfo", &["drawn"]),
    ("CoreEntry", &["tags"]),
    ("CoreEntryData", &["tags"]),
    ("EntryData", &["tags"]),
    ("Grants", &["agents", "boards", "cores"]),
    ("NewBoard", &["constraints", "cores", "drawn"]),
    ("NewCoreEntry", &["tags", "contributors"]),
    ("NewDecision", &["alternatives", "affects_tasks"]),
    ("NewDiscovery", &["affects_tasks"]),
    ("NewTask", &["depends_on"]),
    ("Notebook", &["learnings", "snippets", "archived_learnings", "archived_snippets"]),
    ("NotebookContent", &["learnings", "snippets"]),
    ("NotebookUpdate", &["learnings", "archived_learnings", "snippets", "archived_snippets"]),
    ("Nudge", &["delivered", "acknowledged"]),
    ("Progress", &["completed", "in_progress", "remaining"]),
    ("Provenance", &["edited_by"]),
    ("Task", &["setbacks"]),
    ("TaskResult", &["next_steps"]),
    ("UpdateReport", &["skipped", "changes"]),
];

/// The structs whose stored form omits their progress when it is empty: three lists.
const WITH_PROGRESS: [&str; 2] = ["Notebook", "NotebookContent"];

/// A value that is serialized with its empty lists.
#[derive(Debug, Clone, Copy)]
pub struct WithLists<T>(pub T);

impl<T: Serialize> Serialize for WithLists<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Lists(serializer))
    }
}

/// Serializes a value with its empty lists. For `#[serde(flatten, serialize_with = "…")]`: serde does not tell which fields
/// of a flattened struct it skips.
pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize(Lists(serializer))
}

struct Lists<S>(S);

/// A struct that is being serialized, its name, and the lists that it omits.
struct Fields<S> {
    inner: S,
    name: &'static str,
    omitted: &'static [&'static str],
}

impl<S> Fields<S> {
    fn of(name: &'static str, inner: S) -> Self {
        let found = OMITTED.iter().find(|(omits, _)| *omits == name);
        Self { inner, name, omitted: found.map_or(&[], |(_, omitted)| omitted) }
    }
}

const EMPTY: [(); 0] = [];

/// Methods that only hand on what they are given.
macro_rules! forward {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($name),*)
        })*
    };
}

/// Methods that hand on a value with its empty lists.
macro_rules! forward_value {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $method<T: Serialize + ?Sized>(self, $($name: $type,)* value: &T) -> Result<S::Ok, S::Error> {
            self.0.$method($($name,)* &WithLists(value))
        })*
    };
}

/// Methods that begin something with values of its own.
macro_rules! begin {
    ($($method:ident($($name:ident: $type:ty),*) -> $compound:ident;)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<Self::$compound, S::Error> {
            self.0.$method($($name),*).map(Lists)
        })*
    };
}

impl<S: Serializer> Serializer for Lists<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Lists<S::SerializeSeq>;
    type SerializeTuple = Lists<S::SerializeTuple>;
    type SerializeTupleStruct = Lists<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Lists<S::SerializeTupleVariant>;
    type SerializeMap = Lists<S::SerializeMap>;
    type SerializeStruct = Fields<S::SerializeStruct>;
    type SerializeStructVariant = Lists<S::SerializeStructVariant>;

    forward! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_i128(value: i128);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_u128(value: u128);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_str(value: &str);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    forward_value! {
        serialize_some();
        serialize_newtype_struct(name: &'static str);
        serialize_newtype_variant(name: &'static str, index: u32, variant: &'static str);
    }

    begin! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeStructVariant;
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        // An empty struct is written as `{}` at once if nothing is said to follow.
        let omitted = Fields::of(name, ()).omitted.len();
        self.0.serialize_struct(name, len + omitted).map(|inner| Fields::of(name, inner))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Something that takes one value after the other.
macro_rules! take_values {
    ($($trait:ident: $method:ident($($key:ident)?);)*) => {
        $(impl<S: $trait> $trait for Lists<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? value: &T) -> Result<(), S::Error> {
                self.0.$method($($key,)? &WithLists(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })*
    };
}

take_values! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStructVariant: serialize_field(key);
}

impl<S: SerializeMap> SerializeMap for Lists<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&WithLists(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

impl<S: SerializeStruct> SerializeStruct for Fields<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), S::Error> {
        self.inner.serialize_field(key, &WithLists(value))
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
        if self.omitted.contains(&key) {
            self.inner.serialize_field(key, &EMPTY)
        } else if key == "progress" && WITH_PROGRESS.contains(&self.name) {
            self.inner.serialize_field(key, &WithLists(Progress::default()))
        } else {
            self.inner.skip_field(key)
        }
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.inner.end()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what does not hold in a test ends the test")]
mod tests {
    use super::*;
    use corkboard_core::notebook::Notebook;
    use serde::Serialize;
    use serde_json::json;
    use std::path::Path;

    #[derive(Serialize)]
    struct Flat<'a> {
        name: &'a str,
        #[serde(flatten, serialize_with = "serialize")]
        notebook: &'a Notebook,
        raw: Box<serde_json::value::RawValue>,
    }

    #[test]
    fn empty_lists_are_written_and_nothing_else_changes() {
        let notebook = Notebook::default();
        let plain = serde_json::to_value(&notebook).unwrap();
        let mut expected = plain.clone();
        for list in ["learnings", "snippets", "archived_learnings", "archived_snippets"] {
            assert!(plain.get(list).is_none(), "{list}");
            expected[list] = json!([]);
        }
        expected["progress"] = json!({"completed": [], "in_progress": [], "remaining": []});
        assert_eq!(serde_json::to_value(WithLists(&notebook)).unwrap(), expected);
        // Below others, flattened, and beside JSON that is somebody's own.
        let raw = serde_json::value::RawValue::from_string("{ \"a\":  1.50 }".into()).unwrap();
        let flat = serde_json::to_string(&WithLists(vec![Flat { name: "n", notebook: &notebook, raw }])).unwrap();
        assert!(flat.contains("\"learnings\":[]") && flat.contains("{ \"a\":  1.50 }"), "{flat}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&flat).unwrap()[0]["progress"], expected["progress"]);
    }

    /// Every list that is skipped when it is empty is in the table, or is never shown.
    #[test]
    fn no_skipped_list_is_missing_from_the_table() {
        // Answers to other Corkboards, and health checks.
        let not_shown = ["AnswerDocument.warnings", "Health.warnings", "CoreEvent.provenance"];
        let mut known: Vec<String> = not_shown.iter().map(ToString::to_string).collect();
        known.extend(OMITTED.iter().flat_map(|(name, lists)| lists.iter().map(move |list| format!("{name}.{list}"))));
        let mut found = Vec::new();
        for krate in ["corkboard-core", "corkboard", "corkboard-server", "corkboard-cli"] {
            skipped_lists(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src"), &mut found);
        }
        assert!(found.len() > 20, "{found:?}");
        found.retain(|list| !known.contains(list));
        assert!(found.is_empty(), "add them to OMITTED, or always write them: {found:?}");
    }

    fn skipped_lists(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                skipped_lists(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let (mut name, mut is_skipped) = (String::new(), false);
            for line in text.lines().map(str::trim) {
                let item = line
                    .split_once("struct ")
                    .or_else(|| line.split_once("enum "))
                    .filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
                if let Some((_, rest)) = item {
                    name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
                }
                if line.starts_with("#[serde(") {
                    is_skipped |= line.contains("is_empty\"");
                } else if is_skipped && !line.starts_with("//") && !line.starts_with('#') {
                    is_skipped = false;
                    let (field, kind) = line.split_once(':').unwrap_or_default();
                    if kind.contains("Vec<") || kind.contains('[') {
                        found.push(format!("{name}.{}", field.trim_start_matches("pub ")));
                    }
                }
            }
        }
    }
}

//! An entry: a JSON value under a key, with its metadata.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::id::{check_principal, check_tag, check_visible};
use crate::json::json_depth;
use crate::knowledge::Trust;
use crate::{Actor, EntryId, LimitName, Limits, Refusal};

/// A JSON value as text on one line, shared and immutable.
#[derive(Clone)]
pub struct Content(Arc<RawValue>);

impl Content {
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        to_raw_value(value).map(Self::on_one_line)
    }

    /// Parses text that must be one JSON value.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Box<RawValue>>(json).map(Self::on_one_line)
    }

    pub(crate) fn null() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }

    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// The value as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_json())
    }

    /// The text, if the value is a JSON string.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        serde_json::from_str::<TextOf<'_>>(self.as_json()).ok().map(|text| text.0)
    }

    /// The nesting depth of arrays and objects: 0 for a text or a number, 1 for `[]`.
    pub fn depth(&self) -> u64 {
        json_depth(self.as_json())
    }

    /// The kind of JSON value, in words.
    pub fn kind_of_value(&self) -> &'static str {
        match self.as_json().bytes().next() {
            Some(b'"') => "text",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// Removes line breaks, because a log record is one line. In valid JSON, bare line breaks occur only between
    /// tokens.
    fn on_one_line(raw: Box<RawValue>) -> Self {
        let is_line_end = |byte: u8| matches!(byte, b'\n' | b'\r');
        if raw.get().bytes().fold(false, |found, byte| found | is_line_end(byte)) {
            let joined = raw.get().replace(['\n', '\r'], "");
            return Self(Arc::from(RawValue::from_string(joined).unwrap_or(raw)));
        }
        Self(Arc::from(raw))
    }

    /// The JSON string with more text at its end. Only the added text is escaped; the old text is copied. So a series of
    /// small appends to a long text is cheap.
    pub(crate) fn with_appended(&self, text: &str) -> Option<Self> {
        let old = self.as_json().trim_end().strip_suffix('"')?;
        let more = serde_json::to_string(text).ok()?;
        let mut json = String::with_capacity(old.len() + more.len());
        json.push_str(old);
        json.push_str(more.strip_prefix('"')?);
        RawValue::from_string(json).ok().map(|raw| Self(Arc::from(raw)))
    }
}

#[derive(Deserialize)]
struct TextOf<'a>(#[serde(borrow)] Cow<'a, str>);

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Serialize for Content {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::on_one_line)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

/// What kind of memory an entry is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// Static knowledge.
    #[default]
    Fact,
    /// Something that happened.
    Event,
    /// A conclusion.
    Insight,
    /// A preference of a user or an agent.
    Preference,
    /// A correction of earlier information.
    Correction,
    /// Dialogue and its context.
    Conversation,
}

impl MemoryKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Event => "event",
            Self::Insight => "insight",
            Self::Preference => "preference",
            Self::Correction => "correction",
            Self::Conversation => "conversation",
        }
    }
}

/// Metadata of an entry, as a caller gives it. All fields are optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EntryMetadata {
    /// Importance, from 0 (trivial) to 1 (vital).
    #[serde(with = "crate::number::optional")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub importance: Option<f32>,
    /// Words to search and filter by.
    pub tags: Option<Vec<String>>,
    pub kind: Option<MemoryKind>,
    /// Days until the entry expires.
    pub expiry_days: Option<u32>,
    /// The time at which the entry expires.
    pub expires_at: Option<Timestamp>,
    /// Additional data of the caller.
    pub custom: Option<Map<String, Value>>,
    /// The author, if it is not the caller.
    pub author: Option<String>,
    /// The session that the entry comes from.
    pub session: Option<String>,
    /// When the content originated, if not now.
    pub at: Option<Timestamp>,
    /// How far the entry can be trusted: [`Trust::Outside`] for text from a web page, a tool or a stranger. Callers
    /// cannot give more trust than they have.
    pub trust: Option<Trust>,
}

impl EntryMetadata {
    /// The default importance.
    pub const IMPORTANCE: f32 = 0.5;

    /// The requested trust. Refused if it is more than the actor can give.
    pub(crate) fn trust_by(&self, actor: &Actor) -> Result<Option<Trust>, Refusal> {
        Trust::granted(self.trust, actor)
    }

    pub(crate) fn check(&self, now: Timestamp, limits: &Limits) -> Result<(), Refusal> {
        if let Some(importance) = self.importance
            && !(0.0..=1.0).contains(&importance)
        {
            return Err(Refusal::Importance { importance });
        }
        if let Some(tags) = &self.tags {
            Limits::check(LimitName::TagsPerEntry, tags.len() as u64, limits.tags_per_entry)?;
            tags.iter().try_for_each(|tag| check_tag(tag, limits).and(check_visible("tag", tag)))?;
        }
        for (what, name) in [("author", &self.author), ("session", &self.session)] {
            name.as_deref()
                .map_or(Ok(()), |name| check_principal(what, name, limits).and(check_visible(what, name)))?;
        }
        self.custom.as_ref().map_or(Ok(()), |custom| check_custom(custom, limits))?;
        self.expiry(now).map(|_| ())
    }

    pub(crate) fn expiry(&self, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
        let at = match (self.expiry_days, self.expires_at) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(Refusal::Expiry { reason: "give either days or a time, not both".into() });
            }
            (Some(days), None) => now
                .checked_add(SignedDuration::from_hours(i64::from(days) * 24))
                .map_err(|_| Refusal::Expiry { reason: "that many days exceed the range of the calendar".into() })?,
            (None, Some(at)) => at,
        };
        if at <= now {
            return Err(Refusal::Expiry { reason: "it must be in the future".into() });
        }
        Ok(Some(at))
    }
}

/// For fields that the stored form omits at their default.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn half() -> f32 {
    EntryMetadata::IMPORTANCE
}

pub(crate) fn is_half(importance: &f32) -> bool {
    *importance == EntryMetadata::IMPORTANCE
}

/// An entry as stored in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryData {
    /// Stays the same when the value changes.
    pub id: EntryId,
    pub value: Content,
    /// The Rust type of the value, or the kind of tool that wrote it.
    pub type_name: Arc<str>,
    #[serde(default)]
    pub kind: MemoryKind,
    /// Importance, from 0 to 1.
    #[serde(default = "half")]
    pub importance: f32,
    /// Words to search and filter by.
    #[serde(default)]
    pub tags: Vec<Arc<str>>,
    /// Additional data of the caller.
    #[serde(default)]
    pub custom: Option<Arc<Map<String, Value>>>,
    /// When the entry was created or last updated, or the time that the caller gave.
    #[serde(alias = "timestamp")]
    pub at: Timestamp,
    /// When the entry expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Who wrote the entry, unless the caller named another author.
    pub author: Arc<str>,
    /// The session that the entry comes from.
    #[serde(default)]
    pub session: Option<Arc<str>>,
    /// How far the entry can be trusted, if the caller gave that.
    #[serde(default)]
    pub trust: Option<Trust>,
}

impl EntryData {
    /// How far the entry can be trusted: by default as far as an agent.
    pub fn trust(&self) -> Trust {
        self.trust.unwrap_or_default()
    }

    /// The trust that remains when somebody else changes the text. Text from outside stays from outside. A person's
    /// trust is lost, because that person did not write the new text.
    pub fn trust_of_changed(&self) -> Option<Trust> {
        self.trust.filter(|trust| *trust == Trust::Outside)
    }

    pub fn bytes(&self) -> u64 {
        let Self {
            value,
            tags,
            custom,
            id: _,
            type_name: _,
            kind: _,
            importance: _,
            at: _,
            expires_at: _,
            author: _,
            session: _,
            trust: _,
        } = self;
        let tags: usize = tags.iter().map(|tag| tag.len()).sum();
        let custom =
            custom.as_deref().map_or(0, |map| map.iter().map(|(key, value)| key.len() + json_bytes(value)).sum());
        (value.as_json().len() + tags + custom) as u64
    }
}

/// Refuses custom data that is nested so deep that it could be stored but not read again.
pub(crate) fn check_custom(custom: &Map<String, Value>, limits: &Limits) -> Result<(), Refusal> {
    let deepest = custom.values().map(|value| levels(value, Limits::MOST_JSON_DEPTH)).max().unwrap_or(0);
    limits.check_json_depth(deepest + 1)
}

/// The nesting depth of arrays and objects, at most `most`: deeper levels are not visited.
fn levels(value: &Value, most: u64) -> u64 {
    let inside = |deepest: Option<u64>| 1 + deepest.unwrap_or(0);
    match value {
        _ if most == 0 => 0,
        Value::Array(items) => inside(items.iter().map(|item| levels(item, most - 1)).max()),
        Value::Object(map) => inside(map.values().map(|item| levels(item, most - 1)).max()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(key, item)| key.len() + json_bytes(item) + 4).sum::<usize>() + 2,
    }
}

/// An entry in the current state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Entry {
    /// The entry as stored in the log.
    #[serde(flatten)]
    pub data: EntryData,
    /// The revision that last changed the entry. Versions never repeat.
    pub version: u64,
    /// How often this process read the entry (approximate).
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::AccessForm))]
    pub access: Access,
}

impl Entry {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.data.expires_at.is_some_and(|at| at <= now)
    }
}

impl core::ops::Deref for Entry {
    type Target = EntryData;

    fn deref(&self) -> &EntryData {
        &self.data
    }
}

/// Reads of an entry (approximate). They are not part of the state: never logged, never compared, and no new version.
#[derive(Debug, Default)]
pub struct Access {
    count: AtomicU64,
    last_millisecond: AtomicI64,
}

impl Access {
    pub fn record(&self, now: Timestamp) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.last_millisecond.store(now.as_millisecond(), Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// When the entry was last read.
    pub fn last(&self) -> Option<Timestamp> {
        match self.last_millisecond.load(Ordering::Relaxed) {
            0 => None,
            millisecond => Timestamp::from_millisecond(millisecond).ok(),
        }
    }
}

impl Clone for Access {
    fn clone(&self) -> Self {
        Self {
            count: AtomicU64::new(self.count.load(Ordering::Relaxed)),
            last_millisecond: AtomicI64::new(self.last_millisecond.load(Ordering::Relaxed)),
        }
    }
}

impl PartialEq for Access {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Serialize for Access {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Access", 2)?;
        fields.serialize_field("access_count", &self.count())?;
        fields.serialize_field("last_accessed_at", &self.last())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn text_is_appended_as_json_text() {
        let content = Content::of("one \"line\"").unwrap();
        let longer = content.with_appended("\nand\u{1F600} another").unwrap();
        assert_eq!(longer.parse::<String>().unwrap(), "one \"line\"\nand\u{1F600} another");
        assert_eq!(Content::of(&5).unwrap().with_appended("x"), None);
    }

    #[test]
    fn expiry_must_be_in_the_future_and_given_once() {
        let now = Timestamp::from_millisecond(1_000_000).unwrap();
        let metadata = |days, at| EntryMetadata { expiry_days: days, expires_at: at, ..Default::default() };
        assert_eq!(metadata(Some(1), None).expiry(now).unwrap().unwrap().as_millisecond(), 87_400_000);
        assert!(metadata(Some(0), None).expiry(now).is_err());
        assert!(metadata(Some(u32::MAX), None).expiry(now).unwrap_err().to_string().contains("calendar"));
        assert!(metadata(None, Some(now)).expiry(now).is_err());
        assert!(metadata(Some(1), Some(now)).expiry(now).is_err());
    }

    #[test]
    fn importance_is_a_number_from_zero_to_one() {
        let now = Timestamp::UNIX_EPOCH;
        for importance in [f32::NAN, -0.1, 1.1, f32::INFINITY] {
            let metadata = EntryMetadata { importance: Some(importance), ..Default::default() };
            assert!(matches!(metadata.check(now, &Limits::default()), Err(Refusal::Importance { .. })));
        }
    }
}

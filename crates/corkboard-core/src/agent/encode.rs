//! A fast encoder for the most common record, one set entry. It writes the same bytes as serde.

use alloc::vec::Vec;

use super::{AgentEvent, AgentReply};
use crate::entry::{is_default, is_half};
use crate::json::JsonText;
use crate::{Commit, EntryData};

/// The approximate size of the fields without their texts.
const FIELDS: usize = 448;

/// Encodes the commit. Returns None if only serde can.
pub(super) fn encode(commit: &Commit<AgentEvent, AgentReply>) -> Option<Vec<u8>> {
    let [AgentEvent::EntrySet { scope, key, is_update, entry }] = commit.events.as_slice() else { return None };
    // Names every field, so that a new one causes a compile error until it is written or checked below.
    let EntryData { id, value, type_name, kind, importance, tags, custom, at, expires_at, author, session, trust } =
        &**entry;
    let has_optional = !tags.is_empty() || custom.is_some() || expires_at.is_some() || session.is_some();
    let is_plain = is_default(kind) && is_half(importance) && trust.is_none() && !has_optional;
    if !scope.is_root() || !is_plain {
        return None;
    }
    let texts = [key.as_str(), value.as_json(), type_name, author, &commit.actor.principal];
    let mut json = JsonText::with_capacity(FIELDS + texts.into_iter().map(str::len).sum::<usize>());
    commit.write_head(&mut json)?;
    json.raw("{\"entry_set\":{\"key\":");
    json.text(key.as_str());
    json.raw(if *is_update { ",\"is_update\":true" } else { ",\"is_update\":false" });
    json.raw(",\"entry\":{\"id\":");
    json.id(id.0);
    json.raw(",\"value\":");
    json.raw(value.as_json());
    json.raw(",\"type_name\":");
    json.text(type_name);
    json.raw(",\"kind\":\"fact\",\"importance\":0.5,\"tags\":[],\"custom\":null,\"at\":");
    json.time(*at);
    json.raw(",\"expires_at\":null,\"author\":");
    json.text(author);
    json.raw(",\"session\":null,\"trust\":null}}}]}");
    Some(json.into_bytes())
}

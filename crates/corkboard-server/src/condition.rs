//! Conditions of requests (`If-Match`, `if_rev`, …). A route refuses conditions that its description does not list.

use axum::extract::FromRequestParts;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::Response;
use corkboard::{Conditions, observe_replay};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::error::{HttpError, precondition_failed};
use crate::extract::{Query, text};

/// The parameter for the required revision of a space.
pub(crate) const IF_REV: &str = "if_rev";
const MEMORY_REV: &str = "Required revision of the memory; otherwise 409";
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Marks an answer that repeats an earlier one to the same idempotency key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What a write's headers ask of its answer.
pub(crate) struct AnswerConditions {
    compares_version: bool,
    idempotency_key: Option<String>,
}

impl AnswerConditions {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Self {
        if method.is_safe() {
            return Self { compares_version: false, idempotency_key: None };
        }
        let compares_version = headers.contains_key(IF_MATCH) || headers.contains_key(IF_NONE_MATCH);
        let key = headers.get(IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok());
        Self { compares_version, idempotency_key: key.map(str::to_owned) }
    }

    /// Turns a version conflict into 412 if a header named the version, and marks an answer that repeats an earlier
    /// one.
    pub(crate) async fn answer(self, answer: impl Future<Output = Response>) -> Response {
        let response = match self.idempotency_key {
            None => answer.await,
            Some(key) => {
                let (mut response, is_replayed) = observe_replay(key, answer).await;
                if is_replayed && response.status().is_success() {
                    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
                }
                response
            }
        };
        if self.compares_version { precondition_failed(response) } else { response }
    }
}

/// Conditions of a write to a single item that has a version.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemConditions(pub(crate) Conditions);

impl From<ItemConditions> for Conditions {
    fn from(ItemConditions(conditions): ItemConditions) -> Self {
        conditions
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ItemConditions {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        #[derive(Deserialize)]
        struct IfRev {
            if_rev: Option<u64>,
        }
        let Query(IfRev { if_rev }) = Query::from_request_parts(parts, state).await?;
        let if_version = if_version(&parts.headers)?;
        let idempotency_key = text(&parts.headers, "idempotency-key")?.map(Into::into);
        Ok(Self(Conditions { if_version, if_rev, idempotency_key }))
    }
}

/// The version that `If-Match` names; 0 for `If-None-Match: *`, which means that the item must not exist.
fn if_version(headers: &HeaderMap) -> Result<Option<u64>, HttpError> {
    let if_match = text(headers, IF_MATCH.as_str())?;
    let if_none_match = text(headers, IF_NONE_MATCH.as_str())?;
    match (if_match, if_none_match) {
        (None, None) => Ok(None),
        (None, Some("*")) => Ok(Some(0)),
        (Some(tag), None) => {
            let tag = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let version = tag.and_then(|tag| version_of(tag).parse().ok());
            let wrong = || {
                HttpError::invalid("if_match", "invalid If-Match: expected one version in quotes, as in ETag: \"42\"")
            };
            version.map(Some).ok_or_else(wrong)
        }
        (None, Some(_)) => {
            Err(HttpError::invalid("if_none_match", "invalid If-None-Match: expected * (the item must not exist)"))
        }
        (Some(_), Some(_)) => Err(HttpError::invalid("if_match", "send If-Match or If-None-Match, not both")),
    }
}

impl IntoParams for ItemConditions {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![if_match(), if_none_match("`*`: only if it does not exist"), if_rev(MEMORY_REV), idempotency_key()]
    }
}

/// Conditions of a write that is not limited to a single item: `if_version` is never set.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpaceConditions(pub(crate) Conditions);

impl From<SpaceConditions> for Conditions {
    fn from(SpaceConditions(conditions): SpaceConditions) -> Self {
        conditions
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SpaceConditions {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let ItemConditions(conditions) = ItemConditions::from_request_parts(parts, state).await?;
        Ok(Self(conditions))
    }
}

impl SpaceConditions {
    /// Refuses all conditions, for a write that supports none.
    pub(crate) fn nothing(&self, why: &str) -> Result<(), HttpError> {
        match self.0 == Conditions::default() {
            true => Ok(()),
            false => Err(HttpError::invalid("condition", format!("{why}; nothing was changed"))),
        }
    }
}

impl IntoParams for SpaceConditions {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![if_rev(MEMORY_REV), idempotency_key()]
    }
}

/// Conditions of an idempotent write: the item's version and the space's revision.
pub(crate) struct PutConditions;

impl IntoParams for PutConditions {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![if_match(), if_none_match("`*`: only if it does not exist"), if_rev(MEMORY_REV)]
    }
}

/// Condition of a repeatable operation whose answer is not remembered, so it takes no idempotency key.
#[derive(Debug, Clone, Default)]
pub(crate) struct RevCondition {
    /// `?if_rev=`: the required revision of the space.
    pub(crate) if_rev: Option<u64>,
}

impl<S: Send + Sync> FromRequestParts<S> for RevCondition {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let SpaceConditions(Conditions { if_rev, .. }) = SpaceConditions::from_request_parts(parts, state).await?;
        Ok(Self { if_rev })
    }
}

impl IntoParams for RevCondition {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![if_rev(MEMORY_REV)]
    }
}

/// The version in an entity tag. The tag of an item whose answer shows more than the item, such as a task, has a hash
/// after it: `42-1f3b5c70`.
fn version_of(tag: &str) -> &str {
    tag.split_once('-').map_or(tag, |(version, _)| version)
}

/// The entity tags that the caller already has, without quotes: `If-None-Match` of a read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    tags: Vec<String>,
}

impl Seen {
    /// Whether the caller has the answer with this tag.
    pub(crate) fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|seen| seen == tag)
    }

    fn of(headers: &HeaderMap) -> Result<Self, HttpError> {
        let Some(tags) = text(headers, IF_NONE_MATCH.as_str())? else { return Ok(Self::default()) };
        let unquoted = |tag: &str| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).map(str::to_owned)
        };
        // A tag that is not one of ours matches nothing.
        Ok(Self { tags: tags.split(',').filter_map(unquoted).collect() })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Seen {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, HttpError> {
        Self::of(&parts.headers)
    }
}

impl IntoParams for Seen {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![if_none_match("The `ETag` of an answer that you have; 304 if it would be the same")]
    }
}

pub(crate) fn if_match() -> Parameter {
    header("If-Match", "Required version, in quotes, as in `ETag`; otherwise 412", "\"42\"")
}

fn if_none_match(words: &str) -> Parameter {
    header("If-None-Match", words, "*")
}

pub(crate) fn idempotency_key() -> Parameter {
    let words = "Idempotency key; a repeat within 24 hours gets the same answer and has no further effect. A request \
                 that changed nothing is not remembered; a repeat of it is decided again";
    header("Idempotency-Key", words, "8e03978e-40d5-43dd-bc93-6894a57f9324")
}

pub(crate) fn if_rev(words: &str) -> Parameter {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    ParameterBuilder::new()
        .name(IF_REV)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(words))
        .schema(Some(number))
        .build()
}

fn header(name: &str, words: &str, example: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(words))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).examples([example])))
        .build()
}

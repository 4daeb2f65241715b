//! The OpenAPI description that the server serves, and the problems that every route can answer.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

use axum::body::Bytes;
use corkboard::SpaceKind;
use flate2::read::GzDecoder;
use utoipa::IntoResponses;
use utoipa::openapi::{Ref, RefOr, Response};

/// `openapi.json`, compressed by the build script.
const COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

/// The description of all routes, as JSON.
pub(crate) fn description() -> Bytes {
    static JSON: LazyLock<Bytes> = LazyLock::new(|| {
        let mut json = Vec::new();
        // The build script wrote it, and a test decompresses it.
        let _ = GzDecoder::new(COMPRESSED).read_to_end(&mut json);
        json.into()
    });
    JSON.clone()
}

/// Whether the description lists the code of a problem.
pub(crate) fn has_code(code: &str) -> bool {
    static CODES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let described: serde_json::Value = serde_json::from_slice(&description()).unwrap_or_default();
        let codes = described.pointer("/components/schemas/ProblemCode/enum");
        codes.cloned().and_then(|codes| serde_json::from_value(codes).ok()).unwrap_or_default()
    });
    CODES.iter().any(|known| known == code)
}

/// The event types of a kind of space, read from the description.
pub(crate) fn event_types(kind: SpaceKind) -> &'static [String] {
    static TYPES: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| {
        let described: serde_json::Value = serde_json::from_slice(&description()).unwrap_or_default();
        ["AgentEvent", "BoardEvent", "CoreEvent"].map(|events| {
            let variants = described.pointer(&format!("/components/schemas/{events}/oneOf"));
            let variants = variants.and_then(serde_json::Value::as_array).into_iter().flatten();
            let schemas =
                variants.filter_map(|variant| described.pointer(variant.get("$ref")?.as_str()?.strip_prefix('#')?));
            let names = schemas.filter_map(|schema| schema.pointer("/properties/type/enum/0")?.as_str());
            names.map(Into::into).collect()
        })
    });
    let [agent, board, core] = &*TYPES;
    match kind {
        SpaceKind::Agent | SpaceKind::Conversation => agent,
        SpaceKind::Board => board,
        SpaceKind::Core => core,
        SpaceKind::Tokens => &[],
    }
}

pub(crate) const PROBLEMS: [(&str, &str); 13] = [
    ("400", "The request is invalid"),
    ("401", "The token is missing or invalid"),
    ("403", "Permission denied"),
    ("404", "Not found"),
    ("409", "Conflict with the current state"),
    (
        "412",
        "The version does not match `If-Match` or `If-None-Match`; `current` is the current item, `ETag` its version",
    ),
    ("413", "The body is too large"),
    ("415", "Unsupported `Content-Type`"),
    ("422", "A limit is exceeded"),
    ("429", "Too many requests"),
    ("500", "The server or the stored data is defective"),
    ("503", "Temporarily unavailable; retry later"),
    ("504", "The outcome is unknown: the request may or may not have taken effect"),
];

pub(crate) fn problem_name(status: &str) -> String {
    format!("Problem{status}")
}

/// The error responses of every authenticated route.
pub(crate) struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let named = |status: &str| RefOr::Ref(Ref::from_response_name(problem_name(status)));
        PROBLEMS.into_iter().map(|(status, _)| (status.to_owned(), named(status))).collect()
    }
}

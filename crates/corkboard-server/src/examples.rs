//! Examples of answers, as a server gave them: by the name of what is answered, in `examples.json`.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::{OpenApi, RefOr};

use crate::openapi::operations;

const EXAMPLES: &str = include_str!("examples.json");

/// Gives every answer that is in the list its example.
pub(crate) fn give(description: &mut OpenApi) {
    // What cannot be read gives none, and the test that looks for them says so.
    let examples: BTreeMap<String, Value> = serde_json::from_str(EXAMPLES).unwrap_or_default();
    for operation in operations(description) {
        for response in operation.responses.responses.values_mut() {
            let RefOr::T(response) = response else { continue };
            let Some(RefOr::T(content)) = response.content.get_mut("application/json") else { continue };
            let Some(RefOr::Ref(schema)) = &content.schema else { continue };
            let name = schema.ref_location.rsplit('/').next().unwrap_or_default();
            if content.example.is_none() {
                content.example = examples.get(name).cloned();
            }
        }
    }
}

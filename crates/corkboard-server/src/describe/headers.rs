//! Describes the headers that all routes accept and send.

use serde_json::{Value, json};

/// Headers of answers: name, type and meaning.
const SENT: [(&str, &str, &str); 7] = [
    ("X-Request-Id", "string", "ID of the request, which the server's log contains, too."),
    (
        "Cork-Rev",
        "integer",
        "Revision of the space that the answer refers to. Missing if it refers to no single space.",
    ),
    ("Idempotency-Replayed", "boolean", "`true` if this repeats the answer to an earlier request with the same key."),
    ("RateLimit-Limit", "integer", "Maximum number of requests in a burst."),
    ("RateLimit-Remaining", "integer", "Number of requests that the caller can send at once."),
    ("RateLimit-Reset", "integer", "Seconds until the whole burst is available again."),
    ("Retry-After", "integer", "Seconds after which the request may succeed."),
];
/// Statuses whose problems can name a time to wait.
const LATER: [&str; 2] = ["429", "503"];

pub(super) fn describe(description: &mut Value) {
    let header = |(name, of, words): &(&str, &str, &str)| {
        ((*name).to_owned(), json!({ "description": words, "schema": { "type": of } }))
    };
    let components = &mut description["components"];
    components["headers"] = SENT.iter().map(header).collect();
    components["parameters"] = json!({
        "Cork-Actor": {
            "name": "Cork-Actor",
            "in": "header",
            "description": "Actor in whose name the caller acts, as JSON. Only services and admins may act for others.",
            "schema": { "type": "string" },
            "example": "{\"principal\":\"ada\",\"kind\":\"agent\",\"role\":\"worker\"}",
        },
        "X-Request-Id": {
            "name": "X-Request-Id",
            "in": "header",
            "description": "ID for the server's log and the answer: up to 128 letters, digits, `-`, `_`, `.` or `:` \
                            [default: a new one].",
            "schema": { "type": "string", "maxLength": 128 },
        },
    });
    for (name, problem) in components["responses"].as_object_mut().into_iter().flatten() {
        let is_later = LATER.iter().any(|status| name.ends_with(status));
        let is_known = !name.ends_with("401");
        send(problem, |header| match header {
            "Retry-After" => is_later,
            "X-Request-Id" => true,
            _ => is_known && header.starts_with("RateLimit-"),
        });
    }
    let operations = description["paths"].as_object_mut().into_iter().flatten();
    let operations = operations.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    for (_, operation) in operations {
        // The others need no token and have no rate limit.
        let is_guarded = operation.get("security").is_none();
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let takes_key = parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key");
        let accepted = ["Cork-Actor", "X-Request-Id"].into_iter().filter(|name| is_guarded || *name != "Cork-Actor");
        let accepted = accepted.map(|name| json!({ "$ref": format!("#/components/parameters/{name}") }));
        operation["parameters"] = parameters.into_iter().chain(accepted).collect();
        let answers = operation["responses"].as_object_mut().into_iter().flatten();
        for (_, answer) in answers.filter(|(status, _)| status.as_str() < "400") {
            send(answer, |header| match header {
                "X-Request-Id" => true,
                "Idempotency-Replayed" => takes_key,
                "Cork-Rev" => is_guarded,
                _ => is_guarded && header.starts_with("RateLimit-"),
            });
        }
    }
}

/// Adds headers to an answer.
fn send(answer: &mut Value, is_sent: impl Fn(&str) -> bool) {
    if answer.get("$ref").is_some() {
        return;
    }
    for (name, _, _) in SENT.iter().filter(|(name, _, _)| is_sent(name)) {
        answer["headers"][*name] = json!({ "$ref": format!("#/components/headers/{name}") });
    }
}

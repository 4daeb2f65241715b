//! Expected permissions of the routes of agents.

use corkboard::cores::CoreAction;
use serde_json::json;

use super::expected::{Asks, Expected, lists, reads, writes};

pub(crate) fn expected() -> Vec<Expected> {
    vec![
        lists("GET /v1/agents"),
        writes("DELETE /v1/agents/{agent}").asking(Asks::InOwnCore(CoreAction::Delete)),
        reads("GET /v1/agents/{agent}/activity"),
        reads("GET /v1/agents/{agent}/activity/days"),
        writes("POST /v1/agents/{agent}/clear"),
        writes("POST /v1/agents/{agent}/clear")
            .sending(json!({"working": true, "long_term": true}))
            .asking(Asks::InOwnCore(CoreAction::Clear)),
        reads("POST /v1/agents/{agent}/context"),
        reads("GET /v1/agents/{agent}/events").query("?from_rev={agent rev}"),
        writes("POST /v1/agents/{agent}/forget"),
        reads("GET /v1/agents/{agent}/handoff"),
        writes("PUT /v1/agents/{agent}/handoff"),
        writes("POST /v1/agents/{agent}/restore")
            .sending(json!("{snapshot}"))
            .asking(Asks::InOwnCore(CoreAction::Replace)),
        reads("GET /v1/agents/{agent}/scratchpad"),
        writes("PUT /v1/agents/{agent}/scratchpad"),
        writes("DELETE /v1/agents/{agent}/scratchpad"),
        reads("GET /v1/agents/{agent}/search").query("?q=plan"),
        // Deriving a key from a passphrase is deliberately slow.
        reads("POST /v1/agents/{agent}/snapshot").sending(json!({"format": "bytes"})),
        reads("GET /v1/agents/{agent}/stats"),
        // Notebooks.
        reads("GET /v1/agents/{agent}/notebooks"),
        reads("GET /v1/agents/{agent}/notebook"),
        reads("GET /v1/agents/{agent}/notebook/prompt"),
        reads("POST /v1/agents/{agent}/notebook/prompt").sending(json!({"task": "Write the parser"})),
        reads("GET /v1/agents/{agent}/notebook/history"),
        reads("GET /v1/agents/{agent}/notebook/diff").query("?from={notebook}&to={notebook}"),
        writes("POST /v1/agents/{agent}/notebook/updates"),
        writes("POST /v1/agents/{agent}/notebook/restore").sending(json!({"at": "{notebook}"})),
        writes("POST /v1/agents/{agent}/notebook/clear"),
        writes("POST /v1/agents/{agent}/notebook/forget"),
        // The memory, its scopes and its conversations.
        reads("GET /v1/agents/{agent}/entries"),
        reads("GET /v1/agents/{agent}/entries/{key}"),
        writes("PUT /v1/agents/{agent}/entries/{key}"),
        writes("DELETE /v1/agents/{agent}/entries/{key}"),
        writes("POST /v1/agents/{agent}/entries/{key}/append"),
        writes("POST /v1/agents/{agent}/entries:batch"),
        reads("GET /v1/agents/{agent}/notes"),
        writes("POST /v1/agents/{agent}/notes"),
        writes("DELETE /v1/agents/{agent}/notes/{note}"),
        reads("GET /v1/agents/{agent}/scopes"),
        writes("POST /v1/agents/{agent}/scopes"),
        reads("GET /v1/agents/{agent}/scopes/{scope}"),
        writes("DELETE /v1/agents/{agent}/scopes/{scope}"),
        writes("POST /v1/agents/{agent}/scopes/{scope}/clear"),
        writes("POST /v1/agents/{agent}/scopes/{scope}/merge"),
        reads("GET /v1/agents/{agent}/scopes/{scope}/entries"),
        reads("GET /v1/agents/{agent}/scopes/{scope}/entries/{key}"),
        writes("PUT /v1/agents/{agent}/scopes/{scope}/entries/{key}"),
        writes("DELETE /v1/agents/{agent}/scopes/{scope}/entries/{key}"),
        writes("POST /v1/agents/{agent}/scopes/{scope}/entries/{key}/append"),
        writes("POST /v1/agents/{agent}/scopes/{scope}/entries:batch"),
        reads("GET /v1/agents/{agent}/scopes/{scope}/notes"),
        writes("POST /v1/agents/{agent}/scopes/{scope}/notes"),
        writes("DELETE /v1/agents/{agent}/scopes/{scope}/notes/{note}"),
        reads("GET /v1/agents/{agent}/conversations"),
        reads("GET /v1/agents/{agent}/conversations/{conversation}"),
        writes("DELETE /v1/agents/{agent}/conversations/{conversation}"),
        writes("POST /v1/agents/{agent}/conversations/{conversation}/clear"),
        reads("GET /v1/agents/{agent}/conversations/{conversation}/entries"),
        reads("GET /v1/agents/{agent}/conversations/{conversation}/entries/{key}"),
        writes("PUT /v1/agents/{agent}/conversations/{conversation}/entries/{key}"),
        writes("DELETE /v1/agents/{agent}/conversations/{conversation}/entries/{key}"),
        writes("POST /v1/agents/{agent}/conversations/{conversation}/entries/{key}/append"),
        writes("POST /v1/agents/{agent}/conversations/{conversation}/entries:batch"),
        reads("GET /v1/agents/{agent}/conversations/{conversation}/notes"),
        writes("POST /v1/agents/{agent}/conversations/{conversation}/notes"),
        writes("DELETE /v1/agents/{agent}/conversations/{conversation}/notes/{note}"),
    ]
}

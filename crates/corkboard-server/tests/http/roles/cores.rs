//! Expected permissions of the routes of memory cores: for a shared one and an agent's private one.

use corkboard::cores::CoreAction::{self, *};
use serde_json::json;

use super::expected::{Asks, Expected, lists, reads};
use super::fixture::OWN_CORE;

pub(crate) fn expected() -> Vec<Expected> {
    let mut all = vec![lists("GET /v1/cores")];
    for (operation, action) in ROUTES {
        let route = match operation {
            "GET /v1/cores/{core}/search" => reads(operation).query("?q=deploy"),
            // E-2 was forgotten.
            "POST /v1/cores/{core}/entries/{id}/restore" => reads(operation).naming("{id}", "E-2"),
            _ => reads(operation),
        };
        let (mut shared, mut own) = (route.clone(), route.naming("{core}", OWN_CORE));
        if let Some(action) = action {
            (shared, own) = (shared.asking(Asks::InCore(action)), own.asking(Asks::InOwnCore(action)));
        }
        all.extend([shared, own]);
    }
    let events = reads("GET /v1/cores/{core}/events");
    all.push(events.clone().query("?from_rev={core rev}"));
    all.push(events.naming("{core}", OWN_CORE).query("?from_rev={own core rev}"));
    // Raises the trust of an entry.
    let vouch = reads("PATCH /v1/cores/{core}/entries/{id}").naming("{id}", "E-3").sending(json!({"trust": "agent"}));
    all.push(vouch.clone().asking(Asks::InCore(Edit)).asking(Asks::InCore(Vouch)));
    let own = vouch.naming("{core}", OWN_CORE);
    all.push(own.asking(Asks::InOwnCore(Edit)).asking(Asks::InOwnCore(Vouch)));
    all
}

/// None: every role may do it.
const ROUTES: [(&str, Option<CoreAction>); 14] = [
    ("DELETE /v1/cores/{core}", Some(Delete)),
    ("POST /v1/cores/{core}/clear", Some(Clear)),
    ("GET /v1/cores/{core}/entries", None),
    ("POST /v1/cores/{core}/entries", Some(Add)),
    ("GET /v1/cores/{core}/entries/{id}", None),
    ("PATCH /v1/cores/{core}/entries/{id}", Some(Edit)),
    ("POST /v1/cores/{core}/entries/{id}/forget", Some(Forget)),
    ("POST /v1/cores/{core}/entries/{id}/restore", Some(Restore)),
    ("POST /v1/cores/{core}/forget", Some(ForgetHard)),
    ("GET /v1/cores/{core}/image", None),
    ("POST /v1/cores/{core}/replace", Some(Replace)),
    ("GET /v1/cores/{core}/search", None),
    ("GET /v1/cores/{core}/stats", None),
    ("POST /v1/cores/{core}/withdraw", Some(Withdraw)),
];

//! The API description is complete: every JSON body and every successful answer has an example.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

/// Whether a schema, or a part of it, has an example.
fn carries_example(schemas: &Map<String, Value>, schema: &Value) -> bool {
    if schema.get("example").is_some() || schema.get("examples").is_some() {
        return true;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/components/schemas/")) {
        return carries_example(schemas, &schemas[name]);
    }
    let parts = ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|of| schema[of].as_array()).flatten();
    parts.into_iter().any(|part| carries_example(schemas, part))
}

/// JSON bodies and answers without an example, as `METHOD PATH what`.
fn without_example(described: &Value) -> Vec<String> {
    let schemas = described["components"]["schemas"].as_object().expect("schemas");
    let mut found = Vec::new();
    for (path, item) in described["paths"].as_object().expect("paths") {
        for method in METHODS.into_iter().filter(|method| item.get(method).is_some()) {
            let route = &item[method];
            let bodies = [
                ("body", &route["requestBody"]),
                ("200", &route["responses"]["200"]),
                ("201", &route["responses"]["201"]),
            ];
            for (what, said) in bodies {
                let Some(content) = said["content"].get("application/json") else { continue };
                let has_own = content.get("example").is_some() || content.get("examples").is_some();
                if !has_own && !carries_example(schemas, &content["schema"]) {
                    found.push(format!("{} {path} {what}", method.to_uppercase()));
                }
            }
        }
    }
    found
}

#[test]
fn every_body_and_every_answer_has_an_example() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    let found = without_example(&described);
    assert!(found.is_empty(), "{} without an example:\n{}", found.len(), found.join("\n"));
}

/// The fields and required fields of a schema. None if it allows other fields or has variants.
fn fields<'a>(schemas: &'a Map<String, Value>, schema: &'a Value) -> Option<(BTreeSet<&'a str>, BTreeSet<&'a str>)> {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/components/schemas/")) {
        return fields(schemas, &schemas[name]);
    }
    let is_open = ["oneOf", "anyOf", "additionalProperties"].into_iter().any(|open| schema.get(open).is_some());
    if is_open {
        return None;
    }
    let mut known: BTreeSet<&str> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
    let mut required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let (more, musts) = fields(schemas, part)?;
        known.extend(more);
        required.extend(musts);
    }
    Some((known, required))
}

#[test]
fn examples_of_answers_have_the_fields_of_their_schemas() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    let schemas = described["components"]["schemas"].as_object().expect("schemas");
    let mut checked = 0;
    for (path, item) in described["paths"].as_object().expect("paths") {
        for (method, status) in METHODS.into_iter().flat_map(|method| [(method, "200"), (method, "201")]) {
            let content = &item[method]["responses"][status]["content"]["application/json"];
            let Some(example) = content["example"].as_object() else { continue };
            let Some((known, required)) = fields(schemas, &content["schema"]) else { continue };
            let given: BTreeSet<&str> = example.keys().map(String::as_str).collect();
            let (unknown, lacking): (Vec<_>, Vec<_>) =
                (given.difference(&known).collect(), required.difference(&given).collect());
            assert!(unknown.is_empty() && lacking.is_empty(), "{method} {path} {status}: {unknown:?} {lacking:?}");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} were checked");
}

#[test]
fn the_description_follows_the_standard() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    assert_eq!(described["openapi"], "3.1.0");
    let tags: Vec<&str> = names(&described["tags"]).collect();
    let mut ids = BTreeSet::new();
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let what = format!("{method} {path}");
            assert!(
                ids.insert(operation["operationId"].as_str().expect("an id")),
                "two operations have the ID of {what}"
            );
            let tagged = operation["tags"].as_array().expect("tags");
            assert!(tagged.iter().all(|tag| tags.contains(&tag.as_str().expect("a tag"))), "{what}");
            for (status, response) in operation["responses"].as_object().expect("answers") {
                let response = named(&described, response);
                assert_ne!(response["description"].as_str().unwrap_or_default(), "", "{what}: {status}");
            }
            let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let given: Vec<&str> = names(&operation["parameters"]).collect();
            assert!(named.clone().all(|name| given.contains(&name)), "{what} takes {given:?}");
        }
    }
    assert!(ids.len() > 150, "{}", ids.len());
}

/// The verbs with which an operation's name can begin.
const VERBS: &str = "acknowledge acquire add append_to approve archive assign call cancel change check choose claim clear complete \
                     compose create delete discard dispose edit execute extract fail forget fork get heartbeat list merge open \
                     pause preview promote purge put receive record refuse reindex reject release remove renew replace restore resume retry \
                     review revoke roll_back scrub search send set stream supersede trim update withdraw";

#[test]
fn names_of_operations_are_a_verb_and_a_noun() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    let operations = described["paths"].as_object().expect("paths").values().filter_map(Value::as_object).flatten();
    for (_, operation) in operations {
        let id = operation["operationId"].as_str().expect("an id");
        let noun = VERBS.split_whitespace().find_map(|verb| id.strip_prefix(verb)?.strip_prefix('_'));
        assert!(noun.is_some_and(|noun| !noun.is_empty()), "{id} is not a verb and a noun");
        assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{id} is not snake case");
    }
}

/// Names of schemas are clear without knowing how the server wraps or places them.
#[test]
fn names_of_schemas_are_clear() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    let vague = ["Why", "Form", "Deed", "Change", "Add", "Call", "Create", "Edit", "Role"];
    for (name, schema) in described["components"]["schemas"].as_object().expect("schemas") {
        let is_camel_case = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
        assert!(is_camel_case, "{name} is not camel case");
        let base = name.strip_suffix("Request").or(name.strip_suffix("Response")).unwrap_or(name);
        assert!(!vague.contains(&base) || name == "Role", "{name} is too vague");
        assert!(!name.ends_with("Body") && !name.starts_with("Place"), "{name} is an internal name");
        assert!(schema.get("allOf").is_none(), "{name} is not flat");
    }
}

#[test]
fn no_part_of_the_description_stops_a_generator() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    assert_eq!(described["servers"][0]["url"], "/");
    let mut pending = vec![&described["components"]["schemas"]];
    while let Some(part) = pending.pop() {
        assert_ne!(part["items"], false, "{part}");
        assert!(
            part.get("default").is_none_or(|default| default.is_object()),
            "an optional field with a default: {part}"
        );
        let inner = part.as_object().into_iter().flatten().filter(|(name, _)| !name.starts_with("example"));
        pending.extend(inner.map(|(_, inner)| inner).chain(part.as_array().into_iter().flatten()));
    }
}

/// Problems are the same on all routes and are described once.
#[test]
fn every_guarded_route_refers_to_the_same_problems() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    let shared = described["components"]["responses"].as_object().expect("answers");
    assert_eq!(shared.len(), 13, "{shared:?}");
    for (path, methods) in described["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let answers = operation["responses"].as_object().expect("answers");
            let problems: Vec<_> = answers.iter().filter(|(status, _)| status.as_str() >= "400").collect();
            for (status, problem) in &problems {
                assert_eq!(problem["$ref"], format!("#/components/responses/Problem{status}"), "{method} {path}");
                let content = &named(&described, problem)["content"]["application/problem+json"];
                assert_eq!(content["schema"]["$ref"], "#/components/schemas/Problem", "{method} {path} {status}");
            }
            assert!(problems.len() == shared.len() || path == "/healthz", "{method} {path}: {problems:?}");
        }
    }
}

/// The value itself, or the target of its reference.
fn named<'a>(described: &'a Value, said: &'a Value) -> &'a Value {
    let reference = said["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    reference.map_or(said, |path| described.pointer(path).unwrap_or_else(|| panic!("{path} does not exist")))
}

fn names(of: &Value) -> impl Iterator<Item = &str> {
    of.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str())
}

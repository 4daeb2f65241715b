//! Generates the OpenAPI description from the routes' annotations. Only tests do this: the server serves the result,
//! `openapi.json`.

mod codes;
mod headers;
mod schemas;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OneOf, Ref, RefOr, ResponseBuilder, Schema};
use utoipa::{Modify, OpenApi};

use crate::openapi::{PROBLEMS, problem_name};
use crate::routes;

/// The description of all routes.
fn describe() -> Value {
    let mut description = routes::described().description(ApiHead::openapi());
    complete(&mut description);
    without_null(&mut description);
    let mut description = serde_json::to_value(description).expect("JSON");
    list_codes(&mut description);
    schemas::simplify(&mut description);
    headers::describe(&mut description);
    give_examples(&mut description);
    description
}

/// Lists all error codes in the schema of problems.
fn list_codes(description: &mut Value) {
    let schemas = &mut description["components"]["schemas"];
    let words = "Stable error code. `docs/errors.md` in the source repository describes the codes for missing things.";
    schemas["ProblemCode"] = json!({ "type": "string", "description": words, "enum": codes::codes() });
    schemas["Problem"]["properties"]["code"] = json!({ "$ref": "#/components/schemas/ProblemCode" });
}

/// The general part of the description.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Corkboard",
        description = "Working memory for LLM agents and for the people who work with them.\n\nEvery answer carries `rev`, \
                       the revision of the space that it refers to. Errors are problem documents (RFC 9457) with a stable \
                       `code`.\n\nNames in paths are percent-encoded, as in every URL: the key `a/b` is `a%2Fb`. The \
                       reference page encodes names itself: enter them unencoded.",
        license(name = "MIT OR Apache-2.0"),
    ),
    components(schemas(corkboard::Problem)),
    modifiers(&SharedComponents),
    tags(
        (name = "agents", description = "Agents, and operations on their whole memory"),
        (name = "entries", description = "JSON values that an agent stores under keys"),
        (name = "notes", description = "Lines of text without a key"),
        (name = "scopes", description = "Nested parts of an agent's memory; reads fall back to the parent scope"),
        (name = "conversations", description = "An ephemeral scratchpad for each conversation"),
        (name = "memory", description = "Search memory, hand it over, and compose it into a prompt"),
        (name = "notebook", description = "Progress, learnings and snippets that a model updates with text commands"),
        (name = "boards", description = "Working memory shared by the agents and people of one task set"),
        (name = "tasks", description = "A board's graph of tasks: claim, complete, review"),
        (name = "records", description = "A board's decisions, discoveries, artifacts, choices and approvals"),
        (name = "nudges", description = "Messages to those who work on a board"),
        (name = "learnings", description = "Learnings of a board, and their promotion to cores"),
        (name = "cores", description = "Knowledge that outlives boards and agents"),
        (name = "tools", description = "The tools for language models"),
        (name = "events", description = "Live event streams"),
        (name = "spaces", description = "State, log and commands of whole spaces, for clients that keep a copy"),
        (name = "access", description = "Tokens, identity and signing in"),
        (name = "operations", description = "Health checks, metrics and maintenance"),
    ),
    servers(
        (url = "/", description = "The server that serves this description"),
        (url = "http://127.0.0.1:7117", description = "The default address of `cork serve`"),
    ),
    security(("token" = [])),
)]
struct ApiHead;

/// Adds the components that routes refer to.
struct SharedComponents;

impl Modify for SharedComponents {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for (status, words) in PROBLEMS {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            let problem = ResponseBuilder::new().description(words).content("application/problem+json", content);
            components.responses.insert(problem_name(status), problem.build().into());
        }
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.security_schemes.insert("token".into(), scheme.into());
    }
}

fn operations(openapi: &mut utoipa::openapi::OpenApi) -> impl Iterator<Item = &mut Operation> {
    openapi.paths.paths.values_mut().flat_map(|PathItem { get, put, post, patch, delete, .. }| {
        [get, put, post, patch, delete].into_iter().flatten()
    })
}

/// Adds a description to responses without one, because the standard requires it.
fn complete(openapi: &mut utoipa::openapi::OpenApi) {
    for (status, response) in operations(openapi).flat_map(|operation| &mut operation.responses.responses) {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = if status == "201" { "Created" } else { "Success" }.into();
        }
    }
}

/// Removes `null` from optional request bodies: a body may be omitted, but not null.
fn without_null(openapi: &mut utoipa::openapi::OpenApi) {
    let bodies = operations(openapi).filter_map(|operation| match &mut operation.request_body {
        Some(RefOr::T(body)) => Some(body),
        _ => None,
    });
    for content in bodies.flat_map(|body| body.content.values_mut()) {
        if let RefOr::T(content) = content
            && let Some(RefOr::T(Schema::OneOf(OneOf { items, .. }))) = &mut content.schema
        {
            items.retain(|item| !is_null(item));
            if let [only] = items.as_slice() {
                content.schema = Some(only.clone());
            }
        }
    }
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::Type(Type::Null))
}

/// Examples of answers by schema, recorded from a server by `make examples`.
const EXAMPLES: &str = include_str!("examples.json");

/// Adds the examples to the answers.
fn give_examples(description: &mut Value) {
    // If the file cannot be parsed there are no examples, and the test for examples fails.
    let examples: BTreeMap<String, Value> = serde_json::from_str(EXAMPLES).unwrap_or_default();
    let operations = description["paths"].as_object_mut().into_iter().flatten();
    let operations = operations.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    let answers = operations.flat_map(|(_, operation)| operation["responses"].as_object_mut().into_iter().flatten());
    let answers =
        answers.filter_map(|(status, answer)| Some((status, answer.pointer_mut("/content/application~1json")?)));
    for (status, content) in answers {
        let name = content.pointer("/schema/$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        if let Some(example) = name.and_then(|name| examples.get(name))
            && content.get("example").is_none()
        {
            content["example"] = example.clone();
            if status == "201"
                && let Some(is_update) = content["example"].get_mut("is_update")
            {
                *is_update = false.into();
            }
        }
    }
}

/// `make openapi` updates the file.
#[test]
fn the_description_that_is_served_is_that_of_the_routes() {
    let made = serde_json::to_string_pretty(&describe()).unwrap() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    if std::env::var_os("CORK_WRITE_FIXTURES").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    let differs = made.lines().zip(kept.lines()).position(|(made, kept)| made != kept);
    assert!(
        made == kept,
        "openapi.json differs from the routes at line {:?}: run `make openapi`",
        differs.map(|line| line + 1)
    );
}

//! Makes the description of all routes from their annotations. Only tests do that: a server serves the result, which is kept
//! in `openapi.json`.

mod codes;
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
    give_examples(&mut description);
    description
}

/// Lists the codes that a problem may have.
fn list_codes(description: &mut Value) {
    let schemas = &mut description["components"]["schemas"];
    let words = "The name of an error. It never changes.";
    schemas["ProblemCode"] = json!({ "type": "string", "description": words, "enum": codes::codes() });
    schemas["Problem"]["properties"]["code"] = json!({ "$ref": "#/components/schemas/ProblemCode" });
}

/// The head of the description.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Corkboard",
        description = "Working memory for LLM agents and for the people who work with them.\n\nEvery answer carries `rev`, the \
                       revision of the space it speaks of. Errors are problems (RFC 9457) with a stable `code`.\n\nNames in \
                       paths are percent-encoded, as in every URL: the key `a/b` is `a%2Fb`. The reference page does that by \
                       itself: type names there as they are.",
        license(name = "MIT OR Apache-2.0"),
    ),
    components(schemas(corkboard::Problem)),
    modifiers(&SharedComponents),
    tags(
        (name = "agents", description = "Whose memory there is, and what can be done to all of it"),
        (name = "entries", description = "What an agent keeps under a key"),
        (name = "notes", description = "What an agent noted, without a key"),
        (name = "scopes", description = "Places within an agent's memory; what is not found in one is looked for around it"),
        (name = "conversations", description = "A scratchpad for each conversation"),
        (name = "memory", description = "To find what is known, hand it over, and compose it into a prompt"),
        (name = "notebook", description = "What a model updates with a small text language"),
        (name = "boards", description = "What agents and people who work on one thing share"),
        (name = "tasks", description = "A board's graph of tasks: claim, complete, review"),
        (name = "records", description = "A board's discoveries and artifacts"),
        (name = "people", description = "A board's decisions, nudges and approvals"),
        (name = "learnings", description = "What a board taught, and where it goes"),
        (name = "cores", description = "Knowledge that outlives boards and agents"),
        (name = "tools", description = "The same as tools of a language model"),
        (name = "events", description = "What happens, as it happens"),
        (name = "spaces", description = "Whole spaces, for clients that keep a copy: state, log, commands"),
        (name = "access", description = "Who may do what"),
        (name = "operations", description = "Whether the server is well"),
    ),
    servers(
        (url = "/", description = "The server that serves this description"),
        (url = "http://127.0.0.1:7117", description = "The default address of `cork serve`"),
    ),
    security(("token" = [])),
)]
struct ApiHead;

/// What the routes refer to.
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

/// Says of every answer what it is, which the standard asks for and not every route does.
fn complete(openapi: &mut utoipa::openapi::OpenApi) {
    for (status, response) in operations(openapi).flat_map(|operation| &mut operation.responses.responses) {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = if status == "201" { "It was made" } else { "What was asked for" }.into();
        }
    }
}

/// Says of bodies that may be left out what they are if they are there: never null.
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

/// Examples of answers, as a server gave them, by the schema of the answer. `make examples` collects them.
const EXAMPLES: &str = include_str!("examples.json");

/// Gives every answer that is in the list its example.
fn give_examples(description: &mut Value) {
    // What cannot be read gives none, and the test that looks for them says so.
    let examples: BTreeMap<String, Value> = serde_json::from_str(EXAMPLES).unwrap_or_default();
    let operations = description["paths"].as_object_mut().into_iter().flatten();
    let operations = operations.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    let answers = operations.flat_map(|(_, operation)| operation["responses"].as_object_mut().into_iter().flatten());
    for content in answers.filter_map(|(_, answer)| answer.pointer_mut("/content/application~1json")) {
        let name = content.pointer("/schema/$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        if let Some(example) = name.and_then(|name| examples.get(name))
            && content.get("example").is_none()
        {
            content["example"] = example.clone();
        }
    }
}

/// `make openapi` writes it anew.
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
        "openapi.json differs from the routes at line {:?}: write it anew with `make openapi`",
        differs.map(|line| line + 1)
    );
}

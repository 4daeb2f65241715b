//! What the description says besides the routes.

use std::collections::BTreeMap;

use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OneOf, Ref, RefOr, Response, ResponseBuilder, Schema};
use utoipa::{IntoResponses, Modify, OpenApi};

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
    security(("token" = [])),
)]
pub(crate) struct ApiHead;

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

pub(crate) fn operations(openapi: &mut utoipa::openapi::OpenApi) -> impl Iterator<Item = &mut Operation> {
    openapi.paths.paths.values_mut().flat_map(|PathItem { get, put, post, patch, delete, .. }| {
        [get, put, post, patch, delete].into_iter().flatten()
    })
}

/// Says of every answer what it is, which the standard asks for and not every route does.
pub(crate) fn complete(openapi: &mut utoipa::openapi::OpenApi) {
    for (status, response) in operations(openapi).flat_map(|operation| &mut operation.responses.responses) {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = if status == "201" { "It was made" } else { "What was asked for" }.into();
        }
    }
}

/// Says of bodies that may be left out what they are if they are there: never null.
pub(crate) fn without_null(openapi: &mut utoipa::openapi::OpenApi) {
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

const PROBLEMS: [(&str, &str); 12] = [
    ("400", "The request makes no sense"),
    ("401", "No token, or one that is not valid"),
    ("403", "Not allowed"),
    ("404", "There is no such thing, or no more"),
    ("409", "Someone else was first, or it does not fit what is there"),
    ("413", "The body is too large"),
    ("415", "The body is not JSON"),
    ("422", "A limit is reached"),
    ("429", "Too many requests"),
    ("500", "Something is broken"),
    ("503", "Trying again later may help"),
    ("504", "It may or may not have happened"),
];

fn problem_name(status: &str) -> String {
    format!("Problem{status}")
}

/// What every guarded route may answer instead.
pub(crate) struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let named = |status: &str| RefOr::Ref(Ref::from_response_name(problem_name(status)));
        PROBLEMS.into_iter().map(|(status, _)| (status.to_owned(), named(status))).collect()
    }
}

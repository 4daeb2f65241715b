//! What the description says besides the routes.

use std::collections::BTreeMap;

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi};

/// The head of the description.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Corkboard",
        description = "Working memory for LLM agents and for the people who work with them.\n\nEvery answer carries `rev`, the \
                       revision of the space it speaks of. Errors are problems (RFC 9457) with a stable `code`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(corkboard::Problem)),
    modifiers(&Bearer),
    security(("token" = [])),
)]
pub(crate) struct Head;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.security_schemes.insert("token".into(), scheme.into());
    }
}

/// What every guarded route may answer instead.
pub(crate) struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let problem = |words: &str| {
            let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
            RefOr::T(ResponseBuilder::new().description(words).content("application/problem+json", content).build())
        };
        [
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
        ]
        .into_iter()
        .map(|(status, words)| (status.to_owned(), problem(words)))
        .collect()
    }
}

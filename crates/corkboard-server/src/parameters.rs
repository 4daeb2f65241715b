//! Parameters of queries: a route takes those that it is described with, and no others. So one that is mistyped is not
//! passed over, and the description has all that there are.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Query, Request};
use axum::http::Method;
use serde::Deserialize;

use crate::condition::{IF_REV, not_taken};
use crate::error::HttpError;
use crate::openapi;

/// The names that each method of a path takes.
type Taken = HashMap<String, HashMap<String, Vec<String>>>;

/// Refuses a request that names a parameter which its route does not take.
pub(crate) fn check(request: &Request) -> Result<(), HttpError> {
    // Read from the description when the first query comes.
    static TAKEN: LazyLock<Taken> = LazyLock::new(taken);
    if request.uri().query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let Some(path) = request.extensions().get::<MatchedPath>() else { return Ok(()) };
    // Pages and files are not described, and take whatever comes.
    let Some(methods) = TAKEN.get(path.as_str()) else { return Ok(()) };
    // Whatever answers GET answers HEAD.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let Some(taken) = methods.get(method.as_str()) else { return Ok(()) };
    let Query(given) = Query::<Vec<(String, String)>>::try_from_uri(request.uri())?;
    match given.into_iter().find(|(name, _)| !taken.contains(name)) {
        None => Ok(()),
        Some((name, _)) if name == IF_REV => Err(not_taken(IF_REV)),
        Some((name, _)) => Err(HttpError::invalid("query", unknown(&name, taken))),
    }
}

fn unknown(name: &str, taken: &[String]) -> String {
    match taken {
        [] => format!("unknown parameter `{name}`: this route takes none"),
        taken => format!("unknown parameter `{name}`: this route takes `{}`", taken.join("`, `")),
    }
}

fn taken() -> Taken {
    let described: Description = serde_json::from_slice(&openapi::description()).unwrap_or_default();
    let names = |operation: DescribedOperation| {
        let of_query = operation.parameters.into_iter().filter(|parameter| parameter.place == "query");
        of_query.map(|parameter| parameter.name).collect()
    };
    let methods = |operations: HashMap<String, DescribedOperation>| {
        let each = operations.into_iter().map(|(method, operation)| (method.to_uppercase(), names(operation)));
        each.collect()
    };
    described.paths.into_iter().map(|(path, operations)| (path, methods(operations))).collect()
}

/// What is read of the description.
#[derive(Default, Deserialize)]
struct Description {
    paths: HashMap<String, HashMap<String, DescribedOperation>>,
}

#[derive(Deserialize)]
struct DescribedOperation {
    #[serde(default)]
    parameters: Vec<DescribedParameter>,
}

#[derive(Deserialize)]
struct DescribedParameter {
    name: String,
    #[serde(rename = "in")]
    place: String,
}

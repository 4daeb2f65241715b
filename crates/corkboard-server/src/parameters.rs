//! Parameters of queries: a route takes those that it is described with, and no others. So one that is mistyped is not
//! passed over, and the description has all that there are.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Query, Request};
use axum::http::Method;
use axum::routing::MethodFilter;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};

use crate::condition::{IF_REV, not_taken};
use crate::error::HttpError;
use crate::routes;

/// The names that each method of a path takes.
type Taken = HashMap<String, Vec<(MethodFilter, Vec<String>)>>;

/// Refuses a request that names a parameter which its route does not take.
pub(crate) fn check(request: &Request) -> Result<(), HttpError> {
    // Made when the first query comes: the operations are described for it.
    static TAKEN: LazyLock<Taken> = LazyLock::new(taken);
    if request.uri().query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let Some(path) = request.extensions().get::<MatchedPath>() else { return Ok(()) };
    // Pages and files are not described, and take whatever comes.
    let Some(methods) = TAKEN.get(path.as_str()) else { return Ok(()) };
    // Whatever answers GET answers HEAD.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let Ok(method) = MethodFilter::try_from(method.clone()) else { return Ok(()) };
    let Some((_, taken)) = methods.iter().find(|(described, _)| *described == method) else { return Ok(()) };
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
    let mut all = Taken::new();
    for (path, method, operation) in routes::operations() {
        all.entry(path).or_default().push((method, names(operation)));
    }
    all
}

fn names(operation: Operation) -> Vec<String> {
    let parameters = operation.parameters.unwrap_or_default().into_iter();
    let name = |parameter| match parameter {
        RefOr::T(Parameter { name, parameter_in: ParameterIn::Query, .. }) => Some(name),
        _ => None,
    };
    parameters.filter_map(name).collect()
}

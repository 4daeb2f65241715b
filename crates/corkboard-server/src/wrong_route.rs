//! Answers requests that match no route, with advice on the path or the method.

use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use corkboard::ErrorKind;

use crate::error::HttpError;
use crate::parameters::{methods, paths};

/// The prefix of every API path.
const VERSION: &str = "/v1";
/// Path parameters whose value may contain a slash.
const WITH_SLASH: [&str; 3] = ["{key}", "{name}", "{conversation}"];

/// 404 for a path that no route has.
pub(crate) async fn unknown_path(request: Request) -> HttpError {
    let path = request.uri().path();
    let advice = advice(path, &|path| paths().any(|route| matches(route, path)));
    let detail = format!("unknown path {path}: {}", advice.unwrap_or_else(|| "see /docs for all routes".into()));
    HttpError::new("unknown_route", ErrorKind::Gone, detail)
}

/// 405 for a method that the path does not support. axum adds the `Allow` header.
pub(crate) async fn unknown_method(request: Request) -> HttpError {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let methods = methods(path).join(", ");
    let method = request.method();
    let detail = match methods.as_str() {
        "" => format!("{path} does not accept {method}"),
        methods => format!("{path} does not accept {method}: use {methods}"),
    };
    HttpError::invalid("method", detail).status(StatusCode::METHOD_NOT_ALLOWED)
}

/// Suggests a correct path.
fn advice(path: &str, is_route: &impl Fn(&str) -> bool) -> Option<String> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let single = format!("/{}", segments.join("/"));
    if single != path && is_route(&single) {
        let what = if path == format!("{single}/") { "remove the slash at the end" } else { "use single slashes" };
        return Some(format!("{what}: {single}"));
    }
    let unversioned = single.strip_prefix(VERSION).filter(|rest| rest.starts_with("/v1/"));
    if let Some(once) = unversioned.filter(|rest| is_route(rest)) {
        return Some(format!("write {VERSION} once: {once}"));
    }
    let versioned = format!("{VERSION}{single}");
    if is_route(&versioned) {
        return Some(format!("start the path with {VERSION}: {versioned}"));
    }
    if let [board @ .., "tasks", task, "claim"] = segments.as_slice() {
        let claim = format!("/{}/tasks/claim", board.join("/"));
        if is_route(&claim) {
            return Some(format!(r#"did you mean POST {claim} with {{"task": "{task}"}}?"#));
        }
    }
    let alike = [&segments[..], segments.strip_prefix(&["api"]).unwrap_or_default()];
    let alike = alike.into_iter().flat_map(|given| paths().filter_map(|route| alike_path(route, given)));
    if let Some((_, right)) = alike.max_by_key(|(literals, _)| *literals) {
        return Some(format!("did you mean {right}?"));
    }
    let encoded = paths().filter_map(|route| encoded(route, &segments)).max_by_key(|(literals, _)| *literals);
    encoded.map(|(_, encoded)| format!("percent-encode the slashes in a name (%2F): {encoded}"))
}

/// Whether a route has the path.
fn matches(route: &str, path: &str) -> bool {
    let (route, path) = (route.split('/'), path.split('/'));
    route.clone().count() == path.clone().count()
        && route.zip(path).all(|(of_route, given)| of_route.starts_with('{') && !given.is_empty() || of_route == given)
}

/// The path of a route that differs only in upper case, in a missing or superfluous plural, or in a missing version;
/// and the number of literal segments in the route.
fn alike_path(route: &str, given: &[&str]) -> Option<(usize, String)> {
    let of_route: Vec<&str> = route.split('/').skip(1).collect();
    let rest = match of_route.split_first() {
        Some((version, rest)) if *version == VERSION.trim_start_matches('/') && rest.len() == given.len() => rest,
        _ => of_route.as_slice(),
    };
    let is_parameter = |segment: &str| segment.starts_with('{');
    let is_alike = |(literal, given): (&&str, &&str)| {
        let given = given.to_ascii_lowercase();
        let singular = |word: &str| match word.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => word.strip_suffix('s').unwrap_or(word).to_owned(),
        };
        is_parameter(literal) || singular(literal) == singular(&given)
    };
    if given.is_empty() || rest.len() != given.len() || !rest.iter().zip(given).all(is_alike) {
        return None;
    }
    let version = of_route.len() - rest.len();
    let right = |(literal, given): (&&str, &&str)| {
        if is_parameter(literal) { (*given).to_owned() } else { (*literal).to_owned() }
    };
    let literals = of_route.iter().filter(|segment| !is_parameter(segment)).count();
    let path: Vec<String> = of_route
        .iter()
        .take(version)
        .map(|segment| (*segment).to_owned())
        .chain(rest.iter().zip(given).map(right))
        .collect();
    (literals > version).then(|| (literals, format!("/{}", path.join("/"))))
}

/// The path that matches a route if one of its names is percent-encoded, and the number of literal segments in the
/// route.
fn encoded(route: &str, given: &[&str]) -> Option<(usize, String)> {
    let route: Vec<&str> = route.split('/').skip(1).collect();
    let at = route.iter().rposition(|segment| WITH_SLASH.contains(segment))?;
    let more = given.len().checked_sub(route.len()).filter(|more| *more > 0)?;
    let name = given.get(at..=at + more)?.join("%2F");
    let path: Vec<&str> =
        given.get(..at)?.iter().copied().chain([&*name]).chain(given.get(at + more + 1..)?.iter().copied()).collect();
    let path = format!("/{}", path.join("/"));
    let literals = route.iter().filter(|segment| !segment.starts_with('{')).count();
    matches(&format!("/{}", route.join("/")), &path).then_some((literals, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_almost_correct_path_gets_a_suggestion() {
        let is_route = |path: &str| paths().any(|route| matches(route, path));
        for (wrong, right) in [
            ("/v1/agents/ada/entries/", Some("remove the slash at the end: /v1/agents/ada/entries")),
            ("/v1//agents///ada/entries", Some("use single slashes: /v1/agents/ada/entries")),
            ("/agents/ada/entries", Some("start the path with /v1: /v1/agents/ada/entries")),
            ("/boards/", Some("start the path with /v1: /v1/boards")),
            ("/v1/v1/boards/b/tasks", Some("write /v1 once: /v1/boards/b/tasks")),
            (
                "/v1/agents/ada/entries/a/b",
                Some("percent-encode the slashes in a name (%2F): /v1/agents/ada/entries/a%2Fb"),
            ),
            (
                "/v1/agents/ada/entries/a/b/c/append",
                Some("percent-encode the slashes in a name (%2F): /v1/agents/ada/entries/a%2Fb%2Fc/append"),
            ),
            (
                "/v1/spaces/conversation/ada/c-1/head",
                Some("percent-encode the slashes in a name (%2F): /v1/spaces/conversation/ada%2Fc-1/head"),
            ),
            ("/V1/boards", Some("did you mean /v1/boards?")),
            ("/api/v1/boards", Some("did you mean /v1/boards?")),
            ("/api/boards", Some("did you mean /v1/boards?")),
            ("/v1/board/b1", Some("did you mean /v1/boards/b1?")),
            ("/board/b1/task/T-1/Claim", None),
            ("/v1/agent/Ada/entry/k", Some("did you mean /v1/agents/Ada/entries/k?")),
            ("/Boards/b1/task/claim", Some("did you mean /v1/boards/b1/tasks/claim?")),
            (
                "/v1/boards/b1/tasks/T-1/claim",
                Some(r#"did you mean POST /v1/boards/b1/tasks/claim with {"task": "T-1"}?"#),
            ),
            ("/v1/nothing/of/the/kind", None),
            ("/v1/agents/ada/nothing", None),
        ] {
            assert_eq!(advice(wrong, &is_route).as_deref(), right, "{wrong}");
        }
    }
}

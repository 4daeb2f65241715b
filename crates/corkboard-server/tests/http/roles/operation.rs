//! The operations in the server's description, with their expected permissions.

use std::collections::BTreeSet;
use std::fmt;

use corkboard::Actor;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value};

use super::expected::{Expected, Sends};
use super::fixture::Fixture;
use super::{agents, boards, cores, others, spaces};
use crate::support::{Answer, Client, Running};

/// A call of an operation.
#[derive(Clone)]
pub(crate) struct Case<'s> {
    pub(crate) expected: Expected,
    /// Its description.
    pub(crate) operation: Value,
    /// Content type and text of the body.
    body: Option<(String, String)>,
    headers: Vec<(&'static str, String)>,
    server: &'s Running,
}

/// All cases. Fails if an operation has no expectation, or an expectation no operation.
pub(crate) async fn cases(server: &Running) -> Vec<Case<'_>> {
    let description = server.admin().get("/openapi.json").await.ok();
    let paths = description["paths"].as_object().unwrap();
    let methods =
        |item: &Value| item.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect::<Vec<_>>();
    let described: BTreeSet<String> = paths
        .iter()
        .flat_map(|(path, item)| methods(item).into_iter().map(move |method| format!("{method} {path}")))
        .collect();
    let all = [agents::expected(), boards::expected(), cores::expected(), spaces::expected(), others::expected()];
    let expected: BTreeSet<String> = all.iter().flatten().map(|expected| expected.operation.to_owned()).collect();
    let without: Vec<_> = described.symmetric_difference(&expected).collect();
    assert!(without.is_empty(), "described without expectation, or the reverse: {without:#?}");
    let case = |expected: Expected| {
        let (method, path) = expected.route();
        let operation = paths[path][method.to_lowercase()].clone();
        let body = match &expected.sends {
            Sends::Example => example(&description, &operation),
            Sends::Nothing => None,
            Sends::Json(body) => Some(("application/json".to_owned(), body.to_string())),
        };
        Case { expected, operation, body, headers: Vec::new(), server }
    };
    all.into_iter().flatten().map(case).collect()
}

/// Content type and text of the first example body.
fn example(description: &Value, operation: &Value) -> Option<(String, String)> {
    let (kind, content) = operation["requestBody"]["content"].as_object()?.iter().next()?;
    let named = content["examples"].as_object().and_then(|examples| examples.values().next());
    let own = content.get("example").or_else(|| named?.get("value"));
    let example = own.or_else(|| of_schema(description, &content["schema"]));
    let text = match example.unwrap_or_else(|| panic!("a body without an example: {operation}")) {
        Value::String(text) => text.clone(),
        example => example.to_string(),
    };
    Some((kind.clone(), text))
}

/// The example of a schema or of one of its parts.
fn of_schema<'a>(description: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    if let Some(path) = schema["$ref"].as_str() {
        return of_schema(description, description.pointer(path.strip_prefix('#')?)?);
    }
    let parts = ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|of| schema[of].as_array()).flatten();
    schema.get("example").or_else(|| parts.into_iter().find_map(|part| of_schema(description, part)))
}

/// Whether a schema allows only objects.
fn is_object(description: &Value, schema: &Value) -> bool {
    if let Some(path) = schema["$ref"].as_str() {
        let named = path.strip_prefix('#').and_then(|path| description.pointer(path));
        return is_object(description, named.unwrap_or_else(|| panic!("{path} does not exist")));
    }
    let every =
        |parts: &Value| parts.as_array().is_some_and(|parts| parts.iter().all(|part| is_object(description, part)));
    schema["type"] == "object" || schema["allOf"].is_array() || every(&schema["oneOf"])
}

impl Case<'_> {
    /// Whether the description has a parameter of this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let parameters = self.operation["parameters"].as_array().into_iter().flatten();
        parameters.into_iter().any(|parameter| parameter["name"] == name)
    }

    /// The same call with one more parameter.
    pub(crate) fn with_parameter(&self, parameter: &str) -> Self {
        let mut case = self.clone();
        let mark = if case.expected.query.is_empty() { '?' } else { '&' };
        case.expected.query += &format!("{mark}{parameter}");
        case
    }

    /// Whether the body is a JSON object.
    pub(crate) fn takes_object(&self, description: &Value) -> bool {
        let content = self.operation["requestBody"]["content"].get("application/json");
        content.is_some_and(|content| is_object(description, &content["schema"]))
    }

    /// The same call with other JSON as its body.
    pub(crate) fn saying(&self, json: &str) -> Self {
        Self { body: Some(("application/json".into(), json.into())), ..self.clone() }
    }

    /// The same call with one more header.
    pub(crate) fn with_header(&self, name: &'static str, value: &str) -> Self {
        let mut case = self.clone();
        case.headers.push((name, value.into()));
        case
    }

    /// The JSON object in the body, if it is one.
    pub(crate) fn object(&self) -> Option<Map<String, Value>> {
        let (kind, body) = self.body.as_ref()?;
        (kind == "application/json").then(|| serde_json::from_str(body).ok())?
    }

    /// Sends the request, with or without a token.
    pub(crate) async fn send(&self, caller: Option<(&Client, &Actor)>, fixture: &Fixture) -> Answer {
        let (method, path) = self.expected.route();
        let mut path = format!("{path}{}", self.expected.query);
        for (name, value) in &self.expected.named {
            path = path.replace(name, value);
        }
        let principal = caller.map_or("", |(_, actor)| &actor.principal);
        let path = fixture.named(&path).replace("{caller}", principal);
        assert!(!path.contains('{'), "{path}");
        let method: Method = method.parse().unwrap();
        let mut request = match caller {
            Some((client, _)) => client.request(method, &path),
            None => self.server.stranger(method, &path),
        };
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some((kind, body)) = &self.body {
            request = request.header(CONTENT_TYPE, kind).body(fixture.named(body));
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        self.check_documented(status);
        // A stream never ends.
        let bytes = if is_stream(&headers) { Vec::new() } else { response.bytes().await.unwrap().to_vec() };
        Answer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or_default() }
    }

    fn check_documented(&self, status: StatusCode) {
        let responses = self.operation["responses"].as_object().unwrap();
        assert!(responses.contains_key(status.as_str()), "{self}: {status} is not documented");
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

impl Answer {
    /// The code of a denial, if it is one.
    pub(crate) fn denial(&self) -> Option<&str> {
        let is_denied = self.status == StatusCode::FORBIDDEN;
        is_denied.then(|| self.body["code"].as_str().unwrap_or("without a code"))
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body.as_ref().map_or("", |(_, body)| body);
        write!(f, "{} {:?} {}", self.expected.operation, self.expected.named, body)
    }
}

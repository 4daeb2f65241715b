//! Checks requests against the API description: query parameters, condition headers, and ranges of numbers. Anything
//! that the description does not list is refused, so nothing is ignored silently, and the description is complete.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Query, Request};
use axum::http::{HeaderMap, Method};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::condition::IF_REV;
use crate::error::HttpError;
use crate::openapi;

/// Headers that are conditions of a write. A route refuses those that it does not support, because the client relies on
/// them.
const CONDITIONS: [&str; 5] = ["Idempotency-Key", "If-Match", "If-None-Match", "Cork-Orchestrator", "Cork-Claim"];

/// By path and method. Parsed from the description on first use.
static ROUTES: LazyLock<HashMap<String, HashMap<String, RouteParameters>>> = LazyLock::new(described);

/// The parameters of a route.
struct RouteParameters {
    query: Vec<(String, NumberRange)>,
    headers: Vec<String>,
    /// The numbers in its JSON body.
    body: BodyRanges,
}

/// The minimum and maximum of a number, as far as the description states them.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
struct NumberRange {
    minimum: Option<f64>,
    maximum: Option<f64>,
}

/// The range of a number in a body, or the ranges of the numbers inside: by field of an object, or of every item of a list.
#[derive(Default)]
pub(crate) struct BodyRanges {
    number: NumberRange,
    fields: HashMap<String, Self>,
    items: Option<Box<Self>>,
}

/// Refuses a request with a parameter or condition that its route does not support, or a number out of range.
pub(crate) fn check(request: &Request) -> Result<(), HttpError> {
    let has_query = request.uri().query().is_some_and(|query| !query.is_empty());
    // Reads may have any condition header: clients send the same headers with every request.
    let has_conditions = !request.method().is_safe() && conditions(request.headers()).next().is_some();
    if !has_query && !has_conditions {
        return Ok(());
    }
    let Some(route) = RouteParameters::of(request) else { return Ok(()) };
    if has_query {
        let Query(given) = Query::<Vec<(String, String)>>::try_from_uri(request.uri())?;
        for (name, value) in given {
            route.check_query(&name, &value)?;
        }
    }
    let is_taken = |header: &str| route.headers.iter().any(|taken| taken == header);
    match conditions(request.headers()).find(|header| has_conditions && !is_taken(header)) {
        Some(header) => Err(not_taken(&format!("header {header}"))),
        None => Ok(()),
    }
}

/// The ranges of the numbers in the body of a request.
pub(crate) fn body_ranges(request: &Request) -> Option<&'static BodyRanges> {
    RouteParameters::of(request).map(|route| &route.body).filter(|body| !body.is_empty())
}

/// The paths of all routes as in the description, with parameters in braces.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    ROUTES.keys().map(String::as_str)
}

/// The methods of a path.
pub(crate) fn methods(path: &str) -> Vec<&'static str> {
    let mut methods: Vec<&str> = ROUTES.get(path).into_iter().flatten().map(|(method, _)| method.as_str()).collect();
    methods.sort_unstable();
    methods
}

fn conditions(headers: &HeaderMap) -> impl Iterator<Item = &'static str> {
    CONDITIONS.into_iter().filter(|header| headers.contains_key(*header))
}

fn not_taken(what: &str) -> HttpError {
    HttpError::invalid(
        "condition",
        format!("this route does not support the {what}; nothing was changed. Remove it and retry"),
    )
}

impl RouteParameters {
    /// None for pages and files, which are not in the description and accept anything.
    fn of(request: &Request) -> Option<&'static Self> {
        let path = request.extensions().get::<MatchedPath>()?;
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        ROUTES.get(path.as_str())?.get(method.as_str())
    }

    fn check_query(&self, name: &str, value: &str) -> Result<(), HttpError> {
        let Some((_, range)) = self.query.iter().find(|(taken, _)| taken == name) else {
            if name == IF_REV {
                return Err(not_taken("parameter if_rev"));
            }
            let taken: Vec<&str> = self.query.iter().map(|(name, _)| name.as_str()).collect();
            let detail = match taken.as_slice() {
                _ if name == "if_version" => {
                    "unknown parameter `if_version`: send the version in the header If-Match".into()
                }
                [] => format!("unknown parameter `{name}`: this route has no parameters"),
                taken => format!("unknown parameter `{name}`: must be one of `{}`", taken.join("`, `")),
            };
            return Err(HttpError::invalid("query", detail));
        };
        // The route itself refuses values that are not numbers.
        value
            .parse()
            .ok()
            .filter(|number| f64::is_finite(*number))
            .map_or(Ok(()), |number| range.check(name, number, value))
    }
}

impl NumberRange {
    fn check(self, name: &str, number: f64, given: &str) -> Result<(), HttpError> {
        let is_within =
            self.minimum.is_none_or(|minimum| number >= minimum) && self.maximum.is_none_or(|most| number <= most);
        if is_within {
            return Ok(());
        }
        let error = HttpError::invalid("out_of_range", format!("{name} is {given}; it must be {self}"));
        let bound = |bound: Option<f64>| bound.and_then(|bound| serde_json::from_str(&bound.to_string()).ok());
        let error = error.with("parameter", Some(name.into())).with("value", serde_json::from_str(given).ok());
        Err(error.with("minimum", bound(self.minimum)).with("maximum", bound(self.maximum)))
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.minimum, self.maximum) {
            (Some(minimum), Some(maximum)) => write!(f, "from {minimum} to {maximum}"),
            (Some(minimum), None) => write!(f, "{minimum} or more"),
            (None, Some(maximum)) => write!(f, "{maximum} or less"),
            (None, None) => write!(f, "a number"),
        }
    }
}

impl BodyRanges {
    /// Refuses JSON with a number out of range.
    pub(crate) fn check(&self, json: &[u8]) -> Result<(), HttpError> {
        let mut wrong = Ok(());
        // The route itself refuses a body that is not JSON.
        let _ = BodyNumbers { ranges: self, name: "", wrong: &mut wrong }
            .deserialize(&mut serde_json::Deserializer::from_slice(json));
        wrong
    }

    fn is_empty(&self) -> bool {
        self.number == NumberRange::default() && self.fields.is_empty() && self.items.is_none()
    }

    fn add(&mut self, other: Self) {
        if other.number != NumberRange::default() {
            self.number = other.number;
        }
        for (name, ranges) in other.fields {
            self.fields.entry(name).or_default().add(ranges);
        }
        if let Some(items) = other.items {
            self.items.get_or_insert_default().add(*items);
        }
    }
}

/// Checks the numbers of a value that have a range, and skips the rest.
struct BodyNumbers<'a> {
    ranges: &'a BodyRanges,
    /// The field that contains the value.
    name: &'a str,
    wrong: &'a mut Result<(), HttpError>,
}

impl<'de> DeserializeSeed<'de> for BodyNumbers<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.ranges.is_empty() {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| ());
        }
        let json = <&RawValue>::deserialize(deserializer)?.get();
        if let (Ok(number), Ok(())) = (json.parse(), &self.wrong) {
            *self.wrong = self.ranges.number.check(self.name, number, json);
        }
        if json.starts_with(['{', '[']) {
            // An error here is the route's to report.
            let _ = serde_json::Deserializer::from_str(json).deserialize_any(self);
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for BodyNumbers<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object or array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { ranges, wrong, .. } = self;
        let no_range = BodyRanges::default();
        while let Some(name) = map.next_key::<String>()? {
            let ranges = ranges.fields.get(&name).unwrap_or(&no_range);
            map.next_value_seed(BodyNumbers { ranges, name: &name, wrong: &mut *wrong })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { ranges, name, wrong } = self;
        let no_range = BodyRanges::default();
        let ranges = ranges.items.as_deref().unwrap_or(&no_range);
        while list.next_element_seed(BodyNumbers { ranges, name, wrong: &mut *wrong })?.is_some() {}
        Ok(())
    }
}

fn described() -> HashMap<String, HashMap<String, RouteParameters>> {
    let Description { paths, components } = serde_json::from_slice(&openapi::description()).unwrap_or_default();
    let route = |DescribedOperation { parameters, request_body }: DescribedOperation| {
        let of = |place: &'static str| parameters.iter().filter(move |parameter| parameter.place == place);
        let body = request_body.content.get("application/json").map(|content| &content.schema);
        RouteParameters {
            query: of("query").map(|parameter| (parameter.name.clone(), parameter.schema.range)).collect(),
            headers: of("header").map(|parameter| parameter.name.clone()).collect(),
            body: body.map(|schema| components.ranges(schema, &mut Vec::new())).unwrap_or_default(),
        }
    };
    let methods = |operations: HashMap<String, DescribedOperation>| {
        operations.into_iter().map(|(method, operation)| (method.to_uppercase(), route(operation))).collect()
    };
    paths.into_iter().map(|(path, operations)| (path, methods(operations))).collect()
}

/// The parts of the description that are used here.
#[derive(Default, Deserialize)]
struct Description {
    paths: HashMap<String, HashMap<String, DescribedOperation>>,
    components: DescribedComponents,
}

#[derive(Deserialize)]
struct DescribedOperation {
    #[serde(default)]
    parameters: Vec<DescribedParameter>,
    #[serde(default, rename = "requestBody")]
    request_body: DescribedBody,
}

/// Empty for a reference to a parameter of all routes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DescribedParameter {
    name: String,
    #[serde(rename = "in")]
    place: String,
    schema: DescribedSchema,
}

#[derive(Default, Deserialize)]
struct DescribedBody {
    content: HashMap<String, DescribedContent>,
}

#[derive(Deserialize)]
struct DescribedContent {
    schema: DescribedSchema,
}

#[derive(Default, Deserialize)]
struct DescribedComponents {
    schemas: HashMap<String, DescribedSchema>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DescribedSchema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(alias = "oneOf", alias = "allOf")]
    parts: Vec<Self>,
    properties: HashMap<String, Self>,
    items: Option<Box<DescribedItems>>,
    #[serde(flatten)]
    range: NumberRange,
}

/// The schema of a list's items, or `false` if a tuple has no further ones.
#[derive(Deserialize)]
#[serde(untagged)]
enum DescribedItems {
    All(DescribedSchema),
    None(IgnoredAny),
}

impl DescribedComponents {
    /// The ranges in a schema. A schema that contains itself, `within`, is not followed again.
    fn ranges<'a>(&'a self, schema: &'a DescribedSchema, within: &mut Vec<&'a str>) -> BodyRanges {
        let mut found = BodyRanges { number: schema.range, ..BodyRanges::default() };
        let named = schema.reference.as_deref().and_then(|path| path.strip_prefix("#/components/schemas/"));
        if let Some((name, named)) = named.and_then(|name| Some((name, self.schemas.get(name)?)))
            && !within.contains(&name)
        {
            within.push(name);
            found.add(self.ranges(named, within));
            within.pop();
        }
        for part in &schema.parts {
            found.add(self.ranges(part, within));
        }
        for (name, field) in &schema.properties {
            let ranges = self.ranges(field, within);
            if !ranges.is_empty() {
                found.fields.entry(name.clone()).or_default().add(ranges);
            }
        }
        if let Some(DescribedItems::All(items)) = schema.items.as_deref() {
            let ranges = self.ranges(items, within);
            found.items = (!ranges.is_empty()).then(|| Box::new(ranges));
        }
        found
    }
}

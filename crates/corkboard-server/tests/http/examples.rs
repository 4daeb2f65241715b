//! Every example of the description fits its schema: bodies, answers, parameters, and examples of schemas.

use boon::{Compiler, Draft, Schemas};
use serde_json::Value;

/// The URL of the description for the validator.
const DESCRIPTION: &str = "http://localhost/openapi.json";

/// An example, and the position of its schema.
struct Example<'a> {
    schema: String,
    value: &'a Value,
}

#[test]
fn examples_fit_their_schemas() {
    let described = serde_json::to_value(corkboard_server::description()).expect("JSON");
    let mut examples = Vec::new();
    collect("", &described, &mut examples);
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.enable_format_assertions();
    compiler.add_resource(DESCRIPTION, described.clone()).expect("the description");
    let mut wrong = Vec::new();
    for Example { schema, value } in &examples {
        let schema = compiler.compile(&format!("{DESCRIPTION}#{schema}"), &mut schemas).expect("a schema");
        if let Err(error) = schemas.validate(value, schema) {
            wrong.push(format!("{error}\n  in {value}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), examples.len(), wrong.join("\n"));
    assert!(examples.len() > 300, "only {} were found", examples.len());
}

/// Collects the examples in a part of the description. Everything with a schema can have examples.
fn collect<'a>(at: &str, part: &'a Value, examples: &mut Vec<Example<'a>>) {
    if part.get("schema").is_some() {
        let named = part["examples"].as_object().into_iter().flatten().filter_map(|(_, example)| example.get("value"));
        let shown = part.get("example").into_iter().chain(named);
        examples.extend(shown.map(|value| Example { schema: format!("{at}/schema"), value }));
    }
    for (step, inner) in steps(part) {
        let at = format!("{at}/{step}");
        match step.as_str() {
            "schema" => collect_of_schema(&at, inner, examples),
            "schemas" => of_each(&at, inner, examples),
            "example" | "examples" => {}
            _ => collect(&at, inner, examples),
        }
    }
}

/// Collects the examples of a schema and its parts.
fn collect_of_schema<'a>(at: &str, schema: &'a Value, examples: &mut Vec<Example<'a>>) {
    let shown = schema["examples"].as_array().into_iter().flatten().chain(schema.get("example"));
    examples.extend(shown.map(|value| Example { schema: at.to_owned(), value }));
    for of in ["properties", "allOf", "oneOf", "anyOf", "prefixItems"] {
        of_each(&format!("{at}/{of}"), &schema[of], examples);
    }
    for (of, inner) in ["items", "additionalProperties"].into_iter().filter_map(|of| Some((of, schema.get(of)?))) {
        collect_of_schema(&format!("{at}/{of}"), inner, examples);
    }
}

fn of_each<'a>(at: &str, schemas: &'a Value, examples: &mut Vec<Example<'a>>) {
    for (step, schema) in steps(schemas) {
        collect_of_schema(&format!("{at}/{step}"), schema, examples);
    }
}

/// The items of an object or list, with their steps of a JSON pointer, percent-encoded.
fn steps(value: &Value) -> Vec<(String, &Value)> {
    let escaped = |name: &String| {
        name.replace('~', "~0").replace('/', "~1").replace('%', "%25").replace('{', "%7B").replace('}', "%7D")
    };
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (escaped(name), value)).collect(),
        Value::Array(values) => values.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    }
}

//! Definitions of tools, in the formats of the providers.

use std::str::FromStr;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::advice::advised;
use super::{Tool, ToolContext, ToolError, ToolFuture, ToolOutput};
use crate::{ErrorKind, Strict, json_error};

/// A tool's name, description and input schema, as a model reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// JSON schema of the input: an object without additional properties.
    pub schema: Value,
    /// A valid input.
    pub example: Value,
    /// What the tool changes.
    pub effect: ToolEffect,
    /// JSON schema of the answer's `data`, if `data` is the whole answer. If `None`, `data` may lack what the text says.
    pub output_schema: Option<Value>,
    /// Anthropic's type name, if its models were trained on this tool.
    pub anthropic_type: Option<&'static str>,
}

/// What a tool changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// The tool only reads.
    Reads,
    /// The tool adds, and never removes or replaces. A repeat can add again.
    Adds,
    /// The tool adds, and never removes or replaces. A repeat has no further effect.
    AddsOnce,
    /// The tool removes or replaces. A repeat has no further effect.
    Replaces,
    /// The tool can remove or replace, and a repeat can have a further effect.
    Changes,
}

impl ToolEffect {
    /// Whether the tool changes nothing.
    pub fn is_read_only(self) -> bool {
        self == Self::Reads
    }

    /// Whether the tool can remove or replace something.
    pub fn is_destructive(self) -> bool {
        matches!(self, Self::Replaces | Self::Changes)
    }

    /// Whether a repeated call has no further effect.
    pub fn is_idempotent(self) -> bool {
        matches!(self, Self::Reads | Self::AddsOnce | Self::Replaces)
    }
}

/// A provider's form of definitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ToolFormat {
    /// OpenAI's Chat Completions: strict functions, so every property is required and optional ones may be null.
    #[default]
    OpenAi,
    /// OpenAI's Responses: the same functions, with their fields beside `type`.
    #[serde(rename = "openai_responses")]
    OpenAiResponses,
    /// Anthropic's tools.
    Anthropic,
    /// The Model Context Protocol's tools.
    Mcp,
}

impl ToolFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Mcp];

    /// The name of the format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Mcp => "mcp",
        }
    }
}

impl FromStr for ToolFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("unknown tool format {text:?}; expected one of {known}")
        })
    }
}

impl ToolDefinition {
    /// The name for people, such as `Write Memory`.
    pub fn title(&self) -> String {
        let capitalized = |word: &str| {
            let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
            first.to_uppercase() + rest
        };
        self.name.split('_').map(capitalized).collect::<Vec<_>>().join(" ")
    }

    /// Whether the schema alone could be misread. Strings and numbers need no example.
    fn needs_example(&self) -> bool {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        let is_nested = |property: &Value| property.get("enum").is_some() || property.get("items").is_some();
        properties.is_some_and(|properties| properties.values().any(is_nested))
    }

    /// The definition in a provider's format.
    pub fn in_format(&self, format: ToolFormat) -> Value {
        let Self { name, schema, .. } = self;
        let description = match self.needs_example() {
            true => format!("{} Example: {}", self.description, self.example),
            false => self.description.into(),
        };
        match format {
            ToolFormat::OpenAi => {
                let parameters = all_required(schema);
                let function =
                    json!({"name": name, "description": description, "parameters": parameters, "strict": true});
                json!({"type": "function", "function": function})
            }
            ToolFormat::OpenAiResponses => {
                let parameters = all_required(schema);
                json!({"type": "function", "name": name, "description": description, "parameters": parameters,
                    "strict": true})
            }
            ToolFormat::Anthropic => match self.anthropic_type {
                Some(known) => json!({"type": known, "name": name}),
                None => json!({"name": name, "description": description, "input_schema": schema}),
            },
            ToolFormat::Mcp => {
                let annotations = json!({"readOnlyHint": self.effect.is_read_only(),
                    "destructiveHint": self.effect.is_destructive(), "idempotentHint": self.effect.is_idempotent(),
                    "openWorldHint": false});
                let mut tool = json!({"name": name, "title": self.title(), "description": description,
                    "inputSchema": schema, "annotations": annotations});
                if let (Some(output_schema), Some(fields)) = (&self.output_schema, tool.as_object_mut()) {
                    fields.insert("outputSchema".into(), output_schema.clone());
                }
                tool
            }
        }
    }
}

/// Makes every property required, optional ones nullable, and objects closed, as OpenAI's strict mode requires.
fn all_required(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let Some(object) = schema.as_object_mut() else { return schema };
    let required: Vec<String> = strings(object.get("required"));
    let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) else { return schema };
    let names: Vec<String> = properties.keys().cloned().collect();
    for items in properties.values_mut().filter_map(|property| property.get_mut("items")) {
        *items = all_required(items);
    }
    for (name, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
        let Some(property) = property.as_object_mut() else { continue };
        debug_assert!(property.contains_key("type"), "{name} has no type that could be null");
        if let Some(kind) = property.get_mut("type").filter(|kind| kind.is_string()) {
            *kind = json!([kind.clone(), "null"]);
        }
        if let Some(values) = property.get_mut("enum").and_then(Value::as_array_mut) {
            values.push(Value::Null);
        }
    }
    object.insert("required".into(), names.into());
    object.insert("additionalProperties".into(), false.into());
    schema
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Defines a tool whose only field is a Corkboard.
macro_rules! tool {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name {
            corkboard: $crate::Corkboard,
        }

        impl $name {
            /// The tool on a Corkboard.
            pub fn new(corkboard: &$crate::Corkboard) -> Self {
                Self { corkboard: corkboard.clone() }
            }
        }
    };
}
pub(super) use tool;

/// A tool with a typed input, from which the schema is derived.
pub(super) trait TypedTool: Send + Sync {
    type Input: DeserializeOwned + JsonSchema + Send;
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const EFFECT: ToolEffect;
    const ANTHROPIC_TYPE: Option<&'static str> = None;

    fn example() -> Value;

    /// JSON schema of the answer's data, if the data is the whole answer.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The input without what the tool ignores.
    fn admitted(input: Value) -> Value {
        input
    }

    /// The example in errors. It shows the properties that can be wrong.
    fn example_in_errors() -> Value {
        Self::example()
    }

    /// Adds what the model should do instead to the message about an invalid input.
    fn explained(message: String) -> String {
        message
    }

    fn run(
        &self,
        input: Self::Input,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    fn invalid(message: impl Into<String>) -> ToolError {
        Self::invalid_as(message, Self::example_in_errors())
    }

    fn invalid_as(message: impl Into<String>, example: Value) -> ToolError {
        ToolError::InvalidInput { tool: Self::NAME, message: message.into(), example }
    }
}

impl<T: TypedTool> Tool for T {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: T::NAME,
            description: T::DESCRIPTION,
            schema: schema_of::<T::Input>(),
            example: T::example(),
            effect: T::EFFECT,
            output_schema: T::output_schema(),
            anthropic_type: T::ANTHROPIC_TYPE,
        }
    }

    fn call<'a>(&'a self, input: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            // Some clients send null if no property is needed. Strict clients send null for each omitted property.
            let input = match input {
                Value::Null => Map::new(),
                Value::Object(properties) => properties.into_iter().filter(|(_, value)| !value.is_null()).collect(),
                Value::String(text) => {
                    let why = serde_json::from_str::<Map<String, Value>>(&text).err();
                    let why = why.map_or_else(String::new, |error| {
                        format!(": {}", json_error::describe("it", text.as_bytes(), &error))
                    });
                    return Err(T::invalid(format!(
                        "expected a JSON object, found a string that does not contain one{why}"
                    )));
                }
                other => return Err(T::invalid(format!("expected a JSON object, found {}", kind_of(&other)))),
            };
            let board = input.get("board").and_then(Value::as_str).map(str::to_owned);
            let wrapped = unwrapped(T::NAME, &input);
            let read = serde_json::from_value(T::admitted(Value::Object(input)));
            let Strict(input) = read.map_err(|error| match wrapped {
                Some((wrapper, inner)) => wrapped_input::<T>(&wrapper, inner),
                None => T::invalid(T::explained(json_error::wording(&error))),
            })?;
            match self.run(input, context).await {
                // The model can correct a key or a text that the memory refuses.
                Err(ToolError::Memory(error)) if error.kind() == ErrorKind::Invalid => {
                    Err(T::invalid(error.to_string()))
                }
                Err(ToolError::Memory(error)) => Err(advised(error, context, board.as_deref())),
                answer => answer,
            }
        })
    }
}

/// Parses an input that is a string: OpenAI's models send JSON as a string. A string without a JSON object stays
/// unchanged, and the tool refuses it.
pub(super) fn parsed(input: Value) -> Value {
    match &input {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(text).map_or(input, Value::Object),
        _ => input,
    }
}

/// Names under which callers wrap a tool's input by mistake. No tool has a property with one of these names.
const WRAPPERS: [&str; 5] = ["input", "arguments", "parameters", "params", "args"];

/// The name that the input seems to be wrapped in, and the input inside it.
fn unwrapped(tool: &str, input: &Map<String, Value>) -> Option<(String, Value)> {
    let found = input.iter().find(|(name, _)| WRAPPERS.contains(&name.as_str()) || *name == tool);
    found.map(|(name, inner)| (name.clone(), parsed(inner.clone())))
}

fn wrapped_input<T: TypedTool>(wrapper: &str, inner: Value) -> ToolError {
    let message = format!("the input is wrapped in {wrapper:?}; send what is inside it");
    match serde_json::from_value::<Strict<T::Input>>(inner.clone()) {
        Ok(_) => T::invalid_as(message, inner),
        Err(_) => T::invalid(message),
    }
}

/// The JSON type of a value, with its article.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The schema of a type: short, without additional properties and without references.
pub(super) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    flatten(&mut schema);
    tidy(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        // OpenAI requires it, even of an input without properties.
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Turns an enum of objects into one object with all their properties. Properties that all variants require are
/// required. Models handle a single object better, and some providers accept nothing else.
fn flatten(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    let Some(Value::Array(variants)) = object.remove("oneOf") else { return };
    let (mut properties, mut tags) = (Map::new(), Map::new());
    let mut required: Option<Vec<String>> = None;
    for variant in &variants {
        for (name, property) in variant.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match property.get("const") {
                Some(tag) => {
                    let values = tags.entry(name.clone()).or_insert_with(|| json!([]));
                    values.as_array_mut().into_iter().for_each(|values| values.push(tag.clone()));
                }
                None => {
                    properties.entry(name.clone()).or_insert_with(|| property.clone());
                }
            }
        }
        let own = strings(variant.get("required"));
        required = Some(match required {
            None => own,
            Some(before) => before.into_iter().filter(|name| own.contains(name)).collect(),
        });
    }
    let tags = tags.into_iter().map(|(name, values)| (name, json!({"type": "string", "enum": values})));
    let all: Map<String, Value> = tags.chain(properties).collect();
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), all.into());
    object.insert("required".into(), required.unwrap_or_default().into());
    object.insert("additionalProperties".into(), false.into());
}

/// Removes what a model does not need: titles, formats, defaults, the type's description, and `null` as a type of
/// optional properties.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("title");
    object.remove("description");
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        for word in ["format", "default", "title", "minimum"] {
            property.remove(word);
        }
        if let Some(items) = property.get_mut("items") {
            tidy(items);
            items.as_object_mut().map(|items| items.remove("format"));
        }
        if let Some(Value::Array(kinds)) = property.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [only] = kinds.as_slice() {
                let only = only.clone();
                property.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(values)) = property.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        // Schemars describes an optional enum as "one of these or null".
        if let Some(Value::Array(choices)) = property.remove("anyOf") {
            let choice = choices.into_iter().find(|choice| choice.get("type") != Some(&json!("null")));
            if let Some(Value::Object(choice)) = choice {
                let described = property.contains_key("description");
                let words = choice.into_iter().filter(|(word, _)| !(described && word == "description"));
                property.extend(words);
            }
        }
        // A library enum: its descriptions are for programmers, so keep only the values.
        if let Some(Value::Array(variants)) = property.remove("oneOf") {
            let values: Vec<Value> = variants.iter().filter_map(|variant| variant.get("const")).cloned().collect();
            *property = Map::from_iter([("type".into(), "string".into()), ("enum".into(), values.into())]);
        }
    }
}

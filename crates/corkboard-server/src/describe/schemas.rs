//! Adapts the schemas for client generators: flat objects instead of `allOf`, a named schema for each variant, and
//! names that are clear outside this crate.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

const PREFIX: &str = "#/components/schemas/";
/// utoipa's prefix for a body with the revision of its space.
const WITH_REV: &str = "WithRev_";
/// utoipa's prefix for a page of a list.
const PAGE: &str = "ItemsBody_";
/// utoipa's prefix for the ID of a created item.
const CREATED: &str = "IdBody_";
/// Objects of answers that leave fields out: the changed fields of an edit, and the details of a problem.
const LEAN: [&str; 5] = ["BoardEdit", "BoardEventBoardEdited", "CoreEdit", "Problem", "TaskEdit"];
/// Parts of the description that are data and not schemas.
const DATA: [&str; 5] = ["example", "examples", "enum", "const", "default"];

/// Names that are clear within their module, but not among all schemas.
const RENAMED: &[(&str, &str)] = &[
    ("Added", "AddedCoreEntry"),
    ("AddedHow", "CoreEntryOutcome"),
    ("AnswerDocument", "CommandAnswer"),
    ("Archival_NotebookLearningId", "LearningToArchive"),
    ("Archival_SnippetId", "SnippetToArchive"),
    ("Archived_Learning", "ArchivedLearning"),
    ("Archived_Snippet", "ArchivedSnippet"),
    ("ContextRequest", "ComposeContextRequest"),
    ("DoneBody", "Changed"),
    ("Forget", "ForgetTarget"),
    ("ForgetTargetEntryContent", "EntryToForget"),
    ("ForgetTargetNoteContent", "NoteToForget"),
    ("ForgetTargetNotebookContent", "NotebookToForget"),
    ("Head", "LogPosition"),
    ("HeadDocument", "SpaceHead"),
    ("KeptBy", "RetentionReason"),
    ("Learning", "NotebookLearning"),
    ("LeftOut", "OmittedItem"),
    ("ManyEntries", "CoreEntryBatch"),
    ("MovedBody", "TaskMoved"),
    ("PageDocument", "SpaceLogPage"),
    ("Pause", "BoardPause"),
    ("Receipt", "NudgeReceipt"),
    ("RecordDocument", "LogRecord"),
    ("RoleBody", "OrchestratorRole"),
    ("SealedBody", "SnapshotBytes"),
    ("Setback", "TaskSetback"),
    ("StateDocument", "SpaceState"),
    ("TokenForm", "SignInRequest"),
    ("Vouched", "VouchedMark"),
    ("WithdrawalAuthorContent", "AuthorToWithdraw"),
    ("WithdrawalBoardContent", "BoardToWithdraw"),
    ("WithdrawalItemContent", "ItemToWithdraw"),
    ("WithdrawalPromotionContent", "PromotionToWithdraw"),
];

pub(super) fn simplify(description: &mut Value) {
    let mut schemas = match description["components"]["schemas"].take() {
        Value::Object(schemas) => schemas,
        other => panic!("schemas: {other}"),
    };
    for (name, schema) in &mut schemas {
        if name.starts_with(WITH_REV) {
            // This describes the wrapper; the content has its own description.
            schema.as_object_mut().expect("a schema").remove("description");
        }
        each(schema, &mut without_tuples);
        each(schema, &mut without_defaults);
        each(schema, &mut describe_the_property);
    }
    each(description, &mut bytes_as_binary);
    let known = schemas.clone();
    schemas.values_mut().for_each(|schema| each(schema, &mut |fields| flatten(fields, &known)));
    name_items(&mut schemas);
    name_variants(&mut schemas);
    drop_unused(description, &mut schemas);
    require_fields_of_answers(description, &mut schemas);
    let names = names(description, &schemas);
    rename(description, &names);
    let mut renamed = Fields::new();
    for (name, mut schema) in schemas {
        rename(&mut schema, &names);
        let name = names.get(&name).cloned().unwrap_or(name);
        assert!(renamed.insert(name.clone(), schema).is_none(), "two schemas are called {name}");
    }
    description["components"]["schemas"] = Value::Object(renamed);
    each(description, &mut without_rust_links);
}

/// Replaces links of Rust's documentation: [`Trust::Outside`](crate::Trust) becomes `outside`.
fn without_rust_links(fields: &mut Fields) {
    let Some(Value::String(text)) = fields.get_mut("description") else { return };
    while let Some((before, (name, after))) =
        text.split_once("[`").and_then(|(before, rest)| Some((before, rest.split_once("`]")?)))
    {
        let after = after.strip_prefix('(').and_then(|link| link.split_once(')')).map_or(after, |(_, after)| after);
        let name = name.rsplit("::").next().unwrap_or(name);
        let mut words = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !words.is_empty() {
                words.push('_');
            }
            words.extend(letter.to_lowercase());
        }
        *text = format!("{before}`{words}`{after}");
    }
}

/// Calls a function for every object of a document that is not data, innermost first.
fn each(part: &mut Value, change: &mut impl FnMut(&mut Fields)) {
    match part {
        Value::Object(fields) => {
            let inner = fields.iter_mut().filter(|(name, _)| !DATA.contains(&name.as_str()));
            inner.for_each(|(_, inner)| each(inner, change));
            change(fields);
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| each(part, change)),
        _ => {}
    }
}

/// Makes tuples arrays of fixed length: generators do not understand `"items": false`.
fn without_tuples(fields: &mut Fields) {
    if fields.get("items") == Some(&Value::Bool(false)) {
        let length = fields.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        fields.remove("items");
        fields.extend([("minItems".to_owned(), length.into()), ("maxItems".to_owned(), length.into())]);
    }
}

/// Moves a property's default into its description: generators treat a property with a default as always present.
fn without_defaults(fields: &mut Fields) {
    let Some(Value::Object(properties)) = fields.get_mut("properties") else { return };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        let Some(default) = property.remove("default") else { continue };
        let is_telling = match &default {
            Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => !text.is_empty(),
            _ => false,
        };
        if is_telling {
            let said = property.get("description").and_then(Value::as_str).unwrap_or_default();
            let said = format!("{said}\n\nDefault: `{}`.", default.as_str().map_or(default.to_string(), Into::into));
            property.insert("description".into(), said.trim_start().into());
        }
    }
}

/// Moves the description of a nullable property to the property.
fn describe_the_property(fields: &mut Fields) {
    let Some(Value::Array(variants)) = fields.get_mut("oneOf") else { return };
    if let [one, null] = variants.as_mut_slice()
        && null == &json!({ "type": "null" })
        && let Some(description) =
            one.get("$ref").is_some().then(|| one.as_object_mut()?.remove("description")).flatten()
    {
        fields.insert("description".into(), description);
    }
}

/// Marks bodies that are not JSON as binary: bytes are not an array of numbers, and generators send them as bytes.
fn bytes_as_binary(fields: &mut Fields) {
    let binary = json!({ "type": "string", "format": "binary" });
    if let Some(content) = fields.get_mut("application/octet-stream") {
        content["schema"] = binary.clone();
    }
    for text in ["text/plain", "application/x-ndjson"] {
        if let Some(content) = fields.get_mut("requestBody").and_then(|body| body["content"].get_mut(text)) {
            content["schema"] = binary.clone();
        }
    }
}

/// Merges the parts of an `allOf`. If a part has variants, the result has them too.
fn flatten(fields: &mut Fields, known: &Fields) {
    if !fields.contains_key("allOf") {
        return;
    }
    let mut alternatives = alternatives(&Value::Object(take(fields)), known);
    *fields = match alternatives.len() {
        1 => alternatives.remove(0),
        _ => {
            let description = alternatives.iter().find_map(|alternative| alternative.get("description")).cloned();
            let described = description.map(|description| ("description".to_owned(), description));
            let variants = alternatives.into_iter().map(Value::Object).collect::<Vec<_>>();
            described.into_iter().chain([("oneOf".to_owned(), Value::Array(variants))]).collect()
        }
    };
}

/// The objects that a schema allows.
fn alternatives(schema: &Value, known: &Fields) -> Vec<Fields> {
    let mut own = schema.as_object().expect("a schema").clone();
    if let Some(reference) = own.remove("$ref") {
        let mut found = alternatives(&known[name_of(&reference)], known);
        found.iter_mut().for_each(|alternative| alternative.extend(own.clone()));
        return found;
    }
    for of in ["oneOf", "anyOf"] {
        if let Some(Value::Array(variants)) = own.remove(of) {
            return variants.iter().flat_map(|variant| alternatives(variant, known)).collect();
        }
    }
    let Some(Value::Array(parts)) = own.remove("allOf") else { return vec![own] };
    let mut merged = vec![Fields::new()];
    for part in &parts {
        let parts = alternatives(part, known);
        let pairs = merged.iter().flat_map(|one| parts.iter().map(move |other| merge(one.clone(), other)));
        merged = pairs.collect();
    }
    for alternative in &mut merged {
        alternative.extend(own.clone());
        without_partial_examples(alternative);
    }
    merged
}

/// Removes an example that lacks required fields of the merged object.
fn without_partial_examples(fields: &mut Fields) {
    let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_whole =
        |example: &Value| required.iter().all(|name| example.get(name.as_str().unwrap_or_default()).is_some());
    fields.retain(|name, value| match name.as_str() {
        "example" => is_whole(value),
        "examples" => value.as_array().is_some_and(|examples| examples.iter().all(is_whole)),
        _ => true,
    });
}

/// Merges two object schemas.
fn merge(mut one: Fields, other: &Fields) -> Fields {
    for (name, value) in other {
        match (one.get_mut(name), value) {
            (Some(Value::Object(mine)), Value::Object(theirs)) => mine.extend(theirs.clone()),
            (Some(Value::Array(mine)), Value::Array(theirs)) => mine.extend(theirs.clone()),
            // The first one's value wins.
            (Some(_), _) => {}
            (None, value) => _ = one.insert(name.clone(), value.clone()),
        }
    }
    one
}

/// Makes the items of a page refer to the schema of their type, so that a listed item has the type that a read of it
/// returns.
fn name_items(schemas: &mut Fields) {
    let pages: Vec<String> = schemas.keys().filter(|name| page_item(name).is_some()).cloned().collect();
    for page in pages {
        let items = &mut schemas[&page]["properties"]["items"]["items"];
        if !is_object(items) && items.get("oneOf").is_none() {
            continue;
        }
        let name = page_item(&page).expect("a page").to_owned();
        let (name, item) = named(items, name);
        match schemas.get(&name) {
            Some(known) => assert_eq!(*known, item, "the items of {page} differ from {name}"),
            None => _ = schemas.insert(name, item),
        }
    }
}

/// The type of a page's items.
fn page_item(name: &str) -> Option<&str> {
    name.strip_prefix(WITH_REV).unwrap_or(name).strip_prefix(PAGE)
}

/// Marks all properties of answers as required: the server always sends them, if only as null. utoipa takes those that
/// may be missing in stored data for optional. Schemas that requests use, too, stay as they are.
fn require_fields_of_answers(description: &Value, schemas: &mut Fields) {
    let operations = description["paths"].as_object().expect("paths").values().filter_map(Value::as_object).flatten();
    let mut pending: Vec<String> = operations
        .flat_map(|(_, operation)| ["requestBody", "parameters"].map(|part| references(&operation[part])))
        .flatten()
        .collect();
    let mut sent = BTreeSet::new();
    while let Some(name) = pending.pop() {
        pending.extend(references(&schemas[&name]).into_iter().filter(|inner| !sent.contains(inner)));
        sent.insert(name);
    }
    let answers = schemas.iter_mut().filter(|(name, _)| !sent.contains(*name) && !LEAN.contains(&name.as_str()));
    for (name, schema) in answers {
        each(schema, &mut |fields| {
            let Some(properties) = fields.get("properties").and_then(Value::as_object) else { return };
            // An event of the root scope does not name it.
            let is_sent = |property: &&String| !(name.starts_with("AgentEvent") && *property == "scope");
            let required: Vec<Value> = properties.keys().filter(is_sent).cloned().map(Value::String).collect();
            fields.insert("required".into(), required.into());
            without_partial_examples(fields);
        });
    }
}

/// Gives a name to every object schema that is a variant, a property or an item of another.
fn name_variants(schemas: &mut Fields) {
    let mut pending: Vec<String> = schemas.keys().cloned().collect();
    while let Some(name) = pending.pop() {
        let mut schema = schemas[&name].take();
        let whole = renamed(&name);
        let mut found = Vec::new();
        let fields = schema.as_object_mut().expect("a schema");
        for of in ["oneOf", "anyOf"] {
            for variant in fields.get_mut(of).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(variant_name) = is_object(variant).then(|| variant_name(variant)) {
                    variant.as_object_mut().expect("a schema").remove("title");
                    found.push(named(variant, format!("{whole}{}", pascal(&variant_name))));
                }
            }
        }
        for (property, inner) in fields.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            let inner = if is_object(&inner["items"]) { &mut inner["items"] } else { inner };
            if is_object(inner) {
                // A variant is named after its only property.
                let property = Some(pascal(property)).filter(|property| !whole.ends_with(property));
                found.push(named(inner, whole.to_owned() + property.as_deref().unwrap_or("Content")));
            }
        }
        schemas.insert(name.clone(), schema);
        for (name, schema) in found {
            assert!(schemas.insert(name.clone(), schema).is_none(), "two schemas are called {name}");
            pending.push(name);
        }
    }
}

fn is_object(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

/// Replaces a schema with a reference.
fn named(schema: &mut Value, name: String) -> (String, Value) {
    (name.clone(), std::mem::replace(schema, json!({ "$ref": format!("{PREFIX}{name}") })))
}

/// The title of a variant, the only value of its tag, or the name of its only property.
fn variant_name(variant: &Value) -> String {
    if let Some(title) = variant["title"].as_str() {
        return title.into();
    }
    let properties = variant["properties"].as_object().expect("properties");
    let tag = properties.values().find_map(|property| match property["enum"].as_array().map(Vec::as_slice) {
        Some([Value::String(only)]) => Some(only.clone()),
        _ => None,
    });
    let only = || Some(properties.keys().next()?.clone()).filter(|_| properties.len() == 1);
    tag.or_else(only).unwrap_or_else(|| panic!("a variant needs a title: {variant}"))
}

/// Turns `task_started` into `TaskStarted`.
fn pascal(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split(['_', ' ']).filter(|word| !word.is_empty()).map(capital).collect()
}

fn drop_unused(description: &Value, schemas: &mut Fields) {
    let mut used = BTreeSet::new();
    let mut pending: Vec<String> = references(description);
    while let Some(name) = pending.pop() {
        pending.extend(references(&schemas[&name]).into_iter().filter(|inner| !used.contains(inner)));
        used.insert(name);
    }
    schemas.retain(|name, _| used.contains(name));
}

/// The schemas that a part of the description references.
fn references(part: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut collect = |fields: &mut Fields| {
        let reference =
            fields.get("$ref").filter(|reference| reference.as_str().is_some_and(|at| at.starts_with(PREFIX)));
        found.extend(reference.map(|reference| name_of(reference).to_owned()));
    };
    each(&mut part.clone(), &mut collect);
    found
}

fn name_of(reference: &Value) -> &str {
    reference.as_str().and_then(|at| at.strip_prefix(PREFIX)).expect("a reference to a schema")
}

/// The final name of each schema. Bodies are named after their operation.
fn names(description: &Value, schemas: &Fields) -> BTreeMap<String, String> {
    let (requests, responses) = (users(description, "requestBody"), users(description, "responses"));
    let name = |utoipas: &String| {
        let inner = utoipas.strip_prefix(WITH_REV).unwrap_or(utoipas);
        if let Some(item) = page_item(utoipas) {
            return without_suffix(item).to_owned() + "Page";
        }
        if let Some(id) = inner.strip_prefix(CREATED) {
            return id.trim_end_matches("Id").to_owned() + "Created";
        }
        let words = renamed(inner);
        if !inner.ends_with("Body") {
            let is_taken = inner != utoipas && schemas.contains_key(inner);
            return if is_taken { without_suffix(words).to_owned() + "Response" } else { words.to_owned() };
        }
        let (users, kind) = match requests.get(utoipas) {
            Some(users) => (Some(users), "Request"),
            None => (responses.get(utoipas), "Response"),
        };
        match users.map(Vec::as_slice) {
            Some([only]) => pascal(only) + kind,
            Some(_) => format!("{words}{kind}"),
            None => words.to_owned(),
        }
    };
    schemas.keys().map(|utoipas| (utoipas.clone(), name(utoipas))).collect()
}

fn renamed(utoipas: &str) -> &str {
    let renamed = RENAMED.iter().find(|(from, _)| *from == utoipas).map(|(_, to)| *to);
    renamed.unwrap_or_else(|| utoipas.strip_suffix("Body").unwrap_or(utoipas))
}

fn without_suffix(name: &str) -> &str {
    ["Document", "Summary", "Info"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// Maps each schema to the operations that use it in their request or response.
fn users(description: &Value, part: &str) -> BTreeMap<String, Vec<String>> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let paths = description["paths"].as_object().expect("paths");
    for operation in paths.values().filter_map(Value::as_object).flat_map(Map::values) {
        let id = operation["operationId"].as_str().expect("an id");
        let used: BTreeSet<String> = references(&operation[part]).into_iter().collect();
        used.into_iter().for_each(|name| users.entry(name).or_default().push(id.to_owned()));
    }
    users
}

fn rename(part: &mut Value, names: &BTreeMap<String, String>) {
    each(part, &mut |fields| {
        if let Some(reference) = fields.get_mut("$ref")
            && let Some(name) = reference.as_str().and_then(|at| at.strip_prefix(PREFIX))
        {
            *reference = format!("{PREFIX}{}", names[name]).into();
        }
    });
}

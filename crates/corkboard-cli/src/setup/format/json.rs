//! JSON, with or without comments.

use corkboard::json_error::wording;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstNode, CstObject, CstRootNode};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Edited, Format, SERVER, has_own_server, not_an_object, value_of};
use crate::setup::entry::is_own_hook;
use crate::setup::file::Additions;

const HOOKS: &str = "hooks";
const VERSION: &str = "version";

fn parse(text: &str, format: Format) -> Edited<CstRootNode> {
    // The editor accepts comments in any case.
    if format == Format::Json && !text.trim().is_empty() {
        serde_json::from_str::<IgnoredAny>(text)
            .map_err(|error| format!("line {}, column {}: {}", error.line(), error.column(), wording(&error)))?;
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options)
        .map_err(|error| format!("line {}, column {}: {}", error.line_display(), error.column_display(), error.kind()))
}

pub(super) fn read(text: &str, format: Format) -> Edited<Value> {
    let root = parse(text, format)?;
    Ok(root.to_serde_value().unwrap_or_default())
}

fn top(root: &CstRootNode) -> Edited<CstObject> {
    root.object_value_or_create().ok_or_else(|| not_an_object("the whole file"))
}

pub(super) fn add(text: &str, format: Format, additions: &Additions) -> Edited<String> {
    let root = parse(text, format)?;
    let top = top(&root)?;
    if additions.has_version && top.get(VERSION).is_none() {
        top.append(VERSION, 1_u64.into());
    }
    if let Some((section, entry)) = &additions.server {
        let servers = top.object_value_or_create(section).ok_or_else(|| not_an_object(section))?;
        match servers.get(SERVER) {
            Some(current) if content(current.value()) == value_of(entry) => {}
            Some(current) => current.set_value(entry.clone()),
            None => {
                servers.append(SERVER, entry.clone());
            }
        }
    }
    for (event, hook) in &additions.hooks {
        let hooks = top.object_value_or_create(HOOKS).ok_or_else(|| not_an_object(HOOKS))?;
        let hooks = hooks.array_value_or_create(event).ok_or_else(|| format!("{HOOKS}.{event} is not a list"))?;
        let own: Vec<CstNode> = hooks.elements().into_iter().filter(has_own_hook).collect();
        match own.as_slice() {
            [current] if content(Some(current.clone())) == value_of(hook) => {}
            _ => {
                remove_hooks(&hooks);
                hooks.append(hook.clone());
            }
        }
    }
    Ok(root.to_string())
}

pub(super) fn remove(text: &str, format: Format, additions: &Additions, kept: &Value) -> Edited<String> {
    let root = parse(text, format)?;
    let Some(top) = root.object_value() else { return Ok(text.to_owned()) };
    let content = root.to_serde_value().unwrap_or_default();
    if let Some((section, _)) = &additions.server
        && has_own_server(&content, section)
        && let Some(servers) = top.object_value(section)
        && let Some(current) = servers.get(SERVER)
    {
        current.remove();
        remove_if_empty(&top, section, kept);
    }
    if let Some(hooks) = top.object_value(HOOKS).filter(|_| !additions.hooks.is_empty()) {
        let mut is_changed = false;
        for (event, _) in &additions.hooks {
            if hooks.array_value(event).is_some_and(|hooks| remove_hooks(&hooks)) {
                remove_if_empty(&hooks, event, kept.get(HOOKS).unwrap_or(&Value::Null));
                is_changed = true;
            }
        }
        if is_changed {
            remove_if_empty(&top, HOOKS, kept);
        }
    }
    Ok(root.to_string())
}

/// Removes a field without content and comments, unless it is kept.
fn remove_if_empty(parent: &CstObject, name: &str, kept: &Value) {
    let Some(field) = parent.get(name).filter(|_| kept.get(name).is_none()) else { return };
    let children = field.value().map(|value| value.children()).unwrap_or_default();
    if !children.iter().any(|child| child.is_comment() || !(child.is_trivia() || child.is_token())) {
        field.remove();
    }
}

fn content(node: Option<CstNode>) -> Value {
    node.and_then(|node| node.to_serde_value()).unwrap_or_default()
}

/// Whether a hook, or one in a group of hooks, runs `cork hook`.
fn has_own_hook(node: &CstNode) -> bool {
    is_own_node(node) || group(node).is_some_and(|group| group.elements().iter().any(is_own_node))
}

fn is_own_node(node: &CstNode) -> bool {
    is_own(&content(Some(node.clone())))
}

pub(super) fn is_own(hook: &Value) -> bool {
    let arguments = hook.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let arguments: Vec<&str> = arguments.iter().filter_map(Value::as_str).collect();
    hook.get("command").and_then(Value::as_str).is_some_and(|command| is_own_hook(command, &arguments))
}

fn group(node: &CstNode) -> Option<CstArray> {
    node.as_object()?.array_value(HOOKS)
}

/// Removes Corkboard's hooks from the list of an event. Other hooks in the same group stay. Returns whether there were
/// any.
fn remove_hooks(hooks: &CstArray) -> bool {
    let mut is_changed = false;
    for element in hooks.elements().into_iter().filter(has_own_hook) {
        is_changed = true;
        if let Some(group) = group(&element) {
            group.elements().into_iter().filter(is_own_node).for_each(CstNode::remove);
            if !group.elements().is_empty() {
                continue;
            }
        }
        element.remove();
    }
    is_changed
}

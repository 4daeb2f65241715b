//! Checks that each flag has the name of the HTTP field or parameter that it fills.

use std::collections::{BTreeSet, HashSet};

use clap::{Command, CommandFactory};
use serde_json::Value;

use crate::args::Cli;

/// Commands, and the HTTP operations whose fields their flags fill.
const OPERATIONS: &[(&str, &[(&str, &str)])] = &[
    ("memory set", &[("put", "/v1/agents/{agent}/entries/{key}")]),
    ("memory append", &[("post", "/v1/agents/{agent}/entries/{key}/append")]),
    ("memory get", &[("get", "/v1/agents/{agent}/scopes/{scope}/entries/{key}")]),
    ("memory remove", &[("delete", "/v1/agents/{agent}/entries/{key}")]),
    ("memory list", &[("get", "/v1/agents/{agent}/entries")]),
    ("memory search", &[("get", "/v1/agents/{agent}/search")]),
    ("memory watch", &[("get", "/v1/agents/{agent}/events")]),
    ("memory note add", &[("post", "/v1/agents/{agent}/notes")]),
    ("memory note list", &[("get", "/v1/agents/{agent}/notes")]),
    ("memory forget", &[("post", "/v1/agents/{agent}/forget"), ("delete", "/v1/agents/{agent}")]),
    ("scope create", &[("post", "/v1/agents/{agent}/scopes")]),
    ("notebook show", &[("get", "/v1/agents/{agent}/notebook")]),
    ("notebook apply", &[("post", "/v1/agents/{agent}/notebook/updates")]),
    ("notebook history", &[("get", "/v1/agents/{agent}/notebook/history")]),
    ("notebook diff", &[("get", "/v1/agents/{agent}/notebook/diff")]),
    ("notebook restore", &[("post", "/v1/agents/{agent}/notebook/restore")]),
    ("notebook prompt", &[("post", "/v1/agents/{agent}/notebook/prompt")]),
    ("context", &[("post", "/v1/agents/{agent}/context")]),
    ("search", &[("get", "/v1/agents/{agent}/search")]),
    ("search status", &[("get", "/v1/spaces/{kind}/{name}/vectors")]),
    ("search reindex", &[("post", "/v1/spaces/{kind}/{name}/reindex")]),
    ("board create", &[("post", "/v1/boards")]),
    ("board list", &[("get", "/v1/boards")]),
    ("board show", &[("get", "/v1/boards/{board}")]),
    ("board edit", &[("patch", "/v1/boards/{board}")]),
    ("board delete", &[("delete", "/v1/boards/{board}")]),
    ("board search", &[("get", "/v1/boards/{board}/search")]),
    ("board graph", &[("get", "/v1/boards/{board}/graph")]),
    ("board watch", &[("get", "/v1/boards/{board}/events")]),
    ("board log", &[("get", "/v1/log")]),
    ("board decide", &[("post", "/v1/boards/{board}/decisions")]),
    ("board discover", &[("post", "/v1/boards/{board}/discoveries")]),
    ("board artifact", &[("post", "/v1/boards/{board}/artifacts")]),
    ("board artifact list", &[("get", "/v1/boards/{board}/artifacts")]),
    ("board pause", &[("post", "/v1/boards/{board}/pause")]),
    ("board resume", &[("post", "/v1/boards/{board}/resume")]),
    ("board complete", &[("post", "/v1/boards/{board}/complete")]),
    ("board cancel", &[("post", "/v1/boards/{board}/cancel")]),
    ("board archive", &[("post", "/v1/boards/{board}/archive")]),
    ("board discard", &[("post", "/v1/boards/{board}/discard")]),
    ("board fork", &[("post", "/v1/boards/{board}/fork")]),
    ("task add", &[("post", "/v1/boards/{board}/tasks")]),
    ("task edit", &[("patch", "/v1/boards/{board}/tasks/{task}")]),
    ("task show", &[("get", "/v1/boards/{board}/tasks/{task}")]),
    ("task list", &[("get", "/v1/boards/{board}/tasks")]),
    ("task claim", &[("post", "/v1/boards/{board}/tasks/claim")]),
    ("task start", &[("post", "/v1/boards/{board}/tasks/{task}/status")]),
    ("task block", &[("post", "/v1/boards/{board}/tasks/{task}/status")]),
    ("task heartbeat", &[("post", "/v1/boards/{board}/tasks/{task}/heartbeat")]),
    ("task release", &[("post", "/v1/boards/{board}/tasks/{task}/release")]),
    ("task complete", &[("post", "/v1/boards/{board}/tasks/{task}/complete")]),
    ("task fail", &[("post", "/v1/boards/{board}/tasks/{task}/fail")]),
    ("task retry", &[("post", "/v1/boards/{board}/tasks/{task}/retry")]),
    ("task cancel", &[("post", "/v1/boards/{board}/tasks/{task}/cancel")]),
    ("task context", &[("get", "/v1/boards/{board}/tasks/{task}/context")]),
    ("task review", &[("post", "/v1/boards/{board}/tasks/{task}/review")]),
    ("review", &[("post", "/v1/boards/{board}/tasks/{task}/review")]),
    ("approve", &[("post", "/v1/boards/{board}/decisions/{decision}/approve")]),
    ("reject", &[("post", "/v1/boards/{board}/decisions/{decision}/reject")]),
    ("choose", &[("post", "/v1/boards/{board}/choices/{choice}/choose")]),
    ("choose add", &[("post", "/v1/boards/{board}/choices")]),
    ("choose list", &[("get", "/v1/boards/{board}/choices")]),
    ("nudge", &[("post", "/v1/boards/{board}/nudges")]),
    ("nudge send", &[("post", "/v1/boards/{board}/nudges")]),
    ("nudge ack", &[("post", "/v1/boards/{board}/nudges/{nudge}/ack")]),
    ("learn promote", &[("post", "/v1/boards/{board}/learnings/{learning}/promote")]),
    ("learn refuse", &[("post", "/v1/boards/{board}/learnings/{learning}/refuse")]),
    ("learn rollback", &[("post", "/v1/boards/{board}/learnings/rollback"), ("post", "/v1/learnings/rollback")]),
    ("core list", &[("get", "/v1/cores")]),
    ("core show", &[("get", "/v1/cores/{core}/entries")]),
    ("core add", &[("post", "/v1/cores/{core}/entries")]),
    ("core edit", &[("patch", "/v1/cores/{core}/entries/{id}")]),
    ("core search", &[("get", "/v1/cores/{core}/search")]),
    ("core forget", &[("post", "/v1/cores/{core}/entries/{id}/forget"), ("post", "/v1/cores/{core}/forget")]),
    ("board forget", &[("post", "/v1/boards/{board}/forget")]),
    ("forget", &[("post", "/v1/forget")]),
    ("core restore", &[("post", "/v1/cores/{core}/entries/{id}/restore")]),
    ("core delete", &[("delete", "/v1/cores/{core}")]),
    ("token create", &[("post", "/v1/tokens")]),
    ("token list", &[("get", "/v1/tokens")]),
    ("tools list", &[("get", "/v1/tools")]),
    ("tools call", &[("post", "/v1/tools/{name}")]),
    ("memory note remove", &[("delete", "/v1/agents/{agent}/notes/{note}")]),
    ("memory clear", &[("post", "/v1/agents/{agent}/clear")]),
    ("scope list", &[("get", "/v1/agents/{agent}/scopes")]),
    ("scope show", &[("get", "/v1/agents/{agent}/scopes/{scope}")]),
    ("scope merge", &[("post", "/v1/agents/{agent}/scopes/{scope}/merge")]),
    ("scope dispose", &[("delete", "/v1/agents/{agent}/scopes/{scope}")]),
    ("notebook list", &[("get", "/v1/agents/{agent}/notebooks")]),
    ("notebook forget", &[("post", "/v1/agents/{agent}/notebook/forget")]),
    ("handoff show", &[("get", "/v1/agents/{agent}/handoff")]),
    ("handoff write", &[("put", "/v1/agents/{agent}/handoff")]),
    ("handoff clear", &[("delete", "/v1/agents/{agent}/entries/{key}")]),
    ("activity", &[("get", "/v1/agents/{agent}/activity")]),
    ("board diff", &[("get", "/v1/boards/{board}/diff")]),
    ("task depend", &[("post", "/v1/boards/{board}/tasks/{task}/dependencies")]),
    ("task assign", &[("post", "/v1/boards/{board}/tasks/{task}/assign")]),
    ("nudge list", &[("get", "/v1/boards/{board}/nudges")]),
    ("nudge check", &[("post", "/v1/boards/{board}/nudges/receive")]),
    ("learn extract", &[("post", "/v1/boards/{board}/learnings/extract")]),
    ("learn list", &[("get", "/v1/boards/{board}/learnings")]),
    ("token revoke", &[("delete", "/v1/tokens/{token}")]),
    ("token link", &[("post", "/v1/sign-in-links")]),
    ("stats", &[("get", "/v1/agents/{agent}/stats")]),
    ("gc", &[("post", "/v1/gc")]),
    ("compact", &[("post", "/v1/spaces/{kind}/{name}/trim")]),
];

/// Commands that do their work on this machine: their flags name files, stores and settings, which no route takes.
const LOCAL: &[&str] = &[
    "serve",
    "notebook update",
    "notebook review",
    "snapshot save",
    "snapshot restore",
    "snapshot inspect",
    "snapshot store",
    "export",
    "import",
    "migrate",
    "doctor",
    "config show",
    "bench retrieval",
    "completions",
    "setup",
    "mcp",
    "hook",
];

/// Flags without a field of the same name, for all commands (`*`) or one, with the reason.
const FLAGS_ALONE: &[(&str, &str, &str)] = &[
    ("*", "if-version", "the header If-Match"),
    ("*", "idempotency-key", "the header Idempotency-Key"),
    ("*", "scope", "a part of the path"),
    ("*", "yes", "consent to a question that only the command line asks"),
    ("*", "outside", "short for --trust outside"),
    ("*", "sections", "chooses what is printed"),
    ("memory set", "string", "how the argument is read"),
    ("task assign", "review", "the route …/assign_review"),
    ("memory append", "line", "a separator"),
    ("memory list", "keys", "chooses what is printed"),
    ("memory forget", "everything", "deletes the agent"),
    ("notebook show", "archived", "chooses what is printed"),
    ("notebook show", "block", "chooses what is printed"),
    ("search", "core", "the route /v1/cores/{core}/search"),
    ("search status", "core", "a part of the path"),
    ("search status", "all", "one request for each space"),
    ("search reindex", "core", "a part of the path"),
    ("search reindex", "all", "one request for each space"),
    ("board list", "all", "chooses what is printed"),
    ("board watch", "plain", "chooses what is printed"),
    ("board watch", "forever", "chooses when it ends"),
    ("board decide", "irreversible", "--reversible false"),
    ("board artifact", "inline", "reads the file into `content`"),
    ("task add", "from", "reads the body from a file"),
    ("task list", "ids", "chooses what is printed"),
    ("core forget", "hard", "chooses the operation: forget_core_entry or delete_core_entry"),
    ("board forget", "hard", "confirms what the route always does"),
    ("forget", "hard", "`dry_run`: false"),
    ("core edit", "expires-at", "`expiry`"),
    ("core edit", "never-expires", "`expiry`"),
    ("core edit", "no-tags", "an empty list of tags"),
    ("memory clear", "all", "clears conversations and long-term memory, too"),
    ("notebook forget", "everything", "omits `item`"),
    ("notebook forget", "hard", "what the route always does"),
    ("tools call", "stdin", "how the argument is read"),
    ("activity", "days", "the route …/activity/days"),
    ("task depend", "remove", "the method DELETE"),
    ("learn extract", "all", "chooses what is printed"),
    ("learn list", "all", "chooses what is printed"),
    ("stats", "all", "the statistics of the store"),
    ("compact", "space", "a part of the path"),
];

#[test]
fn flags_have_the_names_of_their_fields() {
    let description: Value = serde_json::from_str(include_str!("../../corkboard-server/openapi.json")).unwrap();
    let mut command = Cli::command();
    command.build();
    let (mut wrong, mut used) = (Vec::new(), HashSet::new());
    for (name, operations) in OPERATIONS {
        let found = name.split(' ').try_fold(&command, |command, name| command.find_subcommand(name));
        let found = found.unwrap_or_else(|| panic!("unknown command `cork {name}`"));
        let fields: BTreeSet<String> = operations
            .iter()
            .flat_map(|(method, path)| {
                let operation = &description["paths"][path][method];
                assert!(operation.is_object(), "cork {name}: unknown operation {method} {path}");
                fields_of(operation, &description)
            })
            .collect();
        for flag in flags(found) {
            let field = flag.replace('-', "_");
            let is_named = |field: &str| fields.contains(field);
            // A repeatable flag fills a list.
            if is_named(&field) || is_named(&format!("{field}s")) {
                continue;
            }
            match FLAGS_ALONE.iter().find(|(of, alone, _)| (*of == "*" || of == name) && *alone == flag) {
                Some(alone) => drop(used.insert(alone)),
                None => wrong.push(format!("cork {name} --{flag}: {fields:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "flags without a field of the same name:\n{}", wrong.join("\n"));
    let unused: Vec<_> = FLAGS_ALONE.iter().filter(|alone| !used.contains(alone)).collect();
    assert!(unused.is_empty(), "unused exceptions: {unused:?}");
}

/// A new command gets a row, or the reason why it has none.
#[test]
fn every_command_has_its_operation() {
    let mut command = Cli::command();
    command.build();
    let mut leaves = BTreeSet::new();
    collect_leaves(&command, "", &mut leaves);
    let known: BTreeSet<String> =
        OPERATIONS.iter().map(|(name, _)| *name).chain(LOCAL.iter().copied()).map(str::to_owned).collect();
    let missing: Vec<_> = leaves.difference(&known).collect();
    assert!(missing.is_empty(), "commands without an operation: {missing:?}");
}

fn collect_leaves(command: &Command, name: &str, leaves: &mut BTreeSet<String>) {
    let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set());
    let mut has_inner = false;
    for inner in inner {
        has_inner = true;
        let name = format!("{name} {}", inner.get_name());
        collect_leaves(inner, name.trim(), leaves);
    }
    if !has_inner {
        leaves.insert(name.to_owned());
    }
}

/// The flags of a command, without the global ones.
fn flags(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|argument| !argument.is_global_set() && !argument.is_hide_set());
    own.filter_map(|argument| argument.get_long()).filter(|flag| *flag != "help").map(str::to_owned).collect()
}

fn fields_of(operation: &Value, description: &Value) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" {
            fields.extend(parameter["name"].as_str().map(str::to_owned));
        }
    }
    for content in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        properties(&content.1["schema"], description, &mut fields);
    }
    fields
}

/// The names of all properties, including nested ones.
fn properties(schema: &Value, description: &Value, found: &mut BTreeSet<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = description.pointer(reference.trim_start_matches('#')).unwrap();
        return properties(schema, description, found);
    }
    for part in ["allOf", "oneOf", "anyOf"].iter().filter_map(|part| schema[part].as_array()).flatten() {
        properties(part, description, found);
    }
    if let Some(items) = schema.get("items") {
        properties(items, description, found);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        found.insert(name.clone());
        properties(schema, description, found);
    }
}

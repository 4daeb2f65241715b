//! A memory to send commands to, with a clock, IDs and limits that the test controls, and short forms of common calls.

use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentReply, AgentState, ParentLocation};
use corkboard_core::notebook::{UnknownIds, parse};
use corkboard_core::{
    Actor, ActorKind, Commit, CommitId, Content, Context, Entry, EntryMetadata, Key, Limits, NotebookName,
    PerformError, Refusal, Request, RequestOutcome, Revisioned, Role, ScopeId, ScopeName, Space, Usage,
};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

pub(crate) type AgentCommit = Commit<AgentEvent, AgentReply>;
pub(crate) type AgentOutcome = RequestOutcome<AgentEvent, AgentReply>;

#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub live: Revisioned<AgentState>,
    pub limits: Limits,
    pub outside: Usage,
    pub actor: Actor,
    pub now: Timestamp,
    /// All commits so far, as a store would keep them.
    pub log: Vec<Arc<[u8]>>,
    requests: u128,
}

impl Memory {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            live: Revisioned::default(),
            limits,
            outside: Usage::default(),
            actor: actor("ann"),
            now: at(1_000),
            log: Vec::new(),
            requests: 0,
        }
    }

    /// The outcome of the next request, without applying it.
    pub(crate) fn decide(&self, request: &Request<AgentCommand>) -> Result<AgentOutcome, Refusal> {
        self.decide_on(&self.live, request)
    }

    /// The outcome of the next request on another state.
    pub(crate) fn decide_on(
        &self,
        state: &Revisioned<AgentState>,
        request: &Request<AgentCommand>,
    ) -> Result<AgentOutcome, Refusal> {
        let mut context = Context::new(self.now, &self.actor, &self.limits, first_id(self.requests));
        context.outside = self.outside;
        state.decide(request, &context)
    }

    pub(crate) fn request(&mut self, request: &Request<AgentCommand>) -> Result<AgentOutcome, Refusal> {
        let decided = self.decide(&crate::wire::arrived_request::<AgentState>(request));
        crate::wire::check_answer(&decided);
        let performed = self.perform(request, &decided);
        let outcome = decided?;
        self.requests += 1;
        if let RequestOutcome::Commit { commit, .. } = &outcome {
            let rev = self.live.head.rev + 1;
            self.live.apply(commit, commit_id(rev), &self.limits).unwrap();
            assert_eq!(performed, self.live, "performing should equal deciding and applying");
            let stored = commit.encode().unwrap();
            assert_eq!(AgentState::encode(commit).unwrap(), stored, "both encoders should give the same bytes");
            self.log.push(stored.into());
        }
        Ok(outcome)
    }

    /// Performs the request in one step and compares it with deciding and then applying: the answers are equal. A
    /// refused request leaves the state unchanged or reports it as spoilt.
    fn perform(
        &self,
        request: &Request<AgentCommand>,
        decided: &Result<AgentOutcome, Refusal>,
    ) -> Revisioned<AgentState> {
        let mut context = Context::new(self.now, &self.actor, &self.limits, first_id(self.requests));
        context.outside = self.outside;
        let mut state = self.live.clone();
        match (state.perform(request, &context, commit_id(self.live.head.rev + 1)), decided) {
            (Ok(performed), Ok(decided)) => assert_eq!(performed, *decided),
            (Err(PerformError::Refused(refusal)), Err(decided)) => {
                assert_eq!((refusal, &state), (decided.clone(), &self.live));
            }
            (Err(PerformError::Spoilt(refusal)), Err(decided)) => assert_eq!(refusal, *decided),
            (performed, decided) => panic!("{performed:?} instead of {decided:?}"),
        }
        state
    }

    pub(crate) fn send(&mut self, command: AgentCommand) -> Result<AgentOutcome, Refusal> {
        self.request(&Request::new(command))
    }

    /// Sends a command that must succeed and returns the answer.
    pub(crate) fn tell(&mut self, command: AgentCommand) -> AgentReply {
        reply(&self.send(command).unwrap())
    }

    pub(crate) fn create_scope(&mut self, name: &str, parent: ScopeId) -> ScopeId {
        match self.tell(create_scope(name, parent)) {
            AgentReply::ScopeCreated { id } => id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn state(&self) -> &AgentState {
        &self.live.state
    }

    pub(crate) fn entry(&self, scope: ScopeId, name: &str) -> Option<&Arc<Entry>> {
        self.state().scope(scope)?.entries.get(name)
    }

    /// The value under the key, as JSON.
    pub(crate) fn value(&self, scope: ScopeId, name: &str) -> Option<&str> {
        self.entry(scope, name).map(|entry| entry.value.as_json())
    }

    /// The texts of a scope's notes, in order.
    pub(crate) fn notes(&self, scope: ScopeId) -> Vec<&str> {
        self.state().scope(scope).unwrap().notes.values().map(|note| &*note.text).collect()
    }

    pub(crate) fn rev(&self) -> u64 {
        self.live.head.rev
    }
}

/// The state after a log of encoded commits, starting from an earlier state.
pub(crate) fn replay(
    mut from: Revisioned<AgentState>,
    log: &[impl AsRef<[u8]>],
    limits: &Limits,
) -> Revisioned<AgentState> {
    for line in log {
        let commit = AgentCommit::decode(line.as_ref()).unwrap();
        let id = commit_id(from.head.rev + 1);
        from.apply(&commit, id, limits).unwrap();
    }
    from
}

pub(crate) fn reply(outcome: &AgentOutcome) -> AgentReply {
    match outcome {
        RequestOutcome::Unchanged { reply, .. } | RequestOutcome::Commit { reply, .. } => *reply,
    }
}

pub(crate) fn events(outcome: &AgentOutcome) -> &[AgentEvent] {
    match outcome {
        RequestOutcome::Unchanged { .. } => &[],
        RequestOutcome::Commit { commit, .. } => &commit.events,
    }
}

pub(crate) fn commit_id(rev: u64) -> CommitId {
    CommitId(Uuid::from_u128(rev.into()))
}

/// IDs far apart and unordered, like the random ones of a real context.
fn first_id(request: u128) -> Uuid {
    Uuid::from_u128((request + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn actor(principal: &str) -> Actor {
    Actor::new(principal, ActorKind::Agent, Role::Worker)
}

pub(crate) fn key(name: &str) -> Key {
    Key::new(name, &Limits::default()).unwrap()
}

pub(crate) fn scope_name(name: &str) -> ScopeName {
    ScopeName::new(name, &Limits::default()).unwrap()
}

pub(crate) fn notebook_name(name: &str) -> NotebookName {
    NotebookName::new(name, &Limits::default()).unwrap()
}

pub(crate) fn json(text: &str) -> Content {
    Content::from_json(text).unwrap()
}

pub(crate) fn set(scope: ScopeId, name: &str, value: &str) -> AgentCommand {
    set_with(scope, name, value, EntryMetadata::default())
}

pub(crate) fn set_with(scope: ScopeId, name: &str, value: &str, metadata: EntryMetadata) -> AgentCommand {
    AgentCommand::Set {
        scope,
        key: key(name),
        value: json(value),
        type_name: "test".into(),
        metadata: Box::new(metadata),
        if_version: None,
    }
}

pub(crate) fn note(scope: ScopeId, text: &str) -> AgentCommand {
    AgentCommand::AddNote { scope, text: text.into(), trust: None }
}

/// Applies a valid text.
pub(crate) fn update_notebook(name: &str, text: &str) -> AgentCommand {
    let parsed = parse(text);
    assert!(!parsed.has_errors(), "{:?}", parsed.problems);
    let (notebook, block) = (notebook_name(name), Box::new(parsed.block));
    AgentCommand::UpdateNotebook { notebook, block, unknown_ids: UnknownIds::Refuse, if_version: None }
}

pub(crate) fn create_scope(name: &str, parent: ScopeId) -> AgentCommand {
    AgentCommand::CreateScope { name: scope_name(name), parent, parent_kept: ParentLocation::Here }
}

/// Checks that each of these fields has a value in some of the objects and none in others.
pub(crate) fn check_fields(objects: &[Value], fields: &str) {
    for field in fields.split(' ') {
        let is_silent = |object: &&Value| says_nothing(field, object.get(field).unwrap_or(&Value::Null));
        assert!(!objects.iter().all(|object| is_silent(&object)), "{field} never has a value");
        assert!(objects.iter().any(|object| is_silent(&object)), "{field} always has a value");
    }
}

/// Edits with `true` in place of each value: a field that is present is an edit, even an empty list.
pub(crate) fn edited_fields(edits: &[Value]) -> Vec<Value> {
    let fields =
        |edit: &Value| edit.as_object().into_iter().flatten().map(|(name, _)| (name.clone(), true.into())).collect();
    edits.iter().map(|edit| Value::Object(fields(edit))).collect()
}

/// Whether a field has its default value.
fn says_nothing(field: &str, value: &Value) -> bool {
    match (field, value) {
        (_, Value::Null) | ("reversible", Value::Bool(true)) => true,
        ("reversible", _) => false,
        (_, Value::Bool(is_set)) => !is_set,
        ("importance", value) => value == 0.5,
        (_, Value::Number(number)) => number.as_u64() == Some(0),
        ("trust", value) => value == "agent",
        ("kind", value) => value == "fact",
        ("trigger_rule", value) => value == "all_success",
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(lists)) => lists.values().all(|list| says_nothing("", list)),
    }
}

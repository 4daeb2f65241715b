//! A space as its log: what a server sends to clients that keep a copy, and how they send commands.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::agent::AgentState;
use corkboard_core::board::{BoardAction, BoardCommand, BoardState};
use corkboard_core::knowledge::{CoreAction, CoreCommand, CoreState};
use corkboard_core::tokens::TokensState;
use corkboard_core::{
    Actor, AgentId, BoardId, Commit, CommitId, ConversationId, CoreId, Head, IdempotencyKey, LimitWarning, Limits,
    Refusal, Request, Role, Space, SpaceId, SpaceKind, Usage,
};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::AuthenticatedActor;
use crate::corkboard::check_space_tier;
use crate::embed::{Reindex, VectorStatus};
use crate::engine::{Answer, Engine, Followed, LogFollower, RequestSource, Slot};
use crate::store::{Cursor, ListedSpace, Page, Record, StoreError, Trim};
use crate::typed_event::{parse_events, typed_events};
use crate::{AgentMemory, Board, Conversation, Corkboard, Error, Result, Strict};

/// The size of logs up to this many revisions is exact.
const READ: usize = 1000;

/// A command as JSON, with its conditions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandDocument<C> {
    /// What to change, in the form of the space's kind.
    pub command: C,
    /// Required revision of the space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_rev: Option<u64>,
    /// A repeat with the same key within 24 hours has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Hash of the request's body, 32 hexadecimal digits, if it differs from the command: a client looks up part of the
    /// command, and may find something else in a repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_body: Option<String>,
}

/// The answer to a command.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerDocument {
    /// The command's result.
    #[cfg_attr(feature = "openapi", schema(value_type = serde_json::Value))]
    pub reply: Box<RawValue>,
    /// Revision of the space that the answer refers to.
    pub rev: u64,
    /// Commit ID of that revision if this command created it; null if the command changed nothing or was a repeat.
    #[serde(default)]
    pub commit: Option<CommitId>,
    /// Limits that are nearly reached.
    #[serde(default)]
    pub warnings: Vec<LimitWarning>,
}

/// The state of a space at one revision.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StateDocument {
    /// The revision of the state.
    pub head: Head,
    /// First revision of the space since it was last created.
    pub born: Head,
    /// The state in the form of snapshots; null if nothing was ever written.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub state: Option<Box<RawValue>>,
}

/// The head of a log, and the store's time.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeadDocument {
    /// The newest revision.
    pub head: Head,
    /// The current time in the store.
    pub now: Timestamp,
}

/// A page of a log.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PageDocument {
    /// The revisions, oldest first.
    pub items: Vec<RecordDocument>,
    /// Cursor of the next page: the last revision of this one. Null on the last page.
    pub next: Option<String>,
    /// The head of the log when the page was read.
    pub head: Head,
}

/// A revision of a log.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordDocument {
    /// Its number.
    pub rev: u64,
    /// Its random id.
    pub commit: CommitId,
    /// When the command was decided.
    pub at: Timestamp,
    /// The actor and the events.
    #[cfg_attr(feature = "openapi", schema(value_type = serde_json::Value))]
    pub body: Box<RawValue>,
}

/// A revision of any space: the events, the time and the actor.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevisionDocument {
    /// The space: its kind, a slash, its name.
    #[cfg_attr(feature = "openapi", schema(example = "agent/ada"))]
    pub space: String,
    /// Its number.
    pub rev: u64,
    /// Its random id.
    pub commit: CommitId,
    /// When the command was decided.
    pub at: Timestamp,
    /// The actor who sent the command.
    pub actor: Actor,
    /// The events in order.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<SpaceEvent>))]
    pub events: Box<RawValue>,
}

/// An event of any kind of space, for the API description.
#[cfg(feature = "openapi")]
struct SpaceEvent;

#[cfg(feature = "openapi")]
mod described {
    use std::borrow::Cow;

    use corkboard_core::agent::AgentEvent;
    use corkboard_core::board::BoardEvent;
    use corkboard_core::knowledge::CoreEvent;
    use serde_json::{Value, json};
    use utoipa::openapi::schema::AnyOfBuilder;
    use utoipa::openapi::{Ref, RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    use super::SpaceEvent;

    impl PartialSchema for SpaceEvent {
        fn schema() -> RefOr<Schema> {
            // Not `oneOf`: different kinds can have events with the same name.
            AnyOfBuilder::new()
                .description(Some("An event; `type` is its name"))
                .item(Ref::from_schema_name(AgentEvent::name()))
                .item(Ref::from_schema_name(BoardEvent::name()))
                .item(Ref::from_schema_name(CoreEvent::name()))
                .into()
        }
    }

    /// Describes events as [`typed_events`](crate::typed_event::typed_events) writes them.
    fn typed(stored: RefOr<Schema>) -> RefOr<Schema> {
        let mut schema = serde_json::to_value(&stored).unwrap_or_default();
        let variants = schema.get_mut("oneOf").and_then(Value::as_array_mut);
        variants.into_iter().flatten().for_each(|variant| *variant = typed_variant(variant));
        serde_json::from_value(schema).unwrap_or(stored)
    }

    fn typed_variant(stored: &Value) -> Value {
        let description = stored.get("description");
        let of_type = |name: &Value| {
            let properties = json!({"type": {"type": "string", "enum": [name]}});
            json!({"type": "object", "description": description, "required": ["type"], "properties": properties})
        };
        if let Some(name) = stored.pointer("/enum/0") {
            return of_type(name);
        }
        let named = stored.get("properties").and_then(Value::as_object).and_then(|named| named.iter().next());
        let Some((name, fields)) = named else { return stored.clone() };
        json!({"description": description, "allOf": [of_type(&json!(name)), fields]})
    }

    impl ToSchema for SpaceEvent {
        fn name() -> Cow<'static, str> {
            Cow::Borrowed("SpaceEvent")
        }

        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push((AgentEvent::name().into(), typed(AgentEvent::schema())));
            schemas.push((BoardEvent::name().into(), typed(BoardEvent::schema())));
            schemas.push((CoreEvent::name().into(), typed(CoreEvent::schema())));
            AgentEvent::schemas(schemas);
            BoardEvent::schemas(schemas);
            CoreEvent::schemas(schemas);
        }
    }
}

impl RevisionDocument {
    /// Decodes a record of the space.
    pub fn new(space: &SpaceId, record: &Record) -> Result<Self> {
        match space.kind() {
            Some(SpaceKind::Agent | SpaceKind::Conversation) => Self::decode::<AgentState>(space, record),
            Some(SpaceKind::Board) => Self::decode::<BoardState>(space, record),
            Some(SpaceKind::Core) => Self::decode::<CoreState>(space, record),
            Some(SpaceKind::Tokens) => Self::decode::<TokensState>(space, record),
            None => Err(Error::Damaged { space: space.to_string(), message: "unknown kind of space".into() }),
        }
    }

    fn decode<S: Space>(space: &SpaceId, record: &Record) -> Result<Self> {
        let commit = Commit::decode(&record.body).map_err(|error| Error::format(space, error))?;
        Self::of_commit::<S>(space, record.rev, record.commit, &commit)
    }

    /// The events as values. `E` is the event type of the space's kind.
    pub fn parse_events<E: DeserializeOwned>(&self) -> serde_json::Result<Vec<E>> {
        parse_events(&self.events)
    }

    /// The document of a revision from a watch.
    pub fn of_commit<S: Space>(
        space: &SpaceId,
        rev: u64,
        commit_id: CommitId,
        commit: &Commit<S::Event, S::Reply>,
    ) -> Result<Self> {
        let damaged =
            |error: serde_json::Error| Error::Damaged { space: space.to_string(), message: error.to_string() };
        let events = typed_events(&commit.events).map_err(damaged)?;
        Ok(Self {
            space: space.to_string(),
            rev,
            commit: commit_id,
            at: commit.at,
            actor: commit.actor.clone(),
            events,
        })
    }
}

/// A space in a list.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpaceDocument {
    /// The space's name.
    pub name: String,
    /// The head of its log.
    pub head: Head,
    /// When the next item expires.
    pub next_due: Option<Timestamp>,
    /// A summary of its content.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub summary: Option<Box<RawValue>>,
}

impl From<ListedSpace> for SpaceDocument {
    fn from(listed: ListedSpace) -> Self {
        let ListedSpace { space, head, next_due, summary } = listed;
        Self { name: space.name().into(), head, next_due, summary: raw(summary) }
    }
}

impl TryFrom<Record> for RecordDocument {
    type Error = Error;

    fn try_from(record: Record) -> Result<Self> {
        let Record { rev, commit, at, body } = record;
        let damaged = || Error::Damaged { space: "log".into(), message: format!("revision {rev} is not valid JSON") };
        Ok(Self { rev, commit, at, body: raw(body).ok_or_else(damaged)? })
    }
}

/// Parses a command with its conditions. Unknown fields are refused: a misspelled condition would not apply, and a
/// command of a newer version would do something else than intended.
fn read_command<C: DeserializeOwned>(json: &[u8]) -> Result<CommandDocument<C>> {
    serde_json::from_slice(json).map(|Strict(asked)| asked).map_err(no_command)
}

fn no_command(error: serde_json::Error) -> Error {
    Error::Command { message: error.to_string() }
}

/// The refusal of a conversation's name without a slash.
fn no_conversation() -> Refusal {
    Refusal::Blank { what: "conversation ID".into() }
}

fn is_hash(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn raw(bytes: Vec<u8>) -> Option<Box<RawValue>> {
    String::from_utf8(bytes).ok().and_then(|text| RawValue::from_string(text).ok())
}

/// The log of one space. It shows all of the space's content. Its commands are decided like any others, as the handle's
/// actor.
pub struct SpaceLog {
    id: SpaceId,
    actor: AuthenticatedActor,
    board: Option<Board>,
    agent: Option<AgentMemory>,
    conversation: Option<Conversation>,
    /// For a memory core: where to find the boards that promote into it.
    promoting: Option<(Corkboard, CoreId)>,
    log: Box<dyn ErasedLog>,
    agents: Arc<Engine<AgentState>>,
    /// Keeps the background tasks running while there are handles.
    _corkboard: Arc<dyn Any + Send + Sync>,
}

impl Corkboard {
    /// The log of a space, by its kind and name.
    pub fn log(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog> {
        let limits = &self.options().limits;
        let id = match kind {
            SpaceKind::Agent => SpaceId::agent(&AgentId::new(name, limits)?),
            SpaceKind::Board => SpaceId::board(&BoardId::new(name, limits)?),
            SpaceKind::Core => SpaceId::core(&match name.strip_prefix(CoreId::PRIVATE) {
                Some(agent) => CoreId::of_agent(&AgentId::new(agent, limits)?),
                None => CoreId::new(name, limits)?,
            }),
            SpaceKind::Tokens => SpaceId::tokens(),
            SpaceKind::Conversation => {
                let (agent, conversation) = SpaceId::of(kind, name).as_conversation().ok_or(no_conversation())?;
                let agent = AgentId::new(agent.as_str(), limits)?;
                SpaceId::conversation(&agent, &ConversationId::new(conversation.as_str(), limits)?)
            }
        };
        self.allowed_spaces().check(self.actor(), kind, id.name())?;
        check_space_tier(self.options(), &id)?;
        let (log, corkboard) = self.logged(&id, kind);
        let (actor, board) = (self.authenticated_actor().clone(), id.as_board().map(|board| self.board_of(board)));
        let agent = (kind == SpaceKind::Agent).then(|| self.agent(name)).transpose()?;
        let conversation =
            id.as_conversation().map(|(agent, id)| self.agent(agent.as_str())?.conversation(id.as_str()));
        let conversation = conversation.transpose()?;
        let promoting = id.as_core().map(|core| (self.clone(), core));
        let agents = self.agents_engine().clone();
        Ok(SpaceLog { id, actor, board, agent, conversation, promoting, log, agents, _corkboard: corkboard })
    }

    /// The spaces of a kind after the given name, sorted by name.
    pub async fn logs(&self, kind: SpaceKind, after: Option<&str>, limit: usize) -> Result<Vec<ListedSpace>> {
        let after = after.map(|name| SpaceId::of(kind, name));
        self.list(kind, after.as_ref(), limit).await
    }
}

impl SpaceLog {
    /// The space.
    pub fn id(&self) -> &SpaceId {
        &self.id
    }

    /// The head of the log.
    pub async fn head(&self) -> Result<Head> {
        self.renew().await?;
        self.log.head().await
    }

    /// Reading a conversation renews it.
    async fn renew(&self) -> Result<()> {
        match &self.conversation {
            Some(conversation) => conversation.view().await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// The head of the log, once it is past `rev`, or after waiting for `wait`.
    pub async fn head_after(&self, rev: u64, wait: Duration) -> Result<Head> {
        let mut changes = self.log.changes();
        let until = tokio::time::Instant::now() + wait;
        loop {
            changes.mark_unchanged();
            let head = self.head().await?;
            if head.rev > rev || tokio::time::timeout_at(until, changes.changed()).await.is_err() {
                return Ok(head);
            }
        }
    }

    /// The current state.
    pub async fn state(&self) -> Result<StateDocument> {
        self.renew().await?;
        self.log.state().await
    }

    /// The revisions after the cursor, oldest first, up to a page.
    pub async fn after(&self, cursor: Cursor, limit: usize) -> Result<Page> {
        self.log.after(cursor, limit).await
    }

    /// Follows the log after a revision; 0 means from the beginning, none means only new revisions.
    pub async fn watch(&self, from_rev: Option<u64>) -> Result<LogWatch> {
        Ok(LogWatch { follow: self.log.follow(from_rev).await?, _corkboard: self._corkboard.clone() })
    }

    /// The state of the space's vectors for searches with the configured embedding model.
    pub async fn vector_status(&self) -> Result<VectorStatus> {
        self.check_has_vectors()?;
        match self.agents.remote() {
            Some(remote) => remote.vector_status(self.id.clone()).await,
            None => self.agents.indexer.status(&self.id).await,
        }
    }

    /// Starts to compute the space's vectors, all or only the missing ones, and returns at once.
    /// [`SpaceLog::vector_status`] shows the progress.
    pub async fn reindex(&self, reindex: Reindex) -> Result<VectorStatus> {
        self.check_has_vectors()?;
        self.actor.check_writes()?;
        if let Some(remote) = self.agents.remote() {
            return remote.reindex(self.id.clone(), Actor::clone(&self.actor), reindex).await;
        }
        self.agents.indexer.restart(&self.id, reindex).await?;
        self.agents.indexer.status(&self.id).await
    }

    fn check_has_vectors(&self) -> Result<()> {
        match self.id.kind() {
            Some(SpaceKind::Agent | SpaceKind::Board | SpaceKind::Core) => Ok(()),
            _ => Err(Error::Command { message: "only agents, boards and cores can be searched".into() }),
        }
    }

    /// Sends a command: a [`CommandDocument`] as JSON.
    pub async fn command(&self, json: &[u8]) -> Result<AnswerDocument> {
        if let Some(board) = &self.board {
            let mut asked: CommandDocument<BoardCommand> = read_command(json)?;
            board.read_source(&mut asked.command).await?;
            board.check_allowed_spaces(&asked.command).await?;
            return board.in_engine().ask(&self.actor, Usage::default(), asked).await;
        }
        if let Some(conversation) = &self.conversation {
            let asked = read_command(json)?;
            let request = request_of::<AgentState>(&conversation.options().limits, &self.actor, asked)?;
            return AnswerDocument::of(conversation.ask(request).await?);
        }
        if let Some((corkboard, core)) = &self.promoting {
            let asked: CommandDocument<CoreCommand> = read_command(json)?;
            corkboard.check_promotion(core, &asked.command).await?;
        }
        // An agent's ephemeral scopes are not in the log, but count towards its limits.
        let outside = self.agent.as_ref().map(AgentMemory::ephemeral_usage).unwrap_or_default();
        self.log.command(&self.actor, outside, json).await
    }

    /// Deletes the space if it is still at this head. Returns whether it was deleted.
    pub async fn delete(&self, at: Head) -> Result<bool> {
        match self.id.kind() {
            Some(SpaceKind::Board) => BoardAction::Delete.check(&self.actor)?,
            Some(SpaceKind::Core) => {
                CoreAction::Delete.check(&self.actor, self.id.as_core().as_ref())?;
            }
            Some(SpaceKind::Agent | SpaceKind::Conversation) if self.actor.role != Role::Observer => {}
            Some(SpaceKind::Agent | SpaceKind::Conversation | SpaceKind::Tokens) | None => {
                let Actor { principal, role, .. } = Actor::clone(&self.actor);
                return Err(
                    Refusal::RoleDenied { principal, role, what: "delete that".into(), may: String::new() }.into()
                );
            }
        }
        self.log.delete(at).await
    }

    /// The size of the log: exact if it is short, otherwise estimated from samples to limit the cost.
    pub async fn size(&self) -> Result<LogSize> {
        let first = self.page(0, READ).await?;
        let Some(oldest) = first.records.first().map(|record| record.rev) else { return Ok(LogSize::default()) };
        let revisions = (first.head.rev + 1).saturating_sub(oldest);
        let (bytes, estimated) = match first.records.len() as u64 == revisions {
            true => (first.records.iter().map(|record| record.body.len() as u64).sum(), false),
            false => self.bytes_of(oldest, first.head.rev).await?,
        };
        Ok(LogSize { oldest, revisions, bytes, estimated })
    }

    /// Computes what [`SpaceLog::trim`] would remove.
    pub async fn trimmable(&self, trim: Trim) -> Result<TrimmedLog> {
        let first = self.page(0, 1).await?;
        let Some(oldest) = first.records.first().map(|record| record.rev) else { return Ok(TrimmedLog::default()) };
        // The newest revision always stays. Revisions before `kept` are removed.
        let mut kept = trim.up_to.saturating_add(1).min(first.head.rev);
        if let Some(time) = trim.older_than {
            let mut from = oldest;
            // Times in a log never decrease.
            while from < kept {
                let middle = from + (kept - from) / 2;
                match self.page(middle.saturating_sub(1), 1).await?.records.first() {
                    Some(record) if record.at < time => from = record.rev.max(middle) + 1,
                    _ => kept = middle,
                }
            }
        }
        let kept = kept.max(oldest);
        let (bytes, estimated) = self.bytes_of(oldest, kept - 1).await?;
        Ok(TrimmedLog { revisions: kept - oldest, bytes, estimated, oldest: kept })
    }

    /// Removes old revisions from the log permanently. The state does not change, and a snapshot that covers them is
    /// written. Only admins may do this. Reading a removed revision later fails with `compacted`.
    pub async fn trim(&self, trim: Trim) -> Result<TrimmedLog> {
        let Actor { principal, role, .. } = Actor::clone(&self.actor);
        if role != Role::Admin {
            let (what, may) = ("trim history".into(), format!("{}s", Role::Admin));
            return Err(Refusal::RoleDenied { principal, role, what, may }.into());
        }
        let planned = self.trimmable(trim).await?;
        if planned.revisions == 0 {
            return Ok(planned);
        }
        let oldest = self.log.trim(trim).await?;
        let revisions = (planned.revisions + oldest).saturating_sub(planned.oldest);
        Ok(TrimmedLog { revisions, oldest, ..planned })
    }

    /// The size of these revisions in bytes, and whether it is an estimate.
    async fn bytes_of(&self, first: u64, last: u64) -> Result<(u64, bool)> {
        const SAMPLES: u64 = 8;
        let revisions = (last + 1).saturating_sub(first);
        let is_estimate = revisions > READ as u64;
        let step = if is_estimate { revisions / SAMPLES } else { 1 };
        let (mut after, mut seen, mut bytes) = (first.saturating_sub(1), 0, 0);
        while after < last {
            let limit = if is_estimate { READ / SAMPLES as usize } else { READ };
            let page = self.page(after, limit.min(usize::try_from(last - after).unwrap_or(limit))).await?;
            let Some(newest) = page.records.last().map(|record| record.rev) else { break };
            seen += page.records.len() as u64;
            bytes += page.records.iter().map(|record| record.body.len() as u64).sum::<u64>();
            after = if is_estimate { newest.max(after + step) } else { newest };
        }
        let per_revision = bytes as f64 / seen.max(1) as f64;
        Ok(if is_estimate { ((per_revision * revisions as f64) as u64, true) } else { (bytes, false) })
    }

    /// The revisions after `after`, or the oldest ones left.
    async fn page(&self, after: u64, limit: usize) -> Result<Page> {
        match self.log.after(Cursor { rev: after, commit: None }, limit).await {
            Err(Error::Store(StoreError::Compacted { oldest })) => {
                self.log.after(Cursor { rev: oldest.saturating_sub(1), commit: None }, limit).await
            }
            page => page,
        }
    }

    /// The current time in the store.
    pub fn time(&self) -> Timestamp {
        self.log.time()
    }
}

/// The size of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LogSize {
    /// The oldest revision left; 0 if there is none.
    pub oldest: u64,
    /// Number of revisions.
    pub revisions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the bytes are an estimate.
    pub estimated: bool,
}

/// What trimming a log removed or would remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrimmedLog {
    /// Number of revisions.
    pub revisions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the bytes are an estimate.
    pub estimated: bool,
    /// The oldest revision left afterwards.
    pub oldest: u64,
}

/// A watch on a space's log, like [`Watch`](crate::Watch), that returns the stored form.
pub struct LogWatch {
    follow: Box<dyn LogFollower>,
    _corkboard: Arc<dyn Any + Send + Sync>,
}

impl LogWatch {
    /// The next revision, or a bookmark if there is none for a while. The future is cancel-safe.
    pub async fn next(&mut self) -> Result<Followed> {
        self.follow.next().await
    }

    /// The last revision returned.
    pub fn rev(&self) -> u64 {
        self.follow.rev()
    }
}

pub(crate) trait ErasedLog: Send + Sync {
    fn follow(&self, from_rev: Option<u64>) -> BoxFuture<'_, Result<Box<dyn LogFollower>>>;
    fn head(&self) -> BoxFuture<'_, Result<Head>>;
    fn state(&self) -> BoxFuture<'_, Result<StateDocument>>;
    fn after(&self, cursor: Cursor, limit: usize) -> BoxFuture<'_, Result<Page>>;
    fn command<'a>(
        &'a self,
        actor: &'a AuthenticatedActor,
        outside: Usage,
        json: &'a [u8],
    ) -> BoxFuture<'a, Result<AnswerDocument>>;
    fn delete(&self, at: Head) -> BoxFuture<'_, Result<bool>>;
    fn trim(&self, trim: Trim) -> BoxFuture<'_, Result<u64>>;
    fn changes(&self) -> tokio::sync::watch::Receiver<u64>;
    fn time(&self) -> Timestamp;
}

pub(crate) struct InEngine<S: Space> {
    engine: Arc<Engine<S>>,
    slot: Arc<Slot<S>>,
}

impl<S: Space> InEngine<S> {
    pub(crate) fn new(engine: &Arc<Engine<S>>, id: &SpaceId) -> Self {
        Self { engine: engine.clone(), slot: engine.slot(id) }
    }

    async fn ask(
        &self,
        actor: &AuthenticatedActor,
        outside: Usage,
        asked: CommandDocument<S::Command>,
    ) -> Result<AnswerDocument> {
        let asked = RequestSource::Request(request_of::<S>(&self.engine.options.limits, actor, asked)?);
        AnswerDocument::of(self.engine.ask(&self.slot, actor.clone(), outside, asked).await?)
    }
}

/// Validates a command document and converts it to a request.
fn request_of<S: Space>(
    limits: &Limits,
    actor: &Actor,
    asked: CommandDocument<S::Command>,
) -> Result<Request<S::Command>> {
    let CommandDocument { mut command, if_rev, idempotency_key, idempotency_body } = asked;
    S::check(&mut command, actor, limits)?;
    let key = idempotency_key.as_deref();
    let idempotency = key.map(|key| IdempotencyKey::new(key, &command, limits)).transpose()?;
    let idempotency = match (idempotency, idempotency_body) {
        (Some(name), Some(body)) if is_hash(&body) => Some(IdempotencyKey { body, ..name }),
        (_, Some(_)) => {
            let message = "idempotency_body needs idempotency_key, and must be 32 hexadecimal digits";
            return Err(Error::Command { message: message.into() });
        }
        (idempotency, None) => idempotency,
    };
    Ok(Request { command, if_rev, idempotency })
}

impl AnswerDocument {
    fn of<R: Serialize>(answer: Answer<R>) -> Result<Self> {
        let Answer { reply, rev, commit, warnings, .. } = answer;
        let reply = serde_json::value::to_raw_value(&reply).map_err(no_command)?;
        Ok(Self { reply, rev, commit, warnings })
    }
}

impl<S: Space> ErasedLog for InEngine<S> {
    fn follow(&self, from_rev: Option<u64>) -> BoxFuture<'_, Result<Box<dyn LogFollower>>> {
        Box::pin(async move {
            let follow = self.engine.follow(self.slot.clone(), from_rev).await?;
            Ok(Box::new(follow) as Box<dyn LogFollower>)
        })
    }

    fn head(&self) -> BoxFuture<'_, Result<Head>> {
        Box::pin(async { Ok(self.engine.current(&self.slot).await?.head) })
    }

    fn state(&self) -> BoxFuture<'_, Result<StateDocument>> {
        Box::pin(async {
            let current = self.engine.current(&self.slot).await?;
            let born = self.engine.store.load(&self.slot.id).await?.born;
            let head = current.head;
            if head == Head::EMPTY {
                return Ok(StateDocument { head, born, state: None });
            }
            let encoded = tokio::task::spawn_blocking(move || current.encode()).await;
            let damaged = |message: String| Error::Damaged { space: self.slot.id.to_string(), message };
            let body =
                encoded.map_err(|error| damaged(error.to_string()))?.map_err(|error| damaged(error.to_string()))?;
            Ok(StateDocument { head, born, state: raw(body) })
        })
    }

    fn after(&self, cursor: Cursor, limit: usize) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            self.engine.check_usable()?;
            self.engine.flush_now(&self.slot).await?;
            Ok(self.engine.store.read_after(&self.slot.id, cursor, limit).await?)
        })
    }

    fn command<'a>(
        &'a self,
        actor: &'a AuthenticatedActor,
        outside: Usage,
        json: &'a [u8],
    ) -> BoxFuture<'a, Result<AnswerDocument>> {
        Box::pin(async move { self.ask(actor, outside, read_command(json)?).await })
    }

    fn delete(&self, at: Head) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.engine.delete_at(&self.slot, at))
    }

    fn trim(&self, trim: Trim) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.engine.trim(&self.slot, trim))
    }

    fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.engine.store.changes(&self.slot.id)
    }

    fn time(&self) -> Timestamp {
        self.engine.time()
    }
}

pub(crate) fn logged(
    (agents, conversations): (&Arc<Engine<AgentState>>, &Arc<Engine<AgentState>>),
    boards: &Arc<Engine<BoardState>>,
    cores: &Arc<Engine<CoreState>>,
    tokens: &Arc<Engine<TokensState>>,
    id: &SpaceId,
    kind: SpaceKind,
) -> Box<dyn ErasedLog> {
    match kind {
        SpaceKind::Agent => Box::new(InEngine::new(agents, id)),
        SpaceKind::Board => Box::new(InEngine::new(boards, id)),
        SpaceKind::Core => Box::new(InEngine::new(cores, id)),
        SpaceKind::Tokens => Box::new(InEngine::new(tokens, id)),
        SpaceKind::Conversation => Box::new(InEngine::new(conversations, id)),
    }
}

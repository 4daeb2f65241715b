//! Memory cores: long-term knowledge that outlives boards and conversations, shared by name or private to an agent.

mod best;
mod create;
mod entries;
mod forget;
mod json_form;
mod search;

use std::any::Any;
use std::sync::Arc;

use corkboard_core::knowledge::{
    Added, CoreAction, CoreCommand, CoreEdit, CoreEntry, CoreEntryId, CoreImage, CoreReply, CoreState, NewCoreEntry,
    Withdrawal,
};
use corkboard_core::{Actor, CoreId, Request, Revisioned, Space, SpaceId, Usage};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;

use crate::access::AuthenticatedActor;
use crate::board::expect_reply;
use crate::engine::{Answer, Engine, RequestSource, Slot, Watch};
use crate::{Conditions, Error, Options, Result};

pub(crate) use best::{Admit, SourcedEntry, best, if_readable};
pub use create::CoreSummary;
pub use entries::{CoreEntries, CorePage, ForgottenEntries};
pub use forget::ForgetCoreEntry;
pub use json_form::CoreEntryDocument;

/// Watches the log of a memory core.
pub type CoreWatch = Watch<CoreState>;

/// One memory core. The handle acts as its actor.
#[derive(Clone)]
pub struct Core {
    id: CoreId,
    actor: AuthenticatedActor,
    engine: Arc<Engine<CoreState>>,
    slot: Arc<Slot<CoreState>>,
    conditions: Conditions,
    /// Keeps the background tasks (ticks, flushes) running while handles exist.
    _corkboard: Arc<dyn Any + Send + Sync>,
}

/// The size of a memory core.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreStats {
    /// Number of entries that are not forgotten.
    pub entries: u64,
    /// Number of forgotten entries that can be restored.
    pub forgotten: u64,
    /// Bytes of texts, tags and origins, including those of forgotten entries.
    pub bytes: u64,
    /// When the oldest entry was added, without forgotten ones.
    pub oldest_entry: Option<Timestamp>,
    /// When the newest entry was added, without forgotten ones.
    pub newest_entry: Option<Timestamp>,
    /// The revision of these counts.
    pub rev: u64,
}

/// The result of [`Core::withdraw`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WithdrawnCoreEntries {
    /// Number of removed entries.
    pub removed: u64,
    /// Number of entries that stay because they have other origins too.
    pub kept: u64,
    /// Number of other authors' entries that are forgotten because their text was edited. They can be restored.
    pub forgotten: u64,
}

impl Core {
    pub(crate) fn new(
        id: CoreId,
        actor: AuthenticatedActor,
        engine: Arc<Engine<CoreState>>,
        corkboard: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let slot = engine.slot(&SpaceId::core(&id));
        Self { id, actor, engine, slot, conditions: Conditions::default(), _corkboard: corkboard }
    }

    /// The core's name.
    pub fn id(&self) -> &CoreId {
        &self.id
    }

    /// The actor that this handle acts as.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Returns a handle to the same core that acts as another actor.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// Returns a handle whose writes are refused unless the core is at revision `rev`.
    pub fn if_rev(&self, rev: u64) -> Self {
        let conditions = Conditions { if_rev: Some(rev), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// Returns a handle that edits, forgets and restores an entry only if the entry is at this version. Otherwise they
    /// are refused with [`Refusal::CoreConflict`](crate::Refusal::CoreConflict), which contains the current entry.
    pub fn if_version(&self, version: u64) -> Self {
        let conditions = Conditions { if_version: Some(version), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// Returns a handle whose writes carry this idempotency key. A repeat within 24 hours gets the same answer and has
    /// no further effect.
    pub fn idempotency_key(&self, key: impl Into<String>) -> Self {
        let conditions = Conditions { idempotency_key: Some(key.into()), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// Returns a handle whose writes have these conditions. Only edits, forgetting and restoring check `if_version`.
    pub fn conditions(&self, conditions: impl Into<Conditions>) -> Self {
        Self { conditions: conditions.into(), ..self.clone() }
    }

    /// Adds an entry. If an entry has the same text, white space aside, it is extended with what is new.
    ///
    /// ```
    /// # use corkboard::Corkboard;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// let core = Corkboard::open("memory:").await?.core("house rules")?;
    /// let added = core.add("Deployments go out on Tuesdays").await?;
    /// let again = core.add("Deployments  go out on Tuesdays").await?;
    /// assert_eq!(added.id, again.id);
    /// # Ok(()) }
    /// ```
    pub async fn add(&self, entry: impl Into<NewCoreEntry>) -> Result<Added> {
        first(&self.add_many(vec![entry.into()]).await?)
    }

    /// Adds entries in one revision, all or none. Returns an answer for each, in order.
    pub async fn add_many(&self, mut entries: Vec<NewCoreEntry>) -> Result<Vec<Added>> {
        // Only promotions may set this.
        entries.iter_mut().for_each(|entry| entry.board_rev = None);
        self.send_entries(entries).await
    }

    /// Adds a promoted entry, unless the same promotion has added it before.
    pub(crate) async fn promote(&self, entry: NewCoreEntry) -> Result<Added> {
        first(&self.send_entries(vec![entry]).await?)
    }

    async fn send_entries(&self, entries: Vec<NewCoreEntry>) -> Result<Vec<Added>> {
        expect_reply!(self.ask(CoreCommand::Add { entries }).await?, CoreReply::Added { entries } => entries)
    }

    /// Returns the entry with this ID, even if it is forgotten.
    pub async fn get(&self, entry: CoreEntryId) -> Result<Option<Arc<CoreEntry>>> {
        let (current, now) = self.current().await?;
        Ok(current.state.get(entry, now).cloned())
    }

    /// Changes an entry. Returns its new version.
    pub async fn edit(&self, entry: CoreEntryId, edit: CoreEdit) -> Result<u64> {
        let if_version = self.conditions.if_version;
        self.change(CoreCommand::Edit { entry, edit: Box::new(edit), if_version }).await
    }

    /// Forgets an entry when awaited: lists and searches leave it out until it is restored or added again. Returns its
    /// new version.
    pub fn forget(&self, entry: CoreEntryId, reason: Option<&str>) -> ForgetCoreEntry {
        ForgetCoreEntry { core: self.clone(), entry, reason: reason.map(Into::into) }
    }

    /// Restores a forgotten entry. Returns its new version.
    pub async fn restore(&self, entry: CoreEntryId) -> Result<u64> {
        self.change(CoreCommand::Restore { entry, if_version: self.conditions.if_version }).await
    }

    /// Removes everything that came from one origin, in one revision.
    ///
    /// An entry with other origins stays, with its importance and tags, but without this origin. If an author only
    /// edited another's entry, the entry is forgotten and can be restored.
    pub async fn withdraw(&self, of: Withdrawal) -> Result<WithdrawnCoreEntries> {
        expect_reply!(self.ask(CoreCommand::Withdraw { of }).await?, CoreReply::Withdrawn { removed, kept, forgotten } => WithdrawnCoreEntries { removed, kept, forgotten })
    }

    /// Removes all entries, including forgotten ones. Returns their number. Only an image can bring them back.
    pub async fn clear(&self) -> Result<u64> {
        expect_reply!(self.ask(CoreCommand::Clear).await?, CoreReply::Cleared { entries } => entries)
    }

    /// Returns all entries as a value that can be stored elsewhere.
    pub async fn image(&self) -> Result<CoreImage> {
        let (current, now) = self.current().await?;
        Ok(CoreImage::of(&current.state, now))
    }

    /// Replaces all entries with those of an image, in one revision. Returns that revision.
    pub async fn replace(&self, image: CoreImage) -> Result<u64> {
        Ok(self.ask(CoreCommand::Replace { image: Box::new(image) }).await?.rev)
    }

    /// Returns the core's current revision.
    pub async fn rev(&self) -> Result<u64> {
        Ok(self.current().await?.0.head.rev)
    }

    /// Returns the size of the core.
    pub async fn stats(&self) -> Result<CoreStats> {
        let (current, now) = self.current().await?;
        let (entries, forgotten) = current.state.counts(now);
        let remembered =
            || current.state.entries().values().filter(|entry| ForgottenEntries::LeaveOut.shows(entry, now));
        Ok(CoreStats {
            entries,
            forgotten,
            bytes: current.state.usage().bytes,
            // IDs are assigned in order, but a restored image may have other times.
            oldest_entry: remembered().map(|entry| entry.created_at).min(),
            newest_entry: remembered().map(|entry| entry.created_at).max(),
            rev: current.head.rev,
        })
    }

    /// Watches every revision after `from_rev`, the last one that the caller has seen. 0 starts at the beginning.
    pub async fn watch(&self, from_rev: u64) -> Result<CoreWatch> {
        self.engine.watch(self.slot.clone(), from_rev).await
    }

    /// The current state, and the current time in it.
    pub(crate) async fn current(&self) -> Result<(Arc<Revisioned<CoreState>>, Timestamp)> {
        let current = self.engine.current(&self.slot).await?;
        let now = self.engine.now(&self.slot, &current);
        Ok((current, now))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.engine.options
    }

    /// Checks that this handle's actor may do that, for callers that must know before they start something else. The
    /// core checks each write again.
    pub(crate) fn check_may(&self, action: CoreAction) -> Result<()> {
        Ok(action.check(&self.actor, Some(&self.id))?)
    }

    async fn change(&self, command: CoreCommand) -> Result<u64> {
        expect_reply!(self.ask(command).await?, CoreReply::Changed { version } => version)
    }

    /// Sends a command that is made from the core's current state. No other change is applied in between; if another
    /// writer commits first, the command is made again. Returns what was made with the command.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        mut make: impl FnMut(&CoreState) -> (CoreCommand, T) + Send + 'static,
    ) -> Result<T> {
        let result = Arc::new(Mutex::new(None));
        let latest = result.clone();
        let compute = move |state: &CoreState, _| {
            let (command, made) = make(state);
            *latest.lock() = Some(made);
            Ok(Request::new(command))
        };
        let asked = RequestSource::Computed(Box::new(compute));
        let answer = self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), asked).await?;
        result.lock().take().ok_or_else(|| unexpected(answer.reply))
    }

    async fn ask(&self, command: CoreCommand) -> Result<Answer<CoreReply>> {
        // Commands that compare a version contain it already.
        let conditions = Conditions { if_version: None, ..self.conditions.clone() };
        let request = conditions.request(command, &self.engine.options.limits)?;
        self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), RequestSource::Request(request)).await
    }
}

fn first(added: &[Added]) -> Result<Added> {
    added.first().copied().ok_or_else(|| unexpected(CoreReply::Added { entries: Vec::new() }))
}

/// The error for a reply of the wrong kind, which is a bug in Corkboard.
fn unexpected(reply: CoreReply) -> Error {
    Error::Damaged { space: "core".into(), message: format!("unexpected reply: {reply:?}") }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("id", &self.id).field("actor", &self.actor).finish_non_exhaustive()
    }
}

//! Memory cores: long-term knowledge that outlives boards and conversations, shared by name or an agent's own.

mod best;
mod create;
mod entries;
mod search;

use std::any::Any;
use std::sync::Arc;

use corkboard_core::knowledge::{
    Added, CoreAction, CoreCommand, CoreEdit, CoreEntry, CoreEntryId, CoreImage, CoreReply, CoreState, NewCoreEntry,
    Withdrawal,
};
use corkboard_core::{Actor, CoreId, Revisioned, Space, SpaceId, Usage};
use jiff::Timestamp;
use serde::Serialize;

use crate::access::AuthenticatedActor;
use crate::board::expect_reply;
use crate::engine::{Answer, Engine, RequestSource, Slot, Watch};
use crate::{Conditions, Error, Result};

pub(crate) use best::{Admit, SourcedEntry, best, if_readable};
pub use create::CoreSummary;
pub use entries::{CoreEntries, CorePage, ForgottenEntries};
pub use search::CoreHit;

/// Watches the log of a memory core.
pub type CoreWatch = Watch<CoreState>;

/// One memory core. Whoever has the handle works on it in the name of the handle's actor.
#[derive(Clone)]
pub struct Core {
    id: CoreId,
    actor: AuthenticatedActor,
    engine: Arc<Engine<CoreState>>,
    slot: Arc<Slot<CoreState>>,
    conditions: Conditions,
    /// What ticks and flushes goes on for as long as there are handles.
    _corkboard: Arc<dyn Any + Send + Sync>,
}

/// How much a memory core holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreStats {
    /// Entries that are remembered.
    pub entries: u64,
    /// Entries that are forgotten and can be restored.
    pub forgotten: u64,
    /// Bytes of texts, tags and origins, of the forgotten ones too.
    pub bytes: u64,
    /// When the oldest entry that is remembered was added.
    pub oldest_entry: Option<Timestamp>,
    /// When the newest was.
    pub newest_entry: Option<Timestamp>,
    /// The revision that these counts show.
    pub rev: u64,
}

/// What [`Core::withdraw`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Withdrawn {
    /// How many entries went.
    pub removed: u64,
    /// How many entries stay, because they came from elsewhere too.
    pub kept: u64,
    /// How many entries of others are forgotten, because their text was changed. They can be restored.
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

    /// In whose name this handle works.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The same core in another name.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// The same core; what is written by this handle is refused unless the core is at this revision.
    pub fn if_rev(&self, rev: u64) -> Self {
        let conditions = Conditions { if_rev: Some(rev), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// The same core; this handle edits, forgets and restores only an entry that is at this version. Otherwise
    /// [`Refusal::CoreConflict`](crate::Refusal::CoreConflict), with what is there.
    pub fn if_version(&self, version: u64) -> Self {
        let conditions = Conditions { if_version: Some(version), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// The same core; what is written by this handle has this name: the same again, within a day, gets the same answer and
    /// has no second effect.
    pub fn idempotency_key(&self, key: impl Into<String>) -> Self {
        let conditions = Conditions { idempotency_key: Some(key.into()), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// The same core; what is written by this handle is written under these conditions. Only edits, forgetting and restoring
    /// of an entry compare its version.
    pub fn conditions(&self, conditions: impl Into<Conditions>) -> Self {
        Self { conditions: conditions.into(), ..self.clone() }
    }

    /// Adds an entry. If one says the same already, it takes in what is new about it.
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

    /// Adds entries in one revision: all of them, or none. The answers are in their order.
    pub async fn add_many(&self, mut entries: Vec<NewCoreEntry>) -> Result<Vec<Added>> {
        // What is added by hand is nobody's promotion, whatever it says.
        entries.iter_mut().for_each(|entry| entry.board_rev = None);
        self.send_entries(entries).await
    }

    /// Adds what was promoted on a board, if that promotion has not brought it in before.
    pub(crate) async fn promote(&self, entry: NewCoreEntry) -> Result<Added> {
        first(&self.send_entries(vec![entry]).await?)
    }

    async fn send_entries(&self, entries: Vec<NewCoreEntry>) -> Result<Vec<Added>> {
        expect_reply!(self.ask(CoreCommand::Add { entries }).await?, CoreReply::Added { entries } => entries)
    }

    /// The entry with that number, forgotten or not.
    pub async fn get(&self, entry: CoreEntryId) -> Result<Option<Arc<CoreEntry>>> {
        let (current, now) = self.current().await?;
        Ok(current.state.get(entry, now).cloned())
    }

    /// Changes an entry. Returns its version then.
    pub async fn edit(&self, entry: CoreEntryId, edit: CoreEdit) -> Result<u64> {
        let if_version = self.conditions.if_version;
        self.change(CoreCommand::Edit { entry, edit: Box::new(edit), if_version }).await
    }

    /// Forgets an entry: it is neither listed nor found until it is restored, or learned again. Returns its version then.
    pub async fn forget(&self, entry: CoreEntryId, reason: Option<&str>) -> Result<u64> {
        let (reason, if_version) = (reason.map(Into::into), self.conditions.if_version);
        self.change(CoreCommand::Forget { entry, reason, if_version }).await
    }

    /// Brings back an entry that was forgotten. Returns its version then.
    pub async fn restore(&self, entry: CoreEntryId) -> Result<u64> {
        self.change(CoreCommand::Restore { entry, if_version: self.conditions.if_version }).await
    }

    /// Takes out all that came from somewhere, in one revision. What came from elsewhere as well stays, without that
    /// origin; its importance and its tags stay as they are. Another's entry that an author only changed is forgotten, and
    /// can be restored.
    pub async fn withdraw(&self, of: Withdrawal) -> Result<Withdrawn> {
        expect_reply!(self.ask(CoreCommand::Withdraw { of }).await?, CoreReply::Withdrawn { removed, kept, forgotten } => Withdrawn { removed, kept, forgotten })
    }

    /// Removes all entries, the forgotten ones included. Returns how many. There is no way back but an image.
    pub async fn clear(&self) -> Result<u64> {
        expect_reply!(self.ask(CoreCommand::Clear).await?, CoreReply::Cleared { entries } => entries)
    }

    /// All entries at this moment, as a value to be kept elsewhere.
    pub async fn image(&self) -> Result<CoreImage> {
        let (current, now) = self.current().await?;
        Ok(CoreImage::of(&current.state, now))
    }

    /// Replaces all entries by those of an image, in one revision, which is returned.
    pub async fn replace(&self, image: CoreImage) -> Result<u64> {
        Ok(self.ask(CoreCommand::Replace { image: Box::new(image) }).await?.rev)
    }

    /// The revision that the core is at.
    pub async fn rev(&self) -> Result<u64> {
        Ok(self.current().await?.0.head.rev)
    }

    /// How much there is.
    pub async fn stats(&self) -> Result<CoreStats> {
        let (current, now) = self.current().await?;
        let (entries, forgotten) = current.state.counts(now);
        let remembered =
            || current.state.entries().values().filter(|entry| ForgottenEntries::LeaveOut.shows(entry, now));
        Ok(CoreStats {
            entries,
            forgotten,
            bytes: current.state.usage().bytes,
            // Numbers are given in order, but an image that was restored may say otherwise of their times.
            oldest_entry: remembered().map(|entry| entry.created_at).min(),
            newest_entry: remembered().map(|entry| entry.created_at).max(),
            rev: current.head.rev,
        })
    }

    /// Every revision from the last that the caller has seen: 0 stands for the beginning.
    pub async fn watch(&self, from_rev: u64) -> Result<CoreWatch> {
        self.engine.watch(self.slot.clone(), from_rev).await
    }

    /// The state as it is now, and the time in it.
    pub(crate) async fn current(&self) -> Result<(Arc<Revisioned<CoreState>>, Timestamp)> {
        let current = self.engine.current(&self.slot).await?;
        let now = self.engine.now(&self.slot, &current);
        Ok((current, now))
    }

    /// Whether this handle's actor may do that here, for whoever must know before it begins with something else. What is
    /// written is decided by the core all the same.
    pub(crate) fn check_may(&self, action: CoreAction) -> Result<()> {
        Ok(action.check(&self.actor, self.id.agent().as_ref())?)
    }

    async fn change(&self, command: CoreCommand) -> Result<u64> {
        expect_reply!(self.ask(command).await?, CoreReply::Changed { version } => version)
    }

    async fn ask(&self, command: CoreCommand) -> Result<Answer<CoreReply>> {
        // A command that compares a version has it already.
        let conditions = Conditions { if_version: None, ..self.conditions.clone() };
        let request = conditions.request(command, &self.engine.options.limits)?;
        self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), RequestSource::Request(request)).await
    }
}

fn first(added: &[Added]) -> Result<Added> {
    added.first().copied().ok_or_else(|| unexpected(CoreReply::Added { entries: Vec::new() }))
}

/// An answer that does not belong to the question: a defect of ours, said instead of hidden.
fn unexpected(reply: CoreReply) -> Error {
    Error::Damaged { space: "core".into(), message: format!("an answer that was not asked for: {reply:?}") }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("id", &self.id).field("actor", &self.actor).finish_non_exhaustive()
    }
}

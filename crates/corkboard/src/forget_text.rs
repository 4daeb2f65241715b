//! Finding a text in a whole store, and forgetting it for good.

use std::sync::Arc;

use corkboard_core::agent::Forget;
use corkboard_core::board::BoardForget;
use corkboard_core::knowledge::CoreForget;
use corkboard_core::{Actor, Space, SpaceId, SpaceKind, check_forgets_everywhere, check_forgotten_text};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, Occurrence, TextPlace};
use crate::memory::forget_in;
use crate::{Corkboard, Error, Result};

/// Number of spaces listed per page.
const PAGE: usize = 1000;

/// How many items an answer contains; `found` counts all.
const MOST_ITEMS: usize = 1000;

/// An item that contains a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundText {
    /// The space, such as `agent/ann` or `board/launch`.
    pub space: String,
    /// The item, such as `entry password`, `note 3` or `D-1`.
    pub item: String,
    /// A few words around the text.
    pub snippet: String,
    /// Whether the item contains it now, contained it earlier, or has it in a name.
    pub place: TextPlace,
}

/// Result of [`Corkboard::forget_text`] and [`Corkboard::find_text`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForgottenText {
    /// The items that contain the text or contained it, at most 1000.
    pub items: Vec<FoundText>,
    /// Number of all these items.
    pub found: u64,
    /// Number of items that were removed or whose texts were replaced. 0 in a dry run.
    pub removed: u64,
    /// Number of log revisions that were rewritten. 0 in a dry run.
    pub revisions: u64,
}

impl ForgottenText {
    /// The items with the text in a name. They stay.
    pub fn kept(&self) -> impl Iterator<Item = &FoundText> {
        self.items.iter().filter(|item| item.place == TextPlace::Name)
    }
}

/// What a running search reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgetProgress {
    /// Number of spaces that are done.
    pub spaces: u64,
    /// Number of items found so far.
    pub found: u64,
}

type OnProgress = Box<dyn FnMut(ForgetProgress) + Send>;

/// A search for a text that runs when awaited. Created by [`Corkboard::find_text`] and [`Corkboard::forget_text`].
#[must_use = "nothing is searched until this is awaited"]
pub struct ForgetText {
    corkboard: Corkboard,
    text: String,
    dry_run: bool,
    on_progress: Option<OnProgress>,
}

impl Corkboard {
    /// Finds a text in everything that this store keeps: all agents with their notebooks and conversations, boards and
    /// memory cores, including values that were overwritten and that only the log still contains. Names, such as keys
    /// and agents' names, are reported with [`TextPlace::Name`].
    ///
    /// Only people and admins may do this, and only without limits on the spaces they can open. A text of fewer than 3
    /// characters is refused.
    pub fn find_text(&self, text: impl Into<String>) -> ForgetText {
        ForgetText { corkboard: self.clone(), text: text.into(), dry_run: true, on_progress: None }
    }

    /// Finds a text like [`Corkboard::find_text`] and forgets it permanently: it is removed from states, logs,
    /// snapshots, indexes and the store's files.
    ///
    /// Entries, notes and notebook items of agents, and entries of memory cores, are removed as a whole if they contain
    /// the text. Records of boards stay; each of their texts that contains it is replaced by `[forgotten]`. Everything
    /// else stays. Names cannot be forgotten: they are reported and stay. Forgetting again finishes an interrupted call.
    ///
    /// ```
    /// # use corkboard::Corkboard;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// let corkboard = Corkboard::open("memory:").await?;
    /// corkboard.agent("ann")?.working().set("db", "the password is hunter2").await?;
    /// assert_eq!(corkboard.find_text("hunter2").await?.items[0].item, "entry db");
    /// assert_eq!(corkboard.forget_text("hunter2").await?.removed, 1);
    /// assert_eq!(corkboard.find_text("hunter2").await?.found, 0);
    /// # Ok(()) }
    /// ```
    pub fn forget_text(&self, text: impl Into<String>) -> ForgetText {
        ForgetText { dry_run: false, ..self.find_text(text) }
    }
}

impl ForgetText {
    /// Calls this after every space. A search on a server reports nothing.
    pub fn on_progress(mut self, on_progress: impl FnMut(ForgetProgress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }

    async fn run(self) -> Result<ForgottenText> {
        let Self { corkboard, text, dry_run, on_progress } = self;
        let actor = Actor::clone(corkboard.actor());
        check_forgotten_text(&text)?;
        if let Some(remote) = corkboard.agents_engine().remote() {
            return remote.forget_text(actor, text, dry_run).await;
        }
        check_forgets_everywhere(&actor)?;
        corkboard.check_unlimited()?;
        if !dry_run {
            actor.check_writes()?;
        }
        let mut search =
            Search { text, dry_run, on_progress, is_shared: true, spaces: 0, answer: ForgottenText::default() };
        let (agents, conversations) = (corkboard.agents_engine(), corkboard.conversations_engine());
        // Before the agents: forgetting in an agent's memory also forgets in its conversations.
        let agent_text = |text| Some(Forget::text(text));
        search.each(agents, SpaceKind::Conversation, agent_text, &corkboard).await?;
        if !Arc::ptr_eq(agents, conversations) {
            search.is_shared = false;
            search.each(conversations, SpaceKind::Conversation, agent_text, &corkboard).await?;
        }
        search.ephemeral(&corkboard).await?;
        search.each(agents, SpaceKind::Agent, agent_text, &corkboard).await?;
        let board_text = |text| Some(BoardForget::Text { text });
        search.each(corkboard.boards_engine(), SpaceKind::Board, board_text, &corkboard).await?;
        let core_text = |text| Some(CoreForget::Text { text });
        search.each(corkboard.cores_engine(), SpaceKind::Core, core_text, &corkboard).await?;
        // Labels of tokens are names.
        let (tokens, ..) = corkboard.tokens_engine();
        search.each(&tokens, SpaceKind::Tokens, |_| None, &corkboard).await?;
        if !dry_run {
            // Always: an earlier call may have rewritten the logs and failed before this.
            corkboard.scrub().await?;
        }
        Ok(search.answer)
    }
}

impl IntoFuture for ForgetText {
    type Output = Result<ForgottenText>;
    type IntoFuture = BoxFuture<'static, Result<ForgottenText>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A search in progress.
struct Search {
    text: String,
    dry_run: bool,
    on_progress: Option<OnProgress>,
    /// Whether the conversations are those in the store, not those in the memory of this process.
    is_shared: bool,
    spaces: u64,
    answer: ForgottenText,
}

impl Search {
    /// Searches all spaces of a kind, one after the other.
    async fn each<S: Space>(
        &mut self,
        engine: &Arc<Engine<S>>,
        kind: SpaceKind,
        forget: impl Fn(String) -> Option<S::Forget>,
        corkboard: &Corkboard,
    ) -> Result<()> {
        let mut after: Option<SpaceId> = None;
        loop {
            let page = engine.store.list(kind, after.as_ref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|listed| listed.space.clone());
            for listed in page {
                let slot = engine.slot(&listed.space);
                let found = engine.find_text(&slot, &self.text, forget(self.text.clone())).await?;
                let is_there = found.iter().any(|found| found.place != TextPlace::Name);
                self.add(&listed.space, kind, found);
                if is_there && !self.dry_run {
                    self.forget(corkboard, &listed.space, kind).await?;
                }
                self.spaces += 1;
                let progress = ForgetProgress { spaces: self.spaces, found: self.answer.found };
                self.on_progress.iter_mut().for_each(|tell| tell(progress));
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Searches the ephemeral scopes of the agents that this process has open.
    async fn ephemeral(&mut self, corkboard: &Corkboard) -> Result<()> {
        for runtime in corkboard.open_agents() {
            let mut found = runtime.find_ephemeral(&self.text);
            if found.is_empty() {
                continue;
            }
            found.iter_mut().for_each(|found| found.item.push_str(" in an ephemeral scope"));
            let agent = SpaceId::agent(runtime.id());
            let space = format!("{}/{}", SpaceKind::Agent.as_str(), agent.name());
            self.add_items(&space, found);
            if !self.dry_run {
                let forget = Forget::text(self.text.clone());
                self.answer.removed += runtime.forget_ephemeral(corkboard.authenticated_actor(), &forget)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, space: &SpaceId, kind: SpaceKind, found: Vec<Occurrence>) {
        let named = space.name().contains(&self.text).then(|| Occurrence {
            item: match kind {
                SpaceKind::Agent => "the agent's name",
                SpaceKind::Board => "the board's name",
                SpaceKind::Core => "the core's name",
                SpaceKind::Conversation => "the conversation's name",
                SpaceKind::Tokens => "the name of the store's tokens",
            }
            .into(),
            snippet: space.name().into(),
            place: TextPlace::Name,
        });
        let space = format!("{}/{}", kind.as_str(), space.name());
        self.add_items(&space, found.into_iter().chain(named));
    }

    fn add_items(&mut self, space: &str, found: impl IntoIterator<Item = Occurrence>) {
        for Occurrence { item, snippet, place } in found {
            self.answer.found += 1;
            if self.answer.items.len() < MOST_ITEMS {
                self.answer.items.push(FoundText { space: space.into(), item, snippet, place });
            }
        }
    }

    /// Forgets the text in a space that contains it, without scrubbing the store.
    async fn forget(&mut self, corkboard: &Corkboard, space: &SpaceId, kind: SpaceKind) -> Result<()> {
        let text = self.text.clone();
        let strange = || Error::Damaged { space: space.to_string(), message: "its name is invalid".into() };
        let forgotten = match kind {
            SpaceKind::Agent => {
                let agent = space.as_agent().ok_or_else(strange)?;
                corkboard.agent(agent.as_str())?.forget_items(Forget::text(text)).without_scrubbing().await?
            }
            SpaceKind::Board => {
                corkboard.board_of(space.as_board().ok_or_else(strange)?).forget(BoardForget::Text { text }).await?
            }
            SpaceKind::Core => {
                let core = corkboard.core_of(space.as_core().ok_or_else(strange)?);
                core.forget_hard(CoreForget::Text { text }).await?
            }
            SpaceKind::Conversation => {
                let engine = match self.is_shared {
                    true => corkboard.agents_engine(),
                    false => corkboard.conversations_engine(),
                };
                forget_in(engine, &engine.slot(space), corkboard.authenticated_actor(), Forget::text(text)).await?
            }
            SpaceKind::Tokens => return Ok(()),
        };
        self.answer.removed += forgotten.removed;
        self.answer.revisions += forgotten.revisions;
        Ok(())
    }
}

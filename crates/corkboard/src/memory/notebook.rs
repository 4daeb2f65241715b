//! An agent's notebooks: reading, updating and restoring them.

use std::ops::ControlFlow;
use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, Forget};
use corkboard_core::notebook::{
    Block, Notebook, NotebookDiff, NotebookItemId, NotebookLearningId, NotebookProblem, Parsed, SnippetId, UnknownIds,
    parse,
};
use corkboard_core::{IdempotencyKey, LimitName, Limits, NotebookName, Refusal, Request};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;

use super::agent::{AgentMemory, AgentRuntime};
use super::forget::ForgetItems;
use super::write::{Future, Write, unexpected};
use crate::access::AuthenticatedActor;
use crate::conditions::condition_methods;
use crate::engine::{Answer, HistoryStep, RequestSource};
use crate::store::StoreError;
use crate::{Conditions, Error, Result};

/// A handle to one of an agent's notebooks: task progress, learnings and verbatim snippets. The notebook need not
/// exist; the first update creates it.
///
/// ```
/// # use corkboard::Corkboard;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
/// # let agent = Corkboard::open("memory:").await?.agent("a")?;
/// let notebook = agent.notebook("main")?;
/// let applied = notebook.apply("KEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count as two\n").await?;
/// assert_eq!(applied.learnings[0].to_string(), "KL-1");
/// assert_eq!(&*notebook.get().await?.learnings[0].text, "tabs count as two");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct AgentNotebook {
    memory: AgentMemory,
    runtime: Arc<AgentRuntime>,
    actor: AuthenticatedActor,
    name: NotebookName,
}

/// Result of an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppliedNotebookUpdate {
    /// Revision of this update; if nothing changed, the memory's current revision.
    pub rev: u64,
    /// Whether the notebook changed.
    pub changed: bool,
    /// IDs of the added learnings, in the order of the text.
    pub learnings: Vec<NotebookLearningId>,
    /// IDs of the added snippets, in the order of the text.
    pub snippets: Vec<SnippetId>,
    /// IDs that were skipped because the notebook does not have them.
    pub skipped: Vec<NotebookItemId>,
    /// Warnings about the text and the skipped IDs.
    pub warnings: Vec<NotebookProblem>,
    /// The changes. Formatted as text, this is the changelog.
    pub changes: NotebookDiff,
}

/// A notebook's past changes, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotebookHistory {
    /// Oldest revision known. If it is greater than 0, older revisions are no longer available.
    pub from_rev: u64,
    /// One item per revision that changed the notebook.
    pub revisions: Vec<NotebookRevision>,
}

/// One revision that changed a notebook.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotebookRevision {
    /// The revision's number.
    pub rev: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// Who made it.
    pub author: String,
    /// The changes in this revision.
    pub changes: NotebookDiff,
}

/// A notebook in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotebookInfo {
    /// The notebook's name.
    pub name: NotebookName,
    /// Revision that last changed it.
    pub version: u64,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Number of active (not archived) learnings.
    pub learnings: usize,
    /// Number of active (not archived) snippets.
    pub snippets: usize,
}

impl AgentMemory {
    /// A notebook of the agent; the default one is [`Notebook::MAIN`].
    pub fn notebook(&self, name: &str) -> Result<AgentNotebook> {
        let name = NotebookName::new(name, &self.options().limits)?;
        let (runtime, actor) = self.parts();
        Ok(AgentNotebook { memory: self.clone(), runtime, actor, name })
    }

    /// The notebooks that are not empty, sorted by name.
    pub async fn notebooks(&self) -> Result<Vec<NotebookInfo>> {
        Ok(self.view().await?.notebooks().collect())
    }
}

impl From<(&NotebookName, &Arc<Notebook>)> for NotebookInfo {
    fn from((name, notebook): (&NotebookName, &Arc<Notebook>)) -> Self {
        Self {
            name: name.clone(),
            version: notebook.version,
            updated_at: notebook.updated_at,
            learnings: notebook.learnings.len(),
            snippets: notebook.snippets.len(),
        }
    }
}

impl AgentNotebook {
    /// The notebook's name.
    pub fn name(&self) -> &NotebookName {
        &self.name
    }

    pub(crate) fn memory(&self) -> &AgentMemory {
        &self.memory
    }

    /// The current notebook.
    pub async fn get(&self) -> Result<Arc<Notebook>> {
        let (current, _) = self.memory.current().await?;
        Ok(current.state.notebook(self.name.as_str()).cloned().unwrap_or_default())
    }

    /// Applies an update text in one revision: all of it, or nothing. Await it.
    ///
    /// A text with errors fails with [`Error::NotebookProblems`]. So does a text that archives an unknown ID, unless
    /// [`Apply::ignore_unknown`] is set.
    pub fn apply<'a>(&'a self, text: &'a str) -> Apply<'a> {
        Apply { notebook: self, text, unknown_ids: UnknownIds::Refuse, conditions: Conditions::default() }
    }

    /// The notebook's past changes, as far back as the log reaches.
    pub async fn history(&self) -> Result<NotebookHistory> {
        let mut revisions = Vec::new();
        let look = |step: HistoryStep<'_, AgentState>| {
            revisions.extend(self.revision(&step));
            ControlFlow::Continue(())
        };
        let (oldest, _) = self.runtime.engine.retrace(&self.runtime.slot, 0, look).await?;
        Ok(NotebookHistory { from_rev: oldest.head.rev, revisions })
    }

    /// The notebook at a revision. If that revision is no longer available, fails with [`StoreError::Compacted`], which
    /// names the oldest one that is.
    pub async fn at(&self, rev: u64) -> Result<Arc<Notebook>> {
        let name = self.name.as_str();
        let mut found = None;
        let look = |step: HistoryStep<'_, AgentState>| {
            if step.rev > rev {
                return ControlFlow::Break(());
            }
            found = step.after.notebook(name).cloned();
            ControlFlow::Continue(())
        };
        let (oldest, last) = self.runtime.engine.retrace(&self.runtime.slot, rev, look).await?;
        let from_rev = oldest.head.rev;
        if rev < from_rev {
            return Err(StoreError::Compacted { oldest: from_rev }.into());
        }
        if rev > last {
            return Err(StoreError::Future { asked: rev, head: last }.into());
        }
        Ok(if rev == from_rev { oldest.state.notebook(name).cloned() } else { found }.unwrap_or_default())
    }

    /// The changes from one revision to another.
    pub async fn diff(&self, from: u64, to: u64) -> Result<NotebookDiff> {
        let (before, after) = (self.at(from).await?, self.at(to).await?);
        Ok(after.since(&before))
    }

    /// Restores the content that the notebook showed at a revision. Items added since are archived, so nothing is lost,
    /// and IDs stay the same. Returns the new revision and the changes.
    pub fn restore(&self, rev: u64) -> Write<'_, (u64, NotebookDiff)> {
        Write::new(move |conditions| async move {
            let restored = self.restore_if(rev, conditions).await?;
            Ok((restored.0, restored))
        })
    }

    async fn restore_if(&self, rev: u64, conditions: Conditions) -> Result<(u64, NotebookDiff)> {
        let then = self.at(rev).await?;
        let (notebook, content) = (self.name.clone(), Box::new(then.content(rev)));
        let command = AgentCommand::RestoreNotebook { notebook: notebook.clone(), content, if_version: None };
        let request = self.request(command, conditions)?;
        let before = Arc::new(Mutex::new(Arc::default()));
        let (seen, name) = (before.clone(), request.idempotency.clone());
        let make = move |state: &AgentState, _: Timestamp| {
            *seen.lock() = state.notebook(notebook.as_str()).cloned().unwrap_or_default();
            Ok(request.clone())
        };
        let answer = self.runtime.ask(&self.actor, RequestSource::Computed(Box::new(make))).await?;
        let seen = before.lock().clone();
        let before = self.decided_on(seen, name.as_ref(), &answer).await?;
        let mut after = Notebook::clone(&before);
        after.show(&then.content(rev));
        Ok((answer.rev, after.since(&before)))
    }

    /// Removes all items, including archived ones. Their IDs are not reused. Returns how many items were removed. The
    /// log still contains them.
    pub fn clear(&self) -> Write<'_, u64> {
        Write::new(move |conditions| self.clear_if(conditions))
    }

    async fn clear_if(&self, conditions: Conditions) -> Result<(u64, u64)> {
        let clear = self.request(AgentCommand::ClearNotebook { notebook: self.name.clone() }, conditions)?;
        let answer = self.runtime.ask(&self.actor, RequestSource::Request(clear)).await?;
        match answer.reply {
            AgentReply::Cleared { entries } => Ok((answer.rev, entries)),
            other => Err(unexpected(other)),
        }
    }

    /// The notebook on which a request was decided: `seen`, unless the request is a repeat (by idempotency key). Then
    /// it is read from the log.
    async fn decided_on(
        &self,
        seen: Arc<Notebook>,
        name: Option<&IdempotencyKey>,
        answer: &Answer<AgentReply>,
    ) -> Result<Arc<Notebook>> {
        let Some(name) = name.filter(|_| answer.commit.is_none()) else { return Ok(seen) };
        let (current, now) = self.memory.current().await?;
        let found = current.answered.find(&self.actor.principal, name, now, &self.memory.options().limits);
        match found {
            Ok(Some((rev, _))) if rev == answer.rev => Ok(self.at(rev.saturating_sub(1)).await.unwrap_or(seen)),
            _ => Ok(seen),
        }
    }

    fn request(&self, command: AgentCommand, conditions: Conditions) -> Result<Request<AgentCommand>> {
        conditions.request(command, &self.memory.options().limits)
    }

    /// Permanently forgets one item, or everything that the notebook contains or ever contained, like
    /// [`AgentMemory::forget`]. An item is forgotten with its reasons; a progress bullet that repeats its words stays.
    pub fn forget(&self, item: Option<NotebookItemId>) -> ForgetItems {
        self.memory.forget_items(Forget::notebook(self.name.clone(), item))
    }

    /// The changes that a revision made to the notebook, if any.
    fn revision(&self, step: &HistoryStep<'_, AgentState>) -> Option<NotebookRevision> {
        let of = |state: &AgentState| state.notebook(self.name.as_str()).cloned().unwrap_or_default();
        let (before, after) = (of(step.before), of(step.after));
        // An untouched notebook is the same allocation.
        if Arc::ptr_eq(&before, &after) || before == after {
            return None;
        }
        let author = step.commit.actor.principal.clone();
        Some(NotebookRevision { rev: step.rev, at: step.commit.at, author, changes: after.since(&before) })
    }
}

/// An update of a notebook. Created by [`AgentNotebook::apply`].
#[must_use = "nothing is written until this is awaited"]
pub struct Apply<'a> {
    notebook: &'a AgentNotebook,
    text: &'a str,
    unknown_ids: UnknownIds,
    conditions: Conditions,
}

condition_methods!(impl['a] Apply<'a>: if_rev, idempotency_key, conditions);

impl Apply<'_> {
    /// Skips IDs that the notebook does not have, instead of refusing the update.
    pub fn ignore_unknown(mut self) -> Self {
        self.unknown_ids = UnknownIds::Skip;
        self
    }

    /// Applies only if the notebook is at this version; 0 means that it was never written.
    pub fn if_version(mut self, version: u64) -> Self {
        self.conditions.if_version = Some(version);
        self
    }

    async fn run(self) -> Result<AppliedNotebookUpdate> {
        let Self { notebook: handle, text, unknown_ids, mut conditions } = self;
        let limits = &handle.memory.options().limits;
        Limits::check(LimitName::CommandBytes, text.len() as u64, limits.command_bytes)?;
        let parsed = parse(text);
        if parsed.has_errors() {
            return Err(Error::NotebookProblems { problems: parsed.problems });
        }
        let (notebook, block) = (handle.name.clone(), Box::new(parsed.block.clone()));
        let if_version = conditions.if_version.take();
        let command = AgentCommand::UpdateNotebook { notebook, block, unknown_ids, if_version };
        let request = conditions.request(command, limits)?;
        let key = request.idempotency.clone();
        // The notebook that the text was applied to: the last one that the closure saw.
        let before = Arc::new(Mutex::new(Arc::default()));
        let (seen, name) = (before.clone(), handle.name.clone());
        let make = move |state: &AgentState, _: Timestamp| {
            *seen.lock() = state.notebook(name.as_str()).cloned().unwrap_or_default();
            Ok(request.clone())
        };
        let answer = match handle.runtime.ask(&handle.actor, RequestSource::Computed(Box::new(make))).await {
            Err(Error::Refused(Refusal::UnknownItems { ids, .. })) => {
                let notebook: Arc<Notebook> = before.lock().clone();
                return Err(Error::NotebookProblems { problems: with_unknown(&parsed, &ids, &notebook) });
            }
            answer => answer?,
        };
        let AgentReply::NotebookUpdated { last_learning, last_snippet, .. } = answer.reply else {
            return Err(unexpected(answer.reply));
        };
        let seen = before.lock().clone();
        let before = handle.decided_on(seen, key.as_ref(), &answer).await?;
        let applied = handle.report(&parsed, &before, answer.rev, (last_learning, last_snippet));
        handle.log(&parsed.block, &applied);
        Ok(applied)
    }
}

impl AgentNotebook {
    /// Logs which items were added and archived. Their text is left out, because logs are shared more widely than
    /// memories; the history has it.
    fn log(&self, block: &Block, applied: &AppliedNotebookUpdate) {
        if !applied.changed || !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let added = applied.learnings.iter().map(|id| NotebookItemId::from(*id));
        let added =
            added.chain(applied.snippets.iter().map(|id| NotebookItemId::from(*id))).map(|id| format!("{id} added"));
        let archived = block.archived().filter(|id| !applied.skipped.contains(id)).map(|id| format!("{id} archived"));
        let progress = block.progress.is_some().then(|| "progress rewritten".to_owned());
        let news: Vec<String> = progress.into_iter().chain(added).chain(archived).collect();
        let (agent_id, notebook) = (&self.runtime.id, &self.name);
        tracing::debug!(%agent_id, %notebook, "Notebook {notebook} updated for agent {agent_id}: {}", news.join(", "));
    }

    fn report(
        &self,
        parsed: &Parsed,
        before: &Notebook,
        rev: u64,
        last: (NotebookLearningId, SnippetId),
    ) -> AppliedNotebookUpdate {
        let Block { learnings, snippets, .. } = &parsed.block;
        let limits = &self.memory.options().limits;
        // Repeats the decision that the core accepted, so this succeeds as well.
        let decided = before.decide(&self.name, &parsed.block, UnknownIds::Skip, limits);
        let (update, skipped) = decided.unwrap_or_default();
        let mut after = before.clone();
        after.preview(&update);
        let first = |last: u64, count: usize| last.saturating_sub(count as u64) + 1;
        AppliedNotebookUpdate {
            rev,
            changed: !update.is_empty(),
            learnings: (first(last.0.0, learnings.len())..=last.0.0).map(NotebookLearningId).collect(),
            snippets: (first(last.1.0, snippets.len())..=last.1.0).map(SnippetId).collect(),
            warnings: with_unknown(parsed, &skipped, before),
            skipped,
            changes: after.since(before),
        }
    }
}

impl<'a> IntoFuture for Apply<'a> {
    type Output = Result<AppliedNotebookUpdate>;
    type IntoFuture = Future<'a, AppliedNotebookUpdate>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The problems of a text, including unknown IDs, sorted by line.
fn with_unknown(parsed: &Parsed, unknown: &[NotebookItemId], notebook: &Notebook) -> Vec<NotebookProblem> {
    let mut problems = parsed.problems.clone();
    problems.extend(unknown.iter().map(|id| parsed.unknown(*id, &known(*id, notebook))));
    problems.sort_by_key(|problem| problem.line);
    problems
}

/// The existing IDs of that kind, for an error message of bounded length.
pub(crate) fn known(id: NotebookItemId, notebook: &Notebook) -> String {
    const SHOWN: usize = 20;
    let ids: Vec<String> = match id {
        NotebookItemId::Learning(_) => notebook.learnings.iter().map(|learning| learning.id.to_string()).collect(),
        NotebookItemId::Snippet(_) => notebook.snippets.iter().map(|snippet| snippet.id.to_string()).collect(),
    };
    match ids.as_slice() {
        [] => "there is nothing to archive".into(),
        ids if ids.len() > SHOWN => {
            let newest = ids.iter().rev().take(SHOWN).rev().map(String::as_str).collect::<Vec<_>>();
            format!("there are {} and {} older ones", newest.join(", "), ids.len() - SHOWN)
        }
        ids => format!("there are {}", ids.join(", ")),
    }
}

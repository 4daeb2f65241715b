//! Limits the approvals, authors and trust in images.
//!
//! An image is a whole space as plain data. A fork starts from one, and an image can replace an agent's memory or a
//! memory core. The caller may have invented its approvals, authors and trust. So every image passes [`admitted`],
//! which leaves only what the caller could have given by commands.

use alloc::sync::Arc;

use crate::agent::{AgentImage, AgentState};
use crate::board::{ApprovalVerdict, BoardAction, BoardImage, BoardState};
use crate::knowledge::{CoreAction, CoreEntry, CoreImage, CoreState, Provenance, Trust};
use crate::{Actor, ActorKind, Context, Note, SpaceId};

/// A space as plain data.
pub(crate) trait Image: Sized {
    /// The state of the space before the image.
    type State;

    /// Removes what the caller could not have given. For text that the space already contains, the state decides.
    fn limit(&mut self, state: &Self::State, caller: ImageCaller<'_>);
}

/// The image with no more trust, approvals and authorship than the caller could have given. Every image that a command
/// adds to a space must pass this function.
pub(crate) fn admitted<I: Image>(mut image: I, state: &I::State, context: &Context<'_>) -> I {
    image.limit(state, ImageCaller { space: context.space, ..ImageCaller::new(context.actor) });
    image
}

/// Limits the trust of a text to `most`. A text without a stated trust counts as an agent's.
pub(crate) fn at_most(said: Option<Trust>, most: Trust) -> Option<Trust> {
    if said.unwrap_or_default() > most { Some(most) } else { said }
}

/// The actor that sends an image.
#[derive(Clone, Copy)]
pub(crate) struct ImageCaller<'a> {
    actor: &'a Actor,
    space: Option<&'a SpaceId>,
}

impl<'a> ImageCaller<'a> {
    pub(crate) fn new(actor: &'a Actor) -> Self {
        Self { actor, space: None }
    }

    /// A person vouches for the image, so its trust and authors are accepted as they are.
    fn is_person(self) -> bool {
        self.actor.kind == ActorKind::Human
    }

    /// The most trust that a text can have: its trust in the space (`there`), otherwise what the caller can give.
    fn most(self, there: Option<Trust>) -> Trust {
        match self.is_person() {
            true => Trust::Own,
            false => there.unwrap_or(Trust::most_of(self.actor.kind)),
        }
    }

    fn name(self) -> Arc<str> {
        Arc::from(&*self.actor.principal)
    }

    fn is(self, name: &str) -> bool {
        self.actor.principal == name
    }
}

/// A fork keeps the authors of the source board. A fork command only names that board; the process that decides the
/// command reads the image from the store.
///
/// Roles that may create a board may also review, choose and refuse learnings, so all verdicts except approvals stay.
impl Image for BoardImage {
    type State = BoardState;

    fn limit(&mut self, _: &BoardState, caller: ImageCaller<'_>) {
        let most = caller.most(None);
        for task in &mut self.tasks {
            let said = task.result.as_ref().and_then(|result| result.trust);
            if at_most(said, most) != said
                && let Some(result) = &mut Arc::make_mut(task).result
            {
                Arc::make_mut(result).trust = at_most(said, most);
            }
        }
        for decision in self.decisions.iter_mut().filter(|decision| decision.trust > most) {
            Arc::make_mut(decision).trust = most;
        }
        for discovery in self.discoveries.iter_mut().filter(|discovery| discovery.trust > most) {
            Arc::make_mut(discovery).trust = most;
        }
        for artifact in self.artifacts.iter_mut().filter(|artifact| artifact.trust > most) {
            Arc::make_mut(artifact).trust = most;
        }
        if !BoardAction::Approve.is_allowed_to(caller.actor.role) {
            self.approvals.clear();
            for decision in self.decisions.iter_mut().filter(|decision| decision.verdict.is_some()) {
                let decision = Arc::make_mut(decision);
                // Copying must not revive a rejected decision: it needs a new approval.
                decision.needs_approval |= decision.verdict == Some(ApprovalVerdict::Rejected);
                decision.verdict = None;
            }
        }
    }
}

impl Image for CoreImage {
    type State = CoreState;

    fn limit(&mut self, core: &CoreState, caller: ImageCaller<'_>) {
        let space = caller.space.and_then(SpaceId::as_core);
        let may_vouch = caller.is_person() && CoreAction::Vouch.is_allowed_to(caller.actor, space.as_ref());
        for entry in &mut self.entries {
            let there = core.saying(&entry.content).and_then(|id| core.entries().get(&id)).map(|entry| &**entry);
            if !caller.is_person() {
                let is_there = |origin: &Provenance| there.is_some_and(|it| it.has_origin(origin));
                for origin in entry.provenance.iter_mut().filter(|origin| !is_there(origin)) {
                    limit_origin(origin, there.map(CoreEntry::trust), caller);
                }
                if let Some(mark) = &mut entry.forgotten
                    && there.and_then(|it| it.forgotten.as_ref()) != Some(mark)
                {
                    mark.by = caller.name();
                }
            }
            if !may_vouch && !there.is_some_and(|it| it.vouched == entry.vouched && it.trust() <= entry.trust()) {
                entry.vouched = None;
            }
        }
    }
}

/// An origin that the core does not know counts as the caller's claim, as if the caller had added the entry.
fn limit_origin(origin: &mut Provenance, there: Option<Trust>, caller: ImageCaller<'_>) {
    let most = caller.most(None);
    origin.trust = origin.trust.min(there.map_or(most, |there| there.min(most)));
    origin.promoted_by = (!caller.is(&origin.author)).then(|| caller.name());
    // Only a promotion may set this.
    origin.board_rev = None;
}

/// The writer of an entry may name another author, so authors of entries stay. The author of a note is always its
/// writer.
impl Image for AgentImage {
    type State = AgentState;

    fn limit(&mut self, memory: &AgentState, caller: ImageCaller<'_>) {
        for scope in &mut self.scopes {
            let there = memory.scope(scope.id);
            for entry in &mut scope.entries {
                let same = there.and_then(|scope| scope.entries.get(&entry.key));
                let same = same.filter(|same| same.value == entry.entry.value);
                entry.entry.trust = at_most(entry.entry.trust, caller.most(same.map(|same| same.trust())));
            }
            for note in &mut scope.notes {
                let same = there.and_then(|scope| scope.notes.get(&note.id)).filter(|same| same.text == note.text);
                limit_note(note, same, caller);
            }
        }
    }
}

/// The author of an unknown note becomes the caller, because the author that it names is only the caller's claim.
pub(crate) fn limit_note(note: &mut Note, same: Option<&Note>, caller: ImageCaller<'_>) {
    note.trust = at_most(note.trust, caller.most(same.map(Note::trust)));
    if !caller.is_person() && same.is_none_or(|same| same.author != note.author) {
        note.author = caller.name();
    }
}

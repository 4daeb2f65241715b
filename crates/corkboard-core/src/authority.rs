//! What an image may claim.
//!
//! An image is a whole space as plain data: a fork begins with one, and an agent's memory or a memory core is replaced by
//! one. It shows approvals, authors and trust, and its caller may have made them up. So every image passes [`admitted`],
//! which leaves it no more of these than the caller could have given by commands.

use alloc::sync::Arc;

use crate::agent::{AgentImage, AgentState};
use crate::board::{ApprovalVerdict, BoardAction, BoardImage, BoardState};
use crate::knowledge::{CoreAction, CoreEntry, CoreImage, CoreState, Provenance, Trust};
use crate::{Actor, ActorKind, Context, Note, SpaceId};

/// A space as plain data.
pub(crate) trait Image: Sized {
    /// What the space holds before it takes the image.
    type State;

    /// Takes away what the caller could not have given. What the space holds already in the same words stays as it is there.
    fn limit(&mut self, state: &Self::State, caller: ImageCaller<'_>);
}

/// The image with no more trust, approval and authorship than the caller could have given. Every image that a command
/// brings into a space passes here.
pub(crate) fn admitted<I: Image>(mut image: I, state: &I::State, context: &Context<'_>) -> I {
    image.limit(state, ImageCaller { space: context.space, ..ImageCaller::new(context.actor) });
    image
}

/// What was said of a text's trust, but at most this. A text of which nothing was said counts as an agent's.
pub(crate) fn at_most(said: Option<Trust>, most: Trust) -> Option<Trust> {
    if said.unwrap_or_default() > most { Some(most) } else { said }
}

/// The actor who brings an image.
#[derive(Clone, Copy)]
pub(crate) struct ImageCaller<'a> {
    actor: &'a Actor,
    space: Option<&'a SpaceId>,
}

impl<'a> ImageCaller<'a> {
    pub(crate) fn new(actor: &'a Actor) -> Self {
        Self { actor, space: None }
    }

    /// A person vouches for what they bring: its trust and its authors are taken as they are.
    fn is_person(self) -> bool {
        self.actor.kind == ActorKind::Human
    }

    /// The most trust that a text can have: what the space gives it already, otherwise what the caller can give.
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

/// A fork. Its authors are those of the board that it is made from: a fork command only names that board, and the process that
/// decides the command reads the image from the store.
///
/// Those who may make a board may review, choose and refuse learnings too, so all verdicts but approvals stay.
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
                // What was rejected does not hold again only because it was copied: somebody has to approve it first.
                decision.needs_approval |= decision.verdict == Some(ApprovalVerdict::Rejected);
                decision.verdict = None;
            }
        }
    }
}

impl Image for CoreImage {
    type State = CoreState;

    fn limit(&mut self, core: &CoreState, caller: ImageCaller<'_>) {
        let owner = caller.space.and_then(SpaceId::as_core).and_then(|core| core.agent());
        let may_vouch = caller.is_person() && CoreAction::Vouch.is_allowed_to(caller.actor, owner.as_ref());
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

/// An origin that the core does not know is the caller's word, as if they had added the entry.
fn limit_origin(origin: &mut Provenance, there: Option<Trust>, caller: ImageCaller<'_>) {
    let most = caller.most(None);
    origin.trust = origin.trust.min(there.map_or(most, |there| there.min(most)));
    origin.promoted_by = (!caller.is(&origin.author)).then(|| caller.name());
    // Only a promotion brings this.
    origin.board_rev = None;
}

/// An agent's memory. The writer of an entry may name somebody else as its author, so authors of entries stay. A note is always
/// its writer's.
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

/// A note that is not known here is the caller's. The author that it names is only the caller's word.
pub(crate) fn limit_note(note: &mut Note, same: Option<&Note>, caller: ImageCaller<'_>) {
    note.trust = at_most(note.trust, caller.most(same.map(Note::trust)));
    if !caller.is_person() && same.is_none_or(|same| same.author != note.author) {
        note.author = caller.name();
    }
}

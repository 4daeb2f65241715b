//! A memory core: long-term knowledge. Each entry has its origins and how far it can be trusted.

mod apply;
mod command;
mod decide;
mod entry;
mod event;
mod forget;
mod image;
mod permissions;
mod provenance;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::{OrdMap, OrdSet};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::forget::VisitText;
use crate::space::{CommandEffects, Space, Stamp};
use crate::{Context, FormatError, Refusal, SpaceKind, Usage};

pub use command::{Added, AddedHow, CoreCommand, CoreReply};
pub use entry::{CoreEdit, CoreEntry, CoreEntryData, CoreEntryId, Expiry, ForgottenMark, NewCoreEntry, Vouched};
pub use event::CoreEvent;
pub use forget::CoreForget;
pub use image::CoreImage;
pub use permissions::CoreAction;
pub use provenance::{Provenance, Trust, Withdrawal};

/// A memory core at one revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "CoreImage", into = "CoreImage")]
pub struct CoreState {
    entries: OrdMap<CoreEntryId, Arc<CoreEntry>>,
    /// The entry of each normalized text. No two entries have the same.
    by_text: OrdMap<Arc<str>, CoreEntryId>,
    /// All entries that expire, soonest first.
    expiries: OrdSet<(Timestamp, CoreEntryId)>,
    /// The last assigned ID.
    last: CoreEntryId,
    forgotten: u64,
    bytes: u64,
}

impl CoreState {
    /// All entries by ID, including forgotten and expired ones.
    pub fn entries(&self) -> &OrdMap<CoreEntryId, Arc<CoreEntry>> {
        &self.entries
    }

    /// The entry with this ID, forgotten or not, unless it has expired.
    pub fn get(&self, id: CoreEntryId, now: Timestamp) -> Option<&Arc<CoreEntry>> {
        self.entries.get(&id).filter(|entry| !entry.is_expired(now))
    }

    /// The numbers of remembered and of forgotten entries, without expired ones.
    pub fn counts(&self, now: Timestamp) -> (u64, u64) {
        let expired = self.expiries.iter().take_while(|(at, _)| *at <= now);
        let expired = expired.filter_map(|(_, id)| self.entries.get(id));
        let (mut all, mut forgotten) = (self.entries.len() as u64, self.forgotten);
        for entry in expired {
            all -= 1;
            forgotten -= u64::from(entry.forgotten.is_some());
        }
        (all - forgotten, forgotten)
    }

    /// The last assigned ID.
    pub fn last(&self) -> CoreEntryId {
        self.last
    }
}

impl Space for CoreState {
    const KIND: SpaceKind = SpaceKind::Core;
    type Command = CoreCommand;
    type Event = CoreEvent;
    type Reply = CoreReply;
    type Forget = CoreForget;

    fn expire(&self, now: Timestamp) -> Vec<CoreEvent> {
        let due = self.expiries.iter().take_while(|(at, _)| *at <= now);
        due.map(|(_, id)| CoreEvent::EntryExpired { id: *id }).collect()
    }

    fn decide(
        &self,
        command: &CoreCommand,
        context: &Context<'_>,
    ) -> Result<CommandEffects<CoreEvent, CoreReply>, Refusal> {
        decide::decide(self, command, context)
    }

    /// Withdrawing a learning must add a revision even if there is nothing to withdraw, so that a late promotion of the
    /// learning is refused. Clearing long-term memory is the second half of clearing an agent's memory, and must not
    /// run again if the first half is a repeated request.
    fn is_always_remembered(command: &CoreCommand) -> bool {
        matches!(
            command,
            CoreCommand::Withdraw { of: Withdrawal::Item { .. } | Withdrawal::Promotion { .. } } | CoreCommand::Clear
        )
    }

    fn apply(&mut self, event: &CoreEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        apply::apply(self, event, stamp)
    }

    fn redact(event: &mut CoreEvent, forget: &mut CoreForget) -> bool {
        forget::redact_event(event, &mut |id, text| forget.is_meant(id, text))
    }

    fn each_text_of(event: &CoreEvent, visit: &mut VisitText<'_>) {
        forget::redact_event(&mut event.clone(), &mut |id, text| {
            visit(&id, text);
            false
        });
    }

    fn each_text(&self, visit: &mut VisitText<'_>) {
        for entry in self.entries.values() {
            forget::each_text(entry, |text| visit(&entry.id, text));
        }
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.expiries.get_min().map(|(at, _)| *at)
    }

    fn summary(&self, _changed_at: Timestamp) -> String {
        let remembered = self.entries.len() as u64 - self.forgotten;
        format!(r#"{{"entries":{remembered},"forgotten":{},"bytes":{}}}"#, self.forgotten, self.bytes)
    }

    fn usage(&self) -> Usage {
        Usage { entries: self.entries.len() as u64, scopes: 0, bytes: self.bytes }
    }
}

//! Archives, discards and purges boards.

use core::time::Duration;

use super::super::{BoardEvent, BoardReply, BoardStatus, Lease, RetainFor};
use super::{BoardDecider, ReplyResult};
use crate::Refusal;

impl BoardDecider<'_> {
    pub(super) fn check_not_purged(&self) -> Result<(), Refusal> {
        match self.state.info() {
            Some(info) if info.status == BoardStatus::Purged => Err(Refusal::BoardPurged),
            _ => Ok(()),
        }
    }

    fn check_ended(&self) -> Result<(), Refusal> {
        match self.info()?.status {
            BoardStatus::Active => Err(Refusal::BoardActive),
            BoardStatus::Purged => Err(Refusal::BoardPurged),
            BoardStatus::Completed | BoardStatus::Cancelled | BoardStatus::Archived => Ok(()),
        }
    }

    pub(super) fn archive(&mut self, retain: RetainFor) -> ReplyResult {
        self.check_ended()?;
        let info = self.info()?;
        let retain_until = match (retain, info.retain_until) {
            // An earlier retention holds until a caller sets another.
            (RetainFor::Unsaid { .. }, Some(until)) => until,
            (RetainFor::Unsaid { ms } | RetainFor::Said { ms }, _) => {
                Lease::deadline_from(self.context.now, Duration::from_millis(ms))
            }
        };
        if info.status != BoardStatus::Archived || info.retain_until != Some(retain_until) {
            self.push(BoardEvent::Archived { retain_until });
        }
        Ok(BoardReply::Retained { until: retain_until })
    }

    pub(super) fn discard(&mut self, reason: Option<&str>) -> ReplyResult {
        self.check_comment(reason)?;
        self.check_ended()?;
        let (info, now) = (self.info()?, self.context.now);
        let is_free = info.status == BoardStatus::Archived && info.waived.is_some();
        match info.retain_until.filter(|until| is_free && *until <= now) {
            Some(until) => Ok(BoardReply::Retained { until }),
            None => {
                self.push(BoardEvent::Discarded { reason: reason.map(Into::into) });
                Ok(BoardReply::Retained { until: now })
            }
        }
    }

    /// Purging again succeeds, so that a caller can finish deleting the space.
    pub(super) fn purge(&mut self) -> ReplyResult {
        let lifetime = self.state.lifetime(None).ok_or(Refusal::NoBoard)?;
        let by = lifetime.kept_by(self.context.now);
        if !by.is_empty() {
            return Err(Refusal::BoardKept { by });
        }
        if lifetime.status != BoardStatus::Purged {
            self.push(BoardEvent::Purged);
        }
        Ok(BoardReply::Done)
    }
}

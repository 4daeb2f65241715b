//! Forgets texts permanently.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::super::texts::redact_image;
use super::super::{BoardEvent, BoardForget, BoardImage, BoardReply, LearningStatus, RecordId};
use super::{BoardDecider, ReplyResult, not_on_board};
use crate::forget::{FORGOTTEN, check_forgotten_text};

impl BoardDecider<'_> {
    pub(super) fn forget(&mut self, forget: &BoardForget) -> ReplyResult {
        self.info()?;
        match forget {
            BoardForget::Text { text } => check_forgotten_text(text)?,
            BoardForget::Record { id } if self.state.has_record(id) => {}
            BoardForget::Record { id } => return Err(not_on_board("record", id)),
        }
        let mut found: BTreeMap<RecordId, Vec<String>> = BTreeMap::new();
        redact_image(&mut BoardImage::from(self.state.clone()), &mut |id, field, text| {
            if forget.is_meant(id, text) {
                found.entry(id.clone()).or_default().push(field.to_string());
            }
            false
        });
        let records = found.len() as u64;
        for (id, fields) in found {
            // A promotion that is under way would carry the text into its core. The reason must not be redacted itself.
            if let RecordId::Learning(learning) = &id
                && let LearningStatus::Begun(promotion) = self.state.learning_status(learning)
                && promotion.refused.is_none()
            {
                let reason = FORGOTTEN.into();
                self.push(BoardEvent::PromotionRefused { learning: learning.clone(), reason });
            }
            self.push(BoardEvent::RecordForgotten { id, fields });
        }
        Ok(BoardReply::Forgotten { records })
    }
}

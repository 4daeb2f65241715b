//! Checks texts, lists and numbers.

use alloc::string::String;
use core::time::Duration;

use super::super::{CoreRef, Lease, TaskId};
use super::BoardDecider;
use crate::id::is_hidden;
use crate::{LimitName, Limits, Refusal};

impl BoardDecider<'_> {
    /// A line that must not be blank: a name, a title, a path.
    pub(super) fn check_line(&self, what: &'static str, text: &str) -> Result<(), Refusal> {
        if text.trim().is_empty() {
            return Err(Refusal::Blank { what: what.into() });
        }
        if let Some((at, character)) = text.char_indices().find(|(_, character)| character.is_control()) {
            return Err(Refusal::ControlCharacter { what: what.into(), character, at });
        }
        Limits::check(LimitName::BoardLineBytes, text.len() as u64, self.limits().board_line_bytes)
    }

    /// A text that must not be blank.
    pub(super) fn check_text(&self, what: &'static str, text: &str) -> Result<(), Refusal> {
        if text.trim().is_empty() {
            return Err(Refusal::Blank { what: what.into() });
        }
        self.check_length(text)
    }

    /// A text that may be empty.
    pub(super) fn check_length(&self, text: &str) -> Result<(), Refusal> {
        Limits::check(LimitName::BoardTextBytes, text.len() as u64, self.limits().board_text_bytes)
    }

    /// A text that may be missing.
    pub(super) fn check_comment(&self, text: Option<&str>) -> Result<(), Refusal> {
        text.map_or(Ok(()), |text| self.check_length(text))
    }

    /// A text that must contain a visible character.
    pub(super) fn check_says(&self, what: &'static str, text: &str) -> Result<(), Refusal> {
        let is_seen = |character: char| !character.is_whitespace() && !is_hidden(character);
        if text.chars().any(is_seen) { Ok(()) } else { Err(Refusal::Blank { what: what.into() }) }
    }

    /// A list of short texts that must not be blank.
    pub(super) fn check_list(&self, what: &'static str, texts: &[String]) -> Result<(), Refusal> {
        self.check_count(texts.len())?;
        for text in texts {
            if text.trim().is_empty() {
                return Err(Refusal::Blank { what: what.into() });
            }
            Limits::check(LimitName::BoardLineBytes, text.len() as u64, self.limits().board_line_bytes)?;
        }
        Ok(())
    }

    pub(super) fn check_names(&self, what: &'static str, names: &[String]) -> Result<(), Refusal> {
        self.check_count(names.len())?;
        names.iter().try_for_each(|name| self.check_line(what, name))
    }

    /// Entries that a board draws on must be in cores that it names. A task pattern may come from any core.
    pub(super) fn check_drawn(
        &self,
        drawn: &[CoreRef],
        pattern: Option<&CoreRef>,
        cores: &[String],
    ) -> Result<(), Refusal> {
        self.check_count(drawn.len())?;
        match drawn.iter().find(|drawn| !cores.contains(&drawn.core)) {
            Some(other) => Err(super::not_on_board("memory core", &other.core)),
            None => pattern.map_or(Ok(()), |pattern| self.check_line("memory core", &pattern.core)),
        }
    }

    pub(super) fn check_count(&self, lines: usize) -> Result<(), Refusal> {
        Limits::check(LimitName::LinesPerList, lines as u64, self.limits().lines_per_list)
    }

    pub(super) fn check_tasks(&self, tasks: &[TaskId]) -> Result<(), Refusal> {
        self.check_count(tasks.len())?;
        tasks.iter().try_for_each(|task| self.task(*task).map(|_| ()))
    }

    /// Nothing, or a SHA-256.
    pub(super) fn check_checksum(&self, text: Option<&str>) -> Result<(), Refusal> {
        let is_sha256 = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match text.filter(|text| !is_sha256(text)) {
            Some(text) => Err(Refusal::Checksum { text: text.chars().take(80).collect() }),
            None => Ok(()),
        }
    }

    pub(super) fn check_inline(&self, content: Option<&str>) -> Result<(), Refusal> {
        Limits::check(LimitName::InlineBytes, content.map_or(0, str::len) as u64, self.limits().inline_bytes)
    }

    /// Cuts a lease to whole milliseconds, the precision of its JSON form, and checks it.
    pub(super) fn check_lease(&self, lease: Duration) -> Result<Duration, Refusal> {
        let lease = Duration::new(lease.as_secs(), lease.subsec_millis() * 1_000_000);
        match (Lease::LEAST..=Lease::MOST).contains(&lease) {
            true => Ok(lease),
            false => Err(Refusal::LeaseLength { lease_s: lease.as_secs_f64() }),
        }
    }
}

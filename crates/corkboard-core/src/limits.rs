//! All limits, in one place.

use core::ops::RangeInclusive;

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::id::check_tag;
use crate::text::enum_text;

/// The maximum of every limit. Callers are warned at [`Limits::WARN_PERCENT`] of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub agent_id_bytes: u64,
    pub key_bytes: u64,
    pub scope_name_bytes: u64,
    pub conversation_id_bytes: u64,
    /// Conversations of one agent that have a scratchpad.
    pub conversations_per_agent: u64,
    /// Bytes of an entry: its value and its metadata.
    pub entry_bytes: u64,
    /// Nesting depth of arrays and objects in a value or in custom data. A value above [`Limits::MOST_JSON_DEPTH`] has
    /// the effect of that constant.
    pub json_depth: u64,
    /// Bytes of the name of a value's type.
    pub type_name_bytes: u64,
    pub tags_per_entry: u64,
    pub tag_bytes: u64,
    pub note_bytes: u64,
    /// Notes of one agent, in all scopes.
    pub notes_per_agent: u64,
    /// Entries of one agent, in all scopes.
    pub entries_per_agent: u64,
    /// Scopes of one agent besides its root.
    pub scopes_per_agent: u64,
    /// Bytes of one command, except bulk commands (restore, merge, batch).
    pub command_bytes: u64,
    pub state_bytes: u64,
    pub idempotency_key_bytes: u64,
    /// Idempotency keys that a space remembers. Above that, the principal with the most keys loses its oldest one.
    pub idempotency_keys: u64,
    pub idempotency_hours: u64,
    /// Bytes of a search query.
    pub query_bytes: u64,
    pub notebook_name_bytes: u64,
    pub notebooks_per_agent: u64,
    pub progress_bullets: u64,
    pub learnings_per_notebook: u64,
    pub snippets_per_notebook: u64,
    pub archived_per_notebook: u64,
    /// Bytes of a line in a notebook: a bullet, an insight, a reason, a label.
    pub notebook_line_bytes: u64,
    pub snippet_bytes: u64,
    pub board_id_bytes: u64,
    /// Bytes of a line on a board: a name, a title, a constraint, an alternative, a next step.
    pub board_line_bytes: u64,
    /// Bytes of a text on a board: a goal, a description, a summary, a rationale, a reason.
    pub board_text_bytes: u64,
    /// Lines in one list on a board: constraints, alternatives, next steps, affected tasks.
    pub lines_per_list: u64,
    pub tasks_per_board: u64,
    pub dependencies_per_board: u64,
    /// Decisions, discoveries, artifacts and choices of one board, of each kind.
    pub records_per_board: u64,
    /// Bytes of an artifact whose content is stored on the board.
    pub inline_bytes: u64,
    pub core_id_bytes: u64,
    pub core_text_bytes: u64,
    /// Entries of one memory core, including forgotten ones.
    pub entries_per_core: u64,
    /// Entries that one command adds to a memory core.
    pub entries_per_addition: u64,
    /// Origins of one entry in a memory core. Also the number of editors of one origin.
    pub origins_per_entry: u64,
    pub tokens_per_store: u64,
}

impl Limits {
    /// The share of a limit at which a caller is warned.
    pub const WARN_PERCENT: u64 = 80;

    /// The highest effective [`Limits::json_depth`]. Most JSON parsers read up to 128 levels, and a log record, a
    /// snapshot or an HTTP answer adds up to 20 levels around a value.
    pub const MOST_JSON_DEPTH: u64 = 100;

    /// Refuses JSON that is nested too deeply.
    pub(crate) fn check_json_depth(&self, depth: u64) -> Result<(), Refusal> {
        Self::check(LimitName::JsonDepth, depth, self.json_depth.min(Self::MOST_JSON_DEPTH))
    }

    pub(crate) fn check_importance(importance: f32) -> Result<(), Refusal> {
        if (0.0..=1.0).contains(&importance) { Ok(()) } else { Err(Refusal::Importance { importance }) }
    }

    pub(crate) fn check_tags<Tag: AsRef<str>>(&self, tags: &[Tag]) -> Result<(), Refusal> {
        Self::check(LimitName::TagsPerEntry, tags.len() as u64, self.tags_per_entry)?;
        tags.iter().try_for_each(|tag| check_tag(tag.as_ref(), self))
    }

    /// Refuses when `used` is over `allowed`.
    pub fn check(limit: LimitName, used: u64, allowed: u64) -> Result<(), Refusal> {
        if used > allowed { Err(Refusal::Limit { limit, used, allowed }) } else { Ok(()) }
    }

    /// Refuses a number outside its range.
    pub fn check_range(name: &'static str, value: u64, range: RangeInclusive<u64>) -> Result<(), Refusal> {
        let (minimum, maximum) = (*range.start(), *range.end());
        match range.contains(&value) {
            true => Ok(()),
            false => Err(Refusal::OutOfRange { name: name.into(), value, minimum, maximum }),
        }
    }

    /// Checks all sizes that grow, and warns if one is nearly at its limit. Each item is a limit, its use before and
    /// after, and the maximum. A size that does not grow is never refused, even if it is above a lowered limit.
    pub(crate) fn check_growth(
        sizes: impl IntoIterator<Item = (LimitName, u64, u64, u64)>,
    ) -> Result<Vec<LimitWarning>, Refusal> {
        let mut warnings = Vec::new();
        for (limit, before, after, allowed) in sizes.into_iter().filter(|(_, before, after, _)| after > before) {
            Self::check(limit, after, allowed)?;
            warnings.extend(Self::warn(limit, before, after, allowed));
        }
        Ok(warnings)
    }

    /// A warning if the change crosses the warning level.
    pub fn warn(limit: LimitName, before: u64, after: u64, allowed: u64) -> Option<LimitWarning> {
        let level = allowed.saturating_mul(Self::WARN_PERCENT) / 100;
        (before < level && after >= level).then_some(LimitWarning { limit, used: after, allowed })
    }
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            agent_id_bytes: 256,
            key_bytes: 512,
            scope_name_bytes: 512,
            conversation_id_bytes: 512,
            conversations_per_agent: 10_000,
            entry_bytes: MIB,
            json_depth: 64,
            type_name_bytes: 4096,
            tags_per_entry: 64,
            tag_bytes: 128,
            note_bytes: 64 * 1024,
            notes_per_agent: 100_000,
            entries_per_agent: 10_000,
            scopes_per_agent: 100,
            command_bytes: 4 * MIB,
            state_bytes: 64 * MIB,
            idempotency_key_bytes: 256,
            idempotency_keys: 10_000,
            idempotency_hours: 24,
            query_bytes: 16 * 1024,
            notebook_name_bytes: 256,
            notebooks_per_agent: 100,
            progress_bullets: 200,
            learnings_per_notebook: 500,
            snippets_per_notebook: 200,
            archived_per_notebook: 10_000,
            notebook_line_bytes: 4096,
            snippet_bytes: 64 * 1024,
            board_id_bytes: 256,
            board_line_bytes: 4096,
            board_text_bytes: 64 * 1024,
            lines_per_list: 1000,
            tasks_per_board: 100_000,
            dependencies_per_board: 1_000_000,
            records_per_board: 100_000,
            inline_bytes: 64 * 1024,
            core_id_bytes: 256,
            core_text_bytes: 64 * 1024,
            entries_per_core: 200_000,
            entries_per_addition: 10_000,
            origins_per_entry: 1000,
            tokens_per_store: 10_000,
        }
    }
}

/// The names of limits, as errors show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    AgentIdBytes,
    KeyBytes,
    ScopeNameBytes,
    ConversationIdBytes,
    ConversationsPerAgent,
    EntryBytes,
    TypeNameBytes,
    #[serde(alias = "custom_depth")]
    JsonDepth,
    TagsPerEntry,
    TagBytes,
    NoteBytes,
    NotesPerAgent,
    EntriesPerAgent,
    ScopesPerAgent,
    CommandBytes,
    StateBytes,
    IdempotencyKeyBytes,
    QueryBytes,
    NotebookNameBytes,
    NotebooksPerAgent,
    ProgressBullets,
    LearningsPerNotebook,
    SnippetsPerNotebook,
    ArchivedPerNotebook,
    NotebookLineBytes,
    SnippetBytes,
    BoardIdBytes,
    BoardLineBytes,
    BoardTextBytes,
    LinesPerList,
    TasksPerBoard,
    DependenciesPerBoard,
    RecordsPerBoard,
    InlineBytes,
    CoreIdBytes,
    CoreTextBytes,
    EntriesPerCore,
    EntriesPerAddition,
    OriginsPerEntry,
    TokensPerStore,
}

enum_text!(LimitName {
    AgentIdBytes => "agent ID bytes",
    KeyBytes => "key bytes",
    ScopeNameBytes => "scope name bytes",
    ConversationIdBytes => "conversation ID bytes",
    ConversationsPerAgent => "conversations per agent",
    EntryBytes => "entry bytes",
    TypeNameBytes => "type name bytes",
    JsonDepth => "JSON nesting depth",
    TagsPerEntry => "tags per entry",
    TagBytes => "tag bytes",
    NoteBytes => "note bytes",
    NotesPerAgent => "notes per agent",
    EntriesPerAgent => "entries per agent",
    ScopesPerAgent => "scopes per agent",
    CommandBytes => "command bytes",
    StateBytes => "state bytes",
    IdempotencyKeyBytes => "idempotency key bytes",
    QueryBytes => "query bytes",
    NotebookNameBytes => "notebook name bytes",
    NotebooksPerAgent => "notebooks per agent",
    ProgressBullets => "progress bullets",
    LearningsPerNotebook => "learnings per notebook",
    SnippetsPerNotebook => "snippets per notebook",
    ArchivedPerNotebook => "archived items per notebook",
    NotebookLineBytes => "notebook line bytes",
    SnippetBytes => "snippet bytes",
    BoardIdBytes => "board ID bytes",
    BoardLineBytes => "board line bytes",
    BoardTextBytes => "board text bytes",
    LinesPerList => "lines per list",
    TasksPerBoard => "tasks per board",
    DependenciesPerBoard => "dependencies per board",
    RecordsPerBoard => "records per board",
    InlineBytes => "inline bytes",
    CoreIdBytes => "core name bytes",
    CoreTextBytes => "core text bytes",
    EntriesPerCore => "entries per core",
    EntriesPerAddition => "entries per addition",
    OriginsPerEntry => "origins per entry",
    TokensPerStore => "tokens per store",
});

/// A limit is nearly reached. The change itself was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitWarning {
    pub limit: LimitName,
    /// The current use.
    pub used: u64,
    /// The maximum.
    pub allowed: u64,
}

impl fmt::Display for LimitWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} used", self.limit, self.used, self.allowed)
    }
}

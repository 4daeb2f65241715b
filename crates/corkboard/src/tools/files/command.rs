//! What a model sends, and what it is told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command of the memory tool, as a model sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryCommand {
    /// Shows a file with line numbers, or what a directory holds.
    View {
        /// The file or directory, such as /memories or /memories/notes.md.
        path: String,
        /// The first and the last line to show, from 1; -1 is the last line of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view_range: Option<[i64; 2]>,
    },
    /// Creates a file. Directories come with the files in them.
    Create {
        /// The file to create.
        path: String,
        /// What it shall hold.
        file_text: String,
    },
    /// Replaces a text that occurs once in a file.
    StrReplace {
        /// The file.
        path: String,
        /// The text to replace, exactly as it stands in the file.
        old_str: String,
        /// The text to put in its place.
        new_str: String,
    },
    /// Inserts lines into a file.
    Insert {
        /// The file.
        path: String,
        /// The line to insert after; 0 for the beginning.
        insert_line: i64,
        /// The text to insert.
        insert_text: String,
    },
    /// Deletes a file, or a directory with all in it.
    Delete {
        /// The file or directory.
        path: String,
    },
    /// Renames or moves a file or a directory.
    Rename {
        /// The file or directory as it is called now.
        old_path: String,
        /// What it shall be called. Nothing may be there.
        new_path: String,
    },
}

/// What a model is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileAnswer {
    /// The result, or what went wrong and what to do about it.
    pub text: String,
    /// Whether something went wrong. Nothing was changed then.
    pub is_error: bool,
}

//! Commands and answers of the memory tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command of the memory tool, as a model sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryCommand {
    /// Shows a file with line numbers, or lists a directory.
    View {
        /// The file or directory, such as /memories or /memories/notes.md.
        path: String,
        /// The first and the last line to show, from 1; -1 is the last line of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view_range: Option<[i64; 2]>,
    },
    /// Creates a file, and the directories in its path.
    Create {
        /// The file to create.
        path: String,
        /// The file's text.
        file_text: String,
    },
    /// Replaces a text that occurs exactly once in a file.
    StrReplace {
        /// The file.
        path: String,
        /// The text to replace, exactly as in the file.
        old_str: String,
        /// The new text.
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
    /// Deletes a file, or a directory with everything in it.
    Delete {
        /// The file or directory.
        path: String,
    },
    /// Renames or moves a file or a directory.
    Rename {
        /// The current path of the file or directory.
        old_path: String,
        /// The new path. It must not exist yet.
        new_path: String,
    },
}

/// The answer of the memory tool to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileAnswer {
    /// The result, or the error and what to do about it.
    pub text: String,
    /// Whether the command failed. A failed command changes nothing.
    pub is_error: bool,
}

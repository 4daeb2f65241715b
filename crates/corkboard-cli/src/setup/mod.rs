//! Adds Corkboard to the settings of an MCP client, and removes it again.
//!
//! `clients.rs` is the table of clients, `entry.rs` makes what is added, `format/` has an editor for each file format, and
//! `file.rs` changes one file. The backup next to a file is the file without Corkboard. If adding Corkboard to the backup
//! gives the current file, removing restores the backup byte for byte. Otherwise it removes only Corkboard's entries.

mod clients;
mod diff;
mod entry;
mod file;
mod format;

pub(crate) use clients::{CLIENTS, Client, Place, Places, Scope};
pub(crate) use entry::Launch;
pub(crate) use file::{FileChange, SettingsFile};

/// The server's name in every client.
const SERVER: &str = "cork";

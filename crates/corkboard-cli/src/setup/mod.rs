//! Adds Corkboard to the settings of an MCP client, and removes it again.

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

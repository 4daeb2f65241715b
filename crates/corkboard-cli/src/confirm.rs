//! Confirmation before irreversible actions.

use std::io::{BufRead, IsTerminal};

use crate::error::{CliError, say};

/// Asks for confirmation unless `--yes` was given. Fails if stdin is not a terminal.
pub(crate) fn confirm(consent: Consent, action: &str) -> Result<(), CliError> {
    if consent == Consent::Given {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("this would {action}; cannot ask for confirmation, because stdin is not a terminal");
        return Err(CliError::invalid("not_confirmed", message).hint("confirm with --yes"));
    }
    say(&format!("This will {action}. Continue? [y/N]"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim().to_ascii_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Ok(()),
        _ => Err(CliError::invalid("not_confirmed", "not confirmed; nothing was changed")),
    }
}

/// Whether the user has agreed beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    ToBeAsked,
}

impl Consent {
    pub(crate) fn from_flag(yes: bool) -> Self {
        if yes { Self::Given } else { Self::ToBeAsked }
    }
}

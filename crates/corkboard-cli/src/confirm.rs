//! Asking before something that cannot be undone.

use std::io::{BufRead, IsTerminal};

use crate::error::{CliError, say};

/// Asks before something that cannot be undone, unless `--yes` said so already. Without a terminal there is nobody to ask.
pub(crate) fn confirm(consent: Consent, action: &str) -> Result<(), CliError> {
    if consent == Consent::Given {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("this would {action}, and there is no terminal to ask at");
        return Err(CliError::invalid("not_confirmed", message).hint("if you mean it, add --yes"));
    }
    say(&format!("This will {action}. Go on? [y/N]"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim().to_ascii_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Ok(()),
        _ => Err(CliError::invalid("not_confirmed", "nothing was changed")),
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

use clap::Args;
use corkboard::tokens::TokenId;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;

/// Revoke tokens
///
/// Takes effect at once on the server that you name, and within a second on other servers with the same store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork token revoke K-1
  cork token revoke K-1 K-2")]
pub(crate) struct Revoke {
    /// Token IDs, as shown by `cork token list`
    #[arg(value_name = "TOKEN", required = true)]
    tokens: Vec<TokenId>,
}

impl Revoke {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let tokens = session.corkboard.tokens();
        for token in &self.tokens {
            tokens.revoke(*token).await?;
        }
        session.output.answer(&json_object! { revoked: &self.tokens }, || {
            let names: Vec<_> = self.tokens.iter().map(ToString::to_string).collect();
            format!("revoked {}", names.join(", "))
        })
    }
}

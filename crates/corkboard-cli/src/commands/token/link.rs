use clap::Args;

use crate::args::Global;
use crate::error::CliError;
use crate::output::{Output, json_object};

/// Create a link that signs a browser in
///
/// The browser is signed in as the holder of your token, which must be an admin's. The link works once, within an hour, on
/// the server that you name.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork token link --url http://127.0.0.1:7117
  xdg-open $(CORK_TOKEN=… cork token link --url https://memory.example.org)")]
pub(crate) struct Link {}

impl Link {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let no_server = || {
            CliError::invalid("url", "a sign-in link needs a running server, but none is named")
                .hint("name the server with --url or CORK_URL, and set an admin's token in CORK_TOKEN")
        };
        let link = global.server().ok_or_else(no_server)?.sign_in_link().await?;
        Output::new(global.json).answer(&json_object! { sign_in: &link }, || link.clone())
    }
}

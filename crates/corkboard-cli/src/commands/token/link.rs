use clap::Args;

use crate::args::Global;
use crate::error::CliError;
use crate::output::{Output, json_object};

/// Make a link that signs a browser in
///
/// As the holder of your own token, which must be an admin's. It works once, within an hour, at the server that is asked.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork token link --url http://127.0.0.1:7117
  xdg-open $(CORK_TOKEN=… cork token link --url https://memory.example.org)")]
pub(crate) struct Link {}

impl Link {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let no_server = || {
            CliError::invalid("url", "a link leads to a server that runs, and none is named")
                .hint("name it by --url or CORK_URL, with an admin's token in CORK_TOKEN")
        };
        let link = global.server().ok_or_else(no_server)?.sign_in_link().await?;
        Output::new(global.json).answer(&json_object! { sign_in: &link }, || link.clone())
    }
}

//! `cork token`: access tokens for servers.

mod create;
mod link;
mod list;
mod revoke;

use clap::Subcommand;
use corkboard::tokens::Grants;

use crate::args::Global;
use crate::command_session::Session;
use crate::error::CliError;

/// Create, list and revoke access tokens for a server
///
/// A token sets its holder's name and role, and the agents, boards and memory cores that it can access. Everything else is
/// closed. The store keeps only a hash of the token. docs/http.md in the source repository
/// describes the rules.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork token create --principal ada --role worker --agents ada --boards 'team-*' --expires-at 30d
  cork token list
  cork token revoke K-1
  cork token link --url http://127.0.0.1:7117")]
pub(crate) enum TokenCommand {
    Create(create::Create),
    List(list::List),
    Revoke(revoke::Revoke),
    Link(link::Link),
}

impl TokenCommand {
    pub(crate) async fn run(self, session: &Session, global: &Global) -> Result<(), CliError> {
        match self {
            Self::Create(create) => create.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Revoke(revoke) => revoke.run(session).await,
            Self::Link(link) => link.run(global).await,
        }
    }
}

/// What a token has access to, in words.
fn access(grants: &Grants) -> String {
    if *grants == Grants::everything() {
        return "everything".into();
    }
    let part = |what: &str, names: &[corkboard::tokens::Grant]| match names {
        [] => None,
        names => Some(format!("{what} {}", names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
    };
    let Grants { agents, boards, cores } = grants;
    let parts = [part("agents", agents), part("boards", boards), part("cores", cores)];
    match parts.into_iter().flatten().collect::<Vec<_>>() {
        none if none.is_empty() => "nothing".into(),
        parts => parts.join("; "),
    }
}

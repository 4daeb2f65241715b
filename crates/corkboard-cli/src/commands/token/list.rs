use clap::Args;
use corkboard::{Role, TokenDocument};

use super::access;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, now, one_line, table, time};
use crate::page::PageArguments;

/// List valid tokens
///
/// Secrets are not stored and cannot be shown.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork token list
  cork token list --json | jq -r '.items[] | select(.expires_at == null).id'")]
pub(crate) struct List {
    #[command(flatten)]
    page: PageArguments,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let tokens = session.corkboard.tokens().list().await?;
        let tokens = self.page.of(&tokens, |token| token.id)?.map(|token| TokenDocument::from(&***token));
        session.output.list(&tokens, || match tokens.items.is_empty() {
            true => "no tokens; create one with `cork token create --principal NAME`".into(),
            false => listing(&tokens.items),
        })
    }
}

fn listing(tokens: &[TokenDocument]) -> String {
    let now = now();
    let rows = tokens.iter().map(|token| {
        [
            token.id.to_string(),
            one_line(&token.principal),
            format!("{} ({})", token.role, token.kind.as_str()),
            if token.role == Role::Admin { "everything".into() } else { one_line(&access(&token.grants)) },
            token.expires_at.map_or_else(|| "never".into(), time),
            one_line(&token.label),
            format!("{} by {}", age(token.created_at, now), one_line(&token.created_by)),
        ]
    });
    let header = [
        ("TOKEN", Fit),
        ("FOR", Percent(15)),
        ("ROLE", Fit),
        ("ACCESS", Rest),
        ("EXPIRES", Fit),
        ("LABEL", Percent(15)),
        ("CREATED", Percent(30)),
    ];
    table(header, rows)
}

use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::tokens::{Grant, Grants};
use corkboard::{ActorKind, Role, TokenRequest};
use jiff::Timestamp;
use secrecy::ExposeSecret;

use super::access;
use crate::args::{Global, usual_kind};
use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::output::{json_object, one_line, time};
use crate::value_parsers::{moment_argument, name_argument, one_of, role};

/// Create an access token
///
/// Prints the secret once; it is not stored. A name can end in * to match all names that start with it. Access to an agent
/// includes its own memory core. Admins have access to everything.
///
/// Here --principal and --role describe the token's holder: the name it acts under (required), and its role (default:
/// worker). The command itself runs as you.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork token create --principal ada --agents ada --boards 'team-*' --expires-at 30d
  cork token create --principal hugo --role human --boards '*' --cores '*' --label 'phone'
  cork token create --principal gateway --kind service --role worker --agents '*' --boards '*'
  cork token create --principal root --role admin --json
  export CORK_TOKEN=$(cork token create --principal ada --agents ada)")]
pub(crate) struct Create {
    // Older names of --principal and --role.
    #[arg(long = "for", value_name = "NAME", value_parser = name_argument, hide = true)]
    holder: Option<String>,
    #[arg(long, value_name = "ROLE", value_parser = role(), hide = true)]
    with_role: Option<Role>,

    /// Kind of its holder: agent, human or service [default: human for observers, humans and admins; otherwise agent]
    #[arg(long, value_name = "KIND", value_parser = kind(), hide_possible_values = true)]
    kind: Option<ActorKind>,

    /// Agents whose memory the token can access: NAME,NAME or PREFIX*
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = grant_argument)]
    agents: Vec<String>,

    /// Boards that the token can access
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = grant_argument)]
    boards: Vec<String>,

    /// Shared memory cores that the token can access
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = grant_argument)]
    cores: Vec<String>,

    /// When it expires: 30d, 12h, 45m, or an RFC 3339 time [default: never]
    #[arg(long, alias = "expires", value_name = "WHEN", value_parser = moment_argument)]
    expires_at: Option<Timestamp>,

    /// Label, such as its purpose
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    label: String,
}

impl Create {
    /// Takes the global --principal and --role: they describe the token's holder, not who runs the command.
    pub(crate) fn take_holder(&mut self, global: &mut Global) {
        self.holder = global.principal.take().or(self.holder.take());
        self.with_role = global.role.take().or(self.with_role);
    }

    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let role = self.with_role.unwrap_or(Role::Worker);
        let principal = self.holder.ok_or_else(|| {
            CliError::invalid("no_principal", "no name for the token's holder")
                .hint("name the holder, such as `cork token create --principal ada`")
        })?;
        let kind = self.kind.unwrap_or_else(|| usual_kind(role));
        let grants = |names: Vec<String>| names.iter().map(|name| Grant::new(name)).collect();
        let grants = Grants { agents: grants(self.agents), boards: grants(self.boards), cores: grants(self.cores) };
        let has_no_access = role != Role::Admin && grants.is_empty();
        let accessible = if role == Role::Admin { "everything".into() } else { access(&grants) };
        let (label, expires_at) = (self.label, self.expires_at);
        let name = one_line(&principal);
        let request = TokenRequest { principal, kind, role, grants, expires_at, label };
        let created = session.corkboard.tokens().create(request).await?;
        let until = expires_at.map_or_else(|| "until it is revoked".into(), |at| format!("until {}", time(at)));
        session.output.aside(&format!(
            "{}: for {name}, {role}, with access to {accessible}, {until}. Save the secret: it is not shown again.",
            created.id
        ));
        if has_no_access && !session.output.is_json() {
            let id = created.id;
            say(&format!(
                "warning: the new token ({id}) has access to nothing; create another one with --agents, --boards or --cores"
            ));
        }
        let secret = created.secret.expose_secret();
        session.output.answer(&json_object! { id: created.id, secret }, || secret.to_owned())
    }
}

fn kind() -> impl TypedValueParser<Value = ActorKind> {
    one_of([ActorKind::Agent, ActorKind::Human, ActorKind::Service].map(|kind| (kind.as_str(), kind, "")))
}

/// A name or a prefix with `*`. A star elsewhere would match only itself, so it is refused as a mistake.
fn grant_argument(argument: &str) -> Result<String, String> {
    let name = name_argument(argument)?;
    match name.strip_suffix('*').unwrap_or(&name).contains('*') {
        true => Err("a * is only allowed at the end of a name, where it matches all names with that prefix".into()),
        false => Ok(name),
    }
}

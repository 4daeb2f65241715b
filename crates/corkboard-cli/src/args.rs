//! What every command understands.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser};
use corkboard::{Actor, ActorKind, Creation, Options, Role, ServerAddress};
use tracing_subscriber::EnvFilter;

use crate::commands::Command;
use crate::config::{Config, FlagValue, RawSetting};
use crate::error::CliError;
use crate::value_parsers::{name_argument, role};

/// The file of the default store, in the user's data folder.
const DEFAULT_FILE: &str = "corkboard/corkboard.db";

pub(crate) const SERVER_URL: &str = "--url and CORK_URL take, for example, http://127.0.0.1:7117";

/// Working memory for LLM agents and for the people who work with them.
///
/// Every agent remembers entries (a JSON value under a key) and notes (lines of free text). Scopes below them fall back
/// to what is above. Boards hold the tasks that several agents work on together. Any number of processes may use one store at a time, and what a command acknowledged is on disk.
#[derive(Parser)]
#[command(name = "cork", version, after_help = AFTER_HELP, max_term_width = 110, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const AFTER_HELP: &str = "\
Examples:
  cork memory set user_name Ada
  cork memory get user_name
  cork --agent researcher memory list
  cork memory watch --from-rev 0
  cork board create 'Add login' --goal 'Users sign in with a password'
  cork --board add-login-1a2b3c4d task list --view ready

Exit codes:
  0  done
  1  something is broken: damaged or too new data, a failed disk, a copy on stdout that is not complete, a bug
  2  the command makes no sense, or a value is invalid
  3  what was asked for is not there, or no more
  4  conflict: someone else changed it first; the error shows what is there
  5  a limit is reached
  6  not allowed
  7  the store or the server is away, busy or locked; trying again may help
  8  the outcome is unknown: look before you try again
  9  `cork board complete` ended the board, but not all of its tasks were completed (outcome partial or failed)
  130  ended by Ctrl-C";

#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// A file of settings, in TOML [env: CORK_CONFIG] [default: corkboard/config.toml in your folder for settings]
    #[arg(id = "settings_file", long = "config", global = true, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Any setting that a file may hold; may be given many times (`cork config show` lists them)
    #[arg(long = "setting", global = true, value_name = "KEY=VALUE", value_parser = setting_argument)]
    settings: Vec<(String, String)>,

    /// Where everything is kept: sqlite:PATH, file:PATH, redis://…, postgres://… or memory: [env: CORK_STORE] [default:
    /// sqlite: in your data folder]
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,

    /// Talk to a server instead of a store: http://127.0.0.1:7117; its token comes from CORK_TOKEN [env: CORK_URL]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,

    /// Agent whose memory to use [env: CORK_AGENT] [default: default; with a server: the only agent that the token opens]
    #[arg(long = "agent", global = true, value_name = "ID")]
    named_agent: Option<String>,

    /// Which board, for commands about boards and tasks [env: CORK_BOARD]
    #[arg(long = "board", global = true, value_name = "ID")]
    named_board: Option<String>,

    /// Whose memory, whoever says so.
    #[arg(skip)]
    pub(crate) agent: String,

    /// Which board, whoever says so.
    #[arg(skip)]
    pub(crate) board: Option<String>,

    /// All settings.
    #[arg(skip)]
    pub(crate) config: Config,

    /// Name recorded as the author of changes [default: $USER]
    #[arg(long, alias = "as", global = true, value_name = "NAME", value_parser = name_argument)]
    principal: Option<String>,

    /// What you may do: orchestrator, worker, reviewer, observer, human or admin [default: admin; with a server: as the token
    /// says]
    #[arg(long, global = true, value_name = "ROLE", value_parser = role(), hide_possible_values = true)]
    role: Option<Role>,

    /// Print JSON; lists are {"items": […], "next": cursor or null}, errors on stderr are RFC 9457 problems as over HTTP
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say more on stderr; twice, even more (CORK_LOG takes filters as RUST_LOG does)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

/// Those in whose name a command does things.
pub(crate) struct Actors {
    /// The one who gives the command.
    pub(crate) caller: Actor,
    /// The one who calls a tool: the agent, unless another name is given.
    pub(crate) tool: Actor,
    /// The one who reads what is composed for the agent's model: the agent itself, unless another name is given.
    pub(crate) reader: Actor,
}

/// The kind of actor that has a role, unless told otherwise. Workers, orchestrators and reviewers are programs: no person
/// vouches for what they say.
pub(crate) fn usual_kind(role: Role) -> ActorKind {
    match role {
        Role::Orchestrator | Role::Worker | Role::Reviewer => ActorKind::Agent,
        Role::Observer | Role::Human | Role::Admin => ActorKind::Human,
    }
}

impl Global {
    /// Finds out what holds, with what a command's own flags say.
    pub(crate) fn configure(&mut self, flags: Vec<FlagValue>) -> Result<(), CliError> {
        let named = |(key, value): &(String, String)| {
            let given = RawSetting::Text(value.clone());
            FlagValue { key: key.clone(), flag: "--setting", given }
        };
        let given = |key: &str, flag, value: &Option<String>| {
            Some(FlagValue { key: key.into(), flag, given: RawSetting::Text(value.clone()?) })
        };
        let level = match self.verbose {
            0 => None,
            1 => Some("info".into()),
            2 => Some("debug".into()),
            _ => Some("trace".into()),
        };
        self.expect_names()?;
        let own = [
            given("store", "--store", &self.store),
            given("url", "--url", &self.url),
            given("agent", "--agent", &self.named_agent),
            given("board", "--board", &self.named_board),
            given("log", "-v", &level),
        ];
        let all = self.settings.iter().map(named).chain(own.into_iter().flatten()).chain(flags);
        self.config = Config::load(self.file.as_deref(), all.collect())?;
        self.agent.clone_from(&self.config.settings.agent);
        self.board.clone_from(&self.config.settings.board);
        Ok(())
    }

    /// Refuses a flag that names nothing. A script may have a variable that is not set: taken for "not given", it would
    /// lead to another memory than the one meant.
    fn expect_names(&self) -> Result<(), CliError> {
        for (flag, named, what, hint) in [
            ("--url", &self.url, "server", format!("{SERVER_URL}; without --url, the store is meant")),
            ("--store", &self.store, "store", "without --store, CORK_STORE or the default one is meant".into()),
            ("--agent", &self.named_agent, "agent", "without --agent, CORK_AGENT or \"default\" is meant".into()),
            ("--board", &self.named_board, "board", "without --board, CORK_BOARD is meant".into()),
        ] {
            if named.as_ref().is_some_and(|name| name.trim().is_empty()) {
                let message = format!("{flag} is given, and names no {what}");
                return Err(CliError::invalid("config", message).hint(hint));
            }
        }
        Ok(())
    }

    /// The board that --board names.
    pub(crate) fn flagged_board(&self) -> Option<&str> {
        self.named_board.as_deref()
    }

    pub(crate) fn options(&self) -> Options {
        self.config.settings.options.clone()
    }

    /// The same, with what may be created when the store is opened. The default store's folder may always be created with it.
    pub(crate) fn options_to(&self, creation: Creation) -> Options {
        let creation = match creation {
            Creation::Store if self.is_default_store() => Creation::WithFolders,
            other => other,
        };
        Options { creation, ..self.options() }
    }

    pub(crate) fn is_default_store(&self) -> bool {
        self.config.settings.store.is_none()
    }

    pub(crate) fn store_url(&self) -> Result<String, CliError> {
        match self.config.settings.store.clone() {
            None => default_store(),
            Some(url) => Ok(url),
        }
    }

    /// Refused if the command line names a server: this command is for stores.
    pub(crate) fn expect_no_server(&self, message: &str) -> Result<(), CliError> {
        match self.config.is_flagged("url") {
            true => Err(CliError::invalid("needs_store", message).hint("name the store by --store, and no --url")),
            false => Ok(()),
        }
    }

    /// The server that is asked instead of a store, if there is one.
    pub(crate) fn server(&self) -> Option<ServerAddress> {
        let url = self.config.server_url()?;
        let token = std::env::var("CORK_TOKEN").ok().filter(|token| !token.is_empty());
        let address = ServerAddress::new(url);
        Some(match token {
            Some(token) => address.token(token),
            None => address,
        })
    }

    /// Those in whose name things happen. `named` is whom a server takes the caller for.
    pub(crate) fn actors(&self, named: Option<&Actor>) -> Actors {
        let user = || std::env::var("USER").ok().filter(|user| !user.trim().is_empty());
        let own_name = || named.map(|named| named.principal.clone()).or_else(user);
        let principal = self.principal.clone().or_else(own_name).unwrap_or_else(|| Actor::local().principal);
        let given = self.role;
        let role = given.or(named.map(|named| named.role)).unwrap_or(Role::Admin);
        let by_role = usual_kind(role);
        let kind = named.filter(|_| given.is_none()).map_or(by_role, |named| named.kind);
        let caller = Actor::new(principal, kind, role);
        let as_agent = Actor::new(self.agent.clone(), ActorKind::Agent, role);
        // Only admins speak for others.
        let may_name = named.is_none_or(|named| named.role == Role::Admin);
        let (tool, reader) = match &self.principal {
            Some(name) => (Actor::new(name.clone(), ActorKind::Agent, role), caller.clone()),
            None if may_name => (as_agent.clone(), as_agent),
            None => (caller.clone(), caller.clone()),
        };
        Actors { caller, tool, reader }
    }

    /// What is logged to stderr. With `--json`, nothing unless it is asked for: there, stderr is for the error alone.
    pub(crate) fn log_filter(&self, usual: &str) -> EnvFilter {
        let usual = if self.json { "off" } else { usual };
        EnvFilter::new(self.config.settings.log.as_deref().unwrap_or(usual))
    }
}

fn setting_argument(argument: &str) -> Result<(String, String), String> {
    let (key, value) = argument.split_once('=').ok_or("not a setting and its value, such as listen=127.0.0.1:0")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

fn default_store() -> Result<String, CliError> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    match data {
        Some(data) => Ok(format!("sqlite:{}", data.join(DEFAULT_FILE).display())),
        None => Err(CliError::invalid("no_store", "there is no data folder: neither XDG_DATA_HOME nor HOME is set")
            .hint("name a store: --store sqlite:corkboard.db")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Bash splits an example into words as it does for a user; what it would give to `cork` must make sense to us.
    #[test]
    fn every_example_in_the_help_can_be_run() {
        let mut checked = 0;
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
            for example in examples.take_while(|line| !line.is_empty()) {
                let words = words_for_cork(example);
                assert!(!words.is_empty(), "{example}");
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{example}\n{error}");
                }
                checked += 1;
            }
        }
        assert!(checked > 40, "{checked}");
    }

    fn words_for_cork(example: &str) -> Vec<String> {
        let script = format!(
            "cork() {{ printf '%s\\0' cork \"$@\" >&3; exec 3>/dev/null; }}; id=0123; PATH=/nowhere; {{ {}\n}} 3>&1 >/dev/null",
            example.replace(" > ", " # ").replace("--stdin <", "--stdin #").replace("apply - <", "apply - #")
        );
        let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        let words = String::from_utf8(output.stdout).unwrap();
        words.split_terminator('\0').map(str::to_owned).collect()
    }
}

//! The command line's root, and the options of every command.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser};
use corkboard::{Actor, ActorKind, Conversations, Creation, Options, Role, ServerAddress};
use tracing_subscriber::EnvFilter;

use crate::commands::Command;
use crate::config::{Config, FlagValue, RawSetting};
use crate::error::CliError;
use crate::project::Project;
use crate::value_parsers::{name_argument, role};

/// File of the default store, in the user's data folder.
const DEFAULT_FILE: &str = "corkboard/corkboard.db";

pub(crate) const SERVER_URL: &str = "--url and CORK_URL expect a URL like http://127.0.0.1:7117";

/// The width at which help wraps, unless the terminal is narrower.
pub(crate) const WIDTH: usize = 100;

/// Working memory for LLM agents and the people who work with them
#[derive(Parser)]
#[command(name = "cork", version, after_help = EXAMPLES, max_term_width = WIDTH, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXAMPLES: &str = "\
Example:
  cork memory set user_name Ada";

#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Settings file in TOML [env: CORK_CONFIG] [default: corkboard/config.toml in your configuration folder]
    #[arg(id = "settings_file", long = "config", global = true, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Set any setting (`cork config show` lists them); repeatable
    #[arg(long = "setting", global = true, value_name = "KEY=VALUE", value_parser = setting_argument)]
    settings: Vec<(String, String)>,

    /// Store: sqlite:PATH, file:PATH, redis://…, postgres://… or memory: [env: CORK_STORE] [default: an SQLite file in
    /// your data folder]
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,

    /// Use a server instead of a store, such as http://127.0.0.1:7117; set its token in CORK_TOKEN [env: CORK_URL]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,

    /// Agent whose memory to use [env: CORK_AGENT] [default: the project's in a Git repository, else default; on a
    /// server, the only agent that the token has access to]
    #[arg(long = "agent", global = true, value_name = "ID")]
    named_agent: Option<String>,

    /// Board for commands about boards and tasks [env: CORK_BOARD]
    #[arg(long = "board", global = true, value_name = "ID")]
    named_board: Option<String>,

    /// The agent from the flag, the environment, the settings file, the project or the default.
    #[arg(skip)]
    pub(crate) agent: String,

    /// The board from the flag, the environment or the settings file.
    #[arg(skip)]
    pub(crate) board: Option<String>,

    #[arg(skip)]
    pub(crate) config: Config,

    /// Name recorded as the author of changes [default: $USER, or local if it is not set; on a server, the token's holder]
    #[arg(long, alias = "as", global = true, value_name = "NAME", value_parser = name_argument)]
    pub(crate) principal: Option<String>,

    /// Role to act in: orchestrator, worker, reviewer, observer, human or admin [default: admin; on a server, the
    /// token's role]
    #[arg(long, global = true, value_name = "ROLE", value_parser = role(), hide_possible_values = true)]
    pub(crate) role: Option<Role>,

    /// Print JSON. A list is {"items": […], "next": cursor or null}; errors on stderr are RFC 9457 problems, as over HTTP
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Log more to stderr; -vv and -vvv log even more. CORK_LOG takes filters like RUST_LOG [env: CORK_LOG]
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

/// The actors that a command writes and reads as.
pub(crate) struct Actors {
    /// Runs the command.
    pub(crate) caller: Actor,
    /// Calls tools: the agent, unless --principal names someone else.
    pub(crate) tool: Actor,
    /// Reads the context window: the agent, unless --principal names someone else.
    pub(crate) reader: Actor,
}

/// The default kind of actor for a role. Workers, orchestrators and reviewers count as programs, so no person vouches for
/// their texts.
pub(crate) fn usual_kind(role: Role) -> ActorKind {
    match role {
        Role::Orchestrator | Role::Worker | Role::Reviewer => ActorKind::Agent,
        Role::Observer | Role::Human | Role::Admin => ActorKind::Human,
    }
}

impl Global {
    /// Resolves all settings. `flags` are those of the command itself.
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
        let project = Project::of_process().filter(|_| self.config.is_default("agent"));
        self.agent = project.map_or_else(|| self.config.settings.agent.clone(), |project| project.agent());
        self.board.clone_from(&self.config.settings.board);
        Ok(())
    }

    /// Settings of commands that assistants run: conversations outlive the process, and every folder is a project.
    pub(crate) fn serve_an_assistant(&mut self) {
        self.config.settings.options.conversations = Conversations::Shared;
        let project = Project::or_current_folder().filter(|_| self.config.is_default("agent"));
        if let Some(project) = project {
            self.agent = project.agent();
        }
    }

    /// Refuses a flag with an empty value. In a script, an unset variable gives one. Ignoring it would silently use a
    /// different memory.
    fn expect_names(&self) -> Result<(), CliError> {
        for (flag, named, what, hint) in [
            ("--url", &self.url, "a server", format!("{SERVER_URL}; without --url, cork uses the store")),
            ("--store", &self.store, "a store", "without --store, cork uses CORK_STORE or the default store".into()),
            ("--agent", &self.named_agent, "an agent", "without --agent, cork uses CORK_AGENT or \"default\"".into()),
            ("--board", &self.named_board, "a board", "without --board, cork uses CORK_BOARD".into()),
        ] {
            if named.as_ref().is_some_and(|name| name.trim().is_empty()) {
                let message = format!("{flag} is empty; expected {what}");
                return Err(CliError::invalid("config", message).hint(hint));
            }
        }
        Ok(())
    }

    /// The board that --board names.
    pub(crate) fn flagged_board(&self) -> Option<&str> {
        self.named_board.as_deref()
    }

    /// Prepares the configured embedding model, if there is one.
    pub(crate) fn load_embedder(&mut self) -> Result<(), CliError> {
        let settings = &mut self.config.settings;
        settings.options.embedder = settings.embedder.build()?;
        Ok(())
    }

    pub(crate) fn options(&self) -> Options {
        self.config.settings.options.clone()
    }

    /// The options for opening a store that `creation` lets cork create. With the default store, cork may create its folder too.
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

    /// Fails if --url names a server, for commands that need a store.
    pub(crate) fn expect_no_server(&self, message: &str) -> Result<(), CliError> {
        match self.config.is_flagged("url") {
            true => Err(CliError::invalid("needs_store", message).hint("use --store instead of --url")),
            false => Ok(()),
        }
    }

    /// The server to use instead of a store, if one is set.
    pub(crate) fn server(&self) -> Option<ServerAddress> {
        let url = self.config.server_url()?;
        let token = std::env::var("CORK_TOKEN").ok().filter(|token| !token.is_empty());
        let address = ServerAddress::new(url);
        Some(match token {
            Some(token) => address.token(token),
            None => address,
        })
    }

    /// The actors of this command. `named` is the actor that a server's token stands for.
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
        // Only admins may act under another name.
        let may_name = named.is_none_or(|named| named.role == Role::Admin);
        let (tool, reader) = match &self.principal {
            Some(name) => (Actor::new(name.clone(), ActorKind::Agent, role), caller.clone()),
            None if may_name => (as_agent.clone(), as_agent),
            None => (caller.clone(), caller.clone()),
        };
        Actors { caller, tool, reader }
    }

    /// Filter of the log on stderr. With `--json`, stderr is reserved for the error, so logging is off by default.
    pub(crate) fn log_filter(&self, usual: &str) -> EnvFilter {
        let usual = if self.json { "off" } else { usual };
        EnvFilter::new(self.config.settings.log.as_deref().unwrap_or(usual))
    }
}

fn setting_argument(argument: &str) -> Result<(String, String), String> {
    let (key, value) = argument.split_once('=').ok_or("expected KEY=VALUE, such as listen=127.0.0.1:0")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

fn default_store() -> Result<String, CliError> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    match data {
        Some(data) => Ok(format!("sqlite:{}", data.join(DEFAULT_FILE).display())),
        None => Err(CliError::invalid(
            "no_store",
            "no data folder for the default store: neither XDG_DATA_HOME nor HOME is set",
        )
        .hint("name a store, such as --store sqlite:corkboard.db")),
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

    /// Bash splits an example into words as it does for a user; clap must accept the words that `cork` would get.
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

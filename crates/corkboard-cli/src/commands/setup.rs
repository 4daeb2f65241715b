//! `cork setup`: connects an assistant to Corkboard.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::args::Global;
use crate::error::CliError;
use crate::output::{Fit, Output, Rest, table};
use crate::project::Project;
use crate::setup::{CLIENTS, Client, FileChange, Launch, Place, Places, Scope, SettingsFile};

/// Connect an assistant such as Claude Code to its project's memory
///
/// Adds the server `cork mcp` to the client's settings file, and hooks that run `cork hook` if the client has hooks. All
/// other settings and comments stay as they are, and a backup is kept next to the file. Without CLIENT, lists the clients.
/// The settings get the options --store, --agent and --board, or their variables, if you set them. With --url, the client
/// connects to that server, with the token in CORK_TOKEN if it is set.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork setup
  cork setup claude-code
  cork setup cursor --project --dry-run
  cork setup codex --board add-login-1a2b3c4d
  cork setup vscode --url https://memory.example.org
  cork setup claude-code --remove")]
pub(crate) struct Setup {
    /// Client to set up: a name that `cork setup` lists
    client: Option<String>,

    /// Change the settings of this project instead of your own
    #[arg(long, requires = "client")]
    project: bool,

    /// Remove what an earlier setup added
    #[arg(long, requires = "client")]
    remove: bool,

    /// Show what would change, and write nothing
    #[arg(long, requires = "client")]
    dry_run: bool,

    /// Leave out the hooks
    #[arg(long, requires = "client")]
    no_hooks: bool,

    /// Tool sets of the server, as for `cork mcp --tools`
    #[arg(long, value_name = "SETS", requires = "client")]
    tools: Option<String>,

    /// Program that the client starts [default: the absolute path of this program]
    #[arg(long, value_name = "PATH", requires = "client", value_parser = program)]
    command: Option<String>,
}

fn program(path: &str) -> Result<String, &'static str> {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    // Hooks are found by this name when they are removed.
    if name.contains("cork") { Ok(path.to_owned()) } else { Err("expected a path to cork") }
}

#[derive(Serialize)]
struct Answer<'a> {
    client: &'a str,
    status: &'a str,
    files: Vec<ChangedFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
}

#[derive(Serialize)]
struct ChangedFile {
    path: PathBuf,
    change: &'static str,
    backup: Option<PathBuf>,
}

#[derive(Serialize)]
struct Clients {
    items: Vec<ListedClient>,
    /// The list has one page.
    next: Option<String>,
}

#[derive(Serialize)]
struct ListedClient {
    name: &'static str,
    title: &'static str,
    found: bool,
    set_up: bool,
    path: Option<PathBuf>,
    /// Why the settings cannot be read.
    problem: Option<String>,
}

impl Setup {
    pub(crate) fn run(self, global: &Global) -> Result<(), CliError> {
        let (output, places) = (Output::new(global.json), Places::of_process());
        match &self.client {
            None => list(output, &self.launch(global)?, &places),
            Some(name) => {
                let client = Client::named(name).ok_or_else(|| unknown(name))?;
                self.set_up(client, &self.launch(global)?, &places, output)
            }
        }
    }

    fn launch(&self, global: &Global) -> Result<Launch, CliError> {
        let command = match &self.command {
            Some(command) => command.clone(),
            None => this_program()?,
        };
        let url = global.config.is_given("url").then(|| global.server()).flatten();
        let token = std::env::var("CORK_TOKEN").ok().filter(|token| !token.is_empty() && url.is_some());
        let settings = &global.config.settings;
        let given = |key, flag, value: Option<&String>| {
            let value = value.filter(|_| global.config.is_given(key));
            value.into_iter().flat_map(move |value| [String::from(flag), value.clone()]).collect::<Vec<_>>()
        };
        let store = settings.store.as_deref().filter(|_| url.is_none()).map(absolute);
        let arguments = [
            given("store", "--store", store.as_ref()),
            given("agent", "--agent", Some(&settings.agent)),
            given("board", "--board", settings.board.as_ref()),
        ];
        let url = url.map(|server| server.url.trim_end_matches('/').to_owned());
        let (tools, arguments) = (self.tools.clone(), arguments.concat());
        Ok(Launch { command, arguments, tools, url, token, with_hooks: !self.no_hooks })
    }

    fn set_up(&self, client: &Client, launch: &Launch, places: &Places<'_>, output: Output) -> Result<(), CliError> {
        let project = Project::or_current_folder().filter(|_| self.project);
        let scope = project.as_ref().map_or(Scope::User, |project| Scope::Project(project.root()));
        let path = match client.servers(scope, places) {
            Place::Known(path) => path,
            Place::Uncertain(path) => return self.by_hand(client, launch, &path, output),
            Place::None => return Err(no_file(client, self.project)),
        };
        let files = launch.files(client, &path, scope, places);
        let change = if self.remove { SettingsFile::removing } else { SettingsFile::adding };
        // All files are read and checked before the first one is written.
        let changes: Vec<FileChange> = files.iter().map(change).collect::<Result<_, _>>()?;
        let changes: Vec<FileChange> = changes.into_iter().filter(FileChange::changes).collect();
        changes.iter().try_for_each(FileChange::check)?;
        let mut answer = Answer {
            client: client.name,
            status: if self.remove { "removed" } else { "set_up" },
            files: changes.iter().map(ChangedFile::of).collect(),
            diff: None,
            snippet: None,
        };
        if changes.is_empty() {
            answer.status = "unchanged";
            let state = if self.remove { "not set up" } else { "already set up" };
            return output.answer(&answer, || format!("{} is {state} in {}", client.title, path.display()));
        }
        if self.dry_run {
            let diff: String = changes.iter().map(FileChange::diff).collect();
            (answer.status, answer.diff) = ("dry_run", Some(diff.clone()));
            return output.answer(&answer, || diff.trim_end().to_owned());
        }
        changes.iter().try_for_each(FileChange::make)?;
        output.answer(&answer, || {
            let mut lines: Vec<String> = answer.files.iter().map(ChangedFile::text).collect();
            lines.push(match self.remove {
                true => format!(
                    "{} does not use Corkboard any more; {}",
                    client.title,
                    client.then.replace("connect", "disconnect")
                ),
                false => format!("{} is set up; {}", client.title, client.then),
            });
            lines.join("\n")
        })
    }

    /// Shows what to add by hand, because it is not certain that the client reads this file.
    fn by_hand(&self, client: &Client, launch: &Launch, path: &Path, output: Output) -> Result<(), CliError> {
        let launch = Launch { with_hooks: false, ..launch.clone() };
        let files = launch.files(client, path, Scope::User, &Places::of_process());
        let snippet: String = files.iter().map(SettingsFile::snippet).collect();
        let (title, path) = (client.title, path.display());
        let text = match self.remove {
            true => format!("Remove this from the settings of {title}, probably {path}:\n\n{snippet}"),
            false => format!(
                "Add this to the settings of {title}, probably {path} (not confirmed, so nothing was written):\n\n{snippet}"
            ),
        };
        let answer =
            Answer { client: client.name, status: "by_hand", files: Vec::new(), diff: None, snippet: Some(snippet) };
        output.answer(&answer, || text.trim_end().to_owned())
    }
}

impl ChangedFile {
    fn of(change: &FileChange) -> Self {
        let kind = match change {
            change if change.creates() => "created",
            change if change.removes() => "removed",
            _ => "changed",
        };
        Self { path: change.path().to_owned(), change: kind, backup: change.backup() }
    }

    fn text(&self) -> String {
        let backup = self.backup.as_ref().map(|path| format!(" (backup: {})", path.display()));
        format!("{} {}{}", self.change, self.path.display(), backup.unwrap_or_default())
    }
}

fn list(output: Output, launch: &Launch, places: &Places<'_>) -> Result<(), CliError> {
    let items = CLIENTS.iter().map(|client| {
        let path = match client.servers(Scope::User, places) {
            Place::Known(path) | Place::Uncertain(path) => Some(path),
            Place::None => None,
        };
        let files = path.iter().flat_map(|path| launch.files(client, path, Scope::User, places));
        let states: Vec<_> = files.map(|file| file.is_set_up()).collect();
        let problem = states.iter().find_map(|state| state.as_ref().err()).and_then(CliError::own_message);
        let set_up = states.first().is_some_and(|state| matches!(state, Ok(true)));
        let found = set_up || client.is_found(places);
        ListedClient { name: client.name, title: client.title, found, set_up, path, problem }
    });
    let clients = Clients { items: items.collect(), next: None };
    output.answer(&clients, || {
        let yes = |is: bool| if is { "yes" } else { "-" }.to_owned();
        let rows = clients.items.iter().map(|client| {
            let path = client.path.as_ref().map(|path| path.display().to_string());
            let place = client.problem.clone().or(path).unwrap_or_default();
            [client.name.to_owned(), client.title.to_owned(), yes(client.found), yes(client.set_up), place]
        });
        let columns = [("CLIENT", Fit), ("NAME", Fit), ("FOUND", Fit), ("SET UP", Fit), ("SETTINGS", Rest)];
        format!("{}\nSet one up: cork setup CLIENT", table(columns, rows))
    })
}

fn unknown(name: &str) -> CliError {
    let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
    CliError::invalid("unknown_client", format!("unknown client {name:?}"))
        .hint(format!("must be one of {}; `cork mcp --help` shows how to set up any other client", names.join(", ")))
}

fn no_file(client: &Client, of_project: bool) -> CliError {
    let title = client.title;
    match of_project {
        true => CliError::invalid("no_project_file", format!("{title} has no settings file for a project"))
            .hint(format!("run `cork setup {}` without --project", client.name)),
        false => CliError::invalid("no_home", format!("cannot find the settings of {title}: HOME is not set")),
    }
}

fn this_program() -> Result<String, CliError> {
    let path = std::env::current_exe().map_err(|error| error.to_string());
    path.and_then(|path| path.into_os_string().into_string().map_err(|_| "its path is not UTF-8".into())).map_err(
        |error| {
            CliError::invalid("no_program", format!("cannot find the path of cork: {error}"))
                .hint("name it with --command")
        },
    )
}

/// A store's URL with an absolute path, because clients start programs in other folders.
fn absolute(url: &str) -> String {
    for scheme in ["sqlite:", "file:"] {
        if let Some(path) = url.strip_prefix(scheme).filter(|path| !path.starts_with(['/', ':']))
            && let Ok(path) = std::path::absolute(path)
        {
            return [scheme, &path.to_string_lossy()].concat();
        }
    }
    url.to_owned()
}

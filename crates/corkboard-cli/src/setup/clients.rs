//! The clients that `cork setup` knows: where their settings are, and in which form.

use std::env;
use std::path::{Path, PathBuf};

use super::entry::{EntryForm, HookForm, Http, Shape};
use super::format::Format;

/// A program that uses MCP servers.
pub(crate) struct Client {
    /// The name that people type.
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) title: &'static str,
    /// Exists if the client is installed.
    folder: &'static [&'static str],
    /// Possible settings files of the user. See [`Places::find`] for the variables.
    user: &'static [&'static str],
    /// The user's settings file where none of the above is possible. It is not certain, so it is not written.
    uncertain_user: Option<&'static str>,
    project: Project,
    pub(super) format: Format,
    /// Name of the object that contains the servers.
    pub(super) section: &'static str,
    pub(super) entry: EntryForm,
    pub(super) hooks: Option<Hooks>,
    /// What the user must do after a change.
    pub(crate) then: &'static str,
}

/// The settings file in a project's folder.
enum Project {
    None,
    At(&'static str),
    /// Not certain, so it is not written.
    Uncertain(&'static str),
}

/// The settings files with a client's hooks, and their form.
pub(super) struct Hooks {
    user: &'static [&'static str],
    project: &'static str,
    pub(super) form: HookForm,
    /// Names of the events at the beginning and at the end of a session.
    pub(super) events: [&'static str; 2],
}

/// Which settings of a client to change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    User,
    /// The project with this root.
    Project(&'a Path),
}

/// A settings file.
pub(crate) enum Place {
    Known(PathBuf),
    /// The client probably reads this file.
    Uncertain(PathBuf),
    /// The client is not known to have one.
    None,
}

const RESTART: &str = "restart it to connect";
const CLAUDE: EntryForm = EntryForm { http: Some(Http { kind: Some("http"), ..Http::URL }), ..EntryForm::STANDARD };
const HTTP: EntryForm = EntryForm { http: Some(Http::URL), ..EntryForm::STANDARD };
const SERVER_URL: EntryForm = EntryForm { http: Some(Http { url: "serverUrl", ..Http::URL }), ..EntryForm::STANDARD };

const BASE: Client = Client {
    name: "",
    aliases: &[],
    title: "",
    folder: &[],
    user: &[],
    uncertain_user: None,
    project: Project::None,
    format: Format::Json,
    section: "mcpServers",
    entry: EntryForm::STANDARD,
    hooks: None,
    then: RESTART,
};

pub(crate) const CLIENTS: [Client; 14] = [
    Client {
        name: "claude-code",
        aliases: &["claude"],
        title: "Claude Code",
        folder: &["$CLAUDE_CONFIG_DIR", "~/.claude"],
        user: &["$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"],
        project: Project::At(".mcp.json"),
        entry: CLAUDE,
        hooks: Some(Hooks {
            user: &["$CLAUDE_CONFIG_DIR/settings.json", "~/.claude/settings.json"],
            project: ".claude/settings.json",
            form: HookForm::CLAUDE,
            events: ["SessionStart", "SessionEnd"],
        }),
        then: "start a new session to connect",
        ..BASE
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        folder: &["$LIBRARY/Claude", "$APPDATA/Claude", "$LOCALAPPDATA/Packages/Claude_*", "$CONFIG/Claude"],
        user: &[
            "$LIBRARY/Claude/claude_desktop_config.json",
            "$LOCALAPPDATA/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
            "$APPDATA/Claude/claude_desktop_config.json",
        ],
        uncertain_user: Some("$CONFIG/Claude/claude_desktop_config.json"),
        ..BASE
    },
    Client {
        name: "cursor",
        title: "Cursor",
        folder: &["~/.cursor"],
        user: &["~/.cursor/mcp.json"],
        project: Project::At(".cursor/mcp.json"),
        entry: EntryForm { names_project: true, ..HTTP },
        hooks: Some(Hooks {
            user: &["~/.cursor/hooks.json"],
            project: ".cursor/hooks.json",
            form: HookForm::CURSOR,
            events: ["sessionStart", "sessionEnd"],
        }),
        ..BASE
    },
    Client {
        name: "vscode",
        aliases: &["vs-code", "code", "copilot"],
        title: "VS Code",
        folder: &["$LIBRARY/Code", "$APPDATA/Code", "$CONFIG/Code"],
        user: &["$LIBRARY/Code/User/mcp.json", "$CONFIG/Code/User/mcp.json"],
        uncertain_user: Some("$APPDATA/Code/User/mcp.json"),
        project: Project::At(".vscode/mcp.json"),
        format: Format::JsonWithComments,
        section: "servers",
        entry: EntryForm { kind: Some("stdio"), names_project: true, ..CLAUDE },
        hooks: Some(Hooks {
            user: &["~/.copilot/hooks/cork.json"],
            project: ".github/hooks/cork.json",
            form: HookForm::VSCODE,
            events: ["SessionStart", "Stop"],
        }),
        then: "reload its window to connect",
    },
    Client {
        name: "codex",
        aliases: &["codex-cli"],
        title: "Codex",
        folder: &["$CODEX_HOME", "~/.codex"],
        user: &["$CODEX_HOME/config.toml", "~/.codex/config.toml"],
        project: Project::At(".codex/config.toml"),
        format: Format::Toml,
        section: "mcp_servers",
        entry: EntryForm { http: Some(Http { headers: "http_headers", ..Http::URL }), ..EntryForm::STANDARD },
        hooks: Some(Hooks {
            user: &["$CODEX_HOME/hooks.json", "~/.codex/hooks.json"],
            project: ".codex/hooks.json",
            form: HookForm::CLAUDE,
            events: ["SessionStart", "SessionEnd"],
        }),
        then: "start a new session to connect; Codex asks before it runs new hooks",
        ..BASE
    },
    Client {
        name: "gemini",
        aliases: &["gemini-cli"],
        title: "Gemini CLI",
        folder: &["~/.gemini"],
        user: &["~/.gemini/settings.json"],
        project: Project::At(".gemini/settings.json"),
        entry: EntryForm { http: Some(Http { url: "httpUrl", ..Http::URL }), ..EntryForm::STANDARD },
        hooks: Some(Hooks {
            user: &["~/.gemini/settings.json"],
            project: ".gemini/settings.json",
            form: HookForm::GEMINI,
            events: ["SessionStart", "SessionEnd"],
        }),
        ..BASE
    },
    Client {
        name: "antigravity",
        aliases: &["agy"],
        title: "Antigravity",
        folder: &["~/.gemini/config", "~/.gemini/antigravity-cli", "~/.gemini/antigravity"],
        user: &["~/.gemini/config/mcp_config.json", "~/.gemini/antigravity-cli/mcp_config.json"],
        project: Project::At(".agents/mcp_config.json"),
        entry: SERVER_URL,
        ..BASE
    },
    Client {
        name: "zed",
        title: "Zed",
        folder: &["$APPDATA/Zed", "$CONFIG/zed"],
        user: &["$APPDATA/Zed/settings.json", "$CONFIG/zed/settings.json"],
        project: Project::Uncertain(".zed/settings.json"),
        format: Format::JsonWithComments,
        section: "context_servers",
        entry: HTTP,
        then: "Zed connects at once",
        ..BASE
    },
    Client {
        name: "devin",
        aliases: &["devin-desktop", "windsurf"],
        title: "Devin Desktop",
        folder: &["~/.codeium/windsurf"],
        user: &["~/.codeium/windsurf/mcp_config.json"],
        entry: SERVER_URL,
        ..BASE
    },
    Client {
        name: "devin-cli",
        title: "Devin CLI",
        folder: &["$CONFIG/devin"],
        user: &["$CONFIG/devin/config.json"],
        project: Project::At(".devin/config.json"),
        entry: SERVER_URL,
        ..BASE
    },
    Client {
        name: "cline",
        title: "Cline",
        folder: &["~/.cline"],
        user: &["~/.cline/data/settings/cline_mcp_settings.json", "~/.cline/mcp.json"],
        entry: EntryForm { http: Some(Http { kind: Some("streamableHttp"), ..Http::URL }), ..EntryForm::STANDARD },
        ..BASE
    },
    Client {
        name: "goose",
        title: "Goose",
        folder: &["$APPDATA/Block/goose", "$CONFIG/goose"],
        user: &["$APPDATA/Block/goose/config/config.yaml", "$CONFIG/goose/config.yaml"],
        format: Format::Yaml,
        section: "extensions",
        entry: EntryForm { shape: Shape::Goose, ..HTTP },
        ..BASE
    },
    Client {
        name: "opencode",
        aliases: &["open-code"],
        title: "opencode",
        folder: &["$CONFIG/opencode"],
        user: &["$CONFIG/opencode/opencode.json", "$CONFIG/opencode/opencode.jsonc"],
        project: Project::At("opencode.json"),
        format: Format::JsonWithComments,
        section: "mcp",
        entry: EntryForm { shape: Shape::Opencode, http: Some(Http { kind: Some("remote"), ..Http::URL }), ..HTTP },
        ..BASE
    },
    Client {
        name: "junie",
        aliases: &["jetbrains"],
        title: "Junie",
        folder: &["~/.junie"],
        user: &["~/.junie/mcp/mcp.json"],
        project: Project::At(".junie/mcp/mcp.json"),
        ..BASE
    },
];

impl Client {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase().replace([' ', '_'], "-");
        CLIENTS.iter().find(|client| client.name == name || client.aliases.contains(&&*name))
    }

    /// Whether the client's folder exists on this machine.
    pub(crate) fn is_found(&self, places: &Places<'_>) -> bool {
        self.folder.iter().any(|folder| places.find(folder).is_some_and(|found| found.path.is_dir()))
    }

    /// The file with the client's servers.
    pub(crate) fn servers(&self, scope: Scope<'_>, places: &Places<'_>) -> Place {
        match (scope, &self.project) {
            (Scope::User, _) => match (places.choose(self.user), self.uncertain_user) {
                (Some(path), _) => Place::Known(path),
                (None, Some(path)) => places.find(path).map_or(Place::None, |found| Place::Uncertain(found.path)),
                (None, None) => Place::None,
            },
            (Scope::Project(root), Project::At(path)) => Place::Known(root.join(path)),
            (Scope::Project(root), Project::Uncertain(path)) => Place::Uncertain(root.join(path)),
            (Scope::Project(_), Project::None) => Place::None,
        }
    }

    /// The file with the client's hooks.
    pub(super) fn hooks(&self, scope: Scope<'_>, places: &Places<'_>) -> Option<(&Hooks, PathBuf)> {
        let hooks = self.hooks.as_ref()?;
        let path = match scope {
            Scope::User => places.choose(hooks.user)?,
            Scope::Project(root) => root.join(hooks.project),
        };
        Some((hooks, path))
    }
}

/// The folders of a user on an operating system.
pub(crate) struct Places<'a> {
    os: &'a str,
    variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

struct Found {
    path: PathBuf,
    /// The user has chosen this folder, so no other one counts.
    is_chosen: bool,
}

impl Places<'_> {
    pub(crate) fn of_process() -> Self {
        Self {
            os: env::consts::OS,
            variable: &|name| env::var_os(name).filter(|value| !value.is_empty()).map(Into::into),
        }
    }

    /// The path of a template that begins with a folder: `~`, the home; `$CONFIG`, on Linux and macOS; `$LIBRARY`, the
    /// application support of macOS; `$APPDATA` and `$LOCALAPPDATA` of Windows; the other variables if they are set. A
    /// `*` stands for the rest of an existing folder's name.
    fn find(&self, template: &str) -> Option<Found> {
        let (base, rest) = template.split_once('/').unwrap_or((template, ""));
        let home = || (self.variable)(if self.os == "windows" { "USERPROFILE" } else { "HOME" });
        let in_home = |folder| Some(home()?.join(folder));
        let mut is_chosen = false;
        let mut path = match base {
            "~" => home()?,
            "$CONFIG" if self.os == "windows" => return None,
            "$CONFIG" => {
                (self.variable)("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(|| in_home(".config"))?
            }
            "$LIBRARY" if self.os == "macos" => in_home("Library/Application Support")?,
            "$APPDATA" | "$LOCALAPPDATA" if self.os == "windows" => (self.variable)(base.strip_prefix('$')?)?,
            "$LIBRARY" | "$APPDATA" | "$LOCALAPPDATA" => return None,
            variable => {
                is_chosen = true;
                (self.variable)(variable.strip_prefix('$')?)?
            }
        };
        for part in rest.split('/').filter(|part| !part.is_empty()) {
            path = match part.strip_suffix('*') {
                Some(beginning) => beginning_with(&path, beginning)?,
                None => path.join(part),
            };
        }
        Some(Found { path, is_chosen })
    }

    /// The file that exists, or else the first one that is possible here.
    fn choose(&self, templates: &[&str]) -> Option<PathBuf> {
        let mut found: Vec<Found> = templates.iter().filter_map(|template| self.find(template)).collect();
        let best = found.iter().position(|found| found.is_chosen || found.path.exists()).unwrap_or(0);
        (best < found.len()).then(|| found.swap_remove(best).path)
    }
}

/// The folder in `folder` whose name begins like this.
fn beginning_with(folder: &Path, beginning: &str) -> Option<PathBuf> {
    let mut entries = folder.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    entries.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs;

    #[test]
    fn every_name_means_one_client() {
        let names: Vec<&str> = CLIENTS.iter().flat_map(|client| [&[client.name], client.aliases].concat()).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        assert_eq!(Client::named("Claude Code").unwrap().name, "claude-code");
        assert_eq!(Client::named("WINDSURF").unwrap().name, "devin");
        assert!(Client::named("emacs").is_none());
    }

    #[test]
    fn files_are_where_each_system_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        fs::create_dir_all(home.join("local/Packages/Claude_abc")).unwrap();
        let path_of = |name: &str, os: &str, set: &[(&str, &str)]| {
            let usual = [("HOME", ""), ("USERPROFILE", ""), ("APPDATA", "roaming"), ("LOCALAPPDATA", "local")];
            let variable = |name: &str| {
                let found = set.iter().chain(&usual).find(|(known, _)| *known == name)?;
                Some(home.join(found.1))
            };
            let places = Places { os, variable: &variable };
            let client = Client::named(name).unwrap();
            let show = |path: PathBuf| path.strip_prefix(home).unwrap().display().to_string();
            match client.servers(Scope::User, &places) {
                Place::Known(path) => show(path),
                Place::Uncertain(path) => format!("? {}", show(path)),
                Place::None => "none".into(),
            }
        };
        for (name, os, set, expected) in [
            ("claude-code", "linux", &[][..], ".claude.json"),
            ("claude-code", "macos", &[("CLAUDE_CONFIG_DIR", "c")], "c/.claude.json"),
            ("claude-desktop", "macos", &[], "Library/Application Support/Claude/claude_desktop_config.json"),
            ("claude-desktop", "linux", &[], "? .config/Claude/claude_desktop_config.json"),
            (
                "claude-desktop",
                "windows",
                &[],
                "local/Packages/Claude_abc/LocalCache/Roaming/Claude/claude_desktop_config.json",
            ),
            ("claude-desktop", "windows", &[("LOCALAPPDATA", "none")], "roaming/Claude/claude_desktop_config.json"),
            ("vscode", "linux", &[("XDG_CONFIG_HOME", "x")], "x/Code/User/mcp.json"),
            ("vscode", "macos", &[], "Library/Application Support/Code/User/mcp.json"),
            ("vscode", "windows", &[], "? roaming/Code/User/mcp.json"),
            ("codex", "linux", &[("CODEX_HOME", "h")], "h/config.toml"),
            ("zed", "macos", &[], ".config/zed/settings.json"),
            ("zed", "windows", &[], "roaming/Zed/settings.json"),
            ("goose", "windows", &[], "roaming/Block/goose/config/config.yaml"),
        ] {
            assert_eq!(path_of(name, os, set), expected, "{name} on {os}");
        }
        // A file that exists wins over the usual one.
        fs::create_dir_all(home.join(".cline")).unwrap();
        fs::write(home.join(".cline/mcp.json"), "{}").unwrap();
        assert_eq!(path_of("cline", "linux", &[]), ".cline/mcp.json");
    }
}

//! What `cork setup` adds: the server's entry and the hooks, in each client's form.

use std::path::{Path, PathBuf};

use jsonc_parser::cst::CstInputValue;

use super::clients::{Client, Places, Scope};
use super::file::{Additions, SettingsFile};
use super::format::Format;

/// A value with its fields in order.
pub(super) type Item = CstInputValue;

/// Seconds that a client waits for the context at the beginning of a session.
const START_SECONDS: u64 = 5;
/// Seconds that a client waits at the end of a session. Codex allows no more.
const END_SECONDS: u64 = 3;
/// Seconds that Goose waits for a call.
const GOOSE_SECONDS: u64 = 300;

/// How a client starts or reaches the server.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// The program and the arguments before `mcp` or `hook` and after it.
    pub(crate) command: String,
    /// Arguments of both commands.
    pub(crate) arguments: Vec<String>,
    /// The tool sets of the server.
    pub(crate) tools: Option<String>,
    /// The server to use, with the token.
    pub(crate) url: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) with_hooks: bool,
}

/// The form of a server's entry.
pub(super) struct EntryForm {
    pub(super) shape: Shape,
    /// The field `type` of a server that the client starts.
    pub(super) kind: Option<&'static str>,
    /// The form for servers with a URL, if the client can use one with a token.
    pub(super) http: Option<Http>,
    /// Whether the entry must name the project's folder, because the client starts servers elsewhere.
    pub(super) names_project: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Shape {
    Standard,
    Goose,
    Opencode,
}

/// Names of the fields of a server with a URL.
pub(super) struct Http {
    pub(super) kind: Option<&'static str>,
    pub(super) url: &'static str,
    pub(super) headers: &'static str,
}

impl Http {
    pub(super) const URL: Self = Self { kind: None, url: "url", headers: "headers" };
}

impl EntryForm {
    pub(super) const STANDARD: Self = Self { shape: Shape::Standard, kind: None, http: None, names_project: false };
}

/// The form of a hook.
pub(super) struct HookForm {
    /// Whether hooks are in groups, and which sessions' beginnings the group is for.
    group: Option<Option<&'static str>>,
    /// The hook has a type and a timeout, which has this many units per second.
    typed: Option<u64>,
    name: Option<&'static str>,
    /// Whether the file has a version.
    has_version: bool,
}

impl HookForm {
    pub(super) const CLAUDE: Self =
        Self { group: Some(Some("startup|resume|clear|compact")), typed: Some(1), name: None, has_version: false };
    pub(super) const GEMINI: Self =
        Self { group: Some(None), typed: Some(1000), name: Some("cork"), has_version: false };
    pub(super) const VSCODE: Self = Self { group: None, typed: Some(1), name: None, has_version: true };
    pub(super) const CURSOR: Self = Self { group: None, typed: None, name: None, has_version: true };
}

fn object(fields: impl IntoIterator<Item = (&'static str, Item)>) -> Item {
    Item::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

impl Launch {
    /// The files to change, with what belongs into them.
    pub(crate) fn files(
        &self,
        client: &Client,
        path: &Path,
        scope: Scope<'_>,
        places: &Places<'_>,
    ) -> Vec<SettingsFile> {
        let server = Some((client.section, self.server(client)));
        let additions = Additions { server, hooks: Vec::new(), has_version: false };
        let mut files = vec![SettingsFile { path: path.into(), format: client.format, additions }];
        if let Some((hooks, path)) = client.hooks(scope, places).filter(|_| self.with_hooks) {
            let [start, end] = hooks.events;
            let entries = vec![
                (start, hooks.form.hook(&self.hook_command(), START_SECONDS, hooks.form.group.flatten())),
                (end, hooks.form.hook(&self.hook_command(), END_SECONDS, None)),
            ];
            add_hooks(&mut files, path, entries, hooks.form.has_version);
        }
        files
    }

    /// The server's entry.
    pub(super) fn server(&self, client: &Client) -> Item {
        let form = &client.entry;
        // Only the program takes these options; a URL cannot carry them.
        let needs_program = self.tools.is_some() || !self.arguments.is_empty();
        let http = form.http.as_ref().filter(|_| !needs_program);
        match (http, &self.url) {
            (Some(http), Some(url)) => self.http_entry(form, http, url),
            _ => self.program_entry(form),
        }
    }

    fn http_entry(&self, form: &EntryForm, http: &Http, url: &str) -> Item {
        let url = format!("{}/mcp", url.trim_end_matches("/mcp"));
        let bearer = self.token.as_ref().map(|token| object([("Authorization", format!("Bearer {token}").into())]));
        let headers = |name| bearer.clone().map(|headers| (name, headers));
        match form.shape {
            Shape::Goose => object(
                [("name", "cork".into()), ("type", "streamable_http".into()), ("uri", url.into())]
                    .into_iter()
                    .chain(headers("headers"))
                    .chain([("enabled", true.into()), ("timeout", GOOSE_SECONDS.into())]),
            ),
            shape => object(
                http.kind
                    .map(|kind| ("type", kind.into()))
                    .into_iter()
                    .chain([(http.url, url.into())])
                    .chain(headers(http.headers))
                    .chain(matches!(shape, Shape::Opencode).then(|| ("oauth", false.into()))),
            ),
        }
    }

    fn program_entry(&self, form: &EntryForm) -> Item {
        let tools = self.tools.iter().flat_map(|sets| ["--tools", sets]);
        let words = |words: Vec<&str>| Item::Array(words.into_iter().map(Item::from).collect());
        let arguments: Vec<&str> = ["mcp"].into_iter().chain(self.shared_arguments()).chain(tools).collect();
        let token = self.token.as_ref().filter(|_| self.url.is_some());
        let project = form.names_project.then(|| ("CORK_PROJECT", "${workspaceFolder}".into()));
        let variables: Vec<_> =
            project.into_iter().chain(token.map(|token| ("CORK_TOKEN", token.as_str().into()))).collect();
        let variables = |name| Some((name, object(variables.clone()))).filter(|_| !variables.is_empty());
        let command = self.command.as_str();
        match form.shape {
            Shape::Standard => object(
                form.kind
                    .map(|kind| ("type", kind.into()))
                    .into_iter()
                    .chain([("command", command.into()), ("args", words(arguments))])
                    .chain(variables("env")),
            ),
            Shape::Goose => object(
                [
                    ("name", "cork".into()),
                    ("type", "stdio".into()),
                    ("cmd", command.into()),
                    ("args", words(arguments)),
                ]
                .into_iter()
                .chain(variables("envs"))
                .chain([("enabled", true.into()), ("timeout", GOOSE_SECONDS.into())]),
            ),
            Shape::Opencode => object(
                [("type", "local".into()), ("command", words([vec![command], arguments].concat()))]
                    .into_iter()
                    .chain(variables("environment")),
            ),
        }
    }

    fn shared_arguments(&self) -> impl Iterator<Item = &str> {
        let url = self.url.iter().flat_map(|url| ["--url", url]);
        self.arguments.iter().map(String::as_str).chain(url)
    }

    /// `cork hook` as a line for a shell. Clients split it in different ways, so there are no quotes without need.
    fn hook_command(&self) -> String {
        let words: Vec<String> =
            [self.command.as_str(), "hook"].into_iter().chain(self.shared_arguments()).map(shell_word).collect();
        words.join(" ")
    }
}

/// Adds hooks to the file with this path, which may be among the files already.
fn add_hooks(files: &mut Vec<SettingsFile>, path: PathBuf, hooks: Vec<(&'static str, Item)>, has_version: bool) {
    match files.iter_mut().find(|file| file.path == path) {
        Some(file) => file.additions.hooks = hooks,
        None => {
            let additions = Additions { server: None, hooks, has_version };
            files.push(SettingsFile { path, format: Format::Json, additions });
        }
    }
}

impl HookForm {
    fn hook(&self, command: &str, seconds: u64, matcher: Option<&'static str>) -> Item {
        let name = self.name.map(|name| ("name", name.into()));
        let kind = self.typed.map(|_| ("type", "command".into()));
        let timeout = self.typed.map(|units| ("timeout", (seconds * units).into()));
        let hook = object(name.into_iter().chain(kind).chain([("command", command.into())]).chain(timeout));
        match self.group {
            None => hook,
            Some(_) => {
                let matcher = matcher.map(|matcher| ("matcher", matcher.into()));
                object(matcher.into_iter().chain([("hooks", Item::Array(vec![hook]))]))
            }
        }
    }
}

fn shell_word(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    match word.bytes().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false if cfg!(windows) => format!("\"{word}\""),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Whether a hook's command runs `cork hook`. `arguments` are those outside of the command.
pub(super) fn is_own_hook(command: &str, arguments: &[&str]) -> bool {
    let command = command.trim_start();
    let (program, rest) = match command.chars().next() {
        Some(quote @ ('\'' | '"')) => command.get(1..).and_then(|rest| rest.split_once(quote)).unwrap_or_default(),
        _ => command.split_once(' ').unwrap_or((command, "")),
    };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut words = rest.split_whitespace().chain(arguments.iter().copied());
    name.contains("cork") && words.next() == Some("hook")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_cork_are_known_by_their_command() {
        for own in ["cork hook", "/opt/cork hook --agent a", "'/my apps/cork' hook", r#""C:\x y\cork.exe" hook"#] {
            assert!(is_own_hook(own, &[]), "{own}");
        }
        assert!(is_own_hook("/opt/cork", &["hook"]));
        for other in ["", "'", "cork", "cork mcp", "echo cork hook", "/cork/other hook", "hook"] {
            assert!(!is_own_hook(other, &[]), "{other}");
        }
    }

    #[test]
    fn words_with_special_characters_are_quoted() {
        assert_eq!(shell_word("sqlite:/a/b.db"), "sqlite:/a/b.db");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}

//! `cork setup` on settings files of every client. It needs neither a store nor a server.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::readme::{document, root, run_script, shell_examples};
use crate::support::{CORK, Ran, Sandbox, run};

/// A user's folder with clients.
pub(crate) struct Home(Sandbox);

impl Home {
    pub(crate) fn new() -> Self {
        Self(Sandbox::without_store())
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.0.cork_command(&[&["setup"], arguments].concat());
        command.env_remove("CORK_STORE").envs(variables.iter().copied());
        run(command, b"")
    }

    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.ok_with(arguments, &[])
    }

    fn ok_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let ran = self.run_with(arguments, variables);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?} {ran:?}");
        ran.stdout
    }

    /// Every file with its bytes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn collect(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { collect(&path, found) } else { found.push((path.clone(), fs::read(&path).unwrap())) }
            }
        }
        let mut found = Vec::new();
        collect(self.0.path(), &mut found);
        found.sort();
        found
    }
}

/// Every client whose settings are written, with its file.
const CLIENTS: [(&str, &str); 13] = [
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("antigravity", ".gemini/config/mcp_config.json"),
    ("zed", ".config/zed/settings.json"),
    ("devin", ".codeium/windsurf/mcp_config.json"),
    ("devin-cli", ".config/devin/config.json"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json"),
    ("goose", ".config/goose/config.yaml"),
    ("opencode", ".config/opencode/opencode.json"),
    ("junie", ".junie/mcp/mcp.json"),
];

const STRICT: [&str; 8] = [
    "",
    "{}",
    "{}\n",
    "{\n}\n",
    "{\"a\":{\"b\":1},\"mcpServers\":{\"x\":{\"command\":\"y\"}}}",
    "{\n  \"mcpServers\": {}\n}\n",
    "{\n\t\"z\": [1, 2],\n\t\"mcpServers\": {\n\t\t\"x\": { \"command\": \"y\", \"env\": {\"A\": \"1\"} }\n\t},\n\t\"a\": 1e2\n}",
    "{\n    \"hooks\": {\n        \"SessionStart\": [],\n        \"PreToolUse\": [{\"matcher\": \"x\", \"hooks\": []}]\n    },\n    \"mcpServers\": {\n        \"cork\": {\n            \"command\": \"npx\",\n            \"args\": [\"other\"]\n        }\n    }\n}\n",
];

const WITH_COMMENTS: [&str; 4] = [
    "// only a comment\n",
    "{\n  // mine\n  \"a\": 1, /* b */\n  \"SECTION\": {\n    \"x\": { \"command\": \"y\", }, // tail\n    // end\n  },\n  \"z\": [1, 2,], // last\n}\n",
    "{\n  \"SECTION\": {\n    // none yet\n  }\n}\n",
    "{\n  \"SECTION\": {\n    \"cork\": { \"command\": \"other\" } // theirs\n  }\n}\n",
];

const TOML: [&str; 8] = [
    "",
    "# only a comment\n",
    "model = \"x\"\n\n[mcp_servers.a] # one\ncommand = \"y\" # c\nargs = [\n  \"1\", # two\n]\n\n[profiles.p]\nx=1\n# end\n",
    "model = \"x\"",
    "mcp_servers = { a = { command = \"y\" } }\n",
    "[mcp_servers]\na = { command = \"y\" }\n",
    "[mcp_servers]\n",
    "[mcp_servers.cork]\ncommand = \"other\"\n[mcp_servers.cork.env]\nA = \"1\"\n\n[z]\nb = 1\n",
];

const YAML: [&str; 9] = [
    "",
    "# only a comment\n",
    "GOOSE_PROVIDER: x # mine\n",
    "---\na: 1\nextensions:\n  # tools\n  developer:\n    enabled: true\n    args: []\n  other: {enabled: false}\nz: |\n  text\n  more\n",
    "extensions: {} # none\nz: 1\n",
    "extensions:\nz: 1\n",
    "extensions:\n    a:\n        name: \"x: y\"\n        text: >-\n            folded\n            text\n",
    "z: &anchor [1, 2]\nextensions:\n  a: *anchor\n",
    "a: 1\nextensions:\n  first:\n    enabled: true\n  cork:\n    cmd: other\n    args:\n      - x\n  # after\n  last:\n    enabled: true\nz: 1\n",
];

/// Texts that a client's settings file may have. Clients with the same format as an earlier one get a few of them.
fn fixtures(client: &str) -> Vec<String> {
    let section = match client {
        "vscode" => "servers",
        "zed" => "context_servers",
        "opencode" => "mcp",
        _ => "mcpServers",
    };
    let texts: Vec<&str> = match client {
        "codex" => TOML.into(),
        "goose" => YAML.into(),
        "claude-code" | "gemini" => STRICT.into(),
        "vscode" => [&STRICT[..], &WITH_COMMENTS].concat(),
        "zed" | "opencode" => WITH_COMMENTS.into(),
        _ => return STRICT.iter().skip(5).map(|text| text.to_string()).collect(),
    };
    let texts: Vec<String> =
        texts.iter().map(|text| text.replace("mcpServers", section).replace("SECTION", section)).collect();
    let crlf = texts.iter().filter(|text| text.contains('\n')).map(|text| text.replace('\n', "\r\n"));
    let marked = texts.iter().take(3).map(|text| format!("\u{feff}{text}"));
    texts.iter().cloned().chain(crlf).chain(marked).collect()
}

/// The lines of a text, without what a comma or a brace changes.
fn words(text: &str) -> String {
    text.replace("{}", "").chars().filter(|letter| !letter.is_whitespace() && *letter != ',').collect()
}

/// Whether all of `part` is in `whole`, in this order.
fn is_within(part: &str, whole: &str) -> bool {
    let mut letters = whole.chars();
    part.chars().all(|letter| letters.any(|other| other == letter))
}

/// One test for some of the clients, because each runs `cork` hundreds of times.
macro_rules! for_clients {
    ($check:ident: $($name:ident [$($client:literal),+])+) => {
        $(#[test]
        fn $name() {
            for client in [$($client),+] {
                let (client, file) = CLIENTS.into_iter().find(|(name, _)| *name == client).unwrap();
                $check(client, file);
            }
        })+
    };
}

for_clients! { a_removed_setup_leaves_every_byte:
    a_removed_setup_leaves_every_byte_of_json ["claude-code", "cursor", "antigravity", "devin"]
    a_removed_setup_leaves_every_byte_of_a_file_with_hooks ["gemini", "devin-cli", "cline", "junie"]
    a_removed_setup_leaves_every_byte_of_json_with_comments ["vscode", "zed", "opencode"]
    a_removed_setup_leaves_every_byte_of_toml ["codex"]
    a_removed_setup_leaves_every_byte_of_yaml ["goose"]
}

fn a_removed_setup_leaves_every_byte(client: &str, file: &str) {
    for text in &fixtures(client) {
        let home = Home::new();
        home.write(file, text);
        let before = home.files();
        let diff = home.ok(&[client, "--dry-run"]);
        assert!(diff.contains("\n+") && diff.contains("cork"), "{client} {text:?} {diff}");
        assert_eq!(home.files(), before, "{client} {text:?}: a dry run should write nothing");

        let said = home.ok(&[client]);
        assert!(said.contains("cork-backup") && said.contains("is set up"), "{client}: {said}");
        assert_eq!(home.read(&format!("{file}.cork-backup")), *text);
        let (after, set_up) = (home.read(file), home.files());
        if !text.contains("other") {
            assert!(is_within(&words(text), &words(&after)), "{client} {text:?} {after}");
        }
        assert!(after.contains(CORK), "{client} {text:?} {after}");
        if text.contains("\r\n") {
            assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{client} {after:?}");
        }

        let said = home.ok(&[client]);
        assert!(said.contains("already set up"), "{client} {text:?} {said}");
        assert_eq!(home.files(), set_up, "{client} {text:?}: a second setup should change nothing");

        home.ok(&[client, "--remove", "--dry-run"]);
        assert_eq!(home.files(), set_up, "{client} {text:?}");
        home.ok(&[client, "--remove"]);
        assert_eq!(home.read(file), *text, "{client} {after}");
        assert_eq!(home.files(), before, "{client} {text:?}");
        assert!(home.ok(&[client, "--remove"]).contains("is not set up"), "{client} {text:?}");
    }
}

#[test]
fn a_setup_without_settings_is_removed_completely() {
    for (client, _) in CLIENTS {
        for scope in [&[][..], &["--project"]] {
            let home = Home::new();
            fs::create_dir(home.path(".git")).unwrap();
            let with = |more: &[&'static str]| [&[client], more, scope].concat();
            let ran = home.run_with(&with(&["--dry-run"]), &[]);
            if scope.is_empty() || ran.code == 0 {
                assert!(home.files().is_empty(), "{client}");
                let said = home.ok(&with(&[]));
                assert!(client == "zed" && !scope.is_empty() || said.contains("created "), "{client}: {said}");
                home.ok(&with(&["--remove"]));
                assert!(home.files().is_empty(), "{client}: {:?}", home.files());
            } else {
                assert!(["devin", "cline", "goose"].contains(&client), "{client} {ran:?}");
                assert!(ran.stderr.contains("has no settings file for a project"), "{ran:?}");
            }
        }
    }
}

for_clients! { what_others_changed_stays:
    what_others_changed_in_json_stays ["claude-code", "cursor", "antigravity", "devin", "gemini", "devin-cli"]
    what_others_changed_in_json_with_comments_stays ["vscode", "zed", "opencode", "cline", "junie"]
    what_others_changed_in_toml_and_yaml_stays ["codex", "goose"]
}

fn what_others_changed_stays(client: &str, file: &str) {
    for text in fixtures(client) {
        let home = Home::new();
        home.write(file, &text);
        home.ok(&[client]);
        let mark = match client {
            "codex" => "\n[new]\nmark = 1\n",
            "goose" => "\nmark: 1\n",
            _ => "",
        };
        let after = home.read(file);
        let changed = match mark {
            "" => after.replacen(
                '{',
                "{ \"mark\": 1,
",
                1,
            ),
            mark => after + mark,
        };
        home.write(file, &changed);
        home.ok(&[client, "--remove"]);
        let left = home.read(file);
        assert!(left.contains("mark"), "{client} {text:?} {left}");
        assert!(!left.contains(CORK), "{client} {text:?} {left}");
        if !text.contains("other") {
            assert!(is_within(&words(&text).replace('}', ""), &words(&left)), "{client} {text:?} {left}");
        }
        assert!(home.ok(&[client, "--remove"]).contains("not set up"), "{client} {text:?}");
    }
}

/// The entry of each client, for a program and for a server with a token.
#[test]
fn every_client_gets_its_own_form() {
    let entry = |text: &str, client: &str| -> Value {
        let content: Value = match client {
            "codex" => toml::from_str(text).unwrap(),
            // The lines of one entry, indented by four.
            "goose" => {
                return text.lines().filter_map(|line| line.strip_prefix("    ")).collect::<Vec<_>>().join("\n").into();
            }
            _ => serde_json::from_str(text).unwrap(),
        };
        let section = content.as_object().unwrap().values().find(|section| section.get("cork").is_some());
        section.unwrap()["cork"].clone()
    };
    let program = json!({"command": CORK, "args": ["mcp"]});
    let in_project = json!({"CORK_PROJECT": "${workspaceFolder}"});
    let bearer = json!({"Authorization": "Bearer s3cret"});
    let with = |name: &str| json!({name: "https://m.example.org/mcp", "headers": bearer});
    let typed = |kind: &str| json!({"type": kind, "url": "https://m.example.org/mcp", "headers": bearer});
    let by_program = json!({"command": CORK, "args": ["mcp", "--url", "https://m.example.org"],
        "env": {"CORK_TOKEN": "s3cret"}});
    for (client, local, remote) in [
        ("claude-code", program.clone(), typed("http")),
        ("cursor", json!({"command": CORK, "args": ["mcp"], "env": in_project}), with("url")),
        ("vscode", json!({"type": "stdio", "command": CORK, "args": ["mcp"], "env": in_project}), typed("http")),
        ("codex", program.clone(), json!({"url": "https://m.example.org/mcp", "http_headers": bearer})),
        ("gemini", program.clone(), with("httpUrl")),
        ("antigravity", program.clone(), with("serverUrl")),
        ("zed", program.clone(), with("url")),
        ("devin", program.clone(), with("serverUrl")),
        ("devin-cli", program.clone(), with("serverUrl")),
        ("cline", program.clone(), typed("streamableHttp")),
        (
            "goose",
            json!(format!("name: cork\ntype: stdio\ncmd: {CORK}\nargs:\n- mcp\nenabled: true\ntimeout: 300")),
            json!(
                "name: cork\ntype: streamable_http\nuri: \"https://m.example.org/mcp\"\nheaders:\n  Authorization: \
                 \"Bearer s3cret\"\nenabled: true\ntimeout: 300"
            ),
        ),
        (
            "opencode",
            json!({"type": "local", "command": [CORK, "mcp"]}),
            json!({"type": "remote", "url": "https://m.example.org/mcp", "headers": bearer, "oauth": false}),
        ),
        ("junie", program.clone(), by_program),
    ] {
        let file = CLIENTS.iter().find(|(name, _)| *name == client).unwrap().1;
        let home = Home::new();
        home.ok(&[client]);
        assert_eq!(entry(&home.read(file), client), local, "{client}");
        let remote_setup = [client, "--url", "https://m.example.org/"];
        let token = [("CORK_TOKEN", "s3cret")];
        let diff = home.ok_with(&[&remote_setup[..], &["--dry-run"]].concat(), &token);
        assert!(!diff.contains("s3cret") && diff.contains("***"), "{client} {diff}");
        home.ok_with(&remote_setup, &token);
        assert_eq!(entry(&home.read(file), client), remote, "{client}");
        // Without the token, nothing about access is written.
        home.ok(&remote_setup);
        assert!(!home.read(file).contains("Authorization"), "{client}");
        home.ok(&[client, "--remove"]);
        assert!(home.files().iter().all(|(path, _)| path.to_string_lossy().ends_with("cork-backup")), "{client}");
    }
}

#[test]
fn hooks_have_each_clients_form() {
    let command = format!("{CORK} hook");
    let hook = |seconds: u64| json!({"type": "command", "command": command, "timeout": seconds});
    let named =
        |milliseconds: u64| json!({"name": "cork", "type": "command", "command": command, "timeout": milliseconds});
    let claude = json!({
        "SessionStart": [{"matcher": "startup|resume|clear|compact", "hooks": [hook(5)]}],
        "SessionEnd": [{"hooks": [hook(3)]}],
    });
    let gemini = json!({"SessionStart": [{"hooks": [named(5000)]}], "SessionEnd": [{"hooks": [named(3000)]}]});
    let cursor = json!({"sessionStart": [{"command": command}], "sessionEnd": [{"command": command}]});
    let vscode = json!({"SessionStart": [hook(5)], "Stop": [hook(3)]});
    for (client, user, project, hooks) in [
        ("claude-code", ".claude/settings.json", ".claude/settings.json", &claude),
        ("codex", ".codex/hooks.json", ".codex/hooks.json", &claude),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json", &gemini),
        ("cursor", ".cursor/hooks.json", ".cursor/hooks.json", &cursor),
        ("vscode", ".copilot/hooks/cork.json", ".github/hooks/cork.json", &vscode),
    ] {
        let home = Home::new();
        home.ok(&[client]);
        assert_eq!(home.json(user)["hooks"], *hooks, "{client}");
        let home = Home::new();
        home.ok(&[client, "--project"]);
        assert_eq!(home.json(project)["hooks"], *hooks, "{client}");
        let home = Home::new();
        home.ok(&[client, "--no-hooks"]);
        assert!(home.files().iter().all(|(_, bytes)| !String::from_utf8_lossy(bytes).contains("hook\"")), "{client}");
    }
}

#[test]
fn other_hooks_stay() {
    let home = Home::new();
    let text = "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}\n    ]\n  }\n}\n";
    home.write(".claude/settings.json", text);
    home.ok(&["claude-code"]);
    // Somebody adds a hook to our group, and moves ours to another program.
    let changed = home.read(".claude/settings.json").replace(&format!("{CORK} hook"), "/old/cork hook");
    let ours = "            \"command\": \"/old/cork hook\",\n            \"timeout\": 5\n          }";
    assert!(changed.contains(ours), "{changed}");
    let changed =
        changed.replace(ours, &format!("{ours},\n          {{\"type\": \"command\", \"command\": \"uptime\"}}"));
    home.write(".claude/settings.json", &changed);
    home.ok(&["claude-code"]);
    let after = home.read(".claude/settings.json");
    assert!(after.contains("date") && after.contains("uptime") && !after.contains("/old/cork"), "{after}");
    assert_eq!(after.matches(&format!("{CORK} hook")).count(), 2, "{after}");
    home.ok(&["claude-code", "--remove"]);
    let left = home.json(".claude/settings.json");
    let commands: Vec<&Value> =
        left["hooks"]["SessionStart"].as_array().unwrap().iter().map(|group| &group["hooks"][0]["command"]).collect();
    assert_eq!(commands, ["date", "uptime"]);
    assert_eq!(left["hooks"].get("SessionEnd"), None);
}

#[test]
fn the_users_choices_are_passed_on() {
    let home = Home::new();
    home.ok_with(
        &["claude-code", "--board", "b-1", "--tools", "memory,worker", "--command", "cork"],
        &[("CORK_STORE", "sqlite:memory store.db"), ("CORK_AGENT", "ada")],
    );
    let folder = home.0.path().canonicalize().unwrap();
    let store = format!("sqlite:{}/memory store.db", folder.display());
    let entry = home.json(".claude.json")["mcpServers"]["cork"].take();
    let choices = ["--store", &store, "--agent", "ada", "--board", "b-1"];
    assert_eq!(entry["args"], json!([&["mcp"], &choices[..], &["--tools", "memory,worker"]].concat()));
    assert_eq!(entry["command"], "cork");
    let hook = home.json(".claude/settings.json")["hooks"]["SessionEnd"][0]["hooks"][0]["command"].take();
    assert_eq!(hook, format!("cork hook --store '{store}' --agent ada --board b-1"));
    // A URL cannot carry an agent, so the program connects.
    home.ok(&["claude-code", "--url", "http://127.0.0.1:7117", "--agent", "ada"]);
    let entry = home.json(".claude.json")["mcpServers"]["cork"].take();
    assert_eq!(entry["args"], json!(["mcp", "--agent", "ada", "--url", "http://127.0.0.1:7117"]));
    home.ok(&["claude-code", "--remove"]);
    assert!(!home.path(".claude.json").exists() && !home.path(".claude/settings.json").exists());
}

#[test]
fn an_older_setup_is_updated_and_removed() {
    for (client, file) in CLIENTS {
        let home = Home::new();
        let original = fixtures(client).into_iter().find(|text| text.contains('y')).unwrap_or_default();
        home.write(file, &original);
        home.ok(&[client, "--command", "/old/cork"]);
        let said = home.ok(&[client]);
        assert!(said.contains("changed"), "{client} {said}");
        let after = home.read(file);
        assert!(after.contains(CORK) && !after.contains("/old/cork"), "{client} {after}");
        assert_eq!(home.read(&format!("{file}.cork-backup")), original, "{client}");
        home.ok(&[client, "--remove"]);
        assert_eq!(home.read(file), original, "{client}");
    }
}

#[test]
fn files_that_cannot_be_parsed_stay_as_they_are() {
    for (client, file, text, position) in [
        ("claude-code", ".claude.json", "{\n  \"a\": 1,\n  oops\n}\n", "line 3, column 3"),
        ("claude-code", ".claude.json", "{\"mcpServers\": {}", "line 1"),
        ("cursor", ".cursor/mcp.json", "{ // comment\n}", "line 1, column 3"),
        ("gemini", ".gemini/settings.json", "{\"a\": 1,}", "line 1"),
        ("junie", ".junie/mcp/mcp.json", "{'a': 1}", "line 1"),
        ("cline", ".cline/data/settings/cline_mcp_settings.json", "{\"a\" 1}", "line 1"),
        ("devin", ".codeium/windsurf/mcp_config.json", "[]", "the whole file is not an object"),
        ("devin-cli", ".config/devin/config.json", "{\"mcpServers\": []}", "mcpServers is not an object"),
        ("antigravity", ".gemini/config/mcp_config.json", "{} {}", "line 1"),
        ("vscode", ".config/Code/User/mcp.json", "{ /* open", "line 1"),
        ("zed", ".config/zed/settings.json", "{ a: 1 }", "line 1"),
        ("opencode", ".config/opencode/opencode.json", "{\"mcp\": null}", "mcp is not an object"),
        ("codex", ".codex/config.toml", "a = 1\nb = [\n", "line "),
        ("codex", ".codex/config.toml", "mcp_servers = 3\n", "mcp_servers is not an object"),
        ("goose", ".config/goose/config.yaml", "a: 1\n b: [\n", "line "),
        ("goose", ".config/goose/config.yaml", "- a\n", "is not an object"),
        ("goose", ".config/goose/config.yaml", "a: 1\n---\nb: 1\n", "several documents"),
        ("goose", ".config/goose/config.yaml", "extensions: {a: {b: 1}}\n", "as a block"),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"hooks\": {\"SessionStart\": {}}}",
            "hooks.SessionStart is not a list",
        ),
    ] {
        let home = Home::new();
        home.write(file, text);
        let before = home.files();
        for arguments in [&[client][..], &[client, "--dry-run"]] {
            let ran = home.run_with(arguments, &[]);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{client} {text} {ran:?}");
            let name = Path::new(file).file_name().unwrap().to_str().unwrap();
            for said in ["error: cannot edit", name, position, "hint: nothing was changed"] {
                assert!(ran.stderr.contains(said), "{client} {text}: {said} in {}", ran.stderr);
            }
            assert_eq!(home.files(), before, "{client} {text}");
        }
    }
    let home = Home::new();
    fs::write(home.path(".claude.json"), [b'{', 0xff, b'}']).unwrap();
    let ran = home.run_with(&["claude-code"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot read"), "{ran:?}");
}

#[test]
fn files_keep_their_mode_and_links_stay() {
    let home = Home::new();
    home.write("dotfiles/mcp.json", "{}");
    fs::set_permissions(home.path("dotfiles/mcp.json"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path(".cursor")).unwrap();
    symlink("../dotfiles/mcp.json", home.path(".cursor/mcp.json")).unwrap();
    home.ok(&["cursor"]);
    assert!(home.path(".cursor/mcp.json").is_symlink());
    assert!(home.read("dotfiles/mcp.json").contains(CORK));
    let mode = |file: &str| fs::metadata(home.path(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("dotfiles/mcp.json"), 0o640);
    assert_eq!(mode("dotfiles/mcp.json.cork-backup"), 0o640);
    // A new file can contain a token.
    assert_eq!(mode(".cursor/hooks.json"), 0o600);
    home.ok(&["cursor", "--remove"]);
    assert_eq!(home.read("dotfiles/mcp.json"), "{}");

    fs::set_permissions(home.path("dotfiles/mcp.json"), fs::Permissions::from_mode(0o444)).unwrap();
    let before = home.files();
    let ran = home.run_with(&["cursor"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("is read-only"), "{ran:?}");
    assert_eq!(home.files(), before);
}

#[test]
fn uncertain_settings_are_shown_and_not_written() {
    for (arguments, file) in [
        (&["claude-desktop"][..], ".config/Claude/claude_desktop_config.json"),
        (&["zed", "--project"], ".zed/settings.json"),
    ] {
        let home = Home::new();
        home.write(file, "{}");
        let before = home.files();
        for more in [&[][..], &["--remove"], &["--dry-run"]] {
            let said = home.ok(&[arguments, more].concat());
            assert!(said.contains(file) && said.contains(CORK) && said.contains("\"cork\": {"), "{said}");
            assert_eq!(home.files(), before);
        }
    }
}

#[test]
fn clients_are_listed_with_their_state() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{}");
    home.write(".gemini/settings.json", "{oops");
    home.ok(&["codex"]);
    let listed: Value = serde_json::from_str(&home.ok(&["--json"])).unwrap();
    let items = listed["items"].as_array().unwrap();
    let of = |name: &str| items.iter().find(|item| item["name"] == name).unwrap();
    assert_eq!(items.len(), CLIENTS.len() + 1);
    for (name, found, set_up) in [("codex", true, true), ("cursor", true, false), ("zed", false, false)] {
        assert_eq!((&of(name)["found"], &of(name)["set_up"]), (&json!(found), &json!(set_up)), "{name}");
    }
    assert!(of("gemini")["problem"].as_str().unwrap().contains("line 1"), "{listed}");
    let text = home.ok(&[]);
    assert!(text.starts_with("CLIENT") && text.contains("claude-desktop"), "{text}");
    // A client can have its folder elsewhere.
    let listed: Value = serde_json::from_str(&home.ok_with(&["--json"], &[("CODEX_HOME", "/elsewhere")])).unwrap();
    assert!(listed.to_string().contains("/elsewhere/config.toml"), "{listed}");
}

#[test]
fn errors_say_what_to_do() {
    let home = Home::new();
    for (arguments, said) in [
        (&["emacs"][..], "unknown client \"emacs\""),
        (&["goose", "--project"], "Goose has no settings file for a project"),
        (&["--remove"], "required arguments were not provided"),
        (&["codex", "--command", "/bin/sh"], "expected a path to cork"),
    ] {
        let ran = home.run_with(arguments, &[]);
        assert!(ran.code == 2 && ran.stderr.contains(said), "{arguments:?} {ran:?}");
    }
    let answer: Value = serde_json::from_str(&home.ok(&["claude", "--json"])).unwrap();
    assert_eq!((&answer["client"], &answer["status"]), (&json!("claude-code"), &json!("set_up")));
    assert_eq!(answer["files"][0]["change"], "created");
}

/// The plugin in the repository is for people who have `cork` in their PATH.
#[test]
fn the_plugin_does_what_setup_does() {
    let home = Home::new();
    home.ok(&["claude-code", "--command", "cork"]);
    let plugin =
        |file: &str| -> Value { serde_json::from_str(&document(&format!("integrations/plugin/{file}"))).unwrap() };
    assert_eq!(plugin("hooks/hooks.json"), home.json(".claude/settings.json"));
    assert_eq!(plugin(".mcp.json"), home.json(".claude.json"));
    let mut portable = plugin("mcp.json");
    assert_eq!(portable["mcpServers"]["cork"].as_object_mut().unwrap().remove("type"), Some(json!("stdio")));
    assert_eq!(portable["mcpServers"], plugin(".mcp.json")["mcpServers"]);
    let (manifest, mut other) = (plugin(".claude-plugin/plugin.json"), plugin("plugin.json"));
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let schema = other.as_object_mut().unwrap().remove("$schema");
    assert_eq!(schema, Some(json!("https://agent-plugins.org/schemas/1.0.0/plugin.schema.json")));
    assert_eq!(other, manifest);
    let market: Value = serde_json::from_str(&document(".claude-plugin/marketplace.json")).unwrap();
    let listed = &market["plugins"][0];
    assert_eq!((&listed["name"], &listed["description"]), (&manifest["name"], &manifest["description"]));
    assert!(root().join(listed["source"].as_str().unwrap()).join("plugin.json").exists());
}

#[test]
fn the_page_about_clients_shows_what_setup_writes() {
    let page = document("docs/mcp-clients.md");
    let places = CLIENTS.iter().copied().chain([("claude-desktop", "")]);
    for (client, file) in places {
        let heading = format!("(`cork setup {client}`)");
        let part = page.split("\n### ").find(|part| part.lines().next().unwrap().ends_with(&heading));
        let part = part.unwrap_or_else(|| panic!("no heading for {client}"));
        let shown = part.split("\n```").nth(1).and_then(|block| block.split_once('\n')).unwrap().1;
        let home = Home::new();
        let said = home.ok(&[client, "--command", "/usr/local/bin/cork", "--no-hooks"]);
        let written = if file.is_empty() { said.split_once("\n\n").unwrap().1.to_owned() } else { home.read(file) };
        assert_eq!(shown.trim_end(), written.trim_end(), "{client}");
        assert!(file.is_empty() || part.contains(&format!("`~/{file}`")), "{client}: {file}");
    }
    let ran = run_script(&Sandbox::local(), &shell_examples(&page));
    assert!(ran.stdout.contains("Claude Code is set up"), "{ran:?}");
}

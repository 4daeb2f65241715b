//! The shell examples that need a server or a preparation run, and every other block has a reason why it does not.
//! Documents that run as a whole are in `readme.rs`. These tests start their servers and read stores directly, so all
//! sandboxes are local.

use std::path::Path;

use corkboard_testing::Harness;
use corkboard_testing::servers::free_port;

use crate::readme::{document, root, run_script};
use crate::support::{Ran, Sandbox};

/// Documents whose shell examples run in order, as one script each.
const WHOLE: [&str; 14] = [
    "README.md",
    "docs/boards.md",
    "docs/cli.md",
    "docs/cores.md",
    "docs/errors.md",
    "docs/guides/agent-memory.md",
    "docs/guides/assistants.md",
    "docs/guides/backup.md",
    "docs/guides/board-workers.md",
    "docs/limits.md",
    "docs/mcp-clients.md",
    "docs/mcp.md",
    "docs/search.md",
    "docs/guides/shared-memory.md",
];

/// Shell examples that run here, by document and first line.
const ALONE: [(&str, &str); 15] = [
    ("docs/guides/deploy.md", "mkdir -p /var/lib/corkboard"),
    ("docs/guides/deploy.md", "export CORK_URL=https://memory"),
    ("docs/http.md", "export CORK_STORE=sqlite:corkboard.db"),
    ("docs/http.md", "GATEWAY="),
    ("docs/http.md", "openssl req"),
    ("docs/http.md", "H=\"Authorization: Bearer the-admins-secret\""),
    ("docs/http.md", "TOOLS="),
    ("docs/http.md", "curl -N"),
    ("docs/notebook.md", "cork notebook apply"),
    ("docs/stores.md", "cork --store sqlite:corkboard.db"),
    ("docs/stores.md", "cork stats --all"),
    ("docs/stores.md", "head -c 32"),
    ("docs/stores.md", "cork migrate"),
    ("docs/tools.md", "cork tools call write_memory"),
    ("docs/tools.md", "cork import --from mcp-memory"),
];

/// Parts of documents that run elsewhere: the server's tests run the sections on agents and boards.
const SECTIONS: [(&str, &str); 2] = [("docs/http.md", "Agents"), ("docs/http.md", "Boards")];

/// Examples that run with a preparation that no other one needs.
const PREPARED: [(&str, &str); 1] = [("docs/tools.md", "cork tools list")];

/// Commands that no test runs, by document and first line, and why.
const NOT_RUN: [(&str, &str, &str); 7] = [
    ("README.md", "cargo install", "installs into the user's home, and serves until Ctrl-C"),
    ("deploy/README.md", "cargo build --release", "needs root and systemd"),
    ("deploy/README.md", "podman build", "needs a container engine"),
    ("docs/http.md", "npx openapi-typescript", "`make clients` runs the generators"),
    ("docs/models.md", "export CORK_MODEL=", "needs a model provider's key"),
    (
        "docs/models.md",
        "cork notebook prompt",
        "needs a model; `notebook_update.rs` runs these commands with a scripted one",
    ),
    ("docs/benchmarks.md", "make bench", "takes minutes"),
];

/// Words that begin a command.
const COMMANDS: [&str; 12] = [
    "cargo ",
    "cork ",
    "createdb ",
    "curl ",
    "export ",
    "head ",
    "make ",
    "npx ",
    "openapi-",
    "openssl ",
    "podman ",
    "systemctl ",
];

/// The fenced blocks of a document with this language, each with the title of its section.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<(&'a str, &'a str)> {
    let fence = format!("\n```{language}\n");
    let sections = text.split("\n## ");
    let in_section = |section: &'a str| {
        let title = section.lines().next().unwrap_or_default();
        let found = section.split(&*fence).skip(1).map(move |rest| (title, rest.split("\n```").next().unwrap_or(rest)));
        found.collect::<Vec<_>>()
    };
    sections.flat_map(in_section).collect()
}

/// The example of a document that begins with this text.
fn example(name: &str, first: &str) -> String {
    assert!(ALONE.contains(&(name, first)) || PREPARED.contains(&(name, first)), "{name}: {first} is in no list");
    let text = document(name);
    let found = blocks(&text, "sh").into_iter().find(|(_, block)| block.starts_with(first));
    format!("{}\n", found.unwrap_or_else(|| panic!("{name} has no example {first}")).1)
}

fn documents() -> Vec<String> {
    fn markdown(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("decisions") {
                markdown(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.strip_prefix(root()).unwrap().display().to_string());
            }
        }
    }
    let mut found =
        vec!["README.md".into(), "deploy/README.md".into(), "CONTRIBUTING.md".into(), "ARCHITECTURE.md".into()];
    markdown(&root().join("docs"), &mut found);
    found
}

#[test]
fn every_example_runs_or_has_a_reason() {
    for name in documents() {
        let text = document(&name);
        let listed = |list: &[(&str, &str)], block: &str| {
            list.iter().any(|(document, first)| *document == name && block.starts_with(first))
        };
        for (section, block) in blocks(&text, "sh") {
            let is_whole = WHOLE.contains(&name.as_str()) || SECTIONS.contains(&(name.as_str(), section));
            let runs = is_whole || listed(&ALONE, block) || listed(&PREPARED, block);
            assert!(runs, "no test runs this example of {name}:\n{block}");
        }
        for (_, block) in blocks(&text, "text") {
            let is_command = block.lines().any(|line| COMMANDS.iter().any(|command| line.starts_with(command)));
            let has_reason = NOT_RUN.iter().any(|(document, first, _)| *document == name && block.starts_with(first));
            assert!(!is_command || has_reason, "run this example of {name}, or say why not:\n{block}");
        }
    }
}

/// Runs a script with a server on a free port in place of the usual one. Stops everything that it started.
fn run_served(script: &str) -> Ran {
    let (port, other) = (free_port().to_string(), free_port().to_string());
    let script =
        format!("trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\nexport CORK_LISTEN=127.0.0.1:7117\n{script}");
    run_script(&Sandbox::local(), &script.replace("7117", &port).replace("7118", &other))
}

/// A stream of events does not end, so it is cut off after a second.
fn cut_off(example: &str) -> String {
    assert_eq!(example.matches("curl ").count(), 1, "{example}");
    let example = example.replace("curl -N ", "curl -sN ").replace("curl -sN ", "curl -sN --max-time 1 ");
    format!("{} || test $? = 28\n", example.trim_end())
}

#[test]
fn the_examples_of_http_run() {
    let name = "docs/http.md";
    let mut script = String::new();
    for first in
        ["export CORK_STORE=sqlite:corkboard.db", "GATEWAY=", "H=\"Authorization: Bearer the-admins-secret\"", "TOOLS="]
    {
        script += &example(name, first);
    }
    script += "export CORK_TOKEN=the-admins-secret\ncork board create 'Add login' --id login\n";
    script += &cut_off(&example(name, "curl -N"));
    let ran = run_served(&script);
    for said in [
        "\"not_granted\"",
        "\"unauthenticated\"",
        "Deployments go out on Tuesdays",
        "Stored plan.",
        "Example of a correct call",
        "\"type\":\"board_created\"",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
}

/// The commands that make a certificate for this machine.
fn certificate() -> String {
    let text = example("docs/http.md", "openssl req");
    let (openssl, _) = text.split_once("\nCORK_TOKEN").unwrap();
    // It reports its progress on stderr.
    format!("{openssl} 2> /dev/null\n")
}

#[test]
fn the_example_of_tls_runs() {
    let text = example("docs/http.md", "openssl req");
    let (_, rest) = text.split_once("\nCORK_TOKEN").unwrap();
    let ran = run_served(&format!("{}CORK_TOKEN{}", certificate(), rest.replace("curl --cacert", "curl -s --cacert")));
    assert!(ran.stdout.contains("has no entries") && ran.stdout.contains("\"status\":\"ok\""), "{ran:?}");
}

#[test]
fn the_guide_to_deployment_runs() {
    let name = "docs/guides/deploy.md";
    let here = |text: String| {
        let moved = text.replace("/var/lib/corkboard", "store").replace("/etc/corkboard/", "");
        moved.replace("0.0.0.0", "127.0.0.1").replace("memory.example.org", "localhost")
    };
    let serve = here(example(name, "mkdir -p /var/lib/corkboard"));
    let client =
        here(example(name, "export CORK_URL=https://memory")).replace("CORK_TOKEN=…", "CORK_TOKEN=$CORK_TOKEN");
    let ready = "until curl -s -o /dev/null --cacert cert.pem https://localhost:7117/readyz; do sleep 0.1; done";
    let make = certificate();
    let ran = run_served(&format!("{make}export SSL_CERT_FILE=cert.pem\n{} &\n{ready}\n{client}", serve.trim_end()));
    assert!(ran.stdout.contains("encrypted: TLS") && ran.stdout.contains("\ncork_"), "{ran:?}");
}

#[test]
fn the_examples_of_tools_run() {
    let calls = "--stdin --conversation c-1 ";
    let text = example("docs/tools.md", "cork tools list");
    assert!(text.contains(calls), "{text}");
    let prepare = "export CORK_BOARD=auth-1a2b3c4d; cork board create Auth --id auth-1a2b3c4d; cork task add Schema\n";
    let ran =
        run_script(&Sandbox::local(), &format!("{prepare}{}", text.replace(calls, &format!("{calls}< /dev/null "))));
    assert!(ran.stdout.contains("Stored plan.") && ran.stdout.contains("T-1 is yours"), "{ran:?}");
}

#[test]
fn the_examples_of_notebooks_run() {
    let prepare = r"
for step in 1 2 3 4 5 6; do
  printf 'CURRENT_PROGRESS:\n  In Progress:\n    - step %s\n' $step | cork notebook apply -
done
cat > answer.md <<'ANSWER'
VERBATIM_CONTEXT:
  ADD:
    - because it is next: a.rs =>
      fn a() {}
    - because it is next: b.rs =>
      fn b() {}
ANSWER
";
    let ran =
        run_script(&Sandbox::local(), &format!("{prepare}{}", example("docs/notebook.md", "cork notebook apply")));
    assert!(ran.stdout.contains("VC-2 added: b.rs"), "{ran:?}");
}

#[test]
fn the_example_of_facts_about_the_user_runs() {
    let ran = run_script(&Sandbox::local(), &example("docs/tools.md", "cork tools call write_memory"));
    assert_eq!(ran.stdout.matches("Likes short answers").count(), 2, "{ran:?}");
}

#[test]
fn the_example_of_the_reference_server_runs() {
    let file = "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"likes tea\"]}";
    let example = example("docs/tools.md", "cork import --from mcp-memory");
    let ran = run_script(&Sandbox::local(), &format!("printf '%s' '{file}' > memory.jsonl\n{example}"));
    assert!(ran.stdout.contains("likes tea"), "{ran:?}");
}

#[test]
fn the_examples_of_stores_run() {
    let name = "docs/stores.md";
    let store = example(name, "cork --store sqlite:corkboard.db");
    let (compact, snapshot) = (example(name, "cork stats --all"), example(name, "head -c 32"));
    let ran = run_script(&Sandbox::local(), &format!("{store}cork memory set plan 1\n{compact}{snapshot}"));
    for said in ["no damage found", "nothing to trim", "encrypted with a key"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
}

#[test]
fn the_example_of_moving_runs() {
    let postgres = Harness::postgres("");
    let moving = example("docs/stores.md", "cork migrate").replace("postgres://cork@db/corkboard", &postgres.url());
    let ran = run_script(
        &Sandbox::local(),
        &format!("export CORK_STORE=sqlite:corkboard.db\ncork memory set plan 1\n{moving}"),
    );
    assert!(ran.stdout.contains("1 log"), "{ran:?}");
}

/// All examples of the guide: one server, a stream of events, and two servers on one database.
#[test]
fn the_guide_to_servers_runs() {
    let text = document("docs/guides/shared-memory.md");
    let examples: Vec<&str> = blocks(&text, "sh").into_iter().map(|(_, block)| block).collect();
    let [one, events, stop, several] = examples[..] else { panic!("{examples:?}") };
    let ran = run_served(&format!("{one}\n{}{stop}\n", cut_off(events)));
    for said in [r#""value":"Grace""#, "not_granted", "user_name  Grace", "\"type\":\"entry_set\""] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }

    let postgres = Harness::postgres("");
    let several = several
        .replace("createdb corkboard\n", "")
        .replace("postgres://localhost/corkboard", &format!("'{}'", postgres.url()));
    let ready = "for port in 7117 7118; do\n  until curl -s -o /dev/null http://127.0.0.1:$port/readyz; do sleep 0.1; done\ndone";
    let (serve, use_both) = several.split_once("\n\n").unwrap();
    let use_both = use_both.replace("--from-rev 0 ", "--from-rev 0 --limit 1 ");
    let ran = run_served(&format!("{serve}\n{ready}\n{use_both}\n"));
    assert!(ran.stdout.contains("user_name"), "{ran:?}");
}

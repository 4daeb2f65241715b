//! The documents' examples run, and their commands, paths and targets exist.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use corkboard_testing::servers::free_port;

use crate::support::{CORK, Ran, Sandbox, run};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The shell examples of a document, or of a part of it, as one script.
pub(crate) fn shell_examples(text: &str) -> String {
    text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Runs a script in an empty folder. It must succeed without errors or warnings.
pub(crate) fn run_script(sandbox: &Sandbox, script: &str) -> Ran {
    let mut command = sandbox.command("bash");
    let path = format!("{}:{}", Path::new(CORK).parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.args(["-euc", script]).env("PATH", path);
    let ran = run(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    ran
}

#[test]
fn the_readmes_shell_examples_run() {
    let examples = shell_examples(&document("README.md"));
    assert!(examples.contains("cork memory set"), "the README should have shell examples");
    // Stops the server even if the script fails.
    let script =
        format!("trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\nexport CORK_LISTEN=127.0.0.1:7117\n{examples}");
    let ran = run_script(&Sandbox::local(), &script.replace("7117", &free_port().to_string()));
    for said in ["prefers short answers", "Sessions in cookies, no JWT", "T-1 is completed", "\"is_update\":true"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
}

#[test]
fn the_guide_to_an_agents_memory_runs() {
    let ran = run_script(&Sandbox::local(), &shell_examples(&document("docs/guides/agent-memory.md")));
    assert!(ran.stdout.contains(r#"{"goal":"add login","steps":["schema","routes"]}"#), "{ran:?}");
    let (before, after) =
        ran.stdout.split_once("\n4\n").unwrap_or_else(|| panic!("four shells should count to four: {ran:?}"));
    assert!(!before.is_empty());
    // The first line explains the sections, and the first section is the handoff.
    let prompt = after.split_once("<").map_or("", |(_, sections)| sections);
    assert!(prompt.starts_with("handoff>\n  Login routes half done; next: their tests\n</handoff>\n"), "{after}");
}

/// It moves whole logs, which works only on a store, not through a server.
#[test]
fn the_guide_to_backups_runs() {
    let ran = run_script(&Sandbox::local(), &shell_examples(&document("docs/guides/backup.md")));
    for said in ["saved agent ada", "no damage found"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
}

#[test]
fn the_guide_to_boards_runs_in_an_empty_folder() {
    let ran = run_script(&Sandbox::new(), &shell_examples(&document("docs/guides/board-workers.md")));
    for said in [
        "has ended; outcome: success",
        "branch not taken",
        "done by",
        " moved T-",
        "D-1 is in lessons: E-1",
        "add-login-second-try-",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
}

#[test]
fn the_shell_examples_of_the_reference_run() {
    for (name, said) in [
        ("docs/cli.md", r#""goal":"add login""#),
        ("docs/errors.md", r#""code":"conflict""#),
        ("docs/limits.md", "limits.entries_per_agent"),
        ("docs/search.md", "automobile tyres"),
    ] {
        let ran = run_script(&Sandbox::local(), &shell_examples(&document(name)));
        assert!(ran.stdout.contains(said), "{name}: {ran:?}");
    }
}

#[test]
fn the_shell_examples_of_boards_run() {
    let sandbox = Sandbox::new();
    let ran = run_script(&sandbox, &shell_examples(&document("docs/boards.md")));
    for said in [
        "T-2 is completed",
        "C-1: cookie is chosen; T-5 is cancelled",
        "T-7 is failed",
        "D-2 is in house-rules: E-1",
        "rework:T-2 is refused",
        "D-2 is removed from house-rules: E-1 is deleted",
        "has ended; outcome: partial",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    let drawn = std::fs::read_to_string(sandbox.path().join("board.dot")).unwrap();
    assert!(drawn.starts_with("digraph board {"), "{drawn}");
}

#[test]
fn the_shell_examples_of_cores_run() {
    let ran = run_script(&Sandbox::new(), &shell_examples(&document("docs/cores.md")));
    for said in [
        "E-1 (merged with the entry of the same text)",
        "2 origins:",
        "E-1 is forgotten",
        "no matches",
        "E-1 is restored",
        "agent:ada",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
}

/// The names of commands in running text. A group must be followed by one of its commands.
#[test]
fn every_command_that_the_documents_name_exists() {
    let sandbox = Sandbox::new();
    let mut known: HashMap<Vec<String>, Option<String>> = HashMap::new();
    let mut help = |words: &[&str]| {
        let key = words.iter().map(|word| word.to_string()).collect();
        known
            .entry(key)
            .or_insert_with(|| {
                let ran = sandbox.cork(&[words, &["--help"]].concat());
                (ran.code == 0).then_some(ran.stdout)
            })
            .clone()
    };
    let mut checked = 0;
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "deploy/README.md",
        "docs/boards.md",
        "docs/cli.md",
        "docs/configuration.md",
        "docs/cores.md",
        "docs/errors.md",
        "docs/guarantees.md",
        "docs/guides/agent-memory.md",
        "docs/guides/backup.md",
        "docs/guides/board-workers.md",
        "docs/guides/deploy.md",
        "docs/guides/shared-memory.md",
        "docs/http.md",
        "docs/limits.md",
        "docs/models.md",
        "docs/notebook.md",
        "docs/scaling.md",
        "docs/search.md",
        "docs/stores.md",
        "docs/tools.md",
    ] {
        for quoted in document(name).split('`').skip(1).step_by(2) {
            let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
            let words: Vec<&str> = match quoted.strip_prefix("cork ") {
                Some(command) => command.split_whitespace().take_while(is_word).take(2).collect(),
                None => continue,
            };
            let [first, rest @ ..] = words.as_slice() else { continue };
            let group = help(&[first]).unwrap_or_else(|| panic!("{name} names {quoted}"));
            if let ([second, ..], true) = (rest, group.contains("\nCommands:\n")) {
                assert!(help(&[first, second]).is_some(), "{name} names {quoted}");
            }
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} were found");
}

#[test]
fn the_readme_is_finished() {
    let readme = document("README.md");
    let shouted = readme.split(|character: char| !character.is_ascii_uppercase() && character != '_');
    // The sections of a notebook's block.
    let meant = ["CURRENT_PROGRESS", "KEY_LEARNINGS", "VERBATIM_CONTEXT"];
    let is_left = |word: &&str| word.contains('_') && !word.starts_with("CORK_") && !meant.contains(word);
    let left: Vec<&str> = shouted.filter(is_left).collect();
    assert!(left.iter().all(|word| word.trim_matches('_').is_empty()), "{left:?}");
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let mut checked = 0;
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        for quoted in document(name).split('`').skip(1).step_by(2) {
            if quoted.starts_with("crates/") && !quoted.contains(' ') {
                assert!(root().join(quoted).exists(), "{name} names {quoted}");
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} paths were found");
}

#[test]
fn every_make_target_that_the_documents_name_exists() {
    let makefile = document("Makefile");
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        for quoted in document(name).split('`').skip(1).step_by(2) {
            for target in quoted.strip_prefix("make ").unwrap_or_default().split_whitespace() {
                let rule = format!("\n{target}:");
                assert!(makefile.contains(&rule), "{name} names `make {target}`, which does not exist");
            }
        }
    }
}

#[test]
fn the_pages_on_assistants_run() {
    let ran = run_script(&Sandbox::local(), &shell_examples(&document("docs/guides/assistants.md")));
    for said in ["Claude Code is set up", "write_memory", "Sessions in cookies, no JWT", "claim_task"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    for page in ["docs/mcp.md", "docs/mcp-clients.md"] {
        run_script(&Sandbox::local(), &shell_examples(&document(page)));
    }
}

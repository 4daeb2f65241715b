//! What the documents say can be done, and where things are, is so.

use std::path::{Path, PathBuf};

use crate::support::{CORK, Sandbox, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn the_readmes_shell_examples_run_as_they_stand() {
    let readme = document("README.md");
    let blocks = readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script: String = blocks.collect();
    assert!(script.contains("cork memory set"), "the README has shell examples");
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("bash");
    let path = format!("{}:{}", Path::new(CORK).parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.args(["-euc", &script]).env("PATH", path);
    let ran = run(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    for said in ["saved agent ada", r#"{"goal":"add login","steps":["schema","routes"]}"#, "no damage was found"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    let (before, after) =
        ran.stdout.split_once("\n4\n").unwrap_or_else(|| panic!("four shells count to four: {ran:?}"));
    assert!(!before.is_empty());
    // The first line says what the sections are; the first section is the handoff.
    let prompt = after.split_once("<").map_or("", |(_, sections)| sections);
    assert!(prompt.starts_with("handoff>\n  Login routes half done; next: their tests\n</handoff>\n"), "{after}");
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
            if let Some(target) = quoted.strip_prefix("make ") {
                let rule = format!("\n{target}:");
                assert!(makefile.contains(&rule), "{name} names make {target}");
            }
        }
    }
}

//! Help and completions. They need neither a store nor a server.

use crate::support::{Sandbox, run};

/// All commands, as `--help` lists them.
fn every_command(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = vec![vec![]];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        next += 1;
        let help = help(sandbox, &command, "-h");
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // A description may go on in the next line, further to the right.
        let names = listed.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
        found.extend(names.map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
    }
    found
}

fn help(sandbox: &Sandbox, command: &[String], flag: &str) -> String {
    let arguments: Vec<&str> = command.iter().map(String::as_str).chain([flag]).collect();
    sandbox.ok(&arguments)
}

#[test]
fn every_command_has_help_with_an_example() {
    let sandbox = Sandbox::local();
    let commands = every_command(&sandbox);
    assert!(commands.len() >= 25, "{commands:?}");
    for command in commands {
        for flag in ["-h", "--help"] {
            let text = help(&sandbox, &command, flag);
            let examples = text.split("Example").nth(1).unwrap_or_else(|| panic!("{command:?} has no example"));
            assert!(examples.contains(&format!("cork {}", command.join(" "))), "{command:?}: {examples}");
        }
    }
}

#[test]
fn help_tells_the_exit_codes() {
    let sandbox = Sandbox::local();
    let text = sandbox.ok(&["--help"]);
    let codes = text.split("Exit codes:\n").nth(1).unwrap();
    for code in 0..=8 {
        assert!(codes.lines().any(|line| line.starts_with(&format!("  {code}  "))), "{code} in {codes}");
    }
}

#[test]
fn completions_are_scripts() {
    let sandbox = Sandbox::local();
    let script = sandbox.ok(&["completions", "bash"]);
    let mut bash = sandbox.command("bash");
    bash.arg("-n");
    let checked = run(bash, script.as_bytes());
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
    let mut bash = sandbox.command("bash");
    bash.args([
        "-c",
        "source /dev/stdin; COMP_WORDS=(cork mem); COMP_CWORD=1; _cork cork mem cork; echo \"${COMPREPLY[@]}\"",
    ]);
    assert_eq!(run(bash, script.as_bytes()).stdout, "memory\n");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(sandbox.ok(&["completions", shell]).contains("snapshot"), "{shell}");
    }
}

#[test]
fn the_version_is_told() {
    let sandbox = Sandbox::local();
    assert_eq!(sandbox.ok(&["--version"]), format!("cork {}", env!("CARGO_PKG_VERSION")));
}

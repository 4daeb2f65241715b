//! Help and completions. They need neither a store nor a server.

use crate::support::{Sandbox, run};

/// All commands, as the help lists them.
fn every_command(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = vec![vec![]];
    let mut next = 0;
    while let Some(command) = found.get(next).cloned() {
        next += 1;
        let help = help(sandbox, &command, "-h");
        let first = if command.is_empty() { "Run:" } else { "Commands:" };
        let listed = help.lines().skip_while(|line| *line != first).skip(1).take_while(|line| !line.is_empty());
        // Group names are not indented; a description that continues in the next line is indented further.
        let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next());
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
    assert!(commands.len() >= 100, "{commands:?}");
    for command in commands {
        for flag in ["-h", "--help"] {
            let text = help(&sandbox, &command, flag);
            let examples = text.split("Example").nth(1).unwrap_or_else(|| panic!("{command:?} has no example"));
            assert!(examples.contains(&format!("cork {}", command.join(" "))), "{command:?}: {examples}");
            assert!(!text.contains("--principal <NAME>"), "{command:?} repeats the global options: {text}");
            assert!(text.contains("cork help options"), "{command:?}: {text}");
        }
        if !command.is_empty() {
            let words: Vec<&str> = ["help"].into_iter().chain(command.iter().map(String::as_str)).collect();
            assert_eq!(sandbox.ok(&words), help(&sandbox, &command, "--help"));
        }
    }
}

#[test]
fn the_list_of_commands_fits_on_a_screen() {
    let sandbox = Sandbox::local();
    let text = sandbox.ok(&["--help"]);
    assert!(text.lines().count() <= 50, "{}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for same in [&["-h"][..], &["help"]] {
        assert_eq!(sandbox.ok(same), text);
    }
}

#[test]
fn the_global_options_have_a_page() {
    let sandbox = Sandbox::local();
    let text = sandbox.ok(&["help", "options"]);
    for option in ["config", "setting", "store", "url", "agent", "board", "principal", "role", "json", "verbose"] {
        assert!(text.contains(&format!("--{option}")), "{option}: {text}");
    }
    for variable in ["CONFIG", "STORE", "URL", "AGENT", "BOARD", "LOG", "TOKEN"] {
        assert!(text.contains(&format!("CORK_{variable}")), "{variable}: {text}");
    }
    let ran = sandbox.cork(&["help", "frobnicate"]);
    assert!(ran.code == 2 && ran.stderr.contains("unrecognized subcommand 'frobnicate'"), "{ran:?}");
}

#[test]
fn the_exit_codes_have_a_page() {
    let sandbox = Sandbox::local();
    let text = sandbox.ok(&["help", "exit-codes"]);
    for code in (0..=9).chain([130]) {
        assert!(text.lines().any(|line| line.starts_with(&format!("  {code}  "))), "{code} in {text}");
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
    for (words, completed) in [("mem", "memory\n"), ("memory list --pri", "--principal\n")] {
        let last = words.rsplit(' ').next().unwrap();
        let count = words.split(' ').count();
        let mut bash = sandbox.command("bash");
        bash.arg("-c").arg(format!(
            "source /dev/stdin; COMP_WORDS=(cork {words}); COMP_CWORD={count}; _cork cork {last} x; echo \"${{COMPREPLY[@]}}\""
        ));
        assert_eq!(run(bash, script.as_bytes()).stdout, completed);
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.ok(&["completions", shell]);
        assert!(script.contains("snapshot") && script.contains("principal"), "{shell}");
    }
}

#[test]
fn the_version_is_printed() {
    let sandbox = Sandbox::local();
    assert_eq!(sandbox.ok(&["--version"]), format!("cork {}", env!("CARGO_PKG_VERSION")));
}

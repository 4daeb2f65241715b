//! `cork completions`: a script that lets a shell complete our commands.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::Output;

/// Print a script for your shell that completes cork's commands and options
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork completions bash > ~/.local/share/bash-completion/completions/cork
  cork completions zsh > ~/.zfunc/_cork
  cork completions fish > ~/.config/fish/completions/cork.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: Output) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "cork", &mut script);
        output.raw(&script)
    }
}

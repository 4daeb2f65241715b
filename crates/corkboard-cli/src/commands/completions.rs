//! `cork completions`: completion scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::Output;

/// Print a completion script for your shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork completions bash > ~/.local/share/bash-completion/completions/cork
  cork completions zsh > ~/.zfunc/_cork
  cork completions fish > ~/.config/fish/completions/cork.fish")]
pub(crate) struct Completions {
    /// Shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: Output) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "cork", &mut script);
        output.raw(&script)
    }
}

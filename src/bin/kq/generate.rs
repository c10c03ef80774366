//! Completion scripts, generated from the definition of the command line.

use crate::cli::Cli;
use crate::exit::{Code, Failure};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::io::Write;

/// Print the completion script of a shell
///
/// Examples:
///
///   kq completion bash > /etc/bash_completion.d/kq
///   kq completion zsh > "${fpath[1]}/_kq"
///   kq completion fish > ~/.config/fish/completions/kq.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionArgs {
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl CompletionArgs {
    /// Writes the completions.
    pub fn run(self) -> Result<Code, Failure> {
        let shell = match self.shell.as_str() {
            "bash" => Shell::Bash,
            "zsh" => Shell::Zsh,
            _ => Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut visible(Cli::command()), "kq", &mut script);
        std::io::stdout().lock().write_all(&script).map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

/// Returns the command line without its hidden commands, which scripts would offer.
fn visible(command: Command) -> Command {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set()).cloned();
    Command::new("kq").version(env!("CARGO_PKG_VERSION")).propagate_version(true).subcommands(shown)
}

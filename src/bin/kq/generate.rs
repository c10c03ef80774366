//! What is made from the definition of the command line: completions and man pages.

use crate::cli::Cli;
use crate::exit::{Code, Failure};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::PathBuf;

/// Print the completions for a shell
///
/// Examples:
///
///   kq completion bash > /etc/bash_completion.d/kq
///   kq completion zsh > "${fpath[1]}/_kq"
///   kq completion fish > ~/.config/fish/completions/kq.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionArgs {
    /// The shell
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
        clap_complete::generate(shell, &mut Cli::command(), "kq", &mut script);
        std::io::stdout().lock().write_all(&script).map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

/// Write the man pages into a folder
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder, which must exist
    folder: PathBuf,
}

impl ManArgs {
    /// Writes one page for every command.
    pub fn run(self) -> Result<Code, Failure> {
        clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), &self.folder)
            .map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

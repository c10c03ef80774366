//! What is made from the definition of the command line: completions and man pages.

use crate::cli::Cli;
use crate::exit::{Code, Failure};
use clap::CommandFactory;
use clap_complete::Shell;
use kq::edge::replace::replace_public;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
        clap_complete::generate(shell, &mut Cli::command(), "kq", &mut script);
        std::io::stdout().lock().write_all(&script).map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

/// Write the man pages into a directory
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The directory; it must exist
    folder: PathBuf,
}

impl ManArgs {
    /// Writes one page for every command.
    pub fn run(self) -> Result<Code, Failure> {
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        write_pages(&root, "kq", &self.folder).map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

fn write_pages(command: &clap::Command, name: &str, folder: &Path) -> io::Result<()> {
    let mut page = Vec::new();
    let source = concat!("kq ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone()).title(name).source(source).render(&mut page)?;
    let page = String::from_utf8_lossy(&page);
    replace_public(&folder.join(format!("{name}.1")), with_literal_examples(&page).as_bytes())
        .map_err(|error| error.error)?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

/// Keeps the lines of examples, which are indented, as they are: a man page would fill them.
fn with_literal_examples(page: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut literal = false;
    for line in page.lines() {
        let indented = line.starts_with("  ");
        if indented != literal {
            lines.push(if indented { ".nf" } else { ".fi" });
            literal = indented;
        }
        lines.push(line);
    }
    lines.join("\n") + "\n"
}

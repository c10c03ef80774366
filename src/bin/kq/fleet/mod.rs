//! `kq fleet`

mod ask;
mod question;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Ask many nodes the same question, and merge the answers
///
/// Examples:
///
///   kq fleet ask snapshots/ -- doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ask(Box<ask::Args>),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Ask(args) => args.run(),
        }
    }
}

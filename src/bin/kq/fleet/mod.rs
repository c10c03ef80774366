//! `kq fleet`

mod answer;
mod ask;
mod collect;
mod merged;
mod question;
mod run;
mod runner;
mod workers;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Ask many nodes the same question, and merge the answers
///
/// Examples:
///
///   kq fleet run --image registry.example/kq:0.1 -- doctor
///   kq fleet ask snapshots/ -- doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Collect(Box<collect::Args>),
    Ask(Box<ask::Args>),
    #[command(hide = true)]
    Answer(answer::Args),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Run(args) => args.run(),
            Command::Collect(args) => args.run(),
            Command::Ask(args) => args.run(),
            Command::Answer(args) => args.run(),
        }
    }
}

//! `kq cgroup`: cgroup values, planned, shared out and explained.

mod explain;
mod plan;
mod question;
mod shares;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Plan and explain cgroup values
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(plan::Args),
    Shares(shares::Args),
    Explain(explain::Args),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Plan(args) => args.run(),
            Command::Shares(args) => args.run(),
            Command::Explain(args) => args.run(),
        }
    }
}

//! `kq probe`: what the kubelet's probes say, and what follows.

mod simulate;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Run probes as the kubelet does, and foresee what follows
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(Box<simulate::Args>),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Simulate(args) => args.run(),
        }
    }
}

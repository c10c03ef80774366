//! `kq cgroup`: cgroup values, planned, explained and compared with the kernel.

mod apply;
pub mod diff;
mod explain;
pub mod gather;
mod plan;
mod plan_args;
mod rollback;
mod shares;
mod show;
mod throttling;
mod which;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Plan, explain and check cgroup values
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
    Show(show::Args),
    Throttling(throttling::Args),
    Diff(Box<diff::Args>),
    Apply(Box<apply::Args>),
    Rollback(Box<rollback::Args>),
    Which(which::Args),
}

impl Args {
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Plan(args) => args.run(),
            Command::Shares(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Show(args) => args.run(),
            Command::Throttling(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Apply(args) => args.run(),
            Command::Rollback(args) => args.run(),
            Command::Which(args) => args.run(),
        }
    }
}

//! `kq gc`

mod apply;
mod dry_run;
mod explain;
mod policy;
mod question;
mod record;
mod watch;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Predict, explain and run image garbage collection
///
/// The kubelet removes images when the disk is full or when they are unused for long. When the disk
/// is very full, it first removes dead containers. These commands predict its next actions from the
/// live runtime.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    DryRun(Box<dry_run::Args>),
    Explain(Box<explain::Args>),
    Apply(Box<apply::Args>),
    Images(Box<explain::ImagesArgs>),
    Lint(Box<policy::LintArgs>),
    Policy(Box<policy::Args>),
    Record(Box<record::Args>),
    Watch(Box<watch::Args>),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::DryRun(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Apply(args) => args.run(),
            Command::Images(args) => args.run(),
            Command::Lint(args) => args.run(),
            Command::Policy(args) => args.run(),
            Command::Record(args) => args.run(),
            Command::Watch(args) => args.run(),
        }
    }
}

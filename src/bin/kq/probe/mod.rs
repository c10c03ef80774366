//! `kq probe`

mod args;
mod lint;
mod plan;
mod repeat;
mod run;
mod simulate;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Run container probes as the kubelet does, and explain the consequences
///
/// The commands run a probe and give its verdict and reason, show the requests
/// and their timing, replay a sequence of results through the kubelet's worker,
/// and find unwise probe settings. Read docs/probe.md before you rely on them.
///
/// Examples:
///
///   kq probe run web-7d4b9 -c app --type liveness
///   kq probe run --http http://10.244.1.7:8080/healthz
///   kq probe plan web.yaml
///   kq probe lint web.yaml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Plan(Box<plan::Args>),
    Simulate(Box<simulate::Args>),
    Lint(Box<lint::Args>),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Run(args) => args.run(),
            Command::Plan(args) => args.run(),
            Command::Simulate(args) => args.run(),
            Command::Lint(args) => args.run(),
        }
    }
}

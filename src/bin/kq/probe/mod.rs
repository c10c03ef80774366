//! `kq probe`

mod comparison;
mod containers;
mod lint;
mod looker;
mod node;
mod plan;
mod pods;
mod rounds;
mod run;
mod simulate;
mod targets;
mod what_if;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Run the probes of containers as the kubelet does, and say what follows
///
/// One probe with its verdict and reason, what will be sent and when, what the kubelet's worker
/// makes of a sequence of results, and what is unwise in the probes of a pod. What an operator
/// must know before relying on it is in docs/probe.md.
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

//! `kq preempt`

mod apply;
mod explain;
mod lint;
mod why;

use self::apply::ApplyArgs;
use self::explain::ExplainArgs;
use self::lint::LintArgs;
use self::why::WhyArgs;
use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Show which pods the kubelet would preempt for a critical pod, or evict them
///
/// Examples:
///
///   kq preempt explain dns.yaml
///   kq preempt apply dns.yaml
///   kq preempt why shop/web-7d4b9
///   kq preempt lint
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Explain(Box<ExplainArgs>),
    Apply(Box<ApplyArgs>),
    Why(Box<WhyArgs>),
    Lint(Box<LintArgs>),
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Explain(args) => args.run(),
            Command::Apply(args) => args.run(),
            Command::Why(args) => args.run(),
            Command::Lint(args) => args.run(),
        }
    }
}

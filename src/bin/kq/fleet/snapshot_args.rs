//! The flags that name snapshots and choose among them.

use crate::exit::Failure;
use crate::source_args::parse_interval;
use kq_core::fleet::NodeOutcome;
use kq_k8s::label_selector::LabelSelector;
use kq_node::action::fleet::{SnapshotFleet, SnapshotOptions, SnapshotQuestion};
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Snapshots, one for each node.
#[derive(Clone, Debug, clap::Args)]
pub struct SnapshotArgs {
    /// Snapshots, and folders of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,

    /// Only nodes with these labels, such as pool=gpu; the syntax is kubectl's
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,

    /// The number of snapshots read at a time (default: one for each core)
    #[arg(long, value_name = "NUMBER")]
    parallel: Option<NonZero<usize>>,

    /// Time limit for each answer
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_interval)]
    pub timeout: Duration,
}

impl SnapshotArgs {
    /// Asks about each snapshot that is chosen, and passes the outcomes to `take` as they arrive, with their number so far.
    pub fn ask(
        &self,
        fleet: &SnapshotFleet,
        question: SnapshotQuestion,
        take: impl FnMut(usize, Option<NodeOutcome>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        let options = SnapshotOptions {
            parallel: self.parallel.unwrap_or_else(cores).get(),
            timeout: self.timeout,
        };
        let selector = self.selector.as_ref().map(ToString::to_string);
        fleet.ask(&SnapshotQuestion { selector, ..question }, &options, take)
    }
}

/// Refuses a selector that chooses no node.
pub fn no_such_node() -> Failure {
    Failure::usage(anyhow::anyhow!("no node has the labels that --selector names"))
        .hint("the labels are those of the Node object")
}

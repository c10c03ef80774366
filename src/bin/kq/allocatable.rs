//! `kq allocatable`

use crate::cgroup::gather::gather_node;
use crate::exit::{Code, Failure, tell};
use crate::node_args::NodeArgs;
use crate::output_format::{OutputFormat, formats};
use crate::source_args::SourceArgs;
use kq_core::question::allocatable::{allocatable_needs, node_allocatable, table, wide};

/// Show what a node has for pods: its capacity less the reservations
///
/// Allocatable is the capacity less kubeReserved, systemReserved and the hard
/// eviction thresholds; huge pages are taken out of the memory as well. The
/// scheduler places pods by it. With --capacity and --kubelet-config, kq queries
/// no node: the answer is for a node that does not exist yet. -o wide adds what
/// the Node object reports.
///
/// Exit code 0: answered. 3: the capacity or the configuration is unknown.
///
/// Examples:
///
///   kq allocatable
///   kq allocatable --capacity cpu=4,memory=16Gi --kubelet-config new.yaml
///   kq allocatable --node-file node.json --set systemReserved.memory=1Gi
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

impl Args {
    /// Gathers, computes and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let is_of_node = self.sources.live
            || self.sources.snapshot.is_some()
            || self.sources.first_given().is_some();
        let node = match is_of_node || !self.node.is_given() {
            true => gather_node(&self.sources, &self.node, allocatable_needs(), &[])?.checked()?,
            false => {
                self.sources.choose_notes();
                self.node.of_files()?.checked()?
            }
        };
        let report = node_allocatable(&node)?;
        self.output.write(&report, table, wide)?;
        if self.output.is_for_people() {
            tell(&report.basis);
        }
        Ok(Code::Answered.unless(!report.basis.missing.is_empty()))
    }
}

//! `kq gc lint`

use super::question::GcNodeArgs;
use crate::exit::{Code, Failure};
use crate::lint::{NAMES, show};
use crate::output_format::{OutputFormat, formats_with};
use kq::node::Needs;
use kq::question::image_gc::lint::{gc_lint, gc_lint_needs};

/// Find invalid, unwise or surprising garbage collection settings
///
/// lint compares the thresholds with those of eviction, which measures the same
/// disk, compares thresholds and ages with each other, and finds images that
/// would be removed unexpectedly early. The impact of each finding and its fix
/// are printed below the table, or in columns with -o wide.
///
/// Exit code 0: no warnings. 1: a setting does not have its expected effect. 3: no
/// warnings, and the configuration of this node's kubelet, its images or their
/// users are unknown.
///
/// Examples:
///
///   kq gc lint
///   kq gc lint --kubelet-config kubelet.yaml -o wide
///   kq gc lint --set imageGCHighThresholdPercent=95
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with(NAMES).and_lint())]
    output: OutputFormat,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let files = self.node.kubelet.is_config_given();
        let node = self.node.gather(Needs { files, ..gc_lint_needs() })?;
        let lint = gc_lint(&node);
        show(self.output, &lint, &lint.items, None)
    }
}

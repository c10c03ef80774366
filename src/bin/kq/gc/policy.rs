//! `kq gc policy` and `kq gc lint`

use super::question::GcNodeArgs;
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{OutputFormat, formats, formats_with};
use crate::write::{FINDING_NAMES, findings};
use kq_core::question::image_gc::lint::{gc_lint, gc_lint_needs};
use kq_core::question::image_gc::{gc_policy, gc_policy_needs};
use kq_facts::needs::Needs;
use kq_image_gc::policy_view::{table, wide};

/// Show the policy in force, the origin of each value, and the kubelet's errors
///
/// Exit code 0: a kubelet starts with this policy. 1: the kubelet rejects it; its
/// errors are shown. 3: the configuration of this node's kubelet is unknown, and
/// the defaults are shown.
///
/// Examples:
///
///   kq gc policy
///   kq gc policy --kubelet-config kubelet.yaml --set imageMaximumGCAge=24h
///   kq gc policy -o json | jq '.items[] | {name, value, origin}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats().and_metrics())]
    output: OutputFormat,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let files = self.node.kubelet.is_config_given();
        let node = self.node.gather(Needs { files, ..gc_policy_needs() })?;
        let policy = gc_policy(&node);
        self.output.write(&policy, table, wide)?;
        if self.output.is_for_people() {
            tell(&policy.basis);
            for error in &policy.errors {
                note("the kubelet refuses", error);
            }
        }
        Ok(match policy.is_accepted() {
            true => Code::Answered.unless(node.lacks_config()),
            false => Code::No,
        })
    }
}

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
pub struct LintArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with(FINDING_NAMES).and_lint())]
    output: OutputFormat,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl LintArgs {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let files = self.node.kubelet.is_config_given();
        let node = self.node.gather(Needs { files, ..gc_lint_needs() })?;
        let lint = gc_lint(&node);
        let flags = self.node.kubelet.sources.of_commands();
        findings(self.output, &lint, &lint.items, None, &flags)
    }
}

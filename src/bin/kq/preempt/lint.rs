//! `kq preempt lint`

use crate::exit::{Code, Failure};
use crate::node_args::KubeletNodeArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::write::{FINDING_NAMES, findings};
use kq_core::question::pod_selectors::PodSelectors;
use kq_core::question::preemption::{preemption_lint, preemption_lint_needs};
use kq_output::units::counted;

/// Find pods that their priority does not protect from the kubelet
///
/// Where the kubelet makes room for a critical pod, it ignores priorities below
/// 2000000000. lint lists the pods with such a priority, pods of DaemonSets that
/// are not critical, static pods with a priority in their manifest, and critical
/// pods without requests, which the kernel kills first when memory runs out. The
/// impact and the fix are printed below the table, or in columns with -o wide.
///
/// Exit code 0: no warnings. 1: a pod is less protected than expected. 3: no
/// warnings, and not all pods of the node are known.
///
/// Examples:
///
///   kq preempt lint
///   kq preempt lint -o wide --snapshot node.json.zst
///   kq preempt lint -n shop -l 'app in (cart,web)'
///   kq preempt lint pods.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LintArgs {
    /// Files with pods, read instead of the node's own, as with --pods
    #[arg(value_name = "FILE")]
    files: Vec<String>,

    /// The same, as kubectl has it
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    labels: LabelArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with(FINDING_NAMES).and_lint())]
    output: OutputFormat,

    #[command(flatten)]
    node: KubeletNodeArgs,
}

impl LintArgs {
    /// Runs the command.
    pub fn run(mut self) -> Result<Code, Failure> {
        self.node.sources.pods.extend(self.files.drain(..).chain(self.filename.drain(..)));
        let node = self.node.gather(preemption_lint_needs())?;
        let asked =
            PodSelectors::default().within(self.namespace.name(), self.labels.selector.as_ref())?;
        let selection = asked.selection_on(&node, [])?;
        let lint = preemption_lint(&node, &selection);
        let nothing = format!("nothing found in {}", counted(lint.pods, "pod"));
        let flags = self.node.sources.of_commands();
        findings(self.output, &lint, &lint.items, Some(nothing), &flags)
    }
}

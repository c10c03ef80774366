//! `kq why`

use crate::cgroup::gather::gather_node;
use crate::exit::{Code, Failure, tell};
use crate::node_args::NodeArgs;
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::{NamespaceArgs, TraceArgs};
use crate::progress::waiting;
use crate::source_args::{GATHERING, SourceArgs};
use crate::write::{about_node, fixes};
use anyhow::anyhow;
use kq_core::question::cgroup::Compared;
use kq_core::question::doctor::{PodReport, node_checks_needs, pod_report};
use kq_core::question::preemption::preemption_cause;
use kq_core::question::why::{PodWhy, table, wide};
use kq_facts::pod_selector::{PodSelector, Selection};
use kq_node::{filed_node, gather_traces};

/// Show what ended, refused, killed, throttled or delayed a pod
///
/// why puts together the answers of all domains about one pod. The pod's status,
/// its events and the kubelet's log say which component ended it or restarted its
/// containers, as kq preempt why reads them. The checks of the node that are about
/// the pod say what troubles it now: CPU throttling, OOM kills, a memory limit
/// that is near, a value that differs from the plan, a device that is gone, a probe
/// that fails, a sandbox that is missing. The first line is the answer.
///
/// With --pods, --events and --kubelet-log alone, the pod may be gone, and no node
/// is needed. What is not known is named with the flag that supplies it.
///
/// POD is NAME, NAMESPACE/NAME or a UID. Nothing is changed.
///
/// Exit code 0: something explains the pod's trouble. 1: nothing happened to it,
/// and no finding is about it. 3: the facts do not decide.
///
/// Examples:
///
///   kq why shop/checkout-6d5f7
///   kq why shop/web-7d4b9 --kubeconfig ~/.kube/config
///   kq why web-0 --snapshot node.json.zst
///   kq why web-0 --pods pods.json --events events.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The pod: NAME, NAMESPACE/NAME or UID
    #[arg(value_name = "POD", value_parser = PodSelector::parse)]
    pod: PodSelector,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    traces: TraceArgs,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

impl Args {
    /// Gathers what is left of the pod and what its node says, and shows it.
    pub fn run(self) -> Result<Code, Failure> {
        let pod = PodSelector::new(&self.namespace.qualify(&self.pod.to_string())?);
        let files = self.traces.files();
        let mut spec = self.sources.spec();
        if let Some(file) = &self.node.node_file {
            spec.node_name = Some(filed_node(file)?.object.metadata.name);
        }
        let traces = waiting(GATHERING, || {
            gather_traces(&spec, &pod, &files, &|snapshot| self.sources.show(snapshot))
        });
        let end = traces.and_then(|traces| preemption_cause(&traces, &pod));
        let node = spec.node_in_question(!files.events.is_empty(), false);
        let only_files = spec.snapshot.is_none() && !node.has_root();
        let report = match only_files && self.sources.pods.is_empty() {
            true => Err(Failure::missing(anyhow!("only files were read"))
                .hint("--live asks this machine as well")),
            false => self.report(&pod, only_files),
        };
        let answer = PodWhy::of(end, report)?;
        let flags = self.sources.of_commands();
        let table = |answer: &PodWhy| {
            let findings = about_node(&answer.findings, &flags);
            table(&PodWhy { findings, ..answer.clone() }, &flags)
        };
        self.output.write(&answer, table, |it| wide(it, &flags))?;
        if self.output.is_for_people() {
            tell(&answer.basis);
            fixes(&answer.findings, &flags);
        }
        Ok(match (answer.explains(), answer.is_incomplete()) {
            (true, _) => Code::Answered,
            (false, false) => Code::No,
            (false, true) => Code::Missing,
        })
    }

    /// Asks the node about the pod, or the files that describe it alone.
    fn report(&self, pod: &PodSelector, only_files: bool) -> Result<PodReport, Failure> {
        let mut needs = node_checks_needs();
        needs.only_on_node &= !only_files;
        let live = gather_node(&self.sources, &self.node, needs, &[])?;
        let compared = Compared::of(live, Selection::default())?;
        let is_stored = self.sources.snapshot.is_some();
        pod_report(&compared, &pod.to_string(), is_stored)
    }
}

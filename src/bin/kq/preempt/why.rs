//! `kq preempt why`

use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::{NamespaceArgs, TraceArgs};
use crate::progress::waiting;
use crate::source_args::{GATHERING, SourceArgs};
use kq_admission::preemption::why::view::{table, wide};
use kq_answer::Certainty;
use kq_core::question::preemption::preemption_cause;
use kq_facts::pod_selector::PodSelector;
use kq_node::{filed_node, gather_traces};

/// Show which component killed a pod, and for which other pod
///
/// The component is the scheduler, the kubelet, or another one. kq reads the
/// remaining evidence: the pod's status and conditions, its events, and the
/// kubelet's log. Each piece of evidence is a line with its text and its meaning,
/// followed by the answer and its certainty. An answer is certain if the evidence
/// forces it, likely if the evidence leaves another explanation, and possible if
/// an announced end has not happened. The answer names the evidence that would
/// make it more certain. The scheduler's event names the preempting pod. The
/// kubelet names it only in its log; without the log, kq lists the critical pods
/// that may have caused the preemption.
///
/// kq distinguishes a running pod from one whose container was restarted: by a
/// probe, for lack of memory, or because it exited.
///
/// With a kubeconfig (--kubeconfig, $KUBECONFIG), kq reads the pod, its events
/// and the pods of its node from the API server, on any machine. On the node
/// without a kubeconfig, kq reads the pods from the kubelet; the kubelet's own
/// credentials may not list events. With --pods or --events, kq reads only files
/// and reports the data they lack. Events are kept for an hour by default; a
/// snapshot holds those of its moment if it was taken with a kubeconfig.
///
/// POD is NAME, NAMESPACE/NAME or a UID. Nothing is changed.
///
/// Exit code 0: the pod was preempted, and the component is known or announced.
/// 1: it was not preempted. 3: the evidence does not decide.
///
/// Examples:
///
///   kq preempt why shop/web-7d4b9 --kubeconfig ~/.kube/config
///   journalctl -u kubelet -o cat > kubelet.log
///   kq preempt why shop/web-7d4b9 --kubelet-log kubelet.log
///   kq preempt why web-0 --pods pods.json --events events.json -o wide
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct WhyArgs {
    /// The pod: NAME, NAMESPACE/NAME or UID
    #[arg(value_name = "POD", value_parser = PodSelector::parse)]
    pod: PodSelector,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    traces: TraceArgs,

    /// The Node object of the pod's node (kubectl get node NAME -o json): it names the node
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    node_file: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

impl WhyArgs {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { pod, namespace, traces, node_file, sources, output } = self;
        let pod = PodSelector::new(&namespace.qualify(&pod.to_string())?);
        let files = traces.files();
        let mut spec = sources.spec();
        if let Some(file) = &node_file {
            spec.node_name = Some(filed_node(file)?.object.metadata.name);
        }
        let traces = waiting(GATHERING, || {
            gather_traces(&spec, &pod, &files, &|snapshot| sources.show(snapshot))
        })?;
        let answer = preemption_cause(&traces, &pod)?;
        let flags = sources.of_commands();
        output.write(&answer, |it| table(it, &flags), |it| wide(it, &flags))?;
        if output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(match answer.cause {
            cause if cause.is_preemption() => Code::Answered,
            cause if cause.is_open() || answer.certainty == Certainty::Possible => Code::Missing,
            _ => Code::No,
        })
    }
}

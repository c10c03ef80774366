//! `kq preempt explain`

use crate::exit::{Code, Failure, note, tell, warn};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::AdmissionArgs;
use crate::progress::Progress;
use kq_admission::preemption::view::{table, wide};
use kq_admission::preemption::{NodeAnswer, PreemptionResult, Trace, cluster_view};
use kq_answer::Basis;
use kq_core::question::admission::{Detail, preempt};
use kq_facts::pod_selector::is_file;
use kq_node::admission::cluster_preemption;
use std::collections::BTreeMap;

/// Show which pods this node's kubelet would preempt to admit a pod, and why
///
/// The answer shows whether the pod is critical, the resources it lacks, and the
/// victims in the order in which they are killed. It marks victims that turn out
/// to be unnecessary, and pods that the kubelet might choose instead: its order
/// among equal pods is random, and --order supplies it if it is known. -o wide
/// shows every round with the distance of each candidate, and the pods that are
/// exempt.
///
/// Nothing is changed. The kubelet checks no disruption budget, and does not
/// check again whether the pod fits once the victims are gone.
///
/// FILE is a manifest with one pod or one workload; for a workload, kq checks one
/// of its pods. POD is a pod of this node. With --pods and --node-file, kq reads
/// only files.
///
/// --all-nodes computes the cost of admitting the pod on every node of the
/// cluster, and lists the cheapest node first, in kube-scheduler's order except
/// for disruption budgets. kq reads the nodes and the pods of each from the API
/// server. For an answer from files, --node-file holds the list of nodes and
/// --pods the pods of all nodes.
///
/// Exit code 0: the pod is admitted, with or without victims; with --all-nodes:
/// by at least one node. 1: it is rejected, by all nodes. 3: required data is
/// unavailable.
///
/// Examples:
///
///   kq preempt explain dns.yaml
///   kq preempt explain dns.yaml -o wide
///   kq preempt explain agent.yaml --static --pods pods.json --node-file node.json
///   kq preempt explain dns.yaml --all-nodes --kubeconfig ~/.kube/config
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ExplainArgs {
    /// The pod, or a manifest file; - reads standard input
    #[arg(value_name = "POD|FILE", required_unless_present = "filename")]
    pod: Option<String>,

    #[command(flatten)]
    admission: AdmissionArgs,

    /// Compute the cost on every node of the cluster, and show the cheapest first
    #[arg(long, conflicts_with = "order")]
    all_nodes: bool,

    /// The kubelet's order of the pods: NAMESPACE/NAME; other pods come after them (default: the order
    /// of their names)
    #[arg(long, value_name = "POD", value_delimiter = ',')]
    order: Vec<String>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

impl ExplainArgs {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let name = self.admission.named.one(self.pod.as_deref())?.unwrap_or_default();
        if self.all_nodes {
            return self.all_nodes(&name);
        }
        let order = self.admission.named.namespace.qualify_all(&self.order)?;
        let (about, pod) = self.admission.gather(&name)?;
        let trace = if self.output == OutputFormat::Table { Trace::Chosen } else { Trace::Visits };
        let detail = Detail { trace, ledger: !self.output.is_for_people() };
        let answer = preempt(&about, &pod, &order, detail)?;
        self.output.write(&answer, table, wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
            let is_file_pod = is_file(&name) && !answer.preemption.critical.value;
            if is_file_pod && answer.preemption.result == PreemptionResult::Refused {
                note(
                    "hint",
                    "a Pod in the kubelet's static pod directory would be critical: --static",
                );
            }
        }
        Ok(match answer.admission.verdict(&answer.basis) {
            None => Code::Missing,
            Some(true) if answer.start_error.is_none() => Code::Answered,
            Some(_) => Code::No,
        })
    }

    fn all_nodes(&self, name: &str) -> Result<Code, Failure> {
        let progress = Progress::of("nodes");
        let show = |done, all| progress.show(done, all);
        let answer = cluster_preemption(&self.admission.options()?, name, show)?;
        drop(progress);
        self.output.write(&answer, cluster_view::table, cluster_view::wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
            tell_of_nodes(&answer.nodes);
        }
        Ok(match () {
            () if answer.lacks_facts() => Code::Missing,
            () if answer.is_taken() => Code::Answered,
            () => Code::No,
        })
    }
}

fn shown(notes: &[impl ToString]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

/// Writes the basis of the nodes' answers: each text once, with the nodes.
fn tell_of_nodes(nodes: &[NodeAnswer]) {
    let of = |texts: fn(&Basis) -> Vec<String>, say: &dyn Fn(&str)| {
        let mut of_text: Vec<(String, Vec<&str>)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for node in nodes {
            for text in texts(&node.basis) {
                let place = *places.entry(text.clone()).or_insert_with(|| {
                    of_text.push((text, Vec::new()));
                    of_text.len() - 1
                });
                if let Some((_, nodes)) = of_text.get_mut(place) {
                    nodes.push(&node.node);
                }
            }
        }
        for (text, nodes) in of_text {
            let which = match nodes.as_slice() {
                [one] => format!("node {one}"),
                [one, other] => format!("nodes {one}, {other}"),
                [one, other, more @ ..] => {
                    format!("nodes {one}, {other} and {} more", more.len())
                }
                [] => continue,
            };
            say(&format!("{which}: {text}"));
        }
    };
    of(|basis| shown(&basis.assumptions), &|text| note("assumed", text));
    of(|basis| shown(&basis.warnings), &warn);
    of(|basis| shown(&basis.missing), &|text| note("missing", text));
}

//! `kq preempt explain`

use super::all_nodes;
use crate::admission_node::{AdmissionArgs, Detail, Planned, plan};
use crate::exit::{Code, Failure, note, tell};
use crate::form::Form;
use crate::pod_selectors::is_file;
use anyhow::anyhow;
use kq::admission::{NodePod, qualified};
use kq::facts::pod_selector::nearest_pod;
use kq::preemption::view::{table, wide};
use kq::preemption::{PodPreemption, PreemptionExplanation, PreemptionResult, Trace};
use std::collections::{BTreeMap, BTreeSet};

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
    #[arg(value_name = "POD|FILE")]
    pod: String,

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
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,
}

impl ExplainArgs {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        if self.all_nodes {
            return all_nodes::explain(&self.admission, &self.pod, self.output);
        }
        let (about, pod) = self.admission.gather(&self.pod)?;
        let trace = if self.output == Form::Table { Trace::Chosen } else { Trace::Visits };
        let detail = Detail { trace, ledger: !self.output.is_for_people() };
        let planned = plan(&about, &pod, |others| sort(others, &self.order), detail)?;
        let Planned { admission, preemption, mut basis, .. } = planned;
        basis.assume_all(random_order(&preemption, &self.order));
        let answer = PodPreemption::new(preemption, admission, basis);
        self.output.write(&answer, table, wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
            let is_file_pod = is_file(&self.pod) && !answer.preemption.critical.value;
            if is_file_pod && answer.preemption.result == PreemptionResult::Refused {
                note("hint", "a Pod in the kubelet's folder would be critical: --static");
            }
        }
        Ok(match answer.preemption.result {
            _ if !answer.basis.missing.is_empty() => Code::Missing,
            PreemptionResult::Fits | PreemptionResult::Preempts => Code::Answered,
            PreemptionResult::Refused | PreemptionResult::NotEnough => Code::No,
        })
    }
}

/// Returns what is to be said where the order of pods decided that nobody told.
pub(super) fn random_order(preemption: &PreemptionExplanation, order: &[String]) -> Option<String> {
    let order: BTreeSet<&str> = order.iter().map(String::as_str).collect();
    let is_told = |pod: &str| order.contains(pod);
    let mut tied = preemption.victims.iter().filter(|it| !it.ties.is_empty());
    tied.any(|it| !is_told(&it.pod) || !it.ties.iter().all(|tie| is_told(tie))).then(|| {
        "among equals the pods are in the order of their names; the kubelet's is random (--order)".to_owned()
    })
}

/// Puts the pods in the order that is known, and those that are not named in that of their
/// names.
pub(super) fn sort(pods: &mut [NodePod<'_>], order: &[String]) -> Result<(), Failure> {
    let mut places = BTreeMap::new();
    if !order.is_empty() {
        let names: BTreeSet<String> = pods.iter().map(|it| qualified(it.pod)).collect();
        let near = |name: &str| nearest_pod(name, pods.iter().map(|it| it.pod));
        for (place, name) in order.iter().enumerate() {
            if !names.contains(name) {
                let refuse = anyhow!("--order: no other pod of this node is {name}");
                return Err(Failure::usage(refuse).hint(match near(name) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => "pods are named NAMESPACE/NAME, as -o wide shows them".to_owned(),
                }));
            }
            if places.insert(name.as_str(), place).is_some() {
                return Err(Failure::usage(anyhow!("--order: {name} is there twice")));
            }
        }
    }
    pods.sort_by_cached_key(|it| {
        let name = qualified(it.pod);
        (places.get(name.as_str()).copied().unwrap_or(usize::MAX), name)
    });
    Ok(())
}

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

/// Show whom this node's kubelet would kill to take in a pod, and why them
///
/// Whether the pod is critical, what it lacks, and the victims in the order in which they are
/// killed. A victim that is not needed in hindsight is marked, and so are pods that could go in
/// its place: the kubelet's order among equals is random, --order says it where it is known. -o
/// wide shows every round with the distance of each candidate, and who is spared.
///
/// Nothing is changed. The kubelet asks no disruption budget, and does not look again whether
/// the pod fits once they are gone.
///
/// FILE is a manifest with one pod, or with a workload, of which one pod is asked about; POD is a
/// pod of this node. With --pods and --node-file
/// nothing is looked at but files.
///
/// With --all-nodes every node of the cluster is asked: what taking in the pod there would cost, the
/// cheapest first, in kube-scheduler's order but for disruption budgets. The API server is asked for the
/// nodes and the pods of each; from files, --node-file has the list of nodes and --pods the pods of all.
///
/// Exit code 0: it is taken, with or without victims; with --all-nodes: by one node at least. 1: it is
/// refused, by all nodes. 3: a fact is missing.
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
    /// The pod, or a file with it; - is standard input
    #[arg(value_name = "POD|FILE")]
    pod: String,

    #[command(flatten)]
    admission: AdmissionArgs,

    /// Ask every node of the cluster, and show the cheapest first
    #[arg(long, conflicts_with = "order")]
    all_nodes: bool,

    /// The order of the pods as the kubelet has them: NAMESPACE/NAME, those that are not named come
    /// after; else the order of their names
    #[arg(long, value_name = "POD", value_delimiter = ',')]
    order: Vec<String>,

    /// How to show the answer
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
        basis.assumptions.extend(random_order(&preemption, &self.order));
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

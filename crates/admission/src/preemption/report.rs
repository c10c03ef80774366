//! The answer about victims, in the fields of its JSON.

use super::reason::{CriticalReason, PreemptionReason, SparedReason};
use super::victims::VisitResult;
use crate::{Explanation, Refusal};
use kq_answer::{Basis, Headline, Worded, answer};
use kq_k8s::pod::ResourceName;
use serde::Serialize;
use std::sync::Arc;

/// `kq preempt explain`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodPreemption {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    pub node: String,
    /// The answer.
    #[serde(flatten)]
    pub preemption: PreemptionExplanation,
    /// The results of the checks before any preemption.
    pub admission: Explanation,
    /// Why no kubelet admits it: none is known to run, and it does not start; absent: nothing that was checked stops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_error: Option<String>,
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PodPreemption", PodPreemption; PodPreemption::headline);

impl PodPreemption {
    /// Returns what the kubelet does for the pod.
    pub fn headline(&self) -> Headline {
        if let Some(error) = &self.start_error {
            let text = format!("{}: not admitted: {error}", self.pod);
            return Headline::new("no-start", text);
        }
        if self.admission.open_check().is_some() {
            return self.admission.headline();
        }
        let because = &self.preemption.because;
        Headline::of(&self.preemption.result, format!("{} on {}: {because}", self.pod, self.node))
    }
}

impl PodPreemption {
    /// Puts an answer together.
    pub fn new(preemption: PreemptionExplanation, admission: Explanation, basis: Basis) -> Self {
        let (pod, node) = (admission.pod.clone(), admission.node.clone());
        Self { pod, node, preemption, admission, start_error: None, basis }
    }
}

/// What the kubelet does about a pod that does not fit.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionExplanation {
    /// Whether the pod is critical, and why.
    pub critical: Reasoned,
    pub result: PreemptionResult,
    /// Why.
    pub because: Worded<PreemptionReason>,
    /// The possible rejection messages; the kubelet reports one of them at random.
    pub refusals: Vec<Refusal>,
    /// What is missing.
    pub requirements: Vec<Missing>,
    /// The shortfall if all possible victims are killed; empty if that is enough.
    pub not_enough: Vec<Missing>,
    /// The classes in the order in which victims are looked for.
    pub stages: Vec<StageExplained>,
    /// Victims, in the order in which they are killed.
    pub victims: Vec<Victim>,
    /// Spared pods, each with the reason.
    pub spared: Vec<Spared>,
}

/// A yes or no with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Reasoned {
    /// Yes or no.
    pub value: bool,
    /// Why.
    pub because: Worded<CriticalReason>,
}

/// The result for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreemptionResult {
    /// It fits, and no pod is killed.
    Fits,
    /// Refused: without preemption (not critical), or although other pods were killed.
    Refused,
    /// Others are killed, and it is admitted.
    Preempts,
    /// It is refused: killing all possible victims is not enough.
    NotEnough,
}

/// What is missing of a resource: thousandths of a CPU, pods, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Missing {
    /// Of what.
    pub resource: ResourceName,
    /// How much.
    pub quantity: i64,
}

/// Looking for victims in one class.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageExplained {
    /// The class.
    pub qos_class: &'static str,
    /// What this class has to give.
    pub requirements: Vec<Missing>,
    /// One victim each.
    pub rounds: Vec<RoundExplained>,
}

/// Looking for one victim.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundExplained {
    /// What is missing.
    pub requirements: Vec<Missing>,
    /// The pods in the order in which they are visited; empty where those of all rounds are too many.
    pub candidates: Vec<CandidateExplained>,
    /// The victim.
    pub chosen: String,
    pub distance: f64,
    /// Others that are equal in all that is compared; only the order of the pods decides.
    pub ties: Vec<Arc<str>>,
    /// What is missing then.
    pub remaining: Vec<Missing>,
}

/// Looking at one pod.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateExplained {
    pub pod: Arc<str>,
    /// The sum of ((missing - given) / missing)^2 over what is missing.
    pub distance: f64,
    /// How it compares to the best before it.
    pub result: VisitResult,
}

/// Who is killed.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Victim {
    pub pod: String,
    pub uid: String,
    /// Its class.
    pub qos_class: &'static str,
    pub priority: Option<i32>,
    /// What it gives back.
    pub gives: Vec<Missing>,
    /// How long it may take to stop: its own grace period; 0 when it has none.
    pub grace_period_seconds: i64,
    /// How long the kubelet waits for it at the most.
    pub waits_seconds: i64,
    /// What is still missing when it and those before it are gone.
    pub remaining: Vec<Missing>,
    /// The others alone would have been enough.
    pub unneeded: bool,
    /// Others might be killed in its place: the kubelet's order among equals is random.
    pub ties: Vec<Arc<str>>,
    /// How many more were equal at its turn, where they are too many to name; never in JSON, which names
    /// all of them.
    #[serde(skip)]
    pub more_ties: usize,
    /// What is written to its status.
    pub status: WrittenExplained,
}

/// What is written to the status of a victim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenExplained {
    /// `Failed`
    pub phase: &'static str,
    pub reason: &'static str,
    pub message: &'static str,
    pub condition: ConditionExplained,
}

/// A condition that is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionExplained {
    /// `DisruptionTarget`
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `True`
    pub status: &'static str,
    pub reason: &'static str,
    pub message: String,
    /// The generation of the pod that it is about; null: such a kubelet does not report it, or the pod has none.
    pub observed_generation: Option<i64>,
    /// It was `True` before, and keeps its time.
    pub keeps_transition_time: bool,
}

/// Who is not killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spared {
    pub pod: String,
    /// Why.
    pub because: Worded<SparedReason>,
}

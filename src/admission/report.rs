//! The answer about a pod, in the fields of its JSON.

use super::examine::Refusal;
use super::reason::{AmountReason, CheckReason, RemovedReason};
use crate::answer::{Basis, Worded, answer};
use crate::facts::node_pods::StandingReason;
use serde::Serialize;

/// `kq admit explain`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodAdmission {
    /// The answer.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// What it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PodAdmission", PodAdmission);

impl PodAdmission {
    /// Puts an answer together.
    pub fn new(explanation: Explanation, basis: Basis) -> Self {
        Self { explanation, basis }
    }
}

/// Whether a node's kubelet takes a pod, and why.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// The node.
    pub node: String,
    /// It is taken.
    pub admitted: bool,
    /// What the kubelet says of it otherwise; of several, one, which is left to chance.
    pub refusals: Vec<Refusal>,
    /// Whom the kubelet kills before it takes the pod, or refuses it: `kq preempt explain`.
    pub kills: Vec<String>,
    /// Every check in the kubelet's order.
    pub checks: Vec<Check>,
    /// What is compared.
    pub resources: Vec<Compared>,
    /// Who requests what.
    pub ledger: Vec<LedgerLine>,
    /// Requests that do not count.
    pub removed_requests: Vec<Removed>,
}

impl Explanation {
    /// Puts in what became of it once others were asked to make room.
    pub fn with_room(mut self, refusals: Vec<Refusal>, kills: Vec<String>) -> Self {
        self.admitted = refusals.is_empty();
        (self.refusals, self.kills) = (refusals, kills);
        self
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What is checked: a predicate of the scheduler by its name there, the others by one of kq.
    pub check: &'static str,
    /// What it says.
    pub result: CheckResult,
    /// Why.
    pub because: Worded<CheckReason>,
}

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CheckResult {
    /// Nothing against the pod.
    Pass,
    /// It refuses the pod.
    Fail,
    /// Another one refused the pod before.
    Skipped,
}

/// A resource that is compared: thousandths of a CPU, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// Which.
    pub resource: String,
    /// What the pod requests.
    pub requested: i64,
    /// How it adds up.
    pub because: Worded<AmountReason>,
    /// What the other pods request.
    pub used: i64,
    /// What the node has; `None` where the Node object does not name it.
    pub capacity: Option<i64>,
    /// What of it is not for pods: capacity - allocatable.
    pub reserved: Option<i64>,
    /// What is for pods. The kubelet's message calls this the capacity.
    pub allocatable: i64,
    /// What is left: allocatable - used.
    pub free: i64,
    /// What is missing; 0 where it is enough.
    pub missing: i64,
}

/// What a pod requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerLine {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// Its phase.
    pub phase: String,
    /// It counts.
    pub counts: bool,
    /// Why, or why not.
    pub why: Worded<StandingReason>,
    /// Its amounts of the resources that are compared.
    pub amounts: Vec<LedgerAmount>,
}

/// What a pod requests of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerAmount {
    /// Which.
    pub resource: String,
    /// How much.
    pub amount: i64,
    /// How it adds up.
    pub because: Worded<AmountReason>,
}

/// A request that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// The container.
    pub container: String,
    /// The resource.
    pub resource: String,
    /// Why.
    pub because: Worded<RemovedReason>,
}

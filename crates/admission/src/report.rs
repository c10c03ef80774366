//! The answer about a pod, with the fields of its JSON.

use super::examine::Refusal;
use super::reason::{AmountReason, CheckReason, RemovedReason};
use kq_answer::{Basis, Headline, Missing, MissingFact, Worded, answer};
use kq_facts::node_pods::StandingReason;
use kq_k8s::pod::ResourceName;
use serde::{Serialize, Serializer};

/// `kq admit explain`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodAdmission {
    /// The answer.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Why no kubelet admits it: none is known to run, and it does not start. The checks are those of one that does; absent:
    /// nothing that was checked stops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_error: Option<String>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PodAdmission", PodAdmission; PodAdmission::headline);

impl PodAdmission {
    /// Returns the kubelet's verdict.
    pub fn headline(&self) -> Headline {
        match &self.start_error {
            Some(error) => {
                let text = format!("{}: not admitted: {error}", self.explanation.pod);
                Headline::new("no-start", text)
            }
            None => self.explanation.headline(),
        }
    }
}

impl Explanation {
    /// Returns the kubelet's verdict.
    pub fn headline(&self) -> Headline {
        let Self { pod, node, refusals, kills, .. } = self;
        let after = match kills.len() {
            0 => String::new(),
            1 => format!(" after the kubelet killed {} for it", kills.concat()),
            count => format!(" after the kubelet killed {count} pods for it (kq preempt explain)"),
        };
        match refusals.as_slice() {
            [] => match self.open_check() {
                None => Headline::good("admitted", format!("{pod}: admitted on {node}{after}")),
                Some(Check { check, because, .. }) => Headline::new(
                    "unknown",
                    format!(
                        "{pod}: not known whether {node} admits it: {}: {because}",
                        check.name()
                    ),
                ),
            },
            [Refusal { reason, message, .. }] => {
                let text = format!("{pod}: refused by {node}{after}: {reason}: {message}");
                Headline::new("refused", text)
            }
            _ => {
                let of_these = "for one of these in no fixed order:";
                Headline::new("refused", format!("{pod}: refused by {node}, {of_these}"))
            }
        }
    }
}

impl PodAdmission {
    /// Puts an answer together.
    pub fn new(explanation: Explanation, basis: Basis) -> Self {
        Self { explanation, start_error: None, basis }
    }
}

/// Whether a node's kubelet admits a pod, and why.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    pub node: String,
    /// Whether the kubelet admits the pod; null: not known, as a check is UNKNOWN and none refuses the pod.
    pub admitted: Option<bool>,
    /// The kubelet's refusal; of several, one, in no fixed order.
    pub refusals: Vec<Refusal>,
    /// The pods that the kubelet kills before it admits or refuses the pod: `kq preempt explain`.
    pub kills: Vec<String>,
    /// Every check in the kubelet's order.
    pub checks: Vec<Check>,
    /// The compared resources.
    pub resources: Vec<Compared>,
    /// The requests of each pod.
    pub ledger: Vec<LedgerLine>,
    /// Requests that do not count.
    pub removed_requests: Vec<Removed>,
}

impl Explanation {
    /// Returns whether the pod is admitted; `None`: a fact that decides is missing. No pressure takes a refusal back.
    pub fn verdict(&self, basis: &Basis) -> Option<bool> {
        let is_refused = self.admitted == Some(false);
        let decides = |it: &Missing| !is_refused || it.fact != MissingFact::Pressure;
        self.admitted.filter(|_| !basis.missing.iter().any(decides))
    }

    /// Returns the unknown check that leaves open whether the pod is admitted; `None`: it is known.
    pub fn open_check(&self) -> Option<&Check> {
        let mut checks = self.checks.iter().filter(|_| self.refusals.is_empty());
        checks.find(|it| it.result == CheckResult::Unknown)
    }

    /// Sets the outcome of the preemption.
    pub fn with_room(mut self, refusals: Vec<Refusal>, kills: Vec<String>) -> Self {
        self.admitted = admitted(&refusals, &self.checks);
        (self.refusals, self.kills) = (refusals, kills);
        self
    }
}

/// Returns whether a pod is admitted; `None`: a check is unknown.
pub(super) fn admitted(refusals: &[Refusal], checks: &[Check]) -> Option<bool> {
    let is_open = checks.iter().any(|it| it.result == CheckResult::Unknown);
    (!refusals.is_empty() || !is_open).then_some(refusals.is_empty())
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The check: a predicate of the scheduler by its name there, another check by kq's name.
    pub check: CheckName,
    pub result: CheckResult,
    /// Why.
    pub because: Worded<CheckReason>,
}

/// A check by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckName {
    Pressure,
    Manifest,
    Placement,
    Sysctls,
    Devices,
    #[default]
    Node,
    OsLabel,
    Os,
    SupplementalGroups,
    Sidecars,
    DevicePlugins,
    Resources,
    NodeAffinity,
    NodeName,
    NodePorts,
    TaintToleration,
    PodLevelResources,
}

impl CheckName {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pressure => "pressure",
            Self::Manifest => "manifest",
            Self::Placement => "placement",
            Self::Sysctls => "sysctls",
            Self::Devices => "devices",
            Self::Node => "node",
            Self::OsLabel => "osLabel",
            Self::Os => "os",
            Self::SupplementalGroups => "supplementalGroups",
            Self::Sidecars => "sidecars",
            Self::DevicePlugins => "devicePlugins",
            Self::Resources => "resources",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodeName => "NodeName",
            Self::NodePorts => "NodePorts",
            Self::TaintToleration => "TaintToleration",
            Self::PodLevelResources => "podLevelResources",
        }
    }
}

impl Serialize for CheckName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

kq_k8s::schema_as!(CheckName, String);

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CheckResult {
    /// It passes.
    Pass,
    /// It refuses the pod.
    Fail,
    /// An earlier check refused the pod.
    Skipped,
    /// A fact that decides is missing.
    Unknown,
}

/// A compared resource: thousandths of a CPU, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    pub resource: ResourceName,
    /// The pod's requests.
    pub requested: i64,
    /// How it adds up.
    pub because: Worded<AmountReason>,
    /// The requests of the other pods.
    pub used: i64,
    /// The node's capacity; null: not in the Node object.
    pub capacity: Option<i64>,
    /// The part that is not for pods: capacity - allocatable.
    pub reserved: Option<i64>,
    /// The part for pods. The kubelet's message calls this the capacity.
    pub allocatable: i64,
    /// The available part: allocatable - used.
    pub free: i64,
    /// The shortfall; 0: enough.
    pub missing: i64,
}

/// The requests of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerLine {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    pub phase: String,
    /// It counts.
    pub counts: bool,
    /// Why, or why not.
    pub why: Worded<StandingReason>,
    /// Its amounts of the compared resources.
    pub amounts: Vec<LedgerAmount>,
}

/// The request of a pod for a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerAmount {
    pub resource: ResourceName,
    pub amount: i64,
    /// How it adds up.
    pub because: Worded<AmountReason>,
}

/// A request that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    pub container: String,
    pub resource: ResourceName,
    /// Why.
    pub because: Worded<RemovedReason>,
}

//! Who is picked, class by class and round by round (`getPodsToPreempt`).
//!
//! A pod that may have to go, with all that is asked about it when victims are picked: found out once,
//! for any number of preemptions.

use super::search::{Candidate, Search};
use crate::derivation::rounded;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::priority::is_preemptable;
use kq_k8s::qos::{QosClass, recorded_qos_class};
use kq_k8s::resources::{kubelet_request, kubelet_requests};
use std::fmt;

/// What is missing of a resource: thousandths of a CPU, pods, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub resource: ResourceName,
    pub quantity: i64,
}

/// Requirements in the order of the failures that they come from; printed as the kubelet does in its
/// errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements(pub Vec<Requirement>);

impl fmt::Display for Requirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for Requirement { resource, quantity } in &self.0 {
            write!(f, "(res: {resource}, q: {quantity}), ")?;
        }
        f.write_str("]")
    }
}

/// Returns what a pod gives back of a resource when it is killed (`GetResourceRequest`,
/// `pkg/api/v1/resource/helpers.go`): one pod, thousandths of a CPU, else whole units.
pub fn preemption_request(pod: &Pod, resource: &ResourceName, rules: &KubeletRules) -> i64 {
    if resource.as_str() == "pods" {
        return 1;
    }
    rounded(resource, &kubelet_request(pod, resource, rules))
}

/// Returns the distance of amounts to the requirements, in the same order (`admissionRequirementList.distance`): the
/// sum of the squares of the missing fractions. 0 means that all are met; a surplus does not count.
pub fn distance(requirements: &[Requirement], gives: &[i64]) -> f64 {
    shortfall(requirements.iter().map(|it| it.quantity).zip(gives.iter().copied()))
}

/// The same of pairs: what is missing, and what is given of it.
pub(super) fn shortfall(pairs: impl Iterator<Item = (i64, i64)>) -> f64 {
    let mut sum = 0.0;
    for (quantity, gives) in pairs {
        let stays = quantity.wrapping_sub(gives);
        if stays > 0 {
            let part = stays as f64 / quantity as f64;
            sum += part * part;
        }
    }
    sum
}

/// Returns what is still missing of a quantity when amounts are given one after the other
/// (`admissionRequirementList.subtract`); `None` when nothing is. Once it is met, later amounts do not
/// count, not even negative ones.
pub fn subtract(quantity: i64, gives: impl IntoIterator<Item = i64>) -> Option<i64> {
    let mut stays = quantity;
    for gives in gives {
        stays = stays.wrapping_sub(gives);
        if stays <= 0 {
            return None;
        }
    }
    (stays > 0).then_some(stays)
}

/// Returns true if of two pods that are equally near the first asks for no more than the second
/// (`smallerResourceRequest`): of memory, then of CPU. Given as memory and CPU of each.
pub fn requests_no_more(first: (i64, i64), second: (i64, i64)) -> bool {
    first <= second
}

/// How the victims were found. Pods are named by their indices in the given list.
#[derive(Clone, Debug, PartialEq)]
pub struct Preemption {
    /// What is missing.
    pub requirements: Vec<Requirement>,
    /// Those that the pod may not take the place of, and those of no known class.
    pub spared: Vec<usize>,
    /// Those that it may, by class.
    pub best_effort: Vec<usize>,
    /// The same of class Burstable.
    pub burstable: Vec<usize>,
    /// The same of class Guaranteed.
    pub guaranteed: Vec<usize>,
    /// The classes in the order in which victims are looked for: Guaranteed, Burstable, BestEffort. None
    /// when all pods together are not enough.
    pub stages: Vec<Stage>,
    /// The victims in the order in which they are killed, or what no set of pods gives.
    pub victims: Result<Vec<usize>, NotEnough>,
}

/// The shortfall if all possible victims are killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEnough(pub Requirements);

impl fmt::Display for NotEnough {
    /// Writes the kubelet's error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no set of running pods found to reclaim resources: {}", self.0)
    }
}

/// Looking for victims in one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    pub class: QosClass,
    /// What this class has to give: what is missing when the others gave what they can.
    pub requirements: Vec<Requirement>,
    /// One victim each.
    pub rounds: Vec<Round>,
}

/// Looking for one victim.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// What is missing.
    pub requirements: Vec<Requirement>,
    /// The pods in the order in which they were visited; empty unless requested.
    pub visits: Vec<Visit>,
    /// The pod that was chosen.
    pub chosen: usize,
    pub distance: f64,
    /// Others that were as near and ask for as much: only their place in the list decided.
    pub ties: Vec<usize>,
    /// How many more of them there were, where the search in one class came to more than [`MOST_TIES`].
    pub more_ties: usize,
    /// What is missing then.
    pub remaining: Vec<Requirement>,
}

/// Looking at one pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    pub pod: usize,
    /// How far it is from giving what is missing.
    pub distance: f64,
    /// Whether it is the best so far.
    pub result: VisitResult,
}

/// Whether a pod is the best so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VisitResult {
    /// It is: nearer than those before.
    Nearer,
    /// It is not: farther than the best.
    Farther,
    /// It is: as near, and requests no more.
    TieNoMore,
    /// It is not: as near, but requests more.
    TieMore,
}

/// Among how many pods of a node victims are looked for. The search takes up to half a second for so many, and grows
/// with their square; a kubelet runs a few hundred pods.
pub const MOST_PODS: usize = 10_000;

/// How many ties the search in one class keeps: every one on a node of a thousand pods that are all the same. Ties
/// grow with the square of the pods.
pub const MOST_TIES: usize = 1_000_000;

/// How many visits are kept: those of a class of 500 pods, which is more than a kubelet is configured for, where all
/// of them go. Visits grow with the square of the pods.
pub const MOST_VISITS: usize = 250_000;

/// The detail kept of the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// The victims.
    #[default]
    Chosen,
    /// Every visited pod, too: as many as rounds times pods. Where that could be more than
    /// `MOST_VISITS`, only who was chosen.
    Visits,
}

/// Returns the pods that the kubelet kills to free the required amounts.
///
/// Among pods that are equal the order of `pods` decides. The kubelet's own comes from a map, so there
/// it is left to chance.
pub fn pick_victims(
    preemptor: &Pod,
    pods: &[&Pod],
    requirements: &[Requirement],
    trace: Trace,
    rules: &KubeletRules,
) -> Preemption {
    let pods: Vec<PotentialVictim<'_>> =
        pods.iter().map(|pod| PotentialVictim::of(pod, rules)).collect();
    pick_among(preemptor, &pods, requirements, trace)
}

/// The same among pods of which all is known already.
pub fn pick_among(
    preemptor: &Pod,
    pods: &[PotentialVictim<'_>],
    requirements: &[Requirement],
    trace: Trace,
) -> Preemption {
    let mut found = Preemption {
        requirements: requirements.to_vec(),
        spared: Vec::new(),
        best_effort: Vec::new(),
        burstable: Vec::new(),
        guaranteed: Vec::new(),
        stages: Vec::new(),
        victims: Ok(Vec::new()),
    };
    let mut classes: [Vec<Candidate>; 3] = Default::default();
    for (at, pod) in pods.iter().enumerate() {
        let class = pod.class.filter(|_| is_preemptable(preemptor, pod.pod));
        let (places, candidates) = match class {
            None => {
                found.spared.push(at);
                continue;
            }
            Some(QosClass::BestEffort) => (&mut found.best_effort, 0),
            Some(QosClass::Burstable) => (&mut found.burstable, 1),
            Some(QosClass::Guaranteed) => (&mut found.guaranteed, 2),
        };
        places.push(at);
        classes[candidates].push(Candidate::of(at, pod, requirements));
    }
    let visits: usize = classes.iter().map(|pods| pods.len().saturating_mul(pods.len())).sum();
    let trace = if visits > MOST_VISITS { Trace::Chosen } else { trace };
    let [best_effort, burstable, guaranteed] = classes;
    let search = Search::new(requirements, trace);
    let left = search.without([&best_effort, &burstable, &guaranteed].into_iter().flatten());
    if !left.is_empty() {
        found.victims = Err(search.not_enough(&left));
        return found;
    }
    found.victims = search.all_classes(best_effort, burstable, guaranteed, &mut found.stages);
    found
}

/// A pod that may have to go.
#[derive(Clone, Debug)]
pub struct PotentialVictim<'p> {
    pub(super) pod: &'p Pod,
    /// `None`: its status has a class that does not exist, so it is never picked.
    pub(super) class: Option<QosClass>,
    /// What it gives back, by the names of the resources.
    requests: Vec<(ResourceName, i64)>,
    /// Memory, then CPU.
    pub(super) asks: (i64, i64),
}

impl<'p> PotentialVictim<'p> {
    /// Finds out about a pod.
    pub fn of(pod: &'p Pod, rules: &KubeletRules) -> Self {
        let requests = kubelet_requests(pod, rules);
        let requests = requests.iter().map(|(name, amount)| (name.clone(), rounded(name, amount)));
        let class = recorded_qos_class(pod, rules.gates);
        let mut found = Self { pod, class, requests: requests.collect(), asks: (0, 0) };
        found.asks = (found.gives(&ResourceName::Memory), found.gives(&ResourceName::Cpu));
        found
    }

    /// Returns true if it gives the same as another, and is of the same class.
    pub(super) fn gives_as(&self, other: &Self) -> bool {
        (self.class, &self.requests) == (other.class, &other.requests)
    }

    /// Returns what it gives back of a resource when it is killed: [`preemption_request`], looked up.
    ///
    /// [`preemption_request`]: preemption_request
    pub fn gives(&self, resource: &ResourceName) -> i64 {
        if resource.as_str() == "pods" {
            return 1;
        }
        let at = self.requests.binary_search_by(|(name, _)| name.cmp(resource));
        at.ok().and_then(|at| self.requests.get(at)).map_or(0, |(_, amount)| *amount)
    }
}

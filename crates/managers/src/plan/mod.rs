//! The devices that pods would get: `kq devices plan`. Pure.

mod outlook;
mod unknown_facts;
mod view;
mod what_if;

pub use outlook::{
    Change, Fate, HeldDevices, Now, RestartEffect, UnhealthyDevice, Verdict, changes, foresee,
    unhealthy,
};
pub use unknown_facts::UnknownFacts;
pub use view::{table, wide};
pub use what_if::{QuestionError, WhatIf, state_of};

use crate::manager::allocate::{
    AllocationContext, ContainerKind, Outcome, PossibleAllocations, in_order,
};
use crate::manager::topology::{TopologyManager, TopologyPolicy, TopologyScope};
use crate::manager::{Affinities, ManagerState, Plugins, PodAdmission};
use kq_answer::{Basis, Headline, Missing, MissingFact, answer};
use kq_facts::node_object::NodeObject;
use kq_k8s::nearest::nearest;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::validation::is_extended_resource;
use kq_output::units::counted;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What would happen.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DevicePlan {
    /// The kubelet starts again.
    pub kubelet_restart: bool,
    /// No pod was named.
    #[serde(skip)]
    pub of_node: bool,
    /// The topology manager.
    pub topology: Topology,
    /// The devices before, by resource.
    pub resources: BTreeMap<String, ResourceBefore>,
    /// The pods, in the order in which they are admitted; each finds what the ones before it left.
    pub pods: Vec<PlannedPod>,
    /// What the node offers less than before.
    pub changes: Vec<Change>,
    /// The devices that are taken to be unhealthy.
    pub unhealthy: Vec<UnhealthyDevice>,
    /// Why pods that would get their devices do not, or may not: the kubelet does not start, or ends them for another reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prevented: Option<String>,
    /// Resources that pods ask for, and that no plugin offers.
    pub not_offered: BTreeMap<String, NotOffered>,
    /// What it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DevicePlan", DevicePlan; DevicePlan::headline);

impl DevicePlan {
    /// Returns how many pods get their devices, and the first that does not.
    fn headline(&self) -> Headline {
        if let Some(why) = &self.prevented {
            return Headline::new("prevented", why.clone());
        }
        let of = |pod: &PlannedPod| format!("{}/{}", pod.namespace, pod.name);
        let all = counted(self.pods.len(), "pod");
        // The worst first: of each kind the first pod is named.
        for (holds, code, does) in PlannedPod::KINDS {
            let mut pods = self.pods.iter().filter(|pod| holds(pod));
            let Some(first) = pods.next() else { continue };
            let count = 1 + pods.count();
            let (one, several) = does;
            let does = if count == 1 { one } else { several };
            let reason = first.reason().map(|it| format!(": {it}")).unwrap_or_default();
            let text = format!("{count} of {all} {does}: {}{reason}", of(first));
            return Headline::new(code, text);
        }
        match &self.pods[..] {
            [] => Headline::good("nothing", "no pod has or requests devices"),
            [pod] => Headline::good("admitted", format!("{} gets its devices", of(pod))),
            pods => {
                Headline::good("admitted", format!("all {} pods get their devices", pods.len()))
            }
        }
    }
}

/// A kind of pods that do not get their devices, or may not: whether a pod is one, its code, and what is said of one and of
/// several.
type PodKind = (fn(&PlannedPod) -> bool, &'static str, (&'static str, &'static str));

impl PlannedPod {
    const KINDS: [PodKind; 5] = [
        (Self::is_refused_for_sure, "refused", ("is refused", "are refused")),
        (Self::has_crash, "crash", ("is not admitted", "are not admitted")),
        (Self::loses_devices, "forgotten", ("loses its devices", "lose their devices")),
        (|pod| pod.otherwise.is_some(), "open", ("may be refused", "may be refused")),
        (|pod| pod.failure.is_some(), "unknown", ("has no known result", "have no known result")),
    ];

    /// Returns true if it is refused, whatever chance decides.
    pub fn is_refused_for_sure(&self) -> bool {
        self.failure.is_none() && self.admission.message.is_some() && self.otherwise.is_none()
    }

    fn has_crash(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| !failure.is_undetermined())
    }

    /// Returns true if the kubelet no longer knows that its devices are in use.
    fn loses_devices(&self) -> bool {
        self.outlook.as_ref().is_some_and(|outlook| outlook.verdict == Verdict::Forgotten)
    }

    /// Returns why it does not get its devices, or may not.
    fn reason(&self) -> Option<String> {
        let failure = self.failure.as_ref().map(|failure| failure.message.clone());
        let open = self.otherwise.as_ref().map(|other| other.depends_on.clone());
        let forgotten = self.loses_devices().then(|| {
            "a kubelet that starts does not find them in its checkpoint, and allocates them again".to_owned()
        });
        let message = self.admission.message.clone();
        failure.or(open).or(forgotten).or(message)
    }
}

/// A resource that no plugin offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotOffered {
    /// The Node object has it for another reason: it was set from outside.
    pub in_node_status: bool,
    /// A resource of the node with nearly the same name.
    pub did_you_mean: Option<String>,
}

/// The topology manager of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    /// `topologyManagerPolicy`
    pub policy: TopologyPolicy,
    /// `topologyManagerScope`
    pub scope: TopologyScope,
    /// The NUMA nodes of the machine.
    pub numa_nodes: Vec<i64>,
}

/// The devices of a resource before anything happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBefore {
    /// Healthy devices.
    pub healthy: usize,
    /// Other devices.
    pub unhealthy: usize,
    /// Devices in use.
    pub allocated: usize,
    /// Healthy devices that are not in use.
    pub free: usize,
}

/// What would happen to one pod.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPod {
    pub namespace: String,
    pub name: String,
    /// Its UID; one that was made up begins with `kq-`.
    pub uid: String,
    /// Where it is from.
    pub source: String,
    /// The fate of its devices; null: it has none yet.
    pub outlook: Option<RestartEffect>,
    /// What else may become of it, as chance decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<OtherAdmission>,
    /// Why there is no admission: the kubelet crashes, or it is not known.
    pub failure: Option<Failure>,
    /// What would happen.
    #[serde(flatten)]
    pub admission: PodAdmission,
}

/// Another result of the admission of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherAdmission {
    /// It is admitted, and stays.
    pub admitted: bool,
    /// What decides.
    pub depends_on: String,
}

/// Why a pod has no admission. Where the kubelet neither crashes nor crashed before, kq does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The kubelet does not survive it.
    pub kubelet_crashes: bool,
    /// The kubelet crashed at a pod before it.
    pub not_reached: bool,
    /// In words.
    pub message: String,
}

impl Failure {
    fn unknown(message: String) -> Self {
        Self { kubelet_crashes: false, not_reached: false, message }
    }

    /// Returns true if the result is unknown.
    pub fn is_undetermined(&self) -> bool {
        !self.kubelet_crashes && !self.not_reached
    }

    /// Returns what it means for the pods that come after.
    fn for_later(&self, namespace: &str, name: &str) -> Self {
        let message = match self.kubelet_crashes {
            true => format!("not reached: the kubelet crashes at pod {namespace}/{name}"),
            false => format!("not known, as the result of pod {namespace}/{name} is not"),
        };
        Self { kubelet_crashes: false, not_reached: self.kubelet_crashes, message }
    }
}

#[derive(Clone, Debug)]
pub struct PodToPlan {
    /// The pod, with the UID under which the kubelet runs it.
    pub pod: Pod,
    /// Where it is from.
    pub source: String,
}

/// How pods are admitted.
#[derive(Debug)]
pub struct AdmissionContext<'a> {
    pub manager: &'a TopologyManager,
    pub circumstances: &'a AllocationContext,
    /// What is not sure.
    pub doubts: &'a UnknownFacts,
}

/// Returns what would happen to pods, one after the other.
pub fn plan(
    state: &mut ManagerState,
    pods: &[PodToPlan],
    turn: &AdmissionContext<'_>,
    plugins: &mut dyn Plugins,
    (question, mut basis): (&WhatIf, Basis),
) -> DevicePlan {
    let manager = turn.manager;
    // Of what is not known there are no numbers.
    let resources = match turn.doubts.devices {
        None => before(state),
        Some(_) => {
            let known = |name: &String| state.healthy.contains_key(name);
            before(state).into_iter().filter(|(name, _)| known(name)).collect()
        }
    };
    let asking = pods.iter().map(|to_plan| &to_plan.pod);
    basis.assume_all(unknown_facts::listing_assumptions(state, manager, asking));
    let mut in_turn = InTurn::new(state, turn.circumstances);
    let planned = pods
        .iter()
        .map(|PodToPlan { pod, source }| {
            let metadata = &pod.metadata;
            let (admission, failure) = match in_turn.admit(state, pod, turn, plugins) {
                Ok(admission) => (admission, None),
                Err(failure) => (PodAdmission::default(), Some(failure)),
            };
            PlannedPod {
                namespace: metadata.namespace.clone(),
                name: metadata.name.clone(),
                uid: metadata.uid.clone(),
                source: source.clone(),
                outlook: None,
                otherwise: None,
                failure,
                admission,
            }
        })
        .collect();
    DevicePlan {
        kubelet_restart: question.kubelet_restart,
        of_node: question.of_node,
        topology: Topology {
            policy: manager.policy,
            scope: manager.scope,
            numa_nodes: manager.machine.numa_nodes.clone(),
        },
        resources,
        changes: Vec::new(),
        unhealthy: Vec::new(),
        prevented: None,
        not_offered: BTreeMap::new(),
        pods: planned,
        basis,
    }
}

/// Pods that are admitted one after the other: each finds what those before it left.
#[derive(Clone, Debug)]
pub struct InTurn {
    before_it: Option<Failure>,
    earlier: PossibleAllocations,
    /// How many devices the containers choose among, in all.
    candidates: usize,
}

/// Among how many devices all containers together choose at the most, where each choice names them: a thousand
/// containers among a thousand devices. Each takes a microsecond, and the memory of its name.
pub const MOST_NAMED: usize = 1_000_000;

/// The same where only the decision is wanted.
pub const MOST_COUNTED: usize = 20_000_000;

impl InTurn {
    /// Returns that no pod was admitted yet.
    pub fn new(state: &ManagerState, circumstances: &AllocationContext) -> Self {
        let earlier = PossibleAllocations::none(state, circumstances);
        Self { before_it: None, earlier, candidates: 0 }
    }

    /// Asks the device manager for the devices of the next pod.
    /// Fails where the kubelet crashes, or the answer is not known.
    pub fn admit(
        &mut self,
        state: &mut ManagerState,
        pod: &Pod,
        turn: &AdmissionContext<'_>,
        plugins: &mut dyn Plugins,
    ) -> Result<PodAdmission, Failure> {
        let most = if turn.circumstances.brief { MOST_COUNTED } else { MOST_NAMED };
        self.candidates = self.candidates.saturating_add(candidates(state, pod));
        let known = match &self.before_it {
            Some(crashed) if crashed.not_reached => Some(crashed.clone()),
            _ if self.candidates > most => Some(too_many(most)),
            _ => turn.doubts.before(state, pod, turn).or_else(|| self.before_it.clone()),
        };
        let admitted = match known {
            Some(failure) => Err(failure),
            None => state
                .admit(pod, &Affinities::Decided(turn.manager), turn.circumstances, plugins)
                .map_err(|error| turn.doubts.judge(&error)),
        };
        let widened = admitted.and_then(|mut admission| {
            if turn.circumstances.brief {
                return Ok(admission);
            }
            let done = self.earlier.widen(state, pod, &mut admission, turn.manager);
            done.map(|()| admission).map_err(|resource| depends(&resource, turn.manager.policy))
        });
        if let Err(failure) = &widened
            && self.before_it.is_none()
        {
            let metadata = &pod.metadata;
            self.before_it = Some(failure.for_later(&metadata.namespace, &metadata.name));
        }
        widened
    }
}

/// Returns among how many devices the containers of a pod choose, with those that init containers leave to the next.
fn candidates(state: &ManagerState, pod: &Pod) -> usize {
    let (mut all, mut left) = (0_usize, 0_usize);
    for (kind, container) in in_order(pod) {
        for (name, amount) in container.resources.limits.iter() {
            let Some(healthy) = state.healthy.get(name.as_str()) else { continue };
            let asked = usize::try_from(amount.value()).unwrap_or_default();
            all = all.saturating_add(healthy.len());
            if kind == ContainerKind::Init {
                left = left.saturating_add(asked.min(healthy.len()));
            }
        }
        all = all.saturating_add(left);
    }
    all
}

/// Returns the failure of a pod after which too many devices would be gone through.
fn too_many(most: usize) -> Failure {
    Failure::unknown(format!(
        "not known: its containers and those before it choose among more than {most} devices in all, \
         which is the most that kq goes through"
    ))
}

/// Returns the failure of a pod whose result depends on earlier choices.
fn depends(resource: &str, policy: TopologyPolicy) -> Failure {
    Failure::unknown(format!(
        "not known: on which NUMA nodes {resource} is left depends on what is chosen before, and with \
         the policy {policy} that decides whether the pod is admitted"
    ))
}

fn before(state: &ManagerState) -> BTreeMap<String, ResourceBefore> {
    let names = state.healthy.keys().chain(state.allocated.keys());
    names
        .map(|name| {
            let healthy = state.healthy.get(name);
            let used = state.allocated.get(name);
            let free = healthy.into_iter().flatten();
            let free = free.filter(|id| used.is_none_or(|used| !used.contains(*id))).count();
            let count = |set: Option<&BTreeSet<String>>| set.map(BTreeSet::len).unwrap_or_default();
            let of_resource = ResourceBefore {
                healthy: count(healthy),
                unhealthy: count(state.unhealthy.get(name)),
                allocated: count(used),
                free,
            };
            (name.clone(), of_resource)
        })
        .collect()
}

/// Walks over the resources that a plugin may have to provide for a pod.
pub fn asked_resources(pod: &Pod) -> impl Iterator<Item = &str> {
    in_order(pod)
        .flat_map(|(_, container)| container.resources.limits.iter())
        .filter(|(name, amount)| is_extended_resource(name.as_str()) && amount.value() > 0)
        .map(|(name, _)| name.as_str())
}

/// Returns true if a pod requests a resource of the device manager.
pub fn asks_for_devices(state: &ManagerState, pod: &Pod) -> bool {
    in_order(pod)
        .flat_map(|(_, container)| container.resources.limits.iter())
        .any(|(name, _)| state.is_device_resource(name.as_str()))
}

impl DevicePlan {
    /// Returns true if all pods get their requested devices for sure, and keep those that they have.
    pub fn all_admitted(&self) -> bool {
        let is_admitted = |pod: &PlannedPod| {
            pod.admission.admitted && pod.otherwise.as_ref().is_none_or(|other| other.admitted)
        };
        self.pods.iter().all(|pod| is_admitted(pod) && !pod.loses_devices())
            && self.not_offered.values().all(|resource| resource.in_node_status)
    }

    /// Looks up the requested resources that no plugin offers, among those of the node.
    pub fn look_up_resources(&mut self, node: Option<&NodeObject>) {
        let steps = self.pods.iter().flat_map(|pod| &pod.admission.containers);
        let asked = steps.flat_map(|step| &step.allocation.resources).filter(|resource| {
            resource.requested > 0 && matches!(resource.outcome, Outcome::NotOfPlugin)
        });
        let held: BTreeSet<&str> = self
            .pods
            .iter()
            .filter_map(|pod| pod.outlook.as_ref())
            .flat_map(|outlook| &outlook.held)
            .map(|held| held.resource.as_str())
            .collect();
        // A device that a pod holds is offered; the kubelet forgot it.
        let asked = asked.filter(|resource| !held.contains(resource.resource.as_str()));
        let asked: BTreeSet<String> = asked.map(|resource| resource.resource.clone()).collect();
        let lookup = |name: String| {
            let allocatable = node.map(|node| &node.status.allocatable);
            let amount = allocatable.and_then(|list| list.get(&ResourceName::from(name.as_str())));
            let found = NotOffered {
                in_node_status: amount.is_some_and(|amount| amount.value() > 0),
                did_you_mean: nearest(&name, self.resources.keys().map(String::as_str))
                    .map(str::to_owned),
            };
            (name, found)
        };
        self.not_offered = asked.into_iter().map(lookup).collect();
    }

    /// Returns true if a pod does not get its devices, whatever is missing: with another configuration, more pods on the node
    /// or a kubelet that does not start it gets none either. Only a policy refuses for the NUMA nodes.
    pub fn refuses_for_sure(&self) -> bool {
        let decides = |missing: &Missing| {
            !matches!(
                missing.fact,
                MissingFact::KubeletConfig
                    | MissingFact::NextStart
                    | MissingFact::Placement
                    | MissingFact::Pods
            )
        };
        let is_refused = |pod: &PlannedPod| {
            let is_of_policy = pod.admission.reason == Some("TopologyAffinityError");
            pod.is_refused_for_sure() && !is_of_policy
        };
        !self.basis.missing.iter().any(decides) && self.pods.iter().any(is_refused)
    }

    /// Returns true if the result of a pod is unknown.
    pub fn is_undetermined(&self) -> bool {
        self.pods.iter().filter_map(|pod| pod.failure.as_ref()).any(Failure::is_undetermined)
    }
}

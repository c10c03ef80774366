//! Admitting a pod (`Admit` in `scope_container.go`, `scope_pod.go` and `scope_none.go`), pinned by `topology_merge.jsonl` and
//! `cpu_admit.jsonl`.
//!
//! | scope | hints | stored and allocated |
//! |---|---|---|
//! | none (policy `none`) | no provider is asked | nothing stored; container by container |
//! | container | container by container | each before the hints of the next: what earlier ones got stays if a later one is refused |
//! | pod | once | container by container |
//! | pod, with pod-level resources and the gate `PodLevelResourceManagers` | once | stored for all, then allocated once |

use super::manager::TopologyManager;
use super::mask::{ProviderHints, TopologyHint, has_bit};
use super::not_computed::NotComputed;
use super::policy::{TopologyPolicy, TopologyScope, decide};
use super::provider::{AllocationError, HintProvider, Stop};
use crate::manager::allocate::{ContainerKind, in_order};
use kq_k8s::pod::{Container, Pod};
use kq_k8s::resources::has_pod_level_resources;

/// What became of a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admission {
    pub admitted: bool,
    /// Why not.
    pub refusal: Option<Refusal>,
    /// What was decided for the pod as a whole, in the scope `pod`.
    pub pod: Option<Decision>,
    /// All its containers, in the order in which they get their resources.
    pub containers: Vec<ContainerAdmission>,
}

/// What became of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerAdmission {
    pub kind: ContainerKind,
    pub name: String,
    /// What was decided for it, in the scope `container`.
    pub decision: Option<Decision>,
    /// The NUMA nodes that are stored for it, by which its resources are chosen.
    pub affinity: TopologyHint,
    pub step: Step,
}

/// How far a container came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Every provider gave it what it asks for.
    Allocated,
    /// The pod was refused because of it.
    Refused,
    /// The pod was refused before.
    NotReached,
}

/// The hints of the providers and what the policy made of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// What each provider said, with its name.
    pub hints: Vec<(&'static str, ProviderHints)>,
    pub affinity: TopologyHint,
    /// The policy lets it pass.
    pub admitted: bool,
}

/// Why a pod is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No NUMA nodes suit the policy (`TopologyAffinityError`).
    Affinity {
        /// The scope, in the words for a pod whose resources are managed as a whole.
        pod_level: Option<TopologyScope>,
    },
    /// A provider has not enough.
    Allocation {
        /// Its name.
        provider: &'static str,
        error: AllocationError,
    },
}

impl Refusal {
    /// Returns the reason that the pod's status gets.
    pub fn reason(&self) -> &str {
        match self {
            Self::Affinity { .. } => "TopologyAffinityError",
            Self::Allocation { error, .. } => error.reason(),
        }
    }

    /// Returns the message of the admission.
    pub fn message(&self) -> String {
        match self {
            Self::Affinity { pod_level: None } => {
                "Resources cannot be allocated with Topology locality".to_owned()
            }
            Self::Affinity { pod_level: Some(TopologyScope::Container) } => {
                "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
                    .to_owned()
            }
            Self::Affinity { pod_level: Some(TopologyScope::Pod) } => {
                "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager".to_owned()
            }
            Self::Allocation { error, .. } => error.message(),
        }
    }

    /// Returns the message of the pod's status (`rejectPod` in `kubelet.go`).
    pub fn status_message(&self) -> String {
        format!("Pod was rejected: {}", self.message())
    }
}

/// The providers, in the order in which the kubelet asks them.
pub type Providers<'p> = [&'p mut dyn HintProvider];

impl TopologyManager {
    /// Decides about a pod, and lets the providers allocate.
    /// Fails where the kubelet would crash or hang, and for what kq does not compute.
    pub fn admit(
        &mut self,
        pod: &Pod,
        providers: &mut Providers<'_>,
    ) -> Result<Admission, NotComputed> {
        let mut admission = self.begin(pod);
        admission.refusal = match (self.policy(), self.scope()) {
            (TopologyPolicy::None, _) => self.admit_without_hints(pod, providers, &mut admission),
            (_, TopologyScope::Container) => self.admit_containers(pod, providers, &mut admission),
            (_, TopologyScope::Pod) => self.admit_pod(pod, providers, &mut admission),
        }?;
        admission.admitted = admission.refusal.is_none();
        let uid = &pod.metadata.uid;
        for container in &mut admission.containers {
            container.affinity = self.affinity(uid, &container.name);
        }
        Ok(admission)
    }

    fn begin(&self, pod: &Pod) -> Admission {
        let container = |(kind, container): (ContainerKind, &Container)| ContainerAdmission {
            kind,
            name: container.name.clone(),
            decision: None,
            affinity: TopologyHint::default(),
            step: Step::NotReached,
        };
        Admission { containers: in_order(pod).map(container).collect(), ..Admission::default() }
    }

    fn admit_without_hints(
        &mut self,
        pod: &Pod,
        providers: &mut Providers<'_>,
        admission: &mut Admission,
    ) -> Result<Option<Refusal>, NotComputed> {
        for ((_, container), shown) in in_order(pod).zip(&mut admission.containers) {
            if let Some(refusal) = self.allocate(pod, container, providers, shown)? {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    fn admit_containers(
        &mut self,
        pod: &Pod,
        providers: &mut Providers<'_>,
        admission: &mut Admission,
    ) -> Result<Option<Refusal>, NotComputed> {
        for ((_, container), shown) in in_order(pod).zip(&mut admission.containers) {
            let hints = |it: &mut dyn HintProvider| it.container_hints(pod, container);
            let decision = self.decide(providers, hints)?;
            let (affinity, admitted) = (decision.affinity, decision.admitted);
            shown.decision = Some(decision);
            if !admitted {
                shown.step = Step::Refused;
                return Ok(Some(self.no_affinity(pod)));
            }
            self.store(&pod.metadata.uid, &container.name, affinity);
            if let Some(refusal) = self.allocate(pod, container, providers, shown)? {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    fn admit_pod(
        &mut self,
        pod: &Pod,
        providers: &mut Providers<'_>,
        admission: &mut Admission,
    ) -> Result<Option<Refusal>, NotComputed> {
        let decision = self.decide(providers, |it| it.pod_hints(pod))?;
        let (affinity, admitted) = (decision.affinity, decision.admitted);
        admission.pod = Some(decision);
        if !admitted {
            return Ok(Some(self.no_affinity(pod)));
        }
        if self.is_managed_as_a_whole(pod) {
            return self.allocate_pod(pod, affinity, providers, admission);
        }
        for ((_, container), shown) in in_order(pod).zip(&mut admission.containers) {
            self.store(&pod.metadata.uid, &container.name, affinity);
            if let Some(refusal) = self.allocate(pod, container, providers, shown)? {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    fn is_managed_as_a_whole(&self, pod: &Pod) -> bool {
        self.manages_pod_level() && has_pod_level_resources(pod)
    }

    fn no_affinity(&self, pod: &Pod) -> Refusal {
        Refusal::Affinity { pod_level: self.is_managed_as_a_whole(pod).then_some(self.scope()) }
    }

    fn decide(
        &self,
        providers: &mut Providers<'_>,
        ask: impl Fn(&mut dyn HintProvider) -> Result<ProviderHints, NotComputed>,
    ) -> Result<Decision, NotComputed> {
        if let Some(node) = self.numa().ids().find(|node| !has_bit(*node)) {
            return Err(NotComputed::NodeOutOfRange(node));
        }
        let mut hints = Vec::new();
        for provider in providers.iter_mut() {
            hints.push((provider.name(), ask(&mut **provider)?));
        }
        let said = hints.iter().map(|(_, hints)| hints);
        let closest = self.options().prefer_closest_numa_nodes;
        let (affinity, admitted) = decide(self.policy(), self.numa(), said, closest)?;
        Ok(Decision { hints, affinity, admitted })
    }

    /// Lets each provider allocate for a container, until one fails (`allocateAlignedResources`).
    fn allocate(
        &self,
        pod: &Pod,
        container: &Container,
        providers: &mut Providers<'_>,
        shown: &mut ContainerAdmission,
    ) -> Result<Option<Refusal>, NotComputed> {
        let affinity = self.affinity(&pod.metadata.uid, &container.name);
        for provider in providers.iter_mut() {
            let allocated = provider.allocate(pod, container, affinity);
            if let Some(refusal) = refused(provider.name(), allocated)? {
                shown.step = Step::Refused;
                return Ok(Some(refusal));
            }
        }
        shown.step = Step::Allocated;
        Ok(None)
    }

    fn allocate_pod(
        &mut self,
        pod: &Pod,
        affinity: TopologyHint,
        providers: &mut Providers<'_>,
        admission: &mut Admission,
    ) -> Result<Option<Refusal>, NotComputed> {
        for (_, container) in in_order(pod) {
            self.store(&pod.metadata.uid, &container.name, affinity);
        }
        for provider in providers.iter_mut() {
            let allocated = provider.allocate_pod(pod, affinity);
            if let Some(refusal) = refused(provider.name(), allocated)? {
                return Ok(Some(refusal));
            }
        }
        for container in &mut admission.containers {
            container.step = Step::Allocated;
        }
        Ok(None)
    }
}

fn refused(
    provider: &'static str,
    allocated: Result<(), Stop>,
) -> Result<Option<Refusal>, NotComputed> {
    match allocated {
        Ok(()) => Ok(None),
        Err(Stop::Refused(error)) => Ok(Some(Refusal::Allocation { provider, error })),
        Err(Stop::NotComputed(reason)) => Err(reason),
    }
}

//! The manager (`cpu_manager.go`): made of the configuration, started with its state file, asked by the topology manager.

use super::eligible::SharedBecause;
use super::errors::{AllocateError, NewError, StartError};
use super::pod_level::PodCpus;
use super::static_policy::{CpuOutcome, StaticPolicy};
use super::topology::CpuTopology;
use crate::topology_manager::{
    AllocationError, HintProvider, NotComputed, ProviderHints, Stop, TopologyHint, TopologyPolicy,
    provided,
};
use kq_facts::checkpoint::Encoded;
use kq_facts::checkpoint::cpu_manager::{self, CpuState, KnownContainers};
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::quantity::Quantity;
use std::collections::{BTreeMap, BTreeSet};

/// The configuration of the manager.
#[derive(Clone, Debug)]
pub struct CpuManagerConfig<'c> {
    /// `cpuManagerPolicy`
    pub policy: &'c str,
    /// `cpuManagerPolicyOptions`
    pub options: &'c BTreeMap<String, String>,
    /// `reservedSystemCPUs`; empty: none are named.
    pub reserved_cpus: &'c CpuSet,
    /// The sum of CPU in `kubeReserved` and `systemReserved`, or as many as `reservedSystemCPUs` has; `None`: neither is set.
    pub reservation: Option<&'c Quantity>,
    /// `topologyManagerPolicy`
    pub topology_policy: TopologyPolicy,
    /// By version and feature gates.
    pub rules: KubeletRules,
}

#[derive(Clone, Debug)]
pub struct CpuManager {
    rules: KubeletRules,
    /// `None`: the policy `none`.
    policy: Option<StaticPolicy>,
    state: CpuState,
    /// `None`: not all sources of pods are ready, and no container counts as gone.
    active: Option<ActiveContainers>,
    allocations: Vec<CpuAllocation>,
}

/// The containers of the pods that are active, init containers among them: UIDs with names.
pub type ActiveContainers = BTreeMap<String, BTreeSet<String>>;

/// What a container, or a pod as a whole, got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuAllocation {
    /// The UID of the pod.
    pub pod: String,
    pub what: Allocation,
    /// The shared CPUs afterwards.
    pub default_cpu_set: CpuSet,
}

/// What was asked for, and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocation {
    Container {
        name: String,
        result: Result<CpuOutcome, AllocateError>,
    },
    /// A pod with pod-level resources; `None`: it runs on the shared CPUs.
    Pod(Result<Option<PodCpus>, AllocateError>),
}

impl CpuManager {
    /// Makes the manager (`NewManager`).
    /// Fails with the text with which the kubelet ends.
    pub fn new(topology: CpuTopology, config: &CpuManagerConfig<'_>) -> Result<Self, NewError> {
        let policy = match config.policy {
            "none" if config.options.is_empty() => None,
            "none" => return Err(NewError::OptionsOfNone(config.options.clone())),
            "static" => {
                let wanted = reserved_count(config.reservation)?;
                Some(StaticPolicy::new(
                    topology,
                    config.options,
                    config.rules,
                    config.topology_policy,
                    (wanted, config.reserved_cpus),
                )?)
            }
            unknown => return Err(NewError::UnknownPolicy(unknown.to_owned())),
        };
        let state = CpuState { policy_name: config.policy.to_owned(), ..CpuState::default() };
        let (active, allocations) = (None, Vec::new());
        Ok(Self { rules: config.rules, policy, state, active, allocations })
    }

    /// Starts with the content of the state file; `None`: there is none. `known` are the containers that the runtime has,
    /// which a file of 1.17 and earlier needs. Returns the file that the kubelet then writes; `None`: it leaves it as it is.
    /// Fails with the kubelet's words; `folder` is its folder.
    pub fn start(
        &mut self,
        file: Option<&[u8]>,
        known: Option<&KnownContainers>,
        folder: &str,
    ) -> Result<Option<Encoded>, StartError> {
        let pod_level = self.rules.manages_pod_level_resources();
        let name = self.state.policy_name.clone();
        let mut state = match file {
            Some(bytes) => {
                cpu_manager::load(bytes, KnownLayouts::of(&self.rules), Some(&name), known)
                    .outcome
                    .map_err(|refusal| {
                        let (refusal, folder) = (Box::new(refusal), folder.to_owned());
                        StartError::File { refusal, folder }
                    })?
            }
            None => CpuState {
                policy_name: name,
                pods: pod_level.then(BTreeMap::new),
                ..CpuState::default()
            },
        };
        let mut is_written = file.is_none();
        if let Some(policy) = &self.policy {
            is_written |= policy.check_state(&mut state)?;
        }
        self.state = state;
        Ok(is_written.then(|| cpu_manager::encode(&self.state)))
    }

    /// Returns the static policy; `None`: the policy is `none`.
    pub fn static_policy(&self) -> Option<&StaticPolicy> {
        self.policy.as_ref()
    }

    pub fn state(&self) -> &CpuState {
        &self.state
    }

    /// Takes a state as it is, without the checks of a start.
    pub fn set_state(&mut self, state: CpuState) {
        self.state = state;
    }

    /// Returns the CPUs that containers can get; none with the policy `none`.
    pub fn allocatable(&self) -> CpuSet {
        self.policy.as_ref().map(StaticPolicy::allocatable).unwrap_or_default()
    }

    /// Sets which containers are active, the ones of the pod that is admitted among them. All others give their CPUs back
    /// before the next question. `None`: not all sources of pods are ready, and nothing is given back.
    pub fn set_active(&mut self, active: Option<ActiveContainers>) {
        self.active = active;
    }

    /// Returns the exclusive CPUs of a container.
    pub fn exclusive(&self, uid: &str, container: &str) -> Option<&CpuSet> {
        self.state.containers.get(uid)?.get(container)
    }

    /// Returns what was allocated since the manager started, in order.
    pub fn allocations(&self) -> &[CpuAllocation] {
        &self.allocations
    }

    /// Takes the CPUs of containers back that are gone (`removeStaleState`).
    pub fn remove_stale(&mut self) {
        let (Some(active), Some(policy)) = (&self.active, &self.policy) else { return };
        policy.release(&mut self.state, |uid, name| {
            active.get(uid).is_none_or(|containers| !containers.contains(name))
        });
    }

    /// Gives a container its CPUs (`Allocate`), on the NUMA nodes of the topology manager first.
    /// Fails if the kubelet refuses the pod, and for what kq does not compute.
    pub fn allocate_container(
        &mut self,
        pod: &Pod,
        container: &Container,
        affinity: TopologyHint,
    ) -> Result<CpuOutcome, Stop> {
        self.remove_stale();
        let result = match &mut self.policy {
            Some(policy) => {
                policy.allocate(&mut self.state, pod, container, affinity.numa_nodes)?
            }
            None => Ok(CpuOutcome::Shared(SharedBecause::PolicyNone)),
        };
        let name = container.name.clone();
        self.record(pod, Allocation::Container { name, result: result.clone() });
        result.map_err(|error| AllocationError::from(error).into())
    }

    fn record(&mut self, pod: &Pod, what: Allocation) {
        let default_cpu_set = self.state.default_cpu_set.clone();
        let pod = pod.metadata.uid.clone();
        self.allocations.push(CpuAllocation { pod, what, default_cpu_set });
    }
}

/// Returns how many CPUs are reserved: whole ones, rounded up.
fn reserved_count(reservation: Option<&Quantity>) -> Result<i64, NewError> {
    let reservation = reservation.ok_or(NewError::NoReservation)?;
    if reservation.is_zero() {
        return Err(NewError::ZeroReservation);
    }
    Ok((reservation.milli_value() as f64 / 1000.0).ceil() as i64)
}

impl HintProvider for CpuManager {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn container_hints(
        &mut self,
        pod: &Pod,
        container: &Container,
    ) -> Result<ProviderHints, NotComputed> {
        self.remove_stale();
        let Some(policy) = &self.policy else { return Ok(ProviderHints::new()) };
        Ok(provided(&policy.container_hints(&self.state, pod, container)?))
    }

    fn pod_hints(&mut self, pod: &Pod) -> Result<ProviderHints, NotComputed> {
        self.remove_stale();
        let Some(policy) = &self.policy else { return Ok(ProviderHints::new()) };
        Ok(provided(&policy.pod_hints(&self.state, pod)?))
    }

    fn allocate(
        &mut self,
        pod: &Pod,
        container: &Container,
        affinity: TopologyHint,
    ) -> Result<(), Stop> {
        self.allocate_container(pod, container, affinity).map(|_| ())
    }

    fn allocate_pod(&mut self, pod: &Pod, affinity: TopologyHint) -> Result<(), Stop> {
        self.remove_stale();
        let result = match &mut self.policy {
            Some(policy) => policy.allocate_pod(&mut self.state, pod, affinity.numa_nodes)?,
            None => Ok(None),
        };
        self.record(pod, Allocation::Pod(result.clone()));
        result.map(|_| ()).map_err(|error| AllocationError::from(error).into())
    }
}

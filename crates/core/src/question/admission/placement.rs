//! The CPUs and the NUMA nodes of pods: what the topology manager decides with the managers of devices, CPUs and memory,
//! the kubelet's check after sysctls (`GetAllocateResourcesPodAdmitHandler` in `container_manager_linux.go`).

use super::AdmissionNode;
use crate::kubelet_start::cpu_topology;
use crate::question::devices::admission::{DeviceAdmission, NEW, uid_of};
use kq_admission::{
    CheckName, CheckReason, EarlierCheck, NodePod, PlacedContainer, Refusal, qualified,
};
use kq_answer::{Basis, Missing, MissingFact};
use kq_facts::allocatable::{reserved, reserved_but_storage};
use kq_facts::checkpoint::{self, StateFile};
use kq_facts::host::{HostFacts, Text};
use kq_facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::qos::{QosClass, effective_qos_class};
use kq_managers::cpu_manager::{
    ActiveContainers, Allocation, CpuManager, CpuManagerConfig, CpuOutcome, CpuTopology,
    StaticPolicy, has_exclusive_cpus,
};
use kq_managers::memory_manager::{KnownMemory, MemoryManager, MemoryProvider, StaticMemory};
use kq_managers::topology_manager::{
    Admission, HintProvider, NotComputed, NumaInfo, NumaNode, Refusal as TopologyRefusal,
    TopologyManager,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Returns true if a container of a pod gets exclusive CPUs.
pub fn gets_exclusive_cpus(node: &Node, pod: &Pod) -> bool {
    node.kubelet.config.cpu_manager_policy == "static"
        && has_exclusive_cpus(node.kubelet.rules, pod)
}

/// The managers of a node that place containers.
#[derive(Clone)]
pub enum Placement {
    /// No policy of a manager places anything.
    Nothing,
    Managers(Box<Managers>),
    Unknown(Box<UnknownManagers>),
}

/// Managers of a machine that is not known.
#[derive(Clone)]
pub struct UnknownManagers {
    /// Why what they do is not known.
    reason: String,
    gates: FeatureGates,
    /// They decide about containers with CPUs of their own alone: there is no static memory manager, and devices are not aligned.
    is_about_cpus: bool,
    /// The CPUs that all containers share as long as none has CPUs of its own; `None`: they are not known.
    shared: Option<CpuSet>,
}

/// The managers, with what they have given away.
#[derive(Clone)]
pub struct Managers {
    gates: FeatureGates,
    topology: TopologyManager,
    cpu: CpuManager,
    memory: MemoryProvider,
    /// The containers of the pods that are admitted; `None`: the kubelet starts, and has not heard from all sources of
    /// pods.
    active: Option<ActiveContainers>,
}

impl AdmissionNode {
    /// Returns the managers of the node. `others`: the pods that it has; `None`: its kubelet starts.
    pub(super) fn placement(&self, others: Option<&[NodePod<'_>]>) -> Placement {
        let config = self.node.config();
        if config.cpu_manager_policy == "none" && config.memory_manager_policy == "None" {
            // A start with an unknown configuration is unknown itself.
            let unknown = others.and_then(|_| unknown_policies(&self.node));
            return unknown
                .map_or(Placement::Nothing, |unknown| Placement::Unknown(Box::new(unknown)));
        }
        let counted = |others: &[NodePod<'_>]| {
            let pods = others.iter().filter(|it| it.counts).map(|it| it.pod);
            pods.map(|pod| (uid_of(pod, &qualified(pod)), names(pod))).collect()
        };
        if let (Some(given), Some(others)) = (&self.given, others) {
            let mut given = given.clone();
            if let Placement::Managers(managers) = &mut given {
                managers.active = Some(counted(others));
            }
            return given;
        }
        match Managers::of(&self.node, others.map(counted)) {
            Ok(managers) => Placement::Managers(Box::new(managers)),
            Err(reason) => Placement::Unknown(Box::new(UnknownManagers {
                reason,
                gates: self.node.kubelet.rules.gates,
                is_about_cpus: config.memory_manager_policy == "None"
                    && config.topology_manager_policy == "none",
                shared: shared_cpus(&self.node),
            })),
        }
    }
}

/// Returns the managers of a kubelet whose policies are not known, nor named by its state files, which every policy writes; `None`:
/// their policies are those of the configuration, or the defaults are assumed.
fn unknown_policies(node: &Node) -> Option<UnknownManagers> {
    let policy = |file: StateFile| {
        let text = state_file(node, file).ok().flatten()?;
        let read: Value = serde_json::from_slice(text).ok()?;
        Some(read.get("policyName")?.as_str()?.to_owned())
    };
    let is_set = node.kubelet.origins.contains_key("cpuManagerPolicy");
    let knows_cpus = is_set || policy(StateFile::Cpu).is_some_and(|policy| policy == "none");
    let is_set = node.kubelet.origins.contains_key("memoryManagerPolicy");
    // A static memory manager is rare: that there is none is not doubted without a trace of one.
    let has_memory = !is_set && policy(StateFile::Memory).is_some_and(|it| it == "Static");
    let field = if has_memory { "memoryManagerPolicy" } else { "cpuManagerPolicy" };
    let is_unknown = node.lacks_whole_config() && (has_memory || !knows_cpus);
    is_unknown.then(|| UnknownManagers {
        reason: format!(
            "{field} is unknown, because the kubelet's configuration is unknown (--kubelet-config FILE)"
        ),
        gates: node.kubelet.rules.gates,
        is_about_cpus: !has_memory,
        shared: None,
    })
}

/// Returns the CPUs of a static CPU manager that has no state and has given none away: all that run (`validateState`,
/// `pkg/kubelet/cm/cpumanager/policy_static.go`, read in 1.36.2). `None`: they depend on the machine, or on a state.
fn shared_cpus(node: &Node) -> Option<CpuSet> {
    let config = node.config();
    let has_options = node.kubelet.given.cpu_manager_policy_options.as_ref();
    let is_plain =
        config.cpu_manager_policy == "static" && has_options.is_none_or(BTreeMap::is_empty);
    let has_no_state = matches!(state_file(node, StateFile::Cpu), Ok(None));
    node.snapshot.host.cpus().ok().filter(|_| is_plain && has_no_state)
}

/// Returns true if a container of a pod asks for whole CPUs, which it gets for itself (`guaranteedCPUs`), or the pod as a whole does.
fn asks_for_cpus(pod: &Pod) -> bool {
    let mut containers = pod.spec.containers_and_init();
    let is_whole = |container: &Container| {
        let cpu = container.resources.requests.get(&ResourceName::Cpu);
        cpu.is_some_and(|cpu| !cpu.is_zero() && cpu.milli_value() % 1_000 == 0)
    };
    pod.spec.resources.is_some() || containers.any(is_whole)
}

/// The CPUs of containers, as the static CPU manager has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSets {
    shared: CpuSet,
    exclusive: BTreeMap<String, BTreeMap<String, CpuSet>>,
}

impl CpuSets {
    /// Returns the CPUs of a container: its own, else the shared ones.
    pub fn of(&self, pod: &Pod, container: &str) -> &CpuSet {
        let own = self.exclusive.get(&uid_of(pod, &qualified(pod)));
        own.and_then(|own| own.get(container)).unwrap_or(&self.shared)
    }
}

impl Placement {
    /// Returns the state files that the managers have written, once they have taken back what belonged to pods that are gone.
    pub fn state_files(&self) -> Vec<(StateFile, String)> {
        let Self::Managers(managers) = self else { return Vec::new() };
        let mut files = Vec::new();
        let mut cpu = managers.cpu.clone();
        if cpu.static_policy().is_some() {
            cpu.set_active(managers.active.clone());
            cpu.remove_stale();
            files.push((StateFile::Cpu, checkpoint::cpu_manager::encode(cpu.state()).text));
        }
        if let (Some(memory), Some(active)) = (managers.memory.memory(), &managers.active) {
            let mut memory = memory.clone();
            if memory.remove_stale(active).is_ok() {
                let text = checkpoint::memory_manager::encode(&memory.state).text;
                files.push((StateFile::Memory, text));
            }
        }
        files
    }

    /// Returns the CPUs of containers; `None`: no static CPU manager sets any, or it is not known which.
    pub fn cpu_sets(&self) -> Option<CpuSets> {
        let managers = match self {
            Self::Managers(managers) => managers,
            Self::Unknown(unknown) => {
                let shared = unknown.shared.clone()?;
                return Some(CpuSets { shared, exclusive: BTreeMap::new() });
            }
            Self::Nothing => return None,
        };
        managers.cpu.static_policy()?;
        let state = managers.cpu.state();
        Some(CpuSets { shared: state.default_cpu_set.clone(), exclusive: state.containers.clone() })
    }

    /// Decides about a pod that is new to the node. What is not known is reported as missing.
    pub fn check_new(
        &mut self,
        pod: &Pod,
        devices: Option<&DeviceAdmission>,
        basis: &mut Basis,
    ) -> EarlierCheck {
        self.check(pod, uid_of(pod, NEW), devices, basis)
    }

    /// Returns true if a manager gives a pod something that it has not recorded for it.
    pub fn places(&self, pod: &Pod) -> bool {
        match self {
            Self::Managers(managers) => {
                is_placed(pod, managers.gates) && !managers.has_recorded(pod)
            }
            Self::Nothing | Self::Unknown(_) => false,
        }
    }

    /// Decides about the next pod of the node.
    pub fn check_next(
        &mut self,
        pod: &Pod,
        devices: Option<&DeviceAdmission>,
        basis: &mut Basis,
    ) -> EarlierCheck {
        self.check(pod, uid_of(pod, &qualified(pod)), devices, basis)
    }

    fn check(
        &mut self,
        pod: &Pod,
        uid: String,
        devices: Option<&DeviceAdmission>,
        basis: &mut Basis,
    ) -> EarlierCheck {
        let check =
            |because, refusals| EarlierCheck { check: CheckName::Placement, because, refusals };
        let managers = match self {
            Self::Managers(managers) if is_placed(pod, managers.gates) => managers,
            Self::Unknown(unknown)
                if is_placed(pod, unknown.gates)
                    && (!unknown.is_about_cpus || asks_for_cpus(pod)) =>
            {
                unknown.shared = None;
                basis.lack(unplaced(pod, &unknown.reason));
                let error = unknown.reason.clone();
                return check(CheckReason::PlacementUnknown { error }, Vec::new());
            }
            _ => return check(CheckReason::NotPlaced, Vec::new()),
        };
        let mut pod = pod.clone();
        pod.metadata.uid = uid;
        match managers.admit(&pod, devices) {
            Err(error) => {
                let error = error.to_string();
                basis.lack(unplaced(&pod, &error));
                check(CheckReason::PlacementUnknown { error }, Vec::new())
            }
            // The check of the devices says so itself.
            Ok(Admission {
                refusal: Some(TopologyRefusal::Allocation { provider: "devices", .. }),
                ..
            }) => check(CheckReason::NotPlaced, Vec::new()),
            Ok(Admission { refusal: Some(refusal), .. }) => {
                let refused =
                    Refusal::new(CheckName::Placement, refusal.reason(), refusal.message());
                check(CheckReason::PlacementRefused, vec![refused])
            }
            Ok(admission) => {
                let containers = managers.placed(&pod, &admission);
                let because = match containers.is_empty() {
                    true => CheckReason::NotPlaced,
                    false => CheckReason::Placed { containers },
                };
                check(because, Vec::new())
            }
        }
    }
}

/// The managers give resources of their own to no others.
fn is_placed(pod: &Pod, gates: FeatureGates) -> bool {
    effective_qos_class(pod, gates) == QosClass::Guaranteed
}

fn unplaced(pod: &Pod, reason: &str) -> Missing {
    let pod = qualified(pod);
    let text = format!("which CPUs and NUMA nodes {pod} would get: {reason}");
    Missing::new(MissingFact::Placement, text).about(pod)
}

impl Managers {
    /// Makes the managers of a node from its configuration, its machine and its state files.
    fn of(node: &Node, active: Option<ActiveContainers>) -> Result<Self, String> {
        let settings = node.settings().map_err(|failure| failure.reason())?;
        let config = &settings.config;
        let gates = settings.rules.gates;
        let numa = numa_nodes(&node.snapshot.host)?;
        let topology = TopologyManager::new(
            &config.topology_manager_policy,
            &config.topology_manager_scope,
            &config.topology_manager_policy_options,
            gates,
            numa,
        )
        .map_err(does_not_start)?;
        let cpu = cpu_manager(node, settings, &topology)?;
        let memory = MemoryProvider::new(memory_manager(node, settings)?);
        Ok(Self { gates, topology, cpu, memory, active })
    }

    /// Returns true if each container of a pod that gets CPUs of its own has them.
    fn has_recorded(&self, pod: &Pod) -> bool {
        let uid = uid_of(pod, &qualified(pod));
        let gets_none = |container: &Container| {
            let cpu = container.resources.requests.get(&ResourceName::Cpu);
            cpu.is_none_or(|cpu| cpu.milli_value() % 1_000 != 0)
        };
        let has = |container: &Container| self.cpu.exclusive(&uid, &container.name).is_some();
        let is_simple = pod.spec.init_containers.is_empty() && pod.spec.resources.is_none();
        is_simple
            && !self.memory.is_static()
            && pod.spec.containers.iter().all(|it| gets_none(it) || has(it))
    }

    fn admit(
        &mut self,
        pod: &Pod,
        devices: Option<&DeviceAdmission>,
    ) -> Result<Admission, NotComputed> {
        if let Some(active) = &mut self.active {
            active.insert(pod.metadata.uid.clone(), names(pod));
        }
        self.cpu.set_active(self.active.clone());
        self.memory.set_active(self.active.clone());
        let admission = match devices {
            Some(devices) => devices.provide(|devices| {
                let providers: &mut [&mut dyn HintProvider] =
                    &mut [devices, &mut self.cpu, &mut self.memory];
                self.topology.admit(pod, providers)
            }),
            None => {
                let providers: &mut [&mut dyn HintProvider] =
                    &mut [&mut self.cpu, &mut self.memory];
                self.topology.admit(pod, providers)
            }
        }?;
        if let Some(active) = self.active.as_mut().filter(|_| !admission.admitted) {
            active.remove(&pod.metadata.uid);
        }
        Ok(admission)
    }

    /// Returns what the containers of a pod got.
    fn placed(&self, pod: &Pod, admission: &Admission) -> Vec<PlacedContainer> {
        let cpus = |name: &str| {
            let own = self.cpu.allocations().iter().rev().filter(|it| it.pod == pod.metadata.uid);
            own.into_iter().find_map(|it| match &it.what {
                Allocation::Container { name: other, result: Ok(outcome) } if other == name => {
                    exclusive(outcome)
                }
                _ => None,
            })
        };
        // CPUs may come from elsewhere than the nodes that were agreed on, where those have too few.
        let topology = self.cpu.static_policy().map(StaticPolicy::topology);
        let nodes_of = |cpus: &CpuSet| {
            let nodes: BTreeSet<i64> =
                cpus.iter().filter_map(|cpu| topology?.numa_node_of(cpu)).collect();
            nodes.into_iter().collect()
        };
        let placed = admission.containers.iter().map(|container| {
            let cpus = cpus(&container.name);
            let agreed = container.affinity.numa_nodes;
            PlacedContainer {
                container: container.name.clone(),
                numa_nodes: agreed.map(|agreed| match &cpus {
                    Some(cpus) => nodes_of(cpus),
                    None => agreed.iter().collect(),
                }),
                cpus: cpus.map(|cpus| cpus.to_string()),
            }
        });
        placed.filter(|it| it.cpus.is_some() || it.numa_nodes.is_some()).collect()
    }
}

fn exclusive(outcome: &CpuOutcome) -> Option<CpuSet> {
    match outcome {
        CpuOutcome::Shared(_) => None,
        CpuOutcome::Kept(cpus) => Some(cpus.clone()),
        CpuOutcome::Exclusive(exclusive) => Some(exclusive.cpus.clone()),
    }
}

fn names(pod: &Pod) -> BTreeSet<String> {
    let containers = pod.spec.containers_and_init();
    containers.map(|container| container.name.clone()).collect()
}

fn does_not_start(error: impl std::fmt::Display) -> String {
    format!("the kubelet does not start: {error}")
}

/// Returns the NUMA nodes of a machine with their distances.
fn numa_nodes(host: &HostFacts) -> Result<NumaInfo, String> {
    let distances = host.numa_distances().map_err(|error| format!("the machine: {error}"))?;
    Ok(NumaInfo::new(distances.into_iter().map(|(id, distances)| NumaNode { id, distances })))
}

/// Returns the CPU manager of a node, with the CPUs that its state file has.
fn cpu_manager(
    node: &Node,
    settings: &NodeConfig,
    topology: &TopologyManager,
) -> Result<CpuManager, String> {
    let config = &settings.config;
    let host = &node.snapshot.host;
    let machine = match config.cpu_manager_policy.as_str() {
        "static" => cpu_topology(host)?,
        _ => CpuTopology::default(),
    };
    let name = ResourceName::Cpu;
    let reservation = settings
        .capacity
        .get(&name)
        .map(|capacity| reserved(&name, capacity, &settings.reservations))
        .filter(|amount| !amount.is_zero());
    let reserved_cpus = config.reserved_system_cpus.parse::<CpuSet>().unwrap_or_default();
    let mut cpu = CpuManager::new(
        machine,
        &CpuManagerConfig {
            policy: &config.cpu_manager_policy,
            options: node
                .kubelet
                .given
                .cpu_manager_policy_options
                .as_ref()
                .unwrap_or(&BTreeMap::new()),
            reserved_cpus: &reserved_cpus,
            reservation: reservation.as_ref(),
            topology_policy: topology.policy(),
            rules: settings.rules,
        },
    )
    .map_err(does_not_start)?;
    let text = match config.cpu_manager_policy.as_str() {
        "none" => None,
        _ => state_file(node, StateFile::Cpu)?,
    };
    let files = node.snapshot.state_files.as_ref();
    let folder = files.map_or(DEFAULT_ROOT_DIR, |files| files.folder.as_str());
    cpu.start(text, None, folder).map_err(does_not_start)?;
    Ok(cpu)
}

/// Returns the memory manager of a node, with the memory that its state file has; `None`: its policy is `None`.
fn memory_manager(node: &Node, settings: &NodeConfig) -> Result<Option<StaticMemory>, String> {
    if settings.config.memory_manager_policy != "Static" {
        return Ok(None);
    }
    let machine = KnownMemory::of_host(&node.snapshot.host).machine();
    let machine = machine.ok_or("the memory of the machine's NUMA nodes is not known")?;
    let reservation = reserved_but_storage(&settings.capacity, &settings.reservations);
    let reserved = node.kubelet.given.reserved_memory.as_deref().unwrap_or_default();
    let gates = settings.rules.gates;
    let manager = MemoryManager::new("Static", machine, &reservation, reserved, gates);
    let manager = manager.map_err(does_not_start)?;
    let started = manager.start(state_file(node, StateFile::Memory)?).result;
    Ok(Some(started.map_err(does_not_start)?.memory))
}

/// Returns the bytes of a state file; `None`: there is none.
fn state_file(node: &Node, file: StateFile) -> Result<Option<&[u8]>, String> {
    let files = node.snapshot.state_files.as_ref();
    match files.and_then(|files| files.get(file.name())) {
        Some(Text::Read(text)) => Ok(Some(text.as_bytes())),
        Some(Text::Absent) => Ok(None),
        Some(Text::Unreadable(reason)) => Err(format!("{}: {reason}", file.name())),
        None => Err(format!("{} is not known", file.name())),
    }
}

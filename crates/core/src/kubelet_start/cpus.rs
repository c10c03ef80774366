//! The CPU manager at the start: made of the configuration (`NewManager` in `pkg/kubelet/cm/cpumanager/cpu_manager.go`), then
//! started with its state file.

use super::Start;
use kq_facts::host::CpuPlace;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::ResourceName;
use kq_managers::cpu_manager::{CpuManager, CpuManagerConfig, CpuTopology, StartError, StateError};
use kq_managers::topology_manager::TopologyPolicy;
use std::collections::BTreeMap;

/// The CPU manager, and what of its machine is known.
pub(super) struct CpuStart {
    manager: CpuManager,
    /// The CPUs of the machine are known.
    knows_cpus: bool,
    /// The reserved CPUs are known: they are listed, or the cores are known.
    pub knows_reserved: bool,
}

/// Makes the manager; `None`: what is reserved is not known.
pub(super) fn create(start: &Start<'_>) -> Result<Option<CpuStart>, String> {
    let Start { read, machine, reservation, .. } = start;
    let policy = read.effective.cpu_manager_policy.as_str();
    if policy == "static" && reservation.is_none() {
        return Ok(None);
    }
    let topology = match (&machine.cpu_topology, &machine.cpus) {
        (Some(topology), _) => topology.clone(),
        (None, Some(cpus)) => flat(cpus),
        // No list of reserved CPUs is too long for them.
        (None, None) => flat(&CpuSet::first(1024).unwrap_or_default()),
    };
    let none = BTreeMap::new();
    let reserved_cpus: CpuSet = read.effective.reserved_system_cpus.parse().unwrap_or_default();
    let manager = CpuManager::new(
        topology,
        &CpuManagerConfig {
            policy,
            options: read.given.cpu_manager_policy_options.as_ref().unwrap_or(&none),
            reserved_cpus: &reserved_cpus,
            reservation: reservation.as_ref().and_then(|list| list.get(&ResourceName::Cpu)),
            topology_policy: topology_policy(&read.effective.topology_manager_policy),
            rules: KubeletRules { gates: read.gates },
        },
    )
    .map_err(|error| error.to_string())?;
    Ok(Some(CpuStart {
        manager,
        knows_cpus: machine.cpus.is_some(),
        knows_reserved: policy == "none"
            || !reserved_cpus.is_empty()
            || machine.cpu_topology.is_some(),
    }))
}

/// A policy that no kubelet has ends the start elsewhere.
fn topology_policy(name: &str) -> TopologyPolicy {
    name.parse().unwrap_or_default()
}

/// Returns a machine of which the CPUs are known, and not their cores: each has its own.
fn flat(cpus: &CpuSet) -> CpuTopology {
    let cpus = cpus.iter().map(|cpu| CpuPlace {
        cpu,
        core: cpu,
        socket: 0,
        numa_node: 0,
        uncore_cache: None,
    });
    CpuTopology::new(cpus).unwrap_or_default()
}

impl CpuStart {
    /// Starts with a state file, and returns why it does not, as far as that is known of the machine.
    pub fn refusal(mut self, file: &[u8], folder: &str) -> Option<StartError> {
        let error = self.manager.start(Some(file), None, folder).err()?;
        let is_known = match &error {
            StartError::File { .. } => true,
            StartError::State(
                StateError::StrictlyReserved { .. } | StateError::NotReserved { .. },
            ) => self.knows_reserved,
            StartError::State(StateError::OtherCpus { .. }) => {
                self.knows_cpus && self.knows_reserved
            }
            StartError::State(StateError::EmptyDefault | StateError::Overlap { .. }) => true,
        };
        is_known.then_some(error)
    }
}

//! The static policy (`policy_static.go`): reserved CPUs, the check of a state, allocation and release.

use super::accumulator::{Sorting, TakeError, Taking, take_packed};
use super::distributed::take_distributed;
use super::eligible::{SharedBecause, exclusive_cpus};
use super::errors::{AllocateError, StateError, StaticPolicyError};
use super::options::StaticPolicyOptions;
use super::topology::{CpuTopology, count};
use crate::topology_manager::{NotComputed, NumaNodes, TopologyPolicy};
use kq_facts::checkpoint::cpu_manager::CpuState;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::resources::has_pod_level_resources;
use std::collections::BTreeMap;

/// The static policy of a machine, with what it remembers between the containers of a pod.
#[derive(Clone, Debug)]
pub struct StaticPolicy {
    pub(super) topology: CpuTopology,
    pub(super) options: StaticPolicyOptions,
    pub(super) rules: KubeletRules,
    reserved: CpuSet,
    reserved_with_siblings: CpuSet,
    /// By pod, the CPUs that its init containers leave to the next.
    pub(super) reuse: BTreeMap<String, CpuSet>,
}

/// What a container runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuOutcome {
    /// The shared CPUs.
    Shared(SharedBecause),
    /// The CPUs that it has had.
    Kept(CpuSet),
    Exclusive(Exclusive),
}

/// The CPUs that a container got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusive {
    pub cpus: CpuSet,
    /// Those that were taken on the NUMA nodes of the topology manager; `None`: it had none for it.
    pub aligned: Option<CpuSet>,
    /// Those that were not free: another container has them, or they are reserved. A kubelet gives them away on machines
    /// whose cores or sockets have different sizes, because it counts with averages.
    pub not_free: CpuSet,
}

/// The answer to a container, or the kubelet's error; then what kq does not compute.
pub type Allocated = Result<Result<CpuOutcome, AllocateError>, NotComputed>;

impl StaticPolicy {
    /// Makes the policy (`NewStaticPolicy`). Without a list, the reserved CPUs are taken of all CPUs as those of a
    /// container are, with the policy's own options.
    pub fn new(
        topology: CpuTopology,
        options: &BTreeMap<String, String>,
        rules: KubeletRules,
        topology_policy: TopologyPolicy,
        (wanted, reserved): (i64, &CpuSet),
    ) -> Result<Self, StaticPolicyError> {
        let options = StaticPolicyOptions::parse(options, rules.gates)?;
        options.check(&topology, topology_policy)?;
        let mut policy = Self {
            topology,
            options,
            rules,
            reserved: reserved.clone(),
            reserved_with_siblings: CpuSet::default(),
            reuse: BTreeMap::new(),
        };
        if reserved.is_empty() {
            policy.reserved = policy.take(&policy.topology.cpus(), wanted)?.unwrap_or_default();
        }
        if count(&policy.reserved) != wanted {
            return Err(StaticPolicyError::WrongSize { reserved: policy.reserved, wanted });
        }
        let (with_siblings, unknown) = policy.topology.with_siblings(&policy.reserved);
        if let Some(cpu) = unknown {
            return Err(StaticPolicyError::UnknownCpu(cpu));
        }
        policy.reserved_with_siblings = with_siblings;
        Ok(policy)
    }

    pub fn topology(&self) -> &CpuTopology {
        &self.topology
    }

    pub fn options(&self) -> StaticPolicyOptions {
        self.options
    }

    /// Returns the reserved CPUs.
    pub fn reserved(&self) -> &CpuSet {
        &self.reserved
    }

    /// Returns the reserved CPUs with all others of their cores.
    pub fn reserved_with_siblings(&self) -> &CpuSet {
        &self.reserved_with_siblings
    }

    /// Returns the CPUs that init containers of a pod left to the next, by its UID.
    pub fn cpus_to_reuse(&self) -> &BTreeMap<String, CpuSet> {
        &self.reuse
    }

    /// Sets what init containers left, as a kubelet remembers it that did not restart.
    pub fn set_cpus_to_reuse(&mut self, reuse: BTreeMap<String, CpuSet>) {
        self.reuse = reuse;
    }

    /// Returns the CPUs that containers can get.
    pub fn allocatable(&self) -> CpuSet {
        self.topology.cpus().difference(&self.reserved)
    }

    /// Returns the shared CPUs that are not reserved.
    pub(super) fn available(&self, state: &CpuState) -> CpuSet {
        state.default_cpu_set.difference(&self.reserved)
    }

    /// Takes CPUs by the options (`takeByTopology`).
    pub(super) fn take(
        &self,
        free: &CpuSet,
        wanted: i64,
    ) -> Result<Result<CpuSet, TakeError>, NotComputed> {
        let taking = Taking {
            sorting: match self.options.distribute_cpus_across_cores {
                true => Sorting::Spread,
                false => Sorting::Packed,
            },
            by_cache: self.options.prefer_align_cpus_by_uncore_cache,
            rounds_up_cores: self.rules.rounds_up_cores_of_cache(),
        };
        if !self.options.distribute_cpus_across_numa {
            return Ok(take_packed(&self.topology, free, wanted, taking));
        }
        let group = if self.options.full_pcpus_only { self.topology.cpus_per_core() } else { 1 };
        take_distributed(&self.topology, free, wanted, group, taking)
    }

    /// Checks a state, and fills an empty one (`validateState`). Returns true if it was filled, and so is written.
    ///
    /// With `strict-cpu-reservation`, the CPUs of a state are compared with those of the machine without the reserved ones.
    pub fn check_state(&self, state: &mut CpuState) -> Result<bool, StateError> {
        let strict = self.options.strict_cpu_reservation;
        let all = match strict {
            true => self.allocatable(),
            false => self.topology.cpus(),
        };
        let default = &state.default_cpu_set;
        if default.is_empty() {
            if !state.containers.is_empty() {
                return Err(StateError::EmptyDefault);
            }
            state.default_cpu_set = all;
            return Ok(true);
        }
        let shared = self.reserved.intersection(default);
        if strict && !shared.is_empty() {
            let default = default.clone();
            return Err(StateError::StrictlyReserved { reserved: shared, default });
        }
        if !strict && shared != self.reserved {
            let (reserved, default) = (self.reserved.clone(), default.clone());
            return Err(StateError::NotReserved { reserved, default });
        }
        for (pod, containers) in &state.containers {
            for (container, cpus) in containers {
                if cpus.overlaps(default) {
                    return Err(StateError::Overlap {
                        pod: pod.clone(),
                        container: container.clone(),
                        cpus: cpus.clone(),
                        default: default.clone(),
                    });
                }
            }
        }
        let of_containers = state.containers.values().flat_map(BTreeMap::values);
        let of_pods = state.pods.iter().flat_map(BTreeMap::values);
        let exclusive = of_containers.chain(of_pods).flat_map(CpuSet::iter);
        let known: CpuSet = default.iter().chain(exclusive).collect();
        match known == all {
            true => Ok(false),
            false => Err(StateError::OtherCpus { available: all, known }),
        }
    }

    /// Gives a container its CPUs (`Allocate`). `on`: the NUMA nodes of the topology manager.
    ///
    /// The order of the checks is the kubelet's: with `full-pcpus-only`, a container that has its CPUs already can still fail.
    pub fn allocate(
        &mut self,
        state: &mut CpuState,
        pod: &Pod,
        container: &Container,
        on: Option<NumaNodes>,
    ) -> Allocated {
        let wanted = match self.exclusive_cpus(pod, container) {
            Ok(wanted) => wanted,
            Err(because) => return Ok(Ok(CpuOutcome::Shared(because))),
        };
        if let Err(error) = self.check_cores(state, wanted) {
            return Ok(Err(error));
        }
        let uid = &pod.metadata.uid;
        let recorded = state.containers.get(uid).and_then(|of_pod| of_pod.get(&container.name));
        if let Some(cpus) = recorded.cloned() {
            self.update_reuse(pod, container, &cpus);
            return Ok(Ok(CpuOutcome::Kept(cpus)));
        }
        let reuse = self.reuse.get(uid).cloned().unwrap_or_default();
        let got = match self.allocate_cpus(state, wanted, on, &reuse)? {
            Ok(got) => got,
            Err(error) => return Ok(Err(error.into())),
        };
        let of_pod = state.containers.entry(uid.clone()).or_default();
        of_pod.insert(container.name.clone(), got.cpus.clone());
        self.update_reuse(pod, container, &got.cpus);
        Ok(Ok(CpuOutcome::Exclusive(got)))
    }

    /// Returns how many exclusive CPUs a container gets, unless it has none.
    pub(super) fn exclusive_cpus(
        &self,
        pod: &Pod,
        container: &Container,
    ) -> Result<i64, SharedBecause> {
        let wanted = exclusive_cpus(self.rules, pod, container)?;
        match self.rules.skips_pod_level_resources() && has_pod_level_resources(pod) {
            true => Err(SharedBecause::PodLevelResources),
            false => Ok(wanted),
        }
    }

    /// Checks that whole cores are asked for and may be free (`enforceSMTAlignment`). What init containers left does not
    /// count as free here.
    pub(super) fn check_cores(
        &self,
        state: &CpuState,
        requested: i64,
    ) -> Result<(), AllocateError> {
        if !self.options.full_pcpus_only {
            return Ok(());
        }
        let per_core = self.topology.cpus_per_core();
        if requested.checked_rem(per_core).is_some_and(|rest| rest != 0) {
            return Err(AllocateError::PartOfCore { requested, per_core });
        }
        let free = state.default_cpu_set.difference(&self.reserved_with_siblings);
        let available = count(&free);
        match requested > available {
            true => Err(AllocateError::TooFewCores { available, requested, per_core }),
            false => Ok(()),
        }
    }

    /// Takes CPUs on the NUMA nodes first, then the rest anywhere (`allocateCPUs`). CPUs to be reused are not preferred.
    pub(super) fn allocate_cpus(
        &self,
        state: &mut CpuState,
        wanted: i64,
        on: Option<NumaNodes>,
        reuse: &CpuSet,
    ) -> Result<Result<Exclusive, TakeError>, NotComputed> {
        let free = self.available(state).union(reuse);
        let mut aligned = None;
        if let Some(nodes) = on {
            let here = self.on_nodes(&free, nodes);
            match self.take(&here, wanted.min(count(&here)))? {
                Ok(cpus) => aligned = Some(cpus),
                Err(error) => return Ok(Err(error)),
            }
        }
        let first = aligned.clone().unwrap_or_default();
        let rest = match self.take(&free.difference(&first), wanted - count(&first))? {
            Ok(cpus) => cpus,
            Err(error) => return Ok(Err(error)),
        };
        let cpus = first.union(&rest);
        state.default_cpu_set = state.default_cpu_set.difference(&cpus);
        let not_free = cpus.difference(&free);
        Ok(Ok(Exclusive { cpus, aligned, not_free }))
    }

    /// Returns the CPUs on NUMA nodes, or with `align-by-socket` on all sockets of these (`getAlignedCPUs`).
    fn on_nodes(&self, cpus: &CpuSet, nodes: NumaNodes) -> CpuSet {
        let sockets = self.topology.sockets_of(|node| nodes.contains(node));
        let details = self.topology.details();
        let is_here = |cpu: &i64| {
            details.get(cpu).is_some_and(|place| match self.options.align_by_socket {
                true => sockets.contains(&place.socket),
                false => nodes.contains(place.node),
            })
        };
        cpus.iter().filter(is_here).collect()
    }

    /// Remembers what an init container leaves to the next, or takes away what another one keeps (`updateCPUsToReuse`).
    fn update_reuse(&mut self, pod: &Pod, container: &Container, cpus: &CpuSet) {
        let uid = &pod.metadata.uid;
        self.reuse.retain(|owner, _| owner == uid);
        let reuse = self.reuse.entry(uid.clone()).or_default();
        let mut init = pod.spec.init_containers.iter();
        let leaves =
            init.find(|it| it.name == container.name).is_some_and(|it| !it.restarts_always());
        *reuse = if leaves { reuse.union(cpus) } else { reuse.difference(cpus) };
    }

    /// Takes the CPUs of containers back that are gone, by UID and name (`removeStaleState`, `RemoveContainer`). What
    /// another container of the same pod has stays exclusive; the CPUs of a pod as a whole come back with its last container.
    pub fn release(&self, state: &mut CpuState, is_gone: impl Fn(&str, &str) -> bool) {
        let mut released: Vec<CpuSet> = Vec::new();
        let mut pods = state.pods.take();
        state.containers.retain(|uid, of_pod| {
            let gone: Vec<CpuSet> =
                of_pod.extract_if(.., |name, _| is_gone(uid, name)).map(|(_, cpus)| cpus).collect();
            if gone.is_empty() {
                return true;
            }
            let gone: CpuSet = gone.iter().flat_map(CpuSet::iter).collect();
            let in_use: CpuSet = of_pod.values().flat_map(CpuSet::iter).collect();
            match pods.as_mut().filter(|pods| pods.contains_key(uid)) {
                Some(pods) if of_pod.is_empty() => released.extend(pods.remove(uid)),
                Some(_) => {}
                None => released.push(gone.difference(&in_use)),
            }
            !of_pod.is_empty()
        });
        state.pods = pods;
        let released = released.iter().flat_map(CpuSet::iter);
        state.default_cpu_set = state.default_cpu_set.iter().chain(released).collect();
    }
}

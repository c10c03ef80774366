//! The CPUs of a machine (`CPUTopology` in `pkg/kubelet/cm/cpumanager/topology`).
//!
//! The kubelet divides totals: a machine whose cores or sockets have different sizes has the average of all,
//! rounded down, and the policy uses it for each (see [`CpuTopology::cpus_per_core`]).

use kq_facts::host::CpuPlace;
use kq_k8s::cpuset::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// Where a CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub core: i64,
    pub socket: i64,
    pub node: i64,
    pub cache: i64,
}

/// CPUs with their places (`CPUDetails`).
pub(super) type Details = BTreeMap<i64, Place>;

/// The CPUs of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
    details: Details,
    cores: BTreeMap<i64, CpuSet>,
    sockets: BTreeMap<i64, CpuSet>,
    nodes: BTreeMap<i64, CpuSet>,
    caches: BTreeMap<i64, CpuSet>,
}

/// Why there is no topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// In the kubelet's words (`Discover`).
    #[error("could not detect number of cpus")]
    NoCpus,
    /// More than kq computes with.
    #[error("{cpus} CPUs: kq computes with at most {}", CpuTopology::MOST)]
    TooManyCpus {
        /// How many.
        cpus: usize,
    },
}

impl CpuTopology {
    /// The most CPUs that kq computes with.
    pub const MOST: usize = 4096;

    /// Returns the topology of a machine. Of a CPU that is listed twice, the last place counts.
    /// Fails without CPUs, and for more than [`CpuTopology::MOST`].
    pub fn new(cpus: impl IntoIterator<Item = CpuPlace>) -> Result<Self, TopologyError> {
        let place = |it: CpuPlace| {
            let cache = it.uncore_cache.unwrap_or(it.socket);
            (it.cpu, Place { core: it.core, socket: it.socket, node: it.numa_node, cache })
        };
        let details: Details = cpus.into_iter().map(place).collect();
        if details.is_empty() {
            return Err(TopologyError::NoCpus);
        }
        if details.len() > Self::MOST {
            return Err(TopologyError::TooManyCpus { cpus: details.len() });
        }
        Ok(Self {
            cores: grouped(&details, |place| place.core),
            sockets: grouped(&details, |place| place.socket),
            nodes: grouped(&details, |place| place.node),
            caches: grouped(&details, |place| place.cache),
            details,
        })
    }

    /// Returns all CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.details.keys().copied().collect()
    }

    /// Returns the NUMA nodes that have CPUs.
    pub fn numa_nodes(&self) -> impl Iterator<Item = i64> {
        self.nodes.keys().copied()
    }

    /// Returns the CPUs of a NUMA node.
    pub fn cpus_in_numa_node(&self, node: i64) -> CpuSet {
        self.nodes.get(&node).cloned().unwrap_or_default()
    }

    /// Returns the NUMA node of a CPU.
    pub fn numa_node_of(&self, cpu: i64) -> Option<i64> {
        self.details.get(&cpu).map(|place| place.node)
    }

    /// Returns how many CPUs a core has: all CPUs by all cores, rounded down.
    pub fn cpus_per_core(&self) -> i64 {
        per(self.details.len(), self.cores.len())
    }

    /// Returns how many CPUs a socket has: all CPUs by all sockets, rounded down.
    pub fn cpus_per_socket(&self) -> i64 {
        per(self.details.len(), self.sockets.len())
    }

    /// Returns how many CPUs a last-level cache has: all CPUs by all caches, rounded down.
    pub fn cpus_per_uncore_cache(&self) -> i64 {
        per(self.details.len(), self.caches.len())
    }

    pub(super) fn details(&self) -> &Details {
        &self.details
    }

    pub(super) fn core(&self, core: i64) -> CpuSet {
        self.cores.get(&core).cloned().unwrap_or_default()
    }

    pub(super) fn socket(&self, socket: i64) -> CpuSet {
        self.sockets.get(&socket).cloned().unwrap_or_default()
    }

    pub(super) fn cache(&self, cache: i64) -> CpuSet {
        self.caches.get(&cache).cloned().unwrap_or_default()
    }

    pub(super) fn count_sockets(&self) -> usize {
        self.sockets.len()
    }

    pub(super) fn count_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the sockets that have CPUs on one of the nodes.
    pub(super) fn sockets_of(&self, on: impl Fn(i64) -> bool) -> BTreeSet<i64> {
        let places = self.details.values().filter(|place| on(place.node));
        places.map(|place| place.socket).collect()
    }

    /// Returns the CPUs with all other CPUs of their cores, and the first one that the machine does not have.
    pub(super) fn with_siblings(&self, cpus: &CpuSet) -> (CpuSet, Option<i64>) {
        let unknown = cpus.iter().find(|cpu| !self.details.contains_key(cpu));
        let cores: BTreeSet<i64> =
            cpus.iter().filter_map(|cpu| Some(self.details.get(&cpu)?.core)).collect();
        let of_cores = cores.iter().filter_map(|core| self.cores.get(core));
        (of_cores.flat_map(CpuSet::iter).collect(), unknown)
    }
}

fn grouped(details: &Details, by: impl Fn(&Place) -> i64) -> BTreeMap<i64, CpuSet> {
    let mut groups: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (cpu, place) in details {
        groups.entry(by(place)).or_default().push(*cpu);
    }
    groups.into_iter().map(|(group, cpus)| (group, cpus.into_iter().collect())).collect()
}

fn per(all: usize, groups: usize) -> i64 {
    all.checked_div(groups).and_then(|count| i64::try_from(count).ok()).unwrap_or(0)
}

/// Returns a count as the kubelet's `int`.
pub(super) fn count(cpus: &CpuSet) -> i64 {
    i64::try_from(cpus.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_rounded_down() {
        let cpu = |cpu: i64, core: i64| CpuPlace {
            cpu,
            core,
            socket: 0,
            numa_node: 0,
            uncore_cache: None,
        };
        let topology =
            CpuTopology::new([cpu(0, 0), cpu(1, 0), cpu(2, 2), cpu(3, 3)]).expect("a topology");
        assert_eq!(topology.cpus_per_core(), 1, "4 CPUs on 3 cores");
        assert_eq!(topology.with_siblings(&[1, 9].into_iter().collect()).1, Some(9));
        assert_eq!(CpuTopology::new([]), Err(TopologyError::NoCpus));
        let many = (0..5000).map(|it| cpu(it, it));
        assert_eq!(CpuTopology::new(many), Err(TopologyError::TooManyCpus { cpus: 5000 }));
    }
}

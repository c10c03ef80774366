//! Where each CPU is: its core, its socket, its NUMA node and its last-level cache, as cadvisor reports them to the kubelet
//! (`GetNodesInfo` in `utils/sysinfo/sysinfo.go`, `getCoresInfo`, `addCacheInfo`).
//!
//! Not read: books and drawers of s390x, and machines without the folder of NUMA nodes, of which cadvisor makes a node of
//! each socket.

use super::read::positive_or_zero;
use super::{CPUS, HostFactError, HostFacts, NUMA_NODES};
use std::collections::BTreeMap;

/// A CPU that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: i64,
    /// The lowest CPU of its core.
    pub core: i64,
    pub socket: i64,
    pub numa_node: i64,
    /// Its last-level cache; `None`: the cache is that of its whole NUMA node, or not known.
    pub uncore_cache: Option<i64>,
}

/// How many CPUs are read at most: no machine has more.
pub const MOST_CPUS: usize = 4096;

/// The files of a CPU below its folder.
pub const CPU_FILES: [&str; 5] = [
    "topology/core_id",
    "topology/physical_package_id",
    "cache/index3/id",
    "cache/index3/level",
    "cache/index3/shared_cpu_list",
];

/// A core as cadvisor groups them: by node, core number and socket.
type Core = (i64, i64);

impl HostFacts {
    /// Returns the CPUs that run, with their places, in order.
    /// Fails for a text that was not read, and for one of another format. A CPU without numbers of core and socket is
    /// left out, as cadvisor does.
    pub fn cpu_places(&self) -> Result<Vec<CpuPlace>, HostFactError> {
        let online = self.cpus()?;
        let mut places = Vec::new();
        for node in self.numa_nodes()? {
            let mut cores: BTreeMap<Core, Vec<i64>> = BTreeMap::new();
            for cpu in node.cpus.intersection(&online).iter() {
                let Some(core) = self.cpu_number(cpu, "topology/core_id")? else { continue };
                let socket = self.cpu_number(cpu, "topology/physical_package_id")?;
                let Some(socket) = socket else { continue };
                cores.entry((core, socket)).or_default().push(cpu);
            }
            let count = cores.len();
            for ((_, socket), threads) in cores {
                let Some(first) = threads.first().copied() else { continue };
                let uncore_cache = self.uncore_cache(first, count * threads.len());
                places.extend(threads.into_iter().map(|cpu| CpuPlace {
                    cpu,
                    core: first,
                    socket,
                    numa_node: node.id,
                    uncore_cache,
                }));
            }
        }
        places.sort_by_key(|place| place.cpu);
        Ok(places)
    }

    /// Returns the distances of each NUMA node to all, in the order of the nodes that have them; `None`: the kernel does
    /// not say.
    /// Fails for a text that was not read, and for one of another format.
    pub fn numa_distances(&self) -> Result<BTreeMap<i64, Option<Vec<u64>>>, HostFactError> {
        let mut distances = BTreeMap::new();
        for node in self.numa_nodes()? {
            let path = format!("{NUMA_NODES}/node{}/distance", node.id);
            let text = match self.text(&path) {
                Ok(text) => text.trim(),
                Err(error) if error.is_absent() => {
                    distances.insert(node.id, None);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let row: Option<Vec<u64>> = text.split(' ').map(|it| it.parse().ok()).collect();
            let problem = "expected distances, such as 10 21";
            let row = row.ok_or_else(|| HostFactError::invalid(&path, text, problem))?;
            distances.insert(node.id, Some(row));
        }
        Ok(distances)
    }

    /// Returns the number in a file of a CPU; `None`: there is no such file.
    fn cpu_number(&self, cpu: i64, file: &str) -> Result<Option<i64>, HostFactError> {
        let path = format!("{CPUS}/cpu{cpu}/{file}");
        let text = match self.text(&path) {
            Ok(text) => text.trim(),
            Err(error) if error.is_absent() => return Ok(None),
            Err(error) => return Err(error),
        };
        match positive_or_zero(text) {
            Some(number) => Ok(Some(number)),
            None => Err(HostFactError::invalid(&path, text, "expected a number")),
        }
    }

    /// Returns the last-level cache of a CPU, unless as many CPUs share it as the node has: then it is the node's. Where
    /// its files cannot be read, cadvisor knows no cache.
    fn uncore_cache(&self, cpu: i64, of_node: usize) -> Option<i64> {
        let level = self.cpu_number(cpu, "cache/index3/level").ok().flatten()?;
        let id = self.cpu_number(cpu, "cache/index3/id").ok().flatten()?;
        let shared =
            self.cpu_list(&format!("{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list")).ok()?;
        (level > 2 && shared.len() != of_node).then_some(id)
    }
}

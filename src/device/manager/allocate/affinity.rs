//! The free devices on the NUMA nodes of the topology manager (`filterByAffinity`).

use super::report::Split;
use crate::device::manager::numa::NumaNodes;
use crate::device::manager::state::{Device, with_devices};
use std::collections::BTreeMap;

/// The key under which devices without NUMA node are recorded (`nodeWithoutTopology`).
pub const NO_NUMA_NODE: i64 = -1;

/// Free devices by how they lie to NUMA nodes, each in the order of the ids.
pub struct Sorted<'a> {
    pub aligned: Vec<&'a str>,
    pub unaligned: Vec<&'a str>,
    pub without_numa: Vec<&'a str>,
    /// NUMA nodes mattered.
    pub matters: bool,
}

impl Sorted<'_> {
    /// Returns the numbers, where NUMA nodes mattered.
    pub fn split(&self) -> Option<Split> {
        self.matters.then_some(Split {
            aligned: self.aligned.len(),
            unaligned: self.unaligned.len(),
            without_numa: self.without_numa.len(),
        })
    }
}

/// Returns true if a device of the resource, healthy or not, has a NUMA node
/// (`deviceHasTopologyAlignment`).
pub fn has_topology(devices: &BTreeMap<String, Device>) -> bool {
    devices.values().any(|device| device.numa_nodes.as_ref().is_some_and(|nodes| !nodes.is_empty()))
}

/// Sorts free devices, which come in the order of their ids.
pub fn sort<'a>(
    devices: &'a BTreeMap<String, Device>,
    available: &[&'a str],
    affinity: Option<NumaNodes>,
) -> Sorted<'a> {
    let mut sorted = Sorted {
        aligned: Vec::new(),
        unaligned: Vec::new(),
        without_numa: Vec::new(),
        matters: false,
    };
    let Some(affinity) = affinity.filter(|_| has_topology(devices)) else {
        sorted.without_numa = available.to_vec();
        return sorted;
    };
    sorted.matters = true;
    for (id, device) in with_devices(available.iter().copied(), devices) {
        let nodes = device.and_then(|device| device.numa_nodes.as_deref());
        let mut nodes = nodes.unwrap_or_default().iter().filter(|node| **node != NO_NUMA_NODE);
        let Some(first) = nodes.next() else {
            sorted.without_numa.push(id);
            continue;
        };
        if affinity.contains(*first) || nodes.any(|node| affinity.contains(*node)) {
            sorted.aligned.push(id);
        } else {
            sorted.unaligned.push(id);
        }
    }
    sorted
}

//! Devices of plugins, exclusive CPUs and NUMA nodes: their holders, and the next steps of the kubelet. The domain of
//! `kq devices`. Pure.
//!
//! * [`reconstruct`]: the manager of a node, reconstructed from outside.
//! * [`capacity`]: the node's capacity.
//! * [`list`]: allocated devices, from every source.
//! * [`manager`]: the kubelet's device manager: its state, allocations and capacity.
//! * [`cpu_manager`]: exclusive CPUs. [`topology_manager`]: NUMA nodes, and the admission that asks all managers.
//! * [`memory_manager`]: the kubelet's memory manager: its start, allocations and hints.
//! * [`plugins`]: the sockets of plugins, inspected from outside.
//! * [`plan`](mod@plan): the devices that pods would get.
//! * [`repair`]: a checkpoint without stale or damaged entries.
//! * [`run_options`]: the settings of a container from the answers of its plugins.
//! * [`fake_kubelet`]: the manager with plugins that come and go, for plugin developers.
//! * [`verify`]: the kubelet's state files: sound, damaged, contradictory.

pub mod capacity;
pub mod cpu_manager;
pub mod fake_kubelet;
pub mod list;
pub mod manager;
pub mod memory_manager;
pub mod plan;
pub mod plugins;
pub mod reconstruct;
pub mod repair;
pub mod run_options;
pub mod topology_manager;
pub mod verify;

#[cfg(test)]
#[path = "../../../tests/support/objects.rs"]
mod objects;

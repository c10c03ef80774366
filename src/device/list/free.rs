//! The answer of `--free`: the devices that no pod holds.

use super::reason::CheckpointDamage;
use super::report::DeviceList;
use crate::answer::{Basis, Worded, answer};
use serde::Serialize;

/// The healthy devices that no active pod has.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FreeDevices {
    /// The moment of everything.
    pub at: String,
    /// A device each.
    pub items: Vec<FreeOf>,
    /// The resources whose healthy devices are unknown.
    pub unknown: Vec<String>,
    /// What is wrong with the checkpoint, where the kubelet rejects it.
    pub damage: Option<Worded<CheckpointDamage>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("FreeDevices", FreeDevices);

/// A device that is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FreeOf {
    /// The resource.
    pub resource: String,
    /// Its id.
    pub device: String,
    /// Its NUMA nodes; empty: none. `None`: not known.
    pub numa_nodes: Option<Vec<i64>>,
}

impl FreeDevices {
    /// Takes what is left from a list of all.
    pub fn of(list: &DeviceList<'_>) -> Self {
        let free = list.resources.iter().flat_map(|summary| {
            summary.free.iter().flatten().map(|device| FreeOf {
                resource: summary.resource.clone(),
                device: device.device.clone(),
                numa_nodes: device.numa_nodes.clone(),
            })
        });
        let unknown = list.resources.iter().filter(|summary| summary.free.is_none());
        Self {
            at: list.at.clone(),
            items: free.collect(),
            unknown: unknown.map(|summary| summary.resource.clone()).collect(),
            damage: list.damage.clone(),
            basis: list.basis.clone(),
        }
    }
}

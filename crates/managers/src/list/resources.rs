//! Each resource with its devices, holders and free devices.

use super::judge::DeviceSources;
use super::reason::{CheckpointDamage, ResourceNote, State};
use super::report::{DeviceList, DeviceRow};
use kq_answer::{Basis, Worded, answer};
use kq_facts::snapshot::Snapshot;
use kq_k8s::pod::{ResourceList, ResourceName};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A resource of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSummary {
    /// The resource; in an answer it stands before the others.
    #[serde(skip)]
    pub resource: String,
    /// The capacity in the node's status; null: not reported, or unknown.
    pub capacity: Option<i64>,
    /// The allocatable amount in the node's status; null: not reported, or unknown.
    pub allocatable: Option<i64>,
    /// How many devices are healthy; null: unknown.
    pub healthy: Option<usize>,
    /// How many devices active pods have.
    pub allocated: usize,
    /// Devices held only by deleted pods; freed before the next allocation.
    pub stale: usize,
    /// The healthy devices that no active pod has; null: the healthy ones are unknown.
    pub free: Option<Vec<FreeDevice>>,
    /// What contradicts what.
    pub notes: Vec<Worded<ResourceNote>>,
}

impl ResourceSummary {
    /// Returns how many devices are not healthy; 0 where that is not known.
    pub(super) fn unhealthy(&self) -> i64 {
        let healthy = self.healthy.and_then(|healthy| i64::try_from(healthy).ok());
        self.capacity.zip(healthy).map_or(0, |(all, healthy)| (all - healthy).max(0))
    }
}

/// A device that no active pod has.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct FreeDevice {
    /// Its id.
    pub device: String,
    /// Its NUMA nodes; empty: none. Null: unknown.
    pub numa_nodes: Option<Vec<i64>>,
}

/// Puts resources together, from the devices that are offered and those that are held.
pub(super) fn summaries(
    snapshot: &Snapshot,
    known: &DeviceSources<'_, '_>,
    rows: &[DeviceRow<'_>],
    assumptions: &mut Vec<String>,
) -> Vec<ResourceSummary> {
    let mut held: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut stale: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        let devices = if row.state == State::Stale { &mut stale } else { &mut held };
        devices.entry(row.resource).or_default().insert(row.device);
    }
    let registered = known.registered.as_ref();
    let offered = known.healthy.iter().flat_map(BTreeMap::keys).copied();
    let names = registered.into_iter().flat_map(BTreeMap::keys).copied();
    let names: BTreeSet<&str> =
        names.chain(offered).chain(held.keys().copied()).chain(stale.keys().copied()).collect();
    let places = places(known);
    let status = snapshot.node.value().map(|node| &node.status);
    let mut guessed = false;
    let summaries = names.into_iter().map(|name| {
        let none = BTreeSet::new();
        let held = held.get(name).unwrap_or(&none);
        let healthy: Option<BTreeSet<&str>> = match (&known.healthy, registered) {
            (Some(healthy), _) => Some(healthy.get(name).cloned().unwrap_or_default()),
            (None, Some(registered)) => {
                guessed = true;
                Some(registered.get(name).cloned().unwrap_or_default())
            }
            (None, None) => None,
        };
        let free = healthy.as_ref().map(|healthy| {
            let free = healthy.difference(held).map(|id| FreeDevice {
                device: (*id).to_owned(),
                numa_nodes: places.as_ref().map(|places| {
                    places.get(&(name, *id)).into_iter().flatten().copied().collect()
                }),
            });
            free.collect()
        });
        let stale = stale.get(name).unwrap_or(&none);
        let mut summary = ResourceSummary {
            resource: name.to_owned(),
            capacity: status.and_then(|status| amount(&status.capacity, name)),
            allocatable: status.and_then(|status| amount(&status.allocatable, name)),
            healthy: healthy.as_ref().map(BTreeSet::len),
            allocated: held.len(),
            stale: stale.difference(held).count(),
            free,
            notes: Vec::new(),
        };
        summary.notes = notes(&summary, known, status.is_some()).into_iter().map(Worded).collect();
        summary
    });
    let summaries = summaries.collect();
    if guessed {
        assumptions.push(
            "devices that were healthy when the checkpoint was last written count as healthy"
                .to_owned(),
        );
    }
    summaries
}

/// Returns the NUMA nodes of the devices that are offered; `None`: unknown.
fn places<'a>(
    known: &DeviceSources<'a, '_>,
) -> Option<BTreeMap<(&'a str, &'a str), BTreeSet<i64>>> {
    known.healthy.as_ref()?;
    let told = known.facts.pod_resources.value()?.allocatable.value()?;
    let mut places: BTreeMap<(&str, &str), BTreeSet<i64>> = BTreeMap::new();
    for devices in &told.devices {
        for id in &devices.device_ids {
            let nodes = places.entry((&devices.resource_name, id)).or_default();
            nodes.extend(devices.numa_nodes.iter().flatten());
        }
    }
    Some(places)
}

fn amount(list: &ResourceList, name: &str) -> Option<i64> {
    list.get(&ResourceName::from(name)).map(kq_k8s::quantity::Quantity::value)
}

fn notes(
    summary: &ResourceSummary,
    known: &DeviceSources<'_, '_>,
    has_node: bool,
) -> Vec<ResourceNote> {
    let mut notes = Vec::new();
    let healthy = summary.healthy.and_then(|healthy| i64::try_from(healthy).ok());
    match (summary.allocatable, healthy, known.healthy.is_some()) {
        (Some(allocatable), Some(healthy), true) if allocatable != healthy => {
            notes.push(ResourceNote::StatusDiffers { allocatable, healthy });
        }
        (None, Some(_), true) if has_node => notes.push(ResourceNote::NotInStatus),
        _ => {}
    }
    if let (Some(allocatable), true) = (summary.allocatable, summary.allocated > 0)
        && usize::try_from(allocatable).is_ok_and(|allocatable| allocatable < summary.allocated)
    {
        let allocated = summary.allocated;
        notes.push(ResourceNote::MoreThanAllocatable { allocated, allocatable });
    }
    notes
}

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
    pub resource: String,
    /// Its id.
    pub device: String,
    /// Its NUMA nodes; empty: none. Null: unknown.
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

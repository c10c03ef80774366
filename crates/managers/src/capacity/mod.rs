//! The node's capacity of plugin resources, as its status states it: `kq devices capacity`. Pure.

mod view;

pub use view::{table, wide};

use crate::manager::{CapacityReason, NoneHealthy, STOP_GRACE};
use crate::reconstruct::{DeviceSource, ReconstructedManager};
use kq_answer::{Basis, answer};
use kq_facts::node_object::NodeObject;
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_output::units::counted;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the node offers.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReport {
    pub resources: BTreeMap<String, Offered>,
    /// What it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceCapacity", CapacityReport);

/// What the node offers of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offered {
    /// All devices.
    pub capacity: Option<Count>,
    /// The healthy ones.
    pub allocatable: Option<Count>,
    /// The devices in use; null: unknown.
    pub allocated: Option<usize>,
    /// The amount in the Node object; null: there is no object, or it does not name the resource.
    pub node: Option<NodeSays>,
    /// The state of the resource in the kubelet.
    pub state: State,
    /// Why, in words.
    pub reason: String,
    /// The Node object says something else.
    pub contradicts: bool,
}

/// A number of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Count {
    /// How many.
    pub devices: usize,
    /// There may be more.
    pub at_least: bool,
}

/// What the Node object says of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSays {
    /// `status.capacity`
    pub capacity: Option<i64>,
    /// `status.allocatable`
    pub allocatable: Option<i64>,
}

/// How a resource stands with the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It has healthy devices, so its plugin is connected.
    Offered,
    /// The kubelet started and waits for the plugin.
    Waiting,
    /// It has no healthy device: the plugin says so, or it is gone and is waited for.
    NoneHealthy,
    /// The kubelet forgot it; the node says 0.
    Removed,
    /// The kubelet does not know it; only records do.
    OnlyRecorded,
    /// Only the Node object names it.
    OnlyInNode,
    /// What is known is from the time when the checkpoint was written.
    AsRecorded,
    /// Its devices are unknown.
    Unknown,
}

/// What the answer depends on, apart from the devices.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub node: Option<&'a NodeObject>,
    /// When the kubelet started.
    pub kubelet_start: Option<Timestamp>,
    /// The moment.
    pub now: Timestamp,
}

/// Returns what the node offers.
pub fn capacity(
    assembled: &ReconstructedManager,
    around: Around<'_>,
    basis: Basis,
) -> CapacityReport {
    let mut state = assembled.state.clone();
    // A resource of the checkpoint that no plugin lists had a plugin before the kubelet started, at the
    // latest; whether it came back since is not to be seen.
    let silent = silent(assembled);
    if let Some(start) = around.kubelet_start {
        for resource in &silent {
            if let Some(endpoint) = state.endpoints.get_mut(resource) {
                endpoint.stopped_at = Some(start);
            }
        }
    }
    let counted = state.capacity(around.now);
    let names: BTreeSet<&str> = assembled
        .state
        .healthy
        .keys()
        .chain(assembled.state.allocated.keys())
        .map(String::as_str)
        .chain(around.node.iter().flat_map(|node| extended(node)))
        .collect();
    let offered = |name: &str| {
        let says = around.node.and_then(|node| says(node, name));
        let reason = counted
            .resources
            .get(name)
            .map(|resource| resource.reason)
            .or_else(|| counted.deleted.get(name).copied());
        offered(assembled, name, &silent, (reason, says), around)
    };
    let resources = names.into_iter().map(|name| (name.to_owned(), offered(name))).collect();
    CapacityReport { resources, basis }
}

/// Returns the resources that the kubelet could list devices of, and lists none.
fn silent(assembled: &ReconstructedManager) -> BTreeSet<String> {
    let healthy = &assembled.state.healthy;
    let is_silent = |(name, ids): &(&String, &BTreeSet<String>)| {
        ids.is_empty() && assembled.sources.get(*name) == Some(&DeviceSource::PodResources)
    };
    healthy.iter().filter(is_silent).map(|(name, _)| name.clone()).collect()
}

fn offered(
    assembled: &ReconstructedManager,
    name: &str,
    silent: &BTreeSet<String>,
    (known, says): (Option<CapacityReason>, Option<NodeSays>),
    around: Around<'_>,
) -> Offered {
    let state = &assembled.state;
    let count = |sets: &BTreeMap<String, BTreeSet<String>>| sets.get(name).map(BTreeSet::len);
    let (healthy, unhealthy) = (count(&state.healthy), count(&state.unhealthy).unwrap_or_default());
    let allocated = count(&state.allocated).unwrap_or_default();
    // What could be read of a damaged checkpoint is less than all.
    let known_allocated = Some(allocated).filter(|_| !assembled.unknown_use);
    let exactly = |devices| Some(Count { devices, at_least: false });
    let lost = exactly(unhealthy).map(|count| Count { at_least: true, ..count });
    let node_has = says.and_then(|says| says.capacity).is_some_and(|capacity| capacity > 0);
    let (standing, capacity, allocatable, reason) = match (healthy, assembled.sources.get(name)) {
        (None, _) if assembled.unknown_devices.is_some() => (
            State::Unknown,
            None,
            None,
            "the devices are unknown: neither the kubelet nor a sound checkpoint lists them"
                .to_owned(),
        ),
        (None, _) if allocated > 0 || state.allocated.contains_key(name) => (
            State::OnlyRecorded,
            None,
            None,
            format!("{allocated} are recorded, and the kubelet knows no plugin of it"),
        ),
        (None, _) => {
            let reason = match node_has {
                true => {
                    "only the Node object names it: no plugin of this kubelet does, or it was set by hand"
                }
                false => "the Node object keeps it at 0: it had a plugin once",
            };
            let state = if node_has { State::OnlyInNode } else { State::Removed };
            (state, None, None, reason.to_owned())
        }
        (Some(healthy), Some(DeviceSource::Given)) => (
            State::Offered,
            exactly(healthy + unhealthy),
            exactly(healthy),
            format!("{healthy} of {} devices are healthy, as given", healthy + unhealthy),
        ),
        (Some(healthy), Some(DeviceSource::Checkpoint) | None) => (
            State::AsRecorded,
            Some(Count { devices: healthy + unhealthy, at_least: true }),
            exactly(healthy),
            format!(
                "{healthy} were healthy when the checkpoint was written; how many are now is not known, \
                 as the kubelet was not asked (--pod-resources)"
            ),
        ),
        (Some(_), Some(DeviceSource::PodResources)) if silent.contains(name) => {
            return Offered {
                contradicts: false,
                allocated: known_allocated,
                node: says,
                ..gone(known, (lost, node_has), around)
            }
            .judged();
        }
        (Some(healthy), Some(DeviceSource::PodResources)) => (
            State::Offered,
            exactly(healthy + unhealthy).map(|count| Count { at_least: true, ..count }),
            exactly(healthy),
            match unhealthy {
                0 => format!("the kubelet lists {}", counted(healthy, "healthy device")),
                _ => format!(
                    "the kubelet lists {}; {unhealthy} that are remembered are not healthy, or gone",
                    counted(healthy, "healthy device")
                ),
            },
        ),
    };
    Offered {
        capacity,
        allocatable,
        allocated: known_allocated,
        node: says,
        state: standing,
        reason,
        contradicts: false,
    }
    .judged()
}

/// Returns what is to be said of a resource without healthy devices.
fn gone(
    known: Option<CapacityReason>,
    (lost, node_has): (Option<Count>, bool),
    around: Around<'_>,
) -> Offered {
    let none = Some(Count { devices: 0, at_least: false });
    let minutes = STOP_GRACE.0 / 60_000_000_000;
    let why = NoneHealthy::of(around.kubelet_start, Some(around.now)).to_string();
    // The checkpoint still has it, so the kubelet has not forgotten it.
    let says_none = around.node.is_some() && !node_has;
    let (state, capacity, reason) = match known {
        Some(CapacityReason::Grace { .. }) if !node_has => (State::Waiting, none, why),
        Some(CapacityReason::GraceOver { .. }) if says_none => (
            State::NoneHealthy,
            none,
            format!(
                "its plugin lists no device; were it gone for more than {minutes} minutes, the kubelet \
                 had forgotten it"
            ),
        ),
        _ if says_none => (State::Waiting, none, why),
        _ => (State::NoneHealthy, lost, why),
    };
    Offered {
        capacity,
        allocatable: none,
        allocated: None,
        node: None,
        state,
        reason,
        contradicts: false,
    }
}

impl Offered {
    /// Compares with what the Node object says.
    fn judged(mut self) -> Self {
        // The kubelet itself counts the unhealthy devices into the status of its node.
        let says = self.node.and_then(|says| says.capacity);
        let says = says.and_then(|says| usize::try_from(says).ok());
        if let (Some(count), Some(says)) = (self.capacity.as_mut(), says)
            && count.at_least
            && says >= count.devices
        {
            *count = Count { devices: says, at_least: false };
        }
        let differs = |counted: Option<Count>, says: Option<i64>| match (counted, says) {
            (Some(count), Some(says)) => {
                let devices = i64::try_from(count.devices).unwrap_or(i64::MAX);
                if count.at_least { says < devices && says != 0 } else { says != devices }
            }
            _ => false,
        };
        // What was so when the checkpoint was written need not be so now.
        self.contradicts = self.state != State::AsRecorded
            && self.node.is_some_and(|says| {
                differs(self.capacity, says.capacity) || differs(self.allocatable, says.allocatable)
            });
        if self.capacity.is_some_and(|count| count.at_least) && self.state != State::AsRecorded {
            self.reason += "; the number of unhealthy devices is unknown: the kubelet \
                            does not list those, and ";
            self.reason += match says {
                None => "no Node object states the capacity (--node-file)",
                Some(_) => "the Node object states fewer devices than it lists",
            };
        }
        self
    }
}

/// Returns the extended resources of a Node object.
fn extended(node: &NodeObject) -> impl Iterator<Item = &str> {
    let names = node.status.capacity.iter().map(|(name, _)| name.as_str());
    names.filter(|name| name.contains('/') && !name.contains("kubernetes.io/"))
}

fn says(node: &NodeObject, name: &str) -> Option<NodeSays> {
    let name = ResourceName::from(name);
    let number = |list: &ResourceList| list.get(&name).map(kq_k8s::quantity::Quantity::value);
    let says = NodeSays {
        capacity: number(&node.status.capacity),
        allocatable: number(&node.status.allocatable),
    };
    (says != NodeSays::default()).then_some(says)
}

impl CapacityReport {
    /// Returns true if the Node object contradicts the count of a resource.
    pub fn has_contradictions(&self) -> bool {
        self.resources.values().any(|offered| offered.contradicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::{Device, ManagerState};
    use crate::objects;
    use kq_facts::checkpoint::device::PodDevices;

    const MINUTE: i64 = 60_000_000_000;

    /// A manager that was put together: healthy ids, unhealthy ids, and who says so.
    fn assembled(
        healthy: &[&str],
        unhealthy: &[&str],
        source: DeviceSource,
    ) -> ReconstructedManager {
        let device = |(id, health): (&str, &str)| Device {
            id: id.to_owned(),
            health: health.to_owned(),
            numa_nodes: None,
        };
        let healthy = healthy.iter().map(|id| (*id, "Healthy"));
        let unhealthy = unhealthy.iter().map(|id| (*id, "no"));
        let mut state = ManagerState::restore(PodDevices::default(), ["a/r"], Timestamp(0));
        state.register("a/r", Default::default());
        state.update("a/r", healthy.chain(unhealthy).map(device));
        ReconstructedManager {
            state,
            sources: [("a/r".to_owned(), source)].into(),
            ..ReconstructedManager::default()
        }
    }

    #[test]
    fn resources_are_told_as_the_node_says_them() {
        use DeviceSource::{Checkpoint, Given, PodResources};
        let none: &[&str] = &[];
        let some = Some;
        type Row<'a> = (
            &'a str,
            &'a [&'a str],
            &'a [&'a str],
            DeviceSource,
            Option<(i64, i64)>,
            i64,
            State,
            bool,
        );
        let rows: &[Row<'_>] = &[
            ("all is well", &["x"], none, PodResources, some((1, 1)), 60, State::Offered, false),
            (
                "one is not healthy",
                &["x"],
                &["y"],
                PodResources,
                some((2, 1)),
                60,
                State::Offered,
                false,
            ),
            (
                "the node is behind",
                &["x"],
                none,
                PodResources,
                some((1, 0)),
                60,
                State::Offered,
                true,
            ),
            ("just started", none, &["y"], PodResources, some((0, 0)), 1, State::Waiting, false),
            (
                "no device at all",
                none,
                &["y"],
                PodResources,
                some((0, 0)),
                60,
                State::NoneHealthy,
                false,
            ),
            (
                "none is healthy",
                none,
                &["y"],
                PodResources,
                some((1, 0)),
                60,
                State::NoneHealthy,
                false,
            ),
            ("without a node", none, &["y"], PodResources, None, 60, State::NoneHealthy, false),
            ("old news", &["x"], none, Checkpoint, some((4, 4)), 60, State::AsRecorded, false),
            ("by hand", &["x"], &["y"], Given, some((2, 1)), 60, State::Offered, false),
        ];
        for (name, healthy, unhealthy, source, says, minutes, state, contradicts) in rows {
            let assembled = assembled(healthy, unhealthy, *source);
            let node = says.map(|(capacity, allocatable)| {
                let node = objects::node("n").capacity(&format!("a/r={capacity}"));
                node.allocatable(&format!("a/r={allocatable}")).read()
            });
            let now = Timestamp(100 * MINUTE);
            let start = Some(now.plus(-minutes * MINUTE));
            let around = Around { node: node.as_ref(), kubelet_start: start, now };
            let report = capacity(&assembled, around, Basis::default());
            let offered = &report.resources["a/r"];
            assert_eq!(offered.state, *state, "{name}: {}", offered.reason);
            assert_eq!(offered.contradicts, *contradicts, "{name}: {}", offered.reason);
            assert!(!offered.reason.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_resource_of_the_node_alone_is_told() {
        for (name, node, state) in
            [("set by hand", "a/r=3", State::OnlyInNode), ("left over", "a/r=0", State::Removed)]
        {
            let node = objects::node("n").amounts(node).read();
            let around = Around { node: Some(&node), kubelet_start: None, now: Timestamp(0) };
            let report = capacity(&ReconstructedManager::default(), around, Basis::default());
            assert_eq!(report.resources["a/r"].state, state, "{name}");
        }
    }
}

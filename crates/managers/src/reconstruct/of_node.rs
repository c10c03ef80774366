//! The device manager of a node of which only the Node object and the pods are known: the devices are counted, not
//! identified.

use crate::manager::allocate::{AllocationContext, in_order};
use crate::manager::{Affinities, Device, Endpoint, HEALTHY, ManagerState, SilentPlugins};
use kq_facts::node_object::NodeObject;
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::validation::is_extended_resource;
use std::collections::BTreeMap;

/// How many devices are made up at the most, as each is a text.
const MOST: i64 = 100_000;

/// The devices of a resource as a node counts them.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// `status.allocatable`: the healthy ones.
    healthy: i64,
    /// `status.capacity`: all of them.
    all: i64,
}

/// Returns the device manager of a node whose Node object counts the devices, and whose pods hold those that
/// they ask for; what resource claims provide (gate `DRAExtendedResource`) they do not. `asked` is what the pods
/// in question ask for; which device is which is made up. `None`: too many devices would have to be.
///
/// Devices that are not healthy are taken to be free as long as there are enough others. What the Node
/// object keeps at 0 of 0 has no plugin any more (`MachineInfo` of `pkg/kubelet/nodestatus/setters.go`, read in
/// 1.36.2).
pub fn of_node(
    node: &NodeObject,
    holders: &[(String, &Pod)],
    asked: &BTreeMap<String, i64>,
    dra_extended_resource: bool,
) -> Option<ManagerState> {
    let circumstances = AllocationContext { dra_extended_resource, ..AllocationContext::default() };
    let count = |list: &ResourceList, name: &str| {
        list.get(&ResourceName::from(name)).map(|amount| amount.value().max(0))
    };
    let counted = asked.keys().filter_map(|name| {
        let healthy = count(&node.status.allocatable, name)?;
        let all = count(&node.status.capacity, name).unwrap_or(healthy).max(healthy);
        Some((name.clone(), Counted { healthy, all }))
    });
    let counted: BTreeMap<String, Counted> = counted.collect();
    let mut made_up = asked.values().fold(0, |sum: i64, wanted| sum.saturating_add(*wanted));
    if made_up > MOST {
        return None;
    }
    let mut state = ManagerState::default();
    for (place, (uid, pod)) in holders.iter().enumerate() {
        let wanted = asked_devices([*pod]);
        let wanted = wanted.into_iter().filter(|(name, _)| counted.contains_key(name));
        let wanted: BTreeMap<String, i64> = wanted.collect();
        made_up = wanted.values().fold(made_up, |sum, wanted| sum.saturating_add(*wanted));
        if made_up > MOST {
            return None;
        }
        state
            .pod_devices
            .entries
            .extend(held(uid, pod, (place, &wanted), &circumstances).pod_devices.entries);
    }
    state.allocated = state.pod_devices.allocated();
    for (name, Counted { healthy, all }) in counted {
        if all == 0 {
            continue;
        }
        let held = state.allocated.get(&name).into_iter().flatten();
        let wanted = asked.get(&name).copied().unwrap_or_default();
        let free = (0..wanted).map(|at| format!("free-{at}"));
        let healthy = usize::try_from(healthy).unwrap_or(usize::MAX);
        let devices = held.cloned().chain(free).enumerate().map(|(at, id)| {
            let health = if at < healthy { HEALTHY } else { "Unhealthy" };
            Device { id, health: health.to_owned(), numa_nodes: None }
        });
        let devices: Vec<Device> = devices.collect();
        state.update(&name, devices);
        state.endpoints.insert(name, Endpoint::default());
    }
    Some(state)
}

/// Returns what a pod holds: as many as its containers need one after the other, with what init containers
/// leave to the next.
fn held(
    uid: &str,
    pod: &Pod,
    (place, wanted): (usize, &BTreeMap<String, i64>),
    circumstances: &AllocationContext,
) -> ManagerState {
    let mut state = ManagerState::default();
    if wanted.is_empty() {
        return state;
    }
    for (name, wanted) in wanted {
        let device = |at: i64| Device {
            id: format!("held-{place}-{at}"),
            health: HEALTHY.to_owned(),
            numa_nodes: None,
        };
        state.update(name, (0..*wanted).map(device));
        state.endpoints.insert(name.clone(), Endpoint::default());
    }
    let mut pod = pod.clone();
    uid.clone_into(&mut pod.metadata.uid);
    let given = BTreeMap::new();
    let affinities = Affinities::Given(&given);
    // It is admitted: there are as many devices as it requests.
    let _ = state.admit(&pod, &affinities, circumstances, &mut SilentPlugins);
    state
}

/// Returns how many devices the containers of pods ask for one after the other, by resource.
pub fn asked_devices<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> BTreeMap<String, i64> {
    let mut asked: BTreeMap<String, i64> = BTreeMap::new();
    let containers = pods.into_iter().flat_map(in_order).map(|(_, container)| container);
    for (name, amount) in containers.flat_map(|container| container.resources.limits.iter()) {
        if is_extended_resource(name.as_str()) && amount.value() > 0 {
            let sum = asked.entry(name.as_str().to_owned()).or_default();
            *sum = sum.saturating_add(amount.value());
        }
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;

    const GPU: &str = "example.com/gpu";

    /// What the init containers of a pod ask for, and what the others do.
    type Asked<'a> = (&'a [i64], &'a [i64]);

    /// Returns what the device manager of a node says of a pod that asks for so many, next to one that holds some.
    fn said(
        counts: Option<(i64, i64)>,
        holder: Option<Asked<'_>>,
        wanted: i64,
    ) -> Result<usize, String> {
        let mut node = objects::node("n");
        if let Some((healthy, all)) = counts {
            node = node.allocatable(&format!("{GPU}={healthy}")).capacity(&format!("{GPU}={all}"));
        }
        let node: NodeObject = node.read();
        let pod = |(init, app)| objects::pod("new").limits_of(GPU, init, app).read::<Pod>();
        let (new, holder) = (pod((&[], &[wanted])), holder.map(pod));
        let holders: Vec<_> = holder.iter().map(|pod| ("0".to_owned(), pod)).collect();
        let asked = asked_devices([&new]);
        let mut state = of_node(&node, &holders, &asked, true).ok_or("too many")?;
        let given = BTreeMap::new();
        let admission = state
            .admit(
                &new,
                &Affinities::Given(&given),
                &AllocationContext::default(),
                &mut SilentPlugins,
            )
            .expect("no hints are needed");
        match admission.message {
            Some(message) => Err(message),
            None => Ok(state.pod_devices.of_pod("new").count()),
        }
    }

    #[test]
    fn a_node_counts_devices_and_pods_hold_what_they_ask_for() {
        let unavailable = |requested: i64, available: i64| {
            Err(format!(
                "Allocate failed due to requested number of devices unavailable for {GPU}. Requested: \
                 {requested}, Available: {available}, which is unexpected"
            ))
        };
        let none_healthy = Err(format!(
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices {GPU}, \
             which is unexpected"
        ));
        let unregistered = Err(format!(
            "Allocate failed due to cannot allocate unregistered device {GPU}, which is unexpected"
        ));
        type Row<'a> = (&'a str, Option<(i64, i64)>, Option<Asked<'a>>, i64, Result<usize, String>);
        let rows: [Row<'_>; 11] = [
            ("one is free", Some((4, 4)), Some((&[], &[2, 1])), 1, Ok(1)),
            ("two are not", Some((4, 4)), Some((&[], &[2, 1])), 2, unavailable(2, 1)),
            ("init containers leave theirs", Some((4, 4)), Some((&[3], &[1, 2])), 1, Ok(1)),
            ("more than their own", Some((4, 4)), Some((&[4], &[1])), 1, unavailable(1, 0)),
            ("more are held than there are", Some((2, 2)), Some((&[], &[3])), 1, unavailable(1, 0)),
            ("others are not healthy", Some((1, 4)), Some((&[], &[1])), 1, unavailable(1, 0)),
            ("none is healthy", Some((0, 4)), None, 1, none_healthy),
            ("removed", Some((0, 0)), None, 1, Ok(0)),
            (
                "removed, and a container holds one",
                Some((0, 0)),
                Some((&[], &[1])),
                1,
                unregistered,
            ),
            ("not of this node", None, Some((&[], &[1])), 1, Ok(0)),
            (
                "more than can be made up",
                Some((i64::MAX, i64::MAX)),
                Some((&[], &[i64::MAX])),
                1,
                Err("too many".to_owned()),
            ),
        ];
        for (name, counts, holder, wanted, expected) in rows {
            assert_eq!(said(counts, holder, wanted), expected, "{name}");
        }
    }
}

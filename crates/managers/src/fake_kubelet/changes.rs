//! The changes between two device lists, and irregularities in the new one.

use super::event::Event;
use crate::manager::{Device, HEALTHY, ManagerState};
use std::collections::{BTreeMap, BTreeSet};

/// Changes of one list that are reported one by one.
const SHOWN: usize = 50;

/// The other text that the API has for health.
const UNHEALTHY: &str = "Unhealthy";

/// Returns what differs between the devices that are known and a new list, before it is taken.
pub(super) fn changes(state: &ManagerState, resource: &str, list: &[Device]) -> Vec<Event> {
    // Of equal ids the kubelet keeps the last.
    let new: BTreeMap<&str, &Device> =
        list.iter().map(|device| (device.id.as_str(), device)).collect();
    // One of a resource that was forgotten meanwhile is in no set: it does not count, and is new.
    let counts = |id: &str| {
        let sets = [state.healthy.get(resource), state.unhealthy.get(resource)];
        sets.into_iter().flatten().any(|ids| ids.contains(id))
    };
    let old: BTreeMap<&str, &Device> = state
        .devices
        .get(resource)
        .into_iter()
        .flatten()
        .map(|(id, device)| (id.as_str(), device))
        .filter(|(id, _)| counts(id))
        .collect();
    let named = |id: &str| (resource.to_owned(), id.to_owned());
    let mut events = Vec::new();
    let mut hidden = 0_usize;
    let mut tell = |event: &dyn Fn() -> Event| {
        if events.len() < SHOWN { events.push(event()) } else { hidden += 1 }
    };
    for (id, device) in &new {
        let Some(before) = old.get(*id) else {
            tell(&|| {
                let (resource, id) = named(id);
                let (health, numa_nodes) = (device.health.clone(), device.numa_nodes.clone());
                Event::DeviceAdded { resource, id, health, numa_nodes }
            });
            continue;
        };
        let health = known_health(state, resource, before);
        if health != device.health {
            tell(&|| {
                let (resource, id) = named(id);
                let used_by = used_by(state, &resource, &id);
                let (before, health) = (health.to_owned(), device.health.clone());
                Event::DeviceHealth { resource, id, before, health, used_by }
            });
        }
        if before.numa_nodes != device.numa_nodes {
            tell(&|| {
                let (resource, id) = named(id);
                let (before, numa_nodes) = (before.numa_nodes.clone(), device.numa_nodes.clone());
                Event::DeviceTopology { resource, id, before, numa_nodes }
            });
        }
    }
    for id in old.keys().filter(|id| !new.contains_key(*id)) {
        tell(&|| {
            let (resource, id) = named(id);
            let used_by = used_by(state, &resource, &id);
            Event::DeviceRemoved { resource, id, used_by }
        });
    }
    if hidden > 0 {
        events.push(Event::More { resource: resource.to_owned(), changes: hidden });
    }
    events
}

/// Returns how many changes are behind events.
pub(super) fn counted(events: &[Event]) -> usize {
    let of_one = |event: &Event| match event {
        Event::More { changes, .. } => *changes,
        _ => 1,
    };
    events.iter().map(of_one).sum()
}

/// Returns a device's health as the kubelet has it: one whose plugin went is unhealthy, whatever it said.
fn known_health<'d>(state: &ManagerState, resource: &str, device: &'d Device) -> &'d str {
    let is_healthy = state.healthy.get(resource).is_some_and(|ids| ids.contains(&device.id));
    if device.health == HEALTHY && !is_healthy { UNHEALTHY } else { &device.health }
}

fn used_by(state: &ManagerState, resource: &str, id: &str) -> Vec<String> {
    let entries = state.pod_devices.entries.iter();
    let holding = entries.filter(|(key, device)| {
        key.resource_name == resource
            && device.devices.values().any(|ids| ids.iter().any(|own| own == id))
    });
    holding.map(|(key, _)| format!("{}/{}", key.pod_uid, key.container_name)).collect()
}

/// Returns what is odd about a list: what the kubelet accepts silently, and is rarely meant.
pub(super) fn oddities(list: &[Device]) -> Vec<String> {
    let mut odd = Vec::new();
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<&str> =
        list.iter().map(|device| device.id.as_str()).filter(|id| !seen.insert(*id)).collect();
    let nameless = list.iter().filter(|device| device.id.is_empty()).count();
    if nameless > 0 {
        odd.push(format!(
            "{nameless} of its devices have no id; the kubelet treats them as one device with an empty id"
        ));
    }
    let twice: Vec<&str> = twice.into_iter().filter(|id| !id.is_empty()).collect();
    if let Some(first) = twice.first() {
        odd.push(format!(
            "{} come more than once, such as {first:?}; the kubelet keeps the last of each, and one that was \
             both healthy and not counts as both",
            ids(twice.len())
        ));
    }
    let strange: BTreeSet<&str> = list
        .iter()
        .map(|device| device.health.as_str())
        .filter(|health| ![HEALTHY, UNHEALTHY].contains(health))
        .collect();
    if let Some(first) = strange.first() {
        odd.push(format!(
            "health {first:?} is neither {HEALTHY:?} nor {UNHEALTHY:?}; the kubelet takes it for unhealthy"
        ));
    }
    let far = list.iter().flat_map(|device| device.numa_nodes.iter().flatten());
    if let Some(node) = far.copied().find(|node| !(0..64).contains(node)) {
        odd.push(format!("NUMA node {node} is none that the topology manager can have"));
    }
    odd
}

fn ids(count: usize) -> String {
    if count == 1 { "1 id".to_owned() } else { format!("{count} ids") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: &str, health: &str, node: Option<i64>) -> Device {
        let numa_nodes = node.map(|node| vec![node]);
        Device { id: id.to_owned(), health: health.to_owned(), numa_nodes }
    }

    #[test]
    fn a_list_is_told_as_what_it_changes() {
        let mut state = ManagerState::default();
        let first = [device("a", HEALTHY, Some(0)), device("b", HEALTHY, None)];
        let lines = |state: &ManagerState, list: &[Device]| -> Vec<String> {
            changes(state, "r", list).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            lines(&state, &first),
            ["ADDED r a Healthy NUMA 0", "ADDED r b Healthy no NUMA node"]
        );
        state.update("r", first.clone());
        assert_eq!(lines(&state, &first), [""; 0]);
        let second = [device("a", "Unhealthy", Some(1)), device("c", HEALTHY, Some(1))];
        assert_eq!(
            lines(&state, &second),
            [
                "HEALTH r a Healthy -> Unhealthy",
                "TOPOLOGY r a NUMA 0 -> NUMA 1",
                "ADDED r c Healthy NUMA 1",
                "GONE r b",
            ]
        );
        // A plugin that went and came back lists what it listed before.
        state.register("r", Default::default());
        state.stop("r", kq_facts::timestamp::Timestamp(0));
        assert_eq!(
            lines(&state, &first),
            ["HEALTH r a Unhealthy -> Healthy", "HEALTH r b Unhealthy -> Healthy"]
        );
    }

    #[test]
    fn a_long_list_is_counted() {
        let list: Vec<Device> =
            (0..70).map(|number| device(&format!("d{number}"), HEALTHY, None)).collect();
        let events = changes(&ManagerState::default(), "r", &list);
        assert_eq!((events.len(), counted(&events)), (51, 70));
        assert_eq!(events[50].to_string(), "MORE r 20 changes of this list not shown");
    }

    #[test]
    fn odd_lists_are_told() {
        let rows: [(&str, Vec<Device>, &[&str]); 6] = [
            ("fine", vec![device("a", HEALTHY, Some(0)), device("b", "Unhealthy", None)], &[]),
            ("empty", vec![], &[]),
            ("no ids", vec![device("", HEALTHY, None), device("", HEALTHY, None)], &["2 of its"]),
            ("equal", vec![device("a", HEALTHY, None), device("a", HEALTHY, None)], &["1 id"]),
            ("health", vec![device("a", "healthy", None)], &["health \"healthy\""]),
            ("far", vec![device("a", HEALTHY, Some(-1))], &["NUMA node -1"]),
        ];
        for (name, list, expected) in rows {
            let odd = oddities(&list);
            assert_eq!(odd.len(), expected.len(), "{name}: {odd:?}");
            assert!(odd.iter().zip(expected).all(|(a, b)| a.starts_with(b)), "{name}: {odd:?}");
        }
    }
}

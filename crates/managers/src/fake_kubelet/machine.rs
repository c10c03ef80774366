//! The device manager with the connections to its plugins.

use super::changes::{changes, counted, oddities};
use super::event::Event;
use super::report::PluginState;
use crate::manager::{Device, ManagerState, PluginOptions};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use std::collections::{BTreeMap, BTreeSet};

/// A connection whose stream of lists is open.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Connection {
    resource: String,
    endpoint: String,
    /// What was odd about its last list; reported again only when it changes.
    odd: Vec<String>,
}

/// The device manager of a fake kubelet.
#[derive(Clone, Debug)]
pub struct Manager {
    /// What the kubelet holds.
    pub state: ManagerState,
    connections: BTreeMap<u64, Connection>,
    /// The connection of each resource that registered last: its endpoint.
    newest: BTreeMap<String, u64>,
    /// The UIDs of the pods that have not ended.
    pub active: BTreeSet<String>,
    /// How long a resource outlives its plugin.
    grace: GoDuration,
}

impl Manager {
    /// Begins with what was restored; the pods that have devices count as active.
    pub fn new(state: ManagerState, grace: GoDuration) -> Self {
        let active = state.pod_devices.entries.keys().map(|key| key.pod_uid.clone()).collect();
        let (connections, newest) = (BTreeMap::new(), BTreeMap::new());
        Self { state, connections, newest, active, grace }
    }

    /// Takes a pod that was admitted for active, until it ends.
    pub fn begin(&mut self, uid: &str) {
        self.active.insert(uid.to_owned());
    }

    /// Ends a pod, and forgets its devices: a kubelet does that when the next pod asks. A fake kubelet that
    /// starts again does not learn that the pod has ended. `None`: there is no such pod.
    pub fn end(&mut self, uid: &str) -> Option<Event> {
        let entries = &mut self.state.pod_devices.entries;
        let before = entries.len();
        entries.retain(|key, _| key.pod_uid != uid);
        if entries.len() != before {
            self.state.allocated = self.state.pod_devices.allocated();
        }
        self.active.remove(uid).then(|| Event::PodEnded { uid: uid.to_owned() })
    }

    /// Returns the connection of a resource's endpoint, as long as it was not stopped.
    pub fn connection(&self, resource: &str) -> Option<u64> {
        let id = self.newest.get(resource).copied()?;
        self.connections.contains_key(&id).then_some(id)
    }

    /// Takes in a plugin that has registered: it is the resource's endpoint from now on.
    pub fn connected(
        &mut self,
        id: u64,
        resource: &str,
        endpoint: &str,
        options: PluginOptions,
    ) -> Vec<Event> {
        let before = self.newest.insert(resource.to_owned(), id);
        let before = before.and_then(|before| self.connections.get(&before));
        let replaces = before.map(|before| before.endpoint.clone());
        let connection = Connection {
            resource: resource.to_owned(),
            endpoint: endpoint.to_owned(),
            odd: Vec::new(),
        };
        self.connections.insert(id, connection);
        self.state.register(resource, options);
        let (resource, endpoint) = (resource.to_owned(), endpoint.to_owned());
        vec![Event::Registered { resource, endpoint, options, replaces }]
    }

    /// Takes a list. One that comes over an older connection of the resource counts as well, as in a
    /// kubelet.
    pub fn listed(&mut self, id: u64, devices: Vec<Device>) -> Vec<Event> {
        let Some(connection) = self.connections.get_mut(&id) else { return Vec::new() };
        let resource = connection.resource.clone();
        let odd = oddities(&devices);
        let mut events = Vec::new();
        if odd != connection.odd {
            let told = odd.iter().cloned();
            events.extend(told.map(|text| Event::Odd { resource: resource.clone(), text }));
            connection.odd = odd;
        }
        let changed = changes(&self.state, &resource, &devices);
        // What was forgotten keeps its devices, and none of them counts.
        let is_known = self.state.healthy.contains_key(&resource);
        let is_first = !is_known || !self.state.devices.contains_key(&resource);
        self.state.update(&resource, devices);
        // A list that changes nothing is no news; the first one is, even when it is empty.
        if is_first || !changed.is_empty() {
            let size = |sets: &BTreeMap<String, BTreeSet<String>>| {
                sets.get(&resource).map_or(0, BTreeSet::len)
            };
            events.push(Event::Listed {
                devices: self.state.devices.get(&resource).map_or(0, BTreeMap::len),
                healthy: size(&self.state.healthy),
                changes: counted(&changed),
                resource,
            });
            events.extend(changed);
        }
        events
    }

    /// Takes the end of a stream for the disconnection of its resource, even after another registration: the
    /// kubelet does not tell them apart.
    pub fn ended(&mut self, id: u64, reason: String, now: Timestamp) -> Vec<Event> {
        let Some(Connection { resource, endpoint, .. }) = self.connections.remove(&id) else {
            return Vec::new();
        };
        let newest = self.newest.get(&resource).filter(|newest| **newest != id);
        let newer = newest.and_then(|newest| self.connections.get(newest));
        let newer = newer.map(|newer| newer.endpoint.clone());
        let unhealthy = self.state.healthy.get(&resource).map_or(0, BTreeSet::len);
        self.state.stop(&resource, now);
        let forgotten_after = now.plus(self.grace.0);
        vec![Event::Disconnected { resource, endpoint, reason, unhealthy, forgotten_after, newer }]
    }

    /// Forgets resources whose plugins were gone for too long.
    pub fn expire(&mut self, now: Timestamp) -> Vec<Event> {
        let deleted = self.state.capacity_after(now, self.grace).deleted.into_keys();
        deleted
            .map(|resource| {
                self.newest.remove(&resource);
                Event::Forgotten { resource, grace: self.grace }
            })
            .collect()
    }

    /// Returns when the next resource is forgotten, unless its plugin comes back. One that has devices and no
    /// endpoint is due already: the stream of a plugin before listed them after it was forgotten.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        let mut names = self.state.healthy.keys().chain(self.state.unhealthy.keys());
        if names.any(|name| !self.state.endpoints.contains_key(name)) {
            return Some(Timestamp(0));
        }
        let stopped = self.state.endpoints.values().filter_map(|endpoint| endpoint.stopped_at);
        // Strictly after the grace period.
        stopped.min().map(|stopped| stopped.plus(self.grace.0).plus(1_000_000))
    }

    /// Returns the resources as they are.
    pub fn plugins(&self) -> Vec<PluginState> {
        let resources: BTreeSet<&String> =
            self.state.healthy.keys().chain(self.state.endpoints.keys()).collect();
        let of_one = |resource: &String| {
            let id = self.connection(resource);
            let connection = id.and_then(|id| self.connections.get(&id));
            let endpoint = self.state.endpoints.get(resource);
            let size = |sets: &BTreeMap<String, BTreeSet<String>>| {
                sets.get(resource).map_or(0, BTreeSet::len)
            };
            PluginState {
                resource: resource.clone(),
                endpoint: connection.map(|connection| connection.endpoint.clone()),
                is_registered: endpoint.is_some_and(|endpoint| endpoint.stopped_at.is_none()),
                options: endpoint.map(|endpoint| endpoint.options).unwrap_or_default(),
                healthy: size(&self.state.healthy),
                unhealthy: size(&self.state.unhealthy),
                allocated: size(&self.state.allocated),
            }
        };
        resources.into_iter().map(of_one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::{HEALTHY, STOP_GRACE};

    fn devices(ids: &[&str]) -> Vec<Device> {
        let device = |id: &&str| Device {
            id: (*id).to_owned(),
            health: HEALTHY.to_owned(),
            numa_nodes: None,
        };
        ids.iter().map(device).collect()
    }

    fn lines(events: Vec<Event>) -> Vec<String> {
        events.iter().map(ToString::to_string).collect()
    }

    fn manager() -> Manager {
        Manager::new(ManagerState::default(), STOP_GRACE)
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_plugin_comes_goes_and_is_forgotten() {
        let mut manager = manager();
        let options = PluginOptions::default();
        lines(manager.connected(1, "r", "r.sock", options));
        assert_eq!(manager.next_expiry(), None);
        let told = lines(manager.listed(1, devices(&["a", "b"])));
        assert_eq!(told[0], "LISTED r 2 devices, 2 healthy, 2 changes");
        assert_eq!(told.len(), 3);
        assert_eq!(lines(manager.listed(1, devices(&["a", "b"]))), [""; 0], "nothing new");
        let told = lines(manager.ended(1, "EOF".to_owned(), Timestamp(0)));
        assert_eq!(
            told,
            [
                "DISCONNECTED r r.sock: EOF; 2 devices unhealthy now; forgotten after 1970-01-01T00:05:00Z"
            ]
        );
        assert_eq!(manager.connection("r"), None);
        assert_eq!(manager.expire(Timestamp(300 * SECOND)), [], "not yet");
        let expiry = manager.next_expiry().expect("it is stopped");
        let told = manager.expire(expiry);
        assert!(matches!(&told[..], [Event::Forgotten { resource, .. }] if resource == "r"));
        assert_eq!((manager.next_expiry(), manager.plugins()), (None, vec![]));
        assert_eq!(manager.state.devices["r"].len(), 2, "the kubelet keeps allDevices");
        assert_eq!(lines(manager.listed(1, devices(&["a"]))), [""; 0], "it is gone");
        let told = lines(manager.connected(2, "r", "r.sock", options));
        assert!(!told[0].contains("in place of"), "{told:?}");
        let told = lines(manager.listed(2, devices(&["a"])));
        let added = ["LISTED r 1 device, 1 healthy, 1 change", "ADDED r a Healthy no NUMA node"];
        assert_eq!(told, added, "as if it had never been");
    }

    #[test]
    fn the_end_of_an_older_stream_stops_the_newer_one() {
        let mut manager = manager();
        let options = PluginOptions::default();
        manager.connected(1, "r", "old.sock", options);
        manager.listed(1, devices(&["a"]));
        let told = lines(manager.connected(2, "r", "new.sock", options));
        assert!(told[0].ends_with("in place of old.sock, whose stream is still open"), "{told:?}");
        manager.listed(2, devices(&["a"]));
        let told = lines(manager.ended(1, "EOF".to_owned(), Timestamp(0)));
        assert!(told[0].contains("; new.sock has registered since"), "{told:?}");
        assert!(manager.state.endpoints["r"].stopped_at.is_some());
        assert!(!manager.plugins()[0].is_registered);
        // What it lists is healthy anyway; only nothing can be allocated.
        manager.listed(2, devices(&["a"]));
        assert_eq!(manager.plugins()[0].healthy, 1);
    }

    #[test]
    fn what_an_older_stream_lists_after_the_end_is_forgotten_as_well() {
        let mut manager = manager();
        let options = PluginOptions::default();
        manager.connected(1, "r", "old.sock", options);
        manager.connected(2, "r", "new.sock", options);
        manager.listed(2, devices(&["a"]));
        manager.ended(2, "EOF".to_owned(), Timestamp(0));
        let expiry = manager.next_expiry().expect("it is stopped");
        assert_eq!(manager.expire(expiry).len(), 1);
        manager.listed(1, devices(&["a"]));
        assert_eq!(manager.plugins().len(), 1, "as in a kubelet, until it counts");
        assert!(manager.next_expiry().is_some_and(|due| due <= expiry), "it is due now");
        assert_eq!(manager.expire(expiry).len(), 1);
        assert_eq!((manager.next_expiry(), manager.plugins()), (None, vec![]));
    }

    #[test]
    fn pods_end_once() {
        let mut manager = manager();
        manager.begin("u");
        assert_eq!(manager.end("u"), Some(Event::PodEnded { uid: "u".to_owned() }));
        assert_eq!(manager.end("u"), None);
    }
}

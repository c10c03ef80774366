//! The in-memory state of the device manager (`ManagerImpl`): the start of a kubelet; plugins that register, list and stop.

use super::plugins::PluginOptions;
use kq_facts::checkpoint::device::{DeviceCheckpoint, DeviceSet, PodDevices};
use kq_facts::timestamp::Timestamp;
use std::collections::BTreeMap;

pub use kq_facts::devices::HEALTHY;

/// A device as its plugin lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    pub id: String,
    /// [`HEALTHY`], or any other text.
    pub health: String,
    /// Its NUMA nodes; `None`: it has no topology.
    pub numa_nodes: Option<Vec<i64>>,
}

/// A plugin as the kubelet knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// What it can do.
    pub options: PluginOptions,
    /// When it stopped.
    pub stopped_at: Option<Timestamp>,
}

/// Walks over ids in their order with the device of each; `None`: it is not listed. Both go side by side:
/// with thousands of devices, to look each up would take longer than all else.
pub(super) fn with_devices<'a>(
    ids: impl Iterator<Item = &'a str>,
    devices: &'a BTreeMap<String, Device>,
) -> impl Iterator<Item = (&'a str, Option<&'a Device>)> {
    let mut listed = devices.iter().peekable();
    ids.map(move |id| {
        while listed.next_if(|(listed, _)| listed.as_str() < id).is_some() {}
        (id, listed.next_if(|(listed, _)| *listed == id).map(|(_, device)| device))
    })
}

/// What the device manager holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagerState {
    /// The devices that plugins listed, by resource and id (`allDevices`).
    pub devices: BTreeMap<String, BTreeMap<String, Device>>,
    /// The healthy ids; a key is a known resource (`healthyDevices`).
    pub healthy: BTreeMap<String, DeviceSet>,
    /// The other ids (`unhealthyDevices`).
    pub unhealthy: BTreeMap<String, DeviceSet>,
    /// The ids that are in use (`allocatedDevices`).
    pub allocated: BTreeMap<String, DeviceSet>,
    /// The plugins (`endpoints`).
    pub endpoints: BTreeMap<String, Endpoint>,
    /// Who has what.
    pub pod_devices: PodDevices,
    /// Devices of finished init containers that later containers of the pod may reuse (`devicesToReuse`), by pod and
    /// resource.
    pub reusable: BTreeMap<String, BTreeMap<String, DeviceSet>>,
}

impl ManagerState {
    /// Returns what a kubelet that starts takes from its checkpoint (`readCheckpoint`).
    ///
    /// Every resource of the checkpoint is known and has no device, and a plugin that stopped just now.
    pub fn restore<'r>(
        pod_devices: PodDevices,
        registered: impl IntoIterator<Item = &'r str>,
        now: Timestamp,
    ) -> Self {
        let mut state = Self { allocated: pod_devices.allocated(), pod_devices, ..Self::default() };
        for resource in registered {
            state.healthy.insert(resource.to_owned(), DeviceSet::new());
            state.unhealthy.insert(resource.to_owned(), DeviceSet::new());
            let stopped = Endpoint { options: PluginOptions::default(), stopped_at: Some(now) };
            state.endpoints.insert(resource.to_owned(), stopped);
        }
        state
    }

    /// Takes a plugin in whose registration was in order (`PluginConnected`). Its devices are those that
    /// are known already until it lists its own.
    pub fn register(&mut self, resource: &str, options: PluginOptions) {
        self.endpoints.insert(resource.to_owned(), Endpoint { options, stopped_at: None });
    }

    /// Takes the list of a plugin (`genericDeviceUpdateCallback`), which is to be written afterwards.
    ///
    /// Of equal ids the last is the device; one that is listed as healthy and as not is in both sets, and
    /// counted twice, as in the kubelet.
    pub fn update(&mut self, resource: &str, devices: impl IntoIterator<Item = Device>) {
        let (mut healthy, mut unhealthy) = (DeviceSet::new(), DeviceSet::new());
        let mut known = BTreeMap::new();
        for device in devices {
            let set = if device.health == HEALTHY { &mut healthy } else { &mut unhealthy };
            set.insert(device.id.clone());
            known.insert(device.id.clone(), device);
        }
        self.healthy.insert(resource.to_owned(), healthy);
        self.unhealthy.insert(resource.to_owned(), unhealthy);
        self.devices.insert(resource.to_owned(), known);
    }

    /// Takes note that the connection to a plugin ended (`PluginDisconnected`): none of its devices is
    /// healthy any more. A resource without plugin stays as it is.
    pub fn stop(&mut self, resource: &str, now: Timestamp) {
        let Some(endpoint) = self.endpoints.get_mut(resource) else { return };
        endpoint.stopped_at = Some(now);
        let healthy = self.healthy.get_mut(resource).map(std::mem::take).unwrap_or_default();
        self.unhealthy.entry(resource.to_owned()).or_default().extend(healthy);
    }

    /// Returns what is written to the checkpoint (`writeCheckpoint`): the entries with an answer, and the
    /// healthy ids of each known resource. The kubelet writes them in any order; here it is theirs.
    pub fn checkpoint(&self) -> DeviceCheckpoint {
        DeviceCheckpoint::of(&self.pod_devices, &self.healthy)
    }

    /// Returns true if the resource is one of plugins: it is known, or something of it is or was allocated
    /// (`isDevicePluginResource`).
    pub fn is_device_resource(&self, resource: &str) -> bool {
        self.healthy.contains_key(resource) || self.allocated.contains_key(resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::checkpoint::device::{PodDevice, PodDeviceKey};

    fn device(id: &str, health: &str) -> Device {
        Device { id: id.to_owned(), health: health.to_owned(), numa_nodes: None }
    }

    fn set(ids: &[&str]) -> DeviceSet {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn a_plugin_goes_through_its_life() {
        let mut state = ManagerState::default();
        state.register("r", PluginOptions::default());
        assert!(!state.is_device_resource("r"), "it has not listed yet");
        state.update("r", [device("a", HEALTHY), device("b", "healthy"), device("c", "")]);
        assert_eq!((&state.healthy["r"], &state.unhealthy["r"]), (&set(&["a"]), &set(&["b", "c"])));
        state.stop("r", Timestamp(5));
        assert_eq!(state.healthy["r"], set(&[]));
        assert_eq!(state.unhealthy["r"], set(&["a", "b", "c"]));
        assert_eq!(state.endpoints["r"].stopped_at, Some(Timestamp(5)));
        state.register("r", PluginOptions { pre_start_required: true, ..Default::default() });
        assert_eq!(state.endpoints["r"].stopped_at, None);
        assert_eq!(state.healthy["r"], set(&[]), "its devices are healthy once it lists them");
        state.update("r", [device("a", HEALTHY)]);
        assert_eq!((&state.healthy["r"], &state.unhealthy["r"]), (&set(&["a"]), &set(&[])));
        state.stop("unknown", Timestamp(6));
        assert!(!state.unhealthy.contains_key("unknown"));
    }

    #[test]
    fn an_id_that_is_listed_twice_is_the_last_and_counted_as_each() {
        let mut state = ManagerState::default();
        state.update("r", [device("a", HEALTHY), device("a", "broken")]);
        assert_eq!(state.devices["r"]["a"].health, "broken");
        assert_eq!((&state.healthy["r"], &state.unhealthy["r"]), (&set(&["a"]), &set(&["a"])));
    }

    #[test]
    fn what_is_written_is_what_a_kubelet_starts_with() {
        let entry = |name: &str, answer: Option<Vec<u8>>| {
            let key = PodDeviceKey {
                pod_uid: "p".to_owned(),
                container_name: name.to_owned(),
                resource_name: "r".to_owned(),
            };
            let devices = [(-1, vec![name.to_owned()]), (0, vec!["x".to_owned()])].into();
            (key, PodDevice { devices, answer })
        };
        let entries = [entry("a", Some(vec![])), entry("b", None)].into();
        let mut state = ManagerState::restore(PodDevices { entries }, ["r", "s"], Timestamp(9));
        assert_eq!(state.allocated, [("r".to_owned(), set(&["a", "x"]))].into());
        assert_eq!(state.endpoints["s"].stopped_at, Some(Timestamp(9)));
        assert_eq!((state.healthy.len(), state.unhealthy.len()), (2, 2));

        state.update("r", [device("x", HEALTHY), device("y", "no")]);
        let written = state.checkpoint();
        let entries = written.entries.expect("there is an entry");
        assert_eq!(entries.len(), 1, "the entry without an answer is left out");
        let ids = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(entries[0].device_ids, Some([(-1, ids(&["a"])), (0, ids(&["x"]))].into()));
        assert_eq!(entries[0].alloc_resp, Some(vec![]));
        let registered = [("r".to_owned(), ids(&["x"])), ("s".to_owned(), ids(&[]))];
        assert_eq!(written.registered, Some(registered.into()));
        assert_eq!(ManagerState::default().checkpoint().entries, None);
    }
}

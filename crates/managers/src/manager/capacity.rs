//! The node's capacity (`GetCapacity`), pinned by `device_capacity.jsonl`.

use super::lifecycle::{Endpoint, ManagerState};
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use std::collections::BTreeMap;

/// How long a resource outlives its plugin (`endpointStopGracePeriod`).
pub const STOP_GRACE: GoDuration = GoDuration(5 * GoDuration::MINUTE.0);

/// What the node offers, and what the kubelet forgot while it counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// The resources that stay.
    pub resources: BTreeMap<String, ResourceCapacity>,
    /// The resources that are gone; then the checkpoint is written.
    pub deleted: BTreeMap<String, CapacityReason>,
}

/// What the node offers of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceCapacity {
    /// All devices.
    pub capacity: usize,
    /// The healthy ones; absent where only unhealthy ones were ever known.
    pub allocatable: Option<usize>,
    pub reason: CapacityReason,
}

/// Why a resource is offered or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityReason {
    /// Its plugin is connected.
    Connected,
    /// Its plugin stopped, and may come back until the given moment.
    Grace {
        /// When it stopped.
        stopped_at: Timestamp,
        /// Until when it is waited for.
        until: Timestamp,
    },
    /// Its plugin stopped and did not come back in time.
    GraceOver {
        /// When it stopped.
        stopped_at: Timestamp,
    },
    /// It never had a plugin.
    NoPlugin,
}

impl CapacityReason {
    fn of(endpoint: Option<&Endpoint>, now: Timestamp, grace: GoDuration) -> Self {
        match endpoint.map(|endpoint| endpoint.stopped_at) {
            None => Self::NoPlugin,
            Some(None) => Self::Connected,
            Some(Some(stopped_at)) if now.since(stopped_at) > grace.0 => {
                Self::GraceOver { stopped_at }
            }
            Some(Some(stopped_at)) => Self::Grace { stopped_at, until: stopped_at.plus(grace.0) },
        }
    }

    /// Returns true if the kubelet forgets the resource.
    pub fn deletes(self) -> bool {
        matches!(self, Self::GraceOver { .. } | Self::NoPlugin)
    }
}

/// Why no device of a resource may be healthy. The kubelet waits for a plugin for a while, when it starts and when the
/// plugin stops, and then forgets the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
pub enum NoneHealthy {
    /// The kubelet knows no plugin of it.
    #[text(
        "the kubelet knows no plugin of it; one that stopped is forgotten after {minutes} minutes",
        minutes = STOP_GRACE.0 / GoDuration::MINUTE.0
    )]
    NoPlugin,
    /// The kubelet started a short while ago.
    #[text(
        "its plugin lists no healthy device, stopped, or did not register since the kubelet \
         started; waited for until {waits_until}"
    )]
    JustStarted {
        /// Until when it waits for plugins from before its start.
        waits_until: Timestamp,
    },
    /// The kubelet waits no longer for plugins from before its start.
    #[text(
        "its plugin lists no healthy device, or stopped in the last {minutes} minutes",
        minutes = STOP_GRACE.0 / GoDuration::MINUTE.0
    )]
    LongStarted,
    /// When the kubelet started is unknown.
    #[text(
        "its plugin lists no healthy device, stopped, or did not register since the kubelet \
         started, and is waited for {minutes} minutes (kq devices list --kubelet-start says since \
         when)",
        minutes = STOP_GRACE.0 / GoDuration::MINUTE.0
    )]
    StartUnknown,
}

impl NoneHealthy {
    /// Returns it for a resource that the kubelet knows.
    pub fn of(kubelet_start: Option<Timestamp>, now: Option<Timestamp>) -> Self {
        match (kubelet_start.map(|start| start.plus(STOP_GRACE.0)), now) {
            (Some(waits_until), Some(now)) if now <= waits_until => {
                Self::JustStarted { waits_until }
            }
            (Some(_), Some(_)) => Self::LongStarted,
            _ => Self::StartUnknown,
        }
    }
}

impl ManagerState {
    /// Counts the devices of each resource and forgets those whose plugin is gone. What is allocated stays
    /// as it is, and so is what is known of single devices (`allDevices`).
    pub fn capacity(&mut self, now: Timestamp) -> Capacity {
        self.capacity_after(now, STOP_GRACE)
    }

    /// Does that with another grace period than the kubelet's.
    pub fn capacity_after(&mut self, now: Timestamp, grace: GoDuration) -> Capacity {
        let names = self.healthy.keys().chain(self.unhealthy.keys());
        let reasons: BTreeMap<String, CapacityReason> = names
            .map(|name| (name.clone(), CapacityReason::of(self.endpoints.get(name), now, grace)))
            .collect();
        let mut capacity = Capacity::default();
        for (name, reason) in reasons {
            if reason.deletes() {
                self.endpoints.remove(&name);
                self.healthy.remove(&name);
                self.unhealthy.remove(&name);
                capacity.deleted.insert(name, reason);
                continue;
            }
            let healthy = self.healthy.get(&name).map(|ids| ids.len());
            let unhealthy = self.unhealthy.get(&name).map(|ids| ids.len());
            let all = healthy.unwrap_or_default() + unhealthy.unwrap_or_default();
            let counted = ResourceCapacity { capacity: all, allocatable: healthy, reason };
            capacity.resources.insert(name, counted);
        }
        capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::PluginOptions;

    #[test]
    fn a_plugin_is_waited_for_until_five_minutes_are_over() {
        let second = GoDuration::SECOND.0;
        for (name, stopped_ago, deleted) in [
            ("just now", Some(0), false),
            ("exactly five minutes", Some(300 * second), false),
            ("a moment more", Some(300 * second + 1), true),
            ("a clock that was set back", Some(-second), false),
            ("connected", None, false),
        ] {
            let now = Timestamp::from_seconds(10_000);
            let mut state = ManagerState::default();
            state.register("r", PluginOptions::default());
            state.update("r", []);
            if let Some(ago) = stopped_ago {
                state.stop("r", now.plus(-ago));
            }
            let capacity = state.capacity(now);
            assert_eq!(capacity.deleted.contains_key("r"), deleted, "{name}");
            assert_eq!(capacity.resources.contains_key("r"), !deleted, "{name}");
            assert_eq!(state.healthy.contains_key("r"), !deleted, "{name}");
        }
    }

    #[test]
    fn a_resource_without_plugin_is_forgotten() {
        let mut state = ManagerState::default();
        state.update("r", []);
        let capacity = state.capacity(Timestamp(0));
        assert_eq!(capacity.deleted["r"], CapacityReason::NoPlugin);
        assert!(state.healthy.is_empty() && state.unhealthy.is_empty());
    }
}

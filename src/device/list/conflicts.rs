//! Devices in two containers that may not share.
//!
//! Of one pod, an ordinary init container leaves its devices to those after it; what a sidecar or a
//! regular container has is its own (`Allocate` and
//! `devicesToReuse` in `manager.go`). Two pods never share.

use super::holding::{Holdings, Key, Role};
use super::reason::Reason;
use crate::facts::node_pods::Standing;
use std::collections::BTreeMap;

/// How many others are named.
const NAMED: usize = 3;

/// Who has which device, of the pods that are active.
pub(super) struct Sharing<'h> {
    /// By resource and id.
    by_device: BTreeMap<&'h str, BTreeMap<&'h str, Vec<&'h Key<'h>>>>,
    doubles: BTreeMap<&'h Key<'h>, Reason>,
}

impl<'h> Sharing<'h> {
    /// Finds the containers that share devices.
    pub fn of(holdings: &'h Holdings<'h>) -> Self {
        let mut by_device: BTreeMap<&str, BTreeMap<&str, Vec<&'h Key<'h>>>> = BTreeMap::new();
        for key in holdings.devices.keys() {
            // What ended is dropped before the next allocation; who is not known may have ended.
            if matches!(holdings.holders[&key.pod].standing, Standing::Active(_)) {
                let ids = by_device.entry(key.resource).or_default();
                // Nearly all devices have one holder.
                ids.entry(key.device).or_insert_with(|| Vec::with_capacity(1)).push(key);
            }
        }
        let mut doubles = BTreeMap::new();
        for holders in
            by_device.values().flat_map(BTreeMap::values).filter(|holders| holders.len() > 1)
        {
            // The keys of a pod are neighbours, so one of each pod is found by going through them once.
            let mut pods: Vec<&'h Key<'h>> = holders.clone();
            pods.dedup_by(|a, b| a.pod == b.pod);
            for key in holders.iter().filter(|_| pods.len() > 1) {
                let others = pods.iter().filter(|other| other.pod != key.pod);
                let named = others.take(NAMED).map(|other| {
                    format!("{} {}", holdings.holders[&other.pod].shown(), other.container)
                });
                let others: Vec<String> = named.collect();
                let more = pods.len() - 1 - others.len();
                doubles.insert(*key, Reason::OtherPods { others, more });
            }
            if pods.len() == 1 {
                doubles.extend(of_one_pod(holdings, holders));
            }
        }
        Self { by_device, doubles }
    }

    /// Returns the containers that a device must not be shared with.
    pub fn double(&self, key: &Key<'h>) -> Option<&Reason> {
        self.doubles.get(key)
    }

    /// Returns who has a device.
    pub fn holders(&self, resource: &str, device: &str) -> &[&'h Key<'h>] {
        let holders = self.by_device.get(resource).and_then(|ids| ids.get(device));
        holders.map_or(&[], Vec::as_slice)
    }
}

/// Returns the containers of one pod that must not share.
fn of_one_pod<'h>(holdings: &Holdings<'_>, keys: &[&'h Key<'h>]) -> Vec<(&'h Key<'h>, Reason)> {
    let holder = &holdings.holders[&keys[0].pod];
    let mut ordered: Vec<(usize, Role, &'h Key<'h>)> = Vec::new();
    for key in keys {
        let (role, at) = holder.role(key.container);
        // What is not in the pod is an orphan; it takes part only by being there.
        if !matches!(role, Role::None | Role::Unknown) {
            ordered.push((at, role, key));
        }
    }
    ordered.sort_by_key(|(at, ..)| *at);
    // Whoever is before may share only what it gives away, and only an ordinary init container does.
    let Some(first) = ordered.iter().position(|(_, role, _)| *role != Role::Init) else {
        return Vec::new();
    };
    let keepers = &ordered[first..];
    if keepers.len() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (_, _, key) in keepers {
        let others: Vec<String> = keepers
            .iter()
            .filter(|(_, _, other)| other != key)
            .take(NAMED)
            .map(|(_, _, other)| other.container.to_owned())
            .collect();
        let more = keepers.len() - 1 - others.len();
        found.push((*key, Reason::OtherContainers { others, more }));
    }
    found
}

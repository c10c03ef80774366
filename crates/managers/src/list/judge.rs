//! The state of a device in a container, and devices in two containers that may not share.
//!
//! Of one pod, an ordinary init container leaves its devices to those after it; what a sidecar or a
//! regular container has is its own (`Allocate` and
//! `devicesToReuse` in `manager.go`). Two pods never share.

use super::holding::{Holder, Holding, Holdings, Key, Role};
use super::reason::{HealthReason, Reason, SourceGap};
use super::report::{Asked, Health};
use crate::manager::NoneHealthy;
use kq_facts::devices::{CheckpointFact, DeviceFacts};
use kq_facts::node_pods::{NodePods, Standing};
use kq_facts::pod_resources::AllocatableResources;
use kq_facts::runtime::ContainerState;
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::ResourceName;
use std::collections::{BTreeMap, BTreeSet};

/// The facts other than the device.
pub(super) struct DeviceSources<'a, 'p> {
    pub asked: Asked,
    pub facts: &'a DeviceFacts,
    pub pods: &'p NodePods<'a>,
    /// The healthy devices per resource; `None`: unknown.
    pub healthy: Option<BTreeMap<&'a str, BTreeSet<&'a str>>>,
    /// Those that were healthy when the checkpoint was written, where it was asked for.
    pub registered: Option<BTreeMap<&'a str, BTreeSet<&'a str>>>,
    /// When the kubelet started.
    pub kubelet_start: Option<Timestamp>,
    /// The moment of everything.
    pub now: Option<Timestamp>,
}

impl<'a, 'p> DeviceSources<'a, 'p> {
    /// Collects what is known.
    pub fn of(asked: Asked, facts: &'a DeviceFacts, pods: &'p NodePods<'a>) -> Self {
        let told = asked.pod_resources().then(|| facts.pod_resources.value()).flatten();
        let allocatable = told.and_then(|told| told.allocatable.value());
        let healthy = allocatable.map(healthy);
        let checkpoint = asked.checkpoint().then(|| facts.checkpoint.value()).flatten();
        // What the kubelet rejects says of no device that it was healthy.
        let decides = checkpoint.filter(|read| read.error.is_none());
        let registered = decides.map(registered);
        Self { asked, facts, pods, healthy, registered, kubelet_start: None, now: None }
    }

    /// Returns why the kubelet may offer no device of a resource.
    fn why_none(&self, resource: &str) -> NoneHealthy {
        let is_recorded = self.checkpoint().filter(|read| read.error.is_none());
        match is_recorded.map(|read| read.registered.contains_key(resource)) {
            Some(false) => NoneHealthy::NoPlugin,
            Some(true) | None => NoneHealthy::of(self.kubelet_start, self.now),
        }
    }

    /// Returns the checkpoint, where it was asked for.
    pub fn checkpoint(&self) -> Option<&'a CheckpointFact> {
        self.asked.checkpoint().then(|| self.facts.checkpoint.value()).flatten()
    }

    /// Returns whether a device is healthy, and why.
    pub fn health(&self, resource: &str, device: &str) -> (Health, HealthReason) {
        if let Some(healthy) = &self.healthy {
            let is_healthy = healthy.get(resource).is_some_and(|ids| ids.contains(device));
            return match is_healthy {
                true => (Health::Healthy, HealthReason::Offered),
                false => (Health::Unhealthy, HealthReason::NotOffered),
            };
        }
        let registered = self.registered.as_ref().and_then(|registered| registered.get(resource));
        let was_healthy = registered.map(|ids| ids.contains(device));
        let why = match (self.asked.pod_resources(), SourceGap::of_health(self.facts)) {
            (true, Some(why)) => HealthReason::Unknown { why, was_healthy },
            _ => HealthReason::NotAsked { was_healthy },
        };
        (Health::Unknown, why)
    }
}

impl SourceGap {
    /// Returns why the checkpoint is unavailable; `None`: it is there.
    pub(super) fn of_checkpoint(facts: &DeviceFacts) -> Option<Self> {
        let checkpoint = &facts.checkpoint;
        checkpoint.found.is_none().then(|| Self::Checkpoint { error: checkpoint.reason() })
    }

    /// Returns why the healthy devices are unknown; `None`: they are known.
    pub(super) fn of_health(facts: &DeviceFacts) -> Option<Self> {
        match facts.pod_resources.value() {
            None => Some(Self::PodResources { error: facts.pod_resources.reason() }),
            Some(told) if told.allocatable.found.is_none() => {
                Some(Self::HealthyDevices { error: told.allocatable.reason() })
            }
            Some(_) => None,
        }
    }
}

fn healthy(told: &AllocatableResources) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut healthy: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for devices in &told.devices {
        let ids = devices.device_ids.iter().map(String::as_str);
        healthy.entry(&devices.resource_name).or_default().extend(ids);
    }
    healthy
}

fn registered(read: &CheckpointFact) -> BTreeMap<&str, BTreeSet<&str>> {
    let registered = read.registered.iter();
    registered
        .map(|(resource, ids)| (resource.as_str(), ids.iter().map(String::as_str).collect()))
        .collect()
}

/// Returns all findings, worst first; a consistent device gets the reason why.
pub(super) fn judge<'h>(
    key: &Key<'h>,
    holding: &Holding<'_>,
    holder: &Holder<'_>,
    sharing: &Sharing<'h>,
    known: &DeviceSources<'_, '_>,
) -> Vec<Reason> {
    let active = match &holder.standing {
        // All else is as it may be with a pod that is gone.
        Standing::Gone(why) => return vec![Reason::PodGone { why: why.clone() }],
        Standing::Ended(why) => return vec![Reason::PodEnded { why: why.clone() }],
        Standing::Unknown(why) => return vec![Reason::PodUnknown { why: why.clone() }],
        Standing::Active(why) => why,
    };
    let (role, _) = holder.role(key.container);
    let mut reasons: Vec<Reason> = sharing.double(key).into_iter().cloned().collect();
    match role {
        Role::None => reasons.push(Reason::NoSuchContainer),
        Role::Unknown => reasons.push(Reason::SpecUnknown),
        Role::Init | Role::Sidecar | Role::App if !asks(holder, key) => {
            reasons.push(Reason::NotAskedFor);
        }
        Role::Init | Role::Sidecar | Role::App => {}
    }
    reasons.extend(in_one_source(holding, holder, role, known));
    reasons.extend(holding.skipped.map(|error| Reason::Skipped { error: error.to_owned() }));
    if let Some(healthy) = &known.healthy {
        let ids = healthy.get(key.resource);
        match ids.map_or(0, BTreeSet::len) {
            0 => reasons.push(Reason::NoneHealthy { why: known.why_none(key.resource) }),
            healthy if !ids.is_some_and(|ids| ids.contains(key.device)) => {
                reasons.push(Reason::NotAmongHealthy { healthy });
            }
            _ => {}
        }
    } else if known.asked.pod_resources() && known.facts.pod_resources.found.is_some() {
        let gap = SourceGap::of_health(known.facts);
        reasons.extend(gap.map(|why| Reason::HealthUnknown { why }));
    }
    if role == Role::Init && has_ended(holder, key, known.pods) {
        reasons.push(Reason::InitEnded { used_by: users(key, holder, sharing) });
    }
    if reasons.is_empty() {
        reasons.push(Reason::Held { role, why: active.clone() });
    }
    reasons.sort_by_key(Reason::state);
    reasons
}

/// Returns true if a container's limits name a resource; requests do not count to the device manager.
fn asks(holder: &Holder<'_>, key: &Key<'_>) -> bool {
    let container = holder.container(key.container);
    let limit = container
        .and_then(|container| container.resources.limits.get(&ResourceName::from(key.resource)));
    limit.is_some_and(|limit| limit.value() > 0)
}

/// Returns what is wrong where one source has the device and the other does not.
fn in_one_source(
    holding: &Holding<'_>,
    holder: &Holder<'_>,
    role: Role,
    known: &DeviceSources<'_, '_>,
) -> Option<Reason> {
    let facts = known.facts;
    let damage = known.checkpoint().and_then(|read| read.error.as_ref());
    let told = known.asked.pod_resources().then_some(&facts.pod_resources);
    match (holding.in_checkpoint, holding.in_pod_resources) {
        (true, false) => match told {
            // What the kubelet does not read decides nothing.
            None => damage.map(|_| Reason::OnlyInCheckpoint { is_damaged: true, why: None }),
            Some(told) if told.found.is_none() => Some(Reason::OnlyInCheckpoint {
                is_damaged: damage.is_some(),
                why: SourceGap::of_health(facts),
            }),
            // Ordinary init containers are never listed.
            Some(_) => match role {
                Role::Init => None,
                Role::Sidecar | Role::App if !holder.is_told => Some(Reason::PodNotTold),
                Role::Sidecar | Role::App => Some(Reason::NotTold),
                // The pod has no such container to list, and that is said.
                Role::None => None,
                Role::Unknown => Some(Reason::MayBeInit),
            },
        },
        (false, true) if known.asked.checkpoint() => match facts.checkpoint.value() {
            Some(read) if read.absent => Some(Reason::NoCheckpoint),
            Some(_) => Some(damage.map_or(Reason::NotRecorded, |_| Reason::Damaged)),
            None => SourceGap::of_checkpoint(facts).map(|why| Reason::OnlyTold { why }),
        },
        _ => damage.map(|_| Reason::Damaged),
    }
}

/// Returns true if an ordinary init container ended: by the runtime, else by the pod's status, else because
/// what comes after it was started.
fn has_ended(holder: &Holder<'_>, key: &Key<'_>, pods: &NodePods<'_>) -> bool {
    let runtime = holder.uid.and_then(|uid| pods.container(uid, key.container));
    match runtime {
        Some(ContainerState::Running | ContainerState::Created) => return false,
        Some(ContainerState::Exited) => {}
        Some(ContainerState::Unknown) | None => {
            return ended_by_status(holder, key.container);
        }
    }
    // One that failed runs again.
    let status = holder.init_statuses.get(key.container);
    let exit = status.and_then(|status| status.state.terminated.as_ref());
    exit.is_none_or(|exit| exit.exit_code == 0) || holder.runs_later
}

fn ended_by_status(holder: &Holder<'_>, name: &str) -> bool {
    let status = holder.init_statuses.get(name);
    let exit = status.and_then(|status| status.state.terminated.as_ref());
    exit.is_some_and(|exit| exit.exit_code == 0) || holder.runs_later
}

/// Returns the containers of the pod after an init container that have its device as well.
fn users(key: &Key<'_>, holder: &Holder<'_>, sharing: &Sharing<'_>) -> Vec<String> {
    let (_, own) = holder.role(key.container);
    let same = sharing.holders(key.resource, key.device).iter();
    let mut later: Vec<(usize, String)> = same
        .filter(|other| other.pod == key.pod && other.container != key.container)
        .map(|other| (holder.role(other.container).1, other.container.to_owned()))
        .filter(|(at, _)| *at > own && *at != usize::MAX)
        .collect();
    later.sort();
    later.into_iter().map(|(_, name)| name).collect()
}

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

//! What is the matter with a device in a container.

use super::conflicts::Sharing;
use super::holding::{Holder, Holding, Key, Role};
use super::reason::Reason;
use super::report::{Asked, Health};
use crate::device::manager::{STOP_GRACE, why_none_healthy};
use crate::facts::devices::{CheckpointFact, DeviceFacts};
use crate::facts::node_pods::{NodePods, Standing};
use crate::facts::pod_resources::AllocatableResources;
use crate::facts::runtime::ContainerState;
use crate::facts::timestamp::Timestamp;
use crate::k8s::pod::{ContainerStatus, Pod, ResourceName};
use std::collections::{BTreeMap, BTreeSet};

/// What is known beside the device itself.
pub(super) struct DeviceSources<'a> {
    pub asked: Asked,
    pub facts: &'a DeviceFacts,
    pub pods: &'a NodePods<'a>,
    /// The healthy devices per resource; `None`: nobody told.
    pub healthy: Option<BTreeMap<&'a str, BTreeSet<&'a str>>>,
    /// Those that were healthy when the checkpoint was written, where it was asked for.
    pub registered: Option<BTreeMap<&'a str, BTreeSet<&'a str>>>,
    /// When the kubelet started.
    pub kubelet_start: Option<Timestamp>,
    /// The moment of everything.
    pub now: Option<Timestamp>,
}

impl<'a> DeviceSources<'a> {
    /// Collects what is known.
    pub fn of(asked: Asked, facts: &'a DeviceFacts, pods: &'a NodePods<'a>) -> Self {
        let told = asked.pod_resources().then(|| facts.pod_resources.value()).flatten();
        let allocatable = told.and_then(|told| told.allocatable.value());
        let healthy = allocatable.map(healthy);
        let checkpoint = asked.checkpoint().then(|| facts.checkpoint.value()).flatten();
        // What the kubelet does not take says of no device that it was healthy.
        let decides = checkpoint.filter(|read| read.error.is_none());
        let registered = decides.map(registered);
        Self { asked, facts, pods, healthy, registered, kubelet_start: None, now: None }
    }

    /// Says what it means that the kubelet offers no device of a resource. It waits for a plugin for a
    /// while, when it starts and when the plugin stops, and then forgets the resource.
    fn why_none(&self, resource: &str) -> String {
        let is_recorded = self.checkpoint().filter(|read| read.error.is_none());
        let is_recorded = is_recorded.map(|read| read.registered.contains_key(resource));
        if is_recorded == Some(false) {
            return format!(
                "the kubelet knows no plugin of it; one that stopped is forgotten after {} minutes",
                STOP_GRACE.0 / 60_000_000_000
            );
        }
        why_none_healthy(self.kubelet_start, self.now)
    }

    /// Returns the checkpoint, where it was asked for.
    pub fn checkpoint(&self) -> Option<&'a CheckpointFact> {
        self.asked.checkpoint().then(|| self.facts.checkpoint.value()).flatten()
    }

    /// Returns whether a device is healthy, and who says so.
    pub fn health(&self, resource: &str, device: &str) -> (Health, String) {
        if let Some(healthy) = &self.healthy {
            let is_healthy = healthy.get(resource).is_some_and(|ids| ids.contains(device));
            return match is_healthy {
                true => (Health::Healthy, "the kubelet offers it".to_owned()),
                false => (Health::Unhealthy, "the kubelet does not offer it".to_owned()),
            };
        }
        let registered = self.registered.as_ref().and_then(|registered| registered.get(resource));
        let was = registered.map(|ids| ids.contains(device));
        let then = match was {
            Some(true) => "; it was healthy when the checkpoint was written",
            Some(false) => "; it was not healthy when the checkpoint was written",
            None => "",
        };
        let why = match self.asked.pod_resources() {
            false => "the pod-resources API was not asked".to_owned(),
            true => self.why_no_health(),
        };
        (Health::Unknown, format!("{why}{then}"))
    }

    fn why_no_health(&self) -> String {
        match self.facts.pod_resources.value() {
            Some(told) => format!(
                "the kubelet does not tell its healthy devices ({})",
                told.allocatable.reason()
            ),
            None => not_had("the pod-resources API", &self.facts.pod_resources.reason()),
        }
    }
}

/// Returns why a source is not there.
pub(super) fn not_had(source: &str, reason: &str) -> String {
    format!("{source} is unavailable ({reason})")
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

/// Returns everything that is the matter, the worst first; what is as it should be says why.
pub(super) fn judge(
    key: &Key,
    holding: &Holding,
    holder: &Holder<'_>,
    sharing: &Sharing<'_>,
    known: &DeviceSources<'_>,
) -> Vec<Reason> {
    let active = match &holder.standing {
        // All else is as it may be with a pod that is gone.
        Standing::Gone(why) => return vec![Reason::PodGone(why.to_string())],
        Standing::Ended(why) => return vec![Reason::PodEnded(why.to_string())],
        Standing::Unknown(why) => return vec![Reason::Unknown(why.to_string())],
        Standing::Active(why) => why,
    };
    let (role, _) = holder.role(&key.container);
    let mut reasons: Vec<Reason> = sharing.double(key).into_iter().cloned().collect();
    match role {
        Role::None => reasons.push(Reason::NoSuchContainer),
        Role::Unknown => reasons.push(Reason::Unknown(
            "the pod's specification is not known, so neither is what its containers ask for"
                .to_owned(),
        )),
        Role::Init | Role::Sidecar | Role::App if !asks(holder, key) => {
            reasons.push(Reason::NotAskedFor);
        }
        Role::Init | Role::Sidecar | Role::App => {}
    }
    reasons.extend(in_one_source(holding, holder, role, known));
    reasons.extend(holding.skipped.clone().map(Reason::Skipped));
    if let Some(healthy) = &known.healthy {
        let ids = healthy.get(&*key.resource);
        match ids.map_or(0, BTreeSet::len) {
            0 => reasons.push(Reason::NoneHealthy(known.why_none(&key.resource))),
            count if !ids.is_some_and(|ids| ids.contains(&*key.device)) => {
                reasons.push(Reason::NotAmongHealthy(count));
            }
            _ => {}
        }
    } else if known.asked.pod_resources() && known.facts.pod_resources.found.is_some() {
        reasons.push(Reason::Unknown(known.why_no_health()));
    }
    if role == Role::Init && has_ended(holder, key, known.pods) {
        reasons.push(Reason::InitEnded(users(key, holder, sharing)));
    }
    if reasons.is_empty() {
        reasons.push(Reason::Held(match role {
            Role::Init => format!("init container, pod active: {active}"),
            Role::Sidecar => format!("sidecar, pod active: {active}"),
            _ => format!("pod active: {active}"),
        }));
    }
    reasons.sort_by_key(Reason::state);
    reasons
}

/// Tells whether a container's limits name a resource; requests do not count to the device manager.
fn asks(holder: &Holder<'_>, key: &Key) -> bool {
    let container = holder.container(&key.container);
    let limit = container
        .and_then(|container| container.resources.limits.get(&ResourceName::from(&*key.resource)));
    limit.is_some_and(|limit| limit.value() > 0)
}

/// Returns what is wrong where one source has the device and the other does not.
fn in_one_source(
    holding: &Holding,
    holder: &Holder<'_>,
    role: Role,
    known: &DeviceSources<'_>,
) -> Option<Reason> {
    let facts = known.facts;
    let damage = known.checkpoint().and_then(|read| read.error.as_ref());
    let told = known.asked.pod_resources().then_some(&facts.pod_resources);
    match (holding.in_checkpoint, holding.in_pod_resources) {
        (true, false) => match told {
            // What the kubelet does not read decides nothing.
            None => damage.map(|_| {
                Reason::Unknown(
                    "in a checkpoint that is damaged, and nothing else was asked".to_owned(),
                )
            }),
            Some(told) if told.found.is_none() => {
                let why = not_had("the pod-resources API", &told.reason());
                Some(Reason::Unknown(match damage {
                    Some(_) => format!("in a checkpoint that is damaged, and {why}"),
                    None => format!("in the checkpoint; {why}"),
                }))
            }
            // Ordinary init containers are never listed.
            Some(_) => match role {
                Role::Init => None,
                Role::Sidecar | Role::App if !holder.is_told => Some(Reason::PodNotTold),
                Role::Sidecar | Role::App => Some(Reason::NotTold),
                // The pod has no such container to list, and that is said.
                Role::None => None,
                Role::Unknown => Some(Reason::Unknown(
                    "in the checkpoint, and not told by the kubelet, as it is with init containers"
                        .to_owned(),
                )),
            },
        },
        (false, true) if known.asked.checkpoint() => match facts.checkpoint.value() {
            Some(read) if read.absent => Some(Reason::NoCheckpoint),
            Some(_) => Some(damage.map_or(Reason::NotRecorded, |_| Reason::Damaged)),
            None => {
                let why = not_had("the checkpoint", &facts.checkpoint.reason());
                Some(Reason::Unknown(format!("the kubelet tells of it; {why}")))
            }
        },
        _ => damage.map(|_| Reason::Damaged),
    }
}

/// Tells whether an ordinary init container ended: by the runtime, else by the pod's status, else because
/// what comes after it was started.
fn has_ended(holder: &Holder<'_>, key: &Key, pods: &NodePods<'_>) -> bool {
    let runtime = holder.uid.as_deref().and_then(|uid| pods.container(uid, &key.container));
    match runtime {
        Some(ContainerState::Running | ContainerState::Created) => return false,
        Some(ContainerState::Exited) => {}
        Some(ContainerState::Unknown) | None => {
            return holder.pod.is_some_and(|pod| ended_by_status(pod, &key.container));
        }
    }
    // One that failed runs again.
    holder.pod.is_none_or(|pod| {
        let status = status(&pod.status.init_container_statuses, &key.container);
        let exit = status.and_then(|status| status.state.terminated.as_ref());
        exit.is_none_or(|exit| exit.exit_code == 0) || runs_later(pod)
    })
}

fn ended_by_status(pod: &Pod, name: &str) -> bool {
    let status = status(&pod.status.init_container_statuses, name);
    let exit = status.and_then(|status| status.state.terminated.as_ref());
    exit.is_some_and(|exit| exit.exit_code == 0) || runs_later(pod)
}

/// Tells whether a regular container was started, which is after all init containers.
fn runs_later(pod: &Pod) -> bool {
    let mut statuses = pod.status.container_statuses.iter();
    statuses.any(|status| status.state.running.is_some() || status.restart_count > 0)
}

fn status<'s>(statuses: &'s [ContainerStatus], name: &str) -> Option<&'s ContainerStatus> {
    statuses.iter().find(|status| status.name == name)
}

/// Returns the containers of the pod after an init container that have its device as well.
fn users(key: &Key, holder: &Holder<'_>, sharing: &Sharing<'_>) -> Vec<String> {
    let (_, own) = holder.role(&key.container);
    let same = sharing.holders(&key.resource, &key.device).iter();
    let mut later: Vec<(usize, String)> = same
        .filter(|other| other.pod == key.pod && other.container != key.container)
        .map(|other| (holder.role(&other.container).1, other.container.clone()))
        .filter(|(at, _)| *at > own && *at != usize::MAX)
        .collect();
    later.sort();
    later.into_iter().map(|(_, name)| name).collect()
}

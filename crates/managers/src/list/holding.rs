//! A device in a container, from the checkpoint, from the pod-resources API, or from both.

use kq_facts::devices::{CheckpointEntry, CheckpointFact, PluginAnswer};
use kq_facts::node_pods::{NodePods, Standing, StandingReason};
use kq_facts::pod_resources::{PodResources, PodResourcesPod};
use kq_k8s::pod::{ByName, Container, ContainerStatus, Pod};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where the checkpoint has devices without a NUMA node (`nodeWithoutTopology`). Every other number is one
/// to the kubelet, and is reported as it is.
const NO_NODE: i64 = -1;

/// What a container is in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// It runs to its end before those after it; they may have its devices.
    Init,
    /// An init container that keeps running, and its devices.
    Sidecar,
    /// A regular container.
    App,
    /// The pod has no such container.
    None,
    /// The pod's specification is not known.
    Unknown,
}

/// The holder of a device: a pod by its UID, or by its name if the UID is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PodKey<'a> {
    /// The UID under which the kubelet runs it.
    Uid(&'a str),
    /// Namespace and name.
    Name(&'a str, &'a str),
}

/// One device of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'a> {
    pub pod: PodKey<'a>,
    pub container: &'a str,
    pub resource: &'a str,
    pub device: &'a str,
}

impl<'a> Key<'a> {
    fn of(entry: &'a CheckpointEntry, id: &'a str) -> Self {
        Self {
            pod: PodKey::Uid(&entry.pod_uid),
            container: &entry.container_name,
            resource: &entry.resource_name,
            device: id,
        }
    }
}

/// What the sources say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding<'a> {
    /// In their order.
    pub numa_nodes: Vec<i64>,
    pub in_checkpoint: bool,
    pub in_pod_resources: bool,
    /// A kubelet that starts skips the entry: why.
    pub skipped: Option<&'a str>,
}

impl Holding<'_> {
    fn add_node(&mut self, node: i64) {
        if let Err(at) = self.numa_nodes.binary_search(&node) {
            // Nearly all devices have one.
            self.numa_nodes.reserve_exact(1);
            self.numa_nodes.insert(at, node);
        }
    }
}

/// A pod that has devices, as far as it is known.
#[derive(Clone, Debug)]
pub(super) struct Holder<'a> {
    pub pod: Option<&'a Pod>,
    /// Its containers by name; of several with one name, the first.
    containers: BTreeMap<&'a str, (usize, Role, &'a Container)>,
    /// A regular container was started, which is after all init containers.
    pub runs_later: bool,
    pub init_statuses: ByName<'a, ContainerStatus>,
    pub namespace: &'a str,
    pub name: &'a str,
    pub uid: Option<&'a str>,
    pub standing: Standing,
    /// The kubelet lists it.
    pub is_told: bool,
}

/// The devices in use, with the pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Holdings<'a> {
    pub devices: BTreeMap<Key<'a>, Holding<'a>>,
    pub holders: BTreeMap<PodKey<'a>, Holder<'a>>,
    /// The records of a rejected checkpoint alone, where the kubelet itself reports.
    pub only_in_damaged: BTreeSet<Key<'a>>,
}

impl<'a> Holdings<'a> {
    /// Puts the sources together.
    pub fn of(
        checkpoint: Option<&'a CheckpointFact>,
        told: Option<&'a PodResources>,
        pods: &NodePods<'a>,
    ) -> Self {
        let mut all = Self::default();
        // What the kubelet rejects decides nothing where it reports itself.
        let (decides, damaged) = match checkpoint.filter(|read| read.error.is_some()) {
            Some(damaged) if told.is_some() => (None, Some(damaged)),
            _ => (checkpoint, None),
        };
        for entry in decides.into_iter().flat_map(in_effect) {
            let pod = PodKey::Uid(&entry.pod_uid);
            all.holders.entry(pod).or_insert_with(|| holder(&entry.pod_uid, pods));
            for (node, ids) in entry.device_ids.iter() {
                for id in ids {
                    let holding = all.devices.entry(Key::of(entry, id)).or_default();
                    holding.in_checkpoint = true;
                    if let PluginAnswer::Undecodable(error) = &entry.answer {
                        holding.skipped = Some(error);
                    }
                    if node != NO_NODE {
                        holding.add_node(node);
                    }
                }
            }
        }
        let nameless = all.nameless();
        for pod in told.iter().flat_map(|told| &told.pods) {
            let uid = pods.named(&pod.namespace, &pod.name);
            let key = match uid.or_else(|| all.uid_by_devices(pod, &nameless)) {
                Some(uid) => PodKey::Uid(uid),
                None => PodKey::Name(&pod.namespace, &pod.name),
            };
            let devices = pod.containers.iter().flat_map(|container| {
                container.devices.iter().map(|devices| (&container.name, devices))
            });
            let mut has_any = false;
            for (container, devices) in devices {
                for id in &devices.device_ids {
                    has_any = true;
                    let key =
                        Key { pod: key, container, resource: &devices.resource_name, device: id };
                    let holding = all.devices.entry(key).or_default();
                    holding.in_pod_resources = true;
                    devices.numa_nodes.iter().flatten().for_each(|node| holding.add_node(*node));
                }
            }
            if has_any && !all.holders.contains_key(&key) {
                all.holders.insert(key, told_holder(uid, pod, pods));
            }
            if let Some(holder) = all.holders.get_mut(&key) {
                holder.is_told = true;
                if holder.name.is_empty() {
                    holder.namespace = &pod.namespace;
                    holder.name = &pod.name;
                }
                // The kubelet lists the pods that are active to it.
                if matches!(holder.standing, Standing::Unknown(_)) && holder.uid.is_some() {
                    holder.standing = Standing::Active(match uid {
                        Some(_) => StandingReason::Listed,
                        None => StandingReason::SameDevicesListed,
                    });
                }
            }
        }
        for entry in damaged.into_iter().flat_map(in_effect) {
            for id in entry.device_ids.ids() {
                let key = Key::of(entry, id);
                match all.devices.get_mut(&key) {
                    Some(holding) => holding.in_checkpoint = true,
                    None => {
                        all.only_in_damaged.insert(key);
                    }
                }
            }
        }
        all
    }

    /// Returns the UID in the checkpoint of devices whose pod no other source knows.
    /// What its containers have must be the same to the last device, and the same of no other pod.
    fn uid_by_devices(
        &self,
        told: &PodResourcesPod,
        nameless: &BTreeMap<&'a str, Vec<PodKey<'a>>>,
    ) -> Option<&'a str> {
        let mut devices: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for container in &told.containers {
            for of_resource in &container.devices {
                let ids = of_resource.device_ids.iter().map(String::as_str);
                let key = (&*container.name, &*of_resource.resource_name);
                devices.entry(key).or_default().extend(ids);
            }
        }
        let first = *devices.first_key_value()?.1.first()?;
        let having = nameless.get(first).into_iter().flatten();
        let still = having.filter_map(|key| self.holders.get_key_value(key));
        let mut same =
            still.filter(|(_, holder)| holder.name.is_empty()).filter_map(|(key, holder)| {
                let mut recorded: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
                for (key, _) in self.of_pod(*key) {
                    let ids = recorded.entry((key.container, key.resource)).or_default();
                    ids.insert(key.device);
                }
                // Init containers are in the checkpoint only.
                let is_same = devices.iter().all(|(of, ids)| recorded.get(of) == Some(ids));
                is_same.then_some(holder.uid).flatten()
            });
        let found = same.next()?;
        same.next().is_none().then_some(found)
    }

    /// Returns the pods without a name that have each device.
    fn nameless(&self) -> BTreeMap<&'a str, Vec<PodKey<'a>>> {
        let mut having: BTreeMap<&'a str, Vec<PodKey<'a>>> = BTreeMap::new();
        for key in self.devices.keys() {
            if self.holders.get(&key.pod).is_some_and(|holder| holder.name.is_empty()) {
                let pods = having.entry(key.device).or_default();
                // The keys of a pod are neighbours.
                if pods.last() != Some(&key.pod) {
                    pods.push(key.pod);
                }
            }
        }
        having
    }

    /// Walks over the devices of a pod.
    fn of_pod(&self, pod: PodKey<'a>) -> impl Iterator<Item = (&Key<'a>, &Holding<'a>)> {
        let from = Key { pod, container: "", resource: "", device: "" };
        self.devices.range(from..).take_while(move |(key, _)| key.pod == pod)
    }
}

/// Walks over the entries that count: of several for a container and a resource, the last.
pub(super) fn in_effect(checkpoint: &CheckpointFact) -> impl Iterator<Item = &CheckpointEntry> {
    let mut last: BTreeMap<(&str, &str, &str), &CheckpointEntry> = BTreeMap::new();
    for entry in &checkpoint.entries {
        last.insert((&entry.pod_uid, &entry.container_name, &entry.resource_name), entry);
    }
    last.into_values()
}

fn holder<'a>(uid: &'a str, pods: &NodePods<'a>) -> Holder<'a> {
    let (namespace, name) = pods.name(uid).unwrap_or_default();
    let standing = pods.standing(uid);
    Holder { namespace, name, uid: Some(uid), ..Holder::of(pods.get(uid), standing) }
}

fn told_holder<'a>(
    uid: Option<&'a str>,
    told: &'a PodResourcesPod,
    pods: &NodePods<'a>,
) -> Holder<'a> {
    match uid {
        Some(uid) => holder(uid, pods),
        None => Holder {
            namespace: &told.namespace,
            name: &told.name,
            is_told: true,
            ..Holder::of(None, Standing::Unknown(StandingReason::UidUnknown))
        },
    }
}

impl<'a> Holder<'a> {
    /// Collects what is asked about a pod for each of its devices.
    fn of(pod: Option<&'a Pod>, standing: Standing) -> Self {
        let mut containers = BTreeMap::new();
        let spec = pod.map(|pod| &pod.spec);
        let init = spec.into_iter().flat_map(|spec| &spec.init_containers);
        let ordered = init.map(|init| match init.restarts_always() {
            true => (Role::Sidecar, init),
            false => (Role::Init, init),
        });
        let apps = spec.into_iter().flat_map(|spec| &spec.containers).map(|app| (Role::App, app));
        for (at, (role, container)) in ordered.chain(apps).enumerate() {
            containers.entry(container.name.as_str()).or_insert((at, role, container));
        }
        let status = pod.map(|pod| &pod.status);
        let mut regular = status.into_iter().flat_map(|status| &status.container_statuses);
        let init = status.into_iter().flat_map(|status| &status.init_container_statuses);
        Self {
            pod,
            containers,
            runs_later: regular.any(|it| it.state.running.is_some() || it.restart_count > 0),
            init_statuses: ByName::first_of(init),
            namespace: "",
            name: "",
            uid: None,
            standing,
            is_told: false,
        }
    }
}

impl Holder<'_> {
    /// Returns what a container is, and its place in the order in which they get devices.
    pub fn role(&self, container: &str) -> (Role, usize) {
        if self.pod.is_none() {
            return (Role::Unknown, 0);
        }
        let found = self.containers.get(container);
        found.map_or((Role::None, usize::MAX), |(at, role, _)| (*role, *at))
    }

    /// Returns a container by name.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.get(name).map(|(_, _, container)| *container)
    }

    /// Returns the name as it is shown.
    pub fn shown(&self) -> String {
        match (self.namespace, self.name, self.uid) {
            (_, "", Some(uid)) => uid.to_owned(),
            ("", name, _) => name.to_owned(),
            (namespace, name, _) => format!("{namespace}/{name}"),
        }
    }
}

//! What a request makes of a checkpoint.

use crate::device::pods::{NodePods, Standing};
use crate::facts::checkpoint::device::{
    DeviceCheckpoint, DeviceSet, PodDevicesEntry, REPLACED, salvage,
};
use crate::facts::runtime::ContainerState;
use serde::Serialize;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// A sound file is to be made of a damaged one.
    pub rebuild: bool,
    /// Entries of pods that are gone or have ended are to go.
    pub remove_stale: bool,
    /// These are to go: `UID`, or `NAMESPACE/NAME`, then `/CONTAINER`, then `/RESOURCE`.
    pub remove: Vec<String>,
    /// Also what is named and in use, or may be, and what a damaged file has lost.
    pub force: bool,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// It stays.
    Keep,
    /// It goes because it was asked for.
    Remove,
    /// It goes because it is damaged.
    Drop,
}

/// An entry, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// What becomes of it.
    pub action: Action,
    /// The pod's UID.
    pub pod_uid: String,
    /// The pod, where its name is known: `NAMESPACE/NAME`.
    pub pod: Option<String>,
    /// The container.
    pub container: String,
    /// The resource.
    pub resource: String,
    /// The devices.
    pub device_ids: DeviceSet,
    /// Why.
    pub reason: String,
}

/// What would be written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairPlan {
    /// Why the kubelet does not take the file as it is, in its words.
    pub error: Option<String>,
    /// The entries in their order.
    pub items: Vec<Item>,
    /// At least so many entries were there and cannot be read at all; they go too.
    pub lost: usize,
    /// What would be there afterwards.
    pub after: DeviceCheckpoint,
    /// Why it must not be done.
    pub refusals: Vec<String>,
    /// What is odd about what was found.
    pub notes: Vec<String>,
    /// There is something to write.
    pub is_change: bool,
}

/// Plans a repair of the bytes of a file.
pub fn plan(bytes: &[u8], request: &Request, pods: &NodePods<'_>) -> RepairPlan {
    let found = salvage(bytes);
    let mut refusals = Vec::new();
    if let (Some(error), false) = (&found.error, request.rebuild) {
        refusals.push(format!(
            "the kubelet does not take this file ({error}); --rebuild makes a sound one of it"
        ));
    }
    let wants_removal = request.remove_stale || !request.remove.is_empty();
    if request.rebuild && !wants_removal && found.is_sound() {
        refusals.push("nothing is wrong with this file".to_owned());
    }
    let targets: Vec<Target<'_>> = request.remove.iter().map(|text| Target { text }).collect();
    let mut hits = vec![false; targets.len()];
    let mut items = Vec::new();
    let mut kept = Vec::new();
    for (entry, damage) in found.entries {
        let named = targets.iter().zip(&mut hits).fold(false, |named, (target, hit)| {
            let is_named = target.names(&entry, pods);
            *hit |= is_named;
            named || is_named
        });
        let standing = pods.standing(&entry.pod_uid);
        let runs = pods.container(&entry.pod_uid, &entry.container_name);
        let (action, reason) = match damage {
            // What is skipped by the kubelet anyway does no harm where nobody wants it to go.
            Some(damage) if request.rebuild => {
                let is_replaced = damage == REPLACED;
                let holder = in_use(&standing, runs, pods)
                    .filter(|_| !entry.pod_uid.is_empty() && !is_replaced);
                let Some(holder) = holder else {
                    items.push(item(Action::Drop, &entry, damage, pods));
                    continue;
                };
                // The kubelet would give its device to the next who asks. Of a file that it takes, it skips
                // such an entry anyway.
                if found.error.is_some() && !request.force {
                    refusals.push(format!(
                        "{}: it cannot be kept ({damage}), and {holder}; --force leaves it out",
                        place(&entry, pods)
                    ));
                }
                (Action::Drop, format!("{damage}; {holder}"))
            }
            _ if named => {
                if let Some(in_use) = in_use(&standing, runs, pods).filter(|_| !request.force) {
                    refusals.push(format!("{}: {in_use}; --force removes it", place(&entry, pods)));
                }
                (Action::Remove, format!("named; {}", words(&standing)))
            }
            _ if request.remove_stale => stale(&standing, runs, pods),
            Some(damage) => (Action::Keep, damage),
            None => (Action::Keep, "nothing is asked about it".to_owned()),
        };
        items.push(item(action, &entry, reason, pods));
        if action == Action::Keep {
            kept.push(entry);
        }
    }
    if request.rebuild && found.error.is_some() && !request.force {
        refusals.extend(refuse_loss(found.lost, &items));
    }
    for (target, hit) in targets.iter().zip(hits) {
        if !hit {
            refusals.push(format!("--remove {}: no entry is of that name", target.text));
        }
    }
    let after = DeviceCheckpoint {
        // A kubelet without entries writes none at all.
        entries: Some(kept).filter(|kept| !kept.is_empty()),
        registered: Some(found.registered),
    };
    let is_change = found.error.is_some() || items.iter().any(|item| item.action != Action::Keep);
    let lost = if request.rebuild { found.lost } else { 0 };
    RepairPlan { error: found.error, items, lost, after, refusals, notes: found.notes, is_change }
}

/// Refuses to write less than there was: nobody knows whose the lost entries were.
fn refuse_loss(lost: usize, items: &[Item]) -> Option<String> {
    if lost > 0 {
        let entries = if lost == 1 { "1 entry" } else { &format!("{lost} entries") };
        return Some(format!(
            "at least {entries} cannot be read, and their containers may run; --force leaves them out"
        ));
    }
    let is_empty = items.iter().all(|item| item.action == Action::Drop);
    is_empty.then(|| {
        "no entry of this file could be saved, and containers may run; --force writes a file without \
         entries"
            .to_owned()
    })
}

fn item(action: Action, entry: &PodDevicesEntry, reason: String, pods: &NodePods<'_>) -> Item {
    let ids = entry.device_ids.iter().flatten().flat_map(|(_, ids)| ids).flatten();
    Item {
        action,
        pod_uid: entry.pod_uid.clone(),
        pod: pods.name(&entry.pod_uid).map(|(namespace, name)| format!("{namespace}/{name}")),
        container: entry.container_name.clone(),
        resource: entry.resource_name.clone(),
        device_ids: ids.cloned().collect(),
        reason,
    }
}

/// Entries that are named.
struct Target<'t> {
    text: &'t str,
}

impl Target<'_> {
    /// Tells whether an entry is meant. A resource has a slash itself.
    fn names(&self, entry: &PodDevicesEntry, pods: &NodePods<'_>) -> bool {
        let of_pod = |rest: &str| {
            let mut parts = rest.splitn(2, '/').filter(|part| !part.is_empty());
            parts.next().is_none_or(|container| container == entry.container_name)
                && parts.next().is_none_or(|resource| resource == entry.resource_name)
        };
        let after = |pod: &str| match self.text.strip_prefix(pod) {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let name = pods.name(&entry.pod_uid).map(|(namespace, name)| format!("{namespace}/{name}"));
        let by_uid = after(&entry.pod_uid).filter(|_| !entry.pod_uid.is_empty());
        by_uid.is_some_and(of_pod) || name.and_then(|name| after(&name)).is_some_and(of_pod)
    }
}

/// Says why what is named should not go.
fn in_use(
    standing: &Standing,
    runs: Option<ContainerState>,
    pods: &NodePods<'_>,
) -> Option<String> {
    if runs == Some(ContainerState::Running) {
        return Some("its container runs".to_owned());
    }
    match standing {
        Standing::Active(why) => Some(format!("its pod is active: {why}")),
        Standing::Unknown(why) => Some(format!("whether its pod is active is not known: {why}")),
        // A list of pods does not tell what still runs: a container outlives its pod's entry there.
        Standing::Ended(_) | Standing::Gone(_) if !pods.knows_what_runs() => Some(format!(
            "whether its container runs is not known, since the runtime could not be asked ({})",
            words(standing)
        )),
        Standing::Ended(_) | Standing::Gone(_) => None,
    }
}

fn stale(
    standing: &Standing,
    runs: Option<ContainerState>,
    pods: &NodePods<'_>,
) -> (Action, String) {
    match in_use(standing, runs, pods) {
        Some(reason) => (Action::Keep, reason),
        None => (Action::Remove, words(standing)),
    }
}

fn words(standing: &Standing) -> String {
    match standing {
        Standing::Active(why) => format!("the pod is active: {why}"),
        Standing::Ended(why) => format!("the pod has ended: {why}"),
        Standing::Gone(why) => format!("the pod is gone: {why}"),
        Standing::Unknown(why) => format!("whether the pod is active is not known: {why}"),
    }
}

fn place(entry: &PodDevicesEntry, pods: &NodePods<'_>) -> String {
    let pod = match pods.name(&entry.pod_uid) {
        Some((namespace, name)) => format!("{namespace}/{name}"),
        None => entry.pod_uid.clone(),
    };
    format!("{pod}/{}/{}", entry.container_name, entry.resource_name)
}

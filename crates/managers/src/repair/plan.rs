//! The plan of a repair: each entry with the reason why it stays or goes; and the report.

use crate::reconstruct::some;
use crate::verify::{FlippedBit, flipped_bit};
use kq_answer::{Basis, Warning, WarningCode, answer};
use kq_facts::checkpoint::device::{
    DeviceCheckpoint, DeviceSet, PodDevicesEntry, Unsound, salvage,
};
use kq_facts::node_pods::{NodePods, Standing};
use kq_facts::runtime::ContainerState;
use kq_k8s::version::KubeletVersion;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A repair as a value.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRepair {
    /// The file.
    pub checkpoint: String,
    /// It was only planned.
    pub dry_run: bool,
    /// Why the kubelet rejects the file as it was, in its words.
    pub error: Option<String>,
    /// Why it is not done.
    pub refusals: Vec<String>,
    /// The entries in their order.
    pub items: Vec<Item>,
    /// The minimum number of unreadable entries, which are dropped.
    pub lost: usize,
    /// The bit of a damaged file that is put back, which makes it what the kubelet wrote.
    pub restored: Option<FlippedBit>,
    /// The checksum of what is written.
    pub checksum: u32,
    /// What was done; null: nothing was written.
    pub done: Option<Done>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceRepair", DeviceRepair);

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// Where the old file is.
    pub backup: String,
    /// The command that brings it back, while the kubelet is stopped.
    pub undo: String,
    /// The new file was read again and is what it should be.
    pub verified: bool,
}

impl DeviceRepair {
    /// Puts a plan into a report.
    pub fn new(checkpoint: &str, plan: &RepairPlan, dry_run: bool, warnings: &[Warning]) -> Self {
        let mut basis = Basis::default();
        basis.warn_all(WarningCode::DeviceCheckpoint.each(&plan.notes));
        basis.warn_all(warnings.iter().cloned());
        Self {
            checkpoint: checkpoint.to_owned(),
            dry_run,
            error: plan.error.clone(),
            refusals: plan.refusals.clone(),
            items: plan.items.clone(),
            lost: plan.lost,
            restored: plan.restored,
            checksum: plan.after.checksum(),
            done: None,
            basis,
        }
    }

    /// Counts the entries that stay and those that go, with those that are lost.
    pub fn counts(&self) -> (usize, usize) {
        let kept = self.items.iter().filter(|item| item.action == Action::Keep).count();
        (kept, self.items.len() - kept + self.lost)
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// A sound file is to be made of a damaged one.
    pub rebuild: bool,
    /// Entries of pods that are gone or have ended are to go.
    pub remove_stale: bool,
    /// These are to go: `UID`, or `NAMESPACE/NAME`, then `/CONTAINER`, then `/RESOURCE`; or `NAME` alone.
    pub remove: Vec<String>,
    /// The kubelet that reads the file; `None`: unknown.
    pub version: Option<KubeletVersion>,
    /// Also what is named and in use, or may be, and what a damaged file has lost.
    pub force: bool,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// What becomes of it.
    pub action: Action,
    pub pod_uid: String,
    /// The pod, where its name is known: `NAMESPACE/NAME`.
    pub pod: Option<String>,
    pub container: String,
    pub resource: String,
    pub device_ids: DeviceSet,
    /// Why.
    pub reason: String,
}

/// What would be written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairPlan {
    /// Why the kubelet rejects the file as it is, in its words.
    pub error: Option<String>,
    /// The entries in their order.
    pub items: Vec<Item>,
    /// At least so many entries were there and cannot be read at all; they go too.
    pub lost: usize,
    /// The bit that is put back; `None`: none is.
    pub restored: Option<FlippedBit>,
    /// What would be there afterwards.
    pub after: DeviceCheckpoint,
    /// The same as the bytes of a file.
    pub content: Vec<u8>,
    /// Why it must not be done.
    pub refusals: Vec<String>,
    /// What is odd about what was found.
    pub notes: Vec<String>,
    /// There is something to write.
    pub is_change: bool,
}

/// Plans a repair of the bytes of a file.
pub fn plan(bytes: &[u8], request: &Request, pods: &NodePods<'_>) -> RepairPlan {
    let version = request.version.unwrap_or(KubeletVersion::ASSUMED);
    let mut found = salvage(bytes, version);
    let error = found.error.clone();
    let mut refusals = Vec::new();
    let restored = flipped_bit_of(bytes, &error).filter(|_| request.rebuild);
    if let Some((bit, bytes)) = &restored {
        found = salvage(bytes, version);
        found.notes.push(format!("{bit}; it is put back"));
    }
    if let (Some(error), false) = (&error, request.rebuild) {
        refusals.push(format!(
            "the kubelet rejects this file ({error}); --rebuild makes a sound one of it"
        ));
    }
    let targets: Vec<Target<'_>> =
        request.remove.iter().map(|text| Target::of(text, &found.entries, pods)).collect();
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
            // What is skipped by the kubelet anyway does no harm unless it is to be removed.
            Some(damage) if request.rebuild => {
                let holder = match entry.pod_uid.is_empty() {
                    _ if damage == Unsound::Replaced => None,
                    // In a file that it takes, such an entry belongs to no pod.
                    true => found.error.as_ref().map(|_| "its pod is unknown".to_owned()),
                    false => in_use(&standing, runs, pods),
                };
                let Some(holder) = holder else {
                    items.push(item(Action::Drop, &entry, damage.to_string(), pods));
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
            Some(damage) => (Action::Keep, damage.to_string()),
            None if !request.rebuild => (Action::Keep, "not named".to_owned()),
            None if found.is_changed => (Action::Keep, "as it stands".to_owned()),
            None => (Action::Keep, "whole".to_owned()),
        };
        items.push(item(action, &entry, reason, pods));
        if action == Action::Keep {
            kept.push(entry);
        }
    }
    if request.rebuild && found.error.is_some() {
        match (refuse_loss(found.lost, &items), request.force) {
            (Some(refusal), false) => refusals.push(refusal),
            (None, false) if found.is_changed => refusals.push(format!(
                "{CHANGED}, so nothing says which entries are sound: compare them with the pods that run; \
                 --force keeps them as they stand"
            )),
            (None, true) if found.is_changed => found.notes.push(format!(
                "{CHANGED}: where an entry names a wrong device or pod, the kubelet takes that for right, and \
                 gives the real device to the next pod that asks"
            )),
            _ => {}
        }
    }
    for (target, hit) in targets.iter().zip(hits) {
        if !hit {
            refusals.push(target.unknown(&items));
        }
    }
    let goes = items.iter().any(|item| item.action != Action::Keep);
    let after = DeviceCheckpoint {
        // A kubelet without entries writes none at all.
        entries: Some(kept).filter(|kept| !kept.is_empty()),
        registered: Some(found.registered),
    };
    let (bit, as_it_was) = restored.unzip();
    let as_it_was = as_it_was.filter(|_| !goes);
    let (after, content) = match as_it_was.map(|it| (DeviceCheckpoint::parse(&it), it)) {
        Some((Ok(loaded), content)) => (loaded.checkpoint, content),
        _ => {
            let content = after.to_bytes();
            (after, content)
        }
    };
    let is_change = error.is_some() || goes;
    let lost = if request.rebuild { found.lost } else { 0 };
    let restored = bit;
    let notes = found.notes;
    RepairPlan { error, items, lost, restored, after, content, refusals, notes, is_change }
}

const CHANGED: &str = "the checksum shows that something was changed, not what";

/// Returns the one bit that makes a damaged file what the kubelet wrote, and the bytes with it.
fn flipped_bit_of(bytes: &[u8], error: &Option<String>) -> Option<(FlippedBit, Vec<u8>)> {
    error.as_ref()?;
    let bit = flipped_bit(bytes, DeviceCheckpoint::is_taken)?;
    Some((bit, bit.put_back(bytes)))
}

/// Refuses to write fewer entries than before: the holders of the lost ones are unknown.
fn refuse_loss(lost: usize, items: &[Item]) -> Option<String> {
    if lost > 0 {
        let entries = if lost == 1 { "1 entry" } else { &format!("{lost} entries") };
        return Some(format!(
            "at least {entries} cannot be read, and {} may run; --force leaves {} out",
            if lost == 1 { "its container" } else { "their containers" },
            if lost == 1 { "it" } else { "them" },
        ));
    }
    let is_empty = items.iter().all(|item| item.action == Action::Drop);
    is_empty.then(|| {
        "nothing of this file can be saved: the kubelet starts with nothing, with it as without it; --force \
         writes a file without entries"
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
    /// The pods with entries that have the text for their name alone: shown, by UID.
    of_name: BTreeMap<String, String>,
}

impl<'t> Target<'t> {
    fn of(
        text: &'t str,
        entries: &[(PodDevicesEntry, Option<Unsound>)],
        pods: &NodePods<'_>,
    ) -> Self {
        let uids = entries.iter().map(|(entry, _)| &entry.pod_uid);
        let of_name = uids.filter_map(|uid| {
            let (namespace, name) = pods.name(uid).filter(|(_, name)| *name == text)?;
            Some((uid.clone(), format!("{namespace}/{name}")))
        });
        Self { text, of_name: of_name.collect() }
    }

    /// Returns the reason why no entry matches, with similar names.
    fn unknown(&self, items: &[Item]) -> String {
        let text = self.text;
        if self.of_name.len() > 1 {
            let named: Vec<String> =
                self.of_name.iter().map(|(uid, name)| format!("{name} ({uid})")).collect();
            let (count, named) = (named.len(), some(&named));
            return format!("--remove {text}: {count} pods have that name: {named}; use a UID");
        }
        let names: BTreeSet<&str> =
            items.iter().map(|item| item.pod.as_deref().unwrap_or(&item.pod_uid)).collect();
        let names: Vec<&str> = names.into_iter().collect();
        match names.is_empty() {
            true => format!("--remove {text}: no entry has that name, and there is no other"),
            false => format!(
                "--remove {text}: no entry has that name; there are those of {}",
                some(&names)
            ),
        }
    }

    /// Returns true if an entry is meant. A resource has a slash itself.
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
        let is_only = self.of_name.len() == 1 && self.of_name.contains_key(&entry.pod_uid);
        is_only
            || by_uid.is_some_and(of_pod)
            || name.and_then(|name| after(&name)).is_some_and(of_pod)
    }
}

/// Returns the reason why a named entry should not go.
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
        Standing::Unknown(why) => {
            Some(format!("whether its pod is active is not known: {why} (--pods)"))
        }
        // A list of pods does not tell what still runs: a container outlives its pod's entry there.
        Standing::Ended(_) | Standing::Gone(_) if !pods.knows_what_runs() => Some(format!(
            "{}; whether its container still runs, only the runtime knows (--runtime-endpoint)",
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

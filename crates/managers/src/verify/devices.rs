//! `kubelet_internal_checkpoint`.

use super::cpu::beginning;
use super::damage::Damage;
use super::file::{Findings, StateFileContent, VerifyContext};
use super::report::{Examined, FileVerdict, Held, NextStart, Verdict};
use super::rule::{DeviceRule, Holders};
use crate::manager::check_registration;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::device::{DeviceCheckpoint, Unsound, salvage};
use kq_facts::devices::{CheckpointEntry, CheckpointFact, PluginAnswer};
use kq_facts::node_pods::Standing;
use kq_k8s::go_json::{GoJsonError, TypeError};
use kq_k8s::pod::Pod;
use kq_k8s::version::KubeletVersion;
use std::collections::{BTreeMap, BTreeSet};

/// What to do with a file that the kubelet rejects, and that has entries.
const DISCARDED: &str = "a kubelet that runs has it all in memory, and nothing is lost as long as it is not restarted: \
                         the next pod that gets a device makes it write a sound file; for one that is stopped: \
                         kq devices repair --rebuild";

/// The same where nothing of it can be saved.
const LOST: &str = "nothing in it can be saved: a kubelet that starts begins with nothing; one that runs has it all in \
                    memory, and the next pod that gets a device makes it write a sound file";

/// The number of names that are shown of a long list.
const TOLD: usize = 8;

/// Checks the bytes of the file.
pub(super) fn examine(
    file: &StateFileContent<'_>,
    bytes: &[u8],
    known: &VerifyContext<'_>,
) -> Examined {
    let loaded = DeviceCheckpoint::parse(bytes);
    let (derivation, error) = match &loaded {
        Ok(loaded) => {
            let mut text = Beginning(String::new());
            loaded.checkpoint.pre_image(&mut text);
            let derivation = format!(
                "checksum {} of {}, file says {}",
                loaded.checksum_computed,
                beginning(&text.0),
                loaded.checksum_in_file
            );
            (derivation, None)
        }
        Err(error) => (error.to_string(), Some(error.to_string())),
    };
    let mut fact = CheckpointFact::of_parsed(bytes, loaded);
    fact.read_by(known.version.unwrap_or(KubeletVersion::ASSUMED));
    let mut examined = examine_stored(file, &fact, known);
    let verdict = &mut examined.verdict;
    if verdict.verdict == Verdict::Discarded && !fact.is_old_layout {
        let error = error.map(|error| located(bytes, &error));
        let damage = Damage::of(StateFile::Devices, bytes, error, DeviceCheckpoint::is_taken);
        verdict.damaged(match (damage, fact.checksum_in_file) {
            (Damage::Edited, Some(0)) => Damage::NoChecksum,
            (damage, _) => damage,
        });
    }
    verdict.derivation.push(derivation);
    examined
}

/// Names the entry that cannot be read; the kubelet's error does not.
fn located(bytes: &[u8], error: &str) -> String {
    let entries = salvage(bytes, KubeletVersion::ASSUMED).entries;
    let bad = entries.iter().enumerate().find_map(|(at, (entry, why_not))| match why_not {
        Some(Unsound::Unreadable(GoJsonError::Type(error))) => Some((at, entry, error)),
        _ => None,
    });
    let Some((at, entry, problem)) = bad else { return error.to_owned() };
    let names = [&entry.pod_uid, &entry.container_name, &entry.resource_name];
    let [pod, container, resource] =
        names.map(|name| if name.is_empty() { "?" } else { name.as_str() });
    let number = match names.iter().any(|name| name.is_empty()) {
        true => format!("PodDeviceEntries[{at}] "),
        false => String::new(),
    };
    let place = format!("{number}{pod}/{container}/{resource}");
    match problem {
        TypeError::Base64(_) => format!("AllocResp of {place}: {error}"),
        TypeError::Mismatch { .. } => format!("the entry {place}: {error}"),
    }
}

/// The beginning of a text that may be very long.
struct Beginning(String);

impl kq_facts::checkpoint::go_dump::PreImage for Beginning {
    fn push(&mut self, piece: &str) {
        if self.0.len() < 1_000 {
            self.0.push_str(piece);
        }
    }
}

/// Checks a valid file.
pub(super) fn examine_stored(
    file: &StateFileContent<'_>,
    fact: &CheckpointFact,
    known: &VerifyContext<'_>,
) -> Examined {
    let mut verdict = FileVerdict::of(file);
    if fact.absent {
        verdict.verdict = Verdict::Absent;
        verdict.at_next_start = NextStart::StartsWithoutDevices.into();
        return Examined { verdict, findings: Vec::new(), held: Held::Nothing };
    }
    verdict.checksum_in_file = fact.checksum_in_file;
    verdict.checksum_computed = fact.checksum_computed;
    // Unrecognised content has no layout.
    let has_any = !fact.entries.is_empty() || !fact.registered.is_empty();
    verdict.layout = match fact.is_old_layout {
        true => Some("up to 1.19".to_owned()),
        false => (has_any || fact.error.is_none()).then(|| "1.20 and later".to_owned()),
    };
    if let Some(error) = &fact.error {
        verdict.advice = Some(if fact.entries.is_empty() { LOST } else { DISCARDED }.to_owned());
        verdict.verdict = Verdict::Discarded;
        verdict.kubelet_error = Some(error.clone());
        verdict.at_next_start = NextStart::ForgetsDevices.into();
        if fact.is_old_layout {
            verdict.damaged(Damage::OldLayout { written_by: "a kubelet of 1.19 or older" });
        }
    }
    let mut findings = Findings::of(&file.path);
    // What is left of a file says nothing of what was in it.
    if fact.is_partial {
        return Examined { verdict, findings: findings.into_vec(), held: Held::Pods(Vec::new()) };
    }
    contradictions(fact, known, &mut findings);
    let pods: BTreeSet<&String> = fact.entries.iter().map(|entry| &entry.pod_uid).collect();
    let held = Held::Pods(pods.into_iter().cloned().collect());
    Examined::of(verdict, findings, held)
}

fn contradictions(fact: &CheckpointFact, known: &VerifyContext<'_>, findings: &mut Findings<'_>) {
    let mut seen = BTreeSet::new();
    for (at, entry) in fact.entries.iter().enumerate() {
        let place = place(at, entry);
        if !seen.insert((&entry.pod_uid, &entry.container_name, &entry.resource_name)) {
            findings.add(&place, &DeviceRule::DuplicateEntry);
        }
        if let PluginAnswer::Undecodable(error) = &entry.answer {
            findings.add(&place, &DeviceRule::UndecodableAnswer { error });
        }
        if entry.device_ids.ids().next().is_none() {
            findings.add(&place, &DeviceRule::NoIds);
        }
        for node in entry.device_ids.nodes().filter(|node| *node < -1) {
            findings.add(&place, &DeviceRule::NumaNumber { node });
        }
        for (field, value) in [("PodUID", &entry.pod_uid), ("ContainerName", &entry.container_name)]
        {
            if value.is_empty() {
                findings.add(&place, &DeviceRule::NoOwner { field });
            }
        }
    }
    let of_entries = fact.entries.iter().map(|entry| &entry.resource_name);
    let resources: BTreeSet<&String> = of_entries.chain(fact.registered.keys()).collect();
    for resource in resources {
        if let Err(error) = check_registration("v1beta1", resource) {
            let error = error.to_string();
            findings.add(shown(resource), &DeviceRule::ResourceName { error });
        }
    }
    numa_nodes(fact, findings);
    not_registered(fact, findings);
    doubles(fact, known, findings);
}

/// Returns where an entry is: whose it is, and its number in the list where it does not say.
fn place(at: usize, entry: &CheckpointEntry) -> String {
    let names = [&entry.pod_uid, &entry.container_name, &entry.resource_name];
    let [pod, container, resource] = names.map(|text| shown(text));
    let whose = format!("{pod}/{container} {resource}");
    match names.iter().any(|name| name.is_empty()) {
        true => format!("PodDeviceEntries[{at}] {whose}"),
        false => whose,
    }
}

/// Returns a name, or that it is empty.
fn shown(name: &str) -> &str {
    if name.is_empty() { "\"\"" } else { name }
}

/// Finds devices that stand under other NUMA nodes in other entries.
fn numa_nodes(fact: &CheckpointFact, findings: &mut Findings<'_>) {
    // One list of all devices, because there may be 100,000.
    let mut places: Vec<(&str, &str, usize, i64)> = Vec::new();
    for (at, entry) in fact.entries.iter().enumerate() {
        for (node, ids) in entry.device_ids.iter() {
            places.extend(ids.iter().map(|id| (&*entry.resource_name, &**id, at, node)));
        }
    }
    places.sort();
    for of_device in places.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1)) {
        let (resource, id, first, _) = of_device[0];
        if of_device.iter().all(|(_, _, at, _)| *at == first) {
            continue;
        }
        let of_entries = of_device.chunk_by(|left, right| left.2 == right.2);
        let nodes: BTreeSet<Vec<i64>> =
            of_entries.map(|of_entry| of_entry.iter().map(|place| place.3).collect()).collect();
        if nodes.len() < 2 {
            continue;
        }
        let place = format!("{} {}", shown(resource), shown(id));
        findings.add(place, &DeviceRule::NumaNodes { nodes });
    }
}

/// Finds devices in use that were not healthy when the file was written.
fn not_registered(fact: &CheckpointFact, findings: &mut Findings<'_>) {
    let mut in_use: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in &fact.entries {
        let ids = entry.device_ids.ids().map(String::as_str);
        in_use.entry(&entry.resource_name).or_default().extend(ids);
    }
    for (resource, mut ids) in in_use {
        // There may be a hundred thousand of them.
        for healthy in fact.registered.get(resource).into_iter().flatten() {
            ids.remove(healthy.as_str());
        }
        if ids.is_empty() {
            continue;
        }
        let more = ids.len().saturating_sub(TOLD);
        let devices = ids.into_iter().take(TOLD).collect();
        let place = format!("RegisteredDevices.{}", shown(resource));
        findings.add(place, &DeviceRule::NotRegistered { devices, more });
    }
}

/// Finds devices that two containers have which may not share. Of a pod, an init container that is no
/// sidecar leaves its devices to those after it.
fn doubles(fact: &CheckpointFact, known: &VerifyContext<'_>, findings: &mut Findings<'_>) {
    // One list of all devices, because there may be 100,000.
    let mut held: Vec<(&str, &str, &str, &str)> = Vec::new();
    for entry in &fact.entries {
        let (pod, container) = (&*entry.pod_uid, &*entry.container_name);
        let ids = entry.device_ids.ids();
        held.extend(ids.map(|id| (&*entry.resource_name, &**id, pod, container)));
    }
    held.sort();
    held.dedup();
    let standing = |pod: &str| known.pods.map(|pods| pods.standing(pod));
    let has_ended =
        |pod: &str| matches!(standing(pod), Some(Standing::Gone(_) | Standing::Ended(_)));
    let is_active = |pod: &&str| matches!(standing(pod), Some(Standing::Active(_)));
    let of_devices = held.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1));
    let mut keepers_of_pods: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for of_device in of_devices.filter(|holders| holders.len() > 1) {
        let (resource, id, ..) = of_device[0];
        let owners: BTreeSet<(&str, &str)> =
            of_device.iter().map(|(_, _, pod, container)| (*pod, *container)).collect();
        let all: BTreeSet<&str> = owners.iter().map(|(pod, _)| *pod).collect();
        let pods: BTreeSet<&str> = all.into_iter().filter(|pod| !has_ended(pod)).collect();
        let told = owners.iter().take(TOLD);
        let containers: Vec<String> =
            told.map(|(pod, name)| format!("{}/{}", shown(pod), shown(name))).collect();
        let place = format!("{} {}", shown(resource), shown(id));
        if pods.len() > 1 {
            let (count, are_active) = (pods.len(), pods.iter().all(is_active));
            let holders = Holders::Pods { count, containers, are_active };
            findings.add(place, &DeviceRule::Double { holders });
            continue;
        }
        let Some(pod) = pods.first() else { continue };
        let spec = known.pods.and_then(|known| known.get(pod));
        let mine = owners.iter().filter(|(owner, _)| owner == pod).map(|(_, name)| *name);
        let keepers: Option<Vec<&str>> = spec.map(|spec| {
            let keepers = keepers_of_pods.entry(pod).or_insert_with(|| keepers_of(spec));
            mine.filter(|name| keepers.contains(name)).collect()
        });
        match keepers {
            Some(keepers) if keepers.len() > 1 => {
                let holders = Holders::Containers { pod, containers: keepers };
                findings.add(place, &DeviceRule::Double { holders });
            }
            Some(_) => {}
            None => findings.add(place, &DeviceRule::SharedInPod { containers }),
        }
    }
}

/// Returns the containers of a pod that keep their devices: containers, and sidecars. One that is not in the pod does
/// not count.
fn keepers_of(pod: &Pod) -> BTreeSet<&str> {
    let sidecars = pod.spec.sidecars();
    pod.spec.containers.iter().chain(sidecars).map(|container| container.name.as_str()).collect()
}

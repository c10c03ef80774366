//! Applies changes to the facts of a node.

use super::state::NodeState;
use crate::question::measured::stats;
use crate::what_if::change::{Change, Resize, TaintChange};
use anyhow::{Context, anyhow};
use kq_admission::qualified;
use kq_answer::origin::Origin;
use kq_answer::{Basis, Failure, Missing, MissingFact, Warning, WarningCode};
use kq_facts::checkpoint::StateFile;
use kq_facts::config_on_disk::{ConfigContent, ConfigText};
use kq_facts::devices::CheckpointFact;
use kq_facts::host::Text;
use kq_facts::kubelet_config::{Source, field_names, field_of_part, other_defaults, path_parts};
use kq_facts::kubelet_process::{ArgumentFault, KubeletProcess, as_typed};
use kq_facts::lookup::Lookup;
use kq_facts::node_object::{NodeObject, NodeTaint};
use kq_facts::pod_selector::{PodSelector, nearest_pod, several_pods};
use kq_facts::redaction::redact_pods;
use kq_facts::runtime::{ContainerState, DriverBy, LowLevelRuntime};
use kq_facts::settings::{assign, assign_gates, settings_of};
use kq_facts::snapshot::{RecordedPods, Snapshot};
use kq_facts::state_files::STATE_FILES;
use kq_facts::stats_summary::FsStats;
use kq_facts::workloads::pod_id;
use kq_k8s::manifest::{LoadedPod, Workload};
use kq_k8s::nearest::nearest;
use kq_k8s::pod::{Annotations, Container, Pod, PodStatus, ResourceName, ResourceRequirements};
use kq_k8s::priority::{is_mirror_pod, is_static_pod};
use kq_k8s::qos::computed_qos_class;
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::KubeletVersion;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The checkpoint of the device manager.
const DEVICE_CHECKPOINT: &str = "device-plugins/kubelet_internal_checkpoint";

/// The resources that the kubelet allocated to pods.
pub(super) const ALLOCATED: &str = StateFile::AllocatedPods.name();

/// The content of the files that changes name.
#[derive(Clone, Debug, Default)]
pub struct ChangeFiles {
    /// The configuration of `config FILE`.
    pub config: Option<ConfigContent>,
    /// Its fields go over the configuration of the node, and do not replace it.
    pub is_config_partial: bool,
    /// The pods of each `add FILE`.
    pub pods: BTreeMap<String, Vec<LoadedPod>>,
    /// What was noticed in these files.
    pub notes: Vec<String>,
}

impl ChangeFiles {
    /// Removes possible secrets, for an answer that is passed on.
    pub fn redact(&mut self) {
        self.config.iter_mut().for_each(ConfigContent::redact);
        self.pods.values_mut().for_each(|pods| redact_pods(pods));
    }
}

/// Says that a workload has more pods than the one that is added, or none.
fn others_of(workload: &Workload) -> Option<Warning> {
    let replicas = workload.replicas.filter(|replicas| *replicas != 1)?;
    let Workload { kind, name, .. } = workload;
    let text = match replicas {
        0 => {
            let field = workload.field();
            format!(
                "{kind} {name} makes no pod ({field}: 0): one is added, as if it had {field}: 1"
            )
        }
        _ => format!("{kind} {name} has {replicas} pods: one is added to this node"),
    };
    Some(Warning::new(WarningCode::PodManifest, text).about(name))
}

/// Changes the version of a node's containerd, wherever the node reports it.
fn update_containerd(
    change: &Change,
    snapshot: &mut Snapshot,
    version: &str,
) -> Result<(), Failure> {
    let other = |name: &str| {
        let error = anyhow!("{change}: the container runtime of the node is {name}");
        Err(Failure::usage(error).hint("leave the change out".to_owned()))
    };
    let reported = snapshot.node.found.as_mut();
    let reported = reported.map(|it| &mut it.value.status.node_info.container_runtime_version);
    let reported = reported.filter(|it| !it.is_empty());
    match (&mut snapshot.runtime.found, &reported) {
        (Some(runtime), _) if runtime.value.version.runtime_name != "containerd" => {
            return other(&runtime.value.version.runtime_name);
        }
        (None, Some(reported)) if !reported.starts_with("containerd://") => {
            return other(reported);
        }
        (None, None) => {
            let take = "take a snapshot as root on the node";
            return Err(lacks(change, "the container runtime is unknown", take));
        }
        (Some(runtime), _) => {
            runtime.value.version.runtime_version = version.to_owned();
            // Since 2.0 it answers RuntimeConfig.
            let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
            runtime.value.driver_by = Some(match major {
                Some(2..) => DriverBy::RuntimeConfig,
                _ => DriverBy::Configuration,
            });
        }
        (None, Some(_)) => {}
    }
    if let Some(reported) = reported {
        *reported = format!("containerd://{version}");
    }
    Ok(())
}

/// Fails for a fact that a change needs and the node lacks.
fn lacks(change: &Change, what: &str, flag: &str) -> Failure {
    Failure::missing(anyhow!("{change}: {what}")).hint(flag.to_owned())
}

/// Changes the facts of a node; returns the identity of the pod that is to be resized. `before`: the node before all changes.
///
/// # Errors
///
/// Fails for a pod, device, resource or file that the node does not have, and for values that no field accepts.
pub fn apply(
    before: &NodeState,
    state: &mut NodeState,
    change: &Change,
    files: &ChangeFiles,
    basis: &mut Basis,
) -> Result<Option<String>, Failure> {
    match change {
        Change::KubeletRestart { .. } | Change::RuntimeRestart => {}
        Change::Reboot => stop_containers(&mut state.snapshot),
        Change::KubeletVersion(version) => {
            if let Ok(before) = state.node() {
                let before = before.kubelet.version;
                for field in forget_defaults(state, before, *version) {
                    basis.assume(format!(
                        "{field} is not set: /configz reports the default of {before} for it \
                         (--kubelet-config FILE has only set fields)"
                    ));
                }
            }
            state.overrides.kubelet.version = Some(*version);
        }
        Change::Runtime { name, version } if name == "containerd" => {
            update_containerd(change, &mut state.snapshot, version)?;
        }
        Change::Runtime { name, version } => {
            state.overrides.runtime_weight_formula = None;
            state.overrides.runtime = Some(format!("{name}={version}"));
            if let Some(runtime) = &mut state.snapshot.runtime.found {
                let low_level = LowLevelRuntime {
                    name: name.clone(),
                    version: version.clone(),
                    ..LowLevelRuntime::default()
                };
                runtime.value.low_level = Lookup::found(change.to_string(), low_level);
            }
        }
        Change::RuntimeDriver(driver) => {
            let runtime = state.snapshot.runtime.found.as_mut().ok_or_else(|| {
                lacks(
                    change,
                    "the container runtime is unknown",
                    "take a snapshot as root on the node",
                )
            })?;
            runtime.value.cgroup_driver = Lookup::found(change.to_string(), *driver);
        }
        Change::Kernel(version) => {
            stop_containers(&mut state.snapshot);
            state.overrides.cgroup_version = Some(*version);
        }
        Change::Config { file } => {
            let path =
                state.on_disk.file.as_ref().map_or_else(|| file.clone(), |it| it.path.clone());
            let content = files.config.clone().unwrap_or(ConfigContent::Empty);
            if files.is_config_partial {
                // As the kubelet merges a file of its folder.
                state.on_disk.drop_ins.push(ConfigText { path: file.clone(), content });
            } else {
                state.on_disk.file = Some(ConfigText { path, content });
                state.new_config = Some(file.clone());
                state.has_assumed_config = false;
                state.overrides.assumed_config = None;
            }
        }
        Change::Set { field, value } => {
            let (parts, _) = path_parts(field);
            let name = parts.first().copied().unwrap_or_default();
            known_field(change, name)?;
            if let Some(settings) = settings_of(field, value) {
                let error = anyhow!("{change}: expected FIELD=VALUE for each setting");
                let hint = settings.join(" set ");
                return Err(Failure::usage(error).hint(format!("kq what-if set {hint}")));
            }
            let mut is_yaml = Ok(());
            state.on_disk.edit(name, |config| {
                is_yaml = assign(config, field, value, Origin::Flag("set"));
            });
            is_yaml
                .with_context(|| format!("{change}: the value is not YAML"))
                .map_err(Failure::usage)?;
        }
        Change::Flags(words) => flags(state, words, basis),
        Change::FeatureGates(gates) => {
            let origin = Origin::Flag("feature-gates");
            state
                .on_disk
                .edit("featureGates", |config| assign_gates(config, gates.clone(), &origin));
        }
        Change::Add { file, is_static } => {
            let mut pods = files.pods.get(file).cloned().unwrap_or_default();
            let name = node(state, change)?.metadata.name.clone();
            for loaded in &mut pods {
                basis.warn_all(loaded.source.workload.iter().filter_map(others_of));
                if !is_static && loaded.source.workload.is_none() {
                    check_new(state, change, &loaded.pod, &name)?;
                }
                arrive(&mut loaded.pod, &name, *is_static);
                let old = before.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
                loaded.pod.metadata.create_after(old.map(|it| &it.pod.metadata));
                if *is_static {
                    replace_static(state, change, &loaded.pod)?;
                }
            }
            self::pods(state, change)?.pods.extend(pods);
        }
        Change::Remove { pod } => {
            let uid = pod_of(state, change, pod)?;
            let all = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
            let own = all.map(|it| &*it.pod).find(|it| pod_id(it) == uid);
            if let Some(own) = own.filter(|it| is_static_or_mirror(it)) {
                let name = qualified(own);
                let text = format!(
                    "{name} is a static pod: it ends when its manifest is removed; the kubelet makes a mirror pod that is \
                     deleted again"
                );
                basis.warn(Warning::new(WarningCode::PodManifest, text).about(name));
            }
            remove(state, change, &uid)?;
        }
        Change::Resize(it) => return resize(state, change, it).map(Some),
        Change::Label { key, value } => {
            let labels = &mut node(state, change)?.metadata.labels;
            match value {
                Some(value) => _ = labels.insert(key.clone(), value.clone()),
                None if labels.remove(key).is_none() => {
                    let near = nearest(key, labels.keys().map(String::as_str)).map(str::to_owned);
                    let failure = Failure::usage(anyhow!("{change}: the node has no label {key}"));
                    return Err(failure.meant(near));
                }
                None => {}
            }
        }
        Change::Taint(taint) => self::taint(node(state, change)?, change, taint)?,
        Change::DeviceGone { id } => device_gone(state, change, id)?,
        Change::PluginGone { resource } => plugin_gone(state, change, resource)?,
        Change::Disk { used_percent } => disk(state, change, *used_percent)?,
        Change::MemoryAvailable { bytes } => {
            let found = state.node().ok().and_then(|node| stats(&node).cloned());
            state.snapshot.stats_summary.found = found;
            let memory = state.snapshot.stats_summary.found.as_mut();
            let memory = memory.and_then(|found| found.value.node.memory.as_mut());
            let memory = memory.ok_or_else(|| {
                lacks(
                    change,
                    "the kubelet's measurement of memory is unknown",
                    "take a snapshot as root on the node",
                )
            })?;
            let bytes = u64::try_from(*bytes).unwrap_or(0);
            let most = state.snapshot.node.value().and_then(|node| {
                let capacity = node.status.capacity.get(&ResourceName::Memory)?;
                u64::try_from(capacity.value()).ok()
            });
            if let Some(most) = most.filter(|most| bytes > *most) {
                let most = kq_output::units::bytes(most);
                return Err(Failure::usage(anyhow!("{change}: the node has {most} of memory")));
            }
            // The capacity, of which thresholds are percentages, is the sum of both (`makeMemoryAvailableSignalObservation`).
            let before = memory.available_bytes.replace(bytes);
            memory.working_set_bytes = before
                .zip(memory.working_set_bytes)
                .map(|(available, used)| available.saturating_add(used).saturating_sub(bytes));
        }
        Change::StateFile { name, is_damaged } => state_file(state, name, *is_damaged)?,
    }
    Ok(None)
}

/// Removes from `/configz` the defaults of its version, where those of another
/// version differ. Returns the fields.
fn forget_defaults(state: &mut NodeState, from: KubeletVersion, to: KubeletVersion) -> Vec<String> {
    if state.knows_files() || state.read_as() != Some(Source::Configz) {
        return Vec::new();
    }
    let file = state.on_disk.file.as_mut().map(|file| &mut file.content);
    let Some(ConfigContent::Document { value, .. }) = file else { return Vec::new() };
    let Value::Object(fields) = Arc::make_mut(value) else { return Vec::new() };
    let is_default = |field: &str, default: &str| {
        let default = serde_json::from_str::<Value>(default).ok();
        fields.get(field).is_some_and(|value| Some(value) == default.as_ref())
    };
    let other = other_defaults(from, to).filter(|(field, default)| is_default(field, default));
    let forgotten: Vec<String> = other.map(|(field, _)| field.to_owned()).collect();
    for field in &forgotten {
        fields.remove(field);
    }
    forgotten
}

/// Stops every container, in each source of running containers: after a boot the runtime lists none that runs.
pub fn stop_containers(snapshot: &mut Snapshot) {
    if let Some(files) = &mut snapshot.start_files.found {
        files.value.forget_sockets();
    }
    for loaded in snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods) {
        stop_reported(&mut loaded.pod.status);
    }
    let Some(runtime) = &mut snapshot.runtime.found else { return };
    for container in runtime.value.containers.found.iter_mut().flat_map(|found| &mut *found.value) {
        if container.state == ContainerState::Running {
            container.state = ContainerState::Exited;
        }
    }
    for sandbox in runtime.value.sandboxes.found.iter_mut().flat_map(|found| &mut *found.value) {
        sandbox.ready = false;
    }
}

/// Stops the containers of a pod's status, which counts where the runtime did not answer.
fn stop_reported(status: &mut PodStatus) {
    let statuses = status.containers_and_init_mut();
    for container in statuses {
        container.state.running = None;
    }
    let names_none =
        status.container_statuses.is_empty() && status.init_container_statuses.is_empty();
    if names_none && matches!(status.phase.as_str(), "" | "Running") {
        "Pending".clone_into(&mut status.phase);
    }
}

/// Adds flags to the kubelet's command line; each replaces those of the same name. What they name is not read.
fn flags(state: &mut NodeState, words: &[String], basis: &mut Basis) {
    let new = as_typed(words);
    let before = state.on_disk.process.as_ref().map(KubeletProcess::interpreted);
    let before = before.unwrap_or_default();
    let read = state.on_disk.file.as_ref().map(|file| file.path.clone());
    let named = |name: &str, before: Option<String>| {
        let flag = new.flags.iter().rfind(|flag| flag.name == name)?;
        flag.value.clone().filter(|path| Some(path) != before.as_ref())
    };
    let config = named("config", before.config.or(read)).map(|path| match &*path {
        "" => "the configuration of a kubelet without a configuration file".to_owned(),
        path => {
            format!("what {path} says: kq does not read the configuration file that flags name")
        }
    });
    let drop_ins = named("config-dir", before.config_dir).map(|path| match &*path {
        "" => "the configuration of a kubelet without drop-in files".to_owned(),
        path => {
            format!("what the files in {path} say: kq does not read the folder that flags name")
        }
    });
    for text in config.into_iter().chain(drop_ins) {
        let missing = Missing::new(MissingFact::KubeletConfig, text.clone());
        basis.lack(missing.with_flags(["--kubelet-config"]));
        state.unread.push(text);
    }
    if let Some(folder) = named("root-dir", before.root_dir)
        && let Some(known) = &mut state.snapshot.state_files
    {
        for text in known.files.values_mut() {
            *text = Text::Unreadable(format!("kq does not read {folder}"));
        }
        known.folder = folder;
    }
    match &mut state.on_disk.process {
        Some(process) => {
            process.flags.retain(|flag| new.flags.iter().all(|it| it.name != flag.name));
            let before = process.flags.len();
            let faults = new.faults.into_iter();
            process
                .faults
                .extend(faults.map(|fault| ArgumentFault { after: before + fault.after, ..fault }));
            process.flags.extend(new.flags);
        }
        None => state.on_disk.process = Some(KubeletProcess { is_partial: true, ..new }),
    }
}

/// Rejects a field that no version has: the kubelet would ignore it in a file.
fn known_field(change: &Change, name: &str) -> Result<(), Failure> {
    if field_names().any(|known| known == name) {
        return Ok(());
    }
    let failure = Failure::usage(anyhow!("{change}: KubeletConfiguration has no field {name}"));
    Err(failure.meant(nearest(name, field_names()).or_else(|| field_of_part(name))))
}

fn node<'s>(state: &'s mut NodeState, change: &Change) -> Result<&'s mut NodeObject, Failure> {
    let found = state.snapshot.node.found.as_mut().map(|found| &mut found.value);
    found
        .ok_or_else(|| lacks(change, "the Node object is unknown", "name it with --node-file FILE"))
}

fn pods<'s>(state: &'s mut NodeState, change: &Change) -> Result<&'s mut RecordedPods, Failure> {
    let found = state.snapshot.pods.found.as_mut().map(|found| &mut found.value);
    found.ok_or_else(|| {
        lacks(change, "the pods of the node are unknown", "name them with --pods FILE")
    })
}

fn pod_of(state: &NodeState, change: &Change, name: &str) -> Result<String, Failure> {
    let all = || state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods).map(|it| &*it.pod);
    let selector = PodSelector::new(name);
    let matches = |pod: &&Pod| selector.is_of(pod);
    let mut found = all().filter(matches);
    match (found.next(), found.next()) {
        (Some(pod), None) => Ok(pod_id(pod)),
        (Some(_), Some(_)) => {
            Err(several_pods(&format!("{change}: {name}"), all().filter(matches)))
        }
        (None, _) => {
            let unknown = state.node().ok().and_then(|node| node.unknown_pods());
            let unknown = unknown.map(|it| it.text);
            let error = anyhow!("{change}: no pod {name} on this node");
            let failure = Failure::not_found(error, unknown.as_deref());
            Err(match nearest_pod(name, all()) {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint("kq cgroup show lists the pods of the node"),
            })
        }
    }
}

/// Refuses a pod that the API server would not create, or that it binds to another node.
fn check_new(state: &NodeState, change: &Change, new: &Pod, node: &str) -> Result<(), Failure> {
    let (namespace, name) = (&new.metadata.namespace, &new.metadata.name);
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let bound_to = &new.spec.node_name;
    if !bound_to.is_empty() && bound_to != node {
        let error = anyhow!(
            "{change}: {namespace}/{name} is bound to {bound_to} (spec.nodeName), not to {node}"
        );
        return Err(Failure::usage(error).hint("remove spec.nodeName to add it to this node"));
    }
    let mut all = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
    let is_same = |it: &LoadedPod| {
        it.pod.metadata.namespace == *namespace && it.pod.metadata.name == *name && !name.is_empty()
    };
    match all.any(is_same) {
        true => Err(Failure::usage(anyhow!("{change}: {namespace}/{name} is on the node already"))
            .hint(format!("to replace it: kq what-if remove {namespace}/{name} {change}"))),
        false => Ok(()),
    }
}

/// Removes a pod from the node, with its sandboxes and containers.
fn remove(state: &mut NodeState, change: &Change, uid: &str) -> Result<(), Failure> {
    pods(state, change)?.pods.retain(|it| pod_id(&it.pod) != uid);
    let Some(runtime) = &mut state.snapshot.runtime.found else { return Ok(()) };
    if let Some(containers) = &mut runtime.value.containers.found {
        containers.value.retain(|container| container.pod_uid != uid);
    }
    if let Some(sandboxes) = &mut runtime.value.sandboxes.found {
        sandboxes.value.retain(|sandbox| sandbox.uid != uid);
    }
    Ok(())
}

/// Removes the static pod of which a manifest takes the place: the kubelet runs one pod of a name
/// (`allowStaticPodStart`, `pkg/kubelet/pod_workers.go`).
fn replace_static(state: &mut NodeState, change: &Change, new: &Pod) -> Result<(), Failure> {
    let is_old = |old: &Pod| is_static_or_mirror(old) && qualified(old) == qualified(new);
    let all = pods(state, change)?.pods.iter().map(|loaded| &*loaded.pod);
    let old: Vec<String> = all.filter(|pod| is_old(pod)).map(pod_id).collect();
    old.iter().try_for_each(|uid| remove(state, change, uid))
}

/// Returns true for a static pod, also as the mirror pod that stands for it.
pub(super) fn is_static_or_mirror(pod: &Pod) -> bool {
    is_static_pod(pod) || is_mirror_pod(pod)
}

/// Turns the pod of a file into one that is bound to the node.
fn arrive(pod: &mut Pod, node: &str, is_static: bool) {
    pod.metadata.deletion_timestamp = None;
    pod.status = Default::default();
    pod.status.phase = "Pending".to_owned();
    if pod.metadata.namespace.is_empty() {
        pod.metadata.namespace = "default".to_owned();
    }
    if is_static {
        pod.metadata.name = format!("{}-{}", pod.metadata.name, node.to_lowercase());
    }
    pod.metadata.uid = format!("kq-{}-{}", pod.metadata.namespace, pod.metadata.name);
    // What a manifest says of its origin, the API server and the kubelet replace.
    pod.metadata.annotations = Annotations::default();
    if is_static {
        let annotations = &mut pod.metadata.annotations;
        annotations.config_source = Some("file".to_owned());
        annotations.config_hash = Some(pod.metadata.uid.clone());
    }
    node.clone_into(&mut pod.spec.node_name);
}

/// Removes the allocation from the pods' statuses: a starting kubelet does not read it.
fn forget_reported(state: &mut NodeState) {
    for loaded in state.snapshot.pods.found.iter_mut().flat_map(|it| &mut it.value.pods) {
        let status = &mut loaded.pod.status;
        (status.allocated_resources, status.resources) = (None, None);
        status.conditions.retain(|it| !it.kind.starts_with("PodResize"));
        for it in status.containers_and_init_mut() {
            (it.allocated_resources, it.resources) = (None, None);
        }
    }
}

fn taint(node: &mut NodeObject, change: &Change, taint: &TaintChange) -> Result<(), Failure> {
    let taints = &mut node.spec.taints;
    let is_it = |it: &NodeTaint| {
        it.key == taint.key && (taint.effect.is_empty() || it.effect == taint.effect)
    };
    let count = taints.len();
    taints.retain(|it| !is_it(it));
    if taint.is_removed {
        return match taints.len() < count {
            true => Ok(()),
            false => Err(Failure::usage(anyhow!("{change}: the node does not have this taint"))),
        };
    }
    taints.push(NodeTaint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
    });
    Ok(())
}

fn device_gone(state: &mut NodeState, change: &Change, id: &str) -> Result<(), Failure> {
    let Some(devices) = state.snapshot.devices.as_mut().filter(|it| it.lists_devices()) else {
        let failure =
            lacks(change, "the devices of the node are unknown", "run as root on the node");
        return Err(failure.hint("or name them: --devices FILE"));
    };
    let listed = devices.listed();
    // A device that is shared is listed several times, as ID::0, ID::1 and so on.
    let replica = format!("{id}::");
    let is_listed = listed.values().any(|ids| ids.contains(id));
    let is_it = |it: &str| it == id || !is_listed && it.starts_with(&replica);
    let mut gone = BTreeMap::new();
    for (resource, ids) in &listed {
        let count = ids.iter().filter(|it| is_it(it)).count();
        if count > 0 {
            gone.insert(resource.clone(), i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
    if gone.is_empty() {
        let all = listed.values().flatten().map(String::as_str);
        let failure = Failure::usage(anyhow!("{change}: no plugin lists such a device"));
        return Err(failure.meant(nearest(id, all)));
    }
    devices.unlist(is_it);
    let Ok(node) = node(state, change) else { return Ok(()) };
    for (resource, gone) in gone {
        let name = ResourceName::from(resource.as_str());
        if let Some(count) = node.status.allocatable.get(&name).map(|count| count.value()) {
            let left = count.saturating_sub(gone).max(0);
            let count = Quantity::from_units(left, Format::DecimalSi);
            node.status.allocatable.insert(name.clone(), count.clone());
            node.status.capacity.insert(name, count);
        }
    }
    Ok(())
}

fn plugin_gone(state: &mut NodeState, change: &Change, resource: &str) -> Result<(), Failure> {
    let name = ResourceName::from(resource);
    let node = node(state, change)?;
    let zero = || Quantity::from_units(0, Format::DecimalSi);
    if !node.status.capacity.contains(&name) {
        let all: Vec<String> =
            node.status.capacity.iter().map(|(name, _)| name.to_string()).collect();
        let failure = Failure::usage(anyhow!("{change}: the node does not have this resource"));
        return Err(failure.meant(nearest(resource, all.iter().map(String::as_str))));
    }
    node.status.allocatable.insert(name, zero());
    Ok(())
}

/// Fills the file systems of the kubelet and the images up to a share.
fn disk(state: &mut NodeState, change: &Change, used_percent: u8) -> Result<(), Failure> {
    let fill = |fs: &mut FsStats| {
        let Some(capacity) = fs.capacity_bytes else { return false };
        let used = capacity / 100 * u64::from(used_percent);
        fs.used_bytes = Some(used);
        fs.available_bytes = Some(capacity.saturating_sub(used));
        true
    };
    let mut is_known = false;
    if let Some(summary) = &mut state.snapshot.stats_summary.found {
        let node = &mut summary.value.node;
        let runtime = node.runtime.iter_mut();
        let of_runtime = runtime.flat_map(|it| it.image_fs.iter_mut().chain(&mut it.container_fs));
        for fs in node.fs.iter_mut().chain(of_runtime) {
            is_known |= fill(fs);
        }
    }
    for folder in state.snapshot.folders.values_mut() {
        if let Some(found) = &mut folder.filesystem.found {
            let fs = &mut found.value;
            let free = fs.capacity_bytes - fs.capacity_bytes / 100 * u64::from(used_percent);
            (fs.free_bytes, fs.available_bytes) = (free, free);
            is_known = true;
        }
    }
    match is_known {
        true => Ok(()),
        false => Err(lacks(
            change,
            "no file system of the node is known",
            "run as root on the node, or take a snapshot there",
        )),
    }
}

fn state_file(state: &mut NodeState, name: &str, is_damaged: bool) -> Result<(), Failure> {
    if name == "kubelet_internal_checkpoint" || name == DEVICE_CHECKPOINT {
        let devices = state.snapshot.devices.get_or_insert_default();
        let fact = match is_damaged {
            true => CheckpointFact::read(b"{\"Data\":"),
            false => CheckpointFact { absent: true, ..Default::default() },
        };
        let source = devices.checkpoint.found.take().map(|found| found.source);
        let source = source.unwrap_or_else(|| "the change".to_owned());
        devices.checkpoint = Lookup::found(source, fact);
        return Ok(());
    }
    if !STATE_FILES.contains(&name) {
        let failure = Failure::usage(anyhow!("state-file: the kubelet has no file {name}"));
        let names = STATE_FILES.into_iter().chain(["kubelet_internal_checkpoint"]);
        return Err(match nearest(name, names.clone()) {
            Some(near) => failure.hint(format!("did you mean {near}?")),
            None => failure.hint(format!("the files: {}", names.collect::<Vec<_>>().join(", "))),
        });
    }
    let files = state.snapshot.state_files.get_or_insert_default();
    if files.folder.is_empty() {
        files.folder = "/var/lib/kubelet".to_owned();
    }
    let text = match (is_damaged, files.files.get(name)) {
        (false, _) => Text::Absent,
        // Half of the text, like an interrupted write.
        (true, Some(Text::Read(text))) => {
            Text::Read(text.chars().take(text.chars().count() / 2).collect())
        }
        (true, _) => Text::Read("garbage".to_owned()),
    };
    files.files.insert(name.to_owned(), text);
    if name == ALLOCATED && !is_damaged {
        forget_reported(state);
    }
    Ok(())
}

/// Puts new resources into the spec of a pod, and returns the identity of the pod.
fn resize(state: &mut NodeState, change: &Change, resize: &Resize) -> Result<String, Failure> {
    let uid = pod_of(state, change, &resize.pod)?;
    let gates = state.node()?.kubelet.rules.gates;
    let all = &mut pods(state, change)?.pods;
    let pod = all.iter_mut().map(|it| &mut it.pod).find(|pod| pod_id(pod) == uid);
    let Some(pod) = pod else { return Ok(uid) };
    let class = computed_qos_class(pod, gates);
    let resources = &mut container(pod, change, resize)?.resources;
    put_amounts(resources, &resize.amounts);
    for name in ["cpu", "memory"].map(ResourceName::from) {
        let (request, limit) = (resources.requests.get(&name), resources.limits.get(&name));
        if let Some((request, limit)) =
            request.zip(limit).filter(|(request, limit)| request.compare(limit).is_gt())
        {
            let failure = Failure::usage(anyhow!(
                "{change}: {name}: the request {request} is above the limit {limit}"
            ));
            let other = match resize.amounts.contains_key(name.as_str()) {
                true => format!("set the limit too: {name}-limit={request}"),
                false => format!("set the request too: {name}={limit}"),
            };
            return Err(failure.hint(other));
        }
    }
    let is_other_class = computed_qos_class(pod, gates) != class;
    if is_other_class {
        let failure =
            Failure::usage(anyhow!("{change}: the QoS class would not be {class} any more"));
        return Err(failure.hint(
            "the API server rejects this resize: Pod QOS Class may not change as a result of resizing",
        ));
    }
    Ok(uid)
}

/// Returns the container that a resize names: one of the pod's containers, or of its init containers.
fn container<'p>(
    pod: &'p mut Pod,
    change: &Change,
    resize: &Resize,
) -> Result<&'p mut Container, Failure> {
    let name = |it: &Container| it.name.clone();
    let regular: Vec<String> = pod.spec.containers.iter().map(name).collect();
    let all = pod.spec.containers_and_init();
    let names: Vec<String> = all.map(name).collect();
    let wanted = match (&resize.container, regular.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, _) => {
            let failure =
                Failure::usage(anyhow!("{change}: the pod has {} containers", regular.len()));
            return Err(failure.hint(format!(
                "name one: resize {}:{} ...",
                resize.pod,
                regular.join(" or :")
            )));
        }
    };
    let mut all = pod.spec.containers_and_init_mut();
    all.find(|it| it.name == wanted).ok_or_else(|| {
        let failure = Failure::usage(anyhow!("{change}: the pod has no container {wanted}"));
        failure.hint(format!("its containers: {}", names.join(", ")))
    })
}

/// Puts new amounts over those of a container.
fn put_amounts(resources: &mut ResourceRequirements, amounts: &BTreeMap<String, Quantity>) {
    for (name, amount) in amounts {
        match name.strip_suffix("-limit") {
            Some(name) => resources.limits.insert(ResourceName::from(name), amount.clone()),
            None => {
                let resource = ResourceName::from(name.as_str());
                // A Guaranteed pod stays one.
                let is_equal = resources.limits.get(&resource).is_some()
                    && resources.requests.get(&resource) == resources.limits.get(&resource);
                if is_equal && !amounts.contains_key(&format!("{name}-limit")) {
                    resources.limits.insert(resource.clone(), amount.clone());
                }
                resources.requests.insert(resource, amount.clone())
            }
        };
    }
}

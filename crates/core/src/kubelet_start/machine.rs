//! The kubelet's checks of the machine: `run` in `cmd/kubelet/app/server.go`, `NewContainerManager` and
//! `Start` in `pkg/kubelet/cm/container_manager_linux.go`, `NewMainKubelet` in `pkg/kubelet/kubelet.go`.

use super::config::Read;
use super::cpus;
use super::credentials::{Client, client};
use super::rule::CgroupProblem;
use super::{
    CgroupProgress, Enforced, Machine, Stage, Start, StartExamination, StartRule, StartWarning,
    node_setup, runtime_driver,
};
use kq_answer::Certainty;
use kq_cgroup::node::NodePart;
use kq_facts::allocatable::{ReservationError, node_allocatable};
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::cgroup_name::CgroupName;
use kq_facts::kubelet_config::{
    EffectiveConfiguration, eviction_thresholds, parse_hard_thresholds,
};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::Gate;
use kq_k8s::go_text::{self, quote};
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::sysctl::SysctlAllowlist;
use kq_managers::memory_manager::{MemoryManager, MemoryNode, NewError};
use kq_managers::topology_manager::TopologyOptions;
use serde_json::Value;
use std::collections::BTreeMap;

/// Warns of settings that do nothing, and of the driver that the runtime decides about.
pub(super) fn warnings(start: &Start<'_>, found: &mut StartExamination) {
    let Read { effective, gates, .. } = &start.read;
    if start.is_on_v1() && gates.enabled(Gate::MemoryQos) {
        found.warn(StartWarning::MemoryQosOnV1);
    }
    let (kubelet, kube) = (&effective.kubelet_cgroups, &effective.kube_reserved_cgroup);
    if !kubelet.is_empty() && !kube.is_empty() && !kubelet.starts_with(kube.as_str()) {
        found.warn(StartWarning::KubeletCgroupOutside);
    }
    if let Some(runtime) = runtime_driver(start.facts, &start.read)
        && CgroupDriver::of_field(&effective.cgroup_driver) != runtime
    {
        let (configured, runtime) = (effective.cgroup_driver.clone(), runtime.to_string());
        found.warn(StartWarning::RuntimeDriver { configured, runtime });
    }
    let knows = |name| start.machine.capacity.contains(&name);
    let fact = match (knows(ResourceName::Cpu), knows(ResourceName::Memory)) {
        (true, true) => return,
        (true, false) => "the machine's memory",
        (false, true) => "the machine's CPUs",
        (false, false) => "the machine's CPUs and memory",
    };
    let EffectiveConfiguration { kube_reserved, system_reserved, eviction_hard, .. } = effective;
    let reserved = format!("{kube_reserved:?} {system_reserved:?} {eviction_hard:?}");
    found.skip_of("reservations above the capacity", fact, [reserved]);
}

/// Checks who authorizes requests to the kubelet (`BuildAuthz` in `cmd/kubelet/app/auth.go`).
pub(super) fn authorization(start: &Start<'_>, found: &mut StartExamination) {
    let mode = found.config.pointer("/authorization/mode").and_then(Value::as_str);
    let by_flag = start.said.flags.settings.iter().any(|it| it.field == "authorization.mode");
    let error = match mode {
        None | Some("AlwaysAllow" | "Webhook") => return,
        Some("") if by_flag => "no authorization mode specified".to_owned(),
        Some("") => return,
        Some(mode) => format!("unknown authorization mode {mode}"),
    };
    found.refuse(Stage::Run, "authorization.mode", error);
}

/// Reads what is reserved for the system and for Kubernetes (`parseResourceList`).
pub(super) fn reservations(start: &Start<'_>, found: &mut StartExamination) {
    if let Err(error) = &start.kept {
        found.refuse(Stage::Run, error.field(), error.to_string());
    } else if let Some(error) = too_high(start) {
        let (field, error) = (error.field().to_owned(), error.to_string());
        found.stop(Stage::Run, (StartRule::Setting { field, error }, Certainty::Likely));
    }
}

/// Returns the error of reserved CPUs above those of a machine of which the number alone is known: most machines count theirs
/// from 0 on.
fn too_high(start: &Start<'_>) -> Option<ReservationError> {
    if start.machine.cpus.is_some() {
        return None;
    }
    let reserved = &start.read.effective.reserved_system_cpus;
    let cpus = reserved.parse::<CpuSet>().ok()?;
    let count = start.machine.capacity.get(&ResourceName::Cpu)?.value();
    let online = CpuSet::first(count)?;
    let reserved = reserved.clone();
    (!cpus.is_subset(&online)).then_some(ReservationError::ReservedCpus { reserved, online })
}

/// Rejects swap (`NewContainerManager`).
pub(super) fn swap(start: &Start<'_>, found: &mut StartExamination) {
    let config = &start.config;
    if config.swap_behavior == "LimitedSwap" && start.read.gates.enabled(Gate::NodeSwap) {
        let error =
            "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2";
        match start.facts.cgroup_version {
            Some(CgroupVersion::V1) => {
                found.refuse(Stage::Run, "memorySwap.swapBehavior", error);
            }
            Some(CgroupVersion::V2) => {}
            None => found.skip_of(
                "LimitedSwap, which the kubelet rejects on cgroup v1",
                "the version of the cgroup hierarchy",
                [config.swap_behavior.clone()],
            ),
        }
    }
    match start.facts.swap_bytes {
        Some(bytes) if bytes > 0 && config.fail_swap_on => {
            found.stop(Stage::Run, StartRule::SwapOn { bytes });
        }
        Some(_) => {}
        None if config.fail_swap_on => {
            let settings = ["failSwapOn".to_owned()];
            found.skip_of("swap, which the kubelet rejects", "the machine's swap", settings)
        }
        None => {}
    }
}

/// Looks for the cgroup above those of pods.
pub(super) fn cgroup_root(start: &Start<'_>, found: &mut StartExamination) {
    let config = &start.config;
    if !config.cgroups_per_qos || matches!(config.cgroup_root.as_str(), "" | "/") {
        return;
    }
    let root = &config.cgroup_root;
    let names = root.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    match node_setup::root_cgroup(root, start.driver) {
        Ok(root) => {
            check_cgroup(start, found, Stage::Run, ("cgroupRoot", ""), (&root, &root), names);
        }
        Err(error) => found.stop(Stage::Run, StartRule::CgroupRoot { error }),
    }
}

/// Creates the topology manager.
pub(super) fn topology_manager(start: &Start<'_>, found: &mut StartExamination) {
    if let Err(error) = topology(&start.read, &start.machine) {
        found.refuse(Stage::Run, "topologyManagerPolicyOptions", error);
    }
}

/// Creates the CPU manager.
pub(super) fn cpu_manager(start: &Start<'_>, found: &mut StartExamination) {
    if let Err(error) = cpus::create(start) {
        found.refuse(Stage::Run, "cpuManagerPolicy", error);
    }
}

/// Creates the memory manager (`NewManager` in `pkg/kubelet/cm/memorymanager`).
pub(super) fn memory_manager(start: &Start<'_>, found: &mut StartExamination) {
    let Start { read, machine, reservation, knows_reserved_memory, .. } = start;
    let reserved = read.given.reserved_memory.as_deref().unwrap_or_default();
    let ids: Vec<i64> = match &machine.numa_memory {
        Some(nodes) => nodes.keys().copied().collect(),
        // The nodes are not known: none is wrong.
        None => reserved.iter().map(|entry| entry.numa_node.into()).collect(),
    };
    let nodes = ids.into_iter().map(|id| MemoryNode { id, ..MemoryNode::default() }).collect();
    let none = ResourceList::default();
    let policy = read.effective.memory_manager_policy.as_str();
    let amounts = reservation.as_ref().unwrap_or(&none);
    match MemoryManager::new(policy, nodes, amounts, reserved, read.gates) {
        Ok(_) => {}
        // Amounts of which a part is not known are not compared.
        Err(NewError::OtherTotal { .. } | NewError::NotAnAmount | NewError::NothingReserved)
            if reservation.is_none() || !knows_reserved_memory =>
        {
            let settings = reserved.iter().map(|entry| format!("{entry:?}"));
            found.skip_of("reservedMemory of another total", "the machine's memory", settings);
        }
        Err(error) => {
            let field = match error {
                NewError::OtherPlatform { .. } | NewError::UnknownPolicy { .. } => {
                    "memoryManagerPolicy"
                }
                _ => "reservedMemory",
            };
            found.refuse(Stage::Run, field, error.to_string());
        }
    }
}

/// Compares what is reserved with the capacity (`validateNodeAllocatable`).
pub(super) fn allocatable(start: &Start<'_>, found: &mut StartExamination) {
    let Ok(kept) = &start.kept else { return };
    let Err(over) = node_allocatable(&start.machine.capacity, kept) else { return };
    let resources = over.resources.iter().map(|(name, ..)| name.to_string()).collect();
    let line = over.log_line();
    let certainty = if line.is_some() { Certainty::Certain } else { Certainty::Likely };
    let error = line.unwrap_or_else(|| over.to_string());
    let rule = StartRule::OverReserved { resources, error };
    found.stop(Stage::ContainerManager, (rule, certainty));
}

/// Limits the reserved cgroups, one after the other.
pub(super) fn enforce(start: &Start<'_>, found: &mut StartExamination) {
    let Start { config, driver, .. } = start;
    found.progress = Some(CgroupProgress::default());
    for (key, part, what) in ENFORCED {
        let (field, cgroup, list) = match part {
            NodePart::SystemReserved => {
                ("systemReservedCgroup", &config.system_reserved_cgroup, &config.system_reserved)
            }
            _ => ("kubeReservedCgroup", &config.kube_reserved_cgroup, &config.kube_reserved),
        };
        if !config.enforce_node_allocatable.iter().any(|it| it == key) || cgroup.is_empty() {
            continue;
        }
        let names = cgroup_names(cgroup, *driver);
        let exists = if list.is_empty() {
            let (cgroup, paths, problem) =
                (cgroup.clone(), Vec::new(), CgroupProblem::NoReservation);
            let rule = StartRule::NoCgroup { field, what, cgroup, names, paths, problem };
            found.stop(Stage::ContainerManager, rule);
            Some(false)
        } else {
            let place = CgroupName::from_path(cgroup, *driver).to_path(*driver);
            let place = place.unwrap_or_else(|_| cgroup.clone());
            check_cgroup(
                start,
                found,
                Stage::ContainerManager,
                (field, what),
                (cgroup, &place),
                names,
            )
        };
        if exists != Some(false)
            && let Some(progress) = &mut found.progress
        {
            progress.enforced.push(Enforced { key, part, is_certain: exists.is_some() });
        }
    }
}

/// Checks the file system of the kubelet's folder, which cAdvisor looks up among those that it has a plugin for
/// (`RootFsInfo`). The words are those of a kubelet 1.36.0 (kubernetes/kubernetes#138556).
pub(super) fn root_filesystem(start: &Start<'_>, found: &mut StartExamination) {
    let Some(note) = start.facts.version().patch_note(PatchFault::LacksZfs) else { return };
    if note.is_assumed_fixed {
        return;
    }
    let Some(filesystem) = start.facts.root_filesystem else {
        let (what, fact) = ("ZFS below its folder", "the file system of the kubelet's folder");
        return found.skip_of(what, fact, [start.facts.version().to_string()]);
    };
    if filesystem.kind == "zfs"
        && let Some((major, minor)) = filesystem.device.split_once(':')
    {
        let (folder, fixed) = (start.folder().to_owned(), note.fixed.to_string());
        let (major, minor) = (major.to_owned(), minor.to_owned());
        let rule = StartRule::RootFilesystem { folder, major, minor, fixed };
        found.stop(Stage::ContainerManager, rule);
    }
}

/// The keys of `enforceNodeAllocatable`, in the kubelet's order: the key, the part of the node, and the kubelet's words.
const ENFORCED: [(&str, NodePart, &str); 4] = [
    ("system-reserved", NodePart::SystemReserved, "System Reserved"),
    ("kube-reserved", NodePart::KubeReserved, "Kube Reserved"),
    ("system-reserved-compressible", NodePart::SystemReserved, "System Reserved Compressible"),
    ("kube-reserved-compressible", NodePart::KubeReserved, "Kube Reserved Compressible"),
];

/// Checks that a cgroup exists; `None`: it is not known. `cgroup`: as the configuration has it, and its path below the
/// hierarchy under the driver.
fn check_cgroup(
    start: &Start<'_>,
    found: &mut StartExamination,
    stage: Stage,
    (field, what): (&'static str, &'static str),
    (cgroup, place): (&str, &str),
    names: Vec<String>,
) -> Option<bool> {
    let facts = start.facts;
    let paths = facts.missing_paths.and_then(|missing| missing(place));
    let (Some(paths), Some(version)) = (paths, facts.cgroup_version) else {
        let setting = format!("{field}={place}");
        found.skip_of("missing cgroups of the configuration", "the cgroup tree", [setting]);
        return None;
    };
    if paths.is_empty() {
        return Some(true);
    }
    let problem = match version {
        CgroupVersion::V1 => CgroupProblem::MissingOnV1,
        CgroupVersion::V2 => CgroupProblem::MissingOnV2,
    };
    let cgroup = cgroup.to_owned();
    let rule = StartRule::NoCgroup { field, what, cgroup, names, paths, problem };
    found.stop(stage, rule);
    Some(false)
}

/// Returns the parts of a cgroup's name (`ParseSystemdToCgroupName`, `ParseCgroupfsToCgroupName`).
fn cgroup_names(cgroup: &str, driver: CgroupDriver) -> Vec<String> {
    let parts: Vec<&str> = match driver {
        CgroupDriver::Cgroupfs => cgroup.split('/').filter(|part| !part.is_empty()).collect(),
        CgroupDriver::Systemd => {
            let last = cgroup.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            last.strip_suffix(".slice").unwrap_or(last).split('-').collect()
        }
    };
    parts.into_iter().map(|part| part.replace('_', "-")).collect()
}

/// Creates the topology manager (`NewManager` in `pkg/kubelet/cm/topologymanager`).
fn topology(read: &Read, machine: &Machine) -> Result<(), String> {
    let config = &read.effective;
    let options = &config.topology_manager_policy_options;
    if read.given.topology_manager_policy_options.is_some()
        && !read.gates.enabled(Gate::TopologyManagerPolicyOptions)
    {
        return Err(format!(
            "topology manager policy options {} require feature gates \"TopologyManagerPolicyOptions\" \
             enabled",
            go_text::map(options)
        ));
    }
    if config.topology_manager_policy == "none" {
        return Ok(());
    }
    let options = TopologyOptions::parse(options, read.gates).map_err(|error| error.to_string())?;
    let most = options.max_allowable_numa_nodes;
    let nodes = machine.numa_memory.as_ref().map_or(0, BTreeMap::len);
    if i64::try_from(nodes).is_ok_and(|nodes| nodes > most) {
        return Err(format!("unsupported on machines with more than {most} NUMA Nodes"));
    }
    Ok(())
}

/// Checks fields that the kubelet reads when it is created (`NewMainKubelet` in `pkg/kubelet/kubelet.go`).
pub(super) fn created(start: &Start<'_>, found: &mut StartExamination) {
    let Read { given, effective, .. } = &start.read;
    let mut stop = |field: &str, error: String| found.refuse(Stage::Create, field, error);
    // A file with zero has the default.
    let by_flag = start.said.flag_of("syncFrequency").is_some();
    if let Some(frequency) = given.sync_frequency
        && (frequency.0 < 0 || (frequency.0 == 0 && by_flag))
    {
        stop("syncFrequency", format!("invalid sync frequency {}", frequency.0));
    }
    if let Err(refused) = eviction_thresholds(effective, false)
        && parse_hard_thresholds(&effective.eviction_hard).is_ok()
    {
        stop(refused.field, refused.error.to_string());
    }
    let mode = given.config_map_and_secret_change_detection_strategy.as_deref();
    let is_default = mode.is_none_or(str::is_empty);
    let mode = mode.filter(|mode| !is_default && !matches!(*mode, "Watch" | "Cache" | "Get"));
    let size = given.container_log_max_size.as_deref();
    let emptied = start.said.flag_of("containerLogMaxSize") == Some("");
    let size = size.filter(|size| emptied || !size.is_empty());
    let log_error = size.and_then(|size| Some((size, log_size_error(size)?)));
    let field = "configMapAndSecretChangeDetectionStrategy".to_owned();
    if let Some(mode) = mode
        && let Some(certainty) = certainty_of_client(start)
    {
        let error = format!("unknown configmap and secret manager mode: {mode}");
        found.stop(Stage::Create, (StartRule::Setting { field, error }, certainty));
    }
    if let Some((size, error)) = log_error {
        let error = format!(
            "failed to initialize container log manager: failed to parse container log max size {}: {error}",
            quote(size)
        );
        found.refuse(Stage::Create, "containerLogMaxSize", error);
    }
}

/// Returns how sure it is that the kubelet has a client for the API server; `None`: it has none.
fn certainty_of_client(start: &Start<'_>) -> Option<Certainty> {
    match client(start) {
        Client::Named => Some(Certainty::Certain),
        Client::Unknown => Some(Certainty::Likely),
        Client::Standalone => None,
    }
}

/// Returns why a size of logs is refused (`parseMaxSize` in `pkg/kubelet/logs/container_log_manager.go`).
fn log_size_error(size: &str) -> Option<String> {
    match size.parse::<Quantity>() {
        Err(error) => Some(error.to_string()),
        Ok(size) if size.as_int64().is_none() => Some("invalid max log size".to_owned()),
        Ok(_) => None,
    }
}

/// Creates the collector of containers, then the list of allowed sysctls.
pub(super) fn created_later(start: &Start<'_>, found: &mut StartExamination) {
    if let Some(age) = start.said.flags.container_gc.minimum_age.filter(|age| age.0 < 0) {
        let error = format!("invalid minimum garbage collection age: {age}");
        found.refuse(Stage::Create, "minimum-container-ttl-duration", error);
    }
    // The kernel decides about the safe ones alone, which are always well-formed.
    let patterns = start.read.given.allowed_unsafe_sysctls.as_deref().unwrap_or_default();
    if let Err(error) = SysctlAllowlist::new(patterns, None) {
        let error = error.to_string();
        found.stop(Stage::Create, StartRule::UnsafeSysctls { error });
    }
}

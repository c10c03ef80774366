//! The kubelet's checks of the machine: `run` in `cmd/kubelet/app/server.go`, `NewContainerManager` and
//! `Start` in `pkg/kubelet/cm/container_manager_linux.go`, `NewMainKubelet` in `pkg/kubelet/kubelet.go`.

use super::config::Read;
use super::cpus;
use super::flags::Said;
use super::rule::CgroupProblem;
use super::serving::{self, Serving};
use super::state::{self, AtStart};
use super::{
    CgroupProgress, Enforced, Machine, Stage, StartExamination, StartFacts, StartRule,
    StartWarning, node_flags, node_setup, providers,
};
use kq_answer::Certainty;
use kq_facts::allocatable::{node_allocatable, reservations, reserved};
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::cgroup_name::CgroupName;
use kq_facts::kubelet_config::{
    EffectiveConfiguration, EvictionSettings, possible_eviction_errors,
};
use kq_k8s::feature_gates::Gate;
use kq_k8s::go_text::{atoi, parse_bool, quote};
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::ResourceList;
use kq_k8s::quantity::Quantity;
use kq_k8s::sysctl::SysctlAllowlist;
use kq_managers::memory_manager::{MemoryManager, MemoryNode, NewError};
use serde_json::Value;
use std::collections::BTreeMap;

/// Runs the checks that follow those of the configuration.
pub(super) fn examine(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    read: &Read,
    said: &Said,
    serving: &Serving,
) {
    let Read { effective, gates, .. } = read;
    let on_v1 = facts.cgroup_version == Some(CgroupVersion::V1);
    if on_v1 && gates.enabled(Gate::MemoryQos) {
        found.warn(StartWarning::MemoryQosOnV1);
    }
    let (kubelet, kube) = (&effective.kubelet_cgroups, &effective.kube_reserved_cgroup);
    if !kubelet.is_empty() && !kube.is_empty() && !kubelet.starts_with(kube.as_str()) {
        found.warn(StartWarning::KubeletCgroupOutside);
    }
    let driver = effective.cgroup_driver.parse::<CgroupDriver>().ok();
    if let Some(runtime) = facts.runtime_driver
        && driver != Some(runtime)
    {
        let (configured, runtime) = (effective.cgroup_driver.clone(), runtime.to_string());
        found.warn(StartWarning::RuntimeDriver { configured, runtime });
    }
    let driver = facts.runtime_driver.or(driver).unwrap_or(CgroupDriver::Cgroupfs);
    let machine = facts.machine.clone();
    if machine.is_none() {
        found.skip("reservations above the capacity", "the machine's CPUs and memory");
    }
    let machine = machine.unwrap_or_default();
    authorization(found, said);
    let mut config = effective.clone();
    let kept = match reservations(&mut config, machine.cpus.as_ref()) {
        Ok(kept) => Some(kept),
        Err(error) => {
            let field = error.field().to_owned();
            found.stop(Stage::Run, StartRule::Setting { field, error: error.to_string() });
            None
        }
    };
    node_setup::cpu_options(facts, found, read);
    if on_v1 && config.swap_behavior == "LimitedSwap" && gates.enabled(Gate::NodeSwap) {
        let error =
            "swap feature is enabled and LimitedSwap but it is only supported with cgroupv2";
        refuse(found, "memorySwap.swapBehavior", error.to_owned());
    }
    match facts.swap_bytes {
        Some(bytes) if bytes > 0 && config.fail_swap_on => {
            found.stop(Stage::Run, StartRule::SwapOn { bytes });
        }
        Some(_) => {}
        None if config.fail_swap_on => {
            found.skip("swap, which the kubelet rejects", "the machine's swap")
        }
        None => {}
    }
    if config.cgroups_per_qos && !matches!(config.cgroup_root.as_str(), "" | "/") {
        let root = config.cgroup_root.clone();
        let names = root.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        match node_setup::root_cgroup(&root, driver) {
            Ok(root) => {
                check_cgroup(facts, found, Stage::Run, ("cgroupRoot", ""), (&root, &root), names);
            }
            Err(error) => found.stop(Stage::Run, StartRule::CgroupRoot { error }),
        }
    }
    if let Err(error) = topology(read, &machine) {
        refuse(found, "topologyManagerPolicyOptions", error);
    }
    let folder = super::root_dir(said).to_owned();
    state::dra(facts, found, read, &folder);
    // The managers are created before the disks are known and before the capacity is checked.
    let reservation = kept.as_ref().filter(|_| !machine.capacity.is_empty()).map(|kept| {
        let mut reservation = ResourceList::default();
        for (name, there_is) in machine.capacity.iter() {
            let amount = reserved(name, there_is, kept);
            if name.as_str() != "ephemeral-storage" && !amount.is_zero() {
                reservation.insert(name.clone(), amount);
            }
        }
        reservation
    });
    let cpu = cpus::create(read, reservation.as_ref(), &machine).unwrap_or_else(|error| {
        refuse(found, "cpuManagerPolicy", error);
        None
    });
    if let Err(error) = memory_manager(read, reservation.as_ref(), &machine) {
        refuse(found, "memoryManagerPolicy", error);
    }
    node_flags::node_ip(facts, found);
    created(facts, found, read, said, serving);
    state::pods(facts, found, read, &folder);
    let at_start = AtStart { read, folder: &folder, machine: &machine };
    state::cpu(facts, found, &at_start, cpu);
    state::memory(facts, found, &at_start);
    root_filesystem(facts, found, &folder);
    if let Some(kept) = &kept
        && let Err(over) = node_allocatable(&machine.capacity, kept)
    {
        let resources = over.resources.iter().map(|(name, ..)| name.to_string()).collect();
        let line = over.log_line();
        let certainty = if line.is_some() { Certainty::Certain } else { Certainty::Likely };
        let error = line.unwrap_or_else(|| over.to_string());
        let rule = StartRule::OverReserved { resources, error };
        found.stop_perhaps(Stage::ContainerManager, rule, certainty);
    }
    node_setup::kernel(facts, found, read);
    enforce(facts, found, &config, driver);
    node_setup::system_cgroup(found, read);
}

/// Limits the reserved cgroups, one after the other.
fn enforce(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    config: &EffectiveConfiguration,
    driver: CgroupDriver,
) {
    found.progress = Some(CgroupProgress::default());
    for (key, field, what) in ENFORCED {
        let (cgroup, list) = match field {
            "systemReservedCgroup" => (&config.system_reserved_cgroup, &config.system_reserved),
            _ => (&config.kube_reserved_cgroup, &config.kube_reserved),
        };
        if !config.enforce_node_allocatable.iter().any(|it| it == key) || cgroup.is_empty() {
            continue;
        }
        let names = cgroup_names(cgroup, driver);
        let exists = if list.is_empty() {
            let (cgroup, paths, problem) =
                (cgroup.clone(), Vec::new(), CgroupProblem::NoReservation);
            let rule = StartRule::NoCgroup { field, what, cgroup, names, paths, problem };
            found.stop(Stage::ContainerManager, rule);
            Some(false)
        } else {
            let place = CgroupName::from_path(cgroup, driver).to_path(driver);
            let place = place.unwrap_or_else(|_| cgroup.clone());
            check_cgroup(
                facts,
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
            progress.enforced.push(Enforced { key, is_certain: exists.is_some() });
        }
    }
}

/// Checks the file system of the kubelet's folder, which cAdvisor looks up among those that it has a plugin for
/// (`RootFsInfo`). The words are those of a kubelet 1.36.0 (kubernetes/kubernetes#138556).
fn root_filesystem(facts: &StartFacts<'_>, found: &mut StartExamination, folder: &str) {
    let Some(note) = facts.version().patch_note(PatchFault::LacksZfs) else { return };
    if note.is_assumed_fixed {
        return;
    }
    let Some(filesystem) = facts.root_filesystem else {
        return found.skip("ZFS below its folder", "the file system of the kubelet's folder");
    };
    if filesystem.kind == "zfs"
        && let Some((major, minor)) = filesystem.device.split_once(':')
    {
        let (folder, fixed) = (folder.to_owned(), note.fixed.to_string());
        let (major, minor) = (major.to_owned(), minor.to_owned());
        let rule = StartRule::RootFilesystem { folder, major, minor, fixed };
        found.stop(Stage::ContainerManager, rule);
    }
}

/// The keys of `enforceNodeAllocatable`, in the kubelet's order: the key, the field of the cgroup, and the
/// kubelet's words.
const ENFORCED: [(&str, &str, &str); 4] = [
    ("system-reserved", "systemReservedCgroup", "System Reserved"),
    ("kube-reserved", "kubeReservedCgroup", "Kube Reserved"),
    ("system-reserved-compressible", "systemReservedCgroup", "System Reserved Compressible"),
    ("kube-reserved-compressible", "kubeReservedCgroup", "Kube Reserved Compressible"),
];

fn refuse(found: &mut StartExamination, field: &str, error: String) {
    found.stop(Stage::Run, StartRule::Setting { field: field.to_owned(), error });
}

/// Checks who authorizes requests to the kubelet (`BuildAuthz` in `cmd/kubelet/app/auth.go`).
fn authorization(found: &mut StartExamination, said: &Said) {
    let mode = found.config.pointer("/authorization/mode").and_then(Value::as_str);
    let by_flag = said.flags.settings.iter().any(|it| it.field == "authorization.mode");
    let error = match mode {
        None | Some("AlwaysAllow" | "Webhook") => return,
        Some("") if by_flag => "no authorization mode specified".to_owned(),
        Some("") => return,
        Some(mode) => format!("unknown authorization mode {mode}"),
    };
    refuse(found, "authorization.mode", error);
}

/// Checks that a cgroup exists; `None`: it is not known. `cgroup`: as the configuration has it, and its path below the
/// hierarchy under the driver.
fn check_cgroup(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    stage: Stage,
    (field, what): (&'static str, &'static str),
    (cgroup, place): (&str, &str),
    names: Vec<String>,
) -> Option<bool> {
    let paths = facts.missing_paths.and_then(|missing| missing(place));
    let (Some(paths), Some(version)) = (paths, facts.cgroup_version) else {
        found.skip("missing cgroups of the configuration", "the cgroup tree");
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

/// The most NUMA nodes, unless an option sets another limit.
const MOST_NUMA_NODES: i64 = 8;

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
            go_map(options)
        ));
    }
    if config.topology_manager_policy == "none" {
        return Ok(());
    }
    let mut most = MOST_NUMA_NODES;
    for (name, value) in options {
        match name.as_str() {
            "prefer-closest-numa-nodes" => {
                parse_bool(value)
                    .map_err(|error| format!("bad value for option {}: {error}", quote(name)))?;
            }
            "max-allowable-numa-nodes" => {
                most = atoi(value).map_err(|error| {
                    format!("unable to convert policy option to integer {}: {error}", quote(name))
                })?;
                if most < MOST_NUMA_NODES {
                    return Err(format!(
                        "the minimum value of {} should not be less than {MOST_NUMA_NODES}",
                        quote(name)
                    ));
                }
            }
            _ => return Err(format!("unknown Topology Manager Policy option: {}", quote(name))),
        }
    }
    let nodes = machine.numa_memory.as_ref().map_or(0, BTreeMap::len);
    if i64::try_from(nodes).is_ok_and(|nodes| nodes > most) {
        return Err(format!("unsupported on machines with more than {most} NUMA Nodes"));
    }
    Ok(())
}

/// Returns a map in the format of Go's `%v`.
pub(super) fn go_map(map: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> = map.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("map[{}]", entries.join(" "))
}

/// Creates the memory manager (`NewManager` in `pkg/kubelet/cm/memorymanager`).
fn memory_manager(
    read: &Read,
    reservation: Option<&ResourceList>,
    machine: &Machine,
) -> Result<(), String> {
    let reserved = read.given.reserved_memory.as_deref().unwrap_or_default();
    let ids: Vec<i64> = match &machine.numa_memory {
        Some(nodes) => nodes.keys().copied().collect(),
        // The nodes are not known: none is wrong.
        None => reserved.iter().map(|entry| entry.numa_node.into()).collect(),
    };
    let nodes = ids.into_iter().map(|id| MemoryNode { id, ..MemoryNode::default() }).collect();
    let none = ResourceList::default();
    let policy = read.effective.memory_manager_policy.as_str();
    let amounts = reservation.unwrap_or(&none);
    match MemoryManager::new(policy, nodes, amounts, reserved, read.gates) {
        Ok(_) => Ok(()),
        // Without the capacity, amounts are not compared.
        Err(NewError::OtherTotal { .. } | NewError::NotAnAmount | NewError::NothingReserved)
            if reservation.is_none() =>
        {
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Creates the kubelet itself (`NewMainKubelet` in `pkg/kubelet/kubelet.go`).
fn created(
    facts: &StartFacts<'_>,
    found: &mut StartExamination,
    read: &Read,
    said: &Said,
    serving: &Serving,
) {
    let Read { given, effective, .. } = read;
    node_flags::created(facts, found);
    let mut stop = |field: &str, error: String| {
        found.stop(Stage::Create, StartRule::Setting { field: field.to_owned(), error });
    };
    if let Some(frequency) = given.sync_frequency.filter(|frequency| frequency.0 < 0) {
        stop("syncFrequency", format!("invalid sync frequency {}", frequency.0));
    }
    let errors = possible_eviction_errors(EvictionSettings {
        hard: &effective.eviction_hard,
        soft: &effective.eviction_soft,
        soft_grace_period: &effective.eviction_soft_grace_period,
        minimum_reclaim: &effective.eviction_minimum_reclaim,
    });
    let refused_before = kq_facts::kubelet_config::parse_hard_thresholds(&effective.eviction_hard);
    if let (Some(error), true) = (errors.first(), refused_before.is_ok()) {
        stop("evictionSoft", error.to_string());
    }
    if let Some(mode) = &given.config_map_and_secret_change_detection_strategy
        && !matches!(mode.as_str(), "" | "Watch" | "Cache" | "Get")
        && said.flags.kubeconfig.is_some()
    {
        let error = format!("unknown configmap and secret manager mode: {mode}");
        stop("configMapAndSecretChangeDetectionStrategy", error);
    }
    if let Some(size) = given.container_log_max_size.as_deref().filter(|size| !size.is_empty())
        && let Err(error) = size.parse::<Quantity>()
    {
        let error = format!(
            "failed to initialize container log manager: failed to parse container log max size {}: {error}",
            quote(size)
        );
        stop("containerLogMaxSize", error);
    }
    providers::examine(facts, found);
    if let Some(age) = said.flags.container_gc.minimum_age.filter(|age| age.0 < 0) {
        let error = format!("invalid minimum garbage collection age: {age}");
        let field = "minimum-container-ttl-duration".to_owned();
        found.stop(Stage::Create, StartRule::Setting { field, error });
    }
    // The kernel decides about the safe ones alone, which are always well-formed.
    let patterns = given.allowed_unsafe_sysctls.as_deref().unwrap_or_default();
    if let Err(error) = SysctlAllowlist::new(patterns, None) {
        let error = error.to_string();
        found.stop(Stage::Create, StartRule::UnsafeSysctls { error });
    }
    serving::created(facts, found, read, said, serving);
    node_setup::user_namespaces(facts, found, read);
}

//! The kubelet's defaults by version.
//!
//! The defaults are those of the table of fields; for the hard eviction thresholds they are in
//! `pkg/kubelet/eviction/defaults_linux.go`.
//! For most fields, the kubelet cannot distinguish an empty text or a zero from an absent field.

use super::fields::FIELDS;
use super::read::KubeletConfiguration;
use super::schema;
use kq_k8s::duration::GoDuration;
use kq_k8s::version::KubeletVersion;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A configuration with every default filled in; compare it with the original to find the defaults.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct EffectiveConfiguration {
    pub cgroup_driver: String,
    pub cgroup_root: String,
    pub cgroups_per_qos: bool,
    pub container_runtime_endpoint: String,
    pub cpu_cfs_quota: bool,
    pub cpu_cfs_quota_period: GoDuration,
    pub cpu_manager_policy: String,
    pub cpu_manager_policy_options: BTreeMap<String, String>,
    pub enforce_node_allocatable: Vec<String>,
    pub eviction_hard: BTreeMap<String, String>,
    pub eviction_max_pod_grace_period: i32,
    pub eviction_minimum_reclaim: BTreeMap<String, String>,
    pub eviction_pressure_transition_period: GoDuration,
    pub eviction_soft: BTreeMap<String, String>,
    pub eviction_soft_grace_period: BTreeMap<String, String>,
    pub fail_cgroup_v1: bool,
    pub fail_swap_on: bool,
    pub feature_gates: BTreeMap<String, bool>,
    pub image_gc_high_threshold_percent: i32,
    pub image_gc_low_threshold_percent: i32,
    /// Zero: images have no maximum age.
    pub image_maximum_gc_age: GoDuration,
    pub image_minimum_gc_age: GoDuration,
    pub kube_reserved: BTreeMap<String, String>,
    pub kube_reserved_cgroup: String,
    pub kubelet_cgroups: String,
    pub local_storage_capacity_isolation: bool,
    pub max_pods: i32,
    pub memory_manager_policy: String,
    pub memory_reservation_policy: String,
    /// `None`: no container is throttled (since 1.37).
    pub memory_throttling_factor: Option<f64>,
    pub merge_default_eviction_settings: bool,
    /// -1: no limit of its own.
    pub pod_pids_limit: i64,
    /// 0: not limited by cores.
    pub pods_per_core: i32,
    pub qos_reserved: BTreeMap<String, String>,
    pub reserved_system_cpus: String,
    /// `None`: decided by the cgroup version.
    pub single_process_oom_kill: Option<bool>,
    pub static_pod_path: String,
    pub swap_behavior: String,
    pub system_cgroups: String,
    pub system_reserved: BTreeMap<String, String>,
    pub system_reserved_cgroup: String,
    pub topology_manager_policy: String,
    pub topology_manager_policy_options: BTreeMap<String, String>,
    pub topology_manager_scope: String,
}

/// Returns the default hard eviction thresholds.
pub fn default_eviction_hard() -> BTreeMap<String, String> {
    [
        ("imagefs.available", "15%"),
        ("imagefs.inodesFree", "5%"),
        ("memory.available", "100Mi"),
        ("nodefs.available", "10%"),
        ("nodefs.inodesFree", "5%"),
    ]
    .map(|(signal, value)| (signal.to_owned(), value.to_owned()))
    .into()
}

/// Returns what a version takes for fields that are absent; where that hangs on feature gates, with their
pub(super) fn defaults(version: KubeletVersion) -> &'static KubeletConfiguration {
    static DEFAULTS: LazyLock<Vec<KubeletConfiguration>> =
        LazyLock::new(|| KubeletVersion::supported().map(table).collect());
    &DEFAULTS[version.column()]
}

fn table(version: KubeletVersion) -> KubeletConfiguration {
    let whole = FIELDS.iter().filter(|(path, ..)| !path.contains(['.', '[']));
    let fields: Map<String, Value> = whole
        .filter_map(|field| {
            let value = serde_json::from_str(schema::default(field, version)?).ok()?;
            Some((field.0.to_owned(), value))
        })
        .collect();
    serde_json::from_value(Value::Object(fields)).unwrap_or_default()
}

/// Writes out what `/configz` leaves out: the kubelet that answers has all defaults, so lists and maps that have one and are
/// not there are empty. A part of an answer, such as one that was cut by hand, is not one.
pub fn write_out_empty(config: &mut Value) {
    let Some(fields) = config.as_object_mut() else { return };
    // No kubelet leaves out a duration (`metav1.Duration` has no `omitempty`).
    if !fields.contains_key("syncFrequency") || !fields.contains_key("httpCheckFrequency") {
        return;
    }
    fields.entry("evictionHard").or_insert_with(|| Value::Object(Map::new()));
    fields.entry("enforceNodeAllocatable").or_insert_with(|| Value::Array(Vec::new()));
    // They have been merged.
    fields.remove("mergeDefaultEvictionSettings");
}

/// Returns the configuration as a kubelet of this version sees it.
///
/// `mergeDefaultEvictionSettings` exists since 1.33.
pub fn effective(config: &KubeletConfiguration, version: KubeletVersion) -> EffectiveConfiguration {
    effective_with_flags(config, version, &BTreeSet::new())
}

/// As [`effective`]; the flags have set these fields after the defaults, so that a zero or an empty text stays.
pub fn effective_with_flags(
    config: &KubeletConfiguration,
    version: KubeletVersion,
    by_flag: &BTreeSet<&'static str>,
) -> EffectiveConfiguration {
    let version = version.known().used();
    let absent = defaults(version);
    let text = |name: &str, field: &Option<String>, default: &Option<String>| {
        let given = field.as_ref().filter(|text| !text.is_empty() || by_flag.contains(name));
        given.or(default.as_ref()).cloned().unwrap_or_default()
    };
    let duration = |name: &str, field: Option<GoDuration>, default: Option<GoDuration>| {
        let given = field.filter(|given| given.0 != 0 || by_flag.contains(name));
        given.or(default).unwrap_or_default()
    };
    let merge = version.merges_default_eviction_settings()
        && config.merge_default_eviction_settings.unwrap_or(false);
    let eviction_hard = match &config.eviction_hard {
        None => default_eviction_hard(),
        Some(given) if merge => {
            let mut all = default_eviction_hard();
            all.extend(given.clone());
            all
        }
        Some(given) => given.clone(),
    };
    let swap = config.memory_swap.as_ref().and_then(|swap| swap.swap_behavior.clone());
    EffectiveConfiguration {
        cgroup_driver: text("cgroupDriver", &config.cgroup_driver, &absent.cgroup_driver),
        cgroup_root: text("cgroupRoot", &config.cgroup_root, &absent.cgroup_root),
        cgroups_per_qos: config.cgroups_per_qos.or(absent.cgroups_per_qos).unwrap_or_default(),
        container_runtime_endpoint: text(
            "containerRuntimeEndpoint",
            &config.container_runtime_endpoint,
            &absent.container_runtime_endpoint,
        ),
        cpu_cfs_quota: config.cpu_cfs_quota.or(absent.cpu_cfs_quota).unwrap_or_default(),
        cpu_cfs_quota_period: config
            .cpu_cfs_quota_period
            .or(absent.cpu_cfs_quota_period)
            .unwrap_or_default(),
        cpu_manager_policy: text(
            "cpuManagerPolicy",
            &config.cpu_manager_policy,
            &absent.cpu_manager_policy,
        ),
        cpu_manager_policy_options: config.cpu_manager_policy_options.clone().unwrap_or_default(),
        enforce_node_allocatable: config
            .enforce_node_allocatable
            .as_ref()
            .or(absent.enforce_node_allocatable.as_ref())
            .cloned()
            .unwrap_or_default(),
        eviction_hard,
        eviction_max_pod_grace_period: config
            .eviction_max_pod_grace_period
            .or(absent.eviction_max_pod_grace_period)
            .unwrap_or_default(),
        eviction_minimum_reclaim: config.eviction_minimum_reclaim.clone().unwrap_or_default(),
        eviction_pressure_transition_period: duration(
            "evictionPressureTransitionPeriod",
            config.eviction_pressure_transition_period,
            absent.eviction_pressure_transition_period,
        ),
        eviction_soft: config.eviction_soft.clone().unwrap_or_default(),
        eviction_soft_grace_period: config.eviction_soft_grace_period.clone().unwrap_or_default(),
        fail_cgroup_v1: config.fail_cgroup_v1.or(absent.fail_cgroup_v1).unwrap_or_default(),
        fail_swap_on: config.fail_swap_on.or(absent.fail_swap_on).unwrap_or_default(),
        feature_gates: config.feature_gates.clone().unwrap_or_default(),
        image_gc_high_threshold_percent: config
            .image_gc_high_threshold_percent
            .or(absent.image_gc_high_threshold_percent)
            .unwrap_or_default(),
        image_gc_low_threshold_percent: config
            .image_gc_low_threshold_percent
            .or(absent.image_gc_low_threshold_percent)
            .unwrap_or_default(),
        image_maximum_gc_age: config.image_maximum_gc_age.unwrap_or_default(),
        // In a file, a minimum age of zero counts as unset.
        image_minimum_gc_age: duration(
            "imageMinimumGCAge",
            config.image_minimum_gc_age,
            absent.image_minimum_gc_age,
        ),
        kube_reserved: config.kube_reserved.clone().unwrap_or_default(),
        kube_reserved_cgroup: text(
            "kubeReservedCgroup",
            &config.kube_reserved_cgroup,
            &absent.kube_reserved_cgroup,
        ),
        kubelet_cgroups: text("kubeletCgroups", &config.kubelet_cgroups, &absent.kubelet_cgroups),
        local_storage_capacity_isolation: config
            .local_storage_capacity_isolation
            .or(absent.local_storage_capacity_isolation)
            .unwrap_or_default(),
        max_pods: config
            .max_pods
            .filter(|pods| *pods != 0 || by_flag.contains("maxPods"))
            .or(absent.max_pods)
            .unwrap_or_default(),
        memory_manager_policy: text(
            "memoryManagerPolicy",
            &config.memory_manager_policy,
            &absent.memory_manager_policy,
        ),
        memory_reservation_policy: text(
            "memoryReservationPolicy",
            &config.memory_reservation_policy,
            &absent.memory_reservation_policy,
        ),
        memory_throttling_factor: config
            .memory_throttling_factor
            .or(absent.memory_throttling_factor),
        merge_default_eviction_settings: merge,
        pod_pids_limit: config.pod_pids_limit.or(absent.pod_pids_limit).unwrap_or(-1).max(-1),
        pods_per_core: config.pods_per_core.or(absent.pods_per_core).unwrap_or_default(),
        qos_reserved: config.qos_reserved.clone().unwrap_or_default(),
        reserved_system_cpus: text(
            "reservedSystemCPUs",
            &config.reserved_system_cpus,
            &absent.reserved_system_cpus,
        ),
        single_process_oom_kill: config.single_process_oom_kill,
        static_pod_path: text("staticPodPath", &config.static_pod_path, &absent.static_pod_path),
        swap_behavior: swap.unwrap_or_default(),
        system_cgroups: text("systemCgroups", &config.system_cgroups, &absent.system_cgroups),
        system_reserved: config.system_reserved.clone().unwrap_or_default(),
        system_reserved_cgroup: text(
            "systemReservedCgroup",
            &config.system_reserved_cgroup,
            &absent.system_reserved_cgroup,
        ),
        topology_manager_policy: text(
            "topologyManagerPolicy",
            &config.topology_manager_policy,
            &absent.topology_manager_policy,
        ),
        topology_manager_policy_options: config
            .topology_manager_policy_options
            .clone()
            .unwrap_or_default(),
        topology_manager_scope: text(
            "topologyManagerScope",
            &config.topology_manager_scope,
            &absent.topology_manager_scope,
        ),
    }
}

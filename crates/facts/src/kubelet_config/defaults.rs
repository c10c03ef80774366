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
use std::sync::{LazyLock, OnceLock};

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
    pub cpu_manager_reconcile_period: GoDuration,
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
    /// `None`: not configured, and the kubelet has a default of its own.
    pub max_container_restart_period: Option<GoDuration>,
    pub max_pods: i32,
    pub memory_manager_policy: String,
    pub memory_reservation_policy: String,
    /// `None`: no container is throttled (since 1.37).
    pub memory_throttling_factor: Option<f64>,
    pub merge_default_eviction_settings: bool,
    pub node_status_report_frequency: GoDuration,
    pub node_status_update_frequency: GoDuration,
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
    // A process asks about one version, rarely about two.
    static DEFAULTS: LazyLock<Vec<OnceLock<KubeletConfiguration>>> =
        LazyLock::new(|| KubeletVersion::supported().map(|_| OnceLock::new()).collect());
    DEFAULTS[version.column()].get_or_init(|| table(version))
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

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// As [`effective`]; the flags have set these fields after the defaults, so that a zero or an empty text stays.
pub fn effective_with_flags(
    config: &KubeletConfiguration,
    version: KubeletVersion,
    by_flag: &BTreeSet<&'static str>,
) -> EffectiveConfiguration {
    let version = version.known().used();
    let absent = defaults(version);
    // The kubelet takes a zero and an empty text for an absent field, unless a flag has set it.
    macro_rules! given {
        ($field:ident) => {
            config.$field.as_ref().or(absent.$field.as_ref()).cloned().unwrap_or_default()
        };
        ($field:ident, $name:literal) => {{
            let given = config.$field.as_ref();
            let given = given.filter(|it| !is_zero(*it) || by_flag.contains($name));
            given.or(absent.$field.as_ref()).cloned().unwrap_or_default()
        }};
    }
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
    // A flag sets the update frequency after the defaults, which then have taken 5 minutes for the other one.
    let update_in_file = config
        .node_status_update_frequency
        .filter(|it| !is_zero(it) && !by_flag.contains("nodeStatusUpdateFrequency"));
    let report_frequency = config
        .node_status_report_frequency
        .filter(|it| !is_zero(it))
        .or(update_in_file)
        .or(absent.node_status_report_frequency)
        .unwrap_or_default();
    let swap = config.memory_swap.as_ref().and_then(|swap| swap.swap_behavior.clone());
    EffectiveConfiguration {
        cgroup_driver: given!(cgroup_driver, "cgroupDriver"),
        cgroup_root: given!(cgroup_root, "cgroupRoot"),
        cgroups_per_qos: given!(cgroups_per_qos),
        container_runtime_endpoint: given!(container_runtime_endpoint, "containerRuntimeEndpoint"),
        cpu_cfs_quota: given!(cpu_cfs_quota),
        cpu_cfs_quota_period: given!(cpu_cfs_quota_period),
        cpu_manager_policy: given!(cpu_manager_policy, "cpuManagerPolicy"),
        cpu_manager_policy_options: given!(cpu_manager_policy_options),
        cpu_manager_reconcile_period: given!(
            cpu_manager_reconcile_period,
            "cpuManagerReconcilePeriod"
        ),
        enforce_node_allocatable: given!(enforce_node_allocatable),
        eviction_hard,
        eviction_max_pod_grace_period: given!(eviction_max_pod_grace_period),
        eviction_minimum_reclaim: given!(eviction_minimum_reclaim),
        eviction_pressure_transition_period: given!(
            eviction_pressure_transition_period,
            "evictionPressureTransitionPeriod"
        ),
        eviction_soft: given!(eviction_soft),
        eviction_soft_grace_period: given!(eviction_soft_grace_period),
        fail_cgroup_v1: given!(fail_cgroup_v1),
        fail_swap_on: given!(fail_swap_on),
        feature_gates: given!(feature_gates),
        image_gc_high_threshold_percent: given!(image_gc_high_threshold_percent),
        image_gc_low_threshold_percent: given!(image_gc_low_threshold_percent),
        image_maximum_gc_age: given!(image_maximum_gc_age),
        image_minimum_gc_age: given!(image_minimum_gc_age, "imageMinimumGCAge"),
        kube_reserved: given!(kube_reserved),
        kube_reserved_cgroup: given!(kube_reserved_cgroup, "kubeReservedCgroup"),
        kubelet_cgroups: given!(kubelet_cgroups, "kubeletCgroups"),
        local_storage_capacity_isolation: given!(local_storage_capacity_isolation),
        max_container_restart_period: config
            .crash_loop_back_off
            .as_ref()
            .and_then(|it| it.max_container_restart_period),
        max_pods: given!(max_pods, "maxPods"),
        memory_manager_policy: given!(memory_manager_policy, "memoryManagerPolicy"),
        memory_reservation_policy: given!(memory_reservation_policy, "memoryReservationPolicy"),
        memory_throttling_factor: config
            .memory_throttling_factor
            .or(absent.memory_throttling_factor),
        merge_default_eviction_settings: merge,
        node_status_report_frequency: report_frequency,
        node_status_update_frequency: given!(
            node_status_update_frequency,
            "nodeStatusUpdateFrequency"
        ),
        pod_pids_limit: config.pod_pids_limit.or(absent.pod_pids_limit).unwrap_or(-1).max(-1),
        pods_per_core: given!(pods_per_core),
        qos_reserved: given!(qos_reserved),
        reserved_system_cpus: given!(reserved_system_cpus, "reservedSystemCPUs"),
        single_process_oom_kill: config.single_process_oom_kill,
        static_pod_path: given!(static_pod_path, "staticPodPath"),
        swap_behavior: swap.unwrap_or_default(),
        system_cgroups: given!(system_cgroups, "systemCgroups"),
        system_reserved: given!(system_reserved),
        system_reserved_cgroup: given!(system_reserved_cgroup, "systemReservedCgroup"),
        topology_manager_policy: given!(topology_manager_policy, "topologyManagerPolicy"),
        topology_manager_policy_options: given!(topology_manager_policy_options),
        topology_manager_scope: given!(topology_manager_scope, "topologyManagerScope"),
    }
}

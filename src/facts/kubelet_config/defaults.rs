//! What holds when the configuration says nothing, by version.
//!
//! Read from `pkg/kubelet/apis/config/v1beta1/defaults.go` and `pkg/kubelet/eviction/defaults_linux.go`.
//! For most fields the kubelet cannot tell an empty text or a zero from an absent field.

use super::read::KubeletConfiguration;
use crate::k8s::duration::GoDuration;
use crate::k8s::version::KubeletVersion;
use std::collections::BTreeMap;

/// A configuration with every default filled in; compare with the original to tell them apart.
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
    pub memory_throttling_factor: f64,
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

/// Returns the hard eviction thresholds of a kubelet that was told none.
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

/// Returns the configuration as a kubelet of this version sees it.
///
/// `failCgroupV1` became true in 1.35; `mergeDefaultEvictionSettings` exists since 1.33.
pub fn effective(config: &KubeletConfiguration, version: KubeletVersion) -> EffectiveConfiguration {
    let version = version.known().used();
    let text = |field: &Option<String>, default: &str| match field.as_deref() {
        None | Some("") => default.to_owned(),
        Some(text) => text.to_owned(),
    };
    let merge = version.at_least(33) && config.merge_default_eviction_settings.unwrap_or(false);
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
        cgroup_driver: text(&config.cgroup_driver, "cgroupfs"),
        cgroup_root: text(&config.cgroup_root, ""),
        cgroups_per_qos: config.cgroups_per_qos.unwrap_or(true),
        container_runtime_endpoint: text(
            &config.container_runtime_endpoint,
            "unix:///run/containerd/containerd.sock",
        ),
        cpu_cfs_quota: config.cpu_cfs_quota.unwrap_or(true),
        cpu_cfs_quota_period: config
            .cpu_cfs_quota_period
            .unwrap_or(GoDuration(100 * GoDuration::MILLISECOND.0)),
        cpu_manager_policy: text(&config.cpu_manager_policy, "none"),
        enforce_node_allocatable: config
            .enforce_node_allocatable
            .clone()
            .unwrap_or_else(|| vec!["pods".to_owned()]),
        eviction_hard,
        eviction_max_pod_grace_period: config.eviction_max_pod_grace_period.unwrap_or(0),
        eviction_minimum_reclaim: config.eviction_minimum_reclaim.clone().unwrap_or_default(),
        eviction_pressure_transition_period: config
            .eviction_pressure_transition_period
            .filter(|period| period.0 != 0)
            .unwrap_or(GoDuration(5 * GoDuration::MINUTE.0)),
        eviction_soft: config.eviction_soft.clone().unwrap_or_default(),
        eviction_soft_grace_period: config.eviction_soft_grace_period.clone().unwrap_or_default(),
        fail_cgroup_v1: config.fail_cgroup_v1.unwrap_or(version.at_least(35)),
        fail_swap_on: config.fail_swap_on.unwrap_or(true),
        feature_gates: config.feature_gates.clone().unwrap_or_default(),
        image_gc_high_threshold_percent: config.image_gc_high_threshold_percent.unwrap_or(85),
        image_gc_low_threshold_percent: config.image_gc_low_threshold_percent.unwrap_or(80),
        image_maximum_gc_age: config.image_maximum_gc_age.unwrap_or_default(),
        // No minimum age at all cannot be configured: a zero is taken for nothing said.
        image_minimum_gc_age: config
            .image_minimum_gc_age
            .filter(|age| age.0 != 0)
            .unwrap_or(GoDuration(2 * GoDuration::MINUTE.0)),
        kube_reserved: config.kube_reserved.clone().unwrap_or_default(),
        kube_reserved_cgroup: text(&config.kube_reserved_cgroup, ""),
        kubelet_cgroups: text(&config.kubelet_cgroups, ""),
        local_storage_capacity_isolation: config.local_storage_capacity_isolation.unwrap_or(true),
        max_pods: config.max_pods.filter(|pods| *pods != 0).unwrap_or(110),
        memory_manager_policy: text(&config.memory_manager_policy, "None"),
        memory_reservation_policy: text(&config.memory_reservation_policy, "None"),
        memory_throttling_factor: config.memory_throttling_factor.unwrap_or(0.9),
        merge_default_eviction_settings: merge,
        pod_pids_limit: config.pod_pids_limit.unwrap_or(-1).max(-1),
        pods_per_core: config.pods_per_core.unwrap_or(0),
        qos_reserved: config.qos_reserved.clone().unwrap_or_default(),
        reserved_system_cpus: text(&config.reserved_system_cpus, ""),
        single_process_oom_kill: config.single_process_oom_kill,
        static_pod_path: text(&config.static_pod_path, ""),
        swap_behavior: swap.unwrap_or_default(),
        system_cgroups: text(&config.system_cgroups, ""),
        system_reserved: config.system_reserved.clone().unwrap_or_default(),
        system_reserved_cgroup: text(&config.system_reserved_cgroup, ""),
        topology_manager_policy: text(&config.topology_manager_policy, "none"),
        topology_manager_policy_options: config
            .topology_manager_policy_options
            .clone()
            .unwrap_or_default(),
        topology_manager_scope: text(&config.topology_manager_scope, "container"),
    }
}

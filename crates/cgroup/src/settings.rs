//! The settings of a node and its kubelet that the arithmetic needs.

use crate::files::{CgroupDriver, CgroupVersion, page_size_text};
use crate::pod::hugepage_size_bytes;
use kq_facts::node_config::{Kernel, NodeConfig};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::Quantity;

/// The settings of one node, after every default.
#[derive(Clone, Debug)]
pub struct CgroupSettings {
    /// The kubelet's rules.
    pub rules: KubeletRules,
    /// The kernel's cgroup interface.
    pub version: CgroupVersion,
    pub driver: CgroupDriver,
    /// `cgroupRoot`
    pub root: String,
    /// `cgroupsPerQOS`
    pub cgroups_per_qos: bool,
    /// `cpuCFSQuota`
    pub cpu_cfs_quota: bool,
    /// `cpuCFSQuotaPeriod` in microseconds.
    pub cpu_cfs_quota_period_us: i64,
    /// `cpuManagerPolicy: static`
    pub static_cpu_manager: bool,
    /// `podPidsLimit`
    pub pod_pids_limit: i64,
    /// `memoryReservationPolicy`
    pub memory_reservation_policy: MemoryReservationPolicy,
    /// `memoryThrottlingFactor`; `None`: no container is throttled.
    pub memory_throttling_factor: Option<f64>,
    /// `singleProcessOOMKill`
    pub single_process_oom_kill: Option<bool>,
    /// `memorySwap.swapBehavior`
    pub swap_behavior: SwapBehavior,
    /// What the kernel is like.
    pub kernel: Kernel,
    /// The huge page sizes of the node as the kernel names them: `2MB`, `1GB`.
    pub hugepage_sizes: Vec<String>,
    /// The machine's memory in bytes; `None` is unknown.
    pub memory_capacity: Option<i64>,
    /// The machine's swap in bytes; `None` is unknown.
    pub swap_capacity: Option<i64>,
    /// Capacity without what is reserved; a resource that is not in it is unknown.
    pub node_allocatable: ResourceList,
}

/// What memory QoS protects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryReservationPolicy {
    /// Nothing.
    #[default]
    None,
    /// Requests: `memory.min` for Guaranteed, `memory.low` for others.
    TieredReservation,
}

/// The pods that may swap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub enum SwapBehavior {
    /// No pod.
    #[default]
    NoSwap,
    /// Burstable pods, in proportion to their memory requests.
    LimitedSwap,
}

impl CgroupSettings {
    /// Returns the driver whose rounding the quota has that the kubelet writes to its own cgroups.
    pub fn quota_driver(&self) -> CgroupDriver {
        if self.rules.writes_rounded_quota() { self.driver } else { CgroupDriver::Cgroupfs }
    }

    /// Returns what the arithmetic needs of a described node.
    pub fn of(node: &NodeConfig) -> Self {
        let config = &node.config;
        let sizes = node.capacity.iter().filter_map(|(name, _)| name.hugepage_size());
        let policy = match config.memory_reservation_policy.as_str() {
            "TieredReservation" => MemoryReservationPolicy::TieredReservation,
            _ => MemoryReservationPolicy::None,
        };
        let swap_behavior = match config.swap_behavior.as_str() {
            "LimitedSwap" => SwapBehavior::LimitedSwap,
            _ => SwapBehavior::NoSwap,
        };
        Self {
            rules: node.rules,
            version: node.cgroup_version,
            driver: node.cgroup_driver,
            root: config.cgroup_root.clone(),
            cgroups_per_qos: config.cgroups_per_qos,
            cpu_cfs_quota: config.cpu_cfs_quota,
            cpu_cfs_quota_period_us: config.cpu_cfs_quota_period.microseconds(),
            static_cpu_manager: config.cpu_manager_policy == "static",
            pod_pids_limit: config.pod_pids_limit,
            memory_reservation_policy: policy,
            memory_throttling_factor: config.memory_throttling_factor,
            single_process_oom_kill: config.single_process_oom_kill,
            swap_behavior,
            kernel: node.kernel,
            hugepage_sizes: sizes
                .filter_map(|size| page_size_text(hugepage_size_bytes(size)).ok())
                .collect(),
            memory_capacity: node.capacity.get(&ResourceName::Memory).map(Quantity::value),
            swap_capacity: node.swap_capacity,
            node_allocatable: node.allocatable.absolute.clone(),
        }
    }
}

impl Default for CgroupSettings {
    /// A cgroup v2 node with the kubelet's defaults, of whose machine nothing is known.
    fn default() -> Self {
        Self {
            rules: KubeletRules::default(),
            version: CgroupVersion::V2,
            driver: CgroupDriver::Cgroupfs,
            root: "/".to_owned(),
            cgroups_per_qos: true,
            cpu_cfs_quota: true,
            cpu_cfs_quota_period_us: 100_000,
            static_cpu_manager: false,
            pod_pids_limit: -1,
            memory_reservation_policy: MemoryReservationPolicy::None,
            memory_throttling_factor: Some(0.9),
            single_process_oom_kill: None,
            swap_behavior: SwapBehavior::NoSwap,
            kernel: Kernel::default(),
            hugepage_sizes: Vec::new(),
            memory_capacity: None,
            swap_capacity: None,
            node_allocatable: ResourceList::default(),
        }
    }
}

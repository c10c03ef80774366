//! The rules of the kubelet that need no arithmetic, and their words.

/// The rules without arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// BestEffort cgroups get the least shares.
    BestEffortShares,
    /// No CPU is requested: the least shares.
    NoCpuRequest,
    /// The container names no CPU request: its limit counts.
    LimitStandsForRequest,
    /// The container has no limit of its own: the pod's counts.
    PodLimitStandsForContainer,
    /// There is no CPU limit.
    NoCpuLimit,
    /// `cpuCFSQuota: false`
    CfsQuotaOff,
    /// Containers with exclusive CPUs are not throttled.
    ExclusiveCpus,
    /// A page size that no container requests is closed.
    UnlistedHugepageSize,
    /// The QoS level sets no limit on huge pages, and overwrites the one of node allocatable.
    UnboundedHugepages,
    /// The kubelet asks; containerd hands it on only with `disable_hugetlb_controller = false`.
    RuntimeMayIgnoreHugepages,
    /// A process that is out of memory takes its whole container along.
    OomGroup,
    /// Memory QoS without `TieredReservation` protects nothing.
    NoMemoryReservation,
    /// Memory QoS has no request to protect.
    NoMemoryRequest,
    /// Memory QoS protects a Guaranteed pod's requests.
    GuaranteedReservation,
    /// Memory QoS prefers to leave the requests of other pods alone.
    TieredReservation,
    /// Kubelets before the reservation policies protect every request.
    MemoryQosWithoutPolicy,
    /// Memory QoS protects what is reserved for the system.
    ReservedMemoryIsProtected,
    /// No swap: the kernel cannot limit it.
    NoSwapController,
    /// No swap: `memorySwap.swapBehavior` is not LimitedSwap.
    NoSwapBehavior,
    /// No swap: only Burstable pods get any.
    NoSwapClass,
    /// No swap: critical pods get none.
    NoSwapCritical,
    /// No swap: LimitedSwap needs cgroup v2.
    NoSwapCgroupV1,
    /// No swap: no memory is requested or limited, or both are equal.
    NoSwapMemory,
    /// Memory and swap together are limited to the memory limit.
    NoSwapAboveMemory,
    /// A node-critical pod is killed last.
    OomNodeCritical,
    /// A Guaranteed pod is killed late.
    OomGuaranteed,
    /// A BestEffort pod is killed first.
    OomBestEffort,
    /// The least score of a Burstable pod.
    OomAboveGuaranteed,
    /// The highest score of a Burstable pod.
    OomBelowBestEffort,
    /// All CPUs, because no CPU manager assigns any.
    AllCpus,
    /// No process at all is requested: the least that systemd takes is 1.
    OneProcessAtLeast,
    /// The CPU manager's file has CPUs for the container alone.
    CpuManagerGivesCpus,
    /// The CPU manager's file has none for the container: it runs on those that are shared.
    CpuManagerSharesCpus,
    /// A limit that the kernel refused: it is set to the usage.
    LimitRaisedToUsage,
}

impl Rule {
    /// Returns the words.
    pub fn text(self) -> &'static str {
        match self {
            Self::BestEffortShares => "BestEffort: the least shares",
            Self::NoCpuRequest => "no CPU request: the least shares",
            Self::LimitStandsForRequest => "no CPU request: the limit counts",
            Self::PodLimitStandsForContainer => "no limit of its own: the pod's limit counts",
            Self::NoCpuLimit => "no CPU limit",
            Self::CfsQuotaOff => "cpuCFSQuota is false: CPU limits are not enforced",
            Self::ExclusiveCpus => "exclusive CPUs are not throttled",
            Self::UnlistedHugepageSize => "no container requests this page size",
            Self::UnboundedHugepages => {
                "the QoS level leaves huge pages unbounded (2^62) and overwrites node allocatable"
            }
            Self::RuntimeMayIgnoreHugepages => {
                "requested; containerd applies it only with disable_hugetlb_controller = false"
            }
            Self::OomGroup => "singleProcessOOMKill is not in force: the container dies as one",
            Self::NoMemoryReservation => "memoryReservationPolicy None protects nothing",
            Self::NoMemoryRequest => "no memory request to protect",
            Self::GuaranteedReservation => "memory QoS, TieredReservation: Guaranteed is protected",
            Self::TieredReservation => "memory QoS, TieredReservation: preferably left alone",
            Self::MemoryQosWithoutPolicy => "memory QoS: the request is protected",
            Self::ReservedMemoryIsProtected => "memory QoS: the reserved memory is protected",
            Self::NoSwapController => "the kernel has no limit for swap",
            Self::NoSwapBehavior => "swapBehavior is not LimitedSwap",
            Self::NoSwapClass => "only Burstable pods may swap",
            Self::NoSwapCritical => "critical pods may not swap",
            Self::NoSwapCgroupV1 => "LimitedSwap needs cgroup v2",
            Self::NoSwapMemory => "no memory is requested or limited, or both are equal: no swap",
            Self::NoSwapAboveMemory => "memory and swap together get no more than memory",
            Self::OomNodeCritical => "node-critical: killed last",
            Self::OomGuaranteed => "Guaranteed: killed late",
            Self::OomBestEffort => "BestEffort: killed first",
            Self::OomAboveGuaranteed => "at least 3, above Guaranteed",
            Self::OomBelowBestEffort => "at most 999, below BestEffort",
            Self::AllCpus => "all CPUs of the node: the CPU manager policy is not static",
            Self::OneProcessAtLeast => "systemd does not take 0: 1 is written",
            Self::CpuManagerGivesCpus => "exclusive CPUs, by cpu_manager_state",
            Self::CpuManagerSharesCpus => "the shared CPUs, by cpu_manager_state",
            Self::LimitRaisedToUsage => {
                "the kernel refuses a limit below the usage: the usage counts"
            }
        }
    }
}

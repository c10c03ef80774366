//! The rules of the kubelet that need no arithmetic, and their words.

use kq_answer::reason::Reason;

/// The rules without arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain)]
pub enum Rule {
    #[text("BestEffort: the least shares")]
    BestEffortShares,
    #[text("no CPU request: the least shares")]
    NoCpuRequest,
    #[text("no CPU request: the limit counts")]
    LimitStandsForRequest,
    #[text("no limit of its own: the pod's limit counts")]
    PodLimitStandsForContainer,
    #[text("no CPU limit")]
    NoCpuLimit,
    #[text("cpuCFSQuota is false: CPU limits are not enforced")]
    CfsQuotaOff,
    #[text("exclusive CPUs are not throttled")]
    ExclusiveCpus,
    #[text("no container requests this page size")]
    UnlistedHugepageSize,
    #[text("the QoS level leaves huge pages unbounded (2^62) and overwrites node allocatable")]
    UnboundedHugepages,
    #[text("requested; containerd applies it only with disable_hugetlb_controller = false")]
    RuntimeMayIgnoreHugepages,
    #[text("singleProcessOOMKill is not in force: the container dies as one")]
    OomGroup,
    #[text("memoryReservationPolicy None protects nothing")]
    NoMemoryReservation,
    #[text("the feature gate MemoryQoS is off: each start takes protection back")]
    NoMemoryQos,
    #[text("no memory request to protect")]
    NoMemoryRequest,
    #[text("memory QoS, TieredReservation: Guaranteed is protected")]
    GuaranteedReservation,
    #[text("memory QoS, TieredReservation: preferably left alone")]
    TieredReservation,
    #[text("memory QoS: the request is protected")]
    MemoryQosWithoutPolicy,
    #[text("memory QoS: the reserved memory is protected")]
    ReservedMemoryIsProtected,
    #[text("the kernel has no limit for swap")]
    NoSwapController,
    #[text("swapBehavior is not LimitedSwap")]
    NoSwapBehavior,
    #[text("only Burstable pods may swap")]
    NoSwapClass,
    #[text("critical pods may not swap")]
    NoSwapCritical,
    #[text("LimitedSwap needs cgroup v2")]
    NoSwapCgroupV1,
    #[text("no memory is requested or limited, or both are equal: no swap")]
    NoSwapMemory,
    #[text("the machine has less memory than is requested: no swap")]
    NoSwapAboveMachine,
    #[text("memory and swap together get no more than memory")]
    NoSwapAboveMemory,
    #[text("node-critical: killed last")]
    OomNodeCritical,
    #[text("Guaranteed: killed late")]
    OomGuaranteed,
    #[text("BestEffort: killed first")]
    OomBestEffort,
    #[text("at least 3, above Guaranteed")]
    OomAboveGuaranteed,
    #[text("at most 999, below BestEffort")]
    OomBelowBestEffort,
    #[text("all CPUs of the node: the CPU manager policy is not static")]
    AllCpus,
    #[text("systemd does not take 0: 1 is written")]
    OneProcessAtLeast,
    #[text("exclusive CPUs, by cpu_manager_state")]
    CpuManagerGivesCpus,
    #[text("the shared CPUs, by cpu_manager_state")]
    CpuManagerSharesCpus,
    #[text("the kernel refuses a limit below the usage: the usage counts")]
    LimitRaisedToUsage,
}

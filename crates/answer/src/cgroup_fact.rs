//! The facts about a node that cgroup values depend on.

use crate::reason::Reason;

/// A fact about the node that cgroup values depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Reason)]
#[reason(plain)]
pub enum CgroupFact {
    /// The number of CPUs.
    #[text("the number of the node's CPUs is not known")]
    CpuCapacity,
    /// The memory of the machine.
    #[text("the node's memory is not known")]
    MemoryCapacity,
    /// The swap of the machine.
    #[text("the node's swap is not known")]
    SwapCapacity,
    /// The largest number of processes.
    #[text("the node's largest number of processes (pid_max) is not known")]
    PidCapacity,
    /// Which sizes of huge pages the machine has.
    #[text("the node's huge page sizes are not known")]
    HugepageCapacity,
    /// Whether the kernel limits swap per cgroup.
    #[text("whether the kernel limits swap per cgroup is not known")]
    SwapController,
    /// The size of a page of memory.
    #[text("the node's page size is not known")]
    PageSize,
    /// The cgroup version.
    #[text("the node's cgroup version is not known")]
    CgroupVersion,
    /// The kubelet's version, where the rules of the known versions differ.
    #[text("the kubelet's version is not known")]
    KubeletVersion,
    /// The cgroup driver.
    #[text("the cgroup driver is not known")]
    CgroupDriver,
    /// A field of the kubelet's configuration.
    #[text("the kubelet's configuration is not known: {0}")]
    KubeletConfig(&'static str),
    /// The runtime's conversion of shares into a weight.
    #[text("how the runtime computes weights is not known")]
    RuntimeFormula,
    /// Whether the runtime writes limits of huge pages.
    #[text("whether the runtime limits the huge pages of containers is not known")]
    RuntimeHugepages,
    /// Every pod of the node, for what is added up over all of them.
    #[text("not all pods of the node are known")]
    Pods,
}

impl CgroupFact {
    /// Returns the flag that supplies it.
    pub fn flag(self) -> &'static str {
        match self {
            Self::CpuCapacity => "--capacity cpu=N",
            Self::MemoryCapacity => "--capacity memory=AMOUNT",
            Self::SwapCapacity => "--swap-capacity AMOUNT",
            Self::PidCapacity => "--capacity pid=N",
            Self::HugepageCapacity => "--capacity hugepages-2Mi=AMOUNT",
            Self::SwapController => "--swap-controller BOOL",
            Self::PageSize => "--page-size AMOUNT",
            Self::CgroupVersion => "--cgroup-version VERSION",
            Self::KubeletVersion => "--kubelet-version VERSION",
            Self::CgroupDriver => "--cgroup-driver DRIVER",
            Self::KubeletConfig(_) => "--kubelet-config FILE",
            Self::RuntimeFormula => "--runtime NAME=VERSION",
            Self::RuntimeHugepages => "--runtime-set disable_hugetlb_controller=BOOL",
            Self::Pods => "--pods FILE",
        }
    }
}

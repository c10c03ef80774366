//! The facts about a node that cgroup values depend on.

use std::fmt;

/// A fact about the node that cgroup values depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CgroupFact {
    /// The number of CPUs.
    CpuCapacity,
    /// The memory of the machine.
    MemoryCapacity,
    /// The swap of the machine.
    SwapCapacity,
    /// The largest number of processes.
    PidCapacity,
    /// Which sizes of huge pages the machine has.
    HugepageCapacity,
    /// Whether the kernel limits swap per cgroup.
    SwapController,
    /// The size of a page of memory.
    PageSize,
    /// The cgroup version.
    CgroupVersion,
    /// The kubelet's version, where the rules of the known versions differ.
    KubeletVersion,
    /// The cgroup driver.
    CgroupDriver,
    /// A field of the kubelet's configuration.
    KubeletConfig(&'static str),
    /// The runtime's conversion of shares into a weight.
    RuntimeFormula,
    /// Whether the runtime writes limits of huge pages.
    RuntimeHugepages,
    /// Every pod of the node, for what is added up over all of them.
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

impl fmt::Display for CgroupFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CpuCapacity => "the number of the node's CPUs is not known",
            Self::MemoryCapacity => "the node's memory is not known",
            Self::SwapCapacity => "the node's swap is not known",
            Self::PidCapacity => "the node's largest number of processes (pid_max) is not known",
            Self::HugepageCapacity => "the node's huge page sizes are not known",
            Self::SwapController => "whether the kernel limits swap per cgroup is not known",
            Self::PageSize => "the node's page size is not known",
            Self::CgroupVersion => "the node's cgroup version is not known",
            Self::KubeletVersion => "the kubelet's version is not known",
            Self::CgroupDriver => "the cgroup driver is not known",
            Self::KubeletConfig(field) => {
                return write!(f, "the kubelet's configuration is not known: {field}");
            }
            Self::RuntimeFormula => "how the runtime computes weights is not known",
            Self::RuntimeHugepages => {
                "whether the runtime limits the huge pages of containers is not known"
            }
            Self::Pods => "not all pods of the node are known",
        })
    }
}

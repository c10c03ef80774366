//! Faults of kubelets that a patch release ended, and gates that a patch release brought or switched.
//!
//! Data alone: [`kubelet_rules`](crate::kubelet_rules) compares versions with it. Each row was read in the changelog of its
//! line, `CHANGELOG/CHANGELOG-1.NN.md` of kubernetes/kubernetes, below the heading of the patch; the code was compared in
//! the kubelets 1.32.5 to 1.32.13, 1.33.2 to 1.33.13, 1.34.1 to 1.34.9, 1.35.2 to 1.35.6 and 1.36.2. [`READ`] has the
//! newest patch of each line whose notes were read: of later ones nothing is known here.

use crate::kubelet_rules::RuleArea;
use crate::version::KubeletVersion;
use std::fmt;

/// What some patches do that they should not, and that changes an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatchFault {
    /// A starting kubelet looks at any one of the containers with a name that the runtime lists, also at one that exited, and
    /// takes it for stopped (`isContainerAlreadyRunning`, `pkg/kubelet/cm/devicemanager/manager.go`).
    ForgetsRestartedContainers,
    /// The worker of a probe ends with its sidecar where the pod's policy is `Never` (`doProbe`,
    /// `pkg/kubelet/prober/worker.go`).
    EndsProbesOfSidecars,
    /// A starting kubelet does not know that a sidecar with a startup probe has started (`doProbe`).
    ForgetsStartedSidecars,
    /// A static pod with resource claims is accepted (`tryDecodeSinglePod`, `pkg/kubelet/config/common.go`).
    TakesStaticClaims,
    /// cAdvisor has no plugin for ZFS.
    LacksZfs,
    /// A restarted kubelet may report no status of its node.
    LosesNodeStatus,
    /// A restarted kubelet unmounts volumes of running pods whose claim is being deleted.
    UnmountsClaims,
    /// The watchdog kills the kubelet while it waits for the runtime.
    WatchdogWhileWaiting,
}

impl PatchFault {
    /// Every one of them.
    pub const ALL: [Self; 8] = [
        Self::ForgetsRestartedContainers,
        Self::EndsProbesOfSidecars,
        Self::ForgetsStartedSidecars,
        Self::TakesStaticClaims,
        Self::LacksZfs,
        Self::LosesNodeStatus,
        Self::UnmountsClaims,
        Self::WatchdogWhileWaiting,
    ];

    /// Returns its name in answers.
    pub fn id(self) -> &'static str {
        match self {
            Self::ForgetsRestartedContainers => "forgets-restarted-containers",
            Self::EndsProbesOfSidecars => "ends-probes-of-sidecars",
            Self::ForgetsStartedSidecars => "forgets-started-sidecars",
            Self::TakesStaticClaims => "takes-static-claims",
            Self::LacksZfs => "lacks-zfs",
            Self::LosesNodeStatus => "loses-node-status",
            Self::UnmountsClaims => "unmounts-claims",
            Self::WatchdogWhileWaiting => "watchdog-while-waiting",
        }
    }

    /// Returns the part of the kubelet that it concerns.
    pub fn area(self) -> RuleArea {
        match self {
            Self::ForgetsRestartedContainers => RuleArea::Managers,
            Self::EndsProbesOfSidecars | Self::ForgetsStartedSidecars => RuleArea::Probes,
            Self::TakesStaticClaims => RuleArea::Admission,
            Self::LacksZfs
            | Self::LosesNodeStatus
            | Self::UnmountsClaims
            | Self::WatchdogWhileWaiting => RuleArea::Start,
        }
    }

    /// Returns what a kubelet with it does.
    pub fn what(self) -> &'static str {
        match self {
            Self::ForgetsRestartedContainers => {
                "a starting kubelet can take a running container with devices for stopped if it has restarted before, and \
                 refuse its pod"
            }
            Self::EndsProbesOfSidecars => {
                "the probes of a sidecar end when it exits, where the pod's restartPolicy is Never: with a startup probe, \
                 the pod stays in initialization"
            }
            Self::ForgetsStartedSidecars => {
                "after a restart of the kubelet, containers that crash are not started again in a pod with a sidecar that \
                 has a startup probe"
            }
            Self::TakesStaticClaims => {
                "a static pod with resourceClaims is accepted, and does not run"
            }
            Self::LacksZfs => "the kubelet does not start with its folder on ZFS",
            Self::LosesNodeStatus => {
                "after a restart, the kubelet may not report the status of its node or renew its serving certificate"
            }
            Self::UnmountsClaims => {
                "a restart of the kubelet unmounts volumes of running pods whose PersistentVolumeClaim is being deleted"
            }
            Self::WatchdogWhileWaiting => {
                "while a slow container runtime starts, the watchdog of systemd kills the kubelet, where its unit has one"
            }
        }
    }

    /// Returns true if its code was compared on neither side of the patch: the changelog alone has it.
    pub fn is_of_changelog_alone(self) -> bool {
        matches!(self, Self::LosesNodeStatus | Self::UnmountsClaims)
    }

    /// Returns the first minor version without it in any patch.
    pub fn sound_since(self) -> u32 {
        match self {
            Self::TakesStaticClaims => 34,
            Self::EndsProbesOfSidecars | Self::WatchdogWhileWaiting => 35,
            Self::ForgetsRestartedContainers | Self::ForgetsStartedSidecars => 36,
            Self::LacksZfs => 37,
            Self::LosesNodeStatus | Self::UnmountsClaims => 33,
        }
    }
}

/// A line of releases with a fault.
#[derive(Clone, Copy, Debug)]
pub struct PatchRow {
    /// The minor version.
    pub minor: u32,
    /// The first patch without the fault; `None`: no patch whose notes were read.
    pub fixed_in: Option<u32>,
    pub fault: PatchFault,
    /// The pull request of the line, or that of the first line with the fix.
    pub pull: u32,
}

/// The newest patch of each line whose notes were read: the minor version, and the patch.
pub const READ: [(u32, u32); 5] = [(32, 12), (33, 12), (34, 8), (35, 5), (36, 2)];

const fn row(minor: u32, fixed_in: Option<u32>, fault: PatchFault, pull: u32) -> PatchRow {
    PatchRow { minor, fixed_in, fault, pull }
}

/// The faults, line by line.
#[rustfmt::skip]
pub const PATCHES: [PatchRow; 16] = [
    row(32, Some(3),  PatchFault::LosesNodeStatus,            130_356),
    row(32, Some(4),  PatchFault::UnmountsClaims,             130_684),
    row(32, Some(6),  PatchFault::TakesStaticClaims,          131_875),
    row(32, Some(11), PatchFault::WatchdogWhileWaiting,       135_209),
    row(32, None,     PatchFault::EndsProbesOfSidecars,       133_072),
    row(32, None,     PatchFault::ForgetsRestartedContainers, 135_485),
    row(33, Some(2),  PatchFault::TakesStaticClaims,          131_876),
    row(33, Some(6),  PatchFault::EndsProbesOfSidecars,       134_801),
    row(33, Some(7),  PatchFault::WatchdogWhileWaiting,       135_208),
    row(33, None,     PatchFault::ForgetsRestartedContainers, 135_485),
    row(34, Some(2),  PatchFault::EndsProbesOfSidecars,       134_800),
    row(34, Some(3),  PatchFault::WatchdogWhileWaiting,       135_207),
    row(34, Some(7),  PatchFault::ForgetsRestartedContainers, 138_027),
    row(35, Some(4),  PatchFault::ForgetsRestartedContainers, 138_042),
    row(35, Some(4),  PatchFault::ForgetsStartedSidecars,     137_885),
    row(36, Some(1),  PatchFault::LacksZfs,                   138_590),
];

/// A gate that a patch release brought or switched.
#[derive(Clone, Copy, Debug)]
pub struct GatePatch {
    pub gate: &'static str,
    /// The minor version.
    pub minor: u32,
    /// The first patch with the gate as the table has it.
    pub patch: u32,
    /// The letter of the table in the patches before.
    pub before: u8,
    /// The pull request.
    pub pull: u32,
}

const fn gate(gate: &'static str, minor: u32, patch: u32, before: u8, pull: u32) -> GatePatch {
    GatePatch { gate, minor, patch, before, pull }
}

/// The gates that a patch release changed, line by line.
#[rustfmt::skip]
pub const GATE_PATCHES: [GatePatch; 6] = [
    gate("ServiceAccountNodeAudienceRestriction", 32, 2, b'B', 130_015),
    gate("OrderedNamespaceDeletion",              32, 3, b'.', 130_508),
    gate("SchedulerAsyncAPICalls",                34, 2, b'B', 134_401),
    gate("StatefulSetSemanticRevisionComparison", 34, 2, b'.', 135_087),
    gate("SchedulerAsyncAPICalls",                35, 1, b'B', 135_904),
    gate("MaxUnavailableStatefulSet",             35, 4, b'B', 137_926),
];

/// What an answer says of a fault: in which patches of the kubelet's line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchNote {
    pub fault: PatchFault,
    /// The kubelet's version.
    pub version: KubeletVersion,
    /// The first patch with it.
    pub first: KubeletVersion,
    /// The last patch with it, or the last whose notes were read; `None`: the first is the only one.
    pub last: Option<KubeletVersion>,
    /// The first version without it.
    pub fixed: KubeletVersion,
    /// The pull request that ends it.
    pub pull: u32,
    /// A patch of the line ends it.
    pub is_read_to_the_end: bool,
    /// The kubelet's patch is not known, and taken for one without it.
    pub is_assumed_fixed: bool,
}

impl PatchNote {
    /// Returns the patches with the fault: `1.35.0 to 1.35.3`.
    pub fn patches(&self) -> String {
        match self.last {
            None => self.first.to_string(),
            Some(last) => format!("{} to {last}", self.first),
        }
    }
}

impl fmt::Display for PatchNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, version, fixed, pull, .. } = self;
        let (what, patches) = (fault.what(), self.patches());
        let source = match fault.is_of_changelog_alone() {
            true => format!("#{pull}, by the changelog alone"),
            false => format!("#{pull}"),
        };
        if self.is_assumed_fixed {
            return write!(
                f,
                "kubelet {version} is {fixed} or later: {what} in {patches} only ({source})"
            );
        }
        match self.is_read_to_the_end {
            true => write!(f, "kubelet {version}: {what} ({patches} only; {source})"),
            false => write!(
                f,
                "kubelet {version}: {what} ({patches}, and perhaps later; not in {fixed}; {source})"
            ),
        }
    }
}

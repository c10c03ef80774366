//! The differences between plan and kernel, and their verdicts.

use crate::derivation::{self, Step};
use crate::live::place::{LiveCgroup, LivePlace};
use crate::live::set_by::SetBy;
use crate::node::NodePart;
use crate::plan::{Owner, PlannedCgroup};
use crate::report::{Place, PlaceLevel};
use kq_answer::Worded;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::workloads::effective_uid;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Verdict {
    /// The kernel has what is planned.
    Match,
    /// The planned value, rounded by the kernel or systemd.
    Rounded,
    /// The kernel has something else.
    Drift,
    /// The kernel does not have what is planned.
    Missing,
    /// The kernel has an unplanned value or cgroup.
    Extra,
    /// A resize of the pod is not finished, and the kernel has what was allocated or in effect before.
    ResizePending,
    /// The kernel has what an earlier configuration of the kubelet gave: the pod or the container is older than the
    /// kubelet's start.
    OlderConfig,
    /// A pod or a container is being created or removed, or it changed while kq read it.
    Changing,
    /// One side is not known.
    Unknown,
}

impl Verdict {
    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Self; 9] = [
        Self::Match,
        Self::Rounded,
        Self::Drift,
        Self::Missing,
        Self::Extra,
        Self::ResizePending,
        Self::OlderConfig,
        Self::Changing,
        Self::Unknown,
    ];

    /// Returns true if the kernel differs from the plan for no known reason.
    pub fn is_drift(self) -> bool {
        matches!(self, Self::Drift | Self::Missing | Self::Extra)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Match => "MATCH",
            Self::Rounded => "ROUNDED",
            Self::Drift => "DRIFT",
            Self::Missing => "MISSING",
            Self::Extra => "EXTRA",
            Self::ResizePending => "RESIZE-PENDING",
            Self::OlderConfig => "OLDER-CONFIG",
            Self::Changing => "CHANGING",
            Self::Unknown => "UNKNOWN",
        })
    }
}

/// One value, or one cgroup as a whole.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference<'a> {
    pub level: PlaceLevel,
    /// The pod's namespace.
    pub namespace: Option<String>,
    pub pod: Option<String>,
    pub container: Option<String>,
    /// The path below the root of the hierarchy.
    pub cgroup: String,
    /// The file; null: the cgroup as a whole.
    pub file: Option<String>,
    pub planned: Option<String>,
    /// What the kernel has.
    pub actual: Option<String>,
    /// The result of the comparison.
    pub verdict: Verdict,
    /// The reason, if the values alone do not show it.
    pub reason: Option<String>,
    /// `kubelet` or `runtime`.
    pub writer: Option<&'static str>,
    /// The writer of the kernel's value, where it is evident.
    pub set_by: Option<SetBy>,
    /// A resize of the pod is not finished, and changes this value.
    #[serde(skip)]
    pub is_resizing: bool,
    #[serde(skip)]
    pub pod_uid: Option<String>,
    /// It is added up over all pods.
    #[serde(skip)]
    pub is_sum: bool,
    /// The kubelet writes it once a minute, whatever happens.
    #[serde(skip)]
    pub is_refreshed: bool,
    /// The steps to what is planned.
    #[serde(serialize_with = "derivation::serialize_with_text")]
    #[schemars(with = "Vec<Worded<Step>>")]
    pub because: Cow<'a, [Step]>,
}

impl<'a> Difference<'a> {
    /// Returns the same without its plan.
    pub fn into_owned(self) -> Difference<'static> {
        Difference { because: Cow::Owned(self.because.into_owned()), ..self }
    }

    /// Takes back a drift: what came or went explains it.
    pub(super) fn set_changing(&mut self, reason: String) {
        (self.verdict, self.reason, self.set_by) = (Verdict::Changing, Some(reason), None);
    }

    /// Takes back a drift: an earlier configuration explains it.
    pub(super) fn set_older(&mut self, reason: String) {
        (self.verdict, self.reason, self.set_by) = (Verdict::OlderConfig, Some(reason), None);
    }

    pub(super) fn of(cgroup: &PlannedCgroup<'_>, file: Option<&str>, verdict: Verdict) -> Self {
        let place = Place::of(cgroup);
        Self {
            level: place.level,
            namespace: place.namespace.map(str::to_owned),
            pod: place.pod.map(Cow::into_owned),
            container: place.container.map(str::to_owned),
            cgroup: place.cgroup,
            file: file.map(str::to_owned),
            planned: None,
            actual: None,
            verdict,
            reason: None,
            writer: Some(cgroup.owner.writer()),
            set_by: None,
            is_resizing: false,
            pod_uid: match cgroup.owner {
                Owner::Pod(pod, _) | Owner::Container { pod, .. } => {
                    Some(effective_uid(pod).to_owned())
                }
                Owner::Node(_) | Owner::Qos(_) => None,
            },
            is_sum: false,
            is_refreshed: is_refreshed(&cgroup.owner, file),
            because: Cow::Borrowed(&[]),
        }
    }

    pub(super) fn of_live(cgroup: &LiveCgroup<'_>, verdict: Verdict, reason: String) -> Self {
        let place = LivePlace::of(cgroup);
        Self {
            level: place.level,
            namespace: place.namespace.map(str::to_owned),
            pod: place.pod.map(str::to_owned),
            container: place.container.map(str::to_owned),
            cgroup: place.cgroup.to_owned(),
            file: None,
            planned: None,
            actual: None,
            verdict,
            reason: Some(reason),
            writer: None,
            set_by: None,
            is_resizing: false,
            pod_uid: cgroup.owner.pod().map(|pod| pod.uid.clone()),
            is_sum: false,
            is_refreshed: false,
            because: Cow::Borrowed(&[]),
        }
    }
}

/// Returns true for the files of the QoS classes, and for those that the classes write on the cgroup of all pods
/// (`UpdateCgroups`, `pkg/kubelet/cm/qos_container_manager_linux.go`).
fn is_refreshed(owner: &Owner<'_>, file: Option<&str>) -> bool {
    let Some(file) = file.and_then(CgroupFile::named) else { return false };
    match owner {
        Owner::Qos(_) => true,
        Owner::Node(NodePart::Kubepods) => file.has_size() || file == CgroupFile::MemoryMin,
        Owner::Node(_) | Owner::Pod(..) | Owner::Container { .. } => false,
    }
}

/// Returns true if nothing was compared, or a side of a comparison is unknown.
pub fn is_incomplete(differences: &[Difference<'_>]) -> bool {
    differences.is_empty() || differences.iter().any(|found| found.verdict == Verdict::Unknown)
}

/// Counts the verdicts.
pub fn summary(differences: &[Difference<'_>]) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for verdict in Verdict::ALL {
        let count = differences.iter().filter(|found| found.verdict == verdict).count();
        counts.insert(verdict.to_string(), count);
    }
    counts
}

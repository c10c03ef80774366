//! The kinds of answers, each with its JSON Schema.

use crate::admission::PodAdmission;
use crate::answer::{Answer, Document};
use crate::cgroup::explain::Explanation;
use crate::cgroup::live::apply_report::CgroupChange;
use crate::cgroup::live::checks::NodeChecks;
use crate::cgroup::live::diff_report::CgroupDiff;
use crate::cgroup::live::show::CgroupUsage;
use crate::cgroup::live::which::CgroupOwner;
use crate::cgroup::report::CgroupPlan;
use crate::cgroup::shares::CpuShares;
use crate::device::capacity::CapacityReport;
use crate::device::fake_kubelet::{DeviceAllocation, DeviceAllocationList, DevicePodEnded};
use crate::device::list::{DeviceList, FreeDevices};
use crate::device::plan::DevicePlan;
use crate::device::plugins::DevicePlugins;
use crate::device::repair::DeviceRepair;
use crate::device::verify::Verification;
use crate::eviction::EvictionRank;
use crate::image_gc::apply_report::ImageGcApply;
use crate::image_gc::disk::ImageDisk;
use crate::image_gc::explain::ImageExplanation;
use crate::image_gc::images::ImageList;
use crate::image_gc::lint::GcLint;
use crate::image_gc::policy_report::GcPolicy;
use crate::image_gc::watch::Pass;
use crate::preemption::apply::PreemptionApply;
use crate::preemption::why::PreemptionCause;
use crate::preemption::{ClusterPreemption, PodPreemption, PodReadmission};
use crate::probe::lint::ProbeLint;
use crate::probe::plan::ProbePlan;
use crate::probe::report::ProbeRun;
use crate::probe::simulation::Simulation;
use crate::question::image_gc::ImageGcAnswer;
use schemars::Schema;

/// A kind of answer.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The `kind` of its documents.
    pub name: &'static str,
    /// Returns the JSON Schema of its documents.
    pub schema: fn() -> Schema,
}

const fn kind<A: Answer>() -> Kind {
    Kind { name: A::KIND, schema: Document::<A>::schema }
}

/// All kinds of answers, in the order of their names.
pub const KINDS: &[Kind] = &[
    kind::<CgroupChange<'_>>(),
    kind::<CgroupDiff<'_>>(),
    kind::<Explanation>(),
    kind::<CgroupOwner<'_>>(),
    kind::<CgroupPlan<'_, '_>>(),
    kind::<CgroupUsage<'_>>(),
    kind::<ClusterPreemption>(),
    kind::<CpuShares<'_>>(),
    kind::<DeviceAllocation>(),
    kind::<DeviceAllocationList<'_>>(),
    kind::<CapacityReport>(),
    kind::<DeviceList>(),
    kind::<DevicePlan>(),
    kind::<DevicePlugins>(),
    kind::<DevicePodEnded>(),
    kind::<DeviceRepair>(),
    kind::<Verification>(),
    kind::<EvictionRank>(),
    kind::<FreeDevices>(),
    kind::<GcLint>(),
    kind::<GcPolicy>(),
    kind::<ImageDisk>(),
    kind::<ImageExplanation>(),
    kind::<ImageGcApply>(),
    kind::<Pass>(),
    kind::<ImageGcAnswer>(),
    kind::<ImageList>(),
    kind::<NodeChecks>(),
    kind::<PodAdmission>(),
    kind::<PodPreemption>(),
    kind::<PodReadmission>(),
    kind::<PreemptionApply>(),
    kind::<PreemptionCause>(),
    kind::<ProbeLint>(),
    kind::<ProbePlan>(),
    kind::<ProbeRun>(),
    kind::<Simulation>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_order() {
        assert!(KINDS.is_sorted_by(|one, next| one.name < next.name));
    }
}

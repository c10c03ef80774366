//! The types of answers, and their kinds with JSON Schemas.

pub use super::allocatable::AllocatableReport;
pub use super::image_gc::ImageGcAnswer;
pub use super::version::Versions;
pub use super::why::PodWhy;
pub use crate::explain::{LogExplanation, MessageExplanation};
pub use crate::fleet::{FleetAnswer, FleetApply, FleetWhatIf};
pub use crate::question::doctor::PodReport;
pub use crate::what_if::{ChangeList, WhatIf};
pub use kq_admission::PodAdmission;
pub use kq_admission::preemption::apply::PreemptionApply;
pub use kq_admission::preemption::lint::PreemptionLint;
pub use kq_admission::preemption::why::PreemptionCause;
pub use kq_admission::preemption::{ClusterPreemption, PodPreemption, PodReadmission};
use kq_answer::{Answer, Document};
pub use kq_cgroup::explain::Explanation;
pub use kq_cgroup::live::apply_report::CgroupChange;
pub use kq_cgroup::live::checks::NodeChecks;
pub use kq_cgroup::live::diff_report::CgroupDiff;
pub use kq_cgroup::live::show::CgroupUsage;
pub use kq_cgroup::live::throttling::ThrottlingRanking;
pub use kq_cgroup::live::which::CgroupOwner;
pub use kq_cgroup::report::CgroupPlan;
pub use kq_cgroup::shares::CpuShares;
pub use kq_eviction::EvictionRank;
pub use kq_image_gc::apply_report::ImageGcApply;
pub use kq_image_gc::disk::ImageDisk;
pub use kq_image_gc::explain::ImageExplanation;
pub use kq_image_gc::images::ImageList;
pub use kq_image_gc::lint::GcLint;
pub use kq_image_gc::loops::Pass;
pub use kq_image_gc::plan::PlannedImage;
pub use kq_image_gc::policy_report::GcPolicy;
pub use kq_managers::capacity::CapacityReport;
pub use kq_managers::fake_kubelet::{DeviceAllocation, DeviceAllocationList, DevicePodEnded};
pub use kq_managers::list::{DeviceList, FreeDevices};
pub use kq_managers::plan::DevicePlan;
pub use kq_managers::plugins::DevicePlugins;
pub use kq_managers::repair::DeviceRepair;
pub use kq_managers::verify::Verification;
pub use kq_probe::lint::ProbeLint;
pub use kq_probe::plan::ProbePlan;
pub use kq_probe::report::ProbeRun;
pub use kq_probe::simulation::Simulation;
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
    kind::<ChangeList>(),
    kind::<ClusterPreemption>(),
    kind::<CpuShares<'_>>(),
    kind::<DeviceAllocation>(),
    kind::<DeviceAllocationList<'_>>(),
    kind::<CapacityReport>(),
    kind::<DeviceList<'_>>(),
    kind::<DevicePlan>(),
    kind::<DevicePlugins>(),
    kind::<DevicePodEnded>(),
    kind::<DeviceRepair>(),
    kind::<Verification>(),
    kind::<EvictionRank>(),
    kind::<FleetAnswer>(),
    kind::<FleetApply>(),
    kind::<FleetWhatIf>(),
    kind::<FreeDevices>(),
    kind::<GcLint>(),
    kind::<GcPolicy>(),
    kind::<ImageDisk>(),
    kind::<ImageExplanation>(),
    kind::<ImageGcApply>(),
    kind::<Pass>(),
    kind::<ImageGcAnswer>(),
    kind::<ImageList>(),
    kind::<LogExplanation>(),
    kind::<MessageExplanation>(),
    kind::<AllocatableReport>(),
    kind::<NodeChecks>(),
    kind::<PodAdmission>(),
    kind::<PodPreemption>(),
    kind::<PodReadmission>(),
    kind::<PodReport>(),
    kind::<PodWhy>(),
    kind::<PreemptionApply>(),
    kind::<PreemptionCause>(),
    kind::<PreemptionLint>(),
    kind::<ProbeLint>(),
    kind::<ProbePlan>(),
    kind::<ProbeRun>(),
    kind::<Simulation>(),
    kind::<ThrottlingRanking<'_>>(),
    kind::<Versions>(),
    kind::<WhatIf>(),
];

/// The names of all kinds, without the code of their schemas.
pub const KIND_NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < KINDS.len() {
        names[at] = KINDS[at].name;
        at += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_order() {
        assert!(KINDS.is_sorted_by(|one, next| one.name < next.name));
    }
}

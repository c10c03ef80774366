//! The facts that a planned value rests on, and the unknown ones among them.
//!
//! A plan is made from the available facts: defaults stand in for unknown ones. This module decides
//! which of its values may still be shown, compared and written. `rests_on` names the facts of
//! each value, [`Knowledge`] those that are missing; a value with a missing fact is not known, wherever
//! it is in the tree. That the names are complete is tested by changing one fact after the other: no
//! value may change that does not name it.

use crate::derivation::Step;
use crate::files::{CgroupDriver, CgroupVersion};
use crate::node::NodePart;
use crate::plan::{Owner, PlannedCgroup, RuntimeFormula};
use crate::resource_config::ExplainedFile;
use crate::rule::Rule;
use crate::settings::{CgroupSettings, MemoryReservationPolicy};
use kq_answer::cgroup_fact::CgroupFact;
use kq_answer::origin::Origin;
use kq_answer::{Missing, MissingFact};
use kq_facts::cgroup_file::{CgroupFile, Premise};
use kq_facts::node_config::NodeConfig;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::pod::Pod;
use kq_k8s::qos::QosClass;
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeSet;

/// The first kubelets that ask `memoryReservationPolicy` what memory QoS protects.
const RESERVATION_POLICIES: u32 = 36;

/// The first kubelets that write the rounded quota, and those that write a limit of no process.
const ROUNDED_QUOTAS: u32 = 34;
const LIMITS_OF_NONE: u32 = 36;

/// What is missing among the facts that a plan rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    missing: BTreeSet<CgroupFact>,
    /// The fields of the configuration that are known though the rest of it is not.
    given_fields: BTreeSet<&'static str>,
    /// The gates that are set by name; others are at the default of the version.
    given_gates: BTreeSet<String>,
    /// Why not all pods are known.
    unknown_pods: Option<String>,
    /// The kubelet's configuration is not known as a whole.
    lacks_configuration: bool,
    /// The fields that the kubelet refuses in it.
    refused_fields: BTreeSet<String>,
    /// A pod has resources of its own, which only some kubelets read.
    has_pod_level_resources: bool,
}

/// Why a value is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The first fact that is missing.
    pub fact: CgroupFact,
    /// Why it is missing, with the flag that supplies it.
    pub reason: String,
}

impl Knowledge {
    /// Returns what is known about a live node. Without the kubelet's configuration only its fields that
    /// were given by flags are known; `unknown_pods` says why the pods may not be all that request
    /// something.
    pub fn of(
        node: &NodeConfig,
        formula: RuntimeFormula,
        has_configuration: bool,
        unknown_pods: Option<String>,
    ) -> Self {
        let assumed = |name: &str| {
            node.facts.0.iter().any(|fact| fact.name == name && fact.origin == Origin::Assumed)
        };
        let mut missing = BTreeSet::new();
        for (name, fact) in [
            ("capacity.hugepages", CgroupFact::HugepageCapacity),
            ("swapController", CgroupFact::SwapController),
            ("pageSize", CgroupFact::PageSize),
            ("cgroupVersion", CgroupFact::CgroupVersion),
            ("kubeletVersion", CgroupFact::KubeletVersion),
            ("cgroupDriver", CgroupFact::CgroupDriver),
        ] {
            if assumed(name) {
                missing.insert(fact);
            }
        }
        if formula.assumed && node.cgroup_version == CgroupVersion::V2 {
            missing.insert(CgroupFact::RuntimeFormula);
        }
        if formula.disables_hugetlb.is_none() {
            missing.insert(CgroupFact::RuntimeHugepages);
        }
        if unknown_pods.is_some() {
            missing.insert(CgroupFact::Pods);
        }
        let given = node.facts.0.iter().filter(|fact| fact.origin.is_given());
        Self {
            missing,
            given_fields: given.map(|fact| fact.name).collect(),
            given_gates: node.config.feature_gates.keys().cloned().collect(),
            unknown_pods,
            lacks_configuration: !has_configuration,
            refused_fields: BTreeSet::new(),
            has_pod_level_resources: false,
        }
    }

    /// Returns the same without the fields that the kubelet refuses in its configuration.
    pub fn without<'f>(mut self, refused: impl IntoIterator<Item = &'f str>) -> Self {
        self.refused_fields.extend(refused.into_iter().map(str::to_owned));
        self
    }

    /// Returns the same with what the pods add to it.
    pub(super) fn with_pods<'p>(mut self, pods: impl IntoIterator<Item = &'p Pod>) -> Self {
        self.has_pod_level_resources = pods.into_iter().any(|pod| pod.spec.resources.is_some());
        self
    }

    /// Returns true if nothing is missing that any value could rest on.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && !self.lacks_configuration && self.refused_fields.is_empty()
    }

    /// Returns why the text of a file of a cgroup is not known; `None`: it is known, be it that nothing is
    /// written to the file.
    pub fn unknown(
        &self,
        cgroup: &PlannedCgroup<'_>,
        file: &str,
        settings: &CgroupSettings,
    ) -> Option<Unknown> {
        if self.is_complete() {
            return None;
        }
        let rests_on = rests_on(cgroup, file, settings, self.has_pod_level_resources);
        self.first_missing(&rests_on, settings)
    }

    /// Returns true if the text of a file is added up over all pods.
    pub fn is_sum(
        &self,
        cgroup: &PlannedCgroup<'_>,
        file: &str,
        settings: &CgroupSettings,
    ) -> bool {
        // Which CPUs are shared follows from those that are not.
        let is_share = |planned: &ExplainedFile| {
            planned.file == file && planned.because.contains(&Rule::CpuManagerSharesCpus.into())
        };
        cgroup.files.iter().any(is_share)
            || rests_on(cgroup, file, settings, self.has_pod_level_resources)
                .contains(&Premise::Fact(CgroupFact::Pods))
    }

    /// Returns why the place of the kubelet's cgroups is not known.
    pub fn unknown_place(&self, settings: &CgroupSettings) -> Option<Unknown> {
        self.first_missing(&PLACE, settings)
    }

    fn first_missing(&self, facts: &[Premise], settings: &CgroupSettings) -> Option<Unknown> {
        let fact = facts.iter().find_map(|premise| self.missing_of(*premise, settings))?;
        Some(Unknown { fact, reason: self.reason(fact) })
    }

    /// Returns why a missing fact is not known, with the flag that supplies it.
    pub fn reason(&self, fact: CgroupFact) -> String {
        match (fact, &self.unknown_pods) {
            (CgroupFact::Pods, Some(reason)) => reason.clone(),
            _ => format!("{fact} ({})", fact.flag()),
        }
    }

    /// Returns the reason of each missing fact; the fields of one configuration are named together.
    pub fn summary(&self, facts: &BTreeSet<CgroupFact>) -> Vec<Missing> {
        let field = |fact: &CgroupFact| match fact {
            CgroupFact::KubeletConfig(field) => Some(*field),
            _ => None,
        };
        let fields: Vec<&str> = facts.iter().filter_map(field).collect();
        let others = facts.iter().filter(|fact| field(fact).is_none());
        let one = |fact: &CgroupFact| Missing::new((*fact).into(), self.reason(*fact));
        let mut missing: Vec<Missing> = others.map(one).collect();
        if !fields.is_empty() {
            let fields = fields.join(", ");
            let text = format!(
                "the kubelet's configuration is not known: {fields} (--kubelet-config FILE)"
            );
            missing.push(Missing::new(MissingFact::KubeletConfig, text).about(fields));
        }
        missing
    }

    /// Returns true if a field of the configuration is not known.
    fn lacks(&self, field: &str) -> bool {
        let is_unknown = self.lacks_configuration && !self.given_fields.contains(field);
        is_unknown || self.refused_fields.contains(field)
    }

    fn missing_of(&self, premise: Premise, settings: &CgroupSettings) -> Option<CgroupFact> {
        let is_missing = |fact: CgroupFact| self.missing.contains(&fact).then_some(fact);
        match premise {
            Premise::Fact(fact) => is_missing(fact),
            Premise::Field(field) => self.lacks(field).then_some(CgroupFact::KubeletConfig(field)),
            Premise::Gate(gate) if self.given_gates.contains(gate.name()) => None,
            Premise::Gate(_) if self.lacks("featureGates") => {
                Some(CgroupFact::KubeletConfig("featureGates"))
            }
            Premise::Gate(gate) => {
                is_missing(CgroupFact::KubeletVersion).filter(|_| differs_by_version(gate))
            }
            Premise::Since(_) => is_missing(CgroupFact::KubeletVersion),
            Premise::Rounding => is_missing(CgroupFact::CgroupDriver)
                .or_else(|| is_missing(CgroupFact::CgroupVersion))
                .filter(|_| {
                    settings.version == CgroupVersion::V2
                        || settings.driver == CgroupDriver::Systemd
                }),
        }
    }
}

/// What the place of every cgroup rests on.
const PLACE: [Premise; 3] = [
    Premise::Field("cgroupRoot"),
    Premise::Field("cgroupsPerQOS"),
    Premise::Fact(CgroupFact::CgroupDriver),
];

/// Returns true if the known versions of the kubelet differ in the default of a gate.
fn differs_by_version(gate: Gate) -> bool {
    let default = |version| FeatureGates::for_version(version).enabled(gate);
    let defaults: BTreeSet<bool> = KubeletVersion::supported().map(default).collect();
    defaults.len() > 1
}

/// What leaves less or more for pods.
const RESERVED: [&str; 5] = [
    "systemReserved",
    "kubeReserved",
    "reservedSystemCPUs",
    "enforceNodeAllocatable",
    "cgroupsPerQOS",
];

/// Returns what the text of a file rests on, whether or not it is planned.
fn rests_on(
    cgroup: &PlannedCgroup<'_>,
    file: &str,
    settings: &CgroupSettings,
    pod_level: bool,
) -> Vec<Premise> {
    let mut premises = Vec::new();
    let Some(file) = CgroupFile::named(file) else { return premises };
    if file.has_size() {
        premises.push(Premise::Fact(CgroupFact::HugepageCapacity));
    }
    match cgroup.owner {
        Owner::Node(NodePart::Kubepods) => {
            of_kubepods(cgroup, file, settings, pod_level, &mut premises);
        }
        Owner::Node(part) => of_reserved(part, file, &mut premises),
        Owner::Qos(class) => of_class(class, file, settings, pod_level, &mut premises),
        Owner::Pod(pod, class) => of_pod(cgroup, pod, class, file, settings, &mut premises),
        Owner::Container { pod, class, pinned, .. } => {
            of_container(cgroup, pod, class, pinned, file, settings, &mut premises);
        }
    }
    premises
}

/// A limit of no process is 1 in the file, or nothing, see `KubeletRules::writes_limit_of_no_process`.
fn of_no_process(cgroup: &PlannedCgroup<'_>, settings: &CgroupSettings) -> Option<Premise> {
    let text = cgroup.text(CgroupFile::PidsMax.name(settings.version));
    matches!(text, None | Some("1")).then_some(Premise::Since(LIMITS_OF_NONE))
}

fn of_kubepods(
    cgroup: &PlannedCgroup<'_>,
    file: CgroupFile,
    settings: &CgroupSettings,
    pod_level: bool,
    premises: &mut Vec<Premise>,
) {
    match file {
        CgroupFile::CpuShares | CgroupFile::CpuWeight | CgroupFile::MemoryMax => {
            premises.extend(RESERVED.map(Premise::Field));
        }
        CgroupFile::PidsMax => {
            premises.extend(RESERVED.map(Premise::Field));
            premises.extend(of_no_process(cgroup, settings));
        }
        CgroupFile::CpusetCpus => premises.push(Premise::Field("cpuManagerPolicy")),
        CgroupFile::MemoryMin => of_class_protection(settings, pod_level, premises),
        _ if file.has_size() => premises.push(Premise::Field("cgroupsPerQOS")),
        _ => {}
    }
}

fn of_reserved(part: NodePart, file: CgroupFile, premises: &mut Vec<Premise>) {
    premises.extend([Premise::Field(part.name()), Premise::Field("enforceNodeAllocatable")]);
    match file {
        CgroupFile::CpuShares | CgroupFile::CpuWeight => {
            premises.push(Premise::Field("reservedSystemCPUs"))
        }
        CgroupFile::MemoryMin => premises.push(Premise::Gate(Gate::MemoryQos)),
        CgroupFile::CpusetCpus => premises.push(Premise::Field("cpuManagerPolicy")),
        _ => {}
    }
}

fn of_class(
    class: QosClass,
    file: CgroupFile,
    settings: &CgroupSettings,
    pod_level: bool,
    premises: &mut Vec<Premise>,
) {
    match file {
        CgroupFile::CpuShares | CgroupFile::CpuWeight if class == QosClass::Burstable => {
            of_sum(pod_level, premises);
        }
        CgroupFile::MemoryMax => {
            premises.push(Premise::Gate(Gate::QosReserved));
            if settings.rules.gates.enabled(Gate::QosReserved) {
                premises.push(Premise::Field("qosReserved"));
                premises.extend(RESERVED.map(Premise::Field));
                of_sum(pod_level, premises);
            }
        }
        CgroupFile::MemoryMin | CgroupFile::MemoryLow if class == QosClass::Burstable => {
            of_class_protection(settings, pod_level, premises);
        }
        _ => {}
    }
}

/// What memory QoS protects of all pods together.
fn of_class_protection(settings: &CgroupSettings, pod_level: bool, premises: &mut Vec<Premise>) {
    of_protection(settings, premises);
    let adds_up = !settings.rules.memory_reservation_policies()
        || settings.memory_reservation_policy == MemoryReservationPolicy::TieredReservation;
    if has_memory_qos(settings) && adds_up {
        of_sum(pod_level, premises);
    }
}

/// What is added up over all pods rests on all of them, and on how each is counted.
fn of_sum(pod_level: bool, premises: &mut Vec<Premise>) {
    premises.push(Premise::Fact(CgroupFact::Pods));
    if pod_level {
        premises.push(Premise::Gate(Gate::PodLevelResources));
    }
}

/// What memory QoS protects at all.
fn of_protection(settings: &CgroupSettings, premises: &mut Vec<Premise>) {
    if settings.version == CgroupVersion::V1 {
        return;
    }
    premises.push(Premise::Gate(Gate::MemoryQos));
    if has_memory_qos(settings) {
        premises.push(Premise::Since(RESERVATION_POLICIES));
        premises.push(Premise::Field("memoryReservationPolicy"));
    }
}

fn has_memory_qos(settings: &CgroupSettings) -> bool {
    settings.version == CgroupVersion::V2 && settings.rules.gates.enabled(Gate::MemoryQos)
}

fn of_pod(
    cgroup: &PlannedCgroup<'_>,
    pod: &Pod,
    class: QosClass,
    file: CgroupFile,
    settings: &CgroupSettings,
    premises: &mut Vec<Premise>,
) {
    let is_planned = cgroup.text(file.name(settings.version)).is_some();
    of_pod_level(pod, file, premises);
    match file {
        CgroupFile::CpuMax | CgroupFile::CpuCfsQuota | CgroupFile::CpuCfsPeriod if is_planned => {
            of_quota(pod, class, settings, premises);
            if is_rounded_by_version(cgroup, file.name(settings.version)) {
                premises.push(Premise::Since(ROUNDED_QUOTAS));
            }
        }
        CgroupFile::PidsMax => premises.push(Premise::Field("podPidsLimit")),
        CgroupFile::MemoryMin | CgroupFile::MemoryLow => {
            of_protection(settings, premises);
            // A page size that the node lacks makes a write fail, and these files come after it.
            if asks_for_hugepages(pod) {
                premises.push(Premise::Fact(CgroupFact::HugepageCapacity));
            }
        }
        _ => {}
    }
}

/// Returns true if the version decides whether the file gets systemd's quota, see `KubeletRules::writes_rounded_quota`.
fn is_rounded_by_version(cgroup: &PlannedCgroup<'_>, name: &str) -> bool {
    let written = cgroup.files.iter().find(|written| written.file == name);
    let last = written.and_then(|written| written.because.last());
    matches!(last, Some(Step::SystemdQuota { .. } | Step::SystemdQuotaLater { .. }))
}

fn asks_for_hugepages(pod: &Pod) -> bool {
    let spec = &pod.spec;
    let containers = spec.containers_and_init();
    let resources = containers.map(|container| &container.resources).chain(&spec.resources);
    let mut names = resources.flat_map(|it| it.requests.iter().chain(it.limits.iter()));
    names.any(|(name, _)| name.hugepage_size().is_some())
}

/// Resources of the whole pod count where the kubelet reads them.
fn of_pod_level(pod: &Pod, file: CgroupFile, premises: &mut Vec<Premise>) {
    if pod.spec.resources.is_none() {
        return;
    }
    premises.push(Premise::Gate(Gate::PodLevelResources));
    if file.has_size() {
        premises.push(Premise::Since(34));
    }
}

fn of_quota(pod: &Pod, class: QosClass, settings: &CgroupSettings, premises: &mut Vec<Premise>) {
    premises.extend([
        Premise::Field("cpuCFSQuota"),
        Premise::Field("cpuCFSQuotaPeriod"),
        Premise::Rounding,
    ]);
    if settings.cpu_cfs_quota_period_us != 100_000 {
        premises.push(Premise::Gate(Gate::CustomCpuCfsQuotaPeriod));
    }
    // Only these can have CPUs of their own.
    if class == QosClass::Guaranteed && pod.spec.resources.is_none() {
        premises.push(Premise::Field("cpuManagerPolicy"));
        if settings.static_cpu_manager {
            premises.push(Premise::Gate(Gate::DisableCpuQuotaWithExclusiveCpus));
        }
    }
}

fn of_container(
    cgroup: &PlannedCgroup<'_>,
    pod: &Pod,
    class: QosClass,
    pinned: bool,
    file: CgroupFile,
    settings: &CgroupSettings,
    premises: &mut Vec<Premise>,
) {
    of_pod_level(pod, file, premises);
    premises.extend(file.row().rests_on);
    match file {
        CgroupFile::CpuWeight if is_formula_decisive(cgroup) => {
            premises.push(Premise::Fact(CgroupFact::RuntimeFormula));
        }
        CgroupFile::CpuMax | CgroupFile::CpuCfsQuota | CgroupFile::CpuCfsPeriod => {
            of_quota(pod, class, settings, premises);
        }
        CgroupFile::CpusetCpus | CgroupFile::CpusetMems => {
            premises.push(Premise::Field("cpuManagerPolicy"));
            if pinned || class == QosClass::Guaranteed {
                premises.push(Premise::Field("reservedSystemCPUs"));
            }
        }
        CgroupFile::MemoryMin | CgroupFile::MemoryLow => of_protection(settings, premises),
        CgroupFile::MemoryHigh => {
            of_protection(settings, premises);
            if has_memory_qos(settings) {
                premises.push(Premise::Field("memoryThrottlingFactor"));
                premises.push(Premise::Fact(CgroupFact::PageSize));
                // Without a limit of its own, what the node has for pods counts.
                premises.extend(["systemReserved", "kubeReserved"].map(Premise::Field));
            }
        }
        CgroupFile::HugetlbMax => premises.push(Premise::Fact(CgroupFact::RuntimeHugepages)),
        // The oldest runtimes do not limit reservations.
        CgroupFile::HugetlbRsvdMax => {
            premises.push(Premise::Fact(CgroupFact::RuntimeHugepages));
            premises.push(Premise::Fact(CgroupFact::RuntimeFormula));
        }
        _ => {}
    }
}

/// Returns true if the other formula would give a container another weight.
fn is_formula_decisive(cgroup: &PlannedCgroup<'_>) -> bool {
    let weights = cgroup
        .files
        .iter()
        .filter(|file| CgroupFile::named(&file.file) == Some(CgroupFile::CpuWeight));
    let mut steps = weights.flat_map(|file| &file.because);
    steps.any(|step| matches!(step, Step::SharesToWeight { otherwise: Some(otherwise), weight, .. } if otherwise != weight))
}

#[cfg(test)]
mod tests;

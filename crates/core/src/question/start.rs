//! Would this kubelet start, and with which words does it end? Every command that says something of the start asks here.

use super::device_panic::device_panic;
use crate::kubelet_start::{
    CgroupProgress, Machine, NotExamined, Stage, StartExamination, StartFacts, StartFinding,
    StartProblem, StartRule, StartWarning, StartWrite, examine, missing_paths,
};
use crate::question::cgroup::first_hugepages;
use crate::question::cgroup::plan::PlanInput;
use crate::question::what_if::NodeState;
use kq_answer::{Certainty, Failure, Missing, MissingFact, Sentences, Severity};
use kq_cgroup::node::NodePart;
use kq_cgroup::plan::{Owner, PlannedCgroup};
use kq_cgroup::resource_config::ExplainedFile;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::checkpoint::StateFile;
use kq_facts::config_on_disk::ConfigOnDisk;
use kq_facts::describe::ConfigSource;
use kq_facts::filesystems::{Filesystem, FolderRole};
use kq_facts::host::Text;
use kq_facts::kubelet_config::Source;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::Selection;
use kq_facts::runtime::RuntimeFacts;
use kq_facts::snapshot::Snapshot;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::pod::ResourceName;
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::{KubeletVersion, VersionSupport};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where it looks up the NUMA nodes of devices.
const DEVICE_PANIC: &str =
    "pkg/kubelet/cm/devicemanager/topology_hints.go generateDeviceTopologyHints";

/// The next start of a kubelet.
#[derive(Clone, Debug)]
pub struct KubeletStart {
    /// Whether it starts; `None`: a fact that decides is not known.
    pub starts: Option<bool>,
    /// What is said of it, in the kubelet's order, each with the kubelet's file and function.
    pub findings: Vec<(StartFinding, Option<&'static str>)>,
    /// The checks of the kubelet that were skipped.
    pub not_examined: Vec<NotExamined>,
    /// It does not start with its configuration.
    pub refuses_config: bool,
    /// The state files with which it does not start, each with its words.
    pub refused_files: Vec<(StateFile, String)>,
    /// The state files that it does not read, those that are removed before among them.
    pub unread_files: BTreeSet<StateFile>,
    /// The state files that its unit removes before each start.
    pub removed_files: BTreeSet<StateFile>,
}

/// Returns whether a node's kubelet would start now, with the files, flags and machine that it has.
pub fn kubelet_start(node: &Node) -> KubeletStart {
    let on_disk = node.config_on_disk();
    let examination = examine_start(&node.snapshot, &node.overrides, on_disk);
    let mut start = KubeletStart::of(&examination, node.kubelet.version, &[]);
    start.doubt_version(&node.snapshot, &node.overrides);
    start.add_writes(&writes_before_end(&node.snapshot, &node.overrides, &examination));
    if !knows_config(on_disk) {
        let reason = match node.missing_config().next() {
            Some(missing) => missing.text,
            None => "the kubelet's configuration is not known (--kubelet-config FILE)".to_owned(),
        };
        start.only_flags(&examination, reason);
    }
    if start.starts == Some(true)
        && let Some(panic) = device_panic(node, None)
    {
        start.starts = None;
        start.findings.push((panic, Some(DEVICE_PANIC)));
    }
    start
}

/// Returns why no kubelet admits a pod: none is known to run, and it does not start. `None`: one runs, or may start.
pub fn no_kubelet(node: &Node) -> Option<String> {
    match node.snapshot.kubelet.found {
        Some(_) => None,
        None => kubelet_start(node).certain_error(node.kubelet.version),
    }
}

/// Returns true if the configuration of the next start is known: its files, or that it has none.
fn knows_config(on_disk: &ConfigOnDisk) -> bool {
    let has_none = on_disk.process.as_ref().is_some_and(|process| {
        let flags = process.interpreted();
        !process.hides_flags() && flags.config.is_none() && flags.config_dir.is_none()
    });
    has_none || on_disk.file.is_some() || !on_disk.drop_ins.is_empty()
}

impl KubeletStart {
    /// Returns the answer in a sentence: why it does not start, what is not known, or that it starts.
    pub fn sentence(&self, version: KubeletVersion) -> String {
        let worst = self.findings.iter().map(|(finding, _)| finding).min_by_key(|it| it.severity());
        let starts =
            StartFinding::Starts { version: version.to_string(), not_checked: self.not_checked() };
        worst.filter(|it| it.severity() < Severity::Warning).unwrap_or(&starts).sentences().found
    }

    /// Returns why it does not start, or likely does not; `None`: nothing that was checked stops it.
    pub fn error(&self, version: KubeletVersion) -> Option<String> {
        let stops = |(finding, _): &(StartFinding, _)| finding.severity() == Severity::Error;
        self.findings.iter().any(stops).then(|| self.sentence(version))
    }

    /// Returns what is missing where a fact that decides is not known. A configuration that is not known is missing, or was
    /// assumed, by itself.
    pub fn missing(&self, node: &Node) -> Option<Missing> {
        let is_open = self.starts.is_none() && knows_config(node.config_on_disk());
        let unknown = |(finding, _): &(StartFinding, _)| match finding {
            StartFinding::Unknown { reason, .. } => Some(reason.clone()),
            _ => None,
        };
        let open = |(finding, _): &(StartFinding, _)| {
            (finding.severity() == Severity::Unknown).then(|| finding.sentences().found)
        };
        let mut findings = self.findings.iter();
        let reason = findings.clone().find_map(unknown).or_else(|| findings.find_map(open));
        let reason = reason.filter(|_| is_open)?;
        Some(Missing::new(MissingFact::NextStart, format!("whether the kubelet starts: {reason}")))
    }

    /// Returns why it certainly does not start.
    pub fn certain_error(&self, version: KubeletVersion) -> Option<String> {
        (self.starts == Some(false)).then(|| self.sentence(version))
    }

    /// Leaves the start open where a kubelet runs whose version could not be read.
    pub fn doubt_version(&mut self, snapshot: &Snapshot, overrides: &Overrides) {
        let is_unread =
            snapshot.kubelet.found.is_some() && snapshot.version_of(overrides).is_none();
        if is_unread && self.starts == Some(true) {
            let reason = "the gates, flags and fields that this kubelet rejects: its version is unknown \
                          (--kubelet-version VERSION)";
            self.doubt(reason.to_owned());
        }
    }

    /// Leaves a start after a boot open with the static memory manager, which compares the memory of the NUMA nodes with that of
    /// the boot before, byte by byte (`areMachineStatesEqual`, `pkg/kubelet/cm/memorymanager/policy_static.go`).
    pub fn doubt_boot(&mut self, node: &Node) {
        let file = node.snapshot.state_files.as_ref();
        let file = file.and_then(|files| files.get(StateFile::Memory.name()));
        let is_compared = node.config().memory_manager_policy == "Static"
            && !self.removed_files.contains(&StateFile::Memory)
            && matches!(file, Some(Text::Read(_) | Text::Unreadable(_)));
        if is_compared && self.starts == Some(true) {
            self.doubt(
                "memory_manager_state has the memory that the kernel left at this boot: a kubelet that finds other amounts after \
                 the next one exits (a real node had 8 KiB less)"
                    .to_owned(),
            );
        }
    }

    /// Leaves the start open.
    pub fn doubt(&mut self, reason: String) {
        self.findings.push((StartFinding::Unknown { reason, text: None }, None));
        self.starts = None;
    }

    /// Leaves the start open for a check that was skipped, and that the start before the change does not make.
    pub fn doubt_new_checks(&mut self, before: &StartExamination) {
        let new = self.not_examined.iter().find(|it| it.is_new_to(before));
        if let Some(NotExamined { what, fact, .. }) = new.cloned() {
            self.findings.push((StartFinding::NewCheck { what, fact }, None));
            self.starts = None;
        }
    }

    /// Adds what the kubelet has written before the problem that ends its start.
    pub fn add_writes(&mut self, written: &[StartWrite]) {
        for (finding, _) in &mut self.findings {
            if let StartFinding::Stops { writes, .. } = finding {
                writes.extend_from_slice(written);
            }
        }
    }

    /// Returns the facts that checks need which were skipped.
    pub fn not_checked(&self) -> Vec<String> {
        let facts: BTreeSet<&str> = self.not_examined.iter().map(|it| it.fact).collect();
        facts.into_iter().map(str::to_owned).collect()
    }

    /// Leaves what is certain without a configuration: the errors of the command line.
    fn only_flags(&mut self, examination: &StartExamination, reason: String) {
        let is_of_flags =
            |it: &&StartProblem| matches!(it.stage, Stage::Unit | Stage::Flags | Stage::FlagValues);
        let problems: Vec<_> = examination.problems.iter().filter(is_of_flags).collect();
        self.findings = problems.iter().map(|it| (StartFinding::of(it), Some(it.source))).collect();
        self.refused_files.clear();
        self.refuses_config = false;
        if problems.is_empty() {
            self.starts = None;
            self.findings.push((StartFinding::Unknown { reason, text: None }, None));
        }
    }

    /// Judges an examination. `logged`: the warnings that the kubelet which runs has logged at its start.
    pub fn of(
        examination: &StartExamination,
        version: KubeletVersion,
        logged: &[StartWarning],
    ) -> Self {
        let is_unknown = !matches!(version.known(), VersionSupport::Inside(_));
        let problems = || {
            let all = examination.problems.iter();
            all.filter(|problem| !is_unknown || !is_of_version(&problem.rule))
        };
        let mut findings: Vec<_> =
            problems().map(|problem| (StartFinding::of(problem), Some(problem.source))).collect();
        // A kubelet that does not start does not start with less, either.
        let ends = problems().any(|problem| problem.certainty == Certainty::Certain);
        let is_of_start = |finding: &StartFinding| {
            matches!(
                finding,
                StartFinding::Ignores { .. }
                    | StartFinding::OtherDriver { .. }
                    | StartFinding::Warns { .. }
                    | StartFinding::WarnsAgain { .. }
            )
        };
        let warnings = examination.warnings.iter().filter(|_| !is_unknown);
        let warnings =
            warnings.map(|warning| StartFinding::of_warning(warning, logged.contains(warning)));
        let warnings = warnings.filter(|finding| !(ends && is_of_start(finding)));
        findings.extend(warnings.map(|warning| (warning, None)));
        let mut starts = match problems().next() {
            None => Some(true),
            Some(problem) if problem.certainty == Certainty::Certain => Some(false),
            Some(_) => None,
        };
        if is_unknown && starts == Some(true) {
            let reason = format!(
                "the start of kubelet {version}: kq knows the gates, flags and fields of {} to {}",
                KubeletVersion::OLDEST,
                KubeletVersion::NEWEST
            );
            findings.push((StartFinding::Unknown { reason, text: None }, None));
            starts = None;
        }
        if examination.is_runtime_silent && starts == Some(true) {
            let reason = "the container runtime did not answer kq, and a kubelet whose runtime does not answer exits"
                .to_owned();
            findings.push((StartFinding::Unknown { reason, text: None }, None));
            starts = None;
        }
        if !examination.unreadable.is_empty() && starts == Some(true) {
            let files = examination.unreadable.join(", ");
            let reason = format!("{files}, and a kubelet exits on an invalid state file");
            findings.push((StartFinding::Unknown { reason, text: None }, None));
            starts = None;
        }
        let gates = examination.gates.unwrap_or_else(|| FeatureGates::for_version(version));
        let removed_files = examination.removed.clone();
        let is_unread =
            |file: &StateFile| !file.is_read_at_start(gates) || removed_files.contains(file);
        let unread_files = StateFile::ALL.into_iter().filter(is_unread).collect();
        Self {
            starts,
            findings,
            not_examined: examination.unknown.clone(),
            refuses_config: problems().any(|it| is_of_config(&it.rule)),
            refused_files: problems().filter_map(refused_file).collect(),
            unread_files,
            removed_files,
        }
    }
}

/// Returns the state file that a problem is about, with the kubelet's words.
fn refused_file(problem: &StartProblem) -> Option<(StateFile, String)> {
    match &problem.rule {
        StartRule::StateFile { file, .. } if problem.certainty == Certainty::Certain => {
            Some((*file, problem.text.clone()))
        }
        _ => None,
    }
}

/// Returns true if the rule is one of gates, flags or fields, which each version has of its own.
fn is_of_version(rule: &StartRule) -> bool {
    matches!(
        rule,
        StartRule::UnknownFlag { .. }
            | StartRule::Gates { .. }
            | StartRule::GatesInFile { .. }
            | StartRule::FieldType { .. }
            | StartRule::MergedType { .. }
            | StartRule::Invalid { .. }
    )
}

/// Returns true if the problem is in the configuration, not in the command line, the machine or a state file.
fn is_of_config(rule: &StartRule) -> bool {
    !matches!(
        rule,
        StartRule::MaskedUnit { .. }
            | StartRule::UnknownFlag { .. }
            | StartRule::FlagValue { .. }
            | StartRule::UnknownLabels { .. }
            | StartRule::InvalidLabels { .. }
            | StartRule::SwapOn { .. }
            | StartRule::StateFile { .. }
    )
}

fn root_filesystem(snapshot: &Snapshot) -> Option<&Filesystem> {
    snapshot.folders.get(&FolderRole::Kubelet)?.filesystem.value()
}

/// Follows the start of a kubelet with these facts.
pub(super) fn examine_start(
    snapshot: &Snapshot,
    overrides: &Overrides,
    on_disk: &ConfigOnDisk,
) -> StartExamination {
    let object = snapshot.node.value();
    let mut machine = Machine::of_host(&snapshot.host);
    let reported = object.into_iter().flat_map(|object| object.status.capacity.iter());
    let mut given = overrides.capacity.clone();
    for (name, amount) in reported {
        if !machine.capacity.contains(name) && !given.contains(name) {
            given.insert(name.clone(), amount.clone());
        }
    }
    for (name, amount) in given.iter() {
        // The kubelet counts CPUs in thousandths, and so does it write them.
        let amount = match name {
            ResourceName::Cpu => Quantity::from_milli(amount.milli_value(), Format::DecimalSi),
            _ => amount.clone(),
        };
        machine.capacity.insert(name.clone(), amount);
    }
    let tree = snapshot.cgroups.value();
    let version = overrides.cgroup_version.or_else(|| tree?.layout.version());
    let version = version.or_else(|| snapshot.host.cgroup_layout().ok()?.version());
    let missing = |cgroup: &str| missing_paths(tree?, version?, cgroup);
    let runtime = snapshot.runtime.value();
    let driver = runtime.and_then(RuntimeFacts::driver_for_kubelet);
    examine(&StartFacts {
        version: snapshot.version_of(overrides),
        process: on_disk.process.as_ref(),
        config_file: on_disk.file.clone(),
        drop_ins: on_disk.drop_ins.clone(),
        cgroup_version: version,
        runtime_driver: driver.map(|it| it.value),
        swap_bytes: overrides
            .swap_capacity
            .or_else(|| object?.status.node_info.swap.capacity)
            .or_else(|| snapshot.host.swap_bytes().ok()),
        machine: Some(machine),
        state_files: snapshot.state_files.as_ref(),
        masked_by: on_disk.masked_by.as_deref(),
        is_unit_assumed: on_disk.is_unit_assumed,
        removes: &on_disk.removes,
        missing_paths: Some(&missing),
        files: snapshot.start_files.value(),
        now: snapshot.taken_at.parse().ok(),
        root_filesystem: root_filesystem(snapshot),
        runtime_answers: match snapshot.runtime.was_not_queried() {
            true => None,
            false => Some(runtime.is_some()),
        },
        runs: snapshot.kubelet.found.is_some(),
    })
}

/// Returns the values of cgroups that a start writes before the problem that ends it; none where it ends before it comes to
/// cgroups, or where they are not known.
///
/// The reserved cgroups are written in turn. What is above pods is written by two threads, which the end may come before
/// (`enforceNodeAllocatableCgroups`, `node_container_manager_linux.go`; `qosContainerManagerImpl.Start`,
/// `qos_container_manager_linux.go`, read in 1.36.2).
pub(super) fn writes_before_end(
    snapshot: &Snapshot,
    overrides: &Overrides,
    examination: &StartExamination,
) -> Vec<StartWrite> {
    let progress = examination.first().and_then(|problem| problem.cgroups.as_ref());
    let written =
        progress.map(|progress| planned_writes(snapshot, overrides, examination, progress));
    written.and_then(Result::ok).unwrap_or_default()
}

/// Plans the cgroups of a node whose kubelet enforces what it came to.
fn planned_writes(
    snapshot: &Snapshot,
    overrides: &Overrides,
    examination: &StartExamination,
    progress: &CgroupProgress,
) -> Result<Vec<StartWrite>, Failure> {
    let mut config = Value::clone(&examination.config);
    if let Value::Object(fields) = &mut config {
        let set = fields.get("enforceNodeAllocatable").and_then(Value::as_array);
        // What is not set is `pods`.
        let has_pods = set.is_none_or(|keys| keys.iter().any(|key| key == "pods"));
        let pods = has_pods.then_some("pods").into_iter();
        let keys: Vec<&str> = pods.chain(progress.enforced.iter().map(|it| it.key)).collect();
        fields.insert("enforceNodeAllocatable".to_owned(), json!(keys));
    }
    // What options say of the configuration is in it.
    let mut state = NodeState::of(snapshot.clone(), overrides.clone())?;
    state.put_config(ConfigSource {
        value: Arc::new(config),
        source: Some(Source::Configz),
        ..ConfigSource::default()
    });
    let live = state.node()?;
    let input = PlanInput::of_live(&live, Selection::default(), false)?;
    let node = input.node.clone();
    let first: BTreeMap<String, String> = first_hugepages(&node)
        .flat_map(|it| [(it.file, it.value.clone()), (it.reserved, it.value)])
        .collect();
    let is_enforced =
        |part| progress.enforced.iter().filter(|it| it.part == part).all(|it| it.is_certain);
    let (plan, _) = input.answer()?;
    let mut writes = Vec::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup: &PlannedCgroup<'_>, _| match cgroup.owner {
            Owner::Node(NodePart::Kubepods) => {
                writes.extend(kubepods(cgroup, &node, &first));
            }
            Owner::Node(part) => {
                let is_certain = is_enforced(part);
                writes.extend(cgroup.files.iter().map(|file| StartWrite {
                    cgroup: cgroup.path.clone(),
                    file: file.file.to_string(),
                    value: file.value.clone(),
                    or: None,
                    is_certain,
                }));
            }
            Owner::Qos(QosClass::Burstable) => writes.push(burstable_at_start(cgroup, &node)),
            _ => {}
        });
    }
    // What is certain comes first.
    writes.sort_by_key(|it| !it.is_certain);
    Ok(writes)
}

/// Returns what is written into the cgroup of all pods at the start.
fn kubepods(
    cgroup: &PlannedCgroup<'_>,
    node: &NodeConfig,
    first: &BTreeMap<String, String>,
) -> Vec<StartWrite> {
    let is_of_classes = |file: &str| {
        CgroupFile::named(file).is_some_and(|it| it.has_size() || it == CgroupFile::MemoryMin)
    };
    let one = |file: &ExplainedFile| {
        let name = file.file.to_string();
        let huge_pages = first.get(&name).filter(|_| node.cgroup_driver == CgroupDriver::Systemd);
        if is_of_classes(&name) && huge_pages.is_none() {
            return None;
        }
        Some(StartWrite {
            cgroup: cgroup.path.clone(),
            value: huge_pages.unwrap_or(&file.value).clone(),
            or: huge_pages.map(|_| file.value.clone()),
            file: name,
            is_certain: false,
        })
    };
    cgroup.files.iter().filter_map(one).collect()
}

/// Returns the weight of the Burstable class before the kubelet knows any pod.
fn burstable_at_start(cgroup: &PlannedCgroup<'_>, node: &NodeConfig) -> StartWrite {
    let (file, value) = first_weight(node.cgroup_version);
    StartWrite {
        cgroup: cgroup.path.clone(),
        file: file.to_owned(),
        value: value.to_owned(),
        or: None,
        is_certain: false,
    }
}

/// Returns the file of the weight of a QoS class, and the value of one without pods.
pub(super) fn first_weight(version: CgroupVersion) -> (&'static str, &'static str) {
    match version {
        CgroupVersion::V1 => ("cpu.shares", "2"),
        CgroupVersion::V2 => ("cpu.weight", "1"),
    }
}

//! Every cgroup value of a node for a set of pods: the tree of cgroups, top down.

use crate::container::ContainerKind;
use crate::files::{CgroupDriver, FileValue};
use crate::knowledge::{Knowledge, Unknown};
use crate::node::{EnforceError, NodePart};
use crate::planner::Planner;
use crate::pod::pinned_containers;
use crate::resource_config::ExplainedFile;
use crate::rule::Rule;
use crate::settings::CgroupSettings;
use kq_answer::Failure;
use kq_answer::cgroup_fact::CgroupFact;
use kq_answer::warning::{Warning, WarningCode};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_name::CgroupNameError;
use kq_facts::checkpoint::cpu_manager::CpuState;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::pod_selector::Selection;
use kq_facts::unit::Property;
use kq_facts::weight_formula::{UnderSystemd, WeightFormula, limits_reservations};
use kq_facts::workloads::effective_uid;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::{Container, ContainerStatus, Pod};
use kq_k8s::qos::QosClass;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What containers get from their low-level runtime depends on its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeFormula {
    /// The formula with which it turns shares into a weight.
    pub formula: WeightFormula,
    pub assumed: bool,
    /// It limits reservations of huge pages too, as runc does from 1.1.10 on.
    pub limits_reservations: bool,
    /// The container runtime above it leaves out the limits of huge pages; `None`: unknown.
    pub disables_hugetlb: Option<bool>,
    /// What it writes where systemd manages cgroups.
    pub under_systemd: UnderSystemd,
}

/// The low-level runtimes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtimes {
    /// That of pods without a RuntimeClass.
    pub default: RuntimeFormula,
    /// Those of pods with one, by UID, as far as they are known.
    by_uid: BTreeMap<String, RuntimeFormula>,
}

impl From<RuntimeFormula> for Runtimes {
    fn from(default: RuntimeFormula) -> Self {
        Self { default, by_uid: BTreeMap::new() }
    }
}

impl Runtimes {
    /// Returns the runtimes of a node: the flags, else what the container runtime says.
    pub fn of_node(node: &Node) -> Result<Self, Failure> {
        let default = RuntimeFormula::of_node(node)?;
        let Some(facts) = node.snapshot.runtime.value() else { return Ok(default.into()) };
        let sandboxes = facts.sandboxes.value().into_iter().flatten();
        let by_uid = sandboxes.filter_map(|sandbox| {
            let handler = sandbox.runtime_handler.as_str();
            let given = named_runtimes(node).find(|(name, _)| *name == handler);
            let (name, version) = given.or_else(|| {
                let found = facts.handlers.get(handler)?.value()?;
                Some((found.name.as_str(), found.version.as_str()))
            })?;
            let disables_hugetlb = default.disables_hugetlb;
            let formula = RuntimeFormula::of_runtime(name, version)?;
            Some((sandbox.uid.clone(), RuntimeFormula { disables_hugetlb, ..formula }))
        });
        Ok(Self { default, by_uid: by_uid.collect() })
    }

    /// Returns the runtime of a pod.
    pub fn of(&self, pod: &Pod) -> RuntimeFormula {
        self.by_uid.get(effective_uid(pod)).copied().unwrap_or(self.default)
    }

    /// Returns true if the runtime of a pod's RuntimeClass is known.
    pub fn knows(&self, uid: &str) -> bool {
        self.by_uid.contains_key(uid)
    }
}

/// Returns the names and versions of the flag `--runtime`.
fn named_runtimes(node: &Node) -> impl Iterator<Item = (&str, &str)> {
    let given = node.overrides.runtime.as_deref().unwrap_or_default();
    given.split(',').filter_map(|runtime| runtime.trim().split_once('='))
}

impl RuntimeFormula {
    /// Returns what runtimes with this formula do; all but the oldest limit reservations.
    pub const fn new(formula: WeightFormula, assumed: bool) -> Self {
        Self {
            formula,
            assumed,
            limits_reservations: true,
            disables_hugetlb: None,
            under_systemd: UnderSystemd::All,
        }
    }

    /// Returns what a runtime does; `None` when its formula is not known.
    pub fn of_runtime(name: &str, version: &str) -> Option<Self> {
        let formula = WeightFormula::of_runtime(name, version)?;
        let limits_reservations = limits_reservations(name, version);
        let under_systemd = UnderSystemd::of_runtime(name, version);
        Some(Self { limits_reservations, under_systemd, ..Self::new(formula, false) })
    }

    /// Returns what the runtime of a node does. Where nothing says so, it is what the runtimes do that were released with
    /// the kubelet: runc has the curve since 1.3.2, which was released between kubelet 1.34 and 1.35.
    /// Fails for an override that names no runtime.
    pub fn of_node(node: &Node) -> Result<Self, Failure> {
        let facts = node.snapshot.runtime.value();
        let given = node.overrides.runtime_settings.disable_hugetlb_controller;
        let disables_hugetlb = given.or_else(|| facts?.leaves_out_hugepages());
        Ok(Self { disables_hugetlb, ..Self::low_level_of(node)? })
    }

    fn low_level_of(node: &Node) -> Result<Self, Failure> {
        if let Some(formula) = node.overrides.runtime_weight_formula {
            return Ok(Self::new(formula, false));
        }
        if let Some(runtime) = &node.overrides.runtime {
            let unknown = runtime.split(',').find(|runtime| {
                let named = runtime.trim().split_once('=');
                named.and_then(|(name, version)| Self::of_runtime(name, version)).is_none()
            });
            let first = named_runtimes(node).next().filter(|_| unknown.is_none());
            let formula = first.and_then(|(name, version)| Self::of_runtime(name, version));
            return formula.ok_or_else(|| {
                Failure::usage(UnknownRuntime(unknown.unwrap_or(runtime).to_owned()))
                    .hint("for another runtime, pass --runtime-weight-formula linear or quadratic")
            });
        }
        let runtime = node.snapshot.runtime.value();
        let found = runtime.and_then(|runtime| runtime.low_level.value());
        let found = found.and_then(|found| Self::of_runtime(&found.name, &found.version));
        Ok(found.unwrap_or_else(|| {
            let formula = match node.kubelet.version.is_of_runtimes_with_curve() {
                true => WeightFormula::Quadratic,
                false => WeightFormula::Linear,
            };
            Self::new(formula, true)
        }))
    }
}

/// A text that names no low-level runtime with its version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--runtime {0}: expected runc=VERSION, crun=VERSION or youki=VERSION")]
pub struct UnknownRuntime(pub String);

/// The planned cgroups of one node.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// What the arithmetic knew about the node.
    pub settings: CgroupSettings,
    /// kubepods with everything below it, then the reserved cgroups.
    pub roots: Vec<PlannedCgroup<'p>>,
    /// Pods that have ended and have no cgroup any more.
    pub ended: Vec<&'p Pod>,
    /// What is known of what the values rest on; at first everything is taken for known.
    pub knowledge: Knowledge,
    /// What an operator should know about single pods.
    pub warnings: Vec<Warning>,
}

/// One cgroup and what is written to it.
#[derive(Clone, Debug)]
pub struct PlannedCgroup<'p> {
    pub owner: Owner<'p>,
    /// The path below the root of the hierarchy.
    pub path: String,
    /// The files, in the order of their controllers.
    pub files: Vec<ExplainedFile>,
    /// The properties requested from systemd, if the kubelet uses it.
    pub unit: Option<SystemdUnit>,
    /// Files whose text depends on a fact that is not known.
    pub missing: Vec<(Cow<'static, str>, CgroupFact)>,
    /// What would be written to these files if the facts were what stands in for them.
    pub withheld: Vec<ExplainedFile>,
    /// The cgroups in it.
    pub children: Vec<Self>,
}

/// A slice and the properties that the kubelet asks systemd to set on it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct SystemdUnit {
    /// The unit's name.
    pub unit: String,
    /// The slice that it is in.
    pub parent: String,
    /// The properties; the largest number is `infinity`.
    pub properties: BTreeMap<&'static str, Property>,
}

/// The owner of a cgroup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owner<'p> {
    /// All pods together, or what is reserved for the system.
    Node(NodePart),
    /// The pods of one class.
    Qos(QosClass),
    Pod(&'p Pod, QosClass),
    Container {
        pod: &'p Pod,
        /// The pod's class.
        class: QosClass,
        /// How it is treated.
        kind: ContainerKind,
        name: &'p str,
        container: &'p Container,
        /// Its status: a regular container's, or else an init container's, or else an ephemeral one's.
        status: Option<&'p ContainerStatus>,
        /// It has CPUs of its own.
        pinned: bool,
    },
}

/// Why nothing can be planned on a node.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A name has no path under the driver.
    #[error("{field} {given:?} does not work with the {driver} driver")]
    Name {
        /// The field of the configuration that the name follows from.
        field: String,
        /// Its value.
        given: String,
        driver: CgroupDriver,
        /// The kubelet's words.
        #[source]
        error: CgroupNameError,
    },
    /// A reserved cgroup cannot be enforced.
    #[error("the kubelet refuses this configuration")]
    Enforce(#[from] EnforceError),
}

/// The pods of a plan: those with cgroups, and those that have ended.
#[derive(Clone, Debug)]
pub struct PlanPods<'p> {
    active: Vec<&'p Pod>,
    ended: Vec<&'p Pod>,
}

impl<'p> PlanPods<'p> {
    /// Takes pods, of which those have ended that are not active.
    pub fn of(pods: &'p [LoadedPod], is_active: impl Fn(&Pod) -> bool) -> Self {
        let (active, ended) =
            pods.iter().map(|loaded| &*loaded.pod).partition(|pod| is_active(pod));
        Self { active, ended }
    }
}

impl<'p, P: AsRef<[LoadedPod]> + ?Sized> From<&'p P> for PlanPods<'p> {
    /// Takes pods of which the phase alone is known.
    fn from(pods: &'p P) -> Self {
        Self::of(pods.as_ref(), |pod| !pod.status.has_ended())
    }
}

/// Plans the cgroups of a node for pods.
/// Fails where the kubelet stops or panics because of the node's configuration.
pub fn plan<'p>(
    pods: impl Into<PlanPods<'p>>,
    node: &NodeConfig,
    runtimes: impl Into<Runtimes>,
) -> Result<Plan<'p>, PlanError> {
    plan_with(pods.into(), node, CgroupSettings::of(node), runtimes.into())
}

/// Plans with settings that the node need not have now.
pub(crate) fn plan_with<'p>(
    pods: PlanPods<'p>,
    node: &NodeConfig,
    settings: CgroupSettings,
    runtimes: Runtimes,
) -> Result<Plan<'p>, PlanError> {
    let PlanPods { active, ended } = pods;
    let planner = Planner { node, settings, runtimes };
    let mut warnings = Vec::new();
    let mut roots = planner.kubepods(&active, &mut warnings)?;
    roots.extend(planner.reserved(&mut warnings)?);
    let knowledge = Knowledge::default();
    Ok(Plan { settings: planner.settings, roots, ended, knowledge, warnings })
}

impl Plan<'_> {
    /// Takes out of the plan every value that rests on a fact that is not known.
    pub fn withhold(&mut self, knowledge: Knowledge) {
        let mut pods = Vec::new();
        for root in &self.roots {
            root.walk(0, &mut |cgroup, _| {
                if let Owner::Pod(pod, _) = cgroup.owner {
                    pods.push(pod);
                }
            });
        }
        self.knowledge = knowledge.with_pods(pods);
        if !self.knowledge.is_complete() {
            for root in &mut self.roots {
                root.withhold(&self.knowledge, &self.settings);
            }
        }
    }

    /// Adds the CPUs of containers as the CPU manager keeps them in its file: their own, else those that
    /// all others share (`reconcileState`, `pkg/kubelet/cm/cpumanager/cpu_manager.go`, read in 1.36.2).
    pub fn assign_cpus(&mut self, state: &CpuState) {
        if self.settings.static_cpu_manager && state.policy_name == "static" {
            for root in &mut self.roots {
                root.assign_cpus(state);
            }
        }
    }

    /// Takes the cgroups of the QoS classes from a plan with the resources that specs ask for: the kubelet sums those
    /// (`setCPUCgroupConfig`, `pkg/kubelet/cm/qos_container_manager_linux.go`, read in 1.36.2), while the cgroups of a pod have what
    /// was allocated.
    pub fn take_classes(&mut self, desired: &Plan<'_>) {
        fn classes<'c, 'p>(
            cgroups: &'c mut [PlannedCgroup<'p>],
            found: &mut Vec<&'c mut PlannedCgroup<'p>>,
        ) {
            for cgroup in cgroups {
                match cgroup.owner {
                    Owner::Qos(_) => found.push(cgroup),
                    _ => classes(&mut cgroup.children, found),
                }
            }
        }
        let mut own = Vec::new();
        classes(&mut self.roots, &mut own);
        for root in &desired.roots {
            root.walk(0, &mut |cgroup, _| {
                let same = own.iter_mut().find(|it| it.path == cgroup.path);
                if let Some(own) = same {
                    own.files.clone_from(&cgroup.files);
                    own.unit.clone_from(&cgroup.unit);
                }
            });
        }
        for warning in self.warnings.iter_mut().filter(|it| it.code == WarningCode::Resizing) {
            let pod = warning.about.clone().unwrap_or_default();
            warning.text = format!(
                "pod {pod}: resize pending: its own cgroups have the allocated resources, that of its QoS class counts \
                 the requested ones"
            );
        }
    }

    /// Returns why the text of a file is not known, be it planned or not.
    pub fn unknown(&self, cgroup: &PlannedCgroup<'_>, file: &str) -> Option<Unknown> {
        self.knowledge.unknown(cgroup, file, &self.settings)
    }

    /// Returns true if the text of a file is added up over all pods.
    pub fn is_sum(&self, cgroup: &PlannedCgroup<'_>, file: &str) -> bool {
        self.knowledge.is_sum(cgroup, file, &self.settings)
    }

    /// Returns why it is not known where the kubelet's cgroups are.
    pub fn unknown_place(&self) -> Option<Unknown> {
        self.knowledge.unknown_place(&self.settings)
    }

    /// Returns the containers of a pod that the CPU manager gives CPUs of their own.
    pub fn pinned_containers<'p>(&self, pod: &'p Pod) -> impl Iterator<Item = &'p str> {
        pinned_containers(pod, &self.settings)
    }
}

/// Keeps the cgroups of the selected pods and their parents.
pub fn select(cgroups: &mut Vec<PlannedCgroup<'_>>, selection: &Selection) {
    if selection.is_all() {
        return;
    }
    cgroups.retain_mut(|cgroup| match cgroup.owner {
        Owner::Pod(pod, _) | Owner::Container { pod, .. } => {
            selection.has(&pod.metadata.namespace, &pod.display_name(), effective_uid(pod))
        }
        Owner::Node(_) | Owner::Qos(_) => {
            select(&mut cgroup.children, selection);
            !cgroup.children.is_empty()
        }
    });
}

/// Returns `NAMESPACE/NAME`.
pub fn qualified_name(pod: &Pod) -> String {
    format!("{}/{}", pod.metadata.namespace, pod.display_name())
}

impl<'p> PlannedCgroup<'p> {
    /// Returns the text of a file.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.files.iter().find(|written| written.file == file).map(|written| written.value.as_str())
    }

    fn assign_cpus(&mut self, state: &CpuState) {
        for child in &mut self.children {
            child.assign_cpus(state);
        }
        let Owner::Container { pod, kind, name, .. } = self.owner else { return };
        let uid = effective_uid(pod);
        let of_pod = state.pods.as_ref().is_some_and(|pods| pods.contains_key(uid));
        // The CPUs of an ephemeral container are not looked after, and those of a whole pod are divided.
        if kind == ContainerKind::EphemeralContainer || of_pod {
            return;
        }
        let own = state.containers.get(uid).and_then(|containers| containers.get(name));
        let (cpus, rule) = match own {
            Some(own) => (own, Rule::CpuManagerGivesCpus),
            None => (&state.default_cpu_set, Rule::CpuManagerSharesCpus),
        };
        if !cpus.is_empty() {
            let file = CgroupFile::CpusetCpus.v2_name();
            let written = FileValue { file: file.into(), value: cpus.to_string() };
            self.files.push(ExplainedFile::new(written, vec![rule.into()]));
        }
    }

    /// Takes out what is not known, here and below.
    fn withhold(&mut self, knowledge: &Knowledge, settings: &CgroupSettings) {
        let unknown = self.files.iter().filter_map(|file| {
            let unknown = knowledge.unknown(self, &file.file, settings)?;
            Some((file.file.clone(), unknown.fact))
        });
        // Without a limit nothing is written, and the limit may be what is not known.
        let limit = CgroupFile::PidsMax.name(settings.version);
        let is_limited = !matches!(self.owner, Owner::Pod(..)) || self.text(limit).is_some();
        let unlimited = (!is_limited).then(|| knowledge.unknown(self, limit, settings)).flatten();
        let unlimited = unlimited.map(|it| (Cow::from(limit), it.fact));
        let unknown: Vec<_> = unknown.chain(unlimited).collect();
        let is_unknown = |file: &ExplainedFile| unknown.iter().any(|(name, _)| *name == file.file);
        let (withheld, files) = std::mem::take(&mut self.files).into_iter().partition(is_unknown);
        (self.withheld, self.files) = (withheld, files);
        if let Some(unit) = &mut self.unit {
            let files = unknown.iter().filter_map(|(name, _)| CgroupFile::named(name));
            for property in files.flat_map(|file| file.row().properties) {
                unit.properties.remove(property);
            }
        }
        self.missing.extend(unknown);
        for child in &mut self.children {
            child.withhold(knowledge, settings);
        }
    }

    /// Walks over this cgroup and all below it, top down, with their depths.
    pub fn walk<'a>(&'a self, depth: usize, visit: &mut dyn FnMut(&'a Self, usize)) {
        visit(self, depth);
        for child in &self.children {
            child.walk(depth + 1, visit);
        }
    }
}

impl Owner<'_> {
    /// Returns who writes the files.
    pub fn writer(&self) -> &'static str {
        match self {
            Self::Container { .. } => "runtime",
            Self::Node { .. } | Self::Qos(_) | Self::Pod(..) => "kubelet",
        }
    }
}

/// Returns the controller of a file; `oom_score_adj` belongs to a process.
pub fn controller(file: &str) -> &str {
    match CgroupFile::named(file) {
        Some(known) => known.row().controller,
        None => file.split('.').next().unwrap_or(file),
    }
}

/// Returns the last element of a cgroup's path.
pub fn last_element(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

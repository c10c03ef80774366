//! Simulates a start of the kubelet with a command line, a configuration and state files, and predicts its fatal
//! errors. Pure.
//!
//! The order is that of `cmd/kubelet/app/server.go` and `pkg/kubelet/kubelet.go` of Kubernetes 1.36, with the
//! differences since 1.32. The first problem stops the kubelet; the later ones appear once it is fixed.
//! The kubelet is that of Kubernetes: those of some distributions only warn of an unknown feature gate.
//!
//! * `cpus`: the CPU manager. `flags`: the command line. `config`: the file, the drop-ins and the result.
//!   `tls`: its TLS settings. `machine`: the checks of the machine. `state`: the state files.
//! * `credentials` with `kubeconfig`: the client for the API server. `serving`: the kubelet's own server. `early`: the lock
//!   and the container runtime. `providers`: plugins for credentials of images. `node_flags`, `node_setup`: the rest.
//! * `rule`: the problems, the kubelet's messages, and the fixes. `finding`: what is said of a start.

mod config;
mod cpus;
mod credentials;
mod early;
mod finding;
mod flags;
mod kubeconfig;
mod machine;
mod node_flags;
mod node_setup;
mod place;
mod providers;
mod rule;
mod serving;
mod state;
mod tls;

use config::Read;
pub use finding::{StartFinding, StartWrite};
use flags::Said;
pub use kq_facts::config_on_disk::{ConfigContent, ConfigText};
pub use node_setup::missing_paths;
pub use place::ConfigPlace;
pub use rule::{CgroupProblem, Exit, Fix, Stage, StartRule};
use serving::Serving;

use kq_answer::reason::Reason;
use kq_answer::{Certainty, Worded};
use kq_cgroup::node::NodePart;
use kq_facts::allocatable::{ReservationError, Reservations, reservations, reserved_but_storage};
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::checkpoint::StateFile;
use kq_facts::filesystems::Filesystem;
use kq_facts::found_node::asks_for_driver;
use kq_facts::host::HostFacts;
use kq_facts::kubelet_config::EffectiveConfiguration;
use kq_facts::kubelet_process::{DEFAULT_ROOT_DIR, KubeletProcess};
use kq_facts::kubelet_unit::UNIT;
use kq_facts::start_files::{FileUse, StartFiles, named_files};
use kq_facts::state_files::{StateFiles, state_path};
use kq_facts::timestamp::Timestamp;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::go_text::quote;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::KubeletVersion;
use kq_managers::cpu_manager::CpuTopology;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns the missing paths of a cgroup such as `/kubelet`: none, if it exists; `None`: unknown.
pub type MissingPaths<'a> = &'a dyn Fn(&str) -> Option<Vec<String>>;

/// The input of a start. An unknown input is `None`.
#[derive(Clone, Default)]
pub struct StartFacts<'a> {
    pub version: Option<KubeletVersion>,
    /// Its command line.
    pub process: Option<&'a KubeletProcess>,
    /// The file of `--config`.
    pub config_file: Option<ConfigText>,
    /// The files of `--config-dir` that it reads, in its order.
    pub drop_ins: Vec<ConfigText>,
    /// The version of the machine's cgroups.
    pub cgroup_version: Option<CgroupVersion>,
    /// The driver that the runtime reports to the kubelet by `RuntimeConfig`.
    pub runtime_driver: Option<CgroupDriver>,
    /// The swap of the machine, in bytes, as far as it is known.
    pub swap_bytes: Option<i64>,
    pub machine: Option<Machine>,
    /// The files of state below its folder.
    pub state_files: Option<&'a StateFiles>,
    /// The file that masks its unit; `None`: nothing masks it.
    pub masked_by: Option<&'a str>,
    /// Its command line is that of the packages' unit: its own is not known.
    pub is_unit_assumed: bool,
    /// The files that its unit removes before the start.
    pub removes: &'a [String],
    /// Checks whether a cgroup exists.
    pub missing_paths: Option<MissingPaths<'a>>,
    /// The files that the command line and the configuration name.
    pub files: Option<&'a StartFiles>,
    /// The moment of the start.
    pub now: Option<Timestamp>,
    /// The file system of the kubelet's folder.
    pub root_filesystem: Option<&'a Filesystem>,
    /// The container runtime answers at its endpoint; `None`: it was not asked.
    pub runtime_answers: Option<bool>,
    /// A kubelet runs.
    pub runs: bool,
}

impl StartFacts<'_> {
    /// Returns its version, or the one that kq assumes.
    fn version(&self) -> KubeletVersion {
        self.version.unwrap_or(KubeletVersion::ASSUMED)
    }
}

/// The machine under the kubelet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    pub cpus: Option<CpuSet>,
    /// Where each of them is, if known.
    pub cpu_topology: Option<CpuTopology>,
    /// CPU, memory, huge pages and `ephemeral-storage`, if known.
    pub capacity: ResourceList,
    /// The memory of each NUMA node, in bytes; `None`: the NUMA nodes are not known.
    pub numa_memory: Option<BTreeMap<i64, i64>>,
    /// The huge pages of each NUMA node: the number by the size in KiB; `None`: not known.
    pub numa_huge_pages: Option<BTreeMap<i64, BTreeMap<u64, u64>>>,
}

impl Machine {
    /// Returns the machine from the host's files.
    pub fn of_host(host: &HostFacts) -> Self {
        let cpus = host.cpus().ok();
        let mut capacity = ResourceList::default();
        if let Some(count) = cpus.as_ref().and_then(|cpus| i64::try_from(cpus.len()).ok()) {
            let milli = count.saturating_mul(1000);
            capacity.insert(ResourceName::Cpu, Quantity::from_milli(milli, Format::DecimalSi));
        }
        if let Ok(bytes) = host.memory_bytes() {
            let amount = Quantity::from_units(bytes, Format::BinarySi);
            capacity.insert(ResourceName::Memory, amount);
        }
        for (size, bytes) in host.hugepages().unwrap_or_default() {
            let name = ResourceName::from(format!("hugepages-{size}").as_str());
            capacity.insert(name, Quantity::from_units(bytes, Format::BinarySi));
        }
        let numa_memory = host
            .numa_nodes()
            .ok()
            .map(|nodes| nodes.into_iter().map(|node| (node.id, node.memory_bytes)).collect());
        let numa_huge_pages = host.numa_huge_pages().ok();
        let cpu_topology = cpu_topology(host).ok();
        Self { cpus, cpu_topology, capacity, numa_memory, numa_huge_pages }
    }
}

/// Returns where the CPUs of a machine are.
/// Fails with the reason why that is not known.
pub fn cpu_topology(host: &HostFacts) -> Result<CpuTopology, String> {
    let places = host.cpu_places().map_err(|error| format!("the cores of the machine: {error}"))?;
    CpuTopology::new(places).map_err(|error| error.to_string())
}

/// The result of a start.
#[derive(Clone, Debug, Default)]
pub struct StartExamination {
    /// The fatal problems, in the kubelet's order.
    pub problems: Vec<StartProblem>,
    /// The warnings that it logs.
    pub warnings: Vec<StartWarning>,
    /// The configuration that results of file, drop-ins and flags; absent fields are absent.
    pub config: Arc<Value>,
    /// The same with its defaults.
    pub effective: Option<EffectiveConfiguration>,
    /// The resulting gates, without the invalid ones.
    pub gates: Option<FeatureGates>,
    /// The checks that were skipped.
    pub unknown: Vec<NotExamined>,
    /// The state files that are there and could not be judged, each with the reason.
    pub unreadable: Vec<String>,
    /// The state files that are removed before the start.
    pub removed: BTreeSet<StateFile>,
    /// The container runtime was asked and did not answer, and its socket does not say why.
    pub is_runtime_silent: bool,
    /// The fields that flags set.
    pub by_flag: BTreeSet<&'static str>,
    /// How far it got with the cgroups of the node.
    progress: Option<CgroupProgress>,
}

impl StartExamination {
    /// Returns the problem that stops the kubelet.
    pub fn first(&self) -> Option<&StartProblem> {
        self.problems.first()
    }

    /// Names the file that an operator changes where it is to take the place of one on the node. The kubelet's words have the
    /// path on the node.
    pub fn name_file(&mut self, path: &str, file: &str) {
        let of_fixes = self.problems.iter_mut().filter_map(|problem| match &mut problem.fix {
            Some(Worded(Fix::WriteConfig { path } | Fix::CorrectFile { path })) => Some(path),
            _ => None,
        });
        let of_warnings = self.warnings.iter_mut().filter_map(|warning| match warning {
            StartWarning::Lenient { path, .. }
            | StartWarning::UnknownField { path, .. }
            | StartWarning::OtherCase { path, .. } => Some(path),
            _ => None,
        });
        for it in of_fixes.chain(of_warnings).filter(|it| it.as_str() == path) {
            file.clone_into(it);
        }
    }
}

/// A fatal problem.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartProblem {
    /// The problem.
    pub rule: StartRule,
    /// The stage of the start.
    pub stage: Stage,
    /// How it ends.
    pub exit: Exit,
    /// The kubelet's words.
    pub text: String,
    /// How sure it is that the kubelet stops here, with these words.
    pub certainty: Certainty,
    /// False: it appears once the earlier problems are fixed.
    pub is_first: bool,
    pub fix: Option<Worded<Fix>>,
    /// How far it got with the cgroups of the node before; `None`: it has not begun with them.
    #[serde(skip)]
    pub cgroups: Option<CgroupProgress>,
    /// The file and the function of the kubelet.
    pub source: &'static str,
}

/// A rule that ends a start, and how sure that is.
struct Refused {
    rule: StartRule,
    certainty: Certainty,
}

impl From<StartRule> for Refused {
    fn from(rule: StartRule) -> Self {
        Self { rule, certainty: Certainty::Certain }
    }
}

impl From<(StartRule, Certainty)> for Refused {
    fn from((rule, certainty): (StartRule, Certainty)) -> Self {
        Self { rule, certainty }
    }
}

/// How far a start got with the cgroups of the node. `setupNode` (`container_manager_linux.go`) makes those above pods,
/// then limits the reserved ones, one after the other (`enforceNodeAllocatableCgroups`, `node_container_manager_linux.go`): a
/// start that ends at one has limited those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupProgress {
    /// The reserved ones that it has limited.
    pub enforced: Vec<Enforced>,
}

/// A key of `enforceNodeAllocatable` that a start has enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforced {
    pub key: &'static str,
    pub part: NodePart,
    /// The cgroup is there; else that is not known.
    pub is_certain: bool,
}

/// A warning that the kubelet logs.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum StartWarning {
    #[text("Flag --{flag} has been deprecated, {message}")]
    DeprecatedFlag { flag: String, message: String },
    /// A flag that sets a gate which will be removed.
    #[text(
        "Warning: setting {stage} feature gate. It will be removed in a future release. \
         featureGate=\"{gate}\" value={value}"
    )]
    OldGate { gate: String, value: bool, stage: &'static str },
    /// The strict reading failed, and a lenient one did not.
    #[text(
        "Using lenient decoding as strict decoding failed err={error}",
        error = quote(&format!("strict decoding error: {strict_error}"))
    )]
    Lenient {
        path: String,
        strict_error: String,
        /// Fields come twice, and none is unknown.
        knows_all: bool,
    },
    /// A field that this version does not have.
    #[text("{path}: the kubelet drops {field}, which it does not know")]
    UnknownField { path: String, field: String },
    /// A field of a drop-in that the kubelet takes for the one that differs in the case of its letters.
    #[text("{path}: the kubelet takes {field} for {known}")]
    OtherCase { path: String, field: String, known: String },
    /// The runtime decides about the driver.
    #[text("Using cgroup driver setting received from the CRI runtime cgroupDriver=\"{runtime}\"")]
    RuntimeDriver { configured: String, runtime: String },
    /// `kubeletCgroups` is not below `kubeReservedCgroup`.
    #[text("unsupported configuration:KubeletCgroups is not within KubeReservedCgroup")]
    KubeletCgroupOutside,
    /// The gate MemoryQoS does nothing on cgroup v1.
    #[text(
        "Warning: MemoryQoS feature only works with cgroups v2 on Linux, but enabled with cgroups v1"
    )]
    MemoryQosOnV1,
    /// The kubeconfig is not used; the kubelet logs why, and turns to its bootstrap kubeconfig.
    #[text("{text}")]
    ClientConfig { text: String },
}

/// A skipped check, and the fact that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotExamined {
    /// The possible problem.
    pub what: &'static str,
    /// The fact that is missing.
    pub fact: &'static str,
    /// The settings that make the kubelet check it, with their values; none: it checks this at every start.
    #[serde(skip)]
    pub settings: BTreeSet<String>,
}

impl NotExamined {
    /// Returns true if settings add this check to those of another start.
    pub fn is_new_to(&self, other: &StartExamination) -> bool {
        let mut same = other.unknown.iter();
        let same = same.find(|it| (it.what, it.fact) == (self.what, self.fact));
        !self.settings.is_subset(same.map_or(&BTreeSet::new(), |it| &it.settings))
    }
}

impl StartExamination {
    fn stop(&mut self, stage: Stage, refused: impl Into<Refused>) {
        self.problems.push(self.problem(stage, refused.into()));
    }

    /// Returns a problem as the kubelet says it in a stage.
    fn problem(&self, stage: Stage, refused: Refused) -> StartProblem {
        let Refused { rule, certainty } = refused;
        StartProblem {
            text: match rule.exit() {
                Exit::Error => stage.wrap(&rule.to_string()),
                Exit::Panic | Exit::Done => rule.to_string(),
            },
            exit: rule.exit(),
            certainty,
            is_first: self.problems.is_empty(),
            fix: rule.fix().map(Worded),
            cgroups: self.progress.clone(),
            source: rule.source(),
            rule,
            stage,
        }
    }

    /// Adds that the kubelet refuses the value of a field or a flag.
    fn refuse(&mut self, stage: Stage, field: &str, error: impl Into<String>) {
        let (field, error) = (field.to_owned(), error.into());
        self.stop(stage, StartRule::Setting { field, error });
    }

    fn warn(&mut self, warning: StartWarning) {
        self.warnings.push(warning);
    }

    fn skip(&mut self, what: &'static str, fact: &'static str) {
        self.skip_of(what, fact, []);
    }

    /// Adds a skipped check of settings.
    fn skip_of(
        &mut self,
        what: &'static str,
        fact: &'static str,
        settings: impl IntoIterator<Item = String>,
    ) {
        let is_same = |it: &&mut NotExamined| (it.what, it.fact) == (what, fact);
        match self.unknown.iter_mut().find(is_same) {
            Some(known) => known.settings.extend(settings),
            None => {
                let settings = settings.into_iter().collect();
                self.unknown.push(NotExamined { what, fact, settings });
            }
        }
    }
}

/// Follows a start. Where the version is not known, a problem is certain if the oldest and the newest kubelet have it.
pub fn examine(facts: &StartFacts<'_>) -> StartExamination {
    let mut found = follow(facts);
    if facts.version.is_none() && !found.problems.is_empty() {
        let others = [KubeletVersion::OLDEST, KubeletVersion::NEWEST]
            .map(|version| follow(&StartFacts { version: Some(version), ..facts.clone() }));
        for problem in &mut found.problems {
            let has = |other: &StartExamination| {
                other.problems.iter().any(|theirs| theirs.rule == problem.rule)
            };
            if problem.certainty == Certainty::Certain && !others.iter().all(has) {
                problem.certainty = Certainty::Likely;
            }
        }
    }
    found
}

/// Follows the start of a kubelet of one version.
fn follow(facts: &StartFacts<'_>) -> StartExamination {
    let mut found = StartExamination::default();
    if facts.version.is_none() {
        found.skip(
            "gates, flags and fields that this version rejects",
            "the version of the kubelet",
        );
    }
    if let Some(path) = facts.masked_by {
        found.stop(Stage::Unit, StartRule::MaskedUnit { unit: UNIT, path: path.to_owned() });
    }
    let said = flags::parse(facts, &mut found);
    let read = config::load(facts, &mut found, &said);
    if found.problems.iter().any(|problem| problem.rule.hides_configuration()) {
        // What the file says is not known, and all further checks depend on it.
        return found;
    }
    let start = Start::of(facts, said, read, &found.config);
    if facts.files.is_none() {
        let mut named = named_files(facts.process, std::iter::once(&*found.config));
        named.retain(|path, wanted| *wanted != FileUse::Socket && start.serving.reads(path));
        found.skip_of(
            "files that it cannot use",
            "the files that the command line and the configuration name",
            named.into_keys(),
        );
    }
    found.removed = StateFile::ALL.into_iter().filter(|file| start.removes(*file)).collect();
    for check in CHECKS {
        check(&start, &mut found);
    }
    found
}

/// Takes what a start has read, and adds its problems.
type Check = fn(&Start<'_>, &mut StartExamination);

/// The checks that follow those of the configuration, in the kubelet's order.
const CHECKS: [Check; 33] = [
    // `InitializeTLS` in `cmd/kubelet/app/server.go`
    serving::own_pair,
    tls::settings,
    serving::early_authority,
    // `run` there
    early::lock_and_name,
    credentials::load_client,
    serving::users,
    early::endpoints,
    machine::warnings,
    machine::authorization,
    machine::reservations,
    node_setup::cpu_options,
    // `NewContainerManager` in `pkg/kubelet/cm/container_manager_linux.go`: the managers are created before the disks are
    // known and before the capacity is checked.
    machine::swap,
    machine::cgroup_root,
    machine::topology_manager,
    state::dra,
    machine::cpu_manager,
    machine::memory_manager,
    // `RunKubelet` in `cmd/kubelet/app/server.go`
    node_flags::node_ip,
    // `NewMainKubelet` in `pkg/kubelet/kubelet.go`
    node_flags::created,
    machine::created,
    providers::plugins,
    machine::created_later,
    serving::certificate,
    node_setup::user_namespaces,
    state::pods,
    // `startKubelet` in `cmd/kubelet/app/server.go`
    serving::listens,
    // `Start` in `pkg/kubelet/cm/container_manager_linux.go`
    state::cpu,
    state::memory,
    machine::root_filesystem,
    machine::allocatable,
    node_setup::kernel,
    machine::enforce,
    node_setup::system_cgroup,
];

/// What the checks know: the facts, and what the kubelet has read of them.
struct Start<'a> {
    facts: &'a StartFacts<'a>,
    said: Said,
    read: Read,
    serving: Serving,
    /// Without a fact where the machine is not known.
    machine: Machine,
    driver: CgroupDriver,
    /// The configuration, with the CPUs of `reservedSystemCPUs` as what the system has.
    config: EffectiveConfiguration,
    kept: Result<Reservations, ReservationError>,
    /// The amounts that are not for pods, of storage none; `None`: the kubelet does not read them.
    reservation: Option<ResourceList>,
    /// The reserved memory is known: no share of an unknown amount is in it.
    knows_reserved_memory: bool,
}

/// Returns the capacity of a machine, with CPUs and memory: each has some, and what is reserved of them in amounts is known
/// without theirs.
fn of_any_size(machine: &Machine) -> ResourceList {
    let mut capacity = machine.capacity.clone();
    for name in [ResourceName::Cpu, ResourceName::Memory] {
        if !capacity.contains(&name) {
            capacity.insert(name, Quantity::default());
        }
    }
    capacity
}

/// Returns the driver that the runtime reports, where the kubelet asks it.
fn runtime_driver(facts: &StartFacts<'_>, read: &Read) -> Option<CgroupDriver> {
    let gates = read.given.feature_gates.as_ref();
    let gate = gates.and_then(|it| it.get("KubeletCgroupDriverFromCRI")).copied();
    let asks = asks_for_driver(gate, facts.version());
    facts.runtime_driver.filter(|_| asks)
}

impl<'a> Start<'a> {
    fn of(facts: &'a StartFacts<'a>, said: Said, read: Read, config: &Value) -> Self {
        let serving = Serving::of(facts, config);
        let machine = facts.machine.clone().unwrap_or_default();
        let configured = || CgroupDriver::of_field(&read.effective.cgroup_driver);
        let driver = runtime_driver(facts, &read).unwrap_or_else(configured);
        let mut config = read.effective.clone();
        let kept = reservations(&mut config, machine.cpus.as_ref());
        let reservation =
            kept.as_ref().ok().map(|kept| reserved_but_storage(&of_any_size(&machine), kept));
        let knows_reserved_memory = machine.capacity.contains(&ResourceName::Memory)
            || kept.as_ref().is_ok_and(Reservations::has_absolute_memory);
        Self {
            facts,
            said,
            read,
            serving,
            machine,
            driver,
            config,
            kept,
            reservation,
            knows_reserved_memory,
        }
    }

    /// Returns the kubelet's folder.
    fn folder(&self) -> &str {
        self.said.flags.root_dir.as_deref().unwrap_or(DEFAULT_ROOT_DIR)
    }

    /// Returns true if the kubelet's unit removes a state file before the start.
    fn removes(&self, file: StateFile) -> bool {
        !self.facts.removes.is_empty()
            && self.facts.removes.contains(&state_path(self.folder(), file.name()))
    }

    fn is_on_v1(&self) -> bool {
        self.facts.cgroup_version == Some(CgroupVersion::V1)
    }
}

#[cfg(test)]
mod files_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_kubelet_are_recognised() {
        for (message, code, facts) in [
            (
                "failed to parse kubelet flag: unknown flag: --container-runtime",
                "unknown-flag",
                "flag=container-runtime",
            ),
            (
                "failed to set feature gates from initial flags-based config: unrecognized feature gate: \
                 InTreePluginGCEUnregister",
                "gates",
                "error=unrecognized feature gate: InTreePluginGCEUnregister",
            ),
            (
                "failed to parse kubelet flag: invalid argument \"110s\" for \"--max-pods\" flag: \
                 strconv.ParseInt: parsing \"110s\": invalid syntax",
                "flag-value",
                "value=110s flag=max-pods reason=strconv.ParseInt: parsing \"110s\": invalid syntax",
            ),
        ] {
            let inner = message.strip_prefix("failed to parse kubelet flag: ").unwrap_or(message);
            let found = StartRule::recognise(inner).expect(message);
            let said = found.facts.iter().map(|(name, value)| format!("{name}={value}"));
            assert_eq!((found.code, said.collect::<Vec<_>>().join(" ").as_str()), (code, facts));
        }
        assert_eq!(StartRule::recognise("the kubelet says nothing like it"), None);
    }
}

//! The outcomes of the checks: which check, how bad it is, the facts and the sentences of each.

use super::first_of;
use super::sources::CRI_VERSION;
use crate::cpu::MIN_QUOTA_US;
use crate::files::{CgroupDriver, CgroupVersion};
use crate::live::diff_view::counts;
use crate::plan::last_element;
use kq_answer::{Rule, Sentences, Severity, Topic};
use kq_facts::snapshot::PodSource;
use kq_output::units::{self, counted, percent};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// What to do where the tree could not be read.
const READ_TREE: &str = "run kq on the node as root, or name the node's root with --host-root DIR";

/// What to do where the configuration is unknown.
const GIVE_CONFIG: &str = "give it with --kubelet-config FILE";

/// Shown for an unknown configuration; the check `kubelet-config` gives the reason.
pub(super) const NO_CONFIG: &str = "the kubelet's configuration is not known";

/// Shown for unknown pods; the check `pods` gives the reason.
pub(super) const NO_PODS: &str = "the pods of the node are not known";

/// What to do where nothing of the kubelet is in the tree.
const OTHER_ROOT: &str = "start the kubelet; for another cgroupRoot, use --cgroup-root PATH";

/// What to do where the pods are unknown.
const GIVE_PODS: &str = "give them with --pods FILE, or name an API server with --kubeconfig FILE";

/// What to do where the cgroup version is unknown.
const GIVE_VERSION: &str = "set it with --cgroup-version VERSION";

/// How a node gets away from cgroup v1.
const TO_V2: &str =
    "move the node to cgroup v2 (systemd.unified_cgroup_hierarchy=1 on the kernel's command line)";

/// What to do before a kubelet starts with a state file that is damaged.
const VERIFY: &str = "see kq devices verify, before the kubelet starts again";

/// A check; its ID does not change from version to version of kq.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckId {
    Kubelet,
    KubeletConfig,
    NodeObject,
    Pods,
    ContainerRuntime,
    CgroupVersion,
    CgroupDriver,
    CgroupTree,
    OrphanedPods,
    CpuLimits,
    CpuWeight,
    Swap,
    CgroupValues,
    StateFiles,
}

/// How a check comes out; what is wrong has a state of its own in JSON.
enum Outcome {
    Ok,
    Unknown,
    Warning(&'static str),
    Error(&'static str),
}

/// The outcome of a check. Its fields are facts in JSON, but for those that are skipped: they are in the sentences alone. An
/// outcome that is unknown has its sentence as the fact `reason`.
#[derive(Clone, Debug, PartialEq, Serialize, kq_answer::Wording)]
#[serde(remote = "Self", untagged, rename_all_fields = "camelCase")]
pub enum CheckRule {
    /// The source of what is checked failed.
    #[text("{reason}")]
    #[advice(check: CheckId::KubeletConfig => GIVE_CONFIG)]
    #[advice(
        check: CheckId::NodeObject => "name an API server with --kubeconfig FILE, or give the object \
         with --node-file FILE"
    )]
    #[advice(check: CheckId::Pods => GIVE_PODS)]
    #[advice(
        check: CheckId::ContainerRuntime => "start it, or name it with --runtime-endpoint ENDPOINT"
    )]
    #[advice(check: CheckId::CgroupVersion => GIVE_VERSION)]
    #[advice(check: CheckId::Swap => "set it with --swap-capacity AMOUNT")]
    #[advice(READ_TREE)]
    SourceFailed {
        #[serde(skip)]
        check: CheckId,
        #[serde(skip)]
        reason: String,
    },
    #[text("the cgroup tree could not be read: {reason}")]
    #[advice(READ_TREE)]
    TreeUnread {
        #[serde(skip)]
        check: CheckId,
        #[serde(skip)]
        reason: String,
    },
    #[text("there is no cgroup of all pods")]
    #[advice(OTHER_ROOT)]
    NoRoot {
        #[serde(skip)]
        check: CheckId,
    },
    #[text(NO_PODS)]
    #[advice(GIVE_PODS)]
    NoPods {
        #[serde(skip)]
        check: CheckId,
    },

    #[text("its process was not looked for{version}", version = of_version(kubelet_version))]
    #[advice("take a new snapshot on the node")]
    KubeletNotLookedFor {
        #[serde(skip)]
        kubelet_version: Option<String>,
    },
    /// A node without a kubelet starts, restarts and probes nothing.
    #[text("{reason}, but one has left {left}{version}", version = of_version(kubelet_version))]
    #[advice(start_fails: true => "correct what kubelet-start names, then start the kubelet")]
    #[advice("start the kubelet, or run kq where its process is visible")]
    KubeletNotRunning {
        reason: String,
        left: String,
        kubelet_version: Option<String>,
        #[serde(skip)]
        start_fails: bool,
    },
    #[text("{reason}{version}", version = of_version(kubelet_version))]
    #[advice(
        "start the kubelet, or say what it is with --kubelet-version VERSION and --kubelet-config FILE"
    )]
    NoKubelet {
        #[serde(skip)]
        reason: String,
        #[serde(skip)]
        kubelet_version: Option<String>,
    },
    #[text("process {pid} ({program}), of unknown version: {reason}")]
    #[advice("set it with --kubelet-version VERSION")]
    KubeletOfUnknownVersion {
        #[serde(skip)]
        pid: i32,
        #[serde(skip)]
        program: &'static str,
        #[serde(skip)]
        reason: String,
    },
    #[text("{process}; other kubelets run too: {others}", others = first_of(others))]
    #[advice("a node has one kubelet: stop the others, or check them where they run")]
    SeveralKubelets {
        #[serde(flatten)]
        process: RunningKubelet,
        others: Vec<String>,
    },
    #[text("{process}; the running program is {running}, the Node object has {reported}")]
    #[advice(
        "wait until the kubelet has updated its Node object, or read its log: it may not reach the API server"
    )]
    KubeletUnreported {
        #[serde(flatten)]
        process: RunningKubelet,
        running: String,
        reported: String,
    },
    #[text("{0}")]
    KubeletRuns(RunningKubelet),

    #[text("the kubelet does not start with it (check kubelet-start)")]
    #[advice("correct the configuration before the kubelet is started again")]
    ConfigRefused,
    #[text("{ignored}", ignored = first_of(ignored))]
    #[advice("correct the name of the field, or remove it")]
    ConfigIgnored { ignored: Vec<String>, fields: usize },
    #[text("{fields} set", fields = counted(*fields, "field"))]
    ConfigKnown { fields: usize },

    #[text("{differences}", differences = differences.join("; "))]
    #[advice(
        "restart the kubelet if its configuration was changed, or give the one that it has with --kubelet-config FILE"
    )]
    NodeDiffers { differences: Vec<String> },
    #[text("{name}")]
    NodeKnown { name: String },

    #[text(
        "{pods} from {from}; {count} left out: {left_out}",
        count = left_out.len(),
        left_out = first_of(left_out)
    )]
    #[advice("correct it, and run kq again")]
    PodsLeftOut {
        left_out: Vec<String>,
        pods: usize,
        #[serde(skip)]
        from: PodSource,
    },
    #[text("{pods} from {from}: {reason}")]
    #[advice(GIVE_PODS)]
    PodsIncomplete {
        reason: String,
        pods: usize,
        #[serde(skip)]
        from: PodSource,
    },
    #[text("{pods} from {from}")]
    PodsKnown {
        pods: usize,
        #[serde(skip)]
        from: PodSource,
    },

    #[text(
        "{runtime} speaks version {version} of the CRI, and kubelets since 1.26 only {CRI_VERSION}",
        version = format!("{api_version:?}")
    )]
    #[advice("update the container runtime")]
    RuntimeOfOtherApi { runtime: String, api_version: String },
    #[text("{runtime} answers here, and the kubelet talks to {configured}")]
    #[advice("check the kubelet's runtime: --runtime-endpoint {configured}")]
    OtherEndpoint { runtime: String, configured: String },
    #[text("{runtime}, low-level runtime not known: {reason}")]
    #[advice("set it with --runtime NAME=VERSION")]
    LowLevelUnknown {
        #[serde(skip)]
        runtime: String,
        #[serde(skip)]
        reason: String,
    },
    #[text("{runtime} with {low_level}")]
    RuntimeKnown { runtime: String, low_level: String },

    #[text("no cgroup hierarchy is mounted")]
    #[advice(GIVE_VERSION)]
    NoHierarchy,
    #[text("{0}")]
    CgroupV2(Mounted),
    #[text("{mounted}; whether the kubelet starts there depends on its version")]
    #[advice("set it with --kubelet-version VERSION")]
    CgroupV1WithoutVersion {
        #[serde(skip)]
        mounted: Mounted,
    },
    #[text("{0}, which newer kubelets no longer support")]
    #[advice(TO_V2)]
    CgroupV1Deprecated(Mounted),
    #[text("{mounted}; {NO_CONFIG}")]
    #[advice("{GIVE_CONFIG}, or use --set failCgroupV1=false")]
    CgroupV1WithoutConfig {
        #[serde(skip)]
        mounted: Mounted,
    },
    #[text("{mounted}, and failCgroupV1 is true: kubelet {kubelet_version} does not start")]
    #[advice("{TO_V2}, or set failCgroupV1: false")]
    CgroupV1Refused {
        #[serde(flatten)]
        mounted: Mounted,
        kubelet_version: String,
    },

    /// The kubelet and the runtime create the cgroups of one pod in two trees.
    #[text("{drivers}")]
    #[advice(is_of_kubelet: true => "set cgroupDriver: {goal} in the kubelet's configuration and restart it")]
    #[advice("{change} and restart it", change = set_runtime(*goal))]
    DriversDiffer {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        goal: CgroupDriver,
        /// The kubelet is to be changed, not the runtime.
        #[serde(skip)]
        is_of_kubelet: bool,
    },
    #[text("{drivers}")]
    #[advice(
        "{root} was created by {made} and the next start of the kubelet uses {used}: drain the node, \
         change the kubelet to {used} for good and reboot, or set the kubelet and the runtime back to {made}"
    )]
    KubeletLeavesTree {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        root: String,
        #[serde(skip)]
        made: CgroupDriver,
        #[serde(skip)]
        used: CgroupDriver,
    },
    #[text("{drivers}")]
    #[advice(
        "{root} was created by {made}: {change}, or drain the node and reboot",
        change = set_runtime(*made)
    )]
    RuntimeLeavesTree {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        root: String,
        #[serde(skip)]
        made: CgroupDriver,
    },
    #[text("{drivers}; {reason}")]
    #[advice("{GIVE_CONFIG}, or use --cgroup-driver DRIVER")]
    KubeletDriverUnknown {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        reason: String,
    },
    #[text("{drivers}; {reason}")]
    #[advice("name the runtime with --runtime-endpoint ENDPOINT")]
    RuntimeDriverUnknown {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        reason: String,
    },
    #[text("{drivers}; the cgroup tree could not be read: {reason}")]
    #[advice(READ_TREE)]
    TreeDriverUnknown {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        reason: String,
    },
    #[text("{drivers}; the kubelet uses the runtime's")]
    #[advice(
        "set cgroupDriver: {used} in the kubelet's configuration: it counts again when a runtime does \
         not report its driver"
    )]
    KubeletFollowsRuntime {
        #[serde(flatten)]
        drivers: Drivers,
        #[serde(skip)]
        used: CgroupDriver,
    },
    #[text("{0}")]
    DriversAgree(Drivers),

    #[text("neither {wanted} is there", wanted = wanted.join(" nor "))]
    #[advice(OTHER_ROOT)]
    TreeAbsent { wanted: Vec<String> },
    #[text("{tree}; not readable: {problems}", problems = first_of(problems))]
    #[advice("run kq as root")]
    TreeInPart {
        #[serde(skip)]
        tree: PodTree,
        #[serde(skip)]
        problems: Vec<String>,
    },
    #[text("{trees}", trees = trees.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    #[advice(
        "the kubelet uses {cgroup_driver}: drain the node and reboot it, so that {stale} goes away",
        stale = stale.join(", ")
    )]
    TreesOfBoth {
        stale: Vec<String>,
        cgroup_driver: CgroupDriver,
        #[serde(skip)]
        trees: Vec<PodTree>,
        /// Pods run in a stale one; else it only misleads who measures there.
        #[serde(skip)]
        has_pods: bool,
    },
    #[text("{0}")]
    TreeKnown(PodTree),

    #[text("cgroupsPerQOS is false: pods have no cgroups of their own")]
    #[advice("kq cgroup show lists the cgroups")]
    NoPodCgroups,
    #[text(
        "none among {among}; {changing} more came or went meanwhile",
        among = counted(*cgroups, "cgroup")
    )]
    #[advice("look again when no pods start or end")]
    PodCgroupsMove {
        #[serde(skip)]
        cgroups: usize,
        #[serde(skip)]
        changing: usize,
    },
    #[text("{orphans}; {reason}", orphans = without_pod(cgroups))]
    #[advice(GIVE_PODS)]
    PerhapsOrphans {
        #[serde(skip)]
        cgroups: Vec<String>,
        #[serde(skip)]
        reason: String,
    },
    #[text("{orphans}", orphans = without_pod(cgroups))]
    #[advice(
        "look again in a minute; what is still there then, stop with crictl stopp SANDBOX and see the \
         kubelet's log for why it does not"
    )]
    RunningOrphans { cgroups: Vec<String> },
    #[text("{orphans}", orphans = without_pod(cgroups))]
    #[advice("nothing runs there; the kubelet removes it, or rmdir does")]
    EmptyOrphans { cgroups: Vec<String> },
    #[text("none among {among}", among = counted(*cgroups, "cgroup"))]
    NoOrphans { cgroups: usize },

    #[text("cpuCFSQuota is false: the kubelet enforces no limit")]
    LimitsNotEnforced { cpu_cfs_quota: bool },
    #[text(
        "{count} below {least_milli_cpu}m: {limits}",
        count = counted(limits.len(), "limit"),
        limits = first_of(limits)
    )]
    #[advice("ask for {least_milli_cpu}m or more: each of them gets a quota of {MIN_QUOTA_US}us")]
    SmallLimits { limits: Vec<String>, least_milli_cpu: i64 },
    #[text("{reason}")]
    #[advice(GIVE_PODS)]
    LimitsUnknown {
        least_milli_cpu: i64,
        #[serde(skip)]
        reason: String,
    },
    #[text("none below {least_milli_cpu}m")]
    NoSmallLimits { least_milli_cpu: i64 },

    #[text("{root} is not at the top, and only there weights are read")]
    #[advice("compare it with its siblings by hand")]
    RootBelowTop {
        #[serde(skip)]
        root: String,
    },
    #[text("{root} has no {file}")]
    #[advice("see whether the cpu controller is on at the top of the tree")]
    NoWeight {
        #[serde(skip)]
        root: String,
        #[serde(skip)]
        file: &'static str,
    },
    #[text("the number of CPUs is not known")]
    #[advice("set it with --capacity cpu=N")]
    NoCpus,
    #[text("{weights}; {name} outweighs it, and {NO_CONFIG}")]
    #[advice(GIVE_CONFIG)]
    OutweighedWithoutConfig {
        #[serde(flatten)]
        weights: Weights,
        #[serde(skip)]
        name: String,
    },
    /// One busy sibling takes what pods request.
    #[text("{weights}; pods request {requested}m", requested = weights.requested_milli_cpu)]
    #[advice(outweighs(heaviest, weights))]
    Starved {
        #[serde(flatten)]
        weights: Weights,
        #[serde(skip)]
        heaviest: Heaviest,
    },
    #[text("{weights}; pods request {requested}m", requested = weights.requested_milli_cpu)]
    #[advice(outweighs(heaviest, weights))]
    Outweighed {
        #[serde(flatten)]
        weights: Weights,
        #[serde(skip)]
        heaviest: Heaviest,
    },
    #[text("{0}; pods request {requested}m", requested = _0.requested_milli_cpu)]
    #[advice("watch the pressure (kq cgroup show), or lower the weights of the others")]
    OutweighedByAll(Weights),
    #[text("{weights}; {reason}")]
    #[advice(GIVE_PODS)]
    RequestsUnknown {
        #[serde(flatten)]
        weights: Weights,
        #[serde(skip)]
        reason: String,
    },
    #[text("{0}")]
    WeightsSuffice(Weights),

    #[text("no swap")]
    NoSwap { swap_bytes: i64 },
    #[text("{swap}; {NO_CONFIG}", swap = of_swap(*swap_bytes))]
    #[advice("{GIVE_CONFIG}, or use --set failSwapOn=false")]
    SwapWithoutConfig {
        #[serde(skip)]
        swap_bytes: i64,
    },
    #[text(
        "{swap}, and failSwapOn is true: the kubelet does not start",
        swap = of_swap(*swap_bytes)
    )]
    #[advice("turn swap off (swapoff -a, and in /etc/fstab), or set failSwapOn: false")]
    SwapRefused { swap_bytes: i64, fail_swap_on: bool },
    #[text("{0}, which needs cgroup v2: the kubelet does not start")]
    #[advice("set swapBehavior: NoSwap, or move the node to cgroup v2")]
    LimitedSwapOnV1(Swap),
    #[text("{0}")]
    SwapAllowed(Swap),

    #[text("{drifting} not as planned; {counts}", counts = counts(verdicts))]
    #[advice("see which: kq cgroup diff")]
    ValuesDrift {
        verdicts: BTreeMap<String, usize>,
        #[serde(skip)]
        drifting: usize,
    },
    #[text("{counts}", counts = counts(verdicts))]
    #[advice("see why: kq cgroup diff -o wide")]
    ValuesUnknown { verdicts: BTreeMap<String, usize> },
    #[text("{counts}", counts = counts(verdicts))]
    ValuesAsPlanned { verdicts: BTreeMap<String, usize> },

    #[text("not looked for")]
    #[advice("run kq on the node as root")]
    FilesNotLookedFor,
    #[text("the kubelet does not start with one of them (check kubelet-start)")]
    #[advice(VERIFY)]
    FilesRefused,
    #[text(
        "{count} not readable by the kubelet: {files}",
        count = files.len(),
        files = first_of(files)
    )]
    #[advice("drain the node, stop the kubelet, move the file away and start it again")]
    FilesBroken { files: Vec<String> },
    #[text(
        "the device checkpoint is damaged ({reason}): a kubelet that starts forgets who has which device"
    )]
    #[advice(VERIFY)]
    CheckpointDamaged { reason: String },
    #[text("{count} not readable: {files}", count = files.len(), files = first_of(files))]
    #[advice("run kq as root, or check the disk")]
    FilesUnreadable {
        #[serde(skip)]
        files: Vec<String>,
    },
    #[text("none is there")]
    #[advice("run kq on the node; a kubelet with another --root-dir is recognised while it runs")]
    NoFiles,
    #[text("{files}", files = counted(*files, "file"))]
    FilesRead { files: usize },
}

/// The kubelet that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningKubelet {
    pub kubelet_version: String,
    pub pid: i32,
    pub program: &'static str,
}

/// The cgroup interface that is mounted, or was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mounted {
    /// That of the node.
    pub cgroup_version: CgroupVersion,
    /// That of the mounts; a hybrid layout is v1 to the kubelet.
    #[serde(skip)]
    pub shown: CgroupVersion,
    /// The unified hierarchy, where the layout is hybrid.
    #[serde(skip)]
    pub unified: Option<String>,
}

/// What each says about the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Drivers {
    pub kubelet: Option<CgroupDriver>,
    pub runtime: Option<CgroupDriver>,
    pub tree: Option<CgroupDriver>,
}

/// A cgroup of all pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodTree {
    pub cgroup: String,
    #[serde(skip)]
    pub pods: usize,
}

/// The CPU time of all pods when the cgroups at the top are busy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Weights {
    pub cgroup: String,
    pub weight: u64,
    pub siblings: BTreeMap<String, u64>,
    pub capacity_milli_cpu: u64,
    pub requested_milli_cpu: u64,
}

/// The sibling with the greatest weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heaviest {
    pub name: String,
    pub taken_milli_cpu: u64,
    pub reserved_milli_cpu: u64,
}

/// Swap that the kubelet starts with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Swap {
    pub swap_bytes: i64,
    pub fail_swap_on: bool,
    pub swap_behavior: String,
}

impl fmt::Display for RunningKubelet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, process {} ({})", self.kubelet_version, self.pid, self.program)
    }
}

impl fmt::Display for Mounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unified {
            Some(unified) => write!(f, "v1, hybrid: the unified hierarchy is at {unified}"),
            None => write!(f, "v{}", self.shown),
        }
    }
}

impl fmt::Display for Drivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let voices = [("kubelet", self.kubelet), ("runtime", self.runtime), ("tree", self.tree)];
        let voices =
            voices.into_iter().filter_map(|(who, driver)| Some(format!("{who} {}", driver?)));
        let voices: Vec<String> = voices.collect();
        f.write_str(
            if voices.is_empty() { "unknown".to_owned() } else { voices.join(", ") }.as_str(),
        )
    }
}

impl fmt::Display for PodTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.cgroup, counted(self.pods, "pod"))
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut others: Vec<_> = self.siblings.iter().collect();
        others.sort_by_key(|(name, weight)| (std::cmp::Reverse(*weight), *name));
        let others: Vec<String> =
            others.into_iter().map(|(name, weight)| format!("{name} {weight}")).collect();
        let others = if others.is_empty() { "no others".to_owned() } else { first_of(&others) };
        let (name, capacity) = (last_element(&self.cgroup), self.capacity_milli_cpu);
        let share = percent(self.weight, self.all()).unwrap_or_default();
        write!(
            f,
            "{name} {} against {others}: {share} ({}m of {capacity}m) when all are busy",
            self.weight,
            self.when_busy()
        )
    }
}

impl fmt::Display for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (swap, behavior) = (of_swap(self.swap_bytes), &self.swap_behavior);
        write!(f, "{swap}, failSwapOn is {}, swapBehavior {behavior}", self.fail_swap_on)
    }
}

impl Weights {
    fn all(&self) -> u64 {
        self.siblings.values().fold(self.weight, |sum, weight| sum.saturating_add(*weight))
    }

    /// Returns the CPU time of all pods when every sibling is busy.
    pub fn when_busy(&self) -> u64 {
        self.part(self.weight, self.all())
    }

    /// Returns `part` of `whole` of the capacity, rounded down.
    pub fn part(&self, part: u64, whole: u64) -> u64 {
        let part = u128::from(self.capacity_milli_cpu) * u128::from(part);
        u64::try_from(part / u128::from(whole.max(1))).unwrap_or(u64::MAX)
    }
}

fn of_version(version: &Option<String>) -> String {
    version.as_ref().map(|version| format!(" (version {version})")).unwrap_or_default()
}

fn of_swap(bytes: i64) -> String {
    format!("{} of swap", units::bytes(u64::try_from(bytes).unwrap_or(u64::MAX)))
}

fn set_runtime(driver: CgroupDriver) -> String {
    format!(
        "set the container runtime to {driver} (containerd: SystemdCgroup = {}; CRI-O: \
         cgroup_manager = \"{driver}\")",
        driver == CgroupDriver::Systemd
    )
}

fn without_pod(cgroups: &[String]) -> String {
    format!("{} without a pod: {}", counted(cgroups.len(), "cgroup"), first_of(cgroups))
}

fn outweighs(heaviest: &Heaviest, weights: &Weights) -> String {
    let Heaviest { name, taken_milli_cpu, reserved_milli_cpu } = heaviest;
    format!(
        "{name} can take {taken_milli_cpu}m, and {reserved_milli_cpu}m are reserved: where pods need \
         more, lower its weight (systemctl set-property {name} CPUWeight=N); more reserved CPU lowers \
         that of {} as well",
        last_element(&weights.cgroup)
    )
}

impl CheckRule {
    fn outcome(&self) -> (CheckId, Outcome) {
        use CheckId as Id;
        use Outcome::{Error, Ok, Unknown, Warning};
        match self {
            Self::SourceFailed { check, .. }
            | Self::TreeUnread { check, .. }
            | Self::NoRoot { check }
            | Self::NoPods { check } => (*check, Unknown),
            Self::KubeletNotLookedFor { .. }
            | Self::NoKubelet { .. }
            | Self::KubeletOfUnknownVersion { .. } => (Id::Kubelet, Unknown),
            Self::KubeletNotRunning { .. } => (Id::Kubelet, Error("notRunning")),
            Self::SeveralKubelets { .. } => (Id::Kubelet, Warning("several")),
            Self::KubeletUnreported { .. } => (Id::Kubelet, Warning("unreported")),
            Self::KubeletRuns(_) => (Id::Kubelet, Ok),
            Self::ConfigRefused => (Id::KubeletConfig, Error("refused")),
            Self::ConfigIgnored { .. } => (Id::KubeletConfig, Warning("ignored")),
            Self::ConfigKnown { .. } => (Id::KubeletConfig, Ok),
            Self::NodeDiffers { .. } => (Id::NodeObject, Warning("differs")),
            Self::NodeKnown { .. } => (Id::NodeObject, Ok),
            Self::PodsLeftOut { .. } => (Id::Pods, Warning("leftOut")),
            Self::PodsIncomplete { .. } => (Id::Pods, Warning("incomplete")),
            Self::PodsKnown { .. } => (Id::Pods, Ok),
            Self::LowLevelUnknown { .. } => (Id::ContainerRuntime, Unknown),
            Self::RuntimeOfOtherApi { .. } => (Id::ContainerRuntime, Error("otherApi")),
            Self::OtherEndpoint { .. } => (Id::ContainerRuntime, Warning("otherEndpoint")),
            Self::RuntimeKnown { .. } => (Id::ContainerRuntime, Ok),
            Self::NoHierarchy
            | Self::CgroupV1WithoutVersion { .. }
            | Self::CgroupV1WithoutConfig { .. } => (Id::CgroupVersion, Unknown),
            Self::CgroupV2(_) => (Id::CgroupVersion, Ok),
            Self::CgroupV1Deprecated(_) => (Id::CgroupVersion, Warning("deprecated")),
            Self::CgroupV1Refused { .. } => (Id::CgroupVersion, Error("refused")),
            Self::DriversDiffer { .. }
            | Self::KubeletLeavesTree { .. }
            | Self::RuntimeLeavesTree { .. } => (Id::CgroupDriver, Error("differs")),
            Self::KubeletDriverUnknown { .. }
            | Self::RuntimeDriverUnknown { .. }
            | Self::TreeDriverUnknown { .. } => (Id::CgroupDriver, Unknown),
            Self::KubeletFollowsRuntime { .. } => (Id::CgroupDriver, Warning("followsRuntime")),
            Self::DriversAgree(_) => (Id::CgroupDriver, Ok),
            Self::TreeAbsent { .. } => (Id::CgroupTree, Warning("absent")),
            Self::TreeInPart { .. } => (Id::CgroupTree, Unknown),
            Self::TreesOfBoth { has_pods: true, .. } => (Id::CgroupTree, Error("stale")),
            Self::TreesOfBoth { has_pods: false, .. } => (Id::CgroupTree, Warning("stale")),
            Self::TreeKnown(_) => (Id::CgroupTree, Ok),
            Self::NoPodCgroups | Self::PodCgroupsMove { .. } | Self::PerhapsOrphans { .. } => {
                (Id::OrphanedPods, Unknown)
            }
            Self::RunningOrphans { .. } => (Id::OrphanedPods, Error("running")),
            Self::EmptyOrphans { .. } => (Id::OrphanedPods, Warning("empty")),
            Self::NoOrphans { .. } => (Id::OrphanedPods, Ok),
            Self::SmallLimits { .. } => (Id::CpuLimits, Warning("small")),
            Self::LimitsUnknown { .. } => (Id::CpuLimits, Unknown),
            Self::LimitsNotEnforced { .. } | Self::NoSmallLimits { .. } => (Id::CpuLimits, Ok),
            Self::RootBelowTop { .. }
            | Self::NoWeight { .. }
            | Self::NoCpus
            | Self::OutweighedWithoutConfig { .. }
            | Self::RequestsUnknown { .. } => (Id::CpuWeight, Unknown),
            Self::Starved { .. } => (Id::CpuWeight, Error("starved")),
            Self::Outweighed { .. } | Self::OutweighedByAll(_) => {
                (Id::CpuWeight, Warning("outweighed"))
            }
            Self::WeightsSuffice(_) => (Id::CpuWeight, Ok),
            Self::SwapWithoutConfig { .. } => (Id::Swap, Unknown),
            Self::SwapRefused { .. } | Self::LimitedSwapOnV1(_) => (Id::Swap, Error("refused")),
            Self::NoSwap { .. } | Self::SwapAllowed(_) => (Id::Swap, Ok),
            Self::ValuesDrift { .. } => (Id::CgroupValues, Error("drift")),
            Self::ValuesUnknown { .. } => (Id::CgroupValues, Unknown),
            Self::ValuesAsPlanned { .. } => (Id::CgroupValues, Ok),
            Self::FilesNotLookedFor | Self::FilesUnreadable { .. } | Self::NoFiles => {
                (Id::StateFiles, Unknown)
            }
            Self::FilesRefused => (Id::StateFiles, Error("refused")),
            Self::FilesBroken { .. } => (Id::StateFiles, Error("broken")),
            Self::CheckpointDamaged { .. } => (Id::StateFiles, Warning("damagedCheckpoint")),
            Self::FilesRead { .. } => (Id::StateFiles, Ok),
        }
    }
}

impl Serialize for CheckRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'r> {
            id: CheckId,
            state: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<String>,
            #[serde(flatten, serialize_with = "CheckRule::serialize")]
            facts: &'r CheckRule,
        }
        let (id, outcome) = self.outcome();
        let state = match outcome {
            Outcome::Ok => "ok",
            Outcome::Unknown => "unknown",
            Outcome::Warning(state) | Outcome::Error(state) => state,
        };
        let reason = matches!(outcome, Outcome::Unknown).then(|| self.sentences().found);
        Flat { id, state, reason, facts: self }.serialize(serializer)
    }
}

impl Rule for CheckRule {
    fn severity(&self) -> Severity {
        match self.outcome().1 {
            Outcome::Ok => Severity::Ok,
            Outcome::Unknown => Severity::Unknown,
            Outcome::Warning(_) => Severity::Warning,
            Outcome::Error(_) => Severity::Error,
        }
    }

    fn topic(&self) -> Topic {
        match self.outcome().0 {
            CheckId::Kubelet | CheckId::ContainerRuntime => Topic::RunsPods,
            CheckId::CgroupTree
            | CheckId::CpuLimits
            | CheckId::CpuWeight
            | CheckId::CgroupValues => Topic::Cpu,
            CheckId::Swap => Topic::Memory,
            CheckId::KubeletConfig
            | CheckId::NodeObject
            | CheckId::Pods
            | CheckId::CgroupVersion
            | CheckId::CgroupDriver
            | CheckId::OrphanedPods
            | CheckId::StateFiles => Topic::Node,
        }
    }
}

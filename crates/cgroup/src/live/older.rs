//! Values of an earlier configuration of the kubelet.
//!
//! The kubelet writes the cgroup of a pod when it makes it (`EnsureExists`, `pkg/kubelet/cm/pod_container_manager_linux.go`,
//! read in 1.36.2), and what a container gets goes to the runtime when the container starts. A kubelet that is restarted
//! with another configuration leaves both as they are. So a value is of an earlier configuration where its pod or its
//! container is older than the kubelet's start, and where another configuration would give exactly this value.

use crate::derivation::Step;
use crate::live::compare::{KernelValue, Rounding, compare};
use crate::live::diff::by_path;
use crate::live::difference::{Difference, Verdict};
use crate::live::set_by::SetBy;
use crate::plan::{Plan, PlanPods, PlannedCgroup, Runtimes, plan_with};
use crate::settings::{CgroupSettings, MemoryReservationPolicy, SwapBehavior};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_name::{CRUN_SUBGROUP, id_in_scope};
use kq_facts::cgroup_value::Value;
use kq_facts::kubelet_process::KubeletProcess;
use kq_facts::node_config::NodeConfig;
use kq_facts::runtime::RuntimeFacts;
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// When the kubelet, the pods and the containers of a node started.
#[derive(Clone, Debug, Default)]
pub struct Ages {
    kubelet: Timestamp,
    /// The cgroups of pods, by UID.
    pods: BTreeMap<String, Timestamp>,
    /// By id.
    containers: BTreeMap<String, Timestamp>,
}

/// Containers that started within so short a time got the same configuration: no kubelet is restarted as fast.
const SAME_START_NS: i64 = 20_000_000_000;

/// The clock of the kernel counts the start of a process in these (`USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

impl Ages {
    /// Collects the times; `None`: it is not known when the kubelet started.
    pub fn of<'p>(
        kubelet: Option<&KubeletProcess>,
        pods: impl IntoIterator<Item = &'p Pod>,
        runtime: Option<&RuntimeFacts>,
    ) -> Option<Self> {
        let kubelet = kubelet?;
        let started_at = kubelet.started_at?;
        // What is older than the machine's start has a cgroup that is younger.
        let since_boot = i64::try_from(kubelet.start_ticks / TICKS_PER_SECOND).ok()?;
        let boot = Timestamp::from_seconds(started_at.saturating_sub(since_boot));
        let mut ages = Self { kubelet: Timestamp::from_seconds(started_at), ..Self::default() };
        let mut is_from = |uid: &str, at: Timestamp| {
            if at > boot {
                let first = ages.pods.entry(uid.to_owned()).or_insert(at);
                *first = at.min(*first);
            }
        };
        for pod in pods {
            if let Some(at) = pod.status.start_time.as_ref().and_then(|text| text.parse().ok()) {
                is_from(effective_uid(pod), at);
            }
        }
        let sandboxes = runtime.and_then(|it| it.sandboxes.value()).into_iter().flatten();
        for sandbox in sandboxes {
            is_from(&sandbox.uid, Timestamp(sandbox.created_at));
        }
        let containers = runtime.and_then(|it| it.containers.value()).into_iter().flatten();
        ages.containers = containers.map(|it| (it.id.clone(), Timestamp(it.created_at))).collect();
        Some(ages)
    }

    /// Returns since when a pod's or a container's cgroup has had its values.
    fn since(&self, found: &Difference<'_>) -> Option<Timestamp> {
        if found.container.is_none() {
            return self.pods.get(found.pod_uid.as_ref()?).copied();
        }
        let mut parts = found.cgroup.rsplit('/');
        parts.find_map(|part| {
            let name = part.strip_suffix(".scope").unwrap_or(part);
            self.containers.get(id_in_scope(name).unwrap_or(name)).copied()
        })
    }

    /// Returns true if a pod's or a container's cgroup is older than the kubelet's start.
    fn is_older(&self, found: &Difference<'_>) -> bool {
        self.since(found).is_some_and(|since| since < self.kubelet)
    }
}

/// What the pods would get of another configuration.
struct Alternative<'p> {
    /// The field that differs.
    field: &'static str,
    plan: Plan<'p>,
}

/// The node of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The node as it is configured now.
    pub node: &'a NodeConfig,
    pub pods: &'a PlanPods<'a>,
    /// Its low-level runtimes.
    pub runtimes: &'a Runtimes,
    /// How the kernel and systemd round.
    pub rounding: Rounding,
}

/// Says of drift that an earlier configuration explains it.
pub fn excuse(found: &mut [Difference<'_>], ages: &Ages, compared: Compared<'_>) {
    leave_protection(found, compared);
    let is_candidate = |it: &Difference<'_>| {
        matches!(it.verdict, Verdict::Drift | Verdict::Extra)
            && it.file.is_some()
            && !it.is_resizing
            && it.pod_uid.is_some()
            && ages.is_older(it)
    };
    let candidates: Vec<usize> =
        (0..found.len()).filter(|index| is_candidate(&found[*index])).collect();
    if candidates.is_empty() {
        return;
    }
    let settings = others(compared.node, candidates.iter().map(|index| &found[*index]));
    let alternatives = settings.into_iter().filter_map(|(field, settings)| {
        let runtimes = compared.runtimes.clone();
        let plan = plan_with(compared.pods.clone(), compared.node, settings, runtimes).ok()?;
        Some(Alternative { field, plan })
    });
    for alternative in alternatives {
        let cgroups = by_path(&alternative.plan);
        let explained: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|index| explains(&cgroups, &found[*index], compared.rounding))
            .filter(|index| {
                !is_contradicted(&cgroups, &found[*index], found, ages, compared.rounding)
            })
            .collect();
        for index in explained {
            let reason = reason(&found[index], alternative.field);
            if found[index].verdict != Verdict::OlderConfig {
                found[index].set_older(reason);
            }
        }
    }
}

fn reason(found: &Difference<'_>, field: &str) -> String {
    let planned = found.planned.as_deref().unwrap_or("no such value");
    match found.container {
        None => format!(
            "of an earlier {field}: the pod is older than the kubelet's start, and the kubelet writes this when it \
             makes the pod's cgroup"
        ),
        Some(_) => format!(
            "of an earlier {field}: the container is older than the kubelet's start, and has {planned} from its next \
             start"
        ),
    }
}

/// A kubelet with memory QoS protects memory of the classes, and one without does not take that back (`UpdateCgroups`,
/// `pkg/kubelet/cm/qos_container_manager_linux.go`, read in 1.36.2). A drop-in of the unit shows that it was set over D-Bus.
fn leave_protection(found: &mut [Difference<'_>], compared: Compared<'_>) {
    if compared.node.rules.gates.enabled(Gate::MemoryQos) {
        return;
    }
    let is_left = |it: &&mut Difference<'_>| {
        let file = it.file.as_deref().and_then(CgroupFile::named);
        let is_transient = matches!(&it.set_by, Some(SetBy::Systemd { path, .. })
            if path.starts_with("/run/systemd/transient/"));
        it.verdict == Verdict::Extra
            && it.pod_uid.is_none()
            && matches!(file, Some(CgroupFile::MemoryMin | CgroupFile::MemoryLow))
            && is_transient
    };
    for left in found.iter_mut().filter(is_left) {
        let reason = "of an earlier configuration: a kubelet with the feature gate MemoryQoS writes it, and one without \
                      does not take it back";
        left.set_older(reason.to_owned());
    }
}

/// Returns the path of the cgroup that a plan has for what was found.
fn planned_path<'f>(found: &'f Difference<'_>) -> &'f str {
    let parent = found.cgroup.strip_suffix(CRUN_SUBGROUP).and_then(|it| it.strip_suffix(".scope/"));
    match parent {
        Some(parent) => &found.cgroup[..parent.len() + ".scope".len()],
        None => &found.cgroup,
    }
}

type Cgroups<'a> = BTreeMap<&'a str, &'a PlannedCgroup<'a>>;

/// Returns true if another configuration gives what the kernel has.
fn explains(cgroups: &Cgroups<'_>, found: &Difference<'_>, rounding: Rounding) -> bool {
    let (Some(file), Some(actual)) = (&found.file, &found.actual) else { return false };
    let Some(cgroup) = cgroups.get(planned_path(found)) else { return false };
    let Some(known) = CgroupFile::named(file) else { return false };
    let Some(text) = cgroup.text(file) else {
        let untouched = known.row().untouched;
        return found.planned.is_some()
            && untouched.is_some_and(|untouched| is_same(known, untouched, actual));
    };
    if found.planned.as_deref() != Some(text)
        && compare(file, text, actual, rounding) != KernelValue::Different
    {
        return true;
    }
    known == CgroupFile::MemoryHigh && is_other_throttling(cgroup, file, actual)
}

fn is_same(file: CgroupFile, untouched: &str, actual: &str) -> bool {
    let unlimited = |text: &str| file.value(text) == Value::Unlimited;
    untouched == actual || (unlimited(untouched) && unlimited(actual))
}

/// Returns true if another `memoryThrottlingFactor`, or another allocatable amount, gives this.
fn is_other_throttling(cgroup: &PlannedCgroup<'_>, file: &str, actual: &str) -> bool {
    let Ok(actual) = actual.parse::<i64>() else { return false };
    let written = cgroup.files.iter().filter(|written| written.file == file);
    let mut steps = written.flat_map(|written| &written.because);
    steps.any(|step| match step {
        Step::MemoryHigh { request, top, page_size, .. } => {
            *request < actual && actual <= *top && *page_size > 0 && actual % page_size == 0
        }
        _ => false,
    })
}

/// Returns true if something that started at the same time has what is planned now, where the other configuration would
/// have given it something else.
fn is_contradicted(
    cgroups: &Cgroups<'_>,
    found: &Difference<'_>,
    all: &[Difference<'_>],
    ages: &Ages,
    rounding: Rounding,
) -> bool {
    let Some(since) = ages.since(found) else { return false };
    let is_of_same_start = |it: &&Difference<'_>| {
        it.container.is_some() == found.container.is_some()
            && it.pod_uid.is_some()
            && it.cgroup != found.cgroup
            && ages.is_older(it)
            && ages.since(it).is_some_and(|at| at.since(since).abs() <= SAME_START_NS)
    };
    let Some(file) = found.file.as_deref() else { return false };
    let siblings: BTreeSet<&str> = all.iter().filter(is_of_same_start).map(planned_path).collect();
    siblings.into_iter().any(|path| {
        let rows = || all.iter().filter(|it| planned_path(it) == path);
        let of_file = rows().find(|it| it.file.as_deref() == Some(file));
        let Some(known) = CgroupFile::named(file) else { return false };
        let other = cgroups.get(path).and_then(|cgroup| cgroup.text(file));
        let untouched = known.row().untouched.unwrap_or_default();
        match of_file {
            Some(row) if matches!(row.verdict, Verdict::Match | Verdict::Rounded) => {
                let actual = row.actual.as_deref().unwrap_or_default();
                compare(file, other.unwrap_or(untouched), actual, rounding)
                    == KernelValue::Different
            }
            Some(_) => false,
            // Nothing is planned, and the kernel has what it has at first.
            None => other.is_some_and(|other| !is_same(known, untouched, other)),
        }
    })
}

/// Returns the settings of other configurations that give pods and containers other values.
fn others<'d>(
    node: &NodeConfig,
    found: impl Iterator<Item = &'d Difference<'d>>,
) -> Vec<(&'static str, CgroupSettings)> {
    let now = CgroupSettings::of(node);
    let mut all = Vec::new();
    let memory_qos = now.rules.gates.enabled(Gate::MemoryQos);
    for (on, policy) in [
        (false, MemoryReservationPolicy::None),
        (true, MemoryReservationPolicy::None),
        (true, MemoryReservationPolicy::TieredReservation),
    ] {
        let mut other = now.clone();
        other.rules.gates = other.rules.gates.with(Gate::MemoryQos, on);
        other.memory_reservation_policy = policy;
        let field = match on == memory_qos {
            true if !on => continue,
            true => "memoryReservationPolicy or memoryThrottlingFactor",
            false => "featureGates (MemoryQoS)",
        };
        all.push((field, other));
    }
    let mut add = |field, change: &dyn Fn(&mut CgroupSettings)| {
        let mut other = now.clone();
        change(&mut other);
        all.push((field, other));
    };
    add("memorySwap", &|it| {
        it.swap_behavior = match it.swap_behavior {
            SwapBehavior::NoSwap => SwapBehavior::LimitedSwap,
            SwapBehavior::LimitedSwap => SwapBehavior::NoSwap,
        };
    });
    add("singleProcessOOMKill", &|it| {
        it.single_process_oom_kill = Some(!it.single_process_oom_kill.unwrap_or(false));
    });
    add("cpuCFSQuota", &|it| it.cpu_cfs_quota = !it.cpu_cfs_quota);
    add("cpuManagerPolicy", &|it| it.static_cpu_manager = !it.static_cpu_manager);
    let (mut periods, mut limits) = (BTreeSet::new(), BTreeSet::new());
    for difference in found {
        let file = difference.file.as_deref().and_then(CgroupFile::named);
        let actual = difference.actual.as_deref().unwrap_or_default();
        let last = actual.rsplit(' ').next().and_then(|text| text.parse::<i64>().ok());
        match file {
            Some(CgroupFile::CpuMax | CgroupFile::CpuCfsPeriod) => periods.extend(last),
            // Only what the kubelet asked systemd for has a drop-in.
            Some(CgroupFile::PidsMax) if is_by_systemd(difference, node) => limits.extend(last),
            Some(CgroupFile::PidsMax) if actual == "max" => {
                limits.insert(-1);
            }
            _ => {}
        }
    }
    periods.remove(&now.cpu_cfs_quota_period_us);
    for period in periods.into_iter().take(MOST_VALUES) {
        add("cpuCFSQuotaPeriod", &|it| {
            it.rules.gates = it.rules.gates.with(Gate::CustomCpuCfsQuotaPeriod, true);
            it.cpu_cfs_quota_period_us = period;
        });
    }
    for limit in limits.into_iter().take(MOST_VALUES) {
        add("podPidsLimit", &|it| it.pod_pids_limit = limit);
    }
    // An upgrade of the kubelet leaves pods and containers as they are too.
    for version in now.rules.gates.version().earlier() {
        let gates = FeatureGates::for_version(version).with_known(&node.config.feature_gates);
        add("version of the kubelet", &|it| it.rules = KubeletRules { gates });
    }
    all
}

/// How many other values of one field are looked at.
const MOST_VALUES: usize = 3;

fn is_by_systemd(found: &Difference<'_>, node: &NodeConfig) -> bool {
    use kq_facts::cgroup_mode::CgroupDriver;
    match node.cgroup_driver {
        CgroupDriver::Cgroupfs => true,
        CgroupDriver::Systemd => matches!(found.set_by, Some(SetBy::Systemd { .. })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::CgroupVersion;
    use crate::objects;
    use crate::plan::{RuntimeFormula, plan};
    use kq_answer::origin::Origin;
    use kq_facts::describe::{ConfigSource, NodeSources, describe};
    use kq_facts::overrides::Overrides;
    use kq_facts::settings::assign;
    use kq_facts::weight_formula::WeightFormula;
    use kq_k8s::manifest::LoadedPod;
    use serde_json::json;

    /// Returns two pods, each with one container that runs.
    fn two(requests: &str, limits: &str) -> Vec<LoadedPod> {
        let pod = |(uid, id)| {
            let status = json!([{"name": "c", "containerID": format!("containerd://{id}")}]);
            let pod = objects::pod(&format!("n/{uid}")).requests(requests).limits(limits);
            pod.statuses(status)
        };
        objects::loaded([("u1", "c1"), ("u2", "c2")].map(pod))
    }

    fn node(settings: &[(&str, &str)]) -> NodeConfig {
        let mut config = ConfigSource::default();
        for (field, text) in settings.iter().chain([&("failSwapOn", "false")]) {
            assign(&mut config, field, text, Origin::Flag("--set")).expect("YAML");
        }
        let list = "cpu=4,memory=8Gi,pid=32768".split(',').map(|pair| {
            let (name, amount) = pair.split_once('=').expect("a pair");
            (name.into(), amount.parse().expect("an amount"))
        });
        let overrides = Overrides {
            cgroup_version: Some(CgroupVersion::V2),
            capacity: list.collect(),
            swap_capacity: Some(1 << 30),
            swap_controller: Some(true),
            page_size: Some(4096),
            ..Overrides::default()
        };
        let sources =
            NodeSources { config: &config, object: None, overrides: &overrides, live: None };
        describe(sources).expect("a node")
    }

    /// Returns what is planned for a file of each container or pod, with what the kernel has.
    fn rows<'p>(
        pods: &'p [LoadedPod],
        node: &NodeConfig,
        runtimes: &Runtimes,
        file: &str,
        actual: [&str; 2],
    ) -> Vec<Difference<'static>> {
        let plan: Plan<'p> = plan(pods, node, runtimes.clone()).expect("a plan");
        let mut found = Vec::new();
        for root in &plan.roots {
            root.walk(0, &mut |cgroup, _| {
                if let Some(planned) = cgroup.text(file)
                    && !cgroup.path.ends_with("kubepods")
                {
                    let actual = actual[usize::from(cgroup.path.contains("u2"))];
                    let verdict = if planned == actual { Verdict::Match } else { Verdict::Drift };
                    found.push(Difference {
                        planned: Some(planned.to_owned()),
                        actual: Some(actual.to_owned()),
                        ..Difference::of(cgroup, Some(file), verdict)
                    });
                }
            });
        }
        found.into_iter().map(Difference::into_owned).collect()
    }

    #[test]
    fn only_another_configuration_before_the_start_explains_a_value() {
        let pods = two("memory=64Mi", "");
        let runtimes = Runtimes::from(RuntimeFormula::new(WeightFormula::Linear, false));
        let swap = [("memorySwap.swapBehavior", "LimitedSwap")];
        let limit = [("podPidsLimit", "100")];
        let second = |seconds: i64| Timestamp::from_seconds(1_000_000 + seconds);
        let (share, file) = ("8388608", "memory.swap.max");
        // The second started with the first, or a minute later.
        for (name, settings, file, actual, starts, expected) in [
            ("all have what they got", &swap[..], file, ["0", "0"], [-90, -85], "OO"),
            ("one started after the kubelet", &swap, file, ["0", "0"], [-90, 5], "OD"),
            ("no configuration gives this", &swap, file, ["5", "0"], [-90, -85], "DO"),
            ("another has what is planned", &swap, file, ["0", share], [-90, -85], "DM"),
            ("it started much later", &swap, file, ["0", share], [-90, -30], "OM"),
            ("a limit of pods", &limit, "pids.max", ["200", "200"], [-90, -85], "OO"),
            ("a limit of a new pod", &limit, "pids.max", ["200", "200"], [9, 9], "DD"),
            ("a weight", &limit, "cpu.weight", ["7", "7"], [-90, -85], "DDDD"),
        ] {
            let node = node(settings);
            let mut found = rows(&pods, &node, &runtimes, file, actual);
            found.retain(|it| it.pod_uid.is_some());
            let at = |id: &str, seconds| (id.to_owned(), second(seconds));
            let ages = Ages {
                kubelet: second(0),
                pods: [at("u1", starts[0]), at("u2", starts[1])].into(),
                containers: [at("c1", starts[0]), at("c2", starts[1])].into(),
            };
            let rounding = Rounding {
                version: CgroupVersion::V2,
                driver: node.cgroup_driver,
                kernel: node.kernel,
            };
            let compared =
                Compared { node: &node, pods: &(&pods).into(), runtimes: &runtimes, rounding };
            excuse(&mut found, &ages, compared);
            let letter = |it: &Difference<'_>| match it.verdict {
                Verdict::OlderConfig => 'O',
                Verdict::Drift => 'D',
                _ => 'M',
            };
            assert_eq!(found.iter().map(letter).collect::<String>(), expected, "{name}");
        }
    }

    #[test]
    fn a_kubelet_of_an_earlier_version_explains_a_value() {
        let pods = two("cpu=1,memory=64Mi", "cpu=1,memory=64Mi");
        let runtimes = Runtimes::from(RuntimeFormula::new(WeightFormula::Linear, false));
        let node = node(&[("cpuManagerPolicy", "static"), ("reservedSystemCPUs", "0")]);
        // Before 1.33, CPUs of its own did not take the quota from a container.
        for (actual, expected) in [("100000 100000", true), ("7000 100000", false)] {
            let mut found = rows(&pods, &node, &runtimes, "cpu.max", [actual, actual]);
            found.retain(|it| it.container.is_some());
            let at = |id: &str| (id.to_owned(), Timestamp::from_seconds(10));
            let ages = Ages {
                kubelet: Timestamp::from_seconds(1_000),
                pods: [at("u1"), at("u2")].into(),
                containers: [at("c1"), at("c2")].into(),
            };
            let rounding = Rounding {
                version: CgroupVersion::V2,
                driver: node.cgroup_driver,
                kernel: node.kernel,
            };
            let compared =
                Compared { node: &node, pods: &(&pods).into(), runtimes: &runtimes, rounding };
            excuse(&mut found, &ages, compared);
            assert_eq!(found.len(), 2, "{found:#?}");
            let is_older = |it: &Difference<'_>| it.verdict == Verdict::OlderConfig;
            assert_eq!(found.iter().all(is_older), expected, "{actual}: {found:#?}");
        }
    }
}

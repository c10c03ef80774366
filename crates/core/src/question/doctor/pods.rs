//! Containers that are throttled, OOM-killed, near their memory limit, or started again.

use super::ended::{self, EndedPods};
use super::oom::Limits;
use super::pod_rule::{MemoryLimit, OomKills, ProbeKills, Restarts, Throttling};
use super::rule::{NodeFinding, NodeRule};
use kq_admission::preemption::why::probe_kill;
use kq_answer::{Finding, Severity, Subject};
use kq_cgroup::files::CgroupDriver;
use kq_cgroup::live::place::{LiveOwner, Part, live_cgroups, without_cgroup};
use kq_cgroup::live::show::Usage;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts};
use kq_facts::events::PodEvent;
use kq_facts::node::Node;
use kq_facts::snapshot::Snapshot;
use kq_facts::workloads::Workloads;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ByName, Container, ContainerStatus, Pod, ProbeType};
use kq_probe::lint::ProbeLint;
use std::collections::BTreeMap;

/// A container that is throttled in fewer periods has its limit for peaks.
const THROTTLED_PERCENT: u64 = 25;

/// Fewer periods (10 seconds) are not significant.
const PERIODS: u64 = 100;

/// A container of which less is free is soon at its limit.
const NEAR_LIMIT_PERCENT: u64 = 90;

/// A single restart may have an external cause.
const RESTARTS: i32 = 3;

/// The exit code of a process that SIGKILL ended.
const KILLED: i32 = 137;

/// What is found of the pods.
pub(super) struct PodChecks {
    /// What the kernel's counters and the statuses say of containers and pods.
    pub containers: Vec<NodeFinding>,
    /// What is wrong with the probes.
    pub probes: Vec<Finding>,
}

/// Checks the pods of a node.
pub(super) fn checks(node: &Node, ended: &EndedPods<'_>) -> PodChecks {
    let snapshot = &node.snapshot;
    let mut containers = counters(snapshot, &node.roots, &node.workloads, ended);
    let Some(pods) = &snapshot.pods.found else {
        return PodChecks { containers, probes: Vec::new() };
    };
    let all = || pods.value.pods.iter().map(|loaded| &*loaded.pod);
    let events = snapshot.events.value().map_or(&[] as &[PodEvent], Vec::as_slice);
    let longest_wait = (!node.lacks_config()).then(|| longest_wait(node));
    let of_statuses = statuses(all(), events, &pods.source, longest_wait);
    containers = one_kill_each(containers, of_statuses);
    let probes = probes(all(), &node.kubelet.rules, &pods.source);
    containers.extend(ended::pods(node, &pods.source));
    containers.extend(passes(&containers, &pods.source));
    PodChecks { containers, probes }
}

/// Returns the findings in the kernel's counters.
fn counters(
    snapshot: &Snapshot,
    roots: &[(CgroupDriver, CgroupPath)],
    workloads: &Workloads,
    ended: &EndedPods<'_>,
) -> Vec<NodeFinding> {
    let unknown = |reason: &str| {
        let reason = reason.to_owned();
        let throttling = NodeRule::CpuThrottling(Throttling::Unknown { reason: reason.clone() });
        let memory = NodeRule::MemoryLimit(MemoryLimit::Unknown { reason });
        [throttling, memory].map(NodeRule::of_node).into()
    };
    let Some(tree) = &snapshot.cgroups.found else {
        return unknown(&format!("the cgroups are unknown: {}", snapshot.cgroups.reason()));
    };
    let present: Vec<_> = roots.iter().filter(|(_, root)| tree.value.get(root).is_some()).collect();
    if present.is_empty() {
        return unknown("there is no cgroup of all pods");
    }
    let (mut findings, mut containers, mut uncounted) = (Vec::new(), 0, 0);
    let mut unmeasured = 0;
    let (mut is_throttled, mut is_near) = (false, false);
    let cgroups: Vec<_> = present
        .into_iter()
        .flat_map(|(driver, root)| live_cgroups(&tree.value, root, *driver, workloads))
        .collect();
    let limits = Limits::of(cgroups.iter());
    let without = without_cgroup(&cgroups, workloads).len();
    for cgroup in &cgroups {
        let LiveOwner::Container(container) = &cgroup.owner else { continue };
        // A container without a known name is throttled and killed like any other.
        let name = match container.part {
            Part::Container(name, _) => name.to_owned(),
            Part::Unknown => container.label(),
            Part::Sandbox | Part::Monitor => continue,
        };
        containers += 1;
        let subject = || Subject::Pod { pod: container.pod.label(), container: Some(name.clone()) };
        let usage = Usage::of(cgroup.texts);
        let counted = usage.periods.zip(usage.throttled_periods);
        uncounted += usize::from(usage.cpu_usec.is_none());
        unmeasured += usize::from(usage.memory_bytes.is_none());
        // What is left of a pod that ended is removed: no limit of it is to be raised.
        let lives = !ended.has(&container.pod.uid);
        if lives && let Some((periods @ PERIODS.., throttled_periods)) = counted {
            let percent = throttled_periods.saturating_mul(100) / periods;
            if percent >= THROTTLED_PERCENT {
                is_throttled = true;
                let state = Throttling::Throttled {
                    periods,
                    throttled_periods,
                    percent,
                    is_below_plan: false,
                };
                findings.push(
                    NodeFinding::new(subject(), NodeRule::CpuThrottling(state)).from(&tree.source),
                );
            }
        }
        if lives && let Some((working_set_bytes, limit_bytes)) = working_set(cgroup.texts) {
            let percent =
                u64::try_from(u128::from(working_set_bytes) * 100 / u128::from(limit_bytes.max(1)));
            let percent = percent.unwrap_or(u64::MAX);
            if percent >= NEAR_LIMIT_PERCENT {
                is_near = true;
                let state = MemoryLimit::Near { working_set_bytes, limit_bytes, percent };
                findings.push(
                    NodeFinding::new(subject(), NodeRule::MemoryLimit(state)).from(&tree.source),
                );
            }
        }
        if let Some(times @ 1..) = usage.oom_kills {
            let level = limits.level(&container.pod.uid, cgroup);
            let state = OomKills::Killed { times, level, is_in_status: false, last: None };
            findings
                .push(NodeFinding::new(subject(), NodeRule::OomKills(state)).from(&tree.source));
        }
    }
    (containers, uncounted, unmeasured) =
        (containers + without, uncounted + without, unmeasured + without);
    if uncounted > 0 {
        let reason = format!("the CPU time of {uncounted} of {containers} containers is unknown");
        let unknown = NodeRule::CpuThrottling(Throttling::Unknown { reason });
        findings.push(unknown.of_node());
    } else if !is_throttled {
        let state = Throttling::Ok { containers };
        findings.push(NodeRule::CpuThrottling(state).of_node().from(&tree.source));
    }
    if unmeasured > 0 {
        let reason = format!("the memory of {unmeasured} of {containers} containers is unknown");
        let unknown = NodeRule::MemoryLimit(MemoryLimit::Unknown { reason });
        findings.push(unknown.of_node());
    } else if !is_near {
        let state = MemoryLimit::Ok { containers };
        findings.push(NodeRule::MemoryLimit(state).of_node().from(&tree.source));
    }
    findings
}

/// Returns the memory that the kernel cannot take back at once, and the limit, where both are known: the kubelet's working
/// set is the usage without inactive files.
fn working_set(texts: &CgroupTexts) -> Option<(u64, u64)> {
    let usage = texts.number(CgroupFile::MemoryCurrent)?;
    let limit = texts.number(CgroupFile::MemoryMax)?;
    let inactive = texts.keyed(CgroupFile::MemoryStat, "inactive_file").unwrap_or_default();
    // cgroup v1 reports the largest number of pages for no limit.
    (limit < 1 << 62).then(|| (usage.saturating_sub(inactive), limit))
}

/// Returns how long a kubelet waits at most before it starts a crashing container again (`newCrashLoopBackOff`,
/// `pkg/kubelet/kubelet.go`): a period of its configuration counts before the gate that lowers the default.
fn longest_wait(node: &Node) -> GoDuration {
    let gates = &node.kubelet.rules.gates;
    let is_lower = gates.enabled(Gate::ReduceDefaultCrashLoopBackOffDecay);
    let default = GoDuration(5 * GoDuration::MINUTE.0);
    match (gates.enabled(Gate::KubeletCrashLoopBackOffMax), is_lower) {
        (true, _) => node.config().max_container_restart_period.unwrap_or(default),
        (false, true) => GoDuration::MINUTE,
        (false, false) => default,
    }
}

/// Returns the findings in the statuses of the pods.
fn statuses<'p>(
    pods: impl Iterator<Item = &'p Pod>,
    events: &[PodEvent],
    source: &str,
    longest_wait: Option<GoDuration>,
) -> Vec<NodeFinding> {
    let (mut findings, mut all, mut unreported) = (Vec::new(), 0, 0);
    let kills = probe_kills(events);
    for pod in pods {
        all += 1;
        // A manifest has no status.
        unreported += usize::from(pod.status.phase.is_empty());
        let containers = pod.spec.containers_and_init();
        let statuses = pod.status.containers_and_init();
        let statuses = ByName::first_of(statuses);
        for container in containers {
            let Some(status) = statuses.get(&container.name) else { continue };
            let key = (
                pod.metadata.namespace.as_str(),
                pod.metadata.name.as_str(),
                container.name.as_str(),
            );
            let rules = of_container(container, status, kills.get(&key), longest_wait);
            let subject = || Subject::Pod {
                pod: pod.metadata.qualified_name(),
                container: Some(container.name.clone()),
            };
            let found =
                rules.into_iter().map(|rule| NodeFinding::new(subject(), rule).from(source));
            findings.extend(found);
        }
    }
    if unreported > 0 {
        let reason = format!("the statuses of {unreported} of {all} pods are unknown");
        let unknown = NodeRule::Restarts(Restarts::Unknown { reason });
        findings.push(unknown.of_node());
    }
    findings
}

/// Joins the OOM kills that the kernel counted with those of the statuses: a container has one finding of them.
fn one_kill_each(mut counted: Vec<NodeFinding>, of_statuses: Vec<NodeFinding>) -> Vec<NodeFinding> {
    let mut others = Vec::new();
    for finding in of_statuses {
        let NodeRule::OomKills(OomKills::Last { at }) = &finding.rule else {
            others.push(finding);
            continue;
        };
        let same = counted.iter_mut().filter(|it| it.subject == finding.subject);
        let kills = same.filter_map(|it| match &mut it.rule {
            NodeRule::OomKills(OomKills::Killed { is_in_status, last, .. }) => {
                Some((is_in_status, last))
            }
            _ => None,
        });
        match kills.last() {
            Some((is_in_status, last)) => (*is_in_status, *last) = (true, at.clone()),
            None => others.push(finding),
        }
    }
    counted.extend(others);
    counted
}

/// Returns that no container was OOM-killed or started again, where everything that would say otherwise is known.
fn passes(findings: &[NodeFinding], source: &str) -> Vec<NodeFinding> {
    let found = |is_it: fn(&NodeRule) -> bool| findings.iter().any(|it| is_it(&it.rule));
    let has_restarts = found(|rule| matches!(rule, NodeRule::Restarts(_)));
    let may_have_kills = found(|rule| {
        matches!(
            rule,
            NodeRule::OomKills(_)
                | NodeRule::MemoryLimit(MemoryLimit::Unknown { .. })
                | NodeRule::Restarts(Restarts::Unknown { .. })
        )
    });
    let kills = (!may_have_kills).then_some(NodeRule::OomKills(OomKills::Ok));
    let restarts = (!has_restarts).then_some(NodeRule::Restarts(Restarts::Ok));
    kills.into_iter().chain(restarts).map(|rule| rule.of_node().from(source)).collect()
}

/// Returns the problems of probes: those that do not do what is expected of them.
fn probes<'p>(
    pods: impl Iterator<Item = &'p Pod>,
    rules: &KubeletRules,
    source: &str,
) -> Vec<Finding> {
    let lint = ProbeLint::by(pods, rules.gates.enabled(Gate::ExecProbeTimeout));
    let problems = lint.items.into_iter().filter(|finding| finding.severity < Severity::Info);
    let command = || Some("kq probe lint".to_owned());
    problems.map(|finding| Finding { command: command(), ..finding.from(source) }).collect()
}

/// Returns the kills for a probe that events show, by namespace, pod and container.
fn probe_kills(events: &[PodEvent]) -> BTreeMap<(&str, &str, &str), ProbeKills> {
    let mut kills: BTreeMap<(&str, &str, &str), ProbeKills> = BTreeMap::new();
    for event in events {
        let Some((container, probe)) = probe_kill(&event.reason, &event.message) else { continue };
        let of_container = kills
            .entry((&event.pod.namespace, &event.pod.name, container))
            .or_insert_with(|| ProbeKills { probe: probe.to_owned(), times: 0 });
        of_container.times += event.count.max(1);
    }
    kills
}

fn of_container(
    container: &Container,
    status: &ContainerStatus,
    kills: Option<&ProbeKills>,
    longest_wait: Option<GoDuration>,
) -> Vec<NodeRule> {
    let mut rules = Vec::new();
    let ended = status.last_state.terminated.as_ref().or(status.state.terminated.as_ref());
    let is_oom = ended.is_some_and(|ended| ended.reason == "OOMKilled");
    if let Some(ended) = ended.filter(|_| is_oom) {
        rules.push(NodeRule::OomKills(OomKills::Last { at: ended.finished_at.clone() }));
    }
    let waiting = status.state.waiting.as_ref().map(|it| it.reason.as_str()).unwrap_or_default();
    let restarts = status.restart_count;
    if waiting == "CrashLoopBackOff" {
        let reason = waiting.to_owned();
        rules.push(NodeRule::Restarts(Restarts::BackOff { restarts, reason, longest_wait }));
    } else if restarts >= RESTARTS && (!is_oom || kills.is_some()) {
        let exit_code = ended.map(|ended| ended.exit_code);
        let probe_of = || {
            let kinds = [ProbeType::Liveness, ProbeType::Startup];
            kinds
                .into_iter()
                .find(|kind| container.probe(*kind).is_some())
                .map(|kind| kind.to_string().to_lowercase())
        };
        rules.push(NodeRule::Restarts(Restarts::Restarted {
            restarts,
            exit_code,
            last: ended.and_then(|ended| ended.finished_at.clone()),
            probe: (exit_code == Some(KILLED)).then(probe_of).flatten(),
            probe_kills: kills.cloned(),
        }));
    }
    rules
}

//! The report of one pod, across all domains.

use super::pod_fact::PodFact;
use super::restart::{Victims, victims_of_next};
use super::rule::{Eviction, NodeFinding, NodeRule};
use crate::question::admission::{AdmissionNode, Detail, plan, sort};
use crate::question::cgroup::Compared;
use crate::question::devices::list::device_list;
use crate::question::eviction::{EvictionOptions, eviction_rank};
use crate::question::image_gc::{ImageGcOptions, image_gc_plan};
use crate::question::probes::fill_in;
use anyhow::anyhow;
use kq_admission::qualified;
use kq_answer::{
    Basis, Failure, Finding, Headline, Missing, MissingFact, Severity, Subject, Topic, WarningCode,
    Worded, answer,
};
use kq_cgroup::live::difference::Verdict;
use kq_cgroup::live::place::{LiveOwner, Part, live_cgroups};
use kq_cgroup::live::show::Usage;
use kq_eviction::RankItem;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::kubelet_config::Signal;
use kq_facts::node::Node;
use kq_facts::pod_selector::{PodSelector, Selection, nearest_pod, several_pods};
use kq_facts::workloads::effective_uid;
use kq_image_gc::plan::Trigger;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::pod::{ContainerStatus, Pod, ProbeType};
use kq_k8s::priority::is_critical_pod;
use kq_k8s::qos::effective_qos_class;
use kq_managers::list::Asked;
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_probe::schedule::{Milestone, Since, timeline};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// A pod, through all domains.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    pub uid: String,
    /// What is known of it.
    pub items: Vec<PodRow>,
    /// The findings about it, the worst first.
    pub findings: Vec<Finding>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PodReport", PodReport; PodReport::headline);

impl PodReport {
    fn headline(&self) -> Headline {
        let headline = Headline::of_findings(&self.findings);
        Headline { text: format!("{}: {}", self.pod, headline.text), ..headline }
    }
}

/// A line of the page.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodRow {
    /// The domain: `cpu`, `probe`.
    pub topic: &'static str,
    /// The container; null: the pod as a whole.
    pub container: Option<String>,
    /// What is known.
    pub fact: Worded<PodFact>,
    /// The command of kq that shows more; null: none does.
    pub command: Option<String>,
}

impl PodReport {
    /// Returns true if a finding is an error.
    pub fn has_failed(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Returns true if the result of a check or a fact of the page is unknown.
    pub fn is_incomplete(&self) -> bool {
        let is_unknown = |finding: &Finding| finding.severity == Severity::Unknown;
        !self.basis.missing.is_empty() || self.findings.iter().any(is_unknown)
    }
}

/// Returns a line for each fact; wide: with the command for more.
pub fn page(report: &PodReport, is_wide: bool) -> Table {
    Rows::of(&report.items).wide(is_wide).table(&[
        Column::new("TOPIC", |row: &PodRow| row.topic.to_owned()),
        Column::name("CONTAINER", |row| or_dash(row.container.as_ref())),
        Column::text("NOW", |row| row.fact.to_string()),
        Column::wide(Column::text("MORE", |row| or_dash(row.command.as_ref()))),
    ])
}

/// Builds the report of a pod. `findings`: those of the node.
pub(super) fn report(
    compared: &Compared,
    node: &Arc<Node>,
    named: &str,
    findings: &[Finding],
    is_stored: bool,
) -> Result<PodReport, Failure> {
    let pod = find(compared, named, findings)?;
    let name = qualified(pod);
    let mut page =
        Page { name: &name, rows: Vec::new(), findings: Vec::new(), basis: Basis::default() };
    page.status(pod, node.kubelet.rules.gates);
    page.cgroups(compared, pod)?;
    page.basis.lack_all(node.missing_config());
    let of_version = node.notes.iter().filter(|note| note.code == WarningCode::UnknownRules);
    page.basis.warn_all(of_version.cloned());
    page.basis.assume_all(node.assumed_version());
    // A pod that ended is not evicted, probed or preempted any more.
    let has_ended = pod.status.has_ended();
    if !has_ended {
        page.eviction(node, compared, pod, is_stored);
    }
    page.devices(node, pod);
    page.images(node, pod);
    if !has_ended {
        page.probes(pod, node);
    }
    page.events(node, pod);
    if !has_ended {
        page.preemption(node, pod);
    }
    let is_about = |finding: &&Finding| match &finding.subject {
        Subject::Pod { pod, .. } | Subject::Container { pod, .. } => *pod == name,
        Subject::Node => finding.severity == Severity::Error && finding.topic == Topic::RunsPods,
        _ => false,
    };
    let about = findings.iter().filter(is_about).cloned();
    let mut findings: Vec<Finding> = page.findings.into_iter().chain(about).collect();
    findings.sort_by_key(|it| (it.severity, it.subject == Subject::Node));
    Ok(PodReport {
        uid: effective_uid(pod).to_owned(),
        items: page.rows,
        findings,
        basis: page.basis,
        pod: name,
    })
}

/// Finds the pod that is meant. `checks`: the findings of the node, whose names are those of no pod.
fn find<'c>(compared: &'c Compared, named: &str, checks: &[Finding]) -> Result<&'c Pod, Failure> {
    let live = &compared.live;
    let selector = PodSelector::new(named);
    let pods = || live.pods().into_iter();
    let is_meant = |pod: &&Pod| selector.is_of(pod);
    let meant: Vec<&Pod> = pods().filter(is_meant).collect();
    match &meant[..] {
        [pod] => Ok(pod),
        [_, _, ..] => Err(several_pods(named, meant)),
        [] if live.snapshot.node_name.value().is_some_and(|node| node == named) => {
            let no_pod = anyhow!("{named} is the node, and there is no pod of that name on it");
            Err(Failure::usage(no_pod).hint("kq doctor checks the node"))
        }
        [] if checks.iter().any(|check| check.id == named) => {
            let no_pod =
                anyhow!("{named} is a check of the node, and there is no pod of that name");
            Err(Failure::usage(no_pod).of_name().hint("kq doctor has its result"))
        }
        [] if live.snapshot.pods.found.is_none() => {
            let reason = live.snapshot.pods.reason();
            let unknown = anyhow!("the pods of this node are unknown, so {named} is: {reason}");
            let failure = Failure::missing(unknown).of_name();
            Err(failure.hint("name an API server with --kubeconfig, or a file of pods with --pods"))
        }
        [] => {
            let unknown = live.unknown_pods().map(|it| it.text);
            let no_pod = anyhow!("no pod {named} on this node");
            let failure = Failure::not_found(no_pod, unknown.as_deref());
            Err(match nearest_pod(named, pods()) {
                Some(near) => failure.hint(format!("did you mean {near}?")),
                None => failure.hint("kq cgroup show lists the pods of the node"),
            })
        }
    }
}

struct Page<'n> {
    name: &'n str,
    rows: Vec<PodRow>,
    /// What is said of this pod alone.
    findings: Vec<Finding>,
    basis: Basis,
}

/// The newest events that the page of a pod has.
const EVENTS: usize = 5;

impl Page<'_> {
    fn events(&mut self, node: &Node, pod: &Pod) {
        let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
        let events = node.snapshot.events.value().into_iter().flatten();
        let own = events.filter(|it| (&it.pod.namespace, &it.pod.name) == (namespace, name));
        for event in own.take(EVENTS) {
            let fact = PodFact::Event {
                reason: event.reason.clone(),
                message: event.message.clone(),
                reporter: event.reporter.clone(),
                at: event.at,
                count: event.count,
            };
            self.add(event.container.as_deref(), fact, "kq why POD");
        }
    }

    fn add(&mut self, container: Option<&str>, fact: PodFact, command: &str) {
        let command = (!command.is_empty()).then(|| command.replace("POD", self.name));
        let (topic, container) = (fact.topic(), container.map(str::to_owned));
        self.rows.push(PodRow { topic, container, fact: Worded(fact), command });
    }

    fn status(&mut self, pod: &Pod, gates: FeatureGates) {
        let status = &pod.status;
        self.add(
            None,
            PodFact::Status {
                phase: if status.phase.is_empty() {
                    "phase unknown".to_owned()
                } else {
                    status.phase.clone()
                },
                reason: said(&status.reason),
                message: said(&status.message),
                qos_class: effective_qos_class(pod, gates).as_str().to_owned(),
                priority: pod.spec.priority,
            },
            "kq cgroup plan POD",
        );
        for status in status.containers_and_init() {
            let (ready, restarts) = (status.ready, status.restart_count);
            let container = PodFact::Container { state: state(status), ready, restarts };
            self.add(Some(&status.name), container, "");
            let ended = status.last_state.terminated.as_ref().or(status.state.terminated.as_ref());
            if let Some(ended) = ended {
                let end = PodFact::LastEnd {
                    exit_code: ended.exit_code,
                    reason: ended.reason.clone(),
                    finished_at: ended.finished_at.clone(),
                };
                self.add(Some(&status.name), end, "kq why POD");
            }
        }
    }

    fn lack(&mut self, fact: MissingFact, text: String) {
        self.basis.lack(Missing::new(fact, text));
    }

    fn cgroups(&mut self, compared: &Compared, pod: &Pod) -> Result<(), Failure> {
        let live = &compared.live;
        let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
        match compared.comparison() {
            Ok(comparison) => {
                let own = comparison.differences.iter().filter(|it| {
                    it.namespace.as_ref() == Some(namespace) && it.pod.as_ref() == Some(name)
                });
                let verdicts: Vec<_> = own.map(|it| it.verdict).collect();
                let fact = PodFact::CgroupValues {
                    compared: verdicts.len(),
                    drifting: verdicts.iter().filter(|it| it.is_drift()).count(),
                    unknown: verdicts.iter().filter(|it| **it == Verdict::Unknown).count(),
                };
                self.add(None, fact, "kq cgroup diff POD");
            }
            Err(failure) => self.lack(
                MissingFact::CgroupValues,
                format!("the values of its cgroups: {}", failure.reason()),
            ),
        }
        let Some(tree) = live.snapshot.cgroups.value() else { return Ok(()) };
        let uid = effective_uid(pod);
        let present = live.roots.iter().filter(|(_, root)| tree.get(root).is_some());
        for cgroup in
            present.flat_map(|(driver, root)| live_cgroups(tree, root, *driver, &live.workloads))
        {
            let LiveOwner::Container(container) = &cgroup.owner else { continue };
            let Part::Container(name, _) = container.part else { continue };
            if container.pod.uid != uid {
                continue;
            }
            let usage = Usage::of(cgroup.texts);
            let throttled_percent = usage
                .periods
                .zip(usage.throttled_periods)
                .filter(|(periods, _)| *periods > 0)
                .map(|(periods, throttled)| throttled.saturating_mul(100) / periods);
            let limit = cgroup.texts.text("cpu.max").map(str::to_owned);
            let cpu = PodFact::Cpu { limit, throttled_percent };
            self.add(Some(name), cpu, "kq cgroup show POD -o wide");
            let memory = PodFact::Memory {
                usage_bytes: usage.memory_bytes,
                limit_bytes: cgroup.texts.number(CgroupFile::MemoryMax),
                oom_kills: usage.oom_kills,
            };
            self.add(Some(name), memory, "kq cgroup show POD");
        }
        Ok(())
    }

    fn eviction(&mut self, node: &Node, compared: &Compared, pod: &Pod, is_stored: bool) {
        for signal in [Signal::MemoryAvailable, Signal::NodeFsAvailable] {
            let options = EvictionOptions {
                signal,
                node_name: compared.live.snapshot.node_name.value().cloned(),
                stats_file: None,
                is_stored,
            };
            let rank = match eviction_rank(node, &options) {
                Ok(rank) => rank,
                Err(failure) => {
                    self.lack(
                        MissingFact::EvictionRank,
                        format!("its place in the order of eviction: {}", failure.reason()),
                    );
                    return;
                }
            };
            let uid = effective_uid(pod);
            let (pods, own) = (rank.items.len(), rank.items.iter().find(|it| it.pod.uid == uid));
            let first = &rank.first.one_of;
            if rank.is_crossed()
                && rank.reclaimed.is_none()
                && !rank.lacks_pods
                && self.findings.is_empty()
                && let [only] = first.as_slice()
                && only.uid == uid
            {
                let subject = Subject::Pod { pod: self.name.to_owned(), container: None };
                let rule = NodeRule::Eviction(Eviction::First { signal });
                self.findings.push(NodeFinding::new(subject, rule).written());
            }
            if let Some(own) = own {
                let signal = signal.as_str().to_owned();
                let command = format!("kq evict rank --signal {signal}");
                let over_own_limits = rank.over_own_limits().contains(&own.pod);
                let RankItem { rank, last_rank, critical, .. } = *own;
                let fact = PodFact::EvictionRank {
                    signal,
                    rank,
                    last_rank,
                    pods,
                    critical,
                    over_own_limits,
                };
                self.add(None, fact, &command);
            }
        }
    }

    fn devices(&mut self, node: &Node, pod: &Pod) {
        let asks = |pod: &Pod| {
            let containers = pod.spec.containers_and_init();
            containers
                .flat_map(|it| it.resources.limits.iter())
                .any(|(name, _)| name.as_str().contains('/'))
        };
        let rows = match device_list(node, Asked::Both, &Selection::default()) {
            Ok(list) => list.items,
            Err(failure) => {
                if asks(pod) {
                    self.lack(MissingFact::DeviceUse, format!("its devices: {}", failure.reason()));
                }
                return;
            }
        };
        for row in rows.iter().filter(|row| row.pod.uid == Some(effective_uid(pod))) {
            let (resource, device) = (row.resource.to_owned(), row.device.to_owned());
            let fact = PodFact::Device { resource, device, state: row.state.to_string() };
            self.add(Some(row.container), fact, "kq devices list POD");
        }
    }

    fn images(&mut self, node: &Node, pod: &Pod) {
        let containers =
            node.snapshot.runtime.value().and_then(|runtime| runtime.containers.value());
        let plan = match image_gc_plan(node, &ImageGcOptions::new(Trigger::Periodic)) {
            Ok(answer) => answer.plan,
            Err(failure) => {
                self.lack(
                    MissingFact::ImageVerdict,
                    format!("the fate of its images: {}", failure.reason()),
                );
                return;
            }
        };
        let uid = effective_uid(pod);
        for container in containers.into_iter().flatten().filter(|it| it.pod_uid == uid) {
            let ids = [
                container.image_id.as_deref(),
                Some(&*container.image_ref),
                Some(&*container.image),
            ];
            let is_its = |id: &str| ids.iter().flatten().any(|own| *own == id);
            if let Some(image) = plan.items.iter().find(|it| {
                is_its(&it.id) || it.tags.iter().chain(&it.digests).any(|name| is_its(name))
            }) {
                let names =
                    image.tags.first().or(image.digests.first()).unwrap_or(&image.id).clone();
                let command = format!("kq gc explain {names}");
                let verdict = image.verdict.to_string();
                self.add(Some(&container.name), PodFact::Image { image: names, verdict }, &command);
            }
        }
    }

    fn probes(&mut self, pod: &Pod, node: &Node) {
        let mut pod = pod.clone();
        fill_in(&mut pod);
        for container in pod.spec.containers_and_init() {
            let timeline = timeline(&pod, container, node.runtime_request_timeout);
            let shown = timeline.entries.iter().filter(|entry| {
                entry.since == Since::Trouble
                    && matches!(entry.what, Milestone::Killed | Milestone::NotReady)
                    && entry.probe != ProbeType::Startup
            });
            for entry in shown {
                let fact = PodFact::Probe {
                    probe: entry.probe,
                    what: entry.what,
                    earliest_seconds: entry.earliest.after.seconds(),
                    latest_seconds: entry.latest.after.seconds(),
                };
                self.add(Some(&container.name), fact, "kq probe plan POD");
            }
        }
    }

    fn preemption(&mut self, node: &Arc<Node>, pod: &Pod) {
        let about = AdmissionNode::with_all_pods(node.clone());
        match victims_of_next(&about) {
            Ok((needs_milli_cpu, victims)) => {
                let is_victim = victims.has(self.name);
                self.add(
                    None,
                    PodFact::Preempted { needs_milli_cpu, is_victim },
                    "kq preempt explain FILE --static",
                );
            }
            Err(reason) => {
                self.lack(MissingFact::Preemption, format!("whether it is preempted: {reason}"))
            }
        }
        let critical = is_critical_pod(pod);
        let victims = match critical {
            false => Ok((Vec::new(), Vec::new())),
            true => plan(&about, pod, |others| sort(others, &[]), Detail::BRIEF)
                .map(|planned| Victims::of(&planned))
                .map(|Victims { victims, equal, .. }| (victims, equal)),
        };
        match victims {
            Ok((victims, equal)) => {
                let fact = PodFact::Preempts { critical, victims, equal };
                self.add(None, fact, "kq preempt explain POD");
            }
            Err(failure) => self.lack(
                MissingFact::Preemption,
                format!("the pods that it preempts: {}", failure.reason()),
            ),
        }
    }
}

fn said(text: &str) -> Option<String> {
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}

fn state(status: &ContainerStatus) -> String {
    let state = &status.state;
    match (&state.waiting, &state.running, &state.terminated) {
        (_, Some(_), _) => "running".to_owned(),
        (Some(waiting), ..) if !waiting.reason.is_empty() => format!("waiting: {}", waiting.reason),
        (Some(_), ..) => "waiting".to_owned(),
        (_, _, Some(_)) => "terminated".to_owned(),
        _ => "state unknown".to_owned(),
    }
}

//! Invalid, unwise and surprising settings in the probes of a pod, with their numbers. Advice is kq's own;
//! consequences are the kubelet's, and errors are in the API server's words.
//!
//! * `timing`: times and thresholds.
//! * `handlers`: requests and their hosts, and variables in the commands of exec probes.
//! * `rule`: the rules, their facts and sentences.

mod handlers;
mod rule;
#[cfg(test)]
mod tests;
mod timing;

use crate::exec_cost;
use crate::subject::{display_name, subjects};
use kq_answer::{Basis, Finding, Headline, Missing, MissingFact, Severity, Subject, answer};
use kq_k8s::defaults::with_defaults;
use kq_k8s::pod::{Container, Pod, PodSpec, Probe, ProbeType};
use kq_k8s::validation::{FieldError, validate_probes};
use rule::ProbeRule;
use serde::Serialize;
use std::collections::BTreeMap;

/// One command a second: about a tenth of a CPU goes into starting them, at 0.1 s for each.
const NODE_EXECS_PER_MINUTE: u64 = 60;

/// Two commands of a pod each ten seconds, the default period, are 12.
const POD_EXECS_PER_MINUTE: u64 = 30;

/// The findings as a value: what `-o json` and `-o yaml` print.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeLint {
    /// The number of findings by severity.
    pub summary: BTreeMap<String, usize>,
    /// The number of checked probes.
    pub probes: usize,
    /// The findings by severity, the worst first, then in the order of the pods.
    pub items: Vec<Finding>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ProbeLint", ProbeLint; ProbeLint::headline);

impl ProbeLint {
    fn headline(&self) -> Headline {
        Headline::of_findings(&self.items)
    }
}

impl ProbeLint {
    /// Checks pods under the default feature gates.
    pub fn of<'p>(pods: impl IntoIterator<Item = &'p Pod>) -> Self {
        Self::by(pods, true)
    }

    /// Checks pods. `fails_on_timeout`: a command that takes too long is a failure, as with the gate
    /// `ExecProbeTimeout`, which can be off up to 1.34.
    pub fn by<'p>(pods: impl IntoIterator<Item = &'p Pod>, fails_on_timeout: bool) -> Self {
        let (mut items, mut unchecked, mut probes) = (Vec::new(), Vec::new(), 0);
        for pod in pods {
            items.extend(findings(pod, fails_on_timeout));
            for subject in subjects(pod) {
                probes += 1;
                let get = subject.probe.http_get.as_ref();
                let exec = subject.probe.exec.as_ref();
                let withheld = get.is_some_and(|get| get.query_withheld)
                    || exec.is_some_and(|exec| exec.command_withheld);
                if withheld {
                    let pod = display_name(pod);
                    let probe = format!("{pod}: {subject}");
                    let text =
                        format!("{probe}: snapshots and reports do not store commands and queries");
                    unchecked.push(Missing::new(MissingFact::ProbeAction, text).about(probe));
                }
            }
        }
        let mut basis = Basis::default();
        basis.lack_all(unchecked);
        let lint = Self { summary: BTreeMap::new(), probes, items, basis };
        lint.in_order()
    }

    /// Adds fields that Kubernetes does not have: object, path and the most similar field.
    pub fn with_unknown_fields(
        mut self,
        unknown: impl IntoIterator<Item = (String, String, Option<&'static str>)>,
    ) -> Self {
        self.items.extend(unknown.into_iter().map(|(object, field, nearest)| {
            let subject = Subject::Container { pod: object, container: String::new(), field };
            Finding::of(subject, &ProbeRule::UnknownField { nearest })
        }));
        self.in_order()
    }

    /// Adds how many processes the exec probes start per minute, where they are many: of all pods together where they
    /// are those of a node, else of each pod.
    pub fn with_exec_rate(mut self, pods: &[&Pod], are_all_of_node: bool) -> Self {
        if are_all_of_node {
            let rule = exec_rate(pods, NODE_EXECS_PER_MINUTE);
            self.items.extend(rule.map(|rule| Finding::of(Subject::Node, &rule)));
        } else {
            let of_pod = |pod: &&Pod| {
                let rule = exec_rate(&[*pod], POD_EXECS_PER_MINUTE)?;
                Some(about(pod, "", ("spec".to_owned(), rule)))
            };
            self.items.extend(pods.iter().filter_map(of_pod));
        }
        self.in_order()
    }

    /// Sorts the findings, and counts them.
    fn in_order(mut self) -> Self {
        // Stable: within a severity they stay in the order of the pods.
        self.items.sort_by_key(|finding| finding.severity);
        self.summary = Severity::count(&self.items);
        self
    }
}

/// The most fields of a pod that are named where the API server refuses them. A pod that it took has none.
const MOST_REFUSED: usize = 200;

/// Checks the containers and sidecars of a pod, in the order of the spec.
fn findings(pod: &Pod, fails_on_timeout: bool) -> Vec<Finding> {
    let spec = &pod.spec;
    let containers = spec.containers.iter().enumerate().map(|(at, it)| ("containers", at, it));
    let sidecars = spec.init_containers.iter().enumerate();
    let sidecars = sidecars.map(|(at, container)| ("initContainers", at, container));
    let sidecars = sidecars.filter(|(.., container)| container.restarts_always());
    let errors = validate_probes(pod);
    let is_refused = |probe: &str| errors.iter().any(|it| it.path.starts_with(probe));
    let (told, others) = errors.split_at(errors.len().min(MOST_REFUSED));
    let mut all: Vec<Finding> = told.iter().map(|it| refused(pod, it)).collect();
    if !others.is_empty() {
        let error = format!("{} more fields of the pod are refused", others.len());
        all.push(about(pod, "", ("spec".to_owned(), ProbeRule::Refused { error })));
    }
    for (list, at, container) in containers.chain(sidecars) {
        let path = format!("spec.{list}[{at}]");
        let [startup, readiness, liveness] =
            ProbeType::ALL.map(|kind| container.probe(kind).map(with_defaults));
        let first = if startup.is_some() { ProbeType::Startup } else { ProbeType::Liveness };
        let has_verdict = !is_refused(&format!("{path}.{}", first.field()));
        let probed = Probed {
            spec,
            container,
            path,
            startup,
            readiness,
            liveness,
            has_verdict,
            fails_on_timeout,
        };
        let mut found = timing::findings(&probed);
        found.extend(handlers::findings(&probed));
        found.extend(handlers::variables(&probed));
        all.extend(found.into_iter().map(|it| about(pod, &container.name, it)));
    }
    all
}

/// Returns how often commands are started where that is often. Startup probes end soon and do not count.
fn exec_rate(pods: &[&Pod], limit: u64) -> Option<ProbeRule> {
    let (mut probes, mut per_hour) = (0, 0);
    for pod in pods {
        let sidecars = pod.spec.sidecars();
        for container in pod.spec.containers.iter().chain(sidecars) {
            let kinds = [ProbeType::Readiness, ProbeType::Liveness];
            let given = kinds.into_iter().filter_map(|kind| container.probe(kind));
            for probe in given.map(with_defaults).filter(|probe| probe.exec.is_some()) {
                probes += 1;
                per_hour += exec_cost::per_hour(probe.period_seconds);
            }
        }
    }
    let per_minute = per_hour / 60;
    (per_minute >= limit).then_some(ProbeRule::FrequentExec { probes, per_minute })
}

/// Returns what the API server refuses.
fn refused(pod: &Pod, error: &FieldError) -> Finding {
    let spec = &pod.spec;
    let lists =
        [("spec.containers[", &spec.containers), ("spec.initContainers[", &spec.init_containers)];
    let container = lists.into_iter().find_map(|(start, list)| {
        let (at, _) = error.path.strip_prefix(start)?.split_once(']')?;
        list.get(at.parse::<usize>().ok()?)
    });
    let container = container.map(|container| container.name.as_str()).unwrap_or_default();
    about(
        pod,
        container,
        (error.path.clone(), ProbeRule::Refused { error: error.kind.to_string() }),
    )
}

/// A rule that applies, and the path of its field.
type Found = (String, ProbeRule);

fn about(pod: &Pod, container: &str, (field, rule): Found) -> Finding {
    let pod = pod.metadata.qualified_name();
    Finding::of(Subject::Container { pod, container: container.to_owned(), field }, &rule)
}

/// A container with its probes, as the API server fills them in.
struct Probed<'p> {
    spec: &'p PodSpec,
    container: &'p Container,
    /// `spec.containers[0]`
    path: String,
    startup: Option<Probe>,
    readiness: Option<Probe>,
    liveness: Option<Probe>,
    /// The startup probe, or else the liveness probe, can kill the container: the API server does not refuse it.
    has_verdict: bool,
    /// A command that takes too long is a failure.
    fails_on_timeout: bool,
}

impl Probed<'_> {
    /// Returns the probes with the paths of their fields.
    fn probes(&self) -> impl Iterator<Item = (ProbeType, String, &Probe)> {
        let probes = [
            (ProbeType::Startup, &self.startup),
            (ProbeType::Readiness, &self.readiness),
            (ProbeType::Liveness, &self.liveness),
        ];
        probes.into_iter().filter_map(|(kind, probe)| {
            Some((kind, format!("{}.{}", self.path, kind.field()), probe.as_ref()?))
        })
    }
}

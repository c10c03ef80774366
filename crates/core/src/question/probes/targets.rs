//! Probes, prepared to be sent or planned, with the basis of the answer.

use super::ProbeSelection;
use super::containers::{container_id, put, running};
use super::pods::{ProbedPod, ProbedPods, Purpose, fill_in};
use crate::question::patches::assume_fault;
use anyhow::anyhow;
use kq_answer::origin::Origin;
use kq_answer::{Assumption, Basis, Failure, Missing, Warning, WarningCode, Worded};
use kq_facts::events::PodEvent;
use kq_facts::node::Node;
use kq_facts::runtime::Sandbox;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::patch_fixes::PatchFault;
use kq_k8s::pod::{Container, OsRefusal, Pod, Probe, ProbeType};
use kq_probe::plan::{ProbePlan, plan};
use kq_probe::reason::ProbeNote;
use kq_probe::report::{Outcome, ProbeReport, ProbeRun, ProbeVerdict, Sourced};
use kq_probe::subject::{ContainerKind, Subject, SubjectError, select, subjects};
use kq_probe::trace::{At, Changes, Trace, TraceAttempt, TraceStep};
use kq_probe::wire::{Ran, Wire};
use kq_probe::worker::{PodFacts, Worker};
use kq_probe::{
    Conclusion, Job, JobFacts, ProbeResult, Target, Unsendable, grpc_user_agent, user_agent,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The result of a repeated probe at a moment, with the status that its worker saw.
pub struct Seen {
    /// The times of earlier successes, according to the status.
    pub before: Vec<Timestamp>,
    /// The time of the probe.
    pub at: Timestamp,
    /// The status.
    pub facts: PodFacts,
    /// The result.
    pub conclusion: Conclusion,
    /// A kubelet would have probed.
    pub counted: bool,
}

/// The prepared probes.
pub struct Targets {
    /// The probes.
    pub targets: Vec<Target>,
    /// Their places, in the same order.
    pub places: Vec<Place>,
    /// The basis of the answer.
    pub basis: Basis,
    /// The transport.
    pub wire: Wire,
    rules: KubeletRules,
    /// The start of the kubelet; the time of the facts, if it is unknown.
    pub kubelet_start: Timestamp,
    /// The time limit of a call to the runtime.
    pub timeout: Duration,
    /// How long the kubelet waits for the runtime.
    runtime_request_timeout: GoDuration,
    /// The events about the pods of the node; `None`: unknown.
    events: Option<Vec<PodEvent>>,
    /// That they could not be read.
    events_failed: Option<Warning>,
    purpose: Purpose,
    expansion_left: usize,
}

/// The limit of all expanded values of variables together. The command of one probe has its own limit; a manifest of 1 MB has room for thousands of them.
const MAX_EXPANSION: usize = 16 << 20;

/// Where a probe is sent.
pub struct Place {
    /// The runtime's sandbox of the pod.
    pub sandbox: Option<Sandbox>,
    /// The pod's IP with its source.
    pub ip: Option<(String, String)>,
    /// The User-Agent over HTTP.
    pub user_agent: String,
    /// The User-Agent over gRPC.
    pub grpc_user_agent: String,
    /// The kubelet's rules.
    pub rules: KubeletRules,
}

impl Targets {
    /// Prepares a probe of no pod. `host` replaces the pod's IP.
    ///
    /// # Errors
    ///
    /// Fails if the kubelet would not run the probe.
    pub fn ad_hoc(
        node: &Node,
        timeout: Duration,
        probe: Probe,
        host: &str,
        selection: &ProbeSelection<'_>,
    ) -> Result<Self, Failure> {
        let mut pod = Pod::default();
        pod.metadata.name = "ad-hoc".to_owned();
        pod.spec.containers.push(Container { name: "ad-hoc".to_owned(), ..Container::default() });
        put(&mut pod, "ad-hoc", selection.probe_type, probe);
        fill_in(&mut pod);
        let mut targets = Self::new(node, timeout, Purpose::Send);
        targets.assume_type(selection);
        let probed = ProbedPod {
            pod,
            source: "the command line".to_owned(),
            ip: Ok((host.to_owned(), "the command line".to_owned())),
            sandbox: None,
        };
        let all = ProbeSelection { changes: selection.changes, ..ProbeSelection::default() };
        targets.add(node, probed, &all, true).map_err(refused)?;
        Ok(targets)
    }

    /// Prepares a command to be run in a container of a pod.
    ///
    /// # Errors
    ///
    /// Fails for a container that the pod does not have.
    pub fn command(
        node: &Node,
        timeout: Duration,
        probe: Probe,
        (mut probed, container): (ProbedPod, &str),
        selection: &ProbeSelection<'_>,
    ) -> Result<Self, Failure> {
        put(&mut probed.pod, container, selection.probe_type, probe);
        let mut targets = Self::new(node, timeout, Purpose::Send);
        targets.assume_type(selection);
        let selection = ProbeSelection {
            container: Some(container),
            probe_type: selection.probe_type.or(Some(ProbeType::Liveness)),
            ..*selection
        };
        targets.add(node, probed, &selection, false).map_err(refused)?;
        Ok(targets)
    }

    /// Prepares the probes of pods.
    ///
    /// # Errors
    ///
    /// Fails if none of the pods has a selected probe, except for a plan of all probes: that has none then.
    pub fn of_pods(
        probed: ProbedPods,
        timeout: Duration,
        selection: &ProbeSelection<'_>,
    ) -> Result<Self, Failure> {
        let mut targets = Self::new(&probed.node, timeout, probed.purpose);
        targets.basis.lack_all(probed.lost());
        let (mut passed_over, mut failed) = (0, Vec::new());
        let ProbedPods { node, pods, purpose, unlabelled, .. } = probed;
        for pod in pods {
            if purpose == Purpose::All {
                passed_over += targets.add_running(&node, pod, selection);
            } else if let Err(error) = targets.add(&node, pod, selection, false) {
                failed.push(error);
            }
        }
        if passed_over > 0 {
            let text = format!("{passed_over} probes are not sent: their containers do not run");
            targets.basis.warn(Warning::new(WarningCode::UnsentProbes, text));
        }
        if targets.targets.is_empty() {
            let filter = selection.container.is_some() || selection.probe_type.is_some();
            match failed.into_iter().next() {
                Some(_) if purpose == Purpose::Plan && !filter => {}
                Some(error) => return Err(refused(error)),
                None if filter && passed_over == 0 => {
                    return Err(Failure::usage(anyhow!("no pod has such a probe")));
                }
                None => {
                    let text = "there is nothing to probe";
                    targets.basis.warn(Warning::new(WarningCode::UnsentProbes, text));
                }
            }
        } else {
            // One pod without probes does not lose the others.
            targets.basis.warn_all(WarningCode::UnsentProbes.each(&failed));
        }
        targets.basis.lack_all(unlabelled);
        Ok(targets)
    }

    /// Returns the plan of the probes.
    pub fn plan(mut self) -> ProbePlan {
        self.basis.warn_all(self.events_failed.take());
        self.assume_patches();
        let pod = self.targets.first().map(|target| &target.pod);
        self.basis.warn_all(pod.and_then(|pod| {
            let warning = Warning::new(WarningCode::RefusedOs, OsRefusal::of(pod)?.warning());
            Some(warning.about(format!("{}/{}", pod.metadata.namespace, pod.display_name())))
        }));
        plan(&self.targets, self.events.as_deref(), self.runtime_request_timeout, self.basis)
    }

    /// Says which faults of patch releases concern the probes of sidecars.
    fn assume_patches(&mut self) {
        let sidecars =
            || self.targets.iter().filter(|it| it.container_kind == ContainerKind::Sidecar);
        let names = |is_meant: &dyn Fn(&Target) -> bool| {
            let names: BTreeSet<String> = sidecars()
                .filter(|it| is_meant(it))
                .map(|it| format!("{}/{}", it.pod.display_name(), it.container))
                .collect();
            Vec::from_iter(names)
        };
        let never = || names(&|it| it.pod.spec.restart_policy == "Never");
        let started = || names(&|it| it.probe_type == ProbeType::Startup);
        let mut basis = Basis::default();
        assume_fault(&self.rules, PatchFault::EndsProbesOfSidecars, never, &mut basis);
        assume_fault(&self.rules, PatchFault::ForgetsStartedSidecars, started, &mut basis);
        self.basis.assume_all(basis.assumptions);
    }

    fn new(node: &Node, timeout: Duration, purpose: Purpose) -> Self {
        let kubelet = &node.kubelet;
        let mut basis = Basis::default();
        let version = kubelet.version.to_string();
        basis.know("kubeletVersion", version, kubelet.version_origin.clone());
        node.kubelet_start.iter().for_each(|start| start.record(&mut basis));
        basis.warn_all(node.notes.iter().cloned());
        basis.assume_all(kubelet.version.certainty(RuleArea::Probes));
        if kubelet.version_origin == Origin::Assumed {
            basis.assume(Assumption::new(
                format!(
                    "the kubelet is of version {}, the newest that kq knows as a whole",
                    kubelet.version
                ),
                ["--kubelet-version"],
            ));
        }
        let runtime = node.snapshot.runtime.value();
        let patience = u64::try_from(node.runtime_request_timeout.0).unwrap_or_default();
        Self {
            targets: Vec::new(),
            places: Vec::new(),
            basis,
            wire: Wire {
                endpoint: runtime.map(|facts| facts.endpoint.clone()),
                host_root: PathBuf::from(&node.snapshot.host_root.path),
                runtime_request_timeout: Duration::from_nanos(patience),
                rules: kubelet.rules,
            },
            rules: kubelet.rules,
            kubelet_start: node.kubelet_start.as_ref().map_or(node.now, |start| start.at),
            timeout,
            runtime_request_timeout: node.runtime_request_timeout,
            events: node.snapshot.events.value().cloned(),
            events_failed: (!node.snapshot.events.tried.is_empty()
                && node.snapshot.events.found.is_none())
            .then(|| {
                let reason = node.snapshot.events.reason();
                let text = format!("the results that the kubelet reported are unknown: {reason}");
                Warning::new(WarningCode::PodEvents, text)
            }),
            purpose,
            expansion_left: MAX_EXPANSION,
        }
    }

    fn assume_type(&mut self, selection: &ProbeSelection<'_>) {
        if selection.probe_type.is_none() {
            let text = "it is a liveness probe with the API server's defaults (--type)";
            self.basis.assume(text.to_owned());
        }
    }

    /// Adds the selected probes of a pod.
    fn add(
        &mut self,
        node: &Node,
        mut probed: ProbedPod,
        selection: &ProbeSelection<'_>,
        is_ad_hoc: bool,
    ) -> Result<(), SubjectError> {
        selection.changes.change_pod(&mut probed.pod);
        let pod = Arc::new(probed.pod.clone());
        for subject in select(&pod, selection.container, selection.probe_type)? {
            self.add_one(node, &probed, &pod, &subject, is_ad_hoc);
        }
        Ok(())
    }

    /// Adds the selected probes of a pod whose containers run; returns the number of the others.
    fn add_running(
        &mut self,
        node: &Node,
        mut probed: ProbedPod,
        selection: &ProbeSelection<'_>,
    ) -> usize {
        let ProbeSelection { container, probe_type, changes } = selection;
        changes.change_pod(&mut probed.pod);
        let pod = Arc::new(probed.pod.clone());
        let mut passed_over = 0;
        for subject in subjects(&pod)
            .filter(|subject| container.is_none_or(|name| subject.container.name == name))
            .filter(|subject| probe_type.is_none_or(|kind| subject.probe_type == kind))
        {
            let runs = subject.kind != ContainerKind::InitContainer
                && !pod.status.has_ended()
                && running(node, &pod, &subject.container.name) != Some(false);
            match runs {
                true => self.add_one(node, &probed, &pod, &subject, false),
                false => passed_over += 1,
            }
        }
        passed_over
    }

    fn add_one(
        &mut self,
        node: &Node,
        probed: &ProbedPod,
        pod: &Arc<Pod>,
        subject: &Subject<'_>,
        is_ad_hoc: bool,
    ) {
        let id = match self.purpose {
            // A plan needs no container.
            Purpose::Plan | Purpose::Lint => Ok("CONTAINER_ID".to_owned()),
            Purpose::Send | Purpose::All => container_id(node, pod, &subject.container.name),
        };
        let build = node.snapshot.kubelet_build();
        let version = &node.kubelet.version_origin;
        let build = build.filter(|_| !matches!(version, Origin::Flag(_) | Origin::Assumed));
        let agent = user_agent(node.kubelet.version, build);
        let grpc_agent = grpc_user_agent(&agent, node.kubelet.version);
        let facts = JobFacts {
            pod_ip: probed.ip.as_ref().map(|(ip, _)| ip.as_str()).map_err(String::as_str),
            container_id: id.as_deref().map_err(String::as_str),
            user_agent: &agent,
            grpc_user_agent: &grpc_agent,
            rules: self.rules,
        };
        let mut target = Target::of(subject, Arc::clone(pod), &facts, is_ad_hoc, self.rules);
        self.spend_expansion(&mut target, subject.probe);
        if let Err(missing) = &target.job {
            let text = format!("{}: {missing}", target.title());
            self.basis.lack(Missing::new(missing.fact(), text).about(target.title()));
        }
        self.targets.push(target);
        self.places.push(Place {
            sandbox: probed.sandbox.clone(),
            ip: probed.ip.clone().ok(),
            user_agent: agent,
            grpc_user_agent: grpc_agent,
            rules: self.rules,
        });
    }

    /// Counts the length that variables add to a command; a command beyond the common limit is not sent.
    fn spend_expansion(&mut self, target: &mut Target, probe: &Probe) {
        let Ok(Job::Exec(request)) = &target.job else { return };
        let length = |command: &[String]| command.iter().map(String::len).sum::<usize>();
        let written = probe.exec.as_ref().map_or(0, |exec| length(&exec.command));
        let added = length(&request.command).saturating_sub(written);
        match self.expansion_left.checked_sub(added) {
            Some(left) => self.expansion_left = left,
            None => target.job = Err(Unsendable::CommandsTooLong { limit: MAX_EXPANSION }),
        }
    }

    /// Returns the answer with some reports.
    pub fn run_of(&self, at: Timestamp, probes: Vec<ProbeReport>) -> ProbeRun {
        let basis = self.basis.clone();
        ProbeRun { at, probes, outlook: Vec::new(), basis }
    }

    /// Returns the report of a probe that ran.
    pub fn report(
        &self,
        target: &Target,
        place: &Place,
        ran: Ran,
        shows_wire: bool,
    ) -> ProbeReport {
        let last = ran.conclusion.attempts.last();
        let of_attempt: Vec<ProbeNote> = last.into_iter().flat_map(ProbeNote::of_attempt).collect();
        let outcome = Outcome::of(ran.conclusion, &ran.times_us, target.limit_us(), shows_wire);
        let verdict: ProbeVerdict = outcome.verdict;
        ProbeReport {
            name: target.name.clone(),
            probe_type: target.probe_type,
            handler: target.handler,
            target: target.job.as_ref().map_or_else(|_| "nothing".to_owned(), |job| job.target()),
            pod_ip: place
                .ip
                .as_ref()
                .filter(|_| target.needs_ip())
                .map(|(value, source)| Sourced { value: value.clone(), source: source.clone() }),
            outcome,
            follows: target.follows(verdict).into_iter().map(Worded).collect(),
            notes: (target.notes.iter().chain(&target.state_notes).cloned())
                .chain(of_attempt)
                .map(Worded)
                .collect(),
            rounds: Vec::new(),
            verdicts: None,
            percentiles: None,
            trace: None,
            comparison: None,
        }
    }

    /// Returns a worker of a probe; `None`: the kubelet has none.
    pub fn worker(&self, target: &Target) -> Option<Worker> {
        let pod = Arc::clone(&target.pod);
        Worker::new(pod, &target.container, target.probe_type, self.rules, self.kubelet_start)
    }

    /// Returns the results of a probe in the form that `kq probe simulate` reads.
    pub fn trace(&self, target: &Target, rounds: &[Seen]) -> Option<serde_json::Value> {
        let worker = self.worker(target)?;
        let first = rounds.first()?;
        let begin = first.before.first().copied().unwrap_or(first.at);
        let mut known: Option<&PodFacts> = None;
        let mut steps = Vec::new();
        for round in rounds {
            let mut own: Vec<TraceStep> = round
                .before
                .iter()
                .map(|at| TraceStep { attempts: vec![good()], ..TraceStep::at(*at) })
                .collect();
            own.push(match round.counted {
                true => TraceStep::probed(round.at, &round.conclusion),
                false => TraceStep::at(round.at),
            });
            if let Some(step) = own.first_mut().filter(|_| known != Some(&round.facts)) {
                step.changes = Changes::to(Some(&round.facts), &target.container);
            }
            known = Some(&round.facts);
            steps.append(&mut own);
        }
        let container = worker.container();
        let (kind, pod) = (target.probe_type, &target.pod);
        let mut trace = Trace::of_steps(kind, pod, container, &self.rules, begin, steps)?;
        trace.kubelet.started_at = Some(At::Time(self.kubelet_start));
        serde_json::to_value(trace).ok()
    }

    /// Returns the indexes of the probes that can be sent.
    ///
    /// # Errors
    ///
    /// Fails if facts are missing and no probe can be sent.
    pub fn sendable(&self) -> Result<Vec<usize>, Failure> {
        let all = self.targets.iter().enumerate();
        let all: Vec<usize> =
            all.filter(|(_, target)| target.job.is_ok()).map(|(at, _)| at).collect();
        match self.basis.missing.first().filter(|_| all.is_empty()) {
            Some(missing) => Err(Failure::missing(anyhow!("{missing}"))),
            None => Ok(all),
        }
    }

    /// Returns the containers with a startup probe among these, and whether they have started.
    pub fn started(&self) -> BTreeMap<(String, String), bool> {
        let startups = self.targets.iter().filter(|it| it.probe_type == ProbeType::Startup);
        startups
            .map(|target| {
                let status = &target.pod.status;
                let mut all = status.containers_and_init();
                let own = all.find(|status| status.name == target.container);
                (target.key(), own.is_some_and(|status| status.started == Some(true)))
            })
            .collect()
    }

    /// Returns the assumptions about the workers.
    pub fn assumed_of_workers(&self) -> Vec<String> {
        let mut assumed = vec![
            "the worker begins with this command: earlier counts of the kubelet are unknown"
                .to_owned(),
        ];
        if !self.basis.facts.contains_key("kubeletStart") {
            let text = "the kubelet starts now; a container that ran before keeps its status \
                        (--kubelet-start)";
            assumed.push(text.to_owned());
        }
        let started = self.started();
        let waits = |target: &&Target| {
            let container = target.container_spec();
            target.probe_type != ProbeType::Startup
                && container.is_some_and(|it| it.startup_probe.is_some())
                && !started.contains_key(&target.key())
        };
        for target in self.targets.iter().filter(waits) {
            assumed.push(format!("{}: its startup probe has succeeded", target.title()));
        }
        assumed
    }
}

/// Returns the failure for an empty selection.
pub fn refused(error: SubjectError) -> Failure {
    let hint = error.hint();
    Failure::usage(error).hint(hint)
}

/// Returns an earlier success.
fn good() -> TraceAttempt {
    TraceAttempt { result: ProbeResult::Success, ..TraceAttempt::default() }
}

impl Seen {
    /// Drops the bytes on the wire, which can be many.
    pub fn without_wire(mut self) -> Self {
        self.conclusion.attempts.iter_mut().for_each(|attempt| attempt.exchanges.clear());
        self
    }
}

//! A probe with its request and the meaning of its result: everything but the sending.

use super::consequence::{Counted, consequence};
use super::grace_period::{GracePeriods, KillReason};
use super::injected::injected;
use super::prepare::{Job, JobFacts, Unsendable};
use super::reason::{Consequence, ProbeNote};
use super::report::{ProbeName, ProbeVerdict};
use super::subject::{ContainerKind, HandlerKind, Subject};
use super::worker::{ContainerFacts, PodFacts, ProbeTiming, State, restarts_after_kill};
use kq_facts::runtime;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ContainerStatus, Handler, Pod, Probe, ProbeType};
use kq_k8s::validation::validate_probe_of;
use std::net::IpAddr;
use std::sync::Arc;

/// A probe that is ready to be sent.
#[derive(Clone, Debug)]
pub struct Target {
    pub pod: Arc<Pod>,
    pub container: String,
    /// What the container is in its pod.
    pub container_kind: ContainerKind,
    /// Its place in the list of its kind.
    container_at: usize,
    /// Its container, for answers; empty for a probe of no pod.
    pub name: ProbeName,
    /// The kind of probe.
    pub probe_type: ProbeType,
    /// The way to probe.
    pub handler: Option<HandlerKind>,
    /// The numbers of the probe.
    pub timing: ProbeTiming,
    /// The request, or the missing fact.
    pub job: Result<Job, Unsendable>,
    /// Oddities.
    pub notes: Vec<ProbeNote>,
    /// Reasons why the kubelet would not run it now.
    pub state_notes: Vec<ProbeNote>,
    /// The API server refuses it.
    pub is_refused: bool,
    /// By which rules.
    pub rules: KubeletRules,
}

/// What is known of the container of a probe at a moment.
#[derive(Clone, Copy, Debug)]
pub enum Status<'a> {
    /// As in the pod's status; without a status it is assumed to run.
    AsReported,
    /// The runtime no longer has a container of that name.
    Gone,
    /// As the runtime has it, and how it ended if that is known.
    Seen(&'a runtime::Container, Option<i32>),
}

impl Target {
    /// Prepares a probe. `is_ad_hoc`: its pod was made up around it.
    pub fn of(
        subject: &Subject<'_>,
        pod: Arc<Pod>,
        facts: &JobFacts<'_>,
        is_ad_hoc: bool,
        rules: KubeletRules,
    ) -> Self {
        let mut notes = Vec::new();
        let job = Job::of(subject, facts, &mut notes);
        let answers = injected(&subject.pod.spec, subject.container, subject.probe);
        notes.extend(answers.map(ProbeNote::Injected));
        let metadata = &subject.pod.metadata;
        let name = match is_ad_hoc {
            true => ProbeName::default(),
            false => ProbeName {
                namespace: Some(metadata.namespace.clone()),
                pod: Some(match metadata.name.as_str() {
                    "" => metadata.generate_name.clone(),
                    name => name.to_owned(),
                }),
                container: Some(subject.container.name.clone()),
                container_kind: Some(subject.kind),
            },
        };
        let mut target = Self {
            container: subject.container.name.clone(),
            container_kind: subject.kind,
            container_at: subject.at,
            name,
            probe_type: subject.probe_type,
            handler: subject.handler(),
            timing: ProbeTiming::of(subject.probe),
            job,
            notes,
            state_notes: Vec::new(),
            pod,
            is_refused: false,
            rules,
        };
        if !is_ad_hoc {
            target.note_state();
        }
        target.notes.extend(other_protocol(subject.probe, &rules));
        if !target.counts_timeouts() {
            let timeout_seconds = target.timing.timeout_seconds;
            target.notes.push(ProbeNote::TimeoutIgnored { timeout_seconds });
        }
        target
    }

    /// Returns what would be sent for a changed probe with other facts, and how long it may take, in
    /// seconds; `None`: it cannot be sent.
    pub fn changed(&self, facts: &JobFacts<'_>, change: &dyn Fn(&mut Probe)) -> Option<(Job, i32)> {
        let container = self.container_spec()?;
        let mut probe = container.probe(self.probe_type)?.clone();
        change(&mut probe);
        let subject = Subject {
            pod: &self.pod,
            container,
            at: self.container_at,
            kind: self.container_kind,
            probe_type: self.probe_type,
            probe: &probe,
        };
        let job = Job::of(&subject, facts, &mut Vec::new()).ok()?;
        Some((job, ProbeTiming::of(&probe).timeout_seconds))
    }

    /// Returns what follows from one result.
    pub fn follows(&self, verdict: ProbeVerdict) -> Vec<Consequence> {
        let container = self.container_spec();
        let grace = container.map(|container| GracePeriods::of(&self.pod, container));
        let counted = Counted {
            probe_type: self.probe_type,
            kind: self.container_kind,
            container: &self.container,
            failure_threshold: self.timing.failure_threshold,
            success_threshold: self.timing.success_threshold,
            period_seconds: self.timing.period_seconds,
            grace: grace.unwrap_or_default().decide(KillReason::Probe(self.probe_type)),
            restarts: self.container_kind == ContainerKind::Sidecar
                || container.is_some_and(|it| restarts_after_kill(&self.pod, it, &self.rules)),
        };
        consequence(&counted, verdict)
    }

    /// Returns true if a kubelet would ever count a result of it.
    pub fn happens(&self) -> bool {
        self.container_kind != ContainerKind::InitContainer
            && !self.is_refused
            && !matches!(self.job, Ok(Job::Refused(_)))
    }

    /// Returns true if an attempt that takes too long is a failure: a command is one with the gate
    /// `ExecProbeTimeout` alone.
    pub fn counts_timeouts(&self) -> bool {
        self.handler != Some(HandlerKind::Exec) || self.rules.gates.enabled(Gate::ExecProbeTimeout)
    }

    /// Returns true if it is sent to the pod's IP.
    pub fn needs_ip(&self) -> bool {
        let probe = self.container_spec().and_then(|it| it.probe(self.probe_type));
        probe.is_some_and(|probe| host_of(probe).is_empty() && probe.exec.is_none())
    }

    /// Returns how often it is probed.
    pub fn period(&self) -> GoDuration {
        GoDuration(i64::from(self.timing.period_seconds) * GoDuration::SECOND.0)
    }

    /// Returns how long an attempt may take, in microseconds; `None`: without end.
    pub fn limit_us(&self) -> Option<u64> {
        match self.timing.timeout_seconds {
            0 => None,
            seconds => Some(u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000)),
        }
    }

    /// Returns a title: container and probe type.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.probe_type.to_string().to_lowercase())
    }

    /// Returns the pod and the container that it is of, as a key.
    pub fn key(&self) -> (String, String) {
        let metadata = &self.pod.metadata;
        let pod = format!("{}/{}/{}", metadata.namespace, metadata.name, metadata.uid);
        (pod, self.container.clone())
    }

    /// Returns the status that the worker sees: the reported one, updated with the container in the runtime. Facts that
    /// only the kubelet knows are assumed to permit the probe. `started`: the result of the startup probe. `began`: the
    /// start of probing, at which the initial delay of a container with an unknown start is over.
    pub fn facts(&self, began: Timestamp, status: Status<'_>, started: bool) -> PodFacts {
        let mut facts = PodFacts::from(&self.pod.status);
        if facts.phase.is_empty() || facts.phase == "Pending" {
            facts.phase = "Running".to_owned();
        }
        let statuses = match self.container_kind {
            ContainerKind::Container => &mut facts.containers,
            ContainerKind::Sidecar | ContainerKind::InitContainer => &mut facts.init_containers,
        };
        let at = statuses.iter().position(|status| status.name == self.container);
        let mut own = match at {
            Some(at) => statuses.remove(at),
            None => ContainerFacts { name: self.container.clone(), ..ContainerFacts::default() },
        };
        let delay = i64::from(self.timing.initial_delay_seconds) * GoDuration::SECOND.0;
        let long_ago = Some(began.plus(-delay));
        match status {
            Status::AsReported if own.container_id.is_empty() => {
                own.container_id = "kq://unknown".to_owned();
                own.state = State::Running { started_at: long_ago };
            }
            Status::AsReported => {}
            Status::Gone => own.container_id.clear(),
            Status::Seen(seen, exit_code) => {
                let scheme = own.container_id.split_once("://").map_or("cri", |(scheme, _)| scheme);
                let id = format!("{scheme}://{}", seen.id);
                let is_same = own.container_id == id;
                own.container_id = id;
                own.state = match (seen.state, own.state) {
                    (runtime::ContainerState::Running, State::Running { started_at: Some(at) })
                        if is_same =>
                    {
                        State::Running { started_at: Some(at) }
                    }
                    (runtime::ContainerState::Running, _) => {
                        State::Running { started_at: Some(Timestamp(seen.created_at)) }
                    }
                    // With an unknown exit code, the restart is unknown, too.
                    (runtime::ContainerState::Exited, _) => exit_code
                        .map_or(State::Waiting, |exit_code| State::Terminated { exit_code }),
                    _ => State::Waiting,
                };
            }
        }
        if own.state == (State::Running { started_at: None }) {
            own.state = State::Running { started_at: long_ago };
        }
        own.started = Some(started);
        statuses.push(own);
        facts
    }

    /// Returns true if the status implies that earlier probes of this type succeeded.
    pub fn was_good(&self) -> bool {
        let status = &self.pod.status;
        let all = status.containers_and_init();
        let mut own = all.filter(|status| status.name == self.container);
        self.probe_type == ProbeType::Readiness && own.any(|status| status.ready)
    }

    /// Returns the container.
    pub fn container_spec(&self) -> Option<&kq_k8s::pod::Container> {
        let spec = &self.pod.spec;
        match self.container_kind {
            ContainerKind::Container => spec.containers.get(self.container_at),
            _ => spec.init_containers.get(self.container_at),
        }
    }

    /// Returns true if the status says that the container is waiting.
    fn is_waiting(&self) -> bool {
        let status = &self.pod.status;
        let mut all = status.containers_and_init();
        all.any(|status| status.name == self.container && status.state.waiting.is_some())
    }

    /// Notes why the kubelet does not run this probe now, and what the API server says of it.
    fn note_state(&mut self) {
        let field = self.probe_type.field();
        let spec = &self.pod.spec;
        let is_init = self.container_kind != ContainerKind::Container;
        for error in validate_probe_of(&self.pod, is_init, self.container_at, field) {
            self.is_refused = true;
            self.notes.push(ProbeNote::Refused { error: error.to_string() });
        }
        if self.container_kind == ContainerKind::InitContainer {
            self.notes.push(ProbeNote::InitContainer);
            return;
        }
        if let Ok(Job::Refused(_)) = &self.job {
            self.notes.push(ProbeNote::NoResult);
        }
        let host = self.container_spec().and_then(|it| it.probe(self.probe_type)).map(host_of);
        if host.is_some_and(is_loopback) && !spec.host_network {
            self.notes.push(ProbeNote::HostIsTheNode);
        }
        let status = &self.pod.status;
        if status.has_ended() {
            self.state_notes.push(ProbeNote::PodEnded { phase: status.phase.clone() });
            return;
        }
        let has_startup = self.container_spec().is_some_and(|it| it.startup_probe.is_some());
        let status = [&status.container_statuses, &status.init_container_statuses]
            .into_iter()
            .find_map(|all| created(all, &self.container).map(ContainerFacts::from));
        let started = status.as_ref().and_then(|status| status.started);
        match (status.map(|status| status.state), self.probe_type, started) {
            (Some(State::Terminated { .. }), ..) => {
                self.state_notes.push(ProbeNote::ContainerEnded);
            }
            (Some(State::Waiting), ..) if self.is_waiting() => {
                self.state_notes.push(ProbeNote::ContainerWaiting);
            }
            (_, ProbeType::Startup, Some(true)) => self.notes.push(ProbeNote::AlreadyStarted),
            (_, ProbeType::Readiness | ProbeType::Liveness, Some(false)) if has_startup => {
                self.state_notes.push(ProbeNote::NotStarted);
            }
            (_, ProbeType::Readiness | ProbeType::Liveness, None) if has_startup => {
                self.state_notes.push(ProbeNote::StartUnknown);
            }
            _ => {}
        }
    }
}

/// Returns the status of a container that was created already.
fn created<'s>(statuses: &'s [ContainerStatus], name: &str) -> Option<&'s ContainerStatus> {
    let first = statuses.iter().find(|status| status.name == name);
    first.filter(|status| !status.container_id.is_empty())
}

/// Returns the host that a probe names; empty for the pod's.
pub fn host_of(probe: &Probe) -> &str {
    match probe.handler() {
        Some(Handler::HttpGet(get)) => &get.host,
        Some(Handler::TcpSocket(socket)) => &socket.host,
        Some(Handler::Exec(_) | Handler::Grpc(_)) | None => "",
    }
}

/// Returns true if a host is the machine itself.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the field by which the kubelet speaks another protocol than kq: over TLS (`grpc.mode`), or HTTP/2 in the clear
/// (`httpGet.protocol`), each by an alpha gate of 1.37. Without the gate, the field has no effect.
fn other_protocol(probe: &Probe, rules: &KubeletRules) -> Option<ProbeNote> {
    let mode = probe.grpc.as_ref().map_or("", |it| it.mode.as_str());
    let protocol = probe.http_get.as_ref().map_or("", |it| it.protocol.as_str());
    let (gate, field) = match (mode, protocol) {
        ("TLS", _) => (Gate::GrpcContainerProbeTls, "grpc.mode TLS"),
        (_, "HTTP2") => (Gate::H2cContainerProbe, "httpGet.protocol HTTP2"),
        _ => return None,
    };
    let is_on = rules.gates.enabled(gate);
    is_on
        .then(|| ProbeNote::OtherProtocol { field: field.to_owned(), gate: gate.name().to_owned() })
}

//! The reasons of an answer about probes, with their sentences: consequences, notes, and differences between ways.
//! The reasons of the worker's steps are in [`worker`](super::worker).

use super::attempt::{Attempt, Exchange, MAX_OUTPUT_BYTES, ServerCertificate};
use super::grace_period::{GracePeriod, GraceSource};
use super::injected::Injected;
use super::worker::StepReason;
use kq_answer::Worded;
use kq_answer::reason::Reason;
use kq_output::units::microseconds;
use serde::Serialize;

/// What the kubelet does with a result.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(case = "kebab-case")]
pub enum Consequence {
    /// Init containers without restartPolicy Always have no probes.
    #[text("nothing: the kubelet runs no probes of init containers without restartPolicy Always")]
    NotProbed,
    /// An error of the prober does not count.
    #[text(
        "the kubelet ignores this result: it is neither a failure nor a success, and does not \
         interrupt a run of failures"
    )]
    ThrownAway,
    /// The container has started.
    #[text("the container has started: this probe ends, and readiness and liveness begin")]
    Started,
    /// The container is ready, once there are enough successes in a row.
    #[text(success_threshold: ..=1 => "the container is ready")]
    #[text(
        "success 1 of {success_threshold}: after {success_threshold} in a row the container is \
         ready"
    )]
    Ready {
        /// So many.
        success_threshold: i32,
    },
    /// The container stays, and earlier failures no longer count.
    #[text("counts as success: the container keeps running, and earlier failures no longer count")]
    Stays,
    /// A warning is a success with an event.
    #[text("a warning counts as success, with an event ProbeWarning")]
    CountsAsSuccess,
    /// The container is not ready, once there are enough failures in a row.
    #[text(
        "{failures}; then the container is not ready, and its pod receives no service traffic",
        failures = failures(*failure_threshold, *period_seconds)
    )]
    NotReady {
        /// So many.
        failure_threshold: i32,
        /// Between them.
        period_seconds: i32,
    },
    /// The container is killed, once there are enough failures in a row.
    #[text(
        "{failures}; then the kubelet kills the container: {message}",
        failures = failures(*failure_threshold, *period_seconds)
    )]
    Killed {
        /// So many.
        failure_threshold: i32,
        /// Between them.
        period_seconds: i32,
        /// The kubelet's.
        message: String,
    },
    /// How long the container may take to stop.
    #[text(from: GraceSource::Minimum => "it has {seconds} s to stop, the minimum")]
    #[text(
        from: from @ GraceSource::PodDeletion => "it has {seconds} s to stop, according to {from}"
    )]
    #[text("it has {seconds} s to stop (terminationGracePeriodSeconds of {from})")]
    GracePeriod {
        /// In seconds.
        seconds: i64,
        /// Who said so.
        from: GraceSource,
    },
    /// restartPolicy keeps the container from starting again.
    #[text("it is not restarted (restartPolicy)")]
    NotRestarted,
    /// The consequence of the last step of the worker, if the probe was repeated.
    #[text("{reason}")]
    Step {
        /// The reason of the step.
        reason: Worded<StepReason>,
    },
}

/// An oddity of a probe, or the reason why the kubelet would not run it now.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(case = "kebab-case")]
pub enum ProbeNote {
    /// No port of the container has the name.
    #[text(
        "no port of container {container} is named {name}: {named}",
        name = format!("{name:?}"),
        named = named_ports(named)
    )]
    UnknownPortName {
        container: String,
        name: String,
        /// The ports of the container that have one.
        named: Vec<NamedPort>,
    },
    /// The variable uses `valueFrom`, and expands to nothing.
    #[text("$({name}) expands to nothing: the kubelet does not resolve valueFrom for probes")]
    VariableFromElsewhere {
        /// The variable.
        name: String,
    },
    /// The container does not define the variable, and the command keeps the text.
    #[text("$({name}) is not expanded: env has no entry of that name (envFrom does not count)")]
    UnknownVariable {
        /// The variable.
        name: String,
    },
    /// The API server refuses the probe.
    #[text("the API server refuses it: {error}")]
    Refused {
        /// In its words.
        error: String,
    },
    /// A proxy answers the probe.
    #[text("{0}")]
    Injected(Injected),
    /// Init containers without restartPolicy Always have no probes.
    #[text("the kubelet runs no probes of init containers without restartPolicy Always")]
    InitContainer,
    /// Every attempt is an error, and there is never a result.
    #[text("errors are ignored: the probe never has a result")]
    NoResult,
    /// The host is the node itself.
    #[text("its host is the node itself, not the pod: remove host")]
    HostIsTheNode,
    /// The pod has ended.
    #[text("the kubelet no longer probes it: {phase}")]
    PodEnded {
        /// `Failed` or `Succeeded`.
        phase: String,
    },
    /// The container has ended.
    #[text("the kubelet does not probe it now: it has ended")]
    ContainerEnded,
    /// The container is waiting.
    #[text("the kubelet does not probe it now: it is waiting")]
    ContainerWaiting,
    /// The container has started: the startup probe no longer runs.
    #[text("the kubelet no longer runs it: the container has started")]
    AlreadyStarted,
    /// The startup probe has not succeeded yet.
    #[text("the kubelet does not run it yet: the startup probe has not succeeded")]
    NotStarted,
    /// Whether the startup probe has succeeded is unknown.
    #[text("the kubelet runs it once the startup probe has succeeded; whether it has is unknown")]
    StartUnknown,
    /// The feature gate ExecProbeTimeout is off.
    #[text(
        "a command that takes longer than {timeout_seconds}s is ignored, and one that hangs is \
         never noticed: the feature gate ExecProbeTimeout is off"
    )]
    TimeoutIgnored {
        /// Of the probe.
        timeout_seconds: i32,
    },
    /// The server has a certificate, which the kubelet does not verify.
    #[text(
        "NOT VERIFIED: the server showed the certificate of {subject}, signed by {issuer}, valid \
         until {not_after}; for the kubelet any certificate will do",
        subject = &certificate.subject,
        issuer = if certificate.issuer == *subject { "itself" } else { &certificate.issuer },
        not_after = &certificate.not_after
    )]
    CertificateNotVerified { certificate: ServerCertificate },
    /// The body is longer than the kubelet reads.
    #[text("the kubelet reads {bytes} bytes of the body: what follows does not count")]
    BodyCut {
        /// What it reads.
        bytes: usize,
    },
    /// The kubelet speaks another protocol, by a gate that is on.
    #[text(
        "{field}: the kubelet follows it, as the feature gate {gate} is on; kq sends the probe \
         without it, and the result can be another one"
    )]
    OtherProtocol {
        /// The field of the probe with its value.
        field: String,
        gate: String,
    },
}

/// A port of a container that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NamedPort {
    pub name: String,
    pub port: i32,
}

/// An explanation of the differences between the ways to try a probe.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(case = "kebab-case")]
pub enum Difference {
    /// Nothing can be sent.
    #[text("nothing can be sent")]
    NothingToSend,
    /// The host of the probe is the node itself.
    #[text(
        "the probe names a host that is the node itself: the kubelet probes the node, not the pod; \
         remove host"
    )]
    HostIsTheNode,
    /// The server answers inside the pod, and not from the node.
    #[text(
        "the server answers inside the pod but not from the node: something between them (a \
         network policy, a firewall, the routes of the network plugin) blocks the kubelet"
    )]
    UnreachableFromNode,
    /// The server listens on 127.0.0.1 only.
    #[text(
        "the server listens on 127.0.0.1 {place} only, and the kubelet connects to the pod's IP: \
         make it listen on 0.0.0.0 or [::]",
        place = if *host_network { "of the node" } else { "inside the pod" }
    )]
    LoopbackOnly {
        /// The node's, not the pod's.
        host_network: bool,
    },
    /// Nothing answers inside the pod either.
    #[text("no answer inside the pod either: the server does not listen on that port, or hangs")]
    NotListening,
    /// The server speaks TLS, and the probe does not.
    #[text(
        is_grpc: false =>
        "the server speaks TLS on that port, and the kubelet sends plain HTTP: set scheme: HTTPS \
         in httpGet; the kubelet does not verify the certificate"
    )]
    #[text(
        is_grpc: true =>
        "the server speaks TLS on that port, and the kubelet never sends gRPC probes through TLS: \
         serve the health service on a port without TLS, or use an exec or a tcpSocket probe"
    )]
    SpeaksTls {
        /// The probe is of gRPC, which the kubelet never sends through TLS.
        is_grpc: bool,
    },
    /// The answer comes after the timeout.
    #[text(
        "the answer comes after {took}, and timeoutSeconds is {timeout}: raise it, or find the \
         cause of the delay",
        took = microseconds(*took_us),
        timeout = microseconds(*timeout_us)
    )]
    TooSlow {
        /// In microseconds.
        took_us: u64,
        /// In microseconds.
        timeout_us: u64,
    },
    /// The kubelet follows redirects, curl does not.
    #[text(
        "curl stops at status {curl_status} without -L; the kubelet follows redirects as long as \
         the host name stays the same, {redirects} here, and ends at status {kubelet_status}",
        curl_status = curl_status.unwrap_or_default(),
        kubelet_status = kubelet_status.unwrap_or_default()
    )]
    RedirectsFollowed {
        /// So many.
        redirects: usize,
        /// Of the last answer; null: none.
        kubelet_status: Option<u16>,
        /// null: no answer.
        curl_status: Option<u16>,
    },
    /// A redirect leads to another host, and counts as success.
    #[text(
        "the redirect leads to another host: the kubelet does not follow it and treats it as \
         success"
    )]
    RedirectElsewhere,
    /// The result depends on User-Agent.
    #[text(
        "the result depends on User-Agent: the server answers {kubelet_status} to the kubelet's \
         and {curl_status} to curl's"
    )]
    UserAgent {
        /// Of the first answer.
        kubelet_status: u16,
        /// Of the answer.
        curl_status: u16,
    },
    /// The result depends on the probe's own headers.
    #[text(
        "the probe's own httpHeaders make the difference: {kubelet_status} with them, \
         {curl_status} without"
    )]
    Headers {
        /// With them.
        kubelet_status: u16,
        /// Without them.
        curl_status: u16,
    },
    /// Neither User-Agent nor headers explain the statuses alone.
    #[text(
        "the server answers {kubelet_status} to the kubelet and {curl_status} to curl; neither \
         User-Agent nor the probe's headers explain it alone"
    )]
    Unexplained {
        /// Of the first answer.
        kubelet_status: u16,
        /// Of the answer.
        curl_status: u16,
    },
    /// curl verifies certificates, the kubelet does not.
    #[text(
        "curl verifies the certificate without -k, which is assumed here; the kubelet never does"
    )]
    CertificateNotVerified,
    /// Something answers on 127.0.0.1 of the node.
    #[text(
        "127.0.0.1 on the node answers ({message}), but that is the node's own network, not the \
         pod's"
    )]
    NodeAnswers {
        /// The first line of the answer.
        message: String,
    },
    /// No other way could be tried.
    #[text("no other way could be tried from here")]
    OnlyWay,
    /// The ways differ for another reason.
    #[text("the ways differ, but kq does not know the reason")]
    Unnamed,
    /// Every way succeeds.
    #[text("no difference: every way succeeds")]
    AllSucceed,
    /// Every way fails in the same way.
    #[text(
        in_pod: true =>
        "no difference: every way fails in the same way, also from inside the pod; the cause is in \
         the container, not in the request"
    )]
    #[text(
        in_pod: false =>
        "no difference: every way fails in the same way; none was tried from inside the pod"
    )]
    AllFail {
        /// Also from inside the pod.
        in_pod: bool,
    },
}

/// Returns the number of failures in a row that are needed, as text.
fn failures(threshold: i32, period_seconds: i32) -> String {
    match threshold {
        ..=1 => "one failure is enough".to_owned(),
        _ => format!(
            "failure 1 of {threshold}: {threshold} in a row, every {period_seconds} s, are needed"
        ),
    }
}

fn named_ports(named: &[NamedPort]) -> String {
    let named: Vec<String> = named.iter().map(|it| format!("{} ({})", it.name, it.port)).collect();
    match named.is_empty() {
        true => "none of its ports has a name".to_owned(),
        false => format!("it has {}", named.join(", ")),
    }
}

impl ProbeNote {
    /// Returns what is odd about an attempt that was made.
    pub fn of_attempt(attempt: &Attempt) -> impl Iterator<Item = Self> {
        let last = attempt.exchanges.last();
        let certificate = last.and_then(|it| it.certificate.clone());
        let is_cut = last.is_some_and(Exchange::has_cut_body);
        let certificate =
            certificate.map(|certificate| Self::CertificateNotVerified { certificate });
        certificate.into_iter().chain(is_cut.then_some(Self::BodyCut { bytes: MAX_OUTPUT_BYTES }))
    }
}

impl From<GracePeriod> for Consequence {
    fn from(GracePeriod { seconds, from }: GracePeriod) -> Self {
        Self::GracePeriod { seconds, from }
    }
}

//! The reasons of an answer about probes, with their sentences: consequences, notes, and differences between ways.
//! The reasons of the worker's steps are in [`worker`](super::worker).

use super::attempt::{Attempt, Exchange, MAX_OUTPUT_BYTES, ServerCertificate};
use super::grace_period::{GracePeriod, GraceSource};
use super::injected::Injected;
use super::worker::StepReason;
use kq_answer::Worded;
use kq_output::units::microseconds;
use serde::Serialize;
use std::fmt;

/// What the kubelet does with a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Consequence {
    /// Init containers without restartPolicy Always have no probes.
    NotProbed,
    /// An error of the prober does not count.
    ThrownAway,
    /// The container has started.
    Started,
    /// The container is ready, once there are enough successes in a row.
    Ready {
        /// So many.
        success_threshold: i32,
    },
    /// The container stays, and earlier failures no longer count.
    Stays,
    /// A warning is a success with an event.
    CountsAsSuccess,
    /// The container is not ready, once there are enough failures in a row.
    NotReady {
        /// So many.
        failure_threshold: i32,
        /// Between them.
        period_seconds: i32,
    },
    /// The container is killed, once there are enough failures in a row.
    Killed {
        /// So many.
        failure_threshold: i32,
        /// Between them.
        period_seconds: i32,
        /// The kubelet's.
        message: String,
    },
    /// How long the container may take to stop.
    GracePeriod {
        /// In seconds.
        seconds: i64,
        /// Who said so.
        from: GraceSource,
    },
    /// restartPolicy keeps the container from starting again.
    NotRestarted,
    /// The consequence of the last step of the worker, if the probe was repeated.
    Step {
        /// The reason of the step.
        reason: Worded<StepReason>,
    },
}

/// An oddity of a probe, or the reason why the kubelet would not run it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ProbeNote {
    /// No port of the container has the name.
    UnknownPortName {
        container: String,
        name: String,
        /// The ports of the container that have one.
        named: Vec<NamedPort>,
    },
    /// The variable uses `valueFrom`, and expands to nothing.
    VariableFromElsewhere {
        /// The variable.
        name: String,
    },
    /// The container does not define the variable, and the command keeps the text.
    UnknownVariable {
        /// The variable.
        name: String,
    },
    /// The API server refuses the probe.
    Refused {
        /// In its words.
        error: String,
    },
    /// A proxy answers the probe.
    Injected(Injected),
    /// Init containers without restartPolicy Always have no probes.
    InitContainer,
    /// Every attempt is an error, and there is never a result.
    NoResult,
    /// The host is the node itself.
    HostIsTheNode,
    /// The pod has ended.
    PodEnded {
        /// `Failed` or `Succeeded`.
        phase: String,
    },
    /// The container has ended.
    ContainerEnded,
    /// The container is waiting.
    ContainerWaiting,
    /// The container has started: the startup probe no longer runs.
    AlreadyStarted,
    /// The startup probe has not succeeded yet.
    NotStarted,
    /// Whether the startup probe has succeeded is unknown.
    StartUnknown,
    /// The feature gate ExecProbeTimeout is off.
    TimeoutIgnored {
        /// Of the probe.
        timeout_seconds: i32,
    },
    /// The server has a certificate, which the kubelet does not verify.
    CertificateNotVerified { certificate: ServerCertificate },
    /// The body is longer than the kubelet reads.
    BodyCut {
        /// What it reads.
        bytes: usize,
    },
    /// The kubelet speaks another protocol, by a gate that is on.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Difference {
    /// Nothing can be sent.
    NothingToSend,
    /// The host of the probe is the node itself.
    HostIsTheNode,
    /// The server answers inside the pod, and not from the node.
    UnreachableFromNode,
    /// The server listens on 127.0.0.1 only.
    LoopbackOnly {
        /// The node's, not the pod's.
        host_network: bool,
    },
    /// Nothing answers inside the pod either.
    NotListening,
    /// The server speaks TLS, and the probe does not.
    SpeaksTls {
        /// The probe is of gRPC, which the kubelet never sends through TLS.
        is_grpc: bool,
    },
    /// The answer comes after the timeout.
    TooSlow {
        /// In microseconds.
        took_us: u64,
        /// In microseconds.
        timeout_us: u64,
    },
    /// The kubelet follows redirects, curl does not.
    RedirectsFollowed {
        /// So many.
        redirects: usize,
        /// Of the last answer; null: none.
        kubelet_status: Option<u16>,
        /// null: no answer.
        curl_status: Option<u16>,
    },
    /// A redirect leads to another host, and counts as success.
    RedirectElsewhere,
    /// The result depends on User-Agent.
    UserAgent {
        /// Of the first answer.
        kubelet_status: u16,
        /// Of the answer.
        curl_status: u16,
    },
    /// The result depends on the probe's own headers.
    Headers {
        /// With them.
        kubelet_status: u16,
        /// Without them.
        curl_status: u16,
    },
    /// Neither User-Agent nor headers explain the statuses alone.
    Unexplained {
        /// Of the first answer.
        kubelet_status: u16,
        /// Of the answer.
        curl_status: u16,
    },
    /// curl verifies certificates, the kubelet does not.
    CertificateNotVerified,
    /// Something answers on 127.0.0.1 of the node.
    NodeAnswers {
        /// The first line of the answer.
        message: String,
    },
    /// No other way could be tried.
    OnlyWay,
    /// The ways differ for another reason.
    Unnamed,
    /// Every way succeeds.
    AllSucceed,
    /// Every way fails in the same way.
    AllFail {
        /// Also from inside the pod.
        in_pod: bool,
    },
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProbed => f.write_str(
                "nothing: the kubelet runs no probes of init containers without restartPolicy Always",
            ),
            Self::ThrownAway => f.write_str(
                "the kubelet ignores this result: it is neither a failure nor a success, and does not \
                 interrupt a run of failures",
            ),
            Self::Started => f.write_str(
                "the container has started: this probe ends, and readiness and liveness begin",
            ),
            Self::Ready { success_threshold: ..=1 } => f.write_str("the container is ready"),
            Self::Ready { success_threshold: of } => {
                write!(f, "success 1 of {of}: after {of} in a row the container is ready")
            }
            Self::Stays => f.write_str(
                "counts as success: the container keeps running, and earlier failures no longer count",
            ),
            Self::CountsAsSuccess => {
                f.write_str("a warning counts as success, with an event ProbeWarning")
            }
            Self::NotReady { failure_threshold, period_seconds } => write!(
                f,
                "{}; then the container is not ready, and its pod receives no service traffic",
                failures(*failure_threshold, *period_seconds)
            ),
            Self::Killed { failure_threshold, period_seconds, message } => write!(
                f,
                "{}; then the kubelet kills the container: {message}",
                failures(*failure_threshold, *period_seconds)
            ),
            Self::GracePeriod { seconds, from: GraceSource::Minimum } => {
                write!(f, "it has {seconds} s to stop, the minimum")
            }
            Self::GracePeriod { seconds, from: from @ GraceSource::PodDeletion } => {
                write!(f, "it has {seconds} s to stop, according to {from}")
            }
            Self::GracePeriod { seconds, from: from @ (GraceSource::Pod | GraceSource::Probe) } => {
                write!(f, "it has {seconds} s to stop (terminationGracePeriodSeconds of {from})")
            }
            Self::NotRestarted => f.write_str("it is not restarted (restartPolicy)"),
            Self::Step { reason } => reason.fmt(f),
        }
    }
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

impl fmt::Display for ProbeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPortName { container, name, named } => {
                let named: Vec<String> =
                    named.iter().map(|it| format!("{} ({})", it.name, it.port)).collect();
                let has = match named.is_empty() {
                    true => "none of its ports has a name".to_owned(),
                    false => format!("it has {}", named.join(", ")),
                };
                write!(f, "no port of container {container} is named {name:?}: {has}")
            }
            Self::VariableFromElsewhere { name } => write!(
                f,
                "$({name}) expands to nothing: the kubelet does not resolve valueFrom for probes"
            ),
            Self::UnknownVariable { name } => write!(
                f,
                "$({name}) is not expanded: env has no entry of that name (envFrom does not count)"
            ),
            Self::Refused { error } => write!(f, "the API server refuses it: {error}"),
            Self::Injected(injected) => injected.fmt(f),
            Self::InitContainer => f.write_str(
                "the kubelet runs no probes of init containers without restartPolicy Always",
            ),
            Self::NoResult => f.write_str("errors are ignored: the probe never has a result"),
            Self::HostIsTheNode => {
                f.write_str("its host is the node itself, not the pod: remove host")
            }
            Self::PodEnded { phase } => {
                write!(f, "the kubelet no longer probes it: {phase}")
            }
            Self::ContainerEnded => f.write_str("the kubelet does not probe it now: it has ended"),
            Self::ContainerWaiting => {
                f.write_str("the kubelet does not probe it now: it is waiting")
            }
            Self::AlreadyStarted => {
                f.write_str("the kubelet no longer runs it: the container has started")
            }
            Self::NotStarted => {
                f.write_str("the kubelet does not run it yet: the startup probe has not succeeded")
            }
            Self::StartUnknown => f.write_str(
                "the kubelet runs it once the startup probe has succeeded; whether it has is unknown",
            ),
            Self::CertificateNotVerified { certificate } => {
                let ServerCertificate { subject, issuer, not_after } = certificate;
                let by = if subject == issuer { "itself" } else { issuer };
                write!(
                    f,
                    "NOT VERIFIED: the server showed the certificate of {subject}, signed by {by}, valid until {not_after}; \
                     for the kubelet any certificate will do"
                )
            }
            Self::BodyCut { bytes } => {
                write!(f, "the kubelet reads {bytes} bytes of the body: what follows does not count")
            }
            Self::OtherProtocol { field, gate } => write!(
                f,
                "{field}: the kubelet follows it, as the feature gate {gate} is on; kq sends the probe without it, and the \
                 result can be another one"
            ),
            Self::TimeoutIgnored { timeout_seconds } => write!(
                f,
                "a command that takes longer than {timeout_seconds}s is ignored, and one that hangs is \
                 never noticed: the feature gate ExecProbeTimeout is off"
            ),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToSend => f.write_str("nothing can be sent"),
            Self::HostIsTheNode => f.write_str(
                "the probe names a host that is the node itself: the kubelet probes the node, not \
                 the pod; remove host",
            ),
            Self::UnreachableFromNode => f.write_str(
                "the server answers inside the pod but not from the node: something between them (a \
                 network policy, a firewall, the routes of the network plugin) blocks the kubelet",
            ),
            Self::LoopbackOnly { host_network } => write!(
                f,
                "the server listens on 127.0.0.1 {} only, and the kubelet connects to the pod's IP: make \
                 it listen on 0.0.0.0 or [::]",
                if *host_network { "of the node" } else { "inside the pod" }
            ),
            Self::NotListening => f.write_str(
                "no answer inside the pod either: the server does not listen on that port, or hangs",
            ),
            Self::SpeaksTls { is_grpc: false } => f.write_str(
                "the server speaks TLS on that port, and the kubelet sends plain HTTP: set scheme: HTTPS in \
                 httpGet; the kubelet does not verify the certificate",
            ),
            Self::SpeaksTls { is_grpc: true } => f.write_str(
                "the server speaks TLS on that port, and the kubelet never sends gRPC probes through TLS: serve the health service on a port without TLS, or use an exec or a tcpSocket probe",
            ),
            Self::TooSlow { took_us, timeout_us } => write!(
                f,
                "the answer comes after {}, and timeoutSeconds is {}: raise it, or find the cause of \
                 the delay",
                microseconds(*took_us),
                microseconds(*timeout_us)
            ),
            Self::RedirectsFollowed { redirects, kubelet_status, curl_status } => write!(
                f,
                "curl stops at status {} without -L; the kubelet follows redirects as long as \
                 the host name stays the same, {redirects} here, and ends at status {}",
                curl_status.unwrap_or_default(),
                kubelet_status.unwrap_or_default()
            ),
            Self::RedirectElsewhere => f.write_str(
                "the redirect leads to another host: the kubelet does not follow it and treats it \
                 as success",
            ),
            Self::UserAgent { kubelet_status, curl_status } => write!(
                f,
                "the result depends on User-Agent: the server answers {kubelet_status} to the kubelet's and \
                 {curl_status} to curl's"
            ),
            Self::Headers { kubelet_status, curl_status } => write!(
                f,
                "the probe's own httpHeaders make the difference: {kubelet_status} with them, \
                 {curl_status} without"
            ),
            Self::Unexplained { kubelet_status, curl_status } => write!(
                f,
                "the server answers {kubelet_status} to the kubelet and {curl_status} to curl; neither \
                 User-Agent nor the probe's headers explain it alone"
            ),
            Self::CertificateNotVerified => f.write_str(
                "curl verifies the certificate without -k, which is assumed here; the kubelet never does",
            ),
            Self::NodeAnswers { message } => write!(
                f,
                "127.0.0.1 on the node answers ({message}), but that is the node's own network, not the \
                 pod's"
            ),
            Self::OnlyWay => f.write_str("no other way could be tried from here"),
            Self::Unnamed => f.write_str("the ways differ, but kq does not know the reason"),
            Self::AllSucceed => f.write_str("no difference: every way succeeds"),
            Self::AllFail { in_pod: true } => f.write_str(
                "no difference: every way fails in the same way, also from inside the pod; the cause is \
                 in the container, not in the request",
            ),
            Self::AllFail { in_pod: false } => f.write_str(
                "no difference: every way fails in the same way; none was tried from inside the pod",
            ),
        }
    }
}

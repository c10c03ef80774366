//! What follows from a result, what is odd about a probe, and what a comparison tells: facts, and the sentences made
//! of them. The reasons of the worker's steps are in [`worker`](super::worker).

use super::grace_period::{GracePeriod, GraceSource};
use super::worker::StepReason;
use crate::answer::Worded;
use crate::output::units::microseconds;
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
    /// The container stays, and failures before do not count any more.
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
    /// That of the last step of the worker, where the probe was repeated.
    Step {
        /// What decided it.
        reason: Worded<StepReason>,
    },
}

/// What is odd about a probe, and why the kubelet would not run it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ProbeNote {
    /// No port of the container has the name.
    UnknownPortName {
        /// The container.
        container: String,
        /// The name.
        name: String,
        /// The ports of the container that have one.
        named: Vec<NamedPort>,
    },
    /// A variable of the command has its value from elsewhere, and becomes nothing.
    VariableFromElsewhere {
        /// The variable.
        name: String,
    },
    /// The container lists no such variable, and the command keeps the text.
    UnknownVariable {
        /// The variable.
        name: String,
    },
    /// The API server refuses the probe.
    Refused {
        /// In its words.
        error: String,
    },
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
    /// The container has started: the startup probe does not run any more.
    AlreadyStarted,
    /// The startup probe has not succeeded yet.
    NotStarted,
    /// Whether the startup probe has succeeded is not known.
    StartUnknown,
    /// The feature gate ExecProbeTimeout is off.
    TimeoutIgnored {
        /// Of the probe.
        timeout_seconds: i32,
    },
}

/// A port of a container that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NamedPort {
    /// The name.
    pub name: String,
    /// The port.
    pub port: i32,
}

/// What the differences between the ways to try a probe tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Difference {
    /// In no way can anything be sent.
    NothingToSend,
    /// The host of the probe is the node itself.
    HostIsTheNode,
    /// The server answers inside the pod, and not from the node.
    UnreachableFromNode,
    /// The server listens on 127.0.0.1 only.
    LoopbackOnly {
        /// That of the node, not of the pod.
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
    /// The server looks at User-Agent.
    UserAgent {
        /// Of the first answer.
        kubelet_status: u16,
        /// Of the answer.
        curl_status: u16,
    },
    /// The server looks at the probe's own headers.
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
    /// There is no other way from here.
    OnlyWay,
    /// The ways differ, for no reason of this list.
    Unnamed,
    /// Every way ends well.
    AllSucceed,
    /// Every way fails alike.
    AllFail {
        /// It was tried from inside the pod too.
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
                "the kubelet throws this result away: it is no failure and no success, and a run of \
                 failures goes on after it as before",
            ),
            Self::Started => f.write_str(
                "the container has started: this probe ends, and readiness and liveness begin",
            ),
            Self::Ready { success_threshold: ..=1 } => f.write_str("the container is ready"),
            Self::Ready { success_threshold: of } => {
                write!(f, "success 1 of {of}: after {of} in a row the container is ready")
            }
            Self::Stays => f.write_str(
                "counts as success: the container stays, and failures before do not count any more",
            ),
            Self::CountsAsSuccess => {
                f.write_str("a warning counts as success, with an event ProbeWarning")
            }
            Self::NotReady { failure_threshold, period_seconds } => write!(
                f,
                "{}; then the container is not ready, and its pod gets no requests from services",
                failures(*failure_threshold, *period_seconds)
            ),
            Self::Killed { failure_threshold, period_seconds, message } => write!(
                f,
                "{}; then the kubelet kills the container: {message}",
                failures(*failure_threshold, *period_seconds)
            ),
            Self::GracePeriod { seconds, from: GraceSource::Minimum } => {
                write!(f, "it has {seconds} s to stop, the least that there is")
            }
            Self::GracePeriod { seconds, from: from @ GraceSource::PodDeletion } => {
                write!(f, "it has {seconds} s to stop, as {from} says")
            }
            Self::GracePeriod { seconds, from: from @ (GraceSource::Pod | GraceSource::Probe) } => {
                write!(f, "it has {seconds} s to stop (terminationGracePeriodSeconds of {from})")
            }
            Self::NotRestarted => f.write_str("it is not started again (restartPolicy)"),
            Self::Step { reason } => reason.fmt(f),
        }
    }
}

/// Says how many failures in a row are needed.
fn failures(threshold: i32, period_seconds: i32) -> String {
    match threshold {
        ..=1 => "one failure is enough".to_owned(),
        _ => format!(
            "failure 1 of {threshold}: {threshold} in a row, every {period_seconds} s, are needed"
        ),
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
                "$({name}) becomes nothing: the kubelet does not look up valueFrom for probes"
            ),
            Self::UnknownVariable { name } => write!(
                f,
                "$({name}) stays as it is: no entry of env has that name (envFrom does not count)"
            ),
            Self::Refused { error } => write!(f, "the API server refuses it: {error}"),
            Self::InitContainer => f.write_str(
                "the kubelet runs no probes of init containers without restartPolicy Always",
            ),
            Self::NoResult => f.write_str("errors count for nothing: it never comes to a result"),
            Self::HostIsTheNode => {
                f.write_str("its host is the node itself, not the pod: leave host out")
            }
            Self::PodEnded { phase } => {
                write!(f, "the kubelet does not probe it any more: {phase}")
            }
            Self::ContainerEnded => f.write_str("the kubelet does not probe it now: it has ended"),
            Self::ContainerWaiting => {
                f.write_str("the kubelet does not probe it now: it is waiting")
            }
            Self::AlreadyStarted => {
                f.write_str("the kubelet does not run it any more: the container has started")
            }
            Self::NotStarted => {
                f.write_str("the kubelet does not run it yet: the startup probe has not succeeded")
            }
            Self::StartUnknown => f.write_str(
                "the kubelet runs it once the startup probe has succeeded; whether it has is not known",
            ),
            Self::TimeoutIgnored { timeout_seconds } => write!(
                f,
                "a command that takes longer than {timeout_seconds}s counts for nothing, and one that \
                 hangs is never noticed: the feature gate ExecProbeTimeout is off"
            ),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToSend => f.write_str("nothing can be sent, in no way"),
            Self::HostIsTheNode => f.write_str(
                "the probe names a host that is the node itself: the kubelet asks the node, not the \
                 pod; leave host out",
            ),
            Self::UnreachableFromNode => f.write_str(
                "the server answers inside the pod but not from the node: something between them (a \
                 network policy, a firewall, the routes of the network plugin) stops the kubelet",
            ),
            Self::LoopbackOnly { host_network } => write!(
                f,
                "the server listens on 127.0.0.1 {} only, and the kubelet connects to the pod's IP: let \
                 it listen on 0.0.0.0 or [::]",
                if *host_network { "of the node" } else { "inside the pod" }
            ),
            Self::NotListening => f.write_str(
                "nobody answers inside the pod either: the server does not listen on that port, or hangs",
            ),
            Self::SpeaksTls { is_grpc: false } => f.write_str(
                "the server speaks TLS on that port, and the kubelet sends plain HTTP: set scheme: HTTPS in \
                 httpGet; the kubelet does not verify the certificate",
            ),
            Self::SpeaksTls { is_grpc: true } => f.write_str(
                "the server speaks TLS on that port, and gRPC probes of the kubelet are never sent through \
                 TLS: serve the health service on a port without TLS, or use an exec or a tcpSocket probe",
            ),
            Self::TooSlow { took_us, timeout_us } => write!(
                f,
                "the answer comes after {}, and timeoutSeconds is {}: raise it, or find out what takes \
                 so long",
                microseconds(*took_us),
                microseconds(*timeout_us)
            ),
            Self::RedirectsFollowed { redirects, kubelet_status, curl_status } => write!(
                f,
                "curl stops at status {} unless it is told -L; the kubelet follows redirects as long as \
                 the host name stays the same, {redirects} here, and ends at status {}",
                curl_status.unwrap_or_default(),
                kubelet_status.unwrap_or_default()
            ),
            Self::RedirectElsewhere => f.write_str(
                "the redirect leads to another host: the kubelet does not follow it and counts it as \
                 success, whatever is there",
            ),
            Self::UserAgent { kubelet_status, curl_status } => write!(
                f,
                "the server looks at User-Agent: it answers {kubelet_status} to the kubelet's and \
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
                "curl verifies the certificate unless it is told -k, which was taken for granted here; \
                 the kubelet never does",
            ),
            Self::NodeAnswers { message } => write!(
                f,
                "127.0.0.1 on the node answers ({message}), but that is the node's own network, not the \
                 pod's"
            ),
            Self::OnlyWay => f.write_str("there is no other way to try it from here"),
            Self::Unnamed => f.write_str("the ways differ, but not in a way that kq can name"),
            Self::AllSucceed => f.write_str("no difference: every way ends well"),
            Self::AllFail { in_pod: true } => f.write_str(
                "no difference: every way fails alike, from inside the pod too; the cause is in the \
                 container, not in how it is asked",
            ),
            Self::AllFail { in_pod: false } => f.write_str(
                "no difference: every way fails alike; from inside the pod it was not tried",
            ),
        }
    }
}

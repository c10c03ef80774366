//! The rules with their facts, severities and sentences.

use crate::injected::Injected;
use kq_answer::{Rule, Severity, Topic, Wording};
use kq_k8s::pod::ProbeType;
use kq_output::units::counted;
use serde::Serialize;

/// A start that a busy node rarely achieves.
const QUICK_START_SECONDS: i64 = 15;

/// A rule that applies, with its facts.
#[derive(Debug, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum ProbeRule {
    /// The API server refuses the field.
    Refused {
        /// In its words.
        error: String,
    },
    /// Kubernetes has no such field.
    UnknownField {
        /// The field that may have been meant.
        nearest: Option<&'static str>,
    },
    ShortStartup(SlowStart),
    NoStartupProbe(SlowStart),
    DelayBesideStartup {
        initial_delay_seconds: i32,
    },
    TimeoutAbovePeriod {
        timeout_seconds: i32,
        period_seconds: i32,
    },
    /// The feature gate `ExecProbeTimeout` is off.
    ExecTimeoutIgnored {
        timeout_seconds: i32,
    },
    /// The timeout of a command is one second, the default.
    ExecOneSecond,
    /// Commands start processes often.
    FrequentExec {
        /// Liveness and readiness probes with commands.
        probes: usize,
        /// Of all of them together.
        per_minute: u64,
    },
    /// One failure is enough.
    SingleFailure {
        probe_type: ProbeType,
        timeout_seconds: i32,
        /// An attempt that takes too long is a failure.
        counts_timeouts: bool,
    },
    LateFailure {
        probe_type: ProbeType,
        /// From the moment at which the container stops answering.
        latest_seconds: i64,
        period_seconds: i32,
        failure_threshold: i32,
    },
    LateSuccess {
        /// From the first success to ready.
        earliest_seconds: i64,
        success_threshold: i32,
        period_seconds: i32,
    },
    LongerGracePeriod {
        probe_seconds: i64,
        pod_seconds: i64,
    },
    /// Liveness and readiness send the same.
    SameHandler {
        /// The duration of failures that kills the container.
        killed_after_seconds: i64,
        /// The duration of failures that stops requests.
        unready_after_seconds: i64,
    },
    UnknownPortName {
        probe_type: ProbeType,
        name: String,
        /// The prober's.
        error: String,
    },
    /// A proxy answers the probe.
    #[serde(rename = "injected-probe")]
    Injected(Injected),
    UndeclaredPort {
        port: i32,
    },
    HostIsTheNode {
        host: String,
    },
    OtherHost {
        host: String,
    },
    HostNetwork,
    HttpsNotVerified,
    GrpcPlaintext,
    HeaderNotSent {
        name: String,
        /// The first header of that name is sent.
        repeated: bool,
    },
    NoAcceptHeader,
    NoRequest {
        probe_type: ProbeType,
        /// The prober's.
        error: String,
    },
    RequestRefused {
        /// The HTTP client's.
        error: String,
    },
    PathRewritten {
        sent_path: String,
    },
    UnknownVariable {
        name: String,
    },
    VariableFromElsewhere {
        name: String,
    },
    /// A command line is the name of a program.
    OneWord {
        word: String,
    },
}

/// The time from its start at which a container is killed that does not answer.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlowStart {
    pub earliest_seconds: i64,
    pub latest_seconds: i64,
    pub initial_delay_seconds: i32,
    pub period_seconds: i32,
    pub failure_threshold: i32,
    pub timeout_seconds: i32,
}

impl Rule for ProbeRule {
    fn topic(&self) -> Topic {
        match self {
            Self::NoStartupProbe(_) => Topic::Probes,
            _ => Topic::default(),
        }
    }

    fn severity(&self) -> Severity {
        let warns = match self {
            Self::Refused { .. } => return Severity::Error,
            Self::NoStartupProbe(start) => start.earliest_seconds < QUICK_START_SECONDS,
            Self::SingleFailure { probe_type, .. } => *probe_type == ProbeType::Liveness,
            Self::SameHandler { killed_after_seconds, unready_after_seconds } => {
                killed_after_seconds <= unready_after_seconds
            }
            Self::UnknownField { .. }
            | Self::ShortStartup(_)
            | Self::TimeoutAbovePeriod { .. }
            | Self::ExecTimeoutIgnored { .. }
            | Self::UnknownPortName { .. }
            | Self::HostIsTheNode { .. }
            | Self::HeaderNotSent { .. }
            | Self::NoRequest { .. }
            | Self::RequestRefused { .. }
            | Self::UnknownVariable { .. }
            | Self::VariableFromElsewhere { .. }
            | Self::OneWord { .. } => true,
            Self::DelayBesideStartup { .. }
            | Self::ExecOneSecond
            | Self::FrequentExec { .. }
            | Self::LateFailure { .. }
            | Self::LateSuccess { .. }
            | Self::LongerGracePeriod { .. }
            | Self::UndeclaredPort { .. }
            | Self::Injected(_)
            | Self::OtherHost { .. }
            | Self::HostNetwork
            | Self::HttpsNotVerified
            | Self::GrpcPlaintext
            | Self::NoAcceptHeader
            | Self::PathRewritten { .. } => false,
        };
        if warns { Severity::Warning } else { Severity::Info }
    }

    fn wording(&self) -> Wording {
        match self {
            Self::Refused { error } => Wording::new(error)
                .because("the API server rejects the pod, and the kubelet a static pod")
                .advise("correct it"),
            Self::UnknownField { nearest } => Wording::new("Kubernetes has no such field")
                .because("it is ignored, and the default applies")
                .advise(match nearest {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => "remove it".to_owned(),
                }),
            Self::ShortStartup(start) => start.wording().advise(
                "raise failureThreshold of the startup probe: it does not delay a container that starts sooner",
            ),
            Self::NoStartupProbe(start) => start
                .wording()
                .advise("add a startup probe that covers the slowest start: liveness waits for it"),
            Self::DelayBesideStartup { initial_delay_seconds } => Wording::new(format!(
                "counts {initial_delay_seconds} s from the start of the container, not from the end of \
                 its startup probe"
            ))
            .because("it has no effect on a longer start, and delays a shorter one")
            .advise("remove it: the startup probe detects the end of the start"),
            Self::TimeoutAbovePeriod { timeout_seconds, period_seconds } => Wording::new(format!(
                "a probe may take {timeout_seconds} s and is due every {period_seconds} s"
            ))
            .because(format!(
                "probes do not overlap: one that hangs delays the next, so failures are counted \
                 every {timeout_seconds} s instead of every {period_seconds} s"
            ))
            .advise("lower timeoutSeconds to periodSeconds or below"),
            Self::ExecTimeoutIgnored { timeout_seconds } => Wording::new(format!(
                "a command that takes longer than {timeout_seconds} s never fails"
            ))
            .because(
                "without the feature gate ExecProbeTimeout the kubelet treats the timeout as an error of the \
                 prober, and ignores it: a container that hangs is never noticed",
            )
            .advise("enable the gate, or limit the command itself: timeout 5 ..."),
            Self::ExecOneSecond => {
                Wording::new("the command has 1 s, including the start by the runtime")
                    .because(
                        "starting a process in a container can take that long on a busy node, and a \
                         command that takes longer counts as a failure",
                    )
                    .advise("allow a command several seconds")
            }
            Self::FrequentExec { probes, per_minute } => Wording::new(format!(
                "{} start {per_minute} processes per minute",
                counted(*probes, "exec probe")
            ))
            .because(
                "for each of them the runtime starts its own process in addition to the command; both use \
                 CPU time of the node and of the container",
            )
            .advise("raise periodSeconds, or use HTTP, TCP or gRPC probes, which start no process"),
            Self::SingleFailure { probe_type, timeout_seconds, counts_timeouts } => {
                let (found, why) = match (probe_type, counts_timeouts) {
                    (ProbeType::Readiness, _) => (
                        "one probe that fails takes the pod out of its services".to_owned(),
                        "under load, a service can lose all its pods at the same time",
                    ),
                    (ProbeType::Startup | ProbeType::Liveness, false) => (
                        "one probe that fails kills the container".to_owned(),
                        "one lost packet or one long pause is enough",
                    ),
                    (ProbeType::Startup | ProbeType::Liveness, true) => (
                        format!(
                            "one probe that fails, or takes longer than {timeout_seconds} s, kills the \
                             container"
                        ),
                        "one lost packet or one long pause is enough",
                    ),
                };
                Wording::new(found)
                    .because(why)
                    .advise("use 3, the default, unless one failure is conclusive")
            }
            Self::LateFailure { probe_type, latest_seconds, period_seconds, failure_threshold } => {
                let consequence = match probe_type {
                    ProbeType::Liveness => "is killed",
                    ProbeType::Readiness | ProbeType::Startup => "receives no more requests",
                };
                Wording::new(format!(
                    "a container that stops answering {consequence} up to {latest_seconds} s later \
                     (periodSeconds {period_seconds}, failureThreshold {failure_threshold})"
                ))
                .because("until then it counts as healthy")
                .advise("lower periodSeconds or failureThreshold; use a startup probe for a slow start")
            }
            Self::LateSuccess { earliest_seconds, success_threshold, period_seconds } => {
                Wording::new(format!(
                    "a container is ready at the earliest {earliest_seconds} s after its first success \
                     ({success_threshold} of them, every {period_seconds} s)"
                ))
                .because("a rollout waits that long for each pod")
                .advise("lower successThreshold or periodSeconds")
            }
            Self::LongerGracePeriod { probe_seconds, pod_seconds } => Wording::new(format!(
                "a container that failed this probe has {probe_seconds} s to stop, any other \
                 {pod_seconds} s"
            ))
            .because(
                "a container that does not answer rarely stops by itself, and it restarts only after it has \
                 stopped",
            )
            .advise("set less time than the pod's, or remove it"),
            Self::SameHandler { killed_after_seconds: killed, unready_after_seconds: unready } => {
                Wording::new(format!(
                    "is identical to the readiness probe; about {killed} s of failures kill the \
                     container, about {unready} s stop requests"
                ))
                .because(match killed <= unready {
                    true => {
                        "a container that is only busy is killed before requests to it stop"
                    }
                    false => {
                        "a longer outage of a dependency restarts every container, which repairs \
                         nothing"
                    }
                })
                .advise(
                    "restrict liveness to a check for a stuck process, or give it a much larger \
                     failureThreshold",
                )
            }
            Self::UnknownPortName { probe_type, name, error } => {
                Wording::new(format!("no port of the container is named {name}: {error}"))
                    .because(never_counts(*probe_type))
                    .advise("use the name or the number of a port of this container")
            }
            Self::Injected(injected) => Wording::new(injected.to_string())
                .because("a sidecar injector rewrote the probe"),
            Self::UndeclaredPort { port } => {
                Wording::new(format!("the container does not list port {port}"))
                    .because(
                        "the kubelet probes it, but a changed port is easily forgotten here",
                    )
                    .advise("list the port with a name, and use the name in the probe")
            }
            Self::HostIsTheNode { host } => {
                Wording::new(format!("{host} is the node, not the pod"))
                    .because(
                        "the kubelet connects from the node's network, to any process that listens there",
                    )
                    .advise("remove host: the default is the pod's IP")
            }
            Self::OtherHost { host } => {
                Wording::new(format!("the request goes to {host} instead of the pod's IP"))
                    .because(
                        "the probe checks that host, not this container; the node resolves its \
                         name",
                    )
                    .advise("remove host; for a virtual host, set the header Host")
            }
            Self::HostNetwork => {
                Wording::new("the pod uses the host network: the port is one of the node's")
                    .because("another process that uses the port answers instead")
                    .advise("make sure that no other process of any node uses the port")
            }
            Self::HttpsNotVerified => Wording::new(
                "the certificate is not verified: neither name, dates nor issuer",
            )
            .because("an expired certificate does not fail the probe")
            .advise("monitor the expiry of certificates elsewhere"),
            Self::GrpcPlaintext => Wording::new("the kubelet speaks gRPC without TLS only")
                .because("a server that requires TLS on this port never answers")
                .advise("serve the health service on a port without TLS, or use an exec probe"),
            Self::HeaderNotSent { name, repeated: false } => {
                Wording::new(format!("{name} is not sent"))
                    .because(
                        "the kubelet's HTTP client sets it itself, and omits it for GET",
                    )
                    .advise("remove it")
            }
            Self::HeaderNotSent { name, repeated: true } => {
                Wording::new(format!("only the first {name} is sent"))
                    .because("further values are dropped silently")
                    .advise("remove all but one")
            }
            Self::NoAcceptHeader => {
                Wording::new("no header Accept is sent, nor further values")
                    .because("an empty value means that; without the header it would be */*")
                    .advise("remove it unless the server rejects */*")
            }
            Self::NoRequest { probe_type, error } => {
                Wording::new(format!("no request can be built: {error}"))
                    .because(never_counts(*probe_type))
                    .advise("fix host and path")
            }
            Self::RequestRefused { error } => Wording::new(format!("every probe fails: {error}"))
                .because("the kubelet's HTTP client rejects the request before it connects")
                .advise("fix the named part"),
            Self::PathRewritten { sent_path } => Wording::new(format!("the request is for {sent_path}"))
                .because(
                    "the path is parsed as a URL reference: a host and a fragment are removed, invalid bytes \
                     are escaped, and an invalid reference is escaped with its ? and #",
                )
                .advise("write the path as it must be sent"),
            Self::UnknownVariable { name } => Wording::new(format!(
                "$({name}) is not expanded: the container does not define the variable"
            ))
            .because("for probes, the kubelet expands only env, not envFrom or the image's variables")
            .advise(let_a_shell_read(name)),
            Self::VariableFromElsewhere { name } => Wording::new(format!(
                "$({name}) expands to an empty text: it uses valueFrom"
            ))
            .because("for probes, the kubelet does not resolve valueFrom")
            .advise(let_a_shell_read(name)),
            Self::OneWord { word } => {
                Wording::new(format!("{word:?} is one word, and so the name of a program"))
                    .because(
                        "no shell splits it: the runtime finds no such program, and such errors are \
                         ignored",
                    )
                    .advise(
                        "write each word as its own element, or use a shell: [sh, -c, ...]",
                    )
            }
        }
    }
}

impl SlowStart {
    fn wording(self) -> Wording {
        let Self {
            earliest_seconds: earliest,
            latest_seconds: latest,
            initial_delay_seconds: delay,
            period_seconds: period,
            failure_threshold: failures,
            timeout_seconds: timeout,
        } = self;
        Wording::new(format!(
            "a container that does not answer is killed {earliest} s to {latest} s after its start \
             (initialDelaySeconds {delay}, periodSeconds {period}, failureThreshold {failures}, \
             timeoutSeconds {timeout})"
        ))
        .because(
            "a single slow start, on a busy node or with a cold cache, ends in a restart, and the next \
             start is no faster",
        )
    }
}

/// Returns the consequence if each attempt is an error of the prober.
fn never_counts(kind: ProbeType) -> &'static str {
    match kind {
        ProbeType::Startup => {
            "the kubelet ignores the result: the container never counts as started, and is never killed"
        }
        ProbeType::Readiness => "the kubelet ignores the result: the container never becomes ready",
        ProbeType::Liveness => "the kubelet ignores the result: the container is never killed",
    }
}

fn let_a_shell_read(name: &str) -> String {
    format!("expand it with a shell in the container: sh -c '... \"${name}\"'")
}

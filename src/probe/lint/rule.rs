//! What the rules find, as facts, and the sentences made of them.

use crate::answer::{Rule, Severity, Wording};
use crate::k8s::pod::ProbeType;
use serde::Serialize;

/// Hardly any container is up so soon on a busy node.
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
    /// Liveness and readiness ask the same.
    SameHandler {
        /// Failures for so long kill the container.
        killed_after_seconds: i64,
        /// Failures for so long keep requests away.
        unready_after_seconds: i64,
    },
    UnknownPortName {
        probe_type: ProbeType,
        name: String,
        /// The prober's.
        error: String,
    },
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
    /// A command line is taken for the name of a program.
    OneWord {
        word: String,
    },
}

/// How soon a container is killed that does not get up, counted from its start.
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
                .because("the API server refuses the pod, and a kubelet a static pod with it")
                .advise("correct it"),
            Self::UnknownField { nearest } => Wording::new("Kubernetes has no such field")
                .because("it is passed over, and the default counts")
                .advise(match nearest {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => "leave it out".to_owned(),
                }),
            Self::ShortStartup(start) => start.wording().advise(
                "raise failureThreshold of the startup probe: a container that is up sooner loses nothing",
            ),
            Self::NoStartupProbe(start) => start
                .wording()
                .advise("add a startup probe that covers the slowest start: liveness waits for it"),
            Self::DelayBesideStartup { initial_delay_seconds } => Wording::new(format!(
                "counts {initial_delay_seconds} s from the start of the container, not from the end of \
                 its startup probe"
            ))
            .because("it changes nothing where the start takes longer, and delays where it does not")
            .advise("leave it out: the startup probe says when the container is up"),
            Self::TimeoutAbovePeriod { timeout_seconds, period_seconds } => Wording::new(format!(
                "a probe may take {timeout_seconds} s and is due every {period_seconds} s"
            ))
            .because(format!(
                "probes do not overlap: one that hangs puts the next off, so that failures are counted \
                 every {timeout_seconds} s instead of every {period_seconds} s"
            ))
            .advise("lower timeoutSeconds to periodSeconds or below"),
            Self::ExecTimeoutIgnored { timeout_seconds } => Wording::new(format!(
                "a command that takes longer than {timeout_seconds} s never fails"
            ))
            .because(
                "without the feature gate ExecProbeTimeout the kubelet takes that for an error of the \
                 prober, and throws it away: a container that hangs is never noticed",
            )
            .advise("leave the gate on, or let the command end itself in time: timeout 5 ..."),
            Self::ExecOneSecond => {
                Wording::new("the command has 1 s, with all that the runtime needs to start it")
                    .because(
                        "starting a process in a container can take that long on a busy node, and a \
                         command that takes longer counts as a failure",
                    )
                    .advise("give a command several seconds")
            }
            Self::FrequentExec { probes, per_minute } => Wording::new(format!(
                "{probes} exec probe{} start {per_minute} processes per minute",
                if *probes == 1 { "" } else { "s" }
            ))
            .because(
                "for each of them the kubelet calls the runtime, which starts its own process besides that \
                 of the command; they take CPU time of the node and of the container",
            )
            .advise("raise periodSeconds, or use HTTP, TCP or gRPC probes, which start no process"),
            Self::SingleFailure { probe_type, timeout_seconds, counts_timeouts } => {
                let (found, why) = match (probe_type, counts_timeouts) {
                    (ProbeType::Readiness, _) => (
                        "one probe that fails takes the pod out of its services".to_owned(),
                        "under load all pods of a service can go at once",
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
                    .advise("take 3, the default, unless one failure is proof")
            }
            Self::LateFailure { probe_type, latest_seconds, period_seconds, failure_threshold } => {
                let consequence = match probe_type {
                    ProbeType::Liveness => "is killed",
                    ProbeType::Readiness | ProbeType::Startup => "gets no more requests",
                };
                Wording::new(format!(
                    "a container that stops answering {consequence} up to {latest_seconds} s later \
                     (periodSeconds {period_seconds}, failureThreshold {failure_threshold})"
                ))
                .because("until then it counts as well")
                .advise("lower periodSeconds or failureThreshold; a slow start is for a startup probe")
            }
            Self::LateSuccess { earliest_seconds, success_threshold, period_seconds } => {
                Wording::new(format!(
                    "a container is ready {earliest_seconds} s after its first success at the earliest \
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
                "a container that does not answer is rarely one that stops by itself, and until it has \
                 stopped it does not start again",
            )
            .advise("take less time than the pod's, or leave it out"),
            Self::SameHandler { killed_after_seconds: killed, unready_after_seconds: unready } => {
                Wording::new(format!(
                    "asks the same as the readiness probe; about {killed} s of failures kill the \
                     container, about {unready} s keep requests away"
                ))
                .because(match killed <= unready {
                    true => {
                        "a container that is only busy is killed before it is relieved of requests"
                    }
                    false => {
                        "a dependency that is down for longer restarts every container, which brings \
                         nothing back"
                    }
                })
                .advise(
                    "let liveness ask only whether the process is stuck, or give it a much larger \
                     failureThreshold",
                )
            }
            Self::UnknownPortName { probe_type, name, error } => {
                Wording::new(format!("no port of the container is named {name}: {error}"))
                    .because(never_counts(*probe_type))
                    .advise("name a port of this container, or take its number")
            }
            Self::UndeclaredPort { port } => {
                Wording::new(format!("the container lists ports, and {port} is none of them"))
                    .because(
                        "the kubelet does not mind, but a port that was moved is easily forgotten here",
                    )
                    .advise("list the port with a name, and let the probe name it")
            }
            Self::HostIsTheNode { host } => {
                Wording::new(format!("{host} is the node, not the pod"))
                    .because(
                        "the kubelet connects from the node's network, and whoever listens there answers",
                    )
                    .advise("leave host out: then the pod's IP is taken")
            }
            Self::OtherHost { host } => {
                Wording::new(format!("{host} is asked instead of the pod's IP"))
                    .because(
                        "the probe says how that host is, not this container; its name is looked up by \
                         the node",
                    )
                    .advise("leave host out; for a virtual host, set the header Host")
            }
            Self::HostNetwork => {
                Wording::new("the pod has the node's network: the port is one of the node's")
                    .because("another process that has the port already answers instead")
                    .advise("make sure that the port is the container's own on every node")
            }
            Self::HttpsNotVerified => Wording::new(
                "the certificate is not checked: neither its name, nor its dates, nor who signed it",
            )
            .because("a certificate that has expired does not fail the probe")
            .advise("watch the dates of certificates elsewhere"),
            Self::GrpcPlaintext => Wording::new("the kubelet speaks gRPC without TLS only")
                .because("a server that wants TLS on this port never answers")
                .advise("serve the health service on a port without TLS, or use an exec probe"),
            Self::HeaderNotSent { name, repeated: false } => {
                Wording::new(format!("{name} is not sent"))
                    .because(
                        "the client of the kubelet writes it by itself, and for a GET not at all",
                    )
                    .advise("leave it out")
            }
            Self::HeaderNotSent { name, repeated: true } => {
                Wording::new(format!("only the first {name} is sent"))
                    .because("further values are dropped without a word")
                    .advise("leave all but one out")
            }
            Self::NoAcceptHeader => {
                Wording::new("no header Accept is sent, further values neither")
                    .because("an empty value asks for that; without the header it would be */*")
                    .advise("leave it out unless the server minds */*")
            }
            Self::NoRequest { probe_type, error } => {
                Wording::new(format!("no request can be made: {error}"))
                    .because(never_counts(*probe_type))
                    .advise("correct host and path")
            }
            Self::RequestRefused { error } => Wording::new(format!("every probe fails: {error}"))
                .because("the client of the kubelet refuses the request before it connects")
                .advise("correct what it names"),
            Self::PathRewritten { sent_path } => Wording::new(format!("{sent_path} is asked for"))
                .because(
                    "the path is read as a URL reference: a host and a fragment are cut off, bytes that \
                     no path has are escaped, and what is no reference is escaped with its ? and #",
                )
                .advise("write the path as it is to be sent"),
            Self::UnknownVariable { name } => Wording::new(format!(
                "$({name}) is passed on as it is: the container lists no such variable"
            ))
            .because("the kubelet knows only what stands in env, nothing of envFrom or of the image")
            .advise(let_a_shell_read(name)),
            Self::VariableFromElsewhere { name } => Wording::new(format!(
                "$({name}) becomes an empty text: its value comes from elsewhere"
            ))
            .because("for probes, the kubelet does not look up what valueFrom points to")
            .advise(let_a_shell_read(name)),
            Self::OneWord { word } => {
                Wording::new(format!("{word:?} is one word, and so the name of a program"))
                    .because(
                        "no shell splits it: the runtime finds no such program, and such errors never \
                         count",
                    )
                    .advise(
                        "write each word as an element of its own, or let a shell split it: [sh, -c, ...]",
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
            "a start that takes longer once, on a busy node or with a cold cache, ends in a restart, and \
             the next start is no quicker",
        )
    }
}

/// Says what follows where each attempt is an error of the prober.
fn never_counts(kind: ProbeType) -> &'static str {
    match kind {
        ProbeType::Startup => {
            "the kubelet throws the result away: the container never counts as started, and nobody kills it"
        }
        ProbeType::Readiness => {
            "the kubelet throws the result away: the container never gets ready"
        }
        ProbeType::Liveness => "the kubelet throws the result away: the container is never killed",
    }
}

fn let_a_shell_read(name: &str) -> String {
    format!("let a shell in the container read it: sh -c '... \"${name}\"'")
}

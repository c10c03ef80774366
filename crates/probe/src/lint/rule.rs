//! The rules with their facts, severities and sentences.

use crate::injected::Injected;
use kq_answer::{Rule, Severity, Topic, Wording};
use kq_k8s::pod::ProbeType;
use kq_output::units::counted;
use serde::Serialize;

/// A start that a busy node rarely achieves.
const QUICK_START_SECONDS: i64 = 15;

/// A rule that applies, with its facts.
#[derive(Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum ProbeRule {
    /// The API server refuses the field.
    #[text("{error}")]
    #[why("the API server rejects the pod, and the kubelet a static pod")]
    #[advice("correct it")]
    Refused {
        /// In its words.
        error: String,
    },
    /// Kubernetes has no such field.
    #[text("Kubernetes has no such field")]
    #[why("it is ignored, and the default applies")]
    #[advice(nearest: Some(nearest) => "did you mean {nearest}?")]
    #[advice("remove it")]
    UnknownField {
        /// The field that may have been meant.
        nearest: Option<&'static str>,
    },
    #[text(_0.found())]
    #[why(ONE_SLOW_START)]
    #[advice(
        "raise failureThreshold of the startup probe: it does not delay a container that starts \
         sooner"
    )]
    ShortStartup(SlowStart),
    #[text(_0.found())]
    #[why(ONE_SLOW_START)]
    #[advice("add a startup probe that covers the slowest start: liveness waits for it")]
    NoStartupProbe(SlowStart),
    #[text(
        "counts {initial_delay_seconds} s from the start of the container, not from the end of its \
         startup probe"
    )]
    #[why("it has no effect on a longer start, and delays a shorter one")]
    #[advice("remove it: the startup probe detects the end of the start")]
    DelayBesideStartup { initial_delay_seconds: i32 },
    #[text("a probe may take {timeout_seconds} s and is due every {period_seconds} s")]
    #[why(
        "probes do not overlap: one that hangs delays the next, so failures are counted every \
         {timeout_seconds} s instead of every {period_seconds} s"
    )]
    #[advice("lower timeoutSeconds to periodSeconds or below")]
    TimeoutAbovePeriod { timeout_seconds: i32, period_seconds: i32 },
    /// The feature gate `ExecProbeTimeout` is off.
    #[text("a command that takes longer than {timeout_seconds} s never fails")]
    #[why(
        "without the feature gate ExecProbeTimeout the kubelet treats the timeout as an error of \
         the prober, and ignores it: a container that hangs is never noticed"
    )]
    #[advice("enable the gate, or limit the command itself: timeout 5 ...")]
    ExecTimeoutIgnored { timeout_seconds: i32 },
    /// The timeout of a command is one second, the default.
    #[text("the command has 1 s, including the start by the runtime")]
    #[why(
        "starting a process in a container can take that long on a busy node, and a command that \
         takes longer counts as a failure"
    )]
    #[advice("allow a command several seconds")]
    ExecOneSecond,
    /// Commands start processes often.
    #[text(
        "{probes} start {per_minute} processes per minute",
        probes = counted(*probes, "exec probe")
    )]
    #[why(
        "for each of them the runtime starts its own process in addition to the command; both use \
         CPU time of the node and of the container"
    )]
    #[advice("raise periodSeconds, or use HTTP, TCP or gRPC probes, which start no process")]
    FrequentExec {
        /// Liveness and readiness probes with commands.
        probes: usize,
        /// Of all of them together.
        per_minute: u64,
    },
    /// One failure is enough.
    #[text(
        probe_type: ProbeType::Readiness =>
        "one probe that fails takes the pod out of its services"
    )]
    #[text(counts_timeouts: false => "one probe that fails kills the container")]
    #[text("one probe that fails, or takes longer than {timeout_seconds} s, kills the container")]
    #[why(
        probe_type: ProbeType::Readiness =>
        "under load, a service can lose all its pods at the same time"
    )]
    #[why("one lost packet or one long pause is enough")]
    #[advice("use 3, the default, unless one failure is conclusive")]
    SingleFailure {
        probe_type: ProbeType,
        timeout_seconds: i32,
        /// An attempt that takes too long is a failure.
        counts_timeouts: bool,
    },
    #[text(
        "a container that stops answering {consequence} up to {latest_seconds} s later \
         (periodSeconds {period_seconds}, failureThreshold {failure_threshold})",
        consequence = match probe_type {
            ProbeType::Liveness => "is killed",
            ProbeType::Readiness | ProbeType::Startup => "receives no more requests",
        }
    )]
    #[why("until then it counts as healthy")]
    #[advice("lower periodSeconds or failureThreshold; use a startup probe for a slow start")]
    LateFailure {
        probe_type: ProbeType,
        /// From the moment at which the container stops answering.
        latest_seconds: i64,
        period_seconds: i32,
        failure_threshold: i32,
    },
    #[text(
        "a container is ready at the earliest {earliest_seconds} s after its first success \
         ({success_threshold} of them, every {period_seconds} s)"
    )]
    #[why("a rollout waits that long for each pod")]
    #[advice("lower successThreshold or periodSeconds")]
    LateSuccess {
        /// From the first success to ready.
        earliest_seconds: i64,
        success_threshold: i32,
        period_seconds: i32,
    },
    #[text(
        "a container that failed this probe has {probe_seconds} s to stop, any other {pod_seconds} \
         s"
    )]
    #[why(
        "a container that does not answer rarely stops by itself, and it restarts only after it \
         has stopped"
    )]
    #[advice("set less time than the pod's, or remove it")]
    LongerGracePeriod { probe_seconds: i64, pod_seconds: i64 },
    /// Liveness and readiness send the same.
    #[text(
        "is identical to the readiness probe; about {killed_after_seconds} s of failures kill the \
         container, about {unready_after_seconds} s stop requests"
    )]
    #[why(
        if killed_after_seconds <= unready_after_seconds =>
        "a container that is only busy is killed before requests to it stop"
    )]
    #[why("a longer outage of a dependency restarts every container, which repairs nothing")]
    #[advice(
        "restrict liveness to a check for a stuck process, or give it a much larger \
         failureThreshold"
    )]
    SameHandler {
        /// The duration of failures that kills the container.
        killed_after_seconds: i64,
        /// The duration of failures that stops requests.
        unready_after_seconds: i64,
    },
    #[text("no port of the container is named {name}: {error}")]
    #[why(never_counts(*probe_type))]
    #[advice("use the name or the number of a port of this container")]
    UnknownPortName {
        probe_type: ProbeType,
        name: String,
        /// The prober's.
        error: String,
    },
    /// A proxy answers the probe.
    #[serde(rename = "injected-probe")]
    #[text("{0}")]
    #[why("a sidecar injector rewrote the probe")]
    Injected(Injected),
    #[text("the container does not list port {port}")]
    #[why("the kubelet probes it, but a changed port is easily forgotten here")]
    #[advice("list the port with a name, and use the name in the probe")]
    UndeclaredPort { port: i32 },
    #[text("{host} is the node, not the pod")]
    #[why("the kubelet connects from the node's network, to any process that listens there")]
    #[advice("remove host: the default is the pod's IP")]
    HostIsTheNode { host: String },
    #[text("the request goes to {host} instead of the pod's IP")]
    #[why("the probe checks that host, not this container; the node resolves its name")]
    #[advice("remove host; for a virtual host, set the header Host")]
    OtherHost { host: String },
    #[text("the pod uses the host network: the port is one of the node's")]
    #[why("another process that uses the port answers instead")]
    #[advice("make sure that no other process of any node uses the port")]
    HostNetwork,
    #[text("the certificate is not verified: neither name, dates nor issuer")]
    #[why("an expired certificate does not fail the probe")]
    #[advice("monitor the expiry of certificates elsewhere")]
    HttpsNotVerified,
    #[text("the kubelet speaks gRPC without TLS only")]
    #[why("a server that requires TLS on this port never answers")]
    #[advice("serve the health service on a port without TLS, or use an exec probe")]
    GrpcPlaintext,
    #[text(repeated: false => "{name} is not sent")]
    #[text(repeated: true => "only the first {name} is sent")]
    #[why(repeated: false => "the kubelet's HTTP client sets it itself, and omits it for GET")]
    #[why(repeated: true => "further values are dropped silently")]
    #[advice(repeated: false => "remove it")]
    #[advice(repeated: true => "remove all but one")]
    HeaderNotSent {
        name: String,
        /// The first header of that name is sent.
        repeated: bool,
    },
    #[text("no header Accept is sent, nor further values")]
    #[why("an empty value means that; without the header it would be */*")]
    #[advice("remove it unless the server rejects */*")]
    NoAcceptHeader,
    #[text("no request can be built: {error}")]
    #[why(never_counts(*probe_type))]
    #[advice("fix host and path")]
    NoRequest {
        probe_type: ProbeType,
        /// The prober's.
        error: String,
    },
    #[text("every probe fails: {error}")]
    #[why("the kubelet's HTTP client rejects the request before it connects")]
    #[advice("fix the named part")]
    RequestRefused {
        /// The HTTP client's.
        error: String,
    },
    #[text("the request is for {sent_path}")]
    #[why(
        "the path is parsed as a URL reference: a host and a fragment are removed, invalid bytes \
         are escaped, and an invalid reference is escaped with its ? and #"
    )]
    #[advice("write the path as it must be sent")]
    PathRewritten { sent_path: String },
    #[text("$({name}) is not expanded: the container does not define the variable")]
    #[why("for probes, the kubelet expands only env, not envFrom or the image's variables")]
    #[advice(let_a_shell_read(name))]
    UnknownVariable { name: String },
    #[text("$({name}) expands to an empty text: it uses valueFrom")]
    #[why("for probes, the kubelet does not resolve valueFrom")]
    #[advice(let_a_shell_read(name))]
    VariableFromElsewhere { name: String },
    /// A command line is the name of a program.
    #[text("{word} is one word, and so the name of a program", word = format!("{word:?}"))]
    #[why("no shell splits it: the runtime finds no such program, and such errors are ignored")]
    #[advice("write each word as its own element, or use a shell: [sh, -c, ...]")]
    OneWord { word: String },
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
            Self::Injected(injected) => injected.is_unknown,
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
}

impl SlowStart {
    fn found(self) -> String {
        let Self {
            earliest_seconds: earliest,
            latest_seconds: latest,
            initial_delay_seconds: delay,
            period_seconds: period,
            failure_threshold: failures,
            timeout_seconds: timeout,
        } = self;
        format!(
            "a container that does not answer is killed {earliest} s to {latest} s after its start \
             (initialDelaySeconds {delay}, periodSeconds {period}, failureThreshold {failures}, \
             timeoutSeconds {timeout})"
        )
    }
}

const ONE_SLOW_START: &str = "a single slow start, on a busy node or with a cold cache, ends in a restart, and the next start \
                              is no faster";

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

//! The rules about containers and pods, and their sentences.

use super::wording::count;
use kq_admission::preemption::why::Cause;
use kq_answer::Wording;
use kq_k8s::duration::GoDuration;
use kq_output::units::bytes;
use serde::Serialize;

/// The CPU quota of a container.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Throttling {
    #[text(
        "none of {containers} is held back by its CPU limit",
        containers = count(*containers, "container", "containers")
    )]
    Ok { containers: usize },
    #[text("{reason}")]
    #[advice("run kq as root on the node, or take a new snapshot")]
    Unknown { reason: String },
    #[text("throttled in {percent}% of its periods ({throttled_periods} of {periods})")]
    #[why(is_below_plan: true => "its CPU quota is below the planned one")]
    #[why("its CPU limit is used up before the period of 100 ms ends")]
    #[leads_to("answers take longer, and probes with short timeouts fail")]
    #[advice(is_below_plan: true => "kq cgroup apply writes the planned value")]
    #[advice("raise the CPU limit, or remove it")]
    #[command(is_below_plan: true => "kq cgroup diff")]
    #[command("kq cgroup throttling")]
    Throttled {
        periods: u64,
        throttled_periods: u64,
        percent: u64,
        /// The quota in the kernel is below the planned one: its own finding has the fix.
        is_below_plan: bool,
    },
}

/// Memory that ran out in a container.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum OomKills {
    #[text("no container was OOM-killed")]
    Ok,
    /// The kernel counted them in the cgroup of the container that is there now.
    #[text(
        "OOM-killed {times} since it was started{status}",
        times = count(usize::try_from(*times).unwrap_or(usize::MAX), "time", "times"),
        status = in_status(*is_in_status, last.as_deref())
    )]
    #[why(level.reason())]
    #[leads_to("the container is started again with growing delays")]
    #[advice(level.advice())]
    #[command("kq cgroup show")]
    Killed {
        times: u64,
        level: OomLevel,
        /// The status of the container has an OOM kill as its last end.
        is_in_status: bool,
        /// When that was.
        last: Option<String>,
    },
    /// The status of the container says so of its last end; of those before, it has nothing.
    #[text(
        "OOM-killed 1 time{at}",
        at = at.as_ref().map_or_else(String::new, |at| format!(", last at {at}"))
    )]
    #[why(
        "the status has the last end alone, and not whether the memory of the container, of its \
         pod or of the node ran out"
    )]
    #[leads_to("the container is started again with growing delays")]
    #[advice(OomLevel::Unknown.advice())]
    #[command("kq cgroup show")]
    Last { at: Option<String> },
}

/// The level whose memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OomLevel {
    /// The limit of the container.
    Container,
    /// The limit of its pod.
    Pod,
    /// The limit of the pods together.
    Kubepods,
    /// The memory of the node.
    Node,
    /// Any of those above the container, whose own limit was not reached.
    AboveContainer,
    /// The kernel does not count per level.
    Unknown,
}

/// What follows from a CPU quota below the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Follows {
    /// The container is throttled.
    Throttled { percent: u64 },
    /// Its probe fails, and the kubelet kills it.
    ProbeKills { probe: String, times: i64 },
}

/// Pods that a component ended.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Ended {
    #[text("no pod was refused, evicted or preempted")]
    Ok,
    /// None that is listed; the pods that are gone are known of their events alone.
    #[text(
        "no pod of the list was refused, evicted or preempted; not checked: pods that are gone, as \
         the events are not known ({reason})"
    )]
    #[advice("let kq reach the API server: --kubeconfig FILE")]
    Unchecked { reason: String },
    #[serde(rename = "ended")]
    #[text(joined([ended(*cause), reason, message.trim_end()]))]
    #[why(is_gone: true => "its object is gone; its events are left")]
    #[leads_to(
        "it does not run again; a controller makes another pod in its place, maybe elsewhere"
    )]
    #[command("kq why POD")]
    Pod {
        /// The component, as `kq preempt why` finds it.
        cause: Cause,
        /// `status.reason`
        reason: String,
        /// `status.message`
        message: String,
        /// The pod is known by its events alone, which name the reason and the message.
        is_gone: bool,
    },
    /// Pods beyond those that are shown.
    #[text("{pods} more ended so", pods = count(*pods, "pod", "pods"))]
    More { pods: usize },
}

/// Pods that do not come to run, or do not go.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Stuck {
    #[text("no pod waits with an error")]
    Ok,
    /// A container waits with an error.
    #[text("waits: {cause}", cause = joined([reason, message]))]
    #[leads_to("the kubelet tries again, and the container does not start until the cause is gone")]
    #[command("kubectl describe pod NAME -n NAMESPACE")]
    Waiting { reason: String, message: String },
    /// A container waits for its image, whose last pull failed.
    #[text(image: Some(image) => "its image {image} cannot be pulled ({reason})")]
    #[text("its image cannot be pulled ({reason})")]
    #[why(message: Some(message) => "{message}")]
    #[leads_to(
        "the container does not start before a pull succeeds; the kubelet waits up to 5 minutes \
         before each pull"
    )]
    #[advice(
        "check the name and the tag of the image, that the node reaches the registry, and the \
         pod's imagePullSecrets"
    )]
    #[command("kq why POD")]
    NotPulled {
        /// The image, where the kubelet's words name it.
        image: Option<String>,
        reason: String,
        /// The words of the registry or of the runtime.
        message: Option<String>,
    },
    /// The pod has no running sandbox for this time.
    #[text("pending for {seconds} s, and the runtime has no sandbox of it")]
    #[why(event: Some(event) => "{event}")]
    #[why("the kubelet mounts the volumes and sets up the network before the first container")]
    #[advice("read the kubelet's log: journalctl -u kubelet")]
    NoSandbox {
        seconds: i64,
        /// The newest event of a failure.
        event: Option<String>,
    },
    /// Its status has containers that run, and the runtime has none.
    #[text("its status is Running, and none of its containers runs")]
    #[leads_to(
        "the status stays wrong until the kubelet syncs the pod and starts its containers again"
    )]
    #[advice("read the kubelet's log: journalctl -u kubelet")]
    NotRunning,
    /// The newest sandbox of a pod that runs is not ready.
    #[text("its sandbox is not ready")]
    #[why(
        "the kubelet keeps the containers of a pod in a sandbox that is ready (podSandboxChanged)"
    )]
    #[leads_to(
        starts_again: true =>
        "the kubelet kills its containers, and starts them again in a new sandbox with a new IP \
         address"
    )]
    #[leads_to(
        "the kubelet kills its containers, and does not start them again (restartPolicy Never)"
    )]
    #[advice("find what ended the sandbox in the logs of the runtime and of the kubelet")]
    #[command("crictl pods --name NAME --namespace NAMESPACE")]
    SandboxNotReady {
        /// The containers get a new sandbox.
        starts_again: bool,
    },
    /// The pod should have been gone for this time.
    #[text("its deletion should have ended {seconds} s ago")]
    #[why(
        "the kubelet removes the object when all containers have ended and the volumes are \
         unmounted; a finalizer keeps it too"
    )]
    #[advice("read the kubelet's log: journalctl -u kubelet")]
    Deleting { seconds: i64 },
    /// A resize that the kubelet has granted, and cannot carry out.
    #[text("its resize fails{message}", message = after(message))]
    #[why("the kubelet has allocated it, and tries it again with each sync of the pod")]
    #[leads_to("the pod runs on with the resources that it had")]
    #[advice("resize the pod to amounts that the node can set, or create it again with them")]
    #[command("kubectl describe pod NAME -n NAMESPACE")]
    ResizeFails {
        /// The kubelet's words.
        message: String,
    },
    /// A resize that the kubelet has not granted.
    #[text(waits_for_room: true => "its resize waits for room{message}", message = after(message))]
    #[text("its resize is not possible on this node{message}", message = after(message))]
    #[why(
        waits_for_room: true =>
        "the kubelet tries again when a pod ends, after each resize, and every few minutes"
    )]
    #[leads_to("the pod runs on with the resources that it had")]
    #[command("kq admit explain POD -o wide")]
    Resize {
        waits_for_room: bool,
        /// The kubelet's words.
        message: String,
    },
}

/// Returns a time to wait: minutes, where it is some.
fn waiting(time: GoDuration) -> String {
    match (time.0 / GoDuration::MINUTE.0, time.0 % GoDuration::MINUTE.0) {
        (1, 0) => "1 minute".to_owned(),
        (minutes @ 2.., 0) => format!("{minutes} minutes"),
        _ => time.to_string(),
    }
}

/// Returns what the status of a container has of its last end.
fn in_status(is_oom: bool, at: Option<&str>) -> String {
    match (is_oom, at) {
        (false, _) => String::new(),
        (true, None) => "; its status has an OOM kill as its last end".to_owned(),
        (true, Some(at)) => format!("; its status has an OOM kill as its last end, at {at}"),
    }
}

/// Returns the kubelet's words behind a colon; nothing where there are none.
fn after(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// The memory of a container compared with its limit.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MemoryLimit {
    #[text(
        "none of {containers} is near its memory limit",
        containers = count(*containers, "container", "containers")
    )]
    Ok { containers: usize },
    #[text("{reason}")]
    #[advice("run kq as root on the node, or take a new snapshot")]
    Unknown { reason: String },
    #[text(
        "its working set {working_set_bytes} is {percent}% of its limit {limit_bytes}",
        working_set_bytes = bytes(*working_set_bytes),
        limit_bytes = bytes(*limit_bytes)
    )]
    #[leads_to("the kernel kills the container when it reaches the limit")]
    #[advice("raise its memory limit")]
    #[command("kq cgroup show")]
    Near { working_set_bytes: u64, limit_bytes: u64, percent: u64 },
}

/// Containers that were started again.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Restarts {
    #[text("no container was started again")]
    Ok,
    #[text("{reason}")]
    #[advice("name an API server with --kubeconfig, or let kq reach the kubelet's API")]
    Unknown { reason: String },
    #[text("{reason} after {restarts}", restarts = count_restarts(*restarts))]
    #[leads_to(
        longest_wait: Some(longest_wait) =>
        "the kubelet waits up to {longest_wait} before each start",
        longest_wait = waiting(*longest_wait)
    )]
    #[leads_to(
        "the kubelet waits before each start, up to 5 minutes by default; its configuration is unknown"
    )]
    #[advice("read the log of the previous run: kubectl logs --previous")]
    #[command("kq why POD")]
    BackOff {
        restarts: i32,
        reason: String,
        /// The longest wait before a start; null: the configuration is unknown.
        longest_wait: Option<GoDuration>,
    },
    #[text(
        "{restarts}{end}{kills}",
        restarts = count_restarts(*restarts),
        end = end(*exit_code, last.as_deref()),
        kills = probe_kills.as_ref().map_or_else(String::new, ProbeKills::text)
    )]
    #[why(
        probe: _, probe_kills: Some(ProbeKills { probe, .. }) =>
        "its events show that the {probe} probe failed"
    )]
    #[why(
        probe: Some(probe) =>
        "exit code 137 is a kill; the container has a {probe} probe, so the kubelet may have \
         killed it for that"
    )]
    #[advice(
        probe: None, probe_kills: None =>
        "read the log of the previous run: kubectl logs --previous"
    )]
    #[advice("compare the probe's timeout with the time of an answer")]
    #[command(
        probe: _, probe_kills: Some(ProbeKills { probe, .. }) => "kq probe plan --type {probe}"
    )]
    #[command(probe: Some(probe) => "kq probe plan --type {probe}")]
    #[command("kq why POD")]
    Restarted {
        restarts: i32,
        exit_code: Option<i32>,
        last: Option<String>,
        /// The probe that the kubelet may have killed it for.
        probe: Option<String>,
        /// The kills for a probe that its events show.
        probe_kills: Option<ProbeKills>,
    },
}

/// The kills for a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeKills {
    /// `liveness` or `startup`.
    pub probe: String,
    /// How often.
    pub times: i64,
}

impl OomLevel {
    fn advice(self) -> &'static str {
        match self {
            Self::Container | Self::Unknown => "raise its memory limit, or find the leak",
            Self::Pod => "raise the memory limit of the pod, or find the leak",
            Self::Kubepods | Self::Node => "reserve more memory for the system, or move pods away",
            Self::AboveContainer => {
                "read which cgroup ran out of memory in the kernel's log: journalctl -k -g oom-kill"
            }
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Container => "the container reached its memory limit",
            Self::Pod => {
                "its pod reached the memory limit of the pod; the container did not reach its own"
            }
            Self::Kubepods => {
                "all pods together reached the memory limit of their cgroup; the container did not reach its own"
            }
            Self::Node => "the node had no memory left; the container did not reach its limit",
            Self::AboveContainer => {
                "the container did not reach its own limit: the limit of its pod or of all pods was \
                 reached, or the node had no memory left"
            }
            Self::Unknown => {
                "the container reached its memory limit, or the pod's, or the node had no memory left"
            }
        }
    }
}

impl ProbeKills {
    fn text(&self) -> String {
        let times = usize::try_from(self.times).unwrap_or_default();
        format!("; {} by its {} probe", count(times, "kill", "kills"), self.probe)
    }
}

fn end(exit_code: Option<i32>, at: Option<&str>) -> String {
    match (exit_code, at) {
        (Some(code), Some(at)) => format!("; last with exit code {code} at {at}"),
        (Some(code), None) => format!("; last with exit code {code}"),
        _ => String::new(),
    }
}

fn ended(cause: Cause) -> &'static str {
    match cause {
        Cause::RefusedAtAdmission => "refused by the kubelet",
        Cause::EvictedByKubelet => "evicted by the kubelet",
        Cause::EvictedThroughApi => "evicted through the eviction API",
        Cause::PreemptedByKubelet => "preempted by the kubelet",
        Cause::PreemptedByScheduler => "preempted by the scheduler",
        Cause::NodeShutdown => "stopped as the node shut down",
        Cause::DeletedByTaintManager => "deleted for a taint that it does not tolerate",
        _ => "ended by the kubelet",
    }
}

fn joined<const N: usize>(said: [&str; N]) -> String {
    said.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(": ")
}

fn count_restarts(restarts: i32) -> String {
    count(usize::try_from(restarts).unwrap_or_default(), "restart", "restarts")
}

//! How probes are sent, and what comes of each.

use crate::{Conclusion, Job};
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::ProbeType;
use std::path::PathBuf;
use std::time::Duration;

/// The transport of probes.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The container runtime, for commands.
    pub endpoint: Option<String>,
    /// The root directory of the node.
    pub host_root: PathBuf,
    /// `runtimeRequestTimeout`: how long the kubelet waits for the runtime beyond the time of the command.
    pub runtime_request_timeout: Duration,
    /// The rules of the kubelet that is imitated.
    pub rules: KubeletRules,
}

/// A probe to send.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// What to send.
    pub job: &'a Job,
    /// The kind of probe, which its event names.
    pub probe_type: ProbeType,
    /// `timeoutSeconds`
    pub timeout_seconds: i32,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// The start.
    pub at: Timestamp,
    /// The conclusion of its attempts.
    pub conclusion: Conclusion,
    /// The duration of each attempt, in microseconds.
    pub times_us: Vec<u64>,
}

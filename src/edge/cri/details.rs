//! What a runtime tells of one sandbox or container: addresses, processes, times.

use crate::facts::runtime::ContainerState;

/// What a runtime tells of a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxStatus {
    /// Its addresses, the first one first; none where it has the node's network.
    pub ips: Vec<String>,
    /// The process that holds it, where the runtime tells.
    pub pid: Option<i32>,
    /// The file of its network namespace, where the runtime tells and it has one of its own.
    pub network_namespace: Option<String>,
    /// It runs.
    pub ready: bool,
}

/// What a runtime tells of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerDetails {
    /// What it does.
    pub state: ContainerState,
    /// When it started, in nanoseconds since 1970; `None`: it has not.
    pub started_at: Option<i64>,
    /// When it ended, in nanoseconds since 1970; `None`: it has not.
    pub finished_at: Option<i64>,
    /// With what it ended; `None`: it has not.
    pub exit_code: Option<i32>,
    /// Its process, where the runtime tells and it runs.
    pub pid: Option<i32>,
}

//! Details of one sandbox or container from the runtime: addresses, processes, times.

use crate::facts::runtime::ContainerState;

/// Details of a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxStatus {
    /// Its addresses, the first one first; none where it has the node's network.
    pub ips: Vec<String>,
    /// The process that holds it, if the runtime reports it.
    pub pid: Option<i32>,
    /// The file of its network namespace, if the runtime reports one and it has one of its own.
    pub network_namespace: Option<String>,
    /// It runs.
    pub ready: bool,
}

/// Details of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerDetails {
    /// Its state.
    pub state: ContainerState,
    /// When it started, in nanoseconds since 1970; `None`: it has not.
    pub started_at: Option<i64>,
    /// When it ended, in nanoseconds since 1970; `None`: it has not.
    pub finished_at: Option<i64>,
    /// Its exit code; `None`: it has not ended.
    pub exit_code: Option<i32>,
    /// Its process, if the runtime reports it and it runs.
    pub pid: Option<i32>,
}

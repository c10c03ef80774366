//! The actions of the kubelet for a result.
//!
//! `syncLoopIteration`, `pkg/kubelet/kubelet.go`, receives changed results; containers are killed
//! by `computePodActions` and `computeInitContainerActions`,
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go` and `kuberuntime_container.go`.

use crate::k8s::pod::ProbeType;
use crate::probe::grace_period::GracePeriod;
use serde::Serialize;
use std::fmt;

/// What the kubelet does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "do")]
pub enum Action {
    /// It kills the container.
    Kill {
        /// What it says about it, in an event too.
        message: String,
        /// The container starts again.
        restarts: bool,
        /// How long the container may take to stop.
        grace_period: GracePeriod,
    },
    /// The container may get requests.
    Ready,
    /// The container gets no requests: neither does its pod.
    NotReady,
    /// The container has started: the other probes begin.
    Started,
}

impl Action {
    /// Returns what the kubelet says about a container that it kills.
    pub fn kill_message(
        kind: ProbeType,
        container: &str,
        is_sidecar: bool,
        restarts: bool,
    ) -> String {
        let probe = kind.to_string().to_ascii_lowercase();
        let (what, then) = match (is_sidecar, restarts) {
            (true, _) => ("Init container", ""),
            (false, true) => ("Container", ", will be restarted"),
            (false, false) => ("Container", ""),
        };
        format!("{what} {container} failed {probe} probe{then}")
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { message, .. } => write!(f, "kill: {message}"),
            Self::Ready => f.write_str("ready"),
            Self::NotReady => f.write_str("not ready"),
            Self::Started => f.write_str("started"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_kubelets() {
        let message = Action::kill_message;
        for (got, expected) in [
            (
                message(ProbeType::Liveness, "app", false, true),
                "Container app failed liveness probe, will be restarted",
            ),
            (
                message(ProbeType::Startup, "app", false, false),
                "Container app failed startup probe",
            ),
            (
                message(ProbeType::Startup, "log", true, true),
                "Init container log failed startup probe",
            ),
            (
                message(ProbeType::Liveness, "log", true, true),
                "Init container log failed liveness probe",
            ),
        ] {
            assert_eq!(got, expected);
        }
    }
}

//! The containers of an admitted pod that a kubelet stops when it starts.

use kq_answer::reason::Reason;
use kq_k8s::pod::Pod;
use serde::Serialize;
use std::fmt;

/// Why containers restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain)]
pub enum RestartCause {
    /// The machine reboots.
    #[text("no container survives a reboot")]
    Reboot,
    /// The cgroups of the pods have other names after the start.
    #[text(
        "the kubelet kills a pod that runs without a cgroup in the tree of the new cgroupDriver or \
         cgroupRoot"
    )]
    CgroupsMoved,
    /// The container did not run before.
    #[text("not running now, and the kubelet forgets the back-off at its start")]
    NotRunning,
    /// The kubelet has no record of the container's resources, so it resizes the container; its
    /// `resizePolicy` is `RestartContainer`.
    #[text(
        "the kubelet has no record of its resources in actuated_pods_state, and its resizePolicy \
         is RestartContainer"
    )]
    ResizePolicy,
    /// A resize changes a resource for which its `resizePolicy` is `RestartContainer`.
    #[text("its resizePolicy is RestartContainer for a resource that the resize changes")]
    Resize,
    /// A kubelet of another minor version gives the static pod another UID.
    #[text(
        "the UID of a static pod is a hash over all fields of the Pod type, and a kubelet of \
         another minor version has other fields"
    )]
    NewUid,
    /// The kubelet reads another folder of manifests.
    #[text(
        "staticPodPath is another folder, and the kubelet ends a static pod that no manifest of it has"
    )]
    NoManifest,
    /// The pod is deleted: a starting kubelet terminates it (`UpdatePod`, `pkg/kubelet/pod_workers.go`).
    #[text("it is deleted, and the kubelet ends it whether it restarts or not")]
    Deleted,
    /// The phase of the pod is final: a starting kubelet terminates it (`UpdatePod`, `pkg/kubelet/pod_workers.go`).
    #[text("its phase is final, and the kubelet ends it whether it restarts or not")]
    Finished,
    /// Another manifest takes the place of the static pod's.
    #[text("its manifest takes the place of that of a static pod of the same name")]
    Replaced,
}

/// The containers that the kubelet stops although it admits their pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedContainers {
    pub names: Vec<String>,
    pub cause: RestartCause,
    /// The kubelet starts them again.
    pub start_again: bool,
}

impl RestartCause {
    /// Returns true if the restart takes nothing from the pod: its containers do not run, or end without it too.
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::NotRunning | Self::Deleted | Self::Finished)
    }
}

impl StoppedContainers {
    /// Returns containers of a pod that end for this cause.
    pub fn of(pod: &Pod, cause: RestartCause, names: Vec<String>) -> Self {
        let lets_end = matches!(
            cause,
            RestartCause::Reboot | RestartCause::ResizePolicy | RestartCause::CgroupsMoved
        );
        let start_again = match cause {
            RestartCause::NoManifest | RestartCause::Deleted | RestartCause::Finished => false,
            _ => !lets_end || pod.spec.restart_policy != "Never",
        };
        Self { names, cause, start_again }
    }
}

impl fmt::Display for StoppedContainers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one = self.names.len() == 1;
        let verb = match (self.start_again, is_one) {
            (true, true) => "restarts",
            (true, false) => "restart",
            (false, true) => "ends and does not start again",
            (false, false) => "end and do not start again",
        };
        write!(f, "{} {verb}: {}", self.names.join(", "), self.cause)
    }
}

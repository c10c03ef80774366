//! Warnings: contradictions and oddities in what an answer rests on.

use super::missing::Missing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a warning.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum WarningCode {
    /// A fact is unknown that the answer may depend on. `about`: its code in `missing[]`.
    UnknownFact,
    /// The version of a component is unknown. `about`: the component.
    UnknownVersion,
    /// kq does not know the rules of a version of the kubelet and uses those of another one. `about`: the version.
    UnknownRules,
    /// The sources of the kubelet's version contradict each other. `about`: the version that the answer follows.
    VersionsDiffer,
    /// A file of the machine could not be read. `about`: the file.
    UnreadHostFile,
    /// A part of the cgroup tree could not be read. `about`: the cgroup or the file of it.
    UnreadCgroup,
    /// A state file of the kubelet could not be read. `about`: the file.
    UnreadStateFile,
    /// A mapping has a key twice; the last one counts. `about`: the key.
    DuplicateKey,
    /// An oddity in the sources of the kubelet's configuration: its files, its flags or its process.
    KubeletConfig,
    /// The kubelet ignores a field of its configuration. `about`: the field.
    IgnoredField,
    /// The kubelet does not start with this configuration. `about`: the field, if it is one.
    KubeletDoesNotStart,
    /// A setting has no effect. `about`: the field, or the pod that has it.
    NoEffect,
    /// kq does not plan the effect of a feature gate. `about`: the gate.
    UnplannedGate,
    /// A setting takes the place of others. `about`: the field.
    OverridingField,
    /// A flag of the kubelet changes what it watches. `about`: the flag.
    KubeletFlag,
    /// The Node object contradicts the kubelet's configuration. `about`: the resource.
    AllocatableDiffers,
    /// An oddity in a manifest or a list of pods.
    PodManifest,
    /// A pod was read more than once. `about`: the pod; null: several.
    DuplicatePod,
    /// A pod could not be read, and the answer leaves it out.
    PodLeftOut,
    /// Pods are bound to other nodes than the one of the answer. `about`: the node of the answer; null:
    /// none was chosen.
    PodsOfOtherNodes,
    /// The answer is about a node without pods.
    NoPods,
    /// The sums of the node and of the QoS classes may lack pods.
    IncompleteSums,
    /// Pods have ended and do not count.
    EndedPods,
    /// The pod that has a name now has another UID. `about`: the pod.
    OtherUid,
    /// The kubelet refuses the pod for its operating system. `about`: the pod.
    RefusedOs,
    /// Pods request more than the node has for them. `about`: the resource.
    Overcommitted,
    /// A pod asks for huge pages that the node does not have, or may not have. `about`: the pod.
    HugePages,
    /// A pod of a RuntimeClass whose overhead is not known.
    UnknownOverhead,
    /// The QoS class of a pod's status is not that of its spec. `about`: the pod.
    QosClassDiffers,
    /// A pod is being resized. `about`: the pod.
    Resizing,
    /// An amount does not fit the kubelet's 64 bits. `about`: the pod or the image.
    AmountOverflow,
    /// The priority of a pod is refused by the API server, ignored, or probably a mistake. `about`: the priority class;
    /// null: the number.
    Priority,
    /// The kubelet does not count a request. `about`: the container.
    UncountedRequest,
    /// Pods have no cgroups of their own.
    NoPodCgroups,
    /// `qosReserved` leaves no memory for a QoS class. `about`: the class.
    QosReserved,
    /// A reserved cgroup has another name on the node. `about`: the field.
    ReservedCgroup,
    /// The machine has no cgroup controller. `about`: the controller.
    NoController,
    /// The node was read once, and a change at that moment looks like drift.
    ReadOnce,
    /// Containers request more exclusive CPUs than the node has.
    ExclusiveCpus,
    /// Processes compete for CPU time and are not counted. `about`: the cgroup; null: several.
    UncountedProcesses,
    /// Planned containers have no cgroup in the kernel.
    NoCgroup,
    /// Measurements are of pods that the kubelet does not rank.
    OtherPodStats,
    /// systemd does not know of a step, and may undo it. `about`: the cgroup.
    SystemdMayUndo,
    /// A record is from the future: the clock was set back.
    ClockSetBack,
    /// A container names its image by an ID that no image has. `about`: the container.
    UnknownImage,
    /// The image of sandboxes would be removed. `about`: the image.
    SandboxImage,
    /// An oddity or damage in the device manager's checkpoint. `about`: the resource; null: all.
    DeviceCheckpoint,
    /// The checkpoint contradicts the kubelet or the Node object. `about`: the resource.
    CheckpointDiffers,
    /// The checkpoint is a copy in no kubelet's folder.
    CheckpointCopy,
    /// The replacement of the checkpoint needs attention.
    CheckpointReplaced,
    /// A kubelet of another node runs. `about`: its process ID.
    OtherKubelet,
    /// A device is on a NUMA node that does not exist, or is not among those that were given. `about`: the resource.
    NumaNode,
    /// A device is not healthy. `about`: the resource.
    UnhealthyDevice,
    /// The pod requests no devices.
    NoDevices,
    /// Plugins differ about what a container gets. `about`: the container.
    PluginsDiffer,
    /// An init container does not start. `about`: the container.
    InitContainerFails,
    /// The kubelet stops pods that run.
    StopsRunningPods,
    /// No kubelet was found, or none has started.
    NoKubelet,
    /// A socket listens and does not answer. `about`: the socket; null: that of the fake kubelet.
    SilentSocket,
    /// Connections between processes are not visible.
    HiddenConnections,
    /// The events about the pods are unknown.
    PodEvents,
    /// Probes are not sent.
    UnsentProbes,
    /// The API server refuses a setting of a probe. `about`: the field.
    RefusedProbeField,
    /// Steps of a trace are left out, moved, lack a result, or cannot have happened.
    TraceSteps,
    /// Answers of nodes have no number where one was requested. `about`: the path.
    NoNumber,
    /// A threshold is crossed, and the eviction manager acts before.
    ThresholdCrossed,
}

/// A contradiction or an oddity in the sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// The warning in words.
    pub text: String,
    /// The kind of the warning.
    pub code: WarningCode,
    /// The pod, resource, file, field or other thing that the warning is about; null: the node, or several things.
    pub about: Option<String>,
}

impl Warning {
    /// Returns a warning.
    pub fn new(code: WarningCode, text: impl Into<String>) -> Self {
        Self { text: text.into(), code, about: None }
    }

    /// Names the thing that the warning is about.
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }
}

impl WarningCode {
    /// Returns a warning for each text.
    pub fn each<T: ToString>(
        self,
        texts: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = Warning> {
        texts.into_iter().map(move |text| Warning::new(self, text.to_string()))
    }
}

impl From<Missing> for Warning {
    /// Returns a warning for an answer that may depend on a missing fact.
    fn from(missing: Missing) -> Self {
        Self::new(WarningCode::UnknownFact, missing.text).about(missing.fact.to_string())
    }
}

//! Whole questions about a node, and the only code that joins domains: from a gathered node and options to an
//! answer, without I/O.

/// Admission, and preemption for a pod.
pub mod admission;
/// The allocatable resources of a node.
pub mod allocatable;
/// Cgroups.
pub mod cgroup;
/// The device manager: decisions about pods, lists, plans, checks of files.
mod device_panic;

pub mod devices;
/// The disk pressure on a node.
pub mod disk_pressure;
/// The checks of a whole node.
pub mod doctor;
/// The order of eviction.
pub mod eviction;
/// Image garbage collection.
pub mod image_gc;
/// The kinds of answers and their JSON Schemas.
pub mod kinds;
/// The graceful shutdown of a node.
pub mod measured;
/// The numbers of a message, connected to a node.
pub mod message;

pub mod node_shutdown;
/// The faults of patch releases.
mod patches;
/// The pods of a question: names, labels, a namespace, and files with pods.
pub mod pod_selectors;
pub mod preemption;
/// The probes of pods.
pub mod probes;
/// What is reclaimed on the node before a pod is evicted.
pub mod reclaim;
/// The start of the kubelet.
pub mod start;
/// The live view of a node.
pub mod top;
/// The versions of kq, the kubelet and the runtime.
pub mod version;
/// Changes to a node before they are made.
pub mod what_if;
/// What ended, refused, killed, throttled or delayed a pod.
pub mod why;

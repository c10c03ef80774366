//! Preemption: why a pod was killed, and which pods are less protected than their priority says.

/// The pods that their priority does not protect.
pub mod lint;
/// The component that killed a pod, and the pod for which it did.
pub mod why;

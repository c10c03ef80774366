//! Preemption: why a pod was killed.

/// The component that killed a pod, and the pod for which it did.
pub mod why;

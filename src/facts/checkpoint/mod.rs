//! The files in which a kubelet remembers what it gave to whom: their formats, exactly. Pure.
//!
//! Followed are `pkg/kubelet/checkpointmanager` of Kubernetes and the packages that write through it;
//! `checkpoint.jsonl` and `state_files.jsonl` in `tests/vectors` pin them.

pub mod checksum;
pub mod device;

//! The kubelet's checkpoints and state files: their exact formats. Pure.
//!
//! Followed are `pkg/kubelet/checkpointmanager` of Kubernetes and the packages that write through it;
//! `checkpoint.jsonl` and `state_files.jsonl` in `tests/vectors` pin them.
//!
//! * `cpu_manager`, `memory_manager`, `pod_allocation`, `dra`: the files below the kubelet's folder.
//! * `layout`: how one layout after the other is tried.
//! * `go_dump`: their checksums, and the text that these are made of.

pub mod cpu_manager;
pub mod device;
pub mod dra;
pub mod go_dump;
pub mod layout;
pub mod memory_manager;
pub mod pod_allocation;
mod state_file;

pub use state_file::StateFile;

/// The largest file that is read: a hundred thousand entries of devices have a fifth of it.
pub const LARGEST: u64 = 256 << 20;

/// A file as the kubelet would write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Its bytes.
    pub text: String,
    /// The input of its checksum.
    pub pre_image: String,
    pub checksum: u32,
}

/// The kubelet's message about a file whose checksum is wrong.
pub const CORRUPT: &str = "checkpoint is corrupted";

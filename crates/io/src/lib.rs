//! Files and processes of this machine or of a node's root: with their trust, their bounds and their deadlines; snapshots and
//! recordings; the clock. On other systems than Linux `elsewhere` answers in place of the readers of a live node.

#![expect(clippy::disallowed_methods, reason = "this is where the world is read")]

pub mod certificates;
pub mod clock;
pub mod credential_plugin;
pub mod drop_ins;
pub mod input;
pub mod interrupt;
mod kernel_files;
pub mod kubelet_files;
pub mod line_file;
pub mod memory;
pub mod own_program;
pub mod package_version;
pub mod random;
pub mod recording_file;
pub mod snapshot_file;
pub mod watchdog;

#[cfg(target_os = "linux")]
pub mod cgroup_files;
#[cfg(target_os = "linux")]
pub mod cgroup_tree;
#[cfg(target_os = "linux")]
pub mod checkpoint_file;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod image_records;
#[cfg(target_os = "linux")]
pub mod kubelet_process;
#[cfg(target_os = "linux")]
pub mod listener;
#[cfg(target_os = "linux")]
mod lock_file;
#[cfg(target_os = "linux")]
pub mod open;
#[cfg(target_os = "linux")]
pub mod place;
#[cfg(target_os = "linux")]
mod process_folder;
#[cfg(target_os = "linux")]
pub mod program_version;
#[cfg(target_os = "linux")]
pub mod replace;
#[cfg(target_os = "linux")]
pub mod start_files;
#[cfg(target_os = "linux")]
pub mod supervisor;
#[cfg(target_os = "linux")]
pub mod trust;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{
    node::{cgroup_files, cgroup_tree, checkpoint_file, host, image_records, start_files, trust},
    open,
    processes::{kubelet_process, listener, program_version},
    replace,
};

/// Why a live node is not read on another system than Linux.
pub const NEEDS_LINUX: &str = "reading a live node needs Linux, and --snapshot FILE answers here";

/// Returns the reason if this build cannot read a live node.
pub fn no_live_node() -> Option<&'static str> {
    (!cfg!(target_os = "linux")).then_some(NEEDS_LINUX)
}

//! The only folder that reads files, connects, or reads the clock.

#![expect(clippy::disallowed_methods, reason = "this is where the world is read")]

pub mod api_server;
pub mod certificates;
pub mod cgroup_files;
pub mod cgroup_tree;
pub mod checkpoint_file;
pub mod clock;
pub mod cri;
pub mod device_plugin;
pub mod drop_ins;
pub mod host;
pub mod http;
mod http2;
pub mod image_records;
pub mod input;
pub mod interrupt;
pub mod kubelet_api;
pub mod kubelet_files;
pub mod kubelet_process;
pub mod listener;
mod lock_file;
pub mod memory;
pub mod own_program;
mod place;
pub mod pod_resources;
pub mod probe;
pub mod program_version;
pub mod recording_file;
pub mod replace;
pub mod snapshot_file;
pub mod trust;

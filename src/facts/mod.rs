//! What is known about a node, and where each fact came from. Pure.

pub mod allocatable;
pub mod cgroup_layout;
pub mod cgroup_mode;
pub mod cgroup_tree;
pub mod describe;
pub mod found_node;
pub mod host;
pub mod kubelet_config;
pub mod kubelet_endpoint;
pub mod kubelet_process;
pub mod live;
pub mod missing;
pub mod node;
pub mod node_object;
pub mod origin;
pub mod resize;
pub mod runtime;
pub mod runtime_endpoint;
pub mod settings;
pub mod snapshot;
pub mod sought;
pub mod start_warnings;
pub mod state_files;
pub mod stats_summary;
pub mod workloads;

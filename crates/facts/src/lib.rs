//! The facts of a node, each with its origin. Pure.

pub mod allocatable;
pub mod certificates;
pub mod cgroup_file;
pub mod cgroup_layout;
pub mod cgroup_mode;
pub mod cgroup_tree;
pub mod cgroup_value;
pub mod checkpoint;
pub mod config_on_disk;
pub mod containerd_storage;
pub mod describe;
pub mod devices;
pub mod devices_by_node;
pub mod distribution;
pub mod drop_ins;
pub mod duplicate_pods;
pub mod events;
pub mod fact_key;
pub mod fact_table;
pub mod filesystems;
pub mod found_node;
pub mod host;
pub mod image_records;
pub mod input_name;
pub mod kept_events;
pub mod kubelet;
pub mod kubelet_config;
pub mod kubelet_endpoint;
pub mod kubelet_log;
pub mod kubelet_node;
pub mod kubelet_process;
pub mod kubelet_unit;
pub mod limits;
pub mod live;
pub mod lookup;
pub mod mounts;
pub mod needs;
pub mod node;
pub mod node_list;
pub mod node_object;
pub mod node_pods;
pub mod pod_resources;
pub mod pod_selector;
pub mod pod_traces;
pub mod read_error;
pub mod redaction;
pub mod report_page;
pub mod resize;
pub mod runtime;
pub mod runtime_endpoint;
pub mod runtime_needs;
pub mod settings;
pub mod snapshot;
pub mod snapshot_names;
pub mod start_warnings;
pub mod state_files;
pub mod stats_summary;
pub mod tcp_table;
pub mod timestamp;
pub mod unix_sockets;
pub mod workloads;

#[cfg(test)]
#[path = "../../../tests/support/objects.rs"]
#[expect(dead_code, reason = "some of it is for other crates")]
mod objects;

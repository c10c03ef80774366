//! One node, gathered: from this machine, from a copy of its files, through the API server, or from a snapshot.
//!
//! [`NodeSpec`] names the sources, [`Needs`] the facts that a question needs, and [`gather`] returns them as a
//! [`Snapshot`](kq_facts::snapshot::Snapshot). Other facts are neither queried nor in the result, so the answer is the
//! same from a node and from a snapshot with more facts.

mod config;
mod devices;
mod events;
mod facts;
mod folders;
mod gather;
mod given_devices;
mod kubelet_node;
mod named_files;
mod needs;
mod node_description;
mod node_file;
mod pod_traces;
mod pods;
mod remote;
mod runtime;
/// Which source wins over which.
pub mod source_order;
mod spec;
mod stats;
mod version;

pub use facts::{FactKey, FactSet, summary};
pub use gather::{cgroup_tree, check_live, gather, is_of_this_machine, tree_failure};
pub use given_devices::read_devices;
pub use kubelet_node::{
    GivenConfig, KubeletFlags, KubeletNode, KubeletOptions, KubeletStartOption, config_of,
    of_description,
};
pub use named_files::{DeviceFiles, NamedFiles};
pub use needs::Needs;
pub use node_description::{NodeDescription, NodeInputs, NodeOptions, of_file};
pub use node_file::NodeFile;
pub use pod_traces::{PodTraces, TraceFiles, gather_traces};
pub use pods::{api_server, of_files, read_pods};
pub use remote::gather_from;
pub use spec::{Environment, NodeSpec, kubelet_root};

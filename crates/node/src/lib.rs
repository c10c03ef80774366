//! One node, gathered: from this machine, from a copy of its files, through the API server, or from a snapshot.
//!
//! [`NodeSpec`] names the sources, [`Needs`](kq_facts::needs::Needs) the facts that a question needs, and [`gather`] returns them as a
//! [`Snapshot`](kq_facts::snapshot::Snapshot). Other facts are neither queried nor in the result, so the answer is the
//! same from a node and from a snapshot with more facts.

pub mod action;
pub mod admission;
mod config;
mod devices;
mod events;
mod folders;
mod gather;
mod given_devices;
mod named_files;
mod node_file;
mod pod_traces;
mod pods;
mod readers;
mod remote;
mod runtime;
/// Which source wins over which.
pub mod source_order;
mod spec;
mod stats;
mod version;

pub use gather::{check_live, gather, gather_node, gather_node_with, is_of_this_machine};
pub use kq_facts::node::Node;
pub use kq_facts::overrides::Overrides;
pub use named_files::{DeviceFiles, NamedFiles};
pub use node_file::{NodeFile, filed_node, of_file};
pub use pod_traces::{TraceFiles, gather_traces};
pub use pods::{api_server, of_files, read_pods};
pub use remote::gather_from;
pub use spec::{Environment, NodeSpec};

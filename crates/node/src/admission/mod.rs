//! The inputs of questions about admission: the node and its pod, or the nodes of a cluster, gathered from their sources.

mod cluster;
mod cluster_nodes;
mod options;
mod replan;
mod target_pod;

pub use cluster::cluster_preemption;
pub use options::AdmissionOptions;
pub use replan::replan;

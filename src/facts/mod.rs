//! What is known about a node, and where each fact came from. Pure.

pub mod kubelet_config;

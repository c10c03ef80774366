//! The cgroup values that the kubelet and the container runtime set for pods. Pure.
//!
//! * [`plan`]: the whole tree for a described node; [`report`] and [`view`] show it.
//! * [`node`], [`qos`], [`pod`], [`container`]: one level each, with [`memory_qos`], [`swap`],
//!   [`oom_score`] as parts of the last.
//! * [`cpu`], [`files`], [`resource_config`]: from names and amounts to paths and texts.
//! * [`cpu_share`], [`shares`]: the CPU time of each container when all are busy.
//! * [`explain`]: from a text back to what it can mean.
//! * [`derivation`], [`rule`], [`total`]: the steps to a value; [`knowledge`]: the facts that it rests on.

pub mod container;
pub mod cpu;
pub mod cpu_share;
pub mod derivation;
pub mod explain;
pub mod files;
pub mod knowledge;
pub mod live;
pub mod memory_qos;
pub mod node;
pub mod oom_score;
mod parallel;
pub mod plan;
mod planner;
pub mod pod;
mod pod_warnings;
pub mod qos;
pub mod report;
pub mod resource_config;
pub mod rule;
pub mod settings;
pub mod shares;
pub mod swap;
pub mod total;
pub mod view;
mod youki;

#[cfg(test)]
#[path = "../../../tests/support/objects.rs"]
mod objects;

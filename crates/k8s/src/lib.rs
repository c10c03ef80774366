//! Kubernetes objects and their meaning, independent of any node: pure, shared by every domain.

pub mod cpuset;
pub mod data_url;
pub mod defaults;
pub mod disruption_budget;
pub mod disruption_target;
pub mod duration;
pub mod feature_gates;
pub mod go_json;
pub mod go_text;
pub mod go_yaml;
pub mod kubelet_rules;
pub mod label_selector;
pub mod manifest;
pub mod nearest;
pub mod patch_fixes;
pub mod pod;
pub mod priority;
pub mod qos;
pub mod quantity;
pub mod resources;
mod schema;
pub mod shared;
pub mod static_pod;
pub mod sysctl;
pub mod validation;
pub mod version;
pub mod yaml;

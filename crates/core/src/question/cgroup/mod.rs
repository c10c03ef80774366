//! The cgroups of a node: its description, and the plan compared with the kernel.

/// The checks of a node.
pub mod checks;
mod comparison;
mod gathered_tree;
mod live_node;
mod node_options;
/// The cgroups that the kubelet would set.
pub mod plan;
mod shares;

pub use comparison::Compared;
pub use gathered_tree::{GatheredTree, LiveTree, check_kubepods};
pub use live_node::LiveNode;
pub use node_options::{FiledNode, NodeDescription, NodeInputs, NodeOptions};
pub use shares::SharesOptions;

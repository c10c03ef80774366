//! The cgroups of a node: its description, and the plan compared with the kernel.

mod comparison;
mod gathered_tree;
mod live_node;

pub use comparison::Compared;
pub use gathered_tree::{GatheredTree, check_kubepods};
pub use live_node::LiveNode;

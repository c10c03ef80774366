//! The cgroups of a node: its description, and the plan compared with the kernel.

/// The checks of a node.
pub mod checks;
mod comparison;
mod kubepods;
/// The cgroups that the kubelet would set.
pub mod plan;
mod shares;
mod swap;

pub use comparison::Compared;
pub use kubepods::{
    FirstHugePages, check_comparable, check_kubepods, first_hugepages, tree_of_pods, tree_warnings,
    unknown_names,
};
pub use shares::SharesOptions;
pub use swap::may_swap;

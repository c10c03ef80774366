//! The devices that a container gets, with the reasons, pinned by `device_allocate.jsonl`.

mod choose;
mod container;
mod nondeterminism;
mod report;

pub use choose::{NO_NUMA_NODE, has_topology};
pub use container::{AllocationContext, ContainerKind, in_order};
pub use nondeterminism::PossibleAllocations;
pub use report::{
    AllocateError, AnyOf, Choice, ContainerAllocation, Outcome, Pool, Preference,
    ResourceAllocation, Split,
};

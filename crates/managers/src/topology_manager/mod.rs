//! The topology manager (`pkg/kubelet/cm/topologymanager`): the NUMA nodes of a container or a pod, and the rejection that may
//! follow. The managers of devices, CPUs and memory plug in as [`HintProvider`].
//!
//! * `mask`: sets of NUMA nodes and hints. `numa`: the machine's nodes.
//! * `policy` and `merge`: what becomes of hints. `options`: the configuration.
//! * `provider`: what a manager has to say. `admit`: a pod, container by container or as a whole.

mod admit;
mod manager;
mod mask;
mod merge;
mod not_computed;
mod numa;
mod options;
mod policy;
mod provider;

pub use admit::{Admission, ContainerAdmission, Decision, Providers, Refusal, Step};
pub use manager::TopologyManager;
pub(crate) use mask::subsets;
pub use mask::{
    Hint, Hints, NumaNodes, ProviderHints, ResourceHints, TopologyHint, has_bit, provided,
};
pub use not_computed::NotComputed;
pub use numa::{NumaInfo, NumaNode};
pub use options::{TopologyManagerError, TopologyOptions};
pub use policy::{TopologyPolicy, TopologyScope, UnknownName, decide};
pub use provider::{AllocationError, HintProvider, Stop, UNEXPECTED};

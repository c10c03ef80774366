//! `dra_manager_state`: the claims of dynamic resource allocation that the kubelet has prepared.
//!
//! Followed is `pkg/kubelet/cm/dra/state` of Kubernetes 1.36; `state_files.jsonl` pins it.

mod load;
mod read;
mod types;
mod write;

pub use load::{DraLoad, DraRefusal, load};
pub use types::{ClaimInfo, DraDevice};
pub use write::encode;

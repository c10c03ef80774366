//! The container runtime over the Container Runtime Interface, on its unix socket.
//!
//! [`read_runtime`] queries facts, [`CriSession`] removes containers, sandboxes and images; both block.
//! [`ExecRuntime`], `connect` and `v1` are for asynchronous code. Without the feature `cri`, the first three fail.
//! The meaning of each field of an answer is in `api.proto` of `k8s.io/cri-api`.

mod error;
mod needs;

pub use error::CriError;
pub use needs::{ContainerDetails, RuntimeNeeds, SandboxStatus, StatusNeeds};

#[cfg(not(feature = "cri"))]
mod disabled;
#[cfg(not(feature = "cri"))]
pub use disabled::{CriSession, ExecRuntime, read_runtime};

#[cfg(feature = "cri")]
pub(super) mod connect;
#[cfg(feature = "cri")]
mod convert;
#[cfg(feature = "cri")]
mod exec;
#[cfg(feature = "cri")]
mod info;
#[cfg(feature = "cri")]
pub(super) mod read;
#[cfg(feature = "cri")]
pub(super) mod reason;
#[cfg(feature = "cri")]
mod session;
#[cfg(feature = "cri")]
mod verbose;
#[cfg(feature = "cri")]
pub use connect::{MAX_MESSAGE_BYTES, connect};
#[cfg(feature = "cri")]
pub use convert::{Answered, decode_answer};
#[cfg(feature = "cri")]
pub use exec::ExecRuntime;
#[cfg(feature = "cri")]
pub use read::read_runtime;
#[cfg(feature = "cri")]
pub use reason::status_reason;
#[cfg(feature = "cri")]
pub use session::CriSession;

#[cfg(feature = "cri")]
pub mod storage;

#[cfg(feature = "cri")]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from v1.proto, where the words are")]
pub mod v1;

//! The container runtime over the Container Runtime Interface, on its unix socket.
//!
//! [`read_runtime`] queries facts, [`CriSession`] removes containers, sandboxes and images; both block.
//! [`ExecRuntime`], `connect` and `v1` are for asynchronous code. Without the feature `cri`, the first three fail.
//! The meaning of each field of an answer is in `api.proto` of `k8s.io/cri-api`.

mod error;

pub use error::CriError;
pub use kq_facts::runtime_needs::{ContainerDetails, RuntimeNeeds, SandboxStatus, StatusNeeds};

#[cfg(not(cri))]
mod disabled;
#[cfg(not(cri))]
pub use disabled::{CriSession, ExecRuntime, read_runtime};

#[cfg(cri)]
pub(super) mod connect;
#[cfg(cri)]
mod convert;
#[cfg(cri)]
mod exec;
#[cfg(cri)]
mod info;
#[cfg(cri)]
pub(super) mod read;
#[cfg(cri)]
pub(super) mod reason;
#[cfg(cri)]
mod session;
#[cfg(cri)]
mod verbose;
#[cfg(cri)]
pub use connect::{MAX_MESSAGE_BYTES, connect};
#[cfg(cri)]
pub use convert::{Answered, decode_answer};
#[cfg(cri)]
pub use exec::ExecRuntime;
#[cfg(cri)]
pub use read::read_runtime;
#[cfg(cri)]
pub use reason::status_reason;
#[cfg(cri)]
pub use session::CriSession;

#[cfg(cri)]
pub mod storage;

#[cfg(cri)]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from v1.proto, where the words are")]
pub mod v1;

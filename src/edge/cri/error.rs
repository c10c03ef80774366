//! Why a runtime could not be asked at all.

/// Why nothing is known from a runtime. A single call that fails is no such error: it becomes the
/// reason of its own fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CriError {
    /// The endpoint is not one of a unix socket.
    #[error("runtime endpoint {endpoint:?} is not understood: expected unix:///PATH or /PATH")]
    Endpoint {
        /// As it was given.
        endpoint: String,
    },
    /// Nobody could be talked to.
    #[error("cannot connect to the container runtime at {endpoint}: {reason}")]
    Connect {
        /// As it was given.
        endpoint: String,
        /// What was in the way.
        reason: String,
    },
    /// Somebody is there, but does not answer as a runtime does.
    #[error("what listens at {endpoint} does not answer as a container runtime: Version: {reason}")]
    Version {
        /// As it was given.
        endpoint: String,
        /// What went wrong.
        reason: String,
    },
    /// The feature `cri` is off.
    #[error(
        "cannot ask the container runtime at {endpoint}: kq was built without the feature `cri`"
    )]
    NotBuilt {
        /// As it was given.
        endpoint: String,
    },
}

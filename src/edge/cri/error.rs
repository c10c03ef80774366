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

impl CriError {
    /// Returns what can be done about it, as a sentence without a full stop.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Endpoint { .. } => None,
            Self::Connect { reason, .. } if reason.contains("permission denied") => {
                Some("the socket is root's: run as root")
            }
            Self::Connect { .. } => Some("name the socket with --runtime-endpoint"),
            // What a containerd answers whose packager left Kubernetes to be turned on.
            Self::Version { reason, .. } if reason.contains("unknown service") => Some(
                "the runtime listens without the CRI: for containerd, take \"cri\" out of \
                 disabled_plugins in /etc/containerd/config.toml",
            ),
            Self::Version { .. } => None,
            Self::NotBuilt { .. } => Some("build kq with `--features cri`"),
        }
    }
}

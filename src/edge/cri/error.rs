//! Why a runtime could not be asked at all.

use crate::facts::distribution::{Place, of_runtime, rows};

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
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Endpoint { .. } => None,
            Self::Connect { reason, .. } if reason.contains("permission denied") => {
                Some("the socket is root's: run as root".to_owned())
            }
            Self::Connect { .. } => Some("name the socket with --runtime-endpoint".to_owned()),
            // What a containerd answers whose packager left Kubernetes to be turned on.
            Self::Version { reason, endpoint } if reason.contains("unknown service") => {
                let socket = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
                let mut own = of_runtime(socket, Place::RuntimeConfig);
                let config = own.next().or_else(|| rows(Place::RuntimeConfig).next());
                Some(format!(
                    "the runtime listens without the CRI: for containerd, take \"cri\" out of \
                     disabled_plugins in {}",
                    config.map_or("its configuration", |row| row.path)
                ))
            }
            Self::Version { .. } => None,
            Self::NotBuilt { .. } => Some("build kq with `--features cri`".to_owned()),
        }
    }
}

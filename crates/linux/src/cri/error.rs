//! Why a runtime did not answer at all.

use kq_facts::distribution::{Place, of_runtime, rows};
use kq_io::no_live_node;

/// Why nothing is known from a runtime. A single failed call is not such an error: it becomes the
/// reason of its fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CriError {
    /// The endpoint is not one of a unix socket.
    #[error("runtime endpoint {endpoint:?} is not understood: expected unix:///PATH or /PATH")]
    Endpoint { endpoint: String },
    /// The connection failed.
    #[error("cannot connect to the container runtime at {endpoint}: {reason}")]
    Connect { endpoint: String, reason: String },
    /// The listener does not answer as a container runtime.
    #[error("the listener at {endpoint} does not answer as a container runtime: Version: {reason}")]
    Version { endpoint: String, reason: String },
    /// The feature `cri` is off, or this is not Linux.
    #[error(
        "cannot query the container runtime at {endpoint}: {}",
        no_live_node().unwrap_or("kq was built without the feature `cri`")
    )]
    NotBuilt { endpoint: String },
}

impl CriError {
    /// Returns the remedy, as a sentence without a full stop.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Endpoint { .. } => None,
            Self::Connect { reason, .. } if reason.contains("permission denied") => {
                Some("the socket is root's: run as root".to_owned())
            }
            Self::Connect { .. } => Some("name the socket with --runtime-endpoint".to_owned()),
            // The answer of a containerd whose package disables the CRI.
            Self::Version { reason, endpoint } if reason.contains("unknown service") => {
                let socket = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
                let mut own = of_runtime(socket, Place::RuntimeConfig);
                let config = own.next().or_else(|| rows(Place::RuntimeConfig).next());
                Some(format!(
                    "the runtime listens without the CRI: for containerd, remove \"cri\" from \
                     disabled_plugins in {}",
                    config.map_or("its configuration", |row| row.path)
                ))
            }
            Self::Version { .. } => None,
            Self::NotBuilt { .. } if no_live_node().is_some() => None,
            Self::NotBuilt { .. } => Some("build kq with `--features cri`".to_owned()),
        }
    }
}

//! The client of the API server: the pods of a node, the node, all nodes, the traces of a single pod, and evictions.
//!
//! Lists are returned unparsed, and parsed like lists in files.
//! The kubeconfig is read as kubectl reads it, with its credential plugins (`exec`) and proxies. Three exceptions are errors:
//! kq has none of client-go's built-in `auth-provider`s, sends no credentials without TLS, and runs a plugin only for a
//! kubeconfig of the person who runs kq: never for one that a node names, and for root only where no other user can write the
//! kubeconfig and the plugin.
//!
//! Without the feature `apiserver`, every request fails with an error that says so.

mod choice;
mod error;

#[cfg(feature = "apiserver")]
mod client;
#[cfg(feature = "apiserver")]
mod credentials;
#[cfg(feature = "apiserver")]
mod evict;
#[cfg(feature = "apiserver")]
mod kubeconfig;
#[cfg(feature = "apiserver")]
mod page;
#[cfg(feature = "apiserver")]
mod plugin;
#[cfg(feature = "apiserver")]
mod pods;
#[cfg(feature = "apiserver")]
mod status;
#[cfg(not(feature = "apiserver"))]
mod without;

pub use choice::KubeconfigChoice;
pub use error::ApiError;

use std::path::Path;

/// Where a kubeconfig is.
#[derive(Clone, Copy, Debug)]
pub enum KubeconfigPlace<'a> {
    /// In kubectl's places, else the service account of kq's pod.
    Usual,
    /// A file that the operator named.
    Named(&'a Path),
    /// The file in the operator's folder on this machine, if no flag names it: it must be trusted.
    Home(&'a str),
    /// A file of the node, below its root: it must be trusted.
    OfNode {
        /// The folder where the node's root is.
        root: &'a Path,
        /// The path on the node.
        path: &'a str,
    },
}

/// How a pod with a certain UID was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletedPod {
    /// It was there until then.
    Deleted,
    /// There was no pod of its name.
    Absent,
    /// Another pod has its name, and stays.
    Replaced,
}

#[cfg(feature = "apiserver")]
pub use client::{ApiServer, connect};
#[cfg(feature = "apiserver")]
pub use kubeconfig::client_certificate;
#[cfg(not(feature = "apiserver"))]
pub use without::{ApiServer, client_certificate, connect};

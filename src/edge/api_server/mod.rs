//! Asking the API server for the pods of a node, for the node itself and for all nodes, for what is left of a
//! single pod, and to evict single pods.
//!
//! What comes back is the answer's own bytes: who reads pods from a file reads these in the same way.
//! The kubeconfig is read as kubectl reads it, with three exceptions that are errors and not surprises:
//! kq runs no credential plugins, uses no proxy and sends no credentials without TLS.
//!
//! Without the feature `apiserver` everything here is an error that says so.

mod error;

#[cfg(feature = "apiserver")]
mod client;
#[cfg(feature = "apiserver")]
mod cluster;
#[cfg(feature = "apiserver")]
mod events;
#[cfg(feature = "apiserver")]
mod evict;
#[cfg(feature = "apiserver")]
mod kubeconfig;
#[cfg(feature = "apiserver")]
mod page;
#[cfg(feature = "apiserver")]
mod pods;
#[cfg(feature = "apiserver")]
mod status;
#[cfg(not(feature = "apiserver"))]
mod without;

pub use error::ApiError;

use std::path::Path;

/// Where a kubeconfig is.
#[derive(Clone, Copy, Debug)]
pub enum KubeconfigPlace<'a> {
    /// Where kubectl would look, or what a pod is given.
    Usual,
    /// A file that the operator named.
    Named(&'a Path),
    /// A file of the node, below its root: it must be believed.
    OfNode {
        /// The folder where the node's root is.
        root: &'a Path,
        /// The path on the node.
        path: &'a str,
    },
}

#[cfg(feature = "apiserver")]
pub use client::{ApiServer, connect};
#[cfg(not(feature = "apiserver"))]
pub use without::{ApiServer, connect};

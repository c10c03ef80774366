//! What stands in for the API server in a kq that was built without it.

use crate::edge::api_server::ApiError;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// An API server; there is none without the feature `apiserver`.
#[derive(Debug)]
pub struct ApiServer {
    never: Infallible,
}

/// Says that kq was built without the API server.
///
/// # Errors
///
/// Fails always.
pub fn connect(
    _kubeconfig: Option<&Path>,
    _context: Option<&str>,
    _deadline: Duration,
) -> Result<ApiServer, ApiError> {
    Err(ApiError::NotBuilt)
}

impl ApiServer {
    /// Returns where the API server is.
    pub fn url(&self) -> &str {
        match self.never {}
    }

    /// Returns the pods of a node, as pages of JSON.
    ///
    /// # Errors
    ///
    /// Is never called.
    pub fn pods_of_node(&self, _node: &str, _deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns a node, as JSON.
    ///
    /// # Errors
    ///
    /// Is never called.
    pub fn node(&self, _name: &str) -> Result<Vec<u8>, ApiError> {
        match self.never {}
    }
}

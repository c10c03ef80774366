//! The replacement of the API server's client in a kq that was built without it.

use crate::api_server::{ApiError, DeletedPod, KubeconfigChoice, KubeconfigPlace};
use crate::kubelet_api::ClientCertificate;
use kq_facts::pod_removal::{EvictionResponse, PodPresence, Removal, Target};
use kq_facts::timestamp::Timestamp;
use serde_json::Value;
use std::convert::Infallible;
use std::time::Duration;

/// An API server; without the feature `apiserver` there are no values.
#[derive(Debug)]
pub struct ApiServer {
    never: Infallible,
}

/// Fails: kq was built without the API server.
/// Fails always.
pub fn connect(
    _kubeconfig: KubeconfigPlace<'_>,
    _choice: &KubeconfigChoice,
    _deadline: Duration,
) -> Result<ApiServer, ApiError> {
    Err(ApiError::NotBuilt)
}

/// Returns no certificate: kq was built without the API server.
/// Never fails.
pub fn client_certificate(
    _kubeconfig: KubeconfigPlace<'_>,
    _choice: &KubeconfigChoice,
) -> Result<Option<ClientCertificate>, ApiError> {
    Ok(None)
}

impl ApiServer {
    /// Returns where the API server is.
    pub fn url(&self) -> &str {
        match self.never {}
    }

    /// Returns it as the source of a fact.
    pub fn source(&self) -> String {
        match self.never {}
    }

    /// Returns the credentials that a plugin gave.
    pub fn lend(&self) -> Result<Vec<u8>, ApiError> {
        match self.never {}
    }

    /// Takes the credentials that another process lent.
    pub fn borrow(&self, _lent: &[u8]) {
        match self.never {}
    }

    /// Returns the time on the server's clock.
    pub fn clock(&self) -> Option<Timestamp> {
        match self.never {}
    }

    /// Returns the pods of a node, as pages of JSON.
    pub fn pods_of_node(&self, _node: &str, _deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns a node, as JSON.
    pub fn node(&self, _name: &str) -> Result<Vec<u8>, ApiError> {
        match self.never {}
    }

    /// Evicts or deletes a pod.
    pub fn remove_pod(&self, _target: &Target, _how: Removal, _dry_run: bool) -> EvictionResponse {
        match self.never {}
    }

    /// Checks whether a pod exists.
    pub fn find_pod(&self, _target: &Target) -> Result<PodPresence, ApiError> {
        match self.never {}
    }

    /// Changes fields of a node.
    pub fn patch_node(&self, _node: &str, _patch: &Value) -> Result<(), ApiError> {
        match self.never {}
    }

    /// Creates a pod.
    pub fn create_pod(&self, _namespace: &str, _pod: &Value) -> Result<String, ApiError> {
        match self.never {}
    }

    /// Returns the pods of a namespace that have a label, as pages of JSON.
    pub fn pods_with_label(
        &self,
        _namespace: &str,
        _label: &str,
        _value: &str,
        _deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns a pod as JSON.
    pub fn read_pod(&self, _namespace: &str, _name: &str) -> Result<Option<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns the log of a pod.
    pub fn pod_log(&self, _namespace: &str, _name: &str, _limit: u64) -> Result<Vec<u8>, ApiError> {
        match self.never {}
    }

    /// Deletes a pod.
    pub fn delete_pod(
        &self,
        _namespace: &str,
        _name: &str,
        _uid: &str,
    ) -> Result<DeletedPod, ApiError> {
        match self.never {}
    }

    /// Returns the nodes, as pages of JSON.
    pub fn nodes(&self, _deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns the PodDisruptionBudgets, as pages of JSON.
    pub fn disruption_budgets(&self, _deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Requests the pods of each node.
    pub fn pods_of_each<T: Send>(
        &self,
        _nodes: &[&str],
        _deadline: Duration,
        _work: impl Fn(usize, Result<Vec<Vec<u8>>, ApiError>) -> T + Sync,
        _done: impl FnMut(usize),
    ) -> Vec<T> {
        match self.never {}
    }

    /// Returns the pods of a name in a namespace, or in all, as pages of JSON.
    pub fn pods_of_name(
        &self,
        _namespace: Option<&str>,
        _name: &str,
        _deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns the events about pods of a name, as pages of JSON.
    pub fn events_of_pod(
        &self,
        _namespace: Option<&str>,
        _name: &str,
        _deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns the events about the pods of a namespace, as pages of JSON.
    pub fn events_of_namespace(
        &self,
        _namespace: &str,
        _deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }

    /// Returns the events about the pod of a UID, as pages of JSON.
    pub fn events_of_uid(&self, _uid: &str, _deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        match self.never {}
    }
}

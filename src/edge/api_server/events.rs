//! Requests a single pod and its events.
//!
//! The server selects by name, so that a cluster with a hundred thousand events sends only those of one pod. Without a
//! namespace, it searches all of them.

use crate::edge::api_server::page::List;
use crate::edge::api_server::page::is_node_name;
use crate::edge::api_server::{ApiError, ApiServer};
use std::time::Duration;

impl ApiServer {
    /// Returns the pods of a name: unparsed pages of JSON, each a `PodList`. It must not be called from
    /// asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails unless all of them arrived, and for an invalid name.
    pub fn pods_of_name(
        &self,
        namespace: Option<&str>,
        name: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check(namespace, name)?;
        let selector = format!("metadata.name={name}");
        self.list(&List::within(namespace, "pods", "PodList", selector), deadline)
    }

    /// Returns the events about pods of a name: unparsed pages of JSON, each an `EventList`. It must not be
    /// called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails unless all of them arrived, and for an invalid name.
    pub fn events_of_pod(
        &self,
        namespace: Option<&str>,
        name: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check(namespace, name)?;
        let selector = format!("involvedObject.kind=Pod,involvedObject.name={name}");
        self.list(&List::within(namespace, "events", "EventList", selector), deadline)
    }

    /// Returns the events about the pods of a namespace, in the same form. It must not be called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails unless all of them arrived, and for an invalid name.
    pub fn events_of_namespace(
        &self,
        namespace: &str,
        deadline: Duration,
    ) -> Result<Vec<Vec<u8>>, ApiError> {
        check(Some(namespace), "x")?;
        let selector = "involvedObject.kind=Pod".to_owned();
        self.list(&List::within(Some(namespace), "events", "EventList", selector), deadline)
    }

    /// Returns the events about the pod with a UID, in the same form; they contain its name. It must not be
    /// called from asynchronous code.
    ///
    /// # Errors
    ///
    /// Fails unless all of them arrived, and for an invalid UID.
    pub fn events_of_uid(&self, uid: &str, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        check(None, &uid.to_ascii_lowercase())?;
        let selector = format!("involvedObject.kind=Pod,involvedObject.uid={uid}");
        self.list(&List::within(None, "events", "EventList", selector), deadline)
    }
}

/// Rejects a name that would change the request: a comma extends a selector, a slash a path.
fn check(namespace: Option<&str>, name: &str) -> Result<(), ApiError> {
    match is_node_name(name) && namespace.is_none_or(is_node_name) {
        true => Ok(()),
        false => Err(ApiError::PodName {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }),
    }
}

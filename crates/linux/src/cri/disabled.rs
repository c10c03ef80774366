//! The replacement of the CRI client without the feature `cri`, or on another system than Linux: every call fails with an error that says so.

use super::{ContainerDetails, CriError, RuntimeNeeds, SandboxStatus};
use kq_facts::runtime::{ContainerState, Image, RuntimeFacts};
use kq_io::trust::NamedBy;
use kq_probe::{ExecReply, ExecRequest};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// Says that kq was built without it.
pub fn read_runtime(
    endpoint: &str,
    _host_root: &Path,
    _named_by: NamedBy,
    _wants: RuntimeNeeds,
    _deadline: Duration,
) -> Result<RuntimeFacts, CriError> {
    Err(CriError::NotBuilt { endpoint: endpoint.to_owned() })
}

/// A session with a runtime; without the feature there are no values.
#[derive(Debug)]
pub struct CriSession(Infallible);

impl CriSession {
    /// Says that kq was built without it.
    pub fn connect(
        endpoint: &str,
        _host_root: &Path,
        _deadline: Duration,
    ) -> Result<Self, CriError> {
        Err(CriError::NotBuilt { endpoint: endpoint.to_owned() })
    }

    /// Cannot be called: there is no such value.
    pub fn read(&self, _wants: RuntimeNeeds) -> Result<RuntimeFacts, CriError> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn image(&self, _id: &str) -> Result<Option<Image>, String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn remove_image(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn container_state(&self, _id: &str) -> Result<Option<ContainerState>, String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn container_details(&self, _id: &str) -> Result<Option<ContainerDetails>, String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn sandbox_status(&self, _id: &str) -> Result<Option<SandboxStatus>, String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn stop_container(&self, _id: &str, _grace_seconds: u32) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn remove_container(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn stop_sandbox(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub fn remove_sandbox(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }
}

/// A runtime that runs commands: without the feature there is none.
#[derive(Clone, Debug)]
pub struct ExecRuntime(Infallible);

impl ExecRuntime {
    /// Says that kq was built without it.
    pub async fn connect(endpoint: &str, _host_root: &Path) -> Result<Self, CriError> {
        Err(CriError::NotBuilt { endpoint: endpoint.to_owned() })
    }

    /// Cannot be called: there is no such value.
    pub fn connect_took(&self) -> Duration {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    pub async fn exec_sync(&self, _request: &ExecRequest, _runtime_timeout: Duration) -> ExecReply {
        match self.0 {}
    }
}

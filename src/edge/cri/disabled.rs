//! What is left without the feature `cri`: an error that says so.

use super::{CriError, RuntimeWants};
use crate::facts::runtime::{ContainerState, Image, RuntimeFacts};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

/// Says that kq was built without it.
///
/// # Errors
///
/// Always: [`CriError::NotBuilt`].
pub fn read_runtime(
    endpoint: &str,
    _host_root: &Path,
    _wants: RuntimeWants,
    _deadline: Duration,
) -> Result<RuntimeFacts, CriError> {
    Err(CriError::NotBuilt { endpoint: endpoint.to_owned() })
}

/// A runtime to work with for a while: without the feature there is none.
#[derive(Debug)]
pub struct CriSession(Infallible);

impl CriSession {
    /// Says that kq was built without it.
    ///
    /// # Errors
    ///
    /// Always: [`CriError::NotBuilt`].
    pub fn connect(
        endpoint: &str,
        _host_root: &Path,
        _deadline: Duration,
    ) -> Result<Self, CriError> {
        Err(CriError::NotBuilt { endpoint: endpoint.to_owned() })
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn read(&self, _wants: RuntimeWants) -> Result<RuntimeFacts, CriError> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn image(&self, _id: &str) -> Result<Option<Image>, String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn remove_image(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn container_state(&self, _id: &str) -> Result<Option<ContainerState>, String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn stop_container(&self, _id: &str, _grace_seconds: u32) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn remove_container(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn stop_sandbox(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }

    /// Cannot be called: there is no such value.
    ///
    /// # Errors
    ///
    /// None.
    pub fn remove_sandbox(&self, _id: &str) -> Result<(), String> {
        match self.0 {}
    }
}

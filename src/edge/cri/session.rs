//! A runtime that is asked one thing after the other, and told to remove what is not needed any more.

use super::connect::{connect, image_client, runtime_client, socket_path};
use super::read::{Time, read_runtime};
use super::reason::{chain, status_reason};
use super::{ContainerDetails, CriError, RuntimeNeeds, SandboxStatus, convert, v1, verbose};
use crate::edge::trust::NamedBy;
use crate::facts::runtime::{ContainerState, Image, RuntimeFacts};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// A runtime to work with for a while.
///
/// Each call blocks, has the whole time to itself, and a connection of its own. That costs well under a
/// millisecond, and so there is no connection that could have died since the last call: a runtime that
/// was restarted answers the next one. Not to be called where something is asynchronous already.
#[derive(Debug)]
pub struct CriSession {
    endpoint: String,
    host_root: PathBuf,
    deadline: Duration,
    runtime: Runtime,
}

impl CriSession {
    /// Makes sure that a runtime answers; the deadline is that of each call.
    ///
    /// # Errors
    ///
    /// Fails when nobody can be talked to, or `Version` is not answered.
    pub fn connect(endpoint: &str, host_root: &Path, deadline: Duration) -> Result<Self, CriError> {
        socket_path(endpoint)?;
        let runtime =
            Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
                CriError::Connect { endpoint: endpoint.to_owned(), reason: chain(&error) }
            })?;
        let session = Self {
            endpoint: endpoint.to_owned(),
            host_root: host_root.to_owned(),
            deadline,
            runtime,
        };
        session.read(RuntimeNeeds::default())?;
        Ok(session)
    }

    /// Asks for facts, as [`read_runtime`] does.
    ///
    /// # Errors
    ///
    /// Fails when nobody can be talked to, or `Version` is not answered.
    pub fn read(&self, needs: RuntimeNeeds) -> Result<RuntimeFacts, CriError> {
        read_runtime(&self.endpoint, &self.host_root, NamedBy::Operator, needs, self.deadline)
    }

    /// Returns an image as it is now; `None`: there is none of that id.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn image(&self, id: &str) -> Result<Option<Image>, String> {
        let request = v1::ImageStatusRequest { image: Some(named(id)), verbose: false };
        let said = self.call(Duration::ZERO, async |channel| {
            image_client(&channel).image_status(request).await
        });
        match said {
            Ok(said) => Ok(said.image.map(convert::image)),
            Err(Refused::NotFound) => Ok(None),
            Err(Refused::Otherwise(reason)) => Err(reason),
        }
    }

    /// Removes an image; one that is gone already is removed.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn remove_image(&self, id: &str) -> Result<(), String> {
        let request = v1::RemoveImageRequest { image: Some(named(id)) };
        self.tell(Duration::ZERO, async |channel| {
            image_client(&channel).remove_image(request).await
        })
    }

    /// Returns what a container does now; `None`: there is none of that id.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn container_state(&self, id: &str) -> Result<Option<ContainerState>, String> {
        let request = v1::ContainerStatusRequest { container_id: id.to_owned(), verbose: false };
        let said = self.call(Duration::ZERO, async |channel| {
            runtime_client(&channel).container_status(request).await
        });
        match said {
            Ok(v1::ContainerStatusResponse { status: Some(status), .. }) if status.id != id => {
                Err(format!("answered the status of another container, {:?}", status.id))
            }
            Ok(v1::ContainerStatusResponse { status: Some(status), .. }) => {
                Ok(Some(convert::container_state(status.state)))
            }
            Ok(v1::ContainerStatusResponse { status: None, .. }) => {
                Err(convert::NO_STATUS.to_owned())
            }
            Err(Refused::NotFound) => Ok(None),
            Err(Refused::Otherwise(reason)) => Err(reason),
        }
    }

    /// Returns what a container does now, since when, and in which process; `None`: there is none of that id.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn container_details(&self, id: &str) -> Result<Option<ContainerDetails>, String> {
        let request = v1::ContainerStatusRequest { container_id: id.to_owned(), verbose: true };
        let said = self.call(Duration::ZERO, async |channel| {
            runtime_client(&channel).container_status(request).await
        });
        match said {
            Ok(v1::ContainerStatusResponse { status: Some(status), info }) if status.id == id => {
                Ok(Some(verbose::container(&status, &info)))
            }
            Ok(v1::ContainerStatusResponse { status: Some(status), .. }) => {
                Err(format!("answered the status of another container, {:?}", status.id))
            }
            Ok(v1::ContainerStatusResponse { status: None, .. }) => {
                Err(convert::NO_STATUS.to_owned())
            }
            Err(Refused::NotFound) => Ok(None),
            Err(Refused::Otherwise(reason)) => Err(reason),
        }
    }

    /// Returns a sandbox's addresses, process and network; `None`: there is none of that id.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn sandbox_status(&self, id: &str) -> Result<Option<SandboxStatus>, String> {
        let request = v1::PodSandboxStatusRequest { pod_sandbox_id: id.to_owned(), verbose: true };
        let said = self.call(Duration::ZERO, async |channel| {
            runtime_client(&channel).pod_sandbox_status(request).await
        });
        match said {
            Ok(v1::PodSandboxStatusResponse { status: Some(status), info }) if status.id == id => {
                Ok(Some(verbose::sandbox(status, &info)))
            }
            Ok(v1::PodSandboxStatusResponse { status: Some(status), .. }) => {
                Err(format!("answered the status of another sandbox, {:?}", status.id))
            }
            Ok(v1::PodSandboxStatusResponse { status: None, .. }) => {
                Err(convert::NO_STATUS.to_owned())
            }
            Err(Refused::NotFound) => Ok(None),
            Err(Refused::Otherwise(reason)) => Err(reason),
        }
    }

    /// Stops a container: it is asked to end, and killed after so many seconds, which come on top
    /// of the time of a call. One that is gone is stopped.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn stop_container(&self, id: &str, grace_seconds: u32) -> Result<(), String> {
        let request = v1::StopContainerRequest {
            container_id: id.to_owned(),
            timeout: i64::from(grace_seconds),
        };
        self.tell(Duration::from_secs(u64::from(grace_seconds)), async |channel| {
            runtime_client(&channel).stop_container(request).await
        })
    }

    /// Removes a container; one that is gone already is removed.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn remove_container(&self, id: &str) -> Result<(), String> {
        let request = v1::RemoveContainerRequest { container_id: id.to_owned() };
        self.tell(Duration::ZERO, async |channel| {
            runtime_client(&channel).remove_container(request).await
        })
    }

    /// Stops a sandbox, with its network; one that is gone is stopped.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn stop_sandbox(&self, id: &str) -> Result<(), String> {
        let request = v1::StopPodSandboxRequest { pod_sandbox_id: id.to_owned() };
        self.tell(Duration::ZERO, async |channel| {
            runtime_client(&channel).stop_pod_sandbox(request).await
        })
    }

    /// Removes a sandbox with the containers that are left in it; one that is gone already is removed.
    ///
    /// # Errors
    ///
    /// Fails with what the runtime answered, or why it did not.
    pub fn remove_sandbox(&self, id: &str) -> Result<(), String> {
        let request = v1::RemovePodSandboxRequest { pod_sandbox_id: id.to_owned() };
        self.tell(Duration::ZERO, async |channel| {
            runtime_client(&channel).remove_pod_sandbox(request).await
        })
    }

    /// Makes a call whose answer is that it was done. The CRI wants that said of what is gone already as
    /// well; a runtime that says it was not found means the same.
    fn tell<T>(
        &self,
        longer: Duration,
        call: impl AsyncFnOnce(Channel) -> Result<Response<T>, Status>,
    ) -> Result<(), String> {
        match self.call(longer, call) {
            Ok(_) | Err(Refused::NotFound) => Ok(()),
            Err(Refused::Otherwise(reason)) => Err(reason),
        }
    }

    /// Connects and makes a call, in the time of one call and what it may take longer.
    fn call<T>(
        &self,
        longer: Duration,
        call: impl AsyncFnOnce(Channel) -> Result<Response<T>, Status>,
    ) -> Result<T, Refused> {
        let time = Time::within(self.deadline.saturating_add(longer));
        let both = async {
            let channel = match connect(&self.endpoint, &self.host_root).await {
                Ok(channel) => channel,
                Err(error) => return Err(Refused::Otherwise(error.to_string())),
            };
            match call(channel).await {
                Ok(response) => Ok(response.into_inner()),
                Err(status) if status.code() == Code::NotFound => Err(Refused::NotFound),
                Err(status) => Err(Refused::Otherwise(status_reason(&status))),
            }
        };
        self.runtime
            .block_on(time.limit(both))
            .unwrap_or_else(|reason| Err(Refused::Otherwise(reason)))
    }
}

/// Why a call was of no use.
enum Refused {
    /// The runtime does not know what was named.
    NotFound,
    /// It refused, or did not answer; in one line.
    Otherwise(String),
}

fn named(id: &str) -> v1::ImageSpec {
    v1::ImageSpec { image: id.to_owned(), ..v1::ImageSpec::default() }
}

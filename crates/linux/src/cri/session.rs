//! A session with a runtime that is queried step by step, and removes images, containers and sandboxes.

use super::connect::{connect, image_client, runtime_client, socket_path};
use super::read::{Time, read_runtime};
use super::reason::{chain, status_reason};
use super::{ContainerDetails, CriError, RuntimeNeeds, SandboxStatus, convert, v1, verbose};
use kq_facts::runtime::{ContainerState, Image, RuntimeFacts};
use kq_io::trust::NamedBy;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// A session with a runtime.
///
/// Each call blocks, has the whole time limit, and a connection of its own. That costs well under a
/// millisecond, and no connection can be stale: a runtime that
/// was restarted answers the next call. It must not be used from asynchronous code.
#[derive(Debug)]
pub struct CriSession {
    endpoint: String,
    host_root: PathBuf,
    deadline: Duration,
    runtime: Runtime,
}

impl CriSession {
    /// Checks that a runtime answers; the deadline applies to each call.
    /// Fails when the connection fails, or `Version` is not answered.
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

    /// Queries facts, as [`read_runtime`] does.
    /// Fails when the connection fails, or `Version` is not answered.
    pub fn read(&self, needs: RuntimeNeeds) -> Result<RuntimeFacts, CriError> {
        read_runtime(&self.endpoint, &self.host_root, NamedBy::Operator, needs, self.deadline)
    }

    /// Returns the current state of an image; `None`: no image has that ID.
    /// Fails with the runtime's answer, or why there is none.
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

    /// Removes an image; a missing one counts as removed.
    /// Fails with the runtime's answer, or why there is none.
    pub fn remove_image(&self, id: &str) -> Result<(), String> {
        let request = v1::RemoveImageRequest { image: Some(named(id)) };
        self.ensure(Duration::ZERO, async |channel| {
            image_client(&channel).remove_image(request).await
        })
    }

    /// Returns the current state of a container; `None`: no container has that ID.
    /// Fails with the runtime's answer, or why there is none.
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

    /// Returns a container's state, its start time and its process; `None`: no container has that ID.
    /// Fails with the runtime's answer, or why there is none.
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

    /// Returns a sandbox's addresses, process and network; `None`: no sandbox has that ID.
    /// Fails with the runtime's answer, or why there is none.
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

    /// Stops a container: it gets the stop signal, and is killed after the grace period in seconds, which is added
    /// to the time limit of a call. A missing one counts as stopped.
    /// Fails with the runtime's answer, or why there is none.
    pub fn stop_container(&self, id: &str, grace_seconds: u32) -> Result<(), String> {
        let request = v1::StopContainerRequest {
            container_id: id.to_owned(),
            timeout: i64::from(grace_seconds),
        };
        self.ensure(Duration::from_secs(u64::from(grace_seconds)), async |channel| {
            runtime_client(&channel).stop_container(request).await
        })
    }

    /// Removes a container; a missing one counts as removed.
    /// Fails with the runtime's answer, or why there is none.
    pub fn remove_container(&self, id: &str) -> Result<(), String> {
        let request = v1::RemoveContainerRequest { container_id: id.to_owned() };
        self.ensure(Duration::ZERO, async |channel| {
            runtime_client(&channel).remove_container(request).await
        })
    }

    /// Stops a sandbox and its network; a missing one counts as stopped.
    /// Fails with the runtime's answer, or why there is none.
    pub fn stop_sandbox(&self, id: &str) -> Result<(), String> {
        let request = v1::StopPodSandboxRequest { pod_sandbox_id: id.to_owned() };
        self.ensure(Duration::ZERO, async |channel| {
            runtime_client(&channel).stop_pod_sandbox(request).await
        })
    }

    /// Removes a sandbox with its remaining containers; a missing one counts as removed.
    /// Fails with the runtime's answer, or why there is none.
    pub fn remove_sandbox(&self, id: &str) -> Result<(), String> {
        let request = v1::RemovePodSandboxRequest { pod_sandbox_id: id.to_owned() };
        self.ensure(Duration::ZERO, async |channel| {
            runtime_client(&channel).remove_pod_sandbox(request).await
        })
    }

    /// Makes a call without a result. The CRI requires success for missing objects too;
    /// a "not found" answer means the same.
    fn ensure<T>(
        &self,
        longer: Duration,
        call: impl AsyncFnOnce(Channel) -> Result<Response<T>, Status>,
    ) -> Result<(), String> {
        match self.call(longer, call) {
            Ok(_) | Err(Refused::NotFound) => Ok(()),
            Err(Refused::Otherwise(reason)) => Err(reason),
        }
    }

    /// Connects and makes a call, within the time limit of a call plus `longer`.
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

/// Why a call failed.
enum Refused {
    /// The runtime has no object of that ID.
    NotFound,
    /// It refused, or did not answer; in one line.
    Otherwise(String),
}

fn named(id: &str) -> v1::ImageSpec {
    v1::ImageSpec { image: id.to_owned(), ..v1::ImageSpec::default() }
}

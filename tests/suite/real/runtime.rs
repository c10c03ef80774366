//! The runtime over its socket. The tests are not asynchronous: each call is waited for.

use kq_linux::cri::connect;
use kq_linux::cri::v1::image_service_client::ImageServiceClient;
use kq_linux::cri::v1::runtime_service_client::RuntimeServiceClient;
use std::future::Future;
use std::path::Path;
use std::time::Duration;
use tonic::transport::Channel;
use tonic::{Response, Status};

/// No call takes that long, not even where the machine is emulated.
const PATIENCE: Duration = Duration::from_secs(300);

/// A connection to a runtime.
pub struct Runtime {
    tokio: tokio::runtime::Runtime,
    channel: Channel,
}

impl Runtime {
    /// Connects.
    pub fn connect(socket: &Path) -> Result<Self, String> {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let endpoint = format!("unix://{}", socket.display());
        let channel = tokio
            .block_on(async {
                tokio::time::timeout(PATIENCE, connect(&endpoint, Path::new("/"))).await
            })
            .map_err(|_| format!("{endpoint}: no connection in time"))?
            .map_err(|error| error.to_string())?;
        Ok(Self { tokio, channel })
    }

    /// Returns a client for one call: `runtime.call(runtime.client().version(...))`.
    pub fn client(&self) -> RuntimeServiceClient<Channel> {
        RuntimeServiceClient::new(self.channel.clone())
    }

    /// Returns a client for one call about images.
    pub fn images(&self) -> ImageServiceClient<Channel> {
        ImageServiceClient::new(self.channel.clone())
    }

    /// Returns the connection, for calls that no client here has.
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Waits for the answer to a call.
    pub fn call<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, String> {
        self.tokio
            .block_on(async { tokio::time::timeout(PATIENCE, call).await })
            .map_err(|_| format!("no answer in {} s", PATIENCE.as_secs()))?
            .map(Response::into_inner)
            .map_err(|status| format!("{}: {}", status.code(), status.message()))
    }
}

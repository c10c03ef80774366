//! One plugin, called as by the kubelet's client (`client.go`, `endpoint.go`).
//!
//! A server must send SETTINGS as its first frame (RFC 9113, 3.4). The kubelet's `grpc.WithBlock` waits for it; hyper is done as soon as the socket is open, and would accept a silent
//! listener as a plugin.

use super::{MAX_PLUGIN_MESSAGE_BYTES, v1beta1};
use crate::cri::connect::connect_socket;
use crate::cri::reason::go_status;
use hyper_util::rt::TokioIo;
use kq_facts::checkpoint::device::DeviceSet;
use kq_managers::manager::{Allocated, Device, PluginOptions};
use prost::Message;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Response, Status, Streaming};
use v1beta1::device_plugin_client::DevicePluginClient;

/// How long to wait before a socket without HTTP/2 is tried again; grpc-go waits a second.
const PAUSE: Duration = Duration::from_millis(200);

/// A plugin that is connected to; to clone it is to share the connection.
#[derive(Clone, Debug)]
pub struct PluginClient {
    client: DevicePluginClient<Channel>,
}

impl PluginClient {
    /// Connects to a plugin's socket, and tries again until the time is up: a plugin may register before it
    /// listens.
    /// Fails in the words of grpc-go, which never says why: `context deadline exceeded`. The second text
    /// is what was in the way.
    pub async fn dial(socket: &Path, patience: Duration) -> Result<Self, (String, String)> {
        let end = Instant::now() + patience;
        let mut reason = "no HTTP/2 greeting came".to_owned();
        loop {
            match timeout_at(end, dial_once(socket.to_owned())).await {
                Ok(Ok(plugin)) => return Ok(plugin),
                Ok(Err(error)) => reason = error,
                Err(_) => return Err(("context deadline exceeded".to_owned(), reason)),
            }
            if Instant::now() + PAUSE >= end {
                return Err(("context deadline exceeded".to_owned(), reason));
            }
            sleep(PAUSE).await;
        }
    }

    /// Connects once: an inspection does not wait for a plugin. It waits for the greeting as
    /// long as it takes; the caller sets the time.
    /// Fails with what is in the way.
    pub async fn dial_now(socket: &Path) -> Result<Self, String> {
        dial_once(socket.to_owned()).await
    }

    /// Asks what it can do (`GetDevicePluginOptions`).
    /// Fails in the words of grpc-go.
    pub async fn options(&mut self) -> Result<PluginOptions, String> {
        let options = said(self.client.get_device_plugin_options(v1beta1::Empty {}).await)?;
        Ok(PluginOptions {
            pre_start_required: options.pre_start_required,
            get_preferred_allocation_available: options.get_preferred_allocation_available,
        })
    }

    /// Opens the stream of its lists (`ListAndWatch`). Only for a plugin without another client.
    /// Fails in the words of grpc-go.
    pub async fn list_and_watch(&mut self) -> Result<DeviceLists, String> {
        said(self.client.list_and_watch(v1beta1::Empty {}).await).map(DeviceLists)
    }

    /// Asks which devices it prefers (`GetPreferredAllocation`); `None` is an answer without a container.
    /// Fails in the words of grpc-go.
    pub async fn preferred_allocation(
        &mut self,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        let request = v1beta1::ContainerPreferredAllocationRequest {
            available_device_i_ds: available.iter().cloned().collect(),
            must_include_device_i_ds: must_include.iter().cloned().collect(),
            // As Go converts it: the upper bits are lost.
            allocation_size: size as i32,
        };
        let request = v1beta1::PreferredAllocationRequest { container_requests: vec![request] };
        let answer = said(self.client.get_preferred_allocation(request).await)?;
        Ok(answer.container_responses.into_iter().next().map(|first| first.device_i_ds))
    }

    /// Calls `Allocate` for the devices of a container.
    /// Fails in the words of grpc-go.
    pub async fn allocate(&mut self, devices: &DeviceSet) -> Result<Allocated, String> {
        let request =
            v1beta1::ContainerAllocateRequest { devices_ids: devices.iter().cloned().collect() };
        let request = v1beta1::AllocateRequest { container_requests: vec![request] };
        let answer = said(self.client.allocate(request).await)?;
        Ok(match answer.container_responses.into_iter().next() {
            Some(first) => Allocated::Answer(first.encode_to_vec()),
            None => Allocated::NoContainer,
        })
    }

    /// Lets it prepare devices for a container that is about to start (`PreStartContainer`).
    /// Fails in the words of grpc-go.
    pub async fn pre_start(&mut self, devices: &DeviceSet) -> Result<(), String> {
        let request =
            v1beta1::PreStartContainerRequest { devices_ids: devices.iter().cloned().collect() };
        said(self.client.pre_start_container(request).await).map(|_| ())
    }
}

/// The lists of a plugin, one at a time.
#[derive(Debug)]
pub struct DeviceLists(Streaming<v1beta1::ListAndWatchResponse>);

impl DeviceLists {
    /// Waits for the next list.
    /// Fails with how the stream ended, in the words of grpc-go: `EOF` when the plugin ended it.
    pub async fn next(&mut self) -> Result<Vec<Device>, String> {
        match self.0.message().await {
            Ok(Some(list)) => Ok(wire_devices(list)),
            Ok(None) => Err("EOF".to_owned()),
            Err(status) => Err(go_status(&status, MAX_PLUGIN_MESSAGE_BYTES).to_string()),
        }
    }
}

/// Returns the devices of a list.
pub fn wire_devices(list: v1beta1::ListAndWatchResponse) -> Vec<Device> {
    let nodes =
        |topology: v1beta1::TopologyInfo| topology.nodes.into_iter().map(|node| node.id).collect();
    let device = |device: v1beta1::Device| Device {
        id: device.id,
        health: device.health,
        numa_nodes: device.topology.map(nodes),
    };
    list.devices.into_iter().map(device).collect()
}

async fn dial_once(socket: PathBuf) -> Result<PluginClient, String> {
    let stream = connect_socket(&socket).await.map_err(|error| kq_io::input::plain(&error))?;
    let (tell, mut greeting) = watch::channel(Greeting::Awaited);
    let mut stream = Some(TokioIo::new(Greeted::new(stream, tell)));
    // One connection and no other: that of a plugin that went is not made again behind its back.
    let connector = tower::service_fn(move |_: Uri| {
        let stream = stream.take();
        async move { stream.ok_or_else(|| std::io::Error::other("the connection is gone")) }
    });
    let channel = Endpoint::from_static("http://localhost")
        .connect_with_connector(connector)
        .await
        .map_err(|error| crate::cri::reason::chain(&error))?;
    loop {
        let seen = *greeting.borrow_and_update();
        match seen {
            Greeting::Given => break,
            Greeting::Wrong => return Err("the listener does not speak HTTP/2".to_owned()),
            Greeting::Awaited => {}
        }
        if greeting.changed().await.is_err() && *greeting.borrow() == Greeting::Awaited {
            return Err("it closed the connection without an answer".to_owned());
        }
    }
    let client =
        DevicePluginClient::new(channel).max_decoding_message_size(MAX_PLUGIN_MESSAGE_BYTES);
    Ok(PluginClient { client })
}

fn said<T>(answer: Result<Response<T>, Status>) -> Result<T, String> {
    answer
        .map(Response::into_inner)
        .map_err(|status| go_status(&status, MAX_PLUGIN_MESSAGE_BYTES).to_string())
}

/// Length, type, flags, stream: what comes before what a frame holds.
const FRAME_HEADER: usize = 9;

/// The type of a frame with settings.
const SETTINGS: u8 = 4;

/// What is known of a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing was said yet.
    Awaited,
    /// The server speaks HTTP/2.
    Given,
    /// It speaks something else.
    Wrong,
}

/// A connection that reports the server's greeting.
#[derive(Debug)]
pub struct Greeted {
    stream: UnixStream,
    header: Vec<u8>,
    tell: watch::Sender<Greeting>,
}

impl Greeted {
    /// Watches a connection.
    pub fn new(stream: UnixStream, tell: watch::Sender<Greeting>) -> Self {
        Self { stream, header: Vec::with_capacity(FRAME_HEADER), tell }
    }

    fn look(&mut self, read: &[u8]) {
        let wanted = FRAME_HEADER - self.header.len();
        if wanted == 0 || read.is_empty() {
            return;
        }
        self.header.extend(read.iter().take(wanted));
        if self.header.len() == FRAME_HEADER {
            let is_settings = self.header[3] == SETTINGS;
            let greeting = if is_settings { Greeting::Given } else { Greeting::Wrong };
            self.tell.send_replace(greeting);
        }
    }
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.look(&buffer.filled()[before..]);
        }
        polled
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            // One that hung up may have said something before: reading comes to that, and to the end.
            Poll::Ready(Err(_)) if self.header.len() < FRAME_HEADER => Poll::Ready(Ok(bytes.len())),
            polled => polled,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

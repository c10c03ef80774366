//! A device plugin: real gRPC on a real socket, devices on two NUMA nodes, health that flips, a preference,
//! and a PreStartContainer. It registers, dies and comes back on request.

use super::background::Background;
use hyper_util::rt::TokioIo;
use kq_linux::device_plugin::v1beta1::device_plugin_server::{DevicePlugin, DevicePluginServer};
use kq_linux::device_plugin::v1beta1::registration_client::RegistrationClient;
use kq_linux::device_plugin::v1beta1::{
    AllocateRequest, AllocateResponse, CdiDevice, ContainerAllocateResponse,
    ContainerPreferredAllocationResponse, Device, DevicePluginOptions, DeviceSpec, Empty,
    ListAndWatchResponse, Mount, NumaNode, PreStartContainerRequest, PreStartContainerResponse,
    PreferredAllocationRequest, PreferredAllocationResponse, RegisterRequest, TopologyInfo,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tonic::codegen::BoxStream;
use tonic::transport::{Endpoint, Uri};
use tonic::{Request, Response, Status, async_trait};

/// Returns a device.
pub fn device(id: &str, health: &str, node: Option<i64>) -> Device {
    let topology = node.map(|id| TopologyInfo { nodes: vec![NumaNode { id }] });
    Device { id: id.to_owned(), health: health.to_owned(), topology }
}

/// How it behaves.
#[derive(Clone, Default)]
pub struct Behaviour {
    pub options: DevicePluginOptions,
    /// GetDevicePluginOptions is never answered.
    pub hangs: bool,
    /// It never answers GetPreferredAllocation.
    pub hangs_preferred: bool,
    /// It never answers Allocate.
    pub hangs_allocate: bool,
    /// What Allocate is refused with.
    pub refuses: Option<String>,
    /// What PreStartContainer is refused with.
    pub pre_start_fails: Option<String>,
    /// Lists are sent without a pause, each with other health.
    pub floods: bool,
    /// Devices that it prefers over all others, whatever the request.
    pub prefers: Vec<String>,
    /// GetPreferredAllocation and Allocate are answered for a second container, which is not the first one's.
    pub answers_twice: bool,
}

/// A plugin that serves.
pub struct Plugin {
    pub socket: PathBuf,
    server: Option<Background>,
    devices: watch::Sender<Vec<Device>>,
    /// The calls that name devices, as they came.
    pub calls: Arc<Mutex<Vec<String>>>,
}

impl Plugin {
    /// Serves devices at a socket in a folder.
    pub fn start(folder: &Path, name: &str, devices: Vec<Device>, behaviour: Behaviour) -> Self {
        let socket = folder.join(name);
        let (sender, receiver) = watch::channel(devices);
        let calls = Arc::new(Mutex::new(Vec::new()));
        let served = Served { behaviour, devices: receiver, calls: calls.clone() };
        let server = Some(Background::serve(&socket, DevicePluginServer::new(served)));
        Self { socket, server, devices: sender, calls }
    }

    /// Registers with the kubelet, or what stands in for it, in the same folder.
    pub fn register(&self, resource: &str) -> Result<(), Status> {
        let folder = self.socket.parent().expect("it is in a folder");
        let endpoint = self.socket.file_name().expect("it has a name").to_string_lossy();
        let request = RegisterRequest {
            version: "v1beta1".to_owned(),
            endpoint: endpoint.into_owned(),
            resource_name: resource.to_owned(),
            options: None,
        };
        register(folder, request)
    }

    /// Lists other devices.
    pub fn list(&self, devices: Vec<Device>) {
        self.devices.send_replace(devices);
    }

    /// Dies as a process does: its connections break.
    pub fn die(&mut self) {
        drop(self.server.take());
        std::fs::remove_file(&self.socket).expect("its socket is there");
    }
}

/// Registers whatever it is.
pub fn register(folder: &Path, request: RegisterRequest) -> Result<(), Status> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut client = registration(folder.to_owned()).await;
        client.register(request).await.map(|_| ())
    })
}

/// Connects to the Registration service of a folder.
pub async fn registration(folder: PathBuf) -> RegistrationClient<tonic::transport::Channel> {
    let connector = tower::service_fn(move |_: Uri| {
        let path = folder.join("kubelet.sock");
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    let channel = endpoint.connect_with_connector(connector).await;
    RegistrationClient::new(channel.expect("the registration is served"))
        .max_encoding_message_size(usize::MAX)
}

struct Served {
    behaviour: Behaviour,
    devices: watch::Receiver<Vec<Device>>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Served {
    fn note(&self, call: String) {
        self.calls.lock().expect("no test panics with it").push(call);
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[async_trait]
impl DevicePlugin for Served {
    async fn get_device_plugin_options(&self, _: Request<Empty>) -> Answer<DevicePluginOptions> {
        if self.behaviour.hangs {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(self.behaviour.options))
    }

    async fn list_and_watch(&self, _: Request<Empty>) -> Answer<BoxStream<ListAndWatchResponse>> {
        self.note("ListAndWatch".to_owned());
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let (mut devices, floods) = (self.devices.clone(), self.behaviour.floods);
        tokio::spawn(async move {
            loop {
                let mut list = devices.borrow_and_update().clone();
                if floods {
                    for round in 0_u64.. {
                        let health = if round % 2 == 0 { "Healthy" } else { "Unhealthy" };
                        list.iter_mut().for_each(|device| device.health = health.to_owned());
                        let list = ListAndWatchResponse { devices: list.clone() };
                        if sender.send(Ok(list)).await.is_err() {
                            return;
                        }
                    }
                }
                let is_over =
                    sender.send(Ok(ListAndWatchResponse { devices: list })).await.is_err();
                if is_over || devices.changed().await.is_err() {
                    return;
                }
            }
        });
        let stream = tokio_stream(receiver);
        Ok(Response::new(stream))
    }

    /// Prefers the last ones: no accidental choice.
    async fn get_preferred_allocation(
        &self,
        request: Request<PreferredAllocationRequest>,
    ) -> Answer<PreferredAllocationResponse> {
        let request = request.into_inner().container_requests.remove(0);
        let size = usize::try_from(request.allocation_size).expect("a size");
        self.note(format!("GetPreferredAllocation {size}"));
        if self.behaviour.hangs_preferred {
            std::future::pending::<()>().await;
        }
        let mut chosen = self.behaviour.prefers.clone();
        chosen.extend(request.must_include_device_i_ds.clone());
        let mut rest = request.available_device_i_ds;
        rest.sort();
        let rest =
            rest.into_iter().rev().filter(|id| !request.must_include_device_i_ds.contains(id));
        chosen.extend(rest);
        chosen.truncate(size);
        let mut answers = vec![ContainerPreferredAllocationResponse { device_i_ds: chosen }];
        if self.behaviour.answers_twice {
            answers.push(ContainerPreferredAllocationResponse { device_i_ds: Vec::new() });
        }
        Ok(Response::new(PreferredAllocationResponse { container_responses: answers }))
    }

    async fn allocate(&self, request: Request<AllocateRequest>) -> Answer<AllocateResponse> {
        let mut ids = request.into_inner().container_requests.remove(0).devices_ids;
        ids.sort();
        self.note(format!("Allocate {}", ids.join(" ")));
        if let Some(reason) = &self.behaviour.refuses {
            return Err(Status::unknown(reason));
        }
        if self.behaviour.hangs_allocate {
            std::future::pending::<()>().await;
        }
        let node = |id: &String| DeviceSpec {
            container_path: format!("/dev/{id}"),
            host_path: format!("/dev/sample/{id}"),
            permissions: "rw".to_owned(),
        };
        let answer = ContainerAllocateResponse {
            envs: [("SAMPLE_DEVICES".to_owned(), ids.join(","))].into(),
            mounts: vec![Mount {
                container_path: "/opt/sample".to_owned(),
                host_path: "/usr/lib/sample".to_owned(),
                read_only: true,
            }],
            devices: ids.iter().map(node).collect(),
            annotations: [("sample/ids".to_owned(), ids.join(" "))].into(),
            cdi_devices: ids
                .iter()
                .map(|id| CdiDevice { name: format!("sample.org/device={id}") })
                .collect(),
        };
        let mut answers = vec![answer];
        if self.behaviour.answers_twice {
            let envs = [("SAMPLE_DEVICES".to_owned(), "others".to_owned())].into();
            answers.push(ContainerAllocateResponse { envs, ..Default::default() });
        }
        Ok(Response::new(AllocateResponse { container_responses: answers }))
    }

    async fn pre_start_container(
        &self,
        request: Request<PreStartContainerRequest>,
    ) -> Answer<PreStartContainerResponse> {
        let mut ids = request.into_inner().devices_ids;
        ids.sort();
        self.note(format!("PreStartContainer {}", ids.join(" ")));
        match &self.behaviour.pre_start_fails {
            Some(reason) => Err(Status::unknown(reason)),
            None => Ok(Response::new(PreStartContainerResponse {})),
        }
    }
}

/// Makes a stream of what comes over a channel.
fn tokio_stream<T: Send + 'static>(
    receiver: tokio::sync::mpsc::Receiver<Result<T, Status>>,
) -> BoxStream<T> {
    Box::pin(tonic::codegen::tokio_stream::wrappers::ReceiverStream::new(receiver))
}

//! The kubelet's pod-resources API, from a server on a socket.

use super::background::Background;
use crate::services::pod_resources::pod_resources_lister_server::{
    PodResourcesLister, PodResourcesListerServer,
};
use kq_io::trust::NamedBy;
use kq_linux::pod_resources::read_pod_resources;
use kq_linux::pod_resources::v1::{
    AllocatableResourcesRequest, AllocatableResourcesResponse, ContainerDevices, ContainerMemory,
    ContainerResources, ListPodResourcesRequest, ListPodResourcesResponse, NumaNode, PodResources,
    TopologyInfo,
};
use std::path::Path;
use std::time::{Duration, Instant};
use tonic::{Request, Response, Status, async_trait};

#[derive(Clone, Default)]
struct Kubelet {
    pods: Vec<PodResources>,
    allocatable: Option<AllocatableResourcesResponse>,
    hangs: bool,
}

#[async_trait]
impl PodResourcesLister for Kubelet {
    async fn list(
        &self,
        _: Request<ListPodResourcesRequest>,
    ) -> Result<Response<ListPodResourcesResponse>, Status> {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(ListPodResourcesResponse { pod_resources: self.pods.clone() }))
    }

    async fn get_allocatable_resources(
        &self,
        _: Request<AllocatableResourcesRequest>,
    ) -> Result<Response<AllocatableResourcesResponse>, Status> {
        let refuse = || Status::unknown("Pods API GetAllocatableResources disabled");
        self.allocatable.clone().map(Response::new).ok_or_else(refuse)
    }
}

fn serve(socket: &Path, kubelet: Kubelet) -> Background {
    Background::serve(socket, PodResourcesListerServer::new(kubelet))
}

fn devices(id: &str, nodes: Option<&[i64]>) -> ContainerDevices {
    let nodes = nodes.map(|nodes| nodes.iter().map(|id| NumaNode { id: *id }).collect());
    ContainerDevices {
        resource_name: "example.com/gpu".to_owned(),
        device_ids: vec![id.to_owned()],
        topology: nodes.map(|nodes| TopologyInfo { nodes }),
    }
}

const TIME: Duration = Duration::from_secs(20);

#[test]
fn what_the_kubelet_tells_is_understood() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let container = ContainerResources {
        name: "app".to_owned(),
        devices: vec![devices("a", Some(&[0, 1])), devices("b", None), devices("c", Some(&[]))],
        cpu_ids: vec![2, 3],
        memory: vec![ContainerMemory {
            memory_type: "memory".to_owned(),
            size: 1 << 40,
            topology: Some(TopologyInfo { nodes: vec![NumaNode { id: 0 }] }),
        }],
    };
    let pod = PodResources {
        name: "web".to_owned(),
        namespace: "shop".to_owned(),
        containers: vec![container],
    };
    let allocatable = AllocatableResourcesResponse {
        devices: vec![devices("a", Some(&[0]))],
        cpu_ids: vec![0, 1, 2, 3],
        memory: Vec::new(),
    };
    let kubelet = Kubelet { pods: vec![pod], allocatable: Some(allocatable), ..Kubelet::default() };
    let _server = serve(&root.path().join("kubelet.sock"), kubelet);
    let told = read_pod_resources(root.path(), "/kubelet.sock", NamedBy::Node, TIME);
    let value = told.value().expect("it answers");
    let container = &value.pods[0].containers[0];
    assert_eq!((value.pods[0].namespace.as_str(), container.name.as_str()), ("shop", "app"));
    let nodes: Vec<_> = container.devices.iter().map(|it| it.numa_nodes.clone()).collect();
    assert_eq!(nodes, [Some(vec![0, 1]), None, Some(vec![])]);
    assert_eq!((container.cpu_ids.as_slice(), container.memory[0].size), (&[2, 3][..], 1 << 40));
    let allocatable = value.allocatable.value().expect("it is told");
    assert_eq!((allocatable.devices.len(), allocatable.cpu_ids.len()), (1, 4));
}

#[test]
fn a_list_of_many_megabytes_and_a_call_that_is_refused() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let many = (0..120_000).map(|number| devices(&format!("device-{number:040}"), Some(&[0])));
    let container = ContainerResources { devices: many.collect(), ..Default::default() };
    let pod = PodResources { containers: vec![container], ..Default::default() };
    let kubelet = Kubelet { pods: vec![pod], ..Kubelet::default() };
    let _server = serve(&root.path().join("kubelet.sock"), kubelet);
    let told = read_pod_resources(root.path(), "/kubelet.sock", NamedBy::Node, TIME);
    let value = told.value().expect("more than the 4 MiB that tonic takes by itself");
    assert_eq!(value.pods[0].containers[0].devices.len(), 120_000);
    let reason = value.allocatable.reason();
    assert!(reason.contains("GetAllocatableResources disabled"), "{reason}");
}

#[test]
fn what_is_in_the_way_is_told_in_time() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    std::fs::write(root.path().join("file.sock"), "").expect("a file can be written");
    drop(std::os::unix::net::UnixListener::bind(root.path().join("dead.sock")).expect("a socket"));
    let hangs = Kubelet { hangs: true, ..Kubelet::default() };
    let _server = serve(&root.path().join("hangs.sock"), hangs);
    for (socket, expected) in [
        ("/none.sock", "no such file"),
        ("/file.sock", "connection refused"),
        ("/dead.sock", "connection refused"),
        ("/hangs.sock", "List: no answer within"),
    ] {
        let began = Instant::now();
        let told =
            read_pod_resources(root.path(), socket, NamedBy::Node, Duration::from_millis(300));
        assert!(told.value().is_none(), "{socket}");
        assert!(told.reason().contains(expected), "{socket}: {}", told.reason());
        assert!(began.elapsed() < TIME, "{socket}");
    }
}

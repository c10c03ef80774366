//! Reads all answers of the pod-resources API.

use super::v1;
use crate::cri::MAX_MESSAGE_BYTES;
use crate::cri::connect::{SocketPlace, dial_checked};
use crate::cri::read::{Answer, Time};
use crate::cri::reason::chain;
use kq_facts::lookup::Lookup;
use kq_facts::pod_resources::{
    AllocatableResources, ContainerDevices, ContainerMemory, PodResources, PodResourcesContainer,
    PodResourcesPod,
};
use kq_io::trust::NamedBy;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Builder;
use v1::pod_resources_lister_client::PodResourcesListerClient;

/// Asks the kubelet at a socket beneath the node's root which pods have what, and what there is.
///
/// Two calls, once each: the kubelet serves no more than 100 a second to all its callers together. A
/// kubelet that does not answer the second one is still reported, with the reason. It blocks, and ends at
/// the deadline.
pub fn read_pod_resources(
    host_root: &Path,
    socket: &str,
    named_by: NamedBy,
    deadline: Duration,
) -> Lookup<PodResources> {
    let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return Lookup::failed(socket, chain(&error)),
    };
    match runtime.block_on(ask(host_root, socket, named_by, Time::within(deadline))) {
        Ok(answer) => Lookup::found(socket, answer),
        Err(reason) => Lookup::failed(socket, reason),
    }
}

async fn ask(
    host_root: &Path,
    socket: &str,
    named_by: NamedBy,
    time: Time,
) -> Answer<PodResources> {
    let socket_place = SocketPlace::find(host_root, Path::new(socket), named_by)?;
    let channel = time.limit(dial_checked(socket_place)).await??.channel;
    let mut client =
        PodResourcesListerClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let list = time
        .call(client.list(v1::ListPodResourcesRequest {}))
        .await
        .map_err(|reason| format!("List: {reason}"))?;
    let allocatable =
        time.call(client.get_allocatable_resources(v1::AllocatableResourcesRequest {})).await;
    let source = format!("{socket} GetAllocatableResources");
    Ok(PodResources {
        pods: list.pod_resources.into_iter().map(pod).collect(),
        allocatable: match allocatable {
            Ok(answer) => Lookup::found(
                source,
                AllocatableResources {
                    devices: devices(answer.devices),
                    cpu_ids: answer.cpu_ids,
                    memory: memory(answer.memory),
                },
            ),
            Err(reason) => Lookup::failed(source, reason),
        },
    })
}

fn pod(pod: v1::PodResources) -> PodResourcesPod {
    PodResourcesPod {
        name: pod.name,
        namespace: pod.namespace,
        containers: pod
            .containers
            .into_iter()
            .map(|container| PodResourcesContainer {
                name: container.name,
                devices: devices(container.devices),
                cpu_ids: container.cpu_ids,
                memory: memory(container.memory),
            })
            .collect(),
    }
}

fn devices(devices: Vec<v1::ContainerDevices>) -> Vec<ContainerDevices> {
    let of_one = |devices: v1::ContainerDevices| ContainerDevices {
        resource_name: devices.resource_name,
        device_ids: devices.device_ids,
        numa_nodes: nodes(devices.topology),
    };
    devices.into_iter().map(of_one).collect()
}

fn memory(memory: Vec<v1::ContainerMemory>) -> Vec<ContainerMemory> {
    let of_one = |memory: v1::ContainerMemory| ContainerMemory {
        memory_type: memory.memory_type,
        size: memory.size,
        numa_nodes: nodes(memory.topology),
    };
    memory.into_iter().map(of_one).collect()
}

fn nodes(topology: Option<v1::TopologyInfo>) -> Option<Vec<i64>> {
    topology.map(|topology| topology.nodes.into_iter().map(|node| node.id).collect())
}

//! Ports of the node.
//!
//! Mirrors `Fits` of `pkg/scheduler/framework/plugins/nodeports` and `HostPortInfo` of
//! `staging/src/k8s.io/kube-scheduler/framework`, read in 1.36.2.

use super::occupancy::Occupancy;
use crate::k8s::pod::{ContainerPort, Pod};

/// A port that a container takes of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort<'p> {
    /// The number.
    pub port: i32,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: &'p str,
    /// The address; `0.0.0.0` for all.
    pub address: &'p str,
}

const EVERY_ADDRESS: &str = "0.0.0.0";

/// Returns the ports that a pod takes: those of its containers and sidecars.
pub fn host_ports(pod: &Pod) -> impl Iterator<Item = HostPort<'_>> {
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.restarts_always());
    let ports = pod.spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    ports.filter(|port| port.host_port > 0).map(|port: &ContainerPort| HostPort {
        port: port.host_port,
        protocol: if port.protocol.is_empty() { "TCP" } else { &port.protocol },
        address: if port.host_ip.is_empty() { EVERY_ADDRESS } else { &port.host_ip },
    })
}

/// Returns the first port that a pod wants and another pod has: of one number and protocol, on one address,
/// or where either has all addresses.
pub fn first_conflict<'p>(pod: &'p Pod, others: &Occupancy<'p>) -> Option<(HostPort<'p>, &'p Pod)> {
    let taken = others.ports();
    host_ports(pod).find_map(|want| {
        let on = |address| taken.get(&HostPort { address, ..want });
        let anywhere = || {
            let mut from = taken.range(HostPort { address: "", ..want }..);
            let (port, other) = from.next()?;
            ((port.port, port.protocol) == (want.port, want.protocol)).then_some(other)
        };
        let other = match want.address {
            EVERY_ADDRESS => anywhere(),
            address => on(address).or_else(|| on(EVERY_ADDRESS)),
        };
        Some((want, *other?.last()?))
    })
}

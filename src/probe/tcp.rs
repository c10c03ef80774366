//! TCP probes: the address (`pkg/probe/tcp/tcp.go`, `runProbe` of `pkg/kubelet/prober/prober.go`).

use super::{PortError, join_host_port, resolve_port};
use crate::k8s::pod::{ContainerPort, TcpSocketAction};

/// The address of a TCP probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpTarget {
    /// The address as Go's dialer gets it.
    pub address: String,
}

/// Returns the address of a probe; the node itself, if neither the probe nor the pod has one.
///
/// # Errors
///
/// Fails as the kubelet does; such a probe never counts.
pub fn tcp_target(
    action: &TcpSocketAction,
    ports: &[ContainerPort],
    pod_ip: &str,
) -> Result<TcpTarget, PortError> {
    let port = resolve_port(&action.port, ports)?;
    let host = if action.host.is_empty() { pod_ip } else { &action.host };
    Ok(TcpTarget { address: join_host_port(host, &port.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::pod::IntOrString;

    #[test]
    fn targets_have_the_host_of_the_probe_or_of_the_pod() {
        for (host, pod_ip, expected) in [
            ("", "10.0.0.1", "10.0.0.1:80"),
            ("", "fd00::1", "[fd00::1]:80"),
            ("", "", ":80"),
            ("example.org", "10.0.0.1", "example.org:80"),
            ("::1", "10.0.0.1", "[::1]:80"),
            ("[::1]", "10.0.0.1", "[[::1]]:80"),
            ("a:1", "10.0.0.1", "[a:1]:80"),
        ] {
            let action = TcpSocketAction { port: IntOrString::Int(80), host: host.to_owned() };
            let target = tcp_target(&action, &[], pod_ip).expect("a good port");
            assert_eq!(target.address, expected, "{host:?} of {pod_ip:?}");
        }
        assert_eq!(
            tcp_target(&TcpSocketAction::default(), &[], "").map_err(|error| error.to_string()),
            Err("invalid port number: 0".to_owned())
        );
    }
}

//! The request of a gRPC probe.

use super::CHECK_PATH;
use crate::join_host_port;
use kq_k8s::pod::GrpcAction;
use std::fmt::Write as _;
use std::time::Duration;

/// The address and the service of a gRPC probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcTarget {
    /// The address as Go's dialer gets it.
    pub address: String,
    /// The name of the service; may be empty.
    pub service: String,
}

/// Returns the target of a probe: always the pod, whatever the port.
pub fn grpc_target(action: &GrpcAction, pod_ip: &str) -> GrpcTarget {
    GrpcTarget {
        address: join_host_port(pod_ip, &action.port.to_string()),
        service: action.service.clone().unwrap_or_default(),
    }
}

impl GrpcTarget {
    /// Returns the `:authority` of the request (`initAuthority` and `encodeAuthority` of `clientconn.go`).
    pub fn authority(&self) -> String {
        let mut authority = String::new();
        if self.address.starts_with(':') {
            authority.push_str("localhost");
        }
        for byte in self.address.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=@[]:".contains(&byte) {
                authority.push(char::from(byte));
            } else {
                let _ = write!(authority, "%{byte:02X}");
            }
        }
        authority
    }
}

/// Returns the headers of the request in the order in which grpc-go sends them (`createHeaderFields` of
/// `internal/transport/http2_client.go`), without the time that is left.
///
/// The kubelet can read gzip, as it links OpenTelemetry's exporter, which registers it.
pub fn request_fields(target: &GrpcTarget, user_agent: &str) -> Vec<(&'static str, String)> {
    vec![
        (":method", "POST".to_owned()),
        (":scheme", "http".to_owned()),
        (":path", CHECK_PATH.to_owned()),
        (":authority", target.authority()),
        ("content-type", "application/grpc".to_owned()),
        ("user-agent", user_agent.to_owned()),
        ("te", "trailers".to_owned()),
        ("grpc-accept-encoding", "gzip".to_owned()),
    ]
}

/// Returns the `grpc-timeout`: at most eight digits, rounded up, in the smallest unit that has room
/// (`grpcutil.EncodeDuration`).
pub fn grpc_timeout(left: Duration) -> String {
    const MAX: u128 = 99_999_999;
    let left = left.as_nanos();
    let units = [
        ('n', 1_u128),
        ('u', 1_000),
        ('m', 1_000_000),
        ('S', 1_000_000_000),
        ('M', 60_000_000_000),
    ];
    for (unit, nanoseconds) in units {
        let count = left.div_ceil(nanoseconds);
        if count <= MAX {
            return format!("{count}{unit}");
        }
    }
    format!("{}H", left.div_ceil(3_600_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_pods() {
        for (pod_ip, address, authority) in [
            ("10.0.0.1", "10.0.0.1:80", "10.0.0.1:80"),
            ("fd00::1", "[fd00::1]:80", "[fd00::1]:80"),
            ("fe80::1%eth0", "[fe80::1%eth0]:80", "[fe80::1%25eth0]:80"),
            ("", ":80", "localhost:80"),
        ] {
            let target = grpc_target(&GrpcAction { port: 80, ..GrpcAction::default() }, pod_ip);
            assert_eq!(target.address, address);
            assert_eq!(target.authority(), authority);
        }
    }

    #[test]
    fn timeouts_have_eight_digits_at_most() {
        for (left, expected) in [
            (Duration::ZERO, "0n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_nanos(100_000_000), "100000u"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_secs(1), "1000000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_secs(99_999_999), "99999999S"),
            (Duration::from_secs(100_000_000), "1666667M"),
            (Duration::MAX, "5124095576030432H"),
        ] {
            assert_eq!(grpc_timeout(left), expected);
        }
    }
}

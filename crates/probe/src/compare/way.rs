//! The ways to try a probe, and how each of them changes it.

use kq_k8s::pod::{HttpGetAction, HttpHeader, IntOrString, Probe};
use serde::Serialize;
use std::fmt;

/// The User-Agent of curl.
const CURL: &str = "curl/8.14.1";

/// The shortest extended timeout, in seconds.
const MORE_SECONDS: i32 = 10;

/// A way to try a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// As the kubelet does.
    Kubelet,
    /// As curl does by default: its own User-Agent, none of the probe's headers, no redirects, more time.
    Curl,
    /// As the kubelet does, but with curl's User-Agent.
    CurlUserAgent,
    /// As the kubelet does, but without the probe's own headers.
    WithoutHeaders,
    /// As the kubelet does, with more time.
    Patient,
    /// As the kubelet does, from inside the pod's network.
    InPod,
    /// From inside the pod's network, to 127.0.0.1.
    InPodLoopback,
    /// From the node to its own 127.0.0.1, not the pod's.
    NodeLoopback,
    /// Through TLS, although the probe does not use it.
    Tls,
}

impl Way {
    /// The address of the ways to a loopback.
    pub const LOOPBACK: &str = "127.0.0.1";

    /// Returns true if the way leads to 127.0.0.1, whatever host the probe names.
    pub fn is_to_loopback(self) -> bool {
        matches!(self, Self::InPodLoopback | Self::NodeLoopback)
    }

    /// Returns true if the way starts in the pod's network.
    pub fn is_in_pod(self) -> bool {
        matches!(self, Self::InPod | Self::InPodLoopback)
    }

    /// Changes a probe to the one that is sent this way.
    pub fn change(self, probe: &mut Probe) {
        match self {
            Self::Kubelet | Self::InPod => {}
            Self::InPodLoopback | Self::NodeLoopback => {
                let hosts = [
                    probe.http_get.as_mut().map(|get| &mut get.host),
                    probe.tcp_socket.as_mut().map(|socket| &mut socket.host),
                ];
                hosts.into_iter().flatten().for_each(|host| Self::LOOPBACK.clone_into(host));
            }
            Self::Patient => more_time(probe),
            Self::Curl => {
                if let Some(get) = &mut probe.http_get {
                    get.http_headers = vec![user_agent()];
                }
                more_time(probe);
            }
            Self::CurlUserAgent => {
                if let Some(get) = &mut probe.http_get {
                    get.http_headers.retain(|it| !it.name.eq_ignore_ascii_case("user-agent"));
                    get.http_headers.push(user_agent());
                }
            }
            Self::WithoutHeaders => {
                if let Some(get) = &mut probe.http_get {
                    get.http_headers.clear();
                }
            }
            // A gRPC server answers HTTPS requests, too.
            Self::Tls => {
                if let Some(grpc) = probe.grpc.take() {
                    let port = IntOrString::Int(grpc.port);
                    probe.http_get = Some(HttpGetAction { port, ..HttpGetAction::default() });
                }
                if let Some(get) = &mut probe.http_get {
                    get.scheme = "HTTPS".to_owned();
                }
            }
        }
    }
}

fn user_agent() -> HttpHeader {
    let (name, value) = ("User-Agent".to_owned(), CURL.to_owned());
    HttpHeader { name, value, value_withheld: false }
}

fn more_time(probe: &mut Probe) {
    if probe.timeout_seconds > 0 {
        probe.timeout_seconds = probe.timeout_seconds.saturating_mul(3).max(MORE_SECONDS);
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubelet => "kubelet",
            Self::Curl => "curl",
            Self::CurlUserAgent => "curl's User-Agent",
            Self::WithoutHeaders => "without httpHeaders",
            Self::Patient => "more time",
            Self::InPod => "in the pod",
            Self::InPodLoopback => "in the pod, 127.0.0.1",
            Self::NodeLoopback => "node, 127.0.0.1",
            Self::Tls => "with TLS",
        })
    }
}

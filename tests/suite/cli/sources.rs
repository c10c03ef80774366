//! The sources of a made-up node that speak: its kubelet, its API server, its runtime.

use super::made_up_node::{self as made_up, Node};
#[cfg(feature = "apiserver")]
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Server, Wire, answer, json};
use serde_json::Value;

/// An API over HTTP.
pub struct Api {
    server: Server,
    /// Has signed for the server, where it has TLS.
    #[cfg(feature = "apiserver")]
    authority: Option<Authority>,
}

impl Api {
    /// Starts the kubelet of a node.
    pub fn of_kubelet(node: &Node) -> Self {
        Self::kubelet_saying(&made_up::configz(node.driver()), &made_up::pods())
    }

    /// Starts a kubelet.
    pub fn kubelet_saying(configz: &Value, pods: &Value) -> Self {
        let (configz, pods) = (json(&configz.to_string()), json(&pods.to_string()));
        let server = Server::start(Wire::Plain, move |_, seen, to| {
            let said = match seen.line.split(' ').nth(1) {
                Some("/configz") => configz.clone(),
                Some("/pods") => pods.clone(),
                _ => answer("404 Not Found", &[], ""),
            };
            to.write_all(said.as_bytes())
        });
        Self {
            server,
            #[cfg(feature = "apiserver")]
            authority: None,
        }
    }

    /// Starts the API server of a node.
    #[cfg(feature = "apiserver")]
    pub fn of_server() -> Self {
        Self::server_saying(&made_up::node_object(), &made_up::pods())
    }

    /// Starts an API server.
    #[cfg(feature = "apiserver")]
    pub fn server_saying(node: &Value, pods: &Value) -> Self {
        let (node, pods) = (json(&node.to_string()), json(&pods.to_string()));
        Self::server(move |path| match path {
            path if path.starts_with("/api/v1/nodes/") => node.clone(),
            path if path.starts_with("/api/v1/pods") => pods.clone(),
            _ => answer("404 Not Found", &[], ""),
        })
    }

    /// Starts an API server that answers as a function says.
    #[cfg(feature = "apiserver")]
    pub fn server(said: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        let server = Server::start(wire, move |_, seen, to| {
            let path = seen.line.split(' ').nth(1).unwrap_or_default();
            to.write_all(said(path).as_bytes())
        });
        Self { server, authority: Some(authority) }
    }

    /// Returns the flags for querying a kubelet.
    pub fn flags(&self) -> String {
        format!("--kubelet-url {}", self.server.url("http"))
    }

    /// Writes the kubeconfig of a user with a token, and returns the flags with which it is used.
    #[cfg(feature = "apiserver")]
    pub fn kubeconfig_flags(&self, node: &Node) -> String {
        let authority = self.authority.as_ref().map(|authority| authority.file());
        let authority = authority.expect("the API server has TLS").display().to_string();
        kubeconfig_flags(node, &self.server.url("https"), &authority)
    }
}

/// Writes a kubeconfig and returns the flags with which it is used.
#[cfg(feature = "apiserver")]
pub fn kubeconfig_flags(node: &Node, url: &str, authority: &str) -> String {
    kubeconfig_in(node.beside(), url, authority)
}

/// The same, in a folder.
#[cfg(feature = "apiserver")]
pub fn kubeconfig_in(folder: &std::path::Path, url: &str, authority: &str) -> String {
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": authority}}],
        "users": [{"name": "u", "user": {"token": "hunter2-token"}}],
    });
    let file = folder.join("kubeconfig");
    std::fs::write(&file, config.to_string()).expect("a file can be written");
    format!("--kubeconfig {}", file.display())
}

/// Where a made-up runtime listens.
#[cfg(feature = "cri")]
pub const SOCKET: &str = "/run/containerd/containerd.sock";

/// Runtimes of made-up nodes.
#[cfg(feature = "cri")]
pub struct Sources;

#[cfg(feature = "cri")]
impl Sources {
    /// Starts the runtime of a node on its usual socket.
    pub fn runtime(node: &Node) -> crate::edges::cri::fake::Server {
        Self::secretive_runtime(node, "nothing")
    }

    /// Starts a runtime whose labels and annotations hold something.
    pub fn secretive_runtime(node: &Node, secret: &str) -> crate::edges::cri::fake::Server {
        use crate::edges::cri::fake::{Answers, Server};
        use kq_linux::cri::v1;
        use made_up::{PROXY, PROXY_APP, WEB, WEB_APP, WEB_SANDBOX};
        let driver = match node.driver() {
            "systemd" => v1::CgroupDriver::Systemd,
            _ => v1::CgroupDriver::Cgroupfs,
        };
        let labels = |uid: &str| -> std::collections::BTreeMap<String, String> {
            [("io.kubernetes.pod.uid", uid), ("password", secret)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        };
        let sandbox = |id: &str, namespace: &str, name: &str, uid: &str| v1::PodSandbox {
            id: id.to_owned(),
            metadata: Some(v1::PodSandboxMetadata {
                name: name.to_owned(),
                uid: uid.to_owned(),
                namespace: namespace.to_owned(),
                attempt: 0,
            }),
            state: v1::PodSandboxState::SandboxReady as i32,
            created_at: 1_780_000_000_000_000_000,
            ..v1::PodSandbox::default()
        };
        let container = |id: &str, sandbox: &str, name: &str, uid: &str| v1::Container {
            id: id.to_owned(),
            pod_sandbox_id: sandbox.to_owned(),
            metadata: Some(v1::ContainerMetadata { name: name.to_owned(), attempt: 0 }),
            state: v1::ContainerState::ContainerRunning as i32,
            created_at: 1_780_000_001_000_000_000,
            labels: labels(uid),
            ..v1::Container::default()
        };
        let answers = Answers {
            runtime_config: Some(v1::RuntimeConfigResponse {
                linux: Some(v1::LinuxRuntimeConfiguration { cgroup_driver: driver as i32 }),
            }),
            status: Some(v1::StatusResponse {
                info: [("config".to_owned(), format!("{{\"password\":\"{secret}\"}}"))].into(),
                ..v1::StatusResponse::default()
            }),
            sandboxes: Some(v1::ListPodSandboxResponse {
                items: vec![
                    sandbox(WEB_SANDBOX, "shop", "web", WEB),
                    sandbox("dddd", "kube-system", "proxy-worker-1", PROXY),
                ],
            }),
            containers: Some(v1::ListContainersResponse {
                containers: vec![
                    container(WEB_APP, WEB_SANDBOX, "app", WEB),
                    container(PROXY_APP, "dddd", "proxy", PROXY),
                ],
            }),
            images: Some(v1::ListImagesResponse::default()),
            filesystems: Some(v1::ImageFsInfoResponse::default()),
            ..Answers::default()
        };
        Server::answering(&node.path(SOCKET), answers)
    }
}

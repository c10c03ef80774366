//! Probes that a sidecar injector rewrote: the proxy answers them, and asks the application itself.
//!
//! Istio turns each probe of an application into a request for `/app-health/CONTAINER/livez`, `readyz` or `startupz` at port
//! 15020, and stores what the probe was in the variable `ISTIO_KUBE_APP_PROBERS` of the proxy
//! (`pkg/kube/inject/app_probe.go` of Istio).

use kq_k8s::pod::{Container, Handler, INJECTED_PROBES, PROXY, PodSpec, Probe};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A probe that a proxy answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// The container that answers.
    pub proxy: String,
    /// What it asks of the application; null: not known.
    pub asks: Option<String>,
}

/// Returns who answers a probe in place of its container; `None`: the container does.
pub fn injected(spec: &PodSpec, container: &Container, probe: &Probe) -> Option<Injected> {
    let Handler::HttpGet(get) = probe.handler()? else { return None };
    let kind = get.path.strip_prefix("/app-health/")?.strip_prefix(&*container.name)?;
    if !matches!(kind, "/livez" | "/readyz" | "/startupz") {
        return None;
    }
    let proxy = proxy(spec)?;
    Some(Injected { proxy: proxy.name.clone(), asks: asked(proxy, &get.path) })
}

/// Returns true for the container that the injector adds: no probe of a user names its ports.
pub fn is_proxy(container: &Container) -> bool {
    container.name == PROXY
}

fn proxy(spec: &PodSpec) -> Option<&Container> {
    spec.containers_and_init().find(|it| is_proxy(it))
}

/// Returns the probe of the application, as the proxy's variable has it.
fn asked(proxy: &Container, path: &str) -> Option<String> {
    let variable = proxy.env.iter().find(|it| it.name == INJECTED_PROBES)?;
    let probers: Value = serde_json::from_str(&variable.value).ok()?;
    let prober = probers.get(path)?;
    let port = |action: &Value| match action.get("port") {
        Some(Value::String(name)) => name.clone(),
        Some(port) => port.to_string(),
        None => "0".to_owned(),
    };
    if let Some(get) = prober.get("httpGet") {
        let path = get.get("path").and_then(Value::as_str).unwrap_or("/");
        let scheme = get.get("scheme").and_then(Value::as_str).unwrap_or("HTTP");
        let secure = if scheme == "HTTPS" { " over TLS" } else { "" };
        return Some(format!("GET :{}{path}{secure}", port(get)));
    }
    if let Some(socket) = prober.get("tcpSocket") {
        return Some(format!("a connection to :{}", port(socket)));
    }
    let grpc = prober.get("grpc")?;
    Some(match grpc.get("service").and_then(Value::as_str).unwrap_or_default() {
        "" => format!("gRPC :{}", port(grpc)),
        service => format!("gRPC :{} of service {service}", port(grpc)),
    })
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { proxy, asks } = self;
        match asks {
            Some(asks) => write!(f, "{proxy} answers it, and asks the application: {asks}"),
            None => write!(
                f,
                "{proxy} answers it; what it asks of the application is in its variable {INJECTED_PROBES}"
            ),
        }
    }
}

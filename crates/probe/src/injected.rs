//! Probes that a sidecar injector rewrote: the proxy answers them, and asks the application itself.
//!
//! | injector | the rewritten probe | what it was |
//! |---|---|---|
//! | Istio (`pkg/kube/inject/app_probe.go`) | `/app-health/CONTAINER/livez`, `readyz` or `startupz`, port 15020 | variable `ISTIO_KUBE_APP_PROBERS` of the proxy |
//! | Kuma (`pkg/plugins/runtime/k8s/probes/probe_converter.go`) | `/PORT/PATH`, `/tcp/PORT` or `/grpc/PORT` | the path, and headers `x-kuma-probes-*` |
//! | Consul (`connect-inject/webhook/mesh_webhook.go`) | the same path, ports from 20300, 20400 and 20500 on | annotation of the pod |
//! | Open Service Mesh (`pkg/injector/health_probes.go`) | `/osm-liveness-probe` and others, ports 15901 to 15904 | the configuration of its Envoy |
//!
//! Linkerd and Dapr rewrite no probe.

use kq_k8s::pod::{
    Container, Handler, HttpGetAction, INJECTED_PROBES, IntOrString, PROXY, PodSpec, Probe,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

/// A probe that a proxy answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// The container that answers.
    pub proxy: String,
    /// What it asks of the application; null: not known, or nothing.
    pub asks: Option<String>,
    /// It knows no such probe, and answers with status 400.
    pub is_unknown: bool,
    /// Where the probe of the application is kept.
    #[serde(skip)]
    kept_in: &'static str,
}

/// An injector that rewrites probes.
struct Injector {
    /// The names of the container that it adds.
    proxies: &'static [&'static str],
    /// Where it keeps the probe of the application.
    kept_in: &'static str,
    /// Returns what the proxy asks of the application for a rewritten probe, `None` where it is not known; `None`: the
    /// probe is not rewritten.
    asks: fn(&Rewritten<'_>) -> Option<Option<String>>,
}

/// A probe that may be rewritten.
struct Rewritten<'p> {
    proxy: &'p Container,
    container: &'p Container,
    get: &'p HttpGetAction,
}

const INJECTORS: &[Injector] = &[
    Injector { proxies: &[PROXY], kept_in: "its variable ISTIO_KUBE_APP_PROBERS", asks: of_istio },
    Injector { proxies: &["kuma-sidecar"], kept_in: "the headers of the probe", asks: of_kuma },
    Injector {
        proxies: &["consul-dataplane", "envoy-sidecar"],
        kept_in: "the pod's annotation consul.hashicorp.com/original-pod",
        asks: of_consul,
    },
    Injector {
        proxies: &["osm-healthcheck", "envoy"],
        kept_in: "the configuration of its Envoy",
        asks: of_osm,
    },
];

/// Containers that injectors add, and that have probes of their own at ports that they do not declare.
const PROXIES: &[&str] = &[
    PROXY,
    "kuma-sidecar",
    "consul-dataplane",
    "envoy-sidecar",
    "osm-healthcheck",
    "linkerd-proxy",
    "daprd",
];

/// Returns who answers a probe in place of its container; `None`: the container does.
pub fn injected(spec: &PodSpec, container: &Container, probe: &Probe) -> Option<Injected> {
    let Handler::HttpGet(get) = probe.handler()? else { return None };
    INJECTORS.iter().find_map(|injector| {
        let proxies = spec.containers_and_init().filter(|it| injector.proxies.contains(&&*it.name));
        { proxies }.find_map(|proxy| {
            let asks = (injector.asks)(&Rewritten { proxy, container, get })?;
            let is_unknown =
                proxy.name == PROXY && probers(proxy).is_some_and(|it| it.get(&get.path).is_none());
            let proxy = proxy.name.clone();
            Some(Injected { proxy, asks, is_unknown, kept_in: injector.kept_in })
        })
    })
}

/// Returns true for a container that an injector adds: no probe of a user names its ports.
pub fn is_proxy(container: &Container) -> bool {
    PROXIES.contains(&&*container.name)
}

fn of_istio(probe: &Rewritten<'_>) -> Option<Option<String>> {
    let path = &probe.get.path;
    let kind = path.strip_prefix("/app-health/")?.strip_prefix(&*probe.container.name)?;
    matches!(kind, "/livez" | "/readyz" | "/startupz").then(|| asked(probe.proxy, path))
}

fn of_kuma(probe: &Rewritten<'_>) -> Option<Option<String>> {
    if probe.container.name == probe.proxy.name {
        return None;
    }
    let path = probe.get.path.strip_prefix('/')?;
    let number = |text: &str| {
        text.parse::<u16>().ok().filter(|port| probe.number() != Some(i32::from(*port)))
    };
    if let Some(port) = path.strip_prefix("tcp/").and_then(number) {
        return Some(Some(format!("a connection to :{port}")));
    }
    if let Some(port) = path.strip_prefix("grpc/").and_then(number) {
        return Some(match probe.header("x-kuma-probes-grpc-service") {
            Header::Absent => Some(format!("gRPC :{port}")),
            Header::Value(service) => Some(format!("gRPC :{port} of service {service}")),
            Header::Withheld => None,
        });
    }
    let (port, path) = path.split_once('/')?;
    let port = number(port)?;
    Some(match probe.header("x-kuma-probes-scheme") {
        Header::Absent => Some(format!("GET :{port}/{path}")),
        Header::Value(scheme) => {
            let secure = if scheme == "HTTPS" { " over TLS" } else { "" };
            Some(format!("GET :{port}/{path}{secure}"))
        }
        Header::Withheld => None,
    })
}

fn of_consul(probe: &Rewritten<'_>) -> Option<Option<String>> {
    const PORTS: std::ops::Range<i32> = 20300..20600;
    let is_own = probe.container.name == probe.proxy.name;
    (!is_own && PORTS.contains(&probe.number()?)).then_some(None)
}

fn of_osm(probe: &Rewritten<'_>) -> Option<Option<String>> {
    let get = probe.get;
    match (probe.number()?, &*probe.proxy.name) {
        (15901..=15903, "envoy") if get.path.starts_with("/osm-") || get.scheme == "HTTPS" => {
            Some(None)
        }
        (15904, "osm-healthcheck") if get.path == "/osm-healthcheck" => {
            Some(match probe.header("Original-Tcp-Port") {
                Header::Value(port) => Some(format!("a connection to :{port}")),
                Header::Absent | Header::Withheld => None,
            })
        }
        _ => None,
    }
}

/// The value of a header of a probe.
enum Header<'p> {
    Absent,
    Withheld,
    Value(&'p str),
}

impl<'p> Rewritten<'p> {
    /// Returns the number of the port; `None`: it has a name.
    fn number(&self) -> Option<i32> {
        match self.get.port {
            IntOrString::Int(number) => Some(number),
            IntOrString::String(_) => None,
        }
    }

    fn header(&self, name: &str) -> Header<'p> {
        let found = self.get.http_headers.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        match found {
            None => Header::Absent,
            Some(header) if header.value_withheld => Header::Withheld,
            Some(header) => Header::Value(&header.value),
        }
    }
}

/// Returns the probes of the application, as the proxy's variable has them.
fn probers(proxy: &Container) -> Option<Map<String, Value>> {
    let variable = proxy.env.iter().find(|it| it.name == INJECTED_PROBES)?;
    serde_json::from_str(&variable.value).ok()
}

/// Returns the probe of the application, as the proxy's variable has it.
fn asked(proxy: &Container, path: &str) -> Option<String> {
    let probers = probers(proxy)?;
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
        let Self { proxy, asks, is_unknown, kept_in } = self;
        if *is_unknown {
            return write!(f, "{proxy} answers it with status 400: {kept_in} has no such probe");
        }
        match asks {
            Some(asks) => write!(f, "{proxy} answers it, and asks the application: {asks}"),
            None => {
                write!(f, "{proxy} answers it; what it asks of the application is in {kept_in}")
            }
        }
    }
}

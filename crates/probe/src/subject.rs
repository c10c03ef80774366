//! The selection of probes.

use kq_k8s::nearest::nearest;
use kq_k8s::pod::{Container, Handler, Pod, Probe, ProbeType};
use serde::Serialize;
use std::fmt;

/// A probe of a container of a pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subject<'p> {
    pub pod: &'p Pod,
    pub container: &'p Container,
    /// What the container is in its pod.
    pub kind: ContainerKind,
    /// Its place in the list of regular or of init containers.
    pub at: usize,
    /// Which of the container's probes it is.
    pub probe_type: ProbeType,
    /// The probe, after the API server's defaults.
    pub probe: &'p Probe,
}

/// What a container is in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContainerKind {
    /// A regular container.
    Container,
    /// An init container that keeps running next to the others.
    Sidecar,
    /// An init container that ends; the kubelet runs no probes of it.
    InitContainer,
}

/// The ways to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HandlerKind {
    /// Run a command in the container.
    Exec,
    /// Get a URL.
    HttpGet,
    /// Open a connection.
    TcpSocket,
    /// Ask the gRPC health service.
    Grpc,
}

/// The reason why no probe is selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// The pod has no such container.
    #[error("pod {pod} has no container {container:?}")]
    NoContainer {
        pod: String,
        /// The requested container.
        container: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// None of its containers has such a probe.
    #[error("pod {pod} has no {probe}")]
    NoProbe {
        pod: String,
        /// The requested probe, in words.
        probe: String,
        /// The probes that it has.
        known: Vec<String>,
    },
}

impl SubjectError {
    /// Returns a hint.
    pub fn hint(&self) -> String {
        match self {
            Self::NoContainer { container, known, .. } => {
                match nearest(container, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean {near}? It has {}", known.join(", ")),
                    None => format!("it has {}", known.join(", ")),
                }
            }
            Self::NoProbe { known, .. } if known.is_empty() => {
                "it has no probes: the kubelet treats such containers as started and ready once they \
                 run"
                    .to_owned()
            }
            Self::NoProbe { known, .. } => format!("it has {}", known.join(", ")),
        }
    }
}

/// Walks over the probes of a pod in the order in which the kubelet makes workers for them: regular
/// containers, then sidecars, each startup, readiness, liveness (`AddPod`,
/// `pkg/kubelet/prober/prober_manager.go`). Those of other init containers, which never run, come last.
pub fn subjects(pod: &Pod) -> impl Iterator<Item = Subject<'_>> {
    let init = |role: ContainerKind| {
        let all = pod.spec.init_containers.iter().enumerate();
        let all = all.map(|(at, container)| (at, container, init_kind(container)));
        all.filter(move |(.., kind)| *kind == role)
    };
    let regular = pod.spec.containers.iter().enumerate();
    let regular = regular.map(|(at, container)| (at, container, ContainerKind::Container));
    regular.chain(init(ContainerKind::Sidecar)).chain(init(ContainerKind::InitContainer)).flat_map(
        move |(at, container, kind)| {
            container.probes().map(move |(probe_type, probe)| Subject {
                pod,
                container,
                at,
                kind,
                probe_type,
                probe,
            })
        },
    )
}

/// Returns the selected probes of a pod; all without a selection.
/// Fails for a container or a probe that the pod does not have.
pub fn select<'p>(
    pod: &'p Pod,
    container: Option<&str>,
    probe_type: Option<ProbeType>,
) -> Result<Vec<Subject<'p>>, SubjectError> {
    if let Some(name) = container
        && kind_of(pod, name).is_none()
    {
        let spec = &pod.spec;
        let all = spec.containers_and_init();
        return Err(SubjectError::NoContainer {
            pod: display_name(pod),
            container: name.to_owned(),
            known: all.map(|container| container.name.clone()).collect(),
        });
    }
    let selected: Vec<Subject<'p>> = subjects(pod)
        .filter(|subject| container.is_none_or(|name| subject.container.name == name))
        .filter(|subject| probe_type.is_none_or(|kind| subject.probe_type == kind))
        .collect();
    if !selected.is_empty() {
        return Ok(selected);
    }
    let kind = match probe_type {
        Some(kind) => format!("{} probe", kind.to_string().to_lowercase()),
        None => "probe".to_owned(),
    };
    let probe = match container {
        Some(name) => format!("{kind} in container {name}"),
        None => kind,
    };
    let known = subjects(pod).map(|subject| subject.to_string()).collect();
    Err(SubjectError::NoProbe { pod: display_name(pod), probe, known })
}

/// Returns what a container is in its pod; `None`: there is none of that name.
pub fn kind_of(pod: &Pod, name: &str) -> Option<ContainerKind> {
    if pod.spec.containers.iter().any(|container| container.name == name) {
        return Some(ContainerKind::Container);
    }
    let init = pod.spec.init_containers.iter().find(|container| container.name == name)?;
    Some(init_kind(init))
}

/// Returns a pod's name with its namespace.
pub fn display_name(pod: &Pod) -> String {
    let metadata = &pod.metadata;
    let name = match metadata.name.as_str() {
        "" => &metadata.generate_name,
        name => name,
    };
    format!("{}/{name}", metadata.namespace)
}

fn init_kind(container: &Container) -> ContainerKind {
    match container.restarts_always() {
        true => ContainerKind::Sidecar,
        false => ContainerKind::InitContainer,
    }
}

impl Subject<'_> {
    /// Returns the way to probe; `None`: the probe names none.
    pub fn handler(&self) -> Option<HandlerKind> {
        self.probe.handler().map(|handler| match handler {
            Handler::Exec(_) => HandlerKind::Exec,
            Handler::HttpGet(_) => HandlerKind::HttpGet,
            Handler::TcpSocket(_) => HandlerKind::TcpSocket,
            Handler::Grpc(_) => HandlerKind::Grpc,
        })
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.probe_type.to_string().to_lowercase();
        write!(f, "the {kind} probe of {}", self.container.name)
    }
}

impl fmt::Display for ContainerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Container => "container",
            Self::Sidecar => "sidecar",
            Self::InitContainer => "init container",
        })
    }
}

impl fmt::Display for HandlerKind {
    /// The name of the probe's field.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exec => "exec",
            Self::HttpGet => "httpGet",
            Self::TcpSocket => "tcpSocket",
            Self::Grpc => "grpc",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use serde_json::json;

    /// Returns a pod with probes of each kind.
    fn probed() -> Pod {
        let init = json!([
            {"name": "once", "livenessProbe": {"exec": {"command": ["a"]}}},
            {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"grpc": {"port": 1}}},
        ]);
        let containers = json!([
            {"name": "app", "livenessProbe": {"tcpSocket": {"port": 1}},
             "startupProbe": {"httpGet": {"port": 1}}, "readinessProbe": {}},
            {"name": "plain"},
        ]);
        objects::pod("shop/web").init_containers(init).containers(containers).read()
    }

    #[test]
    fn workers_are_made_in_an_order() {
        let pod = probed();
        let got: Vec<String> = subjects(&pod)
            .map(|subject| {
                let handler = subject.handler().map_or_else(|| "-".to_owned(), |h| h.to_string());
                format!("{subject} ({}) {handler}", subject.kind)
            })
            .collect();
        assert_eq!(
            got,
            [
                "the startup probe of app (container) httpGet",
                "the readiness probe of app (container) -",
                "the liveness probe of app (container) tcpSocket",
                "the startup probe of proxy (sidecar) grpc",
                "the liveness probe of once (init container) exec",
            ]
        );
    }

    #[test]
    fn what_is_not_there_is_named() {
        let pod = probed();
        for (name, container, kind, expected) in [
            ("one", Some("app"), Some(ProbeType::Liveness), Ok(1)),
            ("of a container", Some("app"), None, Ok(3)),
            ("of a kind", None, Some(ProbeType::Startup), Ok(2)),
            ("all", None, None, Ok(5)),
            ("no container", Some("ap"), None, Err("pod shop/web has no container \"ap\"")),
            ("no probe", Some("plain"), None, Err("pod shop/web has no probe in container plain")),
            (
                "no such probe",
                Some("proxy"),
                Some(ProbeType::Liveness),
                Err("pod shop/web has no liveness probe in container proxy"),
            ),
        ] {
            let got = select(&pod, container, kind);
            let got = got.map(|found| found.len()).map_err(|error| error.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{name}");
        }
        let hint = |container| select(&pod, Some(container), None).err().map(|it| it.hint());
        assert!(hint("prxy").is_some_and(|it| it.starts_with("did you mean proxy? It has app")));
        assert!(hint("database").is_some_and(|it| it.starts_with("it has app")));
    }
}

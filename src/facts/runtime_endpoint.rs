//! Where the container runtime of a node may listen, and who says so. Pure.
//!
//! An endpoint that a person gave (a flag, the environment, crictl's configuration, in crictl's order)
//! is the only one: guessing around it would answer for another runtime than the one that was meant.
//! Without one, the kubelet's own configuration comes first and the usual sockets after it.

use crate::facts::sought::Tried;
use crate::k8s::yaml;
use serde_json::Value;

/// Where crictl's configuration is.
pub const CRICTL_CONFIG: &str = "/etc/crictl.yaml";

/// The variable that crictl reads.
pub const ENDPOINT_VARIABLE: &str = "CONTAINER_RUNTIME_ENDPOINT";

/// The sockets of the usual runtimes. rke2 listens where k3s does, whose containerd it shares.
const KNOWN: [(&str, &str); 7] = [
    ("unix:///run/containerd/containerd.sock", "containerd's usual socket"),
    ("unix:///run/crio/crio.sock", "CRI-O's usual socket"),
    ("unix:///var/run/crio/crio.sock", "CRI-O's usual socket"),
    ("unix:///run/cri-dockerd.sock", "cri-dockerd's usual socket"),
    ("unix:///run/k3s/containerd/containerd.sock", "the usual socket of k3s and rke2"),
    ("unix:///var/snap/microk8s/common/run/containerd.sock", "the usual socket of microk8s"),
    ("unix:///run/k0s/containerd.sock", "the usual socket of k0s"),
];

/// What is known about the endpoint before anything is tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointHints {
    /// `--runtime-endpoint`
    pub flag: Option<String>,
    /// The value of [`ENDPOINT_VARIABLE`].
    pub environment: Option<String>,
    /// The text of [`CRICTL_CONFIG`].
    pub crictl_config: Option<String>,
    /// `containerRuntimeEndpoint` of the kubelet.
    pub kubelet: Option<String>,
}

/// An endpoint to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// As it was written: `unix:///run/containerd/containerd.sock`.
    pub address: String,
    /// Who says so, as it is shown.
    pub said_by: String,
    /// A person gave it: when it does not answer, no other one is tried.
    pub only: bool,
}

/// The endpoints to try, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Never empty.
    pub candidates: Vec<Endpoint>,
    /// What should have named an endpoint and could not be understood.
    pub skipped: Vec<Tried>,
}

/// Returns the endpoints to try, in order.
pub fn endpoints(hints: &EndpointHints) -> Endpoints {
    let mut skipped = Vec::new();
    if let Some(only) = given(hints, &mut skipped) {
        return Endpoints { candidates: vec![only], skipped };
    }
    let kubelet = written(hints.kubelet.as_deref()).map(|address| Endpoint {
        address,
        said_by: "the kubelet's containerRuntimeEndpoint".to_owned(),
        only: false,
    });
    let mut candidates: Vec<Endpoint> = kubelet.into_iter().collect();
    for (address, said_by) in KNOWN {
        if candidates.iter().any(|known| path(&known.address) == path(address)) {
            continue;
        }
        candidates.push(Endpoint {
            address: address.to_owned(),
            said_by: said_by.to_owned(),
            only: false,
        });
    }
    Endpoints { candidates, skipped }
}

/// Returns the endpoint that a person gave.
fn given(hints: &EndpointHints, skipped: &mut Vec<Tried>) -> Option<Endpoint> {
    let only =
        |address, said_by: &str| Endpoint { address, said_by: said_by.to_owned(), only: true };
    if let Some(address) = written(hints.flag.as_deref()) {
        return Some(only(address, "--runtime-endpoint"));
    }
    if let Some(address) = written(hints.environment.as_deref()) {
        return Some(only(address, ENDPOINT_VARIABLE));
    }
    match crictl_endpoint(hints.crictl_config.as_deref()?) {
        Ok(address) => written(address.as_deref()).map(|address| only(address, CRICTL_CONFIG)),
        Err(reason) => {
            skipped.push(Tried { source: CRICTL_CONFIG.to_owned(), reason });
            None
        }
    }
}

/// Returns what was written, if anything.
fn written(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the path of an endpoint, to see that two are one. `/var/run` is `/run` on every
/// distribution that runs a kubelet, but CRI-O's socket is looked for in both for the odd one.
fn path(address: &str) -> &str {
    address.strip_prefix("unix://").unwrap_or(address)
}

/// Returns `runtime-endpoint` of crictl's configuration.
fn crictl_endpoint(text: &str) -> Result<Option<String>, String> {
    let read = yaml::read(text).map_err(|error| error.to_string())?;
    match read.value {
        Value::Null => Ok(None),
        Value::Object(fields) => match fields.get("runtime-endpoint") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(address)) => Ok(Some(address.clone())),
            Some(other) => Err(format!("runtime-endpoint is {other}, expected a string")),
        },
        _ => Err("holds no fields".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(flag: &str, environment: &str, crictl_config: &str, kubelet: &str) -> EndpointHints {
        let some = |text: &str| (text != "-").then(|| text.to_owned());
        EndpointHints {
            flag: some(flag),
            environment: some(environment),
            crictl_config: some(crictl_config),
            kubelet: some(kubelet),
        }
    }

    #[test]
    fn what_a_person_gave_is_the_only_one() {
        let rows = [
            (
                "flag",
                hints("unix:///f", "/e", "runtime-endpoint: /c", "/k"),
                "unix:///f",
                "--runtime-endpoint",
            ),
            (
                "environment",
                hints("-", " /e\n", "runtime-endpoint: /c", "/k"),
                "/e",
                ENDPOINT_VARIABLE,
            ),
            ("an empty flag", hints("", "/e", "-", "-"), "/e", ENDPOINT_VARIABLE),
            (
                "configuration",
                hints("-", "", "timeout: 2\nruntime-endpoint: unix:///c\n", "/k"),
                "unix:///c",
                CRICTL_CONFIG,
            ),
            (
                "quoted",
                hints("-", "-", "runtime-endpoint: \"unix:///c\"", "-"),
                "unix:///c",
                CRICTL_CONFIG,
            ),
        ];
        for (name, hints, address, said_by) in rows {
            let found = endpoints(&hints);
            let only =
                Endpoint { address: address.to_owned(), said_by: said_by.to_owned(), only: true };
            assert_eq!(found, Endpoints { candidates: vec![only], skipped: vec![] }, "{name}");
        }
    }

    #[test]
    fn without_one_the_kubelet_and_the_usual_sockets_are_tried() {
        let known: Vec<&str> = KNOWN.iter().map(|(address, _)| *address).collect();
        let k0s = "unix:///run/k0s/containerd.sock";
        let rows = [
            ("nothing", hints("-", "-", "-", "-"), known.clone()),
            ("an empty file", hints("-", "-", "", ""), known.clone()),
            ("another field", hints("-", "-", "image-endpoint: unix:///i", "-"), known.clone()),
            ("an empty field", hints("-", "-", "runtime-endpoint: \"\"", "-"), known.clone()),
            ("a null field", hints("-", "-", "runtime-endpoint:", "-"), known.clone()),
            (
                "the kubelet",
                hints("-", "-", "-", "unix:///k"),
                [&["unix:///k"], &known[..]].concat(),
            ),
            ("a known one first", hints("-", "-", "-", k0s), [&[k0s], &known[..6]].concat()),
            ("a bare path", hints("-", "-", "-", &k0s[7..]), [&[&k0s[7..]], &known[..6]].concat()),
        ];
        for (name, hints, expected) in rows {
            let found = endpoints(&hints);
            let addresses: Vec<&str> =
                found.candidates.iter().map(|endpoint| endpoint.address.as_str()).collect();
            assert_eq!(addresses, expected, "{name}");
            assert!(found.candidates.iter().all(|endpoint| !endpoint.only), "{name}");
            assert_eq!(found.skipped, [], "{name}");
        }
    }

    #[test]
    fn a_configuration_that_means_nothing_is_named() {
        let rows = [
            ("a number", "runtime-endpoint: 12", "runtime-endpoint is 12, expected a string"),
            ("a list", "- runtime-endpoint: /c", "holds no fields"),
            ("a word", "unix:///c", "holds no fields"),
            ("no YAML", "runtime-endpoint: [", ""),
        ];
        for (name, text, reason) in rows {
            let found = endpoints(&hints("-", "-", text, "-"));
            assert_eq!(found.candidates.len(), KNOWN.len(), "{name}");
            let [tried] = &found.skipped[..] else { panic!("{name}: {:?}", found.skipped) };
            assert_eq!(tried.source, CRICTL_CONFIG, "{name}");
            assert!(!tried.reason.is_empty(), "{name}");
            assert!(reason.is_empty() || tried.reason == reason, "{name}: {}", tried.reason);
        }
    }
}

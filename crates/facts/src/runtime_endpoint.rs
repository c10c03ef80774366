//! The possible endpoints of a node's container runtime, with their sources. Pure.
//!
//! An endpoint that the user set (a flag, the environment, crictl's configuration, in crictl's order)
//! is the only one: a fallback would answer for another runtime.
//! Without one, the kubelet's own configuration comes first and the usual sockets after it.

use crate::distribution::{Place, rows};
use crate::lookup::FailedSource;
use kq_k8s::yaml;
use serde_json::Value;

/// Where crictl's configuration is.
pub const CRICTL_CONFIG: &str = "/etc/crictl.yaml";

/// The variable that names another file for it.
pub const CRICTL_CONFIG_VARIABLE: &str = "CRI_CONFIG_FILE";

/// The variable that crictl reads.
pub const ENDPOINT_VARIABLE: &str = "CONTAINER_RUNTIME_ENDPOINT";

/// Returns the sockets of the usual runtimes, and whose they are. rke2 listens where k3s does, whose containerd it shares.
fn known() -> Vec<(String, String)> {
    let mut known: Vec<(String, String)> = Vec::new();
    for row in rows(Place::RuntimeSocket) {
        let address = format!("unix://{}", row.path);
        match known.iter_mut().find(|(of_other, _)| *of_other == address) {
            Some((_, said_by)) => said_by.push_str(&format!(" and {}", row.owner)),
            None if row.owner.is_runtime() => {
                known.push((address, format!("{}'s usual socket", row.owner)));
            }
            None => known.push((address, format!("the usual socket of {}", row.owner))),
        }
    }
    known
}

/// The input for finding the endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointHints {
    /// `--runtime-endpoint`
    pub flag: Option<String>,
    /// The value of [`ENDPOINT_VARIABLE`].
    pub environment: Option<String>,
    /// crictl's configuration.
    pub crictl_config: Option<CrictlConfig>,
    /// `containerRuntimeEndpoint` of the kubelet.
    pub kubelet: Option<String>,
}

/// The file of crictl's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrictlConfig {
    /// Where it is.
    pub path: String,
    /// [`CRICTL_CONFIG_VARIABLE`] names it, without which it is [`CRICTL_CONFIG`].
    pub is_named: bool,
    /// Its contents, or why it could not be read.
    pub text: Result<String, String>,
}

/// An endpoint to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// As it was written: `unix:///run/containerd/containerd.sock`.
    pub address: String,
    /// The source, as it is displayed.
    pub said_by: String,
    /// Set by the user: if it does not answer, no other one is tried.
    pub only: bool,
}

/// The endpoints to try, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Empty where a configuration that a person named cannot be used: crictl stops there too.
    pub candidates: Vec<Endpoint>,
    /// Sources of an endpoint that could not be parsed.
    pub skipped: Vec<FailedSource>,
}

/// Returns the endpoints to try, in order.
pub fn endpoints(hints: &EndpointHints) -> Endpoints {
    let mut skipped = Vec::new();
    if let Some(only) = configured(hints, &mut skipped) {
        return Endpoints { candidates: vec![only], skipped };
    }
    if !skipped.is_empty() && hints.crictl_config.as_ref().is_some_and(|config| config.is_named) {
        return Endpoints { candidates: Vec::new(), skipped };
    }
    let kubelet = written(hints.kubelet.as_deref()).map(|address| Endpoint {
        address,
        said_by: "the kubelet's containerRuntimeEndpoint".to_owned(),
        only: false,
    });
    let mut candidates: Vec<Endpoint> = kubelet.into_iter().collect();
    for (address, said_by) in known() {
        if candidates.iter().any(|known| path(&known.address) == path(&address)) {
            continue;
        }
        candidates.push(Endpoint { address, said_by, only: false });
    }
    Endpoints { candidates, skipped }
}

/// Returns the endpoint that a person gave.
fn configured(hints: &EndpointHints, skipped: &mut Vec<FailedSource>) -> Option<Endpoint> {
    let only =
        |address, said_by: &str| Endpoint { address, said_by: said_by.to_owned(), only: true };
    if let Some(address) = written(hints.flag.as_deref()) {
        return Some(only(address, "--runtime-endpoint"));
    }
    if let Some(address) = written(hints.environment.as_deref()) {
        return Some(only(address, ENDPOINT_VARIABLE));
    }
    let config = hints.crictl_config.as_ref()?;
    let said_by = match config.is_named {
        true => format!("{CRICTL_CONFIG_VARIABLE}={}", config.path),
        false => config.path.clone(),
    };
    match config.text.as_deref().map_err(Clone::clone).and_then(crictl_endpoint) {
        Ok(address) => written(address.as_deref()).map(|address| only(address, &said_by)),
        Err(reason) => {
            skipped.push(FailedSource { source: said_by, reason });
            None
        }
    }
}

/// Returns what was written, if anything.
fn written(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the path of an endpoint, to see that two are one. `/var/run` is `/run` on every
/// distribution that runs a kubelet, except that CRI-O's socket is tried in both.
fn path(address: &str) -> &str {
    let address = address.strip_prefix("unix:").unwrap_or(address);
    address.strip_prefix("//").unwrap_or(address)
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
            crictl_config: some(crictl_config).map(|text| CrictlConfig {
                path: CRICTL_CONFIG.to_owned(),
                is_named: false,
                text: Ok(text),
            }),
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
        let known = known();
        let known: Vec<&str> = known.iter().map(|(address, _)| address.as_str()).collect();
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
    fn a_configuration_that_a_person_named_is_the_only_one() {
        let missing = || Err("no such file".to_owned());
        for (name, text, expected) in [
            ("it says", Ok("runtime-endpoint: unix:/c"), Some("unix:/c")),
            ("it cannot be read", missing(), None),
            ("it means nothing", Ok("- a"), None),
        ] {
            let config = CrictlConfig {
                path: "/home/a/crictl.yaml".to_owned(),
                is_named: true,
                text: text.map(str::to_owned),
            };
            let found = endpoints(&EndpointHints {
                crictl_config: Some(config),
                kubelet: Some("unix:///k".to_owned()),
                ..EndpointHints::default()
            });
            let addresses: Vec<&str> =
                found.candidates.iter().map(|endpoint| endpoint.address.as_str()).collect();
            assert_eq!(addresses, expected.into_iter().collect::<Vec<_>>(), "{name}");
            let sources: Vec<&str> = found
                .candidates
                .iter()
                .map(|endpoint| endpoint.said_by.as_str())
                .chain(found.skipped.iter().map(|tried| tried.source.as_str()))
                .collect();
            assert_eq!(sources, ["CRI_CONFIG_FILE=/home/a/crictl.yaml"], "{name}");
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
            assert_eq!(found.candidates.len(), known().len(), "{name}");
            let [tried] = &found.skipped[..] else { panic!("{name}: {:?}", found.skipped) };
            assert_eq!(tried.source, CRICTL_CONFIG, "{name}");
            assert!(!tried.reason.is_empty(), "{name}");
            assert!(reason.is_empty() || tried.reason == reason, "{name}: {}", tried.reason);
        }
    }
}

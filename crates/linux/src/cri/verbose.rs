//! The `verbose` details of a sandbox or a container: `info["info"]`.
//!
//! The CRI leaves the content to the runtime; containerd and CRI-O agree in these fields:
//!
//! ```text
//! {"pid": 4711, "runtimeSpec": {"linux": {"namespaces": [
//!   {"type": "network", "path": "/var/run/netns/cni-..."}]}}}
//! ```

use super::{convert, v1};
use kq_facts::runtime::ContainerState;
use kq_facts::runtime_needs::{ContainerDetails, SandboxStatus};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the details; the default if they are missing or unreadable.
fn notes(info: &BTreeMap<String, String>) -> Value {
    info.get("info").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn pid(notes: &Value) -> Option<i32> {
    let pid = notes.get("pid").and_then(Value::as_i64)?;
    i32::try_from(pid).ok().filter(|pid| *pid > 0)
}

/// Returns the file of the network namespace; `None`: the sandbox has that of the node.
fn network_namespace(notes: &Value) -> Option<String> {
    let namespaces = notes.pointer("/runtimeSpec/linux/namespaces")?.as_array()?;
    let network = namespaces
        .iter()
        .find(|namespace| namespace.get("type").and_then(Value::as_str) == Some("network"))?;
    let path = network.get("path").and_then(Value::as_str)?;
    Some(path.to_owned()).filter(|path| !path.is_empty())
}

pub(super) fn sandbox(
    status: v1::PodSandboxStatus,
    info: &BTreeMap<String, String>,
) -> SandboxStatus {
    let notes = notes(info);
    let network = status.network.unwrap_or_default();
    let others = network.additional_ips.into_iter().map(|other| other.ip);
    let ips = std::iter::once(network.ip).chain(others).filter(|ip| !ip.is_empty()).collect();
    SandboxStatus {
        ips,
        pid: pid(&notes),
        network_namespace: network_namespace(&notes),
        ready: status.state == v1::PodSandboxState::SandboxReady as i32,
    }
}

pub(super) fn container(
    status: &v1::ContainerStatus,
    info: &BTreeMap<String, String>,
) -> ContainerDetails {
    let state = convert::container_state(status.state);
    let time = |nanoseconds: i64| Some(nanoseconds).filter(|time| *time > 0);
    ContainerDetails {
        state,
        started_at: time(status.started_at),
        finished_at: time(status.finished_at),
        exit_code: (state == ContainerState::Exited).then_some(status.exit_code),
        pid: pid(&notes(info)).filter(|_| state == ContainerState::Running),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_tell_the_process_and_the_network() {
        let spec = |namespaces: &str| {
            format!(r#"{{"pid":7,"runtimeSpec":{{"linux":{{"namespaces":[{namespaces}]}}}}}}"#)
        };
        let network = r#"{"type":"pid"},{"type":"network","path":"/run/netns/a"}"#;
        for (name, notes, pid, namespace) in [
            ("containerd", spec(network), Some(7), Some("/run/netns/a")),
            ("the node's network", spec(r#"{"type":"pid"}"#), Some(7), None),
            ("a new network", spec(r#"{"type":"network"}"#), Some(7), None),
            ("no process", r#"{"pid":0}"#.to_owned(), None, None),
            ("no number", r#"{"pid":"7"}"#.to_owned(), None, None),
            ("another form", "[]".to_owned(), None, None),
            ("no JSON", "{".to_owned(), None, None),
        ] {
            let info = BTreeMap::from([("info".to_owned(), notes)]);
            let got = sandbox(v1::PodSandboxStatus::default(), &info);
            assert_eq!((got.pid, got.network_namespace.as_deref()), (pid, namespace), "{name}");
        }
    }

    #[test]
    fn addresses_are_in_order() {
        let ip = |ip: &str| v1::PodIp { ip: ip.to_owned() };
        let network = |first: &str| v1::PodSandboxNetworkStatus {
            ip: first.to_owned(),
            additional_ips: vec![ip("fd00::1"), ip("")],
        };
        for (first, expected) in [("10.0.0.1", vec!["10.0.0.1", "fd00::1"]), ("", vec!["fd00::1"])]
        {
            let network = Some(network(first));
            let status = v1::PodSandboxStatus { network, ..v1::PodSandboxStatus::default() };
            assert_eq!(sandbox(status, &BTreeMap::new()).ips, expected);
        }
    }
}

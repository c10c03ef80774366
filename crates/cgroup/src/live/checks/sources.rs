//! The sources of the facts behind all other checks.

use super::rule::{CheckId, CheckRule, RunningKubelet};
use super::{Check, CheckInput};
use kq_facts::kubelet_process::Program;
use kq_facts::lookup::Sourced;
use kq_facts::start_warnings::status_warnings;
use kq_output::units::counted;

/// The CRI that kubelets since 1.26 speak.
pub(super) const CRI_VERSION: &str = "v1";

/// Checks that a kubelet runs, and which one it is.
pub fn kubelet(examined: CheckInput<'_>) -> Check {
    let snapshot = examined.snapshot;
    let said_by = examined.said_by("kubeletVersion");
    let kubelet_version = said_by.as_ref().map(|_| examined.node.kubelet_version.to_string());
    let Some(Sourced { source, value: process }) = &snapshot.kubelet.found else {
        if snapshot.kubelet.tried.is_empty() {
            return CheckRule::KubeletNotLookedFor { kubelet_version }.into();
        }
        let reason = snapshot.kubelet.reason();
        let pods = examined.tree().ok().and_then(|tree| examined.present(tree).first().copied());
        // The root of all cgroups is on every machine.
        let pods = pods.filter(|(_, root)| root.depth() > 0);
        let left = match (pods, snapshot.runtime.value().and_then(|it| it.sandboxes.value())) {
            (Some((_, root)), _) => Some(format!("the cgroup {}", root.as_str())),
            (None, Some(sandboxes)) if !sandboxes.is_empty() => {
                Some(counted(sandboxes.len(), "pod sandbox"))
            }
            _ => snapshot.kubelet_config.found.as_ref().map(|found| found.source.clone()),
        };
        let start_fails = examined.start.fails;
        return match left {
            Some(left) => {
                CheckRule::KubeletNotRunning { reason, left, kubelet_version, start_fails }.into()
            }
            None => CheckRule::NoKubelet { reason, kubelet_version }.into(),
        };
    };
    let pid = process.pid;
    let program = match process.program {
        Program::Kubelet => "kubelet",
        Program::K3s => "k3s",
        Program::Kubelite => "kubelite",
        Program::Microshift => "microshift",
    };
    let Some((kubelet_version, said_by)) = kubelet_version.zip(said_by) else {
        let reason = snapshot.kubelet_version.reason();
        return CheckRule::KubeletOfUnknownVersion { pid, program, reason }.sourced(source);
    };
    let sources = format!("{source}, {said_by}");
    let others: Vec<String> = process.others.iter().map(ToString::to_string).collect();
    let process = RunningKubelet { kubelet_version, pid, program };
    if !others.is_empty() {
        return CheckRule::SeveralKubelets { process, others }.sourced(sources);
    }
    let reported = snapshot.node.value().map(|node| node.status.node_info.kubelet_version.as_str());
    let rule = match (snapshot.kubelet_version.value().map(|own| own.trim()), reported) {
        (Some(own), Some(reported)) if !reported.is_empty() && own != reported => {
            let (running, reported) = (own.to_owned(), reported.to_owned());
            CheckRule::KubeletUnreported { process, running, reported }
        }
        _ => CheckRule::KubeletRuns(process),
    };
    rule.sourced(sources)
}

/// Checks that the kubelet's configuration is known, and that the kubelet takes all of it.
pub fn configuration(examined: CheckInput<'_>) -> Check {
    if examined.start.refuses_config {
        return CheckRule::ConfigRefused.sourced(examined.config_source());
    }
    if !examined.knows_config() {
        return CheckRule::failed(
            CheckId::KubeletConfig,
            examined.snapshot.kubelet_config.reason(),
        );
    }
    let fields = examined.config.value.as_object().map_or(0, serde_json::Map::len);
    let ignored: Vec<String> = examined.ignored.iter().map(|it| (*it).to_owned()).collect();
    let rule = match ignored.is_empty() {
        true => CheckRule::ConfigKnown { fields },
        false => CheckRule::ConfigIgnored { ignored, fields },
    };
    rule.sourced(examined.config_source())
}

/// Checks that the Node object is known and says what follows from the configuration.
pub fn node_object(examined: CheckInput<'_>) -> Check {
    if let Some(file) = examined.node_file {
        let name = examined.node.name.as_deref().unwrap_or("a Node without a name").to_owned();
        return CheckRule::NodeKnown { name }.sourced(file);
    }
    let node = &examined.snapshot.node;
    let Some(Sourced { source, value: object }) = &node.found else {
        return CheckRule::failed(CheckId::NodeObject, node.reason());
    };
    let other = status_warnings(
        source,
        object,
        &examined.node.allocatable,
        Some(examined.node.most_pods()),
    );
    let differences: Vec<String> = other.into_iter().map(|it| it.text).collect();
    // An unknown fact contradicts nothing.
    let rule = match differences.is_empty() || !examined.knows_config() {
        true => CheckRule::NodeKnown { name: object.metadata.name.clone() },
        false => CheckRule::NodeDiffers { differences },
    };
    rule.sourced(source)
}

/// Checks that all pods of the node are known.
pub fn pods(examined: CheckInput<'_>) -> Check {
    let found = &examined.snapshot.pods;
    let Some(Sourced { source, value }) = &found.found else {
        return CheckRule::failed(CheckId::Pods, found.reason());
    };
    let (pods, from) = (examined.pods.len(), value.source);
    let rule = match (value.left_out.as_slice(), examined.incomplete) {
        ([_, ..], _) => CheckRule::PodsLeftOut { left_out: value.left_out.clone(), pods, from },
        ([], Some(reason)) => CheckRule::PodsIncomplete { reason: reason.to_owned(), pods, from },
        ([], None) => CheckRule::PodsKnown { pods, from },
    };
    rule.sourced(source)
}

/// Checks that the container runtime answers, and which one it is.
pub fn runtime(examined: CheckInput<'_>) -> Check {
    let found = &examined.snapshot.runtime;
    let Some(Sourced { source, value: facts }) = &found.found else {
        return CheckRule::failed(CheckId::ContainerRuntime, found.reason());
    };
    let version = &facts.version;
    let runtime = format!("{} {}", version.runtime_name, version.runtime_version);
    if !matches!(version.runtime_api_version.as_str(), "" | CRI_VERSION) {
        let api_version = version.runtime_api_version.clone();
        return CheckRule::RuntimeOfOtherApi { runtime, api_version }.sourced(source);
    }
    let configured = examined.config.value.get("containerRuntimeEndpoint");
    let configured = configured.and_then(serde_json::Value::as_str).unwrap_or_default();
    if !configured.is_empty() && socket(configured) != socket(source) {
        let configured = configured.to_owned();
        return CheckRule::OtherEndpoint { runtime, configured }.sourced(source);
    }
    let found = facts.low_level.found.as_ref().map(|Sourced { source, value: program }| {
        (source.as_str(), format!("{} {}", program.name, program.version))
    });
    let given =
        examined.low_level.map(|given| ("--runtime", given.replace('=', " ").replace(',', ", ")));
    match given.or(found) {
        Some((low_source, low_level)) => CheckRule::RuntimeKnown { runtime, low_level }
            .sourced(format!("{source}, {low_source}")),
        None => {
            let reason = facts.low_level.reason();
            CheckRule::LowLevelUnknown { runtime, reason }.sourced(source)
        }
    }
}

/// Returns the socket of an endpoint; `/var/run` is `/run` on every node with systemd.
fn socket(endpoint: &str) -> &str {
    let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
    path.strip_prefix("/var").filter(|rest| rest.starts_with("/run/")).unwrap_or(path)
}

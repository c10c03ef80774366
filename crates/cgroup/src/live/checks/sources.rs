//! The sources of the facts behind all other checks.

use super::{Check, CheckInput, GIVE_CONFIG, GIVE_PODS, first_of};
use super::{fail, ok, unknown, warn};
use kq_facts::kubelet_process::Program;
use kq_facts::lookup::Sourced;
use kq_facts::start_warnings::status_warnings;
use kq_output::units::counted;
use serde_json::json;

/// The CRI that kubelets since 1.26 speak.
const CRI_VERSION: &str = "v1";

/// Checks that a kubelet runs, and which one it is.
pub fn kubelet(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "kubelet";
    let snapshot = examined.snapshot;
    let said_by = examined.said_by("kubeletVersion");
    let version = said_by.as_ref().map(|_| examined.node.kubelet_version.to_string());
    let Some(Sourced { source, value: process }) = &snapshot.kubelet.found else {
        let reason = snapshot.kubelet.reason();
        let known = version.clone();
        let version = version.map(|version| format!(" (version {version})")).unwrap_or_default();
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
        return match left {
            _ if snapshot.kubelet.tried.is_empty() => unknown(
                NAME,
                format!("its process was not looked for{version}"),
                "take a new snapshot on the node",
            ),
            // A node without a kubelet starts, restarts and probes nothing.
            Some(left) => fail(
                NAME,
                format!("{reason}, but one has left {left}{version}"),
                match examined.start.fails {
                    true => "correct what kubelet-start names, then start the kubelet",
                    false => "start the kubelet, or run kq where its process is visible",
                },
            )
            .with(json!({
                "state": "notRunning", "reason": reason, "left": left, "kubeletVersion": known,
            })),
            None => unknown(
                NAME,
                format!("{reason}{version}"),
                "start the kubelet, or say what it is with --kubelet-version VERSION and \
                 --kubelet-config FILE",
            ),
        };
    };
    let program = match process.program {
        Program::Kubelet => "kubelet",
        Program::K3s => "k3s",
        Program::Kubelite => "kubelite",
        Program::Microshift => "microshift",
    };
    let Some((version, said_by)) = version.zip(said_by) else {
        return unknown(
            NAME,
            format!(
                "process {} ({program}), of unknown version: {}",
                process.pid,
                snapshot.kubelet_version.reason()
            ),
            "set it with --kubelet-version VERSION",
        )
        .from(source);
    };
    let found = format!("{version}, process {} ({program})", process.pid);
    let sources = format!("{source}, {said_by}");
    let facts = json!({ "kubeletVersion": version, "pid": process.pid, "program": program });
    if !process.others.is_empty() {
        let others: Vec<String> = process.others.iter().map(ToString::to_string).collect();
        return warn(
            NAME,
            format!("{found}; other kubelets run too: {}", first_of(&others)),
            "a node has one kubelet: stop the others, or check them where they run",
        )
        .with(facts)
        .with(json!({ "state": "several", "others": others }))
        .from(sources);
    }
    let reported = snapshot.node.value().map(|node| node.status.node_info.kubelet_version.as_str());
    match (snapshot.kubelet_version.value(), reported) {
        (Some(own), Some(reported)) if !reported.is_empty() && own.trim() != reported => warn(
            NAME,
            format!(
                "{found}; the running program is {}, the Node object has {reported}",
                own.trim()
            ),
            "wait until the kubelet has updated its Node object, or read its log: it may not reach \
             the API server",
        )
        .with(facts)
        .with(json!({ "state": "unreported", "running": own.trim(), "reported": reported })),
        _ => ok(NAME, found).with(facts),
    }
    .from(sources)
}

/// Checks that the kubelet's configuration is known, and that the kubelet takes all of it.
pub fn configuration(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "kubelet-config";
    if examined.start.refuses_config {
        return fail(
            NAME,
            "the kubelet does not start with it (check kubelet-start)",
            "correct the configuration before the kubelet is started again",
        )
        .with(json!({ "state": "refused" }))
        .from(examined.config_source());
    }
    if !examined.knows_config() {
        return unknown(NAME, examined.snapshot.kubelet_config.reason(), GIVE_CONFIG);
    }
    let fields = examined.config.value.as_object().map_or(0, serde_json::Map::len);
    if !examined.ignored.is_empty() {
        let ignored: Vec<String> = examined.ignored.iter().map(|it| (*it).to_owned()).collect();
        return warn(NAME, first_of(&ignored), "correct the name of the field, or remove it")
            .with(json!({ "state": "ignored", "ignored": ignored, "fields": fields }))
            .from(examined.config_source());
    }
    ok(NAME, format!("{} set", counted(fields, "field")))
        .with(json!({ "fields": fields }))
        .from(examined.config_source())
}

/// Checks that the Node object is known and says what follows from the configuration.
pub fn node_object(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "node-object";
    if let Some(file) = examined.node_file {
        let name = examined.node.name.as_deref().unwrap_or("a Node without a name");
        return ok(NAME, name).with(json!({ "name": name })).from(file);
    }
    let node = &examined.snapshot.node;
    let Some(Sourced { source, value: object }) = &node.found else {
        return unknown(
            NAME,
            node.reason(),
            "name an API server with --kubeconfig FILE, or give the object with --node-file FILE",
        );
    };
    let other = status_warnings(
        source,
        object,
        &examined.node.allocatable,
        Some(examined.node.most_pods()),
    );
    let other: Vec<String> = other.into_iter().map(|it| it.text).collect();
    match (other.is_empty(), examined.knows_config()) {
        (false, true) => warn(
            NAME,
            other.join("; "),
            "restart the kubelet if its configuration was changed, or give the one that it has \
             with --kubelet-config FILE",
        )
        .with(json!({ "state": "differs", "differences": other })),
        // An unknown fact contradicts nothing.
        _ => ok(NAME, object.metadata.name.clone()).with(json!({ "name": object.metadata.name })),
    }
    .from(source)
}

/// Checks that all pods of the node are known.
pub fn pods(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "pods";
    let pods = &examined.snapshot.pods;
    let Some(Sourced { source, value }) = &pods.found else {
        return unknown(NAME, pods.reason(), GIVE_PODS);
    };
    let found = format!("{} from {}", examined.pods.len(), value.source);
    match (value.left_out.as_slice(), examined.incomplete) {
        ([_, ..], _) => warn(
            NAME,
            format!("{found}; {} left out: {}", value.left_out.len(), first_of(&value.left_out)),
            "correct it, and run kq again",
        )
        .with(json!({ "state": "leftOut", "leftOut": value.left_out })),
        ([], Some(reason)) => warn(NAME, format!("{found}: {reason}"), GIVE_PODS)
            .with(json!({ "state": "incomplete", "reason": reason })),
        ([], None) => ok(NAME, found),
    }
    .with(json!({ "pods": examined.pods.len() }))
    .from(source)
}

/// Checks that the container runtime answers, and which one it is.
pub fn runtime(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "container-runtime";
    let runtime = &examined.snapshot.runtime;
    let Some(Sourced { source, value: facts }) = &runtime.found else {
        return unknown(
            NAME,
            runtime.reason(),
            "start it, or name it with --runtime-endpoint ENDPOINT",
        );
    };
    let version = &facts.version;
    let own = format!("{} {}", version.runtime_name, version.runtime_version);
    if !matches!(version.runtime_api_version.as_str(), "" | CRI_VERSION) {
        return fail(
            NAME,
            format!(
                "{own} speaks version {:?} of the CRI, and kubelets since 1.26 only {CRI_VERSION}",
                version.runtime_api_version
            ),
            "update the container runtime",
        )
        .with(json!({
            "state": "otherApi", "runtime": own, "apiVersion": version.runtime_api_version,
        }))
        .from(source);
    }
    let configured = examined.config.value.get("containerRuntimeEndpoint");
    let configured = configured.and_then(serde_json::Value::as_str).unwrap_or_default();
    if !configured.is_empty() && socket(configured) != socket(source) {
        return warn(
            NAME,
            format!("{own} answers here, and the kubelet talks to {configured}"),
            format!("check the kubelet's runtime: --runtime-endpoint {configured}"),
        )
        .with(json!({ "state": "otherEndpoint", "runtime": own, "configured": configured }))
        .from(source);
    }
    let found = facts.low_level.found.as_ref().map(|Sourced { source, value: program }| {
        (source.as_str(), format!("{} {}", program.name, program.version))
    });
    let given =
        examined.low_level.map(|given| ("--runtime", given.replace('=', " ").replace(',', ", ")));
    match given.or(found) {
        Some((low_source, low_level)) => ok(NAME, format!("{own} with {low_level}"))
            .with(json!({ "runtime": own, "lowLevel": low_level }))
            .from(format!("{source}, {low_source}")),
        None => unknown(
            NAME,
            format!("{own}, low-level runtime not known: {}", facts.low_level.reason()),
            "set it with --runtime NAME=VERSION",
        )
        .from(source),
    }
}

/// Returns the socket of an endpoint; `/var/run` is `/run` on every node with systemd.
fn socket(endpoint: &str) -> &str {
    let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
    path.strip_prefix("/var").filter(|rest| rest.starts_with("/run/")).unwrap_or(path)
}

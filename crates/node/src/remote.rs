//! A remote node, through the API server alone: from an operator's machine, with a kubeconfig and `--node-name`.
//!
//! | `--node-name` | kubeconfig named | Node object | the node is |
//! |---|---|---|---|
//! | none, or this machine's own name | | | this machine |
//! | another | no | | this machine, under that name |
//! | another | yes | has this machine's machineID | this machine, under that name |
//! | another | yes | has another one, or none, or cannot be read | another one |
//!
//! On macOS and Windows, which are no nodes, every `--node-name` is of another one.
//!
//! A flag that names a root, a runtime's socket or a kubelet's address locates the node.

use super::config::KubeletConfig;
use super::pods::{self, OfServer, PodsQuestion};
use super::source_order::NodeInQuestion;
use super::spec::NodeSpec;
use kq_answer::Failure;
use kq_api::api_server::ApiServer;
use kq_facts::devices::DeviceFacts;
use kq_facts::fact_key::FactKey;
use kq_facts::fact_table;
use kq_facts::host::HostFacts;
use kq_facts::lookup::Lookup;
use kq_facts::needs::Needs;
use kq_facts::node_object::NodeObject;
use kq_facts::snapshot::{API_VERSION, KIND, PodSource, Snapshot};
use kq_io::clock::after_now;
use kq_io::no_live_node;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Returns the name of the node in question, if it is not this machine.
pub fn node<'a>(
    spec: &'a NodeSpec,
    host: &HostFacts,
    own_name: Option<&String>,
) -> Option<&'a str> {
    let name = spec.node_name.as_ref().filter(|name| own_name != Some(*name))?;
    let is_placed = spec.host_root.is_some()
        || spec.runtime_endpoint.is_some()
        || spec.kubelet_url.is_some()
        || spec.pods_from.is_some_and(|from| from != PodSource::ApiServer);
    // A machine that is no node needs no name of a kubeconfig: the node is another one.
    let has_usual = || {
        let home = spec.environment.home.as_deref().map(Path::new);
        home.is_some_and(|home| home.join(".kube/config").exists())
    };
    let is_named = spec.kubeconfig.is_some()
        || spec.environment.kubeconfig.is_some()
        || (no_live_node().is_some() && has_usual());
    if is_placed || !is_named {
        return None;
    }
    let server = spec.connect();
    let object = server.ok().and_then(|server| server.node(name).ok());
    let object = object.and_then(|bytes| serde_json::from_slice::<NodeObject>(&bytes).ok());
    let is_here = object.is_some_and(|object| object.is_of_machine(host) == Some(true));
    (!is_here).then_some(name.as_str())
}

/// Gathers the API server's facts of a node, and nothing of this machine.
pub fn gather(
    spec: &NodeSpec,
    config: Option<&Value>,
    needs: Needs,
    name: &str,
) -> Result<Snapshot, Failure> {
    let reason = format!("this machine is not node {name}");
    let spec = match spec.pods.is_empty() {
        true => &NodeSpec { pods_from: Some(PodSource::ApiServer), ..spec.clone() },
        false => spec,
    };
    let runtime = match needs.needs_runtime() {
        true => Lookup::failed("the container runtime", &*reason),
        false => Lookup::default(),
    };
    let question = PodsQuestion {
        spec,
        node: NodeInQuestion::Running,
        root: Path::new("/"),
        host: &HostFacts::default(),
        process: None,
        runs: false,
        settings: &KubeletConfig::of(config, None),
        has_node_file: needs.has_node_file,
        node_name: Some(name),
    };
    let of_server = pods::gather(&question, needs, &runtime)?;
    Ok(snapshot(of_server, needs, Lookup::found("--node-name", name.to_owned()), &reason))
}

/// Gathers what an API server has of a node, except events: the Node object and the pods. Nothing of this machine is read,
/// even if it is the node.
///
/// # Errors
///
/// Fails without the Node object.
pub fn gather_from(server: &ApiServer, name: &str, timeout: Duration) -> Result<Snapshot, String> {
    const REASON: &str = "not queried: only the API server is";
    let needs = Needs::ALL.without(&[FactKey::Events]);
    let object = server.node(name).map_err(|error| error.reason())?;
    let object: NodeObject =
        serde_json::from_slice(&object).map_err(|error| format!("node {name}: {error}"))?;
    let source = server.source();
    let question = PodsQuestion {
        spec: &NodeSpec { timeout, ..NodeSpec::default() },
        node: NodeInQuestion::Running,
        root: Path::new("/"),
        host: &HostFacts::default(),
        process: None,
        runs: false,
        settings: &KubeletConfig::of(None, None),
        has_node_file: false,
        node_name: Some(name),
    };
    let pods = match question.of_server(server) {
        Ok(found) => Lookup { found: Some(found), tried: Vec::new() },
        Err(tried) => Lookup { found: None, tried: vec![tried] },
    };
    let node = Lookup::found(format!("{source} node {name}"), object);
    let of_server = OfServer { node, pods, events: Lookup::default() };
    Ok(snapshot(of_server, needs, Lookup::found(source, name.to_owned()), REASON))
}

/// Returns a snapshot of what the API server has; all other facts are missing for a reason.
fn snapshot(
    of_server: OfServer,
    needs: Needs,
    node_name: Lookup<String>,
    reason: &str,
) -> Snapshot {
    let mut snapshot = Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: after_now().to_string(),
        taken_by: concat!("kq ", env!("CARGO_PKG_VERSION")).to_owned(),
        node_name,
        kubelet_config: match needs.has(FactKey::KubeletConfig) {
            true => Lookup::failed("the kubelet's configuration", reason),
            false => Lookup::default(),
        },
        node: of_server.node,
        pods: of_server.pods,
        events: of_server.events,
        devices: needs.needs_devices().then(DeviceFacts::default),
        ..Snapshot::default()
    };
    fact_table::fail(needs, &mut snapshot, reason);
    snapshot
}

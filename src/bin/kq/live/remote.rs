//! Another node than the machine that kq runs on, through the API server alone: from an operator's machine, with a
//! kubeconfig and `--node-name`.
//!
//! | `--node-name` | kubeconfig named | Node object | the node is |
//! |---|---|---|---|
//! | none, or this machine's own name | | | this machine |
//! | another | no | | this machine, under that name |
//! | another | yes | has this machine's machineID | this machine, under that name |
//! | another | yes | has another one, or none, or cannot be read | another one |
//!
//! Where a flag names a root, a runtime's socket or a kubelet's address, the operator says where the node is.

use super::args::SourceArgs;
use super::config::KubeletConfig;
use super::pods::{self, PodsQuestion};
use super::runtime::environment;
use super::wants::{DevicesWanted, Wants};
use crate::exit::Failure;
use kq::edge::api_server::connect;
use kq::edge::clock::after_now;
use kq::edge::spec::NodeInQuestion;
use kq::facts::devices::DeviceFacts;
use kq::facts::host::HostFacts;
use kq::facts::node_object::NodeObject;
use kq::facts::snapshot::{API_VERSION, KIND, PodSource, Snapshot};
use kq::facts::sought::Sought;
use serde_json::Value;
use std::path::Path;

/// Returns the name of the node that is asked about, where it is another one than this machine.
pub fn node<'a>(
    args: &'a SourceArgs,
    host: &HostFacts,
    own_name: Option<&String>,
) -> Option<&'a str> {
    let name = args.node_name.as_ref().filter(|name| own_name != Some(*name))?;
    let is_placed = args.host_root.is_some()
        || args.runtime_endpoint.is_some()
        || args.kubelet_url.is_some()
        || args.pods_from.is_some_and(|from| from != PodSource::ApiServer);
    let is_named = args.kubeconfig.is_some() || environment("KUBECONFIG").is_some();
    if is_placed || !is_named {
        return None;
    }
    let server = connect(args.kubeconfig_place(), args.context.as_deref(), args.timeout);
    let object = server.ok().and_then(|server| server.node(name).ok());
    let object = object.and_then(|bytes| serde_json::from_slice::<NodeObject>(&bytes).ok());
    let is_here = object.is_some_and(|object| object.is_of_machine(host) == Some(true));
    (!is_here).then_some(name.as_str())
}

/// Gathers what the API server has of a node: nothing of this machine.
pub fn gather(
    args: &SourceArgs,
    config: Option<&Value>,
    wants: Wants,
    name: &str,
) -> Result<Snapshot, Failure> {
    let reason = format!("this machine is not node {name}");
    let args = match args.pods.is_empty() {
        true => &SourceArgs { pods_from: Some(PodSource::ApiServer), ..args.clone() },
        false => args,
    };
    let runtime = match wants.wants_runtime() {
        true => Sought::failed("the container runtime", &*reason),
        false => Sought::default(),
    };
    let question = PodsQuestion {
        args,
        node: NodeInQuestion::Running,
        root: Path::new("/"),
        host: &HostFacts::default(),
        process: None,
        runs: false,
        settings: &KubeletConfig::of(config, None),
        has_node_file: wants.has_node_file,
        node_name: Some(name),
    };
    let (node, pods) = pods::gather(&question, wants, &runtime)?;
    Ok(Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: after_now().to_string(),
        taken_by: concat!("kq ", env!("CARGO_PKG_VERSION")).to_owned(),
        node_name: Sought::found("--node-name", name.to_owned()),
        kubelet: Sought::failed("/proc", &*reason),
        kubelet_config: match wants.kubelet_config {
            true => Sought::failed("the kubelet's configuration", &*reason),
            false => Sought::default(),
        },
        node,
        pods,
        runtime,
        cgroups: match wants.tree {
            Some(_) => Sought::failed("the cgroups", &*reason),
            None => Sought::default(),
        },
        image_records: match wants.image_records {
            true => Sought::failed("the records of images", &*reason),
            false => Sought::default(),
        },
        stats_summary: match wants.stats_summary {
            true => Sought::failed("the kubelet's summary", &*reason),
            false => Sought::default(),
        },
        devices: (wants.devices != DevicesWanted::NONE).then(|| DeviceFacts {
            checkpoint: match wants.devices.checkpoint {
                true => Sought::failed("the device checkpoint", &*reason),
                false => Sought::default(),
            },
            pod_resources: match wants.devices.pod_resources {
                true => Sought::failed("the pod-resources API", &*reason),
                false => Sought::default(),
            },
        }),
        ..Snapshot::default()
    })
}

//! The cost of admitting a pod, for each node of a cluster.

use super::AdmissionOptions;
use super::cluster_nodes::Cluster;
use anyhow::anyhow;
use kq_admission::preemption::{ClusterPreemption, NodeAnswer, NodeStanding, why_critical};
use kq_answer::{Assumption, Basis, Failure};
use kq_api::api_server::{ApiError, ApiServer};
use kq_core::question::admission::{AdmissionNode, Detail, Planned, plan, sort};
use kq_facts::kubelet_pods::as_of_kubelet;
use kq_facts::lookup::{Lookup, Sourced};
use kq_facts::node::Node;
use kq_facts::node_list::ListedNode;
use kq_facts::node_object::NodeObject;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::is_file;
use kq_facts::snapshot::{PodSource, RecordedPods, Snapshot};
use kq_io::clock::now;
use kq_k8s::manifest::{Loaded, load};
use kq_k8s::pod::Pod;
use kq_k8s::version::KubeletVersion;
use std::time::Duration;

/// The part of the question that is the same for all nodes.
struct ClusterQuery<'a> {
    /// The pod, bound to no node.
    pod: Pod,
    /// The options of each node's kubelet.
    overrides: &'a Overrides,
    /// When the facts were read.
    now: String,
}

/// Explains which pods the kubelet of each node of a cluster would preempt for a pod; the cheapest node comes first.
/// `progress` is called with the number of finished nodes, and of all.
///
/// # Errors
///
/// Fails where the nodes are unknown, for a pod that does not exist, and for options about a single node.
pub fn cluster_preemption(
    options: &AdmissionOptions,
    name: &str,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<ClusterPreemption, Failure> {
    refuse_flags_of_one_node(options)?;
    let mut basis = Basis::default();
    let mut cluster = Cluster::new(options);
    let nodes = cluster.nodes(&mut basis)?;
    let mut pods = cluster.pods_of_files()?;
    let mut pod = match is_file(name) {
        true => options.pod_of_file(name, &mut basis)?,
        false => cluster.pod(name, pods.as_ref(), &mut basis)?,
    };
    options.set_priority(&mut pod, &mut basis);
    let own = std::mem::take(&mut pod.spec.node_name);
    basis.assume(match own.as_str() {
        "" => "the pod counts as bound to each node in turn".to_owned(),
        own => format!(
            "the pod counts as bound to each node in turn: its spec.nodeName {own} is ignored"
        ),
    });
    basis.assume(match options.overrides.is_any_of_kubelet() {
        true => "every kubelet has the version, gates and configuration of the flags; the rest is \
                 the default of its version"
            .to_owned(),
        false => "every kubelet has the default feature gates and configuration of its version: \
                  those of other nodes are unknown"
            .to_owned(),
    });
    basis.assume("no container runtime is queried: pods are as the API server has them".to_owned());
    let query = ClusterQuery { pod, overrides: &options.overrides, now: now() };
    let answers = match &mut pods {
        Some(found) => {
            let mut by_node = found.by_node(&nodes, &mut basis);
            let of_node = |node: &ListedNode| {
                let value = by_node.remove(&node.name).unwrap_or_default();
                query.answer(node, Sourced { source: found.source.clone(), value })
            };
            nodes.iter().map(of_node).collect()
        }
        None => query.query_each(cluster.server()?, &nodes, options.node.timeout, progress),
    };
    let critical = why_critical(&query.pod);
    Ok(ClusterPreemption::new(&query.pod, critical, answers, basis))
}

/// Refuses options for a single node: they would change nothing.
fn refuse_flags_of_one_node(options: &AdmissionOptions) -> Result<(), Failure> {
    let node = &options.node;
    let of_one = [
        (!options.without.is_empty(), "--without"),
        (node.snapshot.is_some(), "--snapshot"),
        (node.host_root.is_some(), "--host-root"),
        (node.pods_from.is_some(), "--pods-from"),
        (node.node_name.is_some(), "--node-name"),
        (node.kubelet_url.is_some(), "--kubelet-url"),
        (node.kubelet_token_file.is_some(), "--kubelet-token-file"),
        (node.kubelet_client_certificate.is_some(), "--kubelet-client-certificate"),
        (node.kubelet_certificate_authority.is_some(), "--kubelet-certificate-authority"),
        (node.kubelet_insecure_skip_tls_verify, "--kubelet-insecure-skip-tls-verify"),
        (node.runtime_endpoint.is_some(), "--runtime-endpoint"),
    ];
    let given = of_one.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag));
    match given.or_else(|| options.files.devices.first_flag()) {
        None => Ok(()),
        Some(flag) => {
            Err(Failure::usage(anyhow!("{flag} applies to one node, and --all-nodes to all")).hint(
                "all nodes are read from the API server (--kubeconfig, --context), or from \
                     --node-file with a list of nodes and --pods",
            ))
        }
    }
}

impl ClusterQuery<'_> {
    /// Returns the answer of a node with these pods.
    fn answer(&self, node: &ListedNode, pods: Sourced<RecordedPods>) -> NodeAnswer {
        let mut standing = standing(node);
        let mut basis = Basis::default();
        let object = match &node.object {
            Ok(object) => object.clone(),
            Err(reason) => return NodeAnswer::missing(&standing, reason.clone(), basis),
        };
        standing.kubelet_version.clone_from(&object.status.node_info.kubelet_version);
        if standing.kubelet_version.is_empty() && self.overrides.kubelet.version.is_none() {
            basis.assume(Assumption::new(
                "the newest kubelet that kq knows: the Node object has no version".to_owned(),
                ["--kubelet-version"],
            ));
        }
        let version = standing.kubelet_version.parse::<KubeletVersion>();
        if let (Err(error), None) = (version, self.overrides.kubelet.version)
            && !standing.kubelet_version.is_empty()
        {
            return NodeAnswer::missing(&standing, error.to_string(), basis);
        }
        match self.examine(&standing, object, pods, &mut basis) {
            Ok(answer) => answer,
            Err(failure) => NodeAnswer::missing(&standing, failure.reason(), basis),
        }
    }

    fn examine(
        &self,
        standing: &NodeStanding,
        object: NodeObject,
        pods: Sourced<RecordedPods>,
        basis: &mut Basis,
    ) -> Result<NodeAnswer, Failure> {
        let snapshot = Snapshot {
            taken_at: self.now.clone(),
            node: Lookup::found(format!("node {}", standing.name), object),
            pods: Lookup { found: Some(pods), tried: Vec::new() },
            ..Snapshot::default()
        };
        let overrides = Overrides { ignores_config: true, ..self.overrides.clone() };
        let node = Node::of(snapshot, overrides)?.checked()?;
        let rules = node.kubelet.rules;
        basis.warn_all(node.pod_notes.iter().cloned());
        basis.warn_all(node.notes.iter().cloned());
        let mut pod = self.pod.clone();
        as_of_kubelet(&mut pod, PodSource::Files, &rules);
        let about = AdmissionNode::of(node, std::mem::take(basis));
        let planned = plan(&about, &pod, |others| sort(others, &[]), Detail::BRIEF)?;
        let Planned { admission, preemption, victims, basis, .. } = planned;
        let mut answer = NodeAnswer::new(standing, &admission, preemption, &victims, basis);
        if answer.victims.iter().any(|victim| !victim.ties.is_empty()) {
            answer.basis.assume(
                "equal pods are in the order of their names; the kubelet's order is random"
                    .to_owned(),
            );
        }
        Ok(answer)
    }

    /// Queries the API server for the pods of each node, and answers for each.
    fn query_each(
        &self,
        server: &ApiServer,
        nodes: &[ListedNode],
        timeout: Duration,
        progress: impl Fn(usize, usize) + Sync,
    ) -> Vec<NodeAnswer> {
        let source = server.source();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let work = |at: usize, pages: Result<Vec<Vec<u8>>, ApiError>| {
            let node = nodes.get(at)?;
            let pages = match pages {
                Ok(pages) => pages,
                Err(error) => {
                    let reason = format!("its pods are unknown: {}", error.reason());
                    let mut standing = standing(node);
                    if let Ok(object) = &node.object {
                        let version = &object.status.node_info.kubelet_version;
                        standing.kubelet_version.clone_from(version);
                    }
                    return Some(NodeAnswer::missing(&standing, reason, Basis::default()));
                }
            };
            let mut loaded = Loaded::default();
            for page in pages {
                loaded.append(load("the API server", &page));
            }
            let value = RecordedPods {
                source: PodSource::ApiServer,
                left_out: loaded.problems.iter().map(ToString::to_string).collect(),
                pods: loaded.pods,
                with_probes: true,
                with_labels: true,
                notes: Vec::new(),
            };
            Some(self.answer(node, Sourced { source: source.clone(), value }))
        };
        let answers =
            server.pods_of_each(&names, timeout, work, |done| progress(done, nodes.len()));
        answers.into_iter().flatten().collect()
    }
}

fn standing(node: &ListedNode) -> NodeStanding {
    NodeStanding {
        name: node.name.clone(),
        unschedulable: node.unschedulable,
        ready: node.ready,
        kubelet_version: String::new(),
    }
}

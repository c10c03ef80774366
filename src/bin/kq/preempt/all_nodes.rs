//! `kq preempt explain --all-nodes`: each node of the cluster is asked, and the cheapest comes first.

use super::cluster::Cluster;
use super::explain::sort;
use crate::admission_node::{AdmissionArgs, AdmissionNode, Detail, Planned, as_of_kubelet, plan};
use crate::exit::{Code, Failure, note, tell, warn};
use crate::form::Form;
use crate::kubelet_node::KubeletNode;
use crate::pod_selectors::is_file;
use crate::progress::Progress;
use anyhow::anyhow;
use kq::answer::{Assumption, Basis};
use kq::edge::api_server::{ApiError, ApiServer};
use kq::edge::clock::now;
use kq::facts::lookup::{Lookup, Sourced};
use kq::facts::node_list::ListedNode;
use kq::facts::node_object::NodeObject;
use kq::facts::snapshot::{PodSource, RecordedPods, Snapshot};
use kq::k8s::manifest::{Loaded, load};
use kq::k8s::pod::Pod;
use kq::preemption::cluster_view::{table, wide};
use kq::preemption::{ClusterPreemption, NodeAnswer, NodeStanding, why_critical};
use std::collections::BTreeMap;
use std::time::Duration;

/// The question, and what of it is the same for all nodes.
struct Question<D> {
    /// The pod, on no node.
    pod: Pod,
    /// Describes the kubelet of a node.
    describe: D,
    /// The moment of everything.
    now: String,
    /// The flags say the version.
    knows_version: bool,
}

/// Asks every node what it would do with a pod.
pub fn explain(args: &AdmissionArgs, name: &str, output: Form) -> Result<Code, Failure> {
    refuse_flags_of_one_node(args)?;
    let mut basis = Basis::default();
    let mut cluster = Cluster::new(args);
    let nodes = cluster.nodes(&mut basis)?;
    let mut pods = cluster.pods_of_files()?;
    let mut pod = match is_file(name) {
        true => args.pod_of_file(name, &mut basis)?,
        false => cluster.pod(name, pods.as_ref(), &mut basis)?,
    };
    args.set_priority(&mut pod, &mut basis);
    let own = std::mem::take(&mut pod.spec.node_name);
    basis.assume(match own.as_str() {
        "" => "each node is asked as if the pod were bound to it".to_owned(),
        own => format!(
            "each node is asked as if the pod were bound to it: its spec.nodeName {own} does not count"
        ),
    });
    let describe = args.kubelet.of_nodes()?;
    basis.assume(match args.kubelet.is_told() {
        true => "every kubelet has the version, gates and configuration that the flags say; the \
                 rest is the default of its version"
            .to_owned(),
        false => {
            "every kubelet has the feature gates and the configuration that are the default of \
                  its version: those of other nodes are not known"
                .to_owned()
        }
    });
    basis.assume("no container runtime is asked: pods are as the API server has them".to_owned());
    let knows_version = args.kubelet.knows_version();
    let question = Question { pod, describe, now: now(), knows_version };
    let answers = match &mut pods {
        Some(found) => {
            let mut by_node = found.by_node(&nodes, &mut basis);
            let of_node = |node: &ListedNode| {
                let value = by_node.remove(&node.name).unwrap_or_default();
                question.answer(node, Sourced { source: found.source.clone(), value })
            };
            nodes.iter().map(of_node).collect()
        }
        None => question.ask_each(cluster.server()?, &nodes, args.kubelet.sources.timeout),
    };
    let critical = why_critical(&question.pod);
    let answer = ClusterPreemption::new(&question.pod, critical, answers, basis);
    output.write(&answer, table, wide)?;
    if output.is_for_people() {
        tell(&answer.basis);
        tell_of_nodes(&answer.nodes);
    }
    Ok(match () {
        () if answer.lacks_facts() => Code::Missing,
        () if answer.is_taken() => Code::Answered,
        () => Code::No,
    })
}

/// Flags that name something of a single node would change nothing here.
fn refuse_flags_of_one_node(args: &AdmissionArgs) -> Result<(), Failure> {
    let sources = &args.kubelet.sources;
    let of_one = [
        (!args.without.is_empty(), "--without"),
        (sources.snapshot.is_some(), "--snapshot"),
        (sources.host_root.is_some(), "--host-root"),
        (sources.pods_from.is_some(), "--pods-from"),
        (sources.node_name.is_some(), "--node-name"),
        (sources.kubelet_url.is_some(), "--kubelet-url"),
        (sources.kubelet_token_file.is_some(), "--kubelet-token-file"),
        (sources.kubelet_client_certificate.is_some(), "--kubelet-client-certificate"),
        (sources.kubelet_certificate_authority.is_some(), "--kubelet-certificate-authority"),
        (sources.kubelet_insecure_skip_tls_verify, "--kubelet-insecure-skip-tls-verify"),
        (sources.runtime_endpoint.is_some(), "--runtime-endpoint"),
    ];
    let given = of_one.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag));
    match given.or_else(|| args.device_file()) {
        None => Ok(()),
        Some(flag) => {
            Err(Failure::usage(anyhow!("{flag} is about one node, and --all-nodes about all"))
                .hint(
                    "all nodes are read from the API server (--kubeconfig, --context), or from \
                     --node-file with a list of nodes and --pods",
                ))
        }
    }
}

fn shown(notes: &[impl ToString]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

/// Tells what single nodes' answers rest on: each text once, with the nodes.
fn tell_of_nodes(nodes: &[NodeAnswer]) {
    let of = |texts: fn(&Basis) -> Vec<String>, say: &dyn Fn(&str)| {
        let mut of_text: Vec<(String, Vec<&str>)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for node in nodes {
            for text in texts(&node.basis) {
                let place = *places.entry(text.clone()).or_insert_with(|| {
                    of_text.push((text, Vec::new()));
                    of_text.len() - 1
                });
                if let Some((_, nodes)) = of_text.get_mut(place) {
                    nodes.push(&node.node);
                }
            }
        }
        for (text, nodes) in of_text {
            let which = match nodes.as_slice() {
                [one] => format!("node {one}"),
                [one, other] => format!("nodes {one}, {other}"),
                [one, other, more @ ..] => {
                    format!("nodes {one}, {other} and {} more", more.len())
                }
                [] => continue,
            };
            say(&format!("{which}: {text}"));
        }
    };
    of(|basis| shown(&basis.assumptions), &|text| note("assumed", text));
    of(|basis| shown(&basis.warnings), &warn);
    of(|basis| shown(&basis.missing), &|text| note("missing", text));
}

impl<D: Fn(Snapshot) -> Result<KubeletNode, Failure>> Question<D> {
    /// Says what becomes of the pod on a node with these pods.
    fn answer(&self, node: &ListedNode, pods: Sourced<RecordedPods>) -> NodeAnswer {
        let mut standing = standing(node);
        let mut basis = Basis::default();
        let object = match &node.object {
            Ok(object) => object.clone(),
            Err(reason) => return NodeAnswer::missing(&standing, reason.clone(), basis),
        };
        standing.kubelet_version.clone_from(&object.status.node_info.kubelet_version);
        if standing.kubelet_version.is_empty() && !self.knows_version {
            basis.assume(Assumption::new(
                "the newest kubelet that kq knows: the Node object does not say which it is"
                    .to_owned(),
                ["--kubelet-version"],
            ));
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
        let mut snapshot = Snapshot {
            taken_at: self.now.clone(),
            node: Lookup::found(format!("node {}", standing.name), object),
            pods: Lookup { found: Some(pods), tried: Vec::new() },
            ..Snapshot::default()
        };
        basis.warn_all(snapshot.pods.value().into_iter().flat_map(|it| it.notes.clone()));
        // What decides about defaults is the kubelet's version, and that is described first.
        let loaded = std::mem::take(&mut snapshot.pods);
        let mut node = (self.describe)(snapshot)?;
        node.snapshot.pods = loaded;
        let rules = node.kubelet.rules;
        if let Some(found) = &mut node.snapshot.pods.found {
            let source = found.value.source;
            let pods = found.value.pods.iter_mut().map(|loaded| &mut loaded.pod);
            pods.for_each(|pod| as_of_kubelet(pod, source, &rules));
        }
        basis.warn_all(node.notes.iter().cloned());
        let mut pod = self.pod.clone();
        as_of_kubelet(&mut pod, PodSource::Files, &rules);
        let about = AdmissionNode::of(node, std::mem::take(basis));
        let planned = plan(&about, &pod, |others| sort(others, &[]), Detail::BRIEF)?;
        let Planned { preemption, victims, basis, .. } = planned;
        let mut answer = NodeAnswer::new(standing, preemption, &victims, basis);
        if answer.victims.iter().any(|victim| !victim.ties.is_empty()) {
            answer.basis.assume(
                "among equals the pods are in the order of their names; the kubelet's is random"
                    .to_owned(),
            );
        }
        Ok(answer)
    }

    /// Asks the API server for the pods of each node, and each node what becomes of the pod.
    fn ask_each(
        &self,
        server: &ApiServer,
        nodes: &[ListedNode],
        timeout: Duration,
    ) -> Vec<NodeAnswer>
    where
        D: Sync,
    {
        let source = format!("the API server {}", server.url());
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let progress = Progress::of(nodes.len(), "nodes");
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
                notes: Vec::new(),
            };
            Some(self.answer(node, Sourced { source: source.clone(), value }))
        };
        let answers = server.pods_of_each(&names, timeout, work, |done| progress.show(done));
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

//! The nodes of a cluster and their pods, read from files or else from the API server.

use super::AdmissionOptions;
use crate::{of_file, of_files};
use anyhow::anyhow;
use kq_answer::{Basis, Failure, Missing, MissingFact, Warning, WarningCode};
use kq_api::api_server::ApiServer;
use kq_facts::input_name::shown;
use kq_facts::lookup::Sourced;
use kq_facts::node_list::{ListedNode, read_node_list};
use kq_facts::pod_selector::{PodSelector, is_uid, several_pods};
use kq_facts::snapshot::RecordedPods;
use kq_io::kubelet_files::read_node_list_file;
use kq_k8s::manifest::{Loaded, load};
use kq_k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// The pods of all nodes, from files.
pub(super) struct FiledPods {
    pub(super) source: String,
    recorded: RecordedPods,
    /// The pods that were read more than once.
    twice: Vec<Warning>,
}

impl FiledPods {
    /// Assigns the pods to their nodes, and reports those on none of them.
    pub(super) fn by_node(
        &mut self,
        nodes: &[ListedNode],
        basis: &mut Basis,
    ) -> BTreeMap<String, RecordedPods> {
        let source = self.recorded.source;
        let of_node = |node: &ListedNode| {
            (
                node.name.clone(),
                RecordedPods { source, with_probes: true, ..RecordedPods::default() },
            )
        };
        let mut by_node: BTreeMap<String, RecordedPods> = nodes.iter().map(of_node).collect();
        let (mut bound_nowhere, mut elsewhere) = (0, BTreeSet::new());
        for loaded in std::mem::take(&mut self.recorded.pods) {
            match by_node.get_mut(&loaded.pod.spec.node_name) {
                Some(recorded) => recorded.pods.push(loaded),
                None if loaded.pod.spec.node_name.is_empty() => bound_nowhere += 1,
                None => _ = elsewhere.insert(loaded.pod.spec.node_name.clone()),
            }
        }
        if bound_nowhere > 0 {
            basis.assume(format!(
                "{bound_nowhere} of the pods without spec.nodeName: on no node, so not counted"
            ));
        }
        if let Some(first) = elsewhere.first() {
            let text = format!(
                "nodes with pods that are not in the list of nodes: {}, such as {first}",
                elsewhere.len()
            );
            basis.warn(Warning::new(WarningCode::PodsOfOtherNodes, text));
        }
        for problem in &self.recorded.left_out {
            let text = format!("a pod that could not be read: {problem}");
            basis.lack(Missing::new(MissingFact::UnreadPod, text));
        }
        basis.warn_all(WarningCode::PodManifest.each(&self.recorded.notes));
        basis.warn_all(self.twice.iter().cloned());
        by_node
    }
}

/// The source of nodes and pods.
pub(super) struct Cluster<'a> {
    options: &'a AdmissionOptions,
    server: Option<ApiServer>,
}

impl<'a> Cluster<'a> {
    /// Returns a source that has read nothing yet.
    pub(super) fn new(options: &'a AdmissionOptions) -> Self {
        Self { options, server: None }
    }

    /// Returns the API server, the source of everything that no file has.
    pub(super) fn server(&mut self) -> Result<&ApiServer, Failure> {
        let server = match self.server.take() {
            Some(server) => server,
            None => self.options.node.connect()?,
        };
        Ok(self.server.insert(server))
    }

    /// Reads the nodes.
    pub(super) fn nodes(&mut self, basis: &mut Basis) -> Result<Vec<ListedNode>, Failure> {
        let timeout = self.options.node.timeout;
        let (nodes, source) = match &self.options.files.node {
            Some(file) => {
                let mut notes = Vec::new();
                let nodes = read_node_list_file(file, &mut notes).map_err(of_file)?;
                basis.warn_all(notes);
                (nodes, shown(file).to_owned())
            }
            None => {
                let server = self.server()?;
                let source = server.source();
                let mut nodes = Vec::new();
                for page in server.nodes(timeout)? {
                    let listed = read_node_list(&page)
                        .map_err(|error| Failure::missing(anyhow!("{source}: nodes: {error}")))?;
                    nodes.extend(listed);
                }
                (nodes, source)
            }
        };
        if nodes.is_empty() {
            return Err(Failure::missing(anyhow!("{source}: there are no nodes")));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = nodes.iter().find(|node| !names.insert(&node.name)) {
            let error = anyhow!("{source}: node {} is listed twice", twice.name);
            return Err(Failure::usage(error));
        }
        Ok(nodes)
    }

    /// Reads the pods of the given files; `None`: there are no files.
    pub(super) fn pods_of_files(&self) -> Result<Option<FiledPods>, Failure> {
        let spec = &self.options.node;
        if spec.pods.is_empty() {
            return Ok(None);
        }
        let Sourced { source, mut value } = of_files(spec)?;
        let twice = value.keep_one_of_a_uid();
        Ok(Some(FiledPods { source, recorded: value, twice }))
    }

    /// Returns the pod of a name: from the files, else from the API server.
    pub(super) fn pod(
        &mut self,
        name: &str,
        filed: Option<&FiledPods>,
        basis: &mut Basis,
    ) -> Result<Pod, Failure> {
        let selector = PodSelector::new(name);
        let is_meant = |pod: &&Pod| selector.is_of(pod);
        let asked = match filed {
            Some(_) => Loaded::default(),
            None if is_uid(name) => {
                let error = anyhow!("{name} is a UID, and the API server is queried by name");
                return Err(Failure::usage(error).hint("use NAMESPACE/NAME"));
            }
            None => {
                let timeout = self.options.node.timeout;
                let bare = name.rsplit('/').next().unwrap_or(name);
                let mut loaded = Loaded::default();
                for page in self.server()?.pods_of_name(selector.namespace(), bare, timeout)? {
                    loaded.append(load("the API server", &page));
                }
                loaded
            }
        };
        basis.lack_all(
            asked.problems.iter().map(|it| {
                Missing::new(MissingFact::UnreadPod, format!("a pod of that name: {it}"))
            }),
        );
        let filed = filed.into_iter().flat_map(|filed| &filed.recorded.pods);
        let meant: Vec<&Pod> =
            filed.chain(&asked.pods).map(|loaded| &*loaded.pod).filter(is_meant).collect();
        match &meant[..] {
            [pod] => Ok((*pod).clone()),
            [_, _, ..] => Err(several_pods(name, meant)),
            [] => Err(Failure::not_found(anyhow!("no pod {name} in this cluster"), None)
                .hint("for a file, give its path, such as ./pod.yaml")),
        }
    }
}

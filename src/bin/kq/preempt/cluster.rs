//! Where the nodes of a cluster and their pods are read: files that are named, else the API server.

use crate::admission_node::AdmissionArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use kq::answer::Basis;
use kq::edge::api_server::ApiServer;
use kq::edge::input::shown;
use kq::edge::kubelet_files::read_node_list_file;
use kq::facts::lookup::Sourced;
use kq::facts::node_list::{ListedNode, read_node_list};
use kq::facts::pod_selector::{PodSelector, is_uid};
use kq::facts::snapshot::RecordedPods;
use kq::facts::workloads::effective_uid;
use kq::k8s::manifest::{Loaded, load};
use kq::k8s::pod::Pod;
use kq::node::of_file;
use kq::node::of_files;
use std::collections::{BTreeMap, BTreeSet};

/// The pods of all nodes, from files.
pub struct FiledPods {
    /// The files.
    pub source: String,
    recorded: RecordedPods,
}

impl FiledPods {
    /// Shares the pods out among their nodes, and says which are on none of them.
    pub fn by_node(
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
                None => _ = elsewhere.insert(loaded.pod.spec.node_name),
            }
        }
        if bound_nowhere > 0 {
            basis.assume(format!(
                "{bound_nowhere} of the pods without spec.nodeName: on no node, so that they do not count"
            ));
        }
        if let Some(first) = elsewhere.first() {
            basis.warn(format!(
                "nodes that have pods and are not in the list of nodes: {}, such as {first}",
                elsewhere.len()
            ));
        }
        for problem in &self.recorded.left_out {
            basis.lack(format!("a pod that could not be read: {problem}"));
        }
        basis.warn_all(self.recorded.notes.iter().cloned());
        by_node
    }
}

/// Where nodes and pods are read.
pub struct Cluster<'a> {
    args: &'a AdmissionArgs,
    server: Option<ApiServer>,
}

impl<'a> Cluster<'a> {
    /// Nothing is read yet.
    pub fn new(args: &'a AdmissionArgs) -> Self {
        Self { args, server: None }
    }

    /// Returns the API server, which is asked for what no file says.
    pub fn server(&mut self) -> Result<&ApiServer, Failure> {
        let server = match self.server.take() {
            Some(server) => server,
            None => {
                let sources = &self.args.kubelet.sources;
                sources.spec().connect()?
            }
        };
        Ok(self.server.insert(server))
    }

    /// Reads the nodes.
    pub fn nodes(&mut self, basis: &mut Basis) -> Result<Vec<ListedNode>, Failure> {
        let timeout = self.args.kubelet.sources.timeout;
        let (nodes, source) = match &self.args.node_file {
            Some(file) => {
                let mut notes = Vec::new();
                let nodes = read_node_list_file(file, &mut notes).map_err(of_file)?;
                basis.warn_all(notes);
                (nodes, shown(file).to_owned())
            }
            None => {
                let server = self.server()?;
                let source = format!("the API server {}", server.url());
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
            let error = anyhow!("{source}: node {} is there twice", twice.name);
            return Err(Failure::usage(error));
        }
        Ok(nodes)
    }

    /// Reads the pods of the files that are named; `None`: there are none.
    pub fn pods_of_files(&self) -> Result<Option<FiledPods>, Failure> {
        let sources = &self.args.kubelet.sources;
        if sources.pods.is_empty() {
            return Ok(None);
        }
        let Sourced { source, mut value } = of_files(&sources.spec())?;
        let twice = value.keep_one_of_a_uid();
        value.notes.extend(twice);
        Ok(Some(FiledPods { source, recorded: value }))
    }

    /// Returns the pod of a name: of the files, else of the API server.
    pub fn pod(
        &mut self,
        name: &str,
        filed: Option<&FiledPods>,
        basis: &mut Basis,
    ) -> Result<Pod, Failure> {
        let selector = PodSelector::new(name);
        let is_meant = |pod: &&Pod| {
            let metadata = &pod.metadata;
            selector.matches(&metadata.namespace, &metadata.name, effective_uid(pod))
        };
        let asked = match filed {
            Some(_) => Loaded::default(),
            None if is_uid(name) => {
                let error = anyhow!("{name} is a UID, and the API server is asked by name");
                return Err(Failure::usage(error).hint("say NAMESPACE/NAME"));
            }
            None => {
                let timeout = self.args.kubelet.sources.timeout;
                let bare = name.rsplit('/').next().unwrap_or(name);
                let mut loaded = Loaded::default();
                for page in self.server()?.pods_of_name(selector.namespace(), bare, timeout)? {
                    loaded.append(load("the API server", &page));
                }
                loaded
            }
        };
        basis.lack_all(asked.problems.iter().map(|it| format!("a pod of that name: {it}")));
        let filed = filed.into_iter().flat_map(|filed| &filed.recorded.pods);
        let mut meant = filed.chain(&asked.pods).map(|loaded| &loaded.pod).filter(is_meant);
        match (meant.next(), meant.next()) {
            (Some(pod), None) => Ok(pod.clone()),
            (Some(_), Some(_)) => Err(Failure::usage(anyhow!("{name} means more than one pod"))
                .hint("say NAMESPACE/NAME")),
            (None, _) => Err(Failure::not_found(anyhow!("no pod {name} in this cluster"), None)
                .hint("a file is named by its path, such as ./pod.yaml")),
        }
    }
}

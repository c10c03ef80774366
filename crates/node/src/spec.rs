//! The node and the sources of facts about it: plain data, which the binary makes from flags.

use super::source_order::{NodeFlags, NodeInQuestion, RootFolder, SourceFlags};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_api::api_server::{ApiError, ApiServer, KubeconfigChoice, KubeconfigPlace, connect};
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::input_name::shown;
use kq_facts::live::kubelet_root;
use kq_facts::snapshot::{PodSource, Snapshot};
use kq_io::host::is_running;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// The node and the sources of facts about it. The default is the machine that kq runs on, with all its
/// sources.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// A stored snapshot: a file, or `-` for standard input. Besides it, kq reads only named files.
    pub snapshot: Option<String>,
    /// This machine is queried even if files are named.
    pub live: bool,
    /// The folder of the node's root; `None`: `/host` in a debugging container, else `/`.
    pub host_root: Option<PathBuf>,
    /// Files with the pods of the node; `-` is standard input.
    pub pods: Vec<String>,
    /// The only source of pods.
    pub pods_from: Option<PodSource>,
    /// The node's name to the API server; `None`: the kubelet's, else the host's.
    pub node_name: Option<String>,
    /// The kubeconfig; `None`: that of the environment, else the kubelet's own.
    pub kubeconfig: Option<PathBuf>,
    /// What is chosen in the kubeconfig.
    pub choice: KubeconfigChoice,
    /// The kubelet's API; `None`: as its configuration says.
    pub kubelet_url: Option<String>,
    /// A file with a bearer token for the kubelet's API.
    pub kubelet_token_file: Option<PathBuf>,
    /// A file with a client certificate for the kubelet's API, in PEM.
    pub kubelet_client_certificate: Option<PathBuf>,
    /// The file with its key; `None`: the key is in the same file.
    pub kubelet_client_key: Option<PathBuf>,
    /// A file with the authority of the kubelet's certificate, in PEM.
    pub kubelet_certificate_authority: Option<PathBuf>,
    /// The certificate of the kubelet's server is not verified.
    pub kubelet_insecure_skip_tls_verify: bool,
    /// The endpoint of the container runtime; `None`: as crictl and the kubelet find it.
    pub runtime_endpoint: Option<String>,
    /// `cgroupRoot`, over the kubelet's configuration.
    pub cgroup_root: Option<String>,
    /// The variables of the environment that name sources.
    pub environment: Environment,
    /// The time limit of each source.
    pub timeout: Duration,
}

/// The variables of the environment that name sources; `None`: not set, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `KUBECONFIG`
    pub kubeconfig: Option<String>,
    /// `HOME`; on Windows `USERPROFILE`.
    pub home: Option<String>,
    /// `CONTAINER_RUNTIME_ENDPOINT`
    pub container_runtime_endpoint: Option<String>,
    /// `CRI_CONFIG_FILE`
    pub cri_config_file: Option<String>,
}

impl Default for NodeSpec {
    fn default() -> Self {
        Self {
            snapshot: None,
            live: false,
            host_root: None,
            pods: Vec::new(),
            pods_from: None,
            node_name: None,
            kubeconfig: None,
            choice: KubeconfigChoice::default(),
            kubelet_url: None,
            kubelet_token_file: None,
            kubelet_client_certificate: None,
            kubelet_client_key: None,
            kubelet_certificate_authority: None,
            kubelet_insecure_skip_tls_verify: false,
            runtime_endpoint: None,
            cgroup_root: None,
            environment: Environment::default(),
            timeout: Duration::from_secs(3),
        }
    }
}

impl NodeSpec {
    /// Returns the node in question. `files`: files besides those of the pods replace facts of the node;
    /// `only_on_node`: no file can replace the facts.
    pub fn node_in_question(&self, files: bool, only_on_node: bool) -> NodeInQuestion {
        let kind = |root: &PathBuf| match is_running(root) {
            true => RootFolder::Running,
            false => RootFolder::Copy,
        };
        NodeInQuestion::of(NodeFlags {
            live: self.live || self.pods_from.is_some(),
            root: self.host_root.as_ref().map(kind),
            files: files || !self.pods.is_empty(),
            only_on_node,
        })
    }

    /// Returns where the cgroup of all pods may be, one place for each cgroup driver.
    pub fn kubelet_roots(&self, config: Option<&Value>) -> Vec<CgroupPath> {
        let (root, per_qos) = kubelet_root(self.cgroup_root.as_deref(), config);
        kubelet_roots(&root, per_qos).into_iter().map(|(_, path)| path).collect()
    }

    /// Returns the kubeconfig that is named, else the usual places.
    fn kubeconfig_place(&self) -> KubeconfigPlace<'_> {
        self.kubeconfig.as_deref().map_or(KubeconfigPlace::Usual, KubeconfigPlace::Named)
    }

    /// Connects to the API server of the named kubeconfig, else of the default one.
    ///
    /// # Errors
    ///
    /// Fails where no kubeconfig is usable, and where the server cannot be reached.
    pub fn connect(&self) -> Result<ApiServer, ApiError> {
        connect(self.kubeconfig_place(), &self.choice, self.timeout)
    }

    /// Rejects a snapshot of another node than the named one.
    ///
    /// # Errors
    ///
    /// Fails if the snapshot names another node.
    pub fn check_stored(&self, snapshot: &Snapshot) -> Result<(), Failure> {
        let (Some(path), Some(asked)) = (&self.snapshot, &self.node_name) else { return Ok(()) };
        let object = snapshot.node.value().map(|object| &object.metadata.name);
        let own: Vec<&String> = snapshot.node_name.value().into_iter().chain(object).collect();
        match own.first() {
            Some(first) if !own.contains(&asked) => {
                let error = anyhow!("--node-name {asked}: {} is of node {first}", shown(path));
                Err(Failure::usage(error).hint("a snapshot is of one node: leave --node-name out"))
            }
            _ => Ok(()),
        }
    }

    /// Returns which sources are named, for their order.
    pub(super) fn source_flags(&self, kubeconfig: bool) -> SourceFlags {
        SourceFlags {
            pod_files: !self.pods.is_empty(),
            pods_from: self.pods_from,
            kubeconfig,
            ..SourceFlags::default()
        }
    }
}

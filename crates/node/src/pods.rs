//! The pods of the node, and its Node object.

use super::config::{KubeletConfig, KubeletServer};
use super::events;
use super::source_order::{NodeInQuestion, NodeSource, SourceFlags, node_sources, pod_sources};
use super::spec::NodeSpec;
use kq_answer::Failure;
use kq_api::api_server::{ApiServer, KubeconfigPlace, connect};
use kq_facts::distribution::{Place, rows};
use kq_facts::events::PodEvent;
use kq_facts::fact_key::FactKey;
use kq_facts::host::HostFacts;
use kq_facts::input_name::shown;
use kq_facts::kubelet_process::KubeletProcess;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::needs::Needs;
use kq_facts::node_object::NodeObject;
use kq_facts::runtime::RuntimeFacts;
use kq_facts::snapshot::{PodSource, RecordedPods, Snapshot};
use kq_io::clock::{steady, within};
use kq_io::host::{LIMIT, ReadError, read_static_manifests};
use kq_io::input::read_input;
use kq_io::trust::read_trusted;
use kq_k8s::manifest::{Loaded, NoteKind, load};
use kq_k8s::priority::mark_static;
use kq_k8s::yaml;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The facts known before the pods are requested.
pub struct PodsQuestion<'a> {
    /// The flags.
    pub spec: &'a NodeSpec,
    /// Which node it is about.
    pub node: NodeInQuestion,
    /// Where the node's root is.
    pub root: &'a Path,
    /// The facts of the machine.
    pub host: &'a HostFacts,
    /// The kubelet: one that runs, or one that would be started.
    pub process: Option<&'a KubeletProcess>,
    pub runs: bool,
    pub settings: &'a KubeletConfig,
    /// The Node object is from an option.
    pub has_node_file: bool,
    /// The node's name.
    pub node_name: Option<&'a str>,
}

/// Requests the Node object and the pods.
pub fn gather(
    question: &PodsQuestion<'_>,
    needs: Needs,
    runtime: &Lookup<RuntimeFacts>,
) -> Result<OfServer, Failure> {
    let needs_pods = needs.needs_pods(runtime);
    let given = SourceFlags {
        node_file: question.has_node_file,
        ..question.spec.source_flags(!question.kubeconfigs().is_empty())
    };
    let order = match question.node.has_root() {
        true => pod_sources(given),
        false => of_named(pod_sources(given), question.spec),
    };
    let asks_server = (needs_pods && order.contains(&PodSource::ApiServer))
        || (needs.has(FactKey::Node) && node_sources(given).contains(&NodeSource::ApiServer));
    let (server, node) = match asks_server {
        true => question.node(),
        false => (Err(not_queried()), Lookup::default()),
    };
    let mut pods = Lookup::default();
    if needs_pods {
        for source in order {
            match question.ask(source, &server, runtime)? {
                Ok(found) => {
                    pods.found = Some(found);
                    break;
                }
                Err(tried) => pods.tried.extend(tried),
            }
        }
    }
    if pods.found.is_none() && pods.tried.is_empty() && needs_pods {
        pods.tried.extend(not_given("this machine", question.node));
    }
    let mut node = if needs.has(FactKey::Node) { node } else { Lookup::default() };
    if needs.has(FactKey::Node) && node.was_not_queried() {
        node.tried.extend(not_given("the API server", question.node));
    }
    let events = match needs.has(FactKey::Events) {
        true => events::gather(&server, &pods, question.node_name, question.spec.timeout),
        false => Lookup::default(),
    };
    Ok(OfServer { node, pods, events })
}

/// The Node object and the pods, from the API server or another source.
pub struct OfServer {
    pub node: Lookup<NodeObject>,
    /// The pods of the node.
    pub pods: Lookup<RecordedPods>,
    /// The events about them.
    pub events: Lookup<Vec<PodEvent>>,
}

/// Keeps the sources of pods that a flag names.
fn of_named(order: Vec<PodSource>, spec: &NodeSpec) -> Vec<PodSource> {
    let is_named = |source: &PodSource| match source {
        PodSource::Files | PodSource::ApiServer => true,
        PodSource::Kubelet => spec.kubelet_url.is_some(),
        PodSource::StaticManifests => false,
        PodSource::Runtime => spec.runtime_endpoint.is_some(),
    };
    order.into_iter().filter(is_named).collect()
}

/// Records why a fact that no file has was not queried.
fn not_given(source: &str, node: NodeInQuestion) -> Option<FailedSource> {
    let reason = node.not_queried()?.to_owned();
    Some(FailedSource { source: source.to_owned(), reason })
}

/// The origin of the kubeconfig.
pub enum Kubeconfig {
    /// In a file that the operator named.
    File(PathBuf),
    /// In the files that the environment names.
    Environment(String),
    /// In the operator's folder on this machine, as for kubectl.
    Home(String),
    /// In a file of the node, by its path there.
    OfNode(String),
}

impl Kubeconfig {
    pub fn place<'a>(&'a self, root: &'a Path) -> KubeconfigPlace<'a> {
        match self {
            Self::File(path) => KubeconfigPlace::Named(path),
            // Several files are merged as kubectl merges them.
            Self::Environment(_) => KubeconfigPlace::Usual,
            Self::Home(path) => KubeconfigPlace::Home(path),
            Self::OfNode(path) => KubeconfigPlace::OfNode { root, path },
        }
    }

    /// Returns the name that it has in messages.
    pub fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Environment(paths) => format!("KUBECONFIG={paths}"),
            Self::Home(path) | Self::OfNode(path) => path.clone(),
        }
    }
}

fn not_queried() -> FailedSource {
    FailedSource { source: "the API server".to_owned(), reason: "not queried".to_owned() }
}

/// Returns the kubeconfigs to try, in kubectl's order: the named one, those of the environment, the one in the
/// operator's folder. The kubelet's own replaces the last, which may be of another cluster.
fn kubeconfigs(
    spec: &NodeSpec,
    node: NodeInQuestion,
    root: &Path,
    process: Option<&KubeletProcess>,
) -> Vec<Kubeconfig> {
    if let Some(named) = &spec.kubeconfig {
        return vec![Kubeconfig::File(named.clone())];
    }
    if !node.runs_here() {
        return Vec::new();
    }
    if let Some(paths) = &spec.environment.kubeconfig {
        return vec![Kubeconfig::Environment(paths.clone())];
    }
    let flag = process.and_then(|process| process.interpreted().kubeconfig);
    let usual = rows(Place::Kubeconfig).map(|row| row.path.to_owned());
    // An unreadable one counts as found: why it is not trusted is reported where it is read.
    let is_there = |path: &String| match read_trusted(root, path, LIMIT) {
        Ok(text) => !is_kubelet_config(&text),
        Err(error) => !matches!(error, ReadError::Absent | ReadError::Kind { .. }),
    };
    let of_node = flag.into_iter().chain(usual).find(is_there).map(Kubeconfig::OfNode);
    // Another user's file in it does not count: $HOME may be that user's while kq runs as root.
    let home = spec.environment.home.as_deref().map(|home| format!("{home}/.kube/config"));
    let home = home.filter(|path| read_trusted(Path::new("/"), path, LIMIT).is_ok());
    home.map(Kubeconfig::Home).into_iter().chain(of_node).collect()
}

/// Returns the kubeconfigs that the operator may use: the named one, else those of the environment, the one in the operator's
/// folder, and the administrator's on a control plane node. The kubelet's own is the node's.
pub fn kubeconfigs_of_operator(
    spec: &NodeSpec,
    node: NodeInQuestion,
    root: &Path,
) -> Vec<Kubeconfig> {
    let mut found = kubeconfigs(spec, node, root, None);
    if spec.kubeconfig.is_none() && node.runs_here() {
        found.retain(|it| !matches!(it, Kubeconfig::OfNode(_)));
        let admin = rows(Place::AdminKubeconfig).map(|row| row.path.to_owned());
        let is_believed = |path: &String| read_trusted(root, path, LIMIT).is_ok();
        found.extend(admin.filter(is_believed).map(Kubeconfig::OfNode));
    }
    found
}

/// Returns true for a configuration of the kubelet, which OpenShift has where kubeadm has the kubelet's kubeconfig,
/// `/etc/kubernetes/kubelet.conf` (`templates/worker/01-worker-kubelet/_base/files/kubelet.yaml` of its
/// machine-config-operator).
fn is_kubelet_config(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let kind = yaml::read(&text).ok().and_then(|read| Some(read.value.get("kind")?.clone()));
    kind.is_some_and(|kind| kind == "KubeletConfiguration")
}

/// Connects to the API server that the pods of this node are from. Where they are from elsewhere, the kubelet's own
/// kubeconfig counts: the one in the operator's folder may be of another cluster.
pub fn api_server(spec: &NodeSpec, snapshot: &Snapshot) -> Result<ApiServer, Failure> {
    let root = Path::new(&snapshot.host_root.path);
    let node = spec.node_in_question(false, false);
    let found = kubeconfigs(spec, node, root, snapshot.kubelet.value());
    let by = |kubeconfig: Option<&Kubeconfig>| {
        let place = kubeconfig.map_or(KubeconfigPlace::Usual, |found| found.place(root));
        connect(place, &spec.choice, spec.timeout)
    };
    let source = snapshot.pods.found.as_ref().map_or("", |found| found.source.as_str());
    let (last, before) = match found.split_last() {
        Some((last, before)) => (Some(last), before),
        None => (None, &[] as &[_]),
    };
    for kubeconfig in before {
        if let Ok(server) = by(Some(kubeconfig))
            && source == server.source()
        {
            return Ok(server);
        }
    }
    by(last).map_err(Failure::from)
}

impl PodsQuestion<'_> {
    fn kubeconfigs(&self) -> Vec<Kubeconfig> {
        kubeconfigs(self.spec, self.node, self.root, self.process)
    }

    /// Connects to the API server and requests the node; the Node object of another machine is rejected.
    fn node(&self) -> (Result<ApiServer, FailedSource>, Lookup<NodeObject>) {
        let found = self.kubeconfigs();
        let Some((last, before)) = found.split_last() else {
            return self.node_by(KubeconfigPlace::Usual, String::new());
        };
        let mut tried = Vec::new();
        for kubeconfig in before {
            match self.node_by(kubeconfig.place(self.root), kubeconfig.shown()) {
                (Ok(server), node) => return (Ok(server), node),
                (Err(_), node) => tried.extend(node.tried),
            }
        }
        let (server, mut node) = self.node_by(last.place(self.root), last.shown());
        node.tried.splice(0..0, tried);
        (server, node)
    }

    /// Does the same by one kubeconfig.
    fn node_by(
        &self,
        place: KubeconfigPlace<'_>,
        shown: String,
    ) -> (Result<ApiServer, FailedSource>, Lookup<NodeObject>) {
        let failed = |source: String, reason: String| {
            let tried = FailedSource { source, reason };
            (Err(tried.clone()), Lookup { found: None, tried: vec![tried] })
        };
        let server = match connect(place, &self.spec.choice, self.spec.timeout) {
            Ok(server) => server,
            Err(error) => return failed(shown, error.to_string()),
        };
        let source = server.source();
        let Some(name) = self.node_name else {
            return failed(source, "the node's name is unknown: pass --node-name".to_owned());
        };
        let object = match server.node(name) {
            Ok(bytes) => match serde_json::from_slice::<NodeObject>(&bytes) {
                Ok(object) => object,
                Err(error) => return failed(source, format!("node {name}: {error}")),
            },
            Err(error) => return failed(source, error.reason()),
        };
        if let Some(reason) = self.is_other_machine(&object) {
            return failed(source, format!("node {name} {reason}"));
        }
        let source = format!("{source} node {name}");
        (Ok(server), Lookup::found(source, object))
    }

    /// Returns why a Node object is not of this machine.
    fn is_other_machine(&self, object: &NodeObject) -> Option<String> {
        let info = &object.status.node_info;
        let pairs = [
            ("bootID", &info.boot_id, self.host.boot_id()),
            ("machineID", &info.machine_id, self.host.machine_id()),
        ];
        pairs.into_iter().find_map(|(field, theirs, ours)| {
            let ours = ours.ok().filter(|ours| !theirs.is_empty() && ours != theirs)?;
            Some(format!("is another machine: its {field} is {theirs}, here it is {ours}"))
        })
    }

    /// Queries one source. Only named files that cannot be read are a failure.
    fn ask(
        &self,
        source: PodSource,
        server: &Result<ApiServer, FailedSource>,
        runtime: &Lookup<RuntimeFacts>,
    ) -> Result<Result<Sourced<RecordedPods>, Vec<FailedSource>>, Failure> {
        Ok(match source {
            PodSource::Files => Ok(of_files(self.spec)?),
            PodSource::ApiServer => match server {
                Ok(server) => self.of_server(server).map_err(|tried| vec![tried]),
                Err(tried) => Err(vec![tried.clone()]),
            },
            PodSource::Kubelet => self.of_kubelet(),
            PodSource::StaticManifests => self.static_manifests().map_err(|tried| vec![tried]),
            PodSource::Runtime => match runtime.value() {
                Some(facts) => {
                    let value =
                        RecordedPods { source, with_probes: true, ..RecordedPods::default() };
                    Ok(Sourced { source: facts.endpoint.clone(), value })
                }
                None => Err(vec![FailedSource {
                    source: "the container runtime".to_owned(),
                    reason: "none was found".to_owned(),
                }]),
            },
        })
    }

    pub(super) fn of_server(
        &self,
        server: &ApiServer,
    ) -> Result<Sourced<RecordedPods>, FailedSource> {
        let source = server.source();
        let name = self.node_name.unwrap_or_default();
        let begun = steady();
        let pages = server.pods_of_node(name, self.spec.timeout);
        let pages = pages
            .map_err(|error| FailedSource { source: source.clone(), reason: error.reason() })?;
        let loaded = self.load("the API server", pages, begun);
        let loaded = loaded.map_err(|reason| FailedSource { source: source.clone(), reason })?;
        Ok(Sourced { source, value: recorded(PodSource::ApiServer, loaded, Vec::new()) })
    }

    fn of_kubelet(&self) -> Result<Sourced<RecordedPods>, Vec<FailedSource>> {
        let Self { spec, node, root, process, settings, .. } = *self;
        let process = process.filter(|_| self.runs);
        let server = KubeletServer { spec, node, root, process, config: settings.value() };
        let mut tried = Vec::new();
        for endpoint in server.endpoints(&mut tried) {
            let source = format!("{}/pods", endpoint.url);
            let begun = steady();
            match server.ask(&endpoint, "/pods").map(|answer| answer.body) {
                Ok(answer) => match self.load("the kubelet", vec![answer], begun) {
                    Err(reason) => tried.push(FailedSource { source, reason }),
                    Ok(loaded) => match (&loaded.pods[..], loaded.problems.first()) {
                        ([], Some(problem)) => {
                            tried.push(FailedSource { source, reason: problem.to_string() });
                        }
                        _ => {
                            let value = recorded(PodSource::Kubelet, loaded, Vec::new());
                            return Ok(Sourced { source, value });
                        }
                    },
                },
                Err(reason) => tried.push(FailedSource { source, reason }),
            }
        }
        Err(tried)
    }

    /// Parses the pods of answers, in the rest of the time that the source has.
    fn load(
        &self,
        name: &'static str,
        answers: Vec<Vec<u8>>,
        asked: Instant,
    ) -> Result<Loaded, String> {
        let given = self.spec.timeout;
        let loads = move || {
            // Otherwise any other answer would count as a node without pods.
            if !answers.iter().all(|answer| is_list(answer)) {
                return Err("the answer is not a list of pods".to_owned());
            }
            let mut loaded = Loaded::default();
            answers.into_iter().for_each(|answer| loaded.append(load(name, &answer)));
            Ok(loaded)
        };
        within(given.saturating_sub(asked.elapsed()), loads).unwrap_or_else(|| {
            Err(format!("its pods could not be read within {given:?}: pass a longer --timeout"))
        })
    }

    fn static_manifests(&self) -> Result<Sourced<RecordedPods>, FailedSource> {
        let Some(folder) = &self.settings.static_pods else {
            return Err(FailedSource {
                source: "static pod manifests".to_owned(),
                reason: "staticPodPath is unknown".to_owned(),
            });
        };
        let manifests = read_static_manifests(self.root, folder);
        if manifests.is_empty() {
            return Err(FailedSource {
                source: folder.clone(),
                reason: "no manifests found".to_owned(),
            });
        }
        let (mut loaded, mut unread) = (Loaded::default(), Vec::new());
        let mut not_taken = Vec::new();
        for (path, content) in manifests {
            match content {
                Ok(bytes) => {
                    let mut file = load(&path, &bytes);
                    not_taken.extend(file.keep_static_pod());
                    loaded.append(file);
                }
                Err(reason) => unread.push(format!("{path}: {reason}")),
            }
        }
        if loaded.pods.is_empty() && loaded.problems.is_empty() && !unread.is_empty() {
            // Unreadable manifests are not the same as no manifests.
            return Err(FailedSource { source: folder.clone(), reason: unread.join("; ") });
        }
        for pod in loaded.pods.iter_mut().map(|loaded| &mut *loaded.pod) {
            mark_static(pod);
            // As the kubelet names them (`applyDefaults` of `pkg/kubelet/config/common.go`).
            if let Some(node) = self.node_name {
                pod.metadata.name = format!("{}-{node}", pod.metadata.name);
            }
        }
        let notes = loaded.notes.iter().map(ToString::to_string).chain(not_taken).collect();
        let mut value = recorded(PodSource::StaticManifests, loaded, notes);
        value.left_out.extend(unread);
        Ok(Sourced { source: folder.clone(), value })
    }
}

/// The most unexpected contents of files that an error names.
const SHOWN_NOTES: usize = 3;

/// Reads the pods of files. A list without items is an answer: no pods.
///
/// # Errors
///
/// Fails for a file that cannot be read, and for files without a valid pod.
pub fn read_pods(files: &[String]) -> Result<Loaded, Failure> {
    let mut loaded = Loaded::default();
    for file in files {
        let content = read_input(file).map_err(Failure::missing)?;
        loaded.append(load(shown(file), &content));
    }
    if !loaded.pods.is_empty() || files.is_empty() {
        return Ok(loaded);
    }
    if let Some(problem) = loaded.problems.first() {
        let failure = Failure::usage(anyhow::anyhow!("{problem}"));
        return Err(match loaded.problems.len() - 1 {
            0 => failure,
            1 => failure.hint("1 more problem was found"),
            more => failure.hint(format!("{more} more problems were found")),
        });
    }
    if loaded.notes.iter().any(|note| matches!(note.kind, NoteKind::EmptyList { .. })) {
        return Ok(loaded);
    }
    let names: Vec<&str> = files.iter().map(|file| shown(file)).collect();
    let failure = Failure::usage(anyhow::anyhow!("{}: no pods", names.join(", ")));
    let notes = loaded.notes.iter().take(SHOWN_NOTES);
    Err(notes
        .fold(failure, |failure, note| failure.hint(note.to_string()))
        .hint("a Pod, a list of pods, or a workload with a pod template is expected"))
}

/// Reads the pods of the node that flags name as files.
///
/// # Errors
///
/// Fails as [`read_pods`] does.
pub fn of_files(spec: &NodeSpec) -> Result<Sourced<RecordedPods>, Failure> {
    let loaded = read_pods(&spec.pods)?;
    let notes = loaded.notes.iter().map(ToString::to_string).collect();
    Ok(Sourced { source: spec.pods.join(", "), value: recorded(PodSource::Files, loaded, notes) })
}

/// Returns true if an answer declares itself a list of pods.
fn is_list(answer: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        kind: String,
    }
    serde_json::from_slice(answer).is_ok_and(|Head { kind }| kind == "PodList" || kind == "List")
}

fn recorded(source: PodSource, loaded: Loaded, notes: Vec<String>) -> RecordedPods {
    let left_out = loaded.problems.iter().map(ToString::to_string).collect();
    let pods = loaded.pods;
    RecordedPods { source, pods, with_probes: true, with_labels: true, left_out, notes }
}

#[cfg(test)]
mod tests {
    use super::is_kubelet_config;

    #[test]
    fn a_configuration_of_the_kubelet_is_no_kubeconfig() {
        for (text, expected) in [
            ("kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n", true),
            (r#"{"kind": "KubeletConfiguration"}"#, true),
            ("apiVersion: v1\nkind: Config\n", false),
            ("# kind: KubeletConfiguration\n", false),
            ("kind: [", false),
            ("", false),
        ] {
            assert_eq!(is_kubelet_config(text.as_bytes()), expected, "{text:?}");
        }
    }
}

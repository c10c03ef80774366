//! Pods that run: the kubelet's part, played with kq's own plan.

use super::node::Node;
use kq_cgroup::container::{ContainerKind, RuntimeResources, container_cgroups};
use kq_cgroup::plan::{Owner, Plan, plan};
use kq_k8s::defaults::{apply_api_defaults, apply_priority};
use kq_k8s::manifest::{LoadedPod, load};
use kq_k8s::pod::Pod;
use kq_k8s::yaml::{documents, read};
use kq_linux::cri::v1;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// The image of containers that name none.
const IMAGE: &str = "localhost/kq-busybox:1";

/// How long a container may take that is waited for, even where the machine is emulated.
const PATIENCE: Duration = Duration::from_secs(300);

/// The program that creates containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runc {
    /// The system's.
    System,
    /// A later one, with the other formula for weights.
    Newer,
}

/// Pods that run until this is dropped.
pub struct Running<'n> {
    /// Where they run.
    pub node: &'n Node,
    /// What runs them.
    pub runc: Runc,
    /// Their containers, in the order in which they were started.
    pub containers: Vec<Container>,
    /// The pods as JSON, with what became of their containers.
    objects: Vec<Value>,
    pods: Vec<LoadedPod>,
    sandboxes: Vec<String>,
    /// Other pods run as well, whose kubelet looks after the levels above pods.
    beside: bool,
}

/// A container that was started.
#[derive(Clone, Debug)]
pub struct Container {
    /// The name of its pod.
    pub pod: String,
    /// Its name.
    pub name: String,
    /// The runtime's id of it.
    pub id: String,
    /// Its cgroup below the root of each hierarchy.
    pub cgroup: String,
    /// The request to the runtime.
    pub asked: v1::LinuxContainerResources,
}

impl<'n> Running<'n> {
    /// Starts pods in addition to the running ones.
    #[track_caller]
    pub fn beside(node: &'n Node, manifest: &str) -> Self {
        Self::begin(node, manifest, Runc::System, true)
    }

    #[track_caller]
    pub(super) fn start(node: &'n Node, manifest: &str, runc: Runc) -> Self {
        Self::begin(node, manifest, runc, false)
    }

    #[track_caller]
    fn begin(node: &'n Node, manifest: &str, runc: Runc, beside: bool) -> Self {
        let objects: Vec<Value> = documents(manifest)
            .iter()
            .filter(|document| !document.is_empty())
            .map(|document| {
                let mut pod = read(document.body()).expect("the manifest is YAML").value;
                pod["apiVersion"] = json!("v1");
                pod["kind"] = json!("Pod");
                pod
            })
            .collect();
        let pods = pods_of(&objects, node);
        let (containers, sandboxes) = (Vec::new(), Vec::new());
        // Made before anything is done, so that whatever is done is also undone.
        let mut running = Self { node, runc, containers, objects, pods, sandboxes, beside };
        let pods = running.pods.clone();
        let paths = running.make_cgroups();
        for (index, loaded) in pods.iter().enumerate() {
            running.start_pod(index, &loaded.pod, &paths[index]);
        }
        running
    }

    /// Returns the pods, with the ids of their containers.
    pub fn pods(&self) -> &[LoadedPod] {
        &self.pods
    }

    /// Returns what kq plans for these pods on this node.
    #[track_caller]
    pub fn plan(&self) -> Plan<'_> {
        let node = self.node.described();
        plan(&self.pods, node, self.node.formula(self.runc)).expect("the node can be planned")
    }

    /// Writes the pods, with the ids of their containers, to a file for kq.
    #[track_caller]
    pub fn file(&self) -> PathBuf {
        let path = self.node.folder.join("pods.json");
        std::fs::write(&path, list(&self.objects).to_string()).expect("the file can be written");
        path
    }

    /// Returns the container of a pod.
    #[track_caller]
    pub fn container(&self, pod: &str, name: &str) -> &Container {
        let mut containers = self.containers.iter();
        containers
            .find(|container| container.pod == pod && container.name == name)
            .unwrap_or_else(|| panic!("no container {name} in pod {pod}"))
    }

    /// Makes every cgroup of the plan that is the kubelet's, and writes its values, top down.
    ///
    /// Returns the cgroups of the pods.
    #[track_caller]
    fn make_cgroups(&self) -> Vec<String> {
        let cgroups = &self.node.cgroups;
        let plan = self.plan();
        let mut paths = BTreeMap::new();
        for root in &plan.roots {
            root.walk(0, &mut |cgroup, _| {
                assert!(cgroup.missing.is_empty(), "{}: {:?}", cgroup.path, cgroup.missing);
                if let Owner::Pod(pod, _) = cgroup.owner {
                    paths.insert(pod.metadata.uid.clone(), cgroup.path.clone());
                }
                let is_above = matches!(cgroup.owner, Owner::Node { .. } | Owner::Qos(_));
                if matches!(cgroup.owner, Owner::Container { .. }) || (is_above && self.beside) {
                    return;
                }
                assert!(cgroup.path.starts_with(&self.node.root), "{} is not ours", cgroup.path);
                match &cgroup.unit {
                    Some(unit) => super::units::make(unit, &cgroup.path, cgroups),
                    None => cgroups.create(&cgroup.path),
                }
                for file in &cgroup.files {
                    cgroups.write(&cgroup.path, &file.file, &file.value);
                }
            });
        }
        self.pods.iter().map(|loaded| paths[&loaded.pod.metadata.uid].clone()).collect()
    }

    #[track_caller]
    fn start_pod(&mut self, index: usize, pod: &Pod, cgroup: &str) {
        let config = self.sandbox(pod, cgroup);
        let request = v1::RunPodSandboxRequest {
            config: Some(config.clone()),
            runtime_handler: self.handler(index),
        };
        let runtime = &self.node.runtime;
        let sandbox = runtime
            .call(runtime.client().run_pod_sandbox(request))
            .unwrap_or_else(|error| panic!("sandbox of {}: {error}", pod.metadata.name))
            .pod_sandbox_id;
        self.sandboxes.push(sandbox.clone());
        let settings = self.plan().settings;
        for planned in container_cgroups(pod, &|_| false, &settings) {
            let name = &planned.container.name;
            let score = planned.oom_score_adj.as_ref().map(|score| score.value);
            let score = score.unwrap_or_else(|fact| panic!("{name}: no score without {fact:?}"));
            let asked = asked(&planned.resources, score);
            let id = self.create_container(index, pod, name, &sandbox, &config, &asked);
            let cgroup = match is_slice(cgroup) {
                true => format!("{cgroup}/cri-containerd-{id}.scope"),
                false => format!("{cgroup}/{id}"),
            };
            let pod = pod.metadata.name.clone();
            self.start_container(name, &id, planned.kind);
            self.record(index, planned.kind, name, &id);
            self.containers.push(Container { pod, name: name.clone(), id, cgroup, asked });
        }
    }

    fn create_container(
        &self,
        index: usize,
        pod: &Pod,
        name: &str,
        sandbox: &str,
        config: &v1::PodSandboxConfig,
        asked: &v1::LinuxContainerResources,
    ) -> String {
        let object = self.object(index, name);
        let words = |field: &str| -> Vec<String> {
            let words = object[field].as_array().into_iter().flatten();
            words.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut command = words("command");
        if command.is_empty() && object["args"].is_null() {
            command = vec!["sleep".to_owned(), "86400".to_owned()];
        }
        let image = object["image"].as_str().unwrap_or(IMAGE).to_owned();
        let mut labels = labels_of(pod);
        labels.insert("io.kubernetes.container.name".to_owned(), name.to_owned());
        let request = v1::CreateContainerRequest {
            pod_sandbox_id: sandbox.to_owned(),
            config: Some(v1::ContainerConfig {
                metadata: Some(v1::ContainerMetadata { name: name.to_owned(), attempt: attempt() }),
                image: Some(v1::ImageSpec { image, ..v1::ImageSpec::default() }),
                command,
                args: words("args"),
                labels,
                log_path: format!("{name}.log"),
                linux: Some(v1::LinuxContainerConfig {
                    resources: Some(asked.clone()),
                    security_context: Some(v1::LinuxContainerSecurityContext {
                        namespace_options: Some(self.network(pod)),
                        ..v1::LinuxContainerSecurityContext::default()
                    }),
                }),
                ..v1::ContainerConfig::default()
            }),
            sandbox_config: Some(config.clone()),
        };
        let runtime = &self.node.runtime;
        runtime
            .call(runtime.client().create_container(request))
            .unwrap_or_else(|error| panic!("container {name}: {error}"))
            .container_id
    }

    /// Starts a container and, where the next one must wait for its end, waits.
    fn start_container(&self, name: &str, id: &str, kind: ContainerKind) {
        let runtime = &self.node.runtime;
        let request = v1::StartContainerRequest { container_id: id.to_owned() };
        runtime
            .call(runtime.client().start_container(request))
            .unwrap_or_else(|error| panic!("container {name}: {error}"));
        if kind == ContainerKind::InitContainer {
            assert_eq!(self.wait_for_end(id).exit_code, 0, "init container {name}");
        }
    }

    /// Waits for the end of a container and returns what the runtime says of it.
    #[track_caller]
    pub fn wait_for_end(&self, id: &str) -> v1::ContainerStatus {
        let begun = Instant::now();
        loop {
            let status = self.status(id);
            if status.state == v1::ContainerState::ContainerExited as i32 {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "still there: {status:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for a container that was killed for want of memory to end, and to be known as such: of the end
    /// and its reason the runtime is told by two events, in any order.
    #[track_caller]
    pub fn wait_for_oom(&self, id: &str) -> v1::ContainerStatus {
        let begun = Instant::now();
        loop {
            let status = self.wait_for_end(id);
            if status.reason == "OOMKilled" || begun.elapsed() > PATIENCE {
                return status;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns what the runtime says of a container.
    #[track_caller]
    pub fn status(&self, id: &str) -> v1::ContainerStatus {
        let runtime = &self.node.runtime;
        let request =
            v1::ContainerStatusRequest { container_id: id.to_owned(), ..Default::default() };
        let answer = runtime.call(runtime.client().container_status(request));
        answer.expect("the runtime answers").status.expect("the runtime knows the container")
    }

    /// Returns containerd's own notes about a container: what it was made of, and its process.
    #[track_caller]
    pub fn notes(&self, container: &Container) -> Value {
        let runtime = &self.node.runtime;
        let request =
            v1::ContainerStatusRequest { container_id: container.id.clone(), verbose: true };
        let answer = runtime.call(runtime.client().container_status(request));
        let answer = answer.expect("the runtime answers");
        serde_json::from_str(&answer.info["info"]).expect("containerd's notes are JSON")
    }

    /// Makes an empty file in the root folder of a container that runs: a signal which cannot come too
    /// early.
    #[track_caller]
    pub fn make_file(&self, container: &Container, name: &str) {
        let notes = self.notes(container);
        let process = notes["pid"].as_u64().expect("containerd notes the process");
        let path = format!("/proc/{process}/root/{name}");
        std::fs::write(&path, "").unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    fn sandbox(&self, pod: &Pod, cgroup: &str) -> v1::PodSandboxConfig {
        let metadata = &pod.metadata;
        let logs = self.node.folder.join("logs").join(&metadata.uid);
        v1::PodSandboxConfig {
            metadata: Some(v1::PodSandboxMetadata {
                name: metadata.name.clone(),
                uid: metadata.uid.clone(),
                namespace: metadata.namespace.clone(),
                attempt: attempt(),
            }),
            hostname: if self.has_own_network(pod) { metadata.name.clone() } else { String::new() },
            log_directory: logs.to_string_lossy().into_owned(),
            labels: labels_of(pod),
            linux: Some(v1::LinuxPodSandboxConfig {
                // Of a slice the runtime gets the name alone (`GetPodCgroupParent` of the kubelet).
                cgroup_parent: match is_slice(cgroup) {
                    true => cgroup.rsplit('/').next().unwrap_or_default().to_owned(),
                    false => cgroup.to_owned(),
                },
                security_context: Some(v1::LinuxSandboxSecurityContext {
                    namespace_options: Some(self.network(pod)),
                    ..v1::LinuxSandboxSecurityContext::default()
                }),
                ..v1::LinuxPodSandboxConfig::default()
            }),
            ..v1::PodSandboxConfig::default()
        }
    }

    /// Returns the runtime's name for the program that a pod runs with: that of its RuntimeClass.
    fn handler(&self, index: usize) -> String {
        let class = self.objects[index]["spec"]["runtimeClassName"].as_str();
        class.unwrap_or(self.runc.handler()).to_owned()
    }

    /// Returns the namespaces of a pod: it has the machine's network unless it says otherwise.
    fn network(&self, pod: &Pod) -> v1::NamespaceOption {
        match self.has_own_network(pod) {
            true => {
                v1::NamespaceOption { network: v1::NamespaceMode::Pod as i32, ..host_network() }
            }
            false => host_network(),
        }
    }

    fn has_own_network(&self, pod: &Pod) -> bool {
        let uid = pod.metadata.uid.as_str();
        let object = self.objects.iter().find(|object| object["metadata"]["uid"] == uid);
        object.is_some_and(|object| object["spec"]["hostNetwork"] == false)
    }

    /// Returns the container as the manifest has it, with what kq's own pods do not hold.
    fn object(&self, index: usize, name: &str) -> &Value {
        let spec = &self.objects[index]["spec"];
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let mut all = lists.iter().filter_map(|list| spec[list].as_array()).flatten();
        all.find(|container| container["name"] == name).expect("kq made up no container")
    }

    /// Stops a pod, as the kubelet does with one that must go: its sandbox and all of its containers.
    #[track_caller]
    pub fn stop_pod(&self, pod: &str) {
        let at = self.pods.iter().position(|loaded| loaded.pod.metadata.name == pod);
        let at = at.unwrap_or_else(|| panic!("no pod {pod}"));
        let request = v1::StopPodSandboxRequest { pod_sandbox_id: self.sandboxes[at].clone() };
        let runtime = &self.node.runtime;
        runtime
            .call(runtime.client().stop_pod_sandbox(request))
            .unwrap_or_else(|error| panic!("{pod}: {error}"));
    }

    /// Forgets the sandbox of a pod that was removed elsewhere.
    #[cfg(feature = "apiserver")]
    #[track_caller]
    pub fn forget(&mut self, pod: &str) {
        let at = self.pods.iter().position(|loaded| loaded.pod.metadata.name == pod);
        let at = at.unwrap_or_else(|| panic!("no pod {pod}"));
        self.sandboxes.remove(at);
        self.pods.remove(at);
        self.objects.remove(at);
    }

    /// Notes the id of a container in the status of its pod.
    fn record(&mut self, index: usize, kind: ContainerKind, name: &str, id: &str) {
        let list = match kind {
            ContainerKind::InitContainer | ContainerKind::Sidecar => "initContainerStatuses",
            ContainerKind::Container => "containerStatuses",
            ContainerKind::EphemeralContainer => "ephemeralContainerStatuses",
        };
        let status = &mut self.objects[index]["status"];
        if status[list].is_null() {
            status[list] = json!([]);
        }
        let statuses = status[list].as_array_mut().expect("made above");
        statuses.push(json!({ "name": name, "containerID": format!("containerd://{id}") }));
        self.pods = pods_of(&self.objects, self.node);
    }

    fn end(&mut self) -> Result<(), String> {
        let runtime = &self.node.runtime;
        for pod_sandbox_id in std::mem::take(&mut self.sandboxes) {
            let request = v1::StopPodSandboxRequest { pod_sandbox_id: pod_sandbox_id.clone() };
            runtime.call(runtime.client().stop_pod_sandbox(request))?;
            let request = v1::RemovePodSandboxRequest { pod_sandbox_id };
            runtime.call(runtime.client().remove_pod_sandbox(request))?;
        }
        if !self.beside {
            return self.node.cgroups.remove(&format!("{}/kubepods", self.node.root));
        }
        let mut paths = Vec::new();
        for root in &self.plan().roots {
            root.walk(0, &mut |cgroup, _| {
                if matches!(cgroup.owner, Owner::Pod(..)) {
                    paths.push(cgroup.path.clone());
                }
            });
        }
        paths.iter().try_for_each(|path| self.node.cgroups.remove(path))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let ended = self.end();
        // What is left when a test fails goes with the node.
        if !thread::panicking() {
            ended.expect("the pods can be removed");
        }
    }
}

fn is_slice(cgroup: &str) -> bool {
    cgroup.ends_with(".slice")
}

/// Returns how often a pod was started before: with each boot of the machine anew.
fn attempt() -> u32 {
    let boot = std::env::var("KQ_BOOT").ok().and_then(|boot| boot.parse::<u32>().ok());
    boot.unwrap_or(1).saturating_sub(1)
}

impl Runc {
    /// Returns the name by which the runtime knows it.
    fn handler(self) -> &'static str {
        match self {
            Self::System => "",
            Self::Newer => "newer",
        }
    }
}

#[track_caller]
fn pods_of(objects: &[Value], node: &Node) -> Vec<LoadedPod> {
    let mut loaded = load("pods.json", list(objects).to_string().as_bytes());
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    for loaded in &mut loaded.pods {
        // The API server's part.
        apply_api_defaults(&mut loaded.pod, &node.described().rules);
        apply_priority(&mut loaded.pod);
        assert!(!loaded.pod.metadata.uid.is_empty(), "{} has no UID", loaded.pod.metadata.name);
    }
    loaded.pods
}

fn list(objects: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": objects })
}

/// Returns the namespaces of a pod that has the machine's network.
pub fn host_network() -> v1::NamespaceOption {
    v1::NamespaceOption {
        network: v1::NamespaceMode::Node as i32,
        pid: v1::NamespaceMode::Container as i32,
        ..v1::NamespaceOption::default()
    }
}

fn labels_of(pod: &Pod) -> BTreeMap<String, String> {
    let metadata = &pod.metadata;
    let labels = [
        ("io.kubernetes.pod.name", &metadata.name),
        ("io.kubernetes.pod.namespace", &metadata.namespace),
        ("io.kubernetes.pod.uid", &metadata.uid),
    ];
    labels.map(|(label, value)| (label.to_owned(), value.clone())).into()
}

/// Returns the message that carries what was planned.
fn asked(resources: &RuntimeResources, oom_score_adj: i64) -> v1::LinuxContainerResources {
    v1::LinuxContainerResources {
        cpu_period: resources.cpu_period_us,
        cpu_quota: resources.cpu_quota_us.value,
        cpu_shares: resources.cpu_shares.value,
        memory_limit_in_bytes: resources.memory_limit.value,
        memory_swap_limit_in_bytes: resources.memory_swap_limit.as_ref().map_or(0, |it| it.value),
        oom_score_adj,
        hugepage_limits: resources
            .hugepage_limits
            .iter()
            .map(|(size, limit)| v1::HugepageLimit { page_size: size.clone(), limit: limit.value })
            .collect(),
        unified: resources
            .unified
            .iter()
            .map(|(file, text)| ((*file).to_owned(), text.value.clone()))
            .collect(),
        ..v1::LinuxContainerResources::default()
    }
}

//! A recording as `kq snapshot` would have stored it. What was not recorded was not looked for.

use crate::cli::repository;
use kq_facts::devices::{CheckpointFact, DeviceFacts};
use kq_facts::host::{self, HostFacts, Text};
use kq_facts::lookup::Lookup;
use kq_facts::node_object::NodeObject;
use kq_facts::pod_resources::read_answers;
use kq_facts::runtime::{Container, ContainerState, RuntimeFacts, RuntimeVersion, Sandbox};
use kq_facts::snapshot::{
    API_VERSION, HostRoot, KIND, PodSource, RecordedConfig, RecordedPods, Snapshot,
};
use kq_facts::state_files::StateFiles;
use kq_k8s::manifest::load;
use kq_k8s::pod::{ContainerStatus, Pod};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The recorded moments.
pub const MOMENTS: [&str; 3] = ["one", "init-reuse", "restarted"];

const ENDPOINT: &str = "unix:///run/containerd/containerd.sock";

/// Returns the folder of a moment.
pub fn folder(moment: &str) -> PathBuf {
    repository().join("tests/devices").join(moment)
}

/// Returns a file of a moment.
pub fn text(moment: &str, file: &str) -> String {
    let path = folder(moment).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a file of a moment as JSON.
pub fn json(moment: &str, file: &str) -> Value {
    serde_json::from_str(&text(moment, file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns a moment as the text of a snapshot.
pub fn stored(moment: &str) -> String {
    let mut text = serde_json::to_string_pretty(&snapshot(moment)).expect("it can be written");
    text.push('\n');
    text
}

/// Returns a moment as the text of a snapshot that has the kubelet's configuration, which was not recorded: here the
/// defaults.
pub fn configured(moment: &str) -> String {
    let config = RecordedConfig { value: json!({}).into(), ..RecordedConfig::default() };
    let kubelet_config = Lookup::found("/var/lib/kubelet/config.yaml", config);
    // The recorded kubelet had static policies, which its state files have: this one would not start with them.
    let snapshot = Snapshot { kubelet_config, state_files: None, ..snapshot(moment) };
    serde_json::to_string(&snapshot).expect("it can be written")
}

/// Returns a moment as a snapshot.
pub fn snapshot(moment: &str) -> Snapshot {
    let note = text(moment, "note.txt");
    let taken = note.lines().find_map(|line| line.strip_prefix("taken "));
    let server = "the API server https://node-a:6443";
    let object = json!({
        "kind": "Node", "metadata": { "name": "node-a" }, "status": json(moment, "node-resources.json"),
    });
    let object: NodeObject = serde_json::from_value(object).expect("a Node object");
    let loaded = load("the API server", text(moment, "pods.json").as_bytes());
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let pods = RecordedPods {
        source: PodSource::ApiServer,
        pods: loaded.pods,
        with_labels: true,
        ..Default::default()
    };
    let socket = "/var/lib/kubelet/pod-resources/kubelet.sock";
    let told = read_answers(socket, text(moment, "pod-resources.json").as_bytes())
        .expect("the kubelet's answers");
    let checkpoint = CheckpointFact::read(text(moment, "kubelet_internal_checkpoint").as_bytes());
    let names = ["cpu_manager_state", "memory_manager_state"];
    let files = names.map(|name| (name.to_owned(), Text::Read(text(moment, name))));
    let numa = [
        (host::listing(host::NUMA_NODES), "node0".to_owned()),
        (format!("{}/node0/cpulist", host::NUMA_NODES), "0-1\n".to_owned()),
    ];
    Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: taken.expect("a note says when").to_owned(),
        taken_by: "a recording".to_owned(),
        host_root: HostRoot {
            path: "/".to_owned(),
            because: "no node is mounted at /host".to_owned(),
        },
        host: HostFacts {
            texts: numa.map(|(path, text)| (path, Text::Read(text))).into(),
            page_size: Some(4096),
        },
        node_name: Lookup::found("/proc/sys/kernel/hostname", "node-a".to_owned()),
        kubelet_version: Lookup::found("/proc/715/exe --version", "v1.36.2".to_owned()),
        node: Lookup::found(format!("{server} node node-a"), object),
        runtime: Lookup::found(ENDPOINT, runtime(pods.pods.iter().map(|loaded| &*loaded.pod))),
        pods: Lookup::found(server, pods),
        state_files: Some(StateFiles {
            folder: "/var/lib/kubelet".to_owned(),
            files: files.into(),
        }),
        devices: Some(DeviceFacts {
            checkpoint: Lookup::found(
                "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
                checkpoint,
            ),
            pod_resources: Lookup::found(socket, told),
            ..DeviceFacts::default()
        }),
        ..Snapshot::default()
    }
}

/// Returns the runtime's facts, from the statuses of the pods.
fn runtime<'p>(pods: impl Iterator<Item = &'p Pod>) -> RuntimeFacts {
    let (mut sandboxes, mut containers) = (Vec::new(), Vec::new());
    for pod in pods {
        let metadata = &pod.metadata;
        let sandbox = format!("sandbox-of-{}", metadata.uid);
        let statuses =
            pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
        containers.extend(statuses.map(|status| container(&metadata.uid, &sandbox, status)));
        sandboxes.push(Sandbox {
            id: sandbox,
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            ready: true,
            ..Sandbox::default()
        });
    }
    sandboxes.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    containers.sort_by(|a, b| (&a.pod_uid, &a.name).cmp(&(&b.pod_uid, &b.name)));
    RuntimeFacts {
        endpoint: ENDPOINT.to_owned(),
        version: RuntimeVersion {
            runtime_name: "containerd".to_owned(),
            runtime_version: "1.6.20".to_owned(),
            runtime_api_version: "v1".to_owned(),
        },
        sandboxes: Lookup::found(format!("{ENDPOINT} ListPodSandbox"), sandboxes.into()),
        containers: Lookup::found(format!("{ENDPOINT} ListContainers"), containers.into()),
        ..RuntimeFacts::default()
    }
}

fn container(uid: &str, sandbox: &str, status: &ContainerStatus) -> Container {
    let (_, id) = status.container_id.split_once("://").expect("a container has an id");
    Container {
        id: id.to_owned(),
        sandbox_id: sandbox.to_owned(),
        name: status.name.clone(),
        pod_uid: uid.to_owned(),
        state: match status.state.running {
            Some(_) => ContainerState::Running,
            None => ContainerState::Exited,
        },
        ..Container::default()
    }
}

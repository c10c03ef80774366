//! A recorded restart of a kubelet: the node before it, and what came of it.

use kq_core::question::what_if::NodeState;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::devices::{CheckpointFact, DeviceFacts};
use kq_facts::host::Text;
use kq_facts::kubelet_config::Source;
use kq_facts::kubelet_process::as_started;
use kq_facts::lookup::Lookup;
use kq_facts::overrides::Overrides;
use kq_facts::runtime::{Container, ContainerState, RuntimeFacts, Sandbox};
use kq_facts::snapshot::{PodSource, RecordedConfig, RecordedPods, Snapshot};
use kq_facts::state_files::StateFiles;
use kq_k8s::manifest::load;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// A recorded scenario.
pub struct Recording {
    folder: PathBuf,
    /// What came of it.
    pub outcome: Value,
}

/// Returns the names of all scenarios.
pub fn scenarios() -> Vec<String> {
    let folder = root();
    let entries = fs::read_dir(&folder).expect("the recordings are there");
    let names = entries.map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> = names
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/what-if")
}

impl Recording {
    pub fn of(scenario: &str) -> Self {
        let mut recording = Self { folder: root().join(scenario), outcome: Value::Null };
        recording.outcome = recording.json("outcome.json");
        recording
    }

    /// Returns the path of the configuration after the change.
    pub fn config_after(&self) -> String {
        self.folder.join("after-config.yaml").to_string_lossy().into_owned()
    }

    /// Returns a file, packed or not.
    pub fn text(&self, name: &str) -> String {
        if let Ok(text) = fs::read_to_string(self.folder.join(name)) {
            return text;
        }
        let packed = fs::read(self.folder.join(format!("{name}.gz")))
            .unwrap_or_else(|error| panic!("{}/{name}: {error}", self.folder.display()));
        String::from_utf8(unpacked(&packed)).expect("it is text")
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).expect("it is JSON")
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        let text = self.text(name);
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Returns the node as it was before.
    pub fn node(&self) -> NodeState {
        let kubelet = self.json("before-kubelet.json");
        let line: Vec<String> =
            serde_json::from_value(kubelet["cmdline"].clone()).expect("a command line");
        let process = as_started(&line).expect("the command line starts a kubelet");
        let config = RecordedConfig {
            value: self.json("before-config.yaml").into(),
            read_as: Some(Source::File),
            ..RecordedConfig::default()
        };
        let node = self.json("before-node.json");
        let states: BTreeMap<String, String> =
            serde_json::from_value(self.json("before-states.json")).expect("texts");
        let checkpoint = states
            .get("device-plugins/kubelet_internal_checkpoint")
            .map(|text| CheckpointFact::read(text.as_bytes()));
        let files = states
            .into_iter()
            .filter(|(name, _)| !name.contains('/'))
            .map(|(name, text)| (name, Text::Read(text)));
        let snapshot = Snapshot {
            api_version: "kq/v1".to_owned(),
            kind: "NodeSnapshot".to_owned(),
            taken_at: "2026-11-22T16:00:00Z".to_owned(),
            node_name: Lookup::found("the recording", "vm".to_owned()),
            kubelet: Lookup::found("the recording", process),
            kubelet_version: Lookup::found("the recording", "v1.36.2".to_owned()),
            kubelet_config: Lookup::found("before-config.yaml", config),
            node: Lookup::found(
                "before-node.json",
                serde_json::from_value(node).expect("a Node object"),
            ),
            pods: Lookup::found("before-pods.jsonl", self.pods()),
            runtime: Lookup::found("before-cri.jsonl", self.runtime()),
            state_files: Some(StateFiles {
                folder: "/var/lib/kubelet".to_owned(),
                files: files.collect(),
            }),
            devices: Some(DeviceFacts {
                checkpoint: checkpoint
                    .map_or_else(Lookup::default, |it| Lookup::found("before-states.json", it)),
                ..DeviceFacts::default()
            }),
            cgroups: Lookup::found("before-cgroups.jsonl", self.cgroups()),
            ..Snapshot::default()
        };
        let overrides =
            Overrides { cgroup_version: Some(CgroupVersion::V1), ..Overrides::default() };
        NodeState::of(snapshot, overrides).expect("a node")
    }

    fn pods(&self) -> RecordedPods {
        let pods = self.lines("before-pods.jsonl").into_iter().map(|mut pod| {
            pod["apiVersion"] = "v1".into();
            pod["kind"] = "Pod".into();
            pod
        });
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": pods.collect::<Vec<_>>()});
        let loaded = load("before-pods.jsonl", list.to_string().as_bytes());
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        RecordedPods {
            source: PodSource::ApiServer,
            pods: loaded.pods,
            with_probes: true,
            ..RecordedPods::default()
        }
    }

    /// Returns the paths of the cgroups; what is planned needs none of their values.
    fn cgroups(&self) -> CgroupTree {
        let lines = self.lines("before-cgroups.jsonl");
        let paths = lines.iter().filter_map(|line| line["cgroup"].as_str()).map(CgroupPath::new);
        let all = paths.chain([CgroupPath::root()]).map(|path| (path, CgroupTexts::default()));
        CgroupTree { cgroups: Arc::new(all.collect()), ..CgroupTree::default() }
    }

    fn runtime(&self) -> RuntimeFacts {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |value: &Value| u32::try_from(value.as_u64().unwrap_or(0)).expect("small");
        let (mut sandboxes, mut containers) = (Vec::new(), Vec::new());
        for line in self.lines("before-cri.jsonl") {
            match line["kind"].as_str() {
                Some("sandbox") => sandboxes.push(Sandbox {
                    id: text(&line["id"]),
                    name: text(&line["metadata"]["name"]),
                    namespace: text(&line["metadata"]["namespace"]),
                    uid: text(&line["metadata"]["uid"]),
                    attempt: number(&line["metadata"]["attempt"]),
                    ready: line["state"] == "SANDBOX_READY",
                    ..Sandbox::default()
                }),
                _ => containers.push(Container {
                    id: text(&line["id"]),
                    sandbox_id: text(&line["podSandboxId"]),
                    name: text(&line["metadata"]["name"]),
                    pod_uid: text(&line["labels"]["io.kubernetes.pod.uid"]),
                    attempt: number(&line["metadata"]["attempt"]),
                    state: match line["state"].as_str() {
                        Some("CONTAINER_RUNNING") => ContainerState::Running,
                        _ => ContainerState::Exited,
                    },
                    ..Container::default()
                }),
            }
        }
        RuntimeFacts {
            endpoint: "/run/containerd/containerd.sock".to_owned(),
            sandboxes: Lookup::found("the recording", sandboxes.into()),
            containers: Lookup::found("the recording", containers.into()),
            ..RuntimeFacts::default()
        }
    }
}

/// Unpacks what gzip packed: a header with or without the name of a file, the data, a checksum.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    const NAMED: u8 = 1 << 3;
    assert!(packed.starts_with(&[0x1f, 0x8b, 8]) && packed[3] & !NAMED == 0, "a plain gzip file");
    let data = match packed[3] & NAMED {
        0 => &packed[10..],
        _ => {
            let end = packed[10..].iter().position(|byte| *byte == 0).expect("the name ends");
            &packed[10 + end + 1..]
        }
    };
    miniz_oxide::inflate::decompress_to_vec(data).expect("it can be unpacked")
}

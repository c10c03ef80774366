//! The recording of a node as `kq snapshot` would have stored it.
//!
//! Everything is from the recording, except the parts that a snapshot cannot be without: the
//! numbers of processes, which the recording left out, and the places of the hierarchies' mounts.

use super::{json, text};
use jiff::Timestamp;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::host::{self, HostFacts, Text};
use kq_facts::kubelet_config::Source;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::node_object::NodeObject;
use kq_facts::runtime::{
    Container, ContainerState, LowLevelRuntime, RuntimeFacts, RuntimeVersion, Sandbox,
};
use kq_facts::snapshot::{
    API_VERSION, HostRoot, KIND, PodSource, RecordedConfig, RecordedPods, Snapshot,
};
use kq_facts::state_files::StateFiles;
use kq_k8s::manifest::load;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The mounts of a machine with cgroup v1 whose distribution mounts each controller, `cpu` with
/// `cpuacct`; the recorded kernel kept `hugetlb` for the unified hierarchy.
const MOUNTS: &str = "\
25 1 0:21 / /sys/fs/cgroup ro,nosuid,nodev,noexec - tmpfs tmpfs ro,mode=755
26 25 0:22 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup2 rw
27 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime - cgroup cgroup rw,cpu,cpuacct
28 25 0:24 / /sys/fs/cgroup/cpuset rw,nosuid,nodev,noexec,relatime - cgroup cgroup rw,cpuset
29 25 0:25 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime - cgroup cgroup rw,memory
30 25 0:26 / /sys/fs/cgroup/pids rw,nosuid,nodev,noexec,relatime - cgroup cgroup rw,pids
";

/// Where the kubelet of the recording found its runtime.
const ENDPOINT: &str = "unix:///run/containerd/containerd.sock";

/// The first number of a process that is given away.
const FIRST_PID: i32 = 2001;

/// Returns the snapshot of a recorded node as the text of a file.
pub fn stored(folder: &Path) -> String {
    let compact = serde_json::to_string(&snapshot(folder)).expect("a snapshot can be written");
    let mut text = String::new();
    lay_out(&compact, 0, &mut text);
    text.push('\n');
    text
}

/// What is no longer than this stays on one line.
const LINE: usize = 320;

/// Lays JSON out for people: a line for each thing that fits on one.
fn lay_out(json: &str, depth: usize, text: &mut String) {
    let is_long = json.len() > LINE && json.starts_with(['{', '[']);
    if !is_long {
        return text.push_str(json);
    }
    let (open, rest) = json.split_at(1);
    let (inside, close) = rest.split_at(rest.len() - 1);
    text.push_str(open);
    let parts = split_at(inside, b',');
    let count = parts.len();
    for (at, part) in parts.into_iter().enumerate() {
        text.push('\n');
        text.push_str(&" ".repeat(depth + 1));
        match split_at(part, b':').as_slice() {
            [name, value] if open == "{" => {
                text.push_str(name);
                text.push_str(": ");
                lay_out(value, depth + 1, text);
            }
            _ => lay_out(part, depth + 1, text),
        }
        if at + 1 < count {
            text.push(',');
        }
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push_str(close);
}

/// Splits compact JSON where a byte stands outside of strings and brackets.
fn split_at(json: &str, separator: u8) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            byte if byte == separator && depth == 0 => {
                parts.push(&json[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&json[begin..]);
    parts
}

/// Returns the snapshot of a recorded node.
pub fn snapshot(folder: &Path) -> Snapshot {
    let node = json(folder, "node.json");
    let tree = json(folder, "cgroup-tree.json");
    let object: NodeObject = serde_json::from_value(node.clone()).expect("a Node object");
    let server = "the API server https://node-a:6443";
    let name = object.metadata.name.clone();
    let config = RecordedConfig {
        value: json(folder, "configz.json")["kubeletconfig"].take().into(),
        read_as: Some(Source::Configz),
        ..RecordedConfig::default()
    };
    let is_there = |id: &str| {
        let cgroups = tree["cgroups"].as_object().expect("the tree has cgroups");
        cgroups.keys().any(|path| path.ends_with(id))
    };
    Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: word(&node["status"]["conditions"][0]["lastHeartbeatTime"]),
        taken_by: "a recording".to_owned(),
        host_root: HostRoot {
            path: "/".to_owned(),
            because: "no node is mounted at /host".to_owned(),
        },
        host: host_facts(folder, &node, &tree),
        node_name: Lookup::found("/proc/sys/kernel/hostname", name.clone()),
        kubelet_config: Lookup::found("https://127.0.0.1:10250/configz", config),
        node: Lookup::found(format!("{server} node {name}"), object),
        pods: Lookup::found(server, pods(folder)),
        runtime: Lookup::found(ENDPOINT, runtime(folder, &is_there)),
        state_files: Some(state_files(folder)),
        cgroups: Lookup::found("/sys/fs/cgroup", cgroups(&tree)),
        ..Snapshot::default()
    }
}

fn host_facts(folder: &Path, node: &Value, tree: &Value) -> HostFacts {
    let info = &node["status"]["nodeInfo"];
    let memory = word(&tree["root"]["memory.stat total (MemTotal kB)"]);
    let cpus = word(&tree["root"]["cpuset.cpus"]);
    let pids = told(folder, "--capacity", "pid=");
    // Which of both files is the smaller one was not recorded, only what follows.
    let mut texts: BTreeMap<String, Text> = [
        (host::OWN_MOUNTINFO, MOUNTS.to_owned()),
        (host::BOOT_ID, line(&info["bootID"])),
        (host::CPUS_ONLINE, format!("{cpus}\n")),
        (host::KERNEL_RELEASE, line(&info["kernelVersion"])),
        (host::MACHINE_ID, line(&info["machineID"])),
        (host::MEMINFO, format!("MemTotal: {memory} kB\nSwapTotal: 0 kB\n")),
        (host::MEMSW_LIMIT, line(&tree["root"]["memory.memsw.limit_in_bytes"])),
        (host::PID_MAX, format!("{pids}\n")),
        (host::THREADS_MAX, format!("{pids}\n")),
    ]
    .map(|(path, text)| (path.to_owned(), Text::Read(text)))
    .into();
    texts.insert(host::CGROUP_CONTROLLERS.to_owned(), Text::Absent);
    for (listed, names) in
        [(host::HUGEPAGES, "hugepages-1048576kB\nhugepages-2048kB"), (host::NUMA_NODES, "node0")]
    {
        texts.insert(host::listing(listed), Text::Read(names.to_owned()));
    }
    for (file, text) in [
        (format!("{}/hugepages-1048576kB/nr_hugepages", host::HUGEPAGES), "0\n".to_owned()),
        (format!("{}/hugepages-2048kB/nr_hugepages", host::HUGEPAGES), "0\n".to_owned()),
        (format!("{}/node0/cpulist", host::NUMA_NODES), format!("{cpus}\n")),
        (format!("{}/node0/meminfo", host::NUMA_NODES), format!("Node 0 MemTotal: {memory} kB\n")),
    ] {
        texts.insert(file, Text::Read(text));
    }
    HostFacts { texts, page_size: Some(4096) }
}

/// Returns what the file `args` says after a flag: the rest of a word that begins so.
fn told(folder: &Path, flag: &str, start: &str) -> String {
    let args = text(folder, "args");
    let mut words = args.split_whitespace().skip_while(|word| *word != flag);
    let word = words.nth(1).and_then(|word| word.strip_prefix(start));
    word.unwrap_or_else(|| panic!("args has no {flag} {start}")).to_owned()
}

fn pods(folder: &Path) -> RecordedPods {
    let loaded = load("the API server", text(folder, "pods.json").as_bytes());
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    RecordedPods {
        source: PodSource::ApiServer,
        pods: loaded.pods,
        with_probes: true,
        with_labels: true,
        ..RecordedPods::default()
    }
}

/// Returns the runtime's answers, made of the kubelet's requests and their results.
fn runtime(folder: &Path, is_there: &dyn Fn(&str) -> bool) -> RuntimeFacts {
    let cri = json(folder, "cri.json");
    let pods = json(folder, "pods.json");
    let pods = pods["items"].as_array().expect("a list of pods has items");
    let pod_of = |name: &Value| {
        let pod = pods.iter().find(|pod| pod["metadata"]["name"] == *name);
        pod.unwrap_or_else(|| panic!("no pod {name}"))
    };
    let list = |field: &str| cri[field].as_array().cloned().unwrap_or_default();
    let sandboxes = list("sandboxes").into_iter().map(|told| {
        let pod = pod_of(&told["pod"]);
        Sandbox {
            id: word(&told["id"]),
            name: word(&told["pod"]),
            namespace: word(&pod["metadata"]["namespace"]),
            uid: word(&told["uid"]),
            attempt: 0,
            ready: is_there(&word(&told["id"])),
            created_at: nanoseconds(&pod["status"]["startTime"]),
            runtime_handler: String::new(),
        }
    });
    let mut sandboxes: Vec<Sandbox> = sandboxes.collect();
    sandboxes.sort_by(|a, b| (&a.namespace, &a.name, &a.id).cmp(&(&b.namespace, &b.name, &b.id)));
    let containers = list("containers").into_iter().map(|told| {
        let pod = pod_of(&told["pod"]);
        let sandbox = sandboxes.iter().find(|sandbox| told["pod"] == *sandbox.name);
        let sandbox = sandbox.expect("a container is in a sandbox");
        let status = status_of(pod, &told["container"]);
        let state = &status["state"];
        let (state, began) = match state["terminated"].is_object() {
            true => (ContainerState::Exited, &state["terminated"]["startedAt"]),
            false => (ContainerState::Running, &state["running"]["startedAt"]),
        };
        Container {
            id: word(&told["id"]),
            sandbox_id: sandbox.id.clone(),
            name: word(&told["container"]),
            pod_uid: sandbox.uid.clone(),
            attempt: 0,
            state,
            image: word(&status["image"]),
            image_ref: word(&status["image"]),
            image_id: None,
            image_runtime_handler: String::new(),
            created_at: nanoseconds(began),
        }
    });
    let mut containers: Vec<Container> = containers.collect();
    containers.sort_by(|a, b| (&a.pod_uid, &a.name, &a.id).cmp(&(&b.pod_uid, &b.name, &b.id)));
    RuntimeFacts {
        endpoint: ENDPOINT.to_owned(),
        version: RuntimeVersion {
            runtime_name: "containerd".to_owned(),
            runtime_version: "1.6.20".to_owned(),
            runtime_api_version: "v1".to_owned(),
        },
        // As of a containerd without RuntimeConfig.
        cgroup_driver: Lookup {
            found: Some(Sourced {
                source: format!("{ENDPOINT} Status"),
                value: CgroupDriver::Cgroupfs,
            }),
            tried: vec![FailedSource {
                source: format!("{ENDPOINT} RuntimeConfig"),
                reason: "the runtime does not have this call".to_owned(),
            }],
        },
        low_level: Lookup::found(
            "/usr/sbin/runc --version",
            LowLevelRuntime {
                name: "runc".to_owned(),
                version: told(folder, "--runtime", "runc="),
                path: "/usr/sbin/runc".to_owned(),
            },
        ),
        restricts_oom_score: Some(true),
        disables_hugetlb: Some(false),
        sandboxes: Lookup::found(format!("{ENDPOINT} ListPodSandbox"), sandboxes.into()),
        containers: Lookup::found(format!("{ENDPOINT} ListContainers"), containers.into()),
        ..RuntimeFacts::default()
    }
}

fn status_of<'p>(pod: &'p Value, container: &Value) -> &'p Value {
    let lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    let mut statuses = lists.iter().filter_map(|list| pod["status"][*list].as_array()).flatten();
    statuses
        .find(|status| status["name"] == *container)
        .unwrap_or_else(|| panic!("{container} has no status"))
}

fn cgroups(tree: &Value) -> CgroupTree {
    let layout = CgroupLayout::parse(MOUNTS).expect("the mounts are well-formed");
    assert_eq!(layout.version(), Some(CgroupVersion::V1));
    let mut kernel = CgroupTree { layout, ..CgroupTree::default() };
    let root = texts(tree["root"].as_object().expect("the root has values"));
    Arc::make_mut(&mut kernel.cgroups).insert(CgroupPath::root(), root);
    let mut next = FIRST_PID;
    for (path, cgroup) in tree["cgroups"].as_object().expect("the tree has cgroups") {
        let mut files = texts(cgroup["values"].as_object().expect("a cgroup has values"));
        let mut pids = String::new();
        for process in cgroup["processes"].as_array().into_iter().flatten() {
            kernel.oom_score_adj.insert(next, word(&process["oom_score_adj"]));
            pids.push_str(&format!("{next}\n"));
            next += 1;
        }
        files.0.insert(CgroupFile::CgroupProcs.name(CgroupVersion::V1).to_owned(), pids);
        Arc::make_mut(&mut kernel.cgroups).insert(CgroupPath::new(path), files);
    }
    kernel
}

/// Returns the files that kq reads, with the line ends of the kernel.
fn texts(values: &Map<String, Value>) -> CgroupTexts {
    let known =
        values.iter().filter(|(name, _)| CgroupFile::known(CgroupVersion::V1, name).is_some());
    CgroupTexts(known.map(|(name, value)| (name.clone(), line(value))).collect())
}

fn state_files(folder: &Path) -> StateFiles {
    let recorded = ["cpu_manager_state", "memory_manager_state"];
    let files =
        recorded.map(|name| (name.to_owned(), Text::Read(text(folder, &format!("{name}.json")))));
    StateFiles { folder: "/var/lib/kubelet".to_owned(), files: files.into() }
}

/// Returns a text.
#[track_caller]
pub fn word(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Returns a number or a text as the kernel prints it.
fn line(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        other => format!("{other}\n"),
    }
}

#[track_caller]
fn nanoseconds(time: &Value) -> i64 {
    let time: Timestamp = word(time).parse().expect("a time as Kubernetes writes it");
    i64::try_from(time.as_nanosecond()).expect("a time of this century")
}

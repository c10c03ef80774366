//! Each check on a node where all is well, with one thing changed.

use super::Status::{Fail, Ok as Fine, Unknown, Warn};
use super::{Check, Examined, NodeChecks, Status, checks};
use crate::cgroup::live::place::kubelet_roots;
use crate::facts::cgroup_layout::CgroupLayout;
use crate::facts::cgroup_mode::CgroupDriver;
use crate::facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use crate::facts::describe::{NodeSources, describe};
use crate::facts::host::{CPUS_ONLINE, HostFacts, INIT_MOUNTINFO, MEMINFO, Text};
use crate::facts::kubelet_config::Source;
use crate::facts::kubelet_process::{KubeletProcess, Program};
use crate::facts::live::{config_source, incomplete, live_sources};
use crate::facts::runtime::{
    Container, ContainerState, LowLevelRuntime, RuntimeFacts, RuntimeVersion, Sandbox,
};
use crate::facts::snapshot::{PodSource, RecordedConfig, RecordedPods, Snapshot};
use crate::facts::sought::{Sought, Tried};
use crate::facts::state_files::StateFiles;
use crate::facts::workloads::Workloads;
use crate::k8s::manifest::load;
use crate::k8s::pod::Pod;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const UID: &str = "0f4b6c8e-0001-4a4a-9b9b-000000000001";
const STRANGER: &str = "0f4b6c8e-0002-4a4a-9b9b-000000000002";
const V2: &str = "35 25 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const V1: &str = "29 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                  30 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const UNIFIED: &str = "31 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

/// What a row of a table can change.
struct Given {
    snapshot: Snapshot,
    compared: Result<BTreeMap<String, usize>, String>,
    node_file: Option<&'static str>,
}

/// A node where all is well: kubelet 1.36 and containerd with the systemd driver, one pod on 4 CPUs.
fn healthy() -> Given {
    let mut snapshot = Snapshot::default();
    snapshot.host.page_size = Some(4096);
    let mut given = Given {
        snapshot: Snapshot {
            kubelet: Sought::found("/proc/700", process()),
            kubelet_version: Sought::found("/proc/700/exe --version", "v1.36.2".to_owned()),
            runtime: Sought::found("unix:///run/containerd/containerd.sock", runtime()),
            state_files: Some(StateFiles {
                folder: "/var/lib/kubelet".to_owned(),
                files: BTreeMap::new(),
            }),
            ..snapshot
        },
        compared: Ok([("MATCH".to_owned(), 12)].into()),
        node_file: None,
    };
    given.host(INIT_MOUNTINFO, V2);
    given.host(MEMINFO, "MemTotal: 8000000 kB\nSwapTotal: 0 kB\n");
    given.host(CPUS_ONLINE, "0-3\n");
    given.config(json!({ "cgroupDriver": "systemd" }));
    given.object(json!({ "capacity": { "cpu": "4", "memory": "8000000Ki" } }));
    given.pods(json!([pod("500m")]));
    given.state("cpu_manager_state", Text::Read("{\"policyName\":\"none\"}".to_owned()));
    given.state("memory_manager_state", Text::Absent);
    given.layout(V2);
    given.cgroup("/kubepods.slice", &[("cpu.weight", "157\n")]);
    given.cgroup("/system.slice", &[("cpu.weight", "100\n")]);
    given.cgroup("/user.slice", &[("cpu.weight", "100\n")]);
    given.cgroup("/kubepods.slice/kubepods-burstable.slice", &[("cpu.weight", "20\n")]);
    given.cgroup(&slice(UID), &[("cgroup.procs", "900\n")]);
    given
}

fn process() -> KubeletProcess {
    KubeletProcess {
        pid: 700,
        program: Program::Kubelet,
        executable: None,
        working_folder: None,
        start_ticks: 1,
        started_at: None,
        flags: Vec::new(),
        others: Vec::new(),
        notes: Vec::new(),
    }
}

fn runtime() -> RuntimeFacts {
    RuntimeFacts {
        endpoint: "unix:///run/containerd/containerd.sock".to_owned(),
        version: RuntimeVersion {
            runtime_name: "containerd".to_owned(),
            runtime_version: "2.1.4".to_owned(),
            runtime_api_version: "v1".to_owned(),
        },
        cgroup_driver: Sought::found("containerd.sock RuntimeConfig", CgroupDriver::Systemd),
        low_level: Sought::found(
            "/usr/sbin/runc --version",
            LowLevelRuntime {
                name: "runc".to_owned(),
                version: "1.3.3".to_owned(),
                path: "/usr/sbin/runc".to_owned(),
            },
        ),
        sandboxes: Sought::found("containerd.sock", vec![sandbox(UID, "web")]),
        containers: Sought::found(
            "containerd.sock",
            vec![Container {
                pod_uid: UID.to_owned(),
                name: "web".to_owned(),
                state: ContainerState::Running,
                ..Container::default()
            }],
        ),
        ..RuntimeFacts::default()
    }
}

fn sandbox(uid: &str, name: &str) -> Sandbox {
    Sandbox {
        id: format!("sandbox-of-{name}"),
        uid: uid.to_owned(),
        name: name.to_owned(),
        namespace: "default".to_owned(),
        ready: true,
        ..Sandbox::default()
    }
}

/// A pod that requests CPU.
fn pod(cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web", "namespace": "default", "uid": UID },
        "spec": { "containers": [
            { "name": "web", "resources": { "requests": { "cpu": cpu } } },
        ] },
        "status": { "phase": "Running" },
    })
}

/// A pod with a CPU limit.
fn limited(cpu: &str) -> Value {
    let mut pod = pod("1m");
    pod["spec"]["containers"][0]["resources"]["limits"] = json!({ "cpu": cpu });
    pod
}

fn slice(uid: &str) -> String {
    format!(
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
        uid.replace('-', "_")
    )
}

impl Given {
    fn host(&mut self, path: &str, text: &str) {
        self.snapshot.host.texts.insert(path.to_owned(), Text::Read(text.to_owned()));
    }

    fn config(&mut self, value: Value) {
        let read_as = Some(Source::Configz);
        let config = RecordedConfig { value, read_as, ..RecordedConfig::default() };
        self.snapshot.kubelet_config = Sought::found("https://127.0.0.1:10250/configz", config);
    }

    fn no_config(&mut self) {
        self.snapshot.kubelet_config = Sought::failed("configz", "refused the connection");
    }

    fn object(&mut self, status: Value) {
        let node = json!({ "kind": "Node", "metadata": { "name": "n1" }, "status": status });
        let node = serde_json::from_value(node).expect("a node");
        self.snapshot.node = Sought::found("the API server node n1", node);
    }

    fn pods(&mut self, items: Value) {
        let list = json!({ "apiVersion": "v1", "kind": "PodList", "items": items });
        let loaded = load("pods", list.to_string().as_bytes());
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        let source = PodSource::Kubelet;
        let pods = RecordedPods { source, pods: loaded.pods, ..RecordedPods::default() };
        self.snapshot.pods = Sought::found("https://127.0.0.1:10250/pods", pods);
    }

    fn no_pods(&mut self) {
        self.snapshot.pods = Sought::failed("kubelet", "refused the connection");
    }

    fn recorded(&mut self) -> &mut RecordedPods {
        &mut self.snapshot.pods.found.as_mut().expect("pods").value
    }

    fn runtime(&mut self) -> &mut RuntimeFacts {
        &mut self.snapshot.runtime.found.as_mut().expect("a runtime").value
    }

    /// The kubelet was told by other means than those to which it listens.
    fn told(&mut self, driver: CgroupDriver) {
        self.runtime().cgroup_driver = Sought::found("config.SystemdCgroup", driver);
    }

    fn state(&mut self, name: &str, text: Text) {
        let state = self.snapshot.state_files.as_mut().expect("files");
        state.files.insert(name.to_owned(), text);
    }

    fn tree(&mut self) -> &mut CgroupTree {
        let tree = || Sought::found("/sys/fs/cgroup", CgroupTree::default());
        if self.snapshot.cgroups.found.is_none() {
            self.snapshot.cgroups = tree();
        }
        &mut self.snapshot.cgroups.found.as_mut().expect("a tree").value
    }

    fn layout(&mut self, mounts: &str) {
        self.tree().layout = CgroupLayout::parse(mounts).expect("mounts");
    }

    fn cgroup(&mut self, path: &str, files: &[(&str, &str)]) {
        let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        self.tree().cgroups.insert(CgroupPath::new(path), CgroupTexts(texts.collect()));
    }

    fn remove(&mut self, path: &str) {
        let root = CgroupPath::new(path);
        self.tree().cgroups.retain(|path, _| !path.is_within(&root));
    }

    fn no_tree(&mut self) {
        self.snapshot.cgroups = Sought::failed("/sys/fs/cgroup", "permission denied");
        self.compared = Err("the cgroup tree could not be read".to_owned());
    }

    /// Moves the tree to where the other driver has it.
    fn cgroupfs(&mut self) {
        self.remove("/kubepods.slice");
        self.cgroup("/kubepods", &[("cpu.weight", "157\n")]);
        self.cgroup(&format!("/kubepods/burstable/pod{UID}"), &[("cgroup.procs", "900\n")]);
    }

    fn checks(&self) -> Vec<Check> {
        let snapshot = &self.snapshot;
        let config = config_source(snapshot);
        let root = config.value.get("cgroupRoot").and_then(Value::as_str).unwrap_or("/");
        let per_qos = config.value.get("cgroupsPerQOS").and_then(Value::as_bool).unwrap_or(true);
        let roots = kubelet_roots(root, per_qos);
        let node = describe(&NodeSources {
            config: config.clone(),
            object: snapshot.node.found.clone().map(|found| (found.source, found.value)),
            live: Some(live_sources(snapshot, &roots)),
            ..NodeSources::default()
        })
        .expect("a node");
        let pods = snapshot.pods.value().map(|found| found.pods.clone()).unwrap_or_default();
        let all: Vec<&Pod> = pods.iter().map(|loaded| &loaded.pod).collect();
        let incomplete = incomplete(&snapshot.pods, &all, snapshot.runtime.value());
        let workloads = Workloads::of(all, snapshot.runtime.value());
        checks(Examined {
            snapshot,
            node: &node,
            config: &config,
            node_file: self.node_file,
            roots: &roots,
            pods: &pods,
            workloads: &workloads,
            incomplete: incomplete.as_deref(),
            compared: &self.compared,
        })
    }
}

/// A name, what is changed, how the check comes out, and what its finding and its advice hold.
type Row = (&'static str, fn(&mut Given), Status, &'static str, &'static str);

#[track_caller]
fn come_out(check: &str, rows: &[Row]) {
    for (name, change, status, found, advice) in rows {
        let mut given = healthy();
        change(&mut given);
        let all = given.checks();
        let own = all.iter().find(|own| own.name == check).expect("a check of this name");
        assert_eq!(own.status, *status, "{check}: {name}: {own:?}");
        assert!(own.found.contains(found), "{check}: {name}: {own:?}");
        let told = own.advice.as_deref().unwrap_or_default();
        assert!(told.contains(advice), "{check}: {name}: {own:?}");
        assert_eq!(told.is_empty(), *status == Fine, "{check}: {name}: {own:?}");
    }
}

fn as_it_is(_: &mut Given) {}

#[test]
fn all_is_well_on_a_healthy_node() {
    let checks = healthy().checks();
    for check in &checks {
        assert_eq!(check.status, Fine, "{check:?}");
        assert!(check.source.is_some() && !check.found.is_empty(), "{check:?}");
    }
    let facts = crate::facts::node::NodeFacts::default();
    let report = NodeChecks::new(&facts, checks, Vec::new());
    assert!(!report.has_failed() && report.knows_something());
    assert_eq!(report.summary["OK"], 14);
    assert_eq!(report.summary["FAIL"], 0);
}

#[test]
fn nothing_is_taken_for_good_where_nothing_is_known() {
    let mut given = healthy();
    given.snapshot = Snapshot::default();
    given.compared = Err("the cgroup tree could not be read".to_owned());
    let checks = given.checks();
    for check in &checks {
        assert_eq!(check.status, Unknown, "{check:?}");
        assert!(check.advice.is_some(), "{check:?}");
    }
    let facts = crate::facts::node::NodeFacts::default();
    assert!(!NodeChecks::new(&facts, checks, Vec::new()).knows_something());
}

#[test]
fn the_kubelet_is_checked() {
    let gone = |given: &mut Given| {
        given.snapshot.kubelet = Sought::failed("/proc", "no kubelet runs on this node");
    };
    come_out(
        "kubelet",
        &[
            ("runs", as_it_is, Fine, "1.36.2, process 700 (kubelet)", ""),
            ("gone, with pods", gone, Warn, "/kubepods.slice is there", "start the kubelet"),
            (
                "gone, without pods",
                |given| {
                    given.snapshot.kubelet =
                        Sought::failed("/proc", "no kubelet runs on this node");
                    given.remove("/kubepods.slice");
                },
                Unknown,
                "no kubelet runs",
                "--kubelet-version",
            ),
            (
                "no version",
                |given| given.snapshot.kubelet_version = Sought::failed("exe", "timed out"),
                Unknown,
                "exe: timed out",
                "--kubelet-version",
            ),
            (
                "several",
                |given| {
                    given.snapshot.kubelet.found.as_mut().expect("one").value.others = vec![701]
                },
                Warn,
                "701",
                "one kubelet",
            ),
            (
                "another version was reported",
                |given| given.object(json!({ "nodeInfo": { "kubeletVersion": "v1.35.0" } })),
                Warn,
                "the program is v1.36.2, its Node says v1.35.0",
                "restart",
            ),
        ],
    );
}

#[test]
fn the_sources_are_checked() {
    come_out(
        "kubelet-config",
        &[
            ("known", as_it_is, Fine, "1 field set", ""),
            (
                "not known",
                Given::no_config,
                Unknown,
                "refused the connection",
                "--kubelet-config FILE",
            ),
            (
                "a kubelet that does not start",
                |given| given.config(json!({ "cpuManagerPolicy": "static" })),
                Fail,
                "static CPU manager policy needs CPUs",
                "before the kubelet is started again",
            ),
        ],
    );
    come_out(
        "node-object",
        &[
            ("known", as_it_is, Fine, "n1", ""),
            ("a file", |given| given.node_file = Some("n1.json"), Fine, "n1", ""),
            (
                "not known",
                |given| given.snapshot.node = Sought::failed("the API server", "401"),
                Unknown,
                "401",
                "--node-file FILE",
            ),
            (
                "something else is allocatable",
                |given| {
                    given.object(
                        json!({ "capacity": { "cpu": "4" }, "allocatable": { "cpu": "3" } }),
                    );
                },
                Warn,
                "says that 3 of cpu are allocatable",
                "restart the kubelet",
            ),
        ],
    );
    come_out(
        "pods",
        &[
            ("known", as_it_is, Fine, "1 from the kubelet", ""),
            ("not known", Given::no_pods, Unknown, "refused the connection", "--pods FILE"),
            (
                "one left out",
                |given| given.recorded().left_out = vec!["pod x: no name".to_owned()],
                Warn,
                "1 left out: pod x",
                "correct",
            ),
            (
                "static pods only",
                |given| {
                    given.recorded().source = PodSource::StaticManifests;
                    let others = vec![sandbox(STRANGER, "other")];
                    given.runtime().sandboxes = Sought::found("containerd.sock", others);
                },
                Warn,
                "default/other",
                "--pods FILE",
            ),
        ],
    );
    come_out(
        "container-runtime",
        &[
            ("known", as_it_is, Fine, "containerd 2.1.4 with runc 1.3.3", ""),
            (
                "not known",
                |given| given.snapshot.runtime = Sought::failed("unix:///x", "no such file"),
                Unknown,
                "unix:///x: no such file",
                "--runtime-endpoint",
            ),
            (
                "an old CRI",
                |given| given.runtime().version.runtime_api_version = "v1alpha2".to_owned(),
                Fail,
                "v1alpha2",
                "update",
            ),
            (
                "no low-level runtime",
                |given| given.runtime().low_level = Sought::failed("runc", "timed out"),
                Unknown,
                "runc: timed out",
                "--runtime NAME=VERSION",
            ),
            (
                "another one than the kubelet's",
                |given| {
                    given
                        .config(json!({ "containerRuntimeEndpoint": "unix:///run/crio/crio.sock" }))
                },
                Warn,
                "unix:///run/crio/crio.sock",
                "--runtime-endpoint unix:///run/crio/crio.sock",
            ),
            (
                "the same by another path",
                |given| {
                    let endpoint = "unix:///var/run/containerd/containerd.sock";
                    given.config(json!({ "containerRuntimeEndpoint": endpoint }));
                },
                Fine,
                "containerd",
                "",
            ),
        ],
    );
}

#[test]
fn the_cgroup_version_is_checked() {
    come_out(
        "cgroup-version",
        &[
            ("v2", as_it_is, Fine, "v2", ""),
            (
                "v1, refused",
                |given| given.host(INIT_MOUNTINFO, V1),
                Fail,
                "v1, and failCgroupV1 is true: kubelet 1.36.2",
                "failCgroupV1: false",
            ),
            (
                "hybrid, refused",
                |given| given.host(INIT_MOUNTINFO, &format!("{V1}{UNIFIED}")),
                Fail,
                "v1, hybrid: the unified hierarchy is at /sys/fs/cgroup/unified",
                "move the node to cgroup v2",
            ),
            (
                "v1, allowed",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.config(json!({ "failCgroupV1": false }));
                },
                Warn,
                "v1",
                "move the node to cgroup v2",
            ),
            (
                "v1, an older kubelet",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.snapshot.kubelet_version = Sought::found("exe", "v1.34.1".to_owned());
                },
                Warn,
                "v1",
                "move",
            ),
            (
                "v1, no configuration",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.no_config();
                },
                Unknown,
                "configuration is not known",
                "--set failCgroupV1=false",
            ),
            (
                "v1, no version",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.snapshot.kubelet_version = Sought::failed("exe", "timed out");
                },
                Unknown,
                "depends on its version",
                "--kubelet-version",
            ),
            (
                "nothing mounted",
                |given| given.host(INIT_MOUNTINFO, ""),
                Unknown,
                "no cgroup hierarchy",
                "--cgroup-version",
            ),
            (
                "not read",
                |given| given.snapshot.host = HostFacts::default(),
                Unknown,
                "was not read",
                "--cgroup-version",
            ),
        ],
    );
}

#[test]
fn the_drivers_must_agree() {
    let others = "set cgroupDriver: systemd in the kubelet's configuration";
    come_out(
        "cgroup-driver",
        &[
            ("all agree", as_it_is, Fine, "kubelet systemd, runtime systemd, tree systemd", ""),
            ("before a tree", |given| given.remove("/kubepods.slice"), Fine, "runtime systemd", ""),
            (
                "the kubelet follows the runtime",
                |given| given.config(json!({})),
                Warn,
                "kubelet cgroupfs, runtime systemd, tree systemd; the kubelet goes by the runtime",
                "set cgroupDriver: systemd",
            ),
            (
                "the kubelet is the odd one",
                |given| {
                    given.config(json!({ "cgroupDriver": "cgroupfs" }));
                    given.told(CgroupDriver::Systemd);
                },
                Fail,
                "kubelet cgroupfs, runtime systemd, tree systemd",
                others,
            ),
            (
                "the runtime is the odd one",
                |given| given.told(CgroupDriver::Cgroupfs),
                Fail,
                "kubelet systemd, runtime cgroupfs, tree systemd",
                "set the container runtime to systemd (containerd: SystemdCgroup = true",
            ),
            (
                "an older kubelet does not follow",
                |given| {
                    given.config(json!({ "cgroupDriver": "cgroupfs" }));
                    given.object(json!({ "nodeInfo": { "kubeletVersion": "v1.30.4" } }));
                },
                Fail,
                "kubelet cgroupfs, runtime systemd",
                others,
            ),
            (
                "no tree, systemd runs the machine",
                |given| {
                    given.remove("/kubepods.slice");
                    given.told(CgroupDriver::Cgroupfs);
                },
                Fail,
                "kubelet systemd, runtime cgroupfs",
                "set the container runtime to systemd",
            ),
            (
                "no tree, no systemd",
                |given| {
                    given.remove("/");
                    given.told(CgroupDriver::Cgroupfs);
                },
                Fail,
                "kubelet systemd, runtime cgroupfs",
                "set cgroupDriver: cgroupfs in the kubelet's configuration",
            ),
            (
                "the tree is older than both",
                Given::cgroupfs,
                Fail,
                "kubelet systemd, runtime systemd, tree cgroupfs",
                "back to cgroupfs",
            ),
            (
                "the tree is not the runtime's, the kubelet not known",
                |given| {
                    given.no_config();
                    given.told(CgroupDriver::Cgroupfs);
                },
                Fail,
                "runtime cgroupfs, tree systemd",
                "set the container runtime to systemd",
            ),
            (
                "no configuration",
                |given| {
                    given.no_config();
                    given.told(CgroupDriver::Systemd);
                },
                Unknown,
                "configuration is not known",
                "--cgroup-driver DRIVER",
            ),
            (
                "no runtime",
                |given| given.snapshot.runtime = Sought::failed("unix:///x", "no such file"),
                Unknown,
                "kubelet systemd, tree systemd; the container runtime does not answer",
                "--runtime-endpoint",
            ),
            (
                "a runtime that does not tell",
                |given| given.runtime().cgroup_driver = Sought::failed("Status", "tells nothing"),
                Unknown,
                "Status: tells nothing",
                "--runtime-endpoint",
            ),
            ("no tree", Given::no_tree, Unknown, "permission denied", "--host-root"),
        ],
    );
}

#[test]
fn the_tree_is_checked() {
    come_out(
        "cgroup-tree",
        &[
            ("one", as_it_is, Fine, "/kubepods.slice with 1 pod", ""),
            (
                "without cgroups per class",
                |given| {
                    given.cgroup("/", &[]);
                    given.config(json!({ "cgroupsPerQOS": false, "enforceNodeAllocatable": [] }));
                },
                Fine,
                "/ with 0 pods",
                "",
            ),
            (
                "both, with pods",
                |given| {
                    given.cgroup("/kubepods", &[]);
                    given.cgroup(&format!("/kubepods/pod{STRANGER}"), &[("cgroup.procs", "7\n")]);
                },
                Fail,
                "/kubepods.slice with 1 pod",
                "so that /kubepods goes away",
            ),
            (
                "both, one of them empty",
                |given| given.cgroup("/kubepods", &[("cpu.weight", "157\n")]),
                Warn,
                "/kubepods with 0 pods",
                "so that /kubepods goes away",
            ),
            (
                "none",
                |given| given.remove("/kubepods.slice"),
                Warn,
                "neither /kubepods nor",
                "cgroupRoot",
            ),
            ("not read", Given::no_tree, Unknown, "permission denied", "--host-root"),
            (
                "a part not read",
                |given| {
                    let reason = "permission denied".to_owned();
                    given.tree().problems =
                        vec![Tried { source: "/kubepods.slice/a".to_owned(), reason }];
                },
                Unknown,
                "/kubepods.slice/a: permission denied",
                "root",
            ),
        ],
    );
    come_out(
        "orphaned-pods",
        &[
            ("none", as_it_is, Fine, "none among 1 cgroup", ""),
            (
                "with processes",
                |given| given.cgroup(&slice(STRANGER), &[("cgroup.procs", "7\n8\n")]),
                Fail,
                "(unknown) (2 processes)",
                "crictl stopp",
            ),
            (
                "without processes",
                |given| given.cgroup(&slice(STRANGER), &[("cgroup.procs", "")]),
                Warn,
                "1 cgroup without a pod",
                "removes it",
            ),
            (
                "a sandbox is not a pod",
                |given| {
                    given.cgroup(&slice(STRANGER), &[("cgroup.procs", "7\n")]);
                    let both = vec![sandbox(UID, "web"), sandbox(STRANGER, "old")];
                    given.runtime().sandboxes = Sought::found("containerd.sock", both);
                },
                Fail,
                "default/old (1 process)",
                "crictl stopp",
            ),
            (
                "pods not known",
                Given::no_pods,
                Unknown,
                "pods of the node are not known",
                "--pods FILE",
            ),
            ("tree not known", Given::no_tree, Unknown, "permission denied", "--host-root"),
            (
                "no tree",
                |given| given.remove("/kubepods.slice"),
                Unknown,
                "no cgroup of all",
                "start",
            ),
        ],
    );
}

#[test]
fn limits_below_a_millisecond_are_named() {
    come_out(
        "cpu-limits",
        &[
            ("none", as_it_is, Fine, "none below 10m", ""),
            (
                "at the least",
                |given| given.pods(json!([limited("10m")])),
                Fine,
                "none below 10m",
                "",
            ),
            (
                "below it",
                |given| given.pods(json!([limited("9m")])),
                Warn,
                "1 limit below 10m: default/web/web 9m",
                "1000us",
            ),
            (
                "of an ended pod",
                |given| {
                    let mut pod = limited("9m");
                    pod["status"]["phase"] = json!("Succeeded");
                    given.pods(json!([pod]));
                },
                Fine,
                "none",
                "",
            ),
            (
                "of the pod as a whole",
                |given| {
                    let mut pod = pod("1m");
                    pod["spec"]["resources"] = json!({ "limits": { "cpu": "5m" } });
                    given.pods(json!([pod]));
                },
                Warn,
                "default/web 5m",
                "10m or more",
            ),
            (
                "by a shorter period",
                |given| {
                    given.config(json!({
                        "cpuCFSQuotaPeriod": "10ms",
                        "featureGates": { "CustomCPUCFSQuotaPeriod": true },
                    }));
                    given.pods(json!([limited("99m")]));
                },
                Warn,
                "1 limit below 100m",
                "100m or more",
            ),
            (
                "not enforced",
                |given| {
                    given.config(json!({ "cpuCFSQuota": false }));
                    given.pods(json!([limited("1m")]));
                },
                Fine,
                "enforces no limit",
                "",
            ),
            ("not known", Given::no_pods, Unknown, "not known", "--pods FILE"),
        ],
    );
}

#[test]
fn the_weight_of_all_pods_is_held_against_the_system() {
    come_out(
        "cpu-weight",
        &[
            (
                "enough",
                as_it_is,
                Fine,
                "kubepods.slice 157 beside system.slice 100, user.slice 100: 44.0% (1759m of 4000m)",
                "",
            ),
            (
                "too little when all are busy",
                |given| given.pods(json!([pod("2")])),
                Warn,
                "pods request 2000m",
                "pressure",
            ),
            (
                "one sibling takes what pods request",
                |given| {
                    given.cgroup("/system.slice", &[("cpu.weight", "1000\n")]);
                    given.pods(json!([pod("2")]));
                },
                Fail,
                "12.5%",
                "system.slice can take 3457m, and 0m are reserved",
            ),
            (
                "one sibling outweighs, and pods do not mind",
                |given| given.cgroup("/system.slice", &[("cpu.weight", "200\n")]),
                Warn,
                "pods request 500m",
                "system.slice can take 2240m",
            ),
            (
                "what outweighs is reserved",
                |given| {
                    given.config(json!({ "systemReserved": { "cpu": "2500m" } }));
                    given.cgroup("/system.slice", &[("cpu.weight", "200\n")]);
                },
                Fine,
                "34.4%",
                "",
            ),
            (
                "what is reserved is not known",
                |given| {
                    given.no_config();
                    given.cgroup("/system.slice", &[("cpu.weight", "200\n")]);
                },
                Unknown,
                "system.slice outweighs it",
                "--kubelet-config FILE",
            ),
            ("pods not known", Given::no_pods, Unknown, "44.0%", "--pods FILE"),
            ("no tree", Given::no_tree, Unknown, "permission denied", "--host-root"),
            (
                "no file",
                |given| given.cgroup("/kubepods.slice", &[]),
                Unknown,
                "has no cpu.weight",
                "cpu controller",
            ),
            (
                "below another root",
                |given| {
                    given.config(json!({ "cgroupDriver": "systemd", "cgroupRoot": "/a" }));
                    given.cgroup("/a.slice/a-kubepods.slice", &[("cpu.weight", "157\n")]);
                },
                Unknown,
                "not at the top",
                "by hand",
            ),
            (
                "no number of CPUs",
                |given| {
                    given.snapshot.host.texts.remove(CPUS_ONLINE);
                    given.snapshot.node = Sought::default();
                },
                Unknown,
                "number of CPUs",
                "--capacity cpu=N",
            ),
            (
                "shares of cgroup v1",
                |given| {
                    given.layout(V1);
                    for (path, shares) in [
                        ("/kubepods.slice", "4096\n"),
                        ("/system.slice", "1024\n"),
                        ("/user.slice", "1024\n"),
                    ] {
                        given.cgroup(path, &[("cpu.shares", shares)]);
                    }
                },
                Fine,
                "kubepods.slice 4096 beside system.slice 1024, user.slice 1024: 66.7%",
                "",
            ),
        ],
    );
}

#[test]
fn swap_values_and_files_are_checked() {
    const SWAP: &str = "MemTotal: 8000000 kB\nSwapTotal: 1048576 kB\n";
    come_out(
        "swap",
        &[
            ("none", as_it_is, Fine, "no swap", ""),
            (
                "refused",
                |given| given.host(MEMINFO, SWAP),
                Fail,
                "1Gi of swap, and failSwapOn is true",
                "swapoff -a",
            ),
            (
                "allowed",
                |given| {
                    given.host(MEMINFO, SWAP);
                    given.config(json!({ "failSwapOn": false }));
                },
                Fine,
                "swapBehavior NoSwap",
                "",
            ),
            (
                "without effect",
                |given| {
                    given.host(MEMINFO, SWAP);
                    given.host(INIT_MOUNTINFO, V1);
                    let swap = json!({ "swapBehavior": "LimitedSwap" });
                    given.config(json!({
                        "failSwapOn": false, "failCgroupV1": false, "memorySwap": swap,
                    }));
                },
                Warn,
                "no effect on cgroup v1",
                "cgroup v2",
            ),
            (
                "no configuration",
                |given| {
                    given.host(MEMINFO, SWAP);
                    given.no_config();
                },
                Unknown,
                "configuration is not known",
                "--set failSwapOn=false",
            ),
            (
                "not read",
                |given| given.snapshot.host = HostFacts::default(),
                Unknown,
                "/proc/meminfo: was not read",
                "--swap-capacity",
            ),
        ],
    );
    come_out(
        "cgroup-values",
        &[
            ("as planned", as_it_is, Fine, "12 compared: 12 MATCH", ""),
            (
                "drift",
                |given| {
                    let counts = [("MATCH", 5), ("DRIFT", 2), ("EXTRA", 1), ("ROUNDED", 1)];
                    given.compared =
                        Ok(counts.map(|(name, count)| (name.to_owned(), count)).into());
                },
                Fail,
                "3 not as planned; 9 compared",
                "kq cgroup diff",
            ),
            (
                "nothing known",
                |given| given.compared = Ok([("UNKNOWN".to_owned(), 4)].into()),
                Unknown,
                "4 UNKNOWN",
                "kq cgroup diff -o wide",
            ),
            (
                "no root",
                |given| given.remove("/kubepods.slice"),
                Unknown,
                "no cgroup of all",
                "start",
            ),
            ("no tree", Given::no_tree, Unknown, "could not be read", "--host-root"),
        ],
    );
    come_out(
        "state-files",
        &[
            ("read", as_it_is, Fine, "1 file", ""),
            (
                "cut short",
                |given| given.state("cpu_manager_state", Text::Read("{\"pol".to_owned())),
                Fail,
                "cpu_manager_state: EOF",
                "move the file away",
            ),
            (
                "empty",
                |given| given.state("cpu_manager_state", Text::Read("\n".to_owned())),
                Fail,
                "cpu_manager_state: empty",
                "move the file away",
            ),
            (
                "something else",
                |given| given.state("cpu_manager_state", Text::Read("[]".to_owned())),
                Fail,
                "no JSON object",
                "move the file away",
            ),
            (
                "not readable",
                |given| given.state("a", Text::Unreadable("permission denied".to_owned())),
                Unknown,
                "a: permission denied",
                "root",
            ),
            (
                "none there",
                |given| given.state("cpu_manager_state", Text::Absent),
                Unknown,
                "none is there",
                "--root-dir",
            ),
            (
                "not looked for",
                |given| given.snapshot.state_files = None,
                Unknown,
                "not looked for",
                "root",
            ),
        ],
    );
}

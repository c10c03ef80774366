//! Each check on a node where all is well, with one thing changed.

mod cpu;
mod layout;
mod sources;
mod state;

use super::{CheckInput, NextStart, NodeChecks, checks};
use crate::objects::{self, Object};
use kq_answer::Finding;
use kq_answer::Severity::{self, Error as Fail, Ok as Fine, Unknown, Warning as Warn};
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::checkpoint::StateFile;
use kq_facts::describe::{NodeSources, describe};
use kq_facts::host::{CPUS_ONLINE, HostFacts, INIT_MOUNTINFO, MEMINFO, Text};
use kq_facts::kubelet_config::Source;
use kq_facts::kubelet_process::{KubeletProcess, Program};
use kq_facts::live::{config_source, incomplete, live_sources};
use kq_facts::lookup::{FailedSource, Lookup};
use kq_facts::overrides::Overrides;
use kq_facts::runtime::{
    Container, ContainerState, DriverBy, LowLevelRuntime, RuntimeFacts, RuntimeVersion, Sandbox,
};
use kq_facts::snapshot::{PodSource, RecordedConfig, RecordedPods, Snapshot};
use kq_facts::state_files::StateFiles;
use kq_facts::workloads::Workloads;
use kq_k8s::pod::Pod;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    low_level: Option<&'static str>,
    start: NextStart,
    ignored: Vec<&'static str>,
}

/// A node where all is well: kubelet 1.36 and containerd with the systemd driver, one pod on 4 CPUs.
fn healthy() -> Given {
    let mut snapshot = Snapshot::default();
    snapshot.host.page_size = Some(4096);
    let mut given = Given {
        snapshot: Snapshot {
            kubelet: Lookup::found("/proc/700", process()),
            kubelet_version: Lookup::found("/proc/700/exe --version", "v1.36.2".to_owned()),
            runtime: Lookup::found("unix:///run/containerd/containerd.sock", runtime()),
            state_files: Some(StateFiles {
                folder: "/var/lib/kubelet".to_owned(),
                files: BTreeMap::new(),
            }),
            ..snapshot
        },
        compared: Ok([("MATCH".to_owned(), 12)].into()),
        node_file: None,
        low_level: None,
        start: NextStart::default(),
        ignored: Vec::new(),
    };
    given.host(INIT_MOUNTINFO, V2);
    given.host(MEMINFO, "MemTotal: 8000000 kB\nSwapTotal: 0 kB\n");
    given.host(CPUS_ONLINE, "0-3\n");
    given.config(json!({ "cgroupDriver": "systemd" }));
    given.object(json!({ "capacity": { "cpu": "4", "memory": "8000000Ki" } }));
    given.pod(web("500m"));
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
        flag_files: Vec::new(),
        faults: Vec::new(),
        is_partial: false,
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
        cgroup_driver: Lookup::found("containerd.sock RuntimeConfig", CgroupDriver::Systemd),
        driver_by: Some(DriverBy::RuntimeConfig),
        low_level: Lookup::found(
            "/usr/sbin/runc --version",
            LowLevelRuntime {
                name: "runc".to_owned(),
                version: "1.3.3".to_owned(),
                path: "/usr/sbin/runc".to_owned(),
            },
        ),
        sandboxes: Lookup::found("containerd.sock", vec![sandbox(UID, "web")].into()),
        containers: Lookup::found(
            "containerd.sock",
            vec![Container {
                pod_uid: UID.to_owned(),
                name: "web".to_owned(),
                state: ContainerState::Running,
                ..Container::default()
            }]
            .into(),
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

/// The pod of the node, which requests CPU.
fn web(cpu: &str) -> Object {
    let pod = objects::pod("web").uid(UID).requests(&format!("cpu={cpu}"));
    pod.set("/spec/containers/0/name", "web")
}

/// The same with a CPU limit.
fn limited(cpu: &str) -> Object {
    web("1m").limits(&format!("cpu={cpu}"))
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
        let config = RecordedConfig { value: value.into(), read_as, ..RecordedConfig::default() };
        self.snapshot.kubelet_config = Lookup::found("https://127.0.0.1:10250/configz", config);
    }

    fn no_config(&mut self) {
        self.snapshot.kubelet_config = Lookup::failed("configz", "refused the connection");
    }

    fn object(&mut self, status: Value) {
        let node = objects::node("n1").set("/status", status);
        self.snapshot.node = Lookup::found("the API server node n1", node.read());
    }

    fn pod(&mut self, pod: Object) {
        let (source, pods) = (PodSource::Kubelet, objects::loaded([pod]));
        let pods = RecordedPods { source, pods, ..RecordedPods::default() };
        self.snapshot.pods = Lookup::found("https://127.0.0.1:10250/pods", pods);
    }

    fn no_pods(&mut self) {
        self.snapshot.pods = Lookup::failed("kubelet", "refused the connection");
    }

    fn recorded(&mut self) -> &mut RecordedPods {
        &mut self.snapshot.pods.found.as_mut().expect("pods").value
    }

    fn runtime(&mut self) -> &mut RuntimeFacts {
        &mut self.snapshot.runtime.found.as_mut().expect("a runtime").value
    }

    /// The kubelet was configured in a way that it ignores.
    fn told(&mut self, driver: CgroupDriver) {
        let runtime = self.runtime();
        runtime.cgroup_driver = Lookup::found("config.SystemdCgroup", driver);
        runtime.driver_by = Some(DriverBy::Configuration);
    }

    fn state(&mut self, name: &str, text: Text) {
        let state = self.snapshot.state_files.as_mut().expect("files");
        state.files.insert(name.to_owned(), text);
    }

    fn tree(&mut self) -> &mut CgroupTree {
        let tree = || Lookup::found("/sys/fs/cgroup", CgroupTree::default());
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
        Arc::make_mut(&mut self.tree().cgroups)
            .insert(CgroupPath::new(path), CgroupTexts(texts.collect()));
    }

    fn remove(&mut self, path: &str) {
        let root = CgroupPath::new(path);
        Arc::make_mut(&mut self.tree().cgroups).retain(|path, _| !path.is_within(&root));
    }

    fn no_tree(&mut self) {
        self.snapshot.cgroups = Lookup::failed("/sys/fs/cgroup", "permission denied");
        self.compared = Err("the cgroup tree could not be read".to_owned());
    }

    /// Moves the tree to where the other driver has it.
    fn cgroupfs(&mut self) {
        self.remove("/kubepods.slice");
        self.cgroup("/kubepods", &[("cpu.weight", "157\n")]);
        self.cgroup(&format!("/kubepods/burstable/pod{UID}"), &[("cgroup.procs", "900\n")]);
    }

    fn checks(&self) -> Vec<Finding> {
        let snapshot = &self.snapshot;
        let config = config_source(snapshot);
        let root = config.value.get("cgroupRoot").and_then(Value::as_str).unwrap_or("/");
        let per_qos = config.value.get("cgroupsPerQOS").and_then(Value::as_bool).unwrap_or(true);
        let roots = kubelet_roots(root, per_qos);
        let object = snapshot.node.found.as_ref();
        let node = describe(NodeSources {
            config: &config,
            object: object.map(|found| (found.source.as_str(), &found.value)),
            live: Some(&live_sources(snapshot, &roots)),
            overrides: &Overrides::default(),
        })
        .expect("a node");
        let pods = snapshot.pods.value().map(|found| found.pods.clone()).unwrap_or_default();
        let all: Vec<&Pod> = pods.iter().map(|loaded| &*loaded.pod).collect();
        let incomplete = incomplete(&snapshot.pods, &all, snapshot.runtime.value());
        let workloads = Workloads::of(all.iter().copied(), snapshot.runtime.value());
        checks(CheckInput {
            snapshot,
            node: &node,
            config: &config,
            node_file: self.node_file,
            low_level: self.low_level,
            roots: &roots,
            pods: &all,
            workloads: &workloads,
            incomplete: incomplete.as_ref().map(|it| it.text.as_str()),
            compared: &self.compared,
            changing: &BTreeSet::new(),
            lists_drift: false,
            start: self.start,
            unread_files: &BTreeSet::from([StateFile::PodStatus]),
            ignored: &self.ignored,
        })
    }
}

/// A name, what is changed, how the check comes out, and what its finding and its advice hold.
type Row = (&'static str, fn(&mut Given), Severity, &'static str, &'static str);

#[track_caller]
fn come_out(check: &str, rows: &[Row]) {
    for (name, change, status, found, advice) in rows {
        let mut given = healthy();
        change(&mut given);
        let all = given.checks();
        let own = all.iter().find(|own| own.id == check).expect("a check of this name");
        assert_eq!(own.severity, *status, "{check}: {name}: {own:?}");
        assert!(own.facts.contains_key("state"), "{check}: {name}: {own:?}");
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
        assert_eq!(check.severity, Fine, "{check:?}");
        assert!(check.source.is_some() && !check.found.is_empty(), "{check:?}");
    }
    let facts = kq_facts::node_config::NodeFacts::default();
    let report = NodeChecks::new(&facts, checks, Vec::new());
    assert!(!report.has_failed() && !report.is_incomplete());
    assert_eq!(report.summary["OK"], 14);
    assert_eq!(report.summary["ERROR"], 0);
}

#[test]
fn nothing_is_taken_for_good_where_nothing_is_known() {
    let mut given = healthy();
    given.snapshot = Snapshot::default();
    given.compared = Err("the cgroup tree could not be read".to_owned());
    let checks = given.checks();
    for check in &checks {
        assert_eq!(check.severity, Unknown, "{check:?}");
        assert!(check.advice.is_some(), "{check:?}");
    }
    let facts = kq_facts::node_config::NodeFacts::default();
    assert!(NodeChecks::new(&facts, checks, Vec::new()).is_incomplete());
}

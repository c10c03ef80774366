//! Questions about files, on a machine that is another node: nothing of that machine
//! may show.
//!
//! The machine is made up: a root folder of its own with a kubelet that runs, its configuration, checkpoint,
//! manifests, kubeconfig and names, all of which are poison, in namespaces of its own. It needs root and
//! `unshare`; elsewhere the test says why it did nothing.

use super::folder_with;
use super::generate::visible_commands;
use super::made_up_node::{self as made_up, Kernel, Node};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The traces of facts of the machine.
const POISON: [&str; 4] = ["poison", "66666", "127.0.0.1", "10250"];

/// The questions: of each command that answers something about a node at least one. `COPY` is the root
/// folder of another node, copied.
const ABOUT_FILES: &[&str] = &[
    "cgroup plan web.yaml --kubelet-config kubelet.yaml",
    "cgroup shares web.yaml --node-file node.json",
    "cgroup explain cpu.weight 17",
    "schema CgroupPlan",
    "explain ErrImagePull",
    "explain -f kubelet.yaml",
    "fleet ask snapshot.json -- cgroup diff",
    "fleet what-if snapshot.json -- set maxPods=5",
    "report images.json",
    "report -v --host-root COPY",
    "cgroup show -v --host-root COPY",
    "cgroup throttling -v --host-root COPY",
    "cgroup which --pid 900 -v --host-root COPY",
    "cgroup diff -v --host-root COPY",
    "cgroup diff -v --host-root COPY --pods pods.json --kubelet-config kubelet.yaml",
    "cgroup diff --snapshot snapshot.json",
    "cgroup apply --dry-run -v --host-root COPY --pods pods.json",
    "cgroup rollback back.json --dry-run -v --host-root COPY",
    "version -v --host-root COPY",
    "allocatable -v --host-root COPY",
    "allocatable -v --kubelet-config kubelet.yaml --capacity cpu=4,memory=8Gi",
    "what-if kubelet-restart -v --host-root COPY",
    "what-if set maxPods=5 --snapshot snapshot.json",
    "what-if kubelet-restart -v --pods pods.json --node-file node.json --kubelet-config kubelet.yaml",
    "what-if kubelet-restart -v --host-root COPY",
    "version --client",
    "preempt lint -v --pods pods.json",
    "preempt lint -v --host-root COPY",
    "gc dry-run -v --host-root COPY",
    "gc dry-run -v --snapshot images.json",
    "gc explain nginx -v --host-root COPY",
    "gc explain --disk -v --snapshot images.json",
    "gc images -v --host-root COPY",
    "gc policy -v --kubelet-config kubelet.yaml",
    "gc policy -v --host-root COPY",
    "gc lint -v --kubelet-config kubelet.yaml",
    "gc lint -v --host-root COPY",
    "gc record --once -v --host-root COPY",
    "gc apply --dry-run -v --host-root COPY",
    "gc watch --passes 1 -v --host-root COPY",
    "evict rank --signal memory -v --pods pods.json --stats summary.json",
    "evict rank --signal memory -v --pods pods.json",
    "evict rank --signal disk -v --stats summary.json",
    "evict rank --signal memory -v --node-file node.json",
    "evict rank --signal memory -v --host-root COPY",
    "probe run web -v --host-root COPY",
    "probe plan probes.yaml -v",
    "probe plan web -v --pods pods.json",
    "probe plan proxy-worker-1 -v --pods pods.json --kubelet-config kubelet.yaml",
    "probe lint probes.yaml -v",
    "probe lint web -v --pods pods.json",
    "probe simulate trace.yaml",
    "devices list -v --checkpoint checkpoint",
    "devices list -v --checkpoint checkpoint --pods pods.json",
    "devices list -v --pod-resources pod-resources.json --pods pods.json",
    "devices list -v --host-root COPY",
    "devices verify --checkpoint checkpoint --pods pods.json",
    "devices verify -v --host-root COPY",
    "devices plan train.yaml -v --checkpoint checkpoint",
    "devices plan train.yaml -v --pods pods.json",
    "devices plan train.yaml -v --devices devices.yaml --topology-manager-policy restricted",
    "devices plan train.yaml -v --checkpoint checkpoint --pods pods.json --node-file node.json",
    "devices plan web -v --checkpoint checkpoint --pods pods.json --node-file node.json",
    "devices plan --kubelet-restart -v --checkpoint checkpoint --pods pods.json",
    "devices plan train.yaml -v --host-root COPY",
    "devices capacity -v --checkpoint checkpoint --node-file node.json",
    "devices capacity -v --devices devices.yaml",
    "devices capacity -v --host-root COPY",
    "devices plugins --dir plugins",
    "devices repair --rebuild --dry-run -v --checkpoint checkpoint --pods pods.json",
    "devices repair --remove-stale --dry-run -v --checkpoint checkpoint",
    "admit explain web.yaml -v --pods pods.json --node-file node.json",
    "admit explain web.yaml -v --node-file node.json",
    "admit explain web.yaml -v --pods pods.json",
    "admit explain web.yaml -v --host-root COPY",
    "preempt explain web.yaml -v --pods pods.json --node-file node.json",
    "preempt explain web.yaml -v --pods pods.json --node-file nodes.json --all-nodes",
    "preempt apply web.yaml --dry-run -v --pods pods.json --node-file node.json",
    "preempt why shop/web -v --pods pods.json",
    "preempt why shop/web -v --host-root COPY",
    "doctor -v --host-root COPY",
    "why shop/web -v --pods pods.json",
    "top --plain --count 1 --host-root COPY",
    "snapshot -v --host-root COPY",
    "completion bash",
];

/// Commands that are about no node of their own: they serve a folder that is named, or ask nodes of a cluster.
const ABOUT_A_FOLDER: [&str; 7] = [
    "devices serve",
    "devices allocate",
    "fleet run",
    "fleet apply",
    "fleet collect",
    "fleet clean",
    "fleet rbac",
];

/// Questions that are about the machine, so that its facts must show.
const ABOUT_THE_MACHINE: [&str; 4] = [
    "gc policy -v",
    "evict rank --signal memory -v",
    "probe plan web -v --pods pods.json --live",
    "devices list -v",
];

const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
podPidsLimit: 66666
staticPodPath: /etc/poison
topologyManagerPolicy: restricted
imageMinimumGCAge: 66666s
evictionHard: {memory.available: 66666Mi}
clusterDomain: poison
";

/// Sets the machine up around a root folder.
const SET_UP: &str = r#"
set -e
mount --make-rprivate /
for folder in usr bin sbin lib lib64; do
    [ -e /$folder ] || continue
    mkdir -p "$ROOT/$folder"
    mount --rbind /$folder "$ROOT/$folder"
done
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
touch "$ROOT/kq"
mount --bind "$KQ" "$ROOT/kq"
hostname poison
ip link set lo up
exec chroot "$ROOT" /bin/sh /ask
"#;

/// Runs every command in it.
const ASK: &str = r#"
cd /files
/opt/kubelet -c 'while :; do sleep 60; done' --config=/var/lib/kubelet/config.yaml \
    --kubeconfig=/etc/kubernetes/kubelet.conf &
sleep 1
export KUBECONFIG=/poison/kubeconfig CONTAINER_RUNTIME_ENDPOINT=unix:///run/poison.sock COLUMNS=100
while read -r number line; do
    code=0
    timeout 30 sh -c "/kq $line" >"/out/$number.out" 2>"/out/$number.err" </dev/null || code=$?
    echo $code >"/out/$number.code"
done </lines
"#;

fn put(path: PathBuf, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
    fs::write(path, content).expect("a file can be written");
}

/// Copies a folder with its links.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{}", from.display());
}

fn examples() -> PathBuf {
    super::repository().join("examples")
}

/// Makes the root folder of the machine, with the files that are given and the copy of another node.
fn machine() -> tempfile::TempDir {
    let machine = folder_with(&[
        ("ask", ASK),
        ("etc/hostname", "poison\n"),
        ("etc/machine-id", "66666666666666666666666666666666\n"),
        ("etc/crictl.yaml", "runtime-endpoint: unix:///run/poison-crictl.sock\n"),
        ("etc/poison/poison.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: poison}\n"),
        ("etc/kubernetes/kubelet.conf", "poison"),
        ("var/lib/kubelet/config.yaml", KUBELET),
        ("var/lib/kq/image-records.json", "poison"),
        ("var/lib/kubelet/cpu_manager_state", r#"{"policyName":"poison","checksum":66666}"#),
        ("sys/devices/system/cpu/online", "0-665\n"),
        ("sys/devices/system/node/node66/cpulist", "0-665\n"),
        (
            "files/kubelet.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
        ),
        (
            "files/back.json",
            r#"{"apiVersion":"kq/v1","kind":"CgroupRollback","madeAt":"2026-01-02T03:04:05Z","steps":[]}"#,
        ),
        ("files/devices.yaml", "- {resource: example.com/gpu, id: gpu-0, numaNodes: [0]}\n"),
    ]);
    let root = machine.path();
    let file = |name: &str| root.join("files").join(name);
    for folder in ["dev", "proc", "out", "files/plugins", "run", "tmp"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    let checkpoint = fs::read_to_string(examples().join("devices/kubelet_internal_checkpoint"));
    let checkpoint = checkpoint.expect("it is there");
    put(file("checkpoint"), &checkpoint);
    let poisoned = checkpoint.replace("example.com", "poison.test");
    put(root.join("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"), poisoned);
    for (name, example) in [
        ("web.yaml", "web.yaml"),
        ("probes.yaml", "probes.yaml"),
        ("trace.yaml", "probe-trace.yaml"),
        ("train.yaml", "devices/pod.yaml"),
        ("summary.json", "eviction/summary.json"),
        ("snapshot.json", "node/snapshot.json"),
        ("images.json", "images/snapshot.json"),
    ] {
        fs::copy(examples().join(example), file(name)).expect("it can be copied");
    }
    let of_test = super::repository().join("tests/devices/one/pod-resources.json");
    fs::copy(of_test, file("pod-resources.json")).expect("it can be copied");
    let mut pods = made_up::pods();
    for pod in pods["items"].as_array_mut().expect("it is a list") {
        pod["spec"]["containers"][0]["readinessProbe"] =
            serde_json::json!({"tcpSocket": {"port": 80}});
    }
    put(file("pods.json"), pods.to_string());
    let node = fs::read_to_string(examples().join("node/node.json")).expect("it is there");
    let node: serde_json::Value = serde_json::from_str(&node).expect("it is JSON");
    put(file("node.json"), node.to_string());
    let list = serde_json::json!({"kind": "NodeList", "apiVersion": "v1", "items": [node]});
    put(file("nodes.json"), list.to_string());
    let other = Node::new(Kernel::V2);
    let config = made_up::kubelet_config("systemd").to_string().replace("127.0.0.1", "10.0.0.1");
    other.write("/var/lib/kubelet/config.yaml", config);
    copy(&other.root(), &file("COPY"));
    copy(
        Path::new("/bin/sh").canonicalize().expect("a shell").as_path(),
        &root.join("opt-kubelet"),
    );
    fs::create_dir_all(root.join("opt")).expect("a folder");
    fs::rename(root.join("opt-kubelet"), root.join("opt/kubelet")).expect("it can be moved");
    machine
}

/// The output of a command.
struct Said {
    line: String,
    code: String,
    text: String,
}

/// Runs a command on the machine; `None`, after printing why, where the machine cannot be made.
fn ask(lines: &[&str]) -> Option<Vec<Said>> {
    if !rustix::process::geteuid().is_root() {
        crate::skipped::skip("a machine can only be made up by root");
        return None;
    }
    let machine = machine();
    let numbered = lines.iter().enumerate().map(|(at, line)| format!("{at} {line}\n"));
    put(machine.path().join("lines"), numbered.collect::<String>());
    let ran = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--net", "--uts", "sh", "-c", SET_UP])
        .env("ROOT", machine.path())
        .env("KQ", env!("CARGO_BIN_EXE_kq"))
        .stdin(Stdio::null())
        .output()
        .expect("unshare can be run");
    let complaint = String::from_utf8_lossy(&ran.stderr).into_owned();
    if complaint.contains("Operation not permitted") {
        crate::skipped::skip(&format!("no namespaces can be made: {complaint}"));
        return None;
    }
    let read = |at: usize, what: &str| {
        let path = machine.path().join(format!("out/{at}.{what}"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {complaint}"))
    };
    let said = |(at, line): (usize, &&str)| Said {
        line: (*line).to_owned(),
        code: read(at, "code").trim().to_owned(),
        text: format!("{}--- stderr\n{}", read(at, "out"), read(at, "err")),
    };
    Some(lines.iter().enumerate().map(said).collect())
}

#[test]
fn nothing_of_the_machine_shows_in_answers_about_files() {
    let lines: Vec<&str> = ABOUT_FILES.iter().chain(&ABOUT_THE_MACHINE).copied().collect();
    let Some(said) = ask(&lines) else { return };
    let mut leaks = Vec::new();
    for Said { line, code, text } in &said[..ABOUT_FILES.len()] {
        if !matches!(code.as_str(), "0" | "1" | "3" | "4") {
            leaks.push(format!("kq {line} is no question: {code}: {text}"));
        }
        if let Some(poison) = POISON.iter().find(|poison| text.contains(*poison)) {
            leaks.push(format!("kq {line}: {poison:?} of the machine shows: {text}"));
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n\n"));
    for Said { line, code, text } in &said[ABOUT_FILES.len()..] {
        let is_seen = POISON.iter().any(|poison| text.contains(poison));
        assert!(
            is_seen,
            "kq {line} does not see the machine, so that nothing is tested: {code}: {text}"
        );
    }
}

#[test]
fn every_command_is_asked() {
    let forgotten: Vec<String> = visible_commands()
        .into_iter()
        .filter(|command| {
            let is_asked = ABOUT_FILES.iter().any(|line| line.starts_with(command.as_str()));
            !is_asked && !ABOUT_A_FOLDER.contains(&command.as_str())
        })
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

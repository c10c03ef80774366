//! A node that is made up: a folder with what kq reads of a node's root, on cgroup v1 or v2.
//!
//! It has a kubelet, a pod that an API server knows, `shop/web`, and a static pod, `kube-system/proxy`.
//! Its cgroups are not quite as planned, so that there is something to say about them.

use crate::program_file;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The name of the node.
pub const NAME: &str = "worker-1";

/// The pod's UID.
pub const WEB: &str = "11111111-2222-4333-8444-555555555555";

/// The static pod's UID, which is a hash.
pub const PROXY: &str = "0123456789abcdef0123456789abcdef";

/// The ids of the pod's container and of its sandbox.
pub const WEB_APP: &str = "aaaa0000aaaa0000aaaa0000aaaa0000aaaa0000aaaa0000aaaa0000aaaa0000";
pub const WEB_SANDBOX: &str = "bbbb0000bbbb0000bbbb0000bbbb0000bbbb0000bbbb0000bbbb0000bbbb0000";

/// The id of the static pod's container.
pub const PROXY_APP: &str = "cccc0000cccc0000cccc0000cccc0000cccc0000cccc0000cccc0000cccc0000";

/// The number of the boot.
pub const BOOT_ID: &str = "5d0bcf2a-0000-4000-8000-00000000beef";

/// The configuration of the kubelet, for one driver; nothing listens on its port.
pub fn kubelet_config(driver: &str) -> Value {
    json!({
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "address": "127.0.0.1",
        "port": 1,
        "cgroupDriver": driver,
        "staticPodPath": "/etc/kubernetes/manifests",
        "kubeReserved": {"cpu": "100m", "memory": "256Mi"},
        "evictionHard": {"memory.available": "100Mi"},
        "podPidsLimit": 500,
    })
}

/// The manifest of the static pod.
pub const MANIFEST: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: proxy
  namespace: kube-system
  uid: 0123456789abcdef0123456789abcdef
spec:
  containers:
  - name: proxy
    image: node.test/proxy:1
    resources:
      requests: {cpu: 50m}
";

const V1_MOUNTS: &str = "\
25 1 0:21 / /sys/fs/cgroup ro,nosuid,nodev,noexec - tmpfs tmpfs ro,mode=755
26 25 0:22 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
27 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
28 25 0:24 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
29 25 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
30 25 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
";

const V2_MOUNTS: &str = "\
35 25 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup2 rw,nsdelegate
";

/// The interface of the kernel; with it goes the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// cgroup v1 and the driver `cgroupfs`.
    V1,
    /// cgroup v2 and the driver `systemd`.
    V2,
}

/// A made-up node in a temporary folder.
pub struct Node {
    folder: tempfile::TempDir,
    kernel: Kernel,
}

impl Node {
    /// Makes a node.
    pub fn new(kernel: Kernel) -> Self {
        let node =
            Self { folder: tempfile::tempdir().expect("a temporary folder can be made"), kernel };
        node.machine();
        node.kubelet();
        node.tree();
        node
    }

    /// Returns the folder of its root.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("host")
    }

    /// Returns the folder beside the root, for what is not the node's.
    pub fn beside(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a path on the node, in a folder that is there.
    pub fn path(&self, path: &str) -> PathBuf {
        let path = self.root().join(path.trim_start_matches('/'));
        let parent = path.parent().expect("a path below the root");
        fs::create_dir_all(parent).expect("a folder can be made");
        path
    }

    /// Writes a file of the node.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(path), content).expect("a file can be written");
    }

    /// Removes a file or folder of the node.
    pub fn remove(&self, path: &str) {
        let path = self.path(path);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.expect("it can be removed");
    }

    /// Returns the driver of the kubelet.
    pub fn driver(&self) -> &'static str {
        match self.kernel {
            Kernel::V1 => "cgroupfs",
            Kernel::V2 => "systemd",
        }
    }

    /// Starts the kubelet anew with other arguments.
    pub fn start_kubelet(&self, arguments: &[&str]) {
        let line = arguments
            .iter()
            .fold("/usr/bin/kubelet".to_owned(), |line, argument| format!("{line}\0{argument}"));
        self.write("/proc/700/cmdline", format!("{line}\0"));
    }

    fn machine(&self) {
        for (path, text) in [
            ("/proc/1/mountinfo", self.of(V1_MOUNTS, V2_MOUNTS)),
            ("/proc/meminfo", "MemTotal:        4194304 kB\nSwapTotal:             0 kB\n"),
            ("/proc/stat", "cpu  1 2 3 4\nbtime 1780000000\n"),
            ("/proc/sys/kernel/hostname", "worker-1\n"),
            ("/proc/sys/kernel/osrelease", "6.12.0\n"),
            ("/proc/sys/kernel/pid_max", "32768\n"),
            ("/proc/sys/kernel/threads-max", "31000\n"),
            ("/etc/machine-id", "00000000000040008000000000000001\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  4194304 kB\n"),
        ] {
            self.write(path, text);
        }
        self.write("/proc/sys/kernel/random/boot_id", format!("{BOOT_ID}\n"));
        self.write("/proc/900/oom_score_adj", "984\n");
        self.write("/proc/901/oom_score_adj", "-998\n");
        self.write("/proc/902/oom_score_adj", "999\n");
    }

    fn kubelet(&self) {
        self.write("/usr/bin/kubelet", program_file::kubelet("v1.36.2"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path("/usr/bin/kubelet"), mode).expect("it can be run");
        symlink("../../usr/bin/kubelet", self.path("/proc/700/exe")).expect("a link can be made");
        symlink("/", self.path("/proc/700/cwd")).expect("a link can be made");
        self.write("/proc/700/comm", "kubelet\n");
        let rest = "S 1 700 700 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4200 0 0";
        self.write("/proc/700/stat", format!("700 (kubelet) {rest}\n"));
        self.write("/proc/700/status", "Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t700\n");
        self.start_kubelet(&["--config=/var/lib/kubelet/config.yaml"]);
        self.write("/var/lib/kubelet/config.yaml", kubelet_config(self.driver()).to_string());
        self.write("/etc/kubernetes/manifests/proxy.yaml", MANIFEST);
        self.write(
            "/var/lib/kubelet/cpu_manager_state",
            r#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#,
        );
    }

    /// Returns the path of the cgroup of all pods and of what is in it.
    fn paths(&self) -> [String; 6] {
        match self.kernel {
            Kernel::V1 => {
                let (root, class) = ("/kubepods", "/kubepods/burstable");
                [
                    root.to_owned(),
                    class.to_owned(),
                    format!("{class}/pod{WEB}"),
                    format!("{class}/pod{WEB}/{WEB_APP}"),
                    format!("{class}/pod{WEB}/{WEB_SANDBOX}"),
                    format!("{class}/pod{PROXY}/{PROXY_APP}"),
                ]
            }
            Kernel::V2 => {
                let class = "/kubepods.slice/kubepods-burstable.slice";
                let pod = |uid: &str| {
                    format!("{class}/kubepods-burstable-pod{}.slice", uid.replace('-', "_"))
                };
                [
                    "/kubepods.slice".to_owned(),
                    class.to_owned(),
                    pod(WEB),
                    format!("{}/cri-containerd-{WEB_APP}.scope", pod(WEB)),
                    format!("{}/cri-containerd-{WEB_SANDBOX}.scope", pod(WEB)),
                    format!("{}/cri-containerd-{PROXY_APP}.scope", pod(PROXY)),
                ]
            }
        }
    }

    /// Returns the cgroup of the container of the pod.
    pub fn app(&self) -> String {
        self.paths()[3].clone()
    }

    fn tree(&self) {
        let [kubepods, class, web, app, sandbox, proxy] = self.paths();
        let above = proxy.rsplit_once('/').expect("a container is in a pod").0.to_owned();
        // A cgroup that a program in the container made, with a process in it.
        let inside = format!("{app}/init.scope");
        for (path, shares, pids) in [
            (&String::new(), 1024, ""),
            (&"/system.slice".to_owned(), 1024, "1\n700\n"),
            (&kubepods, 3993, ""),
            (&class, 153, ""),
            (&web, 102, ""),
            (&app, 999, "900\n"),
            (&inside, 1024, "903\n"),
            (&sandbox, 2, "901\n"),
            (&above, 51, ""),
            (&proxy, 51, "902\n"),
        ] {
            match self.kernel {
                Kernel::V1 => self.v1(path, shares, pids),
                Kernel::V2 => self.v2(path, shares, pids),
            }
        }
    }

    fn v1(&self, path: &str, shares: i64, pids: &str) {
        let unlimited = "9223372036854771712\n";
        for (controller, file, text) in [
            ("cpu,cpuacct", "cpu.shares", format!("{shares}\n")),
            ("cpu,cpuacct", "cpu.cfs_period_us", "100000\n".to_owned()),
            ("cpu,cpuacct", "cpu.cfs_quota_us", "-1\n".to_owned()),
            (
                "cpu,cpuacct",
                "cpu.stat",
                "nr_periods 7\nnr_throttled 3\nthrottled_time 9000\n".into(),
            ),
            ("cpu,cpuacct", "cpuacct.usage", "123456789\n".to_owned()),
            ("cpuset", "cpuset.cpus", "0-3\n".to_owned()),
            ("cpuset", "cpuset.mems", "0\n".to_owned()),
            ("memory", "memory.limit_in_bytes", unlimited.to_owned()),
            ("memory", "memory.memsw.limit_in_bytes", unlimited.to_owned()),
            ("memory", "memory.soft_limit_in_bytes", unlimited.to_owned()),
            ("memory", "memory.usage_in_bytes", "1048576\n".to_owned()),
            (
                "memory",
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n".into(),
            ),
            ("memory", "cgroup.procs", pids.to_owned()),
            ("pids", "pids.max", "max\n".to_owned()),
            ("pids", "pids.current", "2\n".to_owned()),
            ("systemd", "cgroup.procs", pids.to_owned()),
        ] {
            self.write(&format!("/sys/fs/cgroup/{controller}{path}/{file}"), text);
        }
    }

    fn v2(&self, path: &str, weight: i64, pids: &str) {
        let pressure = "some avg10=1.50 avg60=0.20 avg300=0.00 total=77\n";
        let of_all =
            [("cgroup.procs", pids.to_owned()), ("cpu.stat", "usage_usec 99\n".to_owned())];
        let below_root = [
            ("cpu.weight", format!("{weight}\n")),
            ("cpu.max", "max 100000\n".to_owned()),
            ("cpu.pressure", pressure.to_owned()),
            ("cpu.stat", "usage_usec 99\nnr_throttled 1\nthrottled_usec 5\n".to_owned()),
            ("cpuset.cpus", "\n".to_owned()),
            ("memory.current", "1048576\n".to_owned()),
            ("memory.events", "low 0\nhigh 0\nmax 0\noom 1\noom_kill 1\n".to_owned()),
            ("memory.high", "max\n".to_owned()),
            ("memory.low", "0\n".to_owned()),
            ("memory.max", "max\n".to_owned()),
            ("memory.min", "0\n".to_owned()),
            ("memory.oom.group", "0\n".to_owned()),
            ("memory.pressure", pressure.to_owned()),
            ("memory.swap.max", "max\n".to_owned()),
            ("pids.current", "2\n".to_owned()),
            ("pids.max", "max\n".to_owned()),
        ];
        let is_root = path.is_empty();
        let files = of_all.into_iter().chain(below_root.into_iter().filter(|_| !is_root));
        for (file, text) in files {
            self.write(&format!("/sys/fs/cgroup{path}/{file}"), text);
        }
        let controllers = "cpuset cpu io memory pids\n";
        self.write(&format!("/sys/fs/cgroup{path}/cgroup.controllers"), controllers);
    }

    fn of<'t>(&self, v1: &'t str, v2: &'t str) -> &'t str {
        match self.kernel {
            Kernel::V1 => v1,
            Kernel::V2 => v2,
        }
    }
}

/// Returns the pods of the node as an API server and a kubelet list them.
pub fn pods() -> Value {
    json!({
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": "web", "namespace": "shop", "uid": WEB},
                "spec": {
                    "nodeName": NAME,
                    "containers": [{
                        "name": "app",
                        "image": "node.test/app:1",
                        "resources": {
                            "requests": {"cpu": "100m", "memory": "64Mi"},
                            "limits": {"cpu": "200m", "memory": "128Mi"},
                        },
                    }],
                },
                "status": {
                    "phase": "Running",
                    "qosClass": "Burstable",
                    "containerStatuses": [{
                        "name": "app",
                        "containerID": format!("containerd://{WEB_APP}"),
                        "state": {"running": {}},
                    }],
                },
            },
            {
                "metadata": {
                    "name": "proxy-worker-1",
                    "namespace": "kube-system",
                    "uid": "99999999-2222-4333-8444-555555555555",
                    "annotations": {
                        "kubernetes.io/config.mirror": PROXY,
                        "kubernetes.io/config.hash": PROXY,
                        "kubernetes.io/config.source": "file",
                    },
                },
                "spec": {
                    "nodeName": NAME,
                    "containers": [{
                        "name": "proxy",
                        "image": "node.test/proxy:1",
                        "resources": {"requests": {"cpu": "50m"}},
                    }],
                },
                "status": {
                    "phase": "Running",
                    "containerStatuses": [{
                        "name": "proxy",
                        "containerID": format!("containerd://{PROXY_APP}"),
                        "state": {"running": {}},
                    }],
                },
            },
        ],
    })
}

/// Returns the Node object.
#[cfg(feature = "apiserver")]
pub fn node_object() -> Value {
    json!({
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": NAME},
        "status": {
            "capacity": {"cpu": "4", "memory": "4194304Ki", "pods": "110"},
            "allocatable": {"cpu": "3900m", "memory": "3829760Ki", "pods": "110"},
            "nodeInfo": {
                "bootID": BOOT_ID,
                "machineID": "00000000000040008000000000000001",
                "kubeletVersion": "v1.36.2",
            },
        },
    })
}

/// Returns what the kubelet's `/configz` says.
pub fn configz(driver: &str) -> Value {
    json!({ "kubeletconfig": kubelet_config(driver) })
}

//! Makes the files of a node that kq reads, with a cgroup tree as the kubelet has it: plain files
//! below a folder, the same for the same arguments.
//!
//! On cgroup v1 the names are those of the cgroupfs driver, on v2 those of systemd.

use kq_facts::cgroup_mode::CgroupVersion;
use std::fs;
use std::path::Path;

/// What was made.
pub struct FakeTree {
    /// The cgroup of all pods.
    pub kubepods: &'static str,
    /// The pods, in the order of their numbers.
    pub pods: Vec<FakePod>,
    /// How many cgroups there are from that of all pods downwards.
    pub cgroups: usize,
    /// How many files of each of them kq reads when it reads everything, `cgroup.procs` with them.
    pub known_files: usize,
}

/// A pod with a cgroup.
pub struct FakePod {
    /// Its UID.
    pub uid: String,
    /// Its class.
    pub class: Class,
    /// The path of its cgroup.
    pub path: String,
    /// The id of each container, the path of its cgroup and its only process.
    pub containers: Vec<(String, String, i32)>,
}

/// The class of a pod; every third pod has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A CPU and 256 MiB per container.
    Guaranteed,
    /// A tenth of a CPU and at most 128 MiB per container.
    Burstable,
    /// Nothing.
    BestEffort,
}

/// A hierarchy: its folder below `/sys/fs/cgroup`, the files in it, and how many of them kq reads.
type Hierarchy = (&'static str, &'static [&'static str], usize);

const V1: &[Hierarchy] = &[
    (
        "cpu,cpuacct",
        &[
            "cgroup.procs",
            "cpu.cfs_period_us",
            "cpu.cfs_quota_us",
            "cpu.shares",
            "cpu.stat",
            "cpuacct.usage",
            "notify_on_release",
            "tasks",
        ],
        5,
    ),
    ("cpuset", &["cgroup.procs", "cpuset.cpus", "cpuset.mems", "tasks"], 2),
    ("hugetlb", &["cgroup.procs", "hugetlb.2MB.limit_in_bytes", "tasks"], 1),
    (
        "memory",
        &[
            "cgroup.procs",
            "memory.limit_in_bytes",
            "memory.oom_control",
            "memory.soft_limit_in_bytes",
            "memory.usage_in_bytes",
            "tasks",
        ],
        // The processes of v1 are read here.
        5,
    ),
    ("pids", &["cgroup.procs", "pids.current", "pids.max", "tasks"], 2),
    ("systemd", &["cgroup.procs"], 0),
];

const V2: &[Hierarchy] = &[(
    "",
    &[
        "cgroup.controllers",
        "cgroup.procs",
        "cgroup.type",
        "cpu.max",
        "cpu.pressure",
        "cpu.stat",
        "cpu.weight",
        "cpuset.cpus",
        "cpuset.mems",
        "hugetlb.2MB.max",
        "io.pressure",
        "memory.current",
        "memory.events",
        "memory.high",
        "memory.low",
        "memory.max",
        "memory.min",
        "memory.oom.group",
        "memory.pressure",
        "memory.swap.current",
        "memory.swap.max",
        "pids.current",
        "pids.max",
    ],
    21,
)];

/// What is set in a cgroup.
#[derive(Clone, Copy)]
struct Values {
    milli_cpu: usize,
    quota: bool,
    memory: Option<usize>,
    pid: Option<i32>,
}

/// No limits.
const FREE: Values = Values { milli_cpu: 0, quota: false, memory: None, pid: None };

/// Makes the files of a node with pods below a folder, which is the node's root.
pub fn cgroup_tree(
    root: &Path,
    pods: usize,
    containers_per_pod: usize,
    version: CgroupVersion,
) -> FakeTree {
    host(root, version);
    let systemd = version == CgroupVersion::V2;
    let hierarchies = if systemd { V2 } else { V1 };
    let put = |path: &str, values: Values| cgroup(root, hierarchies, path, values);
    put("", FREE);
    put(if systemd { "/system.slice" } else { "/system" }, FREE);
    let kubepods = if systemd { "/kubepods.slice" } else { "/kubepods" };
    put(kubepods, Values { milli_cpu: 8000, ..FREE });
    for class in [Class::Burstable, Class::BestEffort] {
        put(&class.path(systemd), FREE);
    }
    let mut tree = FakeTree {
        kubepods,
        pods: Vec::with_capacity(pods),
        cgroups: 3 + pods * (1 + containers_per_pod),
        known_files: hierarchies.iter().map(|(_, _, known)| known).sum(),
    };
    for n in 0..pods {
        let class = [Class::Burstable, Class::Guaranteed, Class::BestEffort][n % 3];
        let uid =
            format!("{:08x}-{:04x}-4000-8000-{n:012x}", n * 2_654_435 % (1 << 31), n % 65_521);
        let path = match (systemd, class.path(true).trim_end_matches(".slice")) {
            (false, _) => format!("{}/pod{uid}", class.path(false)),
            (true, above) => {
                let above = above.rsplit('/').next().expect("a last part");
                format!("{}/{above}-pod{}.slice", class.path(true), uid.replace('-', "_"))
            }
        };
        let own = class.values();
        put(
            &path,
            Values {
                milli_cpu: own.milli_cpu * containers_per_pod,
                memory: own.memory.map(|bytes| bytes * containers_per_pod),
                ..own
            },
        );
        let mut containers = Vec::with_capacity(containers_per_pod);
        for at in 0..containers_per_pod {
            let number = n * containers_per_pod + at;
            let id = format!("{:064x}", (number + 1) * 2_654_435_761);
            let below = match systemd {
                true => format!("{path}/cri-containerd-{id}.scope"),
                false => format!("{path}/{id}"),
            };
            let pid = i32::try_from(1000 + number).expect("a pid");
            put(&below, Values { pid: Some(pid), ..own });
            write(root, &format!("/proc/{pid}/oom_score_adj"), class.oom_score_adj());
            containers.push((id, below, pid));
        }
        tree.pods.push(FakePod { uid, class, path, containers });
    }
    tree
}

impl Class {
    /// Returns the cgroup that its pods are in.
    fn path(self, systemd: bool) -> String {
        let above = if systemd { "/kubepods.slice" } else { "/kubepods" };
        match (self, systemd) {
            (Self::Guaranteed, _) => above.to_owned(),
            (Self::Burstable, true) => format!("{above}/kubepods-burstable.slice"),
            (Self::BestEffort, true) => format!("{above}/kubepods-besteffort.slice"),
            (Self::Burstable, false) => format!("{above}/burstable"),
            (Self::BestEffort, false) => format!("{above}/besteffort"),
        }
    }

    fn values(self) -> Values {
        match self {
            Self::Guaranteed => {
                Values { milli_cpu: 1000, quota: true, memory: Some(256 << 20), pid: None }
            }
            Self::Burstable => Values { milli_cpu: 100, memory: Some(128 << 20), ..FREE },
            Self::BestEffort => FREE,
        }
    }

    fn oom_score_adj(self) -> &'static str {
        match self {
            Self::Guaranteed => "-997\n",
            Self::Burstable => "999\n",
            Self::BestEffort => "1000\n",
        }
    }
}

fn cgroup(root: &Path, hierarchies: &[Hierarchy], path: &str, values: Values) {
    for (name, files, _) in hierarchies {
        let folder = root.join(format!("sys/fs/cgroup/{name}{path}"));
        fs::create_dir_all(&folder).expect("a folder can be made");
        for file in *files {
            fs::write(folder.join(file), text(file, values)).expect("a file can be written");
        }
    }
}

fn text(file: &str, values: Values) -> String {
    let Values { milli_cpu, quota, memory, pid } = values;
    let shares = (milli_cpu * 1024 / 1000).max(2);
    let quota = quota.then_some(milli_cpu * 100);
    let size = |none: &str| memory.map_or_else(|| none.to_owned(), |bytes| bytes.to_string());
    let mut text = match file {
        "cgroup.procs" | "tasks" => pid.map_or_else(String::new, |pid| pid.to_string()),
        "cgroup.controllers" => "cpuset cpu io memory hugetlb pids".to_owned(),
        "cgroup.type" => "domain".to_owned(),
        "cpu.cfs_period_us" => "100000".to_owned(),
        "cpu.cfs_quota_us" => quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string()),
        "cpu.max" => match quota {
            Some(quota) => format!("{quota} 100000"),
            None => "max 100000".to_owned(),
        },
        "cpu.pressure" | "io.pressure" | "memory.pressure" => {
            "some avg10=0.12 avg60=0.03 avg300=0.00 total=34567\n\
             full avg10=0.00 avg60=0.00 avg300=0.00 total=0"
                .to_owned()
        }
        "cpu.shares" => shares.to_string(),
        "cpu.stat" => "usage_usec 8675309\nuser_usec 7000000\nsystem_usec 1675309\n\
                       nr_periods 1200\nnr_throttled 7\nthrottled_usec 91000"
            .to_owned(),
        "cpu.weight" => (1 + (shares - 2) * 9999 / 262_142).to_string(),
        "cpuacct.usage" => "8675309000".to_owned(),
        "hugetlb.2MB.limit_in_bytes" => "9223372036852678656".to_owned(),
        "memory.current" | "memory.usage_in_bytes" => "41943040".to_owned(),
        "memory.events" => "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\noom_group_kill 0".to_owned(),
        "memory.limit_in_bytes" => size("9223372036854771712"),
        "memory.max" => size("max"),
        "memory.oom_control" => "oom_kill_disable 0\nunder_oom 0\noom_kill 1".to_owned(),
        "memory.soft_limit_in_bytes" => "9223372036854771712".to_owned(),
        "memory.low"
        | "memory.min"
        | "memory.oom.group"
        | "memory.swap.current"
        | "notify_on_release" => "0".to_owned(),
        "pids.current" => "5".to_owned(),
        "cpuset.cpus" | "cpuset.mems" => String::new(),
        _ => "max".to_owned(),
    };
    // An empty list has no line.
    if !(text.is_empty() && matches!(file, "cgroup.procs" | "tasks")) {
        text.push('\n');
    }
    text
}

/// Writes what the kernel says of the machine.
fn host(root: &Path, version: CgroupVersion) {
    let mounts: String = match version {
        CgroupVersion::V2 => {
            "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
                .into()
        }
        CgroupVersion::V1 => (V1.iter().enumerate())
            .map(|(at, (name, _, _))| {
                let named = if *name == "systemd" { "name=systemd" } else { name };
                format!(
                    "{} 25 0:{} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{named}\n",
                    40 + at,
                    30 + at
                )
            })
            .collect(),
    };
    for (path, text) in [
        ("/etc/machine-id", "4c4c4544004a4d10804ac4c04f4d5031\n"),
        ("/proc/1/mountinfo", &*mounts),
        ("/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t3\t9\t1\n"),
        ("/proc/meminfo", "MemTotal:       65536000 kB\nSwapTotal:             0 kB\n"),
        ("/proc/stat", "cpu  1 0 1 1 0 0 0 0 0 0\nbtime 1700000000\n"),
        ("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
        ("/proc/sys/kernel/pid_max", "4194304\n"),
        ("/proc/sys/kernel/random/boot_id", "0f5d7b0e-96c0-4f6e-8a2a-8a4c8b1c1d11\n"),
        ("/proc/sys/kernel/threads-max", "510000\n"),
        ("/sys/devices/system/cpu/online", "0-15\n"),
        ("/sys/devices/system/node/node0/cpulist", "0-15\n"),
        ("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 65536000 kB\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n"),
    ] {
        write(root, path, text);
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path.trim_start_matches('/'));
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
    fs::write(path, text).expect("a file can be written");
}

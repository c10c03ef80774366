//! The mount points of the kernel's cgroup hierarchies, read from `mountinfo`.

use crate::cgroup_mode::CgroupVersion;
use crate::mounts::MountLine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The usual mount point of cgroups, which the kubelet uses too.
const USUAL_PLACE: &str = "/sys/fs/cgroup";

/// The controllers of cgroup v1. Among the options of a file system, nothing else is one: the kernel
/// gets no new ones there.
const V1_CONTROLLERS: [&str; 15] = [
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "debug",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
];

/// The hierarchies of a machine, with paths as they are on the machine itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupLayout {
    /// cgroup v1: the mount point of each controller: `cpu` -> `/sys/fs/cgroup/cpu,cpuacct`. Named
    /// hierarchies are there too: `name=systemd`.
    pub controllers: BTreeMap<String, String>,
    /// The mount point of the unified hierarchy, where it is mounted.
    pub unified: Option<String>,
}

/// A line that is none of `mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected a mount as the kernel writes it, with \" - \" before its type")]
pub struct ParseMountInfoError {
    /// The line, from 1.
    pub line: usize,
}

impl CgroupLayout {
    /// Returns which interface the kubelet uses: the unified hierarchy when it is mounted at the place
    /// where the kubelet expects it, and no v1 controller is in use. (A hybrid layout, with v1
    /// controllers and the unified hierarchy, is v1 to the kubelet: `IsCgroup2UnifiedMode`
    /// of `opencontainers/cgroups` reads the file system type of `/sys/fs/cgroup`.)
    pub fn version(&self) -> Option<CgroupVersion> {
        let is_v1 = self.controllers.keys().any(|name| !name.starts_with("name="));
        match (is_v1, self.unified.as_deref()) {
            (_, Some(USUAL_PLACE)) => Some(CgroupVersion::V2),
            (true, _) => Some(CgroupVersion::V1),
            (false, Some(_)) => Some(CgroupVersion::V2),
            (false, None) => None,
        }
    }

    /// Returns the path of a cgroup below its hierarchy's root, for a path that may begin with the mount
    /// point.
    pub fn path_below_root(&self, path: &str) -> String {
        let mounts = self.controllers.values().chain(&self.unified);
        let rest = mounts.filter_map(|mount| {
            let rest = path.strip_prefix(mount.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        });
        // The unified hierarchy can be mounted above the others.
        rest.min_by_key(|rest| rest.len()).unwrap_or(path).to_owned()
    }

    /// Returns true if v1 controllers and the unified hierarchy are mounted at the same time.
    pub fn is_hybrid(&self) -> bool {
        self.version() == Some(CgroupVersion::V1) && self.unified.is_some()
    }

    /// Reads the text of `/proc/PID/mountinfo`.
    ///
    /// A hierarchy can be mounted more than once. Of its mounts, one that shows the whole of it wins
    /// over one that shows a part (a bind, a container's own), then one below `/sys/fs/cgroup`, then
    /// the first. A mount that another one covers does not count.
    /// Fails for a line that is not a mount.
    pub fn parse(mountinfo: &str) -> Result<Self, ParseMountInfoError> {
        let mut mounts: Vec<(MountLine<'_>, String)> = Vec::new();
        let mut last_at: BTreeMap<String, usize> = BTreeMap::new();
        for (at, line) in mountinfo.lines().enumerate() {
            let mount = MountLine::parse(line).and_then(|mount| Some((mount, mount.point()?)));
            let (mount, point) = mount.ok_or(ParseMountInfoError { line: at + 1 })?;
            last_at.insert(point.clone(), at);
            mounts.push((mount, point));
        }
        let mut best: BTreeMap<&str, ((bool, bool), &String)> = BTreeMap::new();
        for (at, (mount, point)) in mounts.iter().enumerate() {
            if last_at.get(point) != Some(&at) {
                continue;
            }
            let rank = (mount.root == "/", is_usual(point));
            for name in hierarchies(mount) {
                if best.get(name).is_none_or(|(other, _)| rank > *other) {
                    best.insert(name, (rank, point));
                }
            }
        }
        let mut layout = Self::default();
        for (name, (_, point)) in best {
            if name.is_empty() {
                layout.unified = Some(point.clone());
            } else {
                layout.controllers.insert(name.to_owned(), point.clone());
            }
        }
        Ok(layout)
    }
}

fn is_usual(point: &str) -> bool {
    point.strip_prefix(USUAL_PLACE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the names of the hierarchies behind a mount; that of the unified one is empty.
fn hierarchies<'a>(mount: &MountLine<'a>) -> Vec<&'a str> {
    match mount.kind {
        "cgroup2" => vec![""],
        "cgroup" => mount
            .options
            .split(',')
            .filter(|option| V1_CONTROLLERS.contains(option) || option.starts_with("name="))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Debian 12 with systemd.
    const V2: &str = "\
24 31 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
25 31 0:23 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw
31 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard,errors=remount-ro
35 25 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
36 25 0:31 / /sys/fs/bpf rw,nosuid,nodev,noexec,relatime shared:10 - bpf bpf rw,mode=700
";

    /// CentOS 7 with systemd.
    const V1: &str = "\
25 24 0:21 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:8 - tmpfs tmpfs ro,mode=755
26 25 0:22 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:9 - cgroup cgroup rw,xattr,release_agent=/usr/lib/systemd/systemd-cgroups-agent,name=systemd
28 25 0:25 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:10 - cgroup cgroup rw,memory
29 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,seclabel,cpuacct,cpu
";

    /// Ubuntu 20.04 with systemd.
    const HYBRID: &str = "\
34 25 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
35 34 0:29 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate
36 34 0:30 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,name=systemd
39 34 0:33 / /sys/fs/cgroup/rdma rw,nosuid,nodev,noexec,relatime shared:15 - cgroup cgroup rw,rdma
40 34 0:34 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:16 - cgroup cgroup rw,memory
";

    /// A container of Docker on cgroup v1 without a namespace of its own.
    const CONTAINER: &str = "\
820 819 0:97 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
821 820 0:29 /docker/3f1c /sys/fs/cgroup/systemd ro,nosuid,nodev,noexec,relatime master:11 - cgroup cgroup rw,xattr,name=systemd
822 820 0:34 /docker/3f1c /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:16 - cgroup cgroup rw,memory
";

    fn shown(layout: &CgroupLayout) -> String {
        let mut parts: Vec<String> =
            layout.controllers.iter().map(|(name, point)| format!("{name}={point}")).collect();
        parts.extend(layout.unified.iter().map(|point| format!("unified={point}")));
        parts.join(" ")
    }

    #[test]
    fn hierarchies_are_found() {
        let both = |first: &str, second: &str| format!("{first}{second}");
        let bind = "50 1 0:34 /docker/3f1c /mnt/memory rw - cgroup cgroup rw,memory\n";
        let elsewhere = "51 1 0:34 / /mnt/memory rw - cgroup cgroup rw,memory\n";
        for (name, text, expected) in [
            ("nothing", String::new(), ""),
            ("v2", V2.to_owned(), "unified=/sys/fs/cgroup"),
            (
                "v1, two controllers at one place",
                V1.to_owned(),
                "cpu=/sys/fs/cgroup/cpu,cpuacct cpuacct=/sys/fs/cgroup/cpu,cpuacct \
                 memory=/sys/fs/cgroup/memory name=systemd=/sys/fs/cgroup/systemd",
            ),
            (
                "hybrid",
                HYBRID.to_owned(),
                "memory=/sys/fs/cgroup/memory name=systemd=/sys/fs/cgroup/systemd \
                 rdma=/sys/fs/cgroup/rdma unified=/sys/fs/cgroup/unified",
            ),
            (
                "container: a part is all there is",
                CONTAINER.to_owned(),
                "memory=/sys/fs/cgroup/memory name=systemd=/sys/fs/cgroup/systemd",
            ),
            (
                "a part is not taken beside the whole, even at the usual place",
                both(elsewhere, "52 1 0:34 /a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"),
                "memory=/mnt/memory",
            ),
            (
                "a bind comes first",
                both(bind, "52 1 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"),
                "memory=/sys/fs/cgroup/memory",
            ),
            (
                "the usual place is preferred",
                both(elsewhere, "52 1 0:34 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"),
                "memory=/sys/fs/cgroup/memory",
            ),
            (
                "a name that begins like the usual place",
                both(
                    elsewhere,
                    "52 1 0:34 / /sys/fs/cgroup-old/memory rw - cgroup cgroup rw,memory",
                ),
                "memory=/mnt/memory",
            ),
            (
                "covered by another mount",
                both(V2, "60 35 0:99 / /sys/fs/cgroup ro - tmpfs tmpfs ro"),
                "",
            ),
            (
                "escaped blank",
                r"52 1 0:34 / /mnt/a\040b\134c rw - cgroup2 none rw".to_owned(),
                r"unified=/mnt/a b\c",
            ),
            (
                "no source",
                "52 1 0:34 / /mnt/a rw shared:1 master:2 - cgroup2  rw".to_owned(),
                "unified=/mnt/a",
            ),
            (
                "an option is not a controller",
                "52 1 0:34 / /mnt/a rw - cgroup cgroup rw,clone_children,noprefix,freezer"
                    .to_owned(),
                "freezer=/mnt/a",
            ),
        ] {
            let layout =
                CgroupLayout::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(shown(&layout), expected, "{name}");
        }
    }

    #[test]
    fn versions_follow_from_the_mounts() {
        for (name, text, version, hybrid) in [
            ("v2", V2, Some(CgroupVersion::V2), false),
            ("v1", V1, Some(CgroupVersion::V1), false),
            ("hybrid", HYBRID, Some(CgroupVersion::V1), true),
            ("none", "", None, false),
        ] {
            let layout = CgroupLayout::parse(text).expect(name);
            assert_eq!((layout.version(), layout.is_hybrid()), (version, hybrid), "{name}");
        }
    }

    #[test]
    fn other_text_is_refused_by_its_line() {
        for (name, text, line) in [
            ("garbage", "garbage", 1),
            ("no separator", "24 31 0:22 / /proc rw proc proc rw", 1),
            ("no type", "24 31 0:22 / /proc rw - ", 1),
            ("no device", "24 31 x / /proc rw - proc proc rw", 1),
            ("empty line", "24 31 0:22 / /proc rw - proc proc rw\n\n", 2),
            ("escape that is no text", r"24 31 0:22 / /\377 rw - proc proc rw", 1),
        ] {
            assert_eq!(CgroupLayout::parse(text), Err(ParseMountInfoError { line }), "{name}");
        }
    }
}

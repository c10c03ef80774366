//! The mounts of the node, read from `mountinfo`.
//!
//! The format is that of `Documentation/filesystems/proc.rst` of Linux, section 3.5.

/// The mounts of a node, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts(Vec<Mount>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// `MAJOR:MINOR`
    pub device: String,
    /// The folder, or file, on which it is mounted.
    pub point: String,
    /// `ext4`, `xfs`, `overlay`.
    pub kind: String,
    /// The user who mounted it, for FUSE: a program of this user answers.
    pub mounted_by: Option<u32>,
}

impl Mounts {
    /// Reads the text of `/proc/PID/mountinfo`. A line that is not a mount is skipped: what is said of
    /// the others stays true.
    pub fn parse(mountinfo: &str) -> Self {
        Self(mountinfo.lines().filter_map(|line| MountLine::parse(line)?.mount()).collect())
    }

    /// Returns the mount on which a folder is, given its path without links and its device.
    ///
    /// That is the one with the longest path, and the last of those. One that was covered later by a
    /// mount above it can have a longer path; the device identifies it.
    pub fn of(&self, path: &str, device: &str) -> Option<&Mount> {
        let above: Vec<&Mount> = self
            .0
            .iter()
            .filter(|mount| path == mount.point || is_beneath(path, &mount.point))
            .collect();
        let longest = |mounts: &mut dyn Iterator<Item = &'_ &'_ Mount>| {
            mounts.max_by_key(|mount| mount.point.len()).map(|mount| mount.point.clone())
        };
        let same = longest(&mut above.iter().filter(|mount| mount.device == device));
        let is_same = same.is_some();
        let point = same.or_else(|| longest(&mut above.iter()))?;
        let mut last = above.into_iter().rev();
        last.find(|mount| mount.point == point && (!is_same || mount.device == device))
    }

    /// Returns the mount of a device.
    pub fn of_device(&self, device: &str) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.device == device)
    }

    /// Returns the mounts that a path without links leads through: what is mounted on it, or on a folder above it.
    pub fn above(&self, path: &str) -> impl Iterator<Item = &Mount> {
        self.0.iter().filter(move |mount| path == mount.point || is_beneath(path, &mount.point))
    }

    /// Returns where something is mounted beneath a folder, in order. What is mounted beneath another
    /// mount is left out: it covers nothing of the folder's own.
    pub fn beneath(&self, folder: &str) -> Vec<&str> {
        let beneath = self.0.iter().map(|mount| mount.point.as_str());
        let mut points: Vec<&str> = beneath.filter(|point| is_beneath(point, folder)).collect();
        points.sort_unstable();
        points.dedup();
        let mut topmost: Vec<&str> = Vec::new();
        for point in points {
            // In this order a name with a character before the slash may stand in between.
            if !topmost.iter().rev().any(|above| is_beneath(point, above)) {
                topmost.push(point);
            }
        }
        topmost
    }
}

/// The file systems of the kernel itself.
const KERNELS: [&str; 28] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nfsd",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "resctrl",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sysfs",
    "tmpfs",
    "tracefs",
];

/// The file systems on devices of this machine.
const DEVICES: [&str; 22] = [
    "bcachefs", "btrfs", "cramfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus",
    "iso9660", "jfs", "msdos", "nilfs2", "ntfs3", "overlay", "reiserfs", "squashfs", "udf", "vfat",
    "xfs", "zfs",
];

/// Returns true for the line of a mount whose file system is none of the kernel or of a device: another program or machine
/// answers there. A type that is not known is taken for one of those.
pub fn needs_server(line: &str) -> bool {
    MountLine::parse(line)
        .is_some_and(|MountLine { kind, .. }| !KERNELS.contains(&kind) && !DEVICES.contains(&kind))
}

/// Returns true if a path is beneath a folder, and not the folder.
fn is_beneath(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
}

/// A line of `mountinfo`.
#[derive(Clone, Copy)]
pub(crate) struct MountLine<'a> {
    device: &'a str,
    /// The folder of the file system that is seen at the mount point.
    pub(crate) root: &'a str,
    /// Blanks and the like are `\040` in it.
    point: &'a str,
    pub(crate) kind: &'a str,
    /// Those of the file system.
    pub(crate) options: &'a str,
}

impl<'a> MountLine<'a> {
    /// Reads `ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS`.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ');
        let (id, parent, device) = (fields.next()?, fields.next()?, fields.next()?);
        let (root, point, _) = (fields.next()?, fields.next()?, fields.next()?);
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let (major, minor) = device.split_once(':')?;
        if ![id, parent, major, minor].into_iter().all(is_number) {
            return None;
        }
        let mut fields = file_system.split(' ');
        let kind = fields.next()?;
        // A source can be empty, which leaves two blanks; the options come last in any case.
        let options = fields.next_back()?;
        Some(Self { device, root, point, kind, options })
    }

    /// Returns where it is mounted; `None`: that is not UTF-8.
    pub(crate) fn point(&self) -> Option<String> {
        unescape(self.point)
    }

    fn mount(self) -> Option<Mount> {
        let mut users =
            self.options.split(',').filter_map(|option| option.strip_prefix("user_id="));
        Some(Mount {
            device: self.device.to_owned(),
            point: self.point()?,
            kind: self.kind.to_owned(),
            mounted_by: users.find_map(|user| user.parse().ok()),
        })
    }
}

/// Resolves `\040` and its like; what they make must be text.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| {
            digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) && digits[0] <= b'3'
        });
        match digits {
            Some(digits) if first == b'\\' => {
                let value = digits.iter().fold(0u8, |sum, digit| (sum << 3) | (digit - b'0'));
                bytes.push(value);
                rest = &after[3..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:2 / /var/lib/containerd rw shared:9 - xfs /dev/sdb rw
31 30 0:50 / /var/lib/containerd/over rw - overlay overlay rw
nonsense
32 22 0:51 / /var/lib/kubelet/pods/a/volumes/b\\040c rw - tmpfs tmpfs rw
33 32 0:52 / /var/lib/kubelet/pods/a/volumes/b\\040c/deep rw - tmpfs tmpfs rw
34 22 0:53 / /var/lib/kubelet/pods/a/volumes/b rw - tmpfs tmpfs rw
35 22 0:54 / /var/lib/kubelet/pods/a/volumes/b rw - nfs4 server: rw
36 22 8:3 / /mnt rw - ext4 /dev/sdc rw
37 36 8:4 / /mnt/below rw - ext4 /dev/sdd rw
38 22 8:5 / /mnt rw - ext4 /dev/sde rw
";

    #[test]
    fn a_folder_is_on_the_nearest_mount() {
        let mounts = Mounts::parse(TEXT);
        for (name, path, device, expected) in [
            ("the root", "/", "8:1", Some(("/", "ext4"))),
            ("a folder", "/etc", "8:1", Some(("/", "ext4"))),
            ("a mount", "/var/lib/containerd", "8:2", Some(("/var/lib/containerd", "xfs"))),
            ("a name alike", "/var/lib/containerd-2", "8:1", Some(("/", "ext4"))),
            ("beneath", "/var/lib/containerd/x", "8:2", Some(("/var/lib/containerd", "xfs"))),
            (
                "the last one there",
                "/var/lib/kubelet/pods/a/volumes/b",
                "0:54",
                Some(("/var/lib/kubelet/pods/a/volumes/b", "nfs4")),
            ),
            ("a mount that is covered", "/mnt/below/x", "8:5", Some(("/mnt", "ext4"))),
            // As a subvolume of btrfs has it.
            ("a device of its own", "/etc/x", "0:99", Some(("/", "ext4"))),
        ] {
            let found = mounts.of(path, device);
            let found = found.map(|mount| (mount.point.as_str(), mount.kind.as_str()));
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(Mounts::default().of("/", "8:1"), None);
    }

    #[test]
    fn only_local_file_systems_need_no_server() {
        let of = |kind: &str| format!("36 22 0:3 / /mnt rw,relatime shared:1 - {kind} source rw");
        for kind in ["ext4", "xfs", "overlay", "tmpfs", "proc", "cgroup2", "autofs"] {
            assert!(!needs_server(&of(kind)), "{kind}");
        }
        for kind in ["fuse", "fuse.lxcfs", "fuseblk", "nfs4", "cifs", "9p", "virtiofs", "newfs"] {
            assert!(needs_server(&of(kind)), "{kind}");
        }
        assert!(!needs_server("nonsense"));
    }

    #[test]
    fn mounts_beneath_are_the_topmost_ones() {
        let mounts = Mounts::parse(TEXT);
        for (folder, expected) in [
            ("/var/lib/containerd", &["/var/lib/containerd/over"] as &[&str]),
            ("/var/lib/containerd/over", &[]),
            (
                "/var/lib/kubelet",
                &["/var/lib/kubelet/pods/a/volumes/b", "/var/lib/kubelet/pods/a/volumes/b c"],
            ),
            ("/mnt", &["/mnt/below"]),
            ("/var/lib/kube", &[]),
        ] {
            assert_eq!(mounts.beneath(folder), expected, "{folder}");
        }
        assert_eq!(mounts.beneath("/").len(), 4, "the root has them all");
    }
}

//! Single files of cgroups: of the kernel, and of trees with planted traps.

use super::fake_tree::{FakeTree, cgroup_tree};
use super::own_cgroups::OwnCgroups;
use crate::skipped::skip;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::CgroupPath;
use kq_io::cgroup_files::KernelFiles;
use kq_io::cgroup_tree::{TreeNeeds, read_tree};
use kq_io::host::read_host;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A node in a temporary folder, with something outside that must stay as it is.
struct Node {
    folder: tempfile::TempDir,
    made: FakeTree,
    files: KernelFiles,
}

const OUTSIDE: &str = "outside\n";

fn node(version: CgroupVersion) -> Node {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let made = cgroup_tree(folder.path(), 3, 1, version);
    fs::create_dir(folder.path().join("outside")).expect("a folder can be made");
    for file in ["memory.max", "pids.max"] {
        fs::write(folder.path().join("outside").join(file), OUTSIDE).expect("written");
    }
    let layout = read_host(folder.path()).cgroup_layout().expect("the mounts are written");
    let files = KernelFiles::new(folder.path(), &layout);
    Node { folder, made, files }
}

impl Node {
    fn place(&self, path: &str) -> PathBuf {
        self.folder.path().join(format!("sys/fs/cgroup{path}"))
    }

    /// Expects that a file is neither read nor written, for this reason.
    #[track_caller]
    fn refuses(&self, cgroup: &str, file: &str, why: &str) {
        let before = Instant::now();
        let read = self.files.read(cgroup, file).expect_err("it is not read");
        assert_eq!(read, format!("cannot read {cgroup}/{file}: {why}"));
        let write = self.files.write(cgroup, file, "13").expect_err("it is not written");
        assert_eq!(write, format!("cannot write {cgroup}/{file}: {why}"));
        assert!(before.elapsed() < Duration::from_secs(2), "nothing waits");
        for file in ["memory.max", "pids.max"] {
            let outside = fs::read_to_string(self.folder.path().join("outside").join(file));
            assert_eq!(outside.expect("it is there"), OUTSIDE, "{cgroup}/{file}");
        }
    }
}

#[test]
fn settings_are_read_and_written() {
    for (version, file, now, next) in [
        (CgroupVersion::V1, "memory.limit_in_bytes", "134217728", "4096"),
        (CgroupVersion::V1, "cpu.shares", "102", "2"),
        (CgroupVersion::V2, "memory.max", "134217728", "max"),
        (CgroupVersion::V2, "cpu.max", "max 100000", "5000 100000"),
        (CgroupVersion::V2, "hugetlb.2MB.max", "max", "0"),
    ] {
        let node = node(version);
        let pod = &node.made.pods[0].path;
        for cgroup in [pod.as_str(), pod.trim_start_matches('/')] {
            node.files.write(cgroup, file, now).expect(file);
            assert_eq!(node.files.read(cgroup, file).as_deref(), Ok(now), "{version:?} {file}");
        }
        node.files.write(pod, file, next).expect(file);
        assert_eq!(node.files.read(pod, file).as_deref(), Ok(next), "nothing of the old is left");
    }
    let node = node(CgroupVersion::V2);
    assert_eq!(node.files.read("/", "pids.max").as_deref(), Ok("max"), "the root");
}

#[test]
fn only_files_from_the_table_are_touched() {
    let node = node(CgroupVersion::V2);
    let pod = node.made.pods[0].path.clone();
    fs::write(node.place(&format!("{pod}/cgroup.kill")), "").expect("written");
    for file in ["cgroup.kill", "cgroup.procs", "cgroup.subtree_control", "cpu.shares", "", "."] {
        node.refuses(&pod, file, "cgroup v2 has no such value");
    }
    for file in ["/etc/passwd", "../memory.max", "x/memory.max", "hugetlb./../x.max"] {
        node.refuses(&pod, file, "cgroup v2 has no such value");
    }
    let counted = node.files.write(&pod, "memory.current", "0").expect_err("it is counted");
    assert_eq!(counted, format!("cannot write {pod}/memory.current: it is not a setting"));
    assert_eq!(node.files.read(&pod, "memory.current").as_deref(), Ok("41943040"));
    let node = self::node(CgroupVersion::V1);
    node.refuses(&pod, "memory.max", "cgroup v1 has no such value");
    let mut layout = read_host(node.folder.path()).cgroup_layout().expect("mounts");
    layout.controllers.remove("pids");
    let files = KernelFiles::new(node.folder.path(), &layout);
    let reason = files.read("/kubepods", "pids.max").expect_err("it is not mounted");
    assert_eq!(
        reason,
        "cannot read /kubepods/pids.max: no hierarchy with this controller is mounted"
    );
}

#[test]
fn a_copied_node_does_not_say_where_its_cgroups_are_outside_of_it() {
    // The mount point is a link to a tree next to the root, which only the root of the copy may lead to.
    let node = node(CgroupVersion::V2);
    let root = node.folder.path().join("copy");
    for (name, link, mount) in [
        ("the mount point", "sys/fs/cgroup", "/sys/fs/cgroup"),
        ("a folder above", "sys/fs", "/sys/fs/cgroup"),
        ("the text of the mount", "nothing", "/../sys/fs/cgroup"),
    ] {
        let _ = fs::remove_dir_all(&root);
        let place = root.join(link);
        fs::create_dir_all(place.parent().expect("it is in the root")).expect("made");
        let target = node.folder.path().join(if link == "sys/fs" { link } else { "sys/fs/cgroup" });
        symlink(target, place).expect("made");
        let mut layout = read_host(node.folder.path()).cgroup_layout().expect("mounts");
        layout.unified = Some(mount.to_owned());
        let files = KernelFiles::new(&root, &layout);
        let pod = &node.made.pods[0].path;
        assert!(files.read(pod, "memory.max").is_err(), "{name}");
        assert!(files.write(pod, "memory.max", "13").is_err(), "{name}");
        let wants = TreeNeeds { roots: vec![CgroupPath::new("/kubepods")], ..TreeNeeds::default() };
        let tree = read_tree(&root, &layout, &wants);
        assert!(tree.cgroups.is_empty(), "{name}: {:?}", tree.cgroups.keys());
    }
}

#[test]
fn no_path_leads_out() {
    let node = node(CgroupVersion::V2);
    let kubepods = node.made.kubepods;
    let pod = node.made.pods[0].path.clone();
    let outside = node.folder.path().join("outside");
    let replaced = |file: &str| {
        let place = node.place(&format!("{pod}/{file}"));
        fs::remove_file(&place).expect("it was there");
        place
    };
    symlink(outside.join("memory.max"), replaced("memory.max")).expect("a link can be made");
    node.refuses(&pod, "memory.max", "a part of the path is a link");
    symlink("pids.max", replaced("memory.high")).expect("a link can be made");
    node.refuses(&pod, "memory.high", "a part of the path is a link");
    symlink(&outside, node.place(&format!("{kubepods}/linked"))).expect("a link can be made");
    node.refuses(&format!("{kubepods}/linked"), "pids.max", "a part of the path is a link");
    symlink(&pod, node.place(&format!("{kubepods}/inside"))).expect("a link can be made");
    node.refuses(&format!("{kubepods}/inside/x"), "pids.max", "a part of the path is a link");
    for cgroup in ["/..", "..", "/../../../outside", &format!("{pod}/../../{kubepods}")] {
        node.refuses(cgroup, "memory.max", "a part of the path leads up");
    }
    // Every path is below the mount, also one that looks like a whole one of the machine.
    let whole = outside.display().to_string();
    node.refuses(&whole, "memory.max", "no such file or directory");
    let pipe = replaced("cpu.max");
    assert!(Command::new("mkfifo").arg(pipe).status().expect("mkfifo runs").success());
    node.refuses(&pod, "cpu.max", "it is not a regular file");
    fs::create_dir(replaced("memory.low")).expect("a folder can be made");
    node.refuses(&pod, "memory.low", "it is not a regular file");
    // The path of a socket must be short; its name can be changed.
    let socket = node.folder.path().join("s");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    fs::rename(socket, replaced("memory.min")).expect("it is renamed");
    node.refuses(&pod, "memory.min", "it is not a regular file");
    node.refuses(&format!("{kubepods}/gone"), "pids.max", "no such file or directory");
    fs::write(node.place(&format!("{pod}/cpu.weight")), b"\xff\n").expect("written");
    let reason = node.files.read(&pod, "cpu.weight").expect_err("no text");
    assert!(reason.ends_with("cpu.weight: not text in UTF-8"), "{reason}");
    let large = fs::File::create(node.place(&format!("{pod}/pids.max"))).expect("it can be made");
    large.set_len(1 << 40).expect("it can be enlarged");
    let reason = node.files.read(&pod, "pids.max").expect_err("it is too large");
    assert!(reason.ends_with("larger than 65536 bytes, which no value is"), "{reason}");
    fs::remove_dir_all(node.place("")).expect("it can be removed");
    node.refuses(&pod, "pids.max", "its hierarchy: no such file or directory");
}

/// Something mounted in a tree, until this is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

impl Mounted {
    /// Binds a file or folder to a place; `None` where that is not allowed.
    fn bind(what: &Path, place: PathBuf) -> Option<Self> {
        let output = Command::new("mount").arg("--bind").arg(what).arg(&place).output().ok()?;
        output.status.success().then_some(Self(place))
    }
}

#[test]
fn no_mount_is_entered() {
    let node = node(CgroupVersion::V2);
    let pod = node.made.pods[0].path.clone();
    let outside = node.folder.path().join("outside");
    let Some(_folder) = Mounted::bind(&outside, node.place(&pod)) else {
        return skip("nothing can be mounted here");
    };
    node.refuses(&pod, "memory.max", "the path leaves the hierarchy");
    let other = node.made.pods[1].path.clone();
    let place = node.place(&format!("{other}/pids.max"));
    let _file = Mounted::bind(&outside.join("pids.max"), place).expect("a second one");
    node.refuses(&other, "pids.max", "the path leaves the hierarchy");
    let place = node.place(&format!("{other}/memory.max"));
    let _device = Mounted::bind(Path::new("/dev/zero"), place).expect("a third one");
    node.refuses(&other, "memory.max", "the path leaves the hierarchy");
}

#[test]
fn the_kernel_has_the_last_word() {
    let layout = read_host(Path::new("/")).cgroup_layout().expect("the mounts");
    let mounts: Vec<&String> =
        ["cpu", "memory", "pids"].iter().filter_map(|name| layout.controllers.get(*name)).collect();
    if mounts.len() != 3 || !rustix::process::geteuid().is_root() {
        return skip("needs root and cgroup v1");
    }
    let Ok(own) = OwnCgroups::new(&mounts, "tree-test") else {
        return skip("no cgroup can be made");
    };
    let files = KernelFiles::new(Path::new("/"), &layout);
    let cgroup = own.path();
    for (name, file, text, kept) in [
        ("a weight", "cpu.shares", "512", "512"),
        ("below the least weight", "cpu.shares", "0", "2"),
        ("above the largest weight", "cpu.shares", "999999999", "262144"),
        ("whole pages", "memory.limit_in_bytes", "8192000", "8192000"),
        ("rounded down to a page", "memory.limit_in_bytes", "8192001", "8192000"),
        ("no limit", "memory.limit_in_bytes", "-1", "9223372036854771712"),
        ("shorter than before", "pids.max", "100", "100"),
        ("still shorter", "pids.max", "7", "7"),
        ("a word", "pids.max", "max", "max"),
    ] {
        files.write(cgroup, file, text).expect(name);
        assert_eq!(files.read(cgroup, file).as_deref(), Ok(kept), "{name}");
    }
    for (name, file, text, why) in [
        ("no number", "pids.max", "many", "invalid argument"),
        ("negative", "pids.max", "-5", "invalid argument"),
        ("no size", "memory.limit_in_bytes", "1Q", "invalid argument"),
        ("too short a period", "cpu.cfs_period_us", "1", "invalid argument"),
    ] {
        if !Path::new(&format!("{}{cgroup}/{file}", mounts[0])).exists() && file.contains("cfs") {
            skip("the kernel has no quotas");
            continue;
        }
        let before = files.read(cgroup, file).expect(name);
        let refused = files.write(cgroup, file, text).expect_err(name);
        assert_eq!(refused, format!("cannot write {cgroup}/{file}: {why}"), "{name}");
        assert_eq!(files.read(cgroup, file), Ok(before), "{name}: it is as before");
    }
    let gone = format!("{cgroup}/gone");
    let refused = files.write(&gone, "pids.max", "7").expect_err("no cgroup");
    assert_eq!(refused, format!("cannot write {gone}/pids.max: no such file or directory"));
    assert!(!Path::new(&format!("{}{gone}", mounts[2])).exists(), "none is made");
}

#[test]
fn own_cgroups_are_removed_after_a_panic() {
    let layout = read_host(Path::new("/")).cgroup_layout().expect("the mounts");
    let Some(pids) = layout.controllers.get("pids") else { return skip("needs cgroup v1") };
    let result = std::panic::catch_unwind(|| {
        let Ok(own) = OwnCgroups::new(&[pids], "tree-panic") else { return };
        fs::create_dir(format!("{pids}{}/below", own.path())).expect("a cgroup can be made");
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    let own = format!("{pids}/kq-tree-panic-{}", std::process::id());
    assert!(!Path::new(&own).exists());
    if result.is_ok() {
        skip("no cgroup can be made");
    }
}

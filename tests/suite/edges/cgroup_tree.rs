//! Reading cgroup trees: large ones, ones that change meanwhile, and ones that hold anything but what
//! a kernel puts there.

use super::fake_tree::{Class, FakeTree, cgroup_tree};
use crate::skipped::skip;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_io::cgroup_tree::{TreeNeeds, read_tree};
use kq_io::host::read_host;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long something that is waited for may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node in a temporary folder.
struct Node {
    folder: tempfile::TempDir,
    made: FakeTree,
    layout: CgroupLayout,
}

fn node(pods: usize, containers: usize, version: CgroupVersion) -> Node {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let made = cgroup_tree(folder.path(), pods, containers, version);
    let layout = read_host(folder.path()).cgroup_layout().expect("the mounts are written");
    Node { folder, made, layout }
}

impl Node {
    fn read(&self) -> CgroupTree {
        read_tree(self.folder.path(), &self.layout, &self.wants())
    }

    fn wants(&self) -> TreeNeeds {
        TreeNeeds {
            roots: vec![CgroupPath::new(self.made.kubepods)],
            usage: true,
            processes: true,
            ..TreeNeeds::default()
        }
    }

    /// Returns the place of something in the unified hierarchy.
    fn place(&self, path: &str) -> PathBuf {
        self.folder.path().join(format!("sys/fs/cgroup{path}"))
    }

    /// Returns the cgroup of the first container.
    fn container(&self) -> &str {
        &self.made.pods[0].containers[0].1
    }
}

fn problems(tree: &CgroupTree) -> Vec<String> {
    tree.problems.iter().map(|tried| format!("{}: {}", tried.source, tried.reason)).collect()
}

fn text<'t>(tree: &'t CgroupTree, path: &str, file: &str) -> Option<&'t str> {
    tree.get(&CgroupPath::new(path))?.text(file)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_thousand_pods_are_read_to_the_last_file() {
    const NONE: [&str; 0] = [];
    for version in [CgroupVersion::V1, CgroupVersion::V2] {
        let node = node(1000, 3, version);
        let tree = node.read();
        assert_eq!(problems(&tree), NONE, "{version:?}");
        let root = CgroupPath::new(node.made.kubepods);
        let inside: Vec<_> = tree.within(&root).collect();
        assert_eq!(inside.len(), node.made.cgroups, "{version:?}");
        assert_eq!(node.made.cgroups, 4003, "{version:?}");
        assert_eq!(tree.cgroups.len(), 4005, "{version:?}: the root and its other child too");
        for (path, texts) in inside {
            assert_eq!(texts.0.len(), node.made.known_files, "{version:?} {path:?}");
        }
        assert_eq!(tree.oom_score_adj.len(), 3000, "{version:?}");
        let (limit, none) = match version {
            CgroupVersion::V1 => ("memory.limit_in_bytes", "9223372036854771712"),
            CgroupVersion::V2 => ("memory.max", "max"),
        };
        for pod in &node.made.pods {
            let (expected, score) = match pod.class {
                Class::Burstable => ("134217728", "999"),
                Class::Guaranteed => ("268435456", "-997"),
                Class::BestEffort => (none, "1000"),
            };
            assert!(tree.get(&CgroupPath::new(&pod.path)).is_some(), "{}", pod.uid);
            for (_, path, pid) in &pod.containers {
                assert_eq!(text(&tree, path, limit), Some(expected), "{version:?} {path}");
                assert_eq!(text(&tree, path, "cgroup.procs"), Some(&*pid.to_string()));
                assert_eq!(tree.oom_score_adj.get(pid).map(String::as_str), Some(score));
            }
        }
        let settings = TreeNeeds { usage: false, processes: false, ..node.wants() };
        let mut all = tree.clone();
        all.restrict(&settings.roots, false, false, false);
        let read = read_tree(node.folder.path(), &node.layout, &settings);
        assert_eq!(read.cgroups, all.cgroups, "{version:?}: less is read, not something else");
        assert!(read.oom_score_adj.is_empty());
    }
}

/// The kernel sums statistics while they are read, and those of containers are not needed.
#[test]
fn statistics_are_read_down_to_the_pods() {
    let node = node(2, 1, CgroupVersion::V2);
    let pod = &node.made.pods[0].path;
    for path in [pod, node.container()] {
        fs::write(node.place(path).join("memory.stat"), "inactive_file 7\n").expect("a file");
    }
    let read = |statistics| {
        let wants = TreeNeeds { statistics, ..node.wants() };
        read_tree(node.folder.path(), &node.layout, &wants)
    };
    let mut tree = read(true);
    assert_eq!(text(&tree, pod, "memory.stat"), Some("inactive_file 7"));
    assert_eq!(text(&tree, node.container(), "memory.stat"), None);
    tree.restrict(&node.wants().roots, true, false, true);
    assert_eq!(tree.cgroups, read(false).cgroups);
}

/// Pods come and go all the time; files appear whole, by renaming.
#[test]
fn a_tree_may_change_while_it_is_read() {
    let node = node(20, 2, CgroupVersion::V2);
    let (stop, changed) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    let fleeting = node.place(&format!("{}/pod-fleeting", node.made.kubepods));
    let (mut turns, mut seen) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let container = fleeting.join("c");
                fs::create_dir_all(&container).expect("a folder can be made");
                for folder in [&fleeting, &container] {
                    for (name, content) in [("memory.max", "4096\n"), ("cpu.weight", "77\n")] {
                        fs::write(folder.join("new"), content).expect("a file can be written");
                        fs::rename(folder.join("new"), folder.join(name)).expect("it is renamed");
                    }
                }
                fs::remove_dir_all(&fleeting).expect("it can be removed");
                changed.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Until enough came and went, however long that takes.
        let is_done = |turns, seen| turns > 10 && seen > 0 && changed.load(Ordering::Relaxed) > 100;
        while !is_done(turns, seen) && begun.elapsed() < PATIENCE {
            let tree = node.read();
            turns += 1;
            assert!(tree.problems.is_empty(), "{:?}", problems(&tree));
            let expected = 2 + node.made.cgroups;
            let new = tree.cgroups.iter().filter(|(path, _)| path.as_str().contains("fleeting"));
            let new: Vec<_> = new.collect();
            assert_eq!(tree.cgroups.len() - new.len(), expected, "what stays is complete");
            for (path, texts) in new {
                seen += 1;
                assert!(path.as_str().ends_with("/pod-fleeting") || path.name() == "c", "{path:?}");
                for (name, text) in &texts.0 {
                    let written = [("memory.max", "4096\n"), ("cpu.weight", "77\n")];
                    assert!(written.contains(&(name, text)), "{path:?}: {name} is {text:?}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let changed = changed.into_inner();
    assert!(changed > 100, "{changed} changes of the tree");
    assert!(turns > 10 && seen > 0, "{turns} readings saw {seen} cgroups come and go");
}

#[test]
fn only_plain_files_and_folders_are_read() {
    let node = node(3, 2, CgroupVersion::V2);
    let (kubepods, container) = (node.made.kubepods, node.container().to_owned());
    let sound = node.read();
    let outside = node.folder.path().join("outside");
    fs::create_dir_all(outside.join("c")).expect("a folder can be made");
    for folder in [&outside, &outside.join("c")] {
        fs::write(folder.join("memory.max"), "SECRET\n").expect("a file can be written");
    }
    let replaced = |file: &str| {
        let place = node.place(&format!("{container}/{file}"));
        fs::remove_file(&place).expect("it was there");
        place
    };
    let pipe = replaced("cpu.max");
    assert!(Command::new("mkfifo").arg(pipe).status().expect("mkfifo runs").success());
    fs::create_dir(replaced("memory.high")).expect("a folder can be made");
    symlink(outside.join("memory.max"), replaced("memory.max")).expect("a link can be made");
    symlink("memory.min", replaced("memory.low")).expect("a link can be made");
    symlink(&outside, node.place(&format!("{kubepods}/podlinked"))).expect("a link can be made");
    // The path of a socket must be short; its name can be changed.
    let socket = node.folder.path().join("s");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    fs::rename(socket, replaced("pids.max")).expect("it is renamed");
    fs::write(replaced("cpu.weight"), b"100\xff\n").expect("a file can be written");
    let large = fs::File::create(replaced("cpu.stat")).expect("a file can be made");
    large.set_len(1 << 40).expect("it can be enlarged");

    let tree = node.read();
    assert!(!format!("{tree:?}").contains("SECRET"), "nothing outside is read");
    for file in ["cpu.max", "memory.high", "memory.max", "memory.low", "pids.max"] {
        assert_eq!(text(&tree, &container, file), None, "{file}");
    }
    assert_eq!(tree.get(&CgroupPath::new(&format!("{kubepods}/podlinked"))), None);
    let named_like_a_file = CgroupPath::new(&container).child("memory.high");
    // Deeper than containers, only the processes are read; there are none.
    assert_eq!(tree.get(&named_like_a_file).map(|texts| texts.0.len()), Some(0), "a folder");
    let mut found = problems(&tree);
    found.sort();
    let at = |file: &str, why: &str| format!("/sys/fs/cgroup{container}/{file}: {why}");
    let expected = [
        at("cpu.stat", "larger than 4194304 bytes, which kq does not read"),
        at("cpu.weight", "not text in UTF-8"),
    ];
    assert_eq!(found, expected);
    // All else is as it was.
    for (path, texts) in sound.cgroups.iter() {
        if path.as_str() != container {
            assert_eq!(tree.get(path), Some(texts), "{path:?}");
        }
    }
}

#[test]
fn any_name_is_kept_as_it_is() {
    let node = node(1, 1, CgroupVersion::V2);
    let pod = node.made.pods[0].path.clone();
    let odd = ["a\nb", "\u{1b}[31mred", " ", "-", "é\u{202e}", "kubepods"];
    for name in odd {
        let place = node.place(&format!("{pod}/{name}"));
        fs::create_dir(&place).expect("a folder can be made");
        fs::write(place.join("pids.max"), "7\n").expect("a file can be written");
        fs::write(place.join("pids.max\n"), "8\n").expect("a file can be written");
    }
    let no_text = node.place(&pod).join(OsStr::from_bytes(b"x\xff"));
    fs::create_dir(&no_text).expect("a folder can be made");
    let tree = node.read();
    for name in odd {
        let path = CgroupPath::new(&pod).child(name);
        let texts = tree.get(&path).unwrap_or_else(|| panic!("{name:?}"));
        assert_eq!(texts.0.iter().collect::<Vec<_>>().len(), 1, "{name:?}");
        assert_eq!(texts.number(CgroupFile::PidsMax), Some(7), "{name:?}");
    }
    assert_eq!(
        problems(&tree),
        [format!("/sys/fs/cgroup{pod}/x\u{fffd}: not text in UTF-8")],
        "a cgroup that cannot be named is not passed over in silence"
    );
}

/// Set for the test's own program, which runs again as another user.
const AS_ANOTHER: &str = "KQ_TEST_TREE_OF_ANOTHER";

#[test]
fn what_is_not_readable_is_named() {
    if let Some(root) = std::env::var_os(AS_ANOTHER) {
        let root = PathBuf::from(root);
        let layout = read_host(&root).cgroup_layout().expect("mounts");
        let roots = vec![CgroupPath::new("/kubepods.slice")];
        let wants = TreeNeeds { roots, usage: true, processes: true, ..TreeNeeds::default() };
        let tree = read_tree(&root, &layout, &wants);
        print!("{}", serde_json::to_string(&tree).expect("it is stored"));
        return;
    }
    let node = node(2, 1, CgroupVersion::V2);
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode can be set");
    };
    open(node.folder.path(), 0o755);
    let (container, pod) = (node.container().to_owned(), node.made.pods[1].path.clone());
    let pid = node.made.pods[0].containers[0].2;
    let score = node.folder.path().join(format!("proc/{pid}/oom_score_adj"));
    let closed = [node.place(&format!("{container}/memory.max")), node.place(&pod), score];
    closed.iter().for_each(|path| open(path, 0));
    let program = std::env::current_exe().expect("this program");
    let own = "edges::cgroup_tree::what_is_not_readable_is_named";
    let mut again = match is_root() {
        false => Command::new(&program),
        true => {
            let mut other = Command::new("setpriv");
            other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&program);
            other
        }
    };
    let again = again.args([own, "--exact", "--nocapture"]).env(AS_ANOTHER, node.folder.path());
    let ran = again.output();
    closed.iter().for_each(|path| open(path, 0o755));
    let said = match ran {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).expect("text"),
        other => return skip(&format!("no other user can run this program: {other:?}")),
    };
    let json = &said[said.find('{').expect("a value")..=said.rfind('}').expect("a value")];
    let tree: CgroupTree = serde_json::from_str(json).expect("a tree");
    let mut found = problems(&tree);
    found.sort();
    let mut expected = [
        format!("/proc/{pid}/oom_score_adj: permission denied"),
        format!("/sys/fs/cgroup{container}/memory.max: permission denied"),
        format!("/sys/fs/cgroup{pod}: permission denied"),
    ];
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(text(&tree, &container, "memory.max"), None, "unknown is not a value");
    assert_eq!(text(&tree, &container, "pids.max"), Some("max"));
}

/// Something mounted in a tree, until this is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A device that gives zeros for ever, listed as the file that it covers.
#[test]
fn an_endless_file_is_given_up() {
    let node = node(1, 1, CgroupVersion::V2);
    let place = node.place(&format!("{}/memory.events", node.container()));
    let mount = Command::new("mount").arg("--bind").arg("/dev/zero").arg(&place).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        return skip("nothing can be mounted here");
    }
    let mounted = Mounted(place);
    let before = Instant::now();
    let tree = node.read();
    drop(mounted);
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    assert_eq!(
        problems(&tree),
        [format!(
            "/sys/fs/cgroup{}/memory.events: larger than 4194304 bytes, which kq does not read",
            node.container()
        )]
    );
}

#[test]
fn depth_has_an_end_and_it_is_named() {
    let node = node(1, 1, CgroupVersion::V2);
    let mut path = node.container().to_owned();
    for _ in 0..60 {
        path.push_str("/d");
        fs::create_dir(node.place(&path)).expect("a folder can be made");
        fs::write(node.place(&format!("{path}/cgroup.procs")), "4242\n").expect("written");
        fs::write(node.place(&format!("{path}/memory.max")), "1\n").expect("written");
    }
    let tree = node.read();
    let deepest = tree.cgroups.keys().map(CgroupPath::depth).max();
    assert_eq!(deepest, Some(33), "32 levels below the first");
    let [problem] = &problems(&tree)[..] else { panic!("{:?}", problems(&tree)) };
    assert!(problem.ends_with("/d: deeper than 32 levels, which kq does not read"), "{problem}");
    let inside = CgroupPath::new(node.container()).child("d");
    let texts = tree.get(&inside).expect("a cgroup of the program in the container");
    assert_eq!(texts.0.keys().collect::<Vec<_>>(), ["cgroup.procs"], "its limits are its own");
    let settings = TreeNeeds { processes: false, ..node.wants() };
    let tree = read_tree(node.folder.path(), &node.layout, &settings);
    assert_eq!((tree.get(&inside), tree.problems.len()), (None, 0), "nobody asked");
}

#[test]
fn what_is_gone_is_left_out_and_a_lost_mount_is_named() {
    let node = node(2, 1, CgroupVersion::V2);
    let mut wants = node.wants();
    wants.roots.push(CgroupPath::new("/kubepods/none"));
    let tree = read_tree(node.folder.path(), &node.layout, &wants);
    assert!(tree.problems.is_empty(), "{:?}", problems(&tree));
    fs::remove_dir_all(node.place(node.made.kubepods)).expect("it can be removed");
    let tree = node.read();
    let paths: Vec<&str> = tree.cgroups.keys().map(CgroupPath::as_str).collect();
    assert_eq!(paths, ["/", "/system.slice"]);
    assert!(tree.problems.is_empty(), "{:?}", problems(&tree));
    fs::remove_dir_all(node.place("")).expect("it can be removed");
    let tree = node.read();
    assert!(tree.cgroups.is_empty());
    assert_eq!(problems(&tree), ["/sys/fs/cgroup: no such file or directory"]);
    fs::write(node.place(""), "").expect("a file can be written");
    assert_eq!(problems(&node.read()), ["/sys/fs/cgroup: a file, expected a folder"]);
}

#[test]
fn hierarchies_of_v1_may_differ() {
    let mut node = node(2, 1, CgroupVersion::V1);
    let pod = node.made.pods[0].path.clone();
    let container = node.container().to_owned();
    fs::remove_dir_all(node.place(&format!("/cpuset{pod}"))).expect("it can be removed");
    // The kubelet ignores the unified hierarchy on cgroup v1.
    let unified = format!("/unified{pod}");
    fs::create_dir_all(node.place(&unified)).expect("a folder can be made");
    fs::write(node.place(&format!("{unified}/memory.max")), "1\n").expect("written");
    fs::write(node.place(&format!("/pids{pod}/memory.limit_in_bytes")), "1\n").expect("written");
    node.layout.unified = Some("/sys/fs/cgroup/unified".to_owned());
    assert!(node.layout.is_hybrid());
    let tree = node.read();
    assert!(tree.problems.is_empty(), "{:?}", problems(&tree));
    for path in [&pod, &container] {
        let texts = tree.get(&CgroupPath::new(path)).expect("other hierarchies have it");
        assert_eq!(texts.0.len(), node.made.known_files - 2, "{path}: no cpuset");
        assert_eq!(texts.text("cpuset.cpus"), None, "{path}");
        assert_eq!(texts.number(CgroupFile::MemoryMax), Some(128 << 20), "{path}");
        assert_eq!(texts.text("memory.max"), None, "{path}");
    }
    node.layout.controllers.remove("memory");
    let tree = node.read();
    let texts = tree.get(&CgroupPath::new(&container)).expect("other hierarchies have it");
    assert_eq!(texts.text("memory.limit_in_bytes"), None, "nothing is mounted for memory");
    assert!(texts.pids().next().is_some(), "the processes are in another hierarchy then");
    fs::remove_dir_all(node.place("/pids")).expect("it can be removed");
    let tree = node.read();
    assert_eq!(problems(&tree), ["/sys/fs/cgroup/pids: no such file or directory"]);
    assert_eq!(tree.cgroups.len(), 2 + node.made.cgroups, "the others are read");
}

/// The kernel's own: cgroups come and go, each is read whole or not at all.
#[test]
fn the_kernel_s_cgroups_come_and_go() {
    let layout = read_host(Path::new("/")).cgroup_layout().expect("the mounts");
    let Some(memory) = layout.controllers.get("memory").filter(|_| is_root()) else {
        return skip("needs root and the controller for memory of cgroup v1");
    };
    let own = super::own_cgroups::OwnCgroups::new(&[memory], "tree-churn");
    let Ok(own) = own else { return skip("no cgroup can be made") };
    let only =
        CgroupLayout { controllers: [("memory".to_owned(), memory.clone())].into(), unified: None };
    let roots = vec![CgroupPath::new(own.path())];
    let wants = TreeNeeds { roots, usage: true, processes: true, ..TreeNeeds::default() };
    let pod = Path::new(memory).join(own.path().trim_start_matches('/')).join("pod1");
    let whole = {
        fs::create_dir(&pod).expect("a cgroup can be made");
        let tree = read_tree(Path::new("/"), &only, &wants);
        let texts = tree.get(&CgroupPath::new(own.path()).child("pod1")).expect("it is there");
        texts.0.keys().cloned().collect::<Vec<_>>()
    };
    assert!(whole.len() >= 5, "{whole:?}");
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let mut seen = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::remove_dir(&pod);
                let _ = fs::create_dir(&pod);
            }
        });
        while seen <= 10 && begun.elapsed() < PATIENCE {
            let tree = read_tree(Path::new("/"), &only, &wants);
            let own_problems: Vec<String> =
                problems(&tree).into_iter().filter(|text| text.contains(own.path())).collect();
            assert!(own_problems.is_empty(), "{own_problems:?}");
            if let Some(texts) = tree.get(&CgroupPath::new(own.path()).child("pod1")) {
                seen += 1;
                let names: Vec<&String> = texts.0.keys().collect();
                assert!(names.iter().all(|name| whole.contains(name)), "{names:?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(seen > 10, "{seen}");
}

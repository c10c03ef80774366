//! The host's files and processes: this machine's, and those of nodes that are made up and broken.

use kq_facts::host::{FILES, HostFacts, Text};
use kq_io::host::{
    LIMIT, ReadError, list_beneath, read_beneath, read_host, read_state_files,
    read_static_manifests,
};
use kq_io::kubelet_process::find_kubelet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A node's root in a temporary folder.
struct Node {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

fn node(files: &[(&str, &str)]) -> Node {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let root = folder.path().join("host");
    fs::create_dir(&root).expect("a folder can be made");
    let node = Node { _folder: folder, root };
    for (path, text) in files {
        node.write(path, text);
    }
    node
}

impl Node {
    fn path(&self, path: &str) -> PathBuf {
        let path = self.root.join(path.trim_start_matches('/'));
        let parent = path.parent().expect("a path below the root");
        fs::create_dir_all(parent).expect("a folder can be made");
        path
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(path), content).expect("a file can be written");
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.path(path)).expect("a link can be made");
    }

    fn pipe(&self, path: &str) {
        let made = Command::new("mkfifo").arg(self.path(path)).status().expect("mkfifo runs");
        assert!(made.success());
    }
}

fn text_of(facts: &HostFacts, path: &str) -> String {
    match &facts.texts[path] {
        Text::Read(text) => format!("read {text:?}"),
        Text::Absent => "absent".to_owned(),
        Text::Unreadable(reason) => reason.clone(),
    }
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program runs");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[test]
fn this_machine_is_read_as_its_own_programs_do() {
    let facts = read_host(Path::new("/"));
    let cpus = facts.cpus().expect("the CPUs").len();
    assert_eq!(cpus.to_string(), said("getconf", &["_NPROCESSORS_ONLN"]));
    assert_eq!(facts.page_size.map(|size| size.to_string()), Some(said("getconf", &["PAGESIZE"])));
    let free = said("free", &["-b"]);
    let total = |name: &str| {
        let line = free.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.split_whitespace().next().expect("a number").parse::<i64>().expect("a number")
    };
    assert_eq!(facts.memory_bytes(), Ok(total("Mem:")));
    assert_eq!(facts.swap_bytes(), Ok(total("Swap:")));
    assert_eq!(facts.kernel_release(), Ok(&*said("uname", &["-r"])));
    let layout = facts.cgroup_layout().expect("the mounts");
    let points = layout.controllers.values().chain(&layout.unified);
    for point in points {
        assert!(Path::new(point).join("cgroup.procs").exists(), "{point}");
    }
    let nodes = facts.numa_nodes().expect("the NUMA nodes");
    assert_eq!(nodes.iter().map(|node| node.cpus.len()).sum::<usize>(), cpus);
    let stored = serde_json::to_string(&facts).expect("they are stored");
    assert_eq!(serde_json::from_str::<HostFacts>(&stored).expect("they come back"), facts);
}

#[test]
fn an_empty_root_has_nothing_and_fails_nothing() {
    let node = node(&[]);
    for root in [node.root.clone(), node.root.join("nowhere")] {
        let facts = read_host(&root);
        assert!(facts.texts.len() > FILES.len());
        for (path, text) in &facts.texts {
            assert_eq!(text, &Text::Absent, "{path}");
        }
        assert_eq!(
            facts.cgroup_layout().expect_err("no mounts").to_string(),
            "/proc/1/mountinfo: no such file"
        );
        let state = read_state_files(&root, "/var/lib/kubelet");
        assert!(state.files.values().all(|text| *text == Text::Absent), "{state:?}");
        assert_eq!(read_static_manifests(&root, "/etc/kubernetes/manifests"), []);
    }
    assert!(find_kubelet(&node.root).is_err(), "there are no processes");
}

#[test]
fn what_is_no_plain_text_is_named() {
    let node = node(&[("/proc/sys/kernel/pid_max", "32768\n")]);
    node.pipe("/proc/meminfo");
    fs::create_dir(node.path("/etc/machine-id")).expect("a folder can be made");
    node.write("/proc/sys/kernel/osrelease", b"6.1\xff\n");
    node.link("/proc/cgroups", "/dev/null");
    node.pipe("/dev/null");
    node.link("/proc/stat", "/proc/stat");
    let large = fs::File::create(node.path("/proc/1/mountinfo")).expect("a file can be made");
    large.set_len(LIMIT + 1).expect("it can be enlarged");
    let before = Instant::now();
    let facts = read_host(&node.root);
    assert!(before.elapsed() < Duration::from_secs(30), "nothing waits for a pipe");
    for (path, expected) in [
        ("/proc/sys/kernel/pid_max", "read \"32768\\n\""),
        ("/proc/meminfo", "a named pipe, expected a file"),
        ("/etc/machine-id", "a folder, expected a file"),
        ("/proc/sys/kernel/osrelease", "not text in UTF-8"),
        ("/proc/cgroups", "a named pipe, expected a file"),
        ("/proc/stat", "too many levels of symbolic links"),
        ("/proc/1/mountinfo", "larger than 16777216 bytes, which kq does not read"),
        ("/sys/devices/system/cpu/online", "absent"),
    ] {
        assert_eq!(text_of(&facts, path), expected, "{path}");
    }
    assert_eq!(
        facts.memory_bytes().expect_err("it is not known").to_string(),
        "/proc/meminfo: a named pipe, expected a file"
    );
    let device = read_beneath(Path::new("/"), "/dev/null", LIMIT);
    assert_eq!(device.expect_err("no file").to_string(), "a device, expected a file");
}

#[test]
fn links_stay_below_the_root() {
    let node = node(&[("/etc/real-id", "inside\n")]);
    let outside = node.root.parent().expect("a folder").join("outside");
    fs::write(&outside, "outside\n").expect("a file can be written");
    node.link("/etc/machine-id", "/etc/real-id");
    node.link("/var/lib/dbus/machine-id", &outside);
    node.link("/proc/stat", "../../../outside");
    node.link("/var/lib/link", "../../..");
    let facts = read_host(&node.root);
    assert_eq!(facts.machine_id(), Ok("inside"));
    assert_eq!(text_of(&facts, "/var/lib/dbus/machine-id"), "absent");
    assert_eq!(text_of(&facts, "/proc/stat"), "absent");
    assert_eq!(
        list_beneath(&node.root, "/var/lib/link").expect("the root"),
        ["etc", "proc", "var"]
    );
    assert_eq!(read_beneath(&node.root, "/../outside", LIMIT), Err(ReadError::Absent));
}

#[test]
fn a_node_below_a_folder_is_read_by_its_first_process() {
    let mounts = "35 25 0:30 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    let node = node(&[
        ("/proc/1/mountinfo", mounts),
        ("/proc/self/mountinfo", "garbage"),
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n"),
        ("/sys/fs/cgroup/kubepods.slice/memory.swap.max", "max\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "3\n"),
        ("/sys/devices/system/node/node0/cpulist", "0-3\n"),
        ("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 8 kB\n"),
    ]);
    let facts = read_host(&node.root);
    assert_eq!(facts.cgroup_layout().expect("mounts").unified.as_deref(), Some("/sys/fs/cgroup"));
    assert_eq!(facts.swap_controller(), Ok(true));
    assert_eq!(facts.hugepages(), Ok([("2Mi".to_owned(), 3 << 21)].into()));
    assert_eq!(facts.numa_nodes().expect("a node")[0].memory_bytes, 8192);
}

#[test]
fn manifests_are_those_that_the_kubelet_reads() {
    let node = node(&[
        ("/etc/manifests/b.yaml", "b"),
        ("/etc/manifests/a.json", "a"),
        ("/etc/manifests/.hidden.yaml", "no"),
        ("/etc/manifests/folder/c.yaml", "no"),
        ("/srv/linked", "l"),
    ]);
    node.link("/etc/manifests/l.yaml", "/srv/linked");
    node.pipe("/etc/manifests/pipe");
    let shown: Vec<(String, String)> = read_static_manifests(&node.root, "/etc/manifests/")
        .into_iter()
        .map(|(path, read)| {
            let text = read.map(|bytes| String::from_utf8(bytes).expect("text"));
            (path, text.unwrap_or_else(|reason| reason))
        })
        .collect();
    let expected = [
        ("/etc/manifests/a.json", "a"),
        ("/etc/manifests/b.yaml", "b"),
        ("/etc/manifests/folder", "a folder, expected a file"),
        ("/etc/manifests/l.yaml", "l"),
        ("/etc/manifests/pipe", "a named pipe, expected a file"),
    ];
    assert_eq!(shown, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    let single = read_static_manifests(&node.root, "/etc/manifests/b.yaml");
    assert_eq!(single, [("/etc/manifests/b.yaml".to_owned(), Ok(b"b".to_vec()))]);
    assert_eq!(read_static_manifests(&node.root, ""), []);
}

#[test]
fn state_is_read_as_it_is() {
    let node = node(&[("/data/cpu_manager_state", "{}"), ("/data/device-plugins/x", "")]);
    node.write("/data/dra_manager_state", b"\xff");
    let state = read_state_files(&node.root, "/data/");
    assert_eq!(state.get("cpu_manager_state"), Some(&Text::Read("{}".to_owned())));
    assert_eq!(
        state.get("dra_manager_state"),
        Some(&Text::Unreadable("not text in UTF-8".to_owned()))
    );
    assert_eq!(state.get("memory_manager_state"), Some(&Text::Absent));
}

/// Writes a process as `/proc` shows it.
fn process(node: &Node, pid: i32, command_line: &str, ticks: u64, numbers: &str) {
    let write = |file: &str, text: &str| node.write(&format!("/proc/{pid}/{file}"), text);
    write("comm", "kubelet\n");
    write("cmdline", command_line);
    let zeros = "0 ".repeat(18);
    write("stat", &format!("{pid} (kubelet) S {zeros}{ticks} 0\n"));
    write("status", &format!("Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t{numbers}\n"));
    node.link(&format!("/proc/{pid}/cwd"), "/srv");
}

#[test]
fn of_several_kubelets_the_first_counts_and_none_of_a_container() {
    let node = node(&[("/proc/stat", "btime 1700000000\n"), ("/proc/5/comm", "kubelet\n")]);
    process(&node, 900, "kubelet\0--config=nested\0", 100, "900\t12");
    process(&node, 800, "/usr/bin/kubelet\0--config=own.yaml\0", 500, "800");
    process(&node, 1000, "/usr/bin/kubelet\0", 700, "1000");
    process(&node, 700, "", 1, "700");
    let found = find_kubelet(&node.root).expect("processes").process;
    let found = found.value().expect("a kubelet");
    assert_eq!((found.pid, found.others.as_slice()), (800, &[1000] as &[i32]));
    assert_eq!(found.started_at, Some(1_700_000_005));
    assert_eq!(found.interpreted().config.as_deref(), Some("/srv/own.yaml"));
    assert_eq!(found.notes, ["several kubelets run; kq reads process 800, not 1000"]);
}

/// A real process by that name: a copy of the shell that is called kubelet.
#[test]
fn a_kubelet_that_runs_is_found() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let program = folder.path().join("kubelet");
    fs::copy("/bin/sh", &program).expect("a program can be copied");
    let mut child = Command::new(&program)
        .args(["-c", "read line", "--config=conf.yaml", "--max-pods", "7", "--token=SECRET"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("it runs");
    let pid = i32::try_from(child.id()).expect("a number");
    let mut found = None;
    // A busy machine takes a while to start it.
    for _ in 0..3_000 {
        found = find_kubelet(Path::new("/"))
            .expect("processes")
            .process
            .found
            .map(|found| found.value)
            .filter(|found| found.pid == pid || found.others.contains(&pid));
        if found.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(child.stdin.take());
    child.wait().expect("it ends");
    let found = found.expect("it is found");
    if found.pid != pid {
        // A real kubelet runs here, and counts.
        return;
    }
    let here = fs::canonicalize(folder.path()).expect("the folder");
    let said = found.interpreted();
    assert_eq!(said.config, Some(here.join("conf.yaml").display().to_string()));
    assert_eq!(said.settings[0].text, "7");
    assert_eq!(found.executable, Some(here.join("kubelet").display().to_string()));
    assert!(!format!("{found:?}").contains("SECRET"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = i64::try_from(now.expect("a clock").as_secs()).expect("a number");
    let started = found.started_at.expect("the kernel says when it started");
    assert!((now - started).abs() < 60, "started {started}, now {now}");
    assert_eq!(find_kubelet(Path::new("/")).expect("processes").process.found, None);
}

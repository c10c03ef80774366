//! `kq devices repair`: on real files, with a kubelet that is stopped and one that is not.

use kq::facts::checkpoint::device::{DeviceCheckpoint, PodDevicesEntry};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A node of which nothing runs, in a folder.
struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    /// Returns a node whose checkpoint has these bytes.
    fn new(bytes: &[u8]) -> Self {
        let node = Self { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["root/proc", "root/var/lib/kubelet/device-plugins"] {
            fs::create_dir_all(node.folder.path().join(folder)).expect("a folder");
        }
        fs::write(node.checkpoint(), bytes).expect("written");
        fs::set_permissions(node.checkpoint(), fs::Permissions::from_mode(0o640)).expect("set");
        let pods = r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod",
            "metadata":{"name":"web","namespace":"default","uid":"active"},
            "spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}}]}"#;
        fs::write(node.folder.path().join("pods.json"), pods).expect("written");
        node
    }

    fn kubelet(&self, name: &str) -> PathBuf {
        self.folder.path().join("root/var/lib/kubelet").join(name)
    }

    fn checkpoint(&self) -> PathBuf {
        self.kubelet("device-plugins/kubelet_internal_checkpoint")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
        command
            .args(["devices", "repair", "--host-root", "root", "--pods", "pods.json"])
            .args(line.split(' '))
            .env_clear()
            .stdin(Stdio::null())
            .current_dir(self.folder.path());
        command
    }

    /// Runs kq; returns its exit code and what it said.
    fn kq(&self, line: &str) -> (i32, String) {
        let output = self.command(line).output().expect("kq runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains("panicked"), "{said}");
        (output.status.code().unwrap_or(-1), said)
    }

    fn read(&self) -> Vec<u8> {
        fs::read(self.checkpoint()).expect("it is there")
    }

    /// Returns the old files that were kept.
    fn backups(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.kubelet(""))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path());
        names.filter(|path| path.to_string_lossy().contains(".kq-")).collect()
    }
}

fn entry(pod: &str, id: &str) -> PodDevicesEntry {
    PodDevicesEntry {
        pod_uid: pod.to_owned(),
        container_name: "c".to_owned(),
        resource_name: "example.com/gpu".to_owned(),
        device_ids: Some([(0, Some(vec![id.to_owned()]))].into()),
        alloc_resp: Some(Vec::new()),
    }
}

fn checkpoint(entries: Vec<PodDevicesEntry>) -> DeviceCheckpoint {
    DeviceCheckpoint {
        entries: Some(entries),
        registered: Some([("example.com/gpu".to_owned(), Some(vec!["d1".to_owned()]))].into()),
    }
}

fn two() -> Vec<u8> {
    checkpoint(vec![entry("active", "d1"), entry("gone", "d2")]).to_bytes()
}

fn one() -> Vec<u8> {
    checkpoint(vec![entry("active", "d1")]).to_bytes()
}

#[test]
fn what_is_stale_goes_and_can_be_brought_back() {
    let node = Node::new(&two());
    let (code, said) = node.kq("--remove-stale --dry-run");
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("remove   gone   c           example.com/gpu   d2        the pod is gone"),
        "{said}"
    );
    assert_eq!(node.read(), two());
    let (code, said) = node.kq("--remove-stale");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("nobody can be asked here"), "{said}");
    assert_eq!((node.read(), node.backups().len()), (two(), 0));

    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 0, "{said}");
    assert_eq!(node.read(), one(), "the bytes are those of a kubelet");
    let mode = fs::metadata(node.checkpoint()).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let [backup] = &node.backups()[..] else { panic!("one old file is kept: {said}") };
    assert_eq!(fs::read(backup).expect("it is there"), two());
    assert_eq!(fs::read_dir(node.kubelet("device-plugins")).expect("a folder").count(), 1);

    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!((code, said.trim()), (0, "1 entry: nothing to remove"));
    assert_eq!(node.backups().len(), 1);
    let undo = node.kq("--remove active --force --yes").1;
    let undo = undo.lines().find_map(|line| line.strip_prefix("undo: ")).expect("it says how");
    assert!(DeviceCheckpoint::parse(&node.read()).expect("it parses").checkpoint.entries.is_none());
    let ran = Command::new("sh").args(["-c", undo]).current_dir(node.folder.path()).status();
    assert!(ran.expect("a shell").success());
    assert_eq!(node.read(), one());
}

#[test]
fn a_damaged_file_becomes_a_sound_one() {
    let good = String::from_utf8(two()).expect("text");
    let cut = &good.as_bytes()[..good.find("\"RegisteredDevices").expect("it is there")];
    let wrong = good.replace("\"d1\"", "\"d7\"");
    for (name, bytes, devices) in [
        ("cut", cut, vec!["d1", "d2"]),
        ("changed", wrong.as_bytes(), vec!["d7", "d2"]),
        ("empty", b"".as_slice(), vec![]),
        ("zeros", &[0; 4096], vec![]),
    ] {
        let node = Node::new(bytes);
        let (code, said) = node.kq("--remove-stale --yes");
        assert_eq!(code, 4, "{name}: {said}");
        assert!(said.contains("--rebuild makes a sound one"), "{name}: {said}");
        assert_eq!(node.read(), bytes, "{name}");
        let output = node.command("--rebuild --yes -o json").output().expect("kq runs");
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["kind"], "DeviceRepair", "{name}");
        assert_eq!(report["done"]["verified"], true, "{name}");
        assert_eq!(
            fs::read(
                report["done"]["backup"]
                    .as_str()
                    .map(|path| node.folder.path().join(path))
                    .expect("a path")
            )
            .expect("kept"),
            bytes,
            "{name}"
        );
        let loaded = DeviceCheckpoint::parse(&node.read()).expect("it parses");
        assert!(loaded.is_valid(), "{name}");
        let entries = loaded.checkpoint.entries.into_iter().flatten();
        let ids = entries.flat_map(|entry| entry.device_ids).flatten().filter_map(|(_, ids)| ids);
        assert_eq!(ids.flatten().collect::<Vec<_>>(), devices, "{name}");
        // It is sound now.
        assert_eq!(node.kq("--rebuild --yes").0, 4, "{name}");
    }
}

#[test]
fn what_is_not_safe_is_refused_and_nothing_is_written() {
    for (name, line, expected, code) in [
        ("sound", "--rebuild --yes", "nothing is wrong with this file", 4),
        ("active", "--remove default/web --yes", "its pod is active", 4),
        ("nobody", "--remove nobody --yes", "no entry is of that name", 4),
        ("nothing is asked", "--yes", "required arguments", 2),
        ("unseen", "--rebuild -o json", "show no plan before they ask", 2),
        ("snapshot", "--rebuild --snapshot x", "a snapshot has no file", 2),
    ] {
        let node = Node::new(&two());
        let (got, said) = node.kq(line);
        assert_eq!(got, code, "{name}: {said}");
        assert!(said.contains(expected), "{name}: {said}");
        assert_eq!((node.read(), node.backups().len()), (two(), 0), "{name}");
    }

    let node = Node::new(&two());
    let socket = node.kubelet("device-plugins/kubelet.sock");
    let listener = UnixListener::bind(&socket).expect("bound");
    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("the kubelet runs (something listens on"), "{said}");
    drop(listener);
    assert_eq!(node.kq("--remove-stale --dry-run").0, 0);

    // A process that is called so and was started so.
    let process = node.folder.path().join("root/proc/77");
    fs::create_dir_all(&process).expect("a folder");
    for (file, text) in [
        ("comm", "kubelet\n"),
        ("cmdline", "/usr/bin/kubelet\0--config=/etc/kubelet.yaml\0"),
        ("stat", "77 (kubelet) S 1 77 77 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n"),
        ("status", "Name:\tkubelet\nNSpid:\t77\n"),
        ("cgroup", "0::/system.slice/kubelet.service\n"),
    ] {
        fs::write(process.join(file), text).expect("written");
    }
    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("the kubelet runs (process 77)"), "{said}");
    fs::remove_dir_all(node.folder.path().join("root/proc")).expect("removed");
    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("whether the kubelet is stopped cannot be told"), "{said}");
    assert_eq!((node.read(), node.backups().len()), (two(), 0));
}

#[test]
fn only_a_regular_file_of_a_sane_size_is_read() {
    let node = Node::new(&two());
    let path = |name: &str| node.folder.path().join(name);
    symlink(node.checkpoint(), path("link")).expect("linked");
    assert!(Command::new("mkfifo").arg(path("pipe")).status().expect("mkfifo").success());
    let sparse = fs::File::create(path("sparse")).expect("made");
    sparse.set_len(1 << 30).expect("grown");
    for (file, expected) in [
        ("link", "a symbolic link, expected a regular file"),
        ("pipe", "a named pipe, expected a regular file"),
        ("/dev/zero", "a device, expected a regular file"),
        ("root", "a folder, expected a regular file"),
        ("sparse", "larger than 268435456 bytes"),
        ("absent", "no such file"),
        ("absent/file", "no such file"),
    ] {
        let began = Instant::now();
        let (code, said) = node.kq(&format!("--rebuild --yes --checkpoint {file}"));
        assert_eq!(code, 3, "{file}: {said}");
        assert!(said.contains(expected), "{file}: {said}");
        assert!(began.elapsed() < Duration::from_secs(20), "{file} took {:?}", began.elapsed());
    }
}

#[test]
fn hostile_files_are_bounded_and_shown_safely() {
    let nested = "[".repeat(10_000_000);
    let long =
        format!("{{\"Data\":{{\"PodDeviceEntries\":[{{\"PodUID\":\"{}", "x".repeat(10_000_000));
    let twice = r#"{"Data":{"PodDeviceEntries":[{"PodUID":"a"}]},"Data":{"PodDeviceEntries":[{"ContainerName":"b"}]}}"#;
    let escapes =
        String::from_utf8(checkpoint(vec![entry("\u{1b}[2J\u{202e}", "\u{7}")]).to_bytes())
            .expect("text")
            .replace("\"Checksum\":", "\"Checksum\":1");
    for (name, bytes) in
        [("nested", &nested), ("long", &long), ("twice", &twice.to_owned()), ("escapes", &escapes)]
    {
        let node = Node::new(bytes.as_bytes());
        let (code, said) = node.kq("--rebuild --dry-run -o wide");
        assert_eq!(code, 0, "{name}: {said}");
        assert!(said.len() < 10_000, "{name}: {} bytes", said.len());
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{name}: {said:?}");
    }
}

/// Whenever kq is killed, the file is the old one or the new one, and whole.
#[test]
fn killed_at_any_instant_it_leaves_the_old_or_the_new_file() {
    let many = |keep_all: bool| {
        let entries = (0..2_000).filter(|n| keep_all || n % 2 == 0);
        let pod = |n: i32| if n % 2 == 0 { "active".to_owned() } else { format!("gone-{n}") };
        let entries = entries.map(|n| PodDevicesEntry {
            container_name: format!("c{n}"),
            ..entry(&pod(n), &format!("d{n}"))
        });
        checkpoint(entries.collect()).to_bytes()
    };
    let (old, new) = (many(true), many(false));
    let node = Node::new(&old);
    let began = Instant::now();
    assert_eq!(node.kq("--remove-stale --yes").0, 0);
    let whole = began.elapsed();
    assert_eq!(node.read(), new);

    let runs = 80;
    let (mut before, mut after) = (0, 0);
    for run in 0..runs {
        let node = Node::new(&old);
        let mut child = node
            .command("--remove-stale --yes")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("kq runs");
        std::thread::sleep(whole * run / runs);
        let _ = child.kill();
        child.wait().expect("it ended");
        let found = node.read();
        if found == old {
            before += 1;
        } else {
            assert!(found == new, "run {run}: a mixture of {} bytes", found.len());
            after += 1;
            // The old file was safe before the new one was there.
            let [backup] = &node.backups()[..] else { panic!("run {run}: no old file is kept") };
            assert!(fs::read(backup).expect("it is there") == old, "run {run}");
        }
    }
    assert_eq!(before + after, runs);
    assert!(before > 0, "killed at once, nothing is written");
}

//! Folders of the host are counted as du and statfs count them, with what mounts hide.

use kq_facts::filesystems::HiddenFolder;
use kq_facts::mounts::Mounts;
use kq_io::host::{read_filesystem, read_usage};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TIME: Duration = Duration::from_secs(60);

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary folder has a plain name")
}

/// What is mounted now.
fn mounts() -> Mounts {
    Mounts::parse(&fs::read_to_string("/proc/self/mountinfo").expect("the kernel tells"))
}

/// A mount that ends with its test.
struct Mounted(PathBuf);

impl Mounted {
    /// Mounts; `None`: this machine does not permit it, which is printed.
    fn new(arguments: &[&str], point: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            crate::skipped::skip("mounting wants root");
            return None;
        }
        let output = Command::new("mount").args(arguments).arg(point).output();
        let output = output.expect("mount can be run");
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("permi"), "mount: {said}");
            crate::skipped::skip(&said.to_string());
            return None;
        }
        Some(Self(point.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let ended = Command::new("umount").arg(&self.0).status();
        assert!(ended.is_ok_and(|status| status.success()) || std::thread::panicking(), "umount");
    }
}

/// A tree of a bit of everything.
fn grow(top: &Path) {
    fs::create_dir_all(top.join("a/b/c/d")).expect("folders can be made");
    fs::write(top.join("a/file"), vec![1; 70_000]).expect("a file can be written");
    fs::hard_link(top.join("a/file"), top.join("a/b/again")).expect("a second name");
    fs::hard_link(top.join("a/file"), top.join("a/b/c/d/and again")).expect("a third name");
    fs::write(top.join("a/b/empty"), "").expect("a file can be written");
    symlink("/usr", top.join("a/b/c/link")).expect("a link can be made");
    let sparse = fs::File::create(top.join("sparse")).expect("a file can be made");
    sparse.set_len(1 << 40).expect("holes take no space");
    for number in 0..300 {
        fs::write(top.join(format!("a/b/c/{number}")), "x").expect("a file can be written");
    }
}

/// What du says: blocks in bytes, and inodes.
fn du(folder: &Path) -> (u64, u64) {
    let said = |flag: &str| {
        let output = Command::new("du").args(["-x", "-s", flag]).arg(folder).output();
        let output = output.expect("du can be run");
        let said = String::from_utf8(output.stdout).expect("it writes text");
        said.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    };
    (said("--block-size=1"), said("--inodes"))
}

#[test]
fn a_folder_holds_what_du_says() {
    let folder = folder();
    grow(folder.path());
    let usage = read_usage(Path::new("/"), text(folder.path()), &mounts(), TIME).expect("counted");
    assert_eq!((usage.bytes, usage.inodes), du(folder.path()));
    assert!(usage.inodes > 300 && usage.bytes < 1 << 30, "{usage:?}");
    assert_eq!((usage.hidden.len(), usage.hidden_unknown), (0, None));
}

/// Says in a process with few descriptors which folder it is to count.
const DEEP: &str = "KQ_DEEP_FOLDER";

/// Each level has a folder that waits while the other is read.
#[test]
fn few_folders_are_open_however_deep_they_are() {
    if let Some(folder) = std::env::var_os(DEEP) {
        let folder = Path::new(&folder);
        let usage = read_usage(Path::new("/"), text(folder), &mounts(), TIME).expect("counted");
        assert_eq!((usage.bytes, usage.inodes), du(folder));
        return;
    }
    let folder = folder();
    let mut deep = folder.path().to_owned();
    for _ in 0..300 {
        fs::create_dir(deep.join("y")).expect("a folder can be made");
        fs::create_dir(deep.join("z")).expect("a folder can be made");
        deep.push("x");
        fs::create_dir(&deep).expect("a folder can be made");
    }
    let own = std::env::current_exe().expect("a test is a file");
    let run = Command::new("sh")
        .args(["-c", "ulimit -n 100 && exec \"$0\" \"$@\""])
        .arg(own)
        .args(["edges::host_folders::few_folders_are_open_however_deep_they_are", "--exact"])
        .args(["--nocapture", "--test-threads=1"])
        .env(DEEP, folder.path())
        .output()
        .expect("a shell runs");
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_folder_beneath_the_root_of_the_node_is_the_nodes() {
    let folder = folder();
    let root = folder.path().join("host");
    fs::create_dir_all(root.join("data/kubelet")).expect("folders can be made");
    fs::create_dir_all(root.join("var/lib")).expect("folders can be made");
    fs::write(root.join("data/kubelet/file"), "x").expect("a file can be written");
    symlink("/data/kubelet", root.join("var/lib/kubelet")).expect("a link can be made");
    symlink("/etc/hostname", root.join("var/lib/file")).expect("a link can be made");
    let line = |id: u32, point: &str| format!("{id} 1 9:{id} / {point} rw - made-up x rw\n");
    let table = ["/", "/data", "/var", "/data/kubelet/file"].into_iter().zip(1..);
    let table: String = table.map(|(point, id)| line(id, point)).collect();
    let mounts = Mounts::parse(&table);
    let found = read_filesystem(&root, "/var/lib/kubelet", &mounts).expect("it is there");
    assert_eq!((found.mount_point.as_str(), found.kind.as_str()), ("/data", "made-up"));
    let device = fs::metadata(&root).expect("it is there").dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    assert_eq!(found.device, device);
    assert!(found.capacity_bytes >= found.free_bytes && found.free_bytes >= found.available_bytes);
    for (name, path, expected) in [
        ("absent", "/var/lib/containerd", "no such file"),
        ("a link out of the node", "/var/lib/file", "no such file"),
        ("a file", "/data/kubelet/file", "a file, expected a folder"),
    ] {
        assert_eq!(read_filesystem(&root, path, &mounts), Err(expected.to_owned()), "{name}");
        let usage = read_usage(&root, path, &mounts, TIME);
        assert_eq!(usage, Err(expected.to_owned()), "{name}");
    }
}

#[test]
fn what_takes_too_long_is_not_counted() {
    let folder = folder();
    grow(folder.path());
    let path = text(folder.path());
    let error = read_usage(Path::new("/"), path, &mounts(), Duration::ZERO).expect_err("no time");
    assert_eq!(error, "not counted within 0ns");
    assert!(read_usage(Path::new("/"), path, &mounts(), Duration::MAX).is_ok());
}

#[test]
fn a_file_system_has_the_size_it_was_made_with() {
    let folder = folder();
    let options = ["-t", "tmpfs", "-o", "size=1m,nr_inodes=100", "tmpfs"];
    let Some(_mounted) = Mounted::new(&options, folder.path()) else { return };
    fs::create_dir(folder.path().join("in")).expect("a folder can be made");
    fs::write(folder.path().join("file"), vec![1; 8192]).expect("a file can be written");
    for path in [folder.path().to_owned(), folder.path().join("in")] {
        let found = read_filesystem(Path::new("/"), text(&path), &mounts()).expect("it is there");
        assert_eq!(
            (found.mount_point.as_str(), found.kind.as_str()),
            (text(folder.path()), "tmpfs")
        );
        assert_eq!((found.capacity_bytes, found.inodes), (1 << 20, 100));
        assert_eq!(found.available_bytes, (1 << 20) - 8192);
        assert_eq!((found.free_bytes, found.inodes_free), (found.available_bytes, 97));
    }
}

#[test]
fn what_mounts_hide_is_counted_beside_the_rest() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    grow(folder.path());
    for name in ["hiding/deep", "hiding nothing", "bound"] {
        fs::create_dir_all(at(name)).expect("a folder can be made");
    }
    fs::write(at("hiding/large"), vec![1; 300_000]).expect("a file can be written");
    fs::write(at("hiding/deep/small"), "x").expect("a file can be written");
    fs::write(at("bound file"), vec![1; 50_000]).expect("a file can be written");
    let hidden = du(&at("hiding"));
    let file = fs::metadata(at("bound file")).expect("it is there").blocks() * 512;
    let options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
    let Some(_hiding) = Mounted::new(&options, &at("hiding")) else { return };
    fs::write(at("hiding/other"), vec![1; 20_000]).expect("a file can be written");
    fs::create_dir(at("hiding/deeper")).expect("a folder can be made");
    let _deeper = Mounted::new(&options, &at("hiding/deeper"));
    let _nothing = Mounted::new(&options, &at("hiding nothing"));
    // Of the same device: only the kernel's list of mounts distinguishes them from a folder.
    let _bound = Mounted::new(&["--bind", text(&at("a"))], &at("bound"));
    let _bound_file = Mounted::new(&["--bind", text(&at("a/b/empty"))], &at("bound file"));

    let table = mounts();
    let usage = read_usage(Path::new("/"), text(folder.path()), &table, TIME).expect("counted");
    let expected = |name: &str, (bytes, inodes)| HiddenFolder {
        path: text(&at(name)).to_owned(),
        bytes,
        inodes,
    };
    assert_eq!(usage.hidden_unknown, None);
    assert_eq!(usage.hidden, [expected("bound file", (file, 1)), expected("hiding", hidden)]);

    let alone = |name: &str| du(&at(name));
    let (parts, own) = (["a", "sparse"].map(alone), fs::metadata(folder.path()).expect("there"));
    let bytes: u64 = parts.iter().map(|part| part.0).sum::<u64>() + own.blocks() * 512;
    let inodes: u64 = parts.iter().map(|part| part.1).sum::<u64>() + 1;
    assert_eq!((usage.bytes, usage.inodes), (bytes, inodes), "nothing behind a mount is counted");
    let here = text(folder.path());
    assert_eq!(mounts().beneath(here), table.beneath(here), "nothing was mounted for it");
}

//! Snapshots in files: what is written comes back, what is broken is refused, and nobody ever sees a
//! half of one.

use crate::skipped::skip;
use kq_facts::lookup::Lookup;
use kq_facts::snapshot::{API_VERSION, HostRoot, KIND, Snapshot};
use kq_io::snapshot_file::{
    SnapshotFileError, read_snapshot, read_snapshot_within, write_snapshot,
};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Returns a snapshot of about as many bytes, no two lines of which are the same.
fn snapshot(taken_at: &str, size: usize) -> Snapshot {
    let lines = (0..size / 12).map(|n| format!("{:011}\n", n * 2_654_435 % 99_999_999_999));
    Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: taken_at.to_owned(),
        host_root: HostRoot { path: "/".to_owned(), because: lines.collect() },
        kubelet_version: Lookup::failed("/usr/bin/kubelet", "permission denied"),
        ..Snapshot::default()
    }
}

fn json(snapshot: &Snapshot) -> Vec<u8> {
    serde_json::to_vec(snapshot).expect("it can be stored")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Returns the names in a folder.
pub fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// Packs with the `zstd` program; `None` where it is not installed.
fn zstd(arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new("zstd")
        .args(arguments)
        .args(["-q", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("it has an input");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it ends").expect("it reads all");
    output.status.success().then_some(output.stdout)
}

#[test]
fn what_is_written_comes_back() {
    let folder = folder();
    for size in [0, 1000, 3_000_000] {
        let snapshot = snapshot("2026-01-02T03:04:05Z", size);
        for name in ["plain.json", "packed.json.zst"] {
            let path = folder.path().join(name);
            write_snapshot(text(&path), &json(&snapshot)).expect(name);
            assert_eq!(read_snapshot(text(&path)).expect(name), snapshot, "{name} {size}");
            let mode = fs::metadata(&path).expect(name).permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{name}: only its owner reads it");
        }
    }
    assert_eq!(entries(folder.path()), ["packed.json.zst", "plain.json"], "nothing else is left");
    let packed = fs::metadata(folder.path().join("packed.json.zst")).expect("a file").len();
    assert!(packed < 2_000_000, "{packed}: it is packed");
    let path = folder.path().join("plain.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode can be set");
    write_snapshot(text(&path), b"{}").expect("it can be written");
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600, "also in place of one that all could read");
}

#[test]
fn the_usual_program_and_kq_understand_each_other() {
    let (folder, snapshot) = (folder(), snapshot("now", 400_000));
    let path = folder.path().join("a.zst");
    write_snapshot(text(&path), &json(&snapshot)).expect("it can be written");
    let packed = fs::read(&path).expect("a file");
    let Some(unpacked) = zstd(&["-d"], &packed) else { return skip("zstd is not installed") };
    assert!(unpacked == json(&snapshot));
    for level in ["-1", "-19", "--fast=5", "--no-check", "--check"] {
        let packed = zstd(&[level], &json(&snapshot)).expect(level);
        fs::write(&path, &packed).expect("written");
        assert_eq!(read_snapshot(text(&path)).expect(level), snapshot, "{level}");
    }
    let (one, two) = json(&snapshot).split_at(1000).to_owned_pair();
    let mut parts = zstd(&["-3"], &one).expect("packed");
    parts.extend(b"\x52\x2a\x4d\x18\x05\x00\x00\x00notes");
    parts.extend(zstd(&["-3"], &two).expect("packed"));
    fs::write(&path, &parts).expect("written");
    assert_eq!(read_snapshot(text(&path)).expect("frames"), snapshot, "packed in several frames");
    parts.extend(b"rest");
    fs::write(&path, &parts).expect("written");
    assert!(read_snapshot(text(&path)).is_err(), "something behind the frames");
}

trait ToOwnedPair {
    fn to_owned_pair(self) -> (Vec<u8>, Vec<u8>);
}

impl ToOwnedPair for (&[u8], &[u8]) {
    fn to_owned_pair(self) -> (Vec<u8>, Vec<u8>) {
        (self.0.to_owned(), self.1.to_owned())
    }
}

#[test]
fn what_is_cut_or_damaged_is_refused() {
    let folder = folder();
    let path = folder.path().join("a");
    let snapshot = snapshot("now", 3000);
    write_snapshot(text(&path.with_extension("zst")), &json(&snapshot)).expect("written");
    let packed = fs::read(path.with_extension("zst")).expect("a file");
    for (name, whole) in [("packed", packed.clone()), ("plain", json(&snapshot))] {
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            let error =
                read_snapshot(text(&path)).expect_err("a part is not a snapshot").to_string();
            assert!(error.contains(text(&path)), "{name}, {length} bytes: {error}");
        }
    }
    // Whatever single byte is wrong, what is read is either refused or what was written.
    for at in 0..packed.len() {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).expect("written");
        if let Ok(read) = read_snapshot(text(&path)) {
            assert!(read == snapshot, "byte {at} of {} is wrong, and nobody says so", packed.len());
        }
    }
}

#[test]
fn other_content_is_refused_by_its_name() {
    let folder = folder();
    let path = folder.path().join("a");
    for (name, content, expected) in [
        ("nothing", &b""[..], "is not a kq snapshot: not JSON (line 1, column 0)"),
        ("garbage", b"\xff\xfe\x00", "is not a kq snapshot: not JSON (line 1, column 1)"),
        ("no JSON", b"apiVersion: kq/v1\n", "is not a kq snapshot: not JSON (line 1, column 1)"),
        (
            "a pod",
            br#"{"kind":"Pod"}"#,
            "is not a kq snapshot: kind \"Pod\", expected NodeSnapshot",
        ),
        ("the magic only", b"\x28\xb5\x2f\xfd", "is cut off or damaged"),
        ("magic and garbage", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff", "is cut off or damaged"),
        ("gzip", b"\x1f\x8b\x08\x00", "is packed by gzip, and kq unpacks Zstandard alone"),
    ] {
        fs::write(&path, content).expect("written");
        let error = read_snapshot(text(&path)).expect_err(name).to_string();
        assert!(error.contains(expected) && error.contains(text(&path)), "{name}: {error}");
    }
    let error = read_snapshot("/nowhere/a").expect_err("no file").to_string();
    assert_eq!(error, "cannot read snapshot /nowhere/a: no such file or directory");
    let error = read_snapshot(text(folder.path())).expect_err("a folder").to_string();
    assert!(error.ends_with(": is a directory, expected a file"), "{error}");
}

#[test]
fn what_is_too_large_is_given_up_early() {
    const LIMIT: u64 = 1 << 20;
    let folder = folder();
    let path = folder.path().join("a.zst");
    let refused = |name: &str| {
        let before = Instant::now();
        let error = read_snapshot_within(text(&path), LIMIT).expect_err(name);
        assert!(matches!(error, SnapshotFileError::TooLarge { .. }), "{name}: {error}");
        assert_eq!(
            error.to_string(),
            format!("snapshot {} has more than 1048576 bytes, which kq does not read", text(&path))
        );
        assert!(before.elapsed() < Duration::from_secs(20), "{name}");
    };
    // A few kilobytes that become 256 MiB.
    write_snapshot(text(&path), &vec![b' '; 256 << 20]).expect("written");
    let size = fs::metadata(&path).expect("a file").len();
    assert!(size < 64 << 10, "{size}");
    refused("a bomb");
    fs::write(&path, vec![b' '; (1 << 20) + 1]).expect("written");
    refused("plain");
    let large = fs::File::create(&path).expect("a file");
    large.set_len(1 << 40).expect("it can be enlarged");
    refused("as large as a disk");
    let mut exact = json(&snapshot("now", 0));
    exact.resize(1 << 20, b'\n');
    for name in ["a.zst", "a"] {
        let path = folder.path().join(name);
        write_snapshot(text(&path), &exact).expect("written");
        read_snapshot_within(text(&path), LIMIT).expect("just as large as it may be");
    }
}

#[test]
fn a_write_that_fails_leaves_the_old_file() {
    let folder = folder();
    let path = folder.path().join("a.json");
    write_snapshot(text(&path), &json(&snapshot("old", 100))).expect("written");
    let nowhere = folder.path().join("none/a.json");
    let error = write_snapshot(text(&nowhere), b"{}").expect_err("no folder").to_string();
    assert_eq!(error, format!("cannot write {}: no such file or directory", text(&nowhere)));
    let taken = folder.path().join("folder");
    fs::create_dir(&taken).expect("a folder can be made");
    write_snapshot(text(&taken), b"{}").expect_err("a folder is no file");
    assert_eq!(entries(folder.path()), ["a.json", "folder"], "nothing half is left");

    let disk = folder.path().join("folder");
    let mount = |disk: &Path, options: &str| {
        let arguments = ["-t", "tmpfs", "-o", options, "kq-test"];
        Command::new("mount").args(arguments).arg(disk).output()
    };
    if !mount(&disk, "size=256k").is_ok_and(|output| output.status.success()) {
        return skip("nothing can be mounted here");
    }
    let disk = Mounted(disk);
    let path = disk.0.join("a.json");
    let old = snapshot("old", 60_000);
    write_snapshot(text(&path), &json(&old)).expect("it fits");
    let new = json(&snapshot("new", 1_000_000));
    let error = write_snapshot(text(&path), &new).expect_err("the disk is full").to_string();
    assert_eq!(error, format!("cannot write {}: no space left on device", text(&path)));
    assert_eq!(read_snapshot(text(&path)).expect("the old one"), old);
    assert_eq!(entries(&disk.0), ["a.json"], "nothing half is left");
    write_snapshot(text(&path), &json(&snapshot("next", 50_000))).expect("there is room again");
    assert!(mount(&disk.0, "remount,ro").is_ok_and(|output| output.status.success()), "read-only");
    let error = write_snapshot(text(&path), b"{}").expect_err("read-only").to_string();
    assert_eq!(error, format!("cannot write {}: read-only file system", text(&path)));
    assert_eq!(read_snapshot(text(&path)).expect("the old one").taken_at, "next");
}

/// Something mounted, until this is dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn readers_see_the_old_or_the_new() {
    let folder = folder();
    let path = folder.path().join("a.zst");
    let versions = [snapshot("one", 200_000), snapshot("two", 20)];
    let texts = versions.each_ref().map(json);
    write_snapshot(text(&path), &texts[0]).expect("written");
    let stop = AtomicBool::new(false);
    let mut written = 1;
    let seen = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let reader = || {
            while !stop.load(Ordering::Relaxed) {
                let read = read_snapshot(text(&path)).expect("always a whole one");
                let which = versions.iter().position(|version| *version == read);
                let which = which.expect("one of those that were written");
                seen[which].fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        // Both were seen while they were written again and again, however long that takes.
        let is_done =
            |written| written > 50 && seen.iter().all(|seen| seen.load(Ordering::Relaxed) > 0);
        while !is_done(written) && begun.elapsed() < Duration::from_secs(60) {
            write_snapshot(text(&path), &texts[written % 2]).expect("written");
            written += 1;
        }
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().expect("no reader fails"));
    });
    let all = seen.iter().all(|seen| seen.load(Ordering::Relaxed) > 0);
    assert!(all, "{seen:?} of {written} written");
}

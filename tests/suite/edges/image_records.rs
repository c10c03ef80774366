//! The file of records of images: whole at every instant, never two writers at once, and nothing that
//! kq did not write is overwritten.

use super::snapshot_file::entries;
use kq_facts::image_records::ImageRecords;
use kq_facts::runtime::Image;
use kq_facts::timestamp::Timestamp;
use kq_image_gc::cycle::Keys;
use kq_image_gc::record::{RecordError, record};
use kq_io::image_records::{RecordFile, RecordFileError, read_records};
use kq_io::trust::NamedBy;
use rustix::fs::{CWD, FileType, Mode};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

type Outcome = Result<ImageRecords, RecordFileError<RecordError>>;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn images(count: i64) -> Vec<Image> {
    let image = |n| Image { id: format!("sha256:{n:064}"), ..Image::default() };
    (0..count).map(image).collect()
}

/// Records a detection at a moment, of as many images.
fn detect(root: &Path, path: &str, now: i64, count: i64) -> Outcome {
    RecordFile::new(root, path)
        .update(PATIENCE, |before| record(before, Timestamp(now), &images(count), &Keys::default()))
}

/// Records one more than there are, with one more image: what is lost is seen.
fn count_on(root: &Path, path: &str) -> Outcome {
    RecordFile::new(root, path).update(PATIENCE, |before| {
        let next = before.map_or(0, |before| before.detected_at.0) + 1;
        record(before, Timestamp(next), &images(next.min(300)), &Keys::default())
    })
}

fn read(root: &Path, path: &str) -> ImageRecords {
    let sought = read_records(root, path, NamedBy::Operator);
    sought.value().unwrap_or_else(|| panic!("{}", sought.reason())).clone()
}

#[test]
fn what_is_recorded_is_read() {
    let root = folder();
    let (root, path) = (root.path(), "/var/lib/kq/image-records.json");
    let absent = read_records(root, path, NamedBy::Operator);
    assert_eq!(absent.reason(), format!("{path}: no such file"));
    let error = detect(root, path, 1, 1).expect_err("there is no /var/lib").to_string();
    assert_eq!(error, "cannot open the folder /var/lib: no such file");
    fs::create_dir_all(root.join("var/lib")).expect("a folder can be made");
    let first = detect(root, path, 1, 2).expect("the last folder is made");
    assert_eq!(read(root, path), first);
    let second = detect(root, path, 2, 3).expect("written again");
    assert_eq!(read(root, path), second);
    let absent: Vec<_> = second.images.iter().map(|image| image.absent_at.map(|at| at.0)).collect();
    assert_eq!(absent, [None, None, Some(1)], "the second follows from the first");

    let folder = root.join("var/lib/kq");
    assert_eq!(entries(&folder), ["image-records.json", "image-records.json.lock"]);
    let mode = |name: &str| {
        let found = fs::metadata(folder.join(name)).expect("it is there");
        found.permissions().mode() & 0o777 & !0o022
    };
    assert_eq!(mode("image-records.json.lock"), 0o600, "nobody else may lock");
    assert_eq!(mode(""), 0o755);
    assert_eq!(mode("image-records.json"), 0o644);
    // A link in a node's root leads to the node's own folder.
    symlink("/var/lib", root.join("link")).expect("a link can be made");
    let third = detect(root, "/link/kq/image-records.json", 3, 1).expect("through a link");
    assert_eq!(read(root, path), third);
}

#[test]
fn a_clock_that_went_back_changes_nothing() {
    let root = folder();
    let before = detect(root.path(), "/r.json", 7_200_000_000_000, 2).expect("written");
    let error = detect(root.path(), "/r.json", 3_600_000_000_000, 5).expect_err("an hour back");
    assert!(matches!(error, RecordFileError::Record(RecordError::Clock { .. })), "{error:?}");
    assert!(error.to_string().contains("which is 1h0m0s before the last detection"), "{error}");
    assert_eq!(read(root.path(), "/r.json"), before);
    assert_eq!(entries(root.path()), ["r.json", "r.json.lock"]);
}

#[test]
fn what_is_no_file_of_records_is_left_alone() {
    let root = folder();
    let at = |name: &str| root.path().join(name);
    for (name, content, expected) in [
        ("empty", &b""[..], "the file: EOF while parsing a value at line 1 column 0"),
        ("garbage", b"\0\xff", "the file: expected value at line 1 column 1"),
        ("a pod", br#"{"kind":"Pod"}"#, "kind: unknown field"),
    ] {
        fs::write(at("r"), content).expect("written");
        let error = detect(root.path(), "/r", 1, 1).expect_err(name);
        assert_eq!(error.to_string(), "/r has no records of images", "{name}");
        let source = std::error::Error::source(&error).expect(name).to_string();
        assert!(source.starts_with(expected) || name == "a pod", "{name}: {source}");
        assert!(error.hint().is_some_and(|hint| hint.contains("move the file away")));
        let reason = read_records(root.path(), "/r", NamedBy::Operator).reason();
        assert_eq!(reason, format!("/r: no records of images: {source}"), "{name}");
        assert_eq!(fs::read(at("r")).expect("it is there"), content, "{name}");
    }
    let whole = serde_json::to_vec(&detect(root.path(), "/whole", 1, 3).expect("written"));
    let whole = whole.expect("it can be stored");
    for length in 0..whole.len() {
        fs::write(at("r"), &whole[..length]).expect("written");
        let error = detect(root.path(), "/r", 2, 1).expect_err("a part");
        assert!(matches!(error, RecordFileError::Content { .. }), "{length}: {error}");
    }
    let large = fs::File::create(at("large")).expect("a file");
    large.set_len(1 << 40).expect("it can be enlarged");
    let error = detect(root.path(), "/large", 1, 1).expect_err("as large as a disk");
    let source = std::error::Error::source(&error).expect("a reason").to_string();
    assert_eq!(source, "more than 64 MiB");
}

#[test]
fn what_is_no_file_is_refused_unopened() {
    let root = folder();
    let at = |name: &str| root.path().join(name);
    fs::write(at("other"), "other").expect("written");
    for suffix in ["", ".lock"] {
        for kind in ["folder", "link", "pipe", "device"] {
            let path = at(&format!("r{suffix}"));
            let found = match kind {
                "folder" => fs::create_dir(&path).map(|()| "a folder").ok(),
                "link" => symlink("other", &path).map(|()| "a symbolic link").ok(),
                "pipe" => rustix::fs::mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)
                    .map(|()| "a named pipe")
                    .ok(),
                // The device of the first terminal, where it can be made.
                _ => {
                    let (kind, number) = (FileType::CharacterDevice, rustix::fs::makedev(4, 0));
                    rustix::fs::mknodat(CWD, &path, kind, Mode::RUSR, number)
                        .map(|()| "a device")
                        .ok()
                }
            };
            let Some(found) = found else {
                crate::skipped::skip(&format!("no {kind} can be made here"));
                continue;
            };
            let error = detect(root.path(), "/r", 1, 1).expect_err(kind);
            assert_eq!(error.to_string(), format!("/r{suffix} is {found}, expected a file"));
            assert!(error.hint().is_some());
            let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            removed.expect("it is still there");
            let _ = fs::remove_file(at("r.lock"));
        }
    }
    assert_eq!(fs::read(at("other")).expect("it is there"), b"other");
    for path in ["", "r", "/", "/folder/", "/..", "/a/.", "/nul\0"] {
        let error = detect(root.path(), path, 1, 1).expect_err(path);
        assert!(matches!(error, RecordFileError::Path { .. }), "{path:?}: {error}");
    }
    let error = detect(root.path(), "/other/r", 1, 1).expect_err("a file on the way");
    assert_eq!(error.to_string(), "cannot open the folder /other: a file, expected a folder");
}

#[test]
fn what_a_killed_writer_left_is_cleared() {
    let root = folder();
    let at = |name: &str| root.path().join(name);
    detect(root.path(), "/r", 1, 1).expect("written");
    fs::write(at(".r.kq-1-0"), "half of").expect("written");
    fs::write(at(".r.kq-other"), "another's").expect("written");
    detect(root.path(), "/r", 2, 1).expect("written");
    assert_eq!(entries(root.path()), [".r.kq-other", "r", "r.lock"]);
}

#[test]
fn a_write_that_fails_leaves_the_old_file() {
    let root = folder();
    let disk = root.path().join("disk");
    fs::create_dir(&disk).expect("a folder can be made");
    let mount = |options: &str| {
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "kq-test"])
            .arg(&disk)
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    if !mount("size=256k") {
        crate::skipped::skip("nothing can be mounted here");
        return;
    }
    let _mounted = Mounted(&disk);
    let old = detect(root.path(), "/disk/r", 1, 300).expect("it fits");
    let error = detect(root.path(), "/disk/r", 2, 3000).expect_err("the disk is full").to_string();
    assert_eq!(error, "cannot write /disk/r: no space left on device");
    assert_eq!(read(root.path(), "/disk/r"), old);
    assert_eq!(entries(&disk), ["r", "r.lock"], "nothing half is left");
    let next = detect(root.path(), "/disk/r", 3, 200).expect("there is room again");
    // A program that another test starts has the files open too, until it runs.
    let is_read_only = (0..100).any(|_| {
        let is_done = mount("remount,ro");
        if !is_done {
            std::thread::sleep(Duration::from_millis(50));
        }
        is_done
    });
    assert!(is_read_only, "read-only");
    let error = detect(root.path(), "/disk/r", 4, 1).expect_err("read-only").to_string();
    assert_eq!(error, "cannot lock /disk/r.lock: read-only file system");
    assert_eq!(read(root.path(), "/disk/r"), next);
}

/// Something mounted, until this is dropped.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_lock_is_waited_for_and_named() {
    let root = folder();
    let file = RecordFile::new(root.path(), "/r");
    let old = detect(root.path(), "/r", 1, 1).expect("written");
    let begin = Instant::now();
    let inner = file.update::<RecordError>(PATIENCE, |before| {
        let short = Duration::from_millis(100);
        let error = file
            .update(short, |before| record(before, Timestamp(2), &[], &Keys::default()))
            .expect_err("it is locked");
        let expected =
            format!("process {} has held /r.lock for more than 100ms", std::process::id());
        assert_eq!(error.to_string(), expected);
        assert!(begin.elapsed() >= short);
        // Readers need no lock.
        assert_eq!(read(root.path(), "/r"), old);
        record(before, Timestamp(3), &[], &Keys::default())
    });
    assert_eq!(inner.expect("written").detected_at, Timestamp(3));
    assert!(begin.elapsed() < PATIENCE);
}

#[test]
fn without_the_right_to_write_nothing_changes() {
    let root = folder();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
    let locked = root.path().join("locked");
    fs::create_dir(&locked).expect("a folder can be made");
    let old = detect(root.path(), "/locked/r", 1, 1).expect("written");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).expect("a mode");
    let mut command = child("/locked/r", root.path(), "once");
    if rustix::process::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    let Ok(output) = command.output() else {
        crate::skipped::skip("another user cannot run this program");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("fails: cannot lock /locked/r.lock: permission denied"), "{said}");
    assert_eq!(read(root.path(), "/locked/r"), old);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Not a test of its own: a writer that others start and kill.
#[test]
#[ignore = "other tests run it"]
fn as_a_child() {
    let said = |name| std::env::var(name).expect("another test runs it");
    let (root, path, turns) = (said("KQ_TEST_ROOT"), said("KQ_TEST_PATH"), said("KQ_TEST_TURNS"));
    let turns = match turns.as_str() {
        "once" => 1,
        "for ever" => usize::MAX,
        turns => turns.parse().expect("a number"),
    };
    // Where tests run one after another, the name of this one is still on the line.
    println!();
    for _ in 0..turns {
        match count_on(Path::new(&root), &path) {
            Ok(written) => println!("wrote {}", written.detected_at.0),
            Err(error) => println!("fails: {error}"),
        }
    }
}

fn child(path: &str, root: &Path, turns: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "--ignored", "--nocapture", "edges::image_records::as_a_child"]);
    command.env_clear().env("KQ_TEST_ROOT", root).env("KQ_TEST_PATH", path);
    command.env("KQ_TEST_TURNS", turns).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Waits for the first number that a child says it wrote.
fn acknowledged_first(said: &mut impl BufRead) -> i64 {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(said.read_line(&mut line).expect("text"), 0, "it ended");
        if let Some(number) = line.strip_prefix("wrote ") {
            return number.trim_end().parse().expect("a number");
        }
        assert!(!line.starts_with("fails"), "{line}");
    }
}

/// Returns the last number that a child says it wrote, of the lines that are whole.
fn acknowledged(said: impl std::io::Read) -> Option<i64> {
    let lines = BufReader::new(said).split(b'\n').map_while(Result::ok);
    let numbers = lines.filter_map(|line| {
        let line = String::from_utf8(line).expect("text");
        assert!(!line.starts_with("fails"), "{line}");
        line.strip_prefix("wrote ")?.parse().ok()
    });
    numbers.last()
}

#[test]
fn a_writer_that_is_killed_leaves_what_it_acknowledged() {
    let root = folder();
    let mut acknowledged_ever = 0;
    let mut left_behind = 0;
    for round in 0..60_u64 {
        let mut writer = child("/r", root.path(), "for ever").spawn().expect("it starts");
        let mut said = BufReader::new(writer.stdout.take().expect("it says something"));
        // However slow the machine is, it is killed while it writes.
        let first = acknowledged_first(&mut said);
        assert_eq!(first, acknowledged_ever + 1, "round {round}: it goes on where the last ended");
        // Spread over some writes, and never the same: the time itself differs from run to run.
        std::thread::sleep(Duration::from_micros(round * 7_919 % 30_000));
        writer.kill().expect("it runs");
        let last = acknowledged(said);
        writer.wait().expect("it ended");
        acknowledged_ever = last.unwrap_or(first);
        left_behind += u32::from(entries(root.path()).len() > 2);
        let found = read(root.path(), "/r").detected_at.0;
        // It may have been killed between writing and saying so.
        let is_one_of = [acknowledged_ever, acknowledged_ever + 1].contains(&found);
        assert!(is_one_of, "round {round}: {found} after {acknowledged_ever} was acknowledged");
        acknowledged_ever = found;
    }
    assert!(acknowledged_ever >= 60, "only {acknowledged_ever} were written");
    let next = count_on(root.path(), "/r").expect("it goes on").detected_at.0;
    assert_eq!(next, acknowledged_ever + 1);
    assert_eq!(entries(root.path()), ["r", "r.lock"], "{left_behind} siblings were cleared");
}

#[test]
fn writers_in_parallel_lose_nothing() {
    let root = folder();
    let writers: Vec<_> =
        (0..3).map(|_| child("/r", root.path(), "40").spawn().expect("it starts")).collect();
    let (begin, mut in_between) = (Instant::now(), 0);
    while in_between < 60 {
        assert!(begin.elapsed() < 2 * PATIENCE, "only {in_between} were written");
        // Readers see a whole file at any time, or none yet.
        if root.path().join("r").exists() {
            in_between = read(root.path(), "/r").detected_at.0;
        }
    }
    for mut writer in writers {
        let last = acknowledged(writer.stdout.take().expect("it says something"));
        assert!(last.is_some() && writer.wait().expect("it ends").success());
    }
    assert_eq!(read(root.path(), "/r").detected_at.0, 120, "each built on the one before");
}

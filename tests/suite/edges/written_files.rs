//! Files that kq writes as root, where another user plants what should lead it elsewhere. The other user is a real
//! process with the uid 65534, and does not depend on `fs.protected_symlinks` and its like.

use kq_facts::snapshot::Snapshot;
use kq_facts::timestamp::Timestamp;
use kq_image_gc::cycle::Keys;
use kq_image_gc::record::{RecordError, record};
use kq_io::image_records::{RecordFile, RecordFileError};
use kq_io::line_file::LineFile;
use kq_io::recording_file::RecordingWriter;
use kq_io::replace::{create, replace};
use kq_io::snapshot_file::write_snapshot;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65_534;
const SECRET: &[u8] = b"{\"what\": \"root's snapshot\"}";

/// A world-writable folder, as `/tmp`; `None`: this is not root.
fn shared() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        crate::skipped::skip("only root is attacked");
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    set_mode(folder.path(), 0o1777);
    Some(folder)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode can be set");
}

/// Runs a script as the other user, in a folder.
fn attacker(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).uid(NOBODY).gid(NOBODY).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[track_caller]
fn plant(folder: &Path, script: &str) {
    assert!(attacker(folder, script).status().expect("sh runs").success(), "{script}");
}

/// A file that only root may access.
fn victim() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("victim");
    fs::write(&path, "untouched").expect("a file can be written");
    set_mode(folder.path(), 0o755);
    (folder, path)
}

#[track_caller]
fn assert_untouched(victim: &Path) {
    assert_eq!(fs::read(victim).expect("it is there"), b"untouched");
    assert_eq!(fs::metadata(victim).expect("it is there").mode() & 0o777, 0o644);
}

fn store(path: &Path) -> Result<(), String> {
    let path = path.to_str().expect("text");
    write_snapshot(path, SECRET).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_refused(path: &Path, expected: &str) {
    let begin = Instant::now();
    let error = store(path).expect_err("it is a stranger's");
    assert!(error.contains(expected) && error.contains("user 65534"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(3), "it waits");
}

#[test]
fn a_planted_pipe_is_not_written_to() {
    let Some(folder) = shared() else { return };
    let path = folder.path().join("snapshot.json");
    plant(folder.path(), "mkfifo -m 666 snapshot.json");
    let mut reader = attacker(folder.path(), "exec cat snapshot.json").spawn().expect("sh runs");
    std::thread::sleep(Duration::from_millis(200));
    assert_refused(&path, "is a named pipe");
    // The other user sees nothing but an end.
    reader.kill().expect("it waits for a writer");
    let read = reader.wait_with_output().expect("it ends").stdout;
    assert!(read.is_empty(), "{}", String::from_utf8_lossy(&read));
}

#[test]
fn a_planted_link_is_not_followed() {
    let Some(folder) = shared() else { return };
    let (away, victim) = victim();
    let at = |name: &str| folder.path().join(name);
    plant(
        folder.path(),
        &format!("ln -s {} file; ln -s {} dir", victim.display(), away.path().display()),
    );
    plant(folder.path(), "mkdir own && ln -s /dev/null own/null && ln -s /dev/stdout out");
    assert_refused(&at("file"), "is a symbolic link");
    assert_refused(&at("dir/victim"), "is a symbolic link");
    assert_refused(&at("dir/new"), "is a symbolic link");
    assert_refused(&at("own/null"), "is a symbolic link");
    assert_refused(&at("out"), "is a symbolic link");
    assert_untouched(&victim);
    assert_eq!(fs::read_dir(away.path()).expect("a folder").count(), 1, "nothing new");
    // What takes a name instead of what is behind it takes it.
    replace(&at("file"), SECRET).expect("the link is replaced");
    assert!(fs::symlink_metadata(at("file")).expect("it is there").is_file());
    let error = create(&at("out"), SECRET).expect_err("it is taken").to_string();
    assert!(error.ends_with("file exists"), "{error}");
    assert_untouched(&victim);
}

#[test]
fn a_second_name_of_another_file_is_replaced_alone() {
    let Some(folder) = shared() else { return };
    let victim = folder.path().join("victim");
    fs::write(&victim, "untouched").expect("a file can be written");
    let path = folder.path().join("snapshot.json");
    // As another user could without `fs.protected_hardlinks`.
    fs::hard_link(&victim, &path).expect("a link can be made");
    store(&path).expect("the name is replaced");
    assert_untouched(&victim);
    let written = fs::metadata(&path).expect("it is there");
    assert_eq!((written.uid(), written.mode() & 0o777), (0, 0o600));
    // So is a file of the other user, who keeps no way to read what comes.
    let theirs = folder.path().join("theirs.json");
    plant(folder.path(), "echo theirs > theirs.json; chmod 666 theirs.json");
    store(&theirs).expect("it is replaced");
    let written = fs::metadata(&theirs).expect("it is there");
    assert_eq!((written.uid(), written.mode() & 0o777), (0, 0o600));
    assert_eq!(fs::read(&theirs).expect("it is there"), SECRET);
}

#[test]
fn pipes_links_and_devices_of_ones_own_are_written_to() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let at = |name: &str| folder.path().join(name);
    mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).expect("a pipe can be made");
    let error = store(&at("pipe")).expect_err("nobody reads");
    assert!(error.contains("a named pipe without a reader for 5 seconds"), "{error}");
    let reader = Command::new("cat").arg(at("pipe")).stdout(Stdio::piped()).spawn().expect("cat");
    store(&at("pipe")).expect("somebody reads");
    assert_eq!(reader.wait_with_output().expect("it ends").stdout, SECRET);
    symlink("behind", at("link")).expect("a link can be made");
    for _ in 0..2 {
        store(&at("link")).expect("the file behind it is written");
        assert_eq!(fs::read(at("behind")).expect("it is there"), SECRET);
        assert!(fs::symlink_metadata(at("link")).expect("it is there").is_symlink());
    }
    store(Path::new("/dev/null")).expect("a device");
    let error = store(Path::new("/dev/full")).expect_err("it is full");
    assert!(error.ends_with("no space left on device"), "{error}");
    for (path, expected) in [
        (at("."), "it is a folder"),
        (at(".."), "is not a file name"),
        (at("folder"), "it is a folder"),
    ] {
        let _ = fs::create_dir(at("folder"));
        let error = store(&path).expect_err("not a file");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn standard_output_has_names() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let kq = env!("CARGO_BIN_EXE_kq");
    let root = folder.path().display();
    let snapshot =
        format!("{kq} snapshot --host-root {root} --timeout 1s -o /dev/stdout 2>/dev/null");
    for script in [
        format!("{snapshot} | cat"),
        format!("{snapshot} > file; cat file"),
        format!(
            "{kq} snapshot --host-root {root} --timeout 1s -o /dev/fd/3 3>&1 >/dev/null 2>&1 | cat"
        ),
    ] {
        let ran = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output();
        let said = ran.expect("bash runs").stdout;
        let read: serde_json::Value = serde_json::from_slice(&said).unwrap_or_else(|error| {
            panic!("{script}: {error}: {}", String::from_utf8_lossy(&said))
        });
        assert_eq!(read["kind"], "NodeSnapshot", "{script}");
    }
}

#[test]
fn a_lock_is_only_a_lock() {
    let Some(root) = shared() else { return };
    let at = |name: &str| root.path().join(name);
    let detect = || -> Result<_, RecordFileError<RecordError>> {
        RecordFile::new(root.path(), "/r").update(Duration::from_millis(100), |before| {
            record(before, Timestamp(1), &[], &Keys::default())
        })
    };
    let (_away, victim) = victim();
    for (name, script, expected) in [
        ("another's file", "echo > r.lock", "it belongs to user 65534"),
        ("another's pipe", "mkfifo r.lock", "is a named pipe"),
        ("another's link", &format!("ln -s {} r.lock", victim.display()), "is a symbolic link"),
    ] {
        plant(root.path(), script);
        let error = detect().expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
        fs::remove_file(at("r.lock")).expect("it is there");
    }
    fs::write(at("victim"), "untouched").expect("a file can be written");
    fs::hard_link(at("victim"), at("r.lock")).expect("a link can be made");
    let error = detect().expect_err("a second name").to_string();
    assert!(error.contains("has another name as well"), "{error}");
    fs::remove_file(at("victim")).expect("it is there");
    for content in ["untouched", "more than the number of a process", "1234567890123456789012"] {
        fs::write(at("r.lock"), content).expect("written");
        let error = detect().expect_err(content).to_string();
        assert!(error.contains("not a process ID"), "{error}");
        assert_eq!(fs::read(at("r.lock")).expect("it is there"), content.as_bytes());
    }
    for content in ["", "12345", "12345               "] {
        fs::write(at("r.lock"), content).expect("written");
        detect().expect("the lock of an earlier kq");
        let number = fs::read_to_string(at("r.lock")).expect("it is there");
        assert_eq!(number.trim_end(), std::process::id().to_string());
    }
    assert_untouched(&victim);
    // The folder of the records is not found through another's link, either.
    plant(root.path(), "ln -s /etc planted");
    let records = RecordFile::new(root.path(), "/planted/r");
    let error = records
        .update(Duration::ZERO, |before| record(before, Timestamp(1), &[], &Keys::default()));
    let error = error.expect_err("a planted link").to_string();
    assert!(error.contains("belongs to user 65534"), "{error}");
}

/// A process of the other user that is ended with the test.
struct Swapper(Child);

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_folder_that_is_swapped_while_kq_writes_leads_nowhere() {
    let Some(top) = shared() else { return };
    let (away, victim) = victim();
    // The attacker owns the folder above, and swaps its folder for a link to root's, over and over.
    let above = top.path().join("above");
    fs::create_dir(&above).expect("a folder can be made");
    chown(&above, Some(NOBODY), Some(NOBODY)).expect("it can be given away");
    plant(&above, "mkdir dir");
    let target = away.path().display();
    let script = format!(
        "ln -s {target} link; while :; do mv -T dir kept; mv -T link dir; mv -T dir link; mv -T kept dir; done"
    );
    let _swapper = Swapper(attacker(&above, &script).spawn().expect("sh runs"));
    let begin = Instant::now();
    let (mut written, mut refused) = (0, 0);
    while begin.elapsed() < Duration::from_secs(4) {
        for name in ["victim", "new"] {
            match replace(&above.join("dir").join(name), SECRET) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert_untouched(&victim);
    assert_eq!(fs::read_dir(away.path()).expect("a folder").count(), 1, "nothing new");
    assert!(written > 0 && refused > 0, "{written} written, {refused} refused: no race");
}

/// Another file of the other user takes a name as soon as the name exists, over and over; `write` makes a file of that
/// name and writes more to it. Returns what was written into the other user's files.
fn stolen(name: &str, write: impl Fn(&Path)) -> Vec<String> {
    if shared().is_none() {
        return Vec::new();
    }
    // On a disk, a new file is synced for long enough to be replaced.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("it can be given away");
    let (path, planted) = (folder.path().join(name), folder.path().join("planted"));
    let round = |_: usize| {
        fs::write(&planted, "theirs").expect("a file can be written");
        chown(&planted, Some(NOBODY), Some(NOBODY)).expect("it can be given away");
        std::thread::scope(|scope| {
            // The owner of a folder may rename in it; a thread is faster than the other user's process would be.
            scope.spawn(|| {
                while fs::symlink_metadata(&path).is_err() {
                    std::hint::spin_loop();
                }
                fs::rename(&planted, &path).expect("it is renamed");
            });
            write(&path);
        });
        let theirs = fs::read_to_string(&path).expect("it is text");
        fs::remove_file(&path).expect("it is there");
        theirs
    };
    (0..100).map(round).filter(|theirs| theirs != "theirs").collect()
}

#[test]
fn a_recording_stays_in_the_file_that_was_made_for_it() {
    let got = stolen("top.jsonl", |path| {
        let path = path.to_str().expect("text");
        let mut recording = RecordingWriter::create(path).expect("the name is free");
        recording.add(&Snapshot::default()).expect("it is written");
    });
    assert!(got.is_empty(), "{} of 100: {}", got.len(), got[0]);
}

#[test]
fn a_record_of_a_fleet_stays_in_the_file_that_was_made_for_it() {
    let got = stolen("apply.jsonl", |path| {
        let mut record =
            LineFile::begin(path.to_str().expect("text"), "begins").expect("the name is free");
        record.add("changes").expect("it is written");
    });
    assert!(got.is_empty(), "{} of 100: {}", got.len(), got[0]);
}

#[test]
fn a_record_that_is_continued_is_one_of_kq() {
    let Some(folder) = shared() else { return };
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (_away, victim) = victim();
    plant(folder.path(), &format!("echo x > theirs; mkfifo pipe; ln -s {} link", victim.display()));
    fs::write(at("own"), "begins\n").expect("a file can be written");
    fs::hard_link(at("own"), at("second")).expect("a link can be made");
    for (name, expected) in [
        ("theirs", "it belongs to user 65534"),
        ("pipe", "it is a named pipe, expected a file"),
        ("link", "it is a symbolic link, expected a file"),
        ("second", "has another name as well"),
        ("gone", "no such file"),
    ] {
        let error = LineFile::open(&at(name)).expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    assert_untouched(&victim);
    // What is read is what is written to, wherever the name leads by then.
    fs::remove_file(at("second")).expect("it is there");
    let mut record = LineFile::open(&at("own")).expect("it is kq's");
    fs::rename(at("theirs"), at("own")).expect("it can be renamed");
    assert_eq!(record.content().expect("it is read"), b"begins\n");
    record.add("ended").expect("it is written");
    assert_eq!(record.content().expect("it is read"), b"begins\nended\n");
    assert_eq!(fs::read(at("own")).expect("it is there"), b"x\n");
}

//! Which files, programs and folders are believed.

use super::{EVE, install, is_root};
use kq::edge::host::ReadError;
use kq::edge::program_version::program_version;
use kq::edge::trust::{TrustedProgram, files_trusted, list_trusted, read_trusted};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Makes a folder with the mode that it is to have, whatever the umask is.
fn folder(root: &Path, path: &str, mode: u32) {
    let path = root.join(path);
    fs::create_dir_all(&path).expect("a folder can be made");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
}

fn node() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    folder(root.path(), "etc", 0o755);
    folder(root.path(), "tmp", 0o1777);
    folder(root.path(), "tmp/own", 0o755);
    folder(root.path(), "shared", 0o775);
    for file in ["etc/file", "tmp/file", "tmp/own/file", "shared/file"] {
        install(&root.path().join(file), "755", "#!/bin/sh\necho runc version 1.1.5\n");
    }
    root
}

#[track_caller]
fn untrusted(root: &Path, path: &str, expected: &str) {
    let reasons = [
        read_trusted(root, path, 1 << 20).map(drop).expect_err(path),
        TrustedProgram::find(root, path).map(drop).expect_err(path),
    ];
    for reason in reasons {
        assert!(matches!(reason, ReadError::Untrusted(_)), "{path}: {reason:?}");
        assert_eq!(reason.to_string(), format!("not trusted: {expected}"), "{path}");
    }
}

#[test]
fn what_others_can_write_is_not_trusted() {
    let node = node();
    let root = node.path();
    read_trusted(root, "/etc/file", 1 << 20).expect("it is believed");
    TrustedProgram::find(root, "/etc/file").expect("it is believed");
    untrusted(root, "/tmp/file", "folder /tmp is writable by every user");
    untrusted(root, "/tmp/own/file", "folder /tmp is writable by every user");
    for (link, target) in [
        ("etc/to-tmp", "/tmp/file"),
        ("etc/relative", "../tmp/own/file"),
        ("tmp/to-etc", "/etc/file"),
        ("etc/through", "/tmp/../etc/file"),
        ("etc/twice", "/tmp/to-etc"),
    ] {
        symlink(target, root.join(link)).expect("a link can be made");
        untrusted(root, link, "folder /tmp is writable by every user");
    }
    symlink("../etc/file", root.join("etc/again")).expect("a link can be made");
    read_trusted(root, "/etc/again", 1 << 20).expect("a link from folder to folder is believed");
    for (mode, expected) in [(0o757, "/etc/file is writable by every user"), (0o4755, "")] {
        fs::set_permissions(root.join("etc/file"), Permissions::from_mode(mode)).expect("a mode");
        match expected {
            "" => {
                let error = TrustedProgram::find(root, "/etc/file").expect_err("set-user-ID");
                assert!(error.to_string().contains("is set-user-ID"), "{error}");
            }
            expected => untrusted(root, "/etc/file", expected),
        }
    }
    list_trusted(root, "/tmp").expect_err("anybody can add files");
    files_trusted(root, "/tmp").expect_err("anybody can add files");
    assert_eq!(read_trusted(root, "/etc/absent", 9), Err(ReadError::Absent));
    assert_eq!(read_trusted(root, "/etc/file/below", 9), Err(ReadError::Absent));
}

#[test]
fn what_belongs_to_others_is_not_trusted() {
    if !is_root() {
        eprintln!("left out, because it needs root");
        return;
    }
    let node = node();
    let root = node.path();
    chown(root.join("shared"), None, Some(1000)).expect("root may");
    untrusted(root, "/shared/file", "folder /shared is writable by group 1000");
    chown(root.join("shared"), None, Some(0)).expect("root may");
    read_trusted(root, "/shared/file", 1 << 20).expect("root's group is believed");
    chown(root.join("etc/file"), Some(EVE), None).expect("root may");
    untrusted(root, "/etc/file", "/etc/file belongs to user 65534, expected root");
    chown(root.join("etc/file"), Some(0), None).expect("root may");
    chown(root.join("etc"), Some(EVE), None).expect("root may");
    untrusted(root, "/etc/file", "folder /etc belongs to user 65534, expected root");
    chown(root, Some(EVE), None).expect("root may");
    untrusted(root, "/shared/file", "folder / belongs to user 65534, expected root");
}

#[test]
fn the_program_that_was_checked_is_executed() {
    let node = node();
    let root = node.path();
    let program = TrustedProgram::find(root, "/etc/file").expect("it is believed");
    let mark = root.join("mark");
    let other = format!("#!/bin/sh\ntouch {}\necho runc version 6.6.6\n", mark.display());
    install(&root.join("etc/other"), "755", &other);
    fs::rename(root.join("etc/other"), root.join("etc/file")).expect("it can be renamed");
    let version = program_version(&program, Duration::from_secs(20));
    assert_eq!(version.expect("it answers"), "1.1.5");
    assert!(!mark.exists());
    // The same where the folder is another one by now.
    let program = TrustedProgram::find(root, "/etc/file").expect("it is believed");
    fs::rename(root.join("etc"), root.join("old")).expect("it can be renamed");
    install(&root.join("etc/file"), "755", "#!/bin/sh\necho runc version 9.9.9\n");
    let version = program_version(&program, Duration::from_secs(20));
    assert_eq!(version.expect("it answers"), "6.6.6");
}

/// The node's `/proc`, unmounted at the end.
struct Processes(PathBuf);

impl Drop for Processes {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_program_starts_in_the_root_of_its_node() {
    if !is_root() {
        eprintln!("left out, because it needs root");
        return;
    }
    let node = node();
    let root = node.path();
    // A shell with its libraries, under a name that this machine does not have.
    let listed = Command::new("ldd").arg("/bin/sh").output().expect("ldd is part of glibc").stdout;
    let listed = String::from_utf8(listed).expect("text");
    let libraries = listed.split_whitespace().filter(|word| word.starts_with('/'));
    for (from, to) in libraries.map(|path| (path, path)).chain([("/bin/sh", "/bin/of-the-node")]) {
        let to = root.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder can be made");
        fs::copy(from, to).expect("it can be copied");
    }
    let script = "#!/bin/of-the-node\necho runc version 1.1.5\n";
    install(&root.join("etc/file"), "755", script);
    let program = TrustedProgram::find(root, "/etc/file").expect("it is believed");
    let time = Duration::from_secs(20);
    program_version(&program, time).expect_err("without /proc it starts outside");
    // Files in the place of descriptors are not executed.
    let processes = Processes(root.join("proc"));
    for number in 0..64 {
        let planted = processes.0.join(format!("self/fd/{number}"));
        fs::create_dir_all(planted.parent().expect("a folder")).expect("a folder can be made");
        install(&planted, "755", "#!/bin/of-the-node\necho runc version 6.6.6\n");
    }
    program_version(&program, time).expect_err("this /proc is not the kernel's");
    let mounted = Command::new("mount").args(["-t", "proc", "proc"]).arg(&processes.0).status();
    assert!(mounted.is_ok_and(|status| status.success()));
    assert_eq!(program_version(&program, time).expect("it answers"), "1.1.5");
    assert!(Path::new("/bin/sh").exists(), "this thread keeps its root");
}

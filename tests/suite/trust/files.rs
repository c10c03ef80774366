//! Which files, programs and folders are believed.

use super::{EVE, install, is_root};
use crate::program_file::runc;
use kq_io::host::ReadError;
use kq_io::program_version::program_version;
use kq_io::trust::{TrustedProgram, files_trusted, list_trusted, read_trusted};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

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
        install(&root.path().join(file), "755", &runc("1.1.5"));
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
    // A container that runs as any user with the group 0 can write there, if the folder is mounted into it.
    untrusted(root, "/shared/file", "folder /shared is writable by group 0");
    fs::set_permissions(root.join("shared"), Permissions::from_mode(0o755)).expect("a mode");
    chown(root.join("etc/file"), Some(EVE), None).expect("root may");
    untrusted(root, "/etc/file", "/etc/file belongs to user 65534, expected root");
    chown(root.join("etc/file"), Some(0), None).expect("root may");
    chown(root.join("etc"), Some(EVE), None).expect("root may");
    untrusted(root, "/etc/file", "folder /etc belongs to user 65534, expected root");
    chown(root, Some(EVE), None).expect("root may");
    untrusted(root, "/shared/file", "folder / belongs to user 65534, expected root");
}

#[test]
fn the_program_that_was_checked_is_read() {
    let node = node();
    let root = node.path();
    let program = TrustedProgram::find(root, "/etc/file").expect("it is trusted");
    install(&root.join("etc/other"), "755", &runc("6.6.6"));
    fs::rename(root.join("etc/other"), root.join("etc/file")).expect("it can be renamed");
    assert_eq!(program_version(&program).expect("it has one").version, "1.1.5");
    // The same where the folder is another one by now.
    let program = TrustedProgram::find(root, "/etc/file").expect("it is trusted");
    fs::rename(root.join("etc"), root.join("old")).expect("it can be renamed");
    install(&root.join("etc/file"), "755", &runc("9.9.9"));
    assert_eq!(program_version(&program).expect("it has one").version, "6.6.6");
}

/// Every program of this machine whose version kq reads prints the same one.
#[test]
fn the_file_of_a_program_has_the_version_that_it_prints() {
    let mut read = 0;
    for path in ["/usr/sbin/runc", "/usr/bin/runc", "/usr/bin/crun", "/usr/bin/kubelet"] {
        let Ok(program) = TrustedProgram::find(Path::new("/"), path) else { continue };
        let printed = Command::new(path).arg("--version").output().expect("it runs").stdout;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let found = program_version(&program).expect(path);
        let first = printed.lines().next().unwrap_or_default();
        assert_eq!(first.split(' ').next_back(), Some(found.version.as_str()), "{path}: {first}");
        read += 1;
    }
    if read == 0 {
        eprintln!("left out, because this machine has no kubelet, runc or crun");
    }
}

//! The program that creates containers is found beneath the node's root, and its version is read from its file.

use super::fake::{Answers, Server};
use crate::program_file::{crun, elf, runc};
use kq_facts::lookup::Lookup;
use kq_facts::runtime::LowLevelRuntime;
use kq_io::trust::NamedBy;
use kq_linux::cri::{RuntimeNeeds, read_runtime, v1};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

const TIME: Duration = Duration::from_secs(30);

/// Writes a program.
fn program(path: &Path, content: &[u8]) {
    let parent = path.parent().expect("a file is in a folder");
    std::fs::create_dir_all(parent).expect("a folder can be made");
    std::fs::write(path, content).expect("a file can be written");
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a mode");
}

fn ask(root: &Path, socket: &str, config: &str, time: Duration) -> Lookup<LowLevelRuntime> {
    let path = root.join(&socket[1..]);
    std::fs::create_dir_all(path.parent().expect("a socket is in a folder")).expect("a folder");
    let info = [("config".to_owned(), config.to_owned())].into_iter().collect();
    let status = Some(v1::StatusResponse { status: None, info });
    let _server = Server::answering(&path, Answers { status, ..Answers::default() });
    let wants = RuntimeNeeds { low_level: true, ..RuntimeNeeds::default() };
    let facts =
        read_runtime(socket, root, NamedBy::Node, wants, time).expect("the version is answered");
    facts.low_level
}

fn containerd(binary: &str) -> String {
    format!(
        r#"{{"containerd":{{"defaultRuntimeName":"r","runtimes":{{"r":{{
            "runtimeType":"io.containerd.runc.v2","options":{{"BinaryName":{binary:?}}}}}}}}}}}"#
    )
}

#[test]
fn it_is_found_beneath_the_root_of_the_node() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let root = root.path();
    program(&root.join("usr/lib/cargo/runc"), &runc("1.1.5"));
    std::fs::create_dir_all(root.join("usr/sbin")).expect("a folder can be made");
    std::fs::create_dir_all(root.join("etc")).expect("a folder can be made");
    // As alternatives do it: from the root, twice.
    symlink("/etc/runc", root.join("usr/sbin/runc")).expect("a link can be made");
    symlink("/usr/lib/cargo/runc", root.join("etc/runc")).expect("a link can be made");
    program(&root.join("opt/crun"), &crun("1.8.1"));
    program(&root.join("var/lib/rancher/rke2/bin/runc"), &runc("1.2.3"));
    program(&root.join("usr/libexec/crun"), &elf(&[(".rodata", b"half version")]));
    program(
        &root.join("usr/libexec/marker"),
        format!("#!/bin/sh\ntouch {}/executed\n", root.display()).as_bytes(),
    );
    std::fs::write(root.join("usr/libexec/runc"), "").expect("a file can be written");
    std::fs::create_dir_all(root.join("usr/libexec/youki")).expect("a folder can be made");
    let usual = "/run/containerd/containerd.sock";
    let rke2 = "/run/k3s/containerd/containerd.sock";
    let crio =
        r#"{"crio":{"DefaultRuntime":"crun","Runtimes":{"crun":{"RuntimePath":"/opt/crun"}}}}"#;
    let rows = [
        ("by its usual name", usual, containerd(""), "runc 1.1.5 /usr/sbin/runc"),
        ("by a path", usual, containerd("/opt/crun"), "crun 1.8.1 /opt/crun"),
        ("CRI-O", "/run/crio/crio.sock", crio.to_owned(), "crun 1.8.1 /opt/crun"),
        ("bundled", rke2, containerd("runc"), "runc 1.2.3 /var/lib/rancher/rke2/bin/runc"),
        (
            "absent",
            usual,
            containerd("youki"),
            "Status(verbose): \"youki\" of runtime \"r\": not found in /usr/local/sbin:\
             /usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        (
            "a path that is absent",
            usual,
            containerd("/opt/runc"),
            "Status(verbose): \"/opt/runc\" of runtime \"r\": no such file or directory",
        ),
        (
            "no program",
            usual,
            containerd("/usr/libexec/runc"),
            "Status(verbose): \"/usr/libexec/runc\" of runtime \"r\": not an executable file",
        ),
        (
            "a folder",
            usual,
            containerd("/usr/libexec/youki"),
            "Status(verbose): \"/usr/libexec/youki\" of runtime \"r\": not an executable file",
        ),
        (
            "relative",
            usual,
            containerd("bin/runc"),
            "Status(verbose): \"bin/runc\" of runtime \"r\": is a relative path",
        ),
        (
            "another program",
            usual,
            containerd("/usr/libexec/marker"),
            "Status(verbose): /usr/libexec/marker: is not an ELF program, so its file does not show its \
             version; /var/lib/dpkg/info/marker.list: no such file",
        ),
        (
            "without a version",
            usual,
            containerd("/usr/libexec/crun"),
            "Status(verbose): /usr/libexec/crun: its file contains no version that kq recognises; \
             /var/lib/dpkg/info/crun.list: no such file",
        ),
    ];
    for (name, socket, config, expected) in rows {
        let _ = std::fs::remove_file(root.join(&socket[1..]));
        let sought = ask(root, socket, &config, TIME);
        let said = match sought.value() {
            Some(found) => format!("{} {} {}", found.name, found.version, found.path),
            None => sought.reason().replace(&format!("{socket} "), ""),
        };
        assert_eq!(said, expected, "{name}");
    }
    assert!(!root.join("executed").exists());
}

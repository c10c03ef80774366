//! A runtime whose socket belongs to another user is not queried, and only trusted programs of a runtime count.

use super::{EVE, Node, as_eve, in_own_namespaces, lacks, says};
use crate::edges::cri::fake::{Answers, Server};
use kq_linux::cri::v1;
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

/// A runtime of a name that names a program.
fn naming(path: &Path, program: &str) -> Server {
    let config = format!(
        r#"{{"containerd":{{"defaultRuntimeName":"r","runtimes":{{"r":{{
            "runtimeType":"io.containerd.runc.v2","options":{{"BinaryName":{program:?}}}}}}}}}}}"#
    );
    let status =
        Some(v1::StatusResponse { status: None, info: [("config".to_owned(), config)].into() });
    Server::answering(path, Answers { status, version: Some(("eves", "6")), ..Answers::default() })
}

#[test]
fn no_program_of_an_untrusted_user_counts() {
    in_own_namespaces("trust::runtime::no_program_of_an_untrusted_user_counts", || {
        let node = Node::new();
        node.write_runc("usr/bin/runc");
        node.write("usr/bin/script", "#!/bin/sh\necho runc version 1.1.5\n");
        fs::set_permissions(
            node.path("usr/bin/script"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .expect("a mode");
        node.write_runc("opt/shared/runc");
        node.write_runc("home/runc");
        chown(node.path("home/runc"), Some(EVE), Some(EVE)).expect("root may");
        fs::set_permissions(
            node.path("opt/shared"),
            std::os::unix::fs::PermissionsExt::from_mode(0o777),
        )
        .expect("a mode");
        // The attacker's runtime, which the operator names, and root's own program.
        let path = node.path("home/eve/a.sock");
        let server = as_eve(|| naming(&path, "/usr/bin/runc"));
        let said = node.kq("snapshot -v --runtime-endpoint unix:///home/eve/a.sock");
        says(&said, "runtime: eves 6");
        says(
            &said,
            "low-level runtime: unix:///home/eve/a.sock Status(verbose): not trusted: user 65534 listens there, expected root",
        );
        drop(server);
        // The attacker's runtime in a folder of root's, as after an operator's mistake.
        let path = node.path("run/a.sock");
        let server = naming(&path, "/usr/bin/runc");
        chown(&path, Some(EVE), None).expect("root may");
        node.write("etc/crictl.yaml", "runtime-endpoint: unix:///run/a.sock\n");
        let said = node.kq("snapshot -v");
        says(
            &said,
            "unix:///run/a.sock (/etc/crictl.yaml): not trusted: /run/a.sock belongs to user 65534",
        );
        lacks(&said, "runtime: eves 6");
        drop(server);
        let path = node.path("run/b.sock");
        for (program, reason) in [
            ("/home/runc", "not trusted: /home/runc belongs to user 65534, expected root"),
            ("/opt/shared/runc", "not trusted: folder /opt/shared is writable by every user"),
            ("/usr/bin/script", "/usr/bin/script: is not an ELF program"),
            ("/home/eve/../../usr/bin/runc", "not trusted: folder /home/eve belongs to user 65534"),
            ("/home/eve/runc", "not trusted: folder /home/eve belongs to user 65534"),
        ] {
            let _ = fs::remove_file(&path);
            let _server = naming(&path, program);
            let said = node.kq("snapshot -v --runtime-endpoint unix:///run/b.sock");
            says(&said, reason);
        }
        // What is root's in every respect counts.
        let _ = fs::remove_file(&path);
        let _server = naming(&path, "/usr/bin/runc");
        let said = node.kq("snapshot -v --runtime-endpoint unix:///run/b.sock");
        says(&said, "low-level runtime: runc 1.1.5 (/usr/bin/runc)");
    });
}

#[test]
fn another_user_who_listens_on_roots_socket_is_not_asked() {
    in_own_namespaces(
        "trust::runtime::another_user_who_listens_on_roots_socket_is_not_asked",
        || {
            let node = Node::new();
            node.write_runc("usr/bin/runc");
            // As where a service gave up its rights: the socket's file is root's, the listener is not.
            let path = node.path("home/eve/a.sock");
            let _server = as_eve(|| naming(&path, "/usr/bin/runc"));
            fs::create_dir_all(node.path("run/containerd")).expect("a folder");
            fs::rename(&path, node.path("run/containerd/containerd.sock")).expect("root may");
            chown(node.path("run/containerd/containerd.sock"), Some(0), None).expect("root may");
            let said = node.kq("snapshot -v");
            says(&said, "not trusted: user 65534 listens there, expected root");
            lacks(&said, "runtime: eves 6");
        },
    );
}

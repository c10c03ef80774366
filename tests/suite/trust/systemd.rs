//! Properties are set on the system bus of the node's own systemd, which root's processes serve.

use super::{EVE, Node, as_eve, in_own_namespaces};
use kq_linux::systemd_bus::SystemdBus;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

const SOCKET: &str = "/run/dbus/system_bus_socket";

fn reason(root: &Path) -> String {
    SystemdBus::of_node(root).expect_err("there is no trusted bus").to_string()
}

#[test]
fn a_bus_of_another_user_is_not_asked() {
    in_own_namespaces("trust::systemd::a_bus_of_another_user_is_not_asked", || {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"]).status();
        assert!(mounted.expect("mount runs").success());
        let root = Path::new("/");
        assert_eq!(reason(root), format!("{SOCKET}: no such file or directory"));
        fs::create_dir("/run/dbus").expect("a folder");
        // It listens, and nobody may connect: whoever asks it would wait.
        chown("/run/dbus", Some(EVE), None).expect("root may");
        let listener = as_eve(|| UnixListener::bind(SOCKET).expect("bound"));
        let expected =
            format!("{SOCKET}: not trusted: folder /run/dbus belongs to user {EVE}, expected root");
        assert_eq!(reason(root), expected);
        chown("/run/dbus", Some(0), None).expect("root may");
        let expected =
            format!("{SOCKET}: not trusted: {SOCKET} belongs to user {EVE}, expected root");
        assert_eq!(reason(root), expected);
        // In root's folder under root's name, as after a mistake.
        chown(SOCKET, Some(0), None).expect("root may");
        let expected = format!("{SOCKET}: not trusted: user {EVE} listens there, expected root");
        assert_eq!(reason(root), expected);
        drop(listener);
        fs::remove_file(SOCKET).expect("it can be removed");
        let listener = UnixListener::bind(SOCKET).expect("bound");
        std::thread::spawn(move || drop(listener.accept()));
        let said = reason(root);
        assert!(said.starts_with("the system bus: "), "root's is asked: {said}");
    });
}

#[test]
fn a_bus_below_a_root_that_is_not_the_nodes_is_not_asked() {
    let name = "trust::systemd::a_bus_below_a_root_that_is_not_the_nodes_is_not_asked";
    in_own_namespaces(name, || {
        // Its processes are those of the node, and its first process has another root.
        let node = Node::new();
        fs::create_dir_all(node.path("run/dbus")).expect("a folder");
        let _listener = UnixListener::bind(node.path(SOCKET)).expect("bound");
        let said = reason(&node.root());
        assert!(said.starts_with("the root folder is not that of the running node"), "{said}");
    });
}

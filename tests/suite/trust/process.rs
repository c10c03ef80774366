//! A process that calls itself kubelet and is not root's gives nothing: no configuration, path, endpoint or name.

use super::{EVE, Node, as_eve, in_own_namespaces, is_untouched, lacks, says};
use std::fs;
use std::os::unix::net::UnixListener;

const QUESTIONS: [&str; 6] = [
    "snapshot -v",
    "doctor -v",
    "cgroup diff -v",
    "cgroup apply --dry-run -v",
    "gc policy -v",
    "devices list -v",
];

#[test]
fn a_kubelet_of_another_user_gives_nothing() {
    in_own_namespaces("trust::process::a_kubelet_of_another_user_gives_nothing", || {
        let node = Node::new();
        let config = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n\
                      containerRuntimeEndpoint: unix:///home/eve/a.sock\nmaxPods: 66\n\
                      staticPodPath: /home/eve/pods\n";
        node.write_as_eve("home/eve/kubelet.yaml", config);
        let bind = |name: &str| {
            let path = node.path("home/eve").join(name);
            as_eve(|| UnixListener::bind(path).expect("it is the attacker's home"))
        };
        let (configured, flagged) = (bind("a.sock"), bind("b.sock"));
        as_eve(|| fs::create_dir_all(node.path("home/eve/root/pod-resources")).expect("a folder"));
        let resources = bind("root/pod-resources/kubelet.sock");
        let kubelet = node.kubelet_of_eve(&[
            "--config=/home/eve/kubelet.yaml",
            "--container-runtime-endpoint=unix:///home/eve/b.sock",
            "--hostname-override=eves-node",
            "--root-dir=/home/eve/root",
            "--kubeconfig=/home/eve/kubeconfig",
        ]);
        for question in QUESTIONS {
            let said = node.kq(question);
            let reason = format!(
                "/proc/{}: is called kubelet and is not trusted: it runs as user {EVE}, expected root",
                kubelet.pid()
            );
            says(&said, &reason);
            for taken in ["eves-node", "/home/eve", "maxPods: 66", "\"maxPods\":66"] {
                lacks(&said, taken);
            }
        }
        for socket in [configured, flagged, resources] {
            assert!(is_untouched(&socket));
        }
    });
}

#[test]
fn a_set_user_id_program_is_not_a_kubelet() {
    in_own_namespaces("trust::process::a_set_user_id_program_is_not_a_kubelet", || {
        use std::os::unix::fs::PermissionsExt;
        let node = Node::new();
        // All IDs are root's, as of sudo that waits for a password: the command line is the attacker's.
        let mode = fs::Permissions::from_mode(0o4755);
        fs::set_permissions(node.path("usr/bin/kubelet"), mode).expect("a mode");
        let kubelet = node.kubelet(&["--hostname-override=eves-node"]);
        let said = node.kq("snapshot -v");
        says(
            &said,
            &format!("/proc/{}: is called kubelet and is not trusted: program ", kubelet.pid()),
        );
        says(&said, "is set-user-ID or set-group-ID");
        lacks(&said, "eves-node");
    });
}

#[test]
fn files_that_a_kubelet_names_must_be_roots() {
    in_own_namespaces("trust::process::files_that_a_kubelet_names_must_be_roots", || {
        let node = Node::new();
        node.write_as_eve("home/eve/kubelet.yaml", "maxPods: 66\n");
        node.write_as_eve("home/eve/pod.yaml", "kind: Pod\n");
        let _kubelet = node.kubelet(&[
            "--config=/home/eve/kubelet.yaml",
            "--pod-manifest-path=/home/eve",
            "--hostname-override=roots-node",
        ]);
        let said = node.kq("snapshot -v");
        says(&said, "node name: roots-node from --hostname-override of the kubelet");
        says(
            &said,
            "cannot read /home/eve/kubelet.yaml: not trusted: folder /home/eve belongs to user 65534",
        );
        lacks(&said, "maxPods");
        says(&said, "/home/eve: not trusted: folder /home/eve belongs to user 65534");
    });
}

#[test]
fn the_kubelet_of_root_is_found_beside_another() {
    in_own_namespaces("trust::process::the_kubelet_of_root_is_found_beside_another", || {
        let node = Node::new();
        node.write("etc/kubelet.yaml", "maxPods: 77\n");
        let eves = node.kubelet_of_eve(&["--config=/home/eve/kubelet.yaml"]);
        let roots = node.kubelet(&["--config=/etc/kubelet.yaml"]);
        let said = node.kq("snapshot -v");
        says(&said, &format!("kubelet: process {} from /proc/{}", roots.pid(), roots.pid()));
        says(&said, &format!("/proc/{}: is called kubelet and is not trusted", eves.pid()));
        says(&said, "kubelet configuration: read from /etc/kubelet.yaml");
    });
}

#[test]
fn a_kubelet_of_another_user_counts_where_none_may_run() {
    in_own_namespaces(
        "trust::process::a_kubelet_of_another_user_counts_where_none_may_run",
        || {
            let node = Node::new();
            let folder = node.path("home/eve/root/device-plugins");
            let listener = as_eve(|| {
                fs::create_dir_all(&folder).expect("a folder");
                UnixListener::bind(folder.join("kubelet.sock")).expect("it is the attacker's home")
            });
            let kubelet = node.kubelet_of_eve(&["--root-dir=/home/eve/root"]);
            let found = kq_io::kubelet_process::suspects(&node.root()).expect("processes");
            let [suspect] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(i64::from(suspect.pid), i64::from(kubelet.pid()));
            let doubt = format!("it runs as user {EVE}, expected root");
            assert_eq!(suspect.doubt.as_deref(), Some(doubt.as_str()));
            // Nothing that it says is followed.
            assert_eq!((suspect.root_dir.as_deref(), suspect.plugins), (None, None));
            assert!(is_untouched(&listener));
        },
    );
}

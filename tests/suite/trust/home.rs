//! `~/.kube/config` was named by nobody: it is believed as a file of the node is, and changes go to the server that the
//! pods of this node are from.

use super::{EVE, Node, in_own_namespaces, lacks, says, write};
use crate::cli::cluster::{Cluster, node, pod};
use crate::cli::{Ran, kq};
use crate::edges::http_server::Server;
use crate::edges::http_server::Wire;
use crate::edges::http_server::pki::Authority;
use base64::Engine;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of root's that no test shares; below `/tmp` nothing is believed.
fn home() -> PathBuf {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt"])
        .status()
        .expect("mount runs");
    assert!(mounted.success());
    let home = PathBuf::from("/mnt/home");
    fs::create_dir_all(home.join(".kube")).expect("a folder");
    home
}

fn kubeconfig(url: &str, authority: &str) -> String {
    let authority = base64::engine::general_purpose::STANDARD.encode(authority);
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [
            {"name": "a", "cluster": {"server": url, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "a", "user": {"token": "hunter2-token"}}],
    })
    .to_string()
}

/// An API server that only counts requests.
struct Counting {
    server: Server,
    authority: Authority,
}

impl Counting {
    fn new() -> Self {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        Self { server: Server::saying(wire, crate::edges::http_server::json("{}")), authority }
    }

    fn kubeconfig(&self) -> String {
        kubeconfig(&self.server.url("https"), &self.authority.pem())
    }
}

#[test]
fn the_file_in_the_home_must_be_believed() {
    in_own_namespaces("trust::home::the_file_in_the_home_must_be_believed", || {
        let home = home();
        let file = home.join(".kube/config");
        let counting = Counting::new();
        let text = counting.kubeconfig();
        let clear = || {
            let _ = fs::remove_file(&file);
            let kube = home.join(".kube");
            for folder in [&home, &kube] {
                chown(folder, Some(0), Some(0)).expect("root may");
                fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a mode");
            }
        };
        let put = |owner, mode| write(&file, &text, owner, mode);
        let (own, eves) = (Path::new("/mnt/own"), Path::new("/mnt/eves"));
        write(own, &text, 0, 0o600);
        write(eves, &text, EVE, 0o600);
        let folder_of_eve = |name: &str| {
            put(0, 0o600);
            chown(home.join(name), Some(EVE), None).expect("root may");
        };
        let rows: [(&str, &dyn Fn(), bool); 10] = [
            ("root's", &|| put(0, 0o600), true),
            ("root's, which everybody may read", &|| put(0, 0o644), true),
            ("a link to root's", &|| symlink(own, &file).expect("a link"), true),
            ("another user's", &|| put(EVE, 0o600), false),
            ("a link to another user's", &|| symlink(eves, &file).expect("a link"), false),
            (
                "one that another group may write",
                &|| {
                    put(0, 0o660);
                    chown(&file, None, Some(EVE)).expect("root may");
                },
                false,
            ),
            ("one that everybody may write", &|| put(0, 0o602), false),
            ("root's in another user's folder", &|| folder_of_eve(".kube"), false),
            ("root's in another user's home", &|| folder_of_eve("."), false),
            ("a folder", &|| fs::create_dir(&file).expect("a folder"), false),
        ];
        for (name, prepare, is_believed) in rows {
            clear();
            prepare();
            let before = counting.server.seen().len();
            let ran = kq("version --node-name worker-1 --timeout 2s -v")
                .env("HOME", home.display().to_string())
                .run();
            let was_asked = counting.server.seen().len() > before;
            assert_eq!(was_asked, is_believed, "{name}: {}", ran.text());
            lacks(&ran.text(), "hunter2");
            let shown = file.display().to_string();
            assert!(is_believed || !ran.stdout.contains(&shown), "{name}: {}", ran.text());
        }
    });
}

#[test]
fn the_callers_own_file_is_believed_by_the_caller() {
    in_own_namespaces("trust::home::the_callers_own_file_is_believed_by_the_caller", || {
        let home = home();
        let counting = Counting::new();
        let file = home.join(".kube/config");
        for (owner, is_believed) in [(EVE, true), (1, false)] {
            for path in [&home, &home.join(".kube")] {
                chown(path, Some(EVE), Some(EVE)).expect("root may");
            }
            write(&file, &counting.kubeconfig(), owner, 0o644);
            let before = counting.server.seen().len();
            let program = Path::new("/mnt/kq");
            fs::copy(env!("CARGO_BIN_EXE_kq"), program).expect("a copy");
            let output = Command::new("setpriv")
                .args([format!("--reuid={EVE}"), format!("--regid={EVE}"), "--clear-groups".into()])
                .arg(program)
                .args(["version", "--node-name", "worker-1", "--timeout", "2s", "-v"])
                .current_dir("/")
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("HOME", &home)
                .output()
                .expect("setpriv runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let was_asked = counting.server.seen().len() > before;
            assert_eq!(was_asked, is_believed, "{owner}: {said}");
        }
    });
}

/// A Node object that does not say which machine it is.
fn unmarked(cpu: &str) -> Value {
    let mut node = node(cpu);
    node["status"]["nodeInfo"] = json!({"kubeletVersion": "v1.36.2"});
    node
}

/// Two clusters: one in the home of the operator, one that the kubelet belongs to.
struct Two {
    node: Node,
    home: PathBuf,
    in_home: Cluster,
    of_kubelet: Cluster,
}

impl Two {
    fn new(in_home: Cluster) -> Self {
        let home = home();
        let node = Node::new();
        let of_kubelet = Cluster::start(unmarked("2"), [pod("shop/a", "1500m")]);
        write(&home.join(".kube/config"), &in_home.kubeconfig(), 0, 0o600);
        node.write("etc/kubernetes/kubelet.conf", of_kubelet.kubeconfig());
        node.write(
            "etc/kubelet.yaml",
            "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n",
        );
        let mut new = pod("kube-system/dns", "1");
        new["spec"]["priority"] = json!(2_000_000_000);
        new["metadata"]["uid"] = Value::Null;
        new["spec"]["nodeName"] = Value::Null;
        new["status"] = json!({});
        node.write("dns.json", new.to_string());
        Self { node, home, in_home, of_kubelet }
    }

    fn apply(&self) -> Ran {
        let _kubelet = self.node.kubelet(&[
            "--kubeconfig=/etc/kubernetes/kubelet.conf",
            "--config=/etc/kubelet.yaml",
            "--hostname-override=worker-1",
        ]);
        let (file, root) = (self.node.path("dns.json"), self.node.root());
        let line = format!("preempt apply {} --host-root {}", file.display(), root.display());
        kq(&format!("{line} --timeout 2s --yes -v"))
            .env("HOME", self.home.display().to_string())
            .run()
    }
}

#[test]
fn changes_go_to_the_cluster_of_the_pods() {
    in_own_namespaces("trust::home::changes_go_to_the_cluster_of_the_pods", || {
        // It has a node of that name, which is another machine.
        let two = Two::new(Cluster::start(node("2"), [pod("shop/a", "1500m")]));
        let ran = two.apply();
        says(&ran.text(), "is another machine");
        assert_eq!(two.of_kubelet.changes(), ["POST shop/a 1s: 201"], "{}", ran.text());
        assert_eq!(two.in_home.changes(), [""; 0], "{}", ran.text());
        assert_eq!(two.in_home.pods(), ["shop/a"]);
    });
}

#[test]
fn changes_go_to_the_cluster_in_the_home_where_it_knows_the_node() {
    let test = "trust::home::changes_go_to_the_cluster_in_the_home_where_it_knows_the_node";
    in_own_namespaces(test, || {
        let two = Two::new(Cluster::start(unmarked("2"), [pod("shop/a", "1500m")]));
        let ran = two.apply();
        assert_eq!(two.in_home.changes(), ["POST shop/a 1s: 201"], "{}", ran.text());
        assert_eq!(two.of_kubelet.changes(), [""; 0], "{}", ran.text());
    });
}

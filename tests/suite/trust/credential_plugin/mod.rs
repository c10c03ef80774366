//! Credential plugins of a kubeconfig: what they give is used and renewed, what goes wrong is said, and nothing that others may
//! write is run.

use super::{EVE, in_own_namespaces, lacks, says, write};
use crate::cli::{Ran, kq, repository};
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Seen, Server, Wire, failure, json as ok};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// What a plugin gives, and when it is asked again.
mod answers;
/// What goes wrong with a plugin.
mod faults;
/// Whose kubeconfig and whose plugin are run.
mod owners;

const V1: &str = "client.authentication.k8s.io/v1";

/// What no output may have.
const SECRET: &str = "hunter2-of-the-plugin";

/// A folder of root's that no test shares; below `/tmp` nothing is trusted.
fn folder_of_root() -> PathBuf {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt"])
        .status()
        .expect("mount runs");
    assert!(mounted.success());
    let folder = PathBuf::from("/mnt/kube");
    fs::create_dir(&folder).expect("a folder");
    folder
}

/// An API server that accepts one token, and a folder for a kubeconfig and plugins.
struct Setting {
    folder: PathBuf,
    authority: Authority,
    server: Server,
    /// The token that is accepted.
    token: Arc<Mutex<String>>,
}

impl Setting {
    fn new() -> Self {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        Self::with(authority, wire, |_| None, Duration::ZERO)
    }

    /// A server that changes the accepted token before a request, and takes its time.
    fn with(
        authority: Authority,
        wire: Wire,
        change: impl Fn(usize) -> Option<&'static str> + Send + Sync + 'static,
        pause: Duration,
    ) -> Self {
        let token = Arc::new(Mutex::new(SECRET.to_owned()));
        let accepted = Arc::clone(&token);
        let server = Server::start(wire, move |number, seen, to| {
            let mut accepted = accepted.lock().expect("no thread panicked");
            if let Some(token) = change(number) {
                *accepted = token.to_owned();
            }
            let bearer = format!("Bearer {accepted}");
            drop(accepted);
            let is_known = seen.certificates > 0 || seen.header("authorization") == Some(&bearer);
            sleep(pause);
            let said = match is_known {
                true => list(seen),
                false => failure("401 Unauthorized", &[], "Unauthorized", "Unauthorized"),
            };
            to.write_all(said.as_bytes())
        });
        Self { folder: folder_of_root(), authority, server, token }
    }

    /// Writes a program of root's, which notes each run beside it.
    fn plugin(&self, name: &str, script: &str) -> PathBuf {
        let path = self.folder.join(name);
        let text = format!("#!/bin/sh\necho run >> /mnt/runs\n{script}\n");
        write(&path, &text, 0, 0o755);
        path
    }

    /// Writes a program that gives a token, and returns its path.
    fn token_plugin(&self, name: &str) -> PathBuf {
        self.plugin(name, &format!("echo '{}'", credential(json!({"token": SECRET}))))
    }

    /// Returns how often a plugin was run.
    fn runs(&self) -> usize {
        fs::read_to_string("/mnt/runs").map_or(0, |runs| runs.lines().count())
    }

    fn forget_runs(&self) {
        _ = fs::remove_file("/mnt/runs");
    }

    /// Returns a kubeconfig whose user has this plugin.
    fn config(&self, exec: Value) -> Value {
        use base64::Engine;
        let authority = base64::engine::general_purpose::STANDARD.encode(self.authority.pem());
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {
                "server": self.server.url("https"), "certificate-authority-data": authority,
            }}],
            "users": [{"name": "u", "user": {"exec": exec}}],
        })
    }

    /// Writes it.
    fn kubeconfig(&self, exec: Value) -> PathBuf {
        let path = self.folder.join("config");
        write(&path, &self.config(exec).to_string(), 0, 0o600);
        path
    }

    /// Asks about all nodes: requests for the nodes, and for the pods of each.
    fn ask(&self, kubeconfig: &Path) -> Ran {
        self.asking(&format!("--kubeconfig {}", kubeconfig.display())).run()
    }

    fn asking(&self, flags: &str) -> crate::cli::Run {
        kq(&format!("preempt explain examples/night/dns.yaml --all-nodes {flags}"))
            .within(repository())
            .env("PATH", format!("{}:/usr/bin:/bin", self.folder.display()))
    }
}

/// Returns what the server has: three nodes without pods.
fn list(seen: &Seen) -> String {
    let node = |name: &str| {
        json!({"metadata": {"name": name}, "status": {
            "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"},
            "nodeInfo": {"kubeletVersion": "v1.36.2"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }})
    };
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    let answer = match path.split('?').next().unwrap_or_default() {
        "/api/v1/nodes" => {
            json!({"kind": "NodeList", "apiVersion": "v1", "items": [node("a"), node("b"), node("c")]})
        }
        "/api/v1/pods" => json!({"kind": "PodList", "apiVersion": "v1", "items": []}),
        path => match path.strip_prefix("/api/v1/nodes/") {
            Some(name) => {
                let mut node = node(name);
                (node["kind"], node["apiVersion"]) = (json!("Node"), json!("v1"));
                node
            }
            None => return failure("404 Not Found", &[], "NotFound", "what?"),
        },
    };
    ok(&answer.to_string())
}

/// Returns the answer of a plugin.
fn credential(status: Value) -> Value {
    json!({"kind": "ExecCredential", "apiVersion": V1, "status": status})
}

/// Returns the settings of a plugin that asks nobody.
fn exec(command: impl AsRef<Path>) -> Value {
    json!({
        "apiVersion": V1, "command": command.as_ref().display().to_string(),
        "interactiveMode": "Never",
    })
}

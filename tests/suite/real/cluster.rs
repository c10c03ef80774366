//! A real kubelet and API server, of the folder `$KQ_KUBERNETES`: what kq says before is what they do then.
//!
//! `scripts/real-node/kubernetes` starts them. Without the folder the test is left out; docs/testing.md says where the
//! programs come from.

use super::{is_guest, leave_out, node};
use crate::cli::{Ran, kq, repository};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAMS: &str = "KQ_KUBERNETES";

const NODE: &str = "kq-node";

/// The time in which a kubelet does what it is going to do.
const PATIENCE: Duration = Duration::from_secs(90);

/// A cluster of one node.
struct Cluster {
    folder: PathBuf,
    server: String,
    /// The cluster is stopped when its standard input is closed.
    _script: Child,
}

impl Cluster {
    fn start(programs: &str) -> Self {
        let folder = repository().join("target/real-node/cluster");
        let mut script = Command::new(repository().join("scripts/real-node/kubernetes"))
            .arg(&folder)
            .args(["--image", env!("CARGO_BIN_EXE_kq"), "--until-eof"])
            .env(PROGRAMS, programs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script can be run");
        let mut said = [0; 4096];
        let stdout = script.stdout.as_mut().expect("it is piped");
        let length = stdout.read(&mut said).expect("the script answers");
        assert!(length > 0, "the cluster did not start");
        let kubeconfig = fs::read_to_string(folder.join("admin.conf")).expect("a kubeconfig");
        let server = kubeconfig.split("server: \"").nth(1).and_then(|rest| rest.split('"').next());
        let server = server.expect("the kubeconfig names a server").to_owned();
        Self { folder, server, _script: script }
    }

    /// Sends a request as an administrator.
    #[track_caller]
    fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let pki = self.folder.join("pki");
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--noproxy", "*", "--request", method]);
        for (flag, file) in
            [("--cacert", "ca.crt"), ("--cert", "admin.crt"), ("--key", "admin.key")]
        {
            curl.arg(flag).arg(pki.join(file));
        }
        if let Some(body) = body {
            curl.args(["--header", "Content-Type: application/json", "--data", &body.to_string()]);
        }
        let output = curl.arg(format!("{}{path}", self.server)).output().expect("curl can be run");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{method} {path}: {error}: {output:?}"))
    }

    /// Creates a pod with one container that sleeps.
    #[track_caller]
    fn create(&self, name: &str, priority: Option<i32>, resources: &Value) {
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": NODE,
                "priority": priority,
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 1,
                "tolerations": [{"operator": "Exists"}],
                "containers": [{
                    "name": "only",
                    "image": "localhost/kq-busybox:1",
                    "imagePullPolicy": "Never",
                    "command": ["sleep", "3600"],
                    "resources": resources,
                }],
            },
        });
        let made = self.request("POST", "/api/v1/namespaces/default/pods", Some(&pod));
        assert_eq!(made["kind"], "Pod", "{made}");
    }

    fn pod(&self, name: &str) -> Value {
        self.request("GET", &format!("/api/v1/namespaces/default/pods/{name}"), None)
    }

    /// Waits until a pod is as wanted.
    #[track_caller]
    fn until(&self, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let pod = self.pod(name);
            if is_so(&pod) {
                return pod;
            }
            assert!(Instant::now() < end, "{name}: {}", pod["status"]);
            sleep(Duration::from_millis(300));
        }
    }

    #[track_caller]
    fn runs(&self, names: &[&str]) {
        for name in names {
            self.until(name, |pod| {
                let container = &pod["status"]["containerStatuses"][0];
                container["ready"] == true && pod["status"]["phase"] == "Running"
            });
        }
    }

    /// Asks kq about the node, with the API server's certificate for the kubelet.
    #[track_caller]
    fn ask(&self, line: &str) -> Ran {
        let pki = self.folder.join("pki");
        kq(line)
            .env("KUBECONFIG", self.folder.join("admin.conf").display().to_string())
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .arg("--kubelet-client-certificate")
            .arg(pki.join("to-kubelet.crt").display().to_string())
            .arg("--kubelet-client-key")
            .arg(pki.join("to-kubelet.key").display().to_string())
            .run()
    }

    #[track_caller]
    fn answer(&self, line: &str) -> Value {
        let ran = self.ask(&format!("{line} -o json"));
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
    }
}

fn resources(cpu: &str, memory: &str) -> Value {
    json!({"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}})
}

/// Returns the checks of `kq doctor` with their severities, but for those that look at the age of the kubelet and of its
/// certificates.
fn checks(answer: &Value) -> BTreeSet<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = answer["items"].as_array().expect("a list of checks");
    let all = items.iter().map(|item| (text(&item["id"]), text(&item["severity"])));
    all.filter(|(id, _)| id != "kubelet-start" && id != "certificates").collect()
}

#[test]
fn a_real_kubelet_does_what_kq_says_before() {
    let Ok(programs) = std::env::var(PROGRAMS) else {
        leave_out("$KQ_KUBERNETES names no folder with kube-apiserver, etcd and kubelet");
        return;
    };
    // The emulated machine has no such programs.
    if is_guest() {
        return;
    }
    // One node at a time uses the addresses of pods.
    let Some(_exclusive) = node() else { return };
    let cluster = Cluster::start(&programs);
    cluster.create("web", None, &resources("100m", "32Mi"));
    cluster.create("plain", None, &json!({}));
    cluster.runs(&["web", "plain"]);
    values_are_as_planned(&cluster);
    a_fleet_answers_as_the_node_does(&cluster);
    a_restart_keeps_what_it_was_said_to_keep(&cluster);
    a_critical_pod_preempts_whom_it_was_said_to(&cluster);
}

fn values_are_as_planned(cluster: &Cluster) {
    let diff = cluster.answer("cgroup diff");
    let summary = &diff["summary"];
    for verdict in ["DRIFT", "MISSING", "EXTRA", "UNKNOWN"] {
        assert_eq!(summary[verdict], 0, "{verdict}: {diff}");
    }
    assert!(summary["MATCH"].as_u64().is_some_and(|count| count >= 15), "{summary}");
}

fn a_fleet_answers_as_the_node_does(cluster: &Cluster) {
    let ran =
        kq("fleet run --image localhost/kq-itself:1 --image-pull-policy Never --yes -o jsonl")
            .env("KUBECONFIG", cluster.folder.join("admin.conf").display().to_string())
            .arg("--")
            .arg("doctor")
            .run();
    let line: Value = serde_json::from_str(ran.stdout.trim())
        .unwrap_or_else(|error| panic!("{error}: {}", ran.text()));
    assert_eq!(line["node"], NODE, "{}", ran.text());
    let there = checks(&line["answer"]);
    let here = || {
        let ran = kq("doctor -o json").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").run();
        checks(&serde_json::from_str(&ran.stdout).expect("JSON"))
    };
    // The kubelet removes the cgroups of the pod after its object is gone.
    let end = Instant::now() + PATIENCE;
    while here() != there && Instant::now() < end {
        sleep(Duration::from_millis(300));
    }
    // The pod reads the files of the host, with the kubelet's kubeconfig among them.
    assert_eq!(there, here(), "{}", ran.text());
    let pods = cluster.request("GET", "/api/v1/namespaces/kube-system/pods", None);
    assert_eq!(pods["items"], json!([]), "a pod is left behind");
}

fn a_restart_keeps_what_it_was_said_to_keep(cluster: &Cluster) {
    let said = cluster.answer("what-if kubelet-restart");
    assert_eq!(said["kubeletStarts"], true, "{said}");
    let results: BTreeMap<&str, &str> = said["pods"]
        .as_array()
        .expect("a list of pods")
        .iter()
        .filter_map(|pod| Some((pod["pod"].as_str()?, pod["result"].as_str()?)))
        .collect();
    assert_eq!(results, BTreeMap::from([("default/plain", "kept"), ("default/web", "kept")]));
    let container =
        |name: &str| cluster.pod(name)["status"]["containerStatuses"][0]["containerID"].clone();
    let before = (container("web"), container("plain"));
    let restarted = Command::new(cluster.folder.join("restart-kubelet")).status();
    assert!(restarted.is_ok_and(|status| status.success()));
    // The new kubelet has synchronised its pods when it admits another one.
    cluster.create("after", None, &json!({}));
    cluster.runs(&["after", "web", "plain"]);
    assert_eq!((container("web"), container("plain")), before);
}

fn a_critical_pod_preempts_whom_it_was_said_to(cluster: &Cluster) {
    cluster.create("small", None, &resources("300m", "32Mi"));
    cluster.create("large", None, &resources("700m", "64Mi"));
    cluster.create("other", None, &resources("500m", "32Mi"));
    cluster.runs(&["small", "large", "other"]);
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "critical", "namespace": "kube-system"},
        "spec": {
            "priorityClassName": "system-node-critical",
            "containers": [{
                "name": "only",
                "image": "localhost/kq-busybox:1",
                "imagePullPolicy": "Never",
                "command": ["sleep", "3600"],
                "resources": {"requests": {"cpu": "800m", "memory": "16Mi"}},
            }],
        },
    });
    let manifest = cluster.folder.join("critical.json");
    fs::write(&manifest, pod.to_string()).expect("written");
    let said = cluster.answer(&format!("preempt explain {} --static", manifest.display()));
    let victims: BTreeSet<String> = said["victims"]
        .as_array()
        .unwrap_or_else(|| panic!("{said}"))
        .iter()
        .filter_map(|victim| victim["pod"].as_str().map(str::to_owned))
        .collect();
    assert!(!victims.is_empty(), "{said}");
    fs::rename(&manifest, cluster.folder.join("manifests/critical.json")).expect("moved");
    let names = ["web", "plain", "after", "small", "large", "other"];
    let killed = || -> BTreeSet<String> {
        let failed = |name: &&&str| cluster.pod(name)["status"]["reason"] == "Preempting";
        names.iter().filter(failed).map(|name| format!("default/{name}")).collect()
    };
    let end = Instant::now() + PATIENCE;
    while killed().len() < victims.len() && Instant::now() < end {
        sleep(Duration::from_millis(500));
    }
    assert_eq!(killed(), victims, "{said}");
}

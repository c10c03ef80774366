//! A real kubelet and API server, of the folder `$KQ_KUBERNETES`: what kq says before is what they do then.
//!
//! `scripts/real-node/kubernetes` starts them. Without the folder the test is left out; docs/testing.md says where the
//! programs come from.

/// What only a machine with systemd shows, which is the node as a whole.
mod machine;

use super::cgroups::Hierarchies;
use super::{is_guest, is_machine, node};
use crate::cli::{Ran, kq, repository};
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin, device};
use crate::skipped::skip as leave_out;
use kq_cgroup::files::CgroupVersion;
use kq_linux::device_plugin::v1beta1::DevicePluginOptions;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAMS: &str = "KQ_KUBERNETES";

const NODE: &str = "kq-node";

const RESOURCE: &str = "example.com/widget";

/// Where a kubelet serves registration.
const PLUGINS: &str = "/var/lib/kubelet/device-plugins";

/// Returns the time in which a kubelet does what it is going to do; in an emulated machine all takes longer.
fn patience() -> Duration {
    Duration::from_secs(if is_machine() { 1200 } else { 90 })
}

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
            .args(["--image", env!("CARGO_BIN_EXE_kq")])
            .arg(if is_machine() { "--machine" } else { "--until-eof" })
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

    #[track_caller]
    fn create(&self, pod: &Value) {
        let made = self.request("POST", "/api/v1/namespaces/default/pods", Some(pod));
        assert_eq!(made["kind"], "Pod", "{made}");
    }

    /// Sets a field of the kubelet's configuration, which has it already, for its next start.
    #[track_caller]
    fn configure(&self, field: &str, value: &str) {
        let path = self.folder.join("kubelet.yaml");
        let text = fs::read_to_string(&path).expect("the configuration");
        assert_eq!(text.matches(&format!("\n{field}:")).count(), 1, "{field}: {text}");
        let lines = text.lines().map(|line| match line.split_once(':') {
            Some((name, _)) if name == field => format!("{field}: {value}\n"),
            _ => format!("{line}\n"),
        });
        fs::write(&path, lines.collect::<String>()).expect("written");
    }

    /// Sets the threshold of image garbage collection for the next start of the kubelet.
    fn collect_images_above(&self, percent: u64) {
        self.configure("imageGCHighThresholdPercent", &percent.to_string());
        self.configure("imageGCLowThresholdPercent", &(percent - 1).to_string());
    }

    #[track_caller]
    fn restart_kubelet(&self) {
        let restarted = Command::new(self.folder.join("restart-kubelet")).status();
        assert!(restarted.is_ok_and(|status| status.success()));
    }

    fn pod(&self, name: &str) -> Value {
        self.request("GET", &format!("/api/v1/namespaces/default/pods/{name}"), None)
    }

    /// Waits until a pod is as wanted.
    #[track_caller]
    fn until(&self, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + patience();
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
        let asked = kq(line);
        let asked = if is_machine() { asked.arg("--timeout").arg("120s") } else { asked };
        asked
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
        ran.answer()
    }
}

/// Returns a pod with one container that sleeps.
fn pod(name: &str, resources: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": NODE,
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
    })
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
    // The other emulated machine has no such programs.
    if is_guest() && !is_machine() {
        return;
    }
    // One node at a time uses the addresses of pods.
    let exclusive = if is_machine() { None } else { node() };
    if exclusive.is_none() && !is_machine() {
        return;
    }
    let cluster = Cluster::start(&programs);
    cluster.create(&pod("web", &resources("100m", "32Mi")));
    cluster.create(&pod("plain", &json!({})));
    cluster.runs(&["web", "plain"]);
    values_are_as_planned(&cluster);
    if is_machine() {
        machine::does_what_was_said(&cluster);
    } else {
        // It reads the logs of its pods through the API server, which does not reach into the machine.
        a_fleet_answers_as_the_node_does(&cluster);
        a_credential_plugin_logs_in(&cluster);
        a_fleet_changes_the_node(&cluster);
    }
    let _plugin = devices_are_those_that_were_said(&cluster);
    a_restart_does_what_was_said(&cluster);
    probes_end_as_in_events(&cluster);
    budgets_are_honoured(&cluster);
    a_critical_pod_preempts_whom_it_was_said_to(&cluster);
    images_go_as_was_said(&cluster);
    if is_machine() {
        machine::memory_is_reclaimed_as_was_said(&cluster);
    }
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
    assert!(line["answer"]["items"].is_array(), "{}", ran.text());
    let there = checks(&line["answer"]);
    let here = || {
        let ran = kq("doctor -o json").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").run();
        checks(&ran.answer())
    };
    // The kubelet removes the cgroups of the pod after its object is gone.
    let end = Instant::now() + patience();
    while here() != there && Instant::now() < end {
        sleep(Duration::from_millis(300));
    }
    // The pod reads the files of the host, with the kubelet's kubeconfig among them.
    assert_eq!(there, here(), "{}", ran.text());
    let pods = cluster.request("GET", "/api/v1/namespaces/kube-system/pods", None);
    assert_eq!(pods["items"], json!([]), "a pod is left behind");
}

/// The administrator's certificate comes from a credential plugin, as on clouds.
fn a_credential_plugin_logs_in(cluster: &Cluster) {
    let pki = cluster.folder.join("pki");
    let read = |name: &str| fs::read_to_string(pki.join(name)).expect("a file of the cluster");
    // Root's own folder: what others may write names no program.
    let folder = tempfile::Builder::new().tempdir_in("/run").expect("a folder");
    let api = "client.authentication.k8s.io/v1";
    let answer = json!({
        "kind": "ExecCredential", "apiVersion": api,
        "status": {"clientCertificateData": read("admin.crt"), "clientKeyData": read("admin.key")},
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {
            "server": cluster.server, "certificate-authority": pki.join("ca.crt"),
        }}],
        "users": [{"name": "u", "user": {"exec": {
            "apiVersion": api, "command": "/bin/cat", "args": [folder.path().join("answer")],
            "interactiveMode": "Never",
        }}}],
    });
    for (name, value) in [("answer", &answer), ("config", &config)] {
        fs::write(folder.path().join(name), value.to_string()).expect("written");
    }
    let kubeconfig = folder.path().join("config").display().to_string();
    let ran = kq("preempt explain examples/night/dns.yaml --all-nodes -o json --as kq --as-group system:masters")
        .env("KUBECONFIG", kubeconfig)
        .run();
    let answer: Value = ran.answer();
    assert_eq!(answer["nodes"][0]["node"], NODE, "{}", ran.text());
}

fn a_fleet_changes_the_node(cluster: &Cluster) {
    let plan = cluster.answer("cgroup plan");
    let hierarchies = Hierarchies::of_machine().expect("cgroups");
    let changed = match hierarchies.version {
        CgroupVersion::V1 => "cpu.shares",
        CgroupVersion::V2 => "cpu.weight",
    };
    let is_drifting = |item: &&Value| {
        item["pod"] == "web" && item["container"] == "only" && item["file"] == changed
    };
    let item = plan["items"].as_array().expect("values").iter().find(is_drifting);
    let item = item.unwrap_or_else(|| panic!("{plan}"));
    let text = |field: &str| item[field].as_str().expect("text");
    let file = hierarchies.file(text("cgroup"), text("file"));
    fs::write(&file, "3").expect("it can be written");
    let record = cluster.folder.join("record.jsonl");
    let apply = |flags: &str| {
        let line = "fleet apply --image localhost/kq-itself:1 --image-pull-policy Never --cordon";
        kq(&format!("{line} {flags} -- cgroup apply default/web"))
            .env("KUBECONFIG", cluster.folder.join("admin.conf").display().to_string())
            .run()
    };
    let ran = apply("--dry-run -o json");
    let planned: Value = ran.answer();
    assert_eq!(
        (&planned["items"][0]["state"], &planned["items"][0]["steps"]),
        (&json!("planned"), &json!(1)),
        "{}",
        ran.text()
    );
    assert_eq!(fs::read_to_string(&file).expect("read").trim(), "3");
    let ran = apply(&format!("--yes --record {}", record.display()));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(fs::read_to_string(&file).expect("read").trim(), text("value"), "{}", ran.text());
    let recorded = fs::read_to_string(&record).expect("a record");
    let begins: Value =
        serde_json::from_str(recorded.lines().next().expect("a line")).expect("JSON");
    let run = begins["run"].as_str().expect("text");
    let rollback = Path::new("/var/lib").join(format!("kq-rollback-{run}.json"));
    let stored = fs::read(&rollback).expect("a rollback file on the node");
    fs::remove_file(&rollback).expect("it can be removed");
    let stored: Value = serde_json::from_slice(&stored).expect("JSON");
    assert_eq!(stored["steps"][0]["to"], "3", "the way back: {stored}");
    let node = cluster.request("GET", &format!("/api/v1/nodes/{NODE}"), None);
    assert_ne!(node["spec"]["unschedulable"], true, "{node}");
    let pods = cluster.request("GET", "/api/v1/namespaces/kube-system/pods", None);
    assert_eq!(pods["items"], json!([]), "a pod is left behind");
}

fn devices_are_those_that_were_said(cluster: &Cluster) -> Plugin {
    let devices = ["w0", "w1", "w2", "w3"].map(|id| device(id, "Healthy", Some(0)));
    let options =
        DevicePluginOptions { get_preferred_allocation_available: true, ..Default::default() };
    let behaviour = Behaviour { options, ..Behaviour::default() };
    let plugin = Plugin::start(Path::new(PLUGINS), "sample.sock", devices.into(), behaviour);
    plugin.register(RESOURCE).expect("the kubelet takes it");
    let end = Instant::now() + patience();
    let allocatable = || {
        let node = cluster.request("GET", &format!("/api/v1/nodes/{NODE}"), None);
        node["status"]["allocatable"][RESOURCE].clone()
    };
    while allocatable() != "4" && Instant::now() < end {
        sleep(Duration::from_millis(300));
    }
    for (name, count) in [("device", 3), ("too-many", 2)] {
        let pod = pod(name, &json!({"limits": {RESOURCE: count}}));
        let file = cluster.folder.join("device.json");
        fs::write(&file, pod.to_string()).expect("written");
        let said = cluster.answer(&format!("devices plan {} --ask-plugin", file.display()));
        let said = &said["pods"][0];
        cluster.create(&pod);
        if said["admitted"] == true {
            // The container is not created: what the plugin names as its device does not exist.
            cluster.until(name, |pod| {
                pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
                    == "CreateContainerError"
            });
            let listed = cluster.answer("devices list");
            let has: BTreeSet<&str> = listed["items"]
                .as_array()
                .unwrap_or_else(|| panic!("{listed}"))
                .iter()
                .filter_map(|item| item["device"].as_str())
                .collect();
            let picked = &said["containers"][0]["resources"][0]["picked"];
            let picked = picked.as_array().unwrap_or_else(|| panic!("{said}"));
            assert_eq!(has, picked.iter().filter_map(Value::as_str).collect(), "{said}");
        } else {
            let refused = cluster.until(name, |pod| pod["status"]["phase"] == "Failed");
            assert_eq!(refused["status"]["reason"], said["reason"], "{said}");
            let message = format!("Pod was rejected: {}", said["message"].as_str().expect("text"));
            assert_eq!(refused["status"]["message"], message.as_str(), "{said}");
        }
    }
    plugin
}

fn a_restart_does_what_was_said(cluster: &Cluster) {
    let said = cluster.answer("what-if kubelet-restart");
    assert_eq!(said["kubeletStarts"], true, "{said}");
    let pods = said["pods"].as_array().expect("a list of pods");
    let container =
        |name: &str| cluster.pod(name)["status"]["containerStatuses"][0]["containerID"].clone();
    let before = (container("web"), container("plain"));
    cluster.restart_kubelet();
    // The new kubelet has synchronised its pods when it admits another one.
    cluster.create(&pod("after", &json!({})));
    cluster.runs(&["after", "web", "plain"]);
    assert_eq!((container("web"), container("plain")), before);
    let results: BTreeMap<&str, &str> = pods
        .iter()
        .filter_map(|pod| Some((pod["pod"].as_str()?, pod["result"].as_str()?)))
        .collect();
    let expected =
        [("default/plain", "kept"), ("default/web", "kept"), ("default/device", "refused")];
    assert_eq!(results, BTreeMap::from(expected), "{said}");
    // The plugin has not registered again.
    let refused = cluster.until("device", |pod| pod["status"]["phase"] == "Failed");
    let said = pods.iter().find(|pod| pod["pod"] == "default/device").expect("it is there");
    assert_eq!(refused["status"]["reason"], said["reason"], "{said}");
}

fn probes_end_as_in_events(cluster: &Cluster) {
    let mut probed = pod("probed", &json!({}));
    // In an emulated machine a command takes seconds to start; one that ends too late does so anywhere.
    let exec = |line: &str, seconds: u32| {
        let command = json!({"command": ["sh", "-c", line]});
        json!({"exec": command, "periodSeconds": 2, "timeoutSeconds": seconds})
    };
    let container = |name: &str, command: &[&str], probes: &Value| {
        let mut container = probed["spec"]["containers"][0].clone();
        container["name"] = name.into();
        container["command"] = json!(command);
        for (field, probe) in probes.as_object().expect("probes") {
            container[field] = probe.clone();
        }
        container
    };
    let sleeps = ["sleep", "3600"];
    let refused = json!({"tcpSocket": {"port": 9}, "periodSeconds": 2, "timeoutSeconds": 30,
                         "failureThreshold": 100});
    let containers = [
        container(
            "http",
            &["httpd", "-f", "-p", "8080"],
            // It listens by then.
            &json!({"readinessProbe": {"httpGet": {"port": 8080, "path": "/nothing"}, "periodSeconds": 2,
                                       "timeoutSeconds": 30, "initialDelaySeconds": 5}}),
        ),
        container(
            "exec",
            &sleeps,
            &json!({"readinessProbe": exec("echo out of order; exit 3", 30), "livenessProbe": refused}),
        ),
        container("slow", &sleeps, &json!({"readinessProbe": exec("sleep 20", 1)})),
    ];
    probed["spec"]["containers"] = containers.to_vec().into();
    cluster.create(&probed);
    cluster.until("probed", |pod| pod["status"]["phase"] == "Running");
    let said = cluster.answer("probe run default/probed");
    let said: BTreeSet<String> = said["probes"]
        .as_array()
        .unwrap_or_else(|| panic!("{said}"))
        .iter()
        .filter_map(|probe| {
            let message = probe["event"]["message"].as_str()?;
            Some(format!("{}: {message}", probe["container"].as_str()?))
        })
        .collect();
    assert_eq!(said.len(), 4, "{said:?}");
    let path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=probed,reason=Unhealthy";
    let events = || -> BTreeSet<String> {
        let events = cluster.request("GET", path, None);
        let events = events["items"].as_array().cloned().unwrap_or_default();
        let of = |event: &Value| {
            let place = event["involvedObject"]["fieldPath"].as_str()?;
            let container = place.strip_prefix("spec.containers{")?.strip_suffix('}')?;
            Some(format!("{container}: {}", event["message"].as_str()?))
        };
        events.iter().filter_map(of).collect()
    };
    let end = Instant::now() + patience();
    while events() != said && Instant::now() < end {
        sleep(Duration::from_millis(500));
    }
    assert_eq!(events(), said);
    cluster.request("DELETE", "/api/v1/namespaces/default/pods/probed?gracePeriodSeconds=0", None);
}

fn budgets_are_honoured(cluster: &Cluster) {
    // No two of them are alike: the kubelet may take either of those.
    let budgeted = [("small", "300m"), ("large", "700m"), ("other", "500m")].map(|(name, cpu)| {
        let mut pod = pod(name, &resources(cpu, "32Mi"));
        pod["metadata"]["labels"] = json!({"app": "budgeted"});
        pod
    });
    budgeted.iter().for_each(|pod| cluster.create(pod));
    cluster.runs(&["small", "large", "other"]);
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let mut budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "budgeted"}}},
    });
    let made = cluster.request("POST", budgets, Some(&budget));
    let line = format!("preempt apply {} --static --yes", critical(cluster).display());
    // No controller has counted its pods yet.
    let refused = cluster.ask(&line);
    assert_eq!(refused.code, 4, "{}", refused.text());
    cluster.runs(&["small", "large", "other"]);
    budget["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    budget["status"] = json!({"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 3,
                              "desiredHealthy": 1, "expectedPods": 3});
    let counted = cluster.request("PUT", &format!("{budgets}/keep/status"), Some(&budget));
    assert_eq!(counted["status"]["disruptionsAllowed"], 1, "{counted}");
    let done = cluster.ask(&line);
    // An emulated machine takes longer to end a pod than kq waits for it, and kq says so.
    let is_slow = is_machine() && done.code == 5 && done.stderr.contains("still going");
    assert!(done.code == 0 || is_slow, "{}", done.text());
    let plan = done.stdout.split("evicted, gone").next().unwrap_or_default();
    let gone = plan.rsplit("default/").next().and_then(|rest| rest.split(':').next());
    let gone = gone.unwrap_or_else(|| panic!("{}", done.text()));
    // Its object goes after its containers.
    cluster.until(gone, |pod| pod["reason"] == "NotFound");
    // The preemption that follows needs it again.
    budgeted
        .iter()
        .filter(|pod| pod["metadata"]["name"] == gone)
        .for_each(|pod| cluster.create(pod));
    cluster.runs(&["small", "large", "other"]);
}

/// Returns the manifest of a static pod that does not fit beside the others.
fn critical(cluster: &Cluster) -> PathBuf {
    let mut critical = pod("critical", &json!({"requests": {"cpu": "800m", "memory": "16Mi"}}));
    critical["metadata"]["namespace"] = "kube-system".into();
    critical["spec"]["priorityClassName"] = "system-node-critical".into();
    let manifest = cluster.folder.join("critical.json");
    fs::write(&manifest, critical.to_string()).expect("written");
    manifest
}

fn a_critical_pod_preempts_whom_it_was_said_to(cluster: &Cluster) {
    let manifest = critical(cluster);
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
    let end = Instant::now() + patience();
    while killed().len() < victims.len() && Instant::now() < end {
        sleep(Duration::from_millis(500));
    }
    assert_eq!(killed(), victims, "{said}");
}

/// The first collection of a kubelet fails: it has not measured the disk yet. The next one follows after five minutes.
fn images_go_as_was_said(cluster: &Cluster) {
    cluster.collect_images_above(used_percent());
    cluster.restart_kubelet();
    let restarted = Instant::now();
    // Images are kept for two minutes.
    sleep(Duration::from_secs(130));
    let said = cluster.answer("gc dry-run");
    let items = said["items"].as_array().unwrap_or_else(|| panic!("{said}"));
    let ids = |wanted: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        let chosen = items.iter().filter(|item| wanted(item));
        chosen.filter_map(|item| item["id"].as_str().map(str::to_owned)).collect()
    };
    let goes = ids(&|item| item["verdict"] == "removedForSpace");
    let all = ids(&|_| true);
    assert!(!goes.is_empty() && goes.len() < all.len(), "{said}");
    let socket = match is_machine() {
        true => PathBuf::from("/run/containerd/containerd.sock"),
        false => cluster.folder.join("runtime/containerd.sock"),
    };
    let left = || -> BTreeSet<String> {
        let names = Command::new("ctr")
            .arg("--address")
            .arg(&socket)
            .args(["--namespace", "k8s.io", "images", "list", "--quiet"])
            .output()
            .expect("ctr");
        let names = String::from_utf8(names.stdout).expect("names");
        names.lines().filter(|name| name.starts_with("sha256:")).map(str::to_owned).collect()
    };
    assert_eq!(left(), all);
    // The kubelet of an emulated machine takes a minute or two until it starts to count.
    let slack = if is_machine() { 180 } else { 30 };
    let end = restarted + Duration::from_secs(300 + slack);
    while left() == all && Instant::now() < end {
        sleep(Duration::from_secs(1));
    }
    sleep(Duration::from_secs(2));
    assert_eq!(left(), all.difference(&goes).cloned().collect(), "{said}");
}

/// Returns how much of the disk of the images is in use, as the kubelet counts it.
fn used_percent() -> u64 {
    let output = Command::new("df").args(["--output=avail,size", "-B1", "/"]).output().expect("df");
    let text = String::from_utf8(output.stdout).expect("text");
    let numbers = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let [available, size] = numbers.collect::<Vec<_>>()[..] else { panic!("{text}") };
    100 - available * 100 / size
}

//! `kq snapshot`: what is stored answers as the node did, and holds no secrets.

use super::made_up_node::{Kernel, NAME, Node, configz, pods};
use super::sources::Api;
use super::{Ran, kq};
#[cfg(feature = "cri")]
use super::{made_up_node::WEB_APP, sources::Sources};
use serde_json::{Value, json};

const KERNELS: [Kernel; 2] = [Kernel::V1, Kernel::V2];

const FORMATS: [&str; 5] = ["table", "wide", "json", "yaml", "name"];

/// Runs a command on a node. Those that answer about described nodes as well need a flag for that.
#[track_caller]
fn live(node: &Node, flags: &str, line: &str) -> Ran {
    let is_told = ["cgroup plan", "cgroup shares"].iter().any(|start| line.starts_with(start));
    let told = if is_told { "--live" } else { "" };
    kq(&format!("{line} {told} --host-root {} {flags}", node.root().display())).run()
}

/// Stores a node and returns the file.
#[track_caller]
fn store(node: &Node, flags: &str, name: &str) -> String {
    let file = node.beside().join(name).display().to_string();
    let ran = live(node, flags, &format!("snapshot -o {file}"));
    // 3: it is stored, and has no node.
    assert!(matches!(ran.code, 0 | 3) && ran.stdout.is_empty(), "{}", ran.text());
    file
}

/// Returns every question about a node as it is.
fn questions(node: &Node) -> Vec<String> {
    let app = node.app();
    let mut questions: Vec<String> = [
        "cgroup show",
        "cgroup show shop/web",
        "cgroup diff",
        "cgroup diff shop/web",
        "cgroup apply --dry-run",
        "cgroup which --pid 900",
        "cgroup which --pid 903",
        "cgroup which --container aaaa",
        "cgroup which --pid 4711",
    ]
    .map(str::to_owned)
    .into();
    questions.push(format!("cgroup which --path {app}"));
    // Commands that read a node are run as well.
    questions.extend(["cgroup plan", "cgroup shares", "doctor"].map(str::to_owned));
    questions
}

/// Runs every command live and on the snapshot, and finds no difference. The formats render one value: once is enough to
/// compare all of them.
#[track_caller]
fn answers_alike(node: &Node, flags: &str) {
    answers_alike_in(node, flags, &["json"]);
}

#[track_caller]
fn answers_alike_in(node: &Node, flags: &str, formats: &[&str]) {
    let (plain, packed) = (store(node, flags, "node.json"), store(node, flags, "node.json.zst"));
    // The commands that an answer names are about the same node: the flag that says which goes.
    let root = format!(" --host-root {}", node.root().display());
    let sources = [root, format!(" --snapshot {packed}"), format!(" --snapshot {plain}")];
    let beside_looks = |ran: Ran, format: &str| {
        sources.iter().fold(beside_looks(ran, format), |text, source| text.replace(source, ""))
    };
    for question in questions(node) {
        for format in formats {
            let question = format!("{question} -o{format}");
            let expected = beside_looks(live(node, flags, &question), format);
            let stored = kq(&format!("{question} --snapshot {plain}")).run();
            let stored = beside_looks(stored, format);
            assert_eq!(stored, expected, "{question} {flags}");
        }
        let question = format!("{question} -v");
        let expected = beside_looks(live(node, flags, &question), "table");
        let stored = kq(&format!("{question} --snapshot {packed}")).run();
        let stored = beside_looks(stored, "table");
        assert_eq!(stored, expected, "{question} {flags}");
    }
}

/// Returns an answer without two warnings: that a stored node cannot be looked at again, which kq does at a live one, and that
/// the systemd of a copy cannot be asked to write, of which a plan of a stored node has none.
fn beside_looks(ran: Ran, format: &str) -> String {
    const WARNINGS: [&str; 2] = ["the node was read once: ", "systemd may undo "];
    const CODES: [&str; 2] = ["code: readOnce", "code: systemdMayUndo"];
    let text: String = match serde_json::from_str::<Value>(&ran.stdout) {
        Ok(mut answer) if format == "json" => {
            if let Some(warnings) = answer.get_mut("warnings").and_then(Value::as_array_mut) {
                let is_one = |text: &str| WARNINGS.iter().any(|it| text.starts_with(it));
                warnings.retain(|it| !it["text"].as_str().is_some_and(is_one));
            }
            Ran { stdout: format!("{answer:#}\n"), ..ran }.text()
        }
        _ => ran.text(),
    };
    let mut lines = text.lines().peekable();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if CODES.iter().any(|code| line.trim() == *code) {
            // What it is about, which may be folded.
            lines.next();
            while lines.next_if(|line| line.starts_with("    ")).is_some() {}
        } else if !WARNINGS.iter().any(|it| line.contains(it)) && !line.starts_with("warnings:") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn what_the_node_says_alone_is_stored() {
    for kernel in KERNELS {
        answers_alike(&Node::new(kernel), "");
    }
}

#[test]
fn what_the_kubelet_says_is_stored() {
    for kernel in KERNELS {
        let node = Node::new(kernel);
        let kubelet = Api::of_kubelet(&node);
        answers_alike_in(&node, &kubelet.flags(), &FORMATS);
        let ran = live(&node, &kubelet.flags(), "cgroup show");
        assert!(ran.stdout.contains("shop/web"), "the kubelet was asked: {}", ran.text());
    }
}

#[cfg(feature = "apiserver")]
#[test]
fn what_the_api_server_says_is_stored() {
    for kernel in KERNELS {
        let node = Node::new(kernel);
        let (server, kubelet) = (Api::of_server(), Api::of_kubelet(&node));
        let flags = format!("{} {}", server.kubeconfig_flags(&node), kubelet.flags());
        answers_alike(&node, &flags);
        let ran = live(&node, &flags, "cgroup diff -v");
        assert!(ran.stderr.contains("pods: 2 from the API server"), "{}", ran.text());
    }
}

#[cfg(feature = "cri")]
#[test]
fn what_the_runtime_says_is_stored() {
    for kernel in KERNELS {
        let node = Node::new(kernel);
        let _runtime = Sources::runtime(&node);
        answers_alike(&node, "");
        let ran = live(&node, "", "cgroup diff -v");
        assert!(ran.stderr.contains("source: runtime: made-up 1.2.3"), "{}", ran.text());
        let kubelet = Api::of_kubelet(&node);
        answers_alike(&node, &kubelet.flags());
    }
}

#[test]
fn what_files_say_is_stored() {
    for kernel in KERNELS {
        let node = Node::new(kernel);
        let file = node.beside().join("pods.json");
        std::fs::write(&file, pods().to_string()).expect("a file can be written");
        answers_alike(&node, &format!("--pods {}", file.display()));
        answers_alike(&node, "--pods-from static");
    }
}

#[test]
fn what_is_given_goes_over_what_is_stored() {
    let node = Node::new(Kernel::V1);
    let mut list = pods();
    list["items"][0]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "7"}});
    let (pods, config) = (node.beside().join("other.json"), node.beside().join("config.yaml"));
    std::fs::write(&pods, list.to_string()).expect("a file can be written");
    let mut other = super::made_up_node::kubelet_config("cgroupfs");
    other["podPidsLimit"] = 77.into();
    std::fs::write(&config, other.to_string()).expect("a file can be written");
    let kubelet = Api::of_kubelet(&node);
    let stored = store(&node, &kubelet.flags(), "node.json");
    for given in [
        format!("--pods {}", pods.display()),
        format!("--kubelet-config {}", config.display()),
        format!("--kubelet-config {} --pods {}", config.display(), pods.display()),
        "--kubelet-version 1.30 --runtime runc=1.0.0 --node-name other".to_owned(),
    ] {
        for question in ["cgroup diff -ojson", "cgroup show -ojson", "cgroup diff -owide"] {
            let format = if question.ends_with("json") { "json" } else { "wide" };
            let question = format!("{question} {given}");
            let expected = beside_looks(live(&node, &kubelet.flags(), &question), format);
            let ran = kq(&format!("{question} --snapshot {stored}")).run();
            assert_eq!(beside_looks(ran, format), expected, "{question}");
        }
    }
    let ran = kq(&format!("cgroup diff --snapshot {stored} --pods {}", pods.display())).run();
    assert!(ran.stdout.contains("7168"), "seven CPUs: {}", ran.text());
    let missing = kq(&format!("cgroup diff --snapshot {stored} --pods nowhere.json")).run();
    assert_eq!(missing.code, 3, "{}", missing.text());
}

#[test]
fn a_node_without_anything_is_stored() {
    for (name, gone) in [
        ("no kubelet", &["/proc/700"] as &[&str]),
        ("no tree", &["/sys/fs/cgroup"]),
        ("no mounts", &["/proc/1/mountinfo"]),
        ("no memory", &["/proc/meminfo"]),
        ("no configuration", &["/var/lib/kubelet/config.yaml"]),
        ("nothing", &["/proc", "/sys", "/etc", "/var"]),
    ] {
        for kernel in KERNELS {
            let node = Node::new(kernel);
            for path in gone {
                node.remove(path);
            }
            eprintln!("{name}");
            answers_alike(&node, "");
        }
    }
}

#[test]
fn a_snapshot_that_is_printed_is_that_of_the_file() {
    let node = Node::new(Kernel::V2);
    let printed = live(&node, "", "snapshot");
    let printed: Value = printed.answer();
    let stored = std::fs::read(store(&node, "", "node.json")).expect("it is there");
    let mut stored: Value = serde_json::from_slice(&stored).expect("JSON is stored");
    stored["takenAt"] = printed["takenAt"].clone();
    // What is free changes with everything else that runs on this machine.
    for role in ["images", "kubelet", "logs"] {
        let free = format!("/folders/{role}/filesystem/found");
        if let Some(found) = printed.pointer(&free).cloned()
            && let Some(place) = stored.pointer_mut(&free)
        {
            *place = found;
        }
    }
    assert_eq!(stored, printed);
    assert_eq!(printed["nodeName"]["found"]["value"], NAME);
}

/// No secret contains another word of the node.
const SECRET: &str = "hunter2";

/// Returns a list of pods full of secrets: each of them is `SECRET` and a number.
fn secretive_pods() -> Value {
    let mut next = 0;
    let mut secret = || {
        next += 1;
        format!("{SECRET}-{next}")
    };
    let mut list = pods();
    for pod in list["items"].as_array_mut().expect("there are pods") {
        let metadata = pod["metadata"].as_object_mut().expect("metadata");
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations["example.com/password"] = secret().into();
        annotations["kubectl.kubernetes.io/last-applied-configuration"] = secret().into();
        let spec = pod["spec"].as_object_mut().expect("a specification");
        spec.insert("imagePullSecrets".to_owned(), json!([{"name": secret()}]));
        spec.insert("serviceAccountName".to_owned(), secret().into());
        spec.insert(
            "volumes".to_owned(),
            json!([{"name": "v", "secret": {"secretName": secret()}}]),
        );
        spec.insert("hostAliases".to_owned(), json!([{"ip": "10.0.0.1", "hostnames": [secret()]}]));
        let container = spec["containers"][0].as_object_mut().expect("a container");
        container.insert("env".to_owned(), json!([{"name": secret(), "value": secret()}]));
        container.insert("envFrom".to_owned(), json!([{"secretRef": {"name": secret()}}]));
        container.insert("command".to_owned(), json!(["sh", secret()]));
        container.insert("args".to_owned(), json!([secret()]));
        container.insert(
            "livenessProbe".to_owned(),
            json!({"exec": {"command": ["curl", "-u", secret()]}}),
        );
        container
            .insert("lifecycle".to_owned(), json!({"preStop": {"exec": {"command": [secret()]}}}));
    }
    list
}

#[track_caller]
fn has_no_secret(node: &Node, flags: &str) {
    let file = store(node, flags, "node.json");
    let bytes = std::fs::read(&file).expect("it is there");
    let text = String::from_utf8(bytes).expect("JSON is text");
    let found =
        text.find(SECRET).map(|at| &text[at.saturating_sub(200)..(at + 60).min(text.len())]);
    assert_eq!(found, None, "{flags}");
    let shown = live(node, flags, "snapshot").text();
    assert!(!shown.contains(SECRET), "{flags}: also what is said beside it");
    let shown = live(node, flags, "cgroup diff -v -ojson").text();
    assert!(!shown.contains(SECRET), "{flags}: also what is said about it");
    // The pods were read, not left out.
    let snapshot: Value = serde_json::from_str(&text).expect("JSON is stored");
    let pods = snapshot["pods"]["found"]["value"]["pods"].as_array().expect("there are pods");
    assert!(!pods.is_empty(), "{flags}");
}

#[test]
fn no_secret_of_a_pod_is_stored() {
    let node = Node::new(Kernel::V1);
    let list = secretive_pods();
    let file = node.beside().join("pods.json");
    std::fs::write(&file, list.to_string()).expect("a file can be written");
    has_no_secret(&node, &format!("--pods {}", file.display()));
    let kubelet = Api::kubelet_saying(&configz("cgroupfs"), &list);
    has_no_secret(&node, &kubelet.flags());
    let mut manifest = list["items"][0].clone();
    manifest["kind"] = "Pod".into();
    manifest["apiVersion"] = "v1".into();
    node.write("/etc/kubernetes/manifests/proxy.yaml", manifest.to_string());
    has_no_secret(&node, "--pods-from static");
}

#[cfg(feature = "apiserver")]
#[test]
fn no_secret_of_the_api_server_is_stored() {
    let node = Node::new(Kernel::V1);
    let server = Api::server_saying(&super::made_up_node::node_object(), &secretive_pods());
    // The kubeconfig has a token as well.
    let flags = server.kubeconfig_flags(&node);
    let file = node.beside().join("kubeconfig");
    let text = std::fs::read_to_string(&file).expect("a kubeconfig");
    assert!(text.contains(SECRET), "the token of the kubeconfig is secret");
    has_no_secret(&node, &flags);
}

#[cfg(feature = "cri")]
#[test]
fn no_secret_of_the_runtime_is_stored() {
    let node = Node::new(Kernel::V1);
    let _runtime = Sources::secretive_runtime(&node, SECRET);
    has_no_secret(&node, "");
    let file = std::fs::read_to_string(store(&node, "", "node.json")).expect("it is there");
    assert!(file.contains(WEB_APP), "the runtime was asked");
}

#[test]
fn no_secret_of_the_kubelet_is_stored() {
    let node = Node::new(Kernel::V2);
    node.start_kubelet(&[
        "--config=/var/lib/kubelet/config.yaml",
        &format!("--token={SECRET}-1"),
        "--bootstrap-token",
        &format!("{SECRET}-2"),
        &format!("{SECRET}-3"),
        &format!("--manifest-url-header=Authorization:{SECRET}-4"),
    ]);
    let mut config = super::made_up_node::kubelet_config("systemd");
    config["staticPodURLHeader"] = json!({"Authorization": [format!("Bearer {SECRET}-5")]});
    node.write("/var/lib/kubelet/config.yaml", config.to_string());
    has_no_secret(&node, "");
    let kubelet = Api::kubelet_saying(&json!({"kubeletconfig": config}), &pods());
    has_no_secret(&node, &kubelet.flags());
}

#[test]
fn no_secret_is_in_what_is_said_about_a_broken_file() {
    for (name, path, text) in [
        (
            "a value of another type",
            "/etc/kubernetes/manifests/broken.yaml",
            format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec:\n  containers:\n  - name: a\n    env:\n    - name: P\n      value: [{SECRET}-1]\n    resources: {{limits: 7}}\n"
            ),
        ),
        (
            "a syntax error",
            "/etc/kubernetes/manifests/broken.yaml",
            format!(
                "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - env:\n    - {{name: P, value: {SECRET}-1\n    command: [{SECRET}-2\n"
            ),
        ),
        (
            "a configuration of another type",
            "/var/lib/kubelet/config.yaml",
            format!(
                "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nstaticPodPath: /etc/kubernetes/manifests\nstaticPodURLHeader: {SECRET}-1\n"
            ),
        ),
        (
            "a configuration with a syntax error",
            "/var/lib/kubelet/config.yaml",
            format!(
                "kind: KubeletConfiguration\nstaticPodURLHeader: {{Authorization: [{SECRET}-1\nx: y\n"
            ),
        ),
    ] {
        let node = Node::new(Kernel::V2);
        node.write(path, &text);
        let file = store(&node, "", "node.json");
        let stored = std::fs::read_to_string(&file).expect("it is there");
        assert!(!stored.contains(SECRET), "{name}: {stored}");
        for line in ["snapshot", "cgroup diff -v"] {
            let said = live(&node, "", line).text();
            assert!(!said.contains(SECRET), "{name}: {line}: {said}");
        }
    }
}

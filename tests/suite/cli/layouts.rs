//! The layouts of distributions: all that kq reads of a node is found where each of them keeps it.

use super::kq;
use super::made_up_node::{Kernel, MANIFEST, Node};
use crate::program_file::{GoProgram, kubelet};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A distribution, and what is to be found of it.
struct Layout {
    name: &'static str,
    text: &'static str,
    /// The program that the kubelet is in, and its version.
    program: (&'static str, &'static str),
    /// The source of its configuration, and of that of a kubelet which does not run.
    config: [&'static str; 2],
    root: &'static str,
    /// The folder of certificates, and those in use.
    certificates: &'static [&'static str],
    static_pods: &'static str,
    socket: &'static str,
}

const LAYOUTS: [Layout; 14] = [
    Layout {
        name: "k3s",
        text: include_str!("../../layouts/k3s.txt"),
        program: ("k3s", "v1.36.4+k3s1"),
        config: ["/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/rancher/k3s/agent/client-kubelet.crt",
            "/var/lib/rancher/k3s/agent/serving-kubelet.crt",
        ],
        static_pods: "/var/lib/rancher/k3s/agent/pod-manifests",
        socket: "unix:///run/k3s/containerd/containerd.sock",
    },
    Layout {
        name: "rke2",
        text: include_str!("../../layouts/rke2.txt"),
        program: ("kubelet", "v1.36.4+rke2r1"),
        config: ["/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/rancher/rke2/agent/client-kubelet.crt",
            "/var/lib/rancher/rke2/agent/serving-kubelet.crt",
        ],
        static_pods: "/var/lib/rancher/rke2/agent/pod-manifests",
        socket: "unix:///run/k3s/containerd/containerd.sock",
    },
    Layout {
        name: "microk8s",
        text: include_str!("../../layouts/microk8s.txt"),
        program: ("kubelite", "v1.36.1"),
        config: ["/var/snap/microk8s/9072/args/kubelet", "/var/snap/microk8s/current/args/kubelet"],
        root: "/var/snap/microk8s/common/var/lib/kubelet",
        certificates: &[
            "/var/snap/microk8s/9072/certs/kubelet.crt",
            "/var/snap/microk8s/9072/certs/kubelet.crt",
        ],
        static_pods: "/var/snap/microk8s/9072/manifests",
        socket: "/var/snap/microk8s/common/run/containerd.sock",
    },
    Layout {
        name: "k0s",
        text: include_str!("../../layouts/k0s.txt"),
        program: ("kubelet", "v1.36.4+k0s"),
        config: ["/run/k0s/kubelet/config.yaml"; 2],
        root: "/var/lib/k0s/kubelet",
        certificates: &[
            "/var/lib/k0s/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/k0s/kubelet/pki/kubelet-server-current.pem",
        ],
        static_pods: "/etc/k0s/manifests",
        socket: "unix:///run/k0s/containerd.sock",
    },
    Layout {
        name: "CRI-O",
        text: include_str!("../../layouts/cri-o.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/var/lib/kubelet/config.yaml"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///var/run/crio/crio.sock",
    },
    Layout {
        name: "minikube",
        text: include_str!("../../layouts/minikube.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/var/lib/kubelet/config.yaml"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///run/containerd/containerd.sock",
    },
    Layout {
        name: "Talos",
        text: include_str!("../../layouts/talos.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/etc/kubernetes/kubelet.yaml"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///run/containerd/containerd.sock",
    },
    Layout {
        name: "Bottlerocket",
        text: include_str!("../../layouts/bottlerocket.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/etc/kubernetes/kubelet/config"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet-server-current.pem",
        ],
        static_pods: "/etc/kubernetes/static-pods/",
        socket: "unix:///run/containerd/containerd.sock",
    },
    Layout {
        name: "EKS",
        text: include_str!("../../layouts/eks.txt"),
        program: ("kubelet", "v1.36.4-eks-1a2b3c4"),
        config: ["/etc/kubernetes/kubelet/config.json"; 2],
        root: "/var/lib/kubelet",
        certificates: &["/var/lib/kubelet/pki/kubelet-server-current.pem"],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///run/containerd/containerd.sock",
    },
    Layout {
        name: "GCE",
        text: include_str!("../../layouts/gce.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/home/kubernetes/kubelet-config.yaml"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///run/containerd/containerd.sock",
    },
    Layout {
        name: "AKS",
        text: include_str!("../../layouts/aks.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/etc/default/kubeletconfig.json"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/etc/kubernetes/certs/kubeletserver.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///run/containerd/containerd.sock",
    },
    Layout {
        name: "OpenShift",
        text: include_str!("../../layouts/openshift.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/etc/kubernetes/kubelet.conf"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet-server-current.pem",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "/var/run/crio/crio.sock",
    },
    Layout {
        name: "MicroShift",
        text: include_str!("../../layouts/microshift.txt"),
        program: ("microshift", "v1.36.2"),
        config: ["/var/lib/microshift/resources/kubelet/config/config.yaml"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/microshift/resources/kubelet/kubeconfig",
            "/var/lib/microshift/certs/kubelet-csr-signer-signer/csr-signer/kubelet-server/server.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///var/run/crio/crio.sock",
    },
    Layout {
        name: "Flatcar",
        text: include_str!("../../layouts/flatcar.txt"),
        program: ("kubelet", "v1.36.4"),
        config: ["/var/lib/kubelet/config.yaml"; 2],
        root: "/var/lib/kubelet",
        certificates: &[
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            "/var/lib/kubelet/pki/kubelet.crt",
        ],
        static_pods: "/etc/kubernetes/manifests",
        socket: "unix:///var/run/containerd/containerd.sock",
    },
];

impl Layout {
    /// Makes a node of it.
    fn node(&self) -> Node {
        let node = Node::new(Kernel::V2);
        for path in ["/proc/700/exe", "/usr/bin", "/var/lib/kubelet", "/etc/kubernetes"] {
            node.remove(path);
        }
        for file in self.text.split("-- /").skip(1) {
            let (path, text) = file.split_once(" --\n").expect("a path ends its line");
            let path = format!("/{path}");
            if let Some(target) = text.strip_prefix("-> ") {
                symlink(target.trim_end(), node.path(&path)).expect("a link can be made");
                continue;
            }
            let text = match text.trim_end() {
                "CERTIFICATE" => certificate(),
                "MANIFEST" => MANIFEST.to_owned(),
                arguments if path.ends_with("/cmdline") => arguments.replace('\n', "\0") + "\0",
                _ => text.replace(
                    "-data: CERTIFICATE",
                    &format!("-data: {}", STANDARD.encode(certificate())),
                ),
            };
            let is_program = text.starts_with("#!");
            match is_program {
                true => node.write(&path, self.program_file()),
                false => node.write(&path, &text),
            }
            if is_program {
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(node.path(&path), mode).expect("it can be run");
            }
        }
        node
    }

    /// Returns the file of the program, in place of the script that stands for it.
    fn program_file(&self) -> Vec<u8> {
        let (program, version) = self.program;
        let package = match program {
            "k3s" => "github.com/k3s-io/k3s/cmd/server",
            "microshift" => "github.com/openshift/microshift/cmd/microshift",
            _ => return kubelet(version),
        };
        let flags = format!(
            "-X github.com/k3s-io/k3s/pkg/version.Version={version} \
             -X k8s.io/component-base/version.gitVersion={version} -w -s"
        );
        GoProgram { package, module: "(devel)", flags: Some(&flags), constants: b"\0v1.7.0-k3s1\0" }
            .file()
    }
}

fn certificate() -> String {
    let name = vec!["edge-1".to_owned()];
    let params = rcgen::CertificateParams::new(name).expect("a name");
    let key = rcgen::KeyPair::generate().expect("a key can be made");
    params.self_signed(&key).expect("a certificate can be made").pem()
}

#[track_caller]
fn ask(node: &Node, command: &str) -> Value {
    let ran = kq(&format!("{command} --host-root {}", node.root().display())).run();
    ran.answer()
}

/// Makes sure that all is found, but for the process.
#[track_caller]
fn is_found(layout: &Layout, found: &Value, config_source: &str) {
    let name = layout.name;
    let config = &found["kubeletConfig"]["found"];
    assert_eq!(config["source"], config_source, "{name}: {}", found["kubeletConfig"]);
    let value = &config["value"]["value"];
    assert_eq!((&value["maxPods"], &value["podPidsLimit"]), (&60.into(), &700.into()), "{name}");
    assert_eq!(value["staticPodPath"], layout.static_pods.replace("9072", folder(config_source)));
    assert_eq!(found["nodeName"]["found"]["value"], "edge-1", "{name}");
    assert_eq!(found["pods"]["found"]["source"], value["staticPodPath"], "{name}");
    assert_eq!(
        found["pods"]["found"]["value"]["pods"][0]["pod"]["metadata"]["name"],
        "proxy-edge-1"
    );
    assert_eq!(found["stateFiles"]["folder"], layout.root, "{name}");
    // No --root-dir moves it.
    let checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
    assert_eq!(found["devices"]["checkpoint"]["found"]["source"], checkpoint, "{name}");
    let resources = format!("{}/pod-resources/kubelet.sock", layout.root);
    assert_eq!(found["devices"]["podResources"]["tried"][0]["source"], resources, "{name}");
    assert_eq!(found["folders"]["kubelet"]["path"], layout.root, "{name}");
    let certificates = found["certificates"]["found"]["value"].as_array().expect(name);
    let paths: Vec<&str> = certificates.iter().filter_map(|it| it["path"].as_str()).collect();
    let expected: Vec<String> = layout
        .certificates
        .iter()
        .enumerate()
        // A kubeconfig names the revision itself.
        .map(
            |(at, path)| {
                if at == 0 { (*path).into() } else { path.replace("9072", folder(config_source)) }
            },
        )
        .collect();
    assert_eq!(paths, expected, "{name}");
    // The socket of the kubelet's configuration is the first one.
    let tried = found["runtime"]["tried"][0]["source"].as_str().unwrap_or_default();
    let by_kubelet = format!("{} (the kubelet's containerRuntimeEndpoint)", layout.socket);
    assert_eq!(tried, by_kubelet, "{name}");
}

/// The folder of the snap's data that a path is in.
fn folder(path: &str) -> &'static str {
    if path.contains("/current/") { "current" } else { "9072" }
}

#[test]
fn a_running_kubelet_is_found_with_all_its_files() {
    for layout in &LAYOUTS {
        let name = layout.name;
        let node = layout.node();
        let found = ask(&node, "snapshot");
        let kubelet = &found["kubelet"]["found"]["value"];
        assert_eq!(kubelet["pid"], 700, "{name}: {}", found["kubelet"]);
        let (program, version) = layout.program;
        assert_eq!(kubelet["program"], program, "{name}");
        let own = &found["kubeletVersion"];
        assert_eq!(own["found"]["value"], version, "{name}: {own}");
        is_found(layout, &found, layout.config[0]);
        let versions = ask(&node, "version -o json");
        assert_eq!(versions["kubelet"]["version"], version, "{name}");
    }
}

#[test]
fn a_stopped_kubelet_is_described_as_its_distribution_starts_it() {
    for layout in &LAYOUTS {
        let node = layout.node();
        node.remove("/proc/700");
        let found = ask(&node, "snapshot");
        assert_eq!(found["kubelet"]["found"], Value::Null, "{}", layout.name);
        is_found(layout, &found, &format!("{} (no kubelet runs)", layout.config[1]));
    }
}

#[test]
fn the_doctor_finds_a_kubelet_with_its_whole_configuration() {
    for layout in &LAYOUTS {
        let (program, version) = layout.program;
        let found = ask(&layout.node(), "doctor -o json");
        let items = found["items"].as_array().expect("findings");
        let of = |check: &str| {
            let mut named = items.iter().filter(|item| item["id"] == check);
            named.next().unwrap_or_else(|| panic!("{}: {check}: {found}", layout.name)).to_string()
        };
        let kubelet = of("kubelet");
        let version = version.trim_start_matches('v').split(['+', '-']).next().unwrap_or_default();
        let said = format!("{version}, process 700 ({program})");
        assert!(kubelet.contains(&said), "{}: {kubelet}", layout.name);
        for check in ["kubelet", "certificates"] {
            assert!(of(check).contains("\"OK\""), "{}: {}", layout.name, of(check));
        }
        // Some of these nodes lack files that their configuration names, and would not start with it.
        assert!(
            !of("kubelet-config").contains("UNKNOWN"),
            "{}: {}",
            layout.name,
            of("kubelet-config")
        );
    }
}

#[test]
fn k3s_reads_its_own_files_in_its_order() {
    let layout = &LAYOUTS[0];
    let node = layout.node();
    let config = ask(&node, "snapshot")["kubeletConfig"]["found"]["value"].clone();
    assert_eq!(config["value"]["kubeReserved"]["memory"], "300Mi");
    assert_eq!(config["value"]["imageGCHighThresholdPercent"], 90);
    assert_eq!(config["value"]["evictionHard"]["nodefs.available"], "5%");
    assert_eq!(config["value"]["readOnlyPort"], 0);
    assert_eq!(config["notes"], Value::Array(Vec::new()));
    // Without +, a later file replaces; another folder of data moves all that is in it.
    node.write(
        "/etc/rancher/k3s/config.yaml.d/60.yaml",
        "kubelet-arg: [image-gc-low-threshold=50]\ndata-dir: /data/k3s\n",
    );
    let drop_in = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n\
                   podPidsLimit: 9\n";
    node.write("/data/k3s/agent/etc/kubelet.conf.d/00-k3s-defaults.conf", drop_in);
    let found = ask(&node, "snapshot");
    let config = &found["kubeletConfig"]["found"];
    assert_eq!(config["source"], "/data/k3s/agent/etc/kubelet.conf.d");
    let value = &config["value"]["value"];
    assert_eq!(value["podPidsLimit"], 9);
    assert_eq!(
        (&value["kubeReserved"], &value["imageGCLowThresholdPercent"]),
        (&Value::Null, &50.into())
    );
    // Those of the command line come last.
    assert_eq!(value["maxPods"], 60);
    // Before 1.32 there are no drop-ins, and what k3s gives its kubelet is not known.
    node.remove("/data/k3s/agent/etc");
    let config = ask(&node, "snapshot")["kubeletConfig"]["found"]["value"].clone();
    let notes = config["notes"].to_string();
    assert!(notes.contains("gives its kubelet more flags"), "{notes}");
    assert_eq!(config["value"]["staticPodPath"], "/data/k3s/agent/pod-manifests");
}

#[test]
fn files_of_others_are_not_followed() {
    let node = LAYOUTS[0].node();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(node.path("/etc/rancher/k3s/config.yaml"), open.clone())
        .expect("a mode");
    let config = ask(&node, "snapshot")["kubeletConfig"]["found"]["value"].clone();
    assert_eq!(config["value"]["kubeReserved"], Value::Null);
    let node = LAYOUTS[2].node();
    std::fs::set_permissions(node.path("/var/snap/microk8s/9072/args/kubelet"), open)
        .expect("a mode");
    let found = ask(&node, "snapshot");
    assert_eq!(found["stateFiles"]["folder"], "/var/lib/kubelet");
    let notes = found["kubeletConfig"]["found"]["value"]["notes"].to_string();
    assert!(notes.contains("/args/kubelet, which is not read"), "{notes}");
}

#[test]
fn a_secret_of_a_distribution_is_not_stored() {
    let node = LAYOUTS[1].node();
    node.remove("/proc/700");
    let ran = kq(&format!("snapshot --host-root {}", node.root().display())).run();
    assert!(!ran.stdout.contains("not for kq"), "{}", ran.stdout);
}

//! Tests: command lines of nodes, and malformed ones.

use super::*;
use crate::describe::ConfigSource;
use crate::settings::{assign, assign_list};
use kq_answer::origin::Origin;
use kq_k8s::duration::GoDuration;
use serde_json::json;

const STAT: &str = "812 (kube) let) S 1 812 812 0 -1 1077936384 1 2 3 4 5 6 7 8 20 0 18 0 1234 9 9";

fn process(comm: &str, arguments: &[&str]) -> Option<KubeletProcess> {
    let command_line: Vec<u8> =
        arguments.iter().flat_map(|argument| argument.bytes().chain([0])).collect();
    let texts = ProcessTexts {
        pid: 812,
        comm: &format!("{comm}\n"),
        command_line: &command_line,
        stat: STAT,
        working_folder: Some("/srv/node".to_owned()),
        boot_time: Some(1_700_000_000),
        ..ProcessTexts::default()
    };
    recognise(&texts, &NoFiles)
}

fn kubelet(arguments: &[&str]) -> KubeletProcess {
    let all: Vec<&str> = ["/usr/bin/kubelet"].iter().chain(arguments).copied().collect();
    process("kubelet", &all).expect("a kubelet")
}

fn shown(process: &KubeletProcess) -> String {
    let flag = |flag: &Flag| match &flag.value {
        Some(value) => format!("{}={value}", flag.name),
        None => flag.name.clone(),
    };
    process.flags.iter().map(flag).collect::<Vec<_>>().join(" ")
}

#[test]
fn kubelets_are_recognised_by_name_and_command_line() {
    for (name, comm, arguments, expected) in [
        ("kubeadm", "kubelet", &["/usr/bin/kubelet", "--v=2"] as &[&str], Some(Program::Kubelet)),
        ("another name", "vi", &["/usr/bin/kubelet"], None),
        ("another program", "kubelet", &["/usr/bin/vi", "kubelet"], None),
        ("a folder of that name", "kubelet", &["/opt/kubelet/run"], None),
        ("no command line", "kubelet", &[], None),
        ("k3s that hides", "k3s-server", &["/usr/local/bin/k3s server"], Some(Program::K3s)),
        ("k3s agent", "k3s", &["k3s", "agent", "--token", "x"], Some(Program::K3s)),
        ("k3s as a client", "k3s", &["k3s", "kubectl", "server"], None),
        ("microk8s", "kubelite", &["/snap/bin/kubelite", "--x"], Some(Program::Kubelite)),
        ("microshift", "microshift", &["microshift", "run"], Some(Program::Microshift)),
        ("microshift as a client", "microshift", &["microshift", "version"], None),
    ] {
        assert_eq!(process(comm, arguments).map(|found| found.program), expected, "{name}");
    }
}

#[test]
fn a_unit_starts_the_kubelet_or_a_program_that_does() {
    for (line, expected) in [
        ("/usr/bin/kubelet --port=1", Some("port=1")),
        ("kubelet --root-dir /srv/kubelet", Some("root-dir=/srv/kubelet")),
        ("/usr/local/bin/kubenswrapper /usr/bin/kubelet --port=1", Some("port=1")),
        ("/usr/bin/nice /usr/bin/env /opt/bin/kubelet --port=1", Some("port=1")),
        ("/usr/bin/wrapper kubelet --port=1", None),
        ("/usr/bin/wrapper --root-dir /srv/kubelet", None),
        ("/usr/bin/false", None),
        ("", None),
    ] {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(as_started(&words).map(|it| shown(&it)).as_deref(), expected, "{line}");
    }
}

#[test]
fn the_start_is_read_after_the_last_parenthesis() {
    let process = kubelet(&[]);
    assert_eq!((process.start_ticks, process.started_at), (1234, Some(1_700_000_012)));
    for stat in ["", "1 (kubelet) S 1", "1 (kubelet"] {
        assert_eq!(start_ticks(stat), None, "{stat:?}");
    }
}

#[test]
fn command_lines_are_taken_apart() {
    for (name, arguments, expected) in [
        ("with =", &["--config=/a"] as &[&str], "config=/a"),
        ("apart", &["--config", "/a", "--max-pods", "-1"], "config=/a max-pods=-1"),
        ("switch", &["--fail-swap-on", "--max-pods=3"], "fail-swap-on=true max-pods=3"),
        ("switch with =", &["--fail-swap-on=false"], "fail-swap-on=false"),
        ("a switch takes nothing", &["--runonce", "false", "--port=1"], "runonce=true port=1"),
        ("underscores", &["--max_pods=3"], "max-pods=3"),
        ("empty value", &["--cgroup-root="], "cgroup-root="),
        ("value with =", &["--kube-reserved=cpu=1"], "kube-reserved=cpu=1"),
        ("end of flags", &["--port=1", "--", "--port=2"], "port=1"),
        ("no value", &["--config"], ""),
        ("short", &["-v", "2", "-v=2", "--port=1"], "port=1"),
        ("unknown", &["--foo=1", "--bar", "--baz", "2", "--port=1"], "foo bar baz port=1"),
    ] {
        assert_eq!(shown(&kubelet(arguments)), expected, "{name}");
    }
}

#[test]
fn secrets_are_dropped() {
    for (name, comm, arguments) in [
        ("with =", "kubelet", &["kubelet", "--token=SECRET"] as &[&str]),
        ("apart", "kubelet", &["kubelet", "--token", "SECRET"]),
        ("header", "kubelet", &["kubelet", "--manifest-url-header=Authorization:SECRET"]),
        ("url", "kubelet", &["kubelet", "--manifest-url", "https://me:SECRET@host"]),
        ("no flag", "kubelet", &["kubelet", "SECRET"]),
        ("after the end", "kubelet", &["kubelet", "--", "SECRET"]),
        ("as a name", "kubelet", &["kubelet", "--a b SECRET"]),
        ("short", "kubelet", &["kubelet", "-SECRET", "-v", "SECRET"]),
        ("dashed", "kubelet", &["kubelet", "--password", "-SECRET"]),
        ("k3s", "k3s", &["k3s", "server", "--token", "SECRET", "--kubelet-arg", "a=SECRET"]),
        ("kubelite", "kubelite", &["kubelite", "--token", "SECRET"]),
    ] {
        let process = process(comm, arguments).expect("a kubelet");
        let stored = serde_json::to_string(&process).expect("it is stored");
        assert!(!stored.contains("SECRET"), "{name}: {stored}");
        assert!(!format!("{:?}", process.interpreted()).contains("SECRET"), "{name}");
        assert_eq!(serde_json::from_str::<KubeletProcess>(&stored).expect(name), process);
    }
}

#[test]
fn embedded_kubelets_have_arguments_of_their_own() {
    let arguments =
        ["k3s", "server", "--kubelet-arg=max-pods=50", "--kubelet-arg", "--fail-swap-on=false"];
    let k3s = process("k3s-server", &arguments).expect("a kubelet");
    let data = "/var/lib/rancher/k3s/agent";
    assert_eq!(
        shown(&k3s),
        format!(
            "kubeconfig={data}/kubelet.kubeconfig read-only-port=0 pod-manifest-path={data}/pod-manifests \
             container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock \
             tls-cert-file={data}/serving-kubelet.crt tls-private-key-file={data}/serving-kubelet.key \
             max-pods=50 fail-swap-on=false"
        )
    );
    assert_eq!(k3s.flag_files, [""; 0]);
    assert!(k3s.notes[0].contains("/etc/rancher/k3s/config.yaml"), "{:?}", k3s.notes);
    let kubelite = process("kubelite", &["kubelite", "--kubelet-args-file=/x/kubelet"]);
    let notes = kubelite.expect("a kubelet").notes;
    assert_eq!(notes, ["the kubelet's flags are in /x/kubelet, which is not read"]);
}

#[test]
fn the_name_of_the_node_is_trimmed_and_in_small_letters() {
    for (flag, expected) in [
        ("--hostname-override= Node-1.Example ", Some("node-1.example")),
        ("--hostname-override=\tn1\n", Some("n1")),
        ("--hostname-override=", None),
    ] {
        let parsed = kubelet(&[flag]).interpreted();
        assert_eq!(parsed.hostname_override.as_deref(), expected, "{flag:?}");
        assert_eq!(parsed.problems, [""; 0], "{flag:?}");
    }
    let parsed = kubelet(&["--hostname-override=  "]).interpreted();
    assert_eq!(parsed.hostname_override, None);
    assert_eq!(parsed.problems, ["--hostname-override: empty hostname is invalid"]);
}

#[test]
fn paths_and_gates_are_found() {
    let parsed = kubelet(&[
        "--config=conf/kubelet.yaml",
        "--kubeconfig=/etc/kubernetes/kubelet.conf",
        "--root-dir=/data/kubelet/",
        "--config-dir=./drop-ins",
        "--hostname-override=node-1",
        "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
        "--pod-manifest-path=manifests",
        "--feature-gates=A=true,B=false",
        "--feature-gates=B=T,C=perhaps",
    ])
    .interpreted();
    assert_eq!(parsed.config.as_deref(), Some("/srv/node/conf/kubelet.yaml"));
    assert_eq!(parsed.kubeconfig.as_deref(), Some("/etc/kubernetes/kubelet.conf"));
    assert_eq!(parsed.root_dir.as_deref(), Some("/data/kubelet/"));
    assert_eq!(parsed.config_dir.as_deref(), Some("/srv/node/drop-ins"));
    assert_eq!(parsed.hostname_override.as_deref(), Some("node-1"));
    assert_eq!(parsed.pod_manifest_path.as_deref(), Some("/srv/node/manifests"));
    assert_eq!(
        parsed.container_runtime_endpoint.as_deref(),
        Some("unix:///run/containerd/containerd.sock")
    );
    let gates = [("A".to_owned(), true), ("B".to_owned(), true)];
    assert_eq!(parsed.feature_gates, gates.into());
    assert_eq!(parsed.problems, ["--feature-gates C=perhaps: expected GATE=true or false"]);
    assert_eq!(kubelet(&[]).interpreted().root_dir.as_deref(), Some(DEFAULT_ROOT_DIR));
}

#[test]
fn a_relative_path_without_a_folder_is_not_known() {
    let mut process = kubelet(&["--root-dir=data", "--pod-manifest-path=x"]);
    process.working_folder = None;
    let parsed = process.interpreted();
    assert_eq!((parsed.root_dir, parsed.pod_manifest_path), (None, None));
    assert_eq!(parsed.problems.len(), 2, "{:?}", parsed.problems);
}

#[test]
fn flags_become_fields() {
    for (name, arguments, expected) in [
        ("number", &["--max-pods=50"] as &[&str], json!({ "maxPods": 50 })),
        ("last one counts", &["--max-pods=50", "--max-pods=60"], json!({ "maxPods": 60 })),
        ("switch", &["--fail-swap-on=F"], json!({ "failSwapOn": false })),
        ("text of digits", &["--reserved-cpus=0"], json!({ "reservedSystemCPUs": "0" })),
        (
            "nested",
            &["--anonymous-auth=0"],
            json!({ "authentication": { "anonymous": { "enabled": false } } }),
        ),
        (
            "pairs add up",
            &["--kube-reserved=cpu=1,memory=1Gi", "--kube-reserved=pid=9"],
            json!({ "kubeReserved": { "cpu": "1", "memory": "1Gi", "pid": "9" } }),
        ),
        (
            "thresholds",
            &["--eviction-hard=memory.available<5%, nodefs.available<1Gi"],
            json!({ "evictionHard": { "memory.available": "5%", "nodefs.available": "1Gi" } }),
        ),
        ("no thresholds", &["--eviction-hard="], json!({ "evictionHard": {} })),
        (
            "list",
            &["--enforce-node-allocatable=pods,kube-reserved"],
            json!({ "enforceNodeAllocatable": ["pods", "kube-reserved"] }),
        ),
        ("empty list", &["--enforce-node-allocatable="], json!({ "enforceNodeAllocatable": [] })),
        (
            "memory",
            &["--reserved-memory=0:memory=1Gi,hugepages-2Mi=2Mi", "--reserved-memory=1:memory=1Gi"],
            json!({ "reservedMemory": [
                { "numaNode": 0, "limits": { "memory": "1Gi", "hugepages-2Mi": "2Mi" } },
                { "numaNode": 1, "limits": { "memory": "1Gi" } },
            ] }),
        ),
        (
            "taints",
            &["--register-with-taints=a=b:NoSchedule,c:NoExecute"],
            json!({ "registerWithTaints": [
                { "key": "a", "value": "b", "effect": "NoSchedule" },
                { "key": "c", "effect": "NoExecute" },
            ] }),
        ),
    ] {
        let parsed = kubelet(arguments).interpreted();
        assert_eq!(parsed.problems, [] as [&str; 0], "{name}");
        let mut config = ConfigSource::default();
        for setting in parsed.settings {
            let origin = Origin::Source(setting.flag);
            match setting.assignment {
                Assignment::Value => {
                    assign(&mut config, setting.field, &setting.text, origin).expect(name);
                }
                Assignment::Pairs => {
                    assign_list(&mut config, setting.field, &setting.text, origin).expect(name);
                }
            }
        }
        assert_eq!(*config.value, expected, "{name}");
    }
}

#[test]
fn what_a_flag_cannot_mean_is_a_problem() {
    for (argument, expected) in [
        ("--fail-swap-on=yes", "--fail-swap-on: expected true or false"),
        ("--kube-reserved=cpu", "--kube-reserved: expected pairs of a name and a value"),
        ("--eviction-hard=a=b", "--eviction-hard: expected pairs of a name and a value"),
        (
            "--reserved-memory=memory=1",
            "--reserved-memory: expected NODE:RESOURCE=AMOUNT,RESOURCE=AMOUNT",
        ),
        ("--register-with-taints=a", "--register-with-taints: expected KEY=VALUE:EFFECT"),
    ] {
        let parsed = kubelet(&[argument]).interpreted();
        assert_eq!(parsed.problems, [expected]);
        assert_eq!(parsed.settings, [], "{argument}");
    }
}

#[test]
fn flags_of_container_garbage_collection_are_read() {
    let flags = |age: Option<i64>, max_per_container, max_containers| ContainerGcFlags {
        minimum_age: age.map(GoDuration),
        max_per_container,
        max_containers,
    };
    const AGE: &str = "--minimum-container-ttl-duration";
    for (name, arguments, expected, problems) in [
        ("none", &[] as &[&str], flags(None, None, None), &[] as &[&str]),
        (
            "all",
            &[
                "--minimum-container-ttl-duration=1s",
                "--maximum-dead-containers-per-container",
                "-1",
                "--maximum-dead-containers=0",
            ],
            flags(Some(1_000_000_000), Some(-1), Some(0)),
            &[],
        ),
        ("the last one counts", &[AGE, "1ns", AGE, "2ns"], flags(Some(2), None, None), &[]),
        (
            "unreadable",
            &[AGE, "1", "--maximum-dead-containers=3000000000"],
            flags(None, None, None),
            &[
                "--minimum-container-ttl-duration: expected a duration such as 1m30s",
                "--maximum-dead-containers: expected a whole number of 32 bits",
            ],
        ),
    ] {
        let parsed = kubelet(arguments).interpreted();
        assert_eq!(parsed.container_gc, expected, "{name}");
        assert_eq!(parsed.problems, problems, "{name}");
        assert_eq!(parsed.settings, [], "{name}");
    }
}

#[test]
fn flags_of_image_garbage_collection_set_fields() {
    for (flag, field) in [
        ("--image-gc-high-threshold=90", "imageGCHighThresholdPercent"),
        ("--image-gc-low-threshold=70", "imageGCLowThresholdPercent"),
        ("--minimum-image-ttl-duration=5m", "imageMinimumGCAge"),
    ] {
        let parsed = kubelet(&[flag]).interpreted();
        let fields: Vec<&str> = parsed.settings.iter().map(|setting| setting.field).collect();
        assert_eq!(fields, [field], "{flag}");
    }
}

//! The fatal messages of a kubelet, asked from the command line.

use crate::cli::{folder_with, kq, repository};
use serde_json::Value;
use std::fs;

/// A change of the example's node, how certain it is that its kubelet does not start, and the words for it.
const ROWS: [(&str, Option<bool>, &str); 23] = [
    (
        "flags --no-such-flag=1",
        Some(false),
        "failed to parse kubelet flag: unknown flag: --no-such-flag",
    ),
    (
        "flags --max-pods=many",
        Some(false),
        "failed to parse kubelet flag: invalid argument \"many\" for \"--max-pods\" flag: strconv.ParseInt: \
         parsing \"many\": invalid syntax",
    ),
    (
        "flags --feature-gates=NoSuch=true",
        Some(false),
        "failed to set feature gates from initial flags-based config: unrecognized feature gate: NoSuch",
    ),
    (
        "flags --node-labels=kubernetes.io/x=y",
        Some(false),
        "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [kubernetes.io/x]",
    ),
    (
        "flags --node-labels=a=b!",
        Some(false),
        "failed to validate kubelet flags: invalid node labels: 'b!'",
    ),
    (
        "config empty.yaml",
        Some(false),
        "error kubelet config file \"/var/lib/kubelet/config.yaml\" was empty",
    ),
    ("config list.yaml", None, "error failed to decode: json: cannot unmarshal"),
    (
        "config no-kind.yaml",
        Some(false),
        "error failed to decode: Object 'Kind' is missing in 'maxPods: 5\n'",
    ),
    (
        "config other-kind.yaml",
        None,
        "error failed to decode: no kind \"Other\" is registered for version \"kubelet.config.k8s.io/v1beta1\"",
    ),
    (
        "set maxPods=many",
        Some(false),
        "json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
    ),
    (
        "feature-gates NoSuchGate=true",
        Some(false),
        "panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: \
         unrecognized feature gate: NoSuchGate",
    ),
    (
        "feature-gates NodeSwap=false",
        Some(false),
        "cannot set feature gate NodeSwap to false, feature is locked to true",
    ),
    (
        "set logging.format=xml",
        Some(false),
        "initialize logging: logging.format: Invalid value: \"xml\": Unsupported log format",
    ),
    (
        "set topologyManagerPolicy=nosuch",
        Some(false),
        "topologyManagerPolicy (--topology-manager-policy) \"nosuch\" must be one of: [\"none\" \"best-effort\" \
         \"restricted\" \"single-numa-node\"], path: &TypeMeta{Kind:,APIVersion:,}",
    ),
    (
        "set cpuManagerPolicy=static set systemReserved={} set kubeReserved={} state-file missing cpu_manager_state",
        Some(false),
        "failed to run Kubelet: [cpumanager] unable to determine reserved CPU resources for static policy",
    ),
    (
        "set cpuManagerPolicy=static",
        Some(false),
        "configured policy \"static\" differs from state checkpoint policy \"none\"",
    ),
    ("set cgroupRoot=/nosuch", Some(false), "could not read controllers for cgroup [\"nosuch\"]"),
    (
        "set systemReserved.cpu=100",
        Some(false),
        "invalid Node Allocatable configuration. Resource \"cpu\" has a reservation of {{100 0} {<nil>}  DecimalSI} \
         but capacity of {{4000 -3} {<nil>}  DecimalSI}. Expected capacity >= reservation.",
    ),
    (
        "state-file damaged cpu_manager_state",
        Some(false),
        "start cpu manager error: could not restore state from checkpoint: unexpected end of JSON input",
    ),
    (
        "state-file damaged memory_manager_state",
        Some(false),
        "start memory manager error: could not restore state from checkpoint: unexpected end of JSON input",
    ),
    (
        "state-file damaged allocated_pods_state",
        Some(false),
        "panic: could not restore state from checkpoint: invalid character 'g' looking for beginning of value",
    ),
    (
        "state-file damaged dra_manager_state",
        Some(false),
        "create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint dra_manager_state",
    ),
    (
        "kernel cgroup=v1",
        Some(false),
        "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported",
    ),
];

#[test]
fn the_command_has_the_fatal_words_of_the_kubelet() {
    let snapshot = repository().join("examples/night/worker-3.json");
    let snapshot = fs::read_to_string(snapshot).expect("the example");
    let folder = folder_with(&[
        ("node.json", snapshot.as_str()),
        ("empty.yaml", ""),
        ("list.yaml", "- a\n"),
        ("no-kind.yaml", "maxPods: 5\n"),
        ("other-kind.yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Other\n"),
    ]);
    for (change, starts, words) in ROWS {
        let line = format!("what-if {change} --snapshot node.json");
        let ran = kq(&format!("{line} -o json")).within(folder.path()).run();
        assert_eq!(ran.code, 1, "{change}: {}", ran.text());
        let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(answer["kubeletStarts"].as_bool(), starts, "{change}");
        let first = &answer["items"][0];
        let text = first["facts"]["text"].as_str().unwrap_or_default();
        assert!(first["id"] == "kubelet-start" && text.contains(words), "{change}: {text}");
        if starts == Some(false) {
            assert_eq!(answer["pods"], serde_json::json!([]), "{change}: no kubelet, no pods");
        }
        let shown = kq(&line).within(folder.path()).run();
        let (begun, _) = text.split_once('\n').unwrap_or((text, ""));
        assert!(shown.stderr.contains(begun), "{change}: {}", shown.text());
    }
}

#[test]
fn a_machine_with_swap_is_refused() {
    let snapshot = repository().join("examples/night/worker-3.json");
    let snapshot = fs::read_to_string(snapshot).expect("the example");
    let swapping = snapshot.replace("SwapTotal: 0 kB", "SwapTotal: 1048576 kB");
    assert_ne!(snapshot, swapping);
    let folder = folder_with(&[("node.json", swapping.as_str())]);
    let ran = kq("what-if kubelet-restart --snapshot node.json").within(folder.path()).run();
    let words = "failed to run Kubelet: running with swap on is not supported, please disable swap or set \
                 --fail-swap-on flag to false";
    assert!(ran.code == 1 && ran.stderr.contains(words), "{}", ran.text());
    let line = "what-if set failSwapOn=false --snapshot node.json";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
}

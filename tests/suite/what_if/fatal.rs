//! The fatal messages of a kubelet, from the command line.

use crate::cli::{folder_with, kq, repository};
use serde_json::{Value, json};
use std::fs;

/// A change of the example's node, how certain it is that its kubelet does not start, and the words for it.
const ROWS: [(&str, Option<bool>, &str); 45] = [
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
    ("config list.yaml", Some(false), "error failed to decode: "),
    (
        "config no-kind.yaml",
        Some(false),
        "error failed to decode: Object 'Kind' is missing in 'maxPods: 5\n'",
    ),
    (
        "config other-kind.yaml",
        Some(false),
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
    (
        "set enforceNodeAllocatable=[\"pods\",\"kube-reserved\"] set kubeReservedCgroup=/kube-reserved",
        Some(false),
        "Failed to enforce Kube Reserved Cgroup Limits on \"/kube-reserved\": [\"kube-reserved\"] cgroup is not configured properly",
    ),
    (
        "set enforceNodeAllocatable=[\"pods\",\"kube-reserved\"] set kubeReservedCgroup=/kube-reserved set kubeReserved.cpu=100m",
        Some(false),
        "Failed to enforce Kube Reserved Cgroup Limits on \"/kube-reserved\": could not read controllers for cgroup [\"kube-reserved\"]: open /sys/fs/cgroup/kube-reserved/cgroup.controllers: no such file or directory",
    ),
    (
        "set enforceNodeAllocatable=[\"pods\",\"system-reserved\"] set systemReservedCgroup=/sys",
        Some(false),
        "Failed to enforce System Reserved Cgroup Limits on \"/sys\": could not read controllers for cgroup [\"sys\"]: open /sys/fs/cgroup/sys/cgroup.controllers: no such file or directory",
    ),
    (
        "feature-gates InPlacePodLevelResourcesVerticalScaling=true,PodLevelResources=false",
        Some(false),
        "error: InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: [PodLevelResources]",
    ),
    (
        "flags --feature-gates=InPlacePodLevelResourcesVerticalScaling=true,PodLevelResources=false",
        Some(false),
        "failed to set feature gates from initial flags-based config: InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: [PodLevelResources]",
    ),
    (
        "set topologyManagerPolicyOptions={\"nosuch\":\"true\"} set topologyManagerPolicy=best-effort",
        Some(false),
        "failed to run Kubelet: unknown Topology Manager Policy option: \"nosuch\"",
    ),
    (
        "set topologyManagerPolicyOptions={\"max-allowable-numa-nodes\":\"4\"} set topologyManagerPolicy=best-effort",
        Some(false),
        "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8",
    ),
    (
        "set cpuManagerPolicyOptions={\"full-pcpus-only\":\"true\"}",
        Some(false),
        "new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]",
    ),
    (
        "set cpuManagerPolicy=nosuch",
        Some(false),
        "failed to run Kubelet: unknown policy: \"nosuch\"",
    ),
    (
        "set cpuManagerPolicy=static set cpuManagerPolicyOptions={\"nosuch\":\"true\"} state-file missing cpu_manager_state",
        Some(false),
        "new static policy error: unknown CPU Manager Policy option: \"nosuch\"",
    ),
    (
        "set cpuManagerPolicy=static set cpuManagerPolicyOptions={\"align-by-socket\":\"true\"} state-file missing cpu_manager_state",
        Some(false),
        "new static policy error: CPU Manager Policy Alpha-level Options not enabled, but option \"align-by-socket\" provided",
    ),
    (
        "set memoryManagerPolicy=Static state-file missing memory_manager_state",
        Some(false),
        "the total amount \"0\" of type \"memory\" is not equal to the value \"600Mi\" determined by Node Allocatable feature",
    ),
    (
        "set memoryManagerPolicy=BestEffort",
        Some(false),
        "policy \"BestEffort\" is not available for platform \"linux\"",
    ),
    (
        "set memoryManagerPolicy=Static set reservedMemory=[{\"numaNode\":9,\"limits\":{\"memory\":\"1Gi\"}}]",
        Some(false),
        "the reserved memory configuration references a NUMA node 9 that does not exist on this machine",
    ),
    (
        "set reservedSystemCPUs=9 set cpuManagerPolicy=static state-file missing cpu_manager_state",
        Some(false),
        "reserved-cpus: 9 is not a subset of online-cpus: 0-3",
    ),
    (
        "set syncFrequency=-1s",
        Some(false),
        "failed to create kubelet: invalid sync frequency -1000000000",
    ),
    (
        "set evictionSoft={\"memory.available\":\"5%\"}",
        Some(false),
        "failed to create kubelet: grace period must be specified for the soft eviction threshold memory.available",
    ),
    (
        "set evictionHard={\"memory.available\":\"x\"}",
        Some(false),
        "failed to run Kubelet: quantities must match the regular expression",
    ),
    (
        "set containerLogMaxSize=x",
        Some(false),
        "failed to initialize container log manager: failed to parse container log max size \"x\"",
    ),
    (
        "flags --minimum-container-ttl-duration=-1s",
        Some(false),
        "failed to create kubelet: invalid minimum garbage collection age: -1s",
    ),
    (
        "state-file damaged actuated_pods_state",
        Some(false),
        "failed to initialize actuated state checkpoint: could not restore state from checkpoint: invalid character 'g' looking for beginning of value",
    ),
    (
        "state-file damaged actuated_pods_state kubelet-version 1.34",
        Some(false),
        "panic: could not restore state from checkpoint: invalid character 'g' looking for beginning of value",
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
        let answer: Value = ran.answer();
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

/// Returns the example's node as one whose kubelet reads these files at its start.
fn with_files(file: &Value, drop_ins: &Value) -> String {
    let snapshot = repository().join("examples/night/worker-3.json");
    let snapshot = fs::read_to_string(snapshot).expect("the example");
    let mut snapshot: Value = serde_json::from_str(&snapshot).expect("JSON");
    let mut process = snapshot["kubelet"]["found"]["value"].clone();
    process["flags"] = json!([
        {"name": "config", "value": "/etc/kubelet.yaml"},
        {"name": "config-dir", "value": "/etc/kubelet.d"},
    ]);
    let on_disk = json!({
        "process": process,
        "file": {"path": "/etc/kubelet.yaml", "content": file},
        "dropIns": drop_ins,
    });
    let found = json!({"source": "/etc/kubelet.yaml", "value": on_disk});
    snapshot["kubeletConfigOnDisk"] = json!({"found": found, "tried": []});
    snapshot.to_string()
}

#[test]
fn the_files_that_the_next_start_reads_are_refused_with_its_words() {
    let typed = |fields: Value| {
        let mut value =
            json!({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"});
        let all = value.as_object_mut().expect("a map");
        all.extend(fields.as_object().expect("a map").clone());
        json!({"document": {"value": value}})
    };
    let drop_in =
        |content: Value| json!([{"path": "/etc/kubelet.d/10-x.conf", "content": content}]);
    let whole = typed(json!({}));
    let in_drop_in = "failed to merge kubelet configs: failed to walk through kubelet dropin directory \
                      \"/etc/kubelet.d\": failed to load kubelet dropin file, path: /etc/kubelet.d/10-x.conf";
    let rows = [
        (json!("absent"), json!([]), "failed to read kubelet config file \"/etc/kubelet.yaml\", error: open /etc/kubelet.yaml: no such file or directory".to_owned()),
        (json!("empty"), json!([]), "kubelet config file \"/etc/kubelet.yaml\" was empty".to_owned()),
        (
            whole.clone(),
            drop_in(json!({"document": {"value": {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "Other"}}})),
            format!("{in_drop_in}, unknown apiVersion/kind: kubelet.config.k8s.io/v1beta1, Kind=Other"),
        ),
        (
            whole.clone(),
            drop_in(json!({"document": {"value": {"maxPods": 5}}})),
            format!("{in_drop_in}, error: Object 'Kind' is missing in '...'"),
        ),
        (
            whole.clone(),
            drop_in(typed(json!({"maxPods": "many"}))),
            "failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into Go struct \
             field KubeletConfiguration.maxPods of type int32".to_owned(),
        ),
        (
            whole.clone(),
            drop_in(typed(json!({"featureGates": {"NoSuchGate": true}}))),
            "unrecognized feature gate: NoSuchGate".to_owned(),
        ),
        (
            typed(json!({"maxPods": 5})),
            drop_in(typed(json!({"imageGCHighThresholdPercent": 10}))),
            "imageGCLowThresholdPercent (--image-gc-low-threshold) 80 must be less than \
             imageGCHighThresholdPercent (--image-gc-high-threshold) 10".to_owned(),
        ),
    ];
    for (file, drop_ins, words) in rows {
        let folder = folder_with(&[("node.json", with_files(&file, &drop_ins))]);
        let line = "what-if kubelet-restart --snapshot node.json -o json";
        let ran = kq(line).within(folder.path()).run();
        assert_eq!(ran.code, 1, "{words}: {}", ran.text());
        let answer: Value = ran.answer();
        let text = answer["items"][0]["facts"]["text"].as_str().unwrap_or_default();
        assert!(text.contains(&words), "{words}: {text}");
        // Without the text of the file, its words are not all known.
        let is_sure = !words.contains("'...'");
        assert_eq!(answer["kubeletStarts"].as_bool(), is_sure.then_some(false), "{words}");
    }
    let folder = folder_with(&[("node.json", with_files(&whole, &json!([])))]);
    let line = "what-if kubelet-restart --snapshot node.json -o json";
    let ran = kq(line).within(folder.path()).run();
    let answer: Value = ran.answer();
    assert_eq!(answer["kubeletStarts"], true, "{}", ran.text());
}

#[test]
fn the_line_of_the_scheme_is_known_where_it_was_read() {
    let other = json!({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "Other"});
    let node = with_files(&json!({"document": {"value": other}}), &json!([]));
    let folder = folder_with(&[("node.json", node)]);
    let words = "no kind \"Other\" is registered for version \"kubelet.config.k8s.io/v1beta1\" in scheme \
                 \"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme/scheme.go:33\"";
    // `NewScheme` is called in line 33 of 1.32.5, 1.33.5, 1.34.2, 1.35.3 and 1.36.2.
    for (version, starts) in [("1.32", Some(false)), ("1.36", Some(false)), ("1.37", None)] {
        let line = "what-if kubelet-restart --snapshot node.json -o json --kubelet-version";
        let ran = kq(&format!("{line} {version}")).within(folder.path()).run();
        let answer: Value = ran.answer();
        let text = answer["items"][0]["facts"]["text"].as_str().unwrap_or_default();
        assert!(text.contains(words), "{version}: {text}");
        assert_eq!(answer["kubeletStarts"].as_bool(), starts, "{version}");
    }
}

//! `kq cgroup plan`: the flags and files that describe a node.

use super::plan::{expect, texts};
use super::{folder_with, kq};
use serde_json::json;
use snapbox::str;

const MACHINE: &str = "--capacity cpu=4,memory=8Gi,pid=32768";

#[test]
fn what_is_not_known_is_shown_as_such() {
    kq("cgroup plan examples/web.yaml").shows(str![[r#"
CGROUP              QOS          CPU.WEIGHT   CPU.MAX        MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                         ?            -              ?            ?          -
├─ burstable        Burstable    10           -              -            -          -
│  └─ default/web   Burstable    10           50000 100000   128Mi        -          -
│     └─ web                     35           50000 100000   128Mi        -          ?
└─ besteffort       BestEffort   1            -              -            -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    let answer = kq("cgroup plan examples/web.yaml").json();
    let missing = answer["unknown"].as_array().expect("what is unknown");
    let missing: Vec<String> = missing
        .iter()
        .map(|missing| format!("{} {}", missing["cgroup"], missing["file"]).replace('"', ""))
        .collect();
    let expected = [
        "/kubepods cpu.weight",
        "/kubepods memory.max",
        "/kubepods pids.max",
        "/kubepods cpuset.cpus",
        "/kubepods/burstable/pod44444444-4444-4444-8444-444444444444/<web> oom_score_adj",
    ];
    assert_eq!(missing, expected);
}

#[test]
fn versions_have_their_own_rules() {
    kq(&format!("cgroup plan examples/web.yaml {MACHINE} --kubelet-version 1.32 -o wide"))
        .shows(str![[r#"
CGROUP                                                      FILE               VALUE          WRITER    BECAUSE
/kubepods                                                   cpu.weight         157            kubelet   capacity cpu 4, nothing reserved -> 4000 x 1024 / 1000 = 4096 shares -> 1 + (4096 - 2) x 9999 / 262142 = weight 157 (linear, kubelet)
│                                                           memory.max         8589934592     kubelet   capacity memory 8Gi, nothing reserved -> 8589934592 bytes
│                                                           pids.max           32768          kubelet   capacity pid 32768, nothing reserved -> 32768 processes
│                                                           cpuset.cpus        0-3            kubelet   all CPUs of the node: the CPU manager policy is not static
├─ /kubepods/burstable                                      cpu.weight         10             kubelet   requests.cpu of 1 Burstable pod = 250 milli-CPU -> 250 x 1024 / 1000 = 256 shares -> 1 + (256 - 2) x 9999 / 262142 = weight 10 (linear, kubelet)
│  └─ default/web pod44444444-4444-4444-8444-444444444444   cpu.weight         10             kubelet   requests.cpu 250m -> 250 x 1024 / 1000 = 256 shares -> 1 + (256 - 2) x 9999 / 262142 = weight 10 (linear, kubelet)
│     │                                                     cpu.max            50000 100000   kubelet   limits.cpu 500m -> 500 x 100000 / 1000 = 50000 us
│     │                                                     memory.max         134217728      kubelet   limits.memory 128Mi -> 134217728 bytes
│     └─ web <web>                                          cpu.weight         10             runtime   requests.cpu 250m -> 250 x 1024 / 1000 = 256 shares -> 1 + (256 - 2) x 9999 / 262142 = weight 10 (linear, runtime, assumed; else 35)
│                                                           cpu.max            50000 100000   runtime   limits.cpu 500m -> 500 x 100000 / 1000 = 50000 us
│                                                           memory.max         134217728      runtime   limits.memory 128Mi -> 134217728 bytes
│                                                           memory.oom.group   1              runtime   singleProcessOOMKill is not in force: the container dies as one
│                                                           memory.swap.max    0              runtime   swapBehavior is not LimitedSwap
│                                                           oom_score_adj      993            runtime   requests.memory 64Mi -> 1000 - 1000 x 67108864 / 8589934592 = 993
└─ /kubepods/besteffort                                     cpu.weight         1              kubelet   BestEffort: the least shares -> 1 + (2 - 2) x 9999 / 262142 = weight 1 (linear, kubelet)
--- stderr
assumed: cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula linear
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    kq(&format!("cgroup plan examples/web.yaml {MACHINE} --kubelet-version 1.36 -o wide"))
        .shows(str![[r#"
CGROUP                                                      FILE               VALUE          WRITER    BECAUSE
/kubepods                                                   cpu.weight         157            kubelet   capacity cpu 4, nothing reserved -> 4000 x 1024 / 1000 = 4096 shares -> 1 + (4096 - 2) x 9999 / 262142 = weight 157 (linear, kubelet)
│                                                           memory.max         8589934592     kubelet   capacity memory 8Gi, nothing reserved -> 8589934592 bytes
│                                                           pids.max           32768          kubelet   capacity pid 32768, nothing reserved -> 32768 processes
│                                                           cpuset.cpus        0-3            kubelet   all CPUs of the node: the CPU manager policy is not static
├─ /kubepods/burstable                                      cpu.weight         10             kubelet   requests.cpu of 1 Burstable pod = 250 milli-CPU -> 250 x 1024 / 1000 = 256 shares -> 1 + (256 - 2) x 9999 / 262142 = weight 10 (linear, kubelet)
│  └─ default/web pod44444444-4444-4444-8444-444444444444   cpu.weight         10             kubelet   requests.cpu 250m -> 250 x 1024 / 1000 = 256 shares -> 1 + (256 - 2) x 9999 / 262142 = weight 10 (linear, kubelet)
│     │                                                     cpu.max            50000 100000   kubelet   limits.cpu 500m -> 500 x 100000 / 1000 = 50000 us
│     │                                                     memory.max         134217728      kubelet   limits.memory 128Mi -> 134217728 bytes
│     └─ web <web>                                          cpu.weight         35             runtime   requests.cpu 250m -> 250 x 1024 / 1000 = 256 shares -> weight 35 (quadratic, runtime, assumed; else 10)
│                                                           cpu.max            50000 100000   runtime   limits.cpu 500m -> 500 x 100000 / 1000 = 50000 us
│                                                           memory.max         134217728      runtime   limits.memory 128Mi -> 134217728 bytes
│                                                           memory.oom.group   1              runtime   singleProcessOOMKill is not in force: the container dies as one
│                                                           memory.swap.max    0              runtime   swapBehavior is not LimitedSwap
│                                                           oom_score_adj      993            runtime   requests.memory 64Mi -> 1000 - 1000 x 67108864 / 8589934592 = 993
└─ /kubepods/besteffort                                     cpu.weight         1              kubelet   BestEffort: the least shares -> 1 + (2 - 2) x 9999 / 262142 = weight 1 (linear, kubelet)
--- stderr
assumed: cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    for version in ["1.20", "1.31", "1.99", "2.0", "v1.33.4", "1.36.2-rc.0+k3s1"] {
        let ran = kq(&format!("cgroup plan --kubelet-version {version}")).run();
        assert_eq!(ran.code, 0, "{version}: {}", ran.stderr);
        let warned = ran.stderr.contains("warning: kq knows the rules of kubelets");
        let known = version.contains("1.33") || version.contains("1.36");
        assert_eq!(warned, !known, "{version}: {}", ran.stderr);
    }
}

#[test]
fn reserved_cgroups_are_enforced_where_the_configuration_says_so() {
    let config = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
enforceNodeAllocatable: [pods, system-reserved, kube-reserved]
systemReservedCgroup: /system.slice
kubeReservedCgroup: /kube.slice
systemReserved: {cpu: 200m, memory: 256Mi, pid: '500'}
kubeReserved: {cpu: 300m, memory: 512Mi}
podPidsLimit: 100
";
    let folder = folder_with(&[("kubelet.yaml", config)]);
    kq(&format!("cgroup plan --kubelet-config kubelet.yaml {MACHINE}"))
        .within(&folder)
        .shows(str![[r#"
CGROUP                          QOS          CPU.WEIGHT   MEMORY.MAX   PIDS.MAX
kubepods                                     137          7424Mi       32268
├─ burstable                    Burstable    1            -            -
└─ besteffort                   BestEffort   1            -            -
system.slice (systemReserved)                8            256Mi        500
kube.slice (kubeReserved)                    12           512Mi        -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, featureGates none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false
warning: no FILE is given: planned without pods (- reads standard input)
allocatable: cpu 3500m, memory 7324Mi (kq allocatable shows the sums)
--- exit 0

"#]]);
    kq("cgroup plan --set enforceNodeAllocatable=[pods,kube-reserved] \
        --set kubeReservedCgroup=/kube")
    .shows(str![[r#"
--- stderr
kq: the kubelet refuses this configuration: Failed to enforce Kube Reserved Cgroup Limits on "/kube": ["kube"] cgroup is not configured properly
--- exit 2

"#]]);
}

#[test]
fn a_running_kubelet_answers_for_itself() {
    let configz = r#"{"kubeletconfig":{"cgroupDriver":"systemd","podPidsLimit":77}}"#;
    let folder = folder_with(&[("configz.json", configz)]);
    let run = kq("cgroup plan --kubelet-config configz.json -o name").within(&folder);
    run.shows(str![[r#"
/kubepods.slice
/kubepods.slice/kubepods-burstable.slice
/kubepods.slice/kubepods-besteffort.slice
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: no FILE is given: planned without pods (- reads standard input)
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    let from_stdin = kq("cgroup plan --kubelet-config - -o name").stdin(configz);
    assert_eq!(
        from_stdin.run().stdout,
        "/kubepods.slice\n/kubepods.slice/kubepods-burstable.slice\n/kubepods.slice/kubepods-besteffort.slice\n"
    );
}

#[test]
fn drop_ins_are_merged_in_order() {
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let of = |text: &str| format!("{head}{text}");
    let folder = folder_with(&[
        ("kubelet.yaml", of("podPidsLimit: 1\nkubeReserved: {cpu: 100m}\n")),
        ("conf.d/20-more.conf", of("podPidsLimit: 20\n")),
        ("conf.d/10-first.conf", of("podPidsLimit: 10\nkubeReserved: {memory: 1Gi}\n")),
        ("conf.d/90-ignored.yaml", of("podPidsLimit: 90\n")),
        ("conf.d/30-flat/40-deep.conf", of("systemReserved: {cpu: 500m}\n")),
    ]);
    let line =
        format!("cgroup plan --kubelet-config kubelet.yaml --kubelet-config-dir conf.d {MACHINE}");
    let answer = kq(&line).within(&folder).json();
    let fact = |name: &str| answer["facts"][name].clone();
    let pids = json!({"value": 20, "origin": "conf.d/20-more.conf"});
    assert_eq!(fact("podPidsLimit"), pids);
    // A map is merged key by key; its origin is the last file that spoke of it.
    let both = json!({"cpu": "100m", "memory": "1Gi"});
    let reserved = json!({"value": both, "origin": "conf.d/10-first.conf"});
    assert_eq!(fact("kubeReserved"), reserved);
    assert_eq!(texts(&answer)["/kubepods cpu.weight"], "133");
    kq(&format!("{line} -o name")).within(&folder).shows(str![[r#"
/kubepods
/kubepods/burstable
/kubepods/besteffort
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false
warning: conf.d/90-ignored.yaml: ignored, drop-ins end in .conf
warning: no FILE is given: planned without pods (- reads standard input)
allocatable: cpu 3400m, memory 7068Mi (kq allocatable shows the sums)
--- exit 0

"#]]);
}

#[test]
fn flags_win_over_the_configuration_which_wins_over_the_node() {
    let config = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
cgroupRoot: /
podPidsLimit: 100
kubeReserved: {cpu: '1'}
featureGates: {MemoryQoS: true, PodLevelResources: false}
";
    let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{
        "capacity":{"cpu":"4","memory":"8Gi","example.com/widget":"2"},
        "nodeInfo":{"kubeletVersion":"v1.34.1"}}}"#;
    let folder = folder_with(&[("kubelet.yaml", config), ("node.json", node)]);
    let line = "cgroup plan --kubelet-config kubelet.yaml --node-file node.json";
    let run = |flags: &str| kq(&format!("{line} {flags}")).within(&folder);
    run("-o json").shows(snapbox::file!["snapshots/node-args.json.txt"]);
    let flags = "--cgroup-driver cgroupfs --set podPidsLimit=5 --kube-reserved cpu=2 \
                 --capacity cpu=8 --kubelet-version 1.35 --feature-gates MemoryQoS=false";
    let answer = run(flags).json();
    for (fact, value, origin) in [
        ("cgroupDriver", json!("cgroupfs"), "--cgroup-driver"),
        ("podPidsLimit", json!(5), "--set"),
        ("kubeReserved", json!({"cpu": "2"}), "--kube-reserved"),
        ("capacity.cpu", json!("8"), "--capacity"),
        ("capacity.memory", json!("8Gi"), "node.json"),
        ("kubeletVersion", json!("1.35"), "--kubelet-version"),
    ] {
        let expected = json!({"value": value, "origin": origin});
        assert_eq!(answer["facts"][fact], expected, "{fact}");
    }
    let gates = json!({"MemoryQoS": false, "PodLevelResources": false});
    assert_eq!(answer["facts"]["featureGates"]["value"], gates);
    expect(run(flags), &[("/kubepods cpu.weight", "235")]);
}

#[test]
fn a_node_object_comes_alone_or_in_a_list() {
    let line = "cgroup plan --node-file";
    let alone = std::fs::read_to_string(super::repository().join("examples/node/node.json"))
        .expect("the example can be read");
    let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{alone}]}}"#);
    let two = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{alone},{alone}]}}"#);
    let folder = folder_with(&[("alone.json", alone), ("list.json", list), ("two.json", two)]);
    let run = |file: &str| kq(&format!("{line} {file}")).within(&folder);
    let alone = run("alone.json").run();
    assert_eq!(alone.stdout, run("list.json").run().stdout);
    run("two.json").shows(str![[r#"
--- stderr
kq: two.json: a list of 2 nodes, expected one Node, as from kubectl get node NAME -o json
--- exit 2

"#]]);
}

#[test]
fn the_runtime_says_how_it_computes_weights() {
    for (flags, weight) in [
        ("--runtime runc=1.3.1", "10"),
        ("--runtime runc=1.3.2", "35"),
        ("--runtime crun=1.22", "10"),
        ("--runtime crun=1.23", "35"),
        ("--runtime-weight-formula linear", "10"),
        ("--runtime-weight-formula quadratic", "35"),
        ("--kubelet-version 1.34", "10"),
        ("--kubelet-version 1.35", "35"),
    ] {
        let run = kq(&format!("cgroup plan examples/web.yaml {flags}"));
        expect(run, &[("web/web cpu.weight", weight), ("web cpu.weight", "10")]);
    }
}

#[test]
fn a_cgroup_root_is_above_kubepods() {
    kq("cgroup plan examples/web.yaml --cgroup-root /a/b -o name").shows(str![[r#"
/a/b/kubepods
/a/b/kubepods/burstable
/a/b/kubepods/burstable/pod44444444-4444-4444-8444-444444444444
/a/b/kubepods/burstable/pod44444444-4444-4444-8444-444444444444/<web>
/a/b/kubepods/besteffort
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    kq("cgroup plan examples/web.yaml --cgroup-root /a/b --cgroup-driver systemd -o name")
        .shows(str![[r#"
/a.slice/a-b.slice/a-b-kubepods.slice
/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-burstable.slice
/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-burstable.slice/a-b-kubepods-burstable-pod44444444_4444_4444_8444_444444444444.slice
/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-burstable.slice/a-b-kubepods-burstable-pod44444444_4444_4444_8444_444444444444.slice/<web>
/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-besteffort.slice
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    kq("cgroup plan examples/web.yaml --set cgroupsPerQOS=false --set enforceNodeAllocatable=[]")
        .shows(str![[r#"
CGROUP        QOS         CPU.WEIGHT   CPU.MAX        MEMORY.MAX   OOM_SCORE_ADJ
default/web   Burstable   -            -              -            -
└─ web                    35           50000 100000   128Mi        ?
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: cgroupsPerQOS is false: pods have no cgroups of their own, and the runtime decides where it puts containers
missing: the node's memory is not known (--capacity memory=AMOUNT)
--- exit 0

"#]]);
}

//! `kq cgroup plan`: what pods get.

use super::{Run, folder_with, kq};
use serde_json::Value;
use snapbox::str;
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};

/// The classic pods on the classic machine, with memory held back for higher classes.
const CLASSIC: &str = "cgroup plan examples/classic.yaml --capacity cpu=3,memory=8Gi,pid=32768 \
                       --qos-reserved memory=100% --feature-gates QOSReserved=true";

/// Returns the text of every file by `OWNER FILE`: a pod is `POD`, a container `POD/CONTAINER`, the
/// rest is known by its path.
pub fn texts(answer: &Value) -> BTreeMap<String, String> {
    let items = answer["items"].as_array().expect("a plan has items");
    items
        .iter()
        .map(|item| {
            let text = |field: &str| item[field].as_str().unwrap_or_default();
            let owner = match (text("pod"), text("container")) {
                ("", _) => text("cgroup").to_owned(),
                (pod, "") => pod.to_owned(),
                (pod, container) => format!("{pod}/{container}"),
            };
            (format!("{owner} {}", text("file")), text("value").to_owned())
        })
        .collect()
}

/// Runs it and expects some texts; an empty one is not written.
#[track_caller]
pub fn expect(run: Run, expected: &[(&str, &str)]) {
    let texts = texts(&run.json());
    for (file, text) in expected {
        let got = texts.get(*file).map_or("", String::as_str);
        assert_eq!(got, *text, "{file} among {texts:#?}");
    }
}

/// Runs it on one manifest.
pub fn of(manifest: &str, arguments: &str) -> (tempfile::TempDir, Run) {
    let folder = folder_with(&[("pod.yaml", manifest)]);
    let run = kq(&format!("cgroup plan pod.yaml {arguments}")).within(&folder);
    (folder, run)
}

#[test]
fn the_classic_example() {
    kq(CLASSIC).shows(str![[r#"
CGROUP                     QOS          CPU.WEIGHT   CPU.MAX         MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                                118          -               8Gi          32768      -
├─ default/guaranteed      Guaranteed   39           100000 100000   1Gi          -          -
│  └─ app                               100          100000 100000   1Gi          -          -997
├─ burstable               Burstable    79           -               7Gi          -          -
│  └─ default/burstable    Burstable    79           300000 100000   3Gi          -          -
│     ├─ one                            100          100000 100000   1Gi          -          875
│     └─ two                            100          200000 100000   2Gi          -          875
└─ besteffort              BestEffort   1            -               5Gi          -          -
   └─ default/besteffort   BestEffort   1            -               -            -          -
      └─ app                            1            max 100000      -            -          1000
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    let old = format!("{CLASSIC} --cgroup-version 1 --set failCgroupV1=false");
    kq(&old).shows(str![[r#"
CGROUP                     QOS          CPU.SHARES   CPU.CFS_QUOTA_US   MEMORY.LIMIT_IN_BYTES   PIDS.MAX   OOM_SCORE_ADJ
kubepods                                3072         -                  8Gi                     32768      -
├─ default/guaranteed      Guaranteed   1024         100000             1Gi                     -          -
│  └─ app                               1024         100000             1Gi                     -          -997
├─ burstable               Burstable    2048         -                  7Gi                     -          -
│  └─ default/burstable    Burstable    2048         300000             3Gi                     -          -
│     ├─ one                            1024         100000             1Gi                     -          875
│     └─ two                            1024         200000             2Gi                     -          875
└─ besteffort              BestEffort   2            -                  5Gi                     -          -
   └─ default/besteffort   BestEffort   2            -                  -                       -          -
      └─ app                            2            -                  -                       -          1000
--- stderr
assumed: kubeletVersion 1.36, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, reservedSystemCPUs none, singleProcessOOMKill true, systemReserved none
--- exit 0

"#]]);
    for line in [CLASSIC, &old] {
        let suffix = if line == CLASSIC { "v2" } else { "v1" };
        for format in ["wide", "json", "yaml", "name"] {
            let file = format!("tests/suite/cli/snapshots/classic-{suffix}.{format}.txt");
            let expected = snapbox::Data::read_from(&super::repository().join(file), None);
            kq(&format!("{line} -o {format}")).shows(expected);
        }
    }
}

#[test]
fn the_classic_values() {
    let shares = |owner: &'static str, text: &'static str| (format!("{owner} cpu.shares"), text);
    let texts = texts(&kq(&format!("{CLASSIC} --cgroup-version 1")).json());
    for (file, text) in [
        shares("/kubepods", "3072"),
        shares("/kubepods/burstable", "2048"),
        shares("/kubepods/besteffort", "2"),
        shares("burstable", "2048"),
        shares("guaranteed", "1024"),
        shares("besteffort", "2"),
        shares("burstable/one", "1024"),
        shares("burstable/two", "1024"),
        shares("guaranteed/app", "1024"),
        ("/kubepods/burstable memory.limit_in_bytes".into(), "7516192768"),
        ("/kubepods/besteffort memory.limit_in_bytes".into(), "5368709120"),
    ] {
        assert_eq!(texts[&file], text, "{file}");
    }
}

#[test]
fn yaml_is_the_same_value_as_json() {
    for line in [
        CLASSIC,
        "cgroup plan --kubelet-version 1.36",
        "cgroup plan examples/node/pods.json --node-file examples/node/node.json \
         --kubelet-config examples/node/configz.json --cgroup-version 1",
    ] {
        let json = kq(line).json();
        let yaml = kq(&format!("{line} -o yaml")).run();
        assert_eq!((yaml.code, yaml.stderr.as_str()), (0, ""), "{line}");
        let read = kq_k8s::yaml::read(&yaml.stdout).expect("kq reads its own YAML");
        assert_eq!(read.value, json, "{line}");
    }
}

const WORKLOADS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: i, resources: {requests: {cpu: 100m}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: '0 3 * * *'
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: job, image: i, resources: {requests: {cpu: 200m}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      priorityClassName: system-node-critical
      containers:
      - {name: agent, image: i, resources: {requests: {cpu: 50m}}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: listed, uid: u-1}
  spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: PodList
items:
- metadata: {name: in-pod-list, uid: u-2}
  spec: {containers: [{name: c, image: i}]}
";

#[test]
fn workloads_lists_and_several_documents() {
    let folder = folder_with(&[("all.yaml", WORKLOADS)]);
    let line = "--capacity cpu=4,memory=8Gi,pid=1000";
    let run = |source: &str| kq(&format!("cgroup plan {source} {line}")).within(&folder);
    run("all.yaml").shows(str![[r#"
CGROUP                      QOS          CPU.WEIGHT   CPU.MAX      MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                                 157          -            8Gi          1000       -
├─ burstable                Burstable    14           -            -            -          -
│  ├─ shop/web              Burstable    4            -            -            -          -
│  │  └─ web                             17           max 100000   -            -          999
│  ├─ default/nightly       Burstable    8            -            -            -          -
│  │  └─ job                             29           max 100000   -            -          999
│  └─ kube-system/agent     Burstable    2            -            -            -          -
│     └─ agent                           11           max 100000   -            -          -997
└─ besteffort               BestEffort   1            -            -            -          -
   ├─ default/listed        BestEffort   1            -            -            -          -
   │  └─ c                               1            max 100000   -            -          1000
   └─ default/in-pod-list   BestEffort   1            -            -            -          -
      └─ c                               1            max 100000   -            -          1000
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic, pods of Deployment shop/web on this node 1 of 3, UID of 3 of 5 pods not assigned yet; shown as <uid:NAMESPACE.NAME>
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    let from_file = run("all.yaml").run();
    let from_stdin = run("-").stdin(WORKLOADS).run();
    assert_eq!(from_stdin.stdout, from_file.stdout);
    assert_eq!(from_stdin.stderr, from_file.stderr);
    let (first, second) = WORKLOADS.split_at(WORKLOADS.find("---\n").expect("a divider"));
    let folder = folder_with(&[("1.yaml", first), ("2.yaml", second)]);
    let run = kq(&format!("cgroup plan 1.yaml 2.yaml {line}")).within(&folder);
    assert_eq!(run.run().stdout, from_file.stdout);
}

#[test]
fn no_pods_is_an_answer() {
    kq("cgroup plan --capacity cpu=2,memory=4Gi,pid=100").shows(str![[r#"
CGROUP          QOS          CPU.WEIGHT   MEMORY.MAX   PIDS.MAX
kubepods                     79           4Gi          100
├─ burstable    Burstable    1            -            -
└─ besteffort   BestEffort   1            -            -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: no FILE is given: planned without pods (- reads standard input)
allocatable: cpu 2, memory 3996Mi (kq allocatable shows the sums)
--- exit 0

"#]]);
    let empty = r#"{"apiVersion":"v1","kind":"List","items":[]}"#;
    kq("cgroup plan - --capacity cpu=2,memory=4Gi,pid=100 -o name")
        .stdin(empty)
        .shows(str![[r#"
/kubepods
/kubepods/burstable
/kubepods/besteffort
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: standard input: document 1: "List" has no items
--- exit 0

"#]]);
}

#[test]
fn static_pods_are_named_after_their_configuration() {
    let mirror = "\
apiVersion: v1
kind: Pod
metadata:
  name: etcd-n1
  namespace: kube-system
  uid: 00000000-0000-4000-8000-000000000001
  annotations:
    kubernetes.io/config.hash: 0123456789abcdef0123456789abcdef
    kubernetes.io/config.mirror: 0123456789abcdef0123456789abcdef
    kubernetes.io/config.source: file
spec:
  priority: 2000001000
  priorityClassName: system-node-critical
  containers:
  - {name: etcd, image: i, resources: {requests: {cpu: 100m, memory: 100Mi}}}
";
    let (_folder, run) = of(mirror, "-o name");
    run.shows(str![[r#"
/kubepods
/kubepods/burstable
/kubepods/burstable/pod0123456789abcdef0123456789abcdef
/kubepods/burstable/pod0123456789abcdef0123456789abcdef/<etcd>
/kubepods/besteffort
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    // Only its class spares a static pod from being killed early.
    for (class, score) in [("", "976"), ("priorityClassName: system-node-critical", "-997")] {
        let manifest = format!(
            "\
apiVersion: v1
kind: Pod
metadata: {{name: etcd, namespace: kube-system}}
spec:
  {class}
  containers:
  - {{name: etcd, image: i, resources: {{requests: {{cpu: 100m, memory: 100Mi}}}}}}
"
        );
        let (_folder, run) = of(&manifest, "--capacity cpu=2,memory=4Gi,pid=1000 --static");
        expect(run, &[("etcd/etcd oom_score_adj", score)]);
    }
}

#[test]
fn pods_of_every_shape() {
    let pods = "\
apiVersion: v1
kind: Pod
metadata: {name: pod-level, uid: u1}
spec:
  resources:
    requests: {cpu: 500m, memory: 256Mi}
    limits: {cpu: '1', memory: 512Mi}
  containers:
  - {name: own, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 200m, memory: 128Mi}}}
  - {name: none, image: i}
---
apiVersion: v1
kind: Pod
metadata: {name: overhead, uid: u2}
spec:
  runtimeClassName: vm
  overhead: {cpu: 250m, memory: 120Mi}
  containers:
  - {name: c, image: i, resources: {requests: {cpu: 500m, memory: 100Mi}, limits: {cpu: 500m, memory: 100Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: steps, uid: u3}
spec:
  initContainers:
  - {name: first, image: i, resources: {requests: {cpu: '1', memory: 200Mi}}}
  - {name: side, image: i, restartPolicy: Always, resources: {requests: {cpu: 100m, memory: 50Mi}}}
  - {name: last, image: i, resources: {requests: {cpu: 300m, memory: 100Mi}}}
  containers:
  - {name: main, image: i, resources: {requests: {cpu: 200m, memory: 100Mi}}}
  ephemeralContainers:
  - {name: debug, image: i, targetContainerName: main}
";
    let (_folder, run) = of(pods, "--capacity cpu=4,memory=8Gi,pid=32768");
    run.shows(str![[r#"
CGROUP                       QOS          CPU.WEIGHT   CPU.MAX         MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                                  157          -               8Gi          32768      -
├─ default/overhead          Guaranteed   30           75000 100000    220Mi        -          -
│  └─ c                                   59           50000 100000    100Mi        -          -997
├─ burstable                 Burstable    59           -               -            -          -
│  ├─ default/pod-level      Burstable    20           100000 100000   512Mi        -          -
│  │  ├─ own                              17           20000 100000    128Mi        -          981
│  │  └─ none                             100          100000 100000   512Mi        -          989
│  └─ default/steps          Burstable    39           -               -            -          -
│     ├─ first (init)                     100          max 100000      -            -          976
│     ├─ side (sidecar)                   17           max 100000      -            -          988
│     ├─ last (init)                      40           max 100000      -            -          988
│     ├─ main                             29           max 100000      -            -          988
│     └─ debug (ephemeral)                1            max 100000      -            -          999
└─ besteffort                BestEffort   1            -               -            -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    let (_folder, run) = of(pods, "--capacity cpu=4,memory=8Gi,pid=32768 -o wide");
    run.shows(snapbox::file!["snapshots/shapes.wide.txt"]);
    // Before 1.34 the resources of a pod count only with the gate.
    let (_folder, run) = of(pods, "--capacity cpu=4,memory=8Gi --kubelet-version 1.32");
    expect(run, &[("pod-level cpu.weight", "4"), ("pod-level cpu.max", "")]);
}

#[test]
fn ended_and_resizing_pods_are_named() {
    let pods = "\
apiVersion: v1
kind: Pod
metadata: {name: done, uid: u1}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}
status: {phase: Succeeded}
---
apiVersion: v1
kind: Pod
metadata: {name: growing, uid: u2}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}
status:
  phase: Running
  containerStatuses:
  - {name: c, image: i, imageID: i, ready: true, restartCount: 0, allocatedResources: {cpu: 500m}}
";
    let (_folder, run) = of(pods, "--capacity cpu=4,memory=8Gi,pid=100");
    run.shows(str![[r#"
CGROUP                  QOS          CPU.WEIGHT   CPU.MAX      MEMORY.MAX   PIDS.MAX   OOM_SCORE_ADJ
kubepods                             157          -            8Gi          100        -
├─ burstable            Burstable    39           -            -            -          -
│  └─ default/growing   Burstable    39           -            -            -          -
│     └─ c                           100          max 100000   -            -          999
└─ besteffort           BestEffort   1            -            -            -          -
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: pod default/growing: resize pending: the plan uses the requested resources, the cgroup has the allocated ones
warning: 1 pod has ended and counts no more: default/done
--- exit 0

"#]]);
}

#[test]
fn pods_of_another_node_are_left_out() {
    let pod = |name: &str, node: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, uid: {name}}}, \
             spec: {{nodeName: {node}, containers: [{{name: c, image: i}}]}}}}\n---\n"
        )
    };
    let pods = pod("a", "n1") + &pod("b", "n2") + &pod("c", "n1");
    let (_folder, run) = of(&pods, "--on-node n1 -o name");
    run.shows(str![[r#"
/kubepods
/kubepods/burstable
/kubepods/besteffort
/kubepods/besteffort/poda
/kubepods/besteffort/poda/<c>
/kubepods/besteffort/podc
/kubepods/besteffort/podc/<c>
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: 1 of 3 pods left out: not bound to node n1
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    let (_folder, run) = of(&pods, "--on-node n3 -o name");
    run.shows(str![[r#"
/kubepods
/kubepods/burstable
/kubepods/besteffort
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: 3 of 3 pods left out: not bound to node n3
missing: the number of the node's CPUs is not known (--capacity cpu=N)
missing: the node's memory is not known (--capacity memory=AMOUNT)
missing: the node's largest number of processes (pid_max) is not known (--capacity pid=N)
--- exit 0

"#]]);
    let (_folder, run) = of(&pods, "--capacity cpu=1,memory=1Gi,pid=1");
    let warned = run.run().stderr;
    assert!(warned.contains("bound to several nodes (n1, n2, ...)"), "{warned}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_kq_quietly() {
    for format in ["table", "wide", "json", "yaml", "name"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kq"))
            .args(["cgroup", "plan", "examples/node/pods.json", "-o", format])
            .args(["--capacity", "cpu=2,memory=4Gi,pid=100"])
            .current_dir(super::repository())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kq can be run");
        drop(child.stdout.take());
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("it is a pipe");
        stderr.read_to_string(&mut said).expect("kq writes UTF-8");
        let status = child.wait().expect("kq ends");
        assert_eq!(status.code(), Some(0), "{format}: {said}");
        assert!(!said.contains("kq: ") && !said.contains("panicked"), "{format}: {said}");
    }
}

#[test]
fn both_versions_of_cgroups_stand_side_by_side() {
    let line =
        "cgroup plan examples/web.yaml --capacity cpu=3,memory=8Gi,pid=32768 --cgroup-version";
    let both = kq(&format!("{line} 1,2")).run();
    assert_eq!(both.code, 0, "{}", both.text());
    let mut rows = both.stdout.lines();
    let heading: Vec<&str> = rows.next().expect("headings").split_whitespace().collect();
    for file in ["CPU.SHARES", "CPU.WEIGHT", "CPU.CFS_QUOTA_US", "CPU.MAX", "MEMORY.MAX"] {
        assert!(heading.contains(&file), "{}", both.stdout);
    }
    // Each value is that of the version alone.
    for (version, values) in [("1", ["256", "50000"]), ("2", ["50000 100000", "128Mi"])] {
        let one = kq(&format!("{line} {version}")).run();
        for value in values {
            assert!(one.stdout.contains(value), "{version}: {}", one.stdout);
            assert!(both.stdout.contains(value), "{version}: {}", both.stdout);
        }
    }
    let json = kq(&format!("{line} 1,2 -o json")).run();
    assert_eq!(json.code, 2, "{}", json.text());
    let other = kq("allocatable --capacity cpu=3 --cgroup-version 1,2").run();
    assert_eq!(other.code, 2, "{}", other.text());
    assert!(other.stderr.contains("kq cgroup plan --cgroup-version 1,2"), "{}", other.text());
}

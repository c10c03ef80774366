//! `kq evict rank`, asked about a made-up node: with the kubelet's measurements, and without.

use super::fake_node::FakeNode;
use super::lookups::made_up;
use super::{Run, folder_with, kq};
use crate::edges::http_server::{Server, Wire, answer};
use crate::objects;
use serde_json::{Value, json};
use snapbox::str;
use tempfile::TempDir;

const PODS: &str = include_str!("../../../examples/eviction/pods.json");
const SUMMARY: &str = include_str!("../../../examples/eviction/summary.json");

/// What of the node differs from the example.
fn example() -> (Value, Value) {
    let read = |text| serde_json::from_str(text).expect("an example is JSON");
    (read(PODS), read(SUMMARY))
}

/// Stores a node as a snapshot with these pods, the kubelet's measurements and its configuration.
fn stored(pods: &Value, summary: &Value, config: Value) -> TempDir {
    let pods = pods["items"].as_array().expect("pods").iter().cloned();
    let pods = objects::loaded(pods.map(Into::into));
    let snapshot = json!({
        "apiVersion": "kq/v1", "kind": "NodeSnapshot", "takenAt": "2026-11-20T12:00:00Z",
        "nodeName": made_up("node-a"),
        "kubeletVersion": made_up("v1.36.2"),
        "kubeletConfig": made_up(json!({"value": config, "readAs": "configz"})),
        "pods": made_up(json!({"source": "kubelet", "pods": pods})),
        "statsSummary": made_up(summary.clone()),
    });
    folder_with(&[("node.json", snapshot.to_string())])
}

fn asked(folder: &TempDir, signal: &str) -> Run {
    kq(&format!("evict rank --signal {signal} --snapshot node.json")).within(folder.path())
}

fn of_files(line: &str) -> Run {
    let files = "--pods examples/eviction/pods.json --stats examples/eviction/summary.json";
    kq(&format!("evict rank {files} {line}"))
}

/// Returns rank and name of each pod.
pub(super) fn places(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().expect("an order has items");
    let text = |item: &Value| format!("{} {}", item["rank"], item["name"].as_str().unwrap_or("?"));
    items.iter().map(text).collect()
}

#[test]
fn memory_has_no_way_out() {
    of_files("--signal memory").shows(str![[r#"
SIGNAL     memory.available (MemoryPressure)
USAGE      as the kubelet measured it: examples/eviction/summary.json
NOW        crossed: memory.available 80Mi, threshold 100Mi
NOW        not crossed: allocatableMemory.available 600Mi, threshold 100Mi, 500Mi to go
BEFORE     nothing is reclaimed for memory.available: a pod is evicted
FIRST      shop/new

SIGNAL                        KIND   THRESHOLD   AVAILABLE   MARGIN   CROSSED   WOULD-RECLAIM
memory.available              hard   100Mi       80Mi        -20Mi    yes       nothing
allocatableMemory.available   hard   100Mi       600Mi       500Mi    no        nothing

RANK   POD               PRIORITY     REQUEST   USAGE     OVER      EXCEEDS   CRITICAL   WHY THERE
1      shop/new          1000         64Mi      unknown   unknown   unknown   no         no stats: before pods that were measured
2      shop/cache        0            0         200Mi     200Mi     yes       no         more over its request: 200Mi, then 26Mi
3      shop/batch        0            64Mi      90Mi      26Mi      yes       no         lower priority: 0, then 1000
4      shop/web          1000         256Mi     300Mi     44Mi      yes       no         lower priority: 1000, then 2000001000
5      kube-system/dns   2000001000   10Mi      50Mi      40Mi      yes       spared     exceeds its request, the next does not
6-7    shop/worker-1     100          1Gi       700Mi     -324Mi    no        no         equal to one other: any order; the last
6-7    shop/worker-2     100          1Gi       700Mi     -324Mi    no        no         equal to one other: any order; the last
--- stderr
assumed: no kubelet configuration was passed: the defaults apply, apart from --set (--kubelet-config FILE)
assumed: the kubelet is of version 1.36, the newest that kq knows as a whole (--kubelet-version)
--- exit 0

"#]]);
}

#[test]
fn disks_are_cleared_first_and_shown_part_by_part() {
    let soft = json!({"evictionSoft": {"nodefs.available": "15%"},
                      "evictionSoftGracePeriod": {"nodefs.available": "1m30s"},
                      "evictionMinimumReclaim": {"nodefs.available": "500Mi"},
                      "evictionMaxPodGracePeriod": 10});
    let (pods, summary) = example();
    let folder = stored(&pods, &summary, soft);
    asked(&folder, "disk").arg("-owide").shows(str![[r#"
SIGNAL     nodefs.available (DiskPressure)
USAGE      as the kubelet measured it: made up
DISKS      one for everything: the kubelet measures imagefs and nodefs as equally large; the folder of writable layers is unknown: assumed to be with the images
COUNTED    writable layers, logs, local volumes
NOW        crossed: nodefs.available 8Gi, threshold 10% of 100Gi = 10Gi; once crossed, it counts as crossed until 500Mi more than the threshold are left
NOW        crossed: nodefs.available 8Gi, threshold 15% of 100Gi = 15Gi; soft: a pod is evicted once crossed for 1m30s, which kq cannot know; once crossed, it counts as crossed until 500Mi more than the threshold are left
BEFORE     memory comes before nodefs.available, and is crossed: memory.available 80Mi, threshold 100Mi
BEFORE     dead containers are removed, then unused images; no pod is evicted if that is enough (kq gc dry-run --trigger eviction)
FIRST      shop/new

SIGNAL             KIND         THRESHOLD             AVAILABLE   MARGIN   CROSSED   WOULD-RECLAIM
nodefs.available   hard         10% of 100Gi = 10Gi   8Gi         -2Gi     yes       containers, images
nodefs.available   soft 1m30s   15% of 100Gi = 15Gi   8Gi         -7Gi     yes       containers, images

RANK   POD               PRIORITY     REQUEST   USAGE     OVER      EXCEEDS   CRITICAL   LAYERS    LOGS      VOLUMES   SOFT-GRACE   COUNTED-AS-0   UID          WHY THERE
1      shop/new          1000         0         unknown   unknown   unknown   no         unknown   unknown   unknown   10s          -              u-new        no stats: before pods that were measured
2      shop/cache        0            0         906Mi     906Mi     yes       no         5Mi       1Mi       900Mi     10s          -              u-cache      more over its request: 906Mi, then 21Mi
3      shop/batch        0            0         21Mi      21Mi      yes       no         20Mi      1Mi       0         10s          -              u-batch      lower priority: 0, then 1000
4      shop/web          1000         0         160Mi     160Mi     yes       no         40Mi      120Mi     0         5s           -              u-web        lower priority: 1000, then 2000001000
5      kube-system/dns   2000001000   0         2Mi       2Mi       yes       spared     1Mi       1Mi       0         10s          -              u-dns        exceeds its request, the next does not
6-7    shop/worker-1     100          1Gi       31Mi      -993Mi    no        no         30Mi      1Mi       0         10s          -              u-worker-1   equal to one other: any order; the last
6-7    shop/worker-2     100          1Gi       31Mi      -993Mi    no        no         30Mi      1Mi       0         10s          -              u-worker-2   equal to one other: any order; the last
--- exit 0

"#]]);
}

#[test]
fn processes_are_not_requested() {
    of_files("--signal pid.available --set 'evictionHard={pid.available: 5%}'").shows(str![[r#"
SIGNAL     pid.available (PIDPressure)
USAGE      as the kubelet measured it: examples/eviction/summary.json
NOW        not crossed: pid.available 32068, threshold 5% of 32768 = 1638, 30430 to go
BEFORE     nothing is reclaimed for pid.available: a pod is evicted
FIRST      shop/cache

SIGNAL          KIND   THRESHOLD            AVAILABLE   MARGIN   CROSSED   WOULD-RECLAIM
pid.available   hard   5% of 32768 = 1638   32068       30430    no        nothing

RANK   POD               PRIORITY     REQUEST   USAGE     OVER   EXCEEDS   CRITICAL   WHY THERE
1      shop/cache        0            -         12        -      -         no         more processes: 12, then 4
2      shop/batch        0            -         4         -      -         no         lower priority: 0, then 100
3-4    shop/worker-1     100          -         40        -      -         no         equal to one other: any order; lower priority: 100, then 1000
3-4    shop/worker-2     100          -         40        -      -         no         equal to one other: any order; lower priority: 100, then 1000
5      shop/new          1000         -         unknown   -      -         no         no stats: before pods that were measured
6      shop/web          1000         -         25        -      -         no         lower priority: 1000, then 2000001000
7      kube-system/dns   2000001000   -         3         -      -         spared     the last
--- stderr
assumed: no kubelet configuration was passed: the defaults apply, apart from --set (--kubelet-config FILE)
assumed: the kubelet is of version 1.36, the newest that kq knows as a whole (--kubelet-version)
--- exit 0

"#]]);
}

#[test]
fn the_answer_as_data() {
    let (mut pods, summary) = example();
    pods["items"].as_array_mut().expect("pods").truncate(2);
    let folder = stored(&pods, &summary, json!({}));
    asked(&folder, "inodes").arg("-oyaml").shows(str![[r#"
apiVersion: kq/v2
kind: EvictionRank
headline:
  code: first
  text: shop/cache would be evicted first; 850000 to go
at: "2026-11-20T12:00:00Z"
signal: nodefs.inodesFree
resource: inodes
condition: DiskPressure
usage:
  from: statsSummary
  source: made up
layout:
  dedicatedImageFs: false
  splitContainerImageFs: false
  because:
  - code: sameSize
    text: the kubelet measures imagefs and nodefs as equally large
  - code: folderOfLayersUnknown
    text: "the folder of writable layers is unknown: assumed to be with the images"
  sources:
    containerfs: the kubelet's stats summary
    imagefs: the kubelet's stats summary
    nodefs: the kubelet's stats summary
counted:
  root: true
  logs: true
  localVolumes: true
thresholds:
- signal: nodefs.inodesFree
  gracePeriod: 0s
  configured: 5%
  threshold: 50000
  minReclaim: null
  available: 900000
  capacity: 1000000
  margin: 850000
  met: false
  reclaim:
  - deleteAllUnusedContainers
  - deleteUnusedImages
now:
- code: notCrossed
  threshold:
    signal: nodefs.inodesFree
    gracePeriod: 0s
    configured: 5%
    threshold: 50000
    minReclaim: null
    available: 900000
    capacity: 1000000
    margin: 850000
    met: false
    reclaim:
    - deleteAllUnusedContainers
    - deleteUnusedImages
  text: "not crossed: nodefs.inodesFree 900000, threshold 5% of 1000000 = 50000, 850000 to go"
reclaim:
- deleteAllUnusedContainers
- deleteUnusedImages
before:
- code: memoryFirst
  signal: nodefs.inodesFree
  threshold:
    signal: memory.available
    gracePeriod: 0s
    configured: 100Mi
    threshold: 104857600
    minReclaim: null
    available: 83886080
    capacity: 4294967296
    margin: -20971520
    met: true
    reclaim: []
  text: "memory comes before nodefs.inodesFree, and is crossed: memory.available 80Mi, threshold 100Mi"
- code: reclaim
  signal: nodefs.inodesFree
  reclaim:
  - deleteAllUnusedContainers
  - deleteUnusedImages
  text: >-
    dead containers are removed, then unused images; no pod is evicted if that is
    enough (kq gc dry-run --trigger eviction)
reclaimed: null
first:
  oneOf:
  - namespace: shop
    name: cache
    uid: u-cache
  spared: []
  overOwnLimits: false
items:
- rank: 1
  lastRank: 1
  namespace: shop
  name: cache
  uid: u-cache
  priority: 0
  request: 0
  usage: 952
  over: 952
  exceeds: true
  unmeasured: []
  critical: false
  softGraceSeconds: 0
  parts:
    root: 50
    logs: 2
    localVolumes: 900
  decidedBy: moreOver
  because:
  - code: moreOver
    over: 952
    nextOver: 202
    text: "more over its request: 952, then 202"
- rank: 2
  lastRank: 2
  namespace: shop
  name: batch
  uid: u-batch
  priority: 0
  request: 0
  usage: 202
  over: 202
  exceeds: true
  unmeasured: []
  critical: false
  softGraceSeconds: 0
  parts:
    root: 200
    logs: 2
    localVolumes: 0
  decidedBy: null
  because:
  - code: last
    text: the last
facts: {}
assumptions: []
missing: []
warnings:
- text: "stats of pods that cannot be evicted: shop/worker-1 and 3 more; the kubelet ranks only its own active pods"
  code: otherPodStats
  about: null
--- exit 0

"#]]);
}

#[test]
fn files_and_snapshots_of_one_node_give_one_order() {
    let (pods, summary) = example();
    let folder = stored(&pods, &summary, json!({}));
    for signal in ["memory", "disk", "nodefs.inodesFree", "imagefs", "containerfs", "pid"] {
        let items = |run: Run| run.json()["items"].clone();
        let of_files = items(of_files(&format!("--signal {signal}")));
        assert_eq!(items(asked(&folder, signal)), of_files, "{signal}");
        assert_eq!(of_files.as_array().map(Vec::len), Some(7), "{signal}");
    }
}

#[test]
fn only_what_may_be_evicted_is_ranked() {
    let (mut pods, mut summary) = example();
    let change = |pod: &mut Value, path: &str, value: Value| {
        *pod.pointer_mut(path).expect("a field") = value;
    };
    change(&mut pods["items"][0], "/status/phase", json!("Succeeded"));
    change(&mut pods["items"][1], "/spec/nodeName", json!("node-b"));
    let mut waits = pods["items"][1].clone();
    waits["metadata"]["uid"] = json!("waits");
    waits["spec"]["nodeName"] = json!("");
    waits["status"] = json!({"phase": "Pending"});
    pods["items"].as_array_mut().expect("a list").push(waits);
    pods["items"][2]["spec"]["priority"] = Value::Null;
    pods["items"][2]["spec"]["priorityClassName"] = json!("high");
    // The working set of one is not told.
    change(&mut summary["pods"][3], "/memory", json!({}));
    let folder = stored(&pods, &summary, json!({}));
    let ran = asked(&folder, "memory").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for said in [
        "assumed: 1 pod on other nodes than node-a: not counted",
        "assumed: 1 pod not bound to a node: not counted",
        "assumed: 1 pod with a class and no priority",
        "warning: stats of pods that cannot be evicted: shop/batch and 1 more",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
    let answer = asked(&folder, "memory").json();
    let expected = ["1 new", "2 web", "3 dns", "4 worker-1", "5 worker-2"];
    assert_eq!(places(&answer), expected);
    let blind = &answer["items"][4];
    assert_eq!((&blind["usage"], &blind["unmeasured"]), (&json!(0), &json!(["the working set"])));
    assert!(ran.stdout.contains("0 (in part)"), "{}", ran.stdout);
}

#[test]
fn a_kubelet_knows_its_name_better_than_its_machine() {
    let (mut pods, mut summary) = example();
    let name = json!("node-a.internal");
    summary["node"]["nodeName"] = name.clone();
    for pod in pods["items"].as_array_mut().expect("pods") {
        pod["spec"]["nodeName"] = name.clone();
    }
    let folder = stored(&pods, &summary, json!({}));
    let answer = asked(&folder, "memory").json();
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(7), "{answer}");
    // A summary of a file may be another's.
    std::fs::write(folder.path().join("sum.json"), summary.to_string()).expect("a file");
    let ran = asked(&folder, "memory").arg("--stats=sum.json").run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let said = "sum.json has the stats of node node-a.internal, not of node-a";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn a_pod_that_is_read_twice_is_ranked_once() {
    let once = of_files("--signal memory").json();
    let twice = of_files("--signal memory --pods examples/eviction/pods.json").json();
    assert_eq!(twice["items"], once["items"]);
    assert_eq!(
        twice["warnings"],
        json!([{
            "text": "kube-system/dns and 6 others are listed more than once: the last one counts, \
                     once",
            "code": "duplicatePod",
            "about": null
        }])
    );
}

#[test]
fn what_was_allocated_counts_and_not_what_is_desired() {
    let (mut pods, summary) = example();
    pods["items"][0]["spec"]["containers"][0]["resources"]["requests"]["memory"] = json!("1Gi");
    let folder = stored(&pods, &summary, json!({}));
    let path = folder.path().join("node.json");
    let mut snapshot: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON");
    let data = json!({"entries": {"u-batch": {"ContainerResources": {
        "app": {"requests": {"memory": "32Mi"}}}, "PodLevelResources": null}}});
    let file = json!({"data": data.to_string(), "checksum": 1}).to_string();
    snapshot["stateFiles"] = json!({"folder": "/var/lib/kubelet",
                                    "files": {"allocated_pods_state": {"read": file}}});
    std::fs::write(&path, snapshot.to_string()).expect("a file can be written");
    let request = |folder: &TempDir, flags: &str| {
        let answer = asked(folder, flags).json();
        let items = answer["items"].as_array().expect("items");
        let batch = items.iter().find(|it| it["name"] == "batch").expect("the pod");
        batch["request"].as_i64()
    };
    assert_eq!(request(&folder, "memory"), Some(32 << 20), "by the kubelet's file");
    let as_asked = request(&folder, "memory --kubelet-version 1.32");
    assert_eq!(as_asked, Some(1 << 30), "kubelets of 1.32 keep none");
    pods["items"][0]["status"]["containerStatuses"] =
        json!([{"name": "app", "allocatedResources": {"memory": "64Mi"}, "resources": {}}]);
    let folder = stored(&pods, &summary, json!({}));
    assert_eq!(request(&folder, "memory"), Some(64 << 20), "by the status");
}

#[test]
#[cfg_attr(not(feature = "cri"), ignore = "such a build says something else of the runtime")]
fn without_the_kubelet_cgroups_are_counted() {
    let node = FakeNode::as_planned();
    let (web, batch) = ("/kubepods/burstable/podaaaa-1", "/kubepods/besteffort/podbbbb-2");
    let none = node.with_pods("evict rank --signal memory").run();
    assert_eq!(none.code, 3, "{}", none.stdout);
    assert!(none.stderr.contains("2 pods have no usage in their cgroups"), "{}", none.stderr);
    for (pod, current) in [(web, "104857600"), (batch, "20971520")] {
        node.set(pod, "memory.current", current);
        node.set(pod, "memory.stat", "anon 1\ninactive_file 10485760");
    }
    node.with_pods("evict rank --signal memory").shows(str![[r#"
SIGNAL     memory.available (MemoryPressure)
USAGE      measured on the machine: the kubelet did not answer: the cgroups, /proc, statfs
NOW        unknown whether it is crossed: memory.available ?, threshold 100Mi
NOW        unknown whether it is crossed: allocatableMemory.available ?, threshold 100Mi
BEFORE     nothing is reclaimed for memory.available: a pod is evicted
FIRST      shop/web

SIGNAL                        KIND   THRESHOLD   AVAILABLE   MARGIN   CROSSED   WOULD-RECLAIM
memory.available              hard   100Mi       ?           ?        unknown   nothing
allocatableMemory.available   hard   100Mi       ?           ?        unknown   nothing

RANK   POD          PRIORITY   REQUEST   USAGE   OVER   EXCEEDS   CRITICAL   WHY THERE
1      shop/web     0          64Mi      90Mi    26Mi   yes       no         more over its request: 26Mi, then 10Mi
2      shop/batch   0          0         10Mi    10Mi   yes       no         the last
--- stderr
assumed: the kubelet is of version 1.36, the newest that kq knows as a whole (--kubelet-version)
warning: the container runtime did not answer; name it with --runtime-endpoint (unix:///run/containerd/containerd.sock (containerd's usual socket): no such file or directory; unix:///run/crio/crio.sock (CRI-O's usual socket): no such file or directory; unix:///var/run/crio/crio.sock (CRI-O's usual socket): no such file or directory; unix:///run/cri-dockerd.sock (cri-dockerd's usual socket): no such file or directory; unix:///run/k3s/containerd/containerd.sock (the usual socket of k3s and rke2): no such file or directory; unix:///var/snap/microk8s/common/run/containerd.sock (the usual socket of microk8s): no such file or directory; unix:///run/k0s/containerd.sock (the usual socket of k0s): no such file or directory)
missing: the kubelet's own stats, so it may rank by other numbers; limits of local storage are assumed not to be exceeded: http://127.0.0.1:1/stats/summary: 127.0.0.1:1 refused the connection
--- exit 3

"#]]);
    let ran = node.with_pods("evict rank --signal pid -ojson").run();
    let answer: Value = ran.answer();
    assert_eq!((ran.code, places(&answer)), (3, vec!["1 web".to_owned(), "2 batch".to_owned()]));
    assert_eq!(
        (&answer["items"][0]["usage"], &answer["usage"]["from"]),
        (&json!(2), &json!("cgroups"))
    );
    let disk = node.with_pods("evict rank --signal disk").run();
    assert!(disk.code == 3 && !disk.stdout.contains("shop/web"), "{}", disk.stdout);
    for said in ["the kubelet's stats: http://127.0.0.1:1", "--stats FILE"] {
        assert!(disk.stderr.contains(said), "{}", disk.stderr);
    }
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let files = [
        ("pods.json", PODS),
        ("summary.json", SUMMARY),
        ("negative.json", r#"{"node":{},"pods":[{"memory":{"workingSetBytes":-5}}]}"#),
        ("list.json", r#"{"kind":"PodList","items":[]}"#),
        ("word.json", "Unauthorized"),
        ("blind.json", r#"{"node":{},"pods":[]}"#),
        (
            "kubelet.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
             evictionSoft: {pid.available: 5 %}\n",
        ),
    ];
    let folder = folder_with(&files);
    for (line, code, said) in [
        ("--signal mem --stats summary.json", 2, "[possible values: memory, disk, inodes, imagefs"),
        ("--signal memory --stats gone.json", 3, "cannot read gone.json"),
        ("--signal memory --stats word.json", 2, "word.json: not JSON"),
        ("--signal memory --stats list.json", 2, "list.json: not a summary: it has no node"),
        (
            "--signal memory --stats negative.json",
            2,
            "negative.json: not a summary: pods[0].memory.workingSetBytes: invalid value: integer `-5`",
        ),
        (
            "--signal memory --stats summary.json --set 'evictionHard={memory.available: \"-1\"}'",
            2,
            "in --set: eviction threshold memory.available must be positive: -1",
        ),
        (
            "--signal memory --stats summary.json --kubelet-config kubelet.yaml",
            3,
            "the kubelet refuses evictionSoft.pid.available \"5 %\" in kubelet.yaml: ",
        ),
        (
            "--signal memory --stats summary.json --set evictionHard=memory.available=10Gi,pid.available=5%",
            2,
            "hint: --set evictionHard.memory.available=10Gi --set evictionHard.pid.available=5%",
        ),
        (
            "--signal memory --stats summary.json --set evictionHard=5",
            2,
            "evictionHard is 5, expected a map of names to values\nhint: --set evictionHard.NAME=VALUE",
        ),
        (
            "--signal memory --stats blind.json",
            3,
            "missing: the available amount of memory.available: not in blind.json",
        ),
    ] {
        let ran = kq(&format!("evict rank --pods pods.json {line}")).within(folder.path()).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}

#[test]
fn what_the_kubelet_answers_is_taken() {
    let node = FakeNode::as_planned();
    let summary = json!({"node": {"memory": {"availableBytes": 1, "workingSetBytes": 2}}, "pods": [
        {"podRef": {"uid": "aaaa-1"}, "memory": {"workingSetBytes": 134_217_728}},
        {"podRef": {"uid": "bbbb-2"}, "memory": {"workingSetBytes": 4096}}]});
    let kubelet = Server::saying(Wire::Plain, answer("200 OK", &[], &summary.to_string()));
    let url = kubelet.url("http");
    let line = format!(
        "evict rank --signal memory --host-root root --pods pods.json --kubelet-config kubelet.yaml \
         --kubelet-url {url}"
    );
    let told = kq(&line).within(node.folder()).json();
    assert_eq!(places(&told), ["1 web", "2 batch"]);
    assert_eq!(
        told["usage"],
        json!({"from": "statsSummary", "source": format!("{url}/stats/summary")})
    );
    assert_eq!(told["thresholds"][0]["met"], true);
}

#[cfg(feature = "cri")]
#[test]
fn static_pods_of_the_folder_are_known_and_the_others_are_missed() {
    use super::made_up_node::{Kernel, MANIFEST, Node, PROXY, WEB};
    let node = Node::new(Kernel::V2);
    // The kubelet makes the UID up.
    let manifest = MANIFEST.replace(&format!("  uid: {PROXY}\n"), "");
    node.write("/etc/kubernetes/manifests/proxy.yaml", manifest);
    let _runtime = super::sources::Sources::runtime(&node);
    let measured = |name: &str, namespace: &str, uid: &str| {
        json!({
            "podRef": {"name": name, "namespace": namespace, "uid": uid},
            "memory": {"workingSetBytes": 4096},
        })
    };
    let pods = [measured("web", "shop", WEB), measured("proxy-worker-1", "kube-system", PROXY)];
    let memory = json!({"availableBytes": 1, "workingSetBytes": 2});
    let summary = json!({"node": {"nodeName": "worker-1", "memory": memory}, "pods": pods});
    let summary = answer("200 OK", &[], &summary.to_string());
    // It lets nobody list pods, and there is no API server.
    let kubelet = Server::start(Wire::Plain, move |_, seen, to| {
        let said = match seen.line.split(' ').nth(1) {
            Some("/stats/summary") => summary.clone(),
            _ => answer("403 Forbidden", &[], ""),
        };
        to.write_all(said.as_bytes())
    });
    let (root, url) = (node.root().display().to_string(), kubelet.url("http"));
    let ran =
        kq(&format!("evict rank --signal memory --host-root {root} --kubelet-url {url}")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let first = "FIRST      unknown: all known pods are critical, and others are unknown";
    assert!(ran.stdout.contains(first), "{}", ran.text());
    assert!(ran.stdout.contains("kube-system/proxy-worker-1"), "{}", ran.text());
    let missing = "the specifications of shop/web are not known";
    assert!(ran.stderr.contains(missing), "{}", ran.text());
}

//! `kq gc dry-run --trigger eviction`, asked about made-up snapshots: one device, two, three.

use super::contract::Reason;
use super::contract_live::Threshold;
use super::lookups::{made_up, not_asked, refused};
use super::{folder_with, kq};
use crate::objects;
use serde::Deserialize;
use serde_json::{Value, json};
use snapbox::str;
use std::collections::BTreeMap;
use tempfile::TempDir;

const IMAGES: &str = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs";
const USED: &str = "sha256:aaaa000000000000000000000000000000000000000000000000000000000000";
const UNUSED: &str = "sha256:bbbb000000000000000000000000000000000000000000000000000000000000";
const GIB: u64 = 1 << 30;

/// What differs between the nodes.
struct Node {
    /// Device, size and what is left, of the kubelet's root folder, of images, of writable layers.
    disks: [Option<(&'static str, u64, u64)>; 3],
    endpoint: &'static str,
    config: Value,
    stats: Option<Value>,
    storage: bool,
}

impl Default for Node {
    /// One disk of 100Gi with 50Gi left, under containerd; nothing else is known.
    fn default() -> Self {
        Self {
            disks: [Some(("8:1", 100, 50)), Some(("8:1", 100, 50)), None],
            endpoint: "unix:///run/containerd/containerd.sock",
            config: json!({}),
            stats: None,
            storage: true,
        }
    }
}

/// Returns nanoseconds since 1970, some seconds before the moment of the snapshot.
fn before(seconds: i64) -> i64 {
    (1_795_176_000 - seconds) * 1_000_000_000
}

fn folder(path: &str, (device, capacity, available): (&str, u64, u64)) -> Value {
    json!({"path": path, "filesystem": made_up(json!({
        "mountPoint": "/", "device": device, "kind": "ext4", "capacityBytes": capacity * GIB,
        "freeBytes": available * GIB, "availableBytes": available * GIB,
        "inodes": 1_000_000, "inodesFree": 900_000}))})
}

fn container(id: &str, uid: &str, state: &str, attempt: u32) -> Value {
    json!({"id": id, "sandboxId": format!("{uid}-sandbox"), "name": "app", "podUid": uid,
           "attempt": attempt, "state": state, "image": USED, "imageRef": USED, "imageId": USED,
           "createdAt": before(7200 - i64::from(attempt))})
}

/// Returns what the kubelet measures: the pods' writable layers in GiB, and memory enough.
fn stats(web: u64, batch: u64) -> Value {
    let pod = |name: &str, uid: &str, used: u64| {
        json!({"podRef": {"name": name, "namespace": "shop", "uid": uid},
               "ephemeral-storage": {"usedBytes": used * GIB},
               "containers": [{"name": "app", "rootfs": {"usedBytes": used * GIB},
                               "logs": {"usedBytes": 0}}]})
    };
    json!({"node": {"nodeName": "node-a",
                    "memory": {"availableBytes": 4 * GIB, "workingSetBytes": 4 * GIB}},
           "pods": [pod("web", "u1", web), pod("batch", "u2", batch)]})
}

impl Node {
    fn snapshot(&self) -> Value {
        let [kubelet, images, containers] = self.disks;
        let mut folders = serde_json::Map::new();
        for (role, path, disk) in [
            ("kubelet", "/var/lib/kubelet", kubelet),
            ("images", IMAGES, images),
            ("containers", "/layers", containers),
        ] {
            if let Some(disk) = disk {
                folders.insert(role.to_owned(), folder(path, disk));
            }
        }
        let usage = |path: &str| json!({"mountpoint": path, "usedBytes": 1, "inodesUsed": 1, "timestamp": before(10)});
        let layers = if containers.is_some() { "/layers" } else { IMAGES };
        let mut config = json!({"apiVersion": "kubelet.config.k8s.io/v1beta1",
                                "kind": "KubeletConfiguration",
                                "containerRuntimeEndpoint": self.endpoint});
        for (field, value) in self.config.as_object().expect("an object") {
            config[field] = value.clone();
        }
        let storage = match self.storage {
            true => made_up(json!({"pieces": [
                {"name": "used", "bytes": GIB, "images": [USED]},
                {"name": "unused", "bytes": 3 * GIB, "images": [UNUSED]}]})),
            false => refused("made up", "not told"),
        };
        let pods =
            [objects::pod("shop/web").uid("u1").priority(10), objects::pod("shop/batch").uid("u2")];
        let pods = pods.map(|pod| {
            let pod = pod.set("/spec/containers/0/name", "app");
            pod.requests("ephemeral-storage=1Gi").limits("ephemeral-storage=60Gi")
        });
        json!({
            "apiVersion": "kq/v1", "kind": "NodeSnapshot",
            "takenAt": "2026-11-20T12:00:00Z", "takenBy": "a test",
            "hostRoot": {"path": "/", "because": "made up"},
            "host": {"texts": {}, "pageSize": 4096},
            "nodeName": made_up("node-a"),
            "kubelet": not_asked(),
            "kubeletVersion": made_up("v1.36.2"),
            "kubeletConfig": made_up(json!({
                "value": config, "readAs": "configz", "origins": {}, "notes": []})),
            "node": not_asked(),
            "pods": made_up(json!({"source": "kubelet", "leftOut": [], "notes": [],
                                 "pods": objects::loaded(pods)})),
            "runtime": made_up(json!({
                "endpoint": self.endpoint,
                "version": {"runtimeName": "containerd", "runtimeVersion": "1.7.24",
                            "runtimeApiVersion": "v1"},
                "cgroupDriver": not_asked(), "lowLevel": not_asked(),
                "sandboxes": made_up(json!([
                    {"id": "u1-sandbox", "name": "web", "namespace": "shop", "uid": "u1",
                     "attempt": 0, "ready": true, "createdAt": before(9000), "runtimeHandler": ""},
                    {"id": "u2-sandbox", "name": "batch", "namespace": "shop", "uid": "u2",
                     "attempt": 0, "ready": true, "createdAt": before(9000), "runtimeHandler": ""}])),
                "containers": made_up(json!([
                    container("c1", "u1", "running", 2), container("c2", "u1", "exited", 1),
                    container("c3", "u1", "exited", 0), container("c4", "u2", "running", 0)])),
                "containerStatuses": not_asked(),
                "images": made_up(json!([
                    {"id": USED, "repoTags": ["shop.test/web:v1"], "repoDigests": [], "size": GIB,
                     "pinned": false},
                    {"id": UNUSED, "repoTags": ["shop.test/old:v1"], "repoDigests": [],
                     "size": 2 * GIB, "pinned": false}])),
                "imageFilesystems": made_up(json!({"image": [usage(IMAGES)],
                                                 "container": [usage(layers)]})),
                "writableLayers": made_up(json!([
                    {"id": "c3", "usedBytes": GIB, "inodesUsed": 12}])),
                "imageStorage": storage,
            })),
            "stateFiles": null,
            "cgroups": not_asked(),
            "folders": folders,
            "statsSummary": self.stats.clone().map_or_else(
                || refused("https://127.0.0.1:10250/stats/summary", "refused"),
                made_up,
            ),
        })
    }

    fn stored(&self) -> TempDir {
        folder_with(&[("node.json", self.snapshot().to_string())])
    }
}

fn asked(folder: &TempDir, line: &str) -> super::Run {
    let fixed = "gc dry-run --trigger eviction --snapshot node.json --kubelet-start 36h";
    kq(&format!("{fixed} {line}")).within(folder.path())
}

/// Returns the lines of the answer with a heading.
fn lines(text: &str, heading: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(heading));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn without_pressure_it_says_so_first_and_then_what_would_go() {
    let folder = Node::default().stored();
    asked(&folder, "").shows(str![[r#"
TRIGGER      eviction at 2026-11-20T12:00:00Z
FILE SYSTEM  /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs (ext4 on /)
DECISION     nothing would be reclaimed now: imagefs.available 50Gi, threshold 15% of 100Gi = 15Gi, 35Gi to go
DECISION     the plan assumes that imagefs.available is below its threshold
DECISION     under disk pressure, all unused images older than imageMinimumGCAge 2m0s are removed; thresholds do not matter
CONTAINERS   1 dead containers and 0 sandboxes go first
FREED        1 of 2 images, 2Gi as the kubelet counts (between 0 and 2Gi); really free: 3Gi
OUTCOME      the bytes really freed, 3Gi, bring the usage from 50% to 47%
DISKS        one for everything: images and the kubelet's root folder are on device 8:1; the runtime names one folder for images and writable layers

SIGNAL                   KIND   THRESHOLD               AVAILABLE   MARGIN   CROSSED   WOULD-RECLAIM
imagefs.available        hard   15% of 100Gi = 15Gi     50Gi        35Gi     no        containers, images
imagefs.inodesFree       hard   5% of 1000000 = 50000   900000      850000   no        containers, images
nodefs.available         hard   10% of 100Gi = 10Gi     50Gi        40Gi     no        containers, images
nodefs.inodesFree        hard   5% of 1000000 = 50000   900000      850000   no        containers, images
containerfs.available    hard   10% of 100Gi = 10Gi     50Gi        40Gi     no        containers, images
containerfs.inodesFree   hard   5% of 1000000 = 50000   900000      850000   no        containers, images

ORDER   IMAGE              ID              SIZE   VERDICT        CERTAINTY   REASON
1       shop.test/old:v1   bbbb000000000   2Gi    REMOVE-SPACE   possible    not in use; no use is known, first found 36h ago
-       shop.test/web:v1   aaaa000000000   1Gi    IN-USE         certain     used by shop/batch/app (running) and 2 more
--- stderr
kubelet start: 2026-11-19T00:00:00Z (--kubelet-start)
missing: when images were first found and last used: only the kubelet knows; kq gc record keeps records of its own
missing: not all pods are known, so the dead containers of the others are taken to stay: no source with all pods was queried
missing: the kubelet's stats are unknown: memory and processes are assumed not to be short, and limits of local storage not to be exceeded: https://127.0.0.1:10250/stats/summary: refused
missing: folders of logs: the kubelet removes those of pods that are gone along with dead containers; kq does not read them, and kq gc apply leaves them
hint: to keep an image, pin it: ctr -n k8s.io images label IMAGE io.cri-containerd.pinned=pinned
--- exit 0

"#]]);
}

#[test]
fn pressure_says_what_is_reclaimed_and_who_goes() {
    let full = |left| [Some(("8:1", 100, left)), Some(("8:1", 100, left)), None];
    let split = |node, images, layers| {
        [Some(("8:1", 100, node)), Some(("8:2", 100, images)), Some(("8:3", 100, layers))]
    };
    let crio = "unix:///var/run/crio/crio.sock";
    let soft = json!({"evictionSoft": {"imagefs.available": "20%"},
                      "evictionSoftGracePeriod": {"imagefs.available": "2m"}});
    let reclaim = json!({"evictionMinimumReclaim": {"imagefs.available": "1Gi"}});
    let no_gate = json!({"featureGates": {"KubeletSeparateDiskGC": false}});
    let told = Node { stats: Some(stats(5, 6)), ..Node::default() };
    // Node, flags; part of the first decision, verdict of the unused image, dead containers go, exit
    // code, part of the last outcome.
    let rows = [
        (
            "enough, if the image goes",
            Node { disks: full(12), stats: told.stats.clone(), ..Node::default() },
            "",
            "crossed: imagefs.available 12Gi, threshold 15% of 100Gi = 15Gi; dead containers are removed, \
             then unused images",
            "removedForSpace",
            true,
            3,
            "imagefs.available: unknown whether reclaiming is enough (images free between 0 and",
        ),
        (
            "enough without any doubt",
            Node {
                disks: full(12),
                stats: told.stats.clone(),
                config: json!({"evictionHard": {"imagefs.available": "13Gi"}}),
                ..Node::default()
            },
            "",
            "crossed: imagefs.available 12Gi, threshold 13Gi; dead containers",
            "removedForSpace",
            true,
            0,
            "imagefs.available: reclaiming is enough, and no pod is evicted",
        ),
        (
            "not enough with the minimum reclaim",
            Node { disks: full(11), stats: told.stats.clone(), config: reclaim, ..Node::default() },
            "",
            "crossed: imagefs.available 11Gi",
            "removedForSpace",
            true,
            1,
            "is evicted within 1s: The node was low on resource: ephemeral-storage. Threshold quantity: \
             16106128000, available: 11Gi. Container app was using 6Gi, request is 1Gi",
        ),
        (
            "assumed",
            Node::default(),
            "--at-usage 95",
            "crossed: imagefs.available 5Gi",
            "removedForSpace",
            true,
            1,
            "the pod that would be evicted is unknown: the pods' usage is unknown: https://127.0.0.1:10250",
        ),
        (
            "only the kubelet's disk, images apart",
            Node {
                disks: [Some(("8:1", 100, 4)), Some(("8:2", 100, 50)), None],
                stats: told.stats.clone(),
                ..Node::default()
            },
            "",
            "crossed: nodefs.available 4Gi, threshold 10% of 100Gi = 10Gi; nothing is reclaimed for it: a \
             pod is evicted",
            "notWanted",
            false,
            1,
            "nodefs.available: reclaiming is not enough (nothing is reclaimed for it); shop/",
        ),
        (
            "three disks, images",
            Node { disks: split(50, 4, 50), endpoint: crio, ..Node::default() },
            "",
            "crossed: imagefs.available 4Gi, threshold 15% of 100Gi = 15Gi; unused images are removed, \
             and containers stay",
            "removedForSpace",
            false,
            1,
            "imagefs.available: reclaiming is not enough",
        ),
        (
            "three disks, layers",
            Node {
                disks: split(50, 50, 4),
                endpoint: crio,
                stats: told.stats.clone(),
                ..Node::default()
            },
            "",
            "crossed: containerfs.available 4Gi, threshold 10% of 100Gi = 10Gi; dead containers are \
             removed, and images stay",
            "notWanted",
            true,
            1,
            "containerfs.available: reclaiming is not enough",
        ),
        (
            "three disks, nothing",
            Node { disks: split(50, 50, 50), endpoint: crio, ..Node::default() },
            "",
            "nothing would be reclaimed now: imagefs.available 50Gi",
            "removedForSpace",
            false,
            0,
            "the bytes really freed",
        ),
        (
            "three disks without the gate",
            Node { disks: split(50, 4, 50), endpoint: crio, config: no_gate, ..Node::default() },
            "",
            "the kubelet neither reclaims nor evicts for any threshold",
            "notWanted",
            false,
            1,
            "",
        ),
        (
            "soft",
            Node { disks: full(17), config: soft, ..Node::default() },
            "",
            "crossed (soft, grace period 2m0s): imagefs.available 17Gi, threshold 20% of 100Gi = 20Gi; \
             dead containers are removed, then unused images, once it has been crossed for its grace \
             period, which kq cannot know",
            "removedForSpace",
            true,
            0,
            "imagefs.available: unknown whether reclaiming is enough",
        ),
        (
            "a limit of its own",
            Node { disks: full(50), stats: Some(stats(5, 61)), ..Node::default() },
            "",
            "pods that exceed their limits of local storage are evicted first (1)",
            "removedForSpace",
            true,
            0,
            "the bytes really freed",
        ),
        (
            "what is freed is not known",
            Node { disks: full(12), storage: false, ..Node::default() },
            "",
            "crossed: imagefs.available 12Gi",
            "removedForSpace",
            true,
            3,
            "(images free at least 0 bytes, with no known upper bound, counted as 2147483648;",
        ),
        (
            "nothing is known",
            Node { disks: [None; 3], ..Node::default() },
            "",
            "unknown whether anything would be reclaimed now",
            "removedForSpace",
            true,
            3,
            "",
        ),
    ];
    for (name, node, flags, decision, verdict, containers, code, outcome) in rows {
        let folder = node.stored();
        let shown = asked(&folder, flags).run();
        assert_eq!(shown.code, code, "{name}: {}", shown.text());
        let decisions = lines(&shown.stdout, "DECISION");
        assert!(decisions[0].starts_with(decision), "{name}: {decisions:?}");
        let last = lines(&shown.stdout, "OUTCOME").pop().unwrap_or_default();
        assert!(last.contains(outcome), "{name}: {last}");
        assert_eq!(last.is_empty(), outcome.is_empty(), "{name}: {last}");
        let says_logs = shown.stderr.contains("missing: folders of logs");
        assert_eq!(says_logs, containers, "{name}: logs");

        let ran = asked(&folder, flags).arg("-ojson").run();
        let answer: Answer = ran.answer();
        let image = answer.items.iter().find(|item| item["id"] == UNUSED).expect("it is listed");
        assert_eq!(image["verdict"], verdict, "{name}");
        assert_eq!(answer.containers.is_some(), containers, "{name}: containers");
        assert_eq!(answer.pressure.reclaims.containers, containers, "{name}: containers");
        let goes = verdict == "removedForSpace";
        assert_eq!(answer.pressure.reclaims.images, goes, "{name}: images");
    }
}

#[test]
fn apply_does_what_dry_run_shows() {
    let crossed =
        Node { disks: [Some(("8:1", 100, 4)), Some(("8:2", 100, 50)), None], ..Node::default() };
    for (name, node, expected) in [
        ("nothing is reclaimed for it", crossed, Some("nothing is reclaimed for it")),
        ("nothing is crossed, and it is asked for", Node::default(), None),
    ] {
        let folder = node.stored();
        let line = "gc apply --allow-unsure --dry-run --trigger eviction --snapshot node.json --kubelet-start 36h";
        let applied = kq(line).within(folder.path()).run();
        let shown = asked(&folder, "").run();
        assert_eq!(applied.stdout, shown.stdout, "{name}");
        if let Some(expected) = expected {
            assert!(applied.stdout.contains(expected), "{name}: {}", applied.stdout);
            assert!(applied.stdout.contains("FREED        0 of 2 images"), "{name}");
        } else {
            assert!(applied.stdout.contains("FREED        1 of 2 images"), "{name}");
        }
    }
}

#[test]
fn the_shape_is_what_was_promised() {
    let node = Node {
        disks: [Some(("8:1", 100, 4)), Some(("8:1", 100, 4)), None],
        stats: Some(stats(61, 61)),
        ..Node::default()
    };
    let ran = asked(&node.stored(), "-ojson").run();
    let answer: Answer = ran.answer();
    let pressure = answer.pressure;
    assert_eq!(pressure.layout.dedicated_image_fs, Some(false));
    assert!(!pressure.layout.split_container_image_fs && !pressure.layout.because.is_empty());
    assert_eq!(pressure.layout.sources.len(), 3);
    assert!(pressure.layout.refused.is_none() && pressure.missing.is_empty());
    assert_eq!(pressure.conditions, ["DiskPressure"]);
    assert!(!pressure.reclaims.is_assumed && !pressure.decision.is_empty());
    let row = &pressure.thresholds[0];
    assert_eq!((row.signal.as_str(), row.configured.as_str()), ("imagefs.available", "15%"));
    let gib = 1_i64 << 30;
    assert_eq!((row.available, row.capacity), (Some(4 * gib), Some(100 * gib)));
    assert_eq!(row.threshold, Some(16_106_128_000));
    assert_eq!(row.margin, Some(4 * gib - 16_106_128_000));
    assert_eq!((row.met, row.min_reclaim, row.grace_period.as_str()), (Some(true), None, "0s"));
    assert_eq!(row.reclaim, ["deleteAllUnusedContainers", "deleteUnusedImages"]);
    assert_eq!(pressure.local_storage.len(), 2);
    let exceeding = &pressure.local_storage[0];
    assert!(exceeding.evicted && exceeding.pod.name == "web" && exceeding.exceeded.len() == 1);
    let act = &pressure.acts[0];
    assert_eq!(act.event, "Attempting to reclaim ephemeral-storage");
    assert_eq!((act.resource.as_str(), act.only_if.as_deref()), ("ephemeral-storage", None));
    assert_eq!((act.signal.as_str(), act.grace_period.as_str()), ("imagefs.available", "0s"));
    assert_eq!(act.reclaim, row.reclaim);
    let settlement = act.settlement.as_ref().expect("it was asked");
    assert_eq!(settlement.enough, Some(false));
    assert_eq!(settlement.still_crossed.len(), 3);
    assert_eq!(settlement.may_be_crossed.len(), 3);
    assert!(settlement.freed_bytes.at_least >= GIB && settlement.freed_bytes.at_most.is_some());
    assert!(settlement.because.text.starts_with("too little is left"));
    assert_eq!(settlement.because.code, "tooLittle");
    assert_eq!(settlement.because.facts["signals"], json!(settlement.still_crossed));
    assert_eq!(pressure.layout.because[0].code, "oneDevice");
    assert_eq!(pressure.layout.because[0].facts["device"], "8:1");
    let [first, act_reason, ..] = &pressure.decision[..] else { panic!("{pressure:#?}") };
    assert_eq!((first.code.as_str(), &first.facts["pods"]), ("localStorageLimits", &json!(2)));
    assert_eq!(act_reason.code, "crossed");
    assert_eq!(act_reason.facts["threshold"]["margin"], json!(row.margin));
    let victim = act.victim.as_ref().expect("it is known");
    let pod = &victim.pod;
    assert_eq!((&*pod.namespace, &*pod.name, &*pod.uid), ("shop", "batch", "u2"));
    assert!(victim.grace_period_seconds == 1 && victim.message.contains("61Gi"));
    assert!(victim.spared.is_empty() && victim.or_else.is_empty() && act.victim_unknown.is_none());
}

/// `kq gc dry-run --trigger eviction -o json`, of which this is about the pressure.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    containers: Option<Value>,
    items: Vec<Value>,
    pressure: Pressure,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pressure {
    layout: Layout,
    thresholds: Vec<Threshold>,
    conditions: Vec<String>,
    local_storage: Vec<Exceeding>,
    acts: Vec<PressureAction>,
    reclaims: Reclaims,
    decision: Vec<Reason>,
    missing: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layout {
    dedicated_image_fs: Option<bool>,
    split_container_image_fs: bool,
    because: Vec<Reason>,
    refused: Option<String>,
    sources: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodName {
    namespace: String,
    name: String,
    uid: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exceeding {
    pod: PodName,
    exceeded: Vec<String>,
    evicted: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PressureAction {
    signal: String,
    grace_period: String,
    only_if: Option<String>,
    resource: String,
    event: String,
    reclaim: Vec<String>,
    settlement: Option<ReclaimOutcome>,
    victim: Option<Victim>,
    victim_unknown: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReclaimOutcome {
    enough: Option<bool>,
    freed_bytes: FreedBytes,
    still_crossed: Vec<String>,
    may_be_crossed: Vec<String>,
    because: Reason,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FreedBytes {
    at_least: u64,
    at_most: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Victim {
    pod: PodName,
    grace_period_seconds: i64,
    message: String,
    spared: Vec<PodName>,
    or_else: Vec<PodName>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reclaims {
    containers: bool,
    images: bool,
    is_assumed: bool,
}

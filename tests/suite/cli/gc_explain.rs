//! `kq gc explain`, asked about a made-up snapshot.

use super::lookups::{made_up, not_asked, refused};
use super::{folder_with, kq};
use serde_json::{Value, json};
use snapbox::str;
use tempfile::TempDir;

/// The images, by what they are for.
const WEB: &str = "sha256:aaaa1111000000000000000000000000000000000000000000000000000000a1";
const BATCH: &str = "sha256:aaaa2222000000000000000000000000000000000000000000000000000000a2";
const OLD: &str = "sha256:bbbb0000000000000000000000000000000000000000000000000000000000b0";
const PAUSE: &str = "sha256:cccc0000000000000000000000000000000000000000000000000000000000c0";
const NEW: &str = "sha256:dddd0000000000000000000000000000000000000000000000000000000000d0";

const SNAPSHOTTER: &str = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs";
const CONTENT: &str = "/var/lib/containerd/io.containerd.content.v1.content";

/// Returns nanoseconds since 1970, some seconds before the moment of the snapshot.
fn before(seconds: i64) -> i64 {
    (1_795_176_000 - seconds) * 1_000_000_000
}

fn image(id: &str, tag: &str, size: u64) -> Value {
    let digest = format!("{}@sha256:{}", tag.split(':').next().expect("a name"), "e".repeat(64));
    json!({"id": id, "repoTags": [tag], "repoDigests": [digest], "size": size,
           "pinned": id == PAUSE})
}

fn container(id: &str, name: &str, uid: &str, state: &str, image: &str, age: i64) -> Value {
    json!({"id": id, "sandboxId": format!("{uid}-sandbox"), "name": name, "podUid": uid,
           "attempt": 0, "state": state, "image": image, "imageRef": image, "imageId": image,
           "createdAt": before(age)})
}

fn sandbox(uid: &str, name: &str) -> Value {
    json!({"id": format!("{uid}-sandbox"), "name": name, "namespace": "shop", "uid": uid,
           "attempt": 0, "ready": true, "createdAt": before(90_000), "runtimeHandler": ""})
}

fn filesystem(mount_point: &str, device: &str) -> Value {
    json!({"mountPoint": mount_point, "device": device, "kind": "ext4",
           "capacityBytes": 100_000_000_000_u64, "freeBytes": 25_000_000_000_u64,
           "availableBytes": 20_000_000_000_u64, "inodes": 1_000_000, "inodesFree": 900_000})
}

fn folder(path: &str, bytes: u64) -> Value {
    json!({"path": path, "filesystem": made_up(filesystem("/", "8:1")),
           "usage": made_up(json!({"bytes": bytes, "inodes": 7, "hidden": []}))})
}

/// Returns a node whose kubelet started a day ago and kept no secrets about images: kq was there.
fn snapshot() -> Value {
    let record = |id: &str, first: &str, used: Option<[&str; 3]>| {
        let mut record =
            json!({"id": id, "absentAt": "2026-11-19T11:00:00Z", "firstDetected": first});
        if let Some([since, last, unused]) = used {
            record["usedSince"] = json!(since);
            record["lastUsed"] = json!(last);
            record["unusedAt"] = json!(unused);
        }
        record
    };
    let pieces = json!([
        {"name": "base", "bytes": 50_000_000, "images": [WEB, BATCH]},
        {"name": "web", "bytes": 30_000_000, "images": [WEB]},
        {"name": "batch", "bytes": 20_000_000, "images": [BATCH], "heldOtherwise": true},
        {"name": "old", "bytes": 900_000_000, "images": [OLD]},
    ]);
    json!({
        "apiVersion": "kq/v1",
        "kind": "NodeSnapshot",
        "takenAt": "2026-11-20T12:00:00Z",
        "takenBy": "a test",
        "hostRoot": {"path": "/", "because": "made up"},
        "host": {"texts": {}, "pageSize": 4096},
        "nodeName": made_up("node-a"),
        "kubelet": not_asked(),
        "kubeletVersion": made_up("v1.36.2"),
        "kubeletConfig": made_up(json!({
            "value": {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"},
            "readAs": "configz", "origins": {}, "notes": []})),
        "node": not_asked(),
        "pods": made_up(json!({"source": "apiServer", "pods": [], "leftOut": [], "notes": []})),
        "runtime": made_up(json!({
            "endpoint": "unix:///run/containerd/containerd.sock",
            "version": {"runtimeName": "containerd", "runtimeVersion": "1.7.24",
                        "runtimeApiVersion": "v1"},
            "cgroupDriver": not_asked(),
            "lowLevel": not_asked(),
            "sandboxes": made_up(json!([sandbox("u1", "web"), sandbox("u2", "batch")])),
            "containers": made_up(json!([
                container("c1", "app", "u1", "running", WEB, 7_200),
                container("c2", "job", "u2", "exited", BATCH, 3_600),
            ])),
            "containerStatuses": made_up(json!([
                {"id": "c1"}, {"id": "c2", "finishedAt": before(1_800)},
            ])),
            "images": made_up(json!([
                image(WEB, "docker.io/library/nginx:latest", 80_000_000),
                image(BATCH, "shop.test/batch:v1", 70_000_000),
                image(OLD, "shop.test/old:v1", 900_000_000),
                image(PAUSE, "registry.k8s.io/pause:3.9", 300_000),
                image(NEW, "shop.test/new:v1", 5_000_000),
            ])),
            "imageFilesystems": made_up(json!({
                "image": [{"mountpoint": SNAPSHOTTER, "usedBytes": 1_100_000_000_u64,
                           "inodesUsed": 700, "timestamp": before(10)}],
                "container": []})),
            "writableLayers": made_up(json!([
                {"id": "c1", "usedBytes": 40_000_000, "inodesUsed": 12},
                {"id": "c2", "usedBytes": null, "inodesUsed": null},
            ])),
            "imageStorage": made_up(json!({"pieces": pieces})),
        })),
        "stateFiles": null,
        "cgroups": not_asked(),
        "folders": {
            "images": folder(SNAPSHOTTER, 1_200_000_000),
            "content": folder(CONTENT, 400_000_000),
            "kubelet": folder("/var/lib/kubelet", 300_000_000),
            "logs": folder("/var/log/pods", 2_000_000),
        },
        "imageRecords": made_up(json!({
            "apiVersion": "kq/v1", "kind": "ImageRecords",
            "detectedAt": "2026-11-20T11:59:30Z", "unbrokenSince": "2026-11-19T10:00:00Z",
            "images": [
                record(WEB, "2026-11-19T11:05:00Z", None),
                record(BATCH, "2026-11-19T11:05:00Z", None),
                record(OLD, "2026-11-19T11:05:00Z",
                       Some(["2026-11-19T12:05:00Z", "2026-11-19T14:00:00Z", "2026-11-19T14:05:00Z"])),
                record(PAUSE, "2026-11-19T11:05:00Z", None),
                {"id": NEW, "absentAt": "2026-11-20T11:59:00Z",
                 "firstDetected": "2026-11-20T11:59:30Z"},
            ]})),
        "statsSummary": made_up(json!({
            "node": {"nodeName": "node-a",
                     "fs": {"time": "2026-11-20T11:59:50Z", "availableBytes": 20_100_000_000_u64,
                            "capacityBytes": 100_000_000_000_u64, "usedBytes": 74_900_000_000_u64},
                     "runtime": {"imageFs": {"time": "2026-11-20T11:59:50Z",
                                             "availableBytes": 20_100_000_000_u64,
                                             "capacityBytes": 100_000_000_000_u64,
                                             "usedBytes": 1_100_000_000_u64}}},
            "pods": []})),
    })
}

fn stored(snapshot: &Value) -> TempDir {
    folder_with(&[("node.json", snapshot.to_string())])
}

fn explain(folder: &TempDir, line: &str) -> super::Run {
    let flags = "--kubelet-start 2026-11-19T11:30:00Z";
    kq(&format!("gc explain --snapshot node.json {flags} {line}")).within(folder.path())
}

#[test]
fn an_image_in_use_is_told() {
    explain(&stored(&snapshot()), "nginx").shows(str![[r#"
IMAGE             docker.io/library/nginx:latest
ID                sha256:aaaa1111000000000000000000000000000000000000000000000000000000a1
SIZE              76.3Mi (80000000 bytes)
SHARED            removing it alone frees 28.6Mi
                  47.7Mi are shared with 1 other image
                    47.7Mi with shop.test/batch:v1 (aaaa222200000)
PINNED            no
USED BY           shop/web/app (running), created 2026-11-20T10:00:00Z (2h ago)
                    keeps the image while it runs; then the newest dead one of a container stays until its pod is deleted or evicted
                    under disk pressure: keeps the image while it runs
KNOWN             first found by the kubelet between 2026-11-19T11:30:00Z (24h ago) and 2026-11-19T11:31:00Z (24h ago)
                  last found in use between 2026-11-20T11:54:45Z (5m ago) and now
                  from records of kq gc record
PERIODIC          IN-USE (certain): used by shop/web/app (running)
AGE               IN-USE (certain): used by shop/web/app (running)
EVICTION          IN-USE (certain): used by shop/web/app (running)
AT THE EARLIEST   for its age: never; imageMaximumGCAge is off
                  for space: not while it is in use; not before its containers are removed
                    usage 80% = 100 - 18.6Gi x 100 / 93.1Gi; imageGCHighThresholdPercent 85% is reached with 3.7Gi more in use, when 14.9Gi or less are available
                  under disk pressure: not while it is in use; not before its containers are removed
--- stderr
kubelet start: 2026-11-19T11:30:00Z (--kubelet-start)
assumed: the kubelet checks the images within a minute of its start and then every 5m
assumed: no image was in use, unused, or gone only between two detections of kq gc record that are at most 10m apart
assumed: no image was removed by another program and pulled again before the kubelet's next check
missing: not all pods are known, so the dead containers of the others are taken to stay: the specifications of shop/web and 1 more are not known: they are not in the API server
--- exit 0

"#]]);
}

#[test]
fn an_image_that_may_go_is_told() {
    let line = "bbbb -owide --set imageMaximumGCAge=30h";
    explain(&stored(&snapshot()), line).shows(str![[r#"
IMAGE             shop.test/old:v1
ID                sha256:bbbb0000000000000000000000000000000000000000000000000000000000b0
TAGS              shop.test/old:v1
DIGESTS           shop.test/old@sha256:eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee
SIZE              858.3Mi (900000000 bytes)
SHARED            removing it alone frees 858.3Mi
PINNED            no
USED BY           no container
KNOWN             first found by the kubelet between 2026-11-19T11:30:00Z (24h ago) and 2026-11-19T11:31:00Z (24h ago)
                  last found in use between 2026-11-19T13:54:45Z (22h ago) and 2026-11-19T14:05:00Z (21h ago)
                  from records of kq gc record
PERIODIC          NOT-WANTED (certain, number 2 of 2): not in use, and no space is needed; last used 22h0m0s ago, first found 24h30m0s ago
                    the kubelet has been up for 24h30m0s, not longer than imageMaximumGCAge 30h0m0s: no image goes for its age yet
                    usage 80% = 100 - 20000000000 x 100 / 100000000000 < imageGCHighThresholdPercent 85%, so no space is needed
AGE               NOT-WANTED (certain, number 2 of 2): not in use, and no space is needed; last used 22h0m0s ago, first found 24h30m0s ago
                    the kubelet has been up for 24h30m0s, not longer than imageMaximumGCAge 30h0m0s: no image goes for its age yet
EVICTION          REMOVE-SPACE (certain, number 2 of 2): not in use; last used 22h0m0s ago, first found 24h30m0s ago
                    under disk pressure, all unused images older than imageMinimumGCAge 2m0s are removed; thresholds do not matter
AT THE EARLIEST   for its age: later; between 2026-11-20T19:54:45Z (in 7h) and 2026-11-20T20:05:00Z (in 8h), then with the next pass of the loop, every 5m0s
                    it must be unused for longer than imageMaximumGCAge 30h0m0s, and the kubelet be up for longer than that; never used counts as always unused, and imageMinimumGCAge does not matter
                  for space: any time; old enough: with the next pass of the loop, every 5m0s, when space is needed
                    it must be known to the kubelet for imageMinimumGCAge 2m0s
                    usage 80% = 100 - 20000000000 x 100 / 100000000000; imageGCHighThresholdPercent 85% is reached with 4000000001 bytes more in use, when 15999999999 bytes or less are available
                    it is number 2 of 2 in the order, and none goes before it
                  under disk pressure: any time; old enough: when disk pressure comes
                    it must be known to the kubelet for imageMinimumGCAge 2m0s
                    an eviction signal of a file system that is freed by images sets it off at once; thresholds of image garbage collection do not matter
--- stderr
kubelet start: 2026-11-19T11:30:00Z (--kubelet-start)
assumed: the kubelet checks the images within a minute of its start and then every 5m
assumed: no image was in use, unused, or gone only between two detections of kq gc record that are at most 10m apart
assumed: no image was removed by another program and pulled again before the kubelet's next check
missing: not all pods are known, so the dead containers of the others are taken to stay: the specifications of shop/web and 1 more are not known: they are not in the API server
--- exit 0

"#]]);
}

#[test]
fn an_image_that_is_too_young_is_told_on_a_full_disk() {
    explain(&stored(&snapshot()), "shop.test/new:v1 --at-usage 90%").shows(str![[r#"
IMAGE             shop.test/new:v1
ID                sha256:dddd0000000000000000000000000000000000000000000000000000000000d0
SIZE              4.8Mi (5000000 bytes)
SHARED            unknown: the runtime does not list its layers
PINNED            no
USED BY           no container
KNOWN             first found by the kubelet between 2026-11-20T11:59:00Z (60s ago) and now
                  last found in use never
                  from records of kq gc record
PERIODIC          TOO-YOUNG (certain, number 1 of 2): first found 30s ago, which is less than imageMinimumGCAge 2m0s
AGE               NOT-WANTED (certain, number 1 of 2): not in use, and no space is needed; no use is known, first found 30s ago
EVICTION          TOO-YOUNG (certain, number 1 of 2): first found 30s ago, which is less than imageMinimumGCAge 2m0s
AT THE EARLIEST   for its age: never; imageMaximumGCAge is off
                  for space: later; between 2026-11-20T12:01:00Z (in 60s) and 2026-11-20T12:02:00Z (in 2m), then with the next pass of the loop, every 5m0s, when space is needed
                    usage 90% = 100 - 9.3Gi x 100 / 93.1Gi >= imageGCHighThresholdPercent 85%
                    it is number 1 of 2 in the order, and none goes before it
                  under disk pressure: later; between 2026-11-20T12:01:00Z (in 60s) and 2026-11-20T12:02:00Z (in 2m), then when disk pressure comes
--- stderr
kubelet start: 2026-11-19T11:30:00Z (--kubelet-start)
assumed: the kubelet checks the images within a minute of its start and then every 5m
assumed: no image was in use, unused, or gone only between two detections of kq gc record that are at most 10m apart
assumed: no image was removed by another program and pulled again before the kubelet's next check
missing: not all pods are known, so the dead containers of the others are taken to stay: the specifications of shop/web and 1 more are not known: they are not in the API server
--- exit 0

"#]]);
}

#[test]
fn a_name_of_none_or_of_several_is_refused() {
    let folder = stored(&snapshot());
    for (name, hint) in [
        (
            "aaaa",
            format!(
                "they are {WEB} (docker.io/library/nginx:latest), {BATCH} (shop.test/batch:v1)"
            ),
        ),
        ("nginx:1.25", "there is docker.io/library/nginx:latest".to_owned()),
        ("pause", "there is registry.k8s.io/pause:3.9".to_owned()),
        ("kiosk", "kq gc images lists the images".to_owned()),
    ] {
        let ran = explain(&folder, name).run();
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("hint: {hint}\n")), "{name}: {}", ran.stderr);
    }
}

#[test]
fn the_story_is_data() {
    let folder = stored(&snapshot());
    let told = explain(&folder, OLD).json();
    assert_eq!(told["kind"], "ImageExplanation");
    assert_eq!(told["image"]["id"], OLD);
    assert_eq!(told["sharing"]["ownBytes"], 900_000_000);
    let ways: Vec<(&Value, &Value)> = told["earliest"]
        .as_array()
        .expect("ways")
        .iter()
        .map(|way| (&way["by"], &way["state"]))
        .collect();
    let expected = [("age", "never"), ("space", "open"), ("pressure", "open")];
    assert_eq!(ways.len(), expected.len());
    for ((by, state), expected) in ways.into_iter().zip(expected) {
        assert_eq!((by.as_str(), state.as_str()), (Some(expected.0), Some(expected.1)));
    }
    let space = &told["earliest"][1]["space"];
    assert_eq!(space["missingBytes"], 4_000_000_001_i64);
    // YAML holds the same value.
    let yaml = explain(&folder, &format!("{OLD} -oyaml")).run();
    assert!(yaml.stdout.contains("missingBytes: 4000000001"), "{}", yaml.stdout);
}

#[test]
fn without_a_runtime_there_is_no_story() {
    let mut snapshot = snapshot();
    snapshot["runtime"] = not_asked();
    let ran = explain(&stored(&snapshot), "nginx").run();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

#[test]
fn the_disk_is_told() {
    explain(&stored(&snapshot()), "--disk").shows(str![[r#"
JUDGED        /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs
              ext4 on /, device 8:1, 18.6Gi of 93.1Gi available
              usage 80% = 100 - 20000000000 x 100 / 100000000000
              imageGCHighThresholdPercent 85% is reached with 4000000001 bytes more in use
NODEFS        device 8:1 on / (/var/lib/kubelet)
IMAGEFS       device 8:1 on / (/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs)
CONTAINERFS   device 8:1 on / (/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs)
SO            nodefs, imagefs and containerfs are one device
              all data on the disk, also logs and volumes, can cause the removal of images, and a full disk crosses the signals of nodefs and imagefs alike

WHAT                SIZE      FOLDER                                                       NOTE
images              1Gi       /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs   -
fetched images      381.5Mi   /var/lib/containerd/io.containerd.content.v1.content         -
writable layers     38.1Mi    -                                                            within images; the runtime did not count 1 of 2 containers
logs                1.9Mi     /var/log/pods                                                -
the kubelet         286.1Mi   /var/lib/kubelet                                             -
reserved for root   4.7Gi     -                                                            -
the rest            68.2Gi    -                                                            not accounted for

LARGEST LAYERS   SIZE     CONTAINER-ID
shop/web/app     38.1Mi   c1

WHO SAYS                      CAPACITY   AVAILABLE   USED     MEASURED
statfs                        93.1Gi     18.6Gi      69.8Gi   now
ImageFsInfo                   -          -           1Gi      10s ago
the blocks of the folder      -          -           1.1Gi    now
the kubelet's stats summary   93.1Gi     18.7Gi      1Gi      10s ago

WHY THEY DIFFER
ImageFsInfo is 73900000000 bytes below statfs: the runtime counts what it unpacked, 10s before, statfs everything on the file system
the folder holds 100000000 bytes more than the runtime counted, 10s before: it counts at intervals, and omits its other data
since the kubelet measured, 10s before, 100000000 bytes were taken
usedBytes of the kubelet's stats summary is the count of the runtime, not that of statfs

EVICTION SIGNAL          SEES IMAGES   THRESHOLDS   REMOVES FIRST
nodefs.available         yes           hard 10%     containers, then images
nodefs.inodesFree        yes           hard 5%      containers, then images
imagefs.available        yes           hard 15%     containers, then images
imagefs.inodesFree       yes           hard 5%      containers, then images
containerfs.available    yes           hard 10%     containers, then images
containerfs.inodesFree   yes           hard 5%      containers, then images
--- stderr
missing: writable layers: the runtime did not count 1 of 2 containers
--- exit 0

"#]]);
}

#[test]
fn a_disk_of_its_own_is_told() {
    let mut snapshot = snapshot();
    let node = &mut snapshot["folders"]["kubelet"]["filesystem"]["found"]["value"];
    *node = filesystem("/var/lib/kubelet", "8:2");
    let images = &mut snapshot["folders"]["images"]["usage"]["found"]["value"];
    images["hidden"] = json!([{"path": format!("{SNAPSHOTTER}/old"), "bytes": 123, "inodes": 2}]);
    let logs = &mut snapshot["folders"]["logs"]["usage"];
    *logs = refused("/var/log/pods", "too slow");
    explain(&stored(&snapshot), "--disk -owide").shows(str![[r#"
JUDGED        /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs
              ext4 on /, device 8:1, 18.6Gi of 93.1Gi available
              usage 80% = 100 - 20000000000 x 100 / 100000000000
              imageGCHighThresholdPercent 85% is reached with 4000000001 bytes more in use
NODEFS        device 8:2 on /var/lib/kubelet (/var/lib/kubelet)
IMAGEFS       device 8:1 on / (/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs)
CONTAINERFS   device 8:1 on / (/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs)
SO            imagefs and containerfs are one device, nodefs is another
              a full nodefs removes neither images nor dead containers, but evicts pods; a full imagefs removes both

WHAT                SIZE      BYTES         COUNTED-BY                         FOLDER                                                           NOTE
images              1Gi       1100000000    ImageFsInfo                        /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs       -
fetched images      381.5Mi   400000000     the blocks of the folder           /var/lib/containerd/io.containerd.content.v1.content             -
writable layers     38.1Mi    40000000      ListContainerStats                 -                                                                within images; the runtime did not count 1 of 2 containers
logs                unknown   -             -                                  /var/log/pods                                                    /var/log/pods: too slow
the kubelet         286.1Mi   300000000     the blocks of the folder           /var/lib/kubelet                                                 on another device, 8:2
hidden by a mount   123       123           the blocks of the folder           /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/old   -
reserved for root   4.7Gi     5000000000    statfs: free - available           -                                                                -
the rest            68.5Gi    73499999877   capacity - available - the above   -                                                                not accounted for; may hold logs (/var/log/pods)

LARGEST LAYERS   SIZE     CONTAINER-ID
shop/web/app     38.1Mi   c1

WHO SAYS                      CAPACITY       AVAILABLE     USED          MEASURED
statfs                        100000000000   20000000000   75000000000   now
ImageFsInfo                   -              -             1100000000    10s ago
the blocks of the folder      -              -             1200000000    now
the kubelet's stats summary   100000000000   20100000000   1100000000    10s ago

WHY THEY DIFFER
ImageFsInfo is 73900000000 bytes below statfs: the runtime counts what it unpacked, 10s before, statfs everything on the file system
the folder holds 100000000 bytes more than the runtime counted, 10s before: it counts at intervals, and omits its other data
since the kubelet measured, 10s before, 100000000 bytes were taken
usedBytes of the kubelet's stats summary is the count of the runtime, not that of statfs

EVICTION SIGNAL          SEES IMAGES   THRESHOLDS   REMOVES FIRST
nodefs.available         no            hard 10%     -
nodefs.inodesFree        no            hard 5%      -
imagefs.available        yes           hard 15%     containers, then images
imagefs.inodesFree       yes           hard 5%      containers, then images
containerfs.available    yes           hard 15%     containers, then images
containerfs.inodesFree   yes           hard 5%      containers, then images
--- stderr
missing: writable layers: the runtime did not count 1 of 2 containers
missing: logs (/var/log/pods): /var/log/pods: too slow
--- exit 0

"#]]);
}

#[test]
fn the_disk_is_data() {
    let told = explain(&stored(&snapshot()), "--disk").json();
    assert_eq!(told["kind"], "ImageDisk");
    assert_eq!(told["rest"]["bytes"], 73_198_000_000_i64);
    let parts = told["parts"].as_array().expect("parts");
    let added = parts.iter().filter(|part| part["within"].is_null());
    let added: i64 = added.map(|part| part["bytes"].as_i64().expect("a size")).sum();
    assert_eq!(told["rest"]["accountedBytes"], added);
    assert_eq!(told["layout"]["devices"], 1);
}

#[test]
fn what_is_not_known_of_the_disk_is_said() {
    let mut snapshot = snapshot();
    snapshot["runtime"] = refused("a socket", "absent");
    snapshot["statsSummary"] = not_asked();
    snapshot.as_object_mut().expect("a snapshot").remove("folders");
    explain(&stored(&snapshot), "--disk").shows(str![[r#"
JUDGED        unknown
              unknown: a socket: absent
NODEFS        unknown: not looked for
IMAGEFS       unknown: not looked for
CONTAINERFS   unknown: a socket: absent
SO            the effect on eviction depends on unknown facts

WHAT              SIZE      FOLDER   NOTE
images            unknown   -        on a device that is not known; a socket: absent
writable layers   unknown   -        on a device that is not known; a socket: absent
logs              unknown   -        on a device that is not known; not looked for
the kubelet       unknown   -        on a device that is not known; not looked for
the rest          unknown   -        not accounted for

WHO SAYS                      CAPACITY   AVAILABLE   USED   MEASURED
statfs                        -          -           -      unknown: not looked for
ImageFsInfo                   -          -           -      unknown: a socket: absent
the blocks of the folder      -          -           -      unknown: not looked for
the kubelet's stats summary   -          -           -      unknown: not looked for

EVICTION SIGNAL          SEES IMAGES   THRESHOLDS   REMOVES FIRST
nodefs.available         ?             hard 10%     ?
nodefs.inodesFree        ?             hard 5%      ?
imagefs.available        ?             hard 15%     ?
imagefs.inodesFree       ?             hard 5%      ?
containerfs.available    ?             ?            ?
containerfs.inodesFree   ?             ?            ?
--- stderr
warning: the container runtime did not answer; name it with --runtime-endpoint (a socket: absent)
missing: the image file system: a socket: absent
missing: images: a socket: absent
missing: writable layers: a socket: absent
missing: logs: not looked for
missing: the kubelet: not looked for
missing: statfs: not looked for
missing: ImageFsInfo: a socket: absent
missing: the blocks of the folder: not looked for
missing: the kubelet's stats summary: not looked for
--- exit 3

"#]]);
}

#[test]
fn it_is_about_an_image_or_the_disk() {
    let folder = stored(&snapshot());
    for line in ["", "nginx --disk", "--disk --at-usage 90%"] {
        let ran = explain(&folder, line).run();
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{line}: {}", ran.stderr);
    }
}

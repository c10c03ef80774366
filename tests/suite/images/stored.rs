//! The recording as `kq snapshot` would have stored it, with the records that `kq gc record` would have
//! kept.

use crate::cli::repository;
use crate::nodes::stored::word;
use kq_facts::filesystems::{Filesystem, FolderRole, NodeFolder};
use kq_facts::image_records::ImageRecords;
use kq_facts::kubelet_config::Source;
use kq_facts::kubelet_process::{KubeletProcess, Program};
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{
    Container, ContainerState, FilesystemUsage, Image, ImageFilesystems, RuntimeFacts,
    RuntimeVersion, Sandbox,
};
use kq_facts::snapshot::{API_VERSION, HostRoot, KIND, RecordedConfig, Snapshot};
use kq_facts::timestamp::Timestamp;
use kq_image_gc::record::record;
use serde_json::Value;
use std::path::PathBuf;

const ENDPOINT: &str = "unix:///run/containerd/containerd.sock";

/// When the kubelet of the recording started.
const START: &str = "2026-11-20T12:04:25Z";

/// When its containers were created; the pods were made at once.
const CREATED: &str = "2026-11-20T12:04:40Z";

/// The passes, each with the state before it and the one after it.
pub const PASSES: [(&str, &str, &str); 3] = [
    ("5min", "01-before-5min", "02-after-5min"),
    ("10min", "03-before-10min", "04-after-10min"),
    ("15min", "05-before-15min", "06-after-15min"),
];

/// Returns the folder of the recording.
pub fn folder() -> PathBuf {
    repository().join("tests/images/thresholds")
}

/// Returns a file of the recording.
pub fn text(file: &str) -> String {
    let path = folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns a recorded state.
pub fn state(name: &str) -> Value {
    serde_json::from_str(&text(&format!("{name}.json"))).expect("a state is JSON")
}

/// Returns the images of a state.
pub fn images(state: &Value) -> Vec<Image> {
    let listed = list(&state["crictl images -o json"]["images"]);
    let mut images: Vec<Image> = listed
        .iter()
        .map(|image| Image {
            id: word(&image["id"]),
            repo_tags: list(&image["repoTags"]).iter().map(word).collect(),
            repo_digests: list(&image["repoDigests"]).iter().map(word).collect(),
            size: word(&image["size"]).parse().expect("a size is a number"),
            pinned: image["pinned"].as_bool().expect("an image is pinned or not"),
            ..Image::default()
        })
        .collect();
    images.sort_by(|a, b| (a.repo_tags.first(), &a.id).cmp(&(b.repo_tags.first(), &b.id)));
    images
}

/// Returns a state as a snapshot, with records.
pub fn snapshot(name: &str, records: Option<ImageRecords>) -> String {
    let state = state(name);
    let config: Value = serde_json::json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "imageGCHighThresholdPercent": 50,
        "imageGCLowThresholdPercent": 45,
        "imageMinimumGCAge": "1m",
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "2%", "imagefs.available": "1%",
        },
    });
    let kubelet = KubeletProcess {
        pid: 12_823,
        program: Program::Kubelet,
        executable: Some("/usr/bin/kubelet".to_owned()),
        working_folder: Some("/".to_owned()),
        start_ticks: 0,
        started_at: Some(at(START).0 / 1_000_000_000),
        flags: Vec::new(),
        flag_files: Vec::new(),
        faults: Vec::new(),
        is_partial: false,
        others: Vec::new(),
        notes: Vec::new(),
    };
    let snapshot = Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: word(&state["taken"]),
        taken_by: "a recording".to_owned(),
        host_root: HostRoot {
            path: "/".to_owned(),
            because: "no node is mounted at /host".to_owned(),
        },
        node_name: Lookup::found("/proc/sys/kernel/hostname", "node-a".to_owned()),
        kubelet: Lookup::found("process 12823", kubelet),
        kubelet_version: Lookup::found("/usr/bin/kubelet --version", "v1.36.2".to_owned()),
        kubelet_config: Lookup::found(
            "/var/lib/kubelet/config.yaml",
            RecordedConfig {
                value: config.into(),
                read_as: Some(Source::File),
                ..RecordedConfig::default()
            },
        ),
        runtime: Lookup::found(ENDPOINT, runtime(&state)),
        folders: [(FolderRole::Images, image_folder(&state))].into(),
        image_records: match records {
            Some(records) => Lookup::found("/var/lib/kq/image-records.json", records),
            None => Lookup::failed("/var/lib/kq/image-records.json", "no such file"),
        },
        ..Snapshot::default()
    };
    serde_json::to_string_pretty(&snapshot).expect("a snapshot can be written")
}

/// Returns the records that `kq gc record` would have kept, from detections at some times of that day.
/// Between the states, only the changes in the notes of the recording happened.
pub fn records(times: &[&str]) -> ImageRecords {
    let step = |before: Option<ImageRecords>, time: &&str| {
        let now = at(&format!("2026-11-20T{time}Z"));
        let (images, used) = world(now);
        let id = |name: &&str| {
            let image = images.iter().find(|image| has_tag(image, name));
            image.unwrap_or_else(|| panic!("no image {name} at {time}")).id.clone()
        };
        let in_use = used.iter().map(|name| id(name).into()).collect();
        Some(record(before.as_ref(), now, &images, &in_use).expect("the clock goes on"))
    };
    times.iter().fold(None, step).expect("there is a detection")
}

/// Returns the images of a time, and the names of those in use.
fn world(now: Timestamp) -> (Vec<Image>, Vec<&'static str>) {
    let since = |time: &str| now >= at(&format!("2026-11-20T{time}Z"));
    let mut images = images(&state(if since("12:14:26") { PASSES[1].2 } else { PASSES[1].1 }));
    // 05 and 06 were imported at 90 s, 07 at 330 s, 08 and 09 at 580 s.
    for (time, names) in [
        ("12:05:55", &["bulk-05", "bulk-06"][..]),
        ("12:09:55", &["bulk-07"]),
        ("12:14:05", &["bulk-08", "bulk-09"]),
    ] {
        images.retain(|image| since(time) || !names.iter().any(|name| has_tag(image, name)));
    }
    // use-02 ran from 15 to 60 s; use-04 was deleted at 330 s.
    let used = [("bulk-01", "12:04:40", None), ("bulk-02", "12:04:40", Some("12:05:25"))]
        .into_iter()
        .chain([("bulk-04", "12:04:40", Some("12:09:55"))])
        .filter(|(_, from, to)| since(from) && !to.is_some_and(since))
        .map(|(name, _, _)| name)
        .collect();
    (images, used)
}

fn has_tag(image: &Image, name: &str) -> bool {
    image.repo_tags.iter().any(|tag| *tag == format!("node.test/{name}:v1"))
}

fn runtime(state: &Value) -> RuntimeFacts {
    let pods = list(&state["pods (crictl pods)"]);
    let sandboxes = pods.iter().map(|pod| Sandbox {
        id: format!("sandbox-of-{}", word(&pod["name"])),
        name: word(&pod["name"]),
        namespace: "default".to_owned(),
        uid: format!("uid-of-{}", word(&pod["name"])),
        ready: pod["state"] == "SANDBOX_READY",
        created_at: at(CREATED).0,
        ..Sandbox::default()
    });
    let containers = list(&state["containers (crictl ps -a)"]);
    let containers = containers.iter().map(|container| {
        assert_eq!(container["state"], "CONTAINER_RUNNING");
        let pod = word(&container["pod"]);
        Container {
            id: format!("container-of-{pod}"),
            sandbox_id: format!("sandbox-of-{pod}"),
            name: word(&container["container"]),
            pod_uid: format!("uid-of-{pod}"),
            state: ContainerState::Running,
            image: word(&container["image"]["image"]),
            image_ref: word(&container["imageRef"]),
            created_at: at(CREATED).0,
            ..Container::default()
        }
    });
    let status = &state["crictl imagefsinfo -o json"]["status"];
    let usage = |fs: &Value| {
        let number = |value: &Value| Some(word(&value["value"]).parse().expect("a number"));
        FilesystemUsage {
            mountpoint: word(&fs["fsId"]["mountpoint"]),
            used_bytes: number(&fs["usedBytes"]),
            inodes_used: number(&fs["inodesUsed"]),
            timestamp: word(&fs["timestamp"]).parse().expect("nanoseconds"),
        }
    };
    let mut containers: Vec<Container> = containers.collect();
    containers.sort_by(|a, b| a.pod_uid.cmp(&b.pod_uid));
    RuntimeFacts {
        endpoint: ENDPOINT.to_owned(),
        version: RuntimeVersion {
            runtime_name: "containerd".to_owned(),
            runtime_version: "1.6.20".to_owned(),
            runtime_api_version: "v1".to_owned(),
        },
        sandboxes: Lookup::found(format!("{ENDPOINT} ListPodSandbox"), sandboxes.collect()),
        containers: Lookup::found(format!("{ENDPOINT} ListContainers"), containers.into()),
        images: Lookup::found(format!("{ENDPOINT} ListImages"), images(state).into()),
        image_filesystems: Lookup::found(
            format!("{ENDPOINT} ImageFsInfo"),
            ImageFilesystems {
                image: list(&status["imageFilesystems"]).iter().map(usage).collect(),
                container: Vec::new(),
            },
        ),
        ..RuntimeFacts::default()
    }
}

fn image_folder(state: &Value) -> NodeFolder {
    let number = |field: &str| {
        let fs = &state["statfs of the image filesystem"];
        fs[field].as_u64().unwrap_or_else(|| panic!("no {field}"))
    };
    let path = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs".to_owned();
    let filesystem = Filesystem {
        mount_point: "/var/lib/containerd".to_owned(),
        device: "7:0".to_owned(),
        kind: "ext4".to_owned(),
        capacity_bytes: number("blocks") * number("block_size"),
        free_bytes: number("blocks_free") * number("block_size"),
        available_bytes: number("blocks_available") * number("block_size"),
        inodes: number("inodes"),
        inodes_free: number("inodes_free"),
    };
    NodeFolder {
        filesystem: Lookup::found(path.clone(), filesystem),
        path,
        usage: Lookup::default(),
    }
}

fn at(time: &str) -> Timestamp {
    time.parse().expect("a time")
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).clone()
}

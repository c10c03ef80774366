//! Made-up disks.

use super::*;
use kq_facts::filesystems::{FolderUsage, HiddenFolder};
use kq_facts::kubelet_config::{KubeletConfiguration, effective};
use kq_facts::runtime::{Container, ImageFilesystems, RuntimeVersion, WritableLayer};
use kq_k8s::feature_gates::Gate;

const IMAGES: &str = "/var/lib/containerd/overlayfs";
const CONTAINERS: &str = "/var/lib/layers";

/// A node of which the tests change what they are about.
struct Node {
    folders: BTreeMap<FolderRole, NodeFolder>,
    runtime: RuntimeFacts,
    summary: Lookup<StatsSummary>,
    config: EffectiveConfiguration,
    rules: KubeletRules,
}

fn folder(path: &str, device: &str, bytes: u64) -> NodeFolder {
    let filesystem = Filesystem {
        device: device.to_owned(),
        capacity_bytes: 1_000,
        free_bytes: 250,
        available_bytes: 200,
        ..Filesystem::default()
    };
    NodeFolder {
        path: path.to_owned(),
        filesystem: Lookup::found(path, filesystem),
        usage: Lookup::found(path, FolderUsage { bytes, ..FolderUsage::default() }),
    }
}

fn counted(mountpoint: &str, used_bytes: Option<u64>, inodes_used: u64) -> FilesystemUsage {
    FilesystemUsage {
        mountpoint: mountpoint.to_owned(),
        used_bytes,
        inodes_used: Some(inodes_used),
        timestamp: 5,
    }
}

impl Node {
    fn new() -> Self {
        let rules = KubeletRules::default();
        let folders = [
            (FolderRole::Images, folder(IMAGES, "8:1", 110)),
            (FolderRole::Kubelet, folder("/var/lib/kubelet", "8:1", 30)),
            (FolderRole::Logs, folder("/var/log/pods", "8:1", 7)),
        ];
        let runtime = RuntimeFacts {
            version: RuntimeVersion {
                runtime_name: "containerd".to_owned(),
                ..RuntimeVersion::default()
            },
            image_filesystems: Lookup::found(
                "s",
                ImageFilesystems { image: vec![counted(IMAGES, Some(100), 9)], container: vec![] },
            ),
            writable_layers: Lookup::found("s", Vec::new()),
            containers: Lookup::found("s", Vec::new().into()),
            ..RuntimeFacts::default()
        };
        Self {
            folders: folders.into(),
            runtime,
            summary: Lookup::default(),
            config: effective(&KubeletConfiguration::default(), rules.gates.version()),
            rules,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Names another folder for containers, on a device, with so many inodes.
    fn splits(&mut self, device: &str, inodes: u64) {
        self.folders.insert(FolderRole::Containers, folder(CONTAINERS, device, 20));
        if let Some(found) = &mut self.runtime.image_filesystems.found {
            found.value.container = vec![counted(CONTAINERS, Some(20), inodes)];
        }
    }

    fn on(&mut self, role: FolderRole, device: &str) {
        let folder = self.folders.get_mut(&role).expect("a folder");
        folder.filesystem.found.as_mut().expect("it is known").value.device = device.to_owned();
    }

    fn disk(&self) -> ImageDisk {
        ImageDisk::of(DiskFacts {
            now: Timestamp(10),
            folders: &self.folders,
            runtime: &Lookup::found("s", self.runtime.clone()),
            summary: &self.summary,
            workloads: &Workloads::default(),
            config: &self.config,
            rules: self.rules,
        })
    }
}

/// Writes what eviction removes first when nodefs, imagefs and containerfs are full.
fn reclaims(disk: &ImageDisk) -> String {
    let first = disk.layout.signals.iter().filter(|signal| signal.signal.ends_with(".available"));
    let texts = first.map(|signal| match &signal.reclaims {
        None => "?".to_owned(),
        Some(reclaims) => reclaims.join("+"),
    });
    texts.collect::<Vec<_>>().join(" / ")
}

#[test]
fn file_systems_are_one_two_or_three() {
    let both = "containers+images / containers+images / containers+images";
    let split = "containers / images / containers";
    let off = |node: &mut Node| {
        node.rules =
            KubeletRules { gates: node.rules.gates.with(Gate::KubeletSeparateDiskGc, false) };
    };
    let rows = [
        ("one", Node::new(), (Some(1), Some(false), Some(false)), both, "hard 10%"),
        (
            "images apart",
            Node::new().with(|node| node.on(FolderRole::Images, "8:2")),
            (Some(2), Some(true), Some(false)),
            " / containers+images / containers+images",
            "hard 15%",
        ),
        (
            "containers with the node, images apart",
            Node::new().with(|node| {
                node.splits("8:1", 9);
                node.on(FolderRole::Images, "8:2");
            }),
            (Some(2), Some(true), Some(true)),
            split,
            "hard 10%",
        ),
        (
            "three",
            Node::new().with(|node| {
                node.splits("8:3", 9);
                node.on(FolderRole::Images, "8:2");
            }),
            (Some(3), Some(true), Some(true)),
            split,
            "hard 10%",
        ),
        (
            "only containers apart",
            Node::new().with(|node| node.splits("8:3", 9)),
            (Some(2), Some(true), Some(true)),
            split,
            "hard 10%",
        ),
        (
            "two folders of one device, told apart by their inodes",
            Node::new().with(|node| node.splits("8:1", 8)),
            (Some(1), Some(true), Some(true)),
            split,
            "hard 10%",
        ),
        (
            "two folders of one device that look the same",
            Node::new().with(|node| node.splits("8:1", 9)),
            (Some(1), Some(false), Some(true)),
            both,
            "",
        ),
        (
            "only containers apart, and the gate is off",
            Node::new().with(|node| {
                node.splits("8:3", 8);
                off(node);
            }),
            (Some(2), Some(false), Some(true)),
            both,
            "",
        ),
        (
            "no runtime",
            Node::new().with(|node| node.runtime.image_filesystems = Lookup::failed("s", "no")),
            (None, None, None),
            "? / ? / ?",
            "?",
        ),
    ];
    for (name, node, expected, removed, thresholds) in rows {
        let disk = node.disk();
        let layout = &disk.layout;
        let found = (layout.devices, layout.dedicated_image_fs, layout.split_container_fs);
        assert_eq!(found, expected, "{name}");
        assert_eq!(reclaims(&disk), removed, "{name}");
        let containers = layout.signals.iter().find(|one| one.signal == "containerfs.available");
        let set = containers.map(|signal| {
            signal.thresholds.as_ref().map_or_else(|| "?".to_owned(), |set| set.join(", "))
        });
        assert_eq!(set.as_deref(), Some(thresholds), "{name}");
        let refuses = layout.follows.iter().any(|text| text.contains("refuses to work"));
        assert_eq!(refuses, name.ends_with("the gate is off"), "{name}");
    }
}

#[test]
fn parts_are_added_up_once() {
    let layers = |sizes: &[Option<u64>]| {
        let layer = |(index, used_bytes): (usize, &Option<u64>)| WritableLayer {
            id: format!("c{index}"),
            used_bytes: *used_bytes,
            inodes_used: None,
        };
        Lookup::found("s", sizes.iter().enumerate().map(layer).collect())
    };
    let rows = [
        // 800 are not available: 100 of images, 30, 7, and 50 for root.
        ("all is known", Node::new(), Some(613), ""),
        (
            "layers are within images",
            Node::new().with(|node| node.runtime.writable_layers = layers(&[Some(40)])),
            Some(613),
            "",
        ),
        (
            "layers are not, with another runtime",
            Node::new().with(|node| {
                node.runtime.writable_layers = layers(&[Some(40), None]);
                node.runtime.version.runtime_name = "cri-o".to_owned();
            }),
            Some(573),
            "writable layers",
        ),
        (
            "another device",
            Node::new().with(|node| node.on(FolderRole::Kubelet, "8:9")),
            Some(643),
            "",
        ),
        (
            "a folder within another",
            Node::new().with(|node| {
                let logs = folder("/var/lib/kubelet/logs", "8:1", 7);
                node.folders.insert(FolderRole::Logs, logs);
            }),
            Some(620),
            "",
        ),
        (
            "a folder that only begins like another",
            Node::new().with(|node| {
                let logs = folder("/var/lib/kubelet-logs", "8:1", 7);
                node.folders.insert(FolderRole::Logs, logs);
            }),
            Some(613),
            "",
        ),
        (
            "a folder that could not be counted",
            Node::new().with(|node| {
                let logs = node.folders.get_mut(&FolderRole::Logs).expect("logs");
                logs.usage = Lookup::failed("/var/log/pods", "slow");
            }),
            Some(620),
            "logs (/var/log/pods)",
        ),
        (
            "images that the runtime did not count: the folder's blocks stand in",
            Node::new().with(|node| node.runtime.image_filesystems = Lookup::failed("s", "no")),
            Some(603),
            "",
        ),
        (
            "hidden by a mount",
            Node::new().with(|node| {
                let kubelet = node.folders.get_mut(&FolderRole::Kubelet).expect("a folder");
                let path = "/var/lib/kubelet/pods".to_owned();
                kubelet.usage.found.as_mut().expect("counted").value.hidden =
                    vec![HiddenFolder { path, bytes: 13, inodes: 2 }];
            }),
            Some(600),
            "",
        ),
        (
            "counted twice",
            Node::new().with(|node| {
                let folder = folder("/var/lib/containerd/content", "8:1", 900);
                node.folders.insert(FolderRole::Content, folder);
            }),
            Some(-287),
            "",
        ),
        (
            "more than can be",
            Node::new().with(|node| {
                let folder = folder("/var/lib/containerd/content", "8:1", u64::MAX);
                node.folders.insert(FolderRole::Content, folder);
            }),
            None,
            "",
        ),
        (
            "no image file system",
            Node::new().with(|node| {
                node.folders.remove(&FolderRole::Images);
            }),
            None,
            "",
        ),
    ];
    for (name, node, expected, may_hold) in rows {
        let disk = node.disk();
        assert_eq!(disk.rest.bytes, expected, "{name}: {:#?}", disk.parts);
        assert_eq!(disk.rest.may_hold.join(", "), may_hold, "{name}");
        // What is not known is never zero.
        let silent = disk.parts.iter().find(|part| part.bytes.is_none() && part.unknown.is_none());
        assert_eq!(silent, None, "{name}");
    }
}

#[test]
fn the_largest_layers_are_named() {
    let node = Node::new().with(|node| {
        let layer = |index: u64| WritableLayer {
            id: format!("c{index:02}"),
            used_bytes: (index != 3).then_some(index % 7),
            inodes_used: None,
        };
        node.runtime.writable_layers = Lookup::found("s", (0..14).map(layer).collect());
        let container = Container {
            id: "c13".to_owned(),
            pod_uid: "uid".to_owned(),
            name: "app".to_owned(),
            ..Container::default()
        };
        node.runtime.containers = Lookup::found("s", vec![container].into());
    });
    let disk = node.disk();
    let found: Vec<(&str, u64)> =
        disk.largest_layers.iter().map(|layer| (&*layer.container_id, layer.bytes)).collect();
    let expected = [
        ("c06", 6),
        ("c13", 6),
        ("c05", 5),
        ("c12", 5),
        ("c04", 4),
        ("c11", 4),
        ("c10", 3),
        ("c02", 2),
        ("c09", 2),
        ("c01", 1),
    ];
    assert_eq!(found, expected);
    let named = &disk.largest_layers[1];
    assert_eq!((named.pod.as_deref(), named.container.as_deref()), (Some("uid"), Some("app")));
    assert_eq!(disk.largest_layers[0].pod, None, "a container that nobody lists");
    let layers = disk.parts.iter().find(|part| part.what == PartKind::WritableLayers);
    let layers = layers.expect("a part");
    assert_eq!(layers.bytes, Some(39));
    assert_eq!(layers.unknown.as_deref(), Some("the runtime did not count 1 of 14 containers"));
}

#[test]
fn the_judged_file_system_is_that_of_images() {
    let disk = Node::new().disk();
    let judged = &disk.judged;
    assert_eq!(judged.usage.map(|usage| usage.percent), Some(80));
    assert_eq!((judged.largest_available_bytes, judged.missing_bytes), (Some(159), Some(41)));
    assert_eq!(judged.amount_to_free_bytes, None);
    let full = Node::new().with(|node| {
        let images = node.folders.get_mut(&FolderRole::Images).expect("images");
        images.filesystem.found.as_mut().expect("known").value.available_bytes = 100;
    });
    let judged = full.disk().judged;
    assert_eq!((judged.missing_bytes, judged.amount_to_free_bytes), (Some(0), Some(100)));
    let empty = Node::new().with(|node| {
        let images = node.folders.get_mut(&FolderRole::Images).expect("images");
        images.filesystem.found.as_mut().expect("known").value.capacity_bytes = 0;
    });
    assert_eq!(empty.disk().judged.usage, None);
    let summary: StatsSummary = serde_json::from_str(
        r#"{"node":{"runtime":{"imageFs":{"availableBytes":220,"capacityBytes":1000,"usedBytes":90}}}}"#,
    )
    .expect("a summary");
    let disk = Node::new().with(|node| node.summary = Lookup::found("k", summary)).disk();
    for part in ["650 bytes below statfs", "10 bytes more than", "20 bytes were taken"] {
        assert!(
            disk.differences.iter().any(|text| text.contains(part)),
            "{part}: {:#?}",
            disk.differences
        );
    }
}

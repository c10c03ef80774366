//! Which thresholds are met on which layout, and what follows.

use super::*;
use crate::disks::{DiskFacts, node_disks};
use crate::objects;
use crate::reclaim_outcome::FreedBytes;
use kq_facts::filesystems::{Filesystem, FolderRole, NodeFolder};
use kq_facts::kubelet_config::{KubeletConfiguration, effective, eviction_thresholds};
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{FilesystemUsage, ImageFilesystems};
use kq_facts::stats_summary::StatsSummary;
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;

/// One disk, images apart, images and containers apart.
const ONE: [&str; 3] = ["a", "a", "a"];
const TWO: [&str; 3] = ["a", "b", "b"];
const THREE: [&str; 3] = ["a", "b", "c"];

/// Returns what is done when of 100 bytes so many are left, for the kubelet, images and containers.
fn pressure_of(devices: [&str; 3], left: [u64; 3], soft: Option<&str>, memory: u64) -> Pressure {
    let roles = [FolderRole::Kubelet, FolderRole::Images, FolderRole::Containers];
    let folder = |((role, device), left): ((FolderRole, &str), u64)| {
        let filesystem = Filesystem {
            device: device.to_owned(),
            capacity_bytes: 100,
            available_bytes: left,
            inodes: 100,
            inodes_free: 50,
            ..Filesystem::default()
        };
        let folder =
            NodeFolder { filesystem: Lookup::found("f", filesystem), ..NodeFolder::default() };
        (role, folder)
    };
    let folders: BTreeMap<_, _> = roles.into_iter().zip(devices).zip(left).map(folder).collect();
    let at =
        |path: &str| FilesystemUsage { mountpoint: path.to_owned(), ..FilesystemUsage::default() };
    let containers = if devices[1] == devices[2] { "/images" } else { "/containers" };
    let told = ImageFilesystems { image: vec![at("/images")], container: vec![at(containers)] };
    let mut given = KubeletConfiguration::default();
    if let Some(soft) = soft {
        let (signal, value) = soft.split_once('<').unwrap();
        given.eviction_soft = Some([(signal.to_owned(), value.to_owned())].into());
        given.eviction_soft_grace_period = Some([(signal.to_owned(), "1m".to_owned())].into());
    }
    let config = effective(&given, KubeletVersion::ASSUMED);
    let thresholds = eviction_thresholds(&config, false).unwrap();
    let rules = KubeletRules::for_version(KubeletVersion::ASSUMED);
    let text = format!(
        r#"{{"node":{{"memory":{{"availableBytes":{memory},"workingSetBytes":1000000000}}}},
            "pods":[{{"podRef":{{"uid":"u"}},"ephemeral-storage":{{"usedBytes":9}},
                "containers":[{{"name":"c","rootfs":{{"usedBytes":9}}}}]}}]}}"#
    );
    let summary: StatsSummary = serde_json::from_str(&text).unwrap();
    let disks = node_disks(DiskFacts {
        folders: &folders,
        runtime: Some(&told),
        endpoint: "unix:///run/crio/crio.sock",
        feature_gates: &BTreeMap::new(),
        rules: &rules,
        summary: Some(&summary),
        assumed: None,
    });
    let pod = |name: &str, uid: &str, phase: &str| -> Pod {
        objects::pod(&format!("n/{name}")).uid(uid).phase(phase).read()
    };
    // The one that ended is not evicted, though nothing is known of it.
    let pods = [pod("ended", "e", "Succeeded"), pod("p", "u", "Running")];
    let pods: Vec<&Pod> = pods.iter().collect();
    pressure(&PressureInput {
        config: &config,
        thresholds: &thresholds,
        rules,
        disks: &disks,
        stats_unknown: None,
        pods: Ok(&pods),
        reclaimed: Some(Reclaimed {
            images: FreedBytes::of(Some(0)),
            containers: FreedBytes::of(Some(0)),
            images_counted_bytes: 0,
        }),
    })
}

/// Writes what is done: signals, each with what runs, and what one look cannot tell.
fn told(pressure: &Pressure) -> String {
    let act = |act: &PressureAction| {
        let runs = |function, mark| if act.reclaim.contains(&function) { mark } else { "" };
        let only_if = match act.only_if {
            None => "",
            Some(GraceCase::GraceOver) => " if over",
            Some(GraceCase::GraceNotOver) => " if not over",
        };
        format!(
            "{} {}{}{only_if}",
            act.signal,
            runs(ReclaimFunction::DeleteAllUnusedContainers, "c"),
            runs(ReclaimFunction::DeleteUnusedImages, "i")
        )
    };
    pressure.acts.iter().map(act).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_met_decides_what_is_reclaimed() {
    const ENOUGH: u64 = 1 << 40;
    const FULL: [u64; 3] = [50, 50, 50];
    // Devices, what is left, soft threshold, memory; acts; containers, images, assumed.
    let rows = [
        ("one, nothing met", ONE, FULL, None, ENOUGH, "", (true, true, true)),
        ("two, nothing met", TWO, FULL, None, ENOUGH, "", (true, true, true)),
        ("three, nothing met", THREE, FULL, None, ENOUGH, "", (false, true, true)),
        ("one, at the threshold of images", ONE, [15; 3], None, ENOUGH, "", (true, true, true)),
        ("one, images", ONE, [14; 3], None, ENOUGH, "imagefs.available ci", (true, true, false)),
        (
            "one, all",
            ONE,
            [9; 3],
            None,
            ENOUGH,
            "imagefs.available ci, nodefs.available ci, containerfs.available ci",
            (true, true, false),
        ),
        (
            "two, the kubelet's",
            TWO,
            [9, 50, 50],
            None,
            ENOUGH,
            "nodefs.available ",
            (false, false, false),
        ),
        (
            "two, images",
            TWO,
            [50, 14, 14],
            None,
            ENOUGH,
            "imagefs.available ci, containerfs.available ci",
            (true, true, false),
        ),
        (
            "three, the kubelet's",
            THREE,
            [9, 50, 50],
            None,
            ENOUGH,
            "nodefs.available c",
            (true, false, false),
        ),
        (
            "three, images",
            THREE,
            [50, 14, 50],
            None,
            ENOUGH,
            "imagefs.available i",
            (false, true, false),
        ),
        (
            "three, containers",
            THREE,
            [50, 50, 9],
            None,
            ENOUGH,
            "containerfs.available c",
            (true, false, false),
        ),
        (
            "three, images and containers",
            THREE,
            [50, 14, 9],
            None,
            ENOUGH,
            "imagefs.available i, containerfs.available c",
            (true, true, false),
        ),
        (
            "soft",
            ONE,
            [17; 3],
            Some("imagefs.available<20%"),
            ENOUGH,
            "imagefs.available ci if over",
            (true, true, false),
        ),
        ("memory first", ONE, [14; 3], None, 1000, "memory.available ", (false, false, false)),
        (
            "soft memory",
            ONE,
            [14; 3],
            Some("memory.available<1000Gi"),
            200 << 20,
            "imagefs.available ci if not over, memory.available  if over",
            (true, true, false),
        ),
    ];
    for (name, devices, left, soft, memory, acts, (containers, images, is_assumed)) in rows {
        let pressure = pressure_of(devices, left, soft, memory);
        assert_eq!(told(&pressure), acts, "{name}");
        assert_eq!(pressure.reclaims, Reclaims { containers, images, is_assumed }, "{name}");
        let victims = pressure.acts.iter().map(|act| act.victim.as_ref().map(|v| &*v.pod.name));
        assert!(victims.into_iter().all(|victim| victim == Some("p")), "{name}");
        let says_so =
            |text: &str| pressure.decision.first().is_some_and(|d| d.to_string().starts_with(text));
        assert_eq!(says_so("nothing would be reclaimed now"), is_assumed, "{name}");
        assert_eq!(says_so("crossed"), !is_assumed, "{name}");
    }
}

#[test]
fn rows_have_exact_numbers() {
    let pressure = pressure_of(ONE, [14; 3], None, 1 << 40);
    let row =
        pressure.thresholds.iter().find(|row| row.signal == Signal::ImageFsAvailable).unwrap();
    let numbers = (row.threshold, row.available, row.capacity, row.margin, row.met);
    assert_eq!(numbers, (Some(15), Some(14), Some(100), Some(-1), Some(true)));
    assert_eq!(row.configured, "15%");
    assert_eq!(pressure.conditions, [PressureCondition::Disk]);
    assert!(pressure.is_short());
}

#[test]
fn what_is_not_known_is_said() {
    let config = effective(&KubeletConfiguration::default(), KubeletVersion::ASSUMED);
    let thresholds = eviction_thresholds(&config, false).unwrap();
    let rules = KubeletRules::for_version(KubeletVersion::ASSUMED);
    let disks = node_disks(DiskFacts {
        folders: &BTreeMap::new(),
        runtime: None,
        endpoint: "",
        feature_gates: &BTreeMap::new(),
        rules: &rules,
        summary: None,
        assumed: None,
    });
    let pressure = pressure(&PressureInput {
        config: &config,
        thresholds: &thresholds,
        rules,
        disks: &disks,
        stats_unknown: Some("refused".to_owned()),
        pods: Err("no pods".to_owned()),
        reclaimed: None,
    });
    assert!(pressure.thresholds.iter().all(|row| row.met.is_none()));
    assert!(pressure.reclaims.is_assumed);
    assert_eq!(pressure.missing.len(), 3, "{:?}", pressure.missing);
    let first = pressure.decision.first().map(ToString::to_string);
    let expected = "unknown whether anything would be reclaimed now: no disk was measured";
    assert_eq!(first.as_deref(), Some(expected));
}

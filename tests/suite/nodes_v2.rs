//! A node with systemd, cgroup v2 and containerd 2, recorded with a real kubelet 1.36.2 before and after changes.
//!
//! `tests/nodes-v2/NAME/` has the snapshot before a change (`before.kq.json.gz`), one in the middle of some
//! (`mid.kq.json.gz`), and `outcome.json`: what was done, what became of each pod, and which values of cgroups changed. Files
//! beside them are what the change needed: a manifest, a configuration.
//! The machine was slow, so that the snapshots lack facts; [`FACTS`] gives those that are true for all of them.

mod questions;

use crate::cli::{folder_with, kq, repository};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the snapshots lack: runc 1.3.6, crun 1.21, and containerd's default configuration.
const FACTS: &str = "--runtime runc=1.3.6,crun=1.21 --runtime-set disable_hugetlb_controller=true";

/// What differs for a reason that the recording has, by snapshot: verdict, pod or cgroup, container and file.
///
/// `03` to `07` have the cgroup of a container whose start failed, and which runc did not remove. `03` set properties of
/// units, `05` wrote into files: both are in the snapshots after them.
const DIFFERENT: &[(&str, &[&str])] = &[
    ("03-set-property-runtime", &["EXTRA huge (cgroup)"]),
    (
        "05-written-by-hand",
        &[
            "DRIFT kubepods.slice cpu.weight",
            "DRIFT g100 c memory.max",
            "DRIFT g100 c memory.oom.group",
            "EXTRA kubepods-burstable.slice memory.max",
            "DRIFT lim-333 cpu.max",
            "EXTRA huge (cgroup)",
        ],
    ),
    (
        "07-apply-reload-rollback",
        &[
            "DRIFT kubepods.slice cpu.weight",
            "DRIFT g100 c memory.max",
            "DRIFT g100 c memory.oom.group",
            "EXTRA kubepods-burstable.slice memory.max",
            "DRIFT lim-1501 cpu.max",
            "DRIFT lim-1501 c cpu.max",
            "DRIFT lim-333 cpu.max",
            "DRIFT multi a memory.max",
            "DRIFT req-only cpu.weight",
            "EXTRA huge (cgroup)",
        ],
    ),
];

/// How many values are of an earlier configuration, and how many change at the moment of the snapshot.
const EXCUSED: &[(&str, usize, usize)] = &[
    // A container is being created.
    ("02-kubelet-restart", 0, 5),
    // Pods are being refused; memory QoS was on before.
    ("10-system-reserved-cpu", 2, 4),
    // Swap was allowed just before.
    ("11-memory-qos", 7, 0),
    // Memory QoS was turned on just before.
    ("13-cpu-static-state-removed", 31, 0),
    // Memory QoS was turned off, and the kubelet started within the minute before.
    ("16-pids-limit", 6, 5),
    ("21-enforce-compressible", 6, 0),
    ("30-resize-up", 2, 0),
    ("32-admission", 2, 0),
    // A pod was deleted just before.
    ("34-preempt-static", 2, 1),
    ("36-memory-eviction", 2, 0),
    ("39-devices", 2, 0),
    ("41-probes", 2, 0),
    ("43-driver-switch", 2, 0),
];

/// Returns the folders of the recordings.
fn recordings() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(repository().join("tests/nodes-v2")).expect("the recordings");
    let mut all: Vec<PathBuf> = folder.map(|entry| entry.expect("a recording").path()).collect();
    all.sort();
    assert_eq!(all.len(), 19, "{all:?}");
    all
}

fn name(recording: &std::path::Path) -> String {
    recording.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Returns the folder and the snapshot of the node before all changes.
pub fn base() -> (PathBuf, String) {
    let folder = recordings().remove(0);
    let snapshot = snapshot(&folder, "before").expect("a snapshot");
    (folder, snapshot)
}

/// Returns the text of a snapshot; `None`: there is none of this moment.
pub fn snapshot(recording: &std::path::Path, moment: &str) -> Option<String> {
    let packed = std::fs::read(recording.join(format!("{moment}.kq.json.gz"))).ok()?;
    // `gzip -n` writes ten bytes before the data and eight after it.
    let data = &packed[10..packed.len() - 8];
    let text = miniz_oxide::inflate::decompress_to_vec(data).expect("packed data");
    Some(String::from_utf8(text).expect("UTF-8"))
}

/// Compares a recording with the plan, with further flags.
fn diff(text: &str, flags: &str) -> Value {
    let folder = folder_with(&[("node.json", text)]);
    let ran = kq(&format!("cgroup diff --snapshot node.json -o json {flags}"))
        .within(folder.path())
        .run();
    ran.answer()
}

fn text<'v>(row: &'v Value, field: &str) -> &'v str {
    row[field].as_str().unwrap_or_default()
}

/// Returns a row in a few words.
fn short(row: &Value) -> String {
    let place = match text(row, "pod") {
        "" => text(row, "cgroup").rsplit('/').next().unwrap_or_default(),
        pod => pod,
    };
    let file = row["file"].as_str().unwrap_or("(cgroup)");
    let parts = [text(row, "verdict"), place, text(row, "container"), file];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn rows(answer: &Value) -> &[Value] {
    answer["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

#[test]
fn nothing_drifts_but_what_the_recordings_changed() {
    let mut wrong = Vec::new();
    for recording in recordings() {
        let name = name(&recording);
        for moment in ["before", "mid"] {
            let Some(text_of_snapshot) = snapshot(&recording, moment) else { continue };
            for flags in [FACTS, ""] {
                let answer = diff(&text_of_snapshot, flags);
                let is_drift =
                    |row: &&Value| matches!(text(row, "verdict"), "DRIFT" | "EXTRA" | "MISSING");
                let mut found: Vec<String> =
                    rows(&answer).iter().filter(is_drift).map(short).collect();
                let mut expected: Vec<String> = DIFFERENT
                    .iter()
                    .filter(|(of, _)| *of == name)
                    .flat_map(|(_, rows)| rows.iter().map(|row| (*row).to_owned()))
                    .collect();
                found.sort();
                expected.sort();
                if found != expected {
                    wrong
                        .push(format!("{name} {moment} {flags}: {found:?}, expected {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn with_the_lacking_facts_every_value_is_judged() {
    let mut wrong = Vec::new();
    for recording in recordings() {
        let name = name(&recording);
        let answer = diff(&snapshot(&recording, "before").expect("a snapshot"), FACTS);
        let count = |verdict: &str| answer["summary"][verdict].as_u64().unwrap_or_default();
        let (older, changing) = EXCUSED
            .iter()
            .find(|(of, ..)| *of == name)
            .map_or((0, 0), |(_, one, other)| (*one, *other));
        let counted = [count("OLDER-CONFIG"), count("CHANGING")];
        if counted != [older as u64, changing as u64] {
            wrong.push(format!("{name}: {counted:?}, expected {older}, {changing}"));
        }
        for row in rows(&answer).iter().filter(|row| text(row, "verdict") == "UNKNOWN") {
            let reason = text(row, "reason");
            // The snapshots are older than the reading of crun's cgroups.
            let is_known = reason.starts_with("crun keeps it in container")
                || (name == "10-system-reserved-cpu"
                    && reason == "the pod has not been started here");
            if !is_known {
                wrong.push(format!("{name}: {}: {reason}", short(row)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn without_them_the_values_are_unknown_with_the_flag() {
    let base = snapshot(&recordings()[0], "before").expect("a snapshot");
    let answer = diff(&base, "");
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows(&answer).iter().filter(|row| text(row, "verdict") == "UNKNOWN") {
        *reasons.entry(text(row, "reason")).or_default() += 1;
    }
    let has = |flag: &str| reasons.keys().any(|reason| reason.contains(flag));
    assert!(has("--runtime-set disable_hugetlb_controller=BOOL"), "{reasons:?}");
    assert!(has("--runtime NAME=VERSION"), "{reasons:?}");
    let unnamed: Vec<&&str> = reasons
        .keys()
        .filter(|reason| !reason.contains("--") && !reason.starts_with("crun"))
        .collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

#[test]
fn the_doctor_finds_nothing_that_is_not_there() {
    let base = snapshot(&recordings()[0], "before").expect("a snapshot");
    let folder = folder_with(&[("node.json", base)]);
    let ran =
        kq(&format!("doctor --snapshot node.json -o json {FACTS}")).within(folder.path()).run();
    let answer: Value = ran.answer();
    let of = |severity: &str| -> Vec<String> {
        let items = answer["items"].as_array().expect("items").iter();
        items
            .filter(|it| text(it, "severity") == severity)
            .map(|it| text(it, "id").to_owned())
            .collect()
    };
    // 79 against 100 of the system's slice, on a machine with 2 CPUs and no reservation.
    assert_eq!(of("ERROR"), ["cpu-weight"], "{}", ran.stdout);
    assert!(!ran.stdout.contains("user.slice can take"), "{}", ran.stdout);
}

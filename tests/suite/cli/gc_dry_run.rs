//! `kq gc dry-run`: its flags, its exit codes, what it says when something is missing or makes no sense,
//! and the shape of its answer. What it answers about a recorded node is in `images`.

use super::contract::{Reason, Said};
use super::lookups::{not_asked, refused};
use super::{Ran, folder_with, kq};
use crate::images::stored::{PASSES, records, snapshot};
use serde::Deserialize;
use serde_json::{Value, json};

/// Asks about a snapshot.
#[track_caller]
fn ask(snapshot: &str, flags: &str) -> Ran {
    let folder = folder_with(&[("snapshot.json", snapshot)]);
    kq(&format!("gc dry-run --snapshot snapshot.json {flags}")).within(folder.path()).run()
}

/// Returns the recorded node at the time at which there is something to free.
fn full() -> String {
    let times = ["12:04:20", "12:05:26", "12:09:26", "12:13:26"];
    snapshot(PASSES[1].1, Some(records(&times)))
}

/// Returns that node with something changed.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&full()).expect("a snapshot is JSON");
    change(&mut value);
    value.to_string()
}

#[test]
fn flags_and_exit_codes() {
    let node = full();
    for (flags, code, expected) in [
        ("", 0, "133.5Mi more are free"),
        ("-o wide", 0, "140033638 bytes more are free"),
        ("--trigger periodic", 0, "periodic at 2026-11-20T12:14:15Z"),
        ("--trigger age", 0, "imageMaximumGCAge is off"),
        ("--trigger age --set imageMaximumGCAge=2m", 0, "REMOVE-AGE"),
        // What is left of nodefs is unknown.
        ("--trigger eviction", 3, "thresholds do not matter"),
        ("--trigger nothing", 2, "invalid value 'nothing'"),
        ("--at-usage 49", 0, "usage 49% "),
        ("--at-usage 49%", 0, "so no space is needed"),
        ("--at-usage 90%", 1, "Insufficient free disk space on the node's image filesystem (90%"),
        ("--at-usage 101%", 2, "expected a whole percentage"),
        ("--at-usage much", 2, "expected a whole percentage"),
        // 55 of 100 are to be free, and 40 are.
        ("--at-usage 60% --image-fs-capacity 1G -o wide", 0, "150000000 bytes more are free"),
        ("--at-usage 60% --image-fs-capacity 0", 2, "above 0"),
        ("--image-fs-capacity 1G", 2, "--at-usage"),
        ("--set imageGCHighThresholdPercent=90", 0, "so no space is needed"),
        ("--set imageGCHighThresholdPercent=100", 0, "collects images only under disk pressure"),
        (
            "--set imageGCHighThresholdPercent=40",
            2,
            "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 45 must be \
             less than imageGCHighThresholdPercent (--image-gc-high-threshold) 40",
        ),
        (
            "--set imageGCHighThresholdPercent=101",
            2,
            "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, \
             inclusive",
        ),
        ("--set imageMinimumGCAge=-1s", 2, "imageMinimumGCAge -1s must not be negative"),
        ("--kubelet-start 2026-11-20T12:10:00Z", 0, "kubelet start: 2026-11-20T12:10:00Z (--kub"),
        ("--kubelet-start 5m", 0, "kubelet start: 2026-11-20T12:09:15Z (--kubelet-start)"),
        ("--kubelet-start 2026-11-20T12:14:16Z", 2, "later than now, 2026-11-20T12:14:15Z"),
        ("--kubelet-start=-5m", 2, "expected a time such as"),
        ("--kubelet-start yesterday", 2, "expected a time such as"),
    ] {
        let ran = ask(&node, flags);
        assert_eq!(ran.code, code, "{flags}: {}", ran.text());
        let words = ran.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{flags}: {}", ran.text());
        assert!(code != 2 || ran.stdout.is_empty(), "{flags}: {}", ran.text());
    }
}

#[test]
fn what_is_missing_is_named() {
    let failed = || refused("s", "it is out");
    let runtime = |field: &'static str| {
        changed(move |node| node["runtime"]["found"]["value"][field] = failed())
    };
    for (name, node, flags, code, expected) in [
        (
            "no runtime",
            changed(|node| node["runtime"] = failed()),
            "",
            3,
            "the container runtime did not answer: s: it is out",
        ),
        ("no images", runtime("images"), "", 3, "the images could not be listed: s: it is out"),
        (
            "no containers",
            runtime("containers"),
            "",
            3,
            "without them, the images in use are unknown",
        ),
        (
            "no sandboxes, which go under pressure",
            runtime("sandboxes"),
            "--trigger eviction",
            3,
            "the sandboxes could not be listed",
        ),
        (
            "no file system",
            changed(|node| node["folders"]["images"]["filesystem"] = failed()),
            "",
            3,
            "unknown (/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs: s: it is out): give it with --at-usage",
        ),
        (
            "no file system, and its size is not told",
            changed(|node| node["folders"]["images"]["filesystem"] = failed()),
            "--at-usage 90%",
            3,
            "set --image-fs-capacity",
        ),
        (
            "no file system, which the maximum age does not need",
            changed(|node| node["folders"]["images"]["filesystem"] = failed()),
            "--trigger age --set imageMaximumGCAge=2m",
            0,
            "REMOVE-AGE",
        ),
        (
            "no file system, which is told",
            changed(|node| node["folders"]["images"]["filesystem"] = failed()),
            "--at-usage 60% --image-fs-capacity 1G -o wide",
            0,
            "150000000 bytes more are free",
        ),
        (
            "a file system of no size",
            changed(|node| {
                node["folders"]["images"]["filesystem"]["found"]["value"]["capacityBytes"] =
                    0.into();
            }),
            "",
            1,
            "invalid capacity 0 on image filesystem",
        ),
        (
            "no start of the kubelet",
            changed(|node| node["kubelet"]["found"]["value"]["startedAt"] = Value::Null),
            "",
            0,
            "missing: the start of the kubelet; the likely order assumes that it was long ago (--kubelet-start)",
        ),
        (
            "records from the future",
            changed(|node| {
                let records = &mut node["imageRecords"]["found"]["value"];
                records["detectedAt"] = "2027-01-01T00:00:00Z".into();
            }),
            "",
            0,
            "the clock was set back",
        ),
    ] {
        let ran = ask(&node, flags);
        assert_eq!(ran.code, code, "{name}: {}", ran.text());
        let words = ran.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{name}: {}", ran.text());
    }
}

#[test]
fn nothing_is_unused_while_containers_are_not_known() {
    let node = changed(|node| {
        node["runtime"]["found"]["value"]["containers"] = not_asked();
    });
    for flags in ["", "--trigger age", "--trigger eviction", "--at-usage 99%"] {
        for format in ["table", "wide", "json", "yaml", "name"] {
            let ran = ask(&node, &format!("{flags} -o {format}"));
            assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{flags} {}", ran.text());
        }
    }
}

/// Images and containers that make no sense, on a file system that is full.
fn nonsense() -> String {
    changed(|node| {
        node["imageRecords"] = not_asked();
        let runtime = &mut node["runtime"]["found"]["value"];
        let image = |id: &str, size: u64, pinned: bool| json!({"id": id, "repoTags": [], "repoDigests": [], "size": size, "pinned": pinned});
        runtime["images"]["found"]["value"] = json!([
            image("", 1, false),
            image("huge", u64::MAX, false),
            image("larger", 1 << 63, false),
            image("twice", 5, false),
            image("twice", 7, true),
            image("used", 9, false),
            image("\u{1b}[2J", 11, false),
        ]);
        let containers = &mut runtime["containers"]["found"]["value"];
        containers[0]["imageRef"] = "used".into();
        let mut other = containers[0].clone();
        other["imageRef"] = "".into();
        other["createdAt"] = i64::MIN.into();
        containers.as_array_mut().expect("a list").push(other);
    })
}

#[test]
fn nonsense_is_answered_and_told() {
    let node = nonsense();
    for trigger in ["periodic", "age", "eviction"] {
        for format in ["table", "wide", "yaml", "name"] {
            let ran = ask(&node, &format!("--trigger {trigger} -o {format}"));
            assert!([0, 1, 3].contains(&ran.code), "{trigger}: {}", ran.text());
            assert!(!ran.text().contains('\u{1b}'), "{trigger} {format}: {}", ran.text());
        }
        let ran = ask(&node, &format!("--trigger {trigger} -o json"));
        let plan: Value = ran.answer();
        let verdict = |id: &str| {
            let items = plan["items"].as_array().expect("items").iter();
            let found: Vec<&Value> = items.filter(|item| item["id"] == id).collect();
            assert_eq!(found.len(), 1, "{id}: {plan:#}");
            found[0].clone()
        };
        assert_eq!(verdict("twice")["verdict"], "pinned", "the last entry counts");
        assert_eq!(verdict("twice")["sizeBytes"], 7);
        assert_eq!(verdict("huge")["sizeBytes"], -1);
        assert_eq!(verdict("used")["verdict"], "inUse");
        assert_eq!(verdict("")["verdict"], "inUse", "a container names no image at all");
        let warnings = plan["warnings"].to_string();
        assert!(warnings.contains("which the kubelet reads as -1"), "{warnings}");
    }
}

#[cfg(feature = "cri")]
#[test]
fn a_runtime_is_answered_like_its_snapshot() {
    use super::made_up_node::{Kernel, Node};
    use super::sources::SOCKET;
    use crate::edges::cri::fake::{Answers, Server};
    use kq_linux::cri::v1;
    let image = |id: &str, size: u64, pinned: bool| v1::Image {
        id: id.to_owned(),
        size,
        pinned,
        ..v1::Image::default()
    };
    let container = |id: &str, image_ref: &str| v1::Container {
        id: id.to_owned(),
        image_ref: image_ref.to_owned(),
        state: v1::ContainerState::ContainerExited as i32,
        ..v1::Container::default()
    };
    let images = vec![
        image("twice", 5, false),
        image("twice", 7, true),
        image("huge", u64::MAX, false),
        image("used", 1 << 30, false),
        image("unused", 1 << 30, false),
        image("", 3, false),
    ];
    let containers = vec![container("a", "used"), container("a", "gone"), container("", "")];
    let answers = Answers {
        sandboxes: Some(v1::ListPodSandboxResponse::default()),
        containers: Some(v1::ListContainersResponse { containers }),
        images: Some(v1::ListImagesResponse { images }),
        filesystems: Some(v1::ImageFsInfoResponse::default()),
        ..Answers::default()
    };
    for (name, answers, code) in [
        // The runtime may know image volumes, and has no status of any container.
        ("nonsense", answers.clone(), None),
        ("lists no containers", Answers { containers: None, ..answers.clone() }, Some(3)),
        ("lists no images", Answers { images: None, ..answers }, Some(3)),
    ] {
        let node = Node::new(Kernel::V2);
        let _runtime = Server::answering(&node.path(SOCKET), answers);
        let root = format!("--host-root {}", node.root().display());
        let file = node.beside().join("node.json").display().to_string();
        let stored = kq(&format!("snapshot -o {file} {root}")).run();
        assert_eq!(stored.code, 0, "{name}: {}", stored.text());
        let taken: Value =
            serde_json::from_slice(&std::fs::read(&file).expect("it is stored")).expect("JSON");
        let taken = taken["takenAt"].as_str().expect("a time").to_owned();
        for trigger in ["periodic", "age", "eviction"] {
            for format in ["table", "wide", "json", "yaml", "name"] {
                let flags = format!(
                    "gc dry-run --trigger {trigger} -o {format} --at-usage 90% --image-fs-capacity 1T \
                     --kubelet-start 2026-01-01T00:00:00Z"
                );
                let live = kq(&format!("{flags} {root}")).run();
                let of_snapshot = kq(&format!("{flags} --snapshot {file}")).run();
                assert_eq!(live.code, of_snapshot.code, "{name}: {}", live.text());
                assert!(code.is_none_or(|code| code == live.code), "{name}: {}", live.text());
                assert!(code.is_none() || live.stdout.is_empty(), "{name}: {}", live.text());
                // The clock went on in between.
                assert_eq!(
                    timeless(&live.text(), None),
                    timeless(&of_snapshot.text(), Some(&taken)),
                    "{name} {flags}"
                );
            }
        }
    }
}

/// Leaves the moment of an answer out, and how long ago things were then.
#[cfg(feature = "cri")]
fn timeless(text: &str, taken: Option<&str>) -> String {
    let text = taken.map_or_else(|| text.to_owned(), |taken| text.replace(taken, "NOW"));
    let is_moment = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_time = word.starts_with("20") && word.contains('T') && word.ends_with('Z');
        let is_length = word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit());
        (is_time && !word.starts_with("2026-01-01")) || is_length || word == "NOW"
    };
    let words = text.split_whitespace();
    words.map(|word| if is_moment(word) { "NOW" } else { word }).collect::<Vec<_>>().join(" ")
}

/// An outside copy of what programs were promised.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImageGcPlan {
    api_version: String,
    kind: String,
    trigger: String,
    at: String,
    run: Run,
    containers: Option<Value>,
    /// Its shape is held by the tests of disk pressure.
    pressure: Option<Value>,
    items: Vec<Item>,
    freed: Freed,
    outcome: Outcome,
    facts: Value,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    image_filesystem: Option<String>,
    usage: Option<Usage>,
    high_threshold_percent: i32,
    low_threshold_percent: i32,
    minimum_age: String,
    maximum_age: String,
    removes_old: Option<bool>,
    wants_space: Option<bool>,
    amount_to_free_bytes: Option<i64>,
    because: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    capacity_bytes: i64,
    available_bytes: i64,
    percent: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    place: Option<usize>,
    id: String,
    #[serde(default)]
    runtime_handler: String,
    tags: Vec<String>,
    digests: Vec<String>,
    size_bytes: i64,
    verdict: String,
    certainty: String,
    reason: Reason,
    depends_on: Option<Reason>,
    #[serde(default)]
    tied_with: Vec<String>,
    #[serde(default)]
    used_by: Vec<Use>,
    known: Option<Known>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Use {
    pod: String,
    container: String,
    container_id: String,
    state: String,
    is_volume: bool,
    created_at: String,
    finished_at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    first_detected: Span,
    last_used: LastUse,
    likely_first_detected: Option<String>,
    likely_last_used: Option<String>,
    basis: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastUse {
    may_be_never: bool,
    span: Option<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    earliest: Option<String>,
    latest: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Freed {
    images: usize,
    counted_bytes: i64,
    by_age_bytes: i64,
    by_space_bytes: i64,
    at_least_bytes: i64,
    at_most_bytes: i64,
    real_bytes: Option<u64>,
    real_unknown: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    error: Option<String>,
    events: Vec<Event>,
    follows: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    r#type: String,
    reason: String,
    message: String,
}

#[test]
fn the_answer_has_its_shape() {
    for node in [full(), snapshot(PASSES[0].1, None), nonsense()] {
        for flags in ["", "--trigger eviction", "--trigger age", "--at-usage 90%"] {
            let ran = ask(&node, &format!("-o json {flags}"));
            let plan: ImageGcPlan = ran.answer();
            let kind = (plan.api_version.as_str(), plan.kind.as_str());
            assert_eq!(kind, ("kq/v2", "ImageGcPlan"));
            assert_eq!(plan.containers.is_some(), plan.trigger == "eviction");
            assert_eq!(plan.pressure.is_some(), plan.trigger == "eviction");
            assert!(plan.items.iter().all(|item| !item.reason.text.is_empty()), "{plan:#?}");
        }
    }
    let plan: ImageGcPlan =
        serde_json::from_str(&ask(&full(), "-o json").stdout).expect("it has its shape");
    assert_eq!((plan.trigger.as_str(), plan.at.as_str()), ("periodic", "2026-11-20T12:14:15Z"));
    let run = &plan.run;
    let usage = run.usage.as_ref().expect("the file system is known");
    let Usage { capacity_bytes, available_bytes, percent } = usage;
    assert_eq!((*capacity_bytes, *available_bytes, *percent), (2_040_373_248, 982_171_648, 52));
    assert_eq!((run.high_threshold_percent, run.low_threshold_percent), (50, 45));
    assert_eq!((run.minimum_age.as_str(), run.maximum_age.as_str()), ("1m0s", "0s"));
    assert_eq!((run.removes_old, run.wants_space), (Some(false), Some(true)));
    assert_eq!((run.amount_to_free_bytes, run.because.len()), (Some(140_033_638), 2));
    assert!(run.image_filesystem.as_ref().is_some_and(|source| source.contains("ext4")));
    let first = &plan.items[0];
    let words = [&first.verdict, &first.certainty, &first.runtime_handler];
    assert_eq!(words.map(String::as_str), ["removedForSpace", "possible", ""]);
    assert_eq!((first.place, first.size_bytes, first.tied_with.len()), (Some(1), 34_665_258, 5));
    assert!(first.id.starts_with("sha256:") && first.digests.is_empty() && first.tags.len() == 1);
    let depends_on = first.depends_on.as_ref().expect("it is not certain");
    assert_eq!(
        (first.reason.code.as_str(), depends_on.code.as_str()),
        ("spaceWanted", "kubeletMemory")
    );
    assert_eq!(first.reason.facts["freedBeforeBytes"], 0);
    assert_eq!(first.reason.facts["wantedBytes"], 140_033_638);
    assert!(first.reason.text.starts_with("its turn comes with 0 of 140033638 bytes freed; "));
    let known = first.known.as_ref().expect("it is a candidate");
    let Known { first_detected, last_used, likely_first_detected, likely_last_used, basis } = known;
    assert_eq!(first_detected.earliest.as_deref(), Some("2026-11-20T12:04:25Z"));
    assert_eq!(first_detected.latest, "2026-11-20T12:05:25Z");
    assert!(last_used.may_be_never && last_used.span.is_none() && likely_last_used.is_none());
    assert_eq!(likely_first_detected.as_deref(), Some("2026-11-20T12:04:25Z"));
    assert_eq!(basis, "records");
    let used = plan.items.iter().find(|item| item.verdict == "inUse").expect("one is in use");
    let [Use { pod, container, container_id, state, is_volume, created_at, finished_at }] =
        &used.used_by[..]
    else {
        panic!("{used:#?}")
    };
    let words = [pod, container, container_id, state, created_at].map(String::as_str);
    let expected =
        ["default/use-01", "c", "container-of-use-01", "running", "2026-11-20T12:04:40Z"];
    assert_eq!((words, *is_volume, finished_at), (expected, false, &None));
    let Freed { images, counted_bytes, by_age_bytes, by_space_bytes, .. } = plan.freed;
    assert_eq!((images, by_age_bytes), (6, 0));
    assert_eq!((counted_bytes, by_space_bytes), (186_995_742, 186_995_742));
    assert_eq!((plan.freed.at_least_bytes, plan.freed.at_most_bytes), (140_033_638, 221_660_453));
    assert!(plan.freed.real_bytes.is_none() && plan.freed.real_unknown.is_some());
    assert!(plan.outcome.error.is_none() && plan.outcome.events.is_empty());
    assert_eq!((plan.outcome.follows.len(), plan.assumptions.len()), (1, 3));
    let is_pause = |it: &Said| it.text.contains("looks like the image of sandboxes");
    assert!(plan.warnings.iter().all(is_pause) && plan.missing.is_empty());
    let start = json!({"value": "2026-11-20T12:04:25Z", "origin": "process 12823"});
    assert_eq!(plan.facts["kubeletStart"], start);

    let failed: ImageGcPlan = serde_json::from_str(&ask(&full(), "-o json --at-usage 90%").stdout)
        .expect("it has its shape");
    let [Event { r#type, reason, message }] = &failed.outcome.events[..] else {
        panic!("{:#?}", failed.outcome)
    };
    assert_eq!((r#type.as_str(), reason.as_str()), ("Warning", "FreeDiskSpaceFailed"));
    assert_eq!(failed.outcome.error.as_ref(), Some(message));
}

#[test]
fn the_table_says_how_to_pin_an_image() {
    let with_runtime = |version: &str| {
        changed(|node| {
            node["runtime"]["found"]["value"]["version"]["runtimeVersion"] = json!(version);
        })
    };
    let hint = "hint: to keep an image, pin it: ctr -n k8s.io images label IMAGE \
                io.cri-containerd.pinned=pinned\n";
    for (version, flags, expected) in [
        ("1.7.28", "", true),
        ("1.6.20", "", false),
        ("1.7.28", "-o wide", false),
        ("1.7.28", "-o json", false),
        ("1.7.28", "--at-usage 49%", false),
    ] {
        let ran = ask(&with_runtime(version), flags);
        assert_eq!(ran.stderr.contains(hint), expected, "{version} {flags}: {}", ran.text());
    }
}

//! Each rule with what it finds and what it lets pass.

use super::*;
use kq_facts::kubelet_config::{
    KubeletConfiguration, Source, effective, eviction_thresholds, read,
};
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};

/// What a case looks at.
#[derive(Clone, Default)]
struct Case {
    config: KubeletConfiguration,
    minor: Option<u32>,
    disks: Disks,
    images: Option<Vec<Image>>,
    in_use: Option<Keys>,
    sandbox_image: Option<&'static str>,
}

impl Case {
    fn new(config: Value) -> Self {
        let reading = read(&config, Source::Flags, KubeletVersion::ASSUMED);
        Self { config: reading.expect("a configuration").config, ..Self::default() }
    }

    fn images(mut self, images: &[Image]) -> Self {
        self.images = Some(images.to_vec());
        self
    }

    fn lint(&self) -> GcLint {
        let version = KubeletVersion::new(1, self.minor.unwrap_or(36));
        let config = effective(&self.config, version);
        let gates = config.feature_gates.clone();
        let gates = FeatureGates::for_version(version).with_overrides(&gates).expect("gates");
        let thresholds = eviction_thresholds(&config, true);
        GcLint::of(LintInput {
            config: &config,
            given_minimum_age: self.config.image_minimum_gc_age,
            gates,
            thresholds: thresholds.as_deref(),
            disks: self.disks,
            images: self.images.as_deref(),
            in_use: self.in_use.as_ref(),
            sandbox_image: self.sandbox_image,
        })
    }

    fn found(&self) -> Vec<String> {
        let line = |item: &Finding| format!("{} {}: {}", item.severity, item.id, item.found);
        self.lint().items.iter().map(line).collect()
    }
}

/// A configuration that names every signal, far below where the image GC acts.
fn settings(mut config: Value) -> Case {
    let mut hard = json!({
        "memory.available": "100Mi",
        "nodefs.available": "0.0001%",
        "nodefs.inodesFree": "1%",
        "imagefs.available": "0.0001%",
        "imagefs.inodesFree": "1%",
    });
    for (signal, value) in config["evictionHard"].as_object().into_iter().flatten() {
        hard[signal] = value.clone();
    }
    config["evictionHard"] = hard;
    Case::new(config)
}

fn image(id: &str, tags: &[&str], pinned: bool) -> Image {
    let repo_tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    Image { id: id.to_owned(), repo_tags, size: 1 << 20, pinned, ..Image::default() }
}

#[test]
fn settings_by_themselves() {
    const PREFIX: &str = "invalid configuration: ";
    let refused = |text: &str| vec![text.replace("REFUSED", PREFIX)];
    for (name, config, minor, expected) in [
        ("defaults", json!({}), 36, vec![]),
        (
            "equal thresholds",
            json!({ "imageGCHighThresholdPercent": 80 }),
            36,
            refused(
                "ERROR low-not-below-high: REFUSEDimageGCLowThresholdPercent \
                 (--image-gc-low-threshold) 80 must be less than imageGCHighThresholdPercent \
                 (--image-gc-high-threshold) 80",
            ),
        ),
        (
            "maximum not above minimum",
            json!({ "imageMaximumGCAge": "2m" }),
            36,
            vec![
                "ERROR maximum-age-not-above-minimum: invalid configuration: imageMaximumGCAge 2m0s \
                 must be greater than imageMinimumGCAge 2m0s"
                    .to_owned(),
                "INFO maximum-age-takes-unused: 2m0s".to_owned(),
            ],
        ),
        (
            "off",
            json!({ "imageGCHighThresholdPercent": 100 }),
            36,
            refused("WARNING image-gc-off: 100 without a maximum age turns the loop off"),
        ),
        (
            "only for age",
            json!({ "imageGCHighThresholdPercent": 100, "imageMaximumGCAge": "24h" }),
            36,
            vec![
                "INFO image-gc-at-full-disk: 100: no space is made before the disk is full"
                    .to_owned(),
                "INFO maximum-age-takes-unused: 24h0m0s".to_owned(),
                "INFO eviction-near-image-gc: 100 acts below 1% available, eviction by \
                 imagefs.available below 0.0001%"
                    .to_owned(),
                "INFO eviction-near-image-gc: 100 acts below 1% available, eviction by \
                 nodefs.available below 0.0001%, if images are on that disk"
                    .to_owned(),
            ],
        ),
        (
            "small gap",
            json!({ "imageGCLowThresholdPercent": 84 }),
            36,
            refused("INFO small-gap: 85 - 84: a collection frees about 1%"),
        ),
        (
            "large gap",
            json!({ "imageGCLowThresholdPercent": 40 }),
            36,
            refused("INFO large-gap: 85 - 40: a collection frees about 45%"),
        ),
        (
            "no minimum age",
            json!({ "imageMinimumGCAge": "0s" }),
            36,
            refused("INFO minimum-age-replaced: 0s was given, 2m0s is in force"),
        ),
        ("a long minimum age", json!({ "imageMinimumGCAge": "24h" }), 36, vec![]),
        (
            "a negative minimum age",
            json!({ "imageMinimumGCAge": "-1s" }),
            36,
            refused("ERROR minimum-age-negative: REFUSEDimageMinimumGCAge -1s must not be negative"),
        ),
        (
            "a negative minimum age, before it was refused",
            json!({ "imageMinimumGCAge": "-1s" }),
            35,
            refused("INFO minimum-age-below-zero: -1s: no image is too young"),
        ),
    ] {
        let case = Case { minor: Some(minor), ..settings(config) };
        assert_eq!(case.found(), expected, "{name}");
    }
}

#[test]
fn amounts_are_told_where_the_disk_is_known() {
    let mut case = settings(json!({ "imageGCLowThresholdPercent": 84 }));
    case.disks.image_fs_capacity = Some(100 << 30);
    assert_eq!(
        case.found(),
        ["INFO small-gap: 85 - 84: a collection frees about 1%, 1Gi of 100Gi"]
    );
}

#[test]
fn eviction_is_compared() {
    let known = Disks { image_fs_capacity: Some(1000), ..Disks::default() };
    let one = Disks { dedicated_image_fs: Some(false), ..known };
    let own = Disks { dedicated_image_fs: Some(true), ..Disks::default() };
    let nothing = Disks::default();
    for (name, high, signal, value, disks, expected) in [
        (
            "the defaults are near",
            85,
            "imagefs.available",
            "15%",
            nothing,
            Some(
                "INFO eviction-near-image-gc: 85 acts below 16% available, eviction by imagefs.available below 15%",
            ),
        ),
        ("enough room", 85, "imagefs.available", "10%", nothing, None),
        (
            "at once",
            85,
            "imagefs.available",
            "16%",
            nothing,
            Some(
                "WARNING eviction-with-image-gc: 85 acts below 16% available, eviction by imagefs.available below 16%",
            ),
        ),
        (
            "before",
            90,
            "imagefs.available",
            "15%",
            nothing,
            Some(
                "WARNING eviction-before-image-gc: 90 acts below 11% available, eviction by imagefs.available below 15%",
            ),
        ),
        // 16% is a little less than that in 32 bits, and is cut off to whole bytes.
        (
            "a byte is no difference",
            85,
            "imagefs.available",
            "16%",
            known,
            Some(
                "WARNING eviction-with-image-gc: 85 acts below 16% (160) available, eviction by imagefs.available below 16% (159)",
            ),
        ),
        (
            "an amount",
            85,
            "imagefs.available",
            "200",
            known,
            Some(
                "WARNING eviction-before-image-gc: 85 acts below 16% (160) available, eviction by imagefs.available below 20% (200)",
            ),
        ),
        (
            "an amount of an unknown disk",
            85,
            "imagefs.available",
            "10Gi",
            nothing,
            Some(
                "INFO eviction-not-comparable: imagefs.available < 10Gi is an amount, and the capacity of the disk is not known",
            ),
        ),
        (
            "the node's disk has the images",
            85,
            "nodefs.available",
            "200",
            one,
            Some(
                "WARNING eviction-before-image-gc: 85 acts below 16% (160) available, eviction by nodefs.available below 20% (200)",
            ),
        ),
        ("the node's disk has no images", 85, "nodefs.available", "50%", own, None),
        (
            "nobody knows",
            85,
            "nodefs.available",
            "50%",
            nothing,
            Some(
                "WARNING eviction-before-image-gc: 85 acts below 16% available, eviction by nodefs.available below 50%, if images are on that disk",
            ),
        ),
        ("another signal", 85, "imagefs.inodesFree", "50%", nothing, None),
        (
            "no loop",
            100,
            "memory.available",
            "50%",
            nothing,
            Some("WARNING image-gc-off: 100 without a maximum age turns the loop off"),
        ),
    ] {
        let config =
            json!({ "imageGCHighThresholdPercent": high, "evictionHard": { signal: value } });
        let case = Case { disks, ..settings(config) };
        let found = case.found();
        assert_eq!(found.first().map(String::as_str), expected, "{name}");
        assert!(found.len() < 2, "{name}: {found:?}");
    }
}

#[test]
fn signals_that_evictionhard_does_not_name_are_off() {
    let off = |hard: Value| {
        let items = Case::new(json!({ "evictionHard": hard })).lint().items;
        let found = items.into_iter().find(|item| item.id == "eviction-signals-off");
        found.map(|item| (item.severity, item.found))
    };
    let disks = "no hard threshold: nodefs.available, nodefs.inodesFree, imagefs.available, \
                 imagefs.inodesFree";
    assert_eq!(off(json!({ "memory.available": "1Gi" })), Some((Severity::Warning, disks.into())));
    let merged = json!({
        "mergeDefaultEvictionSettings": true,
        "evictionHard": { "memory.available": "1Gi" },
    });
    assert_eq!(Case::new(merged).found(), Case::new(json!({})).found());
}

#[test]
fn a_long_grace_period_gives_images_their_turn() {
    for (name, period, expected) in
        [("short", "90s", Severity::Warning), ("long", "5m", Severity::Info)]
    {
        let mut case = settings(json!({
            "evictionSoft": { "imagefs.available": "30%" },
            "evictionSoftGracePeriod": { "imagefs.available": period },
        }));
        case.disks.dedicated_image_fs = Some(true);
        let items = case.lint().items;
        let got: Vec<_> = items.iter().map(|item| (item.id.as_str(), item.severity)).collect();
        assert_eq!(got, [("eviction-before-image-gc", expected)], "{name}");
        assert!(
            items.iter().all(|item| item
                .advice
                .as_ref()
                .is_some_and(|it| it.starts_with("set it to 66 or less"))),
            "{items:?}"
        );
    }
}

#[test]
fn images_that_are_there() {
    const PAUSE: &str = "registry.k8s.io/pause:3.10";
    let pause = |pinned| image("p", &[PAUSE], pinned);
    let web = image("w", &["docker.io/library/pause-menu:1"], false);
    let untagged = image("u", &[], false);
    for (name, images, sandbox, expected) in [
        ("pinned", vec![pause(true), web.clone()], Some(PAUSE), None),
        (
            "not pinned",
            vec![pause(false)],
            Some(PAUSE),
            Some("WARNING sandbox-image-not-pinned: the image of sandboxes is not pinned"),
        ),
        (
            "by its looks",
            vec![pause(false), web.clone()],
            None,
            Some(
                "WARNING sandbox-image-not-pinned: looks like an image of sandboxes, and is not pinned",
            ),
        ),
        ("another one", vec![web.clone()], None, None),
        (
            "missing",
            vec![web],
            Some(PAUSE),
            Some("INFO sandbox-image-missing: the image of sandboxes is not on the node"),
        ),
        (
            "without an id",
            vec![image("", &["a:1"], false)],
            None,
            Some("WARNING image-without-id: 1 image without an id"),
        ),
        (
            "without a tag",
            vec![untagged.clone(), untagged],
            None,
            Some("INFO image-without-tag: 2 images without a tag, 2Mi"),
        ),
    ] {
        let case = Case { sandbox_image: sandbox, ..settings(json!({})).images(&images) };
        let found = case.found();
        assert_eq!(found.first().map(String::as_str), expected, "{name}");
        assert!(found.len() < 2, "{name}: {found:?}");
    }
}

#[test]
fn a_maximum_age_takes_what_nobody_uses() {
    let aged = settings(json!({ "imageMaximumGCAge": "24h" }));
    let images =
        [image("a", &["a:1"], false), image("b", &["b:1"], false), image("c", &["c:1"], true)];
    let used = |ids: &[&str]| Some(ids.iter().map(|id| (*id).into()).collect());
    for (name, in_use, expected) in [
        ("nobody knows", None, "INFO maximum-age-takes-unused: 24h0m0s"),
        (
            "one is used",
            used(&["a"]),
            "WARNING maximum-age-takes-unused: 24h0m0s; neither in use nor pinned: 1 image (1Mi)",
        ),
        (
            "all are used",
            used(&["a", "b"]),
            "INFO maximum-age-takes-unused: 24h0m0s; every image is in use or pinned",
        ),
    ] {
        let case = Case { in_use, ..aged.clone().images(&images) };
        assert_eq!(case.found(), [expected], "{name}");
    }
}

#[test]
fn the_report_counts_and_tells_what_it_did_not_see() {
    let lint = Case::new(json!({ "imageGCLowThresholdPercent": 90 })).lint();
    assert_eq!((lint.summary["ERROR"], lint.summary["WARNING"]), (1, 0));
    assert!(lint.items.iter().any(Finding::is_problem));
    assert_eq!(lint.basis.missing, ["images: the list of the container runtime is not known"]);
    let default = settings(json!({})).images(&[]).lint();
    assert!(
        !default.items.iter().any(Finding::is_problem) && default.items.is_empty(),
        "{default:?}"
    );
    assert_eq!(default.basis.missing, ["unused images: the containers are not known"]);
}

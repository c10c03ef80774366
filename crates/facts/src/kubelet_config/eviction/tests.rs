//! Thresholds as they are configured.

use super::super::{KubeletConfiguration, effective};
use super::*;
use kq_k8s::version::KubeletVersion;
use serde_json::json;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_share_is_widened_and_cut_as_the_kubelet_does() {
    let rows = [
        ("a tenth", 0.1_f32, 1_000_000_000_000, 100_000_001_490),
        ("nothing", 0.0, 1000, 0),
        ("everything", 1.0, 1000, 1000),
        ("of nothing", 0.1, 0, 0),
        ("of less than nothing", 0.5, -3, -1),
        ("all there can be", 1.0, i64::MAX, i64::MIN),
        ("half of all there can be", 0.5, i64::MAX, 1 << 62),
        ("no number", f32::NAN, 1000, i64::MIN),
        ("without end", f32::INFINITY, 1000, i64::MIN),
        ("without end, of nothing", f32::INFINITY, 0, i64::MIN),
    ];
    for (name, share, capacity, expected) in rows {
        let capacity = Quantity::from_units(capacity, Format::BinarySi);
        let got = ThresholdValue::Share(share).quantity(&capacity);
        assert_eq!(got.value(), expected, "{name}");
    }
}

#[test]
fn every_mistake_of_the_first_bad_map_is_possible() {
    let none = map(&[]);
    let bad = map(&[("a", "1Gi"), ("memory.available", "-1"), ("pid.available", "5%")]);
    let settings = EvictionSettings {
        hard: &bad,
        soft: &bad,
        soft_grace_period: &none,
        minimum_reclaim: &bad,
    };
    let texts: Vec<String> =
        possible_eviction_errors(settings).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "unsupported eviction signal a",
            "eviction threshold memory.available must be positive: -1",
        ]
    );
    assert_eq!(parse_eviction_thresholds(settings).unwrap_err().to_string(), texts[0]);
    let good = map(&[("pid.available", "nan%")]);
    let settings = EvictionSettings { hard: &good, soft: &none, ..settings };
    let settings = EvictionSettings { minimum_reclaim: &none, ..settings };
    assert_eq!(possible_eviction_errors(settings), []);
}

#[test]
fn a_refused_entry_is_named() {
    for (name, change, expected) in [
        (
            "hard",
            json!({"evictionHard": {"memory.available": "10 Gi"}}),
            ("evictionHard", "memory.available", "10 Gi"),
        ),
        (
            "soft",
            json!({"evictionSoft": {"nodefs.available": "101%"}}),
            ("evictionSoft", "nodefs.available", "101%"),
        ),
        (
            "soft without grace period",
            json!({"evictionSoft": {"imagefs.available": "0%", "pid.available": "5%"}}),
            ("evictionSoft", "pid.available", "5%"),
        ),
        (
            "grace period",
            json!({"evictionSoftGracePeriod": {"pid.available": "-1s"}}),
            ("evictionSoftGracePeriod", "pid.available", "-1s"),
        ),
        (
            "minimum reclaim",
            json!({"evictionMinimumReclaim": {"pid": "1"}}),
            ("evictionMinimumReclaim", "pid", "1"),
        ),
    ] {
        let config: KubeletConfiguration = serde_json::from_value(change).expect(name);
        let config = effective(&config, KubeletVersion::ASSUMED);
        let refused = eviction_thresholds(&config, false).expect_err(name);
        let found = (refused.field, &*refused.signal, &*refused.text);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn pods_as_a_whole_get_the_hard_thresholds_of_memory() {
    let hard = map(&[("memory.available", "100Mi"), ("nodefs.available", "10%")]);
    let soft = map(&[("memory.available", "200Mi")]);
    let none = map(&[]);
    for (name, grace, enforce, copies) in [
        ("not enforced", "1m", "system-reserved", 0),
        ("hard only", "1m", "pods", 1),
        ("soft without grace is hard", "0s", "pods", 2),
    ] {
        let parsed = parse_eviction_thresholds(EvictionSettings {
            hard: &hard,
            soft: &soft,
            soft_grace_period: &map(&[("memory.available", grace)]),
            minimum_reclaim: &none,
        })
        .unwrap();
        let all = with_allocatable_thresholds(parsed.clone(), &[enforce.to_owned()]);
        assert_eq!(all[..parsed.len()], parsed, "{name}");
        assert_eq!(all.len() - parsed.len(), copies, "{name}");
        assert!(
            all[parsed.len()..]
                .iter()
                .all(|copy| copy.signal == Signal::AllocatableMemoryAvailable && copy.is_hard()),
            "{name}"
        );
    }
}

#[test]
fn a_kubelet_that_was_told_nothing_has_the_default_thresholds() {
    let config = effective(&KubeletConfiguration::default(), KubeletVersion::ASSUMED);
    let signals = |ignores| -> Vec<&str> {
        let thresholds = eviction_thresholds(&config, ignores).unwrap();
        thresholds.iter().map(|threshold| threshold.signal.as_str()).collect()
    };
    let default = [
        "imagefs.available",
        "imagefs.inodesFree",
        "memory.available",
        "nodefs.available",
        "nodefs.inodesFree",
    ];
    assert_eq!(signals(true), default);
    assert_eq!(signals(false), [&default[..], &["allocatableMemory.available"]].concat());
}

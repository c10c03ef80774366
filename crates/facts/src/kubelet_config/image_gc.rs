//! The rules that the fields of image garbage collection must pass before a kubelet starts.
//!
//! Order and texts: `ValidateKubeletConfiguration` in
//! `pkg/kubelet/apis/config/validation/validation.go` of Kubernetes 1.36; pinned by
//! `tests/vectors/gc_loop.jsonl`. The manager of images checks its policy once more, with other words
//! and one rule less: an equal low and high threshold is an error here only.

use super::defaults::EffectiveConfiguration;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::kubelet_rules::KubeletRules;
use serde::Serialize;

/// A rule about image garbage collection that a configuration breaks; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the text of each variant describes it")]
pub enum ImageGcConfigError {
    #[error(
        "invalid configuration: imageGCHighThresholdPercent (--image-gc-high-threshold) {high_percent} must be between 0 and 100, inclusive"
    )]
    HighRange { high_percent: i32 },
    #[error(
        "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) {low_percent} must be between 0 and 100, inclusive"
    )]
    LowRange { low_percent: i32 },
    #[error(
        "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) {low_percent} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) {high_percent}"
    )]
    LowNotBelowHigh { low_percent: i32, high_percent: i32 },
    #[error(
        "invalid configuration: ImageMaximumGCAge feature gate is required for Kubelet configuration option imageMaximumGCAge"
    )]
    MaximumAgeNeedsGate,
    #[error("invalid configuration: imageMinimumGCAge {minimum_age} must not be negative")]
    MinimumAgeNegative { minimum_age: GoDuration },
    #[error("invalid configuration: imageMaximumGCAge {maximum_age} must not be negative")]
    MaximumAgeNegative { maximum_age: GoDuration },
    #[error(
        "invalid configuration: imageMaximumGCAge {maximum_age} must be greater than imageMinimumGCAge {minimum_age}"
    )]
    MaximumAgeNotAboveMinimum { maximum_age: GoDuration, minimum_age: GoDuration },
}

/// Returns every rule about image garbage collection that the configuration breaks, in the kubelet's
/// order.
///
/// A negative minimum age is rejected since 1.36 only. The gate of the maximum age can be off until it
/// was locked in 1.35.
pub fn image_gc_errors(
    config: &EffectiveConfiguration,
    gates: &FeatureGates,
) -> Vec<ImageGcConfigError> {
    use ImageGcConfigError::*;
    let (high_percent, low_percent) =
        (config.image_gc_high_threshold_percent, config.image_gc_low_threshold_percent);
    let (minimum_age, maximum_age) = (config.image_minimum_gc_age, config.image_maximum_gc_age);
    let refuses_negative = KubeletRules { gates: *gates }.refuses_negative_image_minimum_age();
    let has_gate = gates.enabled(Gate::ImageMaximumGcAge);
    let rules = [
        (!(0..=100).contains(&high_percent), HighRange { high_percent }),
        (!(0..=100).contains(&low_percent), LowRange { low_percent }),
        (low_percent >= high_percent, LowNotBelowHigh { low_percent, high_percent }),
        (maximum_age.0 != 0 && !has_gate, MaximumAgeNeedsGate),
        (minimum_age.0 < 0 && refuses_negative, MinimumAgeNegative { minimum_age }),
        (maximum_age.0 < 0, MaximumAgeNegative { maximum_age }),
        (
            maximum_age.0 > 0 && maximum_age <= minimum_age,
            MaximumAgeNotAboveMinimum { maximum_age, minimum_age },
        ),
    ];
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, error)| error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet_config::{CgroupMode, Source, aggregate, effective, read, validate};
    use kq_k8s::version::KubeletVersion;
    use serde_json::{Value, json};

    fn errors(config: &Value, minor: u32) -> String {
        let version = KubeletVersion::new(1, minor);
        let given = read(config, Source::Flags, version).expect("a configuration").config;
        let gates = given.feature_gates.clone().unwrap_or_default();
        let gates = FeatureGates::for_version(version).with_overrides(&gates).expect("gates");
        aggregate(&validate(&given, &gates, CgroupMode::V2))
    }

    #[test]
    fn the_fields_are_read_and_defaulted() {
        for (name, config, expected) in [
            ("nothing said", json!({}), (85, 80, "2m0s", "0s")),
            ("null", json!({ "imageGCHighThresholdPercent": null }), (85, 80, "2m0s", "0s")),
            ("a zero percent", json!({ "imageGCLowThresholdPercent": 0 }), (85, 0, "2m0s", "0s")),
            ("no minimum", json!({ "imageMinimumGCAge": "0" }), (85, 80, "2m0s", "0s")),
            (
                "all",
                json!({
                    "imageGCHighThresholdPercent": 70,
                    "imageGCLowThresholdPercent": 60,
                    "imageMinimumGCAge": "1ns",
                    "imageMaximumGCAge": "12h",
                }),
                (70, 60, "1ns", "12h0m0s"),
            ),
        ] {
            let version = KubeletVersion::ASSUMED;
            let given = read(&config, Source::Flags, version).expect(name).config;
            let config = effective(&given, version);
            let ages = [config.image_minimum_gc_age, config.image_maximum_gc_age];
            let [minimum, maximum] = ages.map(|age| age.to_string());
            let got = (
                config.image_gc_high_threshold_percent,
                config.image_gc_low_threshold_percent,
                minimum.as_str(),
                maximum.as_str(),
            );
            assert_eq!(got, expected, "{name}");
        }
    }

    #[test]
    fn rules_depend_on_version_and_gate() {
        let negative = json!({ "imageMinimumGCAge": "-1s" });
        let aged =
            json!({ "imageMaximumGCAge": "-1h", "featureGates": { "ImageMaximumGCAge": false } });
        const NEGATIVE: &str = "invalid configuration: imageMinimumGCAge -1s must not be negative";
        const GATE: &str = "[invalid configuration: ImageMaximumGCAge feature gate is required for \
                            Kubelet configuration option imageMaximumGCAge, invalid configuration: \
                            imageMaximumGCAge -1h0m0s must not be negative]";
        for (name, config, minor, expected) in [
            ("a negative minimum, new", &negative, 36, NEGATIVE),
            ("a negative minimum, old", &negative, 35, ""),
            ("a maximum without its gate", &aged, 32, GATE),
        ] {
            assert_eq!(errors(config, minor), expected, "{name}");
        }
    }

    #[test]
    fn errors_stand_where_the_kubelet_has_them() {
        let config = json!({
            "cpuCFSQuotaPeriod": "1h",
            "imageGCHighThresholdPercent": 101,
            "imageMaximumGCAge": "1m",
            "maxPods": -1,
        });
        let text = errors(&config, 36);
        let places = ["cpuCFSQuotaPeriod", "101 must be", "1m0s must be greater", "maxPods"]
            .map(|part| text.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    }
}

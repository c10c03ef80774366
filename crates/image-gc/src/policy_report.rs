//! The policy of garbage collection that is in force on a node: every setting with its value, who said
//! so and what it means; whether the loops run; and what the kubelet refuses.
//!
//! The value is what `kq gc policy` prints; [`policy_view`](crate::policy_view) shows it.

use crate::containers::ContainerGcPolicy;
use crate::loops::{Garbage, GcLoop};
use crate::policy::ImageGcPolicy;
use kq_answer::origin::Origin;
use kq_answer::{Basis, answer};
use kq_facts::kubelet_config::{EffectiveConfiguration, image_gc_errors};
use kq_facts::kubelet_process::ContainerGcFlags;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::FeatureGates;
use kq_output::metrics::{Metrics, number};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the policy rests on.
#[derive(Clone, Copy, Debug)]
pub struct PolicySources<'a> {
    /// The kubelet's configuration with every default.
    pub config: &'a EffectiveConfiguration,
    pub gates: FeatureGates,
    /// Who set each field of the configuration.
    pub origins: &'a BTreeMap<String, Origin>,
    /// What its command line says of containers; `None`: the command line is not known.
    pub container_flags: Option<&'a ContainerGcFlags>,
}

/// The policy as a value.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcPolicy {
    pub loops: Vec<LoopInForce>,
    /// The settings, those of images first.
    pub items: Vec<PolicySetting>,
    /// Why a kubelet with these settings does not start, in its own words and order.
    pub errors: Vec<String>,
    /// The errors of the image manager about the thresholds: it is less strict.
    pub policy_error: Option<String>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("GcPolicy", GcPolicy, GcPolicy::metrics);

/// Whether the kubelet collects something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopInForce {
    /// What is collected.
    pub garbage: Garbage,
    /// The loop runs.
    pub runs: bool,
    /// How long it waits after each run.
    pub interval: GoDuration,
    /// What that means.
    pub meaning: String,
}

/// A setting of the kubelet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicySetting {
    /// The field of the configuration, or the flag where there is none.
    pub name: &'static str,
    /// The value as the kubelet writes it.
    pub value: Value,
    /// The default value.
    pub default: Value,
    /// Who said so.
    pub origin: Origin,
    /// What it means.
    pub meaning: String,
}

impl GcPolicy {
    fn metrics(&self, metrics: &mut Metrics) {
        let label = |item: &PolicySetting| vec![("setting", item.name.to_owned())];
        let count = |item: &PolicySetting| item.value.as_i64().map(number);
        let seconds = |item: &PolicySetting| {
            let duration: GoDuration = item.value.as_str()?.parse().ok()?;
            Some(number(duration.0) / number(GoDuration::SECOND.0))
        };
        metrics.gauge(
            "kq_gc_setting",
            "Setting of garbage collection that is a number",
            self.items.iter().map(|it| (label(it), count(it))),
        );
        metrics.gauge(
            "kq_gc_setting_seconds",
            "Setting of garbage collection that is a duration",
            self.items.iter().map(|it| (label(it), seconds(it))),
        );
        metrics.gauge(
            "kq_gc_policy_errors",
            "Errors for which the kubelet rejects the policy",
            [(Vec::new(), i32::try_from(self.errors.len()).ok())],
        );
    }

    /// Puts the policy together.
    pub fn of(sources: PolicySources<'_>) -> Self {
        let policy = ImageGcPolicy::of(sources.config);
        let flags = sources.container_flags.copied().unwrap_or_default();
        let refused = image_gc_errors(sources.config, &sources.gates);
        let containers = ContainerGcPolicy::from(&flags);
        let errors = refused.iter().map(ToString::to_string);
        let errors = errors.chain(containers.validate().err().map(|error| error.to_string()));
        let of_images = image_settings(&policy, sources.origins).into_iter();
        let of_containers = container_settings(&flags, sources.container_flags.is_some());
        Self {
            loops: loops(&policy),
            items: of_images.chain(of_containers).collect(),
            errors: errors.collect(),
            policy_error: policy.validate().err().map(|error| error.to_string()),
            basis: Basis::default(),
        }
    }

    /// Returns true if a kubelet with this policy starts.
    pub fn is_accepted(&self) -> bool {
        self.errors.is_empty()
    }
}

fn loops(policy: &ImageGcPolicy) -> Vec<LoopInForce> {
    let every = |garbage: Garbage| {
        let interval = garbage.interval();
        LoopInForce {
            garbage,
            runs: true,
            interval,
            meaning: format!(
                "at the start of the kubelet, and {interval} after the end of each run"
            ),
        }
    };
    let mut images = every(Garbage::Images);
    if GcLoop::images(policy).is_none() {
        images.runs = false;
        images.meaning = "turned off by a high threshold of 100 without a maximum age; under disk \
                          pressure, unused images are still removed"
            .to_owned();
    }
    vec![images, every(Garbage::Containers)]
}

fn image_settings(
    policy: &ImageGcPolicy,
    origins: &BTreeMap<String, Origin>,
) -> [PolicySetting; 4] {
    let setting = |name: &'static str, value, default, meaning| {
        let origin = origins.get(name).cloned().unwrap_or(Origin::Default);
        PolicySetting { name, value, default, origin, meaning }
    };
    let (high, low) = (policy.high_threshold_percent, policy.low_threshold_percent);
    let (min, max) = (policy.min_age, policy.max_age);
    let unused = || "not used: the loop of images is off".to_owned();
    let off = !policy.is_collecting();
    [
        setting(
            "imageGCHighThresholdPercent",
            json!(high),
            json!(85),
            match off {
                true => "images do not go because the disk is full".to_owned(),
                false => format!(
                    "unused images go when {high}% of the image filesystem is used, rounded up"
                ),
            },
        ),
        setting(
            "imageGCLowThresholdPercent",
            json!(low),
            json!(80),
            match off {
                true => unused(),
                false => format!("as many go as bring it down to {low}%"),
            },
        ),
        setting(
            "imageMinimumGCAge",
            json!(min),
            json!("2m0s"),
            match (min.0, max.0) {
                (..=0, _) => "no image is too young to go".to_owned(),
                (_, 0) => format!("an image stays for {min} after the kubelet saw it first"),
                _ => format!(
                    "an image stays for {min} after the kubelet saw it first, unless it goes for its \
                     age"
                ),
            },
        ),
        setting(
            "imageMaximumGCAge",
            json!(max),
            json!("0s"),
            match max.0 {
                0 => "age alone removes no image".to_owned(),
                _ => format!(
                    "an image that was not used for more than {max}, or never, goes at any use of \
                     the disk, once the kubelet has run for longer than that"
                ),
            },
        ),
    ]
}

fn container_settings(flags: &ContainerGcFlags, known: bool) -> [PolicySetting; 3] {
    let setting = |name: &'static str, given: bool, value: Value, default: Value, meaning| {
        let origin = match (known, given) {
            (_, true) => Origin::Source(format!("--{name} of the kubelet")),
            (true, false) => Origin::Default,
            (false, false) => Origin::Assumed,
        };
        PolicySetting { name, value, default, origin, meaning }
    };
    let age = flags.minimum_age.unwrap_or_default();
    let per_container = flags.max_per_container.unwrap_or(1);
    let in_all = flags.max_containers.unwrap_or(-1);
    [
        setting(
            "minimum-container-ttl-duration",
            flags.minimum_age.is_some(),
            json!(age),
            json!("0s"),
            match age.0 {
                ..=0 => "a dead container can go at any age".to_owned(),
                _ => {
                    format!("a dead container stays for {age} from its creation, not from its end")
                }
            },
        ),
        setting(
            "maximum-dead-containers-per-container",
            flags.max_per_container.is_some(),
            json!(per_container),
            json!(1),
            match per_container {
                ..0 => "any number of dead ones of a container stay".to_owned(),
                0 => "no dead one of a container stays, and its last log goes with it".to_owned(),
                number => format!("the newest {number} dead of each container of a pod stay"),
            },
        ),
        setting(
            "maximum-dead-containers",
            flags.max_containers.is_some(),
            json!(in_all),
            json!(-1),
            match in_all {
                ..0 => "no limit for the node as a whole".to_owned(),
                number => format!("{number} dead containers stay on the node in all"),
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::kubelet_config::{Source, effective, read};
    use kq_k8s::version::KubeletVersion;

    fn policy(config: &Value, flags: Option<&ContainerGcFlags>) -> GcPolicy {
        let version = KubeletVersion::ASSUMED;
        let given = read(config, Source::Flags, version).expect("a configuration").config;
        let file = Origin::Source("kubelet.yaml".to_owned());
        let fields = config.as_object().into_iter().flatten();
        let origins = fields.map(|(field, _)| (field.clone(), file.clone())).collect();
        GcPolicy::of(PolicySources {
            config: &effective(&given, version),
            gates: FeatureGates::for_version(version),
            origins: &origins,
            container_flags: flags,
        })
    }

    fn shown(policy: &GcPolicy) -> Vec<String> {
        let line = |item: &PolicySetting| format!("{} {} {}", item.name, item.value, item.origin);
        policy.items.iter().map(line).collect()
    }

    #[test]
    fn every_setting_has_its_origin() {
        let flags = ContainerGcFlags { max_per_container: Some(-1), ..ContainerGcFlags::default() };
        let config = json!({ "imageGCHighThresholdPercent": 90, "imageMaximumGCAge": "24h" });
        assert_eq!(
            shown(&policy(&config, Some(&flags))),
            [
                "imageGCHighThresholdPercent 90 kubelet.yaml",
                "imageGCLowThresholdPercent 80 default",
                "imageMinimumGCAge \"2m0s\" default",
                "imageMaximumGCAge \"24h0m0s\" kubelet.yaml",
                "minimum-container-ttl-duration \"0s\" default",
                "maximum-dead-containers-per-container -1 --maximum-dead-containers-per-container of the kubelet",
                "maximum-dead-containers -1 default",
            ]
        );
        let unknown = policy(&json!({}), None);
        let assumed = unknown.items.iter().filter(|item| item.origin == Origin::Assumed);
        assert_eq!(assumed.count(), 3, "a command line that nobody knows says nothing");
        for item in unknown.items {
            assert_eq!(item.value, item.default, "{}", item.name);
        }
    }

    #[test]
    fn the_loops_are_told() {
        for (name, config, expected) in [
            ("default", json!({}), [true, true]),
            ("off", json!({ "imageGCHighThresholdPercent": 100 }), [false, true]),
            (
                "off, but images age",
                json!({ "imageGCHighThresholdPercent": 100, "imageMaximumGCAge": "24h" }),
                [true, true],
            ),
        ] {
            let loops = policy(&config, None).loops;
            let runs: Vec<bool> = loops.iter().map(|gc| gc.runs).collect();
            assert_eq!(runs, expected, "{name}");
        }
    }

    #[test]
    fn what_the_kubelet_refuses_is_told_in_its_words() {
        let flags =
            ContainerGcFlags { minimum_age: Some(GoDuration(-1)), ..ContainerGcFlags::default() };
        let config = json!({ "imageGCHighThresholdPercent": 70, "imageGCLowThresholdPercent": 70 });
        let refused = policy(&config, Some(&flags));
        assert_eq!(
            refused.errors,
            [
                "invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) 70 \
                 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 70",
                "invalid minimum garbage collection age: -1ns",
            ]
        );
        assert_eq!((refused.policy_error.as_deref(), refused.is_accepted()), (None, false));
        let crossed = policy(&json!({ "imageGCLowThresholdPercent": 90 }), None);
        assert_eq!(
            crossed.policy_error.as_deref(),
            Some("LowThresholdPercent 90 can not be higher than HighThresholdPercent 85")
        );
        assert!(policy(&json!({}), None).is_accepted());
    }
}

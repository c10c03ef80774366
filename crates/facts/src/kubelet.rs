//! A kubelet, described without the machine: its version, its gates, its configuration.

use crate::describe::{ConfigSource, DescribeError};
use crate::kubelet_config::{
    CgroupMode, ConfigError, EffectiveConfiguration, KubeletConfiguration, Source, ValidationError,
    effective_with_flags, read, read_typed, validate_with_flags,
};
use crate::node_object::NodeObject;
use crate::timestamp::Timestamp;
use kq_answer::Basis;
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::version::{KubeletVersion, VersionSupport};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Kubelet {
    pub version: KubeletVersion,
    /// Its origin; an unknown version is the newest that kq knows as a whole.
    pub version_origin: Origin,
    pub rules: KubeletRules,
    /// Its configuration, without defaults.
    pub given: KubeletConfiguration,
    /// Its configuration after every default.
    pub config: EffectiveConfiguration,
    /// The setter of a field.
    pub origins: BTreeMap<String, Origin>,
    /// Why it would not start with this configuration, in the kubelet's words.
    pub errors: Vec<ValidationError>,
    pub warnings: Vec<Warning>,
}

/// The sources of facts about a kubelet.
#[derive(Clone, Copy, Debug)]
pub struct KubeletSources<'a> {
    /// Its configuration with the flags that set its fields.
    pub config: &'a ConfigSource,
    /// `--kubelet-version`
    pub version: Option<KubeletVersion>,
    /// A Node object, and where it is from.
    pub object: Option<(&'a str, &'a NodeObject)>,
    /// The version of the running kubelet, and its source.
    pub program: Option<&'a (String, String)>,
}

/// When the kubelet started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeletStart {
    /// The moment.
    pub at: Timestamp,
    pub source: String,
}

impl KubeletStart {
    /// Records the start as a fact behind an answer.
    pub fn record(&self, basis: &mut Basis) {
        let origin = Origin::Source(self.source.to_string());
        basis.know("kubeletStart", self.at.to_string(), origin);
    }
}

impl Kubelet {
    /// Returns the setter of a field of the configuration.
    pub fn origin(&self, field: &str) -> Origin {
        self.origins.get(field).cloned().unwrap_or(Origin::Default)
    }
}

/// Describes a kubelet, also one that would not start with its configuration.
/// Fails on what the kubelet does not decode, and on its feature gates.
pub fn describe_kubelet(sources: KubeletSources<'_>) -> Result<Kubelet, DescribeError> {
    if let Some(error) = &sources.config.refused {
        return Err(error.clone());
    }
    let given = given_version(sources.version, sources.object, sources.program);
    let (version, version_origin) = given.unwrap_or((KubeletVersion::ASSUMED, Origin::Assumed));
    let mut warnings = Vec::new();
    warn_of_version(version, &mut warnings);
    if sources.version.is_none() {
        warn_of_versions(sources.object, sources.program, &mut warnings);
    }
    let given = configuration(sources.config, version, &mut warnings)?;
    let gates = gates(&given, version, sources.config)?;
    // Rejecting cgroup v1 matters only for questions about cgroups.
    let errors = validate_with_flags(&given, &gates, CgroupMode::V2, &sources.config.by_flag);
    Ok(Kubelet {
        version,
        version_origin,
        rules: KubeletRules { gates },
        config: effective_with_flags(&given, version, &sources.config.by_flag),
        given,
        origins: sources.config.origins.clone(),
        errors,
        warnings,
    })
}

/// Returns the version and its source: a flag, the running kubelet, the Node object. A kubelet that does not reach the API
/// server leaves the version of its predecessor in the Node object.
pub(super) fn given_version(
    flag: Option<KubeletVersion>,
    object: Option<(&str, &NodeObject)>,
    program: Option<&(String, String)>,
) -> Option<(KubeletVersion, Origin)> {
    if let Some(version) = flag {
        return Some((version, Origin::Flag("--kubelet-version")));
    }
    let of_program = program
        .and_then(|(text, source)| Some((text.parse().ok()?, Origin::Source(source.clone()))));
    of_program.or_else(|| {
        let (file, object) = object?;
        let version = object.status.node_info.kubelet_version.parse().ok()?;
        Some((version, Origin::Source(file.to_owned())))
    })
}

pub(super) fn warn_of_version(version: KubeletVersion, warnings: &mut Vec<Warning>) {
    if let VersionSupport::Older(nearest) | VersionSupport::Newer(nearest) = version.known() {
        let text = format!(
            "kq knows the rules of kubelets {} to {}; {version} is computed by those of {nearest}",
            KubeletVersion::OLDEST,
            KubeletVersion::NEWEST
        );
        warnings.push(Warning::new(WarningCode::UnknownRules, text).about(version.to_string()));
    }
}

/// Warns where the Node object and the running kubelet have different versions, as during an upgrade.
pub(super) fn warn_of_versions(
    object: Option<(&str, &NodeObject)>,
    program: Option<&(String, String)>,
    warnings: &mut Vec<Warning>,
) {
    let Some((file, object)) = object else { return };
    let reported = object.status.node_info.kubelet_version.as_str();
    if let Err(error) = reported.parse::<KubeletVersion>()
        && !reported.is_empty()
    {
        let text = format!("{file}: status.nodeInfo.kubeletVersion: {error}");
        return warnings.push(Warning::new(WarningCode::UnknownRules, text).about(reported));
    }
    let Some((running, source)) = program else { return };
    let running = running.trim();
    if reported.is_empty() || reported == running {
        return;
    }
    let text = format!(
        "the kubelet's version is {running} in {source}, and {reported} in {file}: kq follows {running} \
         (--kubelet-version chooses)"
    );
    warnings.push(Warning::new(WarningCode::VersionsDiffer, text).about(running));
}

/// Returns the gates of a configuration.
pub(super) fn gates(
    given: &KubeletConfiguration,
    version: KubeletVersion,
    source: &ConfigSource,
) -> Result<FeatureGates, DescribeError> {
    let none = BTreeMap::new();
    let (defaults, set) =
        (FeatureGates::for_version(version), given.feature_gates.as_ref().unwrap_or(&none));
    if !version.is_known() {
        // Which gates it has is not known either.
        return Ok(defaults.with_known(set));
    }
    defaults.with_overrides(set).map_err(|error| DescribeError::Gates {
        error,
        origin: source.origins.get("featureGates").cloned(),
    })
}

pub(super) fn configuration(
    source: &ConfigSource,
    version: KubeletVersion,
    warnings: &mut Vec<Warning>,
) -> Result<KubeletConfiguration, DescribeError> {
    if source.value.is_null() {
        return Ok(KubeletConfiguration::default());
    }
    let reading = read(&source.value, source.source.unwrap_or(Source::Flags), version)
        .map_err(|errors| of_field(errors, source))?;
    warnings.extend(reading.notes);
    Ok(reading.config)
}

/// Checks the fields that flags of the operator set: what a kubelet runs with may be newer than kq, what is typed may not
/// be misspelt.
/// Fails on a field that does not exist, and on a value of another type.
pub fn check_typed(source: &ConfigSource, version: KubeletVersion) -> Result<(), DescribeError> {
    let fields = source.value.as_object().into_iter().flatten();
    let typed = fields
        .filter(|(field, _)| matches!(source.origins.get(field.as_str()), Some(Origin::Flag(_))));
    let typed: serde_json::Map<String, Value> =
        typed.map(|(field, value)| (field.clone(), value.clone())).collect();
    read_typed(&Value::Object(typed), version).map_err(|errors| of_field(errors, source))
}

fn of_field(mut errors: Vec<ConfigError>, source: &ConfigSource) -> DescribeError {
    let error = errors.remove(0);
    let origin = error.field().and_then(|field| source.origins.get(field)).cloned();
    DescribeError::Config { error, origin }
}

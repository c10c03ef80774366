//! Validation of the log settings.
//!
//! Order and texts: `Validate` in `staging/src/k8s.io/component-base/logs/api/v1/options.go` of Kubernetes.

use super::read::KubeletConfiguration;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::go_text::quote;
use kq_k8s::quantity::Quantity;
use std::collections::BTreeSet;

/// The largest level of the log.
const MOST: i64 = i32::MAX as i64;

/// Returns the kubelet's errors from setting up its log.
pub fn logging_errors(config: &KubeletConfiguration, gates: &FeatureGates) -> Vec<String> {
    let Some(logging) = &config.logging else { return Vec::new() };
    let mut errors = Vec::new();
    let format = logging.format.as_deref().filter(|format| !format.is_empty()).unwrap_or("text");
    match format {
        "text" => {}
        "json" if gates.enabled(Gate::LoggingBetaOptions) => {}
        "json" => errors.push(
            "logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature"
                .to_owned(),
        ),
        other => errors.push(unsupported_format(other)),
    }
    let shown = |verbosity: i64| match gates.version().shows_numbers_as_json() {
        true => verbosity.to_string(),
        false => format!("{verbosity:#x}"),
    };
    if let Some(verbosity) = logging.verbosity.filter(|verbosity| *verbosity > MOST) {
        let verbosity = shown(verbosity);
        errors.push(format!("logging.verbosity: Invalid value: {verbosity}: Must be <= {MOST}"));
    }
    let files = logging.vmodule.as_deref().unwrap_or_default();
    if !files.is_empty() && format != "text" {
        errors.push("logging.vmodule: Forbidden: Only supported for text log format".to_owned());
    }
    for (at, item) in files.iter().enumerate() {
        if item.file_pattern.is_empty() {
            errors.push(format!(
                "logging.vmodule[{at}]: Required value: File pattern must not be empty"
            ));
        }
        if item.file_pattern.contains(['=', ',']) {
            errors.push(format!(
                "logging.vmodule[{at}]: Invalid value: {}: File pattern must not contain equal sign or \
                 comma",
                quote(&item.file_pattern)
            ));
        }
        if item.verbosity > MOST {
            let verbosity = shown(item.verbosity);
            errors.push(format!(
                "logging.vmodule[{at}]: Invalid value: {verbosity}: Must be <= {MOST}"
            ));
        }
    }
    if !gates.enabled(Gate::LoggingAlphaOptions) {
        options(config, &mut errors);
    }
    let mut seen = BTreeSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    errors
}

/// Returns the kubelet's error about a format that it does not have.
pub fn unsupported_format(format: &str) -> String {
    format!("logging.format: Invalid value: {}: Unsupported log format", quote(format))
}

/// Refuses the options that need the gate `LoggingAlphaOptions`.
fn options(config: &KubeletConfiguration, errors: &mut Vec<String>) {
    let Some(options) = config.logging.as_ref().and_then(|logging| logging.options.as_ref()) else {
        return;
    };
    for (name, stream) in [("text", &options.text), ("json", &options.json)] {
        let Some(stream) = stream else { continue };
        let has_buffer =
            stream.info_buffer_size.as_ref().is_some_and(|it: &Quantity| !it.is_zero());
        for (is_set, field) in
            [(stream.split_stream == Some(true), "splitStream"), (has_buffer, "infoBufferSize")]
        {
            if is_set {
                errors.push(format!(
                    "logging.options.{name}.{field}: Forbidden: Feature LoggingAlphaOptions is disabled"
                ));
            }
        }
    }
}

//! Validation of the log settings.
//!
//! Order and texts: `Validate` in `staging/src/k8s.io/component-base/logs/api/v1/options.go` of Kubernetes.

use super::read::KubeletConfiguration;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::go_text::quote;

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
        other => errors.push(format!(
            "logging.format: Invalid value: {}: Unsupported log format",
            quote(other)
        )),
    }
    let most = i64::from(i32::MAX);
    if let Some(verbosity) = logging.verbosity.filter(|verbosity| *verbosity > most) {
        errors.push(format!("logging.verbosity: Invalid value: {verbosity}: Must be <= {most}"));
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
    }
    errors
}

//! The API server's validation of a pod, with its own messages.
//!
//! Rules and texts follow Kubernetes' `pkg/apis/core/validation/validation.go`, limited to the fields
//! that kq reads, and are applied to what defaulting would have made of them. A pod in order costs no
//! allocation. Pure.

mod field;
mod metadata;
mod pod_level;
mod probes;
mod resources;
mod spec;

pub use field::{BadValue, FieldError, FieldErrorKind};
pub use probes::{validate_probe_of, validate_probes};

use crate::pod::Pod;
use crate::version::KubeletVersion;
use field::Path;

/// Returns true if a text is a qualified name, such as `example.com/gpu` (`IsQualifiedName`).
pub fn is_qualified_name(text: &str) -> bool {
    metadata::qualified_name(text).is_none()
}

/// Returns true if a text can be the value of a label (`IsValidLabelValue`).
pub fn is_label_value(text: &str) -> bool {
    metadata::is_label_value(text)
}

/// Returns all errors of a qualified name, in the words of Kubernetes.
pub fn qualified_name_errors(text: &str, version: KubeletVersion) -> Vec<String> {
    metadata::qualified_name_errors(text, version)
}

/// Returns all errors of a label's value, in the words of Kubernetes.
pub fn label_value_errors(text: &str, version: KubeletVersion) -> Vec<String> {
    metadata::label_value_errors(text, version)
}

/// Returns true if a namespace can have that name: a DNS label (`ValidateNamespaceName`).
pub fn is_namespace_name(text: &str) -> bool {
    metadata::dns1123_label(text).is_none()
}

/// Returns true if a pod can have that name: a DNS subdomain (`ValidatePodName`).
pub fn is_pod_name(text: &str) -> bool {
    metadata::dns1123_subdomain(text).is_none()
}

/// Returns the errors of a pod.
pub fn validate(pod: &Pod) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata::validate(&pod.metadata, &Path::Root("metadata"), &mut errors);
    spec::validate(&pod.spec, &Path::Root("spec"), &mut errors);
    spec::validate_status(&pod.status, &Path::Root("status"), &mut errors);
    errors
}

/// Returns the errors of the pod template at a path, such as `spec.template`.
///
/// Names are made up from the workload, so a template may lack them.
pub fn validate_template(template: &Pod, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let root = Path::Root(path);
    spec::validate(&template.spec, &root.child("spec"), &mut errors);
    errors
}

//! What the API server would refuse in a pod, in its own words.
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

use crate::k8s::pod::Pod;
use field::Path;

/// Tells whether a text is a qualified name, such as `example.com/gpu` (`IsQualifiedName`).
pub fn is_qualified_name(text: &str) -> bool {
    metadata::qualified_name(text).is_none()
}

/// Tells whether a text can be the value of a label (`IsValidLabelValue`).
pub fn is_label_value(text: &str) -> bool {
    metadata::is_label_value(text)
}

/// Tells whether a namespace can have that name: a DNS label (`ValidateNamespaceName`).
pub fn is_namespace_name(text: &str) -> bool {
    metadata::dns1123_label(text).is_none()
}

/// Tells whether a pod can have that name: a DNS subdomain (`ValidatePodName`).
pub fn is_pod_name(text: &str) -> bool {
    metadata::dns1123_subdomain(text).is_none()
}

/// Returns what is wrong with a pod; empty when all is well.
pub fn validate(pod: &Pod) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata::validate(&pod.metadata, &Path::Root("metadata"), &mut errors);
    spec::validate(&pod.spec, &Path::Root("spec"), &mut errors);
    spec::validate_status(&pod.status, &Path::Root("status"), &mut errors);
    errors
}

/// Returns what is wrong with the pod template at a path, such as `spec.template`.
///
/// Names are made up from the workload, so a template may lack them.
pub fn validate_template(template: &Pod, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let root = Path::Root(path);
    spec::validate(&template.spec, &root.child("spec"), &mut errors);
    errors
}

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
pub use metadata::{is_label_value, label_value_errors, qualified_name_errors};
pub use probes::{validate_probe_of, validate_probes};

use crate::pod::Pod;
use field::Path;

/// Returns true if a text is a qualified name, such as `example.com/gpu` (`IsQualifiedName`).
pub fn is_qualified_name(text: &str) -> bool {
    metadata::qualified_name(text).is_none()
}

/// Returns true if a name is that of an extended resource, which neither Kubernetes nor a quota defines
/// (`IsExtendedResourceName` in `pkg/apis/core/v1/helper`).
pub fn is_extended_resource(name: &str) -> bool {
    // What stands before names of resources in a quota has to fit as well.
    const QUOTA: &str = "requests.";
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with(QUOTA)
        && is_qualified_name(&format!("{QUOTA}{name}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_extended_resources() {
        let long =
            |prefix: usize, name: usize| format!("{}/{}", "a".repeat(prefix), "b".repeat(name));
        for (name, expected) in [
            ("nvidia.com/gpu".to_owned(), true),
            ("nvidia.com/MIG-1g.5gb".to_owned(), true),
            ("gpu".to_owned(), false),
            ("a/b/c".to_owned(), false),
            ("/gpu".to_owned(), false),
            ("nvidia.com/".to_owned(), false),
            ("NVIDIA.com/gpu".to_owned(), false),
            ("kubernetes.io/gpu".to_owned(), false),
            ("mykubernetes.io/gpu".to_owned(), false),
            ("KUBERNETES.IO/gpu".to_owned(), false),
            ("requests.example.com/gpu".to_owned(), false),
            (long(244, 63), true),
            (long(245, 63), false),
            (long(244, 64), false),
        ] {
            assert_eq!(is_extended_resource(&name), expected, "{name}");
        }
    }
}

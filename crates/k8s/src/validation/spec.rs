//! The containers, the overhead and the recorded QoS class.

use super::field::{FieldError, Path};
use super::resources::Level;
use super::{metadata, pod_level, resources};
use crate::pod::{Container, PodSpec, PodStatus, ResourceRequirements};
use std::collections::BTreeSet;

const QOS_CLASSES: &[&str] = &["BestEffort", "Burstable", "Guaranteed"];
const RESTART_POLICIES: &[&str] = &["Always", "Never", "OnFailure"];

/// Up to here names are compared one by one, without a set to be allocated.
const FEW: usize = 16;

pub(super) fn validate(spec: &PodSpec, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let kinds = [
        ("containers", &spec.containers),
        ("initContainers", &spec.init_containers),
        ("ephemeralContainers", &spec.ephemeral_containers),
    ];
    let mut names = Names::of(kinds.iter().map(|(_, containers)| containers.len()).sum());
    if spec.containers.is_empty() {
        errors.push(path.child("containers").required(""));
    }
    for (kind, containers) in kinds {
        let list = path.child(kind);
        for (at, container) in containers.iter().enumerate() {
            let path = list.index(at);
            validate_name(container, &mut names, &path, errors);
            if kind == "ephemeralContainers" {
                if container.resources != ResourceRequirements::default() {
                    let resources = path.child("resources");
                    errors.push(resources.forbidden("cannot be set for an Ephemeral Container"));
                }
            } else {
                let at = path.child("resources");
                resources::validate(&container.resources, Level::Container, &at, errors);
            }
            if let Some(policy) = &container.restart_policy
                && !RESTART_POLICIES.contains(&policy.as_str())
            {
                errors.push(path.child("restartPolicy").not_supported(policy, RESTART_POLICIES));
            }
        }
    }
    if let Some(overhead) = &spec.overhead {
        let overhead_path = path.child("overhead");
        let limits = overhead_path.child("limits");
        // The API server checks the overhead as if it were limits, and its path shows that.
        resources::validate_list(overhead, Level::Container, &limits, errors);
    }
    if let Some(pod) = &spec.resources {
        pod_level::validate(spec, pod, &path.child("resources"), errors);
    }
}

pub(super) fn validate_status(status: &PodStatus, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let class = status.qos_class.as_str();
    if !class.is_empty() && !QOS_CLASSES.contains(&class) {
        errors.push(path.child("qosClass").not_supported(class, QOS_CLASSES));
    }
}

fn validate_name<'a>(
    container: &'a Container,
    names: &mut Names<'a>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let (name, path) = (container.name.as_str(), path.child("name"));
    if name.is_empty() {
        errors.push(path.required(""));
        return;
    }
    if let Some(why) = metadata::dns1123_label(name) {
        errors.push(path.invalid(name, why));
    }
    if !names.insert(name) {
        errors.push(path.duplicate(name));
    }
}

/// The names that were seen.
#[expect(clippy::large_enum_variant, reason = "boxing the few is the allocation to be saved")]
enum Names<'a> {
    Few([&'a str; FEW], usize),
    Many(BTreeSet<&'a str>),
}

impl<'a> Names<'a> {
    fn of(count: usize) -> Self {
        if count <= FEW { Self::Few([""; FEW], 0) } else { Self::Many(BTreeSet::new()) }
    }

    fn insert(&mut self, name: &'a str) -> bool {
        match self {
            Self::Many(names) => names.insert(name),
            Self::Few(names, len) => {
                let new = !names[..*len].contains(&name);
                // There are no more names than announced.
                names[*len] = name;
                *len += 1;
                new
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::pod::Pod;
    use crate::validation::{validate, validate_template};

    fn texts(spec: &str) -> Vec<String> {
        let json = format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#);
        let pod: Pod = serde_json::from_str(&json).unwrap();
        validate(&pod).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn checks_specs() {
        let rows: [(&str, &str, &[&str]); 10] = [
            ("fine", r#"{"containers":[{"name":"a"}]}"#, &[]),
            ("no containers", "{}", &["spec.containers: Required value"]),
            ("no name", r#"{"containers":[{}]}"#, &["spec.containers[0].name: Required value"]),
            (
                "twice",
                r#"{"containers":[{"name":"a"},{"name":"a"}]}"#,
                &[r#"spec.containers[1].name: Duplicate value: "a""#],
            ),
            (
                "twice across kinds",
                r#"{"containers":[{"name":"a"}],"initContainers":[{"name":"a"}],
                    "ephemeralContainers":[{"name":"a"}]}"#,
                &[
                    r#"spec.initContainers[0].name: Duplicate value: "a""#,
                    r#"spec.ephemeralContainers[0].name: Duplicate value: "a""#,
                ],
            ),
            (
                "ephemeral with resources",
                r#"{"containers":[{"name":"a"}],
                    "ephemeralContainers":[{"name":"b","resources":{"limits":{"cpu":"1"}}}]}"#,
                &[
                    "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
                ],
            ),
            (
                "restart policy",
                r#"{"containers":[{"name":"a"}],"initContainers":[{"name":"b","restartPolicy":"always"}]}"#,
                &[
                    r#"spec.initContainers[0].restartPolicy: Unsupported value: "always": supported values: "Always", "Never", "OnFailure""#,
                ],
            ),
            (
                "overhead",
                r#"{"containers":[{"name":"a"}],"overhead":{"cpu":"-1"}}"#,
                &[
                    r#"spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0"#,
                ],
            ),
            (
                "pod-level",
                r#"{"containers":[{"name":"a"}],"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}"#,
                &[
                    r#"spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#,
                ],
            ),
            (
                "container",
                r#"{"containers":[{"name":"a","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}"#,
                &[
                    r#"spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#,
                ],
            ),
        ];
        for (name, spec, expected) in rows {
            assert_eq!(texts(spec), expected, "{name}");
        }
    }

    #[test]
    fn finds_duplicates_among_many() {
        let containers: Vec<_> = (0..40).map(|n| format!(r#"{{"name":"c{}"}}"#, n % 39)).collect();
        let found = texts(&format!(r#"{{"containers":[{}]}}"#, containers.join(",")));
        assert_eq!(found, [r#"spec.containers[39].name: Duplicate value: "c0""#]);
    }

    #[test]
    fn checks_the_recorded_class() {
        let json = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}]},
            "status":{"qosClass":"Best"}}"#;
        let found = validate(&serde_json::from_str(json).unwrap());
        assert_eq!(
            found[0].to_string(),
            r#"status.qosClass: Unsupported value: "Best": supported values: "BestEffort", "Burstable", "Guaranteed""#
        );
    }

    #[test]
    fn prefixes_templates() {
        let found = validate_template(&Pod::default(), "spec.template");
        assert_eq!(found[0].to_string(), "spec.template.spec.containers: Required value");
    }
}

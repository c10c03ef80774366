//! Pod-level resources against those of the containers (`validatePodResourceConsistency`).

use super::field::{FieldError, Path};
use super::resources;
use crate::pod::{Container, PodSpec, ResourceName, ResourceRequirements};
use crate::quantity::Quantity;
use std::collections::BTreeMap;

pub(super) fn validate(
    spec: &PodSpec,
    pod: &ResourceRequirements,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    resources::validate(pod, resources::Level::Pod, path, errors);
    let (requests, limits) = (path.child("requests"), path.child("limits"));
    for (name, sum) in aggregate(spec, request) {
        match (pod.requests.get(name), pod.limits.get(name)) {
            (Some(have), _) if sum.exceeds(have) => {
                let why = format!(
                    "must be greater than or equal to aggregate container requests of {sum}"
                );
                errors.push(requests.key(name.as_str()).invalid(have, why));
            }
            // Defaulting sets an absent request to the sum.
            (None, Some(limit)) if sum.exceeds(limit) => {
                let why = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(requests.invalid(sum, why));
            }
            _ => {}
        }
    }
    for (name, sum) in aggregate(spec, |container, name| container.resources.limits.get(name)) {
        if name.hugepage_size().is_some()
            && let Some(have) = pod.limits.get(name)
            && sum.exceeds(have)
        {
            let why =
                format!("must be greater than or equal to aggregate container limits of {sum}");
            errors.push(limits.key(name.as_str()).invalid(have, why));
        }
    }
    // The API server, too, hangs this path under the pod's resources.
    let containers = path.child("containers");
    for (at, container) in spec.containers.iter().enumerate() {
        for (name, limit) in container.resources.limits.iter() {
            if let Some(most) = pod.limits.get(name)
                && limit.compare(most).is_gt()
            {
                let why = format!("must be less than or equal to pod limits of {most}");
                let index = containers.index(at);
                let key = index.key(name.as_str());
                errors.push(key.child("limits").invalid(limit, why));
            }
        }
    }
}

/// Returns the requests of a container after defaulting copied its limits.
fn request<'a>(container: &'a Container, name: &ResourceName) -> Option<&'a Quantity> {
    let resources = &container.resources;
    resources.requests.get(name).or_else(|| resources.limits.get(name))
}

/// A sum in thousandths, and the text of its first summand.
struct Sum {
    milli: i128,
    binary: bool,
}

impl Sum {
    fn exceeds(&self, amount: &Quantity) -> bool {
        self.milli > i128::from(amount.milli_value())
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.milli % 1000 != 0 {
            return write!(f, "{}m", self.milli);
        }
        let mut value = self.milli / 1000;
        let (step, suffixes): (i128, [&str; 7]) = if self.binary {
            (1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
        } else {
            (1000, ["", "k", "M", "G", "T", "P", "E"])
        };
        let mut at = 0;
        while value != 0 && value % step == 0 && at + 1 < suffixes.len() {
            value /= step;
            at += 1;
        }
        write!(f, "{value}{}", suffixes[at])
    }
}

/// Adds up the concurrent requests of the containers, as the scheduler does: sidecars stay,
/// each other init container runs alone with the sidecars before it.
fn aggregate<'a>(
    spec: &'a PodSpec,
    amount: impl Fn(&'a Container, &ResourceName) -> Option<&'a Quantity>,
) -> BTreeMap<&'a ResourceName, Sum> {
    let mut sums = BTreeMap::new();
    let containers = || spec.containers_and_init();
    for container in containers() {
        let resources = &container.resources;
        for (name, _) in resources.requests.iter().chain(resources.limits.iter()) {
            if sums.contains_key(name) {
                continue;
            }
            let milli =
                |container| amount(container, name).map_or(0, |q| i128::from(q.milli_value()));
            let (mut sidecars, mut peak) = (0, 0);
            for init in &spec.init_containers {
                if init.restarts_always() {
                    sidecars += milli(init);
                    peak = peak.max(sidecars);
                } else {
                    peak = peak.max(sidecars + milli(init));
                }
            }
            let running: i128 = spec.containers.iter().map(milli).sum();
            let first = containers().find_map(|container| amount(container, name));
            let binary = first.is_some_and(|first| first.to_string().ends_with('i'));
            sums.insert(name, Sum { milli: peak.max(running + sidecars), binary });
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_with_the_containers() {
        let rows: [(&str, &str, &[&str]); 6] = [
            (
                "covered",
                r#"{"resources":{"requests":{"cpu":"2"}},"containers":[{"resources":{"requests":{"cpu":"2"}}}]}"#,
                &[],
            ),
            (
                "requests too small",
                r#"{"resources":{"requests":{"cpu":"1","memory":"576Mi"}},"containers":[
                    {"resources":{"requests":{"cpu":"500m","memory":"2Gi"}}},
                    {"resources":{"limits":{"cpu":"1","memory":"4Gi"}}}]}"#,
                &[
                    r#"r.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1500m"#,
                    r#"r.requests[memory]: Invalid value: "576Mi": must be greater than or equal to aggregate container requests of 6Gi"#,
                ],
            ),
            (
                "limits too small for the requests",
                r#"{"resources":{"limits":{"cpu":"1"}},"containers":[
                    {"resources":{"requests":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"1"}}}]}"#,
                &[
                    r#"r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#,
                ],
            ),
            (
                "limits above the pod's",
                r#"{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"1"}},"containers":[
                    {"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}]}"#,
                &[
                    r#"r.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1"#,
                ],
            ),
            (
                "limits may add up to more",
                r#"{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"1"}},"containers":[
                    {"resources":{"requests":{"cpu":"0"},"limits":{"cpu":"1"}}},
                    {"resources":{"requests":{"cpu":"0"},"limits":{"cpu":"1"}}}]}"#,
                &[],
            ),
            (
                "sidecar beside an init container",
                r#"{"resources":{"requests":{"cpu":"2"}},"initContainers":[
                    {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
                    {"resources":{"requests":{"cpu":"2"}}}]}"#,
                &[
                    r#"r.requests[cpu]: Invalid value: "2": must be greater than or equal to aggregate container requests of 3"#,
                ],
            ),
        ];
        for (name, json, expected) in rows {
            let spec: PodSpec = serde_json::from_str(json).unwrap();
            let mut errors = Vec::new();
            let pod = spec.resources.as_ref().unwrap();
            validate(&spec, pod, &Path::Root("r"), &mut errors);
            let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected, "{name}");
        }
    }
}

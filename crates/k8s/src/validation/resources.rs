//! Requests and limits, of containers and of whole pods (`ValidateResourceRequirements`).

use super::field::{FieldError, Path};
use super::metadata;
use crate::pod::{ResourceList, ResourceName, ResourceRequirements};
use crate::quantity::Quantity;

/// The owner of resources; the allowed names differ.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Level {
    Container,
    Pod,
}

pub(super) fn validate(
    resources: &ResourceRequirements,
    level: Level,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    validate_list(&resources.limits, level, &limits, errors);
    validate_list(&resources.requests, level, &requests, errors);
    for (name, request) in resources.requests.iter() {
        let overcommit = is_native(name) && name.hugepage_size().is_none();
        match resources.limits.get(name) {
            Some(limit) if !overcommit && request.compare(limit).is_ne() => errors.push(
                requests.invalid(request, format!("must be equal to {name} limit of {limit}")),
            ),
            Some(limit) if request.compare(limit).is_gt() => {
                errors.push(above(&requests, request, name, limit))
            }
            None if !overcommit => {
                errors.push(limits.required("Limit must be set for non overcommitable resources"));
            }
            _ => {}
        }
    }
    let names = || resources.limits.iter().chain(resources.requests.iter()).map(|(name, _)| name);
    let compute = |name: &ResourceName| matches!(name, ResourceName::Cpu | ResourceName::Memory);
    if names().any(|name| name.hugepage_size().is_some()) && !names().any(compute) {
        errors.push(path.forbidden("HugePages require cpu or memory"));
    }
}

/// Adds the error of a request above its limit.
pub(super) fn above(
    requests: &Path<'_>,
    request: &Quantity,
    name: &ResourceName,
    limit: &Quantity,
) -> FieldError {
    requests.invalid(request, format!("must be less than or equal to {name} limit of {limit}"))
}

/// Checks each name and amount by itself.
pub(super) fn validate_list(
    list: &ResourceList,
    level: Level,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    for (name, amount) in list.iter() {
        let at = path.key(name.as_str());
        errors.extend(name_error(name, level, &at));
        if amount.sign() < 0 {
            errors.push(at.invalid(amount, "must be greater than or equal to 0"));
        }
        if is_extended(name) && amount.milli_value() % 1000 != 0 {
            errors.push(at.invalid(amount, "must be an integer"));
        }
        if let Some(size) = name.hugepage_size()
            && !is_multiple(amount, size)
        {
            let why = format!("{amount} is not positive integer multiple of {name}");
            errors.push(at.invalid(amount, why));
        }
    }
}

fn name_error(name: &ResourceName, level: Level, path: &Path<'_>) -> Option<FieldError> {
    if matches!(name, ResourceName::Cpu | ResourceName::Memory) {
        return None;
    }
    let text = name.as_str();
    if let Some(why) = metadata::qualified_name(text) {
        return Some(path.invalid(text, why));
    }
    let hugepages = name.hugepage_size().is_some();
    if level == Level::Pod {
        let known: &[&str] = &["cpu", "hugepages-", "memory"];
        return (!hugepages).then(|| path.not_supported(text, known));
    }
    if !text.contains('/') {
        let known = hugepages || text == "ephemeral-storage";
        return (!known).then(|| path.invalid(text, "must be a standard resource for containers"));
    }
    (!is_native(name) && !is_extended(name))
        .then(|| path.invalid(text, "doesn't follow extended resource name standard"))
}

fn is_native(name: &ResourceName) -> bool {
    !name.as_str().contains('/') || name.as_str().contains("kubernetes.io/")
}

/// Returns true for an extended resource, which is counted in whole units (`IsExtendedResourceName`).
fn is_extended(name: &ResourceName) -> bool {
    let text = name.as_str();
    // In a quota the name gets the prefix "requests.", and must then still be a name.
    !is_native(name)
        && !text.starts_with("requests.")
        && text.find('/').is_some_and(|prefix| prefix + "requests.".len() <= 253)
        && metadata::qualified_name(text).is_none()
}

/// Returns true for a multiple of the page size (`IsHugePageResourceValueDivisible`).
fn is_multiple(amount: &Quantity, page_size: &str) -> bool {
    let Ok(page) = page_size.parse::<Quantity>() else {
        return false;
    };
    let page_milli = page.milli_value();
    if page.sign() <= 0 || page_milli <= 0 || page_milli % 1000 != 0 {
        return false;
    }
    // Both in whole bytes, part of a byte counting as one.
    let (milli, page) = (i128::from(amount.milli_value()), i128::from(page_milli / 1000));
    (milli + 999).div_euclid(1000) % page == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(level: Level, json: &str) -> Vec<String> {
        let mut errors = Vec::new();
        validate(&serde_json::from_str(json).unwrap(), level, &Path::Root("r"), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn checks_containers() {
        let rows: [(&str, &str, &[&str]); 13] = [
            ("nothing", "{}", &[]),
            ("fine", r#"{"requests":{"cpu":"1"},"limits":{"cpu":"1000m"}}"#, &[]),
            (
                "above",
                r#"{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}"#,
                &[
                    r#"r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#,
                ],
            ),
            (
                "negative",
                r#"{"limits":{"memory":"-1"}}"#,
                &[r#"r.limits[memory]: Invalid value: "-1": must be greater than or equal to 0"#],
            ),
            (
                "unknown",
                r#"{"limits":{"gpu":"1"}}"#,
                &[
                    r#"r.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers"#,
                ],
            ),
            (
                "hugepages unequal",
                r#"{"requests":{"cpu":"1","hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"4Mi"}}"#,
                &[
                    r#"r.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi"#,
                ],
            ),
            (
                "hugepages without limit",
                r#"{"requests":{"cpu":"1","hugepages-2Mi":"2Mi"}}"#,
                &["r.limits: Required value: Limit must be set for non overcommitable resources"],
            ),
            (
                "hugepages alone",
                r#"{"limits":{"hugepages-2Mi":"2Mi"}}"#,
                &["r: Forbidden: HugePages require cpu or memory"],
            ),
            (
                "part of a page",
                r#"{"limits":{"cpu":"1","hugepages-2Mi":"3Mi"}}"#,
                &[
                    r#"r.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi"#,
                ],
            ),
            (
                "page of no size",
                r#"{"limits":{"cpu":"1","hugepages-0":"1"}}"#,
                &[
                    r#"r.limits[hugepages-0]: Invalid value: "1": 1 is not positive integer multiple of hugepages-0"#,
                ],
            ),
            (
                "part of a device",
                r#"{"limits":{"example.com/gpu":"500m"}}"#,
                &[r#"r.limits[example.com/gpu]: Invalid value: "500m": must be an integer"#],
            ),
            ("device", r#"{"limits":{"example.com/gpu":"2"}}"#, &[]),
            (
                "quota name",
                r#"{"limits":{"requests.example.com/gpu":"1"}}"#,
                &[
                    r#"r.limits[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": doesn't follow extended resource name standard"#,
                ],
            ),
        ];
        for (name, json, expected) in rows {
            assert_eq!(texts(Level::Container, json), expected, "{name}");
        }
    }

    #[test]
    fn checks_pods() {
        let rows: [(&str, &str, &[&str]); 2] = [
            ("fine", r#"{"limits":{"cpu":"1","memory":"1Gi"}}"#, &[]),
            (
                "device",
                r#"{"limits":{"example.com/gpu":"1"}}"#,
                &[
                    r#"r.limits[example.com/gpu]: Unsupported value: "example.com/gpu": supported values: "cpu", "hugepages-", "memory""#,
                ],
            ),
        ];
        for (name, json, expected) in rows {
            assert_eq!(texts(Level::Pod, json), expected, "{name}");
        }
    }
}

//! Probes (`validateProbe` and those that call it, `validateHandler` and those that it calls).

use super::field::{FieldError, Path};
use crate::defaults::with_defaults;
use crate::pod::{Container, HttpGetAction, IntOrString, Pod, Probe};

/// Returns the API server's errors about the probes of a pod, in its order.
///
/// Fields that defaulting fills in may be absent.
pub fn validate_probes(pod: &Pod) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for at in 0..pod.spec.containers.len() {
        errors.extend(of_container(pod, false, at));
    }
    for at in 0..pod.spec.init_containers.len() {
        errors.extend(of_container(pod, true, at));
    }
    errors
}

/// Returns what the API server refuses in one probe: of the regular or the init container of that place, in the
/// field of that name.
pub fn validate_probe_of(pod: &Pod, is_init: bool, at: usize, field: &str) -> Vec<FieldError> {
    let list = if is_init { "initContainers" } else { "containers" };
    let path = format!("spec.{list}[{at}].{field}");
    let mut errors = of_container(pod, is_init, at);
    errors.retain(|error| error.path.starts_with(&path));
    errors
}

fn of_container(pod: &Pod, is_init: bool, at: usize) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, containers) = match is_init {
        true => ("initContainers", &pod.spec.init_containers),
        false => ("containers", &pod.spec.containers),
    };
    let Some(container) = containers.get(at) else { return errors };
    let spec = Path::Root("spec");
    let list = spec.child(name);
    let path = list.index(at);
    if !is_init || container.restarts_always() {
        validate_container(container, &path, &mut errors);
    } else {
        const WHY: &str = "may not be set for init containers without restartPolicy=Always";
        let names = probes(container).map(|(name, ..)| name);
        errors.extend(names.map(|name| path.child(name).forbidden(WHY)));
    }
    errors
}

/// Returns the probes of a container in the order in which they are checked, and whether each is the one for
/// readiness.
fn probes(container: &Container) -> impl Iterator<Item = (&'static str, bool, &Probe)> {
    [
        ("livenessProbe", false, &container.liveness_probe),
        ("readinessProbe", true, &container.readiness_probe),
        ("startupProbe", false, &container.startup_probe),
    ]
    .into_iter()
    .filter_map(|(name, is_readiness, probe)| Some((name, is_readiness, probe.as_deref()?)))
}

fn validate_container(container: &Container, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (name, is_readiness, probe) in probes(container) {
        let (path, probe) = (path.child(name), with_defaults(probe));
        validate_probe(&probe, &path, errors);
        if is_readiness {
            if let Some(seconds) = probe.termination_grace_period_seconds {
                let path = path.child("terminationGracePeriodSeconds");
                errors.push(path.invalid_number(seconds, "must not be set for readinessProbes"));
            }
        } else if probe.success_threshold != 1 {
            let path = path.child("successThreshold");
            errors.push(path.invalid_number(probe.success_threshold, "must be 1"));
        }
    }
}

fn validate_probe(probe: &Probe, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    validate_handler(probe, path, errors);
    for (name, number) in [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        if number < 0 {
            let why = "must be greater than or equal to 0";
            errors.push(path.child(name).invalid_number(number, why));
        }
    }
    if let Some(seconds) = probe.termination_grace_period_seconds.filter(|seconds| *seconds <= 0) {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(path.invalid_number(seconds, "must be greater than 0"));
    }
}

/// Checks the first handler, in this order; others are refused.
fn validate_handler(probe: &Probe, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut handlers = 0;
    // Returns true if a handler is the first, and refuses later ones.
    let mut is_first = |name: &str, errors: &mut Vec<FieldError>| {
        handlers += 1;
        if handlers > 1 {
            errors.push(path.child(name).forbidden("may not specify more than 1 handler type"));
        }
        handlers == 1
    };
    if let Some(exec) = &probe.exec
        && is_first("exec", errors)
        && exec.command.is_empty()
        && !exec.command_withheld
    {
        errors.push(path.child("exec").child("command").required(""));
    }
    if let Some(get) = &probe.http_get
        && is_first("httpGet", errors)
    {
        validate_get(get, &path.child("httpGet"), errors);
    }
    if let Some(socket) = &probe.tcp_socket
        && is_first("tcpSocket", errors)
    {
        validate_port(&socket.port, &path.child("tcpSocket").child("port"), errors);
    }
    if let Some(grpc) = &probe.grpc
        && is_first("grpc", errors)
    {
        let port = IntOrString::Int(grpc.port);
        validate_port(&port, &path.child("grpc").child("port"), errors);
    }
    if handlers == 0 {
        errors.push(path.required("must specify a handler type"));
    }
}

fn validate_get(get: &HttpGetAction, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const HEADER_NAME: &str = "a valid HTTP header must consist of alphanumeric characters or '-' \
        (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
    const SCHEMES: &[&str] = &["HTTP", "HTTPS"];
    validate_port(&get.port, &path.child("port"), errors);
    if !SCHEMES.contains(&get.scheme.as_str()) {
        errors.push(path.child("scheme").not_supported(&get.scheme, SCHEMES));
    }
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    for header in get.http_headers.iter().filter(|header| !is_name(&header.name)) {
        errors.push(path.child("httpHeaders").invalid(&header.name, HEADER_NAME));
    }
}

/// Checks a number, or the name of a service as IANA has them (`ValidatePortNumOrName`).
fn validate_port(port: &IntOrString, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match port {
        IntOrString::Int(1..=65535) => {}
        IntOrString::Int(number) => {
            errors.push(path.invalid_number(*number, "must be between 1 and 65535, inclusive"));
        }
        IntOrString::String(name) => {
            let problems = service_name_problems(name);
            errors.extend(problems.map(|why| path.invalid(name, why)));
        }
    }
}

/// Returns every rule of service names that a text breaks (`IsValidPortName`).
fn service_name_problems(name: &str) -> impl Iterator<Item = &'static str> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    [
        (name.len() > 15, "must be no more than 15 characters"),
        (
            name.is_empty() || !name.bytes().all(is_part),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (
            !name.bytes().any(|byte| byte.is_ascii_lowercase()),
            "must contain at least one letter (a-z)",
        ),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ]
    .into_iter()
    .filter_map(|(is_broken, why)| is_broken.then_some(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::FieldErrorKind;

    #[test]
    fn refuses_as_the_api_server_does() {
        let rows: [(&str, &str, &[&str]); 9] = [
            (
                "in order",
                r#"{"containers":[{"livenessProbe":{"httpGet":{"port":"http"}},"readinessProbe":{"grpc":{"port":1},"successThreshold":2}}]}"#,
                &[],
            ),
            (
                "containers, then init containers; liveness, readiness, startup",
                r#"{"initContainers":[{"restartPolicy":"Always","startupProbe":{}},{"startupProbe":{},"livenessProbe":{}}],
                    "containers":[{},{"startupProbe":{},"readinessProbe":{},"livenessProbe":{}}]}"#,
                &[
                    "spec.containers[1].livenessProbe: Required value: must specify a handler type",
                    "spec.containers[1].readinessProbe: Required value: must specify a handler type",
                    "spec.containers[1].startupProbe: Required value: must specify a handler type",
                    "spec.initContainers[0].startupProbe: Required value: must specify a handler type",
                    "spec.initContainers[1].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
                    "spec.initContainers[1].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
                ],
            ),
            (
                "several handlers",
                r#"{"containers":[{"livenessProbe":{"httpGet":{"port":0},"grpc":{"port":0},"tcpSocket":{"port":""}}}]}"#,
                &[
                    "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
                    "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                    "spec.containers[0].livenessProbe.grpc: Forbidden: may not specify more than 1 handler type",
                ],
            ),
            (
                "numbers",
                r#"{"containers":[{"startupProbe":{"tcpSocket":{"port":65536},"initialDelaySeconds":-1,"timeoutSeconds":-2,
                    "periodSeconds":-3,"successThreshold":-4,"failureThreshold":-5,"terminationGracePeriodSeconds":0}}]}"#,
                &[
                    "spec.containers[0].startupProbe.tcpSocket.port: Invalid value: 65536: must be between 1 and 65535, inclusive",
                    "spec.containers[0].startupProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0",
                    "spec.containers[0].startupProbe.timeoutSeconds: Invalid value: -2: must be greater than or equal to 0",
                    "spec.containers[0].startupProbe.periodSeconds: Invalid value: -3: must be greater than or equal to 0",
                    "spec.containers[0].startupProbe.successThreshold: Invalid value: -4: must be greater than or equal to 0",
                    "spec.containers[0].startupProbe.failureThreshold: Invalid value: -5: must be greater than or equal to 0",
                    "spec.containers[0].startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
                    "spec.containers[0].startupProbe.successThreshold: Invalid value: -4: must be 1",
                ],
            ),
            (
                "readiness",
                r#"{"containers":[{"readinessProbe":{"exec":{},"terminationGracePeriodSeconds":-1,"successThreshold":5}}]}"#,
                &[
                    "spec.containers[0].readinessProbe.exec.command: Required value",
                    "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: -1: must be greater than 0",
                    "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: -1: must not be set for readinessProbes",
                ],
            ),
            (
                "names of ports",
                r#"{"containers":[{"livenessProbe":{"tcpSocket":{"port":"-A--bcdefghijklm"}},"readinessProbe":{"tcpSocket":{"port":"1"}}}]}"#,
                &[
                    r#"spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: "-A--bcdefghijklm": must be no more than 15 characters"#,
                    r#"spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: "-A--bcdefghijklm": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"#,
                    r#"spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: "-A--bcdefghijklm": must not contain consecutive hyphens"#,
                    r#"spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: "-A--bcdefghijklm": must not begin or end with a hyphen"#,
                    r#"spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: "1": must contain at least one letter (a-z)"#,
                ],
            ),
            (
                "scheme",
                r#"{"containers":[{"livenessProbe":{"httpGet":{"port":1,"scheme":"http"}}}]}"#,
                &[
                    r#"spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "http": supported values: "HTTP", "HTTPS""#,
                ],
            ),
            (
                "headers",
                r#"{"containers":[{"livenessProbe":{"httpGet":{"port":1,"httpHeaders":[{"name":"-a-1"},{"name":"a_b"},{"name":"\u0001"}]}}}]}"#,
                &[
                    r#"spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "a_b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"#,
                    r#"spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "\x01": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"#,
                ],
            ),
            (
                "gRPC",
                r#"{"containers":[{"livenessProbe":{"grpc":{"port":-1}}}]}"#,
                &[
                    "spec.containers[0].livenessProbe.grpc.port: Invalid value: -1: must be between 1 and 65535, inclusive",
                ],
            ),
        ];
        for (name, spec, expected) in rows {
            let pod: Pod = serde_json::from_str(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
            let texts: Vec<_> = validate_probes(&pod).iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected, "{name}");
            let mut defaulted = pod;
            crate::defaults::apply_probe_defaults(&mut defaulted);
            let again: Vec<_> =
                validate_probes(&defaulted).iter().map(ToString::to_string).collect();
            assert_eq!(again, expected, "{name}, with defaults");
        }
        let required = Path::Root("spec").required("");
        assert_eq!(required.kind.type_name(), "FieldValueRequired");
        assert!(matches!(required.kind, FieldErrorKind::Required { .. }));
    }
}

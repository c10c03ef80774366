//! What the API server fills in about probes before a kubelet sees the pod.
//!
//! Mirrors `SetDefaults_Probe`, `SetDefaults_HTTPGetAction` and the default of a gRPC service
//! (`pkg/apis/core/v1/defaults.go`, `zz_generated.defaults.go`), read in 1.36.2; pinned by the vectors
//! `probe_defaults.jsonl`. Static pods go through the same defaults inside the kubelet. Applying them twice
//! changes nothing.

use crate::k8s::pod::{Container, Pod, Probe};

/// Fills in the probes of every container; those of init containers that may have none, too.
pub fn apply_probe_defaults(pod: &mut Pod) {
    for Container { startup_probe, readiness_probe, liveness_probe, .. } in
        pod.spec.every_container_mut()
    {
        let probes = [startup_probe, readiness_probe, liveness_probe];
        probes.into_iter().flatten().for_each(|probe| fill(probe));
    }
}

/// Returns a probe with its defaults.
pub fn with_defaults(probe: &Probe) -> Probe {
    let mut probe = probe.clone();
    fill(&mut probe);
    probe
}

fn fill(probe: &mut Probe) {
    for (number, default) in [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ] {
        if *number == 0 {
            *number = default;
        }
    }
    if let Some(get) = &mut probe.http_get {
        if get.path.is_empty() {
            get.path.push('/');
        }
        if get.scheme.is_empty() {
            get.scheme.push_str("HTTP");
        }
    }
    if let Some(grpc) = &mut probe.grpc {
        grpc.service.get_or_insert_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_what_is_zero_or_empty() {
        let numbers =
            r#""timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3"#;
        for (name, given, expected) in [
            ("nothing", "{}", format!("{{{numbers}}}")),
            (
                "HTTP",
                r#"{"httpGet":{"port":80}}"#,
                format!(r#"{{"httpGet":{{"path":"/","port":80,"scheme":"HTTP"}},{numbers}}}"#),
            ),
            (
                "gRPC",
                r#"{"grpc":{"port":1,"service":null}}"#,
                format!(r#"{{"grpc":{{"port":1,"service":""}},{numbers}}}"#),
            ),
            (
                "what is given stays",
                r#"{"httpGet":{"path":"x","port":80,"scheme":"ftp"},"timeoutSeconds":-1,"periodSeconds":2,"successThreshold":3,"failureThreshold":-4,"initialDelaySeconds":0}"#,
                r#"{"httpGet":{"path":"x","port":80,"scheme":"ftp"},"timeoutSeconds":-1,"periodSeconds":2,"successThreshold":3,"failureThreshold":-4}"#
                    .to_owned(),
            ),
        ] {
            let mut pod: Pod = serde_json::from_str(&format!(
                r#"{{"spec":{{"containers":[{{"livenessProbe":{given}}}],"initContainers":[{{"startupProbe":{given}}}]}}}}"#
            ))
            .unwrap();
            apply_probe_defaults(&mut pod);
            let expected: Probe = serde_json::from_str(&expected).unwrap();
            let liveness = pod.spec.containers[0].liveness_probe.as_deref().unwrap();
            assert_eq!(*liveness, expected, "{name}");
            assert_eq!(pod.spec.init_containers[0].startup_probe.as_deref(), Some(liveness), "{name}");
            let before = pod.clone();
            apply_probe_defaults(&mut pod);
            assert_eq!(pod, before, "{name}, twice");
        }
    }
}

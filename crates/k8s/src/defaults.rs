//! The API server's defaults of a pod.
//!
//! Mirrors `SetDefaults_Pod`, `SetDefaults_PodSpec` and `SetDefaults_ResourceList` of
//! `pkg/apis/core/v1/defaults.go`, read in 1.36.2; pinned by the vectors `qos.jsonl`. Static pods go
//! through the same defaults inside the kubelet. Applying them twice changes nothing.
//!
//! The API server's defaults of probes.
//!
//! Mirrors `SetDefaults_Probe`, `SetDefaults_HTTPGetAction` and the default of a gRPC service
//! (`pkg/apis/core/v1/defaults.go`, `zz_generated.defaults.go`), read in 1.36.2; pinned by the vectors
//! `probe_defaults.jsonl`. Static pods go through the same defaults inside the kubelet. Applying them twice
//! changes nothing.

use crate::feature_gates::Gate;
use crate::kubelet_rules::KubeletRules;
use crate::pod::{Container, Pod, Probe, ResourceList, ResourceRequirements, Toleration};
use crate::priority::priority_of_class;
use crate::resources::{ResourceOptions, Side, container_total, is_supported_at_pod_level};

/// Fills in requests from limits, at pod level too, and rounds every amount to thousandths.
pub fn apply_api_defaults(pod: &mut Pod, rules: &KubeletRules) {
    let spec = &mut pod.spec;
    for container in spec.containers_and_init_mut() {
        let ResourceRequirements { requests, limits } = &mut container.resources;
        fill(requests, limits, |_| true);
    }
    if rules.gates.enabled(Gate::PodLevelResources) {
        default_pod_level(pod, rules);
    }
    round_amounts(pod);
}

/// Sets the priority that the admission plugin gives the built-in classes.
pub fn apply_priority(pod: &mut Pod) {
    if pod.spec.priority.is_none() {
        pod.spec.priority = priority_of_class(&pod.spec.priority_class_name);
    }
}

/// Sets the defaults of placement and of the termination grace period: with the host network, every port is a
/// host port; the grace period is 30 seconds.
pub fn apply_placement_defaults(pod: &mut Pod) {
    let spec = &mut pod.spec;
    spec.termination_grace_period_seconds.get_or_insert(30);
    if spec.host_network {
        for container in spec.containers_and_init_mut() {
            for port in container.ports.iter_mut().filter(|port| port.host_port == 0) {
                port.host_port = port.container_port;
            }
        }
    }
}

/// Fills in the tolerations that a pod gets on its way through the API server: for five minutes it tolerates
/// a node that is not ready or unreachable (`DefaultTolerationSeconds` of
/// `plugin/pkg/admission/defaulttolerationseconds`). Pods of a DaemonSet tolerate it without limit; a
/// kubelet that admits pods makes no difference.
pub fn apply_default_tolerations(pod: &mut Pod) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let bears = |it: &Toleration| {
            (it.key.is_empty() || it.key == key) && matches!(it.effect.as_str(), "" | "NoExecute")
        };
        if !pod.spec.tolerations.iter().any(bears) {
            pod.spec.tolerations.push(Toleration {
                key: key.to_owned(),
                operator: "Exists".to_owned(),
                effect: "NoExecute".to_owned(),
                ..Toleration::default()
            });
        }
    }
}

fn default_pod_level(pod: &mut Pod, rules: &KubeletRules) {
    let mut resources = match &pod.spec.resources {
        Some(set) if !set.requests.is_empty() || !set.limits.is_empty() => set.clone(),
        _ => return,
    };
    let options = ResourceOptions::default();
    if rules.pod_level_hugepages() {
        for (name, amount) in container_total(pod, Side::Limits, &options).total.iter() {
            if name.hugepage_size().is_some()
                && !resources.requests.contains(name)
                && !resources.limits.contains(name)
            {
                resources.limits.insert(name.clone(), amount.clone());
            }
        }
    }
    if !resources.limits.is_empty() {
        let total = container_total(pod, Side::Requests, &options).total;
        fill(&mut resources.requests, &total, |name| {
            name.hugepage_size().is_none() && is_supported_at_pod_level(name, true)
        });
        let skip_hugepages = !rules.pod_level_hugepages();
        fill(&mut resources.requests, &resources.limits, |name| {
            is_supported_at_pod_level(name, skip_hugepages)
        });
    }
    pod.spec.resources = Some(resources);
}

/// Copies absent fields.
fn fill(
    list: &mut ResourceList,
    from: &ResourceList,
    wanted: impl Fn(&crate::pod::ResourceName) -> bool,
) {
    for (name, amount) in from.iter() {
        if wanted(name) && !list.contains(name) {
            list.insert(name.clone(), amount.clone());
        }
    }
}

fn round_amounts(pod: &mut Pod) {
    let round = |list: &mut ResourceList| {
        for (_, amount) in list.iter_mut() {
            amount.round_up_to_milli();
        }
    };
    let round_both = |resources: &mut ResourceRequirements| {
        round(&mut resources.requests);
        round(&mut resources.limits);
    };
    let spec = &mut pod.spec;
    spec.every_container_mut().map(|container| &mut container.resources).for_each(round_both);
    spec.resources.iter_mut().for_each(round_both);
    spec.overhead.iter_mut().for_each(round);
    let status = &mut pod.status;
    let statuses = status.every_container_mut();
    for container in statuses {
        container.resources.iter_mut().for_each(round_both);
        container.allocated_resources.iter_mut().for_each(round);
    }
    status.resources.iter_mut().for_each(round_both);
    status.allocated_resources.iter_mut().for_each(round);
}

/// Fills in the probes of every container; those of init containers that may have none, too.
pub fn apply_probe_defaults(pod: &mut Pod) {
    for Container { startup_probe, readiness_probe, liveness_probe, .. } in
        pod.spec.every_container_mut()
    {
        let probes = [startup_probe, readiness_probe, liveness_probe];
        probes.into_iter().flatten().for_each(|probe| fill_probe(probe));
    }
}

/// Returns a probe with its defaults.
pub fn with_defaults(probe: &Probe) -> Probe {
    let mut probe = probe.clone();
    fill_probe(&mut probe);
    probe
}

fn fill_probe(probe: &mut Probe) {
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

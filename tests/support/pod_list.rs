//! Makes lists of pods that look like `kubectl get pods -o json`, the same for the same count.

use std::fmt::Write;

/// Returns a `List` of `count` pods of about 5 KB each, as kubectl prints it: without managed fields.
pub fn pod_list(count: usize) -> String {
    let mut out = String::with_capacity(count * 5200 + 200);
    out.push_str("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n");
    for n in 0..count {
        pod(&mut out, n);
        out.push_str(if n + 1 < count { ",\n" } else { "\n" });
    }
    out.push_str(
        "    ],\n    \"kind\": \"List\",\n    \"metadata\": {\"resourceVersion\": \"\"}\n}\n",
    );
    out
}

/// A number that depends on the pod and on what it is for; the multiplier is Knuth's.
fn varied(n: usize, salt: usize, below: usize) -> usize {
    ((n * 31 + salt + 1).wrapping_mul(2_654_435_761) >> 7) % below
}

fn pod(out: &mut String, n: usize) {
    let class = ["Burstable", "Guaranteed", "BestEffort"][varied(n, 1, 3)];
    let containers = [1, 1, 1, 1, 2, 3][varied(n, 2, 6)];
    let sidecar = varied(n, 3, 4) == 0;
    let uid =
        format!("{:08x}-{:04x}-4000-8000-{n:012x}", varied(n, 4, 1 << 24), varied(n, 5, 1 << 16));
    let _ = write!(
        out,
        r#"        {{
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {{
                "annotations": {{
                    "checksum/config": "{n:064x}",
                    "kubernetes.io/config.source": "api",
                    "prometheus.io/scrape": "true"
                }},
                "creationTimestamp": "2026-01-{day:02}T08:15:30Z",
                "generateName": "shop-{app}-7d9c5b8f6-",
                "labels": {{"app": "shop-{app}", "pod-template-hash": "7d9c5b8f6"}},
                "name": "shop-{app}-7d9c5b8f6-{n:05}",
                "namespace": "team-{team}",
                "ownerReferences": [{{"apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": "ReplicaSet", "name": "shop-{app}-7d9c5b8f6", "uid": "{uid}"}}],
                "resourceVersion": "{version}",
                "uid": "{uid}"
            }},
            "spec": {{
                "containers": ["#,
        app = n % 40,
        team = n % 12,
        day = 1 + n % 28,
        version = 100_000 + n,
    );
    for at in 0..containers {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        container(out, n, at, class, "");
    }
    out.push_str("\n                ],\n");
    if sidecar {
        out.push_str("                \"initContainers\": [\n");
        container(out, n, 9, class, r#""restartPolicy": "Always", "#);
        out.push_str("\n                ],\n");
    }
    let _ = write!(
        out,
        r#"                "dnsPolicy": "ClusterFirst",
                "enableServiceLinks": true,
                "nodeName": "node-1",
                "preemptionPolicy": "PreemptLowerPriority",
                "priority": {priority},
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "serviceAccountName": "shop",
                "terminationGracePeriodSeconds": 30,
                "tolerations": [
                    {{"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}},
                    {{"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300}}
                ],
                "volumes": [
                    {{"name": "config", "configMap": {{"defaultMode": 420, "name": "shop-config"}}}},
                    {{"name": "kube-api-access", "projected": {{"defaultMode": 420, "sources": [{{"serviceAccountToken": {{"expirationSeconds": 3607, "path": "token"}}}}, {{"configMap": {{"items": [{{"key": "ca.crt", "path": "ca.crt"}}], "name": "kube-root-ca.crt"}}}}]}}}}
                ]
            }},
            "status": {{
                "conditions": [
                    {{"lastProbeTime": null, "lastTransitionTime": "2026-01-01T08:15:31Z", "status": "True", "type": "Initialized"}},
                    {{"lastProbeTime": null, "lastTransitionTime": "2026-01-01T08:15:40Z", "status": "True", "type": "Ready"}},
                    {{"lastProbeTime": null, "lastTransitionTime": "2026-01-01T08:15:30Z", "status": "True", "type": "PodScheduled"}}
                ],
                "containerStatuses": ["#,
        priority = [0, 0, 1000, 2_000_000_000][varied(n, 6, 4)],
    );
    for at in 0..containers {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        status(out, n, at);
    }
    out.push_str("\n                ],\n");
    if sidecar {
        out.push_str("                \"initContainerStatuses\": [\n");
        status(out, n, 9);
        out.push_str("\n                ],\n");
    }
    let _ = write!(
        out,
        r#"                "hostIP": "10.0.0.1",
                "phase": "Running",
                "podIP": "10.1.{}.{}",
                "qosClass": "{class}",
                "startTime": "2026-01-01T08:15:30Z"
            }}
        }}"#,
        n / 250 % 250,
        n % 250,
    );
}

fn container(out: &mut String, n: usize, at: usize, class: &str, extra: &str) {
    let cpu = 50 * (1 + varied(n, 10 + at, 20));
    let memory = 32 * (1 + varied(n, 20 + at, 30));
    let _ = write!(
        out,
        r#"                    {{{extra}"name": "c{at}", "image": "registry.example.com/shop/app-{at}:v1.{}.0", "imagePullPolicy": "IfNotPresent",
                     "env": [{{"name": "LOG_LEVEL", "value": "info"}}, {{"name": "DATABASE_PASSWORD", "valueFrom": {{"secretKeyRef": {{"key": "password", "name": "shop-db"}}}}}}, {{"name": "POD_IP", "valueFrom": {{"fieldRef": {{"apiVersion": "v1", "fieldPath": "status.podIP"}}}}}}],
                     "ports": [{{"containerPort": 8080, "name": "http-{at}", "protocol": "TCP"}}],
                     "resources": "#,
        n % 9
    );
    let _ = match class {
        "Guaranteed" => write!(
            out,
            r#"{{"limits": {{"cpu": "{cpu}m", "memory": "{memory}Mi"}}, "requests": {{"cpu": "{cpu}m", "memory": "{memory}Mi"}}}}"#
        ),
        "Burstable" => write!(
            out,
            r#"{{"limits": {{"memory": "{}Mi"}}, "requests": {{"cpu": "{cpu}m", "memory": "{memory}Mi"}}}}"#,
            2 * memory
        ),
        _ => write!(out, "{{}}"),
    };
    out.push_str(
        r#",
                     "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                     "volumeMounts": [{"mountPath": "/etc/shop", "name": "config", "readOnly": true}, {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "kube-api-access", "readOnly": true}]}"#,
    );
}

fn status(out: &mut String, n: usize, at: usize) {
    let _ = write!(
        out,
        r#"                    {{"containerID": "containerd://{id:064x}", "image": "registry.example.com/shop/app-{at}:v1.{v}.0", "imageID": "registry.example.com/shop/app-{at}@sha256:{at:064x}", "lastState": {{}}, "name": "c{at}", "ready": true, "restartCount": {restarts}, "started": true, "state": {{"running": {{"startedAt": "2026-01-01T08:15:39Z"}}}}}}"#,
        id = n * 16 + at,
        v = n % 9,
        restarts = n % 3,
    );
}

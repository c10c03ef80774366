//! The fields of the Kubernetes types on the way from an object to the resources of its containers.
//!
//! The names are those of `k8s.io/api` v1.36: `core/v1/types.go`, `apps/v1/types.go` and
//! `batch/v1/types.go`. What only v1.35 (`workloadRef`) or v1.37 (`evictionResponders`,
//! `scheduling`, `grpc.mode`, `httpGet.protocol`) has is here too: to call a good field unknown is worse than to miss a bad one.

use super::kinds::PodTemplatePath;

/// The fields of one type.
#[derive(Debug)]
pub(super) struct Fields {
    /// Their names, sorted.
    pub(super) names: &'static [&'static str],
    /// An object whose own fields are checked, alone or in a list.
    pub(super) below: &'static [(&'static str, &'static Fields)],
}

/// Returns the fields of an object of a kind; `None`: an unknown kind.
pub(super) fn of_object(kind: &str, carries: PodTemplatePath) -> Option<&'static Fields> {
    match (kind, carries) {
        (_, PodTemplatePath::Pod) => Some(&POD),
        (_, PodTemplatePath::Template) => Some(&POD_TEMPLATE),
        (_, PodTemplatePath::JobTemplate) => Some(&CRON_JOB),
        ("Deployment", _) => Some(&DEPLOYMENT),
        ("StatefulSet", _) => Some(&STATEFUL_SET),
        ("DaemonSet", _) => Some(&DAEMON_SET),
        ("ReplicaSet" | "ReplicationController", _) => Some(&REPLICA_SET),
        ("Job", _) => Some(&JOB),
        _ => None,
    }
}

/// The top-level fields of every kind but `PodTemplate`.
const TOP: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];

static POD: Fields = Fields { names: TOP, below: &[("spec", &POD_SPEC)] };

static POD_TEMPLATE: Fields = Fields {
    names: &["apiVersion", "kind", "metadata", "template"],
    below: &[("template", &POD_TEMPLATE_SPEC)],
};

static POD_TEMPLATE_SPEC: Fields =
    Fields { names: &["metadata", "spec"], below: &[("spec", &POD_SPEC)] };

static DEPLOYMENT: Fields = Fields {
    names: TOP,
    below: &[(
        "spec",
        &Fields {
            names: &[
                "minReadySeconds",
                "paused",
                "progressDeadlineSeconds",
                "replicas",
                "revisionHistoryLimit",
                "selector",
                "strategy",
                "template",
            ],
            below: &[("template", &POD_TEMPLATE_SPEC)],
        },
    )],
};

static STATEFUL_SET: Fields = Fields {
    names: TOP,
    below: &[(
        "spec",
        &Fields {
            names: &[
                "minReadySeconds",
                "ordinals",
                "persistentVolumeClaimRetentionPolicy",
                "podManagementPolicy",
                "replicas",
                "revisionHistoryLimit",
                "selector",
                "serviceName",
                "template",
                "updateStrategy",
                "volumeClaimTemplates",
            ],
            below: &[("template", &POD_TEMPLATE_SPEC)],
        },
    )],
};

static DAEMON_SET: Fields = Fields {
    names: TOP,
    below: &[(
        "spec",
        &Fields {
            names: &[
                "minReadySeconds",
                "revisionHistoryLimit",
                "selector",
                "template",
                "updateStrategy",
            ],
            below: &[("template", &POD_TEMPLATE_SPEC)],
        },
    )],
};

/// A replication controller has the same fields.
static REPLICA_SET: Fields = Fields {
    names: TOP,
    below: &[(
        "spec",
        &Fields {
            names: &["minReadySeconds", "replicas", "selector", "template"],
            below: &[("template", &POD_TEMPLATE_SPEC)],
        },
    )],
};

static JOB: Fields = Fields { names: TOP, below: &[("spec", &JOB_SPEC)] };

static JOB_SPEC: Fields = Fields {
    names: &[
        "activeDeadlineSeconds",
        "backoffLimit",
        "backoffLimitPerIndex",
        "completionMode",
        "completions",
        "managedBy",
        "manualSelector",
        "maxFailedIndexes",
        "parallelism",
        "podFailurePolicy",
        "podReplacementPolicy",
        "scheduling",
        "selector",
        "successPolicy",
        "suspend",
        "template",
        "ttlSecondsAfterFinished",
    ],
    below: &[("template", &POD_TEMPLATE_SPEC)],
};

static CRON_JOB: Fields = Fields {
    names: TOP,
    below: &[(
        "spec",
        &Fields {
            names: &[
                "concurrencyPolicy",
                "failedJobsHistoryLimit",
                "jobTemplate",
                "schedule",
                "startingDeadlineSeconds",
                "successfulJobsHistoryLimit",
                "suspend",
                "timeZone",
            ],
            below: &[(
                "jobTemplate",
                &Fields { names: &["metadata", "spec"], below: &[("spec", &JOB_SPEC)] },
            )],
        },
    )],
};

static POD_SPEC: Fields = Fields {
    names: &[
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "evictionResponders",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "schedulingGroup",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
        "workloadRef",
    ],
    below: &[
        ("containers", &CONTAINER),
        ("initContainers", &CONTAINER),
        ("ephemeralContainers", &EPHEMERAL_CONTAINER),
        ("resources", &RESOURCES),
    ],
};

static CONTAINER: Fields = Fields {
    names: &[
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    ],
    below: &[
        ("livenessProbe", &PROBE),
        ("readinessProbe", &PROBE),
        ("resources", &RESOURCES),
        ("startupProbe", &PROBE),
    ],
};

/// The fields of a container, and `targetContainerName`.
static EPHEMERAL_CONTAINER: Fields = Fields {
    names: &[
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "lifecycle",
        "livenessProbe",
        "name",
        "ports",
        "readinessProbe",
        "resizePolicy",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
        "securityContext",
        "startupProbe",
        "stdin",
        "stdinOnce",
        "targetContainerName",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
    ],
    below: &[
        ("livenessProbe", &PROBE),
        ("readinessProbe", &PROBE),
        ("resources", &RESOURCES),
        ("startupProbe", &PROBE),
    ],
};

static PROBE: Fields = Fields {
    names: &[
        "exec",
        "failureThreshold",
        "grpc",
        "httpGet",
        "initialDelaySeconds",
        "periodSeconds",
        "successThreshold",
        "tcpSocket",
        "terminationGracePeriodSeconds",
        "timeoutSeconds",
    ],
    below: &[
        ("exec", &Fields { names: &["command"], below: &[] }),
        ("grpc", &Fields { names: &["mode", "port", "service"], below: &[] }),
        ("httpGet", &HTTP_GET),
        ("tcpSocket", &Fields { names: &["host", "port"], below: &[] }),
    ],
};

static HTTP_GET: Fields = Fields {
    names: &["host", "httpHeaders", "path", "port", "protocol", "scheme"],
    below: &[("httpHeaders", &Fields { names: &["name", "value"], below: &[] })],
};

static RESOURCES: Fields = Fields { names: &["claims", "limits", "requests"], below: &[] };

#[cfg(test)]
mod tests {
    use super::super::kinds::{CARRIERS, Kind, kind};
    use super::*;

    #[test]
    fn every_kind_has_its_fields_in_order() {
        fn check(name: &str, fields: &Fields) {
            assert!(fields.names.is_sorted(), "{name}");
            for (field, below) in fields.below {
                assert!(fields.names.contains(field), "{name}: {field}");
                check(&format!("{name}.{field}"), below);
            }
        }
        for (name, ..) in CARRIERS {
            let Kind::Object(carries, _) = kind(name) else { panic!("{name}") };
            check(name, of_object(name, carries).expect(name));
        }
    }
}

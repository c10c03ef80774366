//! The kinds of objects that have pods, and the known ones that have none.

/// Where an object has its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodTemplatePath {
    Pod,
    /// Under `spec.template`.
    SpecTemplate,
    /// Under `spec.jobTemplate.spec.template`.
    JobTemplate,
    /// Under `template`.
    Template,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A single object of a kind that carries pods, and the one version that has it.
    Object(PodTemplatePath, &'static str),
    /// `List`, whose items have a kind of their own.
    MixedList,
    /// A list of one kind, whose items may omit it.
    ListOf(&'static str, &'static str),
    /// A known kind without pods.
    NoPods,
    /// An unknown kind.
    Unknown,
}

/// The kinds that are accepted, for messages.
pub(super) const ACCEPTED: &str = "Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, \
     ReplicationController, Job, CronJob, PodTemplate, their lists and List";

/// The kinds that carry pods, the names of their lists, the version that has them.
pub(super) const CARRIERS: [(&str, &str, &str, PodTemplatePath); 9] = [
    ("Pod", "PodList", "v1", PodTemplatePath::Pod),
    ("Deployment", "DeploymentList", "apps/v1", PodTemplatePath::SpecTemplate),
    ("StatefulSet", "StatefulSetList", "apps/v1", PodTemplatePath::SpecTemplate),
    ("DaemonSet", "DaemonSetList", "apps/v1", PodTemplatePath::SpecTemplate),
    ("ReplicaSet", "ReplicaSetList", "apps/v1", PodTemplatePath::SpecTemplate),
    ("ReplicationController", "ReplicationControllerList", "v1", PodTemplatePath::SpecTemplate),
    ("Job", "JobList", "batch/v1", PodTemplatePath::SpecTemplate),
    ("CronJob", "CronJobList", "batch/v1", PodTemplatePath::JobTemplate),
    ("PodTemplate", "PodTemplateList", "v1", PodTemplatePath::Template),
];

/// Built-in kinds that are often in the same file; sorted.
const WITHOUT_PODS: [&str; 54] = [
    "APIService",
    "Binding",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterTrustBundle",
    "ComponentStatus",
    "ConfigMap",
    "ControllerRevision",
    "CustomResourceDefinition",
    "DeviceClass",
    "EndpointSlice",
    "Endpoints",
    "Event",
    "FlowSchema",
    "HorizontalPodAutoscaler",
    "IPAddress",
    "Ingress",
    "IngressClass",
    "KubeletConfiguration",
    "Kustomization",
    "Lease",
    "LimitRange",
    "LocalSubjectAccessReview",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "NetworkPolicy",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceSlice",
    "Role",
    "RoleBinding",
    "RuntimeClass",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceCIDR",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
];

/// Returns the class of a kind.
pub(super) fn kind(name: &str) -> Kind {
    if name == "List" {
        return Kind::MixedList;
    }
    for (kind, list, version, carries) in CARRIERS {
        if name == kind {
            return Kind::Object(carries, version);
        }
        if name == list {
            return Kind::ListOf(kind, version);
        }
    }
    let without_pods = |name: &str| WITHOUT_PODS.binary_search(&name).is_ok();
    if without_pods(name) || name.strip_suffix("List").is_some_and(without_pods) {
        return Kind::NoPods;
    }
    Kind::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_kinds() {
        let rows = [
            ("Pod", Kind::Object(PodTemplatePath::Pod, "v1")),
            ("CronJob", Kind::Object(PodTemplatePath::JobTemplate, "batch/v1")),
            ("DeploymentList", Kind::ListOf("Deployment", "apps/v1")),
            ("List", Kind::MixedList),
            ("Service", Kind::NoPods),
            ("ConfigMapList", Kind::NoPods),
            ("pod", Kind::Unknown),
            ("ListList", Kind::Unknown),
            ("", Kind::Unknown),
        ];
        for (name, expected) in rows {
            assert_eq!(kind(name), expected, "{name}");
        }
        assert!(WITHOUT_PODS.is_sorted());
        for (name, ..) in CARRIERS {
            assert!(ACCEPTED.contains(name), "{name}");
        }
    }
}

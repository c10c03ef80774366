//! Which pods of manifests the kubelet takes.
//!
//! Mirrors `HasAPIObjectReference` in `pkg/api/pod/util.go`, read in 1.36.2. What `VisitPodSecretNames` finds in volumes
//! that are not kept (`cephfs`, `cinder`, `flexVolume`, `iscsi`, `rbd`, `scaleIO`, `storageOS`, a CSI driver's
//! `nodePublishSecretRef`) is not seen.

use crate::feature_gates::Gate;
use crate::kubelet_rules::KubeletRules;
use crate::patch_fixes::PatchFault;
use crate::pod::{Pod, ProjectedSource};

/// Returns the kubelet's error for the manifest of a static pod (`tryDecodeSinglePod`, `pkg/kubelet/config/common.go`).
pub fn manifest_error(pod: &Pod, rules: &KubeletRules) -> Option<String> {
    if !rules.gates.enabled(Gate::PreventStaticPodApiReferences) {
        let uses_bundle = sources(pod).any(|source| source.cluster_trust_bundle.is_some());
        let takes_claims = rules.has_fault(PatchFault::TakesStaticClaims);
        let error = match uses_bundle {
            true => "static pods may not use ClusterTrustBundle projected volume sources",
            false if pod.spec.resource_claims.is_empty() || takes_claims => return None,
            false => "static pods may not use ResourceClaims",
        };
        return Some(error.to_owned());
    }
    api_reference(pod).map(|resource| format!("static pods may not reference {resource}"))
}

/// Returns the resource of the API that a pod refers to, as far as it is kept.
pub fn api_reference(pod: &Pod) -> Option<&'static str> {
    let spec = &pod.spec;
    let env = || spec.every_container().flat_map(|container| &container.env_from);
    let volumes = || spec.volumes.iter();
    let is_there = [
        (!spec.service_account_name.is_empty(), "serviceaccounts"),
        (
            !spec.image_pull_secrets.is_empty()
                || env().any(|from| from.secret_ref.is_some())
                || volumes().any(|it| it.secret.is_some() || it.azure_file.is_some())
                || sources(pod).any(|source| source.secret.is_some()),
            "secrets",
        ),
        (
            env().any(|from| from.config_map_ref.is_some())
                || volumes().any(|it| it.config_map.is_some())
                || sources(pod).any(|source| source.config_map.is_some()),
            "configmaps",
        ),
        (!spec.resource_claims.is_empty(), "resourceclaims"),
    ];
    let first = is_there.into_iter().find_map(|(is_it, resource)| is_it.then_some(resource));
    first.or_else(|| {
        volumes().find_map(|volume| {
            let kinds = [
                (volume.csi.is_some(), "csidrivers (via CSI volumes)"),
                (volume.persistent_volume_claim.is_some(), "persistentvolumeclaims"),
                (volume.ephemeral.is_some(), "persistentvolumeclaims (via ephemeral volumes)"),
            ];
            let own = kinds.into_iter().find_map(|(is_it, resource)| is_it.then_some(resource));
            own.or_else(|| volume.projected.as_ref()?.sources.iter().find_map(of_source))
        })
    })
}

fn of_source(source: &ProjectedSource) -> Option<&'static str> {
    let kinds = [
        (source.service_account_token.is_some(), "serviceaccounts (via projected volumes)"),
        (source.cluster_trust_bundle.is_some(), "clustertrustbundles"),
        (source.pod_certificate.is_some(), "podcertificates"),
    ];
    kinds.into_iter().find_map(|(is_it, resource)| is_it.then_some(resource))
}

fn sources(pod: &Pod) -> impl Iterator<Item = &ProjectedSource> {
    pod.spec.volumes.iter().filter_map(|it| it.projected.as_ref()).flat_map(|it| &it.sources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::KubeletVersion;

    fn error(version: &str, spec: &str) -> Option<String> {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: c, image: i, env: [{{name: E, value: v}}]}}], {spec}}}"
        );
        let mut loaded = crate::manifest::load("p.yaml", text.as_bytes());
        assert_eq!(loaded.problems, [], "{text}");
        let pod = loaded.pods.pop().expect("a pod").pod;
        // What is stored says the same.
        let stored = serde_json::to_string(&pod).expect("JSON");
        let stored: Pod = serde_json::from_str(&stored).expect("a pod");
        assert_eq!(api_reference(&stored), api_reference(&pod), "{spec}");
        let version: KubeletVersion = version.parse().expect("a version");
        manifest_error(&pod, &KubeletRules::for_version(version))
    }

    #[test]
    fn the_first_reference_is_named() {
        let volume = |kind: &str| format!("volumes: [{{name: v, {kind}}}]");
        let container = |field: &str| format!("initContainers: [{{name: d, image: i, {field}}}]");
        for (spec, resource) in [
            ("serviceAccountName: a, imagePullSecrets: [{name: s}]".to_owned(), "serviceaccounts"),
            ("imagePullSecrets: [{name: s}]".to_owned(), "secrets"),
            (
                container("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
                "secrets",
            ),
            (container("envFrom: [{configMapRef: {name: s}}]"), "configmaps"),
            (volume("secret: {secretName: s}"), "secrets"),
            (volume("azureFile: {secretName: s, shareName: t}"), "secrets"),
            (volume("projected: {sources: [{downwardAPI: {}}, {secret: {name: s}}]}"), "secrets"),
            (volume("configMap: {name: s}"), "configmaps"),
            (volume("csi: {driver: d}"), "csidrivers (via CSI volumes)"),
            (volume("persistentVolumeClaim: {claimName: s}"), "persistentvolumeclaims"),
            (
                volume("projected: {sources: [{serviceAccountToken: {path: t}}]}"),
                "serviceaccounts (via projected volumes)",
            ),
        ] {
            let expected = format!("static pods may not reference {resource}");
            assert_eq!(error("1.34", &spec), Some(expected.clone()), "{spec}");
            assert_eq!(error("1.37", &spec), Some(expected), "{spec}");
            assert_eq!(error("1.33", &spec), None, "{spec}");
        }
        let claims = "resourceClaims: [{name: c, resourceClaimName: d}]";
        let refused = Some("static pods may not use ResourceClaims".to_owned());
        assert_eq!(error("1.33.13", claims), refused);
        assert_eq!(error("1.33.1", claims), None, "before the fix");
        for spec in [
            volume("hostPath: {path: /x}"),
            volume("projected: {sources: [{downwardAPI: {}}]}"),
            container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"),
        ] {
            assert_eq!(error("1.36", &spec), None, "{spec}");
        }
    }
}

//! The volumes of a pod that use the node's disk or name objects of the API.
//!
//! Of most kinds only the presence of a volume is kept: its names and contents may be
//! secret, and no decision here depends on it.

use super::Details;
use super::read::{null_as_default, objects, optional_object};
use crate::quantity::Quantity;
use serde::{Deserialize, Serialize};

/// A volume; one of a kind that is not listed here has only its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    /// The name, unique in its pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// A folder that lives as long as the pod.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// A folder or file of the node.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub host_path: Option<Details>,
    /// A config map, written to the node's disk.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub config_map: Option<Details>,
    /// A Git repository, cloned to the node.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub git_repo: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub secret: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<Details>,
    /// A claim that is made with the pod.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<Details>,
    /// A volume of a CSI driver.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub csi: Option<Details>,
    /// A share of Azure, whose key is in a Secret.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub azure_file: Option<Details>,
    /// Files from several sources.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub projected: Option<Projected>,
}

/// A volume of files from several sources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Projected {
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ProjectedSource>,
}

/// A source of files, of which only the kind is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectedSource {
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub config_map: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub secret: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub service_account_token: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub cluster_trust_bundle: Option<Details>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub pod_certificate: Option<Details>,
}

/// A claim of devices that a DRA driver prepares, by the name that containers refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResourceClaim {
    /// Unique in its pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// A folder that lives as long as its pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EmptyDir {
    /// Empty for the node's disk, else `Memory` or `HugePages...`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub medium: String,
    /// How much may be in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<Quantity>,
}

impl Volume {
    /// Returns true if the volume uses the node's disk (`IsLocalEphemeralVolume`,
    /// `pkg/volume/util/util.go`, and host path volumes).
    pub fn is_local(&self) -> bool {
        self.host_path.is_some()
            || self.config_map.is_some()
            || self.git_repo.is_some()
            || self.empty_dir.as_ref().is_some_and(|dir| dir.medium.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use crate::pod::Pod;

    #[test]
    fn volumes_of_the_nodes_disk_are_local_and_nothing_else_is_kept() {
        let rows = [
            ("empty", r#"{"emptyDir":{},"name":"v"}"#, true, r#"{"name":"v","emptyDir":{}}"#),
            (
                "limited",
                r#"{"emptyDir":{"sizeLimit":"1Gi","medium":""},"name":"v"}"#,
                true,
                r#"{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}"#,
            ),
            (
                "memory",
                r#"{"emptyDir":{"medium":"Memory"},"name":"v"}"#,
                false,
                r#"{"name":"v","emptyDir":{"medium":"Memory"}}"#,
            ),
            (
                "huge pages of a size",
                r#"{"emptyDir":{"medium":"HugePages-2Mi"},"name":"v"}"#,
                false,
                r#"{"name":"v","emptyDir":{"medium":"HugePages-2Mi"}}"#,
            ),
            ("null", r#"{"emptyDir":null,"name":"v"}"#, false, r#"{"name":"v"}"#),
            (
                "host",
                r#"{"hostPath":{"path":"/x"},"name":"v"}"#,
                true,
                r#"{"name":"v","hostPath":{}}"#,
            ),
            (
                "config",
                r#"{"configMap":{"name":"c"},"name":"v"}"#,
                true,
                r#"{"name":"v","configMap":{}}"#,
            ),
            (
                "git",
                r#"{"gitRepo":{"repository":"https://user:password@x"},"name":"v"}"#,
                true,
                r#"{"name":"v","gitRepo":{}}"#,
            ),
            (
                "secret",
                r#"{"secret":{"secretName":"s"},"name":"v"}"#,
                false,
                r#"{"name":"v","secret":{}}"#,
            ),
            (
                "claim",
                r#"{"persistentVolumeClaim":{"claimName":"c"},"name":"v"}"#,
                false,
                r#"{"name":"v","persistentVolumeClaim":{}}"#,
            ),
            (
                "projected",
                r#"{"projected":{"sources":[{"secret":{"name":"s"}},{"downwardAPI":{}}]},"name":"v"}"#,
                false,
                r#"{"name":"v","projected":{"sources":[{"secret":{}},{}]}}"#,
            ),
        ];
        for (name, text, local, kept) in rows {
            let pod: Pod =
                serde_json::from_str(&format!(r#"{{"spec":{{"volumes":[{text}]}}}}"#)).unwrap();
            let [volume] = &pod.spec.volumes[..] else { panic!("{name}") };
            assert_eq!(volume.is_local(), local, "{name}");
            assert_eq!(serde_json::to_string(volume).unwrap(), kept, "{name}");
        }
    }
}

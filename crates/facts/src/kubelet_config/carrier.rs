//! Objects of a cluster that carry the kubelet's configuration: it is taken out of them.
//!
//! | kind | field | who makes the kubelet's file of it |
//! |---|---|---|
//! | `ConfigMap` | `data.kubelet` | kubeadm (`kubectl get cm -n kube-system kubelet-config`) |
//! | `KubeletConfig` of `machineconfiguration.openshift.io` | `spec.kubeletConfig` | OpenShift's Machine Config Operator |
//! | `NodeConfig` of `node.eks.aws` | `spec.kubelet.config` | nodeadm on EKS |
//! | `EC2NodeClass` of `karpenter.k8s.aws` | `spec.kubelet` | Karpenter |
//! | a machine configuration of Talos | `machine.kubelet.extraConfig` | Talos |

use kq_k8s::yaml;
use serde_json::{Map, Value, json};

/// A configuration that an object carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The configuration, as the text of a file.
    pub text: Vec<u8>,
    /// Where it was: `data.kubelet of ConfigMap kubelet-config`.
    pub place: String,
    /// The platform adds its own settings to it.
    pub is_partial: bool,
}

/// Returns the configuration that the first document of a file carries; `None`: it is no such object.
pub fn carried(text: &str) -> Option<Carried> {
    let first = yaml::documents(text).into_iter().find(|document| !document.is_empty())?;
    let value = yaml::read(first.body()).ok()?.value;
    match value.get("items").and_then(Value::as_array) {
        Some(items) => items.iter().find_map(of_object),
        None => of_object(&value),
    }
}

/// Returns the configuration that an object carries; of a list the first that does counts.
fn of_object(value: &Value) -> Option<Carried> {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let group = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let (group, _) = group.split_once('/').unwrap_or(("", group));
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let (pointer, what) = match (group, kind) {
        ("", "ConfigMap") => {
            let text = value.pointer("/data/kubelet")?.as_str()?.to_owned().into_bytes();
            let place = format!("data.kubelet of ConfigMap {name}");
            return Some(Carried { text, place, is_partial: false });
        }
        ("machineconfiguration.openshift.io", "KubeletConfig") => {
            ("/spec/kubeletConfig", format!("{kind} {name}"))
        }
        ("node.eks.aws", "NodeConfig") => ("/spec/kubelet/config", format!("{kind} {name}")),
        ("karpenter.k8s.aws", "EC2NodeClass") => ("/spec/kubelet", format!("{kind} {name}")),
        ("", "") => ("/machine/kubelet/extraConfig", "the machine configuration".to_owned()),
        _ => return None,
    };
    let fields = value.pointer(pointer)?.as_object()?;
    let place = format!("{} of {}", pointer[1..].replace('/', "."), what.trim_end());
    Some(Carried { text: whole(fields), place, is_partial: true })
}

/// Returns fields as a whole configuration.
fn whole(fields: &Map<String, Value>) -> Vec<u8> {
    let mut config = fields.clone();
    config.insert("apiVersion".to_owned(), json!("kubelet.config.k8s.io/v1beta1"));
    config.insert("kind".to_owned(), json!("KubeletConfiguration"));
    Value::Object(config).to_string().into_bytes()
}

impl Carried {
    /// Returns what a reader has to know of a configuration that replaces the one of a node, or goes over it.
    pub fn note_of_change(&self, file: &str) -> String {
        let Self { place, is_partial, .. } = self;
        match is_partial {
            true => format!(
                "{file}: the fields of {place} go over the configuration of the node, as the platform merges them"
            ),
            false => self.note(file),
        }
    }

    /// Returns what a reader has to know.
    pub fn note(&self, file: &str) -> String {
        let Self { place, is_partial, .. } = self;
        match is_partial {
            true => format!(
                "{file}: the configuration is {place}; what the platform adds to it is not known: the whole is on the \
                 node, and in /configz"
            ),
            false => format!("{file}: the configuration is {place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_taken_out_of_each_carrier() {
        for (text, place) in [
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubelet-config}\ndata:\n  kubelet: |\n    maxPods: 60\n",
                Some("data.kubelet of ConfigMap kubelet-config"),
            ),
            (
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: big}\nspec: \
                 {kubeletConfig: {maxPods: 60}}\n",
                Some("spec.kubeletConfig of KubeletConfig big"),
            ),
            (
                "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 60}}}\n",
                Some("spec.kubelet.config of NodeConfig"),
            ),
            (
                "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec: {kubelet: \
                 {maxPods: 60}}\n",
                Some("spec.kubelet of EC2NodeClass default"),
            ),
            (
                "version: v1alpha1\nmachine: {kubelet: {extraConfig: {maxPods: 60}}}\n",
                Some("machine.kubelet.extraConfig of the machine configuration"),
            ),
            (
                "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: proxy}, data: {a: b}}\n\
                 - {apiVersion: v1, kind: ConfigMap, metadata: {name: kubelet-config}, data: {kubelet: 'maxPods: 60'}}\n",
                Some("data.kubelet of ConfigMap kubelet-config"),
            ),
            ("apiVersion: v1\nkind: ConfigMap\ndata: {other: x}\n", None),
            ("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", None),
            ("maxPods: 60\n", None),
        ] {
            let found = carried(text);
            assert_eq!(found.as_ref().map(|it| it.place.as_str()), place, "{text}");
            let held = found.is_none_or(|it| String::from_utf8_lossy(&it.text).contains("60"));
            assert!(held, "{text}");
        }
    }
}

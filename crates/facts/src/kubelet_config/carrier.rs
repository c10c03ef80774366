//! Objects of a cluster that carry the kubelet's configuration: it is taken out of them.
//!
//! | kind | field | who makes the kubelet's file of it |
//! |---|---|---|
//! | `ConfigMap` | `data.kubelet` | kubeadm (`kubectl get cm -n kube-system kubelet-config`) |
//! | `KubeletConfig` of `machineconfiguration.openshift.io` | `spec.kubeletConfig` | OpenShift's Machine Config Operator |
//! | `MachineConfig` there | the file `/etc/kubernetes/kubelet.conf` | the Machine Config Daemon, as it is |
//! | the file of MicroShift | `kubelet` | MicroShift (`pkg/config/config.go`) |
//! | `NodeConfig` of `node.eks.aws` | `spec.kubelet.config` | nodeadm on EKS |
//! | `EC2NodeClass` of `karpenter.k8s.aws`, `AKSNodeClass` of `karpenter.azure.com` | `spec.kubelet` | Karpenter |
//! | `NodePool` of `karpenter.sh`, v1beta1 | `spec.template.spec.kubelet` | Karpenter until 1.0 |
//! | `Provisioner` of `karpenter.sh` | `spec.kubeletConfiguration` | Karpenter until 0.32 |
//! | `ClusterConfig` of `k0s.k0sproject.io` | `values` of the first of `spec.workerProfiles` | k0s |
//! | a system configuration of GKE | `kubeletConfig` | GKE |
//! | a machine configuration of Talos | `machine.kubelet.extraConfig` | Talos |
//!
//! Other objects have flags (`kubeletExtraArgs` of kubeadm and Cluster API, `kubelet-arg` of k3s), names of their own (kOps,
//! Gardener), or none of it: [`elsewhere`] says where the configuration is.

use kq_k8s::data_url;
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
    let named = || format!("{kind} {name}");
    let (pointer, what) = match (group, kind) {
        ("", "ConfigMap") => {
            let text = value.pointer("/data/kubelet")?.as_str()?.to_owned().into_bytes();
            let place = format!("data.kubelet of ConfigMap {name}");
            return Some(Carried { text, place, is_partial: false });
        }
        ("machineconfiguration.openshift.io", "MachineConfig") => {
            return of_ignition(value, &named());
        }
        ("machineconfiguration.openshift.io", "KubeletConfig") => ("/spec/kubeletConfig", named()),
        ("node.eks.aws", "NodeConfig") => ("/spec/kubelet/config", named()),
        ("karpenter.k8s.aws", "EC2NodeClass") | ("karpenter.azure.com", "AKSNodeClass") => {
            ("/spec/kubelet", named())
        }
        ("karpenter.sh", "NodePool") => ("/spec/template/spec/kubelet", named()),
        ("karpenter.sh", "Provisioner") => ("/spec/kubeletConfiguration", named()),
        ("k0s.k0sproject.io", "ClusterConfig") => ("/spec/workerProfiles/0/values", named()),
        ("", "") => return of_file(value),
        _ => return None,
    };
    part(value, pointer, what.trim_end())
}

/// Returns the configuration that a field of an object is.
fn part(value: &Value, pointer: &str, what: &str) -> Option<Carried> {
    let fields = value.pointer(pointer)?.as_object()?;
    let place = format!("{} of {what}", pointer[1..].replace('/', "."));
    Some(Carried { text: whole(fields), place, is_partial: true })
}

/// Returns the configuration that a file without a kind has.
fn of_file(value: &Value) -> Option<Carried> {
    part(value, "/machine/kubelet/extraConfig", "the machine configuration")
        .or_else(|| part(value, "/kubelet", "the configuration of MicroShift"))
        .or_else(|| part(value, "/kubeletConfig", "the system configuration of the node pool"))
}

/// Returns the kubelet's file among those of Ignition; a compressed one is not read.
fn of_ignition(value: &Value, what: &str) -> Option<Carried> {
    const FILE: &str = "/etc/kubernetes/kubelet.conf";
    let files = value.pointer("/spec/config/storage/files")?.as_array()?;
    let text = |file: &Value, pointer: &str| {
        file.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let file = files.iter().rfind(|file| text(file, "/path") == FILE)?;
    if !text(file, "/contents/compression").is_empty() {
        return None;
    }
    let contents = data_url::contents(&text(file, "/contents/source"))?;
    Some(Carried { text: contents, place: format!("{FILE} of {what}"), is_partial: false })
}

/// Says where the kubelet's configuration is, for an object of another API that has none; empty for its own API.
pub(super) fn elsewhere(api_version: &str) -> &'static str {
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    match (group, api_version) {
        ("kubelet.config.k8s.io", _) => "",
        ("kubeadm.k8s.io", _) => {
            "; kubeadm keeps it in the ConfigMap kubelet-config of kube-system, and writes /var/lib/kubelet/config.yaml of it"
        }
        ("", "v1") => "; a ConfigMap has it in data.kubelet, as kubelet-config of kube-system",
        ("machineconfiguration.openshift.io", _) => {
            "; a KubeletConfig has it in spec.kubeletConfig, and a rendered MachineConfig as the file /etc/kubernetes/kubelet.conf"
        }
        ("", _) => "",
        _ => "; kubectl get --raw /api/v1/nodes/NODE/proxy/configz has that of a kubelet that runs",
    }
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
            (
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: rendered}\nspec: {config: \
                 {storage: {files: [{path: /etc/a}, {path: /etc/kubernetes/kubelet.conf, contents: {compression: '', source: \
                 'data:,maxPods%3A%2060'}}]}}}\n",
                Some("/etc/kubernetes/kubelet.conf of MachineConfig rendered"),
            ),
            (
                "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nspec: {config: {storage: {files: [{path: \
                 /etc/kubernetes/kubelet.conf, contents: {compression: gzip, source: 'data:,maxPods'}}]}}}\n",
                None,
            ),
            (
                "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {kubelet: {maxPods: \
                 60}}}}\n",
                Some("spec.template.spec.kubelet of NodePool a"),
            ),
            (
                "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {kubeletConfiguration: {maxPods: \
                 60}}\n",
                Some("spec.kubeletConfiguration of Provisioner a"),
            ),
            (
                "apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: a}\nspec: {kubelet: {maxPods: 60}}\n",
                Some("spec.kubelet of AKSNodeClass a"),
            ),
            (
                "apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\nmetadata: {name: k0s}\nspec: {workerProfiles: [{name: \
                 big, values: {maxPods: 60}}]}\n",
                Some("spec.workerProfiles.0.values of ClusterConfig k0s"),
            ),
            ("kubelet: {maxPods: 60}\n", Some("kubelet of the configuration of MicroShift")),
            (
                "kubeletConfig: {maxPods: 60}\n",
                Some("kubeletConfig of the system configuration of the node pool"),
            ),
            ("apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {template: {spec: {}}}\n", None),
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

    #[test]
    fn an_object_of_another_api_says_where_the_configuration_is() {
        for (api_version, expected) in [
            ("kubeadm.k8s.io/v1beta4", "ConfigMap kubelet-config"),
            ("v1", "data.kubelet"),
            ("machineconfiguration.openshift.io/v1", "rendered MachineConfig"),
            ("kops.k8s.io/v1alpha2", "configz"),
        ] {
            assert!(elsewhere(api_version).contains(expected), "{api_version}");
        }
        assert_eq!(elsewhere("kubelet.config.k8s.io/v1"), "");
    }
}

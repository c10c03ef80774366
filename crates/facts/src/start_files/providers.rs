//! The configuration of the plugins that give credentials for images (`pkg/credentialprovider/plugin/config.go`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A file of plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialProviders {
    /// Why it cannot be decoded.
    pub error: Option<String>,
    pub providers: Vec<CredentialProvider>,
}

/// A plugin, as far as the start checks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CredentialProvider {
    pub name: String,
    pub api_version: String,
    /// It has patterns of images.
    pub has_images: bool,
    /// It has `defaultCacheDuration`.
    pub has_cache_duration: bool,
}

const GROUP: &str = "kubelet.config.k8s.io";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
const KIND: &str = "CredentialProviderConfig";

impl CredentialProviders {
    /// Reads a document.
    pub fn of(document: &Value) -> Self {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (kind, api_version) = (text(document, "kind"), text(document, "apiVersion"));
        let known = api_version.split_once('/');
        if !known.is_some_and(|(group, version)| group == GROUP && VERSIONS.contains(&version))
            || kind != KIND
        {
            let error = format!("no kind {kind:?} is registered for version {api_version:?}");
            return Self { error: Some(error), providers: Vec::new() };
        }
        let list = document.get("providers").and_then(Value::as_array);
        let providers = list.into_iter().flatten().map(|provider| CredentialProvider {
            name: text(provider, "name"),
            api_version: text(provider, "apiVersion"),
            has_images: provider
                .get("matchImages")
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty()),
            has_cache_duration: provider.get("defaultCacheDuration").is_some_and(Value::is_string),
        });
        Self { error: None, providers: providers.collect() }
    }
}

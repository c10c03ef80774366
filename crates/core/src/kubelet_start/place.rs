//! A file with configuration, and how the kubelet wraps what it says of it.

use kq_facts::kubelet_config::{is_other_kind, unregistered};
use kq_k8s::go_text::quote;
use schemars::JsonSchema;
use serde::Serialize;

/// A file with configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigPlace {
    /// Where it is on the node.
    pub path: String,
    /// It is in the folder of `--config-dir`.
    pub is_drop_in: bool,
    /// That folder, where it is known; else the folder of the file is taken.
    #[serde(skip)]
    pub folder: Option<String>,
}

impl ConfigPlace {
    pub(super) fn wrap(&self, error: &str) -> String {
        let path = &self.path;
        if self.is_drop_in {
            let folder = self.walked();
            return format!(
                "failed to walk through kubelet dropin directory {}: failed to load kubelet dropin \
                 file, path: {path}, error: {error}",
                quote(folder)
            );
        }
        format!(
            "failed to load kubelet config file, path: {path}, error: failed to load Kubelet config \
             file {path}, error {error}"
        )
    }

    /// Returns the folder that the kubelet walks through.
    fn walked(&self) -> &str {
        let own = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.folder.as_deref().unwrap_or(own)
    }

    pub(super) fn unreadable(&self, error: &str) -> String {
        let Self { path, is_drop_in, .. } = self;
        self.wrap(&match is_drop_in {
            true => format!(
                "failed to read drop-in kubelet config file {}, error: {error}",
                quote(path)
            ),
            false => format!("failed to read kubelet config file {}, error: {error}", quote(path)),
        })
    }

    pub(super) fn untyped(&self, field: &str, body: &str) -> String {
        self.undecodable(&format!("Object '{field}' is missing in '{body}'"))
    }

    pub(super) fn other_type(&self, kind: &str, api_version: &str) -> String {
        if !self.is_drop_in {
            return match is_other_kind(kind, api_version) {
                true => self.wrap(&format!(
                    "failed to cast object to KubeletConfiguration, unexpected type: {api_version}, \
                     Kind={kind}"
                )),
                false => self.undecodable(&unregistered(kind, api_version)),
            };
        }
        let slash = if api_version.contains('/') { "" } else { "/" };
        let (path, folder) = (&self.path, self.walked());
        format!(
            "failed to walk through kubelet dropin directory {}: failed to load kubelet dropin file, path: \
             {path}, unknown apiVersion/kind: {slash}{api_version}, Kind={kind}",
            quote(folder)
        )
    }

    pub(super) fn undecodable(&self, error: &str) -> String {
        match self.is_drop_in {
            true => self.wrap(error),
            false => self.wrap(&format!("failed to decode: {error}")),
        }
    }
}

//! Lists that the API server is asked for.

use crate::edge::api_server::page::query_value;
use std::borrow::Cow;

/// A list of objects.
pub(super) struct List {
    /// What the answer calls itself.
    pub(super) kind: &'static str,
    path: Cow<'static, str>,
    /// A field selector; may be empty.
    fields: String,
}

impl List {
    /// The pods of a node.
    pub(super) fn pods_of_node(node: &str) -> Self {
        Self {
            kind: "PodList",
            path: "/api/v1/pods".into(),
            fields: format!("spec.nodeName={node}"),
        }
    }

    /// All nodes.
    pub(super) fn nodes() -> Self {
        Self { kind: "NodeList", path: "/api/v1/nodes".into(), fields: String::new() }
    }

    /// Some of the objects of one kind, in a namespace or in all.
    pub(super) fn within(
        namespace: Option<&str>,
        resource: &str,
        kind: &'static str,
        fields: String,
    ) -> Self {
        let within = namespace.map(|it| format!("namespaces/{it}/")).unwrap_or_default();
        Self { kind, path: format!("/api/v1/{within}{resource}").into(), fields }
    }

    /// Returns what is asked for: a page of so many, or all; the first, or what continues one.
    pub(super) fn path(&self, limit: Option<u32>, continuation: Option<&str>) -> String {
        let parameters = [
            Some(("fieldSelector", query_value(&self.fields))).filter(|_| !self.fields.is_empty()),
            limit.map(|limit| ("limit", limit.to_string())),
            continuation.map(|text| ("continue", query_value(text))),
        ];
        let mut path = self.path.clone().into_owned();
        for (at, (name, value)) in parameters.into_iter().flatten().enumerate() {
            path.push_str(if at == 0 { "?" } else { "&" });
            path.push_str(&format!("{name}={value}"));
        }
        path
    }
}

//! The pages of lists that the API server returns, checked without parsing the pods.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A list, or a part of one.
#[derive(Deserialize)]
struct Page<'a> {
    kind: Option<String>,
    metadata: Option<ListMeta>,
    #[serde(borrow)]
    items: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ListMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Object {
    kind: Option<String>,
}

/// Returns the token that continues a list, or why the page is invalid.
pub(super) fn next(page: &[u8], kind: &str) -> Result<Option<String>, String> {
    let page: Page<'_> = serde_json::from_slice(page).map_err(|error| no_json(&error))?;
    is_kind(page.kind.as_deref(), kind)?;
    // Go may write an empty list as null; an object without a list is something else.
    if !page.items.is_none_or(|items| items.get().starts_with('[')) {
        return Err(format!("a {kind} whose items are not a list"));
    }
    Ok(page.metadata.and_then(|metadata| metadata.next).filter(|next| !next.is_empty()))
}

/// Checks that an answer is an object of a kind, or returns its actual kind.
pub(super) fn check_kind(answer: &[u8], expected: &str) -> Result<(), String> {
    let object: Object = serde_json::from_slice(answer).map_err(|error| no_json(&error))?;
    is_kind(object.kind.as_deref(), expected)
}

fn is_kind(kind: Option<&str>, expected: &str) -> Result<(), String> {
    match kind {
        Some(kind) if kind == expected => Ok(()),
        Some(kind) => Err(format!("kind {kind:?}, expected {expected}")),
        None => Err(format!("no kind, expected {expected}")),
    }
}

fn no_json(error: &serde_json::Error) -> String {
    format!("not a JSON object: {error}")
}

/// Escapes a text for a value of a query.
pub(super) fn query_value(text: &str) -> String {
    let mut written = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                written.push(char::from(byte));
            }
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

/// Returns true for a valid node name: a DNS subdomain in lower case.
///
/// Anything else would change the request: a comma extends a field selector, an empty name selects
/// all nodes.
pub(super) fn is_node_name(name: &str) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(is_edge)
            && bytes.last().is_some_and(is_edge)
            && bytes.iter().all(|byte| is_edge(byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// A list of objects.
pub(super) struct List {
    /// The kind of the answer.
    pub(super) kind: &'static str,
    path: Cow<'static, str>,
    /// A field selector; may be empty.
    fields: String,
    /// A label selector; may be empty.
    labels: String,
}

impl List {
    pub(super) fn pods_of_node(node: &str) -> Self {
        Self {
            kind: "PodList",
            path: "/api/v1/pods".into(),
            fields: format!("spec.nodeName={node}"),
            labels: String::new(),
        }
    }

    /// All nodes.
    pub(super) fn nodes() -> Self {
        let (fields, labels) = (String::new(), String::new());
        Self { kind: "NodeList", path: "/api/v1/nodes".into(), fields, labels }
    }

    /// All PodDisruptionBudgets.
    pub(super) fn disruption_budgets() -> Self {
        let (fields, labels) = (String::new(), String::new());
        let path = "/apis/policy/v1/poddisruptionbudgets".into();
        Self { kind: "PodDisruptionBudgetList", path, fields, labels }
    }

    /// Some of the objects of one kind, in a namespace or in all.
    pub(super) fn within(
        namespace: Option<&str>,
        resource: &str,
        kind: &'static str,
        fields: String,
    ) -> Self {
        let within = namespace.map(|it| format!("namespaces/{it}/")).unwrap_or_default();
        let path = format!("/api/v1/{within}{resource}").into();
        Self { kind, path, fields, labels: String::new() }
    }

    /// The pods of a namespace that have a label; the path is that of the namespace's pods.
    pub(super) fn labelled_pods(path: String, label: &str, value: &str) -> Self {
        let labels = format!("{label}={value}");
        Self { kind: "PodList", path: path.into(), fields: String::new(), labels }
    }

    /// Returns the query: a page of so many objects, or all; the first page, or a continuation.
    pub(super) fn path(&self, limit: Option<u32>, continuation: Option<&str>) -> String {
        let parameters = [
            Some(("fieldSelector", query_value(&self.fields))).filter(|_| !self.fields.is_empty()),
            Some(("labelSelector", query_value(&self.labels))).filter(|_| !self.labels.is_empty()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_continue_or_end() {
        let next_of = |text: &str| next(text.as_bytes(), "PodList");
        assert_eq!(next_of(r#"{"kind":"PodList","metadata":{},"items":[]}"#), Ok(None));
        assert_eq!(next_of(r#"{"kind":"PodList","items":null}"#), Ok(None));
        let more =
            r#"{"kind":"PodList","metadata":{"continue":"a","remainingItemCount":3},"items":[{}]}"#;
        assert_eq!(next_of(more), Ok(Some("a".to_owned())));
        let end = r#"{"kind":"PodList","metadata":{"continue":""},"items":[]}"#;
        assert_eq!(next_of(end), Ok(None));
        for (page, expected) in [
            ("", "not a JSON object"),
            ("[]", "not a JSON object"),
            (r#"{"kind":"PodList","items":[}"#, "not a JSON object"),
            (r#"{"kind":"PodList","items":[]} x"#, "not a JSON object"),
            (r#"{"kind":"Status","items":[]}"#, "kind \"Status\", expected PodList"),
            (r#"{"items":[]}"#, "no kind, expected PodList"),
            (r#"{"kind":"PodList","items":{}}"#, "items are not a list"),
        ] {
            let error = next_of(page).expect_err(page);
            assert!(error.contains(expected), "{page}: {error}");
        }
    }

    #[test]
    fn node_names_are_subdomains() {
        for name in ["a", "node-1", "ip-10-0-0-1.ec2.internal", "1"] {
            assert!(is_node_name(name), "{name}");
        }
        let long = "a".repeat(254);
        for name in ["", ".", "..", "a.", "-a", "A", "a,b", "a/b", "a b", "ü", long.as_str()] {
            assert!(!is_node_name(name), "{name}");
        }
    }

    #[test]
    fn what_a_query_cannot_hold_is_written_otherwise() {
        assert_eq!(query_value("a=b&c d+/ü~"), "a%3Db%26c%20d%2B%2F%C3%BC~");
    }
}

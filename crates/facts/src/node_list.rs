//! The nodes of a cluster: `kubectl get nodes -o json`, or pages of the API server. One node that cannot be
//! read does not lose the others.

use crate::node_object::NodeObject;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;
use std::borrow::Cow;

/// A node of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedNode {
    pub name: String,
    /// It is cordoned: the scheduler gives it no more pods.
    pub unschedulable: bool,
    /// Whether its status is ready; `None`: unknown.
    pub ready: Option<bool>,
    /// The object, or why it cannot be read.
    pub object: Result<NodeObject, String>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// Ignored by the kubelet, but not by the scheduler.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Standing {
    kind: Option<String>,
    metadata: Option<Name>,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<Condition>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// Reads a list of nodes in JSON, or a single one.
/// Fails on anything other than a list of nodes, and on a node without a name: no pod could be matched with it.
pub fn read_node_list(text: &[u8]) -> Result<Vec<ListedNode>, String> {
    const EXPECTED: &str = "expected a list of nodes, as from kubectl get nodes -o json";
    let text = std::str::from_utf8(text).map_err(|_| format!("not text in UTF-8, {EXPECTED}"))?;
    let list: List<'_> =
        serde_json::from_str(text).map_err(|error| format!("{error}, {EXPECTED}"))?;
    match (list.kind.as_deref(), list.items) {
        (Some("NodeList" | "List"), items) => {
            let items = items.unwrap_or_default();
            items.into_iter().enumerate().map(|(at, item)| node(item.get(), Some(at))).collect()
        }
        (Some("Node"), _) => Ok(vec![node(text, None)?]),
        (Some(kind), _) => Err(format!("kind {kind:?}, {EXPECTED}")),
        (None, _) => Err(format!("kind is not set, {EXPECTED}")),
    }
}

fn node(text: &str, at: Option<usize>) -> Result<ListedNode, String> {
    let place = at.map(|at| format!("items[{at}].")).unwrap_or_default();
    let standing: Standing =
        serde_json::from_str(text).map_err(|error| format!("{place}{error}"))?;
    // The items of the API server's own lists have no kind.
    if let Some(kind) = standing.kind.filter(|kind| kind != "Node") {
        return Err(format!("{place}kind: {kind:?}, expected Node"));
    }
    let name = standing.metadata.and_then(|metadata| metadata.name).filter(|it| !it.is_empty());
    let name = name.ok_or_else(|| format!("{place}metadata.name is not set"))?;
    let conditions = standing.status.and_then(|status| status.conditions).unwrap_or_default();
    let ready = conditions.iter().find(|it| it.kind == "Ready").map(|it| it.status.as_str());
    Ok(ListedNode {
        name,
        unschedulable: standing.spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
        ready: match ready {
            Some("True") => Some(true),
            Some("False") => Some(false),
            _ => None,
        },
        object: object(text),
    })
}

fn object(text: &str) -> Result<NodeObject, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let whole: Value = serde_json::from_str(text).unwrap_or_default();
        let at = error.path().iter().try_fold(&whole, |value, segment| match segment {
            Segment::Map { key } => value.get(key),
            Segment::Seq { index } => value.get(index),
            _ => None,
        });
        let (path, inner) = (error.path(), error.inner().to_string());
        // The place in the text of one item is useless to the reader of the file.
        let inner = inner.split(" at line ").next().unwrap_or_default();
        match at {
            Some(Value::String(text)) if !inner.contains(text.as_str()) => {
                format!("{path}: {text:?}: {inner}")
            }
            _ => format!("{path}: {inner}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<ListedNode> {
        read_node_list(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn nodes_say_how_they_stand() {
        let nodes = read(
            r#"{"kind":"NodeList","items":[
                {"metadata":{"name":"a"},"spec":{"unschedulable":true},
                 "status":{"allocatable":{"cpu":"2"},"conditions":[{"type":"Ready","status":"True"}]}},
                {"kind":"Node","metadata":{"name":"b"},"status":{"conditions":[
                 {"type":"DiskPressure","status":"True"},{"type":"Ready","status":"False"}]}},
                {"metadata":{"name":"c"},"spec":null,"status":{"conditions":null}},
                {"metadata":{"name":"d"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}]}"#,
        );
        let fields: Vec<_> =
            nodes.iter().map(|it| (&*it.name, it.unschedulable, it.ready)).collect();
        assert_eq!(
            fields,
            [
                ("a", true, Some(true)),
                ("b", false, Some(false)),
                ("c", false, None),
                ("d", false, None)
            ]
        );
        let [a, b, ..] = &*nodes else { panic!("{nodes:?}") };
        let (a, b) = (a.object.as_ref().expect("a node"), b.object.as_ref().expect("a node"));
        assert!(a.status.allocatable.contains(&"cpu".into()));
        assert_eq!(b.status.pressure().0.len(), 1);
    }

    #[test]
    fn a_single_node_and_an_empty_list_are_lists() {
        assert_eq!(read(r#"{"kind":"Node","metadata":{"name":"a"}}"#).len(), 1);
        assert_eq!(read(r#"{"kind":"List","items":[]}"#).len(), 0);
        assert_eq!(read(r#"{"kind":"NodeList","items":null}"#).len(), 0);
    }

    #[test]
    fn a_node_that_cannot_be_read_loses_no_other() {
        let nodes = read(
            r#"{"kind":"List","items":[
                {"kind":"Node","metadata":{"name":"a"},"status":{"allocatable":{"cpu":"two"}}},
                {"kind":"Node","metadata":{"name":"b"}}]}"#,
        );
        let [a, b] = &*nodes else { panic!("{nodes:?}") };
        let error = a.object.as_ref().expect_err("no quantity");
        assert!(error.starts_with("status.allocatable") && error.contains("two"), "{error}");
        assert!(b.object.is_ok());
    }

    #[test]
    fn what_is_no_list_of_nodes_is_refused() {
        for (text, expected) in [
            ("", "expected a list of nodes"),
            ("[]", "expected a list of nodes"),
            ("{}", "kind is not set"),
            (r#"{"kind":"PodList","items":[]}"#, "kind \"PodList\""),
            (
                r#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a"}}]}"#,
                "items[0].kind: \"Pod\"",
            ),
            (
                r#"{"kind":"List","items":[{"metadata":{"name":"a"}},{"metadata":{}}]}"#,
                "items[1].metadata.name is not set",
            ),
            (r#"{"kind":"List","items":[7]}"#, "items[0]."),
            (r#"{"kind":"NodeList","items":{}}"#, "expected a list of nodes"),
        ] {
            let error = read_node_list(text.as_bytes()).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

//! The quick way: one pod or a uniform list of pods, in one typed pass over the JSON text.
//!
//! A node's ten thousand pods are 50 MB of text. Going through the list once to find its items, and
//! once more for each of them, would double the time; so the text is read as if all of it were pods.
//! If anything does not fit, the result is dropped, and [`object`](super::object) reads the text
//! item by item.

use crate::pod::{FromMapping, ObjectMeta, Pod, PodSpec, PodStatus, Text, object, optional_object};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use std::fmt;

/// The result of the quick reader.
pub(super) enum Uniform {
    Pod(Box<Pod>),
    /// The items of a list, one at least.
    Pods(Vec<Pod>),
}

/// Reads the next JSON value, if it is pods and nothing else, and where it ends.
pub(super) fn read(text: &str) -> Option<(Uniform, usize)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter();
    let FromMapping::<Document<'_>>(document) = stream.next()?.ok()?;
    let end = stream.byte_offset();
    if document.api_version.as_deref() != Some("v1") {
        return None;
    }
    let uniform = match (document.kind.as_deref(), document.items) {
        (Some("Pod"), None) => Uniform::Pod(Box::new(Pod {
            metadata: document.metadata?,
            spec: document.spec,
            status: document.status,
        })),
        (Some("PodList"), Some(items)) if !items.pods.is_empty() => Uniform::Pods(items.pods),
        (Some("List"), Some(items)) if !items.pods.is_empty() && !items.some_are_silent => {
            Uniform::Pods(items.pods)
        }
        _ => return None,
    };
    Some((uniform, end))
}

/// A list of pods or a single one.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(deserialize_with = "optional_object")]
    metadata: Option<ObjectMeta>,
    #[serde(deserialize_with = "object")]
    spec: PodSpec,
    #[serde(deserialize_with = "object")]
    status: PodStatus,
    items: Option<Items>,
}

/// The items of a list.
struct Items {
    pods: Vec<Pod>,
    /// Some items have no kind; in a `PodList` they need none.
    some_are_silent: bool,
}

/// A pod in a list.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(deserialize_with = "object")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "object")]
    spec: PodSpec,
    #[serde(deserialize_with = "object")]
    status: PodStatus,
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items, A::Error> {
                let mut items = Items { pods: Vec::new(), some_are_silent: false };
                while let Some(FromMapping(item)) = seq.next_element::<FromMapping<Item<'_>>>()? {
                    for (said, expected) in [(&item.kind, "Pod"), (&item.api_version, "v1")] {
                        match said.as_deref() {
                            Some(said) if said != expected => {
                                // The rest is read item by item, so it is not worth going on.
                                return Err(A::Error::custom("not a pod"));
                            }
                            Some(_) => {}
                            None => items.some_are_silent = true,
                        }
                    }
                    items.pods.push(Pod {
                        metadata: item.metadata,
                        spec: item.spec,
                        status: item.status,
                    });
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pods_only() {
        // Name, text, how many pods.
        let rows = [
            ("pod", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#, Some(1)),
            (
                "kubectl",
                r#"{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod"}],"kind":"List"}"#,
                Some(1),
            ),
            ("api", r#"{"kind":"PodList","apiVersion":"v1","items":[{},{}]}"#, Some(2)),
            ("no kind", r#"{"apiVersion":"v1","items":[{}],"kind":"List"}"#, None),
            (
                "mixed",
                r#"{"kind":"List","apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Service"}]}"#,
                None,
            ),
            ("bad pod", r#"{"kind":"PodList","apiVersion":"v1","items":[{"spec":1}]}"#, None),
            ("empty", r#"{"kind":"PodList","apiVersion":"v1","items":[]}"#, None),
            ("version", r#"{"kind":"Pod","apiVersion":"v2","metadata":{}}"#, None),
            ("cut", r#"{"kind":"Pod""#, None),
            ("pod by position", r#"["v1","Pod",{"name":"a"}]"#, None),
            (
                "item by position",
                r#"{"kind":"PodList","apiVersion":"v1","items":[["v1","Pod"]]}"#,
                None,
            ),
        ];
        for (name, text, expected) in rows {
            let found = read(text).map(|(uniform, end)| {
                assert_eq!(end, text.len(), "{name}");
                match uniform {
                    Uniform::Pod(_) => 1,
                    Uniform::Pods(pods) => pods.len(),
                }
            });
            assert_eq!(found, expected, "{name}");
        }
    }
}

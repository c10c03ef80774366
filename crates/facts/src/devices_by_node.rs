//! The device ids of an entry, per NUMA node.
//!
//! A checkpoint may have a hundred thousand entries, nearly all of them with one node: a list takes a tenth of the memory
//! of a tree.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Device ids per NUMA node, in the order of the nodes; -1 is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicesByNode(Box<[(i64, Box<[String]>)]>);

impl DevicesByNode {
    /// Walks over the nodes with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &[String])> {
        self.0.iter().map(|(node, ids)| (*node, &**ids))
    }

    /// Walks over the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = i64> {
        self.iter().map(|(node, _)| node)
    }

    /// Walks over the ids of all nodes. A device with several nodes comes several times.
    pub fn ids(&self) -> impl Iterator<Item = &String> {
        self.0.iter().flat_map(|(_, ids)| ids)
    }
}

impl FromIterator<(i64, Box<[String]>)> for DevicesByNode {
    /// Of several lists for a node, the last one counts.
    fn from_iter<I: IntoIterator<Item = (i64, Box<[String]>)>>(lists: I) -> Self {
        let lists: Box<[_]> = lists.into_iter().collect();
        match lists.is_sorted_by(|(left, _), (right, _)| left < right) {
            true => Self(lists),
            false => Self(BTreeMap::from_iter(lists).into_iter().collect()),
        }
    }
}

impl FromIterator<(i64, Vec<String>)> for DevicesByNode {
    fn from_iter<I: IntoIterator<Item = (i64, Vec<String>)>>(lists: I) -> Self {
        lists.into_iter().map(|(node, ids)| (node, ids.into_boxed_slice())).collect()
    }
}

impl<const N: usize> From<[(i64, Vec<String>); N]> for DevicesByNode {
    fn from(lists: [(i64, Vec<String>); N]) -> Self {
        lists.into_iter().collect()
    }
}

impl Serialize for DevicesByNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for DevicesByNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = DevicesByNode;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DevicesByNode, A::Error> {
                let mut lists: Vec<(i64, Box<[String]>)> = Vec::new();
                while let Some(list) = map.next_entry()? {
                    lists.push(list);
                }
                Ok(lists.into_iter().collect())
            }
        }
        deserializer.deserialize_map(Lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_stored_as_a_map() {
        for (name, text, expected) in [
            ("one", r#"{"0":["a"]}"#, r#"{"0":["a"]}"#),
            ("in their order", r#"{"1":["b"],"-1":["a"]}"#, r#"{"-1":["a"],"1":["b"]}"#),
            ("the last counts", r#"{"0":["a"],"0":["b"]}"#, r#"{"0":["b"]}"#),
            ("none", "{}", "{}"),
        ] {
            let read: DevicesByNode = serde_json::from_str(text).expect(name);
            assert_eq!(serde_json::to_string(&read).expect(name), expected, "{name}");
        }
        assert!(serde_json::from_str::<DevicesByNode>("[]").is_err());
    }
}

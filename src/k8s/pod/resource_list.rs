//! Amounts by the name of the resource.

use super::read::Text;
use crate::k8s::quantity::Quantity;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// The name of a resource, such as `cpu` or `hugepages-2Mi`; ordered by its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceName {
    /// `cpu`
    Cpu,
    /// `memory`
    Memory,
    /// Any other name.
    Other(Box<str>),
}

impl ResourceName {
    /// Returns the name as Kubernetes writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Other(name) => name,
        }
    }

    /// Returns the page size text of a `hugepages-<size>` name.
    pub fn hugepage_size(&self) -> Option<&str> {
        self.as_str().strip_prefix("hugepages-")
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            other => Self::Other(other.into()),
        }
    }
}

impl Serialize for ResourceName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

crate::schema::schema_as!(ResourceName, String);

impl Ord for ResourceName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for ResourceName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Amounts by resource name, in the order of the names.
///
/// A sorted vector: the lists of a pod have a handful of names, and there are tens of thousands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceList(Vec<(ResourceName, Quantity)>);

impl ResourceList {
    /// Returns the amount of a resource.
    pub fn get(&self, name: &ResourceName) -> Option<&Quantity> {
        // Equality is decided sooner than order, and the lists are short.
        self.iter().find(|(have, _)| *have == name).map(|(_, amount)| amount)
    }

    /// Returns the amount of a resource for changing it.
    pub fn get_mut(&mut self, name: &ResourceName) -> Option<&mut Quantity> {
        self.iter_mut().find(|(have, _)| *have == name).map(|(_, amount)| amount)
    }

    /// Sets the amount of a resource.
    pub fn insert(&mut self, name: ResourceName, amount: Quantity) {
        match self.position(&name) {
            Ok(at) => self.0[at].1 = amount,
            Err(at) => self.0.insert(at, (name, amount)),
        }
    }

    /// Keeps the resources that satisfy the predicate.
    pub fn retain(&mut self, keep: impl Fn(&ResourceName) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// Removes a resource and returns its amount.
    pub fn remove(&mut self, name: &ResourceName) -> Option<Quantity> {
        self.position(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Returns true if the list has the resource, with any amount.
    pub fn contains(&self, name: &ResourceName) -> bool {
        self.get(name).is_some()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Walks over names and amounts in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, &Quantity)> {
        self.0.iter().map(|(name, amount)| (name, amount))
    }

    /// Walks over names and amounts, for changing the amounts.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&ResourceName, &mut Quantity)> {
        self.0.iter_mut().map(|(name, amount)| (&*name, amount))
    }

    fn position(&self, name: &ResourceName) -> Result<usize, usize> {
        self.0.binary_search_by(|(have, _)| have.cmp(name))
    }
}

impl FromIterator<(ResourceName, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (ResourceName, Quantity)>>(entries: I) -> Self {
        let mut list = Self::default();
        for (name, amount) in entries {
            list.insert(name, amount);
        }
        list
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = ResourceList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from resource names to quantities")
            }

            fn visit_unit<E>(self) -> Result<ResourceList, E> {
                Ok(ResourceList::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceList, A::Error> {
                let mut list = ResourceList::default();
                while let Some(name) = map.next_key::<Text<'_>>()? {
                    let name = ResourceName::from(&*name);
                    match list.position(&name) {
                        Ok(_) => {
                            let message = format_args!("duplicate field `{name}`");
                            return Err(A::Error::custom(message));
                        }
                        Err(at) => {
                            // CPU and memory are the most that almost every list has.
                            if list.0.is_empty() {
                                list.0.reserve_exact(2);
                            }
                            list.0.insert(at, (name, map.next_value()?));
                        }
                    }
                }
                Ok(list)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

crate::schema::schema_as!(ResourceList, std::collections::BTreeMap<String, String>);

impl Serialize for ResourceList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, amount) in self.iter() {
            map.serialize_entry(name.as_str(), amount)?;
        }
        map.end()
    }
}

//! Amounts by the name of the resource.

use super::read::Text;
use crate::quantity::Quantity;
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

crate::schema_as!(ResourceName, String);

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
/// A sorted vector: the lists of a pod have a handful of names, and there are tens of thousands of lists. A list may
/// also have tens of thousands of names, so that nothing goes through all of them for one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceList(Vec<(ResourceName, Quantity)>);

/// Lists up to this length are gone through: equality is decided sooner than order.
const SHORT: usize = 16;

impl ResourceList {
    /// Returns the amount of a resource.
    pub fn get(&self, name: &ResourceName) -> Option<&Quantity> {
        if self.0.len() > SHORT {
            return self.position(name).ok().map(|at| &self.0[at].1);
        }
        self.iter().find(|(have, _)| *have == name).map(|(_, amount)| amount)
    }

    /// Returns the amount of a resource for changing it.
    pub fn get_mut(&mut self, name: &ResourceName) -> Option<&mut Quantity> {
        if self.0.len() > SHORT {
            return self.position(name).ok().map(|at| &mut self.0[at].1);
        }
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

    /// Adds another list: `join` changes the amount of a resource that both have.
    pub fn merge(&mut self, other: &Self, join: impl Fn(&mut Quantity, &Quantity)) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut new = Vec::new();
        for (name, amount) in other.iter() {
            match self.get_mut(name) {
                Some(have) => join(have, amount),
                None => new.push((name.clone(), amount.clone())),
            }
        }
        if new.len() <= SHORT {
            new.into_iter().for_each(|(name, amount)| self.insert(name, amount));
        } else {
            // Both parts are sorted, which this sort finds.
            self.0.append(&mut new);
            self.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
    }

    fn position(&self, name: &ResourceName) -> Result<usize, usize> {
        self.0.binary_search_by(|(have, _)| have.cmp(name))
    }
}

impl FromIterator<(ResourceName, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (ResourceName, Quantity)>>(entries: I) -> Self {
        let mut entries: Vec<(ResourceName, Quantity)> = entries.into_iter().collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Of several amounts the last one counts.
        entries.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                std::mem::swap(later, earlier);
            }
            is_same
        });
        Self(entries)
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
                let duplicate = |name: &ResourceName| {
                    A::Error::custom(format_args!("duplicate field `{name}`"))
                };
                while let Some(name) = map.next_key::<Text<'_>>()? {
                    let name = ResourceName::from(&*name);
                    // A long list is sorted at the end, unless it comes in order.
                    let is_last = list.0.last().is_none_or(|(last, _)| *last < name);
                    let at = match list.0.len() > SHORT || is_last {
                        true => list.0.len(),
                        false => match list.position(&name) {
                            Ok(_) => return Err(duplicate(&name)),
                            Err(at) => at,
                        },
                    };
                    // CPU and memory are the most that almost every list has.
                    if list.0.is_empty() {
                        list.0.reserve_exact(2);
                    }
                    list.0.insert(at, (name, map.next_value()?));
                }
                if !list.0.is_sorted_by(|(one, _), (other, _)| one < other) {
                    list.0.sort_by(|(one, _), (other, _)| one.cmp(other));
                    let mut pairs = list.0.windows(2);
                    if let Some([(name, _), _]) = pairs.find(|pair| pair[0].0 == pair[1].0) {
                        return Err(duplicate(name));
                    }
                }
                Ok(list)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

crate::schema_as!(ResourceList, std::collections::BTreeMap<String, String>);

impl Serialize for ResourceList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, amount) in self.iter() {
            map.serialize_entry(name.as_str(), amount)?;
        }
        map.end()
    }
}

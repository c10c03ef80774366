//! Values of the properties of systemd's units that are cgroups.

use kq_k8s::cpuset::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Properties by their names on systemd's bus.
pub type Properties = BTreeMap<String, Property>;

/// The value of a systemd property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Property {
    /// A number; `u64::MAX` is `infinity`.
    Number(u64),
    /// A set of CPUs: bit 0 of byte 0 is CPU 0.
    Bits(Vec<u8>),
}

impl Property {
    /// Returns the property for a set of CPUs or of memory nodes (`RangeToBits` of `opencontainers/cgroups`).
    pub fn of_set(set: &CpuSet) -> Self {
        let mut bits: Vec<u8> = Vec::new();
        let indices = set.iter().filter(|index| *index < CpuSet::MOST);
        for index in indices.filter_map(|index| usize::try_from(index).ok()) {
            if bits.len() <= index / 8 {
                bits.resize(index / 8 + 1, 0);
            }
            bits[index / 8] |= 1 << (index % 8);
        }
        Self::Bits(bits)
    }

    /// Returns the set that bits stand for; of a number, none.
    pub fn set(&self) -> CpuSet {
        let Self::Bits(bits) = self else { return CpuSet::default() };
        let is_set = |index: &usize| bits[index / 8] & (1 << (index % 8)) != 0;
        let all = (0..bits.len() * 8).filter(is_set);
        all.filter_map(|index| i64::try_from(index).ok()).collect()
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(u64::MAX) => f.write_str("infinity"),
            Self::Number(number) => number.fmt(f),
            Self::Bits(_) => self.set().fmt(f),
        }
    }
}

/// Returns properties as `NAME=VALUE`, with a space between.
pub fn listed<'p>(properties: impl IntoIterator<Item = (&'p str, &'p Property)>) -> String {
    let pairs = properties.into_iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}

/// A unit of systemd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    /// Its name, which is the last part of the path of its cgroup.
    pub name: &'a str,
    /// Its type in the name of its interface: `Slice` or `Scope`.
    pub kind: &'static str,
}

impl<'a> Unit<'a> {
    /// Returns the unit of a cgroup by its path; `None`: systemd has none for such a name.
    pub fn of_cgroup(path: &'a str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let kind = [(".slice", "Slice"), (".scope", "Scope")];
        let kind = kind.iter().find(|(end, _)| name.len() > end.len() && name.ends_with(end));
        kind.map(|(_, kind)| Self { name, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_known_by_their_ends() {
        for (path, expected) in [
            ("/kubepods.slice", Some(("kubepods.slice", "Slice"))),
            ("/kubepods.slice/cri-containerd-ab.scope", Some(("cri-containerd-ab.scope", "Scope"))),
            ("/kubepods.slice/crio-ab.scope/container", None),
            ("/kubepods/pod1", None),
            ("/.slice", None),
            ("/", None),
        ] {
            let unit = Unit::of_cgroup(path).map(|unit| (unit.name, unit.kind));
            assert_eq!(unit, expected, "{path}");
        }
    }

    #[test]
    fn sets_are_bits() {
        for (text, bits) in [("0-2,9", vec![7, 2]), ("0", vec![1]), ("8", vec![0, 1]), ("", vec![])]
        {
            let set: CpuSet = text.parse().expect("a set");
            let property = Property::of_set(&set);
            assert_eq!(property, Property::Bits(bits), "{text}");
            assert_eq!(property.to_string(), text);
        }
        assert_eq!(Property::Number(u64::MAX).to_string(), "infinity");
    }

    #[test]
    fn a_stored_property_is_the_same() {
        for property in [Property::Number(u64::MAX), Property::Number(0), Property::Bits(vec![3])] {
            let text = serde_json::to_string(&property).expect("it can be written");
            assert_eq!(serde_json::from_str::<Property>(&text).ok(), Some(property), "{text}");
        }
    }
}

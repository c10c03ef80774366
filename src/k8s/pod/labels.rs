//! The labels of a pod.

use super::read::Text;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// The labels of a pod. The kubelet acts on one of them ([`OS_LABEL`]); users select pods by them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    known: BTreeMap<String, String>,
    /// Others may be missing: snapshots of earlier versions of kq have [`OS_LABEL`] alone.
    are_withheld: bool,
}

/// The label that the kubelet acts on when it admits a pod (`rejectPodAdmissionBasedOnOSSelector`,
/// `pkg/kubelet/lifecycle/predicate.go`).
pub const OS_LABEL: &str = "kubernetes.io/os";

impl Labels {
    /// Returns the operating system that the pod is for.
    pub fn os(&self) -> Option<&str> {
        self.known.get(OS_LABEL).map(String::as_str)
    }

    /// Returns all labels; `None`: some are unknown.
    pub fn all(&self) -> Option<&BTreeMap<String, String>> {
        (!self.are_withheld).then_some(&self.known)
    }

    /// Marks that others may be missing.
    pub fn redact(&mut self) {
        self.are_withheld = true;
    }
}

crate::schema::schema_as!(Labels, BTreeMap<String, String>);

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.known.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Labels::default();
                while let Some(key) = map.next_key::<Text<'_>>()? {
                    if &*key == OS_LABEL && labels.known.contains_key(OS_LABEL) {
                        return Err(A::Error::duplicate_field(OS_LABEL));
                    }
                    // `null` is the empty text.
                    let value = map.next_value::<Option<String>>()?.unwrap_or_default();
                    labels.known.insert(key.to_owned(), value);
                }
                Ok(labels)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

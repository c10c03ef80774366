//! The metadata of a pod: names, owners, labels and annotations.

use super::read::AnyText;
use super::read::Text;
use super::{null_as_default, read};
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

crate::schema_as!(Labels, BTreeMap<String, String>);

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

/// The identity of a pod.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectMeta {
    /// The name; empty when the API server is to make one up from `generate_name`.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The prefix of a generated name.
    #[serde(deserialize_with = "null_as_default")]
    pub generate_name: String,
    /// The namespace; empty in a manifest means `default`.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// The UID; empty in a manifest that was never sent to an API server.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
    /// The annotations that decide about the pod's origin.
    #[serde(deserialize_with = "null_as_default")]
    pub annotations: Annotations,
    #[serde(deserialize_with = "null_as_default")]
    pub labels: Labels,
    /// The creation time. A starting kubelet admits pods in this order.
    #[serde(deserialize_with = "read::optional_moment", skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<jiff::Timestamp>,
    /// The end of the termination grace period of a deleted pod: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// The termination grace period of a deleted pod, in seconds; a deletion may shorten or extend that of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// The generation of the spec, counted by the API server; conditions written by the kubelet name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The owners; of several, one is the controller.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

impl ObjectMeta {
    /// Returns NAMESPACE/NAME.
    pub fn qualified_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Sets the creation time of a new object: a second after that of the newest of the others.
    pub fn create_after<'o>(&mut self, others: impl Iterator<Item = &'o Self>) {
        let newest = others.filter_map(|it| it.creation_timestamp).max();
        let newest = newest.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let next = newest.checked_add(jiff::SignedDuration::from_secs(1));
        self.creation_timestamp = Some(next.unwrap_or(jiff::Timestamp::MAX));
    }
}

/// An object that a pod belongs to.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    /// `ReplicaSet`, `DaemonSet`, `Node` of a mirror pod.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The owner creates a new pod when this one is deleted.
    #[serde(deserialize_with = "null_as_default")]
    pub controller: bool,
}

/// The annotations that the kubelet puts on static pods and their mirrors
/// (`pkg/kubelet/types/pod_update.go`).
///
/// Others are read only to refuse values that are not text, as the API server does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Where the kubelet got the pod from: `api`, `file` or `http`.
    pub config_source: Option<String>,
    /// The hash of a static pod, which is its UID.
    pub config_hash: Option<String>,
    /// On a mirror pod: the UID under which the kubelet runs the static pod.
    pub config_mirror: Option<String>,
}

/// The names of the annotations.
const SOURCE: &str = "kubernetes.io/config.source";

const HASH: &str = "kubernetes.io/config.hash";

const MIRROR: &str = "kubernetes.io/config.mirror";

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Annotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
                let mut kept = Annotations::default();
                while let Some(key) = map.next_key::<Text<'_>>()? {
                    let (slot, name) = match &*key {
                        SOURCE => (&mut kept.config_source, SOURCE),
                        HASH => (&mut kept.config_hash, HASH),
                        MIRROR => (&mut kept.config_mirror, MIRROR),
                        _ => {
                            map.next_value_seed(AnyText)?;
                            continue;
                        }
                    };
                    if slot.is_some() {
                        return Err(A::Error::duplicate_field(name));
                    }
                    // `null` is the empty text.
                    *slot = Some(map.next_value::<Option<String>>()?.unwrap_or_default());
                }
                Ok(kept)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

crate::schema_as!(Annotations, std::collections::BTreeMap<String, String>);

impl Serialize for Annotations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kept = [
            (SOURCE, &self.config_source),
            (HASH, &self.config_hash),
            (MIRROR, &self.config_mirror),
        ];
        let kept = kept.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        serializer.collect_map(kept)
    }
}

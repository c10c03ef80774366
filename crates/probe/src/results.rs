//! The kubelet's cache of the counted results of each container's probes.
//!
//! `pkg/kubelet/prober/results/results_manager.go`. A kubelet has one such cache for each type of
//! probe; only a changed value is reported to the rest of the kubelet.
//!
//! The key is the ID of a container as the kubelet reads it back from a status: `ParseContainerID` and `ContainerID`, `pkg/kubelet/container/runtime.go`.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// A runtime and an id in it; both empty for what is no id.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainerId {
    runtime: String,
    id: String,
}

impl ContainerId {
    /// Reads `RUNTIME://ID`; quotes around it are dropped, and anything else is the empty id.
    pub fn parse(text: &str) -> Self {
        let mut parts = text.trim_matches('"').split("://");
        match (parts.next(), parts.next(), parts.next()) {
            (Some(runtime), Some(id), None) => {
                Self { runtime: runtime.to_owned(), id: id.to_owned() }
            }
            _ => Self::default(),
        }
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.runtime.is_empty() && self.id.is_empty()
    }
}

impl fmt::Display for ContainerId {
    /// The empty id is `://`, as in the kubelet: a status that says just that is not seen as a change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.runtime, self.id)
    }
}

kq_k8s::schema_as!(ContainerId, String);

impl Serialize for ContainerId {
    /// The empty id is the empty text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() { serializer.serialize_str("") } else { serializer.collect_str(self) }
    }
}

/// What the kubelet holds of a container's probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All is well.
    Success,
    /// Not well.
    Failure,
    /// Nothing is known yet.
    Unknown,
}

/// The results of one type of probe, by container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultsCache {
    results: BTreeMap<ContainerId, Verdict>,
}

impl ResultsCache {
    /// Returns what is held of a container.
    pub fn get(&self, id: &ContainerId) -> Option<Verdict> {
        self.results.get(id).copied()
    }

    /// Stores a result; returns true if it changed, and is reported to the rest of the kubelet.
    pub fn set(&mut self, id: &ContainerId, verdict: Verdict) -> bool {
        self.results.insert(id.clone(), verdict) != Some(verdict)
    }

    /// Forgets a container.
    pub fn remove(&mut self, id: &ContainerId) {
        self.results.remove(id);
    }

    /// Returns all results, by container.
    pub fn iter(&self) -> impl Iterator<Item = (&ContainerId, Verdict)> {
        self.results.iter().map(|(id, verdict)| (id, *verdict))
    }
}

impl FromIterator<(ContainerId, Verdict)> for ResultsCache {
    fn from_iter<I: IntoIterator<Item = (ContainerId, Verdict)>>(results: I) -> Self {
        Self { results: results.into_iter().collect() }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Unknown => "unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_reported() {
        let (mut cache, id) = (ResultsCache::default(), ContainerId::parse("containerd://c1"));
        assert!(cache.set(&id, Verdict::Failure), "the first");
        assert!(!cache.set(&id, Verdict::Failure), "the same");
        assert!(cache.set(&id, Verdict::Success), "another");
        cache.remove(&id);
        assert_eq!(cache.get(&id), None);
        assert!(cache.set(&id, Verdict::Success), "the first again");
    }

    #[test]
    fn ids_are_read_as_the_kubelet_reads_them() {
        for (name, text, shown, empty) in [
            ("usual", "containerd://c1", "containerd://c1", false),
            ("quoted", "\"containerd://c1\"", "containerd://c1", false),
            ("no runtime", "://c1", "://c1", false),
            ("no id", "containerd://", "containerd://", false),
            ("neither", "://", "://", true),
            ("plain", "c1", "://", true),
            ("nothing", "", "://", true),
            ("two marks", "a://b://c", "://", true),
        ] {
            let id = ContainerId::parse(text);
            assert_eq!((id.to_string().as_str(), id.is_empty()), (shown, empty), "{name}");
        }
    }
}

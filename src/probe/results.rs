//! The kubelet's cache of the counted results of each container's probes.
//!
//! `pkg/kubelet/prober/results/results_manager.go`. A kubelet has one such cache for each type of
//! probe; only a changed value is reported to the rest of the kubelet.

use super::container_id::ContainerId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

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
}

//! A live node, read again and again. The counters of its cgroups are read at each refresh; everything else, which other
//! programs must be asked for, every ten seconds, for another panel, and when a cgroup without a name appears.

use crate::answer::Failure;
use crate::cgroup::live::place::{LiveOwner, Part, kubelet_roots, live_cgroups};
use crate::edge::clock::steady;
use crate::facts::snapshot::Snapshot;
use crate::facts::workloads::Workloads;
use crate::node::{FactSet, Needs, kubelet_root};
use crate::question::top::counter_needs;
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long the facts other than counters are kept.
const KEPT: Duration = Duration::from_secs(10);

/// The shortest time between two gatherings of them because of unknown cgroups.
const SOON: Duration = Duration::from_secs(2);

/// Gathers the needed facts of a node; the value is the kubelet's configuration where it is known.
pub type Gather = Box<dyn FnMut(Needs, Option<&Value>) -> Result<Snapshot, Failure> + Send>;

/// A live node.
pub struct LiveSource {
    gather: Gather,
    cgroup_root: Option<String>,
    base: Option<Base>,
}

/// The facts that are kept for a while.
struct Base {
    snapshot: Snapshot,
    at: Instant,
    facts: FactSet,
}

impl LiveSource {
    /// Reads a node with this function.
    pub fn new(gather: Gather, cgroup_root: Option<String>) -> Self {
        Self { gather, cgroup_root, base: None }
    }

    /// Returns the node now, and how long its counters took.
    ///
    /// # Errors
    ///
    /// Fails as gathering does.
    pub fn next(&mut self, needs: Needs) -> Result<(Snapshot, Duration), Failure> {
        let kept =
            self.base.as_ref().filter(|base| base.facts == needs.facts && base.at.elapsed() < KEPT);
        if kept.is_none() {
            return self.whole(needs);
        }
        let began = steady();
        let config = self.base.as_ref().and_then(|it| it.snapshot.kubelet_config.value());
        let config = config.map(|config| config.value.clone());
        let counters = (self.gather)(counter_needs(), config.as_ref())?;
        let took = began.elapsed();
        let Some(base) = &mut self.base else { return self.whole(needs) };
        base.snapshot.cgroups = counters.cgroups;
        base.snapshot.taken_at = counters.taken_at;
        if base.at.elapsed() >= SOON && has_unnamed(&base.snapshot, self.cgroup_root.as_deref()) {
            return self.whole(needs);
        }
        Ok((base.snapshot.clone(), took))
    }

    /// Gathers facts for a page, which no refresh needs.
    ///
    /// # Errors
    ///
    /// Fails as gathering does.
    pub fn once(&mut self, needs: Needs) -> Result<Snapshot, Failure> {
        (self.gather)(needs, None)
    }

    fn whole(&mut self, needs: Needs) -> Result<(Snapshot, Duration), Failure> {
        let snapshot = (self.gather)(needs, None)?;
        let base = Base { snapshot: snapshot.clone(), at: steady(), facts: needs.facts };
        self.base = Some(base);
        // The others are rare, and their time is mostly that of other programs.
        Ok((snapshot, Duration::ZERO))
    }
}

/// Returns true if a pod or a container with a cgroup has no name in the facts.
fn has_unnamed(snapshot: &Snapshot, cgroup_root: Option<&str>) -> bool {
    let Some(tree) = snapshot.cgroups.value() else { return false };
    let config = snapshot.kubelet_config.value().map(|found| &found.value);
    let (root, per_qos) = kubelet_root(cgroup_root, config);
    let pods = snapshot.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
    let workloads = Workloads::of(pods.map(|loaded| &loaded.pod), snapshot.runtime.value());
    kubelet_roots(&root, per_qos).iter().any(|(driver, root)| {
        let cgroups = live_cgroups(tree, root, *driver, &workloads);
        cgroups.iter().any(|cgroup| match &cgroup.owner {
            LiveOwner::Pod(pod) => pod.name.is_none(),
            LiveOwner::Container(container) => container.part == Part::Unknown,
            _ => false,
        })
    })
}

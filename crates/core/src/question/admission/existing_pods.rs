//! The existing pods of a node, and whether they count.

use super::AdmissionNode;
use anyhow::anyhow;
use kq_admission::{NodePod, qualified};
use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_facts::live::incomplete;
use kq_facts::node_pods::{NodePods, Standing, StandingReason};
use kq_facts::pod_selector::{PodSelector, nearest_pod};
use kq_facts::runtime::RuntimeFacts;
use kq_facts::snapshot::{PodSource, RecordedPods};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::Pod;

/// The other pods of a node.
pub struct ExistingPods<'n> {
    /// Every pod, and whether it counts.
    pub pods: Vec<NodePod<'n>>,
    /// The pods that count, although they may have ended.
    pub doubtful: Vec<UnknownActivity>,
}

/// A pod that counts, although it may have ended: no pod may be evicted for its share.
pub struct UnknownActivity {
    pub uid: String,
    /// The missing fact, and the flag that supplies it.
    pub missing: Missing,
}

/// The pods that share an assumption.
#[derive(Default)]
struct Skipped<'n> {
    without_uid: usize,
    ended: usize,
    leaving: usize,
    elsewhere: Vec<&'n str>,
    unknown: Vec<String>,
    doubtful: Vec<UnknownActivity>,
    unlisted: Vec<Missing>,
}

/// The rules that decide whether a pod counts.
struct CountPolicy<'q, 'n> {
    new: Option<&'q Pod>,
    node: &'n str,
    now: Timestamp,
    standings: NodePods<'n>,
    /// The container runtime answered, but not with its lists.
    lacks_lists: bool,
    without: Vec<PodSelector>,
}

impl AdmissionNode {
    /// Returns the other pods of the node, and whether they count. Adds the assumptions to `basis`.
    pub fn others(
        &self,
        new: Option<&Pod>,
        basis: &mut Basis,
    ) -> Result<ExistingPods<'_>, Failure> {
        let snapshot = &self.node.snapshot;
        let recorded = &snapshot.known_pods()?.value;
        let policy = CountPolicy {
            new,
            node: &self.object()?.metadata.name,
            now: self.node.now,
            standings: NodePods::of(snapshot),
            lacks_lists: snapshot.runtime.value().is_some_and(RuntimeFacts::lacks_lists),
            without: self.without(self.node.loaded_pods())?,
        };
        let mut skipped = Skipped::default();
        let judged = self.node.allocated_pods().into_iter().map(|pod| {
            let (counts, why) = policy.counts(pod, &mut skipped);
            NodePod { pod, counts, why }
        });
        let pods: Vec<NodePod<'_>> = judged.collect();
        if let Some(first) =
            skipped.elsewhere.first().filter(|_| skipped.elsewhere.len() == pods.len())
        {
            let error =
                anyhow!("no pods of node {}: all are on other nodes, such as {first}", policy.node);
            return Err(Failure::missing(error).hint("--pods FILE with the pods of that node"));
        }
        skipped.tell(basis);
        basis.lack_all(skipped.unlisted);
        basis.lack_all(not_all(recorded));
        if recorded.left_out.is_empty() {
            let known = self.node.allocated_pods();
            let missing = incomplete(&snapshot.pods, &known, snapshot.runtime.value());
            basis.lack_all(missing.filter(|it| !basis.missing.contains(it)));
        }
        Ok(ExistingPods { pods, doubtful: skipped.doubtful })
    }

    /// Returns the selectors of `--without`; each must match a pod.
    fn without(&self, pods: &[LoadedPod]) -> Result<Vec<PodSelector>, Failure> {
        let selector = |name: &String| {
            let selector = PodSelector::new(name);
            let mut all = pods.iter().map(|loaded| &*loaded.pod);
            if all.any(|pod| selector.is_of(pod)) {
                return Ok(selector);
            }
            let pods = pods.iter().map(|loaded| &*loaded.pod);
            let error = Failure::usage(anyhow!("--without: no pod {name} on this node"));
            Err(error.meant(nearest_pod(name, pods)))
        };
        self.without.iter().map(selector).collect()
    }
}

impl<'n> CountPolicy<'_, 'n> {
    /// Returns whether a pod counts, and why.
    fn counts(&self, pod: &'n Pod, skipped: &mut Skipped<'n>) -> (bool, StandingReason) {
        let uid = effective_uid(pod);
        let bound_to = &pod.spec.node_name;
        let phase = pod.status.phase.as_str();
        let is_new = self.new.is_some_and(|new| {
            let is_same = uid == effective_uid(new) && !uid.is_empty();
            is_same || qualified(pod) == qualified(new)
        });
        let is_meant = |it: &PodSelector| it.is_of(pod);
        if is_new {
            (false, StandingReason::InQuestion)
        } else if self.without.iter().any(is_meant) {
            (false, StandingReason::Without)
        } else if !bound_to.is_empty() && bound_to != self.node {
            skipped.elsewhere.push(bound_to);
            (false, StandingReason::OtherNode { node: bound_to.clone() })
        } else if bound_to.is_empty() && phase == "Pending" {
            (false, StandingReason::NotBound)
        } else if uid.is_empty() {
            skipped.without_uid += 1;
            let reason = || StandingReason::Phase { phase: phase.to_owned() };
            match phase {
                "" => (true, StandingReason::NoStatus),
                "Succeeded" | "Failed" => (false, reason()),
                _ => (true, reason()),
            }
        } else {
            self.stands(pod, uid, skipped)
        }
    }

    /// Returns the same for a pod of this node with a UID.
    fn stands(&self, pod: &Pod, uid: &str, skipped: &mut Skipped<'_>) -> (bool, StandingReason) {
        let depends_on_runtime = self.standings.depends_on_runtime(uid);
        let doubt = |why: &str| {
            let name = qualified(pod);
            let text = format!("whether {name} still runs: {why} (--runtime-endpoint)");
            let missing = Missing::new(MissingFact::PodActivity, text).about(name);
            UnknownActivity { uid: uid.to_owned(), missing }
        };
        if depends_on_runtime && self.lacks_lists {
            skipped
                .unlisted
                .push(doubt("the container runtime did not list its containers").missing);
        }
        match self.standings.standing(uid) {
            Standing::Active(why) => {
                if depends_on_runtime {
                    skipped.leaving += 1;
                    if self.should_be_gone(pod) {
                        skipped.doubtful.push(doubt("its termination grace period is over"));
                    }
                }
                (true, why)
            }
            Standing::Ended(why) | Standing::Gone(why) => {
                skipped.ended += usize::from(depends_on_runtime);
                (false, why)
            }
            Standing::Unknown(why) => {
                skipped.unknown.push(format!("{} counts: {why}", qualified(pod)));
                skipped.doubtful.push(doubt(&why.to_string()));
                (true, why)
            }
        }
    }

    /// Returns true if the termination grace period of a deleted pod is over.
    fn should_be_gone(&self, pod: &Pod) -> bool {
        let until = pod.metadata.deletion_timestamp.as_deref();
        until.is_some_and(|until| until.parse().is_ok_and(|until: Timestamp| until < self.now))
    }
}

impl Skipped<'_> {
    fn tell(&self, basis: &mut Basis) {
        let mut assume = |count: usize, one: &str, more: &str| match count {
            0 => {}
            1 => basis.assume(format!("1 {one}")),
            _ => basis.assume(format!("{count} {more}")),
        };
        assume(
            self.without_uid,
            "pod without a UID: on the node, unless the phase is Succeeded or Failed",
            "pods without a UID: on the node, unless the phase is Succeeded or Failed",
        );
        assume(
            self.ended,
            "pod in a final phase does not count: the container runtime did not report whether it still stops it",
            "pods in a final phase do not count: the container runtime did not report whether it still stops \
             them",
        );
        assume(
            self.leaving,
            "deleted pod still counts: the container runtime did not report whether it still stops it",
            "deleted pods still count: the container runtime did not report whether it still stops them",
        );
        basis.assumptions.splice(0..0, self.unknown.iter().cloned().map(Into::into));
    }
}

/// Returns notes about pods of the node that were not read.
fn not_all(recorded: &RecordedPods) -> Vec<Missing> {
    let mut missing = Vec::new();
    if let PodSource::StaticManifests | PodSource::Runtime = recorded.source {
        let text = "the pods of the API server: not in the sums (--pods, --kubeconfig)";
        missing.push(Missing::new(MissingFact::Pods, text));
    }
    let unread = recorded.left_out.iter();
    missing.extend(unread.map(|problem| {
        let text = format!("a pod that could not be read: {problem}");
        Missing::new(MissingFact::UnreadPod, text)
    }));
    missing
}

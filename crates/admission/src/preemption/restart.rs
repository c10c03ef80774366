//! The pods that a restarted kubelet admits again (`HandlePodAdditions`, `pkg/kubelet/kubelet.go`, read
//! in 1.36.2): one after the other, each among those that were taken in before it.

use super::handle::{Outcome, make_room_with};
use super::stopped_containers::StoppedContainers;
use super::victims::{PotentialVictim, Trace, pick_among};
use crate::{
    Amounts, DeviceDecision, Examined, Facts, Failure, Occupancy, Refusal, drop_places, examine,
    finally, qualified,
};
use jiff::Timestamp;
use kq_answer::{Basis, Headline, answer};
use kq_facts::node_object::NodeObject;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::priority::{is_static_pod, pod_source};
use kq_output::units::{counted, verb};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// `kq admit explain --kubelet-restart`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodReadmission {
    pub node: String,
    /// Why the kubelet does not start; null: nothing that was checked stops it. It admits no pod then, and the items are of a
    /// kubelet that does start.
    pub start_error: Option<String>,
    /// The pods in the order in which the kubelet comes to them.
    pub items: Vec<Readmitted>,
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PodReadmission", PodReadmission; PodReadmission::headline);

impl PodReadmission {
    /// Returns how many pods stay, and the first that does not.
    pub(super) fn headline(&self) -> Headline {
        if let Some(error) = &self.start_error {
            return Headline::new("no-start", format!("no pod is admitted: {error}"));
        }
        let all = self.items.len();
        let staying = self.items.iter().filter(|it| it.stays()).count();
        let mut lost = self.items.iter().filter(|it| !it.is_admitted());
        let first = self.items.iter().find(|it| it.ends()).or_else(|| lost.next());
        let Some(first) = first else {
            if staying < all {
                return self.stopped(staying);
            }
            return Headline::good("all-stay", all_stay(all));
        };
        let end = match (first.ends(), first.result) {
            (true, ReadmissionResult::Killed) => "is killed",
            (true, _) => "is refused",
            (false, _) => "may be refused or killed",
        };
        let reason =
            first.refusals.first().map(|it| format!(": {}", it.reason)).unwrap_or_default();
        let (all, stay) = (counted(all, "pod"), verb(staying, "stay"));
        let text = format!("{staying} of {all} {stay}; {} {end}{reason}", first.pod);
        Headline::new(if first.ends() { "some-end" } else { "some-may-end" }, text)
    }

    /// Returns how many pods stay where all are admitted, how many of the others start again, and why.
    fn stopped(&self, staying: usize) -> Headline {
        let stopped = || self.items.iter().filter_map(|it| it.stopped.as_ref());
        let runs = |it: &&StoppedContainers| !it.cause.is_harmless();
        let ended = stopped().filter(|it| !it.start_again).count();
        let restarted = stopped().count() - ended;
        let counts = [(staying, "stay"), (restarted, "restart"), (ended, "end")];
        let mut counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let mut text = String::new();
        if let Some((count, does)) = counts.next() {
            let all = counted(self.items.len(), "pod");
            text = format!("{count} of {all} {}", verb(count, does));
        }
        counts.for_each(|(count, does)| text += &format!(", {count} {}", verb(count, does)));
        // What stops a container that runs is worse than the start of one that does not.
        let worst = stopped().find(runs).or_else(|| stopped().next());
        let cause = worst.map(|it| format!(": {}", it.cause)).unwrap_or_default();
        let headline = Headline::new("some-restart", text + &cause);
        Headline { comforts: !stopped().any(|it| runs(&it)), ..headline }
    }
}

/// Returns that so many pods stay, and no other is there.
pub fn all_stay(pods: usize) -> String {
    match pods {
        0 => "there are no pods".to_owned(),
        1 => "1 pod stays".to_owned(),
        _ => format!("all {} stay", counted(pods, "pod")),
    }
}

/// The result for a pod.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readmitted {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// It is from the kubelet's folder, not from the API server.
    pub is_static: bool,
    /// When it was created; null: not reported, and taken for the oldest.
    #[schemars(with = "Option<String>")]
    pub created_at: Option<Timestamp>,
    /// The result in the usual order: sources, ages, names.
    pub result: ReadmissionResult,
    /// The results in other orders; absent where every order has the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    /// The containers that end although it is taken in; absent: they run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedContainers>,
    /// The possible rejection messages; the kubelet reports one of them at random.
    pub refusals: Vec<Refusal>,
    /// The pods that it kills for it, in this order.
    pub kills: Vec<String>,
    /// The pod for which it is killed after its admission.
    pub killed_for: Option<String>,
    /// What is compared at its turn: its place, and what it requests.
    pub compared: Vec<ComparedAnew>,
}

/// The result for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReadmissionResult {
    /// Readmitted.
    Admitted,
    /// It is not: it fails, and its containers are stopped.
    Refused,
    /// It is, and then killed for a critical one that comes after it.
    Killed,
}

/// What else becomes of a pod, as chance decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Otherwise {
    /// The other results.
    pub results: Vec<ReadmissionResult>,
    /// The reason in its status where it ends.
    pub reason: Option<String>,
    /// The kubelet's message where it ends; of a pod that is killed, for which one.
    pub message: Option<String>,
    /// What decides.
    pub depends_on: String,
}

/// A resource at a pod's turn: thousandths of a CPU, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedAnew {
    /// Which.
    pub resource: String,
    /// What the pod requests.
    pub requested: i64,
    /// What those request that were taken in before it.
    pub used: i64,
    /// What is for pods.
    pub allocatable: i64,
    /// What is left: allocatable - used.
    pub free: i64,
    /// What is missing; 0 where it is enough.
    pub missing: i64,
    /// Where it is missing: who has it, the most first; no more than [`MOST_TAKERS`].
    pub taken_by: Vec<Taker>,
    /// How many others have some.
    pub more_takers: usize,
}

/// A pod that has some of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taker {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// How much.
    pub amount: i64,
}

/// How many pods are named of those that have what another one lacks.
pub const MOST_TAKERS: usize = 10;

/// Puts pods in the order in which a kubelet that starts usually comes to them: source by source ([`source_orders`]), those of
/// its folder first. Static pods of one source, and pods of one moment, are in the order of their names.
pub fn restart_order<'p>(pods: &[&'p Pod]) -> Vec<&'p Pod> {
    let mut order = pods.to_vec();
    order.sort_by_cached_key(|pod| (source(pod), created_at(pod), qualified(pod)));
    order
}

/// Returns true if the kubelet comes to two pods in an order that is left to chance.
pub fn are_tied(one: &Pod, other: &Pod) -> bool {
    source(one) == source(other) && created_at(one) == created_at(other)
}

/// Where the kubelet has a pod from, in the order in which it usually reads its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PodSource {
    Folder,
    /// A URL, or a source that is not known.
    Other,
    ApiServer,
}

fn source(pod: &Pod) -> PodSource {
    match pod_source(pod) {
        None | Some("api") => PodSource::ApiServer,
        Some("file") => PodSource::Folder,
        Some(_) => PodSource::Other,
    }
}

/// Returns the orders of a node's pods by the orders in which the kubelet may read its sources, as places in the
/// given order, which is the first.
///
/// Each source hands over all of its pods at once, and the kubelet admits them when it comes to them (`Merge`,
/// `pkg/kubelet/config/config.go`; `syncLoopIteration`, `pkg/kubelet/kubelet.go`, read in 1.36.2). Nothing orders the
/// sources: the API server's waits for the Node object (`NewSourceApiserver`), the folder is read at once, and again every
/// `fileCheckFrequency` where that fails (`run`, `pkg/kubelet/config/file.go`). A real kubelet came to its folder 2 s
/// after the API server's pods.
pub fn source_orders(order: &[&Pod]) -> Vec<Vec<usize>> {
    let mut blocks: BTreeMap<PodSource, Vec<usize>> = BTreeMap::new();
    for (place, pod) in order.iter().enumerate() {
        blocks.entry(source(pod)).or_default().push(place);
    }
    let mut orders: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
    for block in blocks.into_values() {
        let at_each_place = |before: &Vec<Vec<usize>>| {
            let with = |at: usize| {
                let mut order = before.clone();
                order.insert(at, block.clone());
                order
            };
            (0..=before.len()).rev().map(with).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(at_each_place).collect();
    }
    orders.into_iter().map(|blocks| blocks.concat()).collect()
}

/// Takes pods in again, in this order. The device manager is asked for each in its turn, and refuses before the
/// predicates.
pub fn readmit(
    order: &[&Pod],
    node: &NodeObject,
    mut devices: impl FnMut(&Pod) -> DeviceDecision,
    rules: &KubeletRules,
) -> Vec<Readmitted> {
    let mut items: Vec<Readmitted> = Vec::new();
    // Who was taken in, by place; as many as are in `others` and `candidates`, in the same
    // order.
    let mut taken: Vec<usize> = Vec::new();
    let mut others = Occupancy::default();
    let mut takers = Takers::default();
    let mut candidates: Vec<PotentialVictim<'_>> = Vec::new();
    for (place, pod) in order.iter().enumerate() {
        let decided = devices(pod);
        let facts = Facts {
            others: &others,
            cached: Ok(node),
            fresh: Ok(node),
            allocated_devices: Ok(&decided.allocated),
        };
        let (refusals, compared, handled) = match decided.refusal {
            Some(refusal) => (vec![refusal], Vec::new(), None),
            None => {
                let examined = examine(pod, &facts, rules);
                let (verdict, handled) = make_room_with(pod, &examined, |requirements| {
                    pick_among(pod, &candidates, requirements, Trace::Chosen)
                });
                let refusals = finally(pod, verdict.refusals(), rules);
                (refusals, compared(&examined, &takers), handled)
            }
        };
        let victims = match handled.map(|handled| handled.outcome) {
            Some(Outcome::Kills(victims)) => victims,
            _ => Vec::new(),
        };
        let killed: Vec<usize> = victims.iter().filter_map(|at| taken.get(*at).copied()).collect();
        for at in &killed {
            if let Some(victim) = items.get_mut(*at) {
                victim.result = ReadmissionResult::Killed;
                victim.killed_for = Some(qualified(pod));
            }
        }
        if !victims.is_empty() {
            let places: BTreeSet<usize> = victims.into_iter().collect();
            for at in &places {
                if let (Some(place), Some(amounts)) = (taken.get(*at), others.taken().get(*at)) {
                    takers.remove(*place, amounts);
                }
            }
            drop_places(&mut taken, &places);
            drop_places(&mut candidates, &places);
            others.remove(&places);
        }
        if refusals.is_empty() {
            taken.push(place);
            others.add(pod, rules);
            if let Some(amounts) = others.taken().last() {
                takers.add(place, pod, amounts);
            }
            candidates.push(PotentialVictim::of(pod, rules));
        }
        items.push(Readmitted {
            stopped: None,
            pod: qualified(pod),
            is_static: is_static_pod(pod),
            created_at: created_at(pod),
            result: match refusals.is_empty() {
                true => ReadmissionResult::Admitted,
                false => ReadmissionResult::Refused,
            },
            otherwise: None,
            refusals,
            kills: killed.iter().filter_map(|at| Some(qualified(order.get(*at)?))).collect(),
            killed_for: None,
            compared,
        });
    }
    items
}

/// Returns when a pod was made, as the kubelet has it: what it reads from its folder has no such time.
fn created_at(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.filter(|_| !is_static_pod(pod))
}

/// Returns what was compared, and who has what is missing; nothing where the pod was refused before.
fn compared(examined: &Examined, takers: &Takers<'_>) -> Vec<ComparedAnew> {
    let Some(ledger) = &examined.ledger else { return Vec::new() };
    let shortages = examined.filtered.failures.iter().filter_map(|failure| match failure {
        Failure::Resource { resource, .. } => Some((resource, failure.missing()?)),
        Failure::Predicate(_) => None,
    });
    let shortages: BTreeMap<&ResourceName, i64> = shortages.collect();
    let line = |resource: &ResourceName, requested: i64| {
        let (allocatable, used) = (ledger.allocatable.get(resource), ledger.used.get(resource));
        let missing = shortages.get(resource).copied().unwrap_or(0);
        let (taken_by, more_takers) = match missing {
            0 => (Vec::new(), 0),
            _ => takers.of(resource),
        };
        ComparedAnew {
            resource: resource.to_string(),
            requested,
            used,
            allocatable,
            free: allocatable.wrapping_sub(used),
            missing,
            taken_by,
            more_takers,
        }
    };
    let mut lines = vec![line(&ResourceName::from("pods"), 1)];
    let named = ["cpu", "memory", "ephemeral-storage"].map(ResourceName::from);
    for resource in named.iter().chain(ledger.requested.scalars.keys()) {
        match ledger.requested.get(resource) {
            0 => {}
            requested => lines.push(line(resource, requested)),
        }
    }
    lines
}

/// The pods that were taken in, by what they have: each pod that is refused names those who have what it lacks.
#[derive(Default)]
struct Takers<'p> {
    pods: BTreeMap<usize, &'p Pod>,
    /// The most of a resource first, then by place.
    having: BTreeMap<ResourceName, BTreeSet<(Reverse<i64>, usize)>>,
}

impl<'p> Takers<'p> {
    fn add(&mut self, place: usize, pod: &'p Pod, amounts: &Amounts) {
        self.pods.insert(place, pod);
        for (name, amount) in named_amounts(amounts) {
            self.having.entry(name).or_default().insert((Reverse(amount), place));
        }
    }

    fn remove(&mut self, place: usize, amounts: &Amounts) {
        self.pods.remove(&place);
        for (name, amount) in named_amounts(amounts) {
            if let Some(having) = self.having.get_mut(&name) {
                having.remove(&(Reverse(amount), place));
            }
        }
    }

    /// Returns who has some of a resource, the most first, and how many others do.
    fn of(&self, resource: &ResourceName) -> (Vec<Taker>, usize) {
        let taker = |place: &usize, amount: i64| {
            let pod = self.pods.get(place)?;
            Some(Taker { pod: qualified(pod), amount })
        };
        let (first, count): (Vec<Taker>, usize) = match resource.as_str() {
            "pods" => {
                let first = self.pods.keys().take(MOST_TAKERS);
                (first.filter_map(|place| taker(place, 1)).collect(), self.pods.len())
            }
            _ => {
                let Some(having) = self.having.get(resource) else { return (Vec::new(), 0) };
                let first = having.iter().take(MOST_TAKERS);
                let first = first.filter_map(|(amount, place)| taker(place, amount.0));
                (first.collect(), having.len())
            }
        };
        (first, count.saturating_sub(MOST_TAKERS))
    }
}

/// Walks over the amounts that a pod has some of, other than itself.
fn named_amounts(amounts: &Amounts) -> impl Iterator<Item = (ResourceName, i64)> {
    let named = [
        ("cpu", amounts.milli_cpu),
        ("memory", amounts.memory),
        ("ephemeral-storage", amounts.ephemeral_storage),
    ];
    let named = named.into_iter().map(|(name, amount)| (ResourceName::from(name), amount));
    let scalars = amounts.scalars.iter().map(|(name, amount)| (name.clone(), *amount));
    named.chain(scalars).filter(|(_, amount)| *amount > 0)
}

impl Readmitted {
    /// Returns true if the pod is admitted in every order.
    pub fn is_admitted(&self) -> bool {
        self.result == ReadmissionResult::Admitted && self.otherwise.is_none()
    }

    /// Returns true if the pod is admitted in every order, and its containers run on.
    pub fn stays(&self) -> bool {
        self.is_admitted() && self.stopped.is_none()
    }

    /// Returns the reasons of its result: the refusals, of which the kubelet reports one, the pods that are killed for it, the
    /// pod that it is killed for, the containers that end, and what else decides.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if !self.refusals.is_empty() {
            let said = self.refusals.iter().map(|it| format!("{}: {}", it.reason, it.message));
            reasons.push(said.collect::<Vec<_>>().join(" or "));
        }
        if !self.kills.is_empty() {
            reasons.push(format!("for it are killed: {}", self.kills.join(", ")));
        }
        if let Some(by) = &self.killed_for {
            let then = if reasons.is_empty() { "" } else { "then killed " };
            reasons.push(format!("{then}to take in {by}"));
        }
        reasons.extend(self.stopped.as_ref().map(ToString::to_string));
        if let Some(other) = &self.otherwise {
            if self.result == ReadmissionResult::Admitted {
                let end = [&other.reason, &other.message].into_iter().flatten().cloned();
                reasons
                    .extend(Some(end.collect::<Vec<_>>().join(": ")).filter(|it| !it.is_empty()));
            }
            reasons.push(other.depends_on.clone());
        }
        reasons
    }

    /// Returns true if the pod ends in every order.
    pub fn ends(&self) -> bool {
        let is_end = |it: &ReadmissionResult| *it != ReadmissionResult::Admitted;
        is_end(&self.result) && self.otherwise.iter().all(|other| other.results.iter().all(is_end))
    }
}

impl PodReadmission {
    /// Puts an answer together, and says what the order rests on.
    pub fn new(node: &NodeObject, items: Vec<Readmitted>, mut basis: Basis) -> Self {
        let made = items.iter().filter(|it| !it.is_static);
        let timeless = made.filter(|it| it.created_at.is_none()).count();
        if timeless > 0 {
            basis.assume(format!(
                "{timeless} of the pods have no creationTimestamp: taken for the oldest"
            ));
        }
        Self { node: node.metadata.name.clone(), start_error: None, items, basis }
    }

    /// Returns true if every pod is admitted again in every order.
    pub fn all_are_admitted(&self) -> bool {
        self.items.iter().all(Readmitted::is_admitted)
    }

    /// Returns true if every pod is admitted again in every order, and the start ends no container that would run on.
    pub fn all_stay(&self) -> bool {
        let is_harmless = |stopped: &StoppedContainers| stopped.cause.is_harmless();
        let stays = |it: &Readmitted| it.stopped.as_ref().is_none_or(is_harmless);
        self.items.iter().all(|it| it.is_admitted() && stays(it))
    }
}

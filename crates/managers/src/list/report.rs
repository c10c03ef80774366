//! The report: every allocated device and every resource.

use super::holding::{Holder, Holding, Holdings, Key, PodKey, Role, in_effect};
use super::judge::{DeviceSources, Sharing, judge};
use super::reason::{CheckpointDamage, HealthReason, Reason, SourceGap, State};
use super::resources::{ResourceSummary, summaries};
use crate::reconstruct::some;
use crate::run_options::{Dropped, run_options};
use kq_answer::{Basis, Headline, Missing, MissingFact, Warning, WarningCode, Worded, answer};
use kq_facts::checkpoint::device::ContainerAllocateResponse;
use kq_facts::devices::{CheckpointEntry, CheckpointFact, DeviceFacts, PluginAnswer};
use kq_facts::node_pods::NodePods;
use kq_facts::pod_selector::Selection;
use kq_facts::snapshot::Snapshot;
use kq_facts::timestamp::Timestamp;
use kq_output::units::{and_more, counted};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Which sources are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// The kubelet's checkpoint.
    Checkpoint,
    /// The kubelet's pod-resources API.
    PodResources,
    /// Both, held against each other.
    Both,
}

impl Asked {
    /// Returns true if the checkpoint is a source.
    pub fn checkpoint(self) -> bool {
        self != Self::PodResources
    }

    /// Returns true if the pod-resources API is a source.
    pub fn pod_resources(self) -> bool {
        self != Self::Checkpoint
    }
}

/// Who has which device.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceList<'a> {
    /// The moment of everything.
    pub at: String,
    /// The sources that were asked.
    pub source: Asked,
    /// A device of a container each.
    pub items: Vec<DeviceRow<'a>>,
    /// What plugins answered for a container and a resource.
    pub given: Vec<Given<'a>>,
    /// A resource each; empty where the answer is about one pod.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<String, ResourceSummary>")]
    pub resources: Vec<ResourceSummary>,
    /// What is wrong with the checkpoint, where the kubelet rejects it.
    pub damage: Option<Worded<CheckpointDamage>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceList", DeviceList<'_>; DeviceList::headline);

impl DeviceList<'_> {
    /// Returns how many devices are in use.
    fn headline(&self) -> Headline {
        if let Some(damage) = &self.damage {
            return Headline::new(
                "damaged",
                format!("the kubelet rejects its checkpoint: {damage}"),
            );
        }
        let of = |it: &ResourceSummary| {
            let holds = |all: i64| usize::try_from(all).is_ok_and(|all| all >= it.allocated);
            let all = it.capacity.filter(|all| holds(*all)).map(|all| format!(" of {all}"));
            let all = all.unwrap_or_default();
            let bad = match it.unhealthy() {
                0 => String::new(),
                bad => format!(", {bad} unhealthy"),
            };
            let free = it.free.as_ref().map(|free| format!(", {} free", free.len()));
            let free = free.unwrap_or_default();
            format!("{}: {}{all} in use{bad}{free}", it.resource, it.allocated)
        };
        let told: Vec<String> = self.resources.iter().take(3).map(of).collect();
        let more = and_more(self.resources.len() - told.len());
        match (told.is_empty(), self.items.len()) {
            (true, 0) => Headline::good("none", "no container has a device"),
            (true, count) => {
                Headline::new("in-use", format!("{} in use", counted(count, "device")))
            }
            (false, _) => {
                let is_bad = self.resources.iter().any(|it| it.unhealthy() > 0);
                let code = if is_bad { "unhealthy" } else { "in-use" };
                Headline::new(code, format!("{}{more}", told.join("; ")))
            }
        }
    }
}

/// A pod, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodRef<'a> {
    /// The namespace; empty: not known.
    pub namespace: &'a str,
    /// The name; empty: not known.
    pub name: &'a str,
    /// The UID under which the kubelet runs it; null: unknown.
    pub uid: Option<&'a str>,
}

impl<'a> PodRef<'a> {
    /// Returns the name as it is shown.
    pub fn shown(&self) -> Cow<'a, str> {
        match (self.namespace, self.name, self.uid) {
            (_, "", uid) => uid.unwrap_or_default().into(),
            ("", name, _) => name.into(),
            (namespace, name, _) => format!("{namespace}/{name}").into(),
        }
    }
}

/// A device of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRow<'a> {
    pub pod: PodRef<'a>,
    pub container: &'a str,
    /// What the container is in its pod.
    pub role: Role,
    pub resource: &'a str,
    pub device: &'a str,
    /// Its NUMA nodes; empty: none.
    pub numa_nodes: Vec<i64>,
    /// Whether it is healthy.
    pub health: Health,
    /// Why.
    pub health_because: Worded<HealthReason>,
    /// The worst of what is the matter.
    pub state: State,
    /// All findings, worst first.
    pub findings: Vec<Finding>,
    /// The checkpoint has it; null: not queried, or unavailable.
    pub in_checkpoint: Option<bool>,
    /// The pod-resources API lists it; null: not queried, or unavailable.
    pub in_pod_resources: Option<bool>,
}

/// A finding about the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The state that results for the device.
    pub state: State,
    /// Why.
    pub reason: Worded<Reason>,
}

/// Whether a device is healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub enum Health {
    /// The kubelet offers it.
    Healthy,
    /// The kubelet does not offer it.
    Unhealthy,
    Unknown,
}

/// What a plugin answered for a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Given<'a> {
    pub pod: PodRef<'a>,
    pub container: &'a str,
    pub resource: &'a str,
    pub answer: &'a PluginAnswer,
    /// What of it does not reach the container, as another resource's plugin answered it as well.
    pub dropped: Vec<Dropped>,
}

/// The facts of a node that has none about devices.
static NOTHING: LazyLock<DeviceFacts> = LazyLock::new(DeviceFacts::default);

impl<'a> DeviceList<'a> {
    /// Puts together what the sources say of all pods; `kubelet_start` is when the kubelet started.
    pub fn of(snapshot: &'a Snapshot, asked: Asked, kubelet_start: Option<Timestamp>) -> Self {
        let facts: &'a DeviceFacts = snapshot.devices.as_ref().unwrap_or_else(|| &NOTHING);
        let pods = NodePods::of(snapshot);
        let known = DeviceSources {
            kubelet_start,
            now: snapshot.taken_at.parse().ok(),
            ..DeviceSources::of(asked, facts, &pods)
        };
        let told = asked.pod_resources().then(|| facts.pod_resources.value()).flatten();
        let holdings = Holdings::of(known.checkpoint(), told, &pods);
        let sharing = Sharing::of(&holdings);
        let mut ordered: Vec<(usize, &Key<'a>, &Holding<'a>)> = holdings
            .devices
            .iter()
            .map(|(key, holding)| (holdings.holders[&key.pod].role(key.container).1, key, holding))
            .collect();
        let order = |(at, key, _): &(usize, &Key<'a>, &Holding<'a>)| {
            order(key, pod_ref(&holdings.holders[&key.pod]), *at)
        };
        ordered.sort_by(|a, b| order(a).cmp(&order(b)));
        let items = ordered.into_iter().map(|(_, key, holding)| {
            let holder = &holdings.holders[&key.pod];
            let findings = judge(key, holding, holder, &sharing, &known);
            row(key, holding, holder, findings, &known)
        });
        let items: Vec<DeviceRow<'a>> = items.collect();
        drop(sharing);
        let mut assumptions = Vec::new();
        let resources = summaries(snapshot, &known, &items, &mut assumptions);
        let damage = known.checkpoint().and_then(|read| damage(read, told.is_some())).map(Worded);
        if damage.is_some() && told.is_some() {
            assumptions.push(
                "no init container that ended holds a free device: the kubelet does not report \
                 those, and the checkpoint is damaged"
                    .to_owned(),
            );
        }
        let mut given = given(&holdings, &known);
        given.sort_by_cached_key(|given| (given.pod.shown(), given.container, given.resource));
        let mut warnings = Vec::from_iter(without_runtime(snapshot, &holdings, &pods));
        warnings.extend(only_in_damaged(&holdings, &pods));
        warnings.extend(odd_nodes(&items));
        let mut basis = Basis::default();
        basis.assume_all(assumptions);
        basis.lack_all(missing(snapshot, asked));
        basis.warn_all(warnings);
        Self {
            at: snapshot.taken_at.clone(),
            source: asked,
            items,
            given,
            resources,
            damage,
            basis,
        }
    }

    /// Returns true if every state is known.
    pub fn is_complete(&self) -> bool {
        self.basis.is_complete()
            && self.damage.is_none()
            && self.items.iter().all(|row| row.state != State::Unknown)
    }

    /// Keeps the pods that are meant; resources are about all of them, and left out.
    pub fn select(&mut self, selection: &Selection) {
        if selection.is_all() {
            return;
        }
        let is_meant =
            |pod: &PodRef<'_>| selection.has(pod.namespace, pod.name, pod.uid.unwrap_or_default());
        self.items.retain(|row| is_meant(&row.pod));
        self.given.retain(|given| is_meant(&given.pod));
        self.resources.clear();
    }

    /// Returns true if the node has a resource of this name, or has had one that a container holds.
    pub fn has_resource(&self, name: &str) -> bool {
        self.resources.iter().any(|it| it.resource == name)
            || self.items.iter().any(|it| it.resource == name)
    }

    /// Keeps one resource.
    pub fn select_resource(&mut self, name: &str) {
        self.items.retain(|it| it.resource == name);
        self.given.retain(|it| it.resource == name);
        self.resources.retain(|it| it.resource == name);
    }
}

/// The order of lines: by pod, then as its containers get devices.
fn order<'a>(
    key: &Key<'a>,
    PodRef { namespace, name, uid }: PodRef<'a>,
    at: usize,
) -> (bool, &'a str, &'a str, Option<&'a str>, usize, &'a str, &'a str, &'a str) {
    (name.is_empty(), namespace, name, uid, at, key.container, key.resource, key.device)
}

fn pod_ref<'a>(holder: &Holder<'a>) -> PodRef<'a> {
    PodRef { namespace: holder.namespace, name: holder.name, uid: holder.uid }
}

fn row<'a>(
    key: &Key<'a>,
    holding: &Holding<'a>,
    holder: &Holder<'a>,
    findings: Vec<Reason>,
    known: &DeviceSources<'a, '_>,
) -> DeviceRow<'a> {
    let (health, health_because) = known.health(key.resource, key.device);
    let told = known.asked.pod_resources() && known.facts.pod_resources.found.is_some();
    DeviceRow {
        pod: pod_ref(holder),
        container: key.container,
        role: holder.role(key.container).0,
        resource: key.resource,
        device: key.device,
        numa_nodes: holding.numa_nodes.clone(),
        health,
        health_because: Worded(health_because),
        state: findings.first().map_or(State::Ok, Reason::state),
        findings: findings
            .into_iter()
            .map(|reason| Finding { state: reason.state(), reason: Worded(reason) })
            .collect(),
        in_checkpoint: known.checkpoint().map(|_| holding.in_checkpoint),
        in_pod_resources: told.then_some(holding.in_pod_resources),
    }
}

fn given<'a>(holdings: &Holdings<'a>, known: &DeviceSources<'a, '_>) -> Vec<Given<'a>> {
    let entries: Vec<&'a CheckpointEntry> =
        known.checkpoint().into_iter().flat_map(in_effect).collect();
    // What a container gets follows from all its answers together. Its entries are neighbours.
    let of = |entry: &&'a CheckpointEntry| (&*entry.pod_uid, &*entry.container_name);
    let mut dropped: BTreeMap<(&str, &str), Vec<Dropped>> = BTreeMap::new();
    for entries in entries.chunk_by(|a, b| of(a) == of(b)) {
        let answers = entries.iter().filter_map(|entry| match &entry.answer {
            PluginAnswer::Decoded(answer) => Some((&entry.resource_name, &**answer)),
            _ => None,
        });
        let answers: Vec<(&String, &ContainerAllocateResponse)> = answers.collect();
        if answers.len() > 1 {
            let answers = answers.into_iter().map(|(name, answer)| (name.clone(), answer.clone()));
            let options = run_options(&answers.collect());
            dropped.extend(options.map(|options| (of(&entries[0]), options.dropped)));
        }
    }
    let given = entries.into_iter().filter_map(|entry| {
        let holder = holdings.holders.get(&PodKey::Uid(&entry.pod_uid))?;
        let all = dropped.get(&of(&entry));
        let own = all.into_iter().flatten().filter(|it| it.resource == entry.resource_name);
        Some(Given {
            pod: pod_ref(holder),
            container: &entry.container_name,
            resource: &entry.resource_name,
            answer: &entry.answer,
            dropped: own.cloned().collect(),
        })
    });
    given.collect()
}

/// Returns what is wrong with a checkpoint that the kubelet rejects.
fn damage(read: &CheckpointFact, is_told: bool) -> Option<CheckpointDamage> {
    let (error, entries) = (read.error.clone()?, read.entries.len());
    Some(match (is_told, read.is_partial) {
        (true, _) => CheckpointDamage::KubeletShown { error },
        (false, true) => CheckpointDamage::WholeEntriesShown { error, entries },
        (false, false) => CheckpointDamage::EntriesShown { error },
    })
}

/// Reports the entries of a rejected checkpoint that the kubelet does not report.
fn only_in_damaged(holdings: &Holdings<'_>, pods: &NodePods<'_>) -> Option<Warning> {
    let said: Vec<String> = holdings
        .only_in_damaged
        .iter()
        .map(|key| {
            let PodKey::Uid(uid) = key.pod else { unreachable!("an entry has a UID") };
            let pod = match pods.name(uid) {
                Some((namespace, name)) => format!("{namespace}/{name}"),
                None => uid.to_owned(),
            };
            // In one line, whatever stands in it.
            let plain = |text: &str| text.escape_debug().to_string();
            format!("{} of {} {}", plain(key.device), plain(&pod), plain(key.container))
        })
        .collect();
    (!said.is_empty()).then(|| {
        let text = format!(
            "the damaged checkpoint also has {}, which decides nothing here: it may follow from \
             the damage, or be held by an init container that ended, which the kubelet does not \
             report",
            some(&said)
        );
        Warning::new(WarningCode::DeviceCheckpoint, text)
    })
}

/// Adds the missing answer of the runtime, if it matters.
fn without_runtime(
    snapshot: &Snapshot,
    holdings: &Holdings<'_>,
    pods: &NodePods<'_>,
) -> Option<Warning> {
    let tried = &snapshot.runtime.tried;
    if snapshot.runtime.found.is_some() || tried.is_empty() {
        return None;
    }
    let mut unsure = holdings
        .holders
        .values()
        .filter(|holder| holder.uid.is_some_and(|uid| pods.depends_on_runtime(uid)));
    let first = unsure.next()?.shown();
    let more = and_more(unsure.count());
    let reason = match &tried[..] {
        [one] => one.to_string(),
        several => format!("nothing answers at {} usual places", several.len()),
    };
    let text = format!(
        "the container runtime did not answer ({reason}), so the running containers of \
         {first}{more} are unknown; name it with --runtime-endpoint"
    );
    Some(Missing::new(MissingFact::Containers, text).into())
}

/// Adds the kubelet's treatment of a number that no NUMA node has.
fn odd_nodes(rows: &[DeviceRow<'_>]) -> Option<Warning> {
    let odd = |row: &DeviceRow<'_>| row.numa_nodes.iter().copied().find(|node| *node < 0);
    let mut odd = rows.iter().filter_map(|row| Some((row, odd(row)?)));
    let (row, node) = odd.next()?;
    let more = and_more(odd.count());
    let text = format!(
        "{} {}{more}: NUMA node {node} does not exist; the kubelet reports the recorded number, \
         but allocates by the number from the plugin (kq devices verify)",
        row.resource, row.device
    );
    Some(Warning::new(WarningCode::NumaNode, text).about(row.resource))
}

/// Writes resources by their names, as all answers about devices do.
fn by_name<S: Serializer>(resources: &[ResourceSummary], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(resources.iter().map(|summary| (&summary.resource, summary)))
}

/// Returns what is unknown, each with the way to supply it.
fn missing(snapshot: &Snapshot, asked: Asked) -> Vec<Missing> {
    let Some(facts) = &snapshot.devices else {
        return vec![Missing::new(
            MissingFact::Devices,
            "the snapshot is of a version of kq without devices: take a new one with kq \
             snapshot, or \
             give --checkpoint FILE and --pod-resources FILE to kq devices list",
        )];
    };
    let mut missing = Vec::new();
    if asked.checkpoint() {
        // The damage of an existing one is reported separately.
        let gap = SourceGap::of_checkpoint(facts);
        missing.extend(gap.map(|gap| {
            let text = format!("{gap}; kq devices list --checkpoint FILE reads one");
            Missing::new(gap.fact(), text)
        }));
    }
    if asked.pod_resources() {
        missing.extend(SourceGap::of_health(facts).map(|gap| {
            let text = match gap {
                SourceGap::PodResources { .. } => format!(
                    "{gap}; kq devices list --pod-resources FILE reads its answers, and --source checkpoint \
                     leaves it out"
                ),
                _ => gap.to_string(),
            };
            Missing::new(gap.fact(), text)
        }));
    }
    match snapshot.pods.value() {
        None => {
            let reason = snapshot.pods.reason();
            let text =
                format!("the pods of the node are unknown ({reason}); give them with --pods FILE");
            missing.push(Missing::new(MissingFact::Pods, text));
        }
        Some(pods) => {
            missing.extend(pods.left_out.iter().map(|problem| {
                Missing::new(MissingFact::UnreadPod, format!("left out: {problem}"))
            }));
        }
    }
    missing
}

//! What `dry-run`, `apply` and `watch` have in common: which collection is asked about, and the plan
//! that follows.

use super::pressure::PressureFacts;
use super::records::GcNodeArgs;
use crate::exit::{Failure, note, warn};
use crate::kubelet_node::KubeletNode;
use anyhow::anyhow;
use clap::ValueEnum;
use kq::eviction::Pressure;
use kq::eviction::pressure_view::follows;
use kq::facts::filesystems::FolderRole;
use kq::facts::live::incomplete;
use kq::facts::snapshot::PodSource;
use kq::image_gc::containers::{
    self, ContainerGcPlan, ContainerGcPolicy, Failures, GcState, GcTrigger, Step, pod_states,
};
use kq::image_gc::cycle::ImageFs;
use kq::image_gc::plan::{Basis, ImageGcPlan, Inputs, Reclaim, Trigger, plan};
use kq::image_gc::policy::ImageGcPolicy;
use kq::image_gc::uses::Uses;
use kq::k8s::pod::Pod;
use kq::k8s::quantity::Quantity;
use kq::node::Wants;
use serde::Serialize;
use std::collections::BTreeSet;

/// Which collection is asked about.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// What sets it going
    #[arg(long, value_enum, default_value = "periodic")]
    pub trigger: TriggerArg,

    #[command(flatten)]
    pub usage: UsageArgs,

    #[command(flatten)]
    pub node: GcNodeArgs,
}

/// How full the image file system is.
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    /// Take the image file system for this full, such as 90%
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    at_usage: Option<u8>,

    /// The size of the image file system; else that of the node's
    #[arg(long, value_name = "AMOUNT", value_parser = parse_size, requires = "at_usage")]
    image_fs_capacity: Option<u64>,
}

/// What sets a collection going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TriggerArg {
    /// The kubelet's loop: what is too old, then as much as the thresholds want
    Periodic,
    /// The part of the loop that removes what is too old
    Age,
    /// Disk pressure: what the kubelet would reclaim for it now, or else if there were any
    Eviction,
}

impl From<TriggerArg> for Trigger {
    fn from(trigger: TriggerArg) -> Self {
        match trigger {
            TriggerArg::Periodic => Self::Periodic,
            TriggerArg::Age => Self::Age,
            TriggerArg::Eviction => Self::Eviction,
        }
    }
}

/// A plan, and the pressure that it follows from where it is about pressure.
#[derive(Debug, Serialize)]
pub struct Planned {
    /// What goes and what stays.
    #[serde(flatten)]
    pub plan: ImageGcPlan,
    /// What the eviction manager makes of the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
}

impl Planned {
    /// Returns true if it is unknown for a threshold of a disk whether it is crossed.
    pub fn lacks_facts(&self) -> bool {
        let thresholds = self.pressure.iter().flat_map(|pressure| &pressure.thresholds);
        thresholds.into_iter().any(|threshold| threshold.met.is_none())
    }
}

/// What a plan under disk pressure cannot say.
const LOGS: &str = "folders of logs: the kubelet removes those of pods that are gone along with dead \
                    containers; kq does not look at them, and kq gc apply leaves them";

impl Question {
    /// Gathers everything that a plan rests on.
    pub fn gather(&self) -> Result<KubeletNode, Failure> {
        self.node.gather(match self.trigger {
            TriggerArg::Eviction => Wants::GC_EVICTION,
            TriggerArg::Periodic | TriggerArg::Age => Wants::GC_PLAN,
        })
    }

    /// Plans the collection on a node.
    pub fn plan(&self, node: &KubeletNode) -> Result<Planned, Failure> {
        self.plan_without(node, &BTreeSet::new())
    }

    /// Plans the collection on a node, as if images with these ids could not go.
    pub fn plan_without(
        &self,
        node: &KubeletNode,
        kept: &BTreeSet<String>,
    ) -> Result<Planned, Failure> {
        let trigger = Trigger::from(self.trigger);
        let image_fs = self.usage.image_fs(node);
        let facts = match trigger {
            Trigger::Eviction => {
                let assumed = image_fs.as_ref().ok().filter(|_| self.usage.is_assumed());
                Some(PressureFacts::of(node, assumed.map(|(fs, _)| *fs))?)
            }
            _ => None,
        };
        plan_under(node, trigger, image_fs, facts, kept)
    }
}

/// Plans a collection on a node whose image file system is so full, as if images with these ids
/// could not go.
pub fn plan_collection(
    node: &KubeletNode,
    trigger: Trigger,
    image_fs: Result<(ImageFs, String), String>,
    kept: &BTreeSet<String>,
) -> Result<ImageGcPlan, Failure> {
    Ok(plan_under(node, trigger, image_fs, None, kept)?.plan)
}

/// Plans a collection, under the pressure that there is where that is looked at, and else under any.
fn plan_under(
    node: &KubeletNode,
    trigger: Trigger,
    image_fs: Result<(ImageFs, String), String>,
    facts: Option<PressureFacts<'_>>,
    kept: &BTreeSet<String>,
) -> Result<Planned, Failure> {
    let policy = checked(node)?;
    let (images, _) = (node.images()?, node.containers()?);
    let runtime = node.runtime()?;
    let rules = node.kubelet.rules;
    let all = Uses::of(runtime, &node.workloads, rules, &BTreeSet::new());
    let pressure = facts.as_ref().map(|facts| facts.pressure(None));
    let spares_containers = pressure.as_ref().is_some_and(|found| !found.reclaims.containers);
    let containers = match trigger {
        Trigger::Eviction if !spares_containers => Some(dead_containers(node)?),
        _ => None,
    };
    let reclaim = pressure
        .map(|pressure| Reclaim { images: pressure.reclaims.images, because: pressure.decision });
    let gone: BTreeSet<&str> = containers.iter().flat_map(removed).collect();
    let left = (!gone.is_empty()).then(|| Uses::of(runtime, &node.workloads, rules, &gone));
    let mut planned = plan(Inputs {
        trigger,
        now: node.now,
        policy,
        rules,
        kubelet_start: node.kubelet_start.clone(),
        records: node.snapshot.image_records.value(),
        images,
        uses: left.as_ref().unwrap_or(&all),
        uses_before: &all,
        image_fs,
        storage: &runtime.image_storage,
        containers,
        reclaim,
        kept,
    });
    planned.basis.warnings.extend(node.warnings());
    planned.basis.missing.extend(node.missing_config());
    if trigger == Trigger::Eviction && !has_all_pods(node, &node.pods()) {
        let of_runtime = node.snapshot.runtime.value();
        let reason = incomplete(&node.snapshot.pods, &node.pods(), of_runtime);
        let reason = reason.unwrap_or_else(|| "nobody who knows all of them was asked".to_owned());
        planned.basis.missing.push(format!(
            "not all pods are known, so the dead containers of the others are taken to stay: \
             {reason}"
        ));
    }
    let pressure = facts.map(|facts| facts.pressure(Some(facts.reclaimed(&planned))));
    if let Some(pressure) = &pressure {
        planned.outcome.follows.extend(follows(pressure));
        planned.basis.missing.extend(pressure.missing.iter().cloned());
        if planned.containers.is_some() {
            planned.basis.missing.push(LOGS.to_owned());
        }
    }
    Ok(Planned { plan: planned, pressure })
}

impl UsageArgs {
    /// Tells whether the image file system is said to be something.
    pub fn is_assumed(&self) -> bool {
        self.at_usage.is_some()
    }

    /// Returns the image file system: as it is said to be, else as it is.
    pub fn image_fs(&self, node: &KubeletNode) -> Result<(ImageFs, String), String> {
        let folder = node.snapshot.folders.get(&FolderRole::Images);
        let found = folder.and_then(|folder| {
            let filesystem = folder.filesystem.value()?;
            let fs = ImageFs {
                capacity: Some(filesystem.capacity_bytes),
                available: Some(filesystem.available_bytes),
            };
            let kind = &filesystem.kind;
            Some((fs, format!("{} ({kind} on {})", folder.path, filesystem.mount_point)))
        });
        let Some(percent) = self.at_usage else {
            return found.ok_or_else(|| match folder {
                Some(folder) => format!("{}: {}", folder.path, folder.filesystem.reason()),
                None => match node.snapshot.runtime.value() {
                    Some(runtime) => runtime.image_filesystems.reason(),
                    None => "the runtime does not say where it keeps images".to_owned(),
                },
            });
        };
        let capacity = self
            .image_fs_capacity
            .or_else(|| found.as_ref().and_then(|(fs, _)| fs.capacity))
            .ok_or("its size is not known: say --image-fs-capacity")?;
        // Rounded up, so that the usage comes out as it was said.
        let available = (u128::from(capacity) * u128::from(100 - percent)).div_ceil(100);
        let fs = ImageFs { capacity: Some(capacity), available: u64::try_from(available).ok() };
        let place = found.map(|(_, source)| format!(", {source}")).unwrap_or_default();
        Ok((fs, format!("as it would be at --at-usage {percent}%{place}")))
    }
}

/// Returns the policy, unless the kubelet would not start with it.
fn checked(node: &KubeletNode) -> Result<ImageGcPolicy, Failure> {
    let policy = node.policy();
    if let Some(error) = node.kubelet.errors.first() {
        return Err(Failure::usage(anyhow!(
            "the kubelet would not start with this configuration: {error}"
        ))
        .hint("kq gc policy shows who set what"));
    }
    policy.validate().map_err(Failure::usage)?;
    Ok(policy)
}

/// Plans what goes before images under disk pressure.
pub fn dead_containers(node: &KubeletNode) -> Result<ContainerGcPlan, Failure> {
    collected_containers(node, GcTrigger::Eviction)
}

/// Returns the limits of dead containers.
pub fn container_policy(node: &KubeletNode) -> ContainerGcPolicy {
    let flags = node.snapshot.kubelet.value().map(|process| process.interpreted().container_gc);
    flags.as_ref().map_or_else(ContainerGcPolicy::default, Into::into)
}

/// Plans a collection of dead containers.
pub fn collected_containers(
    node: &KubeletNode,
    trigger: GcTrigger,
) -> Result<ContainerGcPlan, Failure> {
    let runtime = node.runtime()?;
    let containers = node.containers()?;
    let sandboxes = runtime.sandboxes.value().map(Vec::as_slice).ok_or_else(|| {
        let reason = runtime.sandboxes.reason();
        Failure::missing(anyhow!("the sandboxes could not be listed: {reason}"))
    })?;
    let pods = node.pods();
    let is_complete = has_all_pods(node, &pods);
    let uids = containers.iter().map(|container| container.pod_uid.as_str());
    let uids: BTreeSet<&str> =
        uids.chain(sandboxes.iter().map(|sandbox| sandbox.uid.as_str())).collect();
    let running: BTreeSet<&str> = containers
        .iter()
        .filter(|container| container.state == kq::facts::runtime::ContainerState::Running)
        .map(|container| container.pod_uid.as_str())
        .collect();
    let state = GcState {
        now: node.now.0,
        containers: containers.iter().map(Into::into).collect(),
        sandboxes: sandboxes.iter().map(Into::into).collect(),
        pods: pod_states(&pods, is_complete, uids, |uid| running.contains(uid)),
        all_sources_ready: true,
        ..GcState::default()
    };
    containers::plan(&container_policy(node), &state, trigger, &Failures::default())
        .map_err(Failure::usage)
}

/// Tells whether a pod that is not known is gone. A list that never has all pods tells that of none: after
/// a reboot nothing runs yet, and the pods that are about to start again look like those that are gone.
fn has_all_pods(node: &KubeletNode, pods: &[&Pod]) -> bool {
    let found = node.snapshot.pods.value();
    // A kubelet that has just started lists static pods only, until the API server tells it the others.
    let tells = |source| matches!(source, PodSource::ApiServer | PodSource::Files);
    found.is_some_and(|found| tells(found.source))
        && incomplete(&node.snapshot.pods, pods, node.snapshot.runtime.value()).is_none()
}

/// Returns the ids of the containers that go.
fn removed(plan: &ContainerGcPlan) -> impl Iterator<Item = &str> {
    plan.steps.iter().filter_map(|step| match step {
        Step::Container(step) => Some(step.id.as_str()),
        _ => None,
    })
}

/// Writes what an answer rests on beside it.
pub fn write_basis(plan: &ImageGcPlan) {
    write_notes(&plan.basis);
}

/// Writes what an answer rests on.
pub fn write_notes(basis: &Basis) {
    if let Some(start) = &basis.kubelet_start {
        note("kubelet start", &format!("{} ({})", start.at, start.source));
    }
    for assumption in &basis.assumptions {
        note("assumed", assumption);
    }
    for missing in &basis.missing {
        note("missing", missing);
    }
    for warning in &basis.warnings {
        warn(warning);
    }
}

fn parse_percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err("expected a whole percentage, such as 90%".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    let amount: Quantity = text.parse().map_err(|error| format!("{error}"))?;
    amount
        .as_units()
        .and_then(|bytes| u64::try_from(bytes).ok())
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a whole number of bytes above 0, such as 100Gi".to_owned())
}

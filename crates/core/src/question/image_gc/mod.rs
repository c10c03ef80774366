//! Image garbage collection on a node: the plan, and under disk pressure the eviction manager's decision that it
//! follows from.

/// One image, and the disk.
pub mod explain;
/// Unwise settings.
pub mod lint;

pub use kq_image_gc::plan::Trigger;

use super::disk_pressure::PressureFacts;
use anyhow::anyhow;
use kq_answer::{Answer, Basis, Failure, Headline, Missing, MissingFact, Warning, WarningCode};
use kq_eviction::pressure_view::follows;
use kq_eviction::{Pressure, ReclaimFunction, ThresholdRow};
use kq_facts::filesystems::FolderRole;
use kq_facts::kubelet_config::Signal;
use kq_facts::live::incomplete;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::snapshot::PodSource;
use kq_image_gc::containers::{
    self, ContainerGcPlan, ContainerGcPolicy, Failures, GcState, GcTrigger, Step, pod_states,
};
use kq_image_gc::cycle::ImageFs;
use kq_image_gc::images::ImageList;
use kq_image_gc::plan::{ImageGcPlan, Inputs, Reclaim, plan};
use kq_image_gc::policy::ImageGcPolicy;
use kq_image_gc::policy_report::{GcPolicy, PolicySources};
use kq_image_gc::reason::Consequence;
use kq_image_gc::uses::Uses;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::pod::Pod;
use serde::Serialize;
use std::collections::BTreeSet;

/// Options of a collection.
#[derive(Clone, Debug)]
pub struct ImageGcOptions {
    /// The cause of the collection.
    pub trigger: Trigger,
    /// The usage of the image file system.
    pub usage: ImageFsUsage,
    /// The IDs of images that cannot be removed.
    pub kept: BTreeSet<String>,
}

impl ImageGcOptions {
    /// Returns the options for a collection with this cause on the node as it is.
    pub fn new(trigger: Trigger) -> Self {
        Self { trigger, usage: ImageFsUsage::default(), kept: BTreeSet::new() }
    }
}

/// The usage of the image file system; the default is the measured one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageFsUsage {
    /// A usage in percent instead of the measured one.
    pub percent: Option<u8>,
    /// A capacity in bytes instead of the measured one.
    pub capacity_bytes: Option<u64>,
}

/// A plan, and the pressure that it follows from where it is about pressure.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct ImageGcAnswer {
    /// What goes and what stays.
    #[serde(flatten)]
    pub plan: ImageGcPlan,
    /// The eviction manager's view of the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
}

impl Answer for ImageGcAnswer {
    const KIND: &'static str = ImageGcPlan::KIND;

    fn headline(&self) -> Option<Headline> {
        let own = self.plan.headline()?;
        let evicted = self.pressure.as_ref().filter(|_| !self.plan.lacks_settings());
        Some(match evicted.and_then(Pressure::falls_short) {
            Some(evicted) => {
                let text = format!("{}; the reclaim is not enough, and {evicted}", own.text);
                Headline::new("not-enough", text)
            }
            None => own,
        })
    }

    fn basis(&self) -> &Basis {
        &self.plan.basis
    }
}

impl ImageGcAnswer {
    /// Returns true if it is unknown for a threshold of a disk whether it is crossed.
    pub fn lacks_facts(&self) -> bool {
        let thresholds = self.pressure.iter().flat_map(|pressure| &pressure.thresholds);
        thresholds.into_iter().any(|threshold| threshold.met.is_none())
    }
}

/// What a plan under disk pressure cannot say.
const LOGS: &str = "folders of logs: the kubelet removes those of pods that are gone along with dead \
                    containers; kq does not read them, and kq gc apply leaves them";

/// Returns the facts that [`image_list`] needs.
pub fn image_list_needs() -> Needs {
    Needs::GC_IMAGES
}

/// Lists the images of a node.
///
/// # Errors
///
/// Fails where the images or the runtime are unknown.
pub fn image_list(node: &Node) -> Result<ImageList, Failure> {
    let images = node.images()?;
    let runtime = node.runtime()?;
    let rules = node.kubelet.rules;
    let uses = Uses::of(runtime, &node.workloads, rules, &BTreeSet::new());
    let records = node.snapshot.image_records.value();
    let mut list = ImageList::of(images, &uses, records, rules, node.now);
    if runtime.containers.found.is_none() {
        let text = format!("the users of the images: {}", runtime.containers.reason());
        list.basis.lack(Missing::new(MissingFact::Containers, text));
    }
    Ok(list)
}

/// Returns the facts that [`gc_policy`] needs.
pub fn gc_policy_needs() -> Needs {
    Needs::GC_POLICY
}

/// Returns the policy of a node's kubelet.
pub fn gc_policy(node: &Node) -> GcPolicy {
    let flags = node.snapshot.kubelet.value().map(|process| process.interpreted().container_gc);
    let mut policy = GcPolicy::of(PolicySources {
        config: &node.kubelet.config,
        gates: node.kubelet.rules.gates,
        origins: &node.kubelet.origins,
        container_flags: flags.as_ref(),
    });
    policy.basis.lack_all(node.missing_config());
    policy.basis.warn_all(node.warnings());
    policy.basis.assume_all(node.kubelet.version.certainty(RuleArea::Images));
    policy
}

/// Returns the facts that a plan needs.
pub fn image_gc_needs(trigger: Trigger) -> Needs {
    match trigger {
        Trigger::Eviction => Needs::GC_EVICTION,
        _ => Needs::GC_PLAN,
    }
}

/// Plans the collection on a node.
///
/// # Errors
///
/// Fails where the kubelet would not start with its configuration, and where the runtime does not list images or
/// containers.
pub fn image_gc_plan(node: &Node, options: &ImageGcOptions) -> Result<ImageGcAnswer, Failure> {
    let image_fs = options.usage.image_fs(node);
    let crossed = match options.trigger {
        Trigger::Periodic if options.usage.percent.is_none() => crossed_for_images(node),
        _ => None,
    };
    let facts = match options.trigger {
        Trigger::Eviction => {
            let assumed = image_fs.as_ref().ok().filter(|_| options.usage.percent.is_some());
            Some(PressureFacts::of(node, assumed.map(|(fs, _)| *fs))?)
        }
        _ => None,
    };
    let mut answer = plan_under(node, options.trigger, image_fs, facts, &options.kept)?;
    if let Some(signal) = crossed {
        after_eviction(&mut answer.plan, signal);
    }
    Ok(answer)
}

/// Returns the signal of a crossed threshold for which the eviction manager removes unused images, every ten seconds: the periodic
/// collection comes after it.
pub(super) fn crossed_for_images(node: &Node) -> Option<Signal> {
    // Unknown thresholds are not crossed for all that is known.
    let facts = PressureFacts::of(node, None).ok().filter(|_| !node.lacks_config())?;
    let pressure = facts.pressure(None);
    let mut crossed = pressure.thresholds.iter().filter(|row| row.met == Some(true));
    let removes_images =
        |row: &&ThresholdRow| row.reclaim.contains(&ReclaimFunction::DeleteUnusedImages);
    crossed.find(removes_images).map(|row| row.signal).filter(|_| pressure.reclaims.images)
}

/// Says of a periodic collection that the eviction manager removes images before it.
pub(super) fn after_eviction(plan: &mut ImageGcPlan, signal: Signal) {
    let text = format!(
        "{signal} is crossed now: the eviction manager removes unused images before this collection (kq gc \
         dry-run --trigger eviction)"
    );
    plan.basis.warn(Warning::new(WarningCode::ThresholdCrossed, text).about(signal.as_str()));
    plan.leave_open_for_eviction(signal);
}

/// Plans a collection on a node whose image file system is so full, as if images with these ids
/// could not go.
pub fn plan_collection(
    node: &Node,
    trigger: Trigger,
    image_fs: Result<(ImageFs, String), String>,
    kept: &BTreeSet<String>,
) -> Result<ImageGcPlan, Failure> {
    Ok(plan_under(node, trigger, image_fs, None, kept)?.plan)
}

/// Plans a collection; with `facts` under the measured pressure, else assuming a crossed threshold.
fn plan_under(
    node: &Node,
    trigger: Trigger,
    image_fs: Result<(ImageFs, String), String>,
    facts: Option<PressureFacts<'_>>,
    kept: &BTreeSet<String>,
) -> Result<ImageGcAnswer, Failure> {
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
    let reclaim = pressure.map(|pressure| Reclaim {
        images: pressure.reclaims.images,
        because: pressure.decision.iter().map(ToString::to_string).collect(),
    });
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
    planned.basis.lacks_kubelet = node.lacks_kubelet();
    planned.basis.warn_all(node.warnings());
    planned.basis.assume_all(node.kubelet.version.certainty(RuleArea::Images));
    planned.basis.lack_all(node.missing_config());
    if node.lacks_config() {
        planned.leave_open_for_settings();
    }
    if trigger == Trigger::Eviction && !has_all_pods(node, &node.pods()) {
        let of_runtime = node.snapshot.runtime.value();
        let reason = incomplete(&node.snapshot.pods, &node.pods(), of_runtime);
        let reason = reason.map(|it| it.text);
        let reason = reason.unwrap_or_else(|| "no source with all pods was queried".to_owned());
        let text = format!(
            "not all pods are known, so the dead containers of the others are taken to stay: \
             {reason}"
        );
        planned.basis.lack(Missing::new(MissingFact::Pods, text));
    }
    let pressure = facts.map(|facts| facts.pressure(Some(facts.reclaimed(&planned))));
    if let Some(pressure) = &pressure {
        let sentences = follows(pressure).into_iter();
        let manager = sentences.map(|sentence| Consequence::EvictionManager { sentence }.into());
        planned.outcome.follows.extend(manager);
        planned.basis.lack_all(pressure.missing.iter().cloned());
        if planned.containers.is_some() {
            planned.basis.lack(Missing::new(MissingFact::ContainerLogs, LOGS));
        }
    }
    Ok(ImageGcAnswer { plan: planned, pressure })
}

impl ImageFsUsage {
    /// Returns the image file system: as assumed by a flag, else as it is.
    pub fn image_fs(&self, node: &Node) -> Result<(ImageFs, String), String> {
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
        let Some(percent) = self.percent else {
            return found.ok_or_else(|| match folder {
                Some(folder) => format!("{}: {}", folder.path, folder.filesystem.reason()),
                None => match node.snapshot.runtime.value() {
                    Some(runtime) => runtime.image_filesystems.reason(),
                    None => "the runtime does not report the location of its images".to_owned(),
                },
            });
        };
        let capacity = self
            .capacity_bytes
            .or_else(|| found.as_ref().and_then(|(fs, _)| fs.capacity))
            .ok_or("its size is unknown: set --image-fs-capacity")?;
        // Rounded up, so that the usage comes out as it was said.
        let available = (u128::from(capacity) * u128::from(100 - percent)).div_ceil(100);
        let fs = ImageFs { capacity: Some(capacity), available: u64::try_from(available).ok() };
        let place = found.map(|(_, source)| format!(", {source}")).unwrap_or_default();
        Ok((fs, format!("as it would be at --at-usage {percent}%{place}")))
    }
}

/// Returns the policy of what the kubelet takes of its configuration.
fn checked(node: &Node) -> Result<ImageGcPolicy, Failure> {
    let policy = ImageGcPolicy::of(node.config());
    policy.validate().map_err(Failure::usage)?;
    Ok(policy)
}

/// Plans what goes before images under disk pressure.
pub fn dead_containers(node: &Node) -> Result<ContainerGcPlan, Failure> {
    collected_containers(node, GcTrigger::Eviction)
}

/// Returns the limits of dead containers.
pub fn container_policy(node: &Node) -> ContainerGcPolicy {
    let flags = node.snapshot.kubelet.value().map(|process| process.interpreted().container_gc);
    flags.as_ref().map_or_else(ContainerGcPolicy::default, Into::into)
}

/// Plans a collection of dead containers.
pub fn collected_containers(node: &Node, trigger: GcTrigger) -> Result<ContainerGcPlan, Failure> {
    let runtime = node.runtime()?;
    let containers = node.containers()?;
    let sandboxes = runtime.sandboxes.value().map(AsRef::as_ref).ok_or_else(|| {
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
        .filter(|container| container.state == kq_facts::runtime::ContainerState::Running)
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

/// Returns true if a pod that is not known is gone. An incomplete list does not show that: after
/// a reboot nothing runs yet, and the pods that are about to start again look like those that are gone.
fn has_all_pods(node: &Node, pods: &[&Pod]) -> bool {
    let found = node.snapshot.pods.value();
    // A kubelet that has just started lists static pods only, until the API server sends it the others.
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

//! The state and fate of one image: its properties, its users, its possible times in the kubelet's memory, and the
//! result of it with each trigger, and when it could go at the earliest.
//!
//! The verdicts come from the plans of the whole collections (`plan`); under disk pressure, as
//! if images were what is short.

mod earliest;
mod reason;
mod sharing;
mod view;

#[cfg(test)]
mod tests;

pub use earliest::{ExplainedUse, SpaceWay, Way, WayBy, WayState, largest_available};
pub use reason::{DeadLimit, UseFate, WayReason};
pub use sharing::{SharedWith, Sharing};
pub use view::{describe, describe_wide};

use crate::containers::{ContainerGcPlan, ContainerGcPolicy};
use crate::cycle::image_key;
use crate::knowledge::{DETECTION_PERIOD, ImageTimes, LastUse, Sources, Span};
use crate::plan::{ImageGcPlan, Places, PlannedImage, Ties, Trigger, Verdict};
use crate::policy::ImageGcPolicy;
use crate::reason::{Dependency, ImageReason, RunReason};
use crate::uses::{Use, Uses};
use kq_answer::{Basis, Certainty, Headline, MissingFact, Worded, answer};
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage};
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_output::units::Precision;
use serde::Serialize;

/// Everything that the story is made from.
#[derive(Clone, Copy, Debug)]
pub struct ExplainInput<'a> {
    pub image: &'a Image,
    /// All images.
    pub images: &'a [Image],
    /// The plan of the loop.
    pub periodic: &'a ImageGcPlan,
    /// The plan of the part of the loop that removes what is too old.
    pub age: &'a ImageGcPlan,
    /// The plan under disk pressure.
    pub eviction: &'a ImageGcPlan,
    /// The plan of the loop if the disk were just so full that space is wanted; `None`: it is, or how
    /// full it is is not known.
    pub at_threshold: Option<&'a ImageGcPlan>,
    /// The dead containers that the loop of containers removes.
    pub containers: &'a ContainerGcPlan,
    /// The limits of dead containers.
    pub container_policy: ContainerGcPolicy,
    /// Who uses the images now.
    pub uses: &'a Uses,
    /// What images share.
    pub storage: &'a Lookup<ImageStorage>,
    /// What is known of the kubelet's memory.
    pub sources: Sources<'a>,
    /// The thresholds and ages.
    pub policy: ImageGcPolicy,
    /// The kubelet's version and gates.
    pub rules: KubeletRules,
}

/// The story of one image.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageExplanation {
    /// The moment of the explanation.
    pub at: Timestamp,
    pub image: ExplainedImage,
    /// What of it other images and containers hold as well.
    pub sharing: Sharing,
    /// The containers that use it.
    pub used_by: Vec<ExplainedUse>,
    /// What is known of the kubelet's memory of it.
    pub known: ImageTimes,
    /// The verdict now, by trigger.
    pub triggers: Vec<TriggerVerdict>,
    /// When it could go at the earliest, by way.
    pub earliest: Vec<Way>,
    /// What all of this rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ImageExplanation", ImageExplanation; ImageExplanation::headline);

impl ImageExplanation {
    /// Returns true if it is unknown whether the image goes.
    pub fn is_unknown(&self) -> bool {
        self.decided().is_none()
    }

    /// Returns what the next collection does, if that is known.
    fn decided(&self) -> Option<&TriggerVerdict> {
        let lacks_usage =
            || self.basis.missing.iter().any(|it| it.fact == MissingFact::ImageFilesystems);
        self.triggers.first().filter(|now| {
            let depends_on_space = now.verdict == Verdict::NotWanted && lacks_usage();
            now.certainty != Certainty::Unknown && !depends_on_space
        })
    }

    /// Returns whether the image goes.
    fn headline(&self) -> Headline {
        let name = crate::plan::names(&self.image.tags, &self.image.digests);
        let Some(now) = self.decided() else {
            let reason = self.triggers.first().map(|now| Precision::Short.text(&now.reason));
            let reason = reason.map(|it| format!(": {it}")).unwrap_or_default();
            return Headline::new("unknown", format!("whether {name} goes is unknown{reason}"));
        };
        let when = now.trigger.when(self.basis.lacks_kubelet);
        let does = match (now.verdict.is_removal(), now.certainty) {
            (true, Certainty::Certain) => format!("goes {when}"),
            (true, Certainty::Likely) => format!("probably goes {when}"),
            (true, _) => format!("may go {when}"),
            (false, Certainty::Certain) => "stays".to_owned(),
            (false, Certainty::Likely) => "probably stays".to_owned(),
            (false, _) => "may stay".to_owned(),
        };
        let reason = Precision::Short.text(&now.reason);
        Headline::of(&now.verdict, format!("{name} {does}: {reason}"))
    }
}

/// What an image is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedImage {
    pub id: String,
    /// The class of runtime for which it was pulled.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
    /// `NAME:TAG`
    pub tags: Vec<String>,
    /// `NAME@DIGEST`
    pub digests: Vec<String>,
    /// In bytes, as the runtime counts and the kubelet uses it.
    pub size_bytes: i64,
    /// The runtime wants it kept.
    pub pinned: bool,
    /// A container uses it.
    pub in_use: bool,
}

/// The verdict on an image with one trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerVerdict {
    /// What sets the collection going.
    pub trigger: Trigger,
    /// Why it runs, or not.
    pub because: Vec<Worded<RunReason>>,
    /// Its place in the order in which images go, from 1; null: it is no candidate.
    pub place: Option<usize>,
    /// How many candidates there are.
    pub candidates: usize,
    /// The result.
    pub verdict: Verdict,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    pub reason: Worded<ImageReason>,
    /// The facts on which the verdict depends; null: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Worded<Dependency>>,
    /// The ids of those that go in any order with it, as far as is known.
    #[serde(skip_serializing_if = "Ties::is_empty")]
    pub tied_with: Ties,
    /// The places of all that go in any order with it, where `tied_with` does not name them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tied_places: Option<Places>,
}

/// Explains an image; `None`: a plan is about other images.
pub fn explain(input: ExplainInput<'_>) -> Option<ImageExplanation> {
    let ExplainInput { image, rules, .. } = input;
    let key = image_key(image.id.as_str(), &image.runtime_handler, rules);
    let used_by = input.uses.of_key(&key);
    let now = item(input.periodic, image)?;
    let triggers = [input.periodic, input.age, input.eviction];
    let verdicts: Option<Vec<TriggerVerdict>> =
        triggers.into_iter().map(|plan| verdict(plan, image)).collect();
    let in_use = now.verdict == Verdict::InUse;
    let known = match now.known {
        Some(known) => known,
        None => known_beside(input, used_by, in_use),
    };
    Some(ImageExplanation {
        at: input.sources.now,
        image: ExplainedImage {
            id: image.id.clone(),
            runtime_handler: image.runtime_handler.clone(),
            tags: image.repo_tags.clone(),
            digests: image.repo_digests.clone(),
            size_bytes: image.size as i64,
            pinned: image.pinned,
            in_use,
        },
        sharing: Sharing::of(input.storage, image, input.images),
        used_by: used_by.iter().map(|used| ExplainedUse::of(used, input)).collect(),
        known,
        triggers: verdicts?,
        earliest: earliest::ways(input, &known)?,
        basis: basis(input),
    })
}

/// Returns the line of a plan that is about an image.
fn item<'p>(plan: &'p ImageGcPlan, image: &Image) -> Option<&'p PlannedImage> {
    let is_same =
        |item: &&PlannedImage| item.id == image.id && item.runtime_handler == image.runtime_handler;
    // Without the gate an image that is listed for two handlers is one.
    let is_same_id = |item: &&PlannedImage| item.id == image.id;
    plan.items.iter().find(is_same).or_else(|| plan.items.iter().find(is_same_id))
}

fn candidates(plan: &ImageGcPlan) -> usize {
    plan.items.iter().filter(|item| item.place.is_some()).count()
}

fn verdict(plan: &ImageGcPlan, image: &Image) -> Option<TriggerVerdict> {
    let item = item(plan, image)?;
    Some(TriggerVerdict {
        trigger: plan.trigger,
        because: plan.run.because.clone(),
        place: item.place,
        candidates: candidates(plan),
        verdict: item.verdict,
        certainty: item.certainty,
        reason: item.reason.clone(),
        depends_on: item.depends_on,
        tied_with: item.tied_with.clone(),
        tied_places: item.tied_places,
    })
}

/// Returns what is known of an image of which a plan needs to know nothing: it is in use, or pinned.
fn known_beside(input: ExplainInput<'_>, used_by: &[Use], in_use: bool) -> ImageTimes {
    let sources = input.sources;
    let created = used_by.iter().map(|used| used.created_at).min();
    let known = ImageTimes::of(sources, &input.image.id, &input.image.runtime_handler, created);
    if !in_use {
        return known;
    }
    // Each look finds it in use, and one was there already if it has been so for long enough.
    let look = sources.now.plus(-DETECTION_PERIOD.0);
    let is_known = |time: Option<Timestamp>| time.is_some_and(|time| time <= look);
    let was_seen = is_known(created) && is_known(sources.kubelet_start);
    let earliest = if was_seen { Some(look) } else { sources.kubelet_start };
    ImageTimes {
        last_used: LastUse {
            may_be_never: !was_seen,
            span: Some(Span { earliest, latest: sources.now }),
        },
        likely_last_used: Some(sources.now),
        ..known
    }
}

/// Puts together what the plans rest on; most of it is the same.
fn basis(input: ExplainInput<'_>) -> Basis {
    let mut basis = input.periodic.basis.clone();
    for other in [&input.eviction.basis.missing, &input.age.basis.missing] {
        let more = other.iter().filter(|it| !input.periodic.basis.missing.contains(it));
        basis.lack_all(more.cloned());
    }
    basis.missing.dedup();
    basis
}

//! Removes the images of a plan, and under disk pressure dead containers before them.

use super::runtime::{NodeRuntime, usage_now};
use anyhow::anyhow;
use kq_answer::{Failure, plan_digest};
use kq_core::question::image_gc::{ImageGcAnswer, ImageGcOptions, image_gc_plan};
use kq_facts::node::Node;
use kq_image_gc::apply::{Removal, Removals, Removed, apply, removals, unsure};
use kq_image_gc::apply_report::{ContainerResult, ImageGcApply, container_line, result_line};
use kq_image_gc::containers::Step;
use kq_image_gc::plan::{ImageGcPlan, Trigger};
use regex::Regex;
use std::collections::BTreeSet;
use std::time::Duration;

/// Limits of a removal.
#[derive(Debug)]
pub struct RemovalOptions {
    /// The number of images removed at most.
    pub max: Option<usize>,
    /// Images with a matching tag, digest or ID stay.
    pub keep: Vec<Regex>,
    /// Also removes images that may be too young.
    pub allow_unsure: bool,
    /// Limits each call to the runtime.
    pub timeout: Duration,
}

impl RemovalOptions {
    /// Returns the IDs of the images to keep: those that match, and those that the runtime lists more than once and
    /// not always as pinned, of which the kubelet uses the last entry.
    fn kept(&self, node: &Node) -> Result<BTreeSet<String>, Failure> {
        let images = node.images()?;
        let matches = |text: &String| self.keep.iter().any(|regex| regex.is_match(text));
        let of = |is_pinned: bool| -> BTreeSet<&String> {
            images.iter().filter(|image| image.pinned == is_pinned).map(|image| &image.id).collect()
        };
        let (pinned, others) = (of(true), of(false));
        let kept = images.iter().filter(|image| {
            let names = image.repo_tags.iter().chain(&image.repo_digests);
            let is_both = pinned.contains(&image.id) && others.contains(&image.id);
            is_both || names.chain([&image.id]).any(matches)
        });
        Ok(kept.map(|image| image.id.clone()).collect())
    }
}

/// A step of a removal that is done.
#[derive(Debug)]
pub enum Event<'a> {
    /// Enough space has become free since the plan was made: no image is removed for space.
    EnoughSpace,
    /// A dead container or sandbox.
    Container(&'a ContainerResult),
    /// An image: its index, the number of images, and the result.
    Image(usize, usize, &'a Removal, &'a Removed),
}

impl Event<'_> {
    /// Returns the line about the step.
    pub fn line(&self) -> String {
        match self {
            Self::EnoughSpace => "enough space is free now".to_owned(),
            Self::Container(result) => container_line(result),
            Self::Image(index, total, removal, result) => {
                result_line(*index, *total, removal, result)
            }
        }
    }
}

/// A planned removal; nothing is removed yet.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub planned: ImageGcAnswer,
    /// The number of images of the plan that stay because of [`RemovalOptions::max`].
    pub cut: usize,
    node: Node,
    options: &'a RemovalOptions,
    is_usage_measured: bool,
    images: Vec<Removal>,
}

/// Plans a removal.
///
/// # Errors
///
/// Fails as [`image_gc_plan`] does.
pub fn prepare<'a>(
    node: Node,
    question: &ImageGcOptions,
    options: &'a RemovalOptions,
) -> Result<Prepared<'a>, Failure> {
    let question = ImageGcOptions { kept: options.kept(&node)?, ..question.clone() };
    let planned = image_gc_plan(&node, &question)?;
    let mut images = removals(&planned.plan, options.allow_unsure);
    let cut = options.max.map_or(0, |max| images.len().saturating_sub(max));
    images.truncate(images.len() - cut);
    let is_usage_measured = question.usage.percent.is_none();
    Ok(Prepared { planned, cut, node, options, is_usage_measured, images })
}

impl Prepared<'_> {
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    pub fn plan(&self) -> &ImageGcPlan {
        &self.planned.plan
    }

    /// Returns the number of images to remove.
    pub fn images(&self) -> usize {
        self.images.len()
    }

    /// Returns the number of dead containers and sandboxes to remove.
    pub fn containers(&self) -> usize {
        self.dead().count()
    }

    /// Returns the number of images that stay because they may be too young.
    pub fn unsure(&self) -> usize {
        if self.options.allow_unsure { 0 } else { unsure(self.plan()) }
    }

    /// Returns the bytes to free; `None`: every listed image is removed.
    fn target(&self) -> Option<i64> {
        match self.plan().trigger {
            Trigger::Periodic => self.plan().run.amount_to_free_bytes,
            Trigger::Age | Trigger::Eviction => None,
        }
    }

    /// Returns true if the kubelet's collection would fail; without a dry run, where nothing is removed, also if it
    /// wants space.
    pub fn is_short(&self, dry_run: bool) -> bool {
        let wants_space = !dry_run && self.target().is_some_and(|target| target > 0);
        wants_space || self.plan().outcome.error.is_some()
    }

    /// Returns the reason for which the plan must not be executed.
    pub fn refusal(&self) -> Option<Failure> {
        if let Some(unknown) = self.unknown() {
            return Some(self.with_hint(Failure::refused(anyhow!(unknown))));
        }
        let is_assumed = |one: &kq_eviction::Pressure| one.reclaims.is_assumed;
        self.planned.pressure.as_ref().is_some_and(is_assumed).then(|| {
            Failure::refused(anyhow!(
                "no eviction threshold is known to be crossed, so nothing is removed"
            ))
            .hint("--at-usage 100% removes the images that disk pressure would remove")
        })
    }

    /// Returns what is unknown, where it is unknown whether the kubelet wants space.
    pub(super) fn unknown(&self) -> Option<String> {
        let run = &self.plan().run;
        run.wants_space.is_none().then(|| format!("{}, so nothing is removed", run.unknown()))
    }

    /// Names the flag that supplies what is unknown.
    pub(super) fn with_hint(&self, failure: Failure) -> Failure {
        match (self.plan().run.usage, &self.plan().kubelet_start) {
            (None, _) => failure.hint("set the usage with --at-usage PERCENT"),
            (Some(_), None) => failure.hint("set the start of the kubelet with --kubelet-start"),
            (Some(_), Some(_)) => failure,
        }
    }

    /// Returns the dead containers and sandboxes that would be removed: the word for each, its ID and its name.
    fn dead(&self) -> impl Iterator<Item = (&'static str, &str, &str)> {
        let steps = self.plan().containers.iter().flat_map(|containers| &containers.steps);
        steps.filter_map(|step| match step {
            Step::Container(it) => Some(("container", it.id.as_str(), it.name.as_str())),
            Step::Sandbox(it) => Some(("sandbox", it.id.as_str(), it.pod_uid.as_str())),
            Step::LogDirectory(_) => None,
        })
    }

    /// Returns the digest of everything that would be removed, in order.
    pub fn plan_digest(&self) -> String {
        let containers: Vec<&str> = self.dead().map(|(_, id, _)| id).collect();
        let images: Vec<&str> = self.images.iter().map(|removal| removal.id.as_str()).collect();
        plan_digest(&(containers, images))
    }

    /// Returns the report of a run that removes nothing.
    pub fn unchanged(&self, dry_run: bool) -> ImageGcApply {
        let mut report = ImageGcApply::new(
            self.plan().at,
            self.plan_digest(),
            &self.images,
            self.target(),
            None,
        );
        report.dry_run = dry_run;
        report.containers = self.dead().map(|(what, id, name)| planned(what, id, name)).collect();
        report
    }

    /// Removes the images, and passes each result on at once.
    ///
    /// # Errors
    ///
    /// Fails if there is no connection to the runtime. Nothing is removed then.
    pub fn execute(&self, observe: &mut dyn FnMut(Event<'_>)) -> Result<ImageGcApply, Failure> {
        let plan = self.plan();
        let (mut images, mut target) = (self.images.clone(), self.target());
        let runtime = NodeRuntime::connect(&self.node, self.options.timeout)?;
        let before = usage_now(&self.node);
        // The kubelet may have collected since the plan was made.
        let high = i64::from(plan.run.high_threshold_percent);
        let is_below = before.is_some_and(|usage| usage.percent < high);
        if target.is_some() && is_below && self.is_usage_measured {
            images.retain(|removal| !removal.for_space);
            target = None;
            observe(Event::EnoughSpace);
        }
        let (containers, stopped) = match &plan.containers {
            Some(steps) => {
                runtime.remove_containers(steps, |result| observe(Event::Container(result)))
            }
            None => (Vec::new(), None),
        };
        let done = match &stopped {
            Some(_) => {
                Removals { results: vec![Removed::Left; images.len()], ..Removals::default() }
            }
            None => apply(&images, target, &runtime, &mut |index, removal, result| {
                observe(Event::Image(index, images.len(), removal, result));
            }),
        };
        let mut report =
            ImageGcApply::new(plan.at, self.plan_digest(), &images, target, Some(&done));
        report.containers = containers;
        report.stopped = stopped.or(report.stopped);
        report.measured(before, usage_now(&self.node));
        Ok(report)
    }
}

fn planned(what: &'static str, id: &str, name: &str) -> ContainerResult {
    ContainerResult { what, id: id.to_owned(), name: name.to_owned(), result: None }
}

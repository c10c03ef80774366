//! `kq gc apply`

use super::dry_run::show;
use super::question::Question;
use super::runtime::{NodeRuntime, refuse_snapshot, usage_now};
use crate::confirm::ask;
use crate::exit::{self, Code, Failure, note, tell_all};
use crate::kubelet_node::KubeletNode;
use crate::output_format::{OutputFormat, formats_with};
use crate::progress::{Progress, suspended};
use crate::write;
use anyhow::anyhow;
use kq::image_gc::apply::{Removal, Removals, Removed, apply, removals, unsure};
use kq::image_gc::apply_report::{ContainerResult, ImageGcApply, result_line, summary_line};
use kq::image_gc::containers::Step;
use kq::image_gc::plan::{ImageGcPlan, Trigger};
use kq::question::image_gc::ImageGcAnswer;
use regex::Regex;
use std::collections::BTreeSet;

/// Remove the images that dry-run lists
///
/// kq shows the plan, asks for confirmation, and removes the images one by one,
/// by ID, through the container runtime. Under disk pressure it first removes
/// dead containers. Right before each removal, kq reads the image's users and its
/// pinned state again, and keeps the image if it is in use by then or if the
/// state cannot be read. kq continues after a failed removal, and stops when
/// enough space is freed or the runtime no longer answers. It removes nothing
/// that the plan did not list.
///
/// kq does not change the kubelet's memory: the kubelet notices the removed
/// images by itself.
///
/// Exit code 0: done. 1: done, and not enough was freed. 4: refused, nothing was
/// removed. 5: something could not be removed.
///
/// Examples:
///
///   kq gc apply --dry-run
///   kq gc apply --at-usage 90% --max 5
///   kq gc apply --trigger eviction --at-usage 100% --keep '/pause:'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Show the plan without applying it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    #[command(flatten)]
    act: Act,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The IDs of the images to remove"))]
    output: OutputFormat,

    #[command(flatten)]
    question: Question,
}

/// What is removed at most.
#[derive(Debug, clap::Args)]
pub struct Act {
    /// Remove at most this number of images
    #[arg(long, value_name = "N")]
    max: Option<usize>,

    /// Keep images whose tag, digest or ID matches (can be repeated)
    #[arg(long, value_name = "REGEX")]
    keep: Vec<Regex>,

    /// Also remove images that may be younger than imageMinimumGCAge, or unused for less than
    /// imageMaximumGCAge. Only the kubelet knows these times
    #[arg(long)]
    allow_unsure: bool,
}

impl Act {
    /// Returns the ids of the images that are to be kept: those that match, and those that the runtime lists
    /// more than once and not always as pinned, of which the kubelet believes the last.
    pub fn kept(&self, node: &KubeletNode) -> Result<BTreeSet<String>, Failure> {
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

    /// Returns what goes, and how many images would go as well.
    fn list(&self, plan: &ImageGcPlan) -> (Vec<Removal>, usize) {
        let mut list = removals(plan, self.allow_unsure);
        let cut = self.max.map_or(0, |max| list.len().saturating_sub(max));
        list.truncate(list.len() - cut);
        (list, cut)
    }

    /// Removes what a plan lists, and tells each line as it is true.
    pub fn carry_out(
        &self,
        question: &Question,
        node: &KubeletNode,
        plan: &ImageGcPlan,
        mut tell: impl FnMut(String),
    ) -> Result<ImageGcApply, Failure> {
        let (mut list, _) = self.list(plan);
        let mut target = target(plan);
        let runtime = NodeRuntime::connect(node, question.node.kubelet.sources.timeout)?;
        let before = usage_now(node);
        // The kubelet may have collected while a person was thinking.
        let high = i64::from(plan.run.high_threshold_percent);
        let is_below = before.is_some_and(|usage| usage.percent < high);
        if target.is_some() && is_below && question.usage.usage().percent.is_none() {
            list.retain(|removal| !removal.for_space);
            target = None;
            tell("no space is wanted any more".to_owned());
        }
        let (containers, stopped) = match &plan.containers {
            Some(steps) => runtime.remove_containers(steps, |result| tell(container_line(result))),
            None => (Vec::new(), None),
        };
        let done = match &stopped {
            Some(_) => Removals { results: vec![Removed::Left; list.len()], ..Removals::default() },
            None => {
                let progress = Progress::of("images");
                progress.show(0, list.len());
                apply(&list, target, &runtime, &mut |index, removal, result| {
                    suspended(|| tell(result_line(index, list.len(), removal, result)));
                    progress.show(index + 1, list.len());
                })
            }
        };
        let mut report = ImageGcApply::new(plan.at, &list, target, Some(&done));
        report.containers = containers;
        report.stopped = stopped.or(report.stopped);
        report.measured(before, usage_now(node));
        Ok(report)
    }
}

impl Args {
    /// Gathers, plans, shows, asks and removes.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        let is_stored = self.question.node.kubelet.sources.snapshot.is_some();
        refuse_snapshot(is_stored && !self.dry_run)?;
        if !self.is_for_people() && !self.yes && !self.dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan before they ask"))
                .hint("say --dry-run to look, or --yes to do it"));
        }
        let node = self.question.gather()?;
        let planned = self.question.plan_without(&node, &self.act.kept(&node)?)?;
        let plan = &planned.plan;
        let (list, cut) = self.act.list(plan);
        if self.is_for_people() {
            show_plan(self.output, &planned, cut)?;
        }
        if !self.act.allow_unsure && unsure(plan) > 0 {
            let count = unsure(plan);
            note(
                "kept",
                &format!(
                    "{count} of these images: whether they are old enough is not known. kq gc record \
                     tells in time; --allow-unsure removes them all the same"
                ),
            );
        }
        let containers = dead(plan);
        // Before "nothing to remove" is printed, which is unknown then.
        let refused = refuse_unknown(plan).and_then(|()| refuse_assumed(&planned)).err();
        if let Some(refused) = refused {
            if !self.dry_run {
                return Err(refused);
            }
            note("refused", &refused.reason());
            self.end(&self.unchanged(plan, &list), false)?;
            return Ok(Code::Refused);
        }
        if self.dry_run || (list.is_empty() && containers == 0) {
            self.end(&self.unchanged(plan, &list), false)?;
            let wants_more = !self.dry_run && target(plan).is_some_and(|target| target > 0);
            let is_short = wants_more || plan.outcome.error.is_some();
            return Ok(if is_short { Code::No } else { Code::Answered });
        }
        if !self.yes {
            ask(&question(list.len(), containers))?;
        }
        exit::changes_begin();
        let report = self.act.carry_out(&self.question, &node, plan, |line| {
            if self.is_for_people() {
                // A reader that went away is no reason to leave things half done.
                let _ = write::lines([line]);
            }
        })?;
        let code = match (report.failure().is_some(), report.is_short()) {
            (true, _) => Code::Stopped,
            (false, true) => Code::No,
            (false, false) => Code::Answered,
        };
        self.end(&report, true)?;
        Ok(code)
    }

    /// Returns the report of a run that removes nothing.
    fn unchanged(&self, plan: &ImageGcPlan, list: &[Removal]) -> ImageGcApply {
        let mut report = ImageGcApply::new(plan.at, list, target(plan), None);
        report.dry_run = self.dry_run;
        report
    }

    fn is_for_people(&self) -> bool {
        self.output.is_for_people()
    }

    /// Writes how it ended, if anything was done.
    fn end(&self, report: &ImageGcApply, is_done: bool) -> Result<(), Failure> {
        let written = if !self.is_for_people() {
            write::answer(self.output, report)
        } else if is_done {
            write::lines([summary_line(report)])
        } else if !self.dry_run {
            write::lines(["nothing to remove".to_owned()])
        } else {
            Ok(())
        };
        if let Some(reason) = &report.stopped {
            note("stopped", &format!("twice in a row nobody could say what is used: {reason}"));
        }
        match is_done {
            // What was done was done, whether or not anybody reads it; the exit code says how it went.
            true => Ok(()),
            false => written,
        }
    }
}

/// Returns how many bytes are wanted; `None`: everything on the list goes.
fn target(plan: &ImageGcPlan) -> Option<i64> {
    match plan.trigger {
        Trigger::Periodic => plan.run.amount_to_free_bytes,
        Trigger::Age | Trigger::Eviction => None,
    }
}

fn show_plan(output: OutputFormat, planned: &ImageGcAnswer, cut: usize) -> Result<(), Failure> {
    show(output, planned)?;
    if cut > 0 {
        note("left", &format!("{cut} images that would go as well, because of --max"));
    }
    Ok(())
}

/// Refuses to do what is only shown as what would be, if there were disk pressure.
fn refuse_assumed(planned: &ImageGcAnswer) -> Result<(), Failure> {
    let is_assumed = planned.pressure.as_ref().is_some_and(|one| one.reclaims.is_assumed);
    if is_assumed {
        return Err(Failure::refused(anyhow!(
            "no eviction threshold is known to be crossed, so nothing is removed"
        ))
        .hint("to do all the same what disk pressure would do, say --at-usage 100%"));
    }
    Ok(())
}

/// Counts the dead containers and sandboxes that go.
fn dead(plan: &ImageGcPlan) -> usize {
    let steps = plan.containers.iter().flat_map(|containers| &containers.steps);
    steps.filter(|step| !matches!(step, Step::LogDirectory(_))).count()
}

/// Refuses to act on what is not known.
pub fn refuse_unknown(plan: &ImageGcPlan) -> Result<(), Failure> {
    if plan.run.wants_space.is_none() {
        return Err(Failure::refused(anyhow!(
            "how full the image file system is is not known, so nothing is removed"
        ))
        .hint("say how full it is with --at-usage PERCENT"));
    }
    Ok(())
}

fn question(images: usize, containers: usize) -> String {
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let images = plural(images, "image");
    match containers {
        0 => format!("Remove {images}?"),
        _ => format!("Remove {} and {images}?", plural(containers, "dead container or sandbox")),
    }
}

fn container_line(result: &ContainerResult) -> String {
    let ContainerResult { what, id, name, result } = result;
    let id: String = id.chars().take(13).collect();
    let (word, reason) = match result {
        None | Some(Removed::Left) => ("left", None),
        Some(Removed::Removed) => ("removed", None),
        Some(Removed::Gone) => ("gone", None),
        Some(Removed::Kept { reason } | Removed::Unreadable { reason }) => ("kept", Some(reason)),
        Some(Removed::Failed { reason }) => ("failed", Some(reason)),
    };
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{word} {what} {name} {id}{reason}")
}

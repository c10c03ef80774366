//! `kq gc apply`

use super::dry_run::show;
use super::question::Question;
use crate::exit::{self, Code, Failure, note, tell_all};
use crate::output_format::{OutputFormat, formats_with};
use crate::plan_digest::PlanDigestArgs;
use crate::progress::{Progress, suspended};
use crate::write;
use crate::write::confirm;
use anyhow::anyhow;
use kq_image_gc::apply_report::{ImageGcApply, summary_line};
use kq_node::action::image_gc::apply::{Event, Prepared, RemovalOptions, prepare};
use regex::Regex;

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
    expected: PlanDigestArgs,

    #[command(flatten)]
    removal: RemovalArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The IDs of the images to remove"))]
    output: OutputFormat,

    #[command(flatten)]
    question: Question,
}

/// Limits of a removal.
#[derive(Debug, clap::Args)]
pub struct RemovalArgs {
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

impl RemovalArgs {
    pub fn options(self, question: &Question) -> RemovalOptions {
        let Self { max, keep, allow_unsure } = self;
        RemovalOptions { max, keep, allow_unsure, timeout: question.timeout() }
    }
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { dry_run, yes, expected, removal, output, question } = self;
        tell_all();
        question.refuse_snapshot(!dry_run)?;
        if !output.is_for_people() && !yes && !dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan to confirm"))
                .hint("--dry-run shows the plan, --yes applies it without confirmation"));
        }
        let options = removal.options(&question);
        let prepared = prepare(question.gather()?, &question.options(), &options)?;
        if output.is_for_people() {
            write::shown_plan(show(output, &prepared.planned), dry_run)?;
            if prepared.cut > 0 {
                note("left", &format!("{} more images, because of --max", prepared.cut));
            }
        }
        if prepared.unsure() > 0 {
            note(
                "kept",
                &format!(
                    "{} of these images, because it is unknown whether they are old enough. Records of \
                     kq gc record supply the times in the future; --allow-unsure removes the images now",
                    prepared.unsure()
                ),
            );
        }
        expected.check(&prepared.plan_digest())?;
        // Before "nothing to remove" is printed, which is unknown then.
        match prepared.refusal() {
            Some(refused) if dry_run => {
                note("refused", &refused.reason());
                write_structured(output, &prepared.unchanged(true))?;
                return Ok(Code::Refused);
            }
            Some(refused) => return Err(refused),
            None => {}
        }
        let is_empty = prepared.images() == 0 && prepared.containers() == 0;
        if dry_run || is_empty {
            if !dry_run && output.is_for_people() {
                write::lines(["nothing to remove".to_owned()])?;
            }
            write_structured(output, &prepared.unchanged(dry_run))?;
            return Ok(match () {
                () if dry_run && prepared.planned.plan.lacks_settings() => Code::Missing,
                () if prepared.is_short(dry_run) => Code::No,
                () => Code::Answered,
            });
        }
        if !yes {
            confirm(&confirmation(&prepared))?;
        }
        exit::changes_begin(Some(prepared.images() + prepared.containers()));
        let report = {
            let progress = Progress::of("images");
            prepared.execute(&mut |event| {
                if !matches!(event, Event::EnoughSpace) {
                    exit::change_done(event.line());
                }
                if output.is_for_people() {
                    // The removal goes on if its progress cannot be shown.
                    suspended(|| drop(write::lines([event.line()])));
                }
                show_progress(&progress, &event);
            })?
        };
        // The images are removed even if the report cannot be written; the exit code is about the removal.
        let _ = match output.is_for_people() {
            true => write::lines([summary_line(&report)]),
            false => write::answer(output, &report),
        };
        if let Some(reason) = &report.stopped {
            note("stopped", &format!("the users of images are unknown, twice in a row: {reason}"));
        }
        Ok(match (report.failure().is_some(), report.is_short()) {
            (true, _) => Code::Stopped,
            (false, true) => Code::No,
            (false, false) => Code::Answered,
        })
    }
}

/// Writes a report that is not for people: they see the plan instead.
fn write_structured(output: OutputFormat, report: &ImageGcApply) -> Result<(), Failure> {
    match output.is_for_people() {
        true => Ok(()),
        false => write::answer(output, report),
    }
}

pub fn show_progress(progress: &Progress, event: &Event<'_>) {
    if let Event::Image(index, total, ..) = event {
        progress.show(index + 1, *total);
    }
}

fn confirmation(prepared: &Prepared<'_>) -> String {
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let images = plural(prepared.images(), "image");
    match prepared.containers() {
        0 => format!("Remove {images}?"),
        count => format!("Remove {} and {images}?", plural(count, "dead container or sandbox")),
    }
}

//! `kq gc dry-run`

use super::question::{Question, write_basis};
use crate::exit::{Code, Failure};
use crate::write::{self, Output};
use kq::eviction::{Pressure, pressure_view};
use kq::image_gc::plan::{summary, table, wide};
use kq::question::image_gc::ImageGcAnswer;

/// Say what would be removed now, in which order, and why (not)
///
/// Every image is listed in the order in which the kubelet would come to it, with a verdict and its
/// reason. When an image was first found and last used is in the kubelet's memory only: verdicts that
/// depend on it are "possible", or "unknown" where nothing narrows it down. kq gc record keeps records
/// that do.
///
/// With --trigger eviction the eviction thresholds are held against the node's file systems: whether any
/// is crossed, what is reclaimed for it, whether that is enough, and which pod goes if not. When none is
/// crossed, the plan is what would go if imagefs.available were.
///
/// Nothing is changed. Exit code 0: it would succeed, or not run. 1: it would not free enough.
///
/// Examples:
///
///   kq gc dry-run
///   kq gc dry-run --at-usage 90% -o wide
///   kq gc dry-run --trigger eviction
///   kq gc dry-run --set imageGCHighThresholdPercent=70 --set imageGCLowThresholdPercent=60
///   kq gc dry-run -o json | jq '.items[] | select(.verdict == "removedForSpace") | .id'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Output,

    #[command(flatten)]
    question: Question,
}

impl Args {
    /// Gathers, plans and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let node = self.question.gather()?;
        let planned = self.question.plan(&node)?;
        show(self.output, &planned)?;
        let is_incomplete = node.lacks_config() || planned.lacks_facts();
        Ok(code(&planned).unless(is_incomplete))
    }
}

/// Writes a plan in the form that was asked for.
pub fn show(output: Output, planned: &ImageGcAnswer) -> Result<(), Failure> {
    let plan = &planned.plan;
    match output {
        Output::Json | Output::Yaml => return write::value(output, planned),
        Output::Name => {
            let removed = plan.items.iter().filter(|item| item.verdict.is_removal());
            write::lines(removed.map(|item| item.id.clone()))?;
        }
        Output::Table => write::text(format!("{}\n{}", above(planned), table(plan)))?,
        Output::Wide => write::text(format!("{}\n{}", above(planned), wide(plan)))?,
    }
    write_basis(plan);
    Ok(())
}

/// Returns what stands above the images.
fn above(planned: &ImageGcAnswer) -> String {
    let summary = summary(&planned.plan);
    match &planned.pressure {
        None => summary,
        Some(pressure) => format!(
            "{summary}{}\n{}",
            pressure_view::summary(pressure),
            pressure_view::table(pressure)
        ),
    }
}

/// Returns the exit code of a plan.
fn code(ImageGcAnswer { plan, pressure }: &ImageGcAnswer) -> Code {
    if pressure.as_ref().is_some_and(Pressure::is_short) {
        return Code::No;
    }
    match (&plan.outcome.error, plan.run.wants_space) {
        (Some(_), _) => Code::No,
        (None, None) => Code::Missing,
        (None, Some(_)) => Code::Answered,
    }
}

//! `kq gc dry-run`

use super::question::{Question, write_basis};
use crate::exit::{Code, Failure, note};
use crate::output_format::{OutputFormat, formats_with};
use crate::source_args::WatchArgs;
use crate::write;
use kq_core::question::image_gc::{ImageGcAnswer, image_gc_plan};
use kq_eviction::{Pressure, pressure_view};
use kq_image_gc::plan::{summary, table, wide};
use kq_output::doc::Doc;
use kq_output::table::Table;
use kq_output::units::Precision;

/// Show the images that would be removed now, in order, with reasons
///
/// The answer lists every image in the kubelet's order, with a verdict and its
/// reason. The kubelet keeps the times at which an image was first found and last
/// used only in memory. Verdicts that depend on these times are "possible", or
/// "unknown" if no data narrows them down. Records of kq gc record supply the
/// times.
///
/// With --trigger eviction, kq compares the eviction thresholds with the node's
/// file systems. The answer shows which thresholds are crossed, the resources
/// reclaimed, whether they suffice, and otherwise the pod that would be evicted.
/// If no threshold is crossed, kq plans as if imagefs.available were.
///
/// Nothing is changed. Exit code 0: the collection would succeed, or would not
/// run. 1: it would not free enough.
///
/// Examples:
///
///   kq gc dry-run
///   kq gc dry-run --at-usage 90% -o wide
///   kq gc dry-run --trigger eviction
///   kq gc dry-run --set imageGCHighThresholdPercent=70
///   kq gc dry-run -o json | jq '.items[] | {id, verdict}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The IDs of the images to remove"))]
    output: OutputFormat,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    question: Question,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        self.watch.run(|| self.once())
    }

    fn once(&self) -> Result<Code, Failure> {
        let node = self.question.gather()?;
        let planned = image_gc_plan(&node, &self.question.options())?;
        show(self.output, &planned)?;
        let is_any_removed = planned.plan.items.iter().any(|item| item.verdict.is_removal());
        if self.output == OutputFormat::Table && is_any_removed {
            let runtime = node.snapshot.runtime.value();
            if let Some(how) = runtime.and_then(|runtime| runtime.version.how_to_pin()) {
                note("hint", &format!("to keep an image, pin it: {how}"));
            }
        }
        Ok(match planned.plan.lacks_settings() {
            true => Code::Missing,
            false => code(&planned).unless(planned.lacks_facts()),
        })
    }
}

/// Writes a plan in an output format.
pub fn show(output: OutputFormat, planned: &ImageGcAnswer) -> Result<(), Failure> {
    let plan = &planned.plan;
    match output {
        OutputFormat::Json
        | OutputFormat::Yaml
        | OutputFormat::Exchange(_)
        | OutputFormat::JsonPath(_)
        | OutputFormat::CustomColumns(_) => return write::answer(output, planned),
        OutputFormat::Name => {
            let removed = plan.items.iter().filter(|item| item.verdict.is_removal());
            write::lines(removed.map(|item| item.id.clone()))?;
        }
        OutputFormat::Table => {
            write::answered(planned, doc(planned, Precision::Short, table(plan)))?
        }
        OutputFormat::Wide => write::answered(planned, doc(planned, Precision::Exact, wide(plan)))?,
    }
    write_basis(plan);
    Ok(())
}

/// Returns the images below a summary.
fn doc(planned: &ImageGcAnswer, amounts: Precision, images: Table) -> Doc {
    let mut doc = summary(&planned.plan, amounts);
    if let Some(pressure) = &planned.pressure {
        doc.add(pressure_view::summary(pressure));
        doc.add_apart(pressure_view::table(pressure));
    }
    doc.add_apart(images);
    doc
}

/// Returns the exit code of a plan.
fn code(ImageGcAnswer { plan, pressure }: &ImageGcAnswer) -> Code {
    if pressure.as_ref().is_some_and(Pressure::is_short) {
        return Code::No;
    }
    match (&plan.outcome.error, plan.run.wants_space) {
        (Some(_), _) => Code::No,
        _ if pressure.as_ref().is_some_and(Pressure::is_open) => Code::Missing,
        (None, None) => Code::Missing,
        (None, Some(_)) => Code::Answered,
    }
}

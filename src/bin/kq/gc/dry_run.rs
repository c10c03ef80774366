//! `kq gc dry-run`

use super::question::{Question, write_basis};
use crate::exit::{Code, Failure};
use crate::write::{self, Output};
use kq::image_gc::plan::{ImageGcPlan, summary, table, wide};

/// Say what would be removed now, in which order, and why (not)
///
/// Every image is listed in the order in which the kubelet would come to it, with a verdict and its
/// reason. When an image was first found and last used is in the kubelet's memory only: verdicts that
/// depend on it are "possible", or "unknown" where nothing narrows it down. kq gc record keeps records
/// that do.
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
        let plan = self.question.plan(&node)?;
        show(self.output, &plan)?;
        Ok(code(&plan))
    }
}

/// Writes a plan in the form that was asked for.
pub fn show(output: Output, plan: &ImageGcPlan) -> Result<(), Failure> {
    match output {
        Output::Json | Output::Yaml => return write::value(output, plan),
        Output::Name => {
            let removed = plan.items.iter().filter(|item| item.verdict.is_removal());
            write::lines(removed.map(|item| item.id.clone()))?;
        }
        Output::Table => write::text(format!("{}\n{}", summary(plan), table(plan)))?,
        Output::Wide => write::text(format!("{}\n{}", summary(plan), wide(plan)))?,
    }
    write_basis(plan);
    Ok(())
}

/// Returns the exit code of a plan.
pub fn code(plan: &ImageGcPlan) -> Code {
    match (&plan.outcome.error, plan.run.wants_space) {
        (Some(_), _) => Code::No,
        (None, None) => Code::Missing,
        (None, Some(_)) => Code::Answered,
    }
}

//! `kq cgroup diff`

use super::comparison::{ComparisonArgs, code};
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats_with};
use crate::write;
use kq::cgroup::live::diff_report::CgroupDiff;
use kq::cgroup::live::diff_view;

/// Compare the plan with the kernel's cgroup values
///
///   MATCH           the kernel has the planned value
///   ROUNDED         the planned value, rounded by the kernel or by systemd
///   DRIFT           it has another value
///   MISSING         it lacks the planned file or cgroup
///   EXTRA           it has a value or a cgroup that is not planned
///   RESIZE-PENDING  a resize is not finished
///   CHANGING        a pod or container is being created or removed
///   UNKNOWN         the planned or the actual value is unknown, with the reason
///
/// Before kq reports DRIFT, it reads the differing values again, from all
/// sources.
///
/// Exit code 0: every value was compared, and nothing drifts. 1: DRIFT, MISSING
/// or EXTRA. 3: no known value drifts, and other values are UNKNOWN.
///
/// Examples:
///
///   kq cgroup diff
///   kq cgroup diff default/web -o wide
///   kq cgroup diff ./web.yaml
///   kq cgroup diff --snapshot node.json.zst -o json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups that drift"))]
    output: OutputFormat,

    #[command(flatten)]
    comparison: ComparisonArgs,
}

impl Args {
    /// Gathers, compares and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let compared = self.comparison.gather(false)?;
        let (found, basis) = compared.answer()?;
        let report = CgroupDiff::new(found, basis);
        let code = match report.has_drift() {
            true => Code::No,
            false => code(&compared).unless(report.is_incomplete()),
        };
        match self.output {
            OutputFormat::Table => {
                if let Some(table) = diff_view::table(&report.items) {
                    write::text(table)?;
                }
                write::lines([diff_view::counts(&report.summary)])?;
            }
            OutputFormat::Wide => {
                write::text(diff_view::wide(&report.items))?;
                write::lines([diff_view::counts(&report.summary)])?;
            }
            OutputFormat::Name => {
                let drifting = report.items.iter().filter(|found| found.verdict.is_drift());
                let mut paths: Vec<String> = drifting.map(|found| found.cgroup.clone()).collect();
                paths.dedup();
                write::names(paths)?;
            }
            structured => {
                write::answer(structured, &report)?;
                return Ok(code);
            }
        }
        tell(&report.basis);
        Ok(code)
    }
}

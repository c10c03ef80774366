//! `kq cgroup diff`, and the flags and the comparison that `apply` shares with it

use super::gather::gather_node;
use crate::exit::{Code, Failure, tell};
use crate::node_args::NodeArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::PodsArgs;
use crate::source_args::SourceArgs;
use crate::write;
use kq_cgroup::live::diff_report::CgroupDiff;
use kq_cgroup::live::diff_view;
use kq_core::question::cgroup::{Compared, check_comparable};
use kq_core::question::pod_selectors::PodSelectors;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_node::action::cgroup::settled;
use kq_output::doc::Doc;
use std::path::Path;

/// Compare the plan with the kernel's cgroup values
///
///   MATCH           the kernel has the planned value
///   ROUNDED         the planned value, rounded by the kernel or by systemd
///   DRIFT           it has another value
///   MISSING         it lacks the planned file or cgroup
///   EXTRA           it has a value or a cgroup that is not planned
///   RESIZE-PENDING  a resize is not finished
///   OLDER-CONFIG    of an earlier configuration of the kubelet
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
                let mut doc = diff_view::table(&report.items).map(Doc::from).unwrap_or_default();
                doc.line(diff_view::counts(&report.summary));
                write::answered(&report, doc)?;
            }
            OutputFormat::Wide => {
                let mut doc = Doc::from(diff_view::wide(&report.items));
                doc.line(diff_view::counts(&report.summary));
                write::answered(&report, doc)?;
            }
            OutputFormat::Name => {
                let drifting = report.items.iter().filter(|found| found.verdict.is_drift());
                let mut paths: Vec<String> = drifting.map(|found| found.cgroup.clone()).collect();
                paths.dedup();
                write::verbatim(paths)?;
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

/// The pods and the node of a comparison.
#[derive(Debug, clap::Args)]
pub struct ComparisonArgs {
    /// Only these pods (NAME, NAMESPACE/NAME or UID), or the pods of these files. Pods of a file are
    /// compared as the file defines them
    #[arg(value_name = "POD|FILE")]
    subjects: Vec<String>,

    #[command(flatten)]
    pods: PodsArgs,

    #[command(flatten)]
    pub sources: SourceArgs,

    #[command(flatten)]
    pub node: NodeArgs,
}

impl ComparisonArgs {
    /// Gathers and compares; with `usage` also the current usage.
    pub fn gather(&self, usage: bool) -> Result<Compared, Failure> {
        let subjects = PodSelectors::of(&self.pods.all(&self.subjects)?);
        let subjects = self.pods.select(subjects)?;
        let needs = Needs::PLAN
            .with(&[FactKey::Processes, FactKey::StateFiles, FactKey::DropIns])
            .with_if(usage, &[FactKey::CgroupUsage]);
        let compare = |sources: &SourceArgs| {
            let live = gather_node(sources, &self.node, needs, &subjects.files)?.checked()?;
            check_comparable(&live)?;
            let selection = subjects.selection_of(&live)?;
            Compared::of(live, selection)
        };
        let mut named = self.node.files().chain(&self.sources.pods).chain(&subjects.files);
        compare_until_settled(&self.sources, &mut named, compare)
    }
}

/// Compares as [`settled`] does; once if the node is a snapshot or a `named` file is a pipe.
pub fn compare_until_settled(
    sources: &SourceArgs,
    mut named: &mut dyn Iterator<Item = &String>,
    compare: impl Fn(&SourceArgs) -> Result<Compared, Failure>,
) -> Result<Compared, Failure> {
    let is_pipe = |file: &String| !Path::new(file).is_file();
    if sources.snapshot.is_some() || Iterator::any(&mut named, is_pipe) {
        return compare(sources);
    }
    // The sources are listed once.
    let again = SourceArgs { verbose: false, ..sources.clone() };
    settled(|is_again| compare(if is_again { &again } else { sources }))
}

/// Returns the exit code of an answer without differences.
pub fn code(compared: &Compared) -> Code {
    Code::Answered.unless(!compared.is_complete())
}

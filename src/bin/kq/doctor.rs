//! `kq doctor`

use crate::cgroup::comparison::{Compared, settled};
use crate::cgroup::live_tree::gather_node;
use crate::exit::{Code, Failure, note, warn};
use crate::form::Form;
use crate::node_args::NodeArgs;
use crate::source_args::SourceArgs;
use kq::answer::finding_view;
use kq::cgroup::live::checks::NodeChecks;
use kq::facts::pod_selector::Selection;
use kq::question::doctor::{node_checks, node_checks_needs};

/// Check this node: available data sources, kubelet, runtime and cgroups
///
/// Each check is one line. OK: no problem. WARNING: not an error, but worth a look.
/// ERROR: wrong. UNKNOWN: required data is unavailable, with the reason. The advice
/// for each check is printed below the table, or in a column with -o wide.
///
/// An absent kubelet is an ERROR if the machine has traces of one: a kubepods
/// cgroup, pod sandboxes or a kubelet configuration. Otherwise it is UNKNOWN.
///
/// Exit code 0: every check has a result, and none failed. 1: a check failed. 3:
/// none failed, and the result of a check is UNKNOWN.
///
/// Examples:
///
///   kq doctor
///   kq doctor -o wide
///   kq doctor --snapshot node.json.zst
///   kq doctor -o json | jq '.items[] | select(.severity != "OK")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

impl Args {
    /// Gathers, checks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let needs = node_checks_needs();
        let look = |sources: &SourceArgs| {
            let live = gather_node(sources, &self.node, needs, &[])?;
            Ok(Compared::of(live, Selection::default()))
        };
        let mut named = self.node.files().chain(&self.sources.pods);
        let compared = settled(&self.sources, &mut named, look)?;
        let report = node_checks(
            &compared,
            &self.node.kubelet_options()?,
            self.node.node_file.as_deref(),
            self.sources.snapshot.is_some(),
        )?;
        let table = |it: &NodeChecks| finding_view::folded(&it.items);
        let wide = |it: &NodeChecks| finding_view::wide(&it.items);
        self.output.write(&report, table, wide)?;
        match self.output {
            Form::Wide => report.basis.warnings.iter().for_each(|it| warn(&it.text)),
            // What the warnings say of missing facts stands in the checks.
            Form::Table => {
                finding_view::advice(&report.items).iter().for_each(|advice| note("fix", advice));
            }
            Form::Json | Form::Yaml => {}
        }
        Ok(match report.has_failed() {
            true => Code::No,
            false => Code::Answered.unless(report.is_incomplete()),
        })
    }
}

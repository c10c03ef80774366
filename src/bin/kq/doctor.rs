//! `kq doctor`

use crate::cgroup::comparison::{Compared, settled};
use crate::cgroup::live_tree::gather_node;
use crate::exit::{Code, Failure, note, warn};
use crate::node_args::NodeArgs;
use crate::source_args::SourceArgs;
use crate::write::{self, Output};
use clap::ValueEnum;
use kq::answer::finding_view;
use kq::cgroup::live::checks::{Examined, NodeChecks, checks};
use kq::cgroup::live::diff::{Verdict, summary};
use kq::facts::pod_selector::Selection;
use kq::node::{DeviceNeeds, Needs, TreeDetail};
use std::collections::{BTreeMap, BTreeSet};

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
    output: Format,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

/// The forms of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line for each check
    Table,
    /// With a column of advice
    Wide,
    /// The complete answer as JSON
    Json,
    /// The complete answer as YAML
    Yaml,
}

impl Args {
    /// Gathers, checks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let tree = Some(TreeDetail { usage: false, statistics: false, processes: true });
        let devices = DeviceNeeds { checkpoint: true, pod_resources: false };
        let needs = Needs { tree, state_files: true, devices, ..Needs::PLAN };
        let look = |sources: &SourceArgs| {
            let live = gather_node(sources, &self.node, needs, &[])?;
            Ok(Compared::of(live, Selection::default()))
        };
        let mut named = self.node.files().chain(&self.sources.pods);
        let compared = settled(&self.sources, &mut named, look)?;
        let (counted, changing) = match count(&compared) {
            Ok((summary, changing)) => (Ok(summary), changing),
            Err(reason) => (Err(reason), BTreeSet::new()),
        };
        let live = &compared.live;
        let found = checks(Examined {
            snapshot: &live.snapshot,
            node: &live.node,
            config: &live.config,
            node_file: self.node.node_file.as_deref(),
            roots: &live.roots,
            pods: &live.pods,
            workloads: &live.workloads,
            incomplete: live.incomplete.as_deref(),
            compared: &counted,
            changing: &changing,
        });
        let warnings = live.notes.iter().chain(&live.node.warnings).cloned().collect();
        let report = NodeChecks::new(&live.node.facts, found, warnings);
        match self.output {
            Format::Json => write::answer(Output::Json, &report)?,
            Format::Yaml => write::answer(Output::Yaml, &report)?,
            Format::Wide => {
                write::text(finding_view::wide(&report.items))?;
                report.basis.warnings.iter().for_each(|it| warn(&it.text));
            }
            // What the warnings say of missing facts stands in the checks.
            Format::Table => {
                write::text(finding_view::table(&report.items))?;
                finding_view::advice(&report.items).iter().for_each(|advice| note("fix", advice));
            }
        }
        Ok(match report.has_failed() {
            true => Code::No,
            false => Code::Answered.unless(report.is_incomplete()),
        })
    }
}

/// How many values compare how, and the UIDs of the pods that come or go.
type Counted = (BTreeMap<String, usize>, BTreeSet<String>);

/// Compares with the plan and counts; fails with the reason.
fn count(compared: &Compared) -> Result<Counted, String> {
    let counted = compared.live.tree().and_then(|_| {
        compared.with(|differences, _| {
            let changing = differences.iter().filter(|it| it.verdict == Verdict::Changing);
            let changing = changing.filter_map(|it| it.pod_uid.clone()).collect();
            Ok((summary(&differences), changing))
        })
    });
    counted.map_err(|failure| failure.reason())
}

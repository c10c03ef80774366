//! `kq fleet apply`

use super::question::Question;
use super::run_args::{NodePodArgs, begin};
use crate::exit::{self, Code, Failure, note, warn};
use crate::output_format::{OutputFormat, formats_with};
use crate::progress::{Progress, suspended};
use crate::write::{self, confirm};
use anyhow::anyhow;
use kq::action::fleet::{ApplyLog, Sample, WaveOptions};
use kq::fleet::{ChangeState, FleetApply};
use std::ffi::OsString;
use std::num::NonZero;

/// Change the nodes of a cluster with one command, a few at a time
///
/// kq runs COMMAND with --dry-run on each node, shows the plan of each, and asks
/// once. Then the nodes change: the canaries first, then the others, at most
/// --max-unavailable at a time. On each node, kq applies the plan that was shown,
/// and refuses another one. With more than --max-failures failures, no more nodes
/// change. A node fails if its change is refused, stops part-way, or gives no
/// answer.
///
/// COMMAND is gc apply or cgroup apply. Neither evicts a pod or restarts a
/// container, so no disruption budget is touched. cgroup apply stores its rollback
/// file on the node, as /var/lib/kq-rollback-RUN.json.
///
/// --record stores what was done, one line for each step. --resume continues a
/// record: nodes that are done stay as they are, the others plan again. SIGINT lets
/// the nodes that are changing finish, and begins no more.
///
/// The pods are those of kq fleet run. For cgroup apply, the files of the node are
/// writable in them.
///
/// Exit code 0: all nodes are changed, or nothing is to be done. 1: a node is
/// changed, and not as wanted. 3: a node has no plan. 4: refused, nothing was
/// changed. 5: some nodes are changed and some are not, or a pod may be left behind.
///
/// Examples:
///
///   kq fleet apply --image registry.example/kq:0.1 --dry-run -- gc apply
///   kq fleet apply -l pool=web --image registry.example/kq:0.1 --canary 2 --max-unavailable 5% --record gc.jsonl -- gc apply --max 10
///   kq fleet apply -l pool=web --image registry.example/kq:0.1 --cordon --resume cgroups.jsonl -- cgroup apply
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    pods: NodePodArgs,

    /// The image of kq, as in docs/release.md
    #[arg(long, value_name = "IMAGE")]
    image: String,

    /// Change this number of nodes before the others
    #[arg(long, value_name = "NUMBER", default_value = "1", help_heading = "Waves")]
    canary: usize,

    /// Change at most this number of nodes at a time, or this part of them, rounded up
    #[arg(long, value_name = "NUMBER|PERCENT%", default_value = "1", value_parser = super::run_args::parse_sample, help_heading = "Waves")]
    max_unavailable: Sample,

    /// Change no more nodes after more than this number of failures
    #[arg(long, value_name = "NUMBER", default_value = "0", help_heading = "Waves")]
    max_failures: usize,

    /// Mark each node as unschedulable while it changes. One whose change fails stays so
    #[arg(long, help_heading = "Waves")]
    cordon: bool,

    /// Store what was done in this new file
    #[arg(long, value_name = "FILE", help_heading = "Waves", conflicts_with = "resume")]
    record: Option<String>,

    /// Continue the record of an earlier run of the same command
    #[arg(long, value_name = "FILE", help_heading = "Waves")]
    resume: Option<String>,

    /// Show the plan of each node without applying it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The nodes with a plan"))]
    output: OutputFormat,
}

impl Args {
    /// Plans, shows, asks and changes.
    pub fn run(self) -> Result<Code, Failure> {
        let (_, command) = Question::of_change(self.command.clone())?;
        let is_for_people = self.output.is_for_people();
        if !is_for_people && !self.yes && !self.dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan to confirm"))
                .hint("--dry-run shows the plan, --yes applies it without confirmation"));
        }
        let resumed = self.resume.as_deref().map(|path| ApplyLog::resume(path, &command));
        let resumed = resumed.transpose()?;
        let plan = self.pods.plan(Some(self.image.clone()), false)?;
        let nodes = plan.nodes.len();
        let waves = WaveOptions {
            canaries: self.canary,
            at_a_time: NonZero::new(self.max_unavailable.of(nodes)).map_or(1, NonZero::get),
            failures: self.max_failures,
            cordon: self.cordon,
        };
        let run = begin(plan, "no more nodes change; those that are changing finish")?;
        let planned = {
            let progress = Progress::of("nodes");
            run.plan_change(&command, resumed.as_ref(), &waves, |done, without| {
                progress.show_rate(done, nodes, without);
            })
        };
        let count = planned.count(ChangeState::Planned);
        if is_for_people {
            self.output.write_or_names(
                &planned,
                |it: &FleetApply| it.table().to_string(),
                |it: &FleetApply| it.table().to_string(),
                |it: &FleetApply| {
                    let planned = it.items.iter().filter(|it| it.state == ChangeState::Planned);
                    planned.map(|it| it.node.clone()).collect()
                },
            )?;
            note("nodes", &planned.summary());
        }
        let confirmed = match (count, self.dry_run || self.yes) {
            (0, _) | (_, true) => Ok(()),
            (1, _) => confirm("Change 1 node?"),
            (count, _) => confirm(&format!("Change {count} nodes?")),
        };
        let log = match (&confirmed, &self.record) {
            (Ok(()), Some(path)) if !self.dry_run && count > 0 => ApplyLog::create(path).map(Some),
            _ => Ok(resumed),
        };
        let log = match confirmed.and(log) {
            Ok(log) => log,
            Err(refused) => {
                run.finish();
                return Err(refused);
            }
        };
        let answer = match count == 0 || self.dry_run {
            true => FleetApply { dry_run: self.dry_run, ..planned },
            false => {
                exit::changes_begin();
                let (progress, mut done) = (Progress::of("nodes"), 0);
                run.apply_change(&command, log.as_ref(), &waves, planned, |change| {
                    done += 1;
                    if is_for_people {
                        // The change goes on if its progress cannot be shown.
                        let line = format!("{done}/{count} {}", change.line());
                        suspended(|| drop(write::lines([line])));
                    }
                    progress.show(done, count);
                })
            }
        };
        let is_clean = run.finish() == 0;
        if !is_for_people {
            write::answer(self.output, &answer)?;
        } else if !self.dry_run {
            note("nodes", &answer.summary());
        }
        if let Some(reason) = &answer.stopped {
            note("stopped", reason);
        }
        if let (Some(path), true) = (self.record.as_ref(), answer.exit_code() == 5) {
            note("hint", &format!("--resume {path} continues with the nodes that are not done"));
        }
        let cordoned: Vec<&str> =
            answer.items.iter().filter(|it| it.is_cordoned).map(|it| it.node.as_str()).collect();
        if !cordoned.is_empty() {
            warn(&format!("still cordoned: {}", cordoned.join(", ")));
        }
        Ok(match (is_clean, answer.exit_code()) {
            (false, _) | (_, 5) => Code::Stopped,
            (_, 4) => Code::Refused,
            (_, 3) => Code::Missing,
            (_, 1) => Code::No,
            _ => Code::Answered,
        })
    }
}

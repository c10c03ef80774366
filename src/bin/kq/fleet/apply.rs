//! `kq fleet apply`

use super::question::Question;
use super::run_args::{NodePodArgs, begin};
use crate::exit::{self, Code, Failure, note, report, warn};
use crate::output_format::{OutputFormat, formats_with};
use crate::progress::{Progress, suspended};
use crate::write::{self, confirm};
use anyhow::anyhow;
use kq_core::fleet::{ChangeState, FleetApply};
use kq_node::action::fleet::{ApplyLog, ChangeCommand, FleetRun, Sample, WaveOptions};
use std::ffi::OsString;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Change the nodes of a cluster with one command, a few at a time
///
/// kq runs COMMAND with --dry-run on each node, shows the plans, and asks once.
/// Then the nodes change: the canaries first, then the others, at most
/// --max-unavailable at a time. On each node, kq applies the plan that was shown,
/// and refuses any other plan. If a canary fails, or more than --max-failures nodes
/// do, no more nodes are begun. A node fails if its change is refused, stops
/// part-way, or gives no answer.
///
/// COMMAND is gc apply or cgroup apply. Neither evicts a pod or restarts a
/// container, so no disruption budget is touched. cgroup apply stores its rollback
/// file on the node, as /var/lib/kq-rollback-RUN.json.
///
/// --record stores what was done, one line for each step. --resume continues a
/// record: nodes that are done stay as they are, the others plan again. After
/// SIGINT, SIGTERM or SIGHUP, changes under way finish, and no others begin.
///
/// The pods are those of kq fleet run. kq creates those that plan without a
/// question; they only read. For cgroup apply, the files of the node are writable
/// in the pods that change.
///
/// Exit code 0: all nodes are changed, or there is nothing to do. 1: all are
/// changed, but values still differ on a node, or too little was freed. 3: a node
/// has no plan, or an incomplete answer. 4: refused, nothing was changed. 5: a node
/// failed, some nodes are changed and some are not, a node is still cordoned, or a
/// pod may be left behind.
///
/// Examples:
///
///   kq fleet apply --image registry.example/kq:0.1 --dry-run -- gc apply
///   kq fleet apply --image r.example/kq:0.1 --record gc.jsonl -- gc apply
///   kq fleet apply --image r.example/kq:0.1 --resume gc.jsonl -- gc apply
///   kq fleet apply -l pool=web --image r.example/kq:0.1 -- cgroup apply
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    pods: NodePodArgs,

    /// Change this number of nodes first. If one of them fails, no other node changes
    #[arg(long, value_name = "NUMBER", default_value = "1", help_heading = "Waves")]
    canary: usize,

    /// Change at most this number of nodes at a time, or this part of them, rounded up
    #[arg(long, value_name = "NUMBER|PERCENT%", default_value = "1", value_parser = super::run_args::parse_sample, help_heading = "Waves")]
    max_unavailable: Sample,

    /// Begin no more nodes after more than this number of failures
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
        self.pods.image()?;
        let is_for_people = self.output.is_for_people();
        if !is_for_people && !self.yes && !self.dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan to confirm"))
                .hint("--dry-run shows the plan, --yes applies it without confirmation"));
        }
        let resumed = self.resume.as_deref().map(|path| ApplyLog::open(path, &command));
        let resumed = resumed.transpose()?;
        self.record.as_deref().map_or(Ok(()), ApplyLog::check_new)?;
        let plan = self.pods.plan()?;
        resumed.as_ref().map_or(Ok(()), |log| log.check_server(plan.server_url()))?;
        let nodes = plan.nodes.len();
        let waves = WaveOptions {
            canaries: self.canary,
            at_a_time: self.max_unavailable.of(nodes).max(1),
            failures: self.max_failures,
            cordon: self.cordon,
        };
        note("plan", &described(&waves, command.writes_files));
        let run = begin(plan, "no more nodes are begun; changes under way finish")?;
        let planned = {
            let progress = Progress::of("nodes");
            run.plan_change(&command, resumed.as_ref(), &waves, |done, without| {
                progress.show_rate(done, nodes, without);
            })
        };
        let agreed = self.show(&planned).and_then(|()| self.agree(&run, &planned));
        let log = agreed.and_then(|()| match (&resumed, &self.record) {
            (Some(log), _) if !self.dry_run => log.resume(&run, &command).map(|()| None),
            (None, Some(path)) if !self.dry_run && planned.count(ChangeState::Planned) > 0 => {
                ApplyLog::begin(path, &run, &command).map(Some)
            }
            _ => Ok(None),
        });
        let log = match log {
            Ok(log) => log.or(resumed),
            Err(refused) if run.finish() == 0 => return Err(refused),
            Err(refused) => {
                report(&refused);
                return Ok(Code::Stopped);
            }
        };
        let answer = match self.dry_run {
            true => planned,
            false => self.change(&run, &command, log.as_ref(), &waves, planned),
        };
        let is_clean = run.finish() == 0;
        // The nodes are changed even if the answer cannot be written; the exit code is about them.
        let _ = match self.output.is_for_people() {
            true => {
                if !self.dry_run {
                    note("nodes", &answer.summary());
                }
                Ok(())
            }
            false => match write::answer(self.output, &answer) {
                Err(failure) if self.dry_run => return Err(failure),
                written => written,
            },
        };
        self.tell(&answer, log.is_some());
        Ok(match (is_clean, answer.exit_code()) {
            (false, _) | (_, 5) => Code::Stopped,
            (_, 4) => Code::Refused,
            (_, 3) => Code::Missing,
            (_, 1) => Code::No,
            _ => Code::Answered,
        })
    }

    /// Shows the plans to a person. Where they cannot be shown, nothing is changed.
    fn show(&self, planned: &FleetApply) -> Result<(), Failure> {
        if !self.output.is_for_people() {
            return Ok(());
        }
        let shown = self.output.write_or_names(
            planned,
            |it: &FleetApply| it.doc(false),
            |it: &FleetApply| it.doc(true),
            |it: &FleetApply| {
                let planned = it.items.iter().filter(|it| it.state == ChangeState::Planned);
                planned.map(|it| it.node.clone()).collect()
            },
        );
        note("nodes", &planned.summary());
        shown.map_err(|failure| {
            Failure::refused(anyhow!("nothing was changed: {}", failure.reason()))
        })
    }

    /// Has the change confirmed; a signal is an answer, too.
    fn agree(&self, run: &FleetRun, planned: &FleetApply) -> Result<(), Failure> {
        let refused = || Failure::refused(anyhow!("nothing was changed: kq was interrupted"));
        if run.interrupted().is_some() {
            return Err(refused());
        }
        let cordoned = planned.items.iter().filter(|it| it.is_cordoned).count();
        let question = match (planned.count(ChangeState::Planned), cordoned) {
            (0, 0) => return Ok(()),
            (0, cordoned) => format!("Uncordon {cordoned} nodes?"),
            (1, _) => "Change 1 node?".to_owned(),
            (count, _) => format!("Change {count} nodes?"),
        };
        if self.dry_run || self.yes {
            return Ok(());
        }
        let (sender, answer) = mpsc::channel();
        // It ends with the process where a signal comes before an answer.
        thread::spawn(move || sender.send(confirm(&question)));
        loop {
            match answer.recv_timeout(Duration::from_millis(100)) {
                Ok(answer) => return answer,
                Err(_) if run.interrupted().is_some() => return Err(refused()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(refused()),
            }
        }
    }

    fn change(
        &self,
        run: &FleetRun,
        command: &ChangeCommand,
        log: Option<&ApplyLog>,
        waves: &WaveOptions,
        planned: FleetApply,
    ) -> FleetApply {
        let count = planned.count(ChangeState::Planned);
        exit::changes_begin(Some(count));
        let has_lines = matches!(self.output, OutputFormat::Table | OutputFormat::Wide);
        let (progress, mut done) = (Progress::of("nodes"), 0);
        run.apply_change(command, log, waves, planned, |change| {
            done += 1;
            exit::change_done(change.line());
            if has_lines {
                // The change goes on if its progress cannot be shown.
                let line = format!("{done}/{count} {}", change.line());
                suspended(|| drop(write::lines([line])));
            }
            progress.show(done, count);
        })
    }

    /// Says what a person has to do now.
    fn tell(&self, answer: &FleetApply, is_recorded: bool) {
        if let Some(reason) = &answer.stopped {
            note("stopped", reason);
        }
        let is_open = is_recorded && !self.dry_run && !matches!(answer.exit_code(), 0 | 1);
        if let (Some(path), true) = (self.record.as_ref().or(self.resume.as_ref()), is_open) {
            note("hint", &format!("--resume {path} continues with the nodes that are not done"));
        }
        let own = answer.items.iter().filter(|it| it.is_cordoned).map(|it| it.node.as_str());
        let others = answer.others_cordoned.iter().map(String::as_str);
        let cordoned: Vec<&str> = own.chain(others).collect();
        if !cordoned.is_empty() {
            warn(&format!("still cordoned: {}", cordoned.join(", ")));
        }
    }
}

/// Describes the waves in a line.
fn described(waves: &WaveOptions, writes_files: bool) -> String {
    let WaveOptions { canaries, at_a_time, failures, cordon } = waves;
    let cordon = if *cordon { ", each cordoned meanwhile" } else { "" };
    let host = match writes_files {
        true => "/host is writable in the pods that change",
        false => "/host is read-only there, too",
    };
    format!(
        "then the change: {canaries} canaries, then at most {at_a_time} nodes at a time{cordon}; more than {failures} \
         failures end it; {host}"
    )
}

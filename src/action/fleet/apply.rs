//! A change on the nodes of a cluster: each node plans, a person confirms, and the nodes change a few at a time.

use super::plan::FleetNode;
use super::run::{FleetRun, each};
use crate::answer::{Basis, Failure};
use crate::edge::input::read_input;
use crate::edge::line_file::LineFile;
use crate::fleet::{
    ApplyEvent, ApplyRecord, ChangeState, ChangedNode, FleetApply, NoAnswer, NodeCommand,
};
use anyhow::anyhow;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where a command of kq on a node stores its rollback file: a folder that every node has.
const ROLLBACK_FOLDER: &str = "/host/var/lib";

/// The command that changes each node.
#[derive(Clone, Debug)]
pub struct ChangeCommand {
    /// Its words, without `kq`, the format, and the flags that confirm it.
    pub words: Vec<String>,
    /// It writes files of the node, and stores a rollback file.
    pub writes_files: bool,
    /// Where it stores the rollback file is among the words.
    pub names_rollback_file: bool,
}

/// How many nodes change at a time, and when no more do.
#[derive(Clone, Copy, Debug)]
pub struct WaveOptions {
    /// So many nodes change first.
    pub canaries: usize,
    /// So many nodes change at a time.
    pub at_a_time: usize,
    /// With more failures, no more nodes change.
    pub failures: usize,
    /// Mark a node as unschedulable while it changes.
    pub cordon: bool,
}

/// The record of a change, which a later run continues.
pub struct ApplyLog {
    file: Mutex<LineFile>,
    /// The nodes that earlier runs changed.
    pub earlier: ApplyRecord,
}

impl ApplyLog {
    /// Begins a record in a new file.
    ///
    /// # Errors
    ///
    /// Refuses where the file exists, and where it cannot be written.
    pub fn create(path: &str) -> Result<Self, Failure> {
        let file = LineFile::create(path).map_err(Failure::refused)?;
        Ok(Self { file: Mutex::new(file), earlier: ApplyRecord::default() })
    }

    /// Goes on with the record of an earlier run.
    ///
    /// # Errors
    ///
    /// Fails for a file that is no record, and for that of another command.
    pub fn resume(path: &str, command: &ChangeCommand) -> Result<Self, Failure> {
        let content = read_input(path).map_err(Failure::missing)?;
        let earlier = str::from_utf8(&content)
            .map_err(|_| "it is not text in UTF-8".to_owned())
            .and_then(ApplyRecord::parse)
            .map_err(|reason| Failure::usage(anyhow!("{path} is not a record: {reason}")))?;
        if earlier.command != command.words {
            let other = earlier.command.join(" ");
            return Err(Failure::usage(anyhow!(
                "{path} is the record of another command: {other}"
            ))
            .hint("a record is continued with the command that it began with"));
        }
        let mut file = LineFile::open(path).map_err(Failure::refused)?;
        if content.last().is_some_and(|last| *last != b'\n') {
            // The line that a kill cut off ends here.
            file.add("").map_err(Failure::refused)?;
        }
        Ok(Self { file: Mutex::new(file), earlier })
    }

    fn add(&self, event: &ApplyEvent) -> Result<(), String> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.add(&event.to_line()).map_err(|error| error.to_string())
    }
}

impl ChangeCommand {
    /// Returns the words that show the plan of a node.
    pub fn dry_run(&self) -> Vec<String> {
        self.with(["--dry-run", "--output=json"].map(str::to_owned))
    }

    /// Returns the words that apply one plan.
    pub fn confirmed(&self, run: &str, plan_digest: &str) -> Vec<String> {
        let mut words = self.with(["--yes", "--output=json"].map(str::to_owned));
        words.push(format!("--plan-digest={plan_digest}"));
        if self.writes_files && !self.names_rollback_file {
            words.push(format!("--rollback-file={ROLLBACK_FOLDER}/kq-rollback-{run}.json"));
        }
        words
    }

    fn with(&self, flags: impl IntoIterator<Item = String>) -> Vec<String> {
        self.words.iter().cloned().chain(flags).collect()
    }
}

impl FleetRun {
    /// Lets each node plan a change; nothing is changed. Nodes that the record has as changed are not asked. `progress`
    /// gets the number of nodes so far, and of those without a plan.
    pub fn plan_change(
        &self,
        command: &ChangeCommand,
        log: Option<&ApplyLog>,
        waves: &WaveOptions,
        mut progress: impl FnMut(usize, usize),
    ) -> FleetApply {
        let words = command.dry_run();
        let is_done = |node: &FleetNode| log.is_some_and(|it| it.earlier.done.contains(&node.name));
        let plan = |at: usize| {
            let node = &self.plan.nodes[at];
            if is_done(node) {
                return (at, ChangedNode::done_before(&node.name));
            }
            let reply = match self.interrupts.caught() {
                Some(_) => Err(NoAnswer::Interrupted),
                None => self.run_pod(at, &node.name, &NodeCommand::reading(&words), false),
            };
            (at, ChangedNode::planned(&node.name, reply.as_ref()))
        };
        let (mut items, mut without) = (Vec::new(), 0);
        let nodes = self.plan.nodes.len();
        let taken = each(nodes, self.plan.parallel, plan, |done, planned| {
            without += usize::from(planned.1.state == ChangeState::NoPlan);
            items.push(planned);
            progress(done, without);
            Ok::<(), Infallible>(())
        });
        match taken {
            Ok(()) => {}
        }
        items.sort_unstable_by_key(|(at, _)| *at);
        let mut items: Vec<ChangedNode> = items.into_iter().map(|(_, change)| change).collect();
        let planned = items.iter_mut().filter(|it| it.state == ChangeState::Planned);
        planned.take(waves.canaries).for_each(|change| change.is_canary = true);
        FleetApply {
            command: command.words.clone(),
            run: self.plan.settings.run.clone(),
            dry_run: true,
            stopped: None,
            items,
            basis: Basis::default(),
        }
    }

    /// Changes the nodes that have a plan: first the canaries, then the others. On each node kq applies the plan that
    /// was shown, and refuses another one. `observe` gets each node as it ends.
    pub fn apply_change(
        &self,
        command: &ChangeCommand,
        log: Option<&ApplyLog>,
        waves: &WaveOptions,
        planned: FleetApply,
        mut observe: impl FnMut(&ChangedNode),
    ) -> FleetApply {
        let mut answer = FleetApply { dry_run: false, ..planned };
        let begin = ApplyEvent::begins(&answer.run, &command.words);
        if let Some(Err(error)) = log.map(|log| log.add(&begin)) {
            answer.stopped = Some(error);
        }
        let (is_stopped, mut failures) = (AtomicBool::new(answer.stopped.is_some()), 0);
        for is_canary in [true, false] {
            let chosen: Vec<(usize, ChangedNode)> = answer
                .items
                .iter()
                .cloned()
                .enumerate()
                .filter(|(_, it)| it.state == ChangeState::Planned && it.is_canary == is_canary)
                .collect();
            let work = |number: usize| {
                let (at, change) = &chosen[number];
                let mut change = change.clone();
                let is_over = is_stopped.load(Ordering::SeqCst);
                match is_over || self.interrupts.caught().is_some() {
                    true => change.state = ChangeState::Left,
                    false => self.change(command, log, waves, *at, &mut change),
                }
                (*at, change)
            };
            let taken = each(chosen.len(), waves.at_a_time, work, |_, (at, change)| {
                failures += usize::from(change.state.is_failure());
                let mut stop = None;
                if change.state != ChangeState::Left {
                    let ended = log.map(|log| log.add(&ApplyEvent::ended(&change)));
                    stop = ended.and_then(Result::err);
                    observe(&change);
                }
                if failures > waves.failures {
                    stop = stop.or_else(|| Some(failed(failures, waves.failures)));
                }
                if stop.is_some() {
                    is_stopped.store(true, Ordering::SeqCst);
                    answer.stopped = answer.stopped.take().or(stop);
                }
                answer.items[at] = change;
                Ok::<(), Infallible>(())
            });
            match taken {
                Ok(()) => {}
            }
        }
        let was_left = answer.count(ChangeState::Left) > 0;
        let signal = self.interrupts.caught().filter(|_| was_left && answer.stopped.is_none());
        answer.stopped = answer.stopped.or(signal.map(str::to_owned));
        answer
    }

    /// Changes one node.
    fn change(
        &self,
        command: &ChangeCommand,
        log: Option<&ApplyLog>,
        waves: &WaveOptions,
        at: usize,
        change: &mut ChangedNode,
    ) {
        let digest = change.plan_digest.clone().unwrap_or_default();
        let begins = ApplyEvent::Changes { node: change.node.clone(), plan_digest: digest.clone() };
        if let Some(Err(error)) = log.map(|log| log.add(&begins)) {
            (change.state, change.reason) = (ChangeState::Left, Some(error));
            return;
        }
        let is_cordoned = match self.cordon(waves, log, &change.node) {
            Ok(is_cordoned) => is_cordoned,
            Err(reason) => {
                change.state = ChangeState::Refused;
                change.reason = Some(format!("it cannot be cordoned: {reason}"));
                return;
            }
        };
        let words = command.confirmed(&self.plan.settings.run, &digest);
        let on_node = NodeCommand { words: &words, writes_files: command.writes_files };
        // Not the number of the pod that planned: that one may still be going.
        let number = self.plan.nodes.len() + at;
        let reply = self.run_pod(number, &change.node, &on_node, true);
        change.change(reply.as_ref());
        if is_cordoned {
            let is_well = matches!(change.state, ChangeState::Done | ChangeState::Refused);
            let uncordoned =
                is_well.then(|| self.plan.server.set_unschedulable(&change.node, false));
            change.is_cordoned = !matches!(uncordoned, Some(Ok(())));
        }
    }

    /// Cordons a node, and returns true if it is to be uncordoned: another client may have cordoned it for its own reasons.
    fn cordon(
        &self,
        waves: &WaveOptions,
        log: Option<&ApplyLog>,
        node: &str,
    ) -> Result<bool, String> {
        if !waves.cordon {
            return Ok(false);
        }
        let object = self.plan.server.node(node).map_err(|error| error.reason())?;
        let object: Value = serde_json::from_slice(&object).map_err(|error| error.to_string())?;
        let is_before = object.pointer("/spec/unschedulable").and_then(Value::as_bool);
        if is_before == Some(true) {
            // An earlier run of this record left it so.
            return Ok(log.is_some_and(|it| it.earlier.cordoned.contains(node)));
        }
        let cordoned = self.plan.server.set_unschedulable(node, true);
        cordoned.map(|()| true).map_err(|error| error.reason())
    }
}

fn failed(failures: usize, allowed: usize) -> String {
    match (failures, allowed) {
        (1, _) => "a node failed".to_owned(),
        (_, 0) => format!("{failures} nodes failed"),
        _ => format!("{failures} nodes failed, more than the {allowed} of --max-failures"),
    }
}

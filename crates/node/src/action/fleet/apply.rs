//! A change on the nodes of a cluster: each node plans, a person confirms, and the nodes change a few at a time.

use super::member::{Reading, Wanted};
use super::plan::FleetNode;
use super::run::{FleetRun, attempt, each};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_core::fleet::{
    ApplyEvent, ApplyRecord, ChangeState, ChangedNode, FleetApply, NoAnswer, NodeCommand,
};
use kq_io::line_file::LineFile;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::path::Path;
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
    /// So many nodes change first. If one of them fails, no other node changes.
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
    path: String,
    file: Mutex<LineFile>,
    /// What earlier runs did.
    pub earlier: ApplyRecord,
}

impl ApplyLog {
    /// Refuses a record that exists, before anything is asked.
    ///
    /// # Errors
    ///
    /// Fails where there is something with the name.
    pub fn check_new(path: &str) -> Result<(), Failure> {
        match Path::new(path).symlink_metadata().is_ok() {
            false => Ok(()),
            true => Err(Failure::refused(anyhow!("--record {path}: it exists"))
                .hint(format!("--resume {path} continues it"))),
        }
    }

    /// Begins a record in a new file.
    ///
    /// # Errors
    ///
    /// Refuses where the file exists, and where it cannot be written.
    pub fn begin(path: &str, run: &FleetRun, command: &ChangeCommand) -> Result<Self, Failure> {
        let begins = begins(run, command).to_line();
        let file = LineFile::begin(path, &begins).map_err(Failure::refused)?;
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), earlier: ApplyRecord::default() })
    }

    /// Opens the record of an earlier run, to go on with it.
    ///
    /// # Errors
    ///
    /// Fails for a file that is no record, for that of another command, and where another process has it open.
    pub fn open(path: &str, command: &ChangeCommand) -> Result<Self, Failure> {
        if path == "-" {
            return Err(Failure::usage(anyhow!(
                "--resume -: a record is a file, to which kq adds"
            )));
        }
        let mut file = LineFile::open(path).map_err(Failure::refused)?;
        let content = file.content().map_err(Failure::missing)?;
        let earlier = ApplyRecord::parse(&content)
            .map_err(|reason| Failure::usage(anyhow!("{path} is not a record: {reason}")))?;
        if earlier.command != command.words {
            let other = earlier.command.join(" ");
            return Err(Failure::usage(anyhow!(
                "{path} is the record of another command: {other}"
            ))
            .hint("a record is continued with the command that it began with"));
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), earlier })
    }

    /// Refuses the record of another cluster, whose nodes may have the same names.
    ///
    /// # Errors
    ///
    /// Fails where the API server has another address.
    pub fn check_server(&self, url: &str) -> Result<(), Failure> {
        let (path, server) = (&self.path, &self.earlier.server);
        match server == url {
            true => Ok(()),
            false => Err(Failure::usage(anyhow!("{path} is a record of the nodes of {server}"))
                .hint("choose that cluster with --kubeconfig or --context")),
        }
    }

    /// Goes on with the record.
    ///
    /// # Errors
    ///
    /// Refuses where the file cannot be written.
    pub fn resume(&self, run: &FleetRun, command: &ChangeCommand) -> Result<(), Failure> {
        let resumed = self.add(&begins(run, command));
        resumed.map_err(|reason| Failure::refused(anyhow!("{reason}")))
    }

    fn add(&self, event: &ApplyEvent) -> Result<(), String> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.add(&event.to_line()).map_err(|error| error.to_string())
    }
}

fn begins(run: &FleetRun, command: &ChangeCommand) -> ApplyEvent {
    ApplyEvent::begins(&run.plan.settings.run, run.plan.server_url(), &command.words)
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
        let done = |node: &FleetNode| log.and_then(|it| it.earlier.done.get(&node.name));
        let plan = |at: usize| {
            let node = &self.plan.nodes[at];
            if let Some(exit_code) = done(node) {
                return (at, (ChangedNode::done_before(&node.name, *exit_code), Vec::new()));
            }
            let (name, command) = (node.name.clone(), NodeCommand::reading(&words));
            let read = match self.interrupted() {
                Some(_) => Err(NoAnswer::Interrupted),
                None => self.check_system(at).and_then(|()| {
                    self.run_pod(at, &node.name, &command, &Wanted::Plan { node: name }, false)
                }),
            };
            let why = match read.map(|it| it.reading) {
                Ok(Reading::Plan { change, steps }) => return (at, (change, steps)),
                Ok(_) => NoAnswer::other_reading(),
                Err(why) => why,
            };
            (at, ChangedNode::planned(&node.name, Err(&why)))
        };
        let (mut planned, mut without) = (Vec::new(), 0);
        let nodes = self.plan.nodes.len();
        let taken = each(nodes, self.plan.parallel, plan, |done, (at, node)| {
            without += usize::from(node.0.state == ChangeState::NoPlan);
            planned.push((at, node));
            progress(done, without);
            Ok::<(), Infallible>(())
        });
        match taken {
            Ok(()) => {}
        }
        planned.sort_unstable_by_key(|(at, _)| *at);
        let nodes = planned.into_iter().map(|(_, node)| node).collect();
        let mut answer = FleetApply::planned(&command.words, &self.plan.settings.run, nodes);
        let planned = answer.items.iter_mut().filter(|it| it.state == ChangeState::Planned);
        planned.take(waves.canaries).for_each(|change| change.is_canary = true);
        let mut cordoned = log.map(|it| it.earlier.cordoned.clone()).unwrap_or_default();
        for change in &mut answer.items {
            change.is_cordoned = cordoned.remove(&change.node);
        }
        answer.others_cordoned = cordoned.into_iter().collect();
        answer
    }

    /// Changes the nodes that have a plan: first the canaries, then the others. On each node kq applies the plan that
    /// was shown, and refuses another one. Nodes that an earlier run of the record left cordoned are uncordoned, unless their
    /// change failed. `observe` gets each node as it ends.
    pub fn apply_change(
        &self,
        command: &ChangeCommand,
        log: Option<&ApplyLog>,
        waves: &WaveOptions,
        planned: FleetApply,
        mut observe: impl FnMut(&ChangedNode),
    ) -> FleetApply {
        let mut answer = FleetApply { dry_run: false, ..planned };
        let change = NodeChanges { run: self, command, log, waves, course: Mutex::default() };
        for is_canary in [true, false] {
            let chosen: Vec<(usize, ChangedNode)> = answer
                .items
                .iter()
                .cloned()
                .enumerate()
                .filter(|(_, it)| it.state == ChangeState::Planned && it.is_canary == is_canary)
                .collect();
            let work = |number: usize| {
                let (at, planned) = &chosen[number];
                (*at, change.apply(*at, planned.clone()))
            };
            let taken = each(chosen.len(), waves.at_a_time, work, |_, (at, change)| {
                if change.state != ChangeState::Left {
                    observe(&change);
                }
                answer.items[at] = change;
                Ok::<(), Infallible>(())
            });
            match taken {
                Ok(()) => {}
            }
        }
        for item in answer.items.iter_mut().filter(|it| it.is_cordoned && change.is_fit(it)) {
            if self.interrupted().is_none() {
                change.uncordon(item);
            }
        }
        answer.stopped = change.stopped().or_else(|| {
            let was_left = answer.count(ChangeState::Left) > 0;
            self.interrupted().filter(|_| was_left).map(str::to_owned)
        });
        answer
    }
}

/// How the changes go: what one node does decides about the next.
#[derive(Debug, Default)]
struct Course {
    failures: usize,
    stopped: Option<String>,
}

/// The changes of the nodes of one run.
struct NodeChanges<'a> {
    run: &'a FleetRun,
    command: &'a ChangeCommand,
    log: Option<&'a ApplyLog>,
    waves: &'a WaveOptions,
    course: Mutex<Course>,
}

impl NodeChanges<'_> {
    fn stopped(&self) -> Option<String> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner).stopped.clone()
    }

    fn stop(&self, reason: String) {
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        course.stopped.get_or_insert(reason);
    }

    /// Stores a line; where that fails, no more nodes are begun.
    fn log(&self, event: &ApplyEvent) -> Result<(), String> {
        let logged = self.log.map_or(Ok(()), |log| log.add(event));
        logged.inspect_err(|reason| self.stop(reason.clone()))
    }

    /// Changes one node, and stores and counts how that ended before another one is begun in its place.
    fn apply(&self, at: usize, planned: ChangedNode) -> ChangedNode {
        let mut change = planned;
        if self.stopped().is_some() || self.run.interrupted().is_some() {
            change.state = ChangeState::Left;
            return change;
        }
        self.change(at, &mut change);
        if change.state == ChangeState::Left {
            return change;
        }
        let _ = self.log(&ApplyEvent::ended(&change));
        if change.state.is_failure() {
            let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
            course.failures += 1;
            let reason = match course.failures {
                _ if change.is_canary => Some(format!("the canary {} failed", change.node)),
                1 if self.waves.failures == 0 => Some(format!("{} failed", change.node)),
                count if count > self.waves.failures => Some(format!("{count} nodes failed")),
                _ => None,
            };
            course.stopped = course.stopped.take().or(reason);
        }
        change
    }

    fn change(&self, at: usize, change: &mut ChangedNode) {
        let digest = change.plan_digest.clone().unwrap_or_default();
        let begins = ApplyEvent::Changes { node: change.node.clone(), plan_digest: digest.clone() };
        if let Err(reason) = self.log(&begins) {
            (change.state, change.reason) = (ChangeState::Left, Some(reason));
            return;
        }
        if let Err(reason) = self.cordon(change) {
            change.state = ChangeState::Refused;
            change.reason = Some(format!("it cannot be cordoned: {reason}"));
        } else {
            let run = &self.run.plan;
            let words = self.command.confirmed(&run.settings.run, &digest);
            let writes_files = self.command.writes_files;
            let on_node = NodeCommand { words: &words, writes_files };
            // Not the number of the pod that planned: that one may still be going.
            let number = run.nodes.len() + at;
            let wanted =
                Wanted::Change { node: change.node.clone(), plan_digest: Some(digest.clone()) };
            let read = self.run.run_pod(number, &change.node, &on_node, &wanted, true);
            match read.map(|it| it.reading) {
                Ok(Reading::Change { change: ended }) => change.end_as(ended),
                Ok(_) => change.change(Err(&NoAnswer::other_reading())),
                Err(why) => change.change(Err(&why)),
            }
        }
        if change.is_cordoned && self.is_fit(change) {
            self.uncordon(change);
        }
    }

    /// Cordons a node. One that is cordoned already is another client's, and stays so.
    fn cordon(&self, change: &mut ChangedNode) -> Result<(), String> {
        if !self.waves.cordon {
            return Ok(());
        }
        let found = self.look(&change.node)?;
        if found.is_unschedulable {
            change.is_cordoned = self.is_own(&found);
            return Ok(());
        }
        self.log(&ApplyEvent::Cordons { node: change.node.clone() })?;
        let run = &self.run.plan.settings.run;
        let cordoned = self.run.plan.server.patch_node(&change.node, &found.patch(Some(run)));
        // Only a server that refuses has certainly not done it.
        let status = cordoned.as_ref().err().and_then(|error| error.status());
        change.is_cordoned = status.is_none_or(|code| code >= 500);
        cordoned.map_err(|error| error.reason())
    }

    /// Uncordons a node if kq cordoned it: another client may have done so since.
    fn uncordon(&self, change: &mut ChangedNode) {
        let node = &change.node;
        let uncordoned = attempt(|| {
            let found = self.look(node)?;
            match found.is_unschedulable && self.is_own(&found) {
                true => self.run.plan.server.patch_node(node, &found.patch(None)),
                false => return Ok(()),
            }
            .map_err(|error| error.reason())
        });
        if uncordoned.is_ok() {
            let _ = self.log(&ApplyEvent::Uncordoned { node: node.clone() });
            change.is_cordoned = false;
        }
    }

    /// Returns true if the node may get pods again: it is changed, or as it was before. One that an earlier run left in the
    /// middle of a change is not, whatever refused to go on.
    fn is_fit(&self, change: &ChangedNode) -> bool {
        let is_open = || self.log.is_some_and(|it| it.earlier.open.contains_key(&change.node));
        match change.state {
            ChangeState::Done | ChangeState::DoneBefore | ChangeState::Unchanged => true,
            ChangeState::Refused => !is_open(),
            _ => false,
        }
    }

    fn look(&self, node: &str) -> Result<NodeMark, String> {
        let object = self.run.plan.server.node(node).map_err(|error| error.reason())?;
        let object: Value = serde_json::from_slice(&object).map_err(|error| error.to_string())?;
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).map(str::to_owned);
        Ok(NodeMark {
            is_unschedulable: object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)),
            run: text(&format!("/metadata/annotations/{}", CORDONED_BY.replace('/', "~1"))),
            version: text("/metadata/resourceVersion"),
        })
    }

    /// Returns true if this run cordoned the node, or an earlier one of the record.
    fn is_own(&self, found: &NodeMark) -> bool {
        let is_of_record = |run: &String| self.log.is_some_and(|it| it.earlier.runs.contains(run));
        found
            .run
            .as_ref()
            .is_some_and(|run| *run == self.run.plan.settings.run || is_of_record(run))
    }
}

/// The annotation of a node that kq cordoned, with the run.
const CORDONED_BY: &str = "kq.fleet/cordoned-by";

/// How a node is marked.
struct NodeMark {
    is_unschedulable: bool,
    /// The run that cordoned it, as the annotation says.
    run: Option<String>,
    /// The version of the object, without which a change in between would be overwritten.
    version: Option<String>,
}

impl NodeMark {
    /// Returns the patch that cordons the node for a run, or uncordons it.
    fn patch(&self, run: Option<&str>) -> Value {
        json!({
            "metadata": {"annotations": {CORDONED_BY: run}, "resourceVersion": self.version},
            "spec": {"unschedulable": run.is_some()},
        })
    }
}

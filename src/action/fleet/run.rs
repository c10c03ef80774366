//! A run on the nodes of a cluster: one pod for each node, which is created, awaited, read and deleted.

use super::MAX_ANSWER_BYTES;
use super::guard::Guard;
use super::plan::FleetPlan;
use crate::answer::Failure;
use crate::edge::clock::{pause, steady};
use crate::edge::interrupt::Interrupts;
use crate::edge::snapshot_file::write_snapshot;
use crate::facts::snapshot::Snapshot;
use crate::fleet::{
    NoAnswer, NodeCommand, NodeOutcome, Packed, PodState, PodStep, Reply, uid_of_run,
};
use crate::k8s::duration::GoDuration;
use anyhow::anyhow;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// The largest log that is read: the kubelet rotates logs of 10 MiB.
const MAX_LOG_BYTES: u64 = 32 << 20;

/// The time between two requests for a pod.
const PAUSE: Duration = Duration::from_millis(500);

/// The most requests to find or to delete a pod, and for its log.
const ATTEMPTS: usize = 3;

/// An event of a run that does not belong to a node's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetEvent<'a> {
    /// The signal after which no more pods are created.
    Interrupted(&'static str),
    /// A pod that may be left behind.
    PodLeft {
        namespace: &'a str,
        name: &'a str,
        /// Why it could not be deleted.
        reason: &'a str,
    },
}

/// A run on the nodes of a cluster.
pub struct FleetRun {
    pub(super) plan: FleetPlan,
    /// `None`: no pods are created.
    guard: Option<Guard>,
    pub(super) interrupts: Interrupts,
    left: AtomicUsize,
    events: Arc<dyn Fn(FleetEvent<'_>) + Send + Sync>,
}

impl FleetRun {
    pub(super) fn start(
        plan: FleetPlan,
        report: impl Fn(FleetEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let report: Arc<dyn Fn(FleetEvent<'_>) + Send + Sync> = Arc::new(report);
        let of_signals = Arc::clone(&report);
        let first = move |signal| of_signals(FleetEvent::Interrupted(signal));
        let interrupts = Interrupts::watch_at_terminal(first, || {})
            .map_err(|error| Failure::refused(anyhow!("signals cannot be caught: {error}")))?;
        let guard = (!plan.api_only).then(|| Guard::start(&plan.guard)).transpose()?;
        Ok(Self { plan, guard, interrupts, left: AtomicUsize::new(0), events: report })
    }

    /// Returns the signal that ends the run.
    pub fn interrupted(&self) -> Option<&'static str> {
        self.interrupts.caught()
    }

    /// Ends the guard process, and returns how many pods may be left behind. No command runs afterwards.
    pub fn finish(&self) -> usize {
        let is_clean = self.guard.as_ref().is_none_or(Guard::finish);
        self.left.load(Ordering::Relaxed) + usize::from(!is_clean)
    }

    /// Runs a command on each node, and passes the outcomes to `take` as they arrive, with their number so far.
    /// `group_by` is the label that groups nodes.
    ///
    /// # Errors
    ///
    /// Fails where `take` does. All pods are deleted then, too.
    pub fn ask(
        &self,
        command: &[String],
        group_by: Option<&str>,
        take: impl FnMut(usize, NodeOutcome) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let outcome = |at: usize| {
            let node = &self.plan.nodes[at];
            let reply = match self.run_on(at, Some(command)) {
                Ok(packed) => Reply::parse(None, packed.exit_code, &packed.output, &packed.notes),
                Err(why) => Reply::Failed { exit_code: None, why },
            };
            let group = group_by.map(|key| node.labels.get(key).cloned().unwrap_or_default());
            NodeOutcome { node: node.name.clone(), group, reply }
        };
        each(self.plan.nodes.len(), self.plan.parallel, outcome, take)
    }

    /// Stores a snapshot of each node in a folder, as NODE.json.zst. `take` gets the number of nodes so far, the node,
    /// and true if kq found a node in its pod, or why nothing is stored.
    pub fn collect(&self, folder: &Path, mut take: impl FnMut(usize, &str, Result<bool, String>)) {
        let stored = |at: usize| {
            let node = self.plan.nodes[at].name.as_str();
            let packed = self.run_on(at, None).map_err(|why| why.to_string());
            (node, packed.and_then(|packed| store(folder, node, &packed)))
        };
        let nodes = self.plan.nodes.len();
        let taken = each(nodes, self.plan.parallel, stored, |done, (node, result)| {
            take(done, node, result);
            Ok::<(), Infallible>(())
        });
        match taken {
            Ok(()) => {}
        }
    }

    /// Runs kq on one node and returns its output; without a command, that is a snapshot. Its pod is deleted in any case.
    fn run_on(&self, at: usize, command: Option<&[String]>) -> Result<Packed, NoAnswer> {
        if self.interrupts.caught().is_some() {
            return Err(NoAnswer::Interrupted);
        }
        if self.plan.api_only {
            return self.plan.read(at, command);
        }
        let snapshot = ["snapshot".to_owned()];
        let command = NodeCommand::reading(command.unwrap_or(&snapshot));
        self.run_pod(at, &self.plan.nodes[at].name, &command, false)
    }

    /// Runs a command in the pod with this number, and deletes the pod in any case. `is_patient`: a signal does not
    /// end the wait, as the command changes the node.
    pub(super) fn run_pod(
        &self,
        number: usize,
        node: &str,
        command: &NodeCommand<'_>,
        is_patient: bool,
    ) -> Result<Packed, NoAnswer> {
        let FleetPlan { server, settings, .. } = &self.plan;
        let name = settings.name(number);
        let pod = settings.pod(number, node, command);
        self.report(&PodStep::Planned { name: name.clone() })?;
        let uid = match server.create_pod(&settings.namespace, &pod) {
            Ok(uid) => uid,
            // A server that refuses has created none. After another failure, and where the name is taken, there may be one
            // of this run; the guard process looks for one that comes later.
            Err(error) => {
                let is_refused = error.status().is_some_and(|code| code < 500 && code != 409);
                let found = if is_refused { Ok(None) } else { self.find(&name) };
                match found {
                    Ok(Some(uid)) => uid,
                    Ok(None) => {
                        if is_refused {
                            self.close(&name);
                            return Err(NoAnswer::NotCreated(error.reason()));
                        }
                        return Err(NoAnswer::Pod(error.reason()));
                    }
                    Err(reason) => {
                        self.leave(&name, &reason);
                        return Err(NoAnswer::Pod(error.reason()));
                    }
                }
            }
        };
        // Without its guard process the run still deletes the pod.
        let reported = self.report(&PodStep::Created { name: name.clone(), uid: uid.clone() });
        let answer = reported.and_then(|()| self.wait(&name, &uid, is_patient));
        self.delete(&name, &uid);
        answer
    }

    /// Waits for the end of a pod; `is_patient`: also after a signal.
    fn wait(&self, name: &str, uid: &str, is_patient: bool) -> Result<Packed, NoAnswer> {
        let FleetPlan { server, settings, timeout, .. } = &self.plan;
        let (namespace, end) = (&settings.namespace, steady() + *timeout);
        loop {
            // The reason why the pod has not ended, or why its state is unknown.
            let so_far = match server.read_pod(namespace, name) {
                Ok(None) => return Err(NoAnswer::Pod("another client deleted it".to_owned())),
                // The answer of another pod with the name does not count.
                Ok(Some(object))
                    if uid_of_run(&object, &settings.run).is_none_or(|other| other != uid) =>
                {
                    return Err(NoAnswer::Pod("another client replaced it".to_owned()));
                }
                Ok(Some(object)) => match PodState::of(&object) {
                    Ok(PodState::Ended) => break,
                    Ok(PodState::Failed { why }) => return Err(NoAnswer::Pod(why)),
                    Ok(PodState::Running { waits_for }) => waits_for,
                    Err(error) => return Err(NoAnswer::Pod(format!("it cannot be read: {error}"))),
                },
                // It may answer again.
                Err(error) => Some(error.reason()),
            };
            if self.interrupts.caught().is_some() && !is_patient {
                return Err(NoAnswer::Interrupted);
            }
            if steady() >= end {
                let timeout = GoDuration(i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX));
                let so_far = so_far.map(|why| format!(": {why}")).unwrap_or_default();
                return Err(NoAnswer::TimedOut(format!("{timeout}{so_far}")));
            }
            match is_patient {
                true => pause(PAUSE),
                false => self.interrupts.pause(PAUSE),
            }
        }
        // The connection to the kubelet may fail, and a log that is being rotated is whole later.
        attempt(|| {
            let log = server.pod_log(namespace, name, MAX_LOG_BYTES);
            let log = log.map_err(|error| NoAnswer::Cut(error.reason()))?;
            Packed::from_log(&log, MAX_ANSWER_BYTES)
        })
    }

    /// Returns the UID of a pod of this run; `None`: there is none.
    fn find(&self, name: &str) -> Result<Option<String>, String> {
        let FleetPlan { server, settings, .. } = &self.plan;
        attempt(|| match server.read_pod(&settings.namespace, name) {
            Ok(object) => Ok(object.and_then(|object| uid_of_run(&object, &settings.run))),
            Err(error) => Err(error.reason()),
        })
    }

    fn delete(&self, name: &str, uid: &str) {
        let FleetPlan { server, settings, .. } = &self.plan;
        let deleted = attempt(|| {
            server.delete_pod(&settings.namespace, name, uid).map_err(|error| error.reason())
        });
        match deleted {
            Ok(()) => self.close(name),
            Err(reason) => self.leave(name, &reason),
        }
    }

    /// Reports a step to the guard process.
    fn report(&self, step: &PodStep) -> Result<(), NoAnswer> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.report(step))
    }

    /// Reports that a pod does not exist. The guard process would look for it in vain otherwise.
    fn close(&self, name: &str) {
        let _ = self.report(&PodStep::Closed { name: name.to_owned() });
    }

    /// Names a pod that may be left behind, so that the guard process does not do so as well.
    fn leave(&self, name: &str, reason: &str) {
        self.close(name);
        self.left.fetch_add(1, Ordering::Relaxed);
        let namespace = &self.plan.settings.namespace;
        (self.events)(FleetEvent::PodLeft { namespace, name, reason });
    }
}

/// Makes a request again where it fails, with pauses, and returns the last reason.
pub(super) fn attempt<T, E>(request: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let mut result = request();
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            break;
        }
        pause(PAUSE);
        result = request();
    }
    result
}

/// Stores a snapshot, and returns true if it is of a node.
fn store(folder: &Path, node: &str, packed: &Packed) -> Result<bool, String> {
    Snapshot::parse(&packed.output).map_err(|error| error.to_string())?;
    let path = folder.join(format!("{node}.json.zst"));
    let stored = write_snapshot(&path.to_string_lossy(), &packed.output);
    stored.map(|()| packed.exit_code == Some(0)).map_err(|error| error.to_string())
}

/// Works on each of `nodes` nodes, `parallel` at a time, and passes the results to `take` as they arrive, with their
/// number so far. Work that has begun is completed even if `take` fails; no more is begun then.
pub(super) fn each<T: Send, E>(
    nodes: usize,
    parallel: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let (next, (sender, results)) = (AtomicUsize::new(0), mpsc::channel());
    let (next, work) = (&next, &work);
    thread::scope(|scope| {
        for _ in 0..parallel.min(nodes) {
            let sender = sender.clone();
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    // The channel is closed once a result could not be taken.
                    if at >= nodes || sender.send(work(at)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        results.into_iter().enumerate().try_for_each(|(done, result)| take(done + 1, result))
    })
}

//! A run on the nodes of a cluster: one pod for each node, which is created, awaited, read and deleted.

use super::MAX_ANSWER_BYTES;
use super::plan::FleetPlan;
use super::workers::each;
use crate::answer::Failure;
use crate::edge::clock::{pause, steady};
use crate::edge::interrupt::Interrupts;
use crate::edge::snapshot_file::write_snapshot;
use crate::facts::snapshot::Snapshot;
use crate::fleet::{NoAnswer, NodeOutcome, Packed, PodState, Reply, uid_of_run};
use crate::k8s::duration::GoDuration;
use anyhow::anyhow;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The largest log that is read: the kubelet rotates logs of 10 MiB.
const MAX_LOG_BYTES: u64 = 32 << 20;

/// The time between two requests for a pod.
const PAUSE: Duration = Duration::from_millis(500);

/// The most requests to find or to delete a pod.
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
    plan: FleetPlan,
    interrupts: Interrupts,
    left: AtomicUsize,
    report: Arc<dyn Fn(FleetEvent<'_>) + Send + Sync>,
}

impl FleetRun {
    pub(super) fn start(
        plan: FleetPlan,
        report: impl Fn(FleetEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let report: Arc<dyn Fn(FleetEvent<'_>) + Send + Sync> = Arc::new(report);
        let of_signals = Arc::clone(&report);
        let first = move |signal| of_signals(FleetEvent::Interrupted(signal));
        let interrupts = Interrupts::watch(first, || {})
            .map_err(|error| Failure::refused(anyhow!("signals cannot be caught: {error}")))?;
        Ok(Self { plan, interrupts, left: AtomicUsize::new(0), report })
    }

    /// Returns how many pods may be left behind.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
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
            let reply = match self.run_on(at, command) {
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
            let packed = self.run_on(at, &["snapshot".to_owned()]).map_err(|why| why.to_string());
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

    /// Runs kq on one node and returns its output. Its pod is deleted in any case.
    fn run_on(&self, at: usize, command: &[String]) -> Result<Packed, NoAnswer> {
        if self.interrupts.caught().is_some() {
            return Err(NoAnswer::Interrupted);
        }
        let FleetPlan { server, settings, nodes, .. } = &self.plan;
        let name = settings.name(at);
        let pod = settings.pod(at, &nodes[at].name, command);
        let (answer, uid) = match server.create_pod(&settings.namespace, &pod) {
            Ok(uid) => (self.wait(&name, &uid), Ok(Some(uid))),
            // A server that refuses has created none; after another failure there may be one.
            Err(error) if error.status().is_some_and(|code| code < 500) => {
                (Err(NoAnswer::Pod(error.reason())), Ok(None))
            }
            Err(error) => (Err(NoAnswer::Pod(error.reason())), self.find(&name)),
        };
        match uid {
            Ok(Some(uid)) => self.delete(&name, &uid),
            Ok(None) => {}
            Err(reason) => self.leave(&name, &reason),
        }
        answer
    }

    fn wait(&self, name: &str, uid: &str) -> Result<Packed, NoAnswer> {
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
            if self.interrupts.caught().is_some() {
                return Err(NoAnswer::Interrupted);
            }
            if steady() >= end {
                let timeout = GoDuration(i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX));
                let so_far = so_far.map(|why| format!(": {why}")).unwrap_or_default();
                return Err(NoAnswer::TimedOut(format!("{timeout}{so_far}")));
            }
            self.interrupts.pause(PAUSE);
        }
        let log = server.pod_log(namespace, name, MAX_LOG_BYTES);
        let log = log.map_err(|error| NoAnswer::Cut(error.reason()))?;
        Packed::from_log(&log, MAX_ANSWER_BYTES)
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
        if let Err(reason) = deleted {
            self.leave(name, &reason);
        }
    }

    fn leave(&self, name: &str, reason: &str) {
        self.left.fetch_add(1, Ordering::Relaxed);
        let namespace = &self.plan.settings.namespace;
        (self.report)(FleetEvent::PodLeft { namespace, name, reason });
    }
}

/// Makes a request again where it fails, with pauses, and returns the last reason.
fn attempt<T>(request: impl Fn() -> Result<T, String>) -> Result<T, String> {
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

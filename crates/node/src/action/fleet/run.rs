//! A run on the nodes of a cluster: one pod for each node, which is created, awaited, read and deleted.

use super::guard::Guard;
use super::member::{MAX_LOG_BYTES, Member, Permit, Permits, Reading, Source, Wanted};
use super::plan::{FleetNode, FleetPlan, snapshot_path};
use super::snapshots::failed;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_api::api_server::DeletedPod;
use kq_core::fleet::{
    FoundPod, NoAnswer, NodeCommand, NodeOutcome, PodState, PodStep, node_group, uid_of,
};
use kq_io::clock::{pause, steady};
use kq_io::interrupt::Interrupts;
use kq_io::random::secret;
use kq_k8s::duration::GoDuration;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// How many logs are received at a time: together half of the memory that kq allows itself.
const LOGS: usize = 14;

/// How many processes read logs at a time, each with the memory that kq allows itself.
const READERS: usize = 4;

/// How many whole answers wait at a time to be written.
pub(super) const ANSWERS: usize = 4;

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
    logs: Permits,
    readers: Permits,
    answers: Permits,
    events: Arc<dyn Fn(FleetEvent<'_>) + Send + Sync>,
}

/// What was read of a node.
#[derive(Debug)]
pub(super) struct MemberRead<'a> {
    pub(super) reading: Reading,
    /// The whole answer, where it is asked for.
    answer: Option<String>,
    /// Until it is dropped, the answer counts.
    permit: Option<Permit<'a>>,
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
        Ok(Self {
            plan,
            guard,
            interrupts,
            left: AtomicUsize::new(0),
            logs: Permits::new(LOGS),
            readers: Permits::new(READERS),
            answers: Permits::new(ANSWERS),
            events: report,
        })
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
    /// `group_by` is the label that groups nodes, and `wanted` what is read of each answer.
    ///
    /// # Errors
    ///
    /// Fails where `take` does. All pods are deleted then, too.
    pub fn ask(
        &self,
        command: &[String],
        group_by: Option<&str>,
        wanted: &Wanted,
        mut take: impl FnMut(usize, NodeOutcome) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let outcome = |at: usize| {
            let node = &self.plan.nodes[at];
            let (reply, answer, permit) = match self.run_on(at, Some(command), wanted) {
                Ok(MemberRead { reading: Reading::Reply { reply }, answer, permit }) => {
                    (reply, answer, permit)
                }
                Ok(_) => (failed(NoAnswer::other_reading()), None, None),
                Err(why) => (failed(why), None, None),
            };
            let group = group_by.map(|key| node_group(key, &node.labels));
            (
                NodeOutcome { node: node.name.clone(), group, reply, answer, disruptions: None },
                permit,
            )
        };
        // A permit is returned once the answer is written.
        let taken = |done, (outcome, _permit)| take(done, outcome);
        each(self.plan.nodes.len(), self.plan.parallel, outcome, taken)
    }

    /// Stores a snapshot of each node in a folder, as NODE.json.zst. `take` gets the number of nodes so far, the node,
    /// and true if kq found a node in its pod, or why nothing is stored.
    pub fn collect(&self, folder: &Path, mut take: impl FnMut(usize, &str, Result<bool, String>)) {
        let stored = |at: usize| {
            let node = self.plan.nodes[at].name.as_str();
            let path = snapshot_path(folder, node).into_os_string();
            let read = self.run_on(at, None, &Wanted::Snapshot { path });
            let stored = match read.map(|it| it.reading) {
                Ok(Reading::Stored { is_whole }) => Ok(is_whole),
                Ok(Reading::NotStored { reason }) => Err(reason),
                Ok(_) => Err(NoAnswer::other_reading().to_string()),
                Err(why) => Err(why.to_string()),
            };
            (node, stored)
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

    /// Runs kq on one node and reads its output; without a command, that is a snapshot. Its pod is deleted in any case.
    fn run_on(
        &self,
        at: usize,
        command: Option<&[String]>,
        wanted: &Wanted,
    ) -> Result<MemberRead<'_>, NoAnswer> {
        if self.interrupts.caught().is_some() {
            return Err(NoAnswer::Interrupted);
        }
        let FleetNode { name: node, .. } = &self.plan.nodes[at];
        self.check_system(at)?;
        if self.plan.api_only {
            let source = Source::ApiServer {
                node: node.clone(),
                kubeconfig: self.plan.guard.kubeconfig.clone(),
                choice: Box::new(self.plan.guard.choice.clone()),
                arguments: command.map(<[String]>::to_vec),
                timeout: self.plan.timeout,
            };
            // One credential serves all nodes: each process would run the plugin.
            let lent = self.plan.server.lend();
            let lent = lent.map_err(|error| NoAnswer::ApiServer(error.reason()))?;
            return self.read(source, wanted, Some(lent));
        }
        let snapshot = ["snapshot".to_owned()];
        let command = NodeCommand::reading(command.unwrap_or(&snapshot));
        self.run_pod(at, node, &command, wanted, false)
    }

    /// Fails for a node whose system is not Linux.
    pub(super) fn check_system(&self, at: usize) -> Result<(), NoAnswer> {
        let other = self.plan.nodes[at].other_system();
        other.map_or(Ok(()), |system| Err(NoAnswer::OtherSystem(system.to_owned())))
    }

    /// Runs a command in the pod with this number, reads its output, and deletes the pod in any case. `is_patient`: a signal
    /// does not end the wait, as the command changes the node.
    pub(super) fn run_pod(
        &self,
        number: usize,
        node: &str,
        command: &NodeCommand<'_>,
        wanted: &Wanted,
        is_patient: bool,
    ) -> Result<MemberRead<'_>, NoAnswer> {
        let (name, uid) = self.create(number, node, command)?;
        // Without its guard process the run still deletes the pod.
        let reported = self.report(&PodStep::Created { name: name.clone(), uid: uid.clone() });
        let ended = reported.and_then(|()| self.wait(&name, &uid, is_patient));
        let read = ended.and_then(|()| self.read_log(&name, wanted));
        // Until then no other pod had its name, so that the log was that of this pod.
        match self.delete(&name, &uid) {
            Some(DeletedPod::Replaced) if read.is_ok() => Err(NoAnswer::replaced()),
            Some(DeletedPod::Absent) if read.is_ok() => Err(NoAnswer::deleted()),
            _ => read,
        }
    }

    /// Creates a pod, and returns its name and UID.
    fn create(
        &self,
        number: usize,
        node: &str,
        command: &NodeCommand<'_>,
    ) -> Result<(String, String), NoAnswer> {
        let FleetPlan { server, settings, .. } = &self.plan;
        let own = secret().map_err(|error| NoAnswer::Pod(error.to_string()))?;
        // The name is public; the rest is not derived from it.
        let (unique, own) = own.split_at(8);
        let name = settings.name(number, unique);
        let pod = settings.pod(&name, own, node, command);
        self.report(&PodStep::Planned { name: name.clone(), secret: own.to_owned() })?;
        let error = match server.create_pod(&settings.namespace, &pod) {
            Ok(uid) => return Ok((name, uid)),
            Err(error) => error,
        };
        // A server that refuses has created none. After another failure, and where the name is taken, there may be one of
        // this run; the guard process looks for one that comes later.
        if error.status().is_some_and(|code| code < 500 && code != 409) {
            self.close(&name);
            return Err(NoAnswer::NotCreated(error.reason()));
        }
        let found = attempt(|| server.read_pod(&settings.namespace, &name));
        match found.map(|object| object.map(|object| FoundPod::of(&object, &pod))) {
            Ok(Some(FoundPod::Own { uid })) => Ok((name, uid)),
            Ok(Some(FoundPod::Foreign)) => {
                Err(NoAnswer::Pod(format!("another client has a pod {name}, which stays")))
            }
            // It may be this run's, and may be another client's copy: nothing is read of it, and it is not deleted.
            Ok(Some(FoundPod::Changed { field })) => {
                let reason = format!("it is not the pod that was sent: {field} differs");
                self.leave(&name, &reason);
                Err(NoAnswer::Pod(reason))
            }
            Ok(None) => Err(NoAnswer::Pod(error.reason())),
            Err(unknown) => {
                self.leave(&name, &unknown.reason());
                Err(NoAnswer::Pod(error.reason()))
            }
        }
    }

    /// Waits for the end of a pod; `is_patient`: also after a signal.
    fn wait(&self, name: &str, uid: &str, is_patient: bool) -> Result<(), NoAnswer> {
        let FleetPlan { server, settings, timeout, .. } = &self.plan;
        let (namespace, end) = (&settings.namespace, steady() + *timeout);
        loop {
            // The reason why the pod has not ended, or why its state is unknown.
            let so_far = match server.read_pod(namespace, name) {
                Ok(None) => return Err(NoAnswer::deleted()),
                // The answer of another pod with the name does not count.
                Ok(Some(object)) if uid_of(&object).is_none_or(|other| other != uid) => {
                    return Err(NoAnswer::replaced());
                }
                Ok(Some(object)) => match PodState::of(&object) {
                    Ok(PodState::Ended) => return Ok(()),
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
    }

    /// Reads the log of a pod that has ended.
    fn read_log(&self, name: &str, wanted: &Wanted) -> Result<MemberRead<'_>, NoAnswer> {
        let FleetPlan { server, settings, .. } = &self.plan;
        // The connection to the kubelet may fail, and a log that is being rotated is whole later.
        attempt(|| {
            let _permit = self.logs.take();
            let log = server.pod_log(&settings.namespace, name, MAX_LOG_BYTES);
            let log = log.map_err(|error| NoAnswer::Cut(error.reason()))?;
            match self.read(Source::Log, wanted, Some(log)) {
                // It does not become smaller.
                Err(why @ (NoAnswer::Large(_) | NoAnswer::Unreadable(_))) => Ok(Err(why)),
                read => read.map(Ok),
            }
        })?
    }

    /// Reads what a node sent, in a process of its own with this standard input.
    fn read(
        &self,
        source: Source,
        wanted: &Wanted,
        input: Option<Vec<u8>>,
    ) -> Result<MemberRead<'_>, NoAnswer> {
        let permit = wanted.has_answer().then(|| self.answers.take());
        let _reader = (source == Source::Log).then(|| self.readers.take());
        let member = Member { source, wanted: wanted.clone() };
        let (reading, answer) = member.read_apart(input)?;
        Ok(MemberRead { reading, answer, permit })
    }

    /// Deletes a pod, and returns whether it was there; `None`: that is not known.
    fn delete(&self, name: &str, uid: &str) -> Option<DeletedPod> {
        let FleetPlan { server, settings, .. } = &self.plan;
        let requests = AtomicUsize::new(0);
        let deleted = attempt(|| {
            requests.fetch_add(1, Ordering::Relaxed);
            server.delete_pod(&settings.namespace, name, uid).map_err(|error| error.reason())
        });
        match deleted {
            Ok(deleted) => {
                self.close(name);
                // An earlier request, whose answer was lost, may have deleted it.
                let is_known = requests.into_inner() == 1 || deleted != DeletedPod::Absent;
                is_known.then_some(deleted)
            }
            Err(reason) => {
                self.leave(name, &reason);
                None
            }
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

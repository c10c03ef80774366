//! The guard process of a run: it deletes the pods of a run that ended without doing so, by SIGKILL or an OOM kill.
//! [`CleanPlan`] deletes the pods that outlived their run nevertheless.
//!
//! The run reports each pod before it is created and after it was deleted, through a pipe. The end of the pipe is the end of
//! the run. The process uses the credentials of the run and no other rights, and ends after a bounded number of attempts.

use super::run::each;
use crate::NodeSpec;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_api::api_server::{ApiServer, KubeconfigChoice};
use kq_core::fleet::{
    FleetPod, MANAGED_BY, MANAGED_BY_LABEL, NoAnswer, OpenPod, OpenPods, PodStep, fleet_pods,
    uid_with_secret,
};
use kq_facts::timestamp::Timestamp;
use kq_io::clock::{moment, pause};
use kq_io::interrupt::Interrupts;
use kq_io::own_program::{GuardProcess, own_session};
use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::time::Duration;

/// The time for the process to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time limit of each of its requests.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest line that is read.
const MAX_LINE: u64 = 4 << 10;

/// The most attempts to delete a pod. The pauses between them double, and add up to a minute.
const ATTEMPTS: u32 = 8;

/// The first pause.
const PAUSE: Duration = Duration::from_millis(500);

/// A pod whose creation was not confirmed does not exist if it is absent so many times, over some seconds: the API server
/// may still be working on the request.
const SETTLED: u32 = 5;

/// The most pods that are deleted at a time.
const PARALLEL: usize = 8;

/// The pods and the API server of a guard process.
#[derive(Clone, Debug)]
pub struct GuardOptions {
    pub namespace: String,
    /// The run that it guards.
    pub run: String,
    pub kubeconfig: Option<PathBuf>,
    pub choice: KubeconfigChoice,
}

/// The guard process, as the run sees it.
#[derive(Debug)]
pub(super) struct Guard(GuardProcess);

impl Guard {
    pub(super) fn start(options: &GuardOptions) -> Result<Self, Failure> {
        let GuardOptions { namespace, run, kubeconfig, choice } = options;
        let flag = |name: &str, value: OsString| {
            let mut flag = OsString::from(format!("--{name}="));
            flag.push(value);
            flag
        };
        let mut arguments: Vec<OsString> = vec!["fleet".into(), "guard".into()];
        arguments.push(flag("namespace", namespace.into()));
        arguments.push(flag("run", run.into()));
        arguments.extend(kubeconfig.as_ref().map(|path| flag("kubeconfig", path.into())));
        arguments.extend(choice.flags());
        let process = GuardProcess::start(&arguments, PATIENCE).map_err(|error| {
            let failed = anyhow!("the process that guards the pods did not start: {error}");
            Failure::refused(failed).hint("no pod was created")
        })?;
        Ok(Self(process))
    }

    /// Reports a step. No pod is created without a guard process.
    pub(super) fn report(&self, step: &PodStep) -> Result<(), NoAnswer> {
        let reason = |error| format!("the process that guards the pods has ended ({error})");
        self.0.send(&step.to_line()).map_err(|error| NoAnswer::Pod(reason(error)))
    }

    /// Returns true if no pod is left.
    pub(super) fn finish(&self) -> bool {
        self.0.finish()
    }
}

/// The work of the guard process itself.
pub struct PodGuard {
    options: GuardOptions,
    server: ApiServer,
}

impl PodGuard {
    /// Leaves the session of the run, so that no signal of its terminal arrives, and finds the API server.
    ///
    /// # Errors
    ///
    /// Fails where signals cannot be caught, and without a kubeconfig.
    pub fn prepare(options: GuardOptions) -> Result<Self, Failure> {
        let refuse = |error| Failure::refused(anyhow!("signals cannot be kept away: {error}"));
        own_session().map_err(refuse)?;
        // Its work is bounded, and ends with the run.
        Interrupts::watch(|_| {}, || {}).map_err(refuse)?;
        let server = options.connect()?;
        Ok(Self { options, server })
    }

    /// Reads what the run reports until it ends, and deletes the pods that are left then. Returns how many may still be
    /// left, after `report` got the name and the reason of each.
    pub fn watch(self, mut input: impl BufRead, mut report: impl FnMut(&str, &str)) -> usize {
        let (mut open, mut line) = (OpenPods::default(), Vec::new());
        // A pipe that cannot be read has ended as well.
        while input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0)
        {
            open.record(&line);
            line.clear();
        }
        let pods = open.into_pods();
        // A token may have been renewed since.
        let server = self.options.connect().unwrap_or(self.server);
        let cleanup = Cleanup { server: &server, namespace: &self.options.namespace };
        let work = |at: usize| {
            let (name, pod) = &pods[at];
            (name, cleanup.delete(name, pod))
        };
        let mut left = 0;
        let ended = each(pods.len(), PARALLEL, work, |_, (name, deleted)| {
            if let Err(reason) = deleted {
                left += 1;
                report(name, &reason);
            }
            Ok::<(), Infallible>(())
        });
        match ended {
            Ok(()) => left,
        }
    }
}

impl GuardOptions {
    fn connect(&self) -> Result<ApiServer, Failure> {
        let spec = NodeSpec {
            kubeconfig: self.kubeconfig.clone(),
            choice: self.choice.clone(),
            timeout: TIMEOUT,
            ..NodeSpec::default()
        };
        Ok(spec.connect()?)
    }
}

struct Cleanup<'a> {
    server: &'a ApiServer,
    namespace: &'a str,
}

impl Cleanup<'_> {
    /// Deletes a pod of the run; another pod of its name stays.
    fn delete(&self, name: &str, pod: &OpenPod) -> Result<(), String> {
        let (mut absent, mut reason, mut uid) = (0, String::new(), pod.uid.clone());
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                pause(PAUSE * 2_u32.pow(attempt - 1));
            }
            if uid.is_none() {
                match self.server.read_pod(self.namespace, name) {
                    Ok(Some(object)) => match uid_with_secret(&object, &pod.secret) {
                        Some(found) => uid = Some(found),
                        None => return Ok(()),
                    },
                    Ok(None) => absent += 1,
                    Err(error) => reason = error.reason(),
                }
            }
            match &uid {
                Some(uid) => match self.server.delete_pod(self.namespace, name, uid) {
                    Ok(_) => return Ok(()),
                    Err(error) => reason = error.reason(),
                },
                None if absent >= SETTLED => return Ok(()),
                None => {}
            }
        }
        Err(reason)
    }
}

/// The pods to delete.
#[derive(Clone, Debug)]
pub struct CleanOptions {
    pub namespace: String,
    /// All pods of this run; `None`: those of any run that outlived their deadline.
    pub run: Option<String>,
    pub kubeconfig: Option<PathBuf>,
    pub choice: KubeconfigChoice,
    /// The time limit of the list, and of each deletion.
    pub timeout: Duration,
}

/// The pods that will be deleted.
pub struct CleanPlan {
    server: ApiServer,
    namespace: String,
    /// Ordered by run and name.
    pub pods: Vec<FleetPod>,
    /// How many others there are: those of living runs.
    pub others: usize,
    now: Timestamp,
}

impl CleanPlan {
    /// Lists the pods of all runs, and chooses among them.
    ///
    /// # Errors
    ///
    /// Fails unless all pods are known.
    pub fn prepare(options: &CleanOptions) -> Result<Self, Failure> {
        let spec = NodeSpec {
            kubeconfig: options.kubeconfig.clone(),
            choice: options.choice.clone(),
            timeout: options.timeout,
            ..NodeSpec::default()
        };
        let server = spec.connect()?;
        let all = list(&server, &options.namespace, options.timeout);
        let all =
            all.map_err(|reason| Failure::missing(anyhow!("the pods of fleets: {reason}")))?;
        let now = now(&server);
        let is_chosen = |pod: &FleetPod| match &options.run {
            Some(run) => pod.run == *run,
            None => pod.has_outlived(now),
        };
        let (mut pods, others): (Vec<FleetPod>, Vec<FleetPod>) =
            all.into_iter().partition(is_chosen);
        pods.sort_by(|a, b| (&a.run, &a.name).cmp(&(&b.run, &b.name)));
        let namespace = options.namespace.clone();
        Ok(Self { server, namespace, pods, others: others.len(), now })
    }

    /// Describes each pod in a line.
    pub fn lines(&self) -> Vec<String> {
        let namespace = &self.namespace;
        let line = |pod: &FleetPod| {
            let FleetPod { name, node, phase, .. } = pod;
            let age = pod.age_seconds(self.now);
            format!("delete pod {namespace}/{name} on {node}: {phase}, created {age}s ago")
        };
        self.pods.iter().map(line).collect()
    }

    /// Deletes the pods by their UIDs, and passes each with the result to `take`.
    pub fn apply(&self, mut take: impl FnMut(&FleetPod, Result<(), String>)) {
        for pod in &self.pods {
            let deleted = self.server.delete_pod(&self.namespace, &pod.name, &pod.uid);
            take(pod, deleted.map(drop).map_err(|error| error.reason()));
        }
    }
}

/// Returns the time by the clock that also dated the pods: this machine's may be hours off.
fn now(server: &ApiServer) -> Timestamp {
    server.clock().unwrap_or_else(moment)
}

/// Returns the pods of all runs in a namespace.
pub(super) fn list(
    server: &ApiServer,
    namespace: &str,
    timeout: Duration,
) -> Result<Vec<FleetPod>, String> {
    let pages = server.pods_with_label(namespace, MANAGED_BY_LABEL, MANAGED_BY, timeout);
    let pages = pages.map_err(|error| error.reason())?;
    let pods: Result<Vec<_>, String> = pages.iter().map(|page| fleet_pods(page)).collect();
    Ok(pods?.into_iter().flatten().collect())
}

/// Returns how many pods of earlier runs outlived their deadline.
pub(super) fn outlived(
    server: &ApiServer,
    of: &GuardOptions,
    timeout: Duration,
) -> Result<usize, String> {
    let pods = list(server, &of.namespace, timeout)?;
    let now = now(server);
    Ok(pods.iter().filter(|pod| pod.run != of.run && pod.has_outlived(now)).count())
}

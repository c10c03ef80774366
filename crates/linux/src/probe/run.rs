//! Runs probes concurrently, also from inside the network of a pod, measures the parts of an attempt, and repeats attempts as
//! the kubelet does.

use super::dial::probe_tcp;
use super::grpc::probe_grpc;
use super::http::probe_http;
use crate::cri::ExecRuntime;
use kq_io::clock::moment;
use kq_io::host::proc_of;
use kq_io::input::plain;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::ProbeType;
use kq_probe::wire::{Ran, Sending, Wire};
use kq_probe::{
    Attempt, Cause, ExecRequest, Job, Next, Phase, PhaseTime, ProbeTimeout, Retry, exec_attempt,
};
use rustix::fs::{self, FsWord, Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet};

/// Runs probes concurrently, as far as the limit of open files allows, and returns their results in their order.
/// Blocks until the last has ended; must not be called from asynchronous code.
/// Fails if the process has no file descriptors left, and if there are commands to run and the container runtime does
/// not accept a connection.
pub fn run_probes(sendings: &[Sending<'_>], wire: &Wire) -> io::Result<Vec<Ran>> {
    if sendings.is_empty() {
        return Ok(Vec::new());
    }
    let at_once = connections_at_once(sendings.len());
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let runs_commands = sendings.iter().any(|sending| matches!(sending.job, Job::Exec(_)));
    let commands = match runs_commands {
        true => Some(runtime.block_on(connect(wire)).map_err(io::Error::other)?),
        false => None,
    };
    let wire = Rc::new((wire.clone(), commands));
    let mut waiting = sendings.iter().enumerate();
    let mut done: Vec<Option<Ran>> = vec![None; sendings.len()];
    let sent = runtime.block_on(LocalSet::new().run_until(async {
        let mut running = JoinSet::new();
        loop {
            while running.len() < at_once
                && let Some((place, sending)) = waiting.next()
            {
                let (job, wire) = (sending.job.clone(), Rc::clone(&wire));
                let (kind, seconds) = (sending.probe_type, sending.timeout_seconds);
                running.spawn_local(async move { (place, run(&job, kind, seconds, &wire).await) });
            }
            match running.join_next().await {
                Some(Ok((place, ran))) => {
                    if let Some(slot) = done.get_mut(place) {
                        *slot = Some(ran);
                    }
                }
                // A panic is a bug of kq, not a result of the probe.
                Some(Err(error)) => return Err(io::Error::other(error)),
                None => return Ok(()),
            }
        }
    }));
    // A name that is still being resolved would block the shutdown.
    runtime.shutdown_background();
    sent.map(|()| done.into_iter().flatten().collect())
}

/// The runtime that runs commands; `None`: there are no commands.
type Commands = Option<ExecRuntime>;

/// Connects to the runtime, once for all commands.
async fn connect(wire: &Wire) -> Result<ExecRuntime, String> {
    let endpoint = wire.endpoint.as_deref().ok_or("no container runtime is known")?;
    let connecting = ExecRuntime::connect(endpoint, &wire.host_root);
    match tokio::time::timeout(wire.runtime_request_timeout, connecting).await {
        Ok(connected) => connected.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{endpoint} does not answer")),
    }
}

/// Makes attempts until the result is final.
async fn run(job: &Job, kind: ProbeType, seconds: i32, wire: &(Wire, Commands)) -> Ran {
    let at = moment();
    let mut retry = Retry::new(kind, wire.0.rules);
    let mut times_us = Vec::new();
    loop {
        let began = Instant::now();
        let attempt = attempt(job, seconds, wire, times_us.is_empty()).await;
        times_us.push(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
        if let Next::Done(conclusion) = retry.next(attempt) {
            return Ran { at, conclusion, times_us };
        }
    }
}

async fn attempt(
    job: &Job,
    seconds: i32,
    (wire, commands): &(Wire, Commands),
    is_first: bool,
) -> Attempt {
    let timeout = ProbeTimeout::from_seconds(seconds);
    match job {
        Job::Http(request) => probe_http((**request).clone(), timeout).await,
        Job::Tcp(target) => probe_tcp(target, timeout).await,
        Job::Grpc { target, user_agent } => probe_grpc(target, user_agent, seconds).await,
        Job::Exec(request) => {
            let Some(runtime) = commands else {
                return Attempt::error(Cause::Runtime, "no container runtime is connected");
            };
            let fails_on_timeout = wire.rules.gates.enabled(Gate::ExecProbeTimeout);
            let patience = wire.runtime_request_timeout;
            let mut attempt = probe_exec(runtime, request, patience, fails_on_timeout).await;
            let took = u64::try_from(runtime.connect_took().as_micros()).unwrap_or(u64::MAX);
            let set_up = PhaseTime { phase: Phase::SetUp, took_us: took, unfinished: false };
            if is_first {
                attempt.phases.insert(0, set_up);
            }
            attempt
        }
        Job::Refused(attempt) => (**attempt).clone(),
    }
}

/// Runs a command in a container, within its timeout and what the runtime gets beyond it.
///
/// `fails_on_timeout` is the gate `ExecProbeTimeout`.
pub async fn probe_exec(
    runtime: &ExecRuntime,
    request: &ExecRequest,
    runtime_timeout: Duration,
    fails_on_timeout: bool,
) -> Attempt {
    let mut watch = Stopwatch::start();
    watch.enter(Phase::Run);
    let reply = runtime.exec_sync(request, runtime_timeout).await;
    watch.finish();
    let attempt = exec_attempt(request, reply, fails_on_timeout);
    Attempt { phases: watch.phases(), ..attempt }
}

/// Descriptors that are not connections: standard streams, the poller, the runtime's socket, files.
const SPARE: u64 = 64;

/// Raises the process's own limit of open files towards the need of `count` connections, and returns the number that
/// can be open at the same time.
pub fn connections_at_once(count: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::try_from(count).unwrap_or(u64::MAX).saturating_add(SPARE);
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < needed {
        let raised = limit.maximum.unwrap_or(u64::MAX).min(needed);
        let asked = Rlimit { current: Some(raised), maximum: limit.maximum };
        if raised > current && setrlimit(Resource::Nofile, asked).is_ok() {
            current = raised;
        }
    }
    let possible = usize::try_from(current.saturating_sub(SPARE)).unwrap_or(usize::MAX);
    count.min(possible).max(1)
}

/// Measures the parts of an attempt one after the other; times of a repeated part are added up.
#[derive(Debug)]
pub struct Stopwatch {
    done: Vec<PhaseTime>,
    running: Option<(Phase, Instant)>,
}

impl Stopwatch {
    /// Starts with no part running.
    pub fn start() -> Self {
        Self { done: Vec::new(), running: None }
    }

    /// Ends the part that is running and begins another.
    pub fn enter(&mut self, phase: Phase) {
        self.finish();
        self.running = Some((phase, Instant::now()));
    }

    /// Ends the part that is running.
    pub fn finish(&mut self) {
        if let Some((phase, since)) = self.running.take() {
            self.add(phase, since.elapsed(), false);
        }
    }

    /// Returns the parts; one that is still running has not ended with the attempt.
    pub fn phases(mut self) -> Vec<PhaseTime> {
        if let Some((phase, since)) = self.running.take() {
            self.add(phase, since.elapsed(), true);
        }
        self.done
    }

    fn add(&mut self, phase: Phase, took: Duration, unfinished: bool) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match self.done.iter_mut().find(|done| done.phase == phase) {
            Some(before) => {
                before.took_us = before.took_us.saturating_add(took_us);
                before.unfinished |= unfinished;
            }
            None => self.done.push(PhaseTime { phase, took_us, unfinished }),
        }
    }
}

/// The file system of namespaces (`NSFS_MAGIC` of the kernel).
const NSFS_MAGIC: FsWord = 0x6e73_6673;

/// The network of a process.
#[derive(Debug)]
pub struct Network {
    namespace: OwnedFd,
    pid: i32,
}

impl Network {
    /// Opens the network namespace of a process of the node. Only a running node has one: a copy may have
    /// anything by that name.
    /// Fails for a copy of a node, for a process that does not exist, and if opening it is not permitted: it needs root.
    pub fn of_process(root: &Path, pid: i32) -> io::Result<Self> {
        let proc = proc_of(root).map_err(|reason| refused(pid, &io::Error::other(reason)))?;
        let open = || {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = fs::openat(&proc, format!("{pid}/ns"), flags, Mode::empty())?;
            // The link leads to the namespace itself: the kernel made it.
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            fs::openat(&folder, "net", flags, Mode::empty())
        };
        let namespace = open().map_err(|error| refused(pid, &error.into()))?;
        match fs::fstatfs(&namespace).is_ok_and(|found| found.f_type == NSFS_MAGIC) {
            true => Ok(Self { namespace, pid }),
            false => Err(refused(pid, &io::Error::other("not a namespace"))),
        }
    }

    /// Calls a function in the network. Only a new thread enters it, with the threads that it starts, such as those of an
    /// async runtime.
    /// Fails if entering it is not permitted: it needs root.
    pub fn enter<T: Send>(&self, run: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(self.namespace.as_fd(), kind)
                    .map_err(|errno| refused(self.pid, &errno.into()))?;
                Ok(run())
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn refused(pid: i32, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => " (run as root)",
        _ => "",
    };
    let text = format!("cannot enter the network of process {pid}: {}{hint}", plain(error));
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_and_no_more_than_requested() {
        assert_eq!(connections_at_once(0), 1);
        assert_eq!(connections_at_once(3), 3);
        assert!(connections_at_once(usize::MAX) >= 64);
    }

    #[test]
    fn what_has_not_ended_is_marked() {
        let mut watch = Stopwatch::start();
        watch.enter(Phase::Lookup);
        watch.enter(Phase::Connect);
        watch.enter(Phase::Lookup);
        watch.enter(Phase::Connect);
        let phases = watch.phases();
        let seen: Vec<_> = phases.iter().map(|part| (part.phase, part.unfinished)).collect();
        assert_eq!(seen, [(Phase::Lookup, false), (Phase::Connect, true)]);
    }

    fn network() -> io::Result<std::path::PathBuf> {
        std::fs::read_link("/proc/thread-self/ns/net")
    }

    fn own() -> i32 {
        std::process::id().cast_signed()
    }

    #[test]
    fn only_another_thread_is_moved() {
        let before = network().expect("there is a network");
        let namespace = Network::of_process(Path::new("/"), own()).expect("it is kq's own");
        match namespace.enter(network) {
            Ok(inside) => assert_eq!(inside.expect("there is a network"), before),
            // Even the own namespace needs root.
            Err(error) => assert!(error.to_string().ends_with("(run as root)"), "{error}"),
        }
        assert_eq!(network().expect("there is a network"), before);
    }

    #[test]
    fn a_process_that_does_not_exist_has_no_network() {
        let error = Network::of_process(Path::new("/"), i32::MAX).expect_err("there is none");
        let expected = format!("cannot enter the network of process {}: no such file", i32::MAX);
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    /// Each of these is opened as it stands in a copy of a node by whoever follows links or waits for a pipe.
    #[test]
    fn a_copy_of_a_node_has_no_network() {
        let link = std::os::unix::fs::symlink::<&str, std::path::PathBuf>;
        for (name, kind) in [("a pipe", 0), ("a link to kq's own", 1), ("a link of proc", 2)] {
            let folder = tempfile::tempdir().expect("a folder");
            let process = folder.path().join(format!("proc/{}/ns", own()));
            if kind < 2 {
                std::fs::create_dir_all(&process).expect("folders");
            }
            let made = match kind {
                0 => {
                    let mode = Mode::RUSR | Mode::WUSR;
                    fs::mkfifoat(fs::CWD, process.join("net"), mode).map_err(io::Error::from)
                }
                1 => link("/proc/self/ns/net", process.join("net")),
                _ => link("/proc", folder.path().join("proc")),
            };
            made.expect("it can be made");
            let error = Network::of_process(folder.path(), own()).expect_err(name);
            let expected = "a copy of a node's files has no processes";
            assert!(error.to_string().ends_with(expected), "{name}: {error}");
        }
    }
}

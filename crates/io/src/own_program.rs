//! Runs kq once more as a child process, to isolate the memory, time and failures of one question.
//!
//! [`OwnWorker`] is a child process that answers one question after another. [`GuardProcess`] is a child process that outlives this one for as long as its work takes: it gets lines through its
//! standard input, and learns from the end of file that this process has ended, however it ended.

use crate::memory::Counting;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The file of this program.
struct OwnProgram {
    path: PathBuf,
    /// On Linux, the file that the path leads to: open until the child process has started.
    _file: Option<File>,
}

/// Opens this program, on Linux also where its file has been replaced since it started. A `/proc` that is not the kernel's,
/// as in a copied root, would name another program.
#[cfg(target_os = "linux")]
fn program() -> io::Result<OwnProgram> {
    use rustix::fs::{Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, open, openat};
    use std::os::fd::AsRawFd;

    let folder =
        open("/proc/self", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    if fstatfs(&folder)?.f_type != PROC_SUPER_MAGIC {
        return Err(io::Error::other(
            "/proc is not the kernel's, so kq cannot find its own program",
        ));
    }
    let file = openat(&folder, "exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(OwnProgram { path, _file: Some(File::from(file)) })
}

/// Returns this program.
#[cfg(not(target_os = "linux"))]
fn program() -> io::Result<OwnProgram> {
    Ok(OwnProgram { path: std::env::current_exe()?, _file: None })
}

/// The most bytes of standard error that are kept.
const MAX_NOTES_BYTES: u64 = 64 << 10;

/// The pause between two checks whether a process that closed its output has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code; `None`: a signal ended it.
    pub exit_code: Option<u8>,
    /// Standard output.
    pub output: Vec<u8>,
    /// The beginning of standard error.
    pub notes: String,
}

impl Ended {
    fn of(status: ExitStatus, output: Vec<u8>, notes: &[u8]) -> Self {
        let exit_code = status.code().and_then(|code| u8::try_from(code).ok());
        Self { exit_code, output, notes: String::from_utf8_lossy(notes).into_owned() }
    }
}

/// Why a run was ended.
#[derive(Debug, thiserror::Error)]
pub enum OwnProgramError {
    /// It could not be started or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It was ended at the deadline.
    #[error("it did not end within {0:?}")]
    TimedOut(Duration),
    /// It was ended because its output exceeds the limit.
    #[error("it wrote more than {0} bytes")]
    Large(u64),
}

/// Runs kq with these arguments and without standard input, and returns its output.
/// Fails if the process cannot be started, at the deadline, and if it writes more than `limit` bytes; both end it.
pub fn run_own(
    arguments: &[OsString],
    deadline: Duration,
    limit: u64,
) -> Result<Ended, OwnProgramError> {
    run(arguments, None, deadline, limit, false)
}

/// Runs kq with these arguments and this standard input, and returns its output.
pub fn run_own_with(
    arguments: &[OsString],
    input: Vec<u8>,
    deadline: Duration,
    limit: u64,
) -> Result<Ended, OwnProgramError> {
    run(arguments, Some(input), deadline, limit, false)
}

/// Runs kq as [`run_own_with`] does, out of reach of the signals of a terminal: an interrupt does not end it.
pub fn run_apart(
    arguments: &[OsString],
    input: Vec<u8>,
    deadline: Duration,
    limit: u64,
) -> Result<Ended, OwnProgramError> {
    run(arguments, Some(input), deadline, limit, true)
}

/// Reads the standard input of a process that kq started; `source` is what it has.
/// Fails as the system does, and above the limit.
pub fn own_input(source: &str, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let reader = Counting::new(source, io::stdin().lock());
    reader.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(io::Error::other(format!("{source} has more than {limit} bytes"))),
        false => Ok(content),
    }
}

fn run(
    arguments: &[OsString],
    input: Option<Vec<u8>>,
    deadline: Duration,
    limit: u64,
    is_apart: bool,
) -> Result<Ended, OwnProgramError> {
    let end = Instant::now() + deadline;
    let own = program()?;
    let mut command = Command::new(&own.path);
    command
        .args(arguments)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    if is_apart {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    #[cfg(not(unix))]
    let _ = is_apart;
    let mut process = Process(command.spawn()?);
    if let (Some(input), Some(mut pipe)) = (input, process.0.stdin.take()) {
        // kq may end before it has read everything.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let output = beginning_of(process.0.stdout.take(), limit.saturating_add(1));
    let notes = beginning_of(process.0.stderr.take(), MAX_NOTES_BYTES);
    let left = || end.saturating_duration_since(Instant::now());
    let late = |_| OwnProgramError::TimedOut(deadline);
    let output = output.recv_timeout(left()).map_err(late)??;
    if u64::try_from(output.len()).is_ok_and(|length| length > limit) {
        return Err(OwnProgramError::Large(limit));
    }
    let notes = notes.recv_timeout(left()).map_err(late)??;
    let status = process.ended(end)?.ok_or(OwnProgramError::TimedOut(deadline))?;
    Ok(Ended::of(status, output, &notes))
}

/// A process that does not outlive the question.
#[derive(Debug)]
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Waits for its end, but no longer than until `end`.
    pub(crate) fn ended(&mut self, end: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            match self.0.try_wait()? {
                None if Instant::now() < end => thread::sleep(PAUSE),
                status => return Ok(status),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            end_children(self.0.id());
        }
        // Fails only where it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ends the processes that a process has begun, and theirs: a script leaves them its standard error, which a reader of kq's
/// waits for.
#[cfg(target_os = "linux")]
fn end_children(parent: u32) {
    /// A process that begins others without an end is not followed for ever.
    const MOST: usize = 1000;
    let mut found = vec![parent];
    let mut next = 0;
    while let Some(pid) = found.get(next).filter(|_| found.len() < MOST) {
        // Any thread may have begun one.
        let threads =
            std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads.take(MOST) {
            let listed =
                std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(listed.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
        }
        next += 1;
    }
    for pid in found.into_iter().skip(1) {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        // Fails only where it has ended.
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
    }
}

#[cfg(not(target_os = "linux"))]
fn end_children(_parent: u32) {}

/// Reads a pipe to its end, or to the limit. Beyond it, the writer gets SIGPIPE.
pub(crate) fn beginning_of(
    pipe: Option<impl Read + Send + 'static>,
    limit: u64,
) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = match pipe {
            Some(pipe) => pipe.take(limit).read_to_end(&mut bytes).map(|_| bytes),
            None => Ok(bytes),
        };
        // The receiver is gone after the deadline.
        let _ = sender.send(read);
    });
    receiver
}

/// A process of kq that answers requests, each with two lines. It does not outlive this value.
#[derive(Debug)]
pub struct OwnWorker {
    process: Process,
    requests: ChildStdin,
    lines: Receiver<io::Result<Option<Vec<u8>>>>,
    notes: Receiver<io::Result<Vec<u8>>>,
    limit: u64,
}

/// What a worker did with a request.
#[derive(Debug)]
pub enum Worked {
    Answered([Vec<u8>; 2]),
    /// It ended without an answer.
    Ended(Ended),
}

impl OwnWorker {
    /// Starts kq with these arguments. No line of its answers may have more than `limit` bytes.
    /// Fails if it cannot be started.
    pub fn start(arguments: &[OsString], limit: u64) -> io::Result<Self> {
        let own = program()?;
        let mut child = Command::new(&own.path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let notes = beginning_of(child.stderr.take(), MAX_NOTES_BYTES);
        let process = Process(child);
        let no_pipe = || io::Error::from(io::ErrorKind::BrokenPipe);
        let requests = requests.ok_or_else(no_pipe)?;
        let lines = lines_of(answers.ok_or_else(no_pipe)?, limit);
        Ok(Self { process, requests, lines, notes, limit })
    }

    /// Passes a request of one line on, and waits for the answer.
    /// Fails at the deadline and at the limit of a line; the worker is of no use then.
    pub fn ask(&mut self, request: &str, deadline: Duration) -> Result<Worked, OwnProgramError> {
        let end = Instant::now() + deadline;
        // A worker that has ended takes none, and says below why it has.
        let sent = writeln!(self.requests, "{request}").and_then(|()| self.requests.flush());
        let mut answer = [Vec::new(), Vec::new()];
        for line in &mut answer {
            let left = end.saturating_duration_since(Instant::now());
            let read = match sent {
                Ok(()) => self.lines.recv_timeout(left),
                Err(_) => Ok(Ok(None)),
            };
            match read.map_err(|_| OwnProgramError::TimedOut(deadline))?? {
                Some(text) if text.len() as u64 > self.limit => {
                    return Err(OwnProgramError::Large(self.limit));
                }
                Some(text) => *line = text,
                None => return self.ended(end).map(Worked::Ended),
            }
        }
        Ok(Worked::Answered(answer))
    }

    fn ended(&mut self, end: Instant) -> Result<Ended, OwnProgramError> {
        let late = || OwnProgramError::TimedOut(end.saturating_duration_since(Instant::now()));
        let status = self.process.ended(end)?.ok_or_else(late)?;
        let left = end.saturating_duration_since(Instant::now());
        let notes = self.notes.recv_timeout(left).map_err(|_| late())??;
        Ok(Ended::of(status, Vec::new(), &notes))
    }
}

/// Reads lines, each to the limit and a byte more; `None` is the end.
fn lines_of(pipe: ChildStdout, limit: u64) -> Receiver<io::Result<Option<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            // The end of the line is a byte of its own.
            let most = limit.saturating_add(2);
            let read = reader.by_ref().take(most).read_until(b'\n', &mut line);
            let is_whole = line.pop_if(|last| *last == b'\n').is_some();
            let is_last = !is_whole && line.len() as u64 <= limit;
            let line = read.map(|_| (!is_last).then_some(line));
            let is_over = !matches!(line, Ok(Some(_)));
            // The receiver is gone once the worker is.
            if sender.send(line).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

/// Reads the requests of a worker, one a line. From then on the process has no standard input, so that nothing that it
/// does takes a request for a file.
/// Fails if there is none.
pub fn requests() -> io::Result<impl Iterator<Item = io::Result<String>>> {
    #[cfg(unix)]
    {
        let requests = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        Ok(BufReader::new(requests).lines())
    }
    #[cfg(not(unix))]
    Ok(io::stdin().lines())
}

/// The line that the process writes once it is in a session of its own.
pub const READY: &str = "ready";

/// A process that is ready. It is awaited when this value is dropped.
#[derive(Debug)]
pub struct GuardProcess {
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
}

impl GuardProcess {
    /// Starts kq with these arguments, and waits until it is ready.
    /// Fails if it cannot be started, and if it is not ready in time.
    pub fn start(arguments: &[OsString], patience: Duration) -> io::Result<Self> {
        let own = program()?;
        let mut child = Command::new(&own.path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let input = child.stdin.take();
        let first = beginning_of(child.stdout.take(), READY.len() as u64);
        let process = Self { child: Mutex::new(child), input: Mutex::new(input) };
        match first.recv_timeout(patience) {
            Ok(Ok(line)) if line == READY.as_bytes() => Ok(process),
            Ok(Ok(_)) => Err(io::Error::other("it ended at once")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Passes a line on. A pipe takes a short line as a whole or not at all.
    /// Fails if the process has ended.
    pub fn send(&self, line: &str) -> io::Result<()> {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *input {
            Some(input) => input.write_all(line.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the input, waits for the end of the process, and returns true if it succeeded.
    pub fn finish(&self) -> bool {
        drop(self.input.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        self.finish();
    }
}

/// How a child process learns what it reports its exit code through: `PID:DESCRIPTOR` of its parent.
#[cfg(target_os = "linux")]
const REPORT_VARIABLE: &str = "KQ_REPORT";

/// A child process that does the work of this one, with its arguments, input and output.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Supervised {
    pid: rustix::process::Pid,
    child: Mutex<Child>,
    report: Mutex<File>,
}

#[cfg(target_os = "linux")]
impl Supervised {
    /// Starts kq once more, with the arguments of this process.
    /// Fails if it cannot be started.
    pub(crate) fn start() -> io::Result<Self> {
        use rustix::pipe::{PipeFlags, pipe_with};
        use std::os::fd::AsRawFd;
        use std::os::unix::process::CommandExt;

        let own = program()?;
        // The child reopens its end, so nothing that it starts can hold it open in its place.
        let (report, to_report) = pipe_with(PipeFlags::empty())?;
        rustix::io::fcntl_setfd(&report, rustix::io::FdFlags::CLOEXEC)?;
        let mut arguments = std::env::args_os();
        let mut command = Command::new(&own.path);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        let value = format!("{}:{}", std::process::id(), to_report.as_raw_fd());
        let child = command.args(arguments).env(REPORT_VARIABLE, value).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("it has no process ID"))?;
        let (child, report) = (Mutex::new(child), Mutex::new(File::from(report)));
        Ok(Self { pid, child, report })
    }

    /// Waits for the exit code that the child reports; `None`: it ended without a report.
    pub(crate) fn reported(&self) -> Option<u8> {
        let mut code = [0];
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.read_exact(&mut code).ok().map(|()| code[0])
    }

    /// Returns how the child ended; `None`: it has not.
    pub(crate) fn ended(&self) -> io::Result<Option<ExitStatus>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()
    }

    /// Passes a signal on, unless the child has ended.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(child.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process(self.pid, signal);
        }
    }

    /// Returns true if the child is ending, and a thread of it does not: its first thread is gone, or has a SIGKILL that it
    /// does not take.
    pub(crate) fn is_stuck(&self) -> bool {
        let status = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let value =
            |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let kill = 1 << (rustix::process::Signal::KILL.as_raw() - 1);
        let pending = value("SigPnd:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
        value("State:").is_some_and(|state| state.starts_with('Z'))
            || pending.is_some_and(|pending| pending & kill != 0)
    }
}

/// The way to the process that waits for this one.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Reporter(File);

#[cfg(target_os = "linux")]
impl Reporter {
    /// Returns the way to the parent, if that started this process to do its work. This process ends with it.
    pub(crate) fn of_this_process() -> Option<Self> {
        use rustix::fs::{FileType, fstat};
        use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

        let value = std::env::var(REPORT_VARIABLE).ok()?;
        let (parent, descriptor) = value.split_once(':')?;
        let (parent, descriptor): (i32, u32) = (parent.parse().ok()?, descriptor.parse().ok()?);
        let is_parent = || getppid().map(Pid::as_raw_pid) == Some(parent);
        // What this process starts has the variable too, and other parents.
        if !is_parent() {
            return None;
        }
        set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
        // The kernel calls it by the number of a descriptor.
        let _ = rustix::thread::set_name(c"kq");
        let file = File::options().write(true).open(format!("/proc/self/fd/{descriptor}")).ok()?;
        let is_pipe = FileType::from_raw_mode(fstat(&file).ok()?.st_mode) == FileType::Fifo;
        (is_pipe && is_parent()).then_some(Self(file))
    }

    /// Reports the exit code.
    /// Fails if no process waits.
    pub(crate) fn report(&mut self, code: u8) -> io::Result<()> {
        self.0.write_all(&[code])
    }
}

/// Moves this process into a session of its own, where it gets no signals of a terminal.
/// Fails for a process that a shell started as a job: it leads a group already.
pub fn own_session() -> io::Result<()> {
    #[cfg(unix)]
    rustix::process::setsid()?;
    Ok(())
}

//! Reads the version of a program on the node from `PROGRAM --version`, within limits of time and output.

use crate::edge::host::is_running;
use crate::edge::trust::TrustedProgram;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, chroot, kill_process_group, waitid};
use rustix::thread::UnshareFlags;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The most output that is read.
const MAX_OUTPUT_BYTES: u64 = 16 << 10;

/// Any deadline beyond it means the same, and can be added to a time.
const LONGEST: Duration = Duration::from_secs(3600);

/// The pause between two checks whether a process that closed its output has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// A program's name and version in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramVersion {
    /// `runc`, `crun`, `Kubernetes`
    pub name: String,
    /// As printed: `1.1.5+ds1`, and `v1.36.2` with its letter.
    pub version: String,
}

/// Why the version is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ProgramVersionError {
    /// It cannot be started.
    #[error("cannot be started")]
    Start(#[source] io::Error),
    /// It did not end in time.
    #[error("did not end within {0:?}")]
    TimedOut(Duration),
    /// It could not be waited for, or its output not be read.
    #[error("cannot be read")]
    Read(#[source] io::Error),
    /// It ended with an error.
    #[error("--version ended with {status}{}", said(message))]
    Failed {
        /// `exit code 1`, `signal 9`
        status: String,
        /// The first line that it wrote about it.
        message: String,
    },
    /// The output contains no version.
    #[error("--version printed {line:?}, which contains no version")]
    NoVersion {
        /// The first line.
        line: String,
    },
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// Returns a program's version: `1.1.5+ds1`, `v1.36.2`. See [`ask_version`].
///
/// # Errors
///
/// Fails when the program cannot be run or prints no version in time.
pub fn program_version(
    program: &TrustedProgram,
    deadline: Duration,
) -> Result<String, ProgramVersionError> {
    ask_version(program, deadline).map(|said| said.version)
}

/// Returns a program's name and version.
///
/// The checked descriptor is executed in the node's root, without an environment, and its whole process group is killed
/// at the deadline.
///
/// # Errors
///
/// Fails when the program cannot be run or prints no version in time.
pub fn ask_version(
    program: &TrustedProgram,
    deadline: Duration,
) -> Result<ProgramVersion, ProgramVersionError> {
    let end = Instant::now() + deadline.min(LONGEST);
    // A copy that the child inherits: the interpreter of a script opens the same path.
    let file = rustix::io::dup(program.file())
        .map_err(|error| ProgramVersionError::Start(error.into()))?;
    // Opened before the root changes.
    let nothing = File::open("/dev/null").map_err(ProgramVersionError::Start)?;
    let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
    command
        // Some programs are several, and know by this name which one is meant.
        .arg0(program.path())
        .arg("--version")
        .env_clear()
        .current_dir("/")
        .stdin(nothing)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A process group, so that its children can be killed with it.
        .process_group(0);
    let child = start(&mut command, program.root()).map_err(ProgramVersionError::Start)?;
    drop(file);
    let mut group = Group::of(child);
    let timed_out = || ProgramVersionError::TimedOut(deadline);
    let stdout = first_line(group.child.stdout.take());
    let stderr = first_line(group.child.stderr.take());
    let line = receive(&stdout, end).ok_or_else(timed_out)?.map_err(ProgramVersionError::Read)?;
    let status = group.ended(end).map_err(ProgramVersionError::Read)?.ok_or_else(timed_out)?;
    if !status.success() {
        let message = receive(&stderr, end).and_then(Result::ok).unwrap_or_default();
        return Err(ProgramVersionError::Failed { status: described(status), message });
    }
    parse(&line).ok_or(ProgramVersionError::NoVersion { line })
}

/// Starts a program of the node in the node's root: its libraries and its interpreter are there, while kq's container
/// has others or none. Without the privilege, the program starts in kq's own root. So it does where the `/proc` of the node
/// is not the kernel's: the path of the checked descriptor would lead to a file that the owner of that folder chooses.
fn start(command: &mut Command, root: &Path) -> io::Result<Child> {
    if root == Path::new("/") || !is_running(root) {
        return command.spawn();
    }
    let in_root = thread::scope(|scope| scope.spawn(|| start_in(command, root)).join());
    match in_root {
        Ok(Ok(child)) => Ok(child),
        _ => command.spawn(),
    }
}

/// Changes the root of this thread alone, which ends afterwards.
fn start_in(command: &mut Command, root: &Path) -> io::Result<Child> {
    #[expect(deprecated, reason = "unsafe only for FILES, the table of file descriptors")]
    rustix::thread::unshare(UnshareFlags::FS)?;
    chroot(root)?;
    command.spawn()
}

/// A program and its children; killed when it is no longer needed.
struct Group {
    child: Child,
    /// The process group; `None` once the first process was reaped and its ID may be reused.
    id: Option<Pid>,
}

impl Group {
    fn of(child: Child) -> Self {
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Self { child, id }
    }

    /// Waits for the program itself; `None`: it still runs at the end of the time.
    fn ended(&mut self, end: Instant) -> io::Result<Option<ExitStatus>> {
        // The status is read without reaping: until then the process ID cannot be reused, and the
        // rest of the group can be killed safely.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(id) = self.id else { return self.child.try_wait() };
        while waitid(WaitId::Pid(id), look)?.is_none() {
            if Instant::now() >= end {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
        self.kill();
        self.child.wait().map(Some)
    }

    fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            // Fails only if the group is already empty.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Reads the first line of a stream on a thread of its own, which ends with the program.
fn first_line(stream: Option<impl Read + Send + 'static>) -> Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = match stream {
            Some(stream) => stream.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes),
            None => Ok(0),
        };
        // The receiver is gone after the deadline.
        let _ = sender.send(read.map(|_| {
            let text = String::from_utf8_lossy(&bytes);
            text.lines().next().unwrap_or_default().trim().chars().take(200).collect()
        }));
    });
    receiver
}

fn receive<T>(receiver: &Receiver<T>, end: Instant) -> Option<T> {
    receiver.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
}

fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// Returns the name and the version in a first line:
///
/// ```text
/// runc version 1.1.5+ds1        NVIDIA Container Runtime version 1.13.5
/// youki version: 0.5.0          youki 0.3.1
/// crun version 1.8.1            Kubernetes v1.36.2
/// ```
fn parse(line: &str) -> Option<ProgramVersion> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, version) =
        match words.iter().position(|word| matches!(*word, "version" | "version:")) {
            Some(at) => (&words[..at], words.get(at + 1)),
            None => (words.get(..1)?, words.get(1)),
        };
    let version = *version?;
    let digits = version.strip_prefix('v').unwrap_or(version);
    let is_version = !name.is_empty() && digits.starts_with(|c: char| c.is_ascii_digit());
    is_version.then(|| ProgramVersion { name: name.join(" "), version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_first_line_of_each_program() {
        let rows = [
            ("runc version 1.1.5+ds1", Some(("runc", "1.1.5+ds1"))),
            ("runc version 1.3.0-rc.1+dev", Some(("runc", "1.3.0-rc.1+dev"))),
            ("crun version 1.8.1", Some(("crun", "1.8.1"))),
            ("crun version UNKNOWN", None),
            (
                "NVIDIA Container Runtime version 1.13.5",
                Some(("NVIDIA Container Runtime", "1.13.5")),
            ),
            ("version 1.2", None),
            ("youki version: 0.5.0", Some(("youki", "0.5.0"))),
            ("youki 0.3.1", Some(("youki", "0.3.1"))),
            ("Kubernetes v1.36.2", Some(("Kubernetes", "v1.36.2"))),
            ("runc version", None),
            ("runc", None),
            ("", None),
            ("usage: kubelet [flags]", None),
            ("very old", None),
        ];
        for (line, expected) in rows {
            let found = parse(line);
            let found = found.as_ref().map(|said| (said.name.as_str(), said.version.as_str()));
            assert_eq!(found, expected, "{line:?}");
        }
    }
}

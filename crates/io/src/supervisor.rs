//! Runs kq as a child process where a read could outlast every signal.
//!
//! A server of a FUSE file system that has taken a request and does not answer holds the reader in the kernel, where not even
//! SIGKILL ends it. The shell would wait for as long. So on a machine with such file systems the process that the shell
//! waits for reads nothing: it starts kq once more, passes signals on, and ends with the exit code that the child process
//! reports, whether the kernel lets go of that or not.

use crate::interrupt::pass_each;
use crate::own_program::{Reporter, Supervised};
use kq_facts::mounts::needs_server;
use rustix::process::Signal;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The pause between two looks at a process that neither reports nor ends.
const PAUSE: Duration = Duration::from_millis(200);

/// How long a process that has reported its exit code may take to end.
const PATIENCE: Duration = Duration::from_millis(200);

/// What is added to the number of a signal, as a shell does.
const SIGNALLED: i32 = 128;

/// The way to the process that waits for this one.
static REPORTER: OnceLock<Mutex<Reporter>> = OnceLock::new();

/// Runs kq as a child process, where file systems of this machine need it, and returns its exit code. `None`: this process
/// does the work itself.
pub fn run() -> Option<u8> {
    if let Some(reporter) = Reporter::of_this_process() {
        let _ = REPORTER.set(Mutex::new(reporter));
        return None;
    }
    // Without its own list of mounts kq runs as any other program does.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    if !mounts.lines().any(needs_server) {
        return None;
    }
    // From here on the child does the work: whatever goes wrong, this process does not do it as well.
    Some(supervise(Supervised::start().ok()?))
}

/// Returns true if another process passes signals on to this one.
pub fn is_supervised() -> bool {
    REPORTER.get().is_some()
}

/// Reports the exit code with which this process is about to end. All output must have been written before.
pub fn ending(code: u8) {
    let Some(reporter) = REPORTER.get() else { return };
    let _ = io::stdout().flush();
    // If no process waits, the code is that of the process.
    let _ = reporter.lock().unwrap_or_else(PoisonError::into_inner).report(code);
}

/// Waits for the child, and returns its exit code.
fn supervise(process: Supervised) -> u8 {
    let process = Arc::new(process);
    let caught = Arc::new(Mutex::new(None));
    let (signalled, last) = (Arc::clone(&process), Arc::clone(&caught));
    // A signal of the terminal reaches both processes, and the child takes two at once for one.
    let _ = pass_each(move |name| {
        let signal = match name {
            "SIGINT" => Signal::INT,
            "SIGHUP" => Signal::HUP,
            "SIGQUIT" => Signal::QUIT,
            _ => Signal::TERM,
        };
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(signal);
        signalled.signal(signal);
    });
    let (sender, reports) = mpsc::channel();
    let reader = Arc::clone(&process);
    let thread = thread::Builder::new().name("report".to_owned()).stack_size(256 << 10);
    // Without the thread, the code is that of the child's end.
    let _ = thread.spawn(move || {
        let _ = sender.send(reader.reported());
    });
    let mut was_stuck = false;
    loop {
        match reports.recv_timeout(PAUSE) {
            Ok(Some(code)) => {
                let end = Instant::now() + PATIENCE;
                while matches!(process.ended(), Ok(None)) && Instant::now() < end {
                    thread::sleep(Duration::from_millis(1));
                }
                return code;
            }
            Ok(None) | Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => thread::sleep(PAUSE),
        }
        match process.ended() {
            Ok(Some(status)) => return code_of(status),
            Ok(None) => {}
            // The child has ended without a report, and where SIGCHLD is ignored the kernel does not say how.
            Err(_) => return code(SIGNALLED + Signal::KILL.as_raw()),
        }
        // A process may take a moment to end.
        let is_stuck = process.is_stuck();
        if is_stuck && was_stuck {
            let signal = *caught.lock().unwrap_or_else(PoisonError::into_inner);
            return code(SIGNALLED + signal.unwrap_or(Signal::KILL).as_raw());
        }
        was_stuck = is_stuck;
    }
}

fn code_of(status: ExitStatus) -> u8 {
    code(status.code().or_else(|| status.signal().map(|it| SIGNALLED + it)).unwrap_or(SIGNALLED))
}

fn code(number: i32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

//! One run of the program, watched: what it wrote, how it ended, how much time and memory it took.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// How much of the processor a run on input below 1 MB may take. Without optimisation all is slower.
pub const CPU: Duration = Duration::from_secs(if cfg!(optimised) { 2 } else { 30 });

/// The time of [`work`] on a machine for which [`CPU`] is right.
const WORK: Duration = Duration::from_millis(if cfg!(optimised) { 100 } else { 400 });

/// How much memory such a run may take.
pub const MEMORY: u64 = 256 << 20;

/// A run that takes less than a thirtieth of such a time on the processor is asked to end: it waits for something, and
/// only looks at its memory now and then.
const IDLE: Duration = Duration::from_secs(3);

/// After this time a run is stuck.
const STUCK: Duration = Duration::from_secs(120);

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// It was terminated while it waited.
    pub was_stopped: bool,
    /// What it wrote.
    pub stdout: Vec<u8>,
    /// The same, on standard error.
    pub stderr: Vec<u8>,
    /// The time on the processor.
    pub cpu: Duration,
    /// The most memory that was seen.
    pub memory: u64,
}

/// Runs the program in a folder, without a network where the system permits namespaces.
pub fn run(program: &Path, arguments: &[String], folder: &Path, stdin: Option<&Path>) -> Ran {
    let (out, err) = (folder.join(".stdout"), folder.join(".stderr"));
    let create = |path: &PathBuf| File::create(path).expect("a file can be made");
    // What takes far more than may be is ended by the kernel, however quickly it does. The limits are there before the
    // program is: an allocator reserves what it can at once.
    let mut command = Command::new("prlimit");
    command
        .arg(format!("--data={}", 2 * MEMORY + (256 << 20)))
        .arg(format!("--cpu={}", CPU.as_secs() * 3 + 5))
        .arg(format!("--fsize={}", 1 << 30))
        .arg("--");
    if let Some(flags) = alone() {
        command.arg("unshare").args(*flags).arg("--");
    }
    command.arg(program);
    command
        .args(arguments)
        .env_clear()
        .env("COLUMNS", "100")
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", folder)
        .current_dir(folder)
        .stdin(stdin.map_or_else(Stdio::null, |path| File::open(path).expect("it is there").into()))
        .stdout(create(&out))
        .stderr(create(&err));
    let child = command.spawn().expect("the program can be run");
    let watched = watch(child);
    let read = |path: &PathBuf| fs::read(path).expect("it was written");
    Ran { stdout: read(&out), stderr: read(&err), ..watched }
}

/// Returns true if runs have a network of their own, without other hosts.
pub fn is_alone() -> bool {
    alone().is_some()
}

/// Returns the flags of `unshare` that give a run a network of its own; `None`: none can be had.
fn alone() -> Option<&'static &'static [&'static str]> {
    static ALONE: OnceLock<Option<&'static &'static [&'static str]>> = OnceLock::new();
    static WAYS: [&[&str]; 2] = [&["-n"], &["-r", "-n"]];
    *ALONE.get_or_init(|| {
        WAYS.iter().find(|flags| {
            let tried = Command::new("unshare").args(**flags).args(["--", "true"]).output();
            tried.is_ok_and(|output| output.status.success())
        })
    })
}

fn watch(mut child: Child) -> Ran {
    let pid = i32::try_from(child.id()).expect("a number of a process");
    let process = Pid::from_raw(pid).expect("it is not 0");
    let begun = Instant::now();
    let (mut cpu, mut memory, mut was_stopped) = (Duration::ZERO, 0, false);
    let mut idle_since = (Instant::now(), Duration::ZERO);
    let status = loop {
        cpu = cpu.max(cpu_of(pid).unwrap_or_default());
        memory = memory.max(peak_of(pid).unwrap_or_default());
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if idle_since.0.elapsed() > IDLE && !was_stopped {
            was_stopped = cpu - idle_since.1 < IDLE / 30;
            if was_stopped {
                let _ = kill_process(process, Signal::TERM);
            }
            idle_since = (Instant::now(), cpu);
        }
        if begun.elapsed() > STUCK {
            let _ = child.kill();
        }
        thread::sleep(Duration::from_millis(3));
    };
    Ran { status, was_stopped, stdout: Vec::new(), stderr: Vec::new(), cpu, memory }
}

/// Returns the time that a process was on the processor; one that has ended and was not waited for has it still.
fn cpu_of(pid: i32) -> Option<Duration> {
    cpu_in(&format!("/proc/{pid}/stat"))
}

fn cpu_in(stat: &str) -> Option<Duration> {
    let stat = fs::read_to_string(stat).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 10))
}

/// Returns how many times as long as on a quick machine a program takes here and now; at least 1.
fn slowness() -> f64 {
    let now = || cpu_in("/proc/thread-self/stat").unwrap_or_default();
    let begun = now();
    work();
    let took = now().saturating_sub(begun);
    (took.as_secs_f64() / WORK.as_secs_f64()).max(1.0)
}

/// Does what kq does most: it sorts names into maps, and looks them up.
fn work() {
    let names: Vec<String> =
        (0..200_000_u64).map(|at| format!("n{}", at * 7_919 % 200_000)).collect();
    let places: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let found = names.iter().rev().filter(|name| places.contains_key(name.as_str()));
    assert_eq!(found.count(), names.len());
}

/// Returns the most memory that a process had at once.
fn peak_of(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

impl Ran {
    /// Returns what is wrong about the run; empty where all is well.
    pub fn wrong(&self, wants_json: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let stderr = String::from_utf8_lossy(&self.stderr);
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) if !(0..=5).contains(&code) => wrong.push(format!("exit code {code}")),
            (None, Some(signal)) if !(self.was_stopped && signal == Signal::TERM.as_raw()) => {
                wrong.push(format!("signal {signal}"));
            }
            _ => {}
        }
        if stderr.contains("panicked at") || stderr.contains("stack overflow") {
            wrong.push("a panic".to_owned());
        }
        if self.takes_more_than(CPU) {
            wrong.push(format!("{:?} on the processor", self.cpu));
        }
        if self.memory > MEMORY {
            wrong.push(format!("{} MiB of memory", self.memory >> 20));
        }
        if !matches!(self.status.code(), Some(0 | 1)) {
            // A failed run has no output that could be half an answer.
        } else if wants_json && !self.was_stopped && !self.is_plain_no() {
            match serde_json::from_slice::<serde::de::IgnoredAny>(&self.stdout) {
                Ok(_) => {}
                Err(error) => wrong.push(format!("no JSON: {error}")),
            }
        }
        for (name, bytes) in [("standard output", &self.stdout), ("standard error", &self.stderr)] {
            match std::str::from_utf8(bytes) {
                Ok(text) => wrong
                    .extend(text.chars().find(|c| plays(*c)).map(|c| format!("{c:?} on {name}"))),
                Err(_) => wrong.push(format!("{name} is not text")),
            }
        }
        wrong
    }
}

impl Ran {
    /// Returns true if it was on the processor for longer than a quick machine would need for that long. Machines differ
    /// by five, and a busy one is slower: what is over the time is measured against what this one needs for known work.
    pub fn takes_more_than(&self, limit: Duration) -> bool {
        self.cpu > limit && self.cpu > limit.mul_f64(slowness())
    }

    /// Returns true if the answer is "no" and nothing else: nothing of that name was found.
    fn is_plain_no(&self) -> bool {
        // With `-v` the sources come first.
        let stderr = String::from_utf8_lossy(&self.stderr);
        let says_why = stderr.lines().any(|line| line.starts_with("kq: "));
        self.status.code() == Some(1) && self.stdout.is_empty() && says_why
    }
}

/// Returns true if a character does something on a terminal: controls, and what changes the direction of text.
fn plays(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

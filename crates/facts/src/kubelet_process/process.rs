//! Recognising a kubelet among the processes of a node.
//!
//! The flags of the kubelet's removal of dead containers.
//!
//! Names and defaults: `AddFlags` and `NewKubeletFlags` in `cmd/kubelet/app/options/options.go`. The
//! kubelet has called them deprecated for years, but they never became fields of its configuration.

use super::distributed::{NodeFiles, embedded};
use super::kept::{KeptLine, LineOrigin, kubelet_flags};
use super::{KubeletProcess, Program};
use kq_k8s::duration::GoDuration;

/// The kernel's data about a process.
#[derive(Clone, Debug, Default)]
pub struct ProcessTexts<'a> {
    /// The number of the process.
    pub pid: i32,
    /// `comm`
    pub comm: &'a str,
    /// `cmdline`
    pub command_line: &'a [u8],
    /// `stat`
    pub stat: &'a str,
    /// Where `exe` points, where it is shown.
    pub executable: Option<String>,
    /// Where `cwd` points, where it is shown.
    pub working_folder: Option<String>,
    /// When the kernel started, in seconds since 1970.
    pub boot_time: Option<i64>,
}

/// The kernel counts in hundredths of a second for programs, on every platform of Kubernetes.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the kubelet that a process is, or `None` for any other process. Both its name and its
/// command line must say so: each of them alone can be anything. `files` are read where it is in another program.
pub fn recognise(texts: &ProcessTexts<'_>, files: &dyn NodeFiles) -> Option<KubeletProcess> {
    let comm = texts.comm.trim_end_matches('\n');
    let mut arguments = split(texts.command_line);
    // k3s hides its arguments behind one text of all words that it wants to show.
    if let [only] = arguments.as_slice()
        && only.contains(' ')
    {
        arguments = only.split_whitespace().map(str::to_owned).collect();
    }
    let (name, arguments) = arguments.split_first()?;
    let name = name.rsplit('/').next()?;
    let runs_node = arguments.first().is_some_and(|verb| verb == "server" || verb == "agent");
    let program = match (name, comm) {
        ("kubelet", "kubelet") => Program::Kubelet,
        ("k3s", "k3s" | "k3s-server" | "k3s-agent") if runs_node => Program::K3s,
        ("k3s-server", "k3s-server") | ("k3s-agent", "k3s-agent") => Program::K3s,
        ("kubelite", "kubelite") => Program::Kubelite,
        ("microshift", "microshift") if arguments.first().is_some_and(|verb| verb == "run") => {
            Program::Microshift
        }
        _ => return None,
    };
    let start_ticks = start_ticks(texts.stat)?;
    let since_boot = i64::try_from(start_ticks / TICKS_PER_SECOND).ok();
    let started_at = texts.boot_time.zip(since_boot).and_then(|(boot, at)| boot.checked_add(at));
    let found = embedded(program, arguments, files);
    let mut notes = found.notes;
    let KeptLine { flags, faults } = kubelet_flags(&found.arguments, LineOrigin::Node, &mut notes);
    Some(KubeletProcess {
        pid: texts.pid,
        program,
        executable: texts.executable.clone(),
        working_folder: texts.working_folder.clone(),
        start_ticks,
        started_at,
        flags,
        faults,
        flag_files: found.files,
        is_partial: false,
        others: Vec::new(),
        notes,
    })
}

/// Returns the kubelet that a command line of systemd would start; its process number is 0.
///
/// Another program may start it, as `kubenswrapper` of OpenShift does: its path is then a word after that program's
/// (`templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml` of openshift/machine-config-operator).
pub fn as_started(command_line: &[String]) -> Option<KubeletProcess> {
    let words = command_line.iter().take_while(|word| !word.starts_with('-'));
    let is_kubelet = |(at, word): (usize, &String)| {
        word.rsplit('/').next() == Some("kubelet") && (at == 0 || word.starts_with('/'))
    };
    let at = words.enumerate().position(is_kubelet)?;
    Some(of_arguments(command_line.get(at + 1..)?, LineOrigin::Node))
}

/// Returns the kubelet with the flags that a person has typed.
pub fn as_typed(arguments: &[String]) -> KubeletProcess {
    of_arguments(arguments, LineOrigin::Typed)
}

fn of_arguments(arguments: &[String], origin: LineOrigin) -> KubeletProcess {
    let mut notes = Vec::new();
    let KeptLine { flags, faults } = kubelet_flags(arguments, origin, &mut notes);
    KubeletProcess {
        pid: 0,
        program: Program::Kubelet,
        executable: None,
        working_folder: Some("/".to_owned()),
        start_ticks: 0,
        started_at: None,
        flags,
        faults,
        flag_files: Vec::new(),
        is_partial: false,
        others: Vec::new(),
        notes,
    }
}

/// Returns when a process started, in ticks after the kernel: field 22 of its `stat`. The second field
/// is a name in parentheses that can hold anything, so fields are counted after the last parenthesis.
pub fn start_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19)?.parse().ok()
}

fn split(command_line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(command_line);
    let text = text.trim_end_matches('\0');
    if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
}

const MINIMUM_AGE: &str = "minimum-container-ttl-duration";
const PER_CONTAINER: &str = "maximum-dead-containers-per-container";
const IN_ALL: &str = "maximum-dead-containers";

/// Their names.
pub(super) const FLAGS: [&str; 3] = [MINIMUM_AGE, PER_CONTAINER, IN_ALL];

/// The flags of container garbage collection; `None`: not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerGcFlags {
    /// `--minimum-container-ttl-duration`: the minimum age of a dead container at its removal.
    pub minimum_age: Option<GoDuration>,
    /// `--maximum-dead-containers-per-container`: how many of one container stay; negative: all.
    pub max_per_container: Option<i32>,
    /// `--maximum-dead-containers`: how many stay on the node; negative: all.
    pub max_containers: Option<i32>,
}

impl ContainerGcFlags {
    /// Sets the value of one of [`FLAGS`], or returns the expected format.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let number = || value.parse().map_err(|_| "a whole number of 32 bits");
        match name {
            MINIMUM_AGE => {
                let age = value.parse().map_err(|_| "a duration such as 1m30s")?;
                self.minimum_age = Some(age);
            }
            PER_CONTAINER => self.max_per_container = Some(number()?),
            IN_ALL => self.max_containers = Some(number()?),
            _ => {}
        }
        Ok(())
    }
}

//! The running kubelet of the node: its process and its command line.
//!
//! A command line can hold secrets. Only the values of the flags that kq knows are kept; of every other
//! one its name. Pure.

mod arguments;
mod container;
mod distributed;
mod flags;
mod kept;
mod known;
mod process;
mod table;
mod values;

pub use arguments::{Argument, ParsedLine, invalid_argument, parse as parse_line, scan};
pub use container::{CgroupPlace, cgroup_place, has_own_pids, may_be_kubelet};
pub use distributed::{Arguments, NoFiles, NodeFiles, stopped as stopped_distribution};
pub use flags::{Assignment, KubeletFlags, Setting};
pub use known::{FlagState, KnownFlag, flag_names, known_flag};
pub use process::{ContainerGcFlags, ProcessTexts, as_started, as_typed, recognise, start_ticks};

pub use values::value_error;

use crate::lookup::Lookup;
use serde::{Deserialize, Serialize};

/// The kubelet's default root folder.
pub const DEFAULT_ROOT_DIR: &str = "/var/lib/kubelet";

/// The kubelet's default certificate folder, independent of its root folder.
pub const DEFAULT_CERT_DIR: &str = "/var/lib/kubelet/pki";

/// The kubelet that was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletSearch {
    pub process: Lookup<KubeletProcess>,
    /// One may run, whether it was found or not.
    pub may_run: bool,
}

/// The start command of a kubelet that is not running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedKubelet {
    pub source: String,
    /// Its command line.
    pub process: KubeletProcess,
    /// The file that masks its unit.
    pub masked_by: Option<String>,
    /// The files that its unit removes before each start.
    pub removes: Vec<String>,
    /// Its unit was not found: the command line is that of the packages' unit.
    pub is_unit_assumed: bool,
}

/// A kubelet that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeletProcess {
    /// The number of its process, as the node counts.
    pub pid: i32,
    /// The program it is part of.
    pub program: Program,
    /// The file of the program, where it is shown.
    pub executable: Option<String>,
    /// The folder that its relative paths are in, where it is shown.
    pub working_folder: Option<String>,
    /// When it started, in hundredths of a second after the kernel.
    pub start_ticks: u64,
    /// When it started, in seconds since 1970, where the start of the kernel is known.
    pub started_at: Option<i64>,
    /// The flags of the kubelet in their order, with long names.
    pub flags: Vec<Flag>,
    /// The arguments that it refuses, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<ArgumentFault>,
    /// The files that the flags of a kubelet in another program are from; empty: not all of its flags are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flag_files: Vec<String>,
    /// Only some of its flags are known, as those that a person adds to a command line that was not read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// Other running kubelets, which kq ignores.
    pub others: Vec<i32>,
    /// Facts that the command line does not show: sentences.
    pub notes: Vec<String>,
}

impl KubeletProcess {
    /// Returns true if it has flags that are neither on its command line nor in a file.
    pub fn hides_flags(&self) -> bool {
        self.is_partial || self.program != Program::Kubelet && self.flag_files.is_empty()
    }
}

/// A flag of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Flag {
    /// Its name without dashes.
    pub name: String,
    /// Its value; `None`: not kept, because kq does not know the flag.
    pub value: Option<String>,
}

/// An argument that a kubelet refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArgumentFault {
    /// How many of the flags come before it.
    pub after: usize,
    pub kind: FaultKind,
}

/// Why a kubelet refuses an argument. What may be a secret is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultKind {
    /// It cannot be parsed, in the kubelet's words.
    Syntax(Option<String>),
    /// A word that is not a flag, which it takes for a command.
    Word(Option<String>),
}

/// A program that is a kubelet, or has one in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Program {
    /// `kubelet`; also that of RKE2, k0s and minikube, which start one.
    Kubelet,
    /// `k3s server` or `k3s agent`
    K3s,
    /// `kubelite` of MicroK8s
    Kubelite,
    /// `microshift run`
    Microshift,
}

#[cfg(test)]
mod tests;

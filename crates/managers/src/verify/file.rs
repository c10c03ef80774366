//! A state file: its content, its kind by the names of its fields, and its findings.

use super::rule::doubt;
use crate::memory_manager::KnownMemory;
use kq_answer::{Finding, Rule, Severity, Subject};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::KnownContainers;
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::devices::CheckpointFact;
use kq_facts::node_pods::NodePods;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::go_json::{Kind, Reader};
use kq_k8s::version::KubeletVersion;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A state file.
#[derive(Clone, Debug)]
pub struct StateFileContent<'a> {
    /// Its kind; `None`: neither its name nor its content shows it.
    pub file: Option<StateFile>,
    /// Its path, as it was named.
    pub path: String,
    /// The kubelet's root folder, which the kubelet's errors name.
    pub folder: String,
    pub content: Content<'a>,
}

/// The result of reading a file.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    Bytes(Cow<'a, [u8]>),
    /// The device checkpoint as it is stored: without bytes, which may hold secrets.
    Stored(&'a CheckpointFact),
    /// There is none.
    Absent,
    /// The stored facts do not include it.
    Unrecorded,
    /// Why it could not be read.
    Unreadable(String),
}

/// The facts other than the files.
#[derive(Clone, Debug)]
pub struct VerifyContext<'a> {
    /// `cpuManagerPolicy`; `None`: the configuration is unknown.
    pub cpu_policy: Option<&'a str>,
    /// The policy leaves reserved CPUs out of what is shared.
    pub strict_cpu_reservation: bool,
    /// `memoryManagerPolicy`; `None`: the configuration is unknown.
    pub memory_policy: Option<&'a str>,
    /// The layouts that the kubelet reads.
    pub layouts: KnownLayouts,
    /// The files that the kubelet of this version and with these gates does not read.
    pub unread: BTreeSet<StateFile>,
    /// The files that the kubelet's unit removes before each start.
    pub removed: BTreeSet<StateFile>,
    /// The feature gates are known.
    pub knows_gates: bool,
    /// The kubelet is of a version that kq knows.
    pub knows_version: bool,
    /// The kubelet that reads the files; `None`: unknown.
    pub version: Option<KubeletVersion>,
    /// The kubelet is a 1.32, which has `pod_status_manager_state`; later ones have two other files.
    pub is_1_32: bool,
    /// The containers of the runtime.
    pub containers: Option<KnownContainers>,
    /// The machine and the configuration of the memory manager, for files that are this machine's.
    pub memory: KnownMemory,
    /// The CPUs of the machine, for files that are this machine's.
    pub cpus: Option<CpuSet>,
    /// The files are this machine's: what is not known of the machine is missing. Files that are named are judged without one.
    pub is_of_machine: bool,
    /// It is known which CPUs are reserved: they are listed, or the cores of the machine are known.
    pub knows_reserved_cpus: bool,
    /// kq knows what a kubelet of this version, which is given, reads.
    pub supports_version: bool,
    /// The pods, for files that are this node's.
    pub pods: Option<&'a NodePods<'a>>,
}

impl Default for VerifyContext<'_> {
    /// Returns that nothing is known, but that the kubelet is of a version that kq knows.
    fn default() -> Self {
        Self {
            cpu_policy: None,
            strict_cpu_reservation: false,
            memory_policy: None,
            layouts: KnownLayouts::default(),
            unread: BTreeSet::new(),
            removed: BTreeSet::new(),
            knows_gates: false,
            knows_version: false,
            version: None,
            is_1_32: false,
            containers: None,
            memory: KnownMemory::default(),
            cpus: None,
            is_of_machine: false,
            knows_reserved_cpus: false,
            supports_version: true,
            pods: None,
        }
    }
}

/// The findings in one file.
#[derive(Debug)]
pub(super) struct Findings<'p> {
    path: &'p str,
    found: Vec<Finding>,
}

impl<'p> Findings<'p> {
    pub fn of(path: &'p str) -> Self {
        Self { path, found: Vec::new() }
    }

    /// Adds the finding of a rule at a place of the file.
    pub fn add(&mut self, place: impl Into<String>, rule: &impl Rule) {
        let subject = Subject::File { path: self.path.to_owned(), place: place.into() };
        self.found.push(Finding::of(subject, rule));
    }

    /// Marks each as a possible result of damage.
    pub fn doubt(&mut self) {
        self.found.iter_mut().for_each(doubt);
    }

    /// Returns true if one of them is an error.
    pub fn have_error(&self) -> bool {
        self.found.iter().any(|finding| finding.severity == Severity::Error)
    }

    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}

/// Returns the kind of file whose content this is. `allocated_pods_state` and
/// `actuated_pods_state` have the same content.
pub fn recognise(bytes: &[u8]) -> Option<StateFile> {
    let mut reader = Reader::new(bytes);
    let mut fields = BTreeMap::new();
    let mut data = String::new();
    if reader.kind().ok()? != Kind::Object {
        return None;
    }
    // A file that is cut is recognised by its beginning.
    let _ = reader.object(|reader, key| {
        let kind = reader.kind()?;
        if fields.len() < 16 {
            fields.insert(key.to_ascii_lowercase(), kind);
        }
        if kind == Kind::String && key.eq_ignore_ascii_case("data") {
            data = reader.string()?.into_owned();
            return Ok(());
        }
        reader.skip()
    });
    let has = |name: &str| fields.contains_key(name);
    if has("defaultcpuset") {
        return Some(StateFile::Cpu);
    }
    if has("machinestate") {
        return Some(StateFile::Memory);
    }
    match fields.get("data")? {
        Kind::Object => Some(StateFile::Devices),
        // A cut text is not in `data`, and says nothing.
        Kind::String if data.contains("\"ClaimInfoStateList\"") => Some(StateFile::Dra),
        Kind::String if data.contains("\"allocationEntries\"") => Some(StateFile::PodStatus),
        Kind::String if data.starts_with('{') => Some(StateFile::AllocatedPods),
        _ => None,
    }
}

/// Returns true if the content is the checkpoint of a DRA driver: claims that it has prepared, in one of its layouts.
pub(super) fn is_of_dra_driver(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let mut is_found = false;
    // A file that is cut is recognised by its beginning.
    let _ = reader.object(|reader, key| {
        is_found |= key == "preparedClaims";
        if reader.kind()? == Kind::Object && key.starts_with('v') {
            return reader.object(|reader, key| {
                is_found |= key == "preparedClaims";
                reader.skip()
            });
        }
        reader.skip()
    });
    is_found
}

/// Returns true if content of one kind is what a file of another name holds.
pub(super) fn is_alike(named: StateFile, found: StateFile) -> bool {
    let is_pods = |file| matches!(file, StateFile::AllocatedPods | StateFile::ActuatedPods);
    named == found
        || (is_pods(named) && is_pods(found))
        // The layout of 1.32 under its later names, and an empty file of either.
        || (is_pods(named) && found == StateFile::PodStatus)
        || (named == StateFile::PodStatus && is_pods(found))
}

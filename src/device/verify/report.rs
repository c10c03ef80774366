//! The answer.

use super::between::between;
use super::damage::Damage;
use super::file::{Content, Known, StateFileContent};
use super::finding::{Finding, Severity};
use super::{claims, cpu, devices, memory, pods};
use crate::facts::checkpoint::StateFile;
use crate::facts::snapshot::API_VERSION;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The kubelet takes it.
    Ok,
    /// There is none, which is fine.
    Absent,
    /// This kubelet does not look at it.
    Unused,
    /// The kubelet starts as if it were not there.
    Discarded,
    /// The kubelet does not start.
    Refused,
    /// What the kubelet makes of it depends on something that is not known.
    Unknown,
    /// It could not be read.
    Unreadable,
}

/// What is to be said of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileVerdict {
    /// Which file it is.
    pub file: &'static str,
    /// Where it is.
    pub path: String,
    /// How many bytes it has.
    pub size: Option<usize>,
    /// Its layout: `v2`.
    pub layout: Option<String>,
    /// The policy that it is written for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The checksum that it says; 0 stands for none.
    pub checksum_in_file: Option<u64>,
    /// The checksum that it has.
    pub checksum_computed: Option<u32>,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What is wrong with its bytes.
    pub damage: Option<Damage>,
    /// What is wrong with its bytes, in words.
    pub damage_text: Option<String>,
    /// What the kubelet does at its next start.
    pub at_next_start: String,
    /// What it says then.
    pub kubelet_error: Option<String>,
    /// How the verdict came about.
    pub derivation: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// `kq/v1`
    pub api_version: &'static str,
    /// `DeviceStateVerification`
    pub kind: &'static str,
    /// How many findings there are of each severity.
    pub summary: BTreeMap<String, usize>,
    /// What was taken for granted.
    pub assumed: Vec<String>,
    /// The files.
    pub files: Vec<FileVerdict>,
    /// What was found in them; the worst first.
    pub findings: Vec<Finding>,
}

impl FileVerdict {
    /// Begins with a file of which nothing is known yet.
    pub(super) fn of(file: &StateFileContent<'_>) -> Self {
        let size = match &file.content {
            Content::Bytes(bytes) => Some(bytes.len()),
            _ => None,
        };
        Self {
            file: file.file.name(),
            path: file.path.clone(),
            size,
            layout: None,
            policy: None,
            checksum_in_file: None,
            checksum_computed: None,
            verdict: Verdict::Ok,
            damage: None,
            damage_text: None,
            at_next_start: "takes it".to_owned(),
            kubelet_error: None,
            derivation: Vec::new(),
        }
    }

    /// Says that the kubelet does not start.
    pub(super) fn refuse(&mut self, file: &StateFileContent<'_>, cause: &str) {
        self.verdict = Verdict::Refused;
        let error = file.file.refusal(cause, file.folder());
        self.at_next_start = match file.file {
            StateFile::AllocatedPods => "does not start: it panics".to_owned(),
            _ => "does not start".to_owned(),
        };
        self.kubelet_error = Some(error);
    }

    /// Says what is wrong with the bytes.
    pub(super) fn damaged(&mut self, damage: Damage) {
        self.damage_text = Some(damage.to_string());
        self.damage = Some(damage);
    }

    /// Tells whether something is wrong with the file.
    pub fn is_bad(&self) -> bool {
        matches!(self.verdict, Verdict::Discarded | Verdict::Refused)
    }
}

/// What was said of a file, and what it holds for the comparison with others.
pub(super) struct Examined {
    pub verdict: FileVerdict,
    pub findings: Vec<Finding>,
    pub held: Held,
}

/// What a file holds, as far as others are held against it.
pub(super) enum Held {
    Nothing,
    /// The pods that it names, and what of each.
    Pods(Vec<String>),
    /// The resources of pods.
    Resources(crate::facts::checkpoint::pod_allocation::PodAllocations),
}

impl Verification {
    /// Looks at files.
    pub fn of(files: &[StateFileContent<'_>], known: &Known<'_>) -> Self {
        let examined: Vec<Examined> = files.iter().map(|file| examine(file, known)).collect();
        let mut findings = between(files, &examined, known);
        let mut verdicts = Vec::new();
        for one in examined {
            findings.extend(one.findings);
            verdicts.push(one.verdict);
        }
        // Stable: within a severity they stay in the order of the files.
        findings.sort_by_key(|finding| finding.severity);
        let count = |severity: Severity| {
            let of_it = findings.iter().filter(|finding| finding.severity == severity);
            (severity.to_string(), of_it.count())
        };
        Self {
            api_version: API_VERSION,
            kind: "DeviceStateVerification",
            summary: [Severity::Error, Severity::Warning, Severity::Note].map(count).into(),
            assumed: assumed(files, known),
            files: verdicts,
            findings,
        }
    }

    /// Tells whether something is wrong: a file that the kubelet does not take, or an error in one.
    /// Warnings are not.
    pub fn is_wrong(&self) -> bool {
        let has_error = self.findings.iter().any(|finding| finding.severity == Severity::Error);
        has_error || self.files.iter().any(FileVerdict::is_bad)
    }

    /// Tells whether every file could be read.
    pub fn is_complete(&self) -> bool {
        let unread =
            |file: &FileVerdict| matches!(file.verdict, Verdict::Unreadable | Verdict::Unknown);
        !self.files.iter().any(unread)
    }
}

fn examine(file: &StateFileContent<'_>, known: &Known<'_>) -> Examined {
    let mut verdict = FileVerdict::of(file);
    let of = |verdict| Examined { verdict, findings: Vec::new(), held: Held::Nothing };
    match &file.content {
        Content::Absent => {
            verdict.verdict = Verdict::Absent;
            verdict.at_next_start =
                "starts with nothing, and writes it when there is something to \
                                     remember"
                    .to_owned();
            of(verdict)
        }
        Content::Unreadable(reason) => {
            verdict.verdict = Verdict::Unreadable;
            verdict.at_next_start = "is not known".to_owned();
            verdict.derivation.push(reason.clone());
            of(verdict)
        }
        Content::Stored(fact) => devices::examine_stored(file, fact, known),
        Content::Bytes(bytes) => match file.file {
            StateFile::Devices => devices::examine(file, bytes, known),
            StateFile::Cpu => cpu::examine(file, bytes, known),
            StateFile::Memory => memory::examine(file, bytes, known),
            StateFile::Dra => claims::examine(file, bytes),
            StateFile::AllocatedPods | StateFile::ActuatedPods | StateFile::PodStatus => {
                pods::examine(file, bytes, known)
            }
        },
    }
}

/// Says what was taken for granted.
fn assumed(files: &[StateFileContent<'_>], known: &Known<'_>) -> Vec<String> {
    let has = |kind: StateFile| {
        let read = |file: &&StateFileContent<'_>| matches!(file.content, Content::Bytes(_));
        files.iter().filter(read).any(|file| file.file == kind)
    };
    let mut assumed = Vec::new();
    if has(StateFile::Cpu) && known.cpu_policy.is_none() {
        assumed.push(
            "cpuManagerPolicy is the one of the file: the kubelet's configuration is not known \
             (--kubelet-config FILE)"
                .to_owned(),
        );
    }
    if has(StateFile::Memory) && known.memory_policy.is_none() {
        assumed.push(
            "memoryManagerPolicy is the one of the file: the kubelet's configuration is not known \
             (--kubelet-config FILE)"
                .to_owned(),
        );
    }
    assumed
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "OK",
            Self::Absent => "ABSENT",
            Self::Unused => "UNUSED",
            Self::Discarded => "DISCARDED",
            Self::Refused => "REFUSED",
            Self::Unknown => "UNKNOWN",
            Self::Unreadable => "UNREADABLE",
        })
    }
}

//! The report of a verification.

use super::between::between;
use super::damage::Damage;
use super::file::{Content, Findings, StateFileContent, VerifyContext, is_of_dra_driver};
use super::rule::DELETE;
use super::{claims, cpu, devices, memory, pods};
use kq_answer::reason::Reason;
use kq_answer::{Basis, Finding, Headline, Missing, MissingFact, Severity, Worded, answer};
use kq_facts::checkpoint::StateFile;
use kq_k8s::go_text::quote;
use kq_k8s::version::KubeletVersion;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The kubelet takes it.
    Ok,
    /// The kubelet takes it, and what it says cannot all be so: there is an error among the findings.
    Contradicts,
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
    /// The kind of file is not recognised.
    Unrecognised,
    /// It is not among the facts that were stored.
    Unrecorded,
}

/// The result for one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileVerdict {
    /// The kind of file; null: not recognised.
    pub file: Option<StateFile>,
    /// The path as given.
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
    pub damage: Option<Worded<Damage>>,
    /// What the kubelet does at its next start.
    pub at_next_start: Worded<NextStart>,
    /// What to do about a file that the kubelet rejects.
    pub advice: Option<String>,
    /// What it says then.
    pub kubelet_error: Option<String>,
    /// How the verdict came about.
    pub derivation: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// How many findings there are of each severity.
    pub summary: BTreeMap<String, usize>,
    pub files: Vec<FileVerdict>,
    /// What was found in them; the worst first.
    pub findings: Vec<Finding>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceStateVerification", Verification; Verification::headline);

impl Verification {
    /// Returns whether the kubelet starts with its state files.
    fn headline(&self) -> Headline {
        let with = |verdict| self.files.iter().find(|it| it.verdict == verdict);
        let path = |file: &FileVerdict| file.path.clone();
        if let Some(file) = with(Verdict::Refused) {
            return Headline::new(
                "refused",
                format!("the kubelet does not start with {}", path(file)),
            );
        }
        if let Some(file) = with(Verdict::Discarded) {
            return Headline::new(
                "discarded",
                format!("the kubelet starts without {}", path(file)),
            );
        }
        let unread = [Verdict::Unreadable, Verdict::Unknown, Verdict::Unrecorded];
        let unread = unread.into_iter().find_map(with);
        if let Some(file) = unread {
            return Headline::new("unknown", format!("{} is not known to be sound", path(file)));
        }
        let findings = Headline::of_findings(&self.findings);
        match &*findings.code {
            "no-problem" => Headline::good("sound", "the kubelet starts with its state files"),
            _ => findings,
        }
    }
}

impl FileVerdict {
    /// Begins with a file of which nothing is known yet.
    pub(super) fn of(file: &StateFileContent<'_>) -> Self {
        let size = match &file.content {
            Content::Bytes(bytes) => Some(bytes.len()),
            _ => None,
        };
        Self {
            file: file.file,
            path: file.path.clone(),
            size,
            layout: None,
            policy: None,
            checksum_in_file: None,
            checksum_computed: None,
            verdict: Verdict::Ok,
            damage: None,
            at_next_start: NextStart::Takes.into(),
            advice: None,
            kubelet_error: None,
            derivation: Vec::new(),
        }
    }

    /// Reports that the kubelet does not start.
    pub(super) fn refuse(&mut self, file: &StateFileContent<'_>, kind: StateFile, cause: &str) {
        self.verdict = Verdict::Refused;
        let error = kind.refusal(cause, &file.folder);
        self.at_next_start = Worded(match kind {
            StateFile::AllocatedPods => NextStart::Panics,
            _ => NextStart::DoesNotStart,
        });
        self.kubelet_error = Some(error);
    }

    /// Reports that the kubelet reads the file, and does not start with its content.
    pub(super) fn not_started_with(&mut self, error: Option<String>) {
        if self.verdict == Verdict::Ok {
            self.verdict = Verdict::Refused;
            self.at_next_start = NextStart::DoesNotStart.into();
            self.kubelet_error = error;
        }
    }

    /// Reports that the kubelet takes the file or not, as a fact decides that is not known.
    pub(super) fn depends_on(&mut self, fact: &'static str) {
        if self.verdict == Verdict::Ok {
            self.verdict = Verdict::Unknown;
            self.at_next_start = NextStart::DependsOnFact { fact }.into();
        }
    }

    /// Reports the damage of the bytes.
    pub(super) fn damaged(&mut self, damage: Damage) {
        self.damage = Some(damage.into());
    }

    /// Returns true if something is wrong with the file.
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

impl Examined {
    /// Puts together what was found. Where the bytes are damaged, nothing that they say is certain: what
    /// contradicts something may follow from the damage, and is no reason to act.
    pub fn of(mut verdict: FileVerdict, mut findings: Findings<'_>, held: Held) -> Self {
        let is_damaged = verdict.damage.is_some() || verdict.verdict == Verdict::Discarded;
        if is_damaged {
            findings.doubt();
        } else if verdict.verdict == Verdict::Ok && findings.have_error() {
            verdict.verdict = Verdict::Contradicts;
        }
        let held = if is_damaged { Held::Nothing } else { held };
        Self { verdict, findings: findings.into_vec(), held }
    }
}

/// What a file holds, as far as others are held against it.
pub(super) enum Held {
    Nothing,
    /// The pods that it names, and what of each.
    Pods(Vec<String>),
    Resources(kq_facts::checkpoint::pod_allocation::PodAllocations),
}

impl Verification {
    /// Checks files.
    pub fn of(files: &[StateFileContent<'_>], known: &VerifyContext<'_>) -> Self {
        let mut basis = Basis::default();
        let of_one = |file| examine(file, known, &mut basis);
        let examined: Vec<Examined> = files.iter().map(of_one).collect();
        let mut findings = between(files, &examined, known);
        let mut verdicts = Vec::new();
        for one in examined {
            findings.extend(one.findings);
            let mut verdict = one.verdict;
            if verdict.is_bad() {
                verdict.advice.get_or_insert_with(|| DELETE.to_owned());
            }
            verdicts.push(verdict);
        }
        // Stable: within a severity they stay in the order of the files.
        findings.sort_by_key(|finding| finding.severity);
        let count = |severity: Severity| {
            let of_it = findings.iter().filter(|finding| finding.severity == severity);
            (severity.to_string(), of_it.count())
        };
        Self {
            summary: [Severity::Error, Severity::Warning, Severity::Info].map(count).into(),
            basis,
            files: verdicts,
            findings,
        }
    }

    /// Takes over that the kubelet reads a file, and does not start with its content.
    pub fn refused_at_start(&mut self, kind: StateFile, error: String) {
        let Some(file) = self.files.iter_mut().find(|it| it.file == Some(kind)) else { return };
        // The start has the kubelet's order of checks, and ends at the first.
        let is_another = file.kubelet_error.as_ref().is_some_and(|own| !error.contains(own));
        if !file.is_bad() || file.verdict == Verdict::Refused && is_another {
            file.verdict = Verdict::Refused;
            file.at_next_start = NextStart::DoesNotStart.into();
            file.kubelet_error = Some(error);
            file.advice.get_or_insert_with(|| DELETE.to_owned());
        }
    }

    /// Returns an unrecognised file, if no other could be judged.
    pub fn none_judged(&self) -> Option<&FileVerdict> {
        let judged = |file: &FileVerdict| {
            !matches!(file.verdict, Verdict::Unrecognised | Verdict::Unreadable)
        };
        let mut unrecognised = self.files.iter().filter(|it| it.verdict == Verdict::Unrecognised);
        unrecognised.next().filter(|_| !self.files.iter().any(judged))
    }

    /// Returns true if something is wrong: a file that the kubelet rejects, an error in one, or a file
    /// that is not recognised. Warnings are not.
    pub fn is_wrong(&self) -> bool {
        let has_error = self.findings.iter().any(|finding| finding.severity == Severity::Error);
        has_error || self.files.iter().any(|it| it.is_bad() || it.verdict == Verdict::Unrecognised)
    }

    /// Returns true if none of the files exists.
    pub fn all_absent(&self) -> bool {
        self.files.iter().all(|file| file.verdict == Verdict::Absent)
    }

    /// Returns true if the kubelet's reaction to every file is known.
    pub fn is_complete(&self) -> bool {
        let is_open = |file: &FileVerdict| {
            matches!(file.verdict, Verdict::Unreadable | Verdict::Unknown | Verdict::Unrecorded)
        };
        self.basis.is_complete() && !self.files.iter().any(is_open)
    }
}

fn examine(file: &StateFileContent<'_>, known: &VerifyContext<'_>, basis: &mut Basis) -> Examined {
    let mut examined = examine_known(file, known, basis);
    // Another version may have another layout.
    if !known.supports_version && examined.verdict.verdict == Verdict::Ok {
        examined.verdict.verdict = Verdict::Unknown;
        let (oldest, newest) = (KubeletVersion::OLDEST, KubeletVersion::NEWEST);
        examined.verdict.at_next_start =
            NextStart::OtherVersion { oldest: oldest.to_string(), newest: newest.to_string() }
                .into();
    }
    examined
}

fn examine_known(
    file: &StateFileContent<'_>,
    known: &VerifyContext<'_>,
    basis: &mut Basis,
) -> Examined {
    let mut verdict = FileVerdict::of(file);
    let of = |verdict| Examined { verdict, findings: Vec::new(), held: Held::Nothing };
    match &file.content {
        Content::Absent => {
            verdict.verdict = Verdict::Absent;
            verdict.at_next_start = match file.file {
                Some(StateFile::Cpu | StateFile::Memory) => NextStart::StartsAnew.into(),
                _ => NextStart::StartsWithNothing.into(),
            };
            of(verdict)
        }
        _ if !matches!(file.content, Content::Stored(_))
            && file.file.is_some_and(|kind| known.unread.contains(&kind)) =>
        {
            verdict.verdict = Verdict::Unused;
            let is_removed = file.file.is_some_and(|kind| known.removed.contains(&kind));
            verdict.at_next_start = match is_removed {
                true => NextStart::IsRemoved.into(),
                false => NextStart::DoesNotRead.into(),
            };
            of(verdict)
        }
        Content::Unreadable(reason) => {
            verdict.verdict = Verdict::Unreadable;
            verdict.at_next_start = NextStart::Unknown.into();
            verdict.derivation.push(reason.clone());
            of(verdict)
        }
        Content::Unrecorded => {
            verdict.verdict = Verdict::Unrecorded;
            verdict.at_next_start = NextStart::Unknown.into();
            verdict.derivation.push("is not in the snapshot".to_owned());
            of(verdict)
        }
        Content::Stored(fact) => devices::examine_stored(file, fact, known),
        Content::Bytes(bytes) => match file.file {
            Some(StateFile::Devices) => devices::examine(file, bytes, known),
            Some(StateFile::Cpu) => cpu::examine(file, bytes, known, basis),
            Some(StateFile::Memory) => memory::examine(file, bytes, known, basis),
            Some(StateFile::Dra) => claims::examine(file, bytes),
            Some(
                kind @ (StateFile::AllocatedPods | StateFile::ActuatedPods | StateFile::PodStatus),
            ) => pods::examine(file, kind, bytes, known),
            None => {
                verdict.verdict = Verdict::Unrecognised;
                verdict.at_next_start = NextStart::Unknown.into();
                verdict.derivation.push(match is_of_dra_driver(bytes) {
                    true => of_dra_driver(&file.folder),
                    false => "neither its name nor its content shows which of the kubelet's files \
                              it is: set it with --kind"
                        .to_owned(),
                });
                of(verdict)
            }
        },
    }
}

/// Returns whose file the checkpoint of a DRA driver is. Drivers keep it in their folder below `plugins`.
fn of_dra_driver(folder: &str) -> String {
    let mut parts = folder.rsplit('/');
    let driver = match (parts.next(), parts.next()) {
        (Some(driver), Some("plugins")) if !driver.is_empty() => format!("of the driver {driver}"),
        _ => "of a DRA driver".to_owned(),
    };
    format!(
        "it is not the kubelet's: it is the checkpoint {driver}, with the claims that it has prepared, and the driver alone \
         reads it; the kubelet's own record of claims is {}",
        StateFile::Dra.name()
    )
}

/// Returns the policy that a file is held against: the configured one. Where that is not known it is that of
/// the file, or the default one when no kubelet has the file's; the kubelet of a machine may have another one.
pub(super) fn policy_for<'p>(
    field: &str,
    configured: Option<&'p str>,
    of_file: Option<&str>,
    known: [&'p str; 2],
    (is_of_machine, basis): (bool, &mut Basis),
) -> Option<&'p str> {
    if configured.is_some() {
        return configured;
    }
    let unknown = "the kubelet's configuration is not known (--kubelet-config FILE)";
    let stranger = of_file.filter(|name| !known.contains(name));
    let (taken, text) = match stranger {
        None => (None, format!("{field} is the one of the file: {unknown}")),
        Some(name) => {
            let (default, name) = (known[0], quote(name));
            let why = format!("no kubelet has the policy {name} of the file, and {unknown}");
            (Some(default), format!("{field} is {default}, the default: {why}"))
        }
    };
    if is_of_machine {
        let text = format!("{field} of the node: {unknown}");
        basis.lack(Missing::new(MissingFact::KubeletConfig, text).about(field));
    } else if !basis.assumptions.iter().any(|it| it.text == text) {
        basis.assume(text);
    }
    taken
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "OK",
            Self::Contradicts => "CONTRADICTS",
            Self::Absent => "ABSENT",
            Self::Unused => "UNUSED",
            Self::Discarded => "DISCARDED",
            Self::Refused => "REFUSED",
            Self::Unknown => "UNKNOWN",
            Self::Unreadable => "UNREADABLE",
            Self::Unrecognised => "UNRECOGNISED",
            Self::Unrecorded => "UNRECORDED",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum NextStart {
    /// It takes the file.
    #[text("takes it")]
    Takes,
    /// It does not start.
    #[text("does not start")]
    DoesNotStart,
    /// It panics.
    #[text("does not start: it panics")]
    Panics,
    /// It panics, because the table of an amount of memory is null.
    #[text("does not start: it panics, because {memory_type} of NUMA node {node} is null")]
    PanicsAtNull {
        /// `memory`, or a size of huge pages.
        memory_type: String,
        /// The NUMA node.
        node: i64,
    },
    /// There is no file, and it writes one at its start (`restoreState`).
    #[text("starts with nothing, and writes it")]
    StartsAnew,
    /// There is no file, and it writes one later.
    #[text("starts with nothing, and writes it when there is something to remember")]
    StartsWithNothing,
    /// There is no device checkpoint.
    #[text("starts with nothing")]
    StartsWithoutDevices,
    /// It starts as if there were no device checkpoint.
    #[text(
        "logs that device allocation info may not be up to date, and starts with no allocations; \
         the next write replaces the file"
    )]
    ForgetsDevices,
    /// It starts if the runtime still has the containers of the file.
    #[text("depends on whether the runtime still has the containers of this file of layout v1")]
    DependsOnContainers,
    /// It starts with the gate PodLevelResourceManagers only.
    #[text("starts only with the gate PodLevelResourceManagers, with which the file was written")]
    DependsOnGate,
    /// A newer kubelet wrote the file.
    #[text("is not known: the file has a newer layout than kq knows")]
    NewerLayout,
    /// Whether it starts depends on the random order of the allocations.
    #[text("depends on the order in which it goes through the allocations, which is random")]
    DependsOnOrder,
    /// It compares the file with the machine, of which something is not known.
    #[text("takes it or does not start: {fact} are not known")]
    DependsOnFact {
        /// What is not known, in the plural.
        fact: &'static str,
    },
    /// kq does not know kubelets of this version.
    #[text("is not known: kq knows kubelets {oldest} to {newest}")]
    OtherVersion {
        /// The first known version.
        oldest: String,
        /// The last known version.
        newest: String,
    },
    /// It does not read the file: it has another version, or a feature gate is off.
    #[text("does not read it in this version and with these feature gates")]
    DoesNotRead,
    /// Its unit removes the file before each start (`ExecStartPre=`).
    #[text("does not read it: its unit removes it before each start (ExecStartPre=)")]
    IsRemoved,
    /// It does not read the file, which is of Kubernetes 1.32.
    #[text("does not read it: only a kubelet 1.32 does")]
    Ignores,
    #[text("is not known")]
    Unknown,
}

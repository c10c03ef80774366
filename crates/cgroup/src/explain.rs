//! The meaning of a value in a kernel file, and the requests or limits that lead to it.
//!
//! Pure. The inverse of [`cpu`](crate::cpu) and [`files`](crate::files), found by
//! searching those very functions, so that it is exact. Rules as in Kubernetes 1.36.

mod cpu;
mod error;
mod memory;
mod place;
mod process;
mod protection;

pub use error::ExplainError;
pub use place::Level;

use crate::files::{CgroupDriver, CgroupVersion};
use kq_answer::{Basis, answer};
use kq_facts::cgroup_file::{CgroupFile, FileUse};
use kq_facts::cgroup_value::Value;
use kq_k8s::qos::QosClass;
use place::{Place, Unit};
use serde::Serialize;
use std::fmt;

/// Returns the names of the files that can be explained, by controller and version of cgroups; `SIZE` stands
/// for a page size such as `2MB`.
pub fn known_files() -> Vec<&'static str> {
    let mut names = Vec::new();
    for of_controller in
        CgroupFile::ALL.chunk_by(|one, next| one.row().controller == next.row().controller)
    {
        for version in [CgroupVersion::V2, CgroupVersion::V1] {
            let explained = of_controller.iter().filter(|file| file.row().purpose.is_some());
            for name in explained.filter_map(|file| file.name_on(version)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

/// What a value in a file means and where it can come from.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The name of the file.
    pub file: String,
    /// The value, without blanks around it.
    pub value: String,
    /// The version of cgroups that has this file; null: both have it, or neither.
    pub cgroup_version: Option<CgroupVersion>,
    /// The cgroup that the file belongs to; null, and left out, without a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// What the file is for.
    pub purpose: &'static str,
    /// What this value means.
    pub meaning: String,
    /// The ways in which the kubelet or a runtime can arrive at this value.
    pub formulas: Vec<Candidate>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("CgroupExplanation", Explanation);

/// One way to arrive at a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The program that computes it so.
    pub writer: &'static str,
    /// The name of the formula, or of the rule.
    pub formula: &'static str,
    /// Whether this way can give this value at all.
    pub possible: bool,
    /// The amounts that give exactly this value, from the nearest to the farthest; empty when the
    /// rule needs no amount, or is impossible.
    pub from: Vec<Origin>,
}

/// A range of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// What the amount is of.
    pub source: Source,
    /// The smallest amount, in the unit of the source.
    pub from: i64,
    /// The largest amount; null: there is none.
    pub to: Option<i64>,
}

/// What an amount is of; it implies the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// CPU shares.
    Shares,
    /// A CPU request, in thousandths of a CPU.
    RequestsMilliCpu,
    /// A CPU limit, in thousandths of a CPU.
    LimitsMilliCpu,
    /// A quota as it was asked of systemd, in microseconds per period.
    AskedQuotaUs,
    RequestsMemoryBytes,
    LimitsMemoryBytes,
    /// The memory of `systemReserved` or `kubeReserved`, in bytes.
    ReservedMemoryBytes,
    /// A huge page request or limit, in bytes.
    HugepagesBytes,
    /// The memory request in whole thousandths of the machine's memory, cut.
    RequestPerMilleOfCapacity,
    /// `podPidsLimit` of the kubelet.
    PodPidsLimit,
    /// `cpuCFSQuotaPeriod` of the kubelet, in microseconds.
    CfsQuotaPeriodUs,
}

impl Candidate {
    fn rule(writer: &'static str, formula: &'static str, from: Vec<Origin>) -> Self {
        Self { writer, formula, possible: true, from }
    }

    /// Returns a formula that gives the value only where there is a range to give it from.
    fn inverse(writer: &'static str, formula: &'static str, from: Vec<Origin>) -> Self {
        Self { writer, formula, possible: !from.is_empty(), from }
    }
}

impl Origin {
    fn closed(source: Source, from: i64, to: i64) -> Self {
        Self { source, from, to: Some(to) }
    }

    /// Returns whether the amount is in the range.
    pub fn contains(&self, amount: i64) -> bool {
        self.from <= amount && self.to.is_none_or(|to| amount <= to)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Shares => "shares",
            Self::RequestsMilliCpu => "requests.cpu",
            Self::LimitsMilliCpu => "limits.cpu",
            Self::AskedQuotaUs => "asked quota",
            Self::RequestsMemoryBytes => "requests.memory",
            Self::LimitsMemoryBytes => "limits.memory",
            Self::ReservedMemoryBytes => "reserved memory",
            Self::HugepagesBytes => "hugepages",
            Self::RequestPerMilleOfCapacity => "1000*requests.memory/capacity",
            Self::PodPidsLimit => "podPidsLimit",
            Self::CfsQuotaPeriodUs => "cpuCFSQuotaPeriod",
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.source {
            Source::RequestsMilliCpu | Source::LimitsMilliCpu => "m",
            Source::AskedQuotaUs | Source::CfsQuotaPeriodUs => "us",
            _ => "",
        };
        write!(f, "{} {}{unit}", self.source, self.from)?;
        match self.to {
            None => f.write_str(" or more"),
            Some(to) if to == self.from => Ok(()),
            Some(to) => write!(f, "..{to}{unit}"),
        }
    }
}

impl Explanation {
    /// Returns the explanation as lines for a reader.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{} {}: {}", self.file, self.value, self.meaning),
            format!("{}: {}", self.file, self.purpose),
        ];
        lines.extend(self.level.map(|level| format!("level: {level}")));
        for candidate in &self.formulas {
            let from: Vec<String> = candidate.from.iter().map(Origin::to_string).collect();
            lines.push(match (candidate.possible, from.is_empty()) {
                (false, _) => format!("{}: impossible ({})", candidate.formula, candidate.writer),
                (true, true) => format!("{} ({})", candidate.formula, candidate.writer),
                (true, false) => {
                    format!("{}: {} ({})", candidate.formula, from.join(" <- "), candidate.writer)
                }
            });
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        lines
    }
}

struct Question<'a> {
    file: &'a str,
    known: CgroupFile,
    value: &'a str,
    place: Option<Place>,
    /// The unit of systemd whose path it is, without pods.
    unit: Option<Unit>,
}

impl Question<'_> {
    fn bad_value(&self, expected: &'static str) -> ExplainError {
        ExplainError::BadValue {
            file: self.file.to_owned(),
            value: self.value.to_owned(),
            expected,
        }
    }

    /// Reads a whole number in a range; digits only, after at most one `-`.
    fn number(&self, from: i64, to: i64, expected: &'static str) -> Result<i64, ExplainError> {
        Some(self.value)
            .filter(|text| !text.starts_with('+'))
            .and_then(|text| text.parse().ok())
            .filter(|number| (from..=to).contains(number))
            .ok_or_else(|| self.bad_value(expected))
    }

    fn may_be(&self, levels: &[Level]) -> bool {
        self.place.is_none_or(|place| levels.contains(&place.level))
    }

    /// Returns whether the file can be that of a pod, a container or a parent of this class.
    fn may_be_of(&self, class: QosClass) -> bool {
        self.place.and_then(|place| place.class).is_none_or(|known| known == class)
    }

    fn may_be_made_by(&self, driver: CgroupDriver) -> bool {
        self.place.is_none_or(|place| place.driver == driver)
    }

    /// Returns the writers: the given ones, or the one that the path shows.
    fn writer(&self, without_place: &'static str) -> &'static str {
        match self.place.map(|place| place.level) {
            None => without_place,
            Some(Level::Container) => "container runtime",
            Some(_) => "kubelet",
        }
    }

    /// Returns the version of cgroups that alone has this file.
    fn version(&self) -> Option<CgroupVersion> {
        self.known.only_on(self.file)
    }

    fn explanation(&self, meaning: impl Into<String>) -> Explanation {
        Explanation {
            file: self.file.to_owned(),
            value: self.value.to_owned(),
            cgroup_version: self.version(),
            level: self.place.map(|place| place.level),
            purpose: self.known.row().purpose.unwrap_or_default(),
            meaning: meaning.into(),
            formulas: Vec::new(),
            notes: Vec::new(),
            basis: Basis::default(),
        }
    }
}

/// Explains a value of a kernel file; a path to the file is better than its name if it shows
/// the level of the cgroup.
/// Fails for a file that is not in [`known_files`], and for a value that such a file cannot hold.
pub fn explain(file: &str, value: &str) -> Result<Explanation, ExplainError> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let known = CgroupFile::named(name).filter(|known| known.row().purpose.is_some());
    let known = known.ok_or_else(|| ExplainError::of_file(file, name))?;
    let place = match known.row().used_for {
        FileUse::OfProcess => None,
        _ => Place::of_file(file),
    };
    let unit = Unit::of_file(file).filter(|_| place.is_none());
    let question = Question { file: name, known, value: value.trim(), place, unit };
    let mut out = match known {
        CgroupFile::CpuWeight => cpu::weight(&question),
        CgroupFile::CpuShares => cpu::shares(&question),
        CgroupFile::CpuMax => cpu::max(&question),
        CgroupFile::CpuCfsQuota => cpu::cfs_quota(&question),
        CgroupFile::CpuCfsPeriod => cpu::cfs_period(&question),
        CgroupFile::CpusetCpus | CgroupFile::CpusetMems => process::cpuset(&question),
        CgroupFile::MemoryMax => memory::limit(&question),
        CgroupFile::MemoryMin | CgroupFile::MemoryLow => protection::protection(&question),
        CgroupFile::MemoryHigh => protection::throttling(&question),
        CgroupFile::MemorySwapMax | CgroupFile::MemoryMemswLimit => memory::swap(&question),
        CgroupFile::MemoryOomGroup => process::oom_group(&question),
        CgroupFile::PidsMax => process::pids(&question),
        CgroupFile::OomScoreAdj => process::oom_score_adj(&question),
        CgroupFile::HugetlbMax | CgroupFile::HugetlbRsvdMax => match memory::page_size(&question) {
            Some(page) => memory::hugetlb(&question, page),
            None => Err(ExplainError::of_file(file, name)),
        },
        _ => by_row(&question),
    }?;
    if out.level.is_some() && out.formulas.is_empty() {
        let note = "neither the kubelet nor a container runtime writes this at this level; it was written by another \
                    program or by hand";
        out.notes.push(match question.may_be_made_by(CgroupDriver::Systemd) {
            true => format!("{note}, or systemd has it: systemctl show UNIT"),
            false => note.to_owned(),
        });
    }
    Ok(out)
}

fn by_row(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let meaning = match question.known.value(question.value) {
        Value::Unlimited => "no limit".to_owned(),
        Value::Number(bytes) if question.known.is_bytes() => {
            i64::try_from(bytes).map_or_else(|_| bytes.to_string(), memory::quantity)
        }
        Value::Other => return Err(question.bad_value("a text as the kernel shows it")),
        Value::Number(_) | Value::Quota { .. } | Value::Set(_) => question.value.to_owned(),
    };
    let mut out = question.explanation(meaning);
    if question.known.row().untouched == Some(question.value) {
        out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests;

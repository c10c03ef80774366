//! Explains limits of processes, CPU sets and OOM scores.

use super::memory::RESERVED;
use super::place::Unit;
use super::{Candidate, ExplainError, Explanation, Level, Origin, Question, Source};
use crate::files::CgroupDriver;
use kq_facts::cgroup_file::CgroupFile;

/// What systemd writes into each scope that it makes (systemd-system.conf(5)).
const TASKS_MAX: &str = "TasksMax of the scope, by default DefaultTasksMax: 15% of the smallest of kernel.pid_max, \
                         kernel.threads-max and the pids.max of the root";

/// As [`TASKS_MAX`], of a service or a scope that no container runtime makes.
const TASKS_MAX_OF_UNIT: &str = "TasksMax of the unit, by default DefaultTasksMax: 15% of the smallest of kernel.pid_max, \
                                 kernel.threads-max and the pids.max of the root";

/// Returns the usual limits of processes of which systemd's share is this number.
fn task_limits(limit: i64) -> impl Iterator<Item = i64> {
    [32_768, 49_152, 65_536, 131_072, 262_144, 4_194_304]
        .into_iter()
        .filter(move |whole| whole * 15 / 100 == limit)
}

pub(super) fn pids(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    if let Some(unit) = question.unit {
        return pids_of_unit(question, unit);
    }
    if question.value == "max" {
        let mut out = question.explanation("no limit but those further up");
        let (writer, rule) = match question.place.map(|place| place.level) {
            None => ("kubelet", "podPidsLimit is -1, its default, or this is a container"),
            Some(Level::Pod) => ("kubelet", "podPidsLimit is -1, its default"),
            Some(_) => ("kernel", "nothing was written"),
        };
        out.formulas.push(Candidate::rule(writer, rule, Vec::new()));
        return Ok(out);
    }
    let limit = question.number(0, i64::MAX, "a whole number, or max")?;
    let mut out = question.explanation(format!("at most {limit}"));
    if limit > 0 && question.may_be(&[Level::Pod]) {
        let from = vec![Origin::closed(Source::PodPidsLimit, limit, limit)];
        out.formulas.push(Candidate::rule("kubelet for pods", "podPidsLimit", from));
    }
    if limit > 0 && question.may_be(&[Level::Kubepods]) {
        out.formulas.push(Candidate::rule(
            "kubelet for kubepods",
            "the node's limit of processes less the pid of kubeReserved and systemReserved",
            Vec::new(),
        ));
    }
    if limit > 0 && question.place.is_none() {
        out.formulas.push(Candidate::rule("kubelet", RESERVED, Vec::new()));
    }
    if question.may_be(&[Level::Container]) {
        if question.may_be_made_by(CgroupDriver::Systemd) {
            out.formulas.push(Candidate::rule("systemd for scopes", TASKS_MAX, Vec::new()));
            out.notes.extend(share_of_usual(limit));
        }
        out.formulas.push(Candidate::rule("CRI-O", "pids_limit of crio.conf", Vec::new()));
    }
    match limit {
        0 => out.notes.push("the kubelet writes 1 instead of 0; written by hand".to_owned()),
        1 => out.notes.push("1 is also written where the limit works out to 0".to_owned()),
        _ => {}
    }
    Ok(out)
}

/// Explains the limit of a unit of systemd above which no pods are: that of a service, of a scope, of a slice. A slice has no
/// default (systemd.resource-control(5), systemd-system.conf(5)); those of users have one in `user-.slice.d/10-defaults.conf`.
fn pids_of_unit(question: &Question<'_>, unit: Unit) -> Result<Explanation, ExplainError> {
    const WRITER: &str = "systemd";
    let rule = |rule| Candidate::rule(WRITER, rule, Vec::new());
    if question.value == "max" {
        let mut out = question.explanation("no limit but those further up");
        out.formulas.push(rule(match unit {
            Unit::Slice => "the slice has no TasksMax, and no default",
            Unit::Service => {
                "TasksMax=infinity, as the services of kubelets and container runtimes have it"
            }
            Unit::UserSlice => "TasksMax=infinity",
        }));
        return Ok(out);
    }
    let limit = question.number(0, i64::MAX, "a whole number, or max")?;
    let mut out = question.explanation(format!("at most {limit}"));
    match unit {
        Unit::Service => {
            out.formulas.push(rule(TASKS_MAX_OF_UNIT));
            out.notes.extend(share_of_usual(limit));
        }
        Unit::Slice => out.formulas.push(rule("TasksMax of the slice, which has no default")),
        Unit::UserSlice => {
            out.formulas.push(rule("TasksMax of user-.slice.d/10-defaults.conf: 33% of the smallest of kernel.pid_max, kernel.threads-max and the pids.max of the root"));
        }
    }
    if limit > 0 && unit == Unit::Slice {
        out.formulas.push(Candidate::rule("kubelet", RESERVED, Vec::new()));
    }
    Ok(out)
}

/// Says of which usual limit a number is systemd's share.
fn share_of_usual(limit: i64) -> impl Iterator<Item = String> {
    task_limits(limit).map(move |whole| {
        format!("{limit} is 15% of {whole}, a usual kernel.pid_max or kernel.threads-max")
    })
}

pub(super) fn oom_group(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let (meaning, rule) = match question.number(0, 1, "0 or 1")? {
        0 => ("a single process is killed", "singleProcessOOMKill is true, or not a container"),
        _ => ("all its processes are killed together", "singleProcessOOMKill is false or not set"),
    };
    let mut out = question.explanation(meaning);
    let elsewhere = !question.may_be(&[Level::Container]);
    if elsewhere && question.value == "0" {
        out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
    } else if !elsewhere {
        let writer = "container runtime, as the kubelet asks";
        out.formulas.push(Candidate::rule(writer, rule, Vec::new()));
    }
    Ok(out)
}

pub(super) fn cpuset(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let count = count_ids(question.value)
        .ok_or_else(|| question.bad_value("a list of numbers and ranges, such as 0-3,8"))?;
    let of_cpus = question.known == CgroupFile::CpusetCpus;
    let (unit, writer, rule) = if of_cpus {
        (
            "CPUs",
            "kubelet (CPU manager)",
            "policy static: exclusive CPUs for whole-CPU Guaranteed containers, the shared rest for \
             the others; otherwise all CPUs",
        )
    } else {
        (
            "NUMA nodes",
            "kubelet (memory manager)",
            "policy Static: the NUMA nodes reserved for a Guaranteed container",
        )
    };
    let meaning = match count {
        0 => "the same as the cgroup above".to_owned(),
        1 => format!("one of the {unit}"),
        _ => format!("{count} {unit}"),
    };
    let mut out = question.explanation(meaning);
    if count > 0 {
        if question.may_be(&[Level::Container]) {
            out.formulas.push(Candidate::rule(writer, rule, Vec::new()));
        } else if of_cpus && question.may_be(&[Level::Kubepods]) {
            let rule = "all CPUs, unless the CPU manager's policy is static";
            out.formulas.push(Candidate::rule("kubelet", rule, Vec::new()));
        }
        if of_cpus && question.place.is_none() {
            let rule = "kubepods, and an enforced systemReservedCgroup or kubeReservedCgroup: all CPUs, unless the CPU \
                        manager's policy is static";
            out.formulas.push(Candidate::rule("kubelet", rule, Vec::new()));
        }
    } else {
        out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
    }
    Ok(out)
}

/// Counts the numbers of a list such as `0-3,8`; `None` when it is not one.
fn count_ids(text: &str) -> Option<u64> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
    if text.is_empty() {
        return Some(0);
    }
    let (mut count, mut next) = (0, 0);
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (u64::from(number(from)?), u64::from(number(to)?));
        // The kernel shows the list in order and without overlap.
        if from > to || from < next {
            return None;
        }
        count += to - from + 1;
        next = to + 1;
    }
    Some(count)
}

/// Explains `oom_score_adj`, a file of a process.
///
/// `GetContainerOOMScoreAdjust` in `pkg/kubelet/qos/policy.go`: a Burstable container gets
/// 1000 - 1000*request/capacity, with whole numbers, at least 3 and at most 999.
pub(super) fn oom_score_adj(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let score = question.number(-1000, 1000, "a whole number from -1000 to 1000")?;
    let meaning = match score {
        -1000 => "never killed",
        -999..=-997 => "killed only when nothing else is left",
        1000 => "killed first",
        0 => "no preference",
        ..0 => "killed later than others of its size",
        _ => "killed earlier than others of its size",
    };
    let mut out = question.explanation(meaning);
    let per_mille = |from, to| vec![Origin { source: Source::RequestPerMilleOfCapacity, from, to }];
    let rule = match score {
        -1000 => Some(("system daemons", "set by the service itself", Vec::new())),
        -999 => Some(("kubelet, container runtime", "daemons of the node", Vec::new())),
        -998 => Some(("container runtime", "pod sandbox (pause)", Vec::new())),
        -997 => Some(("kubelet", "Guaranteed, or priority class system-node-critical", Vec::new())),
        0 => Some(("kernel", "nothing was written", Vec::new())),
        3 => Some(("kubelet", "Burstable, at the lower bound", per_mille(997, None))),
        4..=998 => Some(("kubelet", "Burstable", per_mille(1000 - score, Some(1000 - score)))),
        999 => Some(("kubelet", "Burstable, at the upper bound", per_mille(0, Some(1)))),
        1000 => Some(("kubelet", "BestEffort", Vec::new())),
        _ => None,
    };
    match rule {
        Some((writer, rule, from)) => out.formulas.push(Candidate::rule(writer, rule, from)),
        None => out.notes.push("neither kubelet nor runtime writes this for a pod".to_owned()),
    }
    if (3..=999).contains(&score) {
        out.notes.push(
            "capacity is the machine's memory, not allocatable; a sidecar takes the lower score of \
             its own request and of the smallest request of the regular containers; pod-level \
             requests are spread over the containers"
                .to_owned(),
        );
        if score < 999 {
            let (from, below) = (1000 - score, 1001 - score);
            out.notes.push(match score {
                3 => "requests.memory is at least 99.7% of capacity".to_owned(),
                _ => format!(
                    "requests.memory is at least {} and below {} of capacity",
                    percent(from),
                    percent(below)
                ),
            });
        } else {
            out.notes.push("requests.memory is below 0.2% of capacity, or not set".to_owned());
        }
    }
    Ok(out)
}

fn percent(per_mille: i64) -> String {
    format!("{}.{}%", per_mille / 10, per_mille % 10)
}

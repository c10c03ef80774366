//! Explains limits of memory, swap and huge pages.

use super::{Candidate, ExplainError, Explanation, Level, Origin, Question, Source};
use crate::files::{CgroupVersion, UNBOUNDED_HUGEPAGES};
use kq_facts::cgroup_value::{Value, page_size_in};
use kq_k8s::qos::QosClass;
use kq_output::units::counted;

/// The page size of most machines; the kernel keeps whole pages.
pub(super) const PAGE_BYTES: i64 = 4096;

const KUBELET_RUNTIME: &str = "kubelet for pods and kubepods, container runtime for containers";
pub(super) const RESERVED: &str =
    "enforced systemReservedCgroup or kubeReservedCgroup: its reservation";
const BYTES: &str = "a whole number of bytes, or max";
const BYTES_V1: &str = "a whole number of bytes, or -1";

/// Reads an amount of bytes; `None` is unlimited.
pub(super) fn bytes(question: &Question<'_>) -> Result<Option<i64>, ExplainError> {
    let version = version_of(question);
    if question.value == question.known.no_limit(version) {
        return Ok(None);
    }
    let expected = match version {
        CgroupVersion::V1 => BYTES_V1,
        CgroupVersion::V2 => BYTES,
    };
    let amount = question.number(0, i64::MAX, expected)?;
    Ok(Some(amount).filter(|_| question.known.value(question.value) != Value::Unlimited))
}

fn version_of(question: &Question<'_>) -> CgroupVersion {
    question.version().unwrap_or(CgroupVersion::V2)
}

/// Returns the shortest exact text of an amount, as a quantity.
pub(super) fn quantity(bytes: i64) -> String {
    let mut shortest = bytes.to_string();
    for (base, suffixes) in
        [(1024, ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]), (1000, ["k", "M", "G", "T", "P", "E"])]
    {
        let mut amount = bytes;
        for suffix in suffixes {
            if amount == 0 || amount % base != 0 {
                break;
            }
            amount /= base;
            let text = format!("{amount}{suffix}");
            if text.len() < shortest.len() {
                shortest = text;
            }
        }
    }
    shortest
}

/// Returns the amounts that the kernel keeps as `bytes`, and adds what happens to part of a page.
pub(super) fn whole_pages(notes: &mut Vec<String>, source: Source, bytes: i64) -> Vec<Origin> {
    if bytes % PAGE_BYTES == 0 {
        return vec![Origin::closed(source, bytes, bytes.saturating_add(PAGE_BYTES - 1))];
    }
    let kept = bytes - bytes % PAGE_BYTES;
    notes.push(format!(
        "the kernel keeps whole pages of {PAGE_BYTES} bytes: it will show {kept}, so this can be \
         written but not read back"
    ));
    vec![Origin::closed(source, bytes, bytes)]
}

pub(super) fn limit(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let writer = question.writer(KUBELET_RUNTIME);
    let Some(bytes) = bytes(question)? else {
        let mut out = question.explanation("no limit of memory");
        if question.may_be(Level::PODS) {
            let rule = match question.place.map(|place| place.level) {
                None => "limits.memory is not set; for a pod: in some container",
                Some(Level::Pod) => "limits.memory is not set in some container",
                Some(_) => "limits.memory is not set",
            };
            out.formulas.push(Candidate::rule(writer, rule, Vec::new()));
        }
        out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
        return Ok(out);
    };
    let mut out = question.explanation(at_most(bytes));
    let from = whole_pages(&mut out.notes, Source::LimitsMemoryBytes, bytes);
    let level = question.place.map(|place| place.level);
    let (rule, from) = match level {
        None | Some(Level::Pod | Level::Container) => ("limit", from),
        Some(Level::Kubepods) => {
            ("the machine's memory less kubeReserved and systemReserved", Vec::new())
        }
        Some(Level::Burstable | Level::BestEffort) => (
            "gate QOSReserved: allocatable memory less the reserved part of the requests of better \
             classes",
            Vec::new(),
        ),
    };
    // The parent of the BestEffort pods can have a limit, they themselves have none.
    let best_effort = question.place.and_then(|place| place.class) == Some(QosClass::BestEffort);
    let possible = bytes != 0 && !(best_effort && level != Some(Level::BestEffort));
    let from = if possible { from } else { Vec::new() };
    out.formulas.push(Candidate { possible, ..Candidate::rule(writer, rule, from) });
    if level.is_none() {
        let whole = whole_pages(&mut Vec::new(), Source::ReservedMemoryBytes, bytes);
        out.formulas.push(Candidate::rule("kubelet", RESERVED, whole));
    }
    if possible && matches!(level, None | Some(Level::Pod)) {
        out.notes.push("the limit of a pod has its overhead on top (RuntimeClass)".to_owned());
    }
    match level {
        None => out.notes.push(
            "kubepods has the machine's memory less kubeReserved and systemReserved, without the \
             eviction threshold"
                .to_owned(),
        ),
        Some(Level::Kubepods) => {
            out.notes.push("the eviction threshold is not taken off".to_owned());
        }
        Some(_) if !possible && bytes != 0 => {
            out.notes.push("a BestEffort pod has no limits.memory".to_owned());
        }
        Some(_) => {}
    }
    if bytes == 0 {
        out.notes.push("the kubelet never writes 0: to it, 0 is no limit".to_owned());
    }
    Ok(out)
}

fn at_most(bytes: i64) -> String {
    format!("at most {} ({bytes} bytes)", quantity(bytes))
}

pub(super) fn swap(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let amount = bytes(question)?;
    let meaning = match amount {
        None => "no limit".to_owned(),
        Some(0) => "nothing at all".to_owned(),
        Some(bytes) => at_most(bytes),
    };
    let mut out = question.explanation(meaning);
    match (version_of(question), amount) {
        (_, None) => out.formulas.push(Candidate::rule(
            "kernel, kubelet",
            "nothing was written, or a memory limit was taken away (-1)",
            Vec::new(),
        )),
        (_, Some(_)) if !question.may_be(&[Level::Container]) => {}
        (CgroupVersion::V1, Some(bytes)) => {
            let from = whole_pages(&mut out.notes, Source::LimitsMemoryBytes, bytes);
            let rule = "equal to the memory limit: no swap";
            out.formulas.push(Candidate::rule("container runtime", rule, from));
        }
        (CgroupVersion::V2, Some(0)) => out.formulas.push(Candidate::rule(
            "container runtime",
            "swap is not for this container: NoSwap, not Burstable, critical, no memory request, or \
             request and limit are equal",
            Vec::new(),
        )),
        (CgroupVersion::V2, Some(_)) => out.formulas.push(Candidate::rule(
            "container runtime",
            "LimitedSwap: requests.memory / memory capacity * swap capacity",
            Vec::new(),
        )),
    }
    Ok(out)
}

pub(super) fn page_size(question: &Question<'_>) -> Option<i64> {
    let page = page_size_in(question.file).and_then(|page| i64::try_from(page).ok());
    page.filter(|page| *page > 0)
}

pub(super) fn hugetlb(question: &Question<'_>, page: i64) -> Result<Explanation, ExplainError> {
    let amount = bytes(question)?;
    let meaning = match amount {
        None => "no limit".to_owned(),
        Some(0) => "none may be used".to_owned(),
        Some(UNBOUNDED_HUGEPAGES) => "2^62 bytes, as good as no limit".to_owned(),
        Some(bytes) => {
            let whole = if bytes % page == 0 { "page" } else { "whole page" };
            format!(
                "{}: {}",
                quantity(bytes),
                counted(usize::try_from(bytes / page).unwrap_or(usize::MAX), whole)
            )
        }
    };
    let mut out = question.explanation(meaning);
    match amount {
        None => out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new())),
        Some(0) if question.may_be(Level::PODS) => out.formulas.push(Candidate::rule(
            question.writer("kubelet, container runtime"),
            "no container requests this page size: every unlisted size gets 0",
            Vec::new(),
        )),
        Some(UNBOUNDED_HUGEPAGES) if question.may_be(Level::PARENTS) => {
            out.formulas.push(Candidate::rule(
                "kubelet",
                "kubepods, burstable and besteffort: unbounded for every page size",
                Vec::new(),
            ));
        }
        Some(bytes) if question.may_be(Level::PODS) => {
            // The API server refuses part of a huge page.
            let from = vec![Origin::closed(Source::HugepagesBytes, bytes, bytes)];
            let rule = match question.place.map(|place| place.level) {
                None => "pods: sum of the requests; containers: the limit",
                Some(Level::Container) => "the limit",
                Some(_) => "sum of the requests",
            };
            let writer = question.writer("kubelet, container runtime");
            let possible = bytes % page == 0;
            let from = if possible { from } else { Vec::new() };
            out.formulas.push(Candidate { possible, ..Candidate::rule(writer, rule, from) });
        }
        Some(_) => {}
    }
    if amount.is_some_and(|bytes| bytes != UNBOUNDED_HUGEPAGES && bytes % page == 0)
        && question.may_be(&[Level::Kubepods])
    {
        out.formulas.push(Candidate::rule(
            "kubelet at its start, for kubepods",
            "the node's huge pages less the reserved ones; unbounded from the first update of the QoS classes on",
            Vec::new(),
        ));
    }
    if let Some(bytes) = amount.filter(|bytes| bytes % page != 0) {
        let kept = bytes - bytes % page;
        out.notes.push(format!(
            "the kernel keeps whole pages of {page} bytes: it will show {kept}, so this can be written but \
             not read back"
        ));
    }
    Ok(out)
}

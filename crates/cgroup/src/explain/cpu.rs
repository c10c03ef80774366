//! Explains weights, shares, quotas and periods, by exact inverses of the conversions: these are searched, being
//! monotone on ranges that end before 64-bit products wrap.

use super::{Candidate, ExplainError, Explanation, Level, Origin, Question, Source};
use crate::cpu::{
    DEFAULT_PERIOD_US, MIN_QUOTA_US, milli_cpu_to_quota, milli_cpu_to_shares, systemd_quota,
};
use crate::files::CgroupDriver;
use kq_facts::weight_formula::{MAX_SHARES, MAX_WEIGHT, MIN_SHARES, WeightFormula};
use kq_k8s::qos::QosClass;

const BY_HAND: &str = "this was written by systemd (CPUWeight=), by another program or by hand";
const SHARES_FROM: &str = "shares come from requests.cpu; a container without that request gets \
    them from limits.cpu, a pod from its overhead too, kubepods from the node's allocatable CPUs, and an enforced \
    systemReservedCgroup or kubeReservedCgroup from its reservation";

pub(super) fn weight(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let max = MAX_WEIGHT.cast_signed();
    let weight = question.number(0, max, "a whole number from 1 to 10000")?;
    let meaning = match weight {
        0 => "idle: runs only when nothing else wants to (cpu.idle is 1)".to_owned(),
        _ => format!("{weight} parts of the sum of its busy siblings' weights"),
    };
    let mut out = question.explanation(meaning);
    let level = question.place.map(|place| place.level);
    let linear = match level {
        None => {
            "kubelet for kubepods, QoS classes and pods; runc up to 1.3.1, crun before 1.23 and youki before \
             0.5.7 for containers"
        }
        Some(Level::Container) => "runc up to 1.3.1, crun before 1.23 and youki before 0.5.7",
        Some(_) => "kubelet",
    };
    let from = from_weight(question, WeightFormula::Linear, weight);
    out.formulas.push(Candidate::inverse(linear, "linear", from));
    if question.may_be(&[Level::Container]) {
        let writer = match level {
            None => "runc from 1.3.2, crun from 1.23 and youki from 0.5.7 on, for containers",
            Some(_) => "runc from 1.3.2, crun from 1.23 and youki from 0.5.7 on",
        };
        let from = from_weight(question, WeightFormula::Quadratic, weight);
        out.formulas.push(Candidate::inverse(writer, "quadratic", from));
    }
    match out.formulas.iter().filter(|candidate| candidate.possible).count() {
        0 if level.is_none() => {
            out.notes.push(format!("no formula gives this weight; {BY_HAND}"));
        }
        0 => out.notes.push(format!("nothing gives this weight at this level; {BY_HAND}")),
        1 if level.is_none() => out.notes.push(format!(
            "if the cgroup is not one that the possible formula is used for, {BY_HAND}"
        )),
        _ => {}
    }
    if weight == 100 {
        out.notes.push("100 is the kernel's initial value".to_owned());
    }
    out.notes.push(shares_from(question).to_owned());
    Ok(out)
}

fn from_weight(question: &Question<'_>, formula: WeightFormula, weight: i64) -> Vec<Origin> {
    let Some(shares) = shares_of_weight(formula, weight) else {
        return Vec::new();
    };
    let least = MIN_SHARES.cast_signed();
    if is_best_effort(question) {
        let only = Origin::closed(Source::Shares, least, least);
        return if shares.contains(least) { vec![only] } else { Vec::new() };
    }
    let requests = requests_of_shares(shares.from, shares.to.unwrap_or(shares.from));
    // Few shares at the low end are skipped by every request: then nothing in Kubernetes gives them.
    requests.map_or_else(Vec::new, |requests| vec![shares, requests])
}

/// Returns whether the path is that of BestEffort pods, which have no CPU requests or limits.
fn is_best_effort(question: &Question<'_>) -> bool {
    question.place.and_then(|place| place.class) == Some(QosClass::BestEffort)
}

fn shares_from(question: &Question<'_>) -> &'static str {
    match question.place.map(|place| place.level) {
        _ if is_best_effort(question) => "BestEffort always gets 2 shares",
        None => SHARES_FROM,
        Some(Level::Kubepods) => {
            "the shares of kubepods come from the node's allocatable CPUs, not from requests"
        }
        Some(Level::Burstable | Level::BestEffort) => {
            "the shares of a QoS class come from the sum of its pods' requests.cpu"
        }
        Some(Level::Pod) => {
            "the shares of a pod come from the requests.cpu of the whole pod and its overhead"
        }
        Some(Level::Container) => {
            "shares come from requests.cpu; a container without that request gets them from \
             limits.cpu"
        }
    }
}

pub(super) fn shares(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let (min, max) = (MIN_SHARES.cast_signed(), MAX_SHARES.cast_signed());
    let shares = question.number(min, max, "a whole number from 2 to 262144")?;
    let meaning = format!("{shares} parts of the sum of its busy siblings' shares");
    let mut out = question.explanation(meaning);
    let given = !is_best_effort(question) || shares == min;
    let from: Vec<Origin> =
        requests_of_shares(shares, shares).into_iter().filter(|_| given).collect();
    if from.is_empty() {
        out.notes.push("no request gives these shares; they were written by hand".to_owned());
    }
    out.formulas.push(Candidate::inverse(
        question.writer("kubelet, container runtime"),
        "shares",
        from,
    ));
    if shares == 1024 {
        out.notes.push("1024 is the kernel's initial value".to_owned());
    }
    out.notes.push(shares_from(question).to_owned());
    Ok(out)
}

pub(super) fn max(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    const EXPECTED: &str = "a quota of at least 1000 or max, and a period from 1000 to 1000000, \
        such as \"41700 100000\" or \"max 100000\"";
    let mut words = question.value.split_whitespace();
    let part = |word| Question { value: word, ..*question };
    let quota = words.next().ok_or_else(|| question.bad_value(EXPECTED))?;
    let given_period = words.next();
    if words.next().is_some() {
        return Err(question.bad_value(EXPECTED));
    }
    let bad = |_| question.bad_value(EXPECTED);
    let period_us = match given_period {
        Some(word) => part(word).number(1000, 1_000_000, EXPECTED).map_err(bad)?,
        None => DEFAULT_PERIOD_US,
    };
    let quota_us = match quota {
        "max" => None,
        word => Some(part(word).number(MIN_QUOTA_US, i64::MAX, EXPECTED).map_err(bad)?),
    };
    let mut out = quota_explanation(question, quota_us, period_us);
    if given_period.is_none() {
        out.notes.push("no period given: the default of 100000 us is assumed".to_owned());
    }
    Ok(out)
}

/// Explains `cpu.cfs_quota_us`, with the default period.
pub(super) fn cfs_quota(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    const EXPECTED: &str = "-1 or a whole number of at least 1000";
    let quota_us = match question.value {
        "-1" => None,
        _ => Some(question.number(MIN_QUOTA_US, i64::MAX, EXPECTED)?),
    };
    let mut out = quota_explanation(question, quota_us, DEFAULT_PERIOD_US);
    out.notes
        .push("the period is in cpu.cfs_period_us; the default of 100000 us is assumed".to_owned());
    Ok(out)
}

fn quota_explanation(
    question: &Question<'_>,
    quota_us: Option<i64>,
    period_us: i64,
) -> Explanation {
    let Some(quota_us) = quota_us else {
        let mut out = question.explanation("no limit of CPU time");
        no_quota(question, &mut out);
        return out;
    };
    let thousandths = i128::from(quota_us) * 1000;
    let period = i128::from(period_us);
    let about = if thousandths % period == 0 { "" } else { "a little more than " };
    let meaning =
        format!("{quota_us} us of CPU time every {period_us} us: {about}{}m", thousandths / period);
    let mut out = question.explanation(meaning);
    let plain = limits_of_quota(quota_us, period_us, false);
    let rounded = limits_of_quota(quota_us, period_us, true);
    let asked = rounded.and_then(|_| asked_of_quota(quota_us, period_us));
    let systemd: Vec<Origin> = asked.into_iter().chain(rounded).collect();
    if !has_quota(question, &mut out) {
        return out;
    }
    if plain.is_none() && systemd.is_empty() {
        out.notes.push("no limits.cpu gives this quota; it was written by hand".to_owned());
    }
    if question.may_be(&[Level::Pod]) {
        out.notes.push("the quota of a pod has its overhead on top (RuntimeClass)".to_owned());
    }
    if quota_us == MIN_QUOTA_US {
        out.notes.push("1000 us is the least that the kubelet writes for any limit".to_owned());
    }
    if question.may_be_made_by(CgroupDriver::Systemd)
        && systemd.is_empty()
        && let Some(limits) = plain
    {
        out.notes.push(format!(
            "systemd: the rounding is that of Kubernetes 1.34 and later, and of runtimes with \
             opencontainers/cgroups v0.0.2 or later; older ones first wrote the quota as it was \
             ({limits}), and it stays until systemd next applies its properties and rounds it"
        ));
    }
    let (cgroupfs, rounding) = match question.place.map(|place| place.level) {
        None => (
            "kubelet or runtime with the cgroupfs driver",
            "kubelet or runtime with the systemd driver, which rounds up to 1% of a CPU",
        ),
        Some(Level::Container) => (
            "container runtime with the cgroupfs driver",
            "container runtime with the systemd driver, which rounds up to 1% of a CPU",
        ),
        Some(_) => (
            "kubelet with the cgroupfs driver",
            "kubelet with the systemd driver, which rounds up to 1% of a CPU",
        ),
    };
    if question.may_be_made_by(CgroupDriver::Cgroupfs) {
        out.formulas.push(Candidate::inverse(cgroupfs, "cgroupfs", plain.into_iter().collect()));
    }
    if question.may_be_made_by(CgroupDriver::Systemd) {
        out.formulas.push(Candidate::inverse(rounding, "systemd", systemd));
    }
    out
}

/// Returns true if a quota is written there, and adds a note if not.
fn has_quota(question: &Question<'_>, out: &mut Explanation) -> bool {
    let why = match question.place.map(|place| place.level) {
        Some(Level::Burstable | Level::BestEffort) => "the kubelet gives a QoS class no quota",
        Some(Level::Kubepods) => "the kubelet gives kubepods no quota",
        Some(Level::Pod | Level::Container) if is_best_effort(question) => {
            "a BestEffort pod has no limits.cpu"
        }
        _ => return true,
    };
    out.notes.push(why.to_owned());
    false
}

fn no_quota(question: &Question<'_>, out: &mut Explanation) {
    if has_quota(question, out) {
        let writer = question.writer("kubelet, container runtime");
        let not_set = match question.place.map(|place| place.level) {
            None => "limits.cpu is not set; for a pod: in some container",
            Some(Level::Pod) => "limits.cpu is not set in some container",
            Some(_) => "limits.cpu is not set",
        };
        for (writer, rule) in [
            (writer, not_set),
            ("kubelet", "cpuCFSQuota is false"),
            ("kubelet", "exclusive CPUs, gate DisableCPUQuotaWithExclusiveCPUs"),
        ] {
            out.formulas.push(Candidate::rule(writer, rule, Vec::new()));
        }
    }
    out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
}

pub(super) fn cfs_period(question: &Question<'_>) -> Result<Explanation, ExplainError> {
    let period_us = question.number(1000, 1_000_000, "a whole number from 1000 to 1000000")?;
    let meaning = format!("the quota is refilled every {period_us} us");
    let mut out = question.explanation(meaning);
    if question.may_be(Level::PODS) {
        out.formulas.push(Candidate::rule(
            "kubelet",
            "cpuCFSQuotaPeriod",
            vec![Origin::closed(Source::CfsQuotaPeriodUs, period_us, period_us)],
        ));
    } else if period_us == DEFAULT_PERIOD_US {
        out.formulas.push(Candidate::rule("kernel", "nothing was written", Vec::new()));
    }
    if period_us == DEFAULT_PERIOD_US {
        out.notes.push(
            "100000 us is the default of the kernel and of the kubelet, and what it uses without \
             the gate CustomCPUCFSQuotaPeriod"
                .to_owned(),
        );
    }
    Ok(out)
}

/// Returns the smallest amount in `from..=to` for which `reached` holds, else `to + 1`.
///
/// `reached` must not change back from true to false.
fn first(mut from: i64, to: i64, reached: impl Fn(i64) -> bool) -> i64 {
    let mut end = to + 1;
    while from < end {
        let middle = from + (end - from) / 2;
        if reached(middle) { end = middle } else { from = middle + 1 }
    }
    from
}

/// Returns the range of `from..=to` on which a monotone function is between two values.
///
/// A range that reaches the end of what was searched has no upper end when `open`.
fn preimage(
    source: Source,
    (from, to): (i64, i64),
    open: bool,
    function: impl Fn(i64) -> i64,
    (low, high): (i64, i64),
) -> Option<Origin> {
    let start = first(from, to, |amount| function(amount) >= low);
    let end = first(from, to, |amount| function(amount) > high);
    (start < end).then(|| Origin {
        source,
        from: start,
        to: Some(end - 1).filter(|last| !open || *last < to),
    })
}

fn shares_of_weight(formula: WeightFormula, weight: i64) -> Option<Origin> {
    let searched = (MIN_SHARES.cast_signed(), MAX_SHARES.cast_signed());
    let function = |shares: i64| formula.weight(shares.cast_unsigned()).cast_signed();
    preimage(Source::Shares, searched, false, function, (weight, weight))
}

fn requests_of_shares(low: i64, high: i64) -> Option<Origin> {
    let searched = (0, i64::MAX / 1024);
    let function = |milli_cpu| milli_cpu_to_shares(milli_cpu).cast_signed();
    preimage(Source::RequestsMilliCpu, searched, true, function, (low, high))
}

/// Returns the CPU limits that become this quota; `period_us` is one that the kernel accepts.
fn limits_of_quota(quota_us: i64, period_us: i64, systemd: bool) -> Option<Origin> {
    // Twice below the point from which systemd's product with 1000000 would wrap.
    let searched = (1, i64::MAX / 2000 / period_us.max(1));
    let function = |milli_cpu| {
        let asked_us = milli_cpu_to_quota(milli_cpu, period_us, true);
        if systemd { systemd_quota(asked_us, period_us.cast_unsigned()) } else { asked_us }
    };
    preimage(Source::LimitsMilliCpu, searched, false, function, (quota_us, quota_us))
}

/// Returns the quotas that systemd turns into this one.
fn asked_of_quota(quota_us: i64, period_us: i64) -> Option<Origin> {
    let searched = (1, i64::MAX / 2_000_000);
    let function = |asked_us| systemd_quota(asked_us, period_us.cast_unsigned());
    preimage(Source::AskedQuotaUs, searched, false, function, (quota_us, quota_us))
}

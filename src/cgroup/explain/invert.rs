//! Exact inverses of the CPU conversions, by searching the conversions themselves.
//!
//! Pure. All of them are monotone on the ranges searched, which end before 64-bit products wrap.

use super::{Origin, Source};
use crate::cgroup::cpu::{
    MAX_SHARES, MIN_SHARES, WeightFormula, milli_cpu_to_quota, milli_cpu_to_shares, systemd_quota,
};

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

/// Returns the shares that a formula turns into this weight.
pub(super) fn shares_of_weight(formula: WeightFormula, weight: i64) -> Option<Origin> {
    let searched = (MIN_SHARES.cast_signed(), MAX_SHARES.cast_signed());
    let function = |shares: i64| formula.weight(shares.cast_unsigned()).cast_signed();
    preimage(Source::Shares, searched, false, function, (weight, weight))
}

/// Returns the CPU requests that become shares in this range.
pub(super) fn requests_of_shares(low: i64, high: i64) -> Option<Origin> {
    let searched = (0, i64::MAX / 1024);
    let function = |milli_cpu| milli_cpu_to_shares(milli_cpu).cast_signed();
    preimage(Source::RequestsMilliCpu, searched, true, function, (low, high))
}

/// Returns the CPU limits that become this quota; `period_us` is one that the kernel accepts.
pub(super) fn limits_of_quota(quota_us: i64, period_us: i64, systemd: bool) -> Option<Origin> {
    // Twice below the point from which systemd's product with 1000000 would wrap.
    let searched = (1, i64::MAX / 2000 / period_us.max(1));
    let function = |milli_cpu| {
        let asked_us = milli_cpu_to_quota(milli_cpu, period_us, true);
        if systemd { systemd_quota(asked_us, period_us.cast_unsigned()) } else { asked_us }
    };
    preimage(Source::LimitsMilliCpu, searched, false, function, (quota_us, quota_us))
}

/// Returns the quotas that systemd turns into this one.
pub(super) fn asked_of_quota(quota_us: i64, period_us: i64) -> Option<Origin> {
    let searched = (1, i64::MAX / 2_000_000);
    let function = |asked_us| systemd_quota(asked_us, period_us.cast_unsigned());
    preimage(Source::AskedQuotaUs, searched, false, function, (quota_us, quota_us))
}

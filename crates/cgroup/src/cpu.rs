//! CPU amounts in the four units of a node: milli-CPU, shares, weight, and quota per period.
//!
//! Pure. The kubelet's arithmetic is 64-bit and wraps silently; so does this. Read in Kubernetes
//! 1.36 (`pkg/kubelet/cm/helpers_linux.go`, `pkg/kubelet/cm/cgroup_manager_linux.go`) and
//! `opencontainers/cgroups` v0.0.6; pinned by `tests/vectors/cpu_convert.jsonl`.

use kq_facts::weight_formula::{MAX_SHARES, MIN_SHARES};

/// The smallest quota that the kernel accepts.
pub const MIN_QUOTA_US: i64 = 1000;
/// The period when nothing else is configured.
pub const DEFAULT_PERIOD_US: i64 = 100_000;

/// Returns the shares of a CPU request, as `MilliCPUToShares` in `helpers_linux.go` does.
pub fn milli_cpu_to_shares(milli_cpu: i64) -> u64 {
    if milli_cpu == 0 {
        return MIN_SHARES;
    }
    let shares = milli_cpu.wrapping_mul(1024) / 1000;
    u64::try_from(shares).map_or(MIN_SHARES, |shares| shares.clamp(MIN_SHARES, MAX_SHARES))
}

/// Returns the milli-CPU that shares stand for, as `SharesToMilliCPU` in `helpers_linux.go` does.
pub fn shares_to_milli_cpu(shares: u64) -> i64 {
    // The kubelet hands the unsigned number over as a signed one.
    let shares = shares.cast_signed();
    if shares < MIN_SHARES.cast_signed() {
        return 0;
    }
    (shares.wrapping_mul(1000) as f64 / 1024.0).ceil() as i64
}

/// Returns the quota of a CPU limit, as `MilliCPUToQuota` in `helpers_linux.go` does.
///
/// `custom_period` is the feature gate CustomCPUCFSQuotaPeriod; without it `period_us` is not looked
/// at and the default period counts. No limit (0) has no quota (0).
pub fn milli_cpu_to_quota(milli_cpu: i64, period_us: i64, custom_period: bool) -> i64 {
    if milli_cpu == 0 {
        return 0;
    }
    let period_us = if custom_period { period_us } else { DEFAULT_PERIOD_US };
    (milli_cpu.wrapping_mul(period_us) / 1000).max(MIN_QUOTA_US)
}

/// A quota with a period of zero, on which the kubelet panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("panic: runtime error: integer divide by zero")]
pub struct ZeroPeriod;

/// Returns the milli-CPU of a quota, as `QuotaToMilliCPU` in `helpers_linux.go` does.
/// Fails for a period of zero, unless the quota is unlimited (-1).
pub fn quota_to_milli_cpu(quota_us: i64, period_us: i64) -> Result<i64, ZeroPeriod> {
    match (quota_us, period_us) {
        (-1, _) => Ok(0),
        (_, 0) => Err(ZeroPeriod),
        _ => Ok(quota_us.wrapping_mul(1000).wrapping_div(period_us)),
    }
}

/// Returns the CPU time per second requested from systemd, in microseconds; `None` is no limit.
///
/// systemd counts in whole percent of a CPU, so `addCPUQuota` in `opencontainers/cgroups`
/// (`systemd/common.go`) rounds up to the next 10 ms per second before it asks. A period of 0 is the
/// default period.
pub fn systemd_quota_per_second(quota_us: i64, period_us: u64) -> Option<u64> {
    const STEP_US: u64 = 10_000;
    if quota_us <= 0 {
        return None;
    }
    let per_second_us =
        quota_us.wrapping_mul(1_000_000).cast_unsigned() / period_or_default(period_us);
    Some(match per_second_us % STEP_US {
        0 => per_second_us,
        _ => (per_second_us / STEP_US + 1).wrapping_mul(STEP_US),
    })
}

/// Returns the quota that systemd keeps of one that was asked for.
///
/// Where [`systemd_quota_per_second`] rounds, the cgroup file gets what follows from the rounded
/// number; the division by the period can then lose up to a microsecond.
pub fn systemd_quota(quota_us: i64, period_us: u64) -> i64 {
    let period_us = period_or_default(period_us);
    let exact_us = quota_us.wrapping_mul(1_000_000).cast_unsigned() / period_us;
    match systemd_quota_per_second(quota_us, period_us) {
        Some(kept_us) if kept_us != exact_us => {
            kept_us.cast_signed().wrapping_mul(period_us.cast_signed()) / 1_000_000
        }
        _ => quota_us,
    }
}

fn period_or_default(period_us: u64) -> u64 {
    if period_us == 0 { DEFAULT_PERIOD_US.cast_unsigned() } else { period_us }
}

/// Returns the shares of a weight, as the kubelet reads a weight back from `cpu.weight`.
///
/// `cpuWeightToCPUShares` in `pkg/kubelet/cm/cgroup_v2_manager_linux.go`: unsigned, so a weight of 0
/// wraps. It inverts the linear formula only.
pub fn weight_to_shares(weight: u64) -> u64 {
    (weight.wrapping_sub(1).wrapping_mul(262_142) / 9999).wrapping_add(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extremes_wrap_or_clamp_and_never_panic() {
        for milli_cpu in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            for period_us in [i64::MIN, -1, 0, 1, i64::MAX] {
                milli_cpu_to_quota(milli_cpu, period_us, true);
                let _ = quota_to_milli_cpu(milli_cpu, period_us);
                systemd_quota(milli_cpu, period_us.cast_unsigned());
            }
            let shares = milli_cpu_to_shares(milli_cpu);
            assert!((MIN_SHARES..=MAX_SHARES).contains(&shares), "{milli_cpu}");
        }
        for shares in [0, 1, 2, u64::MAX] {
            shares_to_milli_cpu(shares);
            weight_to_shares(shares);
        }
        assert_eq!(quota_to_milli_cpu(1000, 0), Err(ZeroPeriod));
        assert_eq!(quota_to_milli_cpu(-1, 0), Ok(0));
    }

    proptest! {
        #[test]
        fn systemd_only_raises_and_settles(
            quota_us in 1000_i64..100_000_000,
            period_us in 1000_u64..=1_000_000,
        ) {
            // Where the period is not a multiple of 100 us, cutting the product may end one below.
            let kept = systemd_quota(quota_us, period_us);
            prop_assert!(kept + 1 >= quota_us);
            prop_assert!(kept <= systemd_quota(quota_us + 1, period_us));
        }
    }
}

//! CPU amounts in the four units of a node: milli-CPU, shares, weight, and quota per period.
//!
//! Pure. The kubelet's arithmetic is 64-bit and wraps silently; so does this. Read in Kubernetes
//! 1.36 (`pkg/kubelet/cm/helpers_linux.go`, `pkg/kubelet/cm/cgroup_manager_linux.go`) and
//! `opencontainers/cgroups` v0.0.6; pinned by `tests/vectors/cpu_convert.jsonl`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The smallest number of shares that the kernel accepts.
pub const MIN_SHARES: u64 = 2;
/// The largest number of shares that the kernel accepts.
pub const MAX_SHARES: u64 = 262_144;
/// The smallest quota that the kernel accepts.
pub const MIN_QUOTA_US: i64 = 1000;
/// The period when nothing else is configured.
pub const DEFAULT_PERIOD_US: i64 = 100_000;
/// The weight that stands for [`MAX_SHARES`] and more.
pub const MAX_WEIGHT: u64 = 10_000;

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
///
/// # Errors
///
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

/// How shares become a cgroup v2 weight.
///
/// The kubelet writes its own cgroups (kubepods, QoS classes, pods) with the linear formula. What a
/// container gets is decided by the container runtime.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    schemars::JsonSchema,
    Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum WeightFormula {
    /// Shares 2..262144 on a straight line to weights 1..10000; 1024 shares are weight 39.
    Linear,
    /// A curve through the minimum, the default (1024 shares are weight 100) and the maximum.
    Quadratic,
}

impl WeightFormula {
    /// Returns the other formula.
    pub fn other(self) -> Self {
        match self {
            Self::Linear => Self::Quadratic,
            Self::Quadratic => Self::Linear,
        }
    }

    /// Both formulas.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Quadratic];

    /// Returns the weight of shares.
    ///
    /// Linear is `getCPUWeight` in `pkg/kubelet/cm/cgroup_manager_linux.go`; quadratic is
    /// `ConvertCPUSharesToCgroupV2Value` in `opencontainers/cgroups` (`utils.go`), in the same
    /// floats.
    pub fn weight(self, shares: u64) -> u64 {
        match self {
            _ if shares >= MAX_SHARES => MAX_WEIGHT,
            Self::Linear => (shares.wrapping_sub(2).wrapping_mul(9999) / 262_142).wrapping_add(1),
            Self::Quadratic if shares == 0 => 0,
            Self::Quadratic if shares <= MIN_SHARES => 1,
            Self::Quadratic => {
                let l = (shares as f64).log2();
                let exponent = (l * l + 125.0 * l) / 612.0 - 7.0 / 34.0;
                10_f64.powf(exponent).ceil() as u64
            }
        }
    }

    /// Returns the formula that a container runtime uses; `None` when that is not known.
    ///
    /// | runtime | linear      | quadratic        |
    /// |---------|-------------|------------------|
    /// | runc    | up to 1.3.1 | 1.3.2 and later  |
    /// | crun    | before 1.23 | 1.23 and later   |
    pub fn of_runtime(name: &str, version: &str) -> Option<Self> {
        let first_quadratic = match name {
            "runc" => [1, 3, 2],
            "crun" => [1, 23, 0],
            _ => return None,
        };
        let version = version_numbers(version)?;
        Some(if version < first_quadratic { Self::Linear } else { Self::Quadratic })
    }
}

/// Returns true if a runtime writes `hugetlb.SIZE.rsvd.*` with the limit of huge pages: runc does from
/// 1.1.10 on.
pub fn limits_reservations(name: &str, version: &str) -> bool {
    name != "runc" || version_numbers(version).is_none_or(|version| version >= [1, 1, 10])
}

/// Reads `1.3.2`, `v1.4.0-rc.1` or `1.23`; the rest is ignored.
fn version_numbers(text: &str) -> Option<[u32; 3]> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = [0; 3];
    for (index, part) in text[..end].trim_end_matches('.').split('.').enumerate() {
        let number = part.parse().ok()?;
        if let Some(place) = numbers.get_mut(index) {
            *place = number;
        }
    }
    Some(numbers)
}

impl fmt::Display for WeightFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Linear => "linear",
            Self::Quadratic => "quadratic",
        })
    }
}

/// A text that names no weight formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown weight formula \"{0}\": expected linear or quadratic")]
pub struct UnknownFormula(pub String);

impl FromStr for WeightFormula {
    type Err = UnknownFormula;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|formula| formula.to_string() == text)
            .ok_or_else(|| UnknownFormula(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runtimes_have_a_formula() {
        use WeightFormula::{Linear, Quadratic};
        let cases = [
            ("runc before", "runc", "1.3.1", Some(Linear)),
            ("runc first", "runc", "1.3.2", Some(Quadratic)),
            ("runc old minor", "runc", "1.2.10", Some(Linear)),
            ("runc prefix and candidate", "runc", "v1.4.0-rc.3", Some(Quadratic)),
            ("runc build suffix", "runc", "1.1.12+dev", Some(Linear)),
            ("crun before", "crun", "1.22", Some(Linear)),
            ("crun first", "crun", "1.23", Some(Quadratic)),
            ("crun patch", "crun", "1.23.1", Some(Quadratic)),
            ("crun two digits", "crun", "1.9", Some(Linear)),
            ("youki", "youki", "0.5.3", None),
            ("no number", "runc", "unknown", None),
            ("empty", "runc", "", None),
            ("huge number", "runc", "99999999999.1", None),
        ];
        for (name, runtime, version, expected) in cases {
            assert_eq!(WeightFormula::of_runtime(runtime, version), expected, "{name}");
        }
    }

    #[test]
    fn old_runtimes_limit_no_reservations() {
        for (runtime, version, expected) in [
            ("runc", "1.1.5+ds1", false),
            ("runc", "1.1.9", false),
            ("runc", "1.1.10", true),
            ("runc", "1.3.6", true),
            ("crun", "1.0", true),
        ] {
            assert_eq!(limits_reservations(runtime, version), expected, "{runtime} {version}");
        }
    }

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
        assert_eq!(WeightFormula::Quadratic.weight(0), 0);
        assert_eq!(WeightFormula::Linear.weight(1024), 39);
        assert_eq!(WeightFormula::Quadratic.weight(1024), 100);
        assert_eq!(quota_to_milli_cpu(1000, 0), Err(ZeroPeriod));
        assert_eq!(quota_to_milli_cpu(-1, 0), Ok(0));
    }

    #[test]
    fn formulas_print_and_parse() {
        for formula in WeightFormula::ALL {
            assert_eq!(formula.to_string().parse(), Ok(formula));
        }
        assert_eq!("cubic".parse::<WeightFormula>(), Err(UnknownFormula("cubic".to_owned())));
    }

    proptest! {
        #[test]
        fn weights_are_monotone_and_in_range(shares in MIN_SHARES..300_000) {
            for formula in WeightFormula::ALL {
                let weight = formula.weight(shares);
                prop_assert!((1..=MAX_WEIGHT).contains(&weight));
                prop_assert!(weight <= formula.weight(shares + 1));
            }
        }

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

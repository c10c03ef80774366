//! The formula with which a container runtime turns CPU shares into a cgroup v2 weight.
//!
//! Read in Kubernetes 1.36 (`pkg/kubelet/cm/cgroup_manager_linux.go`) and `opencontainers/cgroups` v0.0.6; pinned by
//! `tests/vectors/cpu_convert.jsonl`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The smallest number of shares that the kernel accepts.
pub const MIN_SHARES: u64 = 2;
/// The largest number of shares that the kernel accepts.
pub const MAX_SHARES: u64 = 262_144;
/// The weight that stands for [`MAX_SHARES`] and more.
pub const MAX_WEIGHT: u64 = 10_000;

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
    /// | youki   | up to 0.5.6 | 0.5.7 and later  |
    ///
    /// That of youki is `convert_shares_to_cgroup2` in `crates/libcgroups/src/v2/cpu.rs` and `systemd/cpu.rs`, since
    /// `7ca6388c`.
    pub fn of_runtime(name: &str, version: &str) -> Option<Self> {
        let first_quadratic = match name {
            "runc" => [1, 3, 2],
            "crun" => [1, 23, 0],
            "youki" => [0, 5, 7],
            _ => return None,
        };
        let version = version_numbers(version)?;
        Some(if version < first_quadratic { Self::Linear } else { Self::Quadratic })
    }
}

/// Returns true if a runtime writes `hugetlb.SIZE.rsvd.*` with the limit of huge pages: runc does from
/// 1.1.10 on, crun does not (`write_hugetlb_resources`, `src/libcrun/cgroup-resources.c`, read in 1.19 and 1.29), and youki
/// does (`HugeTlb::apply`, `crates/libcgroups/src/v2/hugetlb.rs`, read in 0.4.1 and 0.7.0).
pub fn limits_reservations(name: &str, version: &str) -> bool {
    match name {
        "crun" => false,
        "runc" => version_numbers(version).is_none_or(|version| version >= [1, 1, 10]),
        _ => true,
    }
}

/// What a low-level runtime writes of a container's settings where systemd manages cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnderSystemd {
    /// All of them, as runc and crun do: they write themselves what systemd has no property for.
    All,
    /// What it sets as properties of the scope, and nothing else, as youki does.
    Properties {
        /// It closes swap where memory and swap together get no more than memory.
        closes_swap: bool,
    },
}

impl UnderSystemd {
    /// Returns what a runtime does. youki leaves swap open up to 0.6.0 (`Memory::apply_swap`,
    /// `crates/libcgroups/src/systemd/memory.rs`, changed in `fa37817f`).
    pub fn of_runtime(name: &str, version: &str) -> Self {
        let is_from = |first| version_numbers(version).is_some_and(|version| version >= first);
        match name {
            "youki" => Self::Properties { closes_swap: is_from([0, 7, 0]) },
            _ => Self::All,
        }
    }
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
            ("youki before", "youki", "0.5.6", Some(Linear)),
            ("youki first", "youki", "0.5.7", Some(Quadratic)),
            ("Kata Containers", "kata-runtime", "4.1.0", None),
            ("no number", "runc", "unknown", None),
            ("empty", "runc", "", None),
            ("huge number", "runc", "99999999999.1", None),
        ];
        for (name, runtime, version, expected) in cases {
            assert_eq!(WeightFormula::of_runtime(runtime, version), expected, "{name}");
        }
    }

    #[test]
    fn old_runtimes_and_crun_limit_no_reservations() {
        for (runtime, version, expected) in [
            ("runc", "1.1.5+ds1", false),
            ("runc", "1.1.9", false),
            ("runc", "1.1.10", true),
            ("runc", "1.3.6", true),
            ("crun", "1.29", false),
            ("youki", "0.4.1", true),
        ] {
            assert_eq!(limits_reservations(runtime, version), expected, "{runtime} {version}");
        }
    }

    #[test]
    fn formulas_print_and_parse() {
        for formula in WeightFormula::ALL {
            assert_eq!(formula.to_string().parse(), Ok(formula));
        }
        assert_eq!("cubic".parse::<WeightFormula>(), Err(UnknownFormula("cubic".to_owned())));
    }

    #[test]
    fn weights_of_the_default_and_the_extremes() {
        assert_eq!(WeightFormula::Quadratic.weight(0), 0);
        assert_eq!(WeightFormula::Linear.weight(1024), 39);
        assert_eq!(WeightFormula::Quadratic.weight(1024), 100);
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
    }
}

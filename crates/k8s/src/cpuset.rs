//! Lists of CPUs as Linux and the kubelet write them: `0-3,7`.
//!
//! Reading follows `cpuset.Parse` in `k8s.io/utils/cpuset`, with its error texts.

use crate::go_text::{NumError, atoi, quote};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A set of CPU numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet(BTreeSet<i64>);

/// Why a text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCpuSetError {
    /// A part is not a number.
    #[error(transparent)]
    Number(#[from] NumError),
    /// A range that ends before it starts.
    #[error("invalid range {} ({start} > {end})", quote(range))]
    Backwards {
        range: String,
        /// Its first CPU.
        start: i64,
        /// Its last CPU.
        end: i64,
    },
    /// A range of more CPUs than any machine has.
    ///
    /// The kubelet would build the set, however large; kq does not.
    #[error("range {} has more than {} CPUs", quote(range), CpuSet::MOST)]
    TooLarge { range: String },
}

impl CpuSet {
    /// The most CPUs that one range may have.
    pub const MOST: i64 = 1 << 16;

    /// Returns the first so many CPUs; `None` for a number that no machine has.
    pub fn first(count: i64) -> Option<Self> {
        (0..=Self::MOST).contains(&count).then(|| (0..count).collect())
    }

    /// Returns the number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if every CPU is in the other set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Returns true if a CPU is in the set.
    pub fn contains(&self, cpu: i64) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the CPUs that are in one of both sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// Returns the CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// Returns the CPUs that are not in the other set.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// Returns true if a CPU is in both sets.
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Walks over the CPUs in order.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        self.0.iter().copied()
    }
}

impl FromIterator<i64> for CpuSet {
    fn from_iter<I: IntoIterator<Item = i64>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cpus = BTreeSet::new();
        if text.is_empty() {
            return Ok(Self(cpus));
        }
        for range in text.split(',') {
            let Some((start, end)) = range.split_once('-') else {
                cpus.insert(atoi(range)?);
                continue;
            };
            let (start, end) = (atoi(start)?, atoi(end)?);
            if start > end {
                return Err(ParseCpuSetError::Backwards { range: range.to_owned(), start, end });
            }
            if end - start >= Self::MOST {
                return Err(ParseCpuSetError::TooLarge { range: range.to_owned() });
            }
            cpus.extend(start..=end);
        }
        Ok(Self(cpus))
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, end)) if *end + 1 == cpu => *end = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (at, (start, end)) in ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            if start == end {
                write!(f, "{comma}{start}")?;
            } else {
                write!(f, "{comma}{start}-{end}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_combined() {
        let set = |text: &str| text.parse::<CpuSet>().expect("a list");
        let (one, other) = (set("0-3,7"), set("2-5"));
        assert_eq!(one.union(&other), set("0-5,7"));
        assert_eq!(one.intersection(&other), set("2-3"));
        assert_eq!(one.difference(&other), set("0-1,7"));
        assert!(one.overlaps(&other) && !one.overlaps(&set("4-6")) && one.contains(7));
    }

    #[test]
    fn lists_are_read_and_shown() {
        let cases: &[(&str, &str, Result<&str, &str>)] = &[
            ("empty", "", Ok("")),
            ("one", "7", Ok("7")),
            ("range and one", "0-3,7", Ok("0-3,7")),
            ("out of order", "7,0-2,3", Ok("0-3,7")),
            ("overlapping", "0-3,2-5", Ok("0-5")),
            ("range of one", "1-1", Ok("1")),
            ("open range", "0-", Err("strconv.Atoi: parsing \"\": invalid syntax")),
            ("negative", "-1", Err("strconv.Atoi: parsing \"\": invalid syntax")),
            ("backwards", "3-1", Err("invalid range \"3-1\" (3 > 1)")),
            ("three ends", "0-1-2", Err("strconv.Atoi: parsing \"1-2\": invalid syntax")),
            ("blank", "0, 1", Err("strconv.Atoi: parsing \" 1\": invalid syntax")),
            (
                "huge number",
                "99999999999999999999",
                Err("strconv.Atoi: parsing \"99999999999999999999\": value out of range"),
            ),
            ("huge range", "0-9999999999", Err("range \"0-9999999999\" has more than 65536 CPUs")),
        ];
        for (name, text, expected) in cases {
            let got = text
                .parse::<CpuSet>()
                .map(|cpus| cpus.to_string())
                .map_err(|error| error.to_string());
            assert_eq!(got.as_deref().map_err(String::as_str), *expected, "{name}");
        }
    }
}

//! The CPU limit of a cgroup on version 1: a quota and a period, in two files.
//!
//! The kernel checks the ratio of both after each write: it is not above that of the cgroup above, and not
//! below that of any cgroup inside (`tg_cfs_schedulable_down`, `kernel/sched/core.c`, read in 6.12). On
//! version 2 one file holds both, and the kernel takes any ratio.
//!
//! Of the two orders of writing, one leads over the ratio `new quota / old period`, the other over
//! `old quota / new period`. Their product is that of the old and the new ratio: so either both are
//! between these two, or one is above both and the other is below both.

use crate::live::repair::Step;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::cgroup_value::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A change of a CPU limit.
#[derive(Clone, Debug)]
pub struct Bandwidth<'s> {
    path: CgroupPath,
    quota: Option<&'s Step>,
    period: Option<&'s Step>,
    before: Ratio,
    after: Ratio,
}

/// CPU time per time; without quota it is without limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ratio {
    Of { quota: u64, period: u64 },
    Unlimited,
}

impl Ratio {
    /// Reads a ratio; `None` for texts that no kernel has.
    fn parse(quota: &str, period: &str) -> Option<Self> {
        match CgroupFile::CpuCfsQuota.value(quota) {
            Value::Unlimited => Some(Self::Unlimited),
            Value::Number(quota) => Some(Self::Of { quota, period: period.parse().ok()? }),
            _ => None,
        }
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Unlimited, Self::Unlimited) => Ordering::Equal,
            (Self::Unlimited, _) => Ordering::Greater,
            (_, Self::Unlimited) => Ordering::Less,
            (Self::Of { quota, period }, Self::Of { quota: other_quota, period: other_period }) => {
                let product = |one: &u64, other: &u64| u128::from(*one) * u128::from(*other);
                product(quota, other_period).cmp(&product(other_quota, period))
            }
        }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'s> Bandwidth<'s> {
    /// Collects the changes of CPU limits among steps, by cgroup.
    pub fn of(steps: &'s [Step], tree: &CgroupTree) -> BTreeMap<&'s str, Self> {
        let mut pairs: BTreeMap<&str, (Option<&Step>, Option<&Step>)> = BTreeMap::new();
        for step in steps {
            match CgroupFile::named(&step.file) {
                Some(CgroupFile::CpuCfsQuota) => {
                    pairs.entry(&step.cgroup).or_default().0 = Some(step);
                }
                Some(CgroupFile::CpuCfsPeriod) => {
                    pairs.entry(&step.cgroup).or_default().1 = Some(step);
                }
                _ => {}
            }
        }
        let change =
            |(cgroup, (quota, period)): (&'s str, (Option<&'s Step>, Option<&'s Step>))| {
                let path = CgroupPath::new(cgroup);
                let kept = |file| tree.get(&path).and_then(|texts| texts.text_of(file));
                let side = |text: fn(&Step) -> &str| {
                    let quota = quota.map(text).or_else(|| kept(CgroupFile::CpuCfsQuota))?;
                    let period = period.map(text).or_else(|| kept(CgroupFile::CpuCfsPeriod))?;
                    Ratio::parse(quota, period)
                };
                let (before, after) = (side(|step| &step.from)?, side(|step| &step.to)?);
                Some((cgroup, Self { path, quota, period, before, after }))
            };
        pairs.into_iter().filter_map(change).collect()
    }

    /// Returns true if a step is the first of this change in the order in which they were found.
    pub fn is_first(&self, step: &Step) -> bool {
        match (self.quota, self.period) {
            (Some(_), Some(_)) => step.is(CgroupFile::CpuCfsQuota),
            _ => true,
        }
    }

    /// Returns true if there is less after the change than before.
    pub fn lowers(&self) -> bool {
        self.after < self.before
    }

    /// Returns true if a change is of a cgroup inside this one.
    pub fn is_above(&self, other: &Self) -> bool {
        other.path != self.path && other.path.is_within(&self.path)
    }

    /// Returns the steps in an order that the kernel takes, given the changes of the cgroups inside.
    pub fn steps<'o>(&self, tree: &CgroupTree, below: impl Iterator<Item = &'o Self>) -> Vec<Step>
    where
        's: 'o,
    {
        let (Some(quota), Some(period)) = (self.quota, self.period) else {
            return self.quota.or(self.period).into_iter().cloned().collect();
        };
        let quota_first = || vec![quota.clone(), period.clone()];
        let period_first = || vec![period.clone(), quota.clone()];
        // The kernel takes this below any cgroup.
        let no_limit = CgroupFile::CpuCfsQuota.no_limit(CgroupVersion::V1);
        let over =
            |quota: &str, period: &str| Ratio::parse(quota, period).unwrap_or(Ratio::Unlimited);
        let between = over(&quota.to, &period.from);
        let (low, high) = (self.before.min(self.after), self.before.max(self.after));
        if quota.from == no_limit {
            return period_first();
        }
        if quota.to == no_limit || (low <= between && between <= high) {
            return quota_first();
        }
        let (lower, order) = match between < low {
            true => (between, quota_first()),
            false => (over(&quota.from, &period.to), period_first()),
        };
        let changed = below.flat_map(|change| [change.before, change.after]);
        let inside = tree.within(&self.path).filter(|(path, _)| **path != self.path);
        let present = inside.filter_map(|(_, texts)| {
            let [quota, period] =
                [CgroupFile::CpuCfsQuota, CgroupFile::CpuCfsPeriod].map(|file| texts.text_of(file));
            Ratio::parse(quota?, period?)
        });
        if changed.chain(present).all(|ratio| ratio == Ratio::Unlimited || ratio <= lower) {
            return order;
        }
        // What is inside has more than that: for a moment the limit is that of the cgroup above.
        let lift = Step { to: no_limit.to_owned(), ..quota.clone() };
        let limit = Step { from: no_limit.to_owned(), ..quota.clone() };
        vec![lift, period.clone(), limit]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::cgroup_tree::CgroupTexts;
    use std::sync::Arc;

    const QUOTA: &str = CgroupFile::CpuCfsQuota.name(CgroupVersion::V1);
    const PERIOD: &str = CgroupFile::CpuCfsPeriod.name(CgroupVersion::V1);
    const UNLIMITED: &str = "-1";

    fn step(file: &str, from: &str, to: &str) -> Step {
        Step {
            cgroup: "/k/p".to_owned(),
            owner: String::new(),
            file: file.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            writer: "kubelet".to_owned(),
            unit: None,
        }
    }

    fn tree(child: Option<(&str, &str)>) -> CgroupTree {
        let mut tree = CgroupTree::default();
        if let Some((quota, period)) = child {
            let texts = [(QUOTA, quota), (PERIOD, period)];
            let texts = texts.map(|(file, text)| (file.to_owned(), text.to_owned()));
            let texts = CgroupTexts(texts.into_iter().collect());
            Arc::make_mut(&mut tree.cgroups).insert(CgroupPath::new("/k/p/c"), texts);
        }
        tree
    }

    #[test]
    fn no_write_leaves_what_is_above_and_inside() {
        let none = None;
        for (name, (quota_from, period_from), (quota_to, period_to), child, expected) in [
            ("both rise", ("2500", "10000"), ("62500", "250000"), none, "period quota"),
            ("both fall", ("62500", "250000"), ("2500", "10000"), none, "quota period"),
            (
                "both rise, the child has as much",
                ("2500", "10000"),
                ("62500", "250000"),
                Some(("2500", "10000")),
                "quota=-1 period quota",
            ),
            (
                "both rise, the child has less than the least",
                ("2500", "10000"),
                ("62500", "250000"),
                Some(("1000", "100000")),
                "period quota",
            ),
            (
                "the child has no limit",
                ("2500", "10000"),
                ("62500", "250000"),
                Some(("-1", "100000")),
                "period quota",
            ),
            (
                "more",
                ("2500", "100000"),
                ("5000", "50000"),
                Some(("2500", "100000")),
                "quota period",
            ),
            (
                "less",
                ("5000", "50000"),
                ("2500", "100000"),
                Some(("2500", "100000")),
                "quota period",
            ),
            ("a new limit", ("-1", "100000"), ("2500", "10000"), none, "period quota"),
            ("no limit any more", ("2500", "10000"), ("-1", "100000"), none, "quota period"),
        ] {
            let steps = [step(QUOTA, quota_from, quota_to), step(PERIOD, period_from, period_to)];
            let tree = tree(child);
            let found = Bandwidth::of(&steps, &tree);
            let ordered = found["/k/p"].steps(&tree, std::iter::empty());
            let word = |step: &Step| match (step.file.as_str(), step.to.as_str()) {
                (QUOTA, to) if to == UNLIMITED && quota_to != UNLIMITED => "quota=-1".to_owned(),
                (QUOTA, _) => "quota".to_owned(),
                _ => "period".to_owned(),
            };
            let words: Vec<String> = ordered.iter().map(word).collect();
            assert_eq!(words.join(" "), expected, "{name}");
        }
    }
}

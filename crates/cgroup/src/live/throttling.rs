//! The containers that their CPU quotas throttle most.

use crate::files::CgroupDriver;
use crate::live::place::{LiveCgroup, LiveOwner, LivePlace, Part, live_cgroups, without_cgroup};
use crate::live::show::{Usage, is_shown};
use crate::report::PlaceLevel;
use kq_answer::{Basis, Headline, Missing, MissingFact, Warning, answer};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::pod_selector::Selection;
use kq_facts::workloads::{ContainerName, Workloads};
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_output::units::{self, counted};
use serde::Serialize;
use std::cmp::Reverse;

/// The containers of a node, the most throttled first.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThrottlingRanking<'t> {
    /// One for each container, and one for each pod whose own quota throttles.
    pub items: Vec<Throttled<'t>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ThrottlingRanking", ThrottlingRanking<'_>; ThrottlingRanking::headline);

impl ThrottlingRanking<'_> {
    /// Returns who is throttled most.
    fn headline(&self) -> Headline {
        let share = |it: &Throttled<'_>| {
            let (throttled, periods) = it.throttled_periods.zip(it.periods)?;
            (throttled > 0).then(|| units::percent(throttled, periods)).flatten()
        };
        let Some((first, share)) = self.items.first().and_then(|it| Some((it, share(it)?))) else {
            let uncounted = self.items.iter().filter(|it| it.periods.is_none()).count();
            return match (uncounted, self.items.len()) {
                (0, _) if self.basis.missing.is_empty() => {
                    Headline::good("none", "no container is throttled")
                }
                (0, _) => Headline::new("unknown", "no container with a cgroup is throttled"),
                (count, all) => {
                    let text = format!("whether {count} of {all} are throttled is not counted");
                    Headline::new("unknown", text)
                }
            };
        };
        let pod = match (first.place.namespace, first.place.pod) {
            (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
            _ => first.place.cgroup.to_owned(),
        };
        let container = container(first).map(|name| format!(" {name}")).unwrap_or_default();
        let text = format!("{pod}{container} is throttled most: in {share} of its periods");
        Headline::new("throttled", text)
    }
}

/// The throttling of a container, or of a pod by its own quota. What the kernel does not count is null.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Throttled<'t> {
    /// The owner.
    #[serde(flatten)]
    pub place: LivePlace<'t>,
    /// CPU time per period, in microseconds; null: no quota, or an unknown one.
    pub quota_usec: Option<u64>,
    /// The period, in microseconds; null: unknown, and so is the quota.
    pub period_usec: Option<u64>,
    /// Periods in which a task was runnable under the quota.
    pub periods: Option<u64>,
    /// Periods in which the quota was used up.
    pub throttled_periods: Option<u64>,
    /// How long tasks waited for the next period, in microseconds.
    pub throttled_usec: Option<u64>,
    /// CPU time in microseconds.
    pub cpu_usec: Option<u64>,
}

/// Ranks the containers of the selected pods: by the share of periods throttled, then by the time lost.
pub fn throttling<'t>(
    tree: &'t CgroupTree,
    roots: &'t [(CgroupDriver, CgroupPath)],
    workloads: &'t Workloads,
    selection: &Selection,
    warnings: Vec<Warning>,
) -> ThrottlingRanking<'t> {
    let present = roots.iter().filter(|(_, root)| tree.get(root).is_some());
    let cgroups = present.flat_map(|(driver, root)| live_cgroups(tree, root, *driver, workloads));
    let cgroups: Vec<LiveCgroup<'t>> = cgroups.collect();
    let shown = cgroups.iter().filter(|cgroup| is_shown(cgroup, selection));
    let mut items: Vec<Throttled<'t>> = shown.filter_map(throttled).collect();
    items.sort_by_cached_key(|item| {
        let place = &item.place;
        let name = [place.namespace, place.pod, place.container, Some(place.cgroup)];
        let name = name.map(|part| part.unwrap_or_default().to_owned());
        (Reverse(item.permyriad()), Reverse(item.throttled_usec), name)
    });
    let mut basis = Basis::default();
    basis.warn_all(warnings);
    let of =
        |is_wanted: fn(&Throttled<'_>) -> bool| items.iter().filter(|it| is_wanted(it)).count();
    let uncounted = of(|item| item.throttled_periods.is_none());
    if uncounted > 0 {
        let containers = of(|item| item.place.level == PlaceLevel::Container);
        let text = format!("cpu.stat of {uncounted} of {containers} containers");
        basis.lack(Missing::new(MissingFact::CgroupUsage, text).about("cpu.stat"));
    }
    let unlimited = of(|item| item.period_usec.is_none());
    if unlimited > 0 {
        let text = format!("cpu.max of {unlimited} of {} rows", items.len());
        basis.lack(Missing::new(MissingFact::CgroupUsage, text).about("cpu.max"));
    }
    let is_selected = |container: &&ContainerName| {
        let uid = &container.pod_uid;
        let pod = workloads.pod(uid);
        let name = pod.map(|pod| (pod.namespace.as_str(), pod.name.as_str()));
        let (namespace, name) = name.unwrap_or_default();
        selection.has(namespace, name, uid)
    };
    let without = without_cgroup(&cgroups, workloads).into_iter().filter(is_selected).count();
    if without > 0 {
        let text = format!("cpu.stat of {}: no cgroup", counted(without, "running container"));
        basis.lack(Missing::new(MissingFact::CgroupUsage, text).about("cpu.stat"));
    }
    ThrottlingRanking { items, basis }
}

impl Throttled<'_> {
    /// Returns the share of periods throttled, in hundredths of a percent; `None`: not counted.
    fn permyriad(&self) -> Option<u128> {
        let (throttled, periods) = self.throttled_periods.zip(self.periods)?;
        Some((u128::from(throttled) * 10_000).checked_div(u128::from(periods)).unwrap_or_default())
    }
}

/// Returns the counters of a container, or of a pod that was throttled.
fn throttled<'t>(cgroup: &LiveCgroup<'t>) -> Option<Throttled<'t>> {
    let usage = Usage::of(cgroup.texts);
    match &cgroup.owner {
        LiveOwner::Container(container) => match container.part {
            Part::Container(..) | Part::Unknown => {}
            Part::Sandbox | Part::Monitor => return None,
        },
        // Its containers do not count it.
        LiveOwner::Pod(_) if usage.throttled_periods > Some(0) => {}
        _ => return None,
    }
    let (quota_usec, period_usec) = quota(cgroup.texts);
    Some(Throttled {
        place: LivePlace::of(cgroup),
        quota_usec,
        period_usec,
        periods: usage.periods,
        throttled_periods: usage.throttled_periods,
        throttled_usec: usage.throttled_usec,
        cpu_usec: usage.cpu_usec,
    })
}

/// Returns quota and period; the quota is `None` without a limit.
fn quota(texts: &CgroupTexts) -> (Option<u64>, Option<u64>) {
    match texts.text_of(CgroupFile::CpuMax).and_then(|text| text.split_once(' ')) {
        Some((quota, period)) => (quota.parse().ok(), period.trim().parse().ok()),
        None => (texts.number(CgroupFile::CpuCfsQuota), texts.number(CgroupFile::CpuCfsPeriod)),
    }
}

/// Returns a row for each container; a pod's own quota has none in CONTAINER.
pub fn table(ranking: &ThrottlingRanking<'_>, is_wide: bool) -> Table {
    Rows::of(&ranking.items).wide(is_wide).table(&[
        Column::name("POD", |item| match (item.place.namespace, item.place.pod) {
            (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
            _ => or_dash(item.place.pod_uid.as_ref()),
        }),
        Column::name("CONTAINER", |item| or_dash(container(item))),
        Column::new("THROTTLED", |item| {
            let counted = item.throttled_periods.zip(item.periods);
            or_dash(counted.and_then(|(throttled, periods)| units::percent(throttled, periods)))
        }),
        Column::new("THROTTLED TIME", |item| or_dash(item.throttled_usec.map(units::microseconds))),
        Column::new("LIMIT", |item| {
            let Some(period) = item.period_usec else { return "?".to_owned() };
            let quota = item.quota_usec.filter(|_| period > 0);
            or_dash(quota.map(|quota| units::milli_cpu(quota, period)))
        }),
        Column::new("CPU TIME", |item| or_dash(item.cpu_usec.map(units::microseconds))),
        Column::wide(Column::new("THROTTLED PERIODS", |item| or_dash(item.throttled_periods))),
        Column::wide(Column::new("PERIODS", |item| or_dash(item.periods))),
        Column::wide(Column::new("QOS", |item| or_dash(item.place.qos_class))),
        Column::wide(Column::name("CGROUP", |item| item.place.cgroup.to_owned())),
    ])
}

fn container<'i>(item: &'i Throttled<'_>) -> Option<&'i str> {
    item.place.container.or(item.place.container_id.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn ranked(containers: &[(&str, &str)]) -> Vec<(String, Option<u128>)> {
        let max = ("cpu.max".to_owned(), "max 100000".to_owned());
        let text = |stat: &str| [("cpu.stat".to_owned(), stat.to_owned()), max.clone()].into();
        let pod = "/kubepods/podu1";
        let mut cgroups = vec![(pod.to_owned(), "nr_periods 9\nnr_throttled 0\n")];
        cgroups.push(("/kubepods".to_owned(), ""));
        cgroups.extend(containers.iter().map(|(id, stat)| (format!("{pod}/{id}"), *stat)));
        let cgroups = cgroups.iter().map(|(path, stat)| {
            let texts = if stat.is_empty() { Default::default() } else { text(stat) };
            (CgroupPath::new(path), CgroupTexts(texts))
        });
        let tree = CgroupTree { cgroups: Arc::new(cgroups.collect()), ..CgroupTree::default() };
        let roots = [(CgroupDriver::Cgroupfs, CgroupPath::new("/kubepods"))];
        let workloads = Workloads::default();
        let all = throttling(&tree, &roots, &workloads, &Selection::default(), Vec::new());
        let is_complete = all.items.iter().all(|item| item.throttled_periods.is_some());
        assert_eq!(all.basis.missing.is_empty(), is_complete);
        let id = |item: &Throttled<'_>| CgroupPath::new(item.place.cgroup).name().to_owned();
        all.items.iter().map(|item| (id(item), item.permyriad())).collect()
    }

    #[test]
    fn the_share_of_periods_goes_before_the_time_lost() {
        let never = "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n";
        let often = "nr_periods 10\nnr_throttled 5\nthrottled_usec 10\n";
        let longer = "nr_periods 100\nnr_throttled 50\nthrottled_usec 20\n";
        let long = "nr_periods 1000\nnr_throttled 1\nthrottled_usec 900000\n";
        let got = ranked(&[("aa", ""), ("bb", never), ("cc", long), ("dd", often), ("ee", longer)]);
        let expected = [
            ("ee", Some(5000)),
            ("dd", Some(5000)),
            ("cc", Some(10)),
            ("bb", Some(0)),
            ("aa", None),
        ];
        assert_eq!(got, expected.map(|(id, share)| (id.to_owned(), share)));
    }
}

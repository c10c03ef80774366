//! The order in which pods would be evicted.
//!
//! Mirrors `rankMemoryPressure`, `rankPIDPressure` and `rankDiskPressureFunc` of
//! `pkg/kubelet/eviction/helpers.go`, read in 1.36.2; pinned by the vectors `eviction_rank.jsonl`.
//!
//! Critical pods are ranked like others, and passed over at the eviction. The kubelet's order of equal
//! pods is not defined, so ties are reported.

use super::disks::Layout;
use super::observation::unsigned;
use super::usage::{DiskUnit, DiskUsage, FsParts, disk_usage, measured_parts};
use kq_facts::kubelet_config::{Signal, StarvedResource};
use kq_facts::stats_summary::{PodStats, StatsByPod};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::resources::kubelet_request;
use std::cmp::{Ordering, Reverse};
use std::ops::Range;

/// Pods in the order of eviction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// The first is evicted first. Equal ones are in the order of the input.
    pub pods: Vec<RankedPod>,
    /// Ranges of `pods` whose order is random in the kubelet.
    pub ties: Vec<Range<usize>>,
}

/// A pod and the figures that ranked it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedPod {
    /// Its index in the input.
    pub pod: usize,
    /// Its priority; a pod without one has 0.
    pub priority: i32,
    /// Its request of memory, or of ephemeral storage, also when inodes are short; `None` for processes,
    /// which are not requested.
    pub request: Option<Quantity>,
    /// Its usage; `None`: not measured, and it ranks before others.
    pub figures: Option<Figures>,
}

/// The usage of a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Figures {
    Memory {
        /// The working set; zero: not measured.
        usage: Quantity,
        /// Whether that is more than the request.
        exceeds: bool,
        /// The usage minus the request.
        excess: Quantity,
    },
    /// Bytes or inodes of a disk.
    Disk {
        unit: DiskUnit,
        parts: DiskUsage,
        /// The parts that count.
        measured: FsParts,
        /// Their sum.
        usage: Quantity,
        /// Whether that is more than the request; for inodes, more than zero.
        exceeds: bool,
        /// The usage minus the request of ephemeral storage: for inodes the kubelet subtracts bytes from a number
        /// of inodes.
        excess: Quantity,
    },
    Processes {
        /// Zero: not counted.
        count: u64,
    },
}

/// Up to this many pods are sorted as in Go even where differences of process counts overflow; more would
/// take too long, and have no defined order.
const FEW: usize = 1000;

/// Ranks pods for eviction.
pub fn rank_pods(
    signal: Signal,
    pods: &[&Pod],
    stats: &StatsByPod<'_>,
    layout: Layout,
    rules: &KubeletRules,
) -> Ranking {
    let mut ranked: Vec<RankedPod> = pods
        .iter()
        .enumerate()
        .map(|(at, pod)| ranked_pod(at, pod, stats.of(pod), signal, layout, rules))
        .collect();
    let resource = signal.resource();
    let order = |left: &RankedPod, right: &RankedPod| compare(resource, left, right);
    if ranked.iter().all(has_countable_processes) {
        ranked.sort_by(order);
    } else if ranked.len() <= FEW {
        insertion_sort(&mut ranked, order);
    } else {
        ranked.sort_by_key(|pod| (pod.priority, pod.figures.is_some(), Reverse(pod.processes())));
    }
    let ties = ties(&ranked, order);
    Ranking { pods: ranked, ties }
}

/// Returns true if differences of this process count keep their sign in 64 bits.
fn has_countable_processes(pod: &RankedPod) -> bool {
    match pod.figures {
        Some(Figures::Processes { count }) => i64::try_from(count).is_ok(),
        _ => true,
    }
}

/// Sorts as Go sorts up to twelve elements. Process counts whose differences overflow have no total order,
/// and the standard sort may panic on them.
fn insertion_sort<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    for end in 1..items.len() {
        for at in (1..=end).rev() {
            let ordered = match (items.get(at), items.get(at - 1)) {
                (Some(item), Some(before)) => order(item, before) != Ordering::Less,
                _ => true,
            };
            if ordered {
                break;
            }
            items.swap(at, at - 1);
        }
    }
}

/// Returns the ranges of equal neighbours.
fn ties(
    ranked: &[RankedPod],
    order: impl Fn(&RankedPod, &RankedPod) -> Ordering,
) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut ties = Vec::new();
    for run in ranked.chunk_by(|left, right| order(left, right) == Ordering::Equal) {
        let end = start + run.len();
        if run.len() > 1 {
            ties.push(start..end);
        }
        start = end;
    }
    ties
}

/// A step of the comparison of two pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RankStep {
    /// Unmeasured pods rank first.
    NotMeasured,
    /// Pods above their request rank first.
    ExceedsRequest,
    /// The lower priority ranks first.
    LowerPriority,
    /// The pod further above its request ranks first.
    MoreOver,
    /// The pod with more processes ranks first.
    MoreProcesses,
}

impl RankStep {
    /// Returns the steps for a signal, in order.
    fn of(resource: StarvedResource) -> &'static [Self] {
        match resource {
            StarvedResource::Pids => &[Self::LowerPriority, Self::NotMeasured, Self::MoreProcesses],
            _ => &[Self::NotMeasured, Self::ExceedsRequest, Self::LowerPriority, Self::MoreOver],
        }
    }

    fn compare(self, left: &RankedPod, right: &RankedPod) -> Ordering {
        match self {
            Self::NotMeasured => left.figures.is_some().cmp(&right.figures.is_some()),
            Self::ExceedsRequest => right.exceeds().cmp(&left.exceeds()),
            Self::LowerPriority => left.priority.cmp(&right.priority),
            Self::MoreOver => match (left.excess(), right.excess()) {
                (Some(left), Some(right)) => right.compare(left),
                _ => Ordering::Equal,
            },
            // The kubelet subtracts unsigned numbers and reads the result as signed, so a difference of 2^63 and
            // more changes its sign.
            Self::MoreProcesses => {
                (right.processes().wrapping_sub(left.processes()) as i64).cmp(&0)
            }
        }
    }
}

impl RankedPod {
    fn exceeds(&self) -> Option<bool> {
        match self.figures.as_ref()? {
            Figures::Memory { exceeds, .. } | Figures::Disk { exceeds, .. } => Some(*exceeds),
            Figures::Processes { .. } => None,
        }
    }

    fn excess(&self) -> Option<&Quantity> {
        match self.figures.as_ref()? {
            Figures::Memory { excess, .. } | Figures::Disk { excess, .. } => Some(excess),
            Figures::Processes { .. } => None,
        }
    }

    fn processes(&self) -> u64 {
        match self.figures {
            Some(Figures::Processes { count }) => count,
            _ => 0,
        }
    }
}

/// Returns the first step that distinguishes two pods; `None`: they are equal.
pub fn decided_by(
    resource: StarvedResource,
    left: &RankedPod,
    right: &RankedPod,
) -> Option<RankStep> {
    let mut steps = RankStep::of(resource).iter().copied();
    steps.find(|step| step.compare(left, right) != Ordering::Equal)
}

fn compare(resource: StarvedResource, left: &RankedPod, right: &RankedPod) -> Ordering {
    decided_by(resource, left, right).map_or(Ordering::Equal, |step| step.compare(left, right))
}

fn ranked_pod(
    at: usize,
    pod: &Pod,
    stats: Option<&PodStats>,
    signal: Signal,
    layout: Layout,
    rules: &KubeletRules,
) -> RankedPod {
    let requested = |name: &str| kubelet_request(pod, &ResourceName::from(name), rules);
    let minus = |usage: &Quantity, request: &Quantity| {
        let mut excess = usage.clone();
        excess -= request;
        excess
    };
    let more = |usage: &Quantity, request: &Quantity| usage.compare(request) == Ordering::Greater;
    let (request, figures) = match signal.filesystem() {
        Some(filesystem) => {
            let request = requested("ephemeral-storage");
            let unit = match signal.resource() {
                StarvedResource::Inodes => DiskUnit::Inodes,
                _ => DiskUnit::Bytes,
            };
            let figures = stats.map(|stats| {
                let measured = measured_parts(filesystem, layout);
                let parts = disk_usage(pod, stats, unit);
                let usage = parts.total(measured);
                Figures::Disk {
                    exceeds: match unit {
                        DiskUnit::Bytes => more(&usage, &request),
                        DiskUnit::Inodes => more(&usage, &requested("inodes")),
                    },
                    excess: minus(&usage, &request),
                    unit,
                    parts,
                    measured,
                    usage,
                }
            });
            (Some(request), figures)
        }
        None if signal == Signal::PidAvailable => {
            let figures = stats.map(|stats| {
                let count = stats.process_stats.as_ref().and_then(|stats| stats.process_count);
                Figures::Processes { count: count.unwrap_or(0) }
            });
            (None, figures)
        }
        None => {
            let request = requested("memory");
            let figures = stats.map(|stats| {
                let bytes = stats.memory.as_ref().and_then(|memory| memory.working_set_bytes);
                let usage = unsigned(bytes.unwrap_or(0), Format::BinarySi);
                Figures::Memory {
                    exceeds: more(&usage, &request),
                    excess: minus(&usage, &request),
                    usage,
                }
            });
            (Some(request), figures)
        }
    };
    RankedPod { pod: at, priority: pod.spec.priority.unwrap_or(0), request, figures }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{Object, pod};

    fn read(pods: impl IntoIterator<Item = Object>) -> Vec<Pod> {
        pods.into_iter().map(Object::read).collect()
    }

    /// Returns the order, and the ranges of ties.
    fn ranked(signal: Signal, pods: &[Pod], stats: &str) -> (Vec<usize>, Vec<(usize, usize)>) {
        let stats: Vec<PodStats> = serde_json::from_str(stats).unwrap();
        let pods: Vec<&Pod> = pods.iter().collect();
        let rules = KubeletRules::default();
        let ranking = rank_pods(signal, &pods, &StatsByPod::new(&stats), Layout::default(), &rules);
        let ties = ranking.ties.iter().map(|tie| (tie.start, tie.end)).collect();
        (ranking.pods.iter().map(|ranked| ranked.pod).collect(), ties)
    }

    #[test]
    fn what_was_not_measured_goes_first_and_equals_tie() {
        let list = read([
            pod("within").priority(None::<i32>).requests("memory=10"),
            pod("above").priority(5).requests("memory=1"),
            pod("unseen").priority(9),
            pod("equal").requests("memory=10"),
        ]);
        let stats = r#"[{"podRef":{"uid":"within"},"memory":{"workingSetBytes":3}},
            {"podRef":{"uid":"above"},"memory":{"workingSetBytes":2}},
            {"podRef":{"uid":"equal"},"memory":{"workingSetBytes":3}}]"#;
        let got = ranked(Signal::MemoryAvailable, &list, stats);
        assert_eq!(got, (vec![2, 1, 0, 3], vec![(2, 4)]));
        let nothing = ranked(Signal::MemoryAvailable, &[], stats);
        assert_eq!(nothing, (vec![], vec![]));
    }

    #[test]
    fn many_pods_with_numbers_beyond_all_measure_take_no_longer() {
        let names: Vec<String> = (0..100_000).map(|at| format!("p{at}")).collect();
        let list = read(names.iter().map(|name| pod(name)));
        let stats = names.iter().enumerate().map(|(at, name)| {
            let count = if at == 7 { u64::MAX } else { at as u64 };
            format!(
                r#"{{"podRef":{{"uid":"{name}"}},"process_stats":{{"process_count":{count}}}}}"#
            )
        });
        let stats = format!("[{}]", stats.collect::<Vec<_>>().join(","));
        let (order, ties) = ranked(Signal::PidAvailable, &list, &stats);
        assert_eq!((&order[..3], ties.len()), (&[7, 99_999, 99_998][..], 0));
    }

    #[test]
    fn a_request_of_storage_outweighs_inodes() {
        let list = read([pod("a").requests("ephemeral-storage=1Gi"), pod("b")]);
        let stats = r#"[
            {"podRef":{"uid":"a"},"containers":[{"name":"c","rootfs":{"inodesUsed":1000}}]},
            {"podRef":{"uid":"b"},"containers":[{"name":"c","rootfs":{"inodesUsed":1}}]}]"#;
        assert_eq!(ranked(Signal::NodeFsInodesFree, &list, stats).0, [1, 0]);
        // Where images and containers have disks of their own, no pod uses any of the images' disk.
        assert_eq!(ranked(Signal::ImageFsInodesFree, &list, stats).0, [1, 0]);
    }

    #[test]
    fn numbers_of_processes_turn_around_and_nothing_breaks() {
        let names: Vec<String> = (0..40).map(|number| format!("p{number}")).collect();
        let list = read(names.iter().map(|name| pod(name)));
        let stats = |count: fn(u64) -> u64| {
            let entries: Vec<String> = (0..40)
                .map(|number| {
                    let count = count(number);
                    format!(
                        r#"{{"podRef":{{"uid":"p{number}"}},"process_stats":{{"process_count":{count}}}}}"#
                    )
                })
                .collect();
            format!("[{}]", entries.join(","))
        };
        let few = ranked(Signal::PidAvailable, &list, &stats(|number| number));
        assert_eq!(few.0, (0..40).rev().collect::<Vec<_>>());
        // These have no total order; every pod must still be listed once.
        let many = stats(|number| number.wrapping_mul(u64::MAX / 7));
        let mut places = ranked(Signal::PidAvailable, &list, &many).0;
        places.sort_unstable();
        assert_eq!(places, (0..40).collect::<Vec<_>>());
        // 2^63 more than none changes its sign: the pod with none ranks first.
        let two = &list[..2];
        let text = r#"[{"podRef":{"uid":"p0"},"process_stats":{"process_count":9223372036854775809}},
            {"podRef":{"uid":"p1"}}]"#;
        assert_eq!(ranked(Signal::PidAvailable, two, text).0, [1, 0]);
    }

    #[test]
    fn amounts_beyond_64_bits_are_compared_exactly() {
        let list = read([pod("a").requests("memory=-9E"), pod("b").requests("memory=-8E")]);
        let stats = r#"[{"podRef":{"uid":"a"},"memory":{"workingSetBytes":9223372036854775807}},
            {"podRef":{"uid":"b"},"memory":{"workingSetBytes":9223372036854775807}}]"#;
        assert_eq!(ranked(Signal::MemoryAvailable, &list, stats), (vec![0, 1], vec![]));
    }
}

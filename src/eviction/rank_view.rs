//! The order of eviction for people.

use super::pressure::{PodName, ThresholdRow};
use super::pressure_view::{amount, cleared, disks, name, numbers, thresholds};
use super::rank::{Figures, RankStep, RankedPod};
use super::rank_report::{EvictionRank, RankItem, UsageFrom, UsedParts};
use super::usage::FsParts;
use crate::facts::kubelet_config::{Signal, StarvedResource};
use crate::output::table::{Column, Rows, Table};
use crate::output::terminal::plain;
use crate::output::units::bytes;
use std::fmt::Write;

/// How many names are listed before the others are counted.
const NAMED: usize = 5;

/// Returns how near the node is to it, a sentence each.
pub(super) fn now(rank: &EvictionRank) -> Vec<String> {
    let signal = rank.signal;
    if let Some(refused) = rank.layout.as_ref().and_then(|layout| layout.refused) {
        return vec![format!(
            "the kubelet neither reclaims nor evicts for any threshold: {refused}"
        )];
    }
    if rank.thresholds.is_empty() {
        return vec![format!(
            "no threshold of {signal} is configured, so the kubelet evicts nobody for it: this is the \
             order if it did"
        )];
    }
    rank.thresholds.iter().map(|row| of_threshold(rank.usage.from, row)).collect()
}

fn of_threshold(from: UsageFrom, row: &ThresholdRow) -> String {
    let numbers = numbers(row);
    let soft = row.grace_period;
    let mut text = match row.met {
        None if from == UsageFrom::StatsSummary => {
            format!("not measured, and so not crossed for the kubelet: {numbers}")
        }
        None => format!("not known whether it is crossed: {numbers}"),
        Some(false) => {
            format!("not crossed: {numbers}, {} to go", amount(row.signal, row.margin))
        }
        Some(true) if soft.0 == 0 => format!("crossed: {numbers}"),
        Some(true) => format!(
            "crossed: {numbers}; soft: a pod goes once that was so for {soft}, which one look cannot tell"
        ),
    };
    if let Some(reclaim) = row.min_reclaim.filter(|reclaim| *reclaim > 0) {
        let _ = write!(
            text,
            "; once crossed, it counts as crossed until {} more than the threshold are left",
            amount(row.signal, Some(reclaim))
        );
    }
    text
}

/// Returns what comes before the first pod in the order, a sentence each.
pub(super) fn before(
    rank: &EvictionRank,
    others: &[ThresholdRow],
    over_own_limits: &[String],
) -> Vec<String> {
    let mut lines = Vec::new();
    if !over_own_limits.is_empty() {
        lines.push(format!(
            "pods that exceed limits of local storage of their own are evicted before any threshold is \
             looked at: {}",
            listed(over_own_limits)
        ));
    }
    let memory = others
        .iter()
        .find(|row| row.met == Some(true) && row.signal.resource() == StarvedResource::Memory);
    if let Some(row) = memory {
        let soft = match row.grace_period.0 {
            0 => String::new(),
            _ => format!(" (soft, grace period {})", row.grace_period),
        };
        let numbers = numbers(row);
        lines.push(format!("memory comes before {}, and is crossed{soft}: {numbers}", rank.signal));
    }
    lines.push(match rank.reclaim {
        [] => format!("nothing is reclaimed for {}: a pod is evicted", rank.signal),
        some => format!(
            "{}; no pod goes if that is enough (kq gc dry-run --trigger eviction)",
            cleared(some)
        ),
    });
    lines
}

/// Returns what puts a pod before those behind it; it is one of so many that are equal.
pub(super) fn because(
    signal: Signal,
    pod: &RankedPod,
    next: Option<&RankedPod>,
    step: Option<RankStep>,
    equals: usize,
) -> String {
    let tie = match equals {
        0 | 1 => None,
        2 => Some("equal to one other: any order".to_owned()),
        many => Some(format!("equal to {} others: any order", many - 1)),
    };
    let step = match (next, step) {
        (Some(next), Some(step)) => Some(of_step(signal, pod, next, step)),
        (Some(_), None) => None,
        (None, _) => Some("nobody comes after".to_owned()),
    };
    [tie, step].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn of_step(signal: Signal, pod: &RankedPod, next: &RankedPod, step: RankStep) -> String {
    let of_inodes = signal.resource() == StarvedResource::Inodes;
    let over = |pod: &RankedPod| match &pod.figures {
        Some(Figures::Memory { excess, .. } | Figures::Disk { excess, .. }) => {
            amount(signal, Some(excess.value()))
        }
        Some(Figures::Processes { count }) => count.to_string(),
        None => "unknown".to_owned(),
    };
    match step {
        RankStep::NotMeasured => "no stats: goes before what was measured".to_owned(),
        RankStep::ExceedsRequest if of_inodes => "uses inodes, the next none".to_owned(),
        RankStep::ExceedsRequest => "exceeds its request, the next does not".to_owned(),
        RankStep::LowerPriority => {
            format!("lower priority: {}, then {}", pod.priority, next.priority)
        }
        RankStep::MoreOver => {
            let (own, its) = (over(pod), over(next));
            match own.starts_with('-') {
                true => format!("less below its request: {own}, then {its}"),
                false => format!("more over its request: {own}, then {its}"),
            }
        }
        RankStep::MoreProcesses => format!("more processes: {}, then {}", over(pod), over(next)),
    }
}

/// Shows the order, and how near the node is to it.
pub fn table(rank: &EvictionRank) -> String {
    shown(rank, false)
}

/// Shows the parts of what is used, and what was not measured, as well.
pub fn wide(rank: &EvictionRank) -> String {
    shown(rank, true)
}

fn shown(rank: &EvictionRank, is_wide: bool) -> String {
    let mut text = summary(rank);
    if !rank.thresholds.is_empty() {
        let _ = write!(text, "\n{}", thresholds(&rank.thresholds));
    }
    if !rank.items.is_empty() {
        let _ = write!(text, "\n{}", pods(rank, is_wide));
    }
    text
}

fn summary(rank: &EvictionRank) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let mut line = |heading: &str, words: String| {
        let _ = writeln!(text, "{heading:<10} {}", plain(words));
    };
    line("SIGNAL", format!("{} ({})", rank.signal, rank.condition));
    let how = match rank.usage.from {
        UsageFrom::StatsSummary => "as the kubelet measured it",
        UsageFrom::Cgroups => "counted in cgroups, as the kubelet could not be asked",
    };
    line("USAGE", format!("{how}: {}", rank.usage.source));
    if let Some(layout) = &rank.layout {
        line("DISKS", disks(layout));
    }
    if let Some(counted) = rank.counted {
        line("COUNTED", parts(counted));
    }
    if rank.resource == StarvedResource::Inodes {
        line(
            "OVER",
            "inodes used, less the bytes of ephemeral storage requested: so the kubelet computes it"
                .to_owned(),
        );
    }
    for sentence in &rank.now {
        line("NOW", sentence.clone());
    }
    for sentence in &rank.before {
        line("BEFORE", sentence.clone());
    }
    let spared = match rank.first.spared.as_slice() {
        [] => String::new(),
        some => format!("; critical and passed over before: {}", named(some)),
    };
    let among = if rank.lacks_pods { ", of the pods that are known" } else { "" };
    line(
        "FIRST",
        match rank.first.one_of.as_slice() {
            [] if rank.items.is_empty() && !rank.basis.missing.is_empty() => {
                "not known: no pod has a rank".to_owned()
            }
            [] if rank.items.is_empty() => "no pod can be evicted: there are none".to_owned(),
            [] if rank.lacks_pods => {
                "not known: all pods that are known are critical, and not all are known".to_owned()
            }
            [] => "no pod can be evicted: all are critical".to_owned(),
            [one] => format!("{}{among}{spared}", name(one)),
            some => format!("one of {}: they are equal{among}{spared}", named(some)),
        },
    );
    text
}

fn parts(counted: FsParts) -> String {
    let FsParts { root, logs, local_volumes } = counted;
    let parts = [(root, "writable layers"), (logs, "logs"), (local_volumes, "local volumes")];
    let parts: Vec<&str> =
        parts.iter().filter_map(|(counts, part)| counts.then_some(*part)).collect();
    match parts.as_slice() {
        [] => "nothing that pods use: images only".to_owned(),
        some => some.join(", "),
    }
}

fn named(pods: &[PodName]) -> String {
    listed(&pods.iter().map(name).collect::<Vec<_>>())
}

fn listed(names: &[String]) -> String {
    match names.get(NAMED..) {
        Some(others) if !others.is_empty() => {
            format!("{} and {} others", names[..NAMED].join(", "), others.len())
        }
        _ => names.join(", "),
    }
}

fn pods(rank: &EvictionRank, is_wide: bool) -> Table {
    let of_disk = rank.counted.is_some();
    let rows: Vec<(&EvictionRank, &RankItem)> = rank.items.iter().map(|it| (rank, it)).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::new("RANK", |(_, it)| match it.last_rank {
            last if last == it.rank => it.rank.to_string(),
            last => format!("{}-{last}", it.rank),
        }),
        Column::new("POD", |(_, it)| name(&it.pod)),
        Column::new("PRIORITY", |(_, it)| it.priority.to_string()),
        // Inodes are not requested either: what counts in their place are bytes.
        Column::new("REQUEST", |(rank, it)| {
            it.request.map_or_else(|| unknown(rank), |request| bytes(request.unsigned_abs()))
        }),
        Column::new("USAGE", |(rank, it)| match it.usage {
            None => "unknown".to_owned(),
            Some(usage) => {
                let mark = if it.unmeasured.is_empty() { "" } else { " (in part)" };
                used(rank.resource, usage) + mark
            }
        }),
        Column::new("OVER", |(rank, it)| {
            it.over.map_or_else(|| unknown(rank), |over| amount(rank.signal, Some(over)))
        }),
        Column::new("EXCEEDS", |(rank, it)| match it.exceeds {
            None => unknown(rank),
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
        }),
        Column::new("CRITICAL", |(_, it)| if it.critical { "spared" } else { "no" }.to_owned()),
        Column::when(of_disk, Column::wide("LAYERS", |(rank, it)| part(rank, it, |it| it.root))),
        Column::when(of_disk, Column::wide("LOGS", |(rank, it)| part(rank, it, |it| it.logs))),
        Column::when(
            of_disk,
            Column::wide("VOLUMES", |(rank, it)| part(rank, it, |it| it.local_volumes)),
        ),
        Column::wide("SOFT-GRACE", |(_, it)| format!("{}s", it.soft_grace_seconds)),
        Column::wide("COUNTED-AS-0", |(_, it)| match it.unmeasured.as_slice() {
            [] => "-".to_owned(),
            some => some.join(", "),
        }),
        Column::wide("UID", |(_, it)| it.pod.uid.clone()),
        Column::new("WHY THERE", |(_, it)| it.because.clone()),
    ])
}

/// Returns the text for what was not measured; processes are never requested.
fn unknown(rank: &EvictionRank) -> String {
    if rank.resource == StarvedResource::Pids { "-" } else { "unknown" }.to_owned()
}

fn part(rank: &EvictionRank, item: &RankItem, of: fn(UsedParts) -> u64) -> String {
    item.parts.map_or_else(|| "unknown".to_owned(), |parts| used(rank.resource, of(parts)))
}

fn used(resource: StarvedResource, amount: u64) -> String {
    match resource {
        StarvedResource::Memory | StarvedResource::EphemeralStorage => bytes(amount),
        StarvedResource::Inodes | StarvedResource::Pids => amount.to_string(),
    }
}

//! Renders the order of eviction.

use super::pressure::PodName;
use super::pressure_view::{disks, thresholds};
use super::rank_report::{EvictionRank, RankItem, UsageFrom, UsedParts};
use super::reason::{amount, listed};
use super::usage::FsParts;
use kq_facts::kubelet_config::StarvedResource;
use kq_output::doc::Doc;
use kq_output::table::{self, Column, Rows, Table};
use kq_output::units::bytes;

/// Returns the order and the distance to an eviction.
pub fn table(rank: &EvictionRank) -> Doc {
    shown(rank, false)
}

/// Returns the same with the parts of the usage and the unmeasured amounts.
pub fn wide(rank: &EvictionRank) -> Doc {
    shown(rank, true)
}

fn shown(rank: &EvictionRank, is_wide: bool) -> Doc {
    let mut doc = summary(rank);
    if !rank.thresholds.is_empty() {
        doc.add_apart(thresholds(&rank.thresholds));
    }
    if !rank.items.is_empty() {
        doc.add_apart(pods(rank, is_wide));
    }
    doc
}

fn summary(rank: &EvictionRank) -> Doc {
    let mut doc = Doc::default();
    let mut line = |heading: &str, words: String| doc.line(format!("{heading:<10} {words}"));
    line("SIGNAL", format!("{} ({})", rank.signal, rank.condition));
    let how = match rank.usage.from {
        UsageFrom::StatsSummary => "as the kubelet measured it",
        UsageFrom::Cgroups => "measured on the machine: the kubelet did not answer",
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
            "inodes used minus the bytes of ephemeral storage requested, as in the kubelet"
                .to_owned(),
        );
    }
    for sentence in &rank.now {
        line("NOW", sentence.to_string());
    }
    for sentence in &rank.before {
        line("BEFORE", sentence.to_string());
    }
    if let Some(ahead) = rank.reclaimed {
        let first: Vec<String> = rank.first.one_of.iter().map(PodName::to_string).collect();
        line("RECLAIM", ahead.consequence(&first));
    }
    let spared = match rank.first.spared.as_slice() {
        [] => String::new(),
        some => format!("; critical and passed over: {}", named(some)),
    };
    let among = if rank.lacks_pods { ", among the known pods" } else { "" };
    let over = rank.first.over_own_limits;
    let without = match rank.thresholds.is_empty() && !rank.items.is_empty() && !over {
        true => "none; with a threshold ",
        false => "",
    };
    line(
        "FIRST",
        without.to_owned()
            + &match rank.first.one_of.as_slice() {
                [] if rank.items.is_empty() && !rank.basis.missing.is_empty() => {
                    "unknown: no pod has a rank".to_owned()
                }
                [] if rank.items.is_empty() => "no pod can be evicted: there are none".to_owned(),
                [] if rank.lacks_pods => {
                    "unknown: all known pods are critical, and others are unknown".to_owned()
                }
                [] => "no pod can be evicted: all are critical".to_owned(),
                over if rank.first.over_own_limits => {
                    format!("{}: above limits of their own", named(over))
                }
                [one] => format!("{one}{among}{spared}"),
                some => format!("one of {}: they are equal{among}{spared}", named(some)),
            },
    );
    doc
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
    listed(&pods.iter().map(PodName::to_string).collect::<Vec<_>>())
}

fn pods(rank: &EvictionRank, is_wide: bool) -> Table {
    let of_disk = rank.counted.is_some();
    let rows: Vec<(&EvictionRank, &RankItem)> = rank.items.iter().map(|it| (rank, it)).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::new("RANK", |(_, it)| match it.last_rank {
            last if last == it.rank => it.rank.to_string(),
            last => format!("{}-{last}", it.rank),
        }),
        Column::name("POD", |(_, it)| it.pod.to_string()),
        Column::new("PRIORITY", |(_, it)| it.priority.to_string()),
        // Inodes are not requested either: bytes count in their place.
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
        Column::when(
            of_disk,
            Column::wide(Column::new("LAYERS", |(rank, it)| part(rank, it, |it| it.root))),
        ),
        Column::when(
            of_disk,
            Column::wide(Column::new("LOGS", |(rank, it)| part(rank, it, |it| it.logs))),
        ),
        Column::when(
            of_disk,
            Column::wide(Column::new("VOLUMES", |(rank, it)| {
                part(rank, it, |it| it.local_volumes)
            })),
        ),
        Column::wide(Column::new("SOFT-GRACE", |(_, it)| format!("{}s", it.soft_grace_seconds))),
        Column::wide(Column::new("COUNTED-AS-0", |(_, it)| table::listed(&it.unmeasured, ", "))),
        Column::wide(Column::new("UID", |(_, it)| it.pod.uid.clone())),
        Column::text("WHY THERE", |(_, it)| {
            let because: Vec<String> = it.because.iter().map(ToString::to_string).collect();
            because.join("; ")
        }),
    ])
}

/// Returns the text for an unmeasured amount; processes are never requested.
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

//! Disk pressure for people.

use super::disks::DiskLayout;
use super::layout::Disks;
use super::pressure::{Act, GraceCase, PodName, Pressure, ThresholdRow};
use super::reclaim::ReclaimFunction;
use crate::facts::kubelet_config::{Signal, StarvedResource};
use crate::output::table::{Column, Rows, Table};
use crate::output::terminal::plain;
use crate::output::units::bytes;
use std::fmt::Write;

/// Returns what is decided, a sentence each; what is done now comes first.
pub(super) fn decision(pressure: &Pressure) -> Vec<String> {
    let mut lines = Vec::new();
    let evicted = pressure.local_storage.iter().filter(|pod| pod.evicted).count();
    if evicted > 0 {
        lines.push(format!(
            "pods that exceed limits of local storage of their own are evicted first ({evicted}); \
             thresholds wait for the next cycle"
        ));
    }
    if let Some(refused) = pressure.layout.refused {
        lines.push(format!(
            "the kubelet neither reclaims nor evicts for any threshold, because it stopped to prepare \
             for that: {refused}"
        ));
        return lines;
    }
    if pressure.reclaims.is_assumed {
        lines.extend(nothing_met(pressure));
        return lines;
    }
    for act in &pressure.acts {
        lines.push(of_act(pressure, act));
    }
    let certain = pressure.acts.iter().filter(|act| act.only_if.is_none()).count();
    if certain > 1 {
        lines.push(
            "which of these the kubelet takes first is left to chance; the others follow in later \
             cycles, as long as they are crossed"
                .to_owned(),
        );
    }
    lines
}

fn nothing_met(pressure: &Pressure) -> Vec<String> {
    let disks = || pressure.thresholds.iter().filter(|row| row.signal.filesystem().is_some());
    let as_if = |what: &str| {
        format!("what follows is {what} if imagefs.available were below its threshold")
    };
    let unseen = disks().filter(|row| row.met.is_none()).count();
    // The nearest to its threshold, in shares of what there is; exact, without division.
    let nearest = disks().filter(|row| row.met.is_some()).min_by(|left, right| {
        let share = |row: &ThresholdRow, other: &ThresholdRow| {
            i128::from(row.margin.unwrap_or(i64::MAX)) * i128::from(other.capacity.unwrap_or(1))
        };
        share(left, right).cmp(&share(right, left))
    });
    let now = match (nearest, unseen) {
        (Some(row), 0) => format!("nothing would be reclaimed now: {}, {} to go", numbers(row), {
            amount(row.signal, row.margin)
        }),
        (Some(row), unseen) => format!(
            "nothing would be reclaimed now for what was measured: {}, {} to go; {unseen} thresholds \
             could not be looked at",
            numbers(row),
            amount(row.signal, row.margin)
        ),
        (None, 0) => "nothing would be reclaimed: no threshold of a disk is configured".to_owned(),
        (None, _) => {
            "whether anything would be reclaimed now is not known: no disk was measured".to_owned()
        }
    };
    vec![now, as_if("what would go")]
}

fn of_act(pressure: &Pressure, act: &Act) -> String {
    let row = pressure
        .thresholds
        .iter()
        .find(|row| row.signal == act.signal && row.grace_period == act.grace_period);
    let kind = match act.grace_period.0 {
        0 => "crossed".to_owned(),
        _ => "crossed".to_owned() + &format!(" (soft, grace period {})", act.grace_period),
    };
    let crossed = match row {
        Some(row) => format!("{kind}: {}", numbers(row)),
        None => format!("{kind}: {}", act.signal),
    };
    let done = match act.reclaim {
        [] if act.resource == StarvedResource::Memory => {
            "nothing can be reclaimed for it, and it comes before disks: a pod is evicted"
        }
        [] => "nothing is reclaimed for it: a pod is evicted",
        some => cleared(some),
    };
    let only_if = match act.only_if {
        None => "",
        Some(GraceCase::GraceOver) => {
            ", once it has been crossed for its grace period, which one look cannot tell"
        }
        Some(GraceCase::GraceNotOver) => {
            ", unless a soft threshold of memory has been crossed for its grace period, which one look \
             cannot tell"
        }
    };
    format!("{crossed}; {done}{only_if}")
}

/// Returns what is cleared away.
pub(super) fn cleared(functions: &[ReclaimFunction]) -> &'static str {
    match functions {
        [] => "nothing is reclaimed",
        [ReclaimFunction::DeleteAllUnusedContainers] => {
            "dead containers are removed, and images stay"
        }
        [ReclaimFunction::DeleteUnusedImages] => "unused images are removed, and containers stay",
        _ => "dead containers are removed, then unused images",
    }
}

/// Returns the numbers of a threshold: `imagefs.available 44Gi, threshold 15% of 252Gi = 37.8Gi`.
pub(super) fn numbers(row: &ThresholdRow) -> String {
    format!("{} {}, threshold {}", row.signal, amount(row.signal, row.available), formula(row))
}

fn formula(row: &ThresholdRow) -> String {
    match row.configured.ends_with('%') {
        true => format!(
            "{} of {} = {}",
            row.configured,
            amount(row.signal, row.capacity),
            amount(row.signal, row.threshold)
        ),
        false => row.configured.clone(),
    }
}

pub(super) fn amount(signal: Signal, amount: Option<i64>) -> String {
    let Some(amount) = amount else { return "?".to_owned() };
    match signal.resource() {
        StarvedResource::Memory | StarvedResource::EphemeralStorage => {
            let sign = if amount < 0 { "-" } else { "" };
            format!("{sign}{}", bytes(amount.unsigned_abs()))
        }
        StarvedResource::Inodes | StarvedResource::Pids => amount.to_string(),
    }
}

/// Returns a line for each threshold.
pub fn table(pressure: &Pressure) -> Table {
    thresholds(&pressure.thresholds)
}

/// Returns a line for each threshold.
pub(super) fn thresholds(rows: &[ThresholdRow]) -> Table {
    Rows::of(rows).table(THRESHOLDS)
}

const THRESHOLDS: &[Column<ThresholdRow>] = &[
    Column::new("SIGNAL", |row| row.signal.to_string()),
    Column::new("KIND", |row| match row.grace_period.0 {
        0 => "hard".to_owned(),
        _ => format!("soft {}", row.grace_period),
    }),
    Column::new("THRESHOLD", formula),
    Column::new("AVAILABLE", |row| amount(row.signal, row.available)),
    Column::new("MARGIN", |row| amount(row.signal, row.margin)),
    Column::new("CROSSED", |row| {
        match row.met {
            None => "unknown",
            Some(true) => "yes",
            Some(false) => "no",
        }
        .to_owned()
    }),
    Column::new("WOULD-RECLAIM", |row| functions(row.reclaim).to_owned()),
];

fn functions(reclaim: &[ReclaimFunction]) -> &'static str {
    match reclaim {
        [] => "nothing",
        [ReclaimFunction::DeleteAllUnusedContainers] => "containers",
        [ReclaimFunction::DeleteUnusedImages] => "images",
        _ => "containers, images",
    }
}

/// Returns how the file systems lie, what the node reports, who goes: a line each, with a heading.
pub fn summary(pressure: &Pressure) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let mut line = |heading: &str, words: String| {
        let _ = writeln!(text, "{heading:<12} {}", plain(words));
    };
    line("DISKS", disks(&pressure.layout));
    let conditions: Vec<&str> =
        pressure.conditions.iter().map(|condition| condition.as_str()).collect();
    if !conditions.is_empty() {
        line("CONDITIONS", conditions.join(", "));
    }
    for pod in &pressure.local_storage {
        let fate = if pod.evicted { "is evicted" } else { "is critical and stays" };
        line("LIMITS", format!("{} {fate}: {}", name(&pod.pod), pod.exceeded.join("").trim_end()));
    }
    text
}

/// Returns how the file systems lie, and why that is so.
pub(super) fn disks(layout: &DiskLayout) -> String {
    let words = match layout.layout().disks() {
        Disks::One => "one for everything",
        Disks::ImagesApart => "images and writable layers apart from the kubelet's",
        Disks::ImagesAndContainersApart => "images apart from writable layers and the kubelet's",
    };
    format!("{words}: {}", layout.because.join("; "))
}

/// Returns what follows once something was reclaimed, a sentence each.
pub fn follows(pressure: &Pressure) -> Vec<String> {
    pressure.acts.iter().map(of_outcome).collect()
}

fn of_outcome(act: &Act) -> String {
    let signal = act.signal;
    let enough = act.settlement.as_ref().map(|settlement| settlement.enough);
    let because =
        act.settlement.as_ref().map(|settlement| settlement.because.as_str()).unwrap_or_default();
    let start = match enough {
        Some(Some(true)) => {
            return format!("{signal}: reclaiming is enough, and no pod has to go: {because}");
        }
        Some(Some(false)) => format!("{signal}: reclaiming is not enough ({because})"),
        _ => format!("{signal}: whether reclaiming is enough is not known ({because})"),
    };
    let certainly = enough == Some(Some(false));
    let goes = match (&act.victim, &act.victim_unknown) {
        (Some(victim), _) => {
            let or_else = match victim.or_else.as_slice() {
                [] => String::new(),
                others => {
                    let names: Vec<String> = others.iter().map(name).collect();
                    format!(" (or, equal to it, {})", names.join(", "))
                }
            };
            let condition = if certainly { "" } else { "if it is not, " };
            format!(
                "{condition}{}{or_else} is evicted within {}s: {}",
                name(&victim.pod),
                victim.grace_period_seconds,
                victim.message.trim_end()
            )
        }
        (None, Some(reason)) => format!("who would be evicted is not known: {reason}"),
        (None, None) => "no pod can be evicted: none is left, or all are critical".to_owned(),
    };
    format!("{start}; {goes}")
}

pub(super) fn name(pod: &PodName) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

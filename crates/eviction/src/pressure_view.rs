//! Renders the plan under disk pressure.

use super::disks::{DiskLayout, Disks};
use super::observation::ThresholdRow;
use super::pressure::{Pressure, PressureAction};
use super::reason::{amount, formula};
use super::reclaim_outcome::ReclaimFunction;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table};

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
    Column::text("WOULD-RECLAIM", |row| functions(row.reclaim).to_owned()),
];

fn functions(reclaim: &[ReclaimFunction]) -> &'static str {
    match reclaim {
        [] => "nothing",
        [ReclaimFunction::DeleteAllUnusedContainers] => "containers",
        [ReclaimFunction::DeleteUnusedImages] => "images",
        _ => "containers, images",
    }
}

/// Returns the layout, the conditions and the pods over their limits: a line each, with a heading.
pub fn summary(pressure: &Pressure) -> Doc {
    let mut doc = Doc::default();
    let mut line = |heading: &str, words: String| doc.line(format!("{heading:<12} {words}"));
    line("DISKS", disks(&pressure.layout));
    let conditions: Vec<&str> =
        pressure.conditions.iter().map(|condition| condition.as_str()).collect();
    if !conditions.is_empty() {
        line("CONDITIONS", conditions.join(", "));
    }
    for pod in &pressure.local_storage {
        let fate = if pod.evicted { "is evicted" } else { "is critical and stays" };
        line("LIMITS", format!("{} {fate}: {}", pod.pod, pod.exceeded.join("").trim_end()));
    }
    doc
}

/// Returns the layout of the file systems with its reasons.
pub(super) fn disks(layout: &DiskLayout) -> String {
    let words = match layout.layout().disks() {
        Disks::One => "one for everything",
        Disks::ImagesApart => "images and writable layers apart from the kubelet's",
        Disks::ImagesAndContainersApart => "images apart from writable layers and the kubelet's",
    };
    let because: Vec<String> = layout.because.iter().map(ToString::to_string).collect();
    format!("{words}: {}", because.join("; "))
}

/// Returns the outcome of each action after the reclaim.
pub fn follows(pressure: &Pressure) -> Vec<String> {
    pressure.acts.iter().map(PressureAction::outcome).collect()
}

//! The tables of the capacity.

use super::{CapacityReport, Count, Offered, State};
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, or_dash};

/// Shows a line per resource.
pub fn table(report: &CapacityReport) -> Table {
    lines(report, false)
}

/// Shows what the Node object says as well.
pub fn wide(report: &CapacityReport) -> Table {
    lines(report, true)
}

fn lines(report: &CapacityReport, wide: bool) -> Table {
    let rows: Vec<(&String, &Offered)> = report.resources.iter().collect();
    Rows::of(&rows).wide(wide).table(&[
        Column::new("RESOURCE", |(name, _)| (*name).clone()),
        Column::new("CAPACITY", |(_, offered)| count(offered.capacity)),
        Column::new("ALLOCATABLE", |(_, offered)| count(offered.allocatable)),
        Column::new("IN USE", |(_, offered)| {
            offered.allocated.map_or_else(unknown, |devices| devices.to_string())
        }),
        Column::state(
            "STATE",
            |(_, offered)| state(offered.state).to_owned(),
            |(_, offered)| tone(offered.state),
        ),
        Column::wide(Column::new("NODE CAPACITY", |(_, offered)| {
            or_dash(offered.node.and_then(|says| says.capacity))
        })),
        Column::wide(Column::new("NODE ALLOCATABLE", |(_, offered)| {
            or_dash(offered.node.and_then(|says| says.allocatable))
        })),
        Column::text("REASON", |(_, offered)| reason(offered)),
    ])
}

fn reason(offered: &Offered) -> String {
    let reason = offered.reason.clone();
    let Some(says) = offered.node.filter(|_| offered.contradicts) else { return reason };
    let told = |number: Option<i64>| number.map_or("nothing".to_owned(), |n| n.to_string());
    format!(
        "{reason}; but the Node object says {} of {}: the kubelet has not reported yet, or \
         another client did",
        told(says.allocatable),
        told(says.capacity)
    )
}

fn count(count: Option<Count>) -> String {
    match count {
        None => unknown(),
        Some(Count { devices, at_least: true }) => format!(">={devices}"),
        Some(Count { devices, at_least: false }) => devices.to_string(),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn tone(state: State) -> Option<Tone> {
    match state {
        State::Offered => Some(Tone::Good),
        State::Waiting | State::Unknown => Some(Tone::Doubtful),
        State::Removed => Some(Tone::Bad),
        State::NoneHealthy | State::OnlyRecorded | State::OnlyInNode | State::AsRecorded => None,
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Offered => "OFFERED",
        State::Waiting => "WAITING",
        State::NoneHealthy => "NONE HEALTHY",
        State::Removed => "REMOVED",
        State::OnlyRecorded => "ONLY RECORDED",
        State::OnlyInNode => "ONLY IN NODE",
        State::AsRecorded => "AS RECORDED",
        State::Unknown => "UNKNOWN",
    }
}

//! What the node offers, as tables.

use super::{CapacityReport, Count, NodeSays, State};
use crate::output::table::Table;

/// Shows a line per resource.
pub fn table(report: &CapacityReport) -> Table {
    lines(report, false)
}

/// Shows what the Node object says as well.
pub fn wide(report: &CapacityReport) -> Table {
    lines(report, true)
}

fn lines(report: &CapacityReport, wide: bool) -> Table {
    let mut headings = vec!["RESOURCE", "CAPACITY", "ALLOCATABLE", "IN USE", "STATE"];
    if wide {
        headings.extend(["NODE CAPACITY", "NODE ALLOCATABLE"]);
    }
    headings.push("REASON");
    let mut table = Table::new(headings.into_iter().map(str::to_owned).collect());
    for (name, offered) in &report.resources {
        let mut cells = vec![
            name.clone(),
            count(offered.capacity),
            count(offered.allocatable),
            offered.allocated.map_or_else(unknown, |devices| devices.to_string()),
            state(offered.state).to_owned(),
        ];
        if wide {
            let number = |of: fn(NodeSays) -> Option<i64>| {
                let number = offered.node.and_then(of);
                number.map_or_else(|| "-".to_owned(), |number| number.to_string())
            };
            cells.push(number(|says| says.capacity));
            cells.push(number(|says| says.allocatable));
        }
        let mut reason = offered.reason.clone();
        if let Some(says) = offered.node.filter(|_| offered.contradicts) {
            let told = |number: Option<i64>| number.map_or("nothing".to_owned(), |n| n.to_string());
            reason = format!(
                "{reason}; but the Node object says {} of {}: the kubelet has not reported yet, or \
                 somebody else did",
                told(says.allocatable),
                told(says.capacity)
            );
        }
        cells.push(reason);
        table.add(cells);
    }
    table
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

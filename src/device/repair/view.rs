//! A repair for people.

use super::plan::{Action, Item};
use super::report::DeviceRepair;
use crate::output::table::Table;
use std::collections::BTreeMap;

/// Returns a line for each entry that goes, and of a damaged file for those that are saved.
pub fn table(report: &DeviceRepair) -> Table {
    lines(report, |item| item.action != Action::Keep || report.error.is_some())
}

/// Returns a line for each entry.
pub fn wide(report: &DeviceRepair) -> Table {
    lines(report, |_| true)
}

/// Says why entries stay, once for each reason.
pub fn kept(report: &DeviceRepair) -> Vec<String> {
    const SHOWN: usize = 8;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for item in report.items.iter().filter(|item| item.action == Action::Keep) {
        *reasons.entry(&item.reason).or_default() += 1;
    }
    let more = reasons.len().saturating_sub(SHOWN);
    let said = reasons.into_iter().take(SHOWN);
    let said = said.map(|(reason, count)| format!("{}: {reason}", entries(count)));
    let more = (more > 0).then(|| format!("{more} more reasons: -o wide"));
    said.chain(more).collect()
}

/// Counts entries in words.
pub fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

fn lines(report: &DeviceRepair, is_shown: impl Fn(&Item) -> bool) -> Table {
    let headings = ["ACTION", "POD", "CONTAINER", "RESOURCE", "DEVICES", "REASON"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for item in report.items.iter().filter(|item| is_shown(item)) {
        let action = match item.action {
            Action::Keep => "keep",
            Action::Remove => "remove",
            Action::Drop => "drop",
        };
        table.add(vec![
            action.to_owned(),
            item.pod.clone().unwrap_or_else(|| item.pod_uid.clone()),
            item.container.clone(),
            item.resource.clone(),
            devices(item),
            item.reason.clone(),
        ]);
    }
    if report.lost > 0 {
        let unknown = || "?".to_owned();
        let reason = format!("at least {} that cannot be read at all", report.lost);
        table.add(vec!["lost".to_owned(), unknown(), unknown(), unknown(), unknown(), reason]);
    }
    table
}

/// Returns the ids, of many the first few.
fn devices(item: &Item) -> String {
    const SHOWN: usize = 4;
    let ids: Vec<&str> = item.device_ids.iter().take(SHOWN).map(String::as_str).collect();
    match item.device_ids.len().saturating_sub(SHOWN) {
        0 => ids.join(","),
        more => format!("{},... ({more} more)", ids.join(",")),
    }
}

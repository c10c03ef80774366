//! The tables of a repair.

use super::plan::{Action, DeviceRepair, Item};
use kq_output::table::{Column, Rows, Table};
use std::collections::BTreeMap;

/// Returns a line for each entry that goes, and of a damaged file for those that are saved.
pub fn table(report: &DeviceRepair) -> Table {
    lines(report, |item| item.action != Action::Keep || report.error.is_some())
}

/// Returns a line for each entry.
pub fn wide(report: &DeviceRepair) -> Table {
    lines(report, |_| true)
}

/// Returns the reason why entries stay, once for each reason.
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
    // Entries that cannot be read at all are counted in a line of their own.
    let lost = (report.lost > 0).then_some((report.lost, None));
    let items = report.items.iter().filter(|item| is_shown(item)).map(|item| (0, Some(item)));
    let rows: Vec<(usize, Option<&Item>)> = items.chain(lost).collect();
    Rows::of(&rows).table(&[
        Column::text("ACTION", |(_, item)| {
            match item.map(|item| item.action) {
                Some(Action::Keep) => "keep",
                Some(Action::Remove) => "remove",
                Some(Action::Drop) => "drop",
                None => "lost",
            }
            .to_owned()
        }),
        Column::name("POD", |(_, item)| {
            known(*item, |item| item.pod.clone().unwrap_or_else(|| item.pod_uid.clone()))
        }),
        Column::name("CONTAINER", |(_, item)| known(*item, |item| item.container.clone())),
        Column::new("RESOURCE", |(_, item)| known(*item, |item| item.resource.clone())),
        Column::text("DEVICES", |(_, item)| known(*item, devices)),
        Column::text("REASON", |(lost, item)| match item {
            Some(item) => item.reason.clone(),
            None => format!("at least {lost} that cannot be read"),
        }),
    ])
}

fn known(item: Option<&Item>, text: fn(&Item) -> String) -> String {
    item.map_or_else(|| "?".to_owned(), text)
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

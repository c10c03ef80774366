//! The disk for people.

use super::{Account, FsPlace, ImageDisk, Part, Rest};
use crate::facts::timestamp::Timestamp;
use crate::image_gc::plan::{ago, short};
use crate::output::table::Table;
use crate::output::units::bytes;
use std::fmt::Write;

/// Returns the disk in short.
pub fn describe(disk: &ImageDisk) -> String {
    text(disk, false)
}

/// Returns the disk with everything that is known.
pub fn describe_wide(disk: &ImageDisk) -> String {
    text(disk, true)
}

fn text(disk: &ImageDisk, is_wide: bool) -> String {
    let mut text = head(disk).to_string();
    let mut add = |table: &Table| {
        // Writing to a text does not fail.
        let _ = write!(text, "\n{table}");
    };
    add(&parts(&disk.parts, &disk.rest, is_wide));
    if !disk.largest_layers.is_empty() {
        add(&layers(disk, is_wide));
    }
    add(&accounts(&disk.accounts, disk.at, is_wide));
    if !disk.differences.is_empty() {
        let mut lines = lines("WHY THEY DIFFER");
        disk.differences.iter().for_each(|difference| lines.add(vec![difference.clone()]));
        add(&lines);
    }
    add(&signals(disk));
    text
}

fn lines(heading: &str) -> Table {
    Table::new(vec![heading.to_owned()])
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn head(disk: &ImageDisk) -> Table {
    let judged = &disk.judged;
    let path = judged.path.as_deref().unwrap_or("unknown");
    let mut table = Table::new(row(&["JUDGED", path]));
    match (&judged.filesystem, &judged.unknown) {
        (Some(filesystem), _) => {
            let on = format!(
                "{} on {}, device {}, {} of {} available",
                filesystem.kind,
                filesystem.mount_point,
                filesystem.device,
                bytes(filesystem.available_bytes),
                bytes(filesystem.capacity_bytes)
            );
            table.add(row(&["", &on]));
        }
        (None, reason) => {
            let unknown = format!("unknown: {}", reason.as_deref().unwrap_or("not looked for"));
            table.add(row(&["", &unknown]));
        }
    }
    for because in &judged.because {
        table.add(row(&["", because]));
    }
    let layout = &disk.layout;
    for (label, place) in [
        ("NODEFS", &layout.node_fs),
        ("IMAGEFS", &layout.image_fs),
        ("CONTAINERFS", &layout.container_fs),
    ] {
        table.add(row(&[label, &place_text(place)]));
    }
    for (index, follows) in layout.follows.iter().enumerate() {
        table.add(row(&[if index == 0 { "SO" } else { "" }, follows]));
    }
    table
}

fn place_text(place: &FsPlace) -> String {
    let path = place.path.as_deref().unwrap_or("?");
    match (&place.device, &place.mount_point, &place.unknown) {
        (Some(device), Some(mount_point), _) => {
            format!("device {device} on {mount_point} ({path})")
        }
        (_, _, reason) => format!("unknown: {}", reason.as_deref().unwrap_or("not looked for")),
    }
}

fn size(amount: Option<u64>) -> String {
    amount.map_or_else(|| "unknown".to_owned(), bytes)
}

fn signed(amount: i64) -> String {
    let sign = if amount < 0 { "-" } else { "" };
    format!("{sign}{}", bytes(amount.unsigned_abs()))
}

fn parts(parts: &[Part], rest: &Rest, is_wide: bool) -> Table {
    let mut headings = row(&["WHAT", "SIZE"]);
    if is_wide {
        headings.extend(row(&["BYTES", "COUNTED-BY"]));
    }
    headings.extend(row(&["FOLDER", "NOTE"]));
    let mut table = Table::new(headings);
    for part in parts {
        let mut cells = vec![part.what.to_string(), size(part.bytes)];
        if is_wide {
            cells.push(part.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()));
            cells.push(
                Some(part.counted_by.clone()).filter(|by| !by.is_empty()).unwrap_or("-".into()),
            );
        }
        cells.push(part.path.clone().unwrap_or_else(|| "-".to_owned()));
        cells.push(note(part));
        table.add(cells);
    }
    let mut cells =
        vec!["the rest".to_owned(), rest.bytes.map_or_else(|| "unknown".to_owned(), signed)];
    if is_wide {
        cells.push(rest.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()));
        cells.push("capacity - available - the above".to_owned());
    }
    let mut notes = vec!["nobody accounts for it".to_owned()];
    if rest.bytes.is_some_and(|bytes| bytes < 0) {
        notes = vec!["negative: something is counted twice, or was not counted now".to_owned()];
    }
    if !rest.may_hold.is_empty() {
        notes.push(format!("may hold {}", rest.may_hold.join(", ")));
    }
    cells.push("-".to_owned());
    cells.push(notes.join("; "));
    table.add(cells);
    table
}

fn note(part: &Part) -> String {
    let mut notes = Vec::new();
    match (part.on_image_device, &part.device) {
        (Some(false), Some(device)) => notes.push(format!("on another device, {device}")),
        (None, _) => notes.push("on a device that is not known".to_owned()),
        _ => {}
    }
    if let Some(within) = &part.within {
        notes.push(format!("within {within}"));
    }
    notes.extend(part.unknown.clone());
    if notes.is_empty() { "-".to_owned() } else { notes.join("; ") }
}

fn layers(disk: &ImageDisk, is_wide: bool) -> Table {
    let mut table = Table::new(row(&["LARGEST LAYERS", "SIZE", "CONTAINER-ID"]));
    for layer in &disk.largest_layers {
        let name = match (&layer.pod, &layer.container) {
            (Some(pod), Some(container)) => format!("{pod}/{container}"),
            _ => "?".to_owned(),
        };
        let id = if is_wide { &layer.container_id } else { short(&layer.container_id) };
        table.add(vec![name, bytes(layer.bytes), id.to_owned()]);
    }
    table
}

fn accounts(accounts: &[Account], now: Timestamp, is_wide: bool) -> Table {
    let mut table = Table::new(row(&["WHO SAYS", "CAPACITY", "AVAILABLE", "USED", "MEASURED"]));
    let amount = |amount: Option<u64>| match amount {
        None => "-".to_owned(),
        Some(amount) if is_wide => amount.to_string(),
        Some(amount) => bytes(amount),
    };
    for account in accounts {
        let measured = match (&account.unknown, account.at) {
            (Some(reason), _) => format!("unknown: {reason}"),
            (None, None) => "?".to_owned(),
            (None, Some(at)) if at >= now => "now".to_owned(),
            (None, Some(at)) => format!("{} ago", ago(now.since(at))),
        };
        table.add(vec![
            account.source.clone(),
            amount(account.capacity_bytes),
            amount(account.available_bytes),
            amount(account.used_bytes),
            measured,
        ]);
    }
    table
}

fn signals(disk: &ImageDisk) -> Table {
    let mut table =
        Table::new(row(&["EVICTION SIGNAL", "SEES IMAGES", "THRESHOLDS", "REMOVES FIRST"]));
    for signal in &disk.layout.signals {
        let sees = match signal.looks_at_images {
            Some(true) => "yes",
            Some(false) => "no",
            None => "?",
        };
        let listed = |list: &[&str], separator: &str| match list {
            [] => "-".to_owned(),
            list => list.join(separator),
        };
        let thresholds = signal.thresholds.as_ref().map_or_else(
            || "?".to_owned(),
            |set| listed(&set.iter().map(String::as_str).collect::<Vec<_>>(), ", "),
        );
        let reclaims = signal.reclaims.as_ref();
        table.add(vec![
            signal.signal.clone(),
            sees.to_owned(),
            thresholds,
            reclaims.map_or_else(|| "?".to_owned(), |reclaims| listed(reclaims, ", then ")),
        ]);
    }
    table
}

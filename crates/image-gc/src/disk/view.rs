//! The disk for people.

use super::{Account, FsPlace, ImageDisk, LayerUse, Part, Rest, SignalFilesystem};
use crate::plan::short;
use kq_facts::timestamp::Timestamp;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, listed, or_dash};
use kq_output::units::{self, Precision, bytes};

const LAYERS: &[Column<LayerUse>] = &[
    Column::new("LARGEST LAYERS", |layer| match (&layer.pod, &layer.container) {
        (Some(pod), Some(container)) => format!("{pod}/{container}"),
        _ => "?".to_owned(),
    }),
    Column::new("SIZE", |layer| bytes(layer.bytes)),
    Column::narrow(Column::new("CONTAINER-ID", |layer| short(&layer.container_id).to_owned())),
    Column::wide(Column::new("CONTAINER-ID", |layer| layer.container_id.clone())),
];

const DIFFERENCES: &[Column<String>] = &[Column::text("WHY THEY DIFFER", String::clone)];

const SIGNALS: &[Column<SignalFilesystem>] = &[
    Column::new("EVICTION SIGNAL", |signal| signal.signal.clone()),
    Column::text("SEES IMAGES", |signal| {
        match signal.looks_at_images {
            Some(true) => "yes",
            Some(false) => "no",
            None => "?",
        }
        .to_owned()
    }),
    Column::text("THRESHOLDS", |signal| match &signal.thresholds {
        None => "?".to_owned(),
        Some(set) => or_dash((!set.is_empty()).then(|| set.join(", "))),
    }),
    Column::text("REMOVES FIRST", |signal| match &signal.reclaims {
        None => "?".to_owned(),
        Some(list) => or_dash((!list.is_empty()).then(|| list.join(", then "))),
    }),
];

/// Returns the disk in short.
pub fn describe(disk: &ImageDisk) -> Doc {
    doc(disk, false)
}

/// Returns the disk with everything that is known.
pub fn describe_wide(disk: &ImageDisk) -> Doc {
    doc(disk, true)
}

fn doc(disk: &ImageDisk, is_wide: bool) -> Doc {
    let mut doc = Doc::from(head(disk));
    doc.add_apart(parts(&disk.parts, &disk.rest, is_wide));
    if !disk.largest_layers.is_empty() {
        doc.add_apart(Rows::of(&disk.largest_layers).wide(is_wide).table(LAYERS));
    }
    doc.add_apart(accounts(&disk.accounts, disk.at, is_wide));
    if !disk.differences.is_empty() {
        doc.add_apart(Rows::of(&disk.differences).table(DIFFERENCES));
    }
    doc.add_apart(Rows::of(&disk.layout.signals).table(SIGNALS));
    doc
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn head(disk: &ImageDisk) -> Table {
    let judged = &disk.judged;
    let path = judged.path.as_deref().unwrap_or("unknown");
    let mut table = Table::listing(row(&["JUDGED", path]));
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
        table.add(row(&["", &because.to_string()]));
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

fn parts(parts: &[Part], rest: &Rest, is_wide: bool) -> Table {
    let all = parts.iter().map(|part| (Some(part), rest));
    let rows: Vec<(Option<&Part>, &Rest)> = all.chain([(None, rest)]).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::text("WHAT", |(part, _)| match part {
            Some(part) => part.what.to_string(),
            None => "the rest".to_owned(),
        }),
        Column::new("SIZE", |(part, rest)| match part {
            Some(part) => size(part.bytes),
            None => rest
                .bytes
                .map_or_else(|| "unknown".to_owned(), |amount| Precision::Short.bytes(amount)),
        }),
        Column::wide(Column::new("BYTES", |(part, rest)| match part {
            Some(part) => or_dash(part.bytes),
            None => or_dash(rest.bytes),
        })),
        Column::wide(Column::new("COUNTED-BY", |(part, _)| match part {
            Some(part) => or_dash(Some(&part.counted_by).filter(|by| !by.is_empty())),
            None => "capacity - available - the above".to_owned(),
        })),
        Column::new("FOLDER", |(part, _)| or_dash(part.and_then(|part| part.path.as_ref()))),
        Column::text("NOTE", |(part, rest)| match part {
            Some(part) => note(part),
            None => note_on_rest(rest),
        }),
    ])
}

fn note_on_rest(rest: &Rest) -> String {
    let mut notes = vec!["not accounted for".to_owned()];
    if rest.bytes.is_some_and(|bytes| bytes < 0) {
        notes = vec!["negative: something is counted twice, or was not counted now".to_owned()];
    }
    if !rest.may_hold.is_empty() {
        notes.push(format!("may hold {}", rest.may_hold.join(", ")));
    }
    notes.join("; ")
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
    listed(notes, "; ")
}

fn accounts(accounts: &[Account], now: Timestamp, is_wide: bool) -> Table {
    let rows: Vec<(Timestamp, &Account)> = accounts.iter().map(|it| (now, it)).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::text("WHO SAYS", |(_, it)| it.source.clone()),
        Column::narrow(Column::new("CAPACITY", |(_, it)| or_dash(it.capacity_bytes.map(bytes)))),
        Column::wide(Column::new("CAPACITY", |(_, it)| or_dash(it.capacity_bytes))),
        Column::narrow(Column::new("AVAILABLE", |(_, it)| or_dash(it.available_bytes.map(bytes)))),
        Column::wide(Column::new("AVAILABLE", |(_, it)| or_dash(it.available_bytes))),
        Column::narrow(Column::new("USED", |(_, it)| or_dash(it.used_bytes.map(bytes)))),
        Column::wide(Column::new("USED", |(_, it)| or_dash(it.used_bytes))),
        Column::new("MEASURED", |(now, it)| match (&it.unknown, it.at) {
            (Some(reason), _) => format!("unknown: {reason}"),
            (None, None) => "?".to_owned(),
            (None, Some(at)) if at >= *now => "now".to_owned(),
            (None, Some(at)) => format!("{} ago", units::age(now.since(at))),
        }),
    ])
}

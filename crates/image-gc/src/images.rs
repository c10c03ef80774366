//! The images of a node as a table: what `crictl images` leaves out.

use crate::cycle::image_key;
use crate::plan::{names, short, size};
use crate::uses::{Use, Uses, recorded_handler};
use kq_answer::{Basis, answer};
use kq_facts::image_records::ImageRecords;
use kq_facts::runtime::{ContainerState, Image};
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_output::table::{Column, Rows, Table, listed};
use kq_output::units::age;
use serde::Serialize;

/// All images as a value.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageList {
    /// The moment of everything.
    pub at: Timestamp,
    /// The images; the largest first.
    pub items: Vec<ImageRow>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ImageList", ImageList);

/// An image and its users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageRow {
    pub id: String,
    /// The class of runtime for which it was pulled.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
    /// `NAME:TAG`
    pub tags: Vec<String>,
    /// `NAME@DIGEST`
    pub digests: Vec<String>,
    /// In bytes.
    pub size_bytes: i64,
    /// The runtime wants it kept.
    pub pinned: bool,
    /// The first time in kq's records; null: there are no records of it.
    pub first_seen: Option<Timestamp>,
    /// When it was last used by a container that ran; null: unknown.
    pub last_used: Option<Timestamp>,
    /// Who says so.
    pub last_used_by: Option<LastUsedBy>,
    /// The containers that use it.
    pub used_by: Vec<Use>,
}

/// The source of the last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LastUsedBy {
    /// A container runs.
    Running,
    /// The runtime says when the last container ended.
    Runtime,
    /// kq's own records.
    Records,
}

impl ImageList {
    /// Puts the images of a runtime together with what is known of them.
    pub fn of(
        images: &[Image],
        uses: &Uses,
        records: Option<&ImageRecords>,
        rules: KubeletRules,
        at: Timestamp,
    ) -> Self {
        let mut items: Vec<ImageRow> =
            images.iter().map(|image| row(image, uses, records, rules, at)).collect();
        items.sort_by(|a, b| (b.size_bytes, &a.tags, &a.id).cmp(&(a.size_bytes, &b.tags, &b.id)));
        Self { at, items, basis: Basis::default() }
    }
}

fn row(
    image: &Image,
    uses: &Uses,
    records: Option<&ImageRecords>,
    rules: KubeletRules,
    at: Timestamp,
) -> ImageRow {
    let key = image_key(image.id.as_str(), &image.runtime_handler, rules);
    let used_by = uses.of_key(&key).to_vec();
    let record = records.and_then(|records| records.get(&image.id, recorded_handler(image, rules)));
    let runs = used_by.iter().any(|used| used.state == ContainerState::Running);
    let ended = used_by.iter().filter_map(|used| used.finished_at).max();
    let recorded = record.and_then(|record| record.last_used);
    let last = match (runs, ended, recorded) {
        (true, ..) => Some((at, LastUsedBy::Running)),
        (_, Some(ended), _) => Some((ended, LastUsedBy::Runtime)),
        (_, _, Some(recorded)) => Some((recorded, LastUsedBy::Records)),
        _ => None,
    };
    ImageRow {
        id: image.id.clone(),
        runtime_handler: image.runtime_handler.clone(),
        tags: image.repo_tags.clone(),
        digests: image.repo_digests.clone(),
        size_bytes: image.size as i64,
        pinned: image.pinned,
        first_seen: record.map(|record| record.first_detected),
        last_used: last.map(|(time, _)| time),
        last_used_by: last.map(|(_, who)| who),
        used_by,
    }
}

/// Returns a line for each image.
pub fn table(list: &ImageList) -> Table {
    images(list, false)
}

/// Returns a line for each image with all names, the whole id and all users.
pub fn wide(list: &ImageList) -> Table {
    images(list, true)
}

fn images(list: &ImageList, is_wide: bool) -> Table {
    let rows: Vec<(Timestamp, &ImageRow)> = list.items.iter().map(|row| (list.at, row)).collect();
    Rows::of(&rows).wide(is_wide).table(&[
        Column::narrow(Column::name("IMAGE", |(_, row)| names(&row.tags, &row.digests))),
        Column::wide(Column::name("IMAGE", |(_, row)| match row.tags.as_slice() {
            [] => names(&row.tags, &row.digests),
            tags => tags.join(","),
        })),
        Column::narrow(Column::new("ID", |(_, row)| short(&row.id).to_owned())),
        Column::wide(Column::new("ID", |(_, row)| row.id.clone())),
        Column::new("SIZE", |(_, row)| size(row.size_bytes)),
        Column::new("SEEN", |(at, row)| since(row.first_seen, *at)),
        Column::new("LAST-USED", |(at, row)| since(row.last_used, *at)),
        Column::new("PINNED", |(_, row)| if row.pinned { "yes" } else { "no" }.to_owned()),
        Column::narrow(Column::text("USED-BY", |(_, row)| match row.used_by.as_slice() {
            [] => "-".to_owned(),
            [only] => only.to_string(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        })),
        Column::wide(Column::text("USED-BY", |(_, row)| listed(&row.used_by, ","))),
        Column::wide(Column::new("DIGESTS", |(_, row)| listed(&row.digests, ","))),
    ])
}

fn since(time: Option<Timestamp>, at: Timestamp) -> String {
    match time {
        None => "?".to_owned(),
        Some(time) if time >= at => "now".to_owned(),
        Some(time) => age(at.since(time)),
    }
}

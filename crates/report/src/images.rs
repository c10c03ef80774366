//! What the disk holds: the images of `kq gc dry-run` as a treemap, and the disk with the thresholds.

use super::answers::{Found, NodePage, doubts, names};
use super::disk;
use super::findings::{about, without};
use super::mark::{Mark, Place, percent};
use super::memory::size;
use super::scale::part;
use super::section::{Section, figure, key, table};
use super::text::{code, moment, shown, words};
use super::treemap::{Rect, treemap};
use kq_core::question::kinds::{ImageGcAnswer, PlannedImage};
use kq_image_gc::images::ImageRow;
use kq_image_gc::plan::Verdict;
use kq_image_gc::uses::Use;
use kq_output::units::{bytes, counted};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of images, in the order of the picture: class and meaning.
const FATES: [(&str, &str); 5] = [
    ("f-next", "removed next"),
    ("f-after", "after that"),
    (STAYS, "unused, stays"),
    ("f-pinned", "pinned"),
    ("f-used", "in use"),
];
const STAYS: &str = "f-stays";

/// Returns the place of a verdict in [`FATES`].
fn fate(verdict: Verdict) -> usize {
    match verdict {
        Verdict::RemovedForSpace | Verdict::RemovedForAge => 0,
        Verdict::TargetReached => 1,
        Verdict::TooYoung
        | Verdict::UsedSince
        | Verdict::NotWanted
        | Verdict::NoId
        | Verdict::Kept => 2,
        Verdict::Pinned => 3,
        Verdict::InUse => 4,
    }
}

/// Returns the section.
pub fn images(page: &NodePage<'_>) -> Section {
    let (id, title) = ("images", "Images and disk");
    match page.collection() {
        Ok(found) => {
            let usage = found.answer.plan.run.usage;
            Section {
                id,
                title,
                state: usage.map_or_else(
                    || "usage unknown".to_owned(),
                    |usage| format!("{} % full", usage.percent),
                ),
                lead: html! { (lead(found.answer)) },
                body: html! { (about(page, id)) (disk::disk(page, &found)) (body(page, &found)) (disk::parts(page)) },
            }
        }
        Err(why) => without(page, (id, title), names::GC, why),
    }
}

fn lead(gc: &ImageGcAnswer) -> String {
    let (items, freed) = (&gc.plan.items, &gc.plan.freed);
    let all: i64 = items.iter().map(|item| item.size_bytes).sum();
    let of = format!("{} with {}.", counted(items.len(), "image"), size(all));
    match (gc.plan.run.wants_space, freed.images) {
        (None, 0) => format!("{of} Whether the next collection removes any is unknown."),
        (Some(false), 0) => format!("{of} The next collection removes none."),
        (_, images) => format!(
            "{of} The next collection removes {}, {}.",
            counted(images, "image"),
            size(freed.counted_bytes)
        ),
    }
}

/// An image of the plan, and its place in the embedded answer.
type Image<'a> = (&'a PlannedImage, Place<'a>);

fn body(page: &NodePage<'_>, found: &Found<'_, ImageGcAnswer>) -> Markup {
    let items = Place::new(found.id, "/items").each(&found.answer.plan.items);
    let list = page.find(names::IMAGES, page.node.images.as_ref()).ok();
    let times = list.map(|list| list.answer.items.as_slice()).unwrap_or_default();
    let times: BTreeMap<&str, &ImageRow> =
        times.iter().map(|image| (image.id.as_str(), image)).collect();
    html! {
        @if !items.is_empty() {
            (figure("Images by size, a treemap: the area of a rectangle is the size of an image, and images of the same fate \
                     stand together", picture(&items), html! {
                @for (at, (class, meaning)) in FATES.iter().enumerate() {
                    @let of: Vec<i64> = items.iter().filter(|(it, _)| fate(it.verdict) == at).map(|(it, _)| it.size_bytes).collect();
                    @if !of.is_empty() { (key(class, &format!("{meaning}: {}, {}", of.len(), size(of.iter().sum())))) }
                }
                @if items.iter().any(|(image, _)| shared_part(image) > 0.0) {
                    (key("shared", "layers that other images hold as well: they stay while one of those stays"))
                }
                span.key { "Area: size as the kubelet counts it. Numbers: the order of removal." }
            }))
        }
        (table("Images, in the order of removal", items.len(), "image",
            html! {
                th.num scope="col" { "Place" } th scope="col" { "Image" } th.num scope="col" { "Size" }
                th.num scope="col" { "Own layers" } th.num scope="col" { "Shared layers" } th scope="col" { "Fate" }
                th scope="col" { "Certainty" } th scope="col" { "Used by" } th scope="col" { "Last used" } th scope="col" { "Why" }
            },
            html! { @for (item, _) in &items { (line(item, times.get(item.id.as_str()).copied())) } }))
        (doubts(found))
    }
}

/// Returns the pods that use an image, as rows and marks name them.
fn users(used_by: &[Use]) -> Vec<String> {
    let mut named = BTreeSet::new();
    let pods = used_by.iter().map(|user| shown(&user.pod));
    pods.filter(|pod| !pod.is_empty() && named.insert(pod.clone())).collect()
}

/// The height of the picture in pixels, and the width for which its rectangles are square.
const HEIGHT: f64 = 320.0;
const WIDTH: f64 = 900.0;

fn picture(items: &[Image<'_>]) -> Markup {
    let mut groups: Vec<Vec<&Image<'_>>> = vec![Vec::new(); FATES.len()];
    for item in items {
        groups[fate(item.0.verdict)].push(item);
    }
    let bytes = |item: &&Image<'_>| item.0.size_bytes.max(0) as f64;
    let sums: Vec<f64> = groups.iter().map(|group| group.iter().map(bytes).sum()).collect();
    let whole = Rect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    let regions = treemap(&sums, whole);
    html! {
        svg.treemap width="100%" height=(HEIGHT) {
            @for ((group, region), (class, _)) in groups.iter().zip(regions).zip(FATES) {
                @let values: Vec<f64> = group.iter().map(bytes).collect();
                @for (item, rect) in group.iter().zip(treemap(&values, region)) {
                    @if rect.area() > 0.0 { (cell(item, rect, class)) }
                }
            }
        }
    }
}

fn cell((image, place): &Image<'_>, rect: Rect, class: &str) -> Markup {
    let name = shown(image.name());
    // The end of a name distinguishes images.
    let label = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let users = users(&image.used_by);
    let mut mark = Mark::new("svg", &format!("cell {class}"))
        .across(rect.x / WIDTH, rect.width / WIDTH)
        .with("y", format!("{:.2}", rect.y))
        .with("height", format!("{:.2}", rect.height))
        .called(name)
        .of(place)
        .data("sizeBytes", &image.size_bytes)
        .data("ownBytes", &image.own_bytes)
        .data("sharedBytes", &image.shared_bytes)
        .data("verdict", &image.verdict)
        .data("certainty", &image.certainty)
        .data("place", &image.place);
    if !users.is_empty() {
        mark = mark.with("data-pods", users.join(" "));
    }
    // The lower part of the rectangle are shared layers.
    let shared = shared_part(image);
    mark.holding(html! {
        rect {}
        @if shared > 0.0 { rect.shared y=(percent(1.0 - shared)) height=(percent(shared)) {} }
        @if rect.height >= 20.0 && rect.width >= 24.0 {
            text x="7" y="16" { @if let Some(place) = image.place { (place) ". " } (label) }
        }
        @if rect.height >= 38.0 && rect.width >= 40.0 { text.sub x="7" y="32" { (size(image.size_bytes)) } }
    })
}

/// Returns how much of an image's layers other images hold as well, from 0 to 1.
fn shared_part(image: &PlannedImage) -> f64 {
    let bytes = |amount: Option<u64>| amount.unwrap_or_default() as f64;
    let (own, shared) = (bytes(image.own_bytes), bytes(image.shared_bytes));
    part(shared, own + shared)
}

fn line(image: &PlannedImage, times: Option<&ImageRow>) -> Markup {
    let (class, meaning) = FATES[fate(image.verdict)];
    let users = users(&image.used_by);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    html! {
        tr data-pod=[Some(users.join(" ")).filter(|users| !users.is_empty())] {
            td.num { (or_dash(image.place.map(|place| place.to_string()))) }
            th scope="row" { (shown(image.name())) }
            td.num { (size(image.size_bytes)) }
            td.num { (or_dash(image.own_bytes.map(bytes))) }
            td.num { (or_dash(image.shared_bytes.map(bytes))) }
            td { span.dot.(class) aria-hidden="true" {} (meaning) @if class == STAYS { span.dim { ": " (words(&code(&image.verdict))) } } }
            td { (image.certainty) }
            td { @for (at, user) in users.iter().take(3).enumerate() { @if at > 0 { ", " } (user) } @if users.len() > 3 { " and " (users.len() - 3) " more" } }
            td.time { (or_dash(times.and_then(|times| times.last_used).map(|last| moment(&last.to_string())))) }
            td.dim { (shown(&format!("{:#}", image.reason.0))) }
        }
    }
}

/// Returns the part of a disk that an amount is, as an attribute.
pub fn at(amount: f64, whole: f64) -> String {
    percent(part(amount, whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::runtime::ContainerState;
    use kq_facts::timestamp::Timestamp;

    #[test]
    fn a_pod_is_named_once() {
        let user = |pod: &str| Use {
            pod: pod.to_owned(),
            container: "c".to_owned(),
            container_id: "1".to_owned(),
            state: ContainerState::Running,
            is_volume: false,
            created_at: Timestamp::default(),
            finished_at: None,
        };
        assert_eq!(users(&["x/a", "x/a", ""].map(user)), ["x/a"]);
    }
}

//! What the disk holds: the images of `kq gc dry-run` as a treemap, and the disk with the thresholds.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::disk;
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::memory::size;
use super::scale::part;
use super::section::{Section, figure, key, table};
use super::text::{moment, shown, words};
use super::treemap::{Rect, treemap};
use kq_core::question::kinds::{ImageGcAnswer, PlannedImage};
use kq_output::units::counted;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of images, in the order of the picture: class, verdicts, meaning.
const FATES: [(&str, &[&str], &str); 5] = [
    ("f-next", &["removedForSpace", "removedForAge"], "removed next"),
    ("f-after", &["targetReached"], "after that"),
    ("f-stays", &["tooYoung", "usedSince", "notWanted", "noId", "kept"], "unused, stays"),
    ("f-pinned", &["pinned"], "pinned"),
    ("f-used", &["inUse"], "in use"),
];

/// Returns the section.
pub fn images(page: &NodePage<'_>) -> Section {
    let (id, title) = ("images", "Images and disk");
    match page.collection() {
        Ok((found, gc)) => {
            let percent = found.value.number("/run/usage/percent");
            Section {
                id,
                title,
                state: percent.map_or_else(
                    || "usage unknown".to_owned(),
                    |percent| format!("{percent} % full"),
                ),
                lead: html! { (lead(found.value)) },
                body: html! { (about(page, id)) (disk::disk(page, found)) (body(page, found, gc)) (disk::parts(page)) },
            }
        }
        Err(why) => Section {
            id,
            title,
            state: "no answer".to_owned(),
            lead: html! {},
            body: html! { (about(page, id)) (no_answer(page.questions.get(names::GC), why)) },
        },
    }
}

fn lead(gc: &Value) -> String {
    let images =
        usize::try_from(gc.number("/freed/images").unwrap_or_default()).unwrap_or_default();
    let items = gc.list("items");
    let all: i64 = items.iter().filter_map(|item| item.number("sizeBytes")).sum();
    let of = format!("{} with {}.", counted(items.len(), "image"), size(all));
    match (gc.field("/run/wantsSpace").as_bool(), images) {
        (None, 0) => format!("{of} Whether the next collection removes any is unknown."),
        (Some(false), 0) => format!("{of} The next collection removes none."),
        (_, images) => {
            let freed = gc.number("/freed/countedBytes").unwrap_or_default();
            format!(
                "{of} The next collection removes {}, {}.",
                counted(images, "image"),
                size(freed)
            )
        }
    }
}

/// Returns the place of a verdict in [`FATES`].
fn fate(verdict: &str) -> usize {
    FATES.iter().position(|(_, verdicts, _)| verdicts.contains(&verdict)).unwrap_or(2)
}

fn body(page: &NodePage<'_>, found: Found<'_>, gc: &ImageGcAnswer) -> Markup {
    let places = Place::all(found.id, found.value, "/items");
    let list = page.find(names::IMAGES).ok();
    let times = list.map(|list| list.value.list("items")).unwrap_or_default();
    let times: BTreeMap<&str, &Value> =
        times.iter().map(|image| (image.text("id"), image)).collect();
    html! {
        @if !places.is_empty() {
            (figure("Images by size, a treemap: the area of a rectangle is the size of an image, and images of the same fate \
                     stand together", picture(&places), html! {
                @for (class, verdicts, meaning) in &FATES {
                    @let of = places.iter().filter(|it| verdicts.contains(&it.value.text("verdict")));
                    @let (mut number, mut bytes) = (0, 0);
                    @for place in of { ({ number += 1; bytes += place.value.number("sizeBytes").unwrap_or_default(); "" }) }
                    @if number > 0 { (key(class, &format!("{meaning}: {number}, {}", size(bytes)))) }
                }
                @if places.iter().any(|place| shared_part(place.value) > 0.0) {
                    (key("shared", "layers that other images hold as well: they stay while one of those stays"))
                }
                span.key { "Area: size as the kubelet counts it. Numbers: the order of removal." }
            }))
        }
        (table("Images, in the order of removal", places.len(), "image",
            html! {
                th.num scope="col" { "Place" } th scope="col" { "Image" } th.num scope="col" { "Size" }
                th.num scope="col" { "Own layers" } th.num scope="col" { "Shared layers" } th scope="col" { "Fate" }
                th scope="col" { "Certainty" } th scope="col" { "Used by" } th scope="col" { "Last used" } th scope="col" { "Why" }
            },
            html! { @for (place, item) in places.iter().zip(&gc.plan.items) {
                (line(place, item, times.get(place.value.text("id")).copied()))
            } }))
        (doubts(found))
        (command(found.command))
    }
}

/// Returns the tag of an image, else its digest or ID.
fn name(image: &Value) -> String {
    let first = |list: &str| image.list(list).first().and_then(Value::as_str);
    shown(first("tags").or_else(|| first("digests")).unwrap_or_else(|| image.text("id")))
}

/// Returns the pods that use an image, as rows and marks name them.
fn users(image: &Value) -> Vec<String> {
    let mut named = BTreeSet::new();
    let pods = image.list("usedBy").iter().map(|user| shown(user.text("pod")));
    pods.filter(|pod| !pod.is_empty() && named.insert(pod.clone())).collect()
}

/// The height of the picture in pixels, and the width for which its rectangles are square.
const HEIGHT: f64 = 320.0;
const WIDTH: f64 = 900.0;

fn picture(places: &[Place<'_>]) -> Markup {
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); FATES.len()];
    for (at, place) in places.iter().enumerate() {
        groups[fate(place.value.text("verdict"))].push(at);
    }
    let bytes =
        |at: &usize| places[*at].value.number("sizeBytes").unwrap_or_default().max(0) as f64;
    let sums: Vec<f64> = groups.iter().map(|group| group.iter().map(bytes).sum()).collect();
    let whole = Rect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    let regions = treemap(&sums, whole);
    html! {
        svg.treemap width="100%" height=(HEIGHT) {
            @for ((group, region), (class, ..)) in groups.iter().zip(regions).zip(FATES) {
                @let values: Vec<f64> = group.iter().map(bytes).collect();
                @for (at, rect) in group.iter().zip(treemap(&values, region)) {
                    @if rect.area() > 0.0 { (cell(&places[*at], rect, class)) }
                }
            }
        }
    }
}

fn cell(place: &Place<'_>, rect: Rect, class: &str) -> Markup {
    let image = place.value;
    let name = name(image);
    // The end of a name tells images apart.
    let label = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let users = users(image);
    let mut mark = Mark::new("svg", &format!("cell {class}"))
        .across(rect.x / WIDTH, rect.width / WIDTH)
        .with("y", format!("{:.2}", rect.y))
        .with("height", format!("{:.2}", rect.height))
        .called(name)
        .of(place, &["sizeBytes", "ownBytes", "sharedBytes", "verdict", "certainty", "place"]);
    if !users.is_empty() {
        mark = mark.with("data-pods", users.join(" "));
    }
    // The lower part of the rectangle are shared layers.
    let shared = shared_part(image);
    mark.holding(html! {
        rect {}
        @if shared > 0.0 { rect.shared y=(percent(1.0 - shared)) height=(percent(shared)) {} }
        @if rect.height >= 20.0 && rect.width >= 24.0 {
            text x="7" y="16" { @if let Some(place) = image.number("place") { (place) ". " } (label) }
        }
        @if rect.height >= 38.0 && rect.width >= 40.0 { text.sub x="7" y="32" { (size(image.number("sizeBytes").unwrap_or_default())) } }
    })
}

/// Returns how much of an image's layers other images hold as well, from 0 to 1.
fn shared_part(image: &Value) -> f64 {
    let bytes = |name: &str| image.number(name).unwrap_or_default().max(0) as f64;
    let (own, shared) = (bytes("ownBytes"), bytes("sharedBytes"));
    part(shared, own + shared)
}

fn line(place: &Place<'_>, item: &PlannedImage, times: Option<&Value>) -> Markup {
    let image = place.value;
    let (class, _, meaning) = FATES[fate(image.text("verdict"))];
    let users = users(image);
    html! {
        tr data-pod=[Some(users.join(" ")).filter(|users| !users.is_empty())] {
            td.num { (image.number("place").map_or_else(|| "–".to_owned(), |place| place.to_string())) }
            th scope="row" { (name(image)) }
            td.num { (size(image.number("sizeBytes").unwrap_or_default())) }
            td.num { (image.number("ownBytes").map_or_else(|| "–".to_owned(), size)) }
            td.num { (image.number("sharedBytes").map_or_else(|| "–".to_owned(), size)) }
            td { span.dot.(class) aria-hidden="true" {} (meaning) @if class == "f-stays" { span.dim { ": " (words(image.text("verdict"))) } } }
            td { (image.text("certainty")) }
            td { @for (at, user) in users.iter().take(3).enumerate() { @if at > 0 { ", " } (user) } @if users.len() > 3 { " and " (users.len() - 3) " more" } }
            td.time { (times.and_then(|times| times.some_text("lastUsed")).map_or_else(|| "–".to_owned(), moment)) }
            td.dim { (shown(&format!("{:#}", item.reason.0))) }
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
    use serde_json::json;

    #[test]
    fn images_are_named_by_tag_digest_or_id() {
        let image = json!({"id": "sha256:1", "tags": [], "digests": ["a@sha256:2"],
                           "usedBy": [{"pod": "x/a"}, {"pod": "x/a"}, {"pod": ""}]});
        assert_eq!((name(&image).as_str(), users(&image)), ("a@sha256:2", vec!["x/a".to_owned()]));
        assert_eq!(name(&json!({"id": "sha256:1"})), "sha256:1");
    }

    #[test]
    fn every_verdict_has_a_fate() {
        assert_eq!(
            ["removedForAge", "inUse", "pinned", "of another version"].map(fate),
            [0, 4, 3, 2]
        );
    }
}

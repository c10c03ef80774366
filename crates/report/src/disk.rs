//! The disk of the images as a scale: what is used, the thresholds, and the point that the next collection reaches.

use super::answers::{Fields, Found, NodePage, command, names};
use super::images::at;
use super::mark::{Mark, Place};
use super::memory::size;
use super::scale::{part, rows};
use super::section::{closed, figure};
use super::text::{shown, words};
use maud::{Markup, html};
use serde_json::Value;

/// The least distance of labels in a row, as a part of the width: they have room on a narrow screen.
const APART: f64 = 0.5;

/// The height of a row of labels.
const ROW: usize = 18;

/// A mark on the scale: where, what, and the classes.
struct Threshold {
    used: f64,
    label: String,
    class: &'static str,
}

/// Draws the disk.
pub fn disk(page: &NodePage<'_>, gc: Found<'_>) -> Markup {
    let usage = Place {
        answer: gc.id,
        pointer: "/run/usage".to_owned(),
        value: gc.value.field("/run/usage"),
    };
    let (Some(capacity), Some(available)) =
        (usage.value.number("capacityBytes"), usage.value.number("availableBytes"))
    else {
        return html! { p.doubt { "How full the disk of the images is, is unknown." } };
    };
    let (whole, used) = (capacity as f64, (capacity - available) as f64);
    let marks = thresholds(page, gc.value, whole, used);
    let places: Vec<f64> = marks.iter().map(|mark| part(mark.used, whole)).collect();
    let label_rows = rows(&places, APART);
    let depth = label_rows.iter().max().map_or(0, |most| most + 1) * ROW;
    html! {
        (figure("The disk of the images, a scale from empty to full", html! {
            svg.scale width="100%" height=(34 + depth) {
                rect.track y="4" width="100%" height="22" {}
                (Mark::new("rect", "used").with("y", "4").with("height", "22").with("width", at(used, whole))
                    .called("used").of(&usage, &["capacityBytes", "availableBytes", "percent"]).empty())
                text.on x="8" y="19" { (size(capacity - available)) " of " (size(capacity)) " used" }
                @for ((mark, row), place) in marks.iter().zip(label_rows).zip(&places) {
                    @let y = 34 + row * ROW;
                    line class={ "mark " (mark.class) } x1=(at(mark.used, whole)) x2=(at(mark.used, whole)) y1="1" y2=(y + 12) {}
                    text.label.(if *place > 0.5 { "end" } else { "" }) x=(at(mark.used, whole)) y=(y + 10) dx=(if *place > 0.5 { "-5" } else { "5" }) { (mark.label) }
                }
            }
        }, html! { span.key { (shown(gc.value.text("/run/imageFilesystem"))) } }))
    }
}

fn thresholds(page: &NodePage<'_>, gc: &Value, whole: f64, used: f64) -> Vec<Threshold> {
    let run = gc.field("run");
    let mut marks = Vec::new();
    let mut add = |used: f64, class: &'static str, label: String| {
        marks.push(Threshold { used, label, class })
    };
    let freed = gc.number("/freed/countedBytes").filter(|freed| *freed > 0);
    if let Some(freed) = freed {
        add(
            used - freed as f64,
            "reach",
            format!("after the next collection: {} freed", size(freed)),
        );
    }
    let percent =
        |field: &str| run.number(field).map(|percent| (percent, whole * percent as f64 / 100.0));
    if let Some((percent, at)) = percent("lowThresholdPercent") {
        add(at, "low", format!("collection stops at {percent} %"));
    }
    if let Some((percent, at)) = percent("highThresholdPercent") {
        add(at, "high", format!("collection starts at {percent} %"));
    }
    for signal in ["imagefs.available", "nodefs.available"] {
        let (name, _) = names::EVICTION[1];
        let Ok(rank) = page.find(name) else { continue };
        let thresholds = rank.value.list("thresholds").iter();
        for threshold in thresholds.filter(|it| it.text("signal") == signal) {
            // Of a disk of its own, the numbers are of another disk.
            if threshold.number("capacity").map(|capacity| capacity as f64) == Some(whole)
                && let Some(left) = threshold.number("threshold")
            {
                add(
                    whole - left as f64,
                    "evict",
                    format!("eviction at {} left ({signal})", size(left)),
                );
            }
        }
    }
    marks
}

/// Returns what `kq gc explain --disk` says of the parts of the disk.
pub fn parts(page: &NodePage<'_>) -> Markup {
    let Ok(found) = page.find(names::DISK) else { return html! {} };
    let parts = found.value.list("parts");
    html! {
        (closed("Parts of the disk", parts.len(), "part",
            html! { th scope="col" { "Part" } th.num scope="col" { "Size" } th scope="col" { "Folder" } th scope="col" { "Counted by" } },
            html! { @for part in parts { tr {
                th scope="row" { (words(part.text("what"))) }
                td.num { @match part.number("bytes") { Some(bytes) => (size(bytes)), None => "unknown" } }
                td { (shown(part.text("path"))) }
                td.dim { (shown(part.text("countedBy"))) (shown(part.text("unknown"))) }
            } } }))
        (command(found.command))
    }
}

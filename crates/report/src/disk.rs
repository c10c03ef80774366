//! The disk of the images as a scale: what is used, the thresholds, and the point that the next collection reaches.

use super::answers::{Found, NodePage, command, names};
use super::images::at;
use super::mark::{Mark, Place};
use super::memory::size;
use super::scale::{part, rows};
use super::section::{closed, figure};
use super::text::{code, shown, words};
use kq_core::question::kinds::ImageGcAnswer;
use kq_facts::kubelet_config::Signal;
use kq_image_gc::plan::Run;
use kq_output::units::bytes;
use maud::{Markup, html};

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
pub fn disk(page: &NodePage<'_>, gc: &Found<'_, ImageGcAnswer>) -> Markup {
    let run = &gc.answer.plan.run;
    let Some(usage) = run.usage else {
        return html! { p.doubt { "How full the disk of the images is, is unknown." } };
    };
    let (capacity, available) = (usage.capacity_bytes, usage.available_bytes);
    let (whole, used) = (capacity as f64, (capacity - available) as f64);
    let marks = thresholds(page, gc.answer, whole, used);
    let places: Vec<f64> = marks.iter().map(|mark| part(mark.used, whole)).collect();
    let label_rows = rows(&places, APART);
    let depth = label_rows.iter().max().map_or(0, |most| most + 1) * ROW;
    html! {
        (figure("The disk of the images, a scale from empty to full", html! {
            svg.scale width="100%" height=(34 + depth) {
                rect.track y="4" width="100%" height="22" {}
                (Mark::new("rect", "used").with("y", "4").with("height", "22").with("width", at(used, whole))
                    .called("used").of(&Place::new(gc.id, "/run/usage")).data("capacityBytes", &capacity)
                    .data("availableBytes", &available).data("percent", &usage.percent).empty())
                text.on x="8" y="19" { (size(capacity - available)) " of " (size(capacity)) " used" }
                @for ((mark, row), place) in marks.iter().zip(label_rows).zip(&places) {
                    @let y = 34 + row * ROW;
                    line class={ "mark " (mark.class) } x1=(at(mark.used, whole)) x2=(at(mark.used, whole)) y1="1" y2=(y + 12) {}
                    text.label.(if *place > 0.5 { "end" } else { "" }) x=(at(mark.used, whole)) y=(y + 10) dx=(if *place > 0.5 { "-5" } else { "5" }) { (mark.label) }
                }
            }
        }, html! { span.key { (shown(run.image_filesystem.as_deref().unwrap_or_default())) } }))
    }
}

fn thresholds(page: &NodePage<'_>, gc: &ImageGcAnswer, whole: f64, used: f64) -> Vec<Threshold> {
    let Run { low_threshold_percent: low, high_threshold_percent: high, .. } = gc.plan.run;
    let mut marks = Vec::new();
    let mut add = |used: f64, class: &'static str, label: String| {
        marks.push(Threshold { used, label, class })
    };
    let freed = gc.plan.freed.counted_bytes;
    if freed > 0 {
        add(
            used - freed as f64,
            "reach",
            format!("after the next collection: {} freed", size(freed)),
        );
    }
    let at = |percent: i32| whole * f64::from(percent) / 100.0;
    add(at(low), "low", format!("collection stops at {low} %"));
    add(at(high), "high", format!("collection starts at {high} %"));
    for signal in [Signal::ImageFsAvailable, Signal::NodeFsAvailable] {
        let (name, _) = names::EVICTION[1];
        let Ok(rank) = page.eviction(name) else { continue };
        let thresholds = rank.answer.thresholds.iter();
        for threshold in thresholds.filter(|it| it.signal == signal) {
            // Of a disk of its own, the numbers are of another disk.
            if threshold.capacity.map(|capacity| capacity as f64) == Some(whole)
                && let Some(left) = threshold.threshold
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
    let Ok(found) = page.find(names::DISK, page.node.disk.as_ref()) else { return html! {} };
    let parts = &found.answer.parts;
    html! {
        (closed("Parts of the disk", parts.len(), "part",
            html! { th scope="col" { "Part" } th.num scope="col" { "Size" } th scope="col" { "Folder" } th scope="col" { "Counted by" } },
            html! { @for part in parts { tr {
                th scope="row" { (words(&code(&part.what))) }
                td.num { @match part.bytes { Some(amount) => (bytes(amount)), None => "unknown" } }
                td { (shown(part.path.as_deref().unwrap_or_default())) }
                td.dim { (shown(&part.counted_by)) (shown(part.unknown.as_deref().unwrap_or_default())) }
            } } }))
        (command(found.command()))
    }
}

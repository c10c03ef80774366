//! Who gets the CPU: the answer of `kq cgroup shares` as an icicle of the cgroup tree.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::findings::about;
use super::icicle::Branch;
use super::mark::{Mark, Place, percent};
use super::scale::{Bullet, Tick, part};
use super::section::{BARS, Section, figure, key, table};
use super::text::{pod, shown};
use super::tree::{Tree, qos_class};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the section.
pub fn cpu(page: &NodePage<'_>) -> Section {
    let (id, title) = ("cpu", "CPU");
    match page.find(names::SHARES) {
        Ok(found) => {
            let usage = page.find(names::USAGE).ok();
            let cpus = found.value.number("cpus").unwrap_or_default();
            let values = found.value.text("/facts/weightsAndQuotas/value");
            Section {
                id,
                title,
                state: format!("{cpus} CPUs"),
                lead: html! {
                    "The CPU time of each container while all of them are busy, out of " (cpus) " CPUs. Siblings divide it \
                     by weight, up to their quotas. Weights and quotas are "
                    (if values == "kernel" { "the kernel's." } else { "the planned ones." })
                },
                body: html! { (about(page, id)) (body(found, usage)) },
            }
        }
        Err(why) => Section {
            id,
            title,
            state: "no answer".to_owned(),
            lead: html! {},
            body: html! { (about(page, id)) (no_answer(page.questions.get(names::SHARES), why)) },
        },
    }
}

/// A container with its share and, where the tree was read, its cgroup.
struct Row<'a> {
    share: Place<'a>,
    usage: Option<Place<'a>>,
    cpus: Option<f64>,
    request: Option<f64>,
    quota: Option<f64>,
    throttled: Option<f64>,
}

fn rows<'a>(found: Found<'a>, usage: Option<Found<'a>>) -> Vec<Row<'a>> {
    let usage = usage.map(|usage| Place::all(usage.id, usage.value, "/items")).unwrap_or_default();
    let by_cgroup: BTreeMap<&str, Place<'a>> =
        usage.into_iter().map(|place| (place.value.text("cgroup"), place)).collect();
    let row = |share: Place<'a>| {
        let usage = share.value.some_text("cgroup").and_then(|path| by_cgroup.get(path)).cloned();
        let milli = share.value.number("requestMilliCpu");
        let max = usage.as_ref().map(|usage| usage.value.text("/settings/cpu.max"));
        Row {
            cpus: share.value.text("decimal").parse().ok(),
            request: milli.map(|milli| milli as f64 / 1000.0),
            quota: max.and_then(quota),
            throttled: usage.as_ref().and_then(|usage| throttled(usage.value)),
            share,
            usage,
        }
    };
    Place::all(found.id, found.value, "/items").into_iter().map(row).collect()
}

/// Reads `cpu.max`: the CPUs of a quota; `None`: there is no quota.
fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

/// Returns the part of the periods in which a container was throttled; `None`: it never had a quota.
fn throttled(usage: &Value) -> Option<f64> {
    let periods = usage.number("/usage/periods").filter(|periods| *periods > 0)?;
    Some(part(usage.number("/usage/throttledPeriods")? as f64, periods as f64))
}

fn body(found: Found<'_>, usage: Option<Found<'_>>) -> Markup {
    let rows = rows(found, usage);
    let cpus = found.value.number("cpus").unwrap_or_default() as f64;
    let widest = rows.iter().flat_map(|row| [row.cpus, row.request]).flatten().fold(0.0, f64::max);
    html! {
        @if rows.iter().any(|row| row.cpus.is_some()) {
            (figure("CPU time by cgroup, an icicle: the width of a cell is its part of the CPU time",
                icicle(&rows, cpus),
                html! {
                    (key("q-guaranteed", "Guaranteed")) (key("q-burstable", "Burstable")) (key("q-besteffort", "BestEffort"))
                    (key("tick request", "request")) (key("tick limit", "quota"))
                    (key("throttled", "part of its periods throttled"))
                    span.key { "Width: CPU time." }
                }))
        }
        (table("CPU time of each container", rows.len(), "container",
            html! {
                th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "QoS class" }
                @if rows.len() <= BARS { th.wide scope="col" { "Time, request and quota" } }
                th.num scope="col" { "CPU time" } th.num scope="col" { "Request" } th.num scope="col" { "Quota" }
                th.num scope="col" { "Throttled" } th scope="col" { "Limited by" }
            },
            html! {
                @let sorted = { let mut sorted: Vec<&Row<'_>> = rows.iter().collect();
                    sorted.sort_by(|one, other| other.cpus.unwrap_or_default().total_cmp(&one.cpus.unwrap_or_default())); sorted };
                @for row in sorted { (line(row, Some(widest).filter(|_| rows.len() <= BARS))) }
            }))
        (doubts(found))
        (command(found.command))
    }
}

fn icicle(rows: &[Row<'_>], cpus: f64) -> Markup {
    let mut tree = Tree::new("kubepods");
    for (at, row) in rows.iter().enumerate() {
        let (share, width) = (row.share.value, row.cpus.unwrap_or_default());
        match share.some_text("sibling") {
            Some(sibling) => {
                tree.beside(shown(sibling), Branch { key: at, value: width, below: Vec::new() })
            }
            None => tree.add(
                share.text("qosClass"),
                (share.text("namespace"), share.text("pod")),
                at,
                width,
            ),
        }
    }
    let draw = |at: usize, width: f64| {
        let row = &rows[at];
        let share = row.share.value;
        let class = format!("cell {}", qos_class(share.text("qosClass")));
        let mark = Mark::new("svg", &class)
            .called(shown(share.some_text("container").unwrap_or_default()))
            .of_pod(share.text("namespace"), share.text("pod"))
            .of(&row.share, &["decimal", "requestMilliCpu", "meetsRequest", "limitedBy"]);
        (mark, inside(row, width))
    };
    tree.draw(cpus, "idle", draw)
}

/// The marks in the cell of a container: its request and quota as parts of its time, and how often it was throttled.
fn inside(row: &Row<'_>, _: f64) -> Markup {
    let cpus = row.cpus.unwrap_or_default();
    let at = |amount: f64| percent(part(amount, cpus));
    html! {
        @if let (Some(throttled), Some(usage)) = (row.throttled.filter(|part| *part > 0.0), &row.usage) {
            (Mark::new("rect", "throttled").with("y", "100%").with("transform", "translate(0 -6)")
                .with("width", percent(throttled)).with("height", "6")
                .of(&usage.below("usage"), &["periods", "throttledPeriods", "throttledUsec"]).empty())
        }
        @if let Some(request) = row.request.filter(|request| *request > 0.0) {
            line class={ "tick request" @if request > cpus * 1.0001 { " short" } } x1=(at(request)) x2=(at(request)) y1="22" y2="100%" {}
        }
        @if let (Some(quota), Some(usage)) = (row.quota, &row.usage) {
            (Mark::new("line", "tick limit").with("x1", at(quota)).with("x2", at(quota)).with("y1", "22").with("y2", "100%")
                .of(&usage.below("settings"), &["cpu.max"]).empty())
        }
    }
}

fn line(row: &Row<'_>, widest: Option<f64>) -> Markup {
    let share = row.share.value;
    let (namespace, name) = (share.text("namespace"), share.text("pod"));
    let is_short = share.field("meetsRequest").as_bool() == Some(false);
    let bullet = |widest| Bullet {
        whole: widest,
        bar: row.cpus,
        class: qos_class(share.text("qosClass")),
        ticks: vec![Tick::new("request", row.request), Tick::new("limit", row.quota)],
    };
    html! {
        tr data-pod=(pod(namespace, name)) {
            th scope="row" { (share.some_text("sibling").map_or_else(|| pod(namespace, name), shown)) }
            td { (shown(share.text("container"))) }
            td { (share.text("qosClass")) }
            @if let Some(widest) = widest { td.wide { (bullet(widest).draw()) } }
            td.num { (row.cpus.map_or_else(|| "unknown".to_owned(), |cpus| format!("{cpus:.3}"))) }
            td.num.(if is_short { "bad" } else { "" }) { (row.request.map_or_else(|| "–".to_owned(), milli)) @if is_short { " not met" } }
            td.num { (row.quota.map_or_else(|| "–".to_owned(), milli)) }
            td.num { (row.throttled.map_or_else(|| "–".to_owned(), |part| format!("{:.0} %", part * 100.0))) }
            td.dim { (shown(share.text("limitedBy"))) }
        }
    }
}

/// Writes CPUs as Kubernetes does: `500m`, `2`.
pub fn milli(cpus: f64) -> String {
    let milli = (cpus * 1000.0).round() as i64;
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quotas_are_cpus() {
        let texts = ["20000 100000", "max 100000", "", "1 0"];
        assert_eq!(texts.map(quota), [Some(0.2), None, None, None]);
        assert_eq!([milli(0.2), milli(2.0), milli(0.0304)], ["200m", "2", "30m"]);
    }

    #[test]
    fn throttling_is_a_part_of_the_periods() {
        let usage = json!({"usage": {"periods": 4, "throttledPeriods": 1}});
        assert_eq!(throttled(&usage), Some(0.25));
        assert_eq!(throttled(&json!({"usage": {"periods": 0, "throttledPeriods": 0}})), None);
        assert_eq!(throttled(&json!({"usage": {"periods": null}})), None);
    }
}

//! Who uses the memory: `kq cgroup show` as an icicle, with the requests and the order of `kq evict rank`.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::scale::{Bullet, Tick, part};
use super::section::{BARS, Section, figure, key, table};
use super::text::{pod, shown};
use super::tree::{Tree, qos_class};
use kq_core::question::kinds::EvictionRank;
use kq_facts::kubelet_config::Signal;
use kq_output::units::bytes;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the section.
pub fn memory(page: &NodePage<'_>) -> Section {
    let (id, title) = ("memory", "Memory");
    let rank = page.eviction(names::EVICTION[0].0).ok();
    match page.find(names::USAGE) {
        Ok(found) => {
            let capacity = rank.and_then(|(_, rank)| capacity(rank));
            let rank = rank.map(|(found, _)| found);
            let measured = containers(found).into_iter();
            let measured: Vec<i64> =
                measured.filter_map(|it| it.value.number("/usage/memoryBytes")).collect();
            let used = size(measured.iter().sum());
            let (state, lead) = match (measured.as_slice(), capacity.map(size)) {
                ([], _) => ("unknown".to_owned(), "What the containers use is unknown.".to_owned()),
                (_, Some(capacity)) => (
                    used.clone(),
                    format!(
                        "What the cgroup of each container holds, caches among it: {used} of the node's {capacity}."
                    ),
                ),
                (_, None) => (
                    used.clone(),
                    format!("What the cgroup of each container holds, caches among it: {used}."),
                ),
            };
            Section {
                id,
                title,
                state,
                lead: html! { (lead) },
                body: html! { (about(page, id)) (body(found, rank, capacity)) },
            }
        }
        Err(why) => Section {
            id,
            title,
            state: "no answer".to_owned(),
            lead: html! {},
            body: html! { (about(page, id)) (no_answer(page.questions.get(names::USAGE), why)) },
        },
    }
}

/// Returns the memory of the node, as the thresholds of eviction have it.
fn capacity(rank: &EvictionRank) -> Option<i64> {
    let thresholds = rank.thresholds.iter();
    thresholds.filter(|it| it.signal == Signal::MemoryAvailable).find_map(|it| it.capacity)
}

fn containers(found: Found<'_>) -> Vec<Place<'_>> {
    let all = Place::all(found.id, found.value, "/items").into_iter();
    all.filter(|place| place.value.text("level") == "container").collect()
}

/// Writes bytes with a binary unit.
pub fn size(amount: i64) -> String {
    match amount < 0 {
        true => format!("-{}", bytes(amount.unsigned_abs())),
        false => bytes(amount.unsigned_abs()),
    }
}

/// Reads a limit of the kernel; `None`: there is none.
fn limit(usage: &Value, file: &str) -> Option<i64> {
    usage.field("settings").text(file).parse().ok().filter(|limit| *limit > 0)
}

fn body(found: Found<'_>, rank: Option<Found<'_>>, capacity: Option<i64>) -> Markup {
    let mut rows = containers(found);
    rows.sort_by_key(|row| std::cmp::Reverse(row.value.number("/usage/memoryBytes")));
    let ranks = rank.map(|rank| Place::all(rank.id, rank.value, "/items")).unwrap_or_default();
    let ranks: BTreeMap<(&str, &str), Place<'_>> = ranks
        .into_iter()
        .map(|it| ((it.value.text("namespace"), it.value.text("name")), it))
        .collect();
    let amounts =
        |row: &Place<'_>| [row.value.number("/usage/memoryBytes"), limit(row.value, "memory.max")];
    let widest = rows.iter().flat_map(amounts).flatten().max().unwrap_or_default() as f64;
    let ranked =
        rows.iter().map(|row| ranks.get(&(row.value.text("namespace"), row.value.text("pod"))));
    html! {
        (figure("Memory by cgroup, an icicle: the width of a cell is its part of the node's memory",
            icicle(&rows, capacity),
            html! {
                (key("q-guaranteed", "Guaranteed")) (key("q-burstable", "Burstable")) (key("q-besteffort", "BestEffort"))
                (key("filled", "part of its limit that is used"))
                span.key { "Width: memory in use." }
            }))
        (table("Memory of each container", rows.len(), "container",
            html! {
                th scope="col" { "Pod" } th scope="col" { "Container" } th scope="col" { "QoS class" }
                @if rows.len() <= BARS { th.wide scope="col" { "Usage and limit" } }
                th.num scope="col" { "Usage" } th.num scope="col" { "Limit" } th.num scope="col" { "Of limit" }
                th.num scope="col" { "Protected" } th.num scope="col" { "Pod's request" }
                th.num scope="col" { "Eviction" } th.num scope="col" { "OOM kills" }
            },
            html! { @for (row, rank) in rows.iter().zip(ranked) { (line(row, rank, Some(widest).filter(|_| rows.len() <= BARS))) } }))
        (doubts(found))
        (command(found.command))
    }
}

fn icicle(rows: &[Place<'_>], capacity: Option<i64>) -> Markup {
    let mut tree = Tree::new("kubepods");
    let used = |row: &Place<'_>| row.value.number("/usage/memoryBytes").unwrap_or_default() as f64;
    for (at, row) in rows.iter().enumerate() {
        let value = row.value;
        tree.add(
            value.text("qosClass"),
            (value.text("namespace"), value.text("pod")),
            at,
            used(row),
        );
    }
    let whole = capacity.map(|capacity| capacity as f64);
    let whole = whole.unwrap_or_else(|| rows.iter().map(used).sum());
    tree.draw(whole, "not in pods", |at, _| {
        let (row, value) = (&rows[at], rows[at].value);
        let class = format!("cell {}", qos_class(value.text("qosClass")));
        let mark = Mark::new("svg", &class)
            .called(shown(value.text("container")))
            .of_pod(value.text("namespace"), value.text("pod"))
            .of(&row.below("usage"), &["memoryBytes", "swapBytes", "oomKills"]);
        (mark, inside(row))
    })
}

/// How full the limit of a container is.
fn inside(row: &Place<'_>) -> Markup {
    let (Some(used), Some(limit)) =
        (row.value.number("/usage/memoryBytes"), limit(row.value, "memory.max"))
    else {
        return html! {};
    };
    let is_near = used as f64 >= 0.9 * limit as f64;
    Mark::new("rect", if is_near { "filled near" } else { "filled" })
        .with("y", "100%")
        .with("transform", "translate(0 -6)")
        .with("height", "6")
        .with("width", percent(part(used as f64, limit as f64)))
        .of(&row.below("settings"), &["memory.max", "memory.high", "memory.min", "memory.low"])
        .empty()
}

fn line(row: &Place<'_>, rank: Option<&Place<'_>>, widest: Option<f64>) -> Markup {
    let value = row.value;
    let (used, limit) = (value.number("/usage/memoryBytes"), limit(value, "memory.max"));
    let protected = ["memory.min", "memory.low"].iter().find_map(|file| self::limit(value, file));
    let of_limit = used.zip(limit).map(|(used, limit)| used as f64 / limit as f64);
    let bullet = |widest| Bullet {
        whole: widest,
        bar: used.map(|used| used as f64),
        class: qos_class(value.text("qosClass")),
        ticks: vec![Tick::new("limit", limit.map(|limit| limit as f64))],
    };
    let amount = |amount: Option<i64>| amount.map_or_else(|| "–".to_owned(), size);
    let (namespace, name) = (value.text("namespace"), value.text("pod"));
    html! {
        tr data-pod=(pod(namespace, name)) {
            th scope="row" { (pod(namespace, name)) }
            td { (shown(value.text("container"))) }
            td { (value.text("qosClass")) }
            @if let Some(widest) = widest { td.wide { (bullet(widest).draw()) } }
            td.num { (used.map_or_else(|| "unknown".to_owned(), size)) }
            td.num { (amount(limit)) }
            td.num.(if of_limit.is_some_and(|part| part >= 0.9) { "bad" } else { "" }) {
                (of_limit.map_or_else(|| "–".to_owned(), |part| format!("{:.0} %", part * 100.0)))
            }
            td.num { (amount(protected)) }
            td.num { (amount(rank.and_then(|rank| rank.value.number("request")))) }
            td.num { (rank.and_then(|rank| rank.value.number("rank")).map_or_else(|| "–".to_owned(), |rank| rank.to_string())) }
            td.num { (value.number("/usage/oomKills").map_or_else(|| "–".to_owned(), |kills| kills.to_string())) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn limits_are_numbers() {
        let usage = json!({"settings": {"memory.max": "1024", "memory.high": "max"}});
        assert_eq!(
            [limit(&usage, "memory.max"), limit(&usage, "memory.high"), limit(&usage, "x")],
            [Some(1024), None, None]
        );
        assert_eq!([size(-1024), size(1536)], ["-1Ki", "1.5Ki"]);
    }
}

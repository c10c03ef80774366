//! Who uses the memory: `kq cgroup show` as an icicle, with the requests and the order of `kq evict rank`.

use super::answers::{Found, NodePage, doubts, names};
use super::drawn::Cgroup;
use super::findings::{about, without};
use super::mark::{Mark, Place, percent};
use super::scale::{Bullet, Tick, part};
use super::section::{BARS, Section, figure, key, table};
use super::text::{pod, shown};
use super::tree::{Tree, qos_class};
use kq_core::question::kinds::EvictionRank;
use kq_eviction::RankItem;
use kq_facts::kubelet_config::Signal;
use kq_output::units::bytes;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Returns the section.
pub fn memory(page: &NodePage<'_>) -> Section {
    let (id, title) = ("memory", "Memory");
    let rank = page.eviction(names::EVICTION[0].0).ok().map(|found| found.answer);
    match page.usage() {
        Ok(found) => {
            let capacity = rank.and_then(capacity);
            let measured: Vec<i64> =
                containers(&found).iter().filter_map(|(it, _)| memory_bytes(it)).collect();
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
                body: html! { (about(page, id)) (body(&found, rank, capacity)) },
            }
        }
        Err(why) => without(page, (id, title), names::USAGE, why),
    }
}

/// Returns the memory of the node, as the thresholds of eviction have it.
fn capacity(rank: &EvictionRank) -> Option<i64> {
    let thresholds = rank.thresholds.iter();
    thresholds.filter(|it| it.signal == Signal::MemoryAvailable).find_map(|it| it.capacity)
}

/// A container, and its place in the embedded answer.
type Container<'a> = (&'a Cgroup, Place<'a>);

fn containers<'a>(found: &Found<'a, Vec<Cgroup>>) -> Vec<Container<'a>> {
    let all = Place::new(found.id, "/items").each(found.answer).into_iter();
    all.filter(|(cgroup, _)| cgroup.is_container).collect()
}

/// Returns the memory that is in use, as amounts are written.
fn memory_bytes(cgroup: &Cgroup) -> Option<i64> {
    cgroup.usage.memory_bytes.and_then(|bytes| i64::try_from(bytes).ok())
}

/// Writes bytes with a binary unit.
pub fn size(amount: i64) -> String {
    match amount < 0 {
        true => format!("-{}", bytes(amount.unsigned_abs())),
        false => bytes(amount.unsigned_abs()),
    }
}

/// Reads a limit of the kernel; `None`: there is none.
fn limit(cgroup: &Cgroup, file: &str) -> Option<i64> {
    cgroup.setting(file).parse().ok().filter(|limit| *limit > 0)
}

fn body(
    found: &Found<'_, Vec<Cgroup>>,
    rank: Option<&EvictionRank>,
    capacity: Option<i64>,
) -> Markup {
    let mut rows = containers(found);
    rows.sort_by_key(|(row, _)| std::cmp::Reverse(memory_bytes(row)));
    let ranks: BTreeMap<(&str, &str), &RankItem> = rank
        .iter()
        .flat_map(|rank| &rank.items)
        .map(|it| ((it.pod.namespace.as_str(), it.pod.name.as_str()), it))
        .collect();
    let amounts = |(row, _): &Container<'_>| [memory_bytes(row), limit(row, "memory.max")];
    let widest = rows.iter().flat_map(amounts).flatten().max().unwrap_or_default() as f64;
    let ranked = rows.iter().map(|(row, _)| ranks.get(&(row.namespace.as_str(), row.pod.as_str())));
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
            html! { @for (row, rank) in rows.iter().zip(ranked) { (line(row.0, rank.copied(), Some(widest).filter(|_| rows.len() <= BARS))) } }))
        (doubts(found))
    }
}

fn icicle(rows: &[Container<'_>], capacity: Option<i64>) -> Markup {
    let mut tree = Tree::new("kubepods");
    let used = |row: &Container<'_>| memory_bytes(row.0).unwrap_or_default() as f64;
    for (at, row) in rows.iter().enumerate() {
        tree.add(row.0.qos_class, (&row.0.namespace, &row.0.pod), at, used(row));
    }
    let whole = capacity.map(|capacity| capacity as f64);
    let whole = whole.unwrap_or_else(|| rows.iter().map(used).sum());
    tree.draw(whole, "not in pods", |at, _| {
        let (row, place) = &rows[at];
        let mark = Mark::new("svg", &format!("cell {}", qos_class(row.qos_class)))
            .called(shown(&row.container))
            .of_pod(&row.namespace, &row.pod)
            .of(&place.below("usage"))
            .data("memoryBytes", &row.usage.memory_bytes)
            .data("swapBytes", &row.usage.swap_bytes)
            .data("oomKills", &row.usage.oom_kills);
        (mark, inside(row, place))
    })
}

/// How full the limit of a container is.
fn inside(row: &Cgroup, place: &Place<'_>) -> Markup {
    let (Some(used), Some(limit)) = (memory_bytes(row), limit(row, "memory.max")) else {
        return html! {};
    };
    let is_near = used as f64 >= 0.9 * limit as f64;
    let mark = Mark::new("rect", if is_near { "filled near" } else { "filled" })
        .with("y", "100%")
        .with("transform", "translate(0 -6)")
        .with("height", "6")
        .with("width", percent(part(used as f64, limit as f64)))
        .of(&place.below("settings"));
    let files = ["memory.max", "memory.high", "memory.min", "memory.low"];
    files.iter().fold(mark, |mark, file| mark.data(file, &row.settings.get(*file))).empty()
}

fn line(row: &Cgroup, rank: Option<&RankItem>, widest: Option<f64>) -> Markup {
    let (used, limit) = (memory_bytes(row), limit(row, "memory.max"));
    let protected = ["memory.min", "memory.low"].iter().find_map(|file| self::limit(row, file));
    let of_limit = used.zip(limit).map(|(used, limit)| used as f64 / limit as f64);
    let bullet = |widest| Bullet {
        whole: widest,
        bar: used.map(|used| used as f64),
        class: qos_class(row.qos_class),
        ticks: vec![Tick::new("limit", limit.map(|limit| limit as f64))],
    };
    let amount = |amount: Option<i64>| amount.map_or_else(|| "–".to_owned(), size);
    let owner = pod(&row.namespace, &row.pod);
    html! {
        tr data-pod=(owner) {
            th scope="row" { (owner) }
            td { (shown(&row.container)) }
            td { @if let Some(class) = row.qos_class { (class) } }
            @if let Some(widest) = widest { td.wide { (bullet(widest).draw()) } }
            td.num { (used.map_or_else(|| "unknown".to_owned(), size)) }
            td.num { (amount(limit)) }
            td.num.(if of_limit.is_some_and(|part| part >= 0.9) { "bad" } else { "" }) {
                (of_limit.map_or_else(|| "–".to_owned(), |part| format!("{:.0} %", part * 100.0)))
            }
            td.num { (amount(protected)) }
            td.num { (amount(rank.and_then(|rank| rank.request))) }
            td.num { (rank.map_or_else(|| "–".to_owned(), |rank| rank.rank.to_string())) }
            td.num { (row.usage.oom_kills.map_or_else(|| "–".to_owned(), |kills| kills.to_string())) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers() {
        let files = [("memory.max", "1024"), ("memory.high", "max")];
        let settings = files.map(|(file, text)| (file.to_owned(), text.to_owned())).into();
        let usage = Cgroup { settings, ..Cgroup::default() };
        assert_eq!(
            [limit(&usage, "memory.max"), limit(&usage, "memory.high"), limit(&usage, "x")],
            [Some(1024), None, None]
        );
        assert_eq!([size(-1024), size(1536)], ["-1Ki", "1.5Ki"]);
    }
}

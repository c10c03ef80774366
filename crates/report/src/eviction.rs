//! Eviction: the distance of each signal to its thresholds, and the order in which pods would go, of `kq evict rank`.

use super::answers::{Found, NodePage, doubts, names};
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::memory::size;
use super::scale::{Bullet, Tick, part};
use super::section::{Section, figure, key, table};
use super::text::{pod, shown};
use kq_core::question::kinds::EvictionRank;
use kq_eviction::{RankItem, ThresholdRow};
use kq_facts::kubelet_config::{Signal, StarvedResource};
use kq_k8s::duration::GoDuration;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// As many pods stand in the order of a signal; the table of ranks has all.
const FIRST: usize = 10;

/// Returns the section.
pub fn eviction(page: &NodePage<'_>) -> Section {
    let (id, title) = ("eviction", "Eviction");
    let found: Vec<Found<'_, EvictionRank>> =
        names::EVICTION.iter().filter_map(|(name, _)| page.eviction(name).ok()).collect();
    let failed = names::EVICTION
        .iter()
        .filter_map(|(name, signal)| Some((*signal, page.eviction(name).err()?)));
    let thresholds: Vec<Threshold<'_>> = found
        .iter()
        .flat_map(|rank| Place::new(rank.id, "/thresholds").each(&rank.answer.thresholds))
        .collect();
    let met = thresholds.iter().filter(|(row, _)| row.met == Some(true)).count();
    Section {
        id,
        title,
        state: match (found.len(), met) {
            (0, _) => "no answer".to_owned(),
            (_, 0) if thresholds.iter().any(|(row, _)| row.met.is_none()) => {
                "no measured threshold crossed".to_owned()
            }
            (_, 0) => "no threshold crossed".to_owned(),
            (_, met) => format!("{met} crossed"),
        },
        lead: html! {
            "How far each signal is from its thresholds, and which pods go first where one is crossed."
        },
        body: html! {
            (about(page, id))
            @if !thresholds.is_empty() { (margins(&thresholds)) }
            @for rank in &found { @if !rank.answer.thresholds.is_empty() { (order(rank)) } }
            @for rank in &found { @if rank.answer.thresholds.is_empty() {
                details.rows { summary { "Order for " (rank.answer.signal) span.n { "no threshold" } } (order(rank)) }
            } }
            @if !found.is_empty() { (ranks(&found)) }
            @for (signal, why) in failed.filter(|(_, why)| !why.reason.is_empty()) {
                div.none { p { strong { (signal) ": no answer: " } (shown(&why.reason)) }
                    @for hint in &why.hints { p.hint { "Hint: " (shown(hint)) } } }
            }
        },
    }
}

/// A threshold, and its place in the embedded answer.
type Threshold<'a> = (&'a ThresholdRow, Place<'a>);

/// Writes an amount of a signal.
fn amount(signal: Signal, amount: i64) -> String {
    match signal.resource() {
        StarvedResource::Memory | StarvedResource::EphemeralStorage => size(amount),
        StarvedResource::Inodes | StarvedResource::Pids => amount.to_string(),
    }
}

fn margins(thresholds: &[Threshold<'_>]) -> Markup {
    figure(
        "Margins to the thresholds of eviction",
        html! {
            div.lanes { @for (row, place) in thresholds { (margin(row, place)) } }
        },
        html! {
            (key("used", "in use")) (key("left", "left before the threshold")) (key("tick evict", "threshold of eviction"))
        },
    )
}

fn margin(row: &ThresholdRow, place: &Place<'_>) -> Markup {
    let signal = row.signal;
    let numbers = row.available.zip(row.capacity).filter(|(_, capacity)| *capacity > 0);
    let threshold = row.threshold.unwrap_or_default();
    let grace = Some(row.grace_period).filter(|grace| *grace != GoDuration::default());
    let is_met = row.met == Some(true);
    html! {
        div.lane {
            span.what { strong { (signal) } @if let Some(grace) = grace { " for " (grace) } }
            @match numbers {
                Some((available, capacity)) => {
                    @let (used, at) = (part((capacity - available) as f64, capacity as f64), part((capacity - threshold) as f64, capacity as f64));
                    svg.line {
                        rect.track y="5" width="100%" height="12" {}
                        (Mark::new("rect", if is_met { "used crossed" } else { "used" }).across(0.0, used).with("y", "5").with("height", "12")
                            .called(signal.as_str()).of(place).data("available", &row.available).data("capacity", &row.capacity)
                            .data("threshold", &row.threshold).data("margin", &row.margin).data("met", &row.met).empty())
                        @if at > used { rect.left x=(percent(used)) y="5" width=(percent(at - used)) height="12" {} }
                        line.tick.evict x1=(percent(at)) x2=(percent(at)) y1="1" y2="21" {}
                    }
                    span.when { (amount(signal, available)) " left, threshold " (amount(signal, threshold)) ": "
                        @match row.margin {
                            Some(margin) if is_met => strong.bad { "crossed by " (amount(signal, margin.abs())) },
                            Some(margin) => strong { (amount(signal, margin)) " to go" },
                            None => "unknown",
                        }
                    }
                }
                None => { svg.line { rect.track y="5" width="100%" height="12" {} } span.when { "unknown" } }
            }
        }
    }
}

fn order(found: &Found<'_, EvictionRank>) -> Markup {
    let rank = found.answer;
    let items = Place::new(found.id, "/items").each(&rank.items);
    let signal = rank.signal;
    let first = &items[..items.len().min(FIRST)];
    let amounts = first.iter().flat_map(|(item, _)| [usage(item), item.request]);
    let widest = amounts.flatten().max().unwrap_or_default() as f64;
    html! {
        h3 { "Order for " code { (signal) } }
        p.note { @if let Some(ahead) = rank.reclaimed { strong { "Now " (ahead.consequence(&first_names(rank))) ". " } }
            (shown(&sentences(&rank.now))) @if let Some(before) = rank.before.first() { ". Before that, " (shown(&before.to_string())) "." } }
        @if !first.is_empty() {
            (figure(&format!("The first pods in the order of eviction for {signal}"), html! {
                ol.order { @for (item, place) in first { (ranked(item, place, signal, widest)) } }
            }, html! {
                @if first.iter().any(|(item, _)| item.request.is_some()) {
                    (key("over", "usage above the request")) (key("within", "usage within the request")) (key("tick request", "request"))
                }
                @if items.len() > first.len() { span.key { "The first " (first.len()) " of " (items.len()) " pods." } }
            }))
        }
        (doubts(found))
    }
}

fn first_names(rank: &EvictionRank) -> Vec<String> {
    rank.first.one_of.iter().map(ToString::to_string).collect()
}

/// Returns the usage of a pod as amounts are written.
fn usage(item: &RankItem) -> Option<i64> {
    item.usage.and_then(|usage| i64::try_from(usage).ok())
}

/// Returns reasons in words.
fn sentences(reasons: &[impl ToString]) -> String {
    reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn ranked(item: &RankItem, place: &Place<'_>, signal: Signal, widest: f64) -> Markup {
    let (usage, request) = (usage(item), item.request);
    let bullet = Bullet {
        whole: widest,
        bar: usage.map(|usage| usage as f64),
        class: if item.exceeds == Some(true) { "over" } else { "within" },
        ticks: vec![Tick::new("request", request.map(|request| request as f64))],
    };
    let place_text = match item.rank == item.last_rank {
        true => item.rank.to_string(),
        false => format!("{}–{}", item.rank, item.last_rank),
    };
    let name = pod(&item.pod.namespace, &item.pod.name);
    Mark::new("li", "lane")
        .of_pod(&item.pod.namespace, &item.pod.name)
        .called("")
        .of(place)
        .data("rank", &item.rank)
        .data("usage", &item.usage)
        .data("request", &item.request)
        .data("over", &item.over)
        .data("priority", &item.priority)
        .holding(html! {
            span.what { span.place { (place_text) } strong { (name) } }
            (bullet.draw())
            span.when {
                @match usage { Some(usage) => (amount(signal, usage)), None => "not measured" }
                @if let Some(request) = request { " of " (amount(signal, request)) }
                ", priority " (item.priority)
                span.dim { " · " (shown(&sentences(&item.because))) }
            }
        })
}

/// A table of all pods, with the rank for each signal.
fn ranks(found: &[Found<'_, EvictionRank>]) -> Markup {
    let mut pods: BTreeMap<(&str, &str), Vec<Option<&RankItem>>> = BTreeMap::new();
    for (at, rank) in found.iter().enumerate() {
        for item in &rank.answer.items {
            let ranks = pods.entry((&item.pod.namespace, &item.pod.name)).or_default();
            ranks.resize(at, None);
            ranks.push(Some(item));
        }
    }
    let mut rows: Vec<_> = pods.into_iter().collect();
    let rank = |item: Option<&RankItem>| item.map_or(usize::MAX, |item| item.rank);
    rows.sort_by_key(|(_, items)| rank(items.first().copied().flatten()));
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    table(
        "Rank of each pod, by signal",
        rows.len(),
        "pod",
        html! {
            th scope="col" { "Pod" } th.num scope="col" { "Priority" }
            @for rank in found { th.num scope="col" { (rank.answer.signal) } th.num scope="col" { "Usage" } }
        },
        html! { @for ((namespace, name), items) in &rows { tr data-pod=(pod(namespace, name)) {
            th scope="row" { (pod(namespace, name)) }
            td.num { (or_dash(items.iter().flatten().next().map(|item| item.priority.to_string()))) }
            @for (at, rank) in found.iter().enumerate() {
                @let item = items.get(at).copied().flatten();
                td.num { (or_dash(item.map(|item| item.rank.to_string()))) }
                td.num { (or_dash(item.and_then(usage).map(|usage| amount(rank.answer.signal, usage)))) }
            }
        } } },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_of_their_signal() {
        assert_eq!(amount(Signal::MemoryAvailable, 1024), "1Ki");
        assert_eq!(
            [Signal::NodeFsInodesFree, Signal::PidAvailable].map(|it| amount(it, 1024)),
            ["1024", "1024"]
        );
    }

    #[test]
    fn a_crossed_threshold_says_so() {
        let row = ThresholdRow {
            signal: Signal::MemoryAvailable,
            grace_period: GoDuration::default(),
            configured: String::new(),
            threshold: Some(2048),
            min_reclaim: None,
            available: Some(1024),
            capacity: Some(8192),
            margin: Some(-1024),
            met: Some(true),
            reclaim: &[],
        };
        let rows = [row];
        let drawn = margins(&Place::new("evict-memory", "/thresholds").each(&rows)).0;
        assert!(
            drawn.contains("crossed by 1Ki") && drawn.contains("data-margin=\"-1024\""),
            "{drawn}"
        );
    }
}

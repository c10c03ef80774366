//! Eviction: the distance of each signal to its thresholds, and the order in which pods would go, of `kq evict rank`.

use super::answers::{Fields, Found, NodePage, command, doubts, names};
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::memory::size;
use super::scale::{Bullet, Tick, part};
use super::section::{Section, figure, key, table};
use super::text::{pod, shown};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// As many pods stand in the order of a signal; the table of ranks has all.
const FIRST: usize = 10;

/// Returns the section.
pub fn eviction(page: &NodePage<'_>) -> Section {
    let (id, title) = ("eviction", "Eviction");
    let found: Vec<Found<'_>> =
        names::EVICTION.iter().filter_map(|(name, _)| page.find(name).ok()).collect();
    let failed =
        names::EVICTION.iter().filter_map(|(name, signal)| Some((*signal, page.find(name).err()?)));
    let thresholds: Vec<Place<'_>> =
        found.iter().flat_map(|found| Place::all(found.id, found.value, "/thresholds")).collect();
    let is_met = |place: &&Place<'_>| place.value.is("met");
    let met = thresholds.iter().filter(is_met).count();
    Section {
        id,
        title,
        state: match (found.len(), met) {
            (0, _) => "no answer".to_owned(),
            (_, 0) => "no threshold crossed".to_owned(),
            (_, met) => format!("{met} crossed"),
        },
        lead: html! {
            "How far each signal is from its thresholds, and which pods go first where one is crossed."
        },
        body: html! {
            (about(page, id))
            @if !thresholds.is_empty() { (margins(&thresholds)) }
            @for found in &found { @if !found.value.list("thresholds").is_empty() { (order(*found)) } }
            @for found in &found { @if found.value.list("thresholds").is_empty() {
                details.rows { summary { "Order for " (found.value.text("signal")) span.n { "no threshold" } } (order(*found)) }
            } }
            @if !found.is_empty() { (ranks(&found)) }
            @for (signal, why) in failed.filter(|(_, why)| !why.reason.is_empty()) {
                div.none { p { strong { (signal) ": no answer: " } (shown(&why.reason)) }
                    @for hint in &why.hints { p.hint { "Hint: " (shown(hint)) } } }
            }
        },
    }
}

/// Returns true if the amounts of a signal are bytes.
fn is_bytes(signal: &str) -> bool {
    signal.ends_with(".available") && signal != "pid.available"
}

/// Writes an amount of a signal.
fn amount(signal: &str, amount: i64) -> String {
    if is_bytes(signal) { size(amount) } else { amount.to_string() }
}

fn margins(thresholds: &[Place<'_>]) -> Markup {
    figure(
        "Margins to the thresholds of eviction",
        html! {
            div.lanes { @for place in thresholds { (margin(place)) } }
        },
        html! {
            (key("used", "in use")) (key("left", "left before the threshold")) (key("tick evict", "threshold of eviction"))
        },
    )
}

fn margin(place: &Place<'_>) -> Markup {
    let it = place.value;
    let signal = it.text("signal");
    let numbers =
        it.number("available").zip(it.number("capacity")).filter(|(_, capacity)| *capacity > 0);
    let threshold = it.number("threshold").unwrap_or_default();
    let grace = it.some_text("gracePeriod").filter(|grace| *grace != "0s");
    html! {
        div.lane {
            span.what { strong { (signal) } @if let Some(grace) = grace { " for " (grace) } }
            @match numbers {
                Some((available, capacity)) => {
                    @let (used, at) = (part((capacity - available) as f64, capacity as f64), part((capacity - threshold) as f64, capacity as f64));
                    svg.line {
                        rect.track y="5" width="100%" height="12" {}
                        (Mark::new("rect", if it.is("met") { "used crossed" } else { "used" }).across(0.0, used).with("y", "5").with("height", "12")
                            .called(signal).of(place, &["available", "capacity", "threshold", "margin", "met"]).empty())
                        @if at > used { rect.left x=(percent(used)) y="5" width=(percent(at - used)) height="12" {} }
                        line.tick.evict x1=(percent(at)) x2=(percent(at)) y1="1" y2="21" {}
                    }
                    span.when { (amount(signal, available)) " left, threshold " (amount(signal, threshold)) ": "
                        @match it.number("margin") {
                            Some(margin) if it.is("met") => strong.bad { "crossed by " (amount(signal, margin.abs())) },
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

fn order(found: Found<'_>) -> Markup {
    let places = Place::all(found.id, found.value, "/items");
    let signal = found.value.text("signal");
    let amounts = |place: &Place<'_>| [place.value.number("usage"), place.value.number("request")];
    let first = &places[..places.len().min(FIRST)];
    let widest = first.iter().flat_map(amounts).flatten().max().unwrap_or_default() as f64;
    html! {
        h3 { "Order for " code { (signal) } }
        p.note { (shown(&found.value.sentence("now"))) @if let Some(before) = found.value.list("before").first() { ". Before that, " (shown(before.text("text"))) "." } }
        @if !first.is_empty() {
            (figure(&format!("The first pods in the order of eviction for {signal}"), html! {
                ol.order { @for place in first { (ranked(place, signal, widest)) } }
            }, html! {
                @if first.iter().any(|it| it.value.number("request").is_some()) {
                    (key("over", "usage above the request")) (key("within", "usage within the request")) (key("tick request", "request"))
                }
                @if places.len() > first.len() { span.key { "The first " (first.len()) " of " (places.len()) " pods." } }
            }))
        }
        (doubts(found))
        (command(found.command))
    }
}

fn ranked(place: &Place<'_>, signal: &str, widest: f64) -> Markup {
    let item = place.value;
    let (usage, request) = (item.number("usage"), item.number("request"));
    let bullet = Bullet {
        whole: widest,
        bar: usage.map(|usage| usage as f64),
        class: if item.is("exceeds") { "over" } else { "within" },
        ticks: vec![Tick::new("request", request.map(|request| request as f64))],
    };
    let place_text = match item.number("rank") == item.number("lastRank") {
        true => item.number("rank").unwrap_or_default().to_string(),
        false => format!(
            "{}–{}",
            item.number("rank").unwrap_or_default(),
            item.number("lastRank").unwrap_or_default()
        ),
    };
    let name = pod(item.text("namespace"), item.text("name"));
    Mark::new("li", "lane")
        .of_pod(item.text("namespace"), item.text("name"))
        .called("")
        .of(place, &["rank", "usage", "request", "over", "priority"])
        .holding(html! {
            span.what { span.place { (place_text) } strong { (name) } }
            (bullet.draw())
            span.when {
                @match usage { Some(usage) => (amount(signal, usage)), None => "not measured" }
                @if let Some(request) = request { " of " (amount(signal, request)) }
                @if let Some(priority) = item.number("priority") { ", priority " (priority) }
                span.dim { " · " (shown(&item.sentence("because"))) }
            }
        })
}

/// A table of all pods, with the rank for each signal.
fn ranks(found: &[Found<'_>]) -> Markup {
    let mut pods: BTreeMap<(&str, &str), Vec<Option<&Value>>> = BTreeMap::new();
    for (at, found) in found.iter().enumerate() {
        for item in found.value.list("items") {
            let ranks = pods.entry((item.text("namespace"), item.text("name"))).or_default();
            ranks.resize(at, None);
            ranks.push(Some(item));
        }
    }
    let mut rows: Vec<_> = pods.into_iter().collect();
    let rank = |item: Option<&Value>| item.and_then(|item| item.number("rank")).unwrap_or(i64::MAX);
    rows.sort_by_key(|(_, items)| rank(items.first().copied().flatten()));
    table(
        "Rank of each pod, by signal",
        rows.len(),
        "pod",
        html! {
            th scope="col" { "Pod" } th.num scope="col" { "Priority" }
            @for found in found { @let signal = found.value.text("signal"); th.num scope="col" { (signal) } th.num scope="col" { "Usage" } }
        },
        html! { @for ((namespace, name), items) in &rows { tr data-pod=(pod(namespace, name)) {
            th scope="row" { (pod(namespace, name)) }
            td.num { (items.iter().flatten().find_map(|item| item.number("priority")).map_or_else(|| "–".to_owned(), |it| it.to_string())) }
            @for (at, found) in found.iter().enumerate() {
                @let item = items.get(at).copied().flatten();
                td.num { (item.and_then(|item| item.number("rank")).map_or_else(|| "–".to_owned(), |rank| rank.to_string())) }
                td.num { (item.and_then(|item| item.number("usage")).map_or_else(|| "–".to_owned(), |usage| amount(found.value.text("signal"), usage))) }
            }
        } } },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_have_the_unit_of_their_signal() {
        assert_eq!(amount("memory.available", 1024), "1Ki");
        assert_eq!(
            [amount("nodefs.inodesFree", 1024), amount("pid.available", 1024)],
            ["1024", "1024"]
        );
    }

    #[test]
    fn a_crossed_threshold_says_so() {
        let document = json!({"thresholds": [{"signal": "memory.available", "gracePeriod": "0s", "threshold": 2048,
            "available": 1024, "capacity": 8192, "margin": -1024, "met": true}]});
        let drawn = margins(&Place::all("evict-memory", &document, "/thresholds")).0;
        assert!(
            drawn.contains("crossed by 1Ki") && drawn.contains("data-margin=\"-1024\""),
            "{drawn}"
        );
    }
}

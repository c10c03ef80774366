//! A restart of the kubelet: which pods it admits again, of `kq admit explain --kubelet-restart`.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::findings::about;
use super::mark::{Mark, Place};
use super::memory::size;
use super::scale::part;
use super::section::{Section, figure, key, table};
use super::text::{count, moment, short, shown};
use super::tree::NARROW;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the section.
pub fn restart(page: &NodePage<'_>) -> Section {
    let (id, title) = ("restart", "Kubelet restart");
    match page.find(names::RESTART) {
        Ok(found) => {
            let items = found.value.list("items");
            let lost = items.iter().filter(|it| it.text("result") != "admitted").count();
            Section {
                id,
                title,
                state: if lost == 0 {
                    "all admitted".to_owned()
                } else {
                    format!("{lost} not admitted")
                },
                lead: html! {
                    "A kubelet that starts admits its pods again, by age, each together with those admitted before it: "
                    (items.len() - lost) " of " (count(items.len(), "pod")) " stay."
                },
                body: html! { (about(page, id)) (body(found)) },
            }
        }
        Err(why) => Section {
            id,
            title,
            state: "no answer".to_owned(),
            lead: html! {},
            body: html! { (about(page, id)) (no_answer(page.node.answers.get(names::RESTART), why)) },
        },
    }
}

/// Writes an amount of a resource.
pub fn quantity(resource: &str, amount: i64) -> String {
    match resource {
        "cpu" => format!("{amount}m"),
        "memory" | "ephemeral-storage" => size(amount),
        name if name.starts_with("hugepages-") => size(amount),
        _ => amount.to_string(),
    }
}

fn body(found: Found<'_>) -> Markup {
    let items = Place::all(found.id, found.value, "/items");
    html! {
        (figure("What the pods request of the node, in the order of admission", html! {
            div.lanes { @for (resource, parts) in lanes(&items).iter().filter(|it| it.0 != "pods") { (lane(resource, parts)) } }
        }, html! {
            (key("a-admitted", "admitted")) (key("a-lost", "refused or killed"))
            span.key { "Whole width: what is allocatable. Each part is a pod, the oldest at the left." }
        }))
        (table("Pods in the order of admission", items.len(), "pod",
            html! { th scope="col" { "Pod" } th scope="col" { "Created" } th scope="col" { "Result" } th scope="col" { "Why" } },
            html! { @for place in &items { (line(place.value)) } }))
        (doubts(found))
        (command(found.command))
    }
}

/// A pod, and what was compared of a resource at its turn.
type Part<'a> = (&'a Value, Place<'a>);

/// Returns the resources that any pod requests, in the order of the answer, each with what was compared of it. A pod
/// that has one twice is there once.
fn lanes<'a>(items: &[Place<'a>]) -> Vec<(&'a str, Vec<Part<'a>>)> {
    let mut lanes: Vec<(&str, Vec<Part<'_>>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for place in items {
        let below = place.below("compared");
        for (at, compared) in place.value.list("compared").iter().enumerate() {
            let resource = compared.text("resource");
            let lane = *places.entry(resource).or_insert_with(|| {
                lanes.push((resource, Vec::new()));
                lanes.len() - 1
            });
            let Some((_, parts)) = lanes.get_mut(lane) else { continue };
            if parts.last().is_some_and(|(last, _)| std::ptr::eq(*last, place.value)) {
                continue;
            }
            let pointer = format!("{}/{at}", below.pointer);
            parts.push((place.value, Place { answer: below.answer, pointer, value: compared }));
        }
    }
    lanes
}

fn lane(resource: &str, parts: &[Part<'_>]) -> Markup {
    let whole =
        parts.iter().filter_map(|(_, it)| it.value.number("allocatable")).max().unwrap_or_default();
    let taken: i64 = parts
        .iter()
        .filter(|(pod, _)| pod.text("result") == "admitted")
        .filter_map(|(_, it)| it.value.number("requested"))
        .sum();
    html! {
        div.lane {
            span.what { strong { (shown(resource)) } }
            svg.line {
                rect.track y="1" width="100%" height="20" {}
                @for (pod, place) in parts {
                    @let (used, requested) = (place.value.number("used").unwrap_or_default(), place.value.number("requested").unwrap_or_default());
                    @let class = if pod.text("result") == "admitted" { "a-admitted" } else { "a-lost" };
                    (Mark::new("svg", &format!("cell {class}")).across(part(used as f64, whole as f64), part(requested as f64, whole as f64))
                        .class_if((requested as f64) < NARROW * whole as f64, "thin")
                        .with("y", "1").with("height", "20").with("data-pod", shown(pod.text("pod"))).called("")
                        .of(place, &["resource", "requested", "missing"])
                        .holding(html! { rect {} @if requested as f64 >= NARROW * whole as f64 { text x="6" y="14" { (short(pod.text("pod"))) } } }))
                }
            }
            span.when { (quantity(resource, taken)) " of " (quantity(resource, whole)) " requested" }
        }
    }
}

fn line(item: &Value) -> Markup {
    let is_lost = item.text("result") != "admitted";
    let why = |refusal: &Value| format!("{}: {}", refusal.text("reason"), refusal.text("message"));
    let mut reasons: Vec<String> = item.list("refusals").iter().map(why).collect();
    reasons.extend(item.some_text("killedFor").map(|pod| format!("killed for {pod}")));
    html! {
        tr.(if is_lost { "t-error" } else { "" }) data-pod=(shown(item.text("pod"))) {
            th scope="row" { (shown(item.text("pod"))) @if item.is("isStatic") { span.dim { " static" } } }
            td.time { (moment(item.text("createdAt"))) }
            td { (item.text("result")) }
            td.dim { (shown(&reasons.join("; "))) }
        }
    }
}

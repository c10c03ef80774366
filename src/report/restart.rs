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
            div.lanes { @for resource in resources(&items).iter().filter(|it| *it != "pods") { (lane(&items, resource)) } }
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

/// Returns the resources that any pod requests, in the order of the answer.
fn resources(items: &[Place<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for compared in items.iter().flat_map(|place| place.value.list("compared")) {
        let name = compared.text("resource");
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns what was compared of a resource at the turn of a pod.
fn compared<'a>(place: &Place<'a>, resource: &str) -> Option<Place<'a>> {
    let list = place.value.list("compared");
    let at = list.iter().position(|it| it.text("resource") == resource)?;
    let below = place.below("compared");
    Some(Place {
        answer: below.answer,
        pointer: format!("{}/{at}", below.pointer),
        value: &list[at],
    })
}

fn lane(items: &[Place<'_>], resource: &str) -> Markup {
    let parts: Vec<(&Value, Place<'_>)> =
        items.iter().filter_map(|place| Some((place.value, compared(place, resource)?))).collect();
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
                @for (pod, place) in &parts {
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

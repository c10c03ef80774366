//! Preemption for a critical pod: the rounds of `kq preempt explain`, with the distance of each candidate.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::memory::size;
use super::section::{Section, figure, key, table};
use super::text::{shown, words};
use kq_output::units::counted;
use maud::{Markup, html};
use serde_json::Value;

/// As many candidates are drawn in a round; the table has all.
const FIRST: usize = 12;

/// Returns the section.
pub fn preemption(page: &NodePage<'_>) -> Section {
    let (id, title) = ("preemption", "Preemption");
    let is_asked = page.questions.contains_key(names::PREEMPT);
    match page.find(names::PREEMPT) {
        Ok(found) => Section {
            id,
            title,
            state: counted(found.value.list("victims").len(), "victim"),
            lead: html! { (shown(found.value.text("pod"))) ": " (shown(&found.value.sentence("because"))) "." },
            body: html! { (about(page, id)) (body(found)) },
        },
        Err(why) => Section {
            id,
            title,
            state: if is_asked { "no answer" } else { "headroom" }.to_owned(),
            lead: html! { @if !is_asked { "What is left for a critical pod before the kubelet kills others for it. With --preempt-for FILE, the page \
            has the rounds in which the kubelet chooses its victims." } },
            body: html! {
                (about(page, id))
                @if is_asked { (no_answer(page.questions.get(names::PREEMPT), why)) }
            },
        },
    }
}

/// Writes amounts of resources: `cpu 300m, memory 1Gi`.
fn amounts(requirements: &[Value]) -> String {
    let one = |it: &Value| {
        let (resource, quantity) = (it.text("resource"), it.number("quantity").unwrap_or_default());
        match resource {
            "cpu" => format!("cpu {quantity}m"),
            "memory" | "ephemeral-storage" => format!("{resource} {}", size(quantity)),
            _ => format!("{} {quantity}", shown(resource)),
        }
    };
    requirements.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn body(found: Found<'_>) -> Markup {
    let victims = found.value.list("victims");
    let stages = Place::all(found.id, found.value, "/stages");
    let mut number = 0;
    html! {
        p.note { "It lacks: " (amounts(found.value.list("requirements"))) "." }
        @for stage in &stages {
            @let rounds = stage.below("rounds");
            @for (at, value) in stage.value.list("rounds").iter().enumerate() {
                @let place = Place { answer: found.id, pointer: format!("{}/{at}", rounds.pointer), value };
                ({ number += 1; round(&place, number, stage.value.text("qosClass")) })
            }
        }
        (table("Pods that are killed", victims.len(), "victim",
            html! {
                th scope="col" { "Pod" } th scope="col" { "QoS class" } th.num scope="col" { "Priority" } th scope="col" { "Gives" }
                th.num scope="col" { "Grace period" } th scope="col" { "Needed" }
            },
            html! { @for victim in victims { tr data-pod=(shown(victim.text("pod"))) {
                th scope="row" { (shown(victim.text("pod"))) }
                td { (victim.text("qosClass")) }
                td.num { (victim.number("priority").map_or_else(|| "–".to_owned(), |it| it.to_string())) }
                td { (amounts(victim.list("gives"))) }
                td.num { (victim.number("gracePeriodSeconds").map_or_else(|| "–".to_owned(), |it| format!("{it} s"))) }
                td { (if victim.is("unneeded") { "no: those killed after it would have been enough" } else { "yes" }) }
            } } }))
        (table("Pods that stay", found.value.list("spared").len(), "pod",
            html! { th scope="col" { "Pod" } th scope="col" { "Why" } },
            html! { @for spared in found.value.list("spared") { tr data-pod=(shown(spared.text("pod"))) {
                th scope="row" { (shown(spared.text("pod"))) } td { (shown(&spared.sentence("because"))) }
            } } }))
        (doubts(found))
        (command(found.command))
    }
}

fn round(place: &Place<'_>, number: usize, class: &str) -> Markup {
    let round = place.value;
    let list = place.below("candidates");
    let mut candidates: Vec<Place<'_>> = round
        .list("candidates")
        .iter()
        .enumerate()
        .map(|(at, value)| Place {
            answer: place.answer,
            pointer: format!("{}/{at}", list.pointer),
            value,
        })
        .collect();
    let distance = |it: &Place<'_>| it.value.field("distance").as_f64().unwrap_or_default();
    candidates.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    let widest = candidates.iter().map(distance).fold(0.0, f64::max);
    let chosen = round.text("chosen");
    html! {
        h3 { "Round " (number) " among " (class) " pods" span.n { "missing: " (amounts(round.list("requirements"))) } }
        (figure(&format!("Distance of each candidate in round {number}"), html! {
            ol.order { @for it in candidates.iter().take(FIRST) {
                (candidate(it, distance(it), widest, it.value.text("pod") == chosen))
            } }
        }, html! {
            (key("chosen", "chosen")) (key("within", "not chosen"))
            span.key { "Distance 0: the pod gives all that is missing. Among equal ones, the pod with the smallest requests is chosen." }
            @if candidates.len() > FIRST { span.key { "The nearest " (FIRST) " of " (candidates.len()) "." } }
        }))
    }
}

/// Returns how a candidate compares to the best before it, in words.
fn visit(result: &str) -> String {
    match result {
        "nearer" => "nearer than those before it".to_owned(),
        "farther" => "farther away".to_owned(),
        "tieMore" => "as near, and requests more".to_owned(),
        "tieNoMore" => "as near, and requests no more".to_owned(),
        other => words(other),
    }
}

fn candidate(place: &Place<'_>, distance: f64, widest: f64, is_chosen: bool) -> Markup {
    let item = place.value;
    let name = shown(item.text("pod"));
    let width = if widest > 0.0 { distance / widest } else { 0.0 };
    Mark::new("li", "lane").with("data-pod", name.clone()).called("").of(place, &["distance", "result"]).holding(html! {
        span.what { strong { (name) } @if is_chosen { " " span.pill.t-error { "chosen" } } }
        svg.bullet aria-hidden="true" { rect class=(if is_chosen { "chosen" } else { "within" }) y="3" height="10" width=(percent(width.max(0.004))) {} }
        span.when { "distance " (format!("{distance:.3}")) span.dim { " · " (visit(item.text("result"))) } }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_have_units() {
        let list = [
            json!({"resource": "cpu", "quantity": 300}),
            json!({"resource": "memory", "quantity": 1024}),
            json!({"resource": "pods", "quantity": 1}),
        ];
        assert_eq!(amounts(&list), "cpu 300m, memory 1Ki, pods 1");
    }
}

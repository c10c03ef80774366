//! Preemption for a critical pod: the rounds of `kq preempt explain`, with the distance of each candidate.

use super::answers::{Found, NodePage, doubts, names, no_answer};
use super::findings::about;
use super::mark::{Mark, Place, percent};
use super::memory::size;
use super::section::{Section, figure, key, table};
use super::text::shown;
use kq_admission::preemption::{CandidateExplained, Missing, RoundExplained, VisitResult};
use kq_core::question::kinds::PodPreemption;
use kq_output::units::counted;
use maud::{Markup, html};

/// As many candidates are drawn in a round; the table has all.
const FIRST: usize = 12;

/// Returns the section.
pub fn preemption(page: &NodePage<'_>) -> Section {
    let (id, title) = ("preemption", "Preemption");
    let is_asked = page.node.preemption.is_some();
    match page.find(names::PREEMPT, page.node.preemption.as_ref()) {
        Ok(found) => Section {
            id,
            title,
            state: counted(found.answer.preemption.victims.len(), "victim"),
            lead: html! { (shown(&found.answer.pod)) ": " (shown(&found.answer.preemption.because.to_string())) "." },
            body: html! { (about(page, id)) (body(&found)) },
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
fn amounts(requirements: &[Missing]) -> String {
    let one = |Missing { resource, quantity }: &Missing| match resource.as_str() {
        "cpu" => format!("cpu {quantity}m"),
        "memory" | "ephemeral-storage" => format!("{resource} {}", size(*quantity)),
        other => format!("{} {quantity}", shown(other)),
    };
    requirements.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn body(found: &Found<'_, PodPreemption>) -> Markup {
    let preemption = &found.answer.preemption;
    let (victims, spared) = (&preemption.victims, &preemption.spared);
    let stages = Place::new(found.id, "/stages").each(&preemption.stages);
    let mut number = 0;
    html! {
        p.note { "It lacks: " (amounts(&preemption.requirements)) "." }
        @for (stage, place) in &stages {
            @for (found, place) in place.below("rounds").each(&stage.rounds) {
                ({ number += 1; round(found, &place, number, stage.qos_class) })
            }
        }
        (table("Pods that are killed", victims.len(), "victim",
            html! {
                th scope="col" { "Pod" } th scope="col" { "QoS class" } th.num scope="col" { "Priority" } th scope="col" { "Gives" }
                th.num scope="col" { "Grace period" } th scope="col" { "Needed" }
            },
            html! { @for victim in victims { tr data-pod=(shown(&victim.pod)) {
                th scope="row" { (shown(&victim.pod)) }
                td { (victim.qos_class) }
                td.num { (victim.priority.map_or_else(|| "–".to_owned(), |it| it.to_string())) }
                td { (amounts(&victim.gives)) }
                td.num { (victim.grace_period_seconds) " s" }
                td { (if victim.unneeded { "no: those killed after it would have been enough" } else { "yes" }) }
            } } }))
        (table("Pods that stay", spared.len(), "pod",
            html! { th scope="col" { "Pod" } th scope="col" { "Why" } },
            html! { @for spared in spared { tr data-pod=(shown(&spared.pod)) {
                th scope="row" { (shown(&spared.pod)) } td { (shown(&spared.because.to_string())) }
            } } }))
        (doubts(found))
    }
}

fn round(round: &RoundExplained, place: &Place<'_>, number: usize, class: &str) -> Markup {
    let mut candidates = place.below("candidates").each(&round.candidates);
    candidates.sort_by(|(one, _), (other, _)| one.distance.total_cmp(&other.distance));
    let widest = candidates.iter().map(|(it, _)| it.distance).fold(0.0, f64::max);
    html! {
        h3 { "Round " (number) " among " (class) " pods" span.n { "missing: " (amounts(&round.requirements)) } }
        (figure(&format!("Distance of each candidate in round {number}"), html! {
            ol.order { @for (it, place) in candidates.iter().take(FIRST) {
                (candidate(it, place, widest, *it.pod == *round.chosen))
            } }
        }, html! {
            (key("chosen", "chosen")) (key("within", "not chosen"))
            span.key { "Distance 0: the pod gives all that is missing. Among equal ones, the pod with the smallest requests is chosen." }
            @if candidates.len() > FIRST { span.key { "The nearest " (FIRST) " of " (candidates.len()) "." } }
        }))
    }
}

/// Returns how a candidate compares to the best before it, in words.
fn visit(result: VisitResult) -> &'static str {
    match result {
        VisitResult::Nearer => "nearer than those before it",
        VisitResult::Farther => "farther away",
        VisitResult::TieMore => "as near, and requests more",
        VisitResult::TieNoMore => "as near, and requests no more",
    }
}

fn candidate(item: &CandidateExplained, place: &Place<'_>, widest: f64, is_chosen: bool) -> Markup {
    let (name, distance) = (shown(&item.pod), item.distance);
    let width = if widest > 0.0 { distance / widest } else { 0.0 };
    let mark = Mark::new("li", "lane").with("data-pod", name.clone()).called("").of(place);
    mark.data("distance", &distance).data("result", &item.result).holding(html! {
        span.what { strong { (name) } @if is_chosen { " " span.pill.t-error { "chosen" } } }
        svg.bullet aria-hidden="true" { rect class=(if is_chosen { "chosen" } else { "within" }) y="3" height="10" width=(percent(width.max(0.004))) {} }
        span.when { "distance " (format!("{distance:.3}")) span.dim { " · " (visit(item.result)) } }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        let list = [("cpu", 300), ("memory", 1024), ("pods", 1)]
            .map(|(resource, quantity)| Missing { resource: resource.into(), quantity });
        assert_eq!(amounts(&list), "cpu 300m, memory 1Ki, pods 1");
    }
}

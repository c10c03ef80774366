//! A restart of the kubelet: which pods it admits again, of `kq admit explain --kubelet-restart`.

use super::answers::{Found, NodePage, doubts, names};
use super::findings::{about, without};
use super::mark::{Mark, Place};
use super::memory::size;
use super::scale::part;
use super::section::{Section, figure, key, table};
use super::text::{code, moment, short, shown};
use super::tree::NARROW;
use kq_admission::preemption::{ComparedAnew, ReadmissionResult, Readmitted};
use kq_core::question::kinds::PodReadmission;
use kq_output::units::counted;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Returns the section.
pub fn restart(page: &NodePage<'_>) -> Section {
    let (id, title) = ("restart", "Kubelet restart");
    match page.find(names::RESTART, page.node.restart.as_ref()) {
        Ok(found) => {
            let pods = &found.answer.items;
            let error = &found.answer.start_error;
            let lost = pods.iter().filter(|it| it.ends()).count();
            let open = pods.iter().filter(|it| !it.ends() && !it.is_admitted()).count();
            let stopped = pods.iter().filter(|it| it.stopped.is_some()).count();
            Section {
                id,
                title,
                state: match (lost, open) {
                    _ if error.is_some() => "does not start".to_owned(),
                    (0, 0) if stopped > 0 => format!("{stopped} restart"),
                    (0, 0) => "all admitted".to_owned(),
                    (0, open) => format!("{open} open"),
                    (lost, 0) => format!("{lost} not admitted"),
                    (lost, open) => format!("{lost} not admitted, {open} open"),
                },
                lead: html! {
                    @if let Some(error) = error { "No pod is admitted: " (error) ". The rest is of a kubelet that starts. " }
                    "A kubelet that starts admits its pods again, by age, each together with those admitted before it: "
                    (pods.len() - lost - open) " of " (counted(pods.len(), "pod")) " stay"
                    @if open > 0 { ", and " (open) " may" } "."
                    @if stopped > 0 { " Containers of " (counted(stopped, "pod")) " restart." }
                },
                body: html! { (about(page, id)) (body(&found)) },
            }
        }
        Err(why) => without(page, (id, title), names::RESTART, why),
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

fn is_admitted(pod: &Readmitted) -> bool {
    pod.result == ReadmissionResult::Admitted
}

fn body(found: &Found<'_, PodReadmission>) -> Markup {
    let items = Place::new(found.id, "/items").each(&found.answer.items);
    html! {
        (figure("What the pods request of the node, in the order of admission", html! {
            div.lanes { @for (resource, parts) in lanes(&items).iter().filter(|it| it.0 != "pods") { (lane(resource, parts)) } }
        }, html! {
            (key("a-admitted", "admitted")) (key("a-lost", "refused or killed"))
            span.key { "Whole width: what is allocatable. Each part is a pod, the oldest at the left." }
        }))
        (table("Pods in the order of admission", items.len(), "pod",
            html! { th scope="col" { "Pod" } th scope="col" { "Created" } th scope="col" { "Result" } th scope="col" { "Why" } },
            html! { @for (pod, _) in &items { (line(pod)) } }))
        (doubts(found))
    }
}

/// A pod, and its place in the embedded answer.
type Pod<'a> = (&'a Readmitted, Place<'a>);

/// A pod, and what was compared of a resource at its turn, with the place of that.
type Part<'a> = (&'a Readmitted, &'a ComparedAnew, Place<'a>);

/// Returns the resources that any pod requests, in the order of the answer, each with what was compared of it. A pod
/// that has one twice is there once.
fn lanes<'a>(items: &[Pod<'a>]) -> Vec<(&'a str, Vec<Part<'a>>)> {
    let mut lanes: Vec<(&str, Vec<Part<'_>>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (pod, place) in items {
        for (compared, place) in place.below("compared").each(&pod.compared) {
            let resource = compared.resource.as_str();
            let lane = *places.entry(resource).or_insert_with(|| {
                lanes.push((resource, Vec::new()));
                lanes.len() - 1
            });
            let Some((_, parts)) = lanes.get_mut(lane) else { continue };
            if parts.last().is_some_and(|(last, _, _)| std::ptr::eq(*last, *pod)) {
                continue;
            }
            parts.push((pod, compared, place));
        }
    }
    lanes
}

fn lane(resource: &str, parts: &[Part<'_>]) -> Markup {
    let whole = parts.iter().map(|(_, it, _)| it.allocatable).max().unwrap_or_default();
    let admitted = parts.iter().filter(|(pod, _, _)| is_admitted(pod));
    let taken: i64 = admitted.map(|(_, it, _)| it.requested).sum();
    html! {
        div.lane {
            span.what { strong { (shown(resource)) } }
            svg.line {
                rect.track y="1" width="100%" height="20" {}
                @for (pod, compared, place) in parts {
                    @let (used, requested) = (compared.used, compared.requested);
                    @let class = if is_admitted(pod) { "a-admitted" } else { "a-lost" };
                    (Mark::new("svg", &format!("cell {class}")).across(part(used as f64, whole as f64), part(requested as f64, whole as f64))
                        .thin_if((requested as f64) < NARROW * whole as f64)
                        .with("y", "1").with("height", "20").with("data-pod", shown(&pod.pod)).called("")
                        .of(place).data("resource", &compared.resource).data("requested", &requested).data("missing", &compared.missing)
                        .holding(html! { rect {} @if requested as f64 >= NARROW * whole as f64 { text x="6" y="14" { (short(&pod.pod)) } } }))
                }
            }
            span.when { (quantity(resource, taken)) " of " (quantity(resource, whole)) " requested" }
        }
    }
}

fn line(pod: &Readmitted) -> Markup {
    html! {
        tr.(if pod.ends() { "t-error" } else { "" }) data-pod=(shown(&pod.pod)) {
            th scope="row" { (shown(&pod.pod)) @if pod.is_static { span.dim { " static" } } }
            td.time { @if let Some(at) = pod.created_at { (moment(&at.to_string())) } }
            td { (code(&pod.result)) @for other in pod.otherwise.iter().flat_map(|it| &it.results) { " or " (code(other)) } }
            td.dim { (shown(&pod.reasons().join("; "))) }
        }
    }
}

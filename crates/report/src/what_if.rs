//! A change before it is made: the pods and values of `kq what-if`, before and after side by side.

use super::answers::{Found, NodePage, doubts, names, no_answer};
use super::findings::line;
use super::mark::{Mark, Place, percent};
use super::section::{Section, figure, key, table};
use super::text::{code, short, shown, whole, words};
use super::tree::NARROW;
use kq_answer::Severity;
use kq_core::question::kinds::WhatIf;
use kq_core::what_if::{PodOutcome, PodResult, ValueChange};
use kq_output::units::counted;
use maud::{Markup, html};

/// Returns the section; `None`: no change was given.
pub fn what_if(page: &NodePage<'_>) -> Option<Section> {
    if page.node.changes.is_empty() {
        return None;
    }
    Some(Section {
        id: "what-if",
        title: "What if",
        state: counted(page.node.changes.len(), "change"),
        lead: html! { "What a change would do to this node, before it is made." },
        body: html! { @for (at, (change, answered)) in page.node.changes.iter().enumerate() {
            @let name = names::what_if(at);
            h3.change { code { (whole(change)) } }
            @match page.find(&name, Some(answered)) {
                Ok(found) => (body(&found)),
                Err(why) => (no_answer(page.questions.get(&name), why)),
            }
        } },
    })
}

fn class(result: PodResult) -> &'static str {
    match result {
        PodResult::Kept | PodResult::Starts => "a-admitted",
        PodResult::Restarts | PodResult::Waits => "a-restarts",
        PodResult::Refused
        | PodResult::Preempted
        | PodResult::Evicted
        | PodResult::Deleted
        | PodResult::Terminated
        | PodResult::Ends => "a-lost",
    }
}

/// A pod after the change, and its place in the embedded answer.
type Pod<'a> = (&'a PodOutcome, Place<'a>);

fn body(found: &Found<'_, WhatIf>) -> Markup {
    let answer = found.answer;
    let pods = Place::new(found.id, "/pods").each(&answer.pods);
    let findings = answer.items.iter().filter(|it| it.severity != Severity::Ok);
    html! {
        p.note { @match answer.kubelet_starts {
            Some(true) => "The kubelet starts.",
            Some(false) => strong.bad { "The kubelet does not start." },
            None if answer.kubelet_restarts => "Whether the kubelet starts is unknown.",
            None => "The kubelet keeps running.",
        } }
        @if !pods.is_empty() { (picture(&pods)) }
        div.scroll tabindex="0" role="region" aria-label="Consequences" {
            table.findings {
                caption.vh { "Consequences, the worst first" }
                thead { tr { th scope="col" { "Severity" } th scope="col" { "About" } th scope="col" { "Found" } } }
                tbody { @for it in findings { (line(it, &html! {})) } }
            }
        }
        (values(&answer.values))
        (table("Pods after the change", pods.len(), "pod",
            html! { th scope="col" { "Pod" } th scope="col" { "Result" } th scope="col" { "Why" } },
            html! { @for (pod, _) in &pods {
                tr data-pod=(shown(&pod.pod)) {
                    th scope="row" { (shown(&pod.pod)) }
                    td { span.dot.(class(pod.result)) aria-hidden="true" {} (code(&pod.result)) }
                    td.dim { (shown(&[&pod.reason, &pod.message].into_iter().flatten().filter(|it| !it.is_empty()).cloned().collect::<Vec<_>>().join(": "))) }
                }
            } }))
        @if !answer.steps.is_empty() {
            h4 { "Before the change" }
            ol.steps { @for step in &answer.steps { li { (shown(&step.text)) @if let Some(command) = &step.command { " " code { (whole(command)) } } } } }
        }
        (doubts(found))
    }
}

/// Two rows of the same pods: as they are, and as they are after the change.
fn picture(pods: &[Pod<'_>]) -> Markup {
    const RESULTS: [PodResult; 10] = [
        PodResult::Kept,
        PodResult::Starts,
        PodResult::Restarts,
        PodResult::Waits,
        PodResult::Refused,
        PodResult::Preempted,
        PodResult::Evicted,
        PodResult::Deleted,
        PodResult::Terminated,
        PodResult::Ends,
    ];
    let width = 1.0 / pods.len() as f64;
    let of = |result: PodResult| pods.iter().filter(move |(pod, _)| pod.result == result);
    let mut lost = pods.iter().filter(|(pod, _)| pod.result.is_lost());
    let results = RESULTS.into_iter().filter_map(|result| {
        let count = of(result).count();
        (count > 0).then(|| format!("{count} {}", words(&code(&result))))
    });
    let results: Vec<String> = results.collect();
    html! {
        (figure("Pods before and after the change", html! {
            div.lanes {
                div.lane { span.what { strong { "before" } } svg.line.tall {
                    @for (at, (pod, _)) in pods.iter().enumerate() { @if pod.result != PodResult::Starts {
                        svg.cell.a-admitted x=(percent(at as f64 * width)) width=(percent(width)) y="1" height="26" {
                            rect {} @if width >= NARROW { text x="6" y="17" { (short(&pod.pod)) } }
                        }
                    } }
                } span.when { (counted(pods.len() - of(PodResult::Starts).count(), "pod")) } }
                div.lane { span.what { strong { "after" } } svg.line.tall {
                    @for (at, (pod, place)) in pods.iter().enumerate() {
                        (Mark::new("svg", &format!("cell {}", class(pod.result))).thin_if(width < NARROW).across(at as f64 * width, width).with("y", "1").with("height", "26")
                            .with("data-pod", shown(&pod.pod)).called("").of(place)
                            .data("result", &pod.result).data("reason", &pod.reason).data("message", &pod.message)
                            .holding(html! { rect {} @if width >= NARROW { text x="6" y="17" { (short(&pod.pod)) } } }))
                    }
                } span.when { (results.join(", ")) } }
            }
        }, html! {
            (key("a-admitted", "runs")) (key("a-restarts", "restarts or waits")) (key("a-lost", "lost"))
            @if let Some((first, _)) = lost.next() { span.key { strong { "Lost: " } (shown(&first.pod)) @let more = lost.count(); @if more > 0 { " and " (more) " more" } } }
        }))
    }
}

fn values(values: &[ValueChange]) -> Markup {
    let cells = |it: &ValueChange| {
        let after = match &it.between {
            Some([one, other]) => format!("{one} to {other} (open)"),
            None => it.after.clone().unwrap_or_default(),
        };
        [it.before.as_deref().unwrap_or_default(), &after].map(shown)
    };
    if values.is_empty() {
        return html! {};
    }
    table(
        "Values of cgroups, before and after",
        values.len(),
        "value",
        html! {
            th scope="col" { "Cgroup" } th scope="col" { "File" } th.num scope="col" { "Before" } th.num scope="col" { "After" }
            th scope="col" { "Written" }
        },
        html! { @for it in values { @let [before, after] = cells(it);
            tr data-pod=[it.pod.as_deref().map(shown)] {
                th scope="row" { (shown(it.pod.as_deref().unwrap_or(&it.cgroup))) @if let Some(container) = &it.container { " " (shown(container)) } }
                td { code { (shown(&it.file)) } }
                td.num { (before) }
                td.num { strong { (after) } }
                td { (words(&code(&it.written))) }
            }
        } },
    )
}

//! A change before it is made: the pods and values of `kq what-if`, before and after side by side.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::findings::subject;
use super::mark::{Mark, Place, percent};
use super::section::{Section, Tone, figure, key, table};
use super::text::{count, short, shown, whole, words};
use super::tree::NARROW;
use maud::{Markup, html};
use serde_json::Value;

/// Returns the section; `None`: no change was given.
pub fn what_if(page: &NodePage<'_>) -> Option<Section> {
    if page.node.changes.is_empty() {
        return None;
    }
    let answers = page.node.changes.iter().enumerate();
    let answers: Vec<_> =
        answers.map(|(at, change)| (change, format!("{}-{at}", names::WHAT_IF))).collect();
    Some(Section {
        id: "what-if",
        title: "What if",
        state: count(answers.len(), "change"),
        lead: html! { "What a change would do to this node, before it is made." },
        body: html! { @for (change, name) in &answers {
            h3.change { code { (whole(change)) } }
            @match page.find(name) {
                Ok(found) => (body(found)),
                Err(why) => (no_answer(page.node.answers.get(name), why)),
            }
        } },
    })
}

fn class(result: &str) -> &'static str {
    match result {
        "kept" | "starts" => "a-admitted",
        "restarts" | "waits" => "a-restarts",
        _ => "a-lost",
    }
}

fn body(found: Found<'_>) -> Markup {
    let pods = Place::all(found.id, found.value, "/pods");
    let findings = found.value.list("items").iter().filter(|it| it.text("severity") != "OK");
    html! {
        p.note { @match found.value.field("kubeletStarts").as_bool() {
            Some(true) => "The kubelet starts.",
            Some(false) => strong.bad { "The kubelet does not start." },
            None if found.value.is("kubeletRestarts") => "Whether the kubelet starts is unknown.",
            None => "The kubelet keeps running.",
        } }
        @if !pods.is_empty() { (picture(&pods)) }
        div.scroll tabindex="0" role="region" aria-label="Consequences" {
            table.findings {
                caption.vh { "Consequences, the worst first" }
                thead { tr { th scope="col" { "Severity" } th scope="col" { "About" } th scope="col" { "Found" } } }
                tbody { @for it in findings { (finding(it)) } }
            }
        }
        (values(found.value))
        (table("Pods after the change", pods.len(), "pod",
            html! { th scope="col" { "Pod" } th scope="col" { "Result" } th scope="col" { "Why" } },
            html! { @for place in &pods { @let pod = place.value;
                tr data-pod=(shown(pod.text("pod"))) {
                    th scope="row" { (shown(pod.text("pod"))) }
                    td { span.dot.(class(pod.text("result"))) aria-hidden="true" {} (pod.text("result")) }
                    td.dim { (shown(&[pod.text("reason"), pod.text("message")].iter().filter(|it| !it.is_empty()).copied().collect::<Vec<_>>().join(": "))) }
                }
            } }))
        @let steps = found.value.list("steps");
        @if !steps.is_empty() {
            h4 { "Before the change" }
            ol.steps { @for step in steps { li { (shown(step.text("text"))) @if let Some(command) = step.some_text("command") { " " code { (whole(command)) } } } } }
        }
        (doubts(found))
        (command(found.command))
    }
}

fn finding(it: &Value) -> Markup {
    html! {
        tr.(Tone::of(it.text("severity")).class()) data-pod=[super::findings::pod(it)] {
            td { span.pill { (it.text("severity")) } }
            th scope="row" { span.subject { (subject(it)) } br; code.rule { (it.text("id")) } }
            td {
                p.found { (shown(it.text("found"))) }
                @if let Some(why) = it.some_text("why") { p.more { strong { "Why: " } (shown(why)) } }
                @if let Some(leads) = it.some_text("leadsTo") { p.more { strong { "Leads to: " } (shown(leads)) } }
                @if let Some(advice) = it.some_text("advice") { p.more { strong { "Fix: " } (shown(advice)) } }
            }
        }
    }
}

/// Two rows of the same pods: as they are, and as they are after the change.
fn picture(pods: &[Place<'_>]) -> Markup {
    let width = 1.0 / pods.len() as f64;
    let results =
        ["kept", "starts", "restarts", "waits", "refused", "preempted", "evicted", "deleted"];
    let number = |result: &str| pods.iter().filter(|it| it.value.text("result") == result).count();
    let lost: Vec<&Place<'_>> =
        pods.iter().filter(|it| class(it.value.text("result")) == "a-lost").collect();
    html! {
        (figure("Pods before and after the change", html! {
            div.lanes {
                div.lane { span.what { strong { "before" } } svg.line.tall {
                    @for (at, place) in pods.iter().enumerate() { @if place.value.text("result") != "starts" {
                        svg.cell.a-admitted x=(percent(at as f64 * width)) width=(percent(width)) y="1" height="26" {
                            rect {} @if width >= NARROW { text x="6" y="17" { (short(place.value.text("pod"))) } }
                        }
                    } }
                } span.when { (count(pods.len() - number("starts"), "pod")) } }
                div.lane { span.what { strong { "after" } } svg.line.tall {
                    @for (at, place) in pods.iter().enumerate() {
                        (Mark::new("svg", &format!("cell {}", class(place.value.text("result")))).class_if(width < NARROW, "thin").across(at as f64 * width, width).with("y", "1").with("height", "26")
                            .with("data-pod", shown(place.value.text("pod"))).called("").of(place, &["result", "reason", "message"])
                            .holding(html! { rect {} @if width >= NARROW { text x="6" y="17" { (short(place.value.text("pod"))) } } }))
                    }
                } span.when { @for (at, result) in results.iter().filter(|it| number(it) > 0).enumerate() {
                    @if at > 0 { ", " } (number(result)) " " (words(result))
                } } }
            }
        }, html! {
            (key("a-admitted", "runs")) (key("a-restarts", "restarts or waits")) (key("a-lost", "lost"))
            @if let Some(first) = lost.first() { span.key { strong { "Lost: " } (shown(first.value.text("pod"))) @if lost.len() > 1 { " and " (lost.len() - 1) " more" } } }
        }))
    }
}

fn values(what_if: &Value) -> Markup {
    let values = what_if.list("values");
    let cells = |it: &Value| {
        [it.text("before").to_owned(), it.text("after").to_owned()].map(|text| shown(&text))
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
            tr data-pod=[it.some_text("pod").map(shown)] {
                th scope="row" { (shown(it.some_text("pod").unwrap_or_else(|| it.text("cgroup")))) @if let Some(container) = it.some_text("container") { " " (shown(container)) } }
                td { code { (shown(it.text("file"))) } }
                td.num { (before) }
                td.num { strong { (after) } }
                td { (words(it.text("written"))) }
            }
        } },
    )
}

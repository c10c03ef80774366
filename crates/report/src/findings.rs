//! The findings of `kq doctor`, the worst first, each with a link to the picture that it is about.

use super::answers::{Fields, Found, NodePage, command, doubts, names, no_answer};
use super::section::{Section, Tone, closed};
use super::text::{count, shown, whole};
use maud::{Markup, html};
use serde_json::Value;

/// Returns the section.
pub fn findings(page: &NodePage<'_>) -> Section {
    let (id, title) = ("findings", "Findings");
    match page.find(names::DOCTOR) {
        Ok(found) => Section {
            id,
            title,
            state: state(found.value),
            lead: html! { (sentence(found.value)) },
            body: body(page, found),
        },
        Err(why) => Section {
            id,
            title,
            state: "no answer".to_owned(),
            lead: html! {},
            body: no_answer(page.node.answers.get(names::DOCTOR), why),
        },
    }
}

/// Returns the number of findings of each severity that is worse than OK: `2 errors, 5 warnings`.
pub fn state(doctor: &Value) -> String {
    let severities = [("ERROR", "error"), ("UNKNOWN", "unknown"), ("WARNING", "warning")];
    let number = |severity: &str| {
        let number = doctor.number(&format!("/summary/{severity}")).unwrap_or_default();
        usize::try_from(number).unwrap_or_default()
    };
    let counts = severities.map(|(severity, word)| (number(severity), word));
    let texts = counts.iter().filter(|(number, _)| *number > 0).map(|(number, word)| match *word {
        "unknown" => format!("{number} unknown"),
        word => count(*number, word),
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "nothing wrong".to_owned() } else { texts.join(", ") }
}

/// Returns the worst tone of the findings.
pub fn worst(doctor: &Value) -> Tone {
    let tones = doctor.list("items").iter().map(|finding| Tone::of(finding.text("severity")));
    tones.min().unwrap_or(Tone::Ok)
}

fn sentence(doctor: &Value) -> String {
    let items = doctor.list("items");
    let passed = items.iter().filter(|it| it.text("severity") == "OK").count();
    format!("{} of {} passed: {}.", passed, count(items.len(), "check"), state(doctor))
}

fn body(page: &NodePage<'_>, found: Found<'_>) -> Markup {
    let items = found.value.list("items");
    let (passed, open): (Vec<_>, Vec<_>) =
        items.iter().partition(|finding| finding.text("severity") == "OK");
    html! {
        @if !open.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Findings" {
                table.findings {
                    caption.vh { "Findings, the worst first" }
                    thead { tr { th scope="col" { "Severity" } th scope="col" { "About" } th scope="col" { "Found" } } }
                    tbody { @for finding in open { (row(page, finding)) } }
                }
            }
        }
        (closed("Checks that passed", passed.len(), "check",
            html! { th scope="col" { "Check" } th scope="col" { "Found" } th scope="col" { "Source" } },
            html! { @for finding in passed { tr {
                th scope="row" { code { (finding.text("id")) } }
                td { (shown(finding.text("found"))) }
                td.dim { (shown(finding.text("source"))) }
            } } }))
        (doubts(found))
        (command(found.command))
    }
}

fn row(page: &NodePage<'_>, finding: &Value) -> Markup {
    let tone = Tone::of(finding.text("severity"));
    let (about, title) = topic(finding);
    html! {
        tr.(tone.class()) data-pod=[pod(finding)] {
            td { span.pill { (finding.text("severity")) } }
            th scope="row" {
                span.subject { (subject(finding)) }
                br; code.rule { (finding.text("id")) }
            }
            td {
                p.found { (shown(finding.text("found"))) }
                @if let Some(why) = finding.some_text("why") { p.more { strong { "Why: " } (shown(why)) } }
                @if let Some(leads) = finding.some_text("leadsTo") { p.more { strong { "Leads to: " } (shown(leads)) } }
                @if let Some(advice) = finding.some_text("advice") { p.more { strong { "Fix: " } (shown(advice)) } }
                p.more {
                    a.to href={ "#" (page.id(about)) } { "See " (title) }
                    @if let Some(command) = finding.some_text("command") { " " code { (whole(command)) } }
                }
            }
        }
    }
}

/// Returns the pod of a finding, as rows and marks name it.
pub fn pod(finding: &Value) -> Option<String> {
    finding.field("subject").some_text("pod").map(shown)
}

/// Returns what a finding is about, in words.
pub fn subject(finding: &Value) -> String {
    let subject = finding.field("subject");
    let text = |name| subject.some_text(name).map(shown);
    match (text("pod"), text("container")) {
        (Some(pod), Some(container)) => format!("{pod} {container}"),
        (Some(pod), None) => pod,
        _ => text("name").or_else(|| text("path")).unwrap_or_else(|| "the node".to_owned()),
    }
}

/// Returns the section with the picture of a finding, and how a link names it.
pub fn topic(finding: &Value) -> (&'static str, &'static str) {
    const MEMORY: (&str, &str) = ("memory", "memory");
    const CPU: (&str, &str) = ("cpu", "CPU");
    match finding.text("id") {
        "cgroup-values" if finding.text("/facts/file").starts_with("memory") => MEMORY,
        "memory-limit" | "oom-kills" | "swap" => MEMORY,
        "cgroup-values" | "cpu-throttling" | "cpu-weight" | "cpu-limits" | "cgroup-tree" => CPU,
        id if id.starts_with("image") => ("images", "images and disk"),
        "eviction" | "node-conditions" => ("eviction", "eviction"),
        "devices" => ("devices", "devices"),
        id if id.contains("probe") || id == "restarts" => ("probes", "probes"),
        "kubelet-restart" => ("restart", "restart of the kubelet"),
        "preemption-headroom" => ("preemption", "preemption"),
        _ => ("facts", "facts"),
    }
}

/// Returns links back to the findings that are about a section.
pub fn about(page: &NodePage<'_>, section: &str) -> Markup {
    let Ok(found) = page.find(names::DOCTOR) else { return html! {} };
    let items = found.value.list("items").iter();
    let of = items.filter(|it| it.text("severity") != "OK" && topic(it).0 == section);
    html! {
        @for finding in of.take(MOST) {
            p.chip.(Tone::of(finding.text("severity")).class()) data-pod=[pod(finding)] {
                span.pill { (finding.text("severity")) } " "
                strong { (subject(finding)) } ": " (shown(finding.text("found")))
            }
        }
    }
}

/// As many findings stand above a picture; the first section has all.
const MOST: usize = 6;

//! The findings of `kq doctor`, the worst first, each with a link to the picture that it is about.

use super::answers::{Found, NoAnswer, NodePage, doubts, names, no_answer};
use super::section::{Section, class, closed};
use super::text::{shown, whole};
use kq_answer::{Finding, Severity, Subject, Topic};
use kq_core::question::kinds::NodeChecks;
use kq_output::units::counted;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the section.
pub fn findings(page: &NodePage<'_>) -> Section {
    let (id, title) = ("findings", "Findings");
    match page.doctor() {
        Ok(found) => Section {
            id,
            title,
            state: state(&found.answer.items),
            lead: html! { (sentence(&found.answer.items)) },
            body: body(page, &found),
        },
        Err(why) => without(page, (id, title), names::DOCTOR, why),
    }
}

/// Returns the number of findings of each severity that is worse than OK: `2 errors, 5 warnings`.
pub fn state(items: &[Finding]) -> String {
    let number = |severity| items.iter().filter(|it| it.severity == severity).count();
    let (errors, unknown, warnings) =
        (number(Severity::Error), number(Severity::Unknown), number(Severity::Warning));
    let texts: Vec<String> = [
        (errors, counted(errors, "error")),
        (unknown, format!("{unknown} unknown")),
        (warnings, counted(warnings, "warning")),
    ]
    .into_iter()
    .filter_map(|(number, text)| (number > 0).then_some(text))
    .collect();
    if texts.is_empty() { "nothing wrong".to_owned() } else { texts.join(", ") }
}

/// Returns the worst severity of the findings.
pub fn worst(items: &[Finding]) -> Severity {
    items.iter().map(|finding| finding.severity).min().unwrap_or(Severity::Ok)
}

/// Counts checks: one may find several things.
fn sentence(items: &[Finding]) -> String {
    let checks: BTreeSet<&str> = items.iter().map(|it| it.id.as_str()).collect();
    let open = items.iter().filter(|it| it.severity != Severity::Ok);
    let open: BTreeSet<&str> = open.map(|it| it.id.as_str()).collect();
    let passed = checks.len() - open.len();
    format!("{passed} of {} passed: {}.", counted(checks.len(), "check"), state(items))
}

/// So many findings of a rule have rows of their own; of more, all are behind the first.
const ALONE: usize = 3;

/// Returns the findings in their order, those of a rule together where they are many.
fn by_rule<'f>(items: &[&'f Finding]) -> Vec<Vec<&'f Finding>> {
    let key = |finding: &'f Finding| (finding.severity, finding.id.as_str());
    let mut counts: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    for finding in items {
        *counts.entry(key(finding)).or_default() += 1;
    }
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut places: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    for finding in items {
        let is_many = counts.get(&key(finding)).is_some_and(|count| *count > ALONE);
        match places.get(&key(finding)).filter(|_| is_many) {
            Some(place) => groups[*place].push(finding),
            None => {
                places.insert(key(finding), groups.len());
                groups.push(vec![finding]);
            }
        }
    }
    groups
}

fn body(page: &NodePage<'_>, found: &Found<'_, NodeChecks>) -> Markup {
    let items = &found.answer.items;
    let (passed, open): (Vec<_>, Vec<_>) =
        items.iter().partition(|finding| finding.severity == Severity::Ok);
    html! {
        @if !open.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Findings" {
                table.findings {
                    caption.vh { "Findings, the worst first" }
                    thead { tr { th scope="col" { "Severity" } th scope="col" { "About" } th scope="col" { "Found" } } }
                    tbody { @for group in by_rule(&open) {
                        (row(page, group[0]))
                        @if group.len() > 1 { (others(&group[1..])) }
                    } }
                }
            }
        }
        (closed("Checks that passed", passed.len(), "check",
            html! { th scope="col" { "Check" } th scope="col" { "Found" } th scope="col" { "Source" } },
            html! { @for finding in passed { tr {
                th scope="row" { code { (finding.id) } }
                td { (shown(&finding.found)) }
                td.dim { (shown(finding.source.as_deref().unwrap_or_default())) }
            } } }))
        (doubts(found))
    }
}

/// Returns a row that holds the other findings of a rule.
fn others(findings: &[&Finding]) -> Markup {
    html! {
        tr.same { td colspan="3" { details {
            summary { (findings.len()) " more: " code.rule { (findings[0].id) } }
            ul { @for finding in findings { li data-pod=[pod(finding)] {
                strong { (subject(finding)) } ": " (shown(&finding.found))
            } } }
        } } }
    }
}

fn row(page: &NodePage<'_>, finding: &Finding) -> Markup {
    let (about, title) = section(finding.topic);
    let more = html! {
        p.more {
            a.to href={ "#" (page.id(about)) } { "See " (title) }
            @if let Some(command) = &finding.command { " " code { (whole(command)) } }
        }
    };
    line(finding, &more)
}

/// Returns the row of a finding, with what stands below its sentences.
pub fn line(finding: &Finding, more: &Markup) -> Markup {
    let sentences =
        [("Why: ", &finding.why), ("Leads to: ", &finding.leads_to), ("Fix: ", &finding.advice)];
    html! {
        tr.(class(finding.severity)) data-pod=[pod(finding)] {
            td { span.pill { (finding.severity) } }
            th scope="row" {
                span.subject { (subject(finding)) }
                br; code.rule { (finding.id) }
            }
            td {
                p.found { (shown(&finding.found)) }
                @for (what, text) in sentences {
                    @if let Some(text) = text { p.more { strong { (what) } (shown(text)) } }
                }
                (more)
            }
        }
    }
}

/// Returns the pod of a finding, as rows and marks name it.
fn pod(finding: &Finding) -> Option<String> {
    match &finding.subject {
        Subject::Container { pod, .. } | Subject::Pod { pod, .. } => named(pod),
        Subject::Node | Subject::Setting { .. } | Subject::Image { .. } | Subject::File { .. } => {
            None
        }
    }
}

/// Returns what a finding is about, in words.
pub fn subject(finding: &Finding) -> String {
    let container = match &finding.subject {
        Subject::Container { container, .. } | Subject::Pod { container: Some(container), .. } => {
            named(container)
        }
        _ => None,
    };
    let name = match &finding.subject {
        Subject::Setting { name } | Subject::Image { name } => named(name),
        Subject::File { path, .. } => named(path),
        _ => None,
    };
    match (pod(finding), container) {
        (Some(pod), Some(container)) => format!("{pod} {container}"),
        (Some(pod), None) => pod,
        (None, _) => name.unwrap_or_else(|| "the node".to_owned()),
    }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| shown(name))
}

/// Returns the section with the picture of a topic, and how a link names it.
fn section(topic: Topic) -> (&'static str, &'static str) {
    match topic {
        Topic::Memory => ("memory", "memory"),
        Topic::Cpu => ("cpu", "CPU"),
        Topic::Images => ("images", "images and disk"),
        Topic::Eviction => ("eviction", "eviction"),
        Topic::Devices => ("devices", "devices"),
        Topic::Probes => ("probes", "probes"),
        Topic::Restart => ("restart", "restart of the kubelet"),
        Topic::Preemption => ("preemption", "preemption"),
        Topic::RunsPods | Topic::Node => ("facts", "facts"),
    }
}

/// Returns the section of a question that has no answer.
pub fn without(
    page: &NodePage<'_>,
    (id, title): (&'static str, &'static str),
    name: &str,
    why: &NoAnswer,
) -> Section {
    Section {
        id,
        title,
        state: "no answer".to_owned(),
        lead: html! {},
        body: html! { (about(page, id)) (no_answer(page.questions.get(name), why)) },
    }
}

/// Returns links back to the findings that are about a section.
pub fn about(page: &NodePage<'_>, id: &str) -> Markup {
    let Ok(found) = page.doctor() else { return html! {} };
    let items = found.answer.items.iter();
    let of = items.filter(|it| it.severity != Severity::Ok && section(it.topic).0 == id);
    html! {
        @for finding in of.take(MOST) {
            p.chip.(class(finding.severity)) data-pod=[pod(finding)] {
                span.pill { (finding.severity) } " "
                strong { (subject(finding)) } ": " (shown(&finding.found))
            }
        }
    }
}

/// As many findings stand above a picture; the first section has all.
const MOST: usize = 6;

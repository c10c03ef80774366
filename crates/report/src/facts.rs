//! What the answers rest on: sources, facts with their origins, assumptions, what is missing, and the commands.

use super::answers::{Fields, NodePage, names};
use super::findings::about;
use super::section::{Section, closed, table};
use super::text::{shown, whole};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the section; `left_out`: the answers that are too large for the page.
pub fn facts(page: &NodePage<'_>, left_out: &[(String, usize)]) -> Section {
    let answers: Vec<(&str, &Value)> = page
        .questions
        .iter()
        .filter_map(|(name, question)| Some((name.as_str(), question.document.ok()?)))
        .collect();
    let missing = texts(&answers, "missing");
    Section {
        id: "facts",
        title: "Facts",
        state: if missing.is_empty() {
            "nothing missing".to_owned()
        } else {
            format!("{} missing", missing.len())
        },
        lead: html! { "What the answers on this page rest on." },
        body: html! {
            (about(page, "facts"))
            (list("Missing facts", "fact", &missing))
            (list("Warnings", "warning", &texts(&answers, "warnings")))
            (known(&answers))
            (list("Assumptions", "assumption", &texts(&answers, "assumptions")))
            (sources(&page.node.sources))
            (asked(page, left_out))
        },
    }
}

/// Returns the texts of a part of all answers, with the answers that have them.
fn texts(answers: &[(&str, &Value)], part: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, answer) in answers {
        for it in answer.list(part) {
            texts.entry(it.text("text").to_owned()).or_default().insert((*name).to_owned());
        }
    }
    texts
}

fn list(title: &str, one: &str, texts: &BTreeMap<String, BTreeSet<String>>) -> Markup {
    if texts.is_empty() {
        return html! {};
    }
    table(
        title,
        texts.len(),
        one,
        html! { th scope="col" { (title) } th scope="col" { "Of the answers" } },
        html! { @for (text, of) in texts { tr {
            td { (shown(text)) }
            td.dim { (of.iter().map(String::as_str).collect::<Vec<_>>().join(", ")) }
        } } },
    )
}

fn known(answers: &[(&str, &Value)]) -> Markup {
    let mut facts: BTreeMap<&str, &Value> = BTreeMap::new();
    for (_, answer) in answers {
        for (name, fact) in answer.field("facts").as_object().into_iter().flatten() {
            facts.entry(name).or_insert(fact);
        }
    }
    let value = |fact: &Value| match fact.field("value") {
        Value::String(text) => shown(text),
        Value::Object(map) if map.is_empty() => "none".to_owned(),
        other => shown(&other.to_string()),
    };
    table(
        "Facts and their origins",
        facts.len(),
        "fact",
        html! { th scope="col" { "Fact" } th scope="col" { "Value" } th scope="col" { "Origin" } },
        html! { @for (name, fact) in &facts { tr {
            th scope="row" { code { (shown(name)) } }
            td { (value(fact)) }
            td.dim { (shown(fact.text("origin"))) }
        } } },
    )
}

fn sources(sources: &[String]) -> Markup {
    closed(
        "Sources",
        sources.len(),
        "line",
        html! { th scope="col" { "Source" } },
        html! { @for line in sources { tr { td { (shown(line)) } } } },
    )
}

fn asked(page: &NodePage<'_>, left_out: &[(String, usize)]) -> Markup {
    let state =
        |name: &str| match (left_out.iter().find(|(it, _)| it == name), page.questions.get(name)) {
            (Some((_, bytes)), _) => {
                format!("too large for this page ({bytes} bytes): the command prints it")
            }
            (None, Some(question)) if question.document.is_err() => "no answer".to_owned(),
            _ => format!("in this page: #answer-{}", page.id(name)),
        };
    table(
        "Commands of this page",
        page.questions.len(),
        "command",
        html! { th scope="col" { "Answer" } th scope="col" { "Command" } th scope="col" { "JSON" } },
        html! { @for (name, question) in &page.questions { tr {
            th scope="row" { (name) }
            td { code { (whole(question.command)) } }
            td.dim { (state(name)) }
        } } },
    )
}

/// Amounts for the top of the page that answer one question.
pub struct Card {
    pub title: &'static str,
    /// The section that has more.
    pub section: &'static str,
    /// What, and its value.
    pub amounts: Vec<(&'static str, String)>,
}

/// Returns a short overview for the top of the page.
pub fn glance(page: &NodePage<'_>) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(free) = page.doctor().ok().and_then(|(_, checks)| checks.not_requested) {
        let amounts = vec![
            ("CPU", format!("{}m", free.milli_cpu)),
            ("Memory", super::memory::size(free.memory_bytes)),
        ];
        cards.push(Card { title: "Not requested", section: "restart", amounts });
    }
    let mut amounts = Vec::new();
    for (name, label) in [("evict-memory", "Memory"), ("evict-disk", "Disk")] {
        let thresholds = page.eviction(name).ok().map(|(_, rank)| &rank.thresholds);
        if let Some(margin) = thresholds.into_iter().flatten().filter_map(|it| it.margin).min() {
            amounts.push((label, super::memory::size(margin)));
        }
    }
    if !amounts.is_empty() {
        cards.push(Card { title: "Until eviction", section: "eviction", amounts });
    }
    if let Ok(found) = page.find(names::GC)
        && let Some(usage) = found.value.number("/run/usage/percent")
        && let Some(high) = found.value.number("/run/highThresholdPercent")
    {
        let amounts = vec![("Used", format!("{usage} %")), ("Limit", format!("{high} %"))];
        cards.push(Card { title: "Disk of images", section: "images", amounts });
    }
    if let Ok(found) = page.find(names::DEVICES) {
        let resources = found.value.field("resources").as_object();
        let sum = |field: &str| {
            resources.into_iter().flatten().filter_map(|(_, it)| it.number(field)).sum::<i64>()
        };
        if resources.is_some_and(|it| !it.is_empty()) {
            let healthy = format!("{} of {}", sum("healthy"), sum("capacity"));
            let amounts = vec![("Healthy", healthy)];
            cards.push(Card { title: "Devices", section: "devices", amounts });
        }
    }
    cards
}

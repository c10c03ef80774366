//! What the answers rest on: sources, facts with their origins, assumptions, what is missing, and the commands.

use super::answers::NodePage;
use super::findings::about;
use super::section::{Section, closed, table};
use super::text::{shown, whole};
use kq_answer::{Basis, Fact};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the section; `left_out`: the answers that are too large for the page.
pub fn facts(page: &NodePage<'_>, left_out: &[(String, usize)]) -> Section {
    let answers: Vec<(&str, &Basis)> = page
        .questions
        .iter()
        .filter_map(|(name, question)| Some((name.as_str(), question.document.ok()?.1)))
        .collect();
    let missing = texts(&answers, |basis| basis.missing.iter().map(|it| &it.text).collect());
    let warnings = texts(&answers, |basis| basis.warnings.iter().map(|it| &it.text).collect());
    let assumptions =
        texts(&answers, |basis| basis.assumptions.iter().map(|it| &it.text).collect());
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
            (list("Warnings", "warning", &warnings))
            (known(&answers))
            (list("Assumptions", "assumption", &assumptions))
            (sources(&page.node.sources))
            (asked(page, left_out))
        },
    }
}

/// Returns the texts of a part of all answers, with the answers that have them.
fn texts<'a>(
    answers: &[(&'a str, &'a Basis)],
    part: impl Fn(&'a Basis) -> Vec<&'a String>,
) -> Texts<'a> {
    let mut texts = Texts::new();
    for (name, basis) in answers {
        for text in part(basis) {
            texts.entry(text).or_default().insert(name);
        }
    }
    texts
}

type Texts<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn list(title: &str, one: &str, texts: &Texts<'_>) -> Markup {
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
            td.dim { (of.iter().copied().collect::<Vec<_>>().join(", ")) }
        } } },
    )
}

fn known(answers: &[(&str, &Basis)]) -> Markup {
    let mut facts: BTreeMap<&str, &Fact> = BTreeMap::new();
    for (_, basis) in answers {
        for (name, fact) in &basis.facts {
            facts.entry(name).or_insert(fact);
        }
    }
    let value = |fact: &Fact| match &fact.value {
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
            td.dim { (shown(&fact.origin.to_string())) }
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
    if let Some(free) = page.doctor().ok().and_then(|found| found.answer.not_requested) {
        let amounts = vec![
            ("CPU", format!("{}m", free.milli_cpu)),
            ("Memory", super::memory::size(free.memory_bytes)),
        ];
        cards.push(Card { title: "Not requested", section: "restart", amounts });
    }
    let mut amounts = Vec::new();
    for (name, label) in [("evict-memory", "Memory"), ("evict-disk", "Disk")] {
        let thresholds = page.eviction(name).ok().map(|found| &found.answer.thresholds);
        if let Some(margin) = thresholds.into_iter().flatten().filter_map(|it| it.margin).min() {
            amounts.push((label, super::memory::size(margin)));
        }
    }
    if !amounts.is_empty() {
        cards.push(Card { title: "Until eviction", section: "eviction", amounts });
    }
    if let Ok(found) = page.collection()
        && let Some(usage) = found.answer.plan.run.usage
    {
        let high = found.answer.plan.run.high_threshold_percent;
        let amounts =
            vec![("Used", format!("{} %", usage.percent)), ("Limit", format!("{high} %"))];
        cards.push(Card { title: "Disk of images", section: "images", amounts });
    }
    if let Ok(found) = page.devices()
        && let resources = &found.answer.resources
        && !resources.is_empty()
    {
        let healthy: usize = resources.iter().filter_map(|it| it.healthy).sum();
        let capacity: i64 = resources.iter().filter_map(|it| it.capacity).sum();
        let amounts = vec![("Healthy", format!("{healthy} of {capacity}"))];
        cards.push(Card { title: "Devices", section: "devices", amounts });
    }
    cards
}

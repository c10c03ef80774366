//! The page: head with its security policy, table of contents, sections, embedded answers.

use super::answers::{NodeAnswers, NodePage, embed};
use super::section::{Section, class};
use super::text::shown;
use super::{
    cpu, devices, eviction, facts, findings, images, memory, preemption, probes, restart, what_if,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kq_answer::Severity;
use kq_facts::report_page::{BEGINS, SNAPSHOT_BEGINS, SNAPSHOT_ENDS};
use kq_output::units::counted;
use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// So many bytes of answers are embedded in a page.
const EMBEDDED: usize = 640 << 10;

/// So many bytes of HTML are in a page at most, and of each of its nodes an equal part.
const MOST: usize = 384 << 20;

/// A page that is written node by node.
#[derive(Debug)]
pub struct Page {
    nodes: Vec<Entry>,
    body: String,
    is_one: bool,
}

/// What a page has about one node. A process of its own may write it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PagePart {
    entry: Entry,
    body: String,
}

/// A node in the index of a page about several.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    prefix: String,
    name: String,
    at: String,
    tone: Severity,
    state: String,
    first: String,
    sections: Vec<(String, String, String)>,
    lacks_answers: bool,
}

impl PagePart {
    /// Writes the part of the node with this number, counted from 1, in a page about so many nodes.
    pub fn of(node: &NodeAnswers, number: usize, nodes: usize) -> Self {
        let is_one = nodes == 1;
        let prefix = if is_one { String::new() } else { format!("n{number}-") };
        let page = NodePage::new(node, &prefix);
        let (answers, left_out) = embed(&page, EMBEDDED / nodes.max(1));
        let sections = sections(&page, &left_out);
        let markup = match is_one {
            true => html! {
                (header(&page, true))
                @for section in &sections { (body(&page, section)) }
            },
            false => html! {
                article {
                    details id={ (prefix) "node" } {
                        summary { h2 { (shown(&node.name)) } span.n { (state(&page)) } }
                        (header(&page, false))
                        @for section in &sections { (body(&page, section)) }
                    }
                }
            },
        };
        let mut body = markup.0;
        body.push_str(&answers.0);
        if let Some(packed) = &node.snapshot {
            body.push_str(SNAPSHOT_BEGINS);
            STANDARD.encode_string(packed, &mut body);
            body.push_str(SNAPSHOT_ENDS);
            body.push('\n');
        }
        let doctor = page.doctor().ok().map(|found| found.answer.items.as_slice());
        let first = doctor.and_then(<[_]>::first).filter(|it| it.severity != Severity::Ok);
        let first = first.map(|it| format!("{}: {}", findings::subject(it), shown(&it.found)));
        let of_contents = |it: Section| (page.id(it.id), it.title.to_owned(), it.state);
        let entry = Entry {
            tone: doctor.map_or(Severity::Unknown, findings::worst),
            state: state(&page),
            first: first.unwrap_or_default(),
            name: node.name.clone(),
            at: node.at.clone(),
            sections: sections.into_iter().map(of_contents).collect(),
            lacks_answers: page.lacks_answers(),
            prefix,
        };
        Self { entry, body }
    }

    /// Returns the most bytes of the part of a node in a page about so many.
    pub fn limit(nodes: usize) -> usize {
        MOST / nodes.max(1)
    }
}

impl Page {
    /// Begins a page about so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes: Vec::new(), body: String::new(), is_one: nodes == 1 }
    }

    /// Adds a node.
    pub fn add(&mut self, part: PagePart) {
        self.body.push_str(&part.body);
        self.nodes.push(part.entry);
    }

    /// Returns true if a question about a node has no answer.
    pub fn lacks_answers(&self) -> bool {
        self.nodes.iter().any(|node| node.lacks_answers)
    }

    /// Returns the whole page.
    pub fn finish(mut self) -> String {
        let title = match self.nodes.as_slice() {
            [one] if self.is_one => format!("{} at {}", shown(&one.name), shown(&one.at)),
            nodes => counted(nodes.len(), "node"),
        };
        // Stable: of equally bad ones, the order stays.
        self.nodes.sort_by_key(|entry| entry.tone);
        let markup = html! {
            (head(&title))
            body {
                a.skip href="#main" { "Skip to the report" }
                (top(&title))
                div.page {
                    (self.contents())
                    main id="main" tabindex="-1" {
                        @if !self.is_one { (self.index(&title)) }
                        (PreEscaped(&self.body))
                        footer { (footer()) }
                    }
                }
                div.tip id="tip" role="tooltip" hidden {}
                div.vh id="live" aria-live="polite" {}
                (help())
                script { (PreEscaped(SCRIPT)) }
            }
        };
        // The page may be large, and is in memory only once.
        drop(self);
        let mut page = markup.0;
        page.insert_str(0, BEGINS);
        page.push_str("</html>\n");
        page
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="Contents" { ul {
                @if let ([one], true) = (self.nodes.as_slice(), self.is_one) {
                    @for (id, title, state) in &one.sections {
                        li { a href={ "#" (id) } { (title) span.state { (state) } } }
                    }
                } @else {
                    @for entry in &self.nodes {
                        li { a href={ "#" (entry.prefix) "node" } { (shown(&entry.name)) span.state { (entry.state) } } }
                    }
                }
            } }
        }
    }

    fn index(&self, title: &str) -> Markup {
        html! {
            header.node { h1 { (title) } p.at { "Those with the worst findings first." } }
            section id="nodes" {
                h2 tabindex="-1" { "Nodes" }
                div.scroll tabindex="0" role="region" aria-label="Nodes" { table {
                    caption.vh { "Nodes, those with the worst findings first" }
                    thead { tr { th scope="col" { "Worst" } th scope="col" { "Node" } th scope="col" { "Findings" } th scope="col" { "First" } th scope="col" { "Taken" } } }
                    tbody { @for entry in &self.nodes { tr.(class(entry.tone)) {
                        td { span.pill { (entry.tone) } }
                        th scope="row" { a href={ "#" (entry.prefix) "node" } { (shown(&entry.name)) } }
                        td { (entry.state) }
                        td { (entry.first) }
                        td.dim { (shown(&entry.at)) }
                    } } }
                } }
            }
        }
    }
}

fn sections(page: &NodePage<'_>, left_out: &[(String, usize)]) -> Vec<Section> {
    let mut sections = vec![
        findings::findings(page),
        cpu::cpu(page),
        memory::memory(page),
        images::images(page),
        devices::devices(page),
        probes::probes(page),
        eviction::eviction(page),
        preemption::preemption(page),
        restart::restart(page),
    ];
    sections.extend(what_if::what_if(page));
    sections.push(facts::facts(page, left_out));
    sections
}

fn state(page: &NodePage<'_>) -> String {
    page.doctor()
        .map_or_else(|_| "no answer".to_owned(), |found| findings::state(&found.answer.items))
}

fn body(page: &NodePage<'_>, section: &Section) -> Markup {
    let id = page.id(section.id);
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } tabindex="-1" { (section.title) }
            @if !section.lead.0.is_empty() { p.lead { (section.lead) } }
            (section.body)
        }
    }
}

fn header(page: &NodePage<'_>, is_one: bool) -> Markup {
    let items = page.doctor().map(|found| found.answer.items.as_slice()).unwrap_or_default();
    let number = |severity| items.iter().filter(|it| it.severity == severity).count();
    html! {
        header.node {
            @if is_one { h1 { (shown(&page.node.name)) } }
            p.title { span { "as of " time datetime=(shown(&page.node.at)) { (shown(&page.node.at)) } }
                @for (what, value) in &page.node.title { span { (what) " " (shown(value)) } } }
            p.verdict { @for severity in Severity::ALL.into_iter().filter(|it| number(*it) > 0) {
                span.pill.(class(severity)) { (number(severity)) " " (severity) }
            } }
            div.glance { @for card in facts::glance(page) {
                a.card href={ "#" (page.id(card.section)) } {
                    strong { (card.title) }
                    dl { @for (what, value) in card.amounts { div { dt { (what) } dd { (value) } } } }
                }
            } }
        }
    }
}

fn head(title: &str) -> Markup {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="referrer" content="no-referrer";
            meta name="color-scheme" content="light dark";
            meta name="generator" content=(concat!("kq ", env!("CARGO_PKG_VERSION")));
            title { (title) " · kq report" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn top(title: &str) -> Markup {
    html! {
        div.top role="search" {
            span.name { (title) }
            input id="search" type="search" placeholder="Filter by pod, image or text" aria-label="Filter the report by pod, image or text"
                autocomplete="off" spellcheck="false" aria-keyshortcuts="/";
            span.hits id="hits" aria-live="polite" {}
            span.tools {
                button id="theme" type="button" { "Theme: auto" }
                button id="keys" type="button" aria-haspopup="dialog" { "Keys" }
            }
        }
    }
}

fn help() -> Markup {
    const KEYS: [(&str, &str); 6] = [
        ("/", "filter"),
        ("j k", "next and previous section"),
        ("← → ↑ ↓", "from mark to mark, within a picture that has the focus"),
        ("Enter", "filter by the pod of the mark; a click does the same"),
        ("Esc", "leave the mark, then the filter"),
        ("?", "these keys"),
    ];
    html! {
        dialog.help id="help" aria-labelledby="help-title" {
            h2 id="help-title" { "Keys" }
            dl { @for (key, meaning) in KEYS { dt { kbd { (key) } } dd { (meaning) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

fn footer() -> Markup {
    html! { "Made by kq " (env!("CARGO_PKG_VERSION")) " with " code { "kq report" } ". The page loads nothing: all that it shows is in this file." }
}

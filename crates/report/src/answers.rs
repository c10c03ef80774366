//! What the page is made of: the answers about a node, each with the command that gives it. Sections draw the answers
//! themselves; the page embeds their documents, in which marks name their places.

use super::drawn::{Cgroup, CpuTime, Devices};
use super::text::{shown, whole};
use kq_answer::{Answer, Basis, Document};
use kq_core::question::kinds::{
    EvictionRank, ImageDisk, ImageGcAnswer, ImageList, NodeChecks, PodPreemption, PodReadmission,
    ProbePlan, WhatIf,
};
use kq_output::terminal::is_unsafe;
use kq_output::value::to_value;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

/// The answers about a node. A question that was not asked is `None`.
#[derive(Clone, Debug, Default)]
pub struct NodeAnswers {
    /// The name of the node.
    pub name: String,
    /// The moment of all facts, RFC 3339.
    pub at: String,
    /// Facts below the title: what, and its value.
    pub title: Vec<(&'static str, String)>,
    /// Where the facts are from, one line for each.
    pub sources: Vec<String>,
    pub doctor: Option<Answered<NodeChecks>>,
    /// The values and the usage of its cgroups.
    pub usage: Option<Answered<Vec<Cgroup>>>,
    /// How the CPUs are divided.
    pub shares: Option<Answered<CpuTime>>,
    pub images: Option<Answered<ImageList>>,
    /// The next collection of images.
    pub collection: Option<Answered<ImageGcAnswer>>,
    /// What the disk of the images holds.
    pub disk: Option<Answered<ImageDisk>>,
    pub devices: Option<Answered<Devices>>,
    pub probes: Option<Answered<ProbePlan>>,
    /// The start of the kubelet.
    pub restart: Option<Answered<PodReadmission>>,
    /// Room for a critical pod.
    pub preemption: Option<Answered<PodPreemption>>,
    /// The order of eviction, for signals of [`names::EVICTION`].
    pub evictions: BTreeMap<&'static str, Answered<EvictionRank>>,
    /// The changes that were asked about, as they were typed; their answers are named `what-if-0`, ...
    pub changes: Vec<(String, Answered<WhatIf>)>,
    /// The snapshot, packed; `None`: the page does not hold it.
    pub snapshot: Option<Vec<u8>>,
}

/// A question, and its answer.
#[derive(Clone, Debug)]
pub struct Answered<A> {
    /// The command that gives it.
    pub command: String,
    /// Why it is this question and not another; empty: no reason is needed.
    pub note: String,
    /// The answer, or why there is none.
    pub answer: Result<Reply<A>, NoAnswer>,
}

/// What a section draws of an answer, and the document that is embedded.
#[derive(Clone, Debug)]
pub struct Reply<A> {
    answer: A,
    basis: Basis,
    document: Value,
}

impl<A: Answer> Reply<A> {
    /// Returns an answer with its document.
    /// Fails for a value that JSON cannot have.
    pub fn of(answer: A) -> io::Result<Self> {
        let Reply { basis, document, .. } = Reply::drawing(&answer, ())?;
        Ok(Self { answer, basis, document })
    }
}

impl<A> Reply<A> {
    /// Returns a part of an answer that lives no longer, with its document.
    /// Fails for a value that JSON cannot have.
    pub fn drawing(answer: &impl Answer, part: A) -> io::Result<Self> {
        let (basis, document) = (answer.basis().clone(), to_value(&Document::of(answer))?);
        Ok(Self { answer: part, basis, document })
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug)]
pub struct NoAnswer {
    pub reason: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

const NOT_ASKED: &NoAnswer = &NoAnswer { reason: String::new(), hints: Vec::new() };

/// An answer as a section reads it.
#[derive(Debug)]
pub struct Found<'a, A> {
    /// The name of the embedded document, which is unique on the page: its element is `answer-NAME`.
    pub id: &'a str,
    pub answer: &'a A,
    question: &'a Question<'a>,
}

impl<'a, A> Found<'a, A> {
    /// Returns the command that gives it.
    pub fn command(&self) -> &'a str {
        self.question.command
    }
}

/// A question of a page, whatever the type of its answer.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The identifier of its answer on the page.
    pub id: String,
    pub command: &'a str,
    note: &'a str,
    /// The document and what it rests on, or why there is none.
    pub document: Result<(&'a Value, &'a Basis), &'a NoAnswer>,
}

impl<'a> Question<'a> {
    fn of<A>(prefix: &str, name: &str, answered: &'a Answered<A>) -> (String, Self) {
        let Answered { command, note, answer } = answered;
        let document = answer.as_ref().map(|reply| (&reply.document, &reply.basis));
        let question = Self { id: format!("{prefix}{name}"), command, note, document };
        (name.to_owned(), question)
    }
}

/// The answers about a node, with identifiers of their own on the page.
#[derive(Clone, Debug)]
pub struct NodePage<'a> {
    pub node: &'a NodeAnswers,
    /// What the identifiers of this node begin with: empty on a page about one node.
    pub prefix: String,
    /// All questions by name.
    pub questions: BTreeMap<String, Question<'a>>,
}

impl<'a> NodePage<'a> {
    /// Returns the answers with identifiers that begin so.
    pub fn new(node: &'a NodeAnswers, prefix: &str) -> Self {
        let mut questions = BTreeMap::new();
        macro_rules! ask {
            ($($name:expr => $answered:expr),*) => {
                $(questions.extend($answered.into_iter().map(|it| Question::of(prefix, $name, it)));)*
            };
        }
        ask!(
            names::DOCTOR => &node.doctor, names::USAGE => &node.usage, names::SHARES => &node.shares,
            names::IMAGES => &node.images, names::GC => &node.collection, names::DISK => &node.disk,
            names::DEVICES => &node.devices, names::PROBES => &node.probes,
            names::RESTART => &node.restart, names::PREEMPT => &node.preemption
        );
        questions.extend(node.evictions.iter().map(|(name, it)| Question::of(prefix, name, it)));
        let changes = node.changes.iter().enumerate();
        questions
            .extend(changes.map(|(at, (_, it))| Question::of(prefix, &names::what_if(at), it)));
        Self { node, prefix: prefix.to_owned(), questions }
    }

    /// Returns the answer to a question, or why there is none.
    pub fn find<A>(
        &'a self,
        name: &str,
        answered: Option<&'a Answered<A>>,
    ) -> Result<Found<'a, A>, &'a NoAnswer> {
        let (Some(question), Some(answered)) = (self.questions.get(name), answered) else {
            return Err(NOT_ASKED);
        };
        let reply = answered.answer.as_ref()?;
        Ok(Found { id: &question.id, answer: &reply.answer, question })
    }

    /// Returns the checks of the node.
    pub fn doctor(&'a self) -> Result<Found<'a, NodeChecks>, &'a NoAnswer> {
        self.find(names::DOCTOR, self.node.doctor.as_ref())
    }

    /// Returns the values and the usage of cgroups.
    pub fn usage(&'a self) -> Result<Found<'a, Vec<Cgroup>>, &'a NoAnswer> {
        self.find(names::USAGE, self.node.usage.as_ref())
    }

    /// Returns the next collection of images.
    pub fn collection(&'a self) -> Result<Found<'a, ImageGcAnswer>, &'a NoAnswer> {
        self.find(names::GC, self.node.collection.as_ref())
    }

    /// Returns the devices.
    pub fn devices(&'a self) -> Result<Found<'a, Devices>, &'a NoAnswer> {
        self.find(names::DEVICES, self.node.devices.as_ref())
    }

    /// Returns the order of eviction for a signal, by the name of the answer.
    pub fn eviction(&'a self, name: &str) -> Result<Found<'a, EvictionRank>, &'a NoAnswer> {
        self.find(name, self.node.evictions.get(name))
    }

    /// Returns true if a question has no answer.
    pub fn lacks_answers(&self) -> bool {
        self.questions.values().any(|question| question.document.is_err())
    }

    /// Returns the identifier of a section.
    pub fn id(&self, section: &str) -> String {
        format!("{}{section}", self.prefix)
    }
}

/// Returns the command that gives a picture or a table.
pub fn command(command: &str) -> Markup {
    html! { p.cmd { code { (whole(command)) } } }
}

/// Returns why there is no picture.
pub fn no_answer(question: Option<&Question<'_>>, why: &NoAnswer) -> Markup {
    html! {
        div.none {
            p { strong { "No answer: " } (shown(&why.reason)) }
            @for hint in &why.hints { p.hint { "Hint: " (shown(hint)) } }
        }
        @if let Some(question) = question { (command(question.command)) }
    }
}

/// Returns what an answer lacks and warns of, and the command that gives it.
pub fn doubts<A>(found: &Found<'_, A>) -> Markup {
    let Question { command: by, note, document, .. } = found.question;
    let basis = document.ok().map(|(_, basis)| basis);
    html! {
        @if !note.is_empty() { p.doubt { (shown(note)) } }
        @for lacks in basis.iter().flat_map(|it| &it.missing) {
            p.doubt { strong { "Missing: " } (shown(&lacks.text))
                @if let Some(flag) = lacks.flags.first() { " (" code { (flag) } ")" } }
        }
        @for warning in basis.iter().flat_map(|it| &it.warnings) {
            p.doubt { strong { "Warning: " } (shown(&warning.text)) }
        }
        (command(by))
    }
}

/// Embeds the answers of a node, the smallest first, as far as `budget` bytes go; returns what was left out as well.
pub fn embed(page: &NodePage<'_>, budget: usize) -> (Markup, Vec<(String, usize)>) {
    let mut documents: Vec<(&str, &str, String)> = page
        .questions
        .iter()
        .filter_map(|(name, it)| Some((name.as_str(), it.id.as_str(), json(it.document.ok()?.0))))
        .collect();
    documents.sort_by_key(|(_, _, json)| json.len());
    let (mut markup, mut left_out, mut room) = (String::new(), Vec::new(), budget);
    for (name, id, json) in documents {
        if json.len() > room {
            left_out.push((name.to_owned(), json.len()));
            continue;
        }
        room -= json.len();
        let element =
            html! { script type="application/json" id={ "answer-" (id) } { (PreEscaped(json)) } };
        markup.push_str(&element.0);
        markup.push('\n');
    }
    (PreEscaped(markup), left_out)
}

/// Writes JSON that can stand within an element: what would end it is escaped, as is what a reader cannot see.
pub fn json(value: &Value) -> String {
    let text = value.to_string();
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Such a character is within a text: JSON has none outside.
            c if matches!(c, '<' | '>' | '&') || is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    safe.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => safe.push(c),
        }
    }
    safe
}

/// The names of answers.
pub mod names {
    pub const DOCTOR: &str = "doctor";

    pub const USAGE: &str = "usage";

    pub const SHARES: &str = "shares";

    pub const IMAGES: &str = "images";

    pub const GC: &str = "gc";

    pub const DISK: &str = "disk";

    pub const DEVICES: &str = "devices";

    pub const PROBES: &str = "probes";

    pub const RESTART: &str = "restart";

    pub const PREEMPT: &str = "preempt";

    /// The effect of a change, by its number.
    pub fn what_if(at: usize) -> String {
        format!("what-if-{at}")
    }

    /// The order of eviction for each signal. The first four are asked for each node, the others where a threshold is crossed.
    pub const EVICTION: [(&str, &str); 8] = [
        ("evict-memory", "memory.available"),
        ("evict-disk", "nodefs.available"),
        ("evict-inodes", "nodefs.inodesFree"),
        ("evict-pid", "pid.available"),
        ("evict-images", "imagefs.available"),
        ("evict-image-inodes", "imagefs.inodesFree"),
        ("evict-containers", "containerfs.available"),
        ("evict-container-inodes", "containerfs.inodesFree"),
    ];

    /// The number of signals whose order is asked for each node.
    pub const EVICTION_ALWAYS: usize = 4;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn embedded_json_ends_no_element_and_reads_back() {
        let value = json!({"a</script><!--": "x\u{2028}&\u{202e}"});
        let text = super::json(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{202e}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("it is JSON"), value);
    }

    #[test]
    fn large_answers_are_left_out() {
        let (node, basis) = (NodeAnswers::default(), Basis::default());
        let page = |value| {
            let (id, document) = ("n1-gc".to_owned(), Ok((value, &basis)));
            let question = Question { id, command: "kq", note: "", document };
            let questions = [("gc".to_owned(), question)].into();
            NodePage { node: &node, prefix: "n1-".to_owned(), questions }
        };
        let (small, large) = (json!(1), json!("x".repeat(100)));
        let (markup, left_out) = embed(&page(&small), 50);
        assert_eq!(markup.0, "<script type=\"application/json\" id=\"answer-n1-gc\">1</script>\n");
        assert_eq!(left_out, []);
        assert_eq!(embed(&page(&large), 50).1, [("gc".to_owned(), 102)]);
    }
}

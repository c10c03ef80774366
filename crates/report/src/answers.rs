//! What the page is made of: the answers about a node, each with the command that gives it. Where a section decides, it has
//! the answer itself. What it only shows, it takes from the JSON, as its marks name their places there; a field that is not
//! there is not an error, and the page leaves its place empty.

use super::text::whole;
use kq_answer::{Answer, Document};
use kq_core::question::kinds::{EvictionRank, ImageGcAnswer, NodeChecks, PodReadmission, WhatIf};
use kq_output::terminal::is_unsafe;
use kq_output::value::to_value;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

/// The answers about a node.
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
    /// The checks of the node.
    pub doctor: Option<Answered<NodeChecks>>,
    /// The next collection of images.
    pub collection: Option<Answered<ImageGcAnswer>>,
    /// The start of the kubelet.
    pub restart: Option<Answered<PodReadmission>>,
    /// The order of eviction, for the signals of [`names::EVICTION`].
    pub evictions: BTreeMap<&'static str, Answered<EvictionRank>>,
    /// The changes that were asked about, as they were typed; their answers are named `what-if-0`, ...
    pub changes: Vec<(String, Answered<WhatIf>)>,
    /// The other answers by name: [`names`].
    pub others: BTreeMap<String, Answered>,
    /// The snapshot, packed; `None`: the page does not hold it.
    pub snapshot: Option<Vec<u8>>,
}

/// A question, and its answer.
#[derive(Clone, Debug)]
pub struct Answered<A = ()> {
    /// The command that gives it.
    pub command: String,
    /// Why it is this question and not another; empty: no reason is needed.
    pub note: String,
    /// The answer, or why there is none.
    pub answer: Result<Reply<A>, NoAnswer>,
}

/// An answer, and the document of it that is embedded.
#[derive(Clone, Debug)]
pub struct Reply<A = ()> {
    answer: A,
    document: Value,
}

impl<A: Answer> Reply<A> {
    /// Returns an answer with its document.
    /// Fails for a value that JSON cannot have.
    pub fn of(answer: A) -> io::Result<Self> {
        let document = to_value(&Document::of(&answer))?;
        Ok(Self { answer, document })
    }
}

impl Reply {
    /// Returns the document of an answer whose type no section needs.
    /// Fails for a value that JSON cannot have.
    pub fn document(answer: &impl Answer) -> io::Result<Self> {
        Ok(Self { answer: (), document: to_value(&Document::of(answer))? })
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
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The name of the embedded document, which is unique on the page: its element is `answer-NAME`.
    pub id: &'a str,
    /// The document.
    pub value: &'a Value,
    pub command: &'a str,
    /// Why it is this question.
    pub note: &'a str,
}

/// A question of a page, whatever the type of its answer.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The identifier of its answer on the page.
    pub id: String,
    pub command: &'a str,
    note: &'a str,
    /// The document, or why there is none.
    pub document: Result<&'a Value, &'a NoAnswer>,
}

impl<'a> Question<'a> {
    fn of<A>(name: &str, prefix: &str, answered: &'a Answered<A>) -> (String, Self) {
        let Answered { command, note, answer } = answered;
        let document = answer.as_ref().map(|reply| &reply.document);
        let question = Self { id: format!("{prefix}{name}"), command, note, document };
        (name.to_owned(), question)
    }
}

/// The answers about a node, with identifiers of their own on the page.
#[derive(Clone, Debug)]
pub struct NodePage<'a> {
    /// The answers.
    pub node: &'a NodeAnswers,
    /// What the identifiers of this node begin with: empty on a page about one node.
    pub prefix: String,
    /// All questions by name.
    pub questions: BTreeMap<String, Question<'a>>,
}

impl<'a> NodePage<'a> {
    /// Returns the answers with identifiers that begin so.
    pub fn new(node: &'a NodeAnswers, prefix: &str) -> Self {
        let others = node.others.iter().map(|(name, it)| Question::of(name, prefix, it));
        let mut questions: BTreeMap<_, _> = others.collect();
        questions.extend(node.doctor.as_ref().map(|it| Question::of(names::DOCTOR, prefix, it)));
        questions.extend(node.collection.as_ref().map(|it| Question::of(names::GC, prefix, it)));
        questions.extend(node.restart.as_ref().map(|it| Question::of(names::RESTART, prefix, it)));
        questions.extend(node.evictions.iter().map(|(name, it)| Question::of(name, prefix, it)));
        questions.extend(
            node.changes
                .iter()
                .enumerate()
                .map(|(at, (_, it))| Question::of(&names::what_if(at), prefix, it)),
        );
        Self { node, prefix: prefix.to_owned(), questions }
    }

    /// Returns an answer, or why there is none.
    pub fn find(&'a self, name: &str) -> Result<Found<'a>, &'a NoAnswer> {
        let Some(Question { id, command, note, document }) = self.questions.get(name) else {
            return Err(NOT_ASKED);
        };
        (*document).map(|value| Found { id, value, command, note })
    }

    /// Returns the checks of the node.
    pub fn doctor(&'a self) -> Result<(Found<'a>, &'a NodeChecks), &'a NoAnswer> {
        self.typed(names::DOCTOR, self.node.doctor.as_ref())
    }

    /// Returns the next collection of images.
    pub fn collection(&'a self) -> Result<(Found<'a>, &'a ImageGcAnswer), &'a NoAnswer> {
        self.typed(names::GC, self.node.collection.as_ref())
    }

    /// Returns the start of the kubelet.
    pub fn restart(&'a self) -> Result<(Found<'a>, &'a PodReadmission), &'a NoAnswer> {
        self.typed(names::RESTART, self.node.restart.as_ref())
    }

    /// Returns the order of eviction for a signal, by the name of the answer.
    pub fn eviction(&'a self, name: &str) -> Result<(Found<'a>, &'a EvictionRank), &'a NoAnswer> {
        self.typed(name, self.node.evictions.get(name))
    }

    /// Returns the effect of a change.
    pub fn what_if(&'a self, at: usize) -> Result<(Found<'a>, &'a WhatIf), &'a NoAnswer> {
        self.typed(&names::what_if(at), self.node.changes.get(at).map(|(_, it)| it))
    }

    fn typed<A>(
        &'a self,
        name: &str,
        answered: Option<&'a Answered<A>>,
    ) -> Result<(Found<'a>, &'a A), &'a NoAnswer> {
        let found = self.find(name)?;
        let answered = answered.ok_or(NOT_ASKED)?;
        answered.answer.as_ref().map(|reply| (found, &reply.answer))
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
            p { strong { "No answer: " } (super::text::shown(&why.reason)) }
            @for hint in &why.hints { p.hint { "Hint: " (super::text::shown(hint)) } }
        }
        @if let Some(question) = question { (command(question.command)) }
    }
}

/// Returns what an answer lacks and warns of, and in how many assumptions it trusts.
pub fn doubts(found: Found<'_>) -> Markup {
    let (missing, warnings) = (found.value.list("missing"), found.value.list("warnings"));
    html! {
        @if !found.note.is_empty() { p.doubt { (super::text::shown(found.note)) } }
        @for lacks in missing {
            p.doubt { strong { "Missing: " } (super::text::shown(lacks.text("text")))
                @if let Some(flag) = lacks.list("flags").first().and_then(Value::as_str) { " (" code { (flag) } ")" } }
        }
        @for warning in warnings {
            p.doubt { strong { "Warning: " } (super::text::shown(warning.text("text"))) }
        }
    }
}

/// Embeds the answers of a node, the smallest first, as far as `budget` bytes go; returns what was left out as well.
pub fn embed(page: &NodePage<'_>, budget: usize) -> (Markup, Vec<(String, usize)>) {
    let mut documents: Vec<(&str, &str, String)> = page
        .questions
        .iter()
        .filter_map(|(name, it)| Some((name.as_str(), it.id.as_str(), json(it.document.ok()?))))
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

/// Fields of a JSON object, by name or by JSON pointer.
pub trait Fields {
    /// Returns a value below this one: a name, or a pointer such as `/run/usage`.
    fn field(&self, path: &str) -> &Value;

    /// Returns a text; the empty one where there is none.
    fn text(&self, path: &str) -> &str {
        self.field(path).as_str().unwrap_or_default()
    }

    /// Returns a whole number.
    fn number(&self, path: &str) -> Option<i64> {
        self.field(path).as_i64()
    }

    /// Returns a list; the empty one where there is none.
    fn list(&self, path: &str) -> &[Value] {
        self.field(path).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if the field is `true`.
    fn is(&self, path: &str) -> bool {
        self.field(path).as_bool().unwrap_or_default()
    }

    /// Returns a text, if it is one that is not empty.
    fn some_text(&self, path: &str) -> Option<&str> {
        Some(self.text(path)).filter(|text| !text.is_empty())
    }

    /// Returns the sentence of a reason: its `text`, or the value where it is a text itself.
    fn sentence(&self, path: &str) -> String {
        let reason = self.field(path);
        let one = |reason: &Value| match reason {
            Value::String(text) => text.clone(),
            reason => reason.text("text").to_owned(),
        };
        match reason {
            Value::Array(reasons) => reasons.iter().map(one).collect::<Vec<_>>().join("; "),
            reason => one(reason),
        }
    }
}

impl Fields for Value {
    fn field(&self, path: &str) -> &Value {
        const NOTHING: &Value = &Value::Null;
        let found = match path.starts_with('/') {
            true => self.pointer(path),
            false => self.get(path),
        };
        found.unwrap_or(NOTHING)
    }
}

/// Returns a scalar as text: what it is compared by, and what `data-` attributes hold.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        // As scripts write it: without a fraction that is zero.
        Value::Number(number) => {
            let text = number.to_string();
            Some(text.strip_suffix(".0").map(str::to_owned).unwrap_or(text))
        }
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
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

    /// The order of eviction for each signal.
    pub const EVICTION: [(&str, &str); 4] = [
        ("evict-memory", "memory.available"),
        ("evict-disk", "nodefs.available"),
        ("evict-inodes", "nodefs.inodesFree"),
        ("evict-pid", "pid.available"),
    ];
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
        let answered = |value: Value| Answered {
            command: "kq".to_owned(),
            note: String::new(),
            answer: Ok(Reply { answer: (), document: value }),
        };
        let answers = [("small", json!(1)), ("large", json!("x".repeat(100)))];
        let answers = answers.map(|(name, value)| (name.to_owned(), answered(value)));
        let node = NodeAnswers { others: answers.into(), ..NodeAnswers::default() };
        let (markup, left_out) = embed(&NodePage::new(&node, "n1-"), 50);
        assert_eq!(
            markup.0,
            "<script type=\"application/json\" id=\"answer-n1-small\">1</script>\n"
        );
        assert_eq!(left_out, [("large".to_owned(), 102)]);
    }

    #[test]
    fn absent_fields_are_empty() {
        let value = json!({"a": {"b": 1}, "because": [{"text": "x"}, "y"], "t": "z"});
        assert_eq!((value.number("/a/b"), value.number("b")), (Some(1), None));
        assert_eq!((value.text("t"), value.text("u"), value.list("a").len()), ("z", "", 0));
        assert_eq!(value.sentence("because"), "x; y");
        assert_eq!(scalar(value.field("/a/b")).as_deref(), Some("1"));
        assert_eq!(scalar(&json!(0.0)).as_deref(), Some("0"));
        assert_eq!(scalar(&json!(0.25)).as_deref(), Some("0.25"));
    }
}

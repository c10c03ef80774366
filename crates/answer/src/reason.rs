//! Reasons: an enum whose variants have their sentences on them, by `#[derive(Reason)]`.
//!
//! The sentence gives the text; as a template it recognises a message that has it. A sentence of the kubelet is the format
//! of its Go source, with Go's verbs, so that the message that kq predicts and the one that a log has are the same lines.

use kq_k8s::go_text::{quote, unquote};
use std::borrow::Cow;
use std::fmt;

pub use kq_derive::Reason;

/// A reason, with its text as [`fmt::Display`].
pub trait Reason: fmt::Display + Sized {
    /// The sentences of all variants.
    const TEMPLATES: &'static [Template];

    /// Returns the code that JSON has.
    fn code(&self) -> &'static str;

    /// Returns what a message says, if one of the sentences is it: the first in the order of the variants.
    fn recognise(message: &str) -> Option<Recognised<'_>> {
        Self::TEMPLATES.iter().find_map(|template| template.recognise(message))
    }
}

/// A verb of Go's `fmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `%v` and `%s`.
    Value,
    /// `%q`.
    Quoted,
    /// `%d`.
    Number,
}

/// A part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What each message has.
    Text(&'static str),
    /// A fact by its name in JSON, and how Go writes it.
    Field(&'static str, Verb),
}

/// The sentence of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template {
    /// The code of the variant.
    pub code: &'static str,
    /// Its parts, in order; a text stands between two facts.
    pub parts: &'static [Part],
}

/// A message that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised<'m> {
    /// The code of the variant.
    pub code: &'static str,
    /// The facts, by their names in JSON, without the quotes of `%q`.
    pub facts: Vec<(&'static str, Cow<'m, str>)>,
}

impl Template {
    /// Returns the facts of a message; `None`: it is another one, or the template would fit every message.
    fn recognise<'m>(&self, message: &'m str) -> Option<Recognised<'m>> {
        let has_text = self.parts.iter().any(|part| matches!(part, Part::Text(_)));
        let facts = facts(self.parts, message).filter(|_| has_text)?;
        Some(Recognised { code: self.code, facts: facts.into_iter().rev().collect() })
    }
}

/// Returns the facts of a message, the last one first.
fn facts<'m>(
    parts: &'static [Part],
    message: &'m str,
) -> Option<Vec<(&'static str, Cow<'m, str>)>> {
    match parts {
        [] => message.is_empty().then(Vec::new),
        [Part::Text(text), rest @ ..] => facts(rest, message.strip_prefix(text)?),
        [Part::Field(name, verb), rest @ ..] => {
            // The shortest one that lets the rest fit.
            let (value, mut all) = values(*verb, rest, message)
                .find_map(|(value, after)| Some((value, facts(rest, after)?)))?;
            all.push((name, value));
            Some(all)
        }
    }
}

/// Returns what a fact at the beginning of a message may be, each with what follows it.
fn values<'m>(
    verb: Verb,
    rest: &'static [Part],
    message: &'m str,
) -> Box<dyn Iterator<Item = (Cow<'m, str>, &'m str)> + 'm> {
    if let Some((text, after)) = message.strip_prefix('"').map(unquote)
        && verb == Verb::Quoted
    {
        return Box::new(after.map(|after| (text.into(), after)).into_iter());
    }
    let split = move |at| {
        let (value, after) = message.split_at(at);
        let is_one = match verb {
            Verb::Value => true,
            Verb::Number => value.parse::<i128>().is_ok(),
            // Quoted are the items of a list.
            Verb::Quoted => value.starts_with('[') && value.ends_with(']'),
        };
        is_one.then_some((value.into(), after))
    };
    match rest.first() {
        Some(Part::Text(text)) => {
            Box::new(message.match_indices(text).filter_map(move |(at, _)| split(at)))
        }
        _ => Box::new(split(message.len()).into_iter()),
    }
}

/// Writes a fact as the sentence is asked for: exactly with `{}`, short with `{:#}`.
///
/// # Errors
///
/// Those of the writer.
pub fn write_fact(fact: &impl fmt::Display, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if f.alternate() { write!(f, "{fact:#}") } else { write!(f, "{fact}") }
}

/// A fact that Go's `fmt` writes.
pub trait GoArgument {
    /// Writes it with a verb.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write(&self, verb: Verb, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: GoArgument + ?Sized> GoArgument for &T {
    fn write(&self, verb: Verb, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::write(self, verb, f)
    }
}

impl GoArgument for str {
    fn write(&self, verb: Verb, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match verb {
            Verb::Quoted => f.write_str(&quote(self)),
            Verb::Value | Verb::Number => f.write_str(self),
        }
    }
}

impl GoArgument for String {
    fn write(&self, verb: Verb, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().write(verb, f)
    }
}

impl<T: GoArgument> GoArgument for Vec<T> {
    /// As `[a b]`.
    fn write(&self, verb: Verb, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, item) in self.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { " " })?;
            item.write(verb, f)?;
        }
        f.write_str("]")
    }
}

/// Numbers and truth values have one form.
macro_rules! plain {
    ($($type:ty),*) => {$(
        impl GoArgument for $type {
            fn write(&self, _: Verb, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

plain!(bool, i32, i64, u32, u64, usize);

#[cfg(test)]
mod several;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Worded;
    use serde_json::json;

    /// Problems of a start.
    #[derive(Clone, Debug, PartialEq, Reason)]
    #[reason(tag = "id", case = "kebab-case")]
    enum Problem {
        /// It is off.
        #[text("it is off, {{}}")]
        Off,
        /// A setting of the kernel.
        #[text(
            "invalid kernel flag: {flag:%v}, expected value: {expected:%d}, actual value: {actual_value:%d}"
        )]
        KernelFlag {
            /// Its path below `/proc/sys`.
            flag: String,
            expected: i64,
            actual_value: i64,
        },
        /// Another kind of file.
        #[text("no kind {kind:%q} is registered for version {version:%q} in scheme {scheme:%q}")]
        OtherKind { kind: String, version: String, scheme: &'static str },
        #[text(format!("only {}", names.join(" and ")))]
        Only {
            names: Vec<String>,
            #[serde(skip)]
            hidden: u32,
        },
        #[text("labels {labels:%q}, {found:%v} of {count}", count = labels.len())]
        Labels { labels: Vec<String>, found: bool },
    }

    fn problems() -> [Problem; 5] {
        let labels = vec!["a".to_owned(), "b\"".to_owned()];
        [
            Problem::Off,
            Problem::KernelFlag { flag: "kernel/panic".to_owned(), expected: 10, actual_value: 0 },
            Problem::OtherKind {
                kind: "Con\"fig".to_owned(),
                version: "v1".to_owned(),
                scheme: "scheme.go:32",
            },
            Problem::Only { names: labels.clone(), hidden: 1 },
            Problem::Labels { labels, found: true },
        ]
    }

    #[test]
    fn a_sentence_gives_text_code_and_json() {
        let expected = [
            ("it is off, {}", json!({"id": "off"})),
            (
                "invalid kernel flag: kernel/panic, expected value: 10, actual value: 0",
                json!({"id": "kernel-flag", "flag": "kernel/panic", "expected": 10, "actualValue": 0}),
            ),
            (
                r#"no kind "Con\"fig" is registered for version "v1" in scheme "scheme.go:32""#,
                json!({
                    "id": "other-kind", "kind": "Con\"fig", "version": "v1", "scheme": "scheme.go:32",
                }),
            ),
            (r#"only a and b""#, json!({"id": "only", "names": ["a", "b\""]})),
            (
                r#"labels ["a" "b\""], true of 2"#,
                json!({"id": "labels", "labels": ["a", "b\""], "found": true}),
            ),
        ];
        for (problem, (text, json)) in problems().into_iter().zip(expected) {
            assert_eq!(problem.to_string(), text);
            assert_eq!(json["id"], problem.code());
            assert_eq!(serde_json::to_value(&problem).expect(text), json);
            let worded = serde_json::to_value(Worded(problem)).expect(text);
            assert_eq!(worded["text"], text);
        }
    }

    /// What serde and schemars make of the same enum without sentences.
    mod derived {
        /// Problems of a start.
        #[derive(schemars::JsonSchema)]
        #[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
        #[expect(dead_code, reason = "only its schema is looked at")]
        pub enum Problem {
            /// It is off.
            Off,
            /// A setting of the kernel.
            KernelFlag {
                /// Its path below `/proc/sys`.
                flag: String,
                expected: i64,
                actual_value: i64,
            },
            /// Another kind of file.
            OtherKind {
                kind: String,
                version: String,
                scheme: &'static str,
            },
            Only {
                names: Vec<String>,
                #[serde(skip)]
                hidden: u32,
            },
            Labels {
                labels: Vec<String>,
                found: bool,
            },
        }
    }

    #[test]
    fn the_schema_is_that_of_the_same_enum_without_sentences() {
        assert_eq!(schemars::schema_for!(Problem), schemars::schema_for!(derived::Problem));
    }

    #[test]
    fn messages_of_a_kubelet_are_recognised() {
        let known = |message| {
            let found = Problem::recognise(message)?;
            let facts = found.facts.iter().map(|(name, value)| format!("{name}={value}"));
            Some(format!("{}: {}", found.code, facts.collect::<Vec<_>>().join(" ")))
        };
        for (message, expected) in [
            (
                "invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0",
                Some("kernel-flag: flag=vm/overcommit_memory expected=1 actualValue=0"),
            ),
            ("invalid kernel flag: vm/x, expected value: one, actual value: 0", None),
            (
                "no kind \"Config\" is registered for version \"v1\" in scheme \"k8s.io/kubernetes/pkg/\
                 kubelet/apis/config/scheme/scheme.go:32\"",
                Some(
                    "other-kind: kind=Config version=v1 \
                     scheme=k8s.io/kubernetes/pkg/kubelet/apis/config/scheme/scheme.go:32",
                ),
            ),
            ("no kind \"Config\" is registered for version \"v1", None),
            ("it is off, {}", Some("off: ")),
            ("it is off, {} now", None),
            ("unknown flag: --container-runtime", None),
            ("", None),
        ] {
            assert_eq!(known(message).as_deref(), expected, "{message}");
        }
        // What kq predicts is recognised as what it is, where the sentence is on the variant.
        for problem in problems() {
            let text = problem.to_string();
            let code = Problem::recognise(&text).map(|found| found.code);
            let is_counted = matches!(problem, Problem::Only { .. });
            assert_eq!(code, (!is_counted).then_some(problem.code()), "{text}");
        }
    }
}

//! Templates of messages: texts with fields, found anywhere in a line.
//!
//! A field is `{name}`; `{name:w}` is one word, `{name:r}` the name of a resource, `{name:d}` a number, `{name:q}` a text in quotes. A
//! shell takes inner quotes away, so that a quoted text may also come without them.

use kq_answer::reason;
use std::ops::Range;

/// The most splits that are tried for one template at one place.
const TRIES: usize = 60;

/// The least text of a template that is recognised without its end.
const LEAST_OF_CUT: usize = 18;

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Value,
    Word,
    Resource,
    Number,
    Quoted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Field(String, Verb),
}

/// A template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub parts: Vec<Part>,
    /// It is the message of a structured log line: nothing but keys with values follows.
    pub is_log: bool,
    /// A quoted text without its quotes is one word.
    pub is_strict: bool,
}

/// A place of a text that a template fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fit<'t> {
    pub start: usize,
    /// The number of bytes that are text of the template.
    pub literals: usize,
    /// The places of these.
    pub spans: Vec<Range<usize>>,
    pub facts: Vec<(&'t str, Range<usize>)>,
    /// The end of the template is not in the text.
    pub is_cut: bool,
}

impl Template {
    /// Parses a template; `Err`: the fault.
    pub fn parse(source: &str) -> Result<Self, String> {
        let (source, is_log) = match source.strip_prefix('"').and_then(|it| it.strip_suffix('"')) {
            Some(inner) if !inner.contains("{") => (inner, true),
            _ => (source, false),
        };
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                text.push_str(brace);
                rest = after;
                continue;
            }
            let (name, after) = rest.split_once('}').ok_or("a field has no end")?;
            rest = after;
            let (name, verb) = match name.split_once(':') {
                None => (name, Verb::Value),
                Some((name, "w")) => (name, Verb::Word),
                Some((name, "r")) => (name, Verb::Resource),
                Some((name, "d")) => (name, Verb::Number),
                Some((name, "q")) => (name, Verb::Quoted),
                Some((_, verb)) => return Err(format!("{verb} is not a verb")),
            };
            push_text(&mut parts, &mut text);
            if matches!(
                parts.last(),
                Some(Part::Field(_, Verb::Value | Verb::Word | Verb::Resource))
            ) {
                return Err(format!("nothing stands before {name}"));
            }
            parts.push(Part::Field(name.to_owned(), verb));
        }
        text.push_str(rest);
        push_text(&mut parts, &mut text);
        Ok(Self { parts, is_log, is_strict: false })
    }

    /// Returns the template of a reason of kq.
    pub fn of_reason(template: &reason::Template) -> Self {
        let part = |part: &reason::Part| match part {
            reason::Part::Text(text) => Part::Text(single_spaced(text)),
            reason::Part::Field(name, verb) => {
                let verb = match verb {
                    reason::Verb::Value => Verb::Value,
                    reason::Verb::Quoted => Verb::Quoted,
                    reason::Verb::Number => Verb::Number,
                };
                Part::Field((*name).to_owned(), verb)
            }
        };
        let parts = template.parts.iter().map(part).collect();
        Self { parts, is_log: false, is_strict: false }
    }

    /// Returns the text of the template without names and kinds of its fields.
    pub fn shape(&self) -> String {
        let text = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Field(..) => "{}",
        });
        text.collect()
    }

    /// Returns the text of the template, with Go's verbs for the fields.
    pub fn go(&self) -> String {
        let text = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Field(_, Verb::Value | Verb::Word | Verb::Resource) => "%v",
            Part::Field(_, Verb::Number) => "%d",
            Part::Field(_, Verb::Quoted) => "%q",
        });
        let text: String = text.collect();
        if self.is_log { format!("\"{text}\"") } else { text }
    }

    /// Returns the template with values in place of its fields.
    #[cfg(test)]
    pub fn fill(&self, value: impl Fn(&str, Verb) -> String) -> String {
        let text = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(name, Verb::Quoted) => format!("{:?}", value(name, Verb::Quoted)),
            Part::Field(name, verb) => value(name, *verb),
        });
        text.collect()
    }

    /// Returns the first text, if the template begins with one.
    pub fn head(&self) -> Option<&str> {
        match self.parts.first() {
            Some(Part::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the last place at which a template that begins with a value may begin in a text: before its first text.
    pub fn last_start(&self, text: &str) -> usize {
        let Some(Part::Text(first)) = self.parts.get(1) else { return text.len() };
        // Of a text whose end is missing, so much is there at least.
        let needle = super::line::first_bytes(first.trim_end(), LEAST_OF_CUT);
        text.rfind(needle).unwrap_or(0)
    }

    /// Returns the number of bytes of its texts.
    #[cfg(test)]
    pub fn literals(&self) -> usize {
        let text = |part: &Part| match part {
            Part::Text(text) => text.trim().len(),
            Part::Field(..) => 0,
        };
        self.parts.iter().map(text).sum()
    }

    /// Returns how the template fits a text from a place on.
    pub fn fit<'t>(&'t self, text: &str, start: usize, may_be_cut: bool) -> Option<Fit<'t>> {
        let fit = Fit { start, literals: 0, spans: Vec::new(), facts: Vec::new(), is_cut: false };
        let is_log = self.is_log;
        let is_headless = self.is_strict || self.head().is_none();
        let mut search = Search { text, may_be_cut, is_log, is_headless, tries: TRIES };
        search.rest(&self.parts, start, fit)
    }
}

/// A search for the values of the fields.
struct Search<'m> {
    text: &'m str,
    may_be_cut: bool,
    is_log: bool,
    /// The template begins with a value, or is of a place alone: it is held to what it says of its words.
    is_headless: bool,
    tries: usize,
}

impl Search<'_> {
    fn rest<'t>(&mut self, parts: &'t [Part], at: usize, fit: Fit<'t>) -> Option<Fit<'t>> {
        self.tries = self.tries.checked_sub(1)?;
        let here = &self.text[at..];
        let Some((part, rest)) = parts.split_first() else {
            let is_whole = !self.is_log || ends_log_message(here);
            return is_whole.then_some(fit);
        };
        match part {
            Part::Text(text) => {
                let taken = common(here, text, at == fit.start);
                if taken == text.len() {
                    return self.rest(rest, at + taken, with_text(fit, at, taken));
                }
                let is_blank_end = text[taken..].trim().is_empty() && taken == here.len();
                if is_blank_end && rest.iter().all(|part| matches!(part, Part::Field(..))) {
                    return Some(with_text(fit, at, taken));
                }
                let is_cut = self.may_be_cut && taken == here.len();
                let fit = with_text(fit, at, taken);
                (is_cut && fit.literals >= LEAST_OF_CUT).then_some(Fit { is_cut: true, ..fit })
            }
            Part::Field(name, verb) => self.field(name, *verb, rest, at, &fit),
        }
    }

    fn field<'t>(
        &mut self,
        name: &'t str,
        verb: Verb,
        rest: &'t [Part],
        at: usize,
        fit: &Fit<'t>,
    ) -> Option<Fit<'t>> {
        let here = &self.text[at..];
        let quoted = verb == Verb::Quoted && here.starts_with('"');
        let open = usize::from(quoted);
        let with = |length: usize| {
            let mut fit = fit.clone();
            fit.facts.push((name, at + open..at + open + length));
            fit
        };
        if verb == Verb::Number {
            let sign = usize::from(here.starts_with('-'));
            let digits = here[sign..].bytes().take_while(u8::is_ascii_digit).count();
            return match digits {
                0 => None,
                digits => self.rest(rest, at + sign + digits, with(sign + digits)),
            };
        }
        let inner = &here[open..];
        let is_headless = self.is_headless;
        let has_quote = |value: &str| value.contains('"');
        let fits_verb = |value: &str| match verb {
            Verb::Word => {
                !value.is_empty()
                    && !value.contains(char::is_whitespace)
                    && !(is_headless && (has_quote(value) || value.ends_with(':')))
            }
            Verb::Resource => is_resource(value),
            Verb::Quoted if quoted => !(is_headless && has_quote(value)),
            // Whoever took the quotes away took all of them; a list has its own.
            Verb::Quoted => {
                (!has_quote(value) || value.starts_with('['))
                    && !(is_headless && value.contains(char::is_whitespace))
            }
            _ => true,
        };
        let Some(Part::Text(next)) = rest.first() else {
            let length = match verb {
                Verb::Quoted if quoted => inner.find('"').unwrap_or(inner.len()),
                Verb::Word | Verb::Resource => word(inner),
                _ => inner.len(),
            };
            let after =
                at + open + length + usize::from(inner[length..].starts_with('"') && quoted);
            return fits_verb(&inner[..length]).then(|| self.rest(rest, after, with(length)))?;
        };
        let needle = if quoted { format!("\"{next}") } else { next.clone() };
        for (length, _) in inner.match_indices(needle.as_str()) {
            let value = &inner[..length];
            if !fits_verb(value) {
                break;
            }
            let found = self.rest(rest, at + open + length + open, with(length));
            if found.is_some() || self.tries == 0 {
                return found;
            }
        }
        // The text may end in the value, or in the text after it.
        let blank = next.trim_end();
        if let Some(value) = inner.trim_end_matches('"').strip_suffix(blank)
            && !blank.is_empty()
            && rest[1..].iter().all(|part| matches!(part, Part::Field(..)))
            && fits_verb(value)
        {
            return Some(with(value.len()));
        }
        if self.may_be_cut
            && quoted
            && let Some(length) = inner.find('"')
        {
            let tail = &inner[length + 1..];
            let taken = common(tail, next, false);
            if taken == tail.len() && fit.literals + taken >= LEAST_OF_CUT {
                let fit = Fit { is_cut: true, ..with(length) };
                return Some(with_text(fit, at + open + length + 1, taken));
            }
        }
        let is_cut = self.may_be_cut && fit.literals >= LEAST_OF_CUT && fits_verb(inner);
        is_cut.then(|| {
            let value = inner.trim_end_matches('"');
            // The end may be the beginning of the text after the value: `100.0 GiB us`.
            let begun = next
                .char_indices()
                .rev()
                .map(|(at, _)| &next[..at])
                .find(|it| value.ends_with(*it));
            let begun = begun.filter(|it| it.len() > 1).map_or(0, str::len);
            Fit { is_cut: true, ..with(value.len() - begun) }
        })
    }
}

fn push_text(parts: &mut Vec<Part>, text: &mut String) {
    if !text.is_empty() {
        parts.push(Part::Text(single_spaced(&std::mem::take(text))));
    }
}

fn with_text(mut fit: Fit<'_>, at: usize, length: usize) -> Fit<'_> {
    fit.literals += length;
    fit.spans.push(at..at + length);
    fit
}

/// Returns the number of bytes in which two texts agree. The first letter of a message is large or small.
fn common(text: &str, expected: &str, is_first: bool) -> usize {
    let pairs = text.bytes().zip(expected.bytes()).enumerate();
    let same = pairs.take_while(|(at, (byte, wanted))| {
        byte == wanted || (*at == 0 && is_first && byte.eq_ignore_ascii_case(wanted))
    });
    let mut count = same.count();
    while !text.is_char_boundary(count) {
        count -= 1;
    }
    count
}

/// Returns the length of the word at the beginning, without the punctuation after it.
fn word(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(text.len());
    let mut word = &text[..end];
    while let Some(last) = word.chars().next_back() {
        let count = |sign: char| word.matches(sign).count();
        let is_after = match last {
            ')' => count('(') < count(')'),
            ']' => count('[') < count(']'),
            last => matches!(last, ',' | '.' | ';' | ':'),
        };
        if !is_after {
            break;
        }
        word = &word[..word.len() - last.len_utf8()];
    }
    word.len()
}

/// Returns true for the name of a resource that a node has: `pkg/apis/core/v1/helper/helpers.go`, and extended ones with their domain.
fn is_resource(name: &str) -> bool {
    let is_native = matches!(name, "cpu" | "memory" | "ephemeral-storage" | "pods")
        || ["hugepages-", "attachable-volumes-"].iter().any(|it| name.starts_with(it));
    let has_domain = name.split_once('/').is_some_and(|(domain, name)| {
        !domain.is_empty() && !name.is_empty() && !name.contains('/')
    });
    (is_native || has_domain) && !name.contains(char::is_whitespace)
}

/// Returns true if nothing but keys with values follows a message.
fn ends_log_message(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '.', '\'', '`']).trim_start();
    if rest.is_empty() || rest.starts_with(['{', '"', ',']) {
        return true;
    }
    let key = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c)));
    key.is_some_and(|at| at > 0 && rest[at..].starts_with('='))
}

/// Returns a text with one space in place of each run of white space.
pub(super) fn single_spaced(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_whitespace() {
            true if all.ends_with(' ') => {}
            true => all.push(' '),
            false => all.push(c),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        let rows = [
            ("requested: {r:d}, used: {u:d}", "requested: 4, used: 5", "r=4 u=5"),
            ("policy {a:q} differs from {b:q}", r#"policy "x" differs from "y""#, "a=x b=y"),
            ("policy {a:q} differs from {b:q}", "policy x differs from y", "a=x b=y"),
            ("last seen {n} ago; limit {t:w}", "Last seen 3m ago; limit 3m0s.", "n=3m t=3m0s"),
            ("in pod {p:w}", "in pod web-1_shop(53840580).", "p=web-1_shop(53840580)"),
            ("in pod {p:w}", "in pod web-1), ", "p=web-1"),
            ("{p:w} probe failed: {err}", "Liveness probe failed:", "p=Liveness"),
        ];
        for (template, text, expected) in rows {
            let template = Template::parse(template).expect(template);
            let fit = template.fit(text, 0, false).expect(text);
            let facts = fit.facts.iter().map(|(name, at)| format!("{name}={}", &text[at.clone()]));
            assert_eq!(facts.collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_cut_message_is_known_where_enough_of_it_is_there() {
        let template = Template::parse("configured policy {a:q} differs from {b:q}").expect("it");
        let text = r#"configured policy "static" diff"#;
        assert!(template.fit(text, 0, false).is_none());
        let fit = template.fit(text, 0, true).expect("enough");
        assert!(fit.is_cut);
        assert!(template.fit("configured", 0, true).is_none());
        let template = Template::parse("it is so that {a:d}% of {b} used).").expect("it");
        let text = "it is so that 91% of 100.0 GiB us";
        let fit = template.fit(text, 0, true).expect("enough");
        let values: Vec<&str> = fit.facts.iter().map(|(_, at)| &text[at.clone()]).collect();
        assert_eq!(values, ["91", "100.0 GiB"]);
    }

    #[test]
    fn a_resource_is_one_by_its_name() {
        let template = Template::parse("Insufficient {resource:r}").expect("it");
        for name in [
            "cpu",
            "memory",
            "pods",
            "hugepages-2Mi",
            "attachable-volumes-aws-ebs",
            "nvidia.com/gpu",
        ] {
            assert!(template.fit(&format!("Insufficient {name}"), 0, false).is_some(), "{name}");
        }
        for name in
            ["free disk space on the node", "permissions to read", "disk space", "privileges"]
        {
            assert!(template.fit(&format!("Insufficient {name}"), 0, true).is_none(), "{name}");
        }
    }

    #[test]
    fn a_log_message_is_followed_by_keys_alone() {
        let template = Template::parse("\"Failed to start\"").expect("it");
        assert!(template.fit("Failed to start\" err=\"x\"", 0, false).is_some());
        assert!(template.fit("Failed to start resourceName=x", 0, false).is_some());
        assert!(template.fit("Failed to start the engine", 0, false).is_none());
    }
}

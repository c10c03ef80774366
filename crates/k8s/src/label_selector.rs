//! Selectors of objects by their labels, as `kubectl get -l` has them.
//!
//! Mirrors `Parse` and `Requirement.Matches` of `k8s.io/apimachinery/pkg/labels/selector.go`, read in 1.36.2, without
//! its comparisons of numbers.

use std::collections::BTreeMap;
use std::fmt;

/// A selector: all of its requirements must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    text: String,
    requirements: Vec<Requirement>,
}

/// A requirement for one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    /// Also matches without the label.
    NotIn(String, Vec<String>),
}

/// The requirement that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?}: expected KEY=VALUE, KEY!=VALUE, KEY in (VALUE,...), KEY notin (VALUE,...), KEY or !KEY, several with commas"
)]
pub struct LabelSelectorError(String);

/// The most characters of a name and of a value.
const MAX_NAME: usize = 63;

/// The most characters of a prefix.
const MAX_PREFIX: usize = 253;

impl LabelSelector {
    /// Reads a selector.
    /// Fails for an empty one too: a variable of a script that was not set does not mean all objects.
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        let parts = parts(text).ok_or_else(|| LabelSelectorError(text.to_owned()))?;
        let requirement = |part: &&str| {
            Requirement::parse(part.trim())
                .ok_or_else(|| LabelSelectorError(part.trim().to_owned()))
        };
        let requirements = parts.iter().map(requirement).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), requirements })
    }

    /// Returns true if an object with these labels matches.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the texts between the commas that are in no parentheses; `None`: a parenthesis has no other one.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut start, mut is_inside) = (0, false);
    for (at, letter) in text.char_indices() {
        match (letter, is_inside) {
            ('(', false) => is_inside = true,
            (')', true) => is_inside = false,
            ('(', true) | (')', false) => return None,
            (',', false) => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!is_inside).then_some(parts)
}

impl Requirement {
    /// Returns true if an object with these labels meets it.
    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
            Self::In(key, values) => labels.get(key).is_some_and(|it| values.contains(it)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|it| !values.contains(it)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(values) = text.strip_suffix(')') {
            let (head, values) = values.split_once('(')?;
            let (key, operator) = head.trim_end().rsplit_once(char::is_whitespace)?;
            let values = values.split(',').map(value).collect::<Option<_>>()?;
            return match operator {
                "in" => Some(Self::In(self::key(key)?, values)),
                "notin" => Some(Self::NotIn(self::key(key)?, values)),
                _ => None,
            };
        }
        if let Some((key, one)) = text.split_once("!=") {
            return Some(Self::NotIn(self::key(key)?, vec![value(one)?]));
        }
        if let Some((key, one)) = text.split_once("==").or_else(|| text.split_once('=')) {
            return Some(Self::In(self::key(key)?, vec![value(one)?]));
        }
        match text.strip_prefix('!') {
            Some(absent) => key(absent).map(Self::Absent),
            None => key(text).map(Self::Exists),
        }
    }
}

/// Returns a key: a name, and a prefix before a `/`.
fn key(text: &str) -> Option<String> {
    let text = text.trim();
    let (prefix, name) = text.split_once('/').map_or((None, text), |(it, name)| (Some(it), name));
    let is_prefix = |it: &str| is_name(it, MAX_PREFIX) && !it.contains(['_', '/']);
    (is_name(name, MAX_NAME) && prefix.is_none_or(is_prefix)).then(|| text.to_owned())
}

/// Returns a value, which may be empty.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    (text.is_empty() || is_name(text, MAX_NAME)).then(|| text.to_owned())
}

fn is_name(text: &str, most: usize) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    bytes.len() <= most
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_as_kubectl_does() {
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let web = labels(&[("app", "web"), ("example.com/tier", "front"), ("empty", "")]);
        for (text, expected) in [
            ("app=web", true),
            ("app==web", true),
            (" app = web ", true),
            ("app=db", false),
            ("other=web", false),
            ("app!=web", false),
            ("app!=db", true),
            ("other!=db", true),
            ("app in (db, web)", true),
            ("app in (db)", false),
            ("other in (db)", false),
            ("app notin (db,web)", false),
            ("app notin (db)", true),
            ("other notin (db)", true),
            ("app", true),
            ("other", false),
            ("!app", false),
            ("! other", true),
            ("example.com/tier=front,app in (db,web),!other", true),
            ("example.com/tier=front,app in (db,web),other", false),
            ("empty=", true),
            ("app=", false),
            ("empty in (,x)", true),
            ("in in (a)", false),
        ] {
            let selector = LabelSelector::parse(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(selector.matches(&web), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_named() {
        let long = "x".repeat(64);
        for (text, named) in [
            ("", ""),
            ("app=web,", ""),
            ("app=a b", "app=a b"),
            ("x,app > 1", "app > 1"),
            ("app in web", "app in web"),
            ("app in (a", "app in (a"),
            ("app)", "app)"),
            ("app near (a)", "app near (a)"),
            ("=web", "=web"),
            ("-app", "-app"),
            ("a/b/c", "a/b/c"),
            ("app===web", "app===web"),
            (long.as_str(), long.as_str()),
        ] {
            assert_eq!(
                LabelSelector::parse(text),
                Err(LabelSelectorError(named.to_owned())),
                "{text}"
            );
        }
    }
}

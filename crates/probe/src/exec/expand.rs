//! Variables in the command of a probe.
//!
//! The rules are those of `third_party/forked/golang/expansion` and of `v1.EnvVar` as
//! `ExpandContainerCommandOnlyStatic` (`pkg/kubelet/container/helpers.go`) sees it: what the container's spec
//! says itself, and nothing that comes from elsewhere.
//!
//! Before 1.35, `tryReadVariableName` (`expansion/expand.go`) takes one byte after a `$` that begins nothing and makes a
//! character of it (`string(input[0])`): of `$é` the first byte becomes `Ã`, and the rest is no UTF-8. Where the kubelet hands that
//! to the runtime, each such byte is shown as U+FFFD.

use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::EnvVar;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The longest command that Linux starts, with all its arguments: three quarters of the default stack
/// (`bprm_set_stack_limit`, `fs/exec.c`). A few references to one long variable become gigabytes.
pub const MAX_COMMAND_BYTES: usize = 6 << 20;

/// A command with the values of its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What is worth to know about the variables that it names, each once, in order.
    pub notes: Vec<ExpansionNote>,
    /// The command becomes longer than `MAX_COMMAND_BYTES`, and is not kept.
    pub is_too_long: bool,
}

/// Nothing more is expanded.
struct TooLong;

/// What is worth to know about a variable that a command names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpansionNote {
    /// Its value comes from elsewhere, and so the probe gets the empty text, unlike the container.
    ValueFrom(String),
    /// The container's spec has no such variable: the text is not expanded, even with `envFrom`.
    Unknown(String),
}

/// Returns a command with the values of the container's own variables; of several with a name, the last.
pub fn expand(command: &[String], env: &[EnvVar], rules: &KubeletRules) -> Expanded {
    let mut expansion = Expansion {
        variables: env.iter().map(|variable| (variable.name.as_str(), variable)).collect(),
        bytes_left: MAX_COMMAND_BYTES,
        noted: BTreeSet::new(),
        notes: Vec::new(),
        takes_bytes: !rules.expands_by_characters(),
    };
    let command: Result<Vec<String>, TooLong> =
        command.iter().map(|text| expansion.text(text)).collect();
    let is_too_long = command.is_err();
    Expanded { command: command.unwrap_or_default(), notes: expansion.notes, is_too_long }
}

/// Splits a text at its first `)`; where there is none, there is none in its rest either.
fn split_at_close<'t>(text: &'t str, closes: &mut bool) -> Option<(&'t str, &'t str)> {
    let split = text.split_once(')');
    *closes = split.is_some();
    split
}

/// An expansion on its way through the words of a command.
struct Expansion<'a> {
    variables: BTreeMap<&'a str, &'a EnvVar>,
    bytes_left: usize,
    noted: BTreeSet<ExpansionNote>,
    notes: Vec<ExpansionNote>,
    /// What follows a `$` that begins nothing is a byte.
    takes_bytes: bool,
}

impl Expansion<'_> {
    fn text(&mut self, text: &str) -> Result<String, TooLong> {
        let mut expanded = String::new();
        let mut rest = text;
        // Without a further `)`, the search is not repeated.
        let mut closes = true;
        while let Some((before, after)) = rest.split_once('$') {
            self.push(&mut expanded, before)?;
            if let Some(after) = after.strip_prefix('$') {
                // The second one is the only one left, and begins nothing.
                self.push(&mut expanded, "$")?;
                rest = after;
            } else if let Some(inner) = after.strip_prefix('(').filter(|_| closes)
                && let Some((name, after)) = split_at_close(inner, &mut closes)
            {
                self.variable(name, &mut expanded)?;
                rest = after;
            } else {
                self.push(&mut expanded, "$")?;
                rest = after;
                if self.takes_bytes
                    && let Some(cut) = after.chars().next().filter(|it| !it.is_ascii())
                {
                    self.cut(cut, &mut expanded)?;
                    rest = after.get(cut.len_utf8()..).unwrap_or_default();
                }
            }
        }
        self.push(&mut expanded, rest)?;
        Ok(expanded)
    }

    /// Adds a character whose first byte was taken for one of its own.
    fn cut(&mut self, cut: char, expanded: &mut String) -> Result<(), TooLong> {
        let mut bytes = [0; 4];
        for (place, byte) in cut.encode_utf8(&mut bytes).bytes().enumerate() {
            let shown = if place == 0 { char::from(byte) } else { char::REPLACEMENT_CHARACTER };
            self.push(expanded, shown.encode_utf8(&mut [0; 4]))?;
        }
        Ok(())
    }

    fn variable(&mut self, name: &str, expanded: &mut String) -> Result<(), TooLong> {
        let note = match self.variables.get(name).copied() {
            None => {
                self.push(expanded, "$(")?;
                self.push(expanded, name)?;
                self.push(expanded, ")")?;
                Some(ExpansionNote::Unknown(name.to_owned()))
            }
            Some(variable) => {
                self.push(expanded, &variable.value)?;
                let elsewhere = variable.value_from.is_some();
                elsewhere.then(|| ExpansionNote::ValueFrom(name.to_owned()))
            }
        };
        if let Some(note) = note
            && self.noted.insert(note.clone())
        {
            self.notes.push(note);
        }
        Ok(())
    }

    fn push(&mut self, expanded: &mut String, part: &str) -> Result<(), TooLong> {
        self.bytes_left = self.bytes_left.checked_sub(part.len()).ok_or(TooLong)?;
        expanded.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::pod::ValueFrom;

    fn variable(name: &str, value: &str) -> EnvVar {
        EnvVar { name: name.to_owned(), value: value.to_owned(), ..EnvVar::default() }
    }

    #[test]
    fn variables_are_expanded_as_the_kubelet_does() {
        let env = [
            variable("A", "first"),
            variable("A", "a"),
            variable("B", "$(A)"),
            variable("E", ""),
            variable("$(A", "odd"),
            variable("", "nameless"),
            EnvVar { value_from: Some(ValueFrom::default()), ..variable("F", "") },
        ];
        let unknown = |name: &str| vec![ExpansionNote::Unknown(name.to_owned())];
        for (text, expected, notes) in [
            ("$(A)", "a", vec![]),
            ("x$(A)y$(B)", "xay$(A)", vec![]),
            ("$$(A)", "$(A)", vec![]),
            ("$$$(A)", "$a", vec![]),
            ("$$$$(A)", "$$(A)", vec![]),
            ("$", "$", vec![]),
            ("$$", "$", vec![]),
            ("$$$", "$$", vec![]),
            ("$A ${A} $\u{e9}", "$A ${A} $\u{e9}", vec![]),
            ("$(A", "$(A", vec![]),
            ("$($(A)", "odd", vec![]),
            ("$($(A))", "odd)", vec![]),
            ("$(", "$(", vec![]),
            ("$()", "nameless", vec![]),
            ("$(E)", "", vec![]),
            ("$( A)$( A)", "$( A)$( A)", unknown(" A")),
            ("$(F)", "", vec![ExpansionNote::ValueFrom("F".to_owned())]),
            ("$($$(A)", "$($$(A)", unknown("$$(A")),
        ] {
            let got = expand(&[text.to_owned()], &env, &KubeletRules::default());
            let command = vec![expected.to_owned()];
            assert_eq!(got, Expanded { command, notes, is_too_long: false }, "{text:?}");
        }
    }

    #[test]
    fn no_more_is_expanded_than_can_be_run() {
        let env = [variable("A", &"x".repeat(100_000))];
        let of = |references: usize| {
            expand(&["$(A)".repeat(references)], &env, &KubeletRules::default())
        };
        assert_eq!(of(62).command[0].len(), 6_200_000);
        assert!(of(63).is_too_long && of(63).command.is_empty());
        assert!(expand(&vec!["$(A)".to_owned(); 63], &env, &KubeletRules::default()).is_too_long);
    }
}

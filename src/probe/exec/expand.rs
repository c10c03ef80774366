//! Variables in the command of a probe.
//!
//! The rules are those of `third_party/forked/golang/expansion` and of `v1.EnvVar` as
//! `ExpandContainerCommandOnlyStatic` (`pkg/kubelet/container/helpers.go`) sees it: what the container's spec
//! says itself, and nothing that comes from elsewhere.

use crate::k8s::pod::EnvVar;
use serde::Serialize;
use std::collections::BTreeMap;

/// A command with the values of its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What is worth to know about the variables that it names, each once, in order.
    pub notes: Vec<ExpansionNote>,
}

/// What is worth to know about a variable that a command names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpansionNote {
    /// Its value comes from elsewhere, and so the probe gets the empty text, unlike the container.
    ValueFrom(String),
    /// The container's spec has no such variable: the text stays as it is, whatever `envFrom` brings.
    Unknown(String),
}

/// Returns a command with the values of the container's own variables; of several with a name, the last.
pub fn expand(command: &[String], env: &[EnvVar]) -> Expanded {
    let variables: BTreeMap<&str, &EnvVar> =
        env.iter().map(|variable| (variable.name.as_str(), variable)).collect();
    let mut expanded = Expanded::default();
    for text in command {
        let text = expand_text(text, &variables, &mut expanded.notes);
        expanded.command.push(text);
    }
    expanded
}

fn expand_text(
    text: &str,
    variables: &BTreeMap<&str, &EnvVar>,
    notes: &mut Vec<ExpansionNote>,
) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            // The second one is the only one left, and begins nothing.
            expanded.push('$');
            rest = after;
        } else if let Some((name, after)) =
            after.strip_prefix('(').and_then(|inner| inner.split_once(')'))
        {
            expand_variable(name, variables, &mut expanded, notes);
            rest = after;
        } else {
            expanded.push('$');
            rest = after;
        }
    }
    expanded.push_str(rest);
    expanded
}

fn expand_variable(
    name: &str,
    variables: &BTreeMap<&str, &EnvVar>,
    expanded: &mut String,
    notes: &mut Vec<ExpansionNote>,
) {
    let as_written = format!("$({name})");
    let (value, note) = match variables.get(name) {
        None => (as_written.as_str(), Some(ExpansionNote::Unknown(name.to_owned()))),
        Some(variable) => {
            let elsewhere = variable.value_from.is_some();
            (variable.value.as_str(), elsewhere.then(|| ExpansionNote::ValueFrom(name.to_owned())))
        }
    };
    expanded.push_str(value);
    if let Some(note) = note
        && !notes.contains(&note)
    {
        notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::pod::Details;

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
            EnvVar { value_from: Some(Details {}), ..variable("F", "") },
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
            let got = expand(&[text.to_owned()], &env);
            assert_eq!(got, Expanded { command: vec![expected.to_owned()], notes }, "{text:?}");
        }
    }
}

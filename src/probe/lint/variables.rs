//! What the commands of exec probes name: only variables that the container itself lists with a value
//! (`ExpandContainerCommandOnlyStatic`, `pkg/kubelet/container/helpers.go`).

use super::rule::ProbeRule;
use super::{Found, Probed};
use crate::k8s::pod::{EnvVar, ExecAction};
use std::collections::BTreeMap;

pub(super) fn findings(probed: &Probed<'_>) -> Vec<Found> {
    let mut findings = Vec::new();
    for (_, path, probe) in probed.probes() {
        findings.extend(probe.exec.iter().filter_map(|exec| one_word(&path, exec)));
        // The last of several of a name counts.
        let env = || probed.container.env.iter().map(|variable| (variable.name.as_str(), variable));
        let env: BTreeMap<&str, &EnvVar> = probe.exec.iter().flat_map(|_| env()).collect();
        let command = probe.exec.iter().flat_map(|exec| &exec.command).enumerate();
        let script = probe.exec.as_ref().and_then(script);
        let named = command.flat_map(|(at, text)| names(text).map(move |name| (at, name)));
        for (at, name) in named.filter(|(at, name)| is_meant(name, script == Some(*at))) {
            let field = format!("{path}.exec.command[{at}]");
            let name = name.to_owned();
            let rule = match env.get(name.as_str()) {
                None => ProbeRule::UnknownVariable { name },
                Some(variable) if variable.value_from.is_some() => {
                    ProbeRule::VariableFromElsewhere { name }
                }
                Some(_) => continue,
            };
            findings.push((field, rule));
        }
    }
    findings
}

/// Returns the names between `$(` and `)`; `$$` stands for a dollar that begins nothing.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once('$')?;
            match after.strip_prefix('(') {
                Some(inner) => match inner.split_once(')') {
                    Some((name, after)) => {
                        rest = after;
                        return Some(name);
                    }
                    // Nor does one come later.
                    None => return None,
                },
                None => rest = after.strip_prefix('$').unwrap_or(after),
            }
        }
    })
}

/// Returns true if `$(name)` is meant as a variable. The kubelet takes whatever stands there for a
/// name, and passes on what it does not know: a substitution of a shell, as `$(cat file)` or `$((1 + 2))`, does
/// what is expected of it. In a script, `$(date)` is one as well.
fn is_meant(name: &str, in_script: bool) -> bool {
    let (letters, others): (fn(&u8) -> bool, &[u8]) = match in_script {
        true => (u8::is_ascii_uppercase, b"_"),
        false => (u8::is_ascii_alphabetic, b"_-."),
    };
    let begins = |byte: u8| letters(&byte) || others.contains(&byte);
    name.bytes().next().is_some_and(begins)
        && name.bytes().all(|byte| begins(byte) || byte.is_ascii_digit())
}

/// Returns which word of a command is a script: what follows `-c` of a shell.
fn script(exec: &ExecAction) -> Option<usize> {
    const SHELLS: [&str; 7] = ["sh", "bash", "ash", "dash", "ksh", "zsh", "busybox"];
    let program = exec.command.first()?.rsplit('/').next()?;
    let is_option = |word: &String| {
        let letters = word.strip_prefix('-');
        letters.is_some_and(|letters| !letters.starts_with('-') && letters.ends_with('c'))
    };
    let option = exec.command.iter().position(is_option)?;
    SHELLS.contains(&program).then_some(option + 1)
}

/// Finds a whole command line used as the name of a program.
fn one_word(path: &str, exec: &ExecAction) -> Option<Found> {
    let [word] = &exec.command[..] else { return None };
    let rule = ProbeRule::OneWord { word: word.clone() };
    word.trim().contains(char::is_whitespace).then(|| (format!("{path}.exec.command[0]"), rule))
}

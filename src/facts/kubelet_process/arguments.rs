//! Taking a command line apart as Go's `pflag` does, and dropping what may be secret.

use super::flags::{Arity, arity};
use super::{Flag, Program};

/// The longest name of a flag that is kept.
const LONGEST_NAME: usize = 64;

/// Takes the arguments after the program's name apart. What is odd becomes a note, which never holds a
/// value.
pub(super) fn kubelet_flags(arguments: &[String], notes: &mut Vec<String>) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(long) = argument.strip_prefix("--") else {
            if let Some(short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) {
                // `-v` is the only one with a value, which nobody needs.
                if short == "v" {
                    rest.next();
                }
            } else {
                notes.push("an argument that is no flag was left out".to_owned());
            }
            continue;
        };
        if long.is_empty() {
            if rest.len() > 0 {
                notes.push("what follows -- was left out".to_owned());
            }
            break;
        }
        let (name, given) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        // The kubelet takes both spellings (`WordSepNormalizeFunc` of `component-base`).
        let name = name.replace('_', "-");
        if !is_name(&name) {
            notes.push("a flag with an odd name was left out".to_owned());
            continue;
        }
        let value = match (arity(&name), given) {
            (Some(_), Some(value)) => Some(value),
            (Some(Arity::Switch), None) => Some("true".to_owned()),
            (Some(Arity::Value), None) => {
                let value = rest.next().cloned();
                if value.is_none() {
                    notes.push(format!("--{name} has no value"));
                    continue;
                }
                value
            }
            (None, Some(_)) => None,
            (None, None) => {
                // Whether it takes a value is not known. The kubelet has no other arguments, so what is
                // no flag is its value.
                let mut ahead = rest.clone();
                if ahead.next().is_some_and(|next| !next.starts_with('-')) {
                    rest = ahead;
                }
                None
            }
        };
        flags.push(Flag { name, value });
    }
    flags
}

/// Finds the kubelet's flags in the command line of a program that has a kubelet in it.
pub(super) fn embedded_flags(
    program: Program,
    arguments: &[String],
    notes: &mut Vec<String>,
) -> Vec<Flag> {
    let wanted = match program {
        Program::Kubelet => return kubelet_flags(arguments, notes),
        Program::K3s => "--kubelet-arg",
        Program::Kubelite => "--kubelet-args-file",
    };
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix(wanted) {
            Some("") => found.extend(rest.next().cloned()),
            Some(value) => found.extend(value.strip_prefix('=').map(str::to_owned)),
            None => {}
        }
    }
    if program == Program::Kubelite {
        let file = found.pop().unwrap_or_else(|| "/var/snap/microk8s/current/args/kubelet".into());
        notes.push(format!("the kubelet's flags are in {file}, which is not read"));
        return Vec::new();
    }
    notes.push(
        "k3s gives its kubelet more than its command line shows, from its own defaults and \
         /etc/rancher/k3s/config.yaml, which is not read"
            .to_owned(),
    );
    let arguments: Vec<String> =
        found.iter().map(|argument| format!("--{}", argument.trim_start_matches('-'))).collect();
    kubelet_flags(&arguments, notes)
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    !name.starts_with('-')
        && name.len() <= LONGEST_NAME
        && name.bytes().all(is_plain)
        && !name.is_empty()
}

//! Parses changes from a command line.

use super::change::{Change, ChangeKind, KINDS, Resize, TaintChange};
use kq_facts::cgroup_mode::CgroupVersion;
use kq_k8s::feature_gates::{ParseGatesError, parse_flag};
use kq_k8s::go_text::quote;
use kq_k8s::nearest::nearest;
use kq_k8s::quantity::Quantity;
use kq_k8s::validation::{label_value_errors, qualified_name_errors};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;

/// Why words are not changes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    #[error("unknown change {word}")]
    Unknown { word: String, nearest: Option<&'static str> },
    #[error("{word}: {}expected {word} {arguments}", prefix(found.as_deref()))]
    Arguments { word: &'static str, arguments: &'static str, found: Option<String> },
    #[error("feature-gates {text}")]
    Gates { text: String, source: ParseGatesError },
    #[error("{word} {text}: {part} {}: {why}", quote(.name))]
    Name { word: &'static str, text: String, part: &'static str, name: String, why: String },
    #[error("{one} and {other} contradict each other")]
    Contradiction { one: String, other: String },
}

fn prefix(word: Option<&str>) -> String {
    word.map(|word| format!("{word}: ")).unwrap_or_default()
}

impl ChangeError {
    /// Returns suggestions.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest: Some(nearest), .. } => {
                Some(format!("did you mean {nearest}?"))
            }
            Self::Unknown { .. } => {
                Some("kq what-if without a change lists the changes".to_owned())
            }
            Self::Arguments { word, .. } | Self::Name { word, .. } => {
                let kind = KINDS.iter().find(|kind| kind.word == *word)?;
                Some(format!("kq what-if {}", kind.example))
            }
            Self::Gates { text, source: ParseGatesError::Malformed(_) } => {
                Some(format!("kq what-if feature-gates {text}=true"))
            }
            Self::Gates { .. } | Self::Contradiction { .. } => None,
        }
    }
}

/// Reads changes.
/// Fails on the first word that is not understood, and on changes that contradict each other.
pub fn parse(words: &[String]) -> Result<Vec<Change>, ChangeError> {
    let is_change = |word: &str| {
        word.split_whitespace()
            .next()
            .is_some_and(|word| KINDS.iter().any(|kind| kind.word == word))
    };
    let split = |word: &'_ String| match word.strip_prefix("flags=").or(word.strip_prefix("flags "))
    {
        // The binary joins these two, as the second looks like a flag of its own.
        Some(flags) => vec!["flags".to_owned(), flags.to_owned()],
        // A change in quotes: 'set maxPods=50'.
        None if is_change(word) => word.split_whitespace().map(str::to_owned).collect(),
        None => vec![word.clone()],
    };
    let words: Vec<String> = words.iter().flat_map(split).collect();
    let mut rest = words.iter().map(String::as_str).peekable();
    let mut changes = Vec::new();
    while let Some(word) = rest.next() {
        let Some(kind) = KINDS.iter().find(|kind| kind.word == word) else {
            // `set A=1 B=2`: one word sets several fields.
            if let (Some(Change::Set { .. }), Some((field, value))) =
                (changes.last(), word.split_once('='))
                && !field.is_empty()
            {
                changes.push(Change::Set { field: field.to_owned(), value: value.to_owned() });
                continue;
            }
            // Of a change in quotes, the first word is the mistyped one.
            let first = word.split_whitespace().next().unwrap_or(word);
            let nearest = nearest(first, KINDS.iter().map(|kind| kind.word));
            return Err(ChangeError::Unknown { word: word.to_owned(), nearest });
        };
        changes.push(one(kind, &mut rest)?);
    }
    contradictions(&changes)?;
    Ok(changes)
}

fn one<'w>(
    kind: &'static ChangeKind,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
) -> Result<Change, ChangeError> {
    let wrong = |found: Option<&str>| ChangeError::Arguments {
        word: kind.word,
        arguments: kind.arguments,
        found: found.map(str::to_owned),
    };
    let mut optional = |word: &str| rest.next_if_eq(&word).is_some();
    match kind.word {
        "kubelet-restart" => return Ok(Change::KubeletRestart { kill: optional("kill") }),
        "reboot" => return Ok(Change::Reboot),
        "runtime-restart" => return Ok(Change::RuntimeRestart),
        _ => {}
    }
    let is_static = kind.word == "add" && optional("static");
    let word = rest.next().ok_or_else(|| wrong(None))?;
    let pair = || word.split_once('=').filter(|(name, _)| !name.is_empty());
    let text = str::to_owned;
    Ok(match kind.word {
        "kubelet-version" => Change::KubeletVersion(word.parse().map_err(|_| wrong(Some(word)))?),
        "runtime" => {
            let (name, version) = pair().ok_or_else(|| wrong(Some(word)))?;
            if name == "driver" {
                let driver = version.parse().map_err(|_| wrong(Some(word)))?;
                return Ok(Change::RuntimeDriver(driver));
            }
            let is_known = ["runc", "crun", "youki", "containerd"].contains(&name);
            if !is_known || !version.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(wrong(Some(word)));
            }
            Change::Runtime { name: text(name), version: text(version) }
        }
        "kernel" => Change::Kernel(match word {
            "cgroup=v1" | "cgroup=1" => CgroupVersion::V1,
            "cgroup=v2" | "cgroup=2" => CgroupVersion::V2,
            _ => return Err(wrong(Some(word))),
        }),
        "config" => Change::Config { file: text(word) },
        "set" => {
            let (field, value) = pair().ok_or_else(|| wrong(Some(word)))?;
            Change::Set { field: text(field), value: text(value) }
        }
        "flags" => Change::Flags(words_of(word)),
        "feature-gates" => {
            let refuse = |source| ChangeError::Gates { text: word.to_owned(), source };
            Change::FeatureGates(parse_flag(word).map_err(refuse)?)
        }
        "add" => Change::Add { file: text(word), is_static },
        "remove" => Change::Remove { pod: text(word) },
        "resize" => {
            let amounts = rest.next().ok_or_else(|| wrong(None))?;
            let (pod, container) = match word.split_once(':') {
                Some((pod, container)) => (pod, Some(text(container))),
                None => (word, None),
            };
            let amounts = amounts_of(amounts).ok_or_else(|| wrong(Some(amounts)))?;
            Change::Resize(Resize { pod: text(pod), container, amounts })
        }
        "label" => {
            let (key, value) = label(word).ok_or_else(|| wrong(Some(word)))?;
            check_names("label", word, &key, value.as_deref())?;
            Change::Label { key, value }
        }
        "taint" => {
            let taint = taint(word).ok_or_else(|| wrong(Some(word)))?;
            check_names("taint", word, &taint.key, Some(&taint.value))?;
            Change::Taint(taint)
        }
        "device" | "plugin" => {
            if word != "gone" {
                return Err(wrong(Some(word)));
            }
            let name = rest.next().ok_or_else(|| wrong(None))?.to_owned();
            match kind.word {
                "device" => Change::DeviceGone { id: name },
                _ => Change::PluginGone { resource: name },
            }
        }
        "disk" => {
            let percent = word.trim_end_matches('%').parse::<u8>().ok();
            let used_percent =
                percent.filter(|percent| *percent <= 100).ok_or_else(|| wrong(Some(word)))?;
            Change::Disk { used_percent }
        }
        "memory-available" => {
            let amount = word.parse::<Quantity>().ok().filter(|amount| amount.sign() >= 0);
            Change::MemoryAvailable { bytes: amount.ok_or_else(|| wrong(Some(word)))?.value() }
        }
        _ => {
            let is_damaged = match word {
                "missing" => false,
                "damaged" => true,
                _ => return Err(wrong(Some(word))),
            };
            let name = rest.next().ok_or_else(|| wrong(None))?.to_owned();
            Change::StateFile { name, is_damaged }
        }
    })
}

/// Splits a command line at white space; a quoted part stays whole.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if letter.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

fn amounts_of(text: &str) -> Option<BTreeMap<String, Quantity>> {
    let one = |pair: &str| {
        let (name, amount) = pair.split_once('=')?;
        let amount = amount.parse::<Quantity>().ok().filter(|amount| amount.sign() >= 0)?;
        ["cpu", "memory", "cpu-limit", "memory-limit"]
            .contains(&name)
            .then(|| (name.to_owned(), amount))
    };
    text.split(',').map(one).collect()
}

/// Refuses a key and a value that the API server refuses (`ValidateLabels`, `ValidateTaintsInNodeAnnotations`).
fn check_names(
    word: &'static str,
    text: &str,
    key: &str,
    value: Option<&str>,
) -> Result<(), ChangeError> {
    let version = KubeletVersion::NEWEST;
    let refused = |part, name: &str, errors: Vec<String>| match errors.is_empty() {
        true => Ok(()),
        false => Err(ChangeError::Name {
            word,
            text: text.to_owned(),
            part,
            name: name.to_owned(),
            why: errors.join("; "),
        }),
    };
    refused("key", key, qualified_name_errors(key, version))?;
    let value = value.unwrap_or_default();
    refused("value", value, label_value_errors(value, version))
}

fn label(word: &str) -> Option<(String, Option<String>)> {
    let (key, value) = match (word.split_once('='), word.strip_suffix('-')) {
        (Some((key, value)), _) => (key, Some(value.to_owned())),
        (None, Some(key)) => (key, None),
        (None, None) => return None,
    };
    (!key.is_empty()).then(|| (key.to_owned(), value))
}

fn taint(word: &str) -> Option<TaintChange> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let (word, is_removed) = match word.strip_suffix('-') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let (name, effect) = match word.rsplit_once(':') {
        Some((name, effect)) => (name, effect),
        None => (word, ""),
    };
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    let is_known = EFFECTS.contains(&effect) || effect.is_empty() && is_removed;
    let text = str::to_owned;
    (is_known && !key.is_empty()).then(|| TaintChange {
        key: text(key),
        value: text(value),
        effect: text(effect),
        is_removed,
    })
}

/// Rejects two values of one setting.
fn contradictions(changes: &[Change]) -> Result<(), ChangeError> {
    let mut seen: BTreeMap<String, &Change> = BTreeMap::new();
    for change in changes {
        let Some(thing) = change.thing() else { continue };
        if let Some(other) = seen.insert(thing, change).filter(|other| *other != change) {
            return Err(ChangeError::Contradiction {
                one: other.to_string(),
                other: change.to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Change>, ChangeError> {
        let words: Vec<String> = text.split('|').map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn a_change_in_quotes_is_one_change() {
        for (quoted, words) in [
            ("set maxPods=50|taint a=b:NoExecute", "set|maxPods=50|taint|a=b:NoExecute"),
            ("add static dns.yaml", "add|static|dns.yaml"),
            ("flags --max-pods=10 --v=4", "flags|--max-pods=10 --v=4"),
        ] {
            assert_eq!(parsed(quoted), parsed(words), "{quoted}");
        }
        parsed("remove|set maxPods=50").expect_err("not the name of a pod");
        let error = parsed("sett maxPods=50").expect_err("not a change");
        assert!(matches!(error, ChangeError::Unknown { nearest: Some("set"), .. }), "{error:?}");
    }

    #[test]
    fn what_is_read_is_shown_as_it_was_written() {
        for text in [
            "kubelet-restart",
            "kubelet-restart|kill",
            "reboot",
            "kubelet-version|1.36",
            "runtime|runc=1.3.2",
            "kernel|cgroup=v2",
            "set|systemReserved.cpu=700m",
            "flags|'--max-pods=10 --v=4'",
            "feature-gates|A=true,B=false",
            "add|static|dns.yaml",
            "remove|shop/web",
            "resize|shop/web:c|cpu=500m,memory=1Gi",
            "label|disk=hdd",
            "label|disk-",
            "taint|a=b:NoExecute",
            "taint|a:NoSchedule-",
            "taint|a-",
            "device|gone|GPU-0",
            "plugin|gone|nvidia.com/gpu",
            "disk|92",
            "memory-available|80Mi",
            "state-file|damaged|cpu_manager_state",
        ] {
            let changes = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let shown: Vec<String> = changes.iter().map(ToString::to_string).collect();
            assert_eq!(shown, [text.replace('|', " ")], "{text}");
        }
        for kind in KINDS {
            assert!(kind.example.starts_with(kind.word), "{}", kind.word);
        }
        let both = parsed("kubelet-version|1.35|set|maxPods=5|reboot").expect("three changes");
        assert_eq!(both.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        for (text, expected) in [
            ("rebot", "unknown change rebot; did you mean reboot?"),
            (
                "set|maxPods",
                "set: maxPods: expected set FIELD=VALUE; kq what-if set systemReserved.cpu=700m",
            ),
            ("disk", "disk: expected disk PERCENT; kq what-if disk 92"),
            ("disk|101", "disk: 101: expected disk PERCENT; kq what-if disk 92"),
            (
                "device|lost|a",
                "device: lost: expected device gone ID; kq what-if device gone GPU-0",
            ),
            (
                "taint|a:Never",
                "taint: a:Never: expected taint KEY[=VALUE]:EFFECT[-]|KEY-; kq what-if taint maintenance=yes:NoExecute",
            ),
            (
                "label|a b=c",
                "label a b=c: key \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                 end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'); kq what-if label disk=hdd",
            ),
            (
                "label|/disk-",
                "label /disk-: key \"/disk\": prefix part must be non-empty; kq what-if label disk=hdd",
            ),
            (
                "taint|a=b c:NoExecute",
                "taint a=b c:NoExecute: value \"b c\": a valid label must be an empty string or consist of alphanumeric characters, \
                 '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                 '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'); kq what-if taint \
                 maintenance=yes:NoExecute",
            ),
            (
                "runtime|docker=1",
                "runtime: docker=1: expected runtime NAME=VERSION|driver=cgroupfs|driver=systemd; kq what-if runtime runc=1.3.2",
            ),
            (
                "set|maxPods=1|set|maxPods=2",
                "set maxPods=1 and set maxPods=2 contradict each other",
            ),
            (
                "kubelet-version|1.33|kubelet-version|1.34",
                "kubelet-version 1.33 and kubelet-version 1.34 contradict each other",
            ),
            (
                "remove|a/b|resize|a/b|cpu=1",
                "remove a/b and resize a/b cpu=1 contradict each other",
            ),
        ] {
            let error = parsed(text).expect_err(text);
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            assert_eq!(format!("{error}{hint}"), expected, "{text}");
        }
    }
}

//! The command line: `NewKubeletCommand` in `cmd/kubelet/app/server.go`, `ValidateKubeletFlags` in
//! `cmd/kubelet/app/options/options.go`.
//!
//! Pinned by `kubelet_flags.jsonl`.

use super::{Stage, StartExamination, StartFacts, StartRule, StartWarning};
use kq_answer::Certainty;
use kq_facts::kubelet_process::{
    FaultKind, Flag, FlagState, KubeletFlags, KubeletProcess, invalid_argument, known_flag,
    value_error,
};
use kq_k8s::validation::{label_value_errors, qualified_name_errors};
use kq_k8s::version::KubeletVersion;
use std::collections::{BTreeMap, BTreeSet};

/// The command line.
#[derive(Default)]
pub(super) struct Said {
    pub flags: KubeletFlags,
    /// The command line is known.
    pub is_known: bool,
}

impl Said {
    /// Returns the text that the last flag for a field of the configuration has.
    pub fn flag_of(&self, field: &str) -> Option<&str> {
        let setting = self.flags.settings.iter().rfind(|setting| setting.field == field);
        setting.map(|setting| setting.text.as_str())
    }
}

/// Checks the flags in order, and the gates and labels that they set.
pub(super) fn parse(facts: &StartFacts<'_>, found: &mut StartExamination) -> Said {
    let Some(process) = facts.process else {
        found.skip("flags that this kubelet rejects", "the kubelet's command line");
        return Said::default();
    };
    let mut deprecated = BTreeSet::new();
    let mut good = process.clone();
    good.flags.clear();
    for (at, flag) in process.flags.iter().enumerate() {
        syntax(found, process, |after| after == at);
        let known = known_flag(&flag.name);
        let Some(state) = known.and_then(|known| known.state(facts.version())) else {
            let until = known.and_then(|known| known.until());
            found.stop(Stage::Flags, StartRule::UnknownFlag { flag: flag.name.clone(), until });
            continue;
        };
        let value_type = known.map_or("", |known| known.value_type);
        if let Some(value) = &flag.value
            && let Some(reason) = value_error(&flag.name, value_type, value, facts.version())
        {
            let (flag, value) = (flag.name.clone(), value.clone());
            let rule = match flag.as_str() {
                "v" | "help" => {
                    StartRule::BadArgument { error: invalid_argument(&flag, &value, &reason) }
                }
                _ => StartRule::FlagValue { flag, value, reason },
            };
            found.stop(Stage::Flags, rule);
            continue;
        }
        if let FlagState::Deprecated(message) = state
            && deprecated.insert(&flag.name)
        {
            let (flag, message) = (flag.name.clone(), message.to_owned());
            found.warn(StartWarning::DeprecatedFlag { flag, message });
        }
        good.flags.push(flag.clone());
    }
    syntax(found, process, |after| after >= process.flags.len());
    let mut words = process.faults.iter().filter_map(|fault| match &fault.kind {
        FaultKind::Word(word) => Some(word.clone()),
        FaultKind::Syntax(_) => None,
    });
    // The kubelet names the first.
    if let Some(word) = words.next() {
        let certainty = if word.is_some() { Certainty::Certain } else { Certainty::Likely };
        let word = word.unwrap_or_else(|| "...".to_owned());
        found.stop(Stage::FlagValues, (StartRule::UnknownCommand { word }, certainty));
    }
    for name in ["help", "version"] {
        let last = good.flags.iter().rfind(|flag| flag.name == name);
        if last.is_some_and(|flag| {
            !matches!(flag.value.as_deref(), Some("false" | "0" | "f" | "F" | "FALSE" | "False"))
        }) {
            found.stop(Stage::FlagValues, StartRule::PrintsAlone { flag: name.to_owned() });
        }
    }
    let flags = KubeletProcess::interpreted(&good);
    labels(found, &good.flags, facts.version());
    Said { flags, is_known: true }
}

/// Reports the arguments at a place that cannot be parsed.
fn syntax(found: &mut StartExamination, process: &KubeletProcess, is_here: impl Fn(usize) -> bool) {
    for fault in process.faults.iter().filter(|fault| is_here(fault.after)) {
        if let FaultKind::Syntax(error) = &fault.kind {
            let certainty = if error.is_some() { Certainty::Certain } else { Certainty::Likely };
            let error = error.clone().unwrap_or_else(|| "bad flag syntax: ...".to_owned());
            found.stop(Stage::Flags, (StartRule::BadArgument { error }, certainty));
        }
    }
}

/// Checks `--node-labels` (`ValidateKubeletFlags` in `cmd/kubelet/app/options/options.go`).
fn labels(found: &mut StartExamination, flags: &[Flag], version: KubeletVersion) {
    let given = flags.iter().filter(|flag| flag.name == "node-labels");
    let pairs = given.filter_map(|flag| flag.value.as_deref()).flat_map(|text| text.split(','));
    let labels: BTreeMap<&str, &str> = pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    let unknown: Vec<String> = labels
        .iter()
        .filter(|(key, _)| is_kubernetes(key) && !is_allowed(key))
        .map(|(key, _)| (*key).to_owned())
        .collect();
    if !unknown.is_empty() {
        return found.stop(Stage::FlagValues, StartRule::UnknownLabels { labels: unknown });
    }
    let mut invalid: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in labels {
        let of_value = label_value_errors(value, version);
        for (text, errors) in [(key, qualified_name_errors(key, version)), (value, of_value)] {
            if !errors.is_empty() {
                invalid.entry(text).or_default().extend(errors);
            }
        }
    }
    if !invalid.is_empty() {
        let texts =
            invalid.iter().map(|(text, errors)| format!("'{text}' - {}", errors.join(", ")));
        found.stop(Stage::FlagValues, StartRule::InvalidLabels { texts: texts.collect() });
    }
}

fn namespace(key: &str) -> &str {
    key.split_once('/').map_or("", |(namespace, _)| namespace)
}

fn is_in(namespace: &str, zone: &str) -> bool {
    namespace.strip_suffix(zone).is_some_and(|start| start.is_empty() || start.ends_with('.'))
}

fn is_kubernetes(key: &str) -> bool {
    ["kubernetes.io", "k8s.io"].iter().any(|zone| is_in(namespace(key), zone))
}

/// The labels that a kubelet may set on its node (`well_known_labels.go`), sorted as it lists them.
pub(super) const LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// The namespaces in which it may set any label.
pub(super) const LABEL_NAMESPACES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

fn is_allowed(key: &str) -> bool {
    LABELS.contains(&key) || LABEL_NAMESPACES.iter().any(|zone| is_in(namespace(key), zone))
}

//! The command line: `NewKubeletCommand` in `cmd/kubelet/app/server.go`, values as `pflag` and
//! `component-base/cli/flag` read them.

use super::{Stage, Start, StartRule, StartWarning};
use kq_facts::kubelet_process::{Flag, FlagState, KubeletFlags, KubeletProcess, known_flag};
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::parse_flag;
use kq_k8s::go_text::{NumError, NumProblem, parse_bool, quote};
use kq_k8s::quantity::Quantity;
use kq_k8s::validation::{is_label_value, is_qualified_name};
use std::collections::BTreeSet;

/// The command line.
#[derive(Default)]
pub(super) struct Said {
    pub flags: KubeletFlags,
    /// The command line is known.
    pub is_known: bool,
}

/// Checks the flags in order, and the gates and labels that they set.
pub(super) fn examine(start: &mut Start<'_>) -> Said {
    let Some(process) = start.facts.process else {
        start.skip("flags that this kubelet rejects", "the kubelet's command line");
        return Said::default();
    };
    let mut deprecated = BTreeSet::new();
    let mut good = process.clone();
    good.flags.clear();
    for flag in &process.flags {
        let known = known_flag(&flag.name);
        let Some(state) = known.and_then(|known| known.state(start.version)) else {
            let until = known.and_then(|known| known.until());
            start.stop(Stage::Flags, StartRule::UnknownFlag { flag: flag.name.clone(), until });
            continue;
        };
        let value_type = known.map_or("", |known| known.value_type);
        if let Some(value) = &flag.value
            && let Err(reason) = parses(&flag.name, value_type, value)
        {
            let (flag, value) = (flag.name.clone(), value.clone());
            start.stop(Stage::Flags, StartRule::FlagValue { flag, value, reason });
            continue;
        }
        if let FlagState::Deprecated(message) = state
            && deprecated.insert(&flag.name)
        {
            let (flag, message) = (flag.name.clone(), message.to_owned());
            start.warn(StartWarning::DeprecatedFlag { flag, message });
        }
        good.flags.push(flag.clone());
    }
    let flags = KubeletProcess::interpreted(&good);
    labels(start, &good.flags);
    Said { flags, is_known: true }
}

/// Returns why a value is invalid.
fn parses(name: &str, value_type: &str, value: &str) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match value_type {
        "bool" => parse_bool(value).map(drop).map_err(|error| text(&error)),
        "int" | "int64" => parse_int(value, 64),
        "int32" => parse_int(value, 32),
        "duration" => value.parse::<GoDuration>().map(drop).map_err(|error| text(&error)),
        "ip" if value.is_empty() || value.parse::<std::net::IpAddr>().is_ok() => Ok(()),
        "ip" => Err(format!("{} is not a valid IP address", quote(value))),
        "mapStringBool" => parse_flag(value).map(drop).map_err(|error| text(&error)),
        "mapStringString" => {
            let sign = if matches!(name, "eviction-hard" | "eviction-soft") { '<' } else { '=' };
            let whole = name == "cpu-manager-policy-options";
            let mut pairs = value.split(',').filter(|pair| !pair.is_empty());
            let is_pair = |pair: &str| pair.contains(sign);
            match if whole { is_pair(value) } else { pairs.all(is_pair) } {
                true => Ok(()),
                false => Err(format!("malformed pair, expect string{sign}string")),
            }
        }
        "reserved-memory" if value.is_empty() => Ok(()),
        "reserved-memory" => value.split(';').try_for_each(reservation),
        _ => Ok(()),
    }
}

/// Reads a whole number as `strconv.ParseInt` with the base 0 does, without its rarer spellings.
fn parse_int(text: &str, bits: u32) -> Result<(), String> {
    let error = |problem| NumError { function: "ParseInt", text: text.to_owned(), problem };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    let (digits, base) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    if !is_number {
        return Err(error(NumProblem::Syntax).to_string());
    }
    let limit = 1_i128 << (bits - 1);
    let magnitude = i128::from_str_radix(digits, base).unwrap_or(i128::MAX);
    let is_small = if text.starts_with('-') { magnitude <= limit } else { magnitude < limit };
    if is_small { Ok(()) } else { Err(error(NumProblem::Range).to_string()) }
}

/// Reads one NUMA node of `--reserved-memory` (`ReservedMemoryVar.Set` in `pkg/util/flag/flags.go`).
fn reservation(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [node, limits] = parts[..] else {
        return Err(format!(
            "the reserved memory has incorrect format, expected \
             numaNodeID:type=quantity[,type=quantity...], got {text}"
        ));
    };
    if node.parse::<i64>().is_err() {
        return Err(format!("failed to convert the NUMA node ID, expected integer, got {node}"));
    }
    limits.split(',').try_for_each(|limit| {
        let parts: Vec<&str> = limit.split('=').collect();
        let [name, amount] = parts[..] else {
            return Err(format!(
                "the reserved limit has incorrect value, expected type=quantity, got {limit}"
            ));
        };
        if name != "memory" && !name.starts_with("hugepages-") {
            return Err(format!("memory type conversion error, unknown type: {}", quote(name)));
        }
        match amount.parse::<Quantity>() {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("failed to parse the quantity: {amount}")),
        }
    })
}

/// Checks `--node-labels` (`ValidateKubeletFlags` in `cmd/kubelet/app/options/options.go`).
fn labels(start: &mut Start<'_>, flags: &[Flag]) {
    let given = flags.iter().filter(|flag| flag.name == "node-labels");
    let pairs = given.filter_map(|flag| flag.value.as_deref()).flat_map(|text| text.split(','));
    let labels: BTreeSet<(&str, &str)> = pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    let unknown: Vec<String> = labels
        .iter()
        .filter(|(key, _)| is_kubernetes(key) && !is_allowed(key))
        .map(|(key, _)| (*key).to_owned())
        .collect();
    if !unknown.is_empty() {
        return start.stop(Stage::FlagValues, StartRule::UnknownLabels { labels: unknown });
    }
    let invalid = labels
        .iter()
        .filter_map(|(key, value)| match (is_qualified_name(key), is_label_value(value)) {
            (false, _) => Some((*key).to_owned()),
            (true, false) => Some((*value).to_owned()),
            (true, true) => None,
        })
        .collect::<Vec<_>>();
    if !invalid.is_empty() {
        start.stop(Stage::FlagValues, StartRule::InvalidLabels { texts: invalid });
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
